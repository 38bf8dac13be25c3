// SPDX-License-Identifier: GPL-2.0-or-later
/* iw_connect() against a peer that does what it should not, and what it may. */
#define pr_fmt(fmt) "iwcm_test: " fmt
#include <linux/delay.h>
#include <linux/unaligned.h>

#include "iwcm_test.h"

/**
 * struct act - an initiator under test and the crafting peer
 * @e: initiator, on dev[0]
 * @l: the peer's TCP listener
 * @s: the peer's TCP connection
 * @port: its port
 * @buf: the request that came
 * @len: its bytes
 */
struct act {
	struct end *e;
	struct socket *l;
	struct socket *s;
	u16 port;
	u8 buf[FRAME_MAX];
	int len;
};

static u8 pattern[512];

/* Connect; the peer accepts TCP and reads the request. */
static void act_begin(struct act *a, const void *pd, u16 pd_len)
{
	int i;

	for (i = 0; i < sizeof(pattern); i++)
		pattern[i] = i * 5 + 1;
	memset(a, 0, sizeof(*a));
	a->port = next_port();
	a->l = peer_listen(a->port);
	a->e = end_new(&dev[0]);
	CHECK_EQ(end_connect(a->e, dev[1].addr, a->port, 3, 5, pd, pd_len), 0);
	a->s = peer_accept(a->l);
	a->len = peer_read_frame(a->s, a->buf, 10000);
	CHECK_EQ(a->len, 24 + pd_len);
}

static void act_end(struct act *a)
{
	peer_close(a->s);
	peer_close(a->l);
	end_free(a->e);
}

static void connect_and_peer_fin(void)
{
	static struct act a;
	static u8 rep[FRAME_MAX];

	act_begin(&a, "hello", 5);
	CHECK(!memcmp(a.buf, "MPA ID Req Frame", 16), "key");
	CHECK_EQ(a.buf[17], 2);
	CHECK(a.buf[16] & MPA_S, "S");
	CHECK_EQ(get_unaligned_be16(a.buf + 20) & 0x3fff, 3);
	CHECK_EQ(get_unaligned_be16(a.buf + 22) & 0x3fff, 5);
	CHECK(!memcmp(a.buf + 24, "hello", 5), "private data");
	peer_send(a.s, rep, frame2(rep, true, MPA_C, 4, 2, "welcome", 7));
	end_check_connected(a.e);
	CHECK_EQ(a.e->ird, 2);
	CHECK_EQ(a.e->ord, 4);
	CHECK_EQ(a.e->pd_len, 7);
	CHECK(!memcmp(a.e->pd, "welcome", 7), "private data");
	peer_fin(a.s);
	end_check_closed(a.e);
	CHECK(peer_closed(a.s, 10000), "no FIN in answer");
	act_end(&a);
}

static void connect_and_peer_rst(void)
{
	static struct act a;
	static u8 rep[FRAME_MAX];

	act_begin(&a, NULL, 0);
	peer_send(a.s, rep, frame2(rep, true, MPA_C, 4, 2, NULL, 0));
	end_check_connected(a.e);
	peer_reset(a.s);
	a.s = NULL;
	end_check_closed(a.e);
	act_end(&a);
}

static void connect_refused(void)
{
	struct end *e = end_new(&dev[0]);

	CHECK_EQ(end_connect(e, dev[1].addr, next_port(), 1, 1, NULL, 0), 0);
	end_check_failed_connect(e, -ECONNREFUSED);
	end_free(e);
}

/* An address that nobody has: only time-outs tell. net.ipv4.tcp_syn_retries of the first namespace
 * is 1 here. */
static void connect_black_hole(void)
{
	struct end *e = end_new(&dev[0]);
	unsigned long t = jiffies;

	CHECK_EQ(end_connect(e, htonl(ntohl(dev[0].addr) | 0x63), 7, 1, 1, NULL, 0), 0);
	CHECK(time_before(jiffies, t + HZ), "iw_connect() waited");
	CHECK(end_wait(e, &e->replies, 1, 60000), "no CONNECT_REPLY");
	CHECK(e->reply_status == -ETIMEDOUT || e->reply_status == -EHOSTUNREACH, "status %d",
	      e->reply_status);
	end_free(e);
}

/* The same, but nobody waits for it. */
static void destroy_qp_while_opening(void)
{
	struct end *e = end_new(&dev[0]);
	unsigned long t = jiffies;

	CHECK_EQ(end_connect(e, htonl(ntohl(dev[0].addr) | 0x63), 7, 1, 1, NULL, 0), 0);
	CHECK_EQ(ib_destroy_qp(e->qp), 0);
	e->qp = NULL;
	CHECK(time_before(jiffies, t + 2 * HZ), "destroy_qp waited");
	end_check_failed_connect(e, -ECONNABORTED);
	end_free(e);
}

static void destroy_qp_while_waiting(void)
{
	static struct act a;

	act_begin(&a, NULL, 0);
	CHECK_EQ(ib_destroy_qp(a.e->qp), 0);
	a.e->qp = NULL;
	end_check_failed_connect(a.e, -ECONNABORTED);
	CHECK(peer_closed(a.s, 5000), "the connection is still there");
	act_end(&a);
}

static void modify_err_while_waiting(void)
{
	static struct act a;

	act_begin(&a, NULL, 0);
	qp_to(a.e->qp, IB_QPS_ERR);
	end_check_failed_connect(a.e, -ECONNABORTED);
	CHECK(peer_closed(a.s, 5000), "the connection is still there");
	act_end(&a);
}

/* RFC 6581 10: a responder that closes or resets may be one of revision 1. */
static void fall_back(bool rst, bool then_accept)
{
	static struct act a;
	static u8 rep[FRAME_MAX];

	act_begin(&a, "pd", 2);
	if (rst)
		peer_reset(a.s);
	else
		peer_close(a.s);
	a.s = peer_accept(a.l);
	CHECK_EQ(peer_read_frame(a.s, a.buf, 10000), 22);
	CHECK_EQ(a.buf[17], 1);
	CHECK_EQ(a.buf[16] & MPA_S, 0);
	CHECK(!memcmp(a.buf + 20, "pd", 2), "private data");
	if (then_accept) {
		peer_send(a.s, rep, frame(rep, true, MPA_C, 1, "v1", 2));
		end_check_connected(a.e);
		CHECK_EQ(a.e->ird, 3);
		CHECK_EQ(a.e->ord, 5);
		CHECK_EQ(a.e->pd_len, 2);
		peer_close(a.s);
		a.s = NULL;
		end_check_closed(a.e);
	} else {
		peer_reset(a.s);
		a.s = NULL;
		end_check_failed_connect(a.e, -ECONNRESET);
	}
	act_end(&a);
}

static void fall_back_after_fin(void)
{
	fall_back(false, true);
}

static void fall_back_after_rst(void)
{
	fall_back(true, true);
}

static void reset_of_both_revisions(void)
{
	fall_back(true, false);
}

static void older_reply(void)
{
	static struct act a;
	static u8 rep[FRAME_MAX];

	act_begin(&a, NULL, 0);
	peer_send(a.s, rep, frame(rep, true, MPA_C | MPA_R, 1, NULL, 0));
	peer_close(a.s);
	a.s = peer_accept(a.l);
	CHECK_EQ(peer_read_frame(a.s, a.buf, 10000), 20);
	peer_send(a.s, rep, frame(rep, true, MPA_C | MPA_R, 1, "no", 2));
	end_check_failed_connect(a.e, -ECONNREFUSED);
	CHECK_EQ(a.e->pd_len, 2);
	act_end(&a);
}

/* What the first connection brought is not told of the second. */
static void older_reply_then_rst(void)
{
	static struct act a;
	static u8 rep[FRAME_MAX];

	act_begin(&a, NULL, 0);
	peer_send(a.s, rep, frame(rep, true, MPA_C | MPA_R, 1, "old", 3));
	peer_close(a.s);
	a.s = peer_accept(a.l);
	CHECK_EQ(peer_read_frame(a.s, a.buf, 10000), 20);
	peer_reset(a.s);
	a.s = NULL;
	end_check_failed_connect(a.e, -ECONNRESET);
	CHECK_EQ(a.e->pd_len, 0);
	act_end(&a);
}

static void rejected_with_private_data(void)
{
	static const int lens[] = {0, 1, 148, 196, 251, 252, 255};
	static u8 rep[FRAME_MAX];
	static struct act a;
	int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		act_begin(&a, NULL, 0);
		peer_send(a.s, rep, frame2(rep, true, MPA_C | MPA_R, 1, 1, pattern, lens[i]));
		end_check_failed_connect(a.e, -ECONNREFUSED);
		CHECK_EQ(a.e->pd_len, lens[i]);
		CHECK(!memcmp(a.e->pd, pattern, lens[i]), "private data of %d bytes", lens[i]);
		CHECK(peer_closed(a.s, 5000), "no FIN after the reject");
		act_end(&a);
	}
}

/* 255 bytes are what iw_cm can deliver; more is not cut. */
static void replies_with_private_data(void)
{
	static const int lens[] = {0, 1, 251, 252, 255, 256, 508};
	static u8 rep[FRAME_MAX];
	static struct act a;
	int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		act_begin(&a, NULL, 0);
		peer_send(a.s, rep, frame2(rep, true, MPA_C, 3, 3, pattern, lens[i]));
		if (lens[i] <= 255) {
			end_check_connected(a.e);
			CHECK_EQ(a.e->pd_len, lens[i]);
			CHECK(!memcmp(a.e->pd, pattern, lens[i]), "private data");
		} else {
			end_check_failed_connect(a.e, -EMSGSIZE);
		}
		act_end(&a);
	}
}

static void bad_replies(void)
{
	static u8 rep[2 * FRAME_MAX];
	static struct act a;
	int i, len;

	for (i = 0; i < 6; i++) {
		act_begin(&a, NULL, 0);
		len = frame2(rep, true, MPA_C, 3, 3, NULL, 0);
		if (i == 0)
			rep[3] ^= 1;
		else if (i == 1)
			rep[17] = 0;
		else if (i == 2)
			rep[17] = 3;
		else if (i == 3)
			len = frame(rep, true, MPA_C, 2, pattern, 513);
		else if (i == 4)
			len = frame(rep, true, MPA_S, 2, pattern, 3);
		else
			len = frame(rep, false, MPA_C, 2, NULL, 0);
		peer_send(a.s, rep, len);
		end_check_failed_connect(a.e, -EPROTO);
		CHECK(peer_closed(a.s, 5000), "bad reply %d: the connection is still there", i);
		act_end(&a);
	}
}

static void reply_byte_by_byte(void)
{
	static u8 rep[FRAME_MAX];
	static struct act a;
	int i, len;

	act_begin(&a, NULL, 0);
	len = frame2(rep, true, MPA_C, 3, 3, pattern, 40);
	for (i = 0; i < len; i++) {
		peer_send(a.s, rep + i, 1);
		if (i % 8 == 0)
			msleep(20);
	}
	end_check_connected(a.e);
	CHECK_EQ(a.e->pd_len, 40);
	act_end(&a);
}

/* The first FPDU in the same segment as the reply: it is placed, not lost. */
static void reply_with_fpdu(void)
{
	struct ib_recv_wr wr = {};
	static u8 rep[FRAME_MAX];
	struct ib_wc wc;
	static struct act a;
	int len;

	act_begin(&a, NULL, 0);
	CHECK_EQ(ib_post_recv(a.e->qp, &wr, NULL), 0);
	len = frame2(rep, true, MPA_C, 3, 3, NULL, 0);
	len += fpdu_send(rep + len, NULL, 0);
	peer_send(a.s, rep, len);
	end_check_connected(a.e);
	CHECK_EQ(wait_wc(&dev[0], &wc, 5000), 1);
	CHECK_EQ(wc.status, IB_WC_SUCCESS);
	CHECK_EQ(wc.opcode, IB_WC_RECV);
	CHECK_EQ(wc.byte_len, 0);
	act_end(&a);
}

/* RFC 6581 9.1: the responder wants more Reads than the device takes: Terminate 2/0/6 and a failed
 * connect. */
static void insufficient_ird(void)
{
	static u8 rep[FRAME_MAX], term[64];
	static struct act a;

	act_begin(&a, NULL, 0);
	peer_send(a.s, rep, frame2(rep, true, MPA_C, 3, 0x3ffe, NULL, 0));
	end_check_failed_connect(a.e, -ENOMEM);
	CHECK(peer_recv(a.s, term, 24, 5000) == 24, "no Terminate");
	CHECK_EQ(term[3] & 0x0f, 7); /* RDMAP opcode Terminate */
	CHECK_EQ(get_unaligned_be32(term + 8), 2); /* queue number */
	CHECK_EQ(term[20], 0x20);
	CHECK_EQ(term[21], 6);
	CHECK(peer_closed(a.s, 5000), "no FIN after the Terminate");
	act_end(&a);
}

static void silent_responder(void)
{
	static struct act a;

	act_begin(&a, NULL, 0);
	CHECK(end_wait(a.e, &a.e->replies, 1, mpa_ms + 5000), "no CONNECT_REPLY");
	CHECK_EQ(a.e->reply_status, -ETIMEDOUT);
	CHECK(peer_closed(a.s, 5000), "the connection is still there");
	act_end(&a);
}

/* What is refused at once: no event, and the id may be destroyed. */
static void refuse(u16 port, u32 ird, u32 ord, u16 pd_len, bool no_qp)
{
	struct end *e = end_new(&dev[0]);
	struct ib_qp *qp = e->qp;

	if (no_qp)
		e->qp = NULL;
	CHECK_EQ(end_connect(e, dev[1].addr, port, ird, ord, pattern, pd_len), -EINVAL);
	e->qp = qp;
	msleep(20);
	CHECK_EQ(e->replies + e->closes, 0);
	end_free(e);
}

static void bad_parameters(void)
{
	struct ib_device_attr *attr = &dev[0].ib->attrs;
	static struct act a;
	struct end *second;
	struct ib_qp *qp;

	refuse(7, 1, 1, 509, false);
	refuse(7, attr->max_qp_rd_atom + 1, 1, 0, false);
	refuse(7, 1, attr->max_qp_init_rd_atom + 1, 0, false);
	refuse(0, 1, 1, 0, false);
	refuse(7, 1, 1, 0, true);

	/* A QP has one connection. */
	act_begin(&a, NULL, 0);
	second = end_new(&dev[0]);
	qp = second->qp;
	second->qp = a.e->qp;
	CHECK_EQ(end_connect(second, dev[1].addr, a.port, 1, 1, NULL, 0), -EISCONN);
	second->qp = qp;
	end_free(second);
	act_end(&a);
}

static void longest_private_data(void)
{
	static u8 rep[FRAME_MAX];
	static struct act a;

	act_begin(&a, pattern, 508);
	CHECK(!memcmp(a.buf + 24, pattern, 508), "private data");
	peer_send(a.s, rep, frame2(rep, true, MPA_C, 3, 3, NULL, 0));
	end_check_connected(a.e);
	act_end(&a);
}

/* The consumer has enough: the handler returns non-zero, which destroys the id under the event. */
static void destroy_from_handler(void)
{
	static u8 rep[FRAME_MAX];
	static struct act a;
	int i;

	for (i = 0; i < 3; i++) {
		act_begin(&a, NULL, 0);
		a.e->ret[i == 2 ? IW_CM_EVENT_CLOSE : IW_CM_EVENT_CONNECT_REPLY] = -1;
		peer_send(a.s, rep, frame2(rep, true, i == 1 ? MPA_R : MPA_C, 3, 3, NULL, 0));
		CHECK(end_wait(a.e, &a.e->replies, 1, 5000), "no CONNECT_REPLY");
		if (i == 2) {
			peer_fin(a.s);
			CHECK(end_wait(a.e, &a.e->closes, 1, 5000), "no CLOSE");
		}
		CHECK(peer_closed(a.s, 5000), "the connection is still there");
		act_end(&a);
	}
}

const struct test_case active_cases[] = {
	{"active: connect, then FIN of the peer", connect_and_peer_fin},
	{"active: connect, then RST of the peer", connect_and_peer_rst},
	{"active: connection refused", connect_refused},
	{"active: black hole", connect_black_hole},
	{"active: destroy_qp while the SYN is out", destroy_qp_while_opening},
	{"active: destroy_qp while the request is out", destroy_qp_while_waiting},
	{"active: QP to ERR while the request is out", modify_err_while_waiting},
	{"active: fall-back to revision 1 after FIN", fall_back_after_fin},
	{"active: fall-back to revision 1 after RST", fall_back_after_rst},
	{"active: RST of both revisions", reset_of_both_revisions},
	{"active: reply of revision 1", older_reply},
	{"active: reply of revision 1, then RST", older_reply_then_rst},
	{"active: reject with private data", rejected_with_private_data},
	{"active: reply with private data", replies_with_private_data},
	{"active: malformed replies", bad_replies},
	{"active: reply byte by byte", reply_byte_by_byte},
	{"active: FPDU glued to the reply", reply_with_fpdu},
	{"active: responder's ORD beyond our IRD", insufficient_ird},
	{"active: silent responder", silent_responder},
	{"active: bad parameters", bad_parameters},
	{"active: longest private data", longest_private_data},
	{"active: id destroyed from its handler", destroy_from_handler},
	{}};
