#!/bin/sh
# Points PgBouncer to the primary: gitaly db watch --on-change docs/deploy/pgbouncer-repoint.sh
#
# DATABASE        name of the database (app)
# DATABASES_INI   the file that pgbouncer.ini includes (/etc/pgbouncer/databases.ini)
# PGBOUNCER       the admin console (host=127.0.0.1 port=6432 user=pgbouncer dbname=pgbouncer)
# STALE_SESSIONS  what becomes of connections to the former primary: "reconnect" (default) closes each when its transaction or,
#                 with pool_mode = session, its client ends; "kill" drops clients at once, too
set -eu

database=${DATABASE:-app}
file=${DATABASES_INI:-/etc/pgbouncer/databases.ini}
console=${PGBOUNCER:-host=127.0.0.1 port=6432 user=pgbouncer dbname=pgbouncer}

case "$DBLB_PRIMARY_HOST$DBLB_PRIMARY_PORT" in
  '' | *[!A-Za-z0-9.:_-]*)
    echo "not the address of a server: $DBLB_PRIMARY_HOST $DBLB_PRIMARY_PORT" >&2
    exit 1
    ;;
esac

# The new file is there as a whole or not at all.
printf '[databases]\n%s = host=%s port=%s dbname=%s\n' "$database" "$DBLB_PRIMARY_HOST" "$DBLB_PRIMARY_PORT" "$database" >"$file.new"
mv "$file.new" "$file"

say() {
  psql -X -q -w -v ON_ERROR_STOP=1 -d "$console" -c "$1"
}

say 'RELOAD'
case "${STALE_SESSIONS:-reconnect}" in
  kill)
    say "KILL $database"
    say "RESUME $database"
    ;;
  *) say "RECONNECT $database" ;;
esac
