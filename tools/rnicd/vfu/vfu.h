/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A PCI function served over a vfio-user socket: one VMM at a time, and a new
 * one may attach after the old went away. Configuration space, MSI-X and guest
 * memory are handled here; the device behind supplies its registers.
 *
 * No region is ever mmap-able: one such region would turn off posted writes for
 * the whole device in QEMU and leave doorbells without a wake-up.
 */
#ifndef RNICD_VFU_VFU_H
#define RNICD_VFU_VFU_H

#include "base/loop.h"
#include "base/util.h"
#include "vfu/dma.h"

#define VFU_NUM_BARS	     6
#define VFU_MSIX_MAX_VECTORS 2048

struct vfu_dev;

enum vfu_reset {
	VFU_RESET_FLR, /* guest wrote Initiate Function Level Reset */
	VFU_RESET_DEVICE, /* VMM reset the machine (VFIO_USER_DEVICE_RESET) */
	VFU_RESET_LOST, /* the VMM is gone; its memory goes right after */
	VFU_RESET_REMOVED, /* vfu_set_removed() */
};

/*
 * Callbacks of the device; all from the loop's thread, none may block. They may
 * call vfu_msix_raise() and dma_*(), not vfu_free().
 */
struct vfu_ops {
	/*
	 * Access to BAR @bar, naturally aligned, @size 1, 2, 4 or 8, wholly
	 * inside the BAR, function in D0, memory decoding is the VMM's matter.
	 * Values are in host order. The MSI-X BAR's table and PBA never come here.
	 */
	u64 (*bar_read)(void *priv, unsigned int bar, u64 off, unsigned int size);
	void (*bar_write)(void *priv, unsigned int bar, u64 off, unsigned int size, u64 val);
	/*
	 * Stop everything and return to power-on state. Mappings are still there
	 * but bus mastering is already off.
	 */
	void (*reset)(void *priv, enum vfu_reset kind);
	/* Optional: bus mastering (COMMAND.BME in D0) changed. */
	void (*bus_master)(void *priv, bool on);
	/* Optional: a VMM negotiated (true) or went (false, after reset LOST). */
	void (*attached)(void *priv, bool on);
};

struct vfu_bar_cfg {
	u64 size; /* power of two, at least 4096; 0: BAR absent */
	bool is64; /* takes this and the next slot */
	bool prefetch;
};

struct vfu_cfg {
	u16 vendor_id;
	u16 device_id;
	u16 subsys_vendor_id;
	u16 subsys_id;
	u32 class_code; /* 24 bits: class, subclass, interface */
	u8 revision;
	struct vfu_bar_cfg bar[VFU_NUM_BARS];
	u16 msix_vectors; /* 1 .. 2048 */
	u8 msix_bar;
	u32 msix_table_off; /* 4 KiB aligned: QEMU overlays that page */
	u32 msix_pba_off;
	u8 mac[6]; /* for the Device Serial Number capability */
	u32 max_dma_maps; /* 0: default */
};

struct vfu_stats {
	u64 messages;
	u64 errors; /* error replies sent */
	u64 attaches;
	u64 disconnects_bad; /* connections closed for a protocol violation */
	u64 reads;
	u64 writes;
	u64 posted_writes;
	u64 bad_accesses; /* misaligned, odd size, out of range */
	u64 pm_accesses; /* refused because the function was not in D0 */
	u64 msix_sent;
	u64 msix_pended; /* raised while it could not be delivered */
	u64 resets;
};

/**
 * vfu_new() - make a function.
 * @loop: loop that serves it.
 * @cfg: description, copied.
 * @ops: callbacks, kept by reference.
 * @priv: first argument of the callbacks.
 * Return: the function, or NULL with errno set (EINVAL when @cfg is wrong; the
 *	reason is logged).
 */
struct vfu_dev *vfu_new(struct loop *loop, const struct vfu_cfg *cfg, const struct vfu_ops *ops,
			void *priv);
void vfu_free(struct vfu_dev *dev);

/*
 * Bind @path and wait for VMMs. A stale socket of that name is replaced, one
 * that somebody listens on is not: -EADDRINUSE. 0 or -errno.
 */
int vfu_listen(struct vfu_dev *dev, const char *path);
/* Serve an already connected stream socket; takes the fd. For tests. */
int vfu_attach_fd(struct vfu_dev *dev, int fd);
/* Drop the VMM as if it had gone. */
void vfu_detach(struct vfu_dev *dev);
bool vfu_is_attached(const struct vfu_dev *dev);

struct dma_space *vfu_dma(struct vfu_dev *dev);

/**
 * vfu_msix_raise() - signal an interrupt.
 * @dev: the function.
 * @vector: index below the table size; others are ignored and counted.
 *
 * Delivered at once when MSI-X is enabled, the function not masked, bus
 * mastering on and the VMM has attached an eventfd to the vector; else the
 * pending bit is set and it is delivered once that holds.
 * Return: true if it was delivered.
 */
bool vfu_msix_raise(struct vfu_dev *dev, unsigned int vector);
unsigned int vfu_msix_count(const struct vfu_dev *dev);
bool vfu_msix_enabled(const struct vfu_dev *dev);

/*
 * For the fault "removed": the device is reset, and from then on all reads
 * answer all-ones and writes vanish, until it comes back in the state of power on.
 */
void vfu_set_removed(struct vfu_dev *dev, bool removed);

const struct vfu_stats *vfu_stats(const struct vfu_dev *dev);

/* Configuration space as the guest would read it; @size 1, 2 or 4. For state dumps and tests. */
u32 vfu_config_peek(struct vfu_dev *dev, unsigned int off, unsigned int size);

#endif /* RNICD_VFU_VFU_H */
