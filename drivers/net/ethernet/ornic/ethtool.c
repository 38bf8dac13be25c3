// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* OpenRNIC core driver: ethtool. */

#include <linux/ethtool.h>
#include <linux/pci.h>
#include <linux/ornic_compat.h>

#include "net.h"

static const char * const ornic_drv_stat_names[] = {
	"drv_cmd_lost_irqs",
	"drv_resets",
};

static const char * const ornic_queue_stat_names[] = {
	"tx_packets", "tx_bytes", "tx_dropped", "rx_packets",
	"rx_bytes", "rx_dropped", "rx_errors", "lost_irqs",
};

static void ornic_get_drvinfo(struct net_device *netdev, struct ethtool_drvinfo *info)
{
	struct ornic_net *net = netdev_priv(netdev);

	strscpy(info->driver, ORNIC_DRV_NAME, sizeof(info->driver));
	strscpy(info->bus_info, pci_name(net->od->core.pdev), sizeof(info->bus_info));
	ornic_firmware_version(&net->od->core, info->fw_version, sizeof(info->fw_version));
}

static int ornic_get_sset_count(struct net_device *netdev, int sset)
{
	struct ornic_net *net = netdev_priv(netdev);

	if (sset != ETH_SS_STATS)
		return -EOPNOTSUPP;
	return ORNIC_STAT_COUNT + ARRAY_SIZE(ornic_drv_stat_names) +
	       net->num_queues * ARRAY_SIZE(ornic_queue_stat_names);
}

static void ornic_get_strings(struct net_device *netdev, u32 sset, u8 *data)
{
	struct ornic_net *net = netdev_priv(netdev);
	u32 i, q;

	if (sset != ETH_SS_STATS)
		return;
	for (i = 0; i < ORNIC_STAT_COUNT; i++)
		ornic_ethtool_puts(&data, ornic_stat_name(i));
	for (i = 0; i < ARRAY_SIZE(ornic_drv_stat_names); i++)
		ornic_ethtool_puts(&data, ornic_drv_stat_names[i]);
	for (q = 0; q < net->num_queues; q++)
		for (i = 0; i < ARRAY_SIZE(ornic_queue_stat_names); i++)
			ethtool_sprintf(&data, "q%u_%s", q, ornic_queue_stat_names[i]);
}

static u64 *ornic_queue_values(struct ornic_queue *q, u64 *data)
{
	*data++ = u64_stats_read(&q->stats.tx_packets);
	*data++ = u64_stats_read(&q->stats.tx_bytes);
	*data++ = u64_stats_read(&q->stats.tx_dropped);
	*data++ = u64_stats_read(&q->stats.rx_packets);
	*data++ = u64_stats_read(&q->stats.rx_bytes);
	*data++ = u64_stats_read(&q->stats.rx_dropped);
	*data++ = u64_stats_read(&q->stats.rx_errors);
	*data++ = u64_stats_read(&q->stats.lost_irqs);
	return data;
}

static void ornic_get_ethtool_stats(struct net_device *netdev, struct ethtool_stats *stats,
				    u64 *data)
{
	struct ornic_net *net = netdev_priv(netdev);
	u32 i;

	/* A device that does not answer counts nothing. */
	if (ornic_query_stats(&net->od->core, 0, ORNIC_STAT_COUNT, data))
		memset(data, 0, ORNIC_STAT_COUNT * sizeof(*data));
	data += ORNIC_STAT_COUNT;
	*data++ = READ_ONCE(net->od->cmdq.missed_irqs);
	*data++ = READ_ONCE(net->od->resets);
	for (i = 0; i < net->num_queues; i++)
		data = ornic_queue_values(&net->queue[i], data);
}

static void ornic_get_ringparam(struct net_device *netdev, struct ethtool_ringparam *ring,
				struct kernel_ethtool_ringparam *kernel_ring,
				struct netlink_ext_ack *extack)
{
	struct ornic_net *net = netdev_priv(netdev);

	ring->rx_max_pending = BIT(net->od->attr.max_eth_shift);
	ring->tx_max_pending = BIT(net->od->attr.max_eth_shift);
	ring->rx_pending = BIT(net->rx_shift);
	ring->tx_pending = BIT(net->tx_shift);
}

/* Depths are powers of two; the next one up is taken. */
static int ornic_ring_shift(struct ornic_net *net, u32 pending, u8 *shift,
			    struct netlink_ext_ack *extack)
{
	u8 max = net->od->attr.max_eth_shift;
	u8 min = ORNIC_ETH_MIN_SHIFT;

	if (pending < BIT(min) || pending > BIT(max)) {
		NL_SET_ERR_MSG(extack, "From 128 to the greatest depth of the device");
		return -EINVAL;
	}
	*shift = order_base_2(pending);
	return 0;
}

static int ornic_set_ringparam(struct net_device *netdev, struct ethtool_ringparam *ring,
			       struct kernel_ethtool_ringparam *kernel_ring,
			       struct netlink_ext_ack *extack)
{
	struct ornic_net *net = netdev_priv(netdev);
	u8 tx_was = net->tx_shift, rx_was = net->rx_shift;
	bool started = net->started;
	u8 tx, rx;
	int rc;

	if (ring->rx_mini_pending || ring->rx_jumbo_pending)
		return -EINVAL;
	rc = ornic_ring_shift(net, ring->tx_pending, &tx, extack);
	if (!rc)
		rc = ornic_ring_shift(net, ring->rx_pending, &rx, extack);
	if (rc)
		return rc;
	if (tx == tx_was && rx == rx_was)
		return 0;

	ornic_net_stop(net);
	net->tx_shift = tx;
	net->rx_shift = rx;
	if (!started)
		return 0;
	rc = ornic_net_start(net);
	if (!rc)
		return 0;
	net->tx_shift = tx_was;
	net->rx_shift = rx_was;
	if (ornic_net_start(net))
		netdev_err(netdev, "port is closed: rings cannot be had back\n");
	return rc;
}

static void ornic_get_channels(struct net_device *netdev, struct ethtool_channels *ch)
{
	struct ornic_net *net = netdev_priv(netdev);

	ch->max_combined = net->num_queues;
	ch->combined_count = net->num_queues;
}

static int ornic_get_link_ksettings(struct net_device *netdev, struct ethtool_link_ksettings *ks)
{
	struct ornic_net *net = netdev_priv(netdev);

	ethtool_link_ksettings_zero_link_mode(ks, supported);
	ethtool_link_ksettings_zero_link_mode(ks, advertising);
	ks->base.port = PORT_OTHER;
	ks->base.autoneg = AUTONEG_DISABLE;
	ks->base.speed = SPEED_UNKNOWN;
	ks->base.duplex = DUPLEX_UNKNOWN;
	if (netif_carrier_ok(netdev)) {
		ks->base.speed = net->od->core.limits.link_speed;
		ks->base.duplex = DUPLEX_FULL;
	}
	return 0;
}

static int ornic_ethtool_reset(struct net_device *netdev, u32 *flags)
{
	struct ornic_net *net = netdev_priv(netdev);

	if (*flags != ETH_RESET_ALL && *flags != ETH_RESET_DEDICATED)
		return -EOPNOTSUPP;
	ornic_request_reset(&net->od->core, ORNIC_RESET_USER);
	*flags = 0;
	return 0;
}

const struct ethtool_ops ornic_ethtool_ops = {
	.get_drvinfo		= ornic_get_drvinfo,
	.get_link		= ethtool_op_get_link,
	.get_ts_info		= ethtool_op_get_ts_info,
	.get_sset_count		= ornic_get_sset_count,
	.get_strings		= ornic_get_strings,
	.get_ethtool_stats	= ornic_get_ethtool_stats,
	.get_ringparam		= ornic_get_ringparam,
	.set_ringparam		= ornic_set_ringparam,
	.get_channels		= ornic_get_channels,
	.get_link_ksettings	= ornic_get_link_ksettings,
	.reset			= ornic_ethtool_reset,
};
