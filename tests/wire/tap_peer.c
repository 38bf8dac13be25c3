// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Linux's own TCP against the engine, over a tap device in a network namespace of its own.
 *
 * The engine runs in this process; the kernel's end is a child with ordinary sockets. Each case
 * says what both do; all bytes are compared, and the events that the engine's owner saw are
 * checked. Needs root and /dev/net/tun, else all cases are skipped.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tap_peer.h"

#define PATTERN	     1048573u
#define FRAME_MAX    (65536 + 256)
#define CASE_SECONDS 60

static const uint8_t our_mac[6] = {2, 0, 0, 0, 0, 1};
static uint8_t *pattern;

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void make_pattern(void)
{
	uint32_t r = 99;

	pattern = malloc(2 * PATTERN);
	for (uint32_t i = 0; i < PATTERN; i++) {
		r = r * 1664525u + 1013904223u;
		pattern[i] = (uint8_t)(r >> 24);
	}
	memcpy(pattern + PATTERN, pattern, PATTERN);
}

const uint8_t *pattern_at(uint64_t pos)
{
	return pattern + pos % PATTERN;
}

void rig_fail(struct rig *g, const char *fmt, ...)
{
	va_list ap;

	if (g->why[0])
		return;
	va_start(ap, fmt);
	vsnprintf(g->why, sizeof(g->why), fmt, ap);
	va_end(ap);
}

/* ---------------------------------------------------------------- the tap device */

static bool must(int rc, const char *what)
{
	if (rc >= 0)
		return true;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	return false;
}

/* MTU, up, addresses */
static bool tap_configure(struct rig *g, const char *name)
{
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	struct ifreq ifr = {0};
	bool ok;

	strcpy(ifr.ifr_name, name);
	g->ifindex = if_nametoindex(name);
	ifr.ifr_mtu = g->mtu;
	ok = must(ioctl(s, SIOCSIFMTU, &ifr), "SIOCSIFMTU");
	ifr.ifr_flags = IFF_UP | IFF_RUNNING;
	ok = ok && must(ioctl(s, SIOCSIFFLAGS, &ifr), "SIOCSIFFLAGS");
	ok = ok && must(ioctl(s, SIOCGIFHWADDR, &ifr), "SIOCGIFHWADDR");
	memcpy(g->kernel_mac, ifr.ifr_hwaddr.sa_data, 6);
	close(s);
	return ok && rig_addresses(g, our_mac) && (!g->route || rig_route(g));
}

static bool tap_open(struct rig *g)
{
	struct ifreq ifr = {.ifr_flags = IFF_TAP | IFF_NO_PI};
	int hdr = sizeof(struct virtio_net_hdr_v1);

	g->tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
	if (!must(g->tap, "/dev/net/tun"))
		return false;
	if (g->offload)
		ifr.ifr_flags |= IFF_VNET_HDR;
	strcpy(ifr.ifr_name, "rnictap%d");
	if (!must(ioctl(g->tap, TUNSETIFF, &ifr), "TUNSETIFF"))
		return false;
	if (g->offload && (!must(ioctl(g->tap, TUNSETVNETHDRSZ, &hdr), "TUNSETVNETHDRSZ") ||
			   !must(ioctl(g->tap, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6),
				 "TUNSETOFFLOAD")))
		return false;
	return tap_configure(g, ifr.ifr_name);
}

static bool chance(struct rig *g, double p)
{
	g->rng = g->rng * 6364136223846793005ull + 1442695040888963407ull;
	return p > 0 && (double)(g->rng >> 40) / 16777216.0 < p;
}

static uint64_t arrival(struct rig *g)
{
	return clock_ns() + g->delay * (chance(g, g->overtaken) ? 2 : 1);
}

int tap_send(struct rig *g, const struct iovec *iov, int cnt, const struct tcp_tx_meta *meta)
{
	struct virtio_net_hdr_v1 h = {0};
	struct iovec v[1024];

	if (meta->flags & TCP_TX_CSUM_PARTIAL) {
		h.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
		h.csum_start = meta->csum_start;
		h.csum_offset = meta->csum_offset;
	}
	if (meta->flags & TCP_TX_GSO) {
		h.gso_type = meta->flags & TCP_TX_IPV6 ? VIRTIO_NET_HDR_GSO_TCPV6
						       : VIRTIO_NET_HDR_GSO_TCPV4;
		h.gso_size = meta->gso_size;
		h.hdr_len = meta->hdr_len;
	}
	v[0].iov_base = &h;
	v[0].iov_len = g->offload ? sizeof(h) : 0;
	memcpy(v + 1, iov, (size_t)cnt * sizeof(*iov));
	if (writev(g->tap, v, cnt + 1) >= 0)
		return 0;
	return errno == EAGAIN ? -EAGAIN : -errno;
}

/* ARP, neighbour discovery and such are the host's; there is none here */
void tap_deliver(struct rig *g, const uint8_t *frame, size_t len, unsigned int csum_flags)
{
	tap_record(g, frame, len);
	tcp_input(g->engine, clock_ns(), frame, len, csum_flags);
}

static void tap_read(struct rig *g)
{
	static uint8_t buf[FRAME_MAX];
	size_t hlen = g->offload ? sizeof(struct virtio_net_hdr_v1) : 0;

	for (int i = 0; i < 64; i++) {
		ssize_t n = read(g->tap, buf, sizeof(buf));
		unsigned int flags = 0;

		if (n <= (ssize_t)hlen)
			return;
		if (g->offload && buf[0] & VIRTIO_NET_HDR_F_NEEDS_CSUM)
			flags = TCP_CSUM_PARTIAL;
		else if (g->offload && buf[0] & VIRTIO_NET_HDR_F_DATA_VALID)
			flags = TCP_CSUM_VALID;
		g->frames_in++;
		if (chance(g, g->loss))
			continue;
		if (g->delay)
			tap_delay_put(g, false, arrival(g), NULL, buf + hlen, (size_t)n - hlen,
				      flags);
		else
			tap_deliver(g, buf + hlen, (size_t)n - hlen, flags);
	}
}

/* ---------------------------------------------------------------- the engine's owner */

static uint64_t op_now(void *ctx)
{
	return clock_ns();
}

static uint32_t op_random32(void *ctx)
{
	struct rig *g = ctx;

	g->rng = g->rng * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(g->rng >> 32);
}

/* Longest IP packet of the frame or, with GSO, that the kernel makes of it */
static uint32_t packet_len(const struct tcp_tx_meta *meta)
{
	uint32_t len = meta->len;

	if (meta->flags & TCP_TX_GSO)
		len = (uint32_t)meta->hdr_len + meta->gso_size;
	return len - 14;
}

static int op_xmit(void *ctx, const struct iovec *iov, int cnt, const struct tcp_tx_meta *meta)
{
	static uint8_t frame[FRAME_MAX];
	struct rig *g = ctx;
	size_t len = 0;
	int rc;

	if (chance(g, g->loss) || (g->hole && packet_len(meta) > g->hole))
		return 0;
	if (g->delay) {
		for (int i = 0; i < cnt; len += iov[i++].iov_len)
			memcpy(frame + len, iov[i].iov_base, iov[i].iov_len);
		tap_delay_put(g, true, arrival(g), meta, frame, len, 0);
		return 0;
	}
	rc = tap_send(g, iov, cnt, meta);
	g->wait_writable |= rc == -EAGAIN;
	return rc;
}

static void op_to_host(void *ctx, const void *frame, size_t len, unsigned int csum_flags)
{
}

static bool op_conn_req(void *ctx, uint32_t listener, uint32_t syn_id, const void *frame,
			size_t len, const struct tcp_syn_info *info)
{
	struct rig *g = ctx;

	if (g->refuse) {
		tcp_refuse(g->engine, syn_id, TCP_REFUSE_RST);
		g->over = true;
		return true;
	}
	if (tcp_accept(g->engine, syn_id, g->route ? 2 : 1, 0, &g->opts, g))
		rig_fail(g, "accept failed");
	if (g->route)
		g->far = tcp_conn_find(g->engine, 2);
	else
		g->conn = tcp_conn_find(g->engine, 1);
	return true;
}

static void op_event(void *ctx, struct tcp_conn *conn, enum tcp_event ev, uint32_t info)
{
	struct rig *g = ctx;

	if (conn == g->far) {
		if (ev == TCP_EV_PEER_FIN)
			tcp_close(conn);
		return;
	}
	g->events |= 1u << ev;
	if (tcp_event_terminal(ev)) {
		g->over = true;
		tcp_conn_info(conn, &g->last);
		if (ev != g->expect)
			rig_fail(g, "ended by %s %u, not %s", tcp_event_name(ev), info,
				 tcp_event_name(g->expect));
		else if (g->expect_info && info != g->expect_info)
			rig_fail(g, "info 0x%x, not 0x%x", info, g->expect_info);
	}
	if (ev == TCP_EV_ESTABLISHED)
		tcp_pull(conn);
	if (ev == TCP_EV_PEER_FIN && g->close_on_fin)
		tcp_close(conn);
	if (ev == TCP_EV_PEER_FIN && !g->close_on_fin)
		tcp_pull(conn);
}

static size_t rx_echo(struct rig *g, const uint8_t *data, size_t len)
{
	size_t room = tcp_send_room(g->conn);

	len = len < room ? len : room;
	if (len && tcp_send(g->conn, data, len))
		rig_fail(g, "send failed though there was room");
	tcp_pull(g->conn); /* to hear when there is room for the rest */
	return len;
}

static size_t op_rx(void *ctx, struct tcp_conn *conn, const void *data, size_t len)
{
	struct rig *g = ctx;

	if (g->hold_until && clock_ns() < g->hold_until)
		return 0;
	if (g->echo)
		len = rx_echo(g, data, len);
	for (size_t i = 0; i < len;) {
		const uint8_t *p = pattern_at(g->received + i);
		size_t n = (size_t)(pattern + 2 * PATTERN - p);

		n = n < len - i ? n : len - i;
		if (memcmp(p, (const uint8_t *)data + i, n))
			rig_fail(g, "wrong bytes after %llu", (unsigned long long)g->received);
		i += n;
	}
	g->received += len;
	if (g->abort_after && g->received >= g->abort_after)
		tcp_abort(conn);
	return len;
}

static int op_gather(void *ctx, struct tcp_conn *conn, const struct tcp_record *record,
		     uint32_t off, uint32_t len, struct tcp_gather *gather)
{
	gather->iov[0].iov_base = (void *)pattern_at(record->cookie[0] + off);
	gather->iov[0].iov_len = len;
	gather->cnt = 1;
	return 0;
}

static void send_records(struct rig *g)
{
	struct tcp_room room = tcp_record_room(g->conn);
	int64_t bytes = room.bytes;

	while (g->sent < g->to_send && bytes > 0 && room.records--) {
		struct tcp_record r = {.cookie = {g->sent}, .len = tcp_emss(g->conn)};

		if (r.len > g->to_send - g->sent)
			r.len = (uint32_t)(g->to_send - g->sent);
		if (tcp_send_record(g->conn, &r, 0))
			return;
		g->sent += r.len;
		bytes -= r.len;
	}
}

static void send_stream(struct rig *g)
{
	while (g->sent < g->to_send) {
		size_t n = tcp_send_room(g->conn);

		if (n > g->to_send - g->sent)
			n = g->to_send - g->sent;
		if (n > PATTERN)
			n = PATTERN;
		if (!n || tcp_send(g->conn, pattern_at(g->sent), n))
			return;
		g->sent += n;
	}
}

static void op_pull(void *ctx, struct tcp_conn *conn)
{
	struct rig *g = ctx;

	if (g->echo) {
		tcp_rx_resume(conn);
		return;
	}
	if (g->records)
		send_records(g);
	else
		send_stream(g);
	if (g->sent < g->to_send)
		tcp_pull(conn);
	else if (g->close_when_sent && (!g->after_fin || g->events & 1u << TCP_EV_PEER_FIN))
		tcp_close(conn);
}

static void op_record_acked(void *ctx, struct tcp_conn *conn, const struct tcp_record *record)
{
	((struct rig *)ctx)->acked += record->len;
}

static const struct tcp_engine_ops ops = {
	.now = op_now,
	.random32 = op_random32,
	.xmit = op_xmit,
	.to_host = op_to_host,
	.conn_req = op_conn_req,
	.event = op_event,
	.rx = op_rx,
	.gather = op_gather,
	.pull = op_pull,
	.record_acked = op_record_acked,
};

/* ---------------------------------------------------------------- running a case */

static struct ip_addr addr(const struct rig *g, enum rig_host host)
{
	struct sockaddr_storage ss;

	rig_sockaddr(g, host, &ss);
	if (g->net == NET_IPV4)
		return ip_addr_v4(&((struct sockaddr_in *)&ss)->sin_addr);
	return ip_addr_v6(&((struct sockaddr_in6 *)&ss)->sin6_addr);
}

static bool engine_start(struct rig *g)
{
	struct tcp_engine_config cfg = {.stream_buf = 1 << 20,
					.tx_flags = g->offload ? TCP_CFG_TX_GSO : 0};
	struct tcp_nexthop nh = {.vlan = TCP_VLAN_NONE, .mtu = (uint16_t)g->mtu};
	struct tcp_open_params p = {.id = 1, .opts = g->opts};
	struct ip_addr any = {.family = g->net == NET_IPV4 ? IP_V4 : IP_V6};

	memcpy(nh.dmac, g->kernel_mac, 6);
	memcpy(nh.smac, our_mac, 6);
	g->engine = tcp_engine_new(&cfg, &ops, g);
	if (!g->engine || tcp_nexthop_set(g->engine, 0, &nh))
		return false;
	if ((!g->active || g->route) && tcp_listen(g->engine, 1, &any, PORT, TCP_VLAN_ANY, 4))
		return false;
	if (!g->active)
		return true;
	p.tuple.local = addr(g, HOST_ENGINE);
	p.tuple.remote = addr(g, g->route ? HOST_BEYOND : HOST_KERNEL);
	p.tuple.lport = 40001;
	p.tuple.rport = PORT;
	if (tcp_open(g->engine, &p))
		return false;
	g->conn = tcp_conn_find(g->engine, 1);
	return true;
}

static int poll_timeout(struct rig *g, uint64_t now)
{
	uint64_t due = tcp_engine_deadline(g->engine), frame = tap_delay_due(g);

	due = frame < due ? frame : due;
	if (due <= now)
		return 0;
	due = (due - now + 999999) / 1000000;
	return due < 20 ? (int)due : 20;
}

static void step(struct rig *g)
{
	struct pollfd p = {.fd = g->tap, .events = POLLIN};

	if (g->wait_writable)
		p.events |= POLLOUT;
	poll(&p, 1, poll_timeout(g, clock_ns()));
	if (p.revents & POLLOUT) {
		g->wait_writable = false;
		tcp_tx_ready(g->engine);
	}
	if (p.revents & POLLIN)
		tap_read(g);
	tap_delay_run(g, clock_ns());
	if (g->hold_until && clock_ns() >= g->hold_until && !g->over) {
		g->hold_until = 0;
		tcp_rx_resume(g->conn);
	}
	tcp_engine_run(g->engine, clock_ns());
}

static void run_until_over(struct rig *g, pid_t child)
{
	uint64_t end = clock_ns() + CASE_SECONDS * 1000000000ull;
	bool child_over = false;
	int status = 0;

	while ((!child_over || !g->over) && !g->why[0]) {
		if (!child_over && waitpid(child, &status, WNOHANG) == child) {
			child_over = true;
			if (!WIFEXITED(status) || WEXITSTATUS(status))
				rig_fail(g, "the kernel's side failed (status %x)", status);
		}
		if (clock_ns() > end)
			rig_fail(g, "hung: received %llu, sent %llu",
				 (unsigned long long)g->received, (unsigned long long)g->sent);
		step(g);
	}
	if (!child_over) {
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
	}
}

static void run_in_namespace(struct rig *g)
{
	int ready[2];
	pid_t child;

	if (!tap_open(g) || pipe(ready)) {
		rig_fail(g, "no tap device");
		return;
	}
	child = fork();
	if (!child) {
		char c;

		close(g->tap);
		close(ready[1]);
		/* an active engine waits for the listener, a listening one is ready first */
		if (!g->active && read(ready[0], &c, 1) != 1)
			_exit(9);
		_exit(g->kernel(g, ready[0]));
	}
	close(ready[0]);
	if (g->active)
		usleep(200000);
	if (!engine_start(g))
		rig_fail(g, "the engine did not start");
	if (!g->active && write(ready[1], "x", 1) != 1)
		rig_fail(g, "pipe");
	run_until_over(g, child);
	close(ready[1]);
	if (!g->why[0] && g->check)
		g->check(g);
	tcp_engine_free(g->engine);
	close(g->tap);
}

/* Each case in a process of its own, so that its namespace goes with it */
bool run_case(struct rig *g)
{
	int out[2], status;
	pid_t pid;

	if (!pattern)
		make_pattern();
	g->rng = g->seed * 2862933555777941757ull + 3037000493ull;
	g->start = clock_ns();
	if (pipe(out))
		return false;
	pid = fork();
	if (!pid) {
		signal(SIGPIPE, SIG_IGN);
		if (unshare(CLONE_NEWNET))
			rig_fail(g, "no namespace");
		else
			run_in_namespace(g);
		g->seconds = (double)(clock_ns() - g->start) / 1e9;
		_exit(write(out[1], g, sizeof(*g)) != sizeof(*g));
	}
	close(out[1]);
	if (read(out[0], g, sizeof(*g)) != sizeof(*g))
		rig_fail(g, "the case crashed");
	close(out[0]);
	waitpid(pid, &status, 0);
	if (!g->why[0] && status)
		rig_fail(g, "the case ended with status %x", status);
	return !g->why[0];
}

/* Can cases run here at all? */
bool rig_possible(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		struct rig g = {.mtu = 1500};

		_exit(unshare(CLONE_NEWNET) || !tap_open(&g));
	}
	waitpid(pid, &status, 0);
	return !status;
}
