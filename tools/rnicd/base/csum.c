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

u64 csum_add(u64 sum, const void *buf, size_t len)
{
	const u8 *p = buf;
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
