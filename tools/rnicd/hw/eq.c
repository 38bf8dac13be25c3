// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "hw/eq.h"

#define EQ_MIN_SHIFT 4

/**
 * struct eq - event queue
 * @waiting: struct eq_src that found it full, oldest first
 * @pi: entries written
 * @ci: entries that the host has taken
 * @rec_off: of the record that arms it, in @ring; 0: doorbells arm it
 * @refs: CQs that name it
 */
struct eq {
	u32 eqn;
	u8 kind;
	u8 shift;
	u8 entry_shift;
	bool armed;
	u16 vector;
	u32 pi;
	u32 ci;
	u32 refs;
	u32 rec_off;
	struct qmem ring;
	struct qmem data;
	struct list_head waiting;
};

struct eq_table {
	struct eq *eq[RNIC_MAX_EQ];
	struct eq *async;
	struct eq *tcp;
	struct eq_wait fatal;
	struct eq_wait link;
};

static const u8 eq_entry_shift[] = {
	[ORNIC_EQ_COMP] = 4,
	[ORNIC_EQ_ASYNC] = 5,
	[ORNIC_EQ_TCP] = 6,
};

int eq_table_init(struct rnic *dev)
{
	dev->eqs = calloc(1, sizeof(*dev->eqs));
	return dev->eqs ? 0 : -ENOMEM;
}

static void eq_delete(struct rnic *dev, struct eq *eq)
{
	while (!list_empty(&eq->waiting))
		list_del(eq->waiting.next);
	if (dev->eqs->async == eq)
		dev->eqs->async = NULL;
	if (dev->eqs->tcp == eq)
		dev->eqs->tcp = NULL;
	dev->eqs->eq[eq->eqn] = NULL;
	qmem_free(dev, &eq->ring);
	qmem_free(dev, &eq->data);
	free(eq);
}

void eq_reset(struct rnic *dev)
{
	u32 i;

	for (i = 0; i < RNIC_MAX_EQ; i++)
		if (dev->eqs->eq[i])
			eq_delete(dev, dev->eqs->eq[i]);
}

void eq_table_free(struct rnic *dev)
{
	if (!dev->eqs)
		return;
	eq_reset(dev);
	free(dev->eqs);
	dev->eqs = NULL;
}

static struct eq *eq_find(struct rnic *dev, u32 eqn)
{
	return eqn < RNIC_MAX_EQ ? dev->eqs->eq[eqn] : NULL;
}

bool eq_is_comp(struct rnic *dev, u32 eqn)
{
	struct eq *eq = eq_find(dev, eqn);

	return eq && eq->kind == ORNIC_EQ_COMP;
}

void eq_get(struct rnic *dev, u32 eqn)
{
	eq_find(dev, eqn)->refs++;
}

void eq_put(struct rnic *dev, u32 eqn)
{
	eq_find(dev, eqn)->refs--;
}

struct eq *eq_tcp(struct rnic *dev)
{
	return dev->eqs->tcp;
}

/* ---- writing entries ---- */

static u32 eq_room(const struct eq *eq)
{
	return (1u << eq->shift) - (eq->pi - eq->ci);
}

bool eq_has_room(struct eq *eq)
{
	return eq_room(eq) && list_empty(&eq->waiting);
}

void eq_fire(struct rnic *dev, struct eq *eq)
{
	if (!eq->armed || eq->pi == eq->ci)
		return;
	eq->armed = false;
	rnic_irq(dev, eq->vector);
}

/*
 * The record's index is how far the host has taken entries, and which entry it waits for. Pairs
 * with the host's barrier between its store of the index and its look for another entry.
 */
static void eq_look(struct rnic *dev, struct eq *eq)
{
	u32 ci;

	if (!eq->rec_off)
		return;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (qmem_load32(dev, &eq->ring, eq->rec_off + offsetof(struct ornic_queue_rec, ci), &ci)) {
		rnic_fatal(dev, ORNIC_FATAL_DMA);
		return;
	}
	if (ci - eq->ci > eq->pi - eq->ci)
		return;
	eq->ci = ci;
	if (ci == eq->pi - 1)
		eq->armed = true;
}

/* The entry's last word carries the phase and goes last; the others must be visible before it. */
static void eq_write(struct rnic *dev, struct eq *eq, const void *entry)
{
	u32 size = 1u << eq->entry_shift, mask = (1u << eq->shift) - 1;
	u64 off = (u64)(eq->pi & mask) << eq->entry_shift;
	u32 phase = eq->pi >> eq->shift & 1 ? 0 : ORNIC_EQE_PHASE;

	if (qmem_write(dev, &eq->ring, off, entry, size - 4) ||
	    qmem_store32(dev, &eq->ring, off + size - 4, phase)) {
		rnic_fatal(dev, ORNIC_FATAL_DMA);
		return;
	}
	eq->pi++;
	eq_look(dev, eq);
}

void eq_put_tcp(struct rnic *dev, struct eq *eq, struct ornic_teqe *ev, const void *data, u32 len)
{
	u64 slot = eq->pi & ((1u << eq->shift) - 1);

	ev->data_len = cpu_to_le16(len);
	if (len && qmem_write(dev, &eq->data, slot << ORNIC_TEQ_SLOT_SHIFT, data, len)) {
		rnic_fatal(dev, ORNIC_FATAL_DMA);
		return;
	}
	eq_write(dev, eq, ev);
}

/* The record may know of more than the last doorbell did. */
static bool eq_make_room(struct rnic *dev, struct eq *eq)
{
	if (!eq_room(eq))
		eq_look(dev, eq);
	return eq_room(eq);
}

/* Lets @src write while there is room. True: it has nothing left, or the device has stopped. */
static bool eq_emit(struct rnic *dev, struct eq *eq, struct eq_src *src)
{
	bool more = true;

	while (more && eq_make_room(dev, eq) && rnic_ready(dev))
		more = src->emit(dev, eq, src);
	return !more;
}

void eq_kick(struct rnic *dev, struct eq *eq, struct eq_src *src)
{
	if (!rnic_ready(dev) || eq_src_waits(src))
		return;
	if (!list_empty(&eq->waiting) || !eq_emit(dev, eq, src)) {
		list_add_tail(&src->node, &eq->waiting);
		dev->stats[ORNIC_STAT_EQ_FULL]++;
	}
	eq_fire(dev, eq);
}

/* The host made room: those that waited come first, in their order. */
static void eq_resume(struct rnic *dev, struct eq *eq)
{
	struct eq_src *src;

	while (!list_empty(&eq->waiting) && eq_room(eq) && rnic_ready(dev)) {
		src = list_first_entry(&eq->waiting, struct eq_src, node);
		list_del(&src->node);
		if (!eq_emit(dev, eq, src))
			list_add(&src->node, &eq->waiting);
	}
}

void eq_src_cancel(struct eq_src *src)
{
	if (src->node.next)
		list_del(&src->node);
}

/* ---- completion and asynchronous events ---- */

static bool eq_emit_comp(struct rnic *dev, struct eq *eq, struct eq_src *src)
{
	struct eq_wait *w = container_of(src, struct eq_wait, src);
	struct ornic_ceqe ceqe = {.cqn = cpu_to_le32(w->cqn)};

	eq_write(dev, eq, &ceqe);
	return false;
}

static bool eq_emit_async(struct rnic *dev, struct eq *eq, struct eq_src *src)
{
	struct eq_wait *w = container_of(src, struct eq_wait, src);

	eq_write(dev, eq, &w->aeqe);
	return false;
}

void eq_comp_event(struct rnic *dev, u32 eqn, u32 cqn, struct eq_wait *w)
{
	struct eq *eq = eq_find(dev, eqn);

	if (!eq || eq_src_waits(&w->src))
		return;
	w->cqn = cqn;
	w->src.emit = eq_emit_comp;
	eq_kick(dev, eq, &w->src);
}

void eq_async_event(struct rnic *dev, const struct ornic_aeqe *ev, struct eq_wait *w)
{
	struct eq *eq = dev->eqs->async;

	if (!eq || eq_src_waits(&w->src))
		return;
	w->aeqe = *ev;
	w->src.emit = eq_emit_async;
	eq_kick(dev, eq, &w->src);
}

void eq_device_event(struct rnic *dev, enum ornic_async_type type, u32 info)
{
	struct eq_wait *w = type == ORNIC_ASYNC_FATAL ? &dev->eqs->fatal : &dev->eqs->link;
	struct ornic_aeqe ev = {.type = (u8)type, .info = cpu_to_le32(info)};

	if (eq_src_waits(&w->src))
		w->aeqe = ev;
	else
		eq_async_event(dev, &ev, w);
}

void eq_wait_cancel(struct eq_wait *w)
{
	eq_src_cancel(&w->src);
}

/* ---- commands and doorbell ---- */

static bool eq_rec_ok(const struct ornic_cmd_create_eq *c)
{
	u32 off = le32_to_cpu(c->rec_off);

	if (!off)
		return true;
	return c->kind == ORNIC_EQ_COMP && IS_ALIGNED(off, ORNIC_QUEUE_REC_ALIGN) &&
	       off >= 1u << (c->depth_shift + eq_entry_shift[ORNIC_EQ_COMP]);
}

static struct cmd_ret eq_check_create(struct rnic *dev, const struct ornic_cmd_create_eq *c)
{
	static const struct ornic_qmem none;
	u32 eqn = le32_to_cpu(c->eqn);

	if (eqn >= RNIC_MAX_EQ)
		return CMD_BAD(NUMBER, struct ornic_cmd_create_eq, eqn);
	if (c->kind > ORNIC_EQ_TCP)
		return CMD_BAD(FIELD, struct ornic_cmd_create_eq, kind);
	if (c->depth_shift < EQ_MIN_SHIFT || c->depth_shift > RNIC_MAX_EQ_SHIFT)
		return CMD_BAD(FIELD, struct ornic_cmd_create_eq, depth_shift);
	if (le16_to_cpu(c->vector) >= RNIC_VECTORS)
		return CMD_BAD(NUMBER, struct ornic_cmd_create_eq, vector);
	if (c->kind != ORNIC_EQ_TCP && memcmp(&c->data, &none, sizeof(none)))
		return CMD_BAD(FIELD, struct ornic_cmd_create_eq, data);
	if (!eq_rec_ok(c))
		return CMD_BAD(FIELD, struct ornic_cmd_create_eq, rec_off);
	if (eq_find(dev, eqn))
		return CMD_BAD(EXISTS, struct ornic_cmd_create_eq, eqn);
	if ((c->kind == ORNIC_EQ_ASYNC && dev->eqs->async) ||
	    (c->kind == ORNIC_EQ_TCP && dev->eqs->tcp))
		return CMD_BAD(EXISTS, struct ornic_cmd_create_eq, kind);
	return CMD_OK;
}

static struct cmd_ret eq_init_memory(struct rnic *dev, struct eq *eq,
				     const struct ornic_cmd_create_eq *c)
{
	u64 need = 1ULL << (eq->shift + eq->entry_shift);
	struct cmd_ret ret;

	if (eq->rec_off)
		need = eq->rec_off + (u64)sizeof(struct ornic_queue_rec);
	ret = qmem_init(dev, &eq->ring, &c->ring, need, offsetof(struct ornic_cmd_create_eq, ring));
	if (ret.status || eq->kind != ORNIC_EQ_TCP)
		return ret;
	ret = qmem_init(dev, &eq->data, &c->data, 1ULL << (eq->shift + ORNIC_TEQ_SLOT_SHIFT),
			offsetof(struct ornic_cmd_create_eq, data));
	if (ret.status)
		qmem_free(dev, &eq->ring);
	return ret;
}

struct cmd_ret eq_cmd_create(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_create_eq *c = cmd;
	struct cmd_ret ret = eq_check_create(dev, c);
	struct eq *eq;

	if (ret.status)
		return ret;
	eq = calloc(1, sizeof(*eq));
	if (!eq)
		return cmd_ret(ORNIC_CMDS_NO_MEMORY, 0);
	eq->eqn = le32_to_cpu(c->eqn);
	eq->kind = c->kind;
	eq->shift = c->depth_shift;
	eq->entry_shift = eq_entry_shift[c->kind];
	eq->vector = le16_to_cpu(c->vector);
	eq->rec_off = le32_to_cpu(c->rec_off);
	list_init(&eq->waiting);
	ret = eq_init_memory(dev, eq, c);
	if (ret.status) {
		free(eq);
		return ret;
	}
	dev->eqs->eq[eq->eqn] = eq;
	if (eq->kind == ORNIC_EQ_ASYNC)
		dev->eqs->async = eq;
	if (eq->kind == ORNIC_EQ_TCP)
		dev->eqs->tcp = eq;
	return CMD_OK;
}

struct cmd_ret eq_cmd_destroy(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_number *c = cmd;
	u32 eqn = le32_to_cpu(c->number);
	struct eq *eq = eq_find(dev, eqn);

	if (eqn >= RNIC_MAX_EQ)
		return CMD_BAD(NUMBER, struct ornic_cmd_number, number);
	if (!eq)
		return CMD_BAD(NOT_FOUND, struct ornic_cmd_number, number);
	if (eq->refs)
		return CMD_BAD(BUSY, struct ornic_cmd_number, number);
	eq_delete(dev, eq);
	return CMD_OK;
}

bool eq_doorbell(struct rnic *dev, u32 eqn, bool arm, u32 ci)
{
	struct eq *eq = eq_find(dev, eqn);

	/* A record that was looked at meanwhile may have told more. */
	if (eq && eq->rec_off && (s32)(ci - eq->ci) < 0)
		ci = eq->ci;
	/* The host can have taken nothing but what was written, and takes nothing back. */
	if (!eq || ci - eq->ci > eq->pi - eq->ci)
		return false;
	eq->ci = ci;
	if (arm)
		eq->armed = true;
	eq_resume(dev, eq);
	eq_fire(dev, eq);
	return true;
}

void eq_each(struct rnic *dev, void (*fn)(void *arg, const struct eq_info *info), void *arg)
{
	struct list_head *pos;
	struct eq_info info;
	struct eq *eq;
	u32 i;

	for (i = 0; i < RNIC_MAX_EQ; i++) {
		eq = dev->eqs->eq[i];
		if (!eq)
			continue;
		info = (struct eq_info){.eqn = i,
					.kind = eq->kind,
					.armed = eq->armed,
					.vector = eq->vector,
					.depth = 1u << eq->shift,
					.pi = eq->pi,
					.ci = eq->ci,
					.refs = eq->refs};
		list_for_each (pos, &eq->waiting)
			info.waiting++;
		fn(arg, &info);
	}
}
