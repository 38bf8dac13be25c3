// SPDX-License-Identifier: GPL-2.0-or-later
/* Wires: descriptions, queueing, datagram peers that come and go, pipes, capture, tap. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>
#include <linux/if_packet.h>
#include <linux/if_ether.h>
#include <arpa/inet.h>

#include "base/log.h"
#include "wire/wire.h"

struct end {
	struct wire *w;
	u32 frames, done, writable, links;
	bool link;
	size_t last_len;
	u32 last_seq;
	struct wire_meta last_meta;
	u8 last[70000];
};

static void on_rx(void *priv, u8 *frame, size_t len, const struct wire_meta *meta)
{
	struct end *e = priv;

	/* The host's own IPv6 chatter on a fresh tap is not ours. */
	if (len >= 14 && get_be16(frame + 12) == 0x86dd)
		return;
	/* With a tag put back the header behind it is aligned just as well. */
	assert_int_equal((uintptr_t)frame % 4, 2);
	e->frames++;
	e->last_len = len;
	e->last_meta = *meta;
	memcpy(e->last, frame, len);
	e->last_seq = get_be32(frame + 14);
}

static void on_done(void *priv)
{
	((struct end *)priv)->done++;
}

static void on_writable(void *priv)
{
	((struct end *)priv)->writable++;
}

static void on_link(void *priv, bool up)
{
	struct end *e = priv;

	e->links++;
	e->link = up;
}

static const struct wire_ops ops = {
	.rx = on_rx, .rx_done = on_done, .writable = on_writable, .link = on_link};

static struct loop *loop;
static struct end a, b;
static char dir[64], spec_a[256], spec_b[256];

static int setup(void **state)
{
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	loop = loop_new(NULL);
	strcpy(dir, "/tmp/wire-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(spec_a, sizeof(spec_a), "dgram:local=%s/a,remote=%s/b,mtu=9000", dir, dir);
	snprintf(spec_b, sizeof(spec_b), "dgram:local=%s/b,remote=%s/a,mtu=9000", dir, dir);
	return 0;
}

static int teardown(void **state)
{
	wire_close(a.w);
	wire_close(b.w);
	loop_free(loop);
	assert_int_equal(rmdir(dir), 0);
	return 0;
}

static void run(int n)
{
	while (n--)
		loop_run_once(loop, 2 * NSEC_PER_MSEC);
}

/* A frame that carries its number. */
static int send_seq(struct wire *w, u32 seq, size_t len)
{
	u8 frame[9018] = {0x52, 0x54, 0, 0, 0, 2, 0x52, 0x54, 0, 0, 0, 1, 0x88, 0xb5};
	struct iovec iov[2] = {{frame, 14}, {frame + 14, len - 14}};

	put_be32(frame + 14, seq);
	return wire_send(w, iov, 2, NULL);
}

static void test_descriptions(void **state)
{
	static const struct {
		const char *spec, *says;
		int err;
	} bad[] = {
		{"", "unknown kind", EINVAL},
		{"udp:x", "unknown kind of wire \"udp\"", EINVAL},
		{"dgram", "local=PATH", EINVAL},
		{"dgram:", "local=PATH", EINVAL},
		{"dgram:,", "comma", EINVAL},
		{"dgram:local=/tmp/x,remote=/tmp/y,", "comma", EINVAL},
		{"dgram:local=/tmp/x", "remote=PATH", EINVAL},
		{"dgram:local=/tmp/x,remote=/tmp/x", "the same", EINVAL},
		{"dgram:local=/tmp/x,remote=/tmp/y,speed=3", "unknown option \"speed\"", EINVAL},
		{"dgram:local=/tmp/x,remote=/tmp/y,mtu=67", "mtu \"67\"", EINVAL},
		{"dgram:local=/tmp/x,remote=/tmp/y,mtu=65001", "mtu", EINVAL},
		{"dgram:local=/tmp/x,remote=/tmp/y,mtu=9k", "mtu \"9k\"", EINVAL},
		{"dgram:local=/tmp/x,remote=/tmp/y,mtu=", "mtu", EINVAL},
		{"dgram:local=/tmp/x,remote", "option \"remote\" has no value", EINVAL},
		{"dgram:/tmp/x", "does not know", EINVAL},
		{"dgram:x,local=/tmp/x,remote=/tmp/y", "does not know \"x\"", EINVAL},
		{"dgram:local=/nonexistent/x,remote=/tmp/y", "cannot bind /nonexistent/x", ENOENT},
		{"tap", "name of an interface", EINVAL},
		{"tap:", "name of an interface", EINVAL},
		{"tap:a-name-that-is-too-long", "15 bytes", EINVAL},
		{"tap:a,b", "option \"b\" has no value", EINVAL},
		{"packet:", "name of an interface", EINVAL},
		{"tap:a/b", "\"a/b\" is no name", EINVAL},
		{"tap:..", "\"..\" is no name", EINVAL},
		{"packet:a b", "\"a b\" is no name", EINVAL},
		{"packet:a-name-that-is-too-long", "15 bytes", EINVAL},
		{"packet:nosuchif0", "cannot use interface \"nosuchif0\"", 0},
		{"packet:lo", "cannot use interface \"lo\"", 0},
		{"null:x", "no option", EINVAL},
	};
	char err[200], longpath[400];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		errno = 0;
		assert_null(wire_open(loop, bad[i].spec, &ops, &a, err, sizeof(err)));
		if (!strstr(err, bad[i].says) || (bad[i].err && errno != bad[i].err))
			fail_msg("\"%s\" said \"%s\", errno %d", bad[i].spec, err, errno);
	}
	snprintf(longpath, sizeof(longpath), "dgram:remote=x,local=/tmp/%0150d", 0);
	assert_null(wire_open(loop, longpath, &ops, &a, err, sizeof(err)));
	assert_int_equal(errno, ENAMETOOLONG);
	assert_null(wire_open(loop, "tap", &ops, &a, NULL, 0));
	/* an interface of another kind is not a description that makes no sense */
	assert_null(wire_open(loop, "tap:lo", &ops, &a, err, sizeof(err)));
	assert_int_not_equal(errno, EINVAL);
	assert_non_null(strstr(err, access("/dev/net/tun", F_OK) ? "/dev/net/tun" : "\"lo\""));
	a.w = wire_open(loop, "null:mtu=4000", &ops, &a, err, sizeof(err));
	assert_non_null(a.w);
	assert_string_equal(err, "");
	assert_int_equal(wire_mtu(a.w), 4000);
	assert_string_equal(wire_kind(a.w), "null");
	for (i = 0; i < 1000; i++)
		assert_int_equal(send_seq(a.w, 1, 4018), 0);
	assert_int_equal(send_seq(a.w, 1, 4019), -EMSGSIZE);
	assert_int_equal(send_seq(a.w, 1, 14), 0);
	print_message("%zu wrong descriptions explained\n", ARRAY_SIZE(bad) + 2);
}

static void open_pair(void)
{
	char err[200];

	a.w = wire_open(loop, spec_a, &ops, &a, err, sizeof(err));
	assert_non_null(a.w);
	b.w = wire_open(loop, spec_b, &ops, &b, err, sizeof(err));
	assert_non_null(b.w);
	run(20);
}

static void test_dgram(void **state)
{
	char err[200];
	u32 i, got = 0;
	u8 *p;

	open_pair();
	for (i = 0; i < 5000; i++) {
		size_t len = 60 + i % 8958;

		while (send_seq(a.w, i, len) == -EAGAIN)
			run(1);
		if (i % 7 == 0)
			run(1);
		if (b.frames > got) {
			got = b.frames;
			assert_true(b.last_seq < 5000);
		}
	}
	run(100);
	assert_int_equal(b.frames, 5000);
	assert_int_equal(b.last_seq, 4999);
	assert_int_equal(wire_stats(a.w)->tx_frames, 5000);
	assert_int_equal(wire_stats(b.w)->rx_frames, 5000);
	assert_true(wire_stats(b.w)->rx_bytes == wire_stats(a.w)->tx_bytes);
	assert_true(b.done < 5000);
	/* In place. */
	p = wire_reserve(b.w, 100);
	assert_int_equal((uintptr_t)p % 4, 2);
	memset(p, 0x33, 100);
	assert_int_equal(wire_commit(b.w, 100, NULL), 0);
	assert_int_equal(wire_commit(b.w, 13, NULL), -EINVAL);
	assert_null(wire_reserve(b.w, 70000));
	run(3);
	assert_int_equal(a.frames, 1);
	assert_int_equal(a.last_len, 100);
	/* The name is taken while the wire is open. */
	assert_null(wire_open(loop, spec_a, &ops, &a, err, sizeof(err)));
	assert_int_equal(errno, EADDRINUSE);
	print_message("5000 frames in %llu and %llu system calls\n", wire_stats(a.w)->tx_syscalls,
		      wire_stats(b.w)->rx_syscalls);
}

/* The peer takes nothing: bounded queue, -EAGAIN, then "writable", nothing lost. */
static void test_backpressure(void **state)
{
	u32 sent = 0, i;

	open_pair();
	wire_rx_pause(b.w, true);
	while (send_seq(a.w, sent, 9000) == 0) {
		sent++;
		assert_true(sent < 100000);
	}
	assert_null(wire_reserve(a.w, 100));
	assert_int_equal(a.writable, 0);
	run(5);
	assert_int_equal(b.frames, 0);
	assert_true(wire_stats(a.w)->tx_full > 0);
	wire_rx_pause(b.w, false);
	for (i = 0; i < 1000 && b.frames < sent; i++)
		run(1);
	assert_int_equal(b.frames, sent);
	assert_int_equal(b.last_seq, sent - 1);
	assert_int_equal(a.writable, 1);
	assert_int_equal(wire_stats(a.w)->tx_dropped, 0);
	print_message("%u frames waited for a paused peer\n", sent);
}

/* Frames for a peer that is not there are lost, the link stays up; it works when it comes. */
static void test_peer_comes_and_goes(void **state)
{
	char err[200];
	int round;

	a.w = wire_open(loop, spec_a, &ops, &a, err, sizeof(err));
	assert_true(wire_link(a.w));
	assert_int_equal(send_seq(a.w, 1, 64), 0);
	run(3);
	assert_int_equal(wire_stats(a.w)->tx_dropped, 1);
	for (round = 0; round < 5; round++) {
		memset(&b, 0, sizeof(b));
		b.w = wire_open(loop, spec_b, &ops, &b, err, sizeof(err));
		assert_non_null(b.w);
		run(30);
		/* Whoever speaks first is heard, each way. */
		if (round % 2)
			assert_int_equal(send_seq(b.w, 5, 64), 0);
		assert_int_equal(send_seq(a.w, 7, 64), 0);
		run(3);
		assert_int_equal(b.frames, 1);
		if (round % 2)
			assert_int_equal(a.last_seq, 5);
		wire_close(b.w);
		b.w = NULL;
		if (round % 3 == 0) {
			send_seq(a.w, 8, 64);
			run(2);
		}
	}
	assert_int_equal(wire_stats(a.w)->tx_errors, 0);
	assert_int_equal(a.links, 0);
}

/* A peer as QEMU's: bound, not connected, uses sendto(). */
static void test_unconnected_peer(void **state)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX}, to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0), n = 0, i;
	u8 buf[9100];
	char err[200];

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/b", dir);
	snprintf(to.sun_path, sizeof(to.sun_path), "%s/a", dir);
	a.w = wire_open(loop, spec_a, &ops, &a, err, sizeof(err));
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	run(20);
	/* Its queue takes ten or so; the rest follows as it reads. */
	for (i = 0; i < 100; i++)
		assert_int_equal(send_seq(a.w, (u32)i, 1000), 0);
	for (i = 0; i < 1000 && n < 100; i++) {
		run(1);
		while (recv(fd, buf, sizeof(buf), 0) == 1000) {
			assert_int_equal(get_be32(buf + 14), n);
			n++;
		}
	}
	assert_int_equal(n, 100);
	assert_int_equal(sendto(fd, buf, 77, 0, (struct sockaddr *)&to, sizeof(to)), 77);
	/* Runts and giants are counted. */
	assert_int_equal(sendto(fd, buf, 13, 0, (struct sockaddr *)&to, sizeof(to)), 13);
	assert_int_equal(sendto(fd, buf, 9100, 0, (struct sockaddr *)&to, sizeof(to)), 9100);
	run(3);
	assert_int_equal(a.frames, 1);
	assert_int_equal(a.last_len, 77);
	assert_int_equal(wire_stats(a.w)->rx_errors, 2);
	close(fd);
	unlink(sa.sun_path);
}

static void test_link(void **state)
{
	open_pair();
	wire_set_link(a.w, false);
	assert_false(wire_link(a.w));
	assert_int_equal(a.links, 1);
	assert_false(a.link);
	assert_int_equal(send_seq(a.w, 1, 64), 0);
	assert_int_equal(send_seq(b.w, 1, 64), 0);
	run(3);
	assert_int_equal(a.frames + b.frames, 0);
	assert_int_equal(wire_stats(a.w)->tx_dropped, 1);
	assert_int_equal(wire_stats(a.w)->rx_dropped, 1);
	wire_set_link(a.w, true);
	wire_set_link(a.w, true);
	assert_int_equal(a.links, 2);
	assert_int_equal(send_seq(a.w, 1, 64), 0);
	run(3);
	assert_int_equal(b.frames, 1);
}

static void test_capture(void **state)
{
	struct pcap *p;
	char path[100];

	snprintf(path, sizeof(path), "%s/cap", dir);
	open_pair();
	p = pcap_open(path, 0, 0);
	wire_set_capture(a.w, p);
	assert_ptr_equal(wire_capture(a.w), p);
	send_seq(a.w, 1, 64);
	send_seq(b.w, 1, 64);
	run(3);
	wire_set_capture(a.w, NULL);
	send_seq(a.w, 1, 64);
	run(3);
	assert_int_equal(pcap_written(p), 2);
	assert_int_equal(pcap_close(p), 0);
	unlink(path);
}

static void test_pipe(void **state)
{
	struct wire_meta meta = {.flags = WIRE_F_CSUM_PARTIAL,
				 .csum_start = 34,
				 .csum_offset = 16,
				 .gso_type = WIRE_GSO_TCPV4,
				 .gso_size = 1448,
				 .hdr_len = 54};
	u8 *big = calloc(1, 60000);
	struct iovec iov = {big, 60000};
	u32 i;

	assert_int_equal(wire_pipe(loop, 1500, &ops, &a, &a.w, &ops, &b, &b.w), 0);
	for (i = 0; i < 63; i++)
		assert_int_equal(send_seq(a.w, i, 64), 0);
	assert_int_equal(send_seq(a.w, i, 64), -EAGAIN);
	run(3);
	assert_int_equal(b.frames, 63);
	assert_int_equal(b.last_seq, 62);
	assert_int_equal(a.writable, 1);
	/* Requests travel along. */
	assert_int_equal(wire_send(a.w, &iov, 1, &meta), 0);
	run(2);
	assert_int_equal(b.last_len, 60000);
	assert_memory_equal(&b.last_meta, &meta, sizeof(meta));
	/* A paused peer keeps frames waiting, not lost. */
	wire_rx_pause(b.w, true);
	send_seq(a.w, 100, 64);
	run(3);
	assert_int_equal(b.frames, 64);
	wire_rx_pause(b.w, false);
	run(3);
	assert_int_equal(b.frames, 65);
	/* A closed peer is a cut cable. */
	wire_close(b.w);
	b.w = NULL;
	send_seq(a.w, 100, 64);
	run(3);
	assert_int_equal(wire_stats(a.w)->tx_dropped, 1);
	free(big);
}

static void test_idle(void **state)
{
	struct rusage r0, r1;
	u64 us;

	open_pair();
	getrusage(RUSAGE_SELF, &r0);
	for (int i = 0; i < 5; i++)
		loop_run_once(loop, 100 * NSEC_PER_MSEC);
	getrusage(RUSAGE_SELF, &r1);
	us = (u64)(r1.ru_utime.tv_usec - r0.ru_utime.tv_usec + r1.ru_stime.tv_usec -
		   r0.ru_stime.tv_usec) +
	     1000000 * (u64)(r1.ru_utime.tv_sec - r0.ru_utime.tv_sec + r1.ru_stime.tv_sec -
			     r0.ru_stime.tv_sec);
	assert_true(us < 20000);
	print_message("half a second of nothing cost %llu us of CPU\n", us);
}

/* ---- tap and packet, where the machine allows ---- */

static int if_up(const char *name, int mtu)
{
	struct ifreq ifr = {0};
	int fd = socket(AF_INET, SOCK_DGRAM, 0), ret = 0;

	strcpy(ifr.ifr_name, name);
	ifr.ifr_mtu = mtu;
	ret |= ioctl(fd, SIOCSIFMTU, &ifr);
	ret |= ioctl(fd, SIOCGIFFLAGS, &ifr);
	ifr.ifr_flags |= IFF_UP;
	ret |= ioctl(fd, SIOCSIFFLAGS, &ifr);
	close(fd);
	return ret;
}

/* Two wires on one tap: what "tap:" sends, "packet:" on the same interface sees as received. */
static void test_tap_and_packet(void **state)
{
	struct wire_meta meta = {.flags = WIRE_F_CSUM_PARTIAL, .csum_start = 34, .csum_offset = 16};
	u8 frame[200] = {0x52, 0x54, 0, 0, 0, 2, 0x52, 0x54, 0, 0, 0, 1, 0x88, 0xb5};
	struct iovec iov = {frame, sizeof(frame)};
	char err[200], name[IFNAMSIZ];
	u32 i;

	snprintf(name, sizeof(name), "wt%d", getpid() % 100000);
	snprintf(spec_a, sizeof(spec_a), "tap:%s,mtu=4000", name);
	snprintf(spec_b, sizeof(spec_b), "packet:%s", name);
	a.w = wire_open(loop, spec_a, &ops, &a, err, sizeof(err));
	if (!a.w) {
		print_message("skipped: %s\n", err);
		skip();
	}
	assert_int_equal(wire_mtu(a.w), 4000);
	/* Down: a cable with nobody at the other end. */
	assert_int_equal(wire_send(a.w, &iov, 1, NULL), 0);
	run(2);
	assert_int_equal(wire_stats(a.w)->tx_dropped, 1);
	assert_int_equal(if_up(name, 4000), 0);
	b.w = wire_open(loop, spec_b, &ops, &b, err, sizeof(err));
	assert_non_null(b.w);
	assert_int_equal(wire_mtu(b.w), 4000);
	run(20);
	b.frames = 0;
	a.frames = 0;
	for (i = 0; i < 500; i++) {
		put_be32(frame + 14, i);
		while (wire_send(a.w, &iov, 1, i % 2 ? &meta : NULL) == -EAGAIN)
			run(1);
		if (i % 50 == 0)
			run(1);
	}
	for (i = 0; i < 1000 && b.frames < 500; i++)
		run(1);
	assert_int_equal(b.frames, 500);
	assert_int_equal(b.last_len, 200);
	assert_memory_equal(b.last, frame, 200);
	assert_int_equal(b.last_meta.flags, WIRE_F_CSUM_PARTIAL | WIRE_F_CSUM_VALID);
	assert_int_equal(b.last_meta.csum_start, 34);
	/* A tag that the kernel took out is put back. */
	u8 tagged[64] = {0x52, 0x54, 0, 0, 0, 2, 0x52, 0x54, 0, 0, 0, 1, 0x81, 0, 0, 5, 0x88, 0xb5};
	struct iovec tiov = {tagged, sizeof(tagged)};
	assert_int_equal(wire_send(a.w, &tiov, 1, NULL), 0);
	for (i = 0; i < 1000 && b.frames < 501; i++)
		run(1);
	assert_int_equal(b.frames, 501);
	assert_int_equal(b.last_len, 64);
	assert_memory_equal(b.last, tagged, 64);
	/* And the other way. */
	a.frames = 0;
	put_be32(frame + 14, 0x77777777);
	assert_int_equal(wire_send(b.w, &iov, 1, NULL), 0);
	for (i = 0; i < 1000 && a.last_seq != 0x77777777; i++)
		run(1);
	assert_int_equal(a.last_seq, 0x77777777);
	assert_int_equal(a.last_len, 200);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_descriptions),
		T(test_dgram),
		T(test_backpressure),
		T(test_peer_comes_and_goes),
		T(test_unconnected_peer),
		T(test_link),
		T(test_capture),
		T(test_pipe),
		T(test_idle),
		T(test_tap_and_packet),
	};

	log_set_level(LOG_LVL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
