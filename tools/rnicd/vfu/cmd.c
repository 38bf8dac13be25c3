// SPDX-License-Identifier: GPL-2.0-or-later
/* The commands. Bodies are unaligned and whatever the VMM wrote: copied, then checked. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "vfu/internal.h"

static int set_reply(struct vfu_msg *m, const void *body, u32 len)
{
	memcpy(m->reply, body, len);
	m->reply_len = len;
	return 0;
}

/* ---- VERSION ---- */

static int version_reply(struct vfu_dev *dev, struct vfu_msg *m, u16 minor)
{
	struct vfio_user_version v = {.major = VFIO_USER_MAJOR, .minor = minor};
	char *json = (char *)m->reply + sizeof(v);
	int n;

	n = snprintf(json, VFU_MAX_XFER,
		     "{\"capabilities\":{\"max_msg_fds\":%d,\"max_data_xfer_size\":%d,"
		     "\"max_dma_maps\":%u,\"pgsizes\":4096%s}}",
		     VFU_MAX_FDS, VFU_MAX_XFER,
		     dev->cfg.max_dma_maps ? dev->cfg.max_dma_maps : DMA_MAX_MAPS_DEFAULT,
		     dev->conn.caps.write_multiple ? ",\"write_multiple\":true" : "");
	memcpy(m->reply, &v, sizeof(v));
	m->reply_len = (u32)(sizeof(v) + (size_t)n + 1);
	return 0;
}

static int cmd_version(struct vfu_dev *dev, struct vfu_msg *m)
{
	const char *json = (const char *)m->body + sizeof(struct vfio_user_version);
	u32 len = m->len - (u32)sizeof(struct vfio_user_version);
	struct vfio_user_version v;
	int ret;

	if (dev->conn.negotiated)
		return -EINVAL;
	memcpy(&v, m->body, sizeof(v));
	if (v.major != VFIO_USER_MAJOR) {
		log_warn_ratelimited("vfu: VMM speaks version %u.%u", v.major, v.minor);
		dev->conn.close_when_sent = true;
		return -EINVAL;
	}
	/* The text ends with a NUL; what follows one is not text. */
	if (len && !memchr(json, 0, len))
		return -EINVAL;
	ret = vfu_parse_caps(json, len ? strlen(json) : 0, &dev->conn.caps);
	if (ret)
		return ret;
	dev->conn.negotiated = true;
	dev->stats.attaches++;
	log_info_ratelimited("vfu: VMM attached");
	vfu_update_bus_master(dev);
	if (dev->ops->attached)
		dev->ops->attached(dev->priv, true);
	return version_reply(dev, m, min_t(u16, v.minor, VFIO_USER_MINOR));
}

/* ---- memory ---- */

static int cmd_dma_map(struct vfu_dev *dev, struct vfu_msg *m)
{
	struct vfio_user_dma_map r;
	int ret;

	memcpy(&r, m->body, sizeof(r));
	if (r.argsz < sizeof(r) || m->nfds > 1 ||
	    (r.flags & ~(VFIO_USER_DMA_F_READ | VFIO_USER_DMA_F_WRITE)))
		return -EINVAL;
	ret = dma_map(dev->dma, r.iova, r.size, (int)r.flags, m->nfds ? m->fds[0] : -1, r.offset);
	if (ret)
		log_warn_ratelimited("vfu: DMA map 0x%llx+0x%llx, flags %x, %u fds: %s", r.iova,
				     r.size, r.flags, m->nfds, strerror(-ret));
	return ret;
}

static int cmd_dma_unmap(struct vfu_dev *dev, struct vfu_msg *m)
{
	struct vfio_user_dma_unmap r;
	int ret = 0;

	memcpy(&r, m->body, sizeof(r));
	if (r.argsz < sizeof(r))
		return -EINVAL;
	if (r.flags & VFIO_USER_UNMAP_F_DIRTY)
		return -EOPNOTSUPP;
	if (r.flags == VFIO_USER_UNMAP_F_ALL) {
		if (r.iova || r.size)
			return -EINVAL;
		dma_unmap_all(dev->dma);
	} else if (r.flags) {
		return -EINVAL;
	} else {
		ret = dma_unmap(dev->dma, r.iova, r.size, &r.size);
	}
	r.argsz = sizeof(r);
	return ret ? ret : set_reply(m, &r, sizeof(r));
}

/* ---- what there is ---- */

static int cmd_device_info(struct vfu_dev *dev, struct vfu_msg *m)
{
	struct vfio_user_device_info r;

	memcpy(&r, m->body, sizeof(r));
	if (r.argsz < sizeof(r))
		return -EINVAL;
	r.argsz = sizeof(r);
	r.flags = VFIO_USER_DEVICE_F_RESET | VFIO_USER_DEVICE_F_PCI;
	r.num_regions = VFU_NUM_REGIONS;
	r.num_irqs = VFU_NUM_IRQS;
	return set_reply(m, &r, sizeof(r));
}

static int cmd_region_info(struct vfu_dev *dev, struct vfu_msg *m)
{
	struct vfio_user_region_info r;

	memcpy(&r, m->body, sizeof(r));
	if (r.argsz < sizeof(r) || r.index >= VFU_NUM_REGIONS)
		return -EINVAL;
	r.argsz = sizeof(r);
	r.size = vfu_region_size(dev, r.index);
	r.flags = r.size ? VFIO_USER_REGION_F_READ | VFIO_USER_REGION_F_WRITE : 0;
	r.cap_offset = 0;
	r.offset = (u64)r.index << 40;
	return set_reply(m, &r, sizeof(r));
}

static u32 irq_count(const struct vfu_dev *dev, u32 index)
{
	if (index == VFU_IRQ_MSIX)
		return dev->cfg.msix_vectors;
	/*
	 * QEMU warns when there is no error interrupt. It is never signalled:
	 * QEMU would stop the machine.
	 */
	return index == VFU_IRQ_ERR;
}

static int cmd_irq_info(struct vfu_dev *dev, struct vfu_msg *m)
{
	struct vfio_user_irq_info r;

	memcpy(&r, m->body, sizeof(r));
	if (r.argsz < sizeof(r) || r.index >= VFU_NUM_IRQS)
		return -EINVAL;
	r.argsz = sizeof(r);
	r.count = irq_count(dev, r.index);
	r.flags = r.count ? VFIO_USER_IRQ_F_EVENTFD : 0;
	return set_reply(m, &r, sizeof(r));
}

/* ---- interrupts ---- */

static int check_irq_set(const struct vfu_dev *dev, const struct vfio_user_irq_set *r)
{
	u32 data = r->flags & VFIO_USER_IRQ_DATA_MASK, action = r->flags & VFIO_USER_IRQ_ACTIONS;

	if (r->argsz < sizeof(*r) ||
	    (r->flags & ~(VFIO_USER_IRQ_DATA_MASK | VFIO_USER_IRQ_ACTIONS)))
		return -EINVAL;
	if (!is_power_of_2(data) || !is_power_of_2(action) || r->index >= VFU_NUM_IRQS)
		return -EINVAL;
	/* Count 0 without data turns the whole index off, even one that has no interrupts. */
	if (!r->count && !r->start && data == VFIO_USER_IRQ_DATA_NONE &&
	    action == VFIO_USER_IRQ_ACTION_TRIGGER)
		return 0;
	if (!r->count || !range_ok(r->start, r->count, irq_count(dev, r->index)))
		return -EINVAL;
	return action == VFIO_USER_IRQ_ACTION_TRIGGER ? 0 : -EOPNOTSUPP;
}

static int irq_set_fds(struct vfu_dev *dev, struct vfu_msg *m, const struct vfio_user_irq_set *r)
{
	u32 i;

	if (m->nfds && m->nfds != r->count)
		return -EINVAL;
	for (i = 0; r->index == VFU_IRQ_MSIX && i < r->count; i++) {
		vfu_msix_set_fd(dev, r->start + i, m->nfds ? m->fds[i] : -1);
		if (m->nfds)
			m->fds[i] = -1;
	}
	return 0;
}

static int cmd_set_irqs(struct vfu_dev *dev, struct vfu_msg *m)
{
	struct vfio_user_irq_set r;
	const u8 *on = m->body + sizeof(r);
	int ret;
	u32 i;

	memcpy(&r, m->body, sizeof(r));
	ret = check_irq_set(dev, &r);
	if (ret)
		return ret;
	if (r.flags & VFIO_USER_IRQ_DATA_EVENTFD)
		return irq_set_fds(dev, m, &r);
	if (m->nfds)
		return -EINVAL;
	if ((r.flags & VFIO_USER_IRQ_DATA_BOOL) && m->len - sizeof(r) < r.count)
		return -EINVAL;
	if (r.index != VFU_IRQ_MSIX)
		return 0;
	if (!r.count)
		vfu_msix_drop_fds(dev);
	for (i = 0; i < r.count; i++)
		if ((r.flags & VFIO_USER_IRQ_DATA_NONE) || on[i])
			vfu_msix_force(dev, r.start + i);
	return 0;
}

/* ---- regions ---- */

static int cmd_region_read(struct vfu_dev *dev, struct vfu_msg *m)
{
	struct vfio_user_region_rw r;
	int ret;

	memcpy(&r, m->body, sizeof(r));
	if (!r.count || r.count > VFU_MAX_XFER)
		return -EINVAL;
	ret = vfu_region_read(dev, r.region, r.offset, m->reply + sizeof(r), r.count);
	if (ret)
		return ret;
	set_reply(m, &r, sizeof(r));
	m->reply_len += r.count;
	return 0;
}

static int cmd_region_write(struct vfu_dev *dev, struct vfu_msg *m)
{
	struct vfio_user_region_rw r;
	int ret;

	memcpy(&r, m->body, sizeof(r));
	if (!r.count || r.count > VFU_MAX_XFER || m->len - sizeof(r) < r.count)
		return -EINVAL;
	if (m->hdr.flags & VFIO_USER_F_NO_REPLY)
		dev->stats.posted_writes++;
	ret = vfu_region_write(dev, r.region, r.offset, m->body + sizeof(r), r.count);
	return ret ? ret : set_reply(m, &r, sizeof(r));
}

/* All are looked at before any is carried out. */
static int check_multi(const struct vfu_dev *dev, const struct vfu_msg *m, u64 count)
{
	const u8 *p = m->body + sizeof(count);
	struct vfio_user_write_one w;
	u64 i;

	if (count > (m->len - sizeof(count)) / sizeof(w))
		return -EINVAL;
	for (i = 0; i < count; i++) {
		memcpy(&w, p + i * sizeof(w), sizeof(w));
		if (!w.count || w.count > sizeof(w.data) || !vfu_region_size(dev, w.region))
			return -EINVAL;
	}
	return 0;
}

static int cmd_write_multi(struct vfu_dev *dev, struct vfu_msg *m)
{
	struct vfio_user_write_one w;
	u64 count, i;
	int ret;

	memcpy(&count, m->body, sizeof(count));
	ret = check_multi(dev, m, count);
	if (ret)
		return ret;
	for (i = 0; i < count && !dev->conn.dead; i++) {
		memcpy(&w, m->body + sizeof(count) + i * sizeof(w), sizeof(w));
		if (m->hdr.flags & VFIO_USER_F_NO_REPLY)
			dev->stats.posted_writes++;
		vfu_region_write(dev, w.region, w.offset, w.data, w.count);
	}
	return set_reply(m, &count, sizeof(count));
}

static int cmd_reset(struct vfu_dev *dev, struct vfu_msg *m)
{
	if (m->len)
		return -EINVAL;
	vfu_do_reset(dev, VFU_RESET_DEVICE);
	return 0;
}

/* ---- table ---- */

static const struct {
	int (*fn)(struct vfu_dev *dev, struct vfu_msg *m);
	u32 min_len;
	bool fds; /* may carry file descriptors */
} commands[] = {
	[VFIO_USER_VERSION] = {cmd_version, sizeof(struct vfio_user_version), false},
	[VFIO_USER_DMA_MAP] = {cmd_dma_map, sizeof(struct vfio_user_dma_map), true},
	[VFIO_USER_DMA_UNMAP] = {cmd_dma_unmap, sizeof(struct vfio_user_dma_unmap), false},
	[VFIO_USER_DEVICE_GET_INFO] = {cmd_device_info, sizeof(struct vfio_user_device_info),
				       false},
	[VFIO_USER_DEVICE_GET_REGION_INFO] = {cmd_region_info, sizeof(struct vfio_user_region_info),
					      false},
	[VFIO_USER_DEVICE_GET_IRQ_INFO] = {cmd_irq_info, sizeof(struct vfio_user_irq_info), false},
	[VFIO_USER_DEVICE_SET_IRQS] = {cmd_set_irqs, sizeof(struct vfio_user_irq_set), true},
	[VFIO_USER_REGION_READ] = {cmd_region_read, sizeof(struct vfio_user_region_rw), false},
	[VFIO_USER_REGION_WRITE] = {cmd_region_write, sizeof(struct vfio_user_region_rw), false},
	[VFIO_USER_DEVICE_RESET] = {cmd_reset, 0, false},
	[VFIO_USER_REGION_WRITE_MULTI] = {cmd_write_multi, sizeof(struct vfio_user_write_multi),
					  false},
};

int vfu_handle(struct vfu_dev *dev, struct vfu_msg *m)
{
	u16 cmd = m->hdr.cmd;

	if (cmd >= ARRAY_SIZE(commands) || !commands[cmd].fn)
		return -EOPNOTSUPP;
	if (!dev->conn.negotiated && cmd != VFIO_USER_VERSION)
		return -EINVAL;
	if (m->len < commands[cmd].min_len || (m->nfds && !commands[cmd].fds))
		return -EINVAL;
	return commands[cmd].fn(dev, m);
}
