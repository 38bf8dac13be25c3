# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Making Debian 13 root directories from the archive that this host itself uses (sourced
# by tree and guest, after common.sh).
#
# Mirror and keyring come from the host's own apt configuration; ORNIC_MIRROR and
# ORNIC_KEYRING override them.

SUITE=trixie

# All "URI suite components signed-by" of the host's apt sources, both formats.
apt_sources() {
	local files=()

	mapfile -t files < <(ls /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null)
	[ ${#files[@]} -eq 0 ] || awk '
		$1 == "deb" {
			key = "-"; i = 2
			if ($2 ~ /^\[/)
				for (; i <= NF; i++) {
					word = $i; gsub(/[][]/, "", word)
					if (word ~ /^signed-by=/) key = substr(word, 11)
					if ($i ~ /\]$/) { i++; break }
				}
			print $i, $(i + 1), $(i + 2), key
		}' "${files[@]}"
	mapfile -t files < <(ls /etc/apt/sources.list.d/*.sources 2>/dev/null)
	[ ${#files[@]} -eq 0 ] || awk '
		function flush() {
			if (types ~ /(^| )deb( |$)/ && enabled !~ /^(no|false|off|0)/) {
				n = split(suites, s, " ")
				for (j = 1; j <= n; j++)
					print uri, s[j], comp, key
			}
			types = uri = suites = enabled = ""; comp = key = "-"
		}
		BEGIN { comp = key = "-" }
		FNR == 1 || /^[ \t]*$/ { flush() }
		/^#/ { next }
		tolower($1) == "types:" { $1 = ""; types = $0 }
		tolower($1) == "uris:" { uri = $2 }
		tolower($1) == "suites:" { $1 = ""; suites = $0 }
		tolower($1) == "components:" { comp = $2 }
		tolower($1) == "enabled:" { enabled = $2 }
		tolower($1) == "signed-by:" && $2 ~ /^\// { key = $2 }
		END { flush() }' "${files[@]}"
}

# The archive from which the host itself is installed also has the suite we need.
find_mirror() {
	local codename uri suite key

	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	MIRROR=${ORNIC_MIRROR:-} KEYRING=${ORNIC_KEYRING:-}
	while read -r uri suite _ key; do
		[ "$suite" = "$codename" ] || [ "$suite" = stable ] || [ "$suite" = "$SUITE" ] || continue
		case $uri in http://* | https://* | file:* | copy:* | mirror+*) ;; *) continue ;; esac
		case $uri in *security*) continue ;; esac
		MIRROR=${MIRROR:-$uri}
		[ "$key" = - ] || KEYRING=${KEYRING:-$key}
		break
	done < <(apt_sources)
	MIRROR=${MIRROR:-http://deb.debian.org/debian}
	[ -n "$KEYRING" ] || KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
	[ -e "$KEYRING" ] || KEYRING=/etc/apt/trusted.gpg.d
	[ -e "$KEYRING" ] || die "no archive keyring found; set ORNIC_KEYRING"
}

# sources KEYRING: contents of sources.list
sources() {
	local options=

	[ "$1" = - ] || options="[signed-by=$1] "
	printf "deb $options%s %s main\n" "$MIRROR" "$SUITE" "$MIRROR" "$SUITE-backports"
	printf "deb-src $options%s %s main\n" "$MIRROR" "$SUITE"
}

packages() { sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$1" | paste -sd,; }

# What of the host's apt settings decides whether the archive can be reached.
host_apt_options() {
	apt-config dump 2>/dev/null |
		grep -E '^Acquire::(https?::(Proxy|Timeout|Verify-Peer)|Check-(Valid-Until|Date)|Retries) ' || true
}

need_mmdebstrap() {
	command -v mmdebstrap > /dev/null && return
	[ "$(id -u)" = 0 ] || die "mmdebstrap is missing: apt-get install mmdebstrap"
	command -v apt-get > /dev/null || die "mmdebstrap is missing, and this is not a Debian host"
	say "mmdebstrap is missing on this host: installing it with apt-get"
	step "apt-get update" "$CACHE/logs/host-apt.log" apt-get -q update
	step "apt-get install mmdebstrap" "$CACHE/logs/host-apt.log" \
		env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install mmdebstrap
}

# bootstrap DIR PACKAGES: a new root in DIR.  Runs in its own mount namespace, so
# that an interruption leaves no mounts.
bootstrap() {
	local dir=$1 list=$2 opts=() opt key=/usr/share/keyrings/openrnic-mirror.gpg

	while read -r opt; do opts+=("--aptopt=$opt"); done < <(host_apt_options)
	rm -rf --one-file-system "$dir.new"
	[ -f "$KEYRING" ] || key=-
	sources "$([ "$key" = - ] && echo - || echo "$KEYRING")" |
		unshare -m --propagation private mmdebstrap --mode=root --variant=apt \
		--aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Languages "none"' \
		--aptopt='Acquire::IndexTargets::deb::DEP-11 { DefaultEnabled "false"; };' "${opts[@]}" \
		--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/info/*' \
		--setup-hook="mkdir -p \"\$1/etc/apt/preferences.d\"" \
		--setup-hook="cp '$LAB_DIR/debian.pins' \"\$1/etc/apt/preferences.d/openrnic\"" \
		--include="$list" "$SUITE" "$dir.new" - || return
	# the keyring may be one that only this host has
	[ "$key" = - ] || install -m 644 "$KEYRING" "$dir.new$key" || return
	sources "$key" > "$dir.new/etc/apt/sources.list"
	rm -f "$dir.new/etc/apt/sources.list.d"/*
	rm -rf --one-file-system "$dir" && mv "$dir.new" "$dir"
}
