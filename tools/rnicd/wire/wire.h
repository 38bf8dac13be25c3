/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Ethernet port: frames out, frames in, without FCS.
 *
 * Transmission is batched: wire_reserve() and wire_commit(), or wire_send(),
 * queue frames in buffers of the wire; a loop hook (LOOP_HOOK_WIRE) hands the
 * batch to the kernel. When the queue is full they say so and the "writable"
 * callback comes once there is room again.
 *
 * A frame may ask for checksum completion and TCP segmentation, as with the
 * virtio header. Backends that carry such requests pass them on; for the others
 * they are carried out here, so the caller need not care.
 */
#ifndef RNICD_WIRE_WIRE_H
#define RNICD_WIRE_WIRE_H

#include <sys/uio.h>

#include "base/loop.h"
#include "base/pcap.h"
#include "base/util.h"

#define WIRE_ETH_HLEN	 14
#define WIRE_VLAN_HLEN	 4
#define WIRE_MTU_DEFAULT 1500
#define WIRE_MTU_MIN	 68
#define WIRE_MTU_MAX	 65000
/* Largest frame that wire_send() takes or rx delivers when segmentation is used. */
#define WIRE_GSO_MAX_FRAME (65536 + 256)
#define WIRE_GSO_MAX_SEGS  2048 /* bounds the work for one frame; MSS 32 and more fit */

struct wire;

/* struct wire_meta.flags; the same meanings in both directions */
#define WIRE_F_CSUM_PARTIAL 0x1 /* checksum at csum_start + csum_offset to be completed */
#define WIRE_F_CSUM_VALID   0x2 /* receive only: verified, or never left this host */

enum wire_gso {
	WIRE_GSO_NONE,
	WIRE_GSO_TCPV4,
	WIRE_GSO_TCPV6,
};

struct wire_meta {
	u8 flags;
	u8 gso_type; /* enum wire_gso; needs WIRE_F_CSUM_PARTIAL */
	bool gso_ecn; /* the segment has CWR set */
	u16 gso_size; /* payload bytes per segment */
	u16 hdr_len; /* Ethernet to end of the transport header */
	u16 csum_start; /* from the start of the frame */
	u16 csum_offset; /* from csum_start */
};

struct wire_ops {
	/*
	 * A frame came in. @frame is good until the return, 2-byte offset so
	 * that the IP header is aligned; may be changed in place. @meta is never
	 * NULL.
	 */
	void (*rx)(void *priv, u8 *frame, size_t len, const struct wire_meta *meta);
	/* Optional: wire_reserve() or wire_send() said "full" and there is room again. */
	void (*writable)(void *priv);
	/* Optional: the link went up or down. */
	void (*link)(void *priv, bool up);
	/* Optional: a burst of rx() calls is over. */
	void (*rx_done)(void *priv);
};

struct wire_stats {
	u64 tx_frames, tx_bytes;
	u64 rx_frames, rx_bytes;
	u64 tx_dropped; /* no peer, link down */
	u64 tx_full; /* times the queue was full */
	u64 tx_errors; /* frame the backend or this layer refused */
	u64 tx_gso; /* frames segmented here */
	u64 rx_dropped; /* link down */
	u64 rx_errors; /* truncated, too short or bad header */
	u64 tx_syscalls, rx_syscalls;
};

/**
 * wire_open() - open a port from its description.
 * @loop: loop that serves it.
 * @spec: one of
 *	"dgram:local=PATH,remote=PATH[,mtu=N]"	as QEMU's -netdev dgram
 *	"tap:NAME[,mtu=N]"
 *	"packet:IFNAME[,mtu=N]"
 *	"null[:mtu=N]"				swallows all
 *	MTU defaults to 1500; for tap and packet to that of the interface.
 * @ops: callbacks, kept by reference; @priv is their first argument.
 * @err: buffer for a sentence that names what is wrong; may be NULL.
 * @errlen: its size.
 * Return: the wire, or NULL with errno set and @err filled.
 */
struct wire *wire_open(struct loop *loop, const char *spec, const struct wire_ops *ops, void *priv,
		       char *err, size_t errlen);
/* Not from a callback of the wire. */
void wire_close(struct wire *w);

/* Two wires of one loop that are each other's peer, for tests. 0 or -errno. */
int wire_pipe(struct loop *loop, u32 mtu, const struct wire_ops *ops_a, void *priv_a,
	      struct wire **a, const struct wire_ops *ops_b, void *priv_b, struct wire **b);

/* Largest L3 packet the wire carries, without VLAN tag. */
u32 wire_mtu(const struct wire *w);
/* "dgram", "tap", ... */
const char *wire_kind(const struct wire *w);

/*
 * Link as the port sees it: the backend's carrier and the administrative state.
 * wire_set_link(false) makes a link flap: both directions drop.
 */
bool wire_link(const struct wire *w);
void wire_set_link(struct wire *w, bool up);

/**
 * wire_reserve() - room for one frame to be built in place.
 * @len: largest length that will be committed, up to MTU + 18 bytes.
 * Return: a buffer with the IP header aligned when Ethernet without VLAN is
 *	used, or NULL: the queue is full (writable() will be called).
 * wire_commit(), or wire_send() of pieces that lie there already, must be the
 * next call on this wire; a reservation without it is forgotten.
 */
u8 *wire_reserve(struct wire *w, size_t len);
/* @meta: NULL for a frame that is complete. 0, or -EINVAL for a bad @meta. */
int wire_commit(struct wire *w, size_t len, const struct wire_meta *meta);

/**
 * wire_send() - queue a copy of a frame.
 * @iov: its pieces; what was made where wire_reserve() said, and belongs there,
 *	is not copied. Nothing else may point into that room.
 * @meta: NULL for a frame that is complete; with gso_type the frame may be as
 *	long as WIRE_GSO_MAX_FRAME.
 * Return: 0; -EAGAIN when the queue is full (nothing was queued); -EMSGSIZE;
 *	-EINVAL when @meta does not fit the frame.
 */
int wire_send(struct wire *w, const struct iovec *iov, int n, const struct wire_meta *meta);

/* Hand queued frames to the kernel now; the hook does it before the loop sleeps. */
void wire_flush(struct wire *w);

/*
 * Stop or go on reading: when the consumer's memory is used up, frames wait in
 * the kernel and are dropped there.
 */
void wire_rx_pause(struct wire *w, bool pause);

/* Copy all frames to @p, NULL to stop. Not owned. */
void wire_set_capture(struct wire *w, struct pcap *p);
struct pcap *wire_capture(const struct wire *w);

const struct wire_stats *wire_stats(const struct wire *w);

/*
 * Can the frame be cut as @meta says: is it TCP over that IP, are the headers as long, and the
 * segments not too many?
 */
bool wire_gso_ok(const u8 *frame, size_t len, const struct wire_meta *meta);

/*
 * Carry out @meta in software: complete the checksum, or cut into segments
 * that are given to @emit one by one (its nonzero return stops and is
 * returned). @frame is changed. -EINVAL when @meta does not fit.
 */
int wire_offload(u8 *frame, size_t len, const struct wire_meta *meta,
		 int (*emit)(void *priv, const struct iovec *iov, int n), void *priv);

#endif /* RNICD_WIRE_WIRE_H */
