#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# rig: one
# timeout: 240
#
# rping between the two RNICs, both directions, and to the RNIC's own address.

. lib.sh

server b rping -s -a 10.0.0.2 -C 100 -V
ok "rping -C 100 -V, RNIC 1 to RNIC 2" timeout "$LIMIT" rping-rounds -a 10.0.0.2 -C 100 -V
rping_ends
server rping -s -a 10.0.0.1 -C 100 -V
ok "rping -C 100 -V, RNIC 2 to RNIC 1" timeout "$LIMIT" ip netns exec b rping-rounds -a 10.0.0.1 -C 100 -V
rping_ends
for size in 64 1500 4096 65535; do
	server b rping -s -a 10.0.0.2 -C 10 -V -S "$size"
	ok "rping with $size bytes" timeout "$LIMIT" rping-rounds -a 10.0.0.2 -C 10 -V -S "$size"
	rping_ends
done

server b rping -s -P -p 7175
for _ in 1 2 3; do
	ok "rping to a server on the wildcard address" \
		timeout "$LIMIT" rping-rounds -a 10.0.0.2 -p 7175 -C 10 -V
done
pids=()
for nr in 1 2 3 4 5 6 7 8; do
	timeout "$LIMIT" rping-rounds -a 10.0.0.2 -p 7175 -C 20 -V > "/tmp/client$nr" 2>&1 &
	pids+=($!)
done
for pid in "${pids[@]}"; do
	wait "$pid" || { cat /tmp/client?; fail "one of eight clients at a time"; }
done
echo "ok: eight clients at a time"
server_end

server rping -s -a 10.0.0.1 -C 20 -V
ok "rping to the RNIC's own address" timeout "$LIMIT" rping-rounds -a 10.0.0.1 -C 20 -V
rping_ends
fails "connect to a port where nothing listens" timeout "$LIMIT" rping -c -a 10.0.0.2 -p 4 -C 1
fails "connect to an address that nobody has" timeout "$LIMIT" rping -c -a 10.0.0.99 -C 1
