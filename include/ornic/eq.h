/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * OpenRNIC hardware contract: event queues.
 *
 * Entry i stands at i mod depth; it is valid when bit ORNIC_EQE_PHASE of its last word == !((i >>
 * log2 depth) & 1). The host
 * clears the ring before CREATE_EQ. An EQ interrupts once after it was armed, at once when
 * entries wait beyond the consumer index
 * that came with the arm. An EQ is created unarmed. The host tells its consumer index by the arm
 * doorbell (with or
 * without the ARM flag). When an EQ is full, events wait in the device, in the object that they
 * are about.
 */
#ifndef _ORNIC_EQ_H
#define _ORNIC_EQ_H

#include "types.h"

enum ornic_eq_kind {
	ORNIC_EQ_COMP = 0,	/* completion events of CQs: struct ornic_ceqe */
	ORNIC_EQ_ASYNC = 1,	/* one per device: struct ornic_aeqe */
	ORNIC_EQ_TCP = 2,	/* one per device: struct ornic_teqe */
};

#define ORNIC_EQE_PHASE		BIT(0)

/**
 * struct ornic_ceqe - a CQ that was armed has a completion
 * @cqn: CQ number, bits 23:0
 * @rsvd: zero
 * @flags: ORNIC_EQE_PHASE
 */
struct ornic_ceqe {
	__le32 cqn;
	__le32 rsvd[2];
	__le32 flags;
};

ORNIC_ASSERT_SIZE(struct ornic_ceqe, 16);

enum ornic_async_type {
	ORNIC_ASYNC_QP_FATAL = 1,	/* number: QP; syndrome: local cause; QP is in ERROR */
	/* number: QP; the peer's request was malformed: Terminate was sent */
	ORNIC_ASYNC_QP_REQ_ERR = 2,
	/* number: QP; the peer's request broke protection: Terminate was sent */
	ORNIC_ASYNC_QP_ACCESS_ERR = 3,
	/* number: CQ; overflow or memory not reachable; its QPs are in ERROR */
	ORNIC_ASYNC_CQ_ERROR = 4,
	ORNIC_ASYNC_SRQ_LIMIT = 5,	/* number: SRQ */
	ORNIC_ASYNC_SRQ_ERROR = 6,	/* number: SRQ */
	ORNIC_ASYNC_LINK = 7,		/* info: 1 up, 0 down; see STATUS.LINK */
	ORNIC_ASYNC_FATAL = 8,		/* info: enum ornic_fatal; STATUS.FATAL is set */
	/* number: QP with an SRQ in ERROR, no receive will complete any more */
	ORNIC_ASYNC_QP_LAST_WQE = 9,
};

/**
 * struct ornic_aeqe - asynchronous event
 * @type: enum ornic_async_type
 * @mbz: zero
 * @syndrome: enum ornic_syndrome
 * @number: number of the object
 * @info: by type
 * @term: QP_REQ_ERR, QP_ACCESS_ERR: first 4 bytes of the Terminate header that was sent (RFC 5040
 *   4.8), as on the wire
 * @rsvd: zero
 * @flags: ORNIC_EQE_PHASE
 */
struct ornic_aeqe {
	__u8 type;
	__u8 mbz;
	__le16 syndrome;
	__le32 number;
	__le32 info;
	__u8 term[4];
	__le32 rsvd[3];
	__le32 flags;
};

ORNIC_ASSERT_SIZE(struct ornic_aeqe, 32);

enum ornic_tcp_event {
	/* a listener's */
	ORNIC_TCP_CONN_REQ = 1,		/* data: the SYN frame; syn_id answers it */
	/* a connection's, not terminal */
	ORNIC_TCP_ESTABLISHED = 2,	/* data: struct ornic_tcp_established */
	ORNIC_TCP_STREAM_RX = 3,	/* data: stream bytes; offset: of the first one */
	ORNIC_TCP_PEER_FIN = 4,		/* offset: of the end of the stream */
	ORNIC_TCP_FIN_ACKED = 5,
	ORNIC_TCP_FIRST_FPDU = 6,	/* responder: the first valid FPDU came, the SQ runs */
	ORNIC_TCP_TERM_SENT = 7,	/* data: struct ornic_terminate */
	ORNIC_TCP_TERM_RCVD = 8,	/* data: struct ornic_terminate */
	/* a connection's, terminal: exactly one, the last event of the connection */
	/* both FINs acknowledged: TIME_WAIT entered or LAST_ACK left */
	ORNIC_TCP_CLOSED = 16,
	ORNIC_TCP_REFUSED = 17,		/* RST answered the SYN */
	ORNIC_TCP_PEER_RST = 18,
	/* ABORT, DESTROY_QP, modify ERR or a wire error: RST sent; info: enum ornic_abort */
	ORNIC_TCP_ABORTED = 19,
	ORNIC_TCP_TIMEOUT = 20,		/* info: enum ornic_tcp_timer */
	ORNIC_TCP_UNREACH = 21,		/* info: ICMP or ICMPv6 type << 8 | code */
};

#define ORNIC_TCP_TERMINAL	ORNIC_TCP_CLOSED	/* this and all above it */

/* info of CONN_REQ: a connection of this RNIC sent the SYN, through a loop entry */
#define ORNIC_CONN_REQ_LOOPED	BIT(0)

enum ornic_tcp_timer {
	ORNIC_TIMER_SYN = 1,		/* no answer to the SYN or the SYN-ACK */
	ORNIC_TIMER_RETRANSMIT = 2,
	ORNIC_TIMER_KEEPALIVE = 3,
	ORNIC_TIMER_PERSIST = 4,
	ORNIC_TIMER_FIN_WAIT = 5,	/* the peer's FIN never came */
};

enum ornic_abort {
	ORNIC_ABORT_COMMAND = 1,	/* TCP_ABORT or FREE_CONN */
	ORNIC_ABORT_QP = 2,		/* DESTROY_QP or modify to ERROR */
	ORNIC_ABORT_EARLY_DATA = 3,	/* responder: bytes between request and reply */
	ORNIC_ABORT_DMA = 4,		/* payload of a transmission cannot be reached any more */
	ORNIC_ABORT_NO_RESOURCE = 5,
};

/**
 * struct ornic_teqe - TCP event
 * @type: enum ornic_tcp_event
 * @mbz: zero
 * @data_len: bytes of data in this entry's data slot, 0..data slot size
 * @conn_id: connection; 0 with CONN_REQ
 * @listen_id: CONN_REQ: listener
 * @syn_id: CONN_REQ: names the held SYN until ACCEPT, REFUSE or its time-out
 * @info: by type
 * @offset: by type: stream offset, 0 = first byte after the SYN
 * @rsvd: zero
 * @flags: ORNIC_EQE_PHASE
 *
 * Entry i owns data slot i mod depth of the EQ's data area; both return to the device with the
 * consumer index.
 */
struct ornic_teqe {
	__u8 type;
	__u8 mbz;
	__le16 data_len;
	__le32 conn_id;
	__le32 listen_id;
	__le32 syn_id;
	__le32 info;
	__le32 rsvd0;
	__le64 offset;
	__le32 rsvd[7];
	__le32 flags;
};

ORNIC_ASSERT_SIZE(struct ornic_teqe, 64);
ORNIC_ASSERT_OFFSET(struct ornic_teqe, offset, 24);
ORNIC_ASSERT_OFFSET(struct ornic_teqe, flags, 60);

#define ORNIC_TEQ_SLOT_SHIFT	11	/* log2 of a data slot's size: 2 KiB */
#define ORNIC_TEQ_SLOT_SIZE	BIT(ORNIC_TEQ_SLOT_SHIFT)

/**
 * struct ornic_tcp_established - data of ORNIC_TCP_ESTABLISHED
 * @snd_mss: bytes of TCP payload per segment to the peer, options subtracted
 * @rcv_mss: MSS that was announced to the peer
 * @options: ORNIC_TCPO_* that both sides agreed on
 * @snd_wscale: the peer's window scale
 * @rcv_wscale: ours
 * @isn_snd: initial send sequence number
 * @isn_rcv: initial receive sequence number
 */
struct ornic_tcp_established {
	__le16 snd_mss;
	__le16 rcv_mss;
	__le16 options;
	__u8 snd_wscale;
	__u8 rcv_wscale;
	__le32 isn_snd;
	__le32 isn_rcv;
};

ORNIC_ASSERT_SIZE(struct ornic_tcp_established, 16);

/**
 * struct ornic_terminate - data of ORNIC_TCP_TERM_SENT and _RCVD: Terminate message (RFC 5040
 * 4.8), as on the wire
 * @control: layer (7:4), error type (3:0), error code, header control bits, reserved
 * @ddp: DDP segment length and the DDP/RDMAP header of the message in error, as far as present
 */
struct ornic_terminate {
	__u8 control[4];
	__u8 ddp[52];
};

ORNIC_ASSERT_SIZE(struct ornic_terminate, 56);

#endif /* _ORNIC_EQ_H */
