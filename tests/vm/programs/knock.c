// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * knock ADDRESS PORT [SOURCE-ADDRESS SOURCE-PORT]: connects, says how that ended, and leaves.
 *
 * One line: the event's name, its status, milliseconds since rdma_connect(). When a call fails:
 * its name, the errno, 0.
 */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rdma/rdma_cma.h>

static void say(const char *what, int status, long ms)
{
	printf("%s %d %ld\n", what, status, ms);
}

static void failed(const char *call)
{
	say(call, errno, 0);
	exit(1);
}

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static struct sockaddr *name(const char *address, const char *port)
{
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM}, *info;
	int rc = getaddrinfo(address, port, &hints, &info);

	if (rc) {
		fprintf(stderr, "%s %s: %s\n", address, port, gai_strerror(rc));
		exit(2);
	}
	return info->ai_addr;
}

/* Every event but the one that is waited for ends the program. */
static void await(struct rdma_event_channel *channel, enum rdma_cm_event_type want, long since)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type got;

	if (rdma_get_cm_event(channel, &event))
		failed("rdma_get_cm_event");
	got = event->event;
	if (since || got != want)
		say(rdma_event_str(got), event->status, since ? now_ms() - since : 0);
	rdma_ack_cm_event(event);
	if (got != want)
		exit(1);
}

int main(int argc, char **argv)
{
	struct ibv_qp_init_attr attr = {
		.cap = {.max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1};
	struct rdma_event_channel *channel;
	struct sockaddr *to, *from;
	struct rdma_cm_id *id;
	long begin;

	if (argc != 3 && argc != 5) {
		fprintf(stderr, "usage: knock ADDRESS PORT [SOURCE-ADDRESS SOURCE-PORT]\n");
		return 2;
	}
	to = name(argv[1], argv[2]);
	from = argc == 5 ? name(argv[3], argv[4]) : NULL;
	channel = rdma_create_event_channel();
	if (!channel || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP))
		failed("rdma_create_id");
	if (rdma_resolve_addr(id, from, to, 2000))
		failed("rdma_resolve_addr");
	await(channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	if (rdma_resolve_route(id, 2000))
		failed("rdma_resolve_route");
	await(channel, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	if (rdma_create_qp(id, NULL, &attr))
		failed("rdma_create_qp");
	begin = now_ms();
	if (rdma_connect(id, &param))
		failed("rdma_connect");
	await(channel, RDMA_CM_EVENT_ESTABLISHED, begin);
	rdma_disconnect(id);
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
	return 0;
}
