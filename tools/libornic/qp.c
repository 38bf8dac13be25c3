// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Queue pairs: life cycle and lookup by number. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ornic.h"

struct ornic_qp *ornic_find_qp(struct ornic_context *ctx, uint32_t qpn)
{
	struct ornic_qp **block = ctx->qps[qpn >> QP_TABLE_SHIFT];

	return block ? block[qpn & QP_TABLE_MASK] : NULL;
}

static int table_add(struct ornic_context *ctx, struct ornic_qp *qp)
{
	struct ornic_qp ***block = &ctx->qps[qp->qpn >> QP_TABLE_SHIFT];

	/* A block once there stays until the context goes: readers do not hold qp_lock. */
	if (!*block)
		*block = calloc(QP_TABLE_SIZE, sizeof(**block));
	if (!*block)
		return ENOMEM;
	(*block)[qp->qpn & QP_TABLE_MASK] = qp;
	return 0;
}

static void table_del(struct ornic_context *ctx, struct ornic_qp *qp)
{
	ctx->qps[qp->qpn >> QP_TABLE_SHIFT][qp->qpn & QP_TABLE_MASK] = NULL;
}

/* Shapes of the queues for what the program asked for, 0 or EINVAL. */
static int shape_queues(struct ornic_context *ctx, struct ornic_qp *qp,
			const struct ibv_qp_cap *cap)
{
	uint32_t data = cap->max_send_sge * sizeof(struct ornic_sge);
	struct ornic_wq *sq = &qp->sq, *rq = &qp->rq;

	if (cap->max_send_sge > ctx->caps.max_sge || cap->max_recv_sge > ctx->caps.max_sge ||
	    cap->max_inline_data > ctx->caps.max_inline)
		return EINVAL;
	if (data < cap->max_inline_data)
		data = cap->max_inline_data;
	sq->stride_shift = ceil_log2(ORNIC_SQ_DATA_OFF + data);
	if (sq->stride_shift < ORNIC_SQ_STRIDE_MIN_SHIFT)
		sq->stride_shift = ORNIC_SQ_STRIDE_MIN_SHIFT;
	rq->stride_shift = ceil_log2(sizeof(struct ornic_rq_wqe) +
				     cap->max_recv_sge * sizeof(struct ornic_sge));
	if (rq->stride_shift < ORNIC_RQ_STRIDE_MIN_SHIFT)
		rq->stride_shift = ORNIC_RQ_STRIDE_MIN_SHIFT;
	sq->shift = cap->max_send_wr > 2 ? ceil_log2(cap->max_send_wr) : 1;
	rq->shift = cap->max_recv_wr > 2 ? ceil_log2(cap->max_recv_wr) : 1;
	if (cap->max_send_wr > 1u << ctx->caps.max_sq_shift ||
	    cap->max_recv_wr > 1u << ctx->caps.max_rq_shift)
		return EINVAL;
	return 0;
}

static void limits_from_shape(struct ornic_context *ctx, struct ornic_qp *qp)
{
	struct ornic_wq *sq = &qp->sq, *rq = &qp->rq;
	uint32_t room = (1u << sq->stride_shift) - ORNIC_SQ_DATA_OFF;

	qp->max_inline = room < ctx->caps.max_inline ? room : ctx->caps.max_inline;
	sq->max_sge = room / sizeof(struct ornic_sge);
	if (sq->max_sge > ctx->caps.max_sge)
		sq->max_sge = ctx->caps.max_sge;
	rq->max_sge =
		((1u << rq->stride_shift) - sizeof(struct ornic_rq_wqe)) / sizeof(struct ornic_sge);
	if (rq->max_sge > ctx->caps.max_sge)
		rq->max_sge = ctx->caps.max_sge;
}

/* Record first, then SQ and RQ; both rings start at a multiple of 64. */
static int alloc_rings(struct ornic_context *ctx, struct ornic_qp *qp)
{
	size_t sq_len = (size_t)1 << (qp->sq.shift + qp->sq.stride_shift);
	size_t rq_len = (size_t)1 << (qp->rq.shift + qp->rq.stride_shift);
	int err;

	qp->sq.wr_id = calloc(1u << qp->sq.shift, sizeof(uint64_t));
	qp->rq.wr_id = calloc(1u << qp->rq.shift, sizeof(uint64_t));
	if (!qp->sq.wr_id || !qp->rq.wr_id)
		goto err_wr_id;
	err = ornic_buf_alloc(ctx, &qp->buf, sizeof(*qp->rec) + sq_len + rq_len);
	if (err)
		goto err_wr_id;
	qp->rec = qp->buf.va;
	qp->sq.ring = (uint8_t *)(qp->rec + 1);
	qp->rq.ring = qp->sq.ring + sq_len;
	qp->sq.rec_pi = &qp->rec->pi;
	qp->rq.rec_pi = &qp->rec->rq_pi;
	qp->sq.rec_awake = &qp->rec->awake;
	qp->rq.rec_awake = &qp->rec->rq_awake;
	pthread_spin_init(&qp->sq.lock, PTHREAD_PROCESS_PRIVATE);
	pthread_spin_init(&qp->rq.lock, PTHREAD_PROCESS_PRIVATE);
	return 0;

err_wr_id:
	free(qp->sq.wr_id);
	free(qp->rq.wr_id);
	return ENOMEM;
}

static void free_rings(struct ornic_qp *qp)
{
	pthread_spin_destroy(&qp->sq.lock);
	pthread_spin_destroy(&qp->rq.lock);
	ornic_buf_free(&qp->buf);
	free(qp->sq.wr_id);
	free(qp->rq.wr_id);
}

static void report_caps(struct ornic_qp *qp, struct ibv_qp_cap *cap)
{
	cap->max_send_wr = 1u << qp->sq.shift;
	cap->max_recv_wr = 1u << qp->rq.shift;
	cap->max_send_sge = qp->sq.max_sge;
	cap->max_recv_sge = qp->rq.max_sge;
	cap->max_inline_data = qp->max_inline;
}

/* With qp_lock: from the command until the table knows it, the number must not be another QP's. */
static int create_in_table(struct ibv_pd *pd, struct ornic_qp *qp, struct ibv_qp_init_attr *attr)
{
	struct ornic_cmd_new_qp_resp resp = {};
	struct ornic_cmd_new_qp cmd = {};
	int err;

	cmd.drv_payload.buf_addr = (uintptr_t)qp->buf.va;
	cmd.drv_payload.buf_len = qp->buf.len;
	cmd.drv_payload.rec_off = 0;
	cmd.drv_payload.sq_off = qp->sq.ring - (uint8_t *)qp->buf.va;
	cmd.drv_payload.rq_off = qp->rq.ring - (uint8_t *)qp->buf.va;
	cmd.drv_payload.sq_shift = qp->sq.shift;
	cmd.drv_payload.sq_stride_shift = qp->sq.stride_shift;
	cmd.drv_payload.rq_shift = qp->rq.shift;
	cmd.drv_payload.rq_stride_shift = qp->rq.stride_shift;
	err = ibv_cmd_create_qp(pd, &qp->vqp.qp, attr, &cmd.ibv_cmd, sizeof(cmd), &resp.ibv_resp,
				sizeof(resp));
	if (err)
		return err;
	qp->qpn = resp.drv_payload.qpn;
	err = table_add(to_ctx(pd->context), qp);
	if (err)
		ibv_cmd_destroy_qp(&qp->vqp.qp);
	return err;
}

struct ibv_qp *ornic_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ornic_context *ctx = to_ctx(pd->context);
	struct ornic_qp *qp;
	int err;

	if (attr->qp_type != IBV_QPT_RC || attr->srq) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;
	err = shape_queues(ctx, qp, &attr->cap);
	if (err)
		goto err_free;
	limits_from_shape(ctx, qp);
	qp->sig_all = attr->sq_sig_all;
	err = alloc_rings(ctx, qp);
	if (err)
		goto err_free;
	report_caps(qp, &attr->cap);
	pthread_mutex_lock(&ctx->qp_lock);
	err = create_in_table(pd, qp, attr);
	pthread_mutex_unlock(&ctx->qp_lock);
	if (err)
		goto err_rings;
	report_caps(qp, &attr->cap);
	return &qp->vqp.qp;

err_rings:
	free_rings(qp);
err_free:
	free(qp);
	errno = err;
	return NULL;
}

/* With qp_lock, as above: the number is free for another QP once the command is done. */
static int destroy_in_table(struct ornic_context *ctx, struct ornic_qp *qp)
{
	struct ibv_qp *ibqp = &qp->vqp.qp;
	int err = ibv_cmd_destroy_qp(ibqp);

	if (err)
		return err;
	table_del(ctx, qp);
	/* After these two no poll holds a pointer to it either. */
	ornic_cq_forget_qp(to_cq(ibqp->send_cq), qp->qpn);
	if (ibqp->recv_cq != ibqp->send_cq)
		ornic_cq_forget_qp(to_cq(ibqp->recv_cq), qp->qpn);
	return 0;
}

int ornic_destroy_qp(struct ibv_qp *ibqp)
{
	struct ornic_context *ctx = to_ctx(ibqp->context);
	struct ornic_qp *qp = to_qp(ibqp);
	int err;

	pthread_mutex_lock(&ctx->qp_lock);
	err = destroy_in_table(ctx, qp);
	pthread_mutex_unlock(&ctx->qp_lock);
	if (err)
		return err;
	free_rings(qp);
	free(qp);
	return 0;
}

int ornic_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct ibv_modify_qp cmd = {};

	return ibv_cmd_modify_qp(qp, attr, mask, &cmd, sizeof(cmd));
}

int ornic_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
		   struct ibv_qp_init_attr *init_attr)
{
	struct ibv_query_qp cmd = {};
	int err = ibv_cmd_query_qp(ibqp, attr, mask, init_attr, &cmd, sizeof(cmd));

	if (err)
		return err;
	report_caps(to_qp(ibqp), &init_attr->cap);
	attr->cap = init_attr->cap;
	return 0;
}
