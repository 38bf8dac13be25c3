// SPDX-License-Identifier: GPL-2.0-or-later
/* Two engines back to back: data arrives whole, completions come once and in order. */
#include <stdio.h>

#include "rig.h"

#define ALL_ACC (ORNIC_ACC_LOCAL_WRITE | ORNIC_ACC_REMOTE_WRITE | ORNIC_ACC_REMOTE_READ)

struct pair {
	struct rig *r;
	struct tcq *cq[2][2]; /* [host][0 send, 1 receive] */
	struct tqp *qp[2];
	struct tmr *src[2], *dst[2];
};

static const struct bind_cfg dflt = {.role = ORNIC_ROLE_INITIATOR, .crc = true, .ird = 8, .ord = 8};

static struct pair *pair_new(u32 mtu, u64 mr_size, const struct tqp_cfg *cfg,
			     const struct bind_cfg *bind)
{
	struct rig *r = rig_new(mtu);
	struct pair *p = rig_own(r, sizeof(*p));
	int i;

	p->r = r;
	for (i = 0; i < 2; i++) {
		p->cq[i][0] = tcq_new(&r->h[i], 9);
		p->cq[i][1] = tcq_new(&r->h[i], 9);
		p->qp[i] = tqp_new(&r->h[i], p->cq[i][0], p->cq[i][1], cfg);
		p->src[i] = tmr_new(&r->h[i], mr_size, ALL_ACC, PDN);
		p->dst[i] = tmr_new(&r->h[i], mr_size, ALL_ACC, PDN);
	}
	rig_pair(r, p->qp[0], p->qp[1], bind ? bind : &dflt);
	return p;
}

static void pair_free(struct pair *p)
{
	rig_free(p->r);
}

static bool cq_has(void *arg)
{
	struct tcq *cq = arg;
	struct ornic_cqe *e =
		host_ptr(cq->h, cq->ring + 32ull * (cq->ci & ((1u << cq->shift) - 1)));

	return (le32_to_cpu(e->flags) & ORNIC_CQE_PHASE) != (cq->ci >> cq->shift & 1);
}

static struct ornic_cqe wait_cqe(struct pair *p, struct tcq *cq)
{
	struct ornic_cqe e = {0};

	rig_until(p->r, cq_has, cq);
	assert_true(tcq_poll(cq, &e));
	return e;
}

static void expect_cqe(struct pair *p, struct tcq *cq, u8 opcode, u8 status, u32 index,
		       u32 byte_len)
{
	struct ornic_cqe e = wait_cqe(p, cq);

	assert_int_equal(e.opcode, opcode);
	assert_int_equal(e.status, status);
	assert_int_equal(le32_to_cpu(e.wqe_index), index);
	assert_int_equal(le32_to_cpu(e.byte_len), byte_len);
}

static void post_write(struct pair *p, int i, u64 from, u64 to, u32 len, u8 flags)
{
	struct ornic_sq_wqe_msg *w = tqp_send_wqe(p->qp[i], ORNIC_WR_WRITE, flags);

	w->remote_addr = cpu_to_le64(p->dst[!i]->iova + to);
	w->remote_stag = cpu_to_le32(p->dst[!i]->stag);
	tqp_sge(w, p->src[i]->iova + from, len, p->src[i]->stag);
	tqp_ring(p->qp[i]);
}

static void post_read(struct pair *p, int i, u64 from, u64 to, u32 len, u8 flags)
{
	struct ornic_sq_wqe_msg *w = tqp_send_wqe(p->qp[i], ORNIC_WR_READ, flags);

	w->remote_addr = cpu_to_le64(p->src[!i]->iova + from);
	w->remote_stag = cpu_to_le32(p->src[!i]->stag);
	tqp_sge(w, p->dst[i]->iova + to, len, p->dst[i]->stag);
	tqp_ring(p->qp[i]);
}

static void post_send(struct pair *p, int i, u64 from, u32 len, u8 flags)
{
	struct ornic_sq_wqe_msg *w = tqp_send_wqe(p->qp[i], ORNIC_WR_SEND, flags);

	tqp_sge(w, p->src[i]->iova + from, len, p->src[i]->stag);
	tqp_ring(p->qp[i]);
}

static const u32 sizes[] = {0, 1, 3, 4, 5, 64, 127, 1000, 1428, 1429, 4096, 65536, 300001};
static const u32 mtus[] = {576, 1500, 9000, 65000};

static void write_sizes(void **state)
{
	u32 m, s;

	for (m = 0; m < ARRAY_SIZE(mtus); m++) {
		struct pair *p = pair_new(mtus[m], 400000, NULL, NULL);

		for (s = 0; s < ARRAY_SIZE(sizes); s++) {
			tmr_fill(p->src[0], s, sizes[s], s + 1);
			tmr_fill(p->dst[1], 0, 400000, 999);
			post_write(p, 0, s, 77, sizes[s], ORNIC_WRF_SIGNALED);
			expect_cqe(p, p->cq[0][0], ORNIC_WR_WRITE, ORNIC_CQE_OK, s, 0);
			assert_true(tmr_check(p->dst[1], 77, sizes[s], s + 1, 0));
			assert_true(tmr_check(p->dst[1], 0, 77, 999, 0));
			assert_true(tmr_check(p->dst[1], 77 + sizes[s], 100, 999, 77 + sizes[s]));
		}
		pair_free(p);
		printf("Writes of %zu sizes at MTU %u\n", ARRAY_SIZE(sizes), mtus[m]);
	}
}

static void read_sizes(void **state)
{
	u32 m, s;

	for (m = 0; m < ARRAY_SIZE(mtus); m++) {
		struct pair *p = pair_new(mtus[m], 400000, NULL, NULL);

		/* A responder may not send before the first FPDU of its peer. */
		post_write(p, 0, 0, 0, 0, 0);
		for (s = 0; s < ARRAY_SIZE(sizes); s++) {
			tmr_fill(p->src[0], s, sizes[s], s + 1);
			tmr_fill(p->dst[1], 0, 400000, 999);
			post_read(p, 1, s, 77, sizes[s], ORNIC_WRF_SIGNALED);
			expect_cqe(p, p->cq[1][0], ORNIC_WR_READ, ORNIC_CQE_OK, s, sizes[s]);
			assert_true(tmr_check(p->dst[1], 77, sizes[s], s + 1, 0));
			assert_true(tmr_check(p->dst[1], 0, 77, 999, 0));
			assert_true(tmr_check(p->dst[1], 77 + sizes[s], 100, 999, 77 + sizes[s]));
		}
		pair_free(p);
		printf("Reads of %zu sizes at MTU %u\n", ARRAY_SIZE(sizes), mtus[m]);
	}
}

static void send_sizes(void **state)
{
	u32 m, s;

	for (m = 0; m < ARRAY_SIZE(mtus); m++) {
		struct pair *p = pair_new(mtus[m], 400000, NULL, NULL);

		for (s = 0; s < ARRAY_SIZE(sizes); s++) {
			tmr_fill(p->src[0], s, sizes[s], s + 1);
			tqp_post_recv(p->qp[1], p->dst[1]->iova + 5, 350000, p->dst[1]->stag);
			post_send(p, 0, s, sizes[s], ORNIC_WRF_SIGNALED);
			expect_cqe(p, p->cq[1][1], ORNIC_CQE_RECV, ORNIC_CQE_OK, s, sizes[s]);
			expect_cqe(p, p->cq[0][0], ORNIC_WR_SEND, ORNIC_CQE_OK, s, 0);
			assert_true(tmr_check(p->dst[1], 5, sizes[s], s + 1, 0));
		}
		pair_free(p);
		printf("Sends of %zu sizes at MTU %u\n", ARRAY_SIZE(sizes), mtus[m]);
	}
}

/* Many SGEs with empty ones between them, gathered and scattered at every cut. */
static void many_sges(void **state)
{
	const struct tqp_cfg cfg = {.rq_stride = 9};
	struct pair *p = pair_new(1500, 400000, &cfg, NULL);
	struct ornic_sq_wqe_msg *w;
	struct ornic_rq_wqe *rw;
	u32 i, total = 0;

	tmr_fill(p->src[0], 0, 100000, 5);
	tqp_post_recv(p->qp[1], p->dst[1]->iova, 1, p->dst[1]->stag);
	rw = host_ptr(p->qp[1]->h, p->qp[1]->rq);
	rw->num_sge = 16;
	for (i = 0; i < 16; i++) {
		rw->sge[i].addr = cpu_to_le64(p->dst[1]->iova + i * 10000);
		rw->sge[i].length = cpu_to_le32(i % 3 ? 700 : 0);
		/* an SGE of no bytes is not looked at */
		rw->sge[i].stag = cpu_to_le32(i % 3 ? p->dst[1]->stag : 0xdead);
	}
	w = tqp_send_wqe(p->qp[0], ORNIC_WR_SEND, ORNIC_WRF_SIGNALED);
	for (i = 0; i < 16; i++) {
		u32 len = i % 4 == 2 ? 0 : 531;

		tqp_sge(w, p->src[0]->iova + total, len, len ? p->src[0]->stag : 0xbeef);
		total += len;
	}
	tqp_ring(p->qp[0]);
	expect_cqe(p, p->cq[1][1], ORNIC_CQE_RECV, ORNIC_CQE_OK, 0, total);
	expect_cqe(p, p->cq[0][0], ORNIC_WR_SEND, ORNIC_CQE_OK, 0, 0);
	for (i = 0, total = 0; i < 16 && total < 12 * 531; i++) {
		u32 n = min(700u, 12 * 531 - total);

		if (!(i % 3))
			continue;
		assert_true(tmr_check(p->dst[1], i * 10000, n, 5, total));
		total += n;
	}
	assert_int_equal(total, 12 * 531);
	pair_free(p);
}

static void inline_sizes(void **state)
{
	struct pair *p = pair_new(1500, 4096, NULL, NULL);
	u32 len, i;

	for (len = 0; len <= RNIC_MAX_INLINE; len++) {
		struct ornic_sq_wqe_msg *w;

		w = tqp_send_wqe(p->qp[0], ORNIC_WR_WRITE, ORNIC_WRF_SIGNALED | ORNIC_WRF_INLINE);
		w->hdr.length = cpu_to_le32(len);
		w->remote_addr = cpu_to_le64(p->dst[1]->iova + 3);
		w->remote_stag = cpu_to_le32(p->dst[1]->stag);
		for (i = 0; i < len; i++)
			((u8 *)w)[32 + i] = (u8)(len + i);
		tqp_ring(p->qp[0]);
		expect_cqe(p, p->cq[0][0], ORNIC_WR_WRITE, ORNIC_CQE_OK, len, 0);
		for (i = 0; i < len; i++) {
			u8 b;

			tmr_read(p->dst[1], 3 + i, &b, 1);
			assert_int_equal(b, (u8)(len + i));
		}
	}
	pair_free(p);
	printf("inline Writes of 0..%u bytes\n", RNIC_MAX_INLINE);
}

/* The four Sends: SE and Invalidate reach the peer's CQE. */
static void send_kinds(void **state)
{
	struct pair *p = pair_new(1500, 8192, NULL, NULL);
	u32 k;

	for (k = 0; k < 4; k++) {
		u8 flags = ORNIC_WRF_SIGNALED | (k & 1 ? ORNIC_WRF_SOLICITED : 0) |
			   (k & 2 ? ORNIC_WRF_INVALIDATE : 0);
		struct tmr *victim = tmr_new(&p->r->h[1], 100, ALL_ACC, PDN);
		struct ornic_sq_wqe_msg *w;
		struct ornic_cqe e;

		tqp_post_recv(p->qp[1], p->dst[1]->iova, 100, p->dst[1]->stag);
		w = tqp_send_wqe(p->qp[0], ORNIC_WR_SEND, flags);
		w->hdr.imm_stag = cpu_to_le32(k & 2 ? victim->stag : 0);
		tqp_sge(w, p->src[0]->iova, 10, p->src[0]->stag);
		tqp_ring(p->qp[0]);
		e = wait_cqe(p, p->cq[1][1]);
		assert_int_equal(e.status, ORNIC_CQE_OK);
		assert_int_equal(!!(le32_to_cpu(e.flags) & ORNIC_CQE_SOLICITED), k & 1);
		assert_int_equal(!!(le32_to_cpu(e.flags) & ORNIC_CQE_WITH_INV), k >> 1);
		assert_int_equal(le32_to_cpu(e.inv_stag), k & 2 ? victim->stag : 0);
		assert_int_equal(
			mr_check(&p->r->h[1].dev, victim->stag, PDN, victim->iova, 10, 0, false),
			k & 2 ? ORNIC_SYN_STAG_INVALID : ORNIC_SYN_NONE);
	}
	pair_free(p);
}

/* Depth x 3 with 1 in 8 signalled: slots are freed, no unsignalled success completes. */
static void unsignalled(void **state)
{
	struct pair *p = pair_new(1500, 8192, NULL, NULL);
	u32 i, got = 0;

	for (i = 0; i < 192; i++) {
		post_write(p, 0, 0, 0, 100, i % 8 == 7 ? ORNIC_WRF_SIGNALED : 0);
		if (i % 8 == 7 && i >= 31) {
			expect_cqe(p, p->cq[0][0], ORNIC_WR_WRITE, ORNIC_CQE_OK, got * 8 + 7, 0);
			got++;
		}
	}
	while (got < 24) {
		expect_cqe(p, p->cq[0][0], ORNIC_WR_WRITE, ORNIC_CQE_OK, got * 8 + 7, 0);
		got++;
	}
	rig_run_for(p->r, 500 * MS);
	assert_false(cq_has(p->cq[0][0]));
	pair_free(p);
}

static void sig_all(void **state)
{
	const struct tqp_cfg cfg = {.flags = ORNIC_QPF_SIG_ALL};
	struct pair *p = pair_new(1500, 8192, &cfg, NULL);
	u32 i;

	for (i = 0; i < 10; i++)
		post_write(p, 0, 0, 0, 10, 0);
	for (i = 0; i < 10; i++)
		expect_cqe(p, p->cq[0][0], ORNIC_WR_WRITE, ORNIC_CQE_OK, i, 0);
	pair_free(p);
}

/* No more Reads than ORD are ever on the wire, and a fence waits for them. */
static void ord_and_fence(void **state)
{
	const struct bind_cfg bind = {
		.role = ORNIC_ROLE_INITIATOR, .crc = true, .ird = 2, .ord = 2};
	struct pair *p = pair_new(1500, 200000, NULL, &bind);
	u32 i;

	tmr_fill(p->src[1], 0, 100000, 1);
	for (i = 0; i < 20; i++)
		post_read(p, 0, 0, 0, 100000, ORNIC_WRF_SIGNALED);
	post_write(p, 0, 0, 0, 10, ORNIC_WRF_SIGNALED | ORNIC_WRF_FENCE);
	while (!cq_has(p->cq[0][0])) {
		assert_true(rig_step(p->r));
		assert_true(le16_to_cpu(tqp_query(p->qp[0]).reads_out) <= 2);
		assert_true(le16_to_cpu(tqp_query(p->qp[1]).reads_in) <= 2);
	}
	for (i = 0; i < 20; i++) {
		assert_int_equal(p->r->h[1].dev.stats[ORNIC_STAT_IW_RX_WRITE], 0);
		expect_cqe(p, p->cq[0][0], ORNIC_WR_READ, ORNIC_CQE_OK, i, 100000);
	}
	expect_cqe(p, p->cq[0][0], ORNIC_WR_WRITE, ORNIC_CQE_OK, 20, 0);
	assert_true(tmr_check(p->dst[0], 0, 100000, 1, 0));
	pair_free(p);
}

/* Local operations of a privileged QP, in the order that a kernel ULP uses them. */
static void fast_register(void **state)
{
	const struct tqp_cfg cfg = {.flags = ORNIC_QPF_PRIVILEGED};
	struct pair *p = pair_new(1500, 70000, &cfg, NULL);
	struct tmr *fr = tmr_alloc_fast(&p->r->h[0], 16);
	u64 pbl = host_alloc(&p->r->h[0], 16 * 8, 8);
	u32 i, round;

	for (i = 0; i < 16; i++)
		put_le64(host_ptr(&p->r->h[0], pbl + i * 8), fr->pages[i]);
	for (round = 0; round < 3; round++) {
		struct ornic_sq_wqe_reg *w = (void *)tqp_send_wqe(p->qp[0], ORNIC_WR_REG_MR, 0);
		struct ornic_sq_wqe_msg *m;
		u32 stag = (fr->stag & ORNIC_STAG_INDEX) | round;

		w->iova = cpu_to_le64(fr->iova);
		w->length = cpu_to_le64(65536);
		w->pbl_addr = cpu_to_le64(pbl);
		w->stag = cpu_to_le32(stag);
		w->npages = cpu_to_le32(16);
		w->page_shift = 12;
		w->access = cpu_to_le16(ALL_ACC);
		tqp_ring(p->qp[0]);
		tmr_fill(p->src[1], 0, 65536, round);
		m = tqp_send_wqe(p->qp[0], ORNIC_WR_READ,
				 ORNIC_WRF_SIGNALED | (round ? ORNIC_WRF_INVALIDATE : 0));
		m->remote_addr = cpu_to_le64(p->src[1]->iova);
		m->remote_stag = cpu_to_le32(p->src[1]->stag);
		tqp_sge(m, fr->iova, 65536, stag);
		tqp_ring(p->qp[0]);
		if (!round) {
			m = tqp_send_wqe(p->qp[0], ORNIC_WR_LOCAL_INV,
					 ORNIC_WRF_SIGNALED | ORNIC_WRF_LOCAL_FENCE);
			m->hdr.imm_stag = cpu_to_le32(stag);
			tqp_ring(p->qp[0]);
		}
		expect_cqe(p, p->cq[0][0], ORNIC_WR_READ, ORNIC_CQE_OK, round ? 2 + round * 2 : 1,
			   65536);
		if (!round)
			expect_cqe(p, p->cq[0][0], ORNIC_WR_LOCAL_INV, ORNIC_CQE_OK, 2, 0);
		assert_true(tmr_check(fr, 0, 65536, round, 0));
		assert_int_equal(mr_check(&p->r->h[0].dev, stag, PDN, fr->iova, 1, 0, false),
				 ORNIC_SYN_STAG_INVALID);
	}
	pair_free(p);
}

/*
 * Write, then an unfenced LOCAL_INV of its source, over a link that loses much: a
 * retransmission must not find the memory gone.
 */
static void invalidate_behind_write(void **state)
{
	const struct tqp_cfg cfg = {.flags = ORNIC_QPF_PRIVILEGED};
	struct pair *p = pair_new(1500, 300000, &cfg, NULL);
	struct ornic_sq_wqe_msg *m;

	tmr_fill(p->src[0], 0, 300000, 1);
	p->r->loss = 6000;
	post_write(p, 0, 0, 0, 300000, ORNIC_WRF_SIGNALED);
	m = tqp_send_wqe(p->qp[0], ORNIC_WR_LOCAL_INV, ORNIC_WRF_SIGNALED);
	m->hdr.imm_stag = cpu_to_le32(p->src[0]->stag);
	tqp_ring(p->qp[0]);
	expect_cqe(p, p->cq[0][0], ORNIC_WR_WRITE, ORNIC_CQE_OK, 0, 0);
	expect_cqe(p, p->cq[0][0], ORNIC_WR_LOCAL_INV, ORNIC_CQE_OK, 1, 0);
	assert_true(tmr_check(p->dst[1], 0, 300000, 1, 0));
	assert_true(p->r->lost > 5);
	printf("%llu of %llu frames were lost\n", (unsigned long long)p->r->lost,
	       (unsigned long long)p->r->frames);
	pair_free(p);
}

/* The local DMA STag on a privileged QP: source and receive buffer, beside an MR. */
static void local_dma(void **state)
{
	const struct tqp_cfg cfg = {.flags = ORNIC_QPF_PRIVILEGED};
	struct pair *p = pair_new(1500, 8192, &cfg, NULL);
	u64 a = host_alloc(&p->r->h[0], 8192, 64), b = host_alloc(&p->r->h[1], 8192, 64);
	struct ornic_sq_wqe_msg *w;
	u32 i;

	for (i = 0; i < 5000; i++)
		((u8 *)host_ptr(&p->r->h[0], a))[i] = (u8)(i * 7);
	tmr_fill(p->src[0], 0, 100, 3);
	tqp_post_recv(p->qp[1], b, 8192, ORNIC_STAG_LOCAL_DMA);
	w = tqp_send_wqe(p->qp[0], ORNIC_WR_SEND, ORNIC_WRF_SIGNALED);
	tqp_sge(w, p->src[0]->iova, 100, p->src[0]->stag);
	tqp_sge(w, a, 5000, ORNIC_STAG_LOCAL_DMA);
	tqp_ring(p->qp[0]);
	expect_cqe(p, p->cq[1][1], ORNIC_CQE_RECV, ORNIC_CQE_OK, 0, 5100);
	assert_memory_equal((u8 *)host_ptr(&p->r->h[1], b) + 100, host_ptr(&p->r->h[0], a), 5000);
	pair_free(p);
}

/* ---- random mixes ---- */

#define SLOTS 32u
#define SLOT  40000u
#define RECVS 48u
/* Regions of a destination MR: sinks of Reads, targets of Writes, receives. */
#define SINK(s)	  ((u64)(s) * SLOT)
#define TARGET(s) ((u64)(SLOTS + (s)) * SLOT)
#define RECV(s)	  ((u64)(2 * SLOTS + (s)) * SLOT)
/* Regions of a source MR: own messages, what the peer reads. */
#define MINE(s)	 ((u64)(s) * SLOT)
#define YOURS(s) ((u64)(SLOTS + (s)) * SLOT)

struct op {
	u8 kind;
	u32 len, seed;
};

struct side {
	struct op ops[SLOTS];
	struct op sends[1024];
	u32 posted, done, sent, recvs;
};

static void mix_post(struct pair *p, struct side *side, int i)
{
	u32 s = side->posted % SLOTS, rnd = rig_random(p->r);
	struct op *op = &side->ops[s];

	op->kind = rnd % 3;
	op->len = rnd % 5 ? (rnd >> 8) % 3000 : (rnd >> 8) % SLOT;
	op->seed = side->posted * 2 + (u32)i + 100;
	if (op->kind == 1) {
		tmr_fill(p->src[!i], YOURS(s), op->len, op->seed);
		post_read(p, i, YOURS(s), SINK(s), op->len, ORNIC_WRF_SIGNALED);
	} else {
		tmr_fill(p->src[i], MINE(s), op->len, op->seed);
		if (op->kind == 0) {
			post_write(p, i, MINE(s), TARGET(s), op->len, ORNIC_WRF_SIGNALED);
		} else {
			side->sends[side->sent++] = *op;
			post_send(p, i, MINE(s), op->len, ORNIC_WRF_SIGNALED);
		}
	}
	side->posted++;
}

static void mix_reap(struct pair *p, struct side *side, int i)
{
	struct ornic_cqe e;

	while (tcq_poll(p->cq[i][0], &e)) {
		u32 s = side->done % SLOTS;
		struct op *op = &side->ops[s];

		assert_int_equal(e.status, ORNIC_CQE_OK);
		assert_int_equal(le32_to_cpu(e.wqe_index), side->done++);
		if (op->kind == 1)
			assert_true(tmr_check(p->dst[i], SINK(s), op->len, op->seed, 0));
		else if (op->kind == 0)
			assert_true(tmr_check(p->dst[!i], TARGET(s), op->len, op->seed, 0));
	}
}

static void mix_recv(struct pair *p, struct side *side, const struct side *peer, int i)
{
	struct ornic_cqe e;

	while (tcq_poll(p->cq[i][1], &e)) {
		const struct op *op = &peer->sends[side->recvs];
		u64 at = RECV(side->recvs % RECVS);

		assert_int_equal(e.status, ORNIC_CQE_OK);
		assert_int_equal(le32_to_cpu(e.wqe_index), side->recvs++);
		assert_int_equal(le32_to_cpu(e.byte_len), op->len);
		assert_true(tmr_check(p->dst[i], at, op->len, op->seed, 0));
		tqp_post_recv(p->qp[i], p->dst[i]->iova + at, SLOT, p->dst[i]->stag);
	}
}

static const struct bind_cfg mixed = {
	.role = ORNIC_ROLE_INITIATOR, .crc = true, .ird = 4, .ord = 4};

static void mix_run(struct pair *p, u32 loss, u32 seed, u32 count)
{
	struct side *side = rig_own(p->r, 2 * sizeof(*side));
	u32 k;
	int i;

	p->r->seed = seed;
	p->r->loss = loss;
	for (i = 0; i < 2; i++)
		for (k = 0; k < RECVS; k++)
			tqp_post_recv(p->qp[i], p->dst[i]->iova + RECV(k), SLOT, p->dst[i]->stag);
	while (side[0].done < count || side[1].done < count) {
		for (i = 0; i < 2; i++) {
			while (side[i].posted < count && side[i].posted - side[i].done < SLOTS &&
			       rig_random(p->r) % 3)
				mix_post(p, &side[i], i);
			mix_reap(p, &side[i], i);
			mix_recv(p, &side[i], &side[!i], i);
		}
		assert_true(rig_step(p->r));
		assert_true(p->r->now < 600ull * 1000 * MS);
	}
	assert_int_equal(side[0].recvs, side[1].sent);
	assert_int_equal(side[1].recvs, side[0].sent);
	assert_int_equal(p->r->h[0].dev.stats[ORNIC_STAT_IW_RX_CRC], 0);
	assert_int_equal(p->r->h[1].dev.stats[ORNIC_STAT_IW_RX_CRC], 0);
}

static struct pair *mix_new(u32 mtu, const struct bind_cfg *bind)
{
	return pair_new(mtu, (u64)(2 * SLOTS + RECVS) * SLOT, NULL, bind);
}

static void random_mix(u32 mtu, u32 loss, const struct bind_cfg *bind, u32 seed, u32 count)
{
	struct pair *p = mix_new(mtu, bind);

	mix_run(p, loss, seed, count);
	pair_free(p);
}

static void mix_clean(void **state)
{
	struct bind_cfg b = mixed;

	random_mix(1500, 0, &b, 1, 600);
	b.crc = false;
	random_mix(9000, 0, &b, 2, 600);
	printf("2 x 1200 mixed operations without loss\n");
}

static void mix_loss(void **state)
{
	u32 seed;

	for (seed = 1; seed <= 4; seed++)
		random_mix(seed & 1 ? 1500 : 9000, 655, &mixed, seed, 200);
	random_mix(1500, 3000, &mixed, 77, 150);
	printf("5 runs of mixed operations with 1 %% and 5 %% loss\n");
}

/* In either direction and in both, with and without CRCs; FPDUs that are sent again are alike. */
static void mix_markers(void **state)
{
	struct bind_cfg b = mixed;
	u32 i;

	for (i = 0; i < 6; i++) {
		b.tx_markers = i % 3 != 1;
		b.rx_markers = i % 3 != 0;
		b.crc = i < 3;
		random_mix(i & 1 ? 1500 : 9000, 0, &b, i, 200);
		random_mix(i & 1 ? 576 : 4000, 655, &b, i, 100);
	}
	printf("12 runs of mixed operations with markers, half of them with 1 %% loss\n");
}

/*
 * A path that drops what is longer than @hole and says nothing. FPDUs that were cut for a wide path
 * arrive in pieces, as they were; later ones are cut to the MULPDU of what gets through.
 */
static void mix_hole(void **state)
{
	static const u32 mtu[] = {9000, 1500, 4000}, hole[] = {1500, 1492, 1006};
	struct bind_cfg b = mixed;
	u32 i;
	int k;

	for (i = 0; i < 6; i++) {
		struct pair *p;

		b.crc = i & 1;
		b.tx_markers = i >= 3;
		b.rx_markers = i >= 3;
		p = mix_new(mtu[i % 3], &b);
		p->r->hole = hole[i % 3];
		mix_run(p, i == 5 ? 655 : 0, i + 1, 150);
		for (k = 0; k < 2; k++) {
			u32 emss = min(hole[i % 3], 1492u) - 52; /* with timestamps */

			assert_int_equal(tcp_emss(p->qp[k]->conn->c.tcp), emss);
			assert_int_equal(tcp_engine_stats(p->r->h[k].dev.tcp)->pmtu_holes, 1);
			assert_int_equal(le32_to_cpu(tqp_query(p->qp[k]).mulpdu),
					 mpa_mulpdu(emss, b.tx_markers));
		}
		pair_free(p);
	}
	printf("6 runs of mixed operations through a black hole, half of them with markers\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(write_sizes),
		cmocka_unit_test(read_sizes),
		cmocka_unit_test(send_sizes),
		cmocka_unit_test(many_sges),
		cmocka_unit_test(inline_sizes),
		cmocka_unit_test(send_kinds),
		cmocka_unit_test(unsignalled),
		cmocka_unit_test(sig_all),
		cmocka_unit_test(ord_and_fence),
		cmocka_unit_test(fast_register),
		cmocka_unit_test(invalidate_behind_write),
		cmocka_unit_test(local_dma),
		cmocka_unit_test(mix_clean),
		cmocka_unit_test(mix_loss),
		cmocka_unit_test(mix_markers),
		cmocka_unit_test(mix_hole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
