/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * OpenRNIC: differences between the kernels that the drivers are built for, all of them; written
 * for 6.12. No kernel version is looked at, since changes come with stable updates, too: the
 * top-level Kbuild looks into the kernel's headers for what there is (ORNIC_HAVE_*).
 */
#ifndef _LINUX_ORNIC_COMPAT_H
#define _LINUX_ORNIC_COMPAT_H

#include <linux/ethtool.h>
#include <linux/mm.h>
#include <linux/netlink.h>
#include <net/ipv6.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

/* The iterators over DMA blocks moved into a header of their own. */
#ifdef ORNIC_HAVE_RDMA_ITER
#include <rdma/iter.h>
#endif

#ifdef ORNIC_HAVE_PAGE_POOL_HELPERS
#include <net/page_pool/helpers.h>
#else
#include <net/page_pool.h>
#endif

/* IPv6 is no module any more in 7.x, so that its functions can be called without a stub. */
#ifdef ORNIC_HAVE_IPV6_STUBS
#include <net/ipv6_stubs.h>
#define ornic_ip6_dst_lookup_flow	ipv6_stub->ipv6_dst_lookup_flow
#else
#define ornic_ip6_dst_lookup_flow	ip6_dst_lookup_flow
#endif

/* Page pools know their NAPI since 6.4 and their network device since 6.7. */
static inline void ornic_page_pool_napi(struct page_pool_params *pp, struct napi_struct *napi,
					struct net_device *netdev)
{
#ifdef ORNIC_HAVE_PAGE_POOL_NAPI
	pp->napi = napi;
#endif
#ifdef ORNIC_HAVE_PAGE_POOL_NETDEV
	pp->netdev = netdev;
#endif
}

/* 6.8 */
#ifdef ORNIC_HAVE_ETHTOOL_PUTS
#define ornic_ethtool_puts	ethtool_puts
#else
static inline void ornic_ethtool_puts(u8 **data, const char *str)
{
	strscpy(*data, str, ETH_GSTRING_LEN);
	*data += ETH_GSTRING_LEN;
}
#endif

/* A message that is not a literal: a copy of it since 6.2. */
static inline void ornic_set_err_msg(struct netlink_ext_ack *extack, const char *msg)
{
#ifdef NL_SET_ERR_MSG_FMT
	NL_SET_ERR_MSG_FMT(extack, "%s", msg);
#else
	extack->_msg = msg;
#endif
}

/* The flow's type of service became a dscp_t after 6.12. */
#ifdef ORNIC_HAVE_FLOW_DSCP
#define ornic_flow_set_tos(fl4, tos)	((fl4)->flowi4_dscp = inet_dsfield_to_dscp(tos))
#else
#define ornic_flow_set_tos(fl4, tos)	((fl4)->flowi4_tos = (tos))
#endif

/* And the input route's argument before it. */
#ifdef ORNIC_HAVE_ROUTE_INPUT_DSCP
#define ornic_route_input(skb, daddr, saddr, tos, dev) \
	ip_route_input(skb, daddr, saddr, inet_dsfield_to_dscp(tos), dev)
#else
#define ornic_route_input(skb, daddr, saddr, tos, dev) ip_route_input(skb, daddr, saddr, tos, dev)
#endif

/* Accessors of devlink parameters: set got an extack in 6.10, get after 6.12. */
#define ORNIC_PARAM_ARGS \
	struct devlink *devlink, u32 id, struct devlink_param_gset_ctx *ctx
#if ORNIC_PARAM_EXTACKS >= 2
#define ORNIC_PARAM_GET_ARGS	ORNIC_PARAM_ARGS, struct netlink_ext_ack *extack
#else
#define ORNIC_PARAM_GET_ARGS	ORNIC_PARAM_ARGS
#endif
#if ORNIC_PARAM_EXTACKS >= 1
#define ORNIC_PARAM_SET_ARGS	ORNIC_PARAM_ARGS, struct netlink_ext_ack *extack
#else
#define ORNIC_PARAM_SET_ARGS	ORNIC_PARAM_ARGS
#endif

/* A value to be validated is passed by reference after 6.12. */
#ifdef ORNIC_HAVE_VALIDATE_POINTER
#define ORNIC_PARAM_VALIDATE_ARGS \
	struct devlink *devlink, u32 id, union devlink_param_value *value, \
	struct netlink_ext_ack *extack
#define ornic_param_value(value)	(*(value))
#else
#define ORNIC_PARAM_VALIDATE_ARGS \
	struct devlink *devlink, u32 id, union devlink_param_value value, \
	struct netlink_ext_ack *extack
#define ornic_param_value(value)	(value)
#endif

/* An address of any length got a type of its own after 6.12. */
#ifdef ORNIC_HAVE_BIND_UNSIZED
#define ornic_sockaddr	sockaddr_unsized
#else
#define ornic_sockaddr	sockaddr
#endif

/* Memory at an address is one of several kinds in 7.x. */
#ifdef ORNIC_HAVE_UMEM_GET_VA
#define ornic_umem_get	ib_umem_get_va
#else
#define ornic_umem_get	ib_umem_get
#endif

/* Flags of a mapping became private to the memory manager in 6.3. */
#ifndef ORNIC_HAVE_VM_FLAGS_CLEAR
static inline void vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}
#endif

/* create_cq got the whole bundle of attributes in 6.11. */
#ifdef ORNIC_HAVE_CREATE_CQ_BUNDLE
#define iw_ornic_cq_attrs	uverbs_attr_bundle

static inline struct ib_udata *iw_ornic_cq_udata(struct uverbs_attr_bundle *attrs)
{
	return attrs ? &attrs->driver_udata : NULL;
}
#else
#define iw_ornic_cq_attrs	ib_udata

static inline struct ib_udata *iw_ornic_cq_udata(struct ib_udata *attrs)
{
	return attrs;
}
#endif

/* Users' CQs have an operation of their own in 7.x, and no fallback to create_cq. */
#ifdef ORNIC_HAVE_CREATE_USER_CQ
#define IW_ORNIC_CREATE_USER_CQ	.create_user_cq = iw_ornic_create_cq,
#else
#define IW_ORNIC_CREATE_USER_CQ
#endif

struct ib_mr *iw_ornic_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 iova,
				   int access, struct ib_udata *udata);

/* reg_user_mr got a DMA handle, steering tags, after 6.12; the device has no use for one. */
#ifdef ORNIC_HAVE_REG_MR_DMAH
static inline struct ib_mr *iw_ornic_reg_user_mr_op(struct ib_pd *ibpd, u64 start, u64 length,
						    u64 iova, int access, struct ib_dmah *dmah,
						    struct ib_udata *udata)
{
	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);

	return iw_ornic_reg_user_mr(ibpd, start, length, iova, access, udata);
}
#else
#define iw_ornic_reg_user_mr_op	iw_ornic_reg_user_mr
#endif

#endif /* _LINUX_ORNIC_COMPAT_H */
