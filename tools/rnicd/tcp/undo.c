// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recoveries and time-outs that turn out to have been for nothing: segments were late, not lost.
 * That is seen
 *   by timestamps: the original was acknowledged (Eifel, RFC 3522);
 *   by F-RTO (RFC 5682), after time-outs of connections without timestamps (recovery.c);
 *   by D-SACK (RFC 2883): the peer reports each retransmission of the episode as a duplicate (RFC
 *   3708). It is the slowest, but needs no timestamps, nor ones that are finer than the round trip.
 * The response is RFC 4015's.
 */
#include "internal.h"

/* What is retransmitted from now on is written down, and what of it the peer reports is crossed off
 */
static void record_begin(struct tcp_conn *c)
{
	struct undo_dsack *d = &c->undo_dup;

	d->on = c->sack_on && !d->path_dups;
	d->start = seq_gt(c->high_rxt, c->snd_una) ? c->high_rxt : c->snd_una;
	d->n = 0;
}

/**
 * undo_save - before cwnd and ssthresh answer to a loss: what they were
 */
void undo_save(struct tcp_conn *c)
{
	struct undo_dsack *d = &c->undo_dup;

	c->undo_valid = true;
	c->undo_armed = false;
	c->undo_cwnd = c->cwnd;
	c->undo_ssthresh = c->ssthresh;
	c->undo_pipe = max_u32(c->snd_nxt - c->snd_una, c->ssthresh);
	if (c->ca != CA_OPEN) /* a time-out amid a recovery that was not for nothing */
		d->on = false;
	else if (!c->tlp_out || !c->tlp_retx) /* else the tail loss probe counts as well */
		record_begin(c);
	d->reduced = true;
}

/*
 * What RACK took for the arrival of a retransmission was that of the original, so it learns anew
 * what was delivered last.
 */
static void nothing_lost(struct tcp_conn *c)
{
	for (uint32_t i = c->head; i != c->next && c->lost; i++)
		if (seg_at(c, i)->flags & SEG_LOST)
			seg_at(c, i)->flags &= ~SEG_LOST;
	c->lost = 0;
	c->ca = CA_OPEN;
	c->dupacks = 0;
	c->undo_valid = false;
	c->undo_dup.on = false;
	c->undo_dup.reduced = false;
	c->frto = FRTO_OFF;
	c->rack.xmit_ns = 0;
	c->e->stats.rtx_spurious++;
}

/**
 * undo - the originals arrive: as if nothing had been lost
 */
void undo(struct tcp_conn *c)
{
	nothing_lost(c);
	c->cwnd = max_u32(c->cwnd, c->undo_cwnd);
	c->ssthresh = max_u32(c->ssthresh, c->undo_ssthresh);
}

/**
 * eifel_check - does the ACK echo a time before the first retransmission? Then the original had
 * arrived (RFC 3522)
 */
void eifel_check(struct tcp_conn *c, const struct seg_in *s)
{
	if (!c->undo_valid || !c->undo_armed || seq_lt(c->snd_una, c->undo_seq))
		return;
	if (c->ts_on && s->ts && seq_lt(s->tsecr, c->undo_ts)) {
		pmtu_spurious(c);
		undo(c);
	} else if (c->ts_on) {
		c->undo_valid = false;
	}
}

/* ---------------------------------------------------------------- D-SACK */

static void range_add(struct undo_dsack *d, uint32_t start, uint32_t end)
{
	if (d->n && d->range[d->n - 1].end == start)
		d->range[d->n - 1].end = end;
	else if (d->n < UNDO_RANGES)
		d->range[d->n++] = (struct sack_block){.start = start, .end = end};
	else
		d->on = false; /* too many to remember */
}

/**
 * undo_retransmitted - [@start, @end) is sent again; each time must be reported
 */
void undo_retransmitted(struct tcp_conn *c, uint32_t start, uint32_t end)
{
	struct undo_dsack *d = &c->undo_dup;

	if (c->ca == CA_OPEN) { /* a tail loss probe */
		d->reduced = false;
		record_begin(c);
	}
	d->last_ns = c->e->now;
	if (d->on)
		range_add(d, start, end);
}

/* Take [@start, *@end) away, as far as it lies in range @i, where @start does */
static void range_cut(struct undo_dsack *d, unsigned int i, uint32_t start, uint32_t *end)
{
	struct sack_block *r = &d->range[i], rest = *r;

	if (seq_gt(*end, r->end))
		*end = r->end;
	r->end = start;
	rest.start = *end;
	if (r->start == r->end)
		*r = rest;
	else if (rest.start != rest.end)
		range_add(d, rest.start, rest.end);
	if (r->start == r->end)
		*r = d->range[--d->n];
}

/* false: not all of [@start, @end) was retransmitted, or it was reported before */
static bool report(struct undo_dsack *d, uint32_t start, uint32_t end)
{
	while (start != end) {
		uint32_t part = end;
		unsigned int i = 0;

		while (i < d->n &&
		       (seq_lt(start, d->range[i].start) || seq_ge(start, d->range[i].end)))
			i++;
		if (i == d->n)
			return false;
		range_cut(d, i, start, &part);
		start = part;
	}
	return true;
}

/*
 * RFC 4015 3.2 step 9: slow start up to what it was. Not at once: the originals were acknowledged
 * long ago, and the pipe may have run empty.
 */
static void undo_late(struct tcp_conn *c, uint32_t acked)
{
	uint32_t flight = c->snd_nxt - c->snd_una;

	nothing_lost(c);
	c->cwnd = max_u32(c->cwnd, flight + min_u32(acked, IW_SEGS * c->emss));
	c->ssthresh = max_u32(c->ssthresh, c->undo_pipe);
}

/**
 * undo_dsack - the peer received @b twice
 * @acked: bytes that it acknowledges with that
 *
 * Once this has been said of all that the last episode retransmitted, and nothing waits to be,
 * nothing had been lost. A duplicate of what was sent once is the path's doing, which may do the
 * same to a retransmission that was needed: then D-SACKs prove nothing on this connection.
 */
void undo_dsack(struct tcp_conn *c, const struct sack_block *b, uint32_t acked)
{
	struct undo_dsack *d = &c->undo_dup;
	bool known;

	if (!d->on || seq_lt(b->start, d->start))
		return; /* for what was retransmitted before */
	known = report(d, b->start, b->end);
	if (!d->on)
		return; /* too many pieces */
	d->path_dups = !known;
	d->on = known && c->e->now - d->last_ns <= c->rto; /* no answer takes longer */
	if (d->on && d->reduced && !d->n && !c->lost)
		undo_late(c, acked);
}
