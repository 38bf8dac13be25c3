/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* OpenRNIC core driver: differences between the kernels that it is built for; written for 6.12. */
#ifndef _ORNIC_COMPAT_H
#define _ORNIC_COMPAT_H

#include <linux/ethtool.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
#include <net/page_pool.h>
#else
#include <net/page_pool/helpers.h>
#endif

/* Getters of devlink parameters got an extack after 6.12. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)
#define ORNIC_PARAM_GET_EXTACK	, struct netlink_ext_ack *extack
#else
#define ORNIC_PARAM_GET_EXTACK
#endif

/* The flow's type of service became a dscp_t in 6.18. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
#define ornic_flow_set_tos(fl4, tos)	((fl4)->flowi4_dscp = inet_dsfield_to_dscp(tos))
#else
#define ornic_flow_set_tos(fl4, tos)	((fl4)->flowi4_tos = (tos))
#endif

/* ethtool_puts() came with 6.8. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
#define ornic_ethtool_puts	ethtool_puts
#else
#define ornic_ethtool_puts(data, str)	ethtool_sprintf(data, "%s", str)
#endif

/* Page pools know their NAPI since 6.4 and their network device since 6.7. */
static inline void ornic_page_pool_napi(struct page_pool_params *pp, struct napi_struct *napi,
					struct net_device *netdev)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	pp->napi = napi;
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	pp->netdev = netdev;
#endif
}

#endif /* _ORNIC_COMPAT_H */
