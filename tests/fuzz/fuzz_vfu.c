// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A hostile VMM. The input is a sequence of steps, each a control byte and what it needs:
 *
 *   bits 7:6  0: raw bytes: u16 length, bytes
 *             1: one message with a true header: u8 command, u8 flags, u16 length, body
 *             2: the device acts: u8 what, u64 address (DMA, interrupts, memory lost)
 *             3: the VMM goes and another comes; bit 0: it negotiates
 *   bits 5:4  number of file descriptors that go along
 *   bits 3:2  their kind: memory, eventfd, pipe, socket
 *
 * The device behind uses guest memory in its callbacks as a real one would. No descriptor may be
 * left at the end.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "vfu/proto.h"
#include "vfu/vfu.h"

/* As large as a guest of today, but sparse. */
#define MEMORY_SIZE (4ULL << 30)

struct input {
	const u8 *p;
	size_t left;
};

static struct loop *loop;
static struct vfu_dev *dev;
static int vmm = -1;
static int memory = -1;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/* ---- the device ---- */

static void use_memory(u64 addr)
{
	struct dma_space *dma = vfu_dma(dev);
	struct iovec iov[4];
	u8 buf[300];
	u64 word;
	int n, i;

	if (!dma_read(dma, addr, buf, sizeof(buf)))
		dma_write(dma, addr ^ 0x1000, buf, sizeof(buf));
	dma_read_le64(dma, addr & ~7ULL, &word);
	dma_write_le32(dma, addr, 7);
	n = dma_iov(dma, addr, addr & 0x7fff, DMA_PROT_RW, iov, 4);
	for (i = 0; i < n; i++)
		memset(iov[i].iov_base, i, iov[i].iov_len);
}

static u64 dev_read(void *priv, unsigned int bar, u64 off, unsigned int size)
{
	if (off + size > 0x4000 || off % size)
		abort();
	use_memory(off << 8);
	return off * 0x0101010101010101ULL;
}

static void dev_write(void *priv, unsigned int bar, u64 off, unsigned int size, u64 val)
{
	if (off + size > 0x100000 || off % size)
		abort();
	use_memory(val);
	vfu_msix_raise(dev, (unsigned int)val);
}

static void dev_reset(void *priv, enum vfu_reset kind)
{
	if (dma_enabled(vfu_dma(dev)))
		abort();
	vfu_msix_raise(dev, 0);
}

static const struct vfu_ops ops = {
	.bar_read = dev_read,
	.bar_write = dev_write,
	.reset = dev_reset,
};

static const struct vfu_cfg cfg = {
	.vendor_id = 0x1234,
	.device_id = 0x0e57,
	.class_code = 0x020000,
	.bar = {[0] = {.size = 0x4000},
		[2] = {.size = 0x100000, .is64 = true, .prefetch = true},
		[4] = {.size = 0x4000}},
	.msix_vectors = 16,
	.msix_bar = 4,
	.msix_pba_off = 0x2000,
	.max_dma_maps = 32,
};

/* ---- the VMM ---- */

static int make_fd(unsigned int kind, int *other)
{
	int pair[2];

	*other = -1;
	switch (kind) {
	case 0:
		return fcntl(memory, F_DUPFD_CLOEXEC, 0);
	case 1:
		return eventfd(0, EFD_CLOEXEC);
	case 2:
		if (pipe2(pair, O_CLOEXEC))
			abort();
		break;
	default:
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
			abort();
		break;
	}
	*other = pair[0];
	return pair[1];
}

static void send_bytes(const u8 *buf, size_t len, unsigned int ctl)
{
	union {
		struct cmsghdr align;
		u8 buf[CMSG_SPACE(3 * sizeof(int))];
	} control = {0};
	unsigned int nfds = ctl >> 4 & 3, i;
	struct iovec iov = {(void *)buf, len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	int fds[3], other[3];
	struct cmsghdr *cm;

	for (i = 0; i < nfds; i++)
		fds[i] = make_fd(ctl >> 2 & 3, &other[i]);
	if (nfds) {
		msg.msg_control = control.buf;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		cm = CMSG_FIRSTHDR(&msg);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(cm), fds, nfds * sizeof(int));
	}
	/* Whether it takes it is the device's matter. */
	if (sendmsg(vmm, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		i = 0;
	for (i = 0; i < nfds; i++) {
		close(fds[i]);
		if (other[i] >= 0)
			close(other[i]);
	}
}

static void run(void)
{
	u8 sink[65536];

	loop_run_once(loop, 0);
	/* Some VMMs read their replies. */
	if (recv(vmm, sink, sizeof(sink), MSG_DONTWAIT) > 0)
		loop_run_once(loop, 0);
}

static void send_message(u16 cmd, u32 flags, const u8 *body, size_t len, unsigned int ctl)
{
	static u8 msg[sizeof(struct vfio_user_hdr) + 65536];
	struct vfio_user_hdr hdr = {
		.cmd = cmd,
		.flags = flags,
		.size = (u32)(sizeof(hdr) + len),
	};

	memcpy(msg, &hdr, sizeof(hdr));
	memcpy(msg + sizeof(hdr), body, len);
	send_bytes(msg, hdr.size, ctl);
}

static void new_vmm(bool negotiate)
{
	static const u8 version[] = "\0\0\0\0{\"capabilities\":{\"write_multiple\":true}}";
	int sv[2];

	if (vmm >= 0)
		close(vmm);
	vmm = -1;
	loop_run_once(loop, 0);
	loop_run_once(loop, 0);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv))
		abort();
	vmm = sv[0];
	/* The last one's end was seen, or it still sits behind unread messages. */
	vfu_detach(dev);
	if (vfu_attach_fd(dev, sv[1]))
		abort();
	if (negotiate) {
		send_message(VFIO_USER_VERSION, 0, version, sizeof(version), 0);
		run();
	}
}

/* ---- steps ---- */

static u64 take(struct input *in, unsigned int bytes)
{
	u64 v = 0;

	if (in->left < bytes) {
		in->left = 0;
		return 0;
	}
	memcpy(&v, in->p, bytes);
	in->p += bytes;
	in->left -= bytes;
	return le64_to_cpu(v);
}

static void device_acts(struct input *in)
{
	unsigned int what = (unsigned int)take(in, 1);
	u64 addr = take(in, 8);

	switch (what % 4) {
	case 0:
		use_memory(addr);
		break;
	case 1:
		vfu_msix_raise(dev, (unsigned int)addr);
		break;
	case 2:
		/* The VMM cuts the file off under its mappings, and makes it whole again. */
		if (ftruncate(memory, (off_t)(addr & 0xf000)))
			abort();
		use_memory(addr >> 16);
		if (ftruncate(memory, MEMORY_SIZE))
			abort();
		break;
	case 3:
		vfu_set_removed(dev, addr & 1);
		break;
	}
}

static void step(struct input *in)
{
	unsigned int ctl = (unsigned int)take(in, 1), cmd, flags;
	size_t len;

	switch (ctl >> 6) {
	case 0:
		len = min_t(size_t, take(in, 2), in->left);
		send_bytes(in->p, len, ctl);
		break;
	case 1:
		cmd = (unsigned int)take(in, 1);
		flags = (unsigned int)take(in, 1);
		len = min_t(size_t, take(in, 2), in->left);
		send_message((u16)cmd, flags, in->p, len, ctl);
		break;
	case 2:
		device_acts(in);
		return;
	default:
		new_vmm(ctl & 1);
		return;
	}
	in->p += len;
	in->left -= len;
	run();
}

static int lowest_fd(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	close(fd);
	return fd;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	signal(SIGPIPE, SIG_IGN);
	log_set_level(LOG_LVL_ERR);
	memory = memfd_create("guest", MFD_CLOEXEC);
	loop = loop_new(NULL);
	if (memory < 0 || !loop || ftruncate(memory, MEMORY_SIZE))
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = {data, size};
	int fd = lowest_fd(), steps = 0;

	dev = vfu_new(loop, &cfg, &ops, NULL);
	if (!dev)
		abort();
	new_vmm(size && data[size - 1] & 1);
	while (in.left && steps++ < 1000)
		step(&in);
	vfu_free(dev);
	close(vmm);
	vmm = -1;
	/* What this guest wrote is not there for the next. */
	if (ftruncate(memory, 0) || ftruncate(memory, MEMORY_SIZE))
		abort();
	if (lowest_fd() != fd) {
		fprintf(stderr, "a file descriptor was left open\n");
		abort();
	}
	return 0;
}
