// SPDX-License-Identifier: GPL-2.0-or-later
/* Guest memory: mapping, translation, limits, memory that goes away. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "vfu/dma.h"

#define PAGE 4096ull

static int memfd(u64 pages)
{
	int fd = memfd_create("t", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)(pages * PAGE)), 0);
	return fd;
}

static struct dma_space *new_space(u32 max)
{
	struct dma_space *s = dma_space_new(max);

	assert_non_null(s);
	dma_set_enabled(s, true);
	return s;
}

static void test_map_arguments(void **state)
{
	struct dma_space *s = new_space(0);
	int fd = memfd(4), ro, pipefd[2];
	char path[64];

	assert_int_equal(dma_map(s, 0, 0, DMA_PROT_RW, fd, 0), -EINVAL);
	assert_int_equal(dma_map(s, 0, PAGE, 4, fd, 0), -EINVAL);
	assert_int_equal(dma_map(s, 1, PAGE, DMA_PROT_RW, fd, 0), -EINVAL);
	assert_int_equal(dma_map(s, 0, PAGE + 1, DMA_PROT_RW, fd, 0), -EINVAL);
	assert_int_equal(dma_map(s, 0, PAGE, DMA_PROT_RW, fd, 512), -EINVAL);
	/* Beyond the end of the file, also when offset + length wraps. */
	assert_int_equal(dma_map(s, 0, 5 * PAGE, DMA_PROT_RW, fd, 0), -EINVAL);
	assert_int_equal(dma_map(s, 0, PAGE, DMA_PROT_RW, fd, 4 * PAGE), -EINVAL);
	assert_int_equal(dma_map(s, 0, 2 * PAGE, DMA_PROT_RW, fd, -PAGE), -EINVAL);
	/* Address space wraps; its very last page does not. */
	assert_int_equal(dma_map(s, -PAGE, 2 * PAGE, DMA_PROT_RW, fd, 0), -EINVAL);
	assert_int_equal(dma_map(s, -PAGE, PAGE, DMA_PROT_RW, fd, 0), 0);
	assert_int_equal(pipe(pipefd), 0);
	assert_int_equal(dma_map(s, 0, PAGE, DMA_PROT_RW, pipefd[0], 0), -EINVAL);
	/* Writable mapping of a file that is open for reading only. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ro = open(path, O_RDONLY);
	assert_true(ro >= 0);
	assert_int_equal(dma_map(s, 0, PAGE, DMA_PROT_RW, ro, 0), -EACCES);
	assert_int_equal(dma_map(s, 0, PAGE, DMA_PROT_READ, ro, 0), 0);
	assert_int_equal(dma_count(s), 2);
	close(ro);
	close(pipefd[0]);
	close(pipefd[1]);
	close(fd);
	dma_space_free(s);
}

static void test_overlap(void **state)
{
	struct dma_space *s = new_space(0);
	int fd = memfd(16);
	u64 a, n;

	assert_int_equal(dma_map(s, 0x10000, 4 * PAGE, DMA_PROT_RW, fd, 0), 0);
	for (a = 0x10000 - 2 * PAGE; a <= 0x10000 + 4 * PAGE; a += PAGE) {
		for (n = 1; n <= 8; n++) {
			bool overlaps = a + n * PAGE > 0x10000 && a < 0x10000 + 4 * PAGE;

			if (overlaps) {
				assert_int_equal(dma_map(s, a, n * PAGE, DMA_PROT_RW, fd, 0),
						 -EEXIST);
				assert_int_equal(dma_map(s, a, n * PAGE, DMA_PROT_RW, -1, 0),
						 -EEXIST);
			}
		}
	}
	assert_int_equal(dma_map(s, 0x10000 - PAGE, PAGE, DMA_PROT_RW, fd, 0), 0);
	assert_int_equal(dma_map(s, 0x10000 + 4 * PAGE, PAGE, DMA_PROT_RW, fd, 0), 0);
	close(fd);
	dma_space_free(s);
}

struct heard {
	struct dma_listener l;
	u64 iova, len;
	int calls;
};

static void on_unmapped(struct dma_listener *l, u64 iova, u64 len)
{
	struct heard *h = container_of(l, struct heard, l);

	h->iova = iova;
	h->len = len;
	h->calls++;
}

static void test_unmap(void **state)
{
	struct dma_space *s = new_space(0);
	struct heard h = {.l.unmapped = on_unmapped};
	int fd = memfd(16);
	u64 n = 0, gen;

	dma_listener_add(s, &h.l);
	assert_int_equal(dma_unmap(s, 0, PAGE, &n), -ENOENT);
	assert_int_equal(dma_unmap(s, 0, 0, &n), -EINVAL);
	assert_int_equal(dma_unmap(s, -PAGE, 2 * PAGE, &n), -EINVAL);
	assert_int_equal(dma_map(s, 0x10000, 4 * PAGE, DMA_PROT_RW, fd, 0), 0);
	assert_int_equal(dma_map(s, 0x20000, PAGE, DMA_PROT_RW, -1, 0), 0);
	gen = dma_gen(s);
	/* Parts of a mapping cannot be taken away, and nothing else is then. */
	assert_int_equal(dma_unmap(s, 0x10000, PAGE, &n), -EINVAL);
	assert_int_equal(dma_unmap(s, 0x10000 + PAGE, 0x20000, &n), -EINVAL);
	assert_int_equal(dma_unmap(s, 0xf000, PAGE * 2, &n), -EINVAL);
	assert_int_equal(dma_count(s), 2);
	assert_true(dma_gen(s) == gen);
	assert_int_equal(h.calls, 0);
	assert_int_equal(dma_unmap(s, 0x10000, 4 * PAGE, &n), 0);
	assert_int_equal(n, 4 * PAGE);
	assert_int_equal(h.calls, 1);
	assert_int_equal(h.iova, 0x10000);
	assert_int_equal(h.len, 4 * PAGE);
	assert_true(dma_gen(s) > gen);
	assert_null(dma_ptr(s, 0x10000, 1, DMA_PROT_READ));
	/* A range around several takes them all; the whole space is a range. */
	assert_int_equal(dma_map(s, 0x30000, PAGE, DMA_PROT_RW, fd, 0), 0);
	assert_int_equal(dma_unmap(s, 0, UINT64_MAX, &n), 0);
	assert_int_equal(n, 2 * PAGE);
	assert_int_equal(dma_count(s), 0);
	assert_int_equal(h.calls, 3);
	dma_listener_del(&h.l);
	close(fd);
	dma_space_free(s);
}

static void test_translation(void **state)
{
	struct dma_space *s = new_space(0);
	int fd = memfd(16);
	struct iovec iov[4];
	u8 buf[3 * 4096], back[3 * 4096];
	u8 *p, *q;
	size_t i;

	/* Two mappings that follow each other, then a hole, then one without memory. */
	assert_int_equal(dma_map(s, 0x100000, 2 * PAGE, DMA_PROT_RW, fd, 8 * PAGE), 0);
	assert_int_equal(dma_map(s, 0x102000, 2 * PAGE, DMA_PROT_RW, fd, 0), 0);
	assert_int_equal(dma_map(s, 0x105000, PAGE, DMA_PROT_RW, -1, 0), 0);
	assert_int_equal(dma_map(s, 0x200000, PAGE, DMA_PROT_READ, fd, 4 * PAGE), 0);
	assert_int_equal(dma_map(s, 0x201000, PAGE, 0, fd, 5 * PAGE), 0);

	p = dma_ptr(s, 0x100000, 2 * PAGE, DMA_PROT_RW);
	q = dma_ptr(s, 0x100000 + 2 * PAGE - 1, 1, DMA_PROT_RW);
	assert_non_null(p);
	assert_ptr_equal(q, p + 2 * PAGE - 1);
	assert_null(dma_ptr(s, 0x100000, 0, DMA_PROT_RW));
	assert_null(dma_ptr(s, 0x100000, 2 * PAGE + 1, DMA_PROT_RW));
	assert_null(dma_ptr(s, 0x100001, UINT64_MAX, DMA_PROT_RW));
	assert_null(dma_ptr(s, 0x0fffff, 1, DMA_PROT_RW));
	assert_null(dma_ptr(s, 0x104000, 1, DMA_PROT_RW));
	assert_null(dma_ptr(s, 0x105000, 1, DMA_PROT_RW));
	assert_non_null(dma_ptr(s, 0x200000, 1, DMA_PROT_READ));
	assert_null(dma_ptr(s, 0x200000, 1, DMA_PROT_WRITE));
	assert_null(dma_ptr(s, 0x200000, 1, DMA_PROT_RW));
	assert_null(dma_ptr(s, 0x201000, 1, DMA_PROT_READ));
	assert_null(dma_ptr(s, UINT64_MAX, 2, DMA_PROT_READ));

	assert_int_equal(dma_iov(s, 0x101000, 2 * PAGE, DMA_PROT_RW, iov, 4), 2);
	assert_ptr_equal(iov[0].iov_base, p + PAGE);
	assert_int_equal(iov[0].iov_len, PAGE);
	assert_int_equal(iov[1].iov_len, PAGE);
	assert_int_equal(dma_iov(s, 0x101000, 2 * PAGE, DMA_PROT_RW, iov, 1), -E2BIG);
	assert_int_equal(dma_iov(s, 0x101000, 4 * PAGE, DMA_PROT_RW, iov, 4), -EFAULT);
	assert_int_equal(dma_iov(s, 0x101000, 0, DMA_PROT_RW, iov, 0), 0);

	for (i = 0; i < sizeof(buf); i++)
		buf[i] = (u8)(i * 31 + i / 256);
	assert_int_equal(dma_write(s, 0x100800, buf, sizeof(buf)), 0);
	assert_int_equal(dma_read(s, 0x100800, back, sizeof(back)), 0);
	assert_memory_equal(buf, back, sizeof(buf));
	/* The file holds it where the offsets say. */
	assert_int_equal(pread(fd, back, 16, 8 * PAGE + 0x800), 16);
	assert_memory_equal(back, buf, 16);
	assert_int_equal(pread(fd, back, 16, 0), 16);
	assert_memory_equal(back, buf + 2 * PAGE - 0x800, 16);
	/* A copy that would fail half-way changes nothing. */
	memset(back, 0xaa, sizeof(back));
	assert_int_equal(dma_write(s, 0x103000, back, PAGE + 1), -EFAULT);
	assert_int_equal(dma_read(s, 0x103000, back, PAGE + 1), -EFAULT);
	assert_int_equal(back[0], 0xaa);
	assert_int_equal(dma_read(s, 0x103000, back, 1), 0);
	assert_int_not_equal(back[0], 0xaa);
	close(fd);
	dma_space_free(s);
}

static void test_words(void **state)
{
	struct dma_space *s = new_space(0);
	int fd = memfd(2);
	u32 v32 = 0;
	u64 v64 = 0;

	assert_int_equal(dma_map(s, 0x1000, PAGE, DMA_PROT_RW, fd, 0), 0);
	assert_int_equal(dma_map(s, 0x3000, PAGE, DMA_PROT_READ, fd, PAGE), 0);
	assert_int_equal(dma_write_le64(s, 0x1ff8, 0x1122334455667788ULL), 0);
	assert_int_equal(dma_read_le64(s, 0x1ff8, &v64), 0);
	assert_true(v64 == 0x1122334455667788ULL);
	assert_int_equal(dma_read_le32(s, 0x1ffc, &v32), 0);
	assert_int_equal(v32, 0x11223344);
	assert_int_equal(dma_write_le32(s, 0x1ff8, 5), 0);
	assert_int_equal(dma_read_le64(s, 0x1ff8, &v64), 0);
	assert_true(v64 == 0x1122334400000005ULL);
	assert_int_equal(dma_read_le32(s, 0x1002, &v32), -EFAULT);
	assert_int_equal(dma_read_le64(s, 0x1004, &v64), -EFAULT);
	assert_int_equal(dma_write_le64(s, 0x2000, 0), -EFAULT);
	assert_int_equal(dma_write_le32(s, 0x3000, 0), -EFAULT);
	assert_int_equal(dma_read_le32(s, 0x3000, &v32), 0);
	close(fd);
	dma_space_free(s);
}

static void test_bus_master(void **state)
{
	struct dma_space *s = dma_space_new(0);
	int fd = memfd(2);
	struct iovec iov;
	u64 v, gen;

	assert_int_equal(dma_map(s, 0x1000, PAGE, DMA_PROT_RW, fd, 0), 0);
	assert_false(dma_enabled(s));
	assert_null(dma_ptr(s, 0x1000, 1, DMA_PROT_READ));
	assert_int_equal(dma_iov(s, 0x1000, 1, DMA_PROT_READ, &iov, 1), -EFAULT);
	assert_int_equal(dma_read(s, 0x1000, &v, 8), -EFAULT);
	assert_int_equal(dma_write(s, 0x1000, &v, 8), -EFAULT);
	assert_int_equal(dma_read_le64(s, 0x1000, &v), -EFAULT);
	gen = dma_gen(s);
	dma_set_enabled(s, true);
	assert_true(dma_gen(s) > gen);
	assert_non_null(dma_ptr(s, 0x1000, 1, DMA_PROT_READ));
	dma_set_enabled(s, false);
	assert_null(dma_ptr(s, 0x1000, 1, DMA_PROT_READ));
	close(fd);
	dma_space_free(s);
}

/* Random table against a page-by-page model. */
static void test_model(void **state)
{
	enum {
		PAGES = 64,
		SPAN = 4
	};
	struct dma_space *s = new_space(0);
	u8 owner[PAGES + SPAN] = {0}; /* index of the mapping + 1 */
	u64 begin[PAGES], len[PAGES];
	int fd = memfd(PAGES), step;
	u64 a, n, i;

	srand(6);
	memset(len, 0, sizeof(len));
	for (step = 0; step < 20000; step++) {
		a = (u64)rand() % (PAGES - SPAN);
		n = 1 + (u64)rand() % SPAN;
		if (rand() % 2) {
			bool busy = false;
			u64 slot = 0;

			for (i = a; i < a + n; i++)
				busy |= owner[i];
			assert_int_equal(dma_map(s, a * PAGE, n * PAGE, DMA_PROT_RW, fd, a * PAGE),
					 busy ? -EEXIST : 0);
			if (busy)
				continue;
			while (len[slot])
				slot++;
			begin[slot] = a;
			len[slot] = n;
			memset(owner + a, (int)slot + 1, n);
		} else if (owner[a]) {
			u64 slot = owner[a] - 1u;

			assert_int_equal(dma_unmap(s, begin[slot] * PAGE, len[slot] * PAGE, NULL),
					 0);
			memset(owner + begin[slot], 0, len[slot]);
			len[slot] = 0;
		}
		a = (u64)rand() % PAGES;
		assert_int_equal(!!dma_ptr(s, a * PAGE + 17, 100, DMA_PROT_RW), !!owner[a]);
		assert_int_equal(!!dma_ptr(s, a * PAGE, 2 * PAGE, DMA_PROT_RW),
				 owner[a] && owner[a] == owner[a + 1]);
	}
	close(fd);
	dma_space_free(s);
}

static void test_limit(void **state)
{
	struct dma_space *s = new_space(100);
	int fd = memfd(1), i;

	for (i = 0; i < 100; i++)
		assert_int_equal(dma_map(s, (u64)i * 2 * PAGE, PAGE, DMA_PROT_RW, fd, 0), 0);
	assert_int_equal(dma_map(s, 1ull << 40, PAGE, DMA_PROT_RW, fd, 0), -ENOSPC);
	assert_int_equal(dma_unmap(s, 0, PAGE, NULL), 0);
	assert_int_equal(dma_map(s, 1ull << 40, PAGE, DMA_PROT_RW, fd, 0), 0);
	assert_int_equal(dma_count(s), 100);
	close(fd);
	dma_space_free(s);
}

/* The VMM shrinks the file under us: the access completes, the mapping is dead. */
static void test_truncated(void **state)
{
	struct dma_space *s = new_space(0);
	int fd = memfd(4);
	volatile u8 *p;
	u8 byte = 7;

	assert_int_equal(dma_sigbus_guard(), 0);
	assert_int_equal(dma_sigbus_guard(), 0);
	assert_int_equal(dma_map(s, 0x10000, 4 * PAGE, DMA_PROT_RW, fd, 0), 0);
	p = dma_ptr(s, 0x10000, 4 * PAGE, DMA_PROT_RW);
	p[3 * PAGE] = 9;
	assert_int_equal(dma_lost(s), 0);
	assert_int_equal(ftruncate(fd, PAGE), 0);
	assert_int_equal(p[3 * PAGE], 0);
	p[2 * PAGE] = 5;
	assert_int_equal(dma_lost(s), 1);
	assert_null(dma_ptr(s, 0x10000, 1, DMA_PROT_RW));
	assert_int_equal(dma_read(s, 0x10000, &byte, 1), -EFAULT);
	assert_int_equal(byte, 7);
	assert_int_equal(dma_unmap(s, 0x10000, 4 * PAGE, NULL), 0);
	/* Within one copy too. */
	assert_int_equal(ftruncate(fd, 4 * PAGE), 0);
	assert_int_equal(dma_map(s, 0x10000, 4 * PAGE, DMA_PROT_RW, fd, 0), 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	dma_read(s, 0x10000, &byte, 1);
	assert_int_equal(byte, 0);
	assert_int_equal(dma_lost(s), 1);
	close(fd);
	dma_space_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map_arguments), cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_unmap),	      cmocka_unit_test(test_translation),
		cmocka_unit_test(test_words),	      cmocka_unit_test(test_bus_master),
		cmocka_unit_test(test_model),	      cmocka_unit_test(test_limit),
		cmocka_unit_test(test_truncated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
