/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internet checksums in 32 bits (RFC 1071). Sums are in the machine's order of bytes: section 2 (B)
 * shows that it does not matter as long as the result is stored the same way.
 */
#ifndef RNICD_TCP_SUM_H
#define RNICD_TCP_SUM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* @sum and @len bytes. Any alignment; pieces but the last have an even length. */
uint32_t tcp_sum(uint32_t sum, const void *data, size_t len);
/* All pieces as one, of whatever lengths; folded. */
uint32_t tcp_sum_iov(const struct iovec *iov, unsigned int cnt);
uint16_t tcp_sum_fold(uint32_t sum);

static inline uint16_t tcp_sum_fold64(uint64_t sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffffffff) + (sum >> 32);
	return tcp_sum_fold((uint32_t)sum);
}

#endif /* RNICD_TCP_SUM_H */
