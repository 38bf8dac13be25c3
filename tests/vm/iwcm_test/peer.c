// SPDX-License-Identifier: GPL-2.0-or-later
/* A peer that speaks MPA by hand, over the host's TCP on the netdev of the second device. */
#define pr_fmt(fmt) "iwcm_test: " fmt
#include <linux/crc32c.h>
#include <linux/delay.h>
#include <linux/ip.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/unaligned.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "iwcm_test.h"

static struct socket *tcp_new(void)
{
	struct socket *s;

	if (sock_create_kern(dev[1].net, AF_INET, SOCK_STREAM, IPPROTO_TCP, &s))
		return NULL;
	s->sk->sk_rcvtimeo = 10 * HZ;
	s->sk->sk_sndtimeo = 10 * HZ;
	tcp_sock_set_nodelay(s->sk);
	return s;
}

static struct socket *begin(u16 port, int flags, int want)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_addr.s_addr = dev[0].addr, .sin_port = htons(port)};
	struct socket *s = tcp_new();

	if (s && kernel_connect(s, (struct sockaddr *)&to, sizeof(to), flags) == want)
		return s;
	if (s)
		sock_release(s);
	CHECK(0, "TCP connect to port %u failed", port);
	return NULL;
}

struct socket *peer_connect(u16 port)
{
	return begin(port, 0, 0);
}

/* The SYN goes out; nobody waits for what comes back. */
struct socket *peer_connect_begin(u16 port)
{
	return begin(port, O_NONBLOCK, -EINPROGRESS);
}

/* True when the connection comes into this state of TCP in time. */
bool peer_reaches(struct socket *s, int state, int ms)
{
	while (s && READ_ONCE(s->sk->sk_state) != state && ms > 0) {
		msleep(20);
		ms -= 20;
	}
	return s && READ_ONCE(s->sk->sk_state) == state;
}

static unsigned int drop_syn_ack(void *priv, struct sk_buff *skb, const struct nf_hook_state *state)
{
	int offset = skb_network_offset(skb) + ip_hdrlen(skb);
	const struct tcphdr *th;
	struct tcphdr room;

	if (ip_hdr(skb)->protocol != IPPROTO_TCP)
		return NF_ACCEPT;
	th = skb_header_pointer(skb, offset, sizeof(room), &room);
	return th && th->syn && th->ack ? NF_DROP : NF_ACCEPT;
}

/* No answer to a SYN comes through: connections stay half open at the other side. */
int peer_deafen(bool on)
{
	static const struct nf_hook_ops ops = {
		.hook = drop_syn_ack,
		.pf = NFPROTO_IPV4,
		.hooknum = NF_INET_LOCAL_IN,
		.priority = NF_IP_PRI_FIRST,
	};

	if (on)
		return nf_register_net_hook(dev[1].net, &ops);
	nf_unregister_net_hook(dev[1].net, &ops);
	return 0;
}

struct socket *peer_listen(u16 port)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_addr.s_addr = dev[1].addr, .sin_port = htons(port)};
	struct socket *s = tcp_new();

	if (s && !kernel_bind(s, (struct sockaddr *)&at, sizeof(at)) && !kernel_listen(s, 16))
		return s;
	if (s)
		sock_release(s);
	CHECK(0, "TCP listen on port %u failed", port);
	return NULL;
}

struct socket *peer_accept(struct socket *listener)
{
	struct socket *s;

	if (!listener || kernel_accept(listener, &s, 0)) {
		CHECK(0, "no TCP connection came");
		return NULL;
	}
	s->sk->sk_rcvtimeo = 10 * HZ;
	tcp_sock_set_nodelay(s->sk);
	return s;
}

int peer_send(struct socket *s, const void *data, int len)
{
	struct kvec vec = {.iov_base = (void *)data, .iov_len = len};
	struct msghdr msg = {.msg_flags = MSG_NOSIGNAL};

	return s ? kernel_sendmsg(s, &msg, &vec, 1, len) : -ENOTCONN;
}

/* All of len, or what came before the end: 0 after FIN, negative errno. */
int peer_recv(struct socket *s, void *data, int len, int ms)
{
	struct kvec vec = {.iov_base = data, .iov_len = len};
	struct msghdr msg = {};

	if (!s)
		return -ENOTCONN;
	s->sk->sk_rcvtimeo = msecs_to_jiffies(ms);
	return kernel_recvmsg(s, &msg, &vec, 1, len, MSG_WAITALL);
}

/* True when FIN or RST comes in time, whatever bytes go before. */
bool peer_closed(struct socket *s, int ms)
{
	u8 byte;
	int n;

	do {
		n = peer_recv(s, &byte, 1, ms);
	} while (n > 0);
	return !n || n == -ECONNRESET;
}

void peer_fin(struct socket *s)
{
	if (s)
		kernel_sock_shutdown(s, SHUT_WR);
}

void peer_close(struct socket *s)
{
	if (s)
		sock_release(s);
}

void peer_reset(struct socket *s)
{
	if (!s)
		return;
	sock_no_linger(s->sk);
	sock_release(s);
}

/* RFC 5044 figure 8 */
int frame(u8 *buf, bool reply, u8 bits, u8 rev, const void *pd, int pd_len)
{
	memcpy(buf, reply ? "MPA ID Rep Frame" : "MPA ID Req Frame", 16);
	buf[16] = bits;
	buf[17] = rev;
	put_unaligned_be16(pd_len, buf + 18);
	if (pd_len > 0)
		memcpy(buf + 20, pd, min(pd_len, 512));
	return 20 + pd_len;
}

/* RFC 6581 9: flags of the enhanced data are in the top bits of the depths */
int frame2(u8 *buf, bool reply, u8 bits, u16 ird, u16 ord, const void *pd, int pd_len)
{
	u8 all[512];

	put_unaligned_be16(ird, all);
	put_unaligned_be16(ord, all + 2);
	if (pd_len)
		memcpy(all + 4, pd, pd_len);
	return frame(buf, reply, bits | MPA_S, 2, all, 4 + pd_len);
}

/* A good request without private data; the flags of both depths are RFC 6581's A, B, C and D. */
int peer_request(struct socket *s, u16 flags)
{
	u8 buf[32];

	return peer_send(s, buf, frame2(buf, false, MPA_C, flags | 4, flags | 4, NULL, 0));
}

/* Bytes of the frame that came, or what peer_recv() says. */
int peer_read_frame(struct socket *s, u8 *buf, int ms)
{
	int n = peer_recv(s, buf, 20, ms);
	int pd;

	if (n != 20)
		return n < 0 ? n : 0;
	pd = get_unaligned_be16(buf + 18);
	if (pd > FRAME_MAX - 20)
		return -EMSGSIZE;
	if (pd && peer_recv(s, buf + 20, pd, ms) != pd)
		return -EIO;
	return 20 + pd;
}

/* FPDU around a ULPDU at buf + 2: pad, CRC (RFC 5044 4.2, 5) */
static int fpdu(u8 *buf, int ulpdu)
{
	int len = 2 + ulpdu;

	put_unaligned_be16(ulpdu, buf);
	while (len % 4)
		buf[len++] = 0;
	put_unaligned_le32(~crc32c(~0, buf, len), buf + len);
	return len + 4;
}

/* Zero-length RDMA Write: its STag is not looked at (RFC 5041 5.2) */
int fpdu_write0(u8 *buf, u32 stag)
{
	memset(buf, 0, 32);
	buf[2] = 0xc1; /* tagged, last, DDP version 1 */
	buf[3] = 0x40; /* RDMAP version 1, Write */
	put_unaligned_be32(stag, buf + 4);
	put_unaligned_be64(stag * 3ULL, buf + 8);
	return fpdu(buf, 14);
}

/* Zero-length RDMA Read Request: neither of its STags is looked at (RFC 5040 5.2.1) */
int fpdu_read0(u8 *buf, u32 stag)
{
	memset(buf, 0, 64);
	buf[2] = 0x41; /* untagged, last, DDP version 1 */
	buf[3] = 0x41; /* RDMAP version 1, Read Request */
	put_unaligned_be32(1, buf + 8); /* queue */
	put_unaligned_be32(1, buf + 12); /* MSN */
	put_unaligned_be32(stag, buf + 20);
	put_unaligned_be32(stag, buf + 36);
	return fpdu(buf, 46);
}

int fpdu_send(u8 *buf, const void *data, int len)
{
	memset(buf, 0, 20);
	buf[2] = 0x41; /* untagged, last, DDP version 1 */
	buf[3] = 0x43; /* RDMAP version 1, Send */
	put_unaligned_be32(1, buf + 12); /* MSN */
	memcpy(buf + 20, data, len);
	return fpdu(buf, 18 + len);
}
