// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * OpenRNIC core driver: command queue.
 *
 * The answer is kept in the slot, never written to a waiter's stack. A command that is not answered
 * in time stops the device before its waiter is told, so that the waiter may free the memory that
 * the command named; its slot stays taken until a late answer or the reset.
 */

#include <linux/dma-mapping.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "core.h"
#include "trace.h"

#define ORNIC_CMD_TIMEOUT	(15 * HZ)
#define ORNIC_CMD_FIRST_LOOK	(HZ / 4)	/* then look without an interrupt */
#define ORNIC_CMD_NEXT_LOOK	HZ

#define ORNIC_CMD_ID_SLOT	GENMASK(15, 0)
#define ORNIC_CMD_ID_GEN	GENMASK(31, 16)

static const int ornic_cmd_errno[] = {
	[ORNIC_CMDS_OK] = 0,
	[ORNIC_CMDS_OPCODE] = -EOPNOTSUPP,
	[ORNIC_CMDS_FIELD] = -EINVAL,
	[ORNIC_CMDS_NUMBER] = -EINVAL,
	[ORNIC_CMDS_EXISTS] = -EEXIST,
	[ORNIC_CMDS_NOT_FOUND] = -ENOENT,
	[ORNIC_CMDS_BUSY] = -EBUSY,
	[ORNIC_CMDS_STATE] = -EINVAL,
	[ORNIC_CMDS_NO_MEMORY] = -ENOMEM,
	[ORNIC_CMDS_NO_RESOURCE] = -ENOSPC,
	[ORNIC_CMDS_ADDRESS] = -EFAULT,
	[ORNIC_CMDS_ADDR_IN_USE] = -EADDRINUSE,
	[ORNIC_CMDS_EARLY_DATA] = -EPROTO,
	[ORNIC_CMDS_GONE] = -ECONNRESET,
	[ORNIC_CMDS_AGAIN] = -EAGAIN,
	[ORNIC_CMDS_INTERNAL] = -EIO,
};

static int ornic_cmd_status_errno(u16 status)
{
	return status < ARRAY_SIZE(ornic_cmd_errno) ? ornic_cmd_errno[status] : -EIO;
}

/**
 * ornic_cmdq_alloc() - memory of the rings, kept from probe to remove
 * @od: the function
 *
 * Context: Process context, may sleep.
 * Return: 0 or -ENOMEM
 */
int ornic_cmdq_alloc(struct ornic_dev *od)
{
	struct ornic_cmdq *q = &od->cmdq;
	struct device *dev = ornic_device(od);
	u32 i;

	spin_lock_init(&q->lock);
	init_waitqueue_head(&q->room);
	for (i = 0; i < ORNIC_CMDQ_DEPTH; i++)
		init_completion(&q->slots[i].done);

	q->sq = dma_alloc_coherent(dev, ORNIC_CMDQ_DEPTH * ORNIC_CMD_SIZE, &q->sq_dma, GFP_KERNEL);
	if (!q->sq)
		return -ENOMEM;
	q->cq = dma_alloc_coherent(dev, ORNIC_CMDQ_DEPTH * sizeof(*q->cq), &q->cq_dma, GFP_KERNEL);
	if (!q->cq) {
		ornic_cmdq_free(od);
		return -ENOMEM;
	}
	return 0;
}

/**
 * ornic_cmdq_free() - give the memory back; the device is quiet
 * @od: the function
 *
 * Context: Process context.
 */
void ornic_cmdq_free(struct ornic_dev *od)
{
	struct ornic_cmdq *q = &od->cmdq;
	struct device *dev = ornic_device(od);

	if (q->sq)
		dma_free_coherent(dev, ORNIC_CMDQ_DEPTH * ORNIC_CMD_SIZE, q->sq, q->sq_dma);
	if (q->cq)
		dma_free_coherent(dev, ORNIC_CMDQ_DEPTH * sizeof(*q->cq), q->cq, q->cq_dma);
	q->sq = NULL;
	q->cq = NULL;
}

/**
 * ornic_cmdq_prepare() - empty the queue and tell the device where it is
 * @od: the function; its device was reset and not yet enabled, no command runs
 *
 * Slots leaked before the reset are free again: the reset has ended all that could still have been
 * written.
 *
 * Context: Process context.
 */
void ornic_cmdq_prepare(struct ornic_dev *od)
{
	struct ornic_cmdq *q = &od->cmdq;
	u32 i;

	spin_lock_irq(&q->lock);
	memset(q->cq, 0, ORNIC_CMDQ_DEPTH * sizeof(*q->cq));
	q->tail = 0;
	q->ci = 0;
	for (i = 0; i < ORNIC_CMDQ_DEPTH; i++) {
		if (q->slots[i].state != ORNIC_SLOT_LEAKED)
			continue;
		q->slots[i].state = ORNIC_SLOT_FREE;
		__clear_bit(i, q->used);
	}
	spin_unlock_irq(&q->lock);

	ornic_write(od, ORNIC_REG_CMDQ_SQ_LO, lower_32_bits(q->sq_dma));
	ornic_write(od, ORNIC_REG_CMDQ_SQ_HI, upper_32_bits(q->sq_dma));
	ornic_write(od, ORNIC_REG_CMDQ_CQ_LO, lower_32_bits(q->cq_dma));
	ornic_write(od, ORNIC_REG_CMDQ_CQ_HI, upper_32_bits(q->cq_dma));
	ornic_write(od, ORNIC_REG_CMDQ_CFG, FIELD_PREP(ORNIC_CMDQ_CFG_DEPTH, ORNIC_CMDQ_SHIFT) |
					    FIELD_PREP(ORNIC_CMDQ_CFG_VECTOR, ORNIC_VEC_CMDQ));
}

static void ornic_slot_release(struct ornic_cmdq *q, struct ornic_cmd_slot *slot)
{
	slot->state = ORNIC_SLOT_FREE;
	__clear_bit(slot - q->slots, q->used);
	wake_up(&q->room);
}

static void ornic_cmdq_answer(struct ornic_dev *od, const struct ornic_cmd_cqe *cqe)
{
	struct ornic_cmdq *q = &od->cmdq;
	u32 id = le32_to_cpu(cqe->id);
	struct device *dev = ornic_device(od);
	struct ornic_cmd_slot *slot;
	u32 i, n;

	n = FIELD_GET(ORNIC_CMD_ID_SLOT, id);
	slot = n < ORNIC_CMDQ_DEPTH ? &q->slots[n] : NULL;
	if (!slot || slot->gen != FIELD_GET(ORNIC_CMD_ID_GEN, id)) {
		dev_warn_ratelimited(dev, "answer to unknown command %#x dropped\n", id);
		return;
	}
	if (slot->state == ORNIC_SLOT_LEAKED) {
		dev_info(dev, "late answer to command %#x\n", slot->opcode);
		ornic_slot_release(q, slot);
		return;
	}
	if (slot->state != ORNIC_SLOT_PENDING) {
		dev_warn_ratelimited(dev, "second answer to command %#x dropped\n", id);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(slot->result.result); i++)
		slot->result.result[i] = le64_to_cpu(cqe->result[i]);
	slot->result.status = le16_to_cpu(cqe->status);
	slot->result.syndrome = le16_to_cpu(cqe->syndrome);
	slot->state = ORNIC_SLOT_DONE;
	complete(&slot->done);
}

static void ornic_cmdq_reap(struct ornic_dev *od)
{
	struct ornic_cmdq *q = &od->cmdq;
	const struct ornic_cmd_cqe *cqe;
	u32 flags, budget;

	for (budget = ORNIC_CMDQ_DEPTH; budget; budget--) {
		cqe = &q->cq[q->ci & (ORNIC_CMDQ_DEPTH - 1)];
		flags = le32_to_cpu(READ_ONCE(cqe->flags));
		if (!!(flags & ORNIC_CMD_CQE_PHASE) != ornic_phase(q->ci, ORNIC_CMDQ_SHIFT))
			break;
		/* The phase is the last word that the device stores. */
		dma_rmb();
		ornic_cmdq_answer(od, cqe);
		q->ci++;
	}
}

/**
 * ornic_cmdq_irq() - take what the device has answered
 * @od: the function
 *
 * Context: Any context.
 */
void ornic_cmdq_irq(struct ornic_dev *od)
{
	unsigned long flags;

	spin_lock_irqsave(&od->cmdq.lock, flags);
	if (test_bit(ORNIC_S_RUNNING, &od->state))
		ornic_cmdq_reap(od);
	spin_unlock_irqrestore(&od->cmdq.lock, flags);
}

/**
 * ornic_cmdq_abort() - wake all who wait for an answer; they get -EIO
 * @od: the function; ORNIC_S_RUNNING is clear and the device quiet
 *
 * Context: Any context.
 */
void ornic_cmdq_abort(struct ornic_dev *od)
{
	struct ornic_cmdq *q = &od->cmdq;
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&q->lock, flags);
	for (i = 0; i < ORNIC_CMDQ_DEPTH; i++) {
		if (q->slots[i].state != ORNIC_SLOT_PENDING)
			continue;
		q->slots[i].state = ORNIC_SLOT_ABORTED;
		complete(&q->slots[i].done);
	}
	spin_unlock_irqrestore(&q->lock, flags);
	wake_up_all(&q->room);
}

/* Under the lock: take slot @n and give the command to the device. */
static void ornic_cmdq_post(struct ornic_dev *od, union ornic_cmd *cmd, u32 n)
{
	struct ornic_cmdq *q = &od->cmdq;
	struct ornic_cmd_slot *slot = &q->slots[n];

	__set_bit(n, q->used);
	slot->gen++;
	slot->state = ORNIC_SLOT_PENDING;
	slot->opcode = le16_to_cpu(cmd->hdr.opcode);
	memset(&slot->result, 0, sizeof(slot->result));
	reinit_completion(&slot->done);

	cmd->hdr.id = cpu_to_le32(FIELD_PREP(ORNIC_CMD_ID_SLOT, n) |
				  FIELD_PREP(ORNIC_CMD_ID_GEN, slot->gen));
	memcpy(q->sq + (q->tail & (ORNIC_CMDQ_DEPTH - 1)) * ORNIC_CMD_SIZE, cmd, ORNIC_CMD_SIZE);
	q->tail++;
	/* writel() orders the command before the doorbell. */
	ornic_write(od, ORNIC_REG_CMDQ_TAIL, q->tail);
}

/* False: no slot is free. True: @n is the slot, or -EIO. */
static bool ornic_cmdq_submit(struct ornic_dev *od, union ornic_cmd *cmd, int *n)
{
	struct ornic_cmdq *q = &od->cmdq;
	bool done = true;
	u32 free;

	spin_lock_irq(&q->lock);
	free = find_first_zero_bit(q->used, ORNIC_CMDQ_DEPTH);
	if (!test_bit(ORNIC_S_RUNNING, &od->state)) {
		*n = -EIO;
	} else if (free < ORNIC_CMDQ_DEPTH) {
		ornic_cmdq_post(od, cmd, free);
		*n = free;
	} else {
		done = false;
	}
	spin_unlock_irq(&q->lock);
	return done;
}

/* True when the slot was answered after all: it is the interrupt that is missing. */
static bool ornic_cmdq_look(struct ornic_dev *od, struct ornic_cmd_slot *slot)
{
	struct ornic_cmdq *q = &od->cmdq;
	bool found = false;

	spin_lock_irq(&q->lock);
	if (slot->state == ORNIC_SLOT_PENDING && test_bit(ORNIC_S_RUNNING, &od->state)) {
		ornic_cmdq_reap(od);
		found = slot->state == ORNIC_SLOT_DONE;
		q->missed_irqs += found;
	}
	spin_unlock_irq(&q->lock);

	if (found)
		dev_warn_ratelimited(ornic_device(od),
				     "command %#x was answered without an interrupt\n",
				     slot->opcode);
	return found;
}

/* Leave the slot to a late answer. False when the answer came in the meantime. */
static bool ornic_cmdq_leak(struct ornic_dev *od, struct ornic_cmd_slot *slot)
{
	struct ornic_cmdq *q = &od->cmdq;
	bool leaked;

	spin_lock_irq(&q->lock);
	leaked = slot->state == ORNIC_SLOT_PENDING;
	if (leaked)
		slot->state = ORNIC_SLOT_LEAKED;
	spin_unlock_irq(&q->lock);
	return leaked;
}

/* 0: the slot is DONE or ABORTED. */
static int ornic_cmdq_wait(struct ornic_dev *od, struct ornic_cmd_slot *slot)
{
	unsigned long deadline = jiffies + ORNIC_CMD_TIMEOUT;
	unsigned long step = ORNIC_CMD_FIRST_LOOK;

	while (!wait_for_completion_timeout(&slot->done, step)) {
		if (ornic_cmdq_look(od, slot))
			break;
		step = ORNIC_CMD_NEXT_LOOK;
		/* A dead device aborts this slot, too. */
		if (!ornic_dev_check(od))
			continue;
		if (time_before(jiffies, deadline))
			continue;
		if (!ornic_cmdq_leak(od, slot))
			break;
		dev_err(ornic_device(od), "device never answered command %#x (heartbeat %u)\n",
			slot->opcode, ornic_read(od, ORNIC_REG_HEARTBEAT));
		ornic_dev_fail(od, ORNIC_RESET_CMD_TIMEOUT);
		return -ETIMEDOUT;
	}
	return 0;
}

static int ornic_cmdq_finish(struct ornic_dev *od, struct ornic_cmd_slot *slot,
			     struct ornic_cmd_result *res)
{
	struct ornic_cmdq *q = &od->cmdq;
	struct ornic_cmd_result result;
	bool aborted;
	u16 opcode;
	int rc;

	spin_lock_irq(&q->lock);
	aborted = slot->state == ORNIC_SLOT_ABORTED;
	result = slot->result;
	opcode = slot->opcode;
	ornic_slot_release(q, slot);
	spin_unlock_irq(&q->lock);

	if (aborted)
		return -EIO;
	*res = result;
	rc = ornic_cmd_status_errno(result.status);
	if (rc)
		dev_dbg(ornic_device(od), "command %#x: status %u, syndrome %u, errno %d\n",
			opcode, result.status, result.syndrome, rc);
	return rc;
}

/**
 * ornic_cmd_exec() - have the device execute a command and wait for its answer
 * @core: the function
 * @cmd: any struct ornic_cmd_*, 128 bytes, hdr.opcode and hdr.data set; hdr.id is written
 * @res: the answer, zero when there was none; may be NULL
 *
 * When it returns, whatever the result, the device does not access memory that the command named
 * beyond what the command itself established.
 *
 * Context: Process context, sleeps; bounded by 15 seconds a command.
 * Return: 0; an errno by the status (see enum ornic_cmd_status); -EIO: the device is dead, being
 *         reset or gone; -ETIMEDOUT: it did not answer and was stopped, a reset follows
 */
int ornic_cmd_exec(struct ornic_core *core, void *cmd, struct ornic_cmd_result *res)
{
	struct ornic_dev *od = ornic_dev_of(core);
	struct ornic_cmdq *q = &od->cmdq;
	const struct ornic_cmd_hdr *hdr = cmd;
	struct ornic_cmd_result unused;
	u64 start = ktime_get_ns();
	struct ornic_cmd_slot *slot;
	int n, rc;

	might_sleep();
	if (!res)
		res = &unused;
	memset(res, 0, sizeof(*res));
	if (!wait_event_timeout(q->room, ornic_cmdq_submit(od, cmd, &n), ORNIC_CMD_TIMEOUT))
		return -ETIMEDOUT;
	if (n < 0) {
		ornic_dev_wait_quiet(od);
		return n;
	}
	slot = &q->slots[n];
	rc = ornic_cmdq_wait(od, slot);
	if (!rc)
		rc = ornic_cmdq_finish(od, slot, res);
	trace_ornic_cmd(od, le16_to_cpu(hdr->opcode), res, rc, ktime_get_ns() - start);
	return rc;
}
EXPORT_SYMBOL_GPL(ornic_cmd_exec);

/**
 * ornic_cmd_number() - command that has only a number, struct ornic_cmd_number
 * @od: the function
 * @opcode: enum ornic_cmd_opcode
 * @number: the object
 * @res: as in ornic_cmd_exec()
 *
 * Context: Process context, sleeps.
 * Return: as ornic_cmd_exec()
 */
int ornic_cmd_number(struct ornic_dev *od, u16 opcode, u32 number, struct ornic_cmd_result *res)
{
	struct ornic_cmd_number cmd = {
		.hdr.opcode = cpu_to_le16(opcode),
		.number = cpu_to_le32(number),
	};

	return ornic_cmd_exec(&od->core, &cmd, res);
}

/**
 * ornic_cmd_exec_buf() - command with a data buffer
 * @od: the function
 * @cmd: as in ornic_cmd_exec(), hdr.data is written
 * @buf: kernel memory of any kind, the data go through a bounce buffer
 * @len: bytes; 0 gives hdr.data = 0
 * @dir: DMA_TO_DEVICE: @buf is sent; DMA_FROM_DEVICE: @buf is filled if the command succeeds
 * @res: as in ornic_cmd_exec()
 *
 * Context: Process context, sleeps.
 * Return: as ornic_cmd_exec(), and -ENOMEM
 */
int ornic_cmd_exec_buf(struct ornic_dev *od, void *cmd, void *buf, size_t len,
		       enum dma_data_direction dir, struct ornic_cmd_result *res)
{
	struct device *dev = ornic_device(od);
	struct ornic_cmd_hdr *hdr = cmd;
	dma_addr_t dma;
	void *bounce;
	int rc;

	if (!len)
		return ornic_cmd_exec(&od->core, cmd, res);
	bounce = dir == DMA_TO_DEVICE ? kmemdup(buf, len, GFP_KERNEL) : kzalloc(len, GFP_KERNEL);
	if (!bounce)
		return -ENOMEM;
	dma = dma_map_single(dev, bounce, len, dir);
	if (dma_mapping_error(dev, dma)) {
		kfree(bounce);
		return -ENOMEM;
	}
	hdr->data = cpu_to_le64(dma);
	rc = ornic_cmd_exec(&od->core, cmd, res);
	dma_unmap_single(dev, dma, len, dir);
	if (!rc && dir == DMA_FROM_DEVICE)
		memcpy(buf, bounce, len);
	kfree(bounce);
	return rc;
}
