// SPDX-License-Identifier: GPL-2.0-or-later
/* rbench: the side that measures. */
#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "rbench.h"

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static double cpu_seconds(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return r.ru_utime.tv_sec + r.ru_stime.tv_sec +
	       1e-6 * (r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

/* Waits for one rdma_cm event of the kind expected; the caller acknowledges it. */
static struct rdma_cm_event *expect(struct rdma_event_channel *ec, enum rdma_cm_event_type want)
{
	struct rdma_cm_event *ev;

	if (rdma_get_cm_event(ec, &ev))
		die("rdma_get_cm_event");
	if (ev->event != want) {
		fprintf(stderr, "rbench: %s (status %d) instead of %s\n", rdma_event_str(ev->event),
			ev->status, rdma_event_str(want));
		exit(1);
	}
	return ev;
}

static void resolve(struct rbench *b, struct rdma_event_channel *ec, const char *addr)
{
	struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *ai;
	char port[8];

	snprintf(port, sizeof(port), "%u", RBENCH_PORT);
	if (getaddrinfo(addr, port, &hints, &ai)) {
		fprintf(stderr, "rbench: no such address: %s\n", addr);
		exit(1);
	}
	if (rdma_create_id(ec, &b->id, NULL, RDMA_PS_TCP))
		die("rdma_create_id");
	if (rdma_resolve_addr(b->id, NULL, ai->ai_addr, 5000))
		die("rdma_resolve_addr");
	rdma_ack_cm_event(expect(ec, RDMA_CM_EVENT_ADDR_RESOLVED));
	if (rdma_resolve_route(b->id, 5000))
		die("rdma_resolve_route");
	rdma_ack_cm_event(expect(ec, RDMA_CM_EVENT_ROUTE_RESOLVED));
	freeaddrinfo(ai);
}

static void connect_to(struct rbench *b, struct rdma_event_channel *ec,
		       const struct rbench_hello *hello, struct rbench_target *target)
{
	struct rbench_hello wire = {htobe32(hello->op), htobe32(hello->size), htobe32(hello->count),
				    htobe32(hello->depth), htobe32(hello->polled)};
	struct rdma_conn_param param = {.private_data = &wire,
					.private_data_len = sizeof(wire),
					.responder_resources = 16,
					.initiator_depth = 16};
	struct rdma_cm_event *ev;

	if (rdma_connect(b->id, &param))
		die("rdma_connect");
	ev = expect(ec, RDMA_CM_EVENT_ESTABLISHED);
	if (ev->param.conn.private_data_len < sizeof(*target)) {
		fprintf(stderr, "rbench: the server's answer is too short\n");
		exit(1);
	}
	memcpy(target, ev->param.conn.private_data, sizeof(*target));
	target->addr = be64toh(target->addr);
	target->rkey = be32toh(target->rkey);
	rdma_ack_cm_event(ev);
}

static int wait_alive(struct rbench *b, struct ibv_wc *wc, int max)
{
	int n = rbench_wait(b, wc, max);

	if (n)
		return n;
	fprintf(stderr, "rbench: the server closed the connection\n");
	exit(1);
}

/* One send, one answer, COUNT times. Every fourth send is signalled so that the SQ is retired. */
static void run_pingpong(struct rbench *b, const struct rbench_hello *hello)
{
	struct ibv_wc wc[16];

	for (uint32_t i = 0; i < hello->count; i++) {
		bool answered = false;

		rbench_post_send(b, IBV_WR_SEND, hello->size, i % 4 == 3, NULL);
		while (!answered) {
			int n = wait_alive(b, wc, 16);

			for (int k = 0; k < n; k++)
				answered |= wc[k].opcode == IBV_WC_RECV;
		}
		rbench_post_recv(b, hello->size);
	}
}

static void run_stream(struct rbench *b, const struct rbench_hello *hello,
		       const struct rbench_target *target)
{
	static const enum ibv_wr_opcode opcode[RBENCH_OPS] = {
		[RBENCH_WRITE] = IBV_WR_RDMA_WRITE,
		[RBENCH_READ] = IBV_WR_RDMA_READ,
		[RBENCH_SEND] = IBV_WR_SEND,
	};
	uint32_t posted = 0, done = 0;
	struct ibv_wc wc[16];

	while (done < hello->count) {
		while (posted < hello->count && posted - done < hello->depth) {
			rbench_post_send(b, opcode[hello->op], hello->size, true,
					 hello->op == RBENCH_SEND ? NULL : target);
			posted++;
		}
		done += wait_alive(b, wc, 16);
	}
}

/* An empty Send says that all is done; its completion that the server's TCP has all of it. */
static void say_done(struct rbench *b)
{
	struct ibv_wc wc;

	rbench_post_send(b, IBV_WR_SEND, 0, true, NULL);
	do
		wait_alive(b, &wc, 1);
	while (wc.opcode != IBV_WC_SEND);
}

int rbench_client(const char *addr, const struct rbench_hello *hello)
{
	struct rdma_event_channel *ec = rdma_create_event_channel();
	struct rbench b = {.polled = hello->polled};
	struct rbench_target target;
	double t, cpu;

	if (!ec)
		die("rdma_create_event_channel");
	resolve(&b, ec, addr);
	rbench_setup(&b, hello->depth + 8, 8);
	for (int i = 0; i < 4; i++)
		rbench_post_recv(&b, hello->size);
	connect_to(&b, ec, hello, &target);

	cpu = cpu_seconds();
	t = seconds();
	if (hello->op == RBENCH_PINGPONG)
		run_pingpong(&b, hello);
	else
		run_stream(&b, hello, &target);
	t = seconds() - t;
	cpu = cpu_seconds() - cpu;

	say_done(&b);
	printf("%s size %u count %u depth %u %s: %.6f s %.2f us/op %.3f MiB/s cpu %.3f s\n",
	       rbench_op_name[hello->op], hello->size, hello->count, hello->depth,
	       hello->polled ? "polled" : "event", t, t * 1e6 / hello->count,
	       hello->count * (double)hello->size / t / (1 << 20), cpu);
	rbench_teardown(&b);
	rdma_destroy_event_channel(ec);
	return 0;
}
