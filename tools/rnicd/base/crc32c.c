// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CRC32C. Internally a "state" is the register without the initial and final
 * inversion. Multiplying a state by x^n modulo the polynomial appends n zero
 * bits, which is what joins CRCs that were computed side by side.
 */
#include "base/crc32c.h"
#include "base/csum.h"

#define POLY 0x82f63b78u /* 0x1edc6f41 with its bits reversed */

struct crc_impl {
	u32 (*crc)(u32 state, const u8 *p, size_t len);
	u32 (*copy)(u32 state, u8 *dst, const u8 *src, size_t len, u64 *sum);
	const char *name;
};

/* What this CPU can run, the best last. */
static struct crc_impl impls[3];
static unsigned int n_impls;
static struct crc_impl impl;

static u32 tables[8][256];

static void add_impl(u32 (*crc)(u32 state, const u8 *p, size_t len),
		     u32 (*copy)(u32 state, u8 *dst, const u8 *src, size_t len, u64 *sum),
		     const char *name)
{
	impl = (struct crc_impl){crc, copy, name};
	impls[n_impls++] = impl;
}

/* ---- polynomial arithmetic, bits reversed: x^0 is the top bit ---- */

static u32 poly_mul(u32 a, u32 b)
{
	u32 m = 1u << 31, p = 0;

	while (m) {
		if (a & m)
			p ^= b;
		b = b & 1 ? (b >> 1) ^ POLY : b >> 1;
		m >>= 1;
	}
	return p;
}

static u32 poly_pow_x(u64 n)
{
	u32 result = 1u << 31, square = 1u << 30;

	while (n) {
		if (n & 1)
			result = poly_mul(result, square);
		square = poly_mul(square, square);
		n >>= 1;
	}
	return result;
}

/* ---- tables: eight bytes a step ---- */

static u32 state_table(u32 s, const u8 *p, size_t len)
{
	while (len >= 8) {
		u32 lo = get_le32(p) ^ s, hi = get_le32(p + 4);

		s = tables[7][lo & 0xff] ^ tables[6][lo >> 8 & 0xff] ^ tables[5][lo >> 16 & 0xff] ^
		    tables[4][lo >> 24] ^ tables[3][hi & 0xff] ^ tables[2][hi >> 8 & 0xff] ^
		    tables[1][hi >> 16 & 0xff] ^ tables[0][hi >> 24];
		p += 8;
		len -= 8;
	}
	while (len--)
		s = tables[0][(s ^ *p++) & 0xff] ^ s >> 8;
	return s;
}

static u32 state_table_copy(u32 s, u8 *dst, const u8 *src, size_t len, u64 *sum)
{
	memcpy(dst, src, len);
	/* Over the copy: the source may be memory that others change meanwhile. */
	*sum = csum_add(*sum, dst, len);
	return state_table(s, dst, len);
}

static void tables_init(void)
{
	u32 i, k, s;

	for (i = 0; i < 256; i++) {
		s = i;
		for (k = 0; k < 8; k++)
			s = s & 1 ? (s >> 1) ^ POLY : s >> 1;
		tables[0][i] = s;
	}
	for (i = 0; i < 256; i++)
		for (k = 1; k < 8; k++)
			tables[k][i] = tables[0][tables[k - 1][i] & 0xff] ^ tables[k - 1][i] >> 8;
}

#if defined(__x86_64__)
#include "base/csum_vnni.h"

#define HW_TARGET __attribute__((target("sse4.2,pclmul")))
/*
 * The instruction takes a word each cycle but needs three for its result, so
 * three lanes of up to LANE_MAX words run side by side and are joined by two
 * carry-less multiplications.
 */
#define LANE_MAX 168
#define LANE_MIN 8

static u64 lane_shift[2 * LANE_MAX + 1]; /* x^(64 n - 33) for n words */

/*
 * The bit-reversed product carries one more factor x, and the CRC of a 64-bit
 * word multiplies by x^32: hence the 33 that is left out of lane_shift.
 */
static inline HW_TARGET u64 lane_mul(u64 state, u64 factor)
{
	__m128i p = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)state),
					 _mm_cvtsi64_si128((long long)factor), 0);

	return (u64)_mm_cvtsi128_si64(p);
}

/* Lane @a is followed by 2 @n words, lane @b by @n. */
static inline HW_TARGET u64 lanes_join(u64 a, u64 b, u64 c, size_t n)
{
	return _mm_crc32_u64(0, lane_mul(a, lane_shift[2 * n]) ^ lane_mul(b, lane_shift[n])) ^ c;
}

static inline u64 load64(const u8 *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline void store64(u8 *p, u64 v)
{
	memcpy(p, &v, sizeof(v));
}

static HW_TARGET u32 state_hw(u32 state, const u8 *p, size_t len)
{
	u64 a = state, b, c;
	size_t n, i;

	while (len >= 3 * 8 * LANE_MIN) {
		n = min_t(size_t, len / 24, LANE_MAX);
		b = 0;
		c = 0;
		for (i = 0; i < n; i++) {
			a = _mm_crc32_u64(a, load64(p + 8 * i));
			b = _mm_crc32_u64(b, load64(p + 8 * (n + i)));
			c = _mm_crc32_u64(c, load64(p + 8 * (2 * n + i)));
		}
		a = lanes_join(a, b, c, n);
		p += 24 * n;
		len -= 24 * n;
	}
	for (; len >= 8; len -= 8, p += 8)
		a = _mm_crc32_u64(a, load64(p));
	for (; len; len--)
		a = _mm_crc32_u8((u32)a, *p++);
	return (u32)a;
}

static HW_TARGET u32 state_hw_copy(u32 state, u8 *dst, const u8 *src, size_t len, u64 *sum)
{
	u8 *start = dst;
	size_t all = len;
	u64 a = state, b, c, va, vb, vc;
	size_t n, i, o;

	while (len >= 3 * 8 * LANE_MIN) {
		n = min_t(size_t, len / 24, LANE_MAX);
		b = 0;
		c = 0;
		for (i = 0; i < n; i++) {
			o = 8 * i;
			va = load64(src + o);
			vb = load64(src + o + 8 * n);
			vc = load64(src + o + 16 * n);
			store64(dst + o, va);
			store64(dst + o + 8 * n, vb);
			store64(dst + o + 16 * n, vc);
			a = _mm_crc32_u64(a, va);
			b = _mm_crc32_u64(b, vb);
			c = _mm_crc32_u64(c, vc);
		}
		a = lanes_join(a, b, c, n);
		src += 24 * n;
		dst += 24 * n;
		len -= 24 * n;
	}
	for (; len >= 8; len -= 8, src += 8, dst += 8) {
		va = load64(src);
		store64(dst, va);
		a = _mm_crc32_u64(a, va);
	}
	for (; len; len--) {
		*dst = *src++;
		a = _mm_crc32_u8((u32)a, *dst++);
	}
	*sum = csum_add(*sum, start, all);
	return (u32)a;
}

/*
 * With AVX-512 and VPCLMULQDQ 256 bytes are folded at a time: sixteen lanes of
 * 128 bits, each multiplied by x^2048 before the next data is added. What is
 * left in the end is a 128-bit word that has the same CRC as all before it.
 *
 * A lane is H x^64 + L with H first in memory. The product of two bit-reversed
 * 64-bit words carries a factor x, hence the exponents one below.
 */
#define FOLD_TARGET __attribute__((target("avx512f,avx512vnni,vpclmulqdq,pclmul,sse4.2")))
#define FOLD_BLOCK  256

struct fold_factor {
	u64 high; /* for H: x^(64 + d - 1) */
	u64 low; /* for L: x^(d - 1) */
};

/* Members, not an array: the compiler keeps these in registers. */
struct fold_acc {
	__m512i a, b, c, d;
};

static struct fold_factor fold2048, fold512, fold128;

static void fold_factor_init(struct fold_factor *f, u64 distance)
{
	f->high = (u64)poly_pow_x(64 + distance - 1) << 32;
	f->low = (u64)poly_pow_x(distance - 1) << 32;
}

static inline FOLD_TARGET __m512i load_factor(const struct fold_factor *f)
{
	return _mm512_broadcast_i32x4(_mm_set_epi64x((long long)f->low, (long long)f->high));
}

static inline FOLD_TARGET __m512i fold(__m512i acc, __m512i factor, __m512i data)
{
	__m512i h = _mm512_clmulepi64_epi128(acc, factor, 0x00);
	__m512i l = _mm512_clmulepi64_epi128(acc, factor, 0x11);

	return _mm512_ternarylogic_epi64(h, l, data, 0x96); /* exclusive or of all three */
}

static inline FOLD_TARGET __m128i fold_lane(__m128i acc, __m128i factor, __m128i data)
{
	__m128i h = _mm_clmulepi64_si128(acc, factor, 0x00);
	__m128i l = _mm_clmulepi64_si128(acc, factor, 0x11);

	return _mm_xor_si128(_mm_xor_si128(h, l), data);
}

/* Four lanes become one, whose CRC the scalar instruction computes. */
static inline FOLD_TARGET u32 fold_finish(__m512i acc)
{
	const __m128i f = _mm512_castsi512_si128(load_factor(&fold128));
	__m128i a = _mm512_castsi512_si128(acc);
	u64 s;

	a = fold_lane(a, f, _mm512_extracti32x4_epi32(acc, 1));
	a = fold_lane(a, f, _mm512_extracti32x4_epi32(acc, 2));
	a = fold_lane(a, f, _mm512_extracti32x4_epi32(acc, 3));
	s = _mm_crc32_u64(0, (u64)_mm_cvtsi128_si64(a));
	return (u32)_mm_crc32_u64(s, (u64)_mm_extract_epi64(a, 1));
}

/* A state is what was there before the first bytes, so it is added to them. */
static inline FOLD_TARGET __m512i add_state(__m512i first, u32 state)
{
	return _mm512_xor_si512(first, _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)state)));
}

/* The next 64 bytes, stored at @dst and added to @sum too unless @dst is NULL. */
static inline FOLD_TARGET __m512i fold_load(u8 *dst, const u8 *src, size_t off,
					    struct vnni_sum *sum)
{
	__m512i v = _mm512_loadu_si512(src + off);

	if (dst) {
		_mm512_storeu_si512(dst + off, v);
		*sum = vnni_add(*sum, v);
	}
	return v;
}

/* @len rounded down to 64 bytes, FOLD_BLOCK at least. */
static inline __attribute__((always_inline)) FOLD_TARGET u32 fold_bytes(u32 state, u8 *dst,
									const u8 *src, size_t len,
									u64 *sum)
{
	const __m512i f2048 = load_factor(&fold2048), f512 = load_factor(&fold512);
	struct vnni_sum s = vnni_zero(), t = s;
	struct fold_acc acc;
	size_t i;

	acc.a = add_state(fold_load(dst, src, 0, &s), state);
	acc.b = fold_load(dst, src, 64, &t);
	acc.c = fold_load(dst, src, 128, &s);
	acc.d = fold_load(dst, src, 192, &t);
	for (i = FOLD_BLOCK; i + FOLD_BLOCK <= len; i += FOLD_BLOCK) {
		acc.a = fold(acc.a, f2048, fold_load(dst, src, i, &s));
		acc.b = fold(acc.b, f2048, fold_load(dst, src, i + 64, &t));
		acc.c = fold(acc.c, f2048, fold_load(dst, src, i + 128, &s));
		acc.d = fold(acc.d, f2048, fold_load(dst, src, i + 192, &t));
	}
	acc.a = fold(fold(fold(acc.a, f512, acc.b), f512, acc.c), f512, acc.d);
	for (; i + 64 <= len; i += 64)
		acc.a = fold(acc.a, f512, fold_load(dst, src, i, &s));
	state = fold_finish(acc.a);
	if (dst)
		*sum = csum_add64(*sum, vnni_total(vnni_join(s, t)));
	/* The compiler leaves it out before a tail call; SSE code would pay for it dearly. */
	_mm256_zeroupper();
	return state;
}

static FOLD_TARGET u32 state_fold(u32 state, const u8 *p, size_t len)
{
	size_t done = ALIGN_DOWN(len, 64);

	if (len < FOLD_BLOCK)
		return state_hw(state, p, len);
	state = fold_bytes(state, NULL, p, done, NULL);
	return state_hw(state, p + done, len - done);
}

static FOLD_TARGET u32 state_fold_copy(u32 state, u8 *dst, const u8 *src, size_t len, u64 *sum)
{
	size_t done = ALIGN_DOWN(len, 64);

	if (len < FOLD_BLOCK)
		return state_hw_copy(state, dst, src, len, sum);
	state = fold_bytes(state, dst, src, done, sum);
	return state_hw_copy(state, dst + done, src + done, len - done, sum);
}

static void hw_init(void)
{
	u32 x64 = poly_pow_x(64), shift = poly_pow_x(64 - 33);
	size_t n;

	__builtin_cpu_init();
	if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("pclmul"))
		return;
	for (n = 1; n <= 2 * LANE_MAX; n++) {
		lane_shift[n] = shift;
		shift = poly_mul(shift, x64);
	}
	fold_factor_init(&fold2048, 2048);
	fold_factor_init(&fold512, 512);
	fold_factor_init(&fold128, 128);
	add_impl(state_hw, state_hw_copy, "sse4.2+pclmul");
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq") &&
	    __builtin_cpu_supports("avx512vnni"))
		add_impl(state_fold, state_fold_copy, "avx512+vpclmulqdq");
}

#elif defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>

#ifndef HWCAP_CRC32
#define HWCAP_CRC32 (1 << 7)
#endif
#define HW_TARGET __attribute__((target("+crc")))

static HW_TARGET u32 state_hw(u32 s, const u8 *p, size_t len)
{
	for (; len >= 8; len -= 8, p += 8)
		s = __crc32cd(s, get_le64(p));
	for (; len; len--)
		s = __crc32cb(s, *p++);
	return s;
}

static HW_TARGET u32 state_hw_copy(u32 s, u8 *dst, const u8 *src, size_t len, u64 *sum)
{
	u8 *start = dst;
	size_t all = len;
	u64 v;

	for (; len >= 8; len -= 8, src += 8, dst += 8) {
		v = get_le64(src);
		put_le64(dst, v);
		s = __crc32cd(s, v);
	}
	for (; len; len--) {
		*dst = *src++;
		s = __crc32cb(s, *dst++);
	}
	*sum = csum_add(*sum, start, all);
	return s;
}

static void hw_init(void)
{
	if (getauxval(AT_HWCAP) & HWCAP_CRC32)
		add_impl(state_hw, state_hw_copy, "armv8");
}

#else

static void hw_init(void)
{
}
#endif

__attribute__((constructor)) static void crc32c_init(void)
{
	tables_init();
	add_impl(state_table, state_table_copy, "table");
	hw_init();
}

bool crc32c_select(const char *name)
{
	unsigned int i;

	for (i = 0; i < n_impls; i++) {
		if (!strcmp(impls[i].name, name)) {
			impl = impls[i];
			return true;
		}
	}
	return false;
}

u32 crc32c(u32 crc, const void *buf, size_t len)
{
	return ~impl.crc(~crc, buf, len);
}

u32 crc32c_copy(void *dst, const void *src, size_t len, u32 crc, u64 *sum)
{
	return ~impl.copy(~crc, dst, src, len, sum);
}

u32 crc32c_table(u32 crc, const void *buf, size_t len)
{
	return ~state_table(~crc, buf, len);
}

u32 crc32c_combine(u32 crc_a, u32 crc_b, u64 len_b)
{
	/* The powers of x repeat after 2^31 - 1: the polynomial is x + 1 times a primitive one. */
	return poly_mul(poly_pow_x(8 * (len_b % 0x7fffffff)), crc_a) ^ crc_b;
}

const char *crc32c_impl(void)
{
	return impl.name;
}
