/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MPA markers (RFC 5044 4.3): four bytes at each 512th byte of the stream of FPDUs, the first
 * before its first byte. A marker that falls between two FPDUs belongs to the second. Pure
 * functions; @pos is the place of an FPDU in that stream, its marker included, modulo 2^32.
 */
#ifndef RNICD_IWARP_MARKER_H
#define RNICD_IWARP_MARKER_H

#include "iwarp/fpdu.h"

#define MPA_MARKER_LEN	   4u
#define MPA_MARKER_PERIOD  512u
#define MPA_MARKER_CONTENT (MPA_MARKER_PERIOD - MPA_MARKER_LEN)
/* The longest FPDU with its markers. */
#define MPA_MARKED_MAX \
	(MPA_FPDU_MAX + DIV_ROUND_UP(MPA_FPDU_MAX, MPA_MARKER_CONTENT) * MPA_MARKER_LEN)

/* Bytes of an FPDU with its markers; @len: bytes without. */
u32 mpa_marked_len(u32 pos, u32 len);
/* Bytes before the length field of an FPDU: a marker, or nothing. */
u32 mpa_marked_start(u32 pos);
/* Put markers into the FPDU of @len bytes at @p, which has room for them; returns the new length.
 */
u32 mpa_mark(u8 *p, u32 pos, u32 len);
/*
 * Copy an FPDU without its markers. @len: bytes with them; @dst may be @src.
 * Return: false when a marker does not point to the FPDU's length field.
 */
bool mpa_unmark(u8 *dst, const u8 *src, u32 pos, u32 len);

#endif /* RNICD_IWARP_MARKER_H */
