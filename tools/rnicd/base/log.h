/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages for the person who runs the device: one line each on stderr,
 * "program: level: text". Text that a guest or a peer can provoke goes through
 * the _ratelimited forms, else they could fill a disk.
 */
#ifndef RNICD_BASE_LOG_H
#define RNICD_BASE_LOG_H

#include <stdarg.h>

#include "base/util.h"

enum log_level {
	LOG_LVL_ERR,
	LOG_LVL_WARN,
	LOG_LVL_INFO,
	LOG_LVL_DEBUG,
};

/* At most @burst messages in @interval_ms from one place. */
struct log_limit {
	u64 begin_ns;
	u32 printed;
	u32 missed;
};

#define LOG_LIMIT_BURST	      10
#define LOG_LIMIT_INTERVAL_NS (5 * NSEC_PER_SEC)

/* @name is kept, not copied. */
void log_set_program(const char *name);
void log_set_level(enum log_level level);
enum log_level log_get_level(void);
/* "error", "warning", "info", "debug"; -EINVAL if it is none of these. */
int log_parse_level(const char *name, enum log_level *level);
/* Where complete lines go instead of stderr; NULL restores stderr. For tests. */
void log_set_sink(void (*sink)(void *priv, enum log_level level, const char *line), void *priv);

void log_write(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool log_limit_ok(struct log_limit *limit);

#define log_at(level, ...)                             \
	do {                                           \
		if ((level) <= log_get_level())        \
			log_write(level, __VA_ARGS__); \
	} while (0)

#define log_at_ratelimited(level, ...)                                           \
	do {                                                                     \
		static struct log_limit log_limit_here;                          \
		if ((level) <= log_get_level() && log_limit_ok(&log_limit_here)) \
			log_write(level, __VA_ARGS__);                           \
	} while (0)

#define log_err(...)   log_at(LOG_LVL_ERR, __VA_ARGS__)
#define log_warn(...)  log_at(LOG_LVL_WARN, __VA_ARGS__)
#define log_info(...)  log_at(LOG_LVL_INFO, __VA_ARGS__)
#define log_debug(...) log_at(LOG_LVL_DEBUG, __VA_ARGS__)

#define log_err_ratelimited(...)   log_at_ratelimited(LOG_LVL_ERR, __VA_ARGS__)
#define log_warn_ratelimited(...)  log_at_ratelimited(LOG_LVL_WARN, __VA_ARGS__)
#define log_info_ratelimited(...)  log_at_ratelimited(LOG_LVL_INFO, __VA_ARGS__)
#define log_debug_ratelimited(...) log_at_ratelimited(LOG_LVL_DEBUG, __VA_ARGS__)

#endif /* RNICD_BASE_LOG_H */
