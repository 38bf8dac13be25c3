// SPDX-License-Identifier: GPL-2.0-or-later
/* The cases: what Linux's sockets do, and what the engine must make of it. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tap_peer.h"

#define CHUNK	     65536u
#define PATTERN_SPAN 1048573u

/* ---------------------------------------------------------------- the kernel's end */

#define REQUIRE(what)                                                                        \
	do {                                                                                 \
		if (!(what)) {                                                               \
			fprintf(stderr, "kernel's end: line %d: %s (%s)\n", __LINE__, #what, \
				strerror(errno));                                            \
			return 1;                                                            \
		}                                                                            \
	} while (0)

static void sysctl_zero(const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv4/%s", name);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, "0", 1) != 1)
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
	close(fd);
}

/* A connected socket, by the role that the engine leaves to us */
static int connected(const struct rig *g)
{
	struct timeval tv = {.tv_sec = 50};
	struct sockaddr_storage a;
	socklen_t len = rig_sockaddr(g, g->active ? HOST_KERNEL : HOST_ENGINE, &a);
	int s = socket(a.ss_family, SOCK_STREAM, 0), one = 1, c;

	if (g->no_sack)
		sysctl_zero("tcp_sack");
	if (g->no_timestamps)
		sysctl_zero("tcp_timestamps");
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	if (!g->active)
		return connect(s, (struct sockaddr *)&a, len) ? -1 : s;
	if (bind(s, (struct sockaddr *)&a, len) || listen(s, 1))
		return -1;
	c = accept(s, NULL, NULL);
	close(s);
	if (c >= 0)
		setsockopt(c, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	return c;
}

static bool send_pattern(int s, uint64_t total)
{
	uint64_t pos = 0;

	while (pos < total) {
		size_t n = total - pos < CHUNK ? total - pos : CHUNK;
		ssize_t rc = send(s, pattern_at(pos), n, MSG_NOSIGNAL);

		if (rc <= 0)
			return false;
		pos += (uint64_t)rc;
	}
	return true;
}

/* Receives and compares until @total bytes came, or with @total UINT64_MAX the end of the stream */
static bool receive_pattern(int s, uint64_t total)
{
	static uint8_t buf[CHUNK];
	uint64_t pos = 0;

	while (pos < total) {
		size_t want = total - pos < CHUNK ? total - pos : CHUNK;
		ssize_t n = recv(s, buf, want, 0);

		if (!n && total == UINT64_MAX)
			return true;
		if (n <= 0 || memcmp(buf, pattern_at(pos), (size_t)n))
			return false;
		pos += (uint64_t)n;
	}
	return true;
}

/* What was negotiated, as the kernel sees it */
static bool options_agree(int s, const struct rig *g)
{
	struct tcp_info i;
	socklen_t len = sizeof(i);

	if (getsockopt(s, IPPROTO_TCP, TCP_INFO, &i, &len))
		return false;
	return !!(i.tcpi_options & TCPI_OPT_SACK) == (g->opts.sack && !g->no_sack) &&
	       !!(i.tcpi_options & TCPI_OPT_TIMESTAMPS) ==
		       (g->opts.timestamps && !g->no_timestamps) &&
	       !!(i.tcpi_options & TCPI_OPT_WSCALE) == g->opts.wscale;
}

static int k_echo(const struct rig *g, int go)
{
	int s = connected(g);
	bool sender;

	REQUIRE(s >= 0);
	REQUIRE(options_agree(s, g));
	sender = fork() == 0;
	if (sender)
		_exit(!send_pattern(s, g->kernel_sends));
	REQUIRE(receive_pattern(s, g->kernel_sends));
	REQUIRE(!shutdown(s, SHUT_WR));
	REQUIRE(recv(s, &sender, 1, 0) == 0); /* the engine's FIN */
	return 0;
}

static int k_sink(const struct rig *g, int go)
{
	int s = connected(g);

	REQUIRE(s >= 0);
	REQUIRE(options_agree(s, g));
	REQUIRE(receive_pattern(s, UINT64_MAX));
	return close(s);
}

static int k_source(const struct rig *g, int go)
{
	int s = connected(g);
	char c;

	REQUIRE(s >= 0);
	REQUIRE(send_pattern(s, g->kernel_sends));
	REQUIRE(!shutdown(s, SHUT_WR));
	REQUIRE(recv(s, &c, 1, 0) == 0);
	return 0;
}

/* Sends its half, then receives ours through the half-closed connection */
static int k_half_close(const struct rig *g, int go)
{
	int s = connected(g);

	REQUIRE(s >= 0);
	REQUIRE(send_pattern(s, g->kernel_sends));
	REQUIRE(!shutdown(s, SHUT_WR));
	REQUIRE(receive_pattern(s, UINT64_MAX));
	return 0;
}

/* Does not read for a while: the window closes, and the engine probes */
static int k_slow_reader(const struct rig *g, int go)
{
	int s = connected(g);

	REQUIRE(s >= 0);
	sleep(3);
	REQUIRE(receive_pattern(s, UINT64_MAX));
	return 0;
}

static int k_reset(const struct rig *g, int go)
{
	struct linger l = {.l_onoff = 1};
	int s = connected(g);

	REQUIRE(s >= 0);
	REQUIRE(send_pattern(s, 1000));
	REQUIRE(receive_pattern(s, 1000));
	REQUIRE(!setsockopt(s, SOL_SOCKET, SO_LINGER, &l, sizeof(l)));
	return close(s);
}

static int k_is_reset(const struct rig *g, int go)
{
	int s = connected(g);
	char c;

	REQUIRE(s >= 0);
	REQUIRE(send_pattern(s, g->kernel_sends));
	REQUIRE(recv(s, &c, 1, 0) == -1 && errno == ECONNRESET);
	return 0;
}

static int k_is_refused(const struct rig *g, int go)
{
	int s = connected(g);

	REQUIRE(s == -1 && errno == ECONNREFUSED);
	return 0;
}

static int k_nothing(const struct rig *g, int go)
{
	return 0;
}

/* Keeps the connection idle long enough for keep-alives to be exchanged in both directions */
static int k_idle(const struct rig *g, int go)
{
	int s = connected(g), one = 1;
	struct tcp_info i;
	socklen_t len = sizeof(i);

	REQUIRE(s >= 0);
	REQUIRE(!setsockopt(s, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one)));
	REQUIRE(!setsockopt(s, IPPROTO_TCP, TCP_KEEPIDLE, &one, sizeof(one)));
	REQUIRE(!setsockopt(s, IPPROTO_TCP, TCP_KEEPINTVL, &one, sizeof(one)));
	sleep(4);
	REQUIRE(!getsockopt(s, IPPROTO_TCP, TCP_INFO, &i, &len));
	REQUIRE(i.tcpi_state == TCP_ESTABLISHED);
	REQUIRE(i.tcpi_last_ack_recv < 2500); /* the engine answered, or probed itself */
	REQUIRE(!shutdown(s, SHUT_WR));
	REQUIRE(recv(s, &one, 1, 0) == 0);
	return 0;
}

/* ---------------------------------------------------------------- checks */

static void all_received(struct rig *g)
{
	if (g->received != g->kernel_sends)
		rig_fail(g, "received %llu of %llu bytes", (unsigned long long)g->received,
			 (unsigned long long)g->kernel_sends);
}

static void all_acked(struct rig *g)
{
	if (g->records && g->acked != g->to_send)
		rig_fail(g, "%llu of %llu record bytes acknowledged", (unsigned long long)g->acked,
			 (unsigned long long)g->to_send);
	if (!(g->events & 1u << TCP_EV_FIN_ACKED))
		rig_fail(g, "no FIN_ACKED");
	if (!g->loss && tcp_engine_stats(g->engine)->bad_csum)
		rig_fail(g, "bad checksums");
}

/* Segments of the full MTU went until the router said what it takes */
static void path_mtu_learnt(struct rig *g)
{
	uint32_t headers = g->net == NET_IPV4 ? 52 : 72; /* with timestamps */

	all_acked(g);
	if (g->received != g->to_send)
		rig_fail(g, "%llu bytes came out", (unsigned long long)g->received);
	if (g->last.emss != g->route_mtu - headers)
		rig_fail(g, "segments of %u bytes", g->last.emss);
	if (!tcp_engine_stats(g->engine)->icmp_in)
		rig_fail(g, "the router said nothing");
}

/* RFC 2923: nobody said it, but 1492 bytes is the first size to be tried */
static void hole_found(struct rig *g)
{
	uint32_t headers = g->net == NET_IPV4 ? 52 : 72; /* with timestamps */

	all_acked(g);
	if (g->last.emss != 1492 - headers)
		rig_fail(g, "segments of %u bytes", g->last.emss);
	if (tcp_engine_stats(g->engine)->pmtu_holes != 1 ||
	    tcp_engine_stats(g->engine)->rtx_timeouts < 5)
		rig_fail(g, "the black hole was not found as it should");
}

static void probed(struct rig *g)
{
	all_acked(g);
	if (!tcp_engine_stats(g->engine)->persists)
		rig_fail(g, "the window was never probed");
}

static void kept_alive(struct rig *g)
{
	if (!tcp_engine_stats(g->engine)->keepalives)
		rig_fail(g, "no keep-alive was sent");
}

static void recovered(struct rig *g)
{
	all_acked(g);
	if (!tcp_engine_stats(g->engine)->rtx_segs)
		rig_fail(g, "nothing was retransmitted");
	if (tcp_engine_stats(g->engine)->rtx_timeouts > 20)
		rig_fail(g, "%llu time-outs",
			 (unsigned long long)tcp_engine_stats(g->engine)->rtx_timeouts);
}

/* ---------------------------------------------------------------- cases */

#define MIB (1ull << 20)

static const struct tcp_opts full = {
	.rcv_wnd = 1 << 20, .wscale = true, .timestamps = true, .sack = true};
static const struct tcp_opts no_sack = {.rcv_wnd = 1 << 20, .wscale = true, .timestamps = true};
static const struct tcp_opts wide = {.rcv_wnd = 1 << 20, .wscale = true};
static const struct tcp_opts impatient = {.rcv_wnd = 60000, .syn_retries = 1};
static const struct tcp_opts bare = {.rcv_wnd = 60000};
static const struct tcp_opts alive = {
	.rcv_wnd = 60000, .keepalive = true, .keep_idle_ms = 1000, .keep_intvl_ms = 1000};

static const struct rig cases[] = {
	{.name = "echo, kernel opens",
	 .kernel = k_echo,
	 .check = all_received,
	 .options = &full,
	 .echo = true,
	 .kernel_sends = 8 * MIB,
	 .close_on_fin = true,
	 .expect = TCP_EV_CLOSED},
	{.name = "echo, engine opens",
	 .kernel = k_echo,
	 .check = all_received,
	 .options = &full,
	 .echo = true,
	 .kernel_sends = 8 * MIB,
	 .close_on_fin = true,
	 .active = true,
	 .expect = TCP_EV_CLOSED},
	{.name = "echo without options",
	 .kernel = k_echo,
	 .check = all_received,
	 .options = &bare,
	 .echo = true,
	 .kernel_sends = 2 * MIB,
	 .close_on_fin = true,
	 .expect = TCP_EV_CLOSED},
	{.name = "echo, kernel without SACK and timestamps",
	 .kernel = k_echo,
	 .check = all_received,
	 .options = &full,
	 .echo = true,
	 .kernel_sends = 2 * MIB,
	 .close_on_fin = true,
	 .no_sack = true,
	 .no_timestamps = true,
	 .active = true,
	 .expect = TCP_EV_CLOSED},
	{.name = "bulk stream to the kernel, engine closes",
	 .kernel = k_sink,
	 .check = all_acked,
	 .options = &full,
	 .to_send = 64 * MIB,
	 .close_when_sent = true,
	 .active = true,
	 .expect = TCP_EV_CLOSED},
	{.name = "bulk records to the kernel",
	 .kernel = k_sink,
	 .check = all_acked,
	 .options = &full,
	 .records = true,
	 .to_send = 64 * MIB,
	 .close_when_sent = true,
	 .expect = TCP_EV_CLOSED},
	{.name = "bulk from the kernel",
	 .kernel = k_source,
	 .check = all_received,
	 .options = &full,
	 .kernel_sends = 64 * MIB,
	 .close_on_fin = true,
	 .expect = TCP_EV_CLOSED},
	{.name = "half close",
	 .kernel = k_half_close,
	 .check = all_received,
	 .options = &full,
	 .kernel_sends = 4 * MIB,
	 .to_send = 4 * MIB,
	 .close_when_sent = true,
	 .after_fin = true,
	 .active = true,
	 .expect = TCP_EV_CLOSED},
	{.name = "kernel does not read for 3 s",
	 .kernel = k_slow_reader,
	 .check = probed,
	 .options = &full,
	 .to_send = 32 * MIB,
	 .close_when_sent = true,
	 .active = true,
	 .expect = TCP_EV_CLOSED},
	{.name = "engine takes nothing for 2 s",
	 .kernel = k_source,
	 .check = all_received,
	 .options = &full,
	 .kernel_sends = 8 * MIB,
	 .close_on_fin = true,
	 .hold_until = 2000000000ull,
	 .expect = TCP_EV_CLOSED},
	{.name = "kernel resets",
	 .kernel = k_reset,
	 .options = &full,
	 .echo = true,
	 .expect = TCP_EV_PEER_RST},
	{.name = "engine resets",
	 .kernel = k_is_reset,
	 .options = &full,
	 .kernel_sends = 5000,
	 .abort_after = 5000,
	 .expect = TCP_EV_ABORTED},
	{.name = "nobody listens",
	 .kernel = k_nothing,
	 .options = &full,
	 .active = true,
	 .expect = TCP_EV_REFUSED},
	{.name = "a router prohibits it (ICMP)",
	 .kernel = k_nothing,
	 .options = &full,
	 .active = true,
	 .route = RTN_PROHIBIT,
	 .expect = TCP_EV_UNREACH,
	 .expect_info = 3 << 8 | 13},
	{.name = "a router prohibits it (ICMPv6)",
	 .kernel = k_nothing,
	 .options = &full,
	 .active = true,
	 .route = RTN_PROHIBIT,
	 .expect = TCP_EV_UNREACH,
	 .expect_info = 1 << 8 | 1},
	{.name = "a router has no way, until the time is up (ICMP)",
	 .kernel = k_nothing,
	 .options = &impatient,
	 .active = true,
	 .route = RTN_UNREACHABLE,
	 .expect = TCP_EV_UNREACH,
	 .expect_info = 3 << 8 | 1},
	{.name = "a router has no way, until the time is up (ICMPv6)",
	 .kernel = k_nothing,
	 .options = &impatient,
	 .active = true,
	 .route = RTN_UNREACHABLE,
	 .expect = TCP_EV_UNREACH,
	 .expect_info = 1 << 8 | 0},
	{.name = "a router whose way on takes 1300 bytes",
	 .kernel = k_nothing,
	 .check = path_mtu_learnt,
	 .options = &full,
	 .records = true,
	 .to_send = 4 * MIB,
	 .close_when_sent = true,
	 .active = true,
	 .route = RTN_UNICAST,
	 .route_mtu = 1300,
	 .expect = TCP_EV_CLOSED},
	{.name = "a black hole for packets beyond 1492 bytes",
	 .kernel = k_sink,
	 .check = hole_found,
	 .options = &full,
	 .records = true,
	 .to_send = 4 * MIB,
	 .close_when_sent = true,
	 .hole = 1492,
	 .active = true,
	 .expect = TCP_EV_CLOSED},
	{.name = "engine refuses", .kernel = k_is_refused, .options = &full, .refuse = true},
	{.name = "keep-alive both ways",
	 .kernel = k_idle,
	 .check = kept_alive,
	 .options = &alive,
	 .close_on_fin = true,
	 .expect = TCP_EV_CLOSED},
	{.name = "1 % loss, records to the kernel",
	 .kernel = k_sink,
	 .check = recovered,
	 .options = &full,
	 .records = true,
	 .to_send = 16 * MIB,
	 .close_when_sent = true,
	 .loss = 0.01,
	 .active = true,
	 .expect = TCP_EV_CLOSED},
	{.name = "1 % loss, stream without SACK",
	 .kernel = k_sink,
	 .check = all_acked,
	 .options = &no_sack,
	 .to_send = 4 * MIB,
	 .close_when_sent = true,
	 .loss = 0.01,
	 .active = true,
	 .expect = TCP_EV_CLOSED},
	{.name = "1 % loss, echo",
	 .kernel = k_echo,
	 .check = all_received,
	 .options = &full,
	 .echo = true,
	 .kernel_sends = 4 * MIB,
	 .close_on_fin = true,
	 .loss = 0.01,
	 .expect = TCP_EV_CLOSED},
	{.name = "2 ms, 2 % overtaken, records to the kernel",
	 .kernel = k_sink,
	 .check = all_acked,
	 .options = &full,
	 .records = true,
	 .to_send = 16 * MIB,
	 .close_when_sent = true,
	 .delay = 2000000,
	 .overtaken = 0.02,
	 .active = true,
	 .expect = TCP_EV_CLOSED},
	{.name = "2 ms, 2 % overtaken, bulk from the kernel",
	 .kernel = k_source,
	 .check = all_received,
	 .options = &full,
	 .kernel_sends = 16 * MIB,
	 .close_on_fin = true,
	 .delay = 2000000,
	 .overtaken = 0.02,
	 .expect = TCP_EV_CLOSED},
	{.name = "2 ms, overtaken and lost, echo, kernel opens",
	 .kernel = k_echo,
	 .check = all_received,
	 .options = &full,
	 .echo = true,
	 .kernel_sends = 2 * MIB,
	 .close_on_fin = true,
	 .delay = 2000000,
	 .overtaken = 0.02,
	 .loss = 0.005,
	 .expect = TCP_EV_CLOSED},
	{.name = "2 ms, overtaken and lost, echo, engine opens",
	 .kernel = k_echo,
	 .check = all_received,
	 .options = &full,
	 .echo = true,
	 .kernel_sends = 2 * MIB,
	 .close_on_fin = true,
	 .delay = 2000000,
	 .overtaken = 0.02,
	 .loss = 0.005,
	 .active = true,
	 .expect = TCP_EV_CLOSED},
	{.name = "2 ms, overtaken and lost, no timestamps, no SACK",
	 .kernel = k_sink,
	 .check = all_acked,
	 .options = &wide,
	 .records = true,
	 .to_send = 2 * MIB,
	 .close_when_sent = true,
	 .delay = 2000000,
	 .overtaken = 0.02,
	 .loss = 0.005,
	 .expect = TCP_EV_CLOSED},
};

/* @only: a word in the names of the cases */
static const struct link {
	const char *name;
	int mtu;
	bool offload;
	enum rig_net net;
	const char *only;
} links[] = {
	{"mtu 1500", 1500, false, NET_IPV4, ""},
	{"mtu 9000", 9000, false, NET_IPV4, ""},
	{"mtu 1500, offloads", 1500, true, NET_IPV4, ""},
	{"IPv6", 1500, false, NET_IPV6, ""},
	{"IPv6, mtu 1280", 1280, false, NET_IPV6, "bulk"},
	{"IPv6, offloads", 1500, true, NET_IPV6, "bulk"},
	{"IPv6, link-local", 1500, false, NET_LINK_LOCAL, "echo"},
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static bool one(const struct rig *c, const struct link *l)
{
	struct rig g = *c;
	double mbytes;
	bool ok;

	g.opts = *c->options;
	g.mtu = l->mtu;
	g.offload = l->offload;
	g.net = l->net;
	g.seed = 7;
	g.hold_until = c->hold_until ? now_ns() + c->hold_until : 0;
	ok = run_case(&g);
	mbytes = (double)(g.sent + g.received) / 1e6;
	printf("%s %s (%s)", ok ? "ok    " : "FAILED", g.name, l->name);
	if (ok)
		printf(": %.1f MB in %.2f s\n", mbytes, g.seconds);
	else
		printf(": %s\n", g.why);
	fflush(stdout);
	return ok;
}

/* Asked for, of the link's kind, and not about the other family's ICMP */
static bool wanted(const struct rig *c, const struct link *l, const char *only)
{
	const char *other = l->net == NET_IPV4 ? "(ICMPv6)" : "(ICMP)";

	return strstr(c->name, only) && strstr(c->name, l->only) && !strstr(c->name, other);
}

int main(int argc, char **argv)
{
	const char *only = argc > 1 ? argv[1] : "";
	unsigned int passed = 0, failed = 0;

	if (!rig_possible()) {
		printf("skipped: needs root and /dev/net/tun\n0 passed, 0 failed, 1 skipped\n");
		return 0;
	}
	for (size_t l = 0; l < sizeof(links) / sizeof(links[0]); l++) {
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			if (!wanted(&cases[i], &links[l], only))
				continue;
			if (one(&cases[i], &links[l]))
				passed++;
			else
				failed++;
		}
	}
	printf("%u passed, %u failed, 0 skipped\n", passed, failed);
	return failed != 0;
}
