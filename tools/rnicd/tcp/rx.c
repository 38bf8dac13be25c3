// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Receiving data: window, in-order delivery, bounded memory for what came early or was left over,
 * SACK blocks, ACK policy, FIN.
 *
 * Early bytes lie in 16 KiB chunks taken from a pool that all connections share. A byte's place
 * depends on its sequence number alone, so nothing is ever moved.
 */
#include <stdlib.h>

#include "internal.h"

/* ---------------------------------------------------------------- chunk pool */

static uint8_t *pool_get(struct tcp_engine *e)
{
	struct reass_pool *p = &e->pool;
	uint8_t *m;

	if (p->nspare)
		return p->spare[--p->nspare];
	if (p->allocated >= p->limit)
		return NULL;
	m = malloc(REASS_CHUNK);
	p->allocated += m != NULL;
	return m;
}

static void pool_put(struct tcp_engine *e, uint8_t *m)
{
	e->pool.spare[e->pool.nspare++] = m;
}

static uint32_t place_of(const struct tcp_conn *c, uint32_t seq)
{
	return (seq - c->irs - 1) & ((c->reass.nchunks << REASS_SHIFT) - 1);
}

static uint8_t **chunk_of(struct tcp_conn *c, uint32_t seq)
{
	return &c->reass.chunk[place_of(c, seq) >> REASS_SHIFT];
}

/* Bytes from @seq to the end of its chunk */
static uint32_t chunk_room(const struct tcp_conn *c, uint32_t seq)
{
	return REASS_CHUNK - (place_of(c, seq) & (REASS_CHUNK - 1));
}

void rx_release(struct tcp_conn *c)
{
	for (uint32_t i = 0; i < c->reass.nchunks && c->reass.used; i++) {
		if (!c->reass.chunk[i])
			continue;
		pool_put(c->e, c->reass.chunk[i]);
		c->reass.chunk[i] = NULL;
		c->reass.used--;
	}
	c->reass.n = 0;
	c->reass.bytes = 0;
	c->held = 0;
}

/* Drop the chunks that lie wholly in [from, to); the one that holds @to may still be needed */
static void chunks_passed(struct tcp_conn *c, uint32_t from, uint32_t to)
{
	while (c->reass.used && seq_lt(from, to)) {
		uint32_t step = chunk_room(c, from);
		uint8_t **m = chunk_of(c, from);

		if (seq_gt(from + step, to))
			break;
		if (*m) {
			pool_put(c->e, *m);
			*m = NULL;
			c->reass.used--;
		}
		from += step;
	}
	if (!c->reass.n && !c->held)
		rx_release(c);
}

/* Get all chunks first, so that a segment is stored whole or not at all */
static bool chunks_ready(struct tcp_conn *c, uint32_t seq, uint32_t len)
{
	uint32_t end = seq + len;

	while (seq_lt(seq, end)) {
		uint8_t **m = chunk_of(c, seq);

		if (!*m) {
			*m = pool_get(c->e);
			if (!*m)
				return false;
			c->reass.used++;
		}
		seq += chunk_room(c, seq);
	}
	return true;
}

static bool store(struct tcp_conn *c, uint32_t seq, const uint8_t *data, uint32_t len)
{
	if (!chunks_ready(c, seq, len)) {
		c->e->stats.reass_limit++;
		return false;
	}
	while (len) {
		uint32_t n = min_u32(len, chunk_room(c, seq));

		memcpy(*chunk_of(c, seq) + (place_of(c, seq) & (REASS_CHUNK - 1)), data, n);
		seq += n;
		data += n;
		len -= n;
	}
	return true;
}

/* ---------------------------------------------------------------- window */

/* First byte that rx() has not taken; the FIN is behind the last one */
static uint32_t untaken(const struct tcp_conn *c)
{
	return c->rcv_nxt - c->fin_done - c->held;
}

uint32_t rx_right_edge(const struct tcp_conn *c)
{
	return c->rcv_adv;
}

/*
 * Window to announce now. It counts from the first byte that rx() has not taken; the right edge
 * never moves back, and not forward in small steps (RFC 9293 3.8.6.2.2).
 */
uint32_t rx_window(const struct tcp_conn *c)
{
	uint32_t right = untaken(c) + c->rcv_wnd;
	uint32_t unit = 1u << c->rcv_shift;
	uint32_t step = min_u32(c->rcv_wnd / 2, c->my_mss);
	uint32_t wnd;

	if (c->held && seq_diff(right, c->rcv_adv) < (int32_t)step)
		right = c->rcv_adv;
	wnd = seq_gt(right, c->rcv_nxt) ? right - c->rcv_nxt : 0;
	wnd &= ~(unit - 1);
	/*
	 * Rounding must not take back what was announced; but rounding up time and again while
	 * rx() takes nothing must not push the edge on and on either, the memory ends there.
	 */
	if (seq_lt(c->rcv_nxt + wnd, c->rcv_adv)) {
		uint32_t up = (c->rcv_adv - c->rcv_nxt + unit - 1) & ~(unit - 1);

		if (seq_lt(c->rcv_nxt + up, untaken(c) + c->rcv_wnd + unit))
			wnd = up;
	}
	return min_u32(wnd, 65535u << c->rcv_shift);
}

/* ---------------------------------------------------------------- intervals */

static void interval_delete(struct reass *r, uint32_t i, uint32_t n)
{
	memmove(&r->iv[i], &r->iv[i + n], (r->n - i - n) * sizeof(r->iv[0]));
	r->n -= n;
}

static uint32_t interval_bytes(const struct reass *r)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < r->n; i++)
		sum += r->iv[i].end - r->iv[i].start;
	return sum;
}

/* Add [start, end), joining what it touches. false: too many holes */
static bool interval_add(struct reass *r, uint32_t start, uint32_t end)
{
	uint32_t first = 0, last;

	while (first < r->n && seq_lt(r->iv[first].end, start))
		first++;
	last = first;
	while (last < r->n && seq_le(r->iv[last].start, end))
		last++;
	if (first == last) {
		if (r->n == REASS_INTERVALS)
			return false;
		memmove(&r->iv[first + 1], &r->iv[first], (r->n - first) * sizeof(r->iv[0]));
		r->n++;
	} else {
		if (seq_lt(r->iv[first].start, start))
			start = r->iv[first].start;
		if (seq_gt(r->iv[last - 1].end, end))
			end = r->iv[last - 1].end;
		interval_delete(r, first + 1, last - first - 1);
	}
	r->iv[first].start = start;
	r->iv[first].end = end;
	r->iv[first].stamp = ++r->stamp;
	r->bytes = interval_bytes(r);
	return true;
}

static bool interval_covers(const struct reass *r, uint32_t start, uint32_t end)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (seq_le(r->iv[i].start, start) && seq_ge(r->iv[i].end, end))
			return true;
	return false;
}

/* RFC 2018 section 4: the block just changed first, then the others by age; RFC 2883: D-SACK */
unsigned int rx_sack_blocks(struct tcp_conn *c, struct sack_block *b, unsigned int max)
{
	struct reass *r = &c->reass;
	uint32_t before = UINT32_MAX;
	unsigned int n = 0;

	if (c->dsack_valid && n < max) {
		b[n++] = c->dsack;
		c->dsack_valid = false;
	}
	while (n < max) {
		struct interval *best = NULL;

		for (uint32_t i = 0; i < r->n; i++)
			if (r->iv[i].stamp < before && (!best || r->iv[i].stamp > best->stamp))
				best = &r->iv[i];
		if (!best)
			break;
		before = best->stamp;
		b[n].start = best->start;
		b[n++].end = best->end;
	}
	return n;
}

static void set_dsack(struct tcp_conn *c, uint32_t start, uint32_t end)
{
	c->e->stats.dup_in++;
	if (!c->sack_on || start == end)
		return;
	c->dsack_valid = true;
	c->dsack.start = start;
	c->dsack.end = end;
}

/* All of the segment's data was received before */
void rx_duplicate(struct tcp_conn *c, const struct seg_in *s)
{
	if (s->len)
		set_dsack(c, s->seq, s->seq + s->len);
}

/* ---------------------------------------------------------------- delivery */

static uint32_t call_rx(struct tcp_conn *c, const uint8_t *data, uint32_t len)
{
	size_t n;

	c->rx_busy = true;
	n = c->freed ? 0 : c->e->ops->rx(c->e->ctx, c, data, len);
	c->rx_busy = false;
	return n > len ? len : (uint32_t)n;
}

/* Hand out of the chunks what lies before rcv_nxt */
static void deliver_held(struct tcp_conn *c)
{
	while (c->held && !c->terminal) {
		uint32_t seq = untaken(c);
		uint32_t len = min_u32(c->held, chunk_room(c, seq));
		uint32_t off = place_of(c, seq) & (REASS_CHUNK - 1);
		uint32_t n = call_rx(c, *chunk_of(c, seq) + off, len);

		if (c->terminal)
			return;
		c->held -= n;
		chunks_passed(c, seq, seq + n);
		if (n < len)
			return;
	}
}

/* After rcv_nxt moved: early bytes that are due now */
static void join_early(struct tcp_conn *c)
{
	struct reass *r = &c->reass;
	uint32_t gone = 0;

	while (gone < r->n && seq_le(r->iv[gone].start, c->rcv_nxt)) {
		if (seq_gt(r->iv[gone].end, c->rcv_nxt)) {
			c->held += r->iv[gone].end - c->rcv_nxt;
			c->stats.bytes_in += r->iv[gone].end - c->rcv_nxt;
			c->e->stats.bytes_in += r->iv[gone].end - c->rcv_nxt;
			c->rcv_nxt = r->iv[gone].end;
		}
		gone++;
	}
	if (!gone)
		return;
	interval_delete(r, 0, gone);
	r->bytes = interval_bytes(r);
	c->ack_now = true; /* RFC 5681 4.2: a segment that fills a gap */
}

static void advance(struct tcp_conn *c, uint32_t len)
{
	c->rcv_nxt += len;
	c->unacked += len;
	c->stats.bytes_in += len;
	c->e->stats.bytes_in += len;
}

/* Straight from the frame; what rx() leaves is kept if there is memory, else not acknowledged */
static void deliver_direct(struct tcp_conn *c, const uint8_t *data, uint32_t len)
{
	uint32_t seq = c->rcv_nxt;
	uint32_t n;

	/* rcv_nxt first: what rx() queues for sending carries the ACK */
	advance(c, len);
	n = call_rx(c, data, len);
	if (c->terminal || n == len)
		return;
	if (store(c, seq + n, data + n, len - n)) {
		c->held = len - n;
		return;
	}
	c->rcv_nxt -= len - n;
	c->unacked -= min_u32(c->unacked, len - n);
	chunks_passed(c, seq, seq);
}

static void in_order(struct tcp_conn *c, const uint8_t *data, uint32_t len)
{
	uint32_t from = untaken(c);

	if (c->held || c->rx_busy) {
		if (!store(c, c->rcv_nxt, data, len))
			return;
		c->held += len;
		advance(c, len);
	} else {
		deliver_direct(c, data, len);
	}
	if (c->terminal)
		return;
	if (c->reass.n) {
		join_early(c);
		deliver_held(c);
	}
	if (c->reass.used && !c->terminal)
		chunks_passed(c, from, untaken(c));
}

static void out_of_order(struct tcp_conn *c, uint32_t seq, const uint8_t *data, uint32_t len)
{
	c->ack_now = true; /* RFC 5681 4.2 */
	c->e->urgent = true;
	if (interval_covers(&c->reass, seq, seq + len)) {
		set_dsack(c, seq, seq + len);
		return;
	}
	if (c->reass.n == REASS_INTERVALS && !interval_add(&c->reass, seq, seq + len)) {
		c->e->stats.reass_limit++;
		return;
	}
	if (!store(c, seq, data, len))
		return;
	interval_add(&c->reass, seq, seq + len);
	c->e->stats.ooo_in++;
	c->stats.ooo_in++;
}

/* ---------------------------------------------------------------- FIN */

static void fin_received(struct tcp_conn *c)
{
	c->fin_done = true;
	c->rcv_nxt++;
	c->ack_now = true;
	if (c->state == TCPS_ESTABLISHED)
		c->state = TCPS_CLOSE_WAIT;
	else if (c->state == TCPS_FIN_WAIT_1)
		c->state = TCPS_CLOSING;
}

void rx_fin_check(struct tcp_conn *c)
{
	if (c->terminal || !c->fin_seen)
		return;
	if (!c->fin_done && c->rcv_nxt == c->fin_seq)
		fin_received(c);
	if (!c->fin_done || c->held || c->fin_event)
		return;
	c->fin_event = true;
	tcp_conn_event(c, TCP_EV_PEER_FIN, 0);
	tcp_conn_close_progress(c);
}

/* ---------------------------------------------------------------- text */

/* Cut the segment to the window; RFC 9293 3.10.7.4, seventh step */
static void trim(struct tcp_conn *c, struct seg_in *s)
{
	int32_t old = seq_diff(c->rcv_nxt, s->seq);
	int32_t room;

	if (old > 0) {
		uint32_t cut = min_u32((uint32_t)old, s->len);

		set_dsack(c, s->seq, s->seq + cut);
		c->ack_now = true;
		s->seq += cut;
		s->data += cut;
		s->len -= cut;
	}
	room = seq_diff(rx_right_edge(c), s->seq);
	if (room < 0)
		room = 0;
	if (s->len > (uint32_t)room) {
		s->len = (uint32_t)room;
		s->flags &= 0xff & ~(TH_FIN | TH_PSH);
		c->ack_now = true;
	}
}

/*
 * ACK at once when the sender pauses (PSH) or two segments are due; else within 40 ms. The
 * segment size is the peer's, as seen: it may be far below ours.
 */
static void ack_policy(struct tcp_conn *c, const struct seg_in *s, uint32_t len)
{
	if (len > c->rcv_mss)
		c->rcv_mss = min_u32(len, c->my_mss);
	/* nor must a batch eat up the peer's window before it hears from us */
	if (c->unacked >= c->rcv_wnd / 4)
		c->e->urgent = true;
	if (s->flags & TH_PSH || c->unacked >= min_u32(2 * c->rcv_mss, c->rcv_wnd / 4))
		c->ack_now = true;
	else if (!c->ack_now && !tcp_timer_on(c, TM_ACK))
		tcp_timer_set(c, TM_ACK, c->e->now + DELACK_NS);
	tcp_conn_schedule(c);
}

static void text(struct tcp_conn *c, struct seg_in *s)
{
	uint32_t len = s->len;

	trim(c, s);
	/* what a FIN has ended grows no more */
	if (c->fin_seen && seq_gt(s->seq + s->len, c->fin_seq))
		s->len = seq_lt(s->seq, c->fin_seq) ? c->fin_seq - s->seq : 0;
	if (s->len && s->seq == c->rcv_nxt)
		in_order(c, s->data, s->len);
	else if (s->len)
		out_of_order(c, s->seq, s->data, s->len);
	if (!c->terminal)
		ack_policy(c, s, len);
}

void rx_text(struct tcp_conn *c, struct seg_in *s)
{
	uint32_t fin_at = s->seq + s->len;

	if (!s->len && !(s->flags & TH_FIN))
		return;
	if (c->fin_done) { /* only a FIN that comes again passed the sequence check */
		c->ack_now = true;
		tcp_conn_schedule(c);
		return;
	}
	if (s->len)
		text(c, s);
	if (c->terminal)
		return;
	/* a FIN beyond the window was cut off; one that contradicts early data is none */
	if (s->flags & TH_FIN && !c->fin_seen && seq_ge(fin_at, c->rcv_nxt) &&
	    (!c->reass.n || seq_ge(fin_at, c->reass.iv[c->reass.n - 1].end))) {
		c->fin_seen = true;
		c->fin_seq = fin_at;
		c->ack_now = true;
		tcp_conn_schedule(c);
	}
	rx_fin_check(c);
}

void tcp_rx_resume(struct tcp_conn *c)
{
	struct tcp_engine *e = c->e;
	uint32_t before = rx_window(c);

	if (c->terminal || c->freed || c->rx_busy || !c->held)
		return;
	engine_enter(e);
	deliver_held(c);
	/* RFC 9293 3.8.6.2.2: tell the peer once the window has opened by a good piece */
	if (!c->terminal && rx_window(c) >= before + min_u32(c->rcv_wnd / 2, c->my_mss)) {
		c->ack_now = true;
		tcp_conn_schedule(c);
	}
	rx_fin_check(c);
	engine_leave(e);
}
