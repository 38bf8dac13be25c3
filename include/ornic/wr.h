/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * OpenRNIC hardware contract: work requests and completions.
 *
 * A send queue is an array of 2^n WQEs of one stride, 64..512 bytes; a receive queue or SRQ of
 * one stride, 32..512
 * bytes. WQE number i (free running) stands at i mod depth. What a WQE does not use of its stride
 * is not read.
 */
#ifndef _ORNIC_WR_H
#define _ORNIC_WR_H

#include "types.h"

#define ORNIC_SQ_STRIDE_MIN_SHIFT	6
#define ORNIC_SQ_STRIDE_MAX_SHIFT	9
#define ORNIC_RQ_STRIDE_MIN_SHIFT	5
#define ORNIC_RQ_STRIDE_MAX_SHIFT	9

enum ornic_wr_opcode {
	ORNIC_WR_NOP = 0x00,		/* completes in order, moves nothing */
	/* with flags SOLICITED, INVALIDATE: the four Sends of RFC 5040 4.3 */
	ORNIC_WR_SEND = 0x01,
	ORNIC_WR_WRITE = 0x02,
	/* with INVALIDATE: the sink STag is invalidated when placed */
	ORNIC_WR_READ = 0x03,
	ORNIC_WR_SEND_IMM = 0x04,	/* CAP_IMM: Send, then RFC 7306 Immediate Data */
	ORNIC_WR_WRITE_IMM = 0x05,	/* CAP_IMM: Write, then RFC 7306 Immediate Data */
	ORNIC_WR_FETCH_ADD = 0x06,	/* CAP_ATOMIC */
	ORNIC_WR_CMP_SWAP = 0x07,	/* CAP_ATOMIC */
	ORNIC_WR_SWAP = 0x08,		/* CAP_ATOMIC */
	ORNIC_WR_LOCAL_INV = 0x10,
	ORNIC_WR_REG_MR = 0x11,
	ORNIC_WR_BIND_MW = 0x12,	/* CAP_MW */
};

/* struct ornic_sq_hdr.flags */
#define ORNIC_WRF_SIGNALED	BIT(0)	/* a success writes a CQE */
/* waits for all earlier Reads and atomics of this QP (RFC 5040 5.5) */
#define ORNIC_WRF_FENCE		BIT(1)
#define ORNIC_WRF_SOLICITED	BIT(2)	/* Send with Solicited Event; WRITE_IMM likewise */
/* payload of length bytes follows instead of SGEs; SEND, WRITE, *_IMM */
#define ORNIC_WRF_INLINE	BIT(3)
#define ORNIC_WRF_INVALIDATE	BIT(4)	/* SEND: remote STag in imm_stag; READ: the sink's STag */
#define ORNIC_WRF_LOCAL_FENCE	BIT(5)	/* REG_MR, LOCAL_INV, BIND_MW: waits for all earlier WRs */

/**
 * struct ornic_sge - one local buffer
 * @addr: address in the MR's own address space (iova); DMA address with the local DMA STag
 * @length: bytes, 0..2^31; an SGE of 0 bytes is skipped without a look at its STag
 * @stag: STag
 */
struct ornic_sge {
	__le64 addr;
	__le32 length;
	__le32 stag;
};

ORNIC_ASSERT_SIZE(struct ornic_sge, 16);

/* STag that names all memory the device can reach; valid on privileged QPs' local SGEs only. */
#define ORNIC_STAG_LOCAL_DMA	0x00000000
#define ORNIC_STAG_INDEX	GENMASK(31, 8)	/* 1..max_mr - 1 */
#define ORNIC_STAG_KEY		GENMASK(7, 0)

/**
 * struct ornic_sq_hdr - first 16 bytes of every send WQE
 * @opcode: enum ornic_wr_opcode
 * @flags: ORNIC_WRF_*
 * @num_sge: number of SGEs; 0 with INLINE. READ and atomics: exactly 1 (READ of 0 bytes: 0 or 1)
 * @mbz: must be zero
 * @length: INLINE: bytes of payload. Else must be zero
 * @imm_stag: SEND with INVALIDATE, LOCAL_INV: STag to invalidate
 * @wqe_index: low 32 bits of the free-running index of this WQE; a mismatch is a local QP error
 *   (a doorbell
 *             ran ahead of the WQE)
 */
struct ornic_sq_hdr {
	__u8 opcode;
	__u8 flags;
	__u8 num_sge;
	__u8 mbz;
	__le32 length;
	__le32 imm_stag;
	__le32 wqe_index;
};

ORNIC_ASSERT_SIZE(struct ornic_sq_hdr, 16);

/**
 * struct ornic_sq_wqe_msg - SEND, WRITE, READ, SEND_IMM, WRITE_IMM, NOP
 * @hdr: header
 * @remote_addr: WRITE, READ: tagged offset at the peer (iova of its MR)
 * @remote_stag: WRITE, READ: STag of the peer
 * @imm: SEND_IMM, WRITE_IMM: immediate data; else must be zero
 * @remote: SEND, NOP: the 16 bytes must be zero
 * @sge: SGEs; or, with INLINE, the payload starts here (offset 32)
 */
struct ornic_sq_wqe_msg {
	struct ornic_sq_hdr hdr;
	union {
		struct {
			__le64 remote_addr;
			__le32 remote_stag;
			__le32 imm;
		};
		__u8 remote[16];
	};
	struct ornic_sge sge[];
};

ORNIC_ASSERT_SIZE(struct ornic_sq_wqe_msg, 32);
#define ORNIC_SQ_DATA_OFF	32	/* of the SGEs or the inline payload */

/**
 * struct ornic_sq_wqe_atomic - FETCH_ADD, CMP_SWAP, SWAP (RFC 7306 5); needs a stride of 128 or
 * more
 * @hdr: header, num_sge 1
 * @remote_addr: tagged offset, multiple of 8
 * @remote_stag: STag of the peer
 * @mbz: must be zero
 * @data: add value or swap value
 * @data_mask: mask of @data
 * @compare: compare value (CMP_SWAP)
 * @compare_mask: mask of @compare
 * @sge: where the 8 bytes of the original value go
 */
struct ornic_sq_wqe_atomic {
	struct ornic_sq_hdr hdr;
	__le64 remote_addr;
	__le32 remote_stag;
	__le32 mbz;
	__le64 data;
	__le64 data_mask;
	__le64 compare;
	__le64 compare_mask;
	struct ornic_sge sge;
};

ORNIC_ASSERT_SIZE(struct ornic_sq_wqe_atomic, 80);

/**
 * struct ornic_sq_wqe_reg - REG_MR: make a fast-register MR valid
 * @hdr: header
 * @iova: address of the first byte in the MR's address space
 * @length: bytes, 0..2^40; 0 is an empty region
 * @pbl_addr: DMA address of @npages __le64 page addresses, contiguous, read before the completion
 * @stag: STag, with the key that it shall have from now on
 * @npages: 0..the maximum given to ALLOC_MR
 * @offset: byte offset of @iova in the first page
 * @access: ORNIC_ACC_*
 * @page_shift: log2 of the page size, 12..31
 * @mbz: must be zero
 */
struct ornic_sq_wqe_reg {
	struct ornic_sq_hdr hdr;
	__le64 iova;
	__le64 length;
	__le64 pbl_addr;
	__le32 stag;
	__le32 npages;
	__le32 offset;
	__le16 access;
	__u8 page_shift;
	__u8 mbz[5];
};

ORNIC_ASSERT_SIZE(struct ornic_sq_wqe_reg, 64);
ORNIC_ASSERT_OFFSET(struct ornic_sq_wqe_reg, stag, 40);

/**
 * struct ornic_sq_wqe_bind - BIND_MW (CAP_MW)
 * @hdr: header
 * @iova: first byte of the window, in the MR's address space
 * @length: bytes; 0 unbinds a type 1 window
 * @mr_stag: MR that the window lies in; needs ORNIC_ACC_MW_BIND
 * @mw_stag: STag of the window, with the key that it shall have from now on
 * @access: ORNIC_ACC_REMOTE_*, ORNIC_ACC_ZERO_BASED
 * @mbz: must be zero
 */
struct ornic_sq_wqe_bind {
	struct ornic_sq_hdr hdr;
	__le64 iova;
	__le64 length;
	__le32 mr_stag;
	__le32 mw_stag;
	__le16 access;
	__u8 mbz[22];
};

ORNIC_ASSERT_SIZE(struct ornic_sq_wqe_bind, 64);

/* Access rights of MRs, windows and QPs. Local read is always allowed. */
#define ORNIC_ACC_LOCAL_WRITE	BIT(0)
#define ORNIC_ACC_REMOTE_WRITE	BIT(1)
#define ORNIC_ACC_REMOTE_READ	BIT(2)
#define ORNIC_ACC_REMOTE_ATOMIC	BIT(3)
#define ORNIC_ACC_MW_BIND	BIT(4)
#define ORNIC_ACC_ZERO_BASED	BIT(5)
#define ORNIC_ACC_ALL		GENMASK(5, 0)

/**
 * struct ornic_rq_wqe - receive WQE of an RQ or SRQ
 * @num_sge: number of SGEs
 * @mbz: must be zero
 * @wqe_index: low 32 bits of the free-running index, as in struct ornic_sq_hdr
 * @rsvd: must be zero
 * @sge: buffers; need local write access
 */
struct ornic_rq_wqe {
	__u8 num_sge;
	__u8 mbz[3];
	__le32 wqe_index;
	__le64 rsvd;
	struct ornic_sge sge[];
};

ORNIC_ASSERT_SIZE(struct ornic_rq_wqe, 16);

/**
 * struct ornic_cqe - completion
 * @qpn: QP number, bits 23:0
 * @wqe_index: free-running index of the WQE in its SQ, RQ or SRQ. A CQE of a send WQE also
 *   completes all earlier
 *             unsignalled ones
 * @byte_len: receive: bytes placed; READ: bytes; else 0
 * @inv_stag: receive with ORNIC_CQE_WITH_INV: the STag that the peer invalidated
 * @imm: receive with ORNIC_CQE_WITH_IMM: immediate data
 * @opcode: enum ornic_wr_opcode of a send WQE; ORNIC_CQE_RECV for a receive
 * @status: enum ornic_cqe_status
 * @syndrome: more about a failure, enum ornic_syndrome
 * @flags: ORNIC_CQE_*; the device stores this word last
 *
 * CQE i stands at i mod depth; it is valid when PHASE == !((i >> log2 depth) & 1). The host
 * clears the ring before CREATE_CQ.
 */
struct ornic_cqe {
	__le32 qpn;
	__le32 wqe_index;
	__le32 byte_len;
	__le32 inv_stag;
	__le64 imm;
	__u8 opcode;
	__u8 status;
	__le16 syndrome;
	__le32 flags;
};

ORNIC_ASSERT_SIZE(struct ornic_cqe, 32);
ORNIC_ASSERT_OFFSET(struct ornic_cqe, flags, 28);

#define ORNIC_CQE_PHASE		BIT(0)
#define ORNIC_CQE_SRQ		BIT(1)	/* wqe_index counts in the QP's SRQ */
#define ORNIC_CQE_SOLICITED	BIT(2)
#define ORNIC_CQE_WITH_INV	BIT(3)
#define ORNIC_CQE_WITH_IMM	BIT(4)

#define ORNIC_CQE_RECV		0x80

enum ornic_cqe_status {
	ORNIC_CQE_OK = 0,
	ORNIC_CQE_FLUSHED = 1,		/* QP in ERROR: the WR was not executed */
	ORNIC_CQE_LOC_LEN = 2,		/* local length: RQ buffer too small; over 2^31 bytes */
	ORNIC_CQE_LOC_QP_OP = 3,	/* malformed WQE: opcode, flags, SGE count, mbz, index */
	ORNIC_CQE_LOC_PROT = 4,		/* local STag: invalid, wrong PD, bounds, rights */
	ORNIC_CQE_LOC_ACCESS = 5,	/* Read sink without remote write access */
	ORNIC_CQE_MW_BIND = 6,		/* REG_MR, LOCAL_INV, BIND_MW refused */
	ORNIC_CQE_REM_INV_REQ = 7,	/* Terminate received: malformed or not supported */
	ORNIC_CQE_REM_ACCESS = 8,	/* Terminate received: STag, bounds, rights at the peer */
	ORNIC_CQE_REM_OP = 9,		/* Terminate received: the peer could not do it */
	ORNIC_CQE_FATAL = 10,		/* guest memory of the WQE or its data cannot be reached */
};

enum ornic_syndrome {
	ORNIC_SYN_NONE = 0,
	ORNIC_SYN_OPCODE = 1,
	ORNIC_SYN_FLAGS = 2,
	ORNIC_SYN_MBZ = 3,
	ORNIC_SYN_NUM_SGE = 4,
	ORNIC_SYN_INLINE_LEN = 5,
	ORNIC_SYN_WQE_INDEX = 6,
	/* no such STag, or its key is another, or it is not valid now */
	ORNIC_SYN_STAG_INVALID = 7,
	ORNIC_SYN_STAG_PD = 8,
	ORNIC_SYN_STAG_BOUNDS = 9,
	ORNIC_SYN_STAG_RIGHTS = 10,
	ORNIC_SYN_LENGTH = 11,
	ORNIC_SYN_DMA = 12,
	/* REG_MR of a valid STag; LOCAL_INV of an MR with windows */
	ORNIC_SYN_IN_USE = 13,
	ORNIC_SYN_UNSUPPORTED = 14,
	/* REG_MR, LOCAL_INV or local DMA STag on a QP that may not */
	ORNIC_SYN_PRIVILEGE = 15,
	ORNIC_SYN_DOORBELL = 16,	/* producer index ran past the ring */
	ORNIC_SYN_TERM_SENT = 17,	/* low byte of a flush cause: this side sent a Terminate */
	ORNIC_SYN_TERM_RCVD = 18,
	ORNIC_SYN_CONN_LOST = 19,
	ORNIC_SYN_CQ_OVERFLOW = 20,
};

#endif /* _ORNIC_WR_H */
