// SPDX-License-Identifier: GPL-2.0-or-later
/* The event loop, with an injected clock where time matters. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/loop.h"

static u64 fake_now;

static u64 fake_clock(void *priv)
{
	return fake_now;
}

static struct loop *fake_loop(void)
{
	struct loop_clock clock = {.now = fake_clock};
	struct loop *l;

	fake_now = 1000;
	l = loop_new(&clock);
	assert_non_null(l);
	return l;
}

/* ---- timers ---- */

#define NTIMERS 500

struct ttimer {
	struct loop_timer t;
	u64 want;
	int fired;
};

static u64 last_deadline;
static int fired_total;

static void on_timer(struct loop_timer *t)
{
	struct ttimer *tt = container_of(t, struct ttimer, t);

	assert_false(loop_timer_armed(t));
	assert_true(tt->want <= fake_now);
	assert_true(tt->want >= last_deadline);
	last_deadline = tt->want;
	tt->fired++;
	fired_total++;
}

static void test_timer_order(void **state)
{
	static struct ttimer tt[NTIMERS];
	struct loop *l = fake_loop();
	int i, armed = 0, step;

	srand(5);
	for (i = 0; i < NTIMERS; i++)
		loop_timer_init(&tt[i].t, l, on_timer);
	/* Set, move and cancel at random, then see them all fire in order. */
	for (step = 0; step < 20000; step++) {
		i = rand() % NTIMERS;
		if (rand() % 3) {
			tt[i].want = 2000 + (u64)rand() % 10000;
			loop_timer_set(&tt[i].t, tt[i].want);
		} else {
			loop_timer_cancel(&tt[i].t);
		}
	}
	for (i = 0; i < NTIMERS; i++)
		armed += loop_timer_armed(&tt[i].t);
	assert_true(armed > 0 && armed < NTIMERS);
	assert_int_equal(loop_run_once(l, 0), 0);
	fired_total = 0;
	for (fake_now = 1000; fake_now < 13000; fake_now += 137) {
		last_deadline = 0;
		loop_run_once(l, 0);
		for (i = 0; i < NTIMERS; i++)
			if (loop_timer_armed(&tt[i].t))
				assert_true(tt[i].want > fake_now);
	}
	assert_int_equal(fired_total, armed);
	for (i = 0; i < NTIMERS; i++)
		assert_true(tt[i].fired <= 1);
	loop_free(l);
}

static struct loop_timer chain[3];
static int chain_calls[3];

static void on_rearm(struct loop_timer *t)
{
	int i = (int)(t - chain);

	chain_calls[i]++;
	loop_timer_set(t, 0); /* always in the past */
	if (i == 1)
		loop_timer_cancel(&chain[2]);
}

static void test_timer_rearm_and_cancel_inside(void **state)
{
	struct loop *l = fake_loop();
	int i;

	for (i = 0; i < 3; i++) {
		loop_timer_init(&chain[i], l, on_rearm);
		loop_timer_set(&chain[i], fake_now);
	}
	for (i = 1; i <= 10; i++) {
		fake_now++;
		loop_run_once(l, 0);
		/* Each once an iteration, nobody starved, the cancelled one never. */
		assert_int_equal(chain_calls[0], i);
		assert_int_equal(chain_calls[1], i);
		assert_int_equal(chain_calls[2], 0);
	}
	loop_free(l);
}

/* Equal deadlines fire in the order they were set. */
static void on_fifo(struct loop_timer *t)
{
	assert_int_equal(t - chain, fired_total);
	fired_total++;
}

static void test_timer_fifo(void **state)
{
	struct loop *l = fake_loop();
	int i;

	fired_total = 0;
	for (i = 0; i < 3; i++) {
		loop_timer_init(&chain[i], l, on_fifo);
		loop_timer_set(&chain[i], 5000);
	}
	fake_now = 5000;
	loop_run_once(l, 0);
	assert_int_equal(fired_total, 3);
	loop_free(l);
}

/* ---- fds ---- */

static struct loop_fd fds[2];
static int pipes[2][2];
static int fd_calls;

static void on_fd_delete_other(struct loop_fd *lf, u32 events)
{
	fd_calls++;
	loop_fd_del(lf == &fds[0] ? &fds[1] : &fds[0]);
}

static void test_fd_delete_in_callback(void **state)
{
	struct loop *l = loop_new(NULL);
	int i;

	fd_calls = 0;
	for (i = 0; i < 2; i++) {
		assert_int_equal(pipe(pipes[i]), 0);
		assert_int_equal(write(pipes[i][1], "x", 1), 1);
		assert_int_equal(loop_fd_add(l, &fds[i], pipes[i][0], EPOLLIN, on_fd_delete_other),
				 0);
	}
	assert_int_equal(loop_fd_add(l, &fds[0], pipes[0][0], EPOLLIN, on_fd_delete_other),
			 -EEXIST);
	/* Both are ready, but the first to run removes the other. */
	loop_run_once(l, 0);
	assert_int_equal(fd_calls, 1);
	assert_int_equal(loop_fd_mod(fds[0].loop ? &fds[1] : &fds[0], 0), -ENOENT);
	loop_fd_del(&fds[0]);
	loop_fd_del(&fds[1]);
	loop_fd_del(&fds[1]);
	for (i = 0; i < 2; i++) {
		close(pipes[i][0]);
		close(pipes[i][1]);
	}
	loop_free(l);
}

static void on_fd_count(struct loop_fd *lf, u32 events)
{
	fd_calls++;
}

static void test_fd_mod(void **state)
{
	struct loop *l = loop_new(NULL);

	fd_calls = 0;
	assert_int_equal(pipe(pipes[0]), 0);
	assert_int_equal(write(pipes[0][1], "x", 1), 1);
	assert_int_equal(loop_fd_add(l, &fds[0], pipes[0][0], EPOLLIN, on_fd_count), 0);
	loop_run_once(l, 0);
	assert_int_equal(loop_fd_mod(&fds[0], 0), 0);
	loop_run_once(l, 0);
	assert_int_equal(fd_calls, 1);
	assert_int_equal(loop_fd_mod(&fds[0], EPOLLIN), 0);
	loop_run_once(l, 0);
	assert_int_equal(fd_calls, 2);
	loop_fd_del(&fds[0]);
	close(pipes[0][0]);
	close(pipes[0][1]);
	loop_free(l);
}

/* ---- work and hooks ---- */

static struct loop_work works[2];
static int work_calls[2];
static struct loop *work_loop;

static void on_work(struct loop_work *w)
{
	int i = (int)(w - works);

	work_calls[i]++;
	if (i == 0) {
		loop_post(work_loop, w); /* runs in the next iteration, not in this one */
		loop_work_cancel(&works[1]);
	}
}

static void test_work(void **state)
{
	struct loop *l = fake_loop();

	work_loop = l;
	memset(works, 0, sizeof(works));
	memset(work_calls, 0, sizeof(work_calls));
	works[0].cb = on_work;
	works[1].cb = on_work;
	loop_work_cancel(&works[0]);
	loop_post(l, &works[0]);
	loop_post(l, &works[0]);
	loop_post(l, &works[1]);
	/* Must not sleep although no timer is set. */
	assert_int_equal(loop_run_once(l, UINT64_MAX), 1);
	assert_int_equal(work_calls[0], 1);
	assert_int_equal(work_calls[1], 0);
	assert_int_equal(loop_run_once(l, UINT64_MAX), 1);
	assert_int_equal(work_calls[0], 2);
	loop_work_cancel(&works[0]);
	assert_int_equal(loop_run_once(l, 0), 0);
	loop_free(l);
}

static struct loop_hook hooks[3];
static int hook_seq[8], hook_n;
static int hook_more;

static bool on_hook(struct loop_hook *h)
{
	hook_seq[hook_n++ % 8] = (int)(h - hooks);
	if (h == &hooks[0] && !hook_more)
		loop_hook_del(&hooks[1]);
	return h == &hooks[2] && hook_more-- > 0;
}

static void test_hooks(void **state)
{
	struct loop *l = fake_loop();

	memset(hooks, 0, sizeof(hooks));
	hook_n = 0;
	hook_more = 2;
	loop_hook_add(l, &hooks[2], LOOP_HOOK_WIRE, on_hook);
	loop_hook_add(l, &hooks[0], LOOP_HOOK_ENGINE, on_hook);
	loop_hook_add(l, &hooks[1], LOOP_HOOK_EVENTS, on_hook);
	loop_run_once(l, 0);
	assert_int_equal(hook_n, 3);
	assert_int_equal(hook_seq[0], 0);
	assert_int_equal(hook_seq[1], 1);
	assert_int_equal(hook_seq[2], 2);
	/* A hook with work left keeps the loop awake: this would block for ever. */
	loop_run_once(l, UINT64_MAX);
	loop_run_once(l, UINT64_MAX);
	/* Now nobody wants more and the first hook removes the second. */
	hook_n = 0;
	hook_more = 0;
	loop_run_once(l, 0);
	assert_int_equal(hook_n, 2);
	assert_int_equal(hook_seq[1], 2);
	loop_hook_del(&hooks[0]);
	loop_hook_del(&hooks[1]);
	loop_hook_del(&hooks[2]);
	hook_n = 0;
	loop_run_once(l, 0);
	assert_int_equal(hook_n, 0);
	loop_free(l);
}

/* ---- real time ---- */

static void on_stop(struct loop_timer *t)
{
	loop_stop(t->loop);
}

static u64 cpu_us(void)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	return (u64)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000 +
	       (u64)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec);
}

static void test_sleeps(void **state)
{
	struct loop *l = loop_new(NULL);
	struct loop_timer t;
	u64 begin, cpu;

	loop_timer_init(&t, l, on_stop);
	begin = loop_now_fresh(l);
	cpu = cpu_us();
	loop_timer_set(&t, begin + 300 * NSEC_PER_MSEC);
	assert_int_equal(loop_run(l), 0);
	assert_true(loop_now_fresh(l) - begin >= 300 * NSEC_PER_MSEC);
	/* Asleep, not spinning: 300 ms of waiting cost less than 30 ms. */
	cpu = cpu_us() - cpu;
	assert_true(cpu < 30000);
	print_message("300 ms of waiting cost %llu us of CPU\n", cpu);
	loop_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_timer_order),
		cmocka_unit_test(test_timer_rearm_and_cancel_inside),
		cmocka_unit_test(test_timer_fifo),
		cmocka_unit_test(test_fd_delete_in_callback),
		cmocka_unit_test(test_fd_mod),
		cmocka_unit_test(test_work),
		cmocka_unit_test(test_hooks),
		cmocka_unit_test(test_sleeps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
