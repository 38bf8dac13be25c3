// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Listeners, and SYNs held until their owner has decided.
 */
#include "internal.h"

/* ---------------------------------------------------------------- listeners */

static struct listener **listen_head(struct tcp_engine *e, uint16_t port)
{
	return &e->listen_bucket[port % LISTEN_BUCKETS];
}

static bool addr_equal(const struct ip_addr *a, const struct ip_addr *b)
{
	return a->family == b->family && !memcmp(a->b, b->b, sizeof(a->b));
}

static bool listener_matches(const struct listener *l, const struct seg_in *s)
{
	uint16_t vlan = s->vlan == TCP_VLAN_NONE ? TCP_VLAN_NONE : s->vlan & 0xfff;

	if (l->port != s->tuple.lport)
		return false;
	if (l->vlan != TCP_VLAN_ANY && l->vlan != vlan)
		return false;
	if (l->addr.family != s->tuple.local.family)
		return false;
	return ip_zero(&l->addr) || addr_equal(&l->addr, &s->tuple.local);
}

/* The most specific one: address before wildcard, then VLAN before any */
static int listener_rank(const struct listener *l)
{
	return !ip_zero(&l->addr) * 2 + (l->vlan != TCP_VLAN_ANY);
}

struct listener *listener_find(struct tcp_engine *e, const struct seg_in *s)
{
	struct listener *best = NULL;

	for (struct listener *l = *listen_head(e, s->tuple.lport); l; l = l->next)
		if (listener_matches(l, s) && (!best || listener_rank(l) > listener_rank(best)))
			best = l;
	return best;
}

int tcp_listen(struct tcp_engine *e, uint32_t id, const struct ip_addr *addr, uint16_t port,
	       uint16_t vlan, uint32_t backlog)
{
	struct listener **head, *l;

	if (id >= e->cfg.max_listeners || !port || !backlog)
		return -EINVAL;
	if (vlan > 4095 && vlan != TCP_VLAN_ANY && vlan != TCP_VLAN_NONE)
		return -EINVAL;
	if (addr->family != IP_V4 && addr->family != IP_V6)
		return -EAFNOSUPPORT;
	if (e->listeners[id].used)
		return -EEXIST;
	head = listen_head(e, port);
	for (l = *head; l; l = l->next)
		if (l->port == port && l->vlan == vlan && addr_equal(&l->addr, addr))
			return -EADDRINUSE;
	l = &e->listeners[id];
	memset(l, 0, sizeof(*l));
	l->used = true;
	l->id = id;
	l->addr = *addr;
	l->port = port;
	l->vlan = vlan;
	l->backlog = backlog;
	l->next = *head;
	*head = l;
	return 0;
}

/* ---------------------------------------------------------------- held SYNs */

static uint32_t syn_id(const struct tcp_engine *e, const struct held_syn *h)
{
	return (uint32_t)h->gen << 16 | (uint32_t)(h - e->syns);
}

struct held_syn *held_syn_get(struct tcp_engine *e, uint32_t id)
{
	uint32_t idx = id & 0xffff;
	struct held_syn *h;

	if (idx >= e->cfg.max_syns)
		return NULL;
	h = &e->syns[idx];
	return h->used && h->gen == id >> 16 ? h : NULL;
}

void held_syn_forget(struct tcp_engine *e, struct held_syn *h)
{
	flow_remove(e, &h->node);
	h->used = false;
	h->gen++;
	h->listener->held--;
	list_del(&h->fifo);
	list_add_tail(&e->syn_free, &h->fifo);
}

void held_syn_expire(struct tcp_engine *e)
{
	while (!list_empty(&e->syn_fifo)) {
		struct held_syn *h = container_of_(e->syn_fifo.next, struct held_syn, fifo);

		if (h->due > e->now)
			break;
		e->stats.syns_expired++;
		held_syn_forget(e, h);
	}
}

/*
 * The SYN without payload, and without IPv6 extension headers, which bind nobody here. The length
 * of the TCP segment in the IP header, and checksums, are left as they are (see tcp_refuse()).
 */
static void held_syn_frame(struct held_syn *h, const struct seg_in *s)
{
	bool v6 = s->tuple.local.family == IP_V6;
	size_t l2 = (size_t)(s->l3 - s->frame);
	size_t ip = v6 ? IP6_HLEN_ : (size_t)(s->l4 - s->l3);
	size_t tcp = (size_t)(s->data - s->l4);

	memcpy(h->frame, s->frame, l2 + ip);
	memcpy(h->frame + l2 + ip, s->l4, tcp);
	if (v6) {
		put16(h->frame + l2 + 4, s->l4_len);
		h->frame[l2 + 6] = IPPROTO_TCP_;
	}
	h->frame_len = (uint16_t)(l2 + ip + tcp);
	h->cut = s->len != 0;
}

static void held_syn_copy(struct held_syn *h, const struct seg_in *s)
{
	held_syn_frame(h, s);
	h->csum_flags = s->csum_flags;
	h->seq = s->seq;
	h->wnd = s->wnd;
	h->tsval = s->tsval;
	h->info.tuple = s->tuple;
	h->info.vlan = s->vlan == TCP_VLAN_NONE ? TCP_VLAN_NONE : s->vlan & 0xfff;
	h->info.mss = s->mss ? s->mss : mss_default(s->tuple.local.family);
	h->info.wscale = s->wscale;
	h->info.timestamps = s->ts;
	h->info.sack = s->sackok;
	h->info.looped = s->looped;
}

static void hold_syn(struct tcp_engine *e, struct listener *l, const struct seg_in *s)
{
	struct held_syn *h;
	uint32_t id;

	if (list_empty(&e->syn_free) || l->held >= l->backlog) {
		e->stats.syns_limit++;
		return;
	}
	h = container_of_(e->syn_free.next, struct held_syn, fifo);
	list_del(&h->fifo);
	list_add_tail(&e->syn_fifo, &h->fifo);
	held_syn_copy(h, s);
	h->used = true;
	h->listener = l;
	h->due = e->now + e->cfg.syn_hold_ns;
	l->held++;
	flow_insert(e, &h->node, FLOW_SYN, &s->flow);
	id = syn_id(e, h);
	if (e->ops->conn_req(e->ctx, l->id, id, h->frame, h->frame_len, &h->info)) {
		e->stats.syns_held++;
		return;
	}
	e->stats.syns_event_full++;
	if (held_syn_get(e, id))
		held_syn_forget(e, h);
}

/*
 * RFC 9293 3.10.7.2 for a tuple without a connection. Only a pure SYN belongs to the listener: all
 * else may be of a connection that the host took (TO_HOST), or the host answers it with RST.
 */
enum tcp_verdict listen_input(struct tcp_engine *e, struct seg_in *s)
{
	struct listener *l;

	if ((s->flags & (TH_SYN | TH_ACK | TH_RST | TH_FIN)) != TH_SYN)
		return TCP_TO_HOST;
	if (!ip_addr_unicast(&s->tuple.local) || !ip_addr_unicast(&s->tuple.remote))
		return TCP_TO_HOST;
	l = listener_find(e, s);
	if (!l)
		return TCP_TO_HOST;
	if (s->fragment) {
		e->stats.fragments++;
		return TCP_CONSUMED;
	}
	e->stats.segs_in++;
	if (!seg_checksum_ok(s))
		e->stats.bad_csum++;
	else
		hold_syn(e, l, s);
	return TCP_CONSUMED;
}

void held_syn_input(struct tcp_engine *e, struct held_syn *h, struct seg_in *s)
{
	struct listener *l = h->listener;

	/* RFC 5961 3.2: only the exact sequence number takes the SYN back */
	if (s->flags & TH_RST) {
		e->stats.rst_in++;
		if (s->seq == h->seq + 1)
			held_syn_forget(e, h);
		return;
	}
	if ((s->flags & (TH_SYN | TH_ACK | TH_FIN)) != TH_SYN)
		return;
	if (s->seq == h->seq) {
		e->stats.syns_dup++;
		return;
	}
	/* another incarnation: the peer has given up the one that is held */
	held_syn_forget(e, h);
	hold_syn(e, l, s);
}

static void refuse_rst(struct tcp_engine *e, const struct held_syn *h)
{
	struct seg_in s = {.frame = h->frame,
			   .frame_len = h->frame_len,
			   .looped = h->info.looped,
			   .csum_flags = TCP_CSUM_VALID};

	/* it parsed before; without its payload the IP length would not fit, so by hand */
	s.vlan = h->info.vlan;
	s.l3 = h->frame + ETH_HLEN_ + (get16(h->frame + 12) == ETHERTYPE_VLAN_ ? VLAN_HLEN_ : 0);
	s.tuple = h->info.tuple;
	s.seq = h->seq;
	s.flags = TH_SYN;
	reply_rst(e, &s);
}

int tcp_refuse(struct tcp_engine *e, uint32_t id, enum tcp_refuse_how how)
{
	struct held_syn *h = held_syn_get(e, id);

	if (how != TCP_REFUSE_RST && how != TCP_REFUSE_SILENT && how != TCP_REFUSE_TO_HOST)
		return -EINVAL;
	if (!h)
		return -ENOENT;
	engine_enter(e);
	/* no host takes a looped frame: its own loopback has the address */
	if (how == TCP_REFUSE_RST || (how == TCP_REFUSE_TO_HOST && h->info.looped)) {
		refuse_rst(e, h);
	} else if (how == TCP_REFUSE_TO_HOST && !h->cut) {
		e->stats.frames_to_host++;
		e->ops->to_host(e->ctx, h->frame, h->frame_len, h->csum_flags);
	}
	held_syn_forget(e, h);
	engine_leave(e);
	return 0;
}

static void refuse_all(struct tcp_engine *e, struct listener *l)
{
	for (uint32_t i = 0; i < e->cfg.max_syns && l->held; i++) {
		if (!e->syns[i].used || e->syns[i].listener != l)
			continue;
		refuse_rst(e, &e->syns[i]);
		held_syn_forget(e, &e->syns[i]);
	}
}

int tcp_unlisten(struct tcp_engine *e, uint32_t id)
{
	struct listener *l, **p;

	if (id >= e->cfg.max_listeners || !e->listeners[id].used)
		return -ENOENT;
	l = &e->listeners[id];
	engine_enter(e);
	refuse_all(e, l);
	for (p = listen_head(e, l->port); *p != l; p = &(*p)->next)
		;
	*p = l->next;
	l->used = false;
	engine_leave(e);
	return 0;
}
