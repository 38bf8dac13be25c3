#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# rig: one
# needs: debug
# timeout: 200
#
# After all that the cases before did: kmemleak finds nothing.

. lib.sh

leaks=/sys/kernel/debug/kmemleak
ok "kmemleak is on" test -w "$leaks"
rmmod iw_ornic ornic
# an object counts as leaked only when two scans, and some seconds, have not found it
for _ in 1 2 3; do
	echo scan > "$leaks"
	sleep 6
done
found=$(cat "$leaks")
guest-setup one
[ -z "$found" ] || { echo "$found" | head -n 60; fail "unreferenced objects"; }
echo "ok: no unreferenced object"
