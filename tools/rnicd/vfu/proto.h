/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages of the vfio-user protocol, as a stock QEMU sends them. All fields
 * are in host byte order: both ends are on one machine.
 */
#ifndef RNICD_VFU_PROTO_H
#define RNICD_VFU_PROTO_H

#include "base/util.h"

#define VFIO_USER_MAJOR 0
#define VFIO_USER_MINOR 1

enum vfio_user_cmd {
	VFIO_USER_VERSION = 1,
	VFIO_USER_DMA_MAP = 2,
	VFIO_USER_DMA_UNMAP = 3,
	VFIO_USER_DEVICE_GET_INFO = 4,
	VFIO_USER_DEVICE_GET_REGION_INFO = 5,
	VFIO_USER_DEVICE_GET_REGION_IO_FDS = 6,
	VFIO_USER_DEVICE_GET_IRQ_INFO = 7,
	VFIO_USER_DEVICE_SET_IRQS = 8,
	VFIO_USER_REGION_READ = 9,
	VFIO_USER_REGION_WRITE = 10,
	VFIO_USER_DMA_READ = 11,
	VFIO_USER_DMA_WRITE = 12,
	VFIO_USER_DEVICE_RESET = 13,
	VFIO_USER_DIRTY_PAGES = 14,
	VFIO_USER_REGION_WRITE_MULTI = 15,
};

/* struct vfio_user_hdr.flags */
#define VFIO_USER_F_TYPE_MASK	 0x0f
#define VFIO_USER_F_TYPE_COMMAND 0x00
#define VFIO_USER_F_TYPE_REPLY	 0x01
#define VFIO_USER_F_NO_REPLY	 0x10
#define VFIO_USER_F_ERROR	 0x20

struct vfio_user_hdr {
	u16 id;
	u16 cmd;
	u32 size; /* of the whole message */
	u32 flags;
	u32 error; /* errno, in replies with VFIO_USER_F_ERROR */
};

struct vfio_user_version {
	u16 major;
	u16 minor;
	char json[]; /* NUL-terminated */
};

#define VFIO_USER_DMA_F_READ  1
#define VFIO_USER_DMA_F_WRITE 2

struct vfio_user_dma_map {
	u32 argsz;
	u32 flags;
	u64 offset;
	u64 iova;
	u64 size;
};

#define VFIO_USER_UNMAP_F_DIRTY 1 /* get dirty bitmap: not supported */
#define VFIO_USER_UNMAP_F_ALL	2

struct vfio_user_dma_unmap {
	u32 argsz;
	u32 flags;
	u64 iova;
	u64 size;
};

#define VFIO_USER_DEVICE_F_RESET 1
#define VFIO_USER_DEVICE_F_PCI	 2

struct vfio_user_device_info {
	u32 argsz;
	u32 flags;
	u32 num_regions;
	u32 num_irqs;
};

#define VFIO_USER_REGION_F_READ	 1
#define VFIO_USER_REGION_F_WRITE 2
#define VFIO_USER_REGION_F_MMAP	 4

struct vfio_user_region_info {
	u32 argsz;
	u32 flags;
	u32 index;
	u32 cap_offset;
	u64 size;
	u64 offset;
};

#define VFIO_USER_IRQ_F_EVENTFD	   1
#define VFIO_USER_IRQ_F_MASKABLE   2
#define VFIO_USER_IRQ_F_AUTOMASKED 4
#define VFIO_USER_IRQ_F_NORESIZE   8

struct vfio_user_irq_info {
	u32 argsz;
	u32 flags;
	u32 index;
	u32 count;
};

#define VFIO_USER_IRQ_DATA_NONE	     0x01
#define VFIO_USER_IRQ_DATA_BOOL	     0x02
#define VFIO_USER_IRQ_DATA_EVENTFD   0x04
#define VFIO_USER_IRQ_DATA_MASK	     0x07
#define VFIO_USER_IRQ_ACTION_MASK    0x08
#define VFIO_USER_IRQ_ACTION_UNMASK  0x10
#define VFIO_USER_IRQ_ACTION_TRIGGER 0x20
#define VFIO_USER_IRQ_ACTIONS	     0x38

struct vfio_user_irq_set {
	u32 argsz;
	u32 flags;
	u32 index;
	u32 start;
	u32 count;
};

/* REGION_READ and REGION_WRITE, and their replies */
struct vfio_user_region_rw {
	u64 offset;
	u32 region;
	u32 count;
};

#define VFIO_USER_MULTI_DATA 8
#define VFIO_USER_MULTI_MAX  200

struct vfio_user_write_one {
	u64 offset;
	u32 region;
	u32 count;
	u8 data[VFIO_USER_MULTI_DATA];
};

struct vfio_user_write_multi {
	u64 count;
	struct vfio_user_write_one wrs[];
};

/* PCI devices have the regions and interrupts of VFIO. */
enum {
	VFU_REGION_CONFIG = 7,
	VFU_NUM_REGIONS = 9,
};

enum {
	VFU_IRQ_INTX = 0,
	VFU_IRQ_MSI = 1,
	VFU_IRQ_MSIX = 2,
	VFU_IRQ_ERR = 3,
	VFU_IRQ_REQ = 4,
	VFU_NUM_IRQS = 5,
};

#endif /* RNICD_VFU_PROTO_H */
