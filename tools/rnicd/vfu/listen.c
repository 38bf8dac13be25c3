// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The listening socket. A VMM that connects right after another was killed may
 * be seen before the end of the old one: it waits a moment, then is refused.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
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

static void on_connect(struct loop_fd *lf, u32 events)
{
	struct vfu_dev *dev = container_of(lf, struct vfu_dev, listen);
	int fd;

	fd = accept4(lf->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0) {
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			log_warn_ratelimited("vfu: accept: %s", strerror(errno));
		return;
	}
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

/* Is somebody listening there? Anything but a dead socket counts as yes. */
static bool in_use(const struct sockaddr_un *sa)
{
	struct stat st;
	bool used;
	int fd;

	if (lstat(sa->sun_path, &st))
		return false;
	if (!S_ISSOCK(st.st_mode))
		return true;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return true;
	used = !connect(fd, (const struct sockaddr *)sa, sizeof(*sa)) || errno != ECONNREFUSED;
	close(fd);
	return used;
}

static int bind_path(int fd, const struct sockaddr_un *sa)
{
	if (!bind(fd, (const struct sockaddr *)sa, sizeof(*sa)))
		return 0;
	if (errno != EADDRINUSE)
		return -errno;
	if (in_use(sa))
		return -EADDRINUSE;
	if (unlink(sa->sun_path) && errno != ENOENT)
		return -errno;
	return bind(fd, (const struct sockaddr *)sa, sizeof(*sa)) ? -errno : 0;
}

static int open_listener(const char *path)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	int fd, ret;

	if (strlen(path) >= sizeof(sa.sun_path))
		return -ENAMETOOLONG;
	memcpy(sa.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	ret = bind_path(fd, &sa);
	if (!ret && listen(fd, 4))
		ret = -errno;
	if (ret) {
		close(fd);
		return ret;
	}
	return fd;
}

int vfu_listen(struct vfu_dev *dev, const char *path)
{
	struct stat st;
	int fd, ret;

	if (dev->path)
		return -EBUSY;
	fd = open_listener(path);
	if (fd < 0)
		return fd;
	dev->path = strdup(path);
	ret = dev->path ? loop_fd_add(dev->loop, &dev->listen, fd, EPOLLIN, on_connect) : -ENOMEM;
	if (ret) {
		unlink(path);
		free(dev->path);
		dev->path = NULL;
		close(fd);
		return ret;
	}
	loop_timer_init(&dev->waiting_timer, dev->loop, on_waited);
	if (!lstat(path, &st)) {
		dev->path_dev = st.st_dev;
		dev->path_ino = st.st_ino;
	}
	return 0;
}

void vfu_listen_stop(struct vfu_dev *dev)
{
	struct stat st;

	if (!dev->path)
		return;
	loop_timer_cancel(&dev->waiting_timer);
	if (dev->waiting_fd >= 0)
		close(dev->waiting_fd);
	dev->waiting_fd = -1;
	loop_fd_del(&dev->listen);
	close(dev->listen.fd);
	/* Somebody may have put another socket there. */
	if (!lstat(dev->path, &st) && st.st_dev == dev->path_dev && st.st_ino == dev->path_ino)
		unlink(dev->path);
	free(dev->path);
	dev->path = NULL;
}
