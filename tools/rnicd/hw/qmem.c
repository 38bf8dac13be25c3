// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "hw/qmem.h"

#define QMEM_MAX_PAGES (1u << 24)
#define QMEM_MIN_SHIFT 12
#define QMEM_MAX_SHIFT 40
#define QMEM_BLOCK     4096u
#define QMEM_PER_BLOCK (QMEM_BLOCK / 8)

static struct cmd_ret qmem_bad(enum ornic_cmd_status status, size_t cmd_off, size_t field)
{
	return cmd_ret(status, cmd_off + field);
}

#define QMEM_BAD(status, off, field) \
	qmem_bad(ORNIC_CMDS_##status, off, offsetof(struct ornic_qmem, field))

/* The description alone, without a look at guest memory. */
static struct cmd_ret qmem_check(const struct ornic_qmem *w, u64 min_len, size_t off)
{
	u64 addr = le64_to_cpu(w->addr);
	u32 npages = le32_to_cpu(w->npages);
	u64 page;

	if (w->page_shift < QMEM_MIN_SHIFT || w->page_shift > QMEM_MAX_SHIFT)
		return QMEM_BAD(FIELD, off, page_shift);
	if (w->levels > 2)
		return QMEM_BAD(FIELD, off, levels);
	if (w->mbz[0] || w->mbz[1])
		return QMEM_BAD(FIELD, off, mbz);
	page = 1ULL << w->page_shift;
	if (!npages || npages > QMEM_MAX_PAGES || npages > UINT64_MAX >> w->page_shift)
		return QMEM_BAD(FIELD, off, npages);
	if (min_len > npages * page)
		return QMEM_BAD(FIELD, off, npages);
	if (!IS_ALIGNED(addr, w->levels ? 8 : page))
		return QMEM_BAD(FIELD, off, addr);
	if (!w->levels && addr + npages * page - 1 < addr)
		return QMEM_BAD(ADDRESS, off, addr);
	return CMD_OK;
}

/* Level 2: a list of the addresses of 4 KiB blocks of page addresses. */
static int qmem_read_blocks(struct rnic *dev, u64 list, u64 *pages, u32 npages)
{
	u32 done, n;
	u64 block;

	for (done = 0; done < npages; done += n, list += 8) {
		n = min(npages - done, QMEM_PER_BLOCK);
		if (dma_read(dev->dma, list, &block, sizeof(block)))
			return -EFAULT;
		block = le64_to_cpu(block);
		if (!IS_ALIGNED(block, QMEM_BLOCK))
			return -EINVAL;
		if (dma_read(dev->dma, block, pages + done, n * 8ULL))
			return -EFAULT;
	}
	return 0;
}

/* Page addresses to host order; are they multiples of the page size, and one range? */
static int qmem_check_pages(struct qmem *qm, bool *contiguous)
{
	u64 page = 1ULL << qm->page_shift;
	u32 i;

	*contiguous = true;
	for (i = 0; i < qm->npages; i++) {
		qm->pages[i] = le64_to_cpu(qm->pages[i]);
		if (!IS_ALIGNED(qm->pages[i], page) || qm->pages[i] + (page - 1) < qm->pages[i])
			return -EINVAL;
		if (qm->pages[i] != qm->pages[0] + i * page)
			*contiguous = false;
	}
	return 0;
}

static int qmem_load(struct rnic *dev, struct qmem *qm, u64 list, u32 levels)
{
	u64 bytes = qm->npages * 8ULL;
	bool contiguous;
	int ret;

	if (bytes > RNIC_MAX_LIST_BYTES - dev->list_bytes)
		return -ENOMEM;
	qm->pages = malloc(bytes);
	if (!qm->pages)
		return -ENOMEM;
	dev->list_bytes += bytes;
	if (levels == 1)
		ret = dma_read(dev->dma, list, qm->pages, bytes);
	else
		ret = qmem_read_blocks(dev, list, qm->pages, qm->npages);
	if (!ret)
		ret = qmem_check_pages(qm, &contiguous);
	if (ret) {
		qmem_free(dev, qm);
		return ret;
	}
	if (contiguous) {
		qm->base = qm->pages[0];
		free(qm->pages);
		qm->pages = NULL;
		dev->list_bytes -= bytes;
	}
	return 0;
}

static void qmem_set(struct qmem *qm, u32 npages, u8 page_shift)
{
	memset(qm, 0, sizeof(*qm));
	qm->npages = npages;
	qm->page_shift = page_shift;
	qm->len = (u64)npages << page_shift;
}

struct cmd_ret qmem_init(struct rnic *dev, struct qmem *qm, const struct ornic_qmem *wire,
			 u64 min_len, size_t cmd_off)
{
	struct cmd_ret ret = qmem_check(wire, min_len, cmd_off);
	u64 addr = le64_to_cpu(wire->addr);

	memset(qm, 0, sizeof(*qm));
	if (ret.status)
		return ret;
	qmem_set(qm, le32_to_cpu(wire->npages), wire->page_shift);
	if (!wire->levels) {
		qm->base = addr;
		return CMD_OK;
	}
	switch (qmem_load(dev, qm, addr, wire->levels)) {
	case 0:
		return CMD_OK;
	case -ENOMEM:
		ret = cmd_ret(ORNIC_CMDS_NO_MEMORY, 0);
		break;
	default:
		ret = QMEM_BAD(ADDRESS, cmd_off, addr);
	}
	memset(qm, 0, sizeof(*qm));
	return ret;
}

int qmem_init_list(struct rnic *dev, struct qmem *qm, u64 list, u32 npages, u8 page_shift)
{
	int ret;

	memset(qm, 0, sizeof(*qm));
	if (!npages)
		return 0;
	if (npages > QMEM_MAX_PAGES || page_shift < QMEM_MIN_SHIFT || page_shift > QMEM_MAX_SHIFT ||
	    npages > UINT64_MAX >> page_shift || !IS_ALIGNED(list, 8))
		return -EINVAL;
	qmem_set(qm, npages, page_shift);
	ret = qmem_load(dev, qm, list, 1);
	if (ret)
		memset(qm, 0, sizeof(*qm));
	return ret;
}

void qmem_free(struct rnic *dev, struct qmem *qm)
{
	if (qm->pages) {
		dev->list_bytes -= qm->npages * 8ULL;
		free(qm->pages);
	}
	memset(qm, 0, sizeof(*qm));
}

/* Bytes from @off on, at most @len, that are one range of DMA addresses. */
static u64 qmem_run(const struct qmem *qm, u64 off, u64 len)
{
	u64 page = 1ULL << qm->page_shift;
	u64 run, i;

	if (!qm->pages)
		return len;
	i = off >> qm->page_shift;
	run = page - (off & (page - 1));
	while (run < len && qm->pages[i + 1] == qm->pages[i] + page) {
		run += page;
		i++;
	}
	return min(run, len);
}

/* A device that has stopped writes nothing any more, whatever is still under way. */
static bool qmem_may(const struct rnic *dev, int prot)
{
	return !(prot & DMA_PROT_WRITE) || likely(!(dev->regs.status & ORNIC_STATUS_FATAL));
}

void *qmem_ptr(struct rnic *dev, const struct qmem *qm, u64 off, u64 len, int prot)
{
	if (!qmem_may(dev, prot) || !range_ok(off, len, qm->len) || qmem_run(qm, off, len) < len)
		return NULL;
	return dma_ptr(dev->dma, qmem_addr(qm, off), len, prot);
}

static int qmem_copy(struct rnic *dev, const struct qmem *qm, u64 off, void *buf, u64 len, int prot)
{
	u8 *p = buf;
	u64 run;
	int ret;

	if (!qmem_may(dev, prot) || !range_ok(off, len, qm->len))
		return -EFAULT;
	while (len) {
		run = qmem_run(qm, off, len);
		if (prot == DMA_PROT_READ)
			ret = dma_read(dev->dma, qmem_addr(qm, off), p, run);
		else
			ret = dma_write(dev->dma, qmem_addr(qm, off), p, run);
		if (ret)
			return -EFAULT;
		off += run;
		p += run;
		len -= run;
	}
	return 0;
}

int qmem_read(struct rnic *dev, const struct qmem *qm, u64 off, void *dst, u64 len)
{
	return qmem_copy(dev, qm, off, dst, len, DMA_PROT_READ);
}

int qmem_write(struct rnic *dev, const struct qmem *qm, u64 off, const void *src, u64 len)
{
	return qmem_copy(dev, qm, off, (void *)src, len, DMA_PROT_WRITE);
}

int qmem_iov(struct rnic *dev, const struct qmem *qm, u64 off, u64 len, int prot, struct iovec *iov,
	     int max)
{
	int n = 0, got, merged;
	u64 run;

	if (!qmem_may(dev, prot) || !range_ok(off, len, qm->len))
		return -EFAULT;
	while (len) {
		run = qmem_run(qm, off, len);
		if (n == max)
			return -E2BIG;
		got = dma_iov(dev->dma, qmem_addr(qm, off), run, prot, iov + n, max - n);
		if (got < 0)
			return got;
		/* Pages apart for the guest may be neighbours here. */
		merged = n && got &&
			 (char *)iov[n - 1].iov_base + iov[n - 1].iov_len == iov[n].iov_base;
		if (merged) {
			iov[n - 1].iov_len += iov[n].iov_len;
			memmove(iov + n, iov + n + 1, (size_t)(got - 1) * sizeof(*iov));
		}
		n += got - merged;
		off += run;
		len -= run;
	}
	return n;
}

int qmem_load32(struct rnic *dev, const struct qmem *qm, u64 off, u32 *val)
{
	if (!range_ok(off, 4, qm->len))
		return -EFAULT;
	return dma_read_le32(dev->dma, qmem_addr(qm, off), val);
}

int qmem_load64(struct rnic *dev, const struct qmem *qm, u64 off, u64 *val)
{
	void *p = qmem_ptr(dev, qm, off, 8, DMA_PROT_READ);

	if (!p)
		return -EFAULT;
	*val = le64_to_cpu(__atomic_load_n((__le64 *)p, __ATOMIC_ACQUIRE));
	return 0;
}

int qmem_store32(struct rnic *dev, const struct qmem *qm, u64 off, u32 val)
{
	if (!qmem_may(dev, DMA_PROT_WRITE) || !range_ok(off, 4, qm->len))
		return -EFAULT;
	return dma_write_le32(dev->dma, qmem_addr(qm, off), val);
}
