/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of nic/. */
#ifndef RNICD_NIC_NIC_PRIV_H
#define RNICD_NIC_NIC_PRIV_H

#include "hw/qmem.h"
#include "nic/nic.h"

#define ETH_HLEN      14
#define ETH_VLAN_HLEN 4
#define ETH_P_VLAN    0x8100

/**
 * struct eth_ring - a TX or RX ring
 * @shift: log2 of the depth
 * @vector: MSI-X vector
 * @armed: the next completion interrupts
 * @seen: completions that the host had taken at the last arm
 * @pi: descriptors posted, as far as the device knows
 * @ci: descriptors used; for an RX ring also completions written
 * @told: TX: @ci as last stored in the record
 * @mem: queue buffer, with the offsets below
 */
struct eth_ring {
	u32 number;
	u8 shift;
	bool armed;
	u16 vector;
	u32 seen;
	u32 pi;
	u32 ci;
	u32 told;
	struct qmem mem;
	u32 ring_off;
	u32 comp_off;
	u32 rec_off;
};

/**
 * struct nic - Ethernet port
 * @dev: whose it is
 * @tx_blocked: the wire is full; transmission goes on when it is writable
 * @mode: ORNIC_RXM_*
 * @mc: addresses that pass the filter, 6 bytes in the low end of each
 * @held: frames that a fault holds back, in the order of their time
 * @held_timer: the first one's
 * @buf: one frame, for what cannot be done in place
 */
struct nic {
	struct rnic *dev;
	struct eth_ring *txq[RNIC_MAX_TXQ];
	struct eth_ring *rxq[RNIC_MAX_RXQ];
	bool tx_blocked;
	u32 mode;
	u32 nmc;
	u64 mc[RNIC_MAX_MC];
	struct list_head held;
	u32 nheld;
	struct loop_timer held_timer;
	u8 buf[WIRE_GSO_MAX_FRAME + 64];
};

/* Interrupt if the ring is armed and has completions that the host has not seen. */
void eth_fire(struct rnic *dev, struct eth_ring *r);
/* The record's producer index, checked; the doorbell's rule. False: nonsense. */
bool eth_set_pi(struct eth_ring *r, u32 pi);

bool nic_tx_run(struct rnic *dev, struct eth_ring *r);
void nic_rx(void *priv, u8 *frame, size_t len, const struct wire_meta *meta);
/* The same behind the faults. */
void nic_rx_frame(struct rnic *dev, u8 *frame, size_t len, const struct wire_meta *meta);
void nic_rx_done(void *priv);

/* ---- fault.c ---- */

void nic_fault_init(struct rnic *dev);
/* Frames that are held back are lost. */
void nic_fault_drop(struct rnic *dev);
void nic_fault_rx(struct rnic *dev, u8 *frame, size_t len, const struct wire_meta *meta);

/* Must frames pass nic_fault_rx()? One that waits to be overtaken is a reason, too. */
static inline bool nic_fault_on(const struct rnic *dev)
{
	const struct rx_faults *f = &dev->rx_faults;

	return f->loss || f->corrupt || f->reorder || f->delay || dev->nic->nheld;
}

#endif /* RNICD_NIC_NIC_PRIV_H */
