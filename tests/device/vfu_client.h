/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small VMM for tests: connects to a vfio-user device, gives it memory and
 * interrupts, and accesses its regions, rightly or (raw) wrongly. Blocking;
 * each wait is limited by the client's time-out, after which calls return
 * -ETIMEDOUT. All calls return 0 or more on success and -errno on failure,
 * where the errno may be the server's answer.
 */
#ifndef TESTS_DEVICE_VFU_CLIENT_H
#define TESTS_DEVICE_VFU_CLIENT_H

#include "base/util.h"
#include "vfu/proto.h"

#define VC_REGION_CONFIG 7
#define VC_MAX_RAM	 64
#define VC_MAX_VECTORS	 2048

struct vfu_client;

/* ---- connection ---- */

/* Retries until @timeout_ms is over; NULL with errno set. */
struct vfu_client *vc_connect(const char *path, int timeout_ms);
/* Takes the connected socket. */
struct vfu_client *vc_from_fd(int fd);
void vc_close(struct vfu_client *c);
int vc_fd(struct vfu_client *c);
void vc_set_timeout(struct vfu_client *c, int ms);
/*
 * For a server that runs in the same thread: called whenever the client would
 * wait, until an answer is there or the time-out is over.
 */
void vc_set_pump(struct vfu_client *c, void (*pump)(void *priv), void *priv);

/* VERSION with QEMU's capabilities. */
int vc_negotiate(struct vfu_client *c);
/* Negotiate, device and region info, as QEMU does at start. */
int vc_start(struct vfu_client *c);
/* Size of a region, 0 if absent; after vc_start(). */
u64 vc_region_size(struct vfu_client *c, unsigned int region);

/* ---- guest memory ---- */

/* A memfd of @len bytes at @iova, mapped read-write for the device. */
int vc_ram_add(struct vfu_client *c, u64 iova, u64 len);
int vc_ram_del(struct vfu_client *c, u64 iova);
/* Address in this process, NULL if the range is not inside one RAM block. */
void *vc_ram(struct vfu_client *c, u64 iova, u64 len);
int vc_dma_map(struct vfu_client *c, u64 iova, u64 len, u32 flags, int fd, u64 offset);
int vc_dma_unmap(struct vfu_client *c, u64 iova, u64 len);

/* ---- regions ---- */

int vc_read(struct vfu_client *c, unsigned int region, u64 off, void *buf, u32 count);
int vc_write(struct vfu_client *c, unsigned int region, u64 off, const void *buf, u32 count);
/* No reply is asked for, as QEMU does for BAR writes. */
int vc_write_posted(struct vfu_client *c, unsigned int region, u64 off, const void *buf, u32 count);

/* Values in host order; all-ones when the access failed, as a CPU would see. */
u8 vc_read8(struct vfu_client *c, unsigned int region, u64 off);
u16 vc_read16(struct vfu_client *c, unsigned int region, u64 off);
u32 vc_read32(struct vfu_client *c, unsigned int region, u64 off);
u64 vc_read64(struct vfu_client *c, unsigned int region, u64 off);
/* Posted when the region is a BAR, synchronous for configuration space. */
void vc_write8(struct vfu_client *c, unsigned int region, u64 off, u8 val);
void vc_write16(struct vfu_client *c, unsigned int region, u64 off, u16 val);
void vc_write32(struct vfu_client *c, unsigned int region, u64 off, u32 val);
void vc_write64(struct vfu_client *c, unsigned int region, u64 off, u64 val);

struct vc_write_one {
	u32 region;
	u32 count; /* up to 8 */
	u64 off;
	u64 val;
};

int vc_write_multi(struct vfu_client *c, const struct vc_write_one *w, unsigned int n);

/* ---- PCI ---- */

/* Memory decoding and bus mastering. */
int vc_pci_enable(struct vfu_client *c, bool bus_master);
/* Offset of a capability, 0 if absent. */
unsigned int vc_find_cap(struct vfu_client *c, u8 id);
unsigned int vc_find_ext_cap(struct vfu_client *c, u16 id);
int vc_flr(struct vfu_client *c);
int vc_device_reset(struct vfu_client *c);
/* D0 or D3hot (0 or 3) through the PM capability. */
int vc_set_power(struct vfu_client *c, unsigned int state);

/* Attach eventfds to vectors 0..@n-1 and enable MSI-X in configuration space. */
int vc_msix_enable(struct vfu_client *c, unsigned int n);
int vc_msix_disable(struct vfu_client *c);
/* Detach or attach the eventfd of one vector, as QEMU does when the guest changes its entry. */
int vc_msix_connect(struct vfu_client *c, unsigned int vector, bool on);
/* Interrupts of @vector since the last call; waits up to @timeout_ms for one. */
int vc_msix_wait(struct vfu_client *c, unsigned int vector, int timeout_ms);
int vc_msix_fd(struct vfu_client *c, unsigned int vector);

/* ---- raw messages ---- */

/*
 * One message: header made from @cmd and @flags (VFIO_USER_F_*) with a fresh id
 * and the true size. Returns the message id.
 */
int vc_send(struct vfu_client *c, u16 cmd, u32 flags, const void *body, u32 len, const int *fds,
	    unsigned int nfds);
/* Bytes as they are. */
int vc_send_raw(struct vfu_client *c, const void *buf, size_t len, const int *fds,
		unsigned int nfds);
/*
 * Next reply. Its body, as far as it fits, goes to @body; @len is in: room, out:
 * length. Returns the reply's error as -errno, 0 if it has none, -ECONNRESET
 * when the server closed the connection, -EPROTO for nonsense.
 */
int vc_recv(struct vfu_client *c, struct vfio_user_hdr *hdr, void *body, u32 *len);
/* Send, then wait for the reply with that id. */
int vc_call(struct vfu_client *c, u16 cmd, const void *body, u32 len, const int *fds,
	    unsigned int nfds, void *reply, u32 *reply_len);
/* The server closed the connection within the time-out. */
bool vc_is_closed(struct vfu_client *c);

#endif /* TESTS_DEVICE_VFU_CLIENT_H */
