// SPDX-License-Identifier: GPL-2.0-or-later
/* CRC32C against RFC 3720 B.4 and against a bit-by-bit computation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/crc32c.h"
#include "base/csum.h"

/* RFC 3720 B.4 prints the CRC as it lies on the wire, low byte first. */
static void check_vector(const u8 *buf, size_t len, u32 wire_be)
{
	u8 out[64], wire[4];
	u32 crc = crc32c(0, buf, len);
	u64 sum = 0;

	put_le32(wire, crc);
	assert_int_equal(get_be32(wire), wire_be);
	assert_int_equal(crc32c_table(0, buf, len), crc);
	assert_int_equal(crc32c_copy(out, buf, len, 0, &sum), crc);
	assert_memory_equal(out, buf, len);
}

static void test_rfc_vectors(void **state)
{
	static const u8 read_pdu[48] = {
		0x01, 0xc0, 0, 0, 0, 0, 0,    0, 0,    0, 0, 0,	   0, 0, 0, 0,
		0x14, 0,    0, 0, 0, 0, 0x04, 0, 0,    0, 0, 0x14, 0, 0, 0, 0x18,
		0x28, 0,    0, 0, 0, 0, 0,    0, 0x02, 0, 0, 0,	   0, 0, 0, 0,
	};
	u8 buf[32];
	int i;

	memset(buf, 0, 32);
	check_vector(buf, 32, 0xaa36918a);
	memset(buf, 0xff, 32);
	check_vector(buf, 32, 0x43aba862);
	for (i = 0; i < 32; i++)
		buf[i] = (u8)i;
	check_vector(buf, 32, 0x4e79dd46);
	for (i = 0; i < 32; i++)
		buf[i] = (u8)(31 - i);
	check_vector(buf, 32, 0x5cdb3f11);
	check_vector(read_pdu, sizeof(read_pdu), 0x563a96d9);
	/* The check value of the CRC catalogue. */
	assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
	assert_int_equal(crc32c(0, "", 0), 0);
	print_message("5 vectors of RFC 3720 B.4, implementation %s\n", crc32c_impl());
}

static u32 bitwise(u32 crc, const u8 *p, size_t len)
{
	int k;

	crc = ~crc;
	while (len--) {
		crc ^= *p++;
		for (k = 0; k < 8; k++)
			crc = crc & 1 ? (crc >> 1) ^ 0x82f63b78 : crc >> 1;
	}
	return ~crc;
}

/* All lengths around the lanes' sizes, all alignments. */
static void test_lengths(void **state)
{
	enum {
		ROOM = 20000
	};
	u8 *src = malloc(ROOM + 16), *dst = malloc(ROOM + 16);
	size_t len, align, checked = 0;

	srand(1);
	for (len = 0; len < ROOM + 16; len++)
		src[len] = (u8)rand();
	for (len = 0; len <= ROOM; len += len < 800 ? 1 : 997) {
		for (align = 0; align < 8; align++) {
			u32 seed = (u32)rand(), want = bitwise(seed, src + align, len);
			u64 sum = seed;

			assert_int_equal(crc32c(seed, src + align, len), want);
			assert_int_equal(crc32c_table(seed, src + align, len), want);
			memset(dst, 0xee, ROOM + 16);
			assert_int_equal(
				crc32c_copy(dst + (7 - align), src + align, len, seed, &sum), want);
			assert_int_equal(csum_fold(sum),
					 csum_fold(csum_add(seed, src + align, len)));
			assert_memory_equal(dst + (7 - align), src + align, len);
			assert_int_equal(dst[7 - align + len], 0xee);
			checked++;
		}
	}
	free(src);
	free(dst);
	print_message("%zu buffers equal to the bitwise CRC\n", checked);
}

static void test_chain_and_combine(void **state)
{
	u8 buf[3000];
	size_t cut;

	for (cut = 0; cut < sizeof(buf); cut++)
		buf[cut] = (u8)(cut * 7 + cut / 256);
	for (cut = 0; cut <= sizeof(buf); cut += 13) {
		u32 whole = bitwise(0, buf, sizeof(buf));
		u32 a = crc32c(0, buf, cut), b = crc32c(0, buf + cut, sizeof(buf) - cut);

		assert_int_equal(crc32c(a, buf + cut, sizeof(buf) - cut), whole);
		assert_int_equal(crc32c_combine(a, b, sizeof(buf) - cut), whole);
	}
	/* x^n has period 2^31 - 1 in n bits: a whole period of bytes changes nothing. */
	assert_int_equal(crc32c_combine(0x12345678, 0, 0x7fffffffULL), 0x12345678);
	assert_int_not_equal(crc32c_combine(0x12345678, 0, 0x7ffffffeULL), 0x12345678);
}

static const char *const all[] = {"table", "sse4.2+pclmul", "armv8", "avx512+vpclmulqdq"};

/* Every implementation that this CPU has, not only the best. */
static void test_all_implementations(void **state)
{
	const char *best = crc32c_impl();
	size_t i;

	assert_false(crc32c_select("none"));
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		if (!crc32c_select(all[i]))
			continue;
		assert_string_equal(crc32c_impl(), all[i]);
		test_rfc_vectors(state);
		test_lengths(state);
		test_chain_and_combine(state);
	}
	assert_true(crc32c_select(best));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rfc_vectors),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_chain_and_combine),
		cmocka_unit_test(test_all_implementations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
