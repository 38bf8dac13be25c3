// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * OpenRNIC RDMA driver: queue pairs.
 *
 * Consumers know the states RESET, INIT, RTR, RTS, SQD and ERR; the device knows IDLE, RTS, CLOSING
 * and ERROR. INIT and RTR are
 * bookkeeping (both are IDLE), RTS comes with a connection and so from the connection manager only,
 * SQD means to close gracefully and ERR
 * to abort. In ERR the device still takes work requests and flushes them.
 */
#include <linux/log2.h>
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>

#include "iw_ornic.h"

#define IW_ORNIC_QP_SQ_OFF	512	/* behind the record, aligned to the greatest stride */
#define IW_ORNIC_QP_ACCESS	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ)

/**
 * iw_ornic_qp_put() - drop a reference
 * @qp: QP
 *
 * Context: Any.
 */
void iw_ornic_qp_put(struct iw_ornic_qp *qp)
{
	if (refcount_dec_and_test(&qp->ref))
		complete(&qp->free);
}

/**
 * iw_ornic_qp_find() - look a QP up and take a reference
 * @dev: device
 * @qpn: QP number
 *
 * Context: Any.
 * Return: QP, or NULL: there is none, or it is going
 */
struct iw_ornic_qp *iw_ornic_qp_find(struct iw_ornic_dev *dev, u32 qpn)
{
	struct iw_ornic_qp *qp;
	unsigned long flags;

	xa_lock_irqsave(&dev->qps, flags);
	qp = xa_load(&dev->qps, qpn);
	if (qp && !refcount_inc_not_zero(&qp->ref))
		qp = NULL;
	xa_unlock_irqrestore(&dev->qps, flags);

	return qp;
}

/*
 * iw_cm looks a QP up by a number that came from user space, then asks for the reference. In
 * between the QP's owner may destroy it, so the look-up takes the reference already.
 */
struct ib_qp *iw_ornic_get_qp(struct ib_device *ibdev, int qpn)
{
	struct iw_ornic_qp *qp = iw_ornic_qp_find(to_iw_ornic_dev(ibdev), qpn);

	return qp ? &qp->ibqp : NULL;
}

void iw_ornic_qp_add_ref(struct ib_qp *ibqp)
{
}

void iw_ornic_qp_rem_ref(struct ib_qp *ibqp)
{
	iw_ornic_qp_put(to_iw_ornic_qp(ibqp));
}

/**
 * iw_ornic_qp_state() - the state as consumers see it
 * @qp: QP
 *
 * Context: Any.
 * Return: state
 */
enum ib_qp_state iw_ornic_qp_state(struct iw_ornic_qp *qp)
{
	return READ_ONCE(qp->state);
}

static void iw_ornic_qp_set_state(struct iw_ornic_qp *qp, enum ib_qp_state state)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	/* Nothing leads out of ERR. */
	if (qp->state != IB_QPS_ERR)
		WRITE_ONCE(qp->state, state);
	spin_unlock_irqrestore(&qp->lock, flags);
}

/**
 * iw_ornic_qp_set_rts() - the device has bound the QP to a connection
 * @qp: QP
 * @ird: Reads that the peer may have outstanding
 * @ord: Reads that this side may have outstanding
 *
 * Without effect once the QP is closing or in ERR.
 *
 * Context: Any.
 */
void iw_ornic_qp_set_rts(struct iw_ornic_qp *qp, u32 ird, u32 ord)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	qp->ird = ird;
	qp->ord = ord;
	if (qp->state != IB_QPS_ERR && qp->state != IB_QPS_SQD)
		WRITE_ONCE(qp->state, IB_QPS_RTS);
	spin_unlock_irqrestore(&qp->lock, flags);
}

/**
 * iw_ornic_qp_set_closing() - the connection is being closed gracefully: the send queue drains
 * @qp: QP
 *
 * Context: Any.
 */
void iw_ornic_qp_set_closing(struct iw_ornic_qp *qp)
{
	iw_ornic_qp_set_state(qp, IB_QPS_SQD);
}

/**
 * iw_ornic_qp_set_error() - the connection has ended: the device flushes what is posted
 * @qp: QP
 *
 * Context: Any.
 */
void iw_ornic_qp_set_error(struct iw_ornic_qp *qp)
{
	iw_ornic_qp_set_state(qp, IB_QPS_ERR);
}

/**
 * iw_ornic_qp_async_event() - the device reports something about a QP
 * @dev: device
 * @qpn: QP number, from the device
 * @type: what the consumer is told
 *
 * Context: Process context, may sleep.
 */
void iw_ornic_qp_async_event(struct iw_ornic_dev *dev, u32 qpn, enum ib_event_type type)
{
	struct iw_ornic_qp *qp = iw_ornic_qp_find(dev, qpn);
	struct ib_event event = {
		.device = &dev->ibdev,
		.event = type,
	};

	if (!qp)
		return;
	iw_ornic_qp_set_error(qp);
	event.element.qp = &qp->ibqp;
	if (qp->ibqp.event_handler)
		qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
	iw_ornic_qp_put(qp);
}

static int iw_ornic_check_init_attr(struct iw_ornic_dev *dev,
				    const struct ib_qp_init_attr *attr)
{
	const struct ornic_limits *limits = &dev->core->limits;
	const struct ib_qp_cap *cap = &attr->cap;

	if (attr->qp_type != IB_QPT_RC || attr->create_flags || attr->srq)
		return -EOPNOTSUPP;
	if (!attr->send_cq || !attr->recv_cq)
		return -EINVAL;
	if ((!cap->max_send_wr && !cap->max_recv_wr) ||
	    cap->max_send_wr > BIT(limits->max_sq_shift) ||
	    cap->max_recv_wr > BIT(limits->max_rq_shift) ||
	    cap->max_send_sge > limits->max_sge || cap->max_recv_sge > limits->max_sge ||
	    cap->max_inline_data > limits->max_inline) {
		ibdev_dbg(&dev->ibdev, "QP of %u/%u WRs, %u/%u SGEs, %u bytes inline refused\n",
			  cap->max_send_wr, cap->max_recv_wr, cap->max_send_sge,
			  cap->max_recv_sge, cap->max_inline_data);
		return -EINVAL;
	}

	return 0;
}

/* From the strides: what a WR of each queue may hold. */
static void iw_ornic_qp_wr_sizes(struct iw_ornic_qp *qp)
{
	const struct ornic_limits *limits = &qp->dev->core->limits;
	u32 payload = BIT(qp->sq.stride_shift) - ORNIC_SQ_DATA_OFF;

	qp->sq.max_sge = min_t(u32, payload / sizeof(struct ornic_sge), limits->max_sge);
	qp->sq.max_inline = min_t(u32, payload, limits->max_inline);
	payload = BIT(qp->rq.stride_shift) - sizeof(struct ornic_rq_wqe);
	qp->rq.max_sge = min_t(u32, payload / sizeof(struct ornic_sge), limits->max_sge);
}

/* The least strides that hold what was asked for; depths are powers of two, 2 or more. */
static int iw_ornic_qp_choose_sizes(struct iw_ornic_qp *qp, const struct ib_qp_cap *cap)
{
	u32 sq_bytes = ORNIC_SQ_DATA_OFF +
		       max_t(u32, cap->max_inline_data,
			     cap->max_send_sge * sizeof(struct ornic_sge));
	u32 rq_bytes = sizeof(struct ornic_rq_wqe) + cap->max_recv_sge * sizeof(struct ornic_sge);

	qp->sq.stride_shift = max(order_base_2(sq_bytes), ORNIC_SQ_STRIDE_MIN_SHIFT);
	qp->rq.stride_shift = max(order_base_2(rq_bytes), ORNIC_RQ_STRIDE_MIN_SHIFT);
	if (qp->sq.stride_shift > ORNIC_SQ_STRIDE_MAX_SHIFT ||
	    qp->rq.stride_shift > ORNIC_RQ_STRIDE_MAX_SHIFT)
		return -EINVAL;
	qp->sq.shift = order_base_2(max(cap->max_send_wr, 2U));
	qp->rq.shift = order_base_2(max(cap->max_recv_wr, 2U));

	return 0;
}

static int iw_ornic_qp_take_sizes(struct iw_ornic_qp *qp, const struct ib_qp_cap *cap,
				  const struct ornic_create_qp_req *req)
{
	const struct ornic_limits *limits = &qp->dev->core->limits;

	if (!req->sq_shift || req->sq_shift > limits->max_sq_shift ||
	    !req->rq_shift || req->rq_shift > limits->max_rq_shift ||
	    req->sq_stride_shift < ORNIC_SQ_STRIDE_MIN_SHIFT ||
	    req->sq_stride_shift > ORNIC_SQ_STRIDE_MAX_SHIFT ||
	    req->rq_stride_shift < ORNIC_RQ_STRIDE_MIN_SHIFT ||
	    req->rq_stride_shift > ORNIC_RQ_STRIDE_MAX_SHIFT)
		return -EINVAL;
	qp->sq.shift = req->sq_shift;
	qp->sq.stride_shift = req->sq_stride_shift;
	qp->rq.shift = req->rq_shift;
	qp->rq.stride_shift = req->rq_stride_shift;
	iw_ornic_qp_wr_sizes(qp);

	if (BIT(qp->sq.shift) < cap->max_send_wr || BIT(qp->rq.shift) < cap->max_recv_wr ||
	    qp->sq.max_sge < cap->max_send_sge || qp->rq.max_sge < cap->max_recv_sge ||
	    qp->sq.max_inline < cap->max_inline_data)
		return -EINVAL;

	return 0;
}

static bool iw_ornic_ring_fits(u32 off, u8 shift, u8 stride_shift, u32 buf_len)
{
	return IS_ALIGNED(off, 64) && off + (1ULL << (shift + stride_shift)) <= buf_len;
}

static int iw_ornic_qp_user_buffer(struct iw_ornic_qp *qp, const struct ib_qp_cap *cap,
				   struct ib_udata *udata, struct ornic_cmd_create_qp *cmd,
				   struct ornic_pbl *pbl)
{
	struct iw_ornic_ucontext *ctx =
		rdma_udata_to_drv_context(udata, struct iw_ornic_ucontext, ibucontext);
	struct ornic_create_qp_req req;
	int ret;

	ret = iw_ornic_copy_in(udata, &req, sizeof(req));
	if (ret)
		return ret;
	if (req.reserved)
		return -EOPNOTSUPP;
	ret = iw_ornic_qp_take_sizes(qp, cap, &req);
	if (ret)
		return ret;
	if (!iw_ornic_ring_fits(req.sq_off, req.sq_shift, req.sq_stride_shift, req.buf_len) ||
	    !iw_ornic_ring_fits(req.rq_off, req.rq_shift, req.rq_stride_shift, req.buf_len) ||
	    !IS_ALIGNED(req.rec_off, ORNIC_QUEUE_REC_ALIGN) ||
	    (u64)req.rec_off + sizeof(struct ornic_queue_rec) > req.buf_len)
		return -EINVAL;

	qp->umem = iw_ornic_pin_buffer(qp->dev, req.buf_addr, req.buf_len, pbl);
	if (IS_ERR(qp->umem))
		return PTR_ERR(qp->umem);
	cmd->db_page = cpu_to_le32(ctx->db_page);
	cmd->sq_off = cpu_to_le32(req.sq_off);
	cmd->rq_off = cpu_to_le32(req.rq_off);
	cmd->rec_off = cpu_to_le32(req.rec_off);
	ornic_pbl_describe(pbl, &cmd->mem);

	return 0;
}

static void iw_ornic_qp_free_buffer(struct iw_ornic_qp *qp)
{
	if (qp->umem) {
		ib_umem_release(qp->umem);
		return;
	}
	kvfree(qp->sq.swr);
	kvfree(qp->rq.swr);
	if (qp->buf.va)
		ornic_qbuf_free(qp->dev->core, &qp->buf);
}

static int iw_ornic_qp_kernel_buffer(struct iw_ornic_qp *qp, const struct ib_qp_cap *cap,
				     struct ornic_cmd_create_qp *cmd)
{
	size_t sq_size, rq_size;
	int ret;

	ret = iw_ornic_qp_choose_sizes(qp, cap);
	if (ret)
		return ret;
	iw_ornic_qp_wr_sizes(qp);
	sq_size = BIT(qp->sq.shift + qp->sq.stride_shift);
	rq_size = BIT(qp->rq.shift + qp->rq.stride_shift);

	qp->sq.swr = kvcalloc(BIT(qp->sq.shift), sizeof(*qp->sq.swr), GFP_KERNEL);
	qp->rq.swr = kvcalloc(BIT(qp->rq.shift), sizeof(*qp->rq.swr), GFP_KERNEL);
	if (!qp->sq.swr || !qp->rq.swr)
		ret = -ENOMEM;
	else
		ret = ornic_qbuf_alloc(qp->dev->core, &qp->buf,
				       IW_ORNIC_QP_SQ_OFF + sq_size + rq_size);
	if (ret) {
		iw_ornic_qp_free_buffer(qp);
		return ret;
	}

	qp->rec = qp->buf.va;
	qp->sq.rec_pi = &qp->rec->pi;
	qp->rq.rec_pi = &qp->rec->rq_pi;
	qp->sq.rec_awake = &qp->rec->awake;
	qp->rq.rec_awake = &qp->rec->rq_awake;
	qp->sq.ring = qp->buf.va + IW_ORNIC_QP_SQ_OFF;
	qp->rq.ring = qp->sq.ring + sq_size;
	cmd->flags = cpu_to_le16(ORNIC_QPF_PRIVILEGED);
	cmd->sq_off = cpu_to_le32(IW_ORNIC_QP_SQ_OFF);
	cmd->rq_off = cpu_to_le32(IW_ORNIC_QP_SQ_OFF + sq_size);
	ornic_qbuf_describe(&qp->buf, &cmd->mem);

	return 0;
}

static int iw_ornic_qp_exec_create(struct iw_ornic_qp *qp, const struct ib_qp_init_attr *attr,
				   struct ornic_cmd_create_qp *cmd)
{
	cmd->hdr.opcode = cpu_to_le16(ORNIC_CMD_CREATE_QP);
	cmd->qpn = cpu_to_le32(qp->qpn);
	cmd->pdn = cpu_to_le32(to_iw_ornic_pd(qp->ibqp.pd)->pdn);
	cmd->send_cqn = cpu_to_le32(to_iw_ornic_cq(attr->send_cq)->cqn);
	cmd->recv_cqn = cpu_to_le32(to_iw_ornic_cq(attr->recv_cq)->cqn);
	cmd->sq_shift = qp->sq.shift;
	cmd->sq_stride_shift = qp->sq.stride_shift;
	cmd->rq_shift = qp->rq.shift;
	cmd->rq_stride_shift = qp->rq.stride_shift;
	cmd->access = cpu_to_le16(iw_ornic_access(qp->access));
	if (qp->sig_all)
		cmd->flags |= cpu_to_le16(ORNIC_QPF_SIG_ALL);

	return ornic_cmd_exec(qp->dev->core, cmd, NULL);
}

/* The device's part of creation; the number is reserved. */
static int iw_ornic_qp_start(struct iw_ornic_qp *qp, const struct ib_qp_init_attr *attr,
			     struct ib_udata *udata)
{
	struct ornic_create_qp_resp resp = { .qpn = qp->qpn };
	struct ornic_cmd_create_qp cmd = {};
	struct ornic_pbl pbl;
	int ret;

	if (udata)
		ret = iw_ornic_qp_user_buffer(qp, &attr->cap, udata, &cmd, &pbl);
	else
		ret = iw_ornic_qp_kernel_buffer(qp, &attr->cap, &cmd);
	if (ret)
		return ret;

	ret = iw_ornic_qp_exec_create(qp, attr, &cmd);
	if (udata)
		ornic_pbl_free(&pbl);
	if (ret)
		goto free_buffer;

	if (udata) {
		ret = iw_ornic_copy_out(udata, &resp, sizeof(resp));
		if (ret)
			goto destroy;
	}

	return 0;

destroy:
	/* Memory that the device may still write to is lost rather than freed. */
	if (iw_ornic_destroy_object(qp->dev, ORNIC_CMD_DESTROY_QP, qp->qpn))
		return ret;
free_buffer:
	iw_ornic_qp_free_buffer(qp);
	return ret;
}

static void iw_ornic_qp_init(struct iw_ornic_qp *qp, const struct ib_qp_init_attr *attr)
{
	qp->dev = to_iw_ornic_dev(qp->ibqp.device);
	qp->state = IB_QPS_RESET;
	qp->access = IW_ORNIC_QP_ACCESS;
	qp->sig_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	refcount_set(&qp->ref, 1);
	init_completion(&qp->free);
	mutex_init(&qp->mutex);
	spin_lock_init(&qp->lock);
	spin_lock_init(&qp->sq.lock);
	spin_lock_init(&qp->rq.lock);
}

/**
 * iw_ornic_create_qp() - create a QP
 * @ibqp: QP
 * @attr: what is asked for; the capabilities are raised to what is granted
 * @udata: struct ornic_create_qp_req and _resp, NULL for a kernel consumer
 *
 * Context: Process context, may sleep.
 * Return: 0, -EOPNOTSUPP (type, flags, SRQ), -EINVAL (sizes, user buffer), -ENOMEM,
 *         errors of iw_ornic_copy_in() and ornic_cmd_exec()
 */
int iw_ornic_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	struct iw_ornic_dev *dev = to_iw_ornic_dev(ibqp->device);
	struct iw_ornic_qp *qp = to_iw_ornic_qp(ibqp);
	int ret;

	ret = iw_ornic_check_init_attr(dev, attr);
	if (ret)
		return ret;
	iw_ornic_qp_init(qp, attr);
	ret = iw_ornic_number_alloc(&dev->qps, &qp->qpn, dev->core->limits.max_qp,
				    &dev->next_qpn);
	if (ret)
		return ret;
	ret = iw_ornic_qp_start(qp, attr, udata);
	if (ret) {
		xa_erase_irq(&dev->qps, qp->qpn);
		return ret;
	}

	attr->cap.max_send_wr = BIT(qp->sq.shift);
	attr->cap.max_recv_wr = BIT(qp->rq.shift);
	attr->cap.max_send_sge = qp->sq.max_sge;
	attr->cap.max_recv_sge = qp->rq.max_sge;
	attr->cap.max_inline_data = qp->sq.max_inline;
	qp->cap = attr->cap;
	ibqp->qp_num = qp->qpn;
	/* Set by the core too, but after this: a completion may be polled at once. */
	ibqp->send_cq = attr->send_cq;
	ibqp->recv_cq = attr->recv_cq;
	if (!udata)
		iw_ornic_cq_add_qp(qp);
	/* The entry is reserved: storing needs no memory. */
	xa_store_irq(&dev->qps, qp->qpn, qp, GFP_KERNEL);

	return 0;
}

static int iw_ornic_qp_exec_modify(struct iw_ornic_qp *qp, u32 mask, enum ornic_qp_state state,
				   u16 access)
{
	struct ornic_cmd_modify_qp cmd = {};

	cmd.hdr.opcode = cpu_to_le16(ORNIC_CMD_MODIFY_QP);
	cmd.qpn = cpu_to_le32(qp->qpn);
	cmd.mask = cpu_to_le32(mask);
	cmd.state = state;
	cmd.access = cpu_to_le16(access);

	return ornic_cmd_exec(qp->dev->core, &cmd, NULL);
}

/*
 * No flags at all is what the RDMA CM says while it has no iw_cm identifier yet, at creation and
 * before rdma_connect() that is; it says nothing later. It is no wish to be unreachable: the rights
 * of MRs decide.
 */
static int iw_ornic_qp_modify_access(struct iw_ornic_qp *qp, int access)
{
	int ret;

	/* Local write is a right of memory; consumers name it here by habit. */
	if (access & ~(IB_ACCESS_LOCAL_WRITE | IW_ORNIC_QP_ACCESS | IB_ACCESS_OPTIONAL))
		return -EOPNOTSUPP;
	access &= IW_ORNIC_QP_ACCESS;
	if (!access || access == qp->access)
		return 0;
	ret = iw_ornic_qp_exec_modify(qp, ORNIC_MODQP_ACCESS, 0, iw_ornic_access(access));
	if (!ret)
		qp->access = access;

	return ret;
}

/* The flush of what is posted follows from the state; a stopped device leaves it to the driver. */
static int iw_ornic_qp_to_error(struct iw_ornic_qp *qp)
{
	int ret;

	/* Before the end of the present connection, so that none is begun after it. */
	iw_ornic_qp_set_error(qp);
	iw_ornic_cm_qp_disconnect(qp, true);
	ret = iw_ornic_qp_exec_modify(qp, ORNIC_MODQP_STATE, ORNIC_QPS_ERROR, 0);
	if (ret && ornic_alive(qp->dev->core))
		return ret;
	if (iw_ornic_dead(qp->dev))
		iw_ornic_flush_kick(qp->dev);

	return 0;
}

static int iw_ornic_qp_change_state(struct iw_ornic_qp *qp, enum ib_qp_state to)
{
	enum ib_qp_state from = iw_ornic_qp_state(qp);

	switch (to) {
	case IB_QPS_RESET:
		return from == IB_QPS_RESET ? 0 : -EINVAL;
	case IB_QPS_INIT:
		if (from != IB_QPS_RESET && from != IB_QPS_INIT)
			return -EINVAL;
		iw_ornic_qp_set_state(qp, IB_QPS_INIT);
		return 0;
	case IB_QPS_RTR:
		if (from != IB_QPS_INIT && from != IB_QPS_RTR)
			return -EINVAL;
		iw_ornic_qp_set_state(qp, IB_QPS_RTR);
		return 0;
	case IB_QPS_RTS:
		return from == IB_QPS_RTS ? 0 : -EINVAL;
	case IB_QPS_SQD:
		/* The connection may have ended a moment ago: a second disconnect is no error. */
		if (from == IB_QPS_SQD || from == IB_QPS_ERR)
			return 0;
		return from == IB_QPS_RTS ? iw_ornic_cm_qp_disconnect(qp, false) : -EINVAL;
	case IB_QPS_ERR:
		return iw_ornic_qp_to_error(qp);
	default:
		return -EOPNOTSUPP;
	}
}

/**
 * iw_ornic_modify_qp() - change a QP
 * @ibqp: QP
 * @attr: new values
 * @mask: which; iWARP QPs have state, access flags and port. An empty change is fine
 * @udata: no request, no response
 *
 * Context: Process context, may sleep.
 * Return: 0, -EINVAL (no such transition), -EOPNOTSUPP (no such attribute, state or access right),
 *         errors of iw_ornic_no_input() and ornic_cmd_exec()
 */
int iw_ornic_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		       struct ib_udata *udata)
{
	struct iw_ornic_qp *qp = to_iw_ornic_qp(ibqp);
	int ret;

	ret = iw_ornic_no_input(udata);
	if (ret)
		return ret;
	if (mask & ~(IB_QP_STATE | IB_QP_CUR_STATE | IB_QP_ACCESS_FLAGS | IB_QP_PORT |
		     IB_QP_PKEY_INDEX))
		return -EOPNOTSUPP;
	/* Programs written for InfiniBand name partition 0; there is no other. */
	if (((mask & IB_QP_PORT) && attr->port_num != IW_ORNIC_PORT) ||
	    ((mask & IB_QP_PKEY_INDEX) && attr->pkey_index))
		return -EINVAL;

	mutex_lock(&qp->mutex);
	if ((mask & IB_QP_CUR_STATE) && attr->cur_qp_state != iw_ornic_qp_state(qp))
		ret = -EINVAL;
	if (!ret && (mask & IB_QP_ACCESS_FLAGS))
		ret = iw_ornic_qp_modify_access(qp, attr->qp_access_flags);
	if (!ret && (mask & IB_QP_STATE))
		ret = iw_ornic_qp_change_state(qp, attr->qp_state);
	mutex_unlock(&qp->mutex);

	return ret;
}

/* What the device knows better: it moves to RTS, CLOSING and ERROR at its own time. */
static int iw_ornic_qp_ask_device(struct iw_ornic_qp *qp, struct ib_qp_attr *attr)
{
	struct ornic_cmd_number cmd = {};
	const struct ornic_qp_attr *hw;
	struct ornic_qbuf buf;
	int ret;

	ret = ornic_qbuf_alloc(qp->dev->core, &buf, sizeof(*hw));
	if (ret)
		return ret;
	cmd.hdr.opcode = cpu_to_le16(ORNIC_CMD_QUERY_QP);
	cmd.hdr.data = cpu_to_le64(buf.dma);
	cmd.number = cpu_to_le32(qp->qpn);
	ret = ornic_cmd_exec(qp->dev->core, &cmd, NULL);
	if (!ret) {
		hw = buf.va;
		switch (hw->state) {
		case ORNIC_QPS_RTS:
			attr->qp_state = IB_QPS_RTS;
			break;
		case ORNIC_QPS_CLOSING:
			attr->qp_state = IB_QPS_SQD;
			attr->sq_draining = hw->sq_pi != hw->sq_ci;
			break;
		case ORNIC_QPS_ERROR:
			attr->qp_state = IB_QPS_ERR;
			break;
		}
	}
	ornic_qbuf_free(qp->dev->core, &buf);

	return ret;
}

/**
 * iw_ornic_query_qp() - attributes of a QP
 * @ibqp: QP
 * @attr: attributes
 * @mask: not looked at, all are given
 * @init_attr: attributes of creation
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOMEM, errors of ornic_cmd_exec() from a device that lives
 */
int iw_ornic_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		      struct ib_qp_init_attr *init_attr)
{
	struct iw_ornic_qp *qp = to_iw_ornic_qp(ibqp);
	int ret;

	memset(attr, 0, sizeof(*attr));
	memset(init_attr, 0, sizeof(*init_attr));

	attr->qp_state = iw_ornic_qp_state(qp);
	ret = iw_ornic_qp_ask_device(qp, attr);
	if (ret) {
		if (ornic_alive(qp->dev->core))
			return ret;
		attr->qp_state = IB_QPS_ERR;
	}
	attr->cur_qp_state = attr->qp_state;
	attr->path_mtu = ib_mtu_int_to_enum(READ_ONCE(qp->dev->core->netdev->mtu));
	attr->qp_access_flags = qp->access;
	attr->cap = qp->cap;
	attr->port_num = IW_ORNIC_PORT;
	attr->max_rd_atomic = min_t(u32, READ_ONCE(qp->ord), U8_MAX);
	attr->max_dest_rd_atomic = min_t(u32, READ_ONCE(qp->ird), U8_MAX);

	init_attr->qp_context = ibqp->qp_context;
	init_attr->event_handler = ibqp->event_handler;
	init_attr->send_cq = ibqp->send_cq;
	init_attr->recv_cq = ibqp->recv_cq;
	init_attr->cap = qp->cap;
	init_attr->sq_sig_type = qp->sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR;
	init_attr->qp_type = IB_QPT_RC;
	init_attr->port_num = IW_ORNIC_PORT;

	return 0;
}

/**
 * iw_ornic_destroy_qp() - destroy a QP
 * @ibqp: QP, connected or not
 * @udata: not looked at
 *
 * A process that ends closes its QPs before its connections, so the connection is aborted here
 * first: that makes the connection
 * manager report the end of it, upon which iw_cm gives its reference back.
 *
 * Context: Process context, may sleep.
 * Return: 0, errors of iw_ornic_destroy_object() with the QP left in ERR
 */
int iw_ornic_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct iw_ornic_qp *qp = to_iw_ornic_qp(ibqp);
	struct iw_ornic_dev *dev = qp->dev;
	int ret;

	/* From here on nobody finds it; the number stays reserved. */
	xa_store_irq(&dev->qps, qp->qpn, NULL, GFP_KERNEL);
	mutex_lock(&qp->mutex);
	/* Before the end of the present connection, so that none is begun after it. */
	iw_ornic_qp_set_error(qp);
	iw_ornic_cm_qp_disconnect(qp, true);
	mutex_unlock(&qp->mutex);

	ret = iw_ornic_destroy_object(dev, ORNIC_CMD_DESTROY_QP, qp->qpn);
	if (ret) {
		xa_store_irq(&dev->qps, qp->qpn, qp, GFP_KERNEL);
		return ret;
	}

	iw_ornic_qp_put(qp);
	wait_for_completion(&qp->free);
	if (!qp->umem)
		iw_ornic_cq_remove_qp(qp);
	xa_erase_irq(&dev->qps, qp->qpn);
	iw_ornic_qp_free_buffer(qp);

	return 0;
}
