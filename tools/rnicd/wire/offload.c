// SPDX-License-Identifier: GPL-2.0-or-later
/* Checksum completion and TCP segmentation for wires that cannot carry the request. */
#include <errno.h>
#include <netinet/in.h>

#include "base/csum.h"
#include "wire/internal.h"

#define ETH_TYPE_IP4   0x0800
#define ETH_TYPE_IP6   0x86dd
#define ETH_TYPE_VLAN  0x8100
#define ETH_TYPE_SVLAN 0x88a8

#define TCP_HLEN_MIN  20
#define TCP_OFF_SEQ   4
#define TCP_OFF_DOFF  12
#define TCP_OFF_FLAGS 13
#define TCP_OFF_CHECK 16
#define TCP_FIN	      0x01
#define TCP_PSH	      0x08
#define TCP_CWR	      0x80
#define UDP_OFF_CHECK 6
#define IP4_HLEN_MIN  20
#define IP6_HLEN      40

/* Where the headers of a frame to be segmented are. */
struct gso_frame {
	u8 *frame;
	size_t len;
	u32 l3;
	u32 l4;
	u32 hdr_len;
	bool ip6;
	u16 mss;
};

static u32 tcp_hlen(const u8 *tcp)
{
	return (u32)(tcp[TCP_OFF_DOFF] >> 4) * 4;
}

bool wire_meta_ok(const struct wire_meta *meta, size_t len)
{
	if (meta->gso_type > WIRE_GSO_TCPV6)
		return false;
	if (!(meta->flags & WIRE_F_CSUM_PARTIAL))
		return meta->gso_type == WIRE_GSO_NONE;
	if (meta->csum_start < WIRE_ETH_HLEN ||
	    !range_ok((u64)meta->csum_start + meta->csum_offset, 2, len))
		return false;
	if (meta->gso_type == WIRE_GSO_NONE)
		return true;
	return meta->gso_size && meta->csum_offset == TCP_OFF_CHECK &&
	       range_ok(meta->csum_start, TCP_HLEN_MIN, len);
}

/* Offset of the network header behind up to two VLAN tags; 0 if there is none. */
static u32 find_l3(const u8 *frame, size_t len, u16 *type)
{
	u32 off = 12, tags;

	for (tags = 0; tags <= 2 && range_ok(off, 2, len); tags++) {
		*type = get_be16(frame + off);
		if (*type != ETH_TYPE_VLAN && *type != ETH_TYPE_SVLAN)
			return off + 2;
		off += WIRE_VLAN_HLEN;
	}
	return 0;
}

static bool l3_ok(const struct gso_frame *g, u16 type)
{
	const u8 *ip = g->frame + g->l3;

	if (g->ip6)
		return type == ETH_TYPE_IP6 && ip[0] >> 4 == 6;
	return type == ETH_TYPE_IP4 && ip[0] >> 4 == 4 && g->l3 + (ip[0] & 15u) * 4 == g->l4 &&
	       ip[9] == IPPROTO_TCP;
}

static int parse_gso(struct gso_frame *g, u8 *frame, size_t len, const struct wire_meta *meta)
{
	u16 type = 0;

	if (!wire_meta_ok(meta, len) || len > WIRE_GSO_MAX_FRAME)
		return -EINVAL;
	g->frame = frame;
	g->len = len;
	g->mss = meta->gso_size;
	g->ip6 = meta->gso_type == WIRE_GSO_TCPV6;
	g->l3 = find_l3(frame, len, &type);
	g->l4 = meta->csum_start;
	if (!g->l3 || g->l3 + (g->ip6 ? IP6_HLEN : IP4_HLEN_MIN) > g->l4 || !l3_ok(g, type))
		return -EINVAL;
	g->hdr_len = g->l4 + tcp_hlen(frame + g->l4);
	if (tcp_hlen(frame + g->l4) < TCP_HLEN_MIN || g->hdr_len > len ||
	    g->hdr_len > WIRE_MAX_HEADERS)
		return -EINVAL;
	return 0;
}

static void fix_ip4(u8 *ip, u32 hlen, u32 total, u16 index)
{
	u16 check;

	put_be16(ip + 2, (u16)total);
	put_be16(ip + 4, (u16)(get_be16(ip + 4) + index));
	memset(ip + 10, 0, 2);
	check = csum_fold(csum_add(0, ip, hlen));
	memcpy(ip + 10, &check, 2);
}

/* @hdr holds a copy of the headers; make it those of segment @index. */
static void fix_headers(const struct gso_frame *g, u8 *hdr, const u8 *payload, u32 off, u32 n,
			u16 index)
{
	u32 l4_len = g->hdr_len - g->l4 + n;
	u8 *ip = hdr + g->l3, *tcp = hdr + g->l4;
	u16 check;
	u64 sum;

	if (g->ip6)
		put_be16(ip + 4, (u16)(g->hdr_len - g->l3 - IP6_HLEN + n));
	else
		fix_ip4(ip, g->l4 - g->l3, g->hdr_len - g->l3 + n, index);
	put_be32(tcp + TCP_OFF_SEQ, get_be32(tcp + TCP_OFF_SEQ) + off);
	/* FIN and PSH belong to the last byte, CWR is said once (RFC 3168, 6.1.2). */
	if (off + n < g->len - g->hdr_len)
		tcp[TCP_OFF_FLAGS] &= (u8) ~(TCP_FIN | TCP_PSH);
	if (index)
		tcp[TCP_OFF_FLAGS] &= (u8)~TCP_CWR;
	memset(tcp + TCP_OFF_CHECK, 0, 2);
	if (g->ip6)
		sum = csum_pseudo6(ip + 8, ip + 24, IPPROTO_TCP, l4_len);
	else
		sum = csum_pseudo4(ip + 12, ip + 16, IPPROTO_TCP, l4_len);
	sum = csum_add(sum, tcp, g->hdr_len - g->l4);
	check = csum_fold(csum_add(sum, payload, n));
	memcpy(tcp + TCP_OFF_CHECK, &check, 2);
}

static int segment(const struct gso_frame *g,
		   int (*emit)(void *priv, const struct iovec *iov, int n), void *priv)
{
	u32 left = (u32)(g->len - g->hdr_len), off = 0;
	u8 hdr[WIRE_MAX_HEADERS];
	u16 index = 0;
	int ret;

	do {
		u32 n = min_t(u32, left, g->mss);
		u8 *payload = g->frame + g->hdr_len + off;
		struct iovec iov[2] = {{hdr, g->hdr_len}, {payload, n}};

		memcpy(hdr, g->frame, g->hdr_len);
		fix_headers(g, hdr, payload, off, n, index++);
		ret = emit(priv, iov, 2);
		if (ret)
			return ret;
		off += n;
		left -= n;
	} while (left);
	return 0;
}

static void complete_csum(u8 *frame, size_t len, const struct wire_meta *meta)
{
	u8 *field = frame + meta->csum_start + meta->csum_offset;
	u16 check;

	/* The field holds the sum of the pseudo header, so it just takes part. */
	check = csum_fold(csum_add(0, frame + meta->csum_start, len - meta->csum_start));
	/* In UDP 0 means "none" (RFC 768). */
	if (!check && meta->csum_offset == UDP_OFF_CHECK)
		check = 0xffff;
	memcpy(field, &check, sizeof(check));
}

u32 wire_segments(const struct wire_meta *meta, const u8 *frame, size_t len, u32 *longest)
{
	u32 hdr_len = meta->csum_start + tcp_hlen(frame + meta->csum_start);

	*longest = min_t(u32, len, hdr_len + meta->gso_size);
	if (hdr_len >= len)
		return 1;
	return (u32)DIV_ROUND_UP(len - hdr_len, meta->gso_size);
}

bool wire_gso_ok(const u8 *frame, size_t len, const struct wire_meta *meta)
{
	struct gso_frame g;
	u32 longest;

	return !parse_gso(&g, (u8 *)frame, len, meta) && g.hdr_len == meta->hdr_len &&
	       wire_segments(meta, frame, len, &longest) <= WIRE_GSO_MAX_SEGS;
}

int wire_offload(u8 *frame, size_t len, const struct wire_meta *meta,
		 int (*emit)(void *priv, const struct iovec *iov, int n), void *priv)
{
	struct iovec iov = {frame, len};
	struct gso_frame g;
	int ret;

	if (meta->gso_type != WIRE_GSO_NONE) {
		ret = parse_gso(&g, frame, len, meta);
		return ret ? ret : segment(&g, emit, priv);
	}
	if (!wire_meta_ok(meta, len))
		return -EINVAL;
	if (meta->flags & WIRE_F_CSUM_PARTIAL)
		complete_csum(frame, len, meta);
	return emit(priv, &iov, 1);
}
