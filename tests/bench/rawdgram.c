// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rawdgram: what an AF_UNIX datagram socket pair alone can carry, the ceiling of the RNIC's "dgram"
 * wire.
 *
 *   rawdgram bulk FRAME_BYTES SECONDS    one process sends, one receives, batches of 32 by
 * sendmmsg/recvmmsg rawdgram pingpong FRAME_BYTES COUNT  both sleep in poll() for each frame
 *
 * Prints one line: bulk: MiB_per_s frames_per_s; pingpong: us_per_round_trip
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BATCH	  32
#define FRAME_MAX 65536
#define SOCK_BUF  (4 << 20)

struct batch {
	struct mmsghdr msg[BATCH];
	struct iovec iov[BATCH];
	char *frames;
};

static void die(const char *what)
{
	fprintf(stderr, "rawdgram: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void batch_init(struct batch *b, size_t frame)
{
	memset(b, 0, sizeof(*b));
	b->frames = calloc(BATCH, FRAME_MAX);
	if (!b->frames)
		die("calloc");
	for (int i = 0; i < BATCH; i++) {
		b->iov[i].iov_base = b->frames + (size_t)i * FRAME_MAX;
		b->iov[i].iov_len = frame;
		b->msg[i].msg_hdr.msg_iov = &b->iov[i];
		b->msg[i].msg_hdr.msg_iovlen = 1;
	}
}

static void send_until(int fd, size_t frame, double end)
{
	struct batch b;

	batch_init(&b, frame);
	while (seconds() < end)
		if (sendmmsg(fd, b.msg, BATCH, 0) < 0)
			die("sendmmsg");
}

static uint64_t receive_until(int fd, double end)
{
	struct timespec patience = {.tv_nsec = 100000000};
	uint64_t frames = 0;
	struct batch b;

	batch_init(&b, FRAME_MAX);
	while (seconds() < end) {
		int n = recvmmsg(fd, b.msg, BATCH, MSG_WAITFORONE, &patience);

		if (n > 0)
			frames += n;
	}
	return frames;
}

static void bulk(int fd[2], size_t frame, double secs)
{
	double start = seconds();
	uint64_t frames;
	pid_t sender = fork();

	if (sender < 0)
		die("fork");
	if (!sender) {
		send_until(fd[0], frame, start + secs + 1);
		_exit(0);
	}
	frames = receive_until(fd[1], start + secs);
	kill(sender, SIGKILL);
	waitpid(sender, NULL, 0);
	printf("bulk frame %zu: %.1f MiB/s %.0f frames/s\n", frame,
	       frames * (double)frame / secs / (1 << 20), frames / secs);
}

static void wait_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	if (poll(&p, 1, 10000) != 1)
		die("poll");
}

static void echo(int fd, size_t frame, unsigned long count, int first)
{
	char buf[FRAME_MAX];

	memset(buf, 0, frame);
	for (unsigned long i = 0; i < count; i++) {
		if (first && send(fd, buf, frame, 0) < 0)
			die("send");
		wait_readable(fd);
		if (recv(fd, buf, sizeof(buf), 0) < 0)
			die("recv");
		if (!first && send(fd, buf, frame, 0) < 0)
			die("send");
	}
}

static void pingpong(int fd[2], size_t frame, unsigned long count)
{
	double t;
	pid_t peer = fork();

	if (peer < 0)
		die("fork");
	if (!peer) {
		echo(fd[0], frame, count, 0);
		_exit(0);
	}
	t = seconds();
	echo(fd[1], frame, count, 1);
	t = seconds() - t;
	waitpid(peer, NULL, 0);
	printf("pingpong frame %zu: %.2f us/round-trip\n", frame, t * 1e6 / count);
}

int main(int argc, char **argv)
{
	int fd[2], size = SOCK_BUF;
	size_t frame;

	if (argc != 4 || (frame = strtoul(argv[2], NULL, 0)) < 1 || frame > FRAME_MAX) {
		fprintf(stderr, "usage: rawdgram bulk FRAME SECONDS | pingpong FRAME COUNT\n");
		return 2;
	}
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, fd))
		die("socketpair");
	for (int i = 0; i < 2; i++)
		setsockopt(fd[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	if (!strcmp(argv[1], "bulk"))
		bulk(fd, frame, strtod(argv[3], NULL));
	else
		pingpong(fd, frame, strtoul(argv[3], NULL, 0));
	return 0;
}
