// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * OpenRNIC RDMA driver: attaches to the auxiliary device of ornic.ko, registers with the RDMA core,
 * passes events on.
 */
#include <linux/module.h>
#include <linux/mm.h>
#include <net/addrconf.h>

#include "iw_ornic.h"

#define IW_ORNIC_MAX_NUMBERS	BIT(24)	/* room for one in a doorbell, a CQE and an STag */
#define IW_ORNIC_MAX_SHIFT	24	/* of a queue's depth */

static const struct ib_device_ops iw_ornic_ops = {
	.owner = THIS_MODULE,
	.driver_id = (enum rdma_driver_id)ORNIC_RDMA_DRIVER_ID,
	.uverbs_abi_ver = ORNIC_ABI_VERSION,

	.alloc_hw_port_stats = iw_ornic_alloc_hw_port_stats,
	.alloc_mr = iw_ornic_alloc_mr,
	.alloc_pd = iw_ornic_alloc_pd,
	.alloc_ucontext = iw_ornic_alloc_ucontext,
	.create_cq = iw_ornic_create_cq,
	.create_qp = iw_ornic_create_qp,
	IW_ORNIC_CREATE_USER_CQ
	.dealloc_pd = iw_ornic_dealloc_pd,
	.dealloc_ucontext = iw_ornic_dealloc_ucontext,
	.dereg_mr = iw_ornic_dereg_mr,
	.destroy_cq = iw_ornic_destroy_cq,
	.destroy_qp = iw_ornic_destroy_qp,
	.disassociate_ucontext = iw_ornic_disassociate_ucontext,
	.fill_res_cm_id_entry = iw_ornic_fill_res_cm_id_entry,
	.fill_res_cq_entry = iw_ornic_fill_res_cq_entry,
	.fill_res_mr_entry = iw_ornic_fill_res_mr_entry,
	.fill_res_qp_entry = iw_ornic_fill_res_qp_entry,
	.get_dev_fw_str = iw_ornic_get_dev_fw_str,
	.get_dma_mr = iw_ornic_get_dma_mr,
	.get_hw_stats = iw_ornic_get_hw_stats,
	.get_port_immutable = iw_ornic_get_port_immutable,
	.iw_accept = iw_ornic_accept,
	.iw_add_ref = iw_ornic_qp_add_ref,
	.iw_connect = iw_ornic_connect,
	.iw_create_listen = iw_ornic_create_listen,
	.iw_destroy_listen = iw_ornic_destroy_listen,
	.iw_get_qp = iw_ornic_get_qp,
	.iw_reject = iw_ornic_reject,
	.iw_rem_ref = iw_ornic_qp_rem_ref,
	.map_mr_sg = iw_ornic_map_mr_sg,
	.mmap = iw_ornic_mmap,
	.mmap_free = iw_ornic_mmap_free,
	.modify_qp = iw_ornic_modify_qp,
	.poll_cq = iw_ornic_poll_cq,
	.post_recv = iw_ornic_post_recv,
	.post_send = iw_ornic_post_send,
	.query_device = iw_ornic_query_device,
	.query_gid = iw_ornic_query_gid,
	.query_port = iw_ornic_query_port,
	.query_qp = iw_ornic_query_qp,
	.reg_user_mr = iw_ornic_reg_user_mr_op,
	.req_notify_cq = iw_ornic_req_notify_cq,

	INIT_RDMA_OBJ_SIZE(ib_cq, iw_ornic_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_pd, iw_ornic_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, iw_ornic_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, iw_ornic_ucontext, ibucontext),
};

/* Events of the device and the port reach the core only while it knows the device. */
static void iw_ornic_dispatch(struct iw_ornic_dev *dev, enum ib_event_type type)
{
	struct ib_event event = {
		.device = &dev->ibdev,
		.element.port_num = IW_ORNIC_PORT,
		.event = type,
	};

	mutex_lock(&dev->dispatch_mutex);
	if (dev->registered)
		ib_dispatch_event(&event);
	mutex_unlock(&dev->dispatch_mutex);
}

static void iw_ornic_set_registered(struct iw_ornic_dev *dev, bool registered)
{
	mutex_lock(&dev->dispatch_mutex);
	dev->registered = registered;
	mutex_unlock(&dev->dispatch_mutex);
}

static void iw_ornic_comp_event(void *ctx, u32 cqn)
{
	iw_ornic_cq_comp_event(ctx, cqn);
}

static void iw_ornic_async_event(void *ctx, const struct ornic_aeqe *aeqe)
{
	u32 number = le32_to_cpu(aeqe->number);
	struct iw_ornic_dev *dev = ctx;

	ibdev_dbg(&dev->ibdev, "event %u of object %u, syndrome %u\n", aeqe->type, number,
		  le16_to_cpu(aeqe->syndrome));
	switch (aeqe->type) {
	case ORNIC_ASYNC_QP_FATAL:
		iw_ornic_qp_async_event(dev, number, IB_EVENT_QP_FATAL);
		break;
	case ORNIC_ASYNC_QP_REQ_ERR:
		iw_ornic_qp_async_event(dev, number, IB_EVENT_QP_REQ_ERR);
		break;
	case ORNIC_ASYNC_QP_ACCESS_ERR:
		iw_ornic_qp_async_event(dev, number, IB_EVENT_QP_ACCESS_ERR);
		break;
	case ORNIC_ASYNC_CQ_ERROR:
		iw_ornic_cq_error_event(dev, number);
		break;
	default:
		/* Link and fatal events come by their own callbacks; of SRQs there are none. */
		ibdev_warn_ratelimited(&dev->ibdev, "unexpected event %u\n", aeqe->type);
	}
}

static void iw_ornic_link_event(void *ctx, bool up)
{
	iw_ornic_dispatch(ctx, up ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR);
}

/* The GID is made of the MAC, and cached by ib_core. */
static void iw_ornic_addr_event(void *ctx)
{
	iw_ornic_dispatch(ctx, IB_EVENT_GID_CHANGE);
}

/* Kernel consumers get flush completions, users get the event; then the auxiliary device goes. */
static void iw_ornic_fatal(void *ctx)
{
	struct iw_ornic_dev *dev = ctx;

	WRITE_ONCE(dev->dead, true);
	/* Pairs with the barrier in iw_ornic_queue_publish(): one of the two sees the other. */
	smp_mb();
	iw_ornic_cm_device_fatal(dev);
	iw_ornic_dispatch(dev, IB_EVENT_DEVICE_FATAL);
	iw_ornic_flush_kick(dev);
}

static const struct ornic_rdma_ops iw_ornic_rdma_ops = {
	.comp_event = iw_ornic_comp_event,
	.async_event = iw_ornic_async_event,
	.link_event = iw_ornic_link_event,
	.addr_event = iw_ornic_addr_event,
	.fatal = iw_ornic_fatal,
};

static void iw_ornic_init_ibdev(struct iw_ornic_dev *dev)
{
	struct ornic_core *core = dev->core;
	struct ib_device *ibdev = &dev->ibdev;

	ibdev->node_type = RDMA_NODE_RNIC;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = core->num_comp_vectors;
	/* User space matches the provider by the parent's PCI identity. */
	ibdev->dev.parent = &core->pdev->dev;
	ibdev->local_dma_lkey = ORNIC_STAG_LOCAL_DMA;
	/*
	 * The connection manager reserves its ports in the host's stack. The port mapper must not
	 * take others: the rules of the host's packet filter are about the ports that were asked
	 * for.
	 */
	ibdev->iw_driver_flags = IW_F_NO_PORT_MAP;
	strscpy(ibdev->iw_ifname, core->netdev->name, sizeof(ibdev->iw_ifname));
	strscpy(ibdev->node_desc, "OpenRNIC", sizeof(ibdev->node_desc));
	addrconf_addr_eui48((u8 *)&ibdev->node_guid, core->netdev->perm_addr);
	ib_set_device_ops(ibdev, &iw_ornic_ops);
}

static bool iw_ornic_number_ok(u32 max)
{
	return max && max <= IW_ORNIC_MAX_NUMBERS;
}

static bool iw_ornic_shift_ok(u8 shift)
{
	return shift && shift <= IW_ORNIC_MAX_SHIFT;
}

/* What shifts, STags, doorbells and the sizes of tables are made of. */
static bool iw_ornic_limits_ok(const struct ornic_limits *limits)
{
	return (limits->page_shift_mask & PAGE_SIZE) && limits->max_pd &&
	       iw_ornic_number_ok(limits->max_qp) && iw_ornic_number_ok(limits->max_cq) &&
	       iw_ornic_number_ok(limits->max_mr) && iw_ornic_shift_ok(limits->max_sq_shift) &&
	       iw_ornic_shift_ok(limits->max_rq_shift) && iw_ornic_shift_ok(limits->max_cq_shift);
}

static int iw_ornic_init(struct iw_ornic_dev *dev)
{
	const struct ornic_limits *limits = &dev->core->limits;

	if (!iw_ornic_limits_ok(limits)) {
		ibdev_err(&dev->ibdev, "the device's limits make no sense\n");
		return -EINVAL;
	}
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ);
	xa_init_flags(&dev->cqs, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ);
	xa_init_flags(&dev->mrs, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ);
	xa_init_flags(&dev->pds, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ);
	mutex_init(&dev->dispatch_mutex);
	INIT_WORK(&dev->flush_work, iw_ornic_flush_work);

	dev->mr_keys = kvzalloc(limits->max_mr, GFP_KERNEL);
	if (!dev->mr_keys)
		return -ENOMEM;
	dev->wq = alloc_workqueue("iw_ornic", WQ_MEM_RECLAIM | WQ_UNBOUND, 1);
	if (!dev->wq) {
		kvfree(dev->mr_keys);
		return -ENOMEM;
	}

	return 0;
}

static void iw_ornic_fini(struct iw_ornic_dev *dev)
{
	destroy_workqueue(dev->wq);
	kvfree(dev->mr_keys);
	xa_destroy(&dev->qps);
	xa_destroy(&dev->cqs);
	xa_destroy(&dev->mrs);
	xa_destroy(&dev->pds);
}

static int iw_ornic_register(struct iw_ornic_dev *dev)
{
	int ret;

	iw_ornic_init_ibdev(dev);
	ret = ib_device_set_netdev(&dev->ibdev, dev->core->netdev, IW_ORNIC_PORT);
	if (ret)
		return ret;
	ret = ib_register_device(&dev->ibdev, "ornic%d", &dev->core->pdev->dev);
	if (ret)
		return ret;
	iw_ornic_set_registered(dev, true);

	return 0;
}

static int iw_ornic_probe(struct auxiliary_device *adev, const struct auxiliary_device_id *id)
{
	struct iw_ornic_dev *dev;
	int ret;

	dev = ib_alloc_device(iw_ornic_dev, ibdev);
	if (!dev)
		return -ENOMEM;
	dev->core = ornic_core_of(adev);

	ret = iw_ornic_init(dev);
	if (ret)
		goto dealloc;
	ret = iw_ornic_cm_init(dev);
	if (ret)
		goto fini;
	ret = ornic_rdma_register(dev->core, &iw_ornic_rdma_ops, dev);
	if (ret)
		goto cm_fini;
	ret = iw_ornic_register(dev);
	if (ret)
		goto rdma_unregister;
	auxiliary_set_drvdata(adev, dev);

	return 0;

rdma_unregister:
	ornic_rdma_unregister(dev->core);
cm_fini:
	iw_ornic_cm_fini(dev);
fini:
	iw_ornic_fini(dev);
dealloc:
	ib_dealloc_device(&dev->ibdev);
	return dev_err_probe(&adev->dev, ret, "RDMA device not registered\n");
}

/*
 * Consumers give up their objects within ib_unregister_device() and need completions and connection
 * events for that, so these end
 * after it, connections that nobody waits for any more in between.
 */
static void iw_ornic_remove(struct auxiliary_device *adev)
{
	struct iw_ornic_dev *dev = auxiliary_get_drvdata(adev);

	iw_ornic_set_registered(dev, false);
	iw_ornic_cm_leave(dev);
	ib_unregister_device(&dev->ibdev);
	iw_ornic_cm_fini(dev);
	ornic_rdma_unregister(dev->core);
	iw_ornic_fini(dev);
	ib_dealloc_device(&dev->ibdev);
}

static const struct auxiliary_device_id iw_ornic_ids[] = {
	{ .name = ORNIC_ADEV_NAME },
	{ }
};
MODULE_DEVICE_TABLE(auxiliary, iw_ornic_ids);

static struct auxiliary_driver iw_ornic_driver = {
	.name = "rdma",
	.id_table = iw_ornic_ids,
	.probe = iw_ornic_probe,
	.remove = iw_ornic_remove,
};
module_auxiliary_driver(iw_ornic_driver);

MODULE_DESCRIPTION("OpenRNIC iWARP driver");
MODULE_LICENSE("Dual BSD/GPL");
