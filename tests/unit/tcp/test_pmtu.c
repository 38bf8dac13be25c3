// SPDX-License-Identifier: GPL-2.0-or-later
/* Black holes: large segments that time out, and no ICMP (RFC 2923, RFC 4821 7.7). */
#include "peer.h"

#define WND 65535u

static uint8_t first_time[8192]; /* what was sent, by sequence number */

static void remember(struct env *v)
{
	while (v->taken < v->nout) {
		struct out *o = next_out(v);

		memcpy(first_time + o->s.seq, o->s.data, o->s.len);
	}
	drop_out(v);
}

/* IPv4 without options: 1500 -> 1460, 1492 -> 1452, 1006 -> 966, 552 -> 512 */
static struct env *under_way(unsigned int n, uint32_t len)
{
	struct env *v = established(&plain_opts);

	send_records(v, n, len);
	remember(v);
	return v;
}

/* The time-outs up to and with number @n; RTO 200 ms */
static void timeouts(struct env *v, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		drop_out(v);
		advance(v, 200 * MS << i);
	}
}

/* The record at @seq goes in pieces of at most @mss, each byte once and as it was */
static void in_pieces(struct env *v, uint32_t seq, uint32_t len, uint32_t mss)
{
	for (uint32_t off = 0; off < len;) {
		struct out *o = next_out(v);
		uint32_t n = len - off < mss ? len - off : mss;

		assert_int_equal(o->s.seq, seq + off);
		assert_int_equal(o->s.len, n);
		assert_memory_equal(o->s.data, first_time + seq + off, n);
		off += n;
	}
}

/* RFC 1122 4.2.3.5: three retransmissions in vain, then smaller ones, 2923's way */
static void fourth_timeout_cuts(void **state)
{
	struct env *v = under_way(1, 1460);

	for (unsigned int i = 0; i < 3; i++) {
		advance(v, 200 * MS << i);
		assert_int_equal(next_out(v)->s.len, 1460);
		no_out(v);
	}
	advance(v, 1600 * MS);
	in_pieces(v, 1, 1460, 1452);
	assert_int_equal(tcp_emss(v->c), 1452);
	advance(v, 3200 * MS);
	in_pieces(v, 1, 1460, 966);
	advance(v, 6400 * MS);
	in_pieces(v, 1, 1460, 512);
	/* no size gets through: that is no matter of size */
	advance(v, 12800 * MS);
	assert_int_equal(tcp_emss(v->c), 1460);
	assert_int_equal(next_out(v)->s.len, 1460);
	no_out(v);
	advance(v, 25600 * MS);
	in_pieces(v, 1, 1460, 1452);
	no_out(v);
	assert_int_equal(tcp_engine_stats(v->e)->pmtu_holes, 0);
	env_free(v);
}

/* The small size is believed only when full size has failed once more */
static void hole_is_confirmed(void **state)
{
	struct env *v = under_way(2, 1460);

	timeouts(v, 4);
	drop_out(v);
	peer_ack(v, 1, 1461, WND);
	assert_int_equal(tcp_emss(v->c), 1460);
	assert_int_equal(next_out(v)->s.len, 1460);
	assert_int_equal(tcp_engine_stats(v->e)->pmtu_holes, 0);
	drop_out(v);
	advance(v, 200 * MS); /* one is enough */
	in_pieces(v, 1461, 1460, 1452);
	no_out(v);
	assert_int_equal(tcp_emss(v->c), 1452);
	assert_int_equal(tcp_engine_stats(v->e)->pmtu_holes, 1);
	peer_ack(v, 1, 2921, WND);
	assert_int_equal(tcp_emss(v->c), 1452); /* it stays */
	send_records(v, 1, 1452);
	assert_int_equal(next_out(v)->s.len, 1452);
	no_out(v);
	env_free(v);
}

static void full_size_gets_through(void **state)
{
	struct env *v = under_way(2, 1460);

	timeouts(v, 4);
	drop_out(v);
	peer_ack(v, 1, 1461, WND);
	advance(v, 10 * MS);
	peer_ack(v, 1, 2921, WND);
	send_records(v, 1, 1460);
	drop_out(v);
	advance(v, 200 * MS); /* lost for another reason: nothing is suspected any more */
	assert_int_equal(next_out(v)->s.len, 1460);
	assert_int_equal(tcp_emss(v->c), 1460);
	assert_int_equal(tcp_engine_stats(v->e)->pmtu_holes, 0);
	env_free(v);
}

/* RFC 1191 6.3 */
static void hole_is_forgotten(void **state)
{
	struct env *v = under_way(2, 1460);

	timeouts(v, 4);
	peer_ack(v, 1, 1461, WND);
	timeouts(v, 1);
	peer_ack(v, 1, 2921, WND);
	assert_int_equal(tcp_emss(v->c), 1452);
	advance(v, 599 * SECOND);
	send_records(v, 1, 100);
	peer_ack(v, 1, 3021, WND);
	assert_int_equal(tcp_emss(v->c), 1452);
	advance(v, 2 * SECOND);
	drop_out(v);
	send_records(v, 1, 1460);
	remember(v);
	assert_int_equal(tcp_emss(v->c), 1460);
	advance(v, 200 * MS);
	in_pieces(v, 3021, 1460, 1452);
	assert_int_equal(tcp_engine_stats(v->e)->pmtu_holes, 2);
	env_free(v);
}

static void small_or_unsent_proves_nothing(void **state)
{
	static const struct tcp_nexthop dead = {
		.vlan = TCP_VLAN_NONE, .mtu = 1500, .flags = TCP_NH_DEAD};
	struct env *v = under_way(1, 512); /* the least size */

	timeouts(v, 7);
	assert_int_equal(tcp_emss(v->c), 1460);
	env_free(v);
	v = under_way(1, 1460);
	assert_int_equal(tcp_nexthop_set(v->e, 0, &dead), 0);
	timeouts(v, 7);
	assert_int_equal(tcp_emss(v->c), 1460);
	env_free(v);
	v = under_way(1, 1460); /* the peer closed its window and says so each time */
	for (unsigned int i = 0; i < 7; i++) {
		peer_ack(v, 1, 1, 0);
		timeouts(v, 1);
		advance(v, 30 * SECOND);
	}
	assert_int_equal(tcp_emss(v->c), 1460);
	env_free(v);
}

/* A router that speaks after all knows better */
static void icmp_ends_the_search(void **state)
{
	struct env *v = under_way(1, 1460);

	timeouts(v, 5);
	assert_int_equal(tcp_emss(v->c), 966);
	PUT_ICMP(v, .type = 3, .code = 4, .mtu = 1400, .seq = 1, .packet_len = 1500);
	assert_int_equal(tcp_emss(v->c), 1360);
	drop_out(v);
	peer_ack(v, 1, 1461, WND);
	assert_int_equal(tcp_emss(v->c), 1360);
	env_free(v);
}

/* RFC 3522: the original had arrived, large as it was */
static void late_ack_ends_the_search(void **state)
{
	struct tcp_opts o = plain_opts;
	struct env *v;
	uint32_t sent;

	o.timestamps = true;
	v = established(&o);
	send_records(v, 1, 1448);
	sent = next_out(v)->s.tsval;
	timeouts(v, 4);
	assert_int_equal(tcp_emss(v->c), 1440);
	PUT(v, .flags = ACK, .seq = 1, .ack = 1449, .wnd = WND, .ts = true, .tsval = peer_tsval(v),
	    .tsecr = sent);
	assert_int_equal(tcp_engine_stats(v->e)->rtx_spurious, 1);
	assert_int_equal(tcp_emss(v->c), 1448);
	send_records(v, 1, 1448);
	drop_out(v);
	advance(v, 200 * MS); /* nor is it suspected any more */
	assert_int_equal(tcp_emss(v->c), 1448);
	env_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fourth_timeout_cuts),
		cmocka_unit_test(hole_is_confirmed),
		cmocka_unit_test(full_size_gets_through),
		cmocka_unit_test(hole_is_forgotten),
		cmocka_unit_test(small_or_unsent_proves_nothing),
		cmocka_unit_test(icmp_ends_the_search),
		cmocka_unit_test(late_ack_ends_the_search),
	};

	return cmocka_run_group_tests_name("tcp: black holes", tests, NULL, NULL);
}
