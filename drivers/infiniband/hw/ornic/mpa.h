/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * OpenRNIC: MPA start-up frames (RFC 5044 7.1, RFC 6581). Functions over bytes, no state
 * elsewhere, no kernel service: the same file is compiled into unit tests and a fuzzer.
 */
#ifndef _IW_ORNIC_MPA_H
#define _IW_ORNIC_MPA_H

#ifdef __KERNEL__
#include <linux/string.h>
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <linux/types.h>
typedef __u8 u8;
typedef __u16 u16;
#endif

#define MPA_KEY_LEN		16
#define MPA_HDR_LEN		20
#define MPA_MAX_PD		512	/* RFC 5044 7.1.1 */
#define MPA_FRAME_MAX		(MPA_HDR_LEN + MPA_MAX_PD)
#define MPA_ENHANCED_LEN	4	/* RFC 6581 9: taken out of the private data */
/* struct iw_cm_event counts private data in a u8: what is longer cannot be handed to a consumer. */
#define MPA_MAX_ULP_PD		255

/* IRD or ORD of this value: the consumers agree on it by themselves (RFC 6581 9.1). */
#define MPA_DEPTH_ULP		0x3fff

enum mpa_kind {
	MPA_REQUEST,
	MPA_REPLY,
};

/* Kinds of ready-to-receive message, numbered as enum ornic_rtr. */
enum mpa_rtr {
	MPA_RTR_NONE = 0,
	MPA_RTR_SEND = 1,
	MPA_RTR_WRITE = 2,
	MPA_RTR_READ = 3,
};

#define MPA_RTR_BIT(rtr)	(1 << (rtr))
#define MPA_RTR_ALL	(MPA_RTR_BIT(MPA_RTR_SEND) | MPA_RTR_BIT(MPA_RTR_WRITE) | \
			 MPA_RTR_BIT(MPA_RTR_READ))

/**
 * enum mpa_status - outcome of parsing or negotiating
 * @MPA_OK: complete and acceptable
 * @MPA_MORE: bytes are missing
 * @MPA_BAD_KEY: not the frame that is expected (initiator against initiator, RFC 5044 7.1.2 rule 8)
 * @MPA_BAD_REVISION: neither 1 nor 2, a request of a higher revision than this side speaks, or a
 *   reply of a higher one than the request
 * @MPA_BAD_LENGTH: PD_Length beyond 512, or no room for the enhanced data that was announced
 * @MPA_LONG_DATA: the consumer's private data is longer than iw_cm can deliver
 * @MPA_MARKERS: the peer requires markers of a device that cannot insert them
 * @MPA_REJECTED: the responder's consumer said no
 * @MPA_OLDER: a reply of the older protocol: try again with revision 1 (RFC 6581 10)
 * @MPA_NO_IRD: the responder wants more Reads than this side can take: Terminate 2/0/6
 * @MPA_NO_RTR: no common kind of ready-to-receive message: Terminate 2/0/7
 */
enum mpa_status {
	MPA_OK = 0,
	MPA_MORE,
	MPA_BAD_KEY,
	MPA_BAD_REVISION,
	MPA_BAD_LENGTH,
	MPA_LONG_DATA,
	MPA_MARKERS,
	MPA_REJECTED,
	MPA_OLDER,
	MPA_NO_IRD,
	MPA_NO_RTR,
};

/* Terminate of RFC 6581 8: layer LLP, error type MPA */
#define MPA_TERM_LAYER		2
#define MPA_TERM_ETYPE		0
#define MPA_TERM_LOCAL		5
#define MPA_TERM_NO_IRD		6
#define MPA_TERM_NO_RTR		7

/**
 * struct mpa_frame - a request or reply, taken apart
 * @kind: request or reply
 * @rev: revision, 1 or 2
 * @markers: M: the sender requires markers in what it receives
 * @crc: C: the sender wants CRCs
 * @reject: R, of a reply
 * @enhanced: S, of revision 2: @ird, @ord, @peer_to_peer and @rtr are there
 * @peer_to_peer: A
 * @rtr: B, C, D as MPA_RTR_BIT()s; 0 without @peer_to_peer (RFC 6581 9.2)
 * @ird: 0..MPA_DEPTH_ULP
 * @ord: 0..MPA_DEPTH_ULP
 * @pd: the consumer's private data, behind the enhanced data
 * @pd_len: its bytes
 */
struct mpa_frame {
	enum mpa_kind kind;
	u8 rev;
	bool markers;
	bool crc;
	bool reject;
	bool enhanced;
	bool peer_to_peer;
	u8 rtr;
	u16 ird;
	u16 ord;
	const u8 *pd;
	u16 pd_len;
};

/**
 * struct mpa_rx - a frame being received
 * @kind: what is expected
 * @have: bytes in @buf
 * @buf: from the key on
 */
struct mpa_rx {
	enum mpa_kind kind;
	u16 have;
	u8 buf[MPA_FRAME_MAX];
};

/**
 * struct mpa_local - what this side wants and can do
 * @rev: highest revision: offered as initiator, taken as responder
 * @crc: ask for CRCs
 * @markers: require markers in what this side receives; only where the device can
 * @can_mark: the device can insert markers
 * @peer_to_peer: initiator: ask for a ready-to-receive message
 * @rtr: kinds that may be used, MPA_RTR_BIT()s
 * @ird: what the consumer asked for, 0..@max_ird
 * @ord: what the consumer asked for, 0..@max_ord
 * @max_ird: the device's limit
 * @max_ord: the device's limit
 */
struct mpa_local {
	u8 rev;
	bool crc;
	bool markers;
	bool can_mark;
	bool peer_to_peer;
	u8 rtr;
	u16 ird;
	u16 ord;
	u16 max_ird;
	u16 max_ord;
};

/**
 * struct mpa_agreed - outcome of a negotiation
 * @crc: CRCs in both directions
 * @tx_markers: insert markers
 * @rx_markers: expect markers
 * @rtr: initiator: send it first. Responder: it comes first
 * @ird: Reads that the peer may have outstanding
 * @ord: Reads that this side may have outstanding
 */
struct mpa_agreed {
	bool crc;
	bool tx_markers;
	bool rx_markers;
	enum mpa_rtr rtr;
	u16 ird;
	u16 ord;
};

/* The consumer's private data that fits into a frame of revision @rev. */
static inline u16 mpa_max_pd(u8 rev)
{
	return rev >= 2 ? MPA_MAX_PD - MPA_ENHANCED_LEN : MPA_MAX_PD;
}

void mpa_rx_start(struct mpa_rx *rx, enum mpa_kind kind);
enum mpa_status mpa_rx_feed(struct mpa_rx *rx, const void *data, size_t len, size_t *used);
void mpa_rx_frame(const struct mpa_rx *rx, struct mpa_frame *frame);

size_t mpa_build(const struct mpa_frame *frame, u8 buf[MPA_FRAME_MAX]);

void mpa_request(const struct mpa_local *local, struct mpa_frame *req);
enum mpa_status mpa_check_request(const struct mpa_local *local, const struct mpa_frame *req);
void mpa_offer(const struct mpa_local *local, const struct mpa_frame *req, u16 *ird, u16 *ord);
void mpa_answer(const struct mpa_local *local, const struct mpa_frame *req,
		struct mpa_frame *reply, struct mpa_agreed *agreed);
void mpa_refuse(const struct mpa_local *local, const struct mpa_frame *req,
		struct mpa_frame *reply);
enum mpa_status mpa_check_reply(const struct mpa_local *local, const struct mpa_frame *req,
				const struct mpa_frame *reply, struct mpa_agreed *agreed);

#endif /* _IW_ORNIC_MPA_H */
