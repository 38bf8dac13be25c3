// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Below and around the connection: demultiplexing, fragments, VLAN, next hops, path MTU, ICMP,
 * frames to oneself, a wire that is full, offloads.
 */
#include <errno.h>

#include "peer.h"

#define WND 65535u

static struct tcp_nexthop nexthop(uint8_t mac, uint16_t vlan, uint16_t mtu, uint32_t flags)
{
	struct tcp_nexthop nh = {.dmac = {mac, 0, 0, 0, 0, mac},
				 .smac = {2, 1, 1, 1, 1, 1},
				 .vlan = vlan,
				 .mtu = mtu,
				 .flags = flags};

	return nh;
}

static void what_goes_to_the_host(void **state)
{
	struct env *v = established(&plain_opts);
	uint8_t f[100] = {0};

	assert_int_equal(PUT(v, .flags = ACK, .seq = 1, .ack = 1, .sport = 1), TCP_TO_HOST);
	assert_int_equal(PUT(v, .flags = SYN, .dport = 1), TCP_TO_HOST);
	assert_int_equal(PUT(v, .flags = SYN | ACK, .saddr = 9), TCP_TO_HOST);
	for (size_t len = 0; len < sizeof(f); len++)
		assert_int_equal(tcp_input(v->e, v->now, f, len, 0), TCP_TO_HOST);
	f[12] = 0x08;
	f[13] = 0x06; /* ARP */
	assert_int_equal(tcp_input(v->e, v->now, f, 60, 0), TCP_TO_HOST);
	f[12] = 0x86;
	f[13] = 0xdd; /* IPv6 */
	assert_int_equal(tcp_input(v->e, v->now, f, 60, 0), TCP_TO_HOST);
	no_out(v);
	no_event(v);
	env_free(v);
}

static void known_tuple_never_goes_to_the_host(void **state)
{
	struct env *v = established(&plain_opts);

	assert_int_equal(PUT(v, .flags = ACK, .seq = 1, .ack = 1, .bad_csum = true), TCP_CONSUMED);
	assert_int_equal(PUT(v, .flags = ACK, .seq = 1, .ack = 1, .frag = 0x2000, .len = 64),
			 TCP_CONSUMED);
	assert_int_equal(PUT(v, .flags = ACK, .seq = 1, .ack = 1, .doff = 4), TCP_CONSUMED);
	assert_int_equal(PUT(v, .flags = ACK, .seq = 1, .ack = 1, .doff = 15), TCP_CONSUMED);
	assert_int_equal(PUT(v, .flags = ACK, .seq = 1, .ack = 1, .iplen = 30), TCP_CONSUMED);
	assert_int_equal(tcp_engine_stats(v->e)->bad_csum, 1);
	assert_int_equal(tcp_engine_stats(v->e)->fragments, 1);
	assert_int_equal(tcp_engine_stats(v->e)->bad_header, 3);
	assert_int_equal(v->rx_len, 0);
	env_free(v);
}

static void padding_is_not_data(void **state)
{
	struct env *v = established(&plain_opts);
	struct pseg s = {.flags = ACK | PSH, .seq = 1, .ack = 1, .wnd = WND, .len = 2};
	uint8_t f[64] = {0};

	craft(v, f, &s);
	memset(f + 56, 0xee, 8); /* Ethernet pads to 60 */
	assert_int_equal(tcp_input(v->e, v->now, f, 60, 0), TCP_CONSUMED);
	assert_int_equal(v->rx_len, 2);
	env_free(v);
}

static void checksum_flags(void **state)
{
	struct env *v = established(&plain_opts);
	struct pseg s = {.flags = ACK, .seq = 1, .ack = 1, .wnd = WND, .len = 10, .bad_csum = true};
	uint8_t f[128];
	size_t len = craft(v, f, &s);

	tcp_input(v->e, v->now, f, len, 0);
	assert_int_equal(v->rx_len, 0);
	tcp_input(v->e, v->now, f, len, TCP_CSUM_PARTIAL); /* virtio: not filled in yet */
	assert_int_equal(v->rx_len, 10);
	env_free(v);
}

static void checksum_of_odd_pieces(void **state)
{
	/* the capture checks each frame's sum; lengths and gather offsets of every parity */
	struct env *v = established(&full_opts);

	for (uint32_t n = 1; n < 60; n++) {
		send_records(v, 1, n);
		peer_ack(v, 1, 1 + n * (n + 1) / 2, 8000);
	}
	assert_int_equal(v->nout, 59);
	env_free(v);
}

/* ---------------------------------------------------------------- next hops */

static void vlan_tag(void **state)
{
	struct env *v = env_new(NULL);
	struct tcp_nexthop nh = nexthop(4, 0x6007, 1500, 0);
	struct out *o;

	assert_int_equal(tcp_nexthop_set(v->e, 0, &nh), 0);
	open_conn(v, &plain_opts);
	o = next_out(v);
	assert_int_equal(o->tci, 0x6007);
	assert_int_equal(o->frame[0], 4);
	assert_int_equal(PUT(v, .flags = SYN | ACK, .ack = 1, .wnd = WND, .vlan = 7), TCP_CONSUMED);
	assert_int_equal(next_out(v)->tci, 0x6007);
	env_free(v);
}

static void nexthop_errors(void **state)
{
	struct env *v = env_new(NULL);
	struct tcp_nexthop nh = nexthop(4, TCP_VLAN_NONE, 67, 0);

	assert_int_equal(tcp_nexthop_set(v->e, 0, &nh), -EINVAL);
	nh.mtu = 68; /* RFC 791 3.2 */
	assert_int_equal(tcp_nexthop_set(v->e, 1024, &nh), -EINVAL);
	assert_int_equal(tcp_nexthop_clear(v->e, 1024), -EINVAL);
	assert_int_equal(tcp_nexthop_set(v->e, 1, &nh), 0);
	env_free(v);
}

static void live_connection_follows(void **state)
{
	struct env *v = established(&plain_opts);
	struct tcp_nexthop nh = nexthop(6, 9, 1500, 0);
	struct out *o;

	tcp_nexthop_set(v->e, 0, &nh);
	send_records(v, 1, 100);
	o = next_out(v);
	assert_int_equal(o->frame[0], 6);
	assert_int_equal(o->tci, 9);
	assert_int_equal(o->s.len, 100);
	nh.mtu = 1000;
	tcp_nexthop_set(v->e, 0, &nh);
	assert_int_equal(tcp_emss(v->c), 960);
	nh.mtu = 9000; /* the peer announced 1460 */
	tcp_nexthop_set(v->e, 0, &nh);
	assert_int_equal(tcp_emss(v->c), 1460);
	env_free(v);
}

static void update_changes_nexthop_and_dscp(void **state)
{
	struct env *v = established(&plain_opts);
	struct tcp_nexthop nh = nexthop(8, TCP_VLAN_NONE, 1200, 0);
	struct out *o;

	assert_int_equal(tcp_update(v->c, 3, 0), -EINVAL);
	tcp_nexthop_set(v->e, 3, &nh);
	assert_int_equal(tcp_update(v->c, 3, 64), -EINVAL);
	assert_int_equal(tcp_update(v->c, 3, 46), 0);
	send_records(v, 1, 100);
	o = next_out(v);
	assert_int_equal(o->frame[0], 8);
	assert_int_equal(o->dscp, 46);
	assert_int_equal(tcp_emss(v->c), 1160);
	env_free(v);
}

static void cleared_nexthop_is_a_dead_link(void **state)
{
	struct env *v = established(&plain_opts);
	struct tcp_nexthop nh = nexthop(7, TCP_VLAN_NONE, 1500, 0);

	assert_int_equal(tcp_nexthop_clear(v->e, 0), 0);
	send_records(v, 1, 100);
	advance(v, 300 * MS);
	no_out(v);
	tcp_nexthop_set(v->e, 0, &nh); /* the neighbour is back */
	assert_int_equal(next_out(v)->s.seq, 1); /* without waiting for a timer */
	env_free(v);
}

static void shrunk_mss_cuts_what_is_under_way(void **state)
{
	struct env *v = established(&plain_opts);
	struct tcp_nexthop nh = nexthop(7, TCP_VLAN_NONE, 1000, 0);

	send_records(v, 2, 1460);
	drop_out(v);
	tcp_nexthop_set(v->e, 0, &nh);
	for (int i = 0; i < 2; i++) { /* at once, as after ICMP */
		assert_int_equal(next_out(v)->s.len, 960);
		assert_int_equal(next_out(v)->s.len, 500);
	}
	env_free(v);
}

static void update_to_a_smaller_mtu_cuts_too(void **state)
{
	struct env *v = established(&plain_opts);
	struct tcp_nexthop nh = nexthop(9, TCP_VLAN_NONE, 1000, 0);
	struct out *o;

	tcp_nexthop_set(v->e, 3, &nh);
	send_records(v, 1, 1460);
	drop_out(v);
	assert_int_equal(tcp_update(v->c, 3, 0), 0);
	o = next_out(v);
	assert_int_equal(o->frame[0], 9);
	assert_int_equal(o->s.len, 960);
	assert_int_equal(next_out(v)->s.len, 500);
	no_out(v);
	env_free(v);
}

/* A connection waits at a dead entry and goes on when it is moved to another one. */
static void update_from_a_dead_nexthop_sends(void **state)
{
	struct env *v = established(&plain_opts);
	struct tcp_nexthop dead = nexthop(0, TCP_VLAN_NONE, 1500, TCP_NH_DEAD);
	struct tcp_nexthop nh = nexthop(9, TCP_VLAN_NONE, 1500, 0);
	uint32_t rtx;

	tcp_nexthop_set(v->e, 0, &dead);
	send_records(v, 2, 1460);
	advance(v, 20 * SECOND); /* the timer is backed off by now */
	no_out(v);
	tcp_nexthop_set(v->e, 3, &nh);
	assert_int_equal(tcp_update(v->c, 3, 0), 0);
	assert_int_equal(next_out(v)->s.seq, 1);
	no_out(v); /* RFC 5681 3.1: after a loss of all, one segment */
	rtx = v->total_out;
	advance(v, 400 * MS); /* and the back-off began anew */
	assert_true(v->total_out > rtx);
	env_free(v);
}

static void syn_waits_for_the_neighbour(void **state)
{
	struct env *v = env_new(NULL);
	struct tcp_nexthop nh = nexthop(7, TCP_VLAN_NONE, 1500, TCP_NH_DEAD);

	tcp_nexthop_set(v->e, 0, &nh);
	open_conn(v, &plain_opts);
	advance(v, 100 * MS);
	no_out(v);
	nh.flags = 0;
	tcp_nexthop_set(v->e, 0, &nh); /* resolved */
	assert_int_equal(next_out(v)->s.flags, SYN);
	no_out(v);
	advance(v, 990 * MS);
	no_out(v);
	advance(v, 20 * MS); /* RFC 6298 2.1: a second from then */
	assert_int_equal(next_out(v)->s.flags, SYN);
	env_free(v);
}

static void failed_neighbour_ends_a_handshake(void **state)
{
	struct env *v = env_new(NULL);
	struct tcp_nexthop nh = nexthop(7, TCP_VLAN_NONE, 1500, TCP_NH_DEAD);

	open_conn(v, &plain_opts);
	drop_out(v);
	tcp_nexthop_set(v->e, 0, &nh); /* no neighbour: wait */
	no_event(v);
	nh.flags |= TCP_NH_FAILED; /* nor will there be one */
	tcp_nexthop_set(v->e, 0, &nh);
	expect_event(v, TCP_EV_UNREACH, 3 << 8 | 1);
	no_out(v);
	env_free(v);
}

/* A connection that is up waits as long as TCP does, and then says why (RFC 1122 4.2.3.9). */
static void time_out_at_a_dead_nexthop_is_unreachable(void **state)
{
	struct tcp_opts o = plain_opts;
	struct tcp_nexthop nh = nexthop(7, TCP_VLAN_NONE, 1500, TCP_NH_DEAD | TCP_NH_FAILED);
	struct env *v;

	o.rtx_timeout_ms = 10000;
	v = established(&o);
	tcp_nexthop_set(v->e, 0, &nh);
	send_records(v, 1, 100);
	advance(v, 9 * SECOND);
	no_event(v);
	advance(v, 30 * SECOND);
	expect_event(v, TCP_EV_UNREACH, 3 << 8 | 1);
	no_out(v);
	env_free(v);
}

/* ---------------------------------------------------------------- ICMP */

static void unreachable(struct env *v, uint8_t code, uint32_t mtu, uint32_t seq, uint16_t lport)
{
	PUT_ICMP(v, .type = 3, .code = code, .mtu = mtu, .seq = seq, .lport = lport);
}

static void unreach_ends_a_handshake(void **state)
{
	struct env *v = env_new(NULL);

	open_conn(v, &plain_opts);
	unreachable(v, 1, 0, 0, OUR_PORT); /* host unreachable: soft (RFC 1122 4.2.3.9) */
	unreachable(v, 3, 0, 12345, OUR_PORT); /* quotes what we never sent (RFC 5927 4.1) */
	unreachable(v, 3, 0, 0, OUR_PORT + 1);
	no_event(v);
	unreachable(v, 3, 0, 0, OUR_PORT);
	expect_event(v, TCP_EV_UNREACH, 3 << 8 | 3);
	env_free(v);
}

static void unreach_does_not_end_a_connection(void **state)
{
	struct env *v = established(&plain_opts);

	send_records(v, 1, 100);
	unreachable(v, 3, 0, 1, OUR_PORT);
	no_event(v);
	assert_int_equal(tcp_conn_state(v->c), TCPS_ESTABLISHED);
	env_free(v);
}

static void path_mtu(void **state)
{
	struct env *v = established(&plain_opts);

	send_records(v, 2, 1460);
	drop_out(v);
	unreachable(v, 4, 1000, 99999, OUR_PORT);
	assert_int_equal(tcp_emss(v->c), 1460);
	unreachable(v, 4, 100, 1, OUR_PORT); /* a lie that would choke us */
	assert_int_equal(tcp_emss(v->c), 1460);
	unreachable(v, 4, 1000, 1, OUR_PORT);
	assert_int_equal(tcp_emss(v->c), 960); /* RFC 1191: sent again at once, smaller */
	assert_int_equal(next_out(v)->s.len, 960);
	assert_int_equal(next_out(v)->s.len, 500);
	next_out(v);
	next_out(v);
	{
		struct tcp_conn_info i;

		tcp_conn_info(v->c, &i);
		assert_int_equal(i.snd_cwnd, 14600); /* no sign of congestion */
	}
	unreachable(v, 4, 1400, 1, OUR_PORT); /* never up */
	assert_int_equal(tcp_emss(v->c), 960);
	env_free(v);
}

/* ---------------------------------------------------------------- to oneself */

static struct env *loop_env(struct tcp_open_params *p)
{
	struct tcp_nexthop nh = nexthop(1, TCP_VLAN_NONE, 9000, TCP_NH_LOOP);
	struct env *v = env_new(NULL);

	assert_int_equal(tcp_nexthop_set(v->e, 1, &nh), 0);
	*p = open_params(&full_opts);
	p->tuple.remote = p->tuple.local;
	p->nexthop = 1;
	return v;
}

static void loop_connection(void **state)
{
	struct tcp_open_params p;
	struct env *v = loop_env(&p);
	struct ip_addr any = {.family = IP_V4};
	struct tcp_conn *a, *b;

	assert_int_equal(tcp_listen(v->e, 1, &any, PEER_PORT, TCP_VLAN_NONE, 4), 0);
	assert_int_equal(tcp_open(v->e, &p), 0);
	assert_int_equal(v->nreqs, 1);
	assert_int_equal(tcp_accept(v->e, v->syn_id, 2, 1, &full_opts, NULL), 0);
	expect_event(v, TCP_EV_ESTABLISHED, 0);
	expect_event(v, TCP_EV_ESTABLISHED, 0);
	a = tcp_conn_find(v->e, 1);
	b = tcp_conn_find(v->e, 2);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(tcp_send(a, bytes(), 20000), 0);
		assert_int_equal(tcp_send(b, bytes(), 10000), 0);
		advance(v, 50 * MS);
	}
	assert_int_equal(v->rx_len, 3000000);
	no_out(v); /* nothing of it on the wire */
	tcp_close(a);
	tcp_close(b);
	advance(v, SECOND);
	assert_int_equal(tcp_conn_state(a), TCPS_CLOSED);
	assert_int_equal(tcp_conn_state(b), TCPS_CLOSED);
	no_out(v);
	env_free(v);
}

static void loop_refused(void **state)
{
	struct tcp_open_params p;
	struct env *v = loop_env(&p);
	struct ip_addr any = {.family = IP_V4};

	assert_int_equal(tcp_open(v->e, &p), 0);
	expect_event(v, TCP_EV_REFUSED, 0); /* nobody listens */
	tcp_conn_free(tcp_conn_find(v->e, 1));
	assert_int_equal(tcp_listen(v->e, 1, &any, PEER_PORT, TCP_VLAN_NONE, 4), 0);
	assert_int_equal(tcp_open(v->e, &p), 0);
	assert_int_equal(tcp_refuse(v->e, v->syn_id, TCP_REFUSE_TO_HOST), 0);
	expect_event(v, TCP_EV_REFUSED, 0); /* no host takes it: a RST stands in */
	assert_int_equal(v->nhost, 0);
	no_out(v);
	env_free(v);
}

static void loop_to_the_very_same_socket(void **state)
{
	struct tcp_open_params p;
	struct env *v = loop_env(&p);

	p.tuple.rport = p.tuple.lport; /* a simultaneous open with oneself; Linux allows it */
	assert_int_equal(tcp_open(v->e, &p), 0);
	expect_event(v, TCP_EV_ESTABLISHED, 0);
	v->c = tcp_conn_find(v->e, 1);
	assert_int_equal(tcp_send(v->c, "echo", 4), 0);
	advance(v, SECOND);
	assert_int_equal(v->rx_len, 4);
	tcp_close(v->c);
	advance(v, 100 * SECOND);
	assert_int_equal(tcp_conn_state(v->c), TCPS_CLOSED);
	env_free(v);
}

static void loop_queue_is_bounded(void **state)
{
	struct tcp_engine_config cfg = {.loop_bytes = 1};
	struct tcp_nexthop nh = nexthop(1, TCP_VLAN_NONE, 65535, TCP_NH_LOOP);
	struct env *v = env_new(&cfg);
	struct tcp_open_params p = open_params(&full_opts);
	struct ip_addr any = {.family = IP_V4};
	struct tcp_opts o = full_opts;

	tcp_nexthop_set(v->e, 1, &nh);
	o.rcv_wnd = 4 << 20;
	p.opts = o;
	p.tuple.remote = p.tuple.local;
	p.nexthop = 1;
	tcp_listen(v->e, 1, &any, PEER_PORT, TCP_VLAN_NONE, 4);
	tcp_open(v->e, &p);
	tcp_accept(v->e, v->syn_id, 2, 1, &o, NULL);
	v->c = tcp_conn_find(v->e, 1);
	send_records(v, 60, 60000); /* far more than the queue holds at a time */
	advance(v, SECOND);
	assert_int_equal(v->rx_len, 3600000);
	assert_int_equal(v->nacked, 60);
	assert_true(tcp_engine_stats(v->e)->loop_full > 0);
	assert_int_equal(tcp_engine_stats(v->e)->rtx_segs, 0);
	env_free(v);
}

/* ---------------------------------------------------------------- a full wire */

static void wire_eagain(void **state)
{
	struct env *v = established(&plain_opts);

	v->xmit_rc = -EAGAIN;
	send_records(v, 3, 100);
	PUT(v, .flags = ACK | PSH, .seq = 1, .ack = 1, .wnd = WND, .len = 5);
	assert_int_equal(v->nout, 0);
	advance(v, 100 * MS);
	v->xmit_rc = 0;
	tcp_tx_ready(v->e);
	assert_int_equal(next_out(v)->s.ack, 6);
	assert_int_equal(next_out(v)->s.seq, 101);
	assert_int_equal(next_out(v)->s.seq, 201);
	no_out(v);
	peer_ack(v, 6, 301, WND);
	assert_int_equal(v->nacked, 3);
	assert_int_equal(tcp_engine_stats(v->e)->rtx_segs, 0);
	env_free(v);
}

static void wire_blocked_for_long_is_no_loss(void **state)
{
	struct env *v = established(&plain_opts);

	send_records(v, 1, 100);
	drop_out(v);
	v->xmit_rc = -EAGAIN;
	send_records(v, 1, 100);
	advance(v, 1000 * SECOND);
	no_event(v);
	assert_int_equal(tcp_engine_stats(v->e)->rtx_timeouts, 0);
	v->xmit_rc = 0;
	tcp_tx_ready(v->e);
	assert_true(v->nout >= 1);
	env_free(v);
}

static void wire_error_is_loss(void **state)
{
	struct env *v = established(&plain_opts);

	v->xmit_rc = -ENETDOWN;
	send_records(v, 1, 100);
	v->xmit_rc = 0;
	advance(v, 200 * MS);
	assert_int_equal(next_out(v)->s.seq, 1);
	assert_int_equal(tcp_engine_stats(v->e)->tx_error, 1);
	env_free(v);
}

static void abort_while_blocked(void **state)
{
	struct env *v = established(&plain_opts);

	v->xmit_rc = -EAGAIN;
	send_records(v, 3, 100);
	tcp_abort(v->c);
	expect_event(v, TCP_EV_ABORTED, TCP_ABORT_LOCAL);
	tcp_conn_free(v->c);
	v->xmit_rc = 0;
	v->gathers = 0;
	tcp_tx_ready(v->e);
	assert_int_equal(v->gathers, 0); /* nothing of it is touched any more */
	env_free(v);
}

/* ---------------------------------------------------------------- offloads */

static void checksum_offload(void **state)
{
	struct tcp_engine_config cfg = {.tx_flags = TCP_CFG_TX_CSUM};
	struct env *v = env_new(&cfg);
	struct out *o;

	open_conn(v, &plain_opts);
	o = next_out(v);
	assert_int_equal(o->meta.flags, TCP_TX_CSUM_PARTIAL);
	assert_int_equal(o->meta.csum_start, 34);
	assert_int_equal(o->meta.csum_offset, 16);
	assert_int_equal(o->meta.hdr_len, 14 + 20 + 24);
	/* the pseudo header's sum: 10.0.0.1 + 10.0.0.2 + 6 + 24 */
	assert_int_equal(o->frame[34 + 16] << 8 | o->frame[34 + 17], 0x0a00 * 2 + 3 + 6 + 24);
	env_free(v);
}

static void gso(void **state)
{
	struct tcp_engine_config cfg = {.tx_flags = TCP_CFG_TX_GSO};
	struct env *v = env_new(&cfg);
	struct out *o;

	establish(v, &plain_opts);
	v->on_pull = NULL;
	tcp_send(v->c, bytes(), 8000);
	o = next_out(v);
	assert_int_equal(o->s.len, 8000); /* six segments in one frame */
	assert_int_equal(o->meta.flags, TCP_TX_CSUM_PARTIAL | TCP_TX_GSO);
	assert_int_equal(o->meta.gso_size, 1460);
	assert_int_equal(o->s.flags, ACK | PSH);
	assert_memory_equal(o->s.data, bytes(), 8000);
	peer_ack(v, 1, 8001, WND);
	no_out(v);
	/* records: only equal ones share a frame, so that the cut is theirs */
	send_records(v, 1, 500);
	assert_int_equal(next_out(v)->s.len, 500);
	peer_ack(v, 1, 8501, 0);
	send_records(v, 3, 1000);
	send_records(v, 1, 400);
	send_records(v, 2, 1000);
	no_out(v);
	peer_ack(v, 1, 8501, WND);
	o = next_out(v);
	assert_int_equal(o->s.len, 3400);
	assert_int_equal(o->meta.gso_size, 1000);
	o = next_out(v);
	assert_int_equal(o->s.len, 2000);
	assert_int_equal(o->meta.gso_size, 1000);
	no_out(v);
	peer_ack(v, 1, 13901, WND);
	assert_int_equal(v->nacked, 7);
	env_free(v);
}

static void received_gso_frame(void **state)
{
	struct env *v = established(&full_opts);

	PUT(v, .flags = ACK, .seq = 1, .ack = 1, .wnd = WND, .len = 60000, .ts = true,
	    .tsval = peer_tsval(v));
	assert_int_equal(v->rx_len, 60000);
	assert_memory_equal(v->rx, bytes(), 60000);
	assert_int_equal(next_out(v)->s.ack, 60001);
	env_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_goes_to_the_host),
		cmocka_unit_test(known_tuple_never_goes_to_the_host),
		cmocka_unit_test(padding_is_not_data),
		cmocka_unit_test(checksum_flags),
		cmocka_unit_test(checksum_of_odd_pieces),
		cmocka_unit_test(vlan_tag),
		cmocka_unit_test(nexthop_errors),
		cmocka_unit_test(live_connection_follows),
		cmocka_unit_test(update_changes_nexthop_and_dscp),
		cmocka_unit_test(cleared_nexthop_is_a_dead_link),
		cmocka_unit_test(shrunk_mss_cuts_what_is_under_way),
		cmocka_unit_test(update_to_a_smaller_mtu_cuts_too),
		cmocka_unit_test(update_from_a_dead_nexthop_sends),
		cmocka_unit_test(syn_waits_for_the_neighbour),
		cmocka_unit_test(failed_neighbour_ends_a_handshake),
		cmocka_unit_test(time_out_at_a_dead_nexthop_is_unreachable),
		cmocka_unit_test(unreach_ends_a_handshake),
		cmocka_unit_test(unreach_does_not_end_a_connection),
		cmocka_unit_test(path_mtu),
		cmocka_unit_test(loop_connection),
		cmocka_unit_test(loop_refused),
		cmocka_unit_test(loop_to_the_very_same_socket),
		cmocka_unit_test(loop_queue_is_bounded),
		cmocka_unit_test(wire_eagain),
		cmocka_unit_test(wire_blocked_for_long_is_no_loss),
		cmocka_unit_test(wire_error_is_loss),
		cmocka_unit_test(abort_while_blocked),
		cmocka_unit_test(checksum_offload),
		cmocka_unit_test(gso),
		cmocka_unit_test(received_gso_frame),
	};

	return cmocka_run_group_tests_name("tcp: link", tests, NULL, NULL);
}
