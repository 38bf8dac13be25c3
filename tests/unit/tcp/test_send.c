// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sending: Nagle, silly windows, probes, records, congestion control, recovery, retransmission
 * time-outs, keep-alive.
 */
#include <errno.h>

#include "invariants.h"
#include "peer.h"

#define WND 65535u

static struct tcp_conn_info info(struct env *v)
{
	struct tcp_conn_info i;

	tcp_conn_info(v->c, &i);
	return i;
}

/* An ACK with one SACK block */
static void sack(struct env *v, uint32_t ack, uint32_t start, uint32_t end)
{
	PUT(v, .flags = ACK, .seq = 1, .ack = ack, .wnd = WND, .ts = info(v).timestamps,
	    .tsval = peer_tsval(v), .nsack = 1, .sack = {{start, end}});
}

static const struct tcp_opts sack_opts = {.rcv_wnd = 60000, .sack = true};

/* ---------------------------------------------------------------- stream */

static void nagle(void **state)
{
	struct env *v = established(&plain_opts);

	tcp_send(v->c, "a", 1);
	assert_int_equal(next_out(v)->s.len, 1); /* nothing under way: at once */
	tcp_send(v->c, "b", 1);
	tcp_send(v->c, "c", 1);
	no_out(v); /* RFC 9293 3.7.4 */
	peer_ack(v, 1, 2, WND);
	assert_int_equal(next_out(v)->s.len, 2);
	env_free(v);
}

static void nodelay(void **state)
{
	struct tcp_opts o = plain_opts;
	struct env *v;

	o.nodelay = true;
	v = established(&o);
	tcp_send(v->c, "a", 1);
	tcp_send(v->c, "b", 1);
	assert_int_equal(next_out(v)->s.len, 1);
	assert_int_equal(next_out(v)->s.len, 1);
	env_free(v);
}

static void stream_is_cut_by_mss(void **state)
{
	struct env *v = established(&plain_opts);
	struct out *o;

	assert_int_equal(tcp_send(v->c, bytes(), 3000), 0);
	o = next_out(v);
	assert_int_equal(o->s.len, 1460);
	assert_int_equal(o->s.flags, ACK);
	assert_int_equal(next_out(v)->s.len, 1460);
	no_out(v); /* the rest is small, and data is under way */
	peer_ack(v, 1, 2921, WND);
	o = next_out(v);
	assert_int_equal(o->s.len, 80);
	assert_int_equal(o->s.flags, ACK | PSH);
	assert_memory_equal(o->s.data, bytes() + 2920, 80);
	env_free(v);
}

static void stream_buffer_is_bounded(void **state)
{
	struct env *v = established(&plain_opts);

	assert_int_equal(tcp_send(v->c, bytes(), 65536), 0);
	assert_int_equal(tcp_send_room(v->c), 0);
	assert_int_equal(tcp_send(v->c, "x", 1), -ENOBUFS);
	assert_int_equal(tcp_send(v->c, bytes(), 65537), -EMSGSIZE);
	assert_int_equal(v->npull, 0);
	for (uint32_t got = 0; got < 65536;) {
		while (v->taken < v->nout) {
			struct out *o = next_out(v);

			assert_memory_equal(o->s.data, bytes() + got, o->s.len);
			got += o->s.len;
		}
		drop_out(v);
		peer_ack(v, 1, 1 + got, WND);
	}
	assert_true(v->npull >= 1); /* told that there is room */
	assert_int_equal(tcp_send_room(v->c), 65536);
	env_free(v);
}

static void stream_before_established(void **state)
{
	struct env *v = env_new(NULL);

	open_conn(v, &plain_opts);
	assert_int_equal(next_out(v)->s.flags, SYN);
	assert_int_equal(tcp_send(v->c, "hello", 5), 0);
	no_out(v);
	PUT(v, .flags = SYN | ACK, .ack = 1, .wnd = WND, .mss = 1460);
	{
		struct out *o = next_out(v);

		assert_int_equal(o->s.len, 5);
		assert_int_equal(o->s.ack, 1);
	}
	no_out(v);
	env_free(v);
}

/* ---------------------------------------------------------------- records */

static void one_record_one_segment(void **state)
{
	struct env *v = established(&plain_opts);
	uint32_t lens[3] = {100, 1460, 7}, seq = 1;

	for (int i = 0; i < 3; i++)
		send_records(v, 1, lens[i]);
	for (int i = 0; i < 3; i++) {
		struct out *o = next_out(v);

		assert_int_equal(o->s.len, lens[i]); /* never joined, never delayed */
		assert_int_equal(o->s.seq, seq);
		assert_int_equal(o->s.flags, ACK);
		seq += lens[i];
	}
	assert_int_equal(v->nacked, 0);
	peer_ack(v, 1, 102, WND);
	assert_int_equal(v->nacked, 1); /* the second only in part */
	peer_ack(v, 1, 1568, WND);
	assert_int_equal(v->nacked, 3);
	assert_true(v->acked[0] < v->acked[1] && v->acked[1] < v->acked[2]);
	env_free(v);
}

static void push_flag(void **state)
{
	struct tcp_record r = {.cookie = {5}, .len = 10};
	struct env *v = established(&plain_opts);

	assert_int_equal(tcp_send_record(v->c, &r, TCP_REC_PUSH), 0);
	assert_int_equal(next_out(v)->s.flags, ACK | PSH);
	env_free(v);
}

static void stream_goes_before_records(void **state)
{
	struct env *v = established(&plain_opts);
	struct out *o;

	assert_int_equal(tcp_send(v->c, "reply", 5), 0);
	assert_int_equal(tcp_send(v->c, "more", 4), 0); /* Nagle holds it */
	send_records(v, 1, 50);
	assert_int_equal(tcp_send(v->c, "x", 1), -EBUSY);
	o = next_out(v);
	assert_memory_equal(o->s.data, "reply", 5);
	o = next_out(v); /* with a record behind it there is nothing to wait for */
	assert_int_equal(o->s.len, 4);
	o = next_out(v);
	assert_int_equal(o->s.len, 50);
	assert_int_equal(o->s.seq, 10);
	peer_ack(v, 1, 6, WND);
	assert_non_null(v->c->sbuf);
	advance(v, 300 * MS); /* the rest of the stream goes again, then the record */
	peer_ack(v, 1, 10, WND);
	assert_null(v->c->sbuf); /* no more needed */
	peer_ack(v, 1, 60, WND);
	assert_int_equal(v->nacked, 1);
	env_free(v);
}

static void record_errors(void **state)
{
	struct env *v = established(&plain_opts);
	struct tcp_record r = {.len = 0};
	int n;

	assert_int_equal(tcp_send_record(v->c, &r, 0), -EINVAL);
	r.len = 65536;
	assert_int_equal(tcp_send_record(v->c, &r, 0), -EINVAL);
	r.len = 10;
	for (n = 0; tcp_send_record(v->c, &r, 0) == 0; n++)
		;
	assert_int_equal(n, 1023); /* one descriptor is kept for the FIN */
	assert_int_equal(tcp_send_record(v->c, &r, 0), -ENOBUFS);
	assert_int_equal(tcp_record_room(v->c).records, 0);
	assert_int_equal(tcp_close(v->c), 0);
	assert_int_equal(tcp_send_record(v->c, &r, 0), -EPIPE);
	env_free(v);
}

static void gather_failure_aborts(void **state)
{
	struct env *v = established(&plain_opts);

	v->gather_rc = -EFAULT;
	send_records(v, 1, 50);
	expect_event(v, TCP_EV_ABORTED, TCP_ABORT_GATHER);
	assert_int_equal(next_out(v)->s.flags & RST, RST);
	no_out(v);
	env_free(v);
}

static void retransmission_gathers_again(void **state)
{
	struct env *v = established(&plain_opts);
	struct out first;

	send_records(v, 1, 50);
	first = *next_out(v);
	assert_int_equal(v->gathers, 1);
	advance(v, 200 * MS);
	assert_int_equal(v->gathers, 2);
	{
		struct out *o = next_out(v);

		assert_int_equal(o->s.seq, first.s.seq);
		assert_int_equal(o->s.len, 50);
		assert_memory_equal(o->s.data, first.frame + first.frame_len - 50, 50);
	}
	tcp_abort(v->c);
	advance(v, 100 * SECOND);
	assert_int_equal(v->gathers, 2); /* after the end nothing is touched */
	env_free(v);
}

static void record_longer_than_mss_is_cut(void **state)
{
	struct env *v = established(&plain_opts);

	send_records(v, 1, 3000);
	assert_int_equal(next_out(v)->s.len, 1460);
	assert_int_equal(next_out(v)->s.len, 1460);
	assert_int_equal(next_out(v)->s.len, 80);
	peer_ack(v, 1, 3001, WND);
	assert_int_equal(v->nacked, 1);
	env_free(v);
}

static uint32_t pulled;

static void pull_some(struct env *v)
{
	struct tcp_room room = tcp_record_room(v->c);

	while (room.records && (int32_t)room.bytes > 0) {
		send_records(v, 1, 1000);
		pulled += 1000;
		room.records--;
		room.bytes -= room.bytes < 1000 ? room.bytes : 1000;
	}
	tcp_pull(v->c);
}

static void pull_follows_the_window(void **state)
{
	struct env *v = established(&plain_opts);

	pulled = 0;
	v->on_pull = pull_some;
	tcp_pull(v->c);
	/* IW10 (RFC 6928): 14600 bytes, and one record may stand over */
	assert_int_equal(v->nout, 14);
	assert_int_equal(pulled, 15000);
	drop_out(v);
	peer_ack(v, 1, 2001, WND);
	/* slow start: two records out for each one acknowledged */
	assert_in_range(v->nout, 3, 5);
	env_free(v);
}

static void pull_without_data_does_not_spin(void **state)
{
	struct env *v = established(&plain_opts);

	tcp_pull(v->c);
	assert_int_equal(v->npull, 1);
	tcp_pull(v->c);
	assert_int_equal(v->npull, 2);
	env_free(v);
}

/* ---------------------------------------------------------------- the peer's window */

static void window_is_kept(void **state)
{
	struct env *v = established(&plain_opts);

	peer_ack(v, 1, 1, 3000);
	send_records(v, 5, 1000);
	assert_int_equal(v->nout, 3);
	drop_out(v);
	peer_ack(v, 1, 1001, 3000);
	assert_int_equal(v->nout, 1);
	env_free(v);
}

static void zero_window_probe(void **state)
{
	struct env *v = established(&plain_opts);
	struct out *o;

	peer_ack(v, 1, 1, 0);
	assert_true(tcp_record_room(v->c).bytes > 0); /* one, for the probe */
	send_records(v, 1, 500);
	no_out(v);
	advance(v, SECOND);
	o = next_out(v);
	assert_int_equal(o->s.len, 1); /* RFC 9293 3.8.6.1: at least one byte */
	assert_int_equal(o->s.seq, 1);
	peer_ack(v, 1, 1, 0); /* not taken */
	advance(v, 400 * SECOND);
	no_event(v);
	drop_out(v);
	peer_ack(v, 1, 1, 1000); /* open: the record goes whole */
	o = next_out(v);
	assert_int_equal(o->s.seq, 1);
	assert_int_equal(o->s.len, 500);
	peer_ack(v, 1, 501, 1000);
	assert_int_equal(v->nacked, 1);
	env_free(v);
}

static void probe_byte_taken(void **state)
{
	struct env *v = established(&plain_opts);
	struct out *o;

	peer_ack(v, 1, 1, 0);
	send_records(v, 1, 500);
	advance(v, SECOND);
	drop_out(v);
	peer_ack(v, 1, 2, 1000);
	o = next_out(v);
	assert_int_equal(o->s.seq, 2);
	assert_int_equal(o->s.len, 499);
	peer_ack(v, 1, 501, 1000);
	assert_int_equal(v->nacked, 1);
	no_out(v);
	env_free(v);
}

static void persist_gives_up_on_silence(void **state)
{
	struct tcp_opts opts = plain_opts;
	struct env *v;

	opts.rtx_retries = 4;
	v = established(&opts);
	peer_ack(v, 1, 1, 0);
	send_records(v, 1, 500);
	for (int i = 0; i < 20; i++) { /* as long as the peer answers: never (MUST-37) */
		advance(v, 2 * SECOND);
		peer_ack(v, 1, 1, 0);
	}
	no_event(v);
	advance(v, 1000 * SECOND);
	expect_event(v, TCP_EV_TIMEOUT, TCP_TIMEOUT_PERSIST);
	env_free(v);
}

static void silly_window_sender(void **state)
{
	struct env *v = established(&plain_opts);

	peer_ack(v, 1, 1, 100);
	send_records(v, 1, 1000);
	no_out(v); /* far below half the largest window seen (65535) */
	advance(v, SECOND);
	assert_int_equal(next_out(v)->s.len, 100); /* the override time-out */
	peer_ack(v, 1, 101, 2000);
	assert_int_equal(next_out(v)->s.len, 900);
	env_free(v);
}

/* ---------------------------------------------------------------- congestion control */

static void initial_window(void **state)
{
	struct env *v = established(&plain_opts);

	send_records(v, 40, 1460);
	assert_int_equal(v->nout, 10); /* RFC 6928 */
	drop_out(v);
	peer_ack(v, 1, 2921, WND);
	assert_int_equal(v->nout, 4); /* slow start */
	env_free(v);
}

static void cwnd_grows_only_when_used(void **state)
{
	struct env *v = established(&plain_opts);

	for (uint32_t i = 0; i < 100; i++) {
		send_records(v, 1, 100);
		peer_ack(v, 1, 1 + (i + 1) * 100, WND);
	}
	assert_int_equal(info(v).snd_cwnd, 14600);
	env_free(v);
}

static void sack_recovery(void **state)
{
	struct env *v = established(&sack_opts);
	struct out *o;

	send_records(v, 10, 1000);
	drop_out(v);
	advance(v, 10 * MS);
	sack(v, 1, 1001, 2001);
	sack(v, 1, 1001, 3001);
	no_out(v); /* two: may be reordering */
	sack(v, 1, 1001, 4001);
	o = next_out(v); /* RFC 6675: three above it */
	assert_int_equal(o->s.seq, 1);
	assert_int_equal(o->s.len, 1000);
	no_out(v);
	assert_int_equal(info(v).snd_ssthresh, 8000); /* the round trip is as short as ever */
	assert_int_equal(v->nacked, 0);
	peer_ack(v, 1, 4001, WND);
	assert_int_equal(v->nacked, 4);
	peer_ack(v, 1, 10001, WND);
	assert_int_equal(v->nacked, 10);
	assert_int_equal(info(v).snd_cwnd, 8000);
	assert_int_equal(tcp_engine_stats(v->e)->rtx_segs, 1);
	env_free(v);
}

/* What is kept after a loss is min RTT / RTT, between one half and four fifths */
static void backoff_follows_the_queue(void **state)
{
	static const struct {
		uint64_t rtt_ms;
		uint32_t low, high; /* of 20000 */
	} cases[] = {{10, 16000, 16000}, {15, 13000, 14000}, {40, 10000, 10000}};

	for (unsigned int i = 0; i < 3; i++) {
		struct env *v = established(&sack_opts); /* 10 ms */

		for (uint32_t n = 0; n < 60; n++) { /* the smoothed value gets there */
			send_records(v, 1, 100);
			advance(v, cases[i].rtt_ms * MS);
			peer_ack(v, 1, 1 + (n + 1) * 100, WND);
		}
		drop_out(v);
		send_records(v, 10, 1460);
		advance(v, cases[i].rtt_ms * MS);
		peer_ack(v, 1, 6001 + 14600, WND); /* slow start makes room for 20 */
		drop_out(v);
		send_records(v, 20, 1000);
		drop_out(v);
		advance(v, cases[i].rtt_ms * MS);
		sack(v, 1, 20601 + 1000, 20601 + 4000);
		assert_int_equal(next_out(v)->s.seq, 20601);
		assert_in_range(info(v).snd_ssthresh, cases[i].low, cases[i].high);
		env_free(v);
	}
}

static void sack_two_holes(void **state)
{
	struct env *v = established(&sack_opts);

	send_records(v, 10, 1000);
	drop_out(v);
	advance(v, 10 * MS);
	PUT(v, .flags = ACK, .seq = 1, .ack = 1, .wnd = WND, .nsack = 2,
	    .sack = {{6001, 10001}, {2001, 5001}});
	assert_int_equal(next_out(v)->s.seq, 1);
	assert_int_equal(next_out(v)->s.seq, 1001);
	assert_int_equal(next_out(v)->s.seq, 5001); /* not what was SACKed */
	no_out(v);
	peer_ack(v, 1, 10001, WND);
	assert_int_equal(v->nacked, 10);
	env_free(v);
}

static void lost_retransmission_is_found(void **state)
{
	struct env *v = established(&sack_opts);

	send_records(v, 5, 1000);
	drop_out(v);
	advance(v, 10 * MS);
	sack(v, 1, 1001, 5001);
	assert_int_equal(next_out(v)->s.seq, 1);
	send_records(v, 3, 1000);
	assert_int_equal(next_out(v)->s.seq, 5001);
	drop_out(v);
	advance(v, 10 * MS);
	/* what was sent after the retransmission arrived, it did not: RFC 8985, no time-out */
	sack(v, 1, 1001, 6001);
	assert_int_equal(next_out(v)->s.seq, 1);
	assert_int_equal(tcp_engine_stats(v->e)->rtx_timeouts, 0);
	env_free(v);
}

static void newreno_recovery(void **state)
{
	struct env *v = established(&plain_opts);

	send_records(v, 10, 1000);
	drop_out(v);
	peer_ack(v, 1, 1, WND);
	peer_ack(v, 1, 1, WND);
	no_out(v);
	peer_ack(v, 1, 1, WND);
	assert_int_equal(next_out(v)->s.seq, 1); /* RFC 5681 3.2: third duplicate */
	no_out(v);
	for (int i = 0; i < 5; i++)
		peer_ack(v, 1, 1, WND);
	drop_out(v);
	peer_ack(v, 1, 4001, WND); /* RFC 6582: partial, the next hole goes at once */
	assert_int_equal(next_out(v)->s.seq, 4001);
	peer_ack(v, 1, 10001, WND);
	assert_int_equal(v->nacked, 10);
	assert_int_equal(tcp_engine_stats(v->e)->rtx_fast, 1);
	env_free(v);
}

static void data_is_no_duplicate_ack(void **state)
{
	struct env *v = established(&plain_opts);

	send_records(v, 10, 1000);
	drop_out(v);
	for (uint32_t i = 0; i < 10; i++)
		PUT(v, .flags = ACK, .seq = 1 + i * 10, .ack = 1, .wnd = WND, .len = 10);
	peer_ack(v, 101, 1, WND - 1); /* nor is a window update (RFC 5681 2) */
	peer_ack(v, 101, 1, WND - 2);
	peer_ack(v, 101, 1, WND - 3);
	assert_int_equal(tcp_engine_stats(v->e)->rtx_segs, 0);
	env_free(v);
}

static void bogus_sack_blocks(void **state)
{
	struct env *v = established(&sack_opts);

	send_records(v, 10, 1000);
	drop_out(v);
	advance(v, 10 * MS);
	sack(v, 1, 20001, 30001); /* never sent */
	sack(v, 1, 5001, 1001); /* upside down */
	sack(v, 1, (uint32_t)-9000, 2001); /* from before the window */
	sack(v, 1, 1, 10001); /* the whole window: contradicts its own ACK */
	sack(v, 1, 1500, 1800); /* inside one segment: no use */
	assert_int_equal(tcp_engine_stats(v->e)->rtx_segs, 0);
	peer_ack(v, 1, 10001, WND);
	assert_int_equal(v->nacked, 10);
	env_free(v);
}

/* ---------------------------------------------------------------- time-outs (RFC 6298) */

static void rto_backs_off_and_gives_up(void **state)
{
	struct tcp_opts opts = plain_opts;
	struct env *v;
	uint64_t wait = 200 * MS; /* the minimum: the handshake took 10 ms */

	opts.rtx_retries = 3;
	v = established(&opts);
	send_records(v, 3, 1460);
	drop_out(v);
	for (int i = 0; i < 3; i++) {
		advance(v, wait - MS);
		no_out(v);
		advance(v, MS);
		assert_int_equal(next_out(v)->s.seq, 1); /* cwnd is one segment */
		wait *= 2;
	}
	assert_true(info(v).snd_cwnd <= 1460);
	no_event(v);
	drop_out(v);
	advance(v, wait);
	expect_event(v, TCP_EV_TIMEOUT, TCP_TIMEOUT_RTX);
	assert_int_equal(next_out(v)->s.flags & RST, RST);
	assert_int_equal(tcp_engine_deadline(v->e), TCP_NO_DEADLINE);
	env_free(v);
}

/* A delayed ACK that is due in the same instant must not put the retransmission off */
static void rto_and_delayed_ack_together(void **state)
{
	struct env *v = established(&plain_opts);

	send_records(v, 1, 100);
	drop_out(v);
	v->now += 160 * MS;
	PUT(v, .flags = ACK, .seq = 1, .ack = 1, .wnd = WND, .len = 10);
	no_out(v);
	v->now += 40 * MS;
	tcp_engine_run(v->e, v->now);
	assert_int_equal(next_out(v)->s.len, 100);
	assert_int_equal(v->out[0].s.ack, 11);
	env_free(v);
}

static void rto_after_syn_loss_is_3s(void **state)
{
	struct env *v = env_new(NULL);

	open_conn(v, &plain_opts);
	advance(v, SECOND + MS);
	PUT(v, .flags = SYN | ACK, .ack = 1, .wnd = WND, .mss = 1460);
	drop_out(v);
	assert_int_equal(info(v).rto_ns, 3 * SECOND); /* RFC 6298 5.7 */
	assert_int_equal(info(v).snd_cwnd, 1460); /* RFC 5681 3.1 */
	env_free(v);
}

static void rto_sends_all_again_in_order(void **state)
{
	struct env *v = established(&plain_opts);

	send_records(v, 4, 1000);
	drop_out(v);
	advance(v, 200 * MS);
	assert_int_equal(next_out(v)->s.seq, 1);
	no_out(v);
	peer_ack(v, 1, 1001, WND); /* slow start: two */
	assert_int_equal(next_out(v)->s.seq, 1001);
	assert_int_equal(next_out(v)->s.seq, 2001);
	peer_ack(v, 1, 4001, WND);
	assert_int_equal(v->nacked, 4);
	no_out(v);
	advance(v, 10 * SECOND);
	no_out(v);
	env_free(v);
}

static void karn(void **state)
{
	struct env *v = established(&plain_opts);
	uint64_t srtt = info(v).srtt_ns;

	send_records(v, 1, 100);
	advance(v, 250 * MS);
	peer_ack(v, 1, 101, WND); /* of which transmission? No sample */
	assert_int_equal(info(v).srtt_ns, srtt);
	env_free(v);
}

/* What arrived behind a hole is acknowledged when the hole is filled: its age is no round trip */
static void no_sample_behind_a_hole(void **state)
{
	struct env *v = established(&plain_opts);
	uint64_t srtt = info(v).srtt_ns;

	send_records(v, 3, 1000);
	advance(v, 210 * MS); /* the first goes again */
	peer_ack(v, 1, 3001, WND);
	assert_int_equal(info(v).srtt_ns, srtt);
	assert_int_equal(info(v).rto_ns, 200 * MS);
	env_free(v);
}

static void partly_sent_record_is_sent_again(void **state)
{
	struct env *v = established(&plain_opts);

	peer_ack(v, 1, 1, 40000);
	send_records(v, 1, 65000); /* longer than the window: goes in pieces */
	assert_int_equal(v->nout, 10);
	drop_out(v);
	for (int i = 0; i < 3; i++)
		peer_ack(v, 1, 1, 40000);
	assert_int_equal(next_out(v)->s.seq, 14601); /* RFC 3042: new data for the first two */
	assert_int_equal(next_out(v)->s.seq, 16061);
	assert_int_equal(next_out(v)->s.seq, 1);
	assert_null(conn_fault(v->c));
	for (uint32_t ack = 1461; v->nacked == 0; ack = ack + 4000 < 65001 ? ack + 4000 : 65001) {
		uint32_t sent = info(v).snd_nxt - v->iss;

		peer_ack(v, 1, ack < sent ? ack : sent, 40000);
		assert_null(conn_fault(v->c));
		drop_out(v);
	}
	env_free(v);
}

static void rtt_is_measured(void **state)
{
	struct env *v = established(&plain_opts);

	for (uint32_t i = 0; i < 40; i++) {
		send_records(v, 1, 100);
		advance(v, 150 * MS);
		peer_ack(v, 1, 1 + (i + 1) * 100, WND);
	}
	assert_in_range(info(v).srtt_ns, 148 * MS, 150 * MS);
	assert_in_range(info(v).rto_ns, 200 * MS, 260 * MS);
	env_free(v);
}

static void sack_renege(void **state)
{
	struct env *v = established(&sack_opts);

	send_records(v, 4, 1000);
	drop_out(v);
	sack(v, 1, 2001, 3001);
	peer_ack(v, 1, 2001, WND); /* stops in front of what it had SACKed */
	drop_out(v);
	advance(v, 2 * SECOND);
	assert_true(v->nout >= 1);
	assert_int_equal(v->out[v->nout - 1].s.seq, 2001); /* RFC 2018 8: sent again */
	peer_ack(v, 1, 4001, WND);
	assert_int_equal(v->nacked, 4);
	env_free(v);
}

static void spurious_timeout_is_undone(void **state)
{
	struct env *v = established(&full_opts);
	uint32_t first;

	send_records(v, 5, 1000);
	first = v->out[0].s.tsval;
	drop_out(v);
	advance(v, 300 * MS);
	assert_true(v->nout >= 1);
	/* the ACK echoes the first transmission: it was only slow (RFC 4015) */
	PUT(v, .flags = ACK, .seq = 1, .ack = 2001, .wnd = WND, .ts = true, .tsval = peer_tsval(v),
	    .tsecr = first);
	assert_int_equal(tcp_engine_stats(v->e)->rtx_spurious, 1);
	assert_in_range(info(v).snd_cwnd, 14480, 20000);
	PUT(v, .flags = ACK, .seq = 1, .ack = 5001, .wnd = WND, .ts = true, .tsval = peer_tsval(v),
	    .tsecr = first);
	assert_int_equal(v->nacked, 5);
	env_free(v);
}

/* RFC 5682: without timestamps two new segments are sent to find out */
static struct env *frto(void)
{
	struct env *v = established(&sack_opts);

	send_records(v, 5, 1000);
	drop_out(v);
	advance(v, 400 * MS); /* a tail loss probe, then the time-out */
	assert_int_equal(tcp_engine_stats(v->e)->rtx_timeouts, 1);
	drop_out(v);
	send_records(v, 5, 1000);
	no_out(v); /* cwnd is one segment */
	peer_ack(v, 1, 1001, WND);
	assert_int_equal(next_out(v)->s.seq, 5001);
	assert_int_equal(next_out(v)->s.seq, 6001);
	no_out(v);
	return v;
}

static void frto_undoes(void **state)
{
	struct env *v = frto();

	peer_ack(v, 1, 2001, WND); /* sent but once, and it has arrived */
	assert_int_equal(tcp_engine_stats(v->e)->rtx_spurious, 1);
	assert_in_range(info(v).snd_cwnd, 14600, 20000);
	assert_int_equal(next_out(v)->s.seq, 7001);
	assert_int_equal(next_out(v)->s.seq, 8001);
	assert_int_equal(next_out(v)->s.seq, 9001);
	no_out(v); /* nothing is sent again */
	env_free(v);
}

static void frto_finds_loss(void **state)
{
	struct env *v = frto();

	sack(v, 1001, 5001, 6001); /* only the new one arrived */
	assert_int_equal(tcp_engine_stats(v->e)->rtx_spurious, 0);
	assert_int_equal(next_out(v)->s.seq, 1001);
	assert_true(info(v).snd_cwnd < 5000);
	env_free(v);
}

/* Nothing new to send: as ever after a time-out */
static void frto_without_new_data(void **state)
{
	struct env *v = established(&sack_opts);

	send_records(v, 5, 1000);
	drop_out(v);
	advance(v, 400 * MS);
	assert_int_equal(tcp_engine_stats(v->e)->rtx_timeouts, 1);
	drop_out(v);
	peer_ack(v, 1, 1001, WND);
	assert_int_equal(next_out(v)->s.seq, 1001);
	assert_int_equal(tcp_engine_stats(v->e)->rtx_spurious, 0);
	env_free(v);
}

/* With SACK no new data is needed: what had arrived before the time-out would have been SACKed */
static void frto_by_sack(void **state)
{
	struct env *v = established(&sack_opts);

	send_records(v, 5, 1000);
	drop_out(v);
	advance(v, 400 * MS);
	assert_int_equal(tcp_engine_stats(v->e)->rtx_timeouts, 1);
	drop_out(v);
	peer_ack(v, 1, 3001, WND);
	assert_int_equal(tcp_engine_stats(v->e)->rtx_spurious, 1);
	no_out(v);
	env_free(v);
}

/* RFC 8985 6.3: what was sent just before the time-out is not overdue */
static void timeout_spares_the_young(void **state)
{
	static const struct tcp_opts opts = {.rcv_wnd = 60000, .sack = true, .timestamps = true};
	struct env *v = established(&opts);
	uint32_t again;

	send_records(v, 3, 1000);
	advance(v, 219 * MS); /* a tail loss probe after 20 ms, which starts the RTO again */
	send_records(v, 2, 1000);
	advance(v, 2 * MS);
	assert_int_equal(tcp_engine_stats(v->e)->rtx_timeouts, 1);
	again = v->out[v->nout - 1].s.tsval;
	drop_out(v);
	advance(v, 7 * MS);
	PUT(v, .flags = ACK, .seq = 1, .ack = 3001, .wnd = WND, .ts = true, .tsval = peer_tsval(v),
	    .tsecr = again);
	assert_int_equal(tcp_engine_stats(v->e)->rtx_spurious, 0);
	no_out(v);
	peer_ack(v, 1, 5001, WND);
	assert_int_equal(v->nacked, 5);
	assert_int_equal(tcp_engine_stats(v->e)->rtx_segs, 2); /* the probe and the first */
	env_free(v);
}

/* RFC 5682 is for the first time-out: a second one leaves no doubt */
static void no_frto_after_two_timeouts(void **state)
{
	struct env *v = established(&sack_opts);

	send_records(v, 5, 1000);
	advance(v, 10 * SECOND);
	assert_true(tcp_engine_stats(v->e)->rtx_timeouts > 1);
	send_records(v, 5, 1000);
	drop_out(v);
	peer_ack(v, 1, 1001, WND);
	assert_int_equal(next_out(v)->s.seq, 1001);
	env_free(v);
}

static void tail_loss_probe(void **state)
{
	struct env *v = established(&sack_opts);

	/* some round trips of 10 ms first */
	for (uint32_t i = 0; i < 20; i++) {
		send_records(v, 1, 100);
		advance(v, 10 * MS);
		peer_ack(v, 1, 1 + (i + 1) * 100, WND);
	}
	drop_out(v);
	send_records(v, 3, 1000);
	drop_out(v);
	advance(v, 35 * MS); /* RFC 8985 7.2: 2 * SRTT, far before the RTO */
	assert_int_equal(next_out(v)->s.seq, 4001);
	assert_int_equal(tcp_engine_stats(v->e)->rtx_probes, 1);
	sack(v, 2001, 4001, 5001); /* the probe's SACK shows the first two lost */
	advance(v, 5 * MS);
	assert_int_equal(next_out(v)->s.seq, 2001);
	assert_int_equal(tcp_engine_stats(v->e)->rtx_timeouts, 0);
	env_free(v);
}

static void fin_is_retransmitted(void **state)
{
	struct env *v = established(&plain_opts);

	tcp_close(v->c);
	assert_int_equal(next_out(v)->s.flags, FIN | ACK);
	advance(v, 200 * MS);
	assert_int_equal(next_out(v)->s.flags, FIN | ACK);
	peer_ack(v, 1, 2, WND);
	expect_event(v, TCP_EV_FIN_ACKED, 0);
	env_free(v);
}

static void idle_restarts_from_initial_window(void **state)
{
	struct env *v = established(&plain_opts);
	uint32_t end = 1;

	for (int i = 0; i < 3; i++) {
		send_records(v, 20, 1460);
		end += 20 * 1460;
		peer_ack(v, 1, end - 10 * 1460, WND);
		peer_ack(v, 1, end, WND);
	}
	assert_in_range(info(v).snd_cwnd, 14601, 1000000);
	drop_out(v);
	advance(v, 10 * SECOND);
	send_records(v, 40, 1460);
	assert_int_equal(v->nout, 10); /* RFC 5681 4.1 */
	env_free(v);
}

/* ---------------------------------------------------------------- keep-alive */

static void keepalive(void **state)
{
	struct tcp_opts o = plain_opts;
	struct env *v;

	o.keepalive = true;
	o.keep_idle_ms = 10000;
	o.keep_intvl_ms = 1000;
	o.keep_count = 3;
	v = established(&o);
	advance(v, 9999 * MS);
	no_out(v);
	advance(v, MS);
	{
		struct out *p = next_out(v);

		assert_int_equal(p->s.seq, 0); /* RFC 9293 3.8.4: SND.NXT - 1 */
		assert_int_equal(p->s.len, 0);
	}
	peer_ack(v, 1, 1, WND); /* alive: it starts anew */
	advance(v, 9999 * MS);
	no_out(v);
	advance(v, 2 * SECOND + MS);
	drop_out(v);
	no_event(v);
	advance(v, SECOND);
	expect_event(v, TCP_EV_TIMEOUT, TCP_TIMEOUT_KEEPALIVE);
	assert_int_equal(next_out(v)->s.flags & RST, RST);
	env_free(v);
}

static void idle_needs_no_timer(void **state)
{
	struct env *v = established(&full_opts);

	send_records(v, 1, 100);
	peer_ack(v, 1, 101, WND);
	advance(v, SECOND);
	assert_int_equal(tcp_engine_deadline(v->e), TCP_NO_DEADLINE);
	env_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nagle),
		cmocka_unit_test(nodelay),
		cmocka_unit_test(stream_is_cut_by_mss),
		cmocka_unit_test(stream_buffer_is_bounded),
		cmocka_unit_test(stream_before_established),
		cmocka_unit_test(one_record_one_segment),
		cmocka_unit_test(push_flag),
		cmocka_unit_test(stream_goes_before_records),
		cmocka_unit_test(record_errors),
		cmocka_unit_test(gather_failure_aborts),
		cmocka_unit_test(retransmission_gathers_again),
		cmocka_unit_test(record_longer_than_mss_is_cut),
		cmocka_unit_test(pull_follows_the_window),
		cmocka_unit_test(pull_without_data_does_not_spin),
		cmocka_unit_test(window_is_kept),
		cmocka_unit_test(zero_window_probe),
		cmocka_unit_test(probe_byte_taken),
		cmocka_unit_test(persist_gives_up_on_silence),
		cmocka_unit_test(silly_window_sender),
		cmocka_unit_test(initial_window),
		cmocka_unit_test(cwnd_grows_only_when_used),
		cmocka_unit_test(sack_recovery),
		cmocka_unit_test(backoff_follows_the_queue),
		cmocka_unit_test(sack_two_holes),
		cmocka_unit_test(lost_retransmission_is_found),
		cmocka_unit_test(newreno_recovery),
		cmocka_unit_test(data_is_no_duplicate_ack),
		cmocka_unit_test(bogus_sack_blocks),
		cmocka_unit_test(rto_backs_off_and_gives_up),
		cmocka_unit_test(rto_and_delayed_ack_together),
		cmocka_unit_test(rto_after_syn_loss_is_3s),
		cmocka_unit_test(rto_sends_all_again_in_order),
		cmocka_unit_test(karn),
		cmocka_unit_test(no_sample_behind_a_hole),
		cmocka_unit_test(partly_sent_record_is_sent_again),
		cmocka_unit_test(rtt_is_measured),
		cmocka_unit_test(sack_renege),
		cmocka_unit_test(spurious_timeout_is_undone),
		cmocka_unit_test(frto_undoes),
		cmocka_unit_test(frto_finds_loss),
		cmocka_unit_test(frto_without_new_data),
		cmocka_unit_test(no_frto_after_two_timeouts),
		cmocka_unit_test(frto_by_sack),
		cmocka_unit_test(timeout_spares_the_young),
		cmocka_unit_test(tail_loss_probe),
		cmocka_unit_test(fin_is_retransmitted),
		cmocka_unit_test(idle_restarts_from_initial_window),
		cmocka_unit_test(keepalive),
		cmocka_unit_test(idle_needs_no_timer),
	};

	return cmocka_run_group_tests_name("tcp: sending", tests, NULL, NULL);
}
