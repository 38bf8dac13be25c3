// SPDX-License-Identifier: GPL-2.0-or-later
/* The device as a whole: registers, doorbells, reset, and the PCI function it is. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "hw/cmdq.h"
#include "hw/conn.h"
#include "hw/eq.h"
#include "hw/mr.h"
#include "iwarp/iwarp.h"
#include "nic/nic.h"

#ifndef IW_CAPS
#define IW_CAPS 0ULL
#endif

#define RNIC_FWVER                                                                       \
	((u32)(FIELD_PREP(ORNIC_FWVER_MAJOR, 1ul) | FIELD_PREP(ORNIC_FWVER_MINOR, 0ul) | \
	       FIELD_PREP(ORNIC_FWVER_PATCH, 0ul)))

u64 rnic_caps(const struct rnic *dev)
{
	return IW_CAPS | NIC_CAPS | ORNIC_CAP_IPV6;
}

void rnic_device_attr(const struct rnic *dev, struct ornic_device_attr *a)
{
	memset(a, 0, sizeof(*a));
	a->caps = cpu_to_le64(rnic_caps(dev));
	a->max_qp = cpu_to_le32(RNIC_MAX_QP);
	a->max_cq = cpu_to_le32(RNIC_MAX_CQ);
	a->max_eq = cpu_to_le32(RNIC_MAX_EQ);
	a->max_mr = cpu_to_le32(RNIC_MAX_MR);
	a->max_pd = cpu_to_le32(RNIC_MAX_PD);
	a->max_conn = cpu_to_le32(RNIC_MAX_CONN);
	a->max_listen = cpu_to_le32(RNIC_MAX_LISTEN);
	a->max_nexthop = cpu_to_le32(RNIC_MAX_NEXTHOP);
	a->max_syn = cpu_to_le32(RNIC_MAX_SYN);
	a->max_mr_size = cpu_to_le64(RNIC_MAX_MR_SIZE);
	a->max_frmr_pages = cpu_to_le32(RNIC_MAX_FRMR_PAGES);
	a->page_shift_mask = cpu_to_le64(GENMASK_ULL(31, 12));
	a->max_sge = cpu_to_le16(RNIC_MAX_SGE);
	a->max_inline = cpu_to_le16(RNIC_MAX_INLINE);
	a->max_ird = cpu_to_le16(RNIC_MAX_IRD);
	a->max_ord = cpu_to_le16(RNIC_MAX_ORD);
	a->max_sq_shift = RNIC_MAX_SQ_SHIFT;
	a->max_rq_shift = RNIC_MAX_RQ_SHIFT;
	a->max_cq_shift = RNIC_MAX_CQ_SHIFT;
	a->max_eq_shift = RNIC_MAX_EQ_SHIFT;
	a->max_eth_shift = RNIC_MAX_ETH_SHIFT;
	a->max_txq = cpu_to_le16(RNIC_MAX_TXQ);
	a->max_rxq = cpu_to_le16(RNIC_MAX_RXQ);
	a->max_mtu = cpu_to_le16(dev->cfg.mtu_max);
	a->stream_max = cpu_to_le32(RNIC_STREAM_MAX);
	a->link_speed = cpu_to_le32(RNIC_LINK_SPEED);
	a->max_mc = cpu_to_le32(RNIC_MAX_MC);
	a->max_window = cpu_to_le32(RNIC_MAX_WINDOW);
}

void rnic_irq(struct rnic *dev, u32 vector)
{
	if (dev->irq_drop) {
		dev->irq_drop--;
		return;
	}
	dev->stats[ORNIC_STAT_IRQ]++;
	vfu_msix_raise(dev->vfu, vector);
}

/* ---- reset and fatal errors ---- */

void rnic_fatal(struct rnic *dev, enum ornic_fatal why)
{
	if (!rnic_ready(dev) || dev->in_fatal)
		return;
	log_warn_ratelimited("device stopped: fatal error %d", why);
	/* Writing the event may itself be what cannot be done. */
	dev->in_fatal = true;
	eq_device_event(dev, ORNIC_ASYNC_FATAL, why);
	dev->in_fatal = false;
	dev->regs.fatal = why;
	dev->regs.status |= ORNIC_STATUS_FATAL;
}

static int rnic_new_tcp(struct rnic *dev)
{
	struct tcp_engine_config cfg = {
		.max_conns = RNIC_MAX_CONN,
		.max_listeners = RNIC_MAX_LISTEN,
		.max_nexthops = RNIC_MAX_NEXTHOP,
		.max_syns = RNIC_MAX_SYN,
		.stream_buf = 4 * RNIC_STREAM_MAX,
	};

	/* Only a wire that hands these on makes them cheaper than the engine's own way. */
	if (!strcmp(wire_kind(dev->wire), "tap"))
		cfg.tx_flags = TCP_CFG_TX_CSUM | TCP_CFG_TX_GSO;

	dev->tcp = tcp_engine_new(&cfg, &conn_tcp_ops, dev);
	return dev->tcp ? 0 : -ENOMEM;
}

void rnic_reset(struct rnic *dev)
{
	dev->in_reset = true;
	dev->regs.status = 0;
	conn_reset(dev);
	loop_timer_cancel(&dev->tcp_timer);
	iw_reset(dev);
	eq_reset(dev);
	mr_reset(dev);
	nic_reset(dev);
	cmdq_reset(dev);
	memset(&dev->regs, 0, sizeof(dev->regs));
	memset(dev->stats, 0, sizeof(dev->stats));
	memcpy(dev->mac, dev->cfg.mac, sizeof(dev->mac));
	dev->wire_base = *wire_stats(dev->wire);
	dev->db_refused = 0;
	/* A fault that was asked for ends with the device's life before the reset. */
	dev->cmdq_stuck = false;
	dev->irq_drop = 0;
	dev->bad_crc = 0;
	if (rnic_new_tcp(dev)) {
		log_err("out of memory in reset");
		abort();
	}
	dev->in_reset = false;
}

/* ---- registers ---- */

static u32 rnic_status(const struct rnic *dev)
{
	u32 link = wire_link(dev->wire) ? ORNIC_STATUS_LINK : 0;

	return dev->regs.status | link;
}

static u32 rnic_db_info(const struct rnic *dev)
{
	return (u32)(FIELD_PREP(ORNIC_DB_INFO_STRIDE, (u64)dev->cfg.db_stride_shift) |
		     FIELD_PREP(ORNIC_DB_INFO_PAGES, (u64)dev->cfg.db_pages));
}

static u32 reg_read(struct rnic *dev, u64 off)
{
	switch (off) {
	case ORNIC_REG_MAGIC:
		return ORNIC_MAGIC;
	case ORNIC_REG_IFVER:
		return FIELD_PREP(ORNIC_IFVER_MAJOR, ORNIC_IFVER_MAJOR_NOW) | ORNIC_IFVER_MINOR_NOW;
	case ORNIC_REG_FWVER:
		return RNIC_FWVER;
	case ORNIC_REG_STATUS:
		return rnic_status(dev);
	case ORNIC_REG_CONTROL:
		return dev->regs.control;
	case ORNIC_REG_FATAL:
		return dev->regs.fatal;
	case ORNIC_REG_CAPS_LO:
		return (u32)rnic_caps(dev);
	case ORNIC_REG_CAPS_HI:
		return (u32)(rnic_caps(dev) >> 32);
	case ORNIC_REG_MAC_LO:
		return get_le32(dev->cfg.mac);
	case ORNIC_REG_MAC_HI:
		return get_le16(dev->cfg.mac + 4);
	case ORNIC_REG_DB_INFO:
		return rnic_db_info(dev);
	case ORNIC_REG_VECTORS:
		return RNIC_VECTORS;
	case ORNIC_REG_CMDQ_SQ_LO:
		return (u32)dev->regs.cmdq_sq;
	case ORNIC_REG_CMDQ_SQ_HI:
		return (u32)(dev->regs.cmdq_sq >> 32);
	case ORNIC_REG_CMDQ_CQ_LO:
		return (u32)dev->regs.cmdq_cq;
	case ORNIC_REG_CMDQ_CQ_HI:
		return (u32)(dev->regs.cmdq_cq >> 32);
	case ORNIC_REG_CMDQ_CFG:
		return dev->regs.cmdq_cfg;
	case ORNIC_REG_DB_REFUSED:
		return dev->db_refused;
	case ORNIC_REG_HEARTBEAT:
		return dev->heartbeat;
	default:
		return 0;
	}
}

static void reg_control(struct rnic *dev, u32 val)
{
	bool was = dev->regs.control & ORNIC_CONTROL_ENABLE, on = val & ORNIC_CONTROL_ENABLE;
	u32 reason = (u32)FIELD_GET(ORNIC_CONTROL_REASON, (u64)val);

	if (val & ORNIC_CONTROL_RESET || (was && !on)) {
		log_debug("reset by the driver, reason %u", reason);
		rnic_reset(dev);
		dev->reset_reason = reason;
		return;
	}
	if (was || !on)
		return;
	dev->regs.status &= ~(u32)ORNIC_STATUS_CFG_ERR;
	if (!cmdq_config_ok(dev)) {
		dev->regs.status |= ORNIC_STATUS_CFG_ERR;
		return;
	}
	dev->regs.control = ORNIC_CONTROL_ENABLE;
	dev->regs.status |= ORNIC_STATUS_READY;
}

static void set_half(u64 *reg, bool high, u32 val)
{
	*reg = high ? (u64)val << 32 | (u32)*reg : (*reg & ~0xffffffffULL) | val;
}

static void reg_write(struct rnic *dev, u64 off, u32 val)
{
	bool enabled = dev->regs.control & ORNIC_CONTROL_ENABLE;

	if (off == ORNIC_REG_CONTROL)
		reg_control(dev, val);
	if (off == ORNIC_REG_CMDQ_TAIL && rnic_ready(dev))
		cmdq_tail(dev, val);
	/* The queue's place is fixed while it runs. */
	if (enabled)
		return;
	switch (off) {
	case ORNIC_REG_CMDQ_SQ_LO:
	case ORNIC_REG_CMDQ_SQ_HI:
		set_half(&dev->regs.cmdq_sq, off == ORNIC_REG_CMDQ_SQ_HI, val);
		break;
	case ORNIC_REG_CMDQ_CQ_LO:
	case ORNIC_REG_CMDQ_CQ_HI:
		set_half(&dev->regs.cmdq_cq, off == ORNIC_REG_CMDQ_CQ_HI, val);
		break;
	case ORNIC_REG_CMDQ_CFG:
		dev->regs.cmdq_cfg = val;
		break;
	}
}

static bool reg_is_pair(u64 off)
{
	return off == ORNIC_REG_CAPS_LO || off == ORNIC_REG_MAC_LO || off == ORNIC_REG_CMDQ_SQ_LO ||
	       off == ORNIC_REG_CMDQ_CQ_LO;
}

/* ---- doorbells ---- */

/* Flag bits that each doorbell defines; the others of 31:24 must be zero. */
static const u64 db_flags[] = {
	[ORNIC_DB_SQ / 8] = 0,
	[ORNIC_DB_RQ / 8] = 0,
	[ORNIC_DB_SRQ / 8] = 0,
	[ORNIC_DB_CQ_ARM / 8] = ORNIC_DB_FLAG_SOLICITED | ORNIC_DB_ARM_SEQ,
	[ORNIC_DB_EQ_ARM / 8] = ORNIC_DB_FLAG_ARM,
	[ORNIC_DB_ETH_TX / 8] = 0,
	[ORNIC_DB_ETH_RX / 8] = 0,
	[ORNIC_DB_ETH_ARM / 8] = ORNIC_DB_FLAG_ARM | ORNIC_DB_FLAG_TX,
};

static bool db_take(struct rnic *dev, u32 page, u32 kind, u64 val)
{
	u32 number = (u32)FIELD_GET(ORNIC_DB_NUMBER, val), index = (u32)(val >> 32);

	if (!rnic_ready(dev) || kind / 8 >= ARRAY_SIZE(db_flags))
		return false;
	if (val & GENMASK_ULL(31, 24) & ~db_flags[kind / 8])
		return false;
	if (kind < ORNIC_DB_EQ_ARM)
		return iw_doorbell(dev, kind, page, val);
	if (page)
		return false;
	if (kind == ORNIC_DB_EQ_ARM)
		return eq_doorbell(dev, number, val & ORNIC_DB_FLAG_ARM, index);
	return nic_doorbell(dev, kind, number, val, index);
}

static void db_write(struct rnic *dev, u64 off, unsigned int size, u64 val)
{
	u32 page = (u32)(off >> dev->cfg.db_stride_shift);
	u32 kind = (u32)(off & ((1u << dev->cfg.db_stride_shift) - 1));

	if (size == 8 && db_take(dev, page, kind, val)) {
		dev->stats[ORNIC_STAT_DB_RUNG]++;
		return;
	}
	dev->db_refused++;
	dev->stats[ORNIC_STAT_DB_REFUSED_CNT]++;
}

/* ---- the PCI function ---- */

u64 rnic_bar_read(void *priv, unsigned int bar, u64 off, unsigned int size)
{
	struct rnic *dev = priv;

	if (bar == ORNIC_BAR_DB)
		return 0;
	if (bar != ORNIC_BAR_REGS)
		return UINT64_MAX;
	if (size == 4)
		return reg_read(dev, off);
	if (size == 8 && reg_is_pair(off))
		return reg_read(dev, off) | (u64)reg_read(dev, off + 4) << 32;
	return UINT64_MAX;
}

void rnic_bar_write(void *priv, unsigned int bar, u64 off, unsigned int size, u64 val)
{
	struct rnic *dev = priv;

	if (bar == ORNIC_BAR_DB) {
		db_write(dev, off, size, val);
		return;
	}
	if (bar != ORNIC_BAR_REGS)
		return;
	if (size == 4) {
		reg_write(dev, off, (u32)val);
	} else if (size == 8 && reg_is_pair(off)) {
		reg_write(dev, off, (u32)val);
		reg_write(dev, off + 4, (u32)(val >> 32));
	}
}

static void rnic_vfu_reset(void *priv, enum vfu_reset kind)
{
	static const char *const name[] = {
		[VFU_RESET_FLR] = "function level reset",
		[VFU_RESET_DEVICE] = "machine reset",
		[VFU_RESET_LOST] = "the VMM went",
		[VFU_RESET_REMOVED] = "removed",
	};

	log_debug("reset: %s", name[kind]);
	rnic_reset(priv);
}

static const struct vfu_ops rnic_vfu_ops = {
	.bar_read = rnic_bar_read,
	.bar_write = rnic_bar_write,
	.reset = rnic_vfu_reset,
};

static struct vfu_dev *rnic_new_vfu(struct rnic *dev)
{
	struct vfu_cfg cfg = {
		.vendor_id = ORNIC_PCI_VENDOR_ID,
		.device_id = ORNIC_PCI_DEVICE_ID,
		.subsys_vendor_id = ORNIC_PCI_VENDOR_ID,
		.subsys_id = ORNIC_PCI_DEVICE_ID,
		.class_code = ORNIC_PCI_CLASS,
		.revision = ORNIC_PCI_REVISION,
		.bar[ORNIC_BAR_REGS] = {.size = ORNIC_BAR_REGS_SIZE},
		.bar[ORNIC_BAR_DB] = {.size = (u64)dev->cfg.db_pages << dev->cfg.db_stride_shift,
				      .is64 = true,
				      .prefetch = true},
		.bar[ORNIC_BAR_MSIX] = {.size = ORNIC_BAR_MSIX_SIZE},
		.msix_vectors = RNIC_VECTORS,
		.msix_bar = ORNIC_BAR_MSIX,
		.msix_table_off = ORNIC_MSIX_TABLE_OFF,
		.msix_pba_off = ORNIC_MSIX_PBA_OFF,
	};

	memcpy(cfg.mac, dev->cfg.mac, sizeof(cfg.mac));
	return vfu_new(dev->loop, &cfg, &rnic_vfu_ops, dev);
}

/* ---- life ---- */

static bool rnic_hook(struct loop_hook *h)
{
	struct rnic *dev = container_of(h, struct rnic, hook);
	bool more;

	dev->heartbeat++;
	/* Not set up, or stopped by a fatal error: then even TCP's clock stands still. */
	if (!rnic_ready(dev))
		return false;
	more = iw_run(dev);
	more |= nic_run(dev);
	conn_run(dev);
	return more;
}

static void rnic_tcp_timer(struct loop_timer *t)
{
	struct rnic *dev = container_of(t, struct rnic, tcp_timer);

	if (rnic_ready(dev))
		conn_run(dev);
}

static int rnic_init_parts(struct rnic *dev)
{
	int ret = cmdq_init(dev);

	ret = ret ? ret : eq_table_init(dev);
	ret = ret ? ret : mr_table_init(dev);
	ret = ret ? ret : conn_table_init(dev);
	ret = ret ? ret : iw_init(dev);
	ret = ret ? ret : nic_init(dev);
	return ret ? ret : rnic_new_tcp(dev);
}

static int rnic_open_wire(struct rnic *dev, char *err, size_t errlen)
{
	dev->wire = wire_open(dev->loop, dev->cfg.wire, &nic_wire_ops, dev, err, errlen);
	if (!dev->wire)
		return -errno;
	if (!dev->cfg.mtu_max)
		dev->cfg.mtu_max = wire_mtu(dev->wire);
	if (dev->cfg.mtu_max <= wire_mtu(dev->wire))
		return 0;
	snprintf(err, errlen, "MTU %u is more than the %u bytes that the wire carries",
		 dev->cfg.mtu_max, wire_mtu(dev->wire));
	return -EINVAL;
}

static int rnic_init(struct rnic *dev, char *err, size_t errlen)
{
	int ret = rnic_open_wire(dev, err, errlen);

	if (ret)
		return ret;
	snprintf(err, errlen, "out of memory");
	ret = rnic_init_parts(dev);
	if (ret)
		return ret;
	dev->vfu = rnic_new_vfu(dev);
	if (!dev->vfu) {
		ret = -errno;
		snprintf(err, errlen, "the PCI function cannot be made: %s", strerror(-ret));
		return ret;
	}
	dev->dma = vfu_dma(dev->vfu);
	loop_hook_add(dev->loop, &dev->hook, LOOP_HOOK_ENGINE, rnic_hook);
	rnic_reset(dev);
	return 0;
}

struct rnic *rnic_new(struct loop *loop, const struct rnic_config *cfg, char *err, size_t errlen)
{
	struct rnic *dev = calloc(1, sizeof(*dev));
	int ret;

	if (!dev) {
		snprintf(err, errlen, "out of memory");
		return NULL;
	}
	dev->cfg = *cfg;
	dev->loop = loop;
	loop_timer_init(&dev->tcp_timer, loop, rnic_tcp_timer);
	ret = rnic_init(dev, err, errlen);
	if (!ret)
		return dev;
	rnic_free(dev);
	errno = -ret;
	return NULL;
}

void rnic_free(struct rnic *dev)
{
	if (!dev)
		return;
	if (dev->vfu) {
		rnic_reset(dev);
		loop_hook_del(&dev->hook);
		vfu_free(dev->vfu);
	}
	loop_timer_cancel(&dev->tcp_timer);
	tcp_engine_free(dev->tcp);
	nic_free(dev);
	iw_free(dev);
	conn_table_free(dev);
	mr_table_free(dev);
	eq_table_free(dev);
	cmdq_free(dev);
	if (dev->wire)
		wire_close(dev->wire);
	free(dev);
}
