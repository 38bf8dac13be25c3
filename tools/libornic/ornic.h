/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * libornic: rdma-core provider of OpenRNIC. Queues live in this process's memory, the device reads
 * and writes them; posting, polling and arming make no system call. include/ornic/ is the layout.
 */
#ifndef LIBORNIC_ORNIC_H
#define LIBORNIC_ORNIC_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/driver.h>
#include <infiniband/kern-abi.h>

#include <ornic/hw.h>
#include <rdma/ornic-abi.h>
#include <kernel-abi/ornic-abi.h>

DECLARE_DRV_CMD(ornic_cmd_alloc_ctx, IB_USER_VERBS_CMD_GET_CONTEXT, ornic_alloc_ucontext_req,
		ornic_alloc_ucontext_resp);
DECLARE_DRV_CMD(ornic_cmd_new_cq, IB_USER_VERBS_CMD_CREATE_CQ, ornic_create_cq_req,
		ornic_create_cq_resp);
DECLARE_DRV_CMD(ornic_cmd_new_qp, IB_USER_VERBS_CMD_CREATE_QP, ornic_create_qp_req,
		ornic_create_qp_resp);

/* QP numbers are looked up in two steps: 2^12 blocks of 2^12. */
#define QP_TABLE_SHIFT 12
#define QP_TABLE_SIZE  (1u << QP_TABLE_SHIFT)
#define QP_TABLE_MASK  (QP_TABLE_SIZE - 1)

struct ornic_qp;

struct ornic_device {
	struct verbs_device vdev;
};

/**
 * struct ornic_context - one opened device
 * @vctx: libibverbs' part
 * @db_map: mapping that holds the context's doorbell page
 * @db_map_len: bytes of @db_map
 * @db: the doorbells
 * @caps: what the driver said of the device
 * @page_size: of the system
 * @qp_lock: held to change @qps, and while QPs are created and destroyed
 * @qps: QPs by number; readers hold the lock of a CQ of the QP, which destroy takes after it
 * removed the QP
 */
struct ornic_context {
	struct verbs_context vctx;
	void *db_map;
	size_t db_map_len;
	void *db;
	struct ornic_alloc_ucontext_resp caps;
	size_t page_size;
	pthread_mutex_t qp_lock;
	struct ornic_qp **qps[QP_TABLE_SIZE];
};

/**
 * struct ornic_buf - queue buffer, page aligned, zeroed
 * @va: start
 * @len: bytes, multiple of the page size
 */
struct ornic_buf {
	void *va;
	size_t len;
};

/**
 * struct ornic_cq - completion queue
 * @vcq: libibverbs' part
 * @lock: serializes poll and arm
 * @buf: queue record, then the ring
 * @rec: queue record
 * @ring: CQEs
 * @cqn: number
 * @shift: log2 of the depth
 * @ci: free-running consumer index
 * @arm_seq: events taken, modulo 4
 * @armed_any: armed for any completion since the last event
 */
struct ornic_cq {
	struct verbs_cq vcq;
	pthread_spinlock_t lock;
	struct ornic_buf buf;
	struct ornic_queue_rec *rec;
	struct ornic_cqe *ring;
	uint32_t cqn;
	unsigned int shift;
	uint32_t ci;
	uint32_t arm_seq;
	bool armed_any;
};

/**
 * struct ornic_wq - send or receive queue
 * @lock: serializes posting
 * @ring: WQEs
 * @wr_id: of each WQE
 * @shift: log2 of the depth
 * @stride_shift: log2 of a WQE's stride
 * @max_sge: SGEs that fit
 * @pi: free-running producer index
 * @ci: free-running index of the oldest WQE that is not known to be done; written by poll, read by
 * post
 * @rec_pi: where the record holds the producer index
 * @rec_awake: where it holds the device's awake flag for this queue
 */
struct ornic_wq {
	pthread_spinlock_t lock;
	uint8_t *ring;
	uint64_t *wr_id;
	unsigned int shift;
	unsigned int stride_shift;
	unsigned int max_sge;
	uint32_t pi;
	_Atomic(uint32_t) ci;
	__le32 *rec_pi;
	const __le32 *rec_awake;
};

/**
 * struct ornic_qp - queue pair
 * @vqp: libibverbs' part
 * @sq: send queue
 * @rq: receive queue
 * @buf: queue record, SQ, RQ
 * @rec: queue record
 * @qpn: number
 * @max_inline: bytes
 * @sig_all: every send is signalled
 */
struct ornic_qp {
	struct verbs_qp vqp;
	struct ornic_wq sq;
	struct ornic_wq rq;
	struct ornic_buf buf;
	struct ornic_queue_rec *rec;
	uint32_t qpn;
	uint32_t max_inline;
	bool sig_all;
};

static inline struct ornic_context *to_ctx(struct ibv_context *ctx)
{
	return container_of(ctx, struct ornic_context, vctx.context);
}

static inline struct ornic_cq *to_cq(struct ibv_cq *cq)
{
	return container_of(cq, struct ornic_cq, vcq.cq);
}

static inline struct ornic_qp *to_qp(struct ibv_qp *qp)
{
	return container_of(qp, struct ornic_qp, vqp.qp);
}

/* log2 of the smallest power of two that is v or more; v 1..2^31. */
static inline unsigned int ceil_log2(uint32_t v)
{
	return v <= 1 ? 0 : 32 - __builtin_clz(v - 1);
}

/* buf.c */
int ornic_buf_alloc(struct ornic_context *ctx, struct ornic_buf *buf, size_t len);
void ornic_buf_free(struct ornic_buf *buf);

/* db.c */
void ornic_ring_db(struct ornic_context *ctx, uint32_t db, uint32_t number, uint64_t flags,
		   uint32_t index);
void ornic_wq_publish(struct ornic_context *ctx, struct ornic_qp *qp, struct ornic_wq *wq,
		      uint32_t db);

/* cq.c */
struct ibv_cq *ornic_create_cq(struct ibv_context *ctx, int cqe, struct ibv_comp_channel *channel,
			       int comp_vector);
int ornic_destroy_cq(struct ibv_cq *cq);
int ornic_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int ornic_req_notify_cq(struct ibv_cq *cq, int solicited_only);
void ornic_cq_event(struct ibv_cq *cq);
void ornic_cq_forget_qp(struct ornic_cq *cq, uint32_t qpn);

/* qp.c */
struct ibv_qp *ornic_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
int ornic_destroy_qp(struct ibv_qp *qp);
int ornic_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
int ornic_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		   struct ibv_qp_init_attr *init_attr);
struct ornic_qp *ornic_find_qp(struct ornic_context *ctx, uint32_t qpn);

/* post.c */
int ornic_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int ornic_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

#endif /* LIBORNIC_ORNIC_H */
