#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# rig: one
#
# Both modules are loaded, and everything that a user looks at first is there and true.

. lib.sh

for module in ornic iw_ornic; do
	ok "$module is loaded" test -d "/sys/module/$module"
	matches "$module has a licence, a description and an author" \
		'^license:.*(GPL|Dual)' modinfo "/lab/$module.ko"
	matches "$module describes itself" '^description: *\S' modinfo "/lab/$module.ko"
done
equal "number of RNICs on the PCI bus" "$(lspci -d 1234:0e57 | wc -l)" 2
matches "lspci shows an Ethernet controller" 'Ethernet controller' lspci -d 1234:0e57
for capability in 'MSI-X: Enable\+' 'Express .*Endpoint' 'FLReset\+' 'Power Management' \
	'Kernel driver in use: ornic'; do
	matches "lspci -vv" "$capability" lspci -vv -d 1234:0e57
done

for nr in 1 2; do
	netdev=NETDEV$nr rdma=RDMA$nr ns=()
	[ "$nr" = 1 ] || ns=(ip netns exec b)
	dev=${!netdev} ibdev=${!rdma}
	ok "RNIC $nr has a netdev ($dev)" test -n "$dev"
	ok "RNIC $nr has an RDMA device ($ibdev)" test -n "$ibdev"
	matches "$dev has the MAC of its rnicd and is up" "02:00:0e:57:00:0$nr" \
		"${ns[@]}" ip link show dev "$dev" up
	matches "$dev has a carrier" 'state UP' "${ns[@]}" ip link show dev "$dev"
	matches "ethtool -i $dev names the driver" '^driver: ornic$' "${ns[@]}" ethtool -i "$dev"
	matches "ethtool -i $dev names the PCI function" '^bus-info: 0000:' \
		"${ns[@]}" ethtool -i "$dev"
	matches "ethtool -i $dev shows a firmware version" '^firmware-version: \S' \
		"${ns[@]}" ethtool -i "$dev"
	matches "ethtool $dev sees the link" 'Link detected: yes' "${ns[@]}" ethtool "$dev"
	matches "ethtool -S $dev has statistics" '^ +\S+: [0-9]+$' "${ns[@]}" ethtool -S "$dev"
	matches "ethtool -g $dev shows rings" '^TX:\s+[1-9]' "${ns[@]}" ethtool -g "$dev"
	matches "rdma link: $ibdev is active" \
		"link $ibdev/1 state ACTIVE physical_state LINK_UP netdev $dev" \
		"${ns[@]}" rdma link show
	matches "ibv_devinfo: $ibdev is an iWARP device" 'transport:\s+iWARP' \
		ibv_devinfo -v -d "$ibdev"
	matches "ibv_devinfo: vendor" 'vendor_id:\s+0x(0*)1234' ibv_devinfo -v -d "$ibdev"
	matches "ibv_devinfo: port is active" 'state:\s+PORT_ACTIVE' ibv_devinfo -v -d "$ibdev"
	equal "GID 0, the MAC and zeroes" "$(cat "/sys/class/infiniband/$ibdev/ports/1/gids/0")" \
		"0200:0e57:000$nr:0000:0000:0000:0000:0000"
	matches "node GUID is the EUI-48 of the MAC" "0000:0eff:fe57:000$nr" \
		ibv_devinfo -d "$ibdev"
	for limit in max_qp max_cq max_mr max_pd max_sge max_qp_wr max_cqe max_qp_rd_atom; do
		matches "ibv_devinfo: $limit is set" "$limit:\s+[1-9]" ibv_devinfo -v -d "$ibdev"
	done
	pci=$("${ns[@]}" ethtool -i "$dev" | sed -n 's/^bus-info: //p')
	equal "parent of $ibdev is the PCI function" \
		"$(basename "$(readlink -f "/sys/class/infiniband/$ibdev/device")")" "$pci"
	ok "rdma statistic of $ibdev" rdma statistic show link "$ibdev/1"
	matches "devlink parameters of pci/$pci" 'name \S+' devlink dev param show "pci/$pci"
	matches "devlink info of pci/$pci" 'driver ornic' devlink dev info "pci/$pci"
done
