#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# rig: one
# timeout: 200
#
# Live connections follow their neighbour and their MTU.

. lib.sh

count() { # how many rounds the client has done, roughly: RDMA bytes on the netdev's wire
	cat "/sys/class/infiniband/$RDMA1/ports/1/hw_counters/"* 2> /dev/null | awk '{ s += $1 } END { print s + 0 }'
}
alive() { # TEXT: the connection still moves data
	local before after
	before=$(count)
	sleep 2
	after=$(count)
	kill -0 "$client" 2> /dev/null || fail "$1: the client has ended"
	[ "$after" -gt "$before" ] || fail "$1: nothing moves ($before, then $after)"
	echo "ok: $1: data still moves"
}

ok "port counters are there" test -e "/sys/class/infiniband/$RDMA1/ports/1/hw_counters"
server b rping -s -P
rping -c -a 10.0.0.2 -V > /tmp/client.out 2>&1 &
client=$!
sleep 2
alive "at first"
new=02:00:0e:57:00:22
b ip link set "$NETDEV2" address "$new"
ip neigh replace 10.0.0.2 lladdr "$new" dev "$NETDEV1" nud reachable
alive "after the peer's MAC changed"
gid=/sys/class/infiniband/$RDMA2/ports/1/gids/0
ok "the peer's GID is its new MAC" within 10 grep -q ^0200:0e57:0022:0000: "$gid"
ip neigh flush dev "$NETDEV1"
ping -c 1 -W 5 10.0.0.2 > /dev/null
alive "after the neighbour was flushed and found again"
ip link set "$NETDEV1" mtu 1000
b ip link set "$NETDEV2" mtu 1000
alive "after the MTU went down to 1000"
ip link set "$NETDEV1" mtu 9000
b ip link set "$NETDEV2" mtu 9000
alive "after the MTU went up to 9000"
kill -9 "$client"
wait "$client" 2> /dev/null
server_end
ip link set "$NETDEV1" mtu 1500
b ip link set "$NETDEV2" mtu 1500
b ip link set "$NETDEV2" address 02:00:0e:57:00:02
ok "and the first MAC again" within 10 grep -q ^0200:0e57:0002:0000: "$gid"
ip neigh flush dev "$NETDEV1"
ok "ping with everything as it was" within 10 ping -c 1 -W 1 10.0.0.2
