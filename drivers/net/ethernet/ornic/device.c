// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * OpenRNIC core driver: bringing the function up and down, interrupts, dead and gone devices,
 * reset.
 *
 * The device is quiet (does no DMA) before anybody hears that it failed, so whoever gets -EIO or
 * fatal() may free memory.
 */

#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/iopoll.h>
#include <linux/pci.h>

#include "core.h"

#define ORNIC_RESET_TIMEOUT_US	(2 * USEC_PER_SEC)
#define ORNIC_ENABLE_TIMEOUT_US	(5 * USEC_PER_SEC)
#define ORNIC_POLL_US		1000
#define ORNIC_WATCHDOG_PERIOD	(2 * HZ)
#define ORNIC_MAX_FAILED_RESETS	5

/**
 * ornic_alive() - true while commands are taken
 * @core: the function
 *
 * Context: Any context.
 * Return: false once the device is dead, gone or in a reset
 */
bool ornic_alive(struct ornic_core *core)
{
	return test_bit(ORNIC_S_RUNNING, &ornic_dev_of(core)->state);
}
EXPORT_SYMBOL_GPL(ornic_alive);

/**
 * ornic_dev_wait_quiet() - wait until a device that failed does no DMA any more
 * @od: the function
 *
 * Context: Process context, sleeps for some milliseconds at most.
 */
void ornic_dev_wait_quiet(struct ornic_dev *od)
{
	wait_event(od->quiet_wait,
		   test_bit(ORNIC_S_QUIET, &od->state) || test_bit(ORNIC_S_RUNNING, &od->state));
}

/* Write the reset bit and wait until it took effect, or all-ones says that nobody is there. */
static int ornic_dev_reset_hw(struct ornic_dev *od, enum ornic_reset_reason reason)
{
	u32 status;

	ornic_write(od, ORNIC_REG_CONTROL,
		    ORNIC_CONTROL_RESET | FIELD_PREP(ORNIC_CONTROL_REASON, reason));
	return readl_poll_timeout(od->regs + ORNIC_REG_STATUS, status,
				  status == ORNIC_ALL_ONES ||
				  !(status & (ORNIC_STATUS_READY | ORNIC_STATUS_FATAL)),
				  ORNIC_POLL_US, ORNIC_RESET_TIMEOUT_US);
}

static void ornic_dev_quiesce(struct ornic_dev *od, enum ornic_reset_reason reason)
{
	struct pci_dev *pdev = od->core.pdev;

	if (!test_bit(ORNIC_S_GONE, &od->state) && !pci_channel_offline(pdev) &&
	    ornic_dev_reset_hw(od, reason)) {
		dev_err(&pdev->dev, "reset did not take effect, bus mastering off\n");
		pci_clear_master(pdev);
	}
	set_bit(ORNIC_S_QUIET, &od->state);
	wake_up_all(&od->quiet_wait);
}

static void ornic_dev_queue_reset(struct ornic_dev *od, enum ornic_reset_reason reason)
{
	if (test_bit(ORNIC_S_REMOVING, &od->state) || test_bit(ORNIC_S_HELD, &od->state))
		return;
	WRITE_ONCE(od->reset_reason, reason);
	queue_work(system_unbound_wq, &od->reset_work);
}

/**
 * ornic_dev_fail() - stop a device that is of no use any more, and have it reset
 * @od: the function
 * @reason: told to the device
 *
 * When it returns the device is quiet and all commands have been aborted.
 *
 * Context: Process context, sleeps. May be called from an event or under any of the driver's
 *          mutexes.
 */
void ornic_dev_fail(struct ornic_dev *od, enum ornic_reset_reason reason)
{
	if (!test_and_clear_bit(ORNIC_S_RUNNING, &od->state)) {
		ornic_dev_wait_quiet(od);
		return;
	}
	ornic_dev_quiesce(od, reason);
	ornic_cmdq_abort(od);
	ornic_dev_queue_reset(od, reason);
	/* No reset comes, or not yet, while the RDMA driver is being removed. */
	queue_work(system_unbound_wq, &od->fatal_work);
}

/**
 * ornic_dev_fatal_work() - the rest of ornic_dev_fail()
 * @work: fatal_work of the function
 *
 * The removal of the RDMA driver waits for its consumers, and these for completions that a dead
 * device owes. It may be under way, with @reset_lock held or a reset ruled out.
 *
 * Context: Workqueue.
 */
void ornic_dev_fatal_work(struct work_struct *work)
{
	struct ornic_dev *od = container_of(work, struct ornic_dev, fatal_work);

	ornic_dev_wait_quiet(od);
	/* Else it was reset in the meantime, and whoever is registered came after that. */
	if (!ornic_alive(&od->core))
		ornic_rdma_fatal(od);
}

/**
 * ornic_dev_check() - look at STATUS; a dead or gone device is failed
 * @od: the function
 *
 * Context: Process context, sleeps when the device is dead.
 * Return: true when the device is alive
 */
bool ornic_dev_check(struct ornic_dev *od)
{
	u32 status;

	if (!test_bit(ORNIC_S_RUNNING, &od->state))
		return false;
	status = ornic_read(od, ORNIC_REG_STATUS);
	if (status == ORNIC_ALL_ONES) {
		set_bit(ORNIC_S_GONE, &od->state);
		dev_err(ornic_device(od), "device is gone\n");
		ornic_dev_fail(od, ORNIC_RESET_NORMAL);
		return false;
	}
	if (status & ORNIC_STATUS_FATAL) {
		dev_err(ornic_device(od), "device stopped, cause %u\n",
			ornic_read(od, ORNIC_REG_FATAL));
		ornic_dev_fail(od, ORNIC_RESET_FATAL);
		return false;
	}
	if (!(status & ORNIC_STATUS_READY)) {
		dev_err(ornic_device(od), "device was reset by somebody else\n");
		ornic_dev_fail(od, ORNIC_RESET_NORMAL);
		return false;
	}
	return true;
}

/**
 * ornic_request_reset() - have the device reset, the auxiliary device removed and created anew
 * @core: the function
 * @reason: told to the device
 *
 * Context: Any context; the reset runs later.
 */
void ornic_request_reset(struct ornic_core *core, enum ornic_reset_reason reason)
{
	ornic_dev_queue_reset(ornic_dev_of(core), reason);
}
EXPORT_SYMBOL_GPL(ornic_request_reset);

/* --- interrupts ----------------------------------------------------------------------------- */

static irqreturn_t ornic_irq(int irq, void *arg)
{
	struct ornic_vector *vec = arg;
	struct ornic_dev *od = vec->od;
	u32 first_comp = ORNIC_VEC_ETH + od->num_eth;

	if (vec->index == ORNIC_VEC_CMDQ)
		ornic_cmdq_irq(od);
	else if (vec->index == ORNIC_VEC_ASYNC)
		ornic_async_irq(od);
	else if (vec->index < first_comp)
		ornic_net_irq(od, vec->index - ORNIC_VEC_ETH);
	else if (vec->index - first_comp < od->core.num_comp_vectors)
		ornic_ceq_irq(&od->ceqs[vec->index - first_comp]);
	return IRQ_HANDLED;
}

static void ornic_vector_name(struct ornic_vector *vec)
{
	struct ornic_dev *od = vec->od;
	const char *pci = pci_name(od->core.pdev);
	u32 first_comp = ORNIC_VEC_ETH + od->num_eth;

	if (vec->index == ORNIC_VEC_CMDQ)
		snprintf(vec->name, sizeof(vec->name), "ornic-cmd@%s", pci);
	else if (vec->index == ORNIC_VEC_ASYNC)
		snprintf(vec->name, sizeof(vec->name), "ornic-async@%s", pci);
	else if (vec->index < first_comp)
		snprintf(vec->name, sizeof(vec->name), "ornic-eth%u@%s",
			 vec->index - ORNIC_VEC_ETH, pci);
	else
		snprintf(vec->name, sizeof(vec->name), "ornic-comp%u@%s",
			 vec->index - first_comp, pci);
}

/**
 * ornic_dev_request_irqs() - get MSI-X vectors and connect their handlers
 * @od: the function; core.num_comp_vectors and num_eth are what is wished for, and reduced to what
 * there is
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOSPC when there are too few vectors, or an error of the PCI core
 */
int ornic_dev_request_irqs(struct ornic_dev *od)
{
	struct pci_dev *pdev = od->core.pdev;
	u32 want = ORNIC_VEC_ETH + od->num_eth + od->core.num_comp_vectors;
	int n, rc;
	u32 i;

	want = min(want, ornic_read(od, ORNIC_REG_VECTORS));
	if (want < ORNIC_VEC_MIN)
		return -ENOSPC;
	n = pci_alloc_irq_vectors(pdev, ORNIC_VEC_MIN, want, PCI_IRQ_MSIX);
	if (n < 0)
		return n;
	od->num_eth = min_t(u32, od->num_eth, n - ORNIC_VEC_ETH - 1);
	od->core.num_comp_vectors = n - ORNIC_VEC_ETH - od->num_eth;

	od->vecs = kcalloc(n, sizeof(*od->vecs), GFP_KERNEL);
	if (!od->vecs) {
		pci_free_irq_vectors(pdev);
		return -ENOMEM;
	}
	od->num_vecs = n;
	for (i = 0; i < n; i++) {
		od->vecs[i].od = od;
		od->vecs[i].index = i;
		od->vecs[i].irq = pci_irq_vector(pdev, i);
		ornic_vector_name(&od->vecs[i]);
		rc = request_irq(od->vecs[i].irq, ornic_irq, 0, od->vecs[i].name, &od->vecs[i]);
		if (rc) {
			ornic_dev_release_irqs(od);
			return rc;
		}
		od->vecs[i].requested = true;
	}
	return 0;
}

/**
 * ornic_dev_release_irqs() - no handler runs any more when it returns
 * @od: the function
 *
 * Context: Process context, may sleep.
 */
void ornic_dev_release_irqs(struct ornic_dev *od)
{
	u32 i;

	for (i = 0; i < od->num_vecs; i++)
		if (od->vecs[i].requested)
			free_irq(od->vecs[i].irq, &od->vecs[i]);
	if (od->num_vecs)
		pci_free_irq_vectors(od->core.pdev);
	kfree(od->vecs);
	od->vecs = NULL;
	od->num_vecs = 0;
}

/* --- up and down ---------------------------------------------------------------------------- */

static int ornic_dev_check_identity(struct ornic_dev *od)
{
	u32 magic = ornic_read(od, ORNIC_REG_MAGIC);
	u32 ver = ornic_read(od, ORNIC_REG_IFVER);

	if (magic != ORNIC_MAGIC) {
		dev_err(ornic_device(od), "no OpenRNIC there: magic %#x\n", magic);
		return -ENODEV;
	}
	if (FIELD_GET(ORNIC_IFVER_MAJOR, ver) != ORNIC_IFVER_MAJOR_NOW ||
	    FIELD_GET(ORNIC_IFVER_MINOR, ver) < ORNIC_IFVER_MINOR_NOW) {
		dev_err(ornic_device(od), "device speaks interface %lu.%lu, driver %u.%u\n",
			FIELD_GET(ORNIC_IFVER_MAJOR, ver), FIELD_GET(ORNIC_IFVER_MINOR, ver),
			ORNIC_IFVER_MAJOR_NOW, ORNIC_IFVER_MINOR_NOW);
		return -EPROTONOSUPPORT;
	}
	return 0;
}

static int ornic_dev_enable(struct ornic_dev *od)
{
	u32 status;
	int rc;

	ornic_cmdq_prepare(od);
	clear_bit(ORNIC_S_QUIET, &od->state);
	ornic_write(od, ORNIC_REG_CONTROL, ORNIC_CONTROL_ENABLE);
	rc = readl_poll_timeout(od->regs + ORNIC_REG_STATUS, status,
				status & (ORNIC_STATUS_READY | ORNIC_STATUS_CFG_ERR),
				ORNIC_POLL_US, ORNIC_ENABLE_TIMEOUT_US);
	if (!rc && status == ORNIC_ALL_ONES)
		rc = -ENODEV;
	if (!rc && (status & ORNIC_STATUS_CFG_ERR))
		rc = -EIO;
	if (rc) {
		dev_err(ornic_device(od), "device did not start, status %#x: %d\n", status, rc);
		ornic_dev_quiesce(od, ORNIC_RESET_NORMAL);
		return rc;
	}
	set_bit(ORNIC_S_RUNNING, &od->state);
	wake_up_all(&od->quiet_wait);
	return 0;
}

static void ornic_dev_set_limits(struct ornic_dev *od)
{
	const struct ornic_device_attr *attr = &od->attr;
	struct ornic_limits *lim = &od->core.limits;

	lim->caps = le64_to_cpu(attr->caps);
	lim->max_qp = le32_to_cpu(attr->max_qp);
	lim->max_cq = le32_to_cpu(attr->max_cq);
	lim->max_mr = le32_to_cpu(attr->max_mr);
	lim->max_pd = le32_to_cpu(attr->max_pd);
	lim->max_srq = le32_to_cpu(attr->max_srq);
	lim->max_conn = le32_to_cpu(attr->max_conn);
	lim->max_listen = le32_to_cpu(attr->max_listen);
	lim->max_mr_size = le64_to_cpu(attr->max_mr_size);
	lim->max_frmr_pages = le32_to_cpu(attr->max_frmr_pages);
	lim->page_shift_mask = le64_to_cpu(attr->page_shift_mask);
	lim->max_sge = le16_to_cpu(attr->max_sge);
	lim->max_inline = le16_to_cpu(attr->max_inline);
	lim->max_ird = le16_to_cpu(attr->max_ird);
	lim->max_ord = le16_to_cpu(attr->max_ord);
	lim->max_sq_shift = attr->max_sq_shift;
	lim->max_rq_shift = attr->max_rq_shift;
	lim->max_cq_shift = attr->max_cq_shift;
	lim->max_mtu = le16_to_cpu(attr->max_mtu);
	lim->stream_max = le32_to_cpu(attr->stream_max);
	lim->link_speed = le32_to_cpu(attr->link_speed);
	lim->max_window = le32_to_cpu(attr->max_window);
	lim->fw_version = ornic_read(od, ORNIC_REG_FWVER);
}

/* What a driver cannot do without; a device that breaks it is refused instead of being trusted. */
static int ornic_dev_check_attr(struct ornic_dev *od, const struct ornic_device_attr *attr)
{
	if (le32_to_cpu(attr->max_eq) < ORNIC_EQN_COMP + 1 || attr->max_eq_shift < 4 ||
	    attr->max_eq_shift > 20 || attr->max_eth_shift < 7 || attr->max_eth_shift > 16 ||
	    !le16_to_cpu(attr->max_txq) || !le16_to_cpu(attr->max_rxq) ||
	    le16_to_cpu(attr->max_mtu) < ETH_DATA_LEN || le32_to_cpu(attr->max_conn) < 2 ||
	    !le32_to_cpu(attr->max_nexthop) || !le32_to_cpu(attr->max_syn) ||
	    !le32_to_cpu(attr->stream_max)) {
		dev_err(ornic_device(od), "device attributes are of no use\n");
		return -EINVAL;
	}
	return 0;
}

/* The first answer sets the limits; after a reset the device must be the same. */
static int ornic_dev_query(struct ornic_dev *od)
{
	struct ornic_cmd_number cmd = { .hdr.opcode = cpu_to_le16(ORNIC_CMD_QUERY_DEVICE) };
	struct ornic_device_attr attr;
	int rc;

	rc = ornic_cmd_exec_buf(od, &cmd, &attr, sizeof(attr), DMA_FROM_DEVICE, NULL);
	if (!rc)
		rc = ornic_dev_check_attr(od, &attr);
	if (rc)
		return rc;
	if (!od->core.limits.max_conn) {
		od->attr = attr;
		ornic_dev_set_limits(od);
		od->conn_ids.max = le32_to_cpu(attr.max_conn) - 1;
		od->listen_ids.max = max_t(u32, le32_to_cpu(attr.max_listen), 2) - 1;
		return 0;
	}
	if (memcmp(&od->attr, &attr, sizeof(attr))) {
		dev_err(ornic_device(od), "device changed over a reset, reload the driver\n");
		return -EINVAL;
	}
	return 0;
}

/* One that was gone is there as after power on: configuration space and MSI-X are to be set up. */
static void ornic_dev_take_back(struct ornic_dev *od)
{
	struct pci_dev *pdev = od->core.pdev;

	if (!pci_device_is_present(pdev))
		return;
	pci_restore_state(pdev);
	pci_save_state(pdev);
}

/**
 * ornic_dev_probe_hw() - reset and enable the device, start its command queue, query it
 * @od: the function with its registers mapped, command queue allocated and vector 0 connected
 *
 * Context: Process context, sleeps.
 * Return: 0, -ENODEV, -EPROTONOSUPPORT, -ETIMEDOUT, -EIO, or as ornic_cmd_exec(). On error the
 *         device is quiet.
 */
int ornic_dev_probe_hw(struct ornic_dev *od)
{
	int rc;

	if (test_bit(ORNIC_S_GONE, &od->state))
		ornic_dev_take_back(od);
	rc = ornic_dev_check_identity(od);
	if (rc)
		return rc;
	clear_bit(ORNIC_S_GONE, &od->state);
	pci_set_master(od->core.pdev);
	rc = ornic_dev_reset_hw(od, ORNIC_RESET_NORMAL);
	if (!rc)
		rc = ornic_dev_enable(od);
	if (rc)
		return rc;
	rc = ornic_dev_query(od);
	if (rc && test_and_clear_bit(ORNIC_S_RUNNING, &od->state)) {
		ornic_dev_quiesce(od, ORNIC_RESET_NORMAL);
		ornic_cmdq_abort(od);
	}
	/* For the slot reset after a PCI error; PM and FLR use up what was saved before. */
	if (!rc)
		pci_save_state(od->core.pdev);
	return rc;
}

/**
 * ornic_dev_up() - everything from the device to the auxiliary device, after ornic_dev_down()
 * @od: the function
 *
 * Context: Process context, sleeps, takes RTNL. @od->reset_lock is held.
 * Return: 0 or a negative errno; then the function is down
 */
int ornic_dev_up(struct ornic_dev *od)
{
	int rc;

	lockdep_assert_held(&od->reset_lock);
	if (test_bit(ORNIC_S_UP, &od->state))
		return 0;
	if (test_bit(ORNIC_S_REMOVING, &od->state))
		return -ENODEV;
	rc = ornic_dev_probe_hw(od);
	if (rc)
		return rc;
	set_bit(ORNIC_S_UP, &od->state);
	rc = ornic_eqs_start(od);
	if (!rc)
		rc = ornic_net_up(od);
	if (!rc) {
		ornic_nexthop_restore(od);
		rc = ornic_adev_add(od);
	}
	if (rc)
		ornic_dev_down(od, ORNIC_RESET_NORMAL);
	return rc;
}

/**
 * ornic_dev_down() - quiet the device, tell and remove the RDMA driver, stop the network interface
 * @od: the function
 * @reason: told to the device
 *
 * Context: Process context, sleeps, takes RTNL. @od->reset_lock is held.
 */
void ornic_dev_down(struct ornic_dev *od, enum ornic_reset_reason reason)
{
	lockdep_assert_held(&od->reset_lock);
	if (!test_and_clear_bit(ORNIC_S_UP, &od->state))
		return;
	if (test_and_clear_bit(ORNIC_S_RUNNING, &od->state)) {
		ornic_dev_quiesce(od, reason);
		ornic_cmdq_abort(od);
	} else {
		ornic_dev_wait_quiet(od);
	}
	ornic_rdma_fatal(od);
	ornic_adev_remove(od);
	ornic_net_down(od);
	ornic_eqs_stop(od);
	ornic_tcp_stopped(od);
}

/**
 * ornic_dev_hold() - bring the function down until ornic_dev_release(); no reset comes in between
 * @od: the function
 * @reason: told to the device
 *
 * Context: Process context, sleeps, takes RTNL.
 */
void ornic_dev_hold(struct ornic_dev *od, enum ornic_reset_reason reason)
{
	set_bit(ORNIC_S_HELD, &od->state);
	mutex_lock(&od->reset_lock);
	ornic_dev_down(od, reason);
	mutex_unlock(&od->reset_lock);
}

/**
 * ornic_dev_leave() - as ornic_dev_hold(), but a device that works ends its connections first
 * @od: the function
 *
 * So the peers are told, by a reset, and need not find out by time-outs.
 *
 * Context: Process context, sleeps, takes RTNL.
 */
void ornic_dev_leave(struct ornic_dev *od)
{
	mutex_lock(&od->reset_lock);
	/* Still under the watchdog's eyes: a device that dies must not be waited for. */
	if (ornic_dev_check(od))
		ornic_adev_remove(od);
	set_bit(ORNIC_S_HELD, &od->state);
	ornic_dev_down(od, ORNIC_RESET_NORMAL);
	mutex_unlock(&od->reset_lock);
}

/**
 * ornic_dev_release() - bring the function up after ornic_dev_hold() or ornic_dev_leave()
 * @od: the function
 *
 * Context: Process context, sleeps, takes RTNL.
 * Return: 0, or a negative errno; then the watchdog tries again
 */
int ornic_dev_release(struct ornic_dev *od)
{
	int rc;

	mutex_lock(&od->reset_lock);
	rc = ornic_dev_up(od);
	od->failed_resets = 0;
	mutex_unlock(&od->reset_lock);
	if (rc)
		dev_err(ornic_device(od), "device does not come back: %d\n", rc);
	clear_bit(ORNIC_S_HELD, &od->state);
	return rc;
}

/**
 * ornic_dev_reset_work() - down and up again
 * @work: reset_work of the function
 *
 * Context: Workqueue.
 */
void ornic_dev_reset_work(struct work_struct *work)
{
	struct ornic_dev *od = container_of(work, struct ornic_dev, reset_work);
	int rc;

	mutex_lock(&od->reset_lock);
	if (test_bit(ORNIC_S_REMOVING, &od->state) || test_bit(ORNIC_S_HELD, &od->state))
		goto out;
	dev_info(ornic_device(od), "reset, reason %u\n", READ_ONCE(od->reset_reason));
	ornic_dev_down(od, READ_ONCE(od->reset_reason));
	rc = ornic_dev_up(od);
	od->resets++;
	if (rc) {
		od->failed_resets++;
		dev_err(ornic_device(od), "reset failed: %d\n", rc);
		if (od->failed_resets == ORNIC_MAX_FAILED_RESETS)
			dev_err(ornic_device(od), "no further attempt\n");
	} else {
		od->failed_resets = 0;
		dev_info(ornic_device(od), "reset done\n");
	}
out:
	mutex_unlock(&od->reset_lock);
}

/* A device that was gone and is there again, or whose reset failed, gets another chance. */
static void ornic_dev_retry(struct ornic_dev *od)
{
	/* Somebody is at it. */
	if (!mutex_trylock(&od->reset_lock))
		return;
	if ((!test_bit(ORNIC_S_UP, &od->state) || !test_bit(ORNIC_S_RUNNING, &od->state)) &&
	    !test_bit(ORNIC_S_HELD, &od->state) && od->failed_resets < ORNIC_MAX_FAILED_RESETS &&
	    !pci_channel_offline(od->core.pdev) && pci_device_is_present(od->core.pdev))
		ornic_dev_queue_reset(od, ORNIC_RESET_FATAL);
	mutex_unlock(&od->reset_lock);
}

/**
 * ornic_dev_watchdog() - look for dead and gone devices and lost interrupts
 * @work: watchdog of the function
 *
 * Context: Workqueue, every two seconds.
 */
void ornic_dev_watchdog(struct work_struct *work)
{
	struct ornic_dev *od = container_of(to_delayed_work(work), struct ornic_dev, watchdog);

	if (test_bit(ORNIC_S_HELD, &od->state)) {
		/* The PCI core or PM owns the function; its registers may not answer. */
	} else if (ornic_dev_check(od)) {
		ornic_eqs_watch(od);
		ornic_net_watch(od);
		ornic_nexthop_watch(od);
	} else {
		ornic_dev_retry(od);
	}
	queue_delayed_work(system_power_efficient_wq, &od->watchdog, ORNIC_WATCHDOG_PERIOD);
}
