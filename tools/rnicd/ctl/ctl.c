// SPDX-License-Identifier: GPL-2.0-or-later
/* The socket of the control interface: clients, lines in, answers out. */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ctl/priv.h"

static void client_close(struct ctl_client *c)
{
	int fd = c->lf.fd;

	loop_fd_del(&c->lf);
	close(fd);
	free(c->out);
	c->out = NULL;
	c->out_len = 0;
	c->out_done = 0;
	c->in_len = 0;
	c->used = false;
}

/* False: the client is gone. While an answer waits, nothing is read. */
static bool client_flush(struct ctl_client *c)
{
	ssize_t n;

	while (c->out_done < c->out_len) {
		n = send(c->lf.fd, c->out + c->out_done, c->out_len - c->out_done,
			 MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			loop_fd_mod(&c->lf, EPOLLOUT);
			return true;
		}
		if (n < 0)
			return false;
		c->out_done += (size_t)n;
	}
	free(c->out);
	c->out = NULL;
	c->out_len = 0;
	c->out_done = 0;
	loop_fd_mod(&c->lf, EPOLLIN);
	return true;
}

/* Executes the first whole line of the buffer. False: there is none, or the client went. */
static bool client_line(struct ctl_client *c)
{
	char *end = memchr(c->in, '\n', c->in_len);
	char line[sizeof(c->in)];
	size_t n;
	FILE *f;

	if (!end || c->out)
		return false;
	n = (size_t)(end - c->in);
	memcpy(line, c->in, n);
	line[n] = 0;
	c->in_len -= (u32)n + 1;
	memmove(c->in, end + 1, c->in_len);
	f = open_memstream(&c->out, &c->out_len);
	if (!f) {
		client_close(c);
		return false;
	}
	ctl_command(c->ctl, line, f);
	if (fclose(f) || !client_flush(c)) {
		client_close(c);
		return false;
	}
	return true;
}

static void client_lines(struct ctl_client *c)
{
	while (client_line(c))
		;
}

static void client_receive(struct ctl_client *c)
{
	ssize_t n = recv(c->lf.fd, c->in + c->in_len, sizeof(c->in) - c->in_len, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* Also when a line is longer than any command. */
	if (n <= 0) {
		client_close(c);
		return;
	}
	c->in_len += (u32)n;
	client_lines(c);
}

static void client_cb(struct loop_fd *lf, u32 events)
{
	struct ctl_client *c = container_of(lf, struct ctl_client, lf);

	if (events & EPOLLOUT && !client_flush(c)) {
		client_close(c);
		return;
	}
	/* Those that came with the one whose answer had to wait are first. */
	client_lines(c);
	if (c->used && !c->out)
		client_receive(c);
}

static void accepted(struct acceptor *a, int fd)
{
	struct ctl *ctl = container_of(a, struct ctl, acceptor);
	u32 i;

	for (i = 0; i < CTL_MAX_CLIENTS && ctl->client[i].used; i++)
		;
	if (i == CTL_MAX_CLIENTS ||
	    loop_fd_add(ctl->dev->loop, &ctl->client[i].lf, fd, EPOLLIN, client_cb)) {
		close(fd);
		return;
	}
	ctl->client[i].ctl = ctl;
	ctl->client[i].used = true;
}

struct ctl *ctl_new(struct rnic *dev, const char *path)
{
	struct ctl *ctl = calloc(1, sizeof(*ctl));
	int ret;

	if (!ctl)
		return NULL;
	ctl->dev = dev;
	ret = acceptor_open(&ctl->acceptor, dev->loop, path, 0600, accepted);
	if (!ret)
		return ctl;
	ctl_free(ctl);
	errno = -ret;
	return NULL;
}

void ctl_free(struct ctl *ctl)
{
	u32 i;

	if (!ctl)
		return;
	for (i = 0; i < CTL_MAX_CLIENTS; i++)
		if (ctl->client[i].used)
			client_close(&ctl->client[i]);
	acceptor_close(&ctl->acceptor);
	if (ctl->pcap) {
		wire_set_capture(ctl->dev->wire, NULL);
		pcap_close(ctl->pcap);
	}
	free(ctl);
}
