/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of an FPDU: MPA framing (RFC 5044 4; markers: marker.h), DDP headers
 * (RFC 5041 4.2, 4.3) and RDMAP headers (RFC 5040 4). Pure functions.
 */
#ifndef RNICD_IWARP_FPDU_H
#define RNICD_IWARP_FPDU_H

#include "base/crc32c.h"
#include "base/util.h"

#define MPA_HDR_LEN    2
#define MPA_CRC_LEN    4
#define MPA_ULPDU_MAX  0xffffu
#define MPA_FPDU_MAX   (ALIGN(MPA_HDR_LEN + MPA_ULPDU_MAX, 4u) + MPA_CRC_LEN)
#define MPA_MULPDU_MIN 128u
#define MPA_MULPDU_MAX 64768u

#define DDP_TAGGED_LEN	 14u
#define DDP_UNTAGGED_LEN 18u
#define DDP_HDR_MAX	 DDP_UNTAGGED_LEN
#define RDMAP_READ_LEN	 28u
#define RDMAP_TERM_MAX	 (4u + 2u + DDP_UNTAGGED_LEN + RDMAP_READ_LEN)

#define DDP_F_TAGGED  0x80
#define DDP_F_LAST    0x40
#define DDP_F_VERSION 0x03
#define DDP_VERSION   1
#define RDMAP_VERSION 1

enum ddp_queue {
	DDP_QN_SEND = 0,
	DDP_QN_READ = 1,
	DDP_QN_TERM = 2,
	DDP_QN_COUNT = 3,
};

enum rdmap_opcode {
	RDMAP_WRITE = 0,
	RDMAP_READ_REQ = 1,
	RDMAP_READ_RESP = 2,
	RDMAP_SEND = 3,
	RDMAP_SEND_INV = 4,
	RDMAP_SEND_SE = 5,
	RDMAP_SEND_SE_INV = 6,
	RDMAP_TERMINATE = 7,
};

static inline bool rdmap_is_send(u8 op)
{
	return op >= RDMAP_SEND && op <= RDMAP_SEND_SE_INV;
}

static inline bool rdmap_has_inv(u8 op)
{
	return op == RDMAP_SEND_INV || op == RDMAP_SEND_SE_INV;
}

static inline bool rdmap_has_se(u8 op)
{
	return op == RDMAP_SEND_SE || op == RDMAP_SEND_SE_INV;
}

/* Terminate: layers, error types and codes (RFC 5040 figure 9, RFC 5041 7.2, RFC 5044 8). */
enum term_layer {
	TERM_RDMAP = 0,
	TERM_DDP = 1,
	TERM_LLP = 2,
};

enum term_rdmap_type {
	RDMAP_LOCAL_CATASTROPHIC = 0,
	RDMAP_REMOTE_PROTECTION = 1,
	RDMAP_REMOTE_OPERATION = 2,
};

enum term_rdmap_code {
	RDMAP_ERR_INVALID_STAG = 0x00,
	RDMAP_ERR_BOUNDS = 0x01,
	RDMAP_ERR_RIGHTS = 0x02,
	RDMAP_ERR_NOT_ASSOC = 0x03,
	RDMAP_ERR_TO_WRAP = 0x04,
	RDMAP_ERR_VERSION = 0x05,
	RDMAP_ERR_OPCODE = 0x06,
	RDMAP_ERR_STREAM = 0x07,
	RDMAP_ERR_GLOBAL = 0x08,
	RDMAP_ERR_CANNOT_INVALIDATE = 0x09,
	RDMAP_ERR_UNSPECIFIED = 0xff,
};

enum term_ddp_type {
	DDP_LOCAL_CATASTROPHIC = 0,
	DDP_TAGGED_ERROR = 1,
	DDP_UNTAGGED_ERROR = 2,
};

enum term_ddp_code {
	DDP_TAGGED_INVALID_STAG = 0x00,
	DDP_TAGGED_BOUNDS = 0x01,
	DDP_TAGGED_NOT_ASSOC = 0x02,
	DDP_TAGGED_TO_WRAP = 0x03,
	DDP_TAGGED_VERSION = 0x04,
	DDP_UNTAGGED_QN = 0x01,
	DDP_UNTAGGED_NO_BUFFER = 0x02,
	DDP_UNTAGGED_MSN_RANGE = 0x03,
	DDP_UNTAGGED_MO = 0x04,
	DDP_UNTAGGED_TOO_LONG = 0x05,
	DDP_UNTAGGED_VERSION = 0x06,
};

enum term_mpa_code {
	MPA_ERR_CLOSED = 0x01,
	MPA_ERR_CRC = 0x02,
	MPA_ERR_FRAMING = 0x03, /* marker and length disagree: also a length that holds no header */
};

/* Header control bits, third byte of the Terminate header. */
#define TERM_F_LENGTH 0x80
#define TERM_F_DDP    0x40
#define TERM_F_RDMAP  0x20

/**
 * struct ddp_hdr - DDP and RDMAP control fields of a segment
 * @tagged: tagged buffer model
 * @last: last segment of its message
 * @dv: DDP version
 * @rv: RDMAP version
 * @opcode: enum rdmap_opcode, 4 bits
 * @stag: tagged: STag; untagged: STag to invalidate, else zero
 * @to: tagged offset
 * @qn: queue number
 * @msn: message sequence number
 * @mo: message offset
 */
struct ddp_hdr {
	bool tagged;
	bool last;
	u8 dv;
	u8 rv;
	u8 opcode;
	u32 stag;
	u64 to;
	u32 qn;
	u32 msn;
	u32 mo;
};

/* RDMA Read Request header (RFC 5040 4.4). */
struct rdmap_read {
	u32 sink_stag;
	u64 sink_to;
	u32 size;
	u32 src_stag;
	u64 src_to;
};

/* Bytes of the whole FPDU. */
static inline u32 mpa_fpdu_len(u32 ulpdu_len)
{
	return ALIGN(MPA_HDR_LEN + ulpdu_len, 4u) + MPA_CRC_LEN;
}

static inline u32 ddp_hdr_len(bool tagged)
{
	return tagged ? DDP_TAGGED_LEN : DDP_UNTAGGED_LEN;
}

/* Largest ULPDU of one FPDU in a segment of @emss bytes (RFC 5044 4.5). */
u32 mpa_mulpdu(u32 emss, bool markers);
/* Writes a header, returns its length. */
u32 ddp_put_hdr(u8 *p, const struct ddp_hdr *h);
/* False: @len is shorter than the header that the first byte announces. */
bool ddp_get_hdr(const u8 *p, size_t len, struct ddp_hdr *h);
void rdmap_put_read(u8 *p, const struct rdmap_read *r);
void rdmap_get_read(const u8 *p, struct rdmap_read *r);
/*
 * Ends an FPDU that starts at @p and has @ulpdu_len bytes after its length
 * field: pad and CRC field. @crc is that of all bytes before the pad; the field
 * is zero when CRCs are off. Returns the length of the FPDU.
 */
u32 mpa_finish(u8 *p, u32 ulpdu_len, u32 crc, bool crc_on);
/* Fill the CRC field of the whole FPDU at @p, with its markers. */
void mpa_set_crc(u8 *p, u32 fpdu_len);
/* Is the CRC field of the whole FPDU at @p, with its markers, right? */
bool mpa_crc_ok(const u8 *p, u32 fpdu_len);

#endif /* RNICD_IWARP_FPDU_H */
