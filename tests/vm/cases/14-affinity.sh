#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# rig: smp
# timeout: 150
#
# Interrupts that move between two CPUs under traffic: none is lost.  The driver finds what a
# lost one would have told by polling, and counts that.

. lib.sh

lost() { # COMMAND that shows the driver's counters: interrupts that it missed
	"$@" | awk '/_lost_irqs:/ { sum += $2; n++ } END { print n ? sum : "not counted" }'
}
count() { awk -v cpu="$1" '/ornic/ { sum += $(cpu + 2) } END { print sum }' /proc/interrupts; }

irqs=$(awk '/ornic/ { sub(":", "", $1); print $1 }' /proc/interrupts)
[ "$(nproc)" = 2 ] || fail "$(nproc) CPUs, expected 2"
equal "lost before by RNIC 1" "$(lost ethtool -S "$NETDEV1")" 0
equal "lost before by RNIC 2" "$(lost b ethtool -S "$NETDEV2")" 0
at0=$(count 0) at1=$(count 1)

while :; do
	for irq in $irqs; do
		for mask in 1 2 3; do echo "$mask" > "/proc/irq/$irq/smp_affinity"; done
	done
done 2> /dev/null &
movers=$!
while ethtool -S "$NETDEV1" && b ethtool -S "$NETDEV2"; do :; done > /dev/null &
movers="$movers $!"
server b rping -s -P
end=$((SECONDS + 30))
while [ "$SECONDS" -lt "$end" ]; do
	timeout "$LIMIT" rping-rounds -a 10.0.0.2 -C 30 -V > /tmp/rping.out 2>&1 ||
		{ cat /tmp/rping.out; fail "rping ended with an error"; }
done
ok "ping meanwhile" ping -q -i 0.01 -c 200 -W 5 10.0.0.2
server_end
# shellcheck disable=SC2086 # two of them
kill $movers
wait

[ "$(count 0)" -gt "$((at0 + 500))" ] || fail "CPU 0 took only $(($(count 0) - at0)) interrupts"
[ "$(count 1)" -gt "$((at1 + 500))" ] || fail "CPU 1 took only $(($(count 1) - at1)) interrupts"
echo "ok: both CPUs took interrupts"
equal "lost by RNIC 1" "$(lost ethtool -S "$NETDEV1")" 0
equal "lost by RNIC 2" "$(lost b ethtool -S "$NETDEV2")" 0
if dmesg | grep -E 'without an interrupt|lost interrupt'; then
	fail "the driver missed interrupts"
fi
echo "ok: the driver missed none"
