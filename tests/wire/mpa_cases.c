// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A crafting peer against a real rnicd: FPDUs good, bad, split, glued and over-long, and the
 * Terminate that each bad one deserves (RFC 5044 8, RFC 5041 7.2, RFC 5040 4.8).
 */
#include <unistd.h>

#include "mpa_peer.h"

#define TH_ACK 0x10
#define TH_PSH 0x08

static struct peer peer, *const p = &peer;
static struct end dev, *const e = &dev;
static struct fpdu fpdu, *const f = &fpdu;
static u8 payload[66000];

/* On a loaded machine the device's answer may take its time. */
static void await(const bool *what)
{
	int i;

	for (i = 0; i < 200 && !*what; i++)
		peer_poll(p, 20);
	CHECK(*what);
}

static void responder(u8 rtr)
{
	peer_start(p, e, 1460);
	peer_to_device(p, e, rtr);
}

/* What a Terminate must be followed by: FIN of the device, ERROR, flush, event; CLOSED after our
 * FIN. */
static void expect_term(u8 layer, u8 etype, u8 code, u8 async, u32 recvs)
{
	struct ornic_aeqe ev;
	struct ornic_cqe cqe;
	const u8 *t = NULL;
	struct ddp_hdr h;
	u32 len = 0, i;

	for (;;) {
		CHECK(peer_fpdu(p, &h, &t, &len));
		if (h.opcode == RDMAP_TERMINATE)
			break;
	}
	CHECK(!h.tagged && h.last && h.qn == 2 && h.msn == 1 && !h.mo && len >= 4);
	if (t[0] != (layer << 4 | etype) || t[1] != code)
		test_fail(__FILE__, __LINE__, "Terminate %u/%u/0x%02x, expected %u/%u/0x%02x",
			  t[0] >> 4, t[0] & 15, t[1], layer, etype, code);
	await(&p->fin);
	CHECK(!p->rst);
	CHECK_EQ(p->taken, p->rx_len);
	CHECK(drv_eq_next(e->d, &e->async, &ev, NULL, DRV_WAIT_MS));
	CHECK_EQ(ev.type, async);
	CHECK_EQ(le32_to_cpu(ev.number), END_QP);
	CHECK_MEM(ev.term, t, 2);
	for (i = 0; i < recvs; i++) {
		CHECK(drv_cq_next(e->d, &e->cq, &cqe, DRV_WAIT_MS));
		CHECK(cqe.status != ORNIC_CQE_OK);
		CHECK_EQ(le32_to_cpu(cqe.wqe_index), i);
	}
	end_no_cqe(e);
	peer_segment(p, p->snd_nxt++, NULL, 0, TH_ACK | 1);
	peer_poll(p, 200);
	CHECK(!p->rst);
	peer_stop(p);
}

static struct ddp_hdr tagged(u8 opcode)
{
	return (struct ddp_hdr){
		.tagged = true, .last = true, .opcode = opcode, .stag = END_STAG, .to = e->buf};
}

static struct ddp_hdr untagged(u8 opcode, u32 qn, u32 msn)
{
	return (struct ddp_hdr){.last = true, .opcode = opcode, .qn = qn, .msn = msn};
}

static void send_fpdu(const struct ddp_hdr *h, const void *data, u32 len)
{
	fpdu_make(f, h, data, len);
	peer_send(p, f->b, f->len);
}

/* ---- good ---- */

/* Write, Send, Read from the peer, Write, Send and Read from the device. Also what tshark dissects.
 */
static void conversation(void)
{
	struct rdmap_read r = {0x1234, 0x40, 3000, END_STAG, 0};
	struct ornic_sq_wqe_msg *w;
	const char *pcap = getenv("WIRE_PCAP");
	char line[300], *answer;
	struct ddp_hdr h, g;
	const u8 *got;
	u32 len, off;
	u8 b[28];

	peer_start(p, e, 1460);
	if (pcap) {
		snprintf(line, sizeof(line), "pcap %s", pcap);
		answer = drv_ctl(e->d, line);
		free(answer);
	}
	peer_to_device(p, e, 0);
	end_recv(e, 4096, 2000);
	h = tagged(RDMAP_WRITE);
	send_fpdu(&h, "written by the peer", 19);
	drv_tcp_event(e->d, &e->tcp, ORNIC_TCP_FIRST_FPDU, END_CONN, NULL);
	h = untagged(RDMAP_SEND_SE, 0, 1);
	send_fpdu(&h, "sent by the peer", 16);
	CHECK_EQ(le32_to_cpu(end_cqe(e, ORNIC_CQE_RECV, 0, ORNIC_CQE_OK).byte_len), 16);
	CHECK_MEM(drv_ptr(e->d, e->buf, 19), "written by the peer", 19);
	CHECK_MEM(drv_ptr(e->d, e->buf + 4096, 16), "sent by the peer", 16);
	for (off = 0; off < 3000; off++)
		((u8 *)drv_ptr(e->d, e->buf + 8192, 3000))[off] = (u8)(off * 7);
	r.src_to = e->buf + 8192;
	rdmap_put_read(b, &r);
	h = untagged(RDMAP_READ_REQ, 1, 1);
	send_fpdu(&h, b, 28);
	for (off = 0; off < 3000; off += len) {
		CHECK(peer_fpdu(p, &g, &got, &len));
		CHECK(g.tagged && g.opcode == RDMAP_READ_RESP && g.stag == 0x1234 &&
		      g.to == 0x40 + off);
		CHECK_EQ(g.last, off + len == 3000);
		CHECK_MEM(got, drv_ptr(e->d, e->buf + 8192 + off, len), len);
	}
	w = end_send(e, ORNIC_WR_WRITE, ORNIC_WRF_SIGNALED, 8192, 2000);
	w->remote_addr = cpu_to_le64(0x5000);
	w->remote_stag = cpu_to_le32(0x77);
	end_send(e, ORNIC_WR_SEND, ORNIC_WRF_SIGNALED | ORNIC_WRF_SOLICITED, 0, 19);
	w = end_send(e, ORNIC_WR_READ, ORNIC_WRF_SIGNALED, 100, 10);
	w->remote_addr = cpu_to_le64(0x6000);
	w->remote_stag = cpu_to_le32(0x78);
	drv_sq_ring(e->d, &e->qp);
	for (off = 0; off < 2000; off += len) {
		CHECK(peer_fpdu(p, &g, &got, &len));
		CHECK(g.tagged && g.opcode == RDMAP_WRITE && g.stag == 0x77 &&
		      g.to == 0x5000 + off);
		CHECK_EQ(g.last, off + len == 2000);
	}
	CHECK(peer_fpdu(p, &g, &got, &len));
	CHECK(!g.tagged && g.opcode == RDMAP_SEND_SE && g.msn == 1 && !g.qn && !g.mo && len == 19);
	CHECK_MEM(got, "written by the peer", 19);
	CHECK(peer_fpdu(p, &g, &got, &len));
	CHECK(!g.tagged && g.opcode == RDMAP_READ_REQ && g.qn == 1 && g.msn == 1 && len == 28);
	rdmap_get_read(got, &r);
	CHECK(r.size == 10 && r.src_stag == 0x78 && r.src_to == 0x6000 && r.sink_stag == END_STAG);
	h = tagged(RDMAP_READ_RESP);
	h.to = r.sink_to;
	send_fpdu(&h, "0123456789", 10);
	end_cqe(e, ORNIC_WR_WRITE, 0, ORNIC_CQE_OK);
	end_cqe(e, ORNIC_WR_SEND, 1, ORNIC_CQE_OK);
	CHECK_EQ(le32_to_cpu(end_cqe(e, ORNIC_WR_READ, 2, ORNIC_CQE_OK).byte_len), 10);
	CHECK_MEM(drv_ptr(e->d, e->buf + 100, 10), "0123456789", 10);
	/* A Terminate at the end, for tshark's sake too. */
	h = tagged(RDMAP_WRITE);
	h.stag ^= 0x100;
	send_fpdu(&h, "x", 1);
	expect_term(1, 1, 0, ORNIC_ASYNC_QP_ACCESS_ERR, 0);
	if (pcap)
		free(drv_ctl(e->d, "pcap stop"));
}

/* RFC 5044 5.1: each FPDU in a segment of its own, whole, whatever the MSS. */
static void alignment(void)
{
	static const u16 mss[] = {536, 1000, 1459, 1460};
	u32 i, k, segs, got, len;
	const u8 *data;

	for (i = 0; i < ARRAY_SIZE(mss); i++) {
		struct ornic_sq_wqe_msg *w;
		struct ddp_hdr h;

		peer_start(p, e, mss[i]);
		peer_to_device(p, e, 0);
		h = tagged(RDMAP_WRITE);
		send_fpdu(&h, NULL, 0);
		segs = p->nseg;
		w = end_send(e, ORNIC_WR_WRITE, ORNIC_WRF_SIGNALED, 0, 20000);
		w->remote_addr = cpu_to_le64(0x5000);
		w->remote_stag = cpu_to_le32(0x77);
		drv_sq_ring(e->d, &e->qp);
		for (got = 0; got < 20000; got += len)
			CHECK(peer_fpdu(p, &h, &data, &len));
		end_cqe(e, ORNIC_WR_WRITE, 0, ORNIC_CQE_OK);
		for (k = segs; k < p->nseg; k++) {
			CHECK_EQ(mpa_fpdu_len(get_be16(p->rx + p->seg[k].off)), p->seg[k].len);
			CHECK(p->seg[k].len <= mss[i]);
			if (k + 1 < p->nseg)
				CHECK(p->seg[k].len > mss[i] - 16u);
		}
		printf("    MSS %u: %u FPDUs, each one segment\n", mss[i], p->nseg - segs);
		peer_stop(p);
		CHECK(drv_stop_all());
	}
}

/* Every cut of two FPDUs into two segments, then single bytes, then both at once. */
static void split(void)
{
	struct ddp_hdr w, s = untagged(RDMAP_SEND, 0, 1);
	static u8 both[200];
	u32 cut, total, i;

	responder(0);
	w = tagged(RDMAP_WRITE);
	for (cut = 0; cut < 70; cut++, s.msn++) {
		end_recv(e, 4096, 100);
		fpdu_make(f, &w, "written", 7);
		memcpy(both, f->b, f->len);
		total = f->len;
		fpdu_make(f, &s, "sent in pieces", 14);
		memcpy(both + total, f->b, f->len);
		total += f->len;
		memset(drv_ptr(e->d, e->buf + 4096, 100), 0, 100);
		if (cut < total && cut)
			peer_send(p, both, cut);
		if (cut < total)
			peer_send(p, both + cut, total - cut);
		else
			for (i = 0; i < total; i++)
				peer_send(p, both + i, 1);
		CHECK_EQ(le32_to_cpu(end_cqe(e, ORNIC_CQE_RECV, cut, ORNIC_CQE_OK).byte_len), 14);
		CHECK_MEM(drv_ptr(e->d, e->buf + 4096, 14), "sent in pieces", 14);
		if (cut >= total)
			break;
	}
	printf("    cut at each of %u bytes, and into single bytes\n", total);
	peer_stop(p);
}

/* Segments in the wrong order, twice, and overlapping: TCP puts it right before MPA looks. */
static void disorder(void)
{
	struct ddp_hdr s = untagged(RDMAP_SEND, 0, 1);
	u32 q, i;

	responder(0);
	for (i = 0; i < 3000; i++)
		payload[i] = (u8)(i * 11);
	end_recv(e, 4096, 4000);
	fpdu_make(f, &s, payload, 3000);
	q = p->snd_nxt;
	peer_segment(p, q + 2000, f->b + 2000, f->len - 2000, TH_ACK);
	peer_segment(p, q + 900, f->b + 900, 1300, TH_ACK);
	peer_segment(p, q + 2000, f->b + 2000, f->len - 2000, TH_ACK);
	peer_segment(p, q + 100, f->b + 100, 1000, TH_ACK);
	peer_segment(p, q, f->b, 700, TH_ACK | TH_PSH);
	p->snd_nxt += f->len;
	CHECK_EQ(le32_to_cpu(end_cqe(e, ORNIC_CQE_RECV, 0, ORNIC_CQE_OK).byte_len), 3000);
	CHECK_MEM(drv_ptr(e->d, e->buf + 4096, 3000), payload, 3000);
	peer_stop(p);
}

/* An FPDU in one segment with the MPA reply: the initiator takes it. */
static void glued_to_reply(void)
{
	struct ddp_hdr s = untagged(RDMAP_SEND, 0, 1);

	peer_start(p, e, 1460);
	end_recv(e, 0, 100);
	device_to_peer(p, e);
	fpdu_make(f, &s, "glued", 5);
	device_to_peer_rdma(p, e, f->b, f->len, 0);
	CHECK_EQ(le32_to_cpu(end_cqe(e, ORNIC_CQE_RECV, 0, ORNIC_CQE_OK).byte_len), 5);
	CHECK_MEM(drv_ptr(e->d, e->buf, 5), "glued", 5);
	peer_stop(p);
}

/* Half of one is finished later; a bad one gets its Terminate. */
static void half_glued(void)
{
	struct ddp_hdr s = untagged(RDMAP_SEND, 0, 1);

	peer_start(p, e, 1460);
	end_recv(e, 0, 100);
	end_recv(e, 0, 100);
	device_to_peer(p, e);
	fpdu_make(f, &s, "glued half", 10);
	device_to_peer_rdma(p, e, f->b, 17, 0);
	peer_send(p, f->b + 17, f->len - 17);
	end_cqe(e, ORNIC_CQE_RECV, 0, ORNIC_CQE_OK);
	peer_stop(p);
	CHECK(drv_stop_all());
	peer_start(p, e, 1460);
	device_to_peer(p, e);
	f->b[20] ^= 4;
	device_to_peer_rdma(p, e, f->b, f->len, 0);
	expect_term(2, 0, 2, ORNIC_ASYNC_QP_REQ_ERR, 0);
}

/* The same to a responder, before its reply: not a startup that RFC 5044 7.1.2 allows. */
static void glued_to_request(void)
{
	struct ddp_hdr s = untagged(RDMAP_SEND, 0, 1);
	u8 slot[ORNIC_TEQ_SLOT_SIZE];
	static u8 all[200];
	union drv_cmd c, listen = drv_listen_cmd(1, DEV_HOST, DEV_PORT), accept;
	struct ornic_teqe ev;
	int i;

	peer_start(p, e, 1460);
	drv_do(e->d, &listen);
	peer_segment(p, p->snd_nxt++, NULL, 0, 2);
	ev = drv_tcp_event(e->d, &e->tcp, ORNIC_TCP_CONN_REQ, 0, slot);
	accept = drv_accept_cmd(le32_to_cpu(ev.syn_id), END_CONN, 0);
	drv_do(e->d, &accept);
	for (i = 0; i < 100 && !p->syn_seen; i++)
		peer_poll(p, 20);
	peer_segment(p, p->snd_nxt, NULL, 0, TH_ACK);
	drv_tcp_event(e->d, &e->tcp, ORNIC_TCP_ESTABLISHED, END_CONN, NULL);
	memcpy(all, "MPA ID Req Frame\x40\x01\0", 20);
	fpdu_make(f, &s, "early", 5);
	memcpy(all + 20, f->b, f->len);
	peer_send(p, all, 20 + f->len);
	drv_tcp_event(e->d, &e->tcp, ORNIC_TCP_STREAM_RX, END_CONN, slot);
	c = end_rdma_cmd(e, ORNIC_ROLE_RESPONDER, 0, ORNIC_RDMAF_CRC, MPA_HELLO);
	CHECK_EQ(drv_exec(e->d, &c), ORNIC_CMDS_EARLY_DATA);
	await(&p->rst);
	peer_stop(p);
}

/* ---- bad ---- */

struct bad {
	const char *what;
	bool tag;
	u8 opcode;
	u32 qn, msn, mo, len;
	u8 flip0, flip1; /* of the two control bytes */
	u8 layer, etype, code, async;
};

#define REQ ORNIC_ASYNC_QP_REQ_ERR
#define ACC ORNIC_ASYNC_QP_ACCESS_ERR

static const struct bad bads[] = {
	{"DDP version 0, tagged", true, 0, 0, 0, 0, 4, 1, 0, 1, 1, 4, REQ},
	{"DDP version 0, untagged", false, 3, 0, 1, 0, 4, 1, 0, 1, 2, 6, REQ},
	{"RDMAP version 0", false, 3, 0, 1, 0, 4, 0, 0x40, 0, 2, 5, REQ},
	{"opcode 9", false, 9, 0, 1, 0, 4, 0, 0, 0, 2, 6, REQ},
	{"queue 7", false, 3, 7, 1, 0, 4, 0, 0, 1, 2, 1, REQ},
	{"MSN 0", false, 3, 0, 0, 0, 4, 0, 0, 1, 2, 3, REQ},
	{"MSN 2", false, 3, 0, 2, 0, 4, 0, 0, 1, 2, 3, REQ},
	{"MO 4", false, 3, 0, 1, 4, 4, 0, 0, 1, 2, 4, REQ},
	{"Send too long", false, 3, 0, 1, 0, 101, 0, 0, 1, 2, 5, REQ},
	{"over-long Send of one 64 KiB FPDU", false, 3, 0, 1, 0, 65517, 0, 0, 1, 2, 5, REQ},
	{"Read Request of 8 bytes", false, 1, 1, 1, 0, 8, 0, 0, 0, 2, 0xff, REQ},
	{"Read Response unasked", true, 2, 0, 0, 0, 4, 0, 0, 0, 2, 6, REQ},
};

static void bad_segments(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bads); i++) {
		const struct bad *b = &bads[i];
		struct ddp_hdr h;

		responder(0);
		h = b->tag ? tagged(b->opcode) : untagged(b->opcode, b->qn, b->msn);
		h.mo = b->mo;
		end_recv(e, 0, 100);
		end_recv(e, 0, 100);
		fpdu_make(f, &h, payload, b->len);
		f->b[2] ^= b->flip0;
		f->b[3] ^= b->flip1;
		fpdu_fix_crc(f);
		peer_send(p, f->b, f->len);
		expect_term(b->layer, b->etype, b->code, b->async, 2);
		printf("    %s: Terminate %u/%u/0x%02x\n", b->what, b->layer, b->etype, b->code);
		CHECK(drv_stop_all());
	}
}

static void bad_stags(void)
{
	static const struct {
		const char *what;
		u32 stag_xor;
		s64 to;
		u8 code;
	} t[] = {
		{"no such STag", 0x00500000, 0, 0},
		{"wrong key", 0x44, 0, 0},
		{"before the MR", 0, -1, 1},
		{"beyond the MR", 0, END_BUF_SIZE, 1},
		{"across its end", 0, END_BUF_SIZE - 3, 1},
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct rdmap_read r;
		struct ddp_hdr h;
		u8 b[28];

		responder(0);
		h = tagged(RDMAP_WRITE);
		h.stag ^= t[i].stag_xor;
		h.to += (u64)t[i].to;
		send_fpdu(&h, "evil", 4);
		expect_term(1, 1, t[i].code, ACC, 0);
		CHECK(drv_stop_all());
		responder(0);
		r = (struct rdmap_read){1, 0, 4, END_STAG ^ t[i].stag_xor, e->buf + (u64)t[i].to};
		rdmap_put_read(b, &r);
		h = untagged(RDMAP_READ_REQ, 1, 1);
		send_fpdu(&h, b, 28);
		expect_term(0, 1, t[i].code, ACC, 0);
		CHECK(drv_stop_all());
		printf("    %s: Write 1/1/0x%02x, Read 0/1/0x%02x\n", t[i].what, t[i].code,
		       t[i].code);
	}
}

static void bad_lengths(void)
{
	u32 len;

	for (len = 0; len < 18; len += 3) {
		u8 b[64] = {0};
		u32 n;

		responder(0);
		end_recv(e, 0, 100);
		put_be16(b, (u16)len);
		b[2] = 0x41;
		b[3] = 0x43;
		n = mpa_finish(b, len, crc32c(0, b, 2 + len), true);
		peer_send(p, b, n);
		expect_term(2, 0, 3, REQ, 1);
		CHECK(drv_stop_all());
	}
}

static void bad_crc(void)
{
	static const u32 at[] = {2, 3, 9, 17, 25, 30, 33};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(at); i++) {
		struct ddp_hdr h = untagged(RDMAP_SEND, 0, 1);

		responder(0);
		end_recv(e, 0, 100);
		fpdu_make(f, &h, "some payload", 12);
		CHECK(at[i] < f->len);
		f->b[at[i]] ^= 0x20;
		peer_send(p, f->b, f->len);
		expect_term(2, 0, 2, REQ, 1);
		CHECK_EQ(drv_stat(e->d, ORNIC_STAT_IW_RX_CRC), 1);
		CHECK(drv_stop_all());
	}
}

static void too_many_reads(void)
{
	struct ddp_hdr h = untagged(RDMAP_READ_REQ, 1, 1);
	static u8 all[1000];
	u8 b[28];
	u32 n = 0;

	responder(0);
	rdmap_put_read(b, &(struct rdmap_read){1, 0, 200000, END_STAG, e->buf});
	for (; h.msn <= 9; h.msn++) {
		fpdu_make(f, &h, b, 28);
		memcpy(all + n, f->b, f->len);
		n += f->len;
	}
	peer_send(p, all, n);
	expect_term(1, 2, 2, REQ, 0);
}

/* A FIN in the middle of an FPDU: the end of the stream, nothing is placed. */
static void fin_inside(void)
{
	struct ddp_hdr h;
	struct ornic_cqe cqe;

	responder(0);
	end_recv(e, 4096, 100);
	h = untagged(RDMAP_SEND, 0, 1);
	fpdu_make(f, &h, "never seen", 10);
	peer_send(p, f->b, f->len - 1);
	peer_segment(p, p->snd_nxt++, NULL, 0, TH_ACK | 1);
	drv_tcp_event(e->d, &e->tcp, ORNIC_TCP_PEER_FIN, END_CONN, NULL);
	CHECK(drv_cq_next(e->d, &e->cq, &cqe, DRV_WAIT_MS));
	CHECK_EQ(cqe.status, ORNIC_CQE_FLUSHED);
	CHECK_EQ(*(u8 *)drv_ptr(e->d, e->buf + 4096, 1), 0);
	peer_stop(p);
}

/* Bytes behind a bad FPDU are not looked at: one Terminate, for the first (RFC 5040 7.1.4). */
static void first_error_counts(void)
{
	struct ddp_hdr h;
	static u8 all[300];
	u32 n;

	responder(0);
	h = tagged(RDMAP_WRITE);
	h.stag = 0x99900;
	fpdu_make(f, &h, "a", 1);
	memcpy(all, f->b, f->len);
	n = f->len;
	h = untagged(RDMAP_SEND, 7, 1);
	fpdu_make(f, &h, "b", 1);
	memcpy(all + n, f->b, f->len);
	n += f->len;
	h = tagged(RDMAP_WRITE);
	fpdu_make(f, &h, "must not be placed", 18);
	memcpy(all + n, f->b, f->len);
	n += f->len;
	peer_send(p, all, n);
	expect_term(1, 1, 0, ACC, 0);
	CHECK_EQ(*(u8 *)drv_ptr(e->d, e->buf, 1), 0);
}

/* Terminate of the peer: ERROR, FIN, event with what it said. */
static void peer_terminates(void)
{
	static const u8 term[4] = {0x12, 0x05, 0, 0};
	u8 slot[ORNIC_TEQ_SLOT_SIZE];
	struct ornic_cqe cqe;
	struct ddp_hdr h;

	responder(0);
	end_recv(e, 0, 100);
	h = untagged(RDMAP_TERMINATE, 2, 1);
	send_fpdu(&h, term, 4);
	drv_tcp_event(e->d, &e->tcp, ORNIC_TCP_FIRST_FPDU, END_CONN, NULL);
	drv_tcp_event(e->d, &e->tcp, ORNIC_TCP_TERM_RCVD, END_CONN, slot);
	CHECK_MEM(slot, term, 4);
	CHECK(drv_cq_next(e->d, &e->cq, &cqe, DRV_WAIT_MS));
	CHECK_EQ(cqe.status, ORNIC_CQE_FLUSHED);
	await(&p->fin);
	CHECK(!p->rst);
	CHECK_EQ(p->rx_len, MPA_HELLO);
	peer_stop(p);
}

static const struct test tests[] = {
	{"conversation", conversation},
	{"alignment", alignment},
	{"split", split},
	{"disorder", disorder},
	{"glued_to_reply", glued_to_reply},
	{"half_glued", half_glued},
	{"glued_to_request", glued_to_request},
	{"bad_segments", bad_segments},
	{"bad_stags", bad_stags},
	{"bad_lengths", bad_lengths},
	{"bad_crc", bad_crc},
	{"too_many_reads", too_many_reads},
	{"fin_inside", fin_inside},
	{"first_error_counts", first_error_counts},
	{"peer_terminates", peer_terminates},
};

int main(int argc, char **argv)
{
	return test_main(argc, argv, tests, ARRAY_SIZE(tests));
}
