// SPDX-License-Identifier: GPL-2.0-or-later
/* Terminate messages (RFC 5040 4.8, 5.4, 7.1). */
#include "iwarp/internal.h"
#include "iwarp/marker.h"

/* ---- sending ---- */

static bool fault_has_headers(struct iw_fault f)
{
	/* RFC 5040 figure 10; RFC 5041 7.2: Local Catastrophic is about no segment in particular.
	 */
	return f.layer != TERM_LLP && f.etype != RDMAP_LOCAL_CATASTROPHIC;
}

/* The Terminate header for a fault; returns its length. */
static u32 term_build(u8 *p, struct iw_fault f, const u8 *seg, u32 seg_len)
{
	u32 ddp_len, len = 4;

	p[0] = (u8)(f.layer << 4 | f.etype);
	p[1] = f.code;
	p[2] = 0;
	p[3] = 0;
	if (!seg || !seg_len || !fault_has_headers(f))
		return len;
	ddp_len = ddp_hdr_len(seg[0] & DDP_F_TAGGED);
	if (seg_len < ddp_len)
		return len;
	p[2] = TERM_F_LENGTH | TERM_F_DDP;
	put_be16(p + 4, (u16)seg_len);
	memcpy(p + 6, seg, ddp_len);
	len = 6 + ddp_len;
	/* The RDMAP header only with an error of protection in a Read Request. */
	if (f.layer != TERM_RDMAP || f.etype != RDMAP_REMOTE_PROTECTION ||
	    ddp_len == DDP_TAGGED_LEN || (seg[1] & 0x0f) != RDMAP_READ_REQ ||
	    seg_len < ddp_len + RDMAP_READ_LEN)
		return len;
	p[2] |= TERM_F_RDMAP;
	memcpy(p + len, seg + ddp_len, RDMAP_READ_LEN);
	return len + RDMAP_READ_LEN;
}

static bool fault_is_protection(struct iw_fault f)
{
	if (f.layer == TERM_RDMAP)
		return f.etype == RDMAP_REMOTE_PROTECTION;
	return f.layer == TERM_DDP && f.etype == DDP_TAGGED_ERROR && f.code != DDP_TAGGED_VERSION;
}

static u8 fault_event(struct iw_fault f)
{
	if (f.layer != TERM_LLP && f.etype == RDMAP_LOCAL_CATASTROPHIC)
		return ORNIC_ASYNC_QP_FATAL;
	return fault_is_protection(f) ? ORNIC_ASYNC_QP_ACCESS_ERR : ORNIC_ASYNC_QP_REQ_ERR;
}

void iw_term_send(struct iw_qp *qp, struct iw_fault fault, const u8 *seg, u32 seg_len)
{
	struct iw_tx *tx = &qp->tx;

	if (!qp->conn || qp->state == ORNIC_QPS_ERROR)
		return;
	memset(&tx->term, 0, sizeof(tx->term));
	tx->term_len = (u8)term_build(tx->term.control, fault, seg, seg_len);
	tx->want_term = true;
	if (fault_is_protection(fault))
		iw_stat(qp->dev, ORNIC_STAT_IW_RX_PROT);
	iw_qp_async(qp, fault_event(fault), fault.syndrome,
		    fault_event(fault) == ORNIC_ASYNC_QP_FATAL ? NULL : tx->term.control);
	iw_qp_fail(qp, ORNIC_SYN_TERM_SENT, IW_END_FIN);
}

bool iw_terminate(struct iw_qp *qp, u8 layer, u8 etype, u8 code)
{
	struct iw_tx *tx = &qp->tx;

	if (!qp->conn || qp->state == ORNIC_QPS_ERROR || tx->fin)
		return false;
	memset(&tx->term, 0, sizeof(tx->term));
	tx->term_len = (u8)term_build(tx->term.control, IW_FAULT(layer, etype, code, 0), NULL, 0);
	tx->want_term = true;
	iw_qp_fail(qp, ORNIC_SYN_TERM_SENT, IW_END_FIN);
	return true;
}

size_t iw_build_terminate(u8 *buf, u8 layer, u8 etype, u8 code, u16 flags)
{
	struct ddp_hdr h = {.last = true, .opcode = RDMAP_TERMINATE, .qn = DDP_QN_TERM, .msn = 1};
	u32 len = ddp_put_hdr(buf + MPA_HDR_LEN, &h);

	len += term_build(buf + MPA_HDR_LEN + len, IW_FAULT(layer, etype, code, 0), NULL, 0);
	put_be16(buf, (u16)len);
	len = mpa_finish(buf, len, 0, false);
	if (flags & ORNIC_RDMAF_TX_MARKERS)
		len = mpa_mark(buf, 0, len);
	if (flags & ORNIC_RDMAF_CRC)
		mpa_set_crc(buf, len);
	return len;
}

/* ---- receiving ---- */

/* The WR that the message in error belongs to; NULL: none, or it is complete. */
static struct iw_wr *find_wr(struct iw_qp *qp, const struct ddp_hdr *h)
{
	u32 i;

	for (i = qp->sq.ci; i != qp->tx.next_wr; i++) {
		struct iw_wr *wr = iw_sq_wr(qp, i);

		if (h->tagged && h->opcode == RDMAP_WRITE) {
			if (wr->opcode == ORNIC_WR_WRITE && wr->remote_stag == h->stag &&
			    h->to - wr->remote_addr < max(wr->length, 1u))
				return wr;
		} else if (!h->tagged && h->qn == DDP_QN_SEND) {
			if (wr->opcode == ORNIC_WR_SEND && wr->msn == h->msn)
				return wr;
		} else if (!h->tagged && h->qn == DDP_QN_READ) {
			if (wr->opcode == ORNIC_WR_READ && wr->msn == h->msn)
				return wr;
		}
	}
	return NULL;
}

static u8 status_rdmap(u8 etype, u8 code)
{
	if (etype == RDMAP_REMOTE_PROTECTION)
		return ORNIC_CQE_REM_ACCESS;
	if (etype == RDMAP_REMOTE_OPERATION &&
	    (code == RDMAP_ERR_VERSION || code == RDMAP_ERR_OPCODE))
		return ORNIC_CQE_REM_INV_REQ;
	return ORNIC_CQE_REM_OP;
}

static u8 status_ddp(u8 etype, u8 code)
{
	if (etype == DDP_TAGGED_ERROR)
		return code == DDP_TAGGED_VERSION ? ORNIC_CQE_REM_INV_REQ : ORNIC_CQE_REM_ACCESS;
	if (etype == DDP_UNTAGGED_ERROR && code != DDP_UNTAGGED_NO_BUFFER)
		return ORNIC_CQE_REM_INV_REQ;
	return ORNIC_CQE_REM_OP;
}

static void term_blame(struct iw_qp *qp, const u8 *p, u32 len)
{
	u8 layer = p[0] >> 4, etype = p[0] & 0x0f, code = p[1];
	struct iw_wr *wr;
	struct ddp_hdr h;

	if (!(p[2] & TERM_F_DDP) || len < 6 || !ddp_get_hdr(p + 6, len - 6, &h))
		return;
	wr = find_wr(qp, &h);
	if (!wr)
		return;
	if (layer == TERM_RDMAP)
		wr->status = status_rdmap(etype, code);
	else if (layer == TERM_DDP)
		wr->status = status_ddp(etype, code);
	else
		wr->status = ORNIC_CQE_REM_INV_REQ;
	wr->syndrome = ORNIC_SYN_TERM_RCVD;
}

void iw_term_received(struct iw_qp *qp, const u8 *p, u32 len)
{
	struct ornic_terminate term = {0};

	iw_stat(qp->dev, ORNIC_STAT_IW_RX_TERM);
	len = min(len, (u32)sizeof(term));
	memcpy(term.control, p, min(len, (u32)sizeof(term.control)));
	if (len > sizeof(term.control))
		memcpy(term.ddp, p + sizeof(term.control), len - sizeof(term.control));
	/* One that is cut short still ends the stream. */
	if (len >= sizeof(term.control))
		term_blame(qp, p, len);
	conn_term_rcvd(qp->conn, &term, max(len, (u32)sizeof(term.control)));
	iw_qp_async(qp, ORNIC_ASYNC_QP_FATAL, ORNIC_SYN_TERM_RCVD, NULL);
	iw_qp_fail(qp, ORNIC_SYN_TERM_RCVD, IW_END_FIN);
}
