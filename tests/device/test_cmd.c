// SPDX-License-Identifier: GPL-2.0-or-later
/* Every command of the contract with every kind of wrong value, and the right ones beside. */
#include "drv.h"

#define NOWHERE 0x7000000000ULL /* no guest memory there */

static struct drv *d;
static union drv_cmd good;

/* The good command with one field changed must be refused at that field. */
#define WRONG(status, type, path, value)                                   \
	do {                                                               \
		union drv_cmd c_ = good;                                   \
		struct type *p_ = (struct type *)&c_;                      \
		p_->path = value;                                          \
		drv_refused(d, &c_, ORNIC_CMDS_##status, OFF(type, path)); \
	} while (0)

/* A part of a queue that does not fit its buffer: the buffer is too small. */
#define TOO_SMALL(type, buffer, path, value)                                     \
	do {                                                                     \
		union drv_cmd c_ = good;                                         \
		struct type *p_ = (struct type *)&c_;                            \
		p_->path = value;                                                \
		drv_refused(d, &c_, ORNIC_CMDS_FIELD, OFF(type, buffer.npages)); \
	} while (0)

static void start(u16 opcode)
{
	d = drv_plain();
	good = drv_cmd(opcode);
}

/* ---- generic ---- */

static void opcodes(void)
{
	static const u16 known[] = {
		0x00, 0x01, 0x02, 0x10, 0x11, 0x20, 0x21, 0x30, 0x31, 0x32, 0x33, 0x40, 0x41,
		0x42, 0x45, 0x50, 0x51, 0x60, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68,
		0x69, 0x6a, 0x6b, 0x6c, 0x6d, 0x70, 0x71, 0x72, 0x73, 0x74, 0x75, 0x76,
	};
	union drv_cmd c;
	u32 op, i;

	d = drv_plain();
	for (op = 0; op < 0x200; op++) {
		for (i = 0; i < ARRAY_SIZE(known) && known[i] != op; i++)
			;
		if (i < ARRAY_SIZE(known))
			continue;
		c = drv_cmd((u16)op);
		drv_refused(d, &c, ORNIC_CMDS_OPCODE, 0);
	}
	c = drv_cmd(0xffff);
	drv_refused(d, &c, ORNIC_CMDS_OPCODE, 0);
}

/* Each byte that a command does not define must be zero. */
static void mbz(void)
{
	/* opcode, bytes 16.. that are defined: from, to (exclusive), in pairs */
	static const struct {
		u16 op;
		bool data;
		u8 used[12];
	} t[] = {
		{ORNIC_CMD_NOP, false, {0}},
		{ORNIC_CMD_QUERY_DEVICE, true, {0}},
		{ORNIC_CMD_QUERY_STATS, true, {16, 24}},
		{ORNIC_CMD_CREATE_EQ, false, {16, 60}},
		{ORNIC_CMD_DESTROY_EQ, false, {16, 20}},
		{ORNIC_CMD_CREATE_CQ, false, {16, 29, 32, 56}},
		{ORNIC_CMD_DESTROY_CQ, false, {16, 20}},
		{ORNIC_CMD_CREATE_QP, false, {16, 76}},
		{ORNIC_CMD_MODIFY_QP, false, {16, 25, 26, 28}},
		{ORNIC_CMD_QUERY_QP, true, {16, 20}},
		{ORNIC_CMD_DESTROY_QP, false, {16, 20}},
		{ORNIC_CMD_REG_MR, false, {16, 64}},
		{ORNIC_CMD_ALLOC_MR, false, {16, 32}},
		{ORNIC_CMD_DEREG_MR, false, {16, 20}},
		{ORNIC_CMD_QUERY_MR, true, {16, 20}},
		{ORNIC_CMD_SET_NEXTHOP, false, {16, 38}},
		{ORNIC_CMD_CLEAR_NEXTHOP, false, {16, 20}},
		{ORNIC_CMD_LISTEN, false, {16, 42, 44, 48}},
		{ORNIC_CMD_UNLISTEN, false, {16, 20}},
		{ORNIC_CMD_OPEN, false, {16, 61, 64, 84}},
		{ORNIC_CMD_ACCEPT, false, {16, 28, 32, 52}},
		{ORNIC_CMD_REFUSE, false, {16, 24}},
		{ORNIC_CMD_STREAM_TX, true, {16, 24}},
		{ORNIC_CMD_STREAM_RX_DONE, false, {16, 20, 24, 32}},
		{ORNIC_CMD_MODE_RDMA, true, {16, 36, 40, 48}},
		{ORNIC_CMD_CLOSE, false, {16, 20}},
		{ORNIC_CMD_ABORT, false, {16, 20}},
		{ORNIC_CMD_UPDATE_CONN, false, {16, 29}},
		{ORNIC_CMD_TERMINATE, false, {16, 24}},
		{ORNIC_CMD_QUERY_CONN, true, {16, 20}},
		{ORNIC_CMD_FREE_CONN, false, {16, 20}},
		{ORNIC_CMD_CREATE_TXQ, false, {16, 21, 22, 52}},
		{ORNIC_CMD_DESTROY_TXQ, false, {16, 20}},
		{ORNIC_CMD_CREATE_RXQ, false, {16, 21, 22, 52}},
		{ORNIC_CMD_DESTROY_RXQ, false, {16, 20}},
		{ORNIC_CMD_SET_RX_MODE, true, {16, 24}},
		{ORNIC_CMD_SET_MAC, false, {16, 22}},
		{ORNIC_CMD_SET_PORT, false, {16, 24}},
	};
	u32 i, byte, j, checked = 0;
	union drv_cmd c;

	d = drv_plain();
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		c = drv_cmd(t[i].op);
		c.hdr.mbz = cpu_to_le16(0x100);
		drv_refused(d, &c, ORNIC_CMDS_FIELD, OFF(ornic_cmd_hdr, mbz));
		if (!t[i].data) {
			c = drv_cmd(t[i].op);
			c.hdr.data = cpu_to_le64(0x1000);
			drv_refused(d, &c, ORNIC_CMDS_FIELD, OFF(ornic_cmd_hdr, data));
		}
		for (byte = 16; byte < ORNIC_CMD_SIZE; byte++) {
			for (j = 0; j < sizeof(t[i].used); j += 2)
				if (byte >= t[i].used[j] && byte < t[i].used[j + 1])
					break;
			if (j < sizeof(t[i].used))
				continue;
			c = drv_cmd(t[i].op);
			c.raw[byte] = 0x80;
			if (drv_exec(d, &c) != ORNIC_CMDS_FIELD)
				test_fail(__FILE__, __LINE__, "command 0x%x takes byte %u", t[i].op,
					  byte);
			checked++;
		}
	}
	printf("    %u bytes of %zu commands\n", checked, ARRAY_SIZE(t));
}

static void query_device(void)
{
	const struct ornic_device_attr *a;
	u64 buf;

	start(ORNIC_CMD_QUERY_DEVICE);
	buf = drv_alloc(d, 4096);
	memset(drv_ptr(d, buf, 512), 0xff, 512);
	good.hdr.data = cpu_to_le64(buf);
	drv_do(d, &good);
	a = drv_ptr(d, buf, sizeof(*a));
	CHECK_EQ(le64_to_cpu(a->caps),
		 drv_reg(d, ORNIC_REG_CAPS_LO) | (u64)drv_reg(d, ORNIC_REG_CAPS_HI) << 32);
	CHECK(le32_to_cpu(a->max_qp) > 1 && le32_to_cpu(a->max_cq) > 1);
	CHECK(le64_to_cpu(a->page_shift_mask) & BIT_ULL(12));
	CHECK_EQ(le32_to_cpu(a->stream_max), 4096);
	CHECK_EQ(a->rsvd0, 0);
	CHECK_EQ(a->rsvd[147], 0);
	CHECK_EQ(*(u8 *)drv_ptr(d, buf + 256, 1), 0xff);
	WRONG(ADDRESS, ornic_cmd_hdr, data, NOWHERE);
	WRONG(ADDRESS, ornic_cmd_hdr, data, DRV_RAM_BASE + DRV_RAM_SIZE - 128);
	WRONG(ADDRESS, ornic_cmd_hdr, data, UINT64_MAX - 8);
}

static void query_stats(void)
{
	u64 buf;
	u64 *p;

	start(ORNIC_CMD_QUERY_STATS);
	buf = drv_alloc(d, 16384);
	memset(drv_ptr(d, buf, 16384), 0xff, 16384);
	good.hdr.data = cpu_to_le64(buf);
	good.stats.first = cpu_to_le32(ORNIC_STAT_CMD_DONE);
	good.stats.count = cpu_to_le32(100);
	drv_do(d, &good);
	p = drv_ptr(d, buf, 101 * 8);
	CHECK_EQ(p[0], 0);
	CHECK_EQ(p[ORNIC_STAT_COUNT - ORNIC_STAT_CMD_DONE], 0);
	CHECK_EQ(p[99], 0);
	CHECK_EQ(p[100], UINT64_MAX);
	CHECK_EQ(le64_to_cpu(d->res.result[0]), ORNIC_STAT_COUNT);
	drv_do(d, &good);
	CHECK_EQ(p[0], 1);
	/* Beyond the last one all are zero. */
	good.stats.first = cpu_to_le32(0xfffffff0);
	drv_do(d, &good);
	CHECK_EQ(p[0], 0);
	good.stats.count = 0;
	drv_do(d, &good);
	good.stats.count = cpu_to_le32(8);
	WRONG(ADDRESS, ornic_cmd_query_stats, hdr.data, NOWHERE);
	WRONG(FIELD, ornic_cmd_query_stats, count, 0xffffffff);
}

/* ---- page lists ---- */

static void wrong_qmem(size_t off)
{
#define QM(c) ((struct ornic_qmem *)((c).raw + off))
#define WRONG_QM(status, field, value)                                                  \
	do {                                                                            \
		union drv_cmd c_ = good;                                                \
		QM(c_)->field = value;                                                  \
		drv_refused(d, &c_, ORNIC_CMDS_##status, off + OFF(ornic_qmem, field)); \
	} while (0)
	WRONG_QM(FIELD, page_shift, 11);
	WRONG_QM(FIELD, page_shift, 41);
	WRONG_QM(FIELD, page_shift, 255);
	WRONG_QM(FIELD, levels, 3);
	WRONG_QM(FIELD, mbz[0], 1);
	WRONG_QM(FIELD, npages, 0);
	WRONG_QM(FIELD, npages, 0x01000001);
	WRONG_QM(FIELD, npages, 0xffffffff);
	WRONG_QM(FIELD, addr, QM(good)->addr + 8);
	WRONG_QM(ADDRESS, addr, (u64)-4096);
#undef WRONG_QM
#undef QM
}

static void qmem_levels(void)
{
	u64 ring, list, blocks, page;
	__le64 *l;
	u32 i;

	start(ORNIC_CMD_CREATE_EQ);
	ring = drv_alloc(d, 4 * 4096);
	list = drv_alloc(d, 4096);
	blocks = drv_alloc(d, 4096);
	l = drv_ptr(d, list, 4096);
	/* 2^10 entries of 16 bytes in 4 pages, backwards. */
	for (i = 0; i < 4; i++)
		l[i] = cpu_to_le64(ring + (3 - i) * 4096);
	*(__le64 *)drv_ptr(d, blocks, 8) = cpu_to_le64(list);
	good.eq.depth_shift = 10;
	good.eq.ring = drv_qmem(list, 4 * 4096);
	good.eq.ring.levels = 1;
	drv_do(d, &good);
	CHECK_EQ(drv_number(d, ORNIC_CMD_DESTROY_EQ, 0), 0);
	good.eq.ring.addr = cpu_to_le64(blocks);
	good.eq.ring.levels = 2;
	drv_do(d, &good);
	CHECK_EQ(drv_number(d, ORNIC_CMD_DESTROY_EQ, 0), 0);
	/* Lists that cannot be read, and pages that are none. */
	WRONG(ADDRESS, ornic_cmd_create_eq, ring.addr, NOWHERE);
	WRONG(FIELD, ornic_cmd_create_eq, ring.addr, blocks + 4);
	page = *(__le64 *)drv_ptr(d, blocks, 8);
	*(__le64 *)drv_ptr(d, blocks, 8) = page + 8;
	WRONG(ADDRESS, ornic_cmd_create_eq, ring.addr, blocks);
	*(__le64 *)drv_ptr(d, blocks, 8) = NOWHERE;
	WRONG(ADDRESS, ornic_cmd_create_eq, ring.addr, blocks);
	good.eq.ring.levels = 1;
	l[2] = cpu_to_le64(ring + 512);
	WRONG(ADDRESS, ornic_cmd_create_eq, ring.addr, list);
	l[2] = cpu_to_le64(ring);
	/* Too small */
	WRONG(FIELD, ornic_cmd_create_eq, ring.npages, 3);
	good.eq.ring.addr = cpu_to_le64(list);
	drv_do(d, &good);
}

/* ---- event queues ---- */

static void create_eq(void)
{
	u64 ring;

	start(ORNIC_CMD_CREATE_EQ);
	ring = drv_alloc(d, 65536);
	good.eq.eqn = cpu_to_le32(1);
	good.eq.depth_shift = 5;
	good.eq.ring = drv_qmem(ring, 65536);
	WRONG(NUMBER, ornic_cmd_create_eq, eqn, 64);
	WRONG(NUMBER, ornic_cmd_create_eq, eqn, 0xffffffff);
	WRONG(FIELD, ornic_cmd_create_eq, kind, 3);
	WRONG(FIELD, ornic_cmd_create_eq, depth_shift, 3);
	WRONG(FIELD, ornic_cmd_create_eq, depth_shift, 15);
	WRONG(FIELD, ornic_cmd_create_eq, depth_shift, 255);
	WRONG(NUMBER, ornic_cmd_create_eq, vector, 64);
	WRONG(FIELD, ornic_cmd_create_eq, data, drv_qmem(ring, 4096));
	/* The record: among the entries, misaligned, beyond the memory. */
	WRONG(FIELD, ornic_cmd_create_eq, rec_off, cpu_to_le32(384));
	WRONG(FIELD, ornic_cmd_create_eq, rec_off, cpu_to_le32(512 + 64));
	TOO_SMALL(ornic_cmd_create_eq, ring, rec_off, cpu_to_le32(65536));
	TOO_SMALL(ornic_cmd_create_eq, ring, rec_off, cpu_to_le32(0xffffff80));
	wrong_qmem(OFF(ornic_cmd_create_eq, ring));
	drv_do(d, &good);
	WRONG(EXISTS, ornic_cmd_create_eq, eqn, 1);
	good.eq.eqn = cpu_to_le32(2);
	good.eq.kind = ORNIC_EQ_ASYNC;
	drv_do(d, &good);
	good.eq.eqn = cpu_to_le32(3);
	WRONG(EXISTS, ornic_cmd_create_eq, kind, ORNIC_EQ_ASYNC);
	/* Only completion EQs are armed by a record. */
	good.eq.kind = ORNIC_EQ_TCP;
	good.eq.rec_off = cpu_to_le32(4096);
	good.eq.data = drv_qmem(drv_alloc(d, 65536), 65536);
	CHECK_EQ(drv_exec(d, &good), ORNIC_CMDS_FIELD);
	good.eq.rec_off = 0;
	good.eq.data = drv_qmem(drv_alloc(d, 65536), 65536);
	wrong_qmem(OFF(ornic_cmd_create_eq, data));
	/* 32 entries of 64 bytes fit; 32 data slots are 64 KiB. */
	WRONG(FIELD, ornic_cmd_create_eq, data.npages, 15);
	drv_do(d, &good);
	good.eq.eqn = cpu_to_le32(4);
	WRONG(EXISTS, ornic_cmd_create_eq, kind, ORNIC_EQ_TCP);
	CHECK_EQ(drv_number(d, ORNIC_CMD_DESTROY_EQ, 64), ORNIC_CMDS_NUMBER);
	CHECK_EQ(drv_number(d, ORNIC_CMD_DESTROY_EQ, 4), ORNIC_CMDS_NOT_FOUND);
	CHECK_EQ(drv_number(d, ORNIC_CMD_DESTROY_EQ, 3), 0);
	drv_do(d, &good);
}

/* ---- CQs and QPs ---- */

static void create_cq(void)
{
	start(ORNIC_CMD_CREATE_CQ);
	drv_eq_new(d, 0, ORNIC_EQ_ASYNC, 4);
	drv_eq_new(d, 2, ORNIC_EQ_COMP, 4);
	good.cq.cqn = cpu_to_le32(1);
	good.cq.eqn = cpu_to_le32(2);
	good.cq.depth_shift = 6;
	good.cq.mem = drv_qmem(drv_alloc(d, 8192), 8192);
	good.cq.ring_off = cpu_to_le32(128);
	WRONG(NUMBER, ornic_cmd_create_cq, cqn, 0);
	WRONG(NUMBER, ornic_cmd_create_cq, cqn, 0x1000000);
	WRONG(NUMBER, ornic_cmd_create_cq, eqn, 64);
	WRONG(NOT_FOUND, ornic_cmd_create_cq, eqn, 5);
	/* An EQ of another kind is no completion EQ. */
	WRONG(NOT_FOUND, ornic_cmd_create_cq, eqn, 0);
	WRONG(NUMBER, ornic_cmd_create_cq, db_page, d->db_pages);
	WRONG(FIELD, ornic_cmd_create_cq, depth_shift, 0);
	WRONG(FIELD, ornic_cmd_create_cq, depth_shift, 30);
	WRONG(FIELD, ornic_cmd_create_cq, ring_off, 32);
	TOO_SMALL(ornic_cmd_create_cq, mem, ring_off, 8192);
	TOO_SMALL(ornic_cmd_create_cq, mem, ring_off, 0xffffffc0);
	WRONG(FIELD, ornic_cmd_create_cq, rec_off, 64);
	TOO_SMALL(ornic_cmd_create_cq, mem, rec_off, 8192);
	TOO_SMALL(ornic_cmd_create_cq, mem, rec_off, 0xffffff80);
	wrong_qmem(OFF(ornic_cmd_create_cq, mem));
	drv_do(d, &good);
	WRONG(EXISTS, ornic_cmd_create_cq, cqn, 1);
	CHECK_EQ(drv_number(d, ORNIC_CMD_DESTROY_EQ, 2), ORNIC_CMDS_BUSY);
	CHECK_EQ(drv_number(d, ORNIC_CMD_DESTROY_CQ, 0), ORNIC_CMDS_NUMBER);
	CHECK_EQ(drv_number(d, ORNIC_CMD_DESTROY_CQ, 2), ORNIC_CMDS_NOT_FOUND);
	CHECK_EQ(drv_number(d, ORNIC_CMD_DESTROY_CQ, 1), 0);
	CHECK_EQ(drv_number(d, ORNIC_CMD_DESTROY_EQ, 2), 0);
}

static void create_qp(void)
{
	struct drv_qp qp;

	start(0);
	drv_eq_new(d, 2, ORNIC_EQ_COMP, 4);
	drv_cq_new(d, 1, 2, 4, 0);
	good = drv_qp_cmd(d, &qp, 3, 1, 1, 1, 0, 0);
	WRONG(NUMBER, ornic_cmd_create_qp, qpn, 0);
	WRONG(NUMBER, ornic_cmd_create_qp, qpn, 0x1000000);
	WRONG(NUMBER, ornic_cmd_create_qp, pdn, 0);
	WRONG(NUMBER, ornic_cmd_create_qp, pdn, 0xffffffff);
	WRONG(NUMBER, ornic_cmd_create_qp, send_cqn, 0x1000000);
	WRONG(NOT_FOUND, ornic_cmd_create_qp, send_cqn, 0);
	WRONG(NOT_FOUND, ornic_cmd_create_qp, send_cqn, 2);
	WRONG(NOT_FOUND, ornic_cmd_create_qp, recv_cqn, 2);
	WRONG(FIELD, ornic_cmd_create_qp, srqn, 1);
	WRONG(NUMBER, ornic_cmd_create_qp, db_page, d->db_pages);
	WRONG(FIELD, ornic_cmd_create_qp, sq_shift, 0);
	WRONG(FIELD, ornic_cmd_create_qp, sq_shift, 20);
	WRONG(FIELD, ornic_cmd_create_qp, sq_stride_shift, 5);
	WRONG(FIELD, ornic_cmd_create_qp, sq_stride_shift, 10);
	WRONG(FIELD, ornic_cmd_create_qp, rq_shift, 0);
	WRONG(FIELD, ornic_cmd_create_qp, rq_stride_shift, 4);
	WRONG(FIELD, ornic_cmd_create_qp, rq_stride_shift, 10);
	WRONG(FIELD, ornic_cmd_create_qp, flags, BIT(3));
	WRONG(FIELD, ornic_cmd_create_qp, flags, ORNIC_QPF_SRQ);
	WRONG(FIELD, ornic_cmd_create_qp, access, ORNIC_ACC_LOCAL_WRITE);
	WRONG(FIELD, ornic_cmd_create_qp, access, 0x8000);
	WRONG(FIELD, ornic_cmd_create_qp, sq_off, 32);
	TOO_SMALL(ornic_cmd_create_qp, mem, sq_off, 0x10000000);
	WRONG(FIELD, ornic_cmd_create_qp, rq_off, 32);
	TOO_SMALL(ornic_cmd_create_qp, mem, rq_off, 0x10000000);
	WRONG(FIELD, ornic_cmd_create_qp, rec_off, 64);
	TOO_SMALL(ornic_cmd_create_qp, mem, rec_off, 0x10000000);
	wrong_qmem(OFF(ornic_cmd_create_qp, mem));
	drv_do(d, &good);
	WRONG(EXISTS, ornic_cmd_create_qp, qpn, 3);
	CHECK_EQ(drv_number(d, ORNIC_CMD_DESTROY_CQ, 1), ORNIC_CMDS_BUSY);
	CHECK_EQ(drv_number(d, ORNIC_CMD_DESTROY_QP, 4), ORNIC_CMDS_NOT_FOUND);
	CHECK_EQ(drv_number(d, ORNIC_CMD_DESTROY_QP, 0), ORNIC_CMDS_NUMBER);
	CHECK_EQ(drv_number(d, ORNIC_CMD_DESTROY_QP, 3), 0);
	CHECK_EQ(drv_number(d, ORNIC_CMD_DESTROY_CQ, 1), 0);
}

/* A privileged QP is the kernel's. */
static void privileged_qp(void)
{
	struct drv_qp qp;

	start(0);
	drv_eq_new(d, 2, ORNIC_EQ_COMP, 4);
	drv_cq_new(d, 1, 2, 4, 0);
	good = drv_qp_cmd(d, &qp, 3, 1, 1, 1, ORNIC_QPF_PRIVILEGED, 1);
	CHECK_EQ(drv_exec(d, &good), ORNIC_CMDS_FIELD);
	good.qp.db_page = 0;
	drv_do(d, &good);
}

static void modify_query_qp(void)
{
	struct drv_qp qp;
	const struct ornic_qp_attr *a;
	union drv_cmd q;
	u64 buf;

	start(0);
	drv_eq_new(d, 2, ORNIC_EQ_COMP, 4);
	drv_cq_new(d, 1, 2, 4, 0);
	qp = drv_qp_new(d, 3, 1, 1, 1, 0, 0);
	buf = drv_alloc(d, 4096);
	q = drv_cmd(ORNIC_CMD_QUERY_QP);
	q.hdr.data = cpu_to_le64(buf);
	q.number.number = cpu_to_le32(3);
	drv_do(d, &q);
	a = drv_ptr(d, buf, sizeof(*a));
	CHECK_EQ(a->state, ORNIC_QPS_IDLE);
	CHECK_EQ(le16_to_cpu(a->access), ORNIC_ACC_REMOTE_WRITE | ORNIC_ACC_REMOTE_READ);
	CHECK_EQ(a->conn_id, 0);
	good = drv_cmd(ORNIC_CMD_MODIFY_QP);
	good.modify_qp.qpn = cpu_to_le32(3);
	good.modify_qp.mask = cpu_to_le32(ORNIC_MODQP_STATE);
	good.modify_qp.state = ORNIC_QPS_ERROR;
	WRONG(NUMBER, ornic_cmd_modify_qp, qpn, 0);
	WRONG(NOT_FOUND, ornic_cmd_modify_qp, qpn, 4);
	WRONG(FIELD, ornic_cmd_modify_qp, mask, 4);
	/* A field that the mask does not name must be zero. */
	q = good;
	q.modify_qp.mask = 0;
	drv_refused(d, &q, ORNIC_CMDS_FIELD, OFF(ornic_cmd_modify_qp, state));
	q = good;
	q.modify_qp.access = cpu_to_le16(ORNIC_ACC_REMOTE_READ);
	drv_refused(d, &q, ORNIC_CMDS_FIELD, OFF(ornic_cmd_modify_qp, access));
	q = good;
	q.modify_qp.state = ORNIC_QPS_RTS;
	CHECK_EQ(drv_exec(d, &q), ORNIC_CMDS_STATE);
	q.modify_qp.state = ORNIC_QPS_CLOSING;
	CHECK_EQ(drv_exec(d, &q), ORNIC_CMDS_STATE);
	q = drv_cmd(ORNIC_CMD_MODIFY_QP);
	q.modify_qp.qpn = cpu_to_le32(3);
	q.modify_qp.mask = cpu_to_le32(ORNIC_MODQP_ACCESS);
	q.modify_qp.access = cpu_to_le16(ORNIC_ACC_REMOTE_READ);
	drv_do(d, &q);
	drv_do(d, &good);
	q = drv_cmd(ORNIC_CMD_QUERY_QP);
	q.hdr.data = cpu_to_le64(buf);
	q.number.number = cpu_to_le32(3);
	drv_do(d, &q);
	CHECK_EQ(a->state, ORNIC_QPS_ERROR);
	CHECK_EQ(le16_to_cpu(a->access), ORNIC_ACC_REMOTE_READ);
	good = q;
	WRONG(ADDRESS, ornic_cmd_number, hdr.data, NOWHERE);
	WRONG(NUMBER, ornic_cmd_number, number, 0);
	WRONG(NOT_FOUND, ornic_cmd_number, number, 9);
	(void)qp;
}

/* ---- memory ---- */

static void reg_mr(void)
{
	const struct ornic_mr_attr *a;
	union drv_cmd q;
	u64 buf;

	start(ORNIC_CMD_REG_MR);
	good.reg_mr.stag = cpu_to_le32(0x0102);
	good.reg_mr.pdn = cpu_to_le32(1);
	good.reg_mr.iova = cpu_to_le64(0x123456);
	good.reg_mr.length = cpu_to_le64(8192 - 100);
	good.reg_mr.mem = drv_qmem(drv_alloc(d, 8192), 8192);
	good.reg_mr.offset = cpu_to_le32(100);
	good.reg_mr.access = cpu_to_le16(ORNIC_ACC_LOCAL_WRITE | ORNIC_ACC_REMOTE_WRITE);
	good.reg_mr.flags = cpu_to_le16(ORNIC_MRF_NO_INVALIDATE);
	WRONG(NUMBER, ornic_cmd_reg_mr, stag, 0x77);
	WRONG(NUMBER, ornic_cmd_reg_mr, stag, 0xffffff00);
	WRONG(NUMBER, ornic_cmd_reg_mr, pdn, 0);
	WRONG(NUMBER, ornic_cmd_reg_mr, pdn, 0xffffffff);
	WRONG(FIELD, ornic_cmd_reg_mr, iova, UINT64_MAX - 1000);
	WRONG(FIELD, ornic_cmd_reg_mr, length, (1ULL << 40) + 1);
	WRONG(FIELD, ornic_cmd_reg_mr, length, UINT64_MAX);
	WRONG(FIELD, ornic_cmd_reg_mr, offset, 4096);
	WRONG(FIELD, ornic_cmd_reg_mr, access, 0x40);
	WRONG(FIELD, ornic_cmd_reg_mr, access, ORNIC_ACC_REMOTE_WRITE);
	WRONG(FIELD, ornic_cmd_reg_mr, access, ORNIC_ACC_REMOTE_ATOMIC);
	WRONG(FIELD, ornic_cmd_reg_mr, flags, 2);
	WRONG(FIELD, ornic_cmd_reg_mr, mem.npages, 1);
	WRONG(FIELD, ornic_cmd_reg_mr, mem.page_shift, 32);
	wrong_qmem(OFF(ornic_cmd_reg_mr, mem));
	drv_do(d, &good);
	WRONG(EXISTS, ornic_cmd_reg_mr, stag, 0x0103);
	buf = drv_alloc(d, 4096);
	q = drv_cmd(ORNIC_CMD_QUERY_MR);
	q.stag.stag = cpu_to_le32(0x0100);
	q.hdr.data = cpu_to_le64(buf);
	drv_do(d, &q);
	a = drv_ptr(d, buf, sizeof(*a));
	CHECK_EQ(le32_to_cpu(a->stag), 0x0102);
	CHECK_EQ(le64_to_cpu(a->iova), 0x123456);
	CHECK_EQ(le64_to_cpu(a->length), 8192 - 100);
	CHECK_EQ(le32_to_cpu(a->npages), 2);
	CHECK_EQ(a->page_shift, 12);
	CHECK_EQ(a->state, 1);
	CHECK_EQ(a->type, 0);
	good = q;
	WRONG(ADDRESS, ornic_cmd_stag, hdr.data, NOWHERE);
	WRONG(NUMBER, ornic_cmd_stag, stag, 0);
	WRONG(NOT_FOUND, ornic_cmd_stag, stag, 0x200);
	good = drv_cmd(ORNIC_CMD_DEREG_MR);
	good.stag.stag = cpu_to_le32(0x01ff);
	drv_do(d, &good);
	drv_refused(d, &good, ORNIC_CMDS_NOT_FOUND, OFF(ornic_cmd_stag, stag));
}

/* Zero length is an empty region; the greatest page size; the whole of it. */
static void reg_mr_edges(void)
{
	u64 mem;

	start(ORNIC_CMD_REG_MR);
	mem = drv_alloc(d, 8192);
	good.reg_mr.stag = cpu_to_le32(0x0100);
	good.reg_mr.pdn = cpu_to_le32(1);
	good.reg_mr.iova = cpu_to_le64(UINT64_MAX);
	WRONG(FIELD, ornic_cmd_reg_mr, mem, drv_qmem(mem, 4096));
	WRONG(FIELD, ornic_cmd_reg_mr, offset, 1);
	drv_do(d, &good);
	good.reg_mr.stag = cpu_to_le32(0x0200);
	good.reg_mr.iova = 0;
	good.reg_mr.length = cpu_to_le64(1ULL << 40);
	good.reg_mr.mem = (struct ornic_qmem){.npages = cpu_to_le32(512), .page_shift = 31};
	drv_do(d, &good);
}

static void alloc_mr(void)
{
	start(ORNIC_CMD_ALLOC_MR);
	good.alloc_mr.stag = cpu_to_le32(0x0102);
	good.alloc_mr.pdn = cpu_to_le32(1);
	good.alloc_mr.max_pages = cpu_to_le32(16);
	WRONG(NUMBER, ornic_cmd_alloc_mr, stag, 1);
	WRONG(NUMBER, ornic_cmd_alloc_mr, pdn, 0);
	WRONG(FIELD, ornic_cmd_alloc_mr, max_pages, 0);
	WRONG(FIELD, ornic_cmd_alloc_mr, max_pages, 100000);
	WRONG(FIELD, ornic_cmd_alloc_mr, mw_type, 1);
	drv_do(d, &good);
	WRONG(EXISTS, ornic_cmd_alloc_mr, stag, 0x0100);
}

/* ---- next hops and TCP ---- */

static void nexthop(void)
{
	start(ORNIC_CMD_SET_NEXTHOP);
	good.nexthop.mtu = cpu_to_le16(1500);
	WRONG(NUMBER, ornic_cmd_set_nexthop, index, 100000);
	WRONG(FIELD, ornic_cmd_set_nexthop, flags, 16);
	WRONG(FIELD, ornic_cmd_set_nexthop, flags, ORNIC_NHF_FAILED);
	WRONG(FIELD, ornic_cmd_set_nexthop, vlan_tci, 1);
	WRONG(FIELD, ornic_cmd_set_nexthop, mtu, 67);
	WRONG(FIELD, ornic_cmd_set_nexthop, mtu, 65535);
	drv_do(d, &good);
	good.nexthop.mtu = cpu_to_le16(68);
	good.nexthop.flags = cpu_to_le16(ORNIC_NHF_VLAN);
	WRONG(FIELD, ornic_cmd_set_nexthop, vlan_tci, 4095);
	good.nexthop.vlan_tci = cpu_to_le16(0xe005);
	drv_do(d, &good);
	CHECK_EQ(drv_number(d, ORNIC_CMD_CLEAR_NEXTHOP, 1), ORNIC_CMDS_NOT_FOUND);
	CHECK_EQ(drv_number(d, ORNIC_CMD_CLEAR_NEXTHOP, 100000), ORNIC_CMDS_NUMBER);
	CHECK_EQ(drv_number(d, ORNIC_CMD_CLEAR_NEXTHOP, 0), 0);
	CHECK_EQ(drv_number(d, ORNIC_CMD_CLEAR_NEXTHOP, 0), ORNIC_CMDS_NOT_FOUND);
}

static void listen(void)
{
	start(0);
	good = drv_listen_cmd(5, 1, 80);
	WRONG(NUMBER, ornic_cmd_listen, listen_id, 0);
	WRONG(NUMBER, ornic_cmd_listen, listen_id, 100000);
	WRONG(FIELD, ornic_cmd_listen, family, 5);
	WRONG(FIELD, ornic_cmd_listen, family, 0);
	good.listen.addr[15] = 1; /* an IPv4 address has four bytes */
	drv_refused(d, &good, ORNIC_CMDS_FIELD, OFF(ornic_cmd_listen, addr));
	good.listen.addr[15] = 0;
	WRONG(FIELD, ornic_cmd_listen, addr[0], 224);
	WRONG(FIELD, ornic_cmd_listen, port, 0);
	WRONG(FIELD, ornic_cmd_listen, flags, 2);
	WRONG(FIELD, ornic_cmd_listen, vlan_id, 3);
	WRONG(FIELD, ornic_cmd_listen, backlog, 0);
	WRONG(FIELD, ornic_cmd_listen, backlog, 100000);
	drv_do(d, &good);
	WRONG(EXISTS, ornic_cmd_listen, listen_id, 5);
	good.listen.listen_id = cpu_to_le32(6);
	drv_refused(d, &good, ORNIC_CMDS_ADDR_IN_USE, OFF(ornic_cmd_listen, addr));
	/* The same port on any, and in a VLAN, are others. */
	good.listen.flags = ORNIC_LISTEN_VLAN;
	good.listen.vlan_id = cpu_to_le16(7);
	drv_do(d, &good);
	good = drv_listen_cmd(7, 0, 80);
	drv_do(d, &good);
	/* Nor is any address of IPv6 one of IPv4. */
	good.listen.listen_id = cpu_to_le32(9);
	good.listen.family = ORNIC_FAMILY_IPV6;
	WRONG(FIELD, ornic_cmd_listen, addr[0], 0xff);
	drv_do(d, &good);
	CHECK_EQ(drv_number(d, ORNIC_CMD_UNLISTEN, 0), ORNIC_CMDS_NUMBER);
	CHECK_EQ(drv_number(d, ORNIC_CMD_UNLISTEN, 8), ORNIC_CMDS_NOT_FOUND);
	CHECK_EQ(drv_number(d, ORNIC_CMD_UNLISTEN, 5), 0);
	good = drv_listen_cmd(5, 1, 80);
	drv_do(d, &good);
}

static void wrong_opts(size_t off)
{
#define WRONG_OPT(field, value)                                                          \
	do {                                                                             \
		union drv_cmd c_ = good;                                                 \
		((struct ornic_tcp_opts *)(c_.raw + off))->field = value;                \
		drv_refused(d, &c_, ORNIC_CMDS_FIELD, off + OFF(ornic_tcp_opts, field)); \
	} while (0)
	WRONG_OPT(options, 0x20);
	WRONG_OPT(mss, 87);
	WRONG_OPT(mss, 65496);
	WRONG_OPT(window, 4095);
	WRONG_OPT(window, 0xffffffff);
	WRONG_OPT(dscp, 64);
	WRONG_OPT(ttl, 0);
	WRONG_OPT(syn_retries, 16);
	WRONG_OPT(rtx_timeout, 999);
	WRONG_OPT(mbz, 1);
	((struct ornic_tcp_opts *)(good.raw + off))->options |= ORNIC_TCPO_KEEPALIVE;
	((struct ornic_tcp_opts *)(good.raw + off))->keep_count = 3;
	((struct ornic_tcp_opts *)(good.raw + off))->keep_idle = 3;
	((struct ornic_tcp_opts *)(good.raw + off))->keep_intvl = 3;
	WRONG_OPT(keep_count, 0);
	WRONG_OPT(keep_idle, 0);
	WRONG_OPT(keep_intvl, 0);
#undef WRONG_OPT
}

/* Addresses that no connection has at either end: none, a group's, IPv4 in disguise. */
static void open_ipv6_wrong(void)
{
	static const u8 net[15] = {0x20, 0x01, 0x0d, 0xb8};
	static const u8 wrong[][16] = {{0}, {0xff, 2, [15] = 1}, {[10] = 0xff, 0xff, 10, 0, 0, 1}};
	union drv_cmd saved = good, six;
	u32 i;

	drv_net6 = net;
	six = drv_open_cmd(5, 0, 1, 1000, 2, 80);
	drv_net6 = NULL;
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		good = six;
		memcpy(good.open.laddr, wrong[i], 16);
		drv_refused(d, &good, ORNIC_CMDS_FIELD, OFF(ornic_cmd_open, laddr));
		good = six;
		memcpy(good.open.raddr, wrong[i], 16);
		drv_refused(d, &good, ORNIC_CMDS_FIELD, OFF(ornic_cmd_open, raddr));
	}
	/* The ports of the IPv4 connection that follows are no obstacle. */
	six.open.conn_id = cpu_to_le32(7);
	drv_do(d, &six);
	good = saved;
}

static void open_conn(void)
{
	start(0);
	good = drv_open_cmd(5, 0, 1, 1000, 2, 80);
	/* Without a TCP EQ nobody would hear of it. */
	drv_refused(d, &good, ORNIC_CMDS_STATE, 0);
	drv_eq_new(d, 0, ORNIC_EQ_TCP, 5);
	drv_refused(d, &good, ORNIC_CMDS_NOT_FOUND, OFF(ornic_cmd_open, nexthop));
	drv_nexthop(d, 0, (u8[]){2, 0, 0, 0, 0, 9}, 1500, 0);
	WRONG(NUMBER, ornic_cmd_open, conn_id, 0);
	WRONG(NUMBER, ornic_cmd_open, conn_id, 0xffffffff);
	WRONG(NUMBER, ornic_cmd_open, nexthop, 100000);
	WRONG(NOT_FOUND, ornic_cmd_open, nexthop, 1);
	WRONG(FIELD, ornic_cmd_open, laddr[0], 0);
	WRONG(FIELD, ornic_cmd_open, laddr[0], 239);
	WRONG(FIELD, ornic_cmd_open, raddr[0], 255);
	WRONG(FIELD, ornic_cmd_open, raddr[0], 0);
	WRONG(FIELD, ornic_cmd_open, lport, 0);
	WRONG(FIELD, ornic_cmd_open, rport, 0);
	WRONG(FIELD, ornic_cmd_open, family, 7);
	good.open.laddr[15] = 1; /* an IPv4 address has four bytes */
	drv_refused(d, &good, ORNIC_CMDS_FIELD, OFF(ornic_cmd_open, laddr));
	good.open.laddr[15] = 0;
	open_ipv6_wrong();
	wrong_opts(OFF(ornic_cmd_open, opts));
	drv_do(d, &good);
	WRONG(EXISTS, ornic_cmd_open, conn_id, 5);
	good.open.conn_id = cpu_to_le32(6);
	drv_refused(d, &good, ORNIC_CMDS_ADDR_IN_USE, OFF(ornic_cmd_open, laddr));
	CHECK_EQ(drv_number(d, ORNIC_CMD_FREE_CONN, 5), 0);
	drv_do(d, &good);
}

static void accept_refuse(void)
{
	start(0);
	drv_eq_new(d, 0, ORNIC_EQ_TCP, 5);
	drv_nexthop(d, 0, (u8[]){2, 0, 0, 0, 0, 9}, 1500, 0);
	good = drv_accept_cmd(12345, 5, 0);
	WRONG(NUMBER, ornic_cmd_accept, conn_id, 0);
	WRONG(NOT_FOUND, ornic_cmd_accept, nexthop, 7);
	wrong_opts(OFF(ornic_cmd_accept, opts));
	drv_refused(d, &good, ORNIC_CMDS_GONE, OFF(ornic_cmd_accept, syn_id));
	good = drv_cmd(ORNIC_CMD_REFUSE);
	WRONG(GONE, ornic_cmd_refuse, syn_id, 12345);
	WRONG(FIELD, ornic_cmd_refuse, how, 3);
}

/* What the commands of a connection answer in a state that does not allow them. */
static void conn_states(void)
{
	static const u16 number_cmds[] = {ORNIC_CMD_CLOSE, ORNIC_CMD_ABORT, ORNIC_CMD_FREE_CONN,
					  ORNIC_CMD_QUERY_CONN};
	u32 i;

	start(0);
	drv_eq_new(d, 0, ORNIC_EQ_TCP, 5);
	drv_nexthop(d, 0, (u8[]){2, 0, 0, 0, 0, 9}, 1500, 0);
	for (i = 0; i < ARRAY_SIZE(number_cmds); i++) {
		CHECK_EQ(drv_number(d, number_cmds[i], 0), ORNIC_CMDS_NUMBER);
		CHECK_EQ(drv_number(d, number_cmds[i], 0xffffffff), ORNIC_CMDS_NUMBER);
		CHECK_EQ(drv_number(d, number_cmds[i], 5), ORNIC_CMDS_NOT_FOUND);
	}
	good = drv_open_cmd(5, 0, 1, 1000, 2, 80);
	drv_do(d, &good);
	CHECK_EQ(drv_stream_tx(d, 5, "x", 1), ORNIC_CMDS_STATE);
	good = drv_cmd(ORNIC_CMD_STREAM_RX_DONE);
	good.rx_done.conn_id = cpu_to_le32(5);
	drv_refused(d, &good, ORNIC_CMDS_STATE, OFF(ornic_cmd_stream_rx_done, conn_id));
	good = drv_cmd(ORNIC_CMD_TERMINATE);
	good.terminate.conn_id = cpu_to_le32(5);
	drv_refused(d, &good, ORNIC_CMDS_STATE, OFF(ornic_cmd_terminate, conn_id));
	WRONG(FIELD, ornic_cmd_terminate, layer, 3);
	WRONG(FIELD, ornic_cmd_terminate, etype, 16);
	WRONG(FIELD, ornic_cmd_terminate, flags, ORNIC_RDMAF_CRC);
	good = drv_cmd(ORNIC_CMD_UPDATE_CONN);
	good.update.conn_id = cpu_to_le32(5);
	good.update.mask = cpu_to_le32(ORNIC_UPD_DSCP);
	WRONG(NOT_FOUND, ornic_cmd_update_conn, conn_id, 6);
	WRONG(FIELD, ornic_cmd_update_conn, mask, 0);
	WRONG(FIELD, ornic_cmd_update_conn, mask, 4);
	WRONG(FIELD, ornic_cmd_update_conn, dscp, 64);
	WRONG(FIELD, ornic_cmd_update_conn, nexthop, 1);
	good.update.dscp = 46;
	drv_do(d, &good);
	good.update.mask = cpu_to_le32(ORNIC_UPD_NEXTHOP);
	WRONG(FIELD, ornic_cmd_update_conn, dscp, 46);
	good.update.dscp = 0;
	WRONG(NOT_FOUND, ornic_cmd_update_conn, nexthop, 1);
	drv_nexthop(d, 1, (u8[]){2, 0, 0, 0, 0, 8}, 1500, 0);
	good.update.nexthop = cpu_to_le32(1);
	drv_do(d, &good);
	CHECK_EQ(drv_number(d, ORNIC_CMD_CLEAR_NEXTHOP, 0), 0);
	CHECK_EQ(drv_number(d, ORNIC_CMD_CLEAR_NEXTHOP, 1), ORNIC_CMDS_BUSY);
	CHECK_EQ(drv_number(d, ORNIC_CMD_ABORT, 5), 0);
	CHECK_EQ(drv_number(d, ORNIC_CMD_CLEAR_NEXTHOP, 1), 0);
	CHECK_EQ(drv_number(d, ORNIC_CMD_CLOSE, 5), 0);
	drv_refused(d, &good, ORNIC_CMDS_NOT_FOUND, OFF(ornic_cmd_update_conn, nexthop));
	CHECK_EQ(drv_stream_tx(d, 5, "x", 1), ORNIC_CMDS_GONE);
}

/* ---- Ethernet ---- */

static void eth_queue(u16 create, u16 destroy, u32 max, bool tx)
{
	start(create);
	good.ethq.depth_shift = 4;
	good.ethq.mem = drv_qmem(drv_alloc(d, 8192), 8192);
	good.ethq.rec_off = cpu_to_le32(4096);
	good.ethq.ring_off = cpu_to_le32(2048);
	if (!tx)
		good.ethq.comp_off = cpu_to_le32(1024);
	WRONG(NUMBER, ornic_cmd_create_ethq, number, max);
	WRONG(NUMBER, ornic_cmd_create_ethq, number, 0xffffffff);
	WRONG(FIELD, ornic_cmd_create_ethq, depth_shift, 3);
	WRONG(FIELD, ornic_cmd_create_ethq, depth_shift, 13);
	WRONG(NUMBER, ornic_cmd_create_ethq, vector, 64);
	WRONG(FIELD, ornic_cmd_create_ethq, ring_off, 8);
	TOO_SMALL(ornic_cmd_create_ethq, mem, ring_off, 8192);
	WRONG(FIELD, ornic_cmd_create_ethq, comp_off, tx ? 64 : 8);
	WRONG(FIELD, ornic_cmd_create_ethq, rec_off, 64);
	TOO_SMALL(ornic_cmd_create_ethq, mem, rec_off, 0xffffff80);
	wrong_qmem(OFF(ornic_cmd_create_ethq, mem));
	drv_do(d, &good);
	WRONG(EXISTS, ornic_cmd_create_ethq, number, 0);
	CHECK_EQ(drv_number(d, destroy, max), ORNIC_CMDS_NUMBER);
	CHECK_EQ(drv_number(d, destroy, 0), 0);
	CHECK_EQ(drv_number(d, destroy, 0), ORNIC_CMDS_NOT_FOUND);
	drv_do(d, &good);
}

static u32 attr_max(bool tx)
{
	struct drv *x = drv_plain();
	union drv_cmd c = drv_cmd(ORNIC_CMD_QUERY_DEVICE);
	struct ornic_device_attr a;
	u64 buf = drv_alloc(x, 4096);

	c.hdr.data = cpu_to_le64(buf);
	drv_do(x, &c);
	memcpy(&a, drv_ptr(x, buf, sizeof(a)), sizeof(a));
	CHECK(drv_stop_all());
	return tx ? le16_to_cpu(a.max_txq) : le16_to_cpu(a.max_rxq);
}

static void create_txq(void)
{
	eth_queue(ORNIC_CMD_CREATE_TXQ, ORNIC_CMD_DESTROY_TXQ, attr_max(true), true);
}

static void create_rxq(void)
{
	eth_queue(ORNIC_CMD_CREATE_RXQ, ORNIC_CMD_DESTROY_RXQ, attr_max(false), false);
}

static void port(void)
{
	u64 buf;

	start(ORNIC_CMD_SET_RX_MODE);
	buf = drv_alloc(d, 4096);
	WRONG(FIELD, ornic_cmd_set_rx_mode, mode, 8);
	WRONG(NUMBER, ornic_cmd_set_rx_mode, count, 100000);
	WRONG(FIELD, ornic_cmd_set_rx_mode, hdr.data, buf);
	drv_do(d, &good);
	good.rx_mode.count = cpu_to_le32(2);
	WRONG(ADDRESS, ornic_cmd_set_rx_mode, hdr.data, NOWHERE);
	good.hdr.data = cpu_to_le64(buf);
	drv_do(d, &good);
	*(u64 *)drv_ptr(d, buf + 8, 8) = 1ULL << 48;
	drv_refused(d, &good, ORNIC_CMDS_FIELD, OFF(ornic_cmd_set_rx_mode, hdr.data));

	good = drv_cmd(ORNIC_CMD_SET_MAC);
	drv_refused(d, &good, ORNIC_CMDS_FIELD, OFF(ornic_cmd_set_mac, mac));
	good.mac.mac[0] = 3;
	drv_refused(d, &good, ORNIC_CMDS_FIELD, OFF(ornic_cmd_set_mac, mac));
	good.mac.mac[0] = 2;
	drv_do(d, &good);
	/* The permanent address stays. */
	CHECK_EQ(drv_reg(d, ORNIC_REG_MAC_HI), 0x0100);

	good = drv_cmd(ORNIC_CMD_SET_PORT);
	good.port.mtu = cpu_to_le32(1500);
	WRONG(FIELD, ornic_cmd_set_port, up, 2);
	WRONG(FIELD, ornic_cmd_set_port, mtu, 67);
	WRONG(FIELD, ornic_cmd_set_port, mtu, 1501);
	WRONG(FIELD, ornic_cmd_set_port, mtu, 0xffffffff);
	drv_do(d, &good);
}

static const struct test tests[] = {
	{"opcodes", opcodes},
	{"mbz", mbz},
	{"query_device", query_device},
	{"query_stats", query_stats},
	{"qmem_levels", qmem_levels},
	{"create_eq", create_eq},
	{"create_cq", create_cq},
	{"create_qp", create_qp},
	{"privileged_qp", privileged_qp},
	{"modify_query_qp", modify_query_qp},
	{"reg_mr", reg_mr},
	{"reg_mr_edges", reg_mr_edges},
	{"alloc_mr", alloc_mr},
	{"nexthop", nexthop},
	{"listen", listen},
	{"open_conn", open_conn},
	{"accept_refuse", accept_refuse},
	{"conn_states", conn_states},
	{"create_txq", create_txq},
	{"create_rxq", create_rxq},
	{"port", port},
};

int main(int argc, char **argv)
{
	return test_main(argc, argv, tests, ARRAY_SIZE(tests));
}
