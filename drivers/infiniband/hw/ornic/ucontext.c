// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * OpenRNIC RDMA driver: user contexts, their doorbell pages, protection domains, and the checks of
 * driver-private user data.
 */
#include <rdma/uverbs_ioctl.h>

#include "iw_ornic.h"

/**
 * iw_ornic_copy_in() - take a request of the user-space provider
 * @udata: the user's data
 * @req: where it goes; its first field is __aligned_u64 comp_mask, for which no bit is defined
 * @size: bytes of @req; all of them were there in the first version of the interface
 *
 * Context: Process context of the user, may sleep.
 * Return: 0, -EINVAL (too short), -EOPNOTSUPP (it asks for more than this driver knows), -EFAULT
 */
int iw_ornic_copy_in(struct ib_udata *udata, void *req, size_t size)
{
	u64 comp_mask;

	if (udata->inlen < size)
		return -EINVAL;
	if (udata->inlen > size && !ib_is_udata_cleared(udata, size, udata->inlen - size))
		return -EOPNOTSUPP;
	if (ib_copy_from_udata(req, udata, size))
		return -EFAULT;
	memcpy(&comp_mask, req, sizeof(comp_mask));

	return comp_mask ? -EOPNOTSUPP : 0;
}

/**
 * iw_ornic_no_input() - check the driver-private data of a verb that has none
 * @udata: the user's data, or NULL for a kernel consumer
 *
 * Context: Process context of the user, may sleep.
 * Return: 0, -EOPNOTSUPP (there is some and it is not zero)
 */
int iw_ornic_no_input(struct ib_udata *udata)
{
	if (!udata || !udata->inlen || ib_is_udata_cleared(udata, 0, udata->inlen))
		return 0;

	return -EOPNOTSUPP;
}

/**
 * iw_ornic_copy_out() - give a response to the user-space provider, as much of it as it has room
 * for
 * @udata: the user's data
 * @resp: response
 * @size: its size in bytes
 *
 * Context: Process context of the user, may sleep.
 * Return: 0, -EFAULT
 */
int iw_ornic_copy_out(struct ib_udata *udata, void *resp, size_t size)
{
	size_t len = min(size, udata->outlen);

	return len ? ib_copy_to_udata(udata, resp, len) : 0;
}

static u32 iw_ornic_features(const struct ornic_limits *limits)
{
	u32 features = 0;

	if (limits->caps & ORNIC_CAP_AWAKE)
		features |= ORNIC_UCTX_AWAKE;
	if (limits->caps & ORNIC_CAP_ARM_REC)
		features |= ORNIC_UCTX_ARM_REC;

	return features;
}

static int iw_ornic_insert_db_page(struct iw_ornic_ucontext *ctx)
{
	struct iw_ornic_dev *dev = to_iw_ornic_dev(ctx->ibucontext.device);
	struct ornic_core *core = dev->core;
	struct iw_ornic_mmap_entry *entry;
	int ret;

	entry = kzalloc(sizeof(*entry), GFP_KERNEL);
	if (!entry)
		return -ENOMEM;
	entry->dev = dev;
	ret = ornic_db_page_alloc(core, &entry->db_page);
	if (ret)
		goto free_entry;
	entry->phys = core->db_phys + (phys_addr_t)entry->db_page * core->db_stride;

	ret = rdma_user_mmap_entry_insert(&ctx->ibucontext, &entry->rdma_entry, PAGE_SIZE);
	if (ret)
		goto free_page;
	ctx->db_page = entry->db_page;
	ctx->db_entry = &entry->rdma_entry;

	return 0;

free_page:
	ornic_db_page_free(core, entry->db_page);
free_entry:
	kfree(entry);
	return ret;
}

/**
 * iw_ornic_alloc_ucontext() - open a user context: take a doorbell page for it
 * @ibucontext: context
 * @udata: struct ornic_alloc_ucontext_req and _resp
 *
 * Context: Process context of the user, may sleep.
 * Return: 0, -ENOSPC (no doorbell page left), -ENOMEM, errors of iw_ornic_copy_in() and
 *         iw_ornic_copy_out()
 */
int iw_ornic_alloc_ucontext(struct ib_ucontext *ibucontext, struct ib_udata *udata)
{
	struct iw_ornic_ucontext *ctx = to_iw_ornic_ucontext(ibucontext);
	struct iw_ornic_dev *dev = to_iw_ornic_dev(ibucontext->device);
	const struct ornic_limits *limits = &dev->core->limits;
	struct ornic_alloc_ucontext_resp resp = {};
	struct ornic_alloc_ucontext_req req;
	int ret;

	ret = iw_ornic_copy_in(udata, &req, sizeof(req));
	if (ret)
		return ret;
	/* One page of the system may hold the doorbells of one context only. */
	if (dev->core->db_stride < PAGE_SIZE)
		return -EOPNOTSUPP;
	ret = iw_ornic_insert_db_page(ctx);
	if (ret)
		return ret;

	resp.db_mmap_offset = rdma_user_mmap_get_offset(ctx->db_entry);
	resp.db_mmap_len = PAGE_SIZE;
	resp.features = iw_ornic_features(limits);
	resp.max_sge = limits->max_sge;
	resp.max_inline = limits->max_inline;
	resp.max_sq_shift = limits->max_sq_shift;
	resp.max_rq_shift = limits->max_rq_shift;
	resp.max_cq_shift = limits->max_cq_shift;
	ret = iw_ornic_copy_out(udata, &resp, sizeof(resp));
	if (ret)
		rdma_user_mmap_entry_remove(ctx->db_entry);

	return ret;
}

/**
 * iw_ornic_dealloc_ucontext() - close a user context
 * @ibucontext: context; its objects are gone
 *
 * Context: Process context, may sleep.
 */
void iw_ornic_dealloc_ucontext(struct ib_ucontext *ibucontext)
{
	rdma_user_mmap_entry_remove(to_iw_ornic_ucontext(ibucontext)->db_entry);
}

/**
 * iw_ornic_disassociate_ucontext() - the device goes while the user stays
 * @ibucontext: context
 *
 * The core has unmapped the doorbell page already and destroys the objects afterwards; queue memory
 * is the user's own.
 * That this function exists tells the core that the device need not wait for the user.
 *
 * Context: Process context, may sleep.
 */
void iw_ornic_disassociate_ucontext(struct ib_ucontext *ibucontext)
{
}

/**
 * iw_ornic_mmap() - map the doorbell page
 * @ibucontext: context
 * @vma: as asked for
 *
 * Context: Process context of the user, may sleep.
 * Return: 0, -EINVAL (no such offset, or not all of it), -EPERM (to be executed), -EAGAIN
 */
int iw_ornic_mmap(struct ib_ucontext *ibucontext, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *rdma_entry;
	struct iw_ornic_mmap_entry *entry;
	int ret;

	rdma_entry = rdma_user_mmap_entry_get(ibucontext, vma);
	if (!rdma_entry)
		return -EINVAL;
	entry = container_of(rdma_entry, struct iw_ornic_mmap_entry, rdma_entry);
	if (vma->vm_flags & VM_EXEC) {
		ret = -EPERM;
	} else {
		vm_flags_clear(vma, VM_MAYEXEC);
		ret = rdma_user_mmap_io(ibucontext, vma, PHYS_PFN(entry->phys), PAGE_SIZE,
					pgprot_noncached(vma->vm_page_prot), rdma_entry);
	}
	rdma_user_mmap_entry_put(rdma_entry);

	return ret;
}

/**
 * iw_ornic_mmap_free() - neither the context nor a mapping uses the doorbell page any more
 * @rdma_entry: its entry
 *
 * Context: Process context, may sleep.
 */
void iw_ornic_mmap_free(struct rdma_user_mmap_entry *rdma_entry)
{
	struct iw_ornic_mmap_entry *entry =
		container_of(rdma_entry, struct iw_ornic_mmap_entry, rdma_entry);

	ornic_db_page_free(entry->dev->core, entry->db_page);
	kfree(entry);
}

/**
 * iw_ornic_alloc_pd() - take a PD number
 * @ibpd: PD
 * @udata: no request, no response; NULL for a kernel consumer
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOMEM (none left), errors of iw_ornic_no_input()
 */
int iw_ornic_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct iw_ornic_dev *dev = to_iw_ornic_dev(ibpd->device);
	int ret;

	ret = iw_ornic_no_input(udata);
	if (ret)
		return ret;

	return iw_ornic_number_alloc(&dev->pds, &to_iw_ornic_pd(ibpd)->pdn,
				     dev->core->limits.max_pd, &dev->next_pd);
}

/**
 * iw_ornic_dealloc_pd() - give the PD number back; the device keeps no PD
 * @ibpd: PD without objects
 * @udata: not looked at
 *
 * Context: Process context, may sleep.
 * Return: 0
 */
int iw_ornic_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct iw_ornic_dev *dev = to_iw_ornic_dev(ibpd->device);

	xa_erase_irq(&dev->pds, to_iw_ornic_pd(ibpd)->pdn);

	return 0;
}
