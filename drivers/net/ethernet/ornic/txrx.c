// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * OpenRNIC core driver: Ethernet rings.
 *
 * A queue buffer holds the queue record, then the descriptors, then (receive) the completions. One
 * NAPI and one interrupt vector serve a pair of rings.
 */

#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <net/ip6_checksum.h>
#include <net/tcp.h>
#include <linux/ornic_compat.h>

#include "net.h"

#define ORNIC_RING_DESC_OFF	sizeof(struct ornic_queue_rec)

static struct device *ornic_queue_dev(struct ornic_queue *q)
{
	return ornic_device(q->net->od);
}

static struct netdev_queue *ornic_tx_netdev_queue(struct ornic_queue *q)
{
	return netdev_get_tx_queue(q->net->netdev, q->index);
}

/*
 * Publish a producer index. The device may be looking at the record by itself (ORNIC_CAP_AWAKE):
 * then the doorbell can be saved. The barrier pairs with the device's between its store of awake =
 * 0 and its last load of pi.
 */
static void ornic_ring_publish(struct ornic_queue *q, struct ornic_queue_rec *rec, u32 db, u32 pi)
{
	struct ornic_core *core = &q->net->od->core;

	dma_wmb();
	WRITE_ONCE(rec->pi, cpu_to_le32(pi));
	if (core->limits.caps & ORNIC_CAP_AWAKE) {
		mb(); /* store of pi before load of awake, see struct ornic_queue_rec */
		if (READ_ONCE(rec->awake))
			return;
	}
	ornic_ring_db(core, db, q->index, 0, pi);
}

/* --- transmit ------------------------------------------------------------------------------- */

static void ornic_tx_unmap(struct ornic_queue *q, struct ornic_tx_buf *buf)
{
	if (buf->page)
		dma_unmap_page(ornic_queue_dev(q), buf->dma, buf->len, DMA_TO_DEVICE);
	else
		dma_unmap_single(ornic_queue_dev(q), buf->dma, buf->len, DMA_TO_DEVICE);
	buf->len = 0;
}

/* Reclaim up to @to. Returns nothing; the queue is woken by the caller. */
static void ornic_tx_reclaim(struct ornic_queue *q, u32 to, int budget)
{
	struct ornic_txq *tx = &q->tx;
	unsigned int packets = 0, bytes = 0;
	u32 ci = tx->ci;

	for (; ci != to; ci++) {
		struct ornic_tx_buf *buf = &tx->buf[ci & (BIT(tx->shift) - 1)];

		ornic_tx_unmap(q, buf);
		if (!buf->skb)
			continue;
		packets++;
		bytes += buf->skb->len;
		napi_consume_skb(buf->skb, budget);
		buf->skb = NULL;
	}
	/* Buffers are free before ornic_xmit() on another CPU may see that they are. */
	smp_store_release(&tx->ci, ci);
	netdev_tx_completed_queue(ornic_tx_netdev_queue(q), packets, bytes);
}

static void ornic_tx_poll(struct ornic_queue *q, int budget)
{
	struct netdev_queue *nq = ornic_tx_netdev_queue(q);
	struct ornic_txq *tx = &q->tx;
	u32 done = le32_to_cpu(READ_ONCE(tx->rec->dev_ci));
	/* Pairs with ornic_tx_flush(): what was rung has its buffers. */
	u32 out = smp_load_acquire(&tx->rung) - tx->ci;

	if (done - tx->ci > out) {
		if (net_ratelimit())
			netdev_err(q->net->netdev, "ring %u: device completed %u of %u descriptors\n",
				   q->index, done - tx->ci, out);
		return;
	}
	if (done != tx->ci)
		ornic_tx_reclaim(q, done, budget);

	/* Pairs with the barrier in ornic_tx_stop(). */
	smp_mb();
	if (netif_tx_queue_stopped(nq) && ornic_tx_free(tx) >= 2 * ORNIC_TX_ROOM)
		netif_tx_wake_queue(nq);
}

static void ornic_tx_stop(struct ornic_queue *q)
{
	struct netdev_queue *nq = ornic_tx_netdev_queue(q);

	netif_tx_stop_queue(nq);
	/* Either the poll sees the stopped queue or this sees the room that it made. */
	smp_mb();
	if (ornic_tx_free(&q->tx) >= 2 * ORNIC_TX_ROOM)
		netif_tx_start_queue(nq);
}

static int ornic_tx_map_one(struct ornic_queue *q, u32 pi, dma_addr_t dma, u32 len, bool page)
{
	struct ornic_txq *tx = &q->tx;
	u32 i = pi & (BIT(tx->shift) - 1);

	if (dma_mapping_error(ornic_queue_dev(q), dma))
		return -ENOMEM;
	tx->buf[i].dma = dma;
	tx->buf[i].len = len;
	tx->buf[i].page = page;
	tx->buf[i].skb = NULL;
	memset(&tx->desc[i], 0, sizeof(tx->desc[i]));
	tx->desc[i].addr = cpu_to_le64(dma);
	tx->desc[i].len = cpu_to_le32(len);
	return 0;
}

/* Returns the number of descriptors filled, or -ENOMEM with nothing mapped. */
static int ornic_tx_map(struct ornic_queue *q, struct sk_buff *skb)
{
	struct device *dev = ornic_queue_dev(q);
	u32 pi = q->tx.pi;
	int i, rc;

	rc = ornic_tx_map_one(q, pi, dma_map_single(dev, skb->data, skb_headlen(skb),
						    DMA_TO_DEVICE), skb_headlen(skb), false);
	for (i = 0; !rc && i < skb_shinfo(skb)->nr_frags; i++) {
		const skb_frag_t *frag = &skb_shinfo(skb)->frags[i];
		u32 len = skb_frag_size(frag);

		pi++;
		rc = ornic_tx_map_one(q, pi, skb_frag_dma_map(dev, frag, 0, len, DMA_TO_DEVICE),
				      len, true);
	}
	if (!rc)
		return i + 1;
	while (pi-- != q->tx.pi)
		ornic_tx_unmap(q, &q->tx.buf[pi & (BIT(q->tx.shift) - 1)]);
	return rc;
}

static void ornic_tx_offload(struct sk_buff *skb, struct ornic_tx_desc *desc)
{
	u16 flags = le16_to_cpu(desc->flags);

	if (skb->ip_summed == CHECKSUM_PARTIAL) {
		flags |= ORNIC_TXF_CSUM;
		desc->csum_start = cpu_to_le16(skb_checksum_start_offset(skb));
		desc->csum_off = cpu_to_le16(skb->csum_offset);
	}
	if (skb_is_gso(skb)) {
		flags |= skb_is_gso_v6(skb) ? ORNIC_TXF_TSO6 : ORNIC_TXF_TSO4;
		desc->mss = cpu_to_le16(skb_shinfo(skb)->gso_size);
		desc->hdr_len = cpu_to_le16(skb_tcp_all_headers(skb));
	}
	if (skb_vlan_tag_present(skb)) {
		flags |= ORNIC_TXF_VLAN;
		desc->vlan_tci = cpu_to_le16(skb_vlan_tag_get(skb));
	}
	desc->flags = cpu_to_le16(flags);
}

static void ornic_tx_drop(struct ornic_queue *q, struct sk_buff *skb)
{
	u64_stats_update_begin(&q->tx_sync);
	u64_stats_inc(&q->stats.tx_dropped);
	u64_stats_update_end(&q->tx_sync);
	dev_kfree_skb_any(skb);
}

static void ornic_tx_flush(struct ornic_queue *q)
{
	if (q->tx.rung == q->tx.pi)
		return;
	/* What the device may complete from now on; pairs with ornic_tx_poll(). */
	smp_store_release(&q->tx.rung, q->tx.pi);
	ornic_ring_publish(q, q->tx.rec, ORNIC_DB_ETH_TX, q->tx.pi);
}

/* Fill the descriptors of a frame. Returns its bytes, 0 when it was dropped. */
static unsigned int ornic_tx_fill(struct ornic_queue *q, struct sk_buff *skb)
{
	struct ornic_txq *tx = &q->tx;
	u32 mask = BIT(tx->shift) - 1;
	struct ornic_tx_desc *last;
	unsigned int len;
	int n;

	if (skb_shinfo(skb)->nr_frags + 1 > ORNIC_TX_MAX_DESC && skb_linearize(skb))
		goto drop;
	if (skb_put_padto(skb, ETH_ZLEN))
		return 0; /* freed the skb */
	n = ornic_tx_map(q, skb);
	if (n < 0)
		goto drop;
	ornic_tx_offload(skb, &tx->desc[tx->pi & mask]);
	last = &tx->desc[(tx->pi + n - 1) & mask];
	last->flags |= cpu_to_le16(ORNIC_TXF_EOP);
	tx->buf[(tx->pi + n - 1) & mask].skb = skb;
	skb_tx_timestamp(skb);
	len = skb->len;

	u64_stats_update_begin(&q->tx_sync);
	u64_stats_add(&q->stats.tx_packets, skb_is_gso(skb) ? skb_shinfo(skb)->gso_segs : 1);
	u64_stats_add(&q->stats.tx_bytes, len);
	u64_stats_update_end(&q->tx_sync);
	WRITE_ONCE(tx->pi, tx->pi + n);
	return len;
drop:
	ornic_tx_drop(q, skb);
	return 0;
}

/**
 * ornic_xmit() - ndo_start_xmit
 * @skb: frame
 * @netdev: the port
 *
 * Context: Transmit queue lock held, bottom halves off.
 * Return: NETDEV_TX_OK, or NETDEV_TX_BUSY when the ring is full, which the stopped queue prevents
 */
netdev_tx_t ornic_xmit(struct sk_buff *skb, struct net_device *netdev)
{
	struct ornic_net *net = netdev_priv(netdev);
	struct ornic_queue *q = &net->queue[skb_get_queue_mapping(skb)];
	struct netdev_queue *nq = ornic_tx_netdev_queue(q);
	unsigned int len;
	bool ring = true;

	if (unlikely(ornic_tx_free(&q->tx) < ORNIC_TX_ROOM)) {
		ornic_tx_stop(q);
		ornic_tx_flush(q);
		return NETDEV_TX_BUSY;
	}
	len = ornic_tx_fill(q, skb);
	if (len) {
		ring = __netdev_tx_sent_queue(nq, len, netdev_xmit_more());
		if (ornic_tx_free(&q->tx) < ORNIC_TX_ROOM) {
			ornic_tx_stop(q);
			ring = true;
		}
	} else if (netdev_xmit_more()) {
		ring = false;
	}
	if (ring || netif_xmit_stopped(nq))
		ornic_tx_flush(q);
	return NETDEV_TX_OK;
}

/* --- receive -------------------------------------------------------------------------------- */

/* Fill the ring; one doorbell. When memory is short the next frames and the watchdog try again. */
static void ornic_rx_refill(struct ornic_queue *q)
{
	struct ornic_rxq *rx = &q->rx;
	u32 start = rx->pi;

	while (rx->pi - rx->ci < BIT(rx->shift)) {
		u32 i = rx->pi & (BIT(rx->shift) - 1);
		struct page *page = page_pool_dev_alloc_pages(rx->pool);

		if (!page)
			break;
		rx->page[i] = page;
		rx->desc[i].addr = cpu_to_le64(page_pool_get_dma_addr(page));
		rx->desc[i].len = cpu_to_le32(PAGE_SIZE);
		rx->desc[i].mbz = 0;
		rx->pi++;
	}
	if (rx->pi != start)
		ornic_ring_publish(q, rx->rec, ORNIC_DB_ETH_RX, rx->pi);
}

static void ornic_rx_count(struct ornic_queue *q, u64_stats_t *counter)
{
	u64_stats_update_begin(&q->rx_sync);
	u64_stats_inc(counter);
	u64_stats_update_end(&q->rx_sync);
}

/* First buffer of a frame, takes the page: headers are copied, the rest stays in the page. */
static struct sk_buff *ornic_rx_head(struct ornic_queue *q, struct page *page, u32 len)
{
	void *va = page_address(page);
	struct sk_buff *skb;
	u32 copy = len;

	net_prefetch(va);
	skb = napi_alloc_skb(&q->napi, ORNIC_RX_COPY);
	if (unlikely(!skb))
		goto out;
	if (len > ORNIC_RX_COPY)
		copy = eth_get_headlen(q->net->netdev, va, ORNIC_RX_COPY);
	skb_put_data(skb, va, copy);
	skb_mark_for_recycle(skb);
	if (len > copy) {
		skb_add_rx_frag(skb, 0, page, copy, len - copy, PAGE_SIZE);
		return skb;
	}
out:
	page_pool_recycle_direct(q->rx.pool, page);
	return skb;
}

/* Further buffer of a frame. Takes the page. False: the frame is too long for an skb. */
static bool ornic_rx_append(struct ornic_queue *q, struct page *page, u32 len)
{
	struct sk_buff *skb = q->rx.skb;
	int n = skb_shinfo(skb)->nr_frags;

	if (n >= MAX_SKB_FRAGS) {
		page_pool_recycle_direct(q->rx.pool, page);
		return false;
	}
	skb_add_rx_frag(skb, n, page, 0, len, PAGE_SIZE);
	return true;
}

/* A coalesced frame goes up as GRO would have made it. */
static bool ornic_rx_coalesced(struct sk_buff *skb, u16 gso_size)
{
	unsigned int nhoff = skb_network_offset(skb);
	struct tcphdr *th;
	u32 len;

	if (skb->protocol == htons(ETH_P_IP)) {
		struct iphdr *iph = (void *)skb->data + nhoff;

		skb_set_transport_header(skb, nhoff + iph->ihl * 4);
		len = skb->len - skb_transport_offset(skb);
		th = tcp_hdr(skb);
		th->check = ~tcp_v4_check(len, iph->saddr, iph->daddr, 0);
		skb_shinfo(skb)->gso_type = SKB_GSO_TCPV4;
	} else if (skb->protocol == htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6h = (void *)skb->data + nhoff;

		skb_set_transport_header(skb, nhoff + sizeof(*ip6h));
		len = skb->len - skb_transport_offset(skb);
		th = tcp_hdr(skb);
		th->check = ~tcp_v6_check(len, &ip6h->saddr, &ip6h->daddr, 0);
		skb_shinfo(skb)->gso_type = SKB_GSO_TCPV6;
	} else {
		return false;
	}
	if (skb_transport_offset(skb) + sizeof(*th) > skb_headlen(skb))
		return false;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct tcphdr, check);
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb_shinfo(skb)->gso_size = gso_size;
	skb_shinfo(skb)->gso_segs = DIV_ROUND_UP(len - min_t(u32, len, th->doff * 4), gso_size);
	return true;
}

/* The frame is whole: mark it and give it to the stack. */
static void ornic_rx_deliver(struct ornic_queue *q, struct sk_buff *skb,
			     const struct ornic_rx_comp *comp, u32 flags)
{
	struct net_device *netdev = q->net->netdev;
	u16 gso_size = le16_to_cpu(comp->gso_size);

	u64_stats_update_begin(&q->rx_sync);
	u64_stats_inc(&q->stats.rx_packets);
	u64_stats_add(&q->stats.rx_bytes, skb->len);
	u64_stats_update_end(&q->rx_sync);

	skb_record_rx_queue(skb, q->index);
	skb->protocol = eth_type_trans(skb, netdev);
	if ((flags & ORNIC_RXF_CSUM_OK) && (netdev->features & NETIF_F_RXCSUM))
		skb->ip_summed = CHECKSUM_UNNECESSARY;
	if ((flags & ORNIC_RXF_HASH) && (netdev->features & NETIF_F_RXHASH))
		skb_set_hash(skb, le32_to_cpu(comp->hash), PKT_HASH_TYPE_L4);
	if (flags & ORNIC_RXF_VLAN)
		__vlan_hwaccel_put_tag(skb, htons(ETH_P_8021Q), le16_to_cpu(comp->vlan_tci));
	skb_reset_network_header(skb);
	if (gso_size && !ornic_rx_coalesced(skb, gso_size)) {
		ornic_rx_count(q, &q->stats.rx_errors);
		dev_kfree_skb_any(skb);
		return;
	}
	napi_gro_receive(&q->napi, skb);
}

static void ornic_rx_give_up(struct ornic_queue *q, u64_stats_t *counter)
{
	dev_kfree_skb_any(q->rx.skb);
	q->rx.skb = NULL;
	q->rx.skip = true;
	ornic_rx_count(q, counter);
}

/* One completion, which is one buffer. */
static void ornic_rx_one(struct ornic_queue *q, const struct ornic_rx_comp *comp, u32 flags)
{
	struct ornic_rxq *rx = &q->rx;
	u32 i = rx->ci & (BIT(rx->shift) - 1);
	struct page *page = rx->page[i];
	u32 len = le32_to_cpu(comp->len);

	rx->page[i] = NULL;
	dma_sync_single_range_for_cpu(ornic_queue_dev(q), page_pool_get_dma_addr(page), 0,
				      min_t(u32, len, PAGE_SIZE), DMA_FROM_DEVICE);
	if (!rx->skip && ((flags & ORNIC_RXF_ERROR) || !len || len > PAGE_SIZE))
		ornic_rx_give_up(q, &q->stats.rx_errors);
	if (rx->skip) {
		page_pool_recycle_direct(rx->pool, page);
	} else if (!rx->skb) {
		rx->skb = ornic_rx_head(q, page, len);
		if (!rx->skb)
			ornic_rx_give_up(q, &q->stats.rx_dropped);
	} else if (!ornic_rx_append(q, page, len)) {
		ornic_rx_give_up(q, &q->stats.rx_dropped);
	}
	if (!(flags & ORNIC_RXF_EOP))
		return;
	if (rx->skb && rx->skb->len < ETH_HLEN)
		ornic_rx_give_up(q, &q->stats.rx_errors);
	if (rx->skb)
		ornic_rx_deliver(q, rx->skb, comp, flags);
	rx->skb = NULL;
	rx->skip = false;
}

/* The next completion, or NULL. */
static const struct ornic_rx_comp *ornic_rx_next(struct ornic_rxq *rx, u32 *flags)
{
	const struct ornic_rx_comp *comp = &rx->comp[rx->ci & (BIT(rx->shift) - 1)];

	*flags = le32_to_cpu(READ_ONCE(comp->flags));
	if (!!(*flags & ORNIC_RXF_PHASE) != ornic_phase(rx->ci, rx->shift))
		return NULL;
	/* The phase is in the last word that the device stores. */
	dma_rmb();
	return comp;
}

static int ornic_rx_poll(struct ornic_queue *q, int budget)
{
	const struct ornic_rx_comp *comp;
	struct ornic_rxq *rx = &q->rx;
	u32 flags;
	int work;

	for (work = 0; work < budget; work++) {
		/* A completion without a buffer cannot be: the device is at fault. */
		if (rx->ci == rx->pi)
			break;
		comp = ornic_rx_next(rx, &flags);
		if (!comp)
			break;
		ornic_rx_one(q, comp, flags);
		rx->ci++;
	}
	if (work)
		WRITE_ONCE(rx->rec->ci, cpu_to_le32(rx->ci));
	ornic_rx_refill(q);
	return work;
}

/* --- NAPI and the life of a ring pair ------------------------------------------------------- */

static void ornic_queue_arm(struct ornic_queue *q, bool always)
{
	struct ornic_core *core = &q->net->od->core;

	/* An armed transmit ring stays armed until it completes something. */
	if (always || q->tx.arm_ci != q->tx.ci) {
		q->tx.arm_ci = q->tx.ci;
		ornic_ring_db(core, ORNIC_DB_ETH_ARM, q->index,
			      ORNIC_DB_FLAG_ARM | ORNIC_DB_FLAG_TX, q->tx.ci);
	}
	ornic_ring_db(core, ORNIC_DB_ETH_ARM, q->index, ORNIC_DB_FLAG_ARM, q->rx.ci);
}

/**
 * ornic_queue_poll() - NAPI poll of a ring pair
 * @napi: of the pair
 * @budget: receive buffers that may be consumed; 0: transmit only (netpoll)
 *
 * Context: Soft interrupt.
 * Return: buffers consumed
 */
int ornic_queue_poll(struct napi_struct *napi, int budget)
{
	struct ornic_queue *q = container_of(napi, struct ornic_queue, napi);
	int work;

	ornic_tx_poll(q, budget);
	if (!budget)
		return 0;
	work = ornic_rx_poll(q, budget);
	if (work < budget && napi_complete_done(napi, work))
		ornic_queue_arm(q, false);
	return work;
}

static int ornic_txq_alloc(struct ornic_queue *q)
{
	struct ornic_txq *tx = &q->tx;
	size_t depth = BIT(q->net->tx_shift);
	int rc;

	memset(tx, 0, sizeof(*tx));
	tx->shift = q->net->tx_shift;
	tx->buf = kvcalloc(depth, sizeof(*tx->buf), GFP_KERNEL);
	if (!tx->buf)
		return -ENOMEM;
	rc = ornic_qbuf_alloc(&q->net->od->core, &tx->mem,
			      ORNIC_RING_DESC_OFF + depth * sizeof(*tx->desc));
	if (rc)
		return rc;
	tx->rec = tx->mem.va;
	tx->desc = tx->mem.va + ORNIC_RING_DESC_OFF;
	return 0;
}

static int ornic_rxq_pool(struct ornic_queue *q)
{
	struct page_pool_params pp = {
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.pool_size = BIT(q->net->rx_shift),
		.nid = NUMA_NO_NODE,
		.dev = ornic_queue_dev(q),
		.dma_dir = DMA_FROM_DEVICE,
		.max_len = PAGE_SIZE,
	};

	ornic_page_pool_napi(&pp, &q->napi, q->net->netdev);
	q->rx.pool = page_pool_create(&pp);
	if (IS_ERR(q->rx.pool)) {
		int rc = PTR_ERR(q->rx.pool);

		q->rx.pool = NULL;
		return rc;
	}
	return 0;
}

static int ornic_rxq_alloc(struct ornic_queue *q)
{
	struct ornic_rxq *rx = &q->rx;
	size_t depth = BIT(q->net->rx_shift);
	size_t per_buffer = sizeof(*rx->desc) + sizeof(*rx->comp);
	int rc;

	memset(rx, 0, sizeof(*rx));
	rx->shift = q->net->rx_shift;
	rx->page = kvcalloc(depth, sizeof(*rx->page), GFP_KERNEL);
	if (!rx->page)
		return -ENOMEM;
	rc = ornic_qbuf_alloc(&q->net->od->core, &rx->mem,
			      ORNIC_RING_DESC_OFF + depth * per_buffer);
	if (rc)
		return rc;
	rx->rec = rx->mem.va;
	rx->desc = rx->mem.va + ORNIC_RING_DESC_OFF;
	rx->comp = rx->mem.va + ORNIC_RING_DESC_OFF + depth * sizeof(*rx->desc);
	return ornic_rxq_pool(q);
}

/**
 * ornic_queue_alloc() - memory of a ring pair, without the device
 * @q: pair with @net and @index
 *
 * Context: Process context, may sleep.
 * Return: 0 or a negative errno; ornic_queue_free() is needed in either case
 */
int ornic_queue_alloc(struct ornic_queue *q)
{
	int rc;

	rc = ornic_txq_alloc(q);
	return rc ? rc : ornic_rxq_alloc(q);
}

/**
 * ornic_queue_free() - memory of a ring pair and all frames in it
 * @q: pair, which the device does not touch any more and whose NAPI is off
 *
 * Context: Process context, may sleep.
 */
void ornic_queue_free(struct ornic_queue *q)
{
	struct ornic_core *core = &q->net->od->core;
	struct ornic_rxq *rx = &q->rx;
	u32 i;

	if (q->tx.buf && q->tx.rec) {
		ornic_tx_reclaim(q, q->tx.pi, 0);
		netdev_tx_reset_queue(ornic_tx_netdev_queue(q));
	}
	kvfree(q->tx.buf);
	q->tx.buf = NULL;
	ornic_qbuf_free(core, &q->tx.mem);
	q->tx.rec = NULL;

	dev_kfree_skb_any(rx->skb);
	rx->skb = NULL;
	for (i = 0; rx->page && rx->pool && i < BIT(rx->shift); i++)
		if (rx->page[i])
			page_pool_put_full_page(rx->pool, rx->page[i], false);
	kvfree(rx->page);
	rx->page = NULL;
	if (rx->pool)
		page_pool_destroy(rx->pool);
	rx->pool = NULL;
	ornic_qbuf_free(core, &rx->mem);
}

/**
 * ornic_queue_create() - create a ring pair in the device
 * @q: pair with its memory
 *
 * Context: Process context, sleeps.
 * Return: 0 or as ornic_cmd_exec(); on error the device does not know either ring
 */
int ornic_queue_create(struct ornic_queue *q)
{
	struct ornic_cmd_create_ethq cmd = {
		.hdr.opcode = cpu_to_le16(ORNIC_CMD_CREATE_TXQ),
		.number = cpu_to_le32(q->index),
		.depth_shift = q->tx.shift,
		.vector = cpu_to_le16(ORNIC_VEC_ETH + q->index),
		.ring_off = cpu_to_le32(ORNIC_RING_DESC_OFF),
	};
	struct ornic_dev *od = q->net->od;
	int rc;

	ornic_qbuf_describe(&q->tx.mem, &cmd.mem);
	rc = ornic_cmd_exec(&od->core, &cmd, NULL);
	if (rc)
		return rc;
	cmd.hdr.opcode = cpu_to_le16(ORNIC_CMD_CREATE_RXQ);
	cmd.depth_shift = q->rx.shift;
	cmd.comp_off = cpu_to_le32((void *)q->rx.comp - q->rx.mem.va);
	ornic_qbuf_describe(&q->rx.mem, &cmd.mem);
	rc = ornic_cmd_exec(&od->core, &cmd, NULL);
	if (rc)
		ornic_cmd_number(od, ORNIC_CMD_DESTROY_TXQ, q->index, NULL);
	return rc;
}

/**
 * ornic_queue_destroy() - have the device forget a ring pair
 * @q: pair; its NAPI is off
 *
 * A device that cannot answer is quiet, so the memory may be freed in any case.
 *
 * Context: Process context, sleeps.
 */
void ornic_queue_destroy(struct ornic_queue *q)
{
	ornic_cmd_number(q->net->od, ORNIC_CMD_DESTROY_RXQ, q->index, NULL);
	ornic_cmd_number(q->net->od, ORNIC_CMD_DESTROY_TXQ, q->index, NULL);
}

/**
 * ornic_queue_kick() - give a new ring pair its buffers and arm it
 * @q: pair that the device knows; its NAPI is on and not scheduled
 *
 * Context: Process context.
 */
void ornic_queue_kick(struct ornic_queue *q)
{
	local_bh_disable();
	ornic_rx_refill(q);
	ornic_queue_arm(q, true);
	local_bh_enable();
}

/**
 * ornic_queue_stuck() - is there work that the device should have interrupted for?
 * @q: pair
 *
 * True when the same completion was waiting at the last look as well, or when memory was too short
 * to refill the receive ring.
 *
 * Context: Process context, RTNL held so that the rings exist.
 */
bool ornic_queue_stuck(struct ornic_queue *q)
{
	struct ornic_rxq *rx = &q->rx;
	struct ornic_txq *tx = &q->tx;
	u32 ci = READ_ONCE(rx->ci);
	bool stuck, waits;
	u32 flags;

	flags = le32_to_cpu(READ_ONCE(rx->comp[ci & (BIT(rx->shift) - 1)].flags));
	waits = !!(flags & ORNIC_RXF_PHASE) == ornic_phase(ci, rx->shift);
	stuck = waits && rx->watch_ci == ci;
	rx->watch_ci = waits ? ci : ci - 1;

	ci = READ_ONCE(tx->ci);
	waits = le32_to_cpu(READ_ONCE(tx->rec->dev_ci)) != ci;
	stuck |= waits && tx->watch_ci == ci;
	tx->watch_ci = waits ? ci : ci - 1;
	if (stuck)
		ornic_rx_count(q, &q->stats.lost_irqs);
	return stuck || READ_ONCE(rx->pi) == READ_ONCE(rx->ci);
}
