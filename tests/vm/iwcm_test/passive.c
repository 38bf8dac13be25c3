// SPDX-License-Identifier: GPL-2.0-or-later
/* A listener against clients that do what they should not, and what they may. */
#define pr_fmt(fmt) "iwcm_test: " fmt
#include <linux/delay.h>
#include <linux/unaligned.h>

#include "iwcm_test.h"

/**
 * struct pas - a listener under test and one crafting client
 * @l: listener, on dev[0]
 * @port: its port
 * @s: the client's TCP connection
 * @e: the request's id
 */
struct pas {
	struct lis *l;
	u16 port;
	struct socket *s;
	struct end *e;
};

static u8 pattern[513];

static void pas_listen(struct pas *p, int backlog)
{
	int i;

	for (i = 0; i < sizeof(pattern); i++)
		pattern[i] = i * 3 + 7;
	memset(p, 0, sizeof(*p));
	p->port = next_port();
	p->l = lis_new(&dev[0], p->port, backlog, NULL);
}

/* A good request of revision 2, delivered. */
static void pas_begin(struct pas *p)
{
	static u8 req[FRAME_MAX];

	pas_listen(p, 8);
	p->s = peer_connect(p->port);
	peer_send(p->s, req, frame2(req, false, MPA_C, 4, 2, "req", 3));
	p->e = lis_take(p->l, 5000);
	CHECK(p->e, "no CONNECT_REQUEST");
}

static void pas_end(struct pas *p)
{
	peer_close(p->s);
	end_free(p->e);
	lis_free(p->l);
}

/* The client got a reply; its flags. */
static int pas_reply_bits(struct pas *p)
{
	static u8 rep[FRAME_MAX];
	int n = peer_read_frame(p->s, rep, 5000);

	if (n < 20 || memcmp(rep, "MPA ID Rep Frame", 16))
		return -1;
	return rep[16];
}

static void accept_and_peer_fin(void)
{
	static u8 rep[FRAME_MAX];
	struct pas p;

	pas_begin(&p);
	if (!p.e)
		goto out;
	CHECK_EQ(p.e->ird, 4);
	CHECK_EQ(p.e->ord, 2);
	CHECK_EQ(p.e->pd_len, 3);
	CHECK(!memcmp(p.e->pd, "req", 3), "private data");
	CHECK_EQ(end_accept(p.e, &dev[0], 7, 1, "rep", 3), 0);
	CHECK(end_wait(p.e, &p.e->established, 1, 5000), "no ESTABLISHED");
	CHECK_EQ(p.e->est_status, 0);
	CHECK_EQ(p.e->ird, 2);
	CHECK_EQ(p.e->ord, 1);
	CHECK_EQ(peer_read_frame(p.s, rep, 5000), 27);
	CHECK_EQ(rep[16] & (MPA_R | MPA_S | MPA_C), MPA_S | MPA_C);
	CHECK_EQ(rep[17], 2);
	CHECK_EQ(get_unaligned_be16(rep + 20), 2);
	CHECK_EQ(get_unaligned_be16(rep + 22), 1);
	CHECK(!memcmp(rep + 24, "rep", 3), "private data");
	peer_fin(p.s);
	end_check_closed(p.e);
	CHECK(peer_closed(p.s, 5000), "no FIN in answer");
out:
	pas_end(&p);
}

static void accept_rev1(void)
{
	static u8 buf[FRAME_MAX];
	struct pas p;

	pas_listen(&p, 8);
	p.s = peer_connect(p.port);
	peer_send(p.s, buf, frame(buf, false, 0, 1, pattern, 100));
	p.e = lis_take(p.l, 5000);
	CHECK(p.e, "no CONNECT_REQUEST");
	if (p.e) {
		CHECK_EQ(p.e->pd_len, 100);
		CHECK(!memcmp(p.e->pd, pattern, 100), "private data");
		CHECK_EQ(end_accept(p.e, &dev[0], 1, 1, pattern, 60), 0);
		CHECK(end_wait(p.e, &p.e->established, 1, 5000), "no ESTABLISHED");
		CHECK_EQ(peer_read_frame(p.s, buf, 5000), 80);
		CHECK_EQ(buf[16] & (MPA_R | MPA_S), 0);
		CHECK_EQ(buf[17], 1);
		CHECK(!memcmp(buf + 20, pattern, 60), "private data");
		peer_reset(p.s);
		p.s = NULL;
		end_check_closed(p.e);
	}
	pas_end(&p);
}

/* Requests of all lengths; beyond 255 bytes the peer is told no. */
static void private_data_lengths(void)
{
	static const int lens[] = {0, 1, 251, 252, 255, 256, 508};
	static u8 req[FRAME_MAX];
	struct pas p;
	int i;

	pas_listen(&p, 8);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		p.s = peer_connect(p.port);
		peer_send(p.s, req, frame2(req, false, MPA_C, 1, 1, pattern, lens[i]));
		if (lens[i] <= 255) {
			p.e = lis_take(p.l, 5000);
			CHECK(p.e && p.e->pd_len == lens[i] && !memcmp(p.e->pd, pattern, lens[i]),
			      "%d bytes", lens[i]);
			end_free(p.e);
			p.e = NULL;
		}
		CHECK_EQ(pas_reply_bits(&p) & MPA_R, MPA_R);
		CHECK(peer_closed(p.s, 5000), "no FIN after the reject");
		peer_close(p.s);
	}
	p.s = NULL;
	CHECK_EQ(p.l->requests, 5);
	pas_end(&p);
}

/* No CONNECT_REQUEST, the connection goes, the next client is served. */
static void bad_requests(void)
{
	static u8 req[2 * FRAME_MAX];
	struct pas p;
	int i, len;

	pas_listen(&p, 8);
	for (i = 0; i < 7; i++) {
		p.s = peer_connect(p.port);
		len = frame2(req, false, MPA_C, 1, 1, NULL, 0);
		if (i == 0)
			req[0] = 'm';
		else if (i == 1)
			req[17] = 0;
		else if (i == 2)
			req[17] = 3;
		else if (i == 3)
			len = frame(req, false, MPA_C, 1, pattern, 513);
		else if (i == 4)
			len = frame(req, false, MPA_S, 2, pattern, 3);
		else if (i == 5)
			len = frame(req, true, MPA_C, 1, NULL, 0);
		else
			len += fpdu_write0(req + len, 1);
		peer_send(p.s, req, len);
		CHECK(peer_closed(p.s, 5000), "bad request %d: the connection is still there", i);
		if (i & 1)
			peer_reset(p.s);
		else
			peer_close(p.s);
	}
	p.s = peer_connect(p.port);
	peer_send(p.s, req, frame2(req, false, MPA_C, 1, 1, NULL, 0));
	p.e = lis_take(p.l, 5000);
	CHECK(p.e, "the listener is deaf");
	CHECK_EQ(p.l->requests, 1);
	pas_end(&p);
}

static void request_byte_by_byte(void)
{
	static u8 req[FRAME_MAX];
	struct pas p;
	int i, len;

	pas_listen(&p, 8);
	p.s = peer_connect(p.port);
	len = frame2(req, false, MPA_C, 1, 1, pattern, 70);
	for (i = 0; i < len; i++) {
		CHECK_EQ(p.l->requests, 0);
		peer_send(p.s, req + i, 1);
		if (i % 8 == 0)
			msleep(20);
	}
	p.e = lis_take(p.l, 5000);
	CHECK(p.e && p.e->pd_len == 70 && !memcmp(p.e->pd, pattern, 70), "the request");
	pas_end(&p);
}

static void reject_with_private_data(void)
{
	static const int lens[] = {0, 1, 148, 196, 255};
	static u8 rep[FRAME_MAX];
	struct pas p;
	int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		pas_begin(&p);
		if (p.e)
			CHECK_EQ(iw_cm_reject(p.e->id, pattern, lens[i]), 0);
		CHECK_EQ(peer_read_frame(p.s, rep, 5000), 24 + lens[i]);
		CHECK_EQ(rep[16] & MPA_R, MPA_R);
		CHECK(!memcmp(rep + 24, pattern, lens[i]), "private data of %d bytes", lens[i]);
		CHECK(peer_closed(p.s, 5000), "no FIN after the reject");
		if (p.e)
			CHECK_EQ(p.e->established + p.e->closes, 0);
		pas_end(&p);
	}
}

/* The consumer is slow, the client is gone. */
static void accept_after_peer_left(void)
{
	struct pas p;
	int i;

	for (i = 0; i < 2; i++) {
		pas_begin(&p);
		if (i)
			peer_reset(p.s);
		else
			peer_close(p.s);
		p.s = NULL;
		msleep(300);
		if (p.e) {
			CHECK_EQ(end_accept(p.e, &dev[0], 1, 1, NULL, 0), -ECONNRESET);
			msleep(50);
			CHECK_EQ(p.e->established + p.e->closes, 0);
		}
		pas_end(&p);
	}
}

static void accept_after_timeout(void)
{
	struct pas p;

	pas_begin(&p);
	CHECK(peer_closed(p.s, mpa_ms + 5000), "the connection is still there");
	if (p.e)
		CHECK_EQ(end_accept(p.e, &dev[0], 1, 1, NULL, 0), -ECONNRESET);
	pas_end(&p);
}

static void accept_with_bad_parameters(void)
{
	struct iw_cm_conn_param param = {.qpn = 0xffffff, .ird = 1, .ord = 1};
	struct pas p;
	int i;

	for (i = 0; i < 3; i++) {
		pas_begin(&p);
		if (!p.e) {
			pas_end(&p);
			continue;
		}
		if (i == 0)
			CHECK_EQ(iw_cm_accept(p.e->id, &param), -EINVAL);
		else if (i == 1)
			CHECK_EQ(end_accept(p.e, &dev[0], 0xffff, 1, NULL, 0), -EINVAL);
		else
			CHECK_EQ(end_accept(p.e, &dev[0], 1, 1, pattern, 509), -EINVAL);
		CHECK_EQ(p.e->established + p.e->closes, 0);
		end_free(p.e);
		p.e = NULL;
		CHECK(peer_closed(p.s, 5000), "the connection is still there");
		pas_end(&p);
	}
}

/* RFC 6581 9.2: with A the responder has to see the RTR message first. */
static void accept_with_rtr(int how)
{
	static u8 buf[FRAME_MAX];
	struct pas p;

	pas_listen(&p, 8);
	p.s = peer_connect(p.port);
	peer_send(p.s, buf, frame2(buf, false, MPA_C, 0x8004, 0x8004, NULL, 0)); /* A, C: Write */
	p.e = lis_take(p.l, 5000);
	CHECK(p.e, "no CONNECT_REQUEST");
	if (!p.e)
		goto out;
	CHECK_EQ(end_accept(p.e, &dev[0], 4, 4, NULL, 0), 0);
	CHECK_EQ(peer_read_frame(p.s, buf, 5000), 24);
	CHECK_EQ(buf[20] & 0xc0, 0x80);
	CHECK_EQ(buf[22] & 0xc0, 0x80);
	msleep(200);
	CHECK_EQ(p.e->established, 0);
	if (how == 0) {
		peer_send(p.s, buf, fpdu_write0(buf, 1));
	} else if (how == 1) {
		peer_close(p.s);
		p.s = NULL;
	} else if (how == 2) {
		peer_reset(p.s);
		p.s = NULL;
	} else if (how == 4) {
		CHECK_EQ(ib_destroy_qp(p.e->qp), 0);
		p.e->qp = NULL;
	}
	CHECK(end_wait(p.e, &p.e->established, 1, mpa_ms + 5000), "no ESTABLISHED");
	if (how == 0)
		CHECK_EQ(p.e->est_status, 0);
	else if (how == 3)
		CHECK_EQ(p.e->est_status, -ETIMEDOUT);
	else
		CHECK(p.e->est_status < 0, "%d", p.e->est_status);
	if (how == 0)
		CHECK_EQ(p.e->closes, 0);
	else
		end_check_closed(p.e);
out:
	pas_end(&p);
}

static void rtr_comes(void)
{
	accept_with_rtr(0);
}

static void rtr_fin(void)
{
	accept_with_rtr(1);
}

static void rtr_rst(void)
{
	accept_with_rtr(2);
}

static void rtr_silence(void)
{
	accept_with_rtr(3);
}

static void rtr_destroy_qp(void)
{
	accept_with_rtr(4);
}

static void early_data(void)
{
	u8 buf[64];
	struct pas p;

	pas_begin(&p);
	peer_send(p.s, buf, fpdu_write0(buf, 1));
	CHECK(peer_closed(p.s, 5000), "the connection is still there");
	if (p.e)
		CHECK_EQ(end_accept(p.e, &dev[0], 1, 1, NULL, 0), -ECONNRESET);
	pas_end(&p);
}

/* Delivered, not answered: they go with the listener, and a late answer finds nothing. */
static void listener_destroyed_with_children(void)
{
	struct socket *s[4];
	struct end *e[4];
	static u8 req[FRAME_MAX];
	struct pas p;
	int i;

	pas_listen(&p, 8);
	for (i = 0; i < 4; i++) {
		s[i] = peer_connect(p.port);
		peer_send(s[i], req, frame2(req, false, MPA_C, 1, 1, NULL, 0));
		e[i] = lis_take(p.l, 5000);
		CHECK(e[i], "no CONNECT_REQUEST");
	}
	lis_free(p.l);
	for (i = 0; i < 4; i++) {
		CHECK(peer_closed(s[i], 5000), "the connection is still there");
		peer_close(s[i]);
	}
	CHECK_EQ(dev_counter(&dev[0], "cm_endpoints"), 0);
	if (e[0])
		CHECK_EQ(end_accept(e[0], &dev[0], 1, 1, NULL, 0), -ECONNRESET);
	if (e[1])
		CHECK_EQ(iw_cm_reject(e[1]->id, NULL, 0), -ECONNRESET);
	for (i = 0; i < 4; i++)
		end_free(e[i]);
}

static void listener_destroyed_half_open(void)
{
	struct socket *s[40];
	struct pas p;
	int i;

	pas_listen(&p, 64);
	for (i = 0; i < ARRAY_SIZE(s); i++) {
		s[i] = peer_connect(p.port);
		if (i & 1)
			peer_send(s[i], "MPA ID Req", 10);
	}
	CHECK_EQ(dev_counter(&dev[0], "cm_endpoints"), ARRAY_SIZE(s));
	lis_free(p.l);
	CHECK_EQ(dev_counter(&dev[0], "cm_endpoints"), 0);
	for (i = 0; i < ARRAY_SIZE(s); i++)
		peer_close(s[i]);
}

/* The consumer says no by its return code. */
static void handler_returns_error(void)
{
	static u8 req[FRAME_MAX];
	struct pas p;

	pas_listen(&p, 8);
	p.l->ret = -ECONNABORTED;
	p.s = peer_connect(p.port);
	peer_send(p.s, req, frame2(req, false, MPA_C, 1, 1, NULL, 0));
	CHECK_EQ(pas_reply_bits(&p) & MPA_R, MPA_R);
	CHECK(peer_closed(p.s, 5000), "no FIN after the reject");
	pas_end(&p);
}

/* Two wait; a third gets in only when one of them is answered. */
static void backlog(void)
{
	struct socket *s[2];
	struct end *e[2];
	static u8 req[FRAME_MAX];
	struct pas p;
	long drops = dev_counter(&dev[0], "cm_backlog_drops");
	int i;

	pas_listen(&p, 2);
	for (i = 0; i < 2; i++) {
		s[i] = peer_connect(p.port);
		peer_send(s[i], req, frame2(req, false, MPA_C, 1, 1, NULL, 0));
		e[i] = lis_take(p.l, 5000);
		CHECK(e[i], "no CONNECT_REQUEST");
	}
	/* Its SYN is dropped, TCP sends it again a second later. */
	if (e[0])
		end_free(e[0]);
	peer_close(s[0]);
	p.s = peer_connect(p.port);
	peer_send(p.s, req, frame2(req, false, MPA_C, 1, 1, NULL, 0));
	p.e = lis_take(p.l, 5000);
	CHECK(p.e, "no CONNECT_REQUEST after one was answered");
	CHECK_EQ(dev_counter(&dev[0], "cm_backlog_drops"), drops);
	end_free(e[1]);
	peer_close(s[1]);
	pas_end(&p);
}

/* Idle connections fill the backlog: an honest client is served long before they time out. */
static void silent_clients_make_room(void)
{
	unsigned long t = jiffies;
	struct socket *s[2];
	static u8 req[FRAME_MAX];
	struct pas p;
	int i;

	pas_listen(&p, 2);
	for (i = 0; i < 2; i++)
		s[i] = peer_connect(p.port);
	msleep(1200);
	p.s = peer_connect(p.port);
	peer_send(p.s, req, frame2(req, false, MPA_C, 1, 1, NULL, 0));
	p.e = lis_take(p.l, 5000);
	CHECK(p.e, "no CONNECT_REQUEST");
	CHECK(dev_counter(&dev[0], "cm_backlog_drops") > 0, "nothing was dropped");
	pr_info("    served after %u ms\n", jiffies_to_msecs(jiffies - t));
	for (i = 0; i < 2; i++)
		peer_close(s[i]);
	pas_end(&p);
}

static void port_is_reserved(void)
{
	struct lis *l, *second;
	u16 port = next_port();
	int err = 0;

	l = lis_new(&dev[0], port, 4, NULL);
	second = lis_new(&dev[0], port, 4, &err);
	CHECK_EQ(err, -EADDRINUSE);
	lis_free(second);
	lis_free(l);
	l = lis_new(&dev[0], port, 4, &err);
	CHECK_EQ(err, 0);
	lis_free(l);
}

const struct test_case passive_cases[] = {
	{"passive: accept, then FIN of the peer", accept_and_peer_fin},
	{"passive: request of revision 1", accept_rev1},
	{"passive: private data of all lengths", private_data_lengths},
	{"passive: malformed requests", bad_requests},
	{"passive: request byte by byte", request_byte_by_byte},
	{"passive: reject with private data", reject_with_private_data},
	{"passive: accept after the peer left", accept_after_peer_left},
	{"passive: accept after the time-out", accept_after_timeout},
	{"passive: accept with bad parameters", accept_with_bad_parameters},
	{"passive: RTR message comes", rtr_comes},
	{"passive: FIN in place of RTR", rtr_fin},
	{"passive: RST in place of RTR", rtr_rst},
	{"passive: silence in place of RTR", rtr_silence},
	{"passive: destroy_qp in place of RTR", rtr_destroy_qp},
	{"passive: data before the reply", early_data},
	{"passive: listener destroyed with children", listener_destroyed_with_children},
	{"passive: listener destroyed with half-open children", listener_destroyed_half_open},
	{"passive: handler returns an error", handler_returns_error},
	{"passive: backlog", backlog},
	{"passive: silent clients make room", silent_clients_make_room},
	{"passive: port is reserved", port_is_reserved},
	{}};
