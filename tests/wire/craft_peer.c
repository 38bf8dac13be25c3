// SPDX-License-Identifier: GPL-2.0-or-later
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "craft_peer.h"
#include "tcp/tcp.h"

#define MTU	 1500
#define REQ_LEN	 20
#define RX_MAX	 (1u << 20)
#define MAX_SEGS 4096

struct craft dev;

static const u8 our_mac[6] = {2, 0, 0, 0, 0, 0x77};

/* Our end of the connection */
static struct {
	int fd;
	struct tcp_engine *tcp;
	struct tcp_conn *conn;
	bool established, fin, ended;
	u8 rx[RX_MAX];
	u32 rx_len, rx_taken;
	u32 tx_pos, rx_pos; /* in the streams of FPDUs, for markers */
	u32 seg_end[MAX_SEGS], seg_len[MAX_SEGS], nsegs;
} me = {.fd = -1};

/* ---- the engine's surroundings ---- */

static u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * NSEC_PER_SEC + (u64)ts.tv_nsec;
}

static uint64_t op_now(void *ctx)
{
	return now_ns();
}

static uint32_t op_random(void *ctx)
{
	uint32_t v = 1;

	(void)!getrandom(&v, sizeof(v), 0);
	return v;
}

static int op_xmit(void *ctx, const struct iovec *iov, int cnt, const struct tcp_tx_meta *meta)
{
	struct msghdr m = {.msg_iov = (struct iovec *)iov, .msg_iovlen = (size_t)cnt};

	(void)!sendmsg(me.fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
	return 0;
}

static void op_to_host(void *ctx, const void *frame, size_t len, unsigned int csum_flags)
{
}

static struct tcp_opts our_opts(void)
{
	return (struct tcp_opts){.rcv_wnd = 262144, .wscale = true, .sack = true, .nodelay = true};
}

/* Every SYN is taken. */
static bool op_conn_req(void *ctx, uint32_t listener, uint32_t syn_id, const void *frame,
			size_t len, const struct tcp_syn_info *info)
{
	struct tcp_opts opts = our_opts();

	CHECK_EQ(tcp_accept(me.tcp, syn_id, 1, 0, &opts, NULL), 0);
	return true;
}

static void op_event(void *ctx, struct tcp_conn *conn, enum tcp_event ev, uint32_t info)
{
	me.conn = conn;
	if (ev == TCP_EV_ESTABLISHED)
		me.established = true;
	else if (ev == TCP_EV_PEER_FIN)
		me.fin = true;
	else if (tcp_event_terminal(ev))
		me.ended = true;
}

static size_t op_rx(void *ctx, struct tcp_conn *conn, const void *data, size_t len)
{
	CHECK(me.rx_len + len <= RX_MAX && me.nsegs < MAX_SEGS);
	memcpy(me.rx + me.rx_len, data, len);
	me.rx_len += (u32)len;
	me.seg_end[me.nsegs] = me.rx_len;
	me.seg_len[me.nsegs++] = (u32)len;
	return len;
}

static int op_gather(void *ctx, struct tcp_conn *conn, const struct tcp_record *record,
		     uint32_t off, uint32_t len, struct tcp_gather *g)
{
	return -EINVAL;
}

static void op_pull(void *ctx, struct tcp_conn *conn)
{
}

static void op_acked(void *ctx, struct tcp_conn *conn, const struct tcp_record *record)
{
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

static void pump(void)
{
	static u8 frame[65536];
	ssize_t n;

	while ((n = recv(me.fd, frame, sizeof(frame), MSG_DONTWAIT)) > 0)
		if (!memcmp(frame, our_mac, 6))
			tcp_input(me.tcp, now_ns(), frame, (size_t)n, 0);
	tcp_engine_run(me.tcp, now_ns());
}

void craft_pump_ms(int ms)
{
	while (ms-- > 0) {
		pump();
		drv_sleep_ms(1);
	}
	pump();
}

static void wait_for(const bool *flag, const char *what)
{
	int i;

	for (i = 0; i < 3000 && !*flag; i++)
		craft_pump_ms(1);
	if (!*flag)
		test_fail(__FILE__, __LINE__, "%s did not come", what);
}

/* ---- start ---- */

static void open_wire(char *spec, size_t size)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};

	if (me.tcp)
		tcp_engine_free(me.tcp);
	if (me.fd >= 0)
		close(me.fd);
	memset(&me, 0, sizeof(me));
	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/peer", drv_dir());
	me.fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	CHECK(me.fd >= 0 && !bind(me.fd, (struct sockaddr *)&sa, sizeof(sa)));
	snprintf(spec, size, "dgram:local=%s/dev,remote=%s/peer", drv_dir(), drv_dir());
}

static void connect_wire(void)
{
	struct tcp_nexthop nh = {.vlan = TCP_VLAN_NONE, .mtu = MTU};
	struct sockaddr_un sa = {.sun_family = AF_UNIX};

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/dev", drv_dir());
	CHECK(!connect(me.fd, (struct sockaddr *)&sa, sizeof(sa)));
	me.tcp = tcp_engine_new(&(struct tcp_engine_config){.max_conns = 4, .max_syns = 8}, &ops,
				NULL);
	CHECK(me.tcp);
	memcpy(nh.dmac, dev.d->mac, 6);
	memcpy(nh.smac, our_mac, 6);
	CHECK_EQ(tcp_nexthop_set(me.tcp, 0, &nh), 0);
	drv_idle = pump;
}

void craft_start(bool crc)
{
	union drv_cmd port = drv_cmd(ORNIC_CMD_SET_PORT);
	const char *save = getenv("CRAFT_PCAP");
	char spec[200], line[300];

	open_wire(spec, sizeof(spec));
	drv_idle = NULL;
	dev = (struct craft){.crc = crc, .d = drv_start(&(struct drv_opts){.wire = spec})};
	connect_wire();
	dev.async = drv_eq_new(dev.d, 0, ORNIC_EQ_ASYNC, 5);
	dev.tcp = drv_eq_new(dev.d, 1, ORNIC_EQ_TCP, 6);
	dev.comp = drv_eq_new(dev.d, 2, ORNIC_EQ_COMP, 5);
	dev.cq = drv_cq_new(dev.d, 9, 2, 6, 0);
	dev.qp = drv_qp_new(dev.d, CRAFT_QP, CRAFT_PD, 9, 9, 0, 0);
	dev.buf = drv_alloc(dev.d, CRAFT_BUF);
	drv_reg_mr(dev.d, CRAFT_STAG, CRAFT_PD, dev.buf, CRAFT_BUF,
		   ORNIC_ACC_LOCAL_WRITE | ORNIC_ACC_REMOTE_WRITE | ORNIC_ACC_REMOTE_READ);
	drv_nexthop(dev.d, 0, our_mac, MTU, 0);
	port.port.up = cpu_to_le32(1);
	port.port.mtu = cpu_to_le32(MTU);
	drv_do(dev.d, &port);
	if (save) {
		snprintf(line, sizeof(line), "pcap %s", save);
		free(drv_ctl(dev.d, line));
	}
}

/* ---- stream ---- */

void craft_send(const void *data, u32 len)
{
	CHECK_EQ(tcp_send(me.conn, data, len), 0);
	pump();
}

void craft_fin(void)
{
	tcp_close(me.conn);
	pump();
}

void craft_rst(void)
{
	tcp_abort(me.conn);
	pump();
}

u32 craft_recv_some(void *data, u32 len)
{
	len = min(len, me.rx_len - me.rx_taken);
	memcpy(data, me.rx + me.rx_taken, len);
	me.rx_taken += len;
	return len;
}

bool craft_at_fin(void)
{
	return me.fin && me.rx_taken == me.rx_len;
}

bool craft_ended(void)
{
	return me.ended;
}

void craft_recv(void *data, u32 len)
{
	int i;

	for (i = 0; i < 3000 && me.rx_len - me.rx_taken < len; i++)
		craft_pump_ms(1);
	if (me.rx_len - me.rx_taken < len)
		test_fail(__FILE__, __LINE__, "%u bytes came, %u were expected%s",
			  me.rx_len - me.rx_taken, len,
			  me.ended ? "; the connection has ended" : "");
	memcpy(data, me.rx + me.rx_taken, len);
	me.rx_taken += len;
}

void craft_wait_fin(void)
{
	wait_for(&me.fin, "the device's FIN");
	CHECK_EQ(me.rx_len, me.rx_taken);
}

u32 craft_last_segment(void)
{
	u32 i;

	for (i = 0; i < me.nsegs; i++)
		if (me.seg_end[i] >= me.rx_taken)
			return me.seg_len[i];
	return 0;
}

/* ---- MPA start-up (RFC 5044 7.1) ---- */

/* @markers: what the sender of the frame is to be sent has markers */
static void mpa_frame(u8 *f, bool reply, bool markers)
{
	memcpy(f, reply ? "MPA ID Rep Frame" : "MPA ID Req Frame", 16);
	f[16] = (u8)((markers ? 0x80 : 0) | (dev.crc ? 0x40 : 0));
	f[17] = 1;
	put_be16(f + 18, 0);
}

static union drv_cmd rdma_cmd(u8 role)
{
	union drv_cmd c = drv_cmd(ORNIC_CMD_MODE_RDMA);

	c.rdma.conn_id = cpu_to_le32(CRAFT_CONN);
	c.rdma.qpn = cpu_to_le32(CRAFT_QP);
	c.rdma.role = role;
	c.rdma.flags = cpu_to_le16((dev.crc ? ORNIC_RDMAF_CRC : 0) |
				   (dev.tx_markers ? ORNIC_RDMAF_TX_MARKERS : 0) |
				   (dev.rx_markers ? ORNIC_RDMAF_RX_MARKERS : 0));
	c.rdma.ird = cpu_to_le16(4);
	c.rdma.ord = cpu_to_le16(4);
	c.rdma.rx_offset = cpu_to_le64(REQ_LEN);
	return c;
}

void craft_tcp_to_device(void)
{
	struct tcp_open_params p = {.id = 1, .opts = our_opts()};
	union drv_cmd c = drv_listen_cmd(1, 0, 4791);
	struct ornic_teqe e;

	drv_do(dev.d, &c);
	p.tuple.local = ip_addr_v4((u8[]){10, 0, 0, 2});
	p.tuple.remote = ip_addr_v4((u8[]){10, 0, 0, 1});
	p.tuple.lport = 33333;
	p.tuple.rport = 4791;
	CHECK_EQ(tcp_open(me.tcp, &p), 0);
	e = drv_tcp_event(dev.d, &dev.tcp, ORNIC_TCP_CONN_REQ, 0, NULL);
	c = drv_accept_cmd(le32_to_cpu(e.syn_id), CRAFT_CONN, 0);
	drv_do(dev.d, &c);
	drv_tcp_event(dev.d, &dev.tcp, ORNIC_TCP_ESTABLISHED, CRAFT_CONN, NULL);
	wait_for(&me.established, "our side of the handshake");
}

void craft_responder(void)
{
	u64 reply = drv_alloc(dev.d, REQ_LEN);
	u8 slot[ORNIC_TEQ_SLOT_SIZE], f[REQ_LEN], got[REQ_LEN];
	struct ornic_teqe e;
	union drv_cmd c;

	craft_tcp_to_device();
	mpa_frame(f, false, dev.tx_markers);
	craft_send(f, REQ_LEN);
	e = drv_tcp_event(dev.d, &dev.tcp, ORNIC_TCP_STREAM_RX, CRAFT_CONN, slot);
	CHECK_EQ(le16_to_cpu(e.data_len), REQ_LEN);
	CHECK_MEM(slot, f, REQ_LEN);
	c = rdma_cmd(ORNIC_ROLE_RESPONDER);
	mpa_frame(f, true, dev.rx_markers);
	memcpy(drv_ptr(dev.d, reply, REQ_LEN), f, REQ_LEN);
	c.hdr.data = cpu_to_le64(reply);
	c.rdma.data_len = cpu_to_le32(REQ_LEN);
	drv_do(dev.d, &c);
	craft_recv(got, REQ_LEN);
	CHECK_MEM(got, f, REQ_LEN);
}

void craft_tcp_from_device(void)
{
	static const struct ip_addr any = {.family = IP_V4};
	union drv_cmd c = drv_open_cmd(CRAFT_CONN, 0, 1, 40000, 2, 4791);

	CHECK_EQ(tcp_listen(me.tcp, 1, &any, 4791, TCP_VLAN_NONE, 4), 0);
	drv_do(dev.d, &c);
	drv_tcp_event(dev.d, &dev.tcp, ORNIC_TCP_ESTABLISHED, CRAFT_CONN, NULL);
	wait_for(&me.established, "our side of the handshake");
}

void craft_initiator(const void *glued, u32 len)
{
	u8 slot[ORNIC_TEQ_SLOT_SIZE], f[REQ_LEN + 2048], got[REQ_LEN];
	union drv_cmd c;

	craft_tcp_from_device();
	mpa_frame(f, false, dev.rx_markers);
	CHECK_EQ(drv_stream_tx(dev.d, CRAFT_CONN, f, REQ_LEN), 0);
	craft_recv(got, REQ_LEN);
	CHECK_MEM(got, f, REQ_LEN);
	mpa_frame(f, true, dev.tx_markers);
	memcpy(f + REQ_LEN, glued, len);
	craft_send(f, REQ_LEN + len);
	drv_tcp_event(dev.d, &dev.tcp, ORNIC_TCP_STREAM_RX, CRAFT_CONN, slot);
	CHECK_MEM(slot, f, REQ_LEN);
	c = rdma_cmd(ORNIC_ROLE_INITIATOR);
	drv_do(dev.d, &c);
}

/* ---- FPDUs (RFC 5044 4) and DDP headers (RFC 5041 4) ---- */

/* Bit by bit, from the polynomial: nothing of the device's code. */
u32 craft_crc32c(const u8 *p, u32 len)
{
	u32 crc = 0xffffffff, i;

	while (len--) {
		crc ^= *p++;
		for (i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

static u32 put_ddp(u8 *p, const struct ddp *h)
{
	p[0] = (u8)((h->tagged ? 0x80 : 0) | (h->last ? 0x40 : 0) | h->dv);
	p[1] = (u8)(h->rv << 6 | h->opcode);
	put_be32(p + 2, h->stag);
	if (h->tagged) {
		put_be64(p + 6, h->to);
		return 14;
	}
	put_be32(p + 6, h->qn);
	put_be32(p + 10, h->msn);
	put_be32(p + 14, h->mo);
	return 18;
}

u32 craft_fpdu(u8 *out, const struct ddp *h, const void *payload, u32 len)
{
	u32 n = put_ddp(out + 2, h) + len, end;

	memcpy(out + 2 + n - len, payload, len);
	put_be16(out, (u16)n);
	end = ALIGN(2 + n, 4u);
	memset(out + 2 + n, 0, end - 2 - n);
	put_le32(out + end, dev.crc ? craft_crc32c(out, end) : 0);
	return end + 4;
}

static void put_pointer(u8 *marker, u32 back)
{
	put_be16(marker, 0);
	put_be16(marker + 2, (u16)back);
}

u32 craft_mark(u8 *out, const u8 *fpdu, u32 len)
{
	u32 n = 0, head = me.tx_pos % 512 ? 0 : 4, i;

	for (i = 0; i < len; i++) {
		if (me.tx_pos % 512 == 0) {
			put_pointer(out + n, n ? n - head : 0);
			n += 4;
			me.tx_pos += 4;
		}
		out[n++] = fpdu[i];
		me.tx_pos++;
	}
	if (dev.crc)
		put_le32(out + n - 4, craft_crc32c(out, n - 4));
	return n;
}

void craft_send_fpdu(const struct ddp *h, const void *payload, u32 len)
{
	u8 f[2048], marked[2100];
	u32 n = craft_fpdu(f, h, payload, len);

	if (dev.rx_markers)
		craft_send(marked, craft_mark(marked, f, n));
	else
		craft_send(f, n);
}

/*
 * @len more bytes of an FPDU of which @at are there, to @f + @at, and the stream as it came to
 * @raw. A marker belongs to what follows it.
 */
static void recv_marked(u8 *f, u32 at, u32 len, u8 *raw, u32 *raw_len, u32 *head)
{
	u8 want[4];

	for (; len--; at++) {
		if (dev.tx_markers && me.rx_pos % 512 == 0) {
			if (!at)
				*head = 4;
			craft_recv(raw + *raw_len, 4);
			put_pointer(want, at ? *raw_len - *head : 0);
			CHECK_MEM(raw + *raw_len, want, 4);
			*raw_len += 4;
			me.rx_pos += 4;
		}
		craft_recv(f + at, 1);
		raw[(*raw_len)++] = f[at];
		me.rx_pos++;
	}
}

u32 craft_recv_fpdu(struct ddp *h, u8 *payload)
{
	u32 n, end, hlen, i, raw_len = 0, head = 0;
	u8 f[MTU], raw[MTU];

	recv_marked(f, 0, 2, raw, &raw_len, &head);
	n = get_be16(f);
	end = ALIGN(2 + n, 4u);
	CHECK(n >= 14 && end + 4 <= MTU - 40);
	recv_marked(f, 2, end + 2, raw, &raw_len, &head);
	CHECK(raw_len <= MTU - 40);
	for (i = 2 + n; i < end; i++)
		CHECK_EQ(f[i], 0);
	CHECK_EQ(get_le32(f + end), dev.crc ? craft_crc32c(raw, raw_len - 4) : get_le32(f + end));
	/* RFC 5044 5: an FPDU is a segment of its own. */
	CHECK_EQ(craft_last_segment(), raw_len);
	memset(h, 0, sizeof(*h));
	h->tagged = f[2] & 0x80;
	h->last = f[2] & 0x40;
	h->dv = f[2] & 3;
	h->rv = f[3] >> 6;
	h->opcode = f[3] & 15;
	CHECK_EQ(f[2] & 0x3c, 0);
	CHECK_EQ(f[3] & 0x30, 0);
	CHECK_EQ(h->dv, 1);
	CHECK_EQ(h->rv, 1);
	h->stag = get_be32(f + 4);
	if (h->tagged) {
		h->to = get_be64(f + 8);
	} else {
		h->qn = get_be32(f + 8);
		h->msn = get_be32(f + 12);
		h->mo = get_be32(f + 16);
	}
	hlen = h->tagged ? 14 : 18;
	CHECK(n >= hlen);
	memcpy(payload, f + 2 + hlen, n - hlen);
	return n - hlen;
}

void craft_expect_terminate(u8 layer, u8 etype, u8 code)
{
	u8 p[MTU];
	struct ddp h;
	u32 n = craft_recv_fpdu(&h, p);

	CHECK_EQ(h.opcode, RDMAP_TERMINATE);
	CHECK(!h.tagged && h.last && h.qn == 2 && h.msn == 1 && h.mo == 0 && n >= 4);
	if (p[0] != (layer << 4 | etype) || p[1] != code)
		test_fail(__FILE__, __LINE__,
			  "Terminate layer %u type %u code %u came; expected %u, %u, %u", p[0] >> 4,
			  p[0] & 15, p[1], layer, etype, code);
	craft_wait_fin();
}

/* ---- the device's driver ---- */

struct ornic_cqe craft_cqe(u8 opcode, u8 status)
{
	struct ornic_cqe cqe;

	if (!drv_cq_next(dev.d, &dev.cq, &cqe, DRV_WAIT_MS))
		test_fail(__FILE__, __LINE__, "no completion of opcode 0x%x", opcode);
	if (cqe.opcode != opcode || cqe.status != status)
		test_fail(__FILE__, __LINE__, "completion opcode 0x%x status %u; expected 0x%x, %u",
			  cqe.opcode, cqe.status, opcode, status);
	return cqe;
}

void craft_post_recv(u32 off, u32 len)
{
	struct ornic_rq_wqe *w = drv_rq_wqe(dev.d, &dev.qp);

	w->num_sge = 1;
	w->sge[0].addr = cpu_to_le64(dev.buf + off);
	w->sge[0].length = cpu_to_le32(len);
	w->sge[0].stag = cpu_to_le32(CRAFT_STAG);
	drv_rq_ring(dev.d, &dev.qp);
	drv_flush(dev.d);
}

void craft_expect_async(u8 type)
{
	struct ornic_aeqe e;

	if (!drv_eq_next(dev.d, &dev.async, &e, NULL, DRV_WAIT_MS))
		test_fail(__FILE__, __LINE__, "no asynchronous event");
	CHECK_EQ(e.type, type);
	CHECK_EQ(le32_to_cpu(e.number), CRAFT_QP);
}
