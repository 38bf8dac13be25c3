// SPDX-License-Identifier: GPL-2.0-or-later
/* Checksums and TCP segmentation done in software: every segment is checked as a receiver would. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/csum.h"
#include "wire/wire.h"

struct seen {
	bool ip6;
	u32 l3;
	u32 n;
	u32 payload; /* bytes so far */
	u32 total;
	u16 mss;
	u8 flags_or;
	u32 fin_at, psh_at, cwr_at; /* segment number + 1 */
};

/* Checks one segment with a sum over pseudo header and segment, which must be 0. */
static int check_segment(void *priv, const struct iovec *iov, int cnt)
{
	struct seen *s = priv;
	u8 f[70000], *ip, *tcp;
	u32 len = 0, l4len, hl, pay, i;
	u64 sum;

	for (i = 0; i < (u32)cnt; i++) {
		memcpy(f + len, iov[i].iov_base, iov[i].iov_len);
		len += (u32)iov[i].iov_len;
	}
	ip = f + s->l3;
	if (s->ip6) {
		tcp = ip + 40;
		l4len = len - s->l3 - 40;
		assert_int_equal(get_be16(ip + 4), l4len);
		sum = csum_pseudo6(ip + 8, ip + 24, 6, l4len);
	} else {
		tcp = ip + 20;
		l4len = len - s->l3 - 20;
		assert_int_equal(get_be16(ip + 2), len - s->l3);
		assert_int_equal(csum_fold(csum_add(0, ip, 20)), 0);
		assert_int_equal(get_be16(ip + 4), (u16)(0xfffe + s->n)); /* wraps */
		sum = csum_pseudo4(ip + 12, ip + 16, 6, l4len);
	}
	assert_int_equal(csum_fold(csum_add(sum, tcp, l4len)), 0);
	hl = (tcp[12] >> 4) * 4u;
	pay = l4len - hl;
	assert_int_equal(get_be32(tcp + 4), 0xffffff00 + s->payload);
	for (i = 0; i < pay; i++)
		assert_int_equal(tcp[hl + i], (u8)((s->payload + i) * 7));
	s->payload += pay;
	s->n++;
	assert_true(pay <= s->mss);
	if (s->payload < s->total)
		assert_int_equal(pay, s->mss);
	if (tcp[13] & 1)
		s->fin_at = s->n;
	if (tcp[13] & 8)
		s->psh_at = s->n;
	if (tcp[13] & 0x80)
		s->cwr_at = s->n;
	assert_true(tcp[13] & 0x10);
	return 0;
}

static u32 build(u8 *f, bool ip6, u32 tags, u32 opts, u32 payload, struct wire_meta *meta, u32 *l3)
{
	u32 off = 12, i, hl = 20 + opts;
	u8 *ip, *tcp;
	u16 part;

	memset(f, 0, 400);
	for (i = 0; i < tags; i++, off += 4)
		put_be32(f + off, 0x81000005);
	put_be16(f + off, ip6 ? 0x86dd : 0x0800);
	*l3 = off + 2;
	ip = f + *l3;
	if (ip6) {
		ip[0] = 0x60;
		ip[6] = 6;
		for (i = 8; i < 40; i++)
			ip[i] = (u8)i;
		tcp = ip + 40;
	} else {
		ip[0] = 0x45;
		put_be16(ip + 4, 0xfffe);
		ip[8] = 64;
		ip[9] = 6;
		put_be32(ip + 12, 0x0a000001);
		put_be32(ip + 16, 0x0a000002);
		tcp = ip + 20;
	}
	put_be16(tcp, 1234);
	put_be32(tcp + 4, 0xffffff00);
	tcp[12] = (u8)(hl / 4 << 4);
	tcp[13] = 0x10 | 0x08 | 0x01 | 0x80;
	for (i = 0; i < payload; i++)
		tcp[hl + i] = (u8)(i * 7);
	if (ip6)
		part = (u16)~csum_fold(csum_pseudo6(ip + 8, ip + 24, 6, hl + payload));
	else
		part = (u16)~csum_fold(csum_pseudo4(ip + 12, ip + 16, 6, hl + payload));
	memcpy(tcp + 16, &part, 2);
	*meta = (struct wire_meta){.flags = WIRE_F_CSUM_PARTIAL,
				   .gso_type = ip6 ? WIRE_GSO_TCPV6 : WIRE_GSO_TCPV4,
				   .gso_size = 1448,
				   .csum_start = (u16)(tcp - f),
				   .csum_offset = 16,
				   .hdr_len = (u16)(tcp - f + hl)};
	return (u32)(tcp - f) + hl + payload;
}

static void test_segmentation(void **state)
{
	static const u32 payloads[] = {0, 1, 1447, 1448, 1449, 2896, 5000, 64000};
	u8 *f = malloc(70000);
	struct wire_meta meta;
	u32 k, n = 0, v, tags, opts;

	for (k = 0; k < ARRAY_SIZE(payloads) * 12; k++) {
		struct seen s = {.ip6 = k & 1, .mss = 1448};
		u32 len, want;

		v = payloads[k / 12];
		tags = k / 2 % 3;
		opts = k / 6 % 2 * 12;
		len = build(f, s.ip6, tags, opts, v, &meta, &s.l3);
		s.total = v;
		assert_int_equal(wire_offload(f, len, &meta, check_segment, &s), 0);
		want = v ? (v + 1447) / 1448 : 1;
		assert_int_equal(s.n, want);
		assert_int_equal(s.payload, v);
		/* FIN and PSH on the last segment only, CWR on the first. */
		assert_int_equal(s.fin_at, want);
		assert_int_equal(s.psh_at, want);
		assert_int_equal(s.cwr_at, 1);
		n += s.n;
	}
	free(f);
	print_message("%u segments checked\n", n);
}

static int count(void *priv, const struct iovec *iov, int n)
{
	(*(int *)priv)++;
	return 0;
}

static int stop_at_two(void *priv, const struct iovec *iov, int n)
{
	return ++*(int *)priv == 2 ? -EAGAIN : 0;
}

static void test_refused(void **state)
{
	u8 *f = malloc(70000);
	struct wire_meta good, m;
	u32 l3, len = build(f, false, 0, 0, 5000, &good, &l3);
	int n = 0;

#define BAD(change)                                                             \
	do {                                                                    \
		m = good;                                                       \
		change;                                                         \
		assert_int_equal(wire_offload(f, len, &m, count, &n), -EINVAL); \
		len = build(f, false, 0, 0, 5000, &good, &l3);                  \
	} while (0)

	BAD(m.gso_size = 0);
	BAD(m.gso_type = 3);
	BAD(m.gso_type = WIRE_GSO_TCPV6);
	BAD(m.flags = 0);
	BAD(m.csum_offset = 6);
	BAD(m.csum_start = 10);
	BAD(m.csum_start = 33);
	BAD(m.csum_start = 38);
	BAD(m.csum_start = (u16)(len - 10));
	BAD(m.csum_start = 65535);
	BAD(m.csum_offset = 65535);
	BAD(f[34 + 12] = 0x40); /* TCP header of 16 bytes */
	BAD(f[14] = 0x46); /* IP header that ends elsewhere */
	BAD(f[14] = 0x65);
	BAD(f[14 + 9] = 17);
	BAD(f[12] = 0);
	BAD(len = 50);
	BAD(len = 14);
	BAD(len = 0);
	m = good;
	f[34 + 12] = 0xf0;
	assert_int_equal(wire_offload(f, 34 + 59, &m, count, &n), -EINVAL);
	assert_int_equal(n, 0);
	/* The taker's "no" comes back at once. */
	len = build(f, false, 0, 0, 5000, &good, &l3);
	assert_int_equal(wire_offload(f, len, &good, stop_at_two, &n), -EAGAIN);
	assert_int_equal(n, 2);
	free(f);
}

/* Random headers and requests: nothing may be read or written outside. */
static void test_random(void **state)
{
	int i, n = 0, taken = 0;

	srand(8);
	for (i = 0; i < 200000; i++) {
		u32 len = 14 + (u32)rand() % 120, k, l3;
		struct wire_meta m;
		u8 *f = malloc(600), *exact;

		for (k = 0; k < len; k++)
			f[k] = (u8)rand();
		if (rand() % 2)
			build(f, rand() % 2, (u32)rand() % 3, 0, 10, &m, &l3);
		else
			m = (struct wire_meta){.flags = WIRE_F_CSUM_PARTIAL};
		switch (rand() % 4) {
		case 0:
			m.csum_start = (u16)(rand() % 140);
			break;
		case 1:
			m.gso_size = (u16)(1 + rand() % 20);
			break;
		case 2:
			m.gso_type = (u8)(rand() % 4);
			m.csum_offset = (u16)(rand() % 40);
			break;
		case 3:
			f[rand() % len] = (u8)rand();
			break;
		}
		exact = malloc(len);
		memcpy(exact, f, len);
		taken += wire_offload(exact, len, &m, count, &n) == 0;
		free(exact);
		free(f);
	}
	assert_true(taken > 1000);
	print_message("%d of 200000 random requests carried out\n", taken);
}

struct one {
	u8 f[2000];
	u32 len;
};

static int keep(void *priv, const struct iovec *iov, int n)
{
	struct one *o = priv;

	assert_int_equal(n, 1);
	memcpy(o->f, iov->iov_base, iov->iov_len);
	o->len = (u32)iov->iov_len;
	return 0;
}

static void test_checksum(void **state)
{
	struct wire_meta meta;
	struct one o;
	u8 f[2000];
	u32 l3, len = build(f, false, 1, 12, 777, &meta, &l3);

	meta.gso_type = WIRE_GSO_NONE;
	assert_int_equal(wire_offload(f, len, &meta, keep, &o), 0);
	assert_int_equal(o.len, len);
	assert_int_equal(csum_fold(csum_add(csum_pseudo4(f + l3 + 12, f + l3 + 16, 6, 32 + 777),
					    o.f + l3 + 20, 32 + 777)),
			 0);
	/* UDP: a sum of 0 goes out as ffff (RFC 768). */
	memset(f, 0, 60);
	f[42] = 0xff;
	f[43] = 0xff;
	meta = (struct wire_meta){.flags = WIRE_F_CSUM_PARTIAL, .csum_start = 34, .csum_offset = 6};
	assert_int_equal(wire_offload(f, 44, &meta, keep, &o), 0);
	assert_int_equal(get_be16(o.f + 40), 0xffff);
	/* Without a request the frame stays as it is. */
	memset(f, 0x5a, 100);
	meta = (struct wire_meta){0};
	assert_int_equal(wire_offload(f, 100, &meta, keep, &o), 0);
	assert_memory_equal(o.f, f, 100);
}

static struct seen through;

static void rx_none(void *priv, u8 *frame, size_t len, const struct wire_meta *meta)
{
}

/* Through a wire that cannot carry the request: all segments or none. */
static void test_send(void **state)
{
	static const struct wire_ops ops = {.rx = rx_none};
	struct loop *loop = loop_new(NULL);
	struct wire *w = wire_open(loop, "null", &ops, NULL, NULL, 0);
	u8 *f = malloc(70000);
	struct wire_meta meta;
	u32 len = build(f, false, 0, 12, 60000, &meta, &through.l3), n = 0;
	struct iovec iov[3] = {{f, 20}, {f + 20, 1000}, {f + 1020, len - 1020}};

	assert_int_equal(wire_send(w, iov, 3, &meta), 0);
	n = (u32)wire_stats(w)->tx_frames;
	loop_run_once(loop, 0);
	assert_int_equal(wire_stats(w)->tx_frames, (60000 + 1447) / 1448);
	assert_true(n <= 42);
	assert_int_equal(wire_stats(w)->tx_gso, 1);
	/* A segment size that would need thousands of frames, or does not fit the MTU. */
	meta.gso_size = 8;
	assert_int_equal(wire_send(w, iov, 3, &meta), -EMSGSIZE);
	meta.gso_size = 1500;
	assert_int_equal(wire_send(w, iov, 3, &meta), -EMSGSIZE);
	meta.gso_size = 1448;
	meta.gso_type = WIRE_GSO_TCPV6;
	assert_int_equal(wire_send(w, iov, 3, &meta), -EINVAL);
	assert_int_equal(wire_stats(w)->tx_errors, 3);
	wire_close(w);
	loop_free(loop);
	free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_segmentation), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_random),	     cmocka_unit_test(test_checksum),
		cmocka_unit_test(test_send),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
