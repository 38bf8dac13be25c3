// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The listening socket. A VMM that connects right after another was killed may
 * be seen before the end of the old one: it waits a moment, then is refused.
 * Who connected and never said VERSION keeps nobody out: he is thrown out then.
 */
#include <errno.h>
#include <unistd.h>

#include "base/log.h"
#include "vfu/internal.h"

static void refuse(int fd)
{
	log_warn_ratelimited("vfu: another VMM is attached: connection refused");
	close(fd);
}

static void start(struct vfu_dev *dev, int fd)
{
	int ret = vfu_conn_start(dev, fd);

	if (ret)
		log_warn_ratelimited("vfu: cannot serve a VMM: %s", strerror(-ret));
}

static void on_connect(struct acceptor *a, int fd)
{
	struct vfu_dev *dev = container_of(a, struct vfu_dev, acceptor);

	if (dev->conn.fd < 0) {
		start(dev, fd);
	} else if (dev->waiting_fd < 0) {
		dev->waiting_fd = fd;
		loop_timer_set(&dev->waiting_timer, loop_now(dev->loop) + VFU_HANDOVER_NS);
	} else {
		refuse(fd);
	}
}

static void on_waited(struct loop_timer *t)
{
	struct vfu_dev *dev = container_of(t, struct vfu_dev, waiting_timer);

	if (!dev->conn.negotiated) {
		vfu_conn_close(dev, true, "no VERSION, and another VMM waits");
		return;
	}
	refuse(dev->waiting_fd);
	dev->waiting_fd = -1;
}

void vfu_listen_next(struct vfu_dev *dev)
{
	int fd = dev->waiting_fd;

	if (fd < 0)
		return;
	dev->waiting_fd = -1;
	loop_timer_cancel(&dev->waiting_timer);
	start(dev, fd);
}

/* ---- binding ---- */

int vfu_listen(struct vfu_dev *dev, const char *path)
{
	int ret;

	if (dev->listening)
		return -EBUSY;
	ret = acceptor_open(&dev->acceptor, dev->loop, path, 0, on_connect);
	if (ret)
		return ret;
	dev->listening = true;
	loop_timer_init(&dev->waiting_timer, dev->loop, on_waited);
	return 0;
}

void vfu_listen_stop(struct vfu_dev *dev)
{
	if (!dev->listening)
		return;
	loop_timer_cancel(&dev->waiting_timer);
	if (dev->waiting_fd >= 0)
		close(dev->waiting_fd);
	dev->waiting_fd = -1;
	acceptor_close(&dev->acceptor);
	dev->listening = false;
}
