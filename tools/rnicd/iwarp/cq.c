// SPDX-License-Identifier: GPL-2.0-or-later
/* Completion queues. */
#include <stdlib.h>

#include "iwarp/internal.h"

struct iw_cq *iw_cq_find(struct rnic *dev, u32 cqn)
{
	return cqn < RNIC_MAX_CQ ? dev->iw->cq[cqn] : NULL;
}

static bool ranges_overlap(u64 a, u64 a_len, u64 b, u64 b_len)
{
	return a < b + b_len && b < a + a_len;
}

static struct cmd_ret cq_check(struct rnic *dev, const struct ornic_cmd_create_cq *c)
{
	u32 cqn = le32_to_cpu(c->cqn), rec = le32_to_cpu(c->rec_off),
	    ring = le32_to_cpu(c->ring_off);

	if (!cqn || cqn >= RNIC_MAX_CQ)
		return CMD_BAD(NUMBER, struct ornic_cmd_create_cq, cqn);
	if (dev->iw->cq[cqn])
		return CMD_BAD(EXISTS, struct ornic_cmd_create_cq, cqn);
	if (le32_to_cpu(c->eqn) >= RNIC_MAX_EQ)
		return CMD_BAD(NUMBER, struct ornic_cmd_create_cq, eqn);
	if (!eq_is_comp(dev, le32_to_cpu(c->eqn)))
		return CMD_BAD(NOT_FOUND, struct ornic_cmd_create_cq, eqn);
	if (le32_to_cpu(c->db_page) >= dev->cfg.db_pages)
		return CMD_BAD(NUMBER, struct ornic_cmd_create_cq, db_page);
	if (c->depth_shift < 1 || c->depth_shift > RNIC_MAX_CQ_SHIFT)
		return CMD_BAD(FIELD, struct ornic_cmd_create_cq, depth_shift);
	if (!IS_ALIGNED(ring, 64u))
		return CMD_BAD(FIELD, struct ornic_cmd_create_cq, ring_off);
	if (!IS_ALIGNED(rec, ORNIC_QUEUE_REC_ALIGN) ||
	    ranges_overlap(ring, sizeof(struct ornic_cqe) << c->depth_shift, rec,
			   sizeof(struct ornic_queue_rec)))
		return CMD_BAD(FIELD, struct ornic_cmd_create_cq, rec_off);
	return CMD_OK;
}

struct cmd_ret iw_cmd_create_cq(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_create_cq *c = cmd;
	struct cmd_ret ret = cq_check(dev, c);
	struct iw_cq *cq;
	u64 need;

	if (ret.status)
		return ret;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return cmd_ret(ORNIC_CMDS_NO_MEMORY, 0);
	cq->dev = dev;
	cq->cqn = le32_to_cpu(c->cqn);
	cq->eqn = le32_to_cpu(c->eqn);
	cq->db_page = le32_to_cpu(c->db_page);
	cq->shift = c->depth_shift;
	cq->ring_off = le32_to_cpu(c->ring_off);
	cq->rec_off = le32_to_cpu(c->rec_off);
	cq->fired_seq = -1;
	list_init(&cq->err_node);
	need = max(cq->ring_off + ((u64)sizeof(struct ornic_cqe) << cq->shift),
		   cq->rec_off + (u64)sizeof(struct ornic_queue_rec));
	ret = qmem_init(dev, &cq->mem, &c->mem, need, offsetof(struct ornic_cmd_create_cq, mem));
	if (ret.status) {
		free(cq);
		return ret;
	}
	eq_get(dev, cq->eqn);
	dev->iw->cq[cq->cqn] = cq;
	return CMD_OK;
}

void iw_cq_free(struct iw_cq *cq)
{
	struct rnic *dev = cq->dev;

	list_del(&cq->err_node);
	eq_wait_cancel(&cq->comp_wait);
	eq_wait_cancel(&cq->err_wait);
	eq_put(dev, cq->eqn);
	qmem_free(dev, &cq->mem);
	dev->iw->cq[cq->cqn] = NULL;
	free(cq);
}

struct cmd_ret iw_cmd_destroy_cq(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_number *c = cmd;
	u32 cqn = le32_to_cpu(c->number);
	struct iw_cq *cq = iw_cq_find(dev, cqn);

	if (!cqn || cqn >= RNIC_MAX_CQ)
		return CMD_BAD(NUMBER, struct ornic_cmd_number, number);
	if (!cq)
		return CMD_BAD(NOT_FOUND, struct ornic_cmd_number, number);
	if (cq->refs)
		return cmd_ret(ORNIC_CMDS_BUSY, 0);
	iw_cq_free(cq);
	return CMD_OK;
}

/*
 * The QPs of the CQ go to ERROR in the next iw_run(), not here: the caller is in
 * the middle of one of them.
 */
static void cq_fail(struct iw_cq *cq, u16 syndrome)
{
	struct ornic_aeqe ev = {
		.type = ORNIC_ASYNC_CQ_ERROR,
		.syndrome = cpu_to_le16(syndrome),
		.number = cpu_to_le32(cq->cqn),
	};

	cq->error = true;
	cq->armed = false;
	if (syndrome == ORNIC_SYN_CQ_OVERFLOW)
		iw_stat(cq->dev, ORNIC_STAT_IW_CQ_OVERFLOW);
	list_del(&cq->err_node);
	list_add_tail(&cq->err_node, &cq->dev->iw->cq_errors);
	eq_async_event(cq->dev, &ev, &cq->err_wait);
}

/* The record is read only when the ring looks full with what is known. */
static bool cq_has_room(struct iw_cq *cq)
{
	u32 depth = 1u << cq->shift;

	if (cq->pi - cq->ci < depth)
		return true;
	if (qmem_load32(cq->dev, &cq->mem, cq->rec_off + offsetof(struct ornic_queue_rec, ci),
			&cq->ci)) {
		cq_fail(cq, ORNIC_SYN_DMA);
		return false;
	}
	if (cq->pi - cq->ci < depth)
		return true;
	cq_fail(cq, ORNIC_SYN_CQ_OVERFLOW);
	return false;
}

static void cq_fire(struct iw_cq *cq)
{
	cq->armed = false;
	cq->fired_seq = (s8)cq->armed_seq;
	eq_comp_event(cq->dev, cq->eqn, cq->cqn, &cq->comp_wait);
}

/*
 * The host may have armed the CQ in its record. Pairs with the host's barrier between its store of
 * the arm and its look for another CQE.
 */
static void cq_look(struct iw_cq *cq)
{
	u64 arm;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (qmem_load64(cq->dev, &cq->mem, cq->rec_off + offsetof(struct ornic_queue_rec, arm),
			&arm))
		cq_fail(cq, ORNIC_SYN_DMA);
	else if (arm & ORNIC_ARM_VALID)
		iw_cq_arm(cq, arm & ~ORNIC_ARM_VALID);
}

void iw_cq_write(struct iw_cq *cq, struct ornic_cqe *cqe)
{
	u32 depth = 1u << cq->shift, flags = le32_to_cpu(cqe->flags);
	struct ornic_cqe *slot;
	bool solicited;

	if (cq->error || !cq_has_room(cq))
		return;
	slot = qmem_ptr(cq->dev, &cq->mem,
			cq->ring_off + (u64)(cq->pi & (depth - 1)) * sizeof(*slot), sizeof(*slot),
			DMA_PROT_WRITE);
	if (!slot) {
		cq_fail(cq, ORNIC_SYN_DMA);
		return;
	}
	/* Failures wake those who wait for solicited completions too, as verbs have it. */
	solicited = (flags & ORNIC_CQE_SOLICITED) || cqe->status != ORNIC_CQE_OK;
	if (!(cq->pi >> cq->shift & 1))
		flags |= ORNIC_CQE_PHASE;
	memcpy(slot, cqe, offsetof(struct ornic_cqe, flags));
	__atomic_store_n((u32 *)&slot->flags, (u32)cpu_to_le32(flags), __ATOMIC_RELEASE);
	if (solicited) {
		cq->last_solicited = cq->pi;
		cq->any_solicited = true;
	}
	cq->pi++;
	if (cq->armed && (solicited || !cq->armed_solicited))
		cq_fire(cq);
	else
		cq_look(cq);
}

/* Is there something beyond @ci that an arm would have fired for? */
static bool cq_missed(const struct iw_cq *cq, u32 ci, bool solicited)
{
	u32 behind = cq->pi - ci;

	if (!solicited)
		return behind;
	/* 1..behind: the newest solicited one is among those beyond @ci. */
	return cq->any_solicited && cq->pi - cq->last_solicited <= behind;
}

bool iw_cq_arm(struct iw_cq *cq, u64 val)
{
	u32 ci = (u32)FIELD_GET(ORNIC_DB_INDEX, val);
	u8 seq = (u8)FIELD_GET(ORNIC_DB_ARM_SEQ, val);
	bool solicited = val & ORNIC_DB_FLAG_SOLICITED;

	if (val & GENMASK_ULL(31, 27))
		return false;
	/* Neither ahead of us nor farther behind than the ring is long: not a consumer index. */
	if (cq->pi - ci > 1u << cq->shift)
		return false;
	if (cq->error)
		return true;
	/* An arm that was answered by an event already: a doorbell may be stored twice, or late. */
	if (cq->fired_seq == (s8)seq)
		return true;
	/* A consumer that waits for any completion is not made to wait for a solicited one. */
	cq->armed_solicited = solicited && !(cq->armed && !cq->armed_solicited);
	cq->armed_seq = seq;
	cq->armed = true;
	if (cq_missed(cq, ci, cq->armed_solicited))
		cq_fire(cq);
	return true;
}
