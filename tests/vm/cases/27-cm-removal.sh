#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# rig: one
# timeout: 300
#
# The driver goes while connections are in every state: connecting to nobody, opened and
# silent, up. Everybody is told, nothing hangs, nothing is left.

. lib.sh

# shellcheck disable=SC2317 # within and ok call it
counter() { cat "/sys/class/infiniband/$1/ports/1/hw_counters/$2"; }
# shellcheck disable=SC2317
none() { [ "$(counter "$RDMA1" "$1")" = 0 ] && [ "$(counter "$RDMA2" "$1")" = 0 ]; }

server ip netns exec b rping -s -P
ok "the server answers" within 30 bash -c 'exec 9<> /dev/tcp/10.0.0.2/7174'
timeout "$LONG" rping -c -a 10.0.0.98 > /dev/null 2>&1 &
nobody=$!
timeout "$LONG" rping -c -a 10.0.0.2 > /dev/null 2>&1 &
up=$!
for fd in 11 12; do
	eval "exec $fd<> /dev/tcp/10.0.0.2/7174" || fail "TCP connection to the server"
done
printf 'MPA ID Req' >&12
sleep $((4 * ${SLOWNESS:-1}))
echo "endpoints: $(counter "$RDMA1" cm_endpoints) and $(counter "$RDMA2" cm_endpoints)"
ok "one connection is up, two are half open" [ "$(counter "$RDMA2" cm_endpoints)" -ge 3 ]

ok "rmmod iw_ornic" timeout "$LIMIT" rmmod iw_ornic
for pid in "$nobody" "$up"; do
	within "$LIMIT" eval "! kill -0 $pid 2> /dev/null" || fail "client $pid still runs"
done
echo "ok: the clients have ended"
exec 11>&- 12>&-
server_end
ok "it loads again" guest-setup one
ok "ping" within 20 ping -c 1 -W 1 10.0.0.2
# shellcheck source=/dev/null
. /run/rig
server ip netns exec b rping -s -a 10.0.0.2 -C 10 -V
ok "rping" within 20 timeout "$LIMIT" rping-rounds -a 10.0.0.2 -C 10 -V
rping_ends
within 20 none cm_endpoints || fail "endpoints are left"
ok "no endpoint is left" none cm_endpoints
ok "no listener is left" none cm_listeners
exit 0
