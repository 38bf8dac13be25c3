/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A peer made by hand: Ethernet, IPv4, TCP, MPA, DDP and RDMAP frames over the datagram
 * wire of a real rnicd, whose driver is the library of tests/device.
 */
#ifndef TESTS_WIRE_MPA_PEER_H
#define TESTS_WIRE_MPA_PEER_H

#include "iwarp/fpdu.h"
#include "pair.h"

#define PEER_HOST 9 /* 10.0.0.9; the device is 10.0.0.1 */
#define DEV_HOST  1
#define DEV_PORT  4791
#define PEER_PORT 40001
#define PEER_MAX  (256u << 10)
#define PEER_SEGS 512
#define MPA_HELLO 20 /* MPA request or reply without private data (RFC 5044 7.1.1) */

/* One segment with payload that the device sent. */
struct peer_seg {
	u32 off;
	u32 len;
};

/**
 * struct peer - the far end of one connection
 * @rx: stream bytes received, in order
 * @taken: bytes of @rx that peer_fpdu() has handed out
 * @seg: segments with new payload
 */
struct peer {
	int fd;
	u8 mac[6];
	u8 dev_mac[6];
	u16 port;
	u16 dev_port;
	u16 mss;
	u32 snd_nxt;
	u32 snd_una;
	u32 rcv_nxt;
	bool syn_seen;
	bool fin;
	bool rst;
	u8 rx[PEER_MAX];
	u32 rx_len;
	u32 taken;
	struct peer_seg seg[PEER_SEGS];
	u32 nseg;
};

struct fpdu {
	u8 b[MPA_FPDU_MAX];
	u32 len;
};

/* The device with its EQs, CQ, QP and MR, and a socket at the other end of its wire. @mss: what the
 * peer announces. */
void peer_start(struct peer *p, struct end *e, u16 mss);
void peer_stop(struct peer *p);
/* Handle what comes within @ms, until nothing has come for 20 ms of it. */
void peer_poll(struct peer *p, int ms);
/* One segment with these bytes at the present place of the stream, acknowledged by the device. */
void peer_send(struct peer *p, const void *data, u32 len);
/* One segment at any place; nothing is waited for. */
void peer_segment(struct peer *p, u32 seq, const void *data, u32 len, u8 flags);
/* Wait until @len stream bytes in all have come. */
void peer_expect(struct peer *p, u32 len);

/* The device as responder, up to RDMA mode. The peer has its MPA reply then. */
void peer_to_device(struct peer *p, struct end *e, u8 rtr);
/* TCP and the device's MPA request only, as initiator; then the rest of it. */
void device_to_peer(struct peer *p, struct end *e);
void device_to_peer_rdma(struct peer *p, struct end *e, const void *glued, u32 glued_len, u8 rtr);

/* ---- FPDUs ---- */

void fpdu_make(struct fpdu *f, const struct ddp_hdr *h, const void *payload, u32 len);
void fpdu_fix_crc(struct fpdu *f);
/* The next FPDU of the device: waits for it, checks framing and CRC. */
bool peer_fpdu(struct peer *p, struct ddp_hdr *h, const u8 **payload, u32 *len);

#endif /* TESTS_WIRE_MPA_PEER_H */
