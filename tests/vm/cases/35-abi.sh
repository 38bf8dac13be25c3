#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# rig: one
#
# Each wrong request that a program can make of the RDMA driver gets its documented answer, and
# nothing of it is left.

. lib.sh

dev=
for node in /sys/class/infiniband_verbs/uverbs*; do
	if [ "$(cat "$node/ibdev" 2> /dev/null)" = "$RDMA1" ]; then
		dev=/dev/infiniband/$(basename "$node")
	fi
done
[ -n "$dev" ] || fail "no uverbs device of $RDMA1"
before=$(rdma resource show "$RDMA1")
timeout "$LIMIT" abi "$dev" || fail "abi $dev"
gone() { [ "$(rdma resource show "$RDMA1")" = "$before" ]; }
ok "no object is left" within 20 gone
