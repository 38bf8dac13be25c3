// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Initiator with the peer-to-peer policy on (RFC 6581 9.2): which RTR message goes out, and what
 * happens when there is no common kind.
 */
#define pr_fmt(fmt) "iwcm_test: " fmt
#include <linux/delay.h>
#include <linux/unaligned.h>

#include "iwcm_test.h"

#define A_FLAG 0x8000 /* with the IRD */
#define B_FLAG 0x4000 /* with the IRD: Send */
#define C_FLAG 0x8000 /* with the ORD: Write */
#define D_FLAG 0x4000 /* with the ORD: Read */

#define RDMAP_WRITE	0
#define RDMAP_READ	1
#define RDMAP_SEND	3
#define RDMAP_TERMINATE 7

struct rtr_run {
	struct end *e;
	struct socket *l;
	struct socket *s;
};

/* Connect, and answer the request with these words of enhanced data. */
static void rtr_begin(struct rtr_run *r, u16 ird, u16 ord)
{
	static u8 buf[FRAME_MAX];
	u16 port = next_port();

	r->l = peer_listen(port);
	r->e = end_new(&dev[0]);
	CHECK_EQ(end_connect(r->e, dev[1].addr, port, 4, 4, NULL, 0), 0);
	r->s = peer_accept(r->l);
	CHECK_EQ(peer_read_frame(r->s, buf, 10000), 24);
	CHECK_EQ(get_unaligned_be16(buf + 20) & 0xc000, A_FLAG | B_FLAG);
	CHECK_EQ(get_unaligned_be16(buf + 22) & 0xc000, C_FLAG | D_FLAG);
	peer_send(r->s, buf, frame2(buf, true, MPA_C, ird, ord, NULL, 0));
}

static void rtr_end(struct rtr_run *r)
{
	peer_close(r->s);
	peer_close(r->l);
	end_free(r->e);
}

/* The first FPDU has this RDMAP opcode and no payload; it leaves no completion. */
static void expect_rtr(u16 ird, u16 ord, int opcode, int ulpdu)
{
	struct rtr_run r;
	struct ib_wc wc;
	u8 head[4];

	rtr_begin(&r, ird, ord);
	end_check_connected(r.e);
	CHECK_EQ(peer_recv(r.s, head, sizeof(head), 5000), sizeof(head));
	CHECK_EQ(get_unaligned_be16(head), ulpdu);
	CHECK_EQ(head[3], 0x40 | opcode);
	CHECK_EQ(wait_wc(&dev[0], &wc, 200), 0);
	rtr_end(&r);
}

static void write_only(void)
{
	expect_rtr(A_FLAG | 4, C_FLAG | 4, RDMAP_WRITE, 14);
}

static void read_only(void)
{
	expect_rtr(A_FLAG | 4, D_FLAG | 4, RDMAP_READ, 46);
}

static void send_only(void)
{
	expect_rtr(A_FLAG | B_FLAG | 4, 4, RDMAP_SEND, 18);
}

static void all_kinds(void)
{
	expect_rtr(A_FLAG | B_FLAG | 4, C_FLAG | D_FLAG | 4, RDMAP_WRITE, 14);
}

static void no_kind(void)
{
	struct rtr_run r;
	u8 term[24];

	rtr_begin(&r, A_FLAG | 4, 4);
	end_check_failed_connect(r.e, -EPROTO);
	CHECK_EQ(peer_recv(r.s, term, sizeof(term), 5000), sizeof(term));
	CHECK_EQ(term[3], 0x40 | RDMAP_TERMINATE);
	CHECK_EQ(term[20], 0x20);
	CHECK_EQ(term[21], 7);
	CHECK(peer_closed(r.s, 5000), "no FIN after the Terminate");
	rtr_end(&r);
}

static void client_server_reply(void)
{
	struct rtr_run r;
	u8 byte;

	rtr_begin(&r, 4, 4);
	end_check_connected(r.e);
	CHECK_EQ(peer_recv(r.s, &byte, 1, 300), -EAGAIN);
	rtr_end(&r);
}

/* What peer-to-peer is for: the responder sends first. */
static void responder_sends_first(void)
{
	struct ib_send_wr sw = {.opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED};
	struct ib_recv_wr rw = {};
	struct end *c, *s;
	struct ib_wc wc = {};
	u16 port = next_port();
	struct lis *l = lis_new(&dev[1], port, 4, NULL);

	c = end_new(&dev[0]);
	CHECK_EQ(ib_post_recv(c->qp, &rw, NULL), 0);
	CHECK_EQ(end_connect(c, dev[1].addr, port, 0, 0, NULL, 0), 0);
	s = lis_take(l, 5000);
	CHECK(s, "no CONNECT_REQUEST");
	if (s) {
		CHECK_EQ(end_accept(s, &dev[1], 0, 0, NULL, 0), 0);
		CHECK(end_wait(s, &s->established, 1, 5000), "no ESTABLISHED");
		CHECK_EQ(s->est_status, 0);
		end_check_connected(c);
		CHECK_EQ(ib_post_send(s->qp, &sw, NULL), 0);
		CHECK_EQ(wait_wc(&dev[0], &wc, 5000), 1);
		CHECK_EQ(wc.status, IB_WC_SUCCESS);
		CHECK_EQ(wait_wc(&dev[1], &wc, 5000), 1);
		CHECK_EQ(wc.status, IB_WC_SUCCESS);
	}
	end_free(c);
	end_free(s);
	lis_free(l);
}

const struct test_case rtr_cases[] = {
	{"rtr: responder takes a Write", write_only},
	{"rtr: responder takes a Read", read_only},
	{"rtr: responder takes a Send", send_only},
	{"rtr: responder takes all kinds", all_kinds},
	{"rtr: responder takes none", no_kind},
	{"rtr: responder is a client-server one", client_server_reply},
	{"rtr: responder sends first", responder_sends_first},
	{}};
