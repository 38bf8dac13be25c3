/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* OpenRNIC hardware contract: Ethernet rings. */
#ifndef _ORNIC_ETH_H
#define _ORNIC_ETH_H

#include "types.h"

/**
 * struct ornic_tx_desc - transmit descriptor; a frame is one or more, the last with EOP
 * @addr: DMA address of a piece of the frame
 * @len: bytes, 1..65535
 * @flags: ORNIC_TXF_*; all but EOP are looked at in the first descriptor of a frame only
 * @vlan_tci: with ORNIC_TXF_VLAN
 * @csum_start: with ORNIC_TXF_CSUM: offset in the frame where the checksum starts
 * @csum_off: offset of the checksum field from @csum_start
 * @mss: with ORNIC_TXF_TSO4/6: payload per segment
 * @hdr_len: with ORNIC_TXF_TSO4/6: bytes of the headers that each segment repeats
 * @mbz: must be zero
 *
 * The record's dev_ci is the number of descriptors done. A malformed frame is dropped, counted
 * and done.
 */
struct ornic_tx_desc {
	__le64 addr;
	__le32 len;
	__le16 flags;
	__le16 vlan_tci;
	__le16 csum_start;
	__le16 csum_off;
	__le16 mss;
	__le16 hdr_len;
	__le64 mbz;
};

ORNIC_ASSERT_SIZE(struct ornic_tx_desc, 32);

#define ORNIC_TXF_EOP		BIT(0)
#define ORNIC_TXF_CSUM		BIT(1)
#define ORNIC_TXF_TSO4		BIT(2)	/* TCP over IPv4; needs CSUM */
#define ORNIC_TXF_TSO6		BIT(3)	/* TCP over IPv6; needs CSUM */
#define ORNIC_TXF_VLAN		BIT(4)

#define ORNIC_TX_MAX_DESC	32	/* descriptors of one frame */
/* bytes of one frame before segmentation: 64 KiB + header slack */
#define ORNIC_TX_MAX_FRAME	65550

/**
 * struct ornic_rx_desc - receive buffer
 * @addr: DMA address
 * @len: bytes, 256..65536
 * @mbz: must be zero
 */
struct ornic_rx_desc {
	__le64 addr;
	__le32 len;
	__le32 mbz;
};

ORNIC_ASSERT_SIZE(struct ornic_rx_desc, 16);

/**
 * struct ornic_rx_comp - receive completion: one per buffer used, in order of the buffers
 * @len: bytes in this buffer
 * @frame_len: bytes of the whole frame
 * @vlan_tci: with ORNIC_RXF_VLAN: the stripped tag
 * @csum: with ORNIC_RXF_CSUM_COMPLETE: reserved, zero
 * @hash: with ORNIC_RXF_HASH: RSS hash
 * @gso_size: not zero: a coalesced TCP frame, payload per segment
 * @rsvd: zero
 * @flags: ORNIC_RXF_*; phase as in struct ornic_cqe
 */
struct ornic_rx_comp {
	__le32 len;
	__le32 frame_len;
	__le16 vlan_tci;
	__le16 csum;
	__le32 hash;
	__le16 gso_size;
	__le16 rsvd;
	__le32 rsvd1[2];
	__le32 flags;
};

ORNIC_ASSERT_SIZE(struct ornic_rx_comp, 32);

#define ORNIC_RXF_PHASE		BIT(0)
#define ORNIC_RXF_EOP		BIT(1)	/* last buffer of the frame */
#define ORNIC_RXF_CSUM_OK	BIT(2)	/* L3 and L4 checksums were verified */
#define ORNIC_RXF_VLAN		BIT(3)
#define ORNIC_RXF_HASH		BIT(4)
#define ORNIC_RXF_ERROR		BIT(5)	/* the buffer could not be written; discard the frame */

#endif /* _ORNIC_ETH_H */
