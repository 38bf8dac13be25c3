// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The vfio-user protocol under hostile input: each command with wrong sizes, flags, counts and
 * descriptors gets an error reply and changes nothing; what breaks the framing ends the connection.
 * After each, a good VMM is served, and no file descriptor is left behind.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "fake_dev.h"

static struct fake f;
static int fds_before;

static int setup(void **state)
{
	fds_before = count_fds();
	fake_start(&f);
	return 0;
}

static int setup_raw(void **state)
{
	fds_before = count_fds();
	fake_connect(&f);
	return 0;
}

static int teardown(void **state)
{
	fake_end(&f);
	assert_int_equal(count_fds(), fds_before);
	return 0;
}

static int call(u16 cmd, const void *body, u32 len)
{
	return vc_call(f.c, cmd, body, len, NULL, 0, NULL, NULL);
}

static void assert_alive(void)
{
	assert_int_equal(vc_read32(f.c, VC_REGION_CONFIG, 0), 0x0e571234);
}

/* The connection ended, the device was told, and the next VMM is served. */
static void assert_thrown_out(void)
{
	u64 bad = vfu_stats(f.dev)->disconnects_bad;

	assert_true(vc_is_closed(f.c));
	fake_run(&f);
	assert_true(vfu_stats(f.dev)->disconnects_bad > 0);
	assert_true(vfu_stats(f.dev)->disconnects_bad >= bad);
	assert_false(vfu_is_attached(f.dev));
	assert_int_equal(dma_count(vfu_dma(f.dev)), 0);
	vc_close(f.c);
	fake_reconnect(&f);
	assert_int_equal(vc_start(f.c), 0);
	assert_alive();
}

/* ---- framing ---- */

static void send_header(u16 cmd, u32 size, u32 flags)
{
	struct vfio_user_hdr hdr = {.id = 99, .cmd = cmd, .size = size, .flags = flags};

	assert_int_equal(vc_send_raw(f.c, &hdr, sizeof(hdr), NULL, 0), 0);
}

static void test_broken_framing(void **state)
{
	static const u32 sizes[] = {0, 1, 15, 65536 + 33, 1 << 20, 0x7fffffff, 0xffffffff};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		send_header(VFIO_USER_REGION_READ, sizes[i], 0);
		assert_thrown_out();
	}
	/* A reply to something that was never asked. */
	send_header(VFIO_USER_DMA_READ, 16, VFIO_USER_F_TYPE_REPLY);
	assert_thrown_out();
	print_message("%zu broken headers, each ended the connection\n", i + 1);
}

static void test_flags(void **state)
{
	struct vfio_user_device_info info = {.argsz = sizeof(info)};
	static const u32 flags[] = {2, 3, 15, 0x20, 0x40, 0x80000000, 0x12};
	struct vfio_user_hdr hdr;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		int id = vc_send(f.c, VFIO_USER_DEVICE_GET_INFO, flags[i], &info, sizeof(info),
				 NULL, 0);

		assert_true(id > 0);
		if (flags[i] & VFIO_USER_F_NO_REPLY)
			continue;
		assert_int_equal(vc_recv(f.c, &hdr, NULL, NULL), -EINVAL);
		assert_int_equal(hdr.id, id);
		/* An error reply is only a header. */
		assert_int_equal(hdr.size, sizeof(hdr));
	}
	/* An error is not told to who wants no reply. */
	vc_send(f.c, 77, VFIO_USER_F_NO_REPLY, NULL, 0, NULL, 0);
	assert_alive();
}

static void test_byte_by_byte(void **state)
{
	struct {
		struct vfio_user_hdr hdr;
		struct vfio_user_region_rw rw;
		u8 val[4];
	} __attribute__((packed)) msg = {
		.hdr = {.id = 5, .cmd = VFIO_USER_REGION_WRITE, .size = sizeof(msg)},
		.rw = {.offset = 0x20, .region = 0, .count = 4},
		.val = {1, 2, 3, 4},
	};
	struct vfio_user_hdr hdr;
	size_t i;
	int round;

	for (round = 0; round < 3; round++) {
		f.n_writes = 0;
		for (i = 0; i < sizeof(msg); i++) {
			assert_int_equal(f.n_writes, 0);
			assert_int_equal(vc_send_raw(f.c, (u8 *)&msg + i, 1, NULL, 0), 0);
			fake_run(&f);
		}
		assert_int_equal(vc_recv(f.c, &hdr, NULL, NULL), 0);
		assert_int_equal(f.n_writes, 1);
		assert_int_equal(f.last.val, 0x04030201);
	}
}

/* Many messages in one write, cut anywhere; an odd one in the middle. */
static void test_glued(void **state)
{
	enum {
		N = 300
	};
	u8 *buf = malloc(N * 64), *p = buf;
	struct vfio_user_hdr hdr, got;
	struct vfio_user_region_rw rw;
	size_t len, cut;
	u32 i, reply_len;
	int ret;

	for (i = 0; i < N; i++) {
		hdr = (struct vfio_user_hdr){.id = (u16)i, .cmd = VFIO_USER_REGION_READ};
		rw = (struct vfio_user_region_rw){.offset = 4 * i, .region = 0, .count = 4};
		hdr.size = sizeof(hdr) + sizeof(rw);
		if (i % 50 == 17)
			hdr.cmd = 99;
		memcpy(p, &hdr, sizeof(hdr));
		memcpy(p + sizeof(hdr), &rw, sizeof(rw));
		p += hdr.size;
	}
	len = (size_t)(p - buf);
	for (cut = 1; cut < 200; cut += 37) {
		assert_int_equal(vc_send_raw(f.c, buf, cut, NULL, 0), 0);
		fake_run(&f);
		assert_int_equal(vc_send_raw(f.c, buf + cut, len - cut, NULL, 0), 0);
		for (i = 0; i < N; i++) {
			u8 body[20];

			reply_len = sizeof(body);
			ret = vc_recv(f.c, &got, body, &reply_len);
			assert_int_equal(got.id, i);
			assert_int_equal(ret, i % 50 == 17 ? -EOPNOTSUPP : 0);
			if (!ret)
				assert_int_equal(get_le32(body + 16), 4 * i);
		}
	}
	free(buf);
}

/* A VMM that sends and never reads cannot make us buffer without bound; nor does it lose anything.
 */
static void test_no_reading(void **state)
{
	struct vfio_user_region_rw rw = {.offset = 0, .region = VC_REGION_CONFIG, .count = 4096};
	struct vfio_user_hdr hdr = {
		.cmd = VFIO_USER_REGION_READ,
		.size = sizeof(hdr) + sizeof(rw),
	};
	u8 msg[sizeof(hdr) + sizeof(rw)];
	int sent = 0, got = 0;
	u64 handled, i;

	memcpy(msg + sizeof(hdr), &rw, sizeof(rw));
	for (;;) {
		hdr.id = (u16)sent;
		memcpy(msg, &hdr, sizeof(hdr));
		if (send(vc_fd(f.c), msg, sizeof(msg), MSG_DONTWAIT) != sizeof(msg))
			break;
		sent++;
		if (sent % 16 == 0)
			fake_run(&f);
	}
	fake_run(&f);
	handled = vfu_stats(f.dev)->messages;
	for (i = 0; i < 10; i++)
		fake_run(&f);
	assert_true(vfu_stats(f.dev)->messages == handled);
	assert_true(handled < (u64)sent);
	while (got < sent) {
		assert_int_equal(vc_recv(f.c, &hdr, NULL, NULL), 0);
		assert_int_equal(hdr.id, (u16)got);
		assert_int_equal(hdr.size, 16 + 16 + 4096);
		got++;
	}
	print_message("%d requests, %llu handled before the first reply was read\n", sent, handled);
	assert_alive();
}

/* ---- VERSION ---- */

static int version(u16 major, u16 minor, const char *json, size_t json_len, char *out)
{
	struct vfio_user_version v = {.major = major, .minor = minor};
	u8 msg[4096];
	u32 len = 1024;

	memcpy(msg, &v, sizeof(v));
	memcpy(msg + sizeof(v), json, json_len);
	return vc_call(f.c, VFIO_USER_VERSION, msg, (u32)(sizeof(v) + json_len), NULL, 0, out,
		       &len);
}

static void test_version_first(void **state)
{
	static const u16 cmds[] = {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 0, 65535};
	u8 body[64] = {0};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cmds); i++)
		assert_true(call(cmds[i], body, sizeof(body)) < 0);
	assert_int_equal(f.resets[VFU_RESET_DEVICE], 0);
	assert_int_equal(f.attached, 0);
	assert_int_equal(vc_start(f.c), 0);
	assert_int_equal(f.attached, 1);
	/* Once only. */
	assert_int_equal(vc_negotiate(f.c), -EINVAL);
	assert_alive();
}

static void test_version_values(void **state)
{
	char out[1024];
	struct vfio_user_version v;

	assert_int_equal(call(VFIO_USER_VERSION, "abc", 3), -EINVAL);
	assert_int_equal(version(0, 0, "{\"a\":1}", 7, out), -EINVAL); /* no NUL */
	assert_int_equal(version(0, 0, "{\"a\":", 6, out), -EINVAL);
	assert_int_equal(version(0, 7, "", 1, out), 0);
	memcpy(&v, out, sizeof(v));
	assert_int_equal(v.major, 0);
	assert_int_equal(v.minor, 1);
	/* Only what was offered may be in the answer. */
	assert_null(strstr(out + sizeof(v), "write_multiple"));
	assert_non_null(strstr(out + sizeof(v), "\"max_dma_maps\":64"));
	vc_close(f.c);
	fake_run(&f);
	fake_reconnect(&f);
	assert_int_equal(version(0, 0, "{\"capabilities\":{\"write_multiple\":true}}", 41, out), 0);
	memcpy(&v, out, sizeof(v));
	assert_int_equal(v.minor, 0);
	assert_non_null(strstr(out + sizeof(v), "\"write_multiple\":true"));
	vc_close(f.c);
	fake_run(&f);
	fake_reconnect(&f);
	/* A bare version without text is enough. */
	assert_int_equal(version(0, 0, "", 0, out), 0);
	vc_close(f.c);
	fake_run(&f);
	fake_reconnect(&f);
	assert_int_equal(version(1, 0, "{}", 3, out), -EINVAL);
	assert_thrown_out();
}

/* ---- sizes of all commands ---- */

static const struct {
	u16 cmd;
	u32 len;
} known[] = {
	{VFIO_USER_DMA_MAP, 32},
	{VFIO_USER_DMA_UNMAP, 24},
	{VFIO_USER_DEVICE_GET_INFO, 16},
	{VFIO_USER_DEVICE_GET_REGION_INFO, 32},
	{VFIO_USER_DEVICE_GET_IRQ_INFO, 16},
	{VFIO_USER_DEVICE_SET_IRQS, 20},
	{VFIO_USER_REGION_READ, 16},
	{VFIO_USER_REGION_WRITE, 17},
	{VFIO_USER_REGION_WRITE_MULTI, 8},
};

static void test_short_bodies(void **state)
{
	u8 body[64] = {0};
	u32 len, n = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		for (len = 0; len < known[i].len; len++, n++) {
			/* Plausible first words, so that only the length is wrong. */
			put_le32(body, 64);
			assert_int_equal(call(known[i].cmd, body, len), -EINVAL);
		}
	}
	print_message("%u short bodies refused\n", n);
	assert_alive();
}

static void test_unknown_commands(void **state)
{
	u8 body[64] = {0};
	u32 cmd, n = 0;

	for (cmd = 0; cmd < 65536; cmd += cmd < 40 ? 1 : 4093) {
		if ((cmd >= 1 && cmd <= 5) || (cmd >= 7 && cmd <= 10) || cmd == 13 || cmd == 15)
			continue;
		assert_int_equal(call((u16)cmd, body, sizeof(body)), -EOPNOTSUPP);
		n++;
	}
	print_message("%u unknown commands refused\n", n);
	assert_alive();
}

/* Descriptors where none belong: refused and closed. */
static void test_stray_fds(void **state)
{
	int fd = eventfd(0, 0), pair[2] = {fd, fd}, before = count_fds(), many[253];
	u8 body[64] = {0};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		if (known[i].cmd == VFIO_USER_DMA_MAP || known[i].cmd == VFIO_USER_DEVICE_SET_IRQS)
			continue;
		put_le32(body, 64);
		assert_int_equal(
			vc_call(f.c, known[i].cmd, body, known[i].len, pair, 2, NULL, NULL),
			-EINVAL);
	}
	assert_int_equal(vc_call(f.c, VFIO_USER_DEVICE_RESET, NULL, 0, pair, 1, NULL, NULL),
			 -EINVAL);
	assert_int_equal(vc_call(f.c, 1234, body, 8, pair, 2, NULL, NULL), -EOPNOTSUPP);
	assert_int_equal(count_fds(), before);
	assert_alive();
	/* In the middle of a message that never ends: closed with the connection. */
	send_header(VFIO_USER_REGION_WRITE, 1000, 0);
	assert_int_equal(vc_send_raw(f.c, body, 10, pair, 2), 0);
	fake_run(&f);
	assert_int_equal(count_fds(), before + 2);
	vc_close(f.c);
	fake_run(&f);
	fake_reconnect(&f);
	assert_int_equal(vc_start(f.c), 0);
	assert_int_equal(count_fds(), before);
	/* More than we said we take. */
	for (i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = fd;
	assert_true(vc_send(f.c, VFIO_USER_DEVICE_SET_IRQS, 0, body, 20, many, 17) > 0);
	assert_thrown_out();
	assert_true(vc_send(f.c, VFIO_USER_DEVICE_SET_IRQS, 0, body, 20, many, 253) > 0);
	assert_thrown_out();
	/* Or little by little with the bytes of one message. */
	for (i = 0; i < 17; i++) {
		struct vfio_user_hdr hdr = {.cmd = 8, .size = 1000};

		if (vc_send_raw(f.c, (u8 *)&hdr + i % 16, 1, &fd, 1))
			break;
		fake_run(&f);
	}
	assert_thrown_out();
	assert_int_equal(count_fds(), before);
	close(fd);
}

/* ---- memory ---- */

static int map(u32 argsz, u32 flags, u64 off, u64 iova, u64 size, int *fds, u32 nfds)
{
	struct vfio_user_dma_map r = {argsz, flags, off, iova, size};

	return vc_call(f.c, VFIO_USER_DMA_MAP, &r, sizeof(r), fds, nfds, NULL, NULL);
}

static int unmap(u32 argsz, u32 flags, u64 iova, u64 size, struct vfio_user_dma_unmap *reply)
{
	struct vfio_user_dma_unmap r = {argsz, flags, iova, size};
	u32 len = sizeof(*reply);

	return vc_call(f.c, VFIO_USER_DMA_UNMAP, &r, sizeof(r), NULL, 0, reply,
		       reply ? &len : NULL);
}

static void test_dma_map(void **state)
{
	int fd = memfd_create("m", MFD_CLOEXEC), fds[2] = {fd, fd}, before;
	struct vfio_user_dma_unmap reply;

	assert_int_equal(ftruncate(fd, 0x10000), 0);
	before = count_fds();
	assert_int_equal(map(31, 3, 0, 0, 0x1000, fds, 1), -EINVAL);
	assert_int_equal(map(32, 4, 0, 0, 0x1000, fds, 1), -EINVAL);
	assert_int_equal(map(32, 0xffffffff, 0, 0, 0x1000, fds, 1), -EINVAL);
	assert_int_equal(map(32, 3, 0, 0, 0x1000, fds, 2), -EINVAL);
	assert_int_equal(map(32, 3, 0, 0, 0, fds, 1), -EINVAL);
	assert_int_equal(map(32, 3, 0, 0x10, 0x1000, fds, 1), -EINVAL);
	assert_int_equal(map(32, 3, 0, 0, 0x1001, fds, 1), -EINVAL);
	assert_int_equal(map(32, 3, 1, 0, 0x1000, fds, 1), -EINVAL);
	assert_int_equal(map(32, 3, 0, 0, 0x11000, fds, 1), -EINVAL);
	assert_int_equal(map(32, 3, UINT64_MAX - 0xfff, 0, 0x2000, fds, 1), -EINVAL);
	assert_int_equal(map(32, 3, 0, UINT64_MAX - 0xfff, 0x2000, fds, 1), -EINVAL);
	assert_int_equal(map(32, 3, 0, 0, UINT64_MAX - 0xfff, NULL, 0), 0);
	assert_int_equal(map(32, 3, 0, 0x5000, 0x1000, fds, 1), -EEXIST);
	assert_int_equal(unmap(24, 0, 0, UINT64_MAX - 0xfff, NULL), 0);
	assert_int_equal(map(32, 3, 0, 0x5000, 0x2000, fds, 1), 0);
	assert_int_equal(map(32, 3, 0, 0x6000, 0x2000, fds, 1), -EEXIST);
	assert_int_equal(map(32, 1, 0, 0x7000, 0x1000, NULL, 0), 0);
	/* Descriptors are not kept: the mapping holds the memory. */
	assert_int_equal(count_fds(), before);
	assert_int_equal(unmap(23, 0, 0x5000, 0x2000, NULL), -EINVAL);
	assert_int_equal(unmap(24, 4, 0x5000, 0x2000, NULL), -EINVAL);
	assert_int_equal(unmap(24, 1, 0x5000, 0x2000, NULL), -EOPNOTSUPP);
	assert_int_equal(unmap(24, 0, 0x5000, 0x1000, NULL), -EINVAL);
	assert_int_equal(unmap(24, 0, 0x9000, 0x1000, NULL), -ENOENT);
	assert_int_equal(unmap(24, 0, 0x5000, 0, NULL), -EINVAL);
	assert_int_equal(unmap(24, 2, 0x5000, 0x2000, NULL), -EINVAL);
	assert_int_equal(dma_count(vfu_dma(f.dev)), 2);
	assert_int_equal(unmap(24, 0, 0x5000, 0x2000, &reply), 0);
	assert_int_equal(reply.size, 0x2000);
	assert_int_equal(reply.iova, 0x5000);
	assert_int_equal(unmap(24, 2, 0, 0, NULL), 0);
	assert_int_equal(dma_count(vfu_dma(f.dev)), 0);
	close(fd);
}

static void test_map_limit(void **state)
{
	int fd = memfd_create("m", MFD_CLOEXEC), before, refused = 0, ret;
	u64 i;

	assert_int_equal(ftruncate(fd, 0x1000), 0);
	before = count_fds();
	for (i = 0; i < 100000; i++) {
		/* Each time with a descriptor for the first few thousand, then without. */
		ret = map(32, 3, 0, i * 0x2000, 0x1000, &fd, i < 3000);
		assert_int_equal(ret, i < 64 ? 0 : -ENOSPC);
		refused += ret != 0;
	}
	assert_int_equal(dma_count(vfu_dma(f.dev)), 64);
	assert_int_equal(count_fds(), before);
	print_message("64 of 100000 mappings taken, %d refused\n", refused);
	close(fd);
	assert_alive();
}

/* ---- information ---- */

static void test_info(void **state)
{
	struct vfio_user_device_info d = {.argsz = 15};
	struct vfio_user_region_info r = {.argsz = 31};
	struct vfio_user_irq_info q = {.argsz = 15};
	u32 i, len;

	assert_int_equal(call(VFIO_USER_DEVICE_GET_INFO, &d, sizeof(d)), -EINVAL);
	assert_int_equal(call(VFIO_USER_DEVICE_GET_REGION_INFO, &r, sizeof(r)), -EINVAL);
	assert_int_equal(call(VFIO_USER_DEVICE_GET_IRQ_INFO, &q, sizeof(q)), -EINVAL);
	r.argsz = 32;
	r.index = 9;
	assert_int_equal(call(VFIO_USER_DEVICE_GET_REGION_INFO, &r, sizeof(r)), -EINVAL);
	r.index = UINT32_MAX;
	assert_int_equal(call(VFIO_USER_DEVICE_GET_REGION_INFO, &r, sizeof(r)), -EINVAL);
	q.argsz = 16;
	q.index = 5;
	assert_int_equal(call(VFIO_USER_DEVICE_GET_IRQ_INFO, &q, sizeof(q)), -EINVAL);
	/* Garbage in the fields that are the answer's is ignored. */
	memset(&d, 0xff, sizeof(d));
	len = sizeof(d);
	assert_int_equal(vc_call(f.c, VFIO_USER_DEVICE_GET_INFO, &d, sizeof(d), NULL, 0, &d, &len),
			 0);
	assert_int_equal(len, 16);
	assert_int_equal(d.flags, 3);
	assert_int_equal(d.num_regions, 9);
	assert_int_equal(d.num_irqs, 5);
	for (i = 0; i < 9; i++) {
		bool there = i == 0 || i == 2 || i == 4 || i == 7;

		memset(&r, 0xff, sizeof(r));
		r.index = i;
		len = sizeof(r);
		assert_int_equal(vc_call(f.c, VFIO_USER_DEVICE_GET_REGION_INFO, &r, sizeof(r), NULL,
					 0, &r, &len),
				 0);
		/* Never the mmap flag: it would end posted writes. */
		assert_int_equal(r.flags, there ? 3 : 0);
		assert_int_equal(r.argsz, 32);
		assert_int_equal(r.cap_offset, 0);
	}
	for (i = 0; i < 5; i++) {
		q = (struct vfio_user_irq_info){.argsz = 16, .index = i};
		len = sizeof(q);
		assert_int_equal(vc_call(f.c, VFIO_USER_DEVICE_GET_IRQ_INFO, &q, sizeof(q), NULL, 0,
					 &q, &len),
				 0);
		assert_int_equal(q.count, i == VFU_IRQ_MSIX ? FAKE_VECTORS : i == VFU_IRQ_ERR);
		assert_int_equal(q.flags, q.count ? VFIO_USER_IRQ_F_EVENTFD : 0);
	}
}

/* ---- interrupts ---- */

static int irqs(u32 argsz, u32 flags, u32 index, u32 start, u32 count, int *fds, u32 nfds)
{
	struct vfio_user_irq_set r = {argsz, flags, index, start, count};

	return vc_call(f.c, VFIO_USER_DEVICE_SET_IRQS, &r, sizeof(r), fds, nfds, NULL, NULL);
}

#define EVENTFD_TRIGGER (VFIO_USER_IRQ_DATA_EVENTFD | VFIO_USER_IRQ_ACTION_TRIGGER)
#define NONE_TRIGGER	(VFIO_USER_IRQ_DATA_NONE | VFIO_USER_IRQ_ACTION_TRIGGER)

static void test_set_irqs_refused(void **state)
{
	static const struct {
		u32 argsz, flags, index, start, count, nfds;
		int want;
	} bad[] = {
		{19, EVENTFD_TRIGGER, 2, 0, 1, 1, -EINVAL},
		{20, 0, 2, 0, 1, 0, -EINVAL},
		{20, VFIO_USER_IRQ_DATA_NONE, 2, 0, 1, 0, -EINVAL},
		{20, VFIO_USER_IRQ_ACTION_TRIGGER, 2, 0, 1, 0, -EINVAL},
		{20, EVENTFD_TRIGGER | VFIO_USER_IRQ_DATA_NONE, 2, 0, 1, 1, -EINVAL},
		{20, EVENTFD_TRIGGER | VFIO_USER_IRQ_ACTION_MASK, 2, 0, 1, 1, -EINVAL},
		{20, EVENTFD_TRIGGER | 0x40, 2, 0, 1, 1, -EINVAL},
		{20, EVENTFD_TRIGGER, 5, 0, 1, 1, -EINVAL},
		{20, EVENTFD_TRIGGER, UINT32_MAX, 0, 1, 1, -EINVAL},
		{20, EVENTFD_TRIGGER, 2, FAKE_VECTORS, 1, 1, -EINVAL},
		{20, EVENTFD_TRIGGER, 2, FAKE_VECTORS - 1, 2, 2, -EINVAL},
		{20, EVENTFD_TRIGGER, 2, UINT32_MAX, 2, 2, -EINVAL},
		{20, EVENTFD_TRIGGER, 2, 2, UINT32_MAX, 1, -EINVAL},
		{20, EVENTFD_TRIGGER, 2, 0, 0, 0, -EINVAL},
		{20, EVENTFD_TRIGGER, 2, 0, 2, 1, -EINVAL},
		{20, EVENTFD_TRIGGER, 2, 0, 1, 2, -EINVAL},
		{20, EVENTFD_TRIGGER, 0, 0, 1, 1, -EINVAL},
		{20, EVENTFD_TRIGGER, 1, 0, 1, 1, -EINVAL},
		{20, NONE_TRIGGER, 2, 1, 0, 0, -EINVAL},
		{20, NONE_TRIGGER, 2, 0, 1, 1, -EINVAL},
		{20, VFIO_USER_IRQ_DATA_BOOL | VFIO_USER_IRQ_ACTION_TRIGGER, 2, 0, 4, 0, -EINVAL},
		{20, VFIO_USER_IRQ_DATA_NONE | VFIO_USER_IRQ_ACTION_MASK, 2, 0, 1, 0, -EOPNOTSUPP},
		{20, VFIO_USER_IRQ_DATA_EVENTFD | VFIO_USER_IRQ_ACTION_UNMASK, 2, 0, 1, 1,
		 -EOPNOTSUPP},
	};
	int fd = eventfd(0, EFD_NONBLOCK), pair[2] = {fd, fd}, before = count_fds();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		if (irqs(bad[i].argsz, bad[i].flags, bad[i].index, bad[i].start, bad[i].count, pair,
			 bad[i].nfds) != bad[i].want)
			fail_msg("case %zu", i);
	assert_int_equal(count_fds(), before);
	print_message("%zu wrong SET_IRQS refused\n", i);
	close(fd);
	assert_alive();
}

static void test_set_irqs(void **state)
{
	int fd = eventfd(0, EFD_NONBLOCK), other = eventfd(0, EFD_NONBLOCK), before = count_fds();
	struct {
		struct vfio_user_irq_set r;
		u8 on[4];
	} b = {{24, VFIO_USER_IRQ_DATA_BOOL | VFIO_USER_IRQ_ACTION_TRIGGER, 2, 0, 4}, {0, 1, 0, 0}};
	u64 v;

	/* QEMU turns INTx off although there is none; and sets the error interrupt. */
	assert_int_equal(irqs(20, NONE_TRIGGER, 0, 0, 0, NULL, 0), 0);
	assert_int_equal(irqs(20, EVENTFD_TRIGGER, 3, 0, 1, &fd, 1), 0);
	/* QEMU's first step: no descriptor means clear. */
	assert_int_equal(irqs(20, EVENTFD_TRIGGER, 2, 0, 1, NULL, 0), 0);
	assert_int_equal(count_fds(), before);
	assert_int_equal(irqs(20, EVENTFD_TRIGGER, 2, 1, 1, &fd, 1), 0);
	assert_int_equal(count_fds(), before + 1);
	/* The VMM fires it itself. */
	assert_int_equal(call(VFIO_USER_DEVICE_SET_IRQS, &b, sizeof(b)), 0);
	assert_int_equal(read(fd, &v, 8), 8);
	assert_int_equal(v, 1);
	assert_int_equal(irqs(20, NONE_TRIGGER, 2, 0, FAKE_VECTORS, NULL, 0), 0);
	assert_int_equal(read(fd, &v, 8), 8);
	assert_int_equal(v, 1);
	/* Attached anew: the old one is closed. */
	assert_int_equal(irqs(20, EVENTFD_TRIGGER, 2, 1, 1, &other, 1), 0);
	assert_int_equal(count_fds(), before + 1);
	assert_int_equal(irqs(20, NONE_TRIGGER, 2, 1, 1, NULL, 0), 0);
	assert_int_equal(read(fd, &v, 8), -1);
	assert_int_equal(read(other, &v, 8), 8);
	/* A full counter does not block the device. */
	v = UINT64_MAX - 1;
	assert_int_equal(write(other, &v, 8), 8);
	assert_int_equal(irqs(20, NONE_TRIGGER, 2, 1, 1, NULL, 0), 0);
	assert_int_equal(irqs(20, NONE_TRIGGER, 2, 0, 0, NULL, 0), 0);
	assert_int_equal(count_fds(), before);
	close(fd);
	close(other);
}

/* ---- regions ---- */

static void test_region_messages(void **state)
{
	u8 body[16 + 64] = {0}, *big = calloc(1, 70000);
	struct vfio_user_region_rw rw = {.region = 0, .count = 0};

	assert_int_equal(call(VFIO_USER_REGION_READ, &rw, sizeof(rw)), -EINVAL);
	rw.count = 65537;
	assert_int_equal(call(VFIO_USER_REGION_READ, &rw, sizeof(rw)), -EINVAL);
	rw.count = UINT32_MAX;
	assert_int_equal(call(VFIO_USER_REGION_READ, &rw, sizeof(rw)), -EINVAL);
	/* The announced limit itself works. */
	rw.count = 65536;
	assert_int_equal(call(VFIO_USER_REGION_READ, &rw, sizeof(rw)), 0);
	memcpy(big, &rw, sizeof(rw));
	assert_int_equal(call(VFIO_USER_REGION_WRITE, big, 16 + 65536), 0);
	/* Count beyond the data that came. */
	rw.count = 65;
	memcpy(body, &rw, sizeof(rw));
	assert_int_equal(call(VFIO_USER_REGION_WRITE, body, sizeof(body)), -EINVAL);
	rw.count = UINT32_MAX;
	memcpy(body, &rw, sizeof(rw));
	assert_int_equal(call(VFIO_USER_REGION_WRITE, body, sizeof(body)), -EINVAL);
	rw.count = 0;
	memcpy(body, &rw, sizeof(rw));
	assert_int_equal(call(VFIO_USER_REGION_WRITE, body, sizeof(body)), -EINVAL);
	assert_int_equal(f.n_writes, 0);
	free(big);
}

static void put_one(u8 *p, u64 off, u32 region, u32 count)
{
	struct vfio_user_write_one w = {.offset = off, .region = region, .count = count};

	memcpy(p, &w, sizeof(w));
}

static void test_write_multi(void **state)
{
	u8 body[8 + 3 * 24] = {0};
	u64 n = 3;

	put_one(body + 8, 0, 0, 4);
	put_one(body + 32, 8, 0, 8);
	put_one(body + 56, 16, 2, 8);
	/* A count that is larger than the message, also by wrap of the product. */
	static const u64 counts[] = {4, 5, UINT64_MAX, UINT64_MAX / 24 + 2, 1ULL << 32};
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		memcpy(body, &counts[i], 8);
		assert_int_equal(call(VFIO_USER_REGION_WRITE_MULTI, body, sizeof(body)), -EINVAL);
	}
	/* One bad entry and none is carried out. */
	memcpy(body, &n, 8);
	put_one(body + 56, 16, 2, 9);
	assert_int_equal(call(VFIO_USER_REGION_WRITE_MULTI, body, sizeof(body)), -EINVAL);
	put_one(body + 56, 16, 2, 0);
	assert_int_equal(call(VFIO_USER_REGION_WRITE_MULTI, body, sizeof(body)), -EINVAL);
	put_one(body + 56, 16, 1, 8);
	assert_int_equal(call(VFIO_USER_REGION_WRITE_MULTI, body, sizeof(body)), -EINVAL);
	put_one(body + 56, 16, 77, 8);
	assert_int_equal(call(VFIO_USER_REGION_WRITE_MULTI, body, sizeof(body)), -EINVAL);
	assert_int_equal(f.n_writes, 0);
	put_one(body + 56, 16, 2, 8);
	u64 done = 0;
	u32 len = 8;
	assert_int_equal(vc_call(f.c, VFIO_USER_REGION_WRITE_MULTI, body, sizeof(body), NULL, 0,
				 &done, &len),
			 0);
	assert_int_equal(done, 3);
	assert_int_equal(f.n_writes, 3);
	n = 0;
	memcpy(body, &n, 8);
	assert_int_equal(call(VFIO_USER_REGION_WRITE_MULTI, body, sizeof(body)), 0);
}

static void test_reset_message(void **state)
{
	u8 byte = 0;

	assert_int_equal(call(VFIO_USER_DEVICE_RESET, &byte, 1), -EINVAL);
	assert_int_equal(f.resets[VFU_RESET_DEVICE], 0);
	assert_int_equal(vc_device_reset(f.c), 0);
	assert_int_equal(f.resets[VFU_RESET_DEVICE], 1);
}

/* ---- VMMs that come and go ---- */

static void test_reattach(void **state)
{
	int before = count_fds(), i;

	for (i = 0; i < 50; i++) {
		assert_int_equal(vc_ram_add(f.c, 0, 0x10000), 0);
		assert_int_equal(vc_pci_enable(f.c, true), 0);
		assert_int_equal(vc_msix_enable(f.c, 4), 0);
		vc_close(f.c);
		fake_run(&f);
		assert_int_equal(f.resets[VFU_RESET_LOST], i + 1);
		assert_int_equal(f.detached, i + 1);
		assert_int_equal(dma_count(vfu_dma(f.dev)), 0);
		assert_false(dma_enabled(vfu_dma(f.dev)));
		assert_false(vfu_msix_raise(f.dev, 0));
		fake_reconnect(&f);
		assert_int_equal(vc_start(f.c), 0);
		assert_int_equal(vc_read16(f.c, VC_REGION_CONFIG, 4), 0);
		assert_int_equal(count_fds(), before);
	}
	vfu_detach(f.dev);
	assert_true(vc_is_closed(f.c));
	assert_false(vfu_is_attached(f.dev));
	vc_close(f.c);
	fake_reconnect(&f);
	assert_int_equal(vc_start(f.c), 0);
}

static void pump(void *priv)
{
	loop_run_once(f.loop, 0);
}

static struct vfu_client *dial(const char *path)
{
	struct vfu_client *c = vc_connect(path, 1000);

	assert_non_null(c);
	vc_set_pump(c, pump, NULL);
	vc_set_timeout(c, 3000);
	return c;
}

static void test_listen(void **state)
{
	struct vfu_client *a, *b, *c;
	char path[108], dir[] = "/tmp/vfu-test-XXXXXX";
	int fd;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/sock", dir);
	vc_close(f.c);
	f.c = NULL;
	fake_run(&f);
	/* A stale socket is replaced. */
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	strcpy(sa.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	close(fd);
	assert_int_equal(vfu_listen(f.dev, path), 0);
	assert_int_equal(vfu_listen(f.dev, path), -EBUSY);
	/* One that is in use is not. */
	struct fake g;
	fake_connect(&g);
	assert_int_equal(vfu_listen(g.dev, path), -EADDRINUSE);
	assert_int_equal(vfu_listen(g.dev, "/nonexistent/x"), -ENOENT);
	char too_long[200];
	memset(too_long, 'a', sizeof(too_long));
	too_long[199] = 0;
	assert_int_equal(vfu_listen(g.dev, too_long), -ENAMETOOLONG);
	fake_end(&g);

	a = dial(path);
	assert_int_equal(vc_start(a), 0);
	/* A second VMM waits, and is served when the first goes. */
	b = dial(path);
	fake_run(&f);
	vc_close(a);
	assert_int_equal(vc_start(b), 0);
	/* If it does not go, the second is refused after a moment; a third at once. */
	a = dial(path);
	c = dial(path);
	fake_run(&f);
	vc_set_timeout(c, 100);
	assert_true(vc_is_closed(c));
	vc_close(c);
	assert_true(vc_is_closed(a));
	vc_close(a);
	assert_int_equal(vc_read32(b, VC_REGION_CONFIG, 0), 0x0e571234);
	vc_close(b);
	/* Who connects and says nothing is thrown out for one that comes after it. */
	a = dial(path);
	fake_run(&f);
	b = dial(path);
	assert_int_equal(vc_start(b), 0);
	assert_true(vc_is_closed(a));
	vc_close(a);
	vc_close(b);
	fake_run(&f);
	assert_int_equal(access(path, F_OK), 0);
	vfu_free(f.dev);
	f.dev = NULL;
	assert_int_equal(access(path, F_OK), -1);
	rmdir(dir);
}

#define T(name)	    cmocka_unit_test_setup_teardown(name, setup, teardown)
#define T_RAW(name) cmocka_unit_test_setup_teardown(name, setup_raw, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_broken_framing),
		T(test_flags),
		T(test_byte_by_byte),
		T(test_glued),
		T(test_no_reading),
		T_RAW(test_version_first),
		T_RAW(test_version_values),
		T(test_short_bodies),
		T(test_unknown_commands),
		T(test_stray_fds),
		T(test_dma_map),
		T(test_map_limit),
		T(test_info),
		T(test_set_irqs_refused),
		T(test_set_irqs),
		T(test_region_messages),
		T(test_write_multi),
		T(test_reset_message),
		T(test_reattach),
		T(test_listen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
