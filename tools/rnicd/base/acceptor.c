// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* accept4() */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/acceptor.h"
#include "base/log.h"

#define AGAIN_NS (100 * NSEC_PER_MSEC)

static void on_again(struct loop_timer *t)
{
	struct acceptor *a = container_of(t, struct acceptor, again);

	loop_fd_mod(&a->lf, EPOLLIN);
}

/* The client stays in the queue, and epoll would tell of it again and again. */
static void pause_accepting(struct acceptor *a)
{
	log_warn_ratelimited("%s: accept: %s", a->file.sa.sun_path, strerror(errno));
	loop_fd_mod(&a->lf, 0);
	loop_timer_set(&a->again, loop_now(a->lf.loop) + AGAIN_NS);
}

static void on_connect(struct loop_fd *lf, u32 events)
{
	struct acceptor *a = container_of(lf, struct acceptor, lf);
	int fd = accept4(lf->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0)
		a->accepted(a, fd);
	else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
		pause_accepting(a);
}

int acceptor_open(struct acceptor *a, struct loop *loop, const char *path, mode_t mode,
		  void (*accepted)(struct acceptor *a, int fd))
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), ret = 0;

	if (fd < 0)
		return -errno;
	loop_timer_init(&a->again, loop, on_again);
	a->accepted = accepted;
	/* The file is made with the socket's permissions: it never has others. */
	if (mode && fchmod(fd, mode))
		ret = -errno;
	if (!ret)
		ret = sockfile_bind(&a->file, fd, path);
	if (!ret)
		ret = loop_fd_add(loop, &a->lf, fd, EPOLLIN, on_connect);
	if (ret) {
		sockfile_remove(&a->file);
		close(fd);
	}
	return ret;
}

void acceptor_close(struct acceptor *a)
{
	int fd = a->lf.fd;

	if (!a->lf.loop)
		return;
	loop_timer_cancel(&a->again);
	sockfile_remove(&a->file);
	loop_fd_del(&a->lf);
	close(fd);
}
