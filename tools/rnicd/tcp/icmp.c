// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ICMP and ICMPv6 errors about own connections: unreachable peers during the handshake, and
 * packets that are too big for the path (pmtu.c).
 */
#include "internal.h"

enum icmp_kind {
	ICMP_OTHER,
	ICMP_SOFT,
	ICMP_HARD,
	ICMP_TOO_BIG,
};

/* What an error quotes of the packet that it is about */
struct icmp_quote {
	struct tcp_tuple tuple; /* local = source, since we sent it */
	uint32_t packet_len;
	uint32_t seq;
};

/* ---------------------------------------------------------------- reading */

/*
 * RFC 1122 4.2.3.9, RFC 5461: hard is what no later packet can cure (protocol or port unreachable,
 * administratively prohibited). RFC 6633: source quench is dead.
 */
static enum icmp_kind icmp4_kind(uint8_t type, uint8_t code)
{
	if (type == 11 || type == 12) /* time exceeded, parameter problem */
		return ICMP_SOFT;
	if (type != 3)
		return ICMP_OTHER;
	if (code == 4)
		return ICMP_TOO_BIG;
	return code == 2 || code == 3 || code == 9 || code == 10 || code == 13 ? ICMP_HARD
									       : ICMP_SOFT;
}

/* The same by RFC 4443 section 3 */
static enum icmp_kind icmp6_kind(uint8_t type, uint8_t code)
{
	switch (type) {
	case 1: /* prohibited, port, source policy, reject route */
		return code == 1 || code >= 4 ? ICMP_HARD : ICMP_SOFT;
	case 2:
		return ICMP_TOO_BIG;
	case 3:
		return ICMP_SOFT;
	case 4: /* code 1: there is no TCP */
		return code == 1 ? ICMP_HARD : ICMP_SOFT;
	default:
		return ICMP_OTHER;
	}
}

static bool icmp_checksum_ok(const struct seg_in *s)
{
	uint8_t pseudo[4] = {0, IPPROTO_ICMP6_, (uint8_t)(s->l4_len >> 8), (uint8_t)s->l4_len};
	uint32_t sum = 0;

	if (s->tuple.local.family == IP_V6)
		sum = tcp_sum(ip_addrs_sum(s->l3, IP_V6), pseudo, 4);
	return tcp_sum_fold(tcp_sum(sum, s->l4, s->l4_len)) == 0xffff;
}

/* Eight bytes of TCP header at @tcp are there */
static void quote_tcp(struct icmp_quote *q, const uint8_t *tcp, uint16_t vlan)
{
	q->tuple.lport = get16(tcp);
	q->tuple.rport = get16(tcp + 2);
	q->tuple.scope = tuple_scope(&q->tuple, vlan);
	q->seq = get32(tcp + 4);
}

static bool quote_ip4(struct icmp_quote *q, const uint8_t *ip, uint32_t len, uint16_t vlan)
{
	uint32_t ihl;

	if (len < IP4_HLEN_)
		return false;
	ihl = (ip[0] & 15) * 4u;
	if (ip[0] >> 4 != 4 || ihl < IP4_HLEN_ || len < ihl + 8 || ip[9] != IPPROTO_TCP_)
		return false;
	q->tuple.local = ip_addr_v4(ip + 12);
	q->tuple.remote = ip_addr_v4(ip + 16);
	q->packet_len = get16(ip + 2);
	quote_tcp(q, ip + ihl, vlan);
	return true;
}

/* No extension headers: we send none */
static bool quote_ip6(struct icmp_quote *q, const uint8_t *ip, uint32_t len, uint16_t vlan)
{
	if (len < IP6_HLEN_ + 8 || ip[0] >> 4 != 6 || ip[6] != IPPROTO_TCP_)
		return false;
	q->tuple.local = ip_addr_v6(ip + 8);
	q->tuple.remote = ip_addr_v6(ip + 24);
	q->packet_len = IP6_HLEN_ + get16(ip + 4);
	quote_tcp(q, ip + IP6_HLEN_, vlan);
	return true;
}

/* RFC 5927 4.1: the quoted segment must be one that is under way */
static struct tcp_conn *quoted_conn(struct tcp_engine *e, const struct icmp_quote *q)
{
	struct flow_node *n;
	struct tcp_conn *c;
	struct flow f;

	flow_from_tuple(&f, &q->tuple);
	n = flow_find(e, &f, flow_hash(e, &f));
	if (!n || n->kind != FLOW_CONN)
		return NULL;
	c = container_of_(n, struct tcp_conn, node);
	return seq_ge(q->seq, c->snd_una) && seq_lt(q->seq, c->snd_max) ? c : NULL;
}

/* ---------------------------------------------------------------- input */

/* The frame goes to the host as well, which may keep a path MTU of its own */
void icmp_input(struct tcp_engine *e, const struct seg_in *s)
{
	bool v6 = s->tuple.local.family == IP_V6;
	struct icmp_quote q = {0};
	enum icmp_kind kind;
	struct tcp_conn *c;
	uint8_t type, code;

	if (s->l4_len < 8)
		return;
	type = s->l4[0];
	code = s->l4[1];
	kind = v6 ? icmp6_kind(type, code) : icmp4_kind(type, code);
	if (kind == ICMP_OTHER || !icmp_checksum_ok(s))
		return;
	if (!(v6 ? quote_ip6 : quote_ip4)(&q, s->l4 + 8, s->l4_len - 8, s->vlan))
		return;
	c = quoted_conn(e, &q);
	if (!c)
		return;
	e->stats.icmp_in++;
	if (kind == ICMP_TOO_BIG)
		pmtu_too_big(c, v6 ? get32(s->l4 + 4) : get16(s->l4 + 6), q.packet_len);
	else if (c->state > TCPS_SYN_RCVD)
		return; /* RFC 1122: TCP goes on */
	else if (kind == ICMP_HARD)
		tcp_conn_terminal(c, TCP_EV_UNREACH, (uint32_t)type << 8 | code);
	else
		c->soft_error = (uint32_t)type << 8 | code;
}
