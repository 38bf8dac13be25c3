/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* OpenRNIC core driver: the Ethernet port. */
#ifndef _ORNIC_NET_H
#define _ORNIC_NET_H

#include <linux/netdevice.h>
#include <linux/u64_stats_sync.h>

#include "core.h"

#define ORNIC_ETH_DEFAULT_SHIFT	9
#define ORNIC_ETH_MIN_SHIFT	7	/* more than twice ORNIC_TX_ROOM, or no queue would wake */
#define ORNIC_TX_ROOM		(ORNIC_TX_MAX_DESC + 1)	/* fewer free descriptors stop the queue */
#define ORNIC_RX_COPY		256	/* bytes of a frame that go into the skb's head */

/**
 * struct ornic_tx_buf - one transmit descriptor's memory
 * @skb: in the descriptor with EOP, else NULL
 * @dma: mapping
 * @len: of the mapping
 * @page: mapped by skb_frag_dma_map()
 */
struct ornic_tx_buf {
	struct sk_buff *skb;
	dma_addr_t dma;
	u32 len;
	bool page;
};

/**
 * struct ornic_txq - transmit ring
 * @mem: record, then descriptors
 * @rec: record
 * @desc: descriptors
 * @buf: what they map
 * @shift: log2 of the depth
 * @pi: free-running producer index
 * @ci: reclaimed
 * @arm_ci: @ci that the last arm carried
 * @rung: @pi that the device was told last
 * @watch_ci: @ci when the watchdog looked last
 */
struct ornic_txq {
	struct ornic_qbuf mem;
	struct ornic_queue_rec *rec;
	struct ornic_tx_desc *desc;
	struct ornic_tx_buf *buf;
	u8 shift;
	u32 pi;
	u32 ci;
	u32 arm_ci;
	u32 rung;
	u32 watch_ci;
};

/**
 * struct ornic_rxq - receive ring
 * @mem: record, descriptors, completions
 * @rec: record
 * @desc: descriptors
 * @comp: completions
 * @page: the buffers
 * @pool: where they come from
 * @shift: log2 of the depth
 * @pi: free-running producer index of buffers
 * @ci: free-running consumer index of completions
 * @watch_ci: @ci when the watchdog looked last
 * @skb: frame of which some buffers have come
 * @skip: the rest of the frame is dropped
 */
struct ornic_rxq {
	struct ornic_qbuf mem;
	struct ornic_queue_rec *rec;
	struct ornic_rx_desc *desc;
	struct ornic_rx_comp *comp;
	struct page **page;
	struct page_pool *pool;
	u8 shift;
	u32 pi;
	u32 ci;
	u32 watch_ci;
	struct sk_buff *skb;
	bool skip;
};

/**
 * struct ornic_queue_stats - counters of a ring pair
 * @tx_packets: frames given to the device
 * @tx_bytes: their bytes
 * @tx_dropped: frames that could not be mapped
 * @rx_packets: frames given to the stack
 * @rx_bytes: their bytes
 * @rx_dropped: frames dropped for want of memory
 * @rx_errors: frames that the device marked bad
 * @lost_irqs: times that the watchdog found work without an interrupt
 */
struct ornic_queue_stats {
	u64_stats_t tx_packets;
	u64_stats_t tx_bytes;
	u64_stats_t tx_dropped;
	u64_stats_t rx_packets;
	u64_stats_t rx_bytes;
	u64_stats_t rx_dropped;
	u64_stats_t rx_errors;
	u64_stats_t lost_irqs;
};

/**
 * struct ornic_queue - a ring pair with its NAPI
 * @net: the port
 * @index: ring number, of both rings
 * @napi: NAPI
 * @tx: transmit ring
 * @rx: receive ring
 * @tx_sync: of the tx counters
 * @rx_sync: of the others
 * @stats: counters
 */
struct ornic_queue {
	struct ornic_net *net;
	u32 index;
	struct napi_struct napi;
	struct ornic_txq tx;
	struct ornic_rxq rx;
	struct u64_stats_sync tx_sync;
	struct u64_stats_sync rx_sync;
	struct ornic_queue_stats stats;
};

/**
 * struct ornic_net - the port, private part of its net_device
 * @od: the function
 * @netdev: network device
 * @num_queues: ring pairs
 * @tx_shift: log2 of the transmit depth
 * @rx_shift: log2 of the receive depth
 * @started: rings exist; under RTNL
 * @registered: register_netdev() was done
 * @rx_mode_work: SET_RX_MODE out of the atomic ndo_set_rx_mode
 * @hw: the device's Ethernet counters at the watchdog's last look
 * @queue: ring pairs
 */
struct ornic_net {
	struct ornic_dev *od;
	struct net_device *netdev;
	u32 num_queues;
	u8 tx_shift;
	u8 rx_shift;
	bool started;
	bool registered;
	struct work_struct rx_mode_work;
	u64 hw[ORNIC_STAT_WIRE_TX_FRAMES];
	struct ornic_queue queue[ORNIC_MAX_ETH_QUEUES];
};

static inline u32 ornic_tx_free(const struct ornic_txq *tx)
{
	return BIT(tx->shift) - (READ_ONCE(tx->pi) - READ_ONCE(tx->ci));
}

/* netdev.c */
int ornic_net_start(struct ornic_net *net);
void ornic_net_stop(struct ornic_net *net);

/* txrx.c */
int ornic_queue_alloc(struct ornic_queue *q);
void ornic_queue_free(struct ornic_queue *q);
int ornic_queue_create(struct ornic_queue *q);
void ornic_queue_destroy(struct ornic_queue *q);
void ornic_queue_kick(struct ornic_queue *q);
int ornic_queue_poll(struct napi_struct *napi, int budget);
netdev_tx_t ornic_xmit(struct sk_buff *skb, struct net_device *netdev);
bool ornic_queue_stuck(struct ornic_queue *q);

#endif /* _ORNIC_NET_H */
