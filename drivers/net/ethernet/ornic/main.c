// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* OpenRNIC core driver: PCI function. */

#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/pci.h>

#include "core.h"

static const struct pci_device_id ornic_pci_ids[] = {
	{ PCI_DEVICE(ORNIC_PCI_VENDOR_ID, ORNIC_PCI_DEVICE_ID) },
	{ }
};
MODULE_DEVICE_TABLE(pci, ornic_pci_ids);

/* --- memory spaces of the function ---------------------------------------------------------- */

static int ornic_map_doorbells(struct ornic_dev *od)
{
	struct pci_dev *pdev = od->core.pdev;
	u32 info = ornic_read(od, ORNIC_REG_DB_INFO);
	u32 shift = FIELD_GET(ORNIC_DB_INFO_STRIDE, info);
	u64 pages = FIELD_GET(ORNIC_DB_INFO_PAGES, info);

	if (shift < 12 || shift > 16 || !pages ||
	    pages << shift > pci_resource_len(pdev, ORNIC_BAR_DB)) {
		dev_err(&pdev->dev, "doorbell pages: %llu of 2^%u bytes\n", pages, shift);
		return -EINVAL;
	}
	od->core.db_stride = BIT(shift);
	od->core.db_phys = pci_resource_start(pdev, ORNIC_BAR_DB);
	/* A stride below the page size would map foreign doorbells into a process. */
	od->max_db_page = od->core.db_stride >= PAGE_SIZE ? pages - 1 : 0;
	od->core.db = ioremap(od->core.db_phys, od->core.db_stride);
	return od->core.db ? 0 : -ENOMEM;
}

static void ornic_unmap_bars(struct ornic_dev *od)
{
	if (od->core.db)
		iounmap(od->core.db);
	if (od->regs)
		pci_iounmap(od->core.pdev, od->regs);
	pci_release_regions(od->core.pdev);
}

static int ornic_map_bars(struct ornic_dev *od)
{
	struct pci_dev *pdev = od->core.pdev;
	int rc;

	rc = pci_request_regions(pdev, ORNIC_DRV_NAME);
	if (rc)
		return rc;
	rc = -ENODEV;
	if (pci_resource_len(pdev, ORNIC_BAR_REGS) < ORNIC_BAR_REGS_SIZE)
		goto err;
	rc = -ENOMEM;
	od->regs = pci_iomap(pdev, ORNIC_BAR_REGS, 0);
	if (!od->regs)
		goto err;
	rc = -ENODEV;
	if (ornic_read(od, ORNIC_REG_MAGIC) != ORNIC_MAGIC)
		goto err;
	rc = ornic_map_doorbells(od);
	if (rc)
		goto err;
	return 0;
err:
	ornic_unmap_bars(od);
	return rc;
}

/* --- probe and remove ----------------------------------------------------------------------- */

static void ornic_init_locks(struct ornic_dev *od)
{
	set_bit(ORNIC_S_QUIET, &od->state);
	/* Until probe is done a failure ends it, instead of starting a reset of half a function. */
	set_bit(ORNIC_S_HELD, &od->state);
	init_waitqueue_head(&od->quiet_wait);
	mutex_init(&od->reset_lock);
	INIT_WORK(&od->reset_work, ornic_dev_reset_work);
	INIT_WORK(&od->fatal_work, ornic_dev_fatal_work);
	INIT_DELAYED_WORK(&od->watchdog, ornic_dev_watchdog);
	mutex_init(&od->policy_lock);
	ornic_tcp_init(od);
	ornic_nexthop_init(od);
}

/* Wishes; ornic_dev_request_irqs() and ornic_fit_vectors() reduce them to what there is. */
static void ornic_plan_vectors(struct ornic_dev *od)
{
	u64 caps = ornic_read(od, ORNIC_REG_CAPS_LO);
	u32 cpus = num_online_cpus();

	od->num_eth = caps & ORNIC_CAP_RSS ? min_t(u32, cpus, ORNIC_MAX_ETH_QUEUES) : 1;
	od->core.num_comp_vectors = min_t(u32, cpus, ORNIC_MAX_COMP_VECTORS);
}

static void ornic_fit_vectors(struct ornic_dev *od)
{
	u32 rings = min(le16_to_cpu(od->attr.max_txq), le16_to_cpu(od->attr.max_rxq));
	u32 eqs = le32_to_cpu(od->attr.max_eq) - ORNIC_EQN_COMP;

	od->num_eth = min(od->num_eth, rings);
	od->core.num_comp_vectors = min(od->core.num_comp_vectors, eqs);
}

static int ornic_probe_queues(struct ornic_dev *od)
{
	int rc;

	rc = ornic_cmdq_alloc(od);
	if (rc)
		return rc;
	ornic_plan_vectors(od);
	rc = ornic_dev_request_irqs(od);
	if (rc)
		return rc;
	mutex_lock(&od->reset_lock);
	rc = ornic_dev_probe_hw(od);
	if (!rc) {
		set_bit(ORNIC_S_UP, &od->state);
		ornic_fit_vectors(od);
		rc = ornic_eqs_alloc(od);
	}
	if (!rc)
		rc = ornic_eqs_start(od);
	mutex_unlock(&od->reset_lock);
	return rc;
}

static int ornic_probe_services(struct ornic_dev *od)
{
	int rc;

	rc = ornic_net_alloc(od);
	if (!rc)
		rc = ornic_nexthop_listen(od);
	if (!rc)
		rc = ornic_devlink_register(od);
	if (!rc)
		rc = ornic_net_register(od);
	if (rc)
		return rc;
	mutex_lock(&od->reset_lock);
	rc = ornic_alive(&od->core) ? ornic_adev_add(od) : -EIO;
	if (!rc)
		clear_bit(ORNIC_S_HELD, &od->state);
	mutex_unlock(&od->reset_lock);
	return rc;
}

/* Reverse of probe, from any point of it. Nothing here waits for a device that is dead or gone. */
static void ornic_teardown(struct ornic_dev *od)
{
	set_bit(ORNIC_S_REMOVING, &od->state);
	cancel_work_sync(&od->reset_work);
	/* A reload that runs is waited for, so it comes before what a reload would bring back. */
	ornic_devlink_unregister(od);
	if (!ornic_dev_check(od))
		ornic_rdma_fatal(od);
	ornic_adev_remove(od);
	/* Not before: who waits for the device in the RDMA driver's remove hears of its end. */
	cancel_delayed_work_sync(&od->watchdog);
	ornic_net_unregister(od);
	ornic_nexthop_exit(od);

	mutex_lock(&od->reset_lock);
	ornic_dev_down(od, ORNIC_RESET_NORMAL);
	mutex_unlock(&od->reset_lock);
	ornic_eqs_stop(od);
	ornic_dev_release_irqs(od);
	if (od->wq)
		destroy_workqueue(od->wq);
	od->wq = NULL;
	/* One that was queued by an event after the first cancel. It finds ORNIC_S_REMOVING. */
	cancel_work_sync(&od->reset_work);
	cancel_work_sync(&od->fatal_work);
	ornic_tcp_exit(od);
	ornic_net_free(od);
	ornic_eqs_free(od);
	ornic_cmdq_free(od);
}

static int ornic_probe_dev(struct ornic_dev *od)
{
	int rc;

	ornic_init_locks(od);
	ornic_policy_init(od);
	rc = ornic_map_bars(od);
	if (rc)
		return rc;
	rc = ornic_rdma_init(od);
	if (rc)
		goto unmap;
	rc = -ENOMEM;
	od->wq = alloc_ordered_workqueue("ornic-%s", WQ_MEM_RECLAIM, pci_name(od->core.pdev));
	if (od->wq)
		rc = ornic_probe_queues(od);
	if (!rc)
		rc = ornic_probe_services(od);
	if (rc)
		goto teardown;
	queue_delayed_work(system_power_efficient_wq, &od->watchdog, HZ);
	return 0;

teardown:
	ornic_teardown(od);
	ornic_rdma_exit(od);
unmap:
	ornic_unmap_bars(od);
	return rc;
}

static int ornic_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct devlink *devlink;
	struct ornic_dev *od;
	int rc;

	devlink = ornic_devlink_alloc(pdev);
	if (!devlink)
		return -ENOMEM;
	od = devlink_priv(devlink);
	od->devlink = devlink;
	od->core.pdev = pdev;
	pci_set_drvdata(pdev, od);

	rc = pci_enable_device(pdev);
	if (rc)
		goto free;
	rc = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (rc)
		goto disable;
	/* The device takes a page list or a length of 32 bits: one segment is as good as any. */
	dma_set_max_seg_size(&pdev->dev, SZ_2G);
	rc = ornic_probe_dev(od);
	if (rc)
		goto disable;
	return 0;

disable:
	pci_disable_device(pdev);
free:
	devlink_free(devlink);
	return dev_err_probe(&pdev->dev, rc, "probe failed\n");
}

static void ornic_remove(struct pci_dev *pdev)
{
	struct ornic_dev *od = pci_get_drvdata(pdev);

	ornic_teardown(od);
	ornic_rdma_exit(od);
	ornic_unmap_bars(od);
	/* It is disabled already when it did not come back from a PCI error. */
	if (pci_is_enabled(pdev))
		pci_disable_device(pdev);
	devlink_free(od->devlink);
}

/* --- held down by somebody else: PM, FLR, AER, shutdown -------------------------------------- */

static void ornic_shutdown(struct pci_dev *pdev)
{
	struct ornic_dev *od = pci_get_drvdata(pdev);

	set_bit(ORNIC_S_REMOVING, &od->state);
	ornic_dev_leave(od);
	cancel_delayed_work_sync(&od->watchdog);
	pci_clear_master(pdev);
}

static int ornic_suspend(struct device *dev)
{
	ornic_dev_leave(dev_get_drvdata(dev));
	return 0;
}

/*
 * Not in resume: until PM has completed a device must not get children, and none is bound to a
 * driver. Nobody misses the function until then, since user space is still frozen.
 */
static void ornic_pm_complete(struct device *dev)
{
	ornic_dev_release(dev_get_drvdata(dev));
}

static const struct dev_pm_ops ornic_pm_ops = {
	.suspend	= ornic_suspend,
	.freeze		= ornic_suspend,
	.poweroff	= ornic_suspend,
	.complete	= ornic_pm_complete,
};

static pci_ers_result_t ornic_error_detected(struct pci_dev *pdev, pci_channel_state_t state)
{
	struct ornic_dev *od = pci_get_drvdata(pdev);

	if (state == pci_channel_io_normal)
		return PCI_ERS_RESULT_CAN_RECOVER;
	dev_warn(&pdev->dev, "PCI channel %s\n",
		 state == pci_channel_io_frozen ? "frozen" : "lost for good");
	ornic_dev_hold(od, ORNIC_RESET_NORMAL);
	if (state == pci_channel_io_perm_failure)
		return PCI_ERS_RESULT_DISCONNECT;
	pci_disable_device(pdev);
	return PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t ornic_slot_reset(struct pci_dev *pdev)
{
	int rc;

	rc = pci_enable_device(pdev);
	if (rc) {
		dev_err(&pdev->dev, "cannot enable the function after a slot reset: %d\n", rc);
		return PCI_ERS_RESULT_DISCONNECT;
	}
	pci_restore_state(pdev);
	pci_save_state(pdev);
	return PCI_ERS_RESULT_RECOVERED;
}

static void ornic_error_resume(struct pci_dev *pdev)
{
	ornic_dev_release(pci_get_drvdata(pdev));
}

static void ornic_reset_prepare(struct pci_dev *pdev)
{
	ornic_dev_hold(pci_get_drvdata(pdev), ORNIC_RESET_NORMAL);
}

static void ornic_reset_done(struct pci_dev *pdev)
{
	ornic_dev_release(pci_get_drvdata(pdev));
}

static const struct pci_error_handlers ornic_err_handlers = {
	.error_detected	= ornic_error_detected,
	.slot_reset	= ornic_slot_reset,
	.resume		= ornic_error_resume,
	.reset_prepare	= ornic_reset_prepare,
	.reset_done	= ornic_reset_done,
};

static struct pci_driver ornic_pci_driver = {
	.name		= ORNIC_DRV_NAME,
	.id_table	= ornic_pci_ids,
	.probe		= ornic_probe,
	.remove		= ornic_remove,
	.shutdown	= ornic_shutdown,
	.err_handler	= &ornic_err_handlers,
	.driver.pm	= pm_sleep_ptr(&ornic_pm_ops),
};

module_pci_driver(ornic_pci_driver);

MODULE_AUTHOR("OpenRNIC contributors");
MODULE_DESCRIPTION("OpenRNIC Ethernet and RDMA adapter");
MODULE_LICENSE("Dual BSD/GPL");
