/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of an AF_UNIX socket that this process has bound. */
#ifndef BASE_SOCKFILE_H
#define BASE_SOCKFILE_H

#include <sys/types.h>
#include <sys/un.h>

/**
 * struct sockfile - what was bound, all zero when nothing is
 * @sa: its path
 * @dev: with @ino, the file that we made: another process may have replaced it
 * @ino: see @dev
 */
struct sockfile {
	struct sockaddr_un sa;
	dev_t dev;
	ino_t ino;
};

/**
 * sockfile_bind() - bind a socket to a path; a stream socket listens then
 * @f: result
 * @fd: AF_UNIX socket of any type
 * @path: path
 *
 * A socket file that a dead process has left there is replaced; nothing else is. Of several that
 * find it at the same time one gets it. May wait for the others up to a second.
 *
 * Return: 0, -ENAMETOOLONG, -EADDRINUSE: a file of somebody's is there, or another error of bind()
 */
int sockfile_bind(struct sockfile *f, int fd, const char *path);

/**
 * sockfile_remove() - remove the file, if it still is the one that was made
 * @f: file; bound or not
 *
 * To be called while the socket is open: until then nobody else's file has its inode number.
 */
void sockfile_remove(struct sockfile *f);

#endif
