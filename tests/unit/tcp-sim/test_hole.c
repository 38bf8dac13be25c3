// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Paths that drop what is too big and say nothing (RFC 2923), in virtual time. Data must get
 * through, soon, and the size of segments must be what the path takes in the end.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "sim.h"

#define MS  1000000ull
#define SEC 1000000000ull

/* Without timestamps: MTU less IP and TCP headers (RFC 9293 3.7.1) */
#define V4(mtu) ((mtu) - 40u)
#define V6(mtu) ((mtu) - 60u)

static struct sim_run base_run(void)
{
	struct sim_run r = {
		.name = "hole",
		.link = {.rate_bps = 1000000000ull, .delay_ns = 50000, .queue = 2 << 20},
		.seed = 1,
		.mtu = 1500,
		.bytes = 1 << 20,
		.records = true,
		.opts = {.rcv_wnd = 1 << 18, .wscale = true, .sack = true},
		.check = true,
		.limit_ns = 7200 * SEC,
	};

	return r;
}

static struct sim_result must_pass(const struct sim_run *r)
{
	struct sim_result res = sim_run(r);

	if (!res.ok)
		fail_msg("%s (mtu %u, hole %u): %s", r->name, r->mtu, r->link.hole, res.why);
	print_message("mtu %4u, hole %4u: %6.2f s, mss %u, %llu time-outs, %llu frames vanished\n",
		      r->mtu, r->link.hole, (double)res.ns / 1e9, res.emss,
		      (unsigned long long)res.a.rtx_timeouts, (unsigned long long)res.holed);
	return res;
}

/*
 * Four time-outs (0.2 + 0.4 + 0.8 + 1.6 s), twice as long for each size more, and one that
 * confirms it. The sizes are RFC 1191's plateaus from 1492 down, for IPv6 not below 1280.
 */
static void sizes_are_searched(void **state)
{
	static const struct {
		bool v6;
		uint16_t mtu, hole;
		uint32_t mss;
		uint64_t most_ms;
	} cases[] = {
		{false, 1500, 1499, V4(1492), 3500},  {false, 1500, 1492, V4(1492), 3500},
		{false, 9000, 1500, V4(1492), 3500},  {false, 1500, 1400, V4(1006), 6700},
		{false, 1500, 1006, V4(1006), 6700},  {false, 1500, 576, V4(552), 13100},
		{false, 1300, 1280, V4(1006), 3500},  {true, 1500, 1492, V6(1492), 3500},
		{true, 1500, 1491, V6(1280), 6700},   {true, 9000, 1280, V6(1280), 6700},
		{false, 65000, 9000, V4(1492), 3500},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sim_run r = base_run();
		struct sim_result res;

		r.v6 = cases[i].v6;
		r.mtu = cases[i].mtu;
		r.link.hole = cases[i].hole;
		res = must_pass(&r);
		assert_int_equal(res.emss, cases[i].mss);
		assert_int_equal(res.a.pmtu_holes, 1);
		assert_true(res.ns < cases[i].most_ms * MS);
	}
}

/* All kinds of traffic, with and without options: stream, small and oversized records, GSO */
static void all_traffic(void **state)
{
	for (unsigned int i = 0; i < 64; i++) {
		struct sim_run r = base_run();
		struct sim_result res;

		r.seed = i + 1;
		r.link.hole = 1400;
		r.records = i & 1;
		r.max_record = i & 2 ? 12000 : 0;
		r.opts.timestamps = i & 4;
		r.opts.sack = i & 8;
		r.tx_flags = i & 16 ? TCP_CFG_TX_GSO : 0;
		r.link.trust = i & 16; /* nobody fills in checksums */
		r.link.loss = i & 32 ? 0.01 : 0;
		r.back = i & 2 ? 100000 : 0;
		r.bytes = 300000;
		res = sim_run(&r);
		if (!res.ok)
			fail_msg("%u: %s", i, res.why);
		assert_true(res.a.pmtu_holes == 1 || r.link.loss > 0);
		/* a SYN that was lost leaves an RTO of 3 s (RFC 6298 5.7) */
		assert_true(res.ns < (r.link.loss > 0 ? 120 : 7) * SEC);
	}
	print_message("64 runs into a hole\n");
}

/* The route changes under way: what was cut for the old path goes in pieces */
static void hole_opens(void **state)
{
	struct sim_run r = base_run();
	struct sim_result res;

	r.mtu = 9000;
	r.bytes = 64 << 20;
	r.opts.timestamps = true;
	r.link.hole = 1500;
	r.link.hole_from = 100 * MS;
	res = must_pass(&r);
	assert_int_equal(res.emss, V4(1492) - 12);
	assert_int_equal(res.a.pmtu_holes, 1);
	assert_true(res.holed_last < 4 * SEC);
}

/* A path that was down is as wide as it was; also when the search had sent smaller segments */
static void outage_is_no_hole(void **state)
{
	static const uint64_t seconds[] = {1, 2, 4, 8, 14, 20, 40, 70};

	for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
		for (int v6 = 0; v6 < 2; v6++) {
			struct sim_run r = base_run();
			struct sim_result res;

			r.v6 = v6;
			r.bytes = 64 << 20;
			r.opts.timestamps = i & 1;
			r.link.hole = 1;
			r.link.hole_from = 100 * MS;
			r.link.hole_until = seconds[i] * SEC;
			res = must_pass(&r);
			assert_int_equal(res.emss, (v6 ? V6(1500) : V4(1500)) - (i & 1) * 12);
			assert_int_equal(res.a.pmtu_holes, 0);
		}
	}
}

/* Small segments time out for other reasons */
static void small_segments_prove_nothing(void **state)
{
	struct sim_run r = base_run();
	struct sim_result res;

	r.max_record = 400;
	r.bytes = 4 << 20;
	r.link.hole = 1;
	r.link.hole_from = 10 * MS;
	r.link.hole_until = 20 * SEC;
	res = must_pass(&r);
	assert_int_equal(res.emss, V4(1500));
	assert_int_equal(res.a.pmtu_holes, 0);
}

/* RFC 1191 6.3: ten minutes later a wider path is noticed, a narrow one costs one time-out */
static void full_size_is_tried_again(void **state)
{
	for (int mended = 0; mended < 2; mended++) {
		struct sim_run r = base_run();
		struct sim_result res;

		r.link.rate_bps = 1000000;
		r.link.delay_ns = MS;
		r.opts.rcv_wnd = 16384;
		r.bytes = 90000000; /* 720 s at that rate */
		r.link.hole = 1499;
		r.link.hole_until = mended ? 300 * SEC : 0;
		res = must_pass(&r);
		assert_int_equal(res.emss, mended ? V4(1500) : V4(1492));
		assert_int_equal(res.a.pmtu_holes, mended ? 1 : 2);
		assert_int_equal(res.a.rtx_timeouts, mended ? 5 : 6);
		if (!mended)
			assert_true(res.holed_last > 600 * SEC && res.holed_last < 605 * SEC);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_searched),
		cmocka_unit_test(all_traffic),
		cmocka_unit_test(hole_opens),
		cmocka_unit_test(outage_is_no_hole),
		cmocka_unit_test(small_segments_prove_nothing),
		cmocka_unit_test(full_size_is_tried_again),
	};

	return cmocka_run_group_tests_name("tcp black holes", tests, NULL, NULL);
}
