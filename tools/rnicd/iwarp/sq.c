// SPDX-License-Identifier: GPL-2.0-or-later
/* Send queue: fetching, checking, starting and completing work requests. */
#include "iwarp/internal.h"

#define IW_MAX_MSG (1ULL << 31)
#define SQ_FIRST   64u /* bytes of a WQE that are read before it is known how many there are */

union sq_wqe {
	struct ornic_sq_hdr hdr;
	struct ornic_sq_wqe_reg reg;
	u8 b[1u << ORNIC_SQ_STRIDE_MAX_SHIFT];
};

/* Which flags a work request may carry; kind: how its fields are read. */
enum wr_kind {
	WR_UNKNOWN,
	WR_MSG,
	WR_LOCAL,
	WR_UNSUPPORTED,
};

struct wr_rule {
	u8 kind;
	u8 flags;
};

#define F_COMMON (ORNIC_WRF_SIGNALED | ORNIC_WRF_FENCE)

static const struct wr_rule wr_rules[] = {
	[ORNIC_WR_NOP] = {WR_MSG, F_COMMON},
	[ORNIC_WR_SEND] = {WR_MSG, F_COMMON | ORNIC_WRF_SOLICITED | ORNIC_WRF_INLINE |
					   ORNIC_WRF_INVALIDATE},
	[ORNIC_WR_WRITE] = {WR_MSG, F_COMMON | ORNIC_WRF_INLINE},
	[ORNIC_WR_READ] = {WR_MSG, F_COMMON | ORNIC_WRF_INVALIDATE},
	[ORNIC_WR_SEND_IMM] = {WR_UNSUPPORTED, 0},
	[ORNIC_WR_WRITE_IMM] = {WR_UNSUPPORTED, 0},
	[ORNIC_WR_FETCH_ADD] = {WR_UNSUPPORTED, 0},
	[ORNIC_WR_CMP_SWAP] = {WR_UNSUPPORTED, 0},
	[ORNIC_WR_SWAP] = {WR_UNSUPPORTED, 0},
	[ORNIC_WR_LOCAL_INV] = {WR_LOCAL, F_COMMON | ORNIC_WRF_LOCAL_FENCE},
	[ORNIC_WR_REG_MR] = {WR_LOCAL, F_COMMON | ORNIC_WRF_LOCAL_FENCE},
	[ORNIC_WR_BIND_MW] = {WR_UNSUPPORTED, 0},
};

static void wr_bad(struct iw_wr *wr, u8 status, u16 syndrome)
{
	if (wr->status)
		return;
	wr->status = status;
	wr->syndrome = syndrome;
}

static bool all_zero(const u8 *p, size_t n)
{
	while (n--)
		if (*p++)
			return false;
	return true;
}

/* ---- fetching: a copy of the WQE, and its form ---- */

static void parse_inline(struct iw_qp *qp, struct iw_wr *wr, const union sq_wqe *w)
{
	u32 room = (1u << qp->sq.stride_shift) - ORNIC_SQ_DATA_OFF;
	u32 length = le32_to_cpu(w->hdr.length);

	if (w->hdr.num_sge) {
		wr_bad(wr, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_NUM_SGE);
	} else if (length > min(room, (u32)RNIC_MAX_INLINE)) {
		wr_bad(wr, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_INLINE_LEN);
	} else {
		wr->length = length;
		memcpy(wr->inl, w->b + ORNIC_SQ_DATA_OFF, length);
	}
}

static u32 sge_limit(const struct iw_wr *wr, u32 stride)
{
	u32 fit = (stride - ORNIC_SQ_DATA_OFF) / sizeof(struct ornic_sge);

	if (wr->opcode == ORNIC_WR_NOP)
		return 0;
	/* RFC 5040 4.4: a Read has one sink. */
	return wr->opcode == ORNIC_WR_READ ? 1 : min(fit, (u32)RNIC_MAX_SGE);
}

static void parse_sges(struct iw_qp *qp, struct iw_wr *wr, const union sq_wqe *w)
{
	const struct ornic_sge *sge = (const void *)(w->b + ORNIC_SQ_DATA_OFF);
	u64 total = 0;
	u32 i;

	if (w->hdr.length)
		wr_bad(wr, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_MBZ);
	if (w->hdr.num_sge > sge_limit(wr, 1u << qp->sq.stride_shift)) {
		wr_bad(wr, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_NUM_SGE);
		return;
	}
	wr->num_sge = w->hdr.num_sge;
	for (i = 0; i < wr->num_sge; i++) {
		wr->sge[i].addr = le64_to_cpu(sge[i].addr);
		wr->sge[i].length = le32_to_cpu(sge[i].length);
		wr->sge[i].stag = le32_to_cpu(sge[i].stag);
		total += wr->sge[i].length;
	}
	if (total > IW_MAX_MSG)
		wr_bad(wr, ORNIC_CQE_LOC_LEN, ORNIC_SYN_LENGTH);
	wr->length = (u32)total;
}

static void parse_msg(struct iw_qp *qp, struct iw_wr *wr, const union sq_wqe *w)
{
	const struct ornic_sq_wqe_msg *m = (const void *)w->b;

	if (wr->opcode == ORNIC_WR_SEND || wr->opcode == ORNIC_WR_NOP) {
		if (!all_zero(m->remote, sizeof(m->remote)))
			wr_bad(wr, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_MBZ);
	} else {
		wr->remote_addr = le64_to_cpu(m->remote_addr);
		wr->remote_stag = le32_to_cpu(m->remote_stag);
		if (m->imm)
			wr_bad(wr, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_MBZ);
	}
	if (wr->flags & ORNIC_WRF_INLINE)
		parse_inline(qp, wr, w);
	else
		parse_sges(qp, wr, w);
}

static void parse_local(struct iw_wr *wr, const union sq_wqe *w)
{
	if (w->hdr.num_sge)
		wr_bad(wr, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_NUM_SGE);
	if (w->hdr.length)
		wr_bad(wr, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_MBZ);
	if (wr->opcode == ORNIC_WR_REG_MR)
		memcpy(&wr->reg, &w->reg, sizeof(wr->reg));
}

static void parse_wqe(struct iw_qp *qp, struct iw_wr *wr, const union sq_wqe *w)
{
	const struct wr_rule *rule = &wr_rules[0];

	if (le32_to_cpu(w->hdr.wqe_index) != wr->index) {
		wr_bad(wr, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_WQE_INDEX);
		return;
	}
	if (wr->opcode < ARRAY_SIZE(wr_rules))
		rule = &wr_rules[wr->opcode];
	if (wr->opcode >= ARRAY_SIZE(wr_rules) || rule->kind == WR_UNKNOWN) {
		wr_bad(wr, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_OPCODE);
		return;
	}
	if (rule->kind == WR_UNSUPPORTED) {
		wr_bad(wr, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_UNSUPPORTED);
		return;
	}
	if (w->hdr.flags & ~rule->flags)
		wr_bad(wr, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_FLAGS);
	if (w->hdr.mbz)
		wr_bad(wr, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_MBZ);
	if (rule->kind == WR_MSG)
		parse_msg(qp, wr, w);
	else
		parse_local(wr, w);
}

/* Bytes of the WQE behind the first ones; the header is our copy. */
static u32 wqe_more(const struct iw_qp *qp, const struct ornic_sq_hdr *hdr)
{
	u32 stride = 1u << qp->sq.stride_shift;
	u64 len = ORNIC_SQ_DATA_OFF;

	if (hdr->flags & ORNIC_WRF_INLINE)
		len += le32_to_cpu(hdr->length);
	else
		len += hdr->num_sge * sizeof(struct ornic_sge);
	len = min(len, (u64)stride);
	return len > SQ_FIRST ? (u32)len - SQ_FIRST : 0;
}

static u64 wqe_off(const struct iw_qp *qp, u32 index)
{
	return qp->sq.off + ((u64)(index & ((1u << qp->sq.shift) - 1)) << qp->sq.stride_shift);
}

static bool wqe_load(struct iw_qp *qp, u32 index, union sq_wqe *w)
{
	u64 off = wqe_off(qp, index);
	u32 more;

	if (qmem_read(qp->dev, &qp->mem, off, w->b, SQ_FIRST))
		return false;
	more = wqe_more(qp, &w->hdr);
	return !more || !qmem_read(qp->dev, &qp->mem, off + SQ_FIRST, w->b + SQ_FIRST, more);
}

/* One WQE into our ring. False: there is none, or no room. */
static bool sq_fetch(struct iw_qp *qp)
{
	struct iw_sq *sq = &qp->sq;
	union sq_wqe w;
	struct iw_wr *wr;

	if (sq->fetched - sq->ci > sq->mask)
		return false;
	if (sq->fetched == sq->pi && (!iw_sq_poll(qp) || sq->fetched == sq->pi))
		return false;
	wr = iw_sq_wr(qp, sq->fetched);
	memset(wr, 0, offsetof(struct iw_wr, sge));
	wr->index = sq->fetched;
	if (wqe_load(qp, wr->index, &w)) {
		wr->opcode = w.hdr.opcode;
		wr->flags = w.hdr.flags;
		wr->inv_stag = le32_to_cpu(w.hdr.imm_stag);
		parse_wqe(qp, wr, &w);
	} else {
		wr_bad(wr, ORNIC_CQE_FATAL, ORNIC_SYN_DMA);
	}
	if (qp->flags & ORNIC_QPF_SIG_ALL)
		wr->flags |= ORNIC_WRF_SIGNALED;
	sq->fetched++;
	return true;
}

/* ---- starting ---- */

/* Does a WR that TCP may still have to send again read from the MR? */
static bool stag_in_flight(struct iw_qp *qp, u32 stag, u32 before)
{
	u32 i, s;

	for (i = qp->sq.ci; i != before; i++) {
		const struct iw_wr *wr = iw_sq_wr(qp, i);

		if (wr->done || wr->opcode > ORNIC_WR_READ || (wr->flags & ORNIC_WRF_INLINE))
			continue;
		for (s = 0; s < wr->num_sge; s++)
			if (!((wr->sge[s].stag ^ stag) & ORNIC_STAG_INDEX))
				return true;
	}
	return false;
}

/* Fences and limits: may @wr start now? */
static bool wr_may_start(struct iw_qp *qp, const struct iw_wr *wr)
{
	/* What comes before a bad WR is finished properly; so its CQE is the first in error. */
	if (wr->status || (wr->flags & ORNIC_WRF_LOCAL_FENCE))
		return qp->sq.ci == wr->index;
	if ((wr->flags & ORNIC_WRF_FENCE) && qp->tx.orq_pi != qp->tx.orq_ci)
		return false;
	if (wr->opcode == ORNIC_WR_READ)
		return !qp->ord || qp->tx.orq_pi - qp->tx.orq_ci < qp->ord;
	/* A retransmission reads the memory again. */
	if (wr->opcode == ORNIC_WR_LOCAL_INV)
		return !stag_in_flight(qp, wr->inv_stag, wr->index);
	return true;
}

static void check_sink(struct iw_qp *qp, struct iw_wr *wr)
{
	const struct iw_sge *sge = &wr->sge[0];
	enum ornic_syndrome syn;

	/* Verbs leave a Read that can never be sent no other way out than an error. */
	if (!qp->ord) {
		wr_bad(wr, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_UNSUPPORTED);
		return;
	}
	if (!wr->length)
		return;
	/* The peer names the sink by its STag: it is a buffer like those for its Writes. */
	if (sge->stag == ORNIC_STAG_LOCAL_DMA) {
		wr_bad(wr, ORNIC_CQE_LOC_ACCESS, ORNIC_SYN_STAG_RIGHTS);
		return;
	}
	syn = mr_check(qp->dev, sge->stag, qp->pdn, sge->addr, sge->length, ORNIC_ACC_REMOTE_WRITE,
		       false);
	if (syn == ORNIC_SYN_STAG_RIGHTS)
		wr_bad(wr, ORNIC_CQE_LOC_ACCESS, syn);
	else if (syn)
		wr_bad(wr, ORNIC_CQE_LOC_PROT, syn);
}

static void check_sources(struct iw_qp *qp, struct iw_wr *wr)
{
	u32 i;

	if (wr->flags & ORNIC_WRF_INLINE)
		return;
	for (i = 0; i < wr->num_sge; i++) {
		const struct iw_sge *sge = &wr->sge[i];
		enum ornic_syndrome syn;

		if (!sge->length)
			continue;
		syn = mr_check(qp->dev, sge->stag, qp->pdn, sge->addr, sge->length, 0,
			       qp->privileged);
		if (syn)
			wr_bad(wr, ORNIC_CQE_LOC_PROT, syn);
	}
}

static void start_local(struct iw_qp *qp, struct iw_wr *wr)
{
	enum ornic_syndrome syn;

	if (!qp->privileged)
		syn = ORNIC_SYN_PRIVILEGE;
	else if (wr->opcode == ORNIC_WR_REG_MR)
		syn = mr_fast_reg(qp->dev, qp->pdn, &wr->reg);
	else
		syn = mr_local_inv(qp->dev, qp->pdn, wr->inv_stag);
	if (syn)
		wr_bad(wr, ORNIC_CQE_MW_BIND, syn);
}

static void start_msg(struct iw_qp *qp, struct iw_wr *wr)
{
	struct iw_tx *tx = &qp->tx;

	switch (wr->opcode) {
	case ORNIC_WR_SEND:
		wr->msn = ++tx->msn[DDP_QN_SEND];
		break;
	case ORNIC_WR_READ:
		wr->msn = ++tx->msn[DDP_QN_READ];
		tx->orq[tx->orq_pi++ % IW_READS] = wr->index;
		break;
	default:
		break;
	}
}

static void wr_fail(struct iw_qp *qp, struct iw_wr *wr)
{
	iw_stat(qp->dev, ORNIC_STAT_IW_WQE_ERR);
	/* RFC 5040 7.1: an error in making a request is told to the peer too. */
	iw_term_send(qp, IW_FAULT(TERM_RDMAP, RDMAP_LOCAL_CATASTROPHIC, 0, wr->syndrome), NULL, 0);
}

static bool wr_is_local(const struct iw_wr *wr)
{
	return wr->opcode == ORNIC_WR_NOP || wr->opcode > ORNIC_WR_READ;
}

/* Where the SQ must stop for now. */
static bool sq_held(const struct iw_qp *qp)
{
	if (!qp->tx.sq_open)
		return true;
	return qp->state == ORNIC_QPS_CLOSING && qp->tx.next_wr == qp->close_pi;
}

enum iw_sq_next iw_sq_next(struct iw_qp *qp, struct iw_wr **out)
{
	struct iw_sq *sq = &qp->sq;
	struct iw_wr *wr;

	if (sq_held(qp))
		return IW_SQ_WAIT;
	if (qp->tx.next_wr == sq->fetched && !sq_fetch(qp)) {
		if (qp->state == ORNIC_QPS_ERROR)
			return IW_SQ_DEAD;
		return sq->fetched == sq->pi ? IW_SQ_IDLE : IW_SQ_WAIT;
	}
	wr = iw_sq_wr(qp, qp->tx.next_wr);
	if (!wr_may_start(qp, wr))
		return IW_SQ_WAIT;
	if (wr->opcode == ORNIC_WR_READ && qp->rx.fin) {
		iw_qp_fail(qp, ORNIC_SYN_CONN_LOST, IW_END_FIN);
		return IW_SQ_DEAD;
	}
	if (!wr->status) {
		if (wr->opcode == ORNIC_WR_READ)
			check_sink(qp, wr);
		else if (!wr_is_local(wr))
			check_sources(qp, wr);
		else if (wr->opcode != ORNIC_WR_NOP)
			start_local(qp, wr);
	}
	if (wr->status) {
		/* It may have been found out now only: wait as for one that was malformed. */
		if (sq->ci != wr->index)
			return IW_SQ_WAIT;
		wr_fail(qp, wr);
		return IW_SQ_DEAD;
	}
	qp->tx.next_wr++;
	if (wr_is_local(wr)) {
		wr->done = true;
		iw_sq_reap(qp);
		return IW_SQ_LOCAL;
	}
	start_msg(qp, wr);
	*out = wr;
	return IW_SQ_READY;
}

bool iw_sq_more(struct iw_qp *qp)
{
	const struct iw_wr *wr;

	if (sq_held(qp))
		return false;
	if (qp->tx.next_wr == qp->sq.fetched && !sq_fetch(qp))
		return false;
	wr = iw_sq_wr(qp, qp->tx.next_wr);
	return !wr->status && !wr_is_local(wr) && wr_may_start(qp, wr);
}

/* ---- completing ---- */

static void sq_complete(struct iw_qp *qp, u32 index, u8 opcode, u8 status, u16 syndrome,
			u32 byte_len)
{
	struct ornic_cqe cqe = {
		.qpn = cpu_to_le32(qp->qpn),
		.wqe_index = cpu_to_le32(index),
		.byte_len = cpu_to_le32(byte_len),
		.opcode = opcode,
		.status = status,
		.syndrome = cpu_to_le16(syndrome),
	};

	iw_cq_write(qp->scq, &cqe);
}

void iw_sq_reap(struct iw_qp *qp)
{
	struct iw_sq *sq = &qp->sq;

	if (qp->state == ORNIC_QPS_ERROR)
		return;
	while (sq->ci != sq->fetched) {
		const struct iw_wr *wr = iw_sq_wr(qp, sq->ci);

		if (!wr->done)
			break;
		sq->ci++;
		if (wr->flags & ORNIC_WRF_SIGNALED)
			sq_complete(qp, wr->index, wr->opcode, ORNIC_CQE_OK, 0,
				    wr->opcode == ORNIC_WR_READ ? wr->length : 0);
	}
	iw_qp_close_check(qp);
}

static u8 wqe_opcode(struct iw_qp *qp, u32 index)
{
	u8 op;

	/* A value that a receive's completion has would be taken for one. */
	if (qmem_read(qp->dev, &qp->mem, wqe_off(qp, index), &op, 1) || op >= ORNIC_CQE_RECV)
		return ORNIC_WR_NOP;
	return op;
}

void iw_sq_flush(struct iw_qp *qp)
{
	struct iw_sq *sq = &qp->sq;
	u32 pi;

	if (!qmem_load32(qp->dev, &qp->mem, qp->rec_off + offsetof(struct ornic_queue_rec, pi),
			 &pi))
		iw_index_ok(pi, &sq->pi, sq->ci, sq->shift);
	for (; sq->ci != sq->pi; sq->ci++) {
		const struct iw_wr *wr = iw_sq_wr(qp, sq->ci);
		bool ours = (s32)(sq->fetched - sq->ci) > 0;

		if (ours && wr->status)
			sq_complete(qp, sq->ci, wr->opcode < ORNIC_CQE_RECV ? wr->opcode : 0,
				    wr->status, wr->syndrome, 0);
		else
			sq_complete(qp, sq->ci, ours ? wr->opcode : wqe_opcode(qp, sq->ci),
				    ORNIC_CQE_FLUSHED, qp->cause, 0);
	}
	/* The WRs themselves stay: TCP may have records that name them. */
	sq->fetched = sq->pi;
}
