// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* OpenRNIC core driver: queue memory and page lists. */

#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include "core.h"

#define ORNIC_QPAGE_SHIFT	12
#define ORNIC_QPAGE_SIZE	BIT(ORNIC_QPAGE_SHIFT)
#define ORNIC_PBL_PER_BLOCK	(ORNIC_QPAGE_SIZE / sizeof(__le64))
#define ORNIC_PBL_MAX_PAGES	BIT(24)

/**
 * ornic_qbuf_alloc() - coherent, zeroed memory for a queue
 * @core: the function
 * @buf: filled on success
 * @size: bytes, rounded up to 4 KiB
 *
 * Context: Process context, may sleep.
 * Return: 0, -EINVAL for size 0, -ENOMEM
 */
int ornic_qbuf_alloc(struct ornic_core *core, struct ornic_qbuf *buf, size_t size)
{
	if (!size)
		return -EINVAL;
	buf->size = ALIGN(size, ORNIC_QPAGE_SIZE);
	buf->va = dma_alloc_coherent(&core->pdev->dev, buf->size, &buf->dma, GFP_KERNEL);
	if (!buf->va)
		return -ENOMEM;
	return 0;
}
EXPORT_SYMBOL_GPL(ornic_qbuf_alloc);

/**
 * ornic_qbuf_free() - give back memory of ornic_qbuf_alloc()
 * @core: the function
 * @buf: buffer; one that is zeroed or was freed already is left alone
 *
 * The device must have no use for it any more: the command that ended its use has answered, with
 * whatever result.
 *
 * Context: Process context.
 */
void ornic_qbuf_free(struct ornic_core *core, struct ornic_qbuf *buf)
{
	if (!buf->va)
		return;
	dma_free_coherent(&core->pdev->dev, buf->size, buf->va, buf->dma);
	buf->va = NULL;
}
EXPORT_SYMBOL_GPL(ornic_qbuf_free);

/**
 * ornic_qbuf_describe() - tell the device where a buffer is
 * @buf: buffer
 * @mem: field of a command, filled
 *
 * Context: Any context.
 */
void ornic_qbuf_describe(const struct ornic_qbuf *buf, struct ornic_qmem *mem)
{
	memset(mem, 0, sizeof(*mem));
	mem->addr = cpu_to_le64(buf->dma);
	mem->npages = cpu_to_le32(buf->size >> ORNIC_QPAGE_SHIFT);
	mem->page_shift = ORNIC_QPAGE_SHIFT;
}
EXPORT_SYMBOL_GPL(ornic_qbuf_describe);

static int ornic_pbl_alloc_blocks(struct ornic_pbl *pbl)
{
	u32 i;
	int rc;

	pbl->blocks = kvcalloc(pbl->nblocks, sizeof(*pbl->blocks), GFP_KERNEL);
	if (!pbl->blocks)
		return -ENOMEM;
	for (i = 0; i < pbl->nblocks; i++) {
		rc = ornic_qbuf_alloc(pbl->core, &pbl->blocks[i], ORNIC_QPAGE_SIZE);
		if (rc)
			return rc;
	}
	return 0;
}

/* The array of block addresses must be contiguous: 2^24 pages make 32768 blocks, 256 KiB. */
static int ornic_pbl_alloc_top(struct ornic_pbl *pbl)
{
	__le64 *slot;
	u32 i;
	int rc;

	rc = ornic_qbuf_alloc(pbl->core, &pbl->top, pbl->nblocks * sizeof(__le64));
	if (rc)
		return rc;
	slot = pbl->top.va;
	for (i = 0; i < pbl->nblocks; i++)
		slot[i] = cpu_to_le64(pbl->blocks[i].dma);
	return 0;
}

/**
 * ornic_pbl_init() - begin a page list
 * @core: the function
 * @pbl: list
 * @npages: number of pages, 1..2^24
 * @page_shift: log2 of the page size, 12..40
 *
 * One page needs no list (level 0), up to 512 one block (level 1), more a block of blocks (level
 * 2).
 *
 * Context: Process context, may sleep.
 * Return: 0, -EINVAL, -ENOMEM. On error nothing needs to be freed.
 */
int ornic_pbl_init(struct ornic_core *core, struct ornic_pbl *pbl, u32 npages, u8 page_shift)
{
	int rc;

	memset(pbl, 0, sizeof(*pbl));
	if (!npages || npages > ORNIC_PBL_MAX_PAGES || page_shift < ORNIC_QPAGE_SHIFT)
		return -EINVAL;
	pbl->core = core;
	pbl->npages = npages;
	pbl->page_shift = page_shift;
	if (npages == 1)
		return 0;

	pbl->nblocks = DIV_ROUND_UP(npages, ORNIC_PBL_PER_BLOCK);
	pbl->levels = pbl->nblocks == 1 ? 1 : 2;
	rc = ornic_pbl_alloc_blocks(pbl);
	if (!rc && pbl->levels == 2)
		rc = ornic_pbl_alloc_top(pbl);
	if (rc)
		ornic_pbl_free(pbl);
	return rc;
}
EXPORT_SYMBOL_GPL(ornic_pbl_init);

/**
 * ornic_pbl_add() - append a page
 * @pbl: list; a page beyond its npages is dropped with a warning
 * @page: DMA address, multiple of the page size
 *
 * Context: Any context.
 */
void ornic_pbl_add(struct ornic_pbl *pbl, dma_addr_t page)
{
	u32 i = pbl->filled;
	__le64 *slot;

	if (WARN_ON_ONCE(i >= pbl->npages))
		return;
	if (!i)
		pbl->first = page;
	if (pbl->levels) {
		slot = pbl->blocks[i / ORNIC_PBL_PER_BLOCK].va;
		slot[i % ORNIC_PBL_PER_BLOCK] = cpu_to_le64(page);
	}
	pbl->filled++;
}
EXPORT_SYMBOL_GPL(ornic_pbl_add);

/**
 * ornic_pbl_describe() - tell the device where the pages are
 * @pbl: list with all its pages
 * @mem: field of a command, filled
 *
 * Context: Any context.
 */
void ornic_pbl_describe(const struct ornic_pbl *pbl, struct ornic_qmem *mem)
{
	dma_addr_t addr;

	WARN_ON_ONCE(pbl->filled != pbl->npages);
	if (pbl->levels == 0)
		addr = pbl->first;
	else if (pbl->levels == 1)
		addr = pbl->blocks[0].dma;
	else
		addr = pbl->top.dma;
	memset(mem, 0, sizeof(*mem));
	mem->addr = cpu_to_le64(addr);
	mem->npages = cpu_to_le32(pbl->npages);
	mem->page_shift = pbl->page_shift;
	mem->levels = pbl->levels;
}
EXPORT_SYMBOL_GPL(ornic_pbl_describe);

/**
 * ornic_pbl_free() - end of a page list, once its command has answered
 * @pbl: list; one that is zeroed is left alone
 *
 * Context: Process context.
 */
void ornic_pbl_free(struct ornic_pbl *pbl)
{
	u32 i;

	if (pbl->blocks)
		for (i = 0; i < pbl->nblocks; i++)
			ornic_qbuf_free(pbl->core, &pbl->blocks[i]);
	kvfree(pbl->blocks);
	pbl->blocks = NULL;
	if (pbl->top.va)
		ornic_qbuf_free(pbl->core, &pbl->top);
}
EXPORT_SYMBOL_GPL(ornic_pbl_free);
