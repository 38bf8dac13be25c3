// SPDX-License-Identifier: GPL-2.0-or-later
/* Socket files: whose they are, and what is left of them. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/sockfile.h"

static char dir[] = "/tmp/sockfile-XXXXXX";
static char path[64];

static int make_dir(void **state)
{
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/s", dir);
	return 0;
}

static int remove_dir(void **state)
{
	return rmdir(dir);
}

static void test_own(void **state)
{
	for (int type = SOCK_STREAM; type <= SOCK_DGRAM; type++) {
		int fd = socket(AF_UNIX, type, 0);
		struct sockfile f = {0};

		assert_int_equal(sockfile_bind(&f, fd, path), 0);
		assert_int_equal(access(path, F_OK), 0);
		sockfile_remove(&f);
		assert_int_equal(access(path, F_OK), -1);
		sockfile_remove(&f);
		close(fd);
	}
}

/* The owner lives, listens or not; a stopped one whose queue is full must not hold us up. */
static void test_in_use(void **state)
{
	int owner = socket(AF_UNIX, SOCK_STREAM, 0), fd = socket(AF_UNIX, SOCK_STREAM, 0);
	int waiting = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	struct sockfile f = {0}, g = {0};

	assert_int_equal(sockfile_bind(&f, owner, path), 0);
	assert_int_equal(listen(owner, 0), 0);
	assert_int_equal(sockfile_bind(&g, fd, path), -EADDRINUSE);
	/* fills the queue, if the attempt before has not done so */
	(void)!connect(waiting, (struct sockaddr *)&f.sa, sizeof(f.sa));
	assert_int_equal(sockfile_bind(&g, fd, path), -EADDRINUSE);
	sockfile_remove(&g);
	assert_int_equal(access(path, F_OK), 0);
	sockfile_remove(&f);
	close(owner);
	close(fd);
	close(waiting);
}

static void test_left_behind(void **state)
{
	for (int type = SOCK_STREAM; type <= SOCK_DGRAM; type++) {
		int old = socket(AF_UNIX, type, 0), fd = socket(AF_UNIX, type, 0);
		struct sockfile f = {0}, g = {0};

		assert_int_equal(sockfile_bind(&f, old, path), 0);
		close(old);
		assert_int_equal(sockfile_bind(&g, fd, path), 0);
		sockfile_remove(&g);
		assert_int_equal(access(path, F_OK), -1);
		close(fd);
	}
}

/* Somebody has removed the file of a living owner: what is there now is not the owner's. */
static void test_replaced(void **state)
{
	int old = socket(AF_UNIX, SOCK_STREAM, 0), fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockfile f = {0}, g = {0};

	assert_int_equal(sockfile_bind(&f, old, path), 0);
	unlink(path);
	assert_int_equal(sockfile_bind(&g, fd, path), 0);
	sockfile_remove(&f);
	assert_int_equal(access(path, F_OK), 0);
	sockfile_remove(&g);
	assert_int_equal(access(path, F_OK), -1);
	close(old);
	close(fd);
}

/* A process that says at @done whether it has got the path, and holds it until it is killed. */
static int start(int done)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), pid = fork();
	struct sockfile f = {0};
	char c;

	if (pid) {
		close(fd);
		return pid;
	}
	alarm(30);
	c = !sockfile_bind(&f, fd, path);
	(void)!write(done, &c, 1);
	for (;;)
		pause();
}

/* Two start at the same time and find what a third has left: one of them serves. */
static void test_two_at_once(void **state)
{
	for (int round = 0; round < 100; round++) {
		int old = socket(AF_UNIX, SOCK_STREAM, 0), done[2], pid[2], i;
		struct sockfile f = {0};
		char got[2];

		assert_int_equal(sockfile_bind(&f, old, path), 0);
		close(old);
		assert_int_equal(pipe(done), 0);
		for (i = 0; i < 2; i++)
			pid[i] = start(done[1]);
		for (i = 0; i < 2; i++)
			assert_int_equal(read(done[0], &got[i], 1), 1);
		for (i = 0; i < 2; i++) {
			kill(pid[i], SIGKILL);
			waitpid(pid[i], NULL, 0);
		}
		assert_int_equal(got[0] + got[1], 1);
		close(done[0]);
		close(done[1]);
		unlink(path);
	}
}

static void test_no_socket(void **state)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockfile f = {0};
	FILE *file = fopen(path, "w");
	struct stat st;

	assert_int_equal(fputs("mine", file) >= 0 && !fclose(file), 1);
	assert_int_equal(sockfile_bind(&f, fd, path), -EADDRINUSE);
	sockfile_remove(&f);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 4);
	unlink(path);
	close(fd);
}

static void test_paths(void **state)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockfile f = {0};
	char name[200];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	assert_int_equal(sockfile_bind(&f, fd, name), -ENAMETOOLONG);
	assert_int_equal(sockfile_bind(&f, fd, "/nonexistent/s"), -ENOENT);
	sockfile_remove(&f);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own),	    cmocka_unit_test(test_in_use),
		cmocka_unit_test(test_left_behind), cmocka_unit_test(test_no_socket),
		cmocka_unit_test(test_paths),	    cmocka_unit_test(test_replaced),
		cmocka_unit_test(test_two_at_once),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
