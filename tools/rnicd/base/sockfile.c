// SPDX-License-Identifier: GPL-2.0-or-later
#include "sockfile.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static int socket_type(int fd)
{
	socklen_t len = sizeof(int);
	int type = SOCK_STREAM;

	getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len);
	return type;
}

/*
 * Left behind by a process that is gone? connect() is refused by any file that is not a socket,
 * too: that one is somebody's.
 */
static bool is_stale(const struct sockaddr_un *sa, int type)
{
	struct stat st;
	bool stale;
	int fd;

	if (lstat(sa->sun_path, &st) || !S_ISSOCK(st.st_mode))
		return false;
	/* not to wait: the owner may be there and stopped */
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	stale = connect(fd, (const struct sockaddr *)sa, sizeof(*sa)) && errno == ECONNREFUSED;
	close(fd);
	return stale;
}

int sockfile_bind(struct sockfile *f, int fd, const char *path)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	struct stat st;

	if (strlen(path) >= sizeof(sa.sun_path))
		return -ENAMETOOLONG;
	strcpy(sa.sun_path, path);
	if (bind(fd, (const struct sockaddr *)&sa, sizeof(sa))) {
		if (errno != EADDRINUSE)
			return -errno;
		if (!is_stale(&sa, socket_type(fd)))
			return -EADDRINUSE;
		if (unlink(path) || bind(fd, (const struct sockaddr *)&sa, sizeof(sa)))
			return -errno;
	}
	f->sa = sa;
	if (!lstat(path, &st)) {
		f->dev = st.st_dev;
		f->ino = st.st_ino;
	}
	return 0;
}

void sockfile_remove(struct sockfile *f)
{
	struct stat st;

	if (f->sa.sun_path[0] && !lstat(f->sa.sun_path, &st) && st.st_dev == f->dev &&
	    st.st_ino == f->ino)
		unlink(f->sa.sun_path);
	f->sa.sun_path[0] = 0;
}
