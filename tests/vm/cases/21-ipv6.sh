#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# rig: one
# timeout: 240
#
# Connections over IPv6: global and link-local addresses, the wildcard of both families, the RNIC's
# own address.

. lib.sh

ok "an address for RNIC 1" ip addr add 2001:db8::1/64 dev "$NETDEV1" nodad
ok "an address for RNIC 2" ip netns exec b ip addr add 2001:db8::2/64 dev "$NETDEV2" nodad
server b rping -s -a 2001:db8::2 -C 20 -V
ok "rping, RNIC 1 to RNIC 2" timeout "$LIMIT" rping-rounds -a 2001:db8::2 -C 20 -V
rping_ends
server rping -s -a 2001:db8::1 -C 20 -V
ok "rping, RNIC 2 to RNIC 1" timeout "$LIMIT" ip netns exec b rping-rounds -a 2001:db8::1 -C 20 -V
rping_ends

local2=$(ip netns exec b ip -6 -o addr show dev "$NETDEV2" scope link | sed 's/.*inet6 \([^/]*\).*/\1/')
server b rping -s -a "$local2%$NETDEV2" -C 20 -V
ok "rping to $local2%$NETDEV1" timeout "$LIMIT" rping-rounds -a "$local2%$NETDEV1" -C 20 -V
rping_ends

server b rping -s -P -a :: -p 7175
ok "rping over IPv6 to a server on ::" \
	timeout "$LIMIT" rping-rounds -a 2001:db8::2 -p 7175 -C 10 -V
ok "rping over IPv4 to the same" timeout "$LIMIT" rping-rounds -a 10.0.0.2 -p 7175 -C 10 -V
server_end

server rping -s -a 2001:db8::1 -C 20 -V
ok "rping to the RNIC's own address" timeout "$LIMIT" rping-rounds -a 2001:db8::1 -C 20 -V
rping_ends
fails "connect to a port where nothing listens" timeout "$LIMIT" rping -c -a 2001:db8::2 -p 4 -C 1
fails "connect to an address that nobody has" timeout "$LIMIT" rping -c -a 2001:db8::99 -C 1
ip addr del 2001:db8::1/64 dev "$NETDEV1"
ip netns exec b ip addr del 2001:db8::2/64 dev "$NETDEV2"
