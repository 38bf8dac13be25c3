// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The sender's view of acknowledgements: scoreboard, loss detection, congestion control, and the
 * timers that belong to them.
 *
 * With SACK: RACK-TLP (RFC 8985) finds losses, RFC 6675's pipe and RFC 9937's proportional rate
 * reduction decide what may be sent. Without: NewReno (RFC 6582), duplicate ACKs standing for
 * segments that left the network.
 * RTO by RFC 6298 with a minimum of 200 ms. What was spurious is undone: undo.c.
 */
#include <stdlib.h>

#include "internal.h"

/* What one ACK did */
struct ack_result {
	uint32_t acked; /* bytes, cumulatively */
	uint32_t sacked; /* bytes newly SACKed */
	uint32_t segs; /* segments delivered */
	uint32_t delivered; /* bytes, either way */
	uint64_t rtt_ns; /* 0: no sample */
	uint32_t fack; /* highest sequence delivered before it */
	uint32_t tsecr;
	bool ts;
	bool retx; /* covers something that was retransmitted */
	bool orig; /* covers, for the first time, something that was not */
	bool dsack;
	bool wnd_changed;
	bool fin;
};

/* ---------------------------------------------------------------- round-trip time (RFC 6298) */

void rtt_sample(struct tcp_conn *c, uint64_t rtt)
{
	uint64_t var;

	rtt = rtt ? rtt : 1;
	if (!c->srtt) {
		c->srtt = rtt;
		c->rttvar = rtt / 2;
	} else {
		uint64_t diff = c->srtt > rtt ? c->srtt - rtt : rtt - c->srtt;

		c->rttvar = (3 * c->rttvar + diff) / 4;
		c->srtt = (7 * c->srtt + rtt) / 8;
		c->srtt = c->srtt ? c->srtt : 1;
	}
	if (!c->rack.min_rtt_ns || rtt < c->rack.min_rtt_ns)
		c->rack.min_rtt_ns = rtt;
	var = max_u64(4 * c->rttvar, TCP_NS_PER_MS); /* clock granularity G */
	c->rto = max_u64(c->srtt + var, c->e->cfg.min_rto_ns);
	c->rto = min_u64(c->rto, c->e->cfg.max_rto_ns);
}

uint64_t rto_now(const struct tcp_conn *c)
{
	uint64_t rto = c->rto << min_u32(c->backoff, 20);

	return min_u64(rto, c->e->cfg.max_rto_ns);
}

/* ---------------------------------------------------------------- scoreboard */

/* Bytes of a sent segment that count as outstanding */
static uint32_t seg_out(const struct tcp_conn *c, const struct seg *g)
{
	uint32_t start = seq_gt(c->snd_una, g->seq) ? c->snd_una : g->seq;

	return seg_end(g) - start;
}

static void mark_lost(struct tcp_conn *c, uint32_t idx)
{
	struct seg *g = seg_at(c, idx);

	if (g->flags & (SEG_LOST | SEG_SACKED))
		return;
	g->flags |= SEG_LOST;
	c->lost += seg_out(c, g);
	if ((int32_t)(idx - c->rtx_hint) < 0 || c->lost == seg_out(c, g))
		c->rtx_hint = idx;
}

/* A segment sent in part counts as not sent again, from its first unacknowledged byte */
static void roll_back_partial(struct tcp_conn *c)
{
	struct seg *g = seg_at(c, c->next);

	if (c->next == c->tail || !(g->flags & SEG_SENT))
		return;
	g->flags |= SEG_RETX;
	c->snd_nxt = seq_gt(c->snd_una, g->seq) ? c->snd_una : g->seq;
	g->sent = c->snd_nxt - g->seq;
}

/* First segment of [head, next) that ends behind @seq */
static uint32_t seg_search(const struct tcp_conn *c, uint32_t seq)
{
	uint32_t lo = c->head, n = c->next - c->head;

	while (n) {
		uint32_t half = n / 2;

		if (seq_le(seg_end(seg_at(c, lo + half)), seq)) {
			lo += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return lo;
}

/* ---------------------------------------------------------------- RACK (RFC 8985 section 6) */

static bool sent_after(uint64_t t1, uint32_t end1, uint64_t t2, uint32_t end2)
{
	return t1 > t2 || (t1 == t2 && seq_gt(end1, end2));
}

/* Steps 2 and 3: a segment was delivered */
static void rack_delivered(struct tcp_conn *c, const struct seg *g, struct ack_result *r)
{
	uint64_t rtt = c->e->now - g->tx_ns;
	struct rack *k = &c->rack;

	r->segs++;
	pmtu_delivered(c, g);
	if (g->flags & SEG_RETX) {
		/* sooner than any round trip, or an older echo: it is for an earlier transmission
		 */
		if (rtt < k->min_rtt_ns || (r->ts && seq_lt(r->tsecr, conn_ts_at(c, g->tx_ns))))
			return;
	} else {
		r->orig |= seq_le(seg_end(g), c->recover);
		r->rtt_ns = rtt ? rtt : 1;
		if (seq_lt(seg_end(g), r->fack))
			k->reordering_seen = true;
	}
	if (seq_gt(seg_end(g), k->fack))
		k->fack = seg_end(g);
	if (!k->xmit_ns || sent_after(g->tx_ns, seg_end(g), k->xmit_ns, k->end_seq)) {
		k->xmit_ns = g->tx_ns;
		k->end_seq = seg_end(g);
		k->rtt_ns = rtt;
	}
}

/* Step 4 */
static uint64_t rack_reo_wnd(const struct tcp_conn *c)
{
	const struct rack *k = &c->rack;

	if (!k->reordering_seen && (c->ca != CA_OPEN || c->sacked_cnt >= DUPTHRESH))
		return 0;
	return min_u64(max_u32(k->reo_mult, 1) * (k->min_rtt_ns / 4), c->srtt);
}

static void rack_dsack(struct tcp_conn *c, bool dsack)
{
	struct rack *k = &c->rack;

	if (k->dsack_round_valid && seq_ge(c->snd_una, k->dsack_round))
		k->dsack_round_valid = false;
	if (!dsack || k->dsack_round_valid)
		return;
	k->dsack_round_valid = true;
	k->dsack_round = c->snd_nxt;
	k->reo_mult = min_u32(max_u32(k->reo_mult, 1) + 1, 16);
	k->reo_persist = 16;
	k->reordering_seen = true;
}

/*
 * Step 5. Segments that were never retransmitted lie in the ring in the order of their
 * transmission, so the walk ends at the first of them that was sent too late.
 *
 * Return: ns until the next segment would be found lost, 0 if there is none.
 */
static uint64_t rack_detect(struct tcp_conn *c)
{
	uint64_t reo = rack_reo_wnd(c), wait = 0, now = c->e->now;
	const struct rack *k = &c->rack;

	if (!k->xmit_ns || (!c->sacked && c->ca == CA_OPEN && !k->reordering_seen &&
			    !(seq_lt(c->snd_una, c->high_rxt))))
		return 0;
	for (uint32_t i = c->head; i != c->next; i++) {
		struct seg *g = seg_at(c, i);
		uint64_t due;

		if (g->flags & (SEG_SACKED | SEG_LOST))
			continue;
		if (!sent_after(k->xmit_ns, k->end_seq, g->tx_ns, seg_end(g))) {
			if (!(g->flags & SEG_RETX) && seq_ge(seg_end(g), c->high_rxt))
				break;
			continue;
		}
		due = g->tx_ns + k->rtt_ns + reo;
		if (due <= now)
			mark_lost(c, i);
		else
			wait = max_u64(wait, due - now);
	}
	return wait;
}

/* ---------------------------------------------------------------- SACK input */

static bool block_valid(const struct tcp_conn *c, const struct sack_block *b)
{
	return seq_lt(b->start, b->end) && seq_gt(b->start, c->snd_una) &&
	       seq_le(b->end, c->snd_max);
}

static void sack_one(struct tcp_conn *c, const struct sack_block *b, struct ack_result *r)
{
	uint32_t i = seg_search(c, b->start);

	for (; i != c->next; i++) {
		struct seg *g = seg_at(c, i);

		if (seq_gt(seg_end(g), b->end))
			break;
		if (seq_lt(g->seq, b->start) || g->flags & SEG_SACKED)
			continue;
		if (g->flags & SEG_LOST) {
			g->flags &= ~SEG_LOST;
			c->lost -= seg_out(c, g);
		}
		g->flags |= SEG_SACKED;
		c->sacked += seg_out(c, g);
		c->sacked_cnt++;
		r->sacked += seg_out(c, g);
		r->delivered += seg_out(c, g);
		rack_delivered(c, g, r);
	}
}

/* RFC 2883: the first block lies below the ACK, or within the second one */
static bool is_dsack(const struct seg_in *s)
{
	const struct sack_block *b = s->sack;

	if (!seq_lt(b[0].start, b[0].end))
		return false;
	if (seq_le(b[0].end, s->ack))
		return true;
	return s->nsack > 1 && seq_ge(b[0].start, b[1].start) && seq_le(b[0].end, b[1].end);
}

static void sack_input(struct tcp_conn *c, const struct seg_in *s, struct ack_result *r)
{
	r->dsack = s->nsack && is_dsack(s);
	for (unsigned int i = 0; i < s->nsack; i++)
		if (block_valid(c, &s->sack[i]))
			sack_one(c, &s->sack[i], r);
}

/* RFC 2018 section 8: what was SACKed and not acknowledged after a time-out may be gone */
static void sack_forget(struct tcp_conn *c)
{
	for (uint32_t i = c->head; i != c->next; i++)
		seg_at(c, i)->flags &= ~SEG_SACKED;
	c->sacked = 0;
	c->sacked_cnt = 0;
}

/* ---------------------------------------------------------------- cumulative ACK */

static void uncount(struct tcp_conn *c, const struct seg *g, uint32_t bytes, struct ack_result *r)
{
	if (!(g->flags & SEG_SACKED))
		r->delivered += bytes;
	if (g->flags & SEG_LOST)
		c->lost -= min_u32(bytes, c->lost);
	if (g->flags & SEG_SACKED)
		c->sacked -= min_u32(bytes, c->sacked);
}

static void pop_acked(struct tcp_conn *c, uint32_t ack, struct ack_result *r)
{
	while (c->head != c->next) {
		struct seg *g = seg_at(c, c->head);

		if (seq_gt(seg_end(g), ack)) {
			if (seq_gt(ack, g->seq))
				uncount(c, g, seg_out(c, g) - (seg_end(g) - ack), r);
			return;
		}
		uncount(c, g, seg_out(c, g), r);
		if (g->flags & SEG_SACKED)
			c->sacked_cnt--;
		else
			rack_delivered(c, g, r);
		r->fin |= (g->flags & SEG_FIN) != 0;
		r->retx |= (g->flags & SEG_RETX) != 0;
		c->head++;
	}
}

static void cumulative_ack(struct tcp_conn *c, uint32_t ack, struct ack_result *r)
{
	if (seq_gt(ack, c->snd_nxt)) {
		/* a window probe, or a part that was rolled back, has arrived after all */
		struct seg *g = seg_at(c, c->next);

		c->snd_nxt = ack;
		g->sent = ack - g->seq;
		c->next += g->sent >= g->len;
	}
	r->acked = ack - c->snd_una;
	pop_acked(c, ack, r);
	/* Karn; what lies behind a hole was acknowledged only when the hole was filled */
	if (r->retx)
		r->rtt_ns = 0;
	c->snd_una = ack;
	if ((int32_t)(c->rtx_hint - c->head) < 0)
		c->rtx_hint = c->head;
	/* keep marks within half the sequence space of what they are compared with */
	if (seq_lt(c->high_rxt, ack))
		c->high_rxt = ack;
	if (c->ca == CA_OPEN && seq_lt(c->recover, ack))
		c->recover = ack - 1;
	c->stats.bytes_acked += r->acked;
	c->retries = 0;
	c->backoff = 0;
	c->first_rtx_ns = 0;
}

/* RFC 9293 3.10.7.4: only from segments that are newer than the last update */
static void window_update(struct tcp_conn *c, const struct seg_in *s, struct ack_result *r)
{
	uint32_t wnd = s->wnd << c->snd_shift;

	if (seq_lt(s->ack, c->snd_una))
		return;
	if (!seq_lt(c->snd_wl1, s->seq) && !(c->snd_wl1 == s->seq && seq_le(c->snd_wl2, s->ack)))
		return;
	r->wnd_changed = wnd != c->snd_wnd;
	if (r->wnd_changed && c->txt == TXT_PERSIST)
		c->backoff = 0;
	c->snd_wnd = wnd;
	c->snd_wl1 = s->seq;
	c->snd_wl2 = s->ack;
	c->max_wnd = max_u32(c->max_wnd, wnd);
}

/* ---------------------------------------------------------------- congestion control (RFC 5681) */

/* RFC 6928, and RFC 5681 3.1 when the SYN was lost */
void cwnd_init(struct tcp_conn *c)
{
	uint32_t iw = min_u32(IW_SEGS * c->emss, max_u32(2 * c->emss, 14600));

	c->cwnd = c->syn_sent > 1 ? c->emss : iw;
	c->ssthresh = UINT32_MAX / 2;
	c->ca = CA_OPEN;
	c->rack.fack = c->snd_una;
}

/* RFC 5681 4.1 */
void cwnd_restart_idle(struct tcp_conn *c)
{
	uint32_t iw = min_u32(IW_SEGS * c->emss, max_u32(2 * c->emss, 14600));

	if (c->snd_una == c->snd_nxt && c->last_tx_ns && c->e->now - c->last_tx_ns > rto_now(c))
		c->cwnd = min_u32(c->cwnd, iw);
}

/*
 * Slow start grows by all that was acknowledged (RFC 3465 without a limit: peers that merge
 * segments acknowledge 64 KiB at a time); congestion avoidance by a segment per window.
 */
static void cwnd_grow(struct tcp_conn *c, uint32_t acked)
{
	bool limited = c->cwnd_limited;

	if (seq_ge(c->snd_una, c->cwl_end))
		c->cwnd_limited = false;
	if (!limited || c->ca == CA_RECOVERY || c->cwnd > 1u << 30)
		return;
	if (c->cwnd < c->ssthresh) {
		uint32_t n = min_u32(acked, c->ssthresh - c->cwnd);

		c->cwnd += n;
		acked -= n;
	}
	c->cwnd_acc += acked;
	if (c->cwnd_acc >= c->cwnd) {
		c->cwnd_acc -= c->cwnd;
		c->cwnd += c->emss;
	}
}

/* RFC 5681 equation 4 */
static uint32_t half_flight(const struct tcp_conn *c)
{
	return max_u32((c->snd_nxt - c->snd_una) / 2, 2 * c->emss);
}

/*
 * Back-off after a loss that was repaired without a time-out. RFC 5681 halves; but a loss while the
 * round trip is as short as it ever was is no sign of a queue. As in H-TCP and Veno the share kept
 * is min RTT / RTT, what the path holds without a queue, between one half and four fifths.
 */
static uint32_t backed_off(const struct tcp_conn *c)
{
	uint64_t flight = c->snd_nxt - c->snd_una, kept = flight / 2;

	if (c->srtt)
		kept = max_u64(kept,
			       min_u64(flight * c->rack.min_rtt_ns / c->srtt, flight * 4 / 5));
	return max_u32((uint32_t)kept, 2 * c->emss);
}

static void enter_recovery(struct tcp_conn *c, bool reduce)
{
	undo_save(c);
	c->ca = CA_RECOVERY;
	c->recover = c->snd_max;
	c->force_rtx = true;
	c->cwnd_acc = 0;
	c->prr_flight = 0;
	if (reduce) {
		c->ssthresh = backed_off(c);
		if (c->sack_on)
			c->prr_flight = c->snd_nxt - c->snd_una;
		else
			c->cwnd = c->ssthresh;
		c->prr_delivered = 0;
		c->prr_out = 0;
	}
	c->stats.rtx_fast++;
	c->e->stats.rtx_fast++;
}

/*
 * RFC 9937: what is sent follows what is delivered, from the flight size at the beginning down to
 * ssthresh; below it, slow start when an ACK moves on and nothing more was lost. So a burst of
 * losses is not answered by a burst of retransmissions.
 */
static void prr(struct tcp_conn *c, uint32_t delivered, bool safe)
{
	uint32_t pipe = conn_pipe(c), n, due;

	if (c->ca != CA_RECOVERY || !c->prr_flight)
		return;
	c->prr_delivered += delivered;
	if (pipe > c->ssthresh) {
		due = (uint32_t)(((uint64_t)c->prr_delivered * c->ssthresh + c->prr_flight - 1) /
				 c->prr_flight);
		n = due > c->prr_out ? due - c->prr_out : 0;
	} else {
		n = c->prr_delivered > c->prr_out ? c->prr_delivered - c->prr_out : 0;
		n = max_u32(n, delivered) + (safe ? c->emss : 0);
		n = min_u32(n, c->ssthresh - pipe);
	}
	c->cwnd = pipe + n;
}

static void leave_recovery(struct tcp_conn *c)
{
	if (c->ca == CA_RECOVERY && c->prr_flight)
		c->cwnd = c->ssthresh;
	else if (c->ca == CA_RECOVERY)
		c->cwnd = min_u32(c->cwnd, c->ssthresh);
	c->ca = CA_OPEN;
	c->dupacks = 0;
	c->undo_valid = false; /* D-SACKs may still come */
	c->frto = FRTO_OFF;
	if (c->rack.reo_persist && !--c->rack.reo_persist)
		c->rack.reo_mult = 1;
}

/* ---------------------------------------------------------------- NewReno (RFC 6582) */

/* A record that was sent in part only has no mark: what was sent of it counts as not sent */
static void mark_head_lost(struct tcp_conn *c)
{
	if (c->head == c->next)
		roll_back_partial(c);
	else
		mark_lost(c, c->head);
}

static void newreno_dupack(struct tcp_conn *c)
{
	c->dupacks++;
	if (c->ca != CA_OPEN || c->dupacks != DUPTHRESH || !seq_gt(c->snd_una, c->recover))
		return;
	mark_head_lost(c);
	enter_recovery(c, true);
}

static void newreno_partial(struct tcp_conn *c, const struct ack_result *r)
{
	uint32_t less = r->segs > 1 ? r->segs - 1 : 0;

	c->dupacks -= min_u32(c->dupacks, less);
	/* the retransmission before it was acknowledged, so the next hole is known */
	mark_head_lost(c);
	c->force_rtx = true;
}

/* ---------------------------------------------------------------- tail loss probe */

/* RFC 8985 7.4: was the probe needed? Then something was lost, and cwnd answers to that */
static void tlp_ack(struct tcp_conn *c, const struct seg_in *s, const struct ack_result *r)
{
	if (!c->tlp_out || seq_lt(s->ack, c->tlp_end))
		return;
	if (c->tlp_retx && !r->dsack && r->acked && seq_gt(s->ack, c->tlp_end)) {
		c->ssthresh = backed_off(c);
		c->cwnd = min_u32(c->cwnd, c->ssthresh);
	} else if (c->tlp_retx && r->acked && !r->dsack) {
		return; /* ambiguous until a second ACK */
	}
	c->tlp_out = false;
}

/* ---------------------------------------------------------------- an ACK */

static bool is_dupack(const struct tcp_conn *c, const struct seg_in *s, const struct ack_result *r)
{
	return s->ack == c->snd_una && !s->len && !r->wnd_changed && !(s->flags & TH_FIN) &&
	       c->snd_nxt != c->snd_una;
}

/*
 * RFC 5682, for connections without timestamps. After the time-out one segment was retransmitted.
 * The first ACK that moves on lets two new segments out, and what they bring back decides: an ACK
 * of more that was sent but once shows that the originals arrive. With SACK the first ACK can show
 * it already, since what had arrived before the time-out was SACKed.
 */
static void frto_check(struct tcp_conn *c, const struct seg_in *s, const struct ack_result *r)
{
	if (c->frto == FRTO_OFF || (!r->acked && !r->sacked && !is_dupack(c, s, r)))
		return;
	if (r->orig && (c->frto == FRTO_DECIDE || c->sack_on)) {
		undo(c);
	} else if (c->frto == FRTO_FIRST_ACK && r->acked && seq_lt(c->snd_una, c->recover)) {
		c->frto = FRTO_DECIDE;
		c->frto_new = 2;
	} else {
		c->frto = FRTO_OFF;
	}
}

static void detect_sack(struct tcp_conn *c, const struct ack_result *r)
{
	uint32_t lost = c->lost;
	uint64_t wait;

	rack_dsack(c, r->dsack);
	wait = rack_detect(c);
	if (c->lost && c->ca == CA_OPEN)
		enter_recovery(c, true);
	prr(c, r->delivered, r->acked && c->lost <= lost);
	if (wait) {
		c->txt = TXT_REO;
		tcp_timer_set(c, TM_TX, c->e->now + max_u64(wait, REO_MIN_NS));
	} else if (c->txt == TXT_REO) {
		c->txt = TXT_NONE;
		tcp_timer_clear(c, TM_TX);
	}
}

static void detect(struct tcp_conn *c, const struct seg_in *s, const struct ack_result *r)
{
	if (c->sack_on) {
		if (r->acked || r->sacked || r->dsack)
			detect_sack(c, r);
	} else if (r->acked) {
		if (c->ca == CA_RECOVERY)
			newreno_partial(c, r);
		else
			c->dupacks = 0;
	} else if (is_dupack(c, s, r)) {
		newreno_dupack(c);
	}
}

/* Owners learn that their records are done; they may queue new ones, abort or free */
void ack_notify(struct tcp_conn *c)
{
	while (c->done != c->head && !c->freed && !c->terminal) {
		struct seg *g = seg_at(c, c->done++);
		struct tcp_record rec = {.len = g->len};

		if (!(g->flags & SEG_REC))
			continue;
		rec.cookie[0] = g->cookie[0];
		rec.cookie[1] = g->cookie[1];
		c->e->ops->record_acked(c->e->ctx, c, &rec);
	}
}

/* In record mode no stream byte comes any more: once the last is acknowledged the buffer goes */
static void stream_buffer_free(struct tcp_conn *c)
{
	if (c->head != c->tail && !(seg_at(c, c->head)->flags & (SEG_REC | SEG_FIN)))
		return;
	free(c->sbuf);
	c->sbuf = NULL;
}

static void fin_acked(struct tcp_conn *c)
{
	c->fin_acked = true;
	if (c->state == TCPS_FIN_WAIT_1) {
		c->state = TCPS_FIN_WAIT_2;
		if (c->opts.finwait_ms != UINT32_MAX)
			tcp_timer_set(c, TM_KEEP,
				      c->e->now + (uint64_t)c->opts.finwait_ms * TCP_NS_PER_MS);
	}
	tcp_conn_event(c, TCP_EV_FIN_ACKED, 0);
	tcp_conn_close_progress(c);
}

static void count_dupack(struct tcp_conn *c, const struct seg_in *s, const struct ack_result *r)
{
	if (r->acked || !is_dupack(c, s, r))
		return;
	c->stats.dup_acks_in++;
	c->e->stats.dup_acks_in++;
}

void ack_input(struct tcp_conn *c, const struct seg_in *s)
{
	struct ack_result r = {.fack = c->rack.fack, .ts = c->ts_on && s->ts, .tsecr = s->tsecr};

	window_update(c, s, &r);
	c->persist_quiet = 0;
	if (seq_gt(s->ack, c->snd_una))
		cumulative_ack(c, s->ack, &r);
	if (c->sack_on && s->nsack)
		sack_input(c, s, &r);
	if (r.rtt_ns)
		rtt_sample(c, r.rtt_ns);
	count_dupack(c, s, &r);
	if (r.acked)
		eifel_check(c, s);
	if (r.acked)
		pmtu_acked(c);
	frto_check(c, s, &r);
	if (r.dsack)
		undo_dsack(c, &s->sack[0], r.acked);
	if (c->ca != CA_OPEN && seq_ge(c->snd_una, c->recover))
		leave_recovery(c);
	tlp_ack(c, s, &r);
	detect(c, s, &r);
	if (r.acked)
		cwnd_grow(c, r.acked);
	tx_timer_update(c, r.acked != 0);
	if (c->sbuf && c->records)
		stream_buffer_free(c);
	if (c->done != c->head)
		ack_notify(c);
	if (r.fin && !c->terminal)
		fin_acked(c);
	if (!c->terminal &&
	    (r.acked || r.sacked || r.wnd_changed || c->lost || c->want_pull || c->next != c->tail))
		tcp_conn_schedule(c);
}

/* ---------------------------------------------------------------- timers */

static bool in_flight(const struct tcp_conn *c)
{
	return c->snd_una != c->snd_nxt;
}

static uint64_t pto_time(const struct tcp_conn *c)
{
	uint64_t pto = max_u64(2 * c->srtt, PTO_MIN_NS);

	/* RFC 8985 7.2: a lone segment's ACK may be delayed */
	if (c->next - c->head <= 1)
		pto += 200 * TCP_NS_PER_MS;
	return pto;
}

static bool tlp_eligible(const struct tcp_conn *c)
{
	return c->sack_on && c->ca == CA_OPEN && !c->tlp_out && !c->sacked && c->srtt &&
	       !c->retries;
}

static void arm(struct tcp_conn *c, enum tx_timer kind, uint64_t after)
{
	c->txt = kind;
	tcp_timer_set(c, TM_TX, c->e->now + after);
}

/*
 * Choose the timer for the state the sender is in. @restart: new data was acknowledged or
 * something was (re)sent that the timer shall count from (RFC 6298 5.3).
 */
void tx_timer_update(struct tcp_conn *c, bool restart)
{
	uint64_t rto = rto_now(c);

	if (c->terminal || c->txt == TXT_SYN)
		return;
	if (!in_flight(c)) {
		if (c->next != c->tail && c->state >= TCPS_ESTABLISHED) {
			if (c->txt != TXT_PERSIST || !tcp_timer_on(c, TM_TX))
				arm(c, TXT_PERSIST, rto);
		} else if (c->txt != TXT_NONE) {
			c->txt = TXT_NONE;
			tcp_timer_clear(c, TM_TX);
		}
		return;
	}
	if (c->txt == TXT_REO)
		return;
	/* RFC 8985 7.2: new data turns a running RTO into a PTO; RFC 6298 5.1: else it runs on */
	if (!restart && tcp_timer_on(c, TM_TX) && (c->txt == TXT_PTO || c->txt == TXT_RTO)) {
		if (c->txt == TXT_RTO && tlp_eligible(c) && pto_time(c) < rto)
			arm(c, TXT_PTO, pto_time(c));
		return;
	}
	if (tlp_eligible(c) && pto_time(c) < rto)
		arm(c, TXT_PTO, pto_time(c));
	else
		arm(c, TXT_RTO, rto);
}

/* "Host unreachable", as ICMP would have it (RFC 792, RFC 4443 3.1) */
uint32_t unreach_info(const struct tcp_conn *c)
{
	return c->tuple.local.family == IP_V6 ? 1u << 8 | 3u : 3u << 8 | 1u;
}

/* RFC 1122 4.2.3.9: what is known about the reason goes to the user */
static void give_up(struct tcp_conn *c, enum tcp_timer_kind kind)
{
	if (nexthop_dead(&c->e->nexthops[c->nexthop])) {
		tcp_conn_terminal(c, TCP_EV_UNREACH, unreach_info(c));
		return;
	}
	if (kind != TCP_TIMEOUT_SYN || c->state == TCPS_SYN_RCVD)
		send_rst(c);
	if (kind == TCP_TIMEOUT_SYN && c->soft_error) /* RFC 1122 4.2.3.9: the better reason */
		tcp_conn_terminal(c, TCP_EV_UNREACH, c->soft_error);
	else
		tcp_conn_terminal(c, TCP_EV_TIMEOUT, kind);
}

static void syn_timeout(struct tcp_conn *c)
{
	if (c->syn_sent > c->opts.syn_retries) {
		give_up(c, TCP_TIMEOUT_SYN);
		return;
	}
	send_syn(c);
}

static bool rtx_exhausted(struct tcp_conn *c)
{
	uint64_t limit = (uint64_t)c->opts.rtx_timeout_ms * TCP_NS_PER_MS;

	if (!c->first_rtx_ns)
		c->first_rtx_ns = c->e->now;
	/* RFC 9293 3.8.6.1: as long as a peer with a closed window answers, it is alive */
	if (!c->snd_wnd && c->last_rx_ns > c->last_tx_ns)
		return false;
	if (limit && c->e->now - c->first_rtx_ns >= limit)
		return true;
	return c->retries++ >= c->opts.rtx_retries;
}

/* RFC 8985 6.3: the first one, and all whose ACK is overdue; without SACK there is no telling */
static void mark_timed_out(struct tcp_conn *c)
{
	uint64_t due = max_u64(c->rack.rtt_ns, c->srtt) + rack_reo_wnd(c);

	for (uint32_t i = c->head; i != c->next; i++) {
		const struct seg *g = seg_at(c, i);

		if (i == c->head || !c->sack_on || g->tx_ns + due <= c->e->now)
			mark_lost(c, i);
	}
}

/* RFC 6298 5.4-5.6, RFC 5681 3.1 equation 4, RFC 6675 5.1 */
static void enter_loss(struct tcp_conn *c)
{
	if (c->head != c->next && seg_at(c, c->head)->flags & SEG_SACKED)
		sack_forget(c);
	c->frto = FRTO_OFF;
	if (c->ca != CA_LOSS) {
		undo_save(c);
		c->ssthresh = half_flight(c);
		if (!c->ts_on)
			c->frto = FRTO_FIRST_ACK;
	}
	c->ca = CA_LOSS;
	c->recover = c->snd_max;
	c->dupacks = 0;
	c->tlp_out = false;
	roll_back_partial(c);
	mark_timed_out(c);
	c->rtx_hint = c->head;
	c->cwnd = c->emss;
	c->cwnd_acc = 0;
	c->cwnd_limited = true;
	c->cwl_end = c->snd_max;
	c->force_rtx = true;
}

void rto_fired(struct tcp_conn *c)
{
	if (c->txt == TXT_SYN) {
		syn_timeout(c);
		return;
	}
	if (!in_flight(c)) {
		c->txt = TXT_NONE;
		return;
	}
	/* what waits in front of a blocked wire is not lost in the network */
	if (!c->blocked) {
		if (rtx_exhausted(c)) {
			give_up(c, TCP_TIMEOUT_RTX);
			return;
		}
		c->stats.rtx_timeouts++;
		c->e->stats.rtx_timeouts++;
		pmtu_timeout(c);
		enter_loss(c);
		c->backoff++;
	}
	arm(c, TXT_RTO, rto_now(c));
	tcp_conn_schedule(c);
}

void pto_fired(struct tcp_conn *c)
{
	int rc = 1;

	c->txt = TXT_NONE;
	if (in_flight(c) && !c->blocked && tlp_eligible(c))
		rc = send_tail_probe(c);
	if (!rc) {
		c->e->stats.rtx_probes++;
		c->tlp_out = true;
		c->tlp_end = c->snd_max;
	} else if (rc < 0 && rc != -EAGAIN) {
		gather_failed(c);
	}
	if (!c->terminal && in_flight(c))
		arm(c, TXT_RTO, rto_now(c));
}

void reo_fired(struct tcp_conn *c)
{
	uint64_t wait;

	c->txt = TXT_NONE;
	wait = rack_detect(c);
	if (c->lost && c->ca == CA_OPEN)
		enter_recovery(c, true);
	prr(c, 0, false);
	if (wait)
		arm(c, TXT_REO, max_u64(wait, REO_MIN_NS));
	else
		tx_timer_update(c, true);
	tcp_conn_schedule(c);
}

void persist_fired(struct tcp_conn *c)
{
	c->txt = TXT_NONE;
	if (in_flight(c) || c->next == c->tail || c->blocked) {
		tx_timer_update(c, true);
		return;
	}
	if (c->persist_quiet++ >= c->opts.rtx_retries) {
		give_up(c, TCP_TIMEOUT_PERSIST);
		return;
	}
	c->e->stats.persists++;
	send_persist(c);
	if (c->terminal)
		return;
	c->backoff++;
	arm(c, TXT_PERSIST, rto_now(c));
}

/*
 * The path takes less than before: what is under way and too large is sent again in pieces. No
 * sign of congestion, so cwnd stays (RFC 1191 6.4).
 */
void pmtu_shrunk(struct tcp_conn *c)
{
	for (uint32_t i = c->head; i != c->next; i++)
		if (seg_at(c, i)->len > c->emss)
			mark_lost(c, i);
	if (!c->lost)
		return;
	if (c->ca == CA_OPEN)
		enter_recovery(c, false);
	tcp_conn_schedule(c);
}

/*
 * There is a way again: what was sent into the void goes out now, not when a timer that was backed
 * off expires. It counts neither as a retry nor as a sign of congestion beyond the loss itself.
 */
static void path_back(struct tcp_conn *c)
{
	c->backoff = 0;
	if (c->txt == TXT_SYN) {
		c->syn_sent -= !!c->syn_sent;
		send_syn(c);
	} else if (in_flight(c)) {
		enter_loss(c);
		arm(c, TXT_RTO, rto_now(c));
	} else if (c->txt == TXT_PERSIST) {
		arm(c, TXT_PERSIST, 0);
	}
}

/**
 * path_changed - the next hop is another, or its addresses, its MTU or its life are
 * @was_dead: there was none before
 */
void path_changed(struct tcp_conn *c, bool was_dead)
{
	uint32_t old = c->emss;

	tmpl_build(c);
	pmtu_forget(c);
	if (was_dead && !nexthop_dead(&c->e->nexthops[c->nexthop]))
		path_back(c);
	else if (c->emss < old)
		pmtu_shrunk(c);
	tcp_conn_schedule(c);
}
