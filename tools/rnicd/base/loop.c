// SPDX-License-Identifier: GPL-2.0-or-later
/* The event loop. Timers sit in a pairing heap whose nodes are in the timers. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/loop.h"

#define LOOP_EVENTS 64

struct loop {
	int epfd;
	bool stop;
	bool more; /* a hook wants another iteration at once */
	bool no_pwait2;
	struct loop_clock clock;
	u64 now;
	u64 seq;
	struct loop_timer *timers;
	struct list_head work;
	struct list_head hooks;
	struct list_head *hook_next; /* cursor while hooks run */
	struct epoll_event ev[LOOP_EVENTS];
	int nev;
	int evpos;
};

static u64 monotonic_ns(void *priv)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * NSEC_PER_SEC + (u64)ts.tv_nsec;
}

struct loop *loop_new(const struct loop_clock *clock)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return NULL;
	loop->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epfd < 0) {
		free(loop);
		return NULL;
	}
	if (clock)
		loop->clock = *clock;
	else
		loop->clock.now = monotonic_ns;
	list_init(&loop->work);
	list_init(&loop->hooks);
	loop_now_fresh(loop);
	return loop;
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	close(loop->epfd);
	free(loop);
}

u64 loop_now(const struct loop *loop)
{
	return loop->now;
}

u64 loop_now_fresh(struct loop *loop)
{
	loop->now = loop->clock.now(loop->clock.priv);
	return loop->now;
}

/* ---- file descriptors ---- */

int loop_fd_add(struct loop *loop, struct loop_fd *lf, int fd, u32 events,
		void (*cb)(struct loop_fd *lf, u32 events))
{
	struct epoll_event ev = {.events = events, .data.ptr = lf};

	if (epoll_ctl(loop->epfd, EPOLL_CTL_ADD, fd, &ev))
		return -errno;
	lf->loop = loop;
	lf->fd = fd;
	lf->events = events;
	lf->cb = cb;
	return 0;
}

int loop_fd_mod(struct loop_fd *lf, u32 events)
{
	struct epoll_event ev = {.events = events, .data.ptr = lf};

	if (!lf->loop)
		return -ENOENT;
	if (lf->events == events)
		return 0;
	if (epoll_ctl(lf->loop->epfd, EPOLL_CTL_MOD, lf->fd, &ev))
		return -errno;
	lf->events = events;
	return 0;
}

void loop_fd_del(struct loop_fd *lf)
{
	struct loop *loop = lf->loop;
	int i;

	if (!loop)
		return;
	epoll_ctl(loop->epfd, EPOLL_CTL_DEL, lf->fd, NULL);
	lf->loop = NULL;
	/* Events of it may already have been fetched. */
	for (i = loop->evpos; i < loop->nev; i++)
		if (loop->ev[i].data.ptr == lf)
			loop->ev[i].data.ptr = NULL;
}

static int run_fds(struct loop *loop)
{
	int calls = 0;

	while (loop->evpos < loop->nev) {
		struct epoll_event *ev = &loop->ev[loop->evpos++];
		struct loop_fd *lf = ev->data.ptr;

		if (!lf)
			continue;
		lf->cb(lf, ev->events);
		calls++;
	}
	loop->nev = 0;
	loop->evpos = 0;
	return calls;
}

/* ---- timers ---- */

static bool timer_before(const struct loop_timer *a, const struct loop_timer *b)
{
	if (a->deadline != b->deadline)
		return a->deadline < b->deadline;
	return a->seq < b->seq;
}

/* Both are roots (no prev, no next); either may be NULL. */
static struct loop_timer *heap_meld(struct loop_timer *a, struct loop_timer *b)
{
	struct loop_timer *t;

	if (!a || !b)
		return a ? a : b;
	if (timer_before(b, a)) {
		t = a;
		a = b;
		b = t;
	}
	b->prev = a;
	b->next = a->child;
	if (a->child)
		a->child->prev = b;
	a->child = b;
	return a;
}

/* Two passes over a list of siblings: meld in pairs, then all into one. */
static struct loop_timer *heap_merge_children(struct loop_timer *first)
{
	struct loop_timer *pairs = NULL, *root = NULL;

	while (first) {
		struct loop_timer *a = first, *b = first->next;

		first = b ? b->next : NULL;
		a->next = NULL;
		a->prev = NULL;
		if (b) {
			b->next = NULL;
			b->prev = NULL;
		}
		a = heap_meld(a, b);
		a->next = pairs;
		pairs = a;
	}
	while (pairs) {
		struct loop_timer *a = pairs;

		pairs = a->next;
		a->next = NULL;
		root = heap_meld(root, a);
	}
	return root;
}

static void heap_remove(struct loop *loop, struct loop_timer *t)
{
	struct loop_timer *sub = heap_merge_children(t->child);

	if (t == loop->timers) {
		loop->timers = sub;
	} else {
		if (t->prev->child == t)
			t->prev->child = t->next;
		else
			t->prev->next = t->next;
		if (t->next)
			t->next->prev = t->prev;
		loop->timers = heap_meld(loop->timers, sub);
	}
	t->child = NULL;
	t->next = NULL;
	t->prev = NULL;
}

void loop_timer_init(struct loop_timer *t, struct loop *loop, void (*cb)(struct loop_timer *t))
{
	memset(t, 0, sizeof(*t));
	t->loop = loop;
	t->cb = cb;
}

void loop_timer_set(struct loop_timer *t, u64 deadline_ns)
{
	loop_timer_cancel(t);
	/* Not before now, or a timer that always rearms in the past would starve the rest. */
	t->deadline = max(deadline_ns, t->loop->now);
	t->seq = t->loop->seq++;
	t->armed = true;
	t->loop->timers = heap_meld(t->loop->timers, t);
}

void loop_timer_cancel(struct loop_timer *t)
{
	if (!t->armed)
		return;
	heap_remove(t->loop, t);
	t->armed = false;
}

/* Those that were set before this call: rearmed ones wait for the next iteration. */
static int run_timers(struct loop *loop)
{
	u64 limit = loop->seq;
	int calls = 0;

	while (loop->timers) {
		struct loop_timer *t = loop->timers;

		if (t->deadline > loop->now || t->seq >= limit)
			break;
		loop_timer_cancel(t);
		t->cb(t);
		calls++;
	}
	return calls;
}

/* ---- posted work and hooks ---- */

void loop_post(struct loop *loop, struct loop_work *w)
{
	if (w->node.next && !list_empty(&w->node))
		return;
	list_add_tail(&w->node, &loop->work);
}

void loop_work_cancel(struct loop_work *w)
{
	if (w->node.next)
		list_del(&w->node);
}

static int run_work(struct loop *loop)
{
	struct list_head now;
	int calls = 0;

	list_init(&now);
	list_splice_tail(&loop->work, &now);
	while (!list_empty(&now)) {
		struct loop_work *w = list_first_entry(&now, struct loop_work, node);

		list_del(&w->node);
		w->cb(w);
		calls++;
	}
	return calls;
}

void loop_hook_add(struct loop *loop, struct loop_hook *h, int order,
		   bool (*cb)(struct loop_hook *h))
{
	struct list_head *pos;

	h->order = order;
	h->cb = cb;
	h->loop = loop;
	list_for_each (pos, &loop->hooks)
		if (list_entry(pos, struct loop_hook, node)->order > order)
			break;
	list_add_tail(&h->node, pos);
}

void loop_hook_del(struct loop_hook *h)
{
	if (!h->loop)
		return;
	if (h->loop->hook_next == &h->node)
		h->loop->hook_next = h->node.next;
	list_del(&h->node);
	h->loop = NULL;
}

static void run_hooks(struct loop *loop)
{
	struct list_head *pos = loop->hooks.next;
	bool more = false;

	while (pos != &loop->hooks) {
		struct loop_hook *h = list_entry(pos, struct loop_hook, node);

		loop->hook_next = pos->next;
		if (h->cb(h))
			more = true;
		pos = loop->hook_next;
	}
	loop->hook_next = NULL;
	loop->more = more;
}

/* ---- running ---- */

static u64 wait_time(struct loop *loop, u64 max_wait)
{
	u64 now;

	if (loop->more || !list_empty(&loop->work) || !max_wait)
		return 0;
	if (!loop->timers)
		return max_wait;
	now = loop_now_fresh(loop);
	if (loop->timers->deadline <= now)
		return 0;
	return min(max_wait, loop->timers->deadline - now);
}

static int wait_ms(struct loop *loop, u64 ns)
{
	int ms = -1;

	if (ns != UINT64_MAX)
		ms = (int)min_t(u64, DIV_ROUND_UP(ns, NSEC_PER_MSEC), INT32_MAX);
	return epoll_wait(loop->epfd, loop->ev, LOOP_EVENTS, ms);
}

static int wait_events(struct loop *loop, u64 ns)
{
	struct timespec ts;
	int n;

	if (loop->no_pwait2)
		return wait_ms(loop, ns);
	ts.tv_sec = (time_t)(ns / NSEC_PER_SEC);
	ts.tv_nsec = (long)(ns % NSEC_PER_SEC);
	n = epoll_pwait2(loop->epfd, loop->ev, LOOP_EVENTS, ns == UINT64_MAX ? NULL : &ts, NULL);
	if (n >= 0 || errno != ENOSYS)
		return n;
	/* Linux before 5.11 */
	loop->no_pwait2 = true;
	return wait_ms(loop, ns);
}

int loop_run_once(struct loop *loop, u64 max_wait_ns)
{
	int calls;
	int n;

	n = wait_events(loop, wait_time(loop, max_wait_ns));
	if (n < 0 && errno != EINTR)
		return -errno;
	loop->nev = max(n, 0);
	loop->evpos = 0;
	loop_now_fresh(loop);
	calls = run_fds(loop);
	calls += run_timers(loop);
	calls += run_work(loop);
	run_hooks(loop);
	return calls;
}

int loop_run(struct loop *loop)
{
	int ret;

	loop->stop = false;
	while (!loop->stop) {
		ret = loop_run_once(loop, UINT64_MAX);
		if (ret < 0)
			return ret;
	}
	return 0;
}

void loop_stop(struct loop *loop)
{
	loop->stop = true;
}
