// SPDX-License-Identifier: GPL-2.0-or-later
/* Internet checksums, over the vectorized sum of base/. */
#include "base/csum.h"
#include "sum.h"

uint16_t tcp_sum_fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

uint32_t tcp_sum(uint32_t sum, const void *data, size_t len)
{
	return (uint16_t)~csum_fold(csum_add(0, data, len)) + (uint32_t)tcp_sum_fold(sum);
}

static uint16_t swap_bytes(uint16_t v)
{
	return (uint16_t)(v << 8 | v >> 8);
}

uint32_t tcp_sum_iov(const struct iovec *iov, unsigned int cnt)
{
	uint32_t sum = 0;
	size_t pos = 0;

	for (unsigned int i = 0; i < cnt; i++) {
		uint16_t part = tcp_sum_fold(tcp_sum(0, iov[i].iov_base, iov[i].iov_len));

		/* a piece that starts at an odd offset has its bytes in the other halves */
		sum += pos & 1 ? swap_bytes(part) : part;
		pos += iov[i].iov_len;
	}
	return tcp_sum_fold(sum);
}
