// SPDX-License-Identifier: GPL-2.0-or-later
/* What iw_cm drops, what consumers destroy in the middle of it, and many at once. */
#define pr_fmt(fmt) "iwcm_test: " fmt
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <net/tcp_states.h>

#include "iwcm_test.h"

/* ---- iw_cm that is busy ---- */

/**
 * struct gate - holds iw_cm up: it has one thread for all events of all ids
 * @e: connection whose handler does not return
 * @handler: the harness's
 * @in: it is in its handler
 * @open: it may go on
 */
static struct gate {
	struct end *e;
	iw_cm_handler handler;
	struct completion in;
	struct completion open;
} gate;

static int gate_handler(struct iw_cm_id *id, struct iw_cm_event *ev)
{
	int ret = gate.handler(id, ev);

	complete(&gate.in);
	wait_for_completion(&gate.open);
	return ret;
}

/* By the second device, so that the first one's counters are about the test. */
static void gate_close(void)
{
	init_completion(&gate.in);
	init_completion(&gate.open);
	gate.e = end_new(&dev[1]);
	gate.handler = gate.e->id->cm_handler;
	gate.e->id->cm_handler = gate_handler;
	CHECK_EQ(end_connect(gate.e, dev[0].addr, next_port(), 1, 1, NULL, 0), 0);
	CHECK(wait_for_completion_timeout(&gate.in, 20 * HZ), "no CONNECT_REPLY");
}

static void gate_open(void)
{
	complete_all(&gate.open);
	end_check_failed_connect(gate.e, -ECONNREFUSED);
	end_free(gate.e);
}

static struct {
	struct work_struct work;
	struct lis *l;
} unlisten;

static void unlisten_work(struct work_struct *work)
{
	lis_destroy_id(unlisten.l);
}

/*
 * Requests wait in iw_cm when their listener goes: it drops them without a word. The driver has to
 * end the connections, at once and not when somebody asks.
 */
static void requests_dropped(void)
{
	long before = dev_counter(&dev[0], "cm_requests");
	u16 port = next_port();
	struct socket *s[8];
	int i;

	unlisten.l = lis_new(&dev[0], port, ARRAY_SIZE(s), NULL);
	gate_close();
	for (i = 0; i < ARRAY_SIZE(s); i++) {
		s[i] = peer_connect(port);
		peer_request(s[i], 0);
	}
	dev_wait_counter(&dev[0], "cm_requests", before + ARRAY_SIZE(s));
	INIT_WORK(&unlisten.work, unlisten_work);
	schedule_work(&unlisten.work);
	for (i = 0; i < ARRAY_SIZE(s); i++) {
		CHECK(peer_closed(s[i], 5000), "the connection is still there");
		peer_close(s[i]);
	}
	dev_wait_counter(&dev[0], "cm_endpoints", 0);
	gate_open();
	flush_work(&unlisten.work);
	CHECK_EQ(unlisten.l->requests, 0);
	lis_free(unlisten.l);
}

/* Two requests wait in iw_cm, which has room for no more, and nobody is behind them any more. */
static void fill_with_stale(u16 port)
{
	long before = dev_counter(&dev[0], "cm_requests");
	struct socket *s[2];
	int i;

	for (i = 0; i < 2; i++) {
		s[i] = peer_connect(port);
		peer_request(s[i], 0);
	}
	dev_wait_counter(&dev[0], "cm_requests", before + 2);
	for (i = 0; i < 2; i++)
		peer_reset(s[i]);
	dev_wait_counter(&dev[0], "cm_endpoints", 0);
}

static void answer_stale(struct lis *l)
{
	struct end *e;
	int i;

	for (i = 0; i < 2; i++) {
		e = lis_take(l, 5000);
		CHECK(e, "no CONNECT_REQUEST");
		if (!e)
			continue;
		CHECK_EQ(end_accept(e, &dev[0], 1, 1, NULL, 0), -ECONNRESET);
		end_destroy_qp(e);
		end_check_told(e);
		end_free(e);
	}
}

/* A request that iw_cm has no memory for is rejected, and the next one is served. */
static void no_room_for_request(void)
{
	static u8 rep[FRAME_MAX];
	u16 port = next_port();
	struct lis *l = lis_new(&dev[0], port, 2, NULL);
	struct socket *s;
	struct end *e;

	gate_close();
	fill_with_stale(port);
	s = peer_connect(port);
	peer_request(s, 0);
	CHECK_EQ(peer_read_frame(s, rep, 5000), 24);
	CHECK_EQ(rep[16] & MPA_R, MPA_R);
	CHECK(peer_closed(s, 5000), "no FIN after the reject");
	peer_close(s);
	gate_open();
	answer_stale(l);
	s = peer_connect(port);
	peer_request(s, 0);
	e = lis_take(l, 5000);
	CHECK(e, "the listener is deaf");
	CHECK_EQ(l->requests, 3);
	peer_close(s);
	end_free(e);
	lis_free(l);
}

/* ---- backlog ---- */

static struct end *request(struct lis *l, struct socket *s, u16 flags)
{
	struct end *e;

	peer_request(s, flags);
	e = lis_take(l, 10000);
	CHECK(e, "no CONNECT_REQUEST");
	return e;
}

/* Requests that were delivered count until they are answered; nothing makes room before. */
static void backlog_until_answer(void)
{
	long drops = dev_counter(&dev[0], "cm_backlog_drops");
	u16 port = next_port();
	struct lis *l = lis_new(&dev[0], port, 2, NULL);
	struct socket *s[3];
	struct end *e[3] = {};
	int i;

	for (i = 0; i < 2; i++)
		e[i] = request(l, s[i] = peer_connect(port), 0);
	s[2] = peer_connect_begin(port);
	CHECK(!peer_reaches(s[2], TCP_ESTABLISHED, 2500), "a third one came in");
	CHECK(dev_counter(&dev[0], "cm_backlog_drops") > drops, "nothing was dropped");
	if (e[0]) {
		CHECK_EQ(end_accept(e[0], &dev[0], 1, 1, NULL, 0), 0);
		CHECK(end_wait(e[0], &e[0]->established, 1, 5000), "no ESTABLISHED");
		CHECK(peer_reaches(s[2], TCP_ESTABLISHED, 10000), "no room after the accept");
		e[2] = request(l, s[2], 0);
	}
	for (i = 0; i < 3; i++) {
		peer_close(s[i]);
		end_free(e[i]);
	}
	lis_free(l);
}

/* ---- handlers that answer ---- */

/**
 * struct talk - a connection whose request is answered in the handler
 * @l: listener, on dev[1]
 * @c: initiator, on dev[0]
 * @s: responder, once there was a request
 * @qp: its QP
 * @qpn: of @qp
 * @on_request: the harness's handler
 * @on_event: the harness's handler
 * @reject: reject
 * @hang_up: disconnect in the handler of ESTABLISHED and CONNECT_REPLY
 * @leave: destroy the responder's id by the handler of ESTABLISHED
 * @accepted: iw_accept() returned 0
 * @moment: which moment completes @reached
 * @reached: it has come
 */
static struct talk {
	struct lis *l;
	struct end *c;
	struct end *s;
	struct ib_qp *qp;
	u32 qpn;
	iw_cm_handler on_request;
	iw_cm_handler on_event;
	bool reject;
	bool hang_up;
	bool leave;
	bool accepted;
	enum moment {
		BEGUN,
		REQUESTED,
		ANSWERED,
		MOMENTS
	} moment;
	struct completion reached;
} talk;

static void talk_reach(enum moment moment)
{
	if (moment == talk.moment)
		complete(&talk.reached);
}

static int talk_event(struct iw_cm_id *id, struct iw_cm_event *ev)
{
	bool up = ev->event == IW_CM_EVENT_ESTABLISHED || ev->event == IW_CM_EVENT_CONNECT_REPLY;
	int ret = talk.on_event(id, ev);

	if (up && talk.hang_up && !ev->status)
		CHECK_EQ(iw_cm_disconnect(id, 0), 0);
	return ret;
}

static void talk_answer(struct iw_cm_id *id)
{
	struct iw_cm_conn_param param = {.qpn = talk.qpn, .ird = 1, .ord = 1};

	if (talk.reject) {
		CHECK_EQ(iw_cm_reject(id, "no", 2), 0);
		return;
	}
	talk.accepted = !iw_cm_accept(id, &param);
	talk.s->accepting = talk.accepted;
	/* As rdma_accept() does: iw_cm itself fails an accept whose QP has gone, and tells nobody.
	 */
	if (!talk.accepted)
		iw_cm_reject(id, NULL, 0);
}

static int talk_request(struct iw_cm_id *id, struct iw_cm_event *ev)
{
	int ret = talk.on_request(id, ev);

	talk_reach(REQUESTED);
	talk.s = lis_take(talk.l, 0);
	id->cm_handler = talk_event;
	talk.s->ret[IW_CM_EVENT_ESTABLISHED] = talk.leave ? -1 : 0;
	talk_answer(id);
	talk_reach(ANSWERED);
	return ret;
}

static void talk_begin(void)
{
	u16 port = next_port();

	talk.s = NULL;
	talk.accepted = false;
	init_completion(&talk.reached);
	talk.l = lis_new(&dev[1], port, 4, NULL);
	talk.on_request = talk.l->id->cm_handler;
	talk.l->id->cm_handler = talk_request;
	talk.qp = qp_new(&dev[1]);
	talk.qpn = talk.qp->qp_num;
	talk.c = end_new(&dev[0]);
	talk.on_event = talk.c->id->cm_handler;
	talk.c->id->cm_handler = talk_event;
	CHECK_EQ(end_connect(talk.c, dev[1].addr, port, 1, 1, NULL, 0), 0);
	talk_reach(BEGUN);
}

/* The listener goes before the responder is looked at: its handler has run then, or never will. */
static void talk_end(void)
{
	end_destroy_qp(talk.c);
	if (talk.qp)
		CHECK_EQ(ib_destroy_qp(talk.qp), 0);
	end_check_told(talk.c);
	lis_destroy_id(talk.l);
	if (talk.s)
		end_check_told(talk.s);
	end_free(talk.c);
	end_free(talk.s);
	lis_free(talk.l);
}

static void accept_and_hang_up(void)
{
	memset(&talk, 0, sizeof(talk));
	talk.hang_up = true;
	talk_begin();
	CHECK(end_wait(talk.c, &talk.c->replies, 1, 10000), "no CONNECT_REPLY");
	CHECK_EQ(talk.c->reply_status, 0);
	CHECK(end_wait(talk.c, &talk.c->closes, 1, 10000), "no CLOSE");
	CHECK(talk.s && end_wait(talk.s, &talk.s->closes, 1, 10000), "no CLOSE");
	talk_end();
}

static void reject_in_handler(void)
{
	memset(&talk, 0, sizeof(talk));
	talk.reject = true;
	talk_begin();
	end_check_failed_connect(talk.c, -ECONNREFUSED);
	CHECK(talk.c->pd_len == 2 && !memcmp(talk.c->pd, "no", 2), "private data");
	talk_end();
}

/* The responder has enough at once: its peer is up, then hears of the end. */
static void leave_when_established(void)
{
	memset(&talk, 0, sizeof(talk));
	talk.leave = true;
	talk_begin();
	CHECK(end_wait(talk.c, &talk.c->replies, 1, 10000), "no CONNECT_REPLY");
	CHECK(talk.c->reply_status || end_wait(talk.c, &talk.c->closes, 1, 10000), "no CLOSE");
	CHECK(talk.s && talk.s->destroyed, "no ESTABLISHED");
	talk_end();
}

/* ESTABLISHED tells of a failure, and its handler destroys the id under the CLOSE behind it. */
static void leave_when_failed(void)
{
	u16 port = next_port();
	struct lis *l = lis_new(&dev[0], port, 4, NULL);
	struct socket *s = peer_connect(port);
	struct end *e = request(l, s, 0x8000);

	if (e) {
		e->ret[IW_CM_EVENT_ESTABLISHED] = -1;
		CHECK_EQ(end_accept(e, &dev[0], 4, 4, NULL, 0), 0);
		peer_reset(s);
		CHECK(end_wait(e, &e->established, 1, 5000), "no ESTABLISHED");
		CHECK(e->est_status < 0, "%d", e->est_status);
		msleep(50);
		CHECK_EQ(e->closes, 0);
	}
	end_free(e);
	lis_free(l);
}

/* ---- destroy_qp at every moment ---- */

/* From the connect to its reply. */
static unsigned int talk_us(void)
{
	ktime_t start;

	talk_begin();
	start = ktime_get();
	CHECK(end_wait(talk.c, &talk.c->replies, 1, 10000), "no CONNECT_REPLY");
	return ktime_us_delta(ktime_get(), start);
}

static void talk_destroy(bool responder)
{
	if (!responder) {
		end_destroy_qp(talk.c);
		return;
	}
	CHECK_EQ(ib_destroy_qp(talk.qp), 0);
	talk.qp = NULL;
}

#define RACES 48

/*
 * From the connect on, from the request on, from the accept on: SYN, request, delivery, accept,
 * reply, RTS, whatever is under way.
 */
static void destroy_while_connecting(void)
{
	int i, up = 0, accepts = 0;
	unsigned int us;

	memset(&talk, 0, sizeof(talk));
	us = talk_us();
	talk_end();
	for (i = 0; i < RACES && !checks_failed; i++) {
		talk.moment = i / 2 % MOMENTS;
		talk_begin();
		CHECK(wait_for_completion_timeout(&talk.reached, 10 * HZ), "no request");
		fsleep(us * (i / 6) / (RACES / 6));
		talk_destroy(i & 1);
		CHECK(end_wait(talk.c, &talk.c->replies, 1, 30000), "no CONNECT_REPLY");
		up += !talk.c->reply_status;
		talk_end();
		accepts += talk.accepted;
	}
	pr_info("    of %d, %d were accepted, %d connected; takes %u us\n", i, accepts, up, us);
}

/* From the disconnect on, of either side, on either side. */
static void destroy_while_closing(void)
{
	unsigned int us;
	int i;

	memset(&talk, 0, sizeof(talk));
	for (i = 0; i < RACES && !checks_failed; i++) {
		us = talk_us();
		CHECK_EQ(iw_cm_disconnect(i & 2 && talk.s ? talk.s->id : talk.c->id, i & 4), 0);
		fsleep(us * (i / 2) / (RACES / 2));
		talk_destroy(i & 1);
		talk_end();
	}
}

/* The peer's TCP does not close; what waits for it ends with the QP. */
static void destroy_while_peer_lingers(void)
{
	u16 port = next_port();
	struct lis *l = lis_new(&dev[0], port, 4, NULL);
	struct socket *s;
	struct end *e;
	int i;

	for (i = 0; i < 2; i++) {
		s = peer_connect(port);
		e = request(l, s, 0);
		if (!e)
			continue;
		CHECK_EQ(end_accept(e, &dev[0], 1, 1, NULL, 0), 0);
		CHECK(end_wait(e, &e->established, 1, 5000), "no ESTABLISHED");
		CHECK_EQ(iw_cm_disconnect(e->id, 0), 0);
		CHECK(end_wait(e, &e->closes, 1, 5000), "CLOSE waits for the peer");
		CHECK(peer_reaches(s, TCP_CLOSE_WAIT, 5000), "no FIN");
		CHECK_EQ(dev_counter(&dev[0], "cm_endpoints"), 1);
		if (i)
			qp_to(e->qp, IB_QPS_ERR);
		end_destroy_qp(e);
		end_check_told(e);
		dev_wait_counter(&dev[0], "cm_endpoints", 0);
		CHECK(peer_reaches(s, TCP_CLOSE, 5000), "no RST");
		peer_close(s);
		end_free(e);
	}
	lis_free(l);
}

/* ---- many ---- */

#define HALF_OPEN 1000

/* Opened and silent, half a request, a request that nobody answers; SYN-ACK not answered. */
static struct socket *half_open(u16 port, int i)
{
	struct socket *s;

	if (i >= HALF_OPEN * 3 / 4)
		return peer_connect_begin(port);
	s = peer_connect(port);
	if (i % 3 == 1)
		peer_send(s, "MPA ID Req", 10);
	else if (i % 3 == 2)
		peer_request(s, 0);
	return s;
}

static void half_open_all(struct socket **s, u16 port)
{
	int i;

	for (i = 0; i < HALF_OPEN; i++) {
		if (i == HALF_OPEN * 3 / 4)
			CHECK_EQ(peer_deafen(true), 0);
		s[i] = half_open(port, i);
	}
	dev_wait_counter(&dev[0], "cm_endpoints", HALF_OPEN);
}

static void thousand_half_open(void)
{
	struct socket **s = kvcalloc(HALF_OPEN, sizeof(*s), GFP_KERNEL | __GFP_NOFAIL);
	u16 port = next_port();
	struct lis *l = lis_new(&dev[0], port, HALF_OPEN + 24, NULL);
	ktime_t start = ktime_get();
	int i;

	half_open_all(s, port);
	pr_info("    made in %lld ms\n", ktime_ms_delta(ktime_get(), start));
	start = ktime_get();
	lis_destroy_id(l);
	pr_info("    gone in %lld ms\n", ktime_ms_delta(ktime_get(), start));
	dev_wait_counter(&dev[0], "cm_endpoints", 0);
	peer_deafen(false);
	for (i = 0; i < HALF_OPEN; i++) {
		CHECK(i >= HALF_OPEN * 3 / 4 || peer_closed(s[i], 5000), "%d is still there", i);
		peer_close(s[i]);
	}
	lis_free(l);
	kvfree(s);
}

#define BATCH 64

/**
 * struct crowd - many connections
 * @l: listener, on dev[1]
 * @port: its port
 * @c: initiators, on dev[0]
 * @s: responders, in any order
 * @n: how many of each
 * @us: what a batch took when this many batches were there: to set up, use, tear down
 */
struct crowd {
	struct lis *l;
	u16 port;
	struct end **c;
	struct end **s;
	int n;
	unsigned int *us[3];
};

static void crowd_connect(struct end **c, struct end **s, struct crowd *w)
{
	int i;

	for (i = 0; i < BATCH; i++) {
		c[i] = end_new(&dev[0]);
		CHECK_EQ(end_connect(c[i], dev[1].addr, w->port, 1, 1, NULL, 0), 0);
	}
	for (i = 0; i < BATCH; i++) {
		s[i] = lis_take(w->l, 10000);
		CHECK(s[i] && !end_accept(s[i], &dev[1], 1, 1, NULL, 0), "request %d", i);
	}
	for (i = 0; i < BATCH; i++) {
		CHECK(end_wait(c[i], &c[i]->replies, 1, 10000), "no CONNECT_REPLY");
		CHECK_EQ(c[i]->reply_status, 0);
		CHECK(s[i] && end_wait(s[i], &s[i]->established, 1, 10000), "no ESTABLISHED");
	}
}

static void expect_success(struct test_dev *d)
{
	struct ib_wc wc = {};

	CHECK_EQ(wait_wc(d, &wc, 10000), 1);
	CHECK_EQ(wc.status, IB_WC_SUCCESS);
}

static void crowd_use(struct end **c, struct end **s)
{
	struct ib_send_wr sw = {.opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED};
	struct ib_recv_wr rw = {};
	int i;

	for (i = 0; i < BATCH; i++)
		CHECK_EQ(ib_post_recv(s[i]->qp, &rw, NULL), 0);
	for (i = 0; i < BATCH; i++)
		CHECK_EQ(ib_post_send(c[i]->qp, &sw, NULL), 0);
	for (i = 0; i < BATCH && !checks_failed; i++) {
		expect_success(&dev[1]);
		expect_success(&dev[0]);
	}
}

static void crowd_free(struct end **e)
{
	int i;

	for (i = 0; i < BATCH; i++) {
		end_destroy_qp(e[i]);
		end_check_told(e[i]);
		end_free(e[i]);
	}
}

static void crowd_leave(struct end **c, struct end **s)
{
	int i;

	for (i = 0; i < BATCH; i++)
		CHECK_EQ(iw_cm_disconnect(c[i]->id, 0), 0);
	for (i = 0; i < BATCH; i++) {
		CHECK(end_wait(c[i], &c[i]->closes, 1, 10000), "no CLOSE");
		CHECK(end_wait(s[i], &s[i]->closes, 1, 10000), "no CLOSE");
	}
	crowd_free(c);
	crowd_free(s);
}

/* A batch by the best of several: what else the machine does only ever adds. */
static unsigned int best(const unsigned int *us, int n)
{
	unsigned int least = UINT_MAX;

	while (n--)
		least = min(least, us[n]);
	return least;
}

/*
 * With a cost that grows in proportion to the connections that are there, the last quarter's best
 * would be a dozen times the first quarter's.
 */
static void judge_rate(int what, const unsigned int *us, int batches)
{
	static const char *const names[] = {"set up", "used", "torn down"};
	int quarter = batches / 4;
	unsigned int few, many, sum = 0;
	int i;

	if (checks_failed || !quarter)
		return;
	for (i = 0; i < batches; i++)
		sum += us[i];
	few = best(us, quarter);
	many = best(us + batches - quarter, quarter);
	pr_info("    %d %s in %u ms; %d: %u us among few, %u us among many\n", batches * BATCH,
		names[what], sum / 1000, BATCH, few, many);
	CHECK(many < 3 * few, "%s", names[what]);
}

static unsigned int lap(ktime_t *from)
{
	ktime_t now = ktime_get();
	unsigned int us = ktime_us_delta(now, *from);

	*from = now;
	return us;
}

static void crowd_run(struct crowd *w)
{
	ktime_t t = ktime_get();
	int i, n;

	for (w->n = 0; w->n < conns && !checks_failed; w->n += BATCH) {
		crowd_connect(w->c + w->n, w->s + w->n, w);
		w->us[0][w->n / BATCH] = lap(&t);
		crowd_use(w->c + w->n, w->s + w->n);
		w->us[1][w->n / BATCH] = lap(&t);
	}
	for (n = 0; n < w->n && !checks_failed; n += BATCH)
		crowd_use(w->c + n, w->s + n);
	lap(&t);
	for (n = 0; n < w->n; n += BATCH) {
		crowd_leave(w->c + n, w->s + n);
		w->us[2][(w->n - n) / BATCH - 1] = lap(&t);
	}
	for (i = 0; i < ARRAY_SIZE(w->us); i++)
		judge_rate(i, w->us[i], w->n / BATCH);
}

static void crowd(void)
{
	struct crowd w = {.port = next_port()};
	int i;

	w.c = kvcalloc(conns + BATCH, sizeof(*w.c), GFP_KERNEL | __GFP_NOFAIL);
	w.s = kvcalloc(conns + BATCH, sizeof(*w.s), GFP_KERNEL | __GFP_NOFAIL);
	for (i = 0; i < ARRAY_SIZE(w.us); i++)
		w.us[i] = kvcalloc(conns / BATCH + 1, sizeof(*w.us[i]), GFP_KERNEL | __GFP_NOFAIL);
	w.l = lis_new(&dev[1], w.port, 2 * BATCH, NULL);
	crowd_run(&w);
	lis_free(w.l);
	for (i = 0; i < ARRAY_SIZE(w.us); i++)
		kvfree(w.us[i]);
	kvfree(w.c);
	kvfree(w.s);
}

const struct test_case fire_cases[] = {
	{"fire: requests that iw_cm drops", requests_dropped},
	{"fire: a request that iw_cm has no room for", no_room_for_request},
	{"fire: backlog until the answer", backlog_until_answer},
	{"fire: accepted and disconnected in handlers", accept_and_hang_up},
	{"fire: rejected in the handler", reject_in_handler},
	{"fire: responder's id destroyed by ESTABLISHED", leave_when_established},
	{"fire: responder's id destroyed by a failed ESTABLISHED", leave_when_failed},
	{"fire: destroy_qp while connecting and accepting", destroy_while_connecting},
	{"fire: destroy_qp while closing", destroy_while_closing},
	{"fire: destroy_qp while the peer lingers", destroy_while_peer_lingers},
	{"fire: listener destroyed with 1000 half-open children", thousand_half_open},
	{"fire: many connections set up, used, torn down", crowd},
	{}};
