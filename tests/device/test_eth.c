// SPDX-License-Identifier: GPL-2.0-or-later
/* Ethernet rings: the test holds the other end of the wire. */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/csum.h"
#include "drv.h"

#define SHIFT	 4
#define DEPTH	 (1u << SHIFT)
#define RING_OFF 0
#define COMP_OFF 2048
#define REC_OFF	 4096
#define BUF_SIZE 2048u
#define WIRE_MTU 9000

static struct drv *d;
static int wire = -1;
static u64 tx, rx, txbuf, rxbuf;
static u32 tx_pi, rx_pi, rx_ci, tx_vector, rx_vector;

/* ---- the wire ---- */

static void wire_start(void)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	char spec[220];

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/peer", drv_dir());
	if (wire >= 0)
		close(wire);
	wire = socket(AF_UNIX, SOCK_DGRAM, 0);
	CHECK(wire >= 0 && !bind(wire, (struct sockaddr *)&sa, sizeof(sa)));
	snprintf(spec, sizeof(spec), "dgram:local=%s/dev,remote=%s/peer,mtu=%u", drv_dir(),
		 drv_dir(), WIRE_MTU);
	d = drv_start(&(struct drv_opts){.wire = spec});
	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/dev", drv_dir());
	CHECK(!connect(wire, (struct sockaddr *)&sa, sizeof(sa)));
}

static u32 wire_get(u8 *frame, u32 size, int ms)
{
	struct pollfd p = {wire, POLLIN, 0};
	ssize_t n;

	if (poll(&p, 1, ms) != 1)
		return 0;
	n = recv(wire, frame, size, 0);
	return n > 0 ? (u32)n : 0;
}

static void wire_put(const u8 *frame, u32 len)
{
	CHECK_EQ(send(wire, frame, len, 0), len);
}

/* ---- the driver ---- */

static void set_port(u32 up, u32 mtu)
{
	union drv_cmd c = drv_cmd(ORNIC_CMD_SET_PORT);

	c.port.up = cpu_to_le32(up);
	c.port.mtu = cpu_to_le32(mtu);
	drv_do(d, &c);
}

static void set_mode(u32 mode, const u8 *mac)
{
	union drv_cmd c = drv_cmd(ORNIC_CMD_SET_RX_MODE);
	u64 list;

	c.rx_mode.mode = cpu_to_le32(mode);
	if (mac) {
		list = drv_alloc(d, 8);
		memcpy(drv_ptr(d, list, 8), mac, 6);
		c.hdr.data = cpu_to_le64(list);
		c.rx_mode.count = cpu_to_le32(1);
	}
	drv_do(d, &c);
}

static u64 make_ring(u16 opcode, u32 vector)
{
	union drv_cmd c = drv_cmd(opcode);
	u64 mem = drv_alloc(d, 8192);

	c.ethq.depth_shift = SHIFT;
	c.ethq.vector = cpu_to_le16((u16)vector);
	c.ethq.mem = drv_qmem(mem, 8192);
	if (opcode == ORNIC_CMD_CREATE_RXQ)
		c.ethq.comp_off = cpu_to_le32(COMP_OFF);
	c.ethq.rec_off = cpu_to_le32(REC_OFF);
	drv_do(d, &c);
	return mem;
}

static void start(void)
{
	wire_start();
	tx_vector = d->next_vector++;
	rx_vector = d->next_vector++;
	tx = make_ring(ORNIC_CMD_CREATE_TXQ, tx_vector);
	rx = make_ring(ORNIC_CMD_CREATE_RXQ, rx_vector);
	txbuf = drv_alloc(d, 1 << 20);
	rxbuf = drv_alloc(d, DEPTH * BUF_SIZE);
	tx_pi = 0;
	rx_pi = 0;
	rx_ci = 0;
	set_port(1, 1500);
	set_mode(ORNIC_RXM_BROADCAST, NULL);
}

static struct ornic_tx_desc *tx_desc(u64 addr, u32 len, u16 flags)
{
	struct ornic_tx_desc *t = drv_ptr(d, tx + (tx_pi++ % DEPTH) * sizeof(*t), sizeof(*t));

	*t = (struct ornic_tx_desc){
		.addr = cpu_to_le64(addr), .len = cpu_to_le32(len), .flags = cpu_to_le16(flags)};
	return t;
}

static void tx_ring(void)
{
	drv_doorbell(d, 0, ORNIC_DB_ETH_TX, drv_db(0, 0, tx_pi));
}

static u32 tx_done(void)
{
	struct ornic_queue_rec *rec = drv_ptr(d, tx + REC_OFF, sizeof(*rec));

	return le32_to_cpu(__atomic_load_n(&rec->dev_ci, __ATOMIC_ACQUIRE));
}

static void tx_wait(void)
{
	int i;

	for (i = 0; i < 1000 && tx_done() != tx_pi; i++)
		drv_sleep_ms(1);
	CHECK_EQ(tx_done(), tx_pi);
}

static void rx_post(u32 n, u32 len)
{
	struct ornic_rx_desc *r;

	while (n--) {
		r = drv_ptr(d, rx + (rx_pi % DEPTH) * sizeof(*r), sizeof(*r));
		*r = (struct ornic_rx_desc){.addr = cpu_to_le64(rxbuf + (rx_pi % DEPTH) * BUF_SIZE),
					    .len = cpu_to_le32(len)};
		rx_pi++;
	}
	drv_doorbell(d, 0, ORNIC_DB_ETH_RX, drv_db(0, 0, rx_pi));
	drv_flush(d);
}

/* Next completion; its buffer in @data. */
static bool rx_next(struct ornic_rx_comp *c, void *data, int ms)
{
	struct ornic_rx_comp *e;
	u32 phase = rx_ci >> SHIFT & 1 ? 0 : ORNIC_RXF_PHASE;

	e = drv_ptr(d, rx + COMP_OFF + (rx_ci % DEPTH) * sizeof(*e), sizeof(*e));
	while ((le32_to_cpu(__atomic_load_n(&e->flags, __ATOMIC_ACQUIRE)) & ORNIC_RXF_PHASE) !=
	       phase) {
		if (ms-- <= 0)
			return false;
		drv_sleep_ms(1);
	}
	*c = *e;
	memcpy(data, drv_ptr(d, rxbuf + (rx_ci % DEPTH) * BUF_SIZE, BUF_SIZE), BUF_SIZE);
	rx_ci++;
	return true;
}

/* ---- frames ---- */

static void eth_hdr(u8 *f, const u8 *dst, u16 type)
{
	u8 src[6] = {2, 0, 0, 0, 0, 0x77};

	memcpy(f, dst, 6);
	memcpy(f + 6, src, 6);
	put_be16(f + 12, type);
}

/* Ethernet, IPv4, and a TCP or UDP header; the checksum field of the latter holds the pseudo
 * header's sum. */
static u32 ip_frame(u8 *f, const u8 *dst, u8 proto, u32 payload)
{
	u32 hlen = proto == 6 ? 20 : 8, l4 = 34, i;
	u8 *ip = f + 14;
	u16 sum;

	memset(f, 0, l4 + hlen);
	eth_hdr(f, dst, 0x0800);
	ip[0] = 0x45;
	put_be16(ip + 2, (u16)(20 + hlen + payload));
	put_be16(ip + 4, 100);
	ip[8] = 64;
	ip[9] = proto;
	put_be32(ip + 12, 0x0a000001);
	put_be32(ip + 16, 0x0a000002);
	sum = csum_fold(csum_add(0, ip, 20));
	memcpy(ip + 10, &sum, 2);
	put_be16(f + l4, 5555);
	put_be16(f + l4 + 2, 80);
	if (proto == 6) {
		put_be32(f + l4 + 4, 1000);
		f[l4 + 12] = 0x50;
		f[l4 + 13] = 0x19; /* FIN, PSH, ACK */
	} else {
		put_be16(f + l4 + 4, (u16)(8 + payload));
	}
	for (i = 0; i < payload; i++)
		f[l4 + hlen + i] = (u8)(i * 3 + 1);
	sum = (u16)~csum_fold(csum_pseudo4(ip + 12, ip + 16, proto, hlen + payload));
	memcpy(f + l4 + (proto == 6 ? 16 : 6), &sum, 2);
	return l4 + hlen + payload;
}

/* Finish the checksum that ip_frame() left open. */
static void finish_csum(u8 *f, u32 len)
{
	u32 off = f[23] == 6 ? 16 : 6;
	u16 sum = csum_fold(csum_add(0, f + 34, len - 34));

	memcpy(f + 34 + off, &sum, 2);
}

static bool csum_good(const u8 *f, u32 len)
{
	const u8 *ip = f + 14;

	return csum_fold(csum_add(0, ip, 20)) == 0 &&
	       csum_fold(csum_add(csum_pseudo4(ip + 12, ip + 16, ip[9], len - 34), f + 34,
				  len - 34)) == 0;
}

static const u8 bcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
static const u8 peer[6] = {2, 0, 0, 0, 0, 0x77};
static const u8 group[6] = {1, 0, 0x5e, 0, 0, 0xfb};

/* ---- transmission ---- */

static void tx_plain(void)
{
	u8 frame[2048], want[1514];
	u32 i;

	start();
	for (i = 0; i < sizeof(want); i++)
		want[i] = (u8)(i * 5);
	/* From one byte more than the header to the MTU; in one piece and in many. */
	for (i = 15; i <= sizeof(want); i += 233) {
		memcpy(drv_ptr(d, txbuf, i), want, i);
		tx_desc(txbuf, i, ORNIC_TXF_EOP);
		tx_ring();
		CHECK_EQ(wire_get(frame, sizeof(frame), 1000), i);
		CHECK_MEM(frame, want, i);
		tx_desc(txbuf, 3, 0);
		tx_desc(txbuf + 3, 11, 0);
		tx_desc(txbuf + 14, i - 14, ORNIC_TXF_EOP);
		tx_ring();
		CHECK_EQ(wire_get(frame, sizeof(frame), 1000), i);
		CHECK_MEM(frame, want, i);
	}
	tx_wait();
	CHECK_EQ(drv_stat(d, ORNIC_STAT_ETH_TX_FRAMES), tx_pi / 2);
}

static void tx_csum(void)
{
	u8 frame[2048], f[2048];
	static const u8 proto[] = {6, 17};
	struct ornic_tx_desc *t;
	u32 i, len;

	start();
	for (i = 0; i < 2; i++) {
		len = ip_frame(f, peer, proto[i], 333);
		memcpy(drv_ptr(d, txbuf, len), f, len);
		t = tx_desc(txbuf, len, ORNIC_TXF_EOP | ORNIC_TXF_CSUM);
		t->csum_start = cpu_to_le16(34);
		t->csum_off = cpu_to_le16(proto[i] == 6 ? 16 : 6);
		tx_ring();
		CHECK_EQ(wire_get(frame, sizeof(frame), 1000), len);
		CHECK(csum_good(frame, len));
	}
}

static void tx_vlan(void)
{
	u8 frame[2048], f[2048];
	struct ornic_tx_desc *t;
	u32 len;

	start();
	len = ip_frame(f, peer, 17, 100);
	memcpy(drv_ptr(d, txbuf, len), f, len);
	t = tx_desc(txbuf, len, ORNIC_TXF_EOP | ORNIC_TXF_VLAN | ORNIC_TXF_CSUM);
	t->vlan_tci = cpu_to_le16(0x6123);
	t->csum_start = cpu_to_le16(34);
	t->csum_off = cpu_to_le16(6);
	tx_ring();
	CHECK_EQ(wire_get(frame, sizeof(frame), 1000), len + 4);
	CHECK_EQ(get_be16(frame + 12), 0x8100);
	CHECK_EQ(get_be16(frame + 14), 0x6123);
	memmove(frame + 4, frame, 12);
	CHECK(csum_good(frame + 4, len));
	CHECK_MEM(frame + 4, f, 34);
}

static void tx_tso(u16 vlan)
{
	static u8 f[66000], frame[2048];
	u32 len, n, got = 0, mss = 1000, segs = 0, shift = vlan ? 4 : 0;
	struct ornic_tx_desc *t;

	start();
	len = ip_frame(f, peer, 6, 60000);
	memcpy(drv_ptr(d, txbuf, len), f, len);
	t = tx_desc(txbuf, 54, ORNIC_TXF_CSUM | ORNIC_TXF_TSO4 | (vlan ? ORNIC_TXF_VLAN : 0));
	t->csum_start = cpu_to_le16(34);
	t->csum_off = cpu_to_le16(16);
	t->mss = cpu_to_le16((u16)mss);
	t->hdr_len = cpu_to_le16(54);
	t->vlan_tci = cpu_to_le16(vlan);
	tx_desc(txbuf + 54, 30000, 0);
	tx_desc(txbuf + 30054, 30000, ORNIC_TXF_EOP);
	tx_ring();
	while (got < 60000) {
		n = wire_get(frame, sizeof(frame), 1000);
		CHECK(n > 54 + shift);
		if (vlan) {
			CHECK_EQ(get_be32(frame + 12), 0x81000000u | vlan);
			memmove(frame + 4, frame, 12);
			n -= 4;
			memmove(frame, frame + 4, n);
		}
		CHECK(csum_good(frame, n));
		CHECK_EQ(get_be16(frame + 18), 100 + segs);
		CHECK_EQ(get_be32(frame + 38), 1000 + got);
		CHECK_MEM(frame + 54, f + 54 + got, n - 54);
		got += n - 54;
		/* FIN and PSH only at the end */
		CHECK_EQ(frame[47], got == 60000 ? 0x19 : 0x10);
		CHECK(n - 54 == mss || got == 60000);
		segs++;
	}
	CHECK_EQ(segs, 60);
	tx_wait();
}

static void tx_tso_plain(void)
{
	tx_tso(0);
}

static void tx_tso_vlan(void)
{
	tx_tso(5);
}

/* Each is dropped, counted, and done; the ring goes on. */
static void tx_bad(void)
{
	u8 frame[2048];
	struct ornic_tx_desc *t;
	u32 bad = 0, i;

	start();
	eth_hdr(drv_ptr(d, txbuf, 2000), peer, 0x88b5);
	tx_desc(0x7000000000, 100, ORNIC_TXF_EOP), bad++;
	tx_desc(txbuf, 0, ORNIC_TXF_EOP), bad++;
	tx_desc(txbuf, 65536, ORNIC_TXF_EOP), bad++;
	tx_desc(txbuf, 13, ORNIC_TXF_EOP), bad++;
	tx_desc(txbuf, 1515, ORNIC_TXF_EOP), bad++;
	tx_desc(txbuf, 100, ORNIC_TXF_EOP | BIT(7)), bad++;
	tx_desc(txbuf, 100, ORNIC_TXF_EOP)->mbz = 1, bad++;
	tx_desc(txbuf, 100, ORNIC_TXF_EOP | ORNIC_TXF_TSO4)->mss = 10, bad++;
	t = tx_desc(txbuf, 100, ORNIC_TXF_EOP | ORNIC_TXF_CSUM), bad++;
	t->csum_start = cpu_to_le16(90);
	t->csum_off = cpu_to_le16(9);
	t = tx_desc(txbuf, 100, ORNIC_TXF_EOP | ORNIC_TXF_CSUM | ORNIC_TXF_TSO4 | ORNIC_TXF_TSO6),
	bad++;
	t->csum_start = cpu_to_le16(34);
	t->mss = cpu_to_le16(10);
	t = tx_desc(txbuf, 100, ORNIC_TXF_EOP | ORNIC_TXF_CSUM | ORNIC_TXF_TSO4), bad++;
	t->csum_start = cpu_to_le16(34);
	t->csum_off = cpu_to_le16(16);
	tx_ring();
	tx_wait();
	CHECK_EQ(drv_stat(d, ORNIC_STAT_ETH_TX_BAD), bad);
	/* A frame without an end that fills the ring. */
	for (i = 0; i < DEPTH; i++)
		tx_desc(txbuf, 100, 0);
	tx_ring();
	tx_wait();
	CHECK_EQ(drv_stat(d, ORNIC_STAT_ETH_TX_BAD), bad + 1);
	/* Index beyond the ring: refused. */
	drv_doorbell(d, 0, ORNIC_DB_ETH_TX, drv_db(0, 0, tx_pi + DEPTH + 1));
	CHECK_EQ(drv_reg(d, ORNIC_REG_DB_REFUSED), 1);
	tx_desc(txbuf, 100, ORNIC_TXF_EOP);
	tx_ring();
	CHECK_EQ(wire_get(frame, sizeof(frame), 1000), 100);
	/* Port down: dropped. */
	set_port(0, 1500);
	tx_desc(txbuf, 100, ORNIC_TXF_EOP);
	tx_ring();
	tx_wait();
	CHECK_EQ(drv_stat(d, ORNIC_STAT_ETH_TX_DROP), 1);
	CHECK_EQ(wire_get(frame, sizeof(frame), 50), 0);
}

/* The segments of a peer that takes small ones only: more than the wire's queue is long. */
static void tx_tso_many(void)
{
	u32 len, n, got = 0, mss = 100, payload = 60000;
	static u8 f[66000], frame[2048];
	struct ornic_tx_desc *t;

	start();
	len = ip_frame(f, peer, 6, payload);
	memcpy(drv_ptr(d, txbuf, len), f, len);
	t = tx_desc(txbuf, len, ORNIC_TXF_CSUM | ORNIC_TXF_TSO4 | ORNIC_TXF_EOP);
	t->csum_start = cpu_to_le16(34);
	t->csum_off = cpu_to_le16(16);
	t->mss = cpu_to_le16((u16)mss);
	t->hdr_len = cpu_to_le16(54);
	tx_ring();
	while (got < payload) {
		n = wire_get(frame, sizeof(frame), 1000);
		CHECK_EQ(n, 54 + mss);
		CHECK(csum_good(frame, n));
		CHECK_EQ(get_be32(frame + 38), 1000 + got);
		CHECK_MEM(frame + 54, f + 54 + got, mss);
		got += mss;
	}
	tx_wait();
	CHECK_EQ(drv_stat(d, ORNIC_STAT_ETH_TX_BAD), 0);
	/* 2069 of them are too many. */
	t = tx_desc(txbuf, len, ORNIC_TXF_CSUM | ORNIC_TXF_TSO4 | ORNIC_TXF_EOP);
	t->csum_start = cpu_to_le16(34);
	t->csum_off = cpu_to_le16(16);
	t->mss = cpu_to_le16(29);
	t->hdr_len = cpu_to_le16(54);
	tx_ring();
	tx_wait();
	CHECK_EQ(drv_stat(d, ORNIC_STAT_ETH_TX_BAD), 1);
}

/* Offload fields that contradict the frame, on a wire that leaves the cutting to others as well. */
static void tx_tso_bad(void)
{
	struct {
		u16 flags, start, hdr_len;
		u8 doff, version, proto;
	} t[] = {
		{ORNIC_TXF_TSO4, 34, 54, 0x50, 0x45, 6}, /* good */
		{ORNIC_TXF_TSO4, 34, 50, 0x50, 0x45, 6}, /* shorter than the headers */
		{ORNIC_TXF_TSO4, 34, 58, 0x50, 0x45, 6}, /* longer */
		{ORNIC_TXF_TSO4, 34, 54, 0x60, 0x45, 6},
		{ORNIC_TXF_TSO4, 34, 54, 0x40, 0x45, 6},
		{ORNIC_TXF_TSO6, 34, 54, 0x50, 0x45, 6}, /* the other IP */
		{ORNIC_TXF_TSO4, 34, 54, 0x50, 0x65, 6},
		{ORNIC_TXF_TSO4, 34, 54, 0x50, 0x46, 6}, /* TCP is not there */
		{ORNIC_TXF_TSO4, 38, 58, 0x50, 0x45, 6},
		{ORNIC_TXF_TSO4, 34, 54, 0x50, 0x45, 17}, /* not TCP */
	};
	u8 f[2048], frame[2048];
	struct ornic_tx_desc *desc;
	u32 len;

	start();
	for (unsigned int i = 0; i < ARRAY_SIZE(t); i++) {
		len = ip_frame(f, peer, 6, 100);
		f[14] = t[i].version;
		f[23] = t[i].proto;
		f[46] = t[i].doff;
		memcpy(drv_ptr(d, txbuf, len), f, len);
		desc = tx_desc(txbuf, len, ORNIC_TXF_CSUM | ORNIC_TXF_EOP | t[i].flags);
		desc->csum_start = cpu_to_le16(t[i].start);
		desc->csum_off = cpu_to_le16(16);
		desc->mss = cpu_to_le16(1000);
		desc->hdr_len = cpu_to_le16(t[i].hdr_len);
		tx_ring();
		tx_wait();
	}
	CHECK_EQ(drv_stat(d, ORNIC_STAT_ETH_TX_BAD), ARRAY_SIZE(t) - 1);
	CHECK_EQ(wire_get(frame, sizeof(frame), 1000), 154);
	CHECK_EQ(wire_get(frame, sizeof(frame), 30), 0);
}

static void tx_irq(void)
{
	start();
	drv_doorbell(d, 0, ORNIC_DB_ETH_ARM, drv_db(0, ORNIC_DB_FLAG_ARM | ORNIC_DB_FLAG_TX, 0));
	drv_flush(d);
	CHECK_EQ(vc_msix_wait(d->c, tx_vector, 30), 0);
	tx_desc(txbuf, 100, ORNIC_TXF_EOP);
	tx_ring();
	CHECK_EQ(vc_msix_wait(d->c, tx_vector, 1000), 1);
	tx_desc(txbuf, 100, ORNIC_TXF_EOP);
	tx_ring();
	tx_wait();
	CHECK_EQ(vc_msix_wait(d->c, tx_vector, 30), 0);
	/* Armed with what it has seen: one more is done, so at once. */
	drv_doorbell(d, 0, ORNIC_DB_ETH_ARM, drv_db(0, ORNIC_DB_FLAG_ARM | ORNIC_DB_FLAG_TX, 1));
	CHECK_EQ(vc_msix_wait(d->c, tx_vector, 1000), 1);
	/* Neither what was taken back nor what was not done yet is a consumer index. */
	drv_doorbell(d, 0, ORNIC_DB_ETH_ARM, drv_db(0, ORNIC_DB_FLAG_ARM | ORNIC_DB_FLAG_TX, 0));
	drv_doorbell(d, 0, ORNIC_DB_ETH_ARM, drv_db(0, ORNIC_DB_FLAG_ARM | ORNIC_DB_FLAG_TX, 3));
	CHECK_EQ(drv_reg(d, ORNIC_REG_DB_REFUSED), 2);
	CHECK_EQ(vc_msix_wait(d->c, tx_vector, 30), 0);
}

/* ---- reception ---- */

static void expect(const u8 *dst, bool passes)
{
	struct ornic_rx_comp c;
	u8 f[100], buf[BUF_SIZE];

	memset(f, 0x5a, sizeof(f));
	eth_hdr(f, dst, 0x88b5);
	wire_put(f, sizeof(f));
	CHECK_EQ(rx_next(&c, buf, passes ? 1000 : 20), passes);
	if (!passes)
		return;
	CHECK_EQ(le32_to_cpu(c.len), sizeof(f));
	CHECK_EQ(le32_to_cpu(c.frame_len), sizeof(f));
	CHECK_EQ(le32_to_cpu(c.flags) & ~ORNIC_RXF_PHASE, ORNIC_RXF_EOP);
	CHECK_MEM(buf, f, sizeof(f));
	rx_post(1, BUF_SIZE);
}

static void rx_filter(void)
{
	u8 other[6] = {2, 1, 2, 3, 4, 5};
	union drv_cmd c = drv_cmd(ORNIC_CMD_SET_MAC);

	start();
	rx_post(DEPTH, BUF_SIZE);
	expect(d->mac, true);
	expect(bcast, true);
	expect(other, false);
	expect(group, false);
	CHECK_EQ(drv_stat(d, ORNIC_STAT_ETH_RX_FILTERED), 2);
	set_mode(0, group);
	expect(group, true);
	expect(bcast, false);
	set_mode(ORNIC_RXM_ALLMULTI, NULL);
	expect(group, true);
	expect(bcast, false);
	expect(other, false);
	set_mode(0, other);
	expect(other, true);
	set_mode(ORNIC_RXM_PROMISC, NULL);
	expect(other, true);
	expect(group, true);
	expect(bcast, true);
	set_mode(0, NULL);
	memcpy(c.mac.mac, other, 6);
	drv_do(d, &c);
	expect(other, true);
	expect(d->mac, false);
}

static void rx_csum(void)
{
	struct ornic_rx_comp c;
	u8 f[2048], buf[BUF_SIZE];
	static const u8 proto[] = {6, 17};
	u32 i, len;

	start();
	rx_post(DEPTH, BUF_SIZE);
	for (i = 0; i < 2; i++) {
		len = ip_frame(f, d->mac, proto[i], 77);
		finish_csum(f, len);
		wire_put(f, len);
		CHECK(rx_next(&c, buf, 1000));
		CHECK(le32_to_cpu(c.flags) & ORNIC_RXF_CSUM_OK);
		f[60] ^= 1;
		wire_put(f, len);
		CHECK(rx_next(&c, buf, 1000));
		CHECK(!(le32_to_cpu(c.flags) & ORNIC_RXF_CSUM_OK));
		f[60] ^= 1;
		f[22] ^= 1; /* TTL: the IP header's sum is wrong */
		wire_put(f, len);
		CHECK(rx_next(&c, buf, 1000));
		CHECK(!(le32_to_cpu(c.flags) & ORNIC_RXF_CSUM_OK));
	}
}

static void rx_vlan(void)
{
	struct ornic_rx_comp c;
	u8 f[200], g[204], buf[BUF_SIZE];
	u32 len;

	start();
	rx_post(4, BUF_SIZE);
	len = ip_frame(f, d->mac, 17, 60);
	finish_csum(f, len);
	memcpy(g, f, 12);
	put_be32(g + 12, 0x8100a00c);
	memcpy(g + 16, f + 12, len - 12);
	wire_put(g, len + 4);
	CHECK(rx_next(&c, buf, 1000));
	CHECK_EQ(le32_to_cpu(c.flags) & ~ORNIC_RXF_PHASE,
		 ORNIC_RXF_EOP | ORNIC_RXF_VLAN | ORNIC_RXF_CSUM_OK);
	CHECK_EQ(le16_to_cpu(c.vlan_tci), 0xa00c);
	CHECK_EQ(le32_to_cpu(c.len), len);
	CHECK_MEM(buf, f, len);
}

static void rx_buffers(void)
{
	struct ornic_rx_comp c;
	u8 f[9014], buf[BUF_SIZE];
	u32 i, got = 0;

	start();
	set_port(1, 9000);
	for (i = 0; i < sizeof(f); i++)
		f[i] = (u8)(i * 11);
	eth_hdr(f, d->mac, 0x88b5);
	/* No buffer at all, then one too few: the frame is dropped whole. */
	wire_put(f, sizeof(f));
	rx_post(4, BUF_SIZE);
	wire_put(f, sizeof(f));
	CHECK(!rx_next(&c, buf, 30));
	CHECK_EQ(drv_stat(d, ORNIC_STAT_ETH_RX_NO_BUFFER), 2);
	rx_post(1, BUF_SIZE);
	wire_put(f, sizeof(f));
	for (i = 0; i < 5; i++) {
		CHECK(rx_next(&c, buf, 1000));
		CHECK_EQ(le32_to_cpu(c.frame_len), sizeof(f));
		CHECK_EQ(le32_to_cpu(c.len), i < 4 ? BUF_SIZE : sizeof(f) - 4 * BUF_SIZE);
		CHECK_EQ(!!(le32_to_cpu(c.flags) & ORNIC_RXF_EOP), i == 4);
		CHECK_MEM(buf, f + got, le32_to_cpu(c.len));
		got += le32_to_cpu(c.len);
	}
	/* The record alone tells of new buffers too. */
	rx_post(0, 0);
	rx_pi += 5;
	((struct ornic_queue_rec *)drv_ptr(d, rx + REC_OFF, 128))->pi = cpu_to_le32(rx_pi);
	for (i = 0; i < 5; i++) {
		struct ornic_rx_desc *r =
			drv_ptr(d, rx + ((rx_pi - 5 + i) % DEPTH) * sizeof(*r), sizeof(*r));

		r->addr = cpu_to_le64(rxbuf + ((rx_pi - 5 + i) % DEPTH) * BUF_SIZE);
		r->len = cpu_to_le32(BUF_SIZE);
	}
	wire_put(f, sizeof(f));
	CHECK(rx_next(&c, buf, 1000));
}

static void rx_bad(void)
{
	struct ornic_rx_comp c;
	u8 f[1515], buf[BUF_SIZE];
	struct ornic_rx_desc *r;

	start();
	memset(f, 1, sizeof(f));
	eth_hdr(f, d->mac, 0x88b5);
	rx_post(1, 255);
	wire_put(f, 100);
	CHECK(rx_next(&c, buf, 1000));
	CHECK_EQ(le32_to_cpu(c.flags) & ~ORNIC_RXF_PHASE, ORNIC_RXF_EOP | ORNIC_RXF_ERROR);
	rx_post(1, 65537);
	wire_put(f, 100);
	CHECK(rx_next(&c, buf, 1000));
	CHECK(le32_to_cpu(c.flags) & ORNIC_RXF_ERROR);
	r = drv_ptr(d, rx + (rx_pi % DEPTH) * sizeof(*r), sizeof(*r));
	*r = (struct ornic_rx_desc){.addr = cpu_to_le64(0x7000000000), .len = cpu_to_le32(2048)};
	drv_doorbell(d, 0, ORNIC_DB_ETH_RX, drv_db(0, 0, ++rx_pi));
	drv_flush(d);
	wire_put(f, 100);
	CHECK(rx_next(&c, buf, 1000));
	CHECK(le32_to_cpu(c.flags) & ORNIC_RXF_ERROR);
	CHECK_EQ(drv_stat(d, ORNIC_STAT_ETH_RX_FRAMES), 0);
	/* Longer than the MTU; shorter than a header; port down. */
	rx_post(4, BUF_SIZE);
	wire_put(f, 1515);
	wire_put(f, 13);
	CHECK(!rx_next(&c, buf, 30));
	CHECK_EQ(drv_stat(d, ORNIC_STAT_ETH_RX_TOO_LONG), 1);
	wire_put(f, 1514);
	CHECK(rx_next(&c, buf, 1000));
	set_port(0, 1500);
	wire_put(f, 1514);
	CHECK(!rx_next(&c, buf, 30));
}

static void rx_irq(void)
{
	struct ornic_rx_comp c;
	u8 f[100], buf[BUF_SIZE];

	start();
	memset(f, 1, sizeof(f));
	eth_hdr(f, d->mac, 0x88b5);
	rx_post(8, BUF_SIZE);
	wire_put(f, 100);
	CHECK(rx_next(&c, buf, 1000));
	CHECK_EQ(vc_msix_wait(d->c, rx_vector, 30), 0);
	drv_doorbell(d, 0, ORNIC_DB_ETH_ARM, drv_db(0, ORNIC_DB_FLAG_ARM, 0));
	CHECK_EQ(vc_msix_wait(d->c, rx_vector, 1000), 1);
	drv_doorbell(d, 0, ORNIC_DB_ETH_ARM, drv_db(0, ORNIC_DB_FLAG_ARM, 1));
	drv_flush(d);
	CHECK_EQ(vc_msix_wait(d->c, rx_vector, 30), 0);
	wire_put(f, 100);
	CHECK_EQ(vc_msix_wait(d->c, rx_vector, 1000), 1);
	/* More than there is: refused. */
	drv_doorbell(d, 0, ORNIC_DB_ETH_ARM, drv_db(0, ORNIC_DB_FLAG_ARM, 3));
	CHECK_EQ(drv_reg(d, ORNIC_REG_DB_REFUSED), 1);
}

/* A SYN for an offloaded listener does not reach the host, unless the driver sends it there. */
static void demux(void)
{
	struct ornic_rx_comp c;
	struct drv_eq eq;
	struct ornic_teqe e;
	union drv_cmd cmd;
	u8 f[200], buf[BUF_SIZE], slot[ORNIC_TEQ_SLOT_SIZE];
	u32 len;

	start();
	eq = drv_eq_new(d, 0, ORNIC_EQ_TCP, 4);
	rx_post(8, BUF_SIZE);
	len = ip_frame(f, d->mac, 6, 0);
	f[47] = 2; /* SYN */
	finish_csum(f, len);
	wire_put(f, len);
	CHECK(rx_next(&c, buf, 1000));
	cmd = drv_listen_cmd(1, 0, 80);
	drv_do(d, &cmd);
	wire_put(f, len);
	e = drv_tcp_event(d, &eq, ORNIC_TCP_CONN_REQ, 0, slot);
	CHECK_EQ(le16_to_cpu(e.data_len), len);
	CHECK_MEM(slot, f, len);
	CHECK(!rx_next(&c, buf, 30));
	cmd = drv_cmd(ORNIC_CMD_REFUSE);
	cmd.refuse.syn_id = e.syn_id;
	cmd.refuse.how = cpu_to_le32(ORNIC_REFUSE_TO_HOST);
	drv_do(d, &cmd);
	CHECK(rx_next(&c, buf, 1000));
	CHECK_EQ(le32_to_cpu(c.len), len);
	CHECK_MEM(buf, f, len);
	CHECK(le32_to_cpu(c.flags) & ORNIC_RXF_CSUM_OK);
}

/* Pages of memory that the device has */
static long resident(void)
{
	char path[64];
	long total, res = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", d->pid);
	f = fopen(path, "r");
	CHECK(f && fscanf(f, "%ld %ld", &total, &res) == 2);
	fclose(f);
	return res;
}

/* A SYN from address number @n */
static u32 syn_from(u8 *f, u32 n)
{
	u32 len = ip_frame(f, d->mac, 6, 0);
	u16 sum;

	put_be32(f + 26, 0x0b000001 + n);
	memset(f + 24, 0, 2);
	sum = csum_fold(csum_add(0, f + 14, 20));
	memcpy(f + 24, &sum, 2);
	f[47] = 2;
	memset(f + 50, 0, 2);
	sum = csum_fold(csum_add(csum_pseudo4(f + 26, f + 30, 6, 20), f + 34, 20));
	memcpy(f + 50, &sum, 2);
	return len;
}

static void flood(u32 first, u32 end)
{
	u8 f[200];

	for (; first < end; first++)
		wire_put(f, syn_from(f, first));
}

/* A flood of SYNs fills the listener's share and nothing more; once it is answered others get in.
 */
static void syn_flood(void)
{
	enum {
		BACKLOG = 8,
		FLOOD = 40000
	};
	u32 syn[BACKLOG], n, len;
	struct ornic_teqe e;
	union drv_cmd cmd;
	struct drv_eq eq;
	long before;
	u8 f[200];

	start();
	eq = drv_eq_new(d, 0, ORNIC_EQ_TCP, 6);
	cmd = drv_listen_cmd(1, 0, 80);
	cmd.listen.backlog = cpu_to_le32(BACKLOG);
	drv_do(d, &cmd);
	flood(0, FLOOD / 2);
	/* The buffers of the wire have been touched by now. */
	before = resident();
	flood(FLOOD / 2, FLOOD);
	for (n = 0; n < BACKLOG; n++) {
		e = drv_tcp_event(d, &eq, ORNIC_TCP_CONN_REQ, 0, NULL);
		syn[n] = le32_to_cpu(e.syn_id);
	}
	CHECK(!drv_eq_next(d, &eq, &e, NULL, 50));
	/* Pages: 64 bytes kept of each SYN of the second half would be more. */
	CHECK(resident() - before < 256);
	CHECK_EQ(drv_stat(d, ORNIC_STAT_TCP_SYN_DROP), FLOOD - BACKLOG);
	CHECK_EQ(wire_get(f, sizeof(f), 20), 0); /* and says nothing */
	for (n = 0; n < BACKLOG; n++) {
		cmd = drv_cmd(ORNIC_CMD_REFUSE);
		cmd.refuse.syn_id = cpu_to_le32(syn[n]);
		cmd.refuse.how = cpu_to_le32(ORNIC_REFUSE_SILENT);
		drv_do(d, &cmd);
	}
	len = syn_from(f, FLOOD);
	wire_put(f, len);
	drv_tcp_event(d, &eq, ORNIC_TCP_CONN_REQ, 0, NULL);
}

/* "Port unreachable" about the packet at @q, whose IP header and 8 bytes more are quoted */
static u32 icmp_frame(u8 *f, const u8 *q, bool v6)
{
	u32 ip_len = v6 ? 40 : 20, len = 8 + ip_len + 8;
	u8 *ip = f + 14, *icmp = ip + ip_len;
	u16 sum;

	memset(f, 0, 14 + ip_len + len);
	eth_hdr(f, d->mac, v6 ? 0x86dd : 0x0800);
	ip[0] = v6 ? 0x60 : 0x45;
	put_be16(ip + (v6 ? 4 : 2), (u16)(v6 ? len : 20 + len));
	ip[v6 ? 6 : 9] = v6 ? 58 : 1;
	memcpy(ip + (v6 ? 8 : 12), q + (v6 ? 24 : 16), v6 ? 16 : 4); /* as if from the peer */
	memcpy(ip + (v6 ? 24 : 16), q + (v6 ? 8 : 12), v6 ? 16 : 4);
	if (!v6) {
		sum = csum_fold(csum_add(0, ip, 20));
		memcpy(ip + 10, &sum, 2);
	}
	icmp[0] = v6 ? 1 : 3;
	icmp[1] = v6 ? 4 : 3;
	memcpy(icmp + 8, q, ip_len + 8);
	sum = csum_fold(csum_add(v6 ? csum_pseudo6(ip + 8, ip + 24, 58, len) : 0, icmp, len));
	memcpy(icmp + 2, &sum, 2);
	return 14 + ip_len + len;
}

/* The device takes an ICMP error about its connection from the wire; the host gets it as well. */
static void icmp_of(bool v6)
{
	static const u8 net[15] = {0x20, 0x01, 0x0d, 0xb8};
	u8 f[200], syn[200], buf[BUF_SIZE];
	struct ornic_rx_comp c;
	struct drv_eq eq;
	struct ornic_teqe e;
	union drv_cmd cmd;
	u32 len;

	start();
	eq = drv_eq_new(d, 0, ORNIC_EQ_TCP, 4);
	rx_post(8, BUF_SIZE);
	drv_nexthop(d, 0, peer, 1500, 0);
	drv_net6 = v6 ? net : NULL;
	cmd = drv_open_cmd(1, 0, 1, 1000, 2, 80);
	drv_net6 = NULL;
	drv_do(d, &cmd);
	CHECK(wire_get(syn, sizeof(syn), 1000));
	len = icmp_frame(f, syn + 14, v6);
	wire_put(f, len);
	e = drv_tcp_event(d, &eq, ORNIC_TCP_UNREACH, 1, NULL);
	CHECK_EQ(le32_to_cpu(e.info), v6 ? 0x104 : 0x303);
	CHECK(rx_next(&c, buf, 1000));
	CHECK_EQ(le32_to_cpu(c.len), len);
	CHECK_MEM(buf, f, len);
}

static void icmp(void)
{
	icmp_of(false);
}

static void icmp6(void)
{
	icmp_of(true);
}

static void link_flap(void)
{
	struct drv_eq eq;
	struct ornic_aeqe e;
	u8 frame[200];

	start();
	eq = drv_eq_new(d, 0, ORNIC_EQ_ASYNC, 4);
	free(drv_ctl(d, "link down"));
	CHECK(drv_eq_next(d, &eq, &e, NULL, 1000));
	CHECK_EQ(e.type, ORNIC_ASYNC_LINK);
	CHECK_EQ(le32_to_cpu(e.info), 0);
	CHECK_EQ(drv_reg(d, ORNIC_REG_STATUS) & ORNIC_STATUS_LINK, 0);
	tx_desc(txbuf, 100, ORNIC_TXF_EOP);
	tx_ring();
	tx_wait();
	CHECK_EQ(drv_stat(d, ORNIC_STAT_ETH_TX_DROP), 1);
	free(drv_ctl(d, "link up"));
	CHECK(drv_eq_next(d, &eq, &e, NULL, 1000));
	CHECK_EQ(le32_to_cpu(e.info), 1);
	tx_desc(txbuf, 100, ORNIC_TXF_EOP);
	tx_ring();
	CHECK_EQ(wire_get(frame, sizeof(frame), 1000), 100);
}

/* Rings destroyed under way: nothing is touched afterwards. */
/* ---- faults on the way in ---- */

static void put_numbered(u8 n)
{
	u8 f[100];

	memset(f, n, sizeof(f));
	eth_hdr(f, d->mac, 0x88b5);
	wire_put(f, sizeof(f));
}

static void expect_numbered(u8 n)
{
	struct ornic_rx_comp c;
	u8 buf[BUF_SIZE];

	CHECK(rx_next(&c, buf, 1000));
	CHECK_EQ(le32_to_cpu(c.len), 100);
	CHECK_EQ(buf[99], n);
}

static void expect_nothing(int ms)
{
	struct ornic_rx_comp c;
	u8 buf[BUF_SIZE];

	CHECK(!rx_next(&c, buf, ms));
}

static void fault_reorder(void)
{
	start();
	rx_post(DEPTH, BUF_SIZE);
	free(drv_ctl(d, "reorder 1000"));
	put_numbered(1);
	put_numbered(2);
	put_numbered(3);
	put_numbered(4);
	expect_numbered(2);
	expect_numbered(1);
	expect_numbered(4);
	expect_numbered(3);
	/* One that nothing overtakes is not kept for ever. */
	put_numbered(5);
	expect_numbered(5);
	CHECK_EQ(drv_ctl_stat(d, "fault_reordered"), 3);
	free(drv_ctl(d, "reorder 0"));
	put_numbered(6);
	put_numbered(7);
	expect_numbered(6);
	expect_numbered(7);
	CHECK_EQ(drv_ctl_stat(d, "fault_reordered"), 3);
}

#define MAX_HELD 1024

static void fault_delay(void)
{
	u32 i;

	start();
	rx_post(DEPTH, BUF_SIZE);
	free(drv_ctl(d, "delay 1000 100"));
	put_numbered(1);
	put_numbered(2);
	expect_nothing(20);
	free(drv_ctl(d, "delay 0"));
	put_numbered(3);
	expect_numbered(3);
	expect_numbered(1);
	expect_numbered(2);
	CHECK_EQ(drv_ctl_stat(d, "fault_delayed"), 2);
	/* Those that are held are bounded in number, and lost when the link goes. */
	free(drv_ctl(d, "delay 1000 300"));
	for (i = 0; i < MAX_HELD + 44; i++)
		put_numbered(4);
	drv_flush(d);
	for (i = 0; i < 100 && drv_ctl_stat(d, "fault_lost") < 44; i++)
		drv_sleep_ms(5);
	CHECK_EQ(drv_ctl_stat(d, "fault_delayed"), 2 + MAX_HELD);
	CHECK_EQ(drv_ctl_stat(d, "fault_lost"), 44);
	free(drv_ctl(d, "link down"));
	free(drv_ctl(d, "link up"));
	expect_nothing(400);
}

/* A reset loses them, too: they belong to the life before it. */
static void fault_delay_reset(void)
{
	start();
	rx_post(DEPTH, BUF_SIZE);
	free(drv_ctl(d, "delay 1000 200"));
	put_numbered(1);
	drv_sleep_ms(20);
	CHECK_EQ(drv_ctl_stat(d, "fault_delayed"), 1);
	free(drv_ctl(d, "delay 0"));
	drv_reset(d);
	drv_enable(d);
	rx = make_ring(ORNIC_CMD_CREATE_RXQ, rx_vector);
	rx_pi = 0;
	rx_ci = 0;
	rx_post(DEPTH, BUF_SIZE);
	set_port(1, 1500);
	expect_nothing(300);
	put_numbered(2);
	expect_numbered(2);
}

static void fault_args(void)
{
	static const char *const bad[] = {"reorder",	   "reorder 1001", "delay",
					  "delay 10 0",	   "delay 10 x",   "delay 1001 5",
					  "delay 1 10001", "bad-crc",	   "bad-crc -1"};
	char *s;
	u32 i;

	start();
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		s = drv_ctl(d, bad[i]);
		if (strncmp(s, "error: give ", 12))
			test_fail(__FILE__, __LINE__, "'%s': %s", bad[i], s);
		free(s);
	}
	rx_post(1, BUF_SIZE);
	put_numbered(1);
	expect_numbered(1);
}

static void destroy_busy(void)
{
	struct ornic_rx_comp c;
	u8 f[100], buf[BUF_SIZE];

	start();
	memset(f, 1, sizeof(f));
	eth_hdr(f, d->mac, 0x88b5);
	rx_post(8, BUF_SIZE);
	CHECK_EQ(drv_number(d, ORNIC_CMD_DESTROY_RXQ, 0), 0);
	CHECK_EQ(drv_number(d, ORNIC_CMD_DESTROY_TXQ, 0), 0);
	wire_put(f, 100);
	CHECK(!rx_next(&c, buf, 30));
	CHECK_EQ(drv_stat(d, ORNIC_STAT_ETH_RX_NO_BUFFER), 1);
	tx_ring();
	CHECK_EQ(drv_reg(d, ORNIC_REG_DB_REFUSED), 1);
}

static void capture(void)
{
	u8 frame[200];
	char line[200], path[160];
	char *s;
	FILE *f;

	start();
	snprintf(path, sizeof(path), "%s/cap", drv_dir());
	snprintf(line, sizeof(line), "pcap %s", path);
	s = drv_ctl(d, line);
	CHECK(!strcmp(s, "ok\n"));
	free(s);
	tx_desc(txbuf, 100, ORNIC_TXF_EOP);
	tx_ring();
	CHECK_EQ(wire_get(frame, sizeof(frame), 1000), 100);
	s = drv_ctl(d, "pcap stop");
	CHECK(!strcmp(s, "frames 1\nok\n"));
	free(s);
	f = fopen(path, "r");
	CHECK(f && !fseek(f, 0, SEEK_END));
	/* Header, record header, frame. */
	CHECK_EQ(ftell(f), 24 + 16 + 100);
	fclose(f);
	s = drv_ctl(d, "pcap /nonexistent/file");
	CHECK(!strncmp(s, "error: ", 7));
	free(s);
}

static const struct test tests[] = {
	{"tx_plain", tx_plain},
	{"tx_csum", tx_csum},
	{"tx_vlan", tx_vlan},
	{"tx_tso_plain", tx_tso_plain},
	{"tx_tso_vlan", tx_tso_vlan},
	{"tx_bad", tx_bad},
	{"tx_tso_many", tx_tso_many},
	{"tx_tso_bad", tx_tso_bad},
	{"tx_irq", tx_irq},
	{"rx_filter", rx_filter},
	{"rx_csum", rx_csum},
	{"rx_vlan", rx_vlan},
	{"rx_buffers", rx_buffers},
	{"rx_bad", rx_bad},
	{"rx_irq", rx_irq},
	{"demux", demux},
	{"syn_flood", syn_flood},
	{"icmp", icmp},
	{"icmp6", icmp6},
	{"link_flap", link_flap},
	{"destroy_busy", destroy_busy},
	{"capture", capture},
	{"fault_reorder", fault_reorder},
	{"fault_delay", fault_delay},
	{"fault_delay_reset", fault_delay_reset},
	{"fault_args", fault_args},
};

int main(int argc, char **argv)
{
	return test_main(argc, argv, tests, ARRAY_SIZE(tests));
}
