// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A hostile network in front of the TCP engine, and an owner that does odd things behind it. The
 * first byte chooses options, who opens, IPv4 or IPv6; then come steps:
 *
 *   0x00 u16 length, bytes   a frame as it is
 *   0x01 u16 length, bytes   a frame whose addresses, ports and sequence numbers are made to fit
 *                            the connection (the numbers in it are relative), checksums right
 *   0x02 u16 ms              time passes
 *   0x03 u8 what, u8 arg     the owner acts
 *   0x04 bytes 20            a bare TCP header for the connection, no Ethernet needed; for IPv6
 *                            u8 first: with bit 0 set, 9 bytes of an extension header
 *   0x05 bytes 8             an ICMP error that quotes the connection: type, code, u32, u16
 *                            sequence number
 *
 * After each step the connection's inside must be sound (tests/unit/tcp/invariants.h).
 */
#include <stdio.h>
#include <stdlib.h>

#include "../unit/tcp/invariants.h"

#define MS	  1000000ull
#define LOCAL	  1 /* last byte of the address */
#define PEER	  2
#define OUR_PORT  5000
#define PEER_PORT 4000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct world {
	struct tcp_engine *e;
	uint64_t now;
	uint32_t rng;
	bool v6;
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

static const uint8_t net4[3] = {10}, net6[15] = {0x20, 0x01, 0x0d, 0xb8};

static uint32_t addr_bytes(const struct world *w, uint8_t *b, uint8_t host)
{
	uint32_t n = w->v6 ? sizeof(net6) : sizeof(net4);

	memcpy(b, w->v6 ? net6 : net4, n);
	b[n] = host;
	return n + 1;
}

static struct ip_addr addr(const struct world *w, uint8_t host)
{
	uint8_t b[16];

	addr_bytes(w, b, host);
	return w->v6 ? ip_addr_v6(b) : ip_addr_v4(b);
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

	p.tuple.local = addr(w, LOCAL);
	p.tuple.remote = addr(w, loop ? LOCAL : PEER);
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

/* Ports, and sequence numbers relative to the connection's */
static void fit_tcp(struct world *w, uint8_t *t)
{
	struct tcp_conn *c = current(w);

	put16(t, PEER_PORT);
	put16(t + 2, OUR_PORT);
	if (!c)
		return;
	put32(t + 4, get32(t + 4) + c->irs);
	put32(t + 8, get32(t + 8) + c->iss);
}

static void fit_sum4(uint8_t *ip, uint32_t ihl)
{
	uint32_t sum = 0;

	put16(ip + 10, 0);
	for (uint32_t i = 0; i < ihl; i += 2)
		sum += get16(ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	put16(ip + 10, ~(sum + (sum >> 16)));
}

/* Make a frame one of the connection's, whatever else is in it */
static void fit(struct world *w, uint8_t *f, size_t len)
{
	uint8_t *ip = f + 14;
	uint32_t ihl;

	if (len < 14 + 20 + 20)
		return;
	if (get16(f + 12) == 0x8100 && len >= 18 + 40)
		ip += 4;
	ihl = ip[0] >> 4 == 6 ? 40 : (ip[0] & 15) * 4u;
	if (ihl < 20 || (size_t)(ip - f) + ihl + 20 > len)
		return;
	if (ip[0] >> 4 == 6) {
		addr_bytes(w, ip + 8, PEER);
		addr_bytes(w, ip + 24, LOCAL);
	} else {
		addr_bytes(w, ip + 12, PEER);
		addr_bytes(w, ip + 16, LOCAL);
		fit_sum4(ip, ihl);
	}
	if (ip[ip[0] >> 4 == 6 ? 6 : 9] == 6)
		fit_tcp(w, ip + ihl);
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

/* Ethernet and IP in front of @len bytes of @proto; returns where they go */
static uint8_t *headers(const struct world *w, uint8_t *f, uint8_t proto, uint32_t len)
{
	uint8_t *ip = f + 14;

	memset(f, 0, 14 + 40);
	put16(f + 12, w->v6 ? 0x86dd : 0x0800);
	if (w->v6) {
		ip[0] = 0x60;
		put16(ip + 4, len);
		ip[6] = proto;
		addr_bytes(w, ip + 8, PEER);
		addr_bytes(w, ip + 24, LOCAL);
		return ip + 40;
	}
	ip[0] = 0x45;
	put16(ip + 2, 20 + len);
	ip[9] = proto;
	addr_bytes(w, ip + 12, PEER);
	addr_bytes(w, ip + 16, LOCAL);
	fit_sum4(ip, 20);
	return ip + 20;
}

/* A bare header around the connection's own numbers: the shortest way into its states */
static void step_header(struct world *w, struct input *in)
{
	uint8_t f[14 + 40 + 8 + 60 + 1460] = {0}, t[60], ext[9], *p;
	struct tcp_conn *c = current(w);
	uint32_t hlen, len, extlen = w->v6 && take8(in) & 1 ? 8 : 0;

	for (uint32_t i = 0; i < 9 && extlen; i++)
		ext[i] = take8(in);
	for (int i = 0; i < 20; i++)
		t[i] = take8(in);
	hlen = (t[12] >> 4) * 4u;
	hlen = hlen < 20 ? 20 : hlen;
	t[12] = (uint8_t)(hlen / 4 << 4);
	for (uint32_t i = 20; i < hlen; i++)
		t[i] = take8(in);
	len = get16(t + 18) % 1461; /* the urgent pointer has no other use */
	if (c) { /* small numbers: offsets from what is expected next, not from the start */
		put32(t + 4, (uint32_t)(int16_t)get16(t + 4) + c->rcv_nxt - c->irs);
		put32(t + 8, (uint32_t)(int16_t)get16(t + 8) + c->snd_una - c->iss);
	}
	fit_tcp(w, t);
	p = headers(w, f, extlen ? ext[8] : 6, extlen + hlen + len);
	memcpy(p, ext, extlen);
	memcpy(p + extlen, t, hlen);
	give(w, f, (size_t)(p - f) + extlen + hlen + len, TCP_CSUM_VALID);
}

static uint16_t icmp_sum(const struct world *w, const uint8_t *f, const uint8_t *p, uint32_t len)
{
	uint32_t sum = w->v6 ? 58 + len : 0;

	for (uint32_t i = 0; i < 32 && w->v6; i += 2)
		sum += get16(f + 14 + 8 + i);
	for (uint32_t i = 0; i < len; i += 2)
		sum += get16(p + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void step_icmp(struct world *w, struct input *in)
{
	uint32_t ihl = w->v6 ? 40 : 20, len = 8 + ihl + 8;
	uint8_t f[14 + 40 + 8 + 40 + 8] = {0}, quote[14 + 40], *p, *q;
	struct tcp_conn *c = current(w);

	p = headers(w, f, w->v6 ? 58 : 1, len);
	memset(p, 0, len);
	p[0] = take8(in);
	p[1] = take8(in);
	for (int i = 4; i < 8; i++)
		p[i] = take8(in);
	headers(w, quote, 6, 1460);
	q = p + 8;
	memcpy(q, quote + 14, ihl);
	addr_bytes(w, q + (w->v6 ? 8 : 12), LOCAL);
	addr_bytes(w, q + (w->v6 ? 24 : 16), PEER);
	q += ihl;
	put16(q, OUR_PORT);
	put16(q + 2, PEER_PORT);
	put32(q + 4, (c ? c->snd_una : 0) + (uint32_t)(int16_t)take16(in));
	put16(p + 2, icmp_sum(w, f, p, len));
	give(w, f, (size_t)(p - f) + len, 0);
}

static void pass_time(struct world *w, uint32_t ms)
{
	w->now += ms * MS;
	tcp_engine_run(w->e, w->now);
}

static void step(struct world *w, struct input *in)
{
	uint8_t what;

	switch (take8(in) % 6) {
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
	case 5:
		step_icmp(w, in);
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
	struct ip_addr any = {.family = arg & 32 ? IP_V6 : IP_V4};

	w->v6 = arg & 32;
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
