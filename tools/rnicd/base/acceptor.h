/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A socket of the file system that clients connect to. */
#ifndef RNICD_BASE_ACCEPTOR_H
#define RNICD_BASE_ACCEPTOR_H

#include <sys/stat.h>

#include "base/loop.h"
#include "base/sockfile.h"

/**
 * struct acceptor - a listening AF_UNIX stream socket; all zero when it is not open
 * @lf: the socket
 * @again: when no file descriptor was left for a client, the next attempt
 * @file: its file
 * @accepted: takes the client's socket, which does not block
 */
struct acceptor {
	struct loop_fd lf;
	struct loop_timer again;
	struct sockfile file;
	void (*accepted)(struct acceptor *a, int fd);
};

/**
 * acceptor_open() - bind, listen, and wait for clients
 * @a: zeroed
 * @loop: loop
 * @path: of the file
 * @mode: permissions of the file; 0: what the process' umask says
 * @accepted: called for each client
 *
 * Return: 0, or -errno as sockfile_bind() has it
 */
int acceptor_open(struct acceptor *a, struct loop *loop, const char *path, mode_t mode,
		  void (*accepted)(struct acceptor *a, int fd));
/* Closes the socket and removes its file. Quiet when it is not open. */
void acceptor_close(struct acceptor *a);

#endif /* RNICD_BASE_ACCEPTOR_H */
