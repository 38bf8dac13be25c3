// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* OpenRNIC RDMA driver: attributes and counters of the device and its port. */
#include <linux/etherdevice.h>
#include <rdma/ib_cache.h>

#include "iw_ornic.h"

/**
 * iw_ornic_query_device() - attributes of the device
 * @ibdev: device
 * @attr: attributes
 * @udata: no request, no response
 *
 * Context: Process context, may sleep.
 * Return: 0, errors of iw_ornic_no_input()
 */
int iw_ornic_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
			  struct ib_udata *udata)
{
	struct ornic_core *core = to_iw_ornic_dev(ibdev)->core;
	const struct ornic_limits *limits = &core->limits;
	int ret;

	ret = iw_ornic_no_input(udata);
	if (ret)
		return ret;

	memset(attr, 0, sizeof(*attr));
	attr->fw_ver = ((u64)FIELD_GET(ORNIC_FWVER_MAJOR, limits->fw_version) << 32) |
		       (FIELD_GET(ORNIC_FWVER_MINOR, limits->fw_version) << 16) |
		       FIELD_GET(ORNIC_FWVER_PATCH, limits->fw_version);
	attr->sys_image_guid = ibdev->node_guid;
	attr->vendor_id = core->pdev->vendor;
	attr->vendor_part_id = core->pdev->device;
	attr->hw_ver = core->pdev->revision;
	attr->device_cap_flags = IB_DEVICE_MEM_MGT_EXTENSIONS | IB_DEVICE_PORT_ACTIVE_EVENT;
	attr->kernel_cap_flags = IBK_LOCAL_DMA_LKEY;
	attr->max_mr_size = limits->max_mr_size;
	attr->page_size_cap = limits->page_shift_mask;
	/* Number 0 of each kind is not used. */
	attr->max_qp = limits->max_qp - 1;
	attr->max_cq = limits->max_cq - 1;
	attr->max_mr = limits->max_mr - 1;
	attr->max_pd = limits->max_pd - 1;
	attr->max_qp_wr = 1 << min(limits->max_sq_shift, limits->max_rq_shift);
	attr->max_cqe = (1 << limits->max_cq_shift) - 1;
	attr->max_send_sge = limits->max_sge;
	attr->max_recv_sge = limits->max_sge;
	/* RFC 5040 has one data sink in a Read Request. */
	attr->max_sge_rd = 1;
	attr->max_qp_rd_atom = limits->max_ird;
	attr->max_qp_init_rd_atom = limits->max_ord;
	attr->max_res_rd_atom = min_t(u64, (u64)limits->max_ird * attr->max_qp, INT_MAX);
	attr->atomic_cap = IB_ATOMIC_NONE;
	attr->masked_atomic_cap = IB_ATOMIC_NONE;
	attr->max_fast_reg_page_list_len = limits->max_frmr_pages;

	return 0;
}

/* The nearest speed and width that the verbs can name, not above the link's. */
static void iw_ornic_port_speed(u32 mbps, struct ib_port_attr *attr)
{
	static const struct {
		u32 mbps;
		u16 speed;
		u8 width;
	} rates[] = {
		{ 400000, IB_SPEED_NDR, IB_WIDTH_4X },
		{ 200000, IB_SPEED_HDR, IB_WIDTH_4X },
		{ 100000, IB_SPEED_EDR, IB_WIDTH_4X },
		{ 50000, IB_SPEED_EDR, IB_WIDTH_2X },
		{ 40000, IB_SPEED_QDR, IB_WIDTH_4X },
		{ 25000, IB_SPEED_EDR, IB_WIDTH_1X },
		{ 20000, IB_SPEED_DDR, IB_WIDTH_4X },
		{ 10000, IB_SPEED_QDR, IB_WIDTH_1X },
		{ 0, IB_SPEED_SDR, IB_WIDTH_1X },
	};
	int i = 0;

	while (rates[i].mbps > mbps)
		i++;
	attr->active_speed = rates[i].speed;
	attr->active_width = rates[i].width;
}

/**
 * iw_ornic_query_port() - attributes of the port
 * @ibdev: device
 * @port: 1
 * @attr: attributes; the core has filled in state and MTU from the network device
 *
 * Context: Process context. No lock of the network stack is taken.
 * Return: 0
 */
int iw_ornic_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr)
{
	const struct ornic_limits *limits = &to_iw_ornic_dev(ibdev)->core->limits;

	attr->gid_tbl_len = 1;
	attr->max_msg_sz = IW_ORNIC_MAX_MSG;
	attr->max_vl_num = 1;
	attr->port_cap_flags = IB_PORT_CM_SUP | IB_PORT_DEVICE_MGMT_SUP;
	iw_ornic_port_speed(limits->link_speed, attr);

	return 0;
}

/**
 * iw_ornic_query_gid() - the port's GID: its MAC address, then zeros
 * @ibdev: device
 * @port: 1
 * @index: 0
 * @gid: GID
 *
 * Context: Any.
 * Return: 0, -EINVAL (@index)
 */
int iw_ornic_query_gid(struct ib_device *ibdev, u32 port, int index, union ib_gid *gid)
{
	if (index)
		return -EINVAL;

	memset(gid, 0, sizeof(*gid));
	ether_addr_copy(gid->raw, to_iw_ornic_dev(ibdev)->core->netdev->dev_addr);

	return 0;
}

/**
 * iw_ornic_get_port_immutable() - what never changes about the port
 * @ibdev: device
 * @port: 1
 * @immutable: it
 *
 * Context: Process context.
 * Return: 0
 */
int iw_ornic_get_port_immutable(struct ib_device *ibdev, u32 port,
				struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = 1;
	immutable->core_cap_flags = RDMA_CORE_PORT_IWARP;

	return 0;
}

/**
 * iw_ornic_get_dev_fw_str() - firmware version
 * @ibdev: device
 * @str: text, IB_FW_VERSION_NAME_MAX bytes
 *
 * Context: Any.
 */
void iw_ornic_get_dev_fw_str(struct ib_device *ibdev, char *str)
{
	ornic_firmware_version(to_iw_ornic_dev(ibdev)->core, str, IB_FW_VERSION_NAME_MAX);
}

/**
 * iw_ornic_alloc_hw_port_stats() - room for the port's counters: the device's, then the connection
 *                                  manager's
 * @ibdev: device
 * @port: 1
 *
 * Context: Process context, may sleep.
 * Return: it, NULL without memory
 */
struct rdma_hw_stats *iw_ornic_alloc_hw_port_stats(struct ib_device *ibdev, u32 port)
{
	struct iw_ornic_dev *dev = to_iw_ornic_dev(ibdev);
	int i;

	for (i = 0; i < IW_ORNIC_HW_STATS; i++)
		dev->stat_descs[i].name = ornic_stat_name(IW_ORNIC_FIRST_STAT + i);
	for (i = 0; i < IW_ORNIC_CM_STAT_COUNT; i++)
		dev->stat_descs[IW_ORNIC_HW_STATS + i].name = iw_ornic_cm_stat_names[i];

	return rdma_alloc_hw_stats_struct(dev->stat_descs, ARRAY_SIZE(dev->stat_descs),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/**
 * iw_ornic_get_hw_stats() - read the port's counters
 * @ibdev: device
 * @stats: where to
 * @port: 1; 0 asks for counters of the device, there are none
 * @index: not looked at, all are read
 *
 * Context: Process context, may sleep.
 * Return: number of counters read, or an error of ornic_query_stats()
 */
int iw_ornic_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port,
			  int index)
{
	struct iw_ornic_dev *dev = to_iw_ornic_dev(ibdev);
	int ret, i;

	if (!port)
		return -EOPNOTSUPP;
	ret = ornic_query_stats(dev->core, IW_ORNIC_FIRST_STAT, IW_ORNIC_HW_STATS, stats->value);
	if (ret < 0)
		return ret;
	for (i = 0; i < IW_ORNIC_CM_STAT_COUNT; i++)
		stats->value[IW_ORNIC_HW_STATS + i] = iw_ornic_cm_stat(dev, i);

	return stats->num_counters;
}
