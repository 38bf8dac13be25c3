// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The crafting peer over the host's TCP: runs a script of tests/wire/scripts.
 *   script_peer FILE ADDRESS PORT	the driver's address, or ours when the driver connects
 * Exit code 0: all was as the script says. Otherwise it says what was not.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../wire/script.h"

#define CONNECT_MS 60000 /* a client on a busy debug kernel takes its time to start */

static struct sockaddr_in address;
static int fd = -1;

static bool ready(int s, int ms)
{
	struct pollfd p = {s, POLLIN, 0};

	return poll(&p, 1, ms) == 1;
}

static bool peer_listen(int s)
{
	int one = 1;

	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(s, (struct sockaddr *)&address, sizeof(address)) || listen(s, 1))
		return false;
	printf("listening\n");
	fflush(stdout);
	if (!ready(s, CONNECT_MS))
		return false;
	fd = accept(s, NULL, NULL);
	return fd >= 0;
}

static bool peer_begin(bool listens)
{
	int one = 1, s = socket(AF_INET, SOCK_STREAM, 0);
	bool ok;

	if (s < 0)
		return false;
	if (listens) {
		ok = peer_listen(s);
		close(s);
	} else {
		ok = !connect(s, (struct sockaddr *)&address, sizeof(address));
		fd = s;
	}
	if (ok)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return ok;
}

static bool peer_send(const void *data, size_t len)
{
	const char *p = data;
	ssize_t n;

	while (len) {
		n = send(fd, p, len, MSG_NOSIGNAL);
		if (n < 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

static int peer_recv(void *data, size_t len, int ms)
{
	ssize_t n;

	if (!ready(fd, ms))
		return SCRIPT_NOTHING;
	n = recv(fd, data, len, 0);
	return n < 0 ? SCRIPT_RST : (int)n;
}

static void peer_fin(void)
{
	shutdown(fd, SHUT_WR);
}

static void peer_rst(void)
{
	struct linger now = {1, 0};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}

static void peer_sleep(int ms)
{
	usleep((useconds_t)ms * 1000);
}

int main(int argc, char **argv)
{
	static const struct script_io io = {
		.begin = peer_begin,
		.send = peer_send,
		.recv = peer_recv,
		.fin = peer_fin,
		.rst = peer_rst,
		.sleep = peer_sleep,
	};
	char why[512];

	if (argc != 4) {
		fprintf(stderr, "usage: script_peer FILE ADDRESS PORT\n");
		return 2;
	}
	address.sin_family = AF_INET;
	address.sin_port = htons((uint16_t)atoi(argv[3]));
	if (inet_pton(AF_INET, argv[2], &address.sin_addr) != 1) {
		fprintf(stderr, "%s is no IPv4 address\n", argv[2]);
		return 2;
	}
	if (script_run(argv[1], &io, why, sizeof(why)))
		return 0;
	printf("%s\n", why);
	return 1;
}
