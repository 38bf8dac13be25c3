// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Addresses of the tap device and of the engine behind it, by rtnetlink: no duplicate address
 * detection, and a permanent neighbour, since the engine speaks neither ARP nor neighbour
 * discovery.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tap_peer.h"

struct request {
	struct nlmsghdr h;
	uint8_t body[256];
};

socklen_t rig_sockaddr(const struct rig *g, enum rig_host host, struct sockaddr_storage *ss)
{
	static const char *const prefix[] = {
		[NET_IPV4] = "10.9.0.", [NET_IPV6] = "2001:db8:9::", [NET_LINK_LOCAL] = "fe80::"};
	static const char *const beyond[] = {[NET_IPV4] = "10.20.0.", [NET_IPV6] = "2001:db8:20::"};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(PORT)};
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	char text[64];

	memset(ss, 0, sizeof(*ss));
	snprintf(text, sizeof(text), "%s%d", (host == HOST_BEYOND ? beyond : prefix)[g->net], host);
	if (g->net == NET_IPV4) {
		inet_pton(AF_INET, text, &in.sin_addr);
		memcpy(ss, &in, sizeof(in));
		return sizeof(in);
	}
	inet_pton(AF_INET6, text, &in6.sin6_addr);
	if (g->net == NET_LINK_LOCAL)
		in6.sin6_scope_id = g->ifindex;
	memcpy(ss, &in6, sizeof(in6));
	return sizeof(in6);
}

static void add_attr(struct request *r, uint16_t type, const void *data, uint16_t len)
{
	struct rtattr a = {.rta_type = type, .rta_len = (uint16_t)RTA_LENGTH(len)};
	uint8_t *p = (uint8_t *)r + NLMSG_ALIGN(r->h.nlmsg_len);

	memcpy(p, &a, sizeof(a));
	memcpy(p + RTA_LENGTH(0), data, len);
	r->h.nlmsg_len = (uint32_t)(NLMSG_ALIGN(r->h.nlmsg_len) + RTA_ALIGN(a.rta_len));
}

static struct request request(uint16_t type, const void *head, uint32_t len)
{
	struct request r = {
		.h = {.nlmsg_len = NLMSG_LENGTH(len),
		      .nlmsg_type = type,
		      .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE}};

	memcpy(NLMSG_DATA(&r.h), head, len);
	return r;
}

static bool transact(const struct request *r, const char *what)
{
	int s = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	struct {
		struct nlmsghdr h;
		struct nlmsgerr e;
		uint8_t more[512];
	} answer = {0};
	bool ok = s >= 0 && send(s, r, r->h.nlmsg_len, 0) > 0 &&
		  recv(s, &answer, sizeof(answer), 0) > 0;

	close(s);
	if (ok && answer.h.nlmsg_type == NLMSG_ERROR && !answer.e.error)
		return true;
	fprintf(stderr, "%s: %s\n", what, strerror(ok ? -answer.e.error : errno));
	return false;
}

/* The address alone: 4 or 16 bytes */
static uint16_t address(const struct rig *g, enum rig_host host, uint8_t *bytes)
{
	struct sockaddr_storage ss;

	rig_sockaddr(g, host, &ss);
	if (g->net == NET_IPV4) {
		memcpy(bytes, &((struct sockaddr_in *)&ss)->sin_addr, 4);
		return 4;
	}
	memcpy(bytes, &((struct sockaddr_in6 *)&ss)->sin6_addr, 16);
	return 16;
}

bool rig_addresses(struct rig *g, const uint8_t *engine_mac)
{
	uint8_t family = g->net == NET_IPV4 ? AF_INET : AF_INET6, bytes[16];
	struct ifaddrmsg addr = {.ifa_family = family,
				 .ifa_prefixlen = g->net == NET_IPV4 ? 24 : 64,
				 .ifa_flags = IFA_F_NODAD,
				 .ifa_index = g->ifindex};
	struct ndmsg neigh = {
		.ndm_family = family, .ndm_ifindex = (int)g->ifindex, .ndm_state = NUD_PERMANENT};
	struct request r = request(RTM_NEWADDR, &addr, sizeof(addr));
	uint16_t len = address(g, HOST_KERNEL, bytes);

	add_attr(&r, IFA_LOCAL, bytes, len);
	add_attr(&r, IFA_ADDRESS, bytes, len);
	if (!transact(&r, "address"))
		return false;
	r = request(RTM_NEWNEIGH, &neigh, sizeof(neigh));
	add_attr(&r, NDA_DST, bytes, address(g, HOST_ENGINE, bytes));
	add_attr(&r, NDA_LLADDR, engine_mac, 6);
	return transact(&r, "neighbour");
}

static bool forward(const char *path)
{
	int fd = open(path, O_WRONLY);
	bool ok = fd >= 0 && write(fd, "1", 1) == 1;

	close(fd);
	return ok;
}

/* The kernel as a router: HOST_BEYOND is behind the engine, or it says by ICMP why not */
bool rig_route(const struct rig *g)
{
	struct rtmsg route = {.rtm_family = g->net == NET_IPV4 ? AF_INET : AF_INET6,
			      .rtm_dst_len = g->net == NET_IPV4 ? 32 : 128,
			      .rtm_table = RT_TABLE_MAIN,
			      .rtm_protocol = RTPROT_STATIC,
			      .rtm_type = g->route};
	struct request r = request(RTM_NEWROUTE, &route, sizeof(route));
	uint8_t bytes[16], metrics[8];

	add_attr(&r, RTA_DST, bytes, address(g, HOST_BEYOND, bytes));
	if (g->route == RTN_UNICAST) {
		struct rtattr a = {.rta_type = RTAX_MTU, .rta_len = RTA_LENGTH(4)};

		memcpy(metrics, &a, sizeof(a));
		memcpy(metrics + RTA_LENGTH(0), &g->route_mtu, 4);
		add_attr(&r, RTA_METRICS, metrics, sizeof(metrics));
		add_attr(&r, RTA_GATEWAY, bytes, address(g, HOST_ENGINE, bytes));
		add_attr(&r, RTA_OIF, &g->ifindex, 4);
	}
	return forward("/proc/sys/net/ipv4/ip_forward") &&
	       forward("/proc/sys/net/ipv6/conf/all/forwarding") && transact(&r, "route");
}
