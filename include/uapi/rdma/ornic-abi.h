/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB */
/*
 * OpenRNIC: what the driver and the user-space provider say to each other. The layout of rings,
 * work requests, completions and
 * doorbells is the hardware's: include/ornic/.
 */
#ifndef ORNIC_ABI_USER_H
#define ORNIC_ABI_USER_H

#include <linux/types.h>

#define ORNIC_ABI_VERSION	1

/* Private number in the space of enum rdma_driver_id until one is assigned. */
#define ORNIC_RDMA_DRIVER_ID	0x4f52

/*
 * In every request comp_mask says which fields beyond the first version are valid: none are
 * defined, it must be zero, as must each
 * reserved field.
 */

enum {
	ORNIC_UCTX_AWAKE = 1 << 0,	/* queue records have a maintained awake flag */
	ORNIC_UCTX_ARM_REC = 1 << 1,	/* CQs are armed by their records */
	ORNIC_UCTX_SRQ = 1 << 2,
	ORNIC_UCTX_MW = 1 << 3,
	ORNIC_UCTX_ATOMIC = 1 << 4,
	ORNIC_UCTX_IMM = 1 << 5,
};

struct ornic_alloc_ucontext_req {
	__aligned_u64 comp_mask;
};

/**
 * struct ornic_alloc_ucontext_resp
 * @comp_mask: zero
 * @db_mmap_offset: offset for mmap() of the context's doorbell page
 * @db_mmap_len: bytes to map, one page of the system or more
 * @db_offset: byte offset of the doorbells in the mapping
 * @features: ORNIC_UCTX_*
 * @max_sge: SGEs of a SEND, WRITE or receive WQE
 * @max_inline: inline bytes
 * @max_sq_shift: log2 of the greatest SQ depth
 * @max_rq_shift: log2 of the greatest RQ and SRQ depth
 * @max_cq_shift: log2 of the greatest CQ depth
 * @reserved: zero
 */
struct ornic_alloc_ucontext_resp {
	__aligned_u64 comp_mask;
	__aligned_u64 db_mmap_offset;
	__u32 db_mmap_len;
	__u32 db_offset;
	__u32 features;
	__u16 max_sge;
	__u16 max_inline;
	__u8 max_sq_shift;
	__u8 max_rq_shift;
	__u8 max_cq_shift;
	__u8 reserved[5];
};

/**
 * struct ornic_create_cq_req
 * @comp_mask: zero
 * @buf_addr: queue buffer, page aligned, zeroed: record and ring
 * @buf_len: bytes, multiple of the page size
 * @ring_off: byte offset of the ring, multiple of 64
 * @rec_off: byte offset of the queue record, multiple of 128
 * @depth_shift: log2 of the number of CQEs, 1..max_cq_shift; 2^depth_shift > attr cqe
 * @reserved: zero
 */
struct ornic_create_cq_req {
	__aligned_u64 comp_mask;
	__aligned_u64 buf_addr;
	__u32 buf_len;
	__u32 ring_off;
	__u32 rec_off;
	__u8 depth_shift;
	__u8 reserved[3];
};

struct ornic_create_cq_resp {
	__aligned_u64 comp_mask;
	__u32 cqn;
	__u32 reserved;
};

/**
 * struct ornic_create_qp_req
 * @comp_mask: zero
 * @buf_addr: queue buffer, page aligned, zeroed: record, SQ and (without an SRQ) RQ
 * @buf_len: bytes, multiple of the page size
 * @sq_off: byte offset of the SQ, multiple of 64
 * @rq_off: byte offset of the RQ, multiple of 64; zero with an SRQ
 * @rec_off: byte offset of the queue record, multiple of 128
 * @sq_shift: log2 of the SQ depth
 * @sq_stride_shift: log2 of the SQ stride
 * @rq_shift: log2 of the RQ depth; zero with an SRQ
 * @rq_stride_shift: log2 of the RQ stride; zero with an SRQ
 */
struct ornic_create_qp_req {
	__aligned_u64 comp_mask;
	__aligned_u64 buf_addr;
	__u32 buf_len;
	__u32 sq_off;
	__u32 rq_off;
	__u32 rec_off;
	__u8 sq_shift;
	__u8 sq_stride_shift;
	__u8 rq_shift;
	__u8 rq_stride_shift;
	__u32 reserved;
};

struct ornic_create_qp_resp {
	__aligned_u64 comp_mask;
	__u32 qpn;
	__u32 reserved;
};

/**
 * struct ornic_create_srq_req
 * @comp_mask: zero
 * @buf_addr: queue buffer, page aligned, zeroed: record and ring
 * @buf_len: bytes, multiple of the page size
 * @ring_off: byte offset of the ring
 * @rec_off: byte offset of the queue record
 * @depth_shift: log2 of the depth
 * @stride_shift: log2 of the stride
 * @reserved: zero
 */
struct ornic_create_srq_req {
	__aligned_u64 comp_mask;
	__aligned_u64 buf_addr;
	__u32 buf_len;
	__u32 ring_off;
	__u32 rec_off;
	__u8 depth_shift;
	__u8 stride_shift;
	__u8 reserved[2];
};

struct ornic_create_srq_resp {
	__aligned_u64 comp_mask;
	__u32 srqn;
	__u32 reserved;
};

#endif /* ORNIC_ABI_USER_H */
