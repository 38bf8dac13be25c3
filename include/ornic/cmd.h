/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * OpenRNIC hardware contract: the command queue.
 *
 * Commands are 128 bytes; the submission ring and the completion ring have the same depth. The
 * driver writes
 * command i at i mod depth and stores i + 1 to CMDQ_TAIL. The device executes in order and writes
 * one completion per command, at
 * (number of completions) mod depth, then interrupts. At most depth commands may be outstanding.
 * Numbers (QP, CQ, EQ, STag index, connection, ...) are the driver's choice, within the limits of
 * struct ornic_device_attr.
 * Every field that a command does not name, and every mbz, must be zero.
 */
#ifndef _ORNIC_CMD_H
#define _ORNIC_CMD_H

#include "regs.h"
#include "types.h"

#define ORNIC_CMD_SIZE		128
#define ORNIC_CMDQ_MIN_SHIFT	4
#define ORNIC_CMDQ_MAX_SHIFT	8

enum ornic_cmd_opcode {
	ORNIC_CMD_NOP = 0x00,
	ORNIC_CMD_QUERY_DEVICE = 0x01,
	ORNIC_CMD_QUERY_STATS = 0x02,

	ORNIC_CMD_CREATE_EQ = 0x10,
	ORNIC_CMD_DESTROY_EQ = 0x11,

	ORNIC_CMD_CREATE_CQ = 0x20,
	ORNIC_CMD_DESTROY_CQ = 0x21,
	ORNIC_CMD_RESIZE_CQ = 0x22,	/* CAP_RESIZE_CQ */
	ORNIC_CMD_MODIFY_CQ = 0x23,	/* CAP_CQ_MODERATION */

	ORNIC_CMD_CREATE_QP = 0x30,
	ORNIC_CMD_MODIFY_QP = 0x31,
	ORNIC_CMD_QUERY_QP = 0x32,
	ORNIC_CMD_DESTROY_QP = 0x33,

	ORNIC_CMD_CREATE_SRQ = 0x38,	/* CAP_SRQ, and the next three */
	ORNIC_CMD_MODIFY_SRQ = 0x39,
	ORNIC_CMD_QUERY_SRQ = 0x3a,
	ORNIC_CMD_DESTROY_SRQ = 0x3b,

	ORNIC_CMD_REG_MR = 0x40,
	ORNIC_CMD_ALLOC_MR = 0x41,
	ORNIC_CMD_DEREG_MR = 0x42,
	ORNIC_CMD_ALLOC_MW = 0x43,	/* CAP_MW, and the next */
	ORNIC_CMD_DEALLOC_MW = 0x44,
	ORNIC_CMD_QUERY_MR = 0x45,

	ORNIC_CMD_SET_NEXTHOP = 0x50,
	ORNIC_CMD_CLEAR_NEXTHOP = 0x51,

	ORNIC_CMD_LISTEN = 0x60,
	ORNIC_CMD_UNLISTEN = 0x61,
	ORNIC_CMD_OPEN = 0x62,
	ORNIC_CMD_ACCEPT = 0x63,
	ORNIC_CMD_REFUSE = 0x64,
	ORNIC_CMD_STREAM_TX = 0x65,
	ORNIC_CMD_STREAM_RX_DONE = 0x66,
	ORNIC_CMD_MODE_RDMA = 0x67,
	ORNIC_CMD_CLOSE = 0x68,
	ORNIC_CMD_ABORT = 0x69,
	ORNIC_CMD_UPDATE_CONN = 0x6a,
	ORNIC_CMD_TERMINATE = 0x6b,
	ORNIC_CMD_QUERY_CONN = 0x6c,
	ORNIC_CMD_FREE_CONN = 0x6d,

	ORNIC_CMD_CREATE_TXQ = 0x70,
	ORNIC_CMD_DESTROY_TXQ = 0x71,
	ORNIC_CMD_CREATE_RXQ = 0x72,
	ORNIC_CMD_DESTROY_RXQ = 0x73,
	ORNIC_CMD_SET_RX_MODE = 0x74,
	ORNIC_CMD_SET_MAC = 0x75,
	ORNIC_CMD_SET_PORT = 0x76,
	ORNIC_CMD_SET_RSS = 0x77,	/* CAP_RSS */
};

/**
 * struct ornic_cmd_hdr - first 16 bytes of every command
 * @opcode: enum ornic_cmd_opcode
 * @mbz: must be zero
 * @id: the driver's tag, returned in the completion: slot in 15:0, generation in 31:16
 * @data: DMA address of the data buffer of those commands that have one, else zero
 */
struct ornic_cmd_hdr {
	__le16 opcode;
	__le16 mbz;
	__le32 id;
	__le64 data;
};

ORNIC_ASSERT_SIZE(struct ornic_cmd_hdr, 16);

/* Status of a command, and the errno that a driver reports. */
enum ornic_cmd_status {
	ORNIC_CMDS_OK = 0,		/* 0 */
	/* -EOPNOTSUPP: no such command, or its capability is not there */
	ORNIC_CMDS_OPCODE = 1,
	ORNIC_CMDS_FIELD = 2,		/* -EINVAL: syndrome is the byte offset of the field */
	/* -EINVAL: a number is beyond its limit; syndrome as above */
	ORNIC_CMDS_NUMBER = 3,
	ORNIC_CMDS_EXISTS = 4,		/* -EEXIST: the number is in use */
	ORNIC_CMDS_NOT_FOUND = 5,	/* -ENOENT: syndrome is the byte offset of the number */
	ORNIC_CMDS_BUSY = 6,		/* -EBUSY: other objects still use it */
	/* -EISCONN, -ENOTCONN in the driver's context, else -EINVAL */
	ORNIC_CMDS_STATE = 7,
	ORNIC_CMDS_NO_MEMORY = 8,	/* -ENOMEM */
	ORNIC_CMDS_NO_RESOURCE = 9,	/* -ENOSPC: a table is full */
	/* -EFAULT: a DMA address cannot be reached; syndrome as above */
	ORNIC_CMDS_ADDRESS = 10,
	ORNIC_CMDS_ADDR_IN_USE = 11,	/* -EADDRINUSE: tuple or listener address */
	/* -EPROTO: MODE_RDMA of a responder; the connection was aborted */
	ORNIC_CMDS_EARLY_DATA = 12,
	/* -ECONNRESET: the connection has had its terminal event; the held SYN is gone */
	ORNIC_CMDS_GONE = 13,
	ORNIC_CMDS_AGAIN = 14,		/* -EAGAIN: the stream buffer is full */
	ORNIC_CMDS_INTERNAL = 15,	/* -EIO */
};

/**
 * struct ornic_cmd_cqe - command completion
 * @id: of the command
 * @status: enum ornic_cmd_status
 * @syndrome: detail of @status: byte offset in the command, else zero
 * @result: by command
 * @sq_head: free-running index of the next command that the device will read
 * @flags: ORNIC_CMD_CQE_PHASE; the device stores this word last. Phase as in struct ornic_cqe
 */
struct ornic_cmd_cqe {
	__le32 id;
	__le16 status;
	__le16 syndrome;
	__le64 result[6];
	__le32 sq_head;
	__le32 flags;
};

ORNIC_ASSERT_SIZE(struct ornic_cmd_cqe, 64);
#define ORNIC_CMD_CQE_PHASE	BIT(0)

/* --- device --------------------------------------------------------------------------------- */

/**
 * struct ornic_device_attr - written by QUERY_DEVICE to hdr.data (256 bytes)
 * @caps: ORNIC_CAP_*
 * @max_qp: QP numbers are 1..max_qp - 1; the other max_* alike unless said
 * @max_cq: CQ numbers
 * @max_eq: EQ numbers, 0..max_eq - 1
 * @max_mr: STag indexes, 1..max_mr - 1 (MRs and windows)
 * @max_pd: PD numbers, 1..max_pd - 1; the device keeps no PD object
 * @max_srq: SRQ numbers
 * @max_conn: connection ids, 1..max_conn - 1
 * @max_listen: listener ids
 * @max_nexthop: next-hop indexes, 0..max_nexthop - 1
 * @max_syn: held SYNs, all listeners together
 * @max_mr_size: bytes
 * @max_frmr_pages: pages of a fast-register MR
 * @page_shift_mask: bit n: pages of 2^n bytes may be used in MRs
 * @max_sge: SGEs of a SEND, WRITE or receive WQE
 * @max_inline: inline bytes
 * @max_ird: Reads outstanding towards this device, per QP
 * @max_ord: Reads outstanding from this device, per QP
 * @max_sq_shift: log2 of the greatest SQ depth
 * @max_rq_shift: log2 of the greatest RQ and SRQ depth
 * @max_cq_shift: log2 of the greatest CQ depth
 * @max_eq_shift: log2 of the greatest EQ depth
 * @max_eth_shift: log2 of the greatest Ethernet ring depth
 * @max_txq: TX ring numbers, 0..max_txq - 1
 * @max_rxq: RX ring numbers
 * @max_mtu: greatest MTU (bytes of IP packet)
 * @stream_max: stream bytes that the device keeps per connection and direction before MODE_RDMA
 * @link_speed: Mbit/s
 * @max_mc: multicast and unicast filter entries
 * @max_window: greatest receive window of a connection, bytes
 * @rsvd: zero
 */
struct ornic_device_attr {
	__le64 caps;
	__le32 max_qp;
	__le32 max_cq;
	__le32 max_eq;
	__le32 max_mr;
	__le32 max_pd;
	__le32 max_srq;
	__le32 max_conn;
	__le32 max_listen;
	__le32 max_nexthop;
	__le32 max_syn;
	__le64 max_mr_size;
	__le32 max_frmr_pages;
	__le32 rsvd0;
	__le64 page_shift_mask;
	__le16 max_sge;
	__le16 max_inline;
	__le16 max_ird;
	__le16 max_ord;
	__u8 max_sq_shift;
	__u8 max_rq_shift;
	__u8 max_cq_shift;
	__u8 max_eq_shift;
	__u8 max_eth_shift;
	__u8 rsvd1;
	__le16 max_txq;
	__le16 max_rxq;
	__le16 max_mtu;
	__le32 stream_max;
	__le32 link_speed;
	__le32 max_mc;
	__le32 max_window;
	__u8 rsvd[148];
};

ORNIC_ASSERT_SIZE(struct ornic_device_attr, 256);
ORNIC_ASSERT_OFFSET(struct ornic_device_attr, max_mr_size, 48);
ORNIC_ASSERT_OFFSET(struct ornic_device_attr, page_shift_mask, 64);
ORNIC_ASSERT_OFFSET(struct ornic_device_attr, stream_max, 92);

/* QUERY_DEVICE: hdr.data. No further fields. */

/**
 * struct ornic_cmd_query_stats - QUERY_STATS
 * @hdr: data: buffer of @count __le64
 * @first: first counter, enum ornic_stat
 * @count: number of counters; counters beyond the device's last are written as zero
 *
 * Result 0: number of counters that the device has.
 */
struct ornic_cmd_query_stats {
	struct ornic_cmd_hdr hdr;
	__le32 first;
	__le32 count;
	__u8 mbz[104];
};

ORNIC_ASSERT_SIZE(struct ornic_cmd_query_stats, 128);

/* --- event queues and completion queues ----------------------------------------------------- */

/**
 * struct ornic_cmd_create_eq - CREATE_EQ
 * @hdr: header
 * @eqn: number
 * @kind: enum ornic_eq_kind
 * @depth_shift: log2 of the depth, 4..max_eq_shift
 * @vector: MSI-X vector
 * @ring: memory of the ring; entries start at its first byte
 * @data: ORNIC_EQ_TCP: memory of depth data slots of ORNIC_TEQ_SLOT_SIZE bytes, page_shift >=
 *   ORNIC_TEQ_SLOT_SHIFT; else zero
 * @rec_off: ORNIC_EQ_COMP with ORNIC_CAP_ARM_REC: byte offset in @ring of the queue record that
 *   arms the EQ, multiple of 128, behind the entries; 0: there is none. Else zero
 *
 * Errors: EXISTS: @eqn in use, or a second ASYNC or TCP queue.
 */
struct ornic_cmd_create_eq {
	struct ornic_cmd_hdr hdr;
	__le32 eqn;
	__u8 kind;
	__u8 depth_shift;
	__le16 vector;
	struct ornic_qmem ring;
	struct ornic_qmem data;
	__le32 rec_off;
	__u8 mbz[68];
};

ORNIC_ASSERT_SIZE(struct ornic_cmd_create_eq, 128);

/**
 * struct ornic_cmd_number - DESTROY_EQ, DESTROY_CQ, DESTROY_QP, DESTROY_SRQ, QUERY_SRQ, QUERY_QP,
 * UNLISTEN, CLEAR_NEXTHOP,
 *                           CLOSE, ABORT, FREE_CONN, QUERY_CONN, DESTROY_TXQ, DESTROY_RXQ
 * @hdr: header; QUERY_QP, QUERY_CONN, QUERY_SRQ: data buffer
 * @number: the object's number
 *
 * When a DESTROY has answered, the device touches neither the object's memory nor any memory that
 * it named, and
 * no entry about it will be written. BUSY: an EQ with CQs; a CQ with QPs; an SRQ with QPs; a next
 * hop with connections.
 */
struct ornic_cmd_number {
	struct ornic_cmd_hdr hdr;
	__le32 number;
	__u8 mbz[108];
};

ORNIC_ASSERT_SIZE(struct ornic_cmd_number, 128);

/**
 * struct ornic_cmd_create_cq - CREATE_CQ, RESIZE_CQ
 * @hdr: header
 * @cqn: number
 * @eqn: completion EQ for its events
 * @db_page: doorbell page that may arm it, 0 = the kernel's
 * @depth_shift: log2 of the depth, 1..max_cq_shift
 * @mbz: must be zero
 * @mem: memory of the queue buffer
 * @ring_off: byte offset of the ring in the buffer, multiple of 64
 * @rec_off: byte offset of the queue record, multiple of 128; its ci is the consumer index
 */
struct ornic_cmd_create_cq {
	struct ornic_cmd_hdr hdr;
	__le32 cqn;
	__le32 eqn;
	__le32 db_page;
	__u8 depth_shift;
	__u8 mbz[3];
	struct ornic_qmem mem;
	__le32 ring_off;
	__le32 rec_off;
	__u8 mbz2[72];
};

ORNIC_ASSERT_SIZE(struct ornic_cmd_create_cq, 128);

/**
 * struct ornic_cmd_modify_cq - MODIFY_CQ: interrupt moderation
 * @hdr: header
 * @cqn: number
 * @count: completions that may gather before an event
 * @period: microseconds that they may wait
 */
struct ornic_cmd_modify_cq {
	struct ornic_cmd_hdr hdr;
	__le32 cqn;
	__le16 count;
	__le16 period;
	__u8 mbz[104];
};

ORNIC_ASSERT_SIZE(struct ornic_cmd_modify_cq, 128);

/* --- queue pairs ---------------------------------------------------------------------------- */

enum ornic_qp_state {
	ORNIC_QPS_IDLE = 0,		/* created; receives may be posted */
	ORNIC_QPS_RTS = 1,		/* by MODE_RDMA */
	ORNIC_QPS_CLOSING = 2,		/* SQ drains, then FIN */
	ORNIC_QPS_ERROR = 3,		/* all WRs are flushed */
};

/* may use ORNIC_STAG_LOCAL_DMA, REG_MR and LOCAL_INV of MRs; db_page 0 only */
#define ORNIC_QPF_PRIVILEGED	BIT(0)
#define ORNIC_QPF_SIG_ALL	BIT(1)	/* every send WR is signalled */
#define ORNIC_QPF_SRQ		BIT(2)	/* receives come from srqn */

/**
 * struct ornic_cmd_create_qp - CREATE_QP
 * @hdr: header
 * @qpn: number
 * @pdn: PD
 * @send_cqn: CQ of send completions
 * @recv_cqn: CQ of receive completions
 * @srqn: with ORNIC_QPF_SRQ, else zero
 * @db_page: doorbell page of its SQ and RQ
 * @sq_shift: log2 of the SQ depth, 1..max_sq_shift
 * @sq_stride_shift: log2 of the SQ stride
 * @rq_shift: log2 of the RQ depth, 1..max_rq_shift; zero with ORNIC_QPF_SRQ
 * @rq_stride_shift: log2 of the RQ stride; zero with ORNIC_QPF_SRQ
 * @flags: ORNIC_QPF_*
 * @access: ORNIC_ACC_REMOTE_*: what the peer may ever do
 * @mem: memory of the queue buffer
 * @sq_off: byte offset of the SQ in the buffer, multiple of 64
 * @rq_off: byte offset of the RQ, multiple of 64; zero with ORNIC_QPF_SRQ
 * @rec_off: byte offset of the queue record, multiple of 128
 */
struct ornic_cmd_create_qp {
	struct ornic_cmd_hdr hdr;
	__le32 qpn;
	__le32 pdn;
	__le32 send_cqn;
	__le32 recv_cqn;
	__le32 srqn;
	__le32 db_page;
	__u8 sq_shift;
	__u8 sq_stride_shift;
	__u8 rq_shift;
	__u8 rq_stride_shift;
	__le16 flags;
	__le16 access;
	struct ornic_qmem mem;
	__le32 sq_off;
	__le32 rq_off;
	__le32 rec_off;
	__u8 mbz[52];
};

ORNIC_ASSERT_SIZE(struct ornic_cmd_create_qp, 128);
ORNIC_ASSERT_OFFSET(struct ornic_cmd_create_qp, mem, 48);

#define ORNIC_MODQP_STATE	BIT(0)
#define ORNIC_MODQP_ACCESS	BIT(1)

/**
 * struct ornic_cmd_modify_qp - MODIFY_QP
 * @hdr: header
 * @qpn: number
 * @mask: ORNIC_MODQP_*
 * @state: CLOSING (from RTS: finish the SQ, then FIN) or ERROR (from any: RST if connected,
 *   flush). Others: STATE
 * @mbz: must be zero
 * @access: new ORNIC_ACC_REMOTE_*
 */
struct ornic_cmd_modify_qp {
	struct ornic_cmd_hdr hdr;
	__le32 qpn;
	__le32 mask;
	__u8 state;
	__u8 mbz;
	__le16 access;
	__u8 mbz2[100];
};

ORNIC_ASSERT_SIZE(struct ornic_cmd_modify_qp, 128);

/**
 * struct ornic_qp_attr - written by QUERY_QP to hdr.data (64 bytes)
 * @state: enum ornic_qp_state
 * @role: enum ornic_role, valid in RTS and CLOSING
 * @access: ORNIC_ACC_REMOTE_*
 * @conn_id: bound connection, 0 if none
 * @sq_pi: producer index that the device knows
 * @sq_ci: oldest send WQE that is not complete
 * @rq_pi: as above
 * @rq_ci: as above
 * @ird: negotiated
 * @ord: negotiated
 * @reads_out: Reads outstanding to the peer
 * @reads_in: Reads outstanding from the peer
 * @mulpdu: current MULPDU (RFC 5044), bytes
 * @rsvd: zero
 */
struct ornic_qp_attr {
	__u8 state;
	__u8 role;
	__le16 access;
	__le32 conn_id;
	__le32 sq_pi;
	__le32 sq_ci;
	__le32 rq_pi;
	__le32 rq_ci;
	__le16 ird;
	__le16 ord;
	__le16 reads_out;
	__le16 reads_in;
	__le32 mulpdu;
	__u8 rsvd[28];
};

ORNIC_ASSERT_SIZE(struct ornic_qp_attr, 64);

/**
 * struct ornic_cmd_create_srq - CREATE_SRQ
 * @hdr: header
 * @srqn: number
 * @pdn: PD
 * @db_page: doorbell page
 * @depth_shift: log2 of the depth
 * @stride_shift: log2 of the stride
 * @mbz: must be zero
 * @limit: ORNIC_ASYNC_SRQ_LIMIT when fewer WQEs are left; 0 = never
 * @mem: memory of the queue buffer
 * @ring_off: byte offset of the ring
 * @rec_off: byte offset of the queue record
 */
struct ornic_cmd_create_srq {
	struct ornic_cmd_hdr hdr;
	__le32 srqn;
	__le32 pdn;
	__le32 db_page;
	__u8 depth_shift;
	__u8 stride_shift;
	__u8 mbz[2];
	__le32 limit;
	__le32 mbz1;
	struct ornic_qmem mem;
	__le32 ring_off;
	__le32 rec_off;
	__u8 mbz2[64];
};

ORNIC_ASSERT_SIZE(struct ornic_cmd_create_srq, 128);

/**
 * struct ornic_cmd_modify_srq - MODIFY_SRQ: arm the limit event once
 * @hdr: header
 * @srqn: number
 * @limit: as in struct ornic_cmd_create_srq
 */
struct ornic_cmd_modify_srq {
	struct ornic_cmd_hdr hdr;
	__le32 srqn;
	__le32 limit;
	__u8 mbz[104];
};

ORNIC_ASSERT_SIZE(struct ornic_cmd_modify_srq, 128);

/**
 * struct ornic_srq_attr - written by QUERY_SRQ to hdr.data (64 bytes)
 * @pi: producer index that the device knows
 * @ci: next WQE that will be taken
 * @limit: armed limit, 0 = none
 * @rsvd: zero
 */
struct ornic_srq_attr {
	__le32 pi;
	__le32 ci;
	__le32 limit;
	__u8 rsvd[52];
};

ORNIC_ASSERT_SIZE(struct ornic_srq_attr, 64);

/* --- memory --------------------------------------------------------------------------------- */

/**
 * struct ornic_cmd_reg_mr - REG_MR: a region that is valid until DEREG_MR (or LOCAL_INV / a
 * remote invalidate, which leave
 *                           it allocated and invalid)
 * @hdr: header
 * @stag: index and key
 * @pdn: PD
 * @iova: address of the first byte in the MR's address space
 * @length: bytes, 0..max_mr_size; 0: an empty region, @mem must be zero
 * @mem: pages
 * @offset: byte offset of the first byte in the first page
 * @access: ORNIC_ACC_*; REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE
 * @flags: ORNIC_MRF_*
 *
 * @offset + @length must fit into the pages, @iova + @length must not wrap. With ZERO_BASED the
 *   MR's address space starts at 0.
 */
struct ornic_cmd_reg_mr {
	struct ornic_cmd_hdr hdr;
	__le32 stag;
	__le32 pdn;
	__le64 iova;
	__le64 length;
	struct ornic_qmem mem;
	__le32 offset;
	__le16 access;
	__le16 flags;
	__u8 mbz[64];
};

ORNIC_ASSERT_SIZE(struct ornic_cmd_reg_mr, 128);
/* LOCAL_INV and remote invalidate are refused (user MRs, RFC 5040 5.1 leaves it to us) */
#define ORNIC_MRF_NO_INVALIDATE	BIT(0)

/**
 * struct ornic_cmd_alloc_mr - ALLOC_MR: a fast-register MR, not valid until a REG_MR WQE;
 * ALLOC_MW
 * @hdr: header
 * @stag: index and key
 * @pdn: PD
 * @max_pages: ALLOC_MR: 1..max_frmr_pages; ALLOC_MW: zero
 * @mw_type: ALLOC_MW: 1 or 2; else zero
 */
struct ornic_cmd_alloc_mr {
	struct ornic_cmd_hdr hdr;
	__le32 stag;
	__le32 pdn;
	__le32 max_pages;
	__le32 mw_type;
	__u8 mbz[96];
};

ORNIC_ASSERT_SIZE(struct ornic_cmd_alloc_mr, 128);

/**
 * struct ornic_cmd_stag - DEREG_MR, DEALLOC_MW, QUERY_MR
 * @hdr: header; QUERY_MR: data buffer of struct ornic_mr_attr
 * @stag: index in 31:8; the key is not looked at
 *
 * BUSY: an MR with windows bound to it.
 */
struct ornic_cmd_stag {
	struct ornic_cmd_hdr hdr;
	__le32 stag;
	__u8 mbz[108];
};

ORNIC_ASSERT_SIZE(struct ornic_cmd_stag, 128);

/**
 * struct ornic_mr_attr - written by QUERY_MR to hdr.data (64 bytes)
 * @stag: with the present key
 * @pdn: PD
 * @iova: as registered
 * @length: as registered
 * @npages: as registered
 * @access: ORNIC_ACC_*
 * @page_shift: log2 of the page size
 * @state: 0 allocated and invalid, 1 valid
 * @type: 0 MR by REG_MR, 1 fast-register MR, 2 window
 * @rsvd: zero
 */
struct ornic_mr_attr {
	__le32 stag;
	__le32 pdn;
	__le64 iova;
	__le64 length;
	__le32 npages;
	__le16 access;
	__u8 page_shift;
	__u8 state;
	__u8 type;
	__u8 rsvd[31];
};

ORNIC_ASSERT_SIZE(struct ornic_mr_attr, 64);

/* --- next hops ------------------------------------------------------------------------------ */

#define ORNIC_NHF_VLAN		BIT(0)	/* tag frames with vlan_tci */
#define ORNIC_NHF_LOOP		BIT(1)	/* one of the RNIC's own addresses: never on the wire */
/* no neighbour at present: what is sent is lost, timers run on */
#define ORNIC_NHF_DEAD		BIT(2)
/* with DEAD: nobody answers. Connections that are being opened end with UNREACH */
#define ORNIC_NHF_FAILED	BIT(3)

/**
 * struct ornic_cmd_set_nexthop - SET_NEXTHOP: create or change an entry; live connections follow
 * @hdr: header
 * @index: entry
 * @dmac: next hop's MAC
 * @smac: source MAC
 * @flags: ORNIC_NHF_*
 * @vlan_tci: with ORNIC_NHF_VLAN
 * @mtu: bytes of IP packet, 68..max_mtu; connections re-derive their MSS. IPv6 connections take
 *   less than 1280 as 1280.
 */
struct ornic_cmd_set_nexthop {
	struct ornic_cmd_hdr hdr;
	__le32 index;
	__u8 dmac[6];
	__u8 smac[6];
	__le16 flags;
	__le16 vlan_tci;
	__le16 mtu;
	__u8 mbz[90];
};

ORNIC_ASSERT_SIZE(struct ornic_cmd_set_nexthop, 128);

/* --- TCP ------------------------------------------------------------------------------------ */

#define ORNIC_FAMILY_IPV4	4
#define ORNIC_FAMILY_IPV6	6	/* CAP_IPV6 */

/*
 * Addresses are in network byte order; an IPv4 address is in bytes 0-3, the rest zero. A link-local
 * IPv6 address belongs to the link that the next hop, or the SYN, names by its VLAN. Ports are
 * __le16 numbers.
 */

/**
 * struct ornic_cmd_listen - LISTEN
 * @hdr: header
 * @listen_id: number
 * @addr: local address; all zero: any of the family
 * @port: local port, not 0
 * @family: ORNIC_FAMILY_*
 * @flags: ORNIC_LISTEN_VLAN
 * @vlan_id: with ORNIC_LISTEN_VLAN only this VLAN; else only untagged frames
 * @mbz: must be zero
 * @backlog: SYNs that may be held for this listener, 1..max_syn
 *
 * A listener on an address goes before one on any. ADDR_IN_USE: same address, port, family and
 * VLAN.
 */
struct ornic_cmd_listen {
	struct ornic_cmd_hdr hdr;
	__le32 listen_id;
	__u8 addr[16];
	__le16 port;
	__u8 family;
	__u8 flags;
	__le16 vlan_id;
	__le16 mbz;
	__le32 backlog;
	__u8 mbz2[80];
};

ORNIC_ASSERT_SIZE(struct ornic_cmd_listen, 128);
#define ORNIC_LISTEN_VLAN	BIT(0)

/*
 * Options of a connection: asked for in OPEN and ACCEPT, agreed ones in struct
 * ornic_tcp_established.
 */
#define ORNIC_TCPO_WSCALE	BIT(0)
#define ORNIC_TCPO_TIMESTAMPS	BIT(1)
#define ORNIC_TCPO_SACK		BIT(2)
#define ORNIC_TCPO_KEEPALIVE	BIT(3)
#define ORNIC_TCPO_NAGLE	BIT(4)	/* in streaming mode; FPDUs are never held back */
#define ORNIC_TCPO_ALL		GENMASK(4, 0)

/**
 * struct ornic_tcp_opts - how a connection is to behave
 * @options: ORNIC_TCPO_*
 * @mss: greatest MSS to announce and use, 88..65495; 0: from the next hop's MTU
 * @window: receive window, bytes, 4096..max_window
 * @dscp: 0..63
 * @ttl: TTL or hop limit, 1..255
 * @syn_retries: retransmissions of SYN or SYN-ACK, 0..15
 * @keep_count: keep-alive probes without answer before TIMEOUT, 1..255
 * @keep_idle: seconds of silence before the first probe
 * @keep_intvl: seconds between probes
 * @rtx_timeout: milliseconds without progress before TIMEOUT, 1000..; 0: 100 seconds (RFC 9293
 *   3.8.3)
 */
struct ornic_tcp_opts {
	__le16 options;
	__le16 mss;
	__le32 window;
	__u8 dscp;
	__u8 ttl;
	__u8 syn_retries;
	__u8 keep_count;
	__le16 keep_idle;
	__le16 keep_intvl;
	__le32 rtx_timeout;
	__le32 mbz;
};

ORNIC_ASSERT_SIZE(struct ornic_tcp_opts, 24);

/**
 * struct ornic_cmd_open - OPEN (active)
 * @hdr: header
 * @conn_id: number, in use until FREE_CONN
 * @nexthop: index
 * @laddr: local address
 * @raddr: remote address
 * @lport: local port, not 0
 * @rport: remote port, not 0
 * @family: ORNIC_FAMILY_*
 * @mbz: must be zero
 * @opts: options
 *
 * Answered at once; ESTABLISHED or a terminal event follows. A tuple in TIME_WAIT may be used
 * again.
 * ADDR_IN_USE: the tuple is another live connection's.
 */
struct ornic_cmd_open {
	struct ornic_cmd_hdr hdr;
	__le32 conn_id;
	__le32 nexthop;
	__u8 laddr[16];
	__u8 raddr[16];
	__le16 lport;
	__le16 rport;
	__u8 family;
	__u8 mbz[3];
	struct ornic_tcp_opts opts;
	__u8 mbz2[40];
};

ORNIC_ASSERT_SIZE(struct ornic_cmd_open, 128);

/**
 * struct ornic_cmd_accept - ACCEPT: answer a held SYN with SYN-ACK
 * @hdr: header
 * @syn_id: from CONN_REQ
 * @conn_id: number, in use until FREE_CONN
 * @nexthop: index
 * @mbz: must be zero
 * @opts: options; one that the SYN did not offer is not used
 *
 * GONE: the SYN is no longer held (time-out, RST, UNLISTEN).
 */
struct ornic_cmd_accept {
	struct ornic_cmd_hdr hdr;
	__le32 syn_id;
	__le32 conn_id;
	__le32 nexthop;
	__le32 mbz;
	struct ornic_tcp_opts opts;
	__u8 mbz2[72];
};

ORNIC_ASSERT_SIZE(struct ornic_cmd_accept, 128);

enum ornic_refuse {
	ORNIC_REFUSE_RST = 0,
	ORNIC_REFUSE_SILENT = 1,
	ORNIC_REFUSE_TO_HOST = 2,	/* the frame goes to the Ethernet receive ring */
};

/**
 * struct ornic_cmd_refuse - REFUSE
 * @hdr: header
 * @syn_id: from CONN_REQ
 * @how: enum ornic_refuse
 *
 * UNLISTEN refuses all SYNs that it still holds with RST.
 */
struct ornic_cmd_refuse {
	struct ornic_cmd_hdr hdr;
	__le32 syn_id;
	__le32 how;
	__u8 mbz[104];
};

ORNIC_ASSERT_SIZE(struct ornic_cmd_refuse, 128);

/**
 * struct ornic_cmd_stream_tx - STREAM_TX: queue stream bytes
 * @hdr: data: DMA address of the bytes, read before the completion
 * @conn_id: connection, in streaming mode
 * @len: bytes, 1..stream_max
 *
 * AGAIN: more than stream_max bytes would be unacknowledged.
 */
struct ornic_cmd_stream_tx {
	struct ornic_cmd_hdr hdr;
	__le32 conn_id;
	__le32 len;
	__u8 mbz[104];
};

ORNIC_ASSERT_SIZE(struct ornic_cmd_stream_tx, 128);

/**
 * struct ornic_cmd_stream_rx_done - STREAM_RX_DONE: the driver has no more use for stream bytes
 * below @offset
 * @hdr: header
 * @conn_id: connection, in streaming mode
 * @mbz: must be zero
 * @offset: stream offset, not beyond what STREAM_RX delivered
 *
 * The device keeps (and offers as window) at most stream_max bytes beyond the last such offset.
 */
struct ornic_cmd_stream_rx_done {
	struct ornic_cmd_hdr hdr;
	__le32 conn_id;
	__le32 mbz;
	__le64 offset;
	__u8 mbz2[96];
};

ORNIC_ASSERT_SIZE(struct ornic_cmd_stream_rx_done, 128);

enum ornic_role {
	ORNIC_ROLE_INITIATOR = 0,
	ORNIC_ROLE_RESPONDER = 1,
};

/* Ready-to-receive message of the peer-to-peer model (RFC 6581 9). */
enum ornic_rtr {
	ORNIC_RTR_NONE = 0,
	ORNIC_RTR_SEND = 1,	/* zero-length Send */
	ORNIC_RTR_WRITE = 2,	/* zero-length Write */
	ORNIC_RTR_READ = 3,	/* zero-length Read */
};

#define ORNIC_RDMAF_CRC		BIT(0)	/* MPA CRC, both directions (RFC 5044 7.1.1) */
#define ORNIC_RDMAF_TX_MARKERS	BIT(1)	/* CAP_MARKERS */
#define ORNIC_RDMAF_RX_MARKERS	BIT(2)	/* CAP_MARKERS */

/**
 * struct ornic_cmd_mode_rdma - MODE_RDMA: bind connection and QP, streaming mode ends. One atomic
 * step
 * @hdr: data: DMA address of the final stream bytes (a responder's MPA reply), zero without
 * @conn_id: connection, ESTABLISHED, in streaming mode
 * @qpn: QP, IDLE
 * @role: enum ornic_role
 * @rtr: enum ornic_rtr. Initiator: sent first, without a CQE. Responder: expected first, consumed
 *   without a CQE
 * @flags: ORNIC_RDMAF_*
 * @ird: Reads and atomics that the peer may have outstanding, 0..max_ird
 * @ord: that this side may have outstanding, 0..max_ord; RTR_READ counts only while it is
 *   outstanding and may exceed 0
 * @data_len: final stream bytes, 0..stream_max
 * @mbz: must be zero
 * @rx_offset: stream offset of the first byte that is not MPA start-up
 *
 * Receive switches first, then the final bytes go out, then the SQ may run: initiator at once;
 * responder after the first valid FPDU
 * (RFC 5044 7.1.2), told by FIRST_FPDU. Bytes beyond @rx_offset that have arrived are parsed as
 * FPDUs by the initiator;
 * at a responder they abort the connection (EARLY_DATA).
 * Errors leave connection and QP as they were, except EARLY_DATA. GONE: the connection has ended.
 */
struct ornic_cmd_mode_rdma {
	struct ornic_cmd_hdr hdr;
	__le32 conn_id;
	__le32 qpn;
	__u8 role;
	__u8 rtr;
	__le16 flags;
	__le16 ird;
	__le16 ord;
	__le32 data_len;
	__le32 mbz;
	__le64 rx_offset;
	__u8 mbz2[80];
};

ORNIC_ASSERT_SIZE(struct ornic_cmd_mode_rdma, 128);

/*
 * CLOSE (struct ornic_cmd_number): FIN after all queued bytes; in RDMA mode the QP goes to
 * CLOSING first. Answered at once, a second CLOSE too.
 * ABORT: RST; the terminal event ABORTED follows unless one went before. GONE after the terminal
 * event.
 * FREE_CONN: the id may be used again; no event about it follows, none is left in the EQ beyond
 * those already written.
 *   A connection without terminal event is aborted first, silently for the driver.
 */

/**
 * struct ornic_cmd_update_conn - UPDATE_CONN
 * @hdr: header
 * @conn_id: connection
 * @mask: ORNIC_UPD_*
 * @nexthop: new index
 * @dscp: new DSCP, 0..63
 */
struct ornic_cmd_update_conn {
	struct ornic_cmd_hdr hdr;
	__le32 conn_id;
	__le32 mask;
	__le32 nexthop;
	__u8 dscp;
	__u8 mbz[99];
};

ORNIC_ASSERT_SIZE(struct ornic_cmd_update_conn, 128);
#define ORNIC_UPD_NEXTHOP	BIT(0)
#define ORNIC_UPD_DSCP		BIT(1)

/**
 * struct ornic_cmd_terminate - TERMINATE: send a Terminate message, then FIN; the QP goes to
 * ERROR
 * @hdr: header
 * @conn_id: connection. In streaming mode (RFC 6581 9.2: unacceptable reply) the Terminate is the
 *   first FPDU
 * @layer: 0 RDMAP, 1 DDP, 2 MPA (RFC 5040 4.8)
 * @etype: error type, 0..15
 * @code: error code
 * @flags: ORNIC_RDMAF_CRC, _TX_MARKERS in streaming mode; else zero
 */
struct ornic_cmd_terminate {
	struct ornic_cmd_hdr hdr;
	__le32 conn_id;
	__u8 layer;
	__u8 etype;
	__u8 code;
	__u8 flags;
	__u8 mbz[104];
};

ORNIC_ASSERT_SIZE(struct ornic_cmd_terminate, 128);

enum ornic_conn_state {
	ORNIC_CONN_OPENING = 1,
	ORNIC_CONN_STREAM = 2,
	ORNIC_CONN_RDMA = 3,
	ORNIC_CONN_CLOSING = 4,
	ORNIC_CONN_ENDED = 5,		/* terminal event raised */
};

/**
 * struct ornic_conn_attr - written by QUERY_CONN to hdr.data (128 bytes)
 * @state: enum ornic_conn_state
 * @tcp_state: RFC 9293 state in the order of its figure 5: 1 LISTEN .. 11 CLOSED
 * @options: ORNIC_TCPO_* in force
 * @qpn: bound QP, 0 if none
 * @laddr: local address
 * @raddr: remote address
 * @lport: local port
 * @rport: remote port
 * @snd_mss: bytes of payload per segment
 * @family: ORNIC_FAMILY_*
 * @dscp: DSCP
 * @snd_una: sequence numbers as in RFC 9293 3.3.1
 * @snd_nxt: likewise
 * @rcv_nxt: likewise
 * @snd_wnd: the peer's window, bytes
 * @rcv_wnd: ours, bytes
 * @cwnd: congestion window, bytes
 * @srtt: microseconds
 * @rto: microseconds
 * @retransmits: segments sent again
 * @rsvd: zero
 */
struct ornic_conn_attr {
	__u8 state;
	__u8 tcp_state;
	__le16 options;
	__le32 qpn;
	__u8 laddr[16];
	__u8 raddr[16];
	__le16 lport;
	__le16 rport;
	__le16 snd_mss;
	__u8 family;
	__u8 dscp;
	__le32 snd_una;
	__le32 snd_nxt;
	__le32 rcv_nxt;
	__le32 snd_wnd;
	__le32 rcv_wnd;
	__le32 cwnd;
	__le32 srtt;
	__le32 rto;
	__le32 retransmits;
	__u8 rsvd[44];
};

ORNIC_ASSERT_SIZE(struct ornic_conn_attr, 128);

/* --- Ethernet ------------------------------------------------------------------------------- */

/**
 * struct ornic_cmd_create_ethq - CREATE_TXQ, CREATE_RXQ
 * @hdr: header
 * @number: ring number
 * @depth_shift: log2 of the depth, 4..max_eth_shift
 * @mbz: must be zero
 * @vector: MSI-X vector
 * @mem: memory of the queue buffer
 * @ring_off: byte offset of the descriptor ring, multiple of 64
 * @comp_off: RX: byte offset of the completion ring, multiple of 64; TX: zero
 * @rec_off: byte offset of the queue record, multiple of 128
 */
struct ornic_cmd_create_ethq {
	struct ornic_cmd_hdr hdr;
	__le32 number;
	__u8 depth_shift;
	__u8 mbz;
	__le16 vector;
	struct ornic_qmem mem;
	__le32 ring_off;
	__le32 comp_off;
	__le32 rec_off;
	__u8 mbz2[76];
};

ORNIC_ASSERT_SIZE(struct ornic_cmd_create_ethq, 128);

#define ORNIC_RXM_PROMISC	BIT(0)
#define ORNIC_RXM_ALLMULTI	BIT(1)
#define ORNIC_RXM_BROADCAST	BIT(2)

/**
 * struct ornic_cmd_set_rx_mode - SET_RX_MODE: what reaches the RX rings besides the port's MAC
 * @hdr: data: @count addresses of 8 bytes each (6 used, 2 zero)
 * @mode: ORNIC_RXM_*
 * @count: unicast and multicast addresses, 0..max_mc; replaces the list before
 */
struct ornic_cmd_set_rx_mode {
	struct ornic_cmd_hdr hdr;
	__le32 mode;
	__le32 count;
	__u8 mbz[104];
};

ORNIC_ASSERT_SIZE(struct ornic_cmd_set_rx_mode, 128);

/**
 * struct ornic_cmd_set_mac - SET_MAC: the port's unicast address (reset brings the permanent one
 * back)
 * @hdr: header
 * @mac: unicast, not zero
 */
struct ornic_cmd_set_mac {
	struct ornic_cmd_hdr hdr;
	__u8 mac[6];
	__u8 mbz[106];
};

ORNIC_ASSERT_SIZE(struct ornic_cmd_set_mac, 128);

/**
 * struct ornic_cmd_set_port - SET_PORT
 * @hdr: header
 * @up: 1: receive and transmit; 0: the port is down, nothing passes, offloaded connections only
 *   time out
 * @mtu: bytes of IP packet, 68..max_mtu; longer frames are dropped and counted
 */
struct ornic_cmd_set_port {
	struct ornic_cmd_hdr hdr;
	__le32 up;
	__le32 mtu;
	__u8 mbz[104];
};

ORNIC_ASSERT_SIZE(struct ornic_cmd_set_port, 128);

/**
 * struct ornic_cmd_set_rss - SET_RSS (CAP_RSS)
 * @hdr: data: indirection table, @entries bytes, each an RX ring number
 * @entries: power of two, 1..128
 * @mbz: must be zero
 * @key: Toeplitz key
 */
struct ornic_cmd_set_rss {
	struct ornic_cmd_hdr hdr;
	__le32 entries;
	__le32 mbz;
	__u8 key[40];
	__u8 mbz2[64];
};

ORNIC_ASSERT_SIZE(struct ornic_cmd_set_rss, 128);

#endif /* _ORNIC_CMD_H */
