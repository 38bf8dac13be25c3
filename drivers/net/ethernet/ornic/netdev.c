// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* OpenRNIC core driver: network device of the Ethernet port. */

#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/pci.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/ornic_compat.h>

#include "net.h"

#define ORNIC_TX_TIMEOUT	(10 * HZ)
#define ORNIC_FILTER_ENTRY	8	/* bytes of an address in SET_RX_MODE's buffer */

static int ornic_net_set_port(struct ornic_net *net, bool up, u32 mtu)
{
	struct ornic_cmd_set_port cmd = {
		.hdr.opcode = cpu_to_le16(ORNIC_CMD_SET_PORT),
		.up = cpu_to_le32(up),
		.mtu = cpu_to_le32(mtu),
	};

	return ornic_cmd_exec(&net->od->core, &cmd, NULL);
}

static int ornic_net_set_mac(struct ornic_net *net, const u8 *mac)
{
	struct ornic_cmd_set_mac cmd = { .hdr.opcode = cpu_to_le16(ORNIC_CMD_SET_MAC) };

	ether_addr_copy(cmd.mac, mac);
	return ornic_cmd_exec(&net->od->core, &cmd, NULL);
}

/* --- receive filter ------------------------------------------------------------------------- */

/* Copy the address lists; returns their number, or -E2BIG when they do not fit. */
static int ornic_net_copy_filter(struct net_device *netdev, u8 *list, u32 room)
{
	struct netdev_hw_addr *ha;
	u32 n = 0;

	if (netdev_uc_count(netdev) + netdev_mc_count(netdev) > room)
		return -E2BIG;
	netdev_for_each_uc_addr(ha, netdev)
		ether_addr_copy(list + ORNIC_FILTER_ENTRY * n++, ha->addr);
	netdev_for_each_mc_addr(ha, netdev)
		ether_addr_copy(list + ORNIC_FILTER_ENTRY * n++, ha->addr);
	return n;
}

static void ornic_net_apply_rx_mode(struct ornic_net *net)
{
	u32 room = min_t(u32, le32_to_cpu(net->od->attr.max_mc), 4096);
	struct ornic_cmd_set_rx_mode cmd = { .hdr.opcode = cpu_to_le16(ORNIC_CMD_SET_RX_MODE) };
	struct net_device *netdev = net->netdev;
	u32 mode = ORNIC_RXM_BROADCAST;
	int n = -E2BIG, rc;
	u8 *list;

	list = kcalloc(room + 1, ORNIC_FILTER_ENTRY, GFP_KERNEL);
	netif_addr_lock_bh(netdev);
	if (list)
		n = ornic_net_copy_filter(netdev, list, room);
	if (netdev->flags & IFF_PROMISC)
		mode |= ORNIC_RXM_PROMISC;
	if (netdev->flags & IFF_ALLMULTI)
		mode |= ORNIC_RXM_ALLMULTI;
	/* A filter that is too small must let more through, never less. */
	if (n < 0) {
		mode |= netdev_uc_count(netdev) ? ORNIC_RXM_PROMISC : ORNIC_RXM_ALLMULTI;
		n = 0;
	}
	netif_addr_unlock_bh(netdev);

	cmd.mode = cpu_to_le32(mode);
	cmd.count = cpu_to_le32(n);
	rc = ornic_cmd_exec_buf(net->od, &cmd, list, n * ORNIC_FILTER_ENTRY, DMA_TO_DEVICE, NULL);
	if (rc)
		netdev_warn(netdev, "receive filter: %d\n", rc);
	kfree(list);
}

static void ornic_net_rx_mode_work(struct work_struct *work)
{
	struct ornic_net *net = container_of(work, struct ornic_net, rx_mode_work);

	if (ornic_alive(&net->od->core))
		ornic_net_apply_rx_mode(net);
}

/* Called with the address lock held and bottom halves off, while a command sleeps. */
static void ornic_set_rx_mode(struct net_device *netdev)
{
	struct ornic_net *net = netdev_priv(netdev);

	queue_work(system_wq, &net->rx_mode_work);
}

/* --- start and stop ------------------------------------------------------------------------- */

/**
 * ornic_net_link() - take over the device's link state
 * @od: the function
 *
 * Context: Process context.
 */
void ornic_net_link(struct ornic_dev *od)
{
	struct net_device *netdev = od->core.netdev;
	u32 status = ornic_read(od, ORNIC_REG_STATUS);
	bool up = status != ORNIC_ALL_ONES && (status & ORNIC_STATUS_LINK);

	if (up == netif_carrier_ok(netdev))
		return;
	if (up)
		netif_carrier_on(netdev);
	else
		netif_carrier_off(netdev);
	netdev_info(netdev, "link %s\n", up ? "up" : "down");
}

static void ornic_net_free_queues(struct ornic_net *net)
{
	u32 i;

	for (i = 0; i < net->num_queues; i++)
		ornic_queue_free(&net->queue[i]);
}

static int ornic_net_alloc_queues(struct ornic_net *net)
{
	u32 i;
	int rc;

	for (i = 0; i < net->num_queues; i++) {
		rc = ornic_queue_alloc(&net->queue[i]);
		if (rc) {
			ornic_net_free_queues(net);
			return rc;
		}
	}
	return 0;
}

/* Spread received flows over the rings; a device without RSS has one ring. */
static int ornic_net_set_rss(struct ornic_net *net)
{
	struct ornic_cmd_set_rss cmd = { .hdr.opcode = cpu_to_le16(ORNIC_CMD_SET_RSS) };
	u8 table[128];
	u32 i;

	if (!(net->od->core.limits.caps & ORNIC_CAP_RSS))
		return 0;
	for (i = 0; i < ARRAY_SIZE(table); i++)
		table[i] = i % net->num_queues;
	cmd.entries = cpu_to_le32(ARRAY_SIZE(table));
	netdev_rss_key_fill(cmd.key, sizeof(cmd.key));
	return ornic_cmd_exec_buf(net->od, &cmd, table, sizeof(table), DMA_TO_DEVICE, NULL);
}

static int ornic_net_create_queues(struct ornic_net *net)
{
	u32 i;
	int rc = 0;

	for (i = 0; i < net->num_queues; i++) {
		rc = ornic_queue_create(&net->queue[i]);
		if (rc)
			break;
	}
	if (!rc)
		rc = ornic_net_set_rss(net);
	if (!rc)
		return 0;
	while (i--)
		ornic_queue_destroy(&net->queue[i]);
	return rc;
}

static void ornic_net_destroy_queues(struct ornic_net *net)
{
	u32 i;

	for (i = 0; i < net->num_queues; i++)
		ornic_queue_destroy(&net->queue[i]);
}

/**
 * ornic_net_start() - create the rings, open the port
 * @net: the port
 *
 * Context: Process context, sleeps. RTNL is held.
 * Return: 0 or a negative errno; then nothing is left
 */
int ornic_net_start(struct ornic_net *net)
{
	u32 i;
	int rc;

	ASSERT_RTNL();
	rc = ornic_net_alloc_queues(net);
	if (rc)
		return rc;
	rc = ornic_net_create_queues(net);
	if (rc)
		goto free;
	ornic_net_apply_rx_mode(net);
	rc = ornic_net_set_port(net, true, net->netdev->mtu);
	if (rc)
		goto destroy;

	net->started = true;
	for (i = 0; i < net->num_queues; i++) {
		napi_enable(&net->queue[i].napi);
		ornic_queue_kick(&net->queue[i]);
	}
	netif_tx_start_all_queues(net->netdev);
	ornic_net_link(net->od);
	return 0;

destroy:
	ornic_net_destroy_queues(net);
free:
	ornic_net_free_queues(net);
	return rc;
}

/**
 * ornic_net_stop() - close the port, remove the rings
 * @net: the port; one that is not started is left alone
 *
 * Context: Process context, sleeps. RTNL is held.
 */
void ornic_net_stop(struct ornic_net *net)
{
	u32 i;

	ASSERT_RTNL();
	if (!net->started)
		return;
	net->started = false;
	/* Without carrier the transmit watchdog keeps away from the rings. */
	netif_carrier_off(net->netdev);
	/* A poll may wake the queues: it ends first, so that they stay stopped. */
	for (i = 0; i < net->num_queues; i++)
		napi_disable(&net->queue[i].napi);
	netif_tx_disable(net->netdev);
	ornic_net_set_port(net, false, net->netdev->mtu);
	ornic_net_destroy_queues(net);
	ornic_net_free_queues(net);
}

static int ornic_open(struct net_device *netdev)
{
	struct ornic_net *net = netdev_priv(netdev);

	if (!ornic_alive(&net->od->core))
		return -ENODEV;
	return ornic_net_start(net);
}

static int ornic_stop(struct net_device *netdev)
{
	ornic_net_stop(netdev_priv(netdev));
	return 0;
}

/* --- other operations ----------------------------------------------------------------------- */

static int ornic_set_mac_address(struct net_device *netdev, void *p)
{
	struct ornic_net *net = netdev_priv(netdev);
	struct sockaddr *addr = p;
	int rc;

	if (!is_valid_ether_addr(addr->sa_data))
		return -EADDRNOTAVAIL;
	rc = ornic_net_set_mac(net, addr->sa_data);
	if (rc)
		return rc;
	eth_hw_addr_set(netdev, addr->sa_data);
	return 0;
}

/* Receive buffers are pages and a frame takes as many as it needs, so the rings stay. */
static int ornic_change_mtu(struct net_device *netdev, int mtu)
{
	struct ornic_net *net = netdev_priv(netdev);
	int rc;

	if (net->started) {
		rc = ornic_net_set_port(net, true, mtu);
		if (rc)
			return rc;
	}
	WRITE_ONCE(netdev->mtu, mtu);
	return 0;
}

static netdev_features_t ornic_features_check(struct sk_buff *skb, struct net_device *netdev,
					      netdev_features_t features)
{
	/* A descriptor's length has 16 bits; the stack segments what is longer. */
	if (skb->len > U16_MAX)
		features &= ~NETIF_F_GSO_MASK;
	return vlan_features_check(skb, features);
}

static void ornic_tx_timeout(struct net_device *netdev, unsigned int txqueue)
{
	struct ornic_net *net = netdev_priv(netdev);
	struct ornic_txq *tx = &net->queue[txqueue].tx;

	netdev_err(netdev, "transmit ring %u: pi %u, rung %u, ci %u, device at %u\n", txqueue,
		   tx->pi, tx->rung, tx->ci, le32_to_cpu(READ_ONCE(tx->rec->dev_ci)));
	if (le32_to_cpu(READ_ONCE(tx->rec->dev_ci)) != READ_ONCE(tx->ci))
		napi_schedule(&net->queue[txqueue].napi);
	else
		ornic_request_reset(&net->od->core, ORNIC_RESET_CMD_TIMEOUT);
}

static void ornic_queue_stats_add(struct ornic_queue *q, struct rtnl_link_stats64 *s)
{
	u64 tx_packets, tx_bytes, tx_dropped, rx_packets, rx_bytes, rx_dropped, rx_errors;
	unsigned int start;

	do {
		start = u64_stats_fetch_begin(&q->tx_sync);
		tx_packets = u64_stats_read(&q->stats.tx_packets);
		tx_bytes = u64_stats_read(&q->stats.tx_bytes);
		tx_dropped = u64_stats_read(&q->stats.tx_dropped);
	} while (u64_stats_fetch_retry(&q->tx_sync, start));
	do {
		start = u64_stats_fetch_begin(&q->rx_sync);
		rx_packets = u64_stats_read(&q->stats.rx_packets);
		rx_bytes = u64_stats_read(&q->stats.rx_bytes);
		rx_dropped = u64_stats_read(&q->stats.rx_dropped);
		rx_errors = u64_stats_read(&q->stats.rx_errors);
	} while (u64_stats_fetch_retry(&q->rx_sync, start));

	s->tx_packets += tx_packets;
	s->tx_bytes += tx_bytes;
	s->tx_dropped += tx_dropped;
	s->rx_packets += rx_packets;
	s->rx_bytes += rx_bytes;
	s->rx_dropped += rx_dropped;
	s->rx_errors += rx_errors;
}

/* Must not sleep: the device's counters are those of the watchdog's last look. */
static void ornic_get_stats64(struct net_device *netdev, struct rtnl_link_stats64 *s)
{
	struct ornic_net *net = netdev_priv(netdev);
	u32 i;

	for (i = 0; i < net->num_queues; i++)
		ornic_queue_stats_add(&net->queue[i], s);
	s->rx_missed_errors = READ_ONCE(net->hw[ORNIC_STAT_ETH_RX_NO_BUFFER]);
	s->rx_length_errors = READ_ONCE(net->hw[ORNIC_STAT_ETH_RX_TOO_LONG]);
	s->rx_errors += s->rx_length_errors + READ_ONCE(net->hw[ORNIC_STAT_ETH_RX_BAD]);
	s->tx_errors = READ_ONCE(net->hw[ORNIC_STAT_ETH_TX_BAD]);
	s->tx_dropped += READ_ONCE(net->hw[ORNIC_STAT_ETH_TX_DROP]);
}

static const struct net_device_ops ornic_netdev_ops = {
	.ndo_open		= ornic_open,
	.ndo_stop		= ornic_stop,
	.ndo_start_xmit		= ornic_xmit,
	.ndo_set_rx_mode	= ornic_set_rx_mode,
	.ndo_set_mac_address	= ornic_set_mac_address,
	.ndo_validate_addr	= eth_validate_addr,
	.ndo_change_mtu		= ornic_change_mtu,
	.ndo_features_check	= ornic_features_check,
	.ndo_tx_timeout		= ornic_tx_timeout,
	.ndo_get_stats64	= ornic_get_stats64,
};

/* --- life of the network device ------------------------------------------------------------- */

static void ornic_net_features(struct net_device *netdev, u64 caps)
{
	netdev_features_t f = NETIF_F_HIGHDMA;

	if (caps & ORNIC_CAP_TX_CSUM)
		f |= NETIF_F_SG | NETIF_F_HW_CSUM;
	if ((caps & ORNIC_CAP_TX_CSUM) && (caps & ORNIC_CAP_TSO))
		f |= NETIF_F_TSO | NETIF_F_TSO6 | NETIF_F_TSO_ECN;
	if (caps & ORNIC_CAP_RX_CSUM)
		f |= NETIF_F_RXCSUM;
	netdev->vlan_features = f;
	if (caps & ORNIC_CAP_VLAN)
		f |= NETIF_F_HW_VLAN_CTAG_TX;
	if (caps & ORNIC_CAP_RSS)
		f |= NETIF_F_RXHASH;
	netdev->hw_features = f & ~NETIF_F_HIGHDMA;
	/* Tags are always stripped. */
	if (caps & ORNIC_CAP_VLAN)
		f |= NETIF_F_HW_VLAN_CTAG_RX;
	netdev->features = f;
	netdev->priv_flags |= IFF_UNICAST_FLT;
}

static void ornic_net_permanent_mac(struct ornic_dev *od, struct net_device *netdev)
{
	u32 lo = ornic_read(od, ORNIC_REG_MAC_LO);
	u32 hi = ornic_read(od, ORNIC_REG_MAC_HI);
	u8 mac[ETH_ALEN] = { lo, lo >> 8, lo >> 16, lo >> 24, hi, hi >> 8 };

	if (is_valid_ether_addr(mac)) {
		eth_hw_addr_set(netdev, mac);
		return;
	}
	dev_warn(ornic_device(od), "device has no valid MAC, using a random one\n");
	eth_hw_addr_random(netdev);
}

/**
 * ornic_net_alloc() - make the network device, not yet visible
 * @od: the function, its device queried
 *
 * Context: Process context, may sleep.
 * Return: 0 or -ENOMEM
 */
int ornic_net_alloc(struct ornic_dev *od)
{
	u8 max_shift = od->attr.max_eth_shift;
	struct net_device *netdev;
	struct ornic_net *net;
	u32 i;

	netdev = alloc_etherdev_mqs(sizeof(*net), od->num_eth, od->num_eth);
	if (!netdev)
		return -ENOMEM;
	SET_NETDEV_DEV(netdev, ornic_device(od));
	net = netdev_priv(netdev);
	net->od = od;
	net->netdev = netdev;
	net->num_queues = od->num_eth;
	net->tx_shift = min_t(u8, ORNIC_ETH_DEFAULT_SHIFT, max_shift);
	net->rx_shift = net->tx_shift;
	INIT_WORK(&net->rx_mode_work, ornic_net_rx_mode_work);
	for (i = 0; i < net->num_queues; i++) {
		net->queue[i].net = net;
		net->queue[i].index = i;
		u64_stats_init(&net->queue[i].tx_sync);
		u64_stats_init(&net->queue[i].rx_sync);
		netif_napi_add(netdev, &net->queue[i].napi, ornic_queue_poll);
	}

	netdev->netdev_ops = &ornic_netdev_ops;
	netdev->ethtool_ops = &ornic_ethtool_ops;
	netdev->watchdog_timeo = ORNIC_TX_TIMEOUT;
	netdev->min_mtu = ETH_MIN_MTU;
	netdev->max_mtu = od->core.limits.max_mtu;
	ornic_net_features(netdev, od->core.limits.caps);
	netif_set_tso_max_size(netdev, U16_MAX);
	ornic_net_permanent_mac(od, netdev);
	netif_carrier_off(netdev);
	od->net = net;
	od->core.netdev = netdev;
	return 0;
}

/**
 * ornic_net_register() - make the network device visible
 * @od: the function with its event queues
 *
 * Context: Process context, takes RTNL.
 * Return: 0 or as register_netdev()
 */
int ornic_net_register(struct ornic_dev *od)
{
	int rc = register_netdev(od->core.netdev);

	od->net->registered = !rc;
	return rc;
}

/**
 * ornic_net_unregister() - close and remove the network device
 * @od: the function; one whose network device is not registered is left alone
 *
 * Context: Process context, takes RTNL.
 */
void ornic_net_unregister(struct ornic_dev *od)
{
	if (!od->net || !od->net->registered)
		return;
	unregister_netdev(od->core.netdev);
	od->net->registered = false;
	cancel_work_sync(&od->net->rx_mode_work);
}

/**
 * ornic_net_free() - free the network device
 * @od: the function; no interrupt uses it any more
 *
 * Context: Process context.
 */
void ornic_net_free(struct ornic_dev *od)
{
	if (od->net)
		free_netdev(od->core.netdev);
	od->net = NULL;
}

/**
 * ornic_net_down() - the device is quiet: take the rings away, keep the network device
 * @od: the function
 *
 * Context: Process context, takes RTNL.
 */
void ornic_net_down(struct ornic_dev *od)
{
	if (!od->net || !od->net->registered)
		return;
	rtnl_lock();
	netif_device_detach(od->core.netdev);
	ornic_net_stop(od->net);
	rtnl_unlock();
	cancel_work_sync(&od->net->rx_mode_work);
}

/**
 * ornic_net_up() - after a reset: bring back MAC, rings and port as they were
 * @od: the function
 *
 * Context: Process context, takes RTNL.
 * Return: 0 or a negative errno
 */
int ornic_net_up(struct ornic_dev *od)
{
	struct net_device *netdev = od->core.netdev;
	int rc;

	rtnl_lock();
	rc = ornic_net_set_mac(od->net, netdev->dev_addr);
	if (!rc && netif_running(netdev))
		rc = ornic_net_start(od->net);
	if (!rc)
		netif_device_attach(netdev);
	rtnl_unlock();
	return rc;
}

/**
 * ornic_net_irq() - interrupt of a ring pair
 * @od: the function
 * @queue: number of the pair
 *
 * Context: Hard interrupt.
 */
void ornic_net_irq(struct ornic_dev *od, u32 queue)
{
	struct ornic_net *net = READ_ONCE(od->net);

	if (net && queue < net->num_queues)
		napi_schedule_irqoff(&net->queue[queue].napi);
}

/**
 * ornic_net_watch() - refresh the device's counters, look for lost interrupts
 * @od: the function
 *
 * Context: Process context. Does nothing when RTNL is taken: the next time will do.
 */
void ornic_net_watch(struct ornic_dev *od)
{
	struct ornic_net *net = od->net;
	u32 i;

	if (!netif_running(net->netdev) || !rtnl_trylock())
		return;
	for (i = 0; net->started && i < net->num_queues; i++) {
		if (!ornic_queue_stuck(&net->queue[i]))
			continue;
		local_bh_disable();
		napi_schedule(&net->queue[i].napi);
		local_bh_enable();
	}
	rtnl_unlock();
	ornic_query_stats(&od->core, 0, ARRAY_SIZE(net->hw), net->hw);
}
