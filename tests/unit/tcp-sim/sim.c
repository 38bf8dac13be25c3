// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tcp/invariants.h"
#include "sim.h"

#define PATTERN	 1048573u /* a prime, so that it meets segment sizes in every phase */
#define START_NS 1000000000ull
#define ETH_HLEN 14u

enum {
	A,
	B
};

struct packet {
	uint64_t at;
	uint64_t order; /* ties are first come, first served */
	uint8_t *data;
	uint32_t len;
	int to;
};

struct host {
	struct sim *sim;
	int side;
	struct tcp_engine *engine;
	struct tcp_conn *conn;
	uint64_t to_send; /* bytes in all */
	uint64_t queued;
	uint64_t acked; /* records: bytes reported */
	uint64_t expect; /* bytes the other side sends */
	uint64_t received;
	uint64_t link_free;
	uint64_t resume_at;
	uint32_t rooms; /* asked for */
	bool waiting; /* wire refused a frame */
	bool established, peer_fin, fin_acked, closed, terminal;
	bool closing;
};

struct sim {
	const struct sim_run *run;
	struct sim_result res;
	uint64_t now;
	uint64_t rng;
	uint64_t order;
	struct packet *heap;
	uint32_t heap_len, heap_cap;
	struct host host[2];
	uint8_t *pattern;
	bool failed;
};

/* ---------------------------------------------------------------- randomness */

static uint64_t next_random(struct sim *s)
{
	s->rng ^= s->rng << 13;
	s->rng ^= s->rng >> 7;
	s->rng ^= s->rng << 17;
	return s->rng * 0x2545f4914f6cdd1dull;
}

static bool chance(struct sim *s, double p)
{
	return p > 0 && (double)(next_random(s) >> 11) / 9007199254740992.0 < p;
}

static void fail(struct sim *s, const char *fmt, ...)
{
	va_list ap;

	if (s->failed)
		return;
	s->failed = true;
	va_start(ap, fmt);
	vsnprintf(s->res.why, sizeof(s->res.why), fmt, ap);
	va_end(ap);
}

/* ---------------------------------------------------------------- link */

static bool earlier(const struct packet *a, const struct packet *b)
{
	return a->at < b->at || (a->at == b->at && a->order < b->order);
}

static void heap_push(struct sim *s, struct packet p)
{
	uint32_t i;

	if (s->heap_len == s->heap_cap) {
		s->heap_cap = s->heap_cap ? 2 * s->heap_cap : 1024;
		s->heap = realloc(s->heap, s->heap_cap * sizeof(*s->heap));
		if (!s->heap)
			abort();
	}
	i = s->heap_len++;
	while (i && earlier(&p, &s->heap[(i - 1) / 2])) {
		s->heap[i] = s->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	s->heap[i] = p;
}

static struct packet heap_pop(struct sim *s)
{
	struct packet top = s->heap[0], last = s->heap[--s->heap_len];
	uint32_t i = 0;

	for (;;) {
		uint32_t k = 2 * i + 1;

		if (k >= s->heap_len)
			break;
		if (k + 1 < s->heap_len && earlier(&s->heap[k + 1], &s->heap[k]))
			k++;
		if (!earlier(&s->heap[k], &last))
			break;
		s->heap[i] = s->heap[k];
		i = k;
	}
	s->heap[i] = last;
	return top;
}

/* What would arrive during the stall arrives behind it */
static uint64_t stalled(const struct sim *s, uint64_t at)
{
	uint64_t begin = START_NS + 20000000, end = begin + s->run->link.stall_ns;

	return at >= begin && at < end ? end : at;
}

static void enqueue(struct sim *s, int to, const uint8_t *data, uint32_t len, uint64_t at)
{
	struct packet p = {.at = at, .order = s->order++, .len = len, .to = to};

	p.data = malloc(len);
	memcpy(p.data, data, len);
	if (chance(s, s->run->link.corrupt)) {
		uint64_t r = next_random(s);

		p.data[(r >> 8) % len] ^= (uint8_t)(1u << (r & 7));
		s->res.corrupted++;
	}
	if (chance(s, s->run->link.reorder))
		p.at += s->run->link.reorder_ns;
	p.at = stalled(s, p.at);
	heap_push(s, p);
}

static uint64_t wire_time(const struct sim *s, uint64_t len)
{
	/* preamble, FCS, gap */
	return s->run->link.rate_bps ? (len + 24) * 8 * 1000000000ull / s->run->link.rate_bps : 0;
}

/* A GSO frame leaves as the segments that a NIC would make of it; only their number matters here */
static void transmit(struct host *h, const uint8_t *frame, uint32_t len)
{
	struct sim *s = h->sim;
	uint64_t start = h->link_free > s->now ? h->link_free : s->now;

	h->link_free = start + wire_time(s, len);
	s->res.frames++;
	if (chance(s, s->run->link.loss)) {
		s->res.lost++;
		return;
	}
	enqueue(s, !h->side, frame, len, h->link_free + s->run->link.delay_ns);
	if (chance(s, s->run->link.dup))
		enqueue(s, !h->side, frame, len, h->link_free + s->run->link.delay_ns);
}

/* Largest backlog of the link, as time */
static uint64_t queue_time(const struct sim *s)
{
	return wire_time(s, s->run->link.queue);
}

/* The segments of a GSO frame meet the hole one by one, but are all of one size or less */
static bool falls_in_hole(struct host *h, const struct tcp_tx_meta *meta)
{
	const struct sim_link *l = &h->sim->run->link;
	uint64_t at = h->sim->now - START_NS;
	uint32_t len =
		meta->flags & TCP_TX_GSO ? (uint32_t)meta->hdr_len + meta->gso_size : meta->len;

	if (h->side != A || !l->hole || len - ETH_HLEN <= l->hole || at < l->hole_from ||
	    (l->hole_until && at >= l->hole_until))
		return false;
	h->sim->res.holed++;
	h->sim->res.holed_last = at;
	return true;
}

static uint8_t xmit_frame[70000];

/* Every other time, so that both ways are taken */
static uint8_t *op_room(void *ctx, size_t len)
{
	struct host *h = ctx;

	return len <= sizeof(xmit_frame) && h->rooms++ & 1 ? xmit_frame : NULL;
}

static int op_xmit(void *ctx, const struct iovec *iov, int cnt, const struct tcp_tx_meta *meta)
{
	struct host *h = ctx;
	struct sim *s = h->sim;
	uint32_t len = 0;

	if (s->run->link.queue && h->link_free > s->now + queue_time(s)) {
		if (s->run->link.block) {
			h->waiting = true;
			return -EAGAIN;
		}
		s->res.lost++;
		return 0;
	}
	if (falls_in_hole(h, meta))
		return 0;
	for (int i = 0; i < cnt; i++) {
		if (iov[i].iov_base != xmit_frame + len)
			memcpy(xmit_frame + len, iov[i].iov_base, iov[i].iov_len);
		len += (uint32_t)iov[i].iov_len;
	}
	if (len != meta->len)
		fail(s, "frame of %u bytes announced as %u", len, meta->len);
	transmit(h, xmit_frame, len);
	return 0;
}

/* ---------------------------------------------------------------- the two owners */

static uint64_t op_now(void *ctx)
{
	return ((struct host *)ctx)->sim->now;
}

static uint32_t op_random32(void *ctx)
{
	return (uint32_t)(next_random(((struct host *)ctx)->sim) >> 32);
}

static void op_to_host(void *ctx, const void *frame, size_t len, unsigned int csum_flags)
{
	struct host *h = ctx;

	fail(h->sim, "a frame went to the host");
}

static bool op_conn_req(void *ctx, uint32_t listener, uint32_t syn_id, const void *frame,
			size_t len, const struct tcp_syn_info *info)
{
	struct host *h = ctx;
	int rc = tcp_accept(h->engine, syn_id, 7, 0, &h->sim->run->opts, h);

	if (rc)
		fail(h->sim, "accept: %d", rc);
	h->conn = tcp_conn_find(h->engine, 7);
	return true;
}

static const uint8_t *pattern_at(struct sim *s, int side, uint64_t pos)
{
	return s->pattern + (pos + (uint64_t)side * 77777) % PATTERN;
}

static void fill_stream(struct host *h)
{
	while (h->queued < h->to_send) {
		size_t room = tcp_send_room(h->conn);
		size_t n = h->to_send - h->queued;

		n = n > 16384 ? 16384 : n;
		if (n > room) {
			tcp_pull(h->conn);
			return;
		}
		if (tcp_send(h->conn, pattern_at(h->sim, h->side, h->queued), n))
			return;
		h->queued += n;
	}
}

static uint32_t record_len(struct host *h)
{
	uint64_t left = h->to_send - h->queued;
	uint32_t n = tcp_emss(h->conn);

	if (h->sim->run->max_record)
		n = 1 + (uint32_t)(next_random(h->sim) >> 33) % h->sim->run->max_record;
	return n > left ? (uint32_t)left : n;
}

static void fill_records(struct host *h)
{
	struct tcp_room room = tcp_record_room(h->conn);
	int64_t bytes = room.bytes;
	uint32_t records = room.records;

	while (h->queued < h->to_send && bytes > 0 && records) {
		struct tcp_record r = {.cookie = {h->queued, ~h->queued}, .len = record_len(h)};
		bool last = h->queued + r.len == h->to_send;
		int rc = tcp_send_record(h->conn, &r, last ? TCP_REC_PUSH : 0);

		if (rc) {
			fail(h->sim, "record refused: %d", rc);
			return;
		}
		h->queued += r.len;
		bytes -= r.len;
		records--;
	}
	if (h->queued < h->to_send)
		tcp_pull(h->conn);
}

static void fill(struct host *h)
{
	if (h->terminal || h->closing)
		return;
	if (h->sim->run->records)
		fill_records(h);
	else
		fill_stream(h);
	if (h->queued == h->to_send && (h->side == A || h->peer_fin)) {
		h->closing = true;
		tcp_close(h->conn);
	}
}

static void op_pull(void *ctx, struct tcp_conn *conn)
{
	fill(ctx);
}

static void op_event(void *ctx, struct tcp_conn *conn, enum tcp_event ev, uint32_t info)
{
	struct host *h = ctx;

	if (h->terminal)
		fail(h->sim, "%c: event %s after the end", 'A' + h->side, tcp_event_name(ev));
	h->terminal |= tcp_event_terminal(ev);
	switch (ev) {
	case TCP_EV_ESTABLISHED:
		h->established = true;
		tcp_pull(conn);
		break;
	case TCP_EV_PEER_FIN:
		h->peer_fin = true;
		if (h->received != h->expect)
			fail(h->sim, "%c: FIN after %llu of %llu bytes", 'A' + h->side,
			     (unsigned long long)h->received, (unsigned long long)h->expect);
		fill(h);
		break;
	case TCP_EV_FIN_ACKED:
		h->fin_acked = true;
		break;
	case TCP_EV_CLOSED:
		h->closed = true;
		break;
	default:
		fail(h->sim, "%c: event %s %u", 'A' + h->side, tcp_event_name(ev), info);
	}
}

static bool matches(struct sim *s, int side, uint64_t pos, const uint8_t *data, size_t len)
{
	while (len) {
		const uint8_t *p = pattern_at(s, side, pos);
		size_t n = (size_t)(s->pattern + PATTERN - p);

		n = n > len ? len : n;
		if (memcmp(p, data, n))
			return false;
		data += n;
		pos += n;
		len -= n;
	}
	return true;
}

static size_t op_rx(void *ctx, struct tcp_conn *conn, const void *data, size_t len)
{
	struct host *h = ctx;
	struct sim *s = h->sim;

	if (chance(s, s->run->lazy)) {
		len = next_random(s) % (len + 1);
		h->resume_at = s->now + next_random(s) % 300000;
	}
	if (h->received + len > h->expect || !matches(s, !h->side, h->received, data, len))
		fail(s, "%c: wrong bytes at %llu", 'A' + h->side, (unsigned long long)h->received);
	h->received += len;
	if (h->side == B && h->received == h->expect)
		s->res.ns = s->now - START_NS;
	return len;
}

static int op_gather(void *ctx, struct tcp_conn *conn, const struct tcp_record *record,
		     uint32_t off, uint32_t len, struct tcp_gather *g)
{
	struct host *h = ctx;
	const uint8_t *p = pattern_at(h->sim, h->side, record->cookie[0] + off);

	if (record->cookie[1] != ~record->cookie[0] || off + len > record->len)
		fail(h->sim, "gather of a wrong record");
	if (len > 40) { /* a header made up on the fly */
		memcpy(g->scratch, p, 20);
		g->iov[g->cnt].iov_base = g->scratch;
		g->iov[g->cnt++].iov_len = 20;
		p += 20;
		len -= 20;
	}
	g->iov[g->cnt].iov_base = (void *)p;
	g->iov[g->cnt++].iov_len = len;
	return 0;
}

static void op_record_acked(void *ctx, struct tcp_conn *conn, const struct tcp_record *record)
{
	struct host *h = ctx;

	if (record->cookie[0] != h->acked)
		fail(h->sim, "%c: acknowledged out of turn", 'A' + h->side);
	h->acked += record->len;
}

static const struct tcp_engine_ops sim_ops = {
	.now = op_now,
	.random32 = op_random32,
	.xmit = op_xmit,
	.room = op_room,
	.to_host = op_to_host,
	.conn_req = op_conn_req,
	.event = op_event,
	.rx = op_rx,
	.gather = op_gather,
	.pull = op_pull,
	.record_acked = op_record_acked,
};

/* ---------------------------------------------------------------- the run */

static struct ip_addr addr_of(const struct sim *s, int side)
{
	uint8_t four[4] = {10, 0, 0, (uint8_t)(1 + side)};
	uint8_t six[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = (uint8_t)(1 + side)};

	return s->run->v6 ? ip_addr_v6(six) : ip_addr_v4(four);
}

static void setup(struct sim *s)
{
	struct tcp_engine_config cfg = {.max_conns = 16,
					.max_listeners = 4,
					.max_nexthops = 4,
					.stream_buf = 1 << 20,
					.tx_flags = s->run->tx_flags};
	struct tcp_nexthop nh = {.vlan = TCP_VLAN_NONE, .mtu = s->run->mtu};
	struct tcp_open_params open = {.id = 3, .opts = s->run->opts};
	struct ip_addr any = {.family = s->run->v6 ? IP_V6 : IP_V4};

	s->pattern = malloc(2 * PATTERN);
	for (uint32_t i = 0; i < PATTERN; i++)
		s->pattern[i] = (uint8_t)(next_random(s) >> 56);
	memcpy(s->pattern + PATTERN, s->pattern, PATTERN);
	for (int i = A; i <= B; i++) {
		struct host *h = &s->host[i];

		h->sim = s;
		h->side = i;
		h->resume_at = TCP_NO_DEADLINE;
		h->to_send = i == A ? s->run->bytes : s->run->back;
		h->expect = i == A ? s->run->back : s->run->bytes;
		h->engine = tcp_engine_new(&cfg, &sim_ops, h);
		nh.dmac[5] = (uint8_t)(2 - i);
		nh.smac[5] = (uint8_t)(1 + i);
		tcp_nexthop_set(h->engine, 0, &nh);
	}
	tcp_listen(s->host[B].engine, 1, &any, 4791, TCP_VLAN_ANY, 4);
	open.tuple.local = addr_of(s, A);
	open.tuple.remote = addr_of(s, B);
	open.tuple.lport = 40000;
	open.tuple.rport = 4791;
	if (tcp_open(s->host[A].engine, &open))
		fail(s, "open failed");
	s->host[A].conn = tcp_conn_find(s->host[A].engine, 3);
}

/* Time of the next thing that happens at a host */
static uint64_t host_due(struct host *h)
{
	struct sim *s = h->sim;
	uint64_t due = tcp_engine_deadline(h->engine);

	due = h->resume_at < due ? h->resume_at : due;
	if (h->waiting) {
		uint64_t room = h->link_free - queue_time(s) / 2;

		due = room < due ? room : due;
	}
	return due < s->now ? s->now : due;
}

static void host_step(struct host *h)
{
	struct sim *s = h->sim;

	if (host_due(h) > s->now)
		return;
	if (h->waiting && h->link_free - queue_time(s) / 2 <= s->now) {
		h->waiting = false;
		tcp_tx_ready(h->engine);
	}
	if (h->resume_at <= s->now) {
		h->resume_at = TCP_NO_DEADLINE;
		if (!h->terminal)
			tcp_rx_resume(h->conn);
	}
	tcp_engine_run(h->engine, s->now);
}

static void deliver(struct sim *s)
{
	unsigned int flags = s->run->link.trust ? TCP_CSUM_VALID : 0;

	for (int i = A; i <= B && s->run->batch; i++)
		tcp_batch_begin(s->host[i].engine, s->now);
	while (s->heap_len && s->heap[0].at <= s->now) {
		struct packet p = heap_pop(s);
		enum tcp_verdict v = tcp_input(s->host[p.to].engine, s->now, p.data, p.len, flags);

		/*
		 * A corrupted frame may be for nobody, but its checksum is wrong then. And the side
		 * that left LAST_ACK has forgotten the tuple: what comes late is the host's.
		 */
		if (v == TCP_TO_HOST && s->run->link.corrupt == 0 && !s->host[p.to].terminal)
			fail(s, "a segment would have gone to the host");
		free(p.data);
	}
	for (int i = A; i <= B && s->run->batch; i++)
		tcp_batch_end(s->host[i].engine);
}

static void check_inside(struct sim *s)
{
	for (int i = A; i <= B; i++) {
		const char *why = s->host[i].conn ? conn_fault(s->host[i].conn) : NULL;

		if (why)
			fail(s, "%c at %llu ns: %s", 'A' + i,
			     (unsigned long long)(s->now - START_NS), why);
	}
}

static bool over(const struct sim *s)
{
	return s->failed || (s->host[A].terminal && s->host[B].terminal);
}

static void loop(struct sim *s)
{
	while (!over(s)) {
		uint64_t next = s->heap_len ? s->heap[0].at : TCP_NO_DEADLINE;

		for (int i = A; i <= B; i++) {
			uint64_t due = host_due(&s->host[i]);

			next = due < next ? due : next;
		}
		if (next == TCP_NO_DEADLINE || next - START_NS > s->run->limit_ns) {
			fail(s, "hung at %llu ns, received %llu and %llu bytes",
			     (unsigned long long)(s->now - START_NS),
			     (unsigned long long)s->host[A].received,
			     (unsigned long long)s->host[B].received);
			return;
		}
		s->now = next;
		deliver(s);
		host_step(&s->host[A]);
		host_step(&s->host[B]);
		if (s->run->check)
			check_inside(s);
	}
}

static void check_end(struct sim *s)
{
	for (int i = A; i <= B; i++) {
		struct host *h = &s->host[i];

		if (h->received != h->expect)
			fail(s, "%c received %llu of %llu bytes", 'A' + i,
			     (unsigned long long)h->received, (unsigned long long)h->expect);
		if (!h->established || !h->peer_fin || !h->fin_acked || !h->closed)
			fail(s, "%c: events missing", 'A' + i);
		if (s->run->records && h->acked != h->to_send)
			fail(s, "%c: records not reported as acknowledged", 'A' + i);
	}
}

struct sim_result sim_run(const struct sim_run *run)
{
	struct sim *s = calloc(1, sizeof(*s));
	struct sim_result res;

	s->run = run;
	s->now = START_NS;
	s->rng = run->seed * 0x9e3779b97f4a7c15ull + 1;
	setup(s);
	loop(s);
	if (!s->failed)
		check_end(s);
	s->res.a = *tcp_engine_stats(s->host[A].engine);
	s->res.b = *tcp_engine_stats(s->host[B].engine);
	s->res.emss = s->host[A].conn ? tcp_emss(s->host[A].conn) : 0;
	tcp_engine_free(s->host[A].engine);
	tcp_engine_free(s->host[B].engine);
	while (s->heap_len)
		free(heap_pop(s).data);
	free(s->heap);
	free(s->pattern);
	s->res.ok = !s->failed;
	if (s->res.ns)
		s->res.gbps = (double)run->bytes * 8 / (double)s->res.ns;
	res = s->res;
	free(s);
	return res;
}
