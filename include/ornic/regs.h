/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * OpenRNIC hardware contract: PCI identity, registers (BAR 0) and doorbells (BAR 2).
 * Documentation/hardware.rst explains every rule; this file is the layout.
 */
#ifndef _ORNIC_REGS_H
#define _ORNIC_REGS_H

#include "types.h"

/* PCI identity. The vendor number is the unregistered one that QEMU's edu device uses. */
#define ORNIC_PCI_VENDOR_ID	0x1234
#define ORNIC_PCI_DEVICE_ID	0x0e57
#define ORNIC_PCI_CLASS		0x020000	/* Ethernet controller */
#define ORNIC_PCI_REVISION	0x01

#define ORNIC_BAR_REGS		0
#define ORNIC_BAR_DB		2
#define ORNIC_BAR_MSIX		4
#define ORNIC_BAR_REGS_SIZE	0x4000
#define ORNIC_BAR_MSIX_SIZE	0x4000
#define ORNIC_MSIX_TABLE_OFF	0x0000
#define ORNIC_MSIX_PBA_OFF	0x2000
#define ORNIC_MAX_VECTORS	64

/*
 * Registers. 32 bits each, accessed by aligned 32-bit loads and stores; the *_LO/_HI pairs may
 * also be
 * accessed by one aligned 64-bit access. Anything else reads all-ones and writes nothing.
 * RO: a write is ignored. All offsets not named here read 0 and ignore writes.
 */
#define ORNIC_REG_MAGIC		0x0000	/* RO: ORNIC_MAGIC */
#define ORNIC_MAGIC		0x434e524f	/* "ORNC" */

#define ORNIC_REG_IFVER		0x0004	/* RO: interface version that the device speaks */
#define ORNIC_IFVER_MAJOR	GENMASK(31, 16)	/* must be equal */
#define ORNIC_IFVER_MINOR	GENMASK(15, 0)	/* device's >= driver's */
#define ORNIC_IFVER_MAJOR_NOW	1
#define ORNIC_IFVER_MINOR_NOW	0

#define ORNIC_REG_FWVER		0x0008	/* RO: implementation version, for people */
#define ORNIC_FWVER_MAJOR	GENMASK(31, 24)
#define ORNIC_FWVER_MINOR	GENMASK(23, 12)
#define ORNIC_FWVER_PATCH	GENMASK(11, 0)

#define ORNIC_REG_STATUS	0x000c	/* RO; all-ones: the device is gone */
#define ORNIC_STATUS_READY	BIT(0)	/* CONTROL.ENABLE took effect, commands are executed */
#define ORNIC_STATUS_LINK	BIT(1)	/* Ethernet link is up */
#define ORNIC_STATUS_FATAL	BIT(2)	/* the device stopped; only a reset helps; see FATAL */
#define ORNIC_STATUS_CFG_ERR	BIT(3)	/* ENABLE refused: command queue registers are bad */

#define ORNIC_REG_CONTROL	0x0010	/* RW, 0 after reset */
#define ORNIC_CONTROL_ENABLE	BIT(0)	/* 0->1: start the command queue; 1->0: same as RESET */
/* self-clearing: back to the state after FLR, PCI config kept */
#define ORNIC_CONTROL_RESET	BIT(1)
#define ORNIC_CONTROL_REASON	GENMASK(15, 8)	/* with RESET: enum ornic_reset_reason */

#define ORNIC_REG_FATAL		0x0014	/* RO: enum ornic_fatal, valid with STATUS.FATAL */
#define ORNIC_REG_CAPS_LO	0x0018	/* RO: ORNIC_CAP_*, bits 31:0 */
#define ORNIC_REG_CAPS_HI	0x001c	/* RO: ORNIC_CAP_*, bits 63:32 */
#define ORNIC_REG_MAC_LO	0x0020	/* RO: permanent MAC, bytes 0-3, byte 0 in bits 7:0 */
#define ORNIC_REG_MAC_HI	0x0024	/* RO: bytes 4-5 in bits 15:0 */

#define ORNIC_REG_DB_INFO	0x0028	/* RO */
#define ORNIC_DB_INFO_STRIDE	GENMASK(7, 0)	/* log2 of the page stride in bytes, 12..16 */
#define ORNIC_DB_INFO_PAGES	GENMASK(31, 8)	/* number of doorbell pages, page 0 included */

#define ORNIC_REG_VECTORS	0x002c	/* RO: number of MSI-X vectors */

/* Command queue; may be written only while CONTROL.ENABLE is 0, ignored otherwise. */
#define ORNIC_REG_CMDQ_SQ_LO	0x0030	/* RW: DMA address of the submission ring, 4 KiB aligned */
#define ORNIC_REG_CMDQ_SQ_HI	0x0034
#define ORNIC_REG_CMDQ_CQ_LO	0x0038	/* RW: DMA address of the completion ring, 4 KiB aligned */
#define ORNIC_REG_CMDQ_CQ_HI	0x003c
#define ORNIC_REG_CMDQ_CFG	0x0040	/* RW */
#define ORNIC_CMDQ_CFG_DEPTH	GENMASK(7, 0)	/* log2 of the depth of both rings, 4..8 */
#define ORNIC_CMDQ_CFG_VECTOR	GENMASK(23, 8)	/* MSI-X vector of command completions */

#define ORNIC_REG_CMDQ_TAIL	0x0044	/* WO (reads 0): free-running submission index */

/* Doorbell statistics that are cheap to read when hunting a driver fault. */
#define ORNIC_REG_DB_REFUSED	0x0048	/* RO: doorbells refused since reset, wraps */
#define ORNIC_REG_HEARTBEAT	0x004c	/* RO: counts event-loop turns, wraps */

enum ornic_reset_reason {
	ORNIC_RESET_NORMAL = 0,		/* probe, remove, suspend, shutdown */
	ORNIC_RESET_CMD_TIMEOUT = 1,	/* the driver waited in vain for a command */
	ORNIC_RESET_FATAL = 2,		/* recovery after STATUS.FATAL */
	ORNIC_RESET_USER = 3,		/* devlink reload or ethtool --reset */
};

enum ornic_fatal {
	ORNIC_FATAL_NONE = 0,
	ORNIC_FATAL_DMA = 1,		/* command queue or EQ memory cannot be reached */
	ORNIC_FATAL_CMDQ = 2,		/* CMDQ_TAIL ran past the ring */
	ORNIC_FATAL_INJECTED = 3,	/* asked for on the control socket */
	ORNIC_FATAL_INTERNAL = 4,
};

/* Capabilities (CAPS register and struct ornic_device_attr.caps). */
#define ORNIC_CAP_AWAKE		BIT_ULL(0)	/* the awake flag of queue records is maintained */
#define ORNIC_CAP_IPV6		BIT_ULL(1)	/* TCP engine and offloads do IPv6 */
#define ORNIC_CAP_MARKERS	BIT_ULL(2)	/* MPA markers, either direction */
#define ORNIC_CAP_SRQ		BIT_ULL(3)
#define ORNIC_CAP_MW		BIT_ULL(4)	/* memory windows, types 1 and 2B */
#define ORNIC_CAP_ATOMIC	BIT_ULL(5)	/* RFC 7306 atomic operations */
#define ORNIC_CAP_IMM		BIT_ULL(6)	/* RFC 7306 immediate data */
#define ORNIC_CAP_RESIZE_CQ	BIT_ULL(7)
#define ORNIC_CAP_CQ_MODERATION	BIT_ULL(8)
#define ORNIC_CAP_ARM_REC	BIT_ULL(9)	/* CQs, completion EQs: records arm them */
#define ORNIC_CAP_TX_CSUM	BIT_ULL(16)
#define ORNIC_CAP_RX_CSUM	BIT_ULL(17)
#define ORNIC_CAP_TSO		BIT_ULL(18)
#define ORNIC_CAP_VLAN		BIT_ULL(19)	/* VLAN tag insertion and stripping */
#define ORNIC_CAP_RSS		BIT_ULL(20)

/*
 * Doorbells. Each page holds the same set; one aligned 64-bit store each. Reads give 0. Any other
 * access is ignored and counted in
 * DB_REFUSED, as is a doorbell for an object that does not exist or that names another page as
 * its owner.
 * EQ and ETH doorbells exist in page 0 only.
 */
#define ORNIC_DB_SQ		0x00	/* QP number, send producer index */
#define ORNIC_DB_RQ		0x08	/* QP number, receive producer index */
#define ORNIC_DB_SRQ		0x10	/* SRQ number, producer index */
#define ORNIC_DB_CQ_ARM		0x18	/* CQ number, flags, consumer index */
#define ORNIC_DB_EQ_ARM		0x20	/* EQ number, ARM flag, consumer index */
#define ORNIC_DB_ETH_TX		0x28	/* TX ring number, producer index */
#define ORNIC_DB_ETH_RX		0x30	/* RX ring number, producer index */
/* ring number, ARM and TX flags, completion consumer index */
#define ORNIC_DB_ETH_ARM	0x38

#define ORNIC_DB_NUMBER		GENMASK_ULL(23, 0)
#define ORNIC_DB_FLAG_ARM	BIT_ULL(24)	/* EQ_ARM, ETH_ARM: interrupt once more */
#define ORNIC_DB_FLAG_TX	BIT_ULL(25)	/* ETH_ARM: the number is a TX ring's */
/* CQ_ARM: only a solicited or failed completion fires */
#define ORNIC_DB_FLAG_SOLICITED	BIT_ULL(24)
#define ORNIC_DB_ARM_SEQ	GENMASK_ULL(26, 25)	/* CQ_ARM: events taken so far, modulo 4 */
/* 31:27 and each flag that the doorbell does not define: must be zero, else refused. */
#define ORNIC_DB_INDEX		GENMASK_ULL(63, 32)	/* free-running index */
/* Only in the arm word of a CQ's record, which is else as CQ_ARM: the host has armed the CQ. */
#define ORNIC_ARM_VALID		BIT_ULL(27)

/**
 * struct ornic_queue_rec - record of one queue, in host memory inside the queue's buffer,
 * 128-byte aligned
 * @pi: producer index of a queue that the host produces (SQ; TX, RX and SRQ), free running
 * @rq_pi: QP only: producer index of the receive queue
 * @ci: consumer index of a queue that the host consumes (CQ, EQ, RX completions), free running
 * @host_mbz: written by the host only, zero
 * @arm: CQ, with ORNIC_CAP_ARM_REC: the newest arm, as in CQ_ARM, with ORNIC_ARM_VALID; 0: none yet
 * @host_mbz2: written by the host only, zero
 * @dev_ci: consumer index of a queue that the device consumes, written by the device for
 *   information
 *          (TX ring: completed descriptors; the driver reclaims by it)
 * @awake: with ORNIC_CAP_AWAKE: not zero while the device will look at @pi again by itself
 * @rq_awake: QP only: the same for @rq_pi. Receives are looked at when a Send comes, so this is
 *   zero in ERROR alone
 * @dev_rsvd: written by the device only
 *
 * The first 64 bytes belong to the host, the last 64 to the device.
 *
 * Host, to post: write WQEs; dma_wmb(); store @pi; full store-load barrier; load @awake; zero:
 * ring the doorbell.
 * Device, before it stops looking: store @awake = 0; full store-load barrier; load @pi; changed:
 * go on.
 *
 * Host, to arm a CQ (an EQ): store @arm (@ci); full store-load barrier; look for an entry at the
 * consumer index; there is one: ring (EQ: take it).
 * Device, when it has written an entry: full store-load barrier; load @arm (@ci).
 */
struct ornic_queue_rec {
	__le32 pi;
	__le32 rq_pi;
	__le32 ci;
	__le32 host_mbz;
	__le64 arm;
	__le32 host_mbz2[10];
	__le32 dev_ci;
	__le32 awake;
	__le32 rq_awake;
	__le32 dev_rsvd[13];
};

ORNIC_ASSERT_SIZE(struct ornic_queue_rec, 128);
ORNIC_ASSERT_OFFSET(struct ornic_queue_rec, arm, 16);
ORNIC_ASSERT_OFFSET(struct ornic_queue_rec, dev_ci, 64);
#define ORNIC_QUEUE_REC_ALIGN	128

/**
 * struct ornic_qmem - memory of a queue or an MR, as a list of equal pages
 * @addr: level 0: DMA address of @npages contiguous pages. Level 1: DMA address of an array of
 *   @npages __le64 page
 *        addresses, contiguous. Level 2: DMA address of an array of __le64 addresses of 4 KiB
 *        blocks, each with
 *        512 page addresses, together @npages.
 * @npages: number of pages, 1..2^24
 * @page_shift: log2 of the page size, 12..40
 * @levels: 0, 1 or 2
 * @mbz: must be zero
 *
 * @addr is 8-byte aligned for levels 1 and 2 (the 4 KiB blocks are 4 KiB aligned); page addresses
 *   are multiples of the page size.
 * The device may read the lists only before it answers the command: they may be freed afterwards.
 */
struct ornic_qmem {
	__le64 addr;
	__le32 npages;
	__u8 page_shift;
	__u8 levels;
	__u8 mbz[2];
};

ORNIC_ASSERT_SIZE(struct ornic_qmem, 16);

#endif /* _ORNIC_REGS_H */
