/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A second crafting peer: it speaks MPA, DDP and RDMAP by hand over TCP on a datagram wire, and
 * uses nothing of the device's iWARP code, its CRC included. The other end is an rnicd, driven by
 * tests/device/drv.
 */
#ifndef TESTS_WIRE_CRAFT_PEER_H
#define TESTS_WIRE_CRAFT_PEER_H

#include "drv.h"

#define CRAFT_CONN 3
#define CRAFT_QP   5
#define CRAFT_PD   7
#define CRAFT_STAG 0x00001033u
#define CRAFT_BUF  (1u << 18)

/* The device's side */
struct craft {
	struct drv *d;
	struct drv_eq async, tcp, comp;
	struct drv_cq cq;
	struct drv_qp qp;
	u64 buf;
	bool crc;
	bool tx_markers; /* what the device sends has them */
	bool rx_markers; /* what it is sent */
};

extern struct craft dev;

/* ---- TCP ---- */

/* A fresh device and peer, no connection. @crc: FPDUs carry one. Markers: set them in dev then. */
void craft_start(bool crc);
/* TCP only: the device listens and accepts; the device opens. */
void craft_tcp_to_device(void);
void craft_tcp_from_device(void);
/* Device listens, accepts, gets our MPA request and answers with MODE_RDMA and the reply. */
void craft_responder(void);
/*
 * Device opens and sends an MPA request; we answer with the reply and @len more bytes in the same
 * segment; the device goes into RDMA mode.
 */
void craft_initiator(const void *glued, u32 len);
/* One TCP segment, if it fits. */
void craft_send(const void *data, u32 len);
void craft_fin(void);
void craft_rst(void);
/* Up to @len bytes that have come and were not taken. */
u32 craft_recv_some(void *data, u32 len);
/* The device's FIN has come, and all bytes before it were taken. */
bool craft_at_fin(void);
/* The connection has ended: by RST, or after both FINs. */
bool craft_ended(void);
/* Exactly @len bytes of the stream. */
void craft_recv(void *data, u32 len);
/* The device's FIN comes, and before it @left bytes or fewer. */
void craft_wait_fin(void);
/* Length of the TCP payload of the segment that the last byte taken by craft_recv() came in. */
u32 craft_last_segment(void);
/* Play the peer for a while. */
void craft_pump_ms(int ms);

/* ---- FPDUs ---- */

struct ddp {
	bool tagged;
	bool last;
	u8 dv; /* DDP version, 1 */
	u8 rv; /* RDMAP version, 1 */
	u8 opcode;
	u32 stag; /* tagged: STag; untagged: STag to invalidate */
	u64 to;
	u32 qn, msn, mo;
};

enum {
	RDMAP_WRITE,
	RDMAP_READ_REQ,
	RDMAP_READ_RESP,
	RDMAP_SEND,
	RDMAP_SEND_INV,
	RDMAP_SEND_SE,
	RDMAP_SEND_SE_INV,
	RDMAP_TERMINATE
};

u32 craft_crc32c(const u8 *p, u32 len);
/* Builds an FPDU; returns its length. */
u32 craft_fpdu(u8 *out, const struct ddp *h, const void *payload, u32 len);
/*
 * Puts markers into the next FPDU that is sent, by the letter of RFC 5044 4.3, and makes its CRC
 * anew; returns the new length.
 */
u32 craft_mark(u8 *out, const u8 *fpdu, u32 len);
/* Builds and sends one, with markers if the device wants them. */
void craft_send_fpdu(const struct ddp *h, const void *payload, u32 len);
/* Next FPDU of the device: length of its payload; everything about the framing is checked. */
u32 craft_recv_fpdu(struct ddp *h, u8 *payload);
/* The next FPDU must be that Terminate; then the FIN comes. */
void craft_expect_terminate(u8 layer, u8 etype, u8 code);

/* ---- the device's driver ---- */

struct ornic_cqe craft_cqe(u8 opcode, u8 status);
void craft_post_recv(u32 off, u32 len);
void craft_expect_async(u8 type);

#endif /* TESTS_WIRE_CRAFT_PEER_H */
