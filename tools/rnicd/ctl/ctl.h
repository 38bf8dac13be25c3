/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control socket: a person or a test looks into the device and asks for
 * faults. Commands are lines; an answer is lines of text, the last of which is
 * "ok" or begins with "error: ". `help` lists the commands.
 */
#ifndef RNICD_CTL_CTL_H
#define RNICD_CTL_CTL_H

#include <stdio.h>

#include "hw/dev.h"

struct ctl;

/* A stream socket at @path, for its owner only. NULL with errno set; -EADDRINUSE when somebody
 * listens there. */
struct ctl *ctl_new(struct rnic *dev, const char *path);
/* Removes the socket, ends a capture. */
void ctl_free(struct ctl *ctl);

/* Executes one command line and writes the answer. For ctl.c and tests. */
void ctl_command(struct ctl *ctl, char *line, FILE *out);

#endif /* RNICD_CTL_CTL_H */
