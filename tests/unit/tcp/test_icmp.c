// SPDX-License-Identifier: GPL-2.0-or-later
/* ICMP and ICMPv6 errors: which are believed, and what they do. */
#include "peer.h"

#define WND 65535u

static struct env *new_env(bool v6)
{
	return v6 ? env_new6(NULL) : env_new(NULL);
}

/* ---------------------------------------------------------------- during the handshake */

struct error {
	bool v6;
	uint8_t type, code;
	bool hard;
};

/* RFC 1122 4.2.3.9, RFC 4443 section 3 */
static const struct error errors[] = {
	{false, 3, 0, false}, /* net, host unreachable */
	{false, 3, 1, false},  {false, 3, 2, true}, /* protocol, port unreachable */
	{false, 3, 3, true},   {false, 3, 5, false}, /* source route failed */
	{false, 3, 9, true}, /* prohibited */
	{false, 3, 10, true},  {false, 3, 13, true}, {false, 11, 0, false}, /* time exceeded */
	{false, 12, 0, false}, /* parameter problem */
	{true, 1, 0, false}, /* no route */
	{true, 1, 1, true}, /* prohibited */
	{true, 1, 2, false}, /* beyond scope */
	{true, 1, 3, false}, /* address unreachable */
	{true, 1, 4, true}, /* port unreachable */
	{true, 1, 5, true},    {true, 1, 6, true},   {true, 3, 0, false}, /* time exceeded */
	{true, 4, 0, false}, /* erroneous header */
	{true, 4, 1, true}, /* no TCP there */
};

static void hard_errors_end_a_handshake(void **state)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		const struct error *x = &errors[i];
		struct env *v = new_env(x->v6);

		open_conn(v, &plain_opts);
		PUT_ICMP(v, .type = x->type, .code = x->code);
		if (x->hard)
			expect_event(v, TCP_EV_UNREACH, (uint32_t)x->type << 8 | x->code);
		no_event(v);
		env_free(v);
	}
}

/* A soft one is the reason that is given in the end; the handshake may still succeed */
static void soft_errors_explain_a_timeout(void **state)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		const struct error *x = &errors[i];
		struct env *v = new_env(x->v6);

		if (!x->hard) {
			open_conn(v, &plain_opts);
			PUT_ICMP(v, .type = x->type, .code = x->code);
			advance(v, 600 * SECOND);
			expect_event(v, TCP_EV_UNREACH, (uint32_t)x->type << 8 | x->code);
			no_event(v);
		}
		env_free(v);
	}
}

static void soft_error_then_answer(void **state)
{
	struct env *v = new_env(false);

	open_conn(v, &plain_opts);
	PUT_ICMP(v, .type = 3, .code = 1);
	PUT(v, .flags = SYN | ACK, .ack = 1, .wnd = WND);
	expect_event(v, TCP_EV_ESTABLISHED, 0);
	send_records(v, 1, 100);
	advance(v, 36000 * SECOND); /* the path breaks later: that is another matter */
	expect_event(v, TCP_EV_TIMEOUT, TCP_TIMEOUT_RTX);
	env_free(v);
}

static void passive_handshake_ends_too(void **state)
{
	struct ip_addr any = {.family = IP_V6};
	struct env *v = new_env(true);

	assert_int_equal(tcp_listen(v->e, 1, &any, OUR_PORT, TCP_VLAN_ANY, 1), 0);
	PUT(v, .flags = SYN, .wnd = WND);
	assert_int_equal(tcp_accept(v->e, v->syn_id, 1, 0, &plain_opts, NULL), 0);
	PUT_ICMP(v, .type = 1, .code = 1);
	expect_event(v, TCP_EV_UNREACH, 1 << 8 | 1);
	env_free(v);
}

static void no_error_ends_a_connection(void **state)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct env *v = new_env(errors[i].v6);

		establish(v, &plain_opts);
		send_records(v, 1, 100);
		PUT_ICMP(v, .type = errors[i].type, .code = errors[i].code, .seq = 1);
		assert_int_equal(tcp_engine_stats(v->e)->icmp_in, 1);
		no_event(v);
		assert_int_equal(tcp_conn_state(v->c), TCPS_ESTABLISHED);
		env_free(v);
	}
}

/* ---------------------------------------------------------------- who may say so (RFC 5927) */

static void what_is_not_believed(void **state)
{
	for (int v6 = 0; v6 < 2; v6++) {
		struct env *v = new_env(v6);
		uint8_t type = v6 ? 1 : 3, code = v6 ? 4 : 3;

		open_conn(v, &plain_opts);
		PUT_ICMP(v, .type = type, .code = code, .seq = 1); /* not sent yet */
		PUT_ICMP(v, .type = type, .code = code, .seq = UINT32_MAX);
		PUT_ICMP(v, .type = type, .code = code, .lport = OUR_PORT + 1);
		PUT_ICMP(v, .type = type, .code = code, .bad_csum = true);
		PUT_ICMP(v, .type = type, .code = code, .cut = 1); /* quotes too little */
		for (unsigned int cut = 1; cut < 20; cut++)
			PUT_ICMP(v, .type = type, .code = code, .cut = cut);
		PUT_ICMP(v, .type = v6 ? 128 : 8, .code = 0); /* echo */
		PUT_ICMP(v, .type = v6 ? 137 : 5, .code = 1); /* redirect */
		PUT_ICMP(v, .type = v6 ? 100 : 4, .code = 0); /* source quench is dead: RFC 6633 */
		assert_int_equal(tcp_engine_stats(v->e)->icmp_in, 0);
		no_event(v);
		env_free(v);
	}
}

/* What was acknowledged is not under way any more */
static void old_segment_is_not_believed(void **state)
{
	struct env *v = new_env(false);

	establish(v, &plain_opts);
	send_records(v, 1, 1460);
	peer_ack(v, 1, 1461, WND);
	PUT_ICMP(v, .type = 3, .code = 4, .mtu = 1000, .seq = 1);
	assert_int_equal(tcp_emss(v->c), 1460);
	env_free(v);
}

/* ---------------------------------------------------------------- path MTU */

static void too_big(struct env *v, uint32_t mtu, uint16_t packet_len)
{
	if (v->v6)
		PUT_ICMP(v, .type = 2, .mtu = mtu, .seq = 1, .packet_len = packet_len);
	else
		PUT_ICMP(v, .type = 3, .code = 4, .mtu = mtu, .seq = 1, .packet_len = packet_len);
}

static struct env *under_way(bool v6)
{
	struct env *v = new_env(v6);

	establish(v, &plain_opts);
	send_records(v, 1, tcp_emss(v->c));
	drop_out(v);
	return v;
}

static void path_mtu_bounds(void **state)
{
	struct env *v = under_way(false);

	too_big(v, 551, 1500);
	too_big(v, 1500, 1500); /* the packet would have fitted */
	too_big(v, 1400, 1300);
	assert_int_equal(tcp_emss(v->c), 1460);
	too_big(v, 552, 1500);
	assert_int_equal(tcp_emss(v->c), 512);
	env_free(v);
	v = under_way(true);
	too_big(v, 1279, 1500); /* RFC 8201 4: no path of IPv6 takes less */
	too_big(v, 0, 1500);
	too_big(v, 0x10000 + 1300, 1500); /* 32 bits */
	assert_int_equal(tcp_emss(v->c), 1440);
	too_big(v, 1280, 1500);
	assert_int_equal(tcp_emss(v->c), 1220);
	assert_int_equal(next_out(v)->s.len, 1220);
	assert_int_equal(next_out(v)->s.len, 220);
	no_out(v);
	env_free(v);
}

/* RFC 1191 5 and 7.1 */
static void router_that_does_not_tell(void **state)
{
	static const uint16_t steps[][2] = {{1500, 1492}, {1492, 1006}, {1006, 552}, {552, 552}};
	struct env *v = under_way(false);

	for (unsigned int i = 0; i < 4; i++) {
		too_big(v, 0, steps[i][0]);
		assert_int_equal(tcp_emss(v->c), steps[i][1] - 40u);
	}
	env_free(v);
}

static void path_mtu_during_the_handshake(void **state)
{
	struct env *v = new_env(false);

	open_conn(v, &plain_opts);
	PUT_ICMP(v, .type = 3, .code = 4, .mtu = 1000);
	PUT(v, .flags = SYN | ACK, .ack = 1, .wnd = WND, .mss = 1460);
	assert_int_equal(tcp_emss(v->c), 960);
	env_free(v);
}

/* RFC 1191 6.3 */
static void path_mtu_is_forgotten(void **state)
{
	struct env *v = under_way(false);

	too_big(v, 1000, 1500);
	peer_ack(v, 1, 1461, WND);
	drop_out(v);
	advance(v, 599 * SECOND);
	send_records(v, 1, 500);
	peer_ack(v, 1, 1961, WND);
	assert_int_equal(tcp_emss(v->c), 960);
	advance(v, 2 * SECOND);
	drop_out(v);
	send_records(v, 1, 1460);
	assert_int_equal(next_out(v)->s.len, 1460);
	no_out(v);
	env_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hard_errors_end_a_handshake),
		cmocka_unit_test(soft_errors_explain_a_timeout),
		cmocka_unit_test(soft_error_then_answer),
		cmocka_unit_test(passive_handshake_ends_too),
		cmocka_unit_test(no_error_ends_a_connection),
		cmocka_unit_test(what_is_not_believed),
		cmocka_unit_test(old_segment_is_not_believed),
		cmocka_unit_test(path_mtu_bounds),
		cmocka_unit_test(router_that_does_not_tell),
		cmocka_unit_test(path_mtu_during_the_handshake),
		cmocka_unit_test(path_mtu_is_forgotten),
	};

	return cmocka_run_group_tests_name("tcp: ICMP", tests, NULL, NULL);
}
