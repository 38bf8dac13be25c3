// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * OpenRNIC RDMA driver: posting of kernel consumers' work requests.
 *
 * The producer index goes to the queue record first; the doorbell is left out when the device says
 * in the record that it will look
 * there again by itself. In ERR the device flushes what is posted; once it has stopped, the driver
 * does, see cq.c.
 */
#include <linux/log2.h>

#include "iw_ornic.h"

static void *iw_ornic_wqe(struct iw_ornic_queue *queue, u32 index)
{
	return queue->ring + ((size_t)(index & (BIT(queue->shift) - 1)) << queue->stride_shift);
}

static bool iw_ornic_queue_room(struct iw_ornic_queue *queue, u32 pi)
{
	/*
	 * Pairs with the release in iw_ornic_queue_consume(): the entries below ci have been read.
	 */
	return pi - smp_load_acquire(&queue->ci) < BIT(queue->shift);
}

static void iw_ornic_queue_publish(struct iw_ornic_qp *qp, struct iw_ornic_queue *queue, u32 pi,
				   u32 db)
{
	struct iw_ornic_dev *dev = qp->dev;

	/* Pairs with the acquire in iw_ornic_queue_used(). */
	smp_store_release(&queue->pi, pi);
	/* The device sees the WQEs before the index. */
	dma_wmb();
	WRITE_ONCE(*queue->rec_pi, cpu_to_le32(pi));
	/*
	 * The index is stored before the flags are loaded: the device clears the awake flag, then
	 * loads the index; iw_ornic_fatal()
	 * sets dead, then looks for posted WRs.
	 */
	mb();
	if (iw_ornic_dead(dev)) {
		iw_ornic_flush_kick(dev);
		return;
	}
	if ((dev->core->limits.caps & ORNIC_CAP_AWAKE) && READ_ONCE(*queue->rec_awake))
		return;
	ornic_ring_db(dev->core, db, qp->qpn, 0, pi);
}

static void iw_ornic_fill_sges(struct ornic_sge *to, const struct ib_sge *from, int num)
{
	int i;

	for (i = 0; i < num; i++) {
		to[i].addr = cpu_to_le64(from[i].addr);
		to[i].length = cpu_to_le32(from[i].length);
		to[i].stag = cpu_to_le32(from[i].lkey);
	}
}

/* Kernel consumers' inline SGEs are kernel addresses. */
static int iw_ornic_fill_inline(struct iw_ornic_qp *qp, struct ornic_sq_wqe_msg *wqe,
				const struct ib_send_wr *wr)
{
	void *to = (void *)wqe + ORNIC_SQ_DATA_OFF;
	u32 len = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		const struct ib_sge *sge = &wr->sg_list[i];

		if (sge->length > qp->sq.max_inline - len)
			return -EINVAL;
		memcpy(to + len, (void *)(uintptr_t)sge->addr, sge->length);
		len += sge->length;
	}
	wqe->hdr.flags |= ORNIC_WRF_INLINE;
	wqe->hdr.length = cpu_to_le32(len);

	return 0;
}

static int iw_ornic_fill_payload(struct iw_ornic_qp *qp, struct ornic_sq_wqe_msg *wqe,
				 const struct ib_send_wr *wr)
{
	if (wr->send_flags & IB_SEND_INLINE)
		return iw_ornic_fill_inline(qp, wqe, wr);
	if (wr->num_sge < 0 || wr->num_sge > qp->sq.max_sge)
		return -EINVAL;
	wqe->hdr.num_sge = wr->num_sge;
	iw_ornic_fill_sges(wqe->sge, wr->sg_list, wr->num_sge);

	return 0;
}

static int iw_ornic_fill_send(struct iw_ornic_qp *qp, struct ornic_sq_wqe_msg *wqe,
			      const struct ib_send_wr *wr)
{
	wqe->hdr.opcode = ORNIC_WR_SEND;
	if (wr->send_flags & IB_SEND_SOLICITED)
		wqe->hdr.flags |= ORNIC_WRF_SOLICITED;
	if (wr->opcode == IB_WR_SEND_WITH_INV) {
		wqe->hdr.flags |= ORNIC_WRF_INVALIDATE;
		wqe->hdr.imm_stag = cpu_to_le32(wr->ex.invalidate_rkey);
	}

	return iw_ornic_fill_payload(qp, wqe, wr);
}

static int iw_ornic_fill_write(struct iw_ornic_qp *qp, struct ornic_sq_wqe_msg *wqe,
			       const struct ib_send_wr *wr)
{
	wqe->hdr.opcode = ORNIC_WR_WRITE;
	wqe->remote_addr = cpu_to_le64(rdma_wr(wr)->remote_addr);
	wqe->remote_stag = cpu_to_le32(rdma_wr(wr)->rkey);

	return iw_ornic_fill_payload(qp, wqe, wr);
}

static int iw_ornic_fill_read(struct ornic_sq_wqe_msg *wqe, const struct ib_send_wr *wr)
{
	/* RFC 5040 has one sink in a Read Request. */
	if ((wr->send_flags & IB_SEND_INLINE) || wr->num_sge < 0 || wr->num_sge > 1)
		return -EINVAL;
	wqe->hdr.opcode = ORNIC_WR_READ;
	wqe->remote_addr = cpu_to_le64(rdma_wr(wr)->remote_addr);
	wqe->remote_stag = cpu_to_le32(rdma_wr(wr)->rkey);
	if (wr->opcode == IB_WR_RDMA_READ_WITH_INV)
		wqe->hdr.flags |= ORNIC_WRF_INVALIDATE;
	wqe->hdr.num_sge = wr->num_sge;
	iw_ornic_fill_sges(wqe->sge, wr->sg_list, wr->num_sge);

	return 0;
}

static int iw_ornic_fill_local_inv(struct ornic_sq_hdr *hdr, const struct ib_send_wr *wr)
{
	hdr->opcode = ORNIC_WR_LOCAL_INV;
	hdr->imm_stag = cpu_to_le32(wr->ex.invalidate_rkey);
	/* Fenced, it waits for whatever earlier work requests still do with the region. */
	if (wr->send_flags & IB_SEND_FENCE)
		hdr->flags |= ORNIC_WRF_LOCAL_FENCE;

	return 0;
}

static int iw_ornic_fill_reg(struct ornic_sq_wqe_reg *wqe, const struct ib_send_wr *wr)
{
	const struct ib_reg_wr *reg = reg_wr(wr);
	struct iw_ornic_mr *mr = to_iw_ornic_mr(reg->mr);
	int ret;

	ret = iw_ornic_check_access(reg->access);
	if (ret)
		return ret;
	if (!mr->max_pages || !mr->ibmr.page_size)
		return -EINVAL;

	wqe->hdr.opcode = ORNIC_WR_REG_MR;
	if (wr->send_flags & IB_SEND_FENCE)
		wqe->hdr.flags |= ORNIC_WRF_LOCAL_FENCE;
	wqe->iova = cpu_to_le64(mr->ibmr.iova);
	wqe->length = cpu_to_le64(mr->ibmr.length);
	wqe->pbl_addr = cpu_to_le64(mr->pages.dma);
	wqe->stag = cpu_to_le32(reg->key);
	wqe->npages = cpu_to_le32(mr->npages);
	wqe->offset = cpu_to_le32(mr->ibmr.iova & (mr->ibmr.page_size - 1));
	wqe->access = cpu_to_le16(iw_ornic_access(reg->access));
	wqe->page_shift = ilog2(mr->ibmr.page_size);

	return 0;
}

/* Return: the opcode of the completion, or a negative error. */
static int iw_ornic_fill_send_wqe(struct iw_ornic_qp *qp, void *wqe, const struct ib_send_wr *wr)
{
	switch (wr->opcode) {
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_INV:
		return iw_ornic_fill_send(qp, wqe, wr) ?: IB_WC_SEND;
	case IB_WR_RDMA_WRITE:
		return iw_ornic_fill_write(qp, wqe, wr) ?: IB_WC_RDMA_WRITE;
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_READ_WITH_INV:
		return iw_ornic_fill_read(wqe, wr) ?: IB_WC_RDMA_READ;
	case IB_WR_LOCAL_INV:
		return iw_ornic_fill_local_inv(wqe, wr) ?: IB_WC_LOCAL_INV;
	case IB_WR_REG_MR:
		return iw_ornic_fill_reg(wqe, wr) ?: IB_WC_REG_MR;
	default:
		return -EOPNOTSUPP;
	}
}

static int iw_ornic_post_one_send(struct iw_ornic_qp *qp, const struct ib_send_wr *wr, u32 pi)
{
	struct iw_ornic_swr *swr = &qp->sq.swr[pi & (BIT(qp->sq.shift) - 1)];
	struct ornic_sq_hdr *hdr = iw_ornic_wqe(&qp->sq, pi);
	int ret;

	if (wr->send_flags &
	    ~(IB_SEND_FENCE | IB_SEND_SIGNALED | IB_SEND_SOLICITED | IB_SEND_INLINE))
		return -EINVAL;
	if (!iw_ornic_queue_room(&qp->sq, pi))
		return -ENOMEM;

	memset(hdr, 0, BIT(ORNIC_SQ_STRIDE_MIN_SHIFT));
	ret = iw_ornic_fill_send_wqe(qp, hdr, wr);
	if (ret < 0)
		return ret;
	if (wr->send_flags & IB_SEND_SIGNALED)
		hdr->flags |= ORNIC_WRF_SIGNALED;
	if (wr->send_flags & IB_SEND_FENCE)
		hdr->flags |= ORNIC_WRF_FENCE;
	hdr->wqe_index = cpu_to_le32(pi);
	swr->wr_id = wr->wr_id;
	swr->opcode = ret;

	return 0;
}

/**
 * iw_ornic_post_send() - post send work requests of a kernel consumer
 * @ibqp: QP
 * @wr: list
 * @bad_wr: the first one that was not posted
 *
 * In RTR they wait in the device for the connection.
 *
 * Context: Any.
 * Return: 0, -EINVAL (state, SGEs, flags, inline length), -EOPNOTSUPP (opcode, access; a user's
 *         QP), -ENOMEM (queue full)
 */
int iw_ornic_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		       const struct ib_send_wr **bad_wr)
{
	struct iw_ornic_qp *qp = to_iw_ornic_qp(ibqp);
	unsigned long flags;
	int ret = 0;
	u32 pi;

	*bad_wr = wr;
	if (qp->umem)
		return -EOPNOTSUPP;
	if (iw_ornic_qp_state(qp) == IB_QPS_RESET || iw_ornic_qp_state(qp) == IB_QPS_INIT)
		return -EINVAL;

	spin_lock_irqsave(&qp->sq.lock, flags);
	for (pi = qp->sq.pi; wr; wr = wr->next, pi++) {
		ret = iw_ornic_post_one_send(qp, wr, pi);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	if (pi != qp->sq.pi)
		iw_ornic_queue_publish(qp, &qp->sq, pi, ORNIC_DB_SQ);
	spin_unlock_irqrestore(&qp->sq.lock, flags);

	return ret;
}

static int iw_ornic_post_one_recv(struct iw_ornic_qp *qp, const struct ib_recv_wr *wr, u32 pi)
{
	struct iw_ornic_swr *swr = &qp->rq.swr[pi & (BIT(qp->rq.shift) - 1)];
	struct ornic_rq_wqe *wqe = iw_ornic_wqe(&qp->rq, pi);

	if (wr->num_sge < 0 || wr->num_sge > qp->rq.max_sge)
		return -EINVAL;
	if (!iw_ornic_queue_room(&qp->rq, pi))
		return -ENOMEM;

	memset(wqe, 0, sizeof(*wqe));
	wqe->num_sge = wr->num_sge;
	wqe->wqe_index = cpu_to_le32(pi);
	iw_ornic_fill_sges(wqe->sge, wr->sg_list, wr->num_sge);
	swr->wr_id = wr->wr_id;
	swr->opcode = IB_WC_RECV;

	return 0;
}

/**
 * iw_ornic_post_recv() - post receive work requests of a kernel consumer
 * @ibqp: QP
 * @wr: list
 * @bad_wr: the first one that was not posted
 *
 * Context: Any.
 * Return: 0, -EINVAL (state, SGEs), -EOPNOTSUPP (a user's QP), -ENOMEM (queue full)
 */
int iw_ornic_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad_wr)
{
	struct iw_ornic_qp *qp = to_iw_ornic_qp(ibqp);
	unsigned long flags;
	int ret = 0;
	u32 pi;

	*bad_wr = wr;
	if (qp->umem)
		return -EOPNOTSUPP;
	if (iw_ornic_qp_state(qp) == IB_QPS_RESET)
		return -EINVAL;

	spin_lock_irqsave(&qp->rq.lock, flags);
	for (pi = qp->rq.pi; wr; wr = wr->next, pi++) {
		ret = iw_ornic_post_one_recv(qp, wr, pi);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	if (pi != qp->rq.pi)
		iw_ornic_queue_publish(qp, &qp->rq, pi, ORNIC_DB_RQ);
	spin_unlock_irqrestore(&qp->rq.lock, flags);

	return ret;
}
