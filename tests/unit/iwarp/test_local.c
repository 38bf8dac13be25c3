// SPDX-License-Identifier: GPL-2.0-or-later
/* What the own host can do wrong: WQEs, doorbells, queues; and what it gets back. */
#include <stdio.h>

#include "rig.h"

#define ALL_ACC (ORNIC_ACC_LOCAL_WRITE | ORNIC_ACC_REMOTE_WRITE | ORNIC_ACC_REMOTE_READ)

struct world {
	struct rig *r;
	struct tcq *scq[2], *rcq[2];
	struct tqp *qp[2];
	struct tmr *mr[2], *ro, *wo, *other;
};

static const struct bind_cfg dflt = {.role = ORNIC_ROLE_INITIATOR, .crc = true, .ird = 8, .ord = 8};

static struct world *world_new(const struct tqp_cfg *cfg, const struct bind_cfg *bind)
{
	struct rig *r = rig_new(1500);
	struct world *w = rig_own(r, sizeof(*w));
	int i;

	w->r = r;
	for (i = 0; i < 2; i++) {
		w->scq[i] = tcq_new(&r->h[i], 8);
		w->rcq[i] = tcq_new(&r->h[i], 8);
		w->qp[i] = tqp_new(&r->h[i], w->scq[i], w->rcq[i], cfg);
		w->mr[i] = tmr_new(&r->h[i], 100000, ALL_ACC, PDN);
	}
	w->ro = tmr_new(&r->h[0], 1000, ORNIC_ACC_REMOTE_READ, PDN);
	w->wo = tmr_new(&r->h[0], 1000, ORNIC_ACC_LOCAL_WRITE, PDN);
	w->other = tmr_new(&r->h[0], 1000, ALL_ACC, PDN + 1);
	rig_pair(r, w->qp[0], w->qp[1], bind ? bind : &dflt);
	return w;
}

static struct ornic_sq_wqe_msg *good_write(struct world *w, u8 flags)
{
	struct ornic_sq_wqe_msg *m = tqp_send_wqe(w->qp[0], ORNIC_WR_WRITE, flags);

	m->remote_addr = cpu_to_le64(w->mr[1]->iova);
	m->remote_stag = cpu_to_le32(w->mr[1]->stag);
	tqp_sge(m, w->mr[0]->iova, 3000, w->mr[0]->stag);
	return m;
}

static void expect_cqe(struct tcq *cq, u32 index, u8 status, u16 syndrome)
{
	struct ornic_cqe e;

	assert_true(tcq_poll(cq, &e));
	assert_int_equal(le32_to_cpu(e.wqe_index), index);
	assert_int_equal(e.status, status);
	assert_int_equal(le16_to_cpu(e.syndrome), syndrome);
}

static void expect_empty(struct tcq *cq)
{
	struct ornic_cqe e;

	assert_false(tcq_poll(cq, &e));
}

static void expect_async(struct host *h, u8 type, u32 number, u16 syndrome)
{
	struct ornic_aeqe ev;

	assert_true(host_async(h, &ev));
	assert_int_equal(ev.type, type);
	assert_int_equal(le32_to_cpu(ev.number), number);
	assert_int_equal(le16_to_cpu(ev.syndrome), syndrome);
	assert_false(host_async(h, &ev));
}

/* ---- send WQEs ---- */

typedef void (*spoil)(struct world *w, struct ornic_sq_wqe_msg *m);

#define SPOIL(name, ...)                                              \
	static void name(struct world *w, struct ornic_sq_wqe_msg *m) \
	{                                                             \
		__VA_ARGS__;                                          \
	}

SPOIL(bad_index, m->hdr.wqe_index ^= cpu_to_le32(64))
SPOIL(op_0d, m->hdr.opcode = 0x0d)
SPOIL(op_ff, m->hdr.opcode = 0xff)
SPOIL(op_imm, m->hdr.opcode = ORNIC_WR_SEND_IMM)
SPOIL(op_atomic, m->hdr.opcode = ORNIC_WR_FETCH_ADD)
SPOIL(op_bind, m->hdr.opcode = ORNIC_WR_BIND_MW)
SPOIL(flag_80, m->hdr.flags |= 0x80)
SPOIL(flag_se_write, m->hdr.flags |= ORNIC_WRF_SOLICITED)
SPOIL(flag_lfence, m->hdr.flags |= ORNIC_WRF_LOCAL_FENCE)
SPOIL(inline_read, m->hdr.opcode = ORNIC_WR_READ; m->hdr.flags |= ORNIC_WRF_INLINE)
SPOIL(hdr_mbz, m->hdr.mbz = 1)
SPOIL(imm_mbz, m->imm = cpu_to_le32(1))
SPOIL(len_mbz, m->hdr.length = cpu_to_le32(3000))
SPOIL(send_remote, m->hdr.opcode = ORNIC_WR_SEND)
SPOIL(nop_sge, m->hdr.opcode = ORNIC_WR_NOP; memset(m->remote, 0, 16))
SPOIL(sges_17, m->hdr.num_sge = 17)
SPOIL(sges_255, m->hdr.num_sge = 255)
SPOIL(read_2, m->hdr.opcode = ORNIC_WR_READ; tqp_sge(m, w->mr[0]->iova, 4, w->mr[0]->stag))
SPOIL(inl_sge, m->hdr.flags |= ORNIC_WRF_INLINE; m->hdr.length = cpu_to_le32(4))
SPOIL(inl_257, m->hdr.flags |= ORNIC_WRF_INLINE; m->hdr.num_sge = 0;
      m->hdr.length = cpu_to_le32(257))
SPOIL(inl_max, m->hdr.flags |= ORNIC_WRF_INLINE; m->hdr.num_sge = 0;
      m->hdr.length = cpu_to_le32(~0u))
SPOIL(too_long, m->sge[0].length = cpu_to_le32(0x80000001u))
SPOIL(sum_long, m->sge[0].length = cpu_to_le32(0x80000000u); tqp_sge(m, 0, 1, 0))
SPOIL(stag_none, m->sge[0].stag = cpu_to_le32(0x11111100))
SPOIL(stag_max, m->sge[0].stag = cpu_to_le32(~0u))
SPOIL(stag_key, m->sge[0].stag ^= cpu_to_le32(1))
SPOIL(stag_pd, m->sge[0].stag = cpu_to_le32(w->other->stag);
      m->sge[0].addr = cpu_to_le64(w->other->iova); m->sge[0].length = cpu_to_le32(10))
SPOIL(bound_lo, m->sge[0].addr = cpu_to_le64(w->mr[0]->iova - 1))
SPOIL(bound_hi, m->sge[0].addr = cpu_to_le64(w->mr[0]->iova + 97001))
SPOIL(bound_wrap, m->sge[0].addr = cpu_to_le64(~0ull - 5))
SPOIL(dma_stag, m->sge[0].stag = 0; m->sge[0].addr = cpu_to_le64(GUEST_BASE))
SPOIL(second_sge, tqp_sge(m, w->mr[0]->iova, 1, w->mr[0]->stag ^ 0x80))
SPOIL(sink_wo, m->hdr.opcode = ORNIC_WR_READ; m->sge[0].stag = cpu_to_le32(w->wo->stag);
      m->sge[0].addr = cpu_to_le64(w->wo->iova); m->sge[0].length = cpu_to_le32(8))
SPOIL(sink_ro, m->hdr.opcode = ORNIC_WR_READ; m->sge[0].stag = cpu_to_le32(w->ro->stag);
      m->sge[0].addr = cpu_to_le64(w->ro->iova); m->sge[0].length = cpu_to_le32(8))
SPOIL(sink_dma, m->hdr.opcode = ORNIC_WR_READ; m->sge[0].stag = 0;
      m->sge[0].addr = cpu_to_le64(GUEST_BASE))
SPOIL(sink_none, m->hdr.opcode = ORNIC_WR_READ; m->sge[0].stag = cpu_to_le32(0x12345678))
SPOIL(unpriv_inv, m->hdr.opcode = ORNIC_WR_LOCAL_INV; m->hdr.num_sge = 0;
      m->hdr.imm_stag = cpu_to_le32(w->mr[0]->stag))
SPOIL(unpriv_reg, m->hdr.opcode = ORNIC_WR_REG_MR; m->hdr.num_sge = 0)

static const struct {
	const char *what;
	spoil fn;
	u8 status;
	u16 syndrome;
} wqe_errors[] = {
	{"index of another turn", bad_index, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_WQE_INDEX},
	{"opcode 0x0d", op_0d, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_OPCODE},
	{"opcode 0xff", op_ff, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_OPCODE},
	{"SEND_IMM", op_imm, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_UNSUPPORTED},
	{"FETCH_ADD", op_atomic, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_UNSUPPORTED},
	{"BIND_MW", op_bind, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_UNSUPPORTED},
	{"flag 0x80", flag_80, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_FLAGS},
	{"solicited Write", flag_se_write, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_FLAGS},
	{"local fence on a Write", flag_lfence, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_FLAGS},
	{"inline Read", inline_read, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_FLAGS},
	{"mbz of the header", hdr_mbz, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_MBZ},
	{"immediate of a Write", imm_mbz, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_MBZ},
	{"length without inline", len_mbz, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_MBZ},
	{"remote address of a Send", send_remote, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_MBZ},
	{"NOP with an SGE", nop_sge, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_NUM_SGE},
	{"17 SGEs", sges_17, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_NUM_SGE},
	{"255 SGEs", sges_255, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_NUM_SGE},
	{"Read with 2 SGEs", read_2, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_NUM_SGE},
	{"inline with an SGE", inl_sge, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_NUM_SGE},
	{"257 bytes inline", inl_257, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_INLINE_LEN},
	{"2^32-1 bytes inline", inl_max, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_INLINE_LEN},
	{"2^31+1 bytes", too_long, ORNIC_CQE_LOC_LEN, ORNIC_SYN_LENGTH},
	{"2^31+1 bytes in two SGEs", sum_long, ORNIC_CQE_LOC_LEN, ORNIC_SYN_LENGTH},
	{"STag of no MR", stag_none, ORNIC_CQE_LOC_PROT, ORNIC_SYN_STAG_INVALID},
	{"STag beyond the table", stag_max, ORNIC_CQE_LOC_PROT, ORNIC_SYN_STAG_INVALID},
	{"wrong key", stag_key, ORNIC_CQE_LOC_PROT, ORNIC_SYN_STAG_INVALID},
	{"MR of another PD", stag_pd, ORNIC_CQE_LOC_PROT, ORNIC_SYN_STAG_PD},
	{"before the MR", bound_lo, ORNIC_CQE_LOC_PROT, ORNIC_SYN_STAG_BOUNDS},
	{"beyond the MR", bound_hi, ORNIC_CQE_LOC_PROT, ORNIC_SYN_STAG_BOUNDS},
	{"address wraps", bound_wrap, ORNIC_CQE_LOC_PROT, ORNIC_SYN_STAG_BOUNDS},
	{"local DMA STag, user QP", dma_stag, ORNIC_CQE_LOC_PROT, ORNIC_SYN_PRIVILEGE},
	{"second SGE wrong", second_sge, ORNIC_CQE_LOC_PROT, ORNIC_SYN_STAG_INVALID},
	{"Read sink, local write only", sink_wo, ORNIC_CQE_LOC_ACCESS, ORNIC_SYN_STAG_RIGHTS},
	{"Read sink, read only", sink_ro, ORNIC_CQE_LOC_ACCESS, ORNIC_SYN_STAG_RIGHTS},
	{"Read sink, local DMA STag", sink_dma, ORNIC_CQE_LOC_ACCESS, ORNIC_SYN_STAG_RIGHTS},
	{"Read sink of no MR", sink_none, ORNIC_CQE_LOC_PROT, ORNIC_SYN_STAG_INVALID},
	{"LOCAL_INV, user QP", unpriv_inv, ORNIC_CQE_MW_BIND, ORNIC_SYN_PRIVILEGE},
	{"REG_MR, user QP", unpriv_reg, ORNIC_CQE_MW_BIND, ORNIC_SYN_PRIVILEGE},
};

/* A good WR, a bad unsignalled one, two more: OK, cause, flushed, flushed. */
static void send_wqes(void **state)
{
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(wqe_errors); i++) {
		struct world *w = world_new(NULL, NULL);

		tqp_post_recv(w->qp[0], w->mr[0]->iova, 10, w->mr[0]->stag);
		good_write(w, ORNIC_WRF_SIGNALED);
		wqe_errors[i].fn(w, good_write(w, 0));
		good_write(w, 0);
		good_write(w, ORNIC_WRF_SIGNALED);
		tqp_ring(w->qp[0]);
		rig_run_for(w->r, 100 * MS);
		expect_cqe(w->scq[0], 0, ORNIC_CQE_OK, 0);
		expect_cqe(w->scq[0], 1, wqe_errors[i].status, wqe_errors[i].syndrome);
		expect_cqe(w->scq[0], 2, ORNIC_CQE_FLUSHED, ORNIC_SYN_TERM_SENT);
		expect_cqe(w->scq[0], 3, ORNIC_CQE_FLUSHED, ORNIC_SYN_TERM_SENT);
		expect_empty(w->scq[0]);
		expect_cqe(w->rcq[0], 0, ORNIC_CQE_FLUSHED, ORNIC_SYN_TERM_SENT);
		expect_async(&w->r->h[0], ORNIC_ASYNC_QP_FATAL, 1, wqe_errors[i].syndrome);
		/* RFC 5040 7.1.1: Local Catastrophic, without headers */
		assert_int_equal(w->qp[0]->conn->terms_sent, 1);
		assert_int_equal(w->qp[0]->conn->c.term_sent_len, 4);
		assert_int_equal(w->qp[0]->conn->c.term_sent.control[0], 0);
		expect_async(&w->r->h[1], ORNIC_ASYNC_QP_FATAL, 1, ORNIC_SYN_TERM_RCVD);
		assert_int_equal(tqp_state(w->qp[1]), ORNIC_QPS_ERROR);
		assert_true(w->qp[0]->conn->ended && w->qp[1]->conn->ended);
		/* Later posts are flushed too, each once. */
		for (k = 4; k < 10; k++) {
			good_write(w, 0);
			tqp_ring(w->qp[0]);
			tqp_post_recv(w->qp[0], 0, 10, 0);
			rig_run_for(w->r, MS);
			expect_cqe(w->scq[0], k, ORNIC_CQE_FLUSHED, ORNIC_SYN_TERM_SENT);
			expect_cqe(w->rcq[0], k - 3, ORNIC_CQE_FLUSHED, ORNIC_SYN_TERM_SENT);
		}
		expect_empty(w->scq[0]);
		expect_empty(w->rcq[0]);
		rig_free(w->r);
	}
	printf("%zu bad send WQEs\n", ARRAY_SIZE(wqe_errors));
}

/* What a small stride has no room for. */
static void small_stride(void **state)
{
	const struct tqp_cfg cfg = {.sq_stride = 6};
	struct world *w = world_new(&cfg, NULL);
	struct ornic_sq_wqe_msg *m = good_write(w, ORNIC_WRF_SIGNALED);

	m->sge[0].length = cpu_to_le32(1);
	m->sge[1] = m->sge[0];
	m->hdr.num_sge = 2;
	m = tqp_send_wqe(w->qp[0], ORNIC_WR_WRITE, ORNIC_WRF_INLINE | ORNIC_WRF_SIGNALED);
	m->hdr.length = cpu_to_le32(32);
	m->remote_addr = cpu_to_le64(w->mr[1]->iova);
	m->remote_stag = cpu_to_le32(w->mr[1]->stag);
	m = tqp_send_wqe(w->qp[0], ORNIC_WR_SEND, ORNIC_WRF_INLINE);
	m->hdr.length = cpu_to_le32(33);
	tqp_ring(w->qp[0]);
	rig_run_for(w->r, 100 * MS);
	expect_cqe(w->scq[0], 0, ORNIC_CQE_OK, 0);
	expect_cqe(w->scq[0], 1, ORNIC_CQE_OK, 0);
	expect_cqe(w->scq[0], 2, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_INLINE_LEN);
	rig_free(w->r);
	w = world_new(&cfg, NULL);
	m = good_write(w, 0);
	m->hdr.num_sge = 3;
	tqp_ring(w->qp[0]);
	rig_run_for(w->r, 100 * MS);
	expect_cqe(w->scq[0], 0, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_NUM_SGE);
	rig_free(w->r);
}

/* A Read that no limit will ever let go fails instead of hanging. */
static void ord_zero(void **state)
{
	const struct bind_cfg none = {.role = ORNIC_ROLE_INITIATOR, .crc = true};
	struct world *w = world_new(NULL, &none);

	good_write(w, 0)->hdr.opcode = ORNIC_WR_READ;
	tqp_ring(w->qp[0]);
	rig_run_for(w->r, 100 * MS);
	expect_cqe(w->scq[0], 0, ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_UNSUPPORTED);
	rig_free(w->r);
}

/* Privileged local operations that are refused. */
static void local_operations(void **state)
{
	static const struct {
		const char *what;
		u8 op;
		u16 syndrome;
	} t[] = {
		{"LOCAL_INV of no MR", ORNIC_WR_LOCAL_INV, ORNIC_SYN_STAG_INVALID},
		{"LOCAL_INV in another PD", ORNIC_WR_LOCAL_INV, ORNIC_SYN_STAG_PD},
		{"REG_MR of no MR", ORNIC_WR_REG_MR, ORNIC_SYN_STAG_INVALID},
	};
	const struct tqp_cfg cfg = {.flags = ORNIC_QPF_PRIVILEGED};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct world *w = world_new(&cfg, NULL);
		struct ornic_sq_wqe_msg *m = tqp_send_wqe(w->qp[0], t[i].op, 0);

		m->hdr.imm_stag = cpu_to_le32(i == 1 ? w->other->stag : 0x1234500);
		((struct ornic_sq_wqe_reg *)m)->page_shift = 12;
		((struct ornic_sq_wqe_reg *)m)->stag = cpu_to_le32(0x1234500);
		tqp_ring(w->qp[0]);
		rig_run_for(w->r, 100 * MS);
		expect_cqe(w->scq[0], 0, ORNIC_CQE_MW_BIND, t[i].syndrome);
		rig_free(w->r);
	}
}

/* ---- receive WQEs ---- */

static void recv_wqes(void **state)
{
	static const struct {
		const char *what;
		u8 status;
		u16 syndrome;
	} t[] = {
		{"index", ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_WQE_INDEX},
		{"mbz", ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_MBZ},
		{"rsvd", ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_MBZ},
		{"SGEs beyond the stride", ORNIC_CQE_LOC_QP_OP, ORNIC_SYN_NUM_SGE},
		{"2^31+1 bytes", ORNIC_CQE_LOC_LEN, ORNIC_SYN_LENGTH},
		{"STag", ORNIC_CQE_LOC_PROT, ORNIC_SYN_STAG_INVALID},
		{"bounds", ORNIC_CQE_LOC_PROT, ORNIC_SYN_STAG_BOUNDS},
		{"PD", ORNIC_CQE_LOC_PROT, ORNIC_SYN_STAG_PD},
		{"rights", ORNIC_CQE_LOC_PROT, ORNIC_SYN_STAG_RIGHTS},
		{"local DMA STag", ORNIC_CQE_LOC_PROT, ORNIC_SYN_PRIVILEGE},
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct world *w = world_new(NULL, NULL);
		struct ornic_rq_wqe *rw = host_ptr(&w->r->h[0], w->qp[0]->rq);
		struct ornic_sq_wqe_msg *m;

		tqp_post_recv(w->qp[0], w->mr[0]->iova, 10, w->mr[0]->stag);
		tqp_post_recv(w->qp[0], w->mr[0]->iova, 10, w->mr[0]->stag);
		switch (i) {
		case 0:
			rw->wqe_index = cpu_to_le32(1);
			break;
		case 1:
			rw->mbz[2] = 1;
			break;
		case 2:
			rw->rsvd = cpu_to_le64(1);
			break;
		case 3:
			rw->num_sge = 4;
			break;
		case 4:
			rw->sge[0].length = cpu_to_le32(0x80000001);
			break;
		case 5:
			rw->sge[0].stag = 0x100;
			break;
		case 6:
			rw->sge[0].addr = cpu_to_le64(w->mr[0]->iova + 99991);
			break;
		case 7:
			rw->sge[0].addr = cpu_to_le64(w->other->iova);
			rw->sge[0].stag = cpu_to_le32(w->other->stag);
			break;
		case 8:
			rw->sge[0].addr = cpu_to_le64(w->ro->iova);
			rw->sge[0].stag = cpu_to_le32(w->ro->stag);
			break;
		default:
			rw->sge[0].stag = 0;
			break;
		}
		/* The initiator speaks first. */
		good_write(w, 0);
		tqp_ring(w->qp[0]);
		m = tqp_send_wqe(w->qp[1], ORNIC_WR_SEND, ORNIC_WRF_SIGNALED);
		tqp_sge(m, w->mr[1]->iova, 5, w->mr[1]->stag);
		tqp_ring(w->qp[1]);
		rig_run_for(w->r, 100 * MS);
		expect_cqe(w->rcq[0], 0, t[i].status, t[i].syndrome);
		expect_cqe(w->rcq[0], 1, ORNIC_CQE_FLUSHED, ORNIC_SYN_TERM_SENT);
		expect_empty(w->rcq[0]);
		assert_int_equal(w->qp[0]->conn->c.term_sent.control[0], 0);
		assert_int_equal(tqp_state(w->qp[1]), ORNIC_QPS_ERROR);
		rig_free(w->r);
	}
	printf("%zu bad receive WQEs\n", ARRAY_SIZE(t));
}

/* ---- memory that goes away ---- */

/*
 * The source is deregistered while the Write is under way: the connection is reset,
 * the WR says why, nothing is read from it any more.
 */
static void dereg_in_flight(void **state)
{
	struct world *w = world_new(NULL, NULL);

	w->r->delay = 5 * MS;
	good_write(w, ORNIC_WRF_SIGNALED)->sge[0].length = cpu_to_le32(100000);
	tqp_ring(w->qp[0]);
	rig_run_for(w->r, 7 * MS);
	tmr_dereg(w->mr[0]);
	rig_run_for(w->r, 1000 * MS);
	expect_cqe(w->scq[0], 0, ORNIC_CQE_LOC_PROT, ORNIC_SYN_STAG_INVALID);
	assert_true(w->qp[0]->conn->ended);
	assert_int_equal(w->qp[0]->conn->end, TCP_EV_ABORTED);
	assert_int_equal(w->qp[1]->conn->end, TCP_EV_PEER_RST);
	assert_int_equal(tqp_state(w->qp[1]), ORNIC_QPS_ERROR);
	rig_free(w->r);
}

/*
 * Error with data under way: the flush comes at once, the host scribbles over its
 * buffer, frames get lost, and the peer still receives what was sent, then the Terminate.
 */
static void flush_frees_memory(void **state)
{
	struct world *w = world_new(NULL, NULL);
	u32 i;

	tmr_fill(w->mr[0], 0, 20000, 11);
	w->r->delay = 5 * MS;
	for (i = 0; i < 3; i++)
		good_write(w, ORNIC_WRF_SIGNALED);
	tqp_ring(w->qp[0]);
	rig_run_for(w->r, 1 * MS);
	/* The peer's Read Request is malformed in the meantime: 7.1 of RFC 5040. */
	iw_term_send(iw_qp_find(&w->r->h[0].dev, 1), IW_FAULT(TERM_DDP, 2, 4, 0), NULL, 0);
	for (i = 0; i < 3; i++)
		expect_cqe(w->scq[0], i, ORNIC_CQE_FLUSHED, ORNIC_SYN_TERM_SENT);
	tmr_fill(w->mr[0], 0, 20000, 999);
	tmr_dereg(w->mr[0]);
	w->r->loss = 20000;
	rig_run_for(w->r, 3 * MS);
	w->r->loss = 0;
	rig_run_for(w->r, 20000 * MS);
	assert_true(tmr_check(w->mr[1], 0, 3000, 11, 0));
	assert_int_equal(w->qp[1]->conn->terms_rcvd, 1);
	assert_int_equal(w->qp[0]->conn->end, TCP_EV_CLOSED);
	expect_empty(w->scq[0]);
	rig_free(w->r);
}

/* When DESTROY_QP has answered nothing looks at its memory: op_gather() of the rig asserts it. */
static void destroy_in_flight(void **state)
{
	struct world *w = world_new(NULL, NULL);
	u32 pi;

	w->r->delay = 5 * MS;
	good_write(w, ORNIC_WRF_SIGNALED)->sge[0].length = cpu_to_le32(100000);
	tqp_ring(w->qp[0]);
	tqp_post_recv(w->qp[0], w->mr[0]->iova, 10, w->mr[0]->stag);
	rig_run_for(w->r, 7 * MS);
	assert_int_equal(tqp_destroy(w->qp[0]).status, ORNIC_CMDS_OK);
	assert_true(w->qp[0]->conn->ended);
	assert_int_equal(w->qp[0]->conn->c.abort_why, ORNIC_ABORT_QP);
	pi = w->scq[0]->ci;
	rig_run_for(w->r, 1000 * MS);
	expect_empty(w->scq[0]);
	expect_empty(w->rcq[0]);
	assert_int_equal(w->scq[0]->ci, pi);
	assert_int_equal(tqp_destroy(w->qp[0]).status, ORNIC_CMDS_NOT_FOUND);
	assert_int_equal(w->qp[1]->conn->end, TCP_EV_PEER_RST);
	rig_free(w->r);
}

/* ---- doorbells ---- */

static bool bell(struct world *w, u32 kind, u32 page, u32 number, u32 index, u64 more)
{
	return iw_doorbell(&w->r->h[0].dev, kind, page,
			   FIELD_PREP(ORNIC_DB_NUMBER, (u64)number) |
				   FIELD_PREP(ORNIC_DB_INDEX, (u64)index) | more);
}

static void doorbells(void **state)
{
	struct world *w = world_new(NULL, NULL);
	u32 bit;

	assert_true(bell(w, ORNIC_DB_SQ, 0, 1, 0, 0));
	assert_false(bell(w, ORNIC_DB_SQ, 1, 1, 0, 0));
	assert_false(bell(w, ORNIC_DB_RQ, 5, 1, 0, 0));
	assert_false(bell(w, ORNIC_DB_CQ_ARM, 3, 1, 0, 0));
	assert_false(bell(w, ORNIC_DB_SQ, 0, 0, 0, 0));
	assert_false(bell(w, ORNIC_DB_SQ, 0, 2, 0, 0));
	assert_false(bell(w, ORNIC_DB_SQ, 0, 0xffffff, 0, 0));
	assert_false(bell(w, ORNIC_DB_CQ_ARM, 0, 0, 0, 0));
	assert_false(bell(w, ORNIC_DB_CQ_ARM, 0, 0xffffff, 0, 0));
	assert_false(bell(w, ORNIC_DB_SRQ, 0, 1, 0, 0));
	assert_false(bell(w, ORNIC_DB_EQ_ARM, 0, 1, 0, 0));
	for (bit = 24; bit < 32; bit++) {
		assert_false(bell(w, ORNIC_DB_SQ, 0, 1, 0, BIT_ULL(bit)));
		assert_false(bell(w, ORNIC_DB_RQ, 0, 1, 0, BIT_ULL(bit)));
		assert_int_equal(bell(w, ORNIC_DB_CQ_ARM, 0, 1, 0, BIT_ULL(bit)), bit < 27);
	}
	/* A consumer index that no consumer can have. */
	assert_false(bell(w, ORNIC_DB_CQ_ARM, 0, 1, 1, 0));
	assert_int_equal(tqp_state(w->qp[0]), ORNIC_QPS_RTS);
	rig_free(w->r);
}

static void overrun(void **state)
{
	static const u32 kinds[] = {ORNIC_DB_SQ, ORNIC_DB_RQ};
	u32 i, rec;

	for (i = 0; i < 2; i++)
		for (rec = 0; rec < 2; rec++) {
			struct world *w = world_new(NULL, NULL);
			struct ornic_queue_rec *r = host_ptr(&w->r->h[0], w->qp[0]->rec);

			if (rec && i) {
				rig_free(w->r);
				continue;
			}
			if (rec) {
				r->pi = cpu_to_le32(65);
				bell(w, ORNIC_DB_SQ, 0, 1, 0, 0);
			} else {
				assert_true(bell(w, kinds[i], 0, 1, 65, 0));
			}
			rig_run_for(w->r, 50 * MS);
			assert_int_equal(tqp_state(w->qp[0]), ORNIC_QPS_ERROR);
			expect_async(&w->r->h[0], ORNIC_ASYNC_QP_FATAL, 1, ORNIC_SYN_DOORBELL);
			assert_int_equal(w->qp[1]->conn->terms_rcvd, 1);
			/* Nothing was posted, so nothing completes. */
			expect_empty(w->scq[0]);
			rig_free(w->r);
		}
}

/* Old doorbells, the same one twice, and one that waits behind the record. */
static void stale_doorbells(void **state)
{
	struct world *w = world_new(NULL, NULL);
	u32 i, k;

	w->qp[0]->always_ring = true;
	for (i = 0; i < 100; i++) {
		good_write(w, ORNIC_WRF_SIGNALED);
		tqp_ring(w->qp[0]);
		for (k = 0; k < 5; k++)
			assert_true(bell(w, ORNIC_DB_SQ, 0, 1, i > k * 20 ? i - k * 20 : 0, 0));
		rig_run_for(w->r, 50 * MS);
		expect_cqe(w->scq[0], i, ORNIC_CQE_OK, 0);
	}
	expect_empty(w->scq[0]);
	assert_int_equal(tqp_state(w->qp[0]), ORNIC_QPS_RTS);
	rig_free(w->r);
}

/* ---- completion queues ---- */

static void arm(void **state)
{
	struct world *w = world_new(NULL, NULL);
	struct host *h = &w->r->h[1];
	struct ornic_cqe e;
	u32 round;

	for (round = 0; round < 10; round++) {
		/* armed first */
		w->rcq[1]->arm_seq = round * 2 & 3;
		assert_true(tcq_arm(w->rcq[1], false));
		assert_int_equal(host_comp_events(h, w->rcq[1]->cqn), 0);
		tqp_post_recv(w->qp[1], w->mr[1]->iova, 10, w->mr[1]->stag);
		tqp_post_recv(w->qp[1], w->mr[1]->iova, 10, w->mr[1]->stag);
		tqp_send_wqe(w->qp[0], ORNIC_WR_SEND, 0);
		tqp_send_wqe(w->qp[0], ORNIC_WR_SEND, 0);
		tqp_ring(w->qp[0]);
		rig_run_for(w->r, 50 * MS);
		assert_int_equal(host_comp_events(h, w->rcq[1]->cqn), 1);
		/* the same arm again is an old one */
		assert_true(tcq_arm(w->rcq[1], false));
		assert_int_equal(host_comp_events(h, w->rcq[1]->cqn), 0);
		/* armed behind: at once */
		w->rcq[1]->arm_seq = (round * 2 + 1) & 3;
		assert_true(tcq_poll(w->rcq[1], &e));
		assert_true(tcq_arm(w->rcq[1], false));
		assert_int_equal(host_comp_events(h, w->rcq[1]->cqn), 1);
		assert_true(tcq_poll(w->rcq[1], &e));
		expect_empty(w->rcq[1]);
	}
	rig_free(w->r);
}

static void arm_solicited(void **state)
{
	struct world *w = world_new(NULL, NULL);
	struct host *h = &w->r->h[1];
	struct ornic_cqe e;
	u32 k;

	for (k = 0; k < 8; k++) {
		u8 flags = k & 1 ? ORNIC_WRF_SOLICITED : 0;
		bool behind = k & 2, second = k & 4;

		if (!behind)
			assert_true(tcq_arm(w->rcq[1], true));
		tqp_post_recv(w->qp[1], w->mr[1]->iova, 10, w->mr[1]->stag);
		tqp_post_recv(w->qp[1], w->mr[1]->iova, 10, w->mr[1]->stag);
		tqp_send_wqe(w->qp[0], ORNIC_WR_SEND, second ? 0 : flags);
		tqp_send_wqe(w->qp[0], ORNIC_WR_SEND, second ? flags : 0);
		tqp_ring(w->qp[0]);
		rig_run_for(w->r, 50 * MS);
		if (behind)
			assert_true(tcq_arm(w->rcq[1], true));
		assert_int_equal(host_comp_events(h, w->rcq[1]->cqn), k & 1);
		if (k & 1)
			w->rcq[1]->arm_seq = (w->rcq[1]->arm_seq + 1) & 3;
		assert_true(tcq_poll(w->rcq[1], &e));
		assert_true(tcq_poll(w->rcq[1], &e));
	}
	/* A failure counts as solicited. */
	tcq_arm(w->rcq[1], true);
	tqp_post_recv(w->qp[1], w->mr[1]->iova, 10, w->mr[1]->stag);
	tqp_modify(w->qp[1], ORNIC_QPS_ERROR);
	assert_int_equal(host_comp_events(h, w->rcq[1]->cqn), 1);
	rig_free(w->r);
}

/* An arm for anything is not weakened by one for solicited completions. */
static void arm_upgrade(void **state)
{
	struct world *w = world_new(NULL, NULL);

	tcq_arm(w->rcq[1], false);
	tcq_arm(w->rcq[1], true);
	tqp_post_recv(w->qp[1], w->mr[1]->iova, 10, w->mr[1]->stag);
	tqp_send_wqe(w->qp[0], ORNIC_WR_SEND, 0);
	tqp_ring(w->qp[0]);
	rig_run_for(w->r, 50 * MS);
	assert_int_equal(host_comp_events(&w->r->h[1], w->rcq[1]->cqn), 1);
	rig_free(w->r);
}

/* The smallest ring round and round; then one CQE too many. */
static void small_cq(void **state)
{
	struct rig *r = rig_new(1500);
	struct tcq *small = tcq_new(&r->h[0], 1), *big = tcq_new(&r->h[0], 8),
		   *far = tcq_new(&r->h[1], 8);
	struct tqp *q = tqp_new(&r->h[0], small, big, NULL),
		   *q2 = tqp_new(&r->h[0], big, big, NULL);
	struct tqp *p = tqp_new(&r->h[1], far, far, NULL), *p2 = tqp_new(&r->h[1], far, far, NULL);
	struct ornic_aeqe ev;
	u32 i;

	rig_pair(r, q, p, &dflt);
	rig_pair(r, q2, p2, &dflt);
	for (i = 0; i < 40; i += 2) {
		tqp_send_wqe(q, ORNIC_WR_NOP, ORNIC_WRF_SIGNALED);
		tqp_send_wqe(q, ORNIC_WR_NOP, ORNIC_WRF_SIGNALED);
		tqp_ring(q);
		rig_run_for(r, MS);
		expect_cqe(small, i, ORNIC_CQE_OK, 0);
		expect_cqe(small, i + 1, ORNIC_CQE_OK, 0);
		expect_empty(small);
	}
	assert_false(host_async(&r->h[0], &ev));
	for (i = 0; i < 3; i++)
		tqp_send_wqe(q, ORNIC_WR_NOP, ORNIC_WRF_SIGNALED);
	tqp_ring(q);
	rig_run_for(r, 100 * MS);
	assert_true(host_async(&r->h[0], &ev));
	assert_int_equal(ev.type, ORNIC_ASYNC_CQ_ERROR);
	assert_int_equal(le32_to_cpu(ev.number), small->cqn);
	assert_int_equal(le16_to_cpu(ev.syndrome), ORNIC_SYN_CQ_OVERFLOW);
	assert_int_equal(tqp_state(q), ORNIC_QPS_ERROR);
	assert_int_equal(q->conn->end, TCP_EV_ABORTED);
	/* RFC 5040 8.1.1.10: streams that do not use the CQ are not affected. */
	assert_int_equal(tqp_state(q2), ORNIC_QPS_RTS);
	tqp_send_wqe(q2, ORNIC_WR_NOP, ORNIC_WRF_SIGNALED);
	tqp_ring(q2);
	rig_run_for(r, MS);
	expect_cqe(big, 0, ORNIC_CQE_OK, 0);
	assert_int_equal(r->h[0].dev.stats[ORNIC_STAT_IW_CQ_OVERFLOW], 1);
	rig_free(r);
}

/* ---- flush ---- */

static void flush_by_modify(void **state)
{
	struct world *w = world_new(NULL, NULL);
	u32 i;

	w->r->delay = 5 * MS;
	for (i = 0; i < 64; i++)
		good_write(w, i & 1 ? ORNIC_WRF_SIGNALED : 0);
	tqp_ring(w->qp[0]);
	for (i = 0; i < 64; i++)
		tqp_post_recv(w->qp[0], w->mr[0]->iova, 1, w->mr[0]->stag);
	rig_run_for(w->r, 1 * MS);
	assert_int_equal(tqp_modify(w->qp[0], ORNIC_QPS_ERROR).status, ORNIC_CMDS_OK);
	for (i = 0; i < 64; i++) {
		expect_cqe(w->scq[0], i, ORNIC_CQE_FLUSHED, 0);
		expect_cqe(w->rcq[0], i, ORNIC_CQE_FLUSHED, 0);
	}
	expect_empty(w->scq[0]);
	assert_int_equal(w->qp[0]->conn->c.abort_why, ORNIC_ABORT_QP);
	assert_int_equal(tqp_modify(w->qp[0], ORNIC_QPS_ERROR).status, ORNIC_CMDS_OK);
	assert_int_equal(tqp_modify(w->qp[0], ORNIC_QPS_CLOSING).status, ORNIC_CMDS_STATE);
	rig_run_for(w->r, 100 * MS);
	assert_int_equal(w->qp[1]->conn->end, TCP_EV_PEER_RST);
	expect_empty(w->scq[0]);
	rig_free(w->r);
}

/* IDLE to ERROR, without a connection ever. Opcodes come back as posted, unknown ones do no harm.
 */
static void flush_idle(void **state)
{
	struct rig *r = rig_new(1500);
	struct tcq *s = tcq_new(&r->h[0], 8), *q = tcq_new(&r->h[0], 8);
	struct tqp *qp = tqp_new(&r->h[0], s, q, NULL);
	static const u8 ops[] = {0, 1, 2, 3, 0x10, 0x11, 0x12, 0x55, 0x80, 0xff};
	struct ornic_cqe e;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		tqp_send_wqe(qp, ops[i], 0);
	tqp_ring(qp);
	tqp_post_recv(qp, 0, 0, 0);
	rig_run_for(r, MS);
	expect_empty(s);
	assert_int_equal(tqp_modify(qp, ORNIC_QPS_ERROR).status, ORNIC_CMDS_OK);
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		assert_true(tcq_poll(s, &e));
		assert_int_equal(e.status, ORNIC_CQE_FLUSHED);
		assert_int_equal(e.opcode, ops[i] < 0x80 ? ops[i] : 0);
	}
	expect_empty(s);
	expect_cqe(q, 0, ORNIC_CQE_FLUSHED, 0);
	expect_empty(q);
	rig_free(r);
}

/* ---- commands ---- */

static u16 create_status(struct host *h, struct ornic_cmd_create_qp *c)
{
	return iw_cmd_create_qp(&h->dev, c).status;
}

static void create_errors(void **state)
{
	struct rig *r = rig_new(1500);
	struct host *h = &r->h[0];
	struct tcq *cq = tcq_new(h, 4);
	struct ornic_cmd_create_qp ok =
					   {
						   .qpn = cpu_to_le32(9),
						   .pdn = cpu_to_le32(1),
						   .send_cqn = cpu_to_le32(cq->cqn),
						   .recv_cqn = cpu_to_le32(cq->cqn),
						   .sq_shift = 4,
						   .sq_stride_shift = 6,
						   .rq_shift = 4,
						   .rq_stride_shift = 6,
						   .mem = {.addr = cpu_to_le64(GUEST_BASE),
							   .npages = cpu_to_le32(2),
							   .page_shift = 12},
						   .sq_off = cpu_to_le32(128),
						   .rq_off = cpu_to_le32(128 + 1024),
					   },
				   c;
	struct ornic_cmd_number cqno = {.number = cpu_to_le32(cq->cqn)};

#define TRY(change, st)                                                  \
	do {                                                             \
		c = ok;                                                  \
		change;                                                  \
		assert_int_equal(create_status(h, &c), ORNIC_CMDS_##st); \
		assert_null(iw_qp_find(&h->dev, le32_to_cpu(c.qpn)));    \
	} while (0)
	TRY(c.qpn = 0, NUMBER);
	TRY(c.qpn = cpu_to_le32(RNIC_MAX_QP), NUMBER);
	TRY(c.qpn = cpu_to_le32(~0u), NUMBER);
	TRY(c.pdn = 0, NUMBER);
	TRY(c.pdn = cpu_to_le32(RNIC_MAX_PD), NUMBER);
	TRY(c.send_cqn = cpu_to_le32(77), NOT_FOUND);
	TRY(c.recv_cqn = cpu_to_le32(~0u), NUMBER);
	TRY(c.srqn = cpu_to_le32(1), FIELD);
	TRY(c.db_page = cpu_to_le32(16), NUMBER);
	TRY(c.sq_shift = 0, FIELD);
	TRY(c.sq_shift = RNIC_MAX_SQ_SHIFT + 1, FIELD);
	TRY(c.sq_stride_shift = 5, FIELD);
	TRY(c.sq_stride_shift = 10, FIELD);
	TRY(c.rq_shift = 0, FIELD);
	TRY(c.rq_stride_shift = 4, FIELD);
	TRY(c.rq_stride_shift = 10, FIELD);
	TRY(c.flags = cpu_to_le16(ORNIC_QPF_SRQ), FIELD);
	TRY(c.flags = cpu_to_le16(0x8000), FIELD);
	TRY(c.flags = cpu_to_le16(ORNIC_QPF_PRIVILEGED); c.db_page = cpu_to_le32(1), FIELD);
	TRY(c.access = cpu_to_le16(ORNIC_ACC_LOCAL_WRITE), FIELD);
	TRY(c.sq_off = cpu_to_le32(129), FIELD);
	TRY(c.rq_off = cpu_to_le32(1151), FIELD);
	TRY(c.rq_off = cpu_to_le32(1088), FIELD);
	TRY(c.rec_off = cpu_to_le32(64), FIELD);
	TRY(c.rec_off = cpu_to_le32(128), FIELD);
	TRY(c.rec_off = cpu_to_le32(8192), FIELD);
	TRY(c.mem.npages = 0, FIELD);
	TRY(c.mem.page_shift = 11, FIELD);
#undef TRY
	c = ok;
	assert_int_equal(create_status(h, &c), ORNIC_CMDS_OK);
	assert_int_equal(create_status(h, &c), ORNIC_CMDS_EXISTS);
	assert_int_equal(iw_cmd_destroy_cq(&h->dev, &cqno).status, ORNIC_CMDS_BUSY);
	cqno.number = cpu_to_le32(9);
	assert_int_equal(iw_cmd_destroy_qp(&h->dev, &cqno).status, ORNIC_CMDS_OK);
	cqno.number = cpu_to_le32(cq->cqn);
	assert_int_equal(iw_cmd_destroy_cq(&h->dev, &cqno).status, ORNIC_CMDS_OK);
	assert_int_equal(iw_cmd_destroy_cq(&h->dev, &cqno).status, ORNIC_CMDS_NOT_FOUND);
	rig_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(send_wqes),	      cmocka_unit_test(small_stride),
		cmocka_unit_test(ord_zero),	      cmocka_unit_test(local_operations),
		cmocka_unit_test(recv_wqes),	      cmocka_unit_test(dereg_in_flight),
		cmocka_unit_test(flush_frees_memory), cmocka_unit_test(destroy_in_flight),
		cmocka_unit_test(doorbells),	      cmocka_unit_test(overrun),
		cmocka_unit_test(stale_doorbells),    cmocka_unit_test(arm),
		cmocka_unit_test(arm_solicited),      cmocka_unit_test(arm_upgrade),
		cmocka_unit_test(small_cq),	      cmocka_unit_test(flush_by_modify),
		cmocka_unit_test(flush_idle),	      cmocka_unit_test(create_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
