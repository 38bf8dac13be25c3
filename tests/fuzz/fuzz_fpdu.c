// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The byte stream of an RDMA peer. Byte 0: bit 0 the device is initiator, bit 1 CRCs are checked,
 * bits 2-3 RTR, bit 4 CRCs are put right first, bits 5-6 size of the pieces, bit 7 markers both
 * ways. Then the stream. The connection is a real one of the TCP engine, looped; the QP has
 * receives, and a Send, a Write and a Read under way. Memory outside of the registered region must
 * stay as it was.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hw/eq.h"
#include "hw/mr.h"
#include "iwarp/internal.h"

#define RAM_BASE 0x10000000ull
#define RAM_SIZE (1u << 20)
#define QUEUES	 0x0000u
#define GUARD_LO 0x17000u
#define MR_OFF	 0x18000u /* 0x10018000 in the seeds, which are from tests/wire */
#define MR_SIZE	 0x10000u
#define GUARD_HI (MR_OFF + MR_SIZE)
#define GUARD	 0x1000u
#define STAG	 0x00001033u
#define PDN	 7
#define MARKERS	 (ORNIC_RDMAF_TX_MARKERS | ORNIC_RDMAF_RX_MARKERS)

static struct rnic dev;
static u8 *ram;
static struct rnic_conn conn[2];
static u64 clock_ns = 1000000000;
static bool ended;

/* ---- what the device core provides ---- */

void rnic_irq(struct rnic *d, u32 vector)
{
}

void rnic_fatal(struct rnic *d, enum ornic_fatal why)
{
	abort();
}

void conn_first_fpdu(struct rnic_conn *c)
{
}

void conn_term_sent(struct rnic_conn *c, const struct ornic_terminate *term, u32 len)
{
	assert(len >= 4 && len <= sizeof(*term));
}

void conn_term_rcvd(struct rnic_conn *c, const struct ornic_terminate *term, u32 len)
{
	assert(len >= 4 && len <= sizeof(*term));
}

void conn_close(struct rnic_conn *c)
{
	if (!ended)
		tcp_close(c->tcp);
}

void conn_abort(struct rnic_conn *c, enum ornic_abort why)
{
	c->qp = NULL;
	tcp_abort(c->tcp);
}

void conn_unbind(struct rnic_conn *c)
{
	c->qp = NULL;
}

/* ---- TCP ---- */

static uint64_t op_now(void *ctx)
{
	return clock_ns;
}

static uint32_t op_random(void *ctx)
{
	return 4;
}

static int op_xmit(void *ctx, const struct iovec *iov, int cnt, const struct tcp_tx_meta *meta)
{
	return 0;
}

static void op_to_host(void *ctx, const void *frame, size_t len, unsigned int csum)
{
}

static bool op_conn_req(void *ctx, uint32_t listener, uint32_t syn_id, const void *frame,
			size_t len, const struct tcp_syn_info *info)
{
	struct tcp_opts o = {.rcv_wnd = 65535};

	return !tcp_accept(dev.tcp, syn_id, 2, 0, &o, &conn[1]);
}

static void op_event(void *ctx, struct tcp_conn *tc, enum tcp_event ev, uint32_t info)
{
	struct rnic_conn *c = tcp_conn_user(tc);
	struct iw_qp *qp = c->qp;

	if (ev == TCP_EV_PEER_FIN && qp)
		iw_peer_fin(qp);
	if (!tcp_event_terminal(ev) || c != &conn[0])
		return;
	ended = true;
	c->qp = NULL;
	if (qp)
		iw_conn_lost(qp);
}

static size_t op_rx(void *ctx, struct tcp_conn *tc, const void *data, size_t len)
{
	return len;
}

static int op_gather(void *ctx, struct tcp_conn *tc, const struct tcp_record *rec, uint32_t off,
		     uint32_t len, struct tcp_gather *g)
{
	return iw_gather(conn[0].qp, rec, off, len, g);
}

static void op_pull(void *ctx, struct tcp_conn *tc)
{
	struct rnic_conn *c = tcp_conn_user(tc);

	if (c->qp)
		iw_pull(c->qp);
}

static void op_acked(void *ctx, struct tcp_conn *tc, const struct tcp_record *rec)
{
	if (conn[0].qp)
		iw_acked(conn[0].qp, rec);
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

static void turn(void)
{
	int i;

	for (i = 0; i < 50; i++) {
		bool more = iw_run(&dev);

		tcp_engine_run(dev.tcp, ++clock_ns);
		if (!more && i > 1)
			return;
	}
}

/* ---- set-up ---- */

static struct ornic_qmem flat(u32 off, u32 len)
{
	return (struct ornic_qmem){.addr = cpu_to_le64(RAM_BASE + off),
				   .npages = cpu_to_le32(len >> 12),
				   .page_shift = 12};
}

static void make_engine(void)
{
	struct tcp_engine_config cfg = {.max_conns = 4,
					.max_segs = 64,
					.max_timewait = 4,
					.max_syns = 4,
					.max_listeners = 2,
					.max_nexthops = 1};
	struct tcp_nexthop nh = {.vlan = TCP_VLAN_NONE, .mtu = 1500, .flags = TCP_NH_LOOP};
	struct ip_addr any = {.family = IP_V4};

	dev.tcp = tcp_engine_new(&cfg, &ops, NULL);
	tcp_nexthop_set(dev.tcp, 0, &nh);
	tcp_listen(dev.tcp, 1, &any, 5, TCP_VLAN_NONE, 2);
}

static void once(void)
{
	int fd = memfd_create("ram", 0);

	if (fd < 0 || ftruncate(fd, RAM_SIZE))
		abort();
	ram = mmap(NULL, RAM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	dev.cfg.db_pages = 2;
	dev.dma = dma_space_new(0);
	dma_set_enabled(dev.dma, true);
	if (dma_map(dev.dma, RAM_BASE, RAM_SIZE, DMA_PROT_RW, fd, 0) || eq_table_init(&dev) ||
	    mr_table_init(&dev) || iw_init(&dev))
		abort();
	make_engine();
}

static void make_queues(void)
{
	struct ornic_cmd_create_eq eq = {.depth_shift = 4, .ring = flat(QUEUES, 4096)};
	struct ornic_cmd_create_cq cq = {.cqn = cpu_to_le32(1),
					 .depth_shift = 6,
					 .mem = flat(QUEUES + 0x1000, 4096),
					 .ring_off = cpu_to_le32(128)};
	struct ornic_cmd_create_qp qp = {.qpn = cpu_to_le32(1),
					 .pdn = cpu_to_le32(PDN),
					 .send_cqn = cpu_to_le32(1),
					 .recv_cqn = cpu_to_le32(1),
					 .sq_shift = 3,
					 .sq_stride_shift = 6,
					 .rq_shift = 3,
					 .rq_stride_shift = 6,
					 .mem = flat(QUEUES + 0x2000, 4096),
					 .sq_off = cpu_to_le32(128),
					 .rq_off = cpu_to_le32(1024)};
	struct ornic_cmd_reg_mr mr = {.stag = cpu_to_le32(STAG),
				      .pdn = cpu_to_le32(PDN),
				      .iova = cpu_to_le64(RAM_BASE + MR_OFF),
				      .length = cpu_to_le64(MR_SIZE),
				      .mem = flat(MR_OFF, MR_SIZE)};

	qp.access = cpu_to_le16(ORNIC_ACC_REMOTE_WRITE | ORNIC_ACC_REMOTE_READ);
	mr.access =
		cpu_to_le16(ORNIC_ACC_LOCAL_WRITE | ORNIC_ACC_REMOTE_WRITE | ORNIC_ACC_REMOTE_READ);
	if (eq_cmd_create(&dev, &eq).status || iw_cmd_create_cq(&dev, &cq).status ||
	    iw_cmd_create_qp(&dev, &qp).status || mr_cmd_reg(&dev, &mr).status)
		abort();
}

static void connect_tcp(void)
{
	static const u8 ip[4] = {10, 0, 0, 1};
	static u16 port;
	struct tcp_open_params p = {.id = 1, .user = &conn[0]};

	p.tuple.local = ip_addr_v4(ip);
	p.tuple.remote = ip_addr_v4(ip);
	p.tuple.lport = 1024 + port++ % 60000;
	p.tuple.rport = 5;
	p.opts.rcv_wnd = 65535;
	if (tcp_open(dev.tcp, &p))
		abort();
	conn[0].tcp = tcp_conn_find(dev.tcp, 1);
	turn();
	if (tcp_conn_state(conn[0].tcp) != TCPS_ESTABLISHED)
		abort();
}

static void post_work(void)
{
	static const u8 op[] = {ORNIC_WR_SEND, ORNIC_WR_WRITE, ORNIC_WR_READ, ORNIC_WR_READ};
	struct ornic_queue_rec *rec = (void *)(ram + QUEUES + 0x2000);
	u32 i;

	for (i = 0; i < 4; i++) {
		struct ornic_sq_wqe_msg *w = (void *)(ram + QUEUES + 0x2080 + i * 64);
		struct ornic_rq_wqe *r = (void *)(ram + QUEUES + 0x2400 + i * 64);

		w->hdr.opcode = op[i];
		w->hdr.flags = ORNIC_WRF_SIGNALED;
		w->hdr.wqe_index = cpu_to_le32(i);
		w->hdr.num_sge = 1;
		w->remote_stag = cpu_to_le32(i ? 0x77 : 0);
		w->sge[0] = (struct ornic_sge){cpu_to_le64(RAM_BASE + MR_OFF + 100),
					       cpu_to_le32(10), cpu_to_le32(STAG)};
		r->num_sge = 1;
		r->wqe_index = cpu_to_le32(i);
		r->sge[0] = (struct ornic_sge){cpu_to_le64(RAM_BASE + MR_OFF), cpu_to_le32(i * 100),
					       cpu_to_le32(STAG)};
	}
	rec->pi = cpu_to_le32(4);
	rec->rq_pi = cpu_to_le32(4);
}

static void bind_qp(u8 mode)
{
	struct iw_qp *qp = iw_qp_find(&dev, 1);
	struct ornic_cmd_mode_rdma c = {
		.role = mode & 1 ? ORNIC_ROLE_INITIATOR : ORNIC_ROLE_RESPONDER,
		.rtr = mode >> 2 & 3,
		.flags =
			cpu_to_le16((mode & 2 ? ORNIC_RDMAF_CRC : 0) | (mode & 0x80 ? MARKERS : 0)),
		.ird = cpu_to_le16(3),
		.ord = cpu_to_le16(2),
	};

	conn[0].dev = &dev;
	conn[0].id = 1;
	conn[0].qp = qp;
	iw_bind(qp, &conn[0], &c);
	iw_start(qp);
	turn();
}

/* ---- the stream ---- */

/* So that the fuzzer need not find CRCs by itself. */
static void right_crcs(u8 *p, size_t len, bool markers)
{
	u32 pos = 0;

	for (;;) {
		u32 start = markers ? mpa_marked_start(pos) : 0, n;

		if (len < start + MPA_HDR_LEN)
			return;
		n = mpa_fpdu_len(get_be16(p + start));
		if (markers)
			n = mpa_marked_len(pos, n);
		if (n > len)
			return;
		mpa_set_crc(p, n);
		pos += n;
		p += n;
		len -= n;
	}
}

static void feed(const u8 *p, size_t len, size_t piece)
{
	while (len && conn[0].qp) {
		size_t n = min(len, piece);
		/* An allocation of its own, so that reading beyond it is seen. */
		u8 *exact = malloc(n);

		memcpy(exact, p, n);
		if (iw_rx(conn[0].qp, exact, n) != n)
			abort();
		free(exact);
		turn();
		p += n;
		len -= n;
	}
}

static void check_guards(void)
{
	u32 i;

	for (i = 0; i < GUARD; i++)
		assert(ram[GUARD_LO + i] == 0xa5 && ram[GUARD_HI + i] == 0xa5);
}

static void free_conn(u32 id)
{
	struct tcp_conn *c = tcp_conn_find(dev.tcp, id);

	if (c)
		tcp_conn_free(c);
}

static void finish(void)
{
	struct ornic_cmd_number one = {.number = cpu_to_le32(1)}, eq = {0};
	struct ornic_cmd_stag mr = {.stag = cpu_to_le32(STAG)};

	conn[0].qp = NULL;
	free_conn(1);
	free_conn(2);
	iw_qp_find(&dev, 1)->conn = NULL;
	if (iw_cmd_destroy_qp(&dev, &one).status || iw_cmd_destroy_cq(&dev, &one).status ||
	    mr_cmd_dereg(&dev, &mr).status || eq_cmd_destroy(&dev, &eq).status)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t pieces[] = {SIZE_MAX, 1, 7, 100};
	u8 *stream;

	if (size < 2)
		return 0;
	if (!ram)
		once();
	memset(ram + QUEUES, 0, 0x3000);
	memset(ram + GUARD_LO, 0xa5, GUARD);
	memset(ram + GUARD_HI, 0xa5, GUARD);
	memset(conn, 0, sizeof(conn));
	ended = false;
	make_queues();
	connect_tcp();
	post_work();
	bind_qp(data[0]);
	stream = malloc(size - 1);
	memcpy(stream, data + 1, size - 1);
	if (data[0] & 0x10)
		right_crcs(stream, size - 1, data[0] & 0x80);
	feed(stream, size - 1, pieces[data[0] >> 5 & 3]);
	free(stream);
	check_guards();
	finish();
	return 0;
}
