// SPDX-License-Identifier: GPL-2.0-or-later
/* Opening and listening: options, held SYNs, refusals, TIME_WAIT, time-outs. */
#include <errno.h>

#include "peer.h"

static void active_offers_options(void **state)
{
	struct env *v = env_new(NULL);
	struct out *o;

	open_conn(v, &full_opts);
	o = next_out(v);
	assert_int_equal(o->s.flags, SYN);
	assert_int_equal(o->s.mss, 1460); /* RFC 9293 3.7.1: MTU - 40, options not deducted */
	assert_int_equal(o->s.ws, 3 + 1); /* smallest shift for 256 KiB (RFC 7323 2.3) */
	assert_true(o->s.sackok);
	assert_true(o->s.ts);
	assert_int_equal(o->s.tsecr, 0); /* RFC 7323 3.2: zero without ACK */
	assert_int_equal(o->s.wnd, 65535); /* never scaled in a SYN (2.2) */
	assert_int_equal(o->ttl, 64);
	no_out(v);
	env_free(v);
}

static void active_plain(void **state)
{
	struct tcp_opts opts = {.rcv_wnd = 20000, .mss = 900, .dscp = 26, .ttl = 3};
	struct env *v = env_new(NULL);
	struct out *o;

	open_conn(v, &opts);
	o = next_out(v);
	assert_int_equal(o->s.mss, 900);
	assert_int_equal(o->s.ws, 0);
	assert_false(o->s.sackok);
	assert_false(o->s.ts);
	assert_int_equal(o->s.wnd, 20000);
	assert_int_equal(o->dscp, 26);
	assert_int_equal(o->ttl, 3);
	env_free(v);
}

static void options_only_when_both_want(void **state)
{
	struct env *v = env_new(NULL);
	struct tcp_conn_info i;

	open_conn(v, &full_opts);
	drop_out(v);
	PUT(v, .flags = SYN | ACK, .ack = 1, .wnd = 5000, .mss = 1200);
	tcp_conn_info(v->c, &i);
	assert_false(i.timestamps);
	assert_false(i.sack);
	assert_int_equal(i.snd_shift, 0);
	assert_int_equal(i.rcv_shift, 0);
	assert_int_equal(i.emss, 1200);
	assert_int_equal(next_out(v)->s.wnd, 65535); /* 256 KiB do not fit without scaling */
	env_free(v);
}

static void mss_defaults_to_536(void **state)
{
	struct env *v = env_new(NULL);

	open_conn(v, &plain_opts);
	PUT(v, .flags = SYN | ACK, .ack = 1, .wnd = 5000);
	assert_int_equal(tcp_emss(v->c), 536); /* RFC 9293 3.7.1, MUST-15 */
	env_free(v);
}

static void emss_counts_timestamps(void **state)
{
	struct env *v = established(&full_opts);

	assert_int_equal(tcp_emss(v->c), 1448);
	env_free(v);
}

static void shift_of_more_than_14_is_14(void **state)
{
	struct env *v = env_new(NULL);
	struct tcp_conn_info i;

	open_conn(v, &full_opts);
	PUT(v, .flags = SYN | ACK, .ack = 1, .wnd = 5000, .ws = 200);
	tcp_conn_info(v->c, &i);
	assert_int_equal(i.snd_shift, 14); /* RFC 7323 2.3 */
	env_free(v);
}

static void syn_sent_bad_ack_is_reset(void **state)
{
	struct env *v = env_new(NULL);
	struct out *o;

	open_conn(v, &plain_opts);
	drop_out(v);
	PUT(v, .flags = SYN | ACK, .ack = 77, .wnd = 5000); /* RFC 9293 3.10.7.3, first */
	o = next_out(v);
	assert_int_equal(o->s.flags, RST);
	assert_int_equal(o->s.seq, 77);
	PUT(v, .flags = SYN | ACK | RST, .ack = 0, .wnd = 5000);
	no_out(v);
	no_event(v);
	assert_int_equal(tcp_conn_state(v->c), TCPS_SYN_SENT);
	env_free(v);
}

static void refused(void **state)
{
	struct env *v = env_new(NULL);

	open_conn(v, &plain_opts);
	drop_out(v);
	PUT(v, .flags = RST); /* no ACK: dropped */
	no_event(v);
	PUT(v, .flags = RST | ACK, .ack = 1);
	expect_event(v, TCP_EV_REFUSED, 0);
	no_out(v);
	env_free(v);
}

static void syn_retries_then_timeout(void **state)
{
	struct tcp_opts o = plain_opts;
	struct env *v = env_new(NULL);
	uint64_t start;

	o.syn_retries = 3;
	start = v->now;
	open_conn(v, &o);
	assert_int_equal(next_out(v)->s.flags, SYN);
	advance(v, 999 * MS);
	no_out(v);
	advance(v, MS); /* RFC 6298 2.1: 1 s, then doubled */
	assert_int_equal(next_out(v)->s.flags, SYN);
	advance(v, 1999 * MS);
	no_out(v);
	advance(v, MS);
	assert_int_equal(next_out(v)->s.flags, SYN);
	advance(v, 4 * SECOND);
	assert_int_equal(next_out(v)->s.flags, SYN);
	advance(v, 7999 * MS);
	no_event(v);
	advance(v, MS);
	expect_event(v, TCP_EV_TIMEOUT, TCP_TIMEOUT_SYN);
	no_out(v);
	assert_int_equal(v->now - start, 15 * SECOND);
	assert_int_equal(tcp_engine_deadline(v->e), TCP_NO_DEADLINE);
	env_free(v);
}

static void simultaneous_open(void **state)
{
	struct env *v = env_new(NULL);
	struct out *o;

	open_conn(v, &full_opts);
	drop_out(v);
	PUT(v, .flags = SYN, .wnd = 5000, .mss = 1460); /* RFC 9293 figure 8 */
	assert_int_equal(tcp_conn_state(v->c), TCPS_SYN_RCVD);
	o = next_out(v);
	assert_int_equal(o->s.flags, SYN | ACK);
	assert_int_equal(o->s.seq, 0);
	assert_int_equal(o->s.ack, 1);
	PUT(v, .flags = SYN | ACK, .ack = 1, .wnd = 5000, .mss = 1460);
	expect_event(v, TCP_EV_ESTABLISHED, 0);
	assert_int_equal(tcp_conn_state(v->c), TCPS_ESTABLISHED);
	env_free(v);
}

static void open_errors(void **state)
{
	struct env *v = env_new(NULL);
	struct tcp_open_params p = open_params(&plain_opts);

	p.id = 4096;
	assert_int_equal(tcp_open(v->e, &p), -EINVAL);
	p = open_params(&plain_opts);
	p.nexthop = 5;
	assert_int_equal(tcp_open(v->e, &p), -EINVAL);
	p.nexthop = 5000;
	assert_int_equal(tcp_open(v->e, &p), -EINVAL);
	p = open_params(&plain_opts);
	p.tuple.rport = 0;
	assert_int_equal(tcp_open(v->e, &p), -EINVAL);
	p = open_params(&plain_opts);
	p.tuple.remote.b[0] = 224; /* RFC 9293 3.9.2.3, MUST-46 */
	assert_int_equal(tcp_open(v->e, &p), -EINVAL);
	p.tuple.remote.b[0] = 255;
	assert_int_equal(tcp_open(v->e, &p), -EINVAL);
	p.tuple.remote.b[0] = 0;
	assert_int_equal(tcp_open(v->e, &p), -EINVAL);
	p = open_params(&plain_opts);
	p.opts.dscp = 64;
	assert_int_equal(tcp_open(v->e, &p), -EINVAL);
	p = open_params(&plain_opts);
	p.opts.rcv_shift = 15;
	assert_int_equal(tcp_open(v->e, &p), -EINVAL);
	p = open_params(&plain_opts);
	p.tuple.remote.family = IP_V6;
	assert_int_equal(tcp_open(v->e, &p), -EAFNOSUPPORT);
	p = open_params(&plain_opts);
	assert_int_equal(tcp_open(v->e, &p), 0);
	assert_int_equal(tcp_open(v->e, &p), -EEXIST);
	p.id = 2;
	assert_int_equal(tcp_open(v->e, &p), -EADDRINUSE);
	env_free(v);
}

/* ---------------------------------------------------------------- passive */

static struct env *listening(const struct tcp_engine_config *cfg, uint32_t backlog)
{
	struct env *v = env_new(cfg);
	struct ip_addr any = {.family = IP_V4};

	assert_int_equal(tcp_listen(v->e, 9, &any, OUR_PORT, TCP_VLAN_ANY, backlog), 0);
	return v;
}

static void accept_syn(struct env *v, uint32_t id, const struct tcp_opts *o)
{
	assert_int_equal(tcp_accept(v->e, v->syn_id, id, 0, o, NULL), 0);
	v->c = tcp_conn_find(v->e, id);
}

static void passive_open(void **state)
{
	struct env *v = listening(NULL, 4);
	struct out *o;

	assert_int_equal(PUT(v, .flags = SYN, .wnd = 1000, .mss = 1400, .ws = 3, .sackok = true,
			     .ts = true, .tsval = 55),
			 TCP_CONSUMED);
	no_out(v); /* held until the owner decides */
	assert_int_equal(v->nreqs, 1);
	assert_int_equal(v->syn.mss, 1400);
	assert_int_equal(v->syn.wscale, 2);
	assert_true(v->syn.sack && v->syn.timestamps);
	assert_int_equal(v->syn.tuple.rport, PEER_PORT);
	assert_int_equal(v->syn.tuple.local.b[3], 1);
	assert_int_equal(v->syn_frame[14], 0x45);
	accept_syn(v, 3, &full_opts);
	o = next_out(v);
	assert_int_equal(o->s.flags, SYN | ACK);
	assert_int_equal(o->s.ack, 1);
	assert_int_equal(o->s.tsecr, 55);
	assert_true(o->s.sackok);
	assert_int_equal(o->s.ws, 4);
	no_event(v);
	PUT(v, .flags = ACK, .seq = 1, .ack = 1, .wnd = 1000, .ts = true, .tsval = 56);
	expect_event(v, TCP_EV_ESTABLISHED, 0);
	assert_int_equal(tcp_emss(v->c), 1388);
	no_out(v);
	env_free(v);
}

static void synack_has_no_unasked_options(void **state)
{
	struct env *v = listening(NULL, 4);
	struct out *o;

	PUT(v, .flags = SYN, .wnd = 1000);
	accept_syn(v, 3, &full_opts);
	o = next_out(v);
	assert_int_equal(o->s.ws, 0);
	assert_false(o->s.ts || o->s.sackok);
	env_free(v);
}

static void synack_is_repeated(void **state)
{
	struct env *v = listening(NULL, 4);

	PUT(v, .flags = SYN, .wnd = 1000);
	accept_syn(v, 3, &plain_opts);
	assert_int_equal(next_out(v)->s.flags, SYN | ACK);
	advance(v, SECOND);
	assert_int_equal(next_out(v)->s.flags, SYN | ACK);
	PUT(v, .flags = SYN, .wnd = 1000); /* the peer's SYN again: its answer was lost */
	assert_int_equal(next_out(v)->s.flags, SYN | ACK);
	advance(v, 300 * SECOND);
	expect_event(v, TCP_EV_TIMEOUT, TCP_TIMEOUT_SYN);
	env_free(v);
}

static void syn_rcvd_bad_ack_is_reset(void **state)
{
	struct env *v = listening(NULL, 4);
	struct out *o;

	PUT(v, .flags = SYN, .wnd = 1000);
	accept_syn(v, 3, &plain_opts);
	drop_out(v);
	PUT(v, .flags = ACK, .seq = 1, .ack = 500, .wnd = 1000);
	o = next_out(v);
	assert_int_equal(o->s.flags, RST); /* RFC 9293 3.10.7.4, fifth, SYN-RECEIVED */
	assert_int_equal(o->s.seq, 500);
	no_event(v);
	PUT(v, .flags = ACK, .seq = 1, .ack = 1, .wnd = 1000);
	expect_event(v, TCP_EV_ESTABLISHED, 0);
	env_free(v);
}

static void syn_rcvd_rst(void **state)
{
	struct env *v = listening(NULL, 4);

	PUT(v, .flags = SYN, .wnd = 1000);
	accept_syn(v, 3, &plain_opts);
	drop_out(v);
	PUT(v, .flags = RST, .seq = 1);
	expect_event(v, TCP_EV_PEER_RST, 0);
	no_out(v);
	env_free(v);
}

static void data_with_last_ack_of_handshake(void **state)
{
	struct env *v = listening(NULL, 4);

	PUT(v, .flags = SYN, .wnd = 1000);
	accept_syn(v, 3, &plain_opts);
	drop_out(v);
	PUT(v, .flags = ACK | PSH, .seq = 1, .ack = 1, .wnd = 1000, .len = 20);
	expect_event(v, TCP_EV_ESTABLISHED, 0);
	assert_int_equal(v->rx_len, 20);
	assert_int_equal(next_out(v)->s.ack, 21);
	env_free(v);
}

static void duplicate_syn_raises_one_event(void **state)
{
	struct env *v = listening(NULL, 4);

	for (int i = 0; i < 5; i++)
		assert_int_equal(PUT(v, .flags = SYN, .wnd = 1000), TCP_CONSUMED);
	assert_int_equal(v->nreqs, 1);
	assert_int_equal(tcp_engine_stats(v->e)->syns_dup, 4);
	/* but another incarnation is a new request, and the old id is dead */
	{
		uint32_t old = v->syn_id;

		PUT(v, .flags = SYN, .seq = 5000, .wnd = 1000);
		assert_int_equal(v->nreqs, 2);
		assert_int_equal(tcp_accept(v->e, old, 3, 0, &plain_opts, NULL), -ENOENT);
		accept_syn(v, 3, &plain_opts);
		assert_int_equal(next_out(v)->s.ack, 5001);
	}
	env_free(v);
}

static void backlog_bounds_held_syns(void **state)
{
	struct env *v = listening(NULL, 2);

	for (uint16_t i = 0; i < 10; i++)
		assert_int_equal(PUT(v, .flags = SYN, .wnd = 1, .sport = 100 + i), TCP_CONSUMED);
	assert_int_equal(v->nreqs, 2);
	assert_int_equal(tcp_engine_stats(v->e)->syns_limit, 8);
	assert_int_equal(tcp_refuse(v->e, v->syn_id, TCP_REFUSE_SILENT), 0);
	PUT(v, .flags = SYN, .wnd = 1, .sport = 300);
	assert_int_equal(v->nreqs, 3);
	env_free(v);
}

static void table_bounds_held_syns(void **state)
{
	struct tcp_engine_config cfg = {.max_syns = 8};
	struct env *v = listening(&cfg, 1000);

	for (uint16_t i = 0; i < 100; i++)
		PUT(v, .flags = SYN, .wnd = 1, .sport = 100 + i);
	assert_int_equal(v->nreqs, 8);
	/* held SYNs time out, and their ids answer no more */
	advance(v, 31 * SECOND);
	assert_int_equal(tcp_engine_stats(v->e)->syns_expired, 8);
	assert_int_equal(tcp_accept(v->e, v->syn_id, 3, 0, &plain_opts, NULL), -ENOENT);
	PUT(v, .flags = SYN, .wnd = 1, .sport = 5);
	assert_int_equal(v->nreqs, 9);
	env_free(v);
}

static void full_event_queue_forgets_syn(void **state)
{
	struct env *v = listening(NULL, 2);

	v->refuse_req = true;
	for (int i = 0; i < 5; i++)
		assert_int_equal(PUT(v, .flags = SYN, .wnd = 1), TCP_CONSUMED);
	assert_int_equal(tcp_engine_stats(v->e)->syns_event_full, 5);
	v->refuse_req = false;
	PUT(v, .flags = SYN, .wnd = 1); /* the retransmission gets through */
	assert_int_equal(v->nreqs, 1);
	env_free(v);
}

static void refuse_kinds(void **state)
{
	struct env *v = listening(NULL, 4);
	struct out *o;

	PUT(v, .flags = SYN, .seq = 0, .wnd = 1);
	assert_int_equal(tcp_refuse(v->e, v->syn_id, TCP_REFUSE_RST), 0);
	o = next_out(v); /* RFC 9293 3.10.7.1 */
	assert_int_equal(o->s.flags, RST | ACK);
	assert_int_equal(o->s.ack, 1);
	assert_int_equal(o->s.dport, PEER_PORT);
	assert_int_equal(o->frame[5], 2); /* to the MAC the SYN came from */
	assert_int_equal(tcp_refuse(v->e, v->syn_id, TCP_REFUSE_RST), -ENOENT);

	PUT(v, .flags = SYN, .wnd = 1);
	assert_int_equal(tcp_refuse(v->e, v->syn_id, TCP_REFUSE_SILENT), 0);
	no_out(v);

	PUT(v, .flags = SYN, .wnd = 1, .mss = 1000);
	assert_int_equal(tcp_refuse(v->e, v->syn_id, 7), -EINVAL);
	assert_int_equal(tcp_refuse(v->e, v->syn_id, TCP_REFUSE_TO_HOST), 0);
	no_out(v);
	assert_int_equal(v->nhost, 1);
	assert_int_equal(v->host_len, 14 + 20 + 24);
	/* what follows of that connection is the host's */
	assert_int_equal(PUT(v, .flags = ACK, .seq = 1, .ack = 1, .wnd = 1), TCP_TO_HOST);
	assert_int_equal(PUT(v, .flags = RST, .seq = 1), TCP_TO_HOST);
	env_free(v);
}

static void rst_takes_a_held_syn_back(void **state)
{
	struct env *v = listening(NULL, 4);

	PUT(v, .flags = SYN, .wnd = 1);
	PUT(v, .flags = RST, .seq = 9);
	assert_int_equal(PUT(v, .flags = RST, .seq = 1), TCP_CONSUMED);
	assert_int_equal(tcp_accept(v->e, v->syn_id, 3, 0, &plain_opts, NULL), -ENOENT);
	env_free(v);
}

static void listener_choice(void **state)
{
	struct env *v = env_new(NULL);
	struct ip_addr any = {.family = IP_V4}, one = ip_addr_v4((uint8_t[]){10, 0, 0, 1});

	assert_int_equal(tcp_listen(v->e, 1, &any, 80, TCP_VLAN_NONE, 4), 0);
	assert_int_equal(tcp_listen(v->e, 1, &any, 81, TCP_VLAN_NONE, 4), -EEXIST);
	assert_int_equal(tcp_listen(v->e, 2, &any, 80, TCP_VLAN_NONE, 4), -EADDRINUSE);
	assert_int_equal(tcp_listen(v->e, 256, &any, 82, TCP_VLAN_NONE, 4), -EINVAL);
	assert_int_equal(tcp_listen(v->e, 3, &any, 0, TCP_VLAN_NONE, 4), -EINVAL);
	assert_int_equal(tcp_listen(v->e, 3, &any, 82, 4096, 4), -EINVAL);
	assert_int_equal(tcp_listen(v->e, 3, &any, 82, 5, 0), -EINVAL);
	assert_int_equal(tcp_listen(v->e, 4, &one, 90, 5, 4), 0);
	assert_int_equal(PUT(v, .flags = SYN, .dport = 80), TCP_CONSUMED);
	assert_int_equal(PUT(v, .flags = SYN, .dport = 80, .vlan = 5, .sport = 1), TCP_TO_HOST);
	assert_int_equal(PUT(v, .flags = SYN, .dport = 81), TCP_TO_HOST);
	assert_int_equal(PUT(v, .flags = SYN, .dport = 90), TCP_TO_HOST);
	assert_int_equal(PUT(v, .flags = SYN, .dport = 90, .vlan = 0x6005), TCP_CONSUMED);
	assert_int_equal(v->syn.vlan, 5);
	assert_int_equal(PUT(v, .flags = SYN, .dport = 90, .vlan = 5, .daddr = 9), TCP_TO_HOST);
	assert_int_equal(PUT(v, .flags = SYN, .dport = 80, .bad_csum = true), TCP_CONSUMED);
	assert_int_equal(tcp_engine_stats(v->e)->bad_csum, 1);
	assert_int_equal(v->nreqs, 2);
	assert_int_equal(tcp_unlisten(v->e, 4), 0);
	assert_int_equal(tcp_unlisten(v->e, 4), -ENOENT);
	assert_int_equal(tcp_accept(v->e, v->syn_id, 3, 0, &plain_opts, NULL), -ENOENT);
	assert_int_equal(PUT(v, .flags = SYN, .dport = 90, .vlan = 5), TCP_TO_HOST);
	env_free(v);
}

/* RFC 9293 3.9.2.3, MUST-57 and 63: such a SYN is no offer */
static void syn_to_or_from_a_group(void **state)
{
	static const uint8_t bad[] = {0, 224, 239, 240, 255};
	struct env *v = listening(NULL, 4);
	struct pseg s = {.flags = SYN, .wnd = 1};
	uint8_t f[128];
	size_t len = craft(v, f, &s);

	for (size_t i = 0; i < sizeof(bad); i++) {
		for (int at = 26; at <= 30; at += 4) {
			uint8_t copy[128];
			uint32_t sum = 0;

			memcpy(copy, f, len);
			copy[at] = bad[i];
			copy[24] = 0;
			copy[25] = 0;
			for (int k = 14; k < 34; k += 2)
				sum += (uint32_t)copy[k] << 8 | copy[k + 1];
			sum = (sum & 0xffff) + (sum >> 16);
			copy[24] = (uint8_t)(~sum >> 8);
			copy[25] = (uint8_t)~sum;
			assert_int_equal(tcp_input(v->e, v->now, copy, len, TCP_CSUM_VALID),
					 TCP_TO_HOST);
		}
	}
	assert_int_equal(v->nreqs, 0);
	assert_int_equal(PUT(v, .flags = SYN, .wnd = 1), TCP_CONSUMED);
	assert_int_equal(v->nreqs, 1);
	env_free(v);
}

static void accept_errors_keep_the_syn(void **state)
{
	struct tcp_opts bad = {.dscp = 99};
	struct env *v = listening(NULL, 4);

	PUT(v, .flags = SYN, .wnd = 1);
	assert_int_equal(tcp_accept(v->e, v->syn_id, 99999, 0, &plain_opts, NULL), -EINVAL);
	assert_int_equal(tcp_accept(v->e, v->syn_id, 3, 77, &plain_opts, NULL), -EINVAL);
	assert_int_equal(tcp_accept(v->e, v->syn_id, 3, 0, &bad, NULL), -EINVAL);
	accept_syn(v, 3, &plain_opts);
	PUT(v, .flags = SYN, .wnd = 1, .sport = 77);
	assert_int_equal(tcp_accept(v->e, v->syn_id, 3, 0, &plain_opts, NULL), -EEXIST);
	accept_syn(v, 4, &plain_opts);
	env_free(v);
}

/* ---------------------------------------------------------------- TIME_WAIT */

static void to_timewait(struct env *v, const struct tcp_opts *o)
{
	establish(v, o);
	tcp_close(v->c);
	assert_int_equal(next_out(v)->s.flags, FIN | ACK);
	PUT(v, .flags = FIN | ACK, .seq = 1, .ack = 2, .wnd = 1000, .ts = o->timestamps,
	    .tsval = peer_tsval(v));
	assert_int_equal(next_out(v)->s.ack, 2);
	no_out(v);
	expect_event(v, TCP_EV_FIN_ACKED, 0);
	expect_event(v, TCP_EV_PEER_FIN, 0);
	expect_event(v, TCP_EV_CLOSED, 0);
	tcp_conn_free(v->c);
}

static void timewait_answers_fin(void **state)
{
	struct env *v = env_new(NULL);
	struct out *o;

	to_timewait(v, &plain_opts);
	advance(v, 50 * SECOND);
	assert_int_equal(PUT(v, .flags = FIN | ACK, .seq = 1, .ack = 2, .wnd = 1000), TCP_CONSUMED);
	o = next_out(v);
	assert_int_equal(o->s.flags, ACK);
	assert_int_equal(o->s.seq, 2);
	assert_int_equal(o->s.ack, 2);
	advance(v, 50 * SECOND); /* the FIN restarted 2 MSL */
	assert_int_equal(PUT(v, .flags = ACK, .seq = 2, .ack = 2, .wnd = 9), TCP_CONSUMED);
	advance(v, 11 * SECOND);
	assert_int_equal(PUT(v, .flags = ACK, .seq = 2, .ack = 2, .wnd = 9), TCP_TO_HOST);
	env_free(v);
}

static void timewait_ignores_rst(void **state)
{
	struct env *v = env_new(NULL);

	to_timewait(v, &plain_opts);
	assert_int_equal(PUT(v, .flags = RST, .seq = 2), TCP_CONSUMED); /* RFC 1337 */
	assert_int_equal(PUT(v, .flags = FIN | ACK, .seq = 1, .ack = 2, .wnd = 1), TCP_CONSUMED);
	assert_int_equal(next_out(v)->s.flags, ACK);
	env_free(v);
}

static void timewait_reopen(void **state)
{
	struct env *v = env_new(NULL);
	uint32_t old;

	to_timewait(v, &plain_opts);
	old = v->iss;
	open_conn(v, &plain_opts); /* same tuple */
	assert_int_equal(next_out(v)->s.flags, SYN);
	assert_true((int32_t)(v->iss - (old + 2)) > 0); /* RFC 9293 3.4.1 */
	PUT(v, .flags = SYN | ACK, .seq = 100000, .ack = 1, .wnd = 1000);
	expect_event(v, TCP_EV_ESTABLISHED, 0);
	env_free(v);
}

static void timewait_new_syn(void **state)
{
	struct env *v = env_new(NULL);
	struct ip_addr any = {.family = IP_V4};

	to_timewait(v, &plain_opts);
	/* an old SYN is answered with an ACK */
	PUT(v, .flags = SYN, .seq = 0, .wnd = 1);
	assert_int_equal(next_out(v)->s.flags, ACK);
	assert_int_equal(tcp_listen(v->e, 1, &any, OUR_PORT, TCP_VLAN_ANY, 4), 0);
	PUT(v, .flags = SYN, .seq = 2, .wnd = 1);
	assert_int_equal(v->nreqs, 0);
	drop_out(v);
	PUT(v, .flags = SYN, .seq = 3, .wnd = 1); /* beyond what was received: a new one */
	assert_int_equal(v->nreqs, 1);
	no_out(v);
	env_free(v);
}

static void timewait_new_syn_by_timestamp(void **state)
{
	struct env *v = env_new(NULL);
	struct ip_addr any = {.family = IP_V4};

	to_timewait(v, &full_opts);
	assert_int_equal(tcp_listen(v->e, 1, &any, OUR_PORT, TCP_VLAN_ANY, 4), 0);
	advance(v, SECOND);
	PUT(v, .flags = SYN, .seq = (uint32_t)-9999, .wnd = 1, .ts = true, .tsval = 1);
	assert_int_equal(v->nreqs, 0); /* RFC 6191: older */
	PUT(v, .flags = SYN, .seq = (uint32_t)-9999, .wnd = 1, .ts = true, .tsval = peer_tsval(v));
	assert_int_equal(v->nreqs, 1);
	env_free(v);
}

static void timewait_is_bounded(void **state)
{
	struct tcp_engine_config cfg = {.max_timewait = 4};
	struct env *v = env_new(&cfg);
	struct tcp_open_params p = open_params(&plain_opts);

	for (uint16_t i = 0; i < 10; i++) {
		p.tuple.rport = 100 + i;
		assert_int_equal(tcp_open(v->e, &p), 0);
		v->c = tcp_conn_find(v->e, 1);
		PUT(v, .flags = SYN | ACK, .ack = 1, .wnd = 100, .sport = 100 + i);
		tcp_close(v->c);
		PUT(v, .flags = FIN | ACK, .seq = 1, .ack = 2, .wnd = 100, .sport = 100 + i);
		tcp_conn_free(v->c);
		drop_out(v);
		v->nevents = 0;
	}
	assert_int_equal(tcp_engine_stats(v->e)->timewait_evicted, 6);
	assert_int_equal(PUT(v, .flags = ACK, .sport = 105), TCP_TO_HOST);
	assert_int_equal(PUT(v, .flags = ACK, .sport = 106), TCP_CONSUMED);
	env_free(v);
}

static void isn_differs_by_tuple_and_time(void **state)
{
	struct env *v = env_new(NULL);
	struct tcp_open_params p = open_params(&plain_opts);
	uint32_t first, second;

	assert_int_equal(tcp_open(v->e, &p), 0);
	first = v->iss;
	p.id = 2;
	p.tuple.rport++;
	assert_int_equal(tcp_open(v->e, &p), 0);
	assert_int_not_equal(v->iss, first + 1);
	second = v->iss;
	tcp_conn_free(tcp_conn_find(v->e, 2));
	v->now += SECOND;
	assert_int_equal(tcp_open(v->e, &p), 0);
	assert_int_equal(v->iss - second, 250000); /* RFC 9293 3.4.1: a tick every 4 us */
	env_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(active_offers_options),
		cmocka_unit_test(active_plain),
		cmocka_unit_test(options_only_when_both_want),
		cmocka_unit_test(mss_defaults_to_536),
		cmocka_unit_test(emss_counts_timestamps),
		cmocka_unit_test(shift_of_more_than_14_is_14),
		cmocka_unit_test(syn_sent_bad_ack_is_reset),
		cmocka_unit_test(refused),
		cmocka_unit_test(syn_retries_then_timeout),
		cmocka_unit_test(simultaneous_open),
		cmocka_unit_test(open_errors),
		cmocka_unit_test(passive_open),
		cmocka_unit_test(synack_has_no_unasked_options),
		cmocka_unit_test(synack_is_repeated),
		cmocka_unit_test(syn_rcvd_bad_ack_is_reset),
		cmocka_unit_test(syn_rcvd_rst),
		cmocka_unit_test(data_with_last_ack_of_handshake),
		cmocka_unit_test(duplicate_syn_raises_one_event),
		cmocka_unit_test(backlog_bounds_held_syns),
		cmocka_unit_test(table_bounds_held_syns),
		cmocka_unit_test(full_event_queue_forgets_syn),
		cmocka_unit_test(refuse_kinds),
		cmocka_unit_test(rst_takes_a_held_syn_back),
		cmocka_unit_test(listener_choice),
		cmocka_unit_test(syn_to_or_from_a_group),
		cmocka_unit_test(accept_errors_keep_the_syn),
		cmocka_unit_test(timewait_answers_fin),
		cmocka_unit_test(timewait_ignores_rst),
		cmocka_unit_test(timewait_reopen),
		cmocka_unit_test(timewait_new_syn),
		cmocka_unit_test(timewait_new_syn_by_timestamp),
		cmocka_unit_test(timewait_is_bounded),
		cmocka_unit_test(isn_differs_by_tuple_and_time),
	};

	return cmocka_run_group_tests_name("tcp: opening", tests, NULL, NULL);
}
