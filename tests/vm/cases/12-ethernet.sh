#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# rig: one
# timeout: 180
#
# Ordinary network traffic between the two netdevs, at MTU 1500 and 9000.

. lib.sh

for mtu in 1500 9000; do
	ip link set "$NETDEV1" mtu "$mtu"
	b ip link set "$NETDEV2" mtu "$mtu"
	matches "MTU $mtu is set" "mtu $mtu " ip link show dev "$NETDEV1"
	ok "ping at MTU $mtu" ping -c 3 -W 5 10.0.0.2
	ok "ping the other way" ip netns exec b ping -c 3 -W 5 10.0.0.1
	ok "largest unfragmented ping, $((mtu - 28)) bytes" \
		ping -c 3 -W 5 -M "do" -s $((mtu - 28)) 10.0.0.2
	ok "ping in fragments, 20000 bytes" ping -c 3 -W 5 -s 20000 10.0.0.2
	matches "200 fast pings, none lost" ' 0% packet loss' ping -q -c 200 -i 0.01 -W 5 10.0.0.2
	SERVER_DELAY=$((2 * ${SLOWNESS:-1})) server ip netns exec b iperf3 -s -1
	ok "iperf3, 4 s" iperf3 -c 10.0.0.2 -t 4
	wait "$server_pid"
	ip netns exec b iperf3 -s -1 > /tmp/iperf3.out 2>&1 &
	sleep $((2 * ${SLOWNESS:-1}))
	ok "iperf3 in reverse, 4 s" iperf3 -c 10.0.0.2 -t 4 -R
	wait
done
fails "MTU 9001 is refused" ip link set "$NETDEV1" mtu 9001
fails "MTU 67 is refused" ip link set "$NETDEV1" mtu 67
ip link set "$NETDEV1" mtu 1500
b ip link set "$NETDEV2" mtu 1500

before=$(cat "/sys/class/net/$NETDEV1/statistics/rx_packets")
ping -q -c 5 -i 0.1 10.0.0.2 > /dev/null
after=$(cat "/sys/class/net/$NETDEV1/statistics/rx_packets")
ok "rx_packets counts ($before, then $after)" test $((after - before)) -ge 5
ip link add link "$NETDEV1" name v7 type vlan id 7
b ip link add link "$NETDEV2" name v7 type vlan id 7
ip addr add 10.0.7.1/24 dev v7
b ip addr add 10.0.7.2/24 dev v7
ip link set v7 up
b ip link set v7 up
ok "ping over VLAN 7" ping -c 3 -W 5 10.0.7.2
ip link del v7
b ip link del v7
ip link set "$NETDEV1" down
fails "no ping while the netdev is down" ping -c 1 -W 1 10.0.0.2
ip link set "$NETDEV1" up
ok "ping after down and up" within 10 ping -c 1 -W 1 10.0.0.2
