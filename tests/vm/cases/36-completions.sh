#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# rig: one
#
# Completions and asynchronous events of right and of wrong work requests, user space at both
# ends of a connection of the RNIC with itself.

. lib.sh

timeout "$LIMIT" completions 10.0.0.1 || fail "completions 10.0.0.1"
gone() { ! rdma resource show "$RDMA1" | grep -qE '(qp|mr|ctx) [1-9]'; }
ok "no object is left" within 20 gone
