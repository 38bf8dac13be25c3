// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lwIP against the engine, in virtual time, over a wire that loses, duplicates and delays. Both
 * ends send at once and close when they have sent all; all bytes are compared.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lwip/peer.h"
#include "tcp/tcp.h"

#define PORT	 4711
#define PATTERN	 1048573u
#define MS	 1000000ull
#define DELAY	 (2 * MS)
#define GIVE_UP	 (600000 * MS)
#define ETH_HLEN 14

struct trouble {
	const char *name;
	double loss, dup, late; /* probability per packet, in both directions */
};

static const struct trouble troubles[] = {
	{"nothing lost", 0, 0, 0}, {"1 % loss", 0.01, 0, 0},  {"5 % loss", 0.05, 0, 0},
	{"3 % late", 0, 0, 0.03},  {"2 % twice", 0, 0.02, 0}, {"all of it", 0.02, 0.02, 0.02},
};

static const struct options {
	const char *name;
	struct tcp_opts o;
} options[] = {
	{"all options", {.rcv_wnd = 1 << 18, .wscale = true, .timestamps = true, .sack = true}},
	{"SACK", {.rcv_wnd = 1 << 18, .wscale = true, .sack = true}},
	{"no options", {.rcv_wnd = 60000}},
};

struct packet {
	struct packet *next;
	uint64_t at;
	bool to_engine;
	size_t len;
	uint8_t frame[];
};

struct rig {
	const struct trouble *trouble;
	const struct options *options;
	struct tcp_engine *engine;
	struct tcp_conn *conn;
	struct lwip_peer peer;
	uint64_t sent, received;
	bool closed, negotiated;
	struct tcp_conn_info last;
	const char *why;
};

static struct rig *rig;
static struct packet *wire;
static uint64_t now = 1000 * MS, rng;
static uint8_t *pattern;

static uint32_t random32(void)
{
	rng = rng * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rng >> 32);
}

static bool chance(double p)
{
	return p > 0 && random32() / 4294967296.0 < p;
}

static const uint8_t *pattern_at(uint64_t pos)
{
	return pattern + pos % PATTERN;
}

/* ---------------------------------------------------------------- the wire */

static void put(bool to_engine, uint64_t at, const uint8_t *packet, size_t len)
{
	struct packet *p = malloc(sizeof(*p) + ETH_HLEN + len), **q = &wire;

	p->at = at;
	p->to_engine = to_engine;
	p->len = ETH_HLEN + len;
	memset(p->frame, 0, ETH_HLEN);
	p->frame[5] = to_engine ? 1 : 2;
	memcpy(p->frame + 12, packet[0] >> 4 == 6 ? "\x86\xdd" : "\x08\x00", 2);
	memcpy(p->frame + ETH_HLEN, packet, len);
	while (*q && (*q)->at <= at)
		q = &(*q)->next;
	p->next = *q;
	*q = p;
}

static void transmit(bool to_engine, const uint8_t *packet, size_t len)
{
	const struct trouble *t = rig->trouble;
	uint64_t at = now + DELAY + (chance(t->late) ? 3 * DELAY : 0);

	if (chance(t->loss))
		return;
	put(to_engine, at, packet, len);
	if (chance(t->dup))
		put(to_engine, at, packet, len);
}

static void from_lwip(const void *packet, size_t len)
{
	transmit(true, packet, len);
}

static uint32_t now_ms(void)
{
	return (uint32_t)(now / MS);
}

static void deliver(void)
{
	while (wire && wire->at <= now) {
		struct packet *p = wire;

		wire = p->next;
		if (!p->to_engine)
			lwip_peer_input(p->frame + ETH_HLEN, p->len - ETH_HLEN);
		else
			tcp_input(rig->engine, now, p->frame, p->len, 0);
		free(p);
	}
}

/* ---------------------------------------------------------------- the engine's owner */

static uint64_t op_now(void *ctx)
{
	return now;
}

static uint32_t op_random32(void *ctx)
{
	return random32();
}

static int op_xmit(void *ctx, const struct iovec *iov, int cnt, const struct tcp_tx_meta *meta)
{
	static uint8_t frame[65536];
	size_t len = 0;

	for (int i = 0; i < cnt; len += iov[i++].iov_len)
		memcpy(frame + len, iov[i].iov_base, iov[i].iov_len);
	transmit(false, frame + ETH_HLEN, len - ETH_HLEN);
	return 0;
}

static void op_to_host(void *ctx, const void *frame, size_t len, unsigned int csum_flags)
{
}

static bool op_conn_req(void *ctx, uint32_t listener, uint32_t syn_id, const void *frame,
			size_t len, const struct tcp_syn_info *info)
{
	if (tcp_accept(rig->engine, syn_id, 1, 0, &rig->options->o, NULL))
		rig->why = "accept failed";
	rig->conn = tcp_conn_find(rig->engine, 1);
	return true;
}

static void op_pull(void *ctx, struct tcp_conn *conn)
{
	while (rig->sent < rig->peer.to_send) {
		size_t n = tcp_send_room(conn);

		n = n < rig->peer.to_send - rig->sent ? n : rig->peer.to_send - rig->sent;
		if (!n || tcp_send(conn, pattern_at(rig->sent), n)) {
			tcp_pull(conn);
			return;
		}
		rig->sent += n;
	}
	tcp_close(conn);
}

static void op_event(void *ctx, struct tcp_conn *conn, enum tcp_event ev, uint32_t info)
{
	const struct tcp_opts *o = &rig->options->o;

	tcp_conn_info(conn, &rig->last);
	if (ev == TCP_EV_ESTABLISHED) {
		rig->negotiated = rig->last.sack == o->sack &&
				  rig->last.timestamps == o->timestamps &&
				  !!rig->last.snd_shift == o->wscale;
		tcp_pull(conn);
	}
	rig->closed |= ev == TCP_EV_CLOSED;
	if (tcp_event_terminal(ev) && ev != TCP_EV_CLOSED)
		rig->why = tcp_event_name(ev);
}

static size_t op_rx(void *ctx, struct tcp_conn *conn, const void *data, size_t len)
{
	if (memcmp(data, pattern_at(rig->received), len))
		rig->why = "the engine received wrong bytes";
	rig->received += len;
	return len;
}

static const struct tcp_engine_ops ops = {
	.now = op_now,
	.random32 = op_random32,
	.xmit = op_xmit,
	.to_host = op_to_host,
	.conn_req = op_conn_req,
	.event = op_event,
	.rx = op_rx,
	.pull = op_pull,
};

/* ---------------------------------------------------------------- a case */

static struct ip_addr addr(bool v6, uint8_t last)
{
	uint8_t four[4] = {10, 0, 0, last}, six[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = last};

	return v6 ? ip_addr_v6(six) : ip_addr_v4(four);
}

static bool start(void)
{
	struct tcp_nexthop nh = {.dmac = {2}, .smac = {2}, .vlan = TCP_VLAN_NONE, .mtu = 1500};
	struct tcp_open_params p = {.id = 1, .opts = rig->options->o};
	struct tcp_engine_config cfg = {.max_conns = 4};
	struct ip_addr any = {.family = rig->peer.v6 ? IP_V6 : IP_V4};

	rig->engine = tcp_engine_new(&cfg, &ops, NULL);
	tcp_nexthop_set(rig->engine, 0, &nh);
	if (rig->peer.active)
		return !tcp_listen(rig->engine, 1, &any, PORT, TCP_VLAN_ANY, 4) &&
		       lwip_peer_start(&rig->peer);
	p.tuple = (struct tcp_tuple){.local = addr(rig->peer.v6, 1),
				     .remote = addr(rig->peer.v6, 2),
				     .lport = 40001,
				     .rport = PORT};
	if (!lwip_peer_start(&rig->peer) || tcp_open(rig->engine, &p))
		return false;
	rig->conn = tcp_conn_find(rig->engine, 1);
	return true;
}

static void step(void)
{
	uint64_t next = tcp_engine_deadline(rig->engine), ms = lwip_peer_wait();

	next = wire && wire->at < next ? wire->at : next;
	next = now + ms * MS < next ? now + ms * MS : next;
	now = next > now ? next : now;
	deliver();
	lwip_peer_timers();
	tcp_engine_run(rig->engine, now);
}

static const char *check(void)
{
	const struct tcp_engine_stats *s = tcp_engine_stats(rig->engine);
	const struct trouble *t = rig->trouble;

	if (rig->why || rig->peer.why)
		return rig->why ? rig->why : rig->peer.why;
	if (!rig->closed || !rig->peer.peer_fin || !lwip_peer_idle())
		return "hung";
	if (rig->received != rig->peer.to_send || rig->peer.received != rig->peer.to_send)
		return "bytes are missing";
	if (!rig->negotiated)
		return "other options than were offered";
	if (t->loss > 0 ? !s->rtx_segs : !t->late && s->rtx_segs)
		return "retransmissions, or none, against all reason";
	/* a late ACK may be from before the last window (RFC 5961 5.2) */
	return s->bad_csum || s->bad_header || (!t->late && s->bad_ack) ? "malformed segments"
									: NULL;
}

/* Until lwIP's TIME_WAIT is over too, so that the next case finds nothing of this one */
static bool run_case(struct rig *g, const char *name)
{
	uint64_t begin = now, end;
	const char *why;

	rig = g;
	rng = 1;
	if (!start())
		g->why = "did not start";
	while (!g->why && !g->peer.why && !g->closed && now - begin < GIVE_UP)
		step();
	end = now;
	while (!lwip_peer_idle() && now - end < GIVE_UP)
		step();
	why = check();
	if (why)
		printf("FAILED %s: %s, after %llu and %llu bytes\n", name, why,
		       (unsigned long long)g->received, (unsigned long long)g->peer.received);
	else
		printf("ok     %s: %.1f MB each way in %.2f s\n", name, (double)g->received / 1e6,
		       (double)(end - begin) / 1e9);
	while (wire) {
		struct packet *p = wire;

		wire = p->next;
		free(p);
	}
	tcp_engine_free(g->engine);
	return !why;
}

static unsigned int result[2]; /* failed, passed */

static void cases_of(const struct trouble *t, const struct options *o, const char *only)
{
	char name[128];

	for (int i = 0; i < 4; i++) {
		struct rig g = {.trouble = t, .options = o};

		g.peer = (struct lwip_peer){
			.v6 = i & 1, .active = i & 2, .port = PORT, .to_send = 2000003};
		snprintf(name, sizeof(name), "%s opens, %s, %s, %s",
			 g.peer.active ? "lwIP" : "engine", o->name, t->name,
			 g.peer.v6 ? "IPv6" : "IPv4");
		if (strstr(name, only))
			result[run_case(&g, name)]++;
	}
}

int main(int argc, char **argv)
{
	const struct lwip_peer_ops env = {now_ms, from_lwip, pattern_at};

	if (!lwip_peer_init(&env)) {
		printf("skipped: no source of lwIP\n0 passed, 0 failed, 1 skipped\n");
		return 0;
	}
	pattern = malloc(2 * PATTERN);
	for (uint32_t i = 0; i < 2 * PATTERN; i++)
		pattern[i] = i < PATTERN ? (uint8_t)random32() : pattern[i - PATTERN];
	for (size_t t = 0; t < sizeof(troubles) / sizeof(troubles[0]); t++)
		for (size_t o = 0; o < sizeof(options) / sizeof(options[0]); o++)
			cases_of(&troubles[t], &options[o], argc > 1 ? argv[1] : "");
	free(pattern);
	printf("%u passed, %u failed, 0 skipped\n", result[1], result[0]);
	return result[0] != 0;
}
