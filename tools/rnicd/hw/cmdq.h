/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command queue: reads commands, has them executed, writes completions. */
#ifndef RNICD_HW_CMDQ_H
#define RNICD_HW_CMDQ_H

#include "hw/dev.h"

int cmdq_init(struct rnic *dev);
void cmdq_free(struct rnic *dev);
void cmdq_reset(struct rnic *dev);
/* Are the registers good enough to start? */
bool cmdq_config_ok(const struct rnic *dev);
/* CMDQ_TAIL was written. */
void cmdq_tail(struct rnic *dev, u32 tail);
/* Execute what waits; for the fault "stuck command" when it is over. */
void cmdq_run(struct rnic *dev);
/* Run one command given as our own copy; for cmdq_run() and fuzzers. */
struct cmd_ret cmdq_exec(struct rnic *dev, const void *cmd);

#endif /* RNICD_HW_CMDQ_H */
