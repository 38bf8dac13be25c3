// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * OpenRNIC core driver: event queues.
 *
 * Completion EQs are served in hard interrupt context, a bounded batch at a time. The asynchronous
 * and the TCP EQ are served by work on one ordered workqueue, so that all events of the function
 * are handled one after the other and may sleep.
 */

#include <linux/pci.h>
#include <linux/slab.h>

#include "core.h"
#include "trace.h"

#define ORNIC_AEQ_SHIFT		8
#define ORNIC_TEQ_SHIFT		7
#define ORNIC_CEQ_SHIFT		12
#define ORNIC_CEQ_BATCH		128
#define ORNIC_ASYNC_BATCH	32

static void *ornic_eq_entry(struct ornic_eq *eq, u32 i)
{
	return eq->ring.va + ((i & (BIT(eq->shift) - 1)) << eq->entry_shift);
}

/* The next entry, or NULL. The phase is in the entry's last word, which the device stores last. */
static void *ornic_eq_next(struct ornic_eq *eq)
{
	void *entry = ornic_eq_entry(eq, eq->ci);
	__le32 *last = entry + BIT(eq->entry_shift) - sizeof(__le32);
	u32 flags = le32_to_cpu(READ_ONCE(*last));

	if (!!(flags & ORNIC_EQE_PHASE) != ornic_phase(eq->ci, eq->shift))
		return NULL;
	dma_rmb();
	return entry;
}

static void ornic_eq_tell(struct ornic_eq *eq, bool arm)
{
	/* Entries and data slots were read before the device gets them back: writeq() orders. */
	eq->told = eq->ci;
	ornic_ring_db(&eq->od->core, ORNIC_DB_EQ_ARM, eq->eqn, arm ? ORNIC_DB_FLAG_ARM : 0, eq->ci);
}

/*
 * The next entry shall interrupt. With a record that takes no doorbell, but for one each half
 * depth: a device that found the EQ full waits for it.
 *
 * Return: false: an entry came before the device could know
 */
static bool ornic_ceq_arm(struct ornic_eq *eq)
{
	if (!eq->rec) {
		ornic_eq_tell(eq, true);
		return true;
	}
	if (eq->ci - eq->told >= BIT(eq->shift - 1))
		ornic_eq_tell(eq, false);
	/* The entries were read before the device may overwrite them. */
	dma_mb();
	WRITE_ONCE(eq->rec->ci, cpu_to_le32(eq->ci));
	/* Pairs with the device's, between its store of an entry and its load of the index. */
	mb();

	return !ornic_eq_next(eq);
}

/**
 * ornic_ceq_irq() - serve a completion EQ
 * @eq: the EQ
 *
 * When the batch is full the EQ is armed by a doorbell: entries that wait interrupt at once.
 *
 * Context: Any context.
 */
void ornic_ceq_irq(struct ornic_eq *eq)
{
	const struct ornic_ceqe *ceqe;
	unsigned long flags;
	u32 batch = 0;

	spin_lock_irqsave(&eq->lock, flags);
	while (eq->live && batch < ORNIC_CEQ_BATCH) {
		ceqe = ornic_eq_next(eq);
		if (!ceqe && ornic_ceq_arm(eq))
			break;
		if (!ceqe)
			continue;
		ornic_rdma_comp_event(eq->od, le32_to_cpu(ceqe->cqn) & 0xffffff);
		eq->ci++;
		batch++;
	}
	if (eq->live && batch == ORNIC_CEQ_BATCH)
		ornic_eq_tell(eq, true);
	spin_unlock_irqrestore(&eq->lock, flags);
}

/**
 * ornic_async_irq() - the vector of the asynchronous and the TCP EQ
 * @od: the function
 *
 * Context: Any context.
 */
void ornic_async_irq(struct ornic_dev *od)
{
	queue_work(od->wq, &od->aeq.work);
	queue_work(od->wq, &od->teq.work);
}

static void ornic_async_fatal(struct ornic_dev *od, u32 cause)
{
	dev_err(ornic_device(od), "device reports a fatal error, cause %u\n", cause);
	ornic_dev_fail(od, ORNIC_RESET_FATAL);
}

static void ornic_aeq_event(struct ornic_dev *od, const struct ornic_aeqe *aeqe)
{
	trace_ornic_async_event(od, aeqe);
	switch (aeqe->type) {
	case ORNIC_ASYNC_LINK:
		ornic_net_link(od);
		ornic_rdma_link_event(od, netif_carrier_ok(od->core.netdev));
		break;
	case ORNIC_ASYNC_FATAL:
		ornic_async_fatal(od, le32_to_cpu(aeqe->info));
		break;
	case ORNIC_ASYNC_QP_FATAL:
	case ORNIC_ASYNC_QP_REQ_ERR:
	case ORNIC_ASYNC_QP_ACCESS_ERR:
	case ORNIC_ASYNC_CQ_ERROR:
	case ORNIC_ASYNC_SRQ_LIMIT:
	case ORNIC_ASYNC_SRQ_ERROR:
	case ORNIC_ASYNC_QP_LAST_WQE:
		ornic_rdma_async_event(od, aeqe);
		break;
	default:
		dev_warn_ratelimited(ornic_device(od), "asynchronous event of unknown type %u\n",
				     aeqe->type);
	}
}

static bool ornic_eq_usable(struct ornic_eq *eq)
{
	return READ_ONCE(eq->live) && test_bit(ORNIC_S_RUNNING, &eq->od->state);
}

static void ornic_aeq_work(struct work_struct *work)
{
	struct ornic_eq *eq = container_of(work, struct ornic_eq, work);
	const struct ornic_aeqe *entry;
	struct ornic_aeqe aeqe;
	u32 batch;

	for (batch = 0; batch < ORNIC_ASYNC_BATCH && ornic_eq_usable(eq); batch++) {
		entry = ornic_eq_next(eq);
		if (!entry)
			break;
		/* A copy: what was checked must be what is used, the device may be hostile. */
		aeqe = *entry;
		eq->ci++;
		ornic_aeq_event(eq->od, &aeqe);
	}
	if (ornic_eq_usable(eq))
		ornic_eq_tell(eq, true);
}

static void ornic_teq_work(struct work_struct *work)
{
	struct ornic_eq *eq = container_of(work, struct ornic_eq, work);
	struct ornic_dev *od = eq->od;
	const struct ornic_teqe *entry;
	struct ornic_teqe teqe;
	u32 batch, slot;

	WRITE_ONCE(od->teq_task, current);
	ornic_tcp_round_begin(od);
	for (batch = 0; batch < ORNIC_ASYNC_BATCH && ornic_eq_usable(eq); batch++) {
		entry = ornic_eq_next(eq);
		if (!entry)
			break;
		/* Copies, as above. */
		teqe = *entry;
		if (le16_to_cpu(teqe.data_len) > ORNIC_TEQ_SLOT_SIZE)
			teqe.data_len = cpu_to_le16(ORNIC_TEQ_SLOT_SIZE);
		trace_ornic_tcp_event(od, &teqe);
		slot = eq->ci & (BIT(eq->shift) - 1);
		memcpy(eq->copy, eq->data.va + slot * ORNIC_TEQ_SLOT_SIZE,
		       le16_to_cpu(teqe.data_len));
		ornic_tcp_event(od, &teqe, eq->copy);
		eq->ci++;
	}
	if (ornic_eq_usable(eq)) {
		ornic_tcp_round_end(od, batch < ORNIC_ASYNC_BATCH);
		ornic_eq_tell(eq, true);
	}
	WRITE_ONCE(od->teq_task, NULL);
}

/**
 * ornic_conn_sync() - wait until the events of connections that the device has reported are told
 * @core: the function
 *
 * What a peer sent may have reached a consumer by its completion queue before the event function
 * of its connection has run.
 *
 * Context: Process context, sleeps. The caller holds no lock that the event function takes; in the
 * event function itself it does nothing.
 */
void ornic_conn_sync(struct ornic_core *core)
{
	struct ornic_dev *od = ornic_dev_of(core);
	u32 rounds = BIT(od->teq.shift) / ORNIC_ASYNC_BATCH + 1;

	if (READ_ONCE(od->teq_task) == current)
		return;
	do {
		queue_work(od->wq, &od->teq.work);
		flush_work(&od->teq.work);
	} while (--rounds && ornic_eq_usable(&od->teq) && ornic_eq_next(&od->teq));
}
EXPORT_SYMBOL_GPL(ornic_conn_sync);

static int ornic_eq_alloc(struct ornic_dev *od, struct ornic_eq *eq, u8 shift, size_t entry)
{
	size_t size = entry << shift;
	bool rec = eq->kind == ORNIC_EQ_COMP && (od->core.limits.caps & ORNIC_CAP_ARM_REC);
	int rc;

	eq->od = od;
	eq->entry_shift = ilog2(entry);
	eq->shift = shift;
	spin_lock_init(&eq->lock);
	rc = ornic_qbuf_alloc(&od->core, &eq->ring,
			      size + (rec ? sizeof(struct ornic_queue_rec) : 0));
	if (!rc && rec)
		eq->rec = eq->ring.va + size;
	if (rc || eq->kind != ORNIC_EQ_TCP)
		return rc;
	eq->copy = kmalloc(ORNIC_TEQ_SLOT_SIZE, GFP_KERNEL);
	if (!eq->copy)
		return -ENOMEM;
	return ornic_qbuf_alloc(&od->core, &eq->data, BIT(shift) * ORNIC_TEQ_SLOT_SIZE);
}

/**
 * ornic_eqs_alloc() - memory of all event queues, kept from probe to remove
 * @od: the function, with attr and core.num_comp_vectors
 *
 * Context: Process context, may sleep.
 * Return: 0 or -ENOMEM; ornic_eqs_free() is needed in either case
 */
int ornic_eqs_alloc(struct ornic_dev *od)
{
	u8 max = od->attr.max_eq_shift;
	u32 i;
	int rc;

	od->aeq.eqn = ORNIC_EQN_ASYNC;
	od->aeq.kind = ORNIC_EQ_ASYNC;
	od->aeq.vector = ORNIC_VEC_ASYNC;
	INIT_WORK(&od->aeq.work, ornic_aeq_work);
	od->teq.eqn = ORNIC_EQN_TCP;
	od->teq.kind = ORNIC_EQ_TCP;
	od->teq.vector = ORNIC_VEC_ASYNC;
	INIT_WORK(&od->teq.work, ornic_teq_work);

	rc = ornic_eq_alloc(od, &od->aeq, min_t(u8, ORNIC_AEQ_SHIFT, max),
			    sizeof(struct ornic_aeqe));
	if (!rc)
		rc = ornic_eq_alloc(od, &od->teq, min_t(u8, ORNIC_TEQ_SHIFT, max),
				    sizeof(struct ornic_teqe));
	for (i = 0; !rc && i < od->core.num_comp_vectors; i++) {
		od->ceqs[i].eqn = ORNIC_EQN_COMP + i;
		od->ceqs[i].kind = ORNIC_EQ_COMP;
		od->ceqs[i].vector = ORNIC_VEC_ETH + od->num_eth + i;
		rc = ornic_eq_alloc(od, &od->ceqs[i], min_t(u8, ORNIC_CEQ_SHIFT, max),
				    sizeof(struct ornic_ceqe));
	}
	return rc;
}

/**
 * ornic_eqs_free() - give the memory back; the device is quiet and the EQs stopped
 * @od: the function
 *
 * Context: Process context.
 */
void ornic_eqs_free(struct ornic_dev *od)
{
	u32 i;

	ornic_qbuf_free(&od->core, &od->aeq.ring);
	ornic_qbuf_free(&od->core, &od->teq.ring);
	ornic_qbuf_free(&od->core, &od->teq.data);
	kfree(od->teq.copy);
	for (i = 0; i < ORNIC_MAX_COMP_VECTORS; i++)
		ornic_qbuf_free(&od->core, &od->ceqs[i].ring);
}

static int ornic_eq_start(struct ornic_eq *eq)
{
	struct ornic_cmd_create_eq cmd = {
		.hdr.opcode = cpu_to_le16(ORNIC_CMD_CREATE_EQ),
		.eqn = cpu_to_le32(eq->eqn),
		.kind = eq->kind,
		.depth_shift = eq->shift,
		.vector = cpu_to_le16(eq->vector),
	};
	int rc;

	memset(eq->ring.va, 0, eq->ring.size);
	ornic_qbuf_describe(&eq->ring, &cmd.ring);
	if (eq->rec)
		cmd.rec_off = cpu_to_le32((void *)eq->rec - eq->ring.va);
	if (eq->kind == ORNIC_EQ_TCP)
		ornic_qbuf_describe(&eq->data, &cmd.data);
	rc = ornic_cmd_exec(&eq->od->core, &cmd, NULL);
	if (rc) {
		dev_err(ornic_device(eq->od), "event queue %u: %d\n", eq->eqn, rc);
		return rc;
	}
	spin_lock_irq(&eq->lock);
	eq->ci = 0;
	eq->idle_ci = 0;
	WRITE_ONCE(eq->live, true);
	ornic_eq_tell(eq, true);
	spin_unlock_irq(&eq->lock);
	return 0;
}

/**
 * ornic_eqs_start() - create and arm all event queues
 * @od: the function, commands are taken
 *
 * Context: Process context, sleeps.
 * Return: 0 or as ornic_cmd_exec(); on error the device must be reset
 */
int ornic_eqs_start(struct ornic_dev *od)
{
	u32 i;
	int rc;

	rc = ornic_eq_start(&od->aeq);
	if (!rc)
		rc = ornic_eq_start(&od->teq);
	for (i = 0; !rc && i < od->core.num_comp_vectors; i++)
		rc = ornic_eq_start(&od->ceqs[i]);
	return rc;
}

static void ornic_eq_stop(struct ornic_eq *eq)
{
	if (!eq->od)
		return;
	spin_lock_irq(&eq->lock);
	WRITE_ONCE(eq->live, false);
	spin_unlock_irq(&eq->lock);
}

/**
 * ornic_eqs_stop() - no event is served any more when it returns
 * @od: the function; the device is quiet. Must not be called from an event
 *
 * Context: Process context, sleeps.
 */
void ornic_eqs_stop(struct ornic_dev *od)
{
	u32 i;

	for (i = 0; i < od->core.num_comp_vectors; i++)
		ornic_eq_stop(&od->ceqs[i]);
	ornic_eq_stop(&od->aeq);
	ornic_eq_stop(&od->teq);
	if (od->aeq.od)
		cancel_work_sync(&od->aeq.work);
	if (od->teq.od)
		cancel_work_sync(&od->teq.work);
}

/* An entry that was there at the last look and is still not served: its interrupt was lost. */
static bool ornic_eq_stuck(struct ornic_eq *eq)
{
	bool stuck = false;

	if (!ornic_eq_usable(eq))
		return false;
	spin_lock_irq(&eq->lock);
	if (ornic_eq_next(eq) && eq->idle_ci == eq->ci)
		stuck = true;
	/* An empty queue must not look stuck the moment its next entry comes. */
	eq->idle_ci = ornic_eq_next(eq) ? eq->ci : eq->ci - 1;
	spin_unlock_irq(&eq->lock);
	if (stuck)
		dev_warn_ratelimited(ornic_device(eq->od), "event queue %u: lost interrupt\n",
				     eq->eqn);
	return stuck;
}

/**
 * ornic_eqs_watch() - serve event queues whose interrupt was lost
 * @od: the function
 *
 * Context: Process context, now and then.
 */
void ornic_eqs_watch(struct ornic_dev *od)
{
	u32 i;

	for (i = 0; i < od->core.num_comp_vectors; i++)
		if (ornic_eq_stuck(&od->ceqs[i]))
			ornic_ceq_irq(&od->ceqs[i]);
	/* A handler that sleeps in a command is not a lost interrupt. */
	if (!work_busy(&od->aeq.work) && ornic_eq_stuck(&od->aeq))
		queue_work(od->wq, &od->aeq.work);
	if (!work_busy(&od->teq.work) && ornic_eq_stuck(&od->teq))
		queue_work(od->wq, &od->teq.work);
}

/**
 * ornic_comp_eqn() - EQ of a completion vector
 * @core: the function
 * @vector: taken modulo core->num_comp_vectors
 *
 * Context: Any context.
 * Return: EQ number for CREATE_CQ
 */
u32 ornic_comp_eqn(struct ornic_core *core, u32 vector)
{
	return ORNIC_EQN_COMP + vector % core->num_comp_vectors;
}
EXPORT_SYMBOL_GPL(ornic_comp_eqn);
