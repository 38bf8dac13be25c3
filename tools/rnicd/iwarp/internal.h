/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the iWARP engine share. */
#ifndef RNICD_IWARP_INTERNAL_H
#define RNICD_IWARP_INTERNAL_H

#include "hw/conn.h"
#include "hw/dev.h"
#include "hw/eq.h"
#include "hw/mr.h"
#include "hw/qmem.h"
#include "iwarp/fpdu.h"
#include "iwarp/iwarp.h"
#include "iwarp/marker.h"

/* Send WQEs of a QP that are fetched and not complete; more wait in the ring. */
#define IW_MAX_INFLIGHT 256u
/*
 * Room for Read Requests of the peer and for our own outstanding Reads. One more than
 * either limit may be there: a ready-to-receive Read.
 */
#define IW_READS (2u * RNIC_MAX_IRD)
/* Work of one QP in one turn. */
#define IW_BUDGET_BYTES (512u << 10)
#define IW_BUDGET_MSGS	64u
/* What a QP that fails may keep of its unacknowledged payload (iw_tx_detach). */
#define IW_DETACH_MAX (16u << 20)
/* What all that fail together may keep. */
#define IW_DETACH_ALL (256u << 20)
/* Pieces of host memory that one FPDU's payload may consist of. */
#define IW_MAX_IOV 64

struct iw_cq {
	struct rnic *dev;
	u32 cqn;
	u32 eqn;
	u32 db_page;
	u32 ring_off;
	u32 rec_off;
	u8 shift;
	struct qmem mem;
	u32 pi; /* next CQE to write */
	u32 ci; /* the host's, as last read */
	u32 refs; /* QPs, counted once per queue */
	u32 last_solicited; /* index of the newest solicited or failed CQE */
	bool any_solicited; /* ... if there was one */
	bool armed;
	bool armed_solicited;
	u8 armed_seq;
	s8 fired_seq; /* sequence of the arm that fired last, -1: none */
	bool error;
	struct list_head err_node; /* in iw->cq_errors */
	struct eq_wait comp_wait;
	struct eq_wait err_wait;
};

struct iw_sge {
	u64 addr;
	u32 length;
	u32 stag;
};

/*
 * Payload that has to outlive the work request: host memory is not ours any more
 * once a flush completion was written, yet TCP may still have to send it again.
 */
struct iw_snap {
	u8 *data;
	u32 off; /* message offset of data[0] */
	u32 len;
};

/**
 * struct iw_wr - a send work request in flight: our copy of the WQE, and its progress
 * @index: free-running number of its WQE
 * @opcode: enum ornic_wr_opcode
 * @flags: ORNIC_WRF_*; SIGNALED also by ORNIC_QPF_SIG_ALL
 * @status: enum ornic_cqe_status that it is to complete with once the QP fails
 * @syndrome: with @status
 * @done: may complete: last byte acknowledged; Read: also placed; local operation: executed
 * @acked: the last byte was acknowledged
 * @placed: Read: the last byte was placed
 * @length: bytes of the message, payload of a Read Request not counted
 * @sent: bytes handed to TCP
 * @acked_off: bytes acknowledged
 * @msn: Send, Read: message sequence number
 * @inv_stag: STag to invalidate, here or there
 * @snap: see struct iw_snap
 * @sge: SGEs
 * @inl: inline payload
 * @reg: REG_MR
 */
struct iw_wr {
	u32 index;
	u8 opcode;
	u8 flags;
	u8 num_sge;
	u8 status;
	u16 syndrome;
	bool done;
	bool acked;
	bool placed;
	u32 length;
	u32 sent;
	u32 acked_off;
	u32 msn;
	u32 inv_stag;
	u32 remote_stag;
	u64 remote_addr;
	struct iw_snap snap;
	union {
		struct iw_sge sge[RNIC_MAX_SGE];
		u8 inl[RNIC_MAX_INLINE];
		struct ornic_sq_wqe_reg reg;
	};
};

/**
 * struct iw_resp - a Read Request of the peer, answered in order
 * @req: the request
 * @sent: bytes of the response handed to TCP
 * @acked_off: bytes acknowledged
 * @rtr: ready-to-receive Read, not counted against the IRD
 * @ddp: DDP header of the request, for a Terminate that names it
 * @snap: see struct iw_snap
 */
struct iw_resp {
	struct rdmap_read req;
	u32 sent;
	u32 acked_off;
	bool rtr;
	u8 ddp[DDP_UNTAGGED_LEN];
	struct iw_snap snap;
};

struct iw_sq {
	u32 pi; /* newest producer index that we know */
	u32 fetched; /* next WQE to fetch */
	u32 ci; /* oldest WQE that is not complete */
	u32 off;
	u8 shift;
	u8 stride_shift;
	u32 mask; /* of @wr */
	struct iw_wr *wr;
};

/**
 * struct iw_rq - receive queue, and the receive that a Send is being placed in
 * @pi: newest producer index that we know
 * @ci: next WQE to take; @busy: that one is taken
 * @busy: a Send has begun
 * @opcode: of the Send's first segment
 * @stag: likewise
 * @got: bytes placed
 * @room: bytes of all SGEs
 */
struct iw_rq {
	u32 pi;
	u32 ci;
	u32 off;
	u8 shift;
	u8 stride_shift;
	bool busy;
	u8 num_sge;
	u8 opcode;
	u32 stag;
	u32 got;
	u32 room;
	struct iw_sge sge[RNIC_MAX_SGE];
};

enum iw_tx_kind {
	IW_TX_NONE,
	IW_TX_WR,
	IW_TX_RESP,
	IW_TX_RTR,
	IW_TX_TERM,
};

/**
 * struct iw_tx - transmission
 * @busy: iw_tx_run() is active, further calls only set @again
 * @sq_open: the SQ may run (responder: the first FPDU came)
 * @fin: conn_close() was called
 * @want_rtr: the ready-to-receive message was not sent yet
 * @want_term: a Terminate waits for room
 * @resp_turn: responses go before the SQ at the next message boundary
 * @cur: message that is partly sent: IW_TX_WR or IW_TX_RESP
 * @cur_wr: with IW_TX_WR
 * @cur_resp: with IW_TX_RESP: index in @resp
 * @next_wr: index of the oldest WR that was fetched and not started
 * @msn: last one used per queue
 * @resp: ring of the peer's Read Requests: [resp_ci, resp_pi) not acknowledged, [resp_tx, resp_pi)
 * not begun
 * @orq: ring of our outstanding Reads' WQE indexes
 * @rtr_out: our RTR Read is outstanding; it is older than all of @orq
 * @rtr_in: the peer's RTR Read is in @resp
 * @term: Terminate message
 * @snap: copies that struct iw_snap point into, @snap_len bytes; gone with the connection
 * @mulpdu: when last looked at
 * @markers: the peer asked for them
 * @pos: bytes of the stream of FPDUs that were handed to TCP, modulo 2^32
 */
struct iw_tx {
	bool busy;
	bool again;
	bool sq_open;
	bool fin;
	bool want_rtr;
	bool want_term;
	bool resp_turn;
	u8 cur;
	struct iw_wr *cur_wr;
	u32 cur_resp;
	u32 next_wr;
	u32 msn[DDP_QN_COUNT];
	struct iw_resp *resp;
	u32 resp_pi;
	u32 resp_tx;
	u32 resp_ci;
	u32 *orq;
	u32 orq_pi;
	u32 orq_ci;
	bool rtr_out;
	bool rtr_in;
	u8 *snap;
	u32 snap_len;
	struct ornic_terminate term;
	u8 term_len;
	u32 mulpdu;
	bool markers;
	u32 pos;
};

/**
 * struct iw_rx - reception
 * @stopped: an error was met, all further bytes are dropped
 * @first_seen: a valid FPDU came
 * @fin: the peer's FIN came
 * @acc: FPDU that did not come in one piece or that has markers; NULL until that happens
 * @acc_len: bytes in @acc
 * @msn: next one expected, per queue
 * @read_got: bytes of the oldest outstanding Read that were placed
 * @markers: we asked for them
 * @pos: with @markers: bytes of the stream of FPDUs before the current one, modulo 2^32
 */
struct iw_rx {
	bool stopped;
	bool first_seen;
	bool fin;
	u8 *acc;
	u32 acc_len;
	u32 msn[DDP_QN_COUNT];
	u32 read_got;
	bool markers;
	u32 pos;
};

struct iw_qp {
	struct rnic *dev;
	struct rnic_conn *conn; /* bound, without terminal event */
	u32 qpn;
	u32 pdn;
	u32 db_page;
	u16 flags;
	u16 access;
	u8 state;
	u8 role;
	u8 rtr;
	bool crc;
	bool awake; /* as in the record */
	bool privileged;
	u16 ird;
	u16 ord;
	u16 cause; /* enum ornic_syndrome: why it went to ERROR */
	u32 close_pi; /* CLOSING: the SQ is finished up to here */
	u32 rec_off;
	struct qmem mem;
	struct iw_cq *scq;
	struct iw_cq *rcq;
	struct list_head run; /* in iw->run */
	struct eq_wait async_wait;
	struct iw_sq sq;
	struct iw_rq rq;
	struct iw_tx tx;
	struct iw_rx rx;
};

struct iw {
	struct iw_cq *cq[RNIC_MAX_CQ];
	struct iw_qp *qp[RNIC_MAX_QP];
	struct list_head run; /* QPs with work */
	struct list_head cq_errors; /* CQs that failed and whose QPs are not in ERROR yet */
	u32 snap_bytes; /* of all QPs */
	u8 fpdu[MPA_MARKED_MAX]; /* where an FPDU is made that TCP wants a part of */
};

static inline void iw_stat(struct rnic *dev, enum ornic_stat which)
{
	dev->stats[which]++;
}

/* ---- cq.c ---- */

struct iw_cq *iw_cq_find(struct rnic *dev, u32 cqn);
/* @cqe: in host order of bytes as on the ring, all but the phase. Nothing is written to a CQ in
 * error. */
void iw_cq_write(struct iw_cq *cq, struct ornic_cqe *cqe);
bool iw_cq_arm(struct iw_cq *cq, u64 val);
void iw_cq_free(struct iw_cq *cq);

/* ---- qp.c ---- */

/* What becomes of the connection of a QP that fails. */
enum iw_end {
	IW_END_FIN, /* Terminate if one is wanted, FIN */
	IW_END_KEEP, /* stays until the driver closes it */
	IW_END_RST,
	IW_END_LOST, /* it is gone already */
};

/*
 * To ERROR: all work requests are flushed and no host memory that they name is
 * used from then on. @cause: enum ornic_syndrome. Quiet in ERROR, but a reset is
 * carried out there too.
 */
void iw_qp_fail(struct iw_qp *qp, u16 cause, enum iw_end end);
void iw_qp_async(struct iw_qp *qp, u8 type, u16 syndrome, const u8 *term);
/* Put it on the run list. */
void iw_qp_wake(struct iw_qp *qp);
/* CLOSING: FIN once the SQ is finished. */
void iw_qp_close_check(struct iw_qp *qp);
/* The device stops looking at the record. Return: true: there was news, go on. */
bool iw_qp_sleep(struct iw_qp *qp);
/* New producer index of a queue; false: it ran past the ring. */
bool iw_index_ok(u32 pi, u32 *known, u32 ci, u8 shift);
/* A producer index ran past its ring. */
void iw_qp_overrun(struct iw_qp *qp);

/* ---- sq.c ---- */

enum iw_sq_next {
	IW_SQ_IDLE, /* nothing posted */
	IW_SQ_WAIT, /* something has to happen first; iw_qp_wake() when it has */
	IW_SQ_LOCAL, /* a WR without a message was executed */
	IW_SQ_READY, /* @wr is to be sent */
	IW_SQ_DEAD, /* the QP failed */
};

/* Start the next WR. */
enum iw_sq_next iw_sq_next(struct iw_qp *qp, struct iw_wr **wr);
/* Would another message start right behind the one that @tx.next_wr has just passed? */
bool iw_sq_more(struct iw_qp *qp);
/* Complete what can be completed. */
void iw_sq_reap(struct iw_qp *qp);
void iw_sq_flush(struct iw_qp *qp);
/* A look at the producer index in the record; false: the QP failed. */
bool iw_sq_poll(struct iw_qp *qp);
static inline struct iw_wr *iw_sq_wr(struct iw_qp *qp, u32 index)
{
	return &qp->sq.wr[index & qp->sq.mask];
}

/* ---- rq.c ---- */

enum iw_rq_got {
	IW_RQ_OK,
	IW_RQ_EMPTY,
	IW_RQ_BAD, /* an error completion was written */
};

enum iw_rq_got iw_rq_take(struct iw_qp *qp);
/* Place bytes in the receive taken. 0 or -EFAULT. */
int iw_rq_place(struct iw_qp *qp, const u8 *data, u32 len);
void iw_rq_complete(struct iw_qp *qp, u8 status, u16 syndrome, u32 cqe_flags, u32 inv_stag);
void iw_rq_flush(struct iw_qp *qp);

/* ---- tx.c ---- */

void iw_tx_run(struct iw_qp *qp);
/* Keep a copy of all payload that is not acknowledged yet; false: it cannot be had. */
bool iw_tx_detach(struct iw_qp *qp);
/* The copy is of no use any more: nothing will be sent. */
void iw_tx_forget(struct iw_qp *qp);
/* Queue the Terminate message that is wanted; false: not yet, no room. */
bool iw_tx_term(struct iw_qp *qp);
u32 iw_tx_reads_in(const struct iw_qp *qp);
u32 iw_tx_reads_out(const struct iw_qp *qp);

/* ---- term.c ---- */

/**
 * struct iw_fault - what is wrong with an FPDU
 * @layer: enum term_layer
 * @etype: error type
 * @code: error code
 * @syndrome: enum ornic_syndrome for the asynchronous event
 */
struct iw_fault {
	u8 layer;
	u8 etype;
	u8 code;
	u16 syndrome;
};

#define IW_FAULT(l, t, c, s) \
	((struct iw_fault){.layer = (l), .etype = (t), .code = (c), .syndrome = (s)})

/*
 * Terminate the stream. @seg: DDP segment in error, NULL if there is none to be
 * named; @seg_len: its length (ULPDU).
 */
void iw_term_send(struct iw_qp *qp, struct iw_fault fault, const u8 *seg, u32 seg_len);
/* A Terminate message came: @p from its control field on. */
void iw_term_received(struct iw_qp *qp, const u8 *p, u32 len);

#endif /* RNICD_IWARP_INTERNAL_H */
