#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# rig: one
# timeout: 300
#
# Unloading and reloading, idle and with open connections; unbinding one function; FLR.

. lib.sh

gone() { ! rdma link show | grep -q "$1"; }
reload() {
	ok "$1: modules load again" guest-setup one
	# shellcheck source=/dev/null
	. /run/rig
	ok "$1: ping" within 20 ping -c 1 -W 1 10.0.0.2
	server b rping -s -a 10.0.0.2 -C 10 -V
	ok "$1: rping" timeout "$LIMIT" rping-rounds -a 10.0.0.2 -C 10 -V
	rping_ends
}
connected() { [ "$(rdma resource show qp | grep -c 'state RTS.*rping')" = 4 ]; }
traffic() { # clients and server that only end when they are made to
	server rping -s -P
	other_pid=$server_pid
	server b rping -s -P
	timeout "$LONG" rping -c -a 10.0.0.2 > /dev/null 2>&1 &
	clients=$!
	timeout "$LONG" ip netns exec b rping -c -a 10.0.0.1 > /dev/null 2>&1 &
	clients="$clients $!"
	ok "$1: connections are open" within 20 connected
}
traffic_ends() {
	local pid
	for pid in $clients; do
		within 60 eval "! kill -0 $pid" || fail "$1: client $pid still runs"
	done
	echo "ok: $1: the clients have ended"
	kill -9 "$other_pid" 2> /dev/null
	server_end
	wait
}

ok "idle: rmmod iw_ornic" rmmod iw_ornic
ok "its RDMA device is gone" gone "$RDMA1"
ok "ping without it" within 10 ping -c 1 -W 1 10.0.0.2
ok "idle: rmmod ornic" rmmod ornic
reload "idle"

traffic "rmmod iw_ornic"
ok "rmmod iw_ornic with open connections" timeout "$LIMIT" rmmod iw_ornic
traffic_ends "rmmod iw_ornic"
reload "after rmmod iw_ornic"

traffic "rmmod both"
ok "rmmod both with open connections" timeout "$LONG" rmmod iw_ornic ornic
traffic_ends "rmmod both"
reload "after rmmod both"

pci=$(ethtool -i "$NETDEV1" | sed -n 's/^bus-info: //p')
traffic "unbind"
ok "unbind $pci with open connections" \
	timeout "$LIMIT" bash -c "echo $pci > /sys/bus/pci/drivers/ornic/unbind"
traffic_ends "unbind"
ok "bind" bash -c "echo $pci > /sys/bus/pci/drivers/ornic/bind"
reload "after unbind"

for nr in 1 2 3 4 5; do
	ok "unbind and bind, round $nr" timeout "$LIMIT" bash -c "
		echo $pci > /sys/bus/pci/drivers/ornic/unbind &&
		echo $pci > /sys/bus/pci/drivers/ornic/bind"
done
reload "after five rounds"

matches "the function can be reset by FLR" flr cat "/sys/bus/pci/devices/$pci/reset_method"
# A function that is reset cannot tell its peers: only what is on it has to end.
traffic "FLR"
peer=${clients#* }
clients=${clients% *}
ok "FLR with open connections" timeout "$LIMIT" bash -c "echo 1 > /sys/bus/pci/devices/$pci/reset"
pkill -9 -P "$peer"
wait "$peer" 2> /dev/null
traffic_ends "FLR"
reload "after FLR"
