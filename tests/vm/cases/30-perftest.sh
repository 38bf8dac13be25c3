#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# rig: one
# timeout: 300
#
# perftest over rdma_cm, both programs of each pair in this guest.

. lib.sh

pair() { # PROGRAM SIZE ITERATIONS [MORE...]
	local program=$1 size=$2 n=$3
	shift 3
	server b timeout "$LIMIT" "$program" -R -F -d "$RDMA2" -s "$size" -n "$n" "$@"
	matches "$program $size bytes, $n times $*" "^ *$size +[0-9]+ +[0-9.]+ " \
		timeout "$LIMIT" "$program" -R -F -d "$RDMA1" -s "$size" -n "$n" "$@" 10.0.0.2
	ok "its server ends without error" wait "$server_pid"
}

for program in ib_write_bw ib_read_bw ib_send_bw; do
	pair "$program" 64 200
	pair "$program" 65536 100
	pair "$program" 1048576 20
done
pair ib_write_lat 64 100
pair ib_send_lat 64 100
pair ib_read_lat 64 100
pair ib_send_bw 4096 200 -e
pair ib_write_bw 4096 200 -q 4
pair ib_send_bw 4096 200 -b
