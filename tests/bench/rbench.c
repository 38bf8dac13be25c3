// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rbench: small verbs benchmark over rdma_cm, completions by event (a guest on one vCPU should not
 * busy-poll) or polled.
 *
 *   rbench -S ADDR                                       serve clients at ADDR, one after another
 *   rbench -c ADDR -o write|read|send|pingpong -s SIZE -n COUNT -q DEPTH [-P]
 *
 * The client prints one line: op size count depth mode seconds us_per_op MiB_per_s cpu_seconds
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rbench.h"

const char *const rbench_op_name[RBENCH_OPS] = {"write", "read", "send", "pingpong"};

void die(const char *what)
{
	fprintf(stderr, "rbench: %s: %s\n", what, strerror(errno));
	exit(1);
}

void rbench_setup(struct rbench *b, uint32_t sends, uint32_t recvs)
{
	struct ibv_qp_init_attr attr = {
		.cap = {.max_send_wr = sends,
			.max_recv_wr = recvs,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};

	b->channel = ibv_create_comp_channel(b->id->verbs);
	if (!b->channel)
		die("ibv_create_comp_channel");
	b->cq = ibv_create_cq(b->id->verbs, sends + recvs + 1, NULL, b->channel, 0);
	if (!b->cq)
		die("ibv_create_cq");
	attr.send_cq = b->cq;
	attr.recv_cq = b->cq;
	if (rdma_create_qp(b->id, NULL, &attr))
		die("rdma_create_qp");
	if (posix_memalign((void **)&b->buf, 4096, RBENCH_MAX_SIZE))
		die("posix_memalign");
	memset(b->buf, 0x5a, RBENCH_MAX_SIZE);
	b->mr = ibv_reg_mr(b->id->pd, b->buf, RBENCH_MAX_SIZE,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ);
	if (!b->mr)
		die("ibv_reg_mr");
}

void rbench_teardown(struct rbench *b)
{
	rdma_disconnect(b->id);
	rdma_destroy_qp(b->id);
	ibv_dereg_mr(b->mr);
	ibv_destroy_cq(b->cq);
	ibv_destroy_comp_channel(b->channel);
	free(b->buf);
	rdma_destroy_id(b->id);
}

void rbench_post_recv(struct rbench *b, uint32_t size)
{
	struct ibv_sge sge = {(uintptr_t)b->buf, size, b->mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	errno = ibv_post_recv(b->id->qp, &wr, &bad);
	if (errno)
		die("ibv_post_recv");
}

void rbench_post_send(struct rbench *b, enum ibv_wr_opcode opcode, uint32_t size, bool signaled,
		      const struct rbench_target *target)
{
	struct ibv_sge sge = {(uintptr_t)b->buf, size, b->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = size ? 1 : 0, .opcode = opcode}, *bad;

	if (signaled)
		wr.send_flags = IBV_SEND_SIGNALED;
	if (target) {
		wr.wr.rdma.remote_addr = target->addr;
		wr.wr.rdma.rkey = target->rkey;
	}
	errno = ibv_post_send(b->id->qp, &wr, &bad);
	if (errno)
		die("ibv_post_send");
}

static int poll_checked(struct rbench *b, struct ibv_wc *wc, int max)
{
	int n = ibv_poll_cq(b->cq, max, wc);

	if (n < 0)
		die("ibv_poll_cq");
	for (int i = 0; i < n; i++) {
		if (wc[i].status == IBV_WC_SUCCESS)
			continue;
		if (wc[i].status == IBV_WC_WR_FLUSH_ERR) {
			b->flushed = true;
			return i;
		}
		fprintf(stderr, "rbench: completion: %s\n", ibv_wc_status_str(wc[i].status));
		exit(1);
	}
	return n;
}

/* Arm, look again, sleep: the order that loses no event. */
int rbench_wait(struct rbench *b, struct ibv_wc *wc, int max)
{
	struct ibv_cq *cq;
	void *ctx;
	int n;

	while (!b->flushed) {
		n = poll_checked(b, wc, max);
		if (n)
			return n;
		if (b->polled || b->flushed)
			continue;
		if (ibv_req_notify_cq(b->cq, 0))
			die("ibv_req_notify_cq");
		n = poll_checked(b, wc, max);
		if (n || b->flushed)
			return n;
		if (ibv_get_cq_event(b->channel, &cq, &ctx))
			die("ibv_get_cq_event");
		ibv_ack_cq_events(cq, 1);
	}
	return 0;
}

static void usage(void)
{
	fprintf(stderr,
		"usage: rbench -S ADDR\n"
		"       rbench -c ADDR -o write|read|send|pingpong -s SIZE -n COUNT -q DEPTH [-P]\n"
		"       SIZE 0..%u, COUNT 1..%u, DEPTH 1..4096\n",
		RBENCH_MAX_SIZE, RBENCH_MAX_N);
	exit(2);
}

static uint32_t number(const char *arg, uint32_t min, uint32_t max)
{
	char *end;
	unsigned long v = strtoul(arg, &end, 0);

	if (*end || v < min || v > max)
		usage();
	return v;
}

static uint32_t op_by_name(const char *name)
{
	for (uint32_t i = 0; i < RBENCH_OPS; i++)
		if (!strcmp(name, rbench_op_name[i]))
			return i;
	usage();
	return 0;
}

int main(int argc, char **argv)
{
	struct rbench_hello hello = {.size = 64, .count = 1000, .depth = 16};
	const char *addr = NULL;
	const char *serve = NULL;
	int opt;

	while ((opt = getopt(argc, argv, "S:c:o:s:n:q:P")) != -1) {
		switch (opt) {
		case 'S':
			serve = optarg;
			break;
		case 'c':
			addr = optarg;
			break;
		case 'o':
			hello.op = op_by_name(optarg);
			break;
		case 's':
			hello.size = number(optarg, 0, RBENCH_MAX_SIZE);
			break;
		case 'n':
			hello.count = number(optarg, 1, RBENCH_MAX_N);
			break;
		case 'q':
			hello.depth = number(optarg, 1, 4096);
			break;
		case 'P':
			hello.polled = 1;
			break;
		default:
			usage();
		}
	}
	if (!serve == !addr || optind != argc)
		usage();
	return serve ? rbench_server(serve) : rbench_client(addr, &hello);
}
