// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* OpenRNIC core driver: addresses of the port and routes through it. */

#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <net/addrconf.h>
#include <net/inet_ecn.h>
#include <net/ip6_route.h>
#include <net/neighbour.h>
#include <net/route.h>
#include <linux/ornic_compat.h>

#include "core.h"

static __be32 ornic_addr4(const struct sockaddr_storage *addr)
{
	return ((const struct sockaddr_in *)addr)->sin_addr.s_addr;
}

static const struct in6_addr *ornic_addr6(const struct sockaddr_storage *addr)
{
	return &((const struct sockaddr_in6 *)addr)->sin6_addr;
}

/**
 * ornic_addr_is_any() - is it the wildcard address?
 * @addr: AF_INET or AF_INET6
 *
 * Context: Any context.
 * Return: true for 0.0.0.0 and ::
 */
bool ornic_addr_is_any(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET)
		return ornic_addr4(addr) == htonl(INADDR_ANY);
	return addr->ss_family == AF_INET6 && ipv6_addr_any(ornic_addr6(addr));
}

/**
 * ornic_is_port_dev() - is it the port's network device or a VLAN right on it?
 * @core: the function
 * @dev: any network device
 *
 * Context: Any context.
 * Return: true if so; a VLAN on a VLAN is not
 */
bool ornic_is_port_dev(struct ornic_core *core, const struct net_device *dev)
{
	if (dev == core->netdev)
		return true;
	return is_vlan_dev(dev) && vlan_dev_vlan_proto(dev) == htons(ETH_P_8021Q) &&
	       vlan_dev_real_dev(dev) == core->netdev &&
	       dev_get_iflink(dev) == core->netdev->ifindex;
}

static bool ornic_dev_has_addr4(const struct net_device *dev, __be32 addr)
{
	const struct in_device *in_dev = __in_dev_get_rcu(dev);
	const struct in_ifaddr *ifa;

	if (!in_dev)
		return false;
	in_dev_for_each_ifa_rcu(ifa, in_dev)
		if (ifa->ifa_local == addr)
			return true;
	return false;
}

static bool ornic_dev_has_addr(struct net_device *dev, const struct sockaddr_storage *addr)
{
	switch (addr->ss_family) {
	case AF_INET:
		return ornic_dev_has_addr4(dev, ornic_addr4(addr));
	case AF_INET6:
		return ipv6_chk_addr(dev_net(dev), ornic_addr6(addr), dev, 1);
	default:
		return false;
	}
}

/**
 * ornic_addr_dev() - which of the port's devices has an address?
 * @core: the function
 * @net: network namespace to look in
 * @addr: address, not the wildcard
 *
 * Context: Any context but hard interrupts.
 * Return: the port's network device or a VLAN on it, with a reference, or NULL
 */
struct net_device *ornic_addr_dev(struct ornic_core *core, struct net *net,
				  const struct sockaddr_storage *addr)
{
	struct net_device *found = NULL, *dev = core->netdev;
	struct list_head *iter;

	rcu_read_lock();
	if (net_eq(dev_net(dev), net) && ornic_dev_has_addr(dev, addr))
		found = dev;
	if (!found) {
		netdev_for_each_upper_dev_rcu(core->netdev, dev, iter) {
			if (!ornic_is_port_dev(core, dev) || !net_eq(dev_net(dev), net) ||
			    !ornic_dev_has_addr(dev, addr))
				continue;
			found = dev;
			break;
		}
	}
	dev_hold(found);
	rcu_read_unlock();
	return found;
}

/**
 * ornic_addr_is_local() - may the address be listened on or connected from?
 * @core: the function
 * @net: network namespace
 * @addr: AF_INET or AF_INET6; the port number is not looked at
 *
 * Context: Any context but hard interrupts.
 * Return: true for the wildcard and for addresses of the port's network device or a VLAN on it, in
 *         @net
 */
bool ornic_addr_is_local(struct ornic_core *core, struct net *net,
			 const struct sockaddr_storage *addr)
{
	struct net_device *dev;

	if (ornic_addr_is_any(addr))
		return true;
	dev = ornic_addr_dev(core, net, addr);
	dev_put(dev);
	return dev;
}
EXPORT_SYMBOL_GPL(ornic_addr_is_local);

/**
 * ornic_addr_pack() - address as commands have it
 * @core: the function
 * @addr: address and port
 * @bytes: 16 bytes, filled
 * @port: filled; may be NULL
 * @family: filled; may be NULL
 *
 * Context: Any context.
 * Return: 0 or -EAFNOSUPPORT
 */
int ornic_addr_pack(struct ornic_core *core, const struct sockaddr_storage *addr, u8 *bytes,
		    __le16 *port, u8 *family)
{
	const struct sockaddr_in *in = (const void *)addr;
	const struct sockaddr_in6 *in6 = (const void *)addr;
	__be16 be_port;
	u8 fam;

	memset(bytes, 0, 16);
	if (addr->ss_family == AF_INET) {
		memcpy(bytes, &in->sin_addr, sizeof(in->sin_addr));
		be_port = in->sin_port;
		fam = ORNIC_FAMILY_IPV4;
	} else if (addr->ss_family == AF_INET6 && (core->limits.caps & ORNIC_CAP_IPV6)) {
		memcpy(bytes, &in6->sin6_addr, sizeof(in6->sin6_addr));
		be_port = in6->sin6_port;
		fam = ORNIC_FAMILY_IPV6;
	} else {
		return -EAFNOSUPPORT;
	}
	if (port)
		*port = cpu_to_le16(be16_to_cpu(be_port));
	if (family)
		*family = fam;
	return 0;
}

static struct dst_entry *ornic_route4(struct net *net, const struct sockaddr_storage *local,
				      const struct sockaddr_storage *remote, u8 tos)
{
	struct flowi4 fl4 = {
		.daddr = ornic_addr4(remote),
		.saddr = ornic_addr4(local),
		.fl4_sport = ((const struct sockaddr_in *)local)->sin_port,
		.fl4_dport = ((const struct sockaddr_in *)remote)->sin_port,
		.flowi4_proto = IPPROTO_TCP,
	};
	struct rtable *rt;

	ornic_flow_set_tos(&fl4, tos & ~INET_ECN_MASK);
	rt = ip_route_output_key(net, &fl4);
	return IS_ERR(rt) ? ERR_CAST(rt) : &rt->dst;
}

static struct dst_entry *ornic_route6(struct net *net, const struct sockaddr_storage *local,
				      const struct sockaddr_storage *remote)
{
#if IS_ENABLED(CONFIG_IPV6)
	struct flowi6 fl6 = {
		.daddr = *ornic_addr6(remote),
		.saddr = *ornic_addr6(local),
		.flowi6_proto = IPPROTO_TCP,
		.flowi6_oif = ((const struct sockaddr_in6 *)remote)->sin6_scope_id,
	};

	return ornic_ip6_dst_lookup_flow(net, NULL, &fl6, NULL);
#else
	return ERR_PTR(-EAFNOSUPPORT);
#endif
}

/**
 * ornic_route_dst() - route between two addresses, whatever it leads to
 * @net: network namespace
 * @local: local address
 * @remote: remote address, of the same family
 * @tos: IP type of service
 *
 * Context: Any context but hard interrupts.
 * Return: the route with a reference, or ERR_PTR
 */
struct dst_entry *ornic_route_dst(struct net *net, const struct sockaddr_storage *local,
				  const struct sockaddr_storage *remote, u8 tos)
{
	if (remote->ss_family == AF_INET)
		return ornic_route4(net, local, remote, tos);
	return ornic_route6(net, local, remote);
}

static u32 ornic_dst_cookie(const struct dst_entry *dst, sa_family_t family)
{
	if (family == AF_INET6)
		return rt6_get_cookie(container_of(dst, const struct rt6_info, dst));
	return 0;
}

/* Take device and neighbour of a route that was found; its reference is taken over on success. */
static int ornic_route_take(struct ornic_core *core, struct dst_entry *dst,
			    const struct sockaddr_storage *remote, struct ornic_route *route)
{
	const void *daddr;
	u32 mtu;

	if (!ornic_is_port_dev(core, dst->dev))
		return -ENETUNREACH;
	if (remote->ss_family == AF_INET &&
	    container_of(dst, struct rtable, dst)->rt_type != RTN_UNICAST)
		return -ENETUNREACH;
	if (remote->ss_family == AF_INET)
		daddr = &((const struct sockaddr_in *)remote)->sin_addr;
	else
		daddr = ornic_addr6(remote);
	route->neigh = dst_neigh_lookup(dst, daddr);
	if (!route->neigh)
		return -ENOMEM;
	/* The neighbour's device is the route's; both stay as long as the references. */
	route->dev = route->neigh->dev;
	dev_hold(route->dev);
	mtu = dst_mtu(dst);
	route->mtu = mtu < READ_ONCE(route->dev->mtu) ? mtu : 0;
	route->cookie = ornic_dst_cookie(dst, remote->ss_family);
	route->dst = dst;
	return 0;
}

/**
 * ornic_route_put() - give back what a route holds
 * @route: of ornic_route_lookup()
 *
 * Context: Any context.
 */
void ornic_route_put(struct ornic_route *route)
{
	if (route->neigh)
		neigh_release(route->neigh);
	dev_put(route->dev);
	dst_release(route->dst);
}

/**
 * ornic_route_lookup() - find the way from one of the port's addresses to a remote address
 * @core: the function
 * @net: network namespace
 * @local: local address
 * @remote: remote address
 * @tos: IP type of service
 * @route: filled on success, with references
 *
 * Context: Process context.
 * Return: 0; -EAFNOSUPPORT, -EADDRNOTAVAIL, -ENETUNREACH (also when the route leads through another
 *         network device), -EHOSTUNREACH, -ENOMEM
 */
int ornic_route_lookup(struct ornic_core *core, struct net *net,
		       const struct sockaddr_storage *local,
		       const struct sockaddr_storage *remote, u8 tos, struct ornic_route *route)
{
	struct net_device *local_dev;
	struct dst_entry *dst;
	int rc;

	if (local->ss_family != remote->ss_family ||
	    (remote->ss_family != AF_INET && remote->ss_family != AF_INET6) ||
	    (remote->ss_family == AF_INET6 && !(core->limits.caps & ORNIC_CAP_IPV6)))
		return -EAFNOSUPPORT;
	local_dev = ornic_addr_dev(core, net, local);
	if (!local_dev)
		return -EADDRNOTAVAIL;
	dev_put(local_dev);

	*route = (struct ornic_route){ .way = ORNIC_WAY_LOOP };
	route->dev = ornic_addr_dev(core, net, remote);
	if (route->dev)
		return 0;
	route->way = ORNIC_WAY_NEIGH;
	dst = ornic_route_dst(net, local, remote, tos);
	if (IS_ERR(dst))
		return PTR_ERR(dst) == -EINVAL ? -EADDRNOTAVAIL : PTR_ERR(dst);
	rc = ornic_route_take(core, dst, remote, route);
	if (rc)
		dst_release(dst);
	return rc;
}
