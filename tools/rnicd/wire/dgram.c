// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Frames as AF_UNIX datagrams, as QEMU's -netdev dgram with local.path and
 * remote.path. The socket is connected to its peer: only then does the kernel
 * tell when a full peer can take more, and two ends connected to each other are
 * limited by socket memory, not by a queue of ten datagrams.
 *
 * A peer that is not there is a cable into a switch: the link stays up and
 * frames are lost. A new socket under the peer's name is noticed by inotify,
 * since one that is connected to the old one would refuse the new peer's frames.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/sockfile.h"
#include "wire/internal.h"

#define RETRY_MIN_NS NSEC_PER_MSEC
#define RETRY_MAX_NS NSEC_PER_SEC

struct dgram {
	struct wire *w;
	struct wire_port port;
	struct sockfile local;
	struct sockaddr_un remote;
	bool connected;
	struct loop_timer retry;
	u64 retry_ns;
	struct loop_fd watch; /* inotify; fd -1 if it is not to be had */
	const char *remote_name;
};

/* ---- the peer ---- */

static void try_connect(struct dgram *d)
{
	if (!connect(d->port.fd, (const struct sockaddr *)&d->remote, sizeof(d->remote))) {
		if (!d->connected)
			log_debug("wire: connected to %s", d->remote.sun_path);
		d->connected = true;
		d->retry_ns = RETRY_MIN_NS;
		loop_timer_cancel(&d->retry);
		return;
	}
	d->connected = false;
	loop_timer_set(&d->retry, loop_now(d->w->loop) + d->retry_ns);
	d->retry_ns = min(d->retry_ns * 2, RETRY_MAX_NS);
}

static void on_retry(struct loop_timer *t)
{
	try_connect(container_of(t, struct dgram, retry));
}

/* True if one of the events is about the peer's name. */
static bool names_peer(const struct dgram *d, const u8 *buf, size_t len)
{
	const struct inotify_event *ev;
	size_t off;

	for (off = 0; off + sizeof(*ev) <= len; off += sizeof(*ev) + ev->len) {
		ev = (const struct inotify_event *)(buf + off);
		if ((ev->mask & IN_Q_OVERFLOW) || (ev->len && !strcmp(ev->name, d->remote_name)))
			return true;
	}
	return false;
}

static void on_watch(struct loop_fd *lf, u32 events)
{
	struct dgram *d = container_of(lf, struct dgram, watch);
	u8 buf[4096] __attribute__((aligned(8)));
	ssize_t n = read(lf->fd, buf, sizeof(buf));

	if (n > 0 && names_peer(d, buf, (size_t)n)) {
		/* The name appears a moment before the socket can be connected. */
		d->retry_ns = RETRY_MIN_NS;
		try_connect(d);
	}
}

static void start_watch(struct dgram *d)
{
	char dir[sizeof(d->remote.sun_path)];
	char *slash;
	int fd;

	d->watch.fd = -1;
	strcpy(dir, d->remote.sun_path);
	slash = strrchr(dir, '/');
	d->remote_name = slash ? d->remote.sun_path + (slash - dir) + 1 : d->remote.sun_path;
	if (!slash)
		strcpy(dir, ".");
	else
		slash[slash == dir] = 0;
	fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (fd < 0)
		return;
	if (inotify_add_watch(fd, dir, IN_CREATE | IN_MOVED_TO) < 0 ||
	    loop_fd_add(d->w->loop, &d->watch, fd, EPOLLIN, on_watch)) {
		close(fd);
		d->watch.fd = -1;
	}
}

/* ---- frames ---- */

static void dgram_flush(struct wire *w)
{
	struct dgram *d = w->be_priv;
	int ret;

	while (w->head != w->tail && !w->blocked) {
		if (!d->connected) {
			wire_drop_queue(w);
			return;
		}
		ret = wire_port_flush(w, &d->port);
		if (ret == -ECONNREFUSED || ret == -ENOENT || ret == -ENOTCONN || ret == -EPERM ||
		    ret == -ECONNRESET) {
			d->retry_ns = RETRY_MIN_NS;
			try_connect(d);
			/* Else a peer that dies at once each time would hold us here. */
			wire_drop_queue(w);
		} else if (ret) {
			w->stats.tx_errors++;
			w->head++;
		}
	}
}

/*
 * A peer that has connected to somebody else leaves an error, which epoll would tell of again and
 * again until somebody has asked for it.
 */
static void take_error(struct dgram *d)
{
	socklen_t len = sizeof(int);
	int err = 0;

	if (!getsockopt(d->port.fd, SOL_SOCKET, SO_ERROR, &err, &len) && err)
		log_debug_ratelimited("wire: %s", strerror(err));
}

static void dgram_event(struct loop_fd *lf, u32 events)
{
	struct dgram *d = container_of(lf, struct dgram, port.lf);
	struct wire *w = d->w;
	int ret;

	if (events & EPOLLERR)
		take_error(d);
	if (events & EPOLLIN) {
		ret = wire_port_receive(w, &d->port);
		if (ret)
			log_debug_ratelimited("wire: receive: %s", strerror(-ret));
	}
	if ((events & (EPOLLOUT | EPOLLERR)) && w->blocked) {
		w->blocked = false;
		wire_flush(w);
		wire_port_update(w, &d->port);
	}
}

static void dgram_update(struct wire *w)
{
	struct dgram *d = w->be_priv;

	wire_port_update(w, &d->port);
}

static void dgram_close(struct wire *w)
{
	struct dgram *d = w->be_priv;

	loop_timer_cancel(&d->retry);
	if (d->watch.fd >= 0) {
		loop_fd_del(&d->watch);
		close(d->watch.fd);
	}
	sockfile_remove(&d->local);
	if (d->port.fd >= 0) {
		loop_fd_del(&d->port.lf);
		close(d->port.fd);
	}
	wire_port_free(&d->port);
	free(d);
	w->be_priv = NULL;
}

static const struct wire_backend dgram_backend = {
	.kind = "dgram",
	.flush = dgram_flush,
	.update = dgram_update,
	.close = dgram_close,
};

/* ---- opening ---- */

static int check_path(struct wire_params *p, const char *what, const char *path)
{
	size_t max = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;

	if (!path || !*path) {
		wire_error(p, "dgram needs %s=PATH, as in dgram:local=/tmp/w1,remote=/tmp/w2",
			   what);
		return -EINVAL;
	}
	if (strlen(path) > max) {
		wire_error(p, "%s path is longer than %zu bytes", what, max);
		return -ENAMETOOLONG;
	}
	return 0;
}

static void set_buffers(int fd)
{
	int size = WIRE_SOCKET_BUF;

	/* Beyond the system's limit when allowed; less only means smaller bursts. */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)))
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
}

static int open_socket(struct dgram *d, struct wire_params *p)
{
	int ret;

	d->port.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (d->port.fd < 0)
		return -errno;
	set_buffers(d->port.fd);
	ret = sockfile_bind(&d->local, d->port.fd, p->local);
	if (ret) {
		wire_error(p, "cannot bind %s: %s", p->local, strerror(-ret));
		return ret;
	}
	return loop_fd_add(d->w->loop, &d->port.lf, d->port.fd, EPOLLIN, dgram_event);
}

int wire_dgram_open(struct wire *w, struct wire_params *p)
{
	struct dgram *d = calloc(1, sizeof(*d));
	int ret;

	if (!d)
		return -ENOMEM;
	d->w = w;
	d->port.fd = -1;
	d->watch.fd = -1;
	d->retry_ns = RETRY_MIN_NS;
	loop_timer_init(&d->retry, w->loop, on_retry);
	w->be = &dgram_backend;
	w->be_priv = d;
	if (p->mtu)
		w->mtu = p->mtu;
	if (p->name) {
		wire_error(p, "dgram does not know \"%s\"", p->name);
		return -EINVAL;
	}
	ret = check_path(p, "local", p->local);
	if (!ret)
		ret = check_path(p, "remote", p->remote);
	if (!ret && !strcmp(p->local, p->remote)) {
		wire_error(p, "local and remote are the same, %s", p->local);
		ret = -EINVAL;
	}
	if (ret)
		return ret;
	d->remote.sun_family = AF_UNIX;
	strcpy(d->remote.sun_path, p->remote);
	ret = wire_port_init(&d->port, wire_max_frame(w));
	if (!ret)
		ret = wire_alloc_queue(w, wire_max_frame(w), 256);
	if (!ret)
		ret = open_socket(d, p);
	if (ret)
		return ret;
	start_watch(d);
	try_connect(d);
	return 0;
}
