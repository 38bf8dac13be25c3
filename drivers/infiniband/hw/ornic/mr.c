// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * OpenRNIC RDMA driver: memory regions.
 *
 * An STag is a 24-bit index and an 8-bit key. lkey and rkey are the same. iWARP names the sink of a
 * Read by an STag on the wire, so
 * the device asks for remote write access on it (RFC 5040 5.3); the local DMA key can never be one.
 */
#include <linux/log2.h>
#include <rdma/ib_umem.h>

#include "iw_ornic.h"

/**
 * iw_ornic_access() - access rights for the device
 * @access: IB_ACCESS_*
 *
 * Context: Any.
 * Return: ORNIC_ACC_*
 */
u16 iw_ornic_access(int access)
{
	u16 acc = 0;

	if (access & IB_ACCESS_LOCAL_WRITE)
		acc |= ORNIC_ACC_LOCAL_WRITE;
	if (access & IB_ACCESS_REMOTE_WRITE)
		acc |= ORNIC_ACC_REMOTE_WRITE;
	if (access & IB_ACCESS_REMOTE_READ)
		acc |= ORNIC_ACC_REMOTE_READ;
	if (access & IB_ZERO_BASED)
		acc |= ORNIC_ACC_ZERO_BASED;

	return acc;
}

/**
 * iw_ornic_check_access() - check access rights that a consumer asks for
 * @access: IB_ACCESS_*; the optional ones are hints and always fine
 *
 * Context: Any.
 * Return: 0, -EINVAL (remote without local write), -EOPNOTSUPP (anything that the device does not
 *         do)
 */
int iw_ornic_check_access(int access)
{
	if (access & ~(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
		       IB_ZERO_BASED | IB_ACCESS_OPTIONAL))
		return -EOPNOTSUPP;
	if ((access & IB_ACCESS_REMOTE_WRITE) && !(access & IB_ACCESS_LOCAL_WRITE))
		return -EINVAL;

	return 0;
}

/* Take an STag whose key differs from that of the index's last owner. */
static int iw_ornic_stag_alloc(struct iw_ornic_mr *mr, struct ib_pd *ibpd)
{
	struct iw_ornic_dev *dev = to_iw_ornic_dev(ibpd->device);
	int ret;

	ret = iw_ornic_number_alloc(&dev->mrs, &mr->index, dev->core->limits.max_mr,
				    &dev->next_mr);
	if (ret)
		return ret;
	mr->ibmr.lkey = FIELD_PREP(ORNIC_STAG_INDEX, mr->index) |
			FIELD_PREP(ORNIC_STAG_KEY, dev->mr_keys[mr->index]);
	mr->ibmr.rkey = mr->ibmr.lkey;

	return 0;
}

/* A fast-register MR may have a newer key by now than the one that it began with. */
static void iw_ornic_stag_free(struct iw_ornic_dev *dev, struct iw_ornic_mr *mr)
{
	dev->mr_keys[mr->index] = FIELD_GET(ORNIC_STAG_KEY, mr->ibmr.lkey) + 1;
	xa_erase_irq(&dev->mrs, mr->index);
}

static struct iw_ornic_mr *iw_ornic_mr_new(struct ib_pd *ibpd)
{
	struct iw_ornic_mr *mr;
	int ret;

	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	ret = iw_ornic_stag_alloc(mr, ibpd);
	if (ret) {
		kfree(mr);
		return ERR_PTR(ret);
	}

	return mr;
}

static void iw_ornic_mr_free(struct iw_ornic_dev *dev, struct iw_ornic_mr *mr)
{
	iw_ornic_stag_free(dev, mr);
	if (mr->umem)
		ib_umem_release(mr->umem);
	if (mr->pages.va)
		ornic_qbuf_free(dev->core, &mr->pages);
	kfree(mr);
}

static void iw_ornic_mr_publish(struct iw_ornic_dev *dev, struct iw_ornic_mr *mr)
{
	/* The entry is reserved: storing needs no memory. */
	xa_store_irq(&dev->mrs, mr->index, mr, GFP_KERNEL);
}

static void iw_ornic_reg_cmd(struct ornic_cmd_reg_mr *cmd, struct iw_ornic_mr *mr,
			     struct ib_pd *ibpd, int access)
{
	cmd->hdr.opcode = cpu_to_le16(ORNIC_CMD_REG_MR);
	cmd->stag = cpu_to_le32(mr->ibmr.lkey);
	cmd->pdn = cpu_to_le32(to_iw_ornic_pd(ibpd)->pdn);
	cmd->access = cpu_to_le16(iw_ornic_access(access));
	cmd->flags = cpu_to_le16(ORNIC_MRF_NO_INVALIDATE);
}

/**
 * iw_ornic_get_dma_mr() - a region of all memory that the device can reach, by DMA address
 * @ibpd: kernel PD
 * @access: IB_ACCESS_*
 *
 * Context: Process context, may sleep.
 * Return: MR, ERR_PTR: errors of iw_ornic_check_access() and ornic_cmd_exec(), -ENOMEM
 */
struct ib_mr *iw_ornic_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct iw_ornic_dev *dev = to_iw_ornic_dev(ibpd->device);
	const struct ornic_limits *limits = &dev->core->limits;
	u8 shift = __fls(limits->page_shift_mask & GENMASK(40, 12));
	struct ornic_cmd_reg_mr cmd = {};
	struct iw_ornic_mr *mr;
	int ret;

	ret = iw_ornic_check_access(access);
	if (ret)
		return ERR_PTR(ret);
	mr = iw_ornic_mr_new(ibpd);
	if (IS_ERR(mr))
		return ERR_CAST(mr);

	iw_ornic_reg_cmd(&cmd, mr, ibpd, access);
	cmd.length = cpu_to_le64(limits->max_mr_size);
	cmd.mem.npages = cpu_to_le32(DIV_ROUND_UP_ULL(limits->max_mr_size, BIT_ULL(shift)));
	cmd.mem.page_shift = shift;
	ret = ornic_cmd_exec(dev->core, &cmd, NULL);
	if (ret) {
		iw_ornic_mr_free(dev, mr);
		return ERR_PTR(ret);
	}
	iw_ornic_mr_publish(dev, mr);

	return &mr->ibmr;
}

/*
 * Pin the user's memory and make the region valid. The page list lives until the device has read
 * it.
 */
static int iw_ornic_reg_umem(struct iw_ornic_mr *mr, u64 start, u64 length, u64 iova,
			     int access, struct ornic_cmd_reg_mr *cmd)
{
	struct iw_ornic_dev *dev = to_iw_ornic_dev(mr->ibmr.device);
	struct ornic_pbl pbl;
	int ret;

	mr->umem = ornic_umem_get(&dev->ibdev, start, length, access);
	if (IS_ERR(mr->umem)) {
		ret = PTR_ERR(mr->umem);
		mr->umem = NULL;
		return ret;
	}
	ret = iw_ornic_umem_pages(dev, mr->umem, iova, &pbl);
	if (ret < 0)
		return ret;

	mr->ibmr.page_size = 1U << pbl.page_shift;
	cmd->offset = cpu_to_le32(ret);
	ornic_pbl_describe(&pbl, &cmd->mem);
	ret = ornic_cmd_exec(dev->core, cmd, NULL);
	ornic_pbl_free(&pbl);

	return ret;
}

/**
 * iw_ornic_reg_user_mr() - register memory of a process
 * @ibpd: PD
 * @start: address in the calling process
 * @length: bytes; 0 gives an empty region
 * @iova: address of the first byte for the device and the peers
 * @access: IB_ACCESS_*
 * @udata: no request, no response
 *
 * Context: Process context of the user, may sleep.
 * Return: MR, ERR_PTR: -EINVAL (too long, no page size fits), -EFAULT, -ENOMEM, errors of
 *         iw_ornic_check_access(),
 *         iw_ornic_no_input() and ornic_cmd_exec()
 */
struct ib_mr *iw_ornic_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 iova,
				   int access, struct ib_udata *udata)
{
	struct iw_ornic_dev *dev = to_iw_ornic_dev(ibpd->device);
	struct ornic_cmd_reg_mr cmd = {};
	struct iw_ornic_mr *mr;
	int ret;

	ret = iw_ornic_no_input(udata);
	if (ret)
		return ERR_PTR(ret);
	ret = iw_ornic_check_access(access);
	if (ret)
		return ERR_PTR(ret);
	if (length > dev->core->limits.max_mr_size || iova + length < iova)
		return ERR_PTR(-EINVAL);

	mr = iw_ornic_mr_new(ibpd);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->ibmr.device = ibpd->device;
	mr->ibmr.iova = iova;
	mr->ibmr.length = length;
	iw_ornic_reg_cmd(&cmd, mr, ibpd, access);
	cmd.iova = cpu_to_le64(iova);
	cmd.length = cpu_to_le64(length);
	if (length)
		ret = iw_ornic_reg_umem(mr, start, length, iova, access, &cmd);
	else
		ret = ornic_cmd_exec(dev->core, &cmd, NULL);
	if (ret) {
		iw_ornic_mr_free(dev, mr);
		return ERR_PTR(ret);
	}
	iw_ornic_mr_publish(dev, mr);

	return &mr->ibmr;
}

/**
 * iw_ornic_alloc_mr() - a region for fast registration
 * @ibpd: kernel PD
 * @type: IB_MR_TYPE_MEM_REG
 * @max_num_sg: pages that one registration may name, 1..max_fast_reg_page_list_len
 *
 * Context: Process context, may sleep.
 * Return: MR, ERR_PTR: -EOPNOTSUPP (@type), -EINVAL (@max_num_sg), -ENOMEM, errors of
 *         ornic_cmd_exec()
 */
struct ib_mr *iw_ornic_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_num_sg)
{
	struct iw_ornic_dev *dev = to_iw_ornic_dev(ibpd->device);
	struct ornic_cmd_alloc_mr cmd = {};
	struct iw_ornic_mr *mr;
	int ret;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_num_sg || max_num_sg > dev->core->limits.max_frmr_pages)
		return ERR_PTR(-EINVAL);

	mr = iw_ornic_mr_new(ibpd);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->max_pages = max_num_sg;
	ret = ornic_qbuf_alloc(dev->core, &mr->pages, max_num_sg * sizeof(__le64));
	if (ret)
		goto free_mr;

	cmd.hdr.opcode = cpu_to_le16(ORNIC_CMD_ALLOC_MR);
	cmd.stag = cpu_to_le32(mr->ibmr.lkey);
	cmd.pdn = cpu_to_le32(to_iw_ornic_pd(ibpd)->pdn);
	cmd.max_pages = cpu_to_le32(max_num_sg);
	ret = ornic_cmd_exec(dev->core, &cmd, NULL);
	if (ret)
		goto free_mr;
	iw_ornic_mr_publish(dev, mr);

	return &mr->ibmr;

free_mr:
	iw_ornic_mr_free(dev, mr);
	return ERR_PTR(ret);
}

static int iw_ornic_set_page(struct ib_mr *ibmr, u64 addr)
{
	struct iw_ornic_mr *mr = to_iw_ornic_mr(ibmr);
	__le64 *pages = mr->pages.va;

	if (mr->npages >= mr->max_pages)
		return -ENOMEM;
	pages[mr->npages++] = cpu_to_le64(addr);

	return 0;
}

/**
 * iw_ornic_map_mr_sg() - prepare a fast registration
 * @ibmr: MR from iw_ornic_alloc_mr(), not in use
 * @sg: DMA-mapped memory
 * @nents: entries of @sg
 * @offset: byte offset into the first entry, or NULL
 *
 * Context: Any.
 * Return: number of entries that fit, -EINVAL (the device has no such page size)
 */
int iw_ornic_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
		       unsigned int *offset)
{
	struct iw_ornic_mr *mr = to_iw_ornic_mr(ibmr);

	if (!(to_iw_ornic_dev(ibmr->device)->core->limits.page_shift_mask & ibmr->page_size))
		return -EINVAL;
	mr->npages = 0;

	return ib_sg_to_pages(ibmr, sg, nents, offset, iw_ornic_set_page);
}

/**
 * iw_ornic_dereg_mr() - end a region; afterwards nobody touches its memory through it
 * @ibmr: MR
 * @udata: not looked at
 *
 * Context: Process context, may sleep.
 * Return: 0, errors of iw_ornic_destroy_object() with the region left as it was
 */
int iw_ornic_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct iw_ornic_dev *dev = to_iw_ornic_dev(ibmr->device);
	struct iw_ornic_mr *mr = to_iw_ornic_mr(ibmr);
	int ret;

	ret = iw_ornic_destroy_object(dev, ORNIC_CMD_DEREG_MR, ibmr->lkey);
	if (ret)
		return ret;
	iw_ornic_mr_free(dev, mr);

	return 0;
}
