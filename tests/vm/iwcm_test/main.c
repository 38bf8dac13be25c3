// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs the cases when the module is loaded. In the kernel log: one PASS or FAIL line a case, then a
 * line with the numbers.
 *
 *   insmod iwcm_test.ko dev_a=ornic0 addr_a=10.0.0.1 dev_b=ornic1 addr_b=10.0.0.2 mpa_ms=3000
 * [suite=plain|rtr|markers|nocrc|rev1|fire] [only=part-of-name] [hold_ms=MS] [flight=1 [told=1]]
 *   [conns=N]
 *
 * mpa_ms is the MPA time-out that was set for both devices. The suite says what else was:
 * peer-to-peer on (rtr only, otherwise off), markers asked for, CRCs not asked for, on both
 * devices; revision 1 on the first.
 *
 * With hold_ms it runs no case but holds a connection until one of the devices is removed. It waits
 * that long then, and drains its QP on the first device. With flight it holds connections in all
 * states instead, and says whether each was told what it is owed: with told before the consumer
 * does anything. conns: how many are set up by the case that sets up many.
 */
#define pr_fmt(fmt) "iwcm_test: " fmt
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/netdevice.h>

#include "iwcm_test.h"

struct test_dev dev[2];
int checks_failed;
int mpa_ms = 3000;
int conns = 4096;

static char *dev_a = "ornic0";
static char *dev_b = "ornic1";
static char *addr_a = "10.0.0.1";
static char *addr_b = "10.0.0.2";
static char *only = "";
static char *suite = "plain";
static int hold_ms;
static bool flight;
static bool told;
static bool holding;

struct policy policy = {.crc = true, .port = 19000};

module_param(dev_a, charp, 0444);
module_param(dev_b, charp, 0444);
module_param(addr_a, charp, 0444);
module_param(addr_b, charp, 0444);
module_param(only, charp, 0444);
module_param(mpa_ms, int, 0444);
module_param(suite, charp, 0444);
module_param(hold_ms, int, 0444);
module_param(flight, bool, 0444);
module_param(told, bool, 0444);
module_param(conns, int, 0444);

static int client_add(struct ib_device *ib)
{
	if (!strcmp(dev_name(&ib->dev), dev_a))
		dev[0].ib = ib;
	else if (!strcmp(dev_name(&ib->dev), dev_b))
		dev[1].ib = ib;
	return 0;
}

static int open_dev(struct test_dev *d, const char *addr)
{
	struct net_device *netdev;

	if (!d->ib)
		return -ENODEV;
	d->addr = in_aton(addr);
	netdev = ib_device_get_netdev(d->ib, 1);
	if (!netdev)
		return -ENODEV;
	d->net = get_net(dev_net(netdev));
	dev_put(netdev);
	d->pd = ib_alloc_pd(d->ib, 0);
	if (IS_ERR(d->pd))
		return PTR_ERR(d->pd);
	d->cq = ib_alloc_cq(d->ib, NULL, 1024, 0, IB_POLL_DIRECT);
	if (IS_ERR(d->cq))
		return PTR_ERR(d->cq);
	d->stats = d->ib->ops.alloc_hw_port_stats(d->ib, 1);
	return d->stats ? 0 : -ENOMEM;
}

static void close_dev(struct test_dev *d)
{
	if (d->stats)
		rdma_free_hw_stats_struct(d->stats);
	if (!IS_ERR_OR_NULL(d->cq))
		ib_free_cq(d->cq);
	if (!IS_ERR_OR_NULL(d->pd))
		ib_dealloc_pd(d->pd);
	if (d->net)
		put_net(d->net);
	memset(d, 0, sizeof(*d));
}

static void client_remove(struct ib_device *ib, void *data)
{
	int i;

	if (!hold_ms && !flight)
		return;
	if (holding && flight)
		flight_end(told);
	else if (holding)
		hold_end(hold_ms);
	holding = false;
	for (i = 0; i < 2; i++)
		if (dev[i].ib == ib)
			close_dev(&dev[i]);
}

static struct ib_client client = {
	.name = "iwcm_test",
	.add = client_add,
	.remove = client_remove,
};

static void run(const struct test_case *cases, int *passed, int *failed)
{
	for (; cases->name; cases++) {
		if (!strstr(cases->name, only))
			continue;
		checks_failed = 0;
		cases->run();
		wait_no_endpoints();
		pr_info("%s %s\n", checks_failed ? "FAIL" : "PASS", cases->name);
		if (checks_failed)
			(*failed)++;
		else
			(*passed)++;
	}
}

static const struct {
	const char *name;
	const struct test_case *cases[6];
} suites[] = {
	{"plain", {active_cases, passive_cases, pair_cases, nego_cases, mpa_cases}},
	{"rtr", {rtr_cases}},
	{"markers", {nego_cases, pair_cases}},
	{"nocrc", {nego_cases}},
	{"rev1", {rev1_cases}},
	{"fire", {fire_cases}},
};

static int run_suite(void)
{
	int i, k, passed = 0, failed = 0;

	for (i = 0; i < ARRAY_SIZE(suites); i++)
		if (!strcmp(suites[i].name, suite))
			break;
	if (i == ARRAY_SIZE(suites))
		return -EINVAL;
	policy.port = 20000 + i * 1000;
	policy.crc = strcmp(suite, "nocrc");
	policy.markers = !strcmp(suite, "markers");
	for (k = 0; suites[i].cases[k]; k++)
		run(suites[i].cases[k], &passed, &failed);
	pr_info("%d passed, %d failed\n", passed, failed);
	return 0;
}

static int start(void)
{
	if (flight)
		return flight_start();
	return hold_ms ? hold_start() : run_suite();
}

static int __init iwcm_test_init(void)
{
	int ret;

	ret = ib_register_client(&client);
	if (ret)
		return ret;
	ret = open_dev(&dev[0], addr_a);
	if (!ret)
		ret = open_dev(&dev[1], addr_b);
	if (!ret)
		ret = start();
	holding = (hold_ms || flight) && !ret;
	if (holding)
		return 0;
	close_dev(&dev[1]);
	close_dev(&dev[0]);
	ib_unregister_client(&client);
	return ret;
}

static void __exit iwcm_test_exit(void)
{
	if (hold_ms || flight)
		ib_unregister_client(&client);
}

module_init(iwcm_test_init);
module_exit(iwcm_test_exit);
MODULE_DESCRIPTION("Event rules of iw_cm");
MODULE_LICENSE("GPL");
