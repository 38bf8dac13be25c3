// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reception: FPDUs are found in the byte stream, checked, and their payload is
 * placed. The checks of RFC 5044 8, RFC 5041 7.1 and RFC 5040 7.2, each with
 * the Terminate that these documents give it.
 */
#include <errno.h>
#include <stdlib.h>

#include "iwarp/internal.h"

#define FAULT_NONE IW_FAULT(0xff, 0, 0, 0)

static bool is_fault(struct iw_fault f)
{
	return f.layer != 0xff;
}

static struct iw_fault fault_mpa(u8 code)
{
	return IW_FAULT(TERM_LLP, 0, code, ORNIC_SYN_NONE);
}

static struct iw_fault fault_tagged(u8 code, u16 syndrome)
{
	return IW_FAULT(TERM_DDP, DDP_TAGGED_ERROR, code, syndrome);
}

static struct iw_fault fault_untagged(u8 code, u16 syndrome)
{
	return IW_FAULT(TERM_DDP, DDP_UNTAGGED_ERROR, code, syndrome);
}

static struct iw_fault fault_protection(u8 code, u16 syndrome)
{
	return IW_FAULT(TERM_RDMAP, RDMAP_REMOTE_PROTECTION, code, syndrome);
}

static struct iw_fault fault_operation(u8 code)
{
	return IW_FAULT(TERM_RDMAP, RDMAP_REMOTE_OPERATION, code, ORNIC_SYN_NONE);
}

/* Something on this side: the peer did nothing wrong. */
static struct iw_fault fault_local(u16 syndrome)
{
	return IW_FAULT(TERM_RDMAP, RDMAP_LOCAL_CATASTROPHIC, 0, syndrome);
}

/* ---- tagged: Write and Read Response ---- */

/*
 * RFC 5041 has no code for rights that are lacking, and RFC 5040 figure 10 keeps its own for
 * Read Requests: to this peer the STag is not a valid one.
 */
static struct iw_fault tagged_fault(enum ornic_syndrome syn)
{
	switch (syn) {
	case ORNIC_SYN_STAG_PD:
		return fault_tagged(DDP_TAGGED_NOT_ASSOC, syn);
	case ORNIC_SYN_STAG_BOUNDS:
		return fault_tagged(DDP_TAGGED_BOUNDS, syn);
	case ORNIC_SYN_PRIVILEGE:
		return fault_tagged(DDP_TAGGED_INVALID_STAG, ORNIC_SYN_STAG_INVALID);
	default:
		return fault_tagged(DDP_TAGGED_INVALID_STAG, syn);
	}
}

/*
 * Inline, since a fault that is returned goes through memory: its load would wait for all stores of
 * the payload.
 */
static inline struct iw_fault place_tagged(struct iw_qp *qp, u32 stag, u64 to, const u8 *data,
					   u32 len)
{
	enum ornic_syndrome syn;

	if (to + len < to)
		return fault_tagged(DDP_TAGGED_TO_WRAP, ORNIC_SYN_STAG_BOUNDS);
	syn = mr_check(qp->dev, stag, qp->pdn, to, len, ORNIC_ACC_REMOTE_WRITE, false);
	if (syn)
		return tagged_fault(syn);
	if (mr_write(qp->dev, stag, to, data, len))
		return fault_local(ORNIC_SYN_DMA);
	qp->dev->stats[ORNIC_STAT_IW_RX_BYTES] += len;
	return FAULT_NONE;
}

static struct iw_fault rx_write(struct iw_qp *qp, const struct ddp_hdr *h, const u8 *data, u32 len)
{
	if (h->last)
		iw_stat(qp->dev, ORNIC_STAT_IW_RX_WRITE);
	/* RFC 5041 5.2: STag and offset of an empty message are not looked at. */
	if (!len)
		return FAULT_NONE;
	if (!(qp->access & ORNIC_ACC_REMOTE_WRITE))
		return tagged_fault(ORNIC_SYN_STAG_RIGHTS);
	return place_tagged(qp, h->stag, h->to, data, len);
}

static void read_error(struct iw_wr *wr, u8 status, u16 syndrome)
{
	wr->status = status;
	wr->syndrome = syndrome;
}

/* The oldest Read is answered. */
static struct iw_fault read_done(struct iw_qp *qp, struct iw_wr *wr)
{
	enum ornic_syndrome syn;

	qp->tx.orq_ci++;
	qp->rx.read_got = 0;
	iw_stat(qp->dev, ORNIC_STAT_IW_RX_READ_RESP);
	if (wr->flags & ORNIC_WRF_INVALIDATE) {
		syn = mr_local_inv(qp->dev, qp->pdn, wr->num_sge ? wr->sge[0].stag : 0);
		if (syn) {
			read_error(wr, ORNIC_CQE_MW_BIND, syn);
			return fault_local(syn);
		}
	}
	wr->placed = true;
	wr->done = wr->acked;
	iw_sq_reap(qp);
	if (qp->awake && qp->state != ORNIC_QPS_ERROR)
		iw_qp_wake(qp);
	return FAULT_NONE;
}

static struct iw_fault rx_rtr_resp(struct iw_qp *qp, const struct ddp_hdr *h, u32 len)
{
	if (len || !h->last)
		return fault_tagged(DDP_TAGGED_BOUNDS, ORNIC_SYN_STAG_BOUNDS);
	qp->tx.rtr_out = false;
	return FAULT_NONE;
}

/* RFC 5040 5.2.2: a response may be held against its request; here it has to match. */
static struct iw_fault rx_read_resp(struct iw_qp *qp, const struct ddp_hdr *h, const u8 *data,
				    u32 len)
{
	struct iw_tx *tx = &qp->tx;
	struct iw_fault fault;
	struct iw_wr *wr;

	if (tx->rtr_out)
		return rx_rtr_resp(qp, h, len);
	if (tx->orq_ci == tx->orq_pi)
		return fault_operation(RDMAP_ERR_OPCODE);
	wr = iw_sq_wr(qp, tx->orq[tx->orq_ci % IW_READS]);
	if (len) {
		if (!wr->num_sge || h->stag != wr->sge[0].stag)
			return fault_tagged(DDP_TAGGED_INVALID_STAG, ORNIC_SYN_STAG_INVALID);
		if (h->to != wr->sge[0].addr + qp->rx.read_got ||
		    len > wr->length - qp->rx.read_got)
			return fault_tagged(DDP_TAGGED_BOUNDS, ORNIC_SYN_STAG_BOUNDS);
		fault = place_tagged(qp, h->stag, h->to, data, len);
		if (is_fault(fault)) {
			read_error(wr, ORNIC_CQE_LOC_PROT, fault.syndrome);
			return fault;
		}
		qp->rx.read_got += len;
	}
	if (!h->last)
		return FAULT_NONE;
	if (qp->rx.read_got != wr->length)
		return fault_operation(RDMAP_ERR_UNSPECIFIED);
	return read_done(qp, wr);
}

static struct iw_fault rx_tagged(struct iw_qp *qp, const struct ddp_hdr *h, const u8 *data, u32 len)
{
	switch (h->opcode) {
	case RDMAP_WRITE:
		return rx_write(qp, h, data, len);
	case RDMAP_READ_RESP:
		return rx_read_resp(qp, h, data, len);
	default:
		return fault_operation(RDMAP_ERR_OPCODE);
	}
}

/* ---- queue 0: Send ---- */

static bool is_rtr_send(const struct iw_qp *qp, const struct ddp_hdr *h, u32 len)
{
	return qp->role == ORNIC_ROLE_RESPONDER && qp->rtr == ORNIC_RTR_SEND && h->msn == 1 &&
	       !len && !h->mo && h->last && h->opcode == RDMAP_SEND;
}

static struct iw_fault send_begin(struct iw_qp *qp, const struct ddp_hdr *h)
{
	if (h->mo)
		return fault_untagged(DDP_UNTAGGED_MO, ORNIC_SYN_NONE);
	switch (iw_rq_take(qp)) {
	case IW_RQ_OK:
		qp->rq.opcode = h->opcode;
		qp->rq.stag = h->stag;
		return FAULT_NONE;
	case IW_RQ_EMPTY:
		return fault_untagged(DDP_UNTAGGED_NO_BUFFER, ORNIC_SYN_NONE);
	default:
		return fault_local(ORNIC_SYN_NONE);
	}
}

static struct iw_fault send_end(struct iw_qp *qp, const struct ddp_hdr *h)
{
	u32 flags = rdmap_has_se(h->opcode) ? ORNIC_CQE_SOLICITED : 0;
	enum ornic_syndrome syn;

	qp->rx.msn[DDP_QN_SEND]++;
	if (rdmap_has_inv(h->opcode)) {
		syn = mr_remote_inv(qp->dev, qp->pdn, h->stag);
		if (syn)
			return fault_protection(RDMAP_ERR_CANNOT_INVALIDATE, syn);
		flags |= ORNIC_CQE_WITH_INV;
	}
	iw_stat(qp->dev, ORNIC_STAT_IW_RX_SEND);
	iw_rq_complete(qp, ORNIC_CQE_OK, 0, flags, flags & ORNIC_CQE_WITH_INV ? h->stag : 0);
	return FAULT_NONE;
}

static struct iw_fault rx_send(struct iw_qp *qp, const struct ddp_hdr *h, const u8 *data, u32 len)
{
	struct iw_rq *rq = &qp->rq;
	struct iw_fault fault;

	if (is_rtr_send(qp, h, len)) {
		qp->rx.msn[DDP_QN_SEND]++;
		return FAULT_NONE;
	}
	if (!rq->busy) {
		fault = send_begin(qp, h);
		if (is_fault(fault))
			return fault;
	}
	if (h->opcode != rq->opcode || (rdmap_has_inv(h->opcode) && h->stag != rq->stag))
		return fault_operation(RDMAP_ERR_OPCODE);
	/* TCP keeps the order, so there is neither a gap nor an overlap (RFC 5041 5.3). */
	if (h->mo != rq->got)
		return fault_untagged(DDP_UNTAGGED_MO, ORNIC_SYN_NONE);
	if (len > rq->room - rq->got) {
		iw_rq_complete(qp, ORNIC_CQE_LOC_LEN, ORNIC_SYN_LENGTH, 0, 0);
		return fault_untagged(DDP_UNTAGGED_TOO_LONG, ORNIC_SYN_LENGTH);
	}
	if (iw_rq_place(qp, data, len)) {
		iw_rq_complete(qp, ORNIC_CQE_FATAL, ORNIC_SYN_DMA, 0, 0);
		return fault_local(ORNIC_SYN_DMA);
	}
	qp->dev->stats[ORNIC_STAT_IW_RX_BYTES] += len;
	return h->last ? send_end(qp, h) : FAULT_NONE;
}

/* ---- queue 1: Read Request ---- */

static struct iw_fault read_req_access(struct iw_qp *qp, const struct rdmap_read *r)
{
	enum ornic_syndrome syn;

	/* RFC 5040 5.2.1: nothing is validated for a Read of no bytes. */
	if (!r->size)
		return FAULT_NONE;
	if (!(qp->access & ORNIC_ACC_REMOTE_READ))
		return fault_protection(RDMAP_ERR_RIGHTS, ORNIC_SYN_STAG_RIGHTS);
	if (r->src_to + r->size < r->src_to)
		return fault_protection(RDMAP_ERR_TO_WRAP, ORNIC_SYN_STAG_BOUNDS);
	syn = mr_check(qp->dev, r->src_stag, qp->pdn, r->src_to, r->size, ORNIC_ACC_REMOTE_READ,
		       false);
	switch (syn) {
	case ORNIC_SYN_NONE:
		return FAULT_NONE;
	case ORNIC_SYN_STAG_PD:
		return fault_protection(RDMAP_ERR_NOT_ASSOC, syn);
	case ORNIC_SYN_STAG_BOUNDS:
		return fault_protection(RDMAP_ERR_BOUNDS, syn);
	case ORNIC_SYN_STAG_RIGHTS:
		return fault_protection(RDMAP_ERR_RIGHTS, syn);
	default:
		return fault_protection(RDMAP_ERR_INVALID_STAG, ORNIC_SYN_STAG_INVALID);
	}
}

/* The negotiated depth is what this queue has buffers for (RFC 5040 5.2.2). */
static bool read_req_room(const struct iw_qp *qp, bool rtr)
{
	u32 out = iw_tx_reads_in(qp) - qp->tx.rtr_in;

	return rtr ? iw_tx_reads_in(qp) < IW_READS : out < qp->ird;
}

static struct iw_fault rx_read_req(struct iw_qp *qp, const struct ddp_hdr *h, const u8 *seg,
				   u32 len)
{
	struct iw_tx *tx = &qp->tx;
	struct iw_fault fault;
	struct iw_resp *resp;
	struct rdmap_read r;
	bool rtr;

	if (h->mo)
		return fault_untagged(DDP_UNTAGGED_MO, ORNIC_SYN_NONE);
	if (len > RDMAP_READ_LEN)
		return fault_untagged(DDP_UNTAGGED_TOO_LONG, ORNIC_SYN_LENGTH);
	if (len < RDMAP_READ_LEN || !h->last)
		return fault_operation(RDMAP_ERR_UNSPECIFIED);
	rdmap_get_read(seg + DDP_UNTAGGED_LEN, &r);
	rtr = qp->role == ORNIC_ROLE_RESPONDER && qp->rtr == ORNIC_RTR_READ && h->msn == 1 &&
	      !r.size;
	if (!read_req_room(qp, rtr))
		return fault_untagged(DDP_UNTAGGED_NO_BUFFER, ORNIC_SYN_NONE);
	fault = read_req_access(qp, &r);
	if (is_fault(fault))
		return fault;
	qp->rx.msn[DDP_QN_READ]++;
	iw_stat(qp->dev, ORNIC_STAT_IW_RX_READ_REQ);
	resp = &tx->resp[tx->resp_pi % IW_READS];
	memset(resp, 0, sizeof(*resp));
	resp->req = r;
	resp->rtr = rtr;
	memcpy(resp->ddp, seg, DDP_UNTAGGED_LEN);
	tx->resp_pi++;
	if (rtr)
		tx->rtr_in = true;
	iw_qp_wake(qp);
	return FAULT_NONE;
}

/* ---- queue 2: Terminate ---- */

static struct iw_fault rx_term(struct iw_qp *qp, const struct ddp_hdr *h, const u8 *data, u32 len)
{
	if (h->mo)
		return fault_untagged(DDP_UNTAGGED_MO, ORNIC_SYN_NONE);
	if (len > RDMAP_TERM_MAX + 4)
		return fault_untagged(DDP_UNTAGGED_TOO_LONG, ORNIC_SYN_LENGTH);
	iw_term_received(qp, data, len);
	return FAULT_NONE;
}

static bool opcode_fits_queue(const struct ddp_hdr *h)
{
	switch (h->qn) {
	case DDP_QN_SEND:
		return rdmap_is_send(h->opcode);
	case DDP_QN_READ:
		return h->opcode == RDMAP_READ_REQ;
	default:
		return h->opcode == RDMAP_TERMINATE;
	}
}

static struct iw_fault rx_untagged(struct iw_qp *qp, const struct ddp_hdr *h, const u8 *seg,
				   u32 len)
{
	const u8 *data = seg + DDP_UNTAGGED_LEN;

	if (!opcode_fits_queue(h))
		return fault_operation(RDMAP_ERR_OPCODE);
	if (h->msn != qp->rx.msn[h->qn])
		return fault_untagged(DDP_UNTAGGED_MSN_RANGE, ORNIC_SYN_NONE);
	switch (h->qn) {
	case DDP_QN_SEND:
		return rx_send(qp, h, data, len);
	case DDP_QN_READ:
		return rx_read_req(qp, h, seg, len);
	default:
		return rx_term(qp, h, data, len);
	}
}

/* ---- FPDUs ---- */

static struct iw_fault check_hdr(const struct ddp_hdr *h)
{
	if (h->dv != DDP_VERSION)
		return h->tagged ? fault_tagged(DDP_TAGGED_VERSION, ORNIC_SYN_NONE)
				 : fault_untagged(DDP_UNTAGGED_VERSION, ORNIC_SYN_NONE);
	if (!h->tagged && h->qn >= DDP_QN_COUNT)
		return fault_untagged(DDP_UNTAGGED_QN, ORNIC_SYN_NONE);
	if (h->rv != RDMAP_VERSION)
		return fault_operation(RDMAP_ERR_VERSION);
	if (h->opcode > RDMAP_TERMINATE)
		return fault_operation(RDMAP_ERR_OPCODE);
	return FAULT_NONE;
}

/* RFC 5044 7.1.2: now the peer is known to be in RDMA mode. */
static void first_fpdu(struct iw_qp *qp)
{
	if (qp->rx.first_seen)
		return;
	qp->rx.first_seen = true;
	if (qp->role != ORNIC_ROLE_RESPONDER)
		return;
	qp->tx.sq_open = true;
	conn_first_fpdu(qp->conn);
	iw_qp_wake(qp);
}

static struct iw_fault rx_segment(struct iw_qp *qp, const u8 *seg, u32 len)
{
	struct iw_fault fault;
	struct ddp_hdr h;
	u32 hdr;

	if (!ddp_get_hdr(seg, len, &h)) {
		iw_stat(qp->dev, ORNIC_STAT_IW_RX_FRAMING);
		return fault_mpa(MPA_ERR_FRAMING);
	}
	fault = check_hdr(&h);
	if (is_fault(fault))
		return fault;
	iw_stat(qp->dev, ORNIC_STAT_IW_RX_FPDU);
	first_fpdu(qp);
	hdr = ddp_hdr_len(h.tagged);
	if (h.tagged)
		return rx_tagged(qp, &h, seg + hdr, len - hdr);
	return rx_untagged(qp, &h, seg, len - hdr);
}

static void rx_fault(struct iw_qp *qp, enum ornic_stat which, u8 code)
{
	iw_stat(qp->dev, which);
	iw_term_send(qp, fault_mpa(code), NULL, 0);
}

/* RFC 5044 8: a marker is judged when the CRC was right. */
static const u8 *rx_unmark(struct iw_qp *qp, const u8 *p, u32 fpdu_len)
{
	struct iw_rx *rx = &qp->rx;
	bool ok = mpa_unmark(rx->acc, p, rx->pos, fpdu_len);

	rx->pos += fpdu_len;
	return ok ? rx->acc : NULL;
}

static void rx_fpdu(struct iw_qp *qp, const u8 *p, u32 fpdu_len)
{
	struct iw_fault fault;

	if (qp->crc && !mpa_crc_ok(p, fpdu_len)) {
		rx_fault(qp, ORNIC_STAT_IW_RX_CRC, MPA_ERR_CRC);
		return;
	}
	if (qp->rx.markers)
		p = rx_unmark(qp, p, fpdu_len);
	if (!p) {
		rx_fault(qp, ORNIC_STAT_IW_RX_FRAMING, MPA_ERR_FRAMING);
		return;
	}
	fault = rx_segment(qp, p + MPA_HDR_LEN, get_be16(p));
	if (is_fault(fault))
		iw_term_send(qp, fault, p + MPA_HDR_LEN, get_be16(p));
}

/* Bytes of the next FPDU, of which @have are at @p; as far as its length field if that is not
 * there. */
static u32 fpdu_need(const struct iw_qp *qp, const u8 *p, u32 have)
{
	u32 start = qp->rx.markers ? mpa_marked_start(qp->rx.pos) : 0, len;

	if (have < start + MPA_HDR_LEN)
		return start + MPA_HDR_LEN;
	len = mpa_fpdu_len(get_be16(p + start));
	return qp->rx.markers ? mpa_marked_len(qp->rx.pos, len) : len;
}

static bool rx_alloc(struct iw_qp *qp)
{
	if (!qp->rx.acc)
		qp->rx.acc = malloc(MPA_MARKED_MAX);
	if (!qp->rx.acc)
		iw_term_send(qp, fault_local(ORNIC_SYN_NONE), NULL, 0);
	return qp->rx.acc;
}

/* Bytes of an FPDU that comes in pieces; returns how many were taken. */
static size_t rx_gather(struct iw_qp *qp, const u8 *p, size_t len)
{
	struct iw_rx *rx = &qp->rx;
	u32 need = fpdu_need(qp, rx->acc, rx->acc_len);
	size_t take = min(need - rx->acc_len, len);

	memcpy(rx->acc + rx->acc_len, p, take);
	rx->acc_len += (u32)take;
	if (rx->acc_len == fpdu_need(qp, rx->acc, rx->acc_len)) {
		need = rx->acc_len;
		rx->acc_len = 0;
		rx_fpdu(qp, rx->acc, need);
	}
	return take;
}

size_t iw_rx(struct iw_qp *qp, const void *data, size_t len)
{
	const u8 *p = data;
	size_t left = len, n;

	while (left && qp->conn && !qp->rx.stopped) {
		n = fpdu_need(qp, p, (u32)left);
		if ((qp->rx.acc_len || n > left || qp->rx.markers) && !rx_alloc(qp))
			break;
		if (!qp->rx.acc_len && n <= left)
			rx_fpdu(qp, p, (u32)n);
		else
			n = rx_gather(qp, p, left);
		p += n;
		left -= n;
	}
	/* All is taken: after an error the rest of the stream is of no interest (RFC 5044 8). */
	return len;
}
