// SPDX-License-Identifier: GPL-2.0-or-later
/* How RDMA mode begins (RTR, first FPDU) and ends (close, FIN, RST, silence). */
#include <stdio.h>

#include "rig.h"

#define ALL_ACC (ORNIC_ACC_LOCAL_WRITE | ORNIC_ACC_REMOTE_WRITE | ORNIC_ACC_REMOTE_READ)

struct ends {
	struct rig *r;
	struct tcq *scq[2], *rcq[2];
	struct tqp *qp[2];
	struct tmr *mr[2];
	struct tconn *tc[2];
};

static struct ends *ends_new(void)
{
	struct rig *r = rig_new(1500);
	struct ends *w = rig_own(r, sizeof(*w));
	int i;

	w->r = r;
	for (i = 0; i < 2; i++) {
		w->scq[i] = tcq_new(&r->h[i], 8);
		w->rcq[i] = tcq_new(&r->h[i], 8);
		w->qp[i] = tqp_new(&r->h[i], w->scq[i], w->rcq[i], NULL);
		w->mr[i] = tmr_new(&r->h[i], 200000, ALL_ACC, PDN);
	}
	rig_connect(r, w->tc);
	return w;
}

static void bind_both(struct ends *w, u8 rtr, u16 depth)
{
	struct bind_cfg b = {
		.role = ORNIC_ROLE_RESPONDER, .rtr = rtr, .crc = true, .ird = depth, .ord = depth};

	rig_bind(w->qp[1], w->tc[1], &b);
	b.role = ORNIC_ROLE_INITIATOR;
	rig_bind(w->qp[0], w->tc[0], &b);
}

static void write_from(struct ends *w, int i, u32 len, u8 flags)
{
	struct ornic_sq_wqe_msg *m = tqp_send_wqe(w->qp[i], ORNIC_WR_WRITE, flags);

	m->remote_addr = cpu_to_le64(w->mr[!i]->iova);
	m->remote_stag = cpu_to_le32(w->mr[!i]->stag);
	tqp_sge(m, w->mr[i]->iova, len, w->mr[i]->stag);
	tqp_ring(w->qp[i]);
}

static void send_from(struct ends *w, int i)
{
	struct ornic_sq_wqe_msg *m = tqp_send_wqe(w->qp[i], ORNIC_WR_SEND, ORNIC_WRF_SIGNALED);

	tqp_sge(m, w->mr[i]->iova, 100, w->mr[i]->stag);
	tqp_ring(w->qp[i]);
}

static void expect(struct tcq *cq, u32 index, u8 status)
{
	struct ornic_cqe e;

	assert_true(tcq_poll(cq, &e));
	assert_int_equal(le32_to_cpu(e.wqe_index), index);
	assert_int_equal(e.status, status);
}

static void expect_none(struct tcq *cq)
{
	struct ornic_cqe e;

	assert_false(tcq_poll(cq, &e));
}

static void no_async(struct ends *w)
{
	struct ornic_aeqe ev;

	assert_false(host_async(&w->r->h[0], &ev));
	assert_false(host_async(&w->r->h[1], &ev));
}

/*
 * RFC 5044 7.1.2: the responder is silent until the first FPDU. RFC 6581 9.2: with each kind of
 * ready-to-receive message that is there at once, consumes no receive and completes nothing.
 */
static void ready_to_receive(void **state)
{
	u8 rtr;

	for (rtr = ORNIC_RTR_NONE; rtr <= ORNIC_RTR_READ; rtr++) {
		u16 depth;

		for (depth = 0; depth < 3; depth += 2) {
			struct ends *w = ends_new();

			tqp_post_recv(w->qp[0], w->mr[0]->iova, 100, w->mr[0]->stag);
			tqp_post_recv(w->qp[1], w->mr[1]->iova, 100, w->mr[1]->stag);
			bind_both(w, rtr, depth);
			send_from(w, 1);
			rig_run_for(w->r, 1000 * MS);
			assert_int_equal(w->tc[1]->first_fpdu, rtr != ORNIC_RTR_NONE);
			if (rtr == ORNIC_RTR_NONE) {
				expect_none(w->rcq[0]);
				send_from(w, 0);
				rig_run_for(w->r, 100 * MS);
				assert_int_equal(w->tc[1]->first_fpdu, 1);
				expect(w->scq[0], 0, ORNIC_CQE_OK);
				expect(w->rcq[1], 0, ORNIC_CQE_OK);
			}
			expect(w->rcq[0], 0, ORNIC_CQE_OK);
			expect(w->scq[1], 0, ORNIC_CQE_OK);
			expect_none(w->scq[0]);
			expect_none(w->rcq[1]);
			/* And the numbering of messages goes on rightly. */
			if (rtr != ORNIC_RTR_NONE) {
				send_from(w, 0);
				rig_run_for(w->r, 100 * MS);
				expect(w->rcq[1], 0, ORNIC_CQE_OK);
				expect(w->scq[0], 0, ORNIC_CQE_OK);
			}
			if (depth) {
				struct ornic_sq_wqe_msg *m =
					tqp_send_wqe(w->qp[0], ORNIC_WR_READ, ORNIC_WRF_SIGNALED);

				m->remote_addr = cpu_to_le64(w->mr[1]->iova);
				m->remote_stag = cpu_to_le32(w->mr[1]->stag);
				tqp_sge(m, w->mr[0]->iova, 9000, w->mr[0]->stag);
				tqp_ring(w->qp[0]);
				rig_run_for(w->r, 100 * MS);
				expect(w->scq[0], 1, ORNIC_CQE_OK);
			}
			assert_int_equal(le16_to_cpu(tqp_query(w->qp[0]).reads_out), 0);
			assert_int_equal(le16_to_cpu(tqp_query(w->qp[1]).reads_in), 0);
			assert_int_equal(w->tc[0]->first_fpdu, 0);
			no_async(w);
			rig_free(w->r);
		}
	}
	printf("4 kinds of RTR with IRD and ORD 0 and 2\n");
}

/* CLOSING: the SQ is finished, Reads included, then the FIN; both ways, then CLOSED. */
static void graceful(void **state)
{
	struct ends *w = ends_new();
	struct ornic_sq_wqe_msg *m;
	u32 i;

	bind_both(w, ORNIC_RTR_WRITE, 2);
	tmr_fill(w->mr[0], 0, 200000, 1);
	tqp_post_recv(w->qp[0], w->mr[0]->iova, 100, w->mr[0]->stag);
	tqp_post_recv(w->qp[1], w->mr[1]->iova, 100, w->mr[1]->stag);
	for (i = 0; i < 5; i++)
		write_from(w, 0, 150000, 0);
	m = tqp_send_wqe(w->qp[0], ORNIC_WR_READ, ORNIC_WRF_SIGNALED);
	m->remote_addr = cpu_to_le64(w->mr[1]->iova);
	m->remote_stag = cpu_to_le32(w->mr[1]->stag);
	tqp_sge(m, w->mr[0]->iova, 100000, w->mr[0]->stag);
	tqp_ring(w->qp[0]);
	assert_int_equal(tqp_modify(w->qp[0], ORNIC_QPS_CLOSING).status, ORNIC_CMDS_OK);
	assert_int_equal(tqp_state(w->qp[0]), ORNIC_QPS_CLOSING);
	assert_int_equal(w->tc[0]->closes, 0);
	/* Posted too late: it will be flushed. */
	write_from(w, 0, 10, 0);
	rig_run_for(w->r, 2000 * MS);
	expect(w->scq[0], 5, ORNIC_CQE_OK);
	expect_none(w->scq[0]);
	assert_int_equal(w->tc[0]->closes, 1);
	assert_true(w->tc[0]->fin_acked && w->tc[1]->peer_fin);
	assert_true(tmr_check(w->mr[1], 0, 150000, 1, 0));
	/* The peer's QP is in ERROR, and its driver closes. */
	assert_int_equal(tqp_state(w->qp[1]), ORNIC_QPS_ERROR);
	expect(w->rcq[1], 0, ORNIC_CQE_FLUSHED);
	iw_qp_close(iw_qp_find(&w->r->h[1].dev, w->qp[1]->qpn));
	rig_run_for(w->r, 100 * MS);
	assert_int_equal(w->tc[0]->end, TCP_EV_CLOSED);
	assert_int_equal(w->tc[1]->end, TCP_EV_CLOSED);
	assert_int_equal(tqp_state(w->qp[0]), ORNIC_QPS_ERROR);
	expect(w->scq[0], 6, ORNIC_CQE_FLUSHED);
	expect(w->rcq[0], 0, ORNIC_CQE_FLUSHED);
	expect_none(w->scq[0]);
	expect_none(w->rcq[0]);
	no_async(w);
	rig_free(w->r);
}

/* Both at once; and a responder that was never spoken to. */
static void both_close(void **state)
{
	u8 rtr;

	for (rtr = ORNIC_RTR_NONE; rtr <= ORNIC_RTR_READ; rtr++) {
		struct ends *w = ends_new();

		bind_both(w, rtr, 2);
		if (rtr)
			rig_run_for(w->r, 10 * MS);
		write_from(w, 1, 10, ORNIC_WRF_SIGNALED);
		tqp_modify(w->qp[0], ORNIC_QPS_CLOSING);
		tqp_modify(w->qp[1], ORNIC_QPS_CLOSING);
		rig_run_for(w->r, 1000 * MS);
		assert_int_equal(w->tc[0]->end, TCP_EV_CLOSED);
		assert_int_equal(w->tc[1]->end, TCP_EV_CLOSED);
		expect(w->scq[1], 0, rtr ? ORNIC_CQE_OK : ORNIC_CQE_FLUSHED);
		expect_none(w->scq[1]);
		no_async(w);
		rig_free(w->r);
	}
}

/* The peer's FIN in RTS: ERROR and flush, the connection stays until the driver closes it. */
static void peer_fin(void **state)
{
	struct ends *w = ends_new();

	bind_both(w, ORNIC_RTR_WRITE, 2);
	tqp_post_recv(w->qp[0], w->mr[0]->iova, 100, w->mr[0]->stag);
	rig_run_for(w->r, 10 * MS);
	tcp_close(w->tc[1]->c.tcp);
	rig_run_for(w->r, 100 * MS);
	assert_true(w->tc[0]->peer_fin);
	assert_false(w->tc[0]->ended);
	assert_int_equal(w->tc[0]->closes, 0);
	assert_int_equal(tqp_state(w->qp[0]), ORNIC_QPS_ERROR);
	expect(w->rcq[0], 0, ORNIC_CQE_FLUSHED);
	assert_int_equal(le32_to_cpu(tqp_query(w->qp[0]).conn_id), w->tc[0]->c.id);
	iw_qp_close(iw_qp_find(&w->r->h[0].dev, w->qp[0]->qpn));
	rig_run_for(w->r, 100 * MS);
	assert_int_equal(w->tc[0]->end, TCP_EV_CLOSED);
	assert_int_equal(le32_to_cpu(tqp_query(w->qp[0]).conn_id), 0);
	rig_free(w->r);
}

/* RST and silence: completions are all there when the terminal event is. */
static void lost(void **state)
{
	int kind;

	for (kind = 0; kind < 2; kind++) {
		struct ends *w = ends_new();
		u32 i;

		bind_both(w, ORNIC_RTR_WRITE, 2);
		rig_run_for(w->r, 10 * MS);
		for (i = 0; i < 10; i++) {
			write_from(w, 0, 5000, 0);
			tqp_post_recv(w->qp[0], w->mr[0]->iova, 100, w->mr[0]->stag);
		}
		if (kind) {
			w->r->loss = 65536;
			rig_run_for(w->r, 2000ull * 1000 * MS);
			assert_int_equal(w->tc[0]->end, TCP_EV_TIMEOUT);
		} else {
			tcp_abort(w->tc[1]->c.tcp);
			rig_run_for(w->r, 100 * MS);
			assert_int_equal(w->tc[0]->end, TCP_EV_PEER_RST);
		}
		for (i = 0; i < 10; i++) {
			expect(w->scq[0], i, ORNIC_CQE_FLUSHED);
			expect(w->rcq[0], i, ORNIC_CQE_FLUSHED);
		}
		expect_none(w->scq[0]);
		expect_none(w->rcq[0]);
		assert_int_equal(tqp_state(w->qp[0]), ORNIC_QPS_ERROR);
		rig_free(w->r);
	}
}

/* TERMINATE by command, and what a second one meets. */
static void terminate(void **state)
{
	struct ends *w = ends_new();
	struct iw_qp *qp = iw_qp_find(&w->r->h[0].dev, w->qp[0]->qpn);

	bind_both(w, ORNIC_RTR_NONE, 2);
	assert_true(iw_terminate(qp, 2, 0, 6));
	assert_false(iw_terminate(qp, 2, 0, 6));
	rig_run_for(w->r, 100 * MS);
	assert_int_equal(w->tc[1]->terms_rcvd, 1);
	assert_int_equal(w->tc[1]->c.term_rcvd.control[0], 0x20);
	assert_int_equal(w->tc[1]->c.term_rcvd.control[1], 6);
	assert_int_equal(w->tc[0]->end, TCP_EV_CLOSED);
	assert_int_equal(w->tc[1]->end, TCP_EV_CLOSED);
	rig_free(w->r);
}

/*
 * A QP that fails keeps a copy of what TCP may have to send again, as long as there is a connection
 * and all copies together are not too many; else the connection is reset.
 */
static void terminate_under_way(bool room)
{
	struct ends *w = ends_new();
	struct iw *iw = w->r->h[0].dev.iw;
	u32 others = room ? 5 : IW_DETACH_ALL - 1;

	bind_both(w, ORNIC_RTR_WRITE, 2);
	rig_run_for(w->r, 1000 * MS);
	iw->snap_bytes = others;
	write_from(w, 0, 100000, ORNIC_WRF_SIGNALED);
	rig_step(w->r);
	assert_true(iw_terminate(iw_qp_find(&w->r->h[0].dev, w->qp[0]->qpn), TERM_RDMAP, 0, 0));
	expect(w->scq[0], 0, ORNIC_CQE_FLUSHED);
	assert_int_equal(iw->snap_bytes > others, room);
	rig_run_for(w->r, 1000 * MS);
	assert_int_equal(iw->snap_bytes, others);
	assert_true(w->tc[0]->ended && w->tc[1]->ended);
	assert_int_equal(w->tc[1]->terms_rcvd, room);
	assert_int_equal(w->tc[1]->end == TCP_EV_PEER_RST, !room);
	iw->snap_bytes = 0;
	rig_free(w->r);
}

static void terminate_with_copy(void **state)
{
	terminate_under_way(true);
}

static void terminate_without_copy(void **state)
{
	terminate_under_way(false);
}

/* A device that has stopped writes nothing more: neither data that come, nor completions. */
static void stopped(void **state)
{
	struct ends *w = ends_new();
	u8 data[1000], zeros[1000] = {0};

	bind_both(w, ORNIC_RTR_WRITE, 2);
	rig_run_for(w->r, 1000 * MS);
	memset(data, 0xa5, sizeof(data));
	tmr_write(w->mr[0], 0, data, sizeof(data));
	w->r->h[1].dev.regs.status |= ORNIC_STATUS_FATAL;
	write_from(w, 0, sizeof(data), ORNIC_WRF_SIGNALED);
	tqp_post_recv(w->qp[1], w->mr[1]->iova, 100, w->mr[1]->stag);
	rig_run_for(w->r, 1000 * MS);
	tmr_read(w->mr[1], 0, data, sizeof(data));
	assert_memory_equal(data, zeros, sizeof(data));
	iw_qp_fail(iw_qp_find(&w->r->h[1].dev, w->qp[1]->qpn), 0, IW_END_RST);
	rig_run_for(w->r, 1000 * MS);
	expect_none(w->rcq[1]);
	rig_free(w->r);
}

/* Bytes that came before the initiator's MODE_RDMA are FPDUs. */
static void early_fpdus(void **state)
{
	struct bind_cfg b = {.role = ORNIC_ROLE_INITIATOR, .crc = true, .ird = 2, .ord = 2};
	struct ddp_hdr h = {.last = 1, .opcode = RDMAP_SEND, .msn = 1};
	struct ends *w = ends_new();
	u8 f[64];
	u32 n;

	ddp_put_hdr(f + 2, &h);
	memcpy(f + 20, "early", 5);
	put_be16(f, 23);
	n = mpa_finish(f, 23, crc32c(0, f, 25), true);
	tcp_send(w->tc[1]->c.tcp, f, n);
	rig_run_for(w->r, 10 * MS);
	assert_int_equal(w->tc[0]->raw_len, n);
	tqp_post_recv(w->qp[0], w->mr[0]->iova, 100, w->mr[0]->stag);
	rig_bind(w->qp[0], w->tc[0], &b);
	rig_run_for(w->r, 10 * MS);
	expect(w->rcq[0], 0, ORNIC_CQE_OK);
	rig_free(w->r);
}

/*
 * A host that posts only when "awake" is clear rings seldom, and nothing gets stuck:
 * every wake-up that is lost would end the test in its time-out.
 */
static void awake(void **state)
{
	struct ends *w = ends_new();
	u32 posted = 0, done = 0, asleep = 0;
	struct ornic_cqe e;

	bind_both(w, ORNIC_RTR_WRITE, 2);
	while (done < 2000) {
		struct ornic_queue_rec *rec = host_ptr(&w->r->h[0], w->qp[0]->rec);

		while (posted < 2000 && posted - done < 60 && rig_random(w->r) % 4) {
			asleep += !rec->awake;
			write_from(w, 0, rig_random(w->r) % 4000, ORNIC_WRF_SIGNALED);
			posted++;
		}
		if (rig_random(w->r) % 2)
			rig_step(w->r);
		while (tcq_poll(w->scq[0], &e))
			assert_int_equal(le32_to_cpu(e.wqe_index), done++);
		assert_true(w->r->now < 100ull * 1000 * MS);
	}
	rig_run_for(w->r, 10 * MS);
	assert_int_equal(((struct ornic_queue_rec *)host_ptr(&w->r->h[0], w->qp[0]->rec))->awake,
			 0);
	assert_true(asleep < 2000);
	printf("2000 posts, %u doorbells\n", asleep);
	rig_free(w->r);
}

/*
 * include/ornic/regs.h: "rq_awake" is set until ERROR, so that receives need no doorbell; in ERROR
 * it is clear, and a receive whose doorbell is rung is flushed.
 */
static void receives_without_doorbell(void **state)
{
	struct ends *w = ends_new();
	struct ornic_queue_rec *rec = host_ptr(&w->r->h[0], w->qp[0]->rec);

	assert_int_not_equal(rec->rq_awake, 0);
	bind_both(w, ORNIC_RTR_WRITE, 2);
	rig_run_for(w->r, 10 * MS);
	assert_int_not_equal(rec->rq_awake, 0);
	tqp_post_recv(w->qp[0], w->mr[0]->iova, 100, w->mr[0]->stag);
	send_from(w, 1);
	rig_run_for(w->r, 10 * MS);
	expect(w->rcq[0], 0, ORNIC_CQE_OK);
	tqp_post_recv(w->qp[0], w->mr[0]->iova, 100, w->mr[0]->stag);
	assert_int_equal(tqp_modify(w->qp[0], ORNIC_QPS_ERROR).status, ORNIC_CMDS_OK);
	expect(w->rcq[0], 1, ORNIC_CQE_FLUSHED);
	assert_int_equal(rec->rq_awake, 0);
	tqp_post_recv(w->qp[0], w->mr[0]->iova, 100, w->mr[0]->stag);
	rig_run_for(w->r, 10 * MS);
	expect(w->rcq[0], 2, ORNIC_CQE_FLUSHED);
	rig_free(w->r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(receives_without_doorbell),
		cmocka_unit_test(ready_to_receive),
		cmocka_unit_test(graceful),
		cmocka_unit_test(both_close),
		cmocka_unit_test(peer_fin),
		cmocka_unit_test(lost),
		cmocka_unit_test(terminate),
		cmocka_unit_test(terminate_with_copy),
		cmocka_unit_test(terminate_without_copy),
		cmocka_unit_test(stopped),
		cmocka_unit_test(early_fpdus),
		cmocka_unit_test(awake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
