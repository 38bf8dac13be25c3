// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Posting: work requests into the rings. */

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "ornic.h"

static bool wq_full(struct ornic_wq *wq)
{
	return wq->pi - atomic_load_explicit(&wq->ci, memory_order_acquire) >= 1u << wq->shift;
}

static void *wq_slot(struct ornic_wq *wq)
{
	return wq->ring + ((size_t)(wq->pi & ((1u << wq->shift) - 1)) << wq->stride_shift);
}

static void fill_sges(struct ornic_sge *dst, const struct ibv_sge *src, int n)
{
	for (int i = 0; i < n; i++) {
		dst[i].addr = htole64(src[i].addr);
		dst[i].length = htole32(src[i].length);
		dst[i].stag = htole32(src[i].lkey);
	}
}

/* Copies the payload behind the header. The length, or -1 when it does not fit. */
static int64_t fill_inline(struct ornic_qp *qp, uint8_t *dst, const struct ibv_send_wr *wr)
{
	uint32_t len = 0;

	for (int i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];

		if (sge->length > qp->max_inline - len)
			return -1;
		memcpy(dst + len, (const void *)(uintptr_t)sge->addr, sge->length);
		len += sge->length;
	}
	return len;
}

/* Opcode, flags and STag of the header; the remote part. An errno for what this device has not. */
static int fill_operation(struct ornic_sq_wqe_msg *wqe, const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_SEND_WITH_INV:
		wqe->hdr.flags |= ORNIC_WRF_INVALIDATE;
		wqe->hdr.imm_stag = htole32(wr->invalidate_rkey);
		SWITCH_FALLTHROUGH;
	case IBV_WR_SEND:
		wqe->hdr.opcode = ORNIC_WR_SEND;
		if (wr->send_flags & IBV_SEND_SOLICITED)
			wqe->hdr.flags |= ORNIC_WRF_SOLICITED;
		return 0;
	case IBV_WR_RDMA_WRITE:
		wqe->hdr.opcode = ORNIC_WR_WRITE;
		break;
	case IBV_WR_RDMA_READ:
		if (wr->send_flags & IBV_SEND_INLINE || wr->num_sge > 1)
			return EINVAL;
		wqe->hdr.opcode = ORNIC_WR_READ;
		break;
	default:
		return EOPNOTSUPP;
	}
	wqe->remote_addr = htole64(wr->wr.rdma.remote_addr);
	wqe->remote_stag = htole32(wr->wr.rdma.rkey);
	return 0;
}

static int fill_payload(struct ornic_qp *qp, struct ornic_sq_wqe_msg *wqe,
			const struct ibv_send_wr *wr)
{
	int64_t len;

	if (!(wr->send_flags & IBV_SEND_INLINE)) {
		if (wr->num_sge < 0 || (unsigned int)wr->num_sge > qp->sq.max_sge)
			return EINVAL;
		wqe->hdr.num_sge = wr->num_sge;
		fill_sges(wqe->sge, wr->sg_list, wr->num_sge);
		return 0;
	}
	len = fill_inline(qp, (uint8_t *)wqe + ORNIC_SQ_DATA_OFF, wr);
	if (len < 0)
		return ENOMEM;
	wqe->hdr.flags |= ORNIC_WRF_INLINE;
	wqe->hdr.length = htole32(len);
	return 0;
}

static int post_one_send(struct ornic_qp *qp, const struct ibv_send_wr *wr)
{
	struct ornic_wq *sq = &qp->sq;
	struct ornic_sq_wqe_msg *wqe;
	int err;

	if (wq_full(sq))
		return ENOMEM;
	wqe = wq_slot(sq);
	memset(wqe, 0, sizeof(*wqe));
	wqe->hdr.wqe_index = htole32(sq->pi);
	if (qp->sig_all || wr->send_flags & IBV_SEND_SIGNALED)
		wqe->hdr.flags |= ORNIC_WRF_SIGNALED;
	if (wr->send_flags & IBV_SEND_FENCE)
		wqe->hdr.flags |= ORNIC_WRF_FENCE;
	err = fill_operation(wqe, wr);
	if (!err)
		err = fill_payload(qp, wqe, wr);
	if (err)
		return err;
	sq->wr_id[sq->pi & ((1u << sq->shift) - 1)] = wr->wr_id;
	sq->pi++;
	return 0;
}

int ornic_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct ornic_qp *qp = to_qp(ibqp);
	uint32_t first;
	int err = 0;

	pthread_spin_lock(&qp->sq.lock);
	first = qp->sq.pi;
	for (; wr; wr = wr->next) {
		err = post_one_send(qp, wr);
		if (err) {
			*bad = wr;
			break;
		}
	}
	if (qp->sq.pi != first)
		ornic_wq_publish(to_ctx(ibqp->context), qp, &qp->sq, ORNIC_DB_SQ);
	pthread_spin_unlock(&qp->sq.lock);
	return err;
}

static int post_one_recv(struct ornic_wq *rq, const struct ibv_recv_wr *wr)
{
	struct ornic_rq_wqe *wqe;

	if (wq_full(rq))
		return ENOMEM;
	if (wr->num_sge < 0 || (unsigned int)wr->num_sge > rq->max_sge)
		return EINVAL;
	wqe = wq_slot(rq);
	memset(wqe, 0, sizeof(*wqe));
	wqe->num_sge = wr->num_sge;
	wqe->wqe_index = htole32(rq->pi);
	fill_sges(wqe->sge, wr->sg_list, wr->num_sge);
	rq->wr_id[rq->pi & ((1u << rq->shift) - 1)] = wr->wr_id;
	rq->pi++;
	return 0;
}

int ornic_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct ornic_qp *qp = to_qp(ibqp);
	uint32_t first;
	int err = 0;

	pthread_spin_lock(&qp->rq.lock);
	first = qp->rq.pi;
	for (; wr; wr = wr->next) {
		err = post_one_recv(&qp->rq, wr);
		if (err) {
			*bad = wr;
			break;
		}
	}
	if (qp->rq.pi != first)
		ornic_wq_publish(to_ctx(ibqp->context), qp, &qp->rq, ORNIC_DB_RQ);
	pthread_spin_unlock(&qp->rq.lock);
	return err;
}
