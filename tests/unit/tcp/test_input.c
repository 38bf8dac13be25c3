// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Incoming segments in synchronized states: RFC 9293 3.10.7.4 step by step, RFC 5961, RFC 7323,
 * receive side of RFC 2018, ACK policy, closing.
 */
#include <errno.h>

#include "invariants.h"
#include "peer.h"

#define WND 60000u

/* ---------------------------------------------------------------- first: sequence number */

static void outside_window_is_answered(void **state)
{
	struct env *v = established(&plain_opts);
	struct out *o;

	PUT(v, .flags = ACK, .seq = 1 + 20000, .ack = 1, .wnd = WND, .len = 10);
	assert_int_equal(v->rx_len, 0);
	o = next_out(v);
	assert_int_equal(o->s.flags, ACK);
	assert_int_equal(o->s.ack, 1);
	PUT(v, .flags = ACK, .seq = (uint32_t)-500, .ack = 1, .wnd = WND, .len = 10);
	assert_int_equal(next_out(v)->s.ack, 1);
	assert_int_equal(v->rx_len, 0);
	no_out(v);
	env_free(v);
}

static void window_edges(void **state)
{
	struct env *v = established(&plain_opts);

	/* last byte of the window is taken, the next is cut off */
	PUT(v, .flags = ACK, .seq = 20000, .ack = 1, .wnd = WND, .len = 2);
	PUT(v, .flags = ACK, .seq = 1, .ack = 1, .wnd = WND, .len = 19999);
	assert_int_equal(v->rx_len, 20000);
	env_free(v);
}

static void old_data_in_front_is_cut(void **state)
{
	struct env *v = established(&plain_opts);

	PUT(v, .flags = ACK, .seq = 1, .ack = 1, .wnd = WND, .len = 100);
	PUT(v, .flags = ACK, .seq = 51, .ack = 1, .wnd = WND, .len = 100, .data = bytes() + 50);
	assert_int_equal(v->rx_len, 150);
	assert_memory_equal(v->rx, bytes(), 150);
	env_free(v);
}

static void duplicate_is_acked_at_once(void **state)
{
	struct env *v = established(&plain_opts);

	PUT(v, .flags = ACK | PSH, .seq = 1, .ack = 1, .wnd = WND, .len = 100);
	drop_out(v);
	PUT(v, .flags = ACK, .seq = 1, .ack = 1, .wnd = WND, .len = 100);
	assert_int_equal(next_out(v)->s.ack, 101);
	assert_int_equal(v->rx_len, 100);
	assert_int_equal(tcp_engine_stats(v->e)->dup_in, 1);
	env_free(v);
}

static void keepalive_probe_is_answered(void **state)
{
	struct env *v = established(&plain_opts);

	PUT(v, .flags = ACK, .seq = 0, .ack = 1, .wnd = WND); /* RFC 9293 3.8.4 */
	assert_int_equal(next_out(v)->s.ack, 1);
	PUT(v, .flags = ACK, .seq = 0, .ack = 1, .wnd = WND, .len = 1);
	assert_int_equal(next_out(v)->s.ack, 1);
	assert_int_equal(v->rx_len, 0);
	env_free(v);
}

static void answers_to_empty_segments_are_rationed(void **state)
{
	struct env *v = established(&plain_opts);

	for (int i = 0; i < 1000; i++)
		PUT(v, .flags = ACK, .seq = 0, .ack = 1, .wnd = WND);
	assert_in_range(v->nout, 1, 20);
	env_free(v);
}

static void zero_window(void **state)
{
	struct env *v = established(&plain_opts);
	uint32_t n;

	v->rx_limit = 0;
	PUT(v, .flags = ACK, .seq = 1, .ack = 1, .wnd = WND, .len = 20000);
	assert_int_equal(next_out(v)->s.wnd, 0);
	assert_int_equal(v->out[0].s.ack, 20001);
	/* a probe byte is not taken, but its ACK is, and it is answered */
	n = tcp_engine_stats(v->e)->segs_out;
	PUT(v, .flags = ACK, .seq = 20001, .ack = 1, .wnd = 77, .len = 1);
	assert_int_equal(tcp_engine_stats(v->e)->segs_out, n + 1);
	assert_int_equal(next_out(v)->s.ack, 20001);
	{
		struct tcp_conn_info i;

		tcp_conn_info(v->c, &i);
		assert_int_equal(i.snd_wnd, 77);
	}
	v->rx_limit = SIZE_MAX;
	tcp_rx_resume(v->c);
	assert_int_equal(v->rx_len, 20000);
	assert_int_equal(next_out(v)->s.wnd, 20000); /* window update */
	assert_memory_equal(v->rx, bytes(), 20000);
	env_free(v);
}

static void no_silly_window(void **state)
{
	struct env *v = established(&plain_opts);

	v->rx_limit = 0;
	PUT(v, .flags = ACK, .seq = 1, .ack = 1, .wnd = WND, .len = 20000);
	drop_out(v);
	v->rx_limit = 100;
	tcp_rx_resume(v->c);
	no_out(v); /* RFC 9293 3.8.6.2.2: 100 bytes are no good piece */
	v->rx_limit = 1360;
	tcp_rx_resume(v->c);
	assert_int_equal(next_out(v)->s.wnd, 1460);
	env_free(v);
}

static void right_edge_never_moves_back(void **state)
{
	struct env *v = established(&full_opts);
	uint32_t edge = 0, seq = 1;

	v->rx_limit = 0;
	for (int i = 0; i < 150; i++) {
		uint32_t len = 1 + (uint32_t)(i * 37 % 1448);

		PUT(v, .flags = ACK | PSH, .seq = seq, .ack = 1, .wnd = WND, .len = len, .ts = true,
		    .tsval = peer_tsval(v));
		seq += len;
		if (i % 7 == 0) {
			v->rx_limit = 2000;
			tcp_rx_resume(v->c);
		}
		while (v->taken < v->nout) {
			struct out *o = next_out(v);
			uint32_t now = o->s.ack + (o->s.wnd << 3);

			assert_true(now + 8 > edge); /* but for what the scale cannot say */
			edge = now > edge ? now : edge;
		}
	}
	env_free(v);
}

/* One byte at a time while rx() takes nothing: rounding must not let the edge creep on */
static void window_does_not_creep(void **state)
{
	struct tcp_opts o = {.rcv_wnd = 40000, .wscale = true, .rcv_shift = 14};
	struct env *v = established(&o);
	uint32_t seq = 1;

	v->rx_limit = 0;
	for (int i = 0; i < 3000; i++, seq++) {
		PUT(v, .flags = ACK | PSH, .seq = seq, .ack = 1, .wnd = WND, .len = 1);
		drop_out(v);
	}
	for (int i = 0; i < 1000; i++) {
		PUT(v, .flags = ACK | PSH, .seq = seq, .ack = 1, .wnd = WND, .len = 1400);
		seq += 1400;
		drop_out(v);
	}
	assert_null(conn_fault(v->c));
	assert_true(v->c->held < 3 * 16384 + 16384); /* 40000 rounded up, and one unit */
	env_free(v);
}

/* ---------------------------------------------------------------- PAWS */

static void paws_drops_old_timestamp(void **state)
{
	struct env *v = established(&full_opts);
	uint32_t t = peer_tsval(v);
	struct out *o;

	PUT(v, .flags = ACK | PSH, .seq = 1, .ack = 1, .wnd = WND, .len = 10, .ts = true,
	    .tsval = t);
	drop_out(v);
	PUT(v, .flags = ACK, .seq = 11, .ack = 1, .wnd = WND, .len = 10, .ts = true,
	    .tsval = t - 1);
	assert_int_equal(v->rx_len, 10);
	assert_int_equal(next_out(v)->s.ack, 11); /* RFC 7323 5.3 R1 */
	assert_int_equal(tcp_engine_stats(v->e)->paws, 1);
	/* an original that comes after its retransmission: the sender learns of it (RFC 2883) */
	PUT(v, .flags = ACK, .seq = 1, .ack = 1, .wnd = WND, .len = 10, .ts = true, .tsval = t - 1);
	o = next_out(v);
	assert_int_equal(o->s.ack, 11);
	assert_int_equal(o->s.nsack, 1);
	assert_int_equal(o->s.sack[0].start, 1);
	assert_int_equal(o->s.sack[0].end, 11);
	assert_int_equal(v->rx_len, 10);
	/* but not of what is new: PAWS has dropped it */
	PUT(v, .flags = ACK, .seq = 6, .ack = 1, .wnd = WND, .len = 10, .ts = true, .tsval = t - 1);
	assert_int_equal(next_out(v)->s.nsack, 0);
	/* a RST is exempt */
	PUT(v, .flags = RST, .seq = 11, .ts = true, .tsval = t - 1);
	expect_event(v, TCP_EV_PEER_RST, 0);
	env_free(v);
}

static void paws_expires_after_24_days(void **state)
{
	struct env *v = established(&full_opts);

	v->now += 25ull * 86400 * SECOND;
	PUT(v, .flags = ACK, .seq = 1, .ack = 1, .wnd = WND, .len = 10, .ts = true,
	    .tsval = peer_tsval(v) - 0x80000000u); /* has wrapped since */
	assert_int_equal(v->rx_len, 10); /* RFC 7323 5.5 */
	env_free(v);
}

static void missing_timestamp_is_dropped(void **state)
{
	struct env *v = established(&full_opts);

	PUT(v, .flags = ACK, .seq = 1, .ack = 1, .wnd = WND, .len = 10);
	assert_int_equal(v->rx_len, 0); /* RFC 7323 3.2 */
	no_out(v);
	env_free(v);
}

static void ts_recent_only_from_the_left_edge(void **state)
{
	struct env *v = established(&full_opts);
	uint32_t t = peer_tsval(v);

	/* out of order with a newer value: not echoed (RFC 7323 4.3) */
	PUT(v, .flags = ACK, .seq = 101, .ack = 1, .wnd = WND, .len = 100, .ts = true,
	    .tsval = t + 5);
	assert_int_equal(next_out(v)->s.tsecr, t);
	PUT(v, .flags = ACK, .seq = 1, .ack = 1, .wnd = WND, .len = 100, .ts = true,
	    .tsval = t + 3);
	assert_int_equal(next_out(v)->s.tsecr, t + 3);
	env_free(v);
}

/* ---------------------------------------------------------------- second: RST (RFC 5961 3.2) */

static void rst_exact_resets(void **state)
{
	struct env *v = established(&plain_opts);

	PUT(v, .flags = RST, .seq = 1);
	expect_event(v, TCP_EV_PEER_RST, 0);
	no_out(v);
	assert_int_equal(PUT(v, .flags = ACK, .seq = 1, .ack = 1), TCP_TO_HOST);
	env_free(v);
}

static void rst_in_window_is_challenged(void **state)
{
	struct env *v = established(&plain_opts);

	PUT(v, .flags = RST, .seq = 2);
	assert_int_equal(next_out(v)->s.flags, ACK);
	PUT(v, .flags = RST, .seq = 20000);
	assert_int_equal(next_out(v)->s.flags, ACK);
	PUT(v, .flags = RST, .seq = 20001); /* outside: dropped without a word */
	PUT(v, .flags = RST, .seq = 0);
	no_out(v);
	no_event(v);
	env_free(v);
}

static void challenges_are_limited(void **state)
{
	struct env *v = established(&plain_opts);

	for (int i = 0; i < 1000; i++)
		PUT(v, .flags = RST, .seq = 5);
	assert_in_range(v->nout, 1, 16); /* RFC 5961 7 */
	assert_true(tcp_engine_stats(v->e)->challenge_limited >= 984);
	v->now += 2 * SECOND;
	drop_out(v);
	PUT(v, .flags = RST, .seq = 5);
	assert_int_equal(next_out(v)->s.flags, ACK);
	env_free(v);
}

/* ---------------------------------------------------------------- fourth: SYN (RFC 5961 4.2) */

static void syn_is_challenged(void **state)
{
	struct env *v = established(&plain_opts);

	PUT(v, .flags = SYN, .seq = 1, .wnd = WND);
	assert_int_equal(next_out(v)->s.flags, ACK);
	PUT(v, .flags = SYN, .seq = 12345678, .wnd = WND);
	assert_int_equal(next_out(v)->s.flags, ACK);
	no_event(v);
	env_free(v);
}

/* ---------------------------------------------------------------- fifth: ACK */

static void no_ack_bit_is_dropped(void **state)
{
	struct env *v = established(&plain_opts);

	PUT(v, .flags = PSH, .seq = 1, .wnd = WND, .len = 10);
	assert_int_equal(v->rx_len, 0);
	no_out(v);
	assert_int_equal(tcp_engine_stats(v->e)->no_ack, 1);
	env_free(v);
}

static void ack_of_the_future_is_challenged(void **state)
{
	struct env *v = established(&plain_opts);

	PUT(v, .flags = ACK, .seq = 1, .ack = 2, .wnd = WND, .len = 10);
	assert_int_equal(v->rx_len, 0); /* RFC 5961 5.2: data dropped too */
	assert_int_equal(next_out(v)->s.flags, ACK);
	PUT(v, .flags = ACK, .seq = 1, .ack = 1u << 28, .wnd = WND, .len = 10);
	assert_int_equal(v->rx_len, 0);
	env_free(v);
}

static void ack_of_the_past(void **state)
{
	struct env *v = established(&plain_opts);

	/* no further back than the largest window the peer ever offered: 65535 */
	PUT(v, .flags = ACK, .seq = 1, .ack = 1u - 65536, .wnd = WND, .len = 10);
	assert_int_equal(v->rx_len, 0);
	assert_int_equal(next_out(v)->s.flags, ACK);
	PUT(v, .flags = ACK, .seq = 1, .ack = 1u - 60000, .wnd = WND, .len = 10);
	assert_int_equal(v->rx_len, 10);
	env_free(v);
}

static void window_only_from_newer_segments(void **state)
{
	struct env *v = established(&plain_opts);
	struct tcp_conn_info i;

	PUT(v, .flags = ACK, .seq = 1, .ack = 1, .wnd = 1000, .len = 50);
	PUT(v, .flags = ACK, .seq = 51, .ack = 1, .wnd = 2000, .len = 50);
	PUT(v, .flags = ACK, .seq = 31, .ack = 1, .wnd = 10, .len = 90); /* WL1 is 51 */
	tcp_conn_info(v->c, &i);
	assert_int_equal(i.snd_wnd, 2000);
	assert_int_equal(v->rx_len, 120);
	env_free(v);
}

/* ---------------------------------------------------------------- seventh: text */

static void out_of_order_is_held_and_sacked(void **state)
{
	struct env *v = established(&full_opts);
	struct out *o;

#define SEGMENT(at, n)                                                      \
	PUT(v, .flags = ACK, .seq = (at), .ack = 1, .wnd = WND, .len = (n), \
	    .data = bytes() - 1 + (at), .ts = true, .tsval = peer_tsval(v))
	SEGMENT(101, 100);
	o = next_out(v);
	assert_int_equal(o->s.ack, 1);
	assert_int_equal(o->s.nsack, 1);
	assert_int_equal(o->s.sack[0].start, 101);
	assert_int_equal(o->s.sack[0].end, 201);
	SEGMENT(501, 100);
	o = next_out(v);
	assert_int_equal(o->s.nsack, 2); /* RFC 2018 4: the newest block first */
	assert_int_equal(o->s.sack[0].start, 501);
	assert_int_equal(o->s.sack[1].start, 101);
	SEGMENT(301, 100);
	o = next_out(v);
	assert_int_equal(o->s.sack[0].start, 301);
	assert_int_equal(o->s.sack[1].start, 501);
	assert_int_equal(o->s.sack[2].start, 101);
	SEGMENT(701, 100);
	o = next_out(v);
	assert_int_equal(o->s.nsack, 3); /* no more fit beside a timestamp */
	assert_int_equal(o->s.sack[0].start, 701);
	SEGMENT(201, 100); /* joins two */
	o = next_out(v);
	assert_int_equal(o->s.sack[0].start, 101);
	assert_int_equal(o->s.sack[0].end, 401);
	SEGMENT(1, 100);
	o = next_out(v);
	assert_int_equal(o->s.ack, 401);
	assert_int_equal(v->rx_len, 400);
	SEGMENT(401, 100);
	SEGMENT(601, 100);
	assert_int_equal(v->rx_len, 800);
	assert_memory_equal(v->rx, bytes(), 800);
	next_out(v);
	assert_int_equal(next_out(v)->s.nsack, 0);
	env_free(v);
}

static void dsack(void **state)
{
	struct env *v = established(&full_opts);
	struct out *o;

	SEGMENT(1, 100);
	drop_out(v);
	SEGMENT(1, 100);
	o = next_out(v);
	assert_int_equal(o->s.ack, 101);
	assert_int_equal(o->s.nsack, 1); /* RFC 2883 4 */
	assert_int_equal(o->s.sack[0].start, 1);
	assert_int_equal(o->s.sack[0].end, 101);
	SEGMENT(301, 100);
	drop_out(v);
	SEGMENT(301, 100);
	o = next_out(v);
	assert_int_equal(o->s.nsack, 2);
	assert_int_equal(o->s.sack[0].start, 301); /* the duplicate, then its block */
	assert_int_equal(o->s.sack[1].start, 301);
	env_free(v);
}

static void no_sack_when_not_negotiated(void **state)
{
	struct env *v = established(&plain_opts);

	PUT(v, .flags = ACK, .seq = 101, .ack = 1, .wnd = WND, .len = 100);
	assert_int_equal(next_out(v)->s.nsack, 0);
	env_free(v);
}

static void overlapping_pieces(void **state)
{
	struct env *v = established(&full_opts);
	uint32_t r = 1;

	for (int i = 0; i < 3000; i++) {
		uint32_t at, n;

		r = r * 1103515245u + 12345;
		at = 1 + (r >> 8) % 50000;
		n = 1 + (r >> 4) % 1400;
		SEGMENT(at, n);
		drop_out(v);
	}
	for (uint32_t at = 1; at <= 50000; at += 1000)
		SEGMENT(at, 1000);
	assert_in_range(v->rx_len, 50000, 51400);
	assert_memory_equal(v->rx, bytes(), v->rx_len);
	env_free(v);
}

static void rx_left_over(void **state)
{
	struct env *v = established(&full_opts);

	v->rx_limit = 30;
	SEGMENT(1, 100);
	assert_int_equal(v->rx_len, 30);
	SEGMENT(101, 100); /* behind what is held: not offered yet */
	assert_int_equal(v->rx_len, 30);
	SEGMENT(301, 100);
	v->rx_limit = 100;
	tcp_rx_resume(v->c);
	assert_int_equal(v->rx_len, 130);
	v->rx_limit = SIZE_MAX;
	tcp_rx_resume(v->c);
	assert_int_equal(v->rx_len, 200);
	SEGMENT(201, 100);
	assert_int_equal(v->rx_len, 400);
	assert_memory_equal(v->rx, bytes(), 400);
	env_free(v);
}

static void reass_memory_is_bounded(void **state)
{
	struct tcp_engine_config cfg = {.reass_bytes = 4 * 16384};
	struct tcp_opts o = full_opts;
	struct env *v = env_new(&cfg);

	o.rcv_wnd = 1 << 20;
	establish(v, &o);
	for (uint32_t at = 20000; at < 60000; at += 1000)
		SEGMENT(at, 500);
	drop_out(v);
	PUT(v, .flags = ACK, .seq = 300000, .ack = 1, .wnd = WND, .len = 500, .ts = true,
	    .tsval = peer_tsval(v));
	PUT(v, .flags = ACK, .seq = 800000, .ack = 1, .wnd = WND, .len = 500, .ts = true,
	    .tsval = peer_tsval(v));
	assert_true(tcp_engine_stats(v->e)->reass_limit > 0);
	tcp_abort(v->c); /* memory comes back */
	tcp_conn_free(v->c);
	v->nevents = 0;
	drop_out(v);
	establish(v, &o);
	SEGMENT(20001, 500);
	assert_int_equal(next_out(v)->s.nsack, 1);
	env_free(v);
}

/* ---------------------------------------------------------------- ACK policy */

static void every_second_segment_is_acked(void **state)
{
	struct env *v = established(&full_opts);

	for (uint32_t i = 0; i < 10; i++)
		SEGMENT(1 + i * 1448, 1448);
	assert_in_range(v->nout, 5, 6); /* RFC 9293 3.8.6.3 */
	assert_int_equal(v->rx_len, 14480);
	env_free(v);
}

static void lone_segment_is_acked_within_40ms(void **state)
{
	struct env *v = established(&full_opts);

	SEGMENT(1, 100);
	no_out(v);
	advance(v, 39 * MS);
	no_out(v);
	advance(v, MS);
	assert_int_equal(next_out(v)->s.ack, 101);
	no_out(v);
	advance(v, SECOND);
	no_out(v);
	env_free(v);
}

static void push_is_acked_at_once(void **state)
{
	struct env *v = established(&plain_opts);

	PUT(v, .flags = ACK | PSH, .seq = 1, .ack = 1, .wnd = WND, .len = 10);
	assert_int_equal(next_out(v)->s.ack, 11);
	env_free(v);
}

static void full_segments(struct env *v, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		PUT(v, .flags = ACK, .seq = 1 + i * 1460, .ack = 1, .wnd = WND, .len = 1460);
}

static void batch_is_acked_once(void **state)
{
	struct env *v = established(&plain_opts);

	tcp_batch_begin(v->e, v->now);
	full_segments(v, 0, 3);
	no_out(v);
	tcp_batch_end(v->e);
	assert_int_equal(next_out(v)->s.ack, 4381);
	no_out(v);
	tcp_batch_begin(v->e, v->now);
	/* a quarter of the window (20000) is acknowledged at once */
	full_segments(v, 3, 7);
	assert_int_equal(next_out(v)->s.ack, 1 + 7 * 1460);
	/* each early segment counts (RFC 5681 4.2) */
	full_segments(v, 8, 11);
	assert_int_equal(v->nout, 4);
	tcp_batch_end(v->e);
	assert_int_equal(v->nout, 4);
	env_free(v);
}

static void ack_rides_on_data(void **state)
{
	struct env *v = established(&plain_opts);

	PUT(v, .flags = ACK, .seq = 1, .ack = 1, .wnd = WND, .len = 10);
	no_out(v);
	assert_int_equal(tcp_send(v->c, "x", 1), 0);
	assert_int_equal(next_out(v)->s.ack, 11);
	advance(v, 50 * MS);
	no_out(v);
	env_free(v);
}

static void gap_filler_is_acked_at_once(void **state)
{
	struct env *v = established(&plain_opts);

	PUT(v, .flags = ACK, .seq = 11, .ack = 1, .wnd = WND, .len = 10);
	assert_int_equal(next_out(v)->s.ack, 1); /* RFC 5681 4.2 */
	PUT(v, .flags = ACK, .seq = 1, .ack = 1, .wnd = WND, .len = 10);
	assert_int_equal(next_out(v)->s.ack, 21);
	env_free(v);
}

/* ---------------------------------------------------------------- eighth: FIN, and closing */

static void peer_closes_first(void **state)
{
	struct env *v = established(&plain_opts);
	struct out *o;

	PUT(v, .flags = ACK | FIN, .seq = 1, .ack = 1, .wnd = WND, .len = 10);
	assert_int_equal(v->rx_len, 10);
	assert_int_equal(next_out(v)->s.ack, 12);
	expect_event(v, TCP_EV_PEER_FIN, 0);
	assert_int_equal(tcp_conn_state(v->c), TCPS_CLOSE_WAIT);
	assert_int_equal(tcp_send(v->c, "late", 4), 0); /* half-closed: we may still send */
	assert_int_equal(next_out(v)->s.len, 4);
	assert_int_equal(tcp_close(v->c), 0);
	assert_int_equal(tcp_close(v->c), 0);
	o = next_out(v);
	assert_int_equal(o->s.flags & FIN, FIN);
	assert_int_equal(o->s.seq, 5);
	assert_int_equal(tcp_conn_state(v->c), TCPS_LAST_ACK);
	PUT(v, .flags = ACK, .seq = 12, .ack = 6, .wnd = WND);
	expect_event(v, TCP_EV_FIN_ACKED, 0);
	expect_event(v, TCP_EV_CLOSED, 0);
	assert_int_equal(tcp_send(v->c, "x", 1), -EPIPE);
	assert_int_equal(tcp_close(v->c), -EPIPE);
	assert_int_equal(tcp_abort(v->c), -EPIPE);
	no_event(v);
	env_free(v);
}

static void we_close_first(void **state)
{
	struct env *v = established(&plain_opts);

	assert_int_equal(tcp_send(v->c, "bye", 3), 0);
	assert_int_equal(tcp_close(v->c), 0);
	assert_int_equal(tcp_send(v->c, "x", 1), -EPIPE);
	assert_int_equal(next_out(v)->s.len, 3);
	assert_int_equal(next_out(v)->s.flags & FIN, FIN);
	PUT(v, .flags = ACK, .seq = 1, .ack = 5, .wnd = WND);
	expect_event(v, TCP_EV_FIN_ACKED, 0);
	assert_int_equal(tcp_conn_state(v->c), TCPS_FIN_WAIT_2);
	PUT(v, .flags = ACK | PSH, .seq = 1, .ack = 5, .wnd = WND, .len = 10); /* still received */
	assert_int_equal(v->rx_len, 10);
	assert_int_equal(next_out(v)->s.ack, 11);
	PUT(v, .flags = ACK | FIN, .seq = 11, .ack = 5, .wnd = WND);
	assert_int_equal(next_out(v)->s.ack, 12);
	expect_event(v, TCP_EV_PEER_FIN, 0);
	expect_event(v, TCP_EV_CLOSED, 0);
	env_free(v);
}

static void both_close(void **state)
{
	struct env *v = established(&plain_opts);

	tcp_close(v->c);
	drop_out(v);
	PUT(v, .flags = ACK | FIN, .seq = 1, .ack = 1, .wnd = WND);
	expect_event(v, TCP_EV_PEER_FIN, 0);
	assert_int_equal(tcp_conn_state(v->c), TCPS_CLOSING);
	assert_int_equal(next_out(v)->s.ack, 2);
	no_event(v);
	PUT(v, .flags = ACK, .seq = 2, .ack = 2, .wnd = WND);
	expect_event(v, TCP_EV_FIN_ACKED, 0);
	expect_event(v, TCP_EV_CLOSED, 0);
	env_free(v);
}

static void fin_before_its_data(void **state)
{
	struct env *v = established(&plain_opts);

	PUT(v, .flags = ACK | FIN, .seq = 101, .ack = 1, .wnd = WND);
	no_event(v);
	PUT(v, .flags = ACK, .seq = 1, .ack = 1, .wnd = WND, .len = 100);
	expect_event(v, TCP_EV_PEER_FIN, 0);
	assert_int_equal(v->rx_len, 100);
	next_out(v);
	assert_int_equal(next_out(v)->s.ack, 102);
	env_free(v);
}

static void fin_waits_for_its_data_to_be_taken(void **state)
{
	struct env *v = established(&plain_opts);

	v->rx_limit = 5;
	PUT(v, .flags = ACK | FIN, .seq = 1, .ack = 1, .wnd = WND, .len = 10);
	no_event(v);
	tcp_close(v->c);
	PUT(v, .flags = ACK, .seq = 12, .ack = 2, .wnd = WND);
	expect_event(v, TCP_EV_FIN_ACKED, 0);
	no_event(v);
	v->rx_limit = SIZE_MAX;
	tcp_rx_resume(v->c);
	assert_int_equal(v->rx_len, 10);
	expect_event(v, TCP_EV_PEER_FIN, 0);
	expect_event(v, TCP_EV_CLOSED, 0);
	env_free(v);
}

static void data_behind_fin_is_ignored(void **state)
{
	struct env *v = established(&plain_opts);

	PUT(v, .flags = ACK | FIN, .seq = 1, .ack = 1, .wnd = WND, .len = 10);
	PUT(v, .flags = ACK, .seq = 12, .ack = 1, .wnd = WND, .len = 10);
	assert_int_equal(v->rx_len, 10);
	env_free(v);
}

static void fin_wait_2_times_out(void **state)
{
	struct tcp_opts o = plain_opts;
	struct env *v;

	o.finwait_ms = 5000;
	v = established(&o);
	tcp_close(v->c);
	PUT(v, .flags = ACK, .seq = 1, .ack = 2, .wnd = WND);
	expect_event(v, TCP_EV_FIN_ACKED, 0);
	drop_out(v);
	advance(v, 4999 * MS);
	no_event(v);
	advance(v, MS);
	expect_event(v, TCP_EV_TIMEOUT, TCP_TIMEOUT_FINWAIT);
	assert_int_equal(next_out(v)->s.flags & RST, RST);
	env_free(v);
}

static void abort_sends_rst(void **state)
{
	struct env *v = established(&plain_opts);
	struct out *o;

	tcp_send(v->c, "abc", 3);
	drop_out(v);
	assert_int_equal(tcp_abort(v->c), 0);
	o = next_out(v);
	assert_int_equal(o->s.flags, RST | ACK);
	assert_int_equal(o->s.seq, 4); /* what a peer that got all takes at once */
	expect_event(v, TCP_EV_ABORTED, TCP_ABORT_LOCAL);
	assert_int_equal(tcp_engine_deadline(v->e), TCP_NO_DEADLINE);
	env_free(v);
}

static void close_in_syn_sent(void **state)
{
	struct env *v = env_new(NULL);

	open_conn(v, &plain_opts);
	drop_out(v);
	assert_int_equal(tcp_close(v->c), 0);
	expect_event(v, TCP_EV_ABORTED, TCP_ABORT_LOCAL);
	no_out(v);
	env_free(v);
}

static void free_resets_quietly(void **state)
{
	struct env *v = established(&plain_opts);

	tcp_conn_free(v->c);
	assert_int_equal(next_out(v)->s.flags & RST, RST);
	no_event(v);
	assert_null(tcp_conn_find(v->e, 1));
	open_conn(v, &plain_opts); /* the id is free at once */
	env_free(v);
}

static void free_inside_an_event(void **state)
{
	struct env *v = established(&plain_opts);

	v->free_on_event = true;
	PUT(v, .flags = RST, .seq = 1);
	expect_event(v, TCP_EV_PEER_RST, 0);
	assert_null(tcp_conn_find(v->e, 1));
	env_free(v);

	v = established(&plain_opts);
	v->free_on_event = true;
	PUT(v, .flags = ACK | FIN, .seq = 1, .ack = 1, .wnd = WND, .len = 5);
	expect_event(v, TCP_EV_PEER_FIN, 0);
	no_event(v);
	env_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(outside_window_is_answered),
		cmocka_unit_test(window_edges),
		cmocka_unit_test(old_data_in_front_is_cut),
		cmocka_unit_test(duplicate_is_acked_at_once),
		cmocka_unit_test(keepalive_probe_is_answered),
		cmocka_unit_test(answers_to_empty_segments_are_rationed),
		cmocka_unit_test(zero_window),
		cmocka_unit_test(no_silly_window),
		cmocka_unit_test(right_edge_never_moves_back),
		cmocka_unit_test(window_does_not_creep),
		cmocka_unit_test(paws_drops_old_timestamp),
		cmocka_unit_test(paws_expires_after_24_days),
		cmocka_unit_test(missing_timestamp_is_dropped),
		cmocka_unit_test(ts_recent_only_from_the_left_edge),
		cmocka_unit_test(rst_exact_resets),
		cmocka_unit_test(rst_in_window_is_challenged),
		cmocka_unit_test(challenges_are_limited),
		cmocka_unit_test(syn_is_challenged),
		cmocka_unit_test(no_ack_bit_is_dropped),
		cmocka_unit_test(ack_of_the_future_is_challenged),
		cmocka_unit_test(ack_of_the_past),
		cmocka_unit_test(window_only_from_newer_segments),
		cmocka_unit_test(out_of_order_is_held_and_sacked),
		cmocka_unit_test(dsack),
		cmocka_unit_test(no_sack_when_not_negotiated),
		cmocka_unit_test(overlapping_pieces),
		cmocka_unit_test(rx_left_over),
		cmocka_unit_test(reass_memory_is_bounded),
		cmocka_unit_test(every_second_segment_is_acked),
		cmocka_unit_test(lone_segment_is_acked_within_40ms),
		cmocka_unit_test(push_is_acked_at_once),
		cmocka_unit_test(batch_is_acked_once),
		cmocka_unit_test(ack_rides_on_data),
		cmocka_unit_test(gap_filler_is_acked_at_once),
		cmocka_unit_test(peer_closes_first),
		cmocka_unit_test(we_close_first),
		cmocka_unit_test(both_close),
		cmocka_unit_test(fin_before_its_data),
		cmocka_unit_test(fin_waits_for_its_data_to_be_taken),
		cmocka_unit_test(data_behind_fin_is_ignored),
		cmocka_unit_test(fin_wait_2_times_out),
		cmocka_unit_test(abort_sends_rst),
		cmocka_unit_test(close_in_syn_sent),
		cmocka_unit_test(free_resets_quietly),
		cmocka_unit_test(free_inside_an_event),
	};

	return cmocka_run_group_tests_name("tcp: input", tests, NULL, NULL);
}
