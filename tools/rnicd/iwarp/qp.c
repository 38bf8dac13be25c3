// SPDX-License-Identifier: GPL-2.0-or-later
/* Queue pairs: commands, states, doorbells. */
#include <errno.h>
#include <stdlib.h>

#include "iwarp/internal.h"

#define ACC_REMOTE (ORNIC_ACC_REMOTE_WRITE | ORNIC_ACC_REMOTE_READ | ORNIC_ACC_REMOTE_ATOMIC)
#define QP_FLAGS   (ORNIC_QPF_PRIVILEGED | ORNIC_QPF_SIG_ALL)

#define REC_FIELD(qp, field) ((qp)->rec_off + (u64)offsetof(struct ornic_queue_rec, field))

struct iw_qp *iw_qp_find(struct rnic *dev, u32 qpn)
{
	return qpn < RNIC_MAX_QP ? dev->iw->qp[qpn] : NULL;
}

u8 iw_qp_state(const struct iw_qp *qp)
{
	return qp->state;
}

/* ---- creation ---- */

static struct cmd_ret create_check_objects(struct rnic *dev, const struct ornic_cmd_create_qp *c)
{
	u32 qpn = le32_to_cpu(c->qpn), pdn = le32_to_cpu(c->pdn);
	u32 page = le32_to_cpu(c->db_page);
	u32 flags = le16_to_cpu(c->flags);

	if (!qpn || qpn >= RNIC_MAX_QP)
		return CMD_BAD(NUMBER, struct ornic_cmd_create_qp, qpn);
	if (dev->iw->qp[qpn])
		return CMD_BAD(EXISTS, struct ornic_cmd_create_qp, qpn);
	if (!pdn || pdn >= RNIC_MAX_PD)
		return CMD_BAD(NUMBER, struct ornic_cmd_create_qp, pdn);
	if (le32_to_cpu(c->send_cqn) >= RNIC_MAX_CQ)
		return CMD_BAD(NUMBER, struct ornic_cmd_create_qp, send_cqn);
	if (!iw_cq_find(dev, le32_to_cpu(c->send_cqn)))
		return CMD_BAD(NOT_FOUND, struct ornic_cmd_create_qp, send_cqn);
	if (le32_to_cpu(c->recv_cqn) >= RNIC_MAX_CQ)
		return CMD_BAD(NUMBER, struct ornic_cmd_create_qp, recv_cqn);
	if (!iw_cq_find(dev, le32_to_cpu(c->recv_cqn)))
		return CMD_BAD(NOT_FOUND, struct ornic_cmd_create_qp, recv_cqn);
	if (c->srqn)
		return CMD_BAD(FIELD, struct ornic_cmd_create_qp, srqn);
	if (page >= dev->cfg.db_pages)
		return CMD_BAD(NUMBER, struct ornic_cmd_create_qp, db_page);
	if (flags & ~QP_FLAGS)
		return CMD_BAD(FIELD, struct ornic_cmd_create_qp, flags);
	if ((flags & ORNIC_QPF_PRIVILEGED) && page)
		return CMD_BAD(FIELD, struct ornic_cmd_create_qp, db_page);
	if (le16_to_cpu(c->access) & ~ACC_REMOTE)
		return CMD_BAD(FIELD, struct ornic_cmd_create_qp, access);
	return CMD_OK;
}

static bool overlap(u64 a, u64 a_len, u64 b, u64 b_len)
{
	return a < b + b_len && b < a + a_len;
}

static struct cmd_ret create_check_layout(const struct ornic_cmd_create_qp *c, u64 *need)
{
	u64 sq = le32_to_cpu(c->sq_off), rq = le32_to_cpu(c->rq_off), rec = le32_to_cpu(c->rec_off);
	u64 rec_len = sizeof(struct ornic_queue_rec), sq_len, rq_len;

	if (c->sq_shift < 1 || c->sq_shift > RNIC_MAX_SQ_SHIFT)
		return CMD_BAD(FIELD, struct ornic_cmd_create_qp, sq_shift);
	if (c->sq_stride_shift < ORNIC_SQ_STRIDE_MIN_SHIFT ||
	    c->sq_stride_shift > ORNIC_SQ_STRIDE_MAX_SHIFT)
		return CMD_BAD(FIELD, struct ornic_cmd_create_qp, sq_stride_shift);
	if (c->rq_shift < 1 || c->rq_shift > RNIC_MAX_RQ_SHIFT)
		return CMD_BAD(FIELD, struct ornic_cmd_create_qp, rq_shift);
	if (c->rq_stride_shift < ORNIC_RQ_STRIDE_MIN_SHIFT ||
	    c->rq_stride_shift > ORNIC_RQ_STRIDE_MAX_SHIFT)
		return CMD_BAD(FIELD, struct ornic_cmd_create_qp, rq_stride_shift);
	sq_len = 1ULL << (c->sq_shift + c->sq_stride_shift);
	rq_len = 1ULL << (c->rq_shift + c->rq_stride_shift);
	if (!IS_ALIGNED(sq, 64))
		return CMD_BAD(FIELD, struct ornic_cmd_create_qp, sq_off);
	if (!IS_ALIGNED(rq, 64) || overlap(sq, sq_len, rq, rq_len))
		return CMD_BAD(FIELD, struct ornic_cmd_create_qp, rq_off);
	if (!IS_ALIGNED(rec, ORNIC_QUEUE_REC_ALIGN) || overlap(sq, sq_len, rec, rec_len) ||
	    overlap(rq, rq_len, rec, rec_len))
		return CMD_BAD(FIELD, struct ornic_cmd_create_qp, rec_off);
	*need = max(max(sq + sq_len, rq + rq_len), rec + rec_len);
	return CMD_OK;
}

static void qp_free(struct iw_qp *qp)
{
	free(qp->sq.wr);
	free(qp->tx.resp);
	free(qp->tx.orq);
	iw_tx_forget(qp);
	free(qp->rx.acc);
	free(qp);
}

static struct iw_qp *qp_alloc(const struct ornic_cmd_create_qp *c)
{
	u32 inflight = min(1u << c->sq_shift, IW_MAX_INFLIGHT);
	struct iw_qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	qp->sq.wr = calloc(inflight, sizeof(*qp->sq.wr));
	qp->tx.resp = calloc(IW_READS, sizeof(*qp->tx.resp));
	qp->tx.orq = calloc(IW_READS, sizeof(*qp->tx.orq));
	if (!qp->sq.wr || !qp->tx.resp || !qp->tx.orq) {
		qp_free(qp);
		return NULL;
	}
	qp->sq.mask = inflight - 1;
	qp->qpn = le32_to_cpu(c->qpn);
	qp->pdn = le32_to_cpu(c->pdn);
	qp->db_page = le32_to_cpu(c->db_page);
	qp->flags = le16_to_cpu(c->flags);
	qp->privileged = qp->flags & ORNIC_QPF_PRIVILEGED;
	qp->access = le16_to_cpu(c->access);
	qp->rec_off = le32_to_cpu(c->rec_off);
	qp->sq.off = le32_to_cpu(c->sq_off);
	qp->sq.shift = c->sq_shift;
	qp->sq.stride_shift = c->sq_stride_shift;
	qp->rq.off = le32_to_cpu(c->rq_off);
	qp->rq.shift = c->rq_shift;
	qp->rq.stride_shift = c->rq_stride_shift;
	list_init(&qp->run);
	return qp;
}

struct cmd_ret iw_cmd_create_qp(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_create_qp *c = cmd;
	struct cmd_ret ret = create_check_objects(dev, c);
	struct iw_qp *qp;
	u64 need;

	if (ret.status)
		return ret;
	ret = create_check_layout(c, &need);
	if (ret.status)
		return ret;
	qp = qp_alloc(c);
	if (!qp)
		return cmd_ret(ORNIC_CMDS_NO_MEMORY, 0);
	qp->dev = dev;
	ret = qmem_init(dev, &qp->mem, &c->mem, need, offsetof(struct ornic_cmd_create_qp, mem));
	if (ret.status) {
		qp_free(qp);
		return ret;
	}
	qp->scq = iw_cq_find(dev, le32_to_cpu(c->send_cqn));
	qp->rcq = iw_cq_find(dev, le32_to_cpu(c->recv_cqn));
	qp->scq->refs++;
	qp->rcq->refs++;
	/* Receives are looked at when a Send comes: until ERROR nobody need ring for them. */
	qmem_store32(dev, &qp->mem, REC_FIELD(qp, rq_awake), 1);
	dev->iw->qp[qp->qpn] = qp;
	return CMD_OK;
}

/* ---- destruction ---- */

static void qp_drop(struct iw_qp *qp)
{
	struct rnic *dev = qp->dev;

	list_del(&qp->run);
	eq_wait_cancel(&qp->async_wait);
	qp->scq->refs--;
	qp->rcq->refs--;
	qmem_free(dev, &qp->mem);
	dev->iw->qp[qp->qpn] = NULL;
	qp_free(qp);
}

/*
 * The reset takes everything that TCP had queued with it, so nothing looks at
 * the memory of the work requests any more when this has answered.
 */
struct cmd_ret iw_cmd_destroy_qp(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_number *c = cmd;
	u32 qpn = le32_to_cpu(c->number);
	struct iw_qp *qp = iw_qp_find(dev, qpn);
	struct rnic_conn *conn;

	if (!qpn || qpn >= RNIC_MAX_QP)
		return CMD_BAD(NUMBER, struct ornic_cmd_number, number);
	if (!qp)
		return CMD_BAD(NOT_FOUND, struct ornic_cmd_number, number);
	conn = qp->conn;
	qp->conn = NULL;
	if (conn)
		conn_abort(conn, ORNIC_ABORT_QP);
	qp_drop(qp);
	return CMD_OK;
}

int iw_init(struct rnic *dev)
{
	dev->iw = calloc(1, sizeof(*dev->iw));
	if (!dev->iw)
		return -ENOMEM;
	list_init(&dev->iw->run);
	list_init(&dev->iw->cq_errors);
	return 0;
}

void iw_reset(struct rnic *dev)
{
	u32 i;

	for (i = 0; i < RNIC_MAX_QP; i++) {
		if (!dev->iw->qp[i])
			continue;
		dev->iw->qp[i]->conn = NULL;
		qp_drop(dev->iw->qp[i]);
	}
	for (i = 0; i < RNIC_MAX_CQ; i++)
		if (dev->iw->cq[i])
			iw_cq_free(dev->iw->cq[i]);
}

void iw_free(struct rnic *dev)
{
	if (!dev->iw)
		return;
	iw_reset(dev);
	free(dev->iw);
	dev->iw = NULL;
}

/* ---- states ---- */

void iw_qp_async(struct iw_qp *qp, u8 type, u16 syndrome, const u8 *term)
{
	struct ornic_aeqe ev = {
		.type = type,
		.syndrome = cpu_to_le16(syndrome),
		.number = cpu_to_le32(qp->qpn),
	};

	if (term)
		memcpy(ev.term, term, sizeof(ev.term));
	eq_async_event(qp->dev, &ev, &qp->async_wait);
}

static void qp_flush(struct iw_qp *qp)
{
	iw_sq_flush(qp);
	iw_rq_flush(qp);
}

/*
 * Flush, and leave the record in a state in which the host rings for what it posts later. What was
 * posted meanwhile waits for the next turn: a host that posts as fast as it is flushed would keep
 * everybody else waiting here.
 */
static void qp_flush_all(struct iw_qp *qp)
{
	list_del(&qp->run);
	qp_flush(qp);
	if (iw_qp_sleep(qp))
		iw_qp_wake(qp);
}

static void qp_reset_conn(struct iw_qp *qp)
{
	struct rnic_conn *conn = qp->conn;
	enum ornic_abort why = qp->cause == ORNIC_SYN_DMA ? ORNIC_ABORT_DMA : ORNIC_ABORT_QP;

	qp->conn = NULL;
	if (conn)
		conn_abort(conn, why);
}

/* Terminate, if one waits, then FIN. */
static void qp_finish_conn(struct iw_qp *qp)
{
	qp->tx.fin = true;
	if (iw_tx_term(qp) && qp->conn)
		conn_close(qp->conn);
}

void iw_qp_fail(struct iw_qp *qp, u16 cause, enum iw_end end)
{
	if (!qp->conn)
		end = IW_END_LOST;
	if (qp->state != ORNIC_QPS_ERROR) {
		qp->state = ORNIC_QPS_ERROR;
		qp->cause = cause;
		qp->rx.stopped = true;
		/* Before the flush: its last look at the record comes after a full barrier. */
		qmem_store32(qp->dev, &qp->mem, REC_FIELD(qp, rq_awake), 0);
		/* The stream goes on without the host's memory, or not at all. */
		if ((end == IW_END_FIN || end == IW_END_KEEP) && !iw_tx_detach(qp))
			end = IW_END_RST;
		qp_flush_all(qp);
	}
	switch (end) {
	case IW_END_FIN:
		qp_finish_conn(qp);
		break;
	case IW_END_RST:
		qp_reset_conn(qp);
		break;
	case IW_END_LOST:
		qp->conn = NULL;
		break;
	case IW_END_KEEP:
		break;
	}
	if (!qp->conn)
		iw_tx_forget(qp);
}

void iw_conn_lost(struct iw_qp *qp)
{
	qp->conn = NULL;
	iw_qp_fail(qp, ORNIC_SYN_CONN_LOST, IW_END_LOST);
}

void iw_peer_fin(struct iw_qp *qp)
{
	qp->rx.fin = true;
	if (qp->state == ORNIC_QPS_ERROR)
		return;
	/* Both ends close: the peer still takes what we have to say, but answers no Read. */
	if (qp->state == ORNIC_QPS_CLOSING && qp->tx.orq_pi == qp->tx.orq_ci)
		return;
	iw_qp_fail(qp, ORNIC_SYN_CONN_LOST,
		   qp->state == ORNIC_QPS_CLOSING ? IW_END_FIN : IW_END_KEEP);
}

void iw_fin_acked(struct iw_qp *qp)
{
}

void iw_pull(struct iw_qp *qp)
{
	if (qp->state != ORNIC_QPS_ERROR)
		iw_tx_run(qp);
	else if (qp->tx.want_term && qp->conn)
		qp_finish_conn(qp);
}

/* Is anything left that has to go out before the FIN? */
static bool qp_drained(const struct iw_qp *qp)
{
	const struct iw_tx *tx = &qp->tx;

	/* A responder that never heard from its peer may not send at all (RFC 5044 7.1.2). */
	if (!tx->sq_open)
		return true;
	return qp->sq.ci == qp->close_pi && tx->resp_tx == tx->resp_pi && tx->cur == IW_TX_NONE &&
	       !tx->want_rtr;
}

void iw_qp_close_check(struct iw_qp *qp)
{
	if (qp->state != ORNIC_QPS_CLOSING || qp->tx.fin || !qp_drained(qp))
		return;
	qp->tx.fin = true;
	conn_close(qp->conn);
}

void iw_qp_close(struct iw_qp *qp)
{
	if (qp->state == ORNIC_QPS_ERROR && qp->conn)
		qp_finish_conn(qp);
	if (qp->state != ORNIC_QPS_RTS || !iw_sq_poll(qp))
		return;
	qp->state = ORNIC_QPS_CLOSING;
	qp->close_pi = qp->sq.pi;
	iw_qp_wake(qp);
	iw_qp_close_check(qp);
}

static struct cmd_ret modify_state(struct iw_qp *qp, u8 state)
{
	switch (state) {
	case ORNIC_QPS_CLOSING:
		if (qp->state != ORNIC_QPS_RTS)
			return cmd_ret(ORNIC_CMDS_STATE, 0);
		iw_qp_close(qp);
		return CMD_OK;
	case ORNIC_QPS_ERROR:
		iw_qp_fail(qp, ORNIC_SYN_NONE, IW_END_RST);
		return CMD_OK;
	default:
		/* The contract: others than these two are a matter of state. */
		return CMD_BAD(STATE, struct ornic_cmd_modify_qp, state);
	}
}

struct cmd_ret iw_cmd_modify_qp(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_modify_qp *c = cmd;
	u32 qpn = le32_to_cpu(c->qpn), mask = le32_to_cpu(c->mask);
	struct iw_qp *qp = iw_qp_find(dev, qpn);

	if (!qpn || qpn >= RNIC_MAX_QP)
		return CMD_BAD(NUMBER, struct ornic_cmd_modify_qp, qpn);
	if (!qp)
		return CMD_BAD(NOT_FOUND, struct ornic_cmd_modify_qp, qpn);
	if (mask & ~(ORNIC_MODQP_STATE | ORNIC_MODQP_ACCESS))
		return CMD_BAD(FIELD, struct ornic_cmd_modify_qp, mask);
	if (!(mask & ORNIC_MODQP_STATE) && c->state)
		return CMD_BAD(FIELD, struct ornic_cmd_modify_qp, state);
	if (le16_to_cpu(c->access) & ~((mask & ORNIC_MODQP_ACCESS) ? ACC_REMOTE : 0))
		return CMD_BAD(FIELD, struct ornic_cmd_modify_qp, access);
	if (mask & ORNIC_MODQP_STATE) {
		struct cmd_ret ret = modify_state(qp, c->state);

		if (ret.status)
			return ret;
	}
	if (mask & ORNIC_MODQP_ACCESS)
		qp->access = le16_to_cpu(c->access);
	return CMD_OK;
}

struct cmd_ret iw_cmd_query_qp(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_number *c = cmd;
	u32 qpn = le32_to_cpu(c->number);
	struct iw_qp *qp = iw_qp_find(dev, qpn);
	struct ornic_qp_attr a = {0};

	if (!qpn || qpn >= RNIC_MAX_QP)
		return CMD_BAD(NUMBER, struct ornic_cmd_number, number);
	if (!qp)
		return CMD_BAD(NOT_FOUND, struct ornic_cmd_number, number);
	a.state = qp->state;
	a.access = cpu_to_le16(qp->access);
	if (qp->state == ORNIC_QPS_RTS || qp->state == ORNIC_QPS_CLOSING)
		a.role = qp->role;
	a.conn_id = cpu_to_le32(qp->conn ? qp->conn->id : 0);
	a.sq_pi = cpu_to_le32(qp->sq.pi);
	a.sq_ci = cpu_to_le32(qp->sq.ci);
	a.rq_pi = cpu_to_le32(qp->rq.pi);
	a.rq_ci = cpu_to_le32(qp->rq.ci);
	a.ird = cpu_to_le16(qp->ird);
	a.ord = cpu_to_le16(qp->ord);
	a.reads_out = cpu_to_le16(iw_tx_reads_out(qp));
	a.reads_in = cpu_to_le16(iw_tx_reads_in(qp));
	if (qp->conn)
		a.mulpdu = cpu_to_le32(mpa_mulpdu(tcp_emss(qp->conn->tcp), qp->tx.markers));
	if (dma_write(dev->dma, le64_to_cpu(c->hdr.data), &a, sizeof(a)))
		return CMD_BAD(ADDRESS, struct ornic_cmd_number, hdr.data);
	return CMD_OK;
}

/* ---- binding ---- */

void iw_bind(struct iw_qp *qp, struct rnic_conn *c, const struct ornic_cmd_mode_rdma *cmd)
{
	u32 qn;

	qp->conn = c;
	qp->state = ORNIC_QPS_RTS;
	qp->role = cmd->role;
	qp->rtr = cmd->rtr;
	qp->crc = le16_to_cpu(cmd->flags) & ORNIC_RDMAF_CRC;
	qp->tx.markers = le16_to_cpu(cmd->flags) & ORNIC_RDMAF_TX_MARKERS;
	qp->rx.markers = le16_to_cpu(cmd->flags) & ORNIC_RDMAF_RX_MARKERS;
	qp->ird = le16_to_cpu(cmd->ird);
	qp->ord = le16_to_cpu(cmd->ord);
	for (qn = 0; qn < DDP_QN_COUNT; qn++)
		qp->rx.msn[qn] = 1;
	qp->tx.want_rtr = qp->role == ORNIC_ROLE_INITIATOR && qp->rtr != ORNIC_RTR_NONE;
}

void iw_start(struct iw_qp *qp)
{
	if (qp->state != ORNIC_QPS_RTS)
		return;
	qp->tx.sq_open = qp->role == ORNIC_ROLE_INITIATOR;
	iw_qp_wake(qp);
}

/* ---- doorbells and turns ---- */

bool iw_index_ok(u32 pi, u32 *known, u32 ci, u8 shift)
{
	/* An old index: doorbells and the record overtake each other. */
	if ((s32)(pi - *known) <= 0)
		return true;
	if (pi - ci > 1u << shift)
		return false;
	*known = pi;
	return true;
}

static void qp_set_awake(struct iw_qp *qp, bool on)
{
	if (qp->awake == on)
		return;
	qp->awake = on;
	qmem_store32(qp->dev, &qp->mem, REC_FIELD(qp, awake), on);
}

void iw_qp_wake(struct iw_qp *qp)
{
	if (list_empty(&qp->run))
		list_add_tail(&qp->run, &qp->dev->iw->run);
}

bool iw_qp_sleep(struct iw_qp *qp)
{
	u32 sq_pi, rq_pi;

	qp_set_awake(qp, false);
	qmem_store32(qp->dev, &qp->mem, REC_FIELD(qp, dev_ci), qp->sq.ci);
	/* Pairs with the host's barrier between its store of the index and its look at "awake". */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (qmem_load32(qp->dev, &qp->mem, REC_FIELD(qp, pi), &sq_pi))
		return false;
	if ((s32)(sq_pi - qp->sq.pi) > 0 && sq_pi - qp->sq.ci <= 1u << qp->sq.shift)
		return true;
	if (qp->state != ORNIC_QPS_ERROR)
		return false;
	/* In ERROR the receive queue is flushed as it fills; else it is looked at when a Send
	 * comes. */
	if (qmem_load32(qp->dev, &qp->mem, REC_FIELD(qp, rq_pi), &rq_pi))
		return false;
	return (s32)(rq_pi - qp->rq.pi) > 0 && rq_pi - qp->rq.ci <= 1u << qp->rq.shift;
}

void iw_qp_overrun(struct iw_qp *qp)
{
	if (qp->state == ORNIC_QPS_ERROR)
		return;
	iw_stat(qp->dev, ORNIC_STAT_IW_WQE_ERR);
	if (qp->conn) {
		iw_term_send(qp,
			     IW_FAULT(TERM_RDMAP, RDMAP_LOCAL_CATASTROPHIC, 0, ORNIC_SYN_DOORBELL),
			     NULL, 0);
	} else {
		/* IDLE: there is no stream to terminate. */
		iw_qp_async(qp, ORNIC_ASYNC_QP_FATAL, ORNIC_SYN_DOORBELL, NULL);
		iw_qp_fail(qp, ORNIC_SYN_DOORBELL, IW_END_LOST);
	}
}

static bool doorbell_queue(struct rnic *dev, u32 kind, u32 page, u64 val)
{
	struct iw_qp *qp = iw_qp_find(dev, (u32)FIELD_GET(ORNIC_DB_NUMBER, val));
	u32 index = (u32)FIELD_GET(ORNIC_DB_INDEX, val);
	bool ok;

	if (!qp || qp->db_page != page || (val & GENMASK_ULL(31, 24)))
		return false;
	if (kind == ORNIC_DB_SQ)
		ok = iw_index_ok(index, &qp->sq.pi, qp->sq.ci, qp->sq.shift);
	else
		ok = iw_index_ok(index, &qp->rq.pi, qp->rq.ci, qp->rq.shift);
	if (!ok)
		iw_qp_overrun(qp);
	else if (kind == ORNIC_DB_SQ || qp->state == ORNIC_QPS_ERROR)
		iw_qp_wake(qp);
	return true;
}

bool iw_doorbell(struct rnic *dev, u32 kind, u32 page, u64 val)
{
	struct iw_cq *cq;

	switch (kind) {
	case ORNIC_DB_SQ:
	case ORNIC_DB_RQ:
		return doorbell_queue(dev, kind, page, val);
	case ORNIC_DB_CQ_ARM:
		cq = iw_cq_find(dev, (u32)FIELD_GET(ORNIC_DB_NUMBER, val));
		return cq && cq->db_page == page && iw_cq_arm(cq, val);
	default:
		return false;
	}
}

/* Send queue overrun seen in the record, when polled. */
bool iw_sq_poll(struct iw_qp *qp)
{
	u32 pi;

	if (qmem_load32(qp->dev, &qp->mem, REC_FIELD(qp, pi), &pi)) {
		iw_qp_async(qp, ORNIC_ASYNC_QP_FATAL, ORNIC_SYN_DMA, NULL);
		iw_qp_fail(qp, ORNIC_SYN_DMA, IW_END_RST);
		return false;
	}
	if (!iw_index_ok(pi, &qp->sq.pi, qp->sq.ci, qp->sq.shift)) {
		iw_qp_overrun(qp);
		return false;
	}
	return true;
}

/* QPs of CQs that ran over. */
static void run_cq_errors(struct rnic *dev)
{
	struct iw *iw = dev->iw;
	struct iw_cq *cq;
	u32 i;

	while (!list_empty(&iw->cq_errors)) {
		cq = list_first_entry(&iw->cq_errors, struct iw_cq, err_node);
		list_del(&cq->err_node);
		for (i = 0; i < RNIC_MAX_QP; i++) {
			struct iw_qp *qp = iw->qp[i];

			if (qp && (qp->scq == cq || qp->rcq == cq))
				iw_qp_fail(qp, ORNIC_SYN_CQ_OVERFLOW, IW_END_RST);
		}
	}
}

static void qp_turn(struct iw_qp *qp)
{
	switch (qp->state) {
	case ORNIC_QPS_RTS:
	case ORNIC_QPS_CLOSING:
		qp_set_awake(qp, true);
		iw_tx_run(qp);
		break;
	case ORNIC_QPS_ERROR:
		qp_flush_all(qp);
		break;
	default:
		break;
	}
}

bool iw_run(struct rnic *dev)
{
	struct list_head turn;
	struct iw_qp *qp;

	list_init(&turn);
	list_splice_tail(&dev->iw->run, &turn);
	while (!list_empty(&turn)) {
		qp = list_first_entry(&turn, struct iw_qp, run);
		list_del(&qp->run);
		qp_turn(qp);
	}
	run_cq_errors(dev);
	return !list_empty(&dev->iw->run);
}

/* ---- dump ---- */

static void dump_qp(const struct iw_qp *qp, FILE *f)
{
	static const char *const state[] = {"IDLE", "RTS", "CLOSING", "ERROR"};

	fprintf(f, "qp %u %s pd %u access %#x conn %u cause %u%s%s\n", qp->qpn, state[qp->state],
		qp->pdn, qp->access, qp->conn ? qp->conn->id : 0, qp->cause,
		qp->privileged ? " privileged" : "", qp->awake ? " awake" : "");
	fprintf(f, "  sq depth %u pi %u fetched %u ci %u cq %u%s\n", 1u << qp->sq.shift, qp->sq.pi,
		qp->sq.fetched, qp->sq.ci, qp->scq->cqn, qp->tx.sq_open ? "" : " held");
	fprintf(f, "  rq depth %u pi %u ci %u cq %u\n", 1u << qp->rq.shift, qp->rq.pi, qp->rq.ci,
		qp->rcq->cqn);
	fprintf(f, "  ird %u ord %u reads in %u out %u mulpdu %u crc %s\n", qp->ird, qp->ord,
		iw_tx_reads_in(qp), iw_tx_reads_out(qp), qp->tx.mulpdu, qp->crc ? "on" : "off");
}

void iw_dump(struct rnic *dev, FILE *f)
{
	u32 i;

	for (i = 0; i < RNIC_MAX_CQ; i++) {
		const struct iw_cq *cq = dev->iw->cq[i];

		if (cq)
			fprintf(f, "cq %u eq %u depth %u pi %u ci %u qps %u%s%s\n", cq->cqn,
				cq->eqn, 1u << cq->shift, cq->pi, cq->ci, cq->refs,
				!cq->armed	      ? ""
				: cq->armed_solicited ? " armed-solicited"
						      : " armed",
				cq->error ? " ERROR" : "");
	}
	for (i = 0; i < RNIC_MAX_QP; i++)
		if (dev->iw->qp[i])
			dump_qp(dev->iw->qp[i], f);
}
