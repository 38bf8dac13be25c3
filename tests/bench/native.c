// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * native: device to device without a machine. Two rnicd processes on one AF_UNIX wire; this program
 * is the driver of both (tests/device has the library) and sleeps for their interrupts.
 *
 *   RNICD=PATH native --mtu MTU write|read|send SIZE      prints MiB/s
 *   RNICD=PATH native --mtu MTU pingpong SIZE             prints us per round trip
 */
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "pair.h"

#define SECONDS	 1.0
#define DEPTH	 32
#define SIGNAL	 8 /* of so many WRs of a bulk run one is signalled, as perftest moderates its CQ */
#define WINDOW	 (4u << 20)
#define RQ_DEPTH 32

static u32 mtu = 1500, size;
static const char *operation;

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* As drv_sq_ring() and drv_rq_ring(), but no doorbell while the device says that it is awake. */
static void publish(struct end *e, __le32 *index, const __le32 *awake, u32 value, u32 db)
{
	__atomic_store_n(index, cpu_to_le32(value), __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(awake, __ATOMIC_SEQ_CST))
		drv_doorbell(e->d, 0, db, drv_db(e->qp.qpn, 0, value));
}

static void post_send(struct end *e, u8 opcode, bool signaled)
{
	struct ornic_queue_rec *rec = drv_ptr(e->d, e->qp.mem, sizeof(*rec));
	struct ornic_sq_wqe_msg *w =
		end_send(e, opcode, signaled ? ORNIC_WRF_SIGNALED : 0, 0, size);

	if (opcode != ORNIC_WR_SEND) {
		w->remote_addr = cpu_to_le64(e->buf);
		w->remote_stag = cpu_to_le32(END_STAG);
	}
	publish(e, &rec->pi, &rec->awake, e->qp.sq_pi, ORNIC_DB_SQ);
}

static void post_recv(struct end *e)
{
	struct ornic_queue_rec *rec = drv_ptr(e->d, e->qp.mem, sizeof(*rec));
	struct ornic_rq_wqe *w = drv_rq_wqe(e->d, &e->qp);

	w->num_sge = 1;
	w->sge[0].addr = cpu_to_le64(e->buf);
	w->sge[0].length = cpu_to_le32(size);
	w->sge[0].stag = cpu_to_le32(END_STAG);
	publish(e, &rec->rq_pi, &rec->rq_awake, e->qp.rq_pi, ORNIC_DB_RQ);
}

/* Takes what is there; counts completed sends (a CQE stands for the unsignalled before it too) and
 * receives. */
static void reap(struct end *e, u32 *sends, u32 *recvs)
{
	struct ornic_cqe cqe;

	while (drv_cq_next(e->d, &e->cq, &cqe, 0)) {
		CHECK_EQ(cqe.status, ORNIC_CQE_OK);
		if (cqe.opcode == ORNIC_CQE_RECV)
			(*recvs)++;
		else
			*sends = le32_to_cpu(cqe.wqe_index) + 1;
	}
}

/* Sleeps until one of the ends has a completion: arm the CQ, arm the EQ, wait for the interrupt. */
static void wait_any(struct end *ends[], unsigned int n)
{
	struct pollfd p[2];

	for (unsigned int i = 0; i < n; i++)
		p[i] = (struct pollfd){.fd = vc_msix_fd(ends[i]->d->c, ends[i]->comp.vector),
				       .events = POLLIN};
	CHECK(poll(p, n, 5000) > 0);
	for (unsigned int i = 0; i < n; i++) {
		struct ornic_ceqe entry;

		if (!(p[i].revents & POLLIN))
			continue;
		vc_msix_wait(ends[i]->d->c, ends[i]->comp.vector, 0);
		while (drv_eq_next(ends[i]->d, &ends[i]->comp, &entry, NULL, 0))
			ends[i]->cq.arm_seq++;
		drv_cq_arm(ends[i]->d, &ends[i]->cq, false);
		drv_eq_arm(ends[i]->d, &ends[i]->comp, true);
	}
}

static void arm_first(struct end *e)
{
	drv_cq_arm(e->d, &e->cq, false);
	drv_eq_arm(e->d, &e->comp, true);
}

static u8 opcode_of(const char *name)
{
	return !strcmp(name, "read")	? ORNIC_WR_READ
	       : !strcmp(name, "write") ? ORNIC_WR_WRITE
					: ORNIC_WR_SEND;
}

static void run_bulk(struct end *a, struct end *b)
{
	u8 opcode = opcode_of(operation);
	bool send = opcode == ORNIC_WR_SEND;
	struct end *ends[2] = {a, b};
	u32 posted = 0, done = 0, taken = 0, idle = 0;
	double start, t;

	for (u32 i = 0; send && i < RQ_DEPTH; i++)
		post_recv(b);
	arm_first(a);
	arm_first(b);
	start = seconds();
	do {
		/* A Send needs a receive at the peer: never more under way than were reposted. */
		while (posted - done < DEPTH && (!send || posted - taken < DEPTH)) {
			posted++;
			post_send(a, opcode, posted % SIGNAL == 0);
		}
		wait_any(ends, send ? 2 : 1);
		reap(a, &done, &idle);
		if (send) {
			u32 before = taken;

			reap(b, &idle, &taken);
			for (; before != taken; before++)
				post_recv(b);
		}
		t = seconds() - start;
	} while (t < SECONDS);
	printf("%s size %u mtu %u: %.1f MiB/s\n", operation, size, mtu,
	       done * (double)size / t / (1 << 20));
}

static void run_pingpong(struct end *a, struct end *b)
{
	u32 count = 0, sends = 0, recvs[2] = {0, 0};
	struct end *end[2] = {a, b};
	double start, t;

	for (u32 i = 0; i < RQ_DEPTH; i++) {
		post_recv(a);
		post_recv(b);
	}
	arm_first(a);
	arm_first(b);
	start = seconds();
	do {
		post_send(a, ORNIC_WR_SEND, true);
		for (int turn = 1; turn >= 0; turn--) {
			u32 before = recvs[turn];

			while (recvs[turn] == before) {
				reap(end[turn], &sends, &recvs[turn]);
				if (recvs[turn] == before)
					wait_any(end, 2);
			}
			post_recv(end[turn]);
			if (turn == 1)
				post_send(b, ORNIC_WR_SEND, true);
		}
		count++;
		t = seconds() - start;
	} while (t < SECONDS);
	printf("pingpong size %u mtu %u: %.2f us/round-trip\n", size, mtu, t * 1e6 / count);
}

static void run(void)
{
	struct end a, b;

	drv_window = WINDOW;
	pair_reads = DEPTH;
	pair_start(&a, &b, mtu);
	pair_rdma(&a, &b, ORNIC_RDMAF_CRC, ORNIC_RTR_WRITE);
	/* Both ends' buffers lie at the same address: pair.c makes them alike. */
	CHECK_EQ(a.buf, b.buf);
	if (!strcmp(operation, "pingpong"))
		run_pingpong(&a, &b);
	else
		run_bulk(&a, &b);
}

int main(int argc, char **argv)
{
	static const struct test test = {"bench", run};

	if (argc == 5 && !strcmp(argv[1], "--mtu")) {
		mtu = (u32)strtoul(argv[2], NULL, 0);
		operation = argv[3];
		size = (u32)strtoul(argv[4], NULL, 0);
	}
	if (!operation || !size || size > END_BUF_SIZE || mtu < 576 || mtu > PAIR_MTU) {
		fprintf(stderr, "usage: native --mtu 576..%u write|read|send|pingpong 1..%u\n",
			PAIR_MTU, END_BUF_SIZE);
		return 2;
	}
	return test_main(1, argv, &test, 1);
}
