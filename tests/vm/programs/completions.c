// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * completions ADDRESS: connects an RNIC with itself, does right and wrong things, and compares
 * completions and asynchronous events with what verbs and the hardware contract say.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>

#define DEPTH 16
#define SIZE  65536
#define ALL   (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

/* One end of the connection. */
struct end {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	uint8_t *buf;
};

static struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP}, *address;
static struct rdma_cm_id *listener;
static struct end a, b; /* a connects, b accepts */
static int checks, failures;

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static void check(const char *what, long got, long want)
{
	checks++;
	if (got != want)
		failures++;
	printf("%s: %s: %ld", got == want ? "ok" : "FAILED", what, got);
	if (got != want)
		printf(", expected %ld", want);
	printf("\n");
}

/* --- connections ---------------------------------------------------------------------------- */

static void make_qp(struct end *end)
{
	struct ibv_qp_init_attr attr = {
		.cap = {.max_send_wr = DEPTH,
			.max_recv_wr = DEPTH,
			.max_send_sge = 4,
			.max_recv_sge = 2,
			.max_inline_data = 64},
		.qp_type = IBV_QPT_RC,
	};

	if (rdma_create_qp(end->id, NULL, &attr))
		die("rdma_create_qp");
	end->buf = aligned_alloc(4096, SIZE);
	end->mr = ibv_reg_mr(end->id->pd, end->buf, SIZE, ALL);
	if (!end->mr)
		die("ibv_reg_mr");
}

static void *serve(void *arg)
{
	struct rdma_conn_param param = {.responder_resources = 4, .initiator_depth = 4};

	if (rdma_get_request(listener, &b.id))
		die("rdma_get_request");
	make_qp(&b);
	if (rdma_accept(b.id, &param))
		die("rdma_accept");
	return arg;
}

static void connect_both(void)
{
	struct rdma_conn_param param = {.responder_resources = 4, .initiator_depth = 4};
	pthread_t thread;

	if (pthread_create(&thread, NULL, serve, NULL))
		die("pthread_create");
	if (rdma_create_id(NULL, &a.id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(a.id, NULL, address->ai_src_addr, 2000) ||
	    rdma_resolve_route(a.id, 2000))
		die("address");
	make_qp(&a);
	if (rdma_connect(a.id, &param))
		die("rdma_connect");
	pthread_join(thread, NULL);
}

static void drop(struct end *end)
{
	rdma_disconnect(end->id);
	ibv_dereg_mr(end->mr);
	rdma_destroy_qp(end->id);
	rdma_destroy_id(end->id);
	free(end->buf);
}

static void drop_both(void)
{
	drop(&a);
	drop(&b);
}

/* --- work requests -------------------------------------------------------------------------- */

/* The next completion within two seconds; its status, or -1 if there is none. */
static int next_wc(struct ibv_cq *cq, struct ibv_wc *wc)
{
	int i;

	memset(wc, 0, sizeof(*wc));
	for (i = 0; i < 2000; i++) {
		if (ibv_poll_cq(cq, 1, wc) == 1)
			return wc->status;
		usleep(1000);
	}
	return -1;
}

static int none_comes(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	usleep(50000);
	return ibv_poll_cq(cq, 1, &wc) == 0;
}

static int post_send(struct end *from, enum ibv_wr_opcode opcode, uint64_t id, uint32_t length,
		     uint32_t lkey, uint32_t rkey, unsigned int flags)
{
	struct ibv_sge sge = {.addr = (uintptr_t)from->buf, .length = length, .lkey = lkey};
	struct end *to = from == &a ? &b : &a;
	struct ibv_send_wr wr =
				   {
					   .wr_id = id,
					   .sg_list = &sge,
					   .num_sge = length ? 1 : 0,
					   .opcode = opcode,
					   .send_flags = flags,
					   .wr.rdma = {.remote_addr = (uintptr_t)to->buf,
						       .rkey = rkey},
				   },
			   *bad;

	return ibv_post_send(from->id->qp, &wr, &bad);
}

static int post_recv(struct end *to, uint64_t id, uint32_t length)
{
	struct ibv_sge sge = {(uintptr_t)to->buf, length, to->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = length ? 1 : 0}, *bad;

	return ibv_post_recv(to->id->qp, &wr, &bad);
}

/* --- right things --------------------------------------------------------------------------- */

static void fill(struct end *end, uint8_t first)
{
	int i;

	for (i = 0; i < SIZE; i++)
		end->buf[i] = first + i * 7;
}

static void test_transfer(enum ibv_wr_opcode opcode, enum ibv_wc_opcode done, const char *name,
			  uint32_t length)
{
	struct ibv_wc wc;

	fill(&a, 1);
	fill(&b, 99);
	check(name, post_send(&a, opcode, 4711, length, a.mr->lkey, b.mr->rkey, IBV_SEND_SIGNALED),
	      0);
	check(" completes", next_wc(a.id->send_cq, &wc), IBV_WC_SUCCESS);
	check(" wr_id", wc.wr_id, 4711);
	check(" opcode", wc.opcode, done);
	check(" qp_num", wc.qp_num == a.id->qp->qp_num, 1);
	if (opcode == IBV_WR_RDMA_READ)
		check(" byte_len", wc.byte_len, length);
	check(" data", memcmp(a.buf, b.buf, length), 0);
	check(" and nothing beyond", a.buf[length % SIZE] != b.buf[length % SIZE] || length == SIZE,
	      1);
}

static void test_send(uint32_t length, unsigned int flags)
{
	struct ibv_wc wc;

	fill(&a, 5);
	memset(b.buf, 0, SIZE);
	check("receive", post_recv(&b, 12, SIZE), 0);
	check("send",
	      post_send(&a, IBV_WR_SEND, 13, length, a.mr->lkey, 0, flags | IBV_SEND_SIGNALED), 0);
	if (flags & IBV_SEND_INLINE)
		memset(a.buf, 0xee, SIZE); /* may be used again at once */
	check(" received", next_wc(b.id->recv_cq, &wc), IBV_WC_SUCCESS);
	check(" wr_id", wc.wr_id, 12);
	check(" opcode", wc.opcode, IBV_WC_RECV);
	check(" byte_len", wc.byte_len, length);
	check(" sent", next_wc(a.id->send_cq, &wc), IBV_WC_SUCCESS);
	check(" opcode", wc.opcode, IBV_WC_SEND);
	if (flags & IBV_SEND_INLINE)
		fill(&a, 5);
	check(" data", memcmp(a.buf, b.buf, length), 0);
}

/* Depth is 16: more than one round, one in eight signalled. */
static void test_unsignalled(void)
{
	struct ibv_wc wc;
	int i, done = 0, bad = 0;

	for (i = 0; i < 3 * DEPTH; i++) {
		bad += !!post_send(&a, IBV_WR_RDMA_WRITE, i, 64, a.mr->lkey, b.mr->rkey,
				   i % 8 == 7 ? IBV_SEND_SIGNALED : 0);
		if (i % 8 == 7 && next_wc(a.id->send_cq, &wc) == IBV_WC_SUCCESS &&
		    wc.wr_id == (uint64_t)i)
			done++;
	}
	check("unsignalled writes: posts that failed", bad, 0);
	check("unsignalled writes: completions of the signalled", done, 3 * DEPTH / 8);
	check("unsignalled writes: no other completion", none_comes(a.id->send_cq), 1);
}

/* --- wrong things --------------------------------------------------------------------------- */

/* The next asynchronous event within two seconds, or -1. */
static int next_event(void)
{
	struct ibv_async_event event;
	struct pollfd fd = {.fd = a.id->verbs->async_fd, .events = POLLIN};

	if (poll(&fd, 1, 2000) != 1 || ibv_get_async_event(a.id->verbs, &event))
		return -1;
	ibv_ack_async_event(&event);
	return event.event_type;
}

static void test_flush(struct end *end, const char *name)
{
	struct ibv_wc wc;
	int i, sends = 0, receives = 0;

	for (i = 0; i < 8; i++) {
		sends += !post_send(end, IBV_WR_SEND, 100 + i, 8, end->mr->lkey, 0, 0);
		receives += !post_recv(end, 200 + i, 8);
	}
	printf("flush at %s\n", name);
	check(" sends posted in ERR", sends, 8);
	check(" receives posted in ERR", receives, 8);
	for (i = 0; i < 8; i++) {
		if (next_wc(end->id->send_cq, &wc) != IBV_WC_WR_FLUSH_ERR ||
		    wc.wr_id != (uint64_t)(100 + i))
			break;
		if (next_wc(end->id->recv_cq, &wc) != IBV_WC_WR_FLUSH_ERR ||
		    wc.wr_id != (uint64_t)(200 + i))
			break;
	}
	check(" pairs flushed, in order", i, 8);
	check(" no send completes twice", none_comes(end->id->send_cq), 1);
	check(" no receive completes twice", none_comes(end->id->recv_cq), 1);
}

static int qp_state(struct end *end)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(end->id->qp, &attr, IBV_QP_STATE, &init) ? -1 : (int)attr.qp_state;
}

/* A work request that fails: one completion with the cause, even unsignalled; then all flush. */
static void test_bad(const char *name, enum ibv_wr_opcode opcode, uint32_t lkey, uint32_t rkey,
		     int status, int event)
{
	struct ibv_wc wc;

	check(name, post_send(&a, opcode, 1, 4096, lkey, rkey, 0), 0);
	check(" status", next_wc(a.id->send_cq, &wc), status);
	check(" wr_id", wc.wr_id, 1);
	check(" event", next_event(), event);
	check(" state", qp_state(&a), IBV_QPS_ERR);
	test_flush(&a, "the requester");
}

static void test_protection(void)
{
	struct ibv_mr *mr;

	connect_both();
	test_bad("write to a wrong STag", IBV_WR_RDMA_WRITE, a.mr->lkey, b.mr->rkey ^ 1,
		 IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
	check("the responder is in ERR, too", qp_state(&b), IBV_QPS_ERR);
	test_flush(&b, "the responder");
	drop_both();

	connect_both();
	mr = ibv_reg_mr(b.id->pd, b.buf, SIZE, 0);
	test_bad("read without remote read", IBV_WR_RDMA_READ, a.mr->lkey, mr->rkey,
		 IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
	ibv_dereg_mr(mr);
	drop_both();

	connect_both();
	test_bad("write from a wrong STag", IBV_WR_RDMA_WRITE, a.mr->lkey ^ 1, b.mr->rkey,
		 IBV_WC_LOC_PROT_ERR, IBV_EVENT_QP_FATAL);
	drop_both();

	connect_both();
	mr = ibv_reg_mr(a.id->pd, a.buf, SIZE, IBV_ACCESS_LOCAL_WRITE);
	test_bad("read to a sink without remote write", IBV_WR_RDMA_READ, mr->lkey, b.mr->rkey,
		 IBV_WC_LOC_ACCESS_ERR, IBV_EVENT_QP_FATAL);
	ibv_dereg_mr(mr);
	drop_both();
}

static void test_short_receive(void)
{
	struct ibv_wc wc;

	connect_both();
	check("receive of 8 bytes", post_recv(&b, 7, 8), 0);
	check("send of 9 bytes", post_send(&a, IBV_WR_SEND, 8, 9, a.mr->lkey, 0, IBV_SEND_SIGNALED),
	      0);
	check(" receiver's status", next_wc(b.id->recv_cq, &wc), IBV_WC_LOC_LEN_ERR);
	check(" receiver's wr_id", wc.wr_id, 7);
	check(" sender gets one completion", next_wc(a.id->send_cq, &wc) >= 0, 1);
	check(" and no other", none_comes(a.id->send_cq), 1);
	while (next_event() >= 0)
		;
	drop_both();
}

static void test_full_queue(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	uint32_t i;

	ibv_query_qp(a.id->qp, &attr, IBV_QP_CAP, &init);
	for (i = 0; i <= attr.cap.max_recv_wr; i++)
		if (post_recv(&a, i, 8))
			break;
	check("receives that fit", i, attr.cap.max_recv_wr);
	check("too many SGEs", post_send(&a, IBV_WR_SEND, 1, SIZE, 0, 0, IBV_SEND_INLINE) != 0, 1);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 2 ||
	    (hints.ai_flags = RAI_PASSIVE, rdma_getaddrinfo(argv[1], "7471", &hints, &address)))
		die("usage: completions ADDRESS");
	if (rdma_create_id(NULL, &listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(listener, address->ai_src_addr) || rdma_listen(listener, 4))
		die("listen");

	connect_both();
	test_transfer(IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE, "write of 64 KiB", SIZE);
	test_transfer(IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE, "write of 1 byte", 1);
	test_transfer(IBV_WR_RDMA_READ, IBV_WC_RDMA_READ, "read of 64 KiB", SIZE);
	test_transfer(IBV_WR_RDMA_READ, IBV_WC_RDMA_READ, "read of 4097 bytes", 4097);
	test_transfer(IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE, "write of nothing", 0);
	test_send(0, 0);
	test_send(33, IBV_SEND_SOLICITED);
	test_send(64, IBV_SEND_INLINE);
	test_send(SIZE, IBV_SEND_FENCE);
	test_unsignalled();
	test_full_queue();
	drop_both();

	test_protection();
	test_short_receive();
	rdma_destroy_id(listener);
	printf("%d checks, %d failed\n", checks, failures);
	return failures ? 1 : 0;
}
