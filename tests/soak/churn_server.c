// SPDX-License-Identifier: GPL-2.0-or-later
/* churn: the end that listens. Any number of connections, in one thread. */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "churn.h"

#define CONNS_MAX 64
#define BACKLOG	  16

/* A connection; free if it has no id. */
struct conn {
	struct churn c;
	bool established;
	bool unborn; /* ESTABLISHED said that it failed */
	bool said_bye;
	bool asked_to_leave; /* when the answer has gone */
	bool left; /* disconnected by this end */
	int64_t until; /* it must have ended by then; 0: it has all time */
};

static struct rdma_event_channel *events;
static struct rdma_cm_id *listener;
static struct conn conns[CONNS_MAX];
static bool device_gone;
static volatile sig_atomic_t told_to_end;

static void on_term(int number)
{
	(void)number;
	told_to_end = 1;
}

static struct conn *free_conn(void)
{
	for (unsigned int i = 0; i < CONNS_MAX; i++)
		if (!conns[i].c.id)
			return &conns[i];
	return NULL;
}

static unsigned int live_conns(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < CONNS_MAX; i++)
		n += conns[i].c.id != NULL;
	return n;
}

static void accept_one(struct rdma_cm_id *id)
{
	struct conn *conn = free_conn();
	struct churn_target target;
	struct rdma_conn_param param = {.private_data = &target,
					.private_data_len = sizeof(target),
					.responder_resources = 4,
					.initiator_depth = 4};

	if (!conn) {
		rdma_reject(id, NULL, 0);
		rdma_destroy_id(id);
		return;
	}
	memset(conn, 0, sizeof(*conn));
	conn->c.id = id;
	id->context = conn;
	if (!churn_setup(&conn->c)) {
		churn_say("no-device", strerror(errno));
		churn_teardown(&conn->c);
		return;
	}
	target.addr = htobe64((uintptr_t)conn->c.buf->space);
	target.rkey = htobe32(conn->c.mr->rkey);
	if (rdma_accept(id, &param)) {
		churn_say("unborn", strerror(errno));
		churn_teardown(&conn->c);
		return;
	}
	conn->until = churn_now_ms() + CHURN_PEER_MS + churn_wait_ms;
}

static void leave(struct conn *conn)
{
	if (conn->left)
		return;
	conn->left = true;
	conn->until = churn_now_ms() + churn_wait_ms;
	rdma_disconnect(conn->c.id);
}

static const char *judgement(struct conn *conn)
{
	if (conn->c.wrong)
		return "wrong";
	if (conn->c.disconnected)
		churn_drain(&conn->c);
	else if (!conn->c.removed)
		conn->c.wrong = conn->established ? "no DISCONNECTED" : "no ESTABLISHED";
	if (conn->c.removed)
		return "removed";
	if (conn->c.disconnected && !conn->established)
		conn->c.wrong = "DISCONNECTED without ESTABLISHED";
	if (conn->c.wrong)
		return "wrong";
	if (conn->unborn)
		return "unborn";
	return conn->said_bye ? "ok" : "lost";
}

static const char *reason(const struct conn *conn)
{
	if (conn->c.wrong)
		return conn->c.wrong;
	return conn->c.failed ? ibv_wc_status_str(conn->c.failed) : "";
}

static void end(struct conn *conn)
{
	const char *outcome = judgement(conn);

	churn_say(outcome, reason(conn));
	churn_teardown(&conn->c);
}

/* An answer to a client's message: the same. */
static bool answer(struct conn *conn, const struct ibv_wc *wc)
{
	struct churn *c = &conn->c;
	const struct churn_msg *msg = (const struct churn_msg *)c->buf->recv[wc->wr_id];
	uint32_t len = wc->byte_len;

	if (len < sizeof(*msg) || be32toh(msg->bye) >= CHURN_BYES ||
	    !churn_same(c->buf->recv[wc->wr_id] + sizeof(*msg), len - sizeof(*msg),
			be32toh(msg->seed))) {
		c->wrong = "a message that was not sent";
		return false;
	}
	conn->said_bye = be32toh(msg->bye) != CHURN_STAYS;
	if (be32toh(msg->bye) == CHURN_SERVER_DISCONNECTS)
		conn->asked_to_leave = true;
	memcpy(c->buf->send, msg, len);
	return churn_post_send(c, IBV_WR_SEND, c->buf->send, len, NULL) &&
	       churn_post_recv(c, (unsigned int)wc->wr_id);
}

static void completions(struct conn *conn)
{
	struct ibv_wc wc[16];
	int n;

	while ((n = churn_poll(&conn->c, wc, 16)) > 0) {
		for (int i = 0; i < n; i++) {
			if (wc[i].status != IBV_WC_SUCCESS)
				continue;
			if (wc[i].opcode == IBV_WC_RECV)
				answer(conn, &wc[i]);
			else if (conn->asked_to_leave)
				leave(conn);
		}
	}
}

static void cq_event(struct conn *conn)
{
	struct ibv_cq *cq;
	void *context;

	if (!ibv_get_cq_event(conn->c.channel, &cq, &context)) {
		ibv_ack_cq_events(cq, 1);
		ibv_req_notify_cq(cq, 0);
	}
	completions(conn);
}

static void conn_event(struct conn *conn, const struct rdma_cm_event *ev)
{
	if (ev->event != RDMA_CM_EVENT_ESTABLISHED) {
		churn_note(&conn->c, ev);
	} else if (conn->established || conn->c.disconnected) {
		conn->c.wrong = "ESTABLISHED twice or too late";
	} else {
		conn->established = true;
		conn->unborn = ev->status != 0;
		conn->until = conn->unborn ? churn_now_ms() + churn_wait_ms : 0;
	}
}

/* Events must be acknowledged before their id is destroyed. */
static void cm_event(void)
{
	struct rdma_cm_event *ev;
	struct rdma_cm_id *id, *asked = NULL;
	bool gone = false;

	if (rdma_get_cm_event(events, &ev))
		return;
	id = ev->id;
	if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		asked = id;
	else if (id == listener)
		gone = ev->event == RDMA_CM_EVENT_DEVICE_REMOVAL;
	else
		conn_event(id->context, ev);
	rdma_ack_cm_event(ev);
	if (asked)
		accept_one(asked);
	if (gone) {
		rdma_destroy_id(listener);
		listener = NULL;
		device_gone = true;
	}
}

/* Ends those that have ended, or should have. */
static void judge_all(void)
{
	for (unsigned int i = 0; i < CONNS_MAX; i++) {
		struct conn *conn = &conns[i];

		if (!conn->c.id)
			continue;
		completions(conn);
		if (conn->c.disconnected || conn->c.removed ||
		    (conn->until && churn_now_ms() >= conn->until))
			end(conn);
		else if (conn->c.wrong || conn->c.flushed || conn->c.failed)
			leave(conn);
	}
}

static void wait_for_any(int ms)
{
	struct pollfd fd[1 + CONNS_MAX] = {{.fd = events->fd, .events = POLLIN}};

	for (unsigned int i = 0; i < CONNS_MAX; i++) {
		fd[1 + i].fd = conns[i].c.id ? conns[i].c.channel->fd : -1;
		fd[1 + i].events = POLLIN;
	}
	if (poll(fd, 1 + CONNS_MAX, ms) <= 0)
		return;
	for (unsigned int i = 0; i < CONNS_MAX; i++)
		if (fd[1 + i].revents)
			cq_event(&conns[i]);
	if (fd[0].revents)
		cm_event();
}

static bool listens(const char *addr)
{
	struct sockaddr_in local = {.sin_family = AF_INET, .sin_port = htons(CHURN_PORT)};

	events = rdma_create_event_channel();
	if (!events || inet_pton(AF_INET, addr, &local.sin_addr) != 1) {
		fprintf(stderr, "churn: no RDMA, or no such address: %s\n", addr);
		return false;
	}
	if (rdma_create_id(events, &listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(listener, (struct sockaddr *)&local) || rdma_listen(listener, BACKLOG)) {
		churn_say("no-listener", strerror(errno));
		return false;
	}
	return true;
}

int churn_server(const char *addr)
{
	struct sigaction term = {.sa_handler = on_term};

	sigaction(SIGTERM, &term, NULL);
	if (!listens(addr))
		return CHURN_AGAIN;
	while (!told_to_end && !device_gone) {
		wait_for_any(200);
		judge_all();
	}
	if (listener)
		rdma_destroy_id(listener);
	for (unsigned int i = 0; i < CONNS_MAX; i++)
		if (conns[i].c.id)
			leave(&conns[i]);
	while (live_conns()) {
		wait_for_any(200);
		judge_all();
	}
	return device_gone ? CHURN_AGAIN : 0;
}
