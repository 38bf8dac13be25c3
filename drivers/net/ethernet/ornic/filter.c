// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * OpenRNIC core driver: the host's packet filter and offloaded connections.
 *
 * The device speaks TCP by itself, so the packets of its connections do not pass netfilter. What
 * decides on a connection is its SYN. Before the device may send one or answer one, a packet like
 * it goes through the hooks that it would pass if the host's stack had the connection, with the
 * devices and the route that it would have there. When they let it through it is freed: it is the
 * device that goes on. A packet that is queued or stolen is no more ours and counts as dropped,
 * whatever becomes of it.
 *
 * What the filter does besides, it does: counters count, a reject sends its RST or ICMP, connection
 * tracking has an entry of a connection that it will see no more of.
 */

#include <linux/bottom_half.h>
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netfilter.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/tcp.h>
#include <linux/ornic_compat.h>

#include "core.h"

#define ORNIC_FILTER_OPTS_MAX	24	/* MSS, window scale, SACK permitted, timestamps */

/* No hook, no cost. */
static bool ornic_filter_hooked(const struct net *net, sa_family_t family, unsigned int first,
				unsigned int second)
{
#ifdef CONFIG_NETFILTER
	if (family == AF_INET)
		return rcu_access_pointer(net->nf.hooks_ipv4[first]) ||
		       rcu_access_pointer(net->nf.hooks_ipv4[second]);
#if IS_ENABLED(CONFIG_IPV6)
	return rcu_access_pointer(net->nf.hooks_ipv6[first]) ||
	       rcu_access_pointer(net->nf.hooks_ipv6[second]);
#endif
#endif
	return false;
}

/*
 * false: the packet is not ours any more. When it was queued it may come back long after, even when
 * this module is gone: then it ends in a function of the kernel's own that frees it.
 */
static bool ornic_filter_hook(struct net *net, unsigned int hook, struct sk_buff *skb,
			      struct net_device *in, struct net_device *out)
{
	u8 pf = skb->protocol == htons(ETH_P_IP) ? NFPROTO_IPV4 : NFPROTO_IPV6;

	return nf_hook(pf, hook, net, NULL, skb, in, out, dst_discard_out) == 1;
}

static bool ornic_filter_same4(const struct sk_buff *skb, const struct sockaddr_in *src,
			       const struct sockaddr_in *dst)
{
	const struct iphdr *iph = ip_hdr(skb);
	const struct tcphdr *th = (const void *)iph + iph->ihl * 4;

	return iph->saddr == src->sin_addr.s_addr && th->source == src->sin_port &&
	       iph->daddr == dst->sin_addr.s_addr && th->dest == dst->sin_port;
}

static bool ornic_filter_same6(const struct sk_buff *skb, const struct sockaddr_in6 *src,
			       const struct sockaddr_in6 *dst)
{
	const struct ipv6hdr *ip6h = ipv6_hdr(skb);
	const struct tcphdr *th = (const void *)(ip6h + 1);

	return ipv6_addr_equal(&ip6h->saddr, &src->sin6_addr) && th->source == src->sin6_port &&
	       ipv6_addr_equal(&ip6h->daddr, &dst->sin6_addr) && th->dest == dst->sin6_port;
}

/* Did the filter leave the addresses as they were? */
static bool ornic_filter_same(const struct sk_buff *skb, const struct sockaddr_storage *src,
			      const struct sockaddr_storage *dst)
{
	if (src->ss_family == AF_INET)
		return ornic_filter_same4(skb, (const void *)src, (const void *)dst);
	return ornic_filter_same6(skb, (const void *)src, (const void *)dst);
}

/* Does the packet's route end here? */
static bool ornic_filter_is_local(const struct sk_buff *skb)
{
	const struct dst_entry *dst = skb_dst(skb);

	if (skb->protocol == htons(ETH_P_IP))
		return container_of(dst, struct rtable, dst)->rt_type == RTN_LOCAL;
	return container_of(dst, struct rt6_info, dst)->rt6i_flags & RTF_LOCAL;
}

/* --- a SYN that came ------------------------------------------------------------------------ */

/* The device that the host's stack would have seen the frame on. Under RCU. */
static struct net_device *ornic_filter_in_dev(struct ornic_core *core, const struct ornic_syn *syn)
{
	u16 vlan = syn->vlan_tci & VLAN_VID_MASK;

	if (syn->looped)
		return dev_net(core->netdev)->loopback_dev;
	if (!vlan)
		return core->netdev;
	return __vlan_find_dev_deep_rcu(core->netdev, htons(ETH_P_8021Q), vlan);
}

/* Lengths are of the packet as it is: the device has cut its payload off. */
static void ornic_filter_in_head4(struct sk_buff *skb)
{
	struct iphdr *iph = ip_hdr(skb);

	iph->tot_len = htons(skb->len);
	ip_send_check(iph);
	skb_set_transport_header(skb, iph->ihl * 4);
	IPCB(skb)->iif = skb->skb_iif;
}

static void ornic_filter_in_head6(struct sk_buff *skb)
{
	struct ipv6hdr *ip6h = ipv6_hdr(skb);

	ip6h->payload_len = htons(skb->len - sizeof(*ip6h));
	skb_set_transport_header(skb, sizeof(*ip6h));
	IP6CB(skb)->iif = skb->skb_iif;
	IP6CB(skb)->nhoff = offsetof(struct ipv6hdr, nexthdr);
}

/* The frame without its VLAN tag, as the stack has it. The device has checked it. */
static struct sk_buff *ornic_filter_in_skb(const struct ornic_syn *syn, struct net_device *dev)
{
	const struct ethhdr *eth = syn->frame;
	u32 tag = eth->h_proto == htons(ETH_P_8021Q) ? VLAN_HLEN : 0;
	u32 rest = syn->frame_len - 2 * ETH_ALEN - tag;
	struct sk_buff *skb;

	skb = alloc_skb(NET_SKB_PAD + NET_IP_ALIGN + syn->frame_len, GFP_ATOMIC);
	if (!skb)
		return NULL;
	skb_reserve(skb, NET_SKB_PAD + NET_IP_ALIGN);
	skb_put_data(skb, syn->frame, 2 * ETH_ALEN);
	skb_put_data(skb, syn->frame + 2 * ETH_ALEN + tag, rest);
	skb->protocol = eth_type_trans(skb, dev);
	skb->pkt_type = PACKET_HOST;
	skb->skb_iif = dev->ifindex;
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	skb_reset_network_header(skb);
	if (skb->protocol == htons(ETH_P_IP))
		ornic_filter_in_head4(skb);
	else
		ornic_filter_in_head6(skb);
	return skb;
}

static bool ornic_filter_in_route4(struct sk_buff *skb)
{
	const struct iphdr *iph = ip_hdr(skb);

	return !ornic_route_input(skb, iph->daddr, iph->saddr, iph->tos, skb->dev);
}

static bool ornic_filter_in_route6(struct net *net, struct sk_buff *skb)
{
#if IS_ENABLED(CONFIG_IPV6)
	const struct ipv6hdr *ip6h = ipv6_hdr(skb);
	struct flowi6 fl6 = {
		.flowi6_iif = skb->dev->ifindex,
		.daddr = ip6h->daddr,
		.saddr = ip6h->saddr,
		.flowlabel = ip6_flowinfo(ip6h),
		.flowi6_mark = skb->mark,
		.flowi6_proto = IPPROTO_TCP,
	};

	skb_dst_set(skb, ip6_route_input_lookup(net, skb->dev, &fl6, skb, RT6_LOOKUP_F_HAS_SADDR));
	return !skb_dst(skb)->error;
#else
	return false;
#endif
}

/* Is the packet for the host, by its routes and source checks? */
static bool ornic_filter_in_route(struct net *net, struct sk_buff *skb,
				  const struct ornic_syn *syn)
{
	struct dst_entry *dst;

	if (syn->looped) {
		/* Loopback hands packets over with the route that they were sent by. */
		dst = ornic_route_dst(net, &syn->remote, &syn->local, syn->tos);
		if (IS_ERR(dst))
			return false;
		skb_dst_set(skb, dst);
	} else if (syn->local.ss_family == AF_INET ? !ornic_filter_in_route4(skb) :
						     !ornic_filter_in_route6(net, skb)) {
		return false;
	}
	return ornic_filter_is_local(skb);
}

/* Takes the packet. true: it may come in. Else how to refuse it. */
static bool ornic_filter_in(struct net *net, struct sk_buff *skb, const struct ornic_syn *syn,
			    enum ornic_refuse *how)
{
	struct net_device *dev = skb->dev;
	bool pass;

	*how = ORNIC_REFUSE_SILENT;
	if (!ornic_filter_hook(net, NF_INET_PRE_ROUTING, skb, dev, NULL))
		return false;
	pass = ornic_filter_same(skb, &syn->remote, &syn->local) &&
	       ornic_filter_in_route(net, skb, syn);
	if (pass && !ornic_filter_hook(net, NF_INET_LOCAL_IN, skb, dev, NULL))
		return false;
	pass = pass && ornic_filter_same(skb, &syn->remote, &syn->local);
	consume_skb(skb);
	/* Addresses that were translated, or are not for us: the host knows what to do. */
	*how = ORNIC_REFUSE_TO_HOST;
	return pass;
}

/**
 * ornic_filter_syn() - would the host's packet filter let a held SYN in?
 * @core: the function
 * @syn: SYN, parsed
 * @how: otherwise, how it is to be refused
 *
 * The SYN is seen by PRE_ROUTING and LOCAL_IN of the port's network namespace, as one that came in
 * on the port or on a VLAN on it, or, when the RNIC itself has sent it, on the loopback device.
 *
 * Context: Process context.
 * Return: true if so
 */
bool ornic_filter_syn(struct ornic_core *core, const struct ornic_syn *syn, enum ornic_refuse *how)
{
	struct net_device *dev;
	struct sk_buff *skb;
	bool pass = true;
	struct net *net;

	*how = ORNIC_REFUSE_SILENT;
	rcu_read_lock();
	local_bh_disable();
	net = dev_net(core->netdev);
	if (ornic_filter_hooked(net, syn->local.ss_family, NF_INET_PRE_ROUTING,
				NF_INET_LOCAL_IN)) {
		dev = ornic_filter_in_dev(core, syn);
		skb = dev ? ornic_filter_in_skb(syn, dev) : NULL;
		pass = skb && ornic_filter_in(net, skb, syn, how);
	}
	local_bh_enable();
	rcu_read_unlock();
	/* Both ends are here; a RST of the filter's would end in the host's stack. */
	if (syn->looped)
		*how = ORNIC_REFUSE_RST;
	return pass;
}

/* --- a SYN that is to go -------------------------------------------------------------------- */

/* The options that the device offers, and in its order. Return: their bytes, a multiple of 4. */
static u32 ornic_filter_opts(u8 *opts, const struct ornic_tcp_params *params, u32 max_mss)
{
	u32 mss = params->mss ?: max_mss;
	__be32 *p = (__be32 *)opts;

	*p++ = htonl(TCPOPT_MSS << 24 | TCPOLEN_MSS << 16 | min(mss, U16_MAX));
	if (params->options & ORNIC_TCPO_WSCALE)
		*p++ = htonl(TCPOPT_NOP << 24 | TCPOPT_WINDOW << 16 | TCPOLEN_WINDOW << 8 |
			     order_base_2(DIV_ROUND_UP(params->window, U16_MAX)));
	if (params->options & ORNIC_TCPO_SACK)
		*p++ = htonl(TCPOPT_NOP << 24 | TCPOPT_NOP << 16 | TCPOPT_SACK_PERM << 8 |
			     TCPOLEN_SACK_PERM);
	if (params->options & ORNIC_TCPO_TIMESTAMPS) {
		*p++ = htonl(TCPOPT_NOP << 24 | TCPOPT_NOP << 16 | TCPOPT_TIMESTAMP << 8 |
			     TCPOLEN_TIMESTAMP);
		*p++ = 0;
		*p++ = 0;
	}
	return (u8 *)p - opts;
}

/* Pushes the header; its checksum is to be finished by a device. Return: the header */
static struct tcphdr *ornic_filter_out_tcp(struct sk_buff *skb, u32 window)
{
	struct tcphdr *th = skb_push(skb, sizeof(*th));

	skb_reset_transport_header(skb);
	/* The device chooses the sequence number later. */
	memset(th, 0, sizeof(*th));
	th->doff = skb->len / 4;
	th->syn = 1;
	th->window = htons(min(window, U16_MAX));
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct tcphdr, check);
	return th;
}

static void ornic_filter_out_head4(struct sk_buff *skb, const struct sockaddr_in *src,
				   const struct sockaddr_in *dst,
				   const struct ornic_tcp_params *params)
{
	struct tcphdr *th = ornic_filter_out_tcp(skb, params->window);
	struct iphdr *iph = skb_push(skb, sizeof(*iph));

	th->source = src->sin_port;
	th->dest = dst->sin_port;
	th->check = ~tcp_v4_check(skb->len - sizeof(*iph), src->sin_addr.s_addr,
				  dst->sin_addr.s_addr, 0);
	memset(iph, 0, sizeof(*iph));
	iph->version = 4;
	iph->ihl = sizeof(*iph) / 4;
	iph->tos = params->dscp << 2;
	iph->tot_len = htons(skb->len);
	iph->frag_off = htons(IP_DF);
	iph->ttl = params->ttl;
	iph->protocol = IPPROTO_TCP;
	iph->saddr = src->sin_addr.s_addr;
	iph->daddr = dst->sin_addr.s_addr;
	ip_send_check(iph);
	skb->protocol = htons(ETH_P_IP);
}

static void ornic_filter_out_head6(struct sk_buff *skb, const struct sockaddr_in6 *src,
				   const struct sockaddr_in6 *dst,
				   const struct ornic_tcp_params *params)
{
	struct tcphdr *th = ornic_filter_out_tcp(skb, params->window);
	struct ipv6hdr *ip6h = skb_push(skb, sizeof(*ip6h));
	u32 len = skb->len - sizeof(*ip6h);

	th->source = src->sin6_port;
	th->dest = dst->sin6_port;
	th->check = ~tcp_v6_check(len, &src->sin6_addr, &dst->sin6_addr, 0);
	ip6_flow_hdr(ip6h, params->dscp << 2, 0);
	ip6h->payload_len = htons(len);
	ip6h->nexthdr = IPPROTO_TCP;
	ip6h->hop_limit = params->ttl;
	ip6h->saddr = src->sin6_addr;
	ip6h->daddr = dst->sin6_addr;
	skb->protocol = htons(ETH_P_IPV6);
	IP6CB(skb)->nhoff = offsetof(struct ipv6hdr, nexthdr);
}

/* The SYN that the device is going to send. Takes the route. */
static struct sk_buff *ornic_filter_out_skb(struct dst_entry *dst,
					    const struct sockaddr_storage *local,
					    const struct sockaddr_storage *remote,
					    const struct ornic_tcp_params *params)
{
	u32 head = local->ss_family == AF_INET ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
	u32 max_mss = READ_ONCE(dst->dev->mtu) - head - sizeof(struct tcphdr);
	u8 opts[ORNIC_FILTER_OPTS_MAX] __aligned(4);
	struct sk_buff *skb;

	skb = alloc_skb(MAX_TCP_HEADER + sizeof(opts), GFP_ATOMIC);
	if (!skb) {
		dst_release(dst);
		return NULL;
	}
	skb_dst_set(skb, dst);
	skb_reserve(skb, MAX_TCP_HEADER);
	skb_put_data(skb, opts, ornic_filter_opts(opts, params, max_mss));
	if (local->ss_family == AF_INET)
		ornic_filter_out_head4(skb, (const void *)local, (const void *)remote, params);
	else
		ornic_filter_out_head6(skb, (const void *)local, (const void *)remote, params);
	skb_reset_network_header(skb);
	skb->priority = rt_tos2priority(params->dscp << 2);
	return skb;
}

static int ornic_filter_out(struct net *net, const struct sockaddr_storage *local,
			    const struct sockaddr_storage *remote,
			    const struct ornic_tcp_params *params)
{
	struct dst_entry *dst;
	struct sk_buff *skb;
	bool pass;

	dst = ornic_route_dst(net, local, remote, params->dscp << 2);
	if (IS_ERR(dst))
		return PTR_ERR(dst);
	skb = ornic_filter_out_skb(dst, local, remote, params);
	if (!skb)
		return -ENOMEM;
	if (!ornic_filter_hook(net, NF_INET_LOCAL_OUT, skb, NULL, dst->dev))
		return -ECONNREFUSED;
	/* A mark may have changed the route. */
	skb->dev = skb_dst(skb)->dev;
	if (!ornic_filter_hook(net, NF_INET_POST_ROUTING, skb, NULL, skb->dev))
		return -ECONNREFUSED;
	pass = ornic_filter_same(skb, local, remote);
	consume_skb(skb);
	return pass ? 0 : -ECONNREFUSED;
}

/**
 * ornic_filter_open() - would the host's packet filter let a connection's SYN out?
 * @nh: the connection's next hop
 * @local: local address and port
 * @remote: remote address and port
 * @params: options of the connection
 *
 * The SYN is seen by LOCAL_OUT and POST_ROUTING of the network namespace that the next hop's device
 * is in.
 *
 * Context: Process context, sleeps.
 * Return: 0; -ECONNREFUSED: no, or not with these addresses; -ENETUNREACH, -EHOSTUNREACH, -ENOMEM
 */
int ornic_filter_open(struct ornic_nexthop *nh, const struct sockaddr_storage *local,
		      const struct sockaddr_storage *remote, const struct ornic_tcp_params *params)
{
	struct net_device *dev = ornic_nexthop_dev(nh);
	struct net *net;
	int rc = 0;

	if (!dev)
		return -ENETUNREACH;
	rcu_read_lock();
	local_bh_disable();
	net = dev_net(dev);
	if (ornic_filter_hooked(net, local->ss_family, NF_INET_LOCAL_OUT, NF_INET_POST_ROUTING))
		rc = ornic_filter_out(net, local, remote, params);
	local_bh_enable();
	rcu_read_unlock();
	dev_put(dev);
	return rc;
}
