// SPDX-License-Identifier: GPL-2.0-or-later
/* Transmission: frames of the host's descriptors to the wire. */
#include <errno.h>

#include "nic/nic_priv.h"

/* Frames of one ring in one turn of the loop. */
#define TX_BUDGET 64

#define TXF_ALL (ORNIC_TXF_EOP | ORNIC_TXF_CSUM | ORNIC_TXF_TSO4 | ORNIC_TXF_TSO6 | ORNIC_TXF_VLAN)

/**
 * struct tx_frame - a frame as its descriptors have it, copied
 * @first: first descriptor: all flags but EOP
 * @ndesc: descriptors, EOP's included
 * @len: bytes in nic->buf
 * @bad: it cannot be sent, but is to be skipped
 */
struct tx_frame {
	struct ornic_tx_desc first;
	u32 ndesc;
	u32 len;
	bool bad;
};

/* One more piece behind what is there; VLAN's 4 bytes are kept free at the start of the buffer. */
static void tx_add(struct rnic *dev, struct tx_frame *t, const struct ornic_tx_desc *d)
{
	u32 len = le32_to_cpu(d->len);

	if (d->mbz || le16_to_cpu(d->flags) & ~TXF_ALL || !len || len > 65535 ||
	    t->ndesc > ORNIC_TX_MAX_DESC || t->len + len > ORNIC_TX_MAX_FRAME)
		t->bad = true;
	if (t->bad)
		return;
	if (dma_read(dev->dma, le64_to_cpu(d->addr), dev->nic->buf + ETH_VLAN_HLEN + t->len, len))
		t->bad = true;
	t->len += len;
}

/* Copies the next frame. False: it is not there as a whole yet, or the ring cannot be read. */
static bool tx_collect(struct rnic *dev, struct eth_ring *r, struct tx_frame *t)
{
	u32 avail = r->pi - r->ci, mask = (1u << r->shift) - 1, i;
	struct ornic_tx_desc d;

	memset(t, 0, sizeof(*t));
	for (i = 0; i < avail; i++) {
		if (qmem_read(dev, &r->mem, r->ring_off + (u64)((r->ci + i) & mask) * sizeof(d), &d,
			      sizeof(d))) {
			/* Nothing in this ring can be known any more: all of it is done, and bad.
			 */
			t->bad = true;
			t->ndesc = avail;
			return true;
		}
		if (!i)
			t->first = d;
		t->ndesc = i + 1;
		tx_add(dev, t, &d);
		if (le16_to_cpu(d.flags) & ORNIC_TXF_EOP)
			return true;
	}
	/* A frame that fills the ring without an end never gets one. */
	t->bad = true;
	return avail == 1u << r->shift;
}

/* The tag stands behind the addresses; the buffer has room before the frame. */
static u8 *tx_vlan(struct rnic *dev, struct tx_frame *t)
{
	u8 *buf = dev->nic->buf;

	if (!(le16_to_cpu(t->first.flags) & ORNIC_TXF_VLAN))
		return buf + ETH_VLAN_HLEN;
	memmove(buf, buf + ETH_VLAN_HLEN, 12);
	put_be16(buf + 12, ETH_P_VLAN);
	put_be16(buf + 14, le16_to_cpu(t->first.vlan_tci));
	t->len += ETH_VLAN_HLEN;
	return buf;
}

/* What the wire is asked to finish. False: the descriptor contradicts itself. */
static bool tx_meta(const struct tx_frame *t, u32 shift, struct wire_meta *m)
{
	u16 flags = le16_to_cpu(t->first.flags);
	u32 start = le16_to_cpu(t->first.csum_start) + shift;

	memset(m, 0, sizeof(*m));
	if (flags & (ORNIC_TXF_TSO4 | ORNIC_TXF_TSO6) && !(flags & ORNIC_TXF_CSUM))
		return false;
	if ((flags & ORNIC_TXF_TSO4) && (flags & ORNIC_TXF_TSO6))
		return false;
	if (!(flags & ORNIC_TXF_CSUM))
		return true;
	if (start > UINT16_MAX)
		return false;
	m->flags = WIRE_F_CSUM_PARTIAL;
	m->csum_start = (u16)start;
	m->csum_offset = le16_to_cpu(t->first.csum_off);
	if (!(flags & (ORNIC_TXF_TSO4 | ORNIC_TXF_TSO6)))
		return true;
	m->gso_type = flags & ORNIC_TXF_TSO4 ? WIRE_GSO_TCPV4 : WIRE_GSO_TCPV6;
	m->gso_size = le16_to_cpu(t->first.mss);
	m->hdr_len = (u16)(le16_to_cpu(t->first.hdr_len) + shift);
	return m->gso_size && m->hdr_len >= start && m->hdr_len <= t->len;
}

/* Bytes of the longest IP packet that goes out. */
static u32 tx_packet_len(const u8 *frame, u32 len, const struct wire_meta *m)
{
	u32 hlen = ETH_HLEN;

	if (len >= ETH_HLEN + ETH_VLAN_HLEN && get_be16(frame + 12) == ETH_P_VLAN)
		hlen += ETH_VLAN_HLEN;
	if (m->gso_type && len > (u32)m->hdr_len + m->gso_size)
		len = (u32)m->hdr_len + m->gso_size;
	return len - hlen;
}

/* -EAGAIN: not now; else the frame is done. */
static int tx_send(struct rnic *dev, struct tx_frame *t)
{
	u32 shift = le16_to_cpu(t->first.flags) & ORNIC_TXF_VLAN ? ETH_VLAN_HLEN : 0;
	struct wire_meta m;
	struct iovec iov;
	u32 host_len = t->len;
	u8 *frame;
	int ret;

	if (t->bad || t->len < ETH_HLEN)
		return -EINVAL;
	frame = tx_vlan(dev, t);
	if (!tx_meta(t, shift, &m) || tx_packet_len(frame, t->len, &m) > dev->mtu ||
	    (m.gso_type && !wire_gso_ok(frame, t->len, &m)))
		return -EINVAL;
	if (!dev->port_up || !wire_link(dev->wire)) {
		dev->stats[ORNIC_STAT_ETH_TX_DROP]++;
		return 0;
	}
	iov = (struct iovec){frame, t->len};
	ret = wire_send(dev->wire, &iov, 1, m.flags ? &m : NULL);
	if (ret)
		return ret;
	dev->stats[ORNIC_STAT_ETH_TX_FRAMES]++;
	dev->stats[ORNIC_STAT_ETH_TX_BYTES] += host_len;
	return 0;
}

/* Tells the host how far the ring is done. */
static void tx_tell(struct rnic *dev, struct eth_ring *r)
{
	if (r->told == r->ci)
		return;
	r->told = r->ci;
	qmem_store32(dev, &r->mem, r->rec_off + offsetof(struct ornic_queue_rec, dev_ci), r->ci);
	eth_fire(dev, r);
}

bool nic_tx_run(struct rnic *dev, struct eth_ring *r)
{
	u32 budget = TX_BUDGET;
	struct tx_frame t;
	int ret;

	while (budget && r->ci != r->pi) {
		if (!tx_collect(dev, r, &t))
			break;
		ret = tx_send(dev, &t);
		if (ret == -EAGAIN) {
			dev->nic->tx_blocked = true;
			break;
		}
		if (ret)
			dev->stats[ORNIC_STAT_ETH_TX_BAD]++;
		r->ci += t.ndesc;
		budget--;
	}
	tx_tell(dev, r);
	return !budget;
}
