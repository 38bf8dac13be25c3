// SPDX-License-Identifier: GPL-2.0-or-later
#include "pair.h"

void end_init(struct end *e, struct drv *d, u8 host)
{
	union drv_cmd c = drv_cmd(ORNIC_CMD_SET_PORT);

	*e = (struct end){.d = d, .host = host};
	e->async = drv_eq_new(d, EQN_ASYNC, ORNIC_EQ_ASYNC, 5);
	e->tcp = drv_eq_new(d, EQN_TCP, ORNIC_EQ_TCP, 5);
	e->comp = drv_eq_new(d, EQN_COMP, ORNIC_EQ_COMP, 5);
	e->cq = drv_cq_new(d, 9, EQN_COMP, 8, 0);
	e->buf = drv_alloc(d, END_BUF_SIZE);
	c.port.up = cpu_to_le32(1);
	c.port.mtu = cpu_to_le32(1500);
	drv_do(d, &c);
}

static void end_mtu(struct end *e, u32 mtu)
{
	union drv_cmd c = drv_cmd(ORNIC_CMD_SET_PORT);

	c.port.up = cpu_to_le32(1);
	c.port.mtu = cpu_to_le32(mtu);
	drv_do(e->d, &c);
}

void pair_start(struct end *a, struct end *b, u32 mtu)
{
	char wa[200], wb[200];

	snprintf(wa, sizeof(wa), "dgram:local=%s/w0,remote=%s/w1,mtu=%u", drv_dir(), drv_dir(),
		 PAIR_MTU);
	snprintf(wb, sizeof(wb), "dgram:local=%s/w1,remote=%s/w0,mtu=%u", drv_dir(), drv_dir(),
		 PAIR_MTU);
	end_init(a, drv_start(&(struct drv_opts){.wire = wa, .mac_last = 1}), 1);
	end_init(b, drv_start(&(struct drv_opts){.wire = wb, .mac_last = 2}), 2);
	end_mtu(a, mtu);
	end_mtu(b, mtu);
	drv_nexthop(a->d, 0, b->d->mac, (u16)mtu, 0);
	drv_nexthop(b->d, 0, a->d->mac, (u16)mtu, 0);
}

void end_qp(struct end *e, u16 flags)
{
	e->qp = drv_qp_new(e->d, END_QP, END_PD, e->cq.cqn, e->cq.cqn, flags, 0);
	drv_reg_mr(e->d, END_STAG, END_PD, e->buf, END_BUF_SIZE,
		   ORNIC_ACC_LOCAL_WRITE | ORNIC_ACC_REMOTE_WRITE | ORNIC_ACC_REMOTE_READ);
}

void pair_connect(struct end *a, struct end *b, u16 port)
{
	union drv_cmd listen = drv_listen_cmd(1, b->host, port), accept, open;
	u8 frame[ORNIC_TEQ_SLOT_SIZE];
	struct ornic_teqe e;

	open = drv_open_cmd(END_CONN, 0, a->host, 40000, b->host, port);
	drv_do(b->d, &listen);
	drv_do(a->d, &open);
	e = drv_tcp_event(b->d, &b->tcp, ORNIC_TCP_CONN_REQ, 0, frame);
	CHECK_EQ(le32_to_cpu(e.listen_id), 1);
	accept = drv_accept_cmd(le32_to_cpu(e.syn_id), END_CONN, 0);
	drv_do(b->d, &accept);
	drv_tcp_event(a->d, &a->tcp, ORNIC_TCP_ESTABLISHED, END_CONN, NULL);
	drv_tcp_event(b->d, &b->tcp, ORNIC_TCP_ESTABLISHED, END_CONN, NULL);
}

void pair_stream(struct end *from, struct end *to, const void *data, u32 len, u64 offset)
{
	u8 slot[ORNIC_TEQ_SLOT_SIZE];
	struct ornic_teqe e;
	u32 got = 0, n;

	CHECK_EQ(drv_stream_tx(from->d, END_CONN, data, len), ORNIC_CMDS_OK);
	while (got < len) {
		e = drv_tcp_event(to->d, &to->tcp, ORNIC_TCP_STREAM_RX, END_CONN, slot);
		n = le16_to_cpu(e.data_len);
		CHECK_EQ(le64_to_cpu(e.offset), offset + got);
		CHECK(n && n <= len - got);
		CHECK_MEM(slot, (const u8 *)data + got, n);
		got += n;
	}
}

u16 pair_reads = 8;

union drv_cmd end_rdma_cmd(struct end *e, u8 role, u8 rtr, u16 flags, u64 rx_offset)
{
	union drv_cmd c = drv_cmd(ORNIC_CMD_MODE_RDMA);

	c.rdma.conn_id = cpu_to_le32(END_CONN);
	c.rdma.qpn = cpu_to_le32(END_QP);
	c.rdma.role = role;
	c.rdma.rtr = rtr;
	c.rdma.flags = cpu_to_le16(flags);
	c.rdma.ird = cpu_to_le16(pair_reads);
	c.rdma.ord = cpu_to_le16(pair_reads);
	c.rdma.rx_offset = cpu_to_le64(rx_offset);
	return c;
}

/* What one side sends the other expects. */
static u16 mirrored(u16 flags)
{
	return (flags & ORNIC_RDMAF_CRC) |
	       (flags & ORNIC_RDMAF_TX_MARKERS ? ORNIC_RDMAF_RX_MARKERS : 0) |
	       (flags & ORNIC_RDMAF_RX_MARKERS ? ORNIC_RDMAF_TX_MARKERS : 0);
}

void pair_rdma(struct end *a, struct end *b, u16 flags, u8 rtr)
{
	static const char request[20] = "request of the peer",
			  reply[24] = "reply, goes with switch";
	u8 slot[ORNIC_TEQ_SLOT_SIZE];
	u64 data = drv_alloc(b->d, sizeof(reply));
	struct ornic_teqe e;
	union drv_cmd c;

	end_qp(a, 0);
	end_qp(b, 0);
	pair_connect(a, b, 4791);
	pair_stream(a, b, request, sizeof(request), 0);
	memcpy(drv_ptr(b->d, data, sizeof(reply)), reply, sizeof(reply));
	c = end_rdma_cmd(b, ORNIC_ROLE_RESPONDER, rtr, mirrored(flags), sizeof(request));
	c.hdr.data = cpu_to_le64(data);
	c.rdma.data_len = cpu_to_le32(sizeof(reply));
	drv_do(b->d, &c);
	e = drv_tcp_event(a->d, &a->tcp, ORNIC_TCP_STREAM_RX, END_CONN, slot);
	CHECK_EQ(le16_to_cpu(e.data_len), sizeof(reply));
	CHECK_MEM(slot, reply, sizeof(reply));
	c = end_rdma_cmd(a, ORNIC_ROLE_INITIATOR, rtr, flags, sizeof(reply));
	drv_do(a->d, &c);
	if (rtr)
		drv_tcp_event(b->d, &b->tcp, ORNIC_TCP_FIRST_FPDU, END_CONN, NULL);
}

struct ornic_cqe end_cqe(struct end *e, u8 opcode, u32 index, u8 status)
{
	struct ornic_cqe cqe;

	if (!drv_cq_next(e->d, &e->cq, &cqe, DRV_WAIT_MS))
		test_fail(__FILE__, __LINE__, "no completion of opcode 0x%x, index %u came", opcode,
			  index);
	if (cqe.opcode != opcode || le32_to_cpu(cqe.wqe_index) != index || cqe.status != status)
		test_fail(
			__FILE__, __LINE__,
			"completion opcode 0x%x index %u status %u syndrome %u; expected 0x%x, %u, %u",
			cqe.opcode, le32_to_cpu(cqe.wqe_index), cqe.status,
			le16_to_cpu(cqe.syndrome), opcode, index, status);
	CHECK_EQ(le32_to_cpu(cqe.qpn), END_QP);
	return cqe;
}

void end_no_cqe(struct end *e)
{
	struct ornic_cqe cqe;

	if (drv_cq_next(e->d, &e->cq, &cqe, 50))
		test_fail(__FILE__, __LINE__,
			  "a completion too many: opcode 0x%x index %u status %u", cqe.opcode,
			  le32_to_cpu(cqe.wqe_index), cqe.status);
}

static void set_sge(struct end *e, struct ornic_sge *sge, u32 off, u32 len)
{
	sge->addr = cpu_to_le64(e->buf + off);
	sge->length = cpu_to_le32(len);
	sge->stag = cpu_to_le32(END_STAG);
}

void end_recv(struct end *e, u32 off, u32 len)
{
	struct ornic_rq_wqe *w = drv_rq_wqe(e->d, &e->qp);

	w->num_sge = 1;
	set_sge(e, &w->sge[0], off, len);
	drv_rq_ring(e->d, &e->qp);
}

struct ornic_sq_wqe_msg *end_send(struct end *e, u8 opcode, u8 flags, u32 off, u32 len)
{
	struct ornic_sq_wqe_msg *w = drv_sq_wqe(e->d, &e->qp);

	w->hdr.opcode = opcode;
	w->hdr.flags = flags;
	w->hdr.num_sge = 1;
	set_sge(e, &w->sge[0], off, len);
	return w;
}
