// SPDX-License-Identifier: GPL-2.0-or-later
/* Datagram and packet sockets: batches by sendmmsg() and recvmmsg(). */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <linux/if_packet.h>

#include "wire/internal.h"

int wire_port_init(struct wire_port *port, u32 max_rx_frame)
{
	port->rx_slot = ALIGN(WIRE_HEADROOM + max_rx_frame, 64);
	port->rxbuf = aligned_alloc(64, (size_t)port->rx_slot * WIRE_BATCH);
	return port->rxbuf ? 0 : -ENOMEM;
}

void wire_port_free(struct wire_port *port)
{
	free(port->rxbuf);
}

void wire_port_update(struct wire *w, struct wire_port *port)
{
	loop_fd_mod(&port->lf, (w->rx_paused ? 0 : EPOLLIN) | (w->blocked ? EPOLLOUT : 0));
}

/* ---- transmit ---- */

static u32 fill_tx(struct wire *w, const struct wire_port *port, struct mmsghdr *msgs,
		   struct iovec *iov)
{
	u32 n = min_t(u32, w->tail - w->head, WIRE_BATCH), i;

	memset(msgs, 0, n * sizeof(*msgs));
	for (i = 0; i < n; i++) {
		struct wire_slot *slot = wire_slot(w, w->head + i);
		u8 *frame = wire_slot_frame(w, w->head + i);

		if (port->vnet)
			wire_vnet_put(frame - port->vnet, &slot->meta);
		iov[i].iov_base = frame - port->vnet;
		iov[i].iov_len = slot->len + port->vnet;
		msgs[i].msg_hdr.msg_iov = &iov[i];
		msgs[i].msg_hdr.msg_iovlen = 1;
	}
	return n;
}

int wire_port_flush(struct wire *w, struct wire_port *port)
{
	struct mmsghdr msgs[WIRE_BATCH];
	struct iovec iov[WIRE_BATCH];
	int sent, i;
	u32 n;

	while (w->head != w->tail) {
		n = fill_tx(w, port, msgs, iov);
		w->stats.tx_syscalls++;
		sent = sendmmsg(port->fd, msgs, n, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && errno == EAGAIN) {
			w->blocked = true;
			wire_port_update(w, port);
			return 0;
		}
		if (sent < 0)
			return -errno;
		for (i = 0; i < sent; i++)
			wire_sent(w, wire_slot(w, w->head)->len);
	}
	return 0;
}

/* ---- receive ---- */

union rx_control {
	struct cmsghdr align;
	u8 buf[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
};

struct rx_batch {
	struct mmsghdr msgs[WIRE_BATCH];
	struct iovec iov[WIRE_BATCH];
	union rx_control control[WIRE_BATCH];
};

static void fill_rx(const struct wire_port *port, struct rx_batch *b)
{
	u32 i;

	for (i = 0; i < WIRE_BATCH; i++) {
		struct msghdr *m = &b->msgs[i].msg_hdr;

		memset(&b->msgs[i], 0, sizeof(b->msgs[i]));
		b->iov[i].iov_base =
			port->rxbuf + (size_t)i * port->rx_slot + WIRE_HEADROOM - port->vnet;
		b->iov[i].iov_len = port->rx_slot - WIRE_HEADROOM + port->vnet;
		m->msg_iov = &b->iov[i];
		m->msg_iovlen = 1;
		if (port->aux) {
			m->msg_control = b->control[i].buf;
			m->msg_controllen = sizeof(b->control[i].buf);
		}
	}
}

/* The tag that the kernel took out of the frame, 0 if none. */
static u32 vlan_tag(struct msghdr *msg)
{
	struct tpacket_auxdata aux;
	struct cmsghdr *cm;

	for (cm = CMSG_FIRSTHDR(msg); cm; cm = CMSG_NXTHDR(msg, cm)) {
		if (cm->cmsg_level != SOL_PACKET || cm->cmsg_type != PACKET_AUXDATA)
			continue;
		memcpy(&aux, CMSG_DATA(cm), sizeof(aux));
		if (!(aux.tp_status & TP_STATUS_VLAN_VALID))
			return 0;
		return (u32)(aux.tp_status & TP_STATUS_VLAN_TPID_VALID ? aux.tp_vlan_tpid : 0x8100)
			       << 16 |
		       aux.tp_vlan_tci;
	}
	return 0;
}

/* Needs 4 bytes before the frame. */
static u8 *insert_vlan(u8 *frame, u32 tag, struct wire_meta *meta)
{
	u8 *start = frame - WIRE_VLAN_HLEN;

	memmove(start, frame, 12);
	put_be32(start + 12, tag);
	if (meta->flags & WIRE_F_CSUM_PARTIAL)
		meta->csum_start += WIRE_VLAN_HLEN;
	if (meta->gso_type != WIRE_GSO_NONE)
		meta->hdr_len += WIRE_VLAN_HLEN;
	return start;
}

static void rx_one(struct wire *w, struct wire_port *port, struct mmsghdr *m)
{
	u8 *hdr = m->msg_hdr.msg_iov->iov_base, *frame = hdr + port->vnet;
	struct wire_meta meta = {0};
	size_t len = m->msg_len;
	u32 tag;

	if ((m->msg_hdr.msg_flags & MSG_TRUNC) || len < port->vnet + WIRE_ETH_HLEN ||
	    (port->vnet && !wire_vnet_get(hdr, frame, len - port->vnet, &meta))) {
		w->stats.rx_errors++;
		return;
	}
	len -= port->vnet;
	tag = port->aux ? vlan_tag(&m->msg_hdr) : 0;
	if (tag) {
		frame = insert_vlan(frame, tag, &meta);
		len += WIRE_VLAN_HLEN;
	}
	wire_deliver(w, frame, len, &meta);
}

int wire_port_receive(struct wire *w, struct wire_port *port)
{
	int budget = WIRE_RX_BUDGET, n, i;
	struct rx_batch b;

	while (budget > 0 && !w->rx_paused) {
		fill_rx(port, &b);
		w->stats.rx_syscalls++;
		n = recvmmsg(port->fd, b.msgs, WIRE_BATCH, MSG_DONTWAIT, NULL);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		for (i = 0; i < n; i++)
			rx_one(w, port, &b.msgs[i]);
		wire_deliver_done(w);
		if (n < WIRE_BATCH)
			return 0;
		budget -= n;
	}
	return 0;
}
