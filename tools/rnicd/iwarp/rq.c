// SPDX-License-Identifier: GPL-2.0-or-later
/* Receive queue: where Sends are placed. */
#include <errno.h>

#include "iwarp/internal.h"

#define IW_MAX_RECV (1ULL << 31)

union rq_wqe {
	struct ornic_rq_wqe wqe;
	u8 b[1u << ORNIC_RQ_STRIDE_MAX_SHIFT];
};

static bool wqe_load(struct iw_qp *qp, union rq_wqe *w)
{
	const struct iw_rq *rq = &qp->rq;
	u32 stride = 1u << rq->stride_shift, first = min(stride, 64u), len;
	u64 off = rq->off + ((u64)(rq->ci & ((1u << rq->shift) - 1)) << rq->stride_shift);

	if (qmem_read(qp->dev, &qp->mem, off, w->b, first))
		return false;
	len = min((u32)(sizeof(w->wqe) + w->wqe.num_sge * sizeof(struct ornic_sge)), stride);
	return len <= first ||
	       !qmem_read(qp->dev, &qp->mem, off + first, w->b + first, len - first);
}

/* ---- completing ---- */

static void rq_cqe(struct iw_qp *qp, u8 status, u16 syndrome, u32 byte_len, u32 flags, u32 inv_stag)
{
	struct ornic_cqe cqe = {
		.qpn = cpu_to_le32(qp->qpn),
		.wqe_index = cpu_to_le32(qp->rq.ci),
		.byte_len = cpu_to_le32(byte_len),
		.inv_stag = cpu_to_le32(inv_stag),
		.opcode = ORNIC_CQE_RECV,
		.status = status,
		.syndrome = cpu_to_le16(syndrome),
		.flags = cpu_to_le32(flags),
	};

	iw_cq_write(qp->rcq, &cqe);
	qp->rq.ci++;
	qp->rq.busy = false;
}

void iw_rq_complete(struct iw_qp *qp, u8 status, u16 syndrome, u32 cqe_flags, u32 inv_stag)
{
	rq_cqe(qp, status, syndrome, status ? 0 : qp->rq.got, cqe_flags, inv_stag);
}

void iw_rq_flush(struct iw_qp *qp)
{
	struct iw_rq *rq = &qp->rq;
	u32 pi;

	if (!qmem_load32(qp->dev, &qp->mem, qp->rec_off + offsetof(struct ornic_queue_rec, rq_pi),
			 &pi))
		iw_index_ok(pi, &rq->pi, rq->ci, rq->shift);
	while (rq->ci != rq->pi)
		rq_cqe(qp, ORNIC_CQE_FLUSHED, qp->cause, 0, 0, 0);
}

/* ---- taking ---- */

/* False: @status and @syndrome say what is wrong. */
static bool rq_parse(struct iw_qp *qp, const union rq_wqe *w, u8 *status, u16 *syndrome)
{
	const struct ornic_sge *sge = w->wqe.sge;
	u32 fit = ((1u << qp->rq.stride_shift) - (u32)sizeof(w->wqe)) / (u32)sizeof(*sge);
	struct iw_rq *rq = &qp->rq;
	u64 total = 0;
	u32 i;

	*status = ORNIC_CQE_LOC_QP_OP;
	*syndrome = ORNIC_SYN_WQE_INDEX;
	if (le32_to_cpu(w->wqe.wqe_index) != rq->ci)
		return false;
	*syndrome = ORNIC_SYN_MBZ;
	if (w->wqe.mbz[0] || w->wqe.mbz[1] || w->wqe.mbz[2] || w->wqe.rsvd)
		return false;
	*syndrome = ORNIC_SYN_NUM_SGE;
	if (w->wqe.num_sge > min(fit, (u32)RNIC_MAX_SGE))
		return false;
	rq->num_sge = w->wqe.num_sge;
	for (i = 0; i < rq->num_sge; i++) {
		rq->sge[i].addr = le64_to_cpu(sge[i].addr);
		rq->sge[i].length = le32_to_cpu(sge[i].length);
		rq->sge[i].stag = le32_to_cpu(sge[i].stag);
		total += rq->sge[i].length;
	}
	*status = ORNIC_CQE_LOC_LEN;
	*syndrome = ORNIC_SYN_LENGTH;
	if (total > IW_MAX_RECV)
		return false;
	rq->room = (u32)total;
	*status = ORNIC_CQE_LOC_PROT;
	for (i = 0; i < rq->num_sge; i++) {
		if (!rq->sge[i].length)
			continue;
		*syndrome = (u16)mr_check(qp->dev, rq->sge[i].stag, qp->pdn, rq->sge[i].addr,
					  rq->sge[i].length, ORNIC_ACC_LOCAL_WRITE, qp->privileged);
		if (*syndrome)
			return false;
	}
	return true;
}

enum iw_rq_got iw_rq_take(struct iw_qp *qp)
{
	struct iw_rq *rq = &qp->rq;
	u16 syndrome = ORNIC_SYN_DMA;
	u8 status = ORNIC_CQE_FATAL;
	union rq_wqe w;
	u32 pi;

	/* A receive posted before the peer sent may be here earlier than its doorbell. */
	if (rq->ci == rq->pi &&
	    !qmem_load32(qp->dev, &qp->mem, qp->rec_off + offsetof(struct ornic_queue_rec, rq_pi),
			 &pi) &&
	    !iw_index_ok(pi, &rq->pi, rq->ci, rq->shift)) {
		iw_qp_overrun(qp);
		return IW_RQ_BAD;
	}
	if (rq->ci == rq->pi)
		return IW_RQ_EMPTY;
	if (!wqe_load(qp, &w) || !rq_parse(qp, &w, &status, &syndrome)) {
		iw_stat(qp->dev, ORNIC_STAT_IW_WQE_ERR);
		rq_cqe(qp, status, syndrome, 0, 0, 0);
		return IW_RQ_BAD;
	}
	rq->busy = true;
	rq->got = 0;
	return IW_RQ_OK;
}

int iw_rq_place(struct iw_qp *qp, const u8 *data, u32 len)
{
	struct iw_rq *rq = &qp->rq;
	u32 skip = rq->got, i;

	rq->got += len;
	for (i = 0; len && i < rq->num_sge; i++) {
		const struct iw_sge *sge = &rq->sge[i];
		u32 n;

		if (skip >= sge->length) {
			skip -= sge->length;
			continue;
		}
		n = min(sge->length - skip, len);
		/* The MR may have been invalidated since the first segment. */
		if (mr_write(qp->dev, sge->stag, sge->addr + skip, data, n))
			return -EFAULT;
		data += n;
		len -= n;
		skip = 0;
	}
	return 0;
}
