// SPDX-License-Identifier: GPL-2.0-or-later
/* The Internet checksum, 64 bits at a time with end-around carry (RFC 1071). */
#include "base/csum.h"

static inline u64 load64(const void *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Up to 7 bytes, zero-padded behind, as they would lie in memory. */
static u64 load_tail(const u8 *p, size_t len)
{
	u64 v = 0;

	memcpy(&v, p, len);
	return v;
}

static u64 add_plain(u64 sum, const u8 *p, size_t len)
{
	u64 s1 = 0, s2 = 0, s3 = 0;

	/* Four independent chains keep the adders busy. */
	while (len >= 32) {
		sum = csum_add64(sum, load64(p));
		s1 = csum_add64(s1, load64(p + 8));
		s2 = csum_add64(s2, load64(p + 16));
		s3 = csum_add64(s3, load64(p + 24));
		p += 32;
		len -= 32;
	}
	sum = csum_add64(sum, s1);
	sum = csum_add64(sum, s2);
	sum = csum_add64(sum, s3);
	while (len >= 8) {
		sum = csum_add64(sum, load64(p));
		p += 8;
		len -= 8;
	}
	if (len)
		sum = csum_add64(sum, load_tail(p, len));
	return sum;
}

#if defined(__x86_64__)
#include "base/csum_vnni.h"

/* Below this the vectors do not pay. */
#define VECTOR_MIN 128

/* @len is a multiple of 64 (VNNI: not more than VNNI_MAX); NULL where the CPU has none. */
static u64 (*add_vector)(const u8 *p, size_t len);

/*
 * Halves of 64-bit words in 64-bit lanes: no carry is lost in anything that
 * fits into memory.
 */
static __attribute__((target("avx2"))) u64 add_avx2(const u8 *p, size_t len)
{
	const __m256i low = _mm256_set1_epi64x(0xffffffff);
	__m256i a = _mm256_setzero_si256(), b = a, v, w;
	u64 lane[4];
	size_t i;

	for (i = 0; i < len; i += 64) {
		v = _mm256_loadu_si256((const __m256i *)(p + i));
		w = _mm256_loadu_si256((const __m256i *)(p + i + 32));
		a = _mm256_add_epi64(a, _mm256_and_si256(v, low));
		b = _mm256_add_epi64(b, _mm256_srli_epi64(v, 32));
		a = _mm256_add_epi64(a, _mm256_and_si256(w, low));
		b = _mm256_add_epi64(b, _mm256_srli_epi64(w, 32));
	}
	_mm256_storeu_si256((__m256i *)lane, _mm256_add_epi64(a, b));
	return lane[0] + lane[1] + lane[2] + lane[3];
}

/* Four sums at a time, since each instruction waits five cycles for the last one's result. */
static VNNI_TARGET u64 add_vnni(const u8 *p, size_t len)
{
	struct vnni_sum a = vnni_zero(), b = a, c = a, d = a;
	size_t i;
	u64 sum;

	for (i = 0; i + 256 <= len; i += 256) {
		a = vnni_add(a, _mm512_loadu_si512(p + i));
		b = vnni_add(b, _mm512_loadu_si512(p + i + 64));
		c = vnni_add(c, _mm512_loadu_si512(p + i + 128));
		d = vnni_add(d, _mm512_loadu_si512(p + i + 192));
	}
	for (; i < len; i += 64)
		a = vnni_add(a, _mm512_loadu_si512(p + i));
	sum = vnni_total(vnni_join(vnni_join(a, b), vnni_join(c, d)));
	/* SSE code that follows would pay for what is left in the upper halves. */
	_mm256_zeroupper();
	return sum;
}

__attribute__((constructor)) static void csum_init(void)
{
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx2"))
		add_vector = add_avx2;
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vnni"))
		add_vector = add_vnni;
}

u64 csum_add(u64 sum, const void *buf, size_t len)
{
	const u8 *p = buf;
	size_t n;

	while (len >= VECTOR_MIN && add_vector) {
		n = min_t(size_t, ALIGN_DOWN(len, 64), VNNI_MAX);
		sum = csum_add64(sum, add_vector(p, n));
		p += n;
		len -= n;
	}
	return add_plain(sum, p, len);
}
#else
u64 csum_add(u64 sum, const void *buf, size_t len)
{
	return add_plain(sum, buf, len);
}
#endif

u64 csum_pseudo4(const void *src, const void *dst, u8 proto, u32 len)
{
	u8 tail[4] = {0, proto, (u8)(len >> 8), (u8)len};
	u64 sum;

	sum = csum_add(0, src, 4);
	sum = csum_add(sum, dst, 4);
	return csum_add(sum, tail, sizeof(tail));
}

u64 csum_pseudo6(const void *src, const void *dst, u8 proto, u32 len)
{
	u8 tail[8] = {0, 0, 0, 0, 0, 0, 0, proto};
	u64 sum;

	put_be32(tail, len);
	sum = csum_add(0, src, 16);
	sum = csum_add(sum, dst, 16);
	return csum_add(sum, tail, sizeof(tail));
}

u16 csum_replace16(u16 check, u16 from, u16 to)
{
	/* HC' = ~(~HC + ~m + m'), RFC 1624 equation 3 */
	return csum_fold((u64)(u16)~check + (u16)~from + to);
}
