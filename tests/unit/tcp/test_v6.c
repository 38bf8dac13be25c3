// SPDX-License-Identifier: GPL-2.0-or-later
/* IPv6: addresses, extension headers, link-local scope, listeners, TIME_WAIT, loop, offload. */
#include <errno.h>

#include "peer.h"

#define WND 65535u

static struct env *established6(const struct tcp_opts *o)
{
	struct env *v = env_new6(NULL);

	establish(v, o);
	return v;
}

/* ---------------------------------------------------------------- opening */

static void active_open6(void **state)
{
	struct env *v = env_new6(NULL);
	struct tcp_opts opts = full_opts;
	struct out *o;

	opts.dscp = 46;
	opts.ttl = 7;
	open_conn(v, &opts);
	o = next_out(v);
	assert_true(o->v6);
	assert_int_equal(o->dscp, 46);
	assert_int_equal(o->ttl, 7);
	assert_int_equal(o->s.mss, 1440);
	assert_memory_equal(o->frame + 14 + 8, v->net, 15);
	assert_int_equal(o->frame[14 + 23], 1);
	assert_memory_equal(o->frame + 14 + 24, v->net, 15);
	assert_int_equal(o->frame[14 + 39], 2);
	PUT(v, .flags = SYN | ACK, .ack = 1, .wnd = WND, .mss = 1440, .ts = true, .tsval = 7,
	    .sackok = true, .ws = 8);
	assert_int_equal(next_out(v)->flow_label, o->flow_label);
	expect_event(v, TCP_EV_ESTABLISHED, 0);
	assert_int_equal(tcp_emss(v->c), 1428);
	no_out(v);
	env_free(v);
}

static void data_both_ways(void **state)
{
	struct env *v = established6(&full_opts);
	uint32_t off = 0;

	send_records(v, 2, 1428);
	for (int i = 0; i < 2; i++)
		assert_int_equal(next_out(v)->s.len, 1428);
	peer_ack(v, 1, 1 + 2 * 1428, WND);
	assert_int_equal(v->nacked, 2);
	for (uint32_t n = 1; n < 1000; n += 333) { /* odd lengths: the checksum's last byte */
		PUT(v, .flags = ACK | PSH, .seq = 1 + off, .ack = 1 + 2 * 1428, .wnd = WND,
		    .data = bytes() + off, .len = n, .ts = true, .tsval = peer_tsval(v));
		off += n;
	}
	assert_int_equal(v->rx_len, off);
	assert_memory_equal(v->rx, bytes(), off);
	assert_int_equal(tcp_engine_stats(v->e)->bad_csum, 0);
	env_free(v);
}

static void bad_checksum6(void **state)
{
	struct env *v = established6(&plain_opts);

	assert_int_equal(
		PUT(v, .flags = ACK, .seq = 1, .ack = 1, .wnd = WND, .len = 10, .bad_csum = true),
		TCP_CONSUMED);
	assert_int_equal(tcp_engine_stats(v->e)->bad_csum, 1);
	assert_int_equal(v->rx_len, 0);
	env_free(v);
}

static void default_mss6(void **state)
{
	struct env *v = env_new6(NULL);

	open_conn(v, &plain_opts);
	drop_out(v);
	PUT(v, .flags = SYN | ACK, .ack = 1, .wnd = WND); /* RFC 9293 3.7.1 (MUST-15) */
	assert_int_equal(tcp_emss(v->c), 1220);
	env_free(v);
}

static void open_errors6(void **state)
{
	static const uint8_t bad[][16] = {
		{0}, /* unspecified */
		{0xff, 2, [15] = 1}, /* multicast */
		{[10] = 0xff, 0xff, 10, 0, 0, 1}, /* IPv4-mapped */
	};
	struct env *v = env_new6(NULL);
	struct tcp_open_params p = open_params6(v, &plain_opts);

	for (unsigned int i = 0; i < 3; i++) {
		p = open_params6(v, &plain_opts);
		p.tuple.local = ip_addr_v6(bad[i]);
		assert_int_equal(tcp_open(v->e, &p), -EINVAL);
		p = open_params6(v, &plain_opts);
		p.tuple.remote = ip_addr_v6(bad[i]);
		assert_int_equal(tcp_open(v->e, &p), -EINVAL);
	}
	p.tuple.remote = ip_addr_v4("\12\0\0\2");
	assert_int_equal(tcp_open(v->e, &p), -EAFNOSUPPORT);
	p = open_params6(v, &plain_opts);
	assert_int_equal(tcp_open(v->e, &p), 0);
	p.id = 2;
	assert_int_equal(tcp_open(v->e, &p), -EADDRINUSE);
	p.tuple.remote.b[7] ^= 1; /* each of the 128 bits counts */
	assert_int_equal(tcp_open(v->e, &p), 0);
	p = open_params(&plain_opts); /* IPv4 with the same ports */
	p.id = 3;
	assert_int_equal(tcp_open(v->e, &p), 0);
	env_free(v);
}

static void every_address_bit_counts(void **state)
{
	struct env *v = env_new6(NULL);
	struct tcp_open_params p = open_params6(v, &plain_opts);

	for (unsigned int bit = 8; bit < 128; bit++) { /* the first byte stays unicast */
		p.id = bit;
		p.tuple = open_params6(v, &plain_opts).tuple;
		p.tuple.local.b[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(tcp_open(v->e, &p), 0);
		p.id = 128 + bit;
		p.tuple = open_params6(v, &plain_opts).tuple;
		p.tuple.remote.b[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(tcp_open(v->e, &p), 0);
	}
	drop_out(v);
	env_free(v);
}

/* ---------------------------------------------------------------- listening */

static void listen6(struct env *v, uint32_t id, const struct ip_addr *a, uint16_t vlan)
{
	assert_int_equal(tcp_listen(v->e, id, a, OUR_PORT, vlan, 4), 0);
}

static void passive_open6(void **state)
{
	struct ip_addr any = {.family = IP_V6};
	struct env *v = env_new6(NULL);
	struct out *o;

	listen6(v, 1, &any, TCP_VLAN_ANY);
	PUT(v, .flags = SYN, .wnd = 1000);
	assert_int_equal(v->syn.mss, 1220);
	assert_int_equal(v->syn.tuple.local.family, IP_V6);
	assert_int_equal(v->syn_len, 14 + 40 + 20);
	assert_int_equal(tcp_accept(v->e, v->syn_id, 3, 0, &plain_opts, NULL), 0);
	v->c = tcp_conn_find(v->e, 3);
	o = next_out(v);
	assert_int_equal(o->s.flags, SYN | ACK);
	assert_int_equal(o->s.mss, 1440);
	PUT(v, .flags = ACK, .seq = 1, .ack = 1, .wnd = 1000);
	expect_event(v, TCP_EV_ESTABLISHED, 0);
	env_free(v);
}

/* A wildcard is one of its family */
static void listeners_of_two_families(void **state)
{
	struct ip_addr any4 = {.family = IP_V4}, any6 = {.family = IP_V6};
	struct env *v = env_new6(NULL);
	struct ip_addr one = env_addr(v, 1);

	listen6(v, 1, &any4, TCP_VLAN_ANY);
	assert_int_equal(PUT(v, .flags = SYN), TCP_TO_HOST);
	listen6(v, 2, &any6, TCP_VLAN_ANY);
	assert_int_equal(tcp_listen(v->e, 3, &any6, OUR_PORT, TCP_VLAN_ANY, 4), -EADDRINUSE);
	PUT(v, .flags = SYN, .sport = 1);
	assert_int_equal(v->nreqs, 1);
	listen6(v, 3, &one, TCP_VLAN_ANY);
	assert_int_equal(tcp_unlisten(v->e, 2), 0);
	PUT(v, .flags = SYN, .sport = 2);
	assert_int_equal(v->nreqs, 2);
	assert_int_equal(PUT(v, .flags = SYN, .sport = 3, .daddr = 7), TCP_TO_HOST);
	v->v6 = false;
	PUT(v, .flags = SYN, .sport = 4);
	assert_int_equal(v->nreqs, 3);
	env_free(v);
}

static void refuse6(void **state)
{
	struct ip_addr any = {.family = IP_V6};
	struct env *v = env_new6(NULL);
	struct out *o;

	listen6(v, 1, &any, TCP_VLAN_ANY);
	PUT(v, .flags = SYN, .vlan = 5);
	assert_int_equal(tcp_refuse(v->e, v->syn_id, TCP_REFUSE_RST), 0);
	o = next_out(v);
	assert_int_equal(o->s.flags, RST | ACK);
	assert_int_equal(o->s.ack, 1);
	assert_int_equal(o->tci, 5);
	assert_int_equal(o->frame[18 + 23], 1);
	assert_int_equal(o->frame[18 + 39], 2);
	PUT(v, .flags = SYN, .sport = 9);
	assert_int_equal(tcp_refuse(v->e, v->syn_id, TCP_REFUSE_TO_HOST), 0);
	assert_int_equal(v->nhost, 1);
	assert_int_equal(v->host_len, 14 + 40 + 20);
	env_free(v);
}

static void syn_to_a_group(void **state)
{
	struct ip_addr any = {.family = IP_V6};
	struct env *v = env_new6(NULL);

	listen6(v, 1, &any, TCP_VLAN_ANY);
	memcpy(v->net, "\xff\x02", 2);
	assert_int_equal(PUT(v, .flags = SYN), TCP_TO_HOST);
	assert_int_equal(v->nreqs, 0);
	env_free(v);
}

/* ---------------------------------------------------------------- extension headers (RFC 8200) */

#define EXT(v, first, ...)                                                                   \
	PUT(v, .flags = ACK | PSH, .seq = 1 + (v)->rx_len, .ack = 1, .wnd = WND, .len = 100, \
	    .data = bytes() + (v)->rx_len, .extnext = (first),                               \
	    .ext = (const uint8_t[]){__VA_ARGS__}, .extlen = sizeof((uint8_t[]){__VA_ARGS__}))

static void extensions_in_front_of_tcp(void **state)
{
	struct env *v = established6(&plain_opts);

	/* hop-by-hop: PadN, Pad1 */
	assert_int_equal(EXT(v, 0, 6, 0, 1, 3, 0, 0, 0, 0), TCP_CONSUMED);
	/* routing header with nothing left to visit */
	assert_int_equal(EXT(v, 43, 6, 0, 4, 0, 0, 0, 0, 0), TCP_CONSUMED);
	/* destination options: an unknown one that may be skipped */
	assert_int_equal(EXT(v, 60, 6, 0, 0x1e, 4, 1, 2, 3, 4), TCP_CONSUMED);
	/* a fragment that is the whole packet (RFC 6946) */
	assert_int_equal(EXT(v, 44, 6, 0, 0, 0, 1, 2, 3, 4), TCP_CONSUMED);
	/* several, one of 16 bytes */
	assert_int_equal(
		EXT(v, 0, 60, 0, 1, 4, 0, 0, 0, 0, 6, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
		TCP_CONSUMED);
	assert_int_equal(v->rx_len, 500);
	assert_memory_equal(v->rx, bytes(), 500);
	env_free(v);
}

static void extensions_for_the_host(void **state)
{
	struct env *v = established6(&plain_opts);

	/* the packet has to be dropped, or answered, because of an option: not by us */
	assert_int_equal(EXT(v, 60, 6, 0, 0x5e, 4, 1, 2, 3, 4), TCP_TO_HOST);
	assert_int_equal(EXT(v, 0, 6, 0, 0xc2, 4, 0, 1, 0, 0), TCP_TO_HOST); /* jumbo */
	/* we are not its last stop */
	assert_int_equal(EXT(v, 43, 6, 0, 4, 1, 0, 0, 0, 0), TCP_TO_HOST);
	/* a later fragment: the ports are elsewhere */
	assert_int_equal(EXT(v, 44, 6, 0, 0, 8, 1, 2, 3, 4), TCP_TO_HOST);
	/* an option, and a header, longer than what is there */
	assert_int_equal(EXT(v, 60, 6, 0, 1, 9, 0, 0, 0, 0), TCP_TO_HOST);
	assert_int_equal(EXT(v, 60, 6, 255, 1, 4, 0, 0, 0, 0), TCP_TO_HOST);
	/* what is behind it cannot be read */
	assert_int_equal(EXT(v, 50, 6, 0, 1, 4, 0, 0, 0, 0), TCP_TO_HOST);
	assert_int_equal(EXT(v, 60, 59, 0, 1, 4, 0, 0, 0, 0), TCP_TO_HOST);
	assert_int_equal(v->rx_len, 0);
	no_out(v);
	env_free(v);
}

static void first_fragment_is_dropped(void **state)
{
	struct env *v = established6(&plain_opts);

	assert_int_equal(EXT(v, 44, 6, 0, 0, 1, 1, 2, 3, 4), TCP_CONSUMED);
	assert_int_equal(tcp_engine_stats(v->e)->fragments, 1);
	assert_int_equal(v->rx_len, 0);
	env_free(v);
}

/* The owner sees it as if they had not been there */
static void syn_with_extensions(void **state)
{
	static const uint8_t ext[16] = {60, 0, 1, 4, 0, 0, 0, 0, 6, 0, 1, 4, 0, 0, 0, 0};
	struct ip_addr any = {.family = IP_V6};
	struct env *v = env_new6(NULL);

	listen6(v, 1, &any, TCP_VLAN_ANY);
	PUT(v, .flags = SYN, .mss = 1300, .ext = ext, .extlen = sizeof(ext), .extnext = 0);
	assert_int_equal(v->nreqs, 1);
	assert_int_equal(v->syn_len, 14 + 40 + 24);
	assert_int_equal(v->syn_frame[14 + 6], 6);
	assert_int_equal(v->syn_frame[14 + 5], 24);
	assert_int_equal(v->syn_frame[14 + 40 + 20], 2);
	env_free(v);
}

static void truncated6(void **state)
{
	struct env *v = established6(&plain_opts);
	uint8_t f[200], *copy;
	struct pseg s = {.flags = ACK, .seq = 1, .ack = 1, .wnd = WND, .len = 10};
	size_t len = craft(v, f, &s);

	for (size_t n = 0; n < len; n++) {
		copy = malloc(n ? n : 1); /* of that size, for ASan */
		memcpy(copy, f, n);
		assert_int_equal(tcp_input(v->e, v->now, copy, n, 0), TCP_TO_HOST);
		free(copy);
	}
	assert_int_equal(v->rx_len, 0);
	env_free(v);
}

/* ---------------------------------------------------------------- link-local (RFC 4007) */

static void link_local_on_two_links(void **state)
{
	struct tcp_nexthop nh = {.dmac = {9}, .smac = {2}, .vlan = 7, .mtu = 1500};
	struct env *v = env_new6(NULL);
	struct tcp_open_params p;
	struct tcp_conn *tagged;

	assert_int_equal(tcp_nexthop_set(v->e, 1, &nh), 0);
	nh.vlan = 3 << 13 | 7; /* the same link, another priority */
	assert_int_equal(tcp_nexthop_set(v->e, 2, &nh), 0);
	memset(v->net, 0, 15);
	v->net[0] = 0xfe;
	v->net[1] = 0x80;
	establish(v, &plain_opts);
	p = open_params6(v, &plain_opts);
	p.id = 2;
	p.nexthop = 1;
	assert_int_equal(tcp_open(v->e, &p), 0); /* same addresses and ports, another VLAN */
	tagged = tcp_conn_find(v->e, 2);
	p.id = 3;
	p.nexthop = 2;
	assert_int_equal(tcp_open(v->e, &p), -EADDRINUSE);
	PUT(v, .flags = SYN | ACK, .ack = 1, .wnd = WND, .vlan = 7);
	assert_int_equal(tcp_conn_state(tagged), TCPS_ESTABLISHED);
	v->iss = 0;
	assert_int_equal(PUT(v, .flags = ACK, .seq = 1, .wnd = WND, .vlan = 8), TCP_TO_HOST);
	assert_int_equal(PUT(v, .flags = RST, .seq = 1, .vlan = 7), TCP_CONSUMED);
	assert_int_equal(tcp_conn_state(tagged), TCPS_CLOSED);
	assert_int_equal(tcp_conn_state(v->c), TCPS_ESTABLISHED);
	env_free(v);
}

/* A global address is the same host whatever link a frame came over */
static void global_address_has_no_scope(void **state)
{
	struct env *v = established6(&plain_opts);

	assert_int_equal(PUT(v, .flags = RST, .seq = 1, .vlan = 8), TCP_CONSUMED);
	expect_event(v, TCP_EV_PEER_RST, 0);
	env_free(v);
}

/* ---------------------------------------------------------------- the rest */

static void timewait6(void **state)
{
	struct env *v = established6(&plain_opts);

	tcp_close(v->c);
	drop_out(v);
	PUT(v, .flags = FIN | ACK, .seq = 1, .ack = 2, .wnd = WND);
	expect_event(v, TCP_EV_FIN_ACKED, 0);
	expect_event(v, TCP_EV_PEER_FIN, 0);
	expect_event(v, TCP_EV_CLOSED, 0);
	drop_out(v);
	PUT(v, .flags = FIN | ACK, .seq = 1, .ack = 2, .wnd = WND);
	assert_int_equal(next_out(v)->s.flags, ACK);
	no_out(v);
	env_free(v);
}

/* RFC 8200 5: no link takes less than 1280 */
static void mtu_floor(void **state)
{
	struct tcp_nexthop nh = {.dmac = {2}, .smac = {2}, .vlan = TCP_VLAN_NONE, .mtu = 68};
	struct env *v = established6(&plain_opts);

	assert_int_equal(tcp_nexthop_set(v->e, 0, &nh), 0);
	assert_int_equal(tcp_emss(v->c), 1220);
	nh.mtu = 9000;
	assert_int_equal(tcp_nexthop_set(v->e, 0, &nh), 0);
	assert_int_equal(tcp_emss(v->c), 1460); /* the peer's MSS option */
	env_free(v);
}

static void loop6(void **state)
{
	struct tcp_nexthop nh = {.vlan = TCP_VLAN_NONE, .mtu = 9000, .flags = TCP_NH_LOOP};
	struct ip_addr any = {.family = IP_V6};
	struct env *v = env_new6(NULL);
	struct tcp_open_params p = open_params6(v, &full_opts);

	assert_int_equal(tcp_nexthop_set(v->e, 1, &nh), 0);
	listen6(v, 1, &any, TCP_VLAN_ANY);
	p.tuple.remote = p.tuple.local;
	p.tuple.lport = 77;
	p.tuple.rport = OUR_PORT;
	p.nexthop = 1;
	assert_int_equal(tcp_open(v->e, &p), 0);
	assert_int_equal(tcp_accept(v->e, v->syn_id, 2, 1, &full_opts, NULL), 0);
	expect_event(v, TCP_EV_ESTABLISHED, 0);
	expect_event(v, TCP_EV_ESTABLISHED, 0);
	assert_int_equal(tcp_send(tcp_conn_find(v->e, 1), bytes(), 5000), 0);
	assert_int_equal(v->rx_len, 5000);
	assert_memory_equal(v->rx, bytes(), 5000);
	no_out(v);
	env_free(v);
}

static void offloads6(void **state)
{
	struct tcp_engine_config cfg = {.tx_flags = TCP_CFG_TX_GSO};
	struct env *v = env_new6(&cfg);
	struct out *o;

	establish(v, &plain_opts);
	tcp_batch_begin(v->e, v->now);
	send_records(v, 4, 1440);
	tcp_batch_end(v->e);
	o = next_out(v);
	assert_int_equal(o->s.len, 4 * 1440);
	assert_int_equal(o->meta.flags, TCP_TX_GSO | TCP_TX_CSUM_PARTIAL | TCP_TX_IPV6);
	assert_int_equal(o->meta.gso_size, 1440);
	assert_int_equal(o->meta.csum_start, 14 + 40);
	assert_int_equal(o->meta.hdr_len, 14 + 40 + 20);
	no_out(v);
	env_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(active_open6),
		cmocka_unit_test(data_both_ways),
		cmocka_unit_test(bad_checksum6),
		cmocka_unit_test(default_mss6),
		cmocka_unit_test(open_errors6),
		cmocka_unit_test(every_address_bit_counts),
		cmocka_unit_test(passive_open6),
		cmocka_unit_test(listeners_of_two_families),
		cmocka_unit_test(refuse6),
		cmocka_unit_test(syn_to_a_group),
		cmocka_unit_test(extensions_in_front_of_tcp),
		cmocka_unit_test(extensions_for_the_host),
		cmocka_unit_test(first_fragment_is_dropped),
		cmocka_unit_test(syn_with_extensions),
		cmocka_unit_test(truncated6),
		cmocka_unit_test(link_local_on_two_links),
		cmocka_unit_test(global_address_has_no_scope),
		cmocka_unit_test(timewait6),
		cmocka_unit_test(mtu_floor),
		cmocka_unit_test(loop6),
		cmocka_unit_test(offloads6),
	};

	return cmocka_run_group_tests_name("tcp: IPv6", tests, NULL, NULL);
}
