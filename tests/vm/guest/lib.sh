# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# For test cases that run in a guest: `. lib.sh`.  Every check prints what it checked; the
# first that fails ends the case.

set -u
# shellcheck disable=SC2034 # both are used by cases
LIMIT=$((90 * ${SLOWNESS:-1}))	# seconds after which one program counts as hung
# shellcheck disable=SC2034
LONG=$((150 * ${SLOWNESS:-1}))	# and one that is meant to run until it is killed
if [ -e /run/rig ]; then
	# shellcheck source=/dev/null
	. /run/rig
fi

fail() { echo "failed: $*"; exit 1; }
skip() { echo "$*"; exit 77; }

# ok TEXT CMD...: CMD succeeds.  Its output is shown when it does not.
ok() {
	local text=$1 out code=0
	shift
	out=$("$@" 2>&1) || code=$?
	if [ "$code" != 0 ]; then
		printf '%s\n' "$out" | tail -n 20
		fail "$text: '$*' ended with exit code $code"
	fi
	echo "ok: $text"
}

# fails TEXT CMD...: CMD ends with an exit code other than 0, but not by a signal or a time-out.
fails() {
	local text=$1 code=0
	shift
	"$@" > /tmp/fails.out 2>&1 || code=$?
	if [ "$code" = 0 ] || { [ "$code" -ge 124 ] && [ "$code" -lt 193 ]; }; then
		fail "$text: '$*' ended with exit code $code"
	fi
	echo "ok: $text"
}

# matches TEXT PATTERN CMD...: CMD's output has a line that matches PATTERN.
matches() {
	local text=$1 pattern=$2 out
	shift 2
	out=$("$@" 2>&1)
	if ! grep -qE -- "$pattern" <<< "$out"; then
		printf '%s\n' "$out" | tail -n 30
		fail "$text: no '$pattern' in the output of '$*'"
	fi
	echo "ok: $text"
}

equal() { # TEXT GOT EXPECTED
	[ "$2" = "$3" ] || fail "$1: '$2', expected '$3'"
	echo "ok: $1 is $2"
}

# until SECONDS CMD...: CMD succeeds within that time
within() {
	local end=$((SECONDS + $1))
	shift
	until "$@" > /dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.2
	done
}

b() { ip netns exec b "$@"; }	# in the namespace of RNIC 2

# listeners: how many our RNICs have.  The kernel's own list has one before its device has, and
# none on the wildcard address.
listeners() {
	local file n sum=0

	for file in /sys/class/infiniband/*/ports/1/hw_counters/cm_listeners; do
		read -r n < "$file" && sum=$((sum + n))
	done
	echo "$sum"
}
more_listeners() { [ "$(listeners)" -gt "$1" ]; }

# server CMD...: start CMD in the background, wait until it listens: until our RNICs have one
# more listener, at most 10 s, or, for what is no verbs program, SERVER_DELAY seconds
server() {
	# not the function, whose shell would be what a later kill reaches
	[ "$1" != b ] || set -- ip netns exec "$@"
	local before
	before=$(listeners)
	"$@" > /tmp/server.out 2>&1 < /dev/null &
	server_pid=$!
	if [ -n "${SERVER_DELAY:-}" ]; then
		sleep "$SERVER_DELAY"
	else
		within $((10 * ${SLOWNESS:-1})) more_listeners "$before" || true
		sleep 0.2	# one on the wildcard address now goes to the next device
	fi
	kill -0 "$server_pid" 2> /dev/null || { cat /tmp/server.out; fail "server '$*' ended"; }
}

# rping_ends: the server of one rping has ended.  Its exit code is 0 or 255, depending on
# which of its threads sees the disconnect first: it means nothing.
rping_ends() {
	local code=0
	wait "$server_pid" || code=$?
	[ "$code" = 0 ] || [ "$code" = 255 ] || fail "rping's server ended with exit code $code"
	echo "ok: its server ends"
}

server_end() {
	kill -9 "$server_pid" 2> /dev/null
	wait "$server_pid" 2> /dev/null
	return 0
}
