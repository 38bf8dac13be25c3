/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Internet checksum, 64 bytes at a time, for what reads the bytes anyway. Only with AVX-512
 * VNNI. */
#ifndef RNICD_BASE_CSUM_VNNI_H
#define RNICD_BASE_CSUM_VNNI_H

#include <immintrin.h>

#include "base/util.h"

/* The 32-bit lanes of a sum take 510 for 64 bytes: far from full after this. */
#define VNNI_MAX    (1u << 20)
#define VNNI_TARGET __attribute__((target("avx512f,avx512vnni")))

/* Sums of the bytes at even and at odd places. */
struct vnni_sum {
	__m512i even, odd;
};

static inline VNNI_TARGET struct vnni_sum vnni_zero(void)
{
	return (struct vnni_sum){_mm512_setzero_si512(), _mm512_setzero_si512()};
}

/*
 * The instruction for dot products: of each four bytes it adds up those that have a one in the
 * other operand.
 */
static inline VNNI_TARGET struct vnni_sum vnni_add(struct vnni_sum s, __m512i v)
{
	s.even = _mm512_dpbusd_epi32(s.even, v, _mm512_set1_epi32(0x00010001));
	s.odd = _mm512_dpbusd_epi32(s.odd, v, _mm512_set1_epi32(0x01000100));
	return s;
}

static inline VNNI_TARGET struct vnni_sum vnni_join(struct vnni_sum a, struct vnni_sum b)
{
	a.even = _mm512_add_epi32(a.even, b.even);
	a.odd = _mm512_add_epi32(a.odd, b.odd);
	return a;
}

/* As csum_add() gives it. */
static inline VNNI_TARGET u64 vnni_total(struct vnni_sum s)
{
	/* A word in memory is its even byte and 256 times its odd one. */
	return (u64)(u32)_mm512_reduce_add_epi32(s.even) +
	       ((u64)(u32)_mm512_reduce_add_epi32(s.odd) << 8);
}

#endif /* RNICD_BASE_CSUM_VNNI_H */
