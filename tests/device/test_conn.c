// SPDX-License-Identifier: GPL-2.0-or-later
/* Two devices: connection set-up and end, streaming mode, the switch to RDMA mode, and messages
 * over it. */
#include "pair.h"

static struct end a, b;

static struct ornic_conn_attr query(struct end *e, u32 conn)
{
	u64 buf = drv_alloc(e->d, 4096);
	union drv_cmd c = drv_cmd(ORNIC_CMD_QUERY_CONN);

	c.hdr.data = cpu_to_le64(buf);
	c.number.number = cpu_to_le32(conn);
	drv_do(e->d, &c);
	return *(struct ornic_conn_attr *)drv_ptr(e->d, buf, sizeof(struct ornic_conn_attr));
}

static void check_free(struct end *e)
{
	struct ornic_teqe ev;

	CHECK_EQ(drv_number(e->d, ORNIC_CMD_FREE_CONN, END_CONN), ORNIC_CMDS_OK);
	CHECK_EQ(drv_number(e->d, ORNIC_CMD_FREE_CONN, END_CONN), ORNIC_CMDS_NOT_FOUND);
	CHECK(!drv_eq_next(e->d, &e->tcp, &ev, NULL, 20));
}

static void connect_and_close(void)
{
	struct ornic_conn_attr q;

	pair_start(&a, &b, 1500);
	pair_connect(&a, &b, 80);
	q = query(&a, END_CONN);
	CHECK_EQ(q.state, ORNIC_CONN_STREAM);
	CHECK_EQ(q.tcp_state, 4);
	CHECK_EQ(le16_to_cpu(q.lport), 40000);
	CHECK_EQ(le16_to_cpu(q.rport), 80);
	/* 1500 - 40 - 12 bytes of timestamps */
	CHECK_EQ(le16_to_cpu(q.snd_mss), 1448);
	CHECK_EQ(le16_to_cpu(q.options),
		 ORNIC_TCPO_WSCALE | ORNIC_TCPO_TIMESTAMPS | ORNIC_TCPO_SACK);
	CHECK_EQ(drv_stat(a.d, ORNIC_STAT_TCP_CURR_ESTAB), 1);
	CHECK_EQ(drv_number(a.d, ORNIC_CMD_CLOSE, END_CONN), ORNIC_CMDS_OK);
	CHECK_EQ(drv_number(a.d, ORNIC_CMD_CLOSE, END_CONN), ORNIC_CMDS_OK);
	drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_PEER_FIN, END_CONN, NULL);
	drv_tcp_event(a.d, &a.tcp, ORNIC_TCP_FIN_ACKED, END_CONN, NULL);
	CHECK_EQ(drv_number(b.d, ORNIC_CMD_CLOSE, END_CONN), ORNIC_CMDS_OK);
	drv_tcp_event(a.d, &a.tcp, ORNIC_TCP_PEER_FIN, END_CONN, NULL);
	drv_tcp_event(a.d, &a.tcp, ORNIC_TCP_CLOSED, END_CONN, NULL);
	drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_FIN_ACKED, END_CONN, NULL);
	drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_CLOSED, END_CONN, NULL);
	CHECK_EQ(query(&a, END_CONN).state, ORNIC_CONN_ENDED);
	CHECK_EQ(drv_number(a.d, ORNIC_CMD_ABORT, END_CONN), ORNIC_CMDS_GONE);
	check_free(&a);
	check_free(&b);
	CHECK_EQ(drv_stat(a.d, ORNIC_STAT_TCP_CURR_ESTAB), 0);
}

static void refused_and_reset(void)
{
	union drv_cmd c;
	struct ornic_teqe e;

	pair_start(&a, &b, 1500);
	/* A listener that refuses. */
	c = drv_listen_cmd(1, 0, 81);
	drv_do(b.d, &c);
	c = drv_open_cmd(END_CONN, 0, 1, 40001, 2, 81);
	drv_do(a.d, &c);
	e = drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_CONN_REQ, 0, NULL);
	c = drv_cmd(ORNIC_CMD_REFUSE);
	c.refuse.syn_id = e.syn_id;
	drv_do(b.d, &c);
	drv_refused(b.d, &c, ORNIC_CMDS_GONE, OFF(ornic_cmd_refuse, syn_id));
	drv_tcp_event(a.d, &a.tcp, ORNIC_TCP_REFUSED, END_CONN, NULL);
	check_free(&a);
	/* UNLISTEN refuses what it holds. */
	c = drv_open_cmd(END_CONN, 0, 1, 40002, 2, 81);
	drv_do(a.d, &c);
	e = drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_CONN_REQ, 0, NULL);
	CHECK_EQ(drv_number(b.d, ORNIC_CMD_UNLISTEN, 1), ORNIC_CMDS_OK);
	drv_tcp_event(a.d, &a.tcp, ORNIC_TCP_REFUSED, END_CONN, NULL);
	check_free(&a);
	c = drv_accept_cmd(le32_to_cpu(e.syn_id), END_CONN, 0);
	CHECK_EQ(drv_exec(b.d, &c), ORNIC_CMDS_GONE);
	/* RST on an established connection. */
	pair_connect(&a, &b, 82);
	CHECK_EQ(drv_number(a.d, ORNIC_CMD_ABORT, END_CONN), ORNIC_CMDS_OK);
	e = drv_tcp_event(a.d, &a.tcp, ORNIC_TCP_ABORTED, END_CONN, NULL);
	CHECK_EQ(le32_to_cpu(e.info), ORNIC_ABORT_COMMAND);
	drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_PEER_RST, END_CONN, NULL);
	CHECK_EQ(drv_number(a.d, ORNIC_CMD_ABORT, END_CONN), ORNIC_CMDS_GONE);
	check_free(&a);
	check_free(&b);
}

/* What a connection has to tell waits for a TCP EQ. */
static void eq_made_anew(void)
{
	pair_start(&a, &b, 1500);
	pair_connect(&a, &b, 80);
	CHECK_EQ(drv_number(a.d, ORNIC_CMD_DESTROY_EQ, EQN_TCP), ORNIC_CMDS_OK);
	CHECK_EQ(drv_number(b.d, ORNIC_CMD_CLOSE, END_CONN), ORNIC_CMDS_OK);
	drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_FIN_ACKED, END_CONN, NULL);
	CHECK_EQ(drv_number(a.d, ORNIC_CMD_CLOSE, END_CONN), ORNIC_CMDS_OK);
	drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_PEER_FIN, END_CONN, NULL);
	drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_CLOSED, END_CONN, NULL);
	a.tcp = drv_eq_new(a.d, EQN_TCP, ORNIC_EQ_TCP, 5);
	drv_tcp_event(a.d, &a.tcp, ORNIC_TCP_PEER_FIN, END_CONN, NULL);
	drv_tcp_event(a.d, &a.tcp, ORNIC_TCP_FIN_ACKED, END_CONN, NULL);
	drv_tcp_event(a.d, &a.tcp, ORNIC_TCP_CLOSED, END_CONN, NULL);
	check_free(&a);
}

/* FREE_CONN of a living connection: silent here, RST there. */
static void free_alive(void)
{
	pair_start(&a, &b, 1500);
	pair_connect(&a, &b, 80);
	check_free(&a);
	drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_PEER_RST, END_CONN, NULL);
	check_free(&b);
}

static void syn_timeout(void)
{
	static const u8 nobody[6] = {2, 0, 0, 0, 0, 0x99};
	union drv_cmd c;
	struct ornic_teqe e;

	pair_start(&a, &b, 1500);
	drv_nexthop(a.d, 1, nobody, 1500, 0);
	c = drv_open_cmd(END_CONN, 1, 1, 40001, 2, 81);
	c.open.opts.syn_retries = 0;
	drv_do(a.d, &c);
	e = drv_tcp_event(a.d, &a.tcp, ORNIC_TCP_TIMEOUT, END_CONN, NULL);
	CHECK_EQ(le32_to_cpu(e.info), ORNIC_TIMER_SYN);
	CHECK_EQ(drv_number(a.d, ORNIC_CMD_CLEAR_NEXTHOP, 1), ORNIC_CMDS_OK);
	CHECK_EQ(drv_stat(a.d, ORNIC_STAT_WIRE_TX_FRAMES), 1);
	check_free(&a);
}

/* Nothing is sent without a neighbour, and the end names the reason: ICMP host unreachable. */
static void syn_unreachable(void)
{
	union drv_cmd c;
	struct ornic_teqe e;

	pair_start(&a, &b, 1500);
	drv_nexthop(a.d, 1, b.d->mac, 1500, ORNIC_NHF_DEAD);
	c = drv_open_cmd(END_CONN, 1, 1, 40001, 2, 81);
	c.open.opts.syn_retries = 0;
	drv_do(a.d, &c);
	e = drv_tcp_event(a.d, &a.tcp, ORNIC_TCP_UNREACH, END_CONN, NULL); /* after a second */
	CHECK_EQ(le32_to_cpu(e.info), 3 << 8 | 1);
	check_free(&a);
	c.open.opts.syn_retries = 5;
	drv_do(a.d, &c);
	drv_nexthop(a.d, 1, b.d->mac, 1500, ORNIC_NHF_DEAD | ORNIC_NHF_FAILED);
	e = drv_tcp_event(a.d, &a.tcp, ORNIC_TCP_UNREACH, END_CONN, NULL); /* at once */
	CHECK_EQ(le32_to_cpu(e.info), 3 << 8 | 1);
	CHECK_EQ(drv_stat(a.d, ORNIC_STAT_WIRE_TX_FRAMES), 0);
	check_free(&a);
}

/* A dead next hop comes back to life, and so does the connection. */
static void nexthop_change(void)
{
	pair_start(&a, &b, 1500);
	pair_connect(&a, &b, 80);
	CHECK_EQ(drv_number(a.d, ORNIC_CMD_CLEAR_NEXTHOP, 0), ORNIC_CMDS_BUSY);
	drv_nexthop(a.d, 0, b.d->mac, 1500, ORNIC_NHF_DEAD);
	CHECK_EQ(drv_stream_tx(a.d, END_CONN, "lost", 4), ORNIC_CMDS_OK);
	drv_sleep_ms(50);
	drv_nexthop(a.d, 0, b.d->mac, 600, 0);
	drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_STREAM_RX, END_CONN, NULL);
	CHECK_EQ(le16_to_cpu(query(&a, END_CONN).snd_mss), 600 - 40 - 12);
}

static void stream(void)
{
	static u8 data[4096], slot[ORNIC_TEQ_SLOT_SIZE];
	union drv_cmd c;
	struct ornic_teqe e;
	u32 i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = (u8)(i * 7 + i / 256);
	pair_start(&a, &b, 1500);
	pair_connect(&a, &b, 80);
	pair_stream(&a, &b, "x", 1, 0);
	/* One byte is kept: 4095 more are delivered, the rest waits for STREAM_RX_DONE. */
	/* AGAIN until the byte before is acknowledged: 4096 may be under way. */
	for (i = 0; i < 1000 && drv_stream_tx(a.d, END_CONN, data, 4096) == ORNIC_CMDS_AGAIN; i++)
		drv_sleep_ms(1);
	CHECK_EQ(le16_to_cpu(a.d->res.status), ORNIC_CMDS_OK);
	for (i = 0; i < 4095; i += le16_to_cpu(e.data_len)) {
		e = drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_STREAM_RX, END_CONN, slot);
		CHECK_EQ(le64_to_cpu(e.offset), 1 + i);
		CHECK_MEM(slot, data + i, le16_to_cpu(e.data_len));
	}
	CHECK_EQ(i, 4095);
	CHECK(!drv_eq_next(b.d, &b.tcp, &e, NULL, 50));
	c = drv_cmd(ORNIC_CMD_STREAM_RX_DONE);
	c.rx_done.conn_id = cpu_to_le32(END_CONN);
	c.rx_done.offset = cpu_to_le64(4097);
	drv_refused(b.d, &c, ORNIC_CMDS_FIELD, OFF(ornic_cmd_stream_rx_done, offset));
	c.rx_done.offset = cpu_to_le64(1);
	drv_do(b.d, &c);
	e = drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_STREAM_RX, END_CONN, slot);
	CHECK_EQ(le64_to_cpu(e.offset), 4096);
	CHECK_EQ(slot[0], data[4095]);
	/* Lengths */
	CHECK_EQ(drv_stream_tx(a.d, END_CONN, data, 0), ORNIC_CMDS_FIELD);
	c = drv_cmd(ORNIC_CMD_STREAM_TX);
	c.stream_tx.conn_id = cpu_to_le32(END_CONN);
	c.stream_tx.len = cpu_to_le32(4097);
	drv_refused(a.d, &c, ORNIC_CMDS_FIELD, OFF(ornic_cmd_stream_tx, len));
	c.stream_tx.len = cpu_to_le32(16);
	c.hdr.data = cpu_to_le64(0x7000000000);
	drv_refused(a.d, &c, ORNIC_CMDS_ADDRESS, OFF(ornic_cmd_hdr, data));
}

/* More than stream_max unacknowledged is refused. */
static void stream_full(void)
{
	static u8 data[4096];

	pair_start(&a, &b, 1500);
	pair_connect(&a, &b, 80);
	drv_nexthop(a.d, 0, b.d->mac, 1500, ORNIC_NHF_DEAD);
	CHECK_EQ(drv_stream_tx(a.d, END_CONN, data, 4000), ORNIC_CMDS_OK);
	CHECK_EQ(drv_stream_tx(a.d, END_CONN, data, 97), ORNIC_CMDS_AGAIN);
	CHECK_EQ(drv_stream_tx(a.d, END_CONN, data, 96), ORNIC_CMDS_OK);
}

/* The TCP EQ is full: events wait in their connections and come in order. */
static void eq_full(void)
{
	struct ornic_teqe e;
	union drv_cmd c;
	u32 i;

	pair_start(&a, &b, 1500);
	pair_connect(&a, &b, 80);
	/* One byte for each of b's 32 entries; they are seen, but the device is not told so. */
	for (i = 0; i < 32; i++) {
		CHECK_EQ(drv_stream_tx(a.d, END_CONN, "y", 1), ORNIC_CMDS_OK);
		CHECK(drv_eq_next(b.d, &b.tcp, &e, NULL, DRV_WAIT_MS));
		CHECK_EQ(e.type, ORNIC_TCP_STREAM_RX);
		CHECK_EQ(le64_to_cpu(e.offset), i);
	}
	CHECK_EQ(drv_stream_tx(a.d, END_CONN, "eight of", 8), ORNIC_CMDS_OK);
	for (i = 0; i < 1000 && !drv_stat(b.d, ORNIC_STAT_EQ_FULL); i++)
		drv_sleep_ms(1);
	CHECK_EQ(drv_stat(b.d, ORNIC_STAT_EQ_FULL), 1);
	c = drv_open_cmd(END_CONN + 1, 0, 1, 40009, 2, 80);
	drv_do(a.d, &c);
	for (i = 0; i < 1000 && !drv_stat(b.d, ORNIC_STAT_TCP_SYN_DROP); i++)
		drv_sleep_ms(1);
	CHECK(drv_stat(b.d, ORNIC_STAT_TCP_SYN_DROP) >= 1);
	CHECK_EQ(drv_number(a.d, ORNIC_CMD_ABORT, END_CONN), ORNIC_CMDS_OK);
	drv_sleep_ms(50);
	CHECK(!drv_eq_next(b.d, &b.tcp, &e, NULL, 0));
	/* Room: what waited is there, in order, the bytes in one event. */
	drv_eq_arm(b.d, &b.tcp, false);
	e = drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_STREAM_RX, END_CONN, NULL);
	CHECK_EQ(le64_to_cpu(e.offset), 32);
	CHECK_EQ(le16_to_cpu(e.data_len), 8);
	drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_PEER_RST, END_CONN, NULL);
	/* The dropped SYN is sent again. */
	drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_CONN_REQ, 0, NULL);
}

static void mode_rdma_wrong(void)
{
	union drv_cmd c, good;

	pair_start(&a, &b, 1500);
	end_qp(&b, 0);
	good = end_rdma_cmd(&b, ORNIC_ROLE_RESPONDER, 0, 0, 0);
	drv_refused(b.d, &good, ORNIC_CMDS_NOT_FOUND, OFF(ornic_cmd_mode_rdma, conn_id));
	pair_connect(&a, &b, 80);
#define WRONG(field, value, status)                                            \
	do {                                                                   \
		c = good;                                                      \
		c.rdma.field = value;                                          \
		drv_refused(b.d, &c, status, OFF(ornic_cmd_mode_rdma, field)); \
	} while (0)
	WRONG(qpn, 0, ORNIC_CMDS_NUMBER);
	WRONG(qpn, 0xffffffff, ORNIC_CMDS_NUMBER);
	WRONG(qpn, 77, ORNIC_CMDS_NOT_FOUND);
	WRONG(role, 2, ORNIC_CMDS_FIELD);
	WRONG(rtr, 4, ORNIC_CMDS_FIELD);
	WRONG(flags, BIT(3), ORNIC_CMDS_FIELD);
	WRONG(ird, 0xffff, ORNIC_CMDS_FIELD);
	WRONG(ord, 0xffff, ORNIC_CMDS_FIELD);
	WRONG(data_len, 4097, ORNIC_CMDS_FIELD);
	WRONG(rx_offset, 1, ORNIC_CMDS_FIELD);
	WRONG(mbz, 1, ORNIC_CMDS_FIELD);
	WRONG(hdr.data, 4096, ORNIC_CMDS_FIELD);
#undef WRONG
	c = good;
	c.rdma.data_len = cpu_to_le32(8);
	c.hdr.data = cpu_to_le64(0x7000000000);
	drv_refused(b.d, &c, ORNIC_CMDS_ADDRESS, OFF(ornic_cmd_hdr, data));
	/* All that changed nothing. */
	drv_do(b.d, &good);
	drv_refused(b.d, &good, ORNIC_CMDS_STATE, OFF(ornic_cmd_mode_rdma, conn_id));
	CHECK_EQ(drv_stream_tx(b.d, END_CONN, "z", 1), ORNIC_CMDS_STATE);
}

/* RFC 5044 7.1.2: a responder's peer that sends before the reply is cut off. */
static void early_data(void)
{
	struct ornic_teqe e;
	union drv_cmd c;

	pair_start(&a, &b, 1500);
	end_qp(&b, 0);
	pair_connect(&a, &b, 80);
	pair_stream(&a, &b, "request+early", 13, 0);
	c = end_rdma_cmd(&b, ORNIC_ROLE_RESPONDER, 0, 0, 7);
	drv_refused(b.d, &c, ORNIC_CMDS_EARLY_DATA, OFF(ornic_cmd_mode_rdma, rx_offset));
	e = drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_ABORTED, END_CONN, NULL);
	CHECK_EQ(le32_to_cpu(e.info), ORNIC_ABORT_EARLY_DATA);
	drv_tcp_event(a.d, &a.tcp, ORNIC_TCP_PEER_RST, END_CONN, NULL);
	drv_refused(b.d, &c, ORNIC_CMDS_GONE, OFF(ornic_cmd_mode_rdma, conn_id));
	/* The QP is as it was. */
	check_free(&b);
	CHECK_EQ(drv_number(a.d, ORNIC_CMD_FREE_CONN, END_CONN), ORNIC_CMDS_OK);
	CHECK_EQ(drv_number(b.d, ORNIC_CMD_UNLISTEN, 1), ORNIC_CMDS_OK);
	pair_connect(&a, &b, 80);
	c = end_rdma_cmd(&b, ORNIC_ROLE_RESPONDER, 0, 0, 0);
	drv_do(b.d, &c);
}

static void fill(struct end *e, u32 off, u32 len, u32 seed)
{
	u8 *p = drv_ptr(e->d, e->buf + off, len);
	u32 i;

	for (i = 0; i < len; i++)
		p[i] = (u8)(i * 13 + i / 251 + seed);
}

static void check_same(u32 a_off, u32 b_off, u32 len)
{
	CHECK_MEM(drv_ptr(a.d, a.buf + a_off, len), drv_ptr(b.d, b.buf + b_off, len), len);
}

static void post_remote(struct end *e, u8 opcode, u32 local, u32 remote, u32 len)
{
	struct end *peer = e == &a ? &b : &a;
	struct ornic_sq_wqe_msg *w = end_send(e, opcode, ORNIC_WRF_SIGNALED, local, len);

	w->remote_addr = cpu_to_le64(peer->buf + remote);
	w->remote_stag = cpu_to_le32(END_STAG);
	drv_sq_ring(e->d, &e->qp);
}

static void rdma_messages(u32 mtu, u16 flags)
{
	static const u32 len[] = {1, 4, 100, 1500, 4096, 65536, 262144};
	struct ornic_cqe cqe;
	u32 i, sq = 0, rq = 0;

	pair_start(&a, &b, mtu);
	pair_rdma(&a, &b, flags, ORNIC_RTR_NONE);
	for (i = 0; i < ARRAY_SIZE(len); i++) {
		fill(&a, 0, len[i], i);
		end_recv(&b, 0, len[i]);
		end_send(&a, ORNIC_WR_SEND, ORNIC_WRF_SIGNALED, 0, len[i]);
		drv_sq_ring(a.d, &a.qp);
		cqe = end_cqe(&b, ORNIC_CQE_RECV, rq++, ORNIC_CQE_OK);
		CHECK_EQ(le32_to_cpu(cqe.byte_len), len[i]);
		end_cqe(&a, ORNIC_WR_SEND, sq++, ORNIC_CQE_OK);
		check_same(0, 0, len[i]);
		if (!i)
			drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_FIRST_FPDU, END_CONN, NULL);

		fill(&a, 0, len[i], i + 50);
		post_remote(&a, ORNIC_WR_WRITE, 0, 300000, len[i]);
		end_cqe(&a, ORNIC_WR_WRITE, sq++, ORNIC_CQE_OK);
		check_same(0, 300000, len[i]);

		fill(&b, 600000, len[i], i + 99);
		post_remote(&a, ORNIC_WR_READ, 0, 600000, len[i]);
		cqe = end_cqe(&a, ORNIC_WR_READ, sq++, ORNIC_CQE_OK);
		CHECK_EQ(le32_to_cpu(cqe.byte_len), len[i]);
		check_same(0, 600000, len[i]);
	}
	end_no_cqe(&a);
	end_no_cqe(&b);
	CHECK_EQ(drv_stat(b.d, ORNIC_STAT_IW_RX_SEND), ARRAY_SIZE(len));
	CHECK_EQ(drv_stat(b.d, ORNIC_STAT_IW_RX_WRITE), ARRAY_SIZE(len));
	CHECK_EQ(drv_stat(b.d, ORNIC_STAT_IW_RX_READ_REQ), ARRAY_SIZE(len));
}

static void rdma_1500(void)
{
	rdma_messages(1500, 0);
}

static void rdma_1500_crc(void)
{
	rdma_messages(1500, ORNIC_RDMAF_CRC);
}

static void rdma_9000_crc(void)
{
	rdma_messages(9000, ORNIC_RDMAF_CRC);
}

static void rdma_markers(void)
{
	rdma_messages(1500, ORNIC_RDMAF_CRC | ORNIC_RDMAF_TX_MARKERS);
	CHECK(drv_stop_all());
	rdma_messages(9000, ORNIC_RDMAF_RX_MARKERS);
	CHECK(drv_stop_all());
	rdma_messages(1500, ORNIC_RDMAF_CRC | ORNIC_RDMAF_TX_MARKERS | ORNIC_RDMAF_RX_MARKERS);
}

static void port_mtu(struct end *e, u32 mtu)
{
	union drv_cmd c = drv_cmd(ORNIC_CMD_SET_PORT);

	c.port.up = cpu_to_le32(1);
	c.port.mtu = cpu_to_le32(mtu);
	drv_do(e->d, &c);
}

static void use_nexthop(u32 index)
{
	union drv_cmd c = drv_cmd(ORNIC_CMD_UPDATE_CONN);

	c.update.conn_id = cpu_to_le32(END_CONN);
	c.update.mask = cpu_to_le32(ORNIC_UPD_NEXTHOP);
	c.update.nexthop = cpu_to_le32(index);
	drv_do(a.d, &c);
}

/*
 * UPDATE_CONN to next hops with a smaller and a larger MTU while a Write is under way. The peer
 * drops what is larger than its MTU, so the Write ends only if what was sent is cut anew.
 */
static void rdma_mtu_changes(void)
{
	static const struct {
		u32 mtu;
		u32 fpdus; /* 64 KiB in payloads of MULPDU - 14 (RFC 5041 4.1, RFC 5044 5.1) */
	} step[] = {{1500, 46}, {600, 125}, {9000, 8}};
	u32 i, sq = 0;
	u64 fpdus;

	pair_start(&a, &b, 9000);
	pair_rdma(&a, &b, ORNIC_RDMAF_CRC, ORNIC_RTR_NONE);
	for (i = 0; i < ARRAY_SIZE(step); i++) {
		drv_nexthop(a.d, 1 + i, b.d->mac, (u16)step[i].mtu, 0);
		fill(&a, 0, 262144, i);
		post_remote(&a, ORNIC_WR_WRITE, 0, 300000, 262144);
		port_mtu(&b, step[i].mtu);
		use_nexthop(1 + i);
		end_cqe(&a, ORNIC_WR_WRITE, sq++, ORNIC_CQE_OK);
		check_same(0, 300000, 262144);
		CHECK_EQ(le16_to_cpu(query(&a, END_CONN).snd_mss), step[i].mtu - 52);

		fpdus = drv_stat(a.d, ORNIC_STAT_IW_TX_FPDU);
		fill(&a, 0, 65536, i + 50);
		post_remote(&a, ORNIC_WR_WRITE, 0, 300000, 65536);
		end_cqe(&a, ORNIC_WR_WRITE, sq++, ORNIC_CQE_OK);
		check_same(0, 300000, 65536);
		CHECK_EQ(drv_stat(a.d, ORNIC_STAT_IW_TX_FPDU) - fpdus, step[i].fpdus);
	}
	end_no_cqe(&a);
	end_no_cqe(&b);
}

static void rtr(void)
{
	static const u8 kind[] = {ORNIC_RTR_SEND, ORNIC_RTR_WRITE, ORNIC_RTR_READ};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(kind); i++) {
		pair_start(&a, &b, 1500);
		pair_rdma(&a, &b, ORNIC_RDMAF_CRC, kind[i]);
		end_no_cqe(&a);
		end_no_cqe(&b);
		/* The responder may send now. */
		fill(&b, 0, 64, i);
		end_recv(&a, 0, 64);
		end_send(&b, ORNIC_WR_SEND, ORNIC_WRF_SIGNALED, 0, 64);
		drv_sq_ring(b.d, &b.qp);
		end_cqe(&a, ORNIC_CQE_RECV, 0, ORNIC_CQE_OK);
		end_cqe(&b, ORNIC_WR_SEND, 0, ORNIC_CQE_OK);
		check_same(0, 0, 64);
		CHECK(drv_stop_all());
	}
}

/* Loss and corruption on the wire do not show above. */
static void rdma_lossy(const char *fault)
{
	u32 i;

	pair_start(&a, &b, 1500);
	pair_rdma(&a, &b, ORNIC_RDMAF_CRC, ORNIC_RTR_NONE);
	free(drv_ctl(a.d, fault));
	free(drv_ctl(b.d, fault));
	for (i = 0; i < 8; i++) {
		fill(&a, 0, 200000, i);
		post_remote(&a, ORNIC_WR_WRITE, 0, 300000, 200000);
		end_cqe(&a, ORNIC_WR_WRITE, i, ORNIC_CQE_OK);
		check_same(0, 300000, 200000);
	}
	CHECK(drv_stat(a.d, ORNIC_STAT_TCP_RETRANS) > 0);
}

static void rdma_loss(void)
{
	rdma_lossy("loss 20");
}

static void rdma_corrupt(void)
{
	rdma_lossy("corrupt 10");
}

/* Segments that come in another order, or late: the transfer is whole, and the counters tell. */
static void rdma_displaced(const char *fault, const char *counter)
{
	u32 i;

	pair_start(&a, &b, 1500);
	pair_rdma(&a, &b, ORNIC_RDMAF_CRC, ORNIC_RTR_NONE);
	free(drv_ctl(b.d, fault));
	for (i = 0; i < 4; i++) {
		fill(&a, 0, 200000, i);
		post_remote(&a, ORNIC_WR_WRITE, 0, 300000, 200000);
		end_cqe(&a, ORNIC_WR_WRITE, i, ORNIC_CQE_OK);
		check_same(0, 300000, 200000);
	}
	CHECK(drv_ctl_stat(b.d, counter) > 0);
	CHECK_EQ(drv_ctl_stat(b.d, "fault_lost"), 0);
	CHECK(drv_stat(b.d, ORNIC_STAT_TCP_OOO) > 0);
	CHECK_EQ(drv_stat(b.d, ORNIC_STAT_IW_RX_CRC), 0);
}

static void rdma_reorder(void)
{
	rdma_displaced("reorder 50", "fault_reordered");
}

static void rdma_delay(void)
{
	rdma_displaced("delay 20 5", "fault_delayed");
}

/* A wrong CRC on the wire ends the connection by a Terminate that says so. */
static void rdma_bad_crc(void)
{
	u8 slot[ORNIC_TEQ_SLOT_SIZE];
	struct ornic_aeqe e;

	pair_start(&a, &b, 1500);
	pair_rdma(&a, &b, ORNIC_RDMAF_CRC, ORNIC_RTR_NONE);
	fill(&a, 0, 4000, 1);
	post_remote(&a, ORNIC_WR_WRITE, 0, 300000, 4000);
	end_cqe(&a, ORNIC_WR_WRITE, 0, ORNIC_CQE_OK);
	free(drv_ctl(a.d, "bad-crc 1"));
	post_remote(&a, ORNIC_WR_WRITE, 0, 320000, 1000);
	CHECK(drv_eq_next(b.d, &b.async, &e, NULL, 2000));
	CHECK_EQ(le32_to_cpu(e.number), END_QP);
	/* RFC 5040 4.8 and RFC 5044 8: layer LLP, type MPA, code 2 is the CRC. */
	CHECK_EQ(e.term[0], 0x20);
	CHECK_EQ(e.term[1], 0x02);
	drv_tcp_event(a.d, &a.tcp, ORNIC_TCP_TERM_RCVD, END_CONN, slot);
	CHECK_EQ(slot[0], 0x20);
	CHECK_EQ(slot[1], 0x02);
	CHECK_EQ(drv_ctl_stat(a.d, "fault_bad_crc"), 1);
	CHECK_EQ(drv_stat(b.d, ORNIC_STAT_IW_RX_CRC), 1);
	CHECK_EQ(*(u8 *)drv_ptr(b.d, b.buf + 320000, 1), 0);
}

/* Without CRCs the field means nothing: there is nothing to make wrong. */
static void rdma_bad_crc_off(void)
{
	pair_start(&a, &b, 1500);
	pair_rdma(&a, &b, 0, ORNIC_RTR_NONE);
	free(drv_ctl(a.d, "bad-crc 1"));
	post_remote(&a, ORNIC_WR_WRITE, 0, 300000, 4000);
	end_cqe(&a, ORNIC_WR_WRITE, 0, ORNIC_CQE_OK);
	CHECK_EQ(drv_ctl_stat(a.d, "fault_bad_crc"), 0);
}

/* Graceful: CLOSING finishes the SQ, FINs both ways. */
static void rdma_close(void)
{
	pair_start(&a, &b, 1500);
	pair_rdma(&a, &b, 0, ORNIC_RTR_SEND);
	CHECK_EQ(query(&a, END_CONN).state, ORNIC_CONN_RDMA);
	CHECK_EQ(le32_to_cpu(query(&a, END_CONN).qpn), END_QP);
	fill(&a, 0, 100000, 3);
	post_remote(&a, ORNIC_WR_WRITE, 0, 300000, 100000);
	CHECK_EQ(drv_number(a.d, ORNIC_CMD_CLOSE, END_CONN), ORNIC_CMDS_OK);
	end_cqe(&a, ORNIC_WR_WRITE, 0, ORNIC_CQE_OK);
	drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_PEER_FIN, END_CONN, NULL);
	check_same(0, 300000, 100000);
	CHECK_EQ(drv_number(b.d, ORNIC_CMD_CLOSE, END_CONN), ORNIC_CMDS_OK);
	drv_tcp_event(a.d, &a.tcp, ORNIC_TCP_FIN_ACKED, END_CONN, NULL);
	drv_tcp_event(a.d, &a.tcp, ORNIC_TCP_PEER_FIN, END_CONN, NULL);
	drv_tcp_event(a.d, &a.tcp, ORNIC_TCP_CLOSED, END_CONN, NULL);
	drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_FIN_ACKED, END_CONN, NULL);
	drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_CLOSED, END_CONN, NULL);
	check_free(&a);
	check_free(&b);
	CHECK_EQ(drv_number(a.d, ORNIC_CMD_DESTROY_QP, END_QP), ORNIC_CMDS_OK);
	CHECK_EQ(drv_number(b.d, ORNIC_CMD_DESTROY_QP, END_QP), ORNIC_CMDS_OK);
}

/* ABORT, DESTROY_QP and FREE_CONN of a connection in RDMA mode: RST, and receives are flushed. */
static void rdma_abort(u16 opcode, u32 number, u32 why)
{
	struct ornic_teqe e;

	pair_start(&a, &b, 1500);
	pair_rdma(&a, &b, 0, ORNIC_RTR_SEND);
	end_recv(&a, 0, 64);
	end_recv(&b, 0, 64);
	drv_flush(b.d);
	CHECK_EQ(drv_number(a.d, opcode, number), ORNIC_CMDS_OK);
	if (why) {
		e = drv_tcp_event(a.d, &a.tcp, ORNIC_TCP_ABORTED, END_CONN, NULL);
		CHECK_EQ(le32_to_cpu(e.info), why);
	}
	drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_PEER_RST, END_CONN, NULL);
	end_cqe(&b, ORNIC_CQE_RECV, 0, ORNIC_CQE_FLUSHED);
	if (opcode != ORNIC_CMD_DESTROY_QP)
		end_cqe(&a, ORNIC_CQE_RECV, 0, ORNIC_CQE_FLUSHED);
	end_no_cqe(&a);
	if (opcode != ORNIC_CMD_FREE_CONN)
		check_free(&a);
	check_free(&b);
	/* Flushed receives posted afterwards are flushed too. */
	end_recv(&b, 0, 64);
	end_cqe(&b, ORNIC_CQE_RECV, 1, ORNIC_CQE_FLUSHED);
}

static void rdma_abort_cmd(void)
{
	rdma_abort(ORNIC_CMD_ABORT, END_CONN, ORNIC_ABORT_COMMAND);
}

static void rdma_abort_destroy(void)
{
	rdma_abort(ORNIC_CMD_DESTROY_QP, END_QP, ORNIC_ABORT_QP);
}

static void rdma_abort_free(void)
{
	rdma_abort(ORNIC_CMD_FREE_CONN, END_CONN, 0);
}

/* TERMINATE: the peer is told, both QPs end in ERROR. */
static void rdma_terminate(void)
{
	struct ornic_terminate t;
	u8 slot[ORNIC_TEQ_SLOT_SIZE];
	union drv_cmd c = drv_cmd(ORNIC_CMD_TERMINATE);

	pair_start(&a, &b, 1500);
	pair_rdma(&a, &b, ORNIC_RDMAF_CRC, ORNIC_RTR_SEND);
	end_recv(&b, 0, 64);
	drv_flush(b.d);
	c.terminate.conn_id = cpu_to_le32(END_CONN);
	c.terminate.layer = 2;
	c.terminate.code = 5;
	drv_do(a.d, &c);
	drv_tcp_event(a.d, &a.tcp, ORNIC_TCP_TERM_SENT, END_CONN, slot);
	memcpy(&t, slot, sizeof(t));
	CHECK_EQ(t.control[0], 0x20);
	CHECK_EQ(t.control[1], 5);
	drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_TERM_RCVD, END_CONN, slot);
	CHECK_EQ(slot[0], 0x20);
	CHECK_EQ(slot[1], 5);
	end_cqe(&b, ORNIC_CQE_RECV, 0, ORNIC_CQE_FLUSHED);
}

/* Peer's remote access error: Terminate, asynchronous event there, failed completion here. */
static void rdma_bad_stag(void)
{
	struct ornic_sq_wqe_msg *w;
	struct ornic_aeqe e;

	pair_start(&a, &b, 1500);
	pair_rdma(&a, &b, ORNIC_RDMAF_CRC, ORNIC_RTR_SEND);
	w = end_send(&a, ORNIC_WR_WRITE, ORNIC_WRF_SIGNALED, 0, 64);
	w->remote_addr = cpu_to_le64(b.buf);
	w->remote_stag = cpu_to_le32(END_STAG + 1);
	drv_sq_ring(a.d, &a.qp);
	CHECK(drv_eq_next(b.d, &b.async, &e, NULL, 2000));
	CHECK_EQ(e.type, ORNIC_ASYNC_QP_ACCESS_ERR);
	CHECK_EQ(le32_to_cpu(e.number), END_QP);
	/* RFC 5040 4.8 / RFC 5041 8.2: DDP, tagged buffer error, invalid STag */
	CHECK_EQ(e.term[0], 0x11);
	CHECK_EQ(e.term[1], 0x00);
	drv_tcp_event(a.d, &a.tcp, ORNIC_TCP_TERM_RCVD, END_CONN, NULL);
	drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_TERM_SENT, END_CONN, NULL);
}

/* DEREG_MR in the middle of a transfer: nothing is touched afterwards, the connection ends. */
static void rdma_dereg(void)
{
	union drv_cmd c = drv_cmd(ORNIC_CMD_DEREG_MR);
	struct ornic_cqe cqe;

	pair_start(&a, &b, 1500);
	pair_rdma(&a, &b, ORNIC_RDMAF_CRC, ORNIC_RTR_SEND);
	post_remote(&a, ORNIC_WR_WRITE, 0, 0, END_BUF_SIZE);
	c.stag.stag = cpu_to_le32(END_STAG);
	drv_do(b.d, &c);
	memset(drv_ptr(b.d, b.buf, END_BUF_SIZE), 0xee, END_BUF_SIZE);
	CHECK(drv_cq_next(a.d, &a.cq, &cqe, DRV_WAIT_MS));
	if (cqe.status == ORNIC_CQE_OK)
		test_skip("the transfer was over before");
	for (u32 i = 0; i < END_BUF_SIZE; i += 4096)
		CHECK_EQ(*(u8 *)drv_ptr(b.d, b.buf + i, 1), 0xee);
}

/* The driver resets its device with a connection in RDMA mode; the peer finds out. */
static void rdma_reset(void)
{
	pair_start(&a, &b, 1500);
	pair_rdma(&a, &b, ORNIC_RDMAF_CRC, ORNIC_RTR_SEND);
	post_remote(&a, ORNIC_WR_WRITE, 0, 0, END_BUF_SIZE);
	drv_reset(b.d);
	drv_enable(b.d);
	CHECK_EQ(drv_number(b.d, ORNIC_CMD_DESTROY_QP, END_QP), ORNIC_CMDS_NOT_FOUND);
	drv_detach(a.d);
	drv_attach(a.d);
	drv_enable(a.d);
	CHECK_EQ(drv_number(a.d, ORNIC_CMD_DESTROY_QP, END_QP), ORNIC_CMDS_NOT_FOUND);
}

#define IN_FLIGHT 200

/* Connection @n of @a to @port of @b, up to a SYN in @b's hands. */
static void knock(u32 n, u16 port)
{
	union drv_cmd open = drv_open_cmd(n, 0, a.host, (u16)(20000 + n), b.host, port);

	drv_do(a.d, &open);
}

static void answer(u32 n)
{
	struct ornic_teqe e = drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_CONN_REQ, 0, NULL);
	union drv_cmd accept = drv_accept_cmd(le32_to_cpu(e.syn_id), n, 0);

	drv_do(b.d, &accept);
	drv_tcp_event(a.d, &a.tcp, ORNIC_TCP_ESTABLISHED, n, NULL);
	drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_ESTABLISHED, n, NULL);
}

/* Half of those that are up close, as far as one end can; as many SYNs wait for an answer. */
static void connections_in_flight(void)
{
	union drv_cmd listen = drv_listen_cmd(2, b.host, 81);
	u32 n, first = 100;

	listen.listen.backlog = cpu_to_le32(2 * IN_FLIGHT);
	drv_do(b.d, &listen);
	for (n = first; n < first + 2 * IN_FLIGHT; n++) {
		knock(n, 81);
		answer(n);
	}
	for (n = first; n < first + IN_FLIGHT; n++)
		CHECK_EQ(drv_number(a.d, ORNIC_CMD_CLOSE, n), ORNIC_CMDS_OK);
	for (n = first + 2 * IN_FLIGHT; n < first + 3 * IN_FLIGHT; n++)
		knock(n, 81);
}

static void check_empty(const struct end *e)
{
	char *state = drv_ctl(e->d, "state");

	CHECK(!strstr(state, "conn ") && !strstr(state, "qp "));
	free(state);
	CHECK_EQ(drv_stat(e->d, ORNIC_STAT_TCP_CURR_ESTAB), 0);
}

/* With connections that open, are held as SYNs, are up, close, and are in RDMA mode, both devices
 * are reset: nothing is left, and all begins anew. */
static void reset_in_flight(void)
{
	pair_start(&a, &b, 1500);
	pair_rdma(&a, &b, ORNIC_RDMAF_CRC, ORNIC_RTR_SEND);
	post_remote(&a, ORNIC_WR_WRITE, 0, 0, END_BUF_SIZE);
	connections_in_flight();
	drv_reset(b.d);
	drv_enable(b.d);
	check_empty(&b);
	drv_reset(a.d);
	drv_enable(a.d);
	check_empty(&a);
	a.d->next_vector = 0;
	b.d->next_vector = 0;
	end_init(&a, a.d, 1);
	end_init(&b, b.d, 2);
	drv_nexthop(a.d, 0, b.d->mac, 1500, 0);
	drv_nexthop(b.d, 0, a.d->mac, 1500, 0);
	pair_rdma(&a, &b, ORNIC_RDMAF_CRC, ORNIC_RTR_SEND);
	CHECK_EQ(drv_stat(a.d, ORNIC_STAT_TCP_CURR_ESTAB), 1);
}

/* ---- IPv6 ---- */

static const u8 global_net[15] = {0x20, 0x01, 0x0d, 0xb8}, link_net[15] = {0xfe, 0x80};

/* Next hop 1 of @e: @to in VLAN 7 */
static void nexthop_vlan(struct end *e, const struct end *to)
{
	union drv_cmd c = drv_cmd(ORNIC_CMD_SET_NEXTHOP);

	c.nexthop.index = cpu_to_le32(1);
	memcpy(c.nexthop.dmac, to->d->mac, 6);
	memcpy(c.nexthop.smac, e->d->mac, 6);
	c.nexthop.mtu = cpu_to_le16(1500);
	c.nexthop.flags = cpu_to_le16(ORNIC_NHF_VLAN);
	c.nexthop.vlan_tci = cpu_to_le16(7);
	drv_do(e->d, &c);
}

static void ipv6_rdma(void)
{
	struct ornic_conn_attr q;

	drv_net6 = global_net;
	rdma_messages(1500, ORNIC_RDMAF_CRC);
	q = query(&a, END_CONN);
	CHECK_EQ(q.family, ORNIC_FAMILY_IPV6);
	CHECK_MEM(q.laddr, global_net, 15);
	CHECK_EQ(q.laddr[15], 1);
	CHECK_EQ(q.raddr[15], 2);
	/* 1500 - 60 - 12 bytes of timestamps */
	CHECK_EQ(le16_to_cpu(q.snd_mss), 1428);
	drv_net6 = NULL;
}

/* The same link-local addresses and ports on two links, which are a VLAN apart. */
static void ipv6_link_local(void)
{
	u8 frame[ORNIC_TEQ_SLOT_SIZE];
	struct ornic_teqe e;
	union drv_cmd c;

	drv_net6 = link_net;
	pair_start(&a, &b, 1500);
	pair_connect(&a, &b, 80);
	nexthop_vlan(&a, &b);
	nexthop_vlan(&b, &a);
	c = drv_listen_cmd(2, 2, 80);
	c.listen.flags = ORNIC_LISTEN_VLAN;
	c.listen.vlan_id = cpu_to_le16(7);
	drv_do(b.d, &c);
	c = drv_open_cmd(END_CONN + 1, 1, 1, 40000, 2, 80);
	drv_do(a.d, &c);
	e = drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_CONN_REQ, 0, frame);
	CHECK_EQ(le32_to_cpu(e.listen_id), 2);
	CHECK_EQ(frame[12], 0x81);
	CHECK_EQ(frame[18] >> 4, 6);
	c = drv_accept_cmd(le32_to_cpu(e.syn_id), END_CONN + 1, 1);
	drv_do(b.d, &c);
	drv_tcp_event(a.d, &a.tcp, ORNIC_TCP_ESTABLISHED, END_CONN + 1, NULL);
	drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_ESTABLISHED, END_CONN + 1, NULL);
	CHECK_EQ(drv_stream_tx(a.d, END_CONN + 1, "tagged", 6), ORNIC_CMDS_OK);
	drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_STREAM_RX, END_CONN + 1, NULL);
	CHECK_EQ(drv_number(a.d, ORNIC_CMD_ABORT, END_CONN), ORNIC_CMDS_OK);
	drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_PEER_RST, END_CONN, NULL);
	CHECK_EQ(query(&b, END_CONN + 1).state, ORNIC_CONN_STREAM);
	drv_net6 = NULL;
}

/* One device, both ends: the RNIC's own address. */
static void loop(void)
{
	union drv_cmd c;
	struct ornic_teqe e;

	end_init(&a, drv_plain(), 1);
	drv_nexthop(a.d, 0, a.d->mac, 1500, ORNIC_NHF_LOOP);
	c = drv_listen_cmd(1, 1, 80);
	drv_do(a.d, &c);
	c = drv_open_cmd(1, 0, 1, 50000, 1, 80);
	drv_do(a.d, &c);
	e = drv_tcp_event(a.d, &a.tcp, ORNIC_TCP_CONN_REQ, 0, NULL);
	CHECK_EQ(le32_to_cpu(e.info), ORNIC_CONN_REQ_LOOPED);
	c = drv_accept_cmd(le32_to_cpu(e.syn_id), 2, 0);
	drv_do(a.d, &c);
	CHECK(drv_eq_next(a.d, &a.tcp, &e, NULL, 1000));
	CHECK_EQ(e.type, ORNIC_TCP_ESTABLISHED);
	CHECK(drv_eq_next(a.d, &a.tcp, &e, NULL, 1000));
	CHECK_EQ(e.type, ORNIC_TCP_ESTABLISHED);
	CHECK_EQ(drv_stream_tx(a.d, 1, "self", 4), ORNIC_CMDS_OK);
	drv_tcp_event(a.d, &a.tcp, ORNIC_TCP_STREAM_RX, 2, NULL);
	CHECK_EQ(drv_stat(a.d, ORNIC_STAT_WIRE_TX_FRAMES), 0);
}

static const struct test tests[] = {
	{"connect_and_close", connect_and_close},
	{"refused_and_reset", refused_and_reset},
	{"eq_made_anew", eq_made_anew},
	{"free_alive", free_alive},
	{"syn_timeout", syn_timeout},
	{"syn_unreachable", syn_unreachable},
	{"nexthop_change", nexthop_change},
	{"stream", stream},
	{"stream_full", stream_full},
	{"eq_full", eq_full},
	{"mode_rdma_wrong", mode_rdma_wrong},
	{"early_data", early_data},
	{"rdma_1500", rdma_1500},
	{"rdma_1500_crc", rdma_1500_crc},
	{"rdma_9000_crc", rdma_9000_crc},
	{"rdma_markers", rdma_markers},
	{"rdma_mtu_changes", rdma_mtu_changes},
	{"rtr", rtr},
	{"rdma_loss", rdma_loss},
	{"rdma_corrupt", rdma_corrupt},
	{"rdma_reorder", rdma_reorder},
	{"rdma_delay", rdma_delay},
	{"rdma_bad_crc", rdma_bad_crc},
	{"rdma_bad_crc_off", rdma_bad_crc_off},
	{"rdma_close", rdma_close},
	{"rdma_abort_cmd", rdma_abort_cmd},
	{"rdma_abort_destroy", rdma_abort_destroy},
	{"rdma_abort_free", rdma_abort_free},
	{"rdma_terminate", rdma_terminate},
	{"rdma_bad_stag", rdma_bad_stag},
	{"rdma_dereg", rdma_dereg},
	{"rdma_reset", rdma_reset},
	{"reset_in_flight", reset_in_flight},
	{"ipv6_rdma", ipv6_rdma},
	{"ipv6_link_local", ipv6_link_local},
	{"loop", loop},
};

int main(int argc, char **argv)
{
	return test_main(argc, argv, tests, ARRAY_SIZE(tests));
}
