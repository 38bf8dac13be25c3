// SPDX-License-Identifier: GPL-2.0-or-later
/* The PCI function as a VMM and a guest's driver see it: all through the socket. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <linux/pci_regs.h>

#include "fake_dev.h"

#define CFG VC_REGION_CONFIG

static struct fake f;

static int setup(void **state)
{
	fake_start(&f);
	return 0;
}

static int teardown(void **state)
{
	fake_end(&f);
	return 0;
}

static void test_identity(void **state)
{
	u8 all[4096], one;
	unsigned int i;

	assert_int_equal(vc_read32(f.c, CFG, PCI_VENDOR_ID), 0x0e571234);
	assert_int_equal(vc_read32(f.c, CFG, PCI_CLASS_REVISION), 0x02000001);
	assert_int_equal(vc_read32(f.c, CFG, PCI_SUBSYSTEM_VENDOR_ID), 0x11001af4);
	assert_int_equal(vc_read8(f.c, CFG, PCI_HEADER_TYPE), 0);
	assert_int_equal(vc_read8(f.c, CFG, PCI_INTERRUPT_PIN), 0);
	assert_int_equal(vc_read16(f.c, CFG, PCI_STATUS), PCI_STATUS_CAP_LIST);
	/* QEMU reads it all at once; single bytes say the same. */
	assert_int_equal(vc_read(f.c, CFG, 0, all, sizeof(all)), 0);
	for (i = 0; i < sizeof(all); i += 7) {
		assert_int_equal(vc_read(f.c, CFG, i, &one, 1), 0);
		assert_int_equal(one, all[i]);
	}
	assert_int_equal(vc_region_size(f.c, 0), FAKE_BAR0_SIZE);
	assert_int_equal(vc_region_size(f.c, 1), 0);
	assert_int_equal(vc_region_size(f.c, 2), FAKE_BAR2_SIZE);
	assert_int_equal(vc_region_size(f.c, 3), 0);
	assert_int_equal(vc_region_size(f.c, 6), 0);
	assert_int_equal(vc_region_size(f.c, 7), 4096);
	assert_int_equal(vc_region_size(f.c, 8), 0);
}

static u32 size_bar(unsigned int bar)
{
	vc_write32(f.c, CFG, PCI_BASE_ADDRESS_0 + 4 * bar, 0xffffffff);
	return vc_read32(f.c, CFG, PCI_BASE_ADDRESS_0 + 4 * bar);
}

static void test_bars(void **state)
{
	assert_int_equal(size_bar(0), ~(FAKE_BAR0_SIZE - 1u));
	assert_int_equal(size_bar(1), 0);
	assert_int_equal(size_bar(2), ~(FAKE_BAR2_SIZE - 1u) | 0xc);
	assert_int_equal(size_bar(3), 0xffffffff);
	assert_int_equal(size_bar(4), ~(FAKE_BAR4_SIZE - 1u));
	vc_write32(f.c, CFG, PCI_ROM_ADDRESS, 0xfffff800);
	assert_int_equal(vc_read32(f.c, CFG, PCI_ROM_ADDRESS), 0);
}

/* Walks both lists: each capability once, in bounds, none unknown. */
static void test_capabilities(void **state)
{
	unsigned int exp = vc_find_cap(f.c, PCI_CAP_ID_EXP), dsn;
	unsigned int msix = vc_find_cap(f.c, PCI_CAP_ID_MSIX);
	unsigned int pm = vc_find_cap(f.c, PCI_CAP_ID_PM);

	assert_true(exp && msix && pm);
	assert_int_equal(vc_find_cap(f.c, PCI_CAP_ID_MSI), 0);
	assert_int_equal(vc_read16(f.c, CFG, exp + PCI_EXP_FLAGS), 2);
	assert_true(vc_read32(f.c, CFG, exp + PCI_EXP_DEVCAP) & PCI_EXP_DEVCAP_FLR);
	assert_int_equal(vc_read16(f.c, CFG, exp + PCI_EXP_LNKSTA) & 0x3f0, 8 << 4);
	assert_int_equal(vc_read16(f.c, CFG, msix + PCI_MSIX_FLAGS), FAKE_VECTORS - 1);
	assert_int_equal(vc_read32(f.c, CFG, msix + PCI_MSIX_TABLE), 4);
	assert_int_equal(vc_read32(f.c, CFG, msix + PCI_MSIX_PBA), FAKE_PBA_OFF | 4);
	assert_true(vc_read16(f.c, CFG, pm + PCI_PM_CTRL) & PCI_PM_CTRL_NO_SOFT_RESET);
	assert_int_equal(vc_find_ext_cap(f.c, PCI_EXT_CAP_ID_ERR), 0x100);
	dsn = vc_find_ext_cap(f.c, PCI_EXT_CAP_ID_DSN);
	assert_true(dsn > 0x100);
	/* EUI-64 of 52:54:00:12:34:56, low half first. */
	assert_int_equal(vc_read32(f.c, CFG, dsn + 4), 0xfe123456);
	assert_int_equal(vc_read32(f.c, CFG, dsn + 8), 0x525400ff);
}

/* Ones and zeros into each byte: identity, capabilities and reserved bits stay. */
static void test_read_only(void **state)
{
	u8 before[4096], after[4096], val;
	unsigned int off, changed = 0;

	assert_int_equal(vc_read(f.c, CFG, 0, before, sizeof(before)), 0);
	for (off = 0; off < 4096; off++) {
		/* The FLR bit would undo what was written before. */
		if (off == vc_find_cap(f.c, PCI_CAP_ID_EXP) + PCI_EXP_DEVCTL + 1)
			continue;
		val = 0xff;
		assert_int_equal(vc_write(f.c, CFG, off, &val, 1), 0);
	}
	assert_int_equal(vc_read(f.c, CFG, 0, after, sizeof(after)), 0);
	for (off = 0; off < 4096; off++)
		changed += before[off] != after[off];
	assert_memory_equal(before, after, 4); /* vendor, device */
	assert_int_equal(get_le16(after + PCI_COMMAND), 0x546); /* MEM, BME, PARITY, SERR, INTX */
	assert_memory_equal(before + PCI_STATUS, after + PCI_STATUS, 6);
	assert_memory_equal(before + PCI_SUBSYSTEM_VENDOR_ID, after + PCI_SUBSYSTEM_VENDOR_ID, 8);
	assert_int_equal(after[PCI_INTERRUPT_LINE], 0xff);
	assert_int_equal(after[PCI_INTERRUPT_PIN], 0);
	assert_memory_equal(before + 0x150, after + 0x150, 4096 - 0x150);
	print_message("%u of 4096 bytes have writable bits\n", changed);
	assert_int_equal(vc_device_reset(f.c), 0);
	assert_int_equal(vc_read(f.c, CFG, 0, after, sizeof(after)), 0);
	assert_memory_equal(before, after, sizeof(after));
}

static void test_bar_access(void **state)
{
	static const u32 sizes[] = {1, 2, 4, 8};
	const struct vfu_stats *st = vfu_stats(f.dev);
	u8 buf[32];
	u64 bad;
	size_t i;

	assert_int_equal(vc_read32(f.c, 0, 0x10), 0x10);
	assert_true(vc_read64(f.c, 2, 0x8000) == 0xa0b0c0d200008000ULL);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		u64 val = 0x1122334455667788ULL, want = val;

		if (sizes[i] < 8)
			want &= (1ULL << (8 * sizes[i])) - 1;
		assert_int_equal(vc_write(f.c, 0, FAKE_BAR0_SIZE - 8, &val, sizes[i]), 0);
		assert_int_equal(f.last.bar, 0);
		assert_int_equal(f.last.off, FAKE_BAR0_SIZE - 8);
		assert_int_equal(f.last.size, sizes[i]);
		assert_true(f.last.val == want);
	}
	/* Misaligned, odd sizes, out of range: all-ones, ignored, counted. */
	bad = st->bad_accesses;
	f.n_reads = 0;
	f.n_writes = 0;
	static const struct {
		u64 off;
		u32 count;
	} wrong[] = {{1, 2},
		     {2, 4},
		     {4, 8},
		     {0, 3},
		     {0, 5},
		     {0, 16},
		     {0, 32},
		     {FAKE_BAR0_SIZE, 4},
		     {FAKE_BAR0_SIZE - 4, 8},
		     {UINT64_MAX - 3, 4},
		     {UINT64_MAX - 7, 8},
		     {1ULL << 40, 4}};
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		u32 k;

		memset(buf, 0, sizeof(buf));
		assert_int_equal(vc_read(f.c, 0, wrong[i].off, buf, wrong[i].count), 0);
		for (k = 0; k < wrong[i].count; k++)
			assert_int_equal(buf[k], 0xff);
		assert_int_equal(vc_write(f.c, 0, wrong[i].off, buf, wrong[i].count), 0);
	}
	assert_int_equal(st->bad_accesses - bad, 2 * ARRAY_SIZE(wrong));
	assert_int_equal(f.n_reads, 0);
	assert_int_equal(f.n_writes, 0);
	/* Regions that do not exist are an error. */
	for (i = 0; i < 12; i++) {
		if (vc_region_size(f.c, (unsigned int)i))
			continue;
		assert_int_equal(vc_read(f.c, (unsigned int)i, 0, buf, 4), -EINVAL);
		assert_int_equal(vc_write(f.c, (unsigned int)i, 0, buf, 4), -EINVAL);
	}
	assert_int_equal(vc_read(f.c, UINT32_MAX, 0, buf, 4), -EINVAL);
	/* Configuration space ends. */
	assert_int_equal(vc_read(f.c, CFG, 4094, buf, 4), 0);
	assert_int_equal(get_le32(buf), 0xffffffff);
}

static void test_posted(void **state)
{
	struct vc_write_one w[200];
	u64 posted = vfu_stats(f.dev)->posted_writes;
	u32 i;

	/* In order, and before the read that follows. */
	for (i = 0; i < 100; i++)
		vc_write64(f.c, 2, 8 * i, i + 1);
	assert_int_equal(vc_read32(f.c, 0, 0), 0);
	assert_int_equal(f.n_writes, 100);
	for (i = 0; i < 100; i++)
		assert_int_equal(f.log[i].val, i + 1);
	assert_int_equal(vfu_stats(f.dev)->posted_writes - posted, 100);
	f.n_writes = 0;
	for (i = 0; i < 200; i++)
		w[i] = (struct vc_write_one){.region = 2, .count = 8, .off = 8 * i, .val = i * 3};
	assert_int_equal(vc_write_multi(f.c, w, 200), 0);
	assert_int_equal(vc_read32(f.c, 0, 0), 0);
	assert_int_equal(f.n_writes, 200);
	for (i = 0; i < 200; i++) {
		assert_int_equal(f.log[i].val, i * 3);
		assert_int_equal(f.log[i].off, 8 * i);
	}
}

static void test_bus_master(void **state)
{
	struct dma_space *dma = vfu_dma(f.dev);

	assert_int_equal(vc_ram_add(f.c, 0x100000, 0x10000), 0);
	assert_null(dma_ptr(dma, 0x100000, 8, DMA_PROT_RW));
	assert_int_equal(vc_pci_enable(f.c, true), 0);
	assert_int_equal(f.bm_on, 1);
	assert_non_null(dma_ptr(dma, 0x100000, 8, DMA_PROT_RW));
	assert_int_equal(dma_write(dma, 0x100010, "hello", 5), 0);
	assert_memory_equal(vc_ram(f.c, 0x100010, 5), "hello", 5);
	assert_int_equal(vc_pci_enable(f.c, false), 0);
	assert_int_equal(f.bm_off, 1);
	assert_null(dma_ptr(dma, 0x100000, 8, DMA_PROT_RW));
	/* In D3hot there is no bus mastering either, and it comes back with D0. */
	assert_int_equal(vc_pci_enable(f.c, true), 0);
	assert_int_equal(vc_set_power(f.c, 3), 0);
	assert_null(dma_ptr(dma, 0x100000, 8, DMA_PROT_RW));
	assert_int_equal(vc_set_power(f.c, 0), 0);
	assert_non_null(dma_ptr(dma, 0x100000, 8, DMA_PROT_RW));
	assert_int_equal(f.resets[VFU_RESET_FLR] + f.resets[VFU_RESET_DEVICE], 0);
}

static void test_power(void **state)
{
	unsigned int pm = vc_find_cap(f.c, PCI_CAP_ID_PM);

	assert_int_equal(vc_set_power(f.c, 3), 0);
	assert_int_equal(vc_read16(f.c, CFG, pm + PCI_PM_CTRL) & 3, 3);
	f.n_writes = 0;
	assert_int_equal(vc_read32(f.c, 0, 0), 0xffffffff);
	vc_write32(f.c, 0, 0, 1);
	assert_int_equal(vc_read32(f.c, CFG, 0), 0x0e571234);
	assert_int_equal(f.n_writes, 0);
	assert_int_equal(vfu_stats(f.dev)->pm_accesses, 2);
	/* D1 and D2 are not there: the state stays. */
	assert_int_equal(vc_set_power(f.c, 1), 0);
	assert_int_equal(vc_read16(f.c, CFG, pm + PCI_PM_CTRL) & 3, 3);
	assert_int_equal(vc_set_power(f.c, 0), 0);
	assert_int_equal(vc_set_power(f.c, 2), 0);
	assert_int_equal(vc_read16(f.c, CFG, pm + PCI_PM_CTRL) & 3, 0);
	assert_int_equal(vc_read32(f.c, 0, 4), 4);
}

static void test_msix(void **state)
{
	unsigned int cap = vc_find_cap(f.c, PCI_CAP_ID_MSIX), i;

	/* Not enabled: kept pending, seen in the PBA, delivered once when it can be. */
	assert_false(vfu_msix_raise(f.dev, 3));
	assert_false(vfu_msix_raise(f.dev, 3));
	assert_int_equal(vc_read64(f.c, 4, FAKE_PBA_OFF), 8);
	assert_int_equal(vc_pci_enable(f.c, true), 0);
	assert_int_equal(vc_msix_enable(f.c, FAKE_VECTORS), 0);
	assert_int_equal(vc_msix_wait(f.c, 3, 100), 1);
	assert_int_equal(vc_read64(f.c, 4, FAKE_PBA_OFF), 0);
	for (i = 0; i < FAKE_VECTORS; i++) {
		assert_true(vfu_msix_raise(f.dev, i));
		assert_int_equal(vc_msix_wait(f.c, i, 100), 1);
		assert_int_equal(vc_msix_wait(f.c, (i + 1) % FAKE_VECTORS, 0), 0);
	}
	assert_false(vfu_msix_raise(f.dev, FAKE_VECTORS));
	assert_false(vfu_msix_raise(f.dev, UINT32_MAX));
	/* Function mask. */
	vc_write16(f.c, CFG, cap + PCI_MSIX_FLAGS, PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
	assert_false(vfu_msix_raise(f.dev, 39));
	assert_int_equal(vc_msix_wait(f.c, 39, 0), 0);
	assert_true(vc_read64(f.c, 4, FAKE_PBA_OFF) == 1ULL << 39);
	assert_int_equal(vc_read32(f.c, 4, FAKE_PBA_OFF + 4), 0x80);
	vc_write16(f.c, CFG, cap + PCI_MSIX_FLAGS, PCI_MSIX_FLAGS_ENABLE);
	assert_int_equal(vc_msix_wait(f.c, 39, 100), 1);
	/* Interrupts are memory writes: without bus mastering there are none. */
	assert_int_equal(vc_pci_enable(f.c, false), 0);
	assert_false(vfu_msix_raise(f.dev, 0));
	assert_int_equal(vc_msix_wait(f.c, 0, 0), 0);
	assert_int_equal(vc_pci_enable(f.c, true), 0);
	assert_int_equal(vc_msix_wait(f.c, 0, 100), 1);
	assert_int_equal(vc_msix_disable(f.c), 0);
	assert_false(vfu_msix_raise(f.dev, 1));
}

static void test_msix_table(void **state)
{
	u64 off;

	/* After reset every vector is masked, the rest is zero. */
	for (off = 0; off < FAKE_VECTORS * 16; off += 16) {
		assert_true(vc_read64(f.c, 4, off) == 0);
		assert_true(vc_read64(f.c, 4, off + 8) == 1ULL << 32);
	}
	vc_write64(f.c, 4, 32, 0xfee0000012345677ULL);
	assert_true(vc_read64(f.c, 4, 32) == 0xfee0000012345674ULL);
	vc_write32(f.c, 4, 40, 0xffffffff);
	vc_write32(f.c, 4, 44, 0xfffffffe);
	assert_true(vc_read64(f.c, 4, 40) == 0xffffffffULL);
	/* The PBA is read-only; bytes and words are no defined accesses. */
	vc_write64(f.c, 4, FAKE_PBA_OFF, UINT64_MAX);
	assert_true(vc_read64(f.c, 4, FAKE_PBA_OFF) == 0);
	assert_int_equal(vc_read16(f.c, 4, 0), 0xffff);
	assert_int_equal(vc_read8(f.c, 4, FAKE_PBA_OFF), 0xff);
	/* Behind them the BAR belongs to the device. */
	assert_int_equal(vc_read32(f.c, 4, FAKE_VECTORS * 16), FAKE_VECTORS * 16);
	assert_int_equal(vc_read32(f.c, 4, FAKE_PBA_OFF + 8), FAKE_PBA_OFF + 8);
}

static void test_flr(void **state)
{
	unsigned int exp = vc_find_cap(f.c, PCI_CAP_ID_EXP);
	u16 ctl = vc_read16(f.c, CFG, exp + PCI_EXP_DEVCTL);

	assert_int_equal(vc_pci_enable(f.c, true), 0);
	assert_int_equal(vc_msix_enable(f.c, 4), 0);
	vc_write32(f.c, CFG, PCI_BASE_ADDRESS_0, 0xfe000000);
	vc_write16(f.c, CFG, exp + PCI_EXP_DEVCTL, (u16)(0x20 | (ctl & ~0xe0)));
	vc_write32(f.c, CFG, 0x100 + PCI_ERR_UNCOR_MASK, 0x1000);
	vfu_msix_raise(f.dev, 1);
	assert_int_equal(vc_flr(f.c), 0);
	assert_int_equal(f.resets[VFU_RESET_FLR], 1);
	assert_false(f.dma_at_reset);
	assert_int_equal(vc_read16(f.c, CFG, PCI_COMMAND), 0);
	assert_int_equal(vc_read32(f.c, CFG, PCI_BASE_ADDRESS_0), 0);
	assert_false(vfu_msix_enabled(f.dev));
	/* Payload size and sticky registers survive (PCIe Base 6.6.2); the bit itself reads 0. */
	assert_int_equal(vc_read16(f.c, CFG, exp + PCI_EXP_DEVCTL) & 0x80e0, 0x20);
	assert_int_equal(vc_read32(f.c, CFG, 0x100 + PCI_ERR_UNCOR_MASK), 0x1000);
	/* The guest restores its configuration; the VMM's eventfds are still attached. */
	assert_int_equal(vc_pci_enable(f.c, true), 0);
	vc_write16(f.c, CFG, vc_find_cap(f.c, PCI_CAP_ID_MSIX) + PCI_MSIX_FLAGS,
		   PCI_MSIX_FLAGS_ENABLE);
	assert_int_equal(vc_msix_wait(f.c, 0, 0), 0);
	assert_true(vfu_msix_raise(f.dev, 2));
	assert_int_equal(vc_msix_wait(f.c, 2, 100), 1);
	/* A machine reset clears sticky registers too. */
	assert_int_equal(vc_device_reset(f.c), 0);
	assert_int_equal(f.resets[VFU_RESET_DEVICE], 1);
	assert_int_equal(vc_read32(f.c, CFG, 0x100 + PCI_ERR_UNCOR_MASK), 0);
}

static void test_removed(void **state)
{
	unsigned int exp = vc_find_cap(f.c, PCI_CAP_ID_EXP);

	assert_int_equal(vc_pci_enable(f.c, true), 0);
	assert_int_equal(vc_msix_enable(f.c, 4), 0);
	vfu_set_removed(f.dev, true);
	assert_int_equal(f.resets[VFU_RESET_REMOVED], 1);
	assert_int_equal(vc_read32(f.c, 0, 0), 0xffffffff);
	assert_int_equal(vc_read32(f.c, CFG, 0), 0xffffffff);
	f.n_writes = 0;
	vc_write32(f.c, 0, 0, 1);
	vc_write16(f.c, CFG, exp + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_BCR_FLR);
	assert_int_equal(f.n_writes, 0);
	vc_write16(f.c, CFG, PCI_COMMAND, PCI_COMMAND_MASTER);
	assert_int_equal(f.resets[VFU_RESET_FLR], 0);
	assert_false(dma_enabled(vfu_dma(f.dev)));
	vfu_set_removed(f.dev, true);
	assert_int_equal(f.resets[VFU_RESET_REMOVED], 1);
	/* It comes back as after power on, whatever was written in between. */
	vfu_set_removed(f.dev, false);
	assert_int_equal(f.resets[VFU_RESET_REMOVED], 1);
	assert_int_equal(vc_read32(f.c, CFG, 0), 0x0e571234);
	assert_int_equal(vc_read16(f.c, CFG, PCI_COMMAND), 0);
	assert_false(dma_enabled(vfu_dma(f.dev)));
	assert_false(vfu_msix_enabled(f.dev));
	assert_int_equal(vc_pci_enable(f.c, true), 0);
	assert_true(dma_enabled(vfu_dma(f.dev)));
	assert_int_equal(vc_msix_enable(f.c, 4), 0);
	assert_true(vfu_msix_raise(f.dev, 2));
	assert_int_equal(vc_msix_wait(f.c, 2, 100), 1);
}

static void test_bad_config(void **state)
{
	struct vfu_cfg cfg = {.msix_vectors = 8, .msix_bar = 0, .msix_pba_off = 0x800};
	static const struct vfu_ops ops;

	errno = 0;
	assert_null(vfu_new(f.loop, &cfg, &ops, NULL)); /* MSI-X BAR absent */
	assert_int_equal(errno, EINVAL);
	cfg.bar[0].size = 5000;
	assert_null(vfu_new(f.loop, &cfg, &ops, NULL));
	cfg.bar[0].size = 8192;
	cfg.msix_pba_off = 64; /* overlaps the table */
	assert_null(vfu_new(f.loop, &cfg, &ops, NULL));
	cfg.msix_pba_off = 8192;
	assert_null(vfu_new(f.loop, &cfg, &ops, NULL));
	cfg.msix_pba_off = 4096;
	cfg.msix_vectors = 2049;
	assert_null(vfu_new(f.loop, &cfg, &ops, NULL));
	cfg.msix_vectors = 8;
	cfg.bar[5] = (struct vfu_bar_cfg){.size = 4096, .is64 = true};
	assert_null(vfu_new(f.loop, &cfg, &ops, NULL));
	cfg.bar[5].size = 0;
	cfg.bar[2] = (struct vfu_bar_cfg){.size = 4096, .is64 = true};
	cfg.bar[3].size = 4096;
	assert_null(vfu_new(f.loop, &cfg, &ops, NULL));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_identity),   T(test_bars),	T(test_capabilities), T(test_read_only),
		T(test_bar_access), T(test_posted),	T(test_bus_master),   T(test_power),
		T(test_msix),	    T(test_msix_table), T(test_flr),	      T(test_removed),
		T(test_bad_config),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
