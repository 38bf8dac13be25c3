// SPDX-License-Identifier: GPL-2.0-or-later
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/csum.h"
#include "mpa_peer.h"

#define TH_FIN 0x01
#define TH_SYN 0x02
#define TH_RST 0x04
#define TH_PSH 0x08
#define TH_ACK 0x10

#define HDR_MAX 64
#define WINDOW	60000

static u16 mpa_ports = PEER_PORT;

/* ---- frames ---- */

void peer_segment(struct peer *p, u32 seq, const void *data, u32 len, u8 flags)
{
	u8 f[HDR_MAX + 65536] = {0}, *ip = f + 14, *tcp = f + 34;
	u32 opt = flags & TH_SYN ? 4 : 0, tcp_len = 20 + opt + len;
	u16 sum;

	memcpy(f, p->dev_mac, 6);
	memcpy(f + 6, p->mac, 6);
	put_be16(f + 12, 0x0800);
	ip[0] = 0x45;
	put_be16(ip + 2, (u16)(20 + tcp_len));
	ip[6] = 0x40;
	ip[8] = 64;
	ip[9] = 6;
	memcpy(ip + 12, (u8[]){10, 0, 0, PEER_HOST}, 4);
	memcpy(ip + 16, (u8[]){10, 0, 0, DEV_HOST}, 4);
	sum = csum_fold(csum_add(0, ip, 20));
	memcpy(ip + 10, &sum, 2);
	put_be16(tcp, p->port);
	put_be16(tcp + 2, p->dev_port);
	put_be32(tcp + 4, seq);
	put_be32(tcp + 8, flags & TH_ACK ? p->rcv_nxt : 0);
	tcp[12] = (u8)((20 + opt) / 4 << 4);
	tcp[13] = flags;
	put_be16(tcp + 14, WINDOW);
	if (opt) {
		tcp[20] = 2;
		tcp[21] = 4;
		put_be16(tcp + 22, p->mss);
	}
	if (len)
		memcpy(tcp + 20 + opt, data, len);
	sum = csum_fold(csum_add(csum_pseudo4(ip + 12, ip + 16, 6, tcp_len), tcp, tcp_len));
	memcpy(tcp + 16, &sum, 2);
	CHECK_EQ(send(p->fd, f, 34 + tcp_len, 0), 34 + tcp_len);
}

static void take_payload(struct peer *p, u32 seq, const u8 *data, u32 len, u8 flags)
{
	if (seq != p->rcv_nxt) {
		peer_segment(p, p->snd_nxt, NULL, 0, TH_ACK);
		return;
	}
	CHECK(p->rx_len + len <= PEER_MAX && p->nseg < PEER_SEGS);
	if (len) {
		p->seg[p->nseg++] = (struct peer_seg){p->rx_len, len};
		memcpy(p->rx + p->rx_len, data, len);
		p->rx_len += len;
		p->rcv_nxt += len;
	}
	if (flags & TH_FIN) {
		p->fin = true;
		p->rcv_nxt++;
	}
	if (len || flags & TH_FIN)
		peer_segment(p, p->snd_nxt, NULL, 0, TH_ACK);
}

static void check_sums(const u8 *ip, const u8 *tcp, u32 tcp_len)
{
	CHECK_EQ(csum_fold(csum_add(0, ip, 20)), 0);
	CHECK_EQ(csum_fold(csum_add(csum_pseudo4(ip + 12, ip + 16, 6, tcp_len), tcp, tcp_len)), 0);
}

static void peer_input(struct peer *p, const u8 *f, u32 len)
{
	const u8 *ip = f + 14, *tcp = f + 34;
	u32 total, hdr, seq, ack;

	if (len < 54 || get_be16(f + 12) != 0x0800 || ip[9] != 6 || get_be16(tcp + 2) != p->port)
		return;
	total = get_be16(ip + 2);
	CHECK(total + 14 <= len && total >= 40);
	check_sums(ip, tcp, total - 20);
	hdr = tcp[12] >> 4 << 2;
	seq = get_be32(tcp + 4);
	ack = get_be32(tcp + 8);
	if (tcp[13] & TH_RST) {
		p->rst = true;
		return;
	}
	if (tcp[13] & TH_ACK && (s32)(ack - p->snd_una) > 0)
		p->snd_una = ack;
	if (tcp[13] & TH_SYN) {
		p->syn_seen = true;
		p->rcv_nxt = seq + 1;
		p->dev_port = get_be16(tcp);
		return;
	}
	take_payload(p, seq, tcp + hdr, total - 20 - hdr, tcp[13]);
}

void peer_poll(struct peer *p, int ms)
{
	static u8 frame[70000];
	struct pollfd pf = {p->fd, POLLIN, 0};
	int quiet = 0;

	while (ms > 0 && quiet < 20) {
		ssize_t n;

		if (poll(&pf, 1, 5) != 1) {
			ms -= 5;
			quiet += 5;
			continue;
		}
		n = recv(p->fd, frame, sizeof(frame), 0);
		if (n > 0)
			peer_input(p, frame, (u32)n);
		quiet = 0;
	}
}

void peer_send(struct peer *p, const void *data, u32 len)
{
	const u8 *b = data;
	int i;

	while (len) {
		u32 n = min(len, 1460u);

		peer_segment(p, p->snd_nxt, b, n, TH_ACK | (n == len ? TH_PSH : 0));
		p->snd_nxt += n;
		b += n;
		len -= n;
	}
	for (i = 0; i < 200 && p->snd_una != p->snd_nxt && !p->rst; i++)
		peer_poll(p, 20);
	CHECK(p->rst || p->snd_una == p->snd_nxt);
}

void peer_expect(struct peer *p, u32 len)
{
	int i;

	for (i = 0; i < 200 && p->rx_len < len; i++)
		peer_poll(p, 20);
	CHECK(p->rx_len >= len);
}

/* ---- set-up ---- */

void peer_start(struct peer *p, struct end *e, u16 mss)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	char spec[220];

	memset(p, 0, sizeof(*p));
	memcpy(p->mac, (u8[]){2, 0, 0, 0, 0, PEER_HOST}, 6);
	p->mss = mss;
	p->port = mpa_ports++;
	p->dev_port = DEV_PORT;
	p->snd_nxt = 0xfffff000; /* the numbers wrap soon */
	p->snd_una = p->snd_nxt;
	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/peer", drv_dir());
	p->fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	CHECK(p->fd >= 0 && !bind(p->fd, (struct sockaddr *)&sa, sizeof(sa)));
	snprintf(spec, sizeof(spec), "dgram:local=%s/dev,remote=%s/peer,mtu=9000", drv_dir(),
		 drv_dir());
	end_init(e, drv_start(&(struct drv_opts){.wire = spec, .mac_last = 1}), DEV_HOST);
	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/dev", drv_dir());
	CHECK(!connect(p->fd, (struct sockaddr *)&sa, sizeof(sa)));
	memcpy(p->dev_mac, e->d->mac, 6);
	drv_nexthop(e->d, 0, p->mac, 1500, 0);
	end_qp(e, 0);
}

void peer_stop(struct peer *p)
{
	close(p->fd);
}

static void mpa_hello(u8 *b, const char *key, u8 flags)
{
	memset(b, 0, MPA_HELLO);
	memcpy(b, key, 16);
	b[16] = flags;
	b[17] = 1; /* revision */
}

static void peer_syn(struct peer *p, struct end *e)
{
	union drv_cmd listen = drv_listen_cmd(1, DEV_HOST, DEV_PORT), accept;
	u8 frame[ORNIC_TEQ_SLOT_SIZE];
	struct ornic_teqe ev;
	int i;

	drv_do(e->d, &listen);
	peer_segment(p, p->snd_nxt++, NULL, 0, TH_SYN);
	ev = drv_tcp_event(e->d, &e->tcp, ORNIC_TCP_CONN_REQ, 0, frame);
	accept = drv_accept_cmd(le32_to_cpu(ev.syn_id), END_CONN, 0);
	drv_do(e->d, &accept);
	for (i = 0; i < 100 && !p->syn_seen; i++)
		peer_poll(p, 20);
	CHECK(p->syn_seen);
	peer_segment(p, p->snd_nxt, NULL, 0, TH_ACK);
	drv_tcp_event(e->d, &e->tcp, ORNIC_TCP_ESTABLISHED, END_CONN, NULL);
}

void peer_to_device(struct peer *p, struct end *e, u8 rtr)
{
	u8 hello[MPA_HELLO], slot[ORNIC_TEQ_SLOT_SIZE];
	u64 data = drv_alloc(e->d, MPA_HELLO);
	struct ornic_teqe ev;
	union drv_cmd c;

	peer_syn(p, e);
	mpa_hello(hello, "MPA ID Req Frame", 0x40);
	peer_send(p, hello, sizeof(hello));
	ev = drv_tcp_event(e->d, &e->tcp, ORNIC_TCP_STREAM_RX, END_CONN, slot);
	CHECK_EQ(le16_to_cpu(ev.data_len), MPA_HELLO);
	mpa_hello(drv_ptr(e->d, data, MPA_HELLO), "MPA ID Rep Frame", 0x40);
	c = end_rdma_cmd(e, ORNIC_ROLE_RESPONDER, rtr, ORNIC_RDMAF_CRC, MPA_HELLO);
	c.hdr.data = cpu_to_le64(data);
	c.rdma.data_len = cpu_to_le32(MPA_HELLO);
	drv_do(e->d, &c);
	peer_expect(p, MPA_HELLO);
	p->taken = MPA_HELLO;
}

void device_to_peer(struct peer *p, struct end *e)
{
	union drv_cmd open = drv_open_cmd(END_CONN, 0, DEV_HOST, DEV_PORT, PEER_HOST, p->port);
	u8 hello[MPA_HELLO];
	int i;

	drv_do(e->d, &open);
	for (i = 0; i < 100 && !p->syn_seen; i++)
		peer_poll(p, 20);
	CHECK(p->syn_seen);
	peer_segment(p, p->snd_nxt++, NULL, 0, TH_SYN | TH_ACK);
	drv_tcp_event(e->d, &e->tcp, ORNIC_TCP_ESTABLISHED, END_CONN, NULL);
	mpa_hello(hello, "MPA ID Req Frame", 0x40);
	CHECK_EQ(drv_stream_tx(e->d, END_CONN, hello, sizeof(hello)), ORNIC_CMDS_OK);
	peer_expect(p, MPA_HELLO);
	p->taken = MPA_HELLO;
}

void device_to_peer_rdma(struct peer *p, struct end *e, const void *glued, u32 glued_len, u8 rtr)
{
	static u8 all[MPA_HELLO + MPA_FPDU_MAX];
	u8 slot[ORNIC_TEQ_SLOT_SIZE];
	union drv_cmd c;

	mpa_hello(all, "MPA ID Rep Frame", 0x40);
	if (glued_len)
		memcpy(all + MPA_HELLO, glued, glued_len);
	peer_send(p, all, MPA_HELLO + glued_len);
	drv_tcp_event(e->d, &e->tcp, ORNIC_TCP_STREAM_RX, END_CONN, slot);
	c = end_rdma_cmd(e, ORNIC_ROLE_INITIATOR, rtr, ORNIC_RDMAF_CRC, MPA_HELLO);
	drv_do(e->d, &c);
}

/* ---- FPDUs ---- */

void fpdu_make(struct fpdu *f, const struct ddp_hdr *h, const void *payload, u32 len)
{
	u32 n = ddp_put_hdr(f->b + MPA_HDR_LEN, h);

	if (len)
		memcpy(f->b + MPA_HDR_LEN + n, payload, len);
	put_be16(f->b, (u16)(n + len));
	f->len = mpa_finish(f->b, n + len, crc32c(0, f->b, MPA_HDR_LEN + n + len), true);
}

void fpdu_fix_crc(struct fpdu *f)
{
	put_le32(f->b + f->len - MPA_CRC_LEN, crc32c(0, f->b, f->len - MPA_CRC_LEN));
}

bool peer_fpdu(struct peer *p, struct ddp_hdr *h, const u8 **payload, u32 *len)
{
	const u8 *b = p->rx + p->taken;
	u32 ulpdu, n;
	int i;

	for (i = 0; i < 50; i++) {
		n = p->rx_len - p->taken;
		if (n >= MPA_HDR_LEN && n >= mpa_fpdu_len(get_be16(b)))
			break;
		if (p->fin || p->rst)
			return false;
		peer_poll(p, 40);
	}
	if (i == 50)
		return false;
	ulpdu = get_be16(b);
	CHECK(mpa_crc_ok(b, mpa_fpdu_len(ulpdu)));
	CHECK(ddp_get_hdr(b + MPA_HDR_LEN, ulpdu, h));
	CHECK_EQ(h->dv, DDP_VERSION);
	CHECK_EQ(h->rv, RDMAP_VERSION);
	*payload = b + MPA_HDR_LEN + ddp_hdr_len(h->tagged);
	*len = ulpdu - ddp_hdr_len(h->tagged);
	p->taken += mpa_fpdu_len(ulpdu);
	return true;
}
