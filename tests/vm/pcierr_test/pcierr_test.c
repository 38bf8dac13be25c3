// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A PCI error, as the PCI core's recovery (Documentation/PCI/pci-error-recovery.rst) presents it to
 * a driver. QEMU has no way to make one on a vfio-user device.
 *
 *   insmod pcierr_test.ko slot=0000:00:05.0 kind=frozen|normal|lost
 *
 * The function is really reset between error_detected() and slot_reset(), and nothing but the
 * driver restores its configuration space. Loading fails when an answer of the driver is wrong.
 */

#define pr_fmt(fmt) "pcierr_test: " fmt

#include <linux/module.h>
#include <linux/pci.h>

static char *slot = "";
module_param(slot, charp, 0444);
MODULE_PARM_DESC(slot, "the function, DDDD:BB:DD.F");

static char *kind = "frozen";
module_param(kind, charp, 0444);
MODULE_PARM_DESC(kind, "frozen (uncorrectable, fatal), normal (uncorrectable, not fatal) or lost");

static int expect(const char *what, pci_ers_result_t got, pci_ers_result_t expected)
{
	if (got == expected)
		return 0;
	pr_err("%s answered %d, expected %d\n", what, (int)got, (int)expected);
	return -EPROTO;
}

static int frozen(struct pci_dev *pdev, const struct pci_error_handlers *handlers)
{
	int ret;

	pdev->error_state = pci_channel_io_frozen;
	ret = expect("error_detected", handlers->error_detected(pdev, pci_channel_io_frozen),
		     PCI_ERS_RESULT_NEED_RESET);
	if (!ret)
		ret = __pci_reset_function_locked(pdev);
	pdev->error_state = pci_channel_io_normal;
	if (!ret)
		ret = expect("slot_reset", handlers->slot_reset(pdev), PCI_ERS_RESULT_RECOVERED);
	if (!ret)
		handlers->resume(pdev);
	return ret;
}

static int normal(struct pci_dev *pdev, const struct pci_error_handlers *handlers)
{
	int ret = expect("error_detected", handlers->error_detected(pdev, pci_channel_io_normal),
			 PCI_ERS_RESULT_CAN_RECOVER);

	if (!ret)
		handlers->resume(pdev);
	return ret;
}

static int lost(struct pci_dev *pdev, const struct pci_error_handlers *handlers)
{
	int ret;

	pdev->error_state = pci_channel_io_perm_failure;
	ret = expect("error_detected", handlers->error_detected(pdev, pci_channel_io_perm_failure),
		     PCI_ERS_RESULT_DISCONNECT);
	/* for the next driver that is bound */
	pdev->error_state = pci_channel_io_normal;
	return ret;
}

static int run(struct pci_dev *pdev)
{
	struct pci_driver *drv;
	int ret = -ENODEV;

	device_lock(&pdev->dev);
	drv = pdev->driver;
	if (!drv || !drv->err_handler)
		goto out;
	if (!strcmp(kind, "frozen"))
		ret = frozen(pdev, drv->err_handler);
	else if (!strcmp(kind, "normal"))
		ret = normal(pdev, drv->err_handler);
	else if (!strcmp(kind, "lost"))
		ret = lost(pdev, drv->err_handler);
	else
		ret = -EINVAL;
out:
	device_unlock(&pdev->dev);
	return ret;
}

static int __init pcierr_test_init(void)
{
	unsigned int domain, bus, dev, fn;
	struct pci_dev *pdev;
	int ret;

	if (sscanf(slot, "%x:%x:%x.%x", &domain, &bus, &dev, &fn) != 4)
		return -EINVAL;
	pdev = pci_get_domain_bus_and_slot(domain, bus, PCI_DEVFN(dev, fn));
	if (!pdev)
		return -ENODEV;
	ret = run(pdev);
	pci_dev_put(pdev);
	return ret;
}

static void __exit pcierr_test_exit(void)
{
}

module_init(pcierr_test_init);
module_exit(pcierr_test_exit);
MODULE_DESCRIPTION("PCI errors for a driver");
MODULE_LICENSE("GPL");
