// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Guest agent of the lab: runs commands that the host sends over one virtio-serial
 * port, one at a time.  One process per port.
 *
 * host -> guest   u32 length, that many bytes: a command for bash -c
 * guest -> host   frames: u8 type, u32 length, data
 *                   'O'  output (standard output and error together)
 *                   'X'  the command ended: s32 exit code, 128 + signal if killed
 *
 * A command that puts something in the background does not keep the port busy: the
 * answer is given when the shell itself has ended and its output so far is sent.
 * All integers are little endian, as the only guest architecture is.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_COMMAND (1U << 20)

/* A port without a host end reads as end of file or EAGAIN: wait for one. */
static void read_all(int port, void *buf, size_t len)
{
	char *at = buf;

	while (len) {
		ssize_t n = read(port, at, len);

		if (n <= 0) {
			usleep(20000);
			continue;
		}
		at += n;
		len -= n;
	}
}

static void write_all(int port, const void *buf, size_t len)
{
	const char *at = buf;

	while (len) {
		ssize_t n = write(port, at, len);

		if (n <= 0) {
			usleep(2000);
			continue;
		}
		at += n;
		len -= n;
	}
}

static void send_frame(int port, char type, const void *data, uint32_t len)
{
	char head[5] = {type};

	memcpy(head + 1, &len, sizeof(len));
	write_all(port, head, sizeof(head));
	write_all(port, data, len);
}

static char *read_command(int port)
{
	uint32_t len;
	char *command;

	read_all(port, &len, sizeof(len));
	if (len > MAX_COMMAND) {
		fprintf(stderr, "lab agent: command of %u bytes, port given up\n", len);
		exit(1);
	}
	command = calloc(1, len + 1);
	if (!command) {
		perror("lab agent");
		exit(1);
	}
	read_all(port, command, len);
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
	null = open("/dev/null", O_RDONLY);
	dup2(null, STDIN_FILENO);
	dup2(fds[1], STDOUT_FILENO);
	dup2(fds[1], STDERR_FILENO);
	close(fds[0]);
	close(fds[1]);
	execl("/bin/bash", "bash", "-c", command, NULL);
	_exit(127);
}

/* Passes output on until the shell has ended and nothing is left to read. */
static int pass_output(int port, int output, pid_t pid)
{
	char buf[65536];
	int ended = 0;
	int status = 0;

	for (;;) {
		struct pollfd fd = {.fd = output, .events = POLLIN};

		if (poll(&fd, 1, ended ? 0 : 20) > 0) {
			ssize_t n = read(output, buf, sizeof(buf));

			if (n <= 0)
				break;
			send_frame(port, 'O', buf, n);
			continue;
		}
		if (ended)
			return status;
		ended = waitpid(pid, &status, WNOHANG) == pid;
	}
	if (!ended)
		waitpid(pid, &status, 0);
	return status;
}

int main(int argc, char **argv)
{
	int port;

	if (argc != 2) {
		fprintf(stderr, "usage: agent PORT\n");
		return 1;
	}
	port = open(argv[1], O_RDWR | O_CLOEXEC);
	if (port < 0) {
		perror(argv[1]);
		return 1;
	}
	for (;;) {
		char *command = read_command(port);
		int output = -1;
		int32_t code = 127;
		pid_t pid = start(command, &output);

		free(command);
		if (pid > 0) {
			int status = pass_output(port, output, pid);

			code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
			close(output);
		}
		send_frame(port, 'X', &code, sizeof(code));
	}
}
