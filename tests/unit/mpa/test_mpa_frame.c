// SPDX-License-Identifier: GPL-2.0-or-later
/* MPA start-up frames as bytes: RFC 5044 7.1.1 and RFC 6581 6 and 9. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mpa.h"

static const u8 req_key[16] = {0x4d, 0x50, 0x41, 0x20, 0x49, 0x44, 0x20, 0x52,
			       0x65, 0x71, 0x20, 0x46, 0x72, 0x61, 0x6d, 0x65};
static const u8 rep_key[16] = {0x4d, 0x50, 0x41, 0x20, 0x49, 0x44, 0x20, 0x52,
			       0x65, 0x70, 0x20, 0x46, 0x72, 0x61, 0x6d, 0x65};

static const size_t lengths[] = {0, 1, 3, 4, 251, 252, 255, 256, 507, 508, 511, 512, 513, 65535};

/* Raw frame: what is written here is the RFC's figure, not the code under test. */
static size_t raw(u8 *buf, const u8 *key, u8 bits, u8 rev, size_t pd_len)
{
	size_t i;

	memcpy(buf, key, 16);
	buf[16] = bits;
	buf[17] = rev;
	buf[18] = pd_len >> 8;
	buf[19] = pd_len & 0xff;
	for (i = 0; i < pd_len; i++)
		buf[20 + i] = 0x80 + i * 7;
	return 20 + pd_len;
}

/* In one piece, from memory of exactly that size, so that ASan sees every byte read beyond it. */
static enum mpa_status feed(struct mpa_rx *rx, enum mpa_kind kind, const u8 *bytes, size_t len,
			    size_t *used)
{
	u8 *exact = malloc(len ? len : 1);
	enum mpa_status status;

	memcpy(exact, bytes, len);
	mpa_rx_start(rx, kind);
	status = mpa_rx_feed(rx, exact, len, used);
	free(exact);
	return status;
}

static enum mpa_status feed_bytes(struct mpa_rx *rx, const u8 *bytes, size_t len, size_t *total)
{
	enum mpa_status status = MPA_MORE;
	size_t used;

	*total = 0;
	while (len-- && status == MPA_MORE) {
		status = mpa_rx_feed(rx, bytes + *total, 1, &used);
		assert_true(used <= 1);
		*total += used;
	}
	return status;
}

/* Revision 1: every length; 512 is the last that is well-formed (RFC 5044 7.1.1 PD_Length). */
static void lengths_rev1(void **state)
{
	static u8 buf[20 + 65535];
	struct mpa_frame frame;
	struct mpa_rx rx;
	size_t used, i;

	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		size_t n = lengths[i], len = raw(buf, req_key, 0, 1, n);
		enum mpa_status status = feed(&rx, MPA_REQUEST, buf, len, &used);

		print_message("request, revision 1, %zu bytes of private data\n", n);
		if (n > 512) {
			assert_int_equal(status, MPA_BAD_LENGTH);
			assert_int_equal(used, 20);
			continue;
		}
		assert_int_equal(status, MPA_OK);
		assert_int_equal(used, len);
		mpa_rx_frame(&rx, &frame);
		assert_int_equal(frame.rev, 1);
		assert_false(frame.enhanced);
		assert_int_equal(frame.pd_len, n);
		assert_memory_equal(frame.pd, buf + 20, n);
	}
}

/* Revision 2 with S: the first 4 bytes are not the consumer's; fewer than 4 are malformed. */
static void lengths_enhanced(void **state)
{
	static u8 buf[20 + 65535];
	struct mpa_frame frame;
	struct mpa_rx rx;
	size_t used, i;

	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		size_t n = lengths[i], len = raw(buf, rep_key, 0x10, 2, n);
		enum mpa_status status = feed(&rx, MPA_REPLY, buf, len, &used);

		print_message("reply, revision 2 with S, %zu bytes of private data\n", n);
		if (n > 512 || n < 4) {
			assert_int_equal(status, MPA_BAD_LENGTH);
			continue;
		}
		assert_int_equal(status, MPA_OK);
		mpa_rx_frame(&rx, &frame);
		assert_true(frame.enhanced);
		assert_int_equal(frame.pd_len, n - 4);
		assert_memory_equal(frame.pd, buf + 24, n - 4);
	}
}

/* Cut in two at every byte: the frame is complete with its last byte and not before. */
static void every_split(void **state)
{
	struct mpa_frame frame;
	u8 buf[MPA_FRAME_MAX];
	struct mpa_rx rx;
	size_t cut, used, len = raw(buf, req_key, 0x50, 2, 100);

	for (cut = 0; cut < len; cut++) {
		assert_int_equal(feed(&rx, MPA_REQUEST, buf, cut, &used), MPA_MORE);
		assert_int_equal(used, cut);
		assert_int_equal(mpa_rx_feed(&rx, buf + cut, len - cut, &used), MPA_OK);
		assert_int_equal(used, len - cut);
		mpa_rx_frame(&rx, &frame);
		assert_int_equal(frame.pd_len, 96);
		assert_memory_equal(frame.pd, buf + 24, 96);
	}
	print_message("%zu cuts of a frame of %zu bytes\n", cut, len);
}

static void byte_by_byte(void **state)
{
	u8 buf[MPA_FRAME_MAX];
	struct mpa_rx rx;
	size_t total, n;

	for (n = 0; n <= 512; n++) {
		size_t len = raw(buf, rep_key, 0, 1, n);

		mpa_rx_start(&rx, MPA_REPLY);
		assert_int_equal(feed_bytes(&rx, buf, len, &total), MPA_OK);
		assert_int_equal(total, len);
	}
	print_message("lengths 0 to 512, one byte at a time\n");
}

/* What is glued behind a frame is not touched: behind a reply it is the first FPDU. */
static void glued(void **state)
{
	u8 buf[MPA_FRAME_MAX + 64];
	struct mpa_rx rx;
	size_t used, extra, n;

	for (n = 0; n <= 512; n += 64)
		for (extra = 1; extra <= 64; extra++) {
			size_t len = raw(buf, rep_key, 0, 1, n);

			memset(buf + len, 0xee, extra);
			assert_int_equal(feed(&rx, MPA_REPLY, buf, len + extra, &used), MPA_OK);
			assert_int_equal(used, len);
		}
	print_message("1 to 64 bytes behind the frame are left\n");
}

/* RFC 5044 7.1.2 rule 5: any other key is told, by its first wrong byte. */
static void wrong_key(void **state)
{
	u8 buf[MPA_FRAME_MAX];
	struct mpa_rx rx;
	size_t i, used, total;
	int bit;

	for (i = 0; i < 16; i++)
		for (bit = 0; bit < 8; bit++) {
			raw(buf, req_key, 0, 1, 0);
			buf[i] ^= 1 << bit;
			mpa_rx_start(&rx, MPA_REQUEST);
			assert_int_equal(feed_bytes(&rx, buf, 20, &total), MPA_BAD_KEY);
			assert_int_equal(total, i + 1);
			assert_int_equal(feed(&rx, MPA_REQUEST, buf, 20, &used), MPA_BAD_KEY);
		}
	print_message("each bit of the key\n");
}

/* RFC 5044 7.1.2 rule 8: initiator against initiator, responder against responder. */
static void crossed(void **state)
{
	u8 buf[MPA_FRAME_MAX];
	struct mpa_rx rx;
	size_t used;

	raw(buf, req_key, 0, 1, 0);
	assert_int_equal(feed(&rx, MPA_REPLY, buf, 20, &used), MPA_BAD_KEY);
	raw(buf, rep_key, 0, 1, 0);
	assert_int_equal(feed(&rx, MPA_REQUEST, buf, 20, &used), MPA_BAD_KEY);
	print_message("a request where a reply is due, and the reverse\n");
}

static void revisions(void **state)
{
	u8 buf[MPA_FRAME_MAX];
	struct mpa_rx rx;
	size_t used;
	int rev;

	for (rev = 0; rev < 256; rev++) {
		enum mpa_status want = rev == 1 || rev == 2 ? MPA_OK : MPA_BAD_REVISION;

		raw(buf, req_key, 0, rev, 0);
		assert_int_equal(feed(&rx, MPA_REQUEST, buf, 20, &used), want);
		raw(buf, rep_key, 0, rev, 0);
		assert_int_equal(feed(&rx, MPA_REPLY, buf, 20, &used), want);
	}
	print_message("revisions 0 to 255: 1 and 2 are known\n");
}

/* Reserved bits are not checked, nor is R of a request, nor S of revision 1 (RFC 5044 7.1.1, RFC
 * 6581 6). */
static void flags(void **state)
{
	struct mpa_frame frame;
	u8 buf[MPA_FRAME_MAX];
	struct mpa_rx rx;
	size_t used;
	int bits, rev, reply;

	for (reply = 0; reply < 2; reply++)
		for (rev = 1; rev <= 2; rev++)
			for (bits = 0; bits < 256; bits++) {
				size_t len = raw(buf, reply ? rep_key : req_key, bits, rev, 8);
				enum mpa_kind kind = reply ? MPA_REPLY : MPA_REQUEST;

				assert_int_equal(feed(&rx, kind, buf, len, &used), MPA_OK);
				mpa_rx_frame(&rx, &frame);
				assert_int_equal(frame.markers, !!(bits & 0x80));
				assert_int_equal(frame.crc, !!(bits & 0x40));
				assert_int_equal(frame.reject, reply && (bits & 0x20));
				assert_int_equal(frame.enhanced, rev == 2 && (bits & 0x10));
				assert_int_equal(frame.pd_len, frame.enhanced ? 4 : 8);
			}
	print_message("all 256 values of the flags, both kinds, both revisions\n");
}

/* RFC 6581 9: |A|B| IRD 14 bits |C|D| ORD 14 bits |, network byte order; without A, B-D are
 * ignored. */
static void enhanced_data(void **state)
{
	static const u16 depths[] = {0, 1, 2, 255, 256, 0x1fff, 0x3ffe, 0x3fff};
	u8 buf[MPA_FRAME_MAX], built[MPA_FRAME_MAX];
	struct mpa_frame frame;
	struct mpa_rx rx;
	size_t used, i, j;
	int abcd;

	for (abcd = 0; abcd < 16; abcd++)
		for (i = 0; i < 8; i++)
			for (j = 0; j < 8; j++) {
				u16 ird = (abcd >> 2) << 14 | depths[i];
				u16 ord = (abcd & 3) << 14 | depths[j];
				size_t len = raw(buf, req_key, 0x10, 2, 6);
				u8 rtr = 0;

				buf[20] = ird >> 8;
				buf[21] = ird & 0xff;
				buf[22] = ord >> 8;
				buf[23] = ord & 0xff;
				assert_int_equal(feed(&rx, MPA_REQUEST, buf, len, &used), MPA_OK);
				mpa_rx_frame(&rx, &frame);
				assert_int_equal(frame.ird, depths[i]);
				assert_int_equal(frame.ord, depths[j]);
				assert_int_equal(frame.peer_to_peer, !!(abcd & 8));
				if (abcd & 8)
					rtr = (abcd & 4 ? 2 : 0) | (abcd & 2 ? 4 : 0) |
					      (abcd & 1 ? 8 : 0);
				assert_int_equal(frame.rtr, rtr);

				/* And back: the same bytes, but for B-D without A, which MUST be 0.
				 */
				if (!(abcd & 8)) {
					buf[20] &= 0x3f;
					buf[22] &= 0x3f;
				}
				assert_int_equal(mpa_build(&frame, built), len);
				assert_memory_equal(built, buf, len);
			}
	print_message("16 values of A-D with 64 pairs of depths, read and written\n");
}

/* The consumer's bytes are never cut: they fit, or there is no frame. */
static void build_lengths(void **state)
{
	struct mpa_frame frame = {.kind = MPA_REQUEST, .rev = 1};
	u8 pd[600], buf[MPA_FRAME_MAX];
	size_t n;

	memset(pd, 0x5a, sizeof(pd));
	frame.pd = pd;
	for (n = 0; n < sizeof(pd); n++) {
		frame.pd_len = n;
		frame.rev = 1;
		frame.enhanced = false;
		assert_int_equal(mpa_build(&frame, buf), n <= 512 ? 20 + n : 0);
		frame.rev = 2;
		frame.enhanced = true;
		assert_int_equal(mpa_build(&frame, buf), n <= 508 ? 24 + n : 0);
	}
	assert_int_equal(mpa_max_pd(1), 512);
	assert_int_equal(mpa_max_pd(2), 508);
	print_message("0 to 599 bytes: 512 fit in revision 1, 508 in revision 2\n");
}

static void build_bytes(void **state)
{
	static const u8 want[] = {'M', 'P', 'A',  ' ',	'I',  'D',  ' ',  'R',	'e',
				  'p', ' ', 'F',  'r',	'a',  'm',  'e',  0xf0, 2,
				  0,   6,   0xc0, 0x05, 0x80, 0x02, 0xaa, 0xbb};
	static const u8 pd[] = {0xaa, 0xbb};
	struct mpa_frame frame = {
		.kind = MPA_REPLY,
		.rev = 2,
		.markers = true,
		.crc = true,
		.reject = true,
		.enhanced = true,
		.peer_to_peer = true,
		.rtr = MPA_RTR_BIT(MPA_RTR_SEND) | MPA_RTR_BIT(MPA_RTR_WRITE),
		.ird = 5,
		.ord = 2,
		.pd = pd,
		.pd_len = sizeof(pd),
	};
	u8 buf[MPA_FRAME_MAX];

	assert_int_equal(mpa_build(&frame, buf), sizeof(want));
	assert_memory_equal(buf, want, sizeof(want));
	print_message("reply with M, C, R, S, A, B, C: byte for byte\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths_rev1),	 cmocka_unit_test(lengths_enhanced),
		cmocka_unit_test(every_split),	 cmocka_unit_test(byte_by_byte),
		cmocka_unit_test(glued),	 cmocka_unit_test(wrong_key),
		cmocka_unit_test(crossed),	 cmocka_unit_test(revisions),
		cmocka_unit_test(flags),	 cmocka_unit_test(enhanced_data),
		cmocka_unit_test(build_lengths), cmocka_unit_test(build_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
