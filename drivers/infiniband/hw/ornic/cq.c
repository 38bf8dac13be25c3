// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * OpenRNIC RDMA driver: completion queues.
 *
 * The device writes CQEs; the driver finds the work request of each by queue and index. Once the
 * device has stopped, nobody flushes
 * work requests any more: polling then takes what the device had written before and goes on with
 * flush completions that it makes up
 * from what is posted on the CQ's QPs. Users get a fatal event instead, their rings are not the
 * kernel's business.
 */
#include <linux/log2.h>
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>

#include "iw_ornic.h"

#define IW_ORNIC_CQ_RING_OFF	ORNIC_QUEUE_REC_ALIGN
#define IW_ORNIC_CQE_QPN	GENMASK(23, 0)

static struct iw_ornic_cq *iw_ornic_cq_find(struct iw_ornic_dev *dev, u32 cqn)
{
	struct iw_ornic_cq *cq;
	unsigned long flags;

	xa_lock_irqsave(&dev->cqs, flags);
	cq = xa_load(&dev->cqs, cqn);
	if (cq && !refcount_inc_not_zero(&cq->ref))
		cq = NULL;
	xa_unlock_irqrestore(&dev->cqs, flags);

	return cq;
}

static void iw_ornic_cq_put(struct iw_ornic_cq *cq)
{
	if (refcount_dec_and_test(&cq->ref))
		complete(&cq->free);
}

static enum ib_wc_status iw_ornic_wc_status(u8 status)
{
	static const enum ib_wc_status map[] = {
		[ORNIC_CQE_OK] = IB_WC_SUCCESS,
		[ORNIC_CQE_FLUSHED] = IB_WC_WR_FLUSH_ERR,
		[ORNIC_CQE_LOC_LEN] = IB_WC_LOC_LEN_ERR,
		[ORNIC_CQE_LOC_QP_OP] = IB_WC_LOC_QP_OP_ERR,
		[ORNIC_CQE_LOC_PROT] = IB_WC_LOC_PROT_ERR,
		[ORNIC_CQE_LOC_ACCESS] = IB_WC_LOC_ACCESS_ERR,
		[ORNIC_CQE_MW_BIND] = IB_WC_MW_BIND_ERR,
		[ORNIC_CQE_REM_INV_REQ] = IB_WC_REM_INV_REQ_ERR,
		[ORNIC_CQE_REM_ACCESS] = IB_WC_REM_ACCESS_ERR,
		[ORNIC_CQE_REM_OP] = IB_WC_REM_OP_ERR,
		[ORNIC_CQE_FATAL] = IB_WC_FATAL_ERR,
	};

	return status < ARRAY_SIZE(map) ? map[status] : IB_WC_GENERAL_ERR;
}

/* The CQE at the consumer index, or NULL when the device has not written it yet. */
static struct ornic_cqe *iw_ornic_cq_next(struct iw_ornic_cq *cq)
{
	struct ornic_cqe *cqe = &cq->ring[cq->ci & (BIT(cq->depth_shift) - 1)];
	u32 flags = le32_to_cpu(READ_ONCE(cqe->flags));

	if (!!(flags & ORNIC_CQE_PHASE) == ((cq->ci >> cq->depth_shift) & 1))
		return NULL;
	/* The device stores the flags last. */
	dma_rmb();

	return cqe;
}

static u32 iw_ornic_queue_used(struct iw_ornic_queue *queue)
{
	/*
	 * Pairs with the release in iw_ornic_queue_publish(): the entries below pi are filled in.
	 */
	return smp_load_acquire(&queue->pi) - queue->ci;
}

/* WR @index and all before it are done; posting may reuse their places. */
static void iw_ornic_queue_consume(struct iw_ornic_queue *queue, u32 index,
				   struct iw_ornic_swr *swr)
{
	*swr = queue->swr[index & (BIT(queue->shift) - 1)];
	/* Pairs with the acquire in iw_ornic_queue_room(): the entry was read. */
	smp_store_release(&queue->ci, index + 1);
}

static void iw_ornic_fill_wc(struct ib_wc *wc, struct iw_ornic_qp *qp,
			     const struct iw_ornic_swr *swr, enum ib_wc_status status)
{
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = swr->wr_id;
	wc->opcode = swr->opcode;
	wc->status = status;
	wc->qp = &qp->ibqp;
	wc->src_qp = qp->qpn;
	wc->port_num = IW_ORNIC_PORT;
}

/*
 * Return: whether @wc was filled in. A CQE of a QP that is gone, or of no work request that is
 * posted, is dropped.
 */
static bool iw_ornic_take_cqe(struct iw_ornic_cq *cq, const struct ornic_cqe *cqe,
			      struct ib_wc *wc)
{
	struct iw_ornic_dev *dev = to_iw_ornic_dev(cq->ibcq.device);
	u32 qpn = FIELD_GET(IW_ORNIC_CQE_QPN, le32_to_cpu(cqe->qpn));
	u32 index = le32_to_cpu(cqe->wqe_index);
	struct iw_ornic_queue *queue;
	struct iw_ornic_swr swr;
	struct iw_ornic_qp *qp;
	bool recv;

	if (!qpn)
		return false;
	/*
	 * A QP leaves the table before it takes this CQ's lock to purge its CQEs, so one found here
	 * stays.
	 */
	qp = xa_load(&dev->qps, qpn);
	recv = cqe->opcode == ORNIC_CQE_RECV;
	if (!qp || (recv ? qp->ibqp.recv_cq : qp->ibqp.send_cq) != &cq->ibcq)
		return false;
	queue = recv ? &qp->rq : &qp->sq;
	if (index - queue->ci >= iw_ornic_queue_used(queue)) {
		ibdev_warn_ratelimited(&dev->ibdev, "CQ %u: QP %u has no work request %u\n",
				       cq->cqn, qpn, index);
		return false;
	}

	iw_ornic_queue_consume(queue, index, &swr);
	iw_ornic_fill_wc(wc, qp, &swr, iw_ornic_wc_status(cqe->status));
	wc->vendor_err = le16_to_cpu(cqe->syndrome);
	wc->byte_len = le32_to_cpu(cqe->byte_len);
	if (recv && (le32_to_cpu(cqe->flags) & ORNIC_CQE_WITH_INV)) {
		wc->wc_flags |= IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = le32_to_cpu(cqe->inv_stag);
	}

	return true;
}

static int iw_ornic_flush_queue(struct iw_ornic_qp *qp, struct iw_ornic_queue *queue, int num,
				struct ib_wc *wc)
{
	struct iw_ornic_swr swr;
	int n;

	for (n = 0; n < num && iw_ornic_queue_used(queue); n++) {
		iw_ornic_queue_consume(queue, queue->ci, &swr);
		iw_ornic_fill_wc(&wc[n], qp, &swr, IB_WC_WR_FLUSH_ERR);
	}

	return n;
}

/* The device stopped: the driver reports what is still posted. */
static int iw_ornic_flush_cq(struct iw_ornic_cq *cq, int num, struct ib_wc *wc)
{
	struct iw_ornic_qp *qp;
	int n = 0;

	list_for_each_entry(qp, &cq->send_qps, send_node)
		n += iw_ornic_flush_queue(qp, &qp->sq, num - n, wc + n);
	list_for_each_entry(qp, &cq->recv_qps, recv_node)
		n += iw_ornic_flush_queue(qp, &qp->rq, num - n, wc + n);

	return n;
}

/* Whether a poll would find something; to be called with the CQ's lock. */
static bool iw_ornic_cq_pending(struct iw_ornic_cq *cq)
{
	struct iw_ornic_qp *qp;

	if (iw_ornic_cq_next(cq))
		return true;
	if (!iw_ornic_dead(to_iw_ornic_dev(cq->ibcq.device)))
		return false;
	list_for_each_entry(qp, &cq->send_qps, send_node)
		if (iw_ornic_queue_used(&qp->sq))
			return true;
	list_for_each_entry(qp, &cq->recv_qps, recv_node)
		if (iw_ornic_queue_used(&qp->rq))
			return true;

	return false;
}

/**
 * iw_ornic_poll_cq() - take completions
 * @ibcq: kernel CQ
 * @num: room in @wc
 * @wc: completions
 *
 * Context: Any.
 * Return: number of completions, -EOPNOTSUPP (a user's CQ, which user space polls itself)
 */
int iw_ornic_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc)
{
	struct iw_ornic_cq *cq = to_iw_ornic_cq(ibcq);
	struct ornic_cqe *cqe;
	unsigned long flags;
	u32 first;
	int n = 0;

	if (cq->umem)
		return -EOPNOTSUPP;

	spin_lock_irqsave(&cq->lock, flags);
	first = cq->ci;
	while (n < num && (cqe = iw_ornic_cq_next(cq))) {
		n += iw_ornic_take_cqe(cq, cqe, &wc[n]);
		cq->ci++;
	}
	if (cq->ci != first) {
		/* The device may overwrite the CQEs from here on: they have been read. */
		dma_mb();
		WRITE_ONCE(cq->rec->ci, cpu_to_le32(cq->ci));
	}
	if (n < num && iw_ornic_dead(to_iw_ornic_dev(ibcq->device)))
		n += iw_ornic_flush_cq(cq, num - n, wc + n);
	spin_unlock_irqrestore(&cq->lock, flags);

	return n;
}

/*
 * The device looks at the record with each CQE that it writes. Only if there is one already
 * that was not polled, the device must be told. To be called with the CQ's lock.
 */
static void iw_ornic_cq_arm(struct iw_ornic_cq *cq, bool solicited)
{
	struct ornic_core *core = to_iw_ornic_dev(cq->ibcq.device)->core;
	u64 flags = FIELD_PREP(ORNIC_DB_ARM_SEQ, cq->arm_seq);

	if (solicited)
		flags |= ORNIC_DB_FLAG_SOLICITED;
	if (core->limits.caps & ORNIC_CAP_ARM_REC) {
		WRITE_ONCE(cq->rec->arm, cpu_to_le64(flags | ORNIC_ARM_VALID |
						     FIELD_PREP(ORNIC_DB_NUMBER, cq->cqn) |
						     FIELD_PREP(ORNIC_DB_INDEX, cq->ci)));
		/* Pairs with the device's, between its store of a CQE and its load of the arm. */
		mb();
		if (!iw_ornic_cq_next(cq))
			return;
	}
	ornic_ring_db(core, ORNIC_DB_CQ_ARM, cq->cqn, flags, cq->ci);
}

/**
 * iw_ornic_req_notify_cq() - ask for an event
 * @ibcq: kernel CQ
 * @notify: which completions cause one, and whether to look for some that are there already
 *
 * Context: Any.
 * Return: 0; 1 with IB_CQ_REPORT_MISSED_EVENTS when completions wait; -EOPNOTSUPP (a user's CQ)
 */
int iw_ornic_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags notify)
{
	struct iw_ornic_dev *dev = to_iw_ornic_dev(ibcq->device);
	struct iw_ornic_cq *cq = to_iw_ornic_cq(ibcq);
	unsigned long flags;
	bool pending;

	if (cq->umem)
		return -EOPNOTSUPP;

	spin_lock_irqsave(&cq->lock, flags);
	cq->armed = true;
	/* An arm for any completion stays one: the device may not have seen it in the record. */
	if ((notify & IB_CQ_SOLICITED_MASK) != IB_CQ_SOLICITED)
		cq->armed_any = true;
	if (!iw_ornic_dead(dev))
		iw_ornic_cq_arm(cq, !cq->armed_any);
	pending = iw_ornic_cq_pending(cq);
	spin_unlock_irqrestore(&cq->lock, flags);

	/*
	 * A device that lives sees by itself that completions wait beyond the index of the
	 * doorbell.
	 */
	if (pending && iw_ornic_dead(dev))
		iw_ornic_flush_kick(dev);

	return pending && (notify & IB_CQ_REPORT_MISSED_EVENTS);
}

static void iw_ornic_cq_call(struct iw_ornic_cq *cq)
{
	unsigned long flags;

	spin_lock_irqsave(&cq->event_lock, flags);
	/* Before the callback, which arms again. */
	spin_lock(&cq->lock);
	cq->arm_seq = (cq->arm_seq + 1) & FIELD_MAX(ORNIC_DB_ARM_SEQ);
	cq->armed_any = false;
	spin_unlock(&cq->lock);
	if (cq->ibcq.comp_handler)
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
	spin_unlock_irqrestore(&cq->event_lock, flags);
}

/**
 * iw_ornic_cq_comp_event() - a CQ that was armed has a completion
 * @dev: device
 * @cqn: CQ number, from the device
 *
 * Context: Any.
 */
void iw_ornic_cq_comp_event(struct iw_ornic_dev *dev, u32 cqn)
{
	struct iw_ornic_cq *cq = iw_ornic_cq_find(dev, cqn);

	if (!cq)
		return;
	WRITE_ONCE(cq->armed, false);
	iw_ornic_cq_call(cq);
	iw_ornic_cq_put(cq);
}

/**
 * iw_ornic_cq_error_event() - a CQ ran over or its memory cannot be reached
 * @dev: device
 * @cqn: CQ number, from the device
 *
 * Context: Process context.
 */
void iw_ornic_cq_error_event(struct iw_ornic_dev *dev, u32 cqn)
{
	struct iw_ornic_cq *cq = iw_ornic_cq_find(dev, cqn);
	struct ib_event event = {
		.device = &dev->ibdev,
		.event = IB_EVENT_CQ_ERR,
	};

	if (!cq)
		return;
	event.element.cq = &cq->ibcq;
	if (cq->ibcq.event_handler)
		cq->ibcq.event_handler(&event, cq->ibcq.cq_context);
	iw_ornic_cq_put(cq);
}

/**
 * iw_ornic_flush_kick() - completions may wait on CQs of the stopped device: deliver the events
 * that are owed
 * @dev: device
 *
 * The callbacks run from a workqueue, since a verb must not call them.
 *
 * Context: Any.
 */
void iw_ornic_flush_kick(struct iw_ornic_dev *dev)
{
	queue_work(dev->wq, &dev->flush_work);
}

void iw_ornic_flush_work(struct work_struct *work)
{
	struct iw_ornic_dev *dev = container_of(work, struct iw_ornic_dev, flush_work);
	unsigned long cqn, flags;
	struct iw_ornic_cq *cq;
	bool call;

	xa_for_each(&dev->cqs, cqn, cq) {
		cq = iw_ornic_cq_find(dev, cqn);
		if (!cq)
			continue;
		if (!cq->umem) {
			spin_lock_irqsave(&cq->lock, flags);
			call = cq->armed && iw_ornic_cq_pending(cq);
			if (call)
				cq->armed = false;
			spin_unlock_irqrestore(&cq->lock, flags);
			if (call)
				iw_ornic_cq_call(cq);
		}
		iw_ornic_cq_put(cq);
	}
}

/**
 * iw_ornic_cq_add_qp() - let the QP's CQs know it
 * @qp: kernel QP
 *
 * Context: Process context.
 */
void iw_ornic_cq_add_qp(struct iw_ornic_qp *qp)
{
	struct iw_ornic_cq *send_cq = to_iw_ornic_cq(qp->ibqp.send_cq);
	struct iw_ornic_cq *recv_cq = to_iw_ornic_cq(qp->ibqp.recv_cq);

	spin_lock_irq(&send_cq->lock);
	list_add_tail(&qp->send_node, &send_cq->send_qps);
	spin_unlock_irq(&send_cq->lock);

	spin_lock_irq(&recv_cq->lock);
	list_add_tail(&qp->recv_node, &recv_cq->recv_qps);
	spin_unlock_irq(&recv_cq->lock);
}

/*
 * Number 0 marks a CQE that is to be skipped: the QP's own number may be given away again before it
 * is polled.
 */
static void iw_ornic_cq_forget(struct iw_ornic_cq *cq, struct list_head *node, u32 qpn)
{
	struct ornic_cqe *cqe;
	u32 ci;

	spin_lock_irq(&cq->lock);
	list_del(node);
	ci = cq->ci;
	while (cq->ci - ci < BIT(cq->depth_shift) && (cqe = iw_ornic_cq_next(cq))) {
		if (FIELD_GET(IW_ORNIC_CQE_QPN, le32_to_cpu(cqe->qpn)) == qpn)
			cqe->qpn = 0;
		cq->ci++;
	}
	cq->ci = ci;
	spin_unlock_irq(&cq->lock);
}

/**
 * iw_ornic_cq_remove_qp() - let the QP's CQs forget it: no poll will return one of its completions
 * @qp: kernel QP; the device has destroyed it, it can be looked up no more
 *
 * Context: Process context.
 */
void iw_ornic_cq_remove_qp(struct iw_ornic_qp *qp)
{
	iw_ornic_cq_forget(to_iw_ornic_cq(qp->ibqp.send_cq), &qp->send_node, qp->qpn);
	iw_ornic_cq_forget(to_iw_ornic_cq(qp->ibqp.recv_cq), &qp->recv_node, qp->qpn);
}

static int iw_ornic_cq_user_buffer(struct iw_ornic_cq *cq, int cqe, struct ib_udata *udata,
				   struct ornic_cmd_create_cq *cmd, struct ornic_pbl *pbl)
{
	struct iw_ornic_dev *dev = to_iw_ornic_dev(cq->ibcq.device);
	struct iw_ornic_ucontext *ctx =
		rdma_udata_to_drv_context(udata, struct iw_ornic_ucontext, ibucontext);
	struct ornic_create_cq_req req;
	u64 ring_size;
	int ret;

	ret = iw_ornic_copy_in(udata, &req, sizeof(req));
	if (ret)
		return ret;
	if (memchr_inv(req.reserved, 0, sizeof(req.reserved)))
		return -EOPNOTSUPP;
	if (!req.depth_shift || req.depth_shift > dev->core->limits.max_cq_shift ||
	    BIT(req.depth_shift) <= cqe)
		return -EINVAL;
	ring_size = (u64)sizeof(struct ornic_cqe) << req.depth_shift;
	if (!IS_ALIGNED(req.ring_off, 64) || req.ring_off + ring_size > req.buf_len ||
	    !IS_ALIGNED(req.rec_off, ORNIC_QUEUE_REC_ALIGN) ||
	    (u64)req.rec_off + sizeof(struct ornic_queue_rec) > req.buf_len)
		return -EINVAL;

	cq->umem = iw_ornic_pin_buffer(dev, req.buf_addr, req.buf_len, pbl);
	if (IS_ERR(cq->umem))
		return PTR_ERR(cq->umem);
	cq->depth_shift = req.depth_shift;
	cmd->db_page = cpu_to_le32(ctx->db_page);
	cmd->ring_off = cpu_to_le32(req.ring_off);
	cmd->rec_off = cpu_to_le32(req.rec_off);
	ornic_pbl_describe(pbl, &cmd->mem);

	return 0;
}

static int iw_ornic_cq_kernel_buffer(struct iw_ornic_cq *cq, int cqe,
				     struct ornic_cmd_create_cq *cmd)
{
	struct iw_ornic_dev *dev = to_iw_ornic_dev(cq->ibcq.device);
	size_t size;
	int ret;

	cq->depth_shift = order_base_2(cqe + 1);
	size = IW_ORNIC_CQ_RING_OFF + (sizeof(struct ornic_cqe) << cq->depth_shift);
	ret = ornic_qbuf_alloc(dev->core, &cq->buf, size);
	if (ret)
		return ret;
	cq->rec = cq->buf.va;
	cq->ring = cq->buf.va + IW_ORNIC_CQ_RING_OFF;
	cmd->ring_off = cpu_to_le32(IW_ORNIC_CQ_RING_OFF);
	ornic_qbuf_describe(&cq->buf, &cmd->mem);

	return 0;
}

static void iw_ornic_cq_free_buffer(struct iw_ornic_cq *cq)
{
	struct iw_ornic_dev *dev = to_iw_ornic_dev(cq->ibcq.device);

	if (cq->umem)
		ib_umem_release(cq->umem);
	else
		ornic_qbuf_free(dev->core, &cq->buf);
}

/* The device's part of creation; the number is reserved. */
static int iw_ornic_cq_start(struct iw_ornic_cq *cq, const struct ib_cq_init_attr *attr,
			     struct ib_udata *udata)
{
	struct iw_ornic_dev *dev = to_iw_ornic_dev(cq->ibcq.device);
	struct ornic_create_cq_resp resp = { .cqn = cq->cqn };
	struct ornic_cmd_create_cq cmd = {};
	struct ornic_pbl pbl;
	int ret;

	if (udata)
		ret = iw_ornic_cq_user_buffer(cq, attr->cqe, udata, &cmd, &pbl);
	else
		ret = iw_ornic_cq_kernel_buffer(cq, attr->cqe, &cmd);
	if (ret)
		return ret;

	cmd.hdr.opcode = cpu_to_le16(ORNIC_CMD_CREATE_CQ);
	cmd.cqn = cpu_to_le32(cq->cqn);
	cmd.eqn = cpu_to_le32(ornic_comp_eqn(dev->core, attr->comp_vector %
					     dev->core->num_comp_vectors));
	cmd.depth_shift = cq->depth_shift;
	ret = ornic_cmd_exec(dev->core, &cmd, NULL);
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
	if (iw_ornic_destroy_object(dev, ORNIC_CMD_DESTROY_CQ, cq->cqn))
		return ret;
free_buffer:
	iw_ornic_cq_free_buffer(cq);
	return ret;
}

/**
 * iw_ornic_create_cq() - create a CQ
 * @ibcq: CQ
 * @attr: size, vector and flags
 * @attrs: a user's request (struct ornic_create_cq_req and _resp), NULL for a kernel consumer
 *
 * Context: Process context, may sleep.
 * Return: 0, -EINVAL (size, user buffer), -EOPNOTSUPP (flags), -ENOMEM, errors of
 *         iw_ornic_copy_in() and ornic_cmd_exec()
 */
int iw_ornic_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		       struct iw_ornic_cq_attrs *attrs)
{
	struct iw_ornic_dev *dev = to_iw_ornic_dev(ibcq->device);
	struct ib_udata *udata = iw_ornic_cq_udata(attrs);
	const struct ornic_limits *limits = &dev->core->limits;
	struct iw_ornic_cq *cq = to_iw_ornic_cq(ibcq);
	int ret;

	if (attr->flags)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe >= BIT(limits->max_cq_shift))
		return -EINVAL;

	spin_lock_init(&cq->lock);
	spin_lock_init(&cq->event_lock);
	INIT_LIST_HEAD(&cq->send_qps);
	INIT_LIST_HEAD(&cq->recv_qps);
	refcount_set(&cq->ref, 1);
	init_completion(&cq->free);

	ret = iw_ornic_number_alloc(&dev->cqs, &cq->cqn, limits->max_cq, &dev->next_cqn);
	if (ret)
		return ret;
	ret = iw_ornic_cq_start(cq, attr, udata);
	if (ret) {
		xa_erase_irq(&dev->cqs, cq->cqn);
		return ret;
	}
	ibcq->cqe = BIT(cq->depth_shift) - 1;
	/* The entry is reserved: storing needs no memory. */
	xa_store_irq(&dev->cqs, cq->cqn, cq, GFP_KERNEL);

	return 0;
}

/**
 * iw_ornic_destroy_cq() - destroy a CQ
 * @ibcq: CQ without QPs
 * @udata: not looked at
 *
 * Context: Process context, may sleep.
 * Return: 0, errors of iw_ornic_destroy_object()
 */
int iw_ornic_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct iw_ornic_dev *dev = to_iw_ornic_dev(ibcq->device);
	struct iw_ornic_cq *cq = to_iw_ornic_cq(ibcq);
	int ret;

	ret = iw_ornic_destroy_object(dev, ORNIC_CMD_DESTROY_CQ, cq->cqn);
	if (ret)
		return ret;

	/* Events of it that are being delivered end first; the number is free only then. */
	xa_store_irq(&dev->cqs, cq->cqn, NULL, GFP_KERNEL);
	iw_ornic_cq_put(cq);
	wait_for_completion(&cq->free);
	xa_erase_irq(&dev->cqs, cq->cqn);
	iw_ornic_cq_free_buffer(cq);

	return 0;
}
