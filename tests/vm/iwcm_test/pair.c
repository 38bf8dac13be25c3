// SPDX-License-Identifier: GPL-2.0-or-later
/* Both ends through iw_cm: two devices, and one device with itself. */
#define pr_fmt(fmt) "iwcm_test: " fmt
#include <linux/delay.h>

#include "iwcm_test.h"

/**
 * struct pair - a connection
 * @l: listener
 * @c: initiator
 * @s: responder
 */
struct pair {
	struct lis *l;
	struct end *c;
	struct end *s;
};

/* Initiator on device a, responder on device b. */
static bool pair_connect(struct pair *p, int a, int b)
{
	u16 port = next_port();

	memset(p, 0, sizeof(*p));
	p->l = lis_new(&dev[b], port, 8, NULL);
	p->c = end_new(&dev[a]);
	CHECK_EQ(end_connect(p->c, dev[b].addr, port, 3, 5, "client", 6), 0);
	p->s = lis_take(p->l, 10000);
	CHECK(p->s, "no CONNECT_REQUEST");
	if (!p->s)
		return false;
	CHECK_EQ(p->s->ird, 3);
	CHECK_EQ(p->s->ord, 5);
	CHECK_EQ(end_accept(p->s, &dev[b], 7, 2, "server", 6), 0);
	CHECK(end_wait(p->s, &p->s->established, 1, 10000), "no ESTABLISHED");
	CHECK_EQ(p->s->est_status, 0);
	end_check_connected(p->c);
	CHECK_EQ(p->s->ird, 5);
	CHECK_EQ(p->s->ord, 2);
	CHECK_EQ(p->c->ird, 2);
	CHECK_EQ(p->c->ord, 5);
	CHECK(p->c->pd_len == 6 && !memcmp(p->c->pd, "server", 6), "private data");
	return !p->c->reply_status && !p->s->est_status;
}

static void pair_free(struct pair *p)
{
	end_free(p->c);
	end_free(p->s);
	lis_free(p->l);
}

static struct pair held;

/* A connection that stays until its device is removed. */
int hold_start(void)
{
	if (pair_connect(&held, 0, 1))
		return 0;
	pair_free(&held);
	return -EIO;
}

/* Its end as a careful consumer has it, of a device that may have died in the meantime. */
void hold_end(int ms)
{
	pr_info("removal\n");
	msleep(ms);
	ib_drain_qp(held.c->qp);
	pr_info("drained\n");
	pair_free(&held);
}

static void disconnect(int a, int b)
{
	struct pair p;

	if (pair_connect(&p, a, b)) {
		CHECK_EQ(iw_cm_disconnect(p.c->id, 0), 0);
		end_check_closed(p.c);
		end_check_closed(p.s);
		CHECK_EQ(iw_cm_disconnect(p.c->id, 0), 0);
		CHECK_EQ(iw_cm_disconnect(p.s->id, 0), 0);
		msleep(50);
		CHECK_EQ(p.c->closes, 1);
		CHECK_EQ(p.s->closes, 1);
	}
	pair_free(&p);
}

static void two_devices(void)
{
	disconnect(0, 1);
	disconnect(1, 0);
}

static void own_address(void)
{
	disconnect(0, 0);
}

static void both_disconnect(void)
{
	struct pair p;

	if (pair_connect(&p, 0, 1)) {
		CHECK_EQ(iw_cm_disconnect(p.c->id, 0), 0);
		CHECK_EQ(iw_cm_disconnect(p.s->id, 0), 0);
		CHECK_EQ(iw_cm_disconnect(p.s->id, 0), 0);
		CHECK_EQ(iw_cm_disconnect(p.c->id, 1), 0);
		end_check_closed(p.c);
		end_check_closed(p.s);
	}
	pair_free(&p);
}

static void abrupt_disconnect(void)
{
	struct pair p;

	if (pair_connect(&p, 0, 1)) {
		CHECK_EQ(iw_cm_disconnect(p.s->id, 1), 0);
		end_check_closed(p.s);
		end_check_closed(p.c);
	}
	pair_free(&p);
}

static void destroy_qp_when_connected(void)
{
	struct pair p;

	if (pair_connect(&p, 0, 1)) {
		CHECK_EQ(ib_destroy_qp(p.c->qp), 0);
		p.c->qp = NULL;
		end_check_closed(p.c);
		end_check_closed(p.s);
	}
	pair_free(&p);
}

static void destroy_id_when_connected(void)
{
	struct pair p;

	if (pair_connect(&p, 0, 1)) {
		iw_destroy_cm_id(p.c->id);
		p.c->id = NULL;
		end_check_closed(p.s);
		CHECK_EQ(p.c->closes, 0);
	}
	pair_free(&p);
}

static void destroy_from_handlers(void)
{
	struct pair p;

	memset(&p, 0, sizeof(p));
	if (pair_connect(&p, 0, 1)) {
		p.s->ret[IW_CM_EVENT_CLOSE] = -1;
		p.c->ret[IW_CM_EVENT_CLOSE] = -1;
		CHECK_EQ(iw_cm_disconnect(p.c->id, 0), 0);
		end_check_closed(p.c);
		end_check_closed(p.s);
	}
	pair_free(&p);
}

/* Posting to a QP whose connection is gone succeeds and flushes, on both ends. */
static void flush_after_close(void)
{
	struct ib_send_wr sw = {.opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED};
	struct ib_recv_wr rw = {};
	struct ib_wc wc = {};
	struct pair p;

	if (pair_connect(&p, 0, 1)) {
		CHECK_EQ(ib_post_recv(p.s->qp, &rw, NULL), 0);
		CHECK_EQ(iw_cm_disconnect(p.c->id, 1), 0);
		end_check_closed(p.c);
		end_check_closed(p.s);
		CHECK_EQ(wait_wc(&dev[1], &wc, 5000), 1);
		CHECK_EQ(wc.status, IB_WC_WR_FLUSH_ERR);
		CHECK_EQ(ib_post_send(p.c->qp, &sw, NULL), 0);
		CHECK_EQ(wait_wc(&dev[0], &wc, 5000), 1);
		CHECK_EQ(wc.status, IB_WC_WR_FLUSH_ERR);
		ib_drain_qp(p.s->qp);
	}
	pair_free(&p);
}

/* A QP had its connection; it has no second one. */
static void reuse_of_qp(void)
{
	struct ib_qp *qp;
	struct end *e;
	struct pair p;

	if (pair_connect(&p, 0, 1)) {
		CHECK_EQ(iw_cm_disconnect(p.c->id, 0), 0);
		end_check_closed(p.c);
		end_check_closed(p.s);
		e = end_new(&dev[0]);
		qp = e->qp;
		e->qp = p.c->qp;
		CHECK(end_connect(e, dev[1].addr, next_port(), 1, 1, NULL, 0) < 0, "accepted");
		e->qp = qp;
		end_free(e);
	}
	pair_free(&p);
}

static void send_and_disconnect(void)
{
	struct ib_send_wr sw = {.opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED};
	struct ib_recv_wr rw = {};
	struct ib_wc wc = {};
	struct pair p;

	if (pair_connect(&p, 0, 1)) {
		CHECK_EQ(ib_post_recv(p.s->qp, &rw, NULL), 0);
		CHECK_EQ(ib_post_send(p.c->qp, &sw, NULL), 0);
		CHECK_EQ(iw_cm_disconnect(p.c->id, 0), 0);
		CHECK_EQ(wait_wc(&dev[1], &wc, 5000), 1);
		CHECK_EQ(wc.status, IB_WC_SUCCESS);
		CHECK_EQ(wait_wc(&dev[0], &wc, 5000), 1);
		CHECK_EQ(wc.status, IB_WC_SUCCESS);
		end_check_closed(p.c);
		end_check_closed(p.s);
	}
	pair_free(&p);
}

static void many(void)
{
	struct pair p;
	int i;

	for (i = 0; i < 50 && !checks_failed; i++) {
		if (pair_connect(&p, i & 1, (i >> 1) & 1))
			switch (i % 5) {
			case 0:
				iw_cm_disconnect(p.c->id, 0);
				break;
			case 1:
				iw_cm_disconnect(p.s->id, 1);
				break;
			case 2:
				iw_cm_disconnect(p.s->id, 0);
				iw_cm_disconnect(p.c->id, 0);
				break;
			default:
				break;
			}
		pair_free(&p);
	}
}

const struct test_case pair_cases[] = {
	{"pair: two devices, disconnect, disconnect again", two_devices},
	{"pair: own address", own_address},
	{"pair: both disconnect", both_disconnect},
	{"pair: abrupt disconnect", abrupt_disconnect},
	{"pair: destroy_qp when connected", destroy_qp_when_connected},
	{"pair: id destroyed when connected", destroy_id_when_connected},
	{"pair: ids destroyed from their handlers", destroy_from_handlers},
	{"pair: flush after close", flush_after_close},
	{"pair: no second connection", reuse_of_qp},
	{"pair: Send, then disconnect", send_and_disconnect},
	{"pair: fifty connections", many},
	{}};
