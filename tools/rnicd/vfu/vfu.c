// SPDX-License-Identifier: GPL-2.0-or-later
/* The function: regions, resets, bus mastering, life cycle. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "vfu/internal.h"

/* ---- description ---- */

static const char *check_bar(const struct vfu_cfg *cfg, unsigned int i)
{
	const struct vfu_bar_cfg *bar = &cfg->bar[i];

	if (!bar->size)
		return NULL;
	if (!is_power_of_2(bar->size) || bar->size < 4096)
		return "BAR size is not a power of two of at least 4096";
	if (!bar->is64 && bar->size > 1u << 30)
		return "32-bit BAR is larger than 1 GiB";
	if (bar->is64 && (i == VFU_NUM_BARS - 1 || cfg->bar[i + 1].size))
		return "64-bit BAR without a free second half";
	return NULL;
}

static const char *check_msix(const struct vfu_cfg *cfg)
{
	u64 table = (u64)cfg->msix_vectors * VFU_MSIX_ENTRY, size;
	u64 pba = BITS_TO_U64(cfg->msix_vectors) * 8;

	if (!cfg->msix_vectors || cfg->msix_vectors > VFU_MSIX_MAX_VECTORS)
		return "MSI-X vector count is not 1..2048";
	if (cfg->msix_bar >= VFU_NUM_BARS)
		return "MSI-X BAR does not exist";
	size = cfg->bar[cfg->msix_bar].size;
	if (!range_ok(cfg->msix_table_off, table, size) || !range_ok(cfg->msix_pba_off, pba, size))
		return "MSI-X table or PBA outside its BAR";
	if (!IS_ALIGNED(cfg->msix_table_off, 8) || !IS_ALIGNED(cfg->msix_pba_off, 8))
		return "MSI-X table or PBA not aligned";
	if (cfg->msix_table_off < cfg->msix_pba_off + pba &&
	    cfg->msix_pba_off < cfg->msix_table_off + table)
		return "MSI-X table and PBA overlap";
	return NULL;
}

static const char *check_cfg(const struct vfu_cfg *cfg)
{
	const char *why = check_msix(cfg);
	unsigned int i;

	for (i = 0; i < VFU_NUM_BARS && !why; i++)
		why = check_bar(cfg, i);
	return why;
}

/* ---- life cycle ---- */

static int dev_init(struct vfu_dev *dev)
{
	int ret;

	dev->conn.fd = -1;
	dev->waiting_fd = -1;
	pci_init(&dev->pci, &dev->cfg);
	dev->dma = dma_space_new(dev->cfg.max_dma_maps);
	if (!dev->dma)
		return -ENOMEM;
	ret = dma_sigbus_guard();
	if (!ret)
		ret = vfu_msix_init(dev);
	if (!ret)
		ret = vfu_conn_init(dev);
	return ret;
}

struct vfu_dev *vfu_new(struct loop *loop, const struct vfu_cfg *cfg, const struct vfu_ops *ops,
			void *priv)
{
	const char *why = check_cfg(cfg);
	struct vfu_dev *dev;
	int ret;

	if (why) {
		log_err("vfu: %s", why);
		errno = EINVAL;
		return NULL;
	}
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return NULL;
	dev->loop = loop;
	dev->cfg = *cfg;
	dev->ops = ops;
	dev->priv = priv;
	ret = dev_init(dev);
	if (ret) {
		vfu_free(dev);
		errno = -ret;
		return NULL;
	}
	return dev;
}

void vfu_free(struct vfu_dev *dev)
{
	if (!dev)
		return;
	vfu_listen_stop(dev);
	vfu_conn_close(dev, false, "device ends");
	vfu_conn_free(dev);
	vfu_msix_free(dev);
	dma_space_free(dev->dma);
	free(dev);
}

int vfu_attach_fd(struct vfu_dev *dev, int fd)
{
	if (dev->conn.fd >= 0) {
		close(fd);
		return -EBUSY;
	}
	return vfu_conn_start(dev, fd);
}

void vfu_detach(struct vfu_dev *dev)
{
	vfu_conn_close(dev, false, "detached");
}

bool vfu_is_attached(const struct vfu_dev *dev)
{
	return dev->conn.fd >= 0 && dev->conn.negotiated && !dev->conn.dead;
}

struct dma_space *vfu_dma(struct vfu_dev *dev)
{
	return dev->dma;
}

const struct vfu_stats *vfu_stats(const struct vfu_dev *dev)
{
	return &dev->stats;
}

/* ---- state changes ---- */

void vfu_update_bus_master(struct vfu_dev *dev)
{
	bool on = pci_bus_master(&dev->pci) && dev->conn.fd >= 0;

	if (on == dev->bus_master)
		return;
	dev->bus_master = on;
	dma_set_enabled(dev->dma, on);
	if (dev->ops->bus_master)
		dev->ops->bus_master(dev->priv, on);
}

void vfu_do_reset(struct vfu_dev *dev, enum vfu_reset kind)
{
	dev->stats.resets++;
	pci_reset(&dev->pci, kind == VFU_RESET_FLR);
	vfu_msix_reset(dev);
	vfu_update_bus_master(dev);
	dev->ops->reset(dev->priv, kind);
	/* The device may have raised something on its way down. */
	vfu_msix_reset(dev);
}

/*
 * A card that is pulled out loses all it knows, so it comes back as after power
 * on. The VMM noted what the guest wrote in between, and it is for the guest to
 * write it anew: with old values still here it would find, say, bus mastering on
 * and leave it off in the VMM, which then delivers no MSI.
 */
void vfu_set_removed(struct vfu_dev *dev, bool removed)
{
	if (removed && !dev->removed)
		vfu_do_reset(dev, VFU_RESET_REMOVED);
	dev->removed = removed;
}

/* ---- regions ---- */

u64 vfu_region_size(const struct vfu_dev *dev, u32 region)
{
	if (region < VFU_NUM_BARS)
		return dev->cfg.bar[region].size;
	return region == VFU_REGION_CONFIG ? PCI_CFG_SIZE : 0;
}

static void config_write(struct vfu_dev *dev, unsigned int off, const u8 *buf, u32 count)
{
	unsigned int events = pci_write(&dev->pci, off, buf, count);

	if (events & PCI_EV_FLR)
		vfu_do_reset(dev, VFU_RESET_FLR);
	if (events & PCI_EV_CTRL) {
		vfu_update_bus_master(dev);
		vfu_msix_flush(dev);
	}
}

/* Is this an access that reaches registers? Counts the reason if it is not. */
static bool bar_access_ok(struct vfu_dev *dev, u32 bar, u64 off, u32 count)
{
	if (dev->removed)
		return false;
	if (!is_power_of_2(count) || count > 8 || !IS_ALIGNED(off, count) ||
	    !range_ok(off, count, dev->cfg.bar[bar].size)) {
		dev->stats.bad_accesses++;
		return false;
	}
	if (!pci_in_d0(&dev->pci)) {
		dev->stats.pm_accesses++;
		return false;
	}
	return true;
}

static void bar_read(struct vfu_dev *dev, u32 bar, u64 off, u8 *buf, u32 count)
{
	u64 val;

	if (!bar_access_ok(dev, bar, off, count)) {
		memset(buf, 0xff, count);
		return;
	}
	if (vfu_msix_owns(dev, bar, off))
		val = vfu_msix_mmio_read(dev, off, count);
	else
		val = dev->ops->bar_read(dev->priv, bar, off, count);
	val = rnicd_le64(val);
	memcpy(buf, &val, count);
}

static void bar_write(struct vfu_dev *dev, u32 bar, u64 off, const u8 *buf, u32 count)
{
	u64 val = 0;

	if (!bar_access_ok(dev, bar, off, count))
		return;
	memcpy(&val, buf, count);
	val = rnicd_le64(val);
	if (vfu_msix_owns(dev, bar, off))
		vfu_msix_mmio_write(dev, off, count, val);
	else
		dev->ops->bar_write(dev->priv, bar, off, count, val);
}

int vfu_region_read(struct vfu_dev *dev, u32 region, u64 off, u8 *buf, u32 count)
{
	dev->stats.reads++;
	if (!vfu_region_size(dev, region))
		return -EINVAL;
	if (region != VFU_REGION_CONFIG) {
		bar_read(dev, region, off, buf, count);
		return 0;
	}
	if (!range_ok(off, count, PCI_CFG_SIZE))
		dev->stats.bad_accesses++;
	if (dev->removed || !range_ok(off, count, PCI_CFG_SIZE))
		memset(buf, 0xff, count);
	else
		pci_read(&dev->pci, (unsigned int)off, buf, count);
	return 0;
}

int vfu_region_write(struct vfu_dev *dev, u32 region, u64 off, const u8 *buf, u32 count)
{
	dev->stats.writes++;
	if (!vfu_region_size(dev, region))
		return -EINVAL;
	if (region != VFU_REGION_CONFIG) {
		bar_write(dev, region, off, buf, count);
		return 0;
	}
	if (!range_ok(off, count, PCI_CFG_SIZE))
		dev->stats.bad_accesses++;
	else if (!dev->removed)
		config_write(dev, (unsigned int)off, buf, count);
	return 0;
}

u32 vfu_config_peek(struct vfu_dev *dev, unsigned int off, unsigned int size)
{
	u8 buf[4] = {0};

	if (size > sizeof(buf) || !range_ok(off, size, PCI_CFG_SIZE))
		return UINT32_MAX;
	pci_read(&dev->pci, off, buf, size);
	return get_le32(buf);
}
