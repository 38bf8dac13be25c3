// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages to stderr: whole lines, so that those of several devices do not mix. */
#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"

#define LOG_LINE_MAX 1024

static const char *const level_names[] = {"error", "warning", "info", "debug"};

static struct {
	const char *program;
	enum log_level level;
	void (*sink)(void *priv, enum log_level level, const char *line);
	void *sink_priv;
} log_state = {.program = "rnicd", .level = LOG_LVL_INFO};

void log_set_program(const char *name)
{
	log_state.program = name;
}

void log_set_level(enum log_level level)
{
	log_state.level = level;
}

enum log_level log_get_level(void)
{
	return log_state.level;
}

int log_parse_level(const char *name, enum log_level *level)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(level_names); i++) {
		if (!strcmp(name, level_names[i])) {
			*level = (enum log_level)i;
			return 0;
		}
	}
	return -EINVAL;
}

void log_set_sink(void (*sink)(void *priv, enum log_level level, const char *line), void *priv)
{
	log_state.sink = sink;
	log_state.sink_priv = priv;
}

/* Control characters in text from outside must not reach a terminal. */
static void make_printable(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			*s = '?';
}

void log_write(enum log_level level, const char *fmt, ...)
{
	char line[LOG_LINE_MAX];
	va_list ap;
	int len;

	len = snprintf(line, sizeof(line), "%s: %s: ", log_state.program, level_names[level]);
	if (len < 0 || len >= LOG_LINE_MAX)
		return;
	va_start(ap, fmt);
	if (vsnprintf(line + len, sizeof(line) - (size_t)len - 1, fmt, ap) < 0)
		line[len] = 0;
	va_end(ap);
	make_printable(line);
	if (log_state.sink) {
		log_state.sink(log_state.sink_priv, level, line);
		return;
	}
	len = (int)strlen(line);
	line[len++] = '\n';
	/* Nobody could be told of a failure. */
	if (write(STDERR_FILENO, line, (size_t)len) < 0)
		return;
}

bool log_limit_ok(struct log_limit *limit)
{
	struct timespec ts;
	u64 now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	now = (u64)ts.tv_sec * NSEC_PER_SEC + (u64)ts.tv_nsec;
	if (!limit->begin_ns || now - limit->begin_ns > LOG_LIMIT_INTERVAL_NS) {
		if (limit->missed)
			log_write(LOG_LVL_WARN, "%u similar messages suppressed", limit->missed);
		limit->begin_ns = now;
		limit->printed = 0;
		limit->missed = 0;
	}
	if (limit->printed < LOG_LIMIT_BURST) {
		limit->printed++;
		return true;
	}
	limit->missed++;
	return false;
}
