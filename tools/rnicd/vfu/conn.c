// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The connection to the VMM: a byte stream cut into messages, replies queued
 * in order. While replies wait for a VMM that does not read, nothing more is
 * read from it, so memory is bounded.
 *
 * Which message do file descriptors belong to? The kernel ends a read after the
 * data that carried some, so they belong to the message with the last byte read.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "vfu/internal.h"

int vfu_conn_init(struct vfu_dev *dev)
{
	dev->conn.in = malloc(VFU_IN_SIZE);
	dev->conn.out = malloc(VFU_OUT_SIZE);
	return dev->conn.in && dev->conn.out ? 0 : -ENOMEM;
}

void vfu_conn_free(struct vfu_dev *dev)
{
	free(dev->conn.in);
	free(dev->conn.out);
}

static void close_fds(const int *fds, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* ---- end ---- */

static void teardown(struct vfu_dev *dev)
{
	struct vfu_conn *c = &dev->conn;

	loop_fd_del(&c->lf);
	close(c->fd);
	c->fd = -1;
	close_fds(c->fds, c->nfds);
	c->nfds = 0;
	if (c->negotiated) {
		c->negotiated = false;
		vfu_do_reset(dev, VFU_RESET_LOST);
		dma_unmap_all(dev->dma);
		vfu_msix_drop_fds(dev);
		if (dev->ops->attached)
			dev->ops->attached(dev->priv, false);
	}
	vfu_listen_next(dev);
}

void vfu_conn_close(struct vfu_dev *dev, bool bad, const char *why)
{
	struct vfu_conn *c = &dev->conn;

	if (c->fd < 0 || c->dead)
		return;
	if (bad) {
		dev->stats.disconnects_bad++;
		log_warn_ratelimited("vfu: VMM thrown out: %s", why);
	} else {
		log_info_ratelimited("vfu: VMM detached: %s", why);
	}
	c->dead = true;
	if (!c->busy)
		teardown(dev);
}

/* ---- replies ---- */

static void flush_out(struct vfu_dev *dev)
{
	struct vfu_conn *c = &dev->conn;
	ssize_t n;

	while (c->out_begin < c->out_end) {
		n = send(c->fd, c->out + c->out_begin, c->out_end - c->out_begin,
			 MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			vfu_conn_close(dev, false, "cannot send");
			return;
		}
		c->out_begin += (u32)n;
	}
	c->out_begin = 0;
	c->out_end = 0;
	if (c->close_when_sent)
		vfu_conn_close(dev, true, "version mismatch or broken message");
}

static void put_reply(struct vfu_dev *dev, const struct vfu_msg *m, int err)
{
	struct vfio_user_hdr hdr = {
		.id = m->hdr.id,
		.cmd = m->hdr.cmd,
		.flags = VFIO_USER_F_TYPE_REPLY,
		.size = sizeof(hdr),
	};
	struct vfu_conn *c = &dev->conn;

	if (err) {
		dev->stats.errors++;
		hdr.flags |= VFIO_USER_F_ERROR;
		hdr.error = (u32)-err;
	} else {
		hdr.size += m->reply_len;
	}
	if (m->hdr.flags & VFIO_USER_F_NO_REPLY)
		return;
	memcpy(c->out + c->out_end, &hdr, sizeof(hdr));
	c->out_end += hdr.size;
}

/* ---- messages ---- */

static bool hdr_ok(struct vfu_dev *dev, const struct vfio_user_hdr *hdr)
{
	const char *why = NULL;

	/* After either of these the next message cannot be found. */
	if (hdr->size < sizeof(*hdr))
		why = "message shorter than its header";
	else if (hdr->size > VFU_MAX_MSG)
		why = "message too long";
	else if ((hdr->flags & VFIO_USER_F_TYPE_MASK) == VFIO_USER_F_TYPE_REPLY)
		why = "reply to a command that was never sent";
	if (why)
		vfu_conn_close(dev, true, why);
	return !why;
}

/* Position in the stream just behind the message at in_begin. */
static u64 msg_end(const struct vfu_conn *c, const struct vfio_user_hdr *hdr)
{
	return c->stream_pos - (c->in_end - c->in_begin) + hdr->size;
}

static void handle_msg(struct vfu_dev *dev, const struct vfio_user_hdr *hdr)
{
	struct vfu_conn *c = &dev->conn;
	struct vfu_msg m = {
		.hdr = *hdr,
		.body = c->in + c->in_begin + sizeof(*hdr),
		.len = hdr->size - (u32)sizeof(*hdr),
		.fds = c->fds,
		.reply = c->out + c->out_end + sizeof(*hdr),
	};
	int ret;

	if (c->nfds && c->fds_end <= msg_end(c, hdr)) {
		m.nfds = c->nfds;
		c->nfds = 0;
	}
	c->in_begin += hdr->size;
	dev->stats.messages++;
	if (hdr->flags & ~(u32)VFIO_USER_F_NO_REPLY)
		ret = -EINVAL;
	else
		ret = vfu_handle(dev, &m);
	if (ret)
		log_debug("vfu: command %u of %u bytes refused: %s", hdr->cmd, hdr->size,
			  strerror(-ret));
	close_fds(m.fds, m.nfds);
	put_reply(dev, &m, ret);
}

/* Returns false when it stopped for want of room for replies. */
static bool process(struct vfu_dev *dev)
{
	struct vfu_conn *c = &dev->conn;
	struct vfio_user_hdr hdr;

	while (!c->dead && !c->close_when_sent && c->in_end - c->in_begin >= sizeof(hdr)) {
		memcpy(&hdr, c->in + c->in_begin, sizeof(hdr));
		if (!hdr_ok(dev, &hdr) || c->in_end - c->in_begin < hdr.size)
			break;
		if (VFU_OUT_SIZE - c->out_end < VFU_MAX_MSG)
			flush_out(dev);
		if (c->dead)
			break;
		if (VFU_OUT_SIZE - c->out_end < VFU_MAX_MSG)
			return false;
		handle_msg(dev, &hdr);
	}
	return true;
}

static void compact(struct vfu_conn *c)
{
	c->in_end -= c->in_begin;
	memmove(c->in, c->in + c->in_begin, c->in_end);
	c->in_begin = 0;
}

/* ---- receiving ---- */

static int take_fds(struct vfu_dev *dev, struct msghdr *msg)
{
	struct vfu_conn *c = &dev->conn;
	struct cmsghdr *cm;
	int fds[VFU_MAX_FDS];
	u32 n;

	for (cm = CMSG_FIRSTHDR(msg); cm; cm = CMSG_NXTHDR(msg, cm)) {
		if (cm->cmsg_level != SOL_SOCKET || cm->cmsg_type != SCM_RIGHTS)
			continue;
		n = (u32)((cm->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(cm), min_t(u32, n, VFU_MAX_FDS) * sizeof(int));
		if (n > VFU_MAX_FDS - c->nfds) {
			close_fds(fds, min_t(u32, n, VFU_MAX_FDS));
			return -EMSGSIZE;
		}
		memcpy(c->fds + c->nfds, fds, n * sizeof(int));
		c->nfds += n;
		c->fds_end = c->stream_pos;
	}
	/* The kernel closed those that had no room. */
	return msg->msg_flags & MSG_CTRUNC ? -EMSGSIZE : 0;
}

/* Returns false when there is nothing to process. */
static bool receive(struct vfu_dev *dev)
{
	union {
		struct cmsghdr align;
		u8 buf[CMSG_SPACE(VFU_MAX_FDS * sizeof(int))];
	} control;
	struct vfu_conn *c = &dev->conn;
	struct iovec iov = {c->in + c->in_end, VFU_IN_SIZE - c->in_end};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf),
	};
	ssize_t n;

	n = recvmsg(c->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		vfu_conn_close(dev, false, n ? strerror(errno) : "closed by the VMM");
		return false;
	}
	c->stream_pos += (u64)n;
	c->in_end += (u32)n;
	if (take_fds(dev, &msg)) {
		vfu_conn_close(dev, true, "too many file descriptors with one message");
		return false;
	}
	return true;
}

/* What to wait for: no more commands while replies are stuck. */
static void set_events(struct vfu_dev *dev, bool stuck)
{
	struct vfu_conn *c = &dev->conn;
	u32 events = 0;

	if (!stuck && !c->close_when_sent)
		events |= EPOLLIN;
	if (c->out_end)
		events |= EPOLLOUT;
	loop_fd_mod(&c->lf, events);
}

static void conn_event(struct loop_fd *lf, u32 events)
{
	struct vfu_dev *dev = container_of(lf, struct vfu_dev, conn.lf);
	struct vfu_conn *c = &dev->conn;
	bool room = true;

	c->busy = true;
	if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
		flush_out(dev);
	/* Messages may be left from when there was no room for replies. */
	if (!c->dead && (events & EPOLLOUT))
		room = process(dev);
	if (!c->dead && room && (events & (EPOLLIN | EPOLLHUP | EPOLLERR))) {
		compact(c);
		if (receive(dev))
			room = process(dev);
	}
	if (!c->dead)
		flush_out(dev);
	if (!c->dead)
		set_events(dev, !room);
	c->busy = false;
	if (c->dead)
		teardown(dev);
}

int vfu_conn_start(struct vfu_dev *dev, int fd)
{
	struct vfu_conn *c = &dev->conn;
	int ret;

	ret = loop_fd_add(dev->loop, &c->lf, fd, EPOLLIN, conn_event);
	if (ret) {
		close(fd);
		return ret;
	}
	c->fd = fd;
	c->dead = false;
	c->negotiated = false;
	c->close_when_sent = false;
	c->stream_pos = 0;
	c->in_begin = 0;
	c->in_end = 0;
	c->out_begin = 0;
	c->out_end = 0;
	return 0;
}
