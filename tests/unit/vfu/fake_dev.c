// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <cmocka.h>

#include "base/log.h"
#include "fake_dev.h"

/* Reads answer something that names bar and offset. */
static u64 fake_read(void *priv, unsigned int bar, u64 off, unsigned int size)
{
	struct fake *f = priv;

	f->n_reads++;
	return 0xa0b0c0d000000000ULL | (u64)bar << 32 | off;
}

static void fake_write(void *priv, unsigned int bar, u64 off, unsigned int size, u64 val)
{
	struct fake *f = priv;

	f->last = (struct fake_write){bar, off, size, val};
	f->log[f->n_writes++ % ARRAY_SIZE(f->log)] = f->last;
}

static void fake_reset(void *priv, enum vfu_reset kind)
{
	struct fake *f = priv;

	f->resets[kind]++;
	f->dma_at_reset = dma_enabled(vfu_dma(f->dev));
	/* What a device raises while it goes down must not come out later. */
	vfu_msix_raise(f->dev, 0);
}

static void fake_bus_master(void *priv, bool on)
{
	struct fake *f = priv;

	if (on)
		f->bm_on++;
	else
		f->bm_off++;
}

static void fake_attached(void *priv, bool on)
{
	struct fake *f = priv;

	if (on)
		f->attached++;
	else
		f->detached++;
}

static const struct vfu_ops fake_ops = {
	.bar_read = fake_read,
	.bar_write = fake_write,
	.reset = fake_reset,
	.bus_master = fake_bus_master,
	.attached = fake_attached,
};

static const struct vfu_cfg fake_cfg = {
	.vendor_id = 0x1234,
	.device_id = 0x0e57,
	.subsys_vendor_id = 0x1af4,
	.subsys_id = 0x1100,
	.class_code = 0x020000,
	.revision = 1,
	.bar = {[0] = {.size = FAKE_BAR0_SIZE},
		[2] = {.size = FAKE_BAR2_SIZE, .is64 = true, .prefetch = true},
		[4] = {.size = FAKE_BAR4_SIZE}},
	.msix_vectors = FAKE_VECTORS,
	.msix_bar = 4,
	.msix_pba_off = FAKE_PBA_OFF,
	.mac = {0x52, 0x54, 0x00, 0x12, 0x34, 0x56},
	.max_dma_maps = 64,
};

static void pump(void *priv)
{
	struct fake *f = priv;

	loop_run_once(f->loop, 0);
}

void fake_run(struct fake *f)
{
	int idle = 0;

	while (idle < 3)
		idle = loop_run_once(f->loop, 0) > 0 ? 0 : idle + 1;
}

void fake_reconnect(struct fake *f)
{
	int sv[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
	assert_int_equal(vfu_attach_fd(f->dev, sv[1]), 0);
	f->c = vc_from_fd(sv[0]);
	assert_non_null(f->c);
	vc_set_timeout(f->c, 2000);
	vc_set_pump(f->c, pump, f);
}

void fake_connect(struct fake *f)
{
	memset(f, 0, sizeof(*f));
	log_set_level(LOG_LVL_ERR);
	f->loop = loop_new(NULL);
	assert_non_null(f->loop);
	f->dev = vfu_new(f->loop, &fake_cfg, &fake_ops, f);
	assert_non_null(f->dev);
	fake_reconnect(f);
}

void fake_start(struct fake *f)
{
	fake_connect(f);
	assert_int_equal(vc_start(f->c), 0);
}

void fake_end(struct fake *f)
{
	vc_close(f->c);
	vfu_free(f->dev);
	loop_free(f->loop);
}

int count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}
