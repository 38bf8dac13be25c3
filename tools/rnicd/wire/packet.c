// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An existing Ethernet interface through AF_PACKET, promiscuous since the RNIC
 * has a MAC address of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <arpa/inet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>

#include "base/log.h"
#include "wire/internal.h"

#define PACKET_SLOTS 64

struct packet {
	struct wire *w;
	struct wire_port port;
};

static void packet_flush(struct wire *w)
{
	struct packet *k = w->be_priv;
	int ret;

	while (w->head != w->tail && !w->blocked) {
		ret = wire_port_flush(w, &k->port);
		if (ret == -ENETDOWN || ret == -ENXIO || ret == -ENOBUFS) {
			w->stats.tx_dropped++;
			w->head++;
		} else if (ret) {
			w->stats.tx_errors++;
			w->head++;
		}
	}
}

static void packet_event(struct loop_fd *lf, u32 events)
{
	struct packet *k = container_of(lf, struct packet, port.lf);
	struct wire *w = k->w;
	int ret;

	if (events & (EPOLLIN | EPOLLERR)) {
		ret = wire_port_receive(w, &k->port);
		if (ret)
			log_debug_ratelimited("wire: receive: %s", strerror(-ret));
	}
	if ((events & (EPOLLOUT | EPOLLERR)) && w->blocked) {
		w->blocked = false;
		wire_flush(w);
		wire_port_update(w, &k->port);
	}
}

static void packet_update(struct wire *w)
{
	struct packet *k = w->be_priv;

	wire_port_update(w, &k->port);
}

static void packet_close(struct wire *w)
{
	struct packet *k = w->be_priv;

	loop_fd_del(&k->port.lf);
	if (k->port.fd >= 0)
		close(k->port.fd);
	wire_port_free(&k->port);
	free(k);
	w->be_priv = NULL;
}

static const struct wire_backend packet_backend = {
	.kind = "packet",
	.offload = true,
	.flush = packet_flush,
	.update = packet_update,
	.close = packet_close,
};

/* ---- opening ---- */

static int query_interface(struct packet *k, struct wire_params *p, int *index)
{
	struct ifreq ifr = {0};

	strcpy(ifr.ifr_name, p->name);
	if (ioctl(k->port.fd, SIOCGIFINDEX, &ifr))
		return -errno;
	*index = ifr.ifr_ifindex;
	if (ioctl(k->port.fd, SIOCGIFHWADDR, &ifr))
		return -errno;
	if (ifr.ifr_hwaddr.sa_family != ARPHRD_ETHER)
		return -EMEDIUMTYPE;
	if (ioctl(k->port.fd, SIOCGIFMTU, &ifr))
		return -errno;
	k->w->mtu = p->mtu ? p->mtu : (u32)ifr.ifr_mtu;
	return p->mtu > (u32)ifr.ifr_mtu ? -EMSGSIZE : 0;
}

static int set_options(int fd, int index)
{
	struct packet_mreq mr = {.mr_ifindex = index, .mr_type = PACKET_MR_PROMISC};
	int one = 1, size = WIRE_SOCKET_BUF;

	if (setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &mr, sizeof(mr)))
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	return 0;
}

static int open_socket(struct packet *k, struct wire_params *p)
{
	struct sockaddr_ll sll = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	int ret;

	/* Protocol 0: nothing is received before the socket is bound to its interface. */
	k->port.fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (k->port.fd < 0)
		return -errno;
	ret = query_interface(k, p, &sll.sll_ifindex);
	if (!ret)
		ret = set_options(k->port.fd, sll.sll_ifindex);
	if (!ret && bind(k->port.fd, (const struct sockaddr *)&sll, sizeof(sll)))
		ret = -errno;
	return ret;
}

int wire_packet_open(struct wire *w, struct wire_params *p)
{
	struct packet *k = calloc(1, sizeof(*k));
	int ret;

	if (!k)
		return -ENOMEM;
	k->w = w;
	k->port.fd = -1;
	k->port.vnet = WIRE_VNET_HLEN;
	k->port.aux = true;
	w->be = &packet_backend;
	w->be_priv = k;
	ret = wire_check_interface(p, "packet");
	if (ret)
		return ret;
	ret = open_socket(k, p);
	if (ret) {
		wire_error(p, "cannot use interface \"%s\": %s", p->name,
			   ret == -EMSGSIZE ? "its own MTU is less than that" : strerror(-ret));
		return ret;
	}
	ret = wire_port_init(&k->port, WIRE_GSO_MAX_FRAME);
	if (!ret)
		ret = wire_alloc_queue(w, WIRE_GSO_MAX_FRAME, PACKET_SLOTS);
	return ret ? ret : loop_fd_add(w->loop, &k->port.lf, k->port.fd, EPOLLIN, packet_event);
}
