// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reading frames: Ethernet, VLAN, IPv4, IPv6, TCP header and options.
 */
#include "internal.h"

/* ---------------------------------------------------------------- addresses */

bool ip_zero(const struct ip_addr *a)
{
	static const uint8_t zero[16];

	return !memcmp(a->b, zero, sizeof(zero));
}

bool ip_addr_unicast(const struct ip_addr *a)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (a->family == IP_V4)
		return a->b[0] && a->b[0] < 224;
	return a->b[0] != 0xff && !ip_zero(a) && memcmp(a->b, mapped, sizeof(mapped)) != 0;
}

/* ---------------------------------------------------------------- checksums */

/* Both addresses, for a pseudo header */
uint32_t ip_addrs_sum(const uint8_t *ip, uint8_t family)
{
	return family == IP_V6 ? tcp_sum(0, ip + 8, 32) : tcp_sum(0, ip + 12, 8);
}

bool seg_checksum_ok(const struct seg_in *s)
{
	uint8_t pseudo[4] = {0, IPPROTO_TCP_, (uint8_t)(s->l4_len >> 8), (uint8_t)s->l4_len};
	uint32_t sum;

	if (s->csum_flags & (TCP_CSUM_VALID | TCP_CSUM_PARTIAL))
		return true;
	sum = tcp_sum(ip_addrs_sum(s->l3, s->tuple.local.family), pseudo, 4);
	sum = tcp_sum(sum, s->l4, s->l4_len);
	return tcp_sum_fold(sum) == 0xffff;
}

/* ---------------------------------------------------------------- headers */

/* The common header of 20 bytes, without a call */
static bool ip4_sum_ok(const uint8_t *ip, uint32_t ihl)
{
	uint32_t w[5];
	uint64_t sum;

	if (ihl != IP4_HLEN_)
		return tcp_sum_fold(tcp_sum(0, ip, ihl)) == 0xffff;
	memcpy(w, ip, IP4_HLEN_);
	sum = (uint64_t)w[0] + w[1] + w[2] + w[3] + w[4];
	return tcp_sum_fold64(sum) == 0xffff;
}

static enum parse_result found_tcp(const struct tcp_engine *e, struct seg_in *s)
{
	s->tuple.lport = get16(s->l4 + 2);
	s->tuple.rport = get16(s->l4);
	s->tuple.scope = tuple_scope(&s->tuple, s->vlan);
	flow_from_tuple(&s->flow, &s->tuple);
	s->hash = flow_hash(e, &s->flow);
	return PARSE_TCP;
}

static enum parse_result parse_ip4(const struct tcp_engine *e, struct seg_in *s, size_t avail)
{
	const uint8_t *ip = s->l3;
	uint32_t ihl = (ip[0] & 15) * 4u;
	uint32_t total = get16(ip + 2);
	uint32_t frag = get16(ip + 6);

	if (ip[0] >> 4 != 4 || ihl < IP4_HLEN_ || total < ihl || total > avail)
		return PARSE_OTHER;
	if (!ip4_sum_ok(ip, ihl))
		return PARSE_OTHER;
	s->l4 = ip + ihl;
	s->l4_len = total - ihl;
	s->tuple.local = ip_addr_v4(ip + 16);
	s->tuple.remote = ip_addr_v4(ip + 12);
	if (ip[9] == IPPROTO_ICMP_)
		return frag & 0x3fff ? PARSE_OTHER : PARSE_ICMP;
	/* ports are in the first fragment only; the host cannot reassemble the others without it */
	if (ip[9] != IPPROTO_TCP_ || s->l4_len < 4 || frag & 0x1fff)
		return PARSE_OTHER;
	s->fragment = frag & 0x2000;
	return found_tcp(e, s);
}

#define IP6_HOPOPTS  0u
#define IP6_ROUTING  43u
#define IP6_FRAGMENT 44u
#define IP6_DSTOPTS  60u
#define IP6_EXT_MAX  8u

static bool ip6_is_extension(uint8_t next)
{
	return next == IP6_HOPOPTS || next == IP6_ROUTING || next == IP6_FRAGMENT ||
	       next == IP6_DSTOPTS;
}

/* RFC 8200 4.2: only options of which nobody has to take notice may be skipped */
static bool ip6_options_skip(const uint8_t *p, uint32_t len)
{
	uint32_t i = 2;

	while (i < len) {
		if (!p[i]) {
			i++;
			continue;
		}
		if (p[i] & 0xc0 || i + 1 >= len)
			return false;
		i += 2u + p[i + 1];
	}
	return i == len;
}

/* Return: length of an extension header; 0: the host's stack has to look at the packet */
static uint32_t ip6_extension(struct seg_in *s, uint8_t type, const uint8_t *p, uint32_t left)
{
	uint32_t len;

	if (left < 8)
		return 0;
	len = type == IP6_FRAGMENT ? 8 : (p[1] + 1u) * 8;
	if (len > left)
		return 0;
	if (type == IP6_ROUTING) /* at its last stop there is nothing left to do */
		return p[3] ? 0 : len;
	if (type == IP6_FRAGMENT) { /* ports are in the first one only; RFC 6946: may be the last */
		s->fragment = p[3] & 1;
		return get16(p + 2) & 0xfff8 ? 0 : len;
	}
	return ip6_options_skip(p, len) ? len : 0;
}

static enum parse_result parse_ip6(const struct tcp_engine *e, struct seg_in *s, size_t avail)
{
	const uint8_t *ip = s->l3;
	uint32_t end, off = IP6_HLEN_;
	uint8_t next;

	if (avail < IP6_HLEN_ || ip[0] >> 4 != 6)
		return PARSE_OTHER;
	end = IP6_HLEN_ + get16(ip + 4);
	if (end > avail)
		return PARSE_OTHER;
	next = ip[6];
	for (unsigned int n = 0; n < IP6_EXT_MAX && ip6_is_extension(next); n++) {
		uint32_t len = ip6_extension(s, next, ip + off, end - off);

		if (!len)
			return PARSE_OTHER;
		next = ip[off];
		off += len;
	}
	s->l4 = ip + off;
	s->l4_len = end - off;
	s->tuple.local = ip_addr_v6(ip + 24);
	s->tuple.remote = ip_addr_v6(ip + 8);
	if (next == IPPROTO_ICMP6_)
		return s->fragment ? PARSE_OTHER : PARSE_ICMP;
	if (next != IPPROTO_TCP_ || s->l4_len < 4)
		return PARSE_OTHER;
	return found_tcp(e, s);
}

/*
 * Fills in what demultiplexing needs. Frames that are no TCP, or whose IP header is bad (its
 * tuple means nothing then), are the host's.
 */
enum parse_result frame_parse(const struct tcp_engine *e, struct seg_in *s)
{
	size_t off = ETH_HLEN_;
	uint32_t type;

	if (s->frame_len < ETH_HLEN_ + IP4_HLEN_)
		return PARSE_OTHER;
	type = get16(s->frame + 12);
	s->vlan = TCP_VLAN_NONE;
	if (type == ETHERTYPE_VLAN_) {
		if (s->frame_len < ETH_HLEN_ + VLAN_HLEN_ + IP4_HLEN_)
			return PARSE_OTHER;
		s->vlan = get16(s->frame + 14);
		type = get16(s->frame + 16);
		off += VLAN_HLEN_;
		if (!(s->vlan & 0xfff))
			s->vlan = TCP_VLAN_NONE; /* priority tag only, IEEE 802.1Q */
	}
	s->l3 = s->frame + off;
	if (type == ETHERTYPE_IPV4_)
		return parse_ip4(e, s, s->frame_len - off);
	return type == ETHERTYPE_IPV6_ ? parse_ip6(e, s, s->frame_len - off) : PARSE_OTHER;
}

static void parse_sack(struct seg_in *s, const uint8_t *p, uint32_t len)
{
	if ((len - 2) % 8)
		return;
	s->nsack = 0;
	for (uint32_t i = 2; i + 8 <= len && s->nsack < SACK_MAX; i += 8) {
		s->sack[s->nsack].start = get32(p + i);
		s->sack[s->nsack++].end = get32(p + i + 4);
	}
}

static void parse_option(struct seg_in *s, const uint8_t *p, uint32_t len)
{
	switch (p[0]) {
	case 2:
		if (len == 4 && s->flags & TH_SYN)
			s->mss = get16(p + 2);
		break;
	case 3:
		if (len == 3 && s->flags & TH_SYN)
			s->wscale = (int8_t)min_u32(p[2], MAX_WSCALE);
		break; /* RFC 7323 2.3: more than 14 counts as 14 */
	case 4:
		if (len == 2 && s->flags & TH_SYN)
			s->sackok = true;
		break;
	case 5:
		if (len >= 10)
			parse_sack(s, p, len);
		break;
	case 8:
		if (len == 10) {
			s->ts = true;
			s->tsval = get32(p + 2);
			s->tsecr = get32(p + 6);
		}
		break;
	}
}

/* RFC 9293 3.2: an illegal option length ends the walk and must not crash (MUST-7) */
static void parse_options(struct seg_in *s, const uint8_t *p, uint32_t len)
{
	uint32_t i = 0;

	while (i < len) {
		uint32_t olen;

		if (p[i] == 0)
			return;
		if (p[i] == 1) {
			i++;
			continue;
		}
		if (i + 1 >= len)
			return;
		olen = p[i + 1];
		if (olen < 2 || olen > len - i)
			return;
		parse_option(s, p + i, olen);
		i += olen;
	}
}

bool seg_parse_header(struct seg_in *s)
{
	static const uint8_t ts_aligned[4] = {1, 1, 8, 10};
	const uint8_t *h = s->l4;
	uint32_t hlen;

	if (s->l4_len < TCP_HLEN_)
		return false;
	hlen = (h[12] >> 4) * 4u;
	if (hlen < TCP_HLEN_ || hlen > s->l4_len)
		return false;
	s->seq = get32(h + 4);
	s->ack = get32(h + 8);
	s->flags = h[13];
	s->wnd = get16(h + 14);
	s->data = h + hlen;
	s->len = s->l4_len - hlen;
	s->wscale = -1;
	if (hlen == TCP_HLEN_ + TCP_TS_LEN && !memcmp(h + TCP_HLEN_, ts_aligned, 4)) {
		s->ts = true;
		s->tsval = get32(h + 24);
		s->tsecr = get32(h + 28);
	} else if (hlen > TCP_HLEN_) {
		parse_options(s, h + TCP_HLEN_, hlen - TCP_HLEN_);
	}
	return true;
}
