/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CRC32C (Castagnoli), as MPA uses it (RFC 5044 section 4.4, RFC 3720
 * section 12.1). By hardware instruction where the CPU has it, chosen when the
 * program starts.
 */
#ifndef RNICD_BASE_CRC32C_H
#define RNICD_BASE_CRC32C_H

#include "base/util.h"

/**
 * crc32c() - CRC of a buffer.
 * @crc: 0 to begin, or the result for the bytes before.
 * @buf: bytes; no alignment needed.
 * @len: their number.
 *
 * The initial and final inversions are inside, so that results chain:
 * crc32c(crc32c(0, a), b) is the CRC of a followed by b.
 * The wire carries the value with its low byte first: put_le32().
 *
 * Return: the CRC; "123456789" gives 0xe3069283.
 */
u32 crc32c(u32 crc, const void *buf, size_t len);

/*
 * Copies and computes in one pass; @dst and @src must not overlap. @len < 1 MiB. The bytes are
 * added to the Internet checksum @sum too, as csum_add() does.
 */
u32 crc32c_copy(void *dst, const void *src, size_t len, u32 crc, u64 *sum);

/* CRC of A followed by B, from crc(A), crc(B) and the length of B in bytes. */
u32 crc32c_combine(u32 crc_a, u32 crc_b, u64 len_b);

/* "avx512+vpclmulqdq", "sse4.2+pclmul", "armv8" or "table". */
const char *crc32c_impl(void);

/*
 * Use another implementation of the above that the CPU has; false if it has not or
 * there is none of that name. For tests.
 */
bool crc32c_select(const char *name);

/* The portable implementation, whatever the CPU offers. For tests. */
u32 crc32c_table(u32 crc, const void *buf, size_t len);

#endif /* RNICD_BASE_CRC32C_H */
