// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The driver's side of the device: commands, doorbells, work requests and everything else in guest
 * memory, against a device that has a connection in RDMA mode with itself.
 *
 * Input: a sequence of operations, one byte of kind and its arguments. What is missing is zero.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hw/cmdq.h"
#include "hw/conn.h"
#include "hw/dev.h"
#include "iwarp/iwarp.h"
#include "nic/nic.h"

#define MEM_BASE 0x100000ULL
#define MEM_SIZE 0x100000u

/* Where things lie in guest memory, offsets */
#define AT_CMDQ 0x0000
#define AT_EQ	0x4000 /* three of 4 KiB */
#define AT_TEQ	0x8000 /* 16 slots of 2 KiB */
#define AT_CQ	0x10000
#define AT_QP	0x20000 /* two of 64 KiB */
#define AT_ETH	0x40000 /* TX, RX */
#define AT_DATA 0x80000
#define QP_SIZE 0x10000
#define SQ_OFF	0x1000
#define RQ_OFF	0x8000
#define STRIDE	8 /* log2, SQ */
#define RSTRIDE 6

static u64 clock_ns = 1000000000;
static struct loop *loop;
static struct rnic *dev;
static u8 *mem;
static int memfd;

static u64 fake_now(void *priv)
{
	return clock_ns;
}

struct input {
	const u8 *p;
	size_t len;
};

static void take(struct input *in, void *dst, size_t n)
{
	size_t have = min(n, in->len);

	memset(dst, 0, n);
	memcpy(dst, in->p, have);
	in->p += have;
	in->len -= have;
}

static u32 take32(struct input *in)
{
	u8 b[4];

	take(in, b, 4);
	return get_le32(b);
}

static u32 take16(struct input *in)
{
	u8 b[2];

	take(in, b, 2);
	return get_le16(b);
}

static u8 take8(struct input *in)
{
	u8 b;

	take(in, &b, 1);
	return b;
}

/* ---- the device's life before the input ---- */

static struct ornic_qmem at(u32 off, u32 len)
{
	return (struct ornic_qmem){
		.addr = MEM_BASE + off, .npages = DIV_ROUND_UP(len, 4096), .page_shift = 12};
}

static void must(const void *cmd)
{
	struct cmd_ret ret = cmdq_exec(dev, cmd);

	if (ret.status) {
		fprintf(stderr, "set-up: command 0x%x status %u byte %u\n", *(const u16 *)cmd,
			ret.status, ret.syndrome);
		abort();
	}
}

#define HDR(OP) .hdr = {.opcode = ORNIC_CMD_##OP}

static void make_eqs(void)
{
	u8 kind;

	for (kind = 0; kind < 3; kind++) {
		struct ornic_cmd_create_eq c = {
			HDR(CREATE_EQ),	  .eqn = kind,	  .kind = kind,
			.depth_shift = 4, .vector = kind, .ring = at(AT_EQ + kind * 4096u, 4096)};

		if (kind == ORNIC_EQ_TCP)
			c.data = at(AT_TEQ, 0x8000);
		must(&c);
	}
}

static void make_qp(u32 n)
{
	struct ornic_cmd_create_qp c = {HDR(CREATE_QP),
					.qpn = n,
					.pdn = 1,
					.send_cqn = 1,
					.recv_cqn = 1,
					.sq_shift = 4,
					.sq_stride_shift = STRIDE,
					.rq_shift = 4,
					.rq_stride_shift = RSTRIDE,
					.flags = ORNIC_QPF_PRIVILEGED,
					.access = ORNIC_ACC_REMOTE_WRITE | ORNIC_ACC_REMOTE_READ,
					.mem = at(AT_QP + (n - 1) * QP_SIZE, QP_SIZE),
					.sq_off = SQ_OFF,
					.rq_off = RQ_OFF};

	must(&c);
}

static void make_eth(void)
{
	struct ornic_cmd_create_ethq c = {HDR(CREATE_TXQ), .depth_shift = 4,
					  .mem = at(AT_ETH, 0x2000), .rec_off = 0x1000};
	struct ornic_cmd_set_port port = {HDR(SET_PORT), .up = 1, .mtu = 1500};
	struct ornic_cmd_set_rx_mode mode = {HDR(SET_RX_MODE), .mode = ORNIC_RXM_PROMISC};

	must(&c);
	c.hdr.opcode = ORNIC_CMD_CREATE_RXQ;
	c.mem = at(AT_ETH + 0x2000, 0x2000);
	c.comp_off = 0x800;
	must(&c);
	must(&port);
	must(&mode);
}

static void make_objects(void)
{
	struct ornic_cmd_create_cq cq = {HDR(CREATE_CQ),
					 .cqn = 1,
					 .eqn = ORNIC_EQ_COMP,
					 .depth_shift = 8,
					 .mem = at(AT_CQ, 0x10000),
					 .ring_off = 128};
	struct ornic_cmd_reg_mr mr = {HDR(REG_MR),
				      .stag = 0x101,
				      .pdn = 1,
				      .iova = AT_DATA,
				      .length = 0x80000,
				      .mem = at(AT_DATA, 0x80000),
				      .access = ORNIC_ACC_LOCAL_WRITE | ORNIC_ACC_REMOTE_WRITE |
						ORNIC_ACC_REMOTE_READ};
	struct ornic_cmd_alloc_mr fr = {HDR(ALLOC_MR), .stag = 0x200, .pdn = 1, .max_pages = 16};

	make_eqs();
	must(&cq);
	make_qp(1);
	make_qp(2);
	must(&mr);
	must(&fr);
	make_eth();
}

static void turn(u64 ns)
{
	clock_ns += ns;
	loop_run_once(loop, 0);
}

/* Connection 1 calls connection 2, both in this device; QP 1 and 2 go into RDMA mode. */
static void make_conn(bool crc)
{
	struct ornic_tcp_opts opts = {.options = ORNIC_TCPO_SACK | ORNIC_TCPO_WSCALE,
				      .window = 65536,
				      .ttl = 64,
				      .syn_retries = 3};
	struct ornic_cmd_set_nexthop nh = {HDR(SET_NEXTHOP), .flags = ORNIC_NHF_LOOP, .mtu = 1500};
	struct ornic_cmd_listen li = {HDR(LISTEN), .listen_id = 1, .port = 80,
				      .family = ORNIC_FAMILY_IPV4, .backlog = 4};
	struct ornic_cmd_open op = {
		HDR(OPEN),     .conn_id = 1, .laddr = {10, 0, 0, 1},	  .raddr = {10, 0, 0, 1},
		.lport = 5000, .rport = 80,  .family = ORNIC_FAMILY_IPV4, .opts = opts};
	struct ornic_cmd_accept ac = {HDR(ACCEPT), .conn_id = 2, .opts = opts};
	struct ornic_cmd_mode_rdma rd = {HDR(MODE_RDMA), .ird = 4, .ord = 4,
					 .flags = crc ? ORNIC_RDMAF_CRC : 0};
	const struct ornic_teqe *e = (const void *)(mem + AT_EQ + ORNIC_EQ_TCP * 4096);

	memcpy(nh.dmac, dev->mac, 6);
	memcpy(nh.smac, dev->mac, 6);
	must(&nh);
	must(&li);
	must(&op);
	turn(1000);
	ac.syn_id = e->syn_id;
	must(&ac);
	turn(1000);
	rd.conn_id = 2;
	rd.qpn = 2;
	rd.role = ORNIC_ROLE_RESPONDER;
	must(&rd);
	rd.conn_id = 1;
	rd.qpn = 1;
	rd.role = ORNIC_ROLE_INITIATOR;
	must(&rd);
	turn(1000);
}

static void begin(void)
{
	memset(mem, 0, MEM_SIZE);
	dma_unmap_all(dev->dma);
	if (dma_map(dev->dma, MEM_BASE, MEM_SIZE, DMA_PROT_RW, memfd, 0))
		abort();
	dma_set_enabled(dev->dma, true);
	rnic_reset(dev);
	rnic_bar_write(dev, ORNIC_BAR_REGS, ORNIC_REG_CMDQ_SQ_LO, 8, MEM_BASE + AT_CMDQ);
	rnic_bar_write(dev, ORNIC_BAR_REGS, ORNIC_REG_CMDQ_CQ_LO, 8, MEM_BASE + AT_CMDQ + 0x1000);
	rnic_bar_write(dev, ORNIC_BAR_REGS, ORNIC_REG_CMDQ_CFG, 4, 4);
	rnic_bar_write(dev, ORNIC_BAR_REGS, ORNIC_REG_CONTROL, 4, ORNIC_CONTROL_ENABLE);
	make_objects();
}

/* ---- operations ---- */

enum {
	OP_CMD, /* 128 bytes, opcode and numbers first */
	OP_DOORBELL, /* offset, value */
	OP_MEM, /* offset, length, bytes */
	OP_TURN, /* time */
	OP_FRAME, /* length, bytes */
	OP_REG, /* offset, value */
	OP_SQ, /* QP, number of 16-byte units, bytes: WQE with the right index, doorbell */
	OP_RQ,
	OP_UNMAP, /* page: guest memory goes, or comes back */
	OP_COUNT,
};

static void op_cmd(struct input *in)
{
	u64 cmd[16];
	u8 n = take8(in) % 128 + 1;

	memset(cmd, 0, sizeof(cmd));
	take(in, cmd, n);
	if (rnic_ready(dev))
		cmdq_exec(dev, cmd);
}

static void op_doorbell(struct input *in)
{
	u32 page = take8(in) & 3, kind = take8(in);
	u64 val = take32(in);

	val |= (u64)take32(in) << 32;
	rnic_bar_write(dev, ORNIC_BAR_DB, page * 4096u + (kind & 0x78), 8, val);
}

static void op_mem(struct input *in)
{
	u32 off = take32(in) % MEM_SIZE, len = take8(in);

	take(in, mem + off, min(len, MEM_SIZE - off));
}

static void op_frame(struct input *in)
{
	static const struct wire_meta none;
	u8 buf[256 + 2];
	u32 len = take8(in);

	take(in, buf + 2, len);
	nic_wire_ops.rx(dev, buf + 2, len, &none);
}

static u32 sq_pi[3], rq_pi[3];

static void op_wqe(struct input *in, bool send)
{
	u32 n = 1 + take8(in) % 2, len = (take8(in) % (send ? 16 : 4) + 1) * 16;
	u32 *pi = send ? sq_pi : rq_pi;
	u8 *wqe = mem + AT_QP + (n - 1) * QP_SIZE + (send ? SQ_OFF : RQ_OFF) +
		  ((pi[n] & 15) << (send ? STRIDE : RSTRIDE));

	take(in, wqe, len);
	put_le32(wqe + (send ? 12 : 4), pi[n]);
	pi[n]++;
	rnic_bar_write(dev, ORNIC_BAR_DB, send ? ORNIC_DB_SQ : ORNIC_DB_RQ, 8,
		       n | (u64)pi[n] << 32);
}

static void op_unmap(struct input *in)
{
	static bool gone;

	dma_unmap_all(dev->dma);
	gone = take8(in) & 1;
	if (!gone && dma_map(dev->dma, MEM_BASE, MEM_SIZE, DMA_PROT_RW, memfd, 0))
		abort();
}

static void operation(struct input *in)
{
	u32 off;

	switch (take8(in) % OP_COUNT) {
	case OP_CMD:
		op_cmd(in);
		break;
	case OP_DOORBELL:
		op_doorbell(in);
		break;
	case OP_MEM:
		op_mem(in);
		break;
	case OP_TURN:
		turn(take32(in) * 1000ULL);
		break;
	case OP_FRAME:
		op_frame(in);
		break;
	case OP_REG:
		off = take16(in) & 0x7c;
		rnic_bar_write(dev, ORNIC_BAR_REGS, off, 4, take32(in));
		(void)rnic_bar_read(dev, ORNIC_BAR_REGS, off, 4);
		break;
	case OP_SQ:
		op_wqe(in, true);
		break;
	case OP_RQ:
		op_wqe(in, false);
		break;
	case OP_UNMAP:
		op_unmap(in);
		break;
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct rnic_config cfg = {
		.mac = {2, 0, 0, 0, 0, 1}, .db_stride_shift = 12, .db_pages = 4, .wire = "null"};
	char err[128];

	log_set_level(LOG_LVL_ERR);
	loop = loop_new(&(struct loop_clock){fake_now, NULL});
	dev = rnic_new(loop, &cfg, err, sizeof(err));
	memfd = memfd_create("fuzz", 0);
	if (!dev || memfd < 0 || ftruncate(memfd, MEM_SIZE))
		abort();
	mem = mmap(NULL, MEM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	return mem == MAP_FAILED ? -1 : 0;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = {data, size};
	u8 how = take8(&in);
	FILE *null;

	memset(sq_pi, 0, sizeof(sq_pi));
	memset(rq_pi, 0, sizeof(rq_pi));
	begin();
	if (how & 1)
		make_conn(how & 2);
	while (in.len)
		operation(&in);
	/* Whatever time-outs are left, and the dump of what came out of it. */
	turn(200000000000ULL);
	null = fopen("/dev/null", "w");
	iw_dump(dev, null);
	nic_dump(dev, null);
	fclose(null);
	turn(0);
	return 0;
}
