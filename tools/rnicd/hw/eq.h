/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event queues. An event that finds its queue full waits in the object that it
 * is about: the object embeds a struct eq_wait (or eq_src) per event that it can
 * have outstanding. An object that goes calls eq_wait_cancel() first.
 */
#ifndef RNICD_HW_EQ_H
#define RNICD_HW_EQ_H

#include "hw/qmem.h"

struct eq;

/**
 * struct eq_src - something that has an event to write
 * @node: in the EQ's list of those that wait; zeroed memory means "not waiting"
 * @emit: writes one entry with eq_put_*(); there is room. Returns true if it has more to write.
 */
struct eq_src {
	struct list_head node;
	bool (*emit)(struct rnic *dev, struct eq *eq, struct eq_src *src);
};

/* A completion or asynchronous event that may have to wait. Zeroed memory is right. */
struct eq_wait {
	struct eq_src src;
	struct ornic_aeqe aeqe;
	u32 cqn;
};

static inline bool eq_src_waits(const struct eq_src *src)
{
	return src->node.next && !list_empty(&src->node);
}

/* An armed CQ has a completion; @eqn is a completion EQ that exists. A second event while @w waits
 * is the same event. */
void eq_comp_event(struct rnic *dev, u32 eqn, u32 cqn, struct eq_wait *w);
/* @ev: all but flags. Lost when there is no asynchronous EQ, or while @w still waits with an
 * earlier one. */
void eq_async_event(struct rnic *dev, const struct ornic_aeqe *ev, struct eq_wait *w);
/* FATAL or LINK, about the device itself; a LINK event that still waits is brought up to date. */
void eq_device_event(struct rnic *dev, enum ornic_async_type type, u32 info);
void eq_wait_cancel(struct eq_wait *w);
void eq_src_cancel(struct eq_src *src);

/* Is @eqn a completion EQ? */
bool eq_is_comp(struct rnic *dev, u32 eqn);
/* CQs that name it; an EQ with CQs is BUSY. */
void eq_get(struct rnic *dev, u32 eqn);
void eq_put(struct rnic *dev, u32 eqn);

/* TCP EQ (hw/conn.c). NULL: there is none. */
struct eq *eq_tcp(struct rnic *dev);
/* Room for one entry, and nobody waits. */
bool eq_has_room(struct eq *eq);
/* Interrupt, if it is armed and has entries. */
void eq_fire(struct rnic *dev, struct eq *eq);
/* Emit now as far as there is room, else wait. */
void eq_kick(struct rnic *dev, struct eq *eq, struct eq_src *src);
/* Write one entry; @data of at most ORNIC_TEQ_SLOT_SIZE bytes goes to its slot. There must be room.
 */
void eq_put_tcp(struct rnic *dev, struct eq *eq, struct ornic_teqe *ev, const void *data, u32 len);

int eq_table_init(struct rnic *dev);
void eq_table_free(struct rnic *dev);
void eq_reset(struct rnic *dev);

struct cmd_ret eq_cmd_create(struct rnic *dev, const void *cmd);
struct cmd_ret eq_cmd_destroy(struct rnic *dev, const void *cmd);
/* EQ_ARM doorbell; false: refused. */
bool eq_doorbell(struct rnic *dev, u32 eqn, bool arm, u32 ci);

struct eq_info {
	u32 eqn;
	u8 kind;
	bool armed;
	u16 vector;
	u32 depth, pi, ci, waiting, refs;
};

void eq_each(struct rnic *dev, void (*fn)(void *arg, const struct eq_info *info), void *arg);

#endif /* RNICD_HW_EQ_H */
