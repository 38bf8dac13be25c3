// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * OpenRNIC RDMA driver: listeners, and in which network namespace things are.
 *
 * iw_cm does not say in which namespace a consumer is. An address tells: it is of the port's
 * netdev or of a VLAN on it, in that device's namespace. A wildcard listener is in the namespace
 * of the task that listens. A device that is shared between namespaces (the default of RDMA) may
 * so have a listener for the same port in each of them; the device knows one, the driver finds
 * the right consumer by the address of each SYN.
 */
#include <linux/if_vlan.h>
#include <linux/nsproxy.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <rdma/iw_cm.h>

#include "cm_priv.h"

#define LISTENER_ID_LIMIT	XA_LIMIT(1, 0x3fffffff)
/* SYNs that the device may hold for the driver; each is answered as soon as its event is read. */
#define LISTENER_MAX_HELD	256U
#define LISTENER_EVICT_AGE	(1 * HZ)
#define CM_MAX_NETS		8

/**
 * struct iw_ornic_bind - listening address of the device
 * @node: in the connection manager's list
 * @dev: device
 * @local: address and port
 * @parts: who listens there, one a network namespace
 * @hw: what the device knows
 */
struct iw_ornic_bind {
	struct list_head node;
	struct iw_ornic_dev *dev;
	struct sockaddr_storage local;
	struct list_head parts;
	struct ornic_listen *hw;
};

/* Namespaces of the port: the netdev's, and those of the VLANs on it. Each with a reference. */
static unsigned int cm_port_nets(struct net_device *netdev, struct net *nets[CM_MAX_NETS])
{
	struct net_device *upper;
	struct list_head *iter;
	unsigned int n = 0;
	unsigned int i;
	struct net *net;

	rcu_read_lock();
	nets[0] = maybe_get_net(dev_net(netdev));
	if (nets[0])
		n++;
	netdev_for_each_upper_dev_rcu(netdev, upper, iter) {
		if (!is_vlan_dev(upper) || n == CM_MAX_NETS)
			continue;
		net = dev_net(upper);
		for (i = 0; i < n; i++)
			if (net_eq(nets[i], net))
				break;
		if (i < n)
			continue;
		nets[n] = maybe_get_net(net);
		if (nets[n])
			n++;
	}
	rcu_read_unlock();
	return n;
}

/**
 * cm_addr_net() - the network namespace in which an address is the port's
 * @dev: device
 * @addr: address, not a wildcard
 *
 * Context: Process context, may sleep.
 * Return: the namespace with a reference; NULL when the address is not the port's.
 */
struct net *cm_addr_net(struct iw_ornic_dev *dev, const struct sockaddr_storage *addr)
{
	struct net *nets[CM_MAX_NETS];
	struct net *found = NULL;
	unsigned int n, i;

	n = cm_port_nets(dev->core->netdev, nets);
	for (i = 0; i < n; i++) {
		if (!found && ornic_addr_is_local(dev->core, nets[i], addr))
			found = nets[i];
		else
			put_net(nets[i]);
	}
	return found;
}

/**
 * cm_reserve_port() - take a TCP port in the host's stack by a socket that neither listens nor
 * connects
 * @net: network namespace
 * @addr: address and port
 * @ifindex: take it on this interface only; 0: on all
 * @share: others may share it that agree to share, and do not listen
 * @sock: result
 *
 * Context: Process context, may sleep.
 * Return: 0 or negative errno, -EADDRINUSE.
 */
int cm_reserve_port(struct net *net, const struct sockaddr_storage *addr, int ifindex,
		    bool share, struct socket **sock)
{
	int len = addr->ss_family == AF_INET ? sizeof(struct sockaddr_in) :
					       sizeof(struct sockaddr_in6);
	int ret;

	ret = sock_create_kern(net, addr->ss_family, SOCK_STREAM, IPPROTO_TCP, sock);
	if (ret) {
		*sock = NULL;
		return ret;
	}
	if (share)
		sock_set_reuseaddr((*sock)->sk);
	if (addr->ss_family == AF_INET6)
		ret = ip6_sock_set_v6only((*sock)->sk);
	if (!ret && ifindex)
		ret = sock_bindtoindex((*sock)->sk, ifindex, true);
	if (!ret)
		ret = kernel_bind(*sock, (struct ornic_sockaddr *)addr, len);
	if (ret) {
		cm_release_port(*sock);
		*sock = NULL;
	}
	return ret;
}

/* NULL is fine. */
void cm_release_port(struct socket *sock)
{
	if (sock)
		sock_release(sock);
}

static void listener_free(struct kref *ref)
{
	struct iw_ornic_listener *listener = container_of(ref, struct iw_ornic_listener, ref);

	put_net(listener->net);
	kfree(listener);
}

void listener_put(struct iw_ornic_listener *listener)
{
	kref_put(&listener->ref, listener_free);
}

static void *listener_provider_data(const struct iw_ornic_listener *listener)
{
	return (void *)((unsigned long)listener->id << 1);
}

/**
 * listener_find() - the listener that an iw_cm_id names
 * @dev: device
 * @provider_data: of the iw_cm_id
 *
 * Return: listener with a reference, or NULL.
 */
struct iw_ornic_listener *listener_find(struct iw_ornic_dev *dev, const void *provider_data)
{
	unsigned long data = (unsigned long)provider_data;
	struct iw_ornic_listener *listener;

	if (data & 1)
		return NULL;
	xa_lock(&dev->cm.listeners);
	listener = xa_load(&dev->cm.listeners, data >> 1);
	if (listener)
		kref_get(&listener->ref);
	xa_unlock(&dev->cm.listeners);
	return listener;
}

/*
 * The oldest child that has had its time and said nothing, with a reference. Under the listener's
 * lock.
 */
static struct iw_ornic_ep *listener_l_silent(struct iw_ornic_listener *listener)
{
	struct iw_ornic_ep *ep;

	list_for_each_entry(ep, &listener->children, child) {
		enum iw_ornic_ep_state state = READ_ONCE(ep->state);

		if (time_before(jiffies, ep->born + LISTENER_EVICT_AGE))
			return NULL;
		if (state == EP_SYN_RCVD || state == EP_REQ_WAIT) {
			ep_get(ep);
			return ep;
		}
	}
	return NULL;
}

/*
 * Room for one more child? When there is none, a connection that was opened and stays silent
 * makes room, so that idle connections alone do not shut others out: the client's next SYN finds
 * it.
 */
static bool listener_has_room(struct iw_ornic_listener *listener)
{
	struct iw_ornic_ep *silent = NULL;
	bool room;

	spin_lock(&listener->lock);
	room = listener->pending < listener->backlog;
	if (!room)
		silent = listener_l_silent(listener);
	spin_unlock(&listener->lock);
	if (silent) {
		ep_simple_event(silent, EP_EV_EVICT);
		ep_put(silent);
	}
	if (!room)
		cm_count(listener->dev, IW_ORNIC_CM_BACKLOG);
	return room;
}

/**
 * listener_add_child() - a child to wait for its acceptance
 * @listener: listener
 * @ep: endpoint, its lock held
 *
 * Return: false when the listener is being destroyed.
 */
bool listener_add_child(struct iw_ornic_listener *listener, struct iw_ornic_ep *ep)
{
	bool open;

	spin_lock(&listener->lock);
	open = !listener->closed;
	if (open) {
		kref_get(&listener->ref);
		ep->listener = listener;
		listener->pending++;
		list_add_tail(&ep->child, &listener->children);
	}
	spin_unlock(&listener->lock);
	return open;
}

/* The endpoint does not count as waiting any more. Under its lock; more than once is fine. */
void ep_l_leave_listener(struct iw_ornic_ep *ep)
{
	struct iw_ornic_listener *listener = ep->listener;

	if (!listener)
		return;
	spin_lock(&listener->lock);
	list_del_init(&ep->child);
	listener->pending--;
	spin_unlock(&listener->lock);
	ep->listener = NULL;
	listener_put(listener);
}

/* Who in @net listens there; else one that may be there without our knowing. With a reference. */
static struct iw_ornic_listener *bind_pick(struct iw_ornic_bind *bind, const struct net *net)
{
	struct iw_ornic_listener *found = NULL;
	struct iw_ornic_listen_part *part;

	spin_lock(&bind->dev->cm.listen_lock);
	list_for_each_entry(part, &bind->parts, node) {
		if (net_eq(part->listener->net, net)) {
			found = part->listener;
			break;
		}
		if (!found && !part->listener->net_sure)
			found = part->listener;
	}
	if (found)
		kref_get(&found->ref);
	spin_unlock(&bind->dev->cm.listen_lock);
	return found;
}

/* A SYN for a listening address, on the TCP events' workqueue. */
static void bind_conn_req(struct ornic_listen *hw, void *ctx, const struct ornic_syn *syn)
{
	enum ornic_refuse how = ORNIC_REFUSE_TO_HOST;
	struct iw_ornic_listener *listener = NULL;
	struct iw_ornic_bind *bind = ctx;
	bool accepted = false;
	struct net *net;

	net = cm_addr_net(bind->dev, &syn->local);
	if (net)
		listener = bind_pick(bind, net);
	if (listener) {
		how = ORNIC_REFUSE_SILENT;
		if (listener_has_room(listener))
			how = ep_child(listener, net, syn, &accepted);
		listener_put(listener);
	}
	if (!accepted)
		ornic_syn_refuse(bind->dev->core, syn->syn_id, how);
	if (net)
		put_net(net);
}

static bool sockaddr_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)a;
	const struct sockaddr_in6 *b6 = (const struct sockaddr_in6 *)b;
	const struct sockaddr_in *a4 = (const struct sockaddr_in *)a;
	const struct sockaddr_in *b4 = (const struct sockaddr_in *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return a4->sin_port == b4->sin_port && a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return a6->sin6_port == b6->sin6_port && ipv6_addr_equal(&a6->sin6_addr, &b6->sin6_addr);
}

static bool sockaddr_any(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET)
		return ((const struct sockaddr_in *)addr)->sin_addr.s_addr == htonl(INADDR_ANY);
	return ipv6_addr_any(&((const struct sockaddr_in6 *)addr)->sin6_addr);
}

/* Under listen_mutex, and the next two. */
static struct iw_ornic_bind *bind_get(struct iw_ornic_dev *dev,
				      const struct sockaddr_storage *local, u32 backlog)
{
	struct ornic_listen_params params = {
		.local = *local,
		.backlog = min(backlog, LISTENER_MAX_HELD),
		.conn_req = bind_conn_req,
	};
	struct iw_ornic_bind *bind;
	struct ornic_listen *hw;

	list_for_each_entry(bind, &dev->cm.binds, node)
		if (sockaddr_same(&bind->local, local))
			return bind;
	bind = kzalloc(sizeof(*bind), GFP_KERNEL);
	if (!bind)
		return ERR_PTR(-ENOMEM);
	bind->dev = dev;
	bind->local = *local;
	INIT_LIST_HEAD(&bind->parts);
	params.ctx = bind;
	hw = ornic_listen_start(dev->core, &params);
	if (IS_ERR_OR_NULL(hw)) {
		kfree(bind);
		return hw ? ERR_CAST(hw) : ERR_PTR(-ENOMEM);
	}
	bind->hw = hw;
	list_add_tail(&bind->node, &dev->cm.binds);
	return bind;
}

static void bind_put(struct iw_ornic_bind *bind)
{
	if (!list_empty(&bind->parts))
		return;
	list_del(&bind->node);
	ornic_listen_stop(bind->hw);
	kfree(bind);
}

/*
 * rdma_cm gives a port to one consumer a namespace. A second one that seems to be in the same is in
 * another, and is being made to listen on a new device by the task that brought the device.
 */
static bool part_shared(const struct iw_ornic_listener *listener,
			const struct sockaddr_storage *local)
{
	const struct iw_ornic_listen_part *part;
	const struct iw_ornic_bind *bind;

	if (listener->net_sure)
		return false;
	list_for_each_entry(bind, &listener->dev->cm.binds, node) {
		if (!sockaddr_same(&bind->local, local))
			continue;
		list_for_each_entry(part, &bind->parts, node)
			if (!part->listener->net_sure &&
			    net_eq(part->listener->net, listener->net))
				return true;
	}
	return false;
}

static int part_start(struct iw_ornic_listener *listener, const struct sockaddr_storage *local)
{
	bool shared = part_shared(listener, local);
	struct iw_ornic_listen_part *part = &listener->parts[listener->nparts];
	struct net_device *netdev = listener->dev->core->netdev;
	int ifindex = sockaddr_any(local) ? netdev->ifindex : 0;
	struct iw_ornic_cm *cm = &listener->dev->cm;
	struct iw_ornic_listen_part *other;
	struct iw_ornic_bind *bind;
	int ret;

	/* Where the port's netdev is not, the host's stack has no say in the port. */
	if (!shared && net_eq(dev_net(netdev), listener->net)) {
		ret = cm_reserve_port(listener->net, local, ifindex, false, &part->sock);
		if (ret)
			return ret;
	}
	bind = bind_get(listener->dev, local, listener->backlog);
	if (IS_ERR(bind)) {
		ret = PTR_ERR(bind);
		goto err_sock;
	}
	list_for_each_entry(other, &bind->parts, node) {
		if (!shared && net_eq(other->listener->net, listener->net)) {
			ret = -EADDRINUSE;
			goto err_bind;
		}
	}
	part->listener = listener;
	part->bind = bind;
	spin_lock(&cm->listen_lock);
	list_add_tail(&part->node, &bind->parts);
	spin_unlock(&cm->listen_lock);
	listener->nparts++;
	return 0;

err_bind:
	bind_put(bind);
err_sock:
	cm_release_port(part->sock);
	part->sock = NULL;
	return ret;
}

/*
 * Under listen_mutex. When it returns, no SYN finds the listener any more; one that has may still
 * be at work.
 */
static void listener_l_stop(struct iw_ornic_listener *listener)
{
	struct iw_ornic_cm *cm = &listener->dev->cm;
	struct iw_ornic_listen_part *part;

	while (listener->nparts) {
		part = &listener->parts[--listener->nparts];
		spin_lock(&cm->listen_lock);
		list_del(&part->node);
		spin_unlock(&cm->listen_lock);
		bind_put(part->bind);
		cm_release_port(part->sock);
	}
}

/* Find the consumer's namespace. It gets a reference. */
static int listener_find_net(struct iw_ornic_listener *listener,
			     const struct sockaddr_storage *local)
{
	struct ornic_core *core = listener->dev->core;
	struct net *net = NULL;

	if (!(current->flags & PF_KTHREAD) && current->nsproxy)
		net = current->nsproxy->net_ns;
	if (!sockaddr_any(local)) {
		listener->net_sure = true;
		if (net && ornic_addr_is_local(core, net, local))
			listener->net = get_net(net);
		else
			listener->net = cm_addr_net(listener->dev, local);
		return listener->net ? 0 : -EADDRNOTAVAIL;
	}
	if (net) {
		/*
		 * Who loads a module or binds a driver is in the first namespace, and makes
		 * rdma_cm listen on the new device for consumers in others.
		 */
		listener->net_sure = !net_eq(net, &init_net);
		listener->net = get_net(net);
		return 0;
	}
	rcu_read_lock();
	listener->net = maybe_get_net(dev_net(core->netdev));
	rcu_read_unlock();
	return listener->net ? 0 : -ENODEV;
}

static int listener_start(struct iw_ornic_listener *listener, const struct iw_cm_id *cm_id)
{
	const struct sockaddr_storage *local = &cm_id->m_local_addr;
	bool ipv6 = listener->dev->core->limits.caps & ORNIC_CAP_IPV6;
	struct sockaddr_storage any4 = {};
	struct sockaddr_in *sin = (struct sockaddr_in *)&any4;
	bool dual;
	int ret;

	if (local->ss_family == AF_INET)
		return part_start(listener, local);
	dual = sockaddr_any(local) && !cm_id->afonly;
	if (!ipv6 && !dual)
		return -EAFNOSUPPORT;
	if (ipv6) {
		ret = part_start(listener, local);
		if (ret || !dual)
			return ret;
	}
	sin->sin_family = AF_INET;
	sin->sin_port = ((const struct sockaddr_in6 *)local)->sin6_port;
	return part_start(listener, &any4);
}

static struct iw_ornic_listener *listener_alloc(struct iw_ornic_dev *dev, struct iw_cm_id *cm_id,
						int backlog)
{
	struct iw_ornic_listener *listener = kzalloc(sizeof(*listener), GFP_KERNEL);
	int ret;

	if (!listener)
		return ERR_PTR(-ENOMEM);
	kref_init(&listener->ref);
	spin_lock_init(&listener->lock);
	INIT_LIST_HEAD(&listener->children);
	listener->dev = dev;
	listener->cm_id = cm_id;
	listener->tos = cm_id->tos_set ? cm_id->tos : 0;
	listener->backlog = max(backlog, 1);
	ret = listener_find_net(listener, &cm_id->m_local_addr);
	if (!ret) {
		ret = xa_alloc_cyclic(&dev->cm.listeners, &listener->id, listener,
				      LISTENER_ID_LIMIT, &dev->cm.next_listener, GFP_KERNEL);
		if (ret < 0)
			put_net(listener->net);
	}
	if (ret < 0) {
		kfree(listener);
		return ERR_PTR(ret);
	}
	return listener;
}

/*
 * End the children that nobody has accepted or rejected. iw_cm may still ask for them: it is told
 * that they are gone.
 */
static void listener_reap(struct iw_ornic_listener *listener)
{
	struct iw_ornic_ep *ep;

	for (;;) {
		spin_lock(&listener->lock);
		listener->closed = true;
		ep = list_first_entry_or_null(&listener->children, struct iw_ornic_ep, child);
		if (ep)
			ep_get(ep);
		spin_unlock(&listener->lock);
		if (!ep)
			return;
		ep_simple_event(ep, EP_EV_UNLISTEN);
		ep_put(ep);
	}
}

static void listener_end(struct iw_ornic_listener *listener)
{
	struct iw_ornic_dev *dev = listener->dev;
	struct iw_cm_id *cm_id = listener->cm_id;

	mutex_lock(&dev->cm.listen_mutex);
	listener_l_stop(listener);
	if (listener->started)
		atomic64_dec(&dev->cm.stats[IW_ORNIC_CM_LISTENERS]);
	mutex_unlock(&dev->cm.listen_mutex);
	listener_reap(listener);
	xa_erase(&dev->cm.listeners, listener->id);
	listener_put(listener);
	cm_id->provider_data = NULL;
	cm_id->rem_ref(cm_id);
}

/**
 * iw_ornic_create_listen() - listen for connections
 * @cm_id: id with a local address, which may be a wildcard
 * @backlog: connections that may wait to be accepted
 *
 * Context: Process context, may sleep.
 * Return: 0 or negative errno: -EADDRINUSE, -EADDRNOTAVAIL, -EAFNOSUPPORT, -ENOSPC, ...; nothing
 * is left behind then.
 */
int iw_ornic_create_listen(struct iw_cm_id *cm_id, int backlog)
{
	struct iw_ornic_dev *dev = to_iw_ornic_dev(cm_id->device);
	sa_family_t family = cm_id->m_local_addr.ss_family;
	struct iw_ornic_listener *listener;
	int ret;

	if (family != AF_INET && family != AF_INET6)
		return -EAFNOSUPPORT;
	if (dev->cm.dead)
		return -EIO;
	listener = listener_alloc(dev, cm_id, backlog);
	if (IS_ERR(listener))
		return PTR_ERR(listener);
	cm_id->add_ref(cm_id);
	cm_id->provider_data = listener_provider_data(listener);
	mutex_lock(&dev->cm.listen_mutex);
	ret = listener_start(listener, cm_id);
	if (!ret) {
		listener->started = true;
		cm_count(dev, IW_ORNIC_CM_LISTENERS);
	}
	mutex_unlock(&dev->cm.listen_mutex);
	if (ret)
		listener_end(listener);
	return ret;
}

/**
 * iw_ornic_destroy_listen() - end a listener, and all that came through it and was not accepted
 * @cm_id: id that iw_ornic_create_listen() took
 *
 * Context: Process context, may sleep. No CONNECT_REQUEST is begun once it has returned.
 * Return: 0
 */
int iw_ornic_destroy_listen(struct iw_cm_id *cm_id)
{
	struct iw_ornic_dev *dev = to_iw_ornic_dev(cm_id->device);
	struct iw_ornic_listener *listener = listener_find(dev, cm_id->provider_data);

	if (WARN_ON_ONCE(!listener))
		return 0;
	listener_end(listener);
	listener_put(listener);
	return 0;
}
