// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reading frames: Ethernet, VLAN, IPv4, TCP header and options.
 */
#include "internal.h"

bool seg_checksum_ok(const struct seg_in *s)
{
	uint8_t pseudo[4] = {0, IPPROTO_TCP_, (uint8_t)(s->l4_len >> 8), (uint8_t)s->l4_len};
	uint32_t sum;

	if (s->csum_flags & (TCP_CSUM_VALID | TCP_CSUM_PARTIAL))
		return true;
	sum = tcp_sum(0, s->l3 + 12, 8); /* both addresses */
	sum = tcp_sum(sum, pseudo, 4);
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
	if (ip[9] == IPPROTO_ICMP_)
		return frag & 0x3fff ? PARSE_OTHER : PARSE_ICMP;
	/* ports are in the first fragment only; the host cannot reassemble the others without it */
	if (ip[9] != IPPROTO_TCP_ || s->l4_len < 4 || frag & 0x1fff)
		return PARSE_OTHER;
	s->fragment = frag & 0x2000;
	s->tuple.local = ip_addr_v4(ip + 16);
	s->tuple.remote = ip_addr_v4(ip + 12);
	s->tuple.lport = get16(s->l4 + 2);
	s->tuple.rport = get16(s->l4);
	flow_from_tuple(&s->flow, &s->tuple);
	s->hash = flow_hash(e, &s->flow);
	return PARSE_TCP;
}

/*
 * Fills in what demultiplexing needs. Frames that are no IPv4/TCP, or whose IP header is bad (its
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
	if (type != ETHERTYPE_IPV4_)
		return PARSE_OTHER;
	s->l3 = s->frame + off;
	return parse_ip4(e, s, s->frame_len - off);
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
