/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Internet checksum (RFC 1071). Sums are kept in 64 bits in the byte order
 * of memory, so that a folded result is stored by memcpy, without swapping.
 */
#ifndef RNICD_BASE_CSUM_H
#define RNICD_BASE_CSUM_H

#include "base/util.h"

/*
 * Adds @len bytes to @sum. Any alignment; pieces may be chained as long as each
 * but the last has an even length.
 */
u64 csum_add(u64 sum, const void *buf, size_t len);

/* Adds an already computed sum (carry kept). */
static inline u64 csum_add64(u64 sum, u64 v)
{
	sum += v;
	return sum + (sum < v);
}

/* The one's complement of the folded sum, in memory byte order. */
static inline u16 csum_fold(u64 sum)
{
	sum = (sum >> 32) + (sum & 0xffffffff);
	sum = (sum >> 32) + (sum & 0xffffffff);
	sum = (sum >> 16) + (sum & 0xffff);
	sum = (sum >> 16) + (sum & 0xffff);
	sum = (sum >> 16) + (sum & 0xffff);
	return (u16)~sum;
}

/*
 * Sum of the pseudo header (RFC 9293 3.1; RFC 8200 8.1). Addresses point at 4
 * or 16 bytes in network order; @len is the transport length in host order.
 */
u64 csum_pseudo4(const void *src, const void *dst, u8 proto, u32 len);
u64 csum_pseudo6(const void *src, const void *dst, u8 proto, u32 len);

/*
 * RFC 1624 update of a stored checksum when a 16-bit word changes from @from
 * to @to; all three in memory byte order.
 */
u16 csum_replace16(u16 check, u16 from, u16 to);

#endif /* RNICD_BASE_CSUM_H */
