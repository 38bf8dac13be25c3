// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * OpenRNIC core driver: the RDMA driver's side: auxiliary device, its events, doorbell pages and
 * small queries.
 *
 * Events are delivered under SRCU, so that ornic_rdma_unregister() waits for those that run.
 */

#include <linux/auxiliary_bus.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "core.h"

static DEFINE_IDA(ornic_adev_ida);

/**
 * ornic_rdma_init() - what the functions of this file need
 * @od: the function, with its registers mapped
 *
 * Context: Process context, may sleep.
 * Return: 0 or a negative errno
 */
int ornic_rdma_init(struct ornic_dev *od)
{
	mutex_init(&od->client_lock);
	ida_init(&od->db_pages);
	od->adev_id = -1;
	return init_srcu_struct(&od->client_srcu);
}

/**
 * ornic_rdma_exit() - undo ornic_rdma_init()
 * @od: the function, without auxiliary device
 *
 * Context: Process context.
 */
void ornic_rdma_exit(struct ornic_dev *od)
{
	cleanup_srcu_struct(&od->client_srcu);
	ida_destroy(&od->db_pages);
	if (od->adev_id >= 0)
		ida_free(&ornic_adev_ida, od->adev_id);
	od->adev_id = -1;
}

static void ornic_adev_release(struct device *dev)
{
	kfree(container_of(to_auxiliary_dev(dev), struct ornic_adev, adev));
}

/**
 * ornic_adev_add() - create the auxiliary device that the RDMA driver binds to
 * @od: the function, up
 *
 * The device keeps its number over resets.
 *
 * Context: Process context, sleeps: the RDMA driver's probe may run inside.
 * Return: 0 or a negative errno
 */
int ornic_adev_add(struct ornic_dev *od)
{
	struct ornic_adev *oadev;
	int rc;

	if (od->adev_id < 0) {
		rc = ida_alloc(&ornic_adev_ida, GFP_KERNEL);
		if (rc < 0)
			return rc;
		od->adev_id = rc;
	}
	oadev = kzalloc(sizeof(*oadev), GFP_KERNEL);
	if (!oadev)
		return -ENOMEM;
	oadev->core = &od->core;
	oadev->adev.name = "rdma";
	oadev->adev.id = od->adev_id;
	oadev->adev.dev.parent = ornic_device(od);
	oadev->adev.dev.release = ornic_adev_release;
	rc = auxiliary_device_init(&oadev->adev);
	if (rc) {
		kfree(oadev);
		return rc;
	}
	rc = auxiliary_device_add(&oadev->adev);
	if (rc) {
		auxiliary_device_uninit(&oadev->adev);
		return rc;
	}
	od->adev = oadev;
	return 0;
}

/**
 * ornic_adev_remove() - remove the auxiliary device; the RDMA driver's remove runs inside
 * @od: the function; one without auxiliary device is left alone
 *
 * Context: Process context, sleeps. Must not be called from an event.
 */
void ornic_adev_remove(struct ornic_dev *od)
{
	struct ornic_adev *oadev = od->adev;

	if (!oadev)
		return;
	od->adev = NULL;
	auxiliary_device_delete(&oadev->adev);
	auxiliary_device_uninit(&oadev->adev);
}

/**
 * ornic_rdma_register() - the RDMA driver wants events
 * @core: the function
 * @ops: functions, all set, valid until ornic_rdma_unregister()
 * @ctx: their argument
 *
 * Context: Process context, may sleep.
 * Return: 0, -EBUSY when a driver is registered already, -ENOMEM
 */
int ornic_rdma_register(struct ornic_core *core, const struct ornic_rdma_ops *ops, void *ctx)
{
	struct ornic_dev *od = ornic_dev_of(core);
	struct ornic_rdma_client *client;
	int rc = 0;

	client = kzalloc(sizeof(*client), GFP_KERNEL);
	if (!client)
		return -ENOMEM;
	client->ops = ops;
	client->ctx = ctx;
	mutex_lock(&od->client_lock);
	if (rcu_access_pointer(od->client))
		rc = -EBUSY;
	else
		rcu_assign_pointer(od->client, client);
	mutex_unlock(&od->client_lock);
	if (rc)
		kfree(client);
	return rc;
}
EXPORT_SYMBOL_GPL(ornic_rdma_register);

/**
 * ornic_rdma_unregister() - no event runs any more when it returns, and none will
 * @core: the function; without a registered driver nothing happens
 *
 * Context: Process context, sleeps. Must not be called from an event.
 */
void ornic_rdma_unregister(struct ornic_core *core)
{
	struct ornic_dev *od = ornic_dev_of(core);
	struct ornic_rdma_client *client;

	mutex_lock(&od->client_lock);
	client = rcu_dereference_protected(od->client, lockdep_is_held(&od->client_lock));
	RCU_INIT_POINTER(od->client, NULL);
	mutex_unlock(&od->client_lock);
	if (!client)
		return;
	synchronize_srcu(&od->client_srcu);
	/*
	 * An event function that frees its own connection is waited for by nobody, and it is the
	 * RDMA driver's code, which may be unloaded after this.
	 */
	flush_work(&od->teq.work);
	kfree(client);
}
EXPORT_SYMBOL_GPL(ornic_rdma_unregister);

/**
 * ornic_rdma_comp_event() - tell the RDMA driver of a completion event
 * @od: the function
 * @cqn: as the device gave it; the RDMA driver checks it
 *
 * Context: Any context.
 */
void ornic_rdma_comp_event(struct ornic_dev *od, u32 cqn)
{
	struct ornic_rdma_client *client;
	int idx = srcu_read_lock(&od->client_srcu);

	client = srcu_dereference(od->client, &od->client_srcu);
	if (client)
		client->ops->comp_event(client->ctx, cqn);
	srcu_read_unlock(&od->client_srcu, idx);
}

/**
 * ornic_rdma_async_event() - tell the RDMA driver of an asynchronous event
 * @od: the function
 * @aeqe: the entry; numbers in it are as the device gave them
 *
 * Context: Process context.
 */
void ornic_rdma_async_event(struct ornic_dev *od, const struct ornic_aeqe *aeqe)
{
	struct ornic_rdma_client *client;
	int idx = srcu_read_lock(&od->client_srcu);

	client = srcu_dereference(od->client, &od->client_srcu);
	if (client)
		client->ops->async_event(client->ctx, aeqe);
	srcu_read_unlock(&od->client_srcu, idx);
}

/**
 * ornic_rdma_link_event() - tell the RDMA driver of a link change
 * @od: the function
 * @up: link state
 *
 * Context: Process context.
 */
void ornic_rdma_link_event(struct ornic_dev *od, bool up)
{
	struct ornic_rdma_client *client;
	int idx = srcu_read_lock(&od->client_srcu);

	client = srcu_dereference(od->client, &od->client_srcu);
	if (client)
		client->ops->link_event(client->ctx, up);
	srcu_read_unlock(&od->client_srcu, idx);
}

/**
 * ornic_rdma_addr_event() - tell the RDMA driver that the netdev has another MAC
 * @od: the function
 *
 * Context: Process context, RTNL held.
 */
void ornic_rdma_addr_event(struct ornic_dev *od)
{
	struct ornic_rdma_client *client;
	int idx = srcu_read_lock(&od->client_srcu);

	client = srcu_dereference(od->client, &od->client_srcu);
	if (client)
		client->ops->addr_event(client->ctx);
	srcu_read_unlock(&od->client_srcu, idx);
}

/**
 * ornic_rdma_fatal() - tell the RDMA driver, once, that the device is of no use any more
 * @od: the function; the device is quiet
 *
 * Context: Process context, sleeps.
 */
void ornic_rdma_fatal(struct ornic_dev *od)
{
	struct ornic_rdma_client *client;

	/* A second caller returns when the driver has been told, and may remove it then. */
	mutex_lock(&od->client_lock);
	client = rcu_dereference_protected(od->client, lockdep_is_held(&od->client_lock));
	if (client && !client->fatal_told) {
		client->fatal_told = true;
		client->ops->fatal(client->ctx);
	}
	mutex_unlock(&od->client_lock);
}

/**
 * ornic_db_page_alloc() - take a doorbell page for a user context
 * @core: the function
 * @page: its number, 1 or more
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOSPC when all are taken, -ENOMEM
 */
int ornic_db_page_alloc(struct ornic_core *core, u32 *page)
{
	struct ornic_dev *od = ornic_dev_of(core);
	int n;

	if (!od->max_db_page)
		return -ENOSPC;
	n = ida_alloc_range(&od->db_pages, 1, od->max_db_page, GFP_KERNEL);
	if (n < 0)
		return n;
	*page = n;
	return 0;
}
EXPORT_SYMBOL_GPL(ornic_db_page_alloc);

/**
 * ornic_db_page_free() - give a doorbell page back
 * @core: the function
 * @page: of ornic_db_page_alloc(); no object in the device names it any more
 *
 * Context: Any context.
 */
void ornic_db_page_free(struct ornic_core *core, u32 page)
{
	ida_free(&ornic_dev_of(core)->db_pages, page);
}
EXPORT_SYMBOL_GPL(ornic_db_page_free);

/**
 * ornic_query_stats() - read counters of the device
 * @core: the function
 * @first: first counter, enum ornic_stat
 * @count: number of counters, 1..4096
 * @values: filled on success
 *
 * Context: Process context, sleeps.
 * Return: 0, -EINVAL, or as ornic_cmd_exec()
 */
int ornic_query_stats(struct ornic_core *core, u32 first, u32 count, u64 *values)
{
	struct ornic_cmd_query_stats cmd = {
		.hdr.opcode = cpu_to_le16(ORNIC_CMD_QUERY_STATS),
		.first = cpu_to_le32(first),
		.count = cpu_to_le32(count),
	};
	__le64 *raw;
	u32 i;
	int rc;

	if (!count || count > 4096)
		return -EINVAL;
	raw = kcalloc(count, sizeof(*raw), GFP_KERNEL);
	if (!raw)
		return -ENOMEM;
	rc = ornic_cmd_exec_buf(ornic_dev_of(core), &cmd, raw, count * sizeof(*raw),
				DMA_FROM_DEVICE, NULL);
	for (i = 0; !rc && i < count; i++)
		WRITE_ONCE(values[i], le64_to_cpu(raw[i]));
	kfree(raw);
	return rc;
}
EXPORT_SYMBOL_GPL(ornic_query_stats);

/**
 * ornic_firmware_version() - version of the device's implementation as text
 * @core: the function
 * @buf: filled, "major.minor.patch"
 * @len: bytes in @buf
 *
 * Context: Any context.
 * Return: number of characters
 */
int ornic_firmware_version(struct ornic_core *core, char *buf, size_t len)
{
	u32 v = core->limits.fw_version;

	return scnprintf(buf, len, "%lu.%lu.%lu", FIELD_GET(ORNIC_FWVER_MAJOR, v),
			 FIELD_GET(ORNIC_FWVER_MINOR, v), FIELD_GET(ORNIC_FWVER_PATCH, v));
}
EXPORT_SYMBOL_GPL(ornic_firmware_version);

/**
 * ornic_get_policy() - copy of what the administrator chose
 * @core: the function
 * @policy: filled
 *
 * Context: Process context, may sleep.
 */
void ornic_get_policy(struct ornic_core *core, struct ornic_policy *policy)
{
	struct ornic_dev *od = ornic_dev_of(core);

	mutex_lock(&od->policy_lock);
	*policy = od->policy;
	mutex_unlock(&od->policy_lock);
}
EXPORT_SYMBOL_GPL(ornic_get_policy);
