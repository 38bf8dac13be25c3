// SPDX-License-Identifier: GPL-2.0-or-later
/* churn: the end that connects. */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "churn.h"

#define STEPS_MAX  12
#define RESOLVE_MS 3000

static struct rdma_event_channel *events;
static struct sockaddr_in peer = {.sin_family = AF_INET};

/* What the answer to one step must have in it. */
struct step {
	uint32_t seed;
	uint32_t space; /* bytes written and read back */
	uint32_t len; /* of the message */
};

/* Lengths of every order of magnitude are as likely. */
static uint32_t any_length(uint32_t least, uint32_t most)
{
	uint32_t len = (uint32_t)rand() >> (rand() % 31);

	return least + len % (most - least + 1);
}

/* The next event, which the caller acknowledges; NULL if none comes. */
static struct rdma_cm_event *next_event(int ms)
{
	struct pollfd fd = {.fd = events->fd, .events = POLLIN};
	struct rdma_cm_event *ev;

	return poll(&fd, 1, ms) == 1 && !rdma_get_cm_event(events, &ev) ? ev : NULL;
}

/* The type of the next event and its status, -1 if none comes. The reply's private data is kept. */
static int take_event(int ms, int *status, struct churn_target *target)
{
	struct rdma_cm_event *ev = next_event(ms);
	int type;

	if (!ev)
		return -1;
	type = ev->event;
	*status = ev->status;
	if (target && type == RDMA_CM_EVENT_ESTABLISHED &&
	    ev->param.conn.private_data_len >= sizeof(*target))
		memcpy(target, ev->param.conn.private_data, sizeof(*target));
	rdma_ack_cm_event(ev);
	return type;
}

/* Says it; false, for those whose connection has ended with it. */
static bool over(const char *outcome, const char *why)
{
	churn_say(outcome, why);
	return false;
}

/* The same for those whose device is gone. */
static bool gone(struct churn *c, const char *outcome, const char *why)
{
	c->removed = true;
	return over(outcome, why);
}

static bool resolved(struct churn *c)
{
	static const int wants[] = {RDMA_CM_EVENT_ADDR_RESOLVED, RDMA_CM_EVENT_ROUTE_RESOLVED};
	int type, status = 0;

	if (rdma_create_id(events, &c->id, c, RDMA_PS_TCP))
		return gone(c, "no-device", strerror(errno));
	for (int i = 0; i < 2; i++) {
		if (i ? rdma_resolve_route(c->id, RESOLVE_MS)
		      : rdma_resolve_addr(c->id, NULL, (struct sockaddr *)&peer, RESOLVE_MS))
			return over("unresolved", strerror(errno));
		type = take_event(churn_wait_ms, &status, NULL);
		if (type == RDMA_CM_EVENT_ADDR_ERROR || type == RDMA_CM_EVENT_ROUTE_ERROR)
			return over("unresolved", strerror(abs(status)));
		if (type == RDMA_CM_EVENT_DEVICE_REMOVAL)
			return gone(c, "removed", "while it was resolved");
		if (type != wants[i])
			return over("wrong",
				    type < 0 ? "no answer to resolving" : rdma_event_str(type));
	}
	return true;
}

static bool connected(struct churn *c, struct churn_target *target)
{
	struct rdma_conn_param param = {.responder_resources = 4, .initiator_depth = 4};
	int type, status = 0;

	if (rdma_connect(c->id, &param))
		return over("failed", strerror(errno));
	type = take_event(CHURN_PEER_MS + churn_wait_ms, &status, target);
	switch (type) {
	case RDMA_CM_EVENT_ESTABLISHED:
		return true;
	case RDMA_CM_EVENT_REJECTED:
		return over("refused", strerror(abs(status)));
	case RDMA_CM_EVENT_UNREACHABLE:
		return over("unreachable", strerror(abs(status)));
	case RDMA_CM_EVENT_CONNECT_ERROR:
		return over("failed", strerror(abs(status)));
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return gone(c, "removed", "while it connected");
	default:
		return over("wrong", type < 0 ? "no answer to the connect" : rdma_event_str(type));
	}
}

/* Waits for so many successes; false when the connection has ended without, or is silent. */
static bool await(struct churn *c, uint32_t successes)
{
	struct pollfd fd[2] = {{.fd = events->fd, .events = POLLIN},
			       {.fd = c->channel->fd, .events = POLLIN}};
	int64_t until = churn_now_ms() + churn_wait_ms;
	struct rdma_cm_event *ev;
	struct ibv_wc wc[16];
	struct ibv_cq *cq;
	void *context;

	for (;;) {
		while (churn_poll(c, wc, 16) > 0)
			;
		if (c->succeeded >= successes)
			return true;
		if (c->flushed || c->failed || c->disconnected || c->removed ||
		    churn_now_ms() >= until)
			return false;
		poll(fd, 2, 1000);
		ev = fd[0].revents ? next_event(0) : NULL;
		if (ev) {
			churn_note(c, ev);
			rdma_ack_cm_event(ev);
		}
		if (fd[1].revents && !ibv_get_cq_event(c->channel, &cq, &context)) {
			ibv_ack_cq_events(cq, 1);
			ibv_req_notify_cq(cq, 0);
		}
	}
}

/* Write, read back, send and hear the same: four completions. */
static bool post_step(struct churn *c, const struct churn_target *target, const struct step *s,
		      enum churn_bye bye)
{
	struct churn_msg *msg = (struct churn_msg *)c->buf->send;

	churn_fill(c->buf->space, s->space, s->seed);
	msg->seed = htobe32(s->seed + 1);
	msg->bye = htobe32(bye);
	churn_fill(c->buf->send + sizeof(*msg), s->len - sizeof(*msg), s->seed + 1);
	return churn_post_send(c, IBV_WR_RDMA_WRITE, c->buf->space, s->space, target) &&
	       churn_post_send(c, IBV_WR_RDMA_READ, c->buf->back, s->space, target) &&
	       churn_post_send(c, IBV_WR_SEND, c->buf->send, s->len, NULL);
}

/* One step; receives are used in turn. False when the connection has ended. */
static bool transferred(struct churn *c, const struct churn_target *target, unsigned int nr,
			enum churn_bye bye)
{
	struct step s = {.seed = (uint32_t)rand(),
			 .space = any_length(1, CHURN_SPACE),
			 .len = any_length(sizeof(struct churn_msg), CHURN_MSG)};
	const uint8_t *answer = c->buf->recv[nr % CHURN_RECVS];
	uint32_t before = c->succeeded;

	if (!post_step(c, target, &s, bye) || !await(c, before + 4))
		return false;
	if (memcmp(c->buf->back, c->buf->space, s.space))
		c->wrong = "what was read is not what was written";
	if (memcmp(answer, c->buf->send, s.len))
		c->wrong = "the answer is not what was sent";
	/* no receive when the last answer is there: siw's provider never flushes one that comes
	 * late */
	return !c->wrong && (bye != CHURN_STAYS || churn_post_recv(c, nr % CHURN_RECVS));
}

/* Takes events until the one that ends the connection, or for some time. */
static void await_end(struct churn *c, int ms)
{
	int64_t until = churn_now_ms() + ms;
	struct rdma_cm_event *ev;

	while (!c->disconnected && !c->removed && churn_now_ms() < until) {
		ev = next_event(200);
		if (!ev)
			continue;
		churn_note(c, ev);
		rdma_ack_cm_event(ev);
	}
}

/* The one event that ends it comes, by itself if the server disconnects, and all work comes back.
 */
static void ended(struct churn *c, bool by_server, const char *outcome, const char *why)
{
	if (by_server)
		await_end(c, churn_wait_ms);
	if (!c->removed && !c->disconnected) {
		rdma_disconnect(c->id);
		await_end(c, churn_wait_ms);
	}
	if (!c->removed && !c->disconnected)
		c->wrong = "no DISCONNECTED";
	else if (!c->removed)
		churn_drain(c);
	if (c->wrong)
		over("wrong", c->wrong);
	else
		over(c->removed ? "removed" : outcome, c->removed ? "while it was up" : why);
}

static const char *why_lost(const struct churn *c)
{
	if (c->failed)
		return ibv_wc_status_str(c->failed);
	return c->flushed || c->disconnected ? "ended" : "silence";
}

/* Transfers, then ends the connection in one of the agreed ways. */
static void use(struct churn *c, const struct churn_target *target)
{
	enum churn_bye bye = CHURN_CLIENT_DISCONNECTS + rand() % (CHURN_BYES - 1);
	unsigned int steps = 1 + (unsigned int)rand() % STEPS_MAX;

	for (unsigned int nr = 0; nr < steps; nr++) {
		if (!transferred(c, target, nr, nr + 1 < steps ? CHURN_STAYS : bye)) {
			ended(c, false, "lost", why_lost(c));
			return;
		}
	}
	if (bye == CHURN_CLIENT_DESTROYS)
		churn_say("ok", "");
	else
		ended(c, bye == CHURN_SERVER_DISCONNECTS, "ok", "");
}

/* One connection; false if the device has gone. */
static bool one(void)
{
	struct churn c = {0};
	struct churn_target target = {0};
	bool stays;

	if (resolved(&c)) {
		if (!churn_setup(&c)) {
			gone(&c, "no-device", strerror(errno));
		} else if (connected(&c, &target)) {
			target.addr = be64toh(target.addr);
			target.rkey = be32toh(target.rkey);
			use(&c, &target);
		}
	}
	stays = !c.removed;
	churn_teardown(&c);
	return stays;
}

int churn_client(const char *addr, int64_t until, unsigned int seed)
{
	srand(seed);
	events = rdma_create_event_channel();
	peer.sin_port = htons(CHURN_PORT);
	if (!events || inet_pton(AF_INET, addr, &peer.sin_addr) != 1) {
		fprintf(stderr, "churn: no RDMA, or no such address: %s\n", addr);
		return 2;
	}
	while (churn_now_ms() < until) {
		if (!one())
			return CHURN_AGAIN;
		poll(NULL, 0, rand() % 100);
	}
	return 0;
}
