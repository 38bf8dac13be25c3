/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of queues and MRs: page lists of the contract (struct ornic_qmem),
 * copied when the object is made, translated to pointers at each use.
 */
#ifndef RNICD_HW_QMEM_H
#define RNICD_HW_QMEM_H

#include "hw/dev.h"

/**
 * struct qmem - pages of an object
 * @pages: DMA addresses, NULL when all pages follow each other from @base on
 * @base: DMA address of the first page
 * @len: bytes of all pages
 * @npages: number of pages
 * @page_shift: log2 of the page size
 */
struct qmem {
	u64 *pages;
	u64 base;
	u64 len;
	u32 npages;
	u8 page_shift;
};

/**
 * qmem_init() - check a description and copy its page list.
 * @wire: as in the command, already copied from guest memory.
 * @min_len: bytes that the object needs.
 * @cmd_off: byte offset of @wire in the command, for the syndrome.
 * Return: OK; FIELD, ADDRESS (list not readable, its addresses misaligned or beyond 2^64),
 * NO_MEMORY. On failure @qm is empty.
 *
 * Whether the pages themselves can be reached is found out at use.
 */
struct cmd_ret qmem_init(struct rnic *dev, struct qmem *qm, const struct ornic_qmem *wire,
			 u64 min_len, size_t cmd_off);
/* Contiguous __le64 addresses at @list, as the REG_MR work request has. 0, -EFAULT, -EINVAL,
 * -ENOMEM. */
int qmem_init_list(struct rnic *dev, struct qmem *qm, u64 list, u32 npages, u8 page_shift);
void qmem_free(struct rnic *dev, struct qmem *qm);

/* DMA address of byte @off, which must be below qm->len. */
static inline u64 qmem_addr(const struct qmem *qm, u64 off)
{
	if (!qm->pages)
		return qm->base + off;
	return qm->pages[off >> qm->page_shift] + (off & ((1ULL << qm->page_shift) - 1));
}

/**
 * qmem_ptr() - translate bytes that lie in one page (naturally aligned ring entries, records).
 * Return: a pointer good until the loop handles the next message of the VMM; NULL: out of range,
 *across a page, or not accessible.
 */
void *qmem_ptr(struct rnic *dev, const struct qmem *qm, u64 off, u64 len, int prot);

/* Copies of any length and alignment across pages. 0 or -EFAULT (part may have been copied). */
int qmem_read(struct rnic *dev, const struct qmem *qm, u64 off, void *dst, u64 len);
int qmem_write(struct rnic *dev, const struct qmem *qm, u64 off, const void *src, u64 len);
/* Pieces of host memory, in order; count, -EFAULT, or -E2BIG. */
int qmem_iov(struct rnic *dev, const struct qmem *qm, u64 off, u64 len, int prot, struct iovec *iov,
	     int max);

/* Aligned words with acquire/release order. 0 or -EFAULT. */
int qmem_load32(struct rnic *dev, const struct qmem *qm, u64 off, u32 *val);
int qmem_load64(struct rnic *dev, const struct qmem *qm, u64 off, u64 *val);
int qmem_store32(struct rnic *dev, const struct qmem *qm, u64 off, u32 val);

#endif /* RNICD_HW_QMEM_H */
