/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of the device, without a VM: each test gets its own rnicd processes and
 * plays their VMM and driver. A check that fails ends its test.
 */
#ifndef TESTS_DEVICE_TEST_H
#define TESTS_DEVICE_TEST_H

#include <stdbool.h>
#include <stdio.h>

struct test {
	const char *name;
	void (*fn)(void);
};

/* Runs the tests whose name contains the word given on the command line; returns the exit status.
 */
int test_main(int argc, char **argv, const struct test *tests, unsigned int n);
/* The test that runs. */
extern const struct test *test_running;
/* Ends the running test. */
void test_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 3, 4)));
void test_skip(const char *why) __attribute__((noreturn));

#define CHECK(cond)                                                           \
	do {                                                                  \
		if (!(cond))                                                  \
			test_fail(__FILE__, __LINE__, "not true: %s", #cond); \
	} while (0)

#define CHECK_EQ(got, want)                                                                        \
	do {                                                                                       \
		long long got_ = (long long)(got), want_ = (long long)(want);                      \
		if (got_ != want_)                                                                 \
			test_fail(__FILE__, __LINE__,                                              \
				  "%s is %lld (0x%llx), expected %lld (0x%llx)", #got, got_, got_, \
				  want_, want_);                                                   \
	} while (0)

#define CHECK_MEM(got, want, len)                                                         \
	do {                                                                              \
		if (memcmp(got, want, len))                                               \
			test_fail(__FILE__, __LINE__, "%s differs from %s", #got, #want); \
	} while (0)

#endif /* TESTS_DEVICE_TEST_H */
