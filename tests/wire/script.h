/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The crafting peer as an interpreter: it says over a TCP connection what a script tells it to, and
 * checks what comes back. It uses nothing of the device's or the driver's code. tests/wire/scripts
 * has scripts, its README the language.
 */
#ifndef TESTS_WIRE_SCRIPT_H
#define TESTS_WIRE_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What script_io.recv() returns when there are no bytes. */
enum {
	SCRIPT_FIN = 0,
	SCRIPT_RST = -1,
	SCRIPT_NOTHING = -2, /* none came in time */
};

/**
 * struct script_io - a TCP connection
 * @begin: make it; @listen: the other end opens it. False: it did not come about
 * @send: all of @len bytes, as a segment of its own if that is possible. False: it has ended
 * @recv: 1 to @len bytes, waiting at most @ms milliseconds, or one of the above
 * @fin: no more will be sent
 * @rst: reset it
 * @sleep: milliseconds
 */
struct script_io {
	bool (*begin)(bool listen);
	bool (*send)(const void *data, size_t len);
	int (*recv)(void *data, size_t len, int ms);
	void (*fin)(void);
	void (*rst)(void);
	void (*sleep)(int ms);
};

/**
 * script_run() - run a script
 * @path: its file
 * @io: connection
 * @why: filled when something is not as the script says, with file and line
 * @len: its size
 *
 * Return: true: everything was as expected.
 */
bool script_run(const char *path, const struct script_io *io, char *why, size_t len);

/* The value of a word KEY=VALUE of the script's line "driver", -1: it has none. */
long script_driver(const char *path, const char *key);

#endif /* TESTS_WIRE_SCRIPT_H */
