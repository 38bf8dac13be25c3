// SPDX-License-Identifier: GPL-2.0-or-later
/* The bytes of an FPDU. */
#include "iwarp/fpdu.h"
#include "iwarp/marker.h"

u32 mpa_mulpdu(u32 emss, bool markers)
{
	u32 over = MPA_HDR_LEN + MPA_CRC_LEN + emss % 4;

	if (markers)
		over += MPA_MARKER_LEN * DIV_ROUND_UP(emss, MPA_MARKER_PERIOD);

	/* RFC 5044 4.5: never below 128, TCP cuts such an FPDU; RFC 5041: never above 64768. */
	if (emss < MPA_MULPDU_MIN + over)
		return MPA_MULPDU_MIN;
	return min(emss - over, MPA_MULPDU_MAX);
}

u32 ddp_put_hdr(u8 *p, const struct ddp_hdr *h)
{
	p[0] = (u8)((h->tagged ? DDP_F_TAGGED : 0) | (h->last ? DDP_F_LAST : 0) | DDP_VERSION);
	p[1] = (u8)(RDMAP_VERSION << 6 | h->opcode);
	put_be32(p + 2, h->stag);
	if (h->tagged) {
		put_be64(p + 6, h->to);
		return DDP_TAGGED_LEN;
	}
	put_be32(p + 6, h->qn);
	put_be32(p + 10, h->msn);
	put_be32(p + 14, h->mo);
	return DDP_UNTAGGED_LEN;
}

bool ddp_get_hdr(const u8 *p, size_t len, struct ddp_hdr *h)
{
	if (len < 2)
		return false;
	memset(h, 0, sizeof(*h));
	h->tagged = p[0] & DDP_F_TAGGED;
	h->last = p[0] & DDP_F_LAST;
	h->dv = p[0] & DDP_F_VERSION;
	h->rv = p[1] >> 6;
	h->opcode = p[1] & 0x0f;
	if (len < ddp_hdr_len(h->tagged))
		return false;
	h->stag = get_be32(p + 2);
	if (h->tagged) {
		h->to = get_be64(p + 6);
		return true;
	}
	h->qn = get_be32(p + 6);
	h->msn = get_be32(p + 10);
	h->mo = get_be32(p + 14);
	return true;
}

void rdmap_put_read(u8 *p, const struct rdmap_read *r)
{
	put_be32(p, r->sink_stag);
	put_be64(p + 4, r->sink_to);
	put_be32(p + 12, r->size);
	put_be32(p + 16, r->src_stag);
	put_be64(p + 20, r->src_to);
}

void rdmap_get_read(const u8 *p, struct rdmap_read *r)
{
	r->sink_stag = get_be32(p);
	r->sink_to = get_be64(p + 4);
	r->size = get_be32(p + 12);
	r->src_stag = get_be32(p + 16);
	r->src_to = get_be64(p + 20);
}

u32 mpa_finish(u8 *p, u32 ulpdu_len, u32 crc, bool crc_on)
{
	u32 end = MPA_HDR_LEN + ulpdu_len;
	u32 pad = -end & 3;

	memset(p + end, 0, pad);
	if (crc_on)
		crc = crc32c(crc, p + end, pad);
	end += pad;
	/* RFC 5044 4.4: the field is there without CRCs too, its value is of no meaning then. */
	put_le32(p + end, crc_on ? crc : 0);
	return end + MPA_CRC_LEN;
}

void mpa_set_crc(u8 *p, u32 fpdu_len)
{
	u32 end = fpdu_len - MPA_CRC_LEN;

	put_le32(p + end, crc32c(0, p, end));
}

bool mpa_crc_ok(const u8 *p, u32 fpdu_len)
{
	u32 end = fpdu_len - MPA_CRC_LEN;

	return crc32c(0, p, end) == get_le32(p + end);
}
