// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Connections: opening, options, closing, terminal events, and the calls of the public interface
 * that concern one connection.
 */
#include <stdlib.h>

#include "internal.h"

const char *tcp_state_name(enum tcp_state state)
{
	static const char *const names[] = {
		[TCPS_CLOSED] = "CLOSED",	  [TCPS_SYN_SENT] = "SYN_SENT",
		[TCPS_SYN_RCVD] = "SYN_RCVD",	  [TCPS_ESTABLISHED] = "ESTABLISHED",
		[TCPS_FIN_WAIT_1] = "FIN_WAIT_1", [TCPS_FIN_WAIT_2] = "FIN_WAIT_2",
		[TCPS_CLOSE_WAIT] = "CLOSE_WAIT", [TCPS_CLOSING] = "CLOSING",
		[TCPS_LAST_ACK] = "LAST_ACK",	  [TCPS_TIME_WAIT] = "TIME_WAIT",
	};

	return (unsigned int)state <= TCPS_TIME_WAIT ? names[state] : "?";
}

const char *tcp_event_name(enum tcp_event ev)
{
	static const char *const names[] = {
		[TCP_EV_ESTABLISHED] = "ESTABLISHED", [TCP_EV_PEER_FIN] = "PEER_FIN",
		[TCP_EV_FIN_ACKED] = "FIN_ACKED",     [TCP_EV_CLOSED] = "CLOSED",
		[TCP_EV_REFUSED] = "REFUSED",	      [TCP_EV_PEER_RST] = "PEER_RST",
		[TCP_EV_ABORTED] = "ABORTED",	      [TCP_EV_TIMEOUT] = "TIMEOUT",
		[TCP_EV_UNREACH] = "UNREACH",
	};

	return (unsigned int)ev <= TCP_EV_UNREACH ? names[ev] : "?";
}

/* ---------------------------------------------------------------- options */

static void opts_defaults(struct tcp_opts *o)
{
	o->rcv_wnd = o->rcv_wnd ? o->rcv_wnd : 262144;
	o->keep_idle_ms = o->keep_idle_ms ? o->keep_idle_ms : 7200000;
	o->keep_intvl_ms = o->keep_intvl_ms ? o->keep_intvl_ms : 75000;
	o->keep_count = o->keep_count ? o->keep_count : 9;
	o->ttl = o->ttl ? o->ttl : 64;
	if (o->syn_retries == TCP_SYN_NO_RETRY)
		o->syn_retries = 0;
	else if (!o->syn_retries)
		o->syn_retries = 6;
	o->rtx_retries = o->rtx_retries ? o->rtx_retries : 15;
	o->finwait_ms = o->finwait_ms ? o->finwait_ms : 60000;
}

int tcp_opts_check(struct tcp_engine *e, struct tcp_opts *o, uint32_t nexthop)
{
	if (nexthop >= e->cfg.max_nexthops || !e->nexthops[nexthop].valid)
		return -EINVAL;
	if (o->dscp > 63 || o->rcv_shift > MAX_WSCALE || o->rcv_wnd > 1u << 30)
		return -EINVAL;
	if (o->mss && o->mss < MSS_MIN)
		return -EINVAL;
	opts_defaults(o);
	return 0;
}

/* Smallest shift that fits the window, at least the one asked for (RFC 7323 2.2) */
static uint8_t window_shift(const struct tcp_opts *o)
{
	uint8_t shift = o->rcv_shift;

	while (shift < MAX_WSCALE && o->rcv_wnd >> shift > 65535)
		shift++;
	return shift;
}

/*
 * A fixed window that is a multiple of the scale's unit never moves its right edge back by
 * rounding (RFC 9293 3.8.6: shrinking is discouraged).
 */
static void settle_window(struct tcp_conn *c)
{
	uint32_t unit = 1u << c->rcv_shift;
	uint32_t max = 65535u << c->rcv_shift;
	uint32_t wnd = (c->opts.rcv_wnd + unit - 1) & ~(unit - 1);

	c->rcv_wnd = min_u32(wnd, max);
}

/* RFC 9293 3.7.1: the option announces what fits the interface; RFC 6691: options not deducted */
static uint32_t path_mss(const struct tcp_conn *c, uint32_t path_mtu)
{
	const struct nexthop_slot *nh = &c->e->nexthops[c->nexthop];
	uint32_t mtu = min_u32(nh->valid ? nh->nh.mtu : 1500, path_mtu), mss;

	if (c->tuple.local.family == IP_V6) /* RFC 8200 5: no link takes less */
		mtu = max_u32(mtu, PMTU_MIN6);
	mss = mtu - c->ip_hlen - TCP_HLEN_;
	return c->opts.mss ? min_u32(mss, c->opts.mss) : mss;
}

/**
 * tcp_conn_mss - payload of a full segment, were @path_mtu what the path takes beyond the next hop
 */
uint32_t tcp_conn_mss(const struct tcp_conn *c, uint32_t path_mtu)
{
	uint32_t mss = min_u32(path_mss(c, path_mtu), c->peer_mss);

	return mss - (c->ts_on ? TCP_TS_LEN : 0);
}

void tcp_conn_set_mss(struct tcp_conn *c)
{
	c->emss = tcp_conn_mss(c, pmtu_now(c));
}

/* What a SYN or SYN-ACK of the peer settles */
void tcp_conn_options(struct tcp_conn *c, const struct seg_in *s)
{
	c->peer_mss = mss_default(c->tuple.local.family);
	if (s->mss)
		c->peer_mss = (uint16_t)max_u32(s->mss, MSS_MIN);
	c->ts_on = c->opts.timestamps && s->ts;
	c->sack_on = c->opts.sack && s->sackok;
	c->ws_on = c->opts.wscale && s->wscale >= 0;
	c->snd_shift = c->ws_on ? (uint8_t)s->wscale : 0;
	c->rcv_shift = c->ws_on ? window_shift(&c->opts) : 0;
	settle_window(c);
	if (c->ts_on) {
		c->ts_recent = s->tsval;
		c->ts_recent_ns = c->e->now;
	}
	tcp_conn_set_mss(c);
}

/* ---------------------------------------------------------------- life */

/* RFC 9293 3.4.1, RFC 6528: a 4 us clock plus a keyed hash of the tuple */
uint32_t tcp_conn_isn(struct tcp_engine *e, const struct flow *f)
{
	return (uint32_t)siphash_words(&e->isn_key, f->w, 5) + (uint32_t)(e->now / 4000);
}

static bool conn_alloc(struct tcp_conn *c)
{
	uint32_t chunks = 1;

	c->ring = calloc(RING_FIRST, sizeof(*c->ring));
	c->ring_mask = RING_FIRST - 1;
	/* one chunk more than the window, since the window starts anywhere in a chunk */
	while (chunks << REASS_SHIFT < c->opts.rcv_wnd + REASS_CHUNK + (1u << MAX_WSCALE))
		chunks <<= 1;
	c->reass.nchunks = chunks;
	c->reass.chunk = calloc(chunks, sizeof(*c->reass.chunk));
	return c->ring && c->reass.chunk;
}

/* Everything but the state, and the demux entry */
struct tcp_conn *tcp_conn_new(struct tcp_engine *e, uint32_t id, const struct tcp_tuple *t,
			      const struct tcp_opts *opts, uint32_t nexthop, void *user)
{
	struct tcp_conn *c = calloc(1, sizeof(*c));
	struct flow f;

	if (!c)
		return NULL;
	c->e = e;
	c->id = id;
	c->user = user;
	c->tuple = *t;
	c->opts = *opts;
	c->nexthop = nexthop;
	c->pmtu = UINT32_MAX;
	c->ip_hlen = (uint8_t)ip_hlen(t->local.family);
	c->peer_mss = mss_default(t->local.family);
	c->heap_pos = HEAP_NONE;
	for (int i = 0; i < TM_SLOTS; i++)
		c->due[i] = TCP_NO_DEADLINE;
	list_init(&c->pending);
	list_init(&c->zombie);
	if (!conn_alloc(c)) {
		tcp_conn_destroy(c);
		return NULL;
	}
	flow_from_tuple(&f, t);
	c->ts_off = (uint32_t)(siphash_words(&e->isn_key, f.w, 5) >> 32);
	c->iss = tcp_conn_isn(e, &f);
	c->my_mss = (uint16_t)path_mss(c, UINT32_MAX);
	c->rcv_mss = MSS_DEFAULT;
	c->rcv_shift = opts->wscale ? window_shift(opts) : 0;
	settle_window(c);
	c->rto = RTO_INIT;
	c->last_rx_ns = e->now;
	tcp_conn_set_mss(c);
	tmpl_build(c);
	e->conns[id] = c;
	return c;
}

static void set_iss(struct tcp_conn *c, uint32_t iss)
{
	c->iss = iss;
	c->snd_una = iss;
	c->snd_nxt = iss + 1;
	c->snd_max = iss + 1;
	c->q_end = iss + 1;
	c->recover = iss;
	c->high_rxt = iss;
}

void tcp_conn_unlink(struct tcp_conn *c)
{
	flow_remove(c->e, &c->node);
	tcp_timers_stop(c);
	if (c->is_pending) {
		list_del(&c->pending);
		c->is_pending = false;
	}
	rx_release(c);
	free(c->sbuf);
	c->sbuf = NULL;
}

void tcp_conn_destroy(struct tcp_conn *c)
{
	if (c->reass.chunk)
		rx_release(c);
	free(c->reass.chunk);
	free(c->sbuf);
	free(c->ring);
	if (c->e->conns[c->id] == c)
		c->e->conns[c->id] = NULL;
	free(c);
}

void tcp_conn_event(struct tcp_conn *c, enum tcp_event ev, uint32_t info)
{
	if (!c->freed)
		c->e->ops->event(c->e->ctx, c, ev, info);
}

void tcp_conn_terminal(struct tcp_conn *c, enum tcp_event ev, uint32_t info)
{
	if (c->terminal)
		return;
	c->terminal = true;
	c->state = TCPS_CLOSED;
	tcp_conn_unlink(c);
	tcp_conn_event(c, ev, info);
}

void tcp_conn_established(struct tcp_conn *c)
{
	c->state = c->fin_queued ? TCPS_FIN_WAIT_1 : TCPS_ESTABLISHED;
	c->txt = TXT_NONE;
	tcp_timer_clear(c, TM_TX);
	if (c->syn_sent > 1 && !c->srtt)
		c->rto = RTO_AFTER_SYN_LOSS;
	c->backoff = 0;
	cwnd_init(c);
	c->e->stats.established++;
	if (c->opts.keepalive)
		tcp_timer_set(c, TM_KEEP,
			      c->e->now + (uint64_t)c->opts.keep_idle_ms * TCP_NS_PER_MS);
	tcp_conn_event(c, TCP_EV_ESTABLISHED, 0);
}

/* ---------------------------------------------------------------- opening */

static int tuple_check(const struct tcp_tuple *t)
{
	if (t->local.family != IP_V4 && t->local.family != IP_V6)
		return -EAFNOSUPPORT;
	if (t->remote.family != t->local.family)
		return -EAFNOSUPPORT;
	if (!ip_addr_unicast(&t->local) || !ip_addr_unicast(&t->remote))
		return -EINVAL;
	return t->lport && t->rport ? 0 : -EINVAL;
}

/*
 * RFC 9293 3.4.1: a new incarnation must not start within the old one's sequence numbers. The
 * timestamp offset is a function of the tuple, so timestamps go on where they were.
 */
static uint32_t isn_after(struct tcp_engine *e, uint32_t iss, const struct timewait *tw)
{
	if (seq_gt(iss, tw->snd_nxt))
		return iss;
	return tw->snd_nxt + 65536 + (e->ops->random32(e->ctx) & 0xffff);
}

static int open_locked(struct tcp_engine *e, const struct tcp_open_params *p)
{
	struct tcp_tuple tuple = p->tuple;
	struct tcp_opts opts = p->opts;
	struct timewait *tw = NULL;
	struct flow_node *n;
	struct tcp_conn *c;
	struct flow f;
	int rc;

	rc = tuple_check(&p->tuple);
	if (!rc)
		rc = tcp_opts_check(e, &opts, p->nexthop);
	if (rc)
		return rc;
	if (p->id >= e->cfg.max_conns)
		return -EINVAL;
	if (e->conns[p->id])
		return -EEXIST;
	tuple.scope = tuple_scope(&tuple, e->nexthops[p->nexthop].nh.vlan);
	flow_from_tuple(&f, &tuple);
	n = flow_find(e, &f, flow_hash(e, &f));
	if (n && n->kind != FLOW_TIMEWAIT)
		return -EADDRINUSE;
	c = tcp_conn_new(e, p->id, &tuple, &opts, p->nexthop, p->user);
	if (!c)
		return -ENOMEM;
	if (n) {
		tw = container_of_(n, struct timewait, node);
		c->iss = isn_after(e, c->iss, tw);
		timewait_drop(e, tw);
	}
	set_iss(c, c->iss);
	flow_insert(e, &c->node, FLOW_CONN, &f);
	c->state = TCPS_SYN_SENT;
	e->stats.opens_active++;
	send_syn(c);
	return 0;
}

int tcp_open(struct tcp_engine *e, const struct tcp_open_params *p)
{
	int rc;

	engine_enter(e);
	rc = open_locked(e, p);
	engine_leave(e);
	return rc;
}

static int accept_locked(struct tcp_engine *e, struct held_syn *h, uint32_t id, uint32_t nexthop,
			 const struct tcp_opts *o, void *user)
{
	struct seg_in s = {.wscale = h->info.wscale,
			   .mss = h->info.mss,
			   .ts = h->info.timestamps,
			   .tsval = h->tsval,
			   .sackok = h->info.sack};
	struct tcp_opts opts = *o;
	struct tcp_conn *c;
	int rc = tcp_opts_check(e, &opts, nexthop);

	if (rc)
		return rc;
	if (id >= e->cfg.max_conns)
		return -EINVAL;
	if (e->conns[id])
		return -EEXIST;
	c = tcp_conn_new(e, id, &h->info.tuple, &opts, nexthop, user);
	if (!c)
		return -ENOMEM;
	set_iss(c, c->iss);
	c->passive = true;
	c->irs = h->seq;
	c->rcv_nxt = h->seq + 1;
	c->last_ack_sent = c->rcv_nxt;
	c->snd_wnd = h->wnd; /* never scaled in a SYN */
	c->max_wnd = h->wnd;
	c->snd_wl1 = h->seq;
	c->snd_wl2 = c->iss;
	tcp_conn_options(c, &s);
	c->rcv_adv = c->rcv_nxt + min_u32(c->rcv_wnd, 65535);
	c->state = TCPS_SYN_RCVD;
	e->stats.opens_passive++;
	return 0;
}

int tcp_accept(struct tcp_engine *e, uint32_t syn_id, uint32_t conn_id, uint32_t nexthop,
	       const struct tcp_opts *opts, void *user)
{
	struct held_syn *h;
	struct flow f;
	int rc = -ENOENT;

	engine_enter(e);
	h = held_syn_get(e, syn_id);
	if (h) {
		rc = accept_locked(e, h, conn_id, nexthop, opts, user);
		if (!rc) {
			f = h->node.flow;
			held_syn_forget(e, h);
			flow_insert(e, &e->conns[conn_id]->node, FLOW_CONN, &f);
			send_syn(e->conns[conn_id]);
		}
	}
	engine_leave(e);
	return rc;
}

/* ---------------------------------------------------------------- sending */

static bool can_queue(const struct tcp_conn *c)
{
	return !c->terminal && !c->freed && !c->fin_queued;
}

/* Descriptors left; one is kept for the FIN */
static uint32_t ring_room(const struct tcp_conn *c)
{
	uint32_t used = c->tail - c->done, max = c->e->cfg.max_segs - 1;

	return max > used ? max - used : 0;
}

/*
 * Make room for n descriptors, and one for the FIN. An idle connection has few: the ring grows with
 * what is under way, up to what ring_room() allows. false: no memory; acknowledgements make room.
 */
static bool ring_fit(struct tcp_conn *c, uint32_t n)
{
	uint32_t need = c->tail - c->done + n + 1, size = c->ring_mask + 1;
	struct seg *ring;

	if (need <= size)
		return true;
	while (size < need)
		size <<= 1;
	ring = calloc(size, sizeof(*ring));
	if (!ring)
		return false;
	for (uint32_t i = c->done; i != c->tail; i++)
		ring[i & (size - 1)] = *seg_at(c, i);
	free(c->ring);
	c->ring = ring;
	c->ring_mask = size - 1;
	return true;
}

static uint32_t stream_queued(const struct tcp_conn *c)
{
	uint32_t start = c->snd_una == c->iss ? c->iss + 1 : c->snd_una;

	return c->q_end - start;
}

size_t tcp_send_room(const struct tcp_conn *c)
{
	uint32_t room = c->e->cfg.stream_buf - stream_queued(c);

	if (!can_queue(c) || c->records)
		return 0;
	return min_u64(room, (uint64_t)ring_room(c) * max_u32(c->emss, 1));
}

static struct seg *ring_push(struct tcp_conn *c, uint32_t flags, uint32_t len)
{
	struct seg *g = seg_at(c, c->tail++);

	memset(g, 0, sizeof(*g));
	g->seq = c->q_end;
	g->len = len;
	g->flags = flags;
	c->q_end += seg_span(g);
	return g;
}

/* Cut stream bytes into segments; the last one grows as long as it was not sent */
static void stream_cut(struct tcp_conn *c, uint32_t len)
{
	struct seg *last = c->tail != c->next ? seg_at(c, c->tail - 1) : NULL;

	if (last && !(last->flags & (SEG_SENT | SEG_REC)) && last->len < c->emss) {
		uint32_t n = min_u32(len, c->emss - last->len);

		last->len += n;
		c->q_end += n;
		len -= n;
	}
	while (len) {
		uint32_t n = min_u32(len, c->emss);

		ring_push(c, 0, n);
		len -= n;
	}
	seg_at(c, c->tail - 1)->flags |= SEG_PSH;
}

static void stream_copy(struct tcp_conn *c, const uint8_t *data, size_t len)
{
	uint32_t mask = c->sbuf_size - 1;
	uint32_t off = (c->q_end - c->iss - 1) & mask;
	size_t first = min_u64(len, c->sbuf_size - off);

	memcpy(c->sbuf + off, data, first);
	memcpy(c->sbuf, data + first, len - first);
}

static int send_locked(struct tcp_conn *c, const void *data, size_t len)
{
	if (!can_queue(c))
		return -EPIPE;
	if (c->records)
		return -EBUSY;
	if (len > c->e->cfg.stream_buf)
		return -EMSGSIZE;
	if (!len)
		return 0;
	if (len > tcp_send_room(c) || !ring_fit(c, (uint32_t)(len - 1) / max_u32(c->emss, 1) + 1)) {
		c->want_pull = true;
		return -ENOBUFS;
	}
	if (!c->sbuf) {
		c->sbuf = malloc(c->e->cfg.stream_buf);
		c->sbuf_size = c->e->cfg.stream_buf;
		if (!c->sbuf)
			return -ENOBUFS;
	}
	stream_copy(c, data, len);
	stream_cut(c, (uint32_t)len);
	tcp_conn_schedule(c);
	return 0;
}

int tcp_send(struct tcp_conn *c, const void *data, size_t len)
{
	struct tcp_engine *e = c->e;
	int rc;

	engine_enter(e);
	rc = send_locked(c, data, len);
	engine_leave(e);
	return rc;
}

static int send_record_locked(struct tcp_conn *c, const struct tcp_record *r, unsigned int flags)
{
	struct seg *g;

	if (!can_queue(c))
		return -EPIPE;
	if (!r->len || r->len > 65535)
		return -EINVAL;
	/* the ring bounds descriptors; half the sequence space bounds bytes (RFC 7323 2.2) */
	if (!ring_room(c) || c->q_end - c->snd_una > 1u << 30 || !ring_fit(c, 1)) {
		c->want_pull = true;
		return -ENOBUFS;
	}
	c->records = true;
	g = ring_push(c, SEG_REC | (flags & TCP_REC_PUSH ? SEG_PSH : 0), r->len);
	g->cookie[0] = r->cookie[0];
	g->cookie[1] = r->cookie[1];
	tcp_conn_schedule(c);
	return 0;
}

int tcp_send_record(struct tcp_conn *c, const struct tcp_record *r, unsigned int flags)
{
	struct tcp_engine *e = c->e;
	int rc;

	engine_enter(e);
	rc = send_record_locked(c, r, flags);
	engine_leave(e);
	return rc;
}

/*
 * What cwnd and the peer's window leave beyond what is queued. With nothing unsent one record is
 * always invited once the rest is acknowledged: it is what a window probe needs.
 */
struct tcp_room tcp_record_room(const struct tcp_conn *c)
{
	struct tcp_room room = {0};
	uint32_t unsent = c->q_end - c->snd_nxt;
	uint32_t pipe = conn_pipe(c);
	int32_t wnd = seq_diff(c->snd_una + c->snd_wnd, c->snd_nxt);
	uint32_t bytes;

	if (!can_queue(c) || c->state < TCPS_ESTABLISHED || !ring_room(c))
		return room;
	bytes = c->cwnd > pipe ? c->cwnd - pipe : 0;
	bytes = min_u32(bytes, wnd > 0 ? (uint32_t)wnd : 0);
	bytes = bytes > unsent ? bytes - unsent : 0;
	if (!unsent && c->snd_una == c->snd_nxt)
		bytes = max_u32(bytes, 1);
	room.bytes = bytes;
	room.records = bytes ? ring_room(c) : 0;
	return room;
}

void tcp_pull(struct tcp_conn *c)
{
	struct tcp_engine *e = c->e;

	engine_enter(e);
	if (!c->terminal) {
		c->want_pull = true;
		tcp_conn_schedule(c);
	}
	engine_leave(e);
}

uint32_t tcp_emss(const struct tcp_conn *c)
{
	return c->emss;
}

/* ---------------------------------------------------------------- closing */

/* Move on when all is done in both directions, and the receiver took all bytes */
void tcp_conn_close_progress(struct tcp_conn *c)
{
	if (c->terminal || !c->fin_event || !c->fin_acked)
		return;
	if (c->state == TCPS_CLOSING || c->state == TCPS_FIN_WAIT_2)
		timewait_enter(c);
	else if (c->state == TCPS_LAST_ACK)
		tcp_conn_terminal(c, TCP_EV_CLOSED, 0);
}

static int close_locked(struct tcp_conn *c)
{
	if (c->terminal || c->freed)
		return -EPIPE;
	if (c->fin_queued)
		return 0;
	if (c->state == TCPS_SYN_SENT) {
		tcp_conn_terminal(c, TCP_EV_ABORTED, TCP_ABORT_LOCAL);
		return 0;
	}
	c->fin_queued = true;
	c->want_pull = false;
	ring_push(c, SEG_FIN | SEG_PSH, 0);
	if (c->state == TCPS_ESTABLISHED)
		c->state = TCPS_FIN_WAIT_1;
	else if (c->state == TCPS_CLOSE_WAIT)
		c->state = TCPS_LAST_ACK;
	tcp_conn_schedule(c);
	return 0;
}

int tcp_close(struct tcp_conn *c)
{
	struct tcp_engine *e = c->e;
	int rc;

	engine_enter(e);
	rc = close_locked(c);
	engine_leave(e);
	return rc;
}

/* RFC 9293 3.10.5: a RST is due in all states but SYN_SENT */
static void abort_rst(struct tcp_conn *c)
{
	if (c->state != TCPS_SYN_SENT)
		send_rst(c);
}

int tcp_abort(struct tcp_conn *c)
{
	struct tcp_engine *e = c->e;

	if (c->terminal || c->freed)
		return -EPIPE;
	engine_enter(e);
	abort_rst(c);
	tcp_conn_terminal(c, TCP_EV_ABORTED, TCP_ABORT_LOCAL);
	engine_leave(e);
	return 0;
}

void tcp_conn_free(struct tcp_conn *c)
{
	struct tcp_engine *e;

	if (!c || c->freed)
		return;
	e = c->e;
	engine_enter(e);
	c->freed = true;
	if (!c->terminal) {
		abort_rst(c);
		tcp_conn_terminal(c, TCP_EV_ABORTED, TCP_ABORT_LOCAL);
	}
	e->conns[c->id] = NULL;
	list_add_tail(&e->zombies, &c->zombie);
	engine_leave(e);
}

int tcp_update(struct tcp_conn *c, uint32_t nexthop, uint8_t dscp)
{
	struct tcp_engine *e = c->e;
	bool was_dead;

	if (c->terminal || c->freed)
		return -EPIPE;
	if (dscp > 63 || nexthop >= e->cfg.max_nexthops || !e->nexthops[nexthop].valid)
		return -EINVAL;
	engine_enter(e);
	was_dead = nexthop_dead(&e->nexthops[c->nexthop]);
	c->nexthop = nexthop;
	c->opts.dscp = dscp;
	path_changed(c, was_dead);
	engine_leave(e);
	return 0;
}

/* ---------------------------------------------------------------- looking */

struct tcp_conn *tcp_conn_find(struct tcp_engine *e, uint32_t id)
{
	return id < e->cfg.max_conns ? e->conns[id] : NULL;
}

uint32_t tcp_conn_id(const struct tcp_conn *c)
{
	return c->id;
}

void *tcp_conn_user(const struct tcp_conn *c)
{
	return c->user;
}

void tcp_conn_set_user(struct tcp_conn *c, void *user)
{
	c->user = user;
}

enum tcp_state tcp_conn_state(const struct tcp_conn *c)
{
	return c->state;
}

const struct tcp_tuple *tcp_conn_tuple(const struct tcp_conn *c)
{
	return &c->tuple;
}

void tcp_conn_info(const struct tcp_conn *c, struct tcp_conn_info *i)
{
	memset(i, 0, sizeof(*i));
	i->id = c->id;
	i->state = c->state;
	i->terminal = c->terminal;
	i->tuple = c->tuple;
	i->nexthop = c->nexthop;
	i->snd_una = c->snd_una;
	i->snd_nxt = c->snd_nxt;
	i->snd_wnd = c->snd_wnd;
	i->snd_cwnd = c->cwnd;
	i->snd_ssthresh = c->ssthresh;
	i->rcv_nxt = c->rcv_nxt;
	i->rcv_wnd = rx_window(c);
	i->emss = c->emss;
	i->my_mss = c->my_mss;
	i->queued = c->q_end - c->snd_una;
	i->held = c->held + c->reass.bytes;
	i->snd_shift = c->snd_shift;
	i->rcv_shift = c->rcv_shift;
	i->timestamps = c->ts_on;
	i->sack = c->sack_on;
	i->srtt_ns = c->srtt;
	i->rto_ns = rto_now(c);
	i->stats = c->stats;
}

void tcp_conn_each(struct tcp_engine *e, void (*fn)(void *arg, struct tcp_conn *conn), void *arg)
{
	for (uint32_t i = 0; i < e->cfg.max_conns; i++)
		if (e->conns[i])
			fn(arg, e->conns[i]);
}
