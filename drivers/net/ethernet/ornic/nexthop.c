// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * OpenRNIC core driver: next-hop table.
 *
 * An entry belongs to one neighbour (or, for the port's own addresses, to one network device) and
 * is shared by all connections that go there. Neighbour and device events only mark entries, since
 * they are atomic; work writes them to the device.
 */

#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/neighbour.h>
#include <net/netevent.h>

#include "core.h"

#define ORNIC_NH_KEY_LEN	16

/**
 * struct ornic_nexthop - entry of the table
 * @od: the function
 * @refs: users, under nh_lock
 * @node: in nh_list
 * @index: in the device's table
 * @dev: the port's network device or a VLAN on it; NULL once that is gone
 * @dev_tracker: of the reference to @dev
 * @neigh: neighbour; NULL in a loop entry or once @dev is gone
 * @tbl: neighbour table
 * @key: neighbour's address, to find it again when the kernel has thrown it away
 * @way: to a neighbour, to the port itself, or nowhere
 * @mtu: MTU of the routes that lead here, when it is smaller than the device's, else 0
 * @dirty: not written to the device since the last event; set from atomic context
 * @known: @told is what the device has
 * @told: last command
 */
struct ornic_nexthop {
	struct ornic_dev *od;
	u32 refs;
	struct list_head node;
	u32 index;
	struct net_device *dev;
	netdevice_tracker dev_tracker;
	struct neighbour *neigh;
	struct neigh_table *tbl;
	u8 key[ORNIC_NH_KEY_LEN];
	enum ornic_way way;
	u32 mtu;
	bool dirty;
	bool known;
	struct ornic_cmd_set_nexthop told;
};

/* --- writing entries to the device ---------------------------------------------------------- */

/* The neighbour's address, and flags that tell when it has none at present. */
static u16 ornic_nh_resolve(struct ornic_nexthop *nh, u8 *dmac)
{
	u8 ha[ETH_ALEN];
	bool dead;
	u8 state;

	if (!nh->neigh)
		return ORNIC_NHF_DEAD;
	read_lock_bh(&nh->neigh->lock);
	state = nh->neigh->nud_state;
	dead = nh->neigh->dead;
	ether_addr_copy(ha, nh->neigh->ha);
	read_unlock_bh(&nh->neigh->lock);
	if (!dead && (state & NUD_VALID) && is_valid_ether_addr(ha)) {
		ether_addr_copy(dmac, ha);
		return 0;
	}
	return ORNIC_NHF_DEAD | (!dead && (state & NUD_FAILED) ? ORNIC_NHF_FAILED : 0);
}

static u16 ornic_nh_mtu(struct ornic_nexthop *nh)
{
	u32 min = nh->tbl && nh->tbl->family == AF_INET6 ? IPV6_MIN_MTU : ETH_MIN_MTU;

	u32 mtu = READ_ONCE(nh->dev->mtu);

	if (nh->mtu)
		mtu = min(mtu, nh->mtu);
	return clamp_t(u32, mtu, min, nh->od->core.limits.max_mtu);
}

static void ornic_nh_fill(struct ornic_nexthop *nh, struct ornic_cmd_set_nexthop *cmd)
{
	u16 flags = 0;

	*cmd = nh->told;
	cmd->hdr.opcode = cpu_to_le16(ORNIC_CMD_SET_NEXTHOP);
	cmd->hdr.id = 0;
	cmd->index = cpu_to_le32(nh->index);
	if (nh->dev) {
		ether_addr_copy(cmd->smac, nh->dev->dev_addr);
		cmd->mtu = cpu_to_le16(ornic_nh_mtu(nh));
		cmd->vlan_tci = 0;
		if (is_vlan_dev(nh->dev))
			cmd->vlan_tci = cpu_to_le16(vlan_dev_vlan_id(nh->dev));
	}
	if (cmd->vlan_tci)
		flags |= ORNIC_NHF_VLAN;
	if (nh->way == ORNIC_WAY_LOOP && nh->dev) {
		flags |= ORNIC_NHF_LOOP;
		ether_addr_copy(cmd->dmac, nh->dev->dev_addr);
	} else {
		flags |= ornic_nh_resolve(nh, cmd->dmac);
	}
	cmd->flags = cpu_to_le16(flags);
}

static int ornic_nh_write(struct ornic_nexthop *nh)
{
	struct ornic_cmd_set_nexthop cmd, told;
	int rc;

	lockdep_assert_held(&nh->od->nh_lock);
	WRITE_ONCE(nh->dirty, false);
	ornic_nh_fill(nh, &cmd);
	if (nh->known && !memcmp(&cmd, &nh->told, sizeof(cmd)))
		return 0;
	told = cmd;
	rc = ornic_cmd_exec(&nh->od->core, &cmd, NULL);
	if (!rc) {
		nh->told = told;
		nh->known = true;
	}
	return rc;
}

/* The kernel throws neighbours away (flush, device down). Take the one that it has now. */
static void ornic_nh_renew(struct ornic_nexthop *nh)
{
	struct neighbour *neigh, *old = nh->neigh;

	if (!old || !READ_ONCE(old->dead) || !nh->dev)
		return;
	neigh = __neigh_lookup_errno(nh->tbl, nh->key, nh->dev);
	if (IS_ERR(neigh))
		return;
	spin_lock_bh(&nh->od->nh_spin);
	nh->neigh = neigh;
	spin_unlock_bh(&nh->od->nh_spin);
	neigh_release(old);
	WRITE_ONCE(nh->dirty, true);
	neigh_event_send(neigh, NULL);
}

/* Keep the neighbour alive as a sender would: resolve a missing one, have a stale one confirmed. */
static void ornic_nh_probe(struct ornic_nexthop *nh)
{
	u8 busy = NUD_CONNECTED | NUD_DELAY | NUD_PROBE | NUD_INCOMPLETE;

	ornic_nh_renew(nh);
	if (nh->neigh && !(READ_ONCE(nh->neigh->nud_state) & busy))
		neigh_event_send(nh->neigh, NULL);
}

static void ornic_nh_work(struct work_struct *work)
{
	struct ornic_dev *od = container_of(work, struct ornic_dev, nh_work);
	struct ornic_nexthop *nh;

	mutex_lock(&od->nh_lock);
	list_for_each_entry(nh, &od->nh_list, node) {
		if (!READ_ONCE(nh->dirty))
			continue;
		/* Not probed: that a neighbour failed is told before it is looked for again. */
		ornic_nh_renew(nh);
		ornic_nh_write(nh);
	}
	mutex_unlock(&od->nh_lock);
}

/**
 * ornic_nexthop_watch() - resolve what is not resolved, confirm what is stale, look at the routes
 * @od: the function
 *
 * Routes change without a notification, too: ICMP redirects, path MTUs and their end.
 *
 * Context: Process context, every two seconds.
 */
void ornic_nexthop_watch(struct ornic_dev *od)
{
	struct ornic_nexthop *nh;

	mutex_lock(&od->nh_lock);
	list_for_each_entry(nh, &od->nh_list, node) {
		ornic_nh_probe(nh);
		ornic_nh_write(nh);
	}
	mutex_unlock(&od->nh_lock);
	ornic_tcp_reroute(od);
}

/**
 * ornic_nexthop_restore() - write all entries to a device that was reset
 * @od: the function
 *
 * Context: Process context, sleeps.
 */
void ornic_nexthop_restore(struct ornic_dev *od)
{
	struct ornic_nexthop *nh;

	mutex_lock(&od->nh_lock);
	list_for_each_entry(nh, &od->nh_list, node) {
		nh->known = false;
		ornic_nh_write(nh);
	}
	mutex_unlock(&od->nh_lock);
}

/* --- life of an entry ----------------------------------------------------------------------- */

static struct ornic_nexthop *ornic_nh_find(struct ornic_dev *od, const struct ornic_route *route)
{
	struct ornic_nexthop *nh;

	list_for_each_entry(nh, &od->nh_list, node)
		if (nh->way == route->way && nh->dev == route->dev && nh->neigh == route->neigh &&
		    nh->mtu == route->mtu)
			return nh;
	return NULL;
}

static void ornic_nh_drop_refs(struct ornic_nexthop *nh)
{
	struct neighbour *neigh = nh->neigh;

	spin_lock_bh(&nh->od->nh_spin);
	nh->neigh = NULL;
	spin_unlock_bh(&nh->od->nh_spin);
	if (neigh)
		neigh_release(neigh);
	if (nh->dev)
		netdev_put(nh->dev, &nh->dev_tracker);
	nh->dev = NULL;
}

static void ornic_nh_free(struct ornic_nexthop *nh)
{
	ornic_nh_drop_refs(nh);
	ida_free(&nh->od->nh_ida, nh->index);
	kfree(nh);
}

/* Takes references of its own. */
static struct ornic_nexthop *ornic_nh_create(struct ornic_dev *od, const struct ornic_route *route)
{
	u32 max = le32_to_cpu(od->attr.max_nexthop) - 1;
	struct ornic_nexthop *nh;
	int rc;

	nh = kzalloc(sizeof(*nh), GFP_KERNEL);
	if (!nh)
		return ERR_PTR(-ENOMEM);
	rc = ida_alloc_max(&od->nh_ida, max, GFP_KERNEL);
	if (rc < 0) {
		kfree(nh);
		return ERR_PTR(rc);
	}
	nh->od = od;
	nh->index = rc;
	nh->refs = 1;
	nh->dev = route->dev;
	netdev_hold(nh->dev, &nh->dev_tracker, GFP_KERNEL);
	nh->way = route->way;
	nh->mtu = route->mtu;
	if (route->neigh) {
		nh->neigh = neigh_clone(route->neigh);
		nh->tbl = nh->neigh->tbl;
		memcpy(nh->key, nh->neigh->primary_key,
		       min_t(u32, nh->tbl->key_len, ORNIC_NH_KEY_LEN));
	}
	return nh;
}

static struct ornic_nexthop *ornic_nh_add(struct ornic_dev *od, const struct ornic_route *route)
{
	struct ornic_nexthop *nh;
	int rc;

	nh = ornic_nh_create(od, route);
	if (IS_ERR(nh))
		return nh;
	/* On the list first, so that no event between reading the neighbour and that is missed. */
	spin_lock_bh(&od->nh_spin);
	list_add_tail(&nh->node, &od->nh_list);
	spin_unlock_bh(&od->nh_spin);
	ornic_nh_probe(nh);
	rc = ornic_nh_write(nh);
	if (!rc)
		return nh;
	spin_lock_bh(&od->nh_spin);
	list_del(&nh->node);
	spin_unlock_bh(&od->nh_spin);
	ornic_nh_free(nh);
	return ERR_PTR(rc);
}

/**
 * ornic_nexthop_of() - the entry for a route
 * @od: the function
 * @route: route
 *
 * Context: Process context, sleeps.
 * Return: the next hop with a reference, or ERR_PTR: -ENETUNREACH: the network device is being
 *         unregistered; -ENOSPC, -ENOMEM, or as ornic_cmd_exec()
 */
struct ornic_nexthop *ornic_nexthop_of(struct ornic_dev *od, const struct ornic_route *route)
{
	struct ornic_nexthop *nh;

	mutex_lock(&od->nh_lock);
	nh = ornic_nh_find(od, route);
	if (nh) {
		nh->refs++;
		ornic_nh_probe(nh);
		ornic_nh_write(nh);
	} else if (route->dev->reg_state == NETREG_REGISTERED) {
		nh = ornic_nh_add(od, route);
	} else {
		nh = ERR_PTR(-ENETUNREACH);
	}
	mutex_unlock(&od->nh_lock);
	return nh;
}

/**
 * ornic_nexthop_none() - the entry for connections over a next hop that lead nowhere at present
 * @nh: their next hop until now
 *
 * Nothing is sent over it; MTU and network device stay, so that connections are cut no smaller than
 * they must be, and end when the device goes.
 *
 * Context: Process context, sleeps.
 * Return: as ornic_nexthop_of()
 */
struct ornic_nexthop *ornic_nexthop_none(struct ornic_nexthop *nh)
{
	struct ornic_route route = {
		.way = ORNIC_WAY_NONE,
		.dev = ornic_nexthop_dev(nh),
		.mtu = nh->mtu,
	};
	struct ornic_nexthop *none = ERR_PTR(-ENETUNREACH);

	if (route.dev)
		none = ornic_nexthop_of(nh->od, &route);
	ornic_route_put(&route);
	return none;
}

struct ornic_nexthop *ornic_nexthop_get(struct ornic_core *core, struct net *net,
					const struct sockaddr_storage *local,
					const struct sockaddr_storage *remote, u8 tos)
{
	struct ornic_route route;
	struct ornic_nexthop *nh;
	int rc;

	if (!ornic_alive(core))
		return ERR_PTR(-ENODEV);
	rc = ornic_route_lookup(core, net, local, remote, tos, &route);
	if (rc)
		return ERR_PTR(rc);
	nh = ornic_nexthop_of(ornic_dev_of(core), &route);
	ornic_route_put(&route);
	return nh;
}
EXPORT_SYMBOL_GPL(ornic_nexthop_get);

/**
 * ornic_nexthop_put() - drop a reference; the last one clears the entry
 * @nh: next hop, no connection of the caller uses it any more; NULL is fine
 *
 * Context: Process context, sleeps.
 */
void ornic_nexthop_put(struct ornic_nexthop *nh)
{
	struct ornic_dev *od;
	int rc = 0;

	if (!nh)
		return;
	od = nh->od;
	mutex_lock(&od->nh_lock);
	if (--nh->refs) {
		mutex_unlock(&od->nh_lock);
		return;
	}
	spin_lock_bh(&od->nh_spin);
	list_del(&nh->node);
	spin_unlock_bh(&od->nh_spin);
	if (ornic_alive(&od->core))
		rc = ornic_cmd_number(od, ORNIC_CMD_CLEAR_NEXTHOP, nh->index, NULL);
	if (rc && rc != -EIO && rc != -ETIMEDOUT)
		dev_warn(ornic_device(od), "next hop %u: %d\n", nh->index, rc);
	ornic_nh_free(nh);
	mutex_unlock(&od->nh_lock);
}
EXPORT_SYMBOL_GPL(ornic_nexthop_put);

/**
 * ornic_nexthop_hold() - take another reference
 * @nh: next hop of which the caller has a reference
 *
 * Context: Process context, sleeps.
 * Return: @nh
 */
struct ornic_nexthop *ornic_nexthop_hold(struct ornic_nexthop *nh)
{
	mutex_lock(&nh->od->nh_lock);
	nh->refs++;
	mutex_unlock(&nh->od->nh_lock);
	return nh;
}

/**
 * ornic_nexthop_index() - number of the entry in the device
 * @nh: next hop
 *
 * Context: Any context.
 * Return: index
 */
u32 ornic_nexthop_index(const struct ornic_nexthop *nh)
{
	return nh->index;
}

/**
 * ornic_nexthop_dev() - the network device that frames go out on
 * @nh: next hop
 *
 * Context: Process context, sleeps.
 * Return: the port's network device or a VLAN on it, with a reference; NULL when it is gone
 */
struct net_device *ornic_nexthop_dev(struct ornic_nexthop *nh)
{
	struct net_device *dev;

	mutex_lock(&nh->od->nh_lock);
	dev = nh->dev;
	dev_hold(dev);
	mutex_unlock(&nh->od->nh_lock);
	return dev;
}

/* --- events --------------------------------------------------------------------------------- */

static void ornic_nh_neigh_event(struct ornic_dev *od, struct neighbour *neigh)
{
	struct ornic_nexthop *nh;

	spin_lock_bh(&od->nh_spin);
	list_for_each_entry(nh, &od->nh_list, node) {
		if (nh->neigh != neigh)
			continue;
		WRITE_ONCE(nh->dirty, true);
		queue_work(system_wq, &od->nh_work);
	}
	spin_unlock_bh(&od->nh_spin);
}

static int ornic_netevent(struct notifier_block *nb, unsigned long event, void *arg)
{
	struct ornic_dev *od = container_of(nb, struct ornic_dev, netevent_nb);

	switch (event) {
	case NETEVENT_NEIGH_UPDATE:
		ornic_nh_neigh_event(od, arg);
		break;
	case NETEVENT_REDIRECT:
		ornic_tcp_reroute(od);
		break;
	}
	return NOTIFY_DONE;
}

static void ornic_nh_dev_event(struct ornic_dev *od, struct net_device *dev)
{
	struct ornic_nexthop *nh;

	mutex_lock(&od->nh_lock);
	list_for_each_entry(nh, &od->nh_list, node)
		if (nh->dev == dev)
			WRITE_ONCE(nh->dirty, true);
	mutex_unlock(&od->nh_lock);
	queue_work(system_wq, &od->nh_work);
	ornic_tcp_reroute(od);
}

/* The device goes, or changes namespace. Its entries stay, dead, until their last user is freed. */
static void ornic_nh_dev_gone(struct ornic_dev *od, struct net_device *dev)
{
	struct ornic_nexthop *nh;

	mutex_lock(&od->nh_lock);
	list_for_each_entry(nh, &od->nh_list, node) {
		if (nh->dev != dev)
			continue;
		ornic_nh_drop_refs(nh);
		ornic_nh_write(nh);
	}
	mutex_unlock(&od->nh_lock);
}

static int ornic_netdev_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	struct ornic_dev *od = container_of(nb, struct ornic_dev, netdev_nb);
	struct net_device *dev = netdev_notifier_info_to_dev(arg);

	if (!ornic_is_port_dev(&od->core, dev))
		return NOTIFY_DONE;
	switch (event) {
	case NETDEV_UP:
		if (dev != od->core.netdev)
			ornic_listen_vlan_up(od, dev);
		fallthrough;
	case NETDEV_CHANGEMTU:
		ornic_nh_dev_event(od, dev);
		break;
	case NETDEV_CHANGEADDR:
		ornic_nh_dev_event(od, dev);
		if (dev == od->core.netdev)
			ornic_rdma_addr_event(od);
		break;
	case NETDEV_REGISTER:
		if (dev == od->core.netdev)
			ornic_routes_enter(od);
		break;
	case NETDEV_UNREGISTER:
		if (dev == od->core.netdev)
			ornic_routes_leave(od);
		ornic_tcp_dev_gone(od, dev);
		ornic_nh_dev_gone(od, dev);
		if (dev != od->core.netdev)
			ornic_listen_vlan_gone(od, dev);
		break;
	}
	return NOTIFY_DONE;
}

/**
 * ornic_nexthop_init() - empty table
 * @od: the function
 *
 * Context: Process context.
 */
void ornic_nexthop_init(struct ornic_dev *od)
{
	mutex_init(&od->nh_lock);
	INIT_LIST_HEAD(&od->nh_list);
	spin_lock_init(&od->nh_spin);
	ida_init(&od->nh_ida);
	INIT_WORK(&od->nh_work, ornic_nh_work);
	INIT_DELAYED_WORK(&od->reroute_work, ornic_tcp_reroute_work);
	ornic_routes_init(od);
}

/**
 * ornic_nexthop_listen() - hear of neighbours and network devices from now on
 * @od: the function with its network device, registered or not
 *
 * Context: Process context, takes RTNL.
 * Return: 0 or a negative errno
 */
int ornic_nexthop_listen(struct ornic_dev *od)
{
	int rc;

	od->netevent_nb.notifier_call = ornic_netevent;
	rc = register_netevent_notifier(&od->netevent_nb);
	if (rc)
		return rc;
	od->netdev_nb.notifier_call = ornic_netdev_event;
	rc = register_netdevice_notifier(&od->netdev_nb);
	if (rc) {
		unregister_netevent_notifier(&od->netevent_nb);
		return rc;
	}
	od->nh_listening = true;
	return 0;
}

/**
 * ornic_nexthop_exit() - hear nothing any more; the table is empty
 * @od: the function, without RDMA driver
 *
 * Context: Process context, takes RTNL.
 */
void ornic_nexthop_exit(struct ornic_dev *od)
{
	if (od->nh_listening) {
		unregister_netdevice_notifier(&od->netdev_nb);
		unregister_netevent_notifier(&od->netevent_nb);
	}
	od->nh_listening = false;
	ornic_routes_exit(od);
	cancel_work_sync(&od->nh_work);
	cancel_delayed_work_sync(&od->reroute_work);
	WARN_ON(!list_empty(&od->nh_list));
	ida_destroy(&od->nh_ida);
}
