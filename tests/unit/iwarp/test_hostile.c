// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A peer that makes its FPDUs by hand. Each case of RFC 5044 8, RFC 5041 7.1
 * and RFC 5040 7.2 must end in its Terminate, an event, a flush and a FIN, each
 * once; and nothing may be placed.
 */
#include <stdio.h>

#include "rig.h"

#define ALL_ACC (ORNIC_ACC_LOCAL_WRITE | ORNIC_ACC_REMOTE_WRITE | ORNIC_ACC_REMOTE_READ)
#define POISON	424242u

struct peer {
	struct rig *r;
	struct tcq *scq, *rcq;
	struct tqp *qp;
	struct tmr *mr; /* all rights */
	struct tmr *local; /* local write only */
	struct tmr *other; /* all rights, another PD */
	struct tconn *tc[2];
	u32 raw_seen;
};

struct fpdu {
	u8 b[70000];
	u32 len;
};

static const struct bind_cfg responder = {
	.role = ORNIC_ROLE_RESPONDER, .crc = true, .ird = 4, .ord = 4};

static struct peer *peer_new(const struct bind_cfg *bind, u16 access)
{
	const struct tqp_cfg cfg = {.access = access};
	struct rig *r = rig_new(1500);
	struct peer *p = rig_own(r, sizeof(*p));

	p->r = r;
	p->scq = tcq_new(&r->h[0], 8);
	p->rcq = tcq_new(&r->h[0], 8);
	p->qp = tqp_new(&r->h[0], p->scq, p->rcq, &cfg);
	p->mr = tmr_new(&r->h[0], 100000, ALL_ACC, PDN);
	p->local = tmr_new(&r->h[0], 10000, ORNIC_ACC_LOCAL_WRITE, PDN);
	p->other = tmr_new(&r->h[0], 10000, ALL_ACC, PDN + 1);
	tmr_fill(p->mr, 0, 100000, POISON);
	tmr_fill(p->local, 0, 10000, POISON);
	tmr_fill(p->other, 0, 10000, POISON);
	rig_connect(r, p->tc);
	rig_bind(p->qp, p->tc[0], bind ? bind : &responder);
	return p;
}

static void make(struct fpdu *f, const struct ddp_hdr *h, const void *payload, u32 len)
{
	u32 n = ddp_put_hdr(f->b + 2, h);

	memcpy(f->b + 2 + n, payload, len);
	put_be16(f->b, (u16)(n + len));
	f->len = mpa_finish(f->b, n + len, crc32c(0, f->b, 2 + n + len), true);
}

/* After a change by hand. */
static void fix_crc(struct fpdu *f)
{
	put_le32(f->b + f->len - 4, crc32c(0, f->b, f->len - 4));
}

static void give(struct peer *p, const void *data, u32 len)
{
	assert_int_equal(tcp_send(p->tc[1]->c.tcp, data, len), 0);
	rig_run_for(p->r, len > 4000 ? 500 * MS : 20 * MS);
}

/* The next FPDU that the device sent, CRC checked; false: none. */
static bool next_fpdu(struct peer *p, struct ddp_hdr *h, const u8 **payload, u32 *len)
{
	const u8 *b = p->tc[1]->raw + p->raw_seen;
	u32 left = p->tc[1]->raw_len - p->raw_seen, n;

	if (left < 8)
		return false;
	n = mpa_fpdu_len(get_be16(b));
	assert_true(n <= left);
	assert_true(mpa_crc_ok(b, n));
	assert_true(ddp_get_hdr(b + 2, get_be16(b), h));
	assert_int_equal(h->dv, 1);
	assert_int_equal(h->rv, 1);
	*payload = b + 2 + ddp_hdr_len(h->tagged);
	*len = get_be16(b) - ddp_hdr_len(h->tagged);
	p->raw_seen += n;
	return true;
}

static void count_flush(struct tcq *cq, u32 first, u32 want, u8 first_status)
{
	struct ornic_cqe e;
	u32 n = 0;

	while (tcq_poll(cq, &e)) {
		assert_int_equal(le32_to_cpu(e.wqe_index), first + n);
		assert_int_equal(e.status, n ? ORNIC_CQE_FLUSHED : first_status);
		n++;
	}
	assert_int_equal(n, want);
}

/* The whole ritual after an error. @first: status of the oldest receive, of @recvs. */
static void expect_term(struct peer *p, u8 layer, u8 etype, u8 code, u8 async, u32 recvs, u8 first)
{
	struct ornic_aeqe ev;
	struct ddp_hdr h;
	const u8 *t;
	u32 len;

	assert_int_equal(tqp_state(p->qp), ORNIC_QPS_ERROR);
	for (;;) {
		assert_true(next_fpdu(p, &h, &t, &len));
		if (h.opcode == RDMAP_TERMINATE)
			break;
	}
	assert_true(!h.tagged && h.last && h.qn == 2 && h.msn == 1 && !h.mo);
	assert_in_range(len, 4, 52);
	assert_int_equal(t[0] >> 4, layer);
	assert_int_equal(t[0] & 15, etype);
	assert_int_equal(t[1], code);
	/* Nothing may follow a Terminate but the FIN. */
	assert_false(next_fpdu(p, &h, &t, &len));
	assert_true(p->tc[1]->peer_fin);
	assert_int_equal(p->tc[0]->terms_sent, 1);
	assert_int_equal(p->tc[0]->closes, 1);
	assert_true(host_async(p->qp->h, &ev));
	assert_int_equal(ev.type, async);
	assert_int_equal(le32_to_cpu(ev.number), p->qp->qpn);
	if (async != ORNIC_ASYNC_QP_FATAL) {
		assert_int_equal(ev.term[0], layer << 4 | etype);
		assert_int_equal(ev.term[1], code);
	}
	assert_false(host_async(p->qp->h, &ev));
	count_flush(p->rcq, 0, recvs, first);
	assert_true(tmr_check(p->mr, 0, 100000, POISON, 0));
	assert_true(tmr_check(p->local, 0, 10000, POISON, 0));
	assert_true(tmr_check(p->other, 0, 10000, POISON, 0));
}

/* The peer closes as well: the connection ends in order, once. */
static void expect_end(struct peer *p)
{
	tcp_close(p->tc[1]->c.tcp);
	rig_run_for(p->r, 100 * MS);
	assert_true(p->tc[0]->ended);
	assert_int_equal(p->tc[0]->end, TCP_EV_CLOSED);
	assert_null(iw_qp_find(&p->r->h[0].dev, p->qp->qpn)->conn);
	rig_free(p->r);
}

static void post_recvs(struct peer *p, u32 n, u32 len)
{
	while (n--)
		tqp_post_recv(p->qp, p->mr->iova, len, p->mr->stag);
}

/* ---- tables of single FPDUs ---- */

struct bad {
	const char *what;
	struct ddp_hdr h;
	u32 len; /* of payload */
	u8 layer, etype, code, async;
	u8 flip_byte0, flip_byte1; /* of the DDP header */
};

#define REQ ORNIC_ASYNC_QP_REQ_ERR
#define ACC ORNIC_ASYNC_QP_ACCESS_ERR

static u8 junk[66000];

static void run_bad(const struct bad *b, struct peer *p)
{
	struct fpdu *f = rig_own(p->r, sizeof(*f));

	post_recvs(p, 2, 100);
	make(f, &b->h, junk, b->len);
	f->b[2] ^= b->flip_byte0;
	f->b[3] ^= b->flip_byte1;
	fix_crc(f);
	give(p, f->b, f->len);
	expect_term(p, b->layer, b->etype, b->code, b->async, 2,
		    b->async == REQ && b->code == DDP_UNTAGGED_TOO_LONG && b->layer == TERM_DDP &&
				    b->h.qn == 0
			    ? ORNIC_CQE_LOC_LEN
			    : ORNIC_CQE_FLUSHED);
	printf("  %s: Terminate %u/%u/0x%02x\n", b->what, b->layer, b->etype, b->code);
	expect_end(p);
}

static const struct bad bad_untagged[] = {
	{"queue number 3", {.last = 1, .opcode = 3, .qn = 3, .msn = 1}, 4, 1, 2, 1, REQ, 0, 0},
	{"queue number 2^32-1",
	 {.last = 1, .opcode = 3, .qn = ~0u, .msn = 1},
	 4,
	 1,
	 2,
	 1,
	 REQ,
	 0,
	 0},
	{"Send MSN 0", {.last = 1, .opcode = 3, .msn = 0}, 4, 1, 2, 3, REQ, 0, 0},
	{"Send MSN 2", {.last = 1, .opcode = 3, .msn = 2}, 4, 1, 2, 3, REQ, 0, 0},
	{"Send MSN 2^32-1", {.last = 1, .opcode = 3, .msn = ~0u}, 4, 1, 2, 3, REQ, 0, 0},
	{"Send begins at MO 4", {.last = 1, .opcode = 3, .msn = 1, .mo = 4}, 4, 1, 2, 4, REQ, 0, 0},
	{"Send longer than the receive",
	 {.last = 1, .opcode = 3, .msn = 1},
	 101,
	 1,
	 2,
	 5,
	 REQ,
	 0,
	 0},
	{"Send DDP version 0", {.last = 1, .opcode = 3, .msn = 1}, 4, 1, 2, 6, REQ, 1, 0},
	{"Send DDP version 2", {.last = 1, .opcode = 3, .msn = 1}, 4, 1, 2, 6, REQ, 3, 0},
	{"Send RDMAP version 0", {.last = 1, .opcode = 3, .msn = 1}, 4, 0, 2, 5, REQ, 0, 0x40},
	{"Send RDMAP version 3", {.last = 1, .opcode = 3, .msn = 1}, 4, 0, 2, 5, REQ, 0, 0x80},
	{"Write opcode untagged", {.last = 1, .opcode = 0, .msn = 1}, 4, 0, 2, 6, REQ, 0, 0},
	{"Read Request on queue 0", {.last = 1, .opcode = 1, .msn = 1}, 28, 0, 2, 6, REQ, 0, 0},
	{"Send on queue 1", {.last = 1, .opcode = 3, .qn = 1, .msn = 1}, 28, 0, 2, 6, REQ, 0, 0},
	{"Send on queue 2", {.last = 1, .opcode = 3, .qn = 2, .msn = 1}, 28, 0, 2, 6, REQ, 0, 0},
	{"Terminate on queue 0",
	 {.last = 1, .opcode = 7, .qn = 0, .msn = 1},
	 4,
	 0,
	 2,
	 6,
	 REQ,
	 0,
	 0},
	{"opcode 8", {.last = 1, .opcode = 8, .qn = 0, .msn = 1}, 4, 0, 2, 6, REQ, 0, 0},
	{"opcode 15", {.last = 1, .opcode = 15, .qn = 0, .msn = 1}, 4, 0, 2, 6, REQ, 0, 0},
	{"Read Request MSN 2", {.last = 1, .opcode = 1, .qn = 1, .msn = 2}, 28, 1, 2, 3, REQ, 0, 0},
	{"Read Request MO 28",
	 {.last = 1, .opcode = 1, .qn = 1, .msn = 1, .mo = 28},
	 28,
	 1,
	 2,
	 4,
	 REQ,
	 0,
	 0},
	{"Read Request of 27",
	 {.last = 1, .opcode = 1, .qn = 1, .msn = 1},
	 27,
	 0,
	 2,
	 0xff,
	 REQ,
	 0,
	 0},
	{"Read Request of 0",
	 {.last = 1, .opcode = 1, .qn = 1, .msn = 1},
	 0,
	 0,
	 2,
	 0xff,
	 REQ,
	 0,
	 0},
	{"Read Request of 29", {.last = 1, .opcode = 1, .qn = 1, .msn = 1}, 29, 1, 2, 5, REQ, 0, 0},
	{"Read Request not last",
	 {.last = 0, .opcode = 1, .qn = 1, .msn = 1},
	 28,
	 0,
	 2,
	 0xff,
	 REQ,
	 0,
	 0},
	{"Terminate MSN 2", {.last = 1, .opcode = 7, .qn = 2, .msn = 2}, 4, 1, 2, 3, REQ, 0, 0},
	{"Terminate MO 1",
	 {.last = 1, .opcode = 7, .qn = 2, .msn = 1, .mo = 1},
	 4,
	 1,
	 2,
	 4,
	 REQ,
	 0,
	 0},
	{"Terminate of 57", {.last = 1, .opcode = 7, .qn = 2, .msn = 1}, 57, 1, 2, 5, REQ, 0, 0},
	{"over-long Send", {.last = 1, .opcode = 3, .msn = 1}, 65535 - 18, 1, 2, 5, REQ, 0, 0},
};

static void untagged_errors(void **state)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad_untagged); i++)
		run_bad(&bad_untagged[i], peer_new(NULL, 0));
	printf("%zu malformed untagged segments\n", ARRAY_SIZE(bad_untagged));
}

static void tagged_errors(void **state)
{
	struct bad t[] = {
		{"Write STag 0", {.tagged = 1, .last = 1, .stag = 0}, 4, 1, 1, 0, ACC, 0, 0},
		{"Write STag of no MR",
		 {.tagged = 1, .last = 1, .stag = 0x00123456},
		 4,
		 1,
		 1,
		 0,
		 ACC,
		 0,
		 0},
		{"Write STag 2^32-1", {.tagged = 1, .last = 1, .stag = ~0u}, 4, 1, 1, 0, ACC, 0, 0},
		{"Write wrong key", {.tagged = 1, .last = 1}, 4, 1, 1, 0, ACC, 0, 0},
		{"Write before the MR", {.tagged = 1, .last = 1}, 4, 1, 1, 1, ACC, 0, 0},
		{"Write beyond the MR", {.tagged = 1, .last = 1}, 4, 1, 1, 1, ACC, 0, 0},
		{"Write across the end", {.tagged = 1, .last = 1}, 4, 1, 1, 1, ACC, 0, 0},
		{"Write wraps", {.tagged = 1, .last = 1, .to = ~0ull - 1}, 4, 1, 1, 3, ACC, 0, 0},
		{"Write to another PD", {.tagged = 1, .last = 1}, 4, 1, 1, 2, ACC, 0, 0},
		{"Write without rights", {.tagged = 1, .last = 1}, 4, 1, 1, 0, ACC, 0, 0},
		{"Write DDP version 0", {.tagged = 1, .last = 1}, 4, 1, 1, 4, REQ, 1, 0},
		{"Write RDMAP version 2", {.tagged = 1, .last = 1}, 4, 0, 2, 5, REQ, 0, 0xc0},
		{"tagged Send", {.tagged = 1, .last = 1, .opcode = 3}, 4, 0, 2, 6, REQ, 0, 0},
		{"tagged Terminate", {.tagged = 1, .last = 1, .opcode = 7}, 4, 0, 2, 6, REQ, 0, 0},
		{"tagged opcode 9", {.tagged = 1, .last = 1, .opcode = 9}, 4, 0, 2, 6, REQ, 0, 0},
		{"Read Response to no Read",
		 {.tagged = 1, .last = 1, .opcode = 2},
		 4,
		 0,
		 2,
		 6,
		 REQ,
		 0,
		 0},
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct peer *p = peer_new(NULL, 0);
		struct ddp_hdr *h = &t[i].h;

		if (i >= 3 && i != 7) {
			h->stag = p->mr->stag;
			h->to = p->mr->iova;
		}
		if (i == 3)
			h->stag ^= 1;
		else if (i == 4)
			h->to -= 1;
		else if (i == 5)
			h->to += 100000;
		else if (i == 6)
			h->to += 100000 - 3;
		else if (i == 7)
			h->stag = p->mr->stag;
		else if (i == 8)
			h->stag = p->other->stag, h->to = p->other->iova;
		else if (i == 9)
			h->stag = p->local->stag, h->to = p->local->iova;
		run_bad(&t[i], p);
	}
	printf("%zu malformed tagged segments\n", ARRAY_SIZE(t));
}

/* What the QP does not allow at all. */
static void qp_rights(void **state)
{
	struct bad t = {
		"Write to a QP that allows none", {.tagged = 1, .last = 1}, 4, 1, 1, 0, ACC, 0, 0};
	struct peer *p = peer_new(NULL, ORNIC_ACC_REMOTE_READ);

	t.h.stag = p->mr->stag;
	t.h.to = p->mr->iova;
	run_bad(&t, p);
}

static void read_errors(void **state)
{
	static const struct {
		const char *what;
		u8 code;
	} t[] = {
		{"source STag 0", 0},	     {"source of no MR", 0},
		{"source key wrong", 0},     {"source too long", 1},
		{"source before the MR", 1}, {"source without rights", 2},
		{"source of another PD", 3}, {"source wraps", 4},
		{"QP without rights", 2},
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct peer *p = peer_new(NULL, i == 8 ? ORNIC_ACC_REMOTE_WRITE : 0);
		struct rdmap_read r = {0x100, 0, 1000, p->mr->stag, p->mr->iova};
		const struct ddp_hdr h = {.last = 1, .opcode = 1, .qn = 1, .msn = 1};
		struct fpdu *f = rig_own(p->r, sizeof(*f));
		const struct ornic_terminate *term = &p->tc[0]->c.term_sent;
		u8 b[28];

		switch (i) {
		case 0:
			r.src_stag = 0;
			break;
		case 1:
			r.src_stag = 0x7777700;
			break;
		case 2:
			r.src_stag ^= 0x80;
			break;
		case 3:
			r.size = 100001;
			break;
		case 4:
			r.src_to--;
			break;
		case 5:
			r.src_stag = p->local->stag, r.src_to = p->local->iova;
			break;
		case 6:
			r.src_stag = p->other->stag, r.src_to = p->other->iova;
			break;
		case 7:
			r.src_to = ~0ull - 10;
			break;
		default:
			break;
		}
		post_recvs(p, 1, 100);
		rdmap_put_read(b, &r);
		make(f, &h, b, 28);
		give(p, f->b, f->len);
		expect_term(p, TERM_RDMAP, 1, t[i].code, ACC, 1, ORNIC_CQE_FLUSHED);
		/* RFC 5040 7.1.3: DDP header and RDMAP header of the request go back. */
		assert_int_equal(term->control[2], 0xe0);
		assert_int_equal(get_be16(term->ddp), 46);
		assert_memory_equal(term->ddp + 2, f->b + 2, 46);
		assert_int_equal(p->tc[0]->c.term_sent_len, 52);
		printf("  Read, %s: Terminate 0/1/0x%02x\n", t[i].what, t[i].code);
		expect_end(p);
	}
}

/* The Terminate carries the header of the segment in error (RFC 5040 figure 10). */
static void term_headers(void **state)
{
	struct peer *p = peer_new(NULL, 0);
	struct ddp_hdr h = {.tagged = 1, .last = 1, .stag = 0x99999900, .to = 0x1122};
	const struct ornic_terminate *term = &p->tc[0]->c.term_sent;
	struct fpdu *f = rig_own(p->r, sizeof(*f));

	make(f, &h, junk, 50);
	give(p, f->b, f->len);
	assert_int_equal(term->control[2], 0xc0);
	assert_int_equal(get_be16(term->ddp), 64);
	assert_memory_equal(term->ddp + 2, f->b + 2, 14);
	assert_int_equal(p->tc[0]->c.term_sent_len, 20);
	expect_end(p);
	/* MPA errors carry none. */
	p = peer_new(NULL, 0);
	f = rig_own(p->r, sizeof(*f));
	term = &p->tc[0]->c.term_sent;
	make(f, &h, junk, 50);
	f->b[30] ^= 1;
	give(p, f->b, f->len);
	assert_int_equal(term->control[0], 0x20);
	assert_int_equal(term->control[1], 2);
	assert_int_equal(term->control[2], 0);
	assert_int_equal(p->tc[0]->c.term_sent_len, 4);
	expect_end(p);
}

static void empty_receive_queue(void **state)
{
	struct peer *p = peer_new(NULL, 0);
	const struct ddp_hdr h = {.last = 1, .opcode = 3, .msn = 1};
	struct fpdu *f = rig_own(p->r, sizeof(*f));

	make(f, &h, junk, 10);
	give(p, f->b, f->len);
	expect_term(p, TERM_DDP, 2, 2, REQ, 0, 0);
	expect_end(p);
}

static void too_many_reads(void **state)
{
	const struct bind_cfg bind = {
		.role = ORNIC_ROLE_RESPONDER, .crc = true, .ird = 3, .ord = 1};
	struct peer *p = peer_new(&bind, 0);
	struct fpdu *f = rig_own(p->r, sizeof(*f)), *all = rig_own(p->r, sizeof(*f));
	struct ddp_hdr h = {.last = 1, .opcode = 1, .qn = 1, .msn = 1};
	struct rdmap_read r = {0x100, 0, 90000, p->mr->stag, p->mr->iova};
	u8 b[28];

	rdmap_put_read(b, &r);
	for (; h.msn <= 4; h.msn++) {
		make(f, &h, b, 28);
		memcpy(all->b + all->len, f->b, f->len);
		all->len += f->len;
	}
	give(p, all->b, all->len);
	expect_term(p, TERM_DDP, 2, 2, REQ, 0, 0);
	expect_end(p);
}

/* IRD 0 takes none at all, not even one of no bytes. */
static void no_reads(void **state)
{
	const struct bind_cfg zero = {.role = ORNIC_ROLE_RESPONDER, .crc = true};
	const struct ddp_hdr h = {.last = 1, .opcode = 1, .qn = 1, .msn = 1};
	struct peer *p = peer_new(&zero, 0);
	struct fpdu *f = rig_own(p->r, sizeof(*f));
	struct rdmap_read r = {0};
	u8 b[28];

	rdmap_put_read(b, &r);
	make(f, &h, b, 28);
	give(p, f->b, f->len);
	expect_term(p, TERM_DDP, 2, 2, REQ, 0, 0);
	expect_end(p);
}

static void bad_crc_everywhere(void **state)
{
	const struct ddp_hdr h = {.tagged = 1, .last = 1, .opcode = 0};
	u32 i, total = 0;

	for (i = 0;; i++) {
		struct peer *p = peer_new(NULL, 0);
		struct fpdu *f = rig_own(p->r, sizeof(*f));
		struct ddp_hdr g = h;
		u32 len;

		g.stag = p->mr->stag;
		g.to = p->mr->iova;
		make(f, &g, junk, 9);
		len = f->len;
		if (i == len) {
			rig_free(p->r);
			break;
		}
		/* The length field aside: that one makes it wait for other bytes. */
		if (i < 2) {
			rig_free(p->r);
			continue;
		}
		f->b[i] ^= 0x10;
		post_recvs(p, 1, 10);
		give(p, f->b, f->len);
		expect_term(p, TERM_LLP, 0, 2, REQ, 1, ORNIC_CQE_FLUSHED);
		assert_int_equal(p->r->h[0].dev.stats[ORNIC_STAT_IW_RX_CRC], 1);
		expect_end(p);
		total++;
	}
	printf("a wrong byte at each of %u places of an FPDU\n", total);
}

/* ULPDU lengths that hold no header; with the right CRC. */
static void short_ulpdus(void **state)
{
	u32 len, tagged;

	for (tagged = 0; tagged < 2; tagged++)
		for (len = 0; len < (tagged ? 14u : 18u); len++) {
			struct peer *p = peer_new(NULL, 0);
			u8 b[64] = {0};
			u32 n;

			post_recvs(p, 1, 100);
			put_be16(b, (u16)len);
			b[2] = tagged ? 0xc1 : 0x41;
			b[3] = tagged ? 0x40 : 0x43;
			n = mpa_finish(b, len, crc32c(0, b, 2 + len), true);
			give(p, b, n);
			expect_term(p, TERM_LLP, 0, 3, REQ, 1, ORNIC_CQE_FLUSHED);
			expect_end(p);
		}
	printf("ULPDU lengths 0..13 tagged and 0..17 untagged\n");
}

/* A Send and a Write in one stream, cut in two at each byte, then byte by byte. */
static void split_everywhere(void **state)
{
	struct ddp_hdr s = {.last = 1, .opcode = 3, .msn = 1}, w = {.tagged = 1, .last = 1};
	u32 cut, total;

	for (cut = 0;; cut++) {
		struct peer *p = peer_new(NULL, 0);
		struct fpdu *f = rig_own(p->r, sizeof(*f)), *g = rig_own(p->r, sizeof(*f));
		struct ornic_cqe e;
		u8 got[64];

		w.stag = p->mr->stag;
		w.to = p->mr->iova + 1000;
		make(f, &s, "first message", 13);
		make(g, &w, "second", 6);
		memcpy(f->b + f->len, g->b, g->len);
		total = f->len += g->len;
		post_recvs(p, 1, 100);
		if (cut == total) {
			u32 i;

			for (i = 0; i < total; i++)
				give(p, f->b + i, 1);
		} else {
			if (cut)
				give(p, f->b, cut);
			give(p, f->b + cut, total - cut);
		}
		assert_int_equal(tqp_state(p->qp), ORNIC_QPS_RTS);
		assert_true(tcq_poll(p->rcq, &e));
		assert_int_equal(e.status, ORNIC_CQE_OK);
		assert_int_equal(le32_to_cpu(e.byte_len), 13);
		tmr_read(p->mr, 0, got, 13);
		assert_memory_equal(got, "first message", 13);
		tmr_read(p->mr, 1000, got, 6);
		assert_memory_equal(got, "second", 6);
		assert_int_equal(p->r->h[0].dev.stats[ORNIC_STAT_IW_RX_FPDU], 2);
		rig_free(p->r);
		if (cut == total)
			break;
	}
	printf("cut at each of %u bytes, and into single bytes\n", total);
}

/* The largest ULPDU there is, in a Write that is allowed. */
static void longest_ulpdu(void **state)
{
	struct peer *p = peer_new(NULL, 0);
	struct ddp_hdr h = {.tagged = 1, .last = 1, .stag = p->mr->stag, .to = p->mr->iova};
	struct fpdu *f = rig_own(p->r, sizeof(*f));
	u32 i;

	for (i = 0; i < 65521; i++)
		junk[i] = (u8)(i * 13);
	make(f, &h, junk, 65535 - 14);
	give(p, f->b, f->len);
	rig_run_for(p->r, 200 * MS);
	assert_int_equal(tqp_state(p->qp), ORNIC_QPS_RTS);
	for (i = 0; i < 65521; i += 97) {
		u8 b;

		tmr_read(p->mr, i, &b, 1);
		assert_int_equal(b, junk[i]);
	}
	memset(junk, 0, sizeof(junk));
	rig_free(p->r);
}

/* Segments of one Send that do not fit each other. */
static void send_segments(void **state)
{
	static const struct {
		const char *what;
		u32 mo, msn;
		u8 opcode;
		u8 layer, etype, code;
	} t[] = {
		{"gap", 12, 1, 3, 1, 2, 4},
		{"overlap", 8, 1, 3, 1, 2, 4},
		{"next MSN", 0, 2, 3, 1, 2, 3},
		{"opcode changes", 10, 1, 5, 0, 2, 6},
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct peer *p = peer_new(NULL, 0);
		struct ddp_hdr h = {.opcode = 3, .msn = 1};
		struct fpdu *f = rig_own(p->r, sizeof(*f));

		tqp_post_recv(p->qp, p->mr->iova, 100, p->mr->stag);
		make(f, &h, junk, 10);
		tmr_write(p->mr, 0, junk, 0);
		give(p, f->b, f->len);
		assert_int_equal(tqp_state(p->qp), ORNIC_QPS_RTS);
		tmr_fill(p->mr, 0, 10, POISON); /* what was placed rightly */
		h.mo = t[i].mo;
		h.msn = t[i].msn;
		h.opcode = t[i].opcode;
		h.last = true;
		make(f, &h, junk, 10);
		give(p, f->b, f->len);
		expect_term(p, t[i].layer, t[i].etype, t[i].code, REQ, 1, ORNIC_CQE_FLUSHED);
		printf("  second segment, %s: Terminate %u/%u/0x%02x\n", t[i].what, t[i].layer,
		       t[i].etype, t[i].code);
		expect_end(p);
	}
}

/* RFC 5041 5.2, RFC 5040 5.2.1: of empty messages neither STag nor offset is looked at. */
static void empty_messages(void **state)
{
	static const u32 stags[] = {0, 1, 0xdeadbeef, ~0u};
	struct peer *p = peer_new(NULL, 0);
	struct fpdu *f = rig_own(p->r, sizeof(*f));
	struct ddp_hdr h, got;
	struct ornic_cqe e;
	const u8 *payload;
	u32 i, len;
	u8 b[28];

	for (i = 0; i < ARRAY_SIZE(stags); i++) {
		struct rdmap_read r = {stags[i], ~0ull, 0, stags[i], ~0ull};

		h = (struct ddp_hdr){.tagged = 1, .last = 1, .stag = stags[i], .to = ~0ull};
		make(f, &h, junk, 0);
		give(p, f->b, f->len);
		h = (struct ddp_hdr){.last = 1, .opcode = 1, .qn = 1, .msn = i + 1};
		rdmap_put_read(b, &r);
		make(f, &h, b, 28);
		give(p, f->b, f->len);
		assert_true(next_fpdu(p, &got, &payload, &len));
		assert_true(got.tagged && got.last && got.opcode == RDMAP_READ_RESP && !len);
		assert_int_equal(got.stag, stags[i]);
		assert_true(got.to == ~0ull);
		post_recvs(p, 1, 0);
		h = (struct ddp_hdr){.last = 1, .opcode = 3, .msn = i + 1};
		make(f, &h, junk, 0);
		give(p, f->b, f->len);
		assert_true(tcq_poll(p->rcq, &e));
		assert_int_equal(e.status, ORNIC_CQE_OK);
		assert_int_equal(le32_to_cpu(e.byte_len), 0);
	}
	assert_int_equal(tqp_state(p->qp), ORNIC_QPS_RTS);
	rig_free(p->r);
}

static void foreign_invalidate(void **state)
{
	static const u8 op[] = {RDMAP_SEND_INV, RDMAP_SEND_SE_INV};
	u32 i, k;

	for (k = 0; k < 2; k++)
		for (i = 0; i < 3; i++) {
			struct peer *p = peer_new(NULL, 0);
			struct fpdu *f = rig_own(p->r, sizeof(*f));
			struct ddp_hdr h = {.last = 1, .opcode = op[k], .msn = 1};

			h.stag = i == 0 ? p->other->stag : i == 1 ? 0x12345600 : p->mr->stag ^ 3;
			post_recvs(p, 1, 0);
			make(f, &h, junk, 0);
			give(p, f->b, f->len);
			expect_term(p, TERM_RDMAP, 1, 9, ACC, 1, ORNIC_CQE_FLUSHED);
			assert_int_equal(mr_check(&p->r->h[0].dev, p->other->stag, PDN + 1,
						  p->other->iova, 1, 0, false),
					 ORNIC_SYN_NONE);
			expect_end(p);
		}
}

/* Read Responses that do not answer what was asked. */
static void bad_read_responses(void **state)
{
	static const struct {
		const char *what;
		u8 layer, etype, code, async;
	} t[] = {
		{"other STag", 1, 1, 0, ACC},	{"other offset", 1, 1, 1, ACC},
		{"too long", 1, 1, 1, ACC},	{"ends early", 0, 2, 0xff, REQ},
		{"one too many", 0, 2, 6, REQ},
	};
	const struct bind_cfg init = {
		.role = ORNIC_ROLE_INITIATOR, .crc = true, .ird = 4, .ord = 4};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct peer *p = peer_new(&init, 0);
		struct fpdu *f = rig_own(p->r, sizeof(*f));
		struct ornic_sq_wqe_msg *w = tqp_send_wqe(p->qp, ORNIC_WR_READ, ORNIC_WRF_SIGNALED);
		struct ddp_hdr h, got;
		struct rdmap_read r;
		struct ornic_cqe e;
		const u8 *payload;
		u32 len, n = 1000;

		w->remote_addr = cpu_to_le64(0x1234);
		w->remote_stag = cpu_to_le32(0x5678);
		tqp_sge(w, p->mr->iova + 8, 1000, p->mr->stag);
		tqp_ring(p->qp);
		rig_run_for(p->r, 10 * MS);
		assert_true(next_fpdu(p, &got, &payload, &len));
		assert_true(!got.tagged && got.opcode == 1 && got.qn == 1 && got.msn == 1 &&
			    len == 28);
		rdmap_get_read(payload, &r);
		assert_true(r.sink_stag == p->mr->stag && r.sink_to == p->mr->iova + 8 &&
			    r.size == 1000);
		assert_true(r.src_stag == 0x5678 && r.src_to == 0x1234);
		h = (struct ddp_hdr){
			.tagged = 1, .last = 1, .opcode = 2, .stag = r.sink_stag, .to = r.sink_to};
		if (i == 0)
			h.stag = p->other->stag;
		else if (i == 1)
			h.to++;
		else if (i == 2)
			n = 1001;
		else if (i == 3)
			n = 999;
		make(f, &h, junk, n);
		give(p, f->b, f->len);
		if (i == 4) {
			assert_true(tcq_poll(p->scq, &e));
			assert_int_equal(e.status, ORNIC_CQE_OK);
			give(p, f->b, f->len);
		}
		if (i >= 3)
			tmr_fill(p->mr, 0, 100000, POISON);
		expect_term(p, t[i].layer, t[i].etype, t[i].code, t[i].async, 0, 0);
		if (i < 4) {
			assert_true(tcq_poll(p->scq, &e));
			assert_int_equal(e.status, ORNIC_CQE_FLUSHED);
			assert_int_equal(e.opcode, ORNIC_WR_READ);
		}
		assert_false(tcq_poll(p->scq, &e));
		printf("  Read Response, %s: Terminate %u/%u/0x%02x\n", t[i].what, t[i].layer,
		       t[i].etype, t[i].code);
		expect_end(p);
	}
}

/* Terminates of every length are taken: QP in ERROR, FIN, event, flush. */
static void terminate_received(void **state)
{
	u32 len;

	for (len = 0; len <= 56; len++) {
		struct peer *p = peer_new(NULL, 0);
		struct fpdu *f = rig_own(p->r, sizeof(*f));
		const struct ddp_hdr h = {.last = 1, .opcode = 7, .qn = 2, .msn = 1};
		struct ornic_aeqe ev;
		struct ornic_cqe e;
		u8 b[56];

		memset(b, 0xff, sizeof(b));
		post_recvs(p, 1, 100);
		make(f, &h, b, len);
		give(p, f->b, f->len);
		assert_int_equal(tqp_state(p->qp), ORNIC_QPS_ERROR);
		assert_int_equal(p->tc[0]->terms_rcvd, 1);
		assert_int_equal(p->tc[0]->terms_sent, 0);
		assert_int_equal(p->tc[0]->c.term_rcvd_len, max(len, 4u));
		assert_true(p->tc[1]->peer_fin);
		assert_true(host_async(p->qp->h, &ev));
		assert_int_equal(ev.type, ORNIC_ASYNC_QP_FATAL);
		assert_int_equal(le16_to_cpu(ev.syndrome), ORNIC_SYN_TERM_RCVD);
		assert_false(host_async(p->qp->h, &ev));
		assert_true(tcq_poll(p->rcq, &e));
		assert_int_equal(e.status, ORNIC_CQE_FLUSHED);
		assert_int_equal(le16_to_cpu(e.syndrome), ORNIC_SYN_TERM_RCVD);
		assert_int_equal(p->tc[1]->raw_len, 0);
		expect_end(p);
	}
	printf("Terminates of 0..56 bytes\n");
}

/* The Send, Write or Read that a Terminate names fails with its cause, the others are flushed. */
static void terminate_blames(void **state)
{
	static const struct {
		u8 layer_type, code, opcode, status;
	} t[] = {
		{0x12, 5, ORNIC_WR_SEND, ORNIC_CQE_REM_INV_REQ},
		{0x12, 2, ORNIC_WR_SEND, ORNIC_CQE_REM_OP},
		{0x11, 0, ORNIC_WR_WRITE, ORNIC_CQE_REM_ACCESS},
		{0x11, 1, ORNIC_WR_WRITE, ORNIC_CQE_REM_ACCESS},
		{0x11, 4, ORNIC_WR_WRITE, ORNIC_CQE_REM_INV_REQ},
		{0x01, 2, ORNIC_WR_READ, ORNIC_CQE_REM_ACCESS},
		{0x02, 6, ORNIC_WR_READ, ORNIC_CQE_REM_INV_REQ},
		{0x02, 7, ORNIC_WR_READ, ORNIC_CQE_REM_OP},
	};
	const struct bind_cfg init = {
		.role = ORNIC_ROLE_INITIATOR, .crc = true, .ird = 4, .ord = 4};
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct peer *p = peer_new(&init, 0);
		struct ddp_hdr h = {.last = 1, .opcode = 7, .qn = 2, .msn = 1}, got;
		struct fpdu *f = rig_own(p->r, sizeof(*f));
		struct ornic_cqe e;
		const u8 *payload;
		u8 b[56] = {t[i].layer_type, t[i].code, 0xc0};
		u32 len, hit = 0;

		/* The first one, a Read without an answer, keeps the others from completing. */
		for (k = 0; k < 3; k++) {
			struct ornic_sq_wqe_msg *w = tqp_send_wqe(
				p->qp, k == 1 ? t[i].opcode : ORNIC_WR_READ, ORNIC_WRF_SIGNALED);

			if (w->hdr.opcode != ORNIC_WR_SEND) {
				w->remote_addr = cpu_to_le64(0x1000 * k);
				w->remote_stag = cpu_to_le32(0x5600);
			}
			tqp_sge(w, p->mr->iova, 8, p->mr->stag);
			tqp_ring(p->qp);
		}
		rig_run_for(p->r, 10 * MS);
		for (k = 0; k < 3; k++) {
			assert_true(next_fpdu(p, &got, &payload, &len));
			if (k == 1) {
				put_be16(b + 4, (u16)(len + ddp_hdr_len(got.tagged)));
				ddp_put_hdr(b + 6, &got);
			}
		}
		make(f, &h, b, 24);
		give(p, f->b, f->len);
		while (tcq_poll(p->scq, &e)) {
			bool named = le32_to_cpu(e.wqe_index) == 1;

			assert_int_equal(le32_to_cpu(e.wqe_index), hit);
			assert_int_equal(e.status, named ? t[i].status : ORNIC_CQE_FLUSHED);
			hit++;
		}
		assert_int_equal(hit, 3);
		expect_end(p);
	}
}

/* Writes to an MR that is gone: before, and in the middle of a message. */
static void write_after_dereg(void **state)
{
	struct peer *p = peer_new(NULL, 0);
	struct tmr *gone = tmr_new(&p->r->h[0], 5000, ALL_ACC, PDN);
	struct ddp_hdr h = {.tagged = 1, .stag = gone->stag, .to = gone->iova};
	struct fpdu *f = rig_own(p->r, sizeof(*f));

	make(f, &h, junk, 100);
	give(p, f->b, f->len);
	assert_int_equal(tqp_state(p->qp), ORNIC_QPS_RTS);
	tmr_dereg(gone);
	tmr_fill(gone, 0, 5000, 9);
	h.to += 100;
	h.last = true;
	make(f, &h, junk, 100);
	give(p, f->b, f->len);
	expect_term(p, TERM_DDP, 1, 0, ACC, 0, 0);
	assert_true(tmr_check(gone, 0, 5000, 9, 0));
	expect_end(p);
}

/* All 16 opcodes, tagged or not, all versions, queues 0..7: never more than a Terminate. */
static void header_space(void **state)
{
	u32 i, n = 0;

	for (i = 0; i < 16 * 2 * 4 * 4 * 8; i += 1) {
		u32 op = i & 15, tagged = i >> 4 & 1, dv = i >> 5 & 3, rv = i >> 7 & 3, qn = i >> 9;
		struct peer *p;
		struct fpdu *f;
		struct ddp_hdr h = {
			.tagged = tagged, .last = 1, .opcode = (u8)op, .qn = qn, .msn = 1};

		if (tagged && qn)
			continue;
		if ((dv != 1 || rv != 1) && op % 5)
			continue;
		p = peer_new(NULL, 0);
		f = rig_own(p->r, sizeof(*f));
		make(f, &h, junk, 28);
		f->b[2] = (u8)((f->b[2] & ~3) | dv);
		f->b[3] = (u8)((f->b[3] & 0x3f) | rv << 6);
		fix_crc(f);
		give(p, f->b, f->len);
		if (dv != 1 || rv != 1)
			assert_int_equal(p->tc[0]->terms_sent, 1);
		assert_true(p->tc[0]->terms_sent <= 1);
		assert_true(tmr_check(p->mr, 0, 1000, POISON, 0));
		rig_free(p->r);
		n++;
	}
	printf("%u combinations of opcode, model, versions and queue\n", n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(untagged_errors),    cmocka_unit_test(tagged_errors),
		cmocka_unit_test(qp_rights),	      cmocka_unit_test(read_errors),
		cmocka_unit_test(term_headers),	      cmocka_unit_test(empty_receive_queue),
		cmocka_unit_test(too_many_reads),     cmocka_unit_test(no_reads),
		cmocka_unit_test(bad_crc_everywhere), cmocka_unit_test(short_ulpdus),
		cmocka_unit_test(split_everywhere),   cmocka_unit_test(longest_ulpdu),
		cmocka_unit_test(send_segments),      cmocka_unit_test(empty_messages),
		cmocka_unit_test(foreign_invalidate), cmocka_unit_test(bad_read_responses),
		cmocka_unit_test(terminate_received), cmocka_unit_test(terminate_blames),
		cmocka_unit_test(write_after_dereg),  cmocka_unit_test(header_space),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
