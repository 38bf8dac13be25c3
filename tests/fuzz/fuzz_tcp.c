// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A hostile network in front of the TCP engine, and an owner that does odd things behind it. The
 * input is a sequence of steps:
 *
 *   0x00 u16 length, bytes   a frame as it is
 *   0x01 u16 length, bytes   a frame whose addresses, ports and sequence numbers are made to fit
 * the connection (the numbers in it are relative), checksums right 0x02 u16 ms              time
 * passes 0x03 u8 what, u8 arg     the owner acts 0x04 bytes 20            a bare TCP header for the
 * connection, no Ethernet needed
 *
 * After each step the connection's inside must be sound (tests/unit/tcp/invariants.h).
 */
#include <stdio.h>
#include <stdlib.h>

#include "../unit/tcp/invariants.h"

#define MS	  1000000ull
#define LOCAL	  0x0a000001u
#define PEER	  0x0a000002u
#define OUR_PORT  5000
#define PEER_PORT 4000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct world {
	struct tcp_engine *e;
	uint64_t now;
	uint32_t rng;
	bool blocked;
	bool terminal[8];
	bool gather_fails;
	size_t rx_limit;
	uint32_t syn_id;
};

struct input {
	const uint8_t *p;
	size_t left;
};

/* ---------------------------------------------------------------- the owner */

static uint64_t op_now(void *ctx)
{
	return ((struct world *)ctx)->now;
}

static uint32_t op_random32(void *ctx)
{
	struct world *w = ctx;

	w->rng = w->rng * 1664525u + 1013904223u;
	return w->rng ^ w->rng >> 13;
}

static int op_xmit(void *ctx, const struct iovec *iov, int cnt, const struct tcp_tx_meta *meta)
{
	struct world *w = ctx;
	size_t sum = 0;

	for (int i = 0; i < cnt; i++)
		sum += iov[i].iov_len;
	if (sum != meta->len)
		abort();
	return w->blocked ? -EAGAIN : 0;
}

static void op_to_host(void *ctx, const void *frame, size_t len, unsigned int csum_flags)
{
}

static bool op_conn_req(void *ctx, uint32_t listener, uint32_t syn_id, const void *frame,
			size_t len, const struct tcp_syn_info *info)
{
	((struct world *)ctx)->syn_id = syn_id;
	return true;
}

static void op_event(void *ctx, struct tcp_conn *conn, enum tcp_event ev, uint32_t info)
{
	struct world *w = ctx;
	uint32_t id = tcp_conn_id(conn);

	if (w->terminal[id])
		abort(); /* an event after the end */
	w->terminal[id] = tcp_event_terminal(ev);
}

static size_t op_rx(void *ctx, struct tcp_conn *conn, const void *data, size_t len)
{
	struct world *w = ctx;
	volatile uint8_t sum = 0;

	for (size_t i = 0; i < len; i++)
		sum = (uint8_t)(sum + ((const uint8_t *)data)[i]);
	len = len < w->rx_limit ? len : w->rx_limit;
	if (w->rx_limit != SIZE_MAX)
		w->rx_limit -= len;
	return len;
}

static int op_gather(void *ctx, struct tcp_conn *conn, const struct tcp_record *record,
		     uint32_t off, uint32_t len, struct tcp_gather *g)
{
	if (((struct world *)ctx)->gather_fails)
		return -EFAULT;
	if (off + len > record->len || len > g->scratch_len)
		abort();
	memset(g->scratch, (int)record->cookie[0], len);
	g->iov[0].iov_base = g->scratch;
	g->iov[0].iov_len = len;
	g->cnt = 1;
	return 0;
}

static void op_pull(void *ctx, struct tcp_conn *conn)
{
	struct tcp_record r = {.len = tcp_emss(conn)};

	if (tcp_record_room(conn).records)
		tcp_send_record(conn, &r, 0);
}

static void op_record_acked(void *ctx, struct tcp_conn *conn, const struct tcp_record *record)
{
}

static const struct tcp_engine_ops ops = {
	.now = op_now,
	.random32 = op_random32,
	.xmit = op_xmit,
	.to_host = op_to_host,
	.conn_req = op_conn_req,
	.event = op_event,
	.rx = op_rx,
	.gather = op_gather,
	.pull = op_pull,
	.record_acked = op_record_acked,
};

/* ---------------------------------------------------------------- steps */

static uint8_t take8(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->p++;
}

static uint16_t take16(struct input *in)
{
	uint16_t lo = take8(in);

	return (uint16_t)(lo | take8(in) << 8);
}

static struct tcp_conn *current(struct world *w)
{
	return tcp_conn_find(w->e, 1);
}

static struct ip_addr addr(uint32_t a)
{
	uint8_t b[4];

	put32(b, a);
	return ip_addr_v4(b);
}

static struct tcp_opts options(uint8_t arg)
{
	struct tcp_opts o = {.rcv_wnd = arg & 8 ? 3000 : 300000,
			     .wscale = arg & 1,
			     .timestamps = arg & 2,
			     .sack = arg & 4,
			     .keepalive = arg & 16,
			     .keep_idle_ms = 1000,
			     .nodelay = arg & 32,
			     .rtx_retries = 3};

	return o;
}

static void open_one(struct world *w, uint8_t arg, bool loop)
{
	struct tcp_open_params p = {.id = 1, .opts = options(arg), .nexthop = loop};

	p.tuple.local = addr(LOCAL);
	p.tuple.remote = addr(loop ? LOCAL : PEER);
	p.tuple.lport = OUR_PORT;
	p.tuple.rport = PEER_PORT;
	if (!tcp_open(w->e, &p))
		w->terminal[1] &= tcp_conn_state(current(w)) == TCPS_CLOSED;
}

static void free_one(struct world *w, uint32_t id)
{
	struct tcp_conn *c = tcp_conn_find(w->e, id);

	if (!c)
		return;
	tcp_conn_free(c);
	w->terminal[id] = false;
}

static void accept_one(struct world *w, uint32_t id, uint8_t arg)
{
	struct tcp_opts o = options(arg);

	tcp_accept(w->e, w->syn_id, id, arg >> 7, &o, NULL);
}

static void act_on_conn(struct world *w, struct tcp_conn *c, uint8_t what, uint8_t arg)
{
	struct tcp_record r = {.cookie = {arg}, .len = 1 + arg * 37u};
	static const uint8_t text[4096];

	switch (what) {
	case 0:
		tcp_send(c, text, arg * 16u);
		break;
	case 1:
		for (int i = 0; i <= (arg & 7); i++)
			tcp_send_record(c, &r, arg & 1);
		break;
	case 2:
		tcp_pull(c);
		break;
	case 3:
		tcp_rx_resume(c);
		break;
	case 4:
		tcp_close(c);
		break;
	case 5:
		tcp_abort(c);
		break;
	case 6:
		tcp_update(c, arg & 3, arg >> 2);
		break;
	}
}

static void act_on_engine(struct world *w, uint8_t what, uint8_t arg)
{
	struct tcp_nexthop nh = {.vlan = arg & 1 ? 7 : TCP_VLAN_NONE,
				 .mtu = (uint16_t)(68 + arg * 60)};

	switch (what) {
	case 8:
		w->rx_limit = arg == 255 ? SIZE_MAX : arg * 8u;
		break;
	case 9:
		w->blocked = arg & 1;
		if (!w->blocked)
			tcp_tx_ready(w->e);
		break;
	case 10:
		tcp_nexthop_set(w->e, 0, &nh);
		break;
	case 11:
		tcp_nexthop_clear(w->e, 0);
		break;
	case 12:
		free_one(w, 1 + (arg & 1));
		break;
	case 13:
		open_one(w, arg, arg & 64);
		break;
	case 14:
		accept_one(w, 1 + (arg >> 6 & 1), arg);
		break;
	case 15:
		tcp_refuse(w->e, w->syn_id, arg % 3);
		break;
	case 16:
		w->gather_fails = arg & 1;
		break;
	case 17:
		if (arg & 1)
			tcp_batch_begin(w->e, w->now);
		else
			tcp_batch_end(w->e);
		break;
	}
}

static void act(struct world *w, uint8_t what, uint8_t arg)
{
	struct tcp_conn *c = current(w);

	what %= 18;
	if (what >= 8)
		act_on_engine(w, what, arg);
	else if (c)
		act_on_conn(w, c, what, arg);
}

static void give(struct world *w, const uint8_t *frame, size_t len, unsigned int flags)
{
	uint8_t *copy = malloc(len ? len : 1); /* of just that size, so that ASan sees all */

	memcpy(copy, frame, len);
	tcp_input(w->e, w->now, copy, len, flags);
	free(copy);
}

/* Make a frame one of the connection's, whatever else is in it */
static void fit(struct world *w, uint8_t *f, size_t len)
{
	struct tcp_conn *c = current(w);
	uint8_t *ip = f + 14, *t;
	uint32_t ihl, sum = 0;

	if (len < 14 + 20 + 20)
		return;
	if (get16(f + 12) == 0x8100 && len >= 18 + 40)
		ip += 4;
	ihl = (ip[0] & 15) * 4u;
	if (ihl < 20 || (size_t)(ip - f) + ihl + 20 > len)
		return;
	put32(ip + 12, PEER);
	put32(ip + 16, LOCAL);
	put16(ip + 10, 0);
	for (uint32_t i = 0; i < ihl; i += 2)
		sum += get16(ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	put16(ip + 10, ~(sum + (sum >> 16)));
	if (ip[9] != 6)
		return;
	t = ip + ihl;
	put16(t, PEER_PORT);
	put16(t + 2, OUR_PORT);
	if (!c)
		return;
	put32(t + 4, get32(t + 4) + c->irs);
	put32(t + 8, get32(t + 8) + c->iss);
}

static void step_frame(struct world *w, struct input *in, bool fitting)
{
	static uint8_t f[65535];
	size_t len = take16(in);

	len = len < in->left ? len : in->left;
	memcpy(f, in->p, len);
	in->p += len;
	in->left -= len;
	if (fitting)
		fit(w, f, len);
	give(w, f, len, fitting ? TCP_CSUM_VALID : 0);
}

/* A bare header around the connection's own numbers: the shortest way into its states */
static void step_header(struct world *w, struct input *in)
{
	uint8_t f[14 + 20 + 60 + 1460] = {0}, *ip = f + 14, *t = ip + 20;
	struct tcp_conn *c = current(w);
	uint32_t hlen, len;

	for (int i = 0; i < 20; i++)
		t[i] = take8(in);
	hlen = (t[12] >> 4) * 4u;
	hlen = hlen < 20 ? 20 : hlen;
	t[12] = (uint8_t)(hlen / 4 << 4);
	for (uint32_t i = 20; i < hlen; i++)
		t[i] = take8(in);
	len = get16(t + 18) % 1461; /* the urgent pointer has no other use */
	put16(f + 12, 0x0800);
	ip[0] = 0x45;
	put16(ip + 2, 20 + hlen + len);
	ip[8] = 64;
	ip[9] = 6;
	if (c) { /* small numbers: offsets from what is expected next, not from the start */
		put32(t + 4, (uint32_t)(int16_t)get16(t + 4) + c->rcv_nxt - c->irs);
		put32(t + 8, (uint32_t)(int16_t)get16(t + 8) + c->snd_una - c->iss);
	}
	fit(w, f, 14 + 20 + hlen + len);
	give(w, f, 14 + 20 + hlen + len, TCP_CSUM_VALID);
}

static void pass_time(struct world *w, uint32_t ms)
{
	w->now += ms * MS;
	tcp_engine_run(w->e, w->now);
}

static void step(struct world *w, struct input *in)
{
	uint8_t what;

	switch (take8(in) % 5) {
	case 0:
		step_frame(w, in, false);
		break;
	case 1:
		step_frame(w, in, true);
		break;
	case 2:
		pass_time(w, take16(in));
		break;
	case 3:
		what = take8(in);
		act(w, what, take8(in));
		break;
	case 4:
		step_header(w, in);
		break;
	}
}

static void must_be_sound(struct world *w)
{
	for (uint32_t id = 1; id < 3; id++) {
		struct tcp_conn *c = tcp_conn_find(w->e, id);
		const char *why = c && !w->e->batch ? conn_fault(c) : NULL;

		if (!why)
			continue;
		fprintf(stderr, "connection %u: %s\n", id, why);
		abort();
	}
}

static void prepare(struct world *w, uint8_t arg)
{
	static const struct tcp_engine_config cfg = {.max_conns = 8,
						     .max_listeners = 4,
						     .max_nexthops = 4,
						     .max_syns = 4,
						     .max_timewait = 4,
						     .stream_buf = 4096,
						     .max_segs = 64,
						     .reass_bytes = 1 << 17,
						     .loop_bytes = 1};
	static const struct tcp_engine_config gso = {.max_conns = 8,
						     .max_listeners = 4,
						     .max_nexthops = 4,
						     .max_syns = 4,
						     .max_timewait = 4,
						     .stream_buf = 8192,
						     .max_segs = 64,
						     .reass_bytes = 1 << 17,
						     .tx_flags = TCP_CFG_TX_GSO};
	struct tcp_nexthop nh = {.vlan = TCP_VLAN_NONE, .mtu = 1500};
	struct ip_addr any = {.family = IP_V4};

	w->e = tcp_engine_new(arg & 64 ? &gso : &cfg, &ops, w);
	tcp_nexthop_set(w->e, 0, &nh);
	nh.flags = TCP_NH_LOOP;
	tcp_nexthop_set(w->e, 1, &nh);
	tcp_listen(w->e, 1, &any, arg & 128 ? OUR_PORT : PEER_PORT, TCP_VLAN_ANY, 4);
	if (!(arg & 128))
		open_one(w, arg, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w = {.now = 1000000000ull, .rng = 1, .rx_limit = SIZE_MAX};
	struct input in = {.p = data, .left = size};

	prepare(&w, take8(&in));
	while (in.left) {
		step(&w, &in);
		must_be_sound(&w);
	}
	tcp_batch_end(w.e);
	/* whatever happened: left alone, nothing goes on for ever */
	free_one(&w, 1);
	free_one(&w, 2);
	for (int i = 0; i < 100; i++)
		pass_time(&w, 60000);
	if (!w.blocked && tcp_engine_deadline(w.e) != TCP_NO_DEADLINE)
		abort();
	tcp_engine_free(w.e);
	return 0;
}
