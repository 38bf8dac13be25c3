// SPDX-License-Identifier: GPL-2.0-or-later
#include "sockfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BACKLOG	   8
#define LOCK_TRIES 100
#define LOCK_NS	   10000000

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

/*
 * The directory, locked: else of two that find the same file left behind the later one would
 * remove what the earlier one has just bound. Who may not read the directory, or meets a stranger
 * who holds the lock for good, goes on without. Return: its fd, or -1.
 */
static int lock_directory(const char *path)
{
	struct timespec pause = {0, LOCK_NS};
	char dir[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	char *slash;
	int fd, i;

	strcpy(dir, path);
	slash = strrchr(dir, '/');
	if (slash)
		slash[slash == dir] = 0;
	fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (i = 0; fd >= 0 && i < LOCK_TRIES && flock(fd, LOCK_EX | LOCK_NB); i++)
		nanosleep(&pause, NULL);
	return fd;
}

static int bind_or_replace(int fd, const struct sockaddr_un *sa)
{
	int type = socket_type(fd);

	if (bind(fd, (const struct sockaddr *)sa, sizeof(*sa))) {
		if (errno != EADDRINUSE)
			return -errno;
		if (!is_stale(sa, type))
			return -EADDRINUSE;
		if (unlink(sa->sun_path) || bind(fd, (const struct sockaddr *)sa, sizeof(*sa)))
			return -errno;
	}
	/* Before anybody else looks: one that does not listen seems to be left behind. */
	if (type == SOCK_STREAM && listen(fd, BACKLOG))
		return -errno;
	return 0;
}

int sockfile_bind(struct sockfile *f, int fd, const char *path)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	struct stat st;
	int dir, ret;

	if (strlen(path) >= sizeof(sa.sun_path))
		return -ENAMETOOLONG;
	strcpy(sa.sun_path, path);
	dir = lock_directory(path);
	ret = bind_or_replace(fd, &sa);
	if (!ret)
		f->sa = sa;
	if (!ret && !lstat(path, &st)) {
		f->dev = st.st_dev;
		f->ino = st.st_ino;
	}
	if (dir >= 0)
		close(dir);
	return ret;
}

void sockfile_remove(struct sockfile *f)
{
	struct stat st;

	if (f->sa.sun_path[0] && !lstat(f->sa.sun_path, &st) && st.st_dev == f->dev &&
	    st.st_ino == f->ino)
		unlink(f->sa.sun_path);
	f->sa.sun_path[0] = 0;
}
