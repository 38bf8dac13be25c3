// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The TCP engine against itself over a bad link, in virtual time. Every run must deliver every byte
 * in both directions, report every record once and in turn, and end CLOSED on both sides.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "goodput.h"
#include "sim.h"

#define SEC 1000000000ull

static struct sim_run base_run(void)
{
	struct sim_run r = {
		.name = "base",
		.link = {.rate_bps = 10000000000ull, .delay_ns = 20000, .queue = 2 << 20},
		.seed = 1,
		.mtu = 1500,
		.bytes = 4 << 20,
		.opts = {.rcv_wnd = 1 << 20, .wscale = true, .timestamps = true, .sack = true},
		.limit_ns = 600 * SEC,
	};

	return r;
}

static void must_pass(const struct sim_run *r)
{
	struct sim_result res = sim_run(r);

	if (!res.ok)
		fail_msg("%s (seed %llu): %s", r->name, (unsigned long long)r->seed, res.why);
}

/* ---------------------------------------------------------------- goodput */

static void report(const struct sim_run *r, const struct sim_result *res)
{
	print_message("%-7s mtu %4u loss %4.2f %%: %5.2f Gbit/s  rtx %llu  rto %llu  tlp %llu\n",
		      r->records ? "records" : "stream", r->mtu, r->link.loss * 100, res->gbps,
		      (unsigned long long)res->a.rtx_segs, (unsigned long long)res->a.rtx_timeouts,
		      (unsigned long long)res->a.rtx_probes);
}

/*
 * Floors, as shares of the link less headers. RFC 5681 alone would settle at about
 * MSS * sqrt(1.5 / p) / RTT (RFC 3649 section 3 has the law): 4.4 Gbit/s at 1 % and MTU 1500.
 */
static void goodput(void **state)
{
	static const double loss[] = {0, 0.001, 0.01};
	static const double least[2][3] = {{9.3, 9.2, 5.6}, {9.8, 9.8, 9.6}};

	for (int records = 0; records < 2; records++) {
		for (int big = 0; big < 2; big++) {
			for (int l = 0; l < 3; l++) {
				struct sim_run r = base_run();
				struct sim_result res;

				r.name = "goodput";
				r.records = records;
				r.mtu = big ? 9000 : 1500;
				r.link.loss = loss[l];
				r.bytes = 128 << 20;
				r.link.trust = true;
				res = sim_run(&r);
				report(&r, &res);
				if (!res.ok)
					fail_msg("%s", res.why);
				if (res.gbps < least[big][l])
					fail_msg("goodput %.2f below %.2f", res.gbps,
						 least[big][l]);
			}
		}
	}
}

/* The target, and how far it is kept: see goodput.h for the link */
static void goodput_target(void **state)
{
	static const struct {
		double loss, least;
	} target[] = {{0.001, 0.98}, {0.01, 0.60}};
	double clean = goodput_median(0, 32 << 20);

	assert_true(clean > 9.3);
	for (size_t i = 0; i < sizeof(target) / sizeof(target[0]); i++) {
		double share = goodput_median(target[i].loss, 32 << 20) / clean;

		print_message("%.1f %% loss: %.1f %% of %.2f Gbit/s, median of %d seeds\n",
			      target[i].loss * 100, share * 100, clean, GOODPUT_SEEDS);
		assert_true(share >= target[i].least);
	}
}

/* ---------------------------------------------------------------- a matrix of trouble */

struct trouble {
	const char *name;
	double loss, dup, reorder, corrupt;
	uint64_t reorder_ns;
};

static const struct trouble troubles[] = {
	{"clean", 0, 0, 0, 0, 0},
	{"loss", 0.02, 0, 0, 0, 0},
	{"heavy loss", 0.15, 0, 0, 0, 0},
	{"duplicates", 0, 0.1, 0, 0, 0},
	{"reordering", 0, 0, 0.05, 0, 30000},
	{"far reordering", 0, 0, 0.02, 0, 3000000},
	{"corruption", 0, 0, 0, 0.02, 0},
	{"all", 0.02, 0.02, 0.05, 0.02, 100000},
};

static const struct tcp_opts option_sets[] = {
	{.rcv_wnd = 1 << 20, .wscale = true, .timestamps = true, .sack = true},
	{.rcv_wnd = 1 << 20, .wscale = true, .sack = true, .nodelay = true},
	{.rcv_wnd = 1 << 18, .wscale = true, .timestamps = true},
	{.rcv_wnd = 60000},
	{.rcv_wnd = 3000, .sack = true, .timestamps = true},
};

static void apply(struct sim_run *r, const struct trouble *t)
{
	r->name = t->name;
	r->link.loss = t->loss;
	r->link.dup = t->dup;
	r->link.reorder = t->reorder;
	r->link.reorder_ns = t->reorder_ns;
	r->link.corrupt = t->corrupt;
}

static void matrix(bool records, uint32_t max_record, double lazy, bool block)
{
	unsigned int runs = 0;

	for (size_t t = 0; t < sizeof(troubles) / sizeof(troubles[0]); t++) {
		for (size_t o = 0; o < sizeof(option_sets) / sizeof(option_sets[0]); o++) {
			for (uint64_t seed = 1; seed <= 3; seed++) {
				struct sim_run r = base_run();

				apply(&r, &troubles[t]);
				r.seed = seed * 1000 + t * 10 + o;
				r.opts = option_sets[o];
				r.mtu = seed & 1 ? 1500 : 9000;
				r.bytes = 300000 + seed * 12345;
				r.back = seed == 2 ? 100001 : 0;
				r.records = records;
				r.max_record = max_record;
				r.lazy = lazy;
				r.check = true;
				r.batch = seed == 3;
				if (r.batch) /* or they would never arrive together */
					r.link.rate_bps = 0;
				r.link.block = block;
				r.link.queue = block ? 50000 : 2 << 20;
				must_pass(&r);
				runs++;
			}
		}
	}
	print_message("%u runs, all bytes right, all CLOSED\n", runs);
}

static void matrix_stream(void **state)
{
	matrix(false, 0, 0, false);
}

static void matrix_stream_lazy(void **state)
{
	matrix(false, 0, 0.3, false);
}

static void matrix_records_full(void **state)
{
	matrix(true, 0, 0, false);
}

static void matrix_records_small(void **state)
{
	matrix(true, 1448, 0, false);
}

static void matrix_records_oversize(void **state)
{
	matrix(true, 12000, 0.05, false);
}

static void matrix_blocking_wire(void **state)
{
	matrix(true, 1448, 0, true);
	matrix(false, 0, 0, true);
}

/* ---------------------------------------------------------------- worlds at random */

static uint64_t roll(uint64_t *r, uint64_t n)
{
	*r = *r * 6364136223846793005ull + 1442695040888963407ull;
	return (*r >> 33) % n;
}

/* One in @often gets up to @most, the others nothing */
static double maybe(uint64_t *r, unsigned int often, double most)
{
	return roll(r, often) ? 0 : most * (double)roll(r, 1000) / 1000;
}

static void random_link(struct sim_link *l, uint64_t *r)
{
	l->rate_bps = roll(r, 3) ? 10000000000ull / (1 + roll(r, 100)) : 0;
	l->delay_ns = roll(r, 2) ? 20000 : roll(r, 50000000);
	l->queue = (uint32_t)(10000 + roll(r, 2000000));
	l->block = roll(r, 2);
	l->loss = maybe(r, 2, 0.1);
	l->dup = maybe(r, 3, 0.1);
	l->reorder = maybe(r, 3, 0.2);
	l->reorder_ns = roll(r, 5000000);
	l->corrupt = maybe(r, 4, 0.05);
}

static struct sim_run random_run(uint64_t seed)
{
	static const uint16_t mtus[] = {576, 1500, 1500, 9000};
	uint64_t r = seed;
	struct sim_run run = {
		.name = "random world",
		.seed = seed,
		.mtu = mtus[roll(&r, 4)],
		.bytes = roll(&r, 600000),
		.back = roll(&r, 2) ? roll(&r, 200000) : 0,
		.records = roll(&r, 2),
		.max_record = roll(&r, 2) ? 0 : (uint32_t)(1 + roll(&r, 20000)),
		.lazy = maybe(&r, 3, 0.5),
		.batch = roll(&r, 2),
		.check = true,
		.limit_ns = 20000 * SEC,
	};

	random_link(&run.link, &r);
	run.opts.rcv_wnd = (uint32_t)(1000 + roll(&r, 2000000));
	run.opts.wscale = roll(&r, 2);
	run.opts.rcv_shift = (uint8_t)roll(&r, 6);
	run.opts.timestamps = roll(&r, 2);
	run.opts.sack = roll(&r, 3);
	run.opts.nodelay = roll(&r, 2);
	run.opts.keepalive = roll(&r, 2);
	run.opts.rtx_retries = 30;
	run.opts.syn_retries = 30;
	run.opts.finwait_ms = UINT32_MAX;
	run.v6 = roll(&r, 2);
	return run;
}

static void random_worlds(void **state)
{
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct sim_run r = random_run(seed * 7919);

		must_pass(&r);
	}
	print_message("300 links, sizes and options at random\n");
}

/*
 * Small buffers in the path: drops come in bursts, at the end of slow start half of what is under
 * way. Answered by bursts they would cost retransmissions, and time-outs.
 */
static void shallow_queue(void **state)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct sim_run r = base_run();
		struct sim_result res;

		r.name = "shallow queue";
		r.seed = seed;
		r.bytes = 32 << 20;
		r.link.queue = 30000;
		if (seed <= 4)
			r.link.rate_bps = 1000000000ull;
		r.records = seed & 1;
		res = sim_run(&r);
		if (!res.ok)
			fail_msg("%s", res.why);
		print_message("queue of 20 frames: %.3f Gbit/s of %llu, rto %llu\n", res.gbps,
			      (unsigned long long)(r.link.rate_bps / 1000000000),
			      (unsigned long long)res.a.rtx_timeouts);
		assert_true(res.gbps * 1e9 > 0.9 * (double)r.link.rate_bps);
		assert_int_equal(res.a.rtx_timeouts, 0);
	}
}

/*
 * A path that stands still for half a second and loses nothing. The time-out is spurious, is seen
 * to be so by timestamps or F-RTO, and of the megabyte that was under way nearly nothing is sent
 * again.
 */
static void stall_is_no_loss(void **state)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct sim_run r = base_run();
		struct sim_result res;

		r.name = "stall";
		r.seed = seed;
		r.bytes = 64 << 20;
		r.opts.timestamps = seed & 2;
		r.opts.sack = seed & 4;
		/* F-RTO needs new data at that moment, and the stream's buffer is full */
		r.records = seed & 1 || !r.opts.timestamps;
		r.link.stall_ns = SEC / 2;
		r.check = seed == 1;
		res = sim_run(&r);
		if (!res.ok)
			fail_msg("seed %llu: %s", (unsigned long long)seed, res.why);
		print_message("%s, %s: %llu sent again, %llu time-outs, %llu undone\n",
			      r.opts.timestamps ? "timestamps" : "no timestamps",
			      r.opts.sack ? "SACK" : "no SACK", (unsigned long long)res.a.rtx_segs,
			      (unsigned long long)res.a.rtx_timeouts,
			      (unsigned long long)res.a.rtx_spurious);
		assert_true(res.a.rtx_timeouts);
		assert_true(res.a.rtx_spurious);
		assert_true(res.a.rtx_segs <= 4);
	}
}

/*
 * Frames that come far too late, 75 round trips. Each is taken for lost, and the D-SACK for its
 * duplicate says that it was not; the sender also learns from it to wait longer. Not only without
 * timestamps: those are too coarse here to tell, and must not keep the receiver from reporting.
 */
static void late_is_no_loss(void **state)
{
	for (int ts = 0; ts < 2; ts++) {
		uint64_t fast = 0, undone = 0;
		struct sim_result res;
		struct sim_run r = base_run();

		r.name = "late";
		r.records = true;
		r.bytes = 64 << 20;
		r.opts.timestamps = ts;
		r.link.reorder_ns = 3000000;
		r.link.reorder = 0.0001;
		for (r.seed = 1; r.seed <= 4; r.seed++) {
			res = sim_run(&r);
			if (!res.ok)
				fail_msg("%s", res.why);
			fast += res.a.rtx_fast;
			undone += res.a.rtx_spurious;
		}
		r.link.reorder = 0.01;
		res = sim_run(&r);
		if (!res.ok)
			fail_msg("%s", res.why);
		print_message("%s: %llu of %llu recoveries undone; 1 %% late: %.2f Gbit/s\n",
			      ts ? "timestamps" : "no timestamps", (unsigned long long)undone,
			      (unsigned long long)fast, res.gbps);
		assert_true(fast && 4 * undone >= 3 * fast);
		assert_true(res.gbps > 8.5);
	}
}

/* Nothing in a clean run may be sent twice */
static void clean_is_clean(void **state)
{
	struct sim_run r = base_run();
	struct sim_result res;

	r.bytes = 16 << 20;
	r.records = true;
	res = sim_run(&r);
	assert_true(res.ok);
	assert_int_equal(res.a.rtx_segs, 0);
	assert_int_equal(res.a.rtx_timeouts, 0);
	assert_int_equal(res.b.dup_in, 0);
	assert_int_equal(res.b.ooo_in, 0);
	print_message("%llu frames, no retransmission\n", (unsigned long long)res.frames);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clean_is_clean),	   cmocka_unit_test(goodput),
		cmocka_unit_test(goodput_target),	   cmocka_unit_test(stall_is_no_loss),
		cmocka_unit_test(matrix_stream),	   cmocka_unit_test(matrix_stream_lazy),
		cmocka_unit_test(matrix_records_full),	   cmocka_unit_test(matrix_records_small),
		cmocka_unit_test(matrix_records_oversize), cmocka_unit_test(matrix_blocking_wire),
		cmocka_unit_test(random_worlds),	   cmocka_unit_test(shallow_queue),
		cmocka_unit_test(late_is_no_loss),
	};

	return cmocka_run_group_tests_name("tcp simulator", tests, NULL, NULL);
}
