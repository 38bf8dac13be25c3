// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The path MTU: what routers say of it (RFC 1191, RFC 8201), and black holes (RFC 2923), which drop
 * what is too big and say nothing. TCP sees of these that a large segment times out again and
 * again; RFC 4821 7.7 calls that a full-stop time-out.
 *
 * But a path that was down for some seconds looks the same. So the smaller size is used for the
 * segment that did not get through (SEARCH); when that arrives, full size gets another try (DOUBT),
 * and only if that times out too the small size stays (FOUND). In the end it is forgotten like what
 * a router said: then DOUBT costs a single time-out where the hole is still there. If no size gets
 * through, the path is down rather than narrow, and the search begins anew from full size.
 */
#include "internal.h"

#define PMTU_AGE_NS (600 * TCP_NS_PER_S) /* RFC 1191 6.3: ten minutes */
#define PMTU_R1	    3u /* retransmissions in vain; RFC 1122 4.2.3.5 has this for R1 */
#define PMTU_COMMON 1492u /* the search goes there first: most links take it */

/* RFC 1191 7.1: the next lower of the MTUs that are common */
static uint32_t plateau_below(uint32_t len)
{
	static const uint16_t plateaus[] = {32000, 17914, 8166, 4352, 2002, 1492, 1006, 552};
	unsigned int i = 0;

	while (i < sizeof(plateaus) / sizeof(plateaus[0]) - 1 && plateaus[i] >= len)
		i++;
	return plateaus[i];
}

static uint32_t pmtu_min(const struct tcp_conn *c)
{
	return c->tuple.local.family == IP_V6 ? PMTU_MIN6 : PMTU_MIN;
}

/**
 * pmtu_now - longest packet that the path is thought to take; UINT32_MAX: nothing is known
 */
uint32_t pmtu_now(const struct tcp_conn *c)
{
	bool held = c->hole == HOLE_SEARCH || c->hole == HOLE_FOUND;

	return held ? min_u32(c->pmtu, c->hole_mtu) : c->pmtu;
}

static void hole_set(struct tcp_conn *c, enum pmtu_hole hole, uint64_t ns)
{
	c->hole = hole;
	c->hole_ns = ns;
	tcp_conn_set_mss(c);
}

/**
 * pmtu_too_big - ICMP says that a packet of @packet_len bytes does not fit a link that takes @mtu
 * @mtu: 0: the router does not tell (RFC 1191 7.1)
 */
void pmtu_too_big(struct tcp_conn *c, uint32_t mtu, uint32_t packet_len)
{
	uint32_t old = c->emss;

	if (!mtu && c->tuple.local.family == IP_V4)
		mtu = plateau_below(packet_len);
	/* an MTU that the quoted packet would have fitted is made up (RFC 5927 7) */
	if (mtu < pmtu_min(c) || mtu >= packet_len || mtu >= c->pmtu)
		return;
	c->pmtu = mtu;
	c->pmtu_until = c->e->now + PMTU_AGE_NS;
	hole_set(c, HOLE_NONE, 0); /* no black hole that speaks */
	if (c->emss < old)
		pmtu_shrunk(c);
}

/* The path may have become wider: what is sent next tries it */
void pmtu_expire(struct tcp_conn *c)
{
	if (c->hole == HOLE_FOUND && c->e->now >= c->hole_ns)
		hole_set(c, HOLE_DOUBT, c->e->now);
	if (c->pmtu == UINT32_MAX || c->e->now < c->pmtu_until)
		return;
	c->pmtu = UINT32_MAX;
	tcp_conn_set_mss(c);
}

/* The path is another one */
void pmtu_forget(struct tcp_conn *c)
{
	c->pmtu = UINT32_MAX;
	hole_set(c, HOLE_NONE, 0);
}

/* ---------------------------------------------------------------- black holes */

/* Payload of the frame with the oldest byte that is under way */
static uint32_t head_payload(const struct tcp_conn *c)
{
	const struct seg *g = seg_at(c, c->head);
	uint32_t off = seq_gt(c->snd_una, g->seq) ? c->snd_una - g->seq : 0;
	uint32_t len = c->head == c->next ? g->sent : g->len;

	return min_u32(len - off, c->emss);
}

/* The next lower size, or all over again */
static void hole_search(struct tcp_conn *c, uint32_t payload)
{
	uint32_t len = c->ip_hlen + TCP_HLEN_ + (c->ts_on ? TCP_TS_LEN : 0) + payload;
	uint32_t mtu = max_u32(plateau_below(min_u32(len, PMTU_COMMON + 1)), pmtu_min(c));

	if (mtu < len) {
		c->hole_mtu = mtu;
		hole_set(c, HOLE_SEARCH, 0);
	} else if (c->hole == HOLE_SEARCH) {
		hole_set(c, HOLE_NONE, 0);
	}
}

/**
 * pmtu_timeout - the retransmission timer expired, for the @c->retries th time in a row
 *
 * What is under way and too large is sent again in pieces, as it is found lost.
 */
void pmtu_timeout(struct tcp_conn *c)
{
	uint32_t payload = head_payload(c);

	if (!c->snd_wnd || nexthop_dead(&c->e->nexthops[c->nexthop]))
		return;
	if (c->hole == HOLE_DOUBT && payload > tcp_conn_mss(c, c->hole_mtu)) {
		hole_set(c, HOLE_FOUND, c->e->now + PMTU_AGE_NS);
		c->e->stats.pmtu_holes++;
	} else if (c->retries > PMTU_R1) {
		hole_search(c, payload);
	}
}

/**
 * pmtu_acked - new data was acknowledged: the size that the search is at gets through
 */
void pmtu_acked(struct tcp_conn *c)
{
	if (c->hole == HOLE_SEARCH)
		hole_set(c, HOLE_DOUBT, c->e->now);
}

/**
 * pmtu_delivered - @g arrived; if it went out in one piece no smaller size is needed
 */
void pmtu_delivered(struct tcp_conn *c, const struct seg *g)
{
	if (c->hole == HOLE_DOUBT && g->tx_ns >= c->hole_ns && g->len <= c->emss &&
	    g->len > tcp_conn_mss(c, c->hole_mtu))
		hole_set(c, HOLE_NONE, 0);
}

/**
 * pmtu_spurious - the segment that timed out had arrived in time, as large as it was
 */
void pmtu_spurious(struct tcp_conn *c)
{
	if (c->hole == HOLE_SEARCH || c->hole == HOLE_FOUND)
		hole_set(c, HOLE_NONE, 0);
}
