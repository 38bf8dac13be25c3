// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * conns: connections device to device without a machine: OPEN, ACCEPT, a request, MODE_RDMA with
 * the reply, RTR message; all stay, then all close.
 *
 *   RNICD=PATH conns COUNT     prints connections a second for each block of 512, what closing
 *                              them took, and the memory of an rnicd per idle connection
 */
#include <time.h>

#include "pair.h"

#define BLOCK	  512
#define PORT	  4791
#define FIRST	  1 /* connection and QP of the same number */
#define LEN	  24 /* of request and reply, as those of MPA without private data */
#define CONNS_MAX 8000

static u32 count;

/* One end and what all its connections use in turn. The QPs stay idle, so one ring serves all. */
struct side {
	struct end e;
	union drv_cmd qp;
	u64 stream;
};

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Private memory: the machine's is mapped too, and touched by the driver. */
static long rss_kib(const struct drv *d)
{
	char path[64], line[200];
	long kib = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", d->pid);
	f = fopen(path, "r");
	CHECK(f);
	while (kib < 0 && fgets(line, sizeof(line), f))
		if (sscanf(line, "RssAnon: %ld", &kib) != 1)
			kib = -1;
	fclose(f);
	CHECK(kib > 0);
	return kib;
}

static void side_init(struct side *s)
{
	struct drv_qp qp;

	s->qp = drv_qp_cmd(s->e.d, &qp, FIRST, END_PD, s->e.cq.cqn, s->e.cq.cqn, 0, 0);
	s->stream = drv_alloc(s->e.d, LEN);
	memset(drv_ptr(s->e.d, s->stream, LEN), 'x', LEN);
}

static void new_qp(struct side *s, u32 n)
{
	union drv_cmd c = s->qp;

	c.qp.qpn = cpu_to_le32(n);
	drv_do(s->e.d, &c);
}

static void event(struct side *s, u8 type, u32 n)
{
	drv_tcp_event(s->e.d, &s->e.tcp, type, n, NULL);
}

static void tcp_connect(struct side *a, struct side *b, u32 n)
{
	union drv_cmd c = drv_open_cmd(n, 0, a->e.host, (u16)(20000 + n), b->e.host, PORT);
	struct ornic_teqe req;

	drv_do(a->e.d, &c);
	req = drv_tcp_event(b->e.d, &b->e.tcp, ORNIC_TCP_CONN_REQ, 0, NULL);
	c = drv_accept_cmd(le32_to_cpu(req.syn_id), n, 0);
	drv_do(b->e.d, &c);
	event(a, ORNIC_TCP_ESTABLISHED, n);
	event(b, ORNIC_TCP_ESTABLISHED, n);
}

static void mode_rdma(struct side *s, u8 role, u32 n, u32 reply)
{
	union drv_cmd c = end_rdma_cmd(&s->e, role, ORNIC_RTR_WRITE, ORNIC_RDMAF_CRC, LEN);

	c.rdma.conn_id = cpu_to_le32(n);
	c.rdma.qpn = cpu_to_le32(n);
	c.hdr.data = cpu_to_le64(reply ? s->stream : 0);
	c.rdma.data_len = cpu_to_le32(reply);
	drv_do(s->e.d, &c);
}

static void connect_one(struct side *a, struct side *b, u32 n)
{
	union drv_cmd c = drv_cmd(ORNIC_CMD_STREAM_TX);

	new_qp(a, n);
	new_qp(b, n);
	tcp_connect(a, b, n);
	c.hdr.data = cpu_to_le64(a->stream);
	c.stream_tx.conn_id = cpu_to_le32(n);
	c.stream_tx.len = cpu_to_le32(LEN);
	drv_do(a->e.d, &c);
	event(b, ORNIC_TCP_STREAM_RX, n);
	mode_rdma(b, ORNIC_ROLE_RESPONDER, n, LEN);
	event(a, ORNIC_TCP_STREAM_RX, n);
	mode_rdma(a, ORNIC_ROLE_INITIATOR, n, 0);
	event(b, ORNIC_TCP_FIRST_FPDU, n);
}

/* Events before the last one are those of a close: FIN of the peer, FIN acknowledged. */
static void await_closed(struct side *s, u32 n)
{
	struct ornic_teqe e;

	do {
		CHECK(drv_eq_next(s->e.d, &s->e.tcp, &e, NULL, DRV_WAIT_MS));
		drv_eq_arm(s->e.d, &s->e.tcp, false);
		CHECK_EQ(le32_to_cpu(e.conn_id), n);
	} while (e.type == ORNIC_TCP_PEER_FIN || e.type == ORNIC_TCP_FIN_ACKED);
	CHECK_EQ(e.type, ORNIC_TCP_CLOSED);
}

static void disconnect_one(struct side *a, struct side *b, u32 n)
{
	struct side *s[2] = {a, b};

	CHECK_EQ(drv_number(a->e.d, ORNIC_CMD_CLOSE, n), ORNIC_CMDS_OK);
	event(b, ORNIC_TCP_PEER_FIN, n);
	CHECK_EQ(drv_number(b->e.d, ORNIC_CMD_CLOSE, n), ORNIC_CMDS_OK);
	for (int i = 0; i < 2; i++) {
		await_closed(s[i], n);
		CHECK_EQ(drv_number(s[i]->e.d, ORNIC_CMD_DESTROY_QP, n), ORNIC_CMDS_OK);
		CHECK_EQ(drv_number(s[i]->e.d, ORNIC_CMD_FREE_CONN, n), ORNIC_CMDS_OK);
	}
}

static void run(void)
{
	static struct side a, b;
	union drv_cmd listen;
	double start;
	long before;
	u32 n, in_block;

	pair_start(&a.e, &b.e, 1500);
	side_init(&a);
	side_init(&b);
	listen = drv_listen_cmd(1, b.e.host, PORT);
	drv_do(b.e.d, &listen);
	before = rss_kib(a.e.d);
	for (n = 0; n < count; n += in_block) {
		start = seconds();
		for (in_block = 0; in_block < BLOCK && n + in_block < count; in_block++)
			connect_one(&a, &b, FIRST + n + in_block);
		printf("connections %u on: %.0f a second\n", n, in_block / (seconds() - start));
	}
	printf("memory: %.0f bytes a connection\n", (rss_kib(a.e.d) - before) * 1024.0 / count);
	start = seconds();
	for (n = 0; n < count; n++)
		disconnect_one(&a, &b, FIRST + n);
	printf("closes: %.0f a second\n", count / (seconds() - start));
}

int main(int argc, char **argv)
{
	static const struct test test = {"conns", run};

	if (argc == 2)
		count = (u32)strtoul(argv[1], NULL, 0);
	if (!count || count > CONNS_MAX) {
		fprintf(stderr, "usage: conns 1..%u\n", CONNS_MAX);
		return 2;
	}
	return test_main(1, argv, &test, 1);
}
