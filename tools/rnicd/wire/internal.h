/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of wire/ only. */
#ifndef RNICD_WIRE_INTERNAL_H
#define RNICD_WIRE_INTERNAL_H

#include "wire/wire.h"

/*
 * Frames start this far into their slot: 2 modulo 4, so that the IP header
 * behind 14 bytes of Ethernet is aligned, with room for a virtio header before.
 * The payload of an RDMA Write or Read Response, behind 82 bytes of headers when
 * there are timestamps, then begins a cache line.
 */
#define WIRE_HEADROOM	 46
#define WIRE_VNET_HLEN	 10
#define WIRE_BATCH	 32
#define WIRE_RX_BUDGET	 128
#define WIRE_SOCKET_BUF	 (4 << 20)
#define WIRE_MAX_HEADERS 512 /* of a frame that is segmented here */

struct wire_backend {
	const char *kind;
	bool offload; /* takes struct wire_meta along */
	bool deferred; /* flush only from the loop, never from wire_commit() */
	/* Send from the queue what can be sent; sets w->blocked when it must wait. */
	void (*flush)(struct wire *w);
	/* w->rx_paused or w->blocked changed. */
	void (*update)(struct wire *w);
	/* The backend's own state and fds. */
	void (*close)(struct wire *w);
};

struct wire_slot {
	u32 len;
	struct wire_meta meta;
};

struct wire {
	struct loop *loop;
	const struct wire_backend *be;
	const struct wire_ops *ops;
	void *priv;
	void *be_priv;
	u32 mtu;
	bool carrier;
	bool admin_up;
	bool rx_paused;
	bool blocked; /* the kernel takes no more for now */
	bool want_space; /* somebody was told that the queue is full */
	struct wire_stats stats;
	struct pcap *capture;
	struct loop_hook hook;
	struct loop_work writable_work;

	/* Transmit queue: counters run free, slot = counter % nslots (power of two). */
	u8 *txbuf;
	struct wire_slot *slots;
	u32 slot_size;
	u32 nslots;
	u32 head, tail;
	u8 *gso_buf; /* made when first needed */
};

/* What wire_open() knows when it calls a backend. */
struct wire_params {
	char *name; /* first word without "key=", or NULL */
	char *local;
	char *remote;
	u32 mtu; /* 0: not given */
	char *err;
	size_t errlen;
};

__attribute__((format(printf, 2, 3))) void wire_error(const struct wire_params *p, const char *fmt,
						      ...);
int wire_check_interface(const struct wire_params *p, const char *kind);

/* Each fills the wire's backend, MTU and carrier; 0 or -errno with the reason in @p. */
int wire_dgram_open(struct wire *w, struct wire_params *p);
int wire_tap_open(struct wire *w, struct wire_params *p);
int wire_packet_open(struct wire *w, struct wire_params *p);
int wire_null_open(struct wire *w, struct wire_params *p);

/* Largest frame without offloads. */
static inline u32 wire_max_frame(const struct wire *w)
{
	return w->mtu + WIRE_ETH_HLEN + WIRE_VLAN_HLEN;
}

static inline u8 *wire_slot_buf(const struct wire *w, u32 n)
{
	return w->txbuf + (size_t)(n % w->nslots) * w->slot_size;
}

static inline u8 *wire_slot_frame(const struct wire *w, u32 n)
{
	return wire_slot_buf(w, n) + WIRE_HEADROOM;
}

static inline struct wire_slot *wire_slot(const struct wire *w, u32 n)
{
	return &w->slots[n % w->nslots];
}

/* The frame at the head was taken by the kernel. */
void wire_sent(struct wire *w, u32 len);
/* Forget all queued frames, counted as dropped. */
void wire_drop_queue(struct wire *w);
/* A frame arrived. */
void wire_deliver(struct wire *w, u8 *frame, size_t len, const struct wire_meta *meta);
void wire_deliver_done(struct wire *w);
void wire_set_carrier(struct wire *w, bool up);
int wire_alloc_queue(struct wire *w, u32 frame_size, u32 nslots);

/* mmsg.c: sockets that send and receive many frames in one system call */

struct wire_port {
	struct loop_fd lf;
	int fd;
	u32 vnet; /* length of the virtio header before each frame */
	bool aux; /* AF_PACKET: VLAN tags come beside the frame */
	u8 *rxbuf;
	u32 rx_slot;
};

int wire_port_init(struct wire_port *port, u32 max_rx_frame);
void wire_port_free(struct wire_port *port);
/*
 * Sends until the queue is empty or the socket full (w->blocked is set then).
 * Any other error of the frame at the head is returned as -errno, the frame
 * still in the queue.
 */
int wire_port_flush(struct wire *w, struct wire_port *port);
/* Up to WIRE_RX_BUDGET frames. 0 or -errno. */
int wire_port_receive(struct wire *w, struct wire_port *port);
void wire_port_update(struct wire *w, struct wire_port *port);

/* offload.c */
bool wire_meta_ok(const struct wire_meta *meta, size_t len);
/* Number of segments that wire_offload() will make, and the length of the longest. */
u32 wire_segments(const struct wire_meta *meta, const u8 *frame, size_t len, u32 *longest);

/* vnet.c: conversion from and to the virtio header before a frame */
void wire_vnet_put(u8 *hdr, const struct wire_meta *meta);
/* False when the header does not fit the frame. */
bool wire_vnet_get(const u8 *hdr, const u8 *frame, size_t len, struct wire_meta *meta);

#endif /* RNICD_WIRE_INTERNAL_H */
