// SPDX-License-Identifier: GPL-2.0-or-later
/* Well and badly made FPDUs from a crafting peer, and a look at those of the device. */
#include "craft_peer.h"

static u8 msg[1400];

static void fill(void)
{
	u32 i;

	for (i = 0; i < sizeof(msg); i++)
		msg[i] = (u8)(i * 7 + 3);
}

static struct ddp a_send(u32 msn)
{
	return (struct ddp){
		.last = true, .dv = 1, .rv = 1, .opcode = RDMAP_SEND, .qn = 0, .msn = msn};
}

static struct ddp a_write(u32 stag, u64 to)
{
	return (struct ddp){.tagged = true,
			    .last = true,
			    .dv = 1,
			    .rv = 1,
			    .opcode = RDMAP_WRITE,
			    .stag = stag,
			    .to = to};
}

static void responder(bool crc)
{
	fill();
	craft_start(crc);
	craft_responder();
}

static void check_buf(u32 off, const void *want, u32 len)
{
	CHECK_MEM(drv_ptr(dev.d, dev.buf + off, len), want, len);
}

static void check_untouched(void)
{
	const u8 *p = drv_ptr(dev.d, dev.buf, CRAFT_BUF);
	u32 i;

	for (i = 0; i < CRAFT_BUF; i++)
		CHECK_EQ(p[i], 0);
}

/* ---- well made ---- */

static void sends(void)
{
	static const u32 len[] = {0, 1, 2, 3, 4, 1400};
	struct ddp h;
	u32 i;

	responder(true);
	for (i = 0; i < ARRAY_SIZE(len); i++) {
		craft_post_recv(0, 2000);
		h = a_send(i + 1);
		craft_send_fpdu(&h, msg, len[i]);
		CHECK_EQ(le32_to_cpu(craft_cqe(ORNIC_CQE_RECV, ORNIC_CQE_OK).byte_len), len[i]);
		check_buf(0, msg, len[i]);
		if (!i)
			drv_tcp_event(dev.d, &dev.tcp, ORNIC_TCP_FIRST_FPDU, CRAFT_CONN, NULL);
	}
}

/* One byte per segment: MPA does not rely on segments (RFC 5044 5). */
static void split(void)
{
	struct ddp h = a_send(1);
	u8 f[512];
	u32 n, i;

	responder(true);
	craft_post_recv(0, 2000);
	n = craft_fpdu(f, &h, msg, 200);
	for (i = 0; i < n; i++)
		craft_send(f + i, 1);
	CHECK_EQ(le32_to_cpu(craft_cqe(ORNIC_CQE_RECV, ORNIC_CQE_OK).byte_len), 200);
	check_buf(0, msg, 200);
}

/* Several in one segment, the last cut in two. */
static void packed(void)
{
	struct ddp h;
	u8 f[1400];
	u32 n = 0, i, cut;

	responder(true);
	for (i = 0; i < 5; i++) {
		craft_post_recv(i * 1000, 1000);
		h = a_send(i + 1);
		n += craft_fpdu(f + n, &h, msg + i, 100 + i);
	}
	cut = n - 50;
	craft_send(f, cut);
	for (i = 0; i < 4; i++)
		CHECK_EQ(le32_to_cpu(craft_cqe(ORNIC_CQE_RECV, ORNIC_CQE_OK).byte_len), 100 + i);
	craft_send(f + cut, n - cut);
	CHECK_EQ(le32_to_cpu(craft_cqe(ORNIC_CQE_RECV, ORNIC_CQE_OK).byte_len), 104);
	for (i = 0; i < 5; i++)
		check_buf(i * 1000, msg + i, 100 + i);
}

static void glued_to_reply(void)
{
	struct ddp h = a_send(1);
	u8 f[512];
	u32 n;

	fill();
	craft_start(true);
	craft_post_recv(0, 2000);
	n = craft_fpdu(f, &h, msg, 100);
	craft_initiator(f, n);
	CHECK_EQ(le32_to_cpu(craft_cqe(ORNIC_CQE_RECV, ORNIC_CQE_OK).byte_len), 100);
	check_buf(0, msg, 100);
}

/* Half of it with the reply, the rest later. */
static void glued_half(void)
{
	struct ddp h = a_send(1);
	u8 f[512];
	u32 n;

	fill();
	craft_start(false);
	craft_post_recv(0, 2000);
	n = craft_fpdu(f, &h, msg, 100);
	craft_initiator(f, 33);
	craft_send(f + 33, n - 33);
	CHECK_EQ(le32_to_cpu(craft_cqe(ORNIC_CQE_RECV, ORNIC_CQE_OK).byte_len), 100);
	check_buf(0, msg, 100);
}

static void segmented_send(void)
{
	struct ddp h = a_send(1);

	responder(true);
	craft_post_recv(0, 3000);
	h.last = false;
	craft_send_fpdu(&h, msg, 1000);
	h.mo = 1000;
	craft_send_fpdu(&h, msg, 500);
	h.mo = 1500;
	h.last = true;
	craft_send_fpdu(&h, msg, 7);
	CHECK_EQ(le32_to_cpu(craft_cqe(ORNIC_CQE_RECV, ORNIC_CQE_OK).byte_len), 1507);
	check_buf(0, msg, 1000);
	check_buf(1000, msg, 500);
	check_buf(1500, msg, 7);
}

static void writes(void)
{
	struct ddp h;

	responder(true);
	h = a_write(CRAFT_STAG, dev.buf + 4090);
	craft_send_fpdu(&h, msg, 1200);
	/* No bytes: no STag is looked at (RFC 5040 5.1). */
	h = a_write(0, 0);
	craft_send_fpdu(&h, msg, 0);
	craft_post_recv(0, 16);
	h = a_send(1);
	craft_send_fpdu(&h, msg, 1);
	craft_cqe(ORNIC_CQE_RECV, ORNIC_CQE_OK);
	check_buf(4090, msg, 1200);
}

static void send_invalidate(void)
{
	union drv_cmd c = drv_cmd(ORNIC_CMD_QUERY_MR);
	struct ddp h = a_send(1);
	struct ornic_cqe cqe;
	u64 out;

	responder(true);
	drv_reg_mr(dev.d, 0x4455, CRAFT_PD, drv_alloc(dev.d, 4096), 4096, 0);
	craft_post_recv(0, 100);
	h.opcode = RDMAP_SEND_SE_INV;
	h.stag = 0x4455;
	craft_send_fpdu(&h, msg, 10);
	cqe = craft_cqe(ORNIC_CQE_RECV, ORNIC_CQE_OK);
	CHECK_EQ(le32_to_cpu(cqe.inv_stag), 0x4455);
	CHECK((le32_to_cpu(cqe.flags) & ~ORNIC_CQE_PHASE) ==
	      (ORNIC_CQE_WITH_INV | ORNIC_CQE_SOLICITED));
	out = drv_alloc(dev.d, 64);
	c.stag.stag = cpu_to_le32(0x4455);
	c.hdr.data = cpu_to_le64(out);
	drv_do(dev.d, &c);
	CHECK_EQ(((struct ornic_mr_attr *)drv_ptr(dev.d, out, 64))->state, 0);
}

static void put_read(u8 *p, u32 sink, u64 sink_to, u32 len, u32 src, u64 src_to)
{
	put_be32(p, sink);
	put_be64(p + 4, sink_to);
	put_be32(p + 12, len);
	put_be32(p + 16, src);
	put_be64(p + 20, src_to);
}

static void send_read(u32 msn, u32 len, u32 src, u64 src_to)
{
	struct ddp h = {
		.last = true, .dv = 1, .rv = 1, .opcode = RDMAP_READ_REQ, .qn = 1, .msn = msn};
	u8 p[28];

	put_read(p, 0xabcd01, 0x1000, len, src, src_to);
	craft_send_fpdu(&h, p, sizeof(p));
}

static void reads(void)
{
	u8 p[1500];
	struct ddp h;
	u32 n, got = 0;

	responder(true);
	memcpy(drv_ptr(dev.d, dev.buf, sizeof(msg)), msg, sizeof(msg));
	memcpy(drv_ptr(dev.d, dev.buf + sizeof(msg), sizeof(msg)), msg, sizeof(msg));
	send_read(1, 2 * sizeof(msg), CRAFT_STAG, dev.buf);
	while (got < 2 * sizeof(msg)) {
		n = craft_recv_fpdu(&h, p);
		CHECK_EQ(h.opcode, RDMAP_READ_RESP);
		CHECK(h.tagged && h.stag == 0xabcd01 && h.to == 0x1000 + got);
		CHECK_MEM(p, (u8 *)drv_ptr(dev.d, dev.buf + got, n), n);
		got += n;
		CHECK_EQ(h.last, got == 2 * sizeof(msg));
	}
	/* No bytes: an answer without a look at the STag. */
	send_read(2, 0, 0x99999999, 0);
	CHECK_EQ(craft_recv_fpdu(&h, p), 0);
	CHECK(h.opcode == RDMAP_READ_RESP && h.last);
}

/* ---- what the device sends ---- */

static void device_writes(void)
{
	struct ornic_sq_wqe_msg *w;
	u8 p[1500];
	struct ddp h;
	u32 n, got = 0, len = 10001;

	fill();
	craft_start(true);
	craft_initiator(msg, 0);
	memset(drv_ptr(dev.d, dev.buf, len), 0x5a, len);
	w = drv_sq_wqe(dev.d, &dev.qp);
	w->hdr.opcode = ORNIC_WR_WRITE;
	w->hdr.flags = ORNIC_WRF_SIGNALED;
	w->hdr.num_sge = 1;
	w->remote_addr = cpu_to_le64(0x123456789abcULL);
	w->remote_stag = cpu_to_le32(0xdeadbe01);
	w->sge[0] =
		(struct ornic_sge){cpu_to_le64(dev.buf), cpu_to_le32(len), cpu_to_le32(CRAFT_STAG)};
	drv_sq_ring(dev.d, &dev.qp);
	while (got < len) {
		n = craft_recv_fpdu(&h, p);
		CHECK(h.tagged && h.opcode == RDMAP_WRITE && h.stag == 0xdeadbe01);
		CHECK(h.to == 0x123456789abcULL + got && n);
		CHECK_MEM(p, drv_ptr(dev.d, dev.buf, n), n);
		got += n;
		CHECK_EQ(h.last, got == len);
	}
	craft_cqe(ORNIC_WR_WRITE, ORNIC_CQE_OK);
}

static void device_reads(void)
{
	struct ornic_sq_wqe_msg *w;
	struct ornic_cqe cqe;
	u8 p[1500];
	struct ddp h;

	fill();
	craft_start(true);
	craft_initiator(msg, 0);
	w = drv_sq_wqe(dev.d, &dev.qp);
	w->hdr.opcode = ORNIC_WR_READ;
	w->hdr.flags = ORNIC_WRF_SIGNALED;
	w->hdr.num_sge = 1;
	w->remote_addr = cpu_to_le64(0x7000);
	w->remote_stag = cpu_to_le32(0x1234);
	w->sge[0] = (struct ornic_sge){cpu_to_le64(dev.buf + 64), cpu_to_le32(1300),
				       cpu_to_le32(CRAFT_STAG)};
	drv_sq_ring(dev.d, &dev.qp);
	CHECK_EQ(craft_recv_fpdu(&h, p), 28);
	CHECK(!h.tagged && h.opcode == RDMAP_READ_REQ && h.qn == 1 && h.msn == 1 && h.mo == 0 &&
	      h.last);
	CHECK_EQ(get_be32(p), CRAFT_STAG);
	CHECK_EQ(get_be64(p + 4), dev.buf + 64);
	CHECK_EQ(get_be32(p + 12), 1300);
	CHECK_EQ(get_be32(p + 16), 0x1234);
	CHECK_EQ(get_be64(p + 20), 0x7000);
	h = a_write(CRAFT_STAG, dev.buf + 64);
	h.opcode = RDMAP_READ_RESP;
	h.last = false;
	craft_send_fpdu(&h, msg, 700);
	h.to += 700;
	h.last = true;
	craft_send_fpdu(&h, msg + 700, 600);
	cqe = craft_cqe(ORNIC_WR_READ, ORNIC_CQE_OK);
	CHECK_EQ(le32_to_cpu(cqe.byte_len), 1300);
	check_buf(64, msg, 1300);
}

/* ---- markers ---- */

/* Sends of all sizes around a marker's period, and FPDUs in pieces and together. */
static void markers_received(void)
{
	struct ddp h;
	u8 f[600], m[3000];
	u32 len, n = 0, i, msn = 1;

	fill();
	craft_start(true);
	dev.rx_markers = true;
	craft_responder();
	for (len = 0; len < 1100; len += 37, msn++) {
		craft_post_recv(0, 2000);
		h = a_send(msn);
		craft_send_fpdu(&h, msg, len);
		CHECK_EQ(le32_to_cpu(craft_cqe(ORNIC_CQE_RECV, ORNIC_CQE_OK).byte_len), len);
		check_buf(0, msg, len);
	}
	for (i = 0; i < 3; i++) {
		craft_post_recv(i * 2000, 2000);
		h = a_send(msn + i);
		n += craft_mark(m + n, f, craft_fpdu(f, &h, msg + i, 500 + i));
	}
	for (i = 0; i < 700; i++)
		craft_send(m + i, 1);
	craft_send(m + 700, n - 700);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(le32_to_cpu(craft_cqe(ORNIC_CQE_RECV, ORNIC_CQE_OK).byte_len), 500 + i);
		check_buf(i * 2000, msg + i, 500 + i);
	}
}

static void markers_glued(void)
{
	struct ddp h = a_send(1);
	u8 f[700], m[800];
	u32 n;

	fill();
	craft_start(true);
	dev.rx_markers = true;
	craft_post_recv(0, 2000);
	n = craft_mark(m, f, craft_fpdu(f, &h, msg, 600));
	craft_initiator(m, n);
	CHECK_EQ(le32_to_cpu(craft_cqe(ORNIC_CQE_RECV, ORNIC_CQE_OK).byte_len), 600);
	check_buf(0, msg, 600);
}

/* A pointer to another place than the length field: Terminate 2/0/3 (RFC 5044 8), nothing placed.
 */
static void marker_wrong(void)
{
	static const u32 at[] = {3, 512 + 2};
	u8 f[800], m[900];
	struct ddp h;
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(at); i++) {
		fill();
		craft_start(true);
		dev.rx_markers = true;
		craft_responder();
		craft_post_recv(0, 64);
		h = a_write(CRAFT_STAG, dev.buf);
		n = craft_mark(m, f, craft_fpdu(f, &h, msg, 700));
		m[at[i]] ^= 0x10;
		put_le32(m + n - 4, craft_crc32c(m, n - 4));
		craft_send(m, n);
		craft_expect_terminate(2, 0, 3);
		craft_expect_async(ORNIC_ASYNC_QP_REQ_ERR);
		craft_cqe(ORNIC_CQE_RECV, ORNIC_CQE_FLUSHED);
		check_untouched();
		CHECK_EQ(drv_stat(dev.d, ORNIC_STAT_IW_RX_FRAMING), 1);
		CHECK(drv_stop_all());
	}
}

/* The CRC covers markers: a change in one is found as any other. */
static void marker_crc(void)
{
	u8 f[800], m[900];
	struct ddp h;
	u32 n;

	fill();
	craft_start(true);
	dev.rx_markers = true;
	craft_responder();
	h = a_write(CRAFT_STAG, dev.buf);
	n = craft_mark(m, f, craft_fpdu(f, &h, msg, 700));
	m[512] ^= 1;
	craft_send(m, n);
	craft_expect_terminate(2, 0, 2);
	check_untouched();
}

/* Every place of the device's FPDUs against the markers of its stream, segments never too long. */
static void markers_sent(void)
{
	u8 p[1500];
	struct ddp h;
	u32 msn, n, got, size;

	for (msn = 0; msn < 2; msn++) {
		fill();
		craft_start(msn);
		dev.tx_markers = true;
		craft_responder();
		memcpy(drv_ptr(dev.d, dev.buf, sizeof(msg)), msg, sizeof(msg));
		for (n = 1; n < 40; n++) {
			size = n * 97;
			send_read(n, size, CRAFT_STAG, dev.buf);
			for (got = 0; got < size; got += craft_recv_fpdu(&h, p))
				;
			CHECK_EQ(got, size);
			CHECK(h.last && h.opcode == RDMAP_READ_RESP);
		}
		CHECK(drv_stop_all());
	}
}

/* A Terminate of the device has its markers too, and comes whole. */
static void markers_both(void)
{
	struct ddp h;

	fill();
	craft_start(true);
	dev.tx_markers = true;
	dev.rx_markers = true;
	craft_responder();
	h = a_write(CRAFT_STAG + 1, dev.buf);
	craft_send_fpdu(&h, msg, 100);
	craft_expect_terminate(1, 1, 0);
	check_untouched();
}

/* ---- badly made: the right Terminate (RFC 5040 4.8, RFC 5041 8.2, RFC 5044 8), nothing placed
 * ---- */

static void bad_crc(void)
{
	struct ddp h;
	u8 f[512];
	u32 n;

	responder(true);
	craft_post_recv(0, 1000);
	h = a_write(CRAFT_STAG, dev.buf);
	n = craft_fpdu(f, &h, msg, 100);
	f[40] ^= 0x10;
	craft_send(f, n);
	craft_expect_terminate(2, 0, 2);
	craft_expect_async(ORNIC_ASYNC_QP_REQ_ERR);
	craft_cqe(ORNIC_CQE_RECV, ORNIC_CQE_FLUSHED);
	check_untouched();
	CHECK_EQ(drv_stat(dev.d, ORNIC_STAT_IW_RX_CRC), 1);
}

/* Without CRCs the field is not looked at. */
static void no_crc(void)
{
	struct ddp h;
	u8 f[512];
	u32 n;

	responder(false);
	craft_post_recv(0, 1000);
	h = a_send(1);
	n = craft_fpdu(f, &h, msg, 100);
	put_le32(f + n - 4, 0x12345678);
	craft_send(f, n);
	craft_cqe(ORNIC_CQE_RECV, ORNIC_CQE_OK);
}

static void bad_tagged(const struct ddp *h, u32 len, u8 code, u8 event)
{
	responder(true);
	craft_send_fpdu(h, msg, len);
	craft_expect_terminate(1, 1, code);
	craft_expect_async(event);
	check_untouched();
	CHECK(drv_stop_all());
}

static void tagged_errors(void)
{
	u64 base = DRV_RAM_BASE;
	struct ddp h;

	/* Where the buffer will be: each start allocates alike. */
	responder(true);
	base = dev.buf;
	CHECK(drv_stop_all());
	h = a_write(CRAFT_STAG + 1, base);
	bad_tagged(&h, 10, 0, ORNIC_ASYNC_QP_ACCESS_ERR);
	h = a_write(0, base);
	bad_tagged(&h, 10, 0, ORNIC_ASYNC_QP_ACCESS_ERR);
	h = a_write(CRAFT_STAG, base - 1);
	bad_tagged(&h, 10, 1, ORNIC_ASYNC_QP_ACCESS_ERR);
	h = a_write(CRAFT_STAG, base + CRAFT_BUF - 9);
	bad_tagged(&h, 10, 1, ORNIC_ASYNC_QP_ACCESS_ERR);
	h = a_write(CRAFT_STAG, UINT64_MAX - 5);
	bad_tagged(&h, 10, 3, ORNIC_ASYNC_QP_ACCESS_ERR);
	h = a_write(CRAFT_STAG, base);
	h.dv = 2;
	bad_tagged(&h, 10, 4, ORNIC_ASYNC_QP_REQ_ERR);
}

/* An STag of another PD is not associated with the stream. */
static void other_pd(void)
{
	struct ddp h;

	responder(true);
	drv_reg_mr(dev.d, 0x7701, CRAFT_PD + 1, dev.buf, 4096,
		   ORNIC_ACC_LOCAL_WRITE | ORNIC_ACC_REMOTE_WRITE);
	h = a_write(0x7701, dev.buf);
	craft_send_fpdu(&h, msg, 10);
	craft_expect_terminate(1, 1, 2);
	check_untouched();
}

static void no_right(void)
{
	struct ddp h;

	responder(true);
	drv_reg_mr(dev.d, 0x7701, CRAFT_PD, dev.buf, 4096,
		   ORNIC_ACC_LOCAL_WRITE | ORNIC_ACC_REMOTE_READ);
	h = a_write(0x7701, dev.buf);
	craft_send_fpdu(&h, msg, 10);
	/* RFC 5041 8.2 has no code for missing rights; an STag without them is invalid for this
	 * use. */
	craft_expect_terminate(1, 1, 0);
	check_untouched();
}

static void bad_untagged(const struct ddp *h, u32 len, u8 layer, u8 etype, u8 code)
{
	responder(true);
	craft_post_recv(0, 64);
	craft_send_fpdu(h, msg, len);
	craft_expect_terminate(layer, etype, code);
	craft_expect_async(ORNIC_ASYNC_QP_REQ_ERR);
	CHECK(drv_stop_all());
}

static void untagged_errors(void)
{
	struct ddp h;

	h = a_send(1), h.qn = 7;
	bad_untagged(&h, 10, 1, 2, 1);
	h = a_send(3);
	bad_untagged(&h, 10, 1, 2, 3);
	h = a_send(0);
	bad_untagged(&h, 10, 1, 2, 3);
	h = a_send(1), h.mo = 8;
	bad_untagged(&h, 10, 1, 2, 4);
	h = a_send(1), h.dv = 0;
	bad_untagged(&h, 10, 1, 2, 6);
	h = a_send(1), h.rv = 2;
	bad_untagged(&h, 10, 0, 2, 5);
	h = a_send(1), h.opcode = 9;
	bad_untagged(&h, 10, 0, 2, 6);
	/* A Write that is not tagged. */
	h = a_send(1), h.opcode = RDMAP_WRITE;
	bad_untagged(&h, 10, 0, 2, 6);
}

static void send_too_long(void)
{
	struct ddp h = a_send(1);

	responder(true);
	craft_post_recv(0, 64);
	craft_send_fpdu(&h, msg, 65);
	craft_expect_terminate(1, 2, 5);
	craft_cqe(ORNIC_CQE_RECV, ORNIC_CQE_LOC_LEN);
}

static void send_no_buffer(void)
{
	struct ddp h = a_send(1);

	responder(true);
	craft_send_fpdu(&h, msg, 10);
	craft_expect_terminate(1, 2, 2);
}

static void read_errors(void)
{
	static const struct {
		u32 stag;
		u64 off;
		u32 len;
		u8 code;
	} t[] = {
		{CRAFT_STAG + 1, 0, 100, 0},
		{CRAFT_STAG, CRAFT_BUF - 50, 100, 1},
		{CRAFT_STAG, 0, 0xffffffff, 1},
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		responder(true);
		send_read(1, t[i].len, t[i].stag, dev.buf + t[i].off);
		craft_expect_terminate(0, 1, t[i].code);
		craft_expect_async(ORNIC_ASYNC_QP_ACCESS_ERR);
		CHECK(drv_stop_all());
	}
}

static void unasked_response(void)
{
	struct ddp h;

	responder(true);
	h = a_write(CRAFT_STAG, dev.buf);
	h.opcode = RDMAP_READ_RESP;
	craft_send_fpdu(&h, msg, 100);
	/* RFC 5040 7: the opcode is not one that may come now. */
	craft_expect_terminate(0, 2, 6);
	check_untouched();
}

/* Lengths that no DDP header fits in, and one that never ends. */
static void bad_lengths(void)
{
	static const u16 len[] = {0, 1, 13, 17};
	u8 f[64], p[1500];
	struct ddp h;
	u32 i, end;

	for (i = 0; i < ARRAY_SIZE(len); i++) {
		responder(true);
		craft_post_recv(0, 64);
		memset(f, 0, sizeof(f));
		put_be16(f, len[i]);
		f[2] = 0x41;
		f[3] = 0x43;
		end = ALIGN(2u + len[i], 4u);
		put_le32(f + end, craft_crc32c(f, end));
		craft_send(f, end + 4);
		craft_recv_fpdu(&h, p);
		CHECK_EQ(h.opcode, RDMAP_TERMINATE);
		craft_wait_fin();
		craft_cqe(ORNIC_CQE_RECV, ORNIC_CQE_FLUSHED);
		CHECK(drv_stop_all());
	}
}

/* The stream ends within an FPDU: nothing of it is placed, and the QP does not hang. */
static void cut_short(void)
{
	struct ddp h;
	u8 f[512];
	u32 n;

	responder(true);
	craft_post_recv(0, 64);
	h = a_write(CRAFT_STAG, dev.buf);
	n = craft_fpdu(f, &h, msg, 100);
	craft_send(f, n - 10);
	craft_fin();
	drv_tcp_event(dev.d, &dev.tcp, ORNIC_TCP_PEER_FIN, CRAFT_CONN, NULL);
	check_untouched();
	CHECK_EQ(drv_number(dev.d, ORNIC_CMD_ABORT, CRAFT_CONN), 0);
	craft_cqe(ORNIC_CQE_RECV, ORNIC_CQE_FLUSHED);
}

static void terminated(void)
{
	struct ddp h = {
		.last = true, .dv = 1, .rv = 1, .opcode = RDMAP_TERMINATE, .qn = 2, .msn = 1};
	u8 slot[ORNIC_TEQ_SLOT_SIZE];
	u8 t[4] = {0x12, 0x05, 0, 0};
	struct ornic_teqe e;

	responder(true);
	craft_post_recv(0, 64);
	craft_send_fpdu(&h, t, sizeof(t));
	CHECK(drv_eq_next(dev.d, &dev.tcp, &e, slot, DRV_WAIT_MS));
	if (e.type == ORNIC_TCP_FIRST_FPDU)
		CHECK(drv_eq_next(dev.d, &dev.tcp, &e, slot, DRV_WAIT_MS));
	CHECK_EQ(e.type, ORNIC_TCP_TERM_RCVD);
	CHECK_MEM(slot, t, 4);
	craft_cqe(ORNIC_CQE_RECV, ORNIC_CQE_FLUSHED);
	craft_expect_async(ORNIC_ASYNC_QP_FATAL);
	craft_wait_fin();
}

static const struct test tests[] = {
	{"sends", sends},
	{"split", split},
	{"packed", packed},
	{"glued_to_reply", glued_to_reply},
	{"glued_half", glued_half},
	{"segmented_send", segmented_send},
	{"writes", writes},
	{"send_invalidate", send_invalidate},
	{"reads", reads},
	{"device_writes", device_writes},
	{"device_reads", device_reads},
	{"markers_received", markers_received},
	{"markers_glued", markers_glued},
	{"marker_wrong", marker_wrong},
	{"marker_crc", marker_crc},
	{"markers_sent", markers_sent},
	{"markers_both", markers_both},
	{"bad_crc", bad_crc},
	{"no_crc", no_crc},
	{"tagged_errors", tagged_errors},
	{"other_pd", other_pd},
	{"no_right", no_right},
	{"untagged_errors", untagged_errors},
	{"send_too_long", send_too_long},
	{"send_no_buffer", send_no_buffer},
	{"read_errors", read_errors},
	{"unasked_response", unasked_response},
	{"bad_lengths", bad_lengths},
	{"cut_short", cut_short},
	{"terminated", terminated},
};

int main(int argc, char **argv)
{
	return test_main(argc, argv, tests, ARRAY_SIZE(tests));
}
