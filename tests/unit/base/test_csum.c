// SPDX-License-Identifier: GPL-2.0-or-later
/* The Internet checksum against RFC 1071's example, known packets and a plain loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/csum.h"

static u16 plain(const u8 *p, size_t len)
{
	u64 sum = 0;
	size_t i;

	for (i = 0; i < len; i++)
		sum += i & 1 ? p[i] : (u32)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (u16)~sum;
}

static u16 as_be(u16 memory_order)
{
	u8 b[2];

	memcpy(b, &memory_order, 2);
	return get_be16(b);
}

static void test_rfc1071_example(void **state)
{
	static const u8 data[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};

	/* Section 3: the sum is ddf2. */
	assert_int_equal(as_be(csum_fold(csum_add(0, data, sizeof(data)))), 0xffff & ~0xddf2);
}

static void test_ip_header(void **state)
{
	/* A header with a correct checksum sums to zero. */
	static const u8 ip[20] = {0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11,
				  0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7};

	assert_int_equal(csum_fold(csum_add(0, ip, sizeof(ip))), 0);
}

static void test_against_plain(void **state)
{
	u8 buf[2048 + 8];
	size_t len, align, i;

	srand(2);
	for (i = 0; i < sizeof(buf); i++)
		buf[i] = rand() % 4 ? 0xff : (u8)rand();
	for (len = 0; len <= 2048; len += len < 100 ? 1 : 61)
		for (align = 0; align < 8; align++)
			assert_int_equal(as_be(csum_fold(csum_add(0, buf + align, len))),
					 plain(buf + align, len));
	/* Large, all ones: where a lost carry would show. */
	{
		size_t big = 1 << 20;
		u8 *ones = malloc(big + 7);

		memset(ones, 0xff, big + 7);
		for (len = big; len < big + 7; len++)
			assert_int_equal(as_be(csum_fold(csum_add(0, ones, len))),
					 plain(ones, len));
		free(ones);
	}
	/* Even pieces chain. */
	for (len = 0; len < 300; len += 2)
		assert_int_equal(csum_fold(csum_add(csum_add(0, buf, len), buf + len, 301 - len)),
				 csum_fold(csum_add(0, buf, 301)));
}

static void test_pseudo(void **state)
{
	u8 v4[12] = {10, 0, 0, 1, 10, 0, 0, 2, 0, 6, 0x01, 0x23}, v6[40] = {0};
	int i;

	assert_int_equal(csum_fold(csum_pseudo4(v4, v4 + 4, 6, 0x123)),
			 csum_fold(csum_add(0, v4, sizeof(v4))));
	for (i = 0; i < 32; i++)
		v6[i] = (u8)(i * 37);
	put_be32(v6 + 32, 0x12345);
	v6[39] = 17;
	assert_int_equal(csum_fold(csum_pseudo6(v6, v6 + 16, 17, 0x12345)),
			 csum_fold(csum_add(0, v6, sizeof(v6))));
}

static void test_replace(void **state)
{
	u8 buf[20];
	int round, i;

	srand(3);
	for (round = 0; round < 1000; round++) {
		u16 check, from, to = (u16)rand(), full;

		for (i = 0; i < 20; i++)
			buf[i] = (u8)rand();
		check = csum_fold(csum_add(0, buf, 20));
		memcpy(&from, buf + 6, 2);
		memcpy(buf + 6, &to, 2);
		full = csum_fold(csum_add(0, buf, 20));
		assert_int_equal(csum_replace16(check, from, to), full);
	}
	/* RFC 1624 section 4: HC dd2f, m 5555, m' 3285 gives 0000, not ffff. */
	put_be16(buf, 0xdd2f);
	put_be16(buf + 2, 0x5555);
	put_be16(buf + 4, 0x3285);
	u16 v[3];
	memcpy(v, buf, 6);
	assert_int_equal(csum_replace16(v[0], v[1], v[2]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rfc1071_example), cmocka_unit_test(test_ip_header),
		cmocka_unit_test(test_against_plain),	cmocka_unit_test(test_pseudo),
		cmocka_unit_test(test_replace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
