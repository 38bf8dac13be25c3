/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What must hold of a connection between any two calls of the engine. Looks inside.
 */
#ifndef TESTS_TCP_INVARIANTS_H
#define TESTS_TCP_INVARIANTS_H

#include "tcp/internal.h"

static inline const char *sender_fault(const struct tcp_conn *c)
{
	uint32_t sacked = 0, lost = 0, cnt = 0;

	if (c->tail - c->done > c->ring_mask + 1)
		return "ring overrun";
	if (c->head - c->done > c->tail - c->done || c->next - c->head > c->tail - c->head)
		return "ring indexes out of order";
	if (seq_gt(c->snd_una, c->snd_nxt) || seq_gt(c->snd_nxt, c->snd_max))
		return "snd_una <= snd_nxt <= snd_max is broken";
	for (uint32_t i = c->head; i != c->tail; i++) {
		const struct seg *g = seg_at(c, i);
		uint32_t start = seq_gt(c->snd_una, g->seq) ? c->snd_una : g->seq;

		if (i + 1 != c->tail && seg_end(g) != seg_at(c, i + 1)->seq)
			return "segments do not adjoin";
		if ((int32_t)(i - c->next) >= 0 && g->flags & (SEG_SACKED | SEG_LOST))
			return "an unsent segment is marked";
		if ((int32_t)(i - c->next) < 0 && seq_gt(seg_end(g), c->snd_nxt))
			return "a sent segment ends behind snd_nxt";
		if (g->flags & SEG_SACKED && g->flags & SEG_LOST)
			return "a segment is both SACKed and lost";
		if (g->flags & SEG_SACKED) {
			sacked += seg_end(g) - start;
			cnt++;
		}
		if (g->flags & SEG_LOST)
			lost += seg_end(g) - start;
	}
	if (sacked != c->sacked || cnt != c->sacked_cnt || lost != c->lost)
		return "scoreboard sums are wrong";
	if (c->head != c->tail && seq_gt(seg_at(c, c->head)->seq, c->snd_una))
		return "the head is ahead of snd_una";
	return NULL;
}

static inline const char *receiver_fault(const struct tcp_conn *c)
{
	const struct reass *r = &c->reass;
	uint32_t sum = 0, used = 0;

	if (r->n > REASS_INTERVALS)
		return "too many intervals";
	for (uint32_t i = 0; i < r->n; i++) {
		if (!seq_lt(r->iv[i].start, r->iv[i].end))
			return "an empty interval";
		if (!seq_gt(r->iv[i].start, c->rcv_nxt))
			return "an interval that is due";
		if (i && !seq_gt(r->iv[i].start, r->iv[i - 1].end))
			return "intervals touch";
		if (seq_gt(r->iv[i].end, c->rcv_adv))
			return "data beyond the window was kept";
		sum += r->iv[i].end - r->iv[i].start;
	}
	for (uint32_t i = 0; i < r->nchunks; i++)
		used += r->chunk[i] != NULL;
	if (sum != r->bytes || used != r->used)
		return "reassembly sums are wrong";
	if (!r->n && !c->held && used)
		return "chunks are kept without need";
	if (c->held >= c->rcv_wnd + (1u << c->rcv_shift))
		return "more held than the window";
	if (seq_ge(c->rcv_adv,
		   c->rcv_nxt - c->fin_done - c->held + c->rcv_wnd + (1u << c->rcv_shift)))
		return "more announced than the window";
	return NULL;
}

static inline const char *conn_fault(const struct tcp_conn *c)
{
	const char *why;

	if (c->terminal)
		return c->heap_pos == HEAP_NONE ? NULL : "a timer after the end";
	if (c->state < TCPS_ESTABLISHED)
		return NULL;
	why = sender_fault(c);
	if (!why)
		why = receiver_fault(c);
	/* something is under way or waits, so some timer must run or the wire be full */
	if (!why && c->head != c->tail && c->due[TM_TX] == TCP_NO_DEADLINE && !c->is_pending)
		why = "data queued and no timer";
	return why;
}

#endif
