// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * D-SACK shows that a recovery or time-out was for nothing (RFC 2883, RFC 3708), and congestion
 * control goes back to what it was (RFC 4015), but only if it was so for each retransmission.
 */
#include "peer.h"

#define WND    65535u
#define LEN    1000u
#define SEQ(n) (1 + (n) * LEN) /* of record n */
#define NEVER  (UINT32_MAX / 2) /* ssthresh before the first loss */

static const struct tcp_opts sack_opts = {.rcv_wnd = 60000, .sack = true};

static struct tcp_conn_info info(struct env *v)
{
	struct tcp_conn_info i;

	tcp_conn_info(v->c, &i);
	return i;
}

/* The peer has everything before record @ack and, unless they are equal, records @from to @to - 1
 */
static void sack(struct env *v, uint32_t ack, uint32_t from, uint32_t to)
{
	PUT(v, .flags = ACK, .seq = 1, .ack = SEQ(ack), .wnd = WND, .nsack = from != to,
	    .sack = {{SEQ(from), SEQ(to)}});
}

/* It received [@start, @end) twice */
static void dsack_bytes(struct env *v, uint32_t ack, uint32_t start, uint32_t end)
{
	PUT(v, .flags = ACK, .seq = 1, .ack = SEQ(ack), .wnd = WND, .nsack = 1,
	    .sack = {{start, end}});
}

static void dsack(struct env *v, uint32_t ack, uint32_t n)
{
	dsack_bytes(v, ack, SEQ(n), SEQ(n + 1));
}

static uint64_t undone(struct env *v)
{
	return tcp_engine_stats(v->e)->rtx_spurious;
}

static void expect_retransmission(struct env *v, uint32_t n)
{
	struct out *o = next_out(v);

	assert_int_equal(o->s.seq, SEQ(n));
	assert_int_equal(o->s.len, LEN);
}

/* Ten records on their way; the first @lost do not arrive and are sent again, one for each ACK */
static struct env *recovering(unsigned int lost)
{
	struct env *v = established(&sack_opts);

	send_records(v, 10, LEN);
	drop_out(v);
	advance(v, 10 * MS);
	for (uint32_t i = lost + 1; i <= 10; i++)
		sack(v, 0, lost, i);
	for (uint32_t i = 0; i < lost; i++)
		expect_retransmission(v, i);
	no_out(v);
	assert_int_equal(info(v).snd_ssthresh, 8 * LEN);
	return v;
}

/* The recovery has ended before the peer can say that it was for nothing */
static void recovery_is_undone(void **state)
{
	struct env *v = recovering(1);
	uint32_t cwnd;

	sack(v, 10, 0, 0);
	cwnd = info(v).snd_cwnd;
	assert_in_range(cwnd, 8 * LEN, 8 * LEN + 1460);
	dsack(v, 10, 0);
	assert_int_equal(undone(v), 1);
	assert_int_equal(info(v).snd_ssthresh, NEVER);
	/* RFC 4015 3.2: no burst into an empty pipe, but slow start */
	assert_int_equal(info(v).snd_cwnd, cwnd);
	send_records(v, 10, LEN); /* as many as go, and more */
	sack(v, 18, 0, 0);
	assert_int_equal(info(v).snd_cwnd, cwnd + 8 * LEN);
	dsack(v, 18, 0); /* once only */
	assert_int_equal(undone(v), 1);
	env_free(v);
}

/* Amid the recovery */
static void recovery_is_cut_short(void **state)
{
	struct env *v = established(&sack_opts);

	send_records(v, 10, LEN);
	drop_out(v);
	advance(v, 10 * MS);
	for (uint32_t i = 2; i <= 4; i++)
		sack(v, 0, 1, i);
	expect_retransmission(v, 0);
	no_out(v);
	sack(v, 4, 0, 0);
	dsack(v, 4, 0);
	assert_int_equal(undone(v), 1);
	assert_int_equal(info(v).snd_ssthresh, NEVER);
	/* FlightSize and what this ACK acknowledged, which is nothing */
	assert_true(info(v).snd_cwnd >= 6 * LEN);
	env_free(v);
}

/* Each retransmission must have been for nothing */
static void all_must_be_reported(void **state)
{
	static const uint8_t orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0}};

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		struct env *v = recovering(3);

		sack(v, 10, 0, 0);
		for (int k = 0; k < 3; k++) {
			assert_int_equal(undone(v), 0);
			assert_int_equal(info(v).snd_ssthresh, 8 * LEN);
			dsack(v, 10, orders[i][k]);
		}
		assert_int_equal(undone(v), 1);
		assert_int_equal(info(v).snd_ssthresh, NEVER);
		env_free(v);
	}
}

/* Nor when others that are lost were not sent again yet */
static void what_waits_counts(void **state)
{
	struct env *v = established(&sack_opts);

	send_records(v, 10, LEN);
	drop_out(v);
	advance(v, 10 * MS);
	for (uint32_t i = 4; i <= 6; i++)
		sack(v, 0, 3, i);
	expect_retransmission(v, 0);
	no_out(v);
	dsack(v, 1, 0);
	assert_int_equal(undone(v), 0);
	expect_retransmission(v, 1);
	sack(v, 10, 0, 0);
	assert_int_equal(undone(v), 0);
	assert_int_equal(info(v).snd_ssthresh, 8 * LEN);
	env_free(v);
}

/* A peer that merges segments, or splits them, reports the same bytes (RFC 2883 4) */
static void reports_of_any_shape(void **state)
{
	struct env *v = recovering(3);

	sack(v, 10, 0, 0);
	dsack_bytes(v, 10, SEQ(1) - 100, SEQ(1) + 100); /* in the middle */
	dsack_bytes(v, 10, SEQ(0), SEQ(1) - 100);
	dsack_bytes(v, 10, SEQ(2), SEQ(3));
	assert_int_equal(undone(v), 0);
	dsack_bytes(v, 10, SEQ(1) + 100, SEQ(2));
	assert_int_equal(undone(v), 1);
	env_free(v);
	v = recovering(3);
	sack(v, 10, 0, 0);
	dsack_bytes(v, 10, SEQ(0), SEQ(3));
	assert_int_equal(undone(v), 1);
	env_free(v);
}

/* Above the cumulative ACK the second block says that the first is a D-SACK (RFC 2883 4.2) */
static void report_above_the_ack(void **state)
{
	struct env *v = recovering(2);

	PUT(v, .flags = ACK, .seq = 1, .ack = SEQ(0), .wnd = WND, .nsack = 2,
	    .sack = {{SEQ(1), SEQ(2)}, {SEQ(1), SEQ(10)}});
	assert_int_equal(undone(v), 0);
	dsack(v, 10, 0);
	assert_int_equal(undone(v), 1);
	env_free(v);
}

/* What a path duplicates by itself proves nothing, neither now nor later */
static void path_that_duplicates(void **state)
{
	struct env *v = recovering(1);

	sack(v, 10, 0, 0);
	dsack(v, 10, 5); /* was sent once */
	dsack(v, 10, 0);
	assert_int_equal(undone(v), 0);
	send_records(v, 8, LEN);
	advance(v, 10 * MS);
	drop_out(v);
	for (uint32_t i = 12; i <= 14; i++)
		sack(v, 10, 11, i);
	advance(v, 10 * MS); /* RACK allows for reordering now, up to a round trip */
	expect_retransmission(v, 10);
	sack(v, 18, 0, 0);
	dsack(v, 18, 10);
	assert_int_equal(undone(v), 0);
	env_free(v);
}

/* The same report again, from a duplicated ACK, does not stand for another segment */
static void a_report_counts_once(void **state)
{
	struct env *v = recovering(2);

	sack(v, 10, 0, 0);
	dsack(v, 10, 0);
	dsack(v, 10, 0);
	dsack(v, 10, 1);
	assert_int_equal(undone(v), 0);
	env_free(v);
}

static void late_report(void **state)
{
	struct env *v = recovering(1);

	sack(v, 10, 0, 0);
	advance(v, 201 * MS); /* the RTO is 200 ms */
	dsack(v, 10, 0);
	assert_int_equal(undone(v), 0);
	env_free(v);
}

/* For what an earlier recovery retransmitted */
static void report_of_another_recovery(void **state)
{
	struct env *v = recovering(1);

	sack(v, 10, 0, 0);
	send_records(v, 8, LEN);
	advance(v, 10 * MS);
	drop_out(v);
	for (uint32_t i = 12; i <= 14; i++)
		sack(v, 10, 11, i);
	expect_retransmission(v, 10);
	dsack(v, 10, 0); /* is passed over, and does no harm */
	assert_int_equal(undone(v), 0);
	sack(v, 18, 0, 0);
	dsack(v, 18, 10);
	assert_int_equal(undone(v), 1);
	assert_int_equal(info(v).snd_ssthresh, 8 * LEN); /* the first one's */
	env_free(v);
}

/* The tail loss probe, and then all three by a time-out; F-RTO has no new data to decide with */
static struct env *timed_out(void)
{
	struct env *v = established(&sack_opts);

	send_records(v, 3, LEN);
	drop_out(v);
	advance(v, 20 * MS); /* PTO: two round trips */
	expect_retransmission(v, 2);
	advance(v, 200 * MS);
	expect_retransmission(v, 0);
	no_out(v);
	assert_int_equal(info(v).snd_cwnd, 1460);
	sack(v, 1, 0, 0);
	expect_retransmission(v, 1);
	sack(v, 2, 0, 0);
	expect_retransmission(v, 2);
	no_out(v);
	sack(v, 3, 0, 0);
	return v;
}

static void timeout_is_undone(void **state)
{
	struct env *v = timed_out();

	assert_int_equal(info(v).snd_ssthresh, 2 * 1460);
	dsack(v, 3, 2); /* the probe's */
	dsack(v, 3, 0);
	dsack(v, 3, 1);
	assert_int_equal(undone(v), 0);
	dsack(v, 3, 2);
	assert_int_equal(undone(v), 1);
	assert_int_equal(info(v).snd_ssthresh, NEVER);
	env_free(v);
}

/* Record 2 came twice of three times: the original, or the probe, was lost */
static void twice_sent_is_twice_reported(void **state)
{
	struct env *v = timed_out();

	for (uint32_t n = 0; n < 3; n++)
		dsack(v, 3, n);
	assert_int_equal(undone(v), 0);
	assert_int_equal(info(v).snd_ssthresh, 2 * 1460);
	env_free(v);
}

/* A probe alone reduces nothing, so there is nothing to undo */
static void probe_is_no_loss(void **state)
{
	struct env *v = established(&sack_opts);

	send_records(v, 3, LEN);
	drop_out(v);
	advance(v, 20 * MS);
	expect_retransmission(v, 2);
	sack(v, 3, 0, 0);
	dsack(v, 3, 2);
	assert_int_equal(undone(v), 0);
	env_free(v);
}

/* @n records of every two are missing; each comes twice in the end */
static uint64_t undone_with_holes(unsigned int n)
{
	struct env *v = established(&sack_opts);
	uint64_t count;

	send_records(v, 2 * n, 100);
	advance(v, 10 * MS);
	drop_out(v);
	for (uint32_t i = 0; i < n; i++)
		PUT(v, .flags = ACK, .seq = 1, .ack = 1, .wnd = WND, .nsack = 1,
		    .sack = {{1 + 200 * i + 100, 1 + 200 * i + 200}});
	PUT(v, .flags = ACK, .seq = 1, .ack = 201, .wnd = WND);
	PUT(v, .flags = ACK, .seq = 1, .ack = 1 + 200 * n, .wnd = WND);
	assert_int_equal(tcp_engine_stats(v->e)->rtx_segs, n);
	for (uint32_t i = 0; i < n; i++)
		PUT(v, .flags = ACK, .seq = 1, .ack = 1 + 200 * n, .wnd = WND, .nsack = 1,
		    .sack = {{1 + 200 * i, 1 + 200 * i + 100}});
	count = undone(v);
	env_free(v);
	return count;
}

/* More than can be kept in mind: then nothing is proved */
static void many_holes(void **state)
{
	assert_int_equal(undone_with_holes(16), 1);
	assert_int_equal(undone_with_holes(17), 0);
	assert_int_equal(undone_with_holes(40), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recovery_is_undone),
		cmocka_unit_test(recovery_is_cut_short),
		cmocka_unit_test(all_must_be_reported),
		cmocka_unit_test(what_waits_counts),
		cmocka_unit_test(reports_of_any_shape),
		cmocka_unit_test(report_above_the_ack),
		cmocka_unit_test(path_that_duplicates),
		cmocka_unit_test(a_report_counts_once),
		cmocka_unit_test(late_report),
		cmocka_unit_test(report_of_another_recovery),
		cmocka_unit_test(timeout_is_undone),
		cmocka_unit_test(twice_sent_is_twice_reported),
		cmocka_unit_test(probe_is_no_loss),
		cmocka_unit_test(many_holes),
	};

	return cmocka_run_group_tests_name("tcp: D-SACK", tests, NULL, NULL);
}
