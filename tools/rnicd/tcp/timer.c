// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Timers: a binary heap with one entry per connection.
 *
 * The entry's key is never later than the earliest deadline of the connection. Moving a deadline
 * back (each ACK does that to the retransmission timer) is one store; the heap learns of it when
 * the old key expires. Moving it forward sifts.
 */
#include "internal.h"

static void heap_put(struct tcp_engine *e, uint32_t pos, struct tcp_conn *c)
{
	e->heap[pos] = c;
	c->heap_pos = pos;
}

static void heap_up(struct tcp_engine *e, uint32_t pos)
{
	struct tcp_conn *c = e->heap[pos];

	while (pos) {
		uint32_t parent = (pos - 1) / 2;

		if (e->heap[parent]->heap_key <= c->heap_key)
			break;
		heap_put(e, pos, e->heap[parent]);
		pos = parent;
	}
	heap_put(e, pos, c);
}

static void heap_down(struct tcp_engine *e, uint32_t pos)
{
	struct tcp_conn *c = e->heap[pos];

	for (;;) {
		uint32_t kid = 2 * pos + 1;

		if (kid >= e->heap_len)
			break;
		if (kid + 1 < e->heap_len && e->heap[kid + 1]->heap_key < e->heap[kid]->heap_key)
			kid++;
		if (c->heap_key <= e->heap[kid]->heap_key)
			break;
		heap_put(e, pos, e->heap[kid]);
		pos = kid;
	}
	heap_put(e, pos, c);
}

static void heap_remove(struct tcp_engine *e, struct tcp_conn *c)
{
	uint32_t pos = c->heap_pos;
	struct tcp_conn *last;

	if (pos == HEAP_NONE)
		return;
	c->heap_pos = HEAP_NONE;
	last = e->heap[--e->heap_len];
	if (last == c)
		return;
	heap_put(e, pos, last);
	heap_up(e, pos);
	heap_down(e, last->heap_pos);
}

static uint64_t earliest(const struct tcp_conn *c)
{
	return min_u64(c->due[TM_TX], min_u64(c->due[TM_ACK], c->due[TM_KEEP]));
}

void tcp_timer_set(struct tcp_conn *c, enum timer_slot slot, uint64_t due)
{
	struct tcp_engine *e = c->e;

	c->due[slot] = due;
	if (c->heap_pos == HEAP_NONE) {
		c->heap_key = due;
		heap_put(e, e->heap_len++, c);
		heap_up(e, c->heap_pos);
	} else if (due < c->heap_key) {
		c->heap_key = due;
		heap_up(e, c->heap_pos);
	}
}

void tcp_timer_clear(struct tcp_conn *c, enum timer_slot slot)
{
	c->due[slot] = TCP_NO_DEADLINE; /* the heap finds out when the key expires */
}

void tcp_timers_stop(struct tcp_conn *c)
{
	for (int i = 0; i < TM_SLOTS; i++)
		c->due[i] = TCP_NO_DEADLINE;
	heap_remove(c->e, c);
}

static void tx_timer_fired(struct tcp_conn *c)
{
	switch (c->txt) {
	case TXT_SYN:
	case TXT_RTO:
		rto_fired(c);
		break;
	case TXT_PTO:
		pto_fired(c);
		break;
	case TXT_REO:
		reo_fired(c);
		break;
	case TXT_PERSIST:
		persist_fired(c);
		break;
	case TXT_NONE:
		break;
	}
}

static void keepalive_fired(struct tcp_conn *c)
{
	uint64_t idle = (uint64_t)c->opts.keep_idle_ms * TCP_NS_PER_MS;
	uint64_t quiet = c->e->now - c->last_rx_ns;

	if (quiet < idle && !c->keep_sent) {
		tcp_timer_set(c, TM_KEEP, c->last_rx_ns + idle);
		return;
	}
	/* RFC 9293 3.8.4: only when no data is under way; the retransmission timer watches that */
	if (c->head != c->tail) {
		tcp_timer_set(c, TM_KEEP, c->e->now + idle);
		return;
	}
	if (c->keep_sent >= c->opts.keep_count) {
		send_rst(c);
		tcp_conn_terminal(c, TCP_EV_TIMEOUT, TCP_TIMEOUT_KEEPALIVE);
		return;
	}
	c->keep_sent++;
	c->e->stats.keepalives++;
	send_keepalive(c);
	tcp_timer_set(c, TM_KEEP, c->e->now + (uint64_t)c->opts.keep_intvl_ms * TCP_NS_PER_MS);
}

static void long_timer_fired(struct tcp_conn *c)
{
	if (c->state != TCPS_FIN_WAIT_2 || c->opts.finwait_ms == UINT32_MAX) {
		keepalive_fired(c);
		return;
	}
	send_rst(c);
	tcp_conn_terminal(c, TCP_EV_TIMEOUT, TCP_TIMEOUT_FINWAIT);
}

static void conn_timers(struct tcp_conn *c)
{
	uint64_t now = c->e->now;

	if (c->due[TM_ACK] <= now) {
		c->due[TM_ACK] = TCP_NO_DEADLINE;
		c->ack_now = true;
		tcp_conn_schedule(c);
	}
	if (c->due[TM_TX] <= now) {
		c->due[TM_TX] = TCP_NO_DEADLINE;
		tx_timer_fired(c);
	}
	if (!c->terminal && c->due[TM_KEEP] <= now) {
		c->due[TM_KEEP] = TCP_NO_DEADLINE;
		long_timer_fired(c);
	}
}

/* Bring a connection whose key expired back in line with its deadlines */
static void heap_settle(struct tcp_engine *e, struct tcp_conn *c)
{
	uint64_t due = earliest(c);

	if (c->heap_pos == HEAP_NONE)
		return;
	if (due == TCP_NO_DEADLINE) {
		heap_remove(e, c);
		return;
	}
	c->heap_key = due;
	heap_down(e, c->heap_pos);
}

void tcp_timers_run(struct tcp_engine *e)
{
	uint32_t budget = e->heap_len + 1;

	/* A timer that re-arms itself in the past must not hold the loop: one turn each */
	while (e->heap_len && e->heap[0]->heap_key <= e->now && budget--) {
		struct tcp_conn *c = e->heap[0];

		if (earliest(c) <= e->now)
			conn_timers(c);
		heap_settle(e, c);
	}
	timewait_expire(e);
	held_syn_expire(e);
}
