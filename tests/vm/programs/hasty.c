// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hasty ADDRESS PORT: accepts one connection, polls for its first message and disconnects at once,
 * all at a real-time priority: on a machine with one CPU before any event of the connection is
 * told.
 *
 * Says "listening", then in one line the events that come and their status.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <rdma/rdma_cma.h>

#define POLL_SECONDS 5

static char buf[4096];

static void failed(const char *call)
{
	printf("%s %d\n", call, errno);
	exit(1);
}

static void hurry(void)
{
	struct sched_param param = {.sched_priority = 1};

	if (sched_setscheduler(0, SCHED_FIFO, &param))
		failed("sched_setscheduler");
}

/* The id of the next event, which must be this one. */
static struct rdma_cm_id *await(struct rdma_event_channel *channel, enum rdma_cm_event_type want)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	if (rdma_get_cm_event(channel, &event))
		failed("rdma_get_cm_event");
	id = event->id;
	if (want != RDMA_CM_EVENT_CONNECT_REQUEST)
		printf("%s %d ", rdma_event_str(event->event), event->status);
	if (event->event != want) {
		printf("instead of %s\n", rdma_event_str(want));
		exit(1);
	}
	rdma_ack_cm_event(event);
	return id;
}

static void prepare(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_sge sge = {.addr = (uintptr_t)buf, .length = sizeof(buf)};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
	struct ibv_mr *mr;

	if (rdma_create_qp(id, NULL, &attr))
		failed("rdma_create_qp");
	mr = ibv_reg_mr(id->pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		failed("ibv_reg_mr");
	sge.lkey = mr->lkey;
	if (ibv_post_recv(id->qp, &wr, &bad))
		failed("ibv_post_recv");
}

/* Without sleeping. */
static void await_message(struct rdma_cm_id *id)
{
	time_t until = time(NULL) + POLL_SECONDS;
	struct ibv_wc wc;

	while (!ibv_poll_cq(id->recv_cq, 1, &wc))
		if (time(NULL) > until)
			failed("no message");
	if (wc.status != IBV_WC_SUCCESS)
		failed(ibv_wc_status_str(wc.status));
}

int main(int argc, char **argv)
{
	struct sockaddr_in local = {.sin_family = AF_INET};
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1};
	struct rdma_cm_id *listener, *id;

	if (argc != 3 || inet_pton(AF_INET, argv[1], &local.sin_addr) != 1) {
		fprintf(stderr, "usage: hasty ADDRESS PORT\n");
		return 2;
	}
	local.sin_port = htons((uint16_t)atoi(argv[2]));
	if (!channel || rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(listener, (struct sockaddr *)&local) || rdma_listen(listener, 1))
		failed("rdma_listen");
	printf("listening\n");
	id = await(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	prepare(id);
	hurry();
	if (rdma_accept(id, &param))
		failed("rdma_accept");
	await_message(id);
	if (rdma_disconnect(id))
		failed("rdma_disconnect");
	await(channel, RDMA_CM_EVENT_ESTABLISHED);
	await(channel, RDMA_CM_EVENT_DISCONNECTED);
	printf("\n");
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
	rdma_destroy_id(listener);
	return 0;
}
