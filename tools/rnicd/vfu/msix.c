// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * MSI-X. The table that counts lives in QEMU, masks included; here are the
 * eventfds it attached and what could not be delivered yet. The own table
 * only keeps what is written to it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <linux/pci_regs.h>

#include "vfu/internal.h"

int vfu_msix_init(struct vfu_dev *dev)
{
	unsigned int n = dev->cfg.msix_vectors, i;

	dev->msix.efd = malloc(n * sizeof(int));
	dev->msix.pending = calloc(BITS_TO_U64(n), sizeof(u64));
	dev->msix.table = malloc(n * VFU_MSIX_ENTRY);
	if (!dev->msix.efd || !dev->msix.pending || !dev->msix.table)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		dev->msix.efd[i] = -1;
	vfu_msix_reset(dev);
	return 0;
}

void vfu_msix_free(struct vfu_dev *dev)
{
	if (dev->msix.efd)
		vfu_msix_drop_fds(dev);
	free(dev->msix.efd);
	free(dev->msix.pending);
	free(dev->msix.table);
}

/*
 * Eventfds stay: they are the VMM's wiring, and after an FLR a guest restores
 * its MSI-X state without QEMU attaching them anew.
 */
void vfu_msix_reset(struct vfu_dev *dev)
{
	unsigned int n = dev->cfg.msix_vectors, i;

	memset(dev->msix.pending, 0, BITS_TO_U64(n) * sizeof(u64));
	memset(dev->msix.table, 0, n * VFU_MSIX_ENTRY);
	for (i = 0; i < n; i++)
		dev->msix.table[i * VFU_MSIX_ENTRY + PCI_MSIX_ENTRY_VECTOR_CTRL] =
			PCI_MSIX_ENTRY_CTRL_MASKBIT;
}

void vfu_msix_drop_fds(struct vfu_dev *dev)
{
	unsigned int i;

	for (i = 0; i < dev->cfg.msix_vectors; i++)
		vfu_msix_set_fd(dev, i, -1);
}

static bool may_deliver(const struct vfu_dev *dev)
{
	return dev->bus_master && pci_msix_on(&dev->pci) && !pci_msix_masked(&dev->pci);
}

/* A full counter means that a signal is pending anyway. */
static void signal_fd(struct vfu_dev *dev, unsigned int vector)
{
	u64 one = 1;

	if (write(dev->msix.efd[vector], &one, sizeof(one)) == sizeof(one))
		dev->stats.msix_sent++;
}

static bool try_deliver(struct vfu_dev *dev, unsigned int vector)
{
	if (dev->msix.efd[vector] < 0 || !may_deliver(dev))
		return false;
	bit_clear(dev->msix.pending, vector);
	signal_fd(dev, vector);
	return true;
}

bool vfu_msix_raise(struct vfu_dev *dev, unsigned int vector)
{
	if (vector >= dev->cfg.msix_vectors) {
		dev->stats.bad_accesses++;
		return false;
	}
	if (try_deliver(dev, vector))
		return true;
	bit_set(dev->msix.pending, vector);
	dev->stats.msix_pended++;
	return false;
}

void vfu_msix_flush(struct vfu_dev *dev)
{
	unsigned int i, w, words = (unsigned int)BITS_TO_U64(dev->cfg.msix_vectors);

	if (!may_deliver(dev))
		return;
	for (w = 0; w < words; w++) {
		u64 left = dev->msix.pending[w];

		for (; left; left &= left - 1) {
			i = w * 64 + (unsigned int)__builtin_ctzll(left);
			try_deliver(dev, i);
		}
	}
}

void vfu_msix_force(struct vfu_dev *dev, unsigned int vector)
{
	if (dev->msix.efd[vector] >= 0)
		signal_fd(dev, vector);
}

void vfu_msix_set_fd(struct vfu_dev *dev, unsigned int vector, int fd)
{
	int flags;

	if (dev->msix.efd[vector] >= 0)
		close(dev->msix.efd[vector]);
	dev->msix.efd[vector] = fd;
	if (fd < 0)
		return;
	/* A counter that is full must not stop the device. */
	flags = fcntl(fd, F_GETFL);
	if (flags >= 0 && !(flags & O_NONBLOCK))
		fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	if (bit_test(dev->msix.pending, vector))
		try_deliver(dev, vector);
}

/* ---- table and PBA as memory ---- */

static u64 table_size(const struct vfu_dev *dev)
{
	return (u64)dev->cfg.msix_vectors * VFU_MSIX_ENTRY;
}

static u64 pba_size(const struct vfu_dev *dev)
{
	return BITS_TO_U64(dev->cfg.msix_vectors) * sizeof(u64);
}

static bool in_table(const struct vfu_dev *dev, u64 off)
{
	return off - dev->cfg.msix_table_off < table_size(dev);
}

static bool in_pba(const struct vfu_dev *dev, u64 off)
{
	return off - dev->cfg.msix_pba_off < pba_size(dev);
}

bool vfu_msix_owns(const struct vfu_dev *dev, u32 bar, u64 off)
{
	return bar == dev->cfg.msix_bar && (in_table(dev, off) || in_pba(dev, off));
}

/* Only aligned 4- and 8-byte accesses are defined (PCI 3.0, section 6.8.2). */
static bool access_ok(struct vfu_dev *dev, unsigned int size)
{
	if (size >= 4)
		return true;
	dev->stats.bad_accesses++;
	return false;
}

u64 vfu_msix_mmio_read(struct vfu_dev *dev, u64 off, unsigned int size)
{
	const u8 *p;

	if (!access_ok(dev, size))
		return UINT64_MAX;
	if (in_pba(dev, off)) {
		off -= dev->cfg.msix_pba_off;
		return dev->msix.pending[off / 8] >> (off % 8 * 8);
	}
	p = dev->msix.table + (off - dev->cfg.msix_table_off);
	return size == 4 ? get_le32(p) : get_le64(p);
}

static void table_write(u8 *p, u64 off, u32 val)
{
	switch (off % VFU_MSIX_ENTRY) {
	case PCI_MSIX_ENTRY_LOWER_ADDR:
		val &= ~3u;
		break;
	case PCI_MSIX_ENTRY_VECTOR_CTRL:
		val &= PCI_MSIX_ENTRY_CTRL_MASKBIT;
		break;
	}
	put_le32(p + off, val);
}

void vfu_msix_mmio_write(struct vfu_dev *dev, u64 off, unsigned int size, u64 val)
{
	/* The PBA is read-only. */
	if (!access_ok(dev, size) || in_pba(dev, off))
		return;
	off -= dev->cfg.msix_table_off;
	table_write(dev->msix.table, off, (u32)val);
	if (size == 8)
		table_write(dev->msix.table, off + 4, (u32)(val >> 32));
}

unsigned int vfu_msix_count(const struct vfu_dev *dev)
{
	return dev->cfg.msix_vectors;
}

bool vfu_msix_enabled(const struct vfu_dev *dev)
{
	return pci_msix_on(&dev->pci);
}
