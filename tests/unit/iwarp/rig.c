// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/csum.h"
#include "rig.h"

/* ---- what the device core provides ---- */

void rnic_irq(struct rnic *dev, u32 vector)
{
	container_of(dev, struct host, dev)->irqs++;
}

void rnic_fatal(struct rnic *dev, enum ornic_fatal why)
{
	fail_msg("rnic_fatal(%d)", why);
}

static struct tconn *tconn_of(struct rnic_conn *c)
{
	return container_of(c, struct tconn, c);
}

void conn_first_fpdu(struct rnic_conn *c)
{
	tconn_of(c)->first_fpdu++;
}

void conn_term_sent(struct rnic_conn *c, const struct ornic_terminate *term, u32 len)
{
	assert_in_range(len, 4, 56);
	c->term_sent = *term;
	c->term_sent_len = (u8)len;
	tconn_of(c)->terms_sent++;
}

void conn_term_rcvd(struct rnic_conn *c, const struct ornic_terminate *term, u32 len)
{
	assert_in_range(len, 4, 56);
	c->term_rcvd = *term;
	c->term_rcvd_len = (u8)len;
	tconn_of(c)->terms_rcvd++;
}

void conn_close(struct rnic_conn *c)
{
	tconn_of(c)->closes++;
	if (!tconn_of(c)->ended)
		tcp_close(c->tcp);
}

void conn_abort(struct rnic_conn *c, enum ornic_abort why)
{
	c->qp = NULL;
	c->abort_why = (u8)why;
	tcp_abort(c->tcp);
}

void conn_unbind(struct rnic_conn *c)
{
	c->qp = NULL;
}

/* ---- TCP engine and wire ---- */

static uint64_t op_now(void *ctx)
{
	return ((struct host *)ctx)->rig->now;
}

u32 rig_random(struct rig *r)
{
	r->seed = r->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)(r->seed >> 32);
}

void *rig_own(struct rig *r, size_t size)
{
	void *p = calloc(1, size);

	assert_true(p && r->nowned < ARRAY_SIZE(r->owned));
	r->owned[r->nowned++] = p;
	return p;
}

static uint32_t op_random(void *ctx)
{
	return rig_random(((struct host *)ctx)->rig);
}

static int op_xmit(void *ctx, const struct iovec *iov, int cnt, const struct tcp_tx_meta *meta)
{
	struct host *h = ctx;
	struct rig *r = h->rig;
	size_t off = 0;
	struct frame *f;
	int i;

	r->frames++;
	if (rig_random(r) % 65536 < r->loss || (r->hole && meta->len - 14 > r->hole)) {
		r->lost++;
		return 0;
	}
	f = malloc(sizeof(*f) + meta->len);
	f->next = NULL;
	f->due = r->now + r->delay;
	f->to = !h->idx;
	f->len = meta->len;
	for (i = 0; i < cnt; i++) {
		memcpy(f->data + off, iov[i].iov_base, iov[i].iov_len);
		off += iov[i].iov_len;
	}
	assert_int_equal(off, meta->len);
	*r->tail = f;
	r->tail = &f->next;
	return 0;
}

static void op_to_host(void *ctx, const void *frame, size_t len, unsigned int csum)
{
}

static struct tconn *new_conn(struct host *h)
{
	struct tconn *tc = &h->conn[h->nconn];

	assert_true(h->nconn < MAX_CONNS);
	memset(tc, 0, sizeof(*tc));
	tc->h = h;
	tc->c.dev = &h->dev;
	tc->c.id = ++h->nconn;
	tc->raw = malloc(RAW_MAX);
	return tc;
}

static bool op_conn_req(void *ctx, uint32_t listener, uint32_t syn_id, const void *frame,
			size_t len, const struct tcp_syn_info *info)
{
	struct host *h = ctx;
	struct tcp_opts o = {.wscale = true, .timestamps = true, .sack = true, .rcv_wnd = 1u << 20};
	struct tconn *tc = new_conn(h);

	assert_int_equal(tcp_accept(h->dev.tcp, syn_id, tc->c.id, 0, &o, tc), 0);
	tc->c.tcp = tcp_conn_find(h->dev.tcp, tc->c.id);
	return true;
}

static void op_event(void *ctx, struct tcp_conn *conn, enum tcp_event ev, uint32_t info)
{
	struct tconn *tc = tcp_conn_user(conn);
	struct iw_qp *qp = tc->c.qp;

	switch (ev) {
	case TCP_EV_ESTABLISHED:
		tc->established = true;
		break;
	case TCP_EV_PEER_FIN:
		tc->peer_fin = true;
		if (qp)
			iw_peer_fin(qp);
		break;
	case TCP_EV_FIN_ACKED:
		tc->fin_acked = true;
		if (qp)
			iw_fin_acked(qp);
		break;
	default:
		tc->ended = true;
		tc->end = ev;
		tc->c.qp = NULL;
		if (qp)
			iw_conn_lost(qp);
		break;
	}
}

static size_t op_rx(void *ctx, struct tcp_conn *conn, const void *data, size_t len)
{
	struct tconn *tc = tcp_conn_user(conn);

	if (tc->c.qp)
		return iw_rx(tc->c.qp, data, len);
	assert_true(tc->raw_len + len <= RAW_MAX);
	memcpy(tc->raw + tc->raw_len, data, len);
	tc->raw_len += (u32)len;
	return len;
}

static int op_gather(void *ctx, struct tcp_conn *conn, const struct tcp_record *record,
		     uint32_t off, uint32_t len, struct tcp_gather *g)
{
	struct tconn *tc = tcp_conn_user(conn);
	int ret;

	/* A QP that was destroyed has reset its connection: nothing may be sent again. */
	assert_non_null(tc->c.qp);
	ret = iw_gather(tc->c.qp, record, off, len, g);
	if (!ret && g->summed) {
		assert_int_equal(g->cnt, 1);
		assert_int_equal((u16)~g->sum, csum_fold(csum_add(0, g->iov[0].iov_base, len)));
	}
	return ret;
}

static void op_pull(void *ctx, struct tcp_conn *conn)
{
	struct tconn *tc = tcp_conn_user(conn);

	if (tc->c.qp)
		iw_pull(tc->c.qp);
}

static void op_acked(void *ctx, struct tcp_conn *conn, const struct tcp_record *record)
{
	struct tconn *tc = tcp_conn_user(conn);

	if (tc->c.qp)
		iw_acked(tc->c.qp, record);
}

static const struct tcp_engine_ops ops = {
	.now = op_now,
	.random32 = op_random,
	.xmit = op_xmit,
	.to_host = op_to_host,
	.conn_req = op_conn_req,
	.event = op_event,
	.rx = op_rx,
	.gather = op_gather,
	.pull = op_pull,
	.record_acked = op_acked,
};

/* ---- hosts ---- */

u64 host_alloc(struct host *h, u64 size, u64 align)
{
	u64 at = ALIGN(h->next, align);

	h->next = at + size;
	assert_true(h->next <= GUEST_SIZE);
	return GUEST_BASE + at;
}

void *host_ptr(struct host *h, u64 gpa)
{
	return h->mem + (gpa - GUEST_BASE);
}

static struct ornic_qmem flat(u64 gpa, u64 len)
{
	return (struct ornic_qmem){
		.addr = cpu_to_le64(gpa),
		.npages = cpu_to_le32((u32)DIV_ROUND_UP(len, 4096)),
		.page_shift = 12,
	};
}

static u64 make_eq(struct host *h, u32 eqn, u8 kind)
{
	u64 ring = host_alloc(h, 65536, 4096);
	struct ornic_cmd_create_eq c = {
		.eqn = cpu_to_le32(eqn),
		.kind = kind,
		.depth_shift = 10,
		.ring = flat(ring, 65536),
	};

	assert_int_equal(eq_cmd_create(&h->dev, &c).status, ORNIC_CMDS_OK);
	return ring;
}

static void host_init(struct rig *r, int idx, u32 mtu)
{
	struct host *h = &r->h[idx];
	struct tcp_engine_config cfg = {.max_conns = 64, .stream_buf = 1u << 20};
	struct tcp_nexthop nh = {.dmac = {2, 0, 0, 0, 0, (u8)!idx},
				 .smac = {2, 0, 0, 0, 0, (u8)idx},
				 .vlan = TCP_VLAN_NONE,
				 .mtu = (uint16_t)mtu};

	h->rig = r;
	h->idx = idx;
	h->memfd = memfd_create("guest", 0);
	assert_true(h->memfd >= 0);
	assert_int_equal(ftruncate(h->memfd, GUEST_SIZE), 0);
	h->mem = mmap(NULL, GUEST_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, h->memfd, 0);
	assert_true(h->mem != MAP_FAILED);
	h->dev.cfg.db_pages = 16;
	h->dev.dma = dma_space_new(0);
	dma_set_enabled(h->dev.dma, true);
	assert_int_equal(dma_map(h->dev.dma, GUEST_BASE, GUEST_SIZE, DMA_PROT_RW, h->memfd, 0), 0);
	assert_int_equal(eq_table_init(&h->dev), 0);
	assert_int_equal(mr_table_init(&h->dev), 0);
	assert_int_equal(iw_init(&h->dev), 0);
	h->dev.regs.status = ORNIC_STATUS_READY;
	h->async_ring = make_eq(h, ASYNC_EQN, ORNIC_EQ_ASYNC);
	h->comp_ring = make_eq(h, COMP_EQN, ORNIC_EQ_COMP);
	h->dev.tcp = tcp_engine_new(&cfg, &ops, h);
	assert_non_null(h->dev.tcp);
	assert_int_equal(tcp_nexthop_set(h->dev.tcp, 0, &nh), 0);
}

struct rig *rig_new(u32 mtu)
{
	struct rig *r = calloc(1, sizeof(*r));

	r->now = 1000 * MS;
	r->delay = 20000;
	r->seed = 1;
	r->tail = &r->head;
	host_init(r, 0, mtu);
	host_init(r, 1, mtu);
	return r;
}

void rig_free(struct rig *r)
{
	struct frame *f;
	int i;
	u32 c;

	while ((f = r->head)) {
		r->head = f->next;
		free(f);
	}
	for (i = 0; i < 2; i++) {
		struct host *h = &r->h[i];

		tcp_engine_free(h->dev.tcp);
		iw_free(&h->dev);
		mr_table_free(&h->dev);
		eq_table_free(&h->dev);
		dma_space_free(h->dev.dma);
		munmap(h->mem, GUEST_SIZE);
		close(h->memfd);
		for (c = 0; c < h->nconn; c++)
			free(h->conn[c].raw);
	}
	while (r->nowned)
		free(r->owned[--r->nowned]);
	free(r);
}

static void hosts_run(struct rig *r)
{
	int i, guard = 0;
	bool more;

	do {
		more = false;
		for (i = 0; i < 2; i++) {
			more |= iw_run(&r->h[i].dev);
			tcp_engine_run(r->h[i].dev.tcp, r->now);
		}
		assert_true(++guard < 100000);
	} while (more);
}

static u64 next_event(struct rig *r)
{
	u64 next = r->head ? r->head->due : UINT64_MAX, d;
	int i;

	for (i = 0; i < 2; i++) {
		d = tcp_engine_deadline(r->h[i].dev.tcp);
		next = min(next, d);
	}
	return next;
}

bool rig_step(struct rig *r)
{
	struct frame *f;
	u64 next;

	hosts_run(r);
	next = next_event(r);
	if (next == UINT64_MAX)
		return false;
	r->now = max(r->now, next);
	f = r->head;
	if (f && f->due <= r->now) {
		r->head = f->next;
		if (!r->head)
			r->tail = &r->head;
		if (r->corrupt_next) {
			f->data[f->len - r->corrupt_next] ^= 0x40;
			r->corrupt_next = 0;
		}
		tcp_input(r->h[f->to].dev.tcp, r->now, f->data, f->len, TCP_CSUM_VALID);
		free(f);
	}
	hosts_run(r);
	return true;
}

void rig_until(struct rig *r, bool (*done)(void *arg), void *arg)
{
	u64 end = r->now + RIG_TIMEOUT;

	hosts_run(r);
	while (!done(arg)) {
		if (!rig_step(r))
			fail_msg("nothing is left to happen");
		if (r->now > end)
			fail_msg("not done in 30 s of virtual time");
	}
}

void rig_run_for(struct rig *r, u64 ns)
{
	u64 end = r->now + ns;

	hosts_run(r);
	while (next_event(r) <= end)
		rig_step(r);
	r->now = end;
	hosts_run(r);
}

/* ---- CQs and events ---- */

struct tcq *tcq_new(struct host *h, u32 shift)
{
	u64 size = ALIGN((32ull << shift) + 128, 4096ull), buf = host_alloc(h, size, 4096);
	struct tcq *cq = rig_own(h->rig, sizeof(*cq));
	struct ornic_cmd_create_cq c = {
		.eqn = cpu_to_le32(COMP_EQN),
		.depth_shift = (u8)shift,
		.mem = flat(buf, size),
		.ring_off = cpu_to_le32(128),
	};

	cq->h = h;
	cq->cqn = ++h->next_cqn;
	cq->shift = shift;
	cq->rec = buf;
	cq->ring = buf + 128;
	c.cqn = cpu_to_le32(cq->cqn);
	assert_int_equal(iw_cmd_create_cq(&h->dev, &c).status, ORNIC_CMDS_OK);
	return cq;
}

bool tcq_poll(struct tcq *cq, struct ornic_cqe *cqe)
{
	struct ornic_cqe *e =
		host_ptr(cq->h, cq->ring + 32ull * (cq->ci & ((1u << cq->shift) - 1)));
	struct ornic_queue_rec *rec = host_ptr(cq->h, cq->rec);

	if ((le32_to_cpu(e->flags) & ORNIC_CQE_PHASE) == (cq->ci >> cq->shift & 1))
		return false;
	*cqe = *e;
	rec->ci = cpu_to_le32(++cq->ci);
	return true;
}

bool tcq_arm(struct tcq *cq, bool solicited)
{
	u64 val = FIELD_PREP(ORNIC_DB_NUMBER, (u64)cq->cqn) |
		  FIELD_PREP(ORNIC_DB_ARM_SEQ, (u64)cq->arm_seq) |
		  FIELD_PREP(ORNIC_DB_INDEX, (u64)cq->ci) |
		  (solicited ? ORNIC_DB_FLAG_SOLICITED : 0);

	return iw_doorbell(&cq->h->dev, ORNIC_DB_CQ_ARM, 0, val);
}

u32 host_comp_events(struct host *h, u32 cqn)
{
	u32 n = 0;

	for (;; h->comp_ci++) {
		struct ornic_ceqe *e = host_ptr(h, h->comp_ring + 16ull * (h->comp_ci & 1023));

		if ((le32_to_cpu(e->flags) & ORNIC_EQE_PHASE) == (h->comp_ci >> 10 & 1))
			return n;
		n += le32_to_cpu(e->cqn) == cqn;
	}
}

bool host_async(struct host *h, struct ornic_aeqe *ev)
{
	struct ornic_aeqe *e = host_ptr(h, h->async_ring + 32ull * (h->async_ci & 1023));

	if ((le32_to_cpu(e->flags) & ORNIC_EQE_PHASE) == (h->async_ci >> 10 & 1))
		return false;
	*ev = *e;
	h->async_ci++;
	return true;
}

/* ---- QPs ---- */

struct tqp *tqp_new(struct host *h, struct tcq *scq, struct tcq *rcq, const struct tqp_cfg *cfg)
{
	static const struct tqp_cfg dflt = {0};
	struct tqp *qp = rig_own(h->rig, sizeof(*qp));
	struct ornic_cmd_create_qp c = {0};
	u64 size, buf;

	cfg = cfg ? cfg : &dflt;
	qp->h = h;
	qp->qpn = ++h->next_qpn;
	qp->scq = scq;
	qp->rcq = rcq;
	qp->sq_shift = cfg->sq_shift ? cfg->sq_shift : 6;
	qp->sq_stride = cfg->sq_stride ? cfg->sq_stride : 9;
	qp->rq_shift = cfg->rq_shift ? cfg->rq_shift : 6;
	qp->rq_stride = cfg->rq_stride ? cfg->rq_stride : 6;
	size = 128 + (1ull << (qp->sq_shift + qp->sq_stride)) +
	       (1ull << (qp->rq_shift + qp->rq_stride));
	size = ALIGN(size + 64, 4096ull);
	buf = host_alloc(h, size, 4096);
	qp->rec = buf;
	qp->sq = buf + 128;
	qp->rq = ALIGN(qp->sq + (1ull << (qp->sq_shift + qp->sq_stride)), 64ull);
	c.qpn = cpu_to_le32(qp->qpn);
	c.pdn = cpu_to_le32(cfg->pdn ? cfg->pdn : PDN);
	c.send_cqn = cpu_to_le32(scq->cqn);
	c.recv_cqn = cpu_to_le32(rcq->cqn);
	c.sq_shift = qp->sq_shift;
	c.sq_stride_shift = qp->sq_stride;
	c.rq_shift = qp->rq_shift;
	c.rq_stride_shift = qp->rq_stride;
	c.flags = cpu_to_le16(cfg->flags);
	c.access = cpu_to_le16(cfg->access ? cfg->access
					   : ORNIC_ACC_REMOTE_WRITE | ORNIC_ACC_REMOTE_READ);
	c.mem = flat(buf, size);
	c.sq_off = cpu_to_le32((u32)(qp->sq - buf));
	c.rq_off = cpu_to_le32((u32)(qp->rq - buf));
	assert_int_equal(iw_cmd_create_qp(&h->dev, &c).status, ORNIC_CMDS_OK);
	return qp;
}

void *tqp_wqe(struct tqp *qp, u32 index)
{
	u8 *w = host_ptr(qp->h,
			 qp->sq + ((u64)(index & ((1u << qp->sq_shift) - 1)) << qp->sq_stride));

	memset(w, 0, 1u << qp->sq_stride);
	return w;
}

struct ornic_sq_wqe_msg *tqp_send_wqe(struct tqp *qp, u8 opcode, u8 flags)
{
	struct ornic_sq_wqe_msg *w = tqp_wqe(qp, qp->sq_pi);

	w->hdr.opcode = opcode;
	w->hdr.flags = flags;
	w->hdr.wqe_index = cpu_to_le32(qp->sq_pi++);
	return w;
}

void tqp_sge(struct ornic_sq_wqe_msg *w, u64 addr, u32 len, u32 stag)
{
	struct ornic_sge *s = &w->sge[w->hdr.num_sge++];

	s->addr = cpu_to_le64(addr);
	s->length = cpu_to_le32(len);
	s->stag = cpu_to_le32(stag);
}

/* The host's side of the protocol in include/ornic/regs.h. */
static void ring(struct tqp *qp, u32 kind, __le32 *where, const __le32 *awake, u32 pi)
{
	__atomic_store_n(where, cpu_to_le32(pi), __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!qp->always_ring && __atomic_load_n(awake, __ATOMIC_RELAXED))
		return;
	assert_true(iw_doorbell(&qp->h->dev, kind, 0,
				FIELD_PREP(ORNIC_DB_NUMBER, (u64)qp->qpn) |
					FIELD_PREP(ORNIC_DB_INDEX, (u64)pi)));
}

void tqp_ring(struct tqp *qp)
{
	struct ornic_queue_rec *rec = host_ptr(qp->h, qp->rec);

	ring(qp, ORNIC_DB_SQ, &rec->pi, &rec->awake, qp->sq_pi);
}

void tqp_post_recv(struct tqp *qp, u64 addr, u32 len, u32 stag)
{
	struct ornic_rq_wqe *w = host_ptr(
		qp->h, qp->rq + ((u64)(qp->rq_pi & ((1u << qp->rq_shift) - 1)) << qp->rq_stride));
	struct ornic_queue_rec *rec = host_ptr(qp->h, qp->rec);

	memset(w, 0, 1u << qp->rq_stride);
	w->wqe_index = cpu_to_le32(qp->rq_pi++);
	if (stag || len) {
		w->num_sge = 1;
		w->sge[0].addr = cpu_to_le64(addr);
		w->sge[0].length = cpu_to_le32(len);
		w->sge[0].stag = cpu_to_le32(stag);
	}
	ring(qp, ORNIC_DB_RQ, &rec->rq_pi, &rec->rq_awake, qp->rq_pi);
}

u8 tqp_state(struct tqp *qp)
{
	return iw_qp_state(iw_qp_find(&qp->h->dev, qp->qpn));
}

struct cmd_ret tqp_modify(struct tqp *qp, u8 state)
{
	struct ornic_cmd_modify_qp c = {
		.qpn = cpu_to_le32(qp->qpn),
		.mask = cpu_to_le32(ORNIC_MODQP_STATE),
		.state = state,
	};

	return iw_cmd_modify_qp(&qp->h->dev, &c);
}

struct cmd_ret tqp_destroy(struct tqp *qp)
{
	struct ornic_cmd_number c = {.number = cpu_to_le32(qp->qpn)};

	return iw_cmd_destroy_qp(&qp->h->dev, &c);
}

struct ornic_qp_attr tqp_query(struct tqp *qp)
{
	u64 buf = host_alloc(qp->h, 64, 64);
	struct ornic_cmd_number c = {.number = cpu_to_le32(qp->qpn), .hdr.data = cpu_to_le64(buf)};
	struct ornic_qp_attr a;

	assert_int_equal(iw_cmd_query_qp(&qp->h->dev, &c).status, ORNIC_CMDS_OK);
	memcpy(&a, host_ptr(qp->h, buf), sizeof(a));
	return a;
}

/* ---- MRs ---- */

static u32 new_stag(struct host *h)
{
	h->next_stag++;
	return h->next_stag << 8 | (0x5a ^ (h->next_stag & 0xff));
}

struct tmr *tmr_new(struct host *h, u64 len, u16 access, u32 pdn)
{
	struct tmr *mr = rig_own(h->rig, sizeof(*mr));
	struct ornic_cmd_reg_mr c = {0};
	u64 list, block, i;

	mr->h = h;
	mr->len = len;
	mr->offset = 1000;
	mr->stag = new_stag(h);
	mr->iova = 0x7f0000000000ull + ((u64)mr->stag << 8) + mr->offset;
	mr->npages = (u32)DIV_ROUND_UP(mr->offset + len, 4096);
	mr->pages = rig_own(h->rig, mr->npages * sizeof(*mr->pages));
	list = host_alloc(h, mr->npages * 8ull, 8);
	block = host_alloc(h, mr->npages * 4096ull, 4096);
	for (i = 0; i < mr->npages; i++) {
		mr->pages[i] = block + (mr->npages - 1 - i) * 4096ull;
		put_le64(host_ptr(h, list + i * 8), mr->pages[i]);
	}
	c.stag = cpu_to_le32(mr->stag);
	c.pdn = cpu_to_le32(pdn);
	c.iova = cpu_to_le64(mr->iova);
	c.length = cpu_to_le64(len);
	c.offset = cpu_to_le32(mr->offset);
	c.access = cpu_to_le16(access);
	c.mem.addr = cpu_to_le64(list);
	c.mem.npages = cpu_to_le32(mr->npages);
	c.mem.page_shift = 12;
	c.mem.levels = 1;
	assert_int_equal(mr_cmd_reg(&h->dev, &c).status, ORNIC_CMDS_OK);
	return mr;
}

struct tmr *tmr_alloc_fast(struct host *h, u32 pages)
{
	struct tmr *mr = rig_own(h->rig, sizeof(*mr));
	struct ornic_cmd_alloc_mr c = {0};
	u64 block, i;

	mr->h = h;
	mr->stag = new_stag(h);
	mr->npages = pages;
	mr->iova = 0x10000;
	mr->len = pages * 4096ull;
	mr->pages = rig_own(h->rig, pages * sizeof(*mr->pages));
	block = host_alloc(h, pages * 4096ull, 4096);
	for (i = 0; i < pages; i++)
		mr->pages[i] = block + (pages - 1 - i) * 4096ull;
	c.stag = cpu_to_le32(mr->stag);
	c.pdn = cpu_to_le32(PDN);
	c.max_pages = cpu_to_le32(pages);
	assert_int_equal(mr_cmd_alloc(&h->dev, &c).status, ORNIC_CMDS_OK);
	return mr;
}

static u8 *mr_byte(struct tmr *mr, u64 off)
{
	off += mr->offset;
	return (u8 *)host_ptr(mr->h, mr->pages[off >> 12]) + (off & 4095);
}

void tmr_write(struct tmr *mr, u64 off, const void *src, u64 len)
{
	const u8 *p = src;

	while (len--)
		*mr_byte(mr, off++) = *p++;
}

void tmr_read(struct tmr *mr, u64 off, void *dst, u64 len)
{
	u8 *p = dst;

	while (len--)
		*p++ = *mr_byte(mr, off++);
}

static u8 pattern(u32 seed, u64 i)
{
	u64 x = (i + seed) * 0x9e3779b97f4a7c15ull;

	return (u8)(x >> 56);
}

void tmr_fill(struct tmr *mr, u64 off, u64 len, u32 seed)
{
	u64 i;

	for (i = 0; i < len; i++)
		*mr_byte(mr, off + i) = pattern(seed, i);
}

bool tmr_check(struct tmr *mr, u64 off, u64 len, u32 seed, u64 skip)
{
	u64 i;

	for (i = 0; i < len; i++)
		if (*mr_byte(mr, off + i) != pattern(seed, skip + i))
			return false;
	return true;
}

void tmr_dereg(struct tmr *mr)
{
	struct ornic_cmd_stag c = {.stag = cpu_to_le32(mr->stag)};

	assert_int_equal(mr_cmd_dereg(&mr->h->dev, &c).status, ORNIC_CMDS_OK);
}

/* ---- connections ---- */

static bool both_up(void *arg)
{
	struct tconn **tc = arg;

	return tc[0]->established && tc[0]->h->rig->h[1].nconn &&
	       tc[0]->h->rig->h[1].conn[tc[0]->h->rig->h[1].nconn - 1].established;
}

void rig_connect(struct rig *r, struct tconn *out[2])
{
	struct tcp_open_params p = {0};
	u8 a[4] = {10, 0, 0, 1}, b[4] = {10, 0, 0, 2};
	struct ip_addr any = {.family = IP_V4};

	out[0] = new_conn(&r->h[0]);
	tcp_listen(r->h[1].dev.tcp, 1, &any, 5000, TCP_VLAN_NONE, 16);
	p.id = out[0]->c.id;
	p.tuple.local = ip_addr_v4(a);
	p.tuple.remote = ip_addr_v4(b);
	p.tuple.lport = (uint16_t)(40000 + p.id);
	p.tuple.rport = 5000;
	p.opts = (struct tcp_opts){
		.wscale = true, .timestamps = true, .sack = true, .rcv_wnd = 1u << 20};
	p.user = out[0];
	assert_int_equal(tcp_open(r->h[0].dev.tcp, &p), 0);
	out[0]->c.tcp = tcp_conn_find(r->h[0].dev.tcp, p.id);
	rig_until(r, both_up, out);
	out[1] = &r->h[1].conn[r->h[1].nconn - 1];
}

void rig_bind(struct tqp *tqp, struct tconn *tc, const struct bind_cfg *cfg)
{
	struct iw_qp *qp = iw_qp_find(&tqp->h->dev, tqp->qpn);
	u16 flags = (cfg->crc ? ORNIC_RDMAF_CRC : 0) |
		    (cfg->tx_markers ? ORNIC_RDMAF_TX_MARKERS : 0) |
		    (cfg->rx_markers ? ORNIC_RDMAF_RX_MARKERS : 0);
	struct ornic_cmd_mode_rdma c = {
		.role = cfg->role,
		.rtr = cfg->rtr,
		.flags = cpu_to_le16(flags),
		.ird = cpu_to_le16(cfg->ird),
		.ord = cpu_to_le16(cfg->ord),
	};

	tqp->conn = tc;
	tc->c.qp = qp;
	iw_bind(qp, &tc->c, &c);
	iw_start(qp);
	if (tc->raw_len)
		iw_rx(qp, tc->raw, tc->raw_len);
}

void rig_pair(struct rig *r, struct tqp *a, struct tqp *b, const struct bind_cfg *init)
{
	struct bind_cfg resp = *init;
	struct tconn *tc[2];

	rig_connect(r, tc);
	resp.role = ORNIC_ROLE_RESPONDER;
	resp.ird = init->ord;
	resp.ord = init->ird;
	resp.tx_markers = init->rx_markers;
	resp.rx_markers = init->tx_markers;
	rig_bind(b, tc[1], &resp);
	rig_bind(a, tc[0], init);
}
