/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A device that records what reaches it, a server for it, and a VMM in the same thread. */
#ifndef TESTS_UNIT_VFU_FAKE_DEV_H
#define TESTS_UNIT_VFU_FAKE_DEV_H

#include "base/loop.h"
#include "vfu/vfu.h"
#include "vfu_client.h"

#define FAKE_BAR0_SIZE 0x4000
#define FAKE_BAR2_SIZE 0x100000
#define FAKE_BAR4_SIZE 0x4000
#define FAKE_PBA_OFF   0x2000
#define FAKE_VECTORS   40

struct fake_write {
	unsigned int bar;
	u64 off;
	unsigned int size;
	u64 val;
};

struct fake {
	struct loop *loop;
	struct vfu_dev *dev;
	struct vfu_client *c;
	int resets[4]; /* by kind */
	int attached, detached;
	int bm_on, bm_off;
	u32 n_reads, n_writes;
	struct fake_write last;
	struct fake_write log[256]; /* of writes, round robin */
	bool dma_at_reset; /* guest memory was reachable in the reset callback */
};

/* A server and an attached, started VMM. */
void fake_start(struct fake *f);
/* The same without any message sent. */
void fake_connect(struct fake *f);
void fake_reconnect(struct fake *f);
void fake_end(struct fake *f);
/* Run the server until it has nothing to do. */
void fake_run(struct fake *f);
/* Number of this process's open descriptors. */
int count_fds(void);

#endif /* TESTS_UNIT_VFU_FAKE_DEV_H */
