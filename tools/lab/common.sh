# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034 # used by those who source this
#
# Shared by the lab's shell scripts: where things are, how a step is run and
# reported, and how a script knows that what it would build is there already.
#
# ORNIC_CACHE    where trees, sources and images are kept
#                (default: ${XDG_CACHE_HOME:-$HOME/.cache}/openrnic)

LAB_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
TOP=$(cd "$LAB_DIR/../.." && pwd -P)
CACHE=${ORNIC_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/openrnic}
CACHE=$(mkdir -p "$CACHE" && cd "$CACHE" && pwd -P) || exit 1
TREE=$CACHE/tree
export ORNIC_CACHE=$CACHE

say() { printf '[lab] %s\n' "$*" >&2; }
die() { printf '[lab] error: %s\n' "$*" >&2; exit 1; }

inside_tree() { [ -n "${ORNIC_IN_TREE:-}" ] && [ -e /etc/openrnic-tree ]; }

# A stamp names the exact inputs something was built from: $1 is the thing,
# standard input its inputs.  stamp_key prints the key, stamp_ok compares it
# with the one recorded by stamp_set.
stamp_key() { sha256sum | cut -c1-24; }
stamp_ok() { [ "$(cat "$CACHE/stamps/$1" 2>/dev/null)" = "$2" ]; }
stamp_set() {
	mkdir -p "$CACHE/stamps"
	printf '%s\n' "$2" > "$CACHE/stamps/$1.tmp" && mv "$CACHE/stamps/$1.tmp" "$CACHE/stamps/$1"
}

# One builder at a time per thing; whoever waited finds the stamp set.
lock() {
	mkdir -p "$CACHE/stamps"
	exec 9> "$CACHE/stamps/$1.lock"
	flock -n 9 && return
	say "waiting for another '$1' build"
	flock 9
}

# step NAME LOG CMD...: run CMD with its output in LOG, say what is done and how
# long it took; when it fails say which step, show the end of LOG and its path.
step() {
	local name=$1 log=$2 start=$SECONDS rc=0
	shift 2
	mkdir -p "$(dirname "$log")"
	say "$name ..."
	"$@" > "$log" 2>&1 9>&- || rc=$?
	if [ "$rc" != 0 ]; then
		tail -n 25 "$log" | sed 's/^/    /' >&2
		die "step '$name' failed (exit code $rc), log: $log"
	fi
	say "$name: done in $((SECONDS - start)) s"
}

# debian_source DIR PACKAGE[=VERSION]: Debian's patched source of it becomes DIR, in the tree.
# Some mirrors keep the archives but not the .dsc beside them.  apt has checked each file
# that it leaves here against the signed index, so the archives are enough.
debian_source() {
	local dir=$1 name=${2%%=*} upstream debian patch

	rm -rf "$dir" "$dir.new" && mkdir -p "$dir.new/archive" "$dir.new/source" &&
		cd "$dir.new/archive" && apt-get -q update || return
	apt-get -q -o APT::Sandbox::User=root source --only-source --download-only "$2" ||
		echo "apt-get source failed, looking at what it left"
	upstream=$(echo "$name"_*.orig.tar.*z) debian=$(echo "$name"_*.debian.tar.*z)
	[ -f "$upstream" ] && [ -f "$debian" ] || return
	cd ../source && tar -xf "../archive/$upstream" --strip-components=1 &&
		tar -xf "../archive/$debian" || return
	sed 's/[[:space:]]*#.*//; /^$/d' debian/patches/series 2>/dev/null |
		while read -r patch; do patch -p1 < "debian/patches/$patch" || exit; done || return
	cd .. && mv source "$dir" && cd / && rm -rf "$dir.new"
}
