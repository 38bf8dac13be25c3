#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# rig: one
# timeout: 400
#
# A server with many clients survives each being killed in the middle of a transfer, and
# nothing of the dead is left in the kernel.

. lib.sh

server b rping -s -P -S 4096
for nr in $(seq 100); do
	rping -c -a 10.0.0.2 -S 4096 > /dev/null 2>&1 &
	pid=$!
	sleep "0.$((RANDOM % 20 + 10))"
	kill -9 "$pid" || fail "client $nr had ended by itself"
	wait "$pid" 2> /dev/null
	kill -0 "$server_pid" || fail "the server is gone after client $nr"
done
echo "ok: server lives after 100 clients killed with -9"
ok "it serves the 101st" timeout "$LIMIT" rping-rounds -a 10.0.0.2 -S 4096 -C 20 -V
no_qps() { ! rdma resource show qp link "$RDMA1" | grep -q rping; }
ok "no QP of a client is left" within 20 no_qps
server_end
