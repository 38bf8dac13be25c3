// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * OpenRNIC core driver: listeners of the device's TCP engine, and the SYNs that come for them.
 *
 * A listener of the device hears untagged frames or one VLAN. A wildcard listener of the RDMA
 * driver is therefore one for untagged frames and one for each VLAN on the port, which follow the
 * VLANs as they come and go; one on an address follows the address from one to the other.
 */

#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/tcp.h>

#include "core.h"

/**
 * struct ornic_listen_hw - a listener of the device
 * @listen: whose it is
 * @node: in @listen->hw
 * @rest: holds the id
 * @vlan: VLAN id, 0: untagged
 */
struct ornic_listen_hw {
	struct ornic_listen *listen;
	struct list_head node;
	struct ornic_rest *rest;
	u16 vlan;
};

/**
 * struct ornic_listen - listener
 * @od: the function
 * @node: in listen_list of the function
 * @hw: listeners of the device
 * @params: as given
 */
struct ornic_listen {
	struct ornic_dev *od;
	struct list_head node;
	struct list_head hw;
	struct ornic_listen_params params;
};

/* --- listeners of the device ---------------------------------------------------------------- */

static int ornic_listen_command(struct ornic_listen *listen, struct ornic_listen_hw *hw)
{
	struct ornic_cmd_listen cmd = {
		.hdr.opcode = cpu_to_le16(ORNIC_CMD_LISTEN),
		.listen_id = cpu_to_le32(hw->rest->id),
	};
	struct ornic_dev *od = listen->od;
	u32 max = le32_to_cpu(od->attr.max_syn);
	int rc;

	rc = ornic_addr_pack(&od->core, &listen->params.local, cmd.addr, &cmd.port, &cmd.family);
	if (rc)
		return rc;
	cmd.backlog = cpu_to_le32(clamp_t(u32, listen->params.backlog, 1, max));
	if (hw->vlan) {
		cmd.flags = ORNIC_LISTEN_VLAN;
		cmd.vlan_id = cpu_to_le16(hw->vlan);
	}
	return ornic_cmd_exec(&od->core, &cmd, NULL);
}

static void ornic_listen_hw_del(struct ornic_listen_hw *hw)
{
	struct ornic_dev *od = hw->listen->od;

	xa_erase_bh(&od->listens, hw->rest->id);
	ornic_cmd_number(od, ORNIC_CMD_UNLISTEN, hw->rest->id, NULL);
	list_del(&hw->node);
	ornic_ids_rest(od, &od->listen_ids, hw->rest);
	kfree(hw);
}

static int ornic_listen_hw_add(struct ornic_listen *listen, u16 vlan)
{
	struct ornic_dev *od = listen->od;
	struct ornic_listen_hw *hw;
	int rc;

	lockdep_assert_held(&od->listen_lock);
	hw = kzalloc(sizeof(*hw), GFP_KERNEL);
	if (!hw)
		return -ENOMEM;
	hw->listen = listen;
	hw->vlan = vlan;
	hw->rest = ornic_ids_get(&od->listen_ids);
	if (IS_ERR(hw->rest)) {
		rc = PTR_ERR(hw->rest);
		goto free;
	}
	/* Before the command: the first SYN may come at once. */
	rc = xa_err(xa_store_bh(&od->listens, hw->rest->id, hw, GFP_KERNEL));
	if (rc)
		goto free_id;
	rc = ornic_listen_command(listen, hw);
	if (rc)
		goto erase;
	list_add_tail(&hw->node, &listen->hw);
	return 0;

erase:
	xa_erase_bh(&od->listens, hw->rest->id);
free_id:
	ornic_ids_free(&od->listen_ids, hw->rest);
free:
	kfree(hw);
	return rc;
}

static void ornic_listen_hw_del_all(struct ornic_listen *listen)
{
	struct ornic_listen_hw *hw, *next;

	list_for_each_entry_safe(hw, next, &listen->hw, node)
		ornic_listen_hw_del(hw);
}

static bool ornic_listen_has_vlan(struct ornic_listen *listen, u16 vlan)
{
	struct ornic_listen_hw *hw;

	list_for_each_entry(hw, &listen->hw, node)
		if (hw->vlan == vlan)
			return true;
	return false;
}

/* VLAN ids on the port, at most @max of them. */
static u32 ornic_port_vlans(struct ornic_core *core, u16 *vlans, u32 max)
{
	struct net *net = dev_net(core->netdev);
	struct net_device *dev;
	struct list_head *iter;
	u32 n = 0;

	rcu_read_lock();
	netdev_for_each_upper_dev_rcu(core->netdev, dev, iter) {
		if (n == max)
			break;
		if (ornic_is_port_dev(core, dev) && net_eq(dev_net(dev), net))
			vlans[n++] = vlan_dev_vlan_id(dev);
	}
	rcu_read_unlock();
	return n;
}

static int ornic_listen_any(struct ornic_listen *listen)
{
	struct ornic_core *core = &listen->od->core;
	u16 *vlans;
	u32 n, i;
	int rc;

	vlans = kcalloc(VLAN_N_VID, sizeof(*vlans), GFP_KERNEL);
	if (!vlans)
		return -ENOMEM;
	n = ornic_port_vlans(core, vlans, VLAN_N_VID);
	rc = ornic_listen_hw_add(listen, 0);
	for (i = 0; !rc && i < n; i++)
		rc = ornic_listen_hw_add(listen, vlans[i]);
	kfree(vlans);
	return rc;
}

/* The VLAN that the listener's address is on, 0: none; or -EADDRNOTAVAIL. */
static int ornic_listen_addr_vlan(struct ornic_listen *listen)
{
	struct ornic_core *core = &listen->od->core;
	struct net_device *dev;
	int vlan;

	dev = ornic_addr_dev(core, dev_net(core->netdev), &listen->params.local);
	if (!dev)
		return -EADDRNOTAVAIL;
	vlan = is_vlan_dev(dev) ? vlan_dev_vlan_id(dev) : 0;
	dev_put(dev);
	return vlan;
}

static int ornic_listen_addr(struct ornic_listen *listen)
{
	int vlan = ornic_listen_addr_vlan(listen);

	return vlan < 0 ? vlan : ornic_listen_hw_add(listen, vlan);
}

/* An address that was removed stays listened on: it may come back, there or elsewhere. */
static void ornic_listen_follow_addr(struct ornic_listen *listen)
{
	struct ornic_listen_hw *hw, *next;
	int vlan = ornic_listen_addr_vlan(listen);
	int rc;

	if (vlan < 0 || ornic_listen_has_vlan(listen, vlan))
		return;
	rc = ornic_listen_hw_add(listen, vlan);
	if (rc) {
		dev_warn_ratelimited(ornic_device(listen->od), "listener, VLAN %d: %d\n", vlan, rc);
		return;
	}
	list_for_each_entry_safe(hw, next, &listen->hw, node)
		if (hw->vlan != vlan)
			ornic_listen_hw_del(hw);
}

/**
 * ornic_listen_follow() - listeners on addresses go to the VLANs where the addresses are now
 * @od: the function
 *
 * Context: Process context, sleeps.
 */
void ornic_listen_follow(struct ornic_dev *od)
{
	struct ornic_listen *listen;

	mutex_lock(&od->listen_lock);
	list_for_each_entry(listen, &od->listen_list, node)
		if (ornic_alive(&od->core) && !ornic_addr_is_any(&listen->params.local))
			ornic_listen_follow_addr(listen);
	mutex_unlock(&od->listen_lock);
}

/**
 * ornic_listen_start() - listen for connections
 * @core: the function
 * @params: local address (wildcard: untagged and on all VLANs) and port, backlog of held SYNs,
 * function to call
 *
 * Context: Process context, sleeps.
 * Return: listener, or ERR_PTR: -EADDRINUSE, -EADDRNOTAVAIL, -EAFNOSUPPORT, -ENOSPC, -ENODEV,
 *         -ENOMEM, or as ornic_cmd_exec(). conn_req may be called before it returns.
 */
struct ornic_listen *ornic_listen_start(struct ornic_core *core,
					const struct ornic_listen_params *params)
{
	struct ornic_dev *od = ornic_dev_of(core);
	struct ornic_listen *listen;
	int rc;

	if (!ornic_alive(core))
		return ERR_PTR(-ENODEV);
	listen = kzalloc(sizeof(*listen), GFP_KERNEL);
	if (!listen)
		return ERR_PTR(-ENOMEM);
	listen->od = od;
	listen->params = *params;
	INIT_LIST_HEAD(&listen->hw);

	mutex_lock(&od->listen_lock);
	if (ornic_addr_is_any(&params->local))
		rc = ornic_listen_any(listen);
	else
		rc = ornic_listen_addr(listen);
	if (rc)
		ornic_listen_hw_del_all(listen);
	else
		list_add_tail(&listen->node, &od->listen_list);
	mutex_unlock(&od->listen_lock);
	if (!rc)
		return listen;
	ornic_tcp_wait_idle(od, listen);
	kfree(listen);
	return ERR_PTR(rc);
}
EXPORT_SYMBOL_GPL(ornic_listen_start);

/**
 * ornic_listen_stop() - end a listener; SYNs that it still holds are refused
 * @listen: listener, not to be used afterwards
 *
 * When it returns, conn_req does not run and will not run.
 *
 * Context: Process context, sleeps. Must not be called from conn_req.
 */
void ornic_listen_stop(struct ornic_listen *listen)
{
	struct ornic_dev *od = listen->od;

	mutex_lock(&od->listen_lock);
	list_del(&listen->node);
	ornic_listen_hw_del_all(listen);
	mutex_unlock(&od->listen_lock);
	ornic_tcp_wait_idle(od, listen);
	kfree(listen);
}
EXPORT_SYMBOL_GPL(ornic_listen_stop);

/**
 * ornic_listen_vlan_up() - wildcard listeners hear a VLAN from now on
 * @od: the function
 * @dev: VLAN device on the port
 *
 * Context: Process context, RTNL held.
 */
void ornic_listen_vlan_up(struct ornic_dev *od, struct net_device *dev)
{
	u16 vlan = vlan_dev_vlan_id(dev);
	struct ornic_listen *listen;
	int rc;

	if (!net_eq(dev_net(dev), dev_net(od->core.netdev)))
		return;
	mutex_lock(&od->listen_lock);
	list_for_each_entry(listen, &od->listen_list, node) {
		if (!ornic_addr_is_any(&listen->params.local) ||
		    ornic_listen_has_vlan(listen, vlan))
			continue;
		rc = ornic_listen_hw_add(listen, vlan);
		if (rc)
			netdev_warn(dev, "listener: %d\n", rc);
	}
	mutex_unlock(&od->listen_lock);
}

/**
 * ornic_listen_vlan_gone() - no listener hears a VLAN any more
 * @od: the function
 * @dev: VLAN device that is being unregistered
 *
 * Context: Process context, RTNL held.
 */
void ornic_listen_vlan_gone(struct ornic_dev *od, struct net_device *dev)
{
	u16 vlan = vlan_dev_vlan_id(dev);
	struct ornic_listen_hw *hw, *next;
	struct ornic_listen *listen;

	mutex_lock(&od->listen_lock);
	list_for_each_entry(listen, &od->listen_list, node)
		list_for_each_entry_safe(hw, next, &listen->hw, node)
			if (hw->vlan == vlan)
				ornic_listen_hw_del(hw);
	mutex_unlock(&od->listen_lock);
}

/* --- SYNs ----------------------------------------------------------------------------------- */

static void ornic_syn_set4(struct sockaddr_storage *ss, __be32 addr, __be16 port)
{
	struct sockaddr_in *in = (void *)ss;

	in->sin_family = AF_INET;
	in->sin_addr.s_addr = addr;
	in->sin_port = port;
}

static void ornic_syn_set6(struct sockaddr_storage *ss, const struct in6_addr *addr, __be16 port)
{
	struct sockaddr_in6 *in6 = (void *)ss;

	in6->sin6_family = AF_INET6;
	in6->sin6_addr = *addr;
	in6->sin6_port = port;
}

static bool ornic_syn_parse4(struct ornic_syn *syn, const u8 *p, u32 len)
{
	struct iphdr iph;
	struct tcphdr th;

	if (len < sizeof(iph))
		return false;
	memcpy(&iph, p, sizeof(iph));
	if (iph.version != 4 || iph.ihl < 5 || iph.protocol != IPPROTO_TCP ||
	    len < iph.ihl * 4 + sizeof(th))
		return false;
	memcpy(&th, p + iph.ihl * 4, sizeof(th));
	ornic_syn_set4(&syn->local, iph.daddr, th.dest);
	ornic_syn_set4(&syn->remote, iph.saddr, th.source);
	syn->tos = iph.tos;
	return th.syn && !th.ack && !th.rst;
}

static bool ornic_syn_parse6(struct ornic_syn *syn, const u8 *p, u32 len)
{
	struct ipv6hdr ip6h;
	struct tcphdr th;

	if (len < sizeof(ip6h) + sizeof(th))
		return false;
	memcpy(&ip6h, p, sizeof(ip6h));
	if (ip6h.version != 6 || ip6h.nexthdr != IPPROTO_TCP)
		return false;
	memcpy(&th, p + sizeof(ip6h), sizeof(th));
	ornic_syn_set6(&syn->local, &ip6h.daddr, th.dest);
	ornic_syn_set6(&syn->remote, &ip6h.saddr, th.source);
	syn->tos = ip6h.priority << 4 | ip6h.flow_lbl[0] >> 4;
	return th.syn && !th.ack && !th.rst;
}

/* The frame came from the wire through the device: nothing in it is taken for granted. */
static bool ornic_syn_parse(struct ornic_syn *syn)
{
	const u8 *p = syn->frame;
	u32 len = syn->frame_len;
	struct vlan_hdr tag;
	__be16 proto;

	if (len < ETH_HLEN)
		return false;
	memcpy(&proto, p + ETH_HLEN - sizeof(proto), sizeof(proto));
	p += ETH_HLEN;
	len -= ETH_HLEN;
	if (proto == htons(ETH_P_8021Q)) {
		if (len < sizeof(tag))
			return false;
		memcpy(&tag, p, sizeof(tag));
		syn->vlan_tci = ntohs(tag.h_vlan_TCI);
		proto = tag.h_vlan_encapsulated_proto;
		p += sizeof(tag);
		len -= sizeof(tag);
	}
	if (proto == htons(ETH_P_IP))
		return ornic_syn_parse4(syn, p, len);
	if (proto == htons(ETH_P_IPV6))
		return ornic_syn_parse6(syn, p, len);
	return false;
}

/* A SYN for a wildcard listener may be for an address that is not ours: the host forwards it. */
static void ornic_syn_deliver(struct ornic_listen *listen, struct ornic_syn *syn)
{
	struct ornic_core *core = &listen->od->core;
	enum ornic_refuse how;

	if (!ornic_syn_parse(syn)) {
		dev_warn_ratelimited(&core->pdev->dev, "held SYN cannot be parsed\n");
		ornic_syn_refuse(core, syn->syn_id, ORNIC_REFUSE_SILENT);
		return;
	}
	if (ornic_addr_is_any(&syn->local) ||
	    !ornic_addr_is_local(core, dev_net(core->netdev), &syn->local)) {
		ornic_syn_refuse(core, syn->syn_id, ORNIC_REFUSE_TO_HOST);
		return;
	}
	if (!ornic_filter_syn(core, syn, &how)) {
		ornic_syn_refuse(core, syn->syn_id, how);
		return;
	}
	listen->params.conn_req(listen, listen->params.ctx, syn);
}

/**
 * ornic_listen_event() - CONN_REQ
 * @od: the function
 * @teqe: the entry
 * @data: the frame
 *
 * A SYN of a listener that is gone needs no answer: UNLISTEN has refused it.
 *
 * Context: The TCP EQ's work.
 */
void ornic_listen_event(struct ornic_dev *od, const struct ornic_teqe *teqe, const void *data)
{
	struct ornic_syn syn = {
		.syn_id = le32_to_cpu(teqe->syn_id),
		.looped = le32_to_cpu(teqe->info) & ORNIC_CONN_REQ_LOOPED,
		.frame = data,
		.frame_len = le16_to_cpu(teqe->data_len),
	};
	struct ornic_listen *listen = NULL;
	struct ornic_listen_hw *hw;

	xa_lock_bh(&od->listens);
	hw = xa_load(&od->listens, le32_to_cpu(teqe->listen_id));
	if (hw) {
		listen = hw->listen;
		WRITE_ONCE(od->teq_current, listen);
	}
	xa_unlock_bh(&od->listens);
	if (!listen)
		return;
	ornic_syn_deliver(listen, &syn);
	ornic_tcp_run_end(od);
}
