// SPDX-License-Identifier: GPL-2.0-or-later
/* The VERSION message's JSON: what is understood, skipped and refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "vfu/json.h"

static struct vfu_caps caps;

static int parse(const char *s)
{
	/* In memory of exactly that size, so that the sanitizer sees a read beyond. */
	size_t len = strlen(s);
	char *copy = malloc(len ? len : 1);
	int ret;

	memcpy(copy, s, len);
	ret = vfu_parse_caps(copy, len, &caps);
	free(copy);
	return ret;
}

static void test_qemu(void **state)
{
	assert_int_equal(parse("{\"capabilities\":{\"pgsizes\":4096,\"max_msg_fds\":16,"
			       "\"max_dma_maps\":65535,\"max_data_xfer_size\":1048576,"
			       "\"migration\":{\"max_bitmap_size\":268435456,\"pgsize\":4096},"
			       "\"write_multiple\":true}}"),
			 0);
	assert_int_equal(caps.max_msg_fds, 16);
	assert_int_equal(caps.max_data_xfer_size, 1048576);
	assert_true(caps.write_multiple);
}

static void test_defaults(void **state)
{
	static const char *const same[] = {
		"",
		" \n\t",
		"{}",
		"{ }",
		"{\"capabilities\":{}}",
		"{\"capabilities\":null}",
		"{\"capabilities\":[1,{\"write_multiple\":true}]}",
		"{\"write_multiple\":true}", /* not where it belongs */
		"{\"x\":{\"capabilities\":{\"write_multiple\":true}}}",
		"{\"capabilities\":{\"migration\":{\"max_msg_fds\":9}}}",
		"{\"capabilities\":{\"unknown\":\"\\\"}\\\\\",\"y\":[[],{},-1.5e+3,false,null]}}",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(same); i++) {
		assert_int_equal(parse(same[i]), 0);
		assert_int_equal(caps.max_msg_fds, 1);
		assert_int_equal(caps.max_data_xfer_size, 1048576);
		assert_false(caps.write_multiple);
	}
}

static void test_refused(void **state)
{
	static const char *const bad[] = {
		"{",
		"}",
		"[]",
		"1",
		"nul",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\":1,}",
		"{\"a\":1}x",
		"{\"a\":tru}",
		"{\"a\":falsey}",
		"{\"a\":+1}",
		"{\"a\":-}",
		"{\"a\":1.}",
		"{\"a\":1e}",
		"{\"a\":.5}",
		"{\"a",
		"{\"a\\",
		"{\"a\n\":1}",
		"{a:1}",
		"{\"a\":[1}",
		"{\"a\":[1,]}",
		"{\"a\":{\"b\":1]}",
		"{\"capabilities\":{\"write_multiple\":1}}",
		"{\"capabilities\":{\"max_msg_fds\":true}}",
		"{\"capabilities\":{\"max_msg_fds\":\"16\"}}",
		"{\"capabilities\":{\"max_data_xfer_size\":-1}}",
		"{\"capabilities\":{\"max_data_xfer_size\":1.5}}",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		if (parse(bad[i]) != -EINVAL)
			fail_msg("accepted: %s", bad[i]);
	print_message("%zu malformed texts refused\n", ARRAY_SIZE(bad));
}

static void test_bounds(void **state)
{
	char deep[5000], text[256];
	size_t n;

	/* Nesting ends with an error, not with the stack. */
	for (n = 1; n < sizeof(deep) - 1; n++)
		deep[n] = '[';
	memcpy(deep, "{\"a\":", 5);
	deep[sizeof(deep) - 1] = 0;
	assert_int_equal(parse(deep), -EINVAL);
	assert_int_equal(parse("{\"a\":[[[[[[[[[[]]]]]]]]]]}"), 0);
	assert_int_equal(parse("{\"capabilities\":{\"max_msg_fds\":99999999999999999999999999}}"),
			 0);
	assert_true(caps.max_msg_fds == UINT64_MAX);
	assert_int_equal(parse("{\"capabilities\":{\"max_msg_fds\":18446744073709551615}}"), 0);
	assert_true(caps.max_msg_fds == UINT64_MAX);
	/* A key longer than any known one, with a known one as its beginning. */
	snprintf(text, sizeof(text), "{\"capabilities\":{\"write_multiple%0100d\":1}}", 0);
	assert_int_equal(parse(text), 0);
	assert_false(caps.write_multiple);
	/* A NUL is no white space. */
	assert_int_equal(vfu_parse_caps("{}\0", 3, &caps), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_qemu),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
