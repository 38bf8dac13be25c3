// SPDX-License-Identifier: GPL-2.0-or-later
/* Event queues: phase, interrupts, room, and events that wait for it. Flushed receives make the
 * completions. */
#include "drv.h"

#define EQN 2
#define N   24 /* CQs, each with a QP; the EQ has 16 entries */

static struct drv *d;
static struct drv_eq eq;
static struct drv_cq cq[N];
static struct drv_qp qp[N];

static void start(u32 n)
{
	u32 i;

	d = drv_plain();
	eq = drv_eq_new(d, EQN, ORNIC_EQ_COMP, 4);
	for (i = 0; i < n; i++) {
		cq[i] = drv_cq_new(d, i + 1, EQN, 4, 0);
		qp[i] = drv_qp_new(d, i + 1, 1, i + 1, i + 1, 0, 0);
	}
}

static void to_error(u32 i)
{
	union drv_cmd c = drv_cmd(ORNIC_CMD_MODIFY_QP);

	c.modify_qp.qpn = cpu_to_le32(i + 1);
	c.modify_qp.mask = cpu_to_le32(ORNIC_MODQP_STATE);
	c.modify_qp.state = ORNIC_QPS_ERROR;
	drv_do(d, &c);
}

/* One completion in CQ @i. */
static void complete(u32 i)
{
	drv_rq_wqe(d, &qp[i]);
	drv_rq_ring(d, &qp[i]);
	drv_flush(d);
}

static void expect_event(u32 cqn)
{
	struct ornic_ceqe e;

	if (!drv_eq_next(d, &eq, &e, NULL, 1000))
		test_fail(__FILE__, __LINE__, "no event of CQ %u", cqn);
	CHECK_EQ(le32_to_cpu(e.cqn), cqn);
}

static void expect_none(void)
{
	struct ornic_ceqe e;

	CHECK(!drv_eq_next(d, &eq, &e, NULL, 20));
}

static void no_arm_no_event(void)
{
	start(1);
	to_error(0);
	complete(0);
	expect_none();
	/* A completion is there already: the arm fires at once. */
	drv_cq_arm(d, &cq[0], false);
	expect_event(1);
	/* Once. */
	complete(0);
	expect_none();
}

static void arm_sequence(void)
{
	struct ornic_cqe cqe;

	start(1);
	to_error(0);
	drv_cq_arm(d, &cq[0], false);
	drv_cq_arm(d, &cq[0], false);
	complete(0);
	expect_event(1);
	/* The event was not taken yet when this arm was rung: stale. */
	drv_cq_arm(d, &cq[0], false);
	expect_none();
	cq[0].arm_seq++;
	CHECK(drv_cq_next(d, &cq[0], &cqe, 1000));
	drv_cq_arm(d, &cq[0], false);
	expect_none();
	complete(0);
	expect_event(1);
	cq[0].arm_seq++;
	/* With a failed completion not yet taken a solicited arm fires too. */
	drv_cq_arm(d, &cq[0], true);
	expect_event(1);
}

static void irq_rules(void)
{
	start(1);
	to_error(0);
	drv_cq_arm(d, &cq[0], false);
	complete(0);
	/* Created unarmed. */
	CHECK_EQ(vc_msix_wait(d->c, eq.vector, 30), 0);
	/* Armed with an index behind: at once. */
	drv_eq_arm(d, &eq, true);
	CHECK_EQ(vc_msix_wait(d->c, eq.vector, 1000), 1);
	expect_event(1);
	drv_eq_arm(d, &eq, true);
	drv_flush(d);
	CHECK_EQ(vc_msix_wait(d->c, eq.vector, 30), 0);
	cq[0].arm_seq++;
	drv_cq_arm(d, &cq[0], false);
	CHECK_EQ(vc_msix_wait(d->c, eq.vector, 1000), 1);
	expect_event(1);
	/* The arm is used up. */
	cq[0].arm_seq++;
	drv_cq_arm(d, &cq[0], false);
	expect_event(1);
	CHECK_EQ(vc_msix_wait(d->c, eq.vector, 30), 0);
	/* Index only: no interrupt. */
	drv_eq_arm(d, &eq, false);
	drv_flush(d);
	CHECK_EQ(vc_msix_wait(d->c, eq.vector, 30), 0);
}

/* ---- arming by records ---- */

/* The queue record of @cq. */
static struct ornic_queue_rec *cq_rec(struct drv_cq *c)
{
	return drv_ptr(d, c->mem, sizeof(struct ornic_queue_rec));
}

/* As the host does when it arms: the record, no doorbell. */
static void record_arm(struct drv_cq *c, u64 flags)
{
	__atomic_store_n(
		&cq_rec(c)->arm,
		cpu_to_le64(drv_db(c->cqn,
				   flags | ORNIC_ARM_VALID |
					   FIELD_PREP(ORNIC_DB_ARM_SEQ, (u64)(c->arm_seq & 3)),
				   c->ci)),
		__ATOMIC_SEQ_CST);
}

static void cq_record(void)
{
	start(1);
	to_error(0);
	record_arm(&cq[0], 0);
	expect_none();
	complete(0);
	expect_event(1);
	/* The record still holds that arm, which has had its event. */
	complete(0);
	expect_none();
	/* An arm without the mark is none. */
	cq[0].arm_seq++;
	record_arm(&cq[0], 0);
	cq_rec(&cq[0])->arm &= ~cpu_to_le64(ORNIC_ARM_VALID);
	complete(0);
	expect_none();
	/* Flushed ones fire a solicited arm. */
	record_arm(&cq[0], ORNIC_DB_FLAG_SOLICITED);
	complete(0);
	expect_event(1);
	/* A doorbell and the record ask for the same event. */
	cq[0].arm_seq++;
	cq[0].ci = 4;
	record_arm(&cq[0], 0);
	drv_cq_arm(d, &cq[0], false);
	complete(0);
	expect_event(1);
	complete(0);
	expect_none();
}

/* Flags and an index that no doorbell may have are no arm; the CQ lives on. */
static void cq_record_bad(void)
{
	start(1);
	to_error(0);
	cq_rec(&cq[0])->arm = cpu_to_le64(drv_db(1, ORNIC_ARM_VALID | 1u << 28, 0));
	complete(0);
	expect_none();
	cq_rec(&cq[0])->arm = cpu_to_le64(drv_db(1, ORNIC_ARM_VALID, 100));
	complete(0);
	expect_none();
	record_arm(&cq[0], 0);
	complete(0);
	expect_event(1);
}

/* An EQ of 16 entries with a record behind them. */
static struct ornic_queue_rec *eq_with_record(u32 n)
{
	union drv_cmd c = drv_cmd(ORNIC_CMD_CREATE_EQ);
	u32 i;

	d = drv_plain();
	eq = (struct drv_eq){
		.eqn = EQN, .kind = ORNIC_EQ_COMP, .shift = 4, .entry_shift = 4, .vector = 1};
	eq.ring = drv_alloc(d, 4096);
	c.eq.eqn = cpu_to_le32(EQN);
	c.eq.depth_shift = 4;
	c.eq.vector = cpu_to_le16(1);
	c.eq.ring = drv_qmem(eq.ring, 4096);
	c.eq.rec_off = cpu_to_le32(256);
	drv_do(d, &c);
	for (i = 0; i < n; i++) {
		cq[i] = drv_cq_new(d, i + 1, EQN, 4, 0);
		qp[i] = drv_qp_new(d, i + 1, 1, i + 1, i + 1, 0, 0);
		to_error(i);
	}
	return drv_ptr(d, eq.ring + 256, sizeof(struct ornic_queue_rec));
}

static void event(u32 i)
{
	record_arm(&cq[i], 0);
	complete(i);
	cq[i].arm_seq++;
}

static void eq_record(void)
{
	struct ornic_queue_rec *rec = eq_with_record(1);

	/* The first entry is the one that the record waits for. */
	event(0);
	CHECK_EQ(vc_msix_wait(d->c, eq.vector, 1000), 1);
	expect_event(1);
	/* Taken, but the record does not say so: no interrupt. */
	event(0);
	CHECK_EQ(vc_msix_wait(d->c, eq.vector, 30), 0);
	expect_event(1);
	__atomic_store_n(&rec->ci, cpu_to_le32(eq.ci), __ATOMIC_SEQ_CST);
	event(0);
	CHECK_EQ(vc_msix_wait(d->c, eq.vector, 1000), 1);
	expect_event(1);
	/* An index beyond what was written is not one. */
	__atomic_store_n(&rec->ci, cpu_to_le32(eq.ci + 5), __ATOMIC_SEQ_CST);
	event(0);
	CHECK_EQ(vc_msix_wait(d->c, eq.vector, 30), 0);
	expect_event(1);
	/* The doorbell still arms. */
	drv_eq_arm(d, &eq, true);
	drv_flush(d);
	event(0);
	CHECK_EQ(vc_msix_wait(d->c, eq.vector, 1000), 1);
}

/* The record makes room as a doorbell does; an EQ that was full waits for a doorbell. */
static void eq_record_room(void)
{
	struct ornic_queue_rec *rec = eq_with_record(N);
	u32 i;

	for (i = 0; i < 16; i++)
		event(i);
	for (i = 0; i < 8; i++)
		expect_event(i + 1);
	__atomic_store_n(&rec->ci, cpu_to_le32(eq.ci), __ATOMIC_SEQ_CST);
	for (i = 16; i < N; i++)
		event(i);
	CHECK_EQ(drv_stat(d, ORNIC_STAT_EQ_FULL), 0);
	event(0);
	CHECK_EQ(drv_stat(d, ORNIC_STAT_EQ_FULL), 1);
	for (i = 8; i < N; i++)
		expect_event(i + 1);
	expect_none();
	/* A doorbell that comes after the record told more is no mistake. */
	__atomic_store_n(&rec->ci, cpu_to_le32(eq.ci), __ATOMIC_SEQ_CST);
	drv_eq_arm(d, &eq, false);
	expect_event(1);
	event(1);
	drv_doorbell(d, 0, ORNIC_DB_EQ_ARM, drv_db(EQN, 0, eq.ci - 3));
	CHECK_EQ(drv_reg(d, ORNIC_REG_DB_REFUSED), 0);
	expect_event(2);
}

/* 24 events for 16 entries: the others wait, and come in order when there is room. */
static void full(void)
{
	u32 i;

	start(N);
	for (i = 0; i < N; i++) {
		to_error(i);
		drv_cq_arm(d, &cq[i], false);
		complete(i);
	}
	CHECK_EQ(drv_stat(d, ORNIC_STAT_EQ_FULL), N - 16);
	for (i = 0; i < 16; i++)
		expect_event(i + 1);
	expect_none();
	/* Room for three. */
	drv_doorbell(d, 0, ORNIC_DB_EQ_ARM, drv_db(EQN, ORNIC_DB_FLAG_ARM, 3));
	CHECK_EQ(vc_msix_wait(d->c, eq.vector, 1000), 1);
	for (i = 16; i < 19; i++)
		expect_event(i + 1);
	expect_none();
	drv_eq_arm(d, &eq, false);
	for (i = 19; i < N; i++)
		expect_event(i + 1);
	expect_none();
}

/* Who waits and goes is not heard of; the others are. */
static void destroy_waiting(void)
{
	u32 i;

	start(20);
	for (i = 0; i < 20; i++) {
		to_error(i);
		drv_cq_arm(d, &cq[i], false);
		complete(i);
	}
	CHECK_EQ(drv_number(d, ORNIC_CMD_DESTROY_QP, 18), 0);
	CHECK_EQ(drv_number(d, ORNIC_CMD_DESTROY_CQ, 18), 0);
	for (i = 0; i < 16; i++)
		expect_event(i + 1);
	drv_eq_arm(d, &eq, false);
	expect_event(17);
	expect_event(19);
	expect_event(20);
	expect_none();
	/* A CQ of that number anew has no event of its own yet. */
	cq[17] = drv_cq_new(d, 18, EQN, 4, 0);
	drv_cq_arm(d, &cq[17], false);
	expect_none();
}

/* Many rounds through the ring: the phase is right in each. */
static void wrap(void)
{
	struct ornic_cqe cqe;
	u32 i;

	start(1);
	to_error(0);
	for (i = 0; i < 100; i++) {
		drv_cq_arm(d, &cq[0], false);
		complete(0);
		expect_event(1);
		cq[0].arm_seq++;
		CHECK(drv_cq_next(d, &cq[0], &cqe, 1000));
		CHECK_EQ(le32_to_cpu(cqe.wqe_index), i);
		if (i % 3 == 2)
			drv_eq_arm(d, &eq, false);
	}
}

static void cq_overflow(void)
{
	struct drv_eq async;
	struct ornic_aeqe e;
	u32 i;

	d = drv_plain();
	async = drv_eq_new(d, 0, ORNIC_EQ_ASYNC, 4);
	eq = drv_eq_new(d, EQN, ORNIC_EQ_COMP, 4);
	cq[0] = drv_cq_new(d, 1, EQN, 2, 0);
	qp[0] = drv_qp_new(d, 1, 1, 1, 1, 0, 0);
	to_error(0);
	for (i = 0; i < 4; i++)
		complete(0);
	CHECK(!drv_eq_next(d, &async, &e, NULL, 20));
	complete(0);
	CHECK(drv_eq_next(d, &async, &e, NULL, 1000));
	CHECK_EQ(e.type, ORNIC_ASYNC_CQ_ERROR);
	CHECK_EQ(le32_to_cpu(e.number), 1);
	CHECK_EQ(le16_to_cpu(e.syndrome), ORNIC_SYN_CQ_OVERFLOW);
	CHECK_EQ(drv_stat(d, ORNIC_STAT_IW_CQ_OVERFLOW), 1);
	complete(0);
	CHECK(!drv_eq_next(d, &async, &e, NULL, 20));
	CHECK_EQ(drv_number(d, ORNIC_CMD_DESTROY_QP, 1), 0);
	CHECK_EQ(drv_number(d, ORNIC_CMD_DESTROY_CQ, 1), 0);
}

/* EQ memory that cannot be reached stops the device. */
static void bad_memory(void)
{
	union drv_cmd c = drv_cmd(ORNIC_CMD_CREATE_EQ);

	d = drv_plain();
	c.eq.eqn = cpu_to_le32(EQN);
	c.eq.depth_shift = 4;
	c.eq.ring = drv_qmem(0x7000000000, 4096);
	drv_do(d, &c);
	cq[0] = drv_cq_new(d, 1, EQN, 4, 0);
	qp[0] = drv_qp_new(d, 1, 1, 1, 1, 0, 0);
	to_error(0);
	drv_cq_arm(d, &cq[0], false);
	complete(0);
	CHECK(drv_reg(d, ORNIC_REG_STATUS) & ORNIC_STATUS_FATAL);
	CHECK_EQ(drv_reg(d, ORNIC_REG_FATAL), ORNIC_FATAL_DMA);
}

/* A CQ is armed through its own page only. */
static void arm_owner(void)
{
	u32 n;

	start(0);
	cq[0] = drv_cq_new(d, 1, EQN, 4, 3);
	qp[0] = drv_qp_new(d, 1, 1, 1, 1, 0, 3);
	to_error(0);
	complete(0);
	CHECK_EQ(drv_reg(d, ORNIC_REG_DB_REFUSED), 0);
	cq[0].page = 2;
	drv_cq_arm(d, &cq[0], false);
	qp[0].page = 0;
	complete(0);
	CHECK_EQ(drv_reg(d, ORNIC_REG_DB_REFUSED), 2);
	expect_none();
	/* Consumer index ahead of what was written. */
	n = drv_reg(d, ORNIC_REG_DB_REFUSED);
	drv_doorbell(d, 3, ORNIC_DB_CQ_ARM, drv_db(1, 0, 100));
	CHECK_EQ(drv_reg(d, ORNIC_REG_DB_REFUSED), n + 1);
	cq[0].page = 3;
	drv_cq_arm(d, &cq[0], false);
	expect_event(1);
}

static const struct test tests[] = {
	{"no_arm_no_event", no_arm_no_event},
	{"arm_sequence", arm_sequence},
	{"irq_rules", irq_rules},
	{"cq_record", cq_record},
	{"cq_record_bad", cq_record_bad},
	{"eq_record", eq_record},
	{"eq_record_room", eq_record_room},
	{"full", full},
	{"destroy_waiting", destroy_waiting},
	{"wrap", wrap},
	{"cq_overflow", cq_overflow},
	{"bad_memory", bad_memory},
	{"arm_owner", arm_owner},
};

int main(int argc, char **argv)
{
	return test_main(argc, argv, tests, ARRAY_SIZE(tests));
}
