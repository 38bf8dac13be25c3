// SPDX-License-Identifier: GPL-2.0-or-later
/* The bytes of FPDUs against the figures of RFC 5044, 5041 and 5040. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "iwarp/fpdu.h"
#include "iwarp/iwarp.h"
#include "iwarp/marker.h"

/* Stubs of the device core that the library's objects may ask for. */
#include "rig.h"

/* RFC 5044 4.5: with markers 4 bytes less for each 512 of the EMSS, rounded up. */
static void mulpdu_markers(void **state)
{
	u32 emss, pos;

	assert_int_equal(mpa_mulpdu(1460, true), 1442);
	assert_int_equal(mpa_mulpdu(8948, true), 8870);
	assert_int_equal(mpa_mulpdu(0, true), 128);
	assert_int_equal(mpa_mulpdu(65535, true), 64768);
	for (emss = 144; emss < 65536; emss += 7)
		for (pos = 0; pos < 512; pos += 4)
			assert_true(mpa_marked_len(pos, mpa_fpdu_len(mpa_mulpdu(emss, true))) <=
				    emss);
}

/* RFC 5044 4.5: MULPDU = EMSS - (6 + EMSS mod 4), between 128 and 64768. */
static void mulpdu(void **state)
{
	u32 emss;

	assert_int_equal(mpa_mulpdu(1460, false), 1454);
	assert_int_equal(mpa_mulpdu(1448, false), 1442);
	assert_int_equal(mpa_mulpdu(8948, false), 8942);
	assert_int_equal(mpa_mulpdu(1459, false), 1450);
	assert_int_equal(mpa_mulpdu(0, false), 128);
	assert_int_equal(mpa_mulpdu(65535, false), 64768);
	for (emss = 88; emss < 65536; emss++) {
		u32 m = mpa_mulpdu(emss, false);

		assert_in_range(m, 128, 64768);
		/* The FPDU fits the segment, whatever the payload, and no longer one would. */
		if (emss >= 137) {
			assert_true(mpa_fpdu_len(m) <= emss);
			if (m != 64768)
				assert_true(mpa_fpdu_len(m + 4) > emss);
		}
	}
	printf("MULPDU of every EMSS from 88 to 65535 checked\n");
}

static void fpdu_length(void **state)
{
	u32 i;

	assert_int_equal(mpa_fpdu_len(0), 8);
	assert_int_equal(mpa_fpdu_len(2), 8);
	assert_int_equal(mpa_fpdu_len(3), 12);
	assert_int_equal(mpa_fpdu_len(14), 20);
	assert_int_equal(mpa_fpdu_len(65535), MPA_FPDU_MAX);
	for (i = 0; i < 65536; i++)
		assert_int_equal(mpa_fpdu_len(i) % 4, 0);
}

static void tagged_header(void **state)
{
	/* RFC 5041 figure 4 and RFC 5040 figure 3: T, L, DV 1; RV 1, opcode 0; STag; TO */
	static const u8 want[14] = {0xc1, 0x40, 0x12, 0x34, 0x56, 0x78, 0x01,
				    0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08};
	struct ddp_hdr h = {.tagged = true,
			    .last = true,
			    .opcode = RDMAP_WRITE,
			    .stag = 0x12345678,
			    .to = 0x0102030405060708},
		       g;
	u8 buf[32];

	assert_int_equal(ddp_put_hdr(buf, &h), 14);
	assert_memory_equal(buf, want, 14);
	assert_true(ddp_get_hdr(buf, 14, &g));
	assert_true(g.tagged && g.last && g.dv == 1 && g.rv == 1 && g.opcode == 0);
	assert_true(g.stag == h.stag && g.to == h.to);
	assert_false(ddp_get_hdr(buf, 13, &g));
	h.last = false;
	h.opcode = RDMAP_READ_RESP;
	ddp_put_hdr(buf, &h);
	assert_int_equal(buf[0], 0x81);
	assert_int_equal(buf[1], 0x42);
}

static void untagged_header(void **state)
{
	/* RFC 5041 figure 5; RFC 5040 figure 3: Send with SE and Invalidate */
	static const u8 want[18] = {0x41, 0x46, 0xca, 0xfe, 0xba, 0xbe, 0,    0,    0,
				    0,	  0,	0,    0x01, 0x02, 0,	0x01, 0x00, 0x04};
	struct ddp_hdr h = {.last = true,
			    .opcode = RDMAP_SEND_SE_INV,
			    .stag = 0xcafebabe,
			    .qn = 0,
			    .msn = 0x102,
			    .mo = 0x10004},
		       g;
	u8 buf[32];
	u32 len;

	assert_int_equal(ddp_put_hdr(buf, &h), 18);
	assert_memory_equal(buf, want, 18);
	assert_true(ddp_get_hdr(buf, 18, &g));
	assert_true(!g.tagged && g.last && g.opcode == 6 && g.stag == 0xcafebabe);
	assert_true(g.qn == 0 && g.msn == 0x102 && g.mo == 0x10004);
	for (len = 0; len < 18; len++)
		assert_false(ddp_get_hdr(buf, len, &g));
}

static void read_header(void **state)
{
	/* RFC 5040 figure 6 */
	static const u8 want[28] = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0,
				    0, 3, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 5};
	struct rdmap_read r = {1, 2, 3, 4, 5}, g;
	u8 buf[28];

	rdmap_put_read(buf, &r);
	assert_memory_equal(buf, want, 28);
	rdmap_get_read(buf, &g);
	assert_true(g.sink_stag == 1 && g.sink_to == 2 && g.size == 3 && g.src_stag == 4 &&
		    g.src_to == 5);
}

static void crc_and_pad(void **state)
{
	u32 len;

	for (len = 14; len < 40; len++) {
		u8 b[64];
		u32 n, i, bit;

		memset(b, 0xa5, sizeof(b));
		put_be16(b, (u16)len);
		n = mpa_finish(b, len, crc32c(0, b, 2 + len), true);
		assert_int_equal(n, mpa_fpdu_len(len));
		for (i = 2 + len; i < n - 4; i++)
			assert_int_equal(b[i], 0);
		assert_true(mpa_crc_ok(b, n));
		/* Any single bit that changes is found, in the CRC field too. */
		for (bit = 0; bit < n * 8; bit++) {
			b[bit / 8] ^= (u8)(1 << bit % 8);
			assert_false(mpa_crc_ok(b, n));
			b[bit / 8] ^= (u8)(1 << bit % 8);
		}
	}
	printf("every single-bit error in FPDUs of 14 to 39 bytes found\n");
}

static void terminate_fpdu(void **state)
{
	/* RFC 6581 9.2: layer 2, type 0, code 7; QN 2, MSN 1; no headers (RFC 5040 figure 10) */
	static const u8 want[24] = {0, 22, 0x41, 0x47, 0, 0, 0, 0, 0,	 0,    0, 2,
				    0, 0,  0,	 1,    0, 0, 0, 0, 0x20, 0x07, 0, 0};
	u8 buf[IW_TERM_FPDU_MAX];
	size_t n = iw_build_terminate(buf, 2, 0, 7, ORNIC_RDMAF_CRC);

	assert_int_equal(n, 28);
	assert_memory_equal(buf, want, 24);
	assert_true(mpa_crc_ok(buf, 28));
	n = iw_build_terminate(buf, 2, 0, 6, 0);
	assert_int_equal(n, 28);
	assert_int_equal(buf[21], 6);
	assert_int_equal(get_le32(buf + 24), 0);
	/* With markers the first FPDU has one in front. */
	n = iw_build_terminate(buf, 2, 0, 7, ORNIC_RDMAF_CRC | ORNIC_RDMAF_TX_MARKERS);
	assert_int_equal(n, 32);
	assert_int_equal(get_be32(buf), 0);
	assert_memory_equal(buf + 4, want, 24);
	assert_true(mpa_crc_ok(buf, 32));
}

/* ---- markers ---- */

/* RFC 5044 figures 5 and 6: a Send of 24 zeros as FPDU at @pos; returns its length there. */
static u32 figure(u8 *b, u32 pos, u32 msn)
{
	struct ddp_hdr h = {.last = true, .opcode = RDMAP_SEND, .msn = msn};
	u32 len;

	memset(b, 0, 128);
	put_be16(b, 42);
	len = MPA_HDR_LEN + ddp_put_hdr(b + MPA_HDR_LEN, &h);
	assert_int_equal(len, 20);
	len = mpa_mark(b, pos, mpa_finish(b, 42, 0, false));
	mpa_set_crc(b, len);
	return len;
}

static void rfc_figures(void **state)
{
	static const u8 crc5[4] = {0x52, 0x23, 0x99, 0x83}, crc6[4] = {0x84, 0x92, 0x58, 0x98};
	static const u8 marker6[4] = {0, 0, 0, 0x14};
	u8 b[128];

	/* The first of the stream: a marker before it. */
	assert_int_equal(figure(b, 0, 1), 0x34);
	assert_int_equal(get_be32(b), 0);
	assert_int_equal(get_be16(b + 4), 0x2a);
	assert_memory_equal(b + 0x30, crc5, 4);
	/* At byte 0x1ec: a marker at 0x200, 0x14 behind the length field. */
	assert_int_equal(figure(b, 0x1ec, 2), 0x220 - 0x1ec);
	assert_memory_equal(b + 0x200 - 0x1ec, marker6, 4);
	assert_memory_equal(b + 0x21c - 0x1ec, crc6, 4);
}

/*
 * The same by the letter of the RFC: walk along the stream, and where its place is a multiple of
 * 512 there is a marker.
 */
static u32 mark_slowly(u8 *out, const u8 *fpdu, u32 len, u32 pos)
{
	u32 n = 0, i, head = pos % 512 ? 0 : 4;

	for (i = 0; i < len; i++) {
		if ((pos + n) % 512 == 0) {
			u32 back = n ? n - head : 0;

			out[n++] = 0;
			out[n++] = 0;
			out[n++] = (u8)(back >> 8);
			out[n++] = (u8)back;
		}
		out[n++] = fpdu[i];
	}
	return n;
}

static void marker_places(void **state)
{
	static const u32 lens[] = {8,	 12,   28,   504,  508,	 512,	516,  1012,
				   1016, 1020, 1452, 8948, 9000, 64776, 65544};
	static u8 fpdu[MPA_FPDU_MAX], want[MPA_MARKED_MAX], b[MPA_MARKED_MAX];
	u32 i, k, n, pos, at;

	for (i = 0; i < sizeof(fpdu); i++)
		fpdu[i] = (u8)(i * 13 + 1);
	for (k = 0; k < ARRAY_SIZE(lens); k++)
		for (pos = 0xfffffe00; pos != 0x204; pos += 4) {
			n = mark_slowly(want, fpdu, lens[k], pos);
			assert_int_equal(mpa_marked_len(pos, lens[k]), n);
			memcpy(b, fpdu, lens[k]);
			assert_int_equal(mpa_mark(b, pos, lens[k]), n);
			assert_memory_equal(b, want, n);
			/* Each marker counts; its reserved half and lowest two bits do not. */
			for (at = -pos % 512; at < n; at += 512) {
				b[at + 2] ^= 0x10;
				assert_false(mpa_unmark(want, b, pos, n));
				b[at + 2] ^= 0x10;
				b[at] ^= 0xff;
				b[at + 3] ^= 3;
			}
			assert_true(mpa_unmark(b, b, pos, n));
			assert_memory_equal(b, fpdu, lens[k]);
		}
	printf("FPDUs of %zu lengths at every place of two periods\n", ARRAY_SIZE(lens));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mulpdu),	   cmocka_unit_test(mulpdu_markers),
		cmocka_unit_test(fpdu_length),	   cmocka_unit_test(tagged_header),
		cmocka_unit_test(untagged_header), cmocka_unit_test(read_header),
		cmocka_unit_test(crc_and_pad),	   cmocka_unit_test(terminate_fpdu),
		cmocka_unit_test(rfc_figures),	   cmocka_unit_test(marker_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
