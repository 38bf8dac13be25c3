// SPDX-License-Identifier: GPL-2.0-or-later
/* The Ethernet port: rings, filter, commands, and what the wire calls. */
#include <errno.h>
#include <stdlib.h>

#include "hw/eq.h"
#include "nic/nic_priv.h"

#define ETH_MIN_SHIFT 4
#define ETH_MIN_MTU   68

int nic_init(struct rnic *dev)
{
	dev->nic = calloc(1, sizeof(*dev->nic));
	if (!dev->nic)
		return -ENOMEM;
	dev->nic->dev = dev;
	nic_fault_init(dev);
	return 0;
}

static void ring_delete(struct rnic *dev, struct eth_ring **slot)
{
	struct eth_ring *r = *slot;

	if (!r)
		return;
	*slot = NULL;
	qmem_free(dev, &r->mem);
	free(r);
}

void nic_reset(struct rnic *dev)
{
	struct nic *nic = dev->nic;
	u32 i;

	for (i = 0; i < RNIC_MAX_TXQ; i++)
		ring_delete(dev, &nic->txq[i]);
	for (i = 0; i < RNIC_MAX_RXQ; i++)
		ring_delete(dev, &nic->rxq[i]);
	nic_fault_drop(dev);
	nic->tx_blocked = false;
	nic->mode = 0;
	nic->nmc = 0;
	dev->port_up = false;
	dev->mtu = (u16)min(dev->cfg.mtu_max, (u32)WIRE_MTU_DEFAULT);
}

void nic_free(struct rnic *dev)
{
	if (!dev->nic)
		return;
	nic_reset(dev);
	free(dev->nic);
	dev->nic = NULL;
}

bool nic_run(struct rnic *dev)
{
	struct nic *nic = dev->nic;
	bool more = false;
	u32 i;

	if (!rnic_ready(dev))
		return false;
	for (i = 0; i < RNIC_MAX_TXQ && !nic->tx_blocked; i++)
		if (nic->txq[i])
			more |= nic_tx_run(dev, nic->txq[i]);
	for (i = 0; i < RNIC_MAX_RXQ; i++)
		if (nic->rxq[i])
			eth_fire(dev, nic->rxq[i]);
	return more && !nic->tx_blocked;
}

/* ---- what the wire calls ---- */

static void nic_writable(void *priv)
{
	struct rnic *dev = priv;

	dev->nic->tx_blocked = false;
	if (rnic_ready(dev))
		tcp_tx_ready(dev->tcp);
}

static void nic_link(void *priv, bool up)
{
	if (!up)
		nic_fault_drop(priv);
	eq_device_event(priv, ORNIC_ASYNC_LINK, up);
}

void nic_rx_done(void *priv)
{
	struct rnic *dev = priv;
	u32 i;

	tcp_batch_end(dev->tcp);
	for (i = 0; i < RNIC_MAX_RXQ; i++)
		if (dev->nic->rxq[i])
			eth_fire(dev, dev->nic->rxq[i]);
}

const struct wire_ops nic_wire_ops = {
	.rx = nic_rx,
	.writable = nic_writable,
	.link = nic_link,
	.rx_done = nic_rx_done,
};

int nic_tcp_xmit(struct rnic *dev, const struct iovec *iov, int cnt, const struct tcp_tx_meta *meta)
{
	struct wire_meta m = {0};

	if (!dev->port_up)
		return -ENETDOWN;
	if (!(meta->flags & TCP_TX_CSUM_PARTIAL))
		return wire_send(dev->wire, iov, cnt, NULL);
	m.flags = WIRE_F_CSUM_PARTIAL;
	m.csum_start = meta->csum_start;
	m.csum_offset = meta->csum_offset;
	m.hdr_len = meta->hdr_len;
	if (meta->flags & TCP_TX_GSO) {
		m.gso_type = meta->flags & TCP_TX_IPV6 ? WIRE_GSO_TCPV6 : WIRE_GSO_TCPV4;
		m.gso_size = meta->gso_size;
	}
	return wire_send(dev->wire, iov, cnt, &m);
}

u8 *nic_tcp_room(struct rnic *dev, size_t len)
{
	return dev->port_up ? wire_reserve(dev->wire, len) : NULL;
}

/* ---- doorbells ---- */

void eth_fire(struct rnic *dev, struct eth_ring *r)
{
	if (!r->armed || r->ci == r->seen)
		return;
	r->armed = false;
	rnic_irq(dev, r->vector);
}

bool eth_set_pi(struct eth_ring *r, u32 pi)
{
	u32 ahead = pi - r->pi;

	/* Nothing new, or from the past. */
	if (!ahead || ahead >= 1u << 31)
		return true;
	if (pi - r->ci > 1u << r->shift)
		return false;
	r->pi = pi;
	return true;
}

static bool nic_arm(struct rnic *dev, u32 number, u64 val, u32 index)
{
	bool tx = val & ORNIC_DB_FLAG_TX;
	struct eth_ring *r;

	if (number >= (tx ? RNIC_MAX_TXQ : RNIC_MAX_RXQ))
		return false;
	r = tx ? dev->nic->txq[number] : dev->nic->rxq[number];
	/* The host can have taken nothing but what was written, and takes nothing back. */
	if (!r || index - r->seen > r->ci - r->seen)
		return false;
	r->seen = index;
	if (val & ORNIC_DB_FLAG_ARM)
		r->armed = true;
	eth_fire(dev, r);
	return true;
}

bool nic_doorbell(struct rnic *dev, u32 kind, u32 number, u64 val, u32 index)
{
	struct nic *nic = dev->nic;

	switch (kind) {
	case ORNIC_DB_ETH_TX:
		if (number >= RNIC_MAX_TXQ || !nic->txq[number])
			return false;
		return eth_set_pi(nic->txq[number], index);
	case ORNIC_DB_ETH_RX:
		if (number >= RNIC_MAX_RXQ || !nic->rxq[number])
			return false;
		return eth_set_pi(nic->rxq[number], index);
	default:
		return nic_arm(dev, number, val, index);
	}
}

/* ---- commands: rings ---- */

static struct cmd_ret ring_check(const struct ornic_cmd_create_ethq *c, bool tx)
{
	if (c->depth_shift < ETH_MIN_SHIFT || c->depth_shift > RNIC_MAX_ETH_SHIFT)
		return CMD_BAD(FIELD, struct ornic_cmd_create_ethq, depth_shift);
	if (le16_to_cpu(c->vector) >= RNIC_VECTORS)
		return CMD_BAD(NUMBER, struct ornic_cmd_create_ethq, vector);
	if (le32_to_cpu(c->ring_off) % 64)
		return CMD_BAD(FIELD, struct ornic_cmd_create_ethq, ring_off);
	if (tx ? c->comp_off : le32_to_cpu(c->comp_off) % 64)
		return CMD_BAD(FIELD, struct ornic_cmd_create_ethq, comp_off);
	if (le32_to_cpu(c->rec_off) % ORNIC_QUEUE_REC_ALIGN)
		return CMD_BAD(FIELD, struct ornic_cmd_create_ethq, rec_off);
	return CMD_OK;
}

/* Bytes that the buffer must have. */
static u64 ring_need(const struct ornic_cmd_create_ethq *c, bool tx)
{
	u64 desc = tx ? sizeof(struct ornic_tx_desc) : sizeof(struct ornic_rx_desc);
	u64 need = le32_to_cpu(c->ring_off) + (desc << c->depth_shift);

	if (!tx)
		need = max(need, le32_to_cpu(c->comp_off) +
					 ((u64)sizeof(struct ornic_rx_comp) << c->depth_shift));
	return max(need, le32_to_cpu(c->rec_off) + (u64)sizeof(struct ornic_queue_rec));
}

static struct cmd_ret ring_create(struct rnic *dev, const struct ornic_cmd_create_ethq *c,
				  struct eth_ring **table, u32 max, bool tx)
{
	u32 number = le32_to_cpu(c->number);
	struct eth_ring *r;
	struct cmd_ret ret;

	if (number >= max)
		return CMD_BAD(NUMBER, struct ornic_cmd_create_ethq, number);
	ret = ring_check(c, tx);
	if (ret.status)
		return ret;
	if (table[number])
		return CMD_BAD(EXISTS, struct ornic_cmd_create_ethq, number);
	r = calloc(1, sizeof(*r));
	if (!r)
		return cmd_ret(ORNIC_CMDS_NO_MEMORY, 0);
	r->number = number;
	r->shift = c->depth_shift;
	r->vector = le16_to_cpu(c->vector);
	r->ring_off = le32_to_cpu(c->ring_off);
	r->comp_off = le32_to_cpu(c->comp_off);
	r->rec_off = le32_to_cpu(c->rec_off);
	table[number] = r;
	ret = qmem_init(dev, &r->mem, &c->mem, ring_need(c, tx),
			offsetof(struct ornic_cmd_create_ethq, mem));
	if (ret.status)
		ring_delete(dev, &table[number]);
	return ret;
}

static struct cmd_ret ring_destroy(struct rnic *dev, const struct ornic_cmd_number *c,
				   struct eth_ring **table, u32 max)
{
	u32 number = le32_to_cpu(c->number);

	if (number >= max)
		return CMD_BAD(NUMBER, struct ornic_cmd_number, number);
	if (!table[number])
		return CMD_BAD(NOT_FOUND, struct ornic_cmd_number, number);
	ring_delete(dev, &table[number]);
	return CMD_OK;
}

struct cmd_ret nic_cmd_create_txq(struct rnic *dev, const void *cmd)
{
	return ring_create(dev, cmd, dev->nic->txq, RNIC_MAX_TXQ, true);
}

struct cmd_ret nic_cmd_destroy_txq(struct rnic *dev, const void *cmd)
{
	return ring_destroy(dev, cmd, dev->nic->txq, RNIC_MAX_TXQ);
}

struct cmd_ret nic_cmd_create_rxq(struct rnic *dev, const void *cmd)
{
	return ring_create(dev, cmd, dev->nic->rxq, RNIC_MAX_RXQ, false);
}

struct cmd_ret nic_cmd_destroy_rxq(struct rnic *dev, const void *cmd)
{
	return ring_destroy(dev, cmd, dev->nic->rxq, RNIC_MAX_RXQ);
}

/* ---- commands: port ---- */

struct cmd_ret nic_cmd_set_rx_mode(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_set_rx_mode *c = cmd;
	u32 mode = le32_to_cpu(c->mode), count = le32_to_cpu(c->count), i;
	u64 list[RNIC_MAX_MC];

	if (mode & ~(ORNIC_RXM_PROMISC | ORNIC_RXM_ALLMULTI | ORNIC_RXM_BROADCAST))
		return CMD_BAD(FIELD, struct ornic_cmd_set_rx_mode, mode);
	if (count > RNIC_MAX_MC)
		return CMD_BAD(NUMBER, struct ornic_cmd_set_rx_mode, count);
	if (!count && c->hdr.data)
		return CMD_BAD(FIELD, struct ornic_cmd_set_rx_mode, hdr.data);
	if (count && dma_read(dev->dma, le64_to_cpu(c->hdr.data), list, count * sizeof(list[0])))
		return CMD_BAD(ADDRESS, struct ornic_cmd_set_rx_mode, hdr.data);
	for (i = 0; i < count; i++) {
		list[i] = le64_to_cpu(list[i]);
		if (list[i] >> 48)
			return CMD_BAD(FIELD, struct ornic_cmd_set_rx_mode, hdr.data);
	}
	memcpy(dev->nic->mc, list, count * sizeof(list[0]));
	dev->nic->nmc = count;
	dev->nic->mode = mode;
	return CMD_OK;
}

struct cmd_ret nic_cmd_set_mac(struct rnic *dev, const void *cmd)
{
	static const u8 zero[6];
	const struct ornic_cmd_set_mac *c = cmd;

	if (c->mac[0] & 1 || !memcmp(c->mac, zero, sizeof(zero)))
		return CMD_BAD(FIELD, struct ornic_cmd_set_mac, mac);
	memcpy(dev->mac, c->mac, sizeof(dev->mac));
	return CMD_OK;
}

struct cmd_ret nic_cmd_set_port(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_set_port *c = cmd;
	u32 up = le32_to_cpu(c->up), mtu = le32_to_cpu(c->mtu);

	if (up > 1)
		return CMD_BAD(FIELD, struct ornic_cmd_set_port, up);
	if (mtu < ETH_MIN_MTU || mtu > dev->cfg.mtu_max)
		return CMD_BAD(FIELD, struct ornic_cmd_set_port, mtu);
	dev->port_up = up;
	dev->mtu = (u16)mtu;
	return CMD_OK;
}

/* ---- dump ---- */

static void ring_dump(FILE *f, const char *kind, const struct eth_ring *r)
{
	fprintf(f, "%s %u: depth %u vector %u posted %u done %u%s\n", kind, r->number,
		1u << r->shift, r->vector, r->pi, r->ci, r->armed ? " armed" : "");
}

void nic_dump(struct rnic *dev, FILE *f)
{
	const struct nic *nic = dev->nic;
	const u8 *m = dev->mac;
	u32 i;

	fprintf(f,
		"port: %s, link %s, mac %02x:%02x:%02x:%02x:%02x:%02x, mtu %u, filter%s%s%s, %u addresses\n",
		dev->port_up ? "up" : "down", wire_link(dev->wire) ? "up" : "down", m[0], m[1],
		m[2], m[3], m[4], m[5], dev->mtu,
		nic->mode & ORNIC_RXM_PROMISC ? " promiscuous" : "",
		nic->mode & ORNIC_RXM_ALLMULTI ? " all-multicast" : "",
		nic->mode & ORNIC_RXM_BROADCAST ? " broadcast" : "", nic->nmc);
	for (i = 0; i < RNIC_MAX_TXQ; i++)
		if (nic->txq[i])
			ring_dump(f, "txq", nic->txq[i]);
	for (i = 0; i < RNIC_MAX_RXQ; i++)
		if (nic->rxq[i])
			ring_dump(f, "rxq", nic->rxq[i]);
}
