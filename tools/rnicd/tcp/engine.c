// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The engine itself: creation, entry and exit, pending work, frames to itself, next hops.
 */
#include <stdlib.h>

#include "internal.h"

static void config_defaults(struct tcp_engine_config *c)
{
	c->max_conns = c->max_conns ? c->max_conns : 4096;
	c->max_listeners = c->max_listeners ? c->max_listeners : 256;
	c->max_nexthops = c->max_nexthops ? c->max_nexthops : 1024;
	c->max_syns = c->max_syns ? min_u32(c->max_syns, 65535) : 1024;
	c->max_timewait = c->max_timewait ? c->max_timewait : 8192;
	c->stream_buf = c->stream_buf ? c->stream_buf : 65536;
	c->max_segs = c->max_segs ? max_u32(c->max_segs, 16) : 1024;
	c->reass_bytes = c->reass_bytes ? c->reass_bytes : 64ull << 20;
	c->loop_bytes = c->loop_bytes ? c->loop_bytes : 1u << 20;
	c->timewait_ns = c->timewait_ns ? c->timewait_ns : 60 * TCP_NS_PER_S;
	c->syn_hold_ns = c->syn_hold_ns ? c->syn_hold_ns : 30 * TCP_NS_PER_S;
	c->min_rto_ns = c->min_rto_ns ? c->min_rto_ns : 200 * TCP_NS_PER_MS;
	c->max_rto_ns = c->max_rto_ns ? c->max_rto_ns : 60 * TCP_NS_PER_S;
	c->challenge_per_s = c->challenge_per_s ? c->challenge_per_s : 1000;
	c->gso_max = c->gso_max ? min_u32(c->gso_max, 65000) : 65000;
	if (c->tx_flags & TCP_CFG_TX_GSO)
		c->tx_flags |= TCP_CFG_TX_CSUM;
}

static uint32_t round_pow2(uint32_t v)
{
	uint32_t p = 1;

	while (p < v && p < 1u << 31)
		p <<= 1;
	return p;
}

static uint64_t random64(struct tcp_engine *e)
{
	uint64_t hi = e->ops->random32(e->ctx);

	return hi << 32 | e->ops->random32(e->ctx);
}

static bool engine_alloc(struct tcp_engine *e)
{
	struct tcp_engine_config *c = &e->cfg;
	uint32_t flows = round_pow2(c->max_conns + c->max_timewait / 2 + c->max_syns);

	e->bucket_mask = flows - 1;
	e->buckets = calloc(flows, sizeof(*e->buckets));
	e->conns = calloc(c->max_conns, sizeof(*e->conns));
	/* a freed connection's successor can be there before the engine is left */
	e->heap_cap = 2 * c->max_conns;
	e->heap = calloc(e->heap_cap, sizeof(*e->heap));
	e->tw = calloc(c->max_timewait, sizeof(*e->tw));
	e->listeners = calloc(c->max_listeners, sizeof(*e->listeners));
	e->syns = calloc(c->max_syns, sizeof(*e->syns));
	e->nexthops = calloc(c->max_nexthops, sizeof(*e->nexthops));
	e->loop.size = max_u32(c->loop_bytes, 4 * 65536);
	e->loop.mem = malloc(e->loop.size);
	e->pool.limit = (uint32_t)min_u64(c->reass_bytes >> REASS_SHIFT, 1u << 20);
	e->pool.spare = calloc(e->pool.limit + 1, sizeof(*e->pool.spare));
	return e->buckets && e->conns && e->heap && e->tw && e->listeners && e->syns &&
	       e->nexthops && e->loop.mem && e->pool.spare;
}

static void engine_dealloc(struct tcp_engine *e)
{
	while (e->pool.spare && e->pool.nspare)
		free(e->pool.spare[--e->pool.nspare]);
	free(e->pool.spare);
	free(e->loop.mem);
	free(e->nexthops);
	free(e->syns);
	free(e->listeners);
	free(e->tw);
	free(e->heap);
	free(e->conns);
	free(e->buckets);
	free(e);
}

struct tcp_engine *tcp_engine_new(const struct tcp_engine_config *config,
				  const struct tcp_engine_ops *ops, void *ctx)
{
	struct tcp_engine *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->cfg = *config;
	config_defaults(&e->cfg);
	e->cfg.stream_buf = round_pow2(e->cfg.stream_buf);
	e->cfg.max_segs = round_pow2(e->cfg.max_segs);
	e->ops = ops;
	e->ctx = ctx;
	list_init(&e->pending);
	list_init(&e->blocked);
	list_init(&e->zombies);
	list_init(&e->tw_fifo);
	list_init(&e->tw_free);
	list_init(&e->syn_fifo);
	list_init(&e->syn_free);
	if (!engine_alloc(e)) {
		engine_dealloc(e);
		return NULL;
	}
	for (uint32_t i = 0; i < e->cfg.max_timewait; i++)
		list_add_tail(&e->tw_free, &e->tw[i].fifo);
	for (uint32_t i = 0; i < e->cfg.max_syns; i++)
		list_add_tail(&e->syn_free, &e->syns[i].fifo);
	e->flow_key.k[0] = random64(e);
	e->flow_key.k[1] = random64(e);
	e->isn_key.k[0] = random64(e);
	e->isn_key.k[1] = random64(e);
	e->now = ops->now(ctx);
	return e;
}

void tcp_engine_free(struct tcp_engine *e)
{
	if (!e)
		return;
	for (uint32_t i = 0; i < e->cfg.max_conns; i++)
		if (e->conns[i])
			tcp_conn_destroy(e->conns[i]);
	engine_dealloc(e);
}

const struct tcp_engine_stats *tcp_engine_stats(const struct tcp_engine *e)
{
	return &e->stats;
}

/* ---------------------------------------------------------------- frames to oneself */

struct loop_head {
	uint32_t len; /* UINT32_MAX: go on at the start */
	uint32_t pad;
};

static uint32_t loop_need(uint32_t len)
{
	return (uint32_t)sizeof(struct loop_head) + ((len + 7) & ~7u);
}

static int loop_put(struct loop_queue *q, const struct iovec *iov, int cnt, uint32_t len)
{
	struct loop_head h = {.len = UINT32_MAX};
	uint32_t need = loop_need(len);
	uint32_t to_end = q->size - q->wr;
	uint8_t *p;

	if (to_end < need + sizeof(h)) {
		if (q->size - q->used < to_end + need + sizeof(h))
			return -EAGAIN;
		memcpy(q->mem + q->wr, &h, sizeof(h));
		q->used += to_end;
		q->wr = 0;
	} else if (q->size - q->used < need + sizeof(h)) {
		return -EAGAIN;
	}
	h.len = len;
	p = q->mem + q->wr;
	memcpy(p, &h, sizeof(h));
	p += sizeof(h);
	for (int i = 0; i < cnt; i++) {
		memcpy(p, iov[i].iov_base, iov[i].iov_len);
		p += iov[i].iov_len;
	}
	q->wr += need;
	q->used += need;
	q->frames++;
	return 0;
}

static void loop_take(struct tcp_engine *e)
{
	struct loop_queue *q = &e->loop;
	struct loop_head h;

	memcpy(&h, q->mem + q->rd, sizeof(h));
	if (h.len == UINT32_MAX) {
		q->used -= q->size - q->rd;
		q->rd = 0;
		memcpy(&h, q->mem, sizeof(h));
	}
	/* the frame stays in place while it is worked on: new ones go behind it */
	frame_input(e, q->mem + q->rd + sizeof(h), h.len, TCP_CSUM_VALID, true);
	q->rd += loop_need(h.len);
	q->used -= loop_need(h.len);
	q->frames--;
}

int engine_xmit(struct tcp_engine *e, const struct iovec *iov, int cnt,
		const struct tcp_tx_meta *meta, bool loop)
{
	int rc;

	if (loop) {
		rc = loop_put(&e->loop, iov, cnt, meta->len);
		e->stats.loop_full += rc != 0;
	} else if (e->tx_blocked) {
		return -EAGAIN;
	} else {
		rc = e->ops->xmit(e->ctx, iov, cnt, meta);
		if (rc == -EAGAIN) {
			e->tx_blocked = true;
			e->stats.tx_blocked++;
		} else if (rc) {
			e->stats.tx_error++;
			rc = 0; /* lost, as on the wire */
		}
	}
	if (!rc)
		e->stats.segs_out++;
	return rc;
}

/* ---------------------------------------------------------------- entry and exit */

void engine_enter(struct tcp_engine *e)
{
	if (!e->depth++)
		e->now = e->ops->now(e->ctx);
}

void tcp_conn_schedule(struct tcp_conn *c)
{
	if (c->is_pending || c->in_output || c->terminal)
		return;
	c->is_pending = true;
	list_add_tail(&c->e->pending, &c->pending);
}

static void run_pending(struct tcp_engine *e)
{
	while (!list_empty(&e->pending)) {
		struct tcp_conn *c = container_of_(e->pending.next, struct tcp_conn, pending);

		list_del(&c->pending);
		c->is_pending = false;
		c->blocked = false;
		if (!c->terminal)
			tcp_conn_output(c);
	}
}

static void reap_zombies(struct tcp_engine *e)
{
	while (!list_empty(&e->zombies)) {
		struct tcp_conn *c = container_of_(e->zombies.next, struct tcp_conn, zombie);

		list_del(&c->zombie);
		tcp_conn_destroy(c);
	}
}

static void unblock(struct tcp_engine *e)
{
	while (!list_empty(&e->blocked)) {
		struct tcp_conn *c = container_of_(e->blocked.next, struct tcp_conn, pending);

		list_del(&c->pending);
		list_add_tail(&e->pending, &c->pending);
	}
}

static void leave_outermost(struct tcp_engine *e)
{
	uint32_t budget = LOOP_BUDGET;

	for (;;) {
		run_pending(e);
		if (!e->loop.frames || !budget)
			break;
		while (e->loop.frames && budget) {
			loop_take(e);
			budget--;
		}
		/* whoever found the loop full may try again */
		if (!e->tx_blocked)
			unblock(e);
	}
	reap_zombies(e);
}

void engine_leave(struct tcp_engine *e)
{
	if (e->depth == 1)
		leave_outermost(e);
	e->depth--;
}

void tcp_engine_run(struct tcp_engine *e, uint64_t now_ns)
{
	if (!e->depth++)
		e->now = now_ns;
	tcp_timers_run(e);
	engine_leave(e);
}

enum tcp_verdict tcp_input(struct tcp_engine *e, uint64_t now_ns, const void *frame, size_t len,
			   unsigned int csum_flags)
{
	enum tcp_verdict v;

	if (!e->depth++)
		e->now = now_ns;
	e->stats.frames_in++;
	v = frame_input(e, frame, len, csum_flags, false);
	if (v == TCP_TO_HOST)
		e->stats.frames_to_host++;
	/* RFC 5681 4.2: each segment out of order has an ACK of its own, also within a batch. */
	if (e->urgent && e->batch && e->depth == 2)
		run_pending(e);
	e->urgent = false;
	engine_leave(e);
	return v;
}

void tcp_batch_begin(struct tcp_engine *e, uint64_t now_ns)
{
	if (e->batch)
		return;
	e->batch = true;
	if (!e->depth++)
		e->now = now_ns;
}

void tcp_batch_end(struct tcp_engine *e)
{
	if (!e->batch)
		return;
	e->batch = false;
	engine_leave(e);
}

void tcp_tx_ready(struct tcp_engine *e)
{
	engine_enter(e);
	e->tx_blocked = false;
	unblock(e);
	engine_leave(e);
}

static uint64_t fifo_due(const struct list *l, size_t due_off)
{
	uint64_t due;

	if (list_empty(l))
		return TCP_NO_DEADLINE;
	memcpy(&due, (const char *)l->next + due_off, sizeof(due));
	return due;
}

uint64_t tcp_engine_deadline(const struct tcp_engine *e)
{
	uint64_t due = e->heap_len ? e->heap[0]->heap_key : TCP_NO_DEADLINE;

	if (e->loop.frames)
		return e->now;
	due = min_u64(due, fifo_due(&e->tw_fifo, offsetof(struct timewait, due) -
							 offsetof(struct timewait, fifo)));
	return min_u64(due, fifo_due(&e->syn_fifo, offsetof(struct held_syn, due) -
							   offsetof(struct held_syn, fifo)));
}

/* ---------------------------------------------------------------- challenge ACKs */

/*
 * RFC 5961 section 7. The limit of the whole engine changes at random every second, since a fixed
 * one lets an off-path attacker count (CVE-2016-5696); each connection has its own besides.
 */
bool challenge_allowed(struct tcp_engine *e, struct tcp_conn *c)
{
	if (e->now - e->challenge_ns >= TCP_NS_PER_S || !e->challenge_limit) {
		uint32_t half = (e->cfg.challenge_per_s + 1) / 2;

		e->challenge_ns = e->now;
		e->challenges = 0;
		e->challenge_limit = half + e->ops->random32(e->ctx) % (half + 1);
	}
	if (c && e->now - c->challenge_ns >= TCP_NS_PER_S) {
		c->challenge_ns = e->now;
		c->challenges = 0;
	}
	if (e->challenges >= e->challenge_limit || (c && c->challenges >= CHALLENGE_PER_CONN)) {
		e->stats.challenge_limited++;
		return false;
	}
	e->challenges++;
	if (c)
		c->challenges++;
	e->stats.challenge_acks++;
	return true;
}

/* ---------------------------------------------------------------- next hops */

static void nexthop_changed(struct tcp_engine *e, uint32_t idx, bool was_dead)
{
	bool failed = e->nexthops[idx].nh.flags & TCP_NH_FAILED;

	for (uint32_t i = 0; i < e->cfg.max_conns; i++) {
		struct tcp_conn *c = e->conns[i];

		if (!c || c->terminal || c->nexthop != idx)
			continue;
		if (failed && c->state == TCPS_SYN_SENT)
			tcp_conn_terminal(c, TCP_EV_UNREACH, unreach_info(c));
		else
			path_changed(c, was_dead);
	}
}

int tcp_nexthop_set(struct tcp_engine *e, uint32_t idx, const struct tcp_nexthop *nh)
{
	bool was_dead;

	if (idx >= e->cfg.max_nexthops || nh->mtu < 68)
		return -EINVAL;
	engine_enter(e);
	was_dead = nexthop_dead(&e->nexthops[idx]);
	e->nexthops[idx].valid = true;
	e->nexthops[idx].nh = *nh;
	nexthop_changed(e, idx, was_dead);
	engine_leave(e);
	return 0;
}

int tcp_nexthop_clear(struct tcp_engine *e, uint32_t idx)
{
	if (idx >= e->cfg.max_nexthops)
		return -EINVAL;
	e->nexthops[idx].valid = false;
	return 0;
}
