// SPDX-License-Identifier: GPL-2.0-or-later
/* Reception: filter, TCP engine, host ring. */
#include <errno.h>
#include <netinet/in.h>

#include "base/csum.h"
#include "nic/nic_priv.h"

#define ETH_P_IPV4 0x0800
#define ETH_P_IPV6 0x86dd
#define IP4_HLEN   20
#define IP6_HLEN   40
#define IP4_MF_OFF 0x3fff

#define RX_MIN_BUF 256
#define RX_MAX_BUF 65536
/* Buffers of one frame, at the least length of a buffer. */
#define RX_MAX_DESC (WIRE_GSO_MAX_FRAME / RX_MIN_BUF + 1)

/* ---- filter ---- */

enum rx_dest {
	RX_NOT_OURS,
	RX_OURS, /* the port's address, or a unicast address of the filter */
	RX_OTHER, /* passes, but not to the TCP engine: multicast, broadcast, promiscuous */
};

static bool in_list(const struct nic *nic, const u8 *mac)
{
	u64 key = get_le32(mac) | (u64)get_le16(mac + 4) << 32;
	u32 i;

	for (i = 0; i < nic->nmc; i++)
		if (nic->mc[i] == key)
			return true;
	return false;
}

static enum rx_dest rx_filter(const struct rnic *dev, const u8 *dst)
{
	static const u8 broadcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	const struct nic *nic = dev->nic;
	u32 mode = nic->mode;

	if (!memcmp(dst, dev->mac, 6))
		return RX_OURS;
	if (!(dst[0] & 1) && in_list(nic, dst))
		return RX_OURS;
	if (mode & ORNIC_RXM_PROMISC)
		return RX_OTHER;
	if (!memcmp(dst, broadcast, 6))
		return mode & ORNIC_RXM_BROADCAST ? RX_OTHER : RX_NOT_OURS;
	if (dst[0] & 1 && (mode & ORNIC_RXM_ALLMULTI || in_list(nic, dst)))
		return RX_OTHER;
	return RX_NOT_OURS;
}

/* ---- checksums ---- */

/* Transport checksum over @len bytes at @l4, pseudo header @sum. UDP without a checksum is not
 * verified. */
static bool l4_csum_ok(const u8 *l4, u32 len, u8 proto, u64 sum)
{
	if (proto == IPPROTO_TCP ? len < 20 : proto != IPPROTO_UDP || len < 8)
		return false;
	if (proto == IPPROTO_UDP && !get_be16(l4 + 6))
		return false;
	return csum_fold(csum_add(sum, l4, len)) == 0;
}

static bool ip4_csum_ok(const u8 *ip, u32 len, bool l4_known)
{
	u32 hlen, total;

	if (len < IP4_HLEN)
		return false;
	hlen = (ip[0] & 15u) * 4;
	total = get_be16(ip + 2);
	if (ip[0] >> 4 != 4 || hlen < IP4_HLEN || hlen > total || total > len ||
	    csum_fold(csum_add(0, ip, hlen)) || get_be16(ip + 6) & IP4_MF_OFF)
		return false;
	if (l4_known)
		return ip[9] == IPPROTO_TCP || ip[9] == IPPROTO_UDP;
	return l4_csum_ok(ip + hlen, total - hlen, ip[9],
			  csum_pseudo4(ip + 12, ip + 16, ip[9], total - hlen));
}

static bool ip6_csum_ok(const u8 *ip, u32 len, bool l4_known)
{
	u32 plen;

	if (len < IP6_HLEN || ip[0] >> 4 != 6)
		return false;
	plen = get_be16(ip + 4);
	if (plen > len - IP6_HLEN)
		return false;
	if (l4_known)
		return ip[6] == IPPROTO_TCP || ip[6] == IPPROTO_UDP;
	return l4_csum_ok(ip + IP6_HLEN, plen, ip[6], csum_pseudo6(ip + 8, ip + 24, ip[6], plen));
}

/* Frame without VLAN tag. */
static bool rx_csum_ok(const u8 *frame, u32 len, bool l4_known)
{
	switch (get_be16(frame + 12)) {
	case ETH_P_IPV4:
		return ip4_csum_ok(frame + ETH_HLEN, len - ETH_HLEN, l4_known);
	case ETH_P_IPV6:
		return ip6_csum_ok(frame + ETH_HLEN, len - ETH_HLEN, l4_known);
	default:
		return false;
	}
}

/* ---- host ring ---- */

/**
 * struct rx_bufs - the buffers that a frame will fill
 * @n: their number; the last one may be a bad descriptor
 * @bad: it is: shorter than allowed, longer, or mbz
 */
struct rx_bufs {
	struct ornic_rx_desc desc[RX_MAX_DESC];
	u32 n;
	bool bad;
};

static bool rx_desc_ok(const struct ornic_rx_desc *d)
{
	u32 len = le32_to_cpu(d->len);

	return len >= RX_MIN_BUF && len <= RX_MAX_BUF && !d->mbz;
}

/* True: there are buffers for @len bytes, or a bad one among them. */
static bool rx_take(struct rnic *dev, const struct eth_ring *r, u32 len, struct rx_bufs *b)
{
	u32 mask = (1u << r->shift) - 1, room = 0;

	b->n = 0;
	b->bad = false;
	while (room < len) {
		struct ornic_rx_desc *d = &b->desc[b->n];

		if (b->n == r->pi - r->ci || b->n == RX_MAX_DESC)
			return false;
		if (qmem_read(dev, &r->mem, r->ring_off + (u64)((r->ci + b->n) & mask) * sizeof(*d),
			      d, sizeof(*d)))
			return false;
		b->n++;
		if (!rx_desc_ok(d)) {
			b->bad = true;
			return true;
		}
		room += le32_to_cpu(d->len);
	}
	return true;
}

static bool rx_complete(struct rnic *dev, struct eth_ring *r, struct ornic_rx_comp *c, u32 flags)
{
	u32 mask = (1u << r->shift) - 1;
	u64 off = r->comp_off + (u64)(r->ci & mask) * sizeof(*c);

	if (!(r->ci >> r->shift & 1))
		flags |= ORNIC_RXF_PHASE;
	if (qmem_write(dev, &r->mem, off, c, sizeof(*c) - 4) ||
	    qmem_store32(dev, &r->mem, off + sizeof(*c) - 4, flags))
		return false;
	r->ci++;
	return true;
}

static void rx_fill(struct rnic *dev, struct eth_ring *r, const struct rx_bufs *b, const u8 *frame,
		    u32 len, u32 flags, u16 tci)
{
	struct ornic_rx_comp c = {.frame_len = cpu_to_le32(len), .vlan_tci = cpu_to_le16(tci)};
	u32 done = 0, i, n, f;
	bool failed = false;

	for (i = 0; i < b->n; i++) {
		n = min(len - done, le32_to_cpu(b->desc[i].len));
		f = flags;
		if (i == b->n - 1)
			f |= ORNIC_RXF_EOP;
		if (i == b->n - 1 && b->bad)
			failed = true;
		else if (dma_write(dev->dma, le64_to_cpu(b->desc[i].addr), frame + done, n))
			failed = true;
		if (failed)
			f |= ORNIC_RXF_ERROR;
		c.len = cpu_to_le32(failed ? 0 : n);
		if (!rx_complete(dev, r, &c, f))
			return;
		done += n;
	}
	if (!failed) {
		dev->stats[ORNIC_STAT_ETH_RX_FRAMES]++;
		dev->stats[ORNIC_STAT_ETH_RX_BYTES] += len;
	}
}

static void rx_poll_pi(struct rnic *dev, struct eth_ring *r)
{
	u32 pi;

	if (!qmem_load32(dev, &r->mem, r->rec_off + offsetof(struct ornic_queue_rec, pi), &pi))
		eth_set_pi(r, pi);
}

/* A complete frame. @frame is ours to change. */
static void rx_host(struct rnic *dev, u8 *frame, u32 len, bool l4_known)
{
	struct eth_ring *r = dev->nic->rxq[0];
	struct rx_bufs b;
	u32 flags = 0;
	u16 tci = 0;

	if (!r) {
		dev->stats[ORNIC_STAT_ETH_RX_NO_BUFFER]++;
		return;
	}
	if (len >= ETH_HLEN + ETH_VLAN_HLEN && get_be16(frame + 12) == ETH_P_VLAN) {
		tci = get_be16(frame + 14);
		flags |= ORNIC_RXF_VLAN;
		memmove(frame + ETH_VLAN_HLEN, frame, 12);
		frame += ETH_VLAN_HLEN;
		len -= ETH_VLAN_HLEN;
	}
	if (rx_csum_ok(frame, len, l4_known))
		flags |= ORNIC_RXF_CSUM_OK;
	if (!rx_take(dev, r, len, &b)) {
		rx_poll_pi(dev, r);
		if (!rx_take(dev, r, len, &b)) {
			dev->stats[ORNIC_STAT_ETH_RX_NO_BUFFER]++;
			return;
		}
	}
	rx_fill(dev, r, &b, frame, len, flags, tci);
}

/* ---- frames whose checksum or segmentation is still to be done ---- */

static int rx_emit(void *priv, const struct iovec *iov, int n)
{
	struct rnic *dev = priv;
	u8 buf[65536];
	u32 len = 0;
	int i;

	for (i = 0; i < n; i++) {
		if (len + iov[i].iov_len > sizeof(buf))
			return 0;
		memcpy(buf + len, iov[i].iov_base, iov[i].iov_len);
		len += (u32)iov[i].iov_len;
	}
	rx_host(dev, buf, len, true);
	return 0;
}

static void rx_to_ring(struct rnic *dev, u8 *frame, size_t len, const struct wire_meta *meta)
{
	if (meta->gso_type || meta->flags & WIRE_F_CSUM_PARTIAL) {
		if (wire_offload(frame, len, meta, rx_emit, dev))
			dev->stats[ORNIC_STAT_ETH_RX_BAD]++;
		return;
	}
	rx_host(dev, frame, (u32)len, meta->flags & WIRE_F_CSUM_VALID);
}

/* Where the transport header is, for a held SYN: IPv6 extension headers are cut off from those. */
static bool rx_find_tcp(const u8 *frame, size_t len, struct wire_meta *m)
{
	u32 l3 = ETH_HLEN;

	if (len > ETH_HLEN + ETH_VLAN_HLEN && get_be16(frame + 12) == ETH_P_VLAN)
		l3 += ETH_VLAN_HLEN;
	if (len < l3 + IP4_HLEN)
		return false;
	m->csum_start = (u16)(l3 + (frame[l3] >> 4 == 6 ? IP6_HLEN : (frame[l3] & 15u) * 4));
	m->csum_offset = 16;
	return true;
}

void nic_to_host(struct rnic *dev, const void *frame, size_t len, unsigned int csum_flags)
{
	struct wire_meta m = {0};
	u8 *buf = dev->nic->buf;

	if (!dev->port_up || len > WIRE_GSO_MAX_FRAME || len < ETH_HLEN)
		return;
	memcpy(buf, frame, len);
	if (csum_flags & TCP_CSUM_VALID)
		m.flags |= WIRE_F_CSUM_VALID;
	if (csum_flags & TCP_CSUM_PARTIAL && rx_find_tcp(buf, len, &m))
		m.flags |= WIRE_F_CSUM_PARTIAL;
	rx_to_ring(dev, buf, len, &m);
}

/* ---- from the wire ---- */

static bool rx_too_long(const struct rnic *dev, const u8 *frame, size_t len,
			const struct wire_meta *meta)
{
	size_t max = ETH_HLEN + dev->mtu;

	if (meta->gso_type)
		return false;
	if (len > max && get_be16(frame + 12) == ETH_P_VLAN)
		max += ETH_VLAN_HLEN;
	return len > max;
}

void nic_rx_frame(struct rnic *dev, u8 *frame, size_t len, const struct wire_meta *meta)
{
	unsigned int csum = 0;
	enum rx_dest dest;

	if (!dev->port_up || !rnic_ready(dev))
		return;
	if (len < ETH_HLEN) {
		dev->stats[ORNIC_STAT_ETH_RX_BAD]++;
		return;
	}
	if (rx_too_long(dev, frame, len, meta)) {
		dev->stats[ORNIC_STAT_ETH_RX_TOO_LONG]++;
		return;
	}
	dest = rx_filter(dev, frame);
	if (dest == RX_NOT_OURS) {
		dev->stats[ORNIC_STAT_ETH_RX_FILTERED]++;
		return;
	}
	if (meta->flags & WIRE_F_CSUM_VALID)
		csum |= TCP_CSUM_VALID;
	if (meta->flags & WIRE_F_CSUM_PARTIAL)
		csum |= TCP_CSUM_PARTIAL;
	tcp_batch_begin(dev->tcp, loop_now(dev->loop));
	if (dest == RX_OURS &&
	    tcp_input(dev->tcp, loop_now(dev->loop), frame, len, csum) == TCP_CONSUMED)
		return;
	rx_to_ring(dev, frame, len, meta);
}

void nic_rx(void *priv, u8 *frame, size_t len, const struct wire_meta *meta)
{
	struct rnic *dev = priv;

	if (unlikely(nic_fault_on(dev)))
		nic_fault_rx(dev, frame, len, meta);
	else
		nic_rx_frame(dev, frame, len, meta);
}
