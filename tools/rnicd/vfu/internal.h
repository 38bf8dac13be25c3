/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of vfu/ only. */
#ifndef RNICD_VFU_INTERNAL_H
#define RNICD_VFU_INTERNAL_H

#include "base/acceptor.h"
#include "vfu/json.h"
#include "vfu/pci.h"
#include "vfu/proto.h"
#include "vfu/vfu.h"

#define VFU_MAX_XFER 65536
#define VFU_MAX_FDS  16
#define VFU_MAX_MSG \
	(sizeof(struct vfio_user_hdr) + sizeof(struct vfio_user_region_rw) + VFU_MAX_XFER)
#define VFU_IN_SIZE	(2 * VFU_MAX_MSG)
#define VFU_OUT_SIZE	(2 * VFU_MAX_MSG)
#define VFU_MSIX_ENTRY	16
#define VFU_HANDOVER_NS NSEC_PER_SEC

/* One command while it is handled. */
struct vfu_msg {
	struct vfio_user_hdr hdr;
	const u8 *body; /* unaligned */
	u32 len; /* of the body */
	int *fds; /* a handler that keeps one puts -1 in its place */
	u32 nfds;
	u8 *reply; /* room for VFU_MAX_MSG less the header */
	u32 reply_len;
};

struct vfu_conn {
	int fd; /* -1: nobody there */
	struct loop_fd lf;
	bool negotiated;
	bool close_when_sent;
	bool dead; /* to be torn down once the stack has unwound */
	bool busy; /* inside conn callbacks */
	struct vfu_caps caps;
	u64 stream_pos; /* bytes received so far */
	/* Fds that came with the byte before fds_end; they belong to its message. */
	int fds[VFU_MAX_FDS];
	u32 nfds;
	u64 fds_end;
	u32 in_begin, in_end;
	u32 out_begin, out_end;
	u8 *in;
	u8 *out;
};

struct vfu_msix {
	int *efd; /* -1: none */
	u64 *pending;
	u8 *table;
};

struct vfu_dev {
	struct loop *loop;
	struct vfu_cfg cfg;
	const struct vfu_ops *ops;
	void *priv;
	struct dma_space *dma;
	struct vfu_pci pci;
	struct vfu_msix msix;
	struct vfu_conn conn;
	struct vfu_stats stats;
	bool bus_master;
	bool removed;

	struct acceptor acceptor;
	bool listening;
	/* A VMM that came while the last one's end was not yet seen. */
	int waiting_fd;
	struct loop_timer waiting_timer;
};

/* vfu.c */
int vfu_region_read(struct vfu_dev *dev, u32 region, u64 off, u8 *buf, u32 count);
int vfu_region_write(struct vfu_dev *dev, u32 region, u64 off, const u8 *buf, u32 count);
u64 vfu_region_size(const struct vfu_dev *dev, u32 region);
void vfu_do_reset(struct vfu_dev *dev, enum vfu_reset kind);
void vfu_update_bus_master(struct vfu_dev *dev);

/* msix.c */
int vfu_msix_init(struct vfu_dev *dev);
void vfu_msix_free(struct vfu_dev *dev);
void vfu_msix_reset(struct vfu_dev *dev);
void vfu_msix_drop_fds(struct vfu_dev *dev);
void vfu_msix_flush(struct vfu_dev *dev);
/* Takes @fd, which may be -1 to clear. */
void vfu_msix_set_fd(struct vfu_dev *dev, unsigned int vector, int fd);
/* Signal whatever the enables say: the VMM asked for it. */
void vfu_msix_force(struct vfu_dev *dev, unsigned int vector);
bool vfu_msix_owns(const struct vfu_dev *dev, u32 bar, u64 off);
u64 vfu_msix_mmio_read(struct vfu_dev *dev, u64 off, unsigned int size);
void vfu_msix_mmio_write(struct vfu_dev *dev, u64 off, unsigned int size, u64 val);

/* conn.c */
int vfu_conn_init(struct vfu_dev *dev);
void vfu_conn_free(struct vfu_dev *dev);
int vfu_conn_start(struct vfu_dev *dev, int fd);
/* The VMM is gone or is thrown out; @why is logged when @bad. */
void vfu_conn_close(struct vfu_dev *dev, bool bad, const char *why);

/* cmd.c: 0 or -errno for the reply */
int vfu_handle(struct vfu_dev *dev, struct vfu_msg *m);

/* listen.c */
void vfu_listen_stop(struct vfu_dev *dev);
/* The connection ended: serve the one that waits. */
void vfu_listen_next(struct vfu_dev *dev);

#endif /* RNICD_VFU_INTERNAL_H */
