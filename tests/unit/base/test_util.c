// SPDX-License-Identifier: GPL-2.0-or-later
/* Lists, ids, ranges, byte order, log, captures. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/log.h"
#include "base/pcap.h"
#include "base/util.h"

static void test_numbers(void **state)
{
	assert_true(range_ok(0, 0, 0));
	assert_true(range_ok(10, 0, 10));
	assert_true(range_ok(4, 6, 10));
	assert_false(range_ok(5, 6, 10));
	assert_false(range_ok(11, 0, 10));
	assert_false(range_ok(UINT64_MAX, 2, 10));
	assert_false(range_ok(2, UINT64_MAX, UINT64_MAX));
	assert_int_equal(roundup_pow_of_two(1), 1);
	assert_int_equal(roundup_pow_of_two(3), 4);
	assert_int_equal(roundup_pow_of_two(4096), 4096);
	assert_int_equal(ilog2(1), 0);
	assert_int_equal(ilog2(UINT64_MAX), 63);
	assert_false(is_power_of_2(0));
	assert_true(is_power_of_2(1ULL << 63));
	assert_int_equal(ALIGN(4097u, 4096), 8192);
	assert_int_equal(ALIGN_DOWN(0xfffffffffffff123ULL, 4096), 0xfffffffffffff000ULL);
	assert_int_equal(min(3, 2), 2);
	assert_int_equal(max(3, 2), 3);
}

static void test_byte_order(void **state)
{
	u8 b[9] = {0, 1, 2, 3, 4, 5, 6, 7, 8};

	assert_int_equal(get_le16(b + 1), 0x0201);
	assert_int_equal(get_be16(b + 1), 0x0102);
	assert_int_equal(get_le32(b + 1), 0x04030201);
	assert_int_equal(get_be32(b + 1), 0x01020304);
	assert_true(get_le64(b + 1) == 0x0807060504030201ULL);
	assert_true(get_be64(b + 1) == 0x0102030405060708ULL);
	put_be32(b + 1, 0xdeadbeef);
	assert_int_equal(b[1], 0xde);
	put_le32(b + 1, 0xdeadbeef);
	assert_int_equal(b[1], 0xef);
}

struct item {
	int v;
	struct list_head node;
};

static void test_list(void **state)
{
	struct item items[4] = {{.v = 0}, {.v = 1}, {.v = 2}, {.v = 3}}, *pos, *tmp;
	struct list_head a, b;
	int want = 0;

	list_init(&a);
	list_init(&b);
	list_add_tail(&items[1].node, &a);
	list_add_tail(&items[2].node, &a);
	list_add(&items[0].node, &a);
	list_add_tail(&items[3].node, &b);
	list_splice_tail(&b, &a);
	assert_true(list_empty(&b));
	list_splice_tail(&b, &a);
	list_for_each_entry (pos, &a, node)
		assert_int_equal(pos->v, want++);
	assert_int_equal(want, 4);
	list_for_each_entry_safe (pos, tmp, &a, node) {
		if (pos->v % 2)
			list_del(&pos->node);
		else
			list_move_tail(&pos->node, &b);
	}
	assert_true(list_empty(&a));
	assert_int_equal(list_first_entry(&b, struct item, node)->v, 0);
	assert_int_equal(list_last_entry(&b, struct item, node)->v, 2);
	/* Deleting twice is harmless. */
	list_del(&items[1].node);
}

static void test_ida(void **state)
{
	struct ida ida;
	s64 id;
	int i;

	assert_int_equal(ida_init(&ida, 0, 0), -EINVAL);
	assert_int_equal(ida_init(&ida, UINT32_MAX, 2), -EINVAL);
	assert_int_equal(ida_init(&ida, 100, 130), 0);
	for (i = 0; i < 130; i++)
		assert_int_equal(ida_alloc(&ida), 100 + i);
	assert_int_equal(ida_alloc(&ida), -ENOSPC);
	assert_int_equal(ida_free(&ida, 99), -ERANGE);
	assert_int_equal(ida_free(&ida, 230), -ERANGE);
	assert_int_equal(ida_free(&ida, 150), 0);
	assert_int_equal(ida_free(&ida, 150), -ENOENT);
	assert_false(ida_is_used(&ida, 150));
	assert_true(ida_is_used(&ida, 151));
	assert_int_equal(ida_alloc(&ida), 150);
	/* Round robin: a freed id is not the next one. */
	assert_int_equal(ida_free(&ida, 110), 0);
	assert_int_equal(ida_free(&ida, 200), 0);
	assert_int_equal(ida_alloc(&ida), 200);
	assert_int_equal(ida_alloc(&ida), 110);
	assert_int_equal(ida_free(&ida, 229), 0);
	assert_int_equal(ida_claim(&ida, 229), 0);
	assert_int_equal(ida_claim(&ida, 229), -EBUSY);
	assert_int_equal(ida_claim(&ida, 230), -ERANGE);
	ida_destroy(&ida);
	/* Against a model. */
	assert_int_equal(ida_init(&ida, 0, 67), 0);
	u8 used[67] = {0};
	u32 n = 0;

	srand(4);
	for (i = 0; i < 20000; i++) {
		u32 pick = (u32)rand() % 67;

		if (rand() % 2) {
			id = ida_alloc(&ida);
			assert_int_equal(id < 0, n == 67);
			if (id >= 0) {
				assert_false(used[id]);
				used[id] = 1;
				n++;
			}
		} else {
			assert_int_equal(ida_free(&ida, pick), used[pick] ? 0 : -ENOENT);
			n -= used[pick];
			used[pick] = 0;
		}
		assert_int_equal(ida.used, n);
	}
	ida_destroy(&ida);
}

struct sink {
	char last[2048];
	int lines;
};

static void sink_line(void *priv, enum log_level level, const char *line)
{
	struct sink *s = priv;

	snprintf(s->last, sizeof(s->last), "%s", line);
	s->lines++;
}

static void test_log(void **state)
{
	enum log_level level = LOG_LVL_ERR;
	struct sink s = {0};
	char big[4000];
	int i;

	log_set_sink(sink_line, &s);
	log_set_program("prog");
	log_set_level(LOG_LVL_INFO);
	log_info("a %d", 7);
	assert_string_equal(s.last, "prog: info: a 7");
	log_debug("not shown");
	assert_int_equal(s.lines, 1);
	/* A guest's text must not drive the terminal. */
	log_warn("x\x1b[31m\ny");
	assert_string_equal(s.last, "prog: warning: x?[31m?y");
	memset(big, 'z', sizeof(big));
	big[sizeof(big) - 1] = 0;
	log_err("%s", big);
	assert_true(strlen(s.last) < 1024);
	s.lines = 0;
	for (i = 0; i < 1000; i++)
		log_warn_ratelimited("again");
	assert_int_equal(s.lines, LOG_LIMIT_BURST);
	assert_int_equal(log_parse_level("debug", &level), 0);
	assert_int_equal(level, LOG_LVL_DEBUG);
	assert_int_equal(log_parse_level("loud", &level), -EINVAL);
	log_set_sink(NULL, NULL);
}

static void test_pcap(void **state)
{
	char path[] = "/tmp/test-pcap-XXXXXX";
	int fd = mkstemp(path);
	struct iovec iov[2] = {{"0123456789", 10}, {"abcdef", 6}};
	u8 file[4096];
	struct pcap *p;
	size_t n;
	FILE *f;

	assert_true(fd >= 0);
	close(fd);
	p = pcap_open(path, 12, 24 + 2 * (16 + 12));
	assert_non_null(p);
	pcap_write(p, 5 * NSEC_PER_SEC + 7, iov, 2);
	pcap_write(p, 6 * NSEC_PER_SEC, iov, 1);
	pcap_write(p, 7 * NSEC_PER_SEC, iov, 2); /* beyond the limit */
	assert_int_equal(pcap_written(p), 2);
	assert_int_equal(pcap_dropped(p), 1);
	assert_int_equal(pcap_close(p), 0);
	f = fopen(path, "r");
	n = fread(file, 1, sizeof(file), f);
	fclose(f);
	unlink(path);
	assert_int_equal(n, 24 + 16 + 12 + 16 + 10);
	u32 *h = (u32 *)file;
	assert_int_equal(h[0], 0xa1b23c4d);
	assert_int_equal(h[5], 1);
	assert_int_equal(h[6], 5);
	assert_int_equal(h[7], 7);
	assert_int_equal(h[8], 12);
	assert_int_equal(h[9], 16);
	assert_memory_equal(file + 40, "0123456789ab", 12);
	assert_null(pcap_open("/nonexistent/x", 0, 0));
	assert_int_equal(errno, ENOENT);
	/* A full disk is told at the end, not by a crash. */
	p = pcap_open("/dev/full", 0, 0);
	if (p) {
		pcap_write(p, 1, iov, 2);
		assert_int_equal(pcap_close(p), -ENOSPC);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers), cmocka_unit_test(test_byte_order),
		cmocka_unit_test(test_list),	cmocka_unit_test(test_ida),
		cmocka_unit_test(test_log),	cmocka_unit_test(test_pcap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
