#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# rig: one
# timeout: 240
#
# One port, listeners on the wildcard address in two network namespaces: each request goes to
# the one in whose namespace its address is. And a port that the host's TCP has is not taken.

. lib.sh

PORT=7180
server rping -s -P -p "$PORT"
here=$server_pid
server b rping -s -P -p "$PORT"
there=$server_pid
ok "a server listens in the first namespace" kill -0 "$here"
ok "a server listens on the same port in namespace b" kill -0 "$there"

ok "from here to the server in b" timeout "$LIMIT" rping-rounds -a 10.0.0.2 -p "$PORT" -C 5 -V
ok "from b to the server here" timeout "$LIMIT" ip netns exec b rping-rounds -a 10.0.0.1 -p "$PORT" -C 5 -V
ok "both servers are still there" kill -0 "$here" "$there"

kill -9 "$there"
wait "$there" 2> /dev/null
# rping's exit code for it is 255
ok "no server in b: the one here does not answer for it" \
	eval "! timeout $LIMIT rping -c -a 10.0.0.2 -p $PORT -C 1"
ok "the server here still serves b" \
	timeout "$LIMIT" ip netns exec b rping-rounds -a 10.0.0.1 -p "$PORT" -C 5 -V
kill -9 "$here"
wait "$here" 2> /dev/null

iperf3 -s -1 -p "$PORT" > /dev/null 2>&1 < /dev/null &
host=$!
sleep "${SLOWNESS:-1}"
ok "a port that a program of the host listens on is not given to RDMA" \
	eval "! timeout 20 rping -s -a 10.0.0.1 -p $PORT -C 1"
kill "$host"
wait "$host" 2> /dev/null
server rping -s -a 10.0.0.1 -p "$PORT" -C 1
fails "and the other way round" timeout 20 iperf3 -s -1 -p "$PORT"
server_end
exit 0
