#!/bin/sh
# Keeps a virtual address on the host of the primary. Runs on every database host, as root or with CAP_NET_ADMIN:
# gitaly db watch --on-change docs/deploy/move-vip.sh
#
# SELF   this host, as it is named in the list of servers
# VIP    the address with its prefix length (192.0.2.100/24)
# DEVICE the network interface (eth0)
set -eu

vip=${VIP:?the virtual address}
device=${DEVICE:-eth0}

if [ "$DBLB_PRIMARY_HOST" = "${SELF:?the name of this host}" ]; then
  ip address replace "$vip" dev "$device"
  # Switches and neighbours learn of the move now instead of when their tables expire.
  arping -q -c 3 -A -I "$device" "${vip%/*}"
elif ip -oneline address show dev "$device" | grep -qF " $vip "; then
  ip address delete "$vip" dev "$device"
fi
