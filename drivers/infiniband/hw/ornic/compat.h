/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* OpenRNIC RDMA driver: differences between the kernels that it is built for; written for 6.12. */
#ifndef _IW_ORNIC_COMPAT_H
#define _IW_ORNIC_COMPAT_H

#include <linux/mm.h>
#include <linux/version.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

/*
 * The iterators over DMA blocks moved into a header of their own, in stable kernels too; see
 * Makefile.
 */
#ifdef IW_ORNIC_HAVE_ITER_H
#include <rdma/iter.h>
#endif

/* Flags of a mapping became private to the memory manager. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}
#endif

/* create_cq got the whole bundle of attributes. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define iw_ornic_cq_attrs	ib_udata

static inline struct ib_udata *iw_ornic_cq_udata(struct ib_udata *attrs)
{
	return attrs;
}
#else
#define iw_ornic_cq_attrs	uverbs_attr_bundle

static inline struct ib_udata *iw_ornic_cq_udata(struct uverbs_attr_bundle *attrs)
{
	return attrs ? &attrs->driver_udata : NULL;
}
#endif

#endif /* _IW_ORNIC_COMPAT_H */
