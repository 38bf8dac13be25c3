// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion queues: create, poll, arm. */

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <util/udma_barrier.h>

#include "ornic.h"

/* Written by the host into a CQE whose QP is gone; the device writes no such opcode. */
#define CQE_FORGOTTEN 0xff

static int alloc_ring(struct ornic_context *ctx, struct ornic_cq *cq, int cqe)
{
	int err;

	if (cqe < 1)
		return EINVAL;
	/* At least one more than asked for: a full CQ never looks like an overflow. */
	cq->shift = ceil_log2((uint32_t)cqe + 1);
	if (cq->shift > ctx->caps.max_cq_shift)
		return EINVAL;
	err = ornic_buf_alloc(ctx, &cq->buf, sizeof(*cq->rec) + (sizeof(*cq->ring) << cq->shift));
	if (err)
		return err;
	cq->rec = cq->buf.va;
	cq->ring = (void *)(cq->rec + 1);
	return 0;
}

static int cmd_create(struct ibv_context *ibctx, struct ornic_cq *cq,
		      struct ibv_comp_channel *channel, int comp_vector)
{
	struct ornic_cmd_new_cq_resp resp = {};
	struct ornic_cmd_new_cq cmd = {};
	int err;

	cmd.drv_payload.buf_addr = (uintptr_t)cq->buf.va;
	cmd.drv_payload.buf_len = cq->buf.len;
	cmd.drv_payload.ring_off = sizeof(*cq->rec);
	cmd.drv_payload.rec_off = 0;
	cmd.drv_payload.depth_shift = cq->shift;
	err = ibv_cmd_create_cq(ibctx, (1 << cq->shift) - 1, channel, comp_vector, &cq->vcq.cq,
				&cmd.ibv_cmd, sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (err)
		return err;
	cq->cqn = resp.drv_payload.cqn;
	cq->vcq.cq.cqe = (1 << cq->shift) - 1;
	return 0;
}

struct ibv_cq *ornic_create_cq(struct ibv_context *ibctx, int cqe, struct ibv_comp_channel *channel,
			       int comp_vector)
{
	struct ornic_cq *cq = calloc(1, sizeof(*cq));
	int err;

	if (!cq)
		return NULL;
	err = alloc_ring(to_ctx(ibctx), cq, cqe);
	if (err)
		goto err_free;
	pthread_spin_init(&cq->lock, PTHREAD_PROCESS_PRIVATE);
	err = cmd_create(ibctx, cq, channel, comp_vector);
	if (err)
		goto err_buf;
	return &cq->vcq.cq;

err_buf:
	pthread_spin_destroy(&cq->lock);
	ornic_buf_free(&cq->buf);
err_free:
	free(cq);
	errno = err;
	return NULL;
}

int ornic_destroy_cq(struct ibv_cq *ibcq)
{
	struct ornic_cq *cq = to_cq(ibcq);
	int err = ibv_cmd_destroy_cq(ibcq);

	if (err)
		return err;
	pthread_spin_destroy(&cq->lock);
	ornic_buf_free(&cq->buf);
	free(cq);
	return 0;
}

/* The CQE at index i if the device has written it. Its other words may be read after this. */
static struct ornic_cqe *valid_cqe(struct ornic_cq *cq, uint32_t i)
{
	struct ornic_cqe *cqe = &cq->ring[i & ((1u << cq->shift) - 1)];
	uint32_t flags = le32toh(*(volatile __le32 *)&cqe->flags);

	if ((flags & ORNIC_CQE_PHASE) == ((i >> cq->shift) & 1))
		return NULL;
	udma_from_device_barrier();
	return cqe;
}

static enum ibv_wc_status wc_status(uint8_t status)
{
	static const enum ibv_wc_status map[] = {
		[ORNIC_CQE_OK] = IBV_WC_SUCCESS,
		[ORNIC_CQE_FLUSHED] = IBV_WC_WR_FLUSH_ERR,
		[ORNIC_CQE_LOC_LEN] = IBV_WC_LOC_LEN_ERR,
		[ORNIC_CQE_LOC_QP_OP] = IBV_WC_LOC_QP_OP_ERR,
		[ORNIC_CQE_LOC_PROT] = IBV_WC_LOC_PROT_ERR,
		[ORNIC_CQE_LOC_ACCESS] = IBV_WC_LOC_ACCESS_ERR,
		[ORNIC_CQE_MW_BIND] = IBV_WC_MW_BIND_ERR,
		[ORNIC_CQE_REM_INV_REQ] = IBV_WC_REM_INV_REQ_ERR,
		[ORNIC_CQE_REM_ACCESS] = IBV_WC_REM_ACCESS_ERR,
		[ORNIC_CQE_REM_OP] = IBV_WC_REM_OP_ERR,
		[ORNIC_CQE_FATAL] = IBV_WC_FATAL_ERR,
	};

	return status < sizeof(map) / sizeof(map[0]) ? map[status] : IBV_WC_GENERAL_ERR;
}

static enum ibv_wc_opcode wc_opcode(uint8_t opcode)
{
	switch (opcode) {
	case ORNIC_WR_WRITE:
	case ORNIC_WR_WRITE_IMM:
		return IBV_WC_RDMA_WRITE;
	case ORNIC_WR_READ:
		return IBV_WC_RDMA_READ;
	case ORNIC_WR_LOCAL_INV:
		return IBV_WC_LOCAL_INV;
	case ORNIC_WR_BIND_MW:
		return IBV_WC_BIND_MW;
	case ORNIC_CQE_RECV:
		return IBV_WC_RECV;
	default:
		return IBV_WC_SEND;
	}
}

/* The queue may be posted to up to and including the completed WQE again. */
static void retire(struct ornic_wq *wq, uint32_t index, struct ibv_wc *wc)
{
	wc->wr_id = wq->wr_id[index & ((1u << wq->shift) - 1)];
	atomic_store_explicit(&wq->ci, index + 1, memory_order_release);
}

static void fill_wc(struct ornic_qp *qp, const struct ornic_cqe *cqe, struct ibv_wc *wc)
{
	uint32_t flags = le32toh(cqe->flags);
	bool recv = cqe->opcode == ORNIC_CQE_RECV;

	retire(recv ? &qp->rq : &qp->sq, le32toh(cqe->wqe_index), wc);
	wc->status = wc_status(cqe->status);
	wc->opcode = wc_opcode(cqe->opcode);
	wc->vendor_err = le16toh(cqe->syndrome);
	wc->byte_len = le32toh(cqe->byte_len);
	wc->qp_num = qp->qpn;
	wc->src_qp = 0;
	wc->wc_flags = 0;
	wc->pkey_index = 0;
	wc->slid = 0;
	wc->sl = 0;
	wc->dlid_path_bits = 0;
	if (recv && flags & ORNIC_CQE_WITH_INV) {
		wc->wc_flags = IBV_WC_WITH_INV;
		wc->invalidated_rkey = le32toh(cqe->inv_stag);
	}
}

int ornic_poll_cq(struct ibv_cq *ibcq, int n, struct ibv_wc *wc)
{
	struct ornic_context *ctx = to_ctx(ibcq->context);
	struct ornic_cq *cq = to_cq(ibcq);
	struct ornic_cqe *cqe;
	struct ornic_qp *qp;
	uint32_t first;
	int got = 0;

	pthread_spin_lock(&cq->lock);
	first = cq->ci;
	while (got < n && (cqe = valid_cqe(cq, cq->ci))) {
		cq->ci++;
		if (cqe->opcode == CQE_FORGOTTEN)
			continue;
		qp = ornic_find_qp(ctx, le32toh(cqe->qpn) & FIELD_MAX(ORNIC_DB_NUMBER));
		if (qp)
			fill_wc(qp, cqe, &wc[got++]);
	}
	if (cq->ci != first)
		atomic_store_explicit((_Atomic(uint32_t) *)&cq->rec->ci, htole32(cq->ci),
				      memory_order_release);
	pthread_spin_unlock(&cq->lock);
	return got;
}

/*
 * The device looks at the record with each CQE that it writes. Only if there is one already that
 * the program has not polled, the device must be told. Return: whether the record alone does
 */
static bool arm_by_record(struct ornic_context *ctx, struct ornic_cq *cq, uint64_t flags)
{
	uint64_t arm = flags | ORNIC_ARM_VALID | FIELD_PREP(ORNIC_DB_NUMBER, cq->cqn) |
		       FIELD_PREP(ORNIC_DB_INDEX, cq->ci);

	if (!(ctx->caps.features & ORNIC_UCTX_ARM_REC))
		return false;
	*(volatile __le64 *)&cq->rec->arm = htole64(arm);
	atomic_thread_fence(memory_order_seq_cst);
	return !valid_cqe(cq, cq->ci);
}

int ornic_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct ornic_context *ctx = to_ctx(ibcq->context);
	struct ornic_cq *cq = to_cq(ibcq);
	uint64_t flags;

	pthread_spin_lock(&cq->lock);
	flags = FIELD_PREP(ORNIC_DB_ARM_SEQ, (uint64_t)cq->arm_seq);
	/* An arm for any completion stays one: the device may not have seen it in the record. */
	if (!solicited_only)
		cq->armed_any = true;
	if (!cq->armed_any)
		flags |= ORNIC_DB_FLAG_SOLICITED;
	if (!arm_by_record(ctx, cq, flags))
		ornic_ring_db(ctx, ORNIC_DB_CQ_ARM, cq->cqn, flags, cq->ci);
	pthread_spin_unlock(&cq->lock);
	return 0;
}

/* The program took an event of this CQ: arms from now on are new ones to the device. */
void ornic_cq_event(struct ibv_cq *ibcq)
{
	struct ornic_cq *cq = to_cq(ibcq);

	pthread_spin_lock(&cq->lock);
	cq->arm_seq = (cq->arm_seq + 1) & 3;
	cq->armed_any = false;
	pthread_spin_unlock(&cq->lock);
}

/**
 * ornic_cq_forget_qp() - a QP is gone for the device: its completions must not be polled any more
 * @cq: CQ that the QP used
 * @qpn: the QP, already out of the table
 */
void ornic_cq_forget_qp(struct ornic_cq *cq, uint32_t qpn)
{
	struct ornic_cqe *cqe;

	pthread_spin_lock(&cq->lock);
	for (uint32_t i = cq->ci; i - cq->ci < 1u << cq->shift && (cqe = valid_cqe(cq, i)); i++)
		if ((le32toh(cqe->qpn) & FIELD_MAX(ORNIC_DB_NUMBER)) == qpn)
			cqe->opcode = CQE_FORGOTTEN;
	pthread_spin_unlock(&cq->lock);
}
