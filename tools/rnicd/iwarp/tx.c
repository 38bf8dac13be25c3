// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Transmission: messages are cut into FPDUs, each one record of the TCP engine.
 * A record carries no bytes, only what names them: they are made when TCP sends
 * it, and made again, alike, when TCP sends it again.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/csum.h"
#include "iwarp/internal.h"

/*
 * STag of the zero-length ready-to-receive Write and Read. Nobody may look at it (RFC 5041 5.2,
 * RFC 5040 5.2.1), yet there is hardware that takes offence at zero.
 */
#define RTR_STAG 1u

/*
 * tcp_record.cookie[0]: kind 63:56, last 55, payload length 47:32, index 31:0; cookie[1]: place in
 * the stream of FPDUs 63:32, offset 31:0
 */
#define REC_KIND  GENMASK_ULL(63, 56)
#define REC_LAST  BIT_ULL(55)
#define REC_PLEN  GENMASK_ULL(47, 32)
#define REC_INDEX GENMASK_ULL(31, 0)
#define REC_POS	  GENMASK_ULL(63, 32)
#define REC_OFF	  GENMASK_ULL(31, 0)

/**
 * struct tx_seg - a DDP segment: what a record stands for
 * @kind: enum iw_tx_kind
 * @last: of its message
 * @index: WQE index, or index of the response
 * @off: offset of the payload in the message
 * @plen: bytes of payload (RDMAP headers included)
 * @pos: place in the stream of FPDUs, for its markers
 */
struct tx_seg {
	u8 kind;
	bool last;
	u32 index;
	u32 off;
	u32 plen;
	u32 pos;
};

static struct tx_seg seg_of(const struct tcp_record *rec)
{
	return (struct tx_seg){
		.kind = (u8)FIELD_GET(REC_KIND, rec->cookie[0]),
		.last = rec->cookie[0] & REC_LAST,
		.index = (u32)FIELD_GET(REC_INDEX, rec->cookie[0]),
		.off = (u32)FIELD_GET(REC_OFF, rec->cookie[1]),
		.pos = (u32)FIELD_GET(REC_POS, rec->cookie[1]),
		.plen = (u32)FIELD_GET(REC_PLEN, rec->cookie[0]),
	};
}

static struct iw_resp *tx_resp(struct iw_qp *qp, u32 index)
{
	return &qp->tx.resp[index % IW_READS];
}

u32 iw_tx_reads_in(const struct iw_qp *qp)
{
	return qp->tx.resp_pi - qp->tx.resp_ci;
}

u32 iw_tx_reads_out(const struct iw_qp *qp)
{
	return qp->tx.orq_pi - qp->tx.orq_ci + qp->tx.rtr_out;
}

/* ---- making the bytes ---- */

/**
 * struct tx_sums - what is computed over an FPDU while it is made
 * @crc: as crc32c() has it
 * @sum: for the TCP checksum, as csum_add() has it
 * @odd: the bytes so far are odd in number
 * @split: other bytes than pad and CRC followed an odd number: @sum is of no use
 */
struct tx_sums {
	u32 crc;
	u64 sum;
	bool odd;
	bool split;
};

static void sums_piece(struct tx_sums *sums, u32 len)
{
	sums->split |= sums->odd && len;
	sums->odd ^= len & 1;
}

static void sums_copy(struct tx_sums *sums, u8 *dst, const u8 *src, u32 len)
{
	sums->crc = crc32c_copy(dst, src, len, sums->crc, &sums->sum);
	sums_piece(sums, len);
}

static void sums_add(struct tx_sums *sums, const u8 *p, u32 len)
{
	sums->crc = crc32c(sums->crc, p, len);
	sums->sum = csum_add(sums->sum, p, len);
	sums_piece(sums, len);
}

/* Pad and CRC: the TCP checksum covers them too. */
static void sums_end(struct tx_sums *sums, const u8 *p, u32 len)
{
	u8 words[8] = {0};

	memcpy(words + sums->odd, p, len);
	sums->sum = csum_add(sums->sum, words, sizeof(words));
}

static int copy_mr(struct rnic *dev, u32 stag, u64 addr, u32 len, u8 *dst, struct tx_sums *sums)
{
	struct iovec iov[IW_MAX_IOV];
	int n, i;

	if (!sums)
		return mr_read(dev, stag, addr, dst, len);
	n = mr_iov(dev, stag, addr, len, DMA_PROT_READ, iov, ARRAY_SIZE(iov));
	if (n < 0)
		return -EFAULT;
	for (i = 0; i < n; i++) {
		sums_copy(sums, dst, iov[i].iov_base, iov[i].iov_len);
		dst += iov[i].iov_len;
	}
	return 0;
}

static void copy_bytes(const u8 *src, u32 len, u8 *dst, struct tx_sums *sums)
{
	if (sums)
		sums_copy(sums, dst, src, len);
	else
		memcpy(dst, src, len);
}

static int copy_snap(const struct iw_snap *snap, u32 off, u32 len, u8 *dst, struct tx_sums *sums)
{
	/* TCP does not send again what was acknowledged, nor what it was never given. */
	if (off < snap->off || !range_ok(off - snap->off, len, snap->len))
		return -EFAULT;
	copy_bytes(snap->data + (off - snap->off), len, dst, sums);
	return 0;
}

static int copy_sges(struct iw_qp *qp, struct iw_wr *wr, u32 off, u32 len, u8 *dst,
		     struct tx_sums *sums)
{
	u32 i, n;

	for (i = 0; len && i < wr->num_sge; i++) {
		const struct iw_sge *sge = &wr->sge[i];

		if (off >= sge->length) {
			off -= sge->length;
			continue;
		}
		n = min(sge->length - off, len);
		if (copy_mr(qp->dev, sge->stag, sge->addr + off, n, dst, sums)) {
			/* It was all right when the WR began: gone since, or never there. */
			wr->syndrome = (u16)mr_check(qp->dev, sge->stag, qp->pdn, sge->addr,
						     sge->length, 0, qp->privileged);
			wr->status = wr->syndrome ? ORNIC_CQE_LOC_PROT : ORNIC_CQE_FATAL;
			if (!wr->syndrome)
				wr->syndrome = ORNIC_SYN_DMA;
			return -EFAULT;
		}
		dst += n;
		len -= n;
		off = 0;
	}
	return 0;
}

static int copy_wr(struct iw_qp *qp, struct iw_wr *wr, u32 off, u32 len, u8 *dst,
		   struct tx_sums *sums)
{
	if (!len)
		return 0;
	if (wr->flags & ORNIC_WRF_INLINE) {
		copy_bytes(wr->inl + off, len, dst, sums);
		return 0;
	}
	if (wr->snap.data)
		return copy_snap(&wr->snap, off, len, dst, sums);
	/* Once the QP failed, its memory is the host's again, whatever TCP may want. */
	if (qp->state == ORNIC_QPS_ERROR)
		return -EFAULT;
	return copy_sges(qp, wr, off, len, dst, sums);
}

static int copy_resp(struct iw_qp *qp, struct iw_resp *r, u32 off, u32 len, u8 *dst,
		     struct tx_sums *sums)
{
	if (!len)
		return 0;
	if (r->snap.data)
		return copy_snap(&r->snap, off, len, dst, sums);
	if (qp->state == ORNIC_QPS_ERROR)
		return -EFAULT;
	return copy_mr(qp->dev, r->req.src_stag, r->req.src_to + off, len, dst, sums);
}

static u8 send_opcode(u8 flags)
{
	bool se = flags & ORNIC_WRF_SOLICITED;

	if (flags & ORNIC_WRF_INVALIDATE)
		return se ? RDMAP_SEND_SE_INV : RDMAP_SEND_INV;
	return se ? RDMAP_SEND_SE : RDMAP_SEND;
}

static void wr_hdr(const struct iw_wr *wr, u32 off, struct ddp_hdr *h)
{
	switch (wr->opcode) {
	case ORNIC_WR_WRITE:
		h->tagged = true;
		h->opcode = RDMAP_WRITE;
		h->stag = wr->remote_stag;
		h->to = wr->remote_addr + off;
		break;
	case ORNIC_WR_READ:
		h->opcode = RDMAP_READ_REQ;
		h->qn = DDP_QN_READ;
		h->msn = wr->msn;
		break;
	default:
		h->opcode = send_opcode(wr->flags);
		h->qn = DDP_QN_SEND;
		h->msn = wr->msn;
		h->mo = off;
		if (wr->flags & ORNIC_WRF_INVALIDATE)
			h->stag = wr->inv_stag;
		break;
	}
}

static void rtr_hdr(const struct iw_qp *qp, struct ddp_hdr *h)
{
	switch (qp->rtr) {
	case ORNIC_RTR_WRITE:
		h->tagged = true;
		h->opcode = RDMAP_WRITE;
		h->stag = RTR_STAG;
		break;
	case ORNIC_RTR_READ:
		h->opcode = RDMAP_READ_REQ;
		h->qn = DDP_QN_READ;
		h->msn = 1;
		break;
	default:
		h->opcode = RDMAP_SEND;
		h->qn = DDP_QN_SEND;
		h->msn = 1;
		break;
	}
}

static u32 put_hdr(struct iw_qp *qp, const struct tx_seg *s, u8 *p)
{
	struct ddp_hdr h = {.last = s->last};

	switch (s->kind) {
	case IW_TX_WR:
		wr_hdr(iw_sq_wr(qp, s->index), s->off, &h);
		break;
	case IW_TX_RESP:
		h.tagged = true;
		h.opcode = RDMAP_READ_RESP;
		h.stag = tx_resp(qp, s->index)->req.sink_stag;
		h.to = tx_resp(qp, s->index)->req.sink_to + s->off;
		break;
	case IW_TX_RTR:
		rtr_hdr(qp, &h);
		break;
	default:
		h.opcode = RDMAP_TERMINATE;
		h.qn = DDP_QN_TERM;
		h.msn = 1;
		break;
	}
	return ddp_put_hdr(p, &h);
}

static void put_read_wr(const struct iw_wr *wr, u8 *p)
{
	struct rdmap_read r = {
		.sink_stag = wr->num_sge ? wr->sge[0].stag : RTR_STAG,
		.sink_to = wr->num_sge ? wr->sge[0].addr : 0,
		.size = wr->length,
		.src_stag = wr->remote_stag,
		.src_to = wr->remote_addr,
	};

	rdmap_put_read(p, &r);
}

/* Payload of a segment, and the sums carried on if @sums is not NULL. */
static int put_payload(struct iw_qp *qp, const struct tx_seg *s, u8 *p, struct tx_sums *sums)
{
	struct rdmap_read rtr = {.sink_stag = RTR_STAG, .src_stag = RTR_STAG};
	struct iw_wr *wr;

	switch (s->kind) {
	case IW_TX_WR:
		wr = iw_sq_wr(qp, s->index);
		if (wr->opcode != ORNIC_WR_READ)
			return copy_wr(qp, wr, s->off, s->plen, p, sums);
		put_read_wr(wr, p);
		break;
	case IW_TX_RESP:
		return copy_resp(qp, tx_resp(qp, s->index), s->off, s->plen, p, sums);
	case IW_TX_RTR:
		if (s->plen)
			rdmap_put_read(p, &rtr);
		break;
	default:
		memcpy(p, &qp->tx.term, s->plen);
		break;
	}
	if (sums)
		sums_add(sums, p, s->plen);
	return 0;
}

static int put_marked_fpdu(struct iw_qp *qp, const struct tx_seg *s, u8 *p)
{
	u32 hdr = put_hdr(qp, s, p + MPA_HDR_LEN), len;
	int ret = put_payload(qp, s, p + MPA_HDR_LEN + hdr, NULL);

	if (ret)
		return ret;
	put_be16(p, (u16)(hdr + s->plen));
	len = mpa_mark(p, s->pos, mpa_finish(p, hdr + s->plen, 0, false));
	/* RFC 5044 4.4: the CRC is over the markers too. */
	if (qp->crc)
		mpa_set_crc(p, len);
	return 0;
}

static int put_fpdu(struct iw_qp *qp, const struct tx_seg *s, u8 *p, struct tx_sums *sums)
{
	u32 hdr = put_hdr(qp, s, p + MPA_HDR_LEN), len = hdr + s->plen, end = MPA_HDR_LEN + len, n;
	struct rnic *dev = qp->dev;
	int ret;

	put_be16(p, (u16)len);
	if (qp->crc)
		sums_add(sums, p, MPA_HDR_LEN + hdr);
	ret = put_payload(qp, s, p + MPA_HDR_LEN + hdr, qp->crc ? sums : NULL);
	if (ret)
		return ret;
	n = mpa_finish(p, len, sums->crc, qp->crc);
	if (!qp->crc)
		return 0;
	if (unlikely(dev->bad_crc)) {
		dev->bad_crc--;
		dev->bad_crc_sent++;
		p[n - 1] ^= 0xff;
	}
	sums_end(sums, p + end, n - end);
	return 0;
}

int iw_gather(struct iw_qp *qp, const struct tcp_record *rec, u32 off, u32 len,
	      struct tcp_gather *g)
{
	bool whole = !off && len == rec->len;
	u8 *p = whole ? g->scratch : qp->dev->iw->fpdu;
	struct tx_seg s = seg_of(rec);
	struct tx_sums sums = {0};
	int ret = qp->tx.markers ? put_marked_fpdu(qp, &s, p) : put_fpdu(qp, &s, p, &sums);

	if (ret) {
		if (qp->state != ORNIC_QPS_ERROR)
			iw_qp_async(qp, ORNIC_ASYNC_QP_FATAL, ORNIC_SYN_DMA, NULL);
		return ret;
	}
	/* A window probe, or a segment size that has shrunk since. */
	if (!whole)
		memcpy(g->scratch, p + off, len);
	g->iov[0].iov_base = g->scratch;
	g->iov[0].iov_len = len;
	g->cnt = 1;
	if (whole && qp->crc && !qp->tx.markers && !sums.split) {
		g->summed = true;
		g->sum = (u16)~csum_fold(sums.sum);
	}
	return 0;
}

/* ---- queueing ---- */

static int tx_record(struct iw_qp *qp, const struct tx_seg *s, u32 hdr_len, bool push)
{
	struct tcp_record rec = {
		.cookie = {FIELD_PREP(REC_KIND, (u64)s->kind) | (s->last ? REC_LAST : 0) |
				   FIELD_PREP(REC_PLEN, (u64)s->plen) | s->index,
			   FIELD_PREP(REC_POS, (u64)qp->tx.pos) | s->off},
		.len = mpa_fpdu_len(hdr_len + s->plen),
	};
	int ret;

	if (qp->tx.markers)
		rec.len = mpa_marked_len(qp->tx.pos, rec.len);
	ret = tcp_send_record(qp->conn->tcp, &rec, push ? TCP_REC_PUSH : 0);
	if (ret)
		return ret;
	qp->tx.pos += rec.len;
	iw_stat(qp->dev, ORNIC_STAT_IW_TX_FPDU);
	return 0;
}

static void tx_wr_done(struct iw_qp *qp, const struct iw_wr *wr)
{
	qp->tx.cur = IW_TX_NONE;
	qp->tx.resp_turn = true;
	switch (wr->opcode) {
	case ORNIC_WR_WRITE:
		iw_stat(qp->dev, ORNIC_STAT_IW_TX_WRITE);
		break;
	case ORNIC_WR_READ:
		iw_stat(qp->dev, ORNIC_STAT_IW_TX_READ_REQ);
		break;
	default:
		iw_stat(qp->dev, ORNIC_STAT_IW_TX_SEND);
		break;
	}
}

/* Each returns the bytes of the record queued, or a negative errno of tcp_send_record(). */
static int tx_wr_segment(struct iw_qp *qp)
{
	struct iw_wr *wr = qp->tx.cur_wr;
	u32 hdr = ddp_hdr_len(wr->opcode == ORNIC_WR_WRITE);
	struct tx_seg s = {.kind = IW_TX_WR, .index = wr->index, .off = wr->sent};
	bool push;
	int ret;

	if (wr->opcode == ORNIC_WR_READ) {
		s.plen = RDMAP_READ_LEN;
		s.last = true;
	} else {
		s.plen = min(wr->length - wr->sent, qp->tx.mulpdu - hdr);
		s.last = wr->sent + s.plen == wr->length;
	}
	push = s.last && qp->tx.resp_tx == qp->tx.resp_pi && !iw_sq_more(qp);
	if (!qp->conn)
		return -EPIPE;
	ret = tx_record(qp, &s, hdr, push);
	if (ret)
		return ret;
	if (wr->opcode != ORNIC_WR_READ) {
		wr->sent += s.plen;
		qp->dev->stats[ORNIC_STAT_IW_TX_BYTES] += s.plen;
	}
	if (s.last)
		tx_wr_done(qp, wr);
	return (int)s.plen;
}

static int tx_resp_segment(struct iw_qp *qp)
{
	struct iw_tx *tx = &qp->tx;
	struct iw_resp *r = tx_resp(qp, tx->cur_resp);
	struct tx_seg s = {.kind = IW_TX_RESP, .index = tx->cur_resp, .off = r->sent};
	int ret;

	s.plen = min(r->req.size - r->sent, tx->mulpdu - DDP_TAGGED_LEN);
	s.last = r->sent + s.plen == r->req.size;
	ret = tx_record(qp, &s, DDP_TAGGED_LEN, s.last && tx->resp_tx == tx->resp_pi);
	if (ret)
		return ret;
	r->sent += s.plen;
	qp->dev->stats[ORNIC_STAT_IW_TX_BYTES] += s.plen;
	if (s.last) {
		tx->cur = IW_TX_NONE;
		tx->resp_turn = false;
		iw_stat(qp->dev, ORNIC_STAT_IW_TX_READ_RESP);
	}
	return (int)s.plen;
}

static int tx_rtr(struct iw_qp *qp)
{
	struct tx_seg s = {
		.kind = IW_TX_RTR,
		.last = true,
		.plen = qp->rtr == ORNIC_RTR_READ ? RDMAP_READ_LEN : 0,
	};
	int ret = tx_record(qp, &s, ddp_hdr_len(qp->rtr == ORNIC_RTR_WRITE), true);

	if (ret)
		return ret;
	qp->tx.want_rtr = false;
	if (qp->rtr == ORNIC_RTR_READ) {
		qp->tx.msn[DDP_QN_READ] = 1;
		qp->tx.rtr_out = true;
	} else if (qp->rtr == ORNIC_RTR_SEND) {
		qp->tx.msn[DDP_QN_SEND] = 1;
	}
	return 0;
}

bool iw_tx_term(struct iw_qp *qp)
{
	struct tx_seg s = {.kind = IW_TX_TERM, .last = true, .plen = qp->tx.term_len};
	int ret;

	if (!qp->tx.want_term || !qp->conn)
		return true;
	ret = tx_record(qp, &s, DDP_UNTAGGED_LEN, true);
	if (ret == -ENOBUFS)
		return false;
	qp->tx.want_term = false;
	if (ret || !qp->conn)
		return true;
	iw_stat(qp->dev, ORNIC_STAT_IW_TX_TERM);
	conn_term_sent(qp->conn, &qp->tx.term, qp->tx.term_len);
	return true;
}

/* ---- what goes next ---- */

/* The source may have been taken away since the request came. */
static bool resp_begin(struct iw_qp *qp)
{
	struct iw_tx *tx = &qp->tx;
	struct iw_resp *r = tx_resp(qp, tx->resp_tx);
	u8 seg[DDP_UNTAGGED_LEN + RDMAP_READ_LEN];

	tx->cur_resp = tx->resp_tx++;
	tx->cur = IW_TX_RESP;
	if (!r->req.size || !mr_check(qp->dev, r->req.src_stag, qp->pdn, r->req.src_to, r->req.size,
				      ORNIC_ACC_REMOTE_READ, false))
		return true;
	memcpy(seg, r->ddp, DDP_UNTAGGED_LEN);
	rdmap_put_read(seg + DDP_UNTAGGED_LEN, &r->req);
	iw_term_send(qp,
		     IW_FAULT(TERM_RDMAP, RDMAP_REMOTE_PROTECTION, RDMAP_ERR_INVALID_STAG,
			      ORNIC_SYN_STAG_INVALID),
		     seg, sizeof(seg));
	return false;
}

enum tx_pick {
	TX_READY, /* tx.cur, or the RTR */
	TX_LOCAL, /* a WR was executed */
	TX_IDLE,
	TX_WAIT,
	TX_DEAD,
};

static enum tx_pick tx_pick_wr(struct iw_qp *qp)
{
	struct iw_wr *wr;

	switch (iw_sq_next(qp, &wr)) {
	case IW_SQ_READY:
		qp->tx.cur = IW_TX_WR;
		qp->tx.cur_wr = wr;
		return TX_READY;
	case IW_SQ_LOCAL:
		return TX_LOCAL;
	case IW_SQ_IDLE:
		return TX_IDLE;
	case IW_SQ_WAIT:
		return TX_WAIT;
	default:
		return TX_DEAD;
	}
}

/*
 * Messages are not mixed: siw, for one, keeps one state for Writes and Read
 * Responses. At message boundaries the SQ and the peer's Reads take turns.
 */
static enum tx_pick tx_pick(struct iw_qp *qp)
{
	struct iw_tx *tx = &qp->tx;
	bool have_resp = tx->resp_tx != tx->resp_pi;
	enum tx_pick got;

	if (tx->want_rtr || tx->cur != IW_TX_NONE)
		return TX_READY;
	if (!have_resp || !tx->resp_turn) {
		got = tx_pick_wr(qp);
		if (!have_resp || (got != TX_IDLE && got != TX_WAIT))
			return got;
	}
	return resp_begin(qp) ? TX_READY : TX_DEAD;
}

static int tx_segment(struct iw_qp *qp)
{
	if (qp->tx.want_rtr)
		return tx_rtr(qp);
	return qp->tx.cur == IW_TX_WR ? tx_wr_segment(qp) : tx_resp_segment(qp);
}

static bool tx_alive(const struct iw_qp *qp)
{
	return qp->conn && (qp->state == ORNIC_QPS_RTS || qp->state == ORNIC_QPS_CLOSING);
}

static void tx_burst(struct iw_qp *qp)
{
	struct tcp_room room = tcp_record_room(qp->conn->tcp);
	u32 bytes = IW_BUDGET_BYTES, units = IW_BUDGET_MSGS;
	enum tx_pick got;
	int n;

	qp->tx.mulpdu = mpa_mulpdu(tcp_emss(qp->conn->tcp), qp->tx.markers);
	while (tx_alive(qp)) {
		got = tx_pick(qp);
		/* An index that comes and goes is work, too. */
		if (got == TX_IDLE && tx_alive(qp) && iw_qp_sleep(qp))
			got = TX_LOCAL;
		if (got != TX_READY && got != TX_LOCAL)
			return;
		if (!bytes || !units) {
			iw_qp_wake(qp);
			return;
		}
		if (got == TX_LOCAL) {
			units--;
			continue;
		}
		if (!room.bytes || !room.records) {
			tcp_pull(qp->conn->tcp);
			return;
		}
		n = tx_segment(qp);
		if (n == -ENOBUFS && qp->conn)
			tcp_pull(qp->conn->tcp);
		if (n < 0)
			return;
		room.records--;
		room.bytes -= min(room.bytes, (u32)n + DDP_HDR_MAX + MPA_HDR_LEN + MPA_CRC_LEN);
		bytes -= min(bytes, (u32)n + 64);
		if (qp->tx.cur == IW_TX_NONE)
			units--;
	}
}

void iw_tx_run(struct iw_qp *qp)
{
	struct iw_tx *tx = &qp->tx;

	if (tx->busy) {
		tx->again = true;
		return;
	}
	tx->busy = true;
	do {
		tx->again = false;
		if (tx_alive(qp))
			tx_burst(qp);
	} while (tx->again && tx_alive(qp));
	tx->busy = false;
	if (qp->conn)
		iw_qp_close_check(qp);
}

/* ---- acknowledgement ---- */

static void acked_wr(struct iw_qp *qp, const struct tx_seg *s)
{
	struct iw_wr *wr = iw_sq_wr(qp, s->index);

	wr->acked_off = s->off + s->plen;
	if (!s->last)
		return;
	wr->acked = true;
	wr->done = wr->opcode != ORNIC_WR_READ || wr->placed;
	iw_sq_reap(qp);
}

void iw_acked(struct iw_qp *qp, const struct tcp_record *rec)
{
	struct tx_seg s = seg_of(rec);

	if (qp->state == ORNIC_QPS_ERROR)
		return;
	switch (s.kind) {
	case IW_TX_WR:
		acked_wr(qp, &s);
		break;
	case IW_TX_RESP:
		tx_resp(qp, s.index)->acked_off = s.off + s.plen;
		if (s.last) {
			if (tx_resp(qp, s.index)->rtr)
				qp->tx.rtr_in = false;
			qp->tx.resp_ci++;
		}
		break;
	default:
		break;
	}
	/* Something may have waited for this: a fence, or room in our ring of WRs. */
	if (qp->awake && qp->state != ORNIC_QPS_ERROR)
		iw_qp_wake(qp);
}

/* ---- leaving the host's memory ---- */

static u64 wr_unacked(const struct iw_wr *wr)
{
	if (wr->opcode != ORNIC_WR_SEND && wr->opcode != ORNIC_WR_WRITE)
		return 0;
	return wr->flags & ORNIC_WRF_INLINE ? 0 : wr->sent - wr->acked_off;
}

static u64 detach_size(struct iw_qp *qp)
{
	u64 total = 0;
	u32 i;

	for (i = qp->sq.ci; i != qp->tx.next_wr; i++)
		total += wr_unacked(iw_sq_wr(qp, i));
	for (i = qp->tx.resp_ci; i != qp->tx.resp_tx; i++)
		total += tx_resp(qp, i)->sent - tx_resp(qp, i)->acked_off;
	return total;
}

static void snap_set(struct iw_snap *snap, u8 *data, u32 from, u32 to)
{
	snap->data = data;
	snap->off = from;
	snap->len = to - from;
}

static u8 *snap_alloc(struct iw_qp *qp, u64 len)
{
	struct iw *iw = qp->dev->iw;

	if (len > IW_DETACH_MAX || len > IW_DETACH_ALL - iw->snap_bytes)
		return NULL;
	qp->tx.snap = malloc(len);
	if (!qp->tx.snap)
		return NULL;
	qp->tx.snap_len = (u32)len;
	iw->snap_bytes += (u32)len;
	return qp->tx.snap;
}

void iw_tx_forget(struct iw_qp *qp)
{
	if (!qp->tx.snap)
		return;
	qp->dev->iw->snap_bytes -= qp->tx.snap_len;
	free(qp->tx.snap);
	qp->tx.snap = NULL;
}

/* QP state is ERROR already, in which nothing is read by the usual way: hence the lower functions.
 */
bool iw_tx_detach(struct iw_qp *qp)
{
	u64 total = detach_size(qp);
	u8 *p;
	u32 i;

	if (!total)
		return true;
	p = snap_alloc(qp, total);
	if (!p)
		return false;
	for (i = qp->sq.ci; i != qp->tx.next_wr; i++) {
		struct iw_wr *wr = iw_sq_wr(qp, i);
		u32 len = (u32)wr_unacked(wr);

		if (!len)
			continue;
		if (copy_sges(qp, wr, wr->acked_off, len, p, NULL))
			return false;
		snap_set(&wr->snap, p, wr->acked_off, wr->sent);
		p += len;
	}
	for (i = qp->tx.resp_ci; i != qp->tx.resp_tx; i++) {
		struct iw_resp *r = tx_resp(qp, i);
		u32 len = r->sent - r->acked_off;

		if (!len)
			continue;
		if (copy_mr(qp->dev, r->req.src_stag, r->req.src_to + r->acked_off, len, p, NULL))
			return false;
		snap_set(&r->snap, p, r->acked_off, r->sent);
		p += len;
	}
	return true;
}
