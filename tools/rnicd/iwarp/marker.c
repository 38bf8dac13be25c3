// SPDX-License-Identifier: GPL-2.0-or-later
/* MPA markers, see marker.h. */
#include "iwarp/marker.h"

/* Bytes from @pos to the next marker; 0: it is there. */
static u32 to_marker(u32 pos)
{
	return -pos % MPA_MARKER_PERIOD;
}

u32 mpa_marked_start(u32 pos)
{
	return to_marker(pos) ? 0 : MPA_MARKER_LEN;
}

u32 mpa_marked_len(u32 pos, u32 len)
{
	u32 room = to_marker(pos);

	if (len <= room)
		return len;
	return len + DIV_ROUND_UP(len - room, MPA_MARKER_CONTENT) * MPA_MARKER_LEN;
}

/* FPDUPTR: back to the length field, 0 where that follows the marker. */
static void put_marker(u8 *p, u32 back)
{
	put_be16(p, 0);
	put_be16(p + 2, (u16)back);
}

u32 mpa_mark(u8 *p, u32 pos, u32 len)
{
	u32 marked = mpa_marked_len(pos, len), start = mpa_marked_start(pos);
	u32 at = marked, left = len, n;

	/* From the end, so that nothing is overwritten before it was moved. */
	while (at != left) {
		n = (pos + at) % MPA_MARKER_PERIOD;
		n = (n ? n : MPA_MARKER_PERIOD) - MPA_MARKER_LEN;
		at -= n;
		left -= n;
		memmove(p + at, p + left, n);
		at -= MPA_MARKER_LEN;
		put_marker(p + at, at ? at - start : 0);
	}
	return marked;
}

bool mpa_unmark(u8 *dst, const u8 *src, u32 pos, u32 len)
{
	u32 start = mpa_marked_start(pos), at = 0, n;
	bool ok = true;

	while (at < len) {
		n = min(to_marker(pos + at), len - at);
		memmove(dst, src + at, n);
		dst += n;
		at += n;
		if (at == len)
			break;
		/* RFC 5044 4.3: the lowest two bits are to be taken as zero. */
		if ((get_be16(src + at + 2) & ~3u) != (at ? (at - start) & 0xfffc : 0))
			ok = false;
		at += MPA_MARKER_LEN;
	}
	return ok;
}
