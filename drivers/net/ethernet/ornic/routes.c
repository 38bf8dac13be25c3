// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * OpenRNIC core driver: to hear of changes of routes, in the network namespace where the port's
 * network device is. What connections do then is in tcp.c.
 */

#include <linux/icmp.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <linux/ratelimit.h>
#include <linux/rtnetlink.h>
#include <net/fib_notifier.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/ndisc.h>
#include <net/route.h>
#include <net/tcp.h>

#include "core.h"

/* --- changes of the routing table ----------------------------------------------------------- */

/* Routes change one by one or by the thousand: connections look once, a little later. */
static int ornic_fib_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	ornic_tcp_reroute(container_of(nb, struct ornic_dev, fib_nb));
	return NOTIFY_DONE;
}

/* --- ICMP redirects ------------------------------------------------------------------------- */

/*
 * The host's stack takes an ICMP redirect that quotes TCP only when it has a socket for it, so
 * those for offloaded connections are put into its table here. They have passed the packet filter.
 */
#ifdef CONFIG_NETFILTER
/* What an ICMP redirect quotes at least: IP header and eight bytes (RFC 792). */
struct ornic_quote {
	struct iphdr iph;
	__be16 sport;
	__be16 dport;
	__be32 seq;
};

/* Does the redirect behind @skb's IP header quote a segment of an offloaded connection? */
static bool ornic_redirect_is_ours(struct ornic_dev *od, const struct sk_buff *skb)
{
	u32 off = ip_hdrlen(skb) + sizeof(struct icmphdr);
	struct sockaddr_storage local = { .ss_family = AF_INET }, remote = local;
	struct sockaddr_in *from = (void *)&local, *to = (void *)&remote;
	const struct ornic_quote *quote;
	struct ornic_quote buf;

	quote = skb_header_pointer(skb, off, sizeof(buf), &buf);
	if (!quote || quote->iph.version != 4 || quote->iph.ihl != sizeof(struct iphdr) / 4 ||
	    quote->iph.protocol != IPPROTO_TCP || ip_is_fragment(&quote->iph))
		return false;
	from->sin_addr.s_addr = quote->iph.saddr;
	from->sin_port = quote->sport;
	to->sin_addr.s_addr = quote->iph.daddr;
	to->sin_port = quote->dport;
	return ornic_tcp_has(od, &local, &remote);
}

/* As the kernel does for its own sockets: it decides whether the redirect is believed. */
static void ornic_redirect(struct sk_buff *skb, struct net *net)
{
	u32 off = ip_hdrlen(skb) + sizeof(struct icmphdr);
	struct sk_buff *clone;

	clone = skb_clone(skb, GFP_ATOMIC);
	if (!clone)
		return;
	skb_set_transport_header(clone, ip_hdrlen(clone));
	if (pskb_may_pull(clone, off + sizeof(struct iphdr)) && pskb_pull(clone, off))
		ipv4_redirect(clone, net, 0, IPPROTO_TCP);
	consume_skb(clone);
}

static unsigned int ornic_icmp_hook(void *priv, struct sk_buff *skb,
				    const struct nf_hook_state *state)
{
	static DEFINE_RATELIMIT_STATE(limit, HZ, 100);
	struct ornic_dev *od = priv;
	struct icmphdr buf;
	const struct icmphdr *icmph;

	if (ip_hdr(skb)->protocol != IPPROTO_ICMP || ip_is_fragment(ip_hdr(skb)))
		return NF_ACCEPT;
	icmph = skb_header_pointer(skb, ip_hdrlen(skb), sizeof(buf), &buf);
	if (!icmph || icmph->type != ICMP_REDIRECT || !__ratelimit(&limit) ||
	    nf_ip_checksum(skb, NF_INET_LOCAL_IN, ip_hdrlen(skb), IPPROTO_ICMP) ||
	    !ornic_redirect_is_ours(od, skb))
		return NF_ACCEPT;
	ornic_redirect(skb, state->net);
	ornic_tcp_reroute(od);
	return NF_ACCEPT;
}

#if IS_ENABLED(CONFIG_IPV6)
/* The packet that a redirect quotes (RFC 4861): its IPv6 header and the beginning of TCP's. */
struct ornic_quote6 {
	struct ipv6hdr iph;
	__be16 sport;
	__be16 dport;
};

/* As RFC 4861, 8.1 has it; what is not checked here the kernel's table does. */
static bool ornic_is_redirect6(struct sk_buff *skb)
{
	const struct ipv6hdr *iph = ipv6_hdr(skb);
	const struct icmp6hdr *icmph;
	struct icmp6hdr buf;

	if (iph->nexthdr != NEXTHDR_ICMP || IP6CB(skb)->flags & IP6SKB_FRAGMENTED)
		return false;
	icmph = skb_header_pointer(skb, sizeof(*iph), sizeof(buf), &buf);
	return icmph && icmph->icmp6_type == NDISC_REDIRECT && !icmph->icmp6_code &&
	       iph->hop_limit == 255 && ipv6_addr_type(&iph->saddr) & IPV6_ADDR_LINKLOCAL &&
	       !nf_ip6_checksum(skb, NF_INET_LOCAL_IN, sizeof(*iph), IPPROTO_ICMPV6);
}

/* Where the packet begins that a redirect quotes; 0: it quotes none. */
static u32 ornic_quote6_off(const struct sk_buff *skb)
{
	u32 off = sizeof(struct ipv6hdr) + sizeof(struct rd_msg);
	const struct nd_opt_hdr *opt;
	struct nd_opt_hdr buf;

	while (true) {
		opt = skb_header_pointer(skb, off, sizeof(buf), &buf);
		if (!opt || !opt->nd_opt_len)
			return 0;
		if (opt->nd_opt_type == ND_OPT_REDIRECT_HDR)
			return off + 8;
		off += opt->nd_opt_len * 8;
	}
}

static bool ornic_redirect6_is_ours(struct ornic_dev *od, const struct sk_buff *skb, u32 off)
{
	struct sockaddr_storage local = { .ss_family = AF_INET6 }, remote = local;
	struct sockaddr_in6 *from = (void *)&local, *to = (void *)&remote;
	const struct ornic_quote6 *quote;
	struct ornic_quote6 buf;

	quote = skb_header_pointer(skb, off, sizeof(buf), &buf);
	if (!quote || quote->iph.version != 6 || quote->iph.nexthdr != IPPROTO_TCP)
		return false;
	from->sin6_addr = quote->iph.saddr;
	from->sin6_port = quote->sport;
	to->sin6_addr = quote->iph.daddr;
	to->sin6_port = quote->dport;
	return ornic_tcp_has(od, &local, &remote);
}

static void ornic_redirect6(struct sk_buff *skb, u32 off, struct net *net)
{
	struct sk_buff *clone;

	clone = skb_clone(skb, GFP_ATOMIC);
	if (!clone)
		return;
	skb_set_transport_header(clone, sizeof(struct ipv6hdr));
	if (!skb_linearize(clone) && pskb_pull(clone, off))
		ip6_redirect(clone, net, clone->dev->ifindex, 0, sock_net_uid(net, NULL));
	consume_skb(clone);
}

/* One without a quote the stack takes as it is, and says so when it takes one (netevent). */
static unsigned int ornic_icmp6_hook(void *priv, struct sk_buff *skb,
				     const struct nf_hook_state *state)
{
	static DEFINE_RATELIMIT_STATE(limit, HZ, 100);
	struct ornic_dev *od = priv;
	u32 off;

	if (!ornic_is_port_dev(&od->core, skb->dev) || !ornic_is_redirect6(skb) ||
	    !__ratelimit(&limit))
		return NF_ACCEPT;
	off = ornic_quote6_off(skb);
	if (off && ornic_redirect6_is_ours(od, skb, off))
		ornic_redirect6(skb, off, state->net);
	return NF_ACCEPT;
}
#endif

static const struct nf_hook_ops ornic_icmp_hooks[] = {
	{
		.hook = ornic_icmp_hook,
		.pf = NFPROTO_IPV4,
		.hooknum = NF_INET_LOCAL_IN,
		.priority = NF_IP_PRI_LAST,
	},
#if IS_ENABLED(CONFIG_IPV6)
	{
		.hook = ornic_icmp6_hook,
		.pf = NFPROTO_IPV6,
		.hooknum = NF_INET_LOCAL_IN,
		.priority = NF_IP6_PRI_LAST,
	},
#endif
};

static int ornic_icmp_register(struct ornic_dev *od, struct net *net)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ornic_icmp_hooks); i++) {
		od->icmp_hooks[i] = ornic_icmp_hooks[i];
		od->icmp_hooks[i].priv = od;
	}
	return nf_register_net_hooks(net, od->icmp_hooks, ARRAY_SIZE(ornic_icmp_hooks));
}

static void ornic_icmp_unregister(struct ornic_dev *od, struct net *net)
{
	nf_unregister_net_hooks(net, od->icmp_hooks, ARRAY_SIZE(ornic_icmp_hooks));
}
#else
static int ornic_icmp_register(struct ornic_dev *od, struct net *net)
{
	return 0;
}

static void ornic_icmp_unregister(struct ornic_dev *od, struct net *net)
{
}
#endif

/* --- where to listen ------------------------------------------------------------------------ */

static int ornic_routes_register(struct ornic_dev *od, struct net *net)
{
	int rc;

	rc = ornic_icmp_register(od, net);
	if (rc)
		return rc;
	rc = register_fib_notifier(net, &od->fib_nb, NULL, NULL);
	if (rc)
		ornic_icmp_unregister(od, net);
	return rc;
}

static void ornic_routes_unregister(struct ornic_dev *od, struct net *net)
{
	ornic_icmp_unregister(od, net);
	/* Waits for a grace period, which the hook needs, too. */
	unregister_fib_notifier(net, &od->fib_nb);
}

/*
 * To register takes RTNL inside, so the device may have moved on in the meantime. Without,
 * connections follow their routes later, by ornic_nexthop_watch().
 */
static void ornic_routes_work(struct work_struct *work)
{
	struct ornic_dev *od = container_of(work, struct ornic_dev, routes_work);
	struct net_device *netdev = od->core.netdev;
	struct net *net = NULL;
	int rc;

	rtnl_lock();
	if (!od->routes_net && netdev->reg_state == NETREG_REGISTERED)
		net = maybe_get_net(dev_net(netdev));
	rtnl_unlock();
	if (!net)
		return;
	rc = ornic_routes_register(od, net);
	if (rc) {
		netdev_warn(netdev, "routes are not watched: %d\n", rc);
		goto put;
	}
	rtnl_lock();
	if (netdev->reg_state == NETREG_REGISTERED && net_eq(dev_net(netdev), net))
		od->routes_net = net;
	else
		ornic_routes_unregister(od, net);
	rtnl_unlock();
put:
	put_net(net);
}

/**
 * ornic_routes_enter() - the port's network device has come into its namespace
 * @od: the function
 *
 * Context: RTNL held.
 */
void ornic_routes_enter(struct ornic_dev *od)
{
	queue_work(system_wq, &od->routes_work);
}

/**
 * ornic_routes_leave() - the port's network device leaves its namespace
 * @od: the function
 *
 * Context: Process context, RTNL held.
 */
void ornic_routes_leave(struct ornic_dev *od)
{
	if (od->routes_net)
		ornic_routes_unregister(od, od->routes_net);
	od->routes_net = NULL;
}

/**
 * ornic_routes_init() - nothing is heard yet
 * @od: the function
 *
 * Context: Process context.
 */
void ornic_routes_init(struct ornic_dev *od)
{
	od->fib_nb.notifier_call = ornic_fib_event;
	INIT_WORK(&od->routes_work, ornic_routes_work);
}

/**
 * ornic_routes_exit() - nothing is heard any more
 * @od: the function, its network device unregistered
 *
 * Context: Process context.
 */
void ornic_routes_exit(struct ornic_dev *od)
{
	cancel_work_sync(&od->routes_work);
}
