// SPDX-License-Identifier: GPL-2.0-or-later
/* rbench: the side that serves, one client after another. */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rbench.h"

#define RECV_DEPTH 512

static bool read_hello(const struct rdma_cm_event *ev, struct rbench_hello *hello)
{
	if (ev->param.conn.private_data_len < sizeof(*hello))
		return false;
	memcpy(hello, ev->param.conn.private_data, sizeof(*hello));
	hello->op = be32toh(hello->op);
	hello->size = be32toh(hello->size);
	hello->count = be32toh(hello->count);
	hello->polled = be32toh(hello->polled);
	return hello->op < RBENCH_OPS && hello->size <= RBENCH_MAX_SIZE;
}

static void accept_client(struct rbench *b)
{
	struct rbench_target target = {htobe64((uintptr_t)b->buf), htobe32(b->mr->rkey)};
	struct rdma_conn_param param = {.private_data = &target,
					.private_data_len = sizeof(target),
					.responder_resources = 16,
					.initiator_depth = 16};

	if (rdma_accept(b->id, &param))
		die("rdma_accept");
}

/* Takes Sends until the empty one, or the end of the connection; answers them in a ping-pong. */
static void serve(struct rbench *b, const struct rbench_hello *hello)
{
	struct ibv_wc wc[16];
	uint32_t answers = 0;

	for (;;) {
		int n = rbench_wait(b, wc, 16);

		if (!n)
			return;
		for (int i = 0; i < n; i++) {
			if (wc[i].opcode != IBV_WC_RECV)
				continue;
			if (!wc[i].byte_len)
				return;
			rbench_post_recv(b, hello->size);
			if (hello->op == RBENCH_PINGPONG)
				rbench_post_send(b, IBV_WR_SEND, hello->size, ++answers % 4 == 0,
						 NULL);
		}
	}
}

static void wait_gone(struct rdma_event_channel *ec, const struct rdma_cm_id *id)
{
	struct rdma_cm_event *ev;
	bool gone = false;

	while (!gone) {
		if (rdma_get_cm_event(ec, &ev))
			die("rdma_get_cm_event");
		gone = ev->id == id && ev->event == RDMA_CM_EVENT_DISCONNECTED;
		rdma_ack_cm_event(ev);
	}
}

static void serve_request(struct rdma_event_channel *ec, struct rdma_cm_event *ev)
{
	struct rbench b = {.id = ev->id};
	struct rbench_hello hello;

	if (!read_hello(ev, &hello)) {
		rdma_reject(ev->id, NULL, 0);
		rdma_ack_cm_event(ev);
		return;
	}
	rdma_ack_cm_event(ev);
	b.polled = hello.polled;
	rbench_setup(&b, 64, RECV_DEPTH);
	for (int i = 0; i < RECV_DEPTH; i++)
		rbench_post_recv(&b, hello.size);
	accept_client(&b);
	serve(&b, &hello);
	wait_gone(ec, b.id);
	rbench_teardown(&b);
}

int rbench_server(const char *addr)
{
	struct sockaddr_in local = {.sin_family = AF_INET, .sin_port = htons(RBENCH_PORT)};
	struct rdma_event_channel *ec = rdma_create_event_channel();
	struct rdma_cm_event *ev;
	struct rdma_cm_id *listener;

	if (inet_pton(AF_INET, addr, &local.sin_addr) != 1) {
		fprintf(stderr, "rbench: no such address: %s\n", addr);
		exit(1);
	}
	if (!ec || rdma_create_id(ec, &listener, NULL, RDMA_PS_TCP))
		die("rdma_create_id");
	if (rdma_bind_addr(listener, (struct sockaddr *)&local) || rdma_listen(listener, 8))
		die("rdma_listen");
	printf("rbench: listening on port %u\n", RBENCH_PORT);
	fflush(stdout);
	for (;;) {
		if (rdma_get_cm_event(ec, &ev))
			die("rdma_get_cm_event");
		if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST)
			serve_request(ec, ev);
		else
			rdma_ack_cm_event(ev);
	}
}
