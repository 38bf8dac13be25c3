// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keeps what the kernel sent as seeds for tests/fuzz/fuzz_tcp.c (its header has the format): with
 * TAP_SEEDS=DIR in the environment each case writes DIR/NAME.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap_peer.h"
#include "tcp/internal.h"

#define SEED_MAX   3000u
#define FRAME_KEEP 400u

static void put_step(FILE *f, uint8_t what, uint16_t arg)
{
	fputc(what, f);
	fputc(arg & 255, f);
	fputc(arg >> 8, f);
}

static FILE *seed_open(const struct rig *g, const char *dir)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/tap-%s%s%s", dir, g->name, g->offload ? "-offload" : "",
		 g->net == NET_IPV4 ? "" : "-IPv6");
	for (char *p = path + strlen(dir) + 1; *p; p++)
		if (*p == ' ' || *p == ',' || *p == '%')
			*p = '-';
	f = fopen(path, "wb");
	if (!f)
		return NULL;
	fputc((g->active ? 0 : 128) | (g->opts.wscale ? 1 : 0) | (g->opts.timestamps ? 2 : 0) |
		      (g->opts.sack ? 4 : 0) | (g->net == NET_IPV4 ? 0 : 32),
	      f);
	return f;
}

/* What the engine's owner did meanwhile, roughly */
static void owner_step(const struct rig *g, FILE *f, bool syn)
{
	if (syn && !g->active)
		put_step(f, 3, 14 | 7 << 8); /* accept */
	else if (g->records)
		put_step(f, 3, 1 | 7 << 8); /* eight records */
	else if (g->to_send || g->echo)
		put_step(f, 3, 0 | 100 << 8); /* 1600 stream bytes */
}

void tap_record(const struct rig *g, const uint8_t *frame, size_t len)
{
	static FILE *f;
	static size_t written;
	uint32_t ip_len = g->net == NET_IPV4 ? 20 : 40;
	uint8_t copy[FRAME_KEEP], *t = copy + 14 + ip_len;
	const char *dir = getenv("TAP_SEEDS");
	const struct tcp_conn *c = g->conn;

	if (!dir || written > SEED_MAX || len > FRAME_KEEP || len < 14 + ip_len + 20 ||
	    get16(frame + 12) != (g->net == NET_IPV4 ? ETHERTYPE_IPV4_ : ETHERTYPE_IPV6_) ||
	    frame[14 + (ip_len == 20 ? 9 : 6)] != IPPROTO_TCP_)
		return;
	if (!f)
		f = seed_open(g, dir);
	if (!f)
		return;
	memcpy(copy, frame, len);
	put32(t + 4, t[13] & TH_SYN || !c ? 0 : get32(t + 4) - c->irs);
	put32(t + 8, t[13] & TH_ACK && c ? get32(t + 8) - c->iss : 0);
	put_step(f, 1, (uint16_t)len);
	fwrite(copy, 1, len, f);
	owner_step(g, f, t[13] & TH_SYN);
	put_step(f, 2, 1);
	written += len + 9;
	fflush(f);
}
