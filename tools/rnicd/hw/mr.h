/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory table: STags, what they name and who may use them.
 *
 * No pointer into guest memory is kept: each use looks the STag up, so that
 * after DEREG_MR or an invalidate has answered nothing reaches the memory.
 */
#ifndef RNICD_HW_MR_H
#define RNICD_HW_MR_H

#include "hw/qmem.h"

enum mr_type {
	MR_TYPE_REG = 0, /* values of struct ornic_mr_attr.type */
	MR_TYPE_FAST = 1,
	MR_TYPE_WINDOW = 2,
};

/**
 * struct mr - memory region
 * @stag: index and present key
 * @pdn: PD
 * @iova: address of the first byte as the host and the peer name it (0 with ZERO_BASED)
 * @reg_iova: iova as registered
 * @length: bytes
 * @offset: byte offset of the first byte in @mem
 * @max_pages: fast-register MR: limit of ALLOC_MR
 * @access: ORNIC_ACC_*
 * @flags: ORNIC_MRF_*
 * @type: enum mr_type
 * @valid: may be used
 * @mem: pages
 */
struct mr {
	u32 stag;
	u32 pdn;
	u64 iova;
	u64 reg_iova;
	u64 length;
	u32 offset;
	u32 max_pages;
	u16 access;
	u16 flags;
	u8 type;
	bool valid;
	struct qmem mem;
};

int mr_table_init(struct rnic *dev);
void mr_table_free(struct rnic *dev);
void mr_reset(struct rnic *dev);

/**
 * mr_check() - may these bytes be used?
 * @stag: with key.
 * @pdn: PD of the QP.
 * @access: ORNIC_ACC_* that are all needed; 0: local read.
 * @privileged: ORNIC_STAG_LOCAL_DMA may be used (local SGEs of a privileged QP; never for a request
 *from the wire). Return: SYN_NONE; STAG_INVALID, STAG_PD, STAG_BOUNDS, STAG_RIGHTS; PRIVILEGE for
 *ORNIC_STAG_LOCAL_DMA when not @privileged (from the wire: treat like STAG_INVALID).
 *
 * A length of 0 is checked too (STag, PD, rights, @addr within or at the end of the region); who
 *need not, does not call.
 */
enum ornic_syndrome mr_check(struct rnic *dev, u32 stag, u32 pdn, u64 addr, u64 len, u16 access,
			     bool privileged);

/**
 * mr_iov() - host memory behind [@addr, @addr + @len) of an MR.
 * @prot: DMA_PROT_READ or DMA_PROT_WRITE.
 * Return: number of pieces (0 for no bytes); -EFAULT: the STag is not valid any more, out of bounds
 *or its memory is not accessible; -E2BIG.
 *
 * Validity and bounds are looked at again, PD and rights are not. ORNIC_STAG_LOCAL_DMA is taken:
 *mr_check() before.
 */
int mr_iov(struct rnic *dev, u32 stag, u64 addr, u64 len, int prot, struct iovec *iov, int max);
/* Copy between our memory and an MR: 0 or -EFAULT, as above. */
int mr_read(struct rnic *dev, u32 stag, u64 addr, void *dst, u64 len);
int mr_write(struct rnic *dev, u32 stag, u64 addr, const void *src, u64 len);

/**
 * mr_fast_reg() - execute a REG_MR work request (wqe: our copy; header checked and QP privileged by
 *the caller). Return: SYN_NONE, STAG_INVALID (no such index or not a fast-register MR), STAG_PD,
 *IN_USE (valid now), LENGTH, STAG_RIGHTS (access word), MBZ, DMA, UNSUPPORTED (page size).
 */
enum ornic_syndrome mr_fast_reg(struct rnic *dev, u32 pdn, const struct ornic_sq_wqe_reg *wqe);
/* LOCAL_INV: STAG_INVALID, STAG_PD, STAG_RIGHTS (ORNIC_MRF_NO_INVALIDATE). The MR stays allocated.
 */
enum ornic_syndrome mr_local_inv(struct rnic *dev, u32 pdn, u32 stag);
/* Send with Invalidate from the peer; may the STag be invalidated, without doing it? Then do it
 * with mr_remote_inv(). */
enum ornic_syndrome mr_remote_inv_check(struct rnic *dev, u32 pdn, u32 stag);
enum ornic_syndrome mr_remote_inv(struct rnic *dev, u32 pdn, u32 stag);

/* Commands; mbz bytes were checked. */
struct cmd_ret mr_cmd_reg(struct rnic *dev, const void *cmd);
struct cmd_ret mr_cmd_alloc(struct rnic *dev, const void *cmd);
struct cmd_ret mr_cmd_dereg(struct rnic *dev, const void *cmd);
struct cmd_ret mr_cmd_query(struct rnic *dev, const void *cmd);

/* For state dumps: calls @fn for each MR. */
void mr_each(struct rnic *dev, void (*fn)(void *arg, const struct mr *mr), void *arg);

#endif /* RNICD_HW_MR_H */
