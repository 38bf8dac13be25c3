// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Guest agent of the lab: runs commands that the host sends over one virtio-serial
 * port, one at a time.  One process per port.
 *
 * host -> guest   16 bytes that name the command, u32 length, that many bytes: a command
 *                 for bash -c
 * guest -> host   the same 16 bytes, then frames: u8 type, u32 length, data
 *                   'O'  output (standard output and error together)
 *                   'X'  the command ended: s32 exit code, 128 + signal if killed
 *
 * A host end that goes away, or sends another command, ends the one that runs.  What was
 * on its way then is still read by the next host end, maybe from the middle of a frame:
 * it drops all that comes before the name of its own command, which is random.
 *
 * A command that puts something in the background does not keep the port busy: the
 * answer is given when the shell itself has ended and its output so far is sent.
 * All integers are little endian, as the only guest architecture is.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_COMMAND (1U << 20)
#define NAME_LEN    16

static sigset_t no_signals;

/* The port without a host end, or with the next command in it. */
static bool host_left(int port, int ms)
{
	struct pollfd fd = {.fd = port, .events = POLLIN};

	return poll(&fd, 1, ms) > 0;
}

/* False: the host end went in between, what it began to send is void. */
static bool read_all(int port, void *buf, size_t len)
{
	char *at = buf;

	while (len) {
		struct pollfd fd = {.fd = port, .events = POLLIN};
		ssize_t n;

		poll(&fd, 1, -1);
		n = read(port, at, len);
		if (!n)
			return false;
		if (n > 0) {
			at += n;
			len -= n;
		}
	}
	return true;
}

/* False: nobody wants it any more. */
static bool write_all(int port, const void *buf, size_t len)
{
	const char *at = buf;

	while (len) {
		ssize_t n = write(port, at, len);

		if (n > 0) {
			at += n;
			len -= n;
		} else if (host_left(port, 2)) {
			return false;
		}
	}
	return true;
}

static bool send_frame(int port, char type, const void *data, uint32_t len)
{
	char head[5] = {type};

	memcpy(head + 1, &len, sizeof(len));
	return write_all(port, head, sizeof(head)) && write_all(port, data, len);
}

/* The next command and its name; NULL: the host end went. */
static char *read_command(int port, char *name)
{
	uint32_t len;
	char *command;

	if (!read_all(port, name, NAME_LEN) || !read_all(port, &len, sizeof(len)))
		return NULL;
	if (len > MAX_COMMAND) {
		fprintf(stderr, "lab agent: command of %u bytes, port given up\n", len);
		exit(1);
	}
	command = calloc(1, len + 1);
	if (!command) {
		perror("lab agent");
		exit(1);
	}
	if (!read_all(port, command, len)) {
		free(command);
		return NULL;
	}
	return command;
}

static pid_t start(const char *command, int *output)
{
	int fds[2];
	pid_t pid;
	int null;

	if (pipe(fds))
		return -1;
	pid = fork();
	if (pid) {
		close(fds[1]);
		*output = fds[0];
		return pid;
	}
	setsid();
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &no_signals, NULL);
	null = open("/dev/null", O_RDONLY);
	dup2(null, STDIN_FILENO);
	dup2(fds[1], STDOUT_FILENO);
	dup2(fds[1], STDERR_FILENO);
	close(fds[0]);
	close(fds[1]);
	execl("/bin/bash", "bash", "-c", command, NULL);
	_exit(127);
}

static int pidfd(pid_t pid)
{
	return syscall(SYS_pidfd_open, pid, 0);
}

enum passed {
	NOTHING,
	SOMETHING,
	OUTPUT_ENDED,
	HOST_LEFT
};

/* Waits for output, the host end, or the end of the shell; not longer than ms. */
static enum passed pass_some(int port, int output, int shell, int ms)
{
	struct pollfd fds[3] = {{.fd = output, .events = POLLIN},
				{.fd = port, .events = POLLIN},
				{.fd = shell, .events = POLLIN}};
	char buf[65536];
	ssize_t n;

	if (poll(fds, 3, ms) <= 0)
		return NOTHING;
	if (fds[1].revents)
		return HOST_LEFT;
	if (!fds[0].revents)
		return NOTHING;
	n = read(output, buf, sizeof(buf));
	if (n <= 0)
		return OUTPUT_ENDED;
	return send_frame(port, 'O', buf, n) ? SOMETHING : HOST_LEFT;
}

/*
 * Passes output on until the shell has ended and nothing is left to read.  A command that
 * nobody waits for any more is killed.
 */
static int pass_output(int port, int output, pid_t pid)
{
	enum passed passed = SOMETHING;
	int shell = pidfd(pid);
	int ended = 0;
	int status = 0;

	while (passed == SOMETHING || (passed == NOTHING && !ended)) {
		if (passed == NOTHING)
			ended = waitpid(pid, &status, WNOHANG) == pid;
		passed = pass_some(port, output, ended ? -1 : shell, ended ? 0 : 1000);
	}
	close(shell);
	if (ended)
		return status;
	/* Its process group is there as soon as it has called setsid(). */
	if (passed == HOST_LEFT && kill(-pid, SIGKILL))
		kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return status;
}

/*
 * The kernel is told of the host end by another queue than that of its bytes, so maybe after them:
 * until then the port looks as if it had gone already, and the command would never be answered.
 */
static void await_host(int port)
{
	int i;

	for (i = 0; i < 1000; i++) {
		struct pollfd fd = {.fd = port, .events = POLLOUT};

		if (poll(&fd, 1, 0) < 0 || !(fd.revents & POLLHUP))
			return;
		usleep(2000);
	}
}

static void run_command(int port, const char *name, const char *command)
{
	int output = -1;
	int32_t code = 127;
	pid_t pid;

	await_host(port);
	if (!write_all(port, name, NAME_LEN))
		return;
	pid = start(command, &output);
	if (pid > 0) {
		int status = pass_output(port, output, pid);

		code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		close(output);
	}
	send_frame(port, 'X', &code, sizeof(code));
}

/*
 * The kernel sends SIGIO when bytes or a host end come.  poll() cannot wait for these: without a
 * host end it returns at once.
 */
static void watch_port(int port, sigset_t *io)
{
	sigemptyset(io);
	sigaddset(io, SIGIO);
	sigprocmask(SIG_BLOCK, io, &no_signals);
	if (fcntl(port, F_SETOWN, getpid()) || fcntl(port, F_SETFL, O_NONBLOCK | O_ASYNC))
		perror("lab agent: SIGIO");
}

int main(int argc, char **argv)
{
	static const struct timespec second = {.tv_sec = 1};
	char name[NAME_LEN];
	sigset_t io;
	int port;

	if (argc != 2) {
		fprintf(stderr, "usage: agent PORT\n");
		return 1;
	}
	port = open(argv[1], O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (port < 0) {
		perror(argv[1]);
		return 1;
	}
	watch_port(port, &io);
	for (;;) {
		char *command = read_command(port, name);

		if (command)
			run_command(port, name, command);
		else
			sigtimedwait(&io, NULL, &second);
		free(command);
	}
}
