// SPDX-License-Identifier: GPL-2.0-or-later
/* Peers that mean harm: nothing they send may crash the engine, grow memory or time without bound.
 */
#include <errno.h>
#include <time.h>

#include "invariants.h"
#include "peer.h"

#define WND 60000u

/*
 * A segment that starts at the window's last byte and is longer; then all below; then the hole.
 * Aborts a well-known stack by an assertion, or makes it accept bytes beyond its window.
 */
static void beyond_the_window(void **state)
{
	struct tcp_opts o = {.rcv_wnd = 262144, .wscale = true, .sack = true};
	struct env *v = established(&o);
	uint32_t edge = 1 + 262144;

	PUT(v, .flags = ACK, .seq = edge - 1, .ack = 1, .wnd = WND, .len = 1400);
	for (uint32_t at = 2; at < edge - 1; at += 1400)
		PUT(v, .flags = ACK, .seq = at, .ack = 1, .wnd = WND,
		    .len = at + 1400 < edge - 1 ? 1400 : edge - 1 - at);
	drop_out(v);
	PUT(v, .flags = ACK, .seq = 1, .ack = 1, .wnd = WND, .len = 1);
	assert_int_equal(v->rx_len, 262144); /* not one byte more */
	assert_int_equal(next_out(v)->s.ack, edge);
	assert_null(conn_fault(v->c));
	env_free(v);
}

/* 20000 segments of one byte with a hole between any two: intervals are bounded, so is time */
static void swarm_of_holes(void **state)
{
	struct env *v = established(&full_opts);
	struct timespec a, b;
	double us;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	for (uint32_t i = 0; i < 20000; i++) {
		PUT(v, .flags = ACK, .seq = 3 + 2 * i, .ack = 1, .wnd = WND, .len = 1, .ts = true,
		    .tsval = peer_tsval(v));
		drop_out(v);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	us = ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / 2e7;
	print_message("%.1f us for each segment, crafting included\n", us);
	assert_true(v->c->reass.n <= REASS_INTERVALS);
	assert_int_equal(tcp_engine_stats(v->e)->reass_limit, 20000 - REASS_INTERVALS);
	assert_null(conn_fault(v->c));
	/* and the connection still works */
	PUT(v, .flags = ACK, .seq = 1, .ack = 1, .wnd = WND, .len = 5000, .ts = true,
	    .tsval = peer_tsval(v));
	assert_int_equal(v->rx_len, 5000);
	env_free(v);
}

/* One byte in each chunk of many connections: the pool's limit holds */
static void memory_of_many_connections(void **state)
{
	struct tcp_engine_config cfg = {.reass_bytes = 1 << 20};
	struct tcp_opts o = {.rcv_wnd = 1 << 20, .wscale = true};
	struct env *v = env_new(&cfg);
	struct ip_addr any = {.family = IP_V4};

	tcp_listen(v->e, 1, &any, OUR_PORT, TCP_VLAN_ANY, 10);
	for (uint16_t i = 0; i < 50; i++) {
		PUT(v, .flags = SYN, .wnd = 1000, .ws = 1, .sport = 1000 + i);
		tcp_accept(v->e, v->syn_id, i, 0, &o, NULL);
		PUT(v, .flags = ACK, .seq = 1, .ack = 1, .wnd = 1000, .sport = 1000 + i);
		for (uint32_t at = 2; at < 1 << 20; at += 16384)
			PUT(v, .flags = ACK, .seq = at, .ack = 1, .wnd = 9, .len = 1,
			    .sport = 1000 + i);
		drop_out(v);
		v->nevents = 0;
	}
	assert_int_equal(v->e->pool.allocated, 64);
	assert_true(tcp_engine_stats(v->e)->reass_limit > 1000);
	env_free(v);
}

/* ACKs that acknowledge single bytes must not inflate cwnd (RFC 3465) */
static void ack_division(void **state)
{
	struct tcp_opts o = {.rcv_wnd = 60000};
	struct env *v = established(&o);

	send_records(v, 30, 1460);
	drop_out(v);
	for (uint32_t i = 0; i < 1000; i++)
		peer_ack(v, 1, 2 + i, 65535);
	assert_in_range(v->c->cwnd, 14600, 16060);
	env_free(v);
}

static void tiny_mss(void **state)
{
	struct env *v = env_new(NULL);

	open_conn(v, &full_opts);
	drop_out(v);
	PUT(v, .flags = SYN | ACK, .ack = 1, .wnd = WND, .mss = 1, .ts = true);
	assert_int_equal(tcp_emss(v->c), MSS_MIN - 12);
	send_records(v, 1, 1000);
	assert_in_range(v->nout, 1, 30);
	env_free(v);
}

/* Option bytes of every kind and length, among them lengths 0 and 1 and beyond the header */
static void options_of_all_lengths(void **state)
{
	struct env *v = established(&full_opts);
	uint8_t opt[40];

	for (int kind = 0; kind < 256; kind++) {
		for (int len = 0; len < 256; len++) {
			memset(opt, kind, sizeof(opt));
			opt[kind & 15] = (uint8_t)kind;
			opt[(kind & 15) + 1] = (uint8_t)len;
			for (uint8_t n = 4; n <= 40; n += 12)
				PUT(v, .flags = ACK, .seq = 1, .ack = 1, .wnd = WND, .rawopt = opt,
				    .rawoptlen = n);
			drop_out(v);
		}
	}
	assert_null(conn_fault(v->c));
	assert_int_equal(tcp_conn_state(v->c), TCPS_ESTABLISHED);
	env_free(v);
}

/* Frames cut at any length, inside buffers of just that size */
static void truncated_frames(void **state)
{
	struct env *v = established(&full_opts);
	struct pseg s = {.flags = ACK,
			 .seq = 1,
			 .ack = 1,
			 .wnd = WND,
			 .len = 20,
			 .ts = true,
			 .nsack = 2,
			 .sack = {{5, 9}, {20, 40}},
			 .vlan = 3};
	uint8_t f[256];
	size_t len = craft(v, f, &s);

	for (size_t n = 0; n <= len; n++) {
		uint8_t *copy = malloc(n ? n : 1);

		memcpy(copy, f, n);
		tcp_input(v->e, v->now, copy, n, 0);
		tcp_input(v->e, v->now, copy, n, TCP_CSUM_VALID);
		free(copy);
	}
	assert_null(conn_fault(v->c));
	env_free(v);
}

/* ---------------------------------------------------------------- random segments */

static uint32_t rnd(uint32_t *r)
{
	*r ^= *r << 13;
	*r ^= *r >> 17;
	*r ^= *r << 5;
	return *r;
}

/* Near what matters most of the time, anything else at times */
static uint32_t near(uint32_t *r, uint32_t x, uint32_t span)
{
	switch (rnd(r) % 8) {
	case 0:
		return rnd(r);
	case 1:
		return x + (1u << (rnd(r) % 32));
	case 2:
		return x - rnd(r) % 4;
	default:
		return x + rnd(r) % span;
	}
}

static struct pseg random_segment(struct env *v, uint32_t *r)
{
	static const uint8_t flags[] = {ACK,  ACK,	 ACK, ACK,	 ACK | PSH, ACK | FIN,
					RST,  RST | ACK, SYN, SYN | ACK, 0,	    FIN,
					0xff, ACK,	 ACK, ACK};
	const struct tcp_conn *c = v->c;
	struct pseg s = {.flags = flags[rnd(r) % 16]};

	if (s.flags & (RST | SYN | FIN) && rnd(r) % 16)
		s.flags = ACK;
	s.seq = near(r, c->rcv_nxt - PEER_ISS, rnd(r) % 4 ? 3000 : c->rcv_wnd + 10);
	if (rnd(r) % 3 == 0)
		s.seq = c->rcv_nxt - PEER_ISS;
	s.ack = near(r, c->snd_una - v->iss, c->snd_max - c->snd_una + 2);
	s.wnd = rnd(r) % 4 ? 8000 : rnd(r) & 0xffff;
	s.len = rnd(r) % 3 ? 0 : rnd(r) % 3000;
	s.ts = rnd(r) % 16 != 0;
	s.tsval = rnd(r) % 16 ? peer_tsval(v) : rnd(r);
	s.tsecr = conn_ts_now(c) - rnd(r) % 500;
	s.nsack = rnd(r) % 4;
	for (unsigned int i = 0; i < s.nsack; i++) {
		s.sack[i].start = near(r, c->snd_una - v->iss, c->snd_max - c->snd_una + 2);
		s.sack[i].end = s.sack[i].start + (rnd(r) % 8 ? rnd(r) % 8000 : rnd(r));
		if (rnd(r) % 2) /* whole segments */
			s.sack[i].start -= (s.sack[i].start - 1) % 1000;
		if (rnd(r) % 2)
			s.sack[i].end -= (s.sack[i].end - 1) % 1000;
	}
	return s;
}

static void owner_moves(struct env *v, uint32_t *r)
{
	struct tcp_record rec = {.len = 1000};

	switch (rnd(r) % 40) {
	case 0:
	case 1:
	case 2:
	case 3:
	case 4:
		for (uint32_t n = rnd(r) % 8; n; n--)
			tcp_send_record(v->c, &rec, rnd(r) & 1);
		break;
	case 5:
		v->rx_limit = rnd(r) % 5000;
		break;
	case 6:
		v->rx_limit = SIZE_MAX;
		tcp_rx_resume(v->c);
		break;
	case 7:
		advance(v, rnd(r) % (400 * MS));
		break;
	case 8:
		v->xmit_rc = rnd(r) % 2 ? -EAGAIN : 0;
		if (!v->xmit_rc)
			tcp_tx_ready(v->e);
		break;
	case 9:
		if (rnd(r) % 30 == 0)
			tcp_close(v->c);
		break;
	case 10:
		if (rnd(r) % 200 == 0)
			tcp_abort(v->c);
		break;
	case 11:
		tcp_pull(v->c);
		break;
	}
}

static void begin(struct env *v, uint32_t *r)
{
	struct tcp_opts o = full_opts;

	o.timestamps = rnd(r) & 1;
	o.sack = rnd(r) % 4 != 0;
	o.wscale = rnd(r) & 1;
	o.rcv_wnd = 1000 + rnd(r) % 300000;
	v->xmit_rc = 0;
	tcp_tx_ready(v->e);
	v->rx_limit = SIZE_MAX;
	drop_out(v);
	v->nevents = 0;
	establish(v, &o);
}

static void random_walk(uint32_t seed, unsigned int steps)
{
	struct env *v = env_new(NULL);
	uint32_t r = seed * 2654435761u + 1, ended = 0;

	begin(v, &r);
	for (unsigned int i = 0; i < steps; i++) {
		const char *why;

		put(v, random_segment(v, &r));
		owner_moves(v, &r);
		drop_out(v);
		v->rx_len = 0;
		v->nacked = 0;
		v->nevents = v->c->terminal ? v->nevents : 0;
		why = conn_fault(v->c);
		if (why)
			fail_msg("seed %u step %u: %s", seed, i, why);
		if (!v->c->terminal)
			continue;
		ended++;
		tcp_conn_free(v->c);
		begin(v, &r);
	}
	assert_true(ended > 0);
	env_free(v);
}

static void random_segments(void **state)
{
	for (uint32_t seed = 1; seed <= 40; seed++)
		random_walk(seed, 5000);
	print_message("200000 segments, invariants checked after each\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(beyond_the_window),
		cmocka_unit_test(swarm_of_holes),
		cmocka_unit_test(memory_of_many_connections),
		cmocka_unit_test(ack_division),
		cmocka_unit_test(tiny_mss),
		cmocka_unit_test(options_of_all_lengths),
		cmocka_unit_test(truncated_frames),
		cmocka_unit_test(random_segments),
	};

	return cmocka_run_group_tests_name("tcp: hostile peers", tests, NULL, NULL);
}
