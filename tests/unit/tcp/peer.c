// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>

#include "peer.h"

const struct tcp_opts full_opts = {
	.rcv_wnd = 262144, .wscale = true, .timestamps = true, .sack = true};
const struct tcp_opts plain_opts = {.rcv_wnd = 20000};

static void w16(uint8_t *p, uint32_t x)
{
	p[0] = (uint8_t)(x >> 8);
	p[1] = (uint8_t)x;
}

static void w32(uint8_t *p, uint32_t x)
{
	w16(p, x >> 16);
	w16(p + 2, x);
}

static uint32_t r16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t r32(const uint8_t *p)
{
	return r16(p) << 16 | r16(p + 2);
}

/* The checksum of RFC 1071, as plainly as can be: the engine's must agree with it */
static uint16_t sum16(uint32_t sum, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sum += i & 1 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* With the pseudo header: the next header's number and both addresses */
static uint16_t l4_sum(const uint8_t *ip, uint8_t proto, const uint8_t *l4, size_t len)
{
	uint32_t sum = ip[0] >> 4 == 6 ? sum16(0, ip + 8, 32) : sum16(0, ip + 12, 8);

	return sum16(sum + proto + (uint32_t)len, l4, len);
}

/* ---------------------------------------------------------------- crafting */

static size_t craft_options(uint8_t *o, const struct pseg *s, uint32_t iss)
{
	uint8_t *p = o;

	if (s->rawoptlen) {
		memcpy(p, s->rawopt, s->rawoptlen);
		p += s->rawoptlen;
	}
	if (s->mss) {
		w32(p, 0x02040000u | s->mss);
		p += 4;
	}
	if (s->ws > 0) {
		w32(p, 0x01030300u | (uint32_t)(s->ws - 1));
		p += 4;
	}
	if (s->sackok) {
		w32(p, 0x01010402);
		p += 4;
	}
	if (s->ts) {
		w32(p, 0x0101080a);
		w32(p + 4, s->tsval);
		w32(p + 8, s->tsecr);
		p += 12;
	}
	if (s->nsack) {
		w32(p, 0x01010500u | (2 + 8 * s->nsack));
		p += 4;
		for (unsigned int i = 0; i < s->nsack; i++, p += 8) {
			w32(p, s->sack[i].start + iss);
			w32(p + 4, s->sack[i].end + iss);
		}
	}
	while ((p - o) & 3)
		*p++ = 1;
	return (size_t)(p - o);
}

static uint8_t *craft_ethernet(uint8_t *f, bool v6, uint16_t vlan)
{
	memset(f, 0, 18);
	f[5] = 1;
	f[11] = 2;
	if (vlan) {
		w16(f + 12, 0x8100);
		w16(f + 14, vlan);
		f += 4;
	}
	w16(f + 12, v6 ? 0x86dd : 0x0800);
	return f + 14;
}

static uint8_t *craft_ip4(uint8_t *ip, uint8_t proto, size_t len, uint8_t src, uint8_t dst)
{
	memset(ip, 0, 20);
	ip[0] = 0x45;
	w16(ip + 2, (uint32_t)(20 + len));
	ip[8] = 64;
	ip[9] = proto;
	w32(ip + 12, 0x0a000000u | src);
	w32(ip + 16, 0x0a000000u | dst);
	w16(ip + 10, (uint16_t)~sum16(0, ip, 20));
	return ip + 20;
}

static uint8_t *craft_ip6(const struct env *v, uint8_t *ip, uint8_t next, size_t len, uint8_t src,
			  uint8_t dst)
{
	w32(ip, 0x60000000);
	w16(ip + 4, (uint32_t)len);
	ip[6] = next;
	ip[7] = 64;
	memcpy(ip + 8, v->net, 15);
	ip[23] = src;
	memcpy(ip + 24, v->net, 15);
	ip[39] = dst;
	return ip + 40;
}

/* The IP header of a segment with @l4 bytes; returns where they go */
static uint8_t *craft_ip(const struct env *v, uint8_t *ip, const struct pseg *s, size_t l4)
{
	uint8_t src = s->saddr ? s->saddr : 2, dst = s->daddr ? s->daddr : 1;
	uint8_t *t;

	if (v->v6) {
		t = craft_ip6(v, ip, s->extlen ? s->extnext : 6, s->extlen + l4, src, dst);
		if (s->extlen)
			memcpy(t, s->ext, s->extlen);
		if (s->iplen)
			w16(ip + 4, s->iplen);
		return t + s->extlen;
	}
	t = craft_ip4(ip, 6, l4, src, dst);
	if (s->iplen)
		w16(ip + 2, s->iplen);
	w16(ip + 6, s->frag);
	w16(ip + 10, 0);
	w16(ip + 10, (uint16_t)~sum16(0, ip, 20));
	return t;
}

size_t craft(struct env *v, uint8_t *f, const struct pseg *s)
{
	uint8_t opt[64];
	size_t optlen = craft_options(opt, s, v->iss);
	size_t l4 = 20 + optlen + s->len;
	uint8_t *ip = craft_ethernet(f, v->v6, s->vlan);
	uint8_t *t = craft_ip(v, ip, s, l4);

	memset(t, 0, 20);
	w16(t, s->sport ? s->sport : PEER_PORT);
	w16(t + 2, s->dport ? s->dport : OUR_PORT);
	w32(t + 4, s->seq + PEER_ISS);
	w32(t + 8, s->flags & ACK ? s->ack + v->iss : 0);
	t[12] = (uint8_t)((s->doff ? s->doff : (20 + optlen) / 4) << 4);
	t[13] = s->flags;
	w16(t + 14, s->wnd);
	memcpy(t + 20, opt, optlen);
	if (s->len)
		memcpy(t + 20 + optlen, s->data ? s->data : bytes(), s->len);
	w16(t + 16, (uint16_t)~l4_sum(ip, 6, t, l4));
	if (s->bad_csum)
		t[17] ^= 1;
	return (size_t)(t - f) + l4;
}

/* Type and code, MTU, then the segment's IP header and 8 bytes of TCP */
void put_icmp(struct env *v, struct picmp i)
{
	size_t len = v->v6 ? 8 + 40 + 8 : 8 + 20 + 8, inner = i.packet_len ? i.packet_len : 1500;
	uint8_t f[18 + 40 + 8 + 40 + 8], *ip = craft_ethernet(f, v->v6, i.vlan), *ic, *q, *copy;

	ic = v->v6 ? craft_ip6(v, ip, 58, len, 9, 1) : craft_ip4(ip, 1, len, 9, 1);
	memset(ic, 0, len);
	ic[0] = i.type;
	ic[1] = i.code;
	w32(ic + 4, i.mtu);
	q = v->v6 ? craft_ip6(v, ic + 8, 6, inner - 40, 1, 2)
		  : craft_ip4(ic + 8, 6, inner - 20, 1, 2);
	w16(q, i.lport ? i.lport : OUR_PORT);
	w16(q + 2, PEER_PORT);
	w32(q + 4, i.seq + v->iss);
	len -= i.cut;
	if (v->v6)
		w16(ip + 4, (uint32_t)len);
	else
		craft_ip4(ip, 1, len, 9, 1);
	w16(ic + 2, (uint16_t)~(v->v6 ? l4_sum(ip, 58, ic, len) : sum16(0, ic, len)));
	if (i.bad_csum)
		ic[2] ^= 1;
	len += (size_t)(ic - f);
	copy = malloc(len);
	memcpy(copy, f, len);
	/* the host is told as well */
	assert_int_equal(tcp_input(v->e, v->now, copy, len, 0), TCP_TO_HOST);
	free(copy);
}

enum tcp_verdict put(struct env *v, struct pseg s)
{
	static uint8_t frame[70000];
	size_t len = craft(v, frame, &s);
	uint8_t *copy = malloc(len); /* so that reading past the end is seen */
	enum tcp_verdict r;

	memcpy(copy, frame, len);
	r = tcp_input(v->e, v->now, copy, len, 0);
	free(copy);
	return r;
}

/* ---------------------------------------------------------------- capturing */

static void read_options(struct out *o, const uint8_t *p, size_t len, uint32_t peer_iss)
{
	size_t i = 0;

	while (i < len && p[i]) {
		if (p[i] == 1) {
			i++;
			continue;
		}
		assert_true(i + 1 < len && p[i + 1] >= 2 && i + p[i + 1] <= len);
		switch (p[i]) {
		case 2:
			o->s.mss = (uint16_t)r16(p + i + 2);
			break;
		case 3:
			o->s.ws = p[i + 2] + 1;
			break;
		case 4:
			o->s.sackok = true;
			break;
		case 5:
			o->s.nsack = (p[i + 1] - 2u) / 8;
			for (unsigned int k = 0; k < o->s.nsack; k++) {
				o->s.sack[k].start = r32(p + i + 2 + 8 * k) - peer_iss;
				o->s.sack[k].end = r32(p + i + 6 + 8 * k) - peer_iss;
			}
			break;
		case 8:
			o->s.ts = true;
			o->s.tsval = r32(p + i + 2);
			o->s.tsecr = r32(p + i + 6);
			break;
		}
		i += p[i + 1];
	}
}

static const uint8_t *read_ip4(struct out *o, const uint8_t *ip)
{
	assert_int_equal(r16(ip - 2), 0x0800);
	assert_int_equal(ip[0], 0x45);
	assert_int_equal(sum16(0, ip, 20), 0xffff);
	assert_int_equal(r16(ip + 2), o->frame_len - (size_t)(ip - o->frame));
	o->dscp = ip[1] >> 2;
	o->ttl = ip[8];
	return ip + 20;
}

static const uint8_t *read_ip6(struct out *o, const uint8_t *ip)
{
	assert_int_equal(r16(ip - 2), 0x86dd);
	assert_true(o->meta.flags & TCP_TX_IPV6);
	assert_int_equal(ip[6], 6);
	assert_int_equal(r16(ip + 4) + 40u, o->frame_len - (size_t)(ip - o->frame));
	o->dscp = (uint8_t)(r32(ip) >> 22 & 0x3f);
	o->flow_label = r32(ip) & 0xfffff;
	o->ttl = ip[7];
	return ip + 40;
}

static void read_frame(struct env *v, struct out *o)
{
	const uint8_t *ip = o->frame + 14, *t;
	size_t l4, hlen;

	if (r16(o->frame + 12) == 0x8100) {
		o->tci = (uint16_t)r16(o->frame + 14);
		ip += 4;
	}
	o->v6 = ip[0] >> 4 == 6;
	t = o->v6 ? read_ip6(o, ip) : read_ip4(o, ip);
	l4 = o->frame_len - (size_t)(t - o->frame);
	if (!(o->meta.flags & TCP_TX_CSUM_PARTIAL))
		assert_int_equal(l4_sum(ip, 6, t, l4), 0xffff);
	hlen = (t[12] >> 4) * 4u;
	o->s.flags = t[13];
	if (o->s.flags & SYN) {
		v->iss = r32(t + 4);
		v->iss_known = true;
	}
	o->s.sport = (uint16_t)r16(t);
	o->s.dport = (uint16_t)r16(t + 2);
	o->s.seq = r32(t + 4) - v->iss;
	o->s.ack = o->s.flags & ACK ? r32(t + 8) - PEER_ISS : 0;
	o->s.wnd = r16(t + 14);
	o->s.data = t + hlen;
	o->s.len = (uint32_t)(l4 - hlen);
	read_options(o, t + 20, hlen - 20, PEER_ISS);
}

static int op_xmit(void *ctx, const struct iovec *iov, int cnt, const struct tcp_tx_meta *meta)
{
	struct env *v = ctx;
	struct out *o;

	if (v->xmit_rc)
		return v->xmit_rc;
	assert_true(v->nout < MAX_OUT);
	o = &v->out[v->nout++];
	memset(&o->s, 0, sizeof(o->s));
	o->tci = 0;
	o->frame_len = 0;
	o->meta = *meta;
	for (int i = 0; i < cnt; i++) {
		assert_true(o->frame_len + iov[i].iov_len <= sizeof(o->frame));
		memcpy(o->frame + o->frame_len, iov[i].iov_base, iov[i].iov_len);
		o->frame_len += (uint32_t)iov[i].iov_len;
	}
	assert_int_equal(o->frame_len, meta->len);
	read_frame(v, o);
	v->total_out++;
	return 0;
}

/* ---------------------------------------------------------------- owner */

static uint64_t op_now(void *ctx)
{
	return ((struct env *)ctx)->now;
}

static uint32_t op_random32(void *ctx)
{
	struct env *v = ctx;

	v->rng = v->rng * 1664525u + 1013904223u;
	return v->rng ^ v->rng >> 15;
}

static void op_to_host(void *ctx, const void *frame, size_t len, unsigned int csum_flags)
{
	struct env *v = ctx;

	v->nhost++;
	v->host_len = len;
	memcpy(v->host_frame, frame, len < 256 ? len : 256);
}

static bool op_conn_req(void *ctx, uint32_t listener, uint32_t syn_id, const void *frame,
			size_t len, const struct tcp_syn_info *info)
{
	struct env *v = ctx;

	if (v->refuse_req)
		return false;
	v->nreqs++;
	v->syn_id = syn_id;
	v->syn = *info;
	v->syn_len = len;
	assert_true(len <= sizeof(v->syn_frame));
	memcpy(v->syn_frame, frame, len);
	return true;
}

static void op_event(void *ctx, struct tcp_conn *conn, enum tcp_event ev, uint32_t info)
{
	struct env *v = ctx;

	assert_true(v->nevents < MAX_EVENTS);
	v->events[v->nevents].ev = ev;
	v->events[v->nevents++].info = info;
	if (v->free_on_event) {
		tcp_conn_free(conn);
		v->c = NULL;
	}
}

static size_t op_rx(void *ctx, struct tcp_conn *conn, const void *data, size_t len)
{
	struct env *v = ctx;

	if (v->rx_limit != SIZE_MAX) {
		len = len < v->rx_limit ? len : v->rx_limit;
		v->rx_limit -= len;
	}
	assert_true(v->rx_len + len <= RX_MAX);
	memcpy(v->rx + v->rx_len, data, len);
	v->rx_len += (uint32_t)len;
	return len;
}

static int op_gather(void *ctx, struct tcp_conn *conn, const struct tcp_record *r, uint32_t off,
		     uint32_t len, struct tcp_gather *g)
{
	struct env *v = ctx;

	v->gathers++;
	assert_true(off + len <= r->len);
	if (v->gather_rc)
		return v->gather_rc;
	g->iov[0].iov_base = (void *)(bytes() + r->cookie[0] % 1000 + off);
	g->iov[0].iov_len = len;
	g->cnt = 1;
	return 0;
}

static void op_pull(void *ctx, struct tcp_conn *conn)
{
	struct env *v = ctx;

	v->npull++;
	if (v->on_pull)
		v->on_pull(v);
}

static void op_record_acked(void *ctx, struct tcp_conn *conn, const struct tcp_record *r)
{
	struct env *v = ctx;

	v->acked[v->nacked++] = r->cookie[0];
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

struct env *env_new(const struct tcp_engine_config *cfg)
{
	static const struct tcp_engine_config none;
	struct tcp_nexthop nh = {.dmac = {2, 2, 2, 2, 2, 2},
				 .smac = {2, 1, 1, 1, 1, 1},
				 .vlan = TCP_VLAN_NONE,
				 .mtu = 1500};
	struct env *v = calloc(1, sizeof(*v));

	v->out = calloc(MAX_OUT, sizeof(*v->out));
	v->rx = malloc(RX_MAX);
	v->now = 1000 * SECOND;
	v->rx_limit = SIZE_MAX;
	v->rng = 12345;
	v->e = tcp_engine_new(cfg ? cfg : &none, &ops, v);
	assert_non_null(v->e);
	assert_int_equal(tcp_nexthop_set(v->e, 0, &nh), 0);
	return v;
}

struct env *env_new6(const struct tcp_engine_config *cfg)
{
	struct env *v = env_new(cfg);

	v->v6 = true;
	memcpy(v->net, "\x20\x01\x0d\xb8", 4);
	return v;
}

void env_free(struct env *v)
{
	tcp_engine_free(v->e);
	free(v->out);
	free(v->rx);
	free(v);
}

/* ---------------------------------------------------------------- looking */

struct out *next_out(struct env *v)
{
	if (v->taken == v->nout)
		fail_msg("a frame was expected");
	return &v->out[v->taken++];
}

void no_out(struct env *v)
{
	if (v->taken != v->nout) {
		const struct pseg *s = &v->out[v->taken].s;

		fail_msg("unexpected frame: flags %02x seq %u ack %u len %u", s->flags, s->seq,
			 s->ack, s->len);
	}
	v->taken = 0;
	v->nout = 0;
}

void drop_out(struct env *v)
{
	v->taken = 0;
	v->nout = 0;
}

/* Let time pass, waking the engine when it asks for it */
void advance(struct env *v, uint64_t ns)
{
	uint64_t end = v->now + ns;

	for (;;) {
		uint64_t due = tcp_engine_deadline(v->e);

		if (due > end)
			break;
		v->now = due > v->now ? due : v->now;
		tcp_engine_run(v->e, v->now);
	}
	v->now = end;
}

void expect_event(struct env *v, enum tcp_event ev, uint32_t info)
{
	if (!v->nevents)
		fail_msg("event %s was expected", tcp_event_name(ev));
	assert_string_equal(tcp_event_name(v->events[0].ev), tcp_event_name(ev));
	assert_int_equal(v->events[0].info, info);
	memmove(v->events, v->events + 1, --v->nevents * sizeof(v->events[0]));
}

void no_event(struct env *v)
{
	if (v->nevents)
		fail_msg("unexpected event %s", tcp_event_name(v->events[0].ev));
}

/* ---------------------------------------------------------------- beginnings */

struct tcp_open_params open_params(const struct tcp_opts *o)
{
	uint8_t us[4] = {10, 0, 0, 1}, peer[4] = {10, 0, 0, 2};
	struct tcp_open_params p = {.id = 1, .opts = *o};

	p.tuple.local = ip_addr_v4(us);
	p.tuple.remote = ip_addr_v4(peer);
	p.tuple.lport = OUR_PORT;
	p.tuple.rport = PEER_PORT;
	return p;
}

struct ip_addr env_addr(const struct env *v, uint8_t last)
{
	uint8_t b[16];

	memcpy(b, v->net, 15);
	b[15] = last;
	return ip_addr_v6(b);
}

struct tcp_open_params open_params6(const struct env *v, const struct tcp_opts *o)
{
	struct tcp_open_params p = open_params(o);

	p.tuple.local = env_addr(v, 1);
	p.tuple.remote = env_addr(v, 2);
	return p;
}

void open_conn(struct env *v, const struct tcp_opts *o)
{
	struct tcp_open_params p = v->v6 ? open_params6(v, o) : open_params(o);

	assert_int_equal(tcp_open(v->e, &p), 0);
	v->c = tcp_conn_find(v->e, 1);
	assert_non_null(v->c);
}

uint32_t peer_tsval(struct env *v)
{
	return (uint32_t)(v->now / MS);
}

void establish(struct env *v, const struct tcp_opts *o)
{
	struct out *syn;

	open_conn(v, o);
	syn = next_out(v);
	v->now += 10 * MS; /* the round trip */
	PUT(v, .flags = SYN | ACK, .ack = 1, .wnd = 65535, .mss = 1460, .ws = o->wscale ? 8 : 0,
	    .sackok = o->sack, .ts = o->timestamps, .tsval = peer_tsval(v), .tsecr = syn->s.tsval);
	assert_int_equal(next_out(v)->s.flags, ACK);
	no_out(v);
	expect_event(v, TCP_EV_ESTABLISHED, 0);
	no_event(v);
}

struct env *established(const struct tcp_opts *o)
{
	struct env *v = env_new(NULL);

	establish(v, o);
	return v;
}

void peer_ack(struct env *v, uint32_t seq, uint32_t ack, uint32_t wnd)
{
	struct tcp_conn_info i;

	tcp_conn_info(v->c, &i);
	PUT(v, .flags = ACK, .seq = seq, .ack = ack, .wnd = wnd, .ts = i.timestamps,
	    .tsval = peer_tsval(v));
}

const uint8_t *bytes(void)
{
	static uint8_t b[65536];

	if (!b[1])
		for (uint32_t i = 0; i < sizeof(b); i++)
			b[i] = (uint8_t)(i * 167 + (i >> 8) * 13 + 1);
	return b;
}

void send_records(struct env *v, unsigned int n, uint32_t len)
{
	static uint64_t id;

	for (unsigned int i = 0; i < n; i++) {
		struct tcp_record r = {.cookie = {id++}, .len = len};

		assert_int_equal(tcp_send_record(v->c, &r, 0), 0);
	}
}
