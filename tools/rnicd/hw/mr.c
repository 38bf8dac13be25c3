// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "hw/mr.h"

#define MR_PAGE_SHIFT_MAX 31

struct mr_table {
	struct mr *mr[RNIC_MAX_MR];
	u32 count;
};

int mr_table_init(struct rnic *dev)
{
	dev->mrs = calloc(1, sizeof(*dev->mrs));
	return dev->mrs ? 0 : -ENOMEM;
}

static void mr_delete(struct rnic *dev, u32 index)
{
	struct mr *mr = dev->mrs->mr[index];

	dev->mrs->mr[index] = NULL;
	dev->mrs->count--;
	qmem_free(dev, &mr->mem);
	free(mr);
}

void mr_reset(struct rnic *dev)
{
	u32 i;

	for (i = 0; i < RNIC_MAX_MR && dev->mrs->count; i++)
		if (dev->mrs->mr[i])
			mr_delete(dev, i);
}

void mr_table_free(struct rnic *dev)
{
	if (!dev->mrs)
		return;
	mr_reset(dev);
	free(dev->mrs);
	dev->mrs = NULL;
}

void mr_each(struct rnic *dev, void (*fn)(void *arg, const struct mr *mr), void *arg)
{
	u32 i;

	for (i = 0; i < RNIC_MAX_MR; i++)
		if (dev->mrs->mr[i])
			fn(arg, dev->mrs->mr[i]);
}

static struct mr *mr_by_index(struct rnic *dev, u32 stag)
{
	u32 index = FIELD_GET(ORNIC_STAG_INDEX, stag);

	return index < RNIC_MAX_MR ? dev->mrs->mr[index] : NULL;
}

/* Valid, and the key is the present one. */
static struct mr *mr_get(struct rnic *dev, u32 stag)
{
	struct mr *mr = mr_by_index(dev, stag);

	return mr && mr->valid && mr->stag == stag ? mr : NULL;
}

static bool mr_in_bounds(const struct mr *mr, u64 addr, u64 len)
{
	return addr >= mr->iova && range_ok(addr - mr->iova, len, mr->length);
}

enum ornic_syndrome mr_check(struct rnic *dev, u32 stag, u32 pdn, u64 addr, u64 len, u16 access,
			     bool privileged)
{
	const struct mr *mr;

	if (stag == ORNIC_STAG_LOCAL_DMA) {
		if (!privileged)
			return ORNIC_SYN_PRIVILEGE;
		return len && addr + (len - 1) < addr ? ORNIC_SYN_STAG_BOUNDS : ORNIC_SYN_NONE;
	}
	mr = mr_get(dev, stag);
	if (!mr)
		return ORNIC_SYN_STAG_INVALID;
	if (mr->pdn != pdn)
		return ORNIC_SYN_STAG_PD;
	if ((mr->access & access) != access)
		return ORNIC_SYN_STAG_RIGHTS;
	if (!mr_in_bounds(mr, addr, len))
		return ORNIC_SYN_STAG_BOUNDS;
	return ORNIC_SYN_NONE;
}

int mr_iov(struct rnic *dev, u32 stag, u64 addr, u64 len, int prot, struct iovec *iov, int max)
{
	const struct mr *mr;

	if (stag == ORNIC_STAG_LOCAL_DMA)
		return dma_iov(dev->dma, addr, len, prot, iov, max);
	mr = mr_get(dev, stag);
	if (!mr || !mr_in_bounds(mr, addr, len))
		return -EFAULT;
	return qmem_iov(dev, &mr->mem, mr->offset + (addr - mr->iova), len, prot, iov, max);
}

static int mr_copy(struct rnic *dev, u32 stag, u64 addr, void *buf, u64 len, int prot)
{
	const struct mr *mr;
	u64 off;

	if (stag == ORNIC_STAG_LOCAL_DMA) {
		if (prot == DMA_PROT_READ)
			return dma_read(dev->dma, addr, buf, len);
		return dma_write(dev->dma, addr, buf, len);
	}
	mr = mr_get(dev, stag);
	if (!mr || !mr_in_bounds(mr, addr, len))
		return -EFAULT;
	off = mr->offset + (addr - mr->iova);
	if (prot == DMA_PROT_READ)
		return qmem_read(dev, &mr->mem, off, buf, len);
	return qmem_write(dev, &mr->mem, off, buf, len);
}

int mr_read(struct rnic *dev, u32 stag, u64 addr, void *dst, u64 len)
{
	return mr_copy(dev, stag, addr, dst, len, DMA_PROT_READ);
}

int mr_write(struct rnic *dev, u32 stag, u64 addr, const void *src, u64 len)
{
	return mr_copy(dev, stag, addr, (void *)src, len, DMA_PROT_WRITE);
}

/* Rights that no MR may have: RFC 5040 knows no remote write to what the host itself may not write.
 */
static bool mr_access_ok(u16 access)
{
	if (access & ~ORNIC_ACC_ALL)
		return false;
	if (access & (ORNIC_ACC_REMOTE_WRITE | ORNIC_ACC_REMOTE_ATOMIC))
		return access & ORNIC_ACC_LOCAL_WRITE;
	return true;
}

static void mr_set_range(struct mr *mr, u64 iova, u64 length, u32 offset, u16 access)
{
	mr->reg_iova = iova;
	mr->iova = access & ORNIC_ACC_ZERO_BASED ? 0 : iova;
	mr->length = length;
	mr->offset = offset;
	mr->access = access;
}

/* ---- commands ---- */

static struct cmd_ret mr_check_number(struct rnic *dev, u32 stag, u32 pdn, size_t stag_off,
				      size_t pdn_off)
{
	u32 index = FIELD_GET(ORNIC_STAG_INDEX, stag);

	if (!index || index >= RNIC_MAX_MR)
		return cmd_ret(ORNIC_CMDS_NUMBER, stag_off);
	if (!pdn || pdn >= RNIC_MAX_PD)
		return cmd_ret(ORNIC_CMDS_NUMBER, pdn_off);
	if (dev->mrs->mr[index])
		return cmd_ret(ORNIC_CMDS_EXISTS, stag_off);
	return CMD_OK;
}

static void mr_insert(struct rnic *dev, struct mr *mr)
{
	dev->mrs->mr[FIELD_GET(ORNIC_STAG_INDEX, mr->stag)] = mr;
	dev->mrs->count++;
}

static struct cmd_ret mr_check_reg(const struct ornic_cmd_reg_mr *c)
{
	static const struct ornic_qmem none;
	u64 iova = le64_to_cpu(c->iova), length = le64_to_cpu(c->length);

	if (length > RNIC_MAX_MR_SIZE)
		return CMD_BAD(FIELD, struct ornic_cmd_reg_mr, length);
	if (length && iova + (length - 1) < iova)
		return CMD_BAD(FIELD, struct ornic_cmd_reg_mr, iova);
	if (!mr_access_ok(le16_to_cpu(c->access)))
		return CMD_BAD(FIELD, struct ornic_cmd_reg_mr, access);
	if (le16_to_cpu(c->flags) & ~ORNIC_MRF_NO_INVALIDATE)
		return CMD_BAD(FIELD, struct ornic_cmd_reg_mr, flags);
	if (!length && memcmp(&c->mem, &none, sizeof(none)))
		return CMD_BAD(FIELD, struct ornic_cmd_reg_mr, mem);
	if (!length && c->offset)
		return CMD_BAD(FIELD, struct ornic_cmd_reg_mr, offset);
	if (length && c->mem.page_shift > MR_PAGE_SHIFT_MAX)
		return CMD_BAD(FIELD, struct ornic_cmd_reg_mr, mem.page_shift);
	if (length && c->mem.page_shift >= 12 && le32_to_cpu(c->offset) >> c->mem.page_shift)
		return CMD_BAD(FIELD, struct ornic_cmd_reg_mr, offset);
	return CMD_OK;
}

struct cmd_ret mr_cmd_reg(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_reg_mr *c = cmd;
	u64 length = le64_to_cpu(c->length);
	u32 offset = le32_to_cpu(c->offset);
	struct cmd_ret ret;
	struct mr *mr;

	ret = mr_check_number(dev, le32_to_cpu(c->stag), le32_to_cpu(c->pdn),
			      offsetof(struct ornic_cmd_reg_mr, stag),
			      offsetof(struct ornic_cmd_reg_mr, pdn));
	if (!ret.status)
		ret = mr_check_reg(c);
	if (ret.status)
		return ret;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return cmd_ret(ORNIC_CMDS_NO_MEMORY, 0);
	if (length)
		ret = qmem_init(dev, &mr->mem, &c->mem, offset + length,
				offsetof(struct ornic_cmd_reg_mr, mem));
	if (ret.status) {
		free(mr);
		return ret;
	}
	mr->stag = le32_to_cpu(c->stag);
	mr->pdn = le32_to_cpu(c->pdn);
	mr->type = MR_TYPE_REG;
	mr->flags = le16_to_cpu(c->flags);
	mr->valid = true;
	mr_set_range(mr, le64_to_cpu(c->iova), length, offset, le16_to_cpu(c->access));
	mr_insert(dev, mr);
	return CMD_OK;
}

struct cmd_ret mr_cmd_alloc(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_alloc_mr *c = cmd;
	u32 max_pages = le32_to_cpu(c->max_pages);
	struct cmd_ret ret;
	struct mr *mr;

	ret = mr_check_number(dev, le32_to_cpu(c->stag), le32_to_cpu(c->pdn),
			      offsetof(struct ornic_cmd_alloc_mr, stag),
			      offsetof(struct ornic_cmd_alloc_mr, pdn));
	if (ret.status)
		return ret;
	if (!max_pages || max_pages > RNIC_MAX_FRMR_PAGES)
		return CMD_BAD(FIELD, struct ornic_cmd_alloc_mr, max_pages);
	if (c->mw_type)
		return CMD_BAD(FIELD, struct ornic_cmd_alloc_mr, mw_type);
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return cmd_ret(ORNIC_CMDS_NO_MEMORY, 0);
	mr->stag = le32_to_cpu(c->stag);
	mr->pdn = le32_to_cpu(c->pdn);
	mr->type = MR_TYPE_FAST;
	mr->max_pages = max_pages;
	mr_insert(dev, mr);
	return CMD_OK;
}

/* The MR that a struct ornic_cmd_stag names. */
static struct cmd_ret mr_from_cmd(struct rnic *dev, const struct ornic_cmd_stag *c, struct mr **mr)
{
	u32 index = FIELD_GET(ORNIC_STAG_INDEX, le32_to_cpu(c->stag));

	if (!index || index >= RNIC_MAX_MR)
		return CMD_BAD(NUMBER, struct ornic_cmd_stag, stag);
	*mr = dev->mrs->mr[index];
	return *mr ? CMD_OK : CMD_BAD(NOT_FOUND, struct ornic_cmd_stag, stag);
}

struct cmd_ret mr_cmd_dereg(struct rnic *dev, const void *cmd)
{
	struct mr *mr;
	struct cmd_ret ret = mr_from_cmd(dev, cmd, &mr);

	if (!ret.status)
		mr_delete(dev, FIELD_GET(ORNIC_STAG_INDEX, mr->stag));
	return ret;
}

struct cmd_ret mr_cmd_query(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_stag *c = cmd;
	struct ornic_mr_attr attr = {0};
	struct cmd_ret ret;
	struct mr *mr;

	ret = mr_from_cmd(dev, c, &mr);
	if (ret.status)
		return ret;
	attr.stag = cpu_to_le32(mr->stag);
	attr.pdn = cpu_to_le32(mr->pdn);
	attr.iova = cpu_to_le64(mr->reg_iova);
	attr.length = cpu_to_le64(mr->length);
	attr.npages = cpu_to_le32(mr->mem.npages);
	attr.access = cpu_to_le16(mr->access);
	attr.page_shift = mr->mem.page_shift;
	attr.state = mr->valid;
	attr.type = mr->type;
	if (dma_write(dev->dma, le64_to_cpu(c->hdr.data), &attr, sizeof(attr)))
		return CMD_BAD(ADDRESS, struct ornic_cmd_stag, hdr.data);
	return CMD_OK;
}

/* ---- work requests ---- */

static enum ornic_syndrome mr_fast_check(const struct mr *mr, const struct ornic_sq_wqe_reg *w)
{
	u64 iova = le64_to_cpu(w->iova), length = le64_to_cpu(w->length);
	u32 npages = le32_to_cpu(w->npages), offset = le32_to_cpu(w->offset);
	static const u8 zero[sizeof(w->mbz)];

	if (memcmp(w->mbz, zero, sizeof(zero)))
		return ORNIC_SYN_MBZ;
	if (w->page_shift < 12 || w->page_shift > MR_PAGE_SHIFT_MAX)
		return ORNIC_SYN_UNSUPPORTED;
	if (!mr_access_ok(le16_to_cpu(w->access)))
		return ORNIC_SYN_STAG_RIGHTS;
	if (length > RNIC_MAX_MR_SIZE || npages > mr->max_pages || offset >> w->page_shift)
		return ORNIC_SYN_LENGTH;
	if (length && iova + (length - 1) < iova)
		return ORNIC_SYN_LENGTH;
	if (length && offset + length > (u64)npages << w->page_shift)
		return ORNIC_SYN_LENGTH;
	return ORNIC_SYN_NONE;
}

enum ornic_syndrome mr_fast_reg(struct rnic *dev, u32 pdn, const struct ornic_sq_wqe_reg *w)
{
	struct mr *mr = mr_by_index(dev, le32_to_cpu(w->stag));
	enum ornic_syndrome syn;
	struct qmem mem;

	if (!mr || mr->type != MR_TYPE_FAST)
		return ORNIC_SYN_STAG_INVALID;
	if (mr->pdn != pdn)
		return ORNIC_SYN_STAG_PD;
	if (mr->valid)
		return ORNIC_SYN_IN_USE;
	syn = mr_fast_check(mr, w);
	if (syn)
		return syn;
	if (qmem_init_list(dev, &mem, le64_to_cpu(w->pbl_addr), le32_to_cpu(w->npages),
			   w->page_shift))
		return ORNIC_SYN_DMA;
	qmem_free(dev, &mr->mem);
	mr->mem = mem;
	mr->stag = le32_to_cpu(w->stag);
	mr_set_range(mr, le64_to_cpu(w->iova), le64_to_cpu(w->length), le32_to_cpu(w->offset),
		     le16_to_cpu(w->access));
	mr->valid = true;
	return ORNIC_SYN_NONE;
}

/* RFC 5040 5.1: what is invalidated is valid now, of this PD, and its owner allows it. */
enum ornic_syndrome mr_remote_inv_check(struct rnic *dev, u32 pdn, u32 stag)
{
	const struct mr *mr = mr_get(dev, stag);

	if (stag == ORNIC_STAG_LOCAL_DMA || !mr)
		return ORNIC_SYN_STAG_INVALID;
	if (mr->pdn != pdn)
		return ORNIC_SYN_STAG_PD;
	if (mr->flags & ORNIC_MRF_NO_INVALIDATE)
		return ORNIC_SYN_STAG_RIGHTS;
	return ORNIC_SYN_NONE;
}

static enum ornic_syndrome mr_invalidate(struct rnic *dev, u32 pdn, u32 stag)
{
	enum ornic_syndrome syn = mr_remote_inv_check(dev, pdn, stag);

	if (!syn)
		mr_by_index(dev, stag)->valid = false;
	return syn;
}

enum ornic_syndrome mr_remote_inv(struct rnic *dev, u32 pdn, u32 stag)
{
	return mr_invalidate(dev, pdn, stag);
}

enum ornic_syndrome mr_local_inv(struct rnic *dev, u32 pdn, u32 stag)
{
	return mr_invalidate(dev, pdn, stag);
}
