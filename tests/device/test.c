// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "drv.h"
#include "test.h"

const struct test *test_running;

static jmp_buf test_end;
static int test_result; /* 0 passed, 1 failed, 2 skipped */

void test_fail(const char *file, int line, const char *fmt, ...)
{
	const char *base = strrchr(file, '/');
	va_list ap;

	printf("    %s:%d: ", base ? base + 1 : file, line);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	test_result = 1;
	longjmp(test_end, 1);
}

void test_skip(const char *why)
{
	printf("    skipped: %s\n", why);
	test_result = 2;
	longjmp(test_end, 1);
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int run_one(const struct test *t)
{
	double begin = seconds();

	test_running = t;
	test_result = 0;
	if (!setjmp(test_end))
		t->fn();
	/* What the devices have to say counts too: a sanitizer's finding, a leak, a wrong exit. */
	if (!drv_stop_all() && test_result != 1) {
		printf("    a device did not end well\n");
		test_result = 1;
	}
	printf("%s %s (%.2f s)\n",
	       test_result == 0	  ? "ok  "
	       : test_result == 1 ? "FAIL"
				  : "skip",
	       t->name, seconds() - begin);
	fflush(stdout);
	return test_result;
}

int test_main(int argc, char **argv, const struct test *tests, unsigned int n)
{
	unsigned int count[3] = {0}, i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; i < n; i++)
		if (argc < 2 || strstr(tests[i].name, argv[1]))
			count[run_one(&tests[i])]++;
	printf("%u passed, %u failed, %u skipped\n", count[0], count[1], count[2]);
	return count[1] ? 1 : 0;
}
