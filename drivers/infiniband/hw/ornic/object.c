// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* OpenRNIC RDMA driver: what all kinds of objects need: numbers, destruction, pinned memory. */
#include <linux/log2.h>

#include "iw_ornic.h"

#define IW_ORNIC_MAX_PAGES	BIT(24)	/* of struct ornic_qmem */

/**
 * iw_ornic_number_alloc() - reserve the number of a new object
 * @xa: numbers of this kind; nothing can be looked up under the number until xa_store()
 * @number: the number, 1..@max - 1
 * @max: limit of the device
 * @next: where to start, so that a number just freed is the last to come back
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOMEM (none left, or no memory)
 */
int iw_ornic_number_alloc(struct xarray *xa, u32 *number, u32 max, u32 *next)
{
	int ret;

	if (max < 2)
		return -ENOMEM;
	ret = xa_alloc_cyclic_irq(xa, number, NULL, XA_LIMIT(1, max - 1), next, GFP_KERNEL);

	return ret < 0 ? -ENOMEM : 0;
}

/**
 * iw_ornic_destroy_object() - end the device's use of an object and of the memory behind it
 * @dev: device
 * @opcode: ORNIC_CMD_DESTROY_CQ, ORNIC_CMD_DESTROY_QP or ORNIC_CMD_DEREG_MR
 * @number: QP or CQ number, or STag
 *
 * A stopped device touches no memory, its objects are gone. A live one that refuses although
 * nothing uses the object has lost track:
 * it is reset, which makes the next attempt succeed; until then the caller must not free what the
 * device may still touch.
 *
 * Context: Process context, may sleep.
 * Return: 0: destroyed. Else nothing may be freed: -EBUSY (other objects still use it) or another
 *         error of ornic_cmd_exec()
 */
int iw_ornic_destroy_object(struct iw_ornic_dev *dev, enum ornic_cmd_opcode opcode, u32 number)
{
	struct ornic_cmd_number cmd = {};
	int ret;

	/* struct ornic_cmd_stag has its STag at the same place. */
	static_assert(offsetof(struct ornic_cmd_number, number) ==
		      offsetof(struct ornic_cmd_stag, stag));

	cmd.hdr.opcode = cpu_to_le16(opcode);
	cmd.number = cpu_to_le32(number);
	ret = ornic_cmd_exec(dev->core, &cmd, NULL);
	if (!ret || ret == -ENOENT || !ornic_alive(dev->core))
		return 0;

	ibdev_err(&dev->ibdev, "command 0x%x of object 0x%x failed: %d\n", opcode, number, ret);
	if (ret != -EBUSY)
		ornic_request_reset(dev->core, ORNIC_RESET_FATAL);

	return ret;
}

/**
 * iw_ornic_umem_pages() - list the pages of pinned memory
 * @dev: device
 * @umem: pinned memory
 * @iova: address of its first byte in the device's address space; 0 if the first byte must start a
 *         page
 * @pbl: the list, to be freed by the caller if the result is not negative
 *
 * Context: Process context, may sleep.
 * Return: byte offset of the first byte in the first page; -EINVAL (no page size fits, too many
 *         pages), -ENOMEM
 */
int iw_ornic_umem_pages(struct iw_ornic_dev *dev, struct ib_umem *umem, u64 iova,
			struct ornic_pbl *pbl)
{
	/* The offset in the first page is a 32-bit field and this function's result. */
	unsigned long sizes = dev->core->limits.page_shift_mask & GENMASK(30, 12);
	struct ib_block_iter biter;
	unsigned long page_size;
	size_t npages;
	int ret;

	page_size = ib_umem_find_best_pgsz(umem, sizes, iova);
	if (!page_size)
		return -EINVAL;
	npages = ib_umem_num_dma_blocks(umem, page_size);
	if (!npages || npages > IW_ORNIC_MAX_PAGES)
		return -EINVAL;

	ret = ornic_pbl_init(dev->core, pbl, npages, ilog2(page_size));
	if (ret)
		return ret;
	rdma_umem_for_each_dma_block(umem, &biter, page_size)
		ornic_pbl_add(pbl, rdma_block_iter_dma_address(&biter));

	return iova & (page_size - 1);
}

/**
 * iw_ornic_pin_buffer() - pin the buffer of a user's queue and list its pages
 * @dev: device
 * @addr: address in the calling process, page aligned
 * @len: bytes, multiple of the page size
 * @pbl: the list, to be freed by the caller after the command
 *
 * Context: Process context of the user, may sleep.
 * Return: the pinned memory, or ERR_PTR: -EINVAL (alignment, length, pages not usable), -EFAULT,
 *         -ENOMEM, -EPERM
 */
struct ib_umem *iw_ornic_pin_buffer(struct iw_ornic_dev *dev, u64 addr, u32 len,
				    struct ornic_pbl *pbl)
{
	struct ib_umem *umem;
	int ret;

	if (!len || !PAGE_ALIGNED(addr) || !PAGE_ALIGNED(len) || addr > ULONG_MAX) {
		ibdev_dbg(&dev->ibdev, "queue buffer at 0x%llx of %u bytes is not aligned\n",
			  addr, len);
		return ERR_PTR(-EINVAL);
	}
	umem = ornic_umem_get(&dev->ibdev, addr, len, IB_ACCESS_LOCAL_WRITE);
	if (IS_ERR(umem))
		return umem;
	ret = iw_ornic_umem_pages(dev, umem, 0, pbl);
	if (ret < 0) {
		ib_umem_release(umem);
		return ERR_PTR(ret);
	}

	return umem;
}
