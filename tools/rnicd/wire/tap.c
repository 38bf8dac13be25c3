// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A tap device with the virtio header: checksums and segmentation are left to
 * the kernel's stack in both directions. One frame per system call.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <net/if.h>
#include <linux/if_tun.h>

#include "base/log.h"
#include "wire/internal.h"

#define TAP_SLOTS 64

struct tap {
	struct wire *w;
	struct loop_fd lf;
	int fd;
	u8 *rxbuf;
};

static void tap_update(struct wire *w)
{
	struct tap *t = w->be_priv;

	loop_fd_mod(&t->lf, (w->rx_paused ? 0 : EPOLLIN) | (w->blocked ? EPOLLOUT : 0));
}

static void tap_flush(struct wire *w)
{
	struct tap *t = w->be_priv;

	while (w->head != w->tail) {
		struct wire_slot *slot = wire_slot(w, w->head);
		u8 *hdr = wire_slot_frame(w, w->head) - WIRE_VNET_HLEN;

		wire_vnet_put(hdr, &slot->meta);
		w->stats.tx_syscalls++;
		if (write(t->fd, hdr, slot->len + WIRE_VNET_HLEN) >= 0) {
			wire_sent(w, slot->len);
		} else if (errno == EAGAIN) {
			w->blocked = true;
			tap_update(w);
			return;
		} else if (errno == EIO) {
			/* The interface is down: nobody at the other end of the cable. */
			w->stats.tx_dropped++;
			w->head++;
		} else if (errno != EINTR) {
			w->stats.tx_errors++;
			w->head++;
		}
	}
}

static bool tap_read(struct wire *w, struct tap *t)
{
	u8 *hdr = t->rxbuf + WIRE_HEADROOM - WIRE_VNET_HLEN, *frame = t->rxbuf + WIRE_HEADROOM;
	struct wire_meta meta;
	ssize_t n;

	w->stats.rx_syscalls++;
	n = read(t->fd, hdr, WIRE_GSO_MAX_FRAME + WIRE_VNET_HLEN);
	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR)
			log_debug_ratelimited("wire: tap read: %s", strerror(errno));
		return false;
	}
	if (n < WIRE_VNET_HLEN + WIRE_ETH_HLEN ||
	    !wire_vnet_get(hdr, frame, (size_t)n - WIRE_VNET_HLEN, &meta)) {
		w->stats.rx_errors++;
		return true;
	}
	wire_deliver(w, frame, (size_t)n - WIRE_VNET_HLEN, &meta);
	return true;
}

static void tap_event(struct loop_fd *lf, u32 events)
{
	struct tap *t = container_of(lf, struct tap, lf);
	int budget = WIRE_RX_BUDGET;
	struct wire *w = t->w;

	if (events & EPOLLIN) {
		while (budget-- && !w->rx_paused && tap_read(w, t))
			;
		wire_deliver_done(w);
	}
	if ((events & (EPOLLOUT | EPOLLERR)) && w->blocked) {
		w->blocked = false;
		wire_flush(w);
		tap_update(w);
	}
	/* The device was deleted: nothing will come any more, but epoll would tell for ever. */
	if ((events & EPOLLERR) && !(events & (EPOLLIN | EPOLLOUT))) {
		log_err("wire: the tap device is gone");
		loop_fd_del(lf);
		wire_set_carrier(w, false);
	}
}

static void tap_close(struct wire *w)
{
	struct tap *t = w->be_priv;

	loop_fd_del(&t->lf);
	if (t->fd >= 0)
		close(t->fd);
	free(t->rxbuf);
	free(t);
	w->be_priv = NULL;
}

static const struct wire_backend tap_backend = {
	.kind = "tap",
	.offload = true,
	.flush = tap_flush,
	.update = tap_update,
	.close = tap_close,
};

/* ---- opening ---- */

static int tap_attach(struct tap *t, struct wire_params *p)
{
	struct ifreq ifr = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};
	int hlen = WIRE_VNET_HLEN, ret;

	strcpy(ifr.ifr_name, p->name);
	t->fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (t->fd < 0) {
		wire_error(p, "cannot open /dev/net/tun: %s", strerror(errno));
		return -errno;
	}
	if (ioctl(t->fd, TUNSETIFF, &ifr)) {
		/* what the kernel calls an invalid argument is a device of another kind */
		ret = errno == EINVAL ? -ENODEV : -errno;
		wire_error(p, "cannot attach to tap device \"%s\": %s", p->name,
			   ret == -ENODEV ? "it is another kind of interface" : strerror(-ret));
		return ret;
	}
	if (ioctl(t->fd, TUNSETVNETHDRSZ, &hlen) ||
	    ioctl(t->fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN)) {
		wire_error(p, "tap device \"%s\" does not take offloads: %s", p->name,
			   strerror(errno));
		return -errno;
	}
	return 0;
}

/* Without mtu= the interface's own counts, else the interface is set. */
static int interface_mtu(struct wire *w, struct wire_params *p)
{
	struct ifreq ifr = {0};
	int fd, ret = 0;

	strcpy(ifr.ifr_name, p->name);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	ifr.ifr_mtu = (int)p->mtu;
	if (ioctl(fd, p->mtu ? SIOCSIFMTU : SIOCGIFMTU, &ifr)) {
		ret = -errno;
		wire_error(p, "MTU of \"%s\": %s", p->name, strerror(-ret));
	}
	close(fd);
	if (!ret)
		w->mtu = (u32)ifr.ifr_mtu;
	return ret;
}

int wire_tap_open(struct wire *w, struct wire_params *p)
{
	struct tap *t = calloc(1, sizeof(*t));
	int ret;

	if (!t)
		return -ENOMEM;
	t->w = w;
	t->fd = -1;
	w->be = &tap_backend;
	w->be_priv = t;
	ret = wire_check_interface(p, "tap");
	if (ret)
		return ret;
	ret = tap_attach(t, p);
	if (!ret)
		ret = interface_mtu(w, p);
	if (ret)
		return ret;
	t->rxbuf = malloc(WIRE_HEADROOM + WIRE_GSO_MAX_FRAME);
	if (!t->rxbuf)
		return -ENOMEM;
	ret = wire_alloc_queue(w, WIRE_GSO_MAX_FRAME, TAP_SLOTS);
	return ret ? ret : loop_fd_add(w->loop, &t->lf, t->fd, EPOLLIN, tap_event);
}
