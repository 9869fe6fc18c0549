#!/bin/sh
# Points a DNS name to the primary: gitaly db watch --on-change docs/deploy/move-dns.sh
#
# NAME      the name (primary.db.example.com.)
# SERVER    the nameserver that takes updates
# KEY_FILE  its TSIG key
# TTL       seconds that clients may keep the old answer: each failover takes that much longer (5)
set -eu

case "$DBLB_PRIMARY_HOST" in
  '' | *[!A-Za-z0-9._-]*)
    echo "not the name of a host: $DBLB_PRIMARY_HOST" >&2
    exit 1
    ;;
  *[!0-9.]*)
    type=CNAME
    target=${DBLB_PRIMARY_HOST%.}.
    ;;
  *)
    type=A
    target=$DBLB_PRIMARY_HOST
    ;;
esac

nsupdate -k "${KEY_FILE:?the key}" <<END
server ${SERVER:?the nameserver}
update delete ${NAME:?the name} A
update delete $NAME CNAME
update add $NAME ${TTL:-5} $type $target
send
END
