/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event loop: one thread, epoll, timers by absolute deadline, hooks that
 * run before the loop sleeps, and work posted to the next iteration.
 *
 * Every object is embedded in its owner and found again by container_of(); no
 * call here allocates memory after loop_new(), so none of them can fail for
 * lack of it (epoll_ctl in loop_fd_add() aside). Objects may be removed from
 * any callback, their own included, and are never called after removal.
 * Callbacks must not block.
 *
 * One iteration: wait (not at all if work is posted or a hook asked for more;
 * else until the next deadline), read the clock, file descriptors, timers that
 * are due, posted work, hooks in ascending order.
 */
#ifndef RNICD_BASE_LOOP_H
#define RNICD_BASE_LOOP_H

#include <sys/epoll.h>

#include "base/util.h"

struct loop;

/* A clock that tests can replace. now() returns nanoseconds, never going back. */
struct loop_clock {
	u64 (*now)(void *priv);
	void *priv;
};

struct loop_fd {
	struct loop *loop; /* NULL while not registered */
	int fd;
	u32 events;
	void (*cb)(struct loop_fd *lf, u32 events);
};

struct loop_timer {
	struct loop *loop;
	u64 deadline;
	u64 seq; /* equal deadlines fire in the order they were set */
	bool armed;
	struct loop_timer *child, *next, *prev; /* pairing heap */
	void (*cb)(struct loop_timer *t);
};

struct loop_work {
	struct list_head node; /* zeroed memory means "not pending" */
	void (*cb)(struct loop_work *w);
};

/*
 * Order of hooks: engines first, so that what they produce is flushed by the
 * wires in the same iteration.
 */
enum loop_hook_order {
	LOOP_HOOK_EARLY = 0,
	LOOP_HOOK_ENGINE = 10,
	LOOP_HOOK_EVENTS = 20, /* completion and event queues, interrupts */
	LOOP_HOOK_WIRE = 30, /* flush of transmit batches */
	LOOP_HOOK_LATE = 40,
};

struct loop_hook {
	struct loop *loop; /* NULL while not registered */
	struct list_head node;
	int order;
	/* Returns true if it stopped at its budget with work left: no sleep then. */
	bool (*cb)(struct loop_hook *h);
};

/**
 * loop_new() - make a loop.
 * @clock: time source, copied; NULL for CLOCK_MONOTONIC.
 * Return: the loop, or NULL with errno set.
 */
struct loop *loop_new(const struct loop_clock *clock);
/* Everything must have been removed before; what is still there is forgotten. */
void loop_free(struct loop *loop);

/* Time of this iteration: cheap, the same for all callbacks of one phase. */
u64 loop_now(const struct loop *loop);
/* Reads the clock and makes that the iteration's time. */
u64 loop_now_fresh(struct loop *loop);

/* 0 or -errno. @lf must stay in place until loop_fd_del(). */
int loop_fd_add(struct loop *loop, struct loop_fd *lf, int fd, u32 events,
		void (*cb)(struct loop_fd *lf, u32 events));
int loop_fd_mod(struct loop_fd *lf, u32 events);
/* Does not close the fd. Quiet if it was not registered. */
void loop_fd_del(struct loop_fd *lf);

void loop_timer_init(struct loop_timer *t, struct loop *loop, void (*cb)(struct loop_timer *t));
/* (Re)arms @t; a deadline in the past fires in this or the next iteration. */
void loop_timer_set(struct loop_timer *t, u64 deadline_ns);
void loop_timer_cancel(struct loop_timer *t);

static inline bool loop_timer_armed(const struct loop_timer *t)
{
	return t->armed;
}

/* Run @w once in the next iteration; posting it again before that is a no-op. */
void loop_post(struct loop *loop, struct loop_work *w);
void loop_work_cancel(struct loop_work *w);

void loop_hook_add(struct loop *loop, struct loop_hook *h, int order,
		   bool (*cb)(struct loop_hook *h));
void loop_hook_del(struct loop_hook *h);

/*
 * One iteration, sleeping at most @max_wait_ns (0: not at all, UINT64_MAX: as
 * long as the timers allow). Returns the number of callbacks made for fds,
 * timers and work, or -errno.
 */
int loop_run_once(struct loop *loop, u64 max_wait_ns);
/* Until loop_stop(); 0 or -errno. */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

#endif /* RNICD_BASE_LOOP_H */
