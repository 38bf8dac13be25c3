// SPDX-License-Identifier: GPL-2.0-or-later
/* A small VMM for tests: see vfu_client.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <linux/pci_regs.h>

#include "vfu_client.h"

#define VC_TIMEOUT_MS 10000
#define VC_BUF_SIZE   (1 << 18)
#define VC_MAX_FDS    16
#define VC_REGIONS    9

struct vc_ram_block {
	u64 iova;
	u64 len; /* 0: free */
	u8 *host;
	int fd;
};

struct vfu_client {
	int fd;
	int timeout_ms;
	u16 next_id;
	u32 server_fds; /* per message */
	u64 region_size[VC_REGIONS];
	struct vc_ram_block ram[VC_MAX_RAM];
	int efd[VC_MAX_VECTORS];
	unsigned int vectors;
	void (*pump)(void *priv);
	void *pump_priv;
	u32 len; /* of what is in buf */
	u8 buf[VC_BUF_SIZE];
};

static u64 now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000 + (u64)ts.tv_nsec / NSEC_PER_MSEC;
}

/* ---- connection ---- */

struct vfu_client *vc_from_fd(int fd)
{
	struct vfu_client *c = calloc(1, sizeof(*c));
	unsigned int i;

	if (!c)
		return NULL;
	c->fd = fd;
	c->timeout_ms = VC_TIMEOUT_MS;
	c->server_fds = 1;
	c->next_id = 1;
	for (i = 0; i < VC_MAX_VECTORS; i++)
		c->efd[i] = -1;
	return c;
}

struct vfu_client *vc_connect(const char *path, int timeout_ms)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	u64 end = now_ms() + (u64)timeout_ms;
	int fd;

	if (strlen(path) >= sizeof(sa.sun_path)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	strcpy(sa.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return NULL;
	while (connect(fd, (const struct sockaddr *)&sa, sizeof(sa))) {
		if (now_ms() >= end) {
			close(fd);
			return NULL;
		}
		usleep(5000);
	}
	return vc_from_fd(fd);
}

void vc_close(struct vfu_client *c)
{
	unsigned int i;

	if (!c)
		return;
	if (c->fd >= 0)
		close(c->fd);
	for (i = 0; i < VC_MAX_RAM; i++) {
		if (!c->ram[i].len)
			continue;
		munmap(c->ram[i].host, c->ram[i].len);
		close(c->ram[i].fd);
	}
	for (i = 0; i < VC_MAX_VECTORS; i++)
		if (c->efd[i] >= 0)
			close(c->efd[i]);
	free(c);
}

int vc_fd(struct vfu_client *c)
{
	return c->fd;
}

void vc_set_timeout(struct vfu_client *c, int ms)
{
	c->timeout_ms = ms;
}

void vc_set_pump(struct vfu_client *c, void (*pump)(void *priv), void *priv)
{
	c->pump = pump;
	c->pump_priv = priv;
}

/* Until @fd is ready for @events; a server in this thread is run meanwhile. */
static int wait_fd(struct vfu_client *c, int fd, short events, int timeout_ms)
{
	struct pollfd pfd = {.fd = fd, .events = events};
	u64 end = now_ms() + (u64)timeout_ms;
	int n;

	for (;;) {
		u64 now = now_ms();
		int left = now < end ? (int)(end - now) : 0;

		if (c->pump)
			c->pump(c->pump_priv);
		n = poll(&pfd, 1, c->pump ? min(left, 1) : left);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (!left)
			return -ETIMEDOUT;
	}
}

/* ---- messages ---- */

static void put_fds(struct msghdr *msg, void *control, const int *fds, unsigned int nfds)
{
	struct cmsghdr *cm;

	msg->msg_control = control;
	msg->msg_controllen = CMSG_SPACE(nfds * sizeof(int));
	cm = CMSG_FIRSTHDR(msg);
	cm->cmsg_level = SOL_SOCKET;
	cm->cmsg_type = SCM_RIGHTS;
	cm->cmsg_len = CMSG_LEN(nfds * sizeof(int));
	memcpy(CMSG_DATA(cm), fds, nfds * sizeof(int));
}

int vc_send_raw(struct vfu_client *c, const void *buf, size_t len, const int *fds,
		unsigned int nfds)
{
	union {
		struct cmsghdr align;
		u8 buf[CMSG_SPACE(253 * sizeof(int))];
	} control = {0};
	const u8 *p = buf;
	ssize_t n;
	int ret;

	while (len) {
		struct iovec iov = {(void *)p, len};
		struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

		if (nfds)
			put_fds(&msg, control.buf, fds, nfds);
		n = sendmsg(c->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN) {
			ret = wait_fd(c, c->fd, POLLOUT, c->timeout_ms);
			if (ret)
				return ret;
			continue;
		}
		if (n < 0)
			return errno == EPIPE ? -ECONNRESET : -errno;
		p += n;
		len -= (size_t)n;
		nfds = 0;
	}
	return 0;
}

int vc_send(struct vfu_client *c, u16 cmd, u32 flags, const void *body, u32 len, const int *fds,
	    unsigned int nfds)
{
	struct vfio_user_hdr hdr = {
		.id = c->next_id++,
		.cmd = cmd,
		.size = (u32)sizeof(hdr) + len,
		.flags = flags,
	};
	u8 *msg = malloc(hdr.size);
	int ret;

	if (!msg)
		return -ENOMEM;
	memcpy(msg, &hdr, sizeof(hdr));
	if (len)
		memcpy(msg + sizeof(hdr), body, len);
	ret = vc_send_raw(c, msg, hdr.size, fds, nfds);
	free(msg);
	return ret ? ret : hdr.id;
}

/* Reads until at least @want bytes are in the buffer. */
static int fill(struct vfu_client *c, u32 want)
{
	ssize_t n;
	int ret;

	while (c->len < want) {
		n = recv(c->fd, c->buf + c->len, sizeof(c->buf) - c->len, MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN) {
			ret = wait_fd(c, c->fd, POLLIN, c->timeout_ms);
			if (ret)
				return ret;
			continue;
		}
		if (n <= 0)
			return n && errno != ECONNRESET ? -errno : -ECONNRESET;
		c->len += (u32)n;
	}
	return 0;
}

int vc_recv(struct vfu_client *c, struct vfio_user_hdr *hdr, void *body, u32 *len)
{
	u32 n;
	int ret;

	ret = fill(c, sizeof(*hdr));
	if (ret)
		return ret;
	memcpy(hdr, c->buf, sizeof(*hdr));
	if (hdr->size < sizeof(*hdr) || hdr->size > sizeof(c->buf) ||
	    (hdr->flags & VFIO_USER_F_TYPE_MASK) != VFIO_USER_F_TYPE_REPLY)
		return -EPROTO;
	ret = fill(c, hdr->size);
	if (ret)
		return ret;
	n = hdr->size - (u32)sizeof(*hdr);
	if (len) {
		if (body)
			memcpy(body, c->buf + sizeof(*hdr), min(n, *len));
		*len = n;
	}
	c->len -= hdr->size;
	memmove(c->buf, c->buf + hdr->size, c->len);
	if (!(hdr->flags & VFIO_USER_F_ERROR))
		return 0;
	return hdr->error ? -(int)hdr->error : -EIO;
}

int vc_call(struct vfu_client *c, u16 cmd, const void *body, u32 len, const int *fds,
	    unsigned int nfds, void *reply, u32 *reply_len)
{
	struct vfio_user_hdr hdr;
	int id, ret;

	id = vc_send(c, cmd, 0, body, len, fds, nfds);
	if (id < 0)
		return id;
	ret = vc_recv(c, &hdr, reply, reply_len);
	if (ret == -ECONNRESET || ret == -ETIMEDOUT || ret == -EPROTO)
		return ret;
	return hdr.id == id && hdr.cmd == cmd ? ret : -EPROTO;
}

bool vc_is_closed(struct vfu_client *c)
{
	u8 byte;

	if (wait_fd(c, c->fd, POLLIN, c->timeout_ms))
		return false;
	return recv(c->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) <= 0;
}

/* ---- start-up, as QEMU does it ---- */

static u32 parse_max_fds(const char *json)
{
	const char *p = strstr(json, "\"max_msg_fds\":");

	return p ? (u32)strtoul(p + strlen("\"max_msg_fds\":"), NULL, 10) : 1;
}

int vc_negotiate(struct vfu_client *c)
{
	static const char caps[] =
		"{\"capabilities\":{\"pgsizes\":4096,\"max_msg_fds\":16,\"max_dma_maps\":65535,"
		"\"max_data_xfer_size\":1048576,\"migration\":{\"max_bitmap_size\":268435456,"
		"\"pgsize\":4096},\"write_multiple\":true}}";
	struct vfio_user_version v = {.major = 0, .minor = 0};
	u8 msg[sizeof(v) + sizeof(caps)];
	char reply[1024] = {0};
	u32 len = sizeof(reply) - 1;
	int ret;

	memcpy(msg, &v, sizeof(v));
	memcpy(msg + sizeof(v), caps, sizeof(caps));
	ret = vc_call(c, VFIO_USER_VERSION, msg, sizeof(msg), NULL, 0, reply, &len);
	if (ret)
		return ret;
	if (len < sizeof(v) + 1)
		return -EPROTO;
	c->server_fds = min_t(u32, parse_max_fds(reply + sizeof(v)), VC_MAX_FDS);
	return c->server_fds ? 0 : -EPROTO;
}

static int get_region(struct vfu_client *c, u32 index)
{
	struct vfio_user_region_info r = {.argsz = sizeof(r), .index = index};
	u32 len = sizeof(r);
	int ret;

	ret = vc_call(c, VFIO_USER_DEVICE_GET_REGION_INFO, &r, sizeof(r), NULL, 0, &r, &len);
	if (ret)
		return ret;
	if (len != sizeof(r) || r.index != index || (r.flags & VFIO_USER_REGION_F_MMAP))
		return -EPROTO;
	c->region_size[index] = r.size;
	return 0;
}

int vc_start(struct vfu_client *c)
{
	struct vfio_user_device_info info = {.argsz = sizeof(info)};
	u32 len = sizeof(info), i;
	int ret;

	ret = vc_negotiate(c);
	if (ret)
		return ret;
	ret = vc_call(c, VFIO_USER_DEVICE_GET_INFO, &info, sizeof(info), NULL, 0, &info, &len);
	if (ret)
		return ret;
	if (len != sizeof(info) || info.num_regions != VC_REGIONS)
		return -EPROTO;
	for (i = 0; i < VC_REGIONS && !ret; i++)
		ret = get_region(c, i);
	return ret;
}

u64 vc_region_size(struct vfu_client *c, unsigned int region)
{
	return region < VC_REGIONS ? c->region_size[region] : 0;
}

/* ---- guest memory ---- */

int vc_dma_map(struct vfu_client *c, u64 iova, u64 len, u32 flags, int fd, u64 offset)
{
	struct vfio_user_dma_map r = {
		.argsz = sizeof(r),
		.flags = flags,
		.offset = offset,
		.iova = iova,
		.size = len,
	};

	return vc_call(c, VFIO_USER_DMA_MAP, &r, sizeof(r), &fd, fd >= 0, NULL, NULL);
}

int vc_dma_unmap(struct vfu_client *c, u64 iova, u64 len)
{
	struct vfio_user_dma_unmap r = {.argsz = sizeof(r), .iova = iova, .size = len};

	return vc_call(c, VFIO_USER_DMA_UNMAP, &r, sizeof(r), NULL, 0, NULL, NULL);
}

static int ram_create(struct vc_ram_block *b, u64 iova, u64 len)
{
	b->fd = memfd_create("guest-ram", MFD_CLOEXEC);
	if (b->fd < 0)
		return -errno;
	if (ftruncate(b->fd, (off_t)len)) {
		close(b->fd);
		return -errno;
	}
	b->host = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, 0);
	if (b->host == MAP_FAILED) {
		close(b->fd);
		return -errno;
	}
	b->iova = iova;
	b->len = len;
	return 0;
}

static void ram_destroy(struct vc_ram_block *b)
{
	munmap(b->host, b->len);
	close(b->fd);
	b->len = 0;
}

int vc_ram_add(struct vfu_client *c, u64 iova, u64 len)
{
	struct vc_ram_block *b = NULL;
	unsigned int i;
	int ret;

	for (i = 0; i < VC_MAX_RAM && !b; i++)
		if (!c->ram[i].len)
			b = &c->ram[i];
	if (!b)
		return -ENOSPC;
	ret = ram_create(b, iova, len);
	if (ret)
		return ret;
	ret = vc_dma_map(c, iova, len, VFIO_USER_DMA_F_READ | VFIO_USER_DMA_F_WRITE, b->fd, 0);
	if (ret)
		ram_destroy(b);
	return ret;
}

int vc_ram_del(struct vfu_client *c, u64 iova)
{
	unsigned int i;
	int ret;

	for (i = 0; i < VC_MAX_RAM; i++) {
		struct vc_ram_block *b = &c->ram[i];

		if (!b->len || b->iova != iova)
			continue;
		ret = vc_dma_unmap(c, iova, b->len);
		if (!ret)
			ram_destroy(b);
		return ret;
	}
	return -ENOENT;
}

void *vc_ram(struct vfu_client *c, u64 iova, u64 len)
{
	unsigned int i;

	for (i = 0; i < VC_MAX_RAM; i++) {
		struct vc_ram_block *b = &c->ram[i];

		if (b->len && iova >= b->iova && range_ok(iova - b->iova, len, b->len))
			return b->host + (iova - b->iova);
	}
	return NULL;
}

/* ---- regions ---- */

int vc_read(struct vfu_client *c, unsigned int region, u64 off, void *buf, u32 count)
{
	struct vfio_user_region_rw r = {.offset = off, .region = region, .count = count};
	u32 len = (u32)sizeof(r) + count;
	u8 *reply = malloc(len);
	int ret;

	if (!reply)
		return -ENOMEM;
	ret = vc_call(c, VFIO_USER_REGION_READ, &r, sizeof(r), NULL, 0, reply, &len);
	if (!ret && len != sizeof(r) + count)
		ret = -EPROTO;
	if (!ret)
		memcpy(buf, reply + sizeof(r), count);
	free(reply);
	return ret;
}

static u8 *write_body(unsigned int region, u64 off, const void *buf, u32 count, u32 *len)
{
	struct vfio_user_region_rw r = {.offset = off, .region = region, .count = count};
	u8 *body;

	*len = (u32)sizeof(r) + count;
	body = malloc(*len);
	if (!body)
		return NULL;
	memcpy(body, &r, sizeof(r));
	memcpy(body + sizeof(r), buf, count);
	return body;
}

int vc_write(struct vfu_client *c, unsigned int region, u64 off, const void *buf, u32 count)
{
	u32 len;
	u8 *body = write_body(region, off, buf, count, &len);
	int ret;

	if (!body)
		return -ENOMEM;
	ret = vc_call(c, VFIO_USER_REGION_WRITE, body, len, NULL, 0, NULL, NULL);
	free(body);
	return ret;
}

int vc_write_posted(struct vfu_client *c, unsigned int region, u64 off, const void *buf, u32 count)
{
	u32 len;
	u8 *body = write_body(region, off, buf, count, &len);
	int ret;

	if (!body)
		return -ENOMEM;
	ret = vc_send(c, VFIO_USER_REGION_WRITE, VFIO_USER_F_NO_REPLY, body, len, NULL, 0);
	free(body);
	return ret < 0 ? ret : 0;
}

static u64 read_val(struct vfu_client *c, unsigned int region, u64 off, u32 size)
{
	u64 val = 0;

	if (vc_read(c, region, off, &val, size))
		return UINT64_MAX;
	return le64_to_cpu(val);
}

u8 vc_read8(struct vfu_client *c, unsigned int region, u64 off)
{
	return (u8)read_val(c, region, off, 1);
}

u16 vc_read16(struct vfu_client *c, unsigned int region, u64 off)
{
	return (u16)read_val(c, region, off, 2);
}

u32 vc_read32(struct vfu_client *c, unsigned int region, u64 off)
{
	return (u32)read_val(c, region, off, 4);
}

u64 vc_read64(struct vfu_client *c, unsigned int region, u64 off)
{
	return read_val(c, region, off, 8);
}

static void write_val(struct vfu_client *c, unsigned int region, u64 off, u64 val, u32 size)
{
	val = (u64)cpu_to_le64(val);
	if (region == VC_REGION_CONFIG)
		vc_write(c, region, off, &val, size);
	else
		vc_write_posted(c, region, off, &val, size);
}

void vc_write8(struct vfu_client *c, unsigned int region, u64 off, u8 val)
{
	write_val(c, region, off, val, 1);
}

void vc_write16(struct vfu_client *c, unsigned int region, u64 off, u16 val)
{
	write_val(c, region, off, val, 2);
}

void vc_write32(struct vfu_client *c, unsigned int region, u64 off, u32 val)
{
	write_val(c, region, off, val, 4);
}

void vc_write64(struct vfu_client *c, unsigned int region, u64 off, u64 val)
{
	write_val(c, region, off, val, 8);
}

int vc_write_multi(struct vfu_client *c, const struct vc_write_one *w, unsigned int n)
{
	struct vfio_user_write_one one;
	u32 len = (u32)(sizeof(u64) + n * sizeof(one));
	u8 *body = malloc(len);
	u64 count = n, val;
	unsigned int i;
	int ret;

	if (!body)
		return -ENOMEM;
	memcpy(body, &count, sizeof(count));
	for (i = 0; i < n; i++) {
		one.offset = w[i].off;
		one.region = w[i].region;
		one.count = w[i].count;
		val = (u64)cpu_to_le64(w[i].val);
		memcpy(one.data, &val, sizeof(val));
		memcpy(body + sizeof(u64) + i * sizeof(one), &one, sizeof(one));
	}
	ret = vc_send(c, VFIO_USER_REGION_WRITE_MULTI, VFIO_USER_F_NO_REPLY, body, len, NULL, 0);
	free(body);
	return ret < 0 ? ret : 0;
}

/* ---- PCI ---- */

int vc_pci_enable(struct vfu_client *c, bool bus_master)
{
	u16 cmd = PCI_COMMAND_MEMORY | (bus_master ? PCI_COMMAND_MASTER : 0);
	u16 val = (u16)cpu_to_le16(cmd);

	return vc_write(c, VC_REGION_CONFIG, PCI_COMMAND, &val, sizeof(val));
}

unsigned int vc_find_cap(struct vfu_client *c, u8 id)
{
	unsigned int off = vc_read8(c, VC_REGION_CONFIG, PCI_CAPABILITY_LIST), n;

	/* A list that bites its tail ends with the counter. */
	for (n = 0; off >= 0x40 && n < 48; n++) {
		if (vc_read8(c, VC_REGION_CONFIG, off) == id)
			return off;
		off = vc_read8(c, VC_REGION_CONFIG, off + PCI_CAP_LIST_NEXT);
	}
	return 0;
}

unsigned int vc_find_ext_cap(struct vfu_client *c, u16 id)
{
	unsigned int off = 0x100, n;

	for (n = 0; off >= 0x100 && n < 480; n++) {
		u32 hdr = vc_read32(c, VC_REGION_CONFIG, off);

		if (PCI_EXT_CAP_ID(hdr) == id)
			return off;
		off = PCI_EXT_CAP_NEXT(hdr);
	}
	return 0;
}

int vc_flr(struct vfu_client *c)
{
	unsigned int exp = vc_find_cap(c, PCI_CAP_ID_EXP);
	u16 ctl;

	if (!exp || !(vc_read32(c, VC_REGION_CONFIG, exp + PCI_EXP_DEVCAP) & PCI_EXP_DEVCAP_FLR))
		return -EOPNOTSUPP;
	ctl = vc_read16(c, VC_REGION_CONFIG, exp + PCI_EXP_DEVCTL) | PCI_EXP_DEVCTL_BCR_FLR;
	ctl = (u16)cpu_to_le16(ctl);
	return vc_write(c, VC_REGION_CONFIG, exp + PCI_EXP_DEVCTL, &ctl, sizeof(ctl));
}

int vc_device_reset(struct vfu_client *c)
{
	return vc_call(c, VFIO_USER_DEVICE_RESET, NULL, 0, NULL, 0, NULL, NULL);
}

int vc_set_power(struct vfu_client *c, unsigned int state)
{
	unsigned int pm = vc_find_cap(c, PCI_CAP_ID_PM);
	u16 val = (u16)cpu_to_le16((u16)(state & PCI_PM_CTRL_STATE_MASK));

	if (!pm)
		return -EOPNOTSUPP;
	return vc_write(c, VC_REGION_CONFIG, pm + PCI_PM_CTRL, &val, sizeof(val));
}

/* As QEMU: not more descriptors in one message than the server takes. */
static int set_eventfds(struct vfu_client *c, unsigned int n)
{
	struct vfio_user_irq_set r = {
		.argsz = sizeof(r),
		.flags = VFIO_USER_IRQ_DATA_EVENTFD | VFIO_USER_IRQ_ACTION_TRIGGER,
		.index = VFU_IRQ_MSIX,
	};
	int ret = 0;

	for (r.start = 0; r.start < n && !ret; r.start += r.count) {
		r.count = min(n - r.start, c->server_fds);
		ret = vc_call(c, VFIO_USER_DEVICE_SET_IRQS, &r, sizeof(r), &c->efd[r.start],
			      r.count, NULL, NULL);
	}
	return ret;
}

static int set_msix_ctrl(struct vfu_client *c, u16 flags)
{
	unsigned int off = vc_find_cap(c, PCI_CAP_ID_MSIX);
	u16 val = (u16)cpu_to_le16(flags);

	if (!off)
		return -EOPNOTSUPP;
	return vc_write(c, VC_REGION_CONFIG, off + PCI_MSIX_FLAGS, &val, sizeof(val));
}

int vc_msix_enable(struct vfu_client *c, unsigned int n)
{
	unsigned int i;
	int ret;

	if (n > VC_MAX_VECTORS)
		return -EINVAL;
	for (i = 0; i < n; i++) {
		if (c->efd[i] >= 0)
			continue;
		c->efd[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (c->efd[i] < 0)
			return -errno;
	}
	c->vectors = n;
	ret = set_eventfds(c, n);
	return ret ? ret : set_msix_ctrl(c, PCI_MSIX_FLAGS_ENABLE);
}

int vc_msix_disable(struct vfu_client *c)
{
	struct vfio_user_irq_set r = {
		.argsz = sizeof(r),
		.flags = VFIO_USER_IRQ_DATA_NONE | VFIO_USER_IRQ_ACTION_TRIGGER,
		.index = VFU_IRQ_MSIX,
	};
	int ret;

	ret = set_msix_ctrl(c, 0);
	return ret ? ret
		   : vc_call(c, VFIO_USER_DEVICE_SET_IRQS, &r, sizeof(r), NULL, 0, NULL, NULL);
}

int vc_msix_connect(struct vfu_client *c, unsigned int vector, bool on)
{
	struct vfio_user_irq_set r = {
		.argsz = sizeof(r),
		.flags = VFIO_USER_IRQ_DATA_EVENTFD | VFIO_USER_IRQ_ACTION_TRIGGER,
		.index = VFU_IRQ_MSIX,
		.start = vector,
		.count = 1,
	};
	int fd = vc_msix_fd(c, vector);

	return vc_call(c, VFIO_USER_DEVICE_SET_IRQS, &r, sizeof(r), &fd, on, NULL, NULL);
}

int vc_msix_fd(struct vfu_client *c, unsigned int vector)
{
	return vector < VC_MAX_VECTORS ? c->efd[vector] : -1;
}

int vc_msix_wait(struct vfu_client *c, unsigned int vector, int timeout_ms)
{
	int fd = vc_msix_fd(c, vector);
	u64 n = 0;

	if (fd < 0)
		return -EBADF;
	if (wait_fd(c, fd, POLLIN, timeout_ms))
		return 0;
	if (read(fd, &n, sizeof(n)) != sizeof(n))
		return 0;
	return (int)min_t(u64, n, INT32_MAX);
}
