// SPDX-License-Identifier: GPL-2.0-or-later
/* Registers, enable and reset, the command queue's rings, doorbells, VMMs that come and go. */
#include <linux/pci_regs.h>

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drv.h"

static u64 all_ones(unsigned int size)
{
	return size == 8 ? UINT64_MAX : (1ULL << size * 8) - 1;
}

static void identity(void)
{
	struct drv *d = drv_start(&(struct drv_opts){.mac_last = 0x2a, .no_enable = true});

	CHECK_EQ(drv_reg(d, ORNIC_REG_MAGIC), ORNIC_MAGIC);
	CHECK_EQ(drv_reg(d, ORNIC_REG_IFVER), ORNIC_IFVER_MAJOR_NOW << 16 | ORNIC_IFVER_MINOR_NOW);
	CHECK_EQ(drv_reg(d, ORNIC_REG_MAC_LO), 0x00000002);
	CHECK_EQ(drv_reg(d, ORNIC_REG_MAC_HI), 0x2a00);
	CHECK_EQ(vc_read64(d->c, ORNIC_BAR_REGS, ORNIC_REG_MAC_LO), 0x2a0000000002ULL);
	CHECK_EQ(drv_reg(d, ORNIC_REG_STATUS), ORNIC_STATUS_LINK);
	CHECK_EQ(drv_reg(d, ORNIC_REG_CONTROL), 0);
	CHECK_EQ(drv_reg(d, ORNIC_REG_CMDQ_TAIL), 0);
	CHECK(drv_reg(d, ORNIC_REG_VECTORS) >= 4 &&
	      drv_reg(d, ORNIC_REG_VECTORS) <= ORNIC_MAX_VECTORS);
	CHECK(d->db_stride >= 4096 && d->db_pages >= 2);
	CHECK_EQ(vc_region_size(d->c, ORNIC_BAR_REGS), ORNIC_BAR_REGS_SIZE);
	CHECK(vc_region_size(d->c, ORNIC_BAR_DB) >= (u64)d->db_stride * d->db_pages);
	CHECK_EQ(vc_read16(d->c, VC_REGION_CONFIG, 0), ORNIC_PCI_VENDOR_ID);
	CHECK_EQ(vc_read16(d->c, VC_REGION_CONFIG, 2), ORNIC_PCI_DEVICE_ID);
}

/* Read only registers, holes, wrong sizes. */
static void access_rules(void)
{
	static const u32 ro[] = {ORNIC_REG_MAGIC,  ORNIC_REG_IFVER,   ORNIC_REG_FWVER,
				 ORNIC_REG_STATUS, ORNIC_REG_CAPS_LO, ORNIC_REG_CAPS_HI,
				 ORNIC_REG_MAC_LO, ORNIC_REG_MAC_HI,  ORNIC_REG_DB_INFO,
				 ORNIC_REG_FATAL,  ORNIC_REG_VECTORS, ORNIC_REG_DB_REFUSED};
	struct drv *d = drv_start(&(struct drv_opts){.no_enable = true});
	u32 i, was;

	for (i = 0; i < ARRAY_SIZE(ro); i++) {
		was = drv_reg(d, ro[i]);
		drv_set_reg(d, ro[i], ~was);
		CHECK_EQ(drv_reg(d, ro[i]), was);
	}
	for (i = 0x50; i < ORNIC_BAR_REGS_SIZE; i += i < 0x100 ? 4 : 0x404) {
		drv_set_reg(d, i, 0x12345678);
		CHECK_EQ(drv_reg(d, i), 0);
	}
	CHECK_EQ(vc_read8(d->c, ORNIC_BAR_REGS, ORNIC_REG_MAGIC), all_ones(1));
	CHECK_EQ(vc_read16(d->c, ORNIC_BAR_REGS, ORNIC_REG_MAGIC), all_ones(2));
	CHECK_EQ(vc_read64(d->c, ORNIC_BAR_REGS, ORNIC_REG_MAGIC), all_ones(8));
	vc_write16(d->c, ORNIC_BAR_REGS, ORNIC_REG_CMDQ_CFG, 5);
	vc_write64(d->c, ORNIC_BAR_REGS, ORNIC_REG_CMDQ_CFG, 5);
	CHECK_EQ(drv_reg(d, ORNIC_REG_CMDQ_CFG), 0);
	vc_write64(d->c, ORNIC_BAR_REGS, ORNIC_REG_CMDQ_SQ_LO, 0x123456789000);
	CHECK_EQ(drv_reg(d, ORNIC_REG_CMDQ_SQ_LO), 0x56789000);
	CHECK_EQ(drv_reg(d, ORNIC_REG_CMDQ_SQ_HI), 0x1234);
	drv_set_reg(d, ORNIC_REG_CMDQ_SQ_HI, 0);
	CHECK_EQ(vc_read64(d->c, ORNIC_BAR_REGS, ORNIC_REG_CMDQ_SQ_LO), 0x56789000);
}

static void enable_with(struct drv *d, u64 sq, u64 cq, u32 cfg, bool good)
{
	u32 status;

	vc_write64(d->c, ORNIC_BAR_REGS, ORNIC_REG_CMDQ_SQ_LO, sq);
	vc_write64(d->c, ORNIC_BAR_REGS, ORNIC_REG_CMDQ_CQ_LO, cq);
	drv_set_reg(d, ORNIC_REG_CMDQ_CFG, cfg);
	drv_set_reg(d, ORNIC_REG_CONTROL, ORNIC_CONTROL_ENABLE);
	status = drv_reg(d, ORNIC_REG_STATUS) & ~ORNIC_STATUS_LINK;
	CHECK_EQ(status, good ? ORNIC_STATUS_READY : ORNIC_STATUS_CFG_ERR);
	CHECK_EQ(drv_reg(d, ORNIC_REG_CONTROL), good ? ORNIC_CONTROL_ENABLE : 0);
}

static void enable_rules(void)
{
	struct drv *d = drv_start(&(struct drv_opts){.no_enable = true});
	u64 sq = drv_alloc(d, 65536), cq = drv_alloc(d, 65536);
	u32 vectors = drv_reg(d, ORNIC_REG_VECTORS);

	enable_with(d, sq, cq, 3, false);
	enable_with(d, sq, cq, 9, false);
	enable_with(d, sq + 64, cq, 4, false);
	enable_with(d, sq, cq + 2048, 4, false);
	enable_with(d, sq, cq, 4 | vectors << 8, false);
	enable_with(d, sq, cq, 4 | 1u << 24, false);
	enable_with(d, sq, cq, 8 | (vectors - 1) << 8, true);
	/* While enabled the queue's registers do not move. */
	drv_set_reg(d, ORNIC_REG_CMDQ_CFG, 4);
	vc_write64(d->c, ORNIC_BAR_REGS, ORNIC_REG_CMDQ_SQ_LO, 0);
	CHECK_EQ(drv_reg(d, ORNIC_REG_CMDQ_CFG), 8 | (vectors - 1) << 8);
	CHECK_EQ(vc_read64(d->c, ORNIC_BAR_REGS, ORNIC_REG_CMDQ_SQ_LO), sq);
	/* 1 -> 0 is a reset. */
	drv_set_reg(d, ORNIC_REG_CONTROL, 0);
	CHECK_EQ(drv_reg(d, ORNIC_REG_STATUS), ORNIC_STATUS_LINK);
	CHECK_EQ(drv_reg(d, ORNIC_REG_CMDQ_CFG), 0);
}

/* More commands than the ring has slots, and several at once; interrupts. */
static void command_ring(void)
{
	struct drv *d = drv_plain();
	union drv_cmd nop = drv_cmd(ORNIC_CMD_NOP);
	u32 i;

	vc_msix_wait(d->c, 0, 0);
	for (i = 0; i < 3u << DRV_CMDQ_SHIFT; i++)
		drv_do(d, &nop);
	CHECK(vc_msix_wait(d->c, 0, 1000) > 0);
	for (i = 0; i < 1u << DRV_CMDQ_SHIFT; i++) {
		nop.hdr.id = cpu_to_le32(i);
		memcpy(drv_ptr(d, d->cmd_sq + i * ORNIC_CMD_SIZE, ORNIC_CMD_SIZE), &nop,
		       sizeof(nop));
	}
	d->cmd_tail += 1u << DRV_CMDQ_SHIFT;
	drv_set_reg(d, ORNIC_REG_CMDQ_TAIL, d->cmd_tail);
	drv_flush(d);
	for (i = 0; i < 1u << DRV_CMDQ_SHIFT; i++) {
		struct ornic_cmd_cqe *e = drv_ptr(d, d->cmd_cq + i * sizeof(*e), sizeof(*e));

		CHECK_EQ(le32_to_cpu(e->id), i);
		CHECK_EQ(le16_to_cpu(e->status), 0);
		/* The fourth round through the ring. */
		CHECK_EQ(le32_to_cpu(e->flags) & ORNIC_CMD_CQE_PHASE, 0);
	}
	CHECK(vc_msix_wait(d->c, 0, 1000) > 0);
	/* The same tail again, and one from the past, do nothing. */
	drv_set_reg(d, ORNIC_REG_CMDQ_TAIL, d->cmd_tail);
	drv_set_reg(d, ORNIC_REG_CMDQ_TAIL, d->cmd_tail - 3);
	CHECK_EQ(drv_reg(d, ORNIC_REG_STATUS) & ORNIC_STATUS_FATAL, 0);
	drv_do(d, &nop);
}

static void check_fatal(struct drv *d, u32 why)
{
	CHECK_EQ(drv_reg(d, ORNIC_REG_STATUS) & ~ORNIC_STATUS_LINK,
		 ORNIC_STATUS_READY | ORNIC_STATUS_FATAL);
	CHECK_EQ(drv_reg(d, ORNIC_REG_FATAL), why);
}

static void fatal_tail(void)
{
	struct drv *d = drv_plain();
	union drv_cmd nop = drv_cmd(ORNIC_CMD_NOP);

	drv_do(d, &nop);
	drv_set_reg(d, ORNIC_REG_CMDQ_TAIL, d->cmd_tail + (1u << DRV_CMDQ_SHIFT) + 1);
	check_fatal(d, ORNIC_FATAL_CMDQ);
	/* Nothing is executed any more, until a reset. */
	drv_set_reg(d, ORNIC_REG_CMDQ_TAIL, d->cmd_tail + 1);
	check_fatal(d, ORNIC_FATAL_CMDQ);
	drv_reset(d);
	CHECK_EQ(drv_reg(d, ORNIC_REG_FATAL), 0);
	drv_enable(d);
	drv_do(d, &nop);
}

static void fatal_dma(void)
{
	struct drv *d = drv_start(&(struct drv_opts){.no_enable = true});

	enable_with(d, 0x7000000000, 0x7000010000, 4, true);
	drv_set_reg(d, ORNIC_REG_CMDQ_TAIL, 1);
	check_fatal(d, ORNIC_FATAL_DMA);
	drv_reset(d);
	drv_enable(d);
	drv_do(d, &(union drv_cmd){0});
}

static void fatal_event(void)
{
	struct drv *d = drv_plain();
	struct drv_eq eq = drv_eq_new(d, 0, ORNIC_EQ_ASYNC, 4);
	struct ornic_aeqe e;
	char *s;

	drv_eq_arm(d, &eq, true);
	s = drv_ctl(d, "fatal");
	CHECK(!strcmp(s, "ok\n"));
	free(s);
	CHECK(drv_eq_next(d, &eq, &e, NULL, 1000));
	CHECK_EQ(e.type, ORNIC_ASYNC_FATAL);
	CHECK_EQ(le32_to_cpu(e.info), ORNIC_FATAL_INJECTED);
	CHECK_EQ(vc_msix_wait(d->c, eq.vector, 1000), 1);
	check_fatal(d, ORNIC_FATAL_INJECTED);
}

static u32 refused(struct drv *d)
{
	return drv_reg(d, ORNIC_REG_DB_REFUSED);
}

static void doorbell_rules(void)
{
	struct drv *d = drv_plain();
	struct drv_eq eq = drv_eq_new(d, 3, ORNIC_EQ_COMP, 4);
	u64 bar = ORNIC_BAR_DB;
	u32 n, i;

	CHECK_EQ(refused(d), 0);
	/* Size and place. */
	vc_write32(d->c, bar, ORNIC_DB_EQ_ARM, 3);
	vc_write16(d->c, bar, ORNIC_DB_SQ, 3);
	vc_write8(d->c, bar, ORNIC_DB_SQ, 3);
	vc_write64(d->c, bar, 0x40, 3);
	vc_write64(d->c, bar, d->db_stride - 8, 3);
	CHECK_EQ(refused(d), 5);
	CHECK_EQ(vc_read64(d->c, bar, ORNIC_DB_EQ_ARM), 0);
	/* Numbers that name nothing. */
	for (i = ORNIC_DB_SQ; i <= ORNIC_DB_ETH_ARM; i += 8) {
		n = refused(d);
		drv_doorbell(d, 0, i, drv_db(0, 0, 0));
		drv_doorbell(d, 0, i, drv_db(0xffffff, 0, 1));
		CHECK_EQ(refused(d), n + 2);
	}
	/* Bits that must be zero. */
	n = refused(d);
	drv_doorbell(d, 0, ORNIC_DB_EQ_ARM, drv_db(3, BIT_ULL(25), 0));
	drv_doorbell(d, 0, ORNIC_DB_EQ_ARM, drv_db(3, BIT_ULL(27), 0));
	drv_doorbell(d, 0, ORNIC_DB_EQ_ARM, drv_db(3, BIT_ULL(31), 0));
	/* EQs are the kernel's. */
	drv_doorbell(d, 1, ORNIC_DB_EQ_ARM, drv_db(3, ORNIC_DB_FLAG_ARM, 0));
	/* More than was written. */
	drv_doorbell(d, 0, ORNIC_DB_EQ_ARM, drv_db(3, ORNIC_DB_FLAG_ARM, 1));
	drv_doorbell(d, 0, ORNIC_DB_EQ_ARM, drv_db(3, ORNIC_DB_FLAG_ARM, 0xffffffff));
	CHECK_EQ(refused(d), n + 6);
	drv_eq_arm(d, &eq, true);
	CHECK_EQ(refused(d), n + 6);
	CHECK_EQ(drv_stat(d, ORNIC_STAT_DB_REFUSED_CNT), n + 6);
	CHECK_EQ(drv_stat(d, ORNIC_STAT_DB_RUNG), 1);
	/* Not enabled: nothing is taken. */
	drv_reset(d);
	CHECK_EQ(refused(d), 0);
	drv_eq_arm(d, &eq, true);
	CHECK_EQ(refused(d), 1);
}

static void big_stride(void)
{
	struct drv *d = drv_start(&(struct drv_opts){.extra = "--db-stride=65536"});

	CHECK_EQ(d->db_stride, 65536);
	drv_eq_new(d, 1, ORNIC_EQ_COMP, 4);
	drv_doorbell(d, 0, ORNIC_DB_EQ_ARM, drv_db(1, ORNIC_DB_FLAG_ARM, 0));
	CHECK_EQ(refused(d), 0);
	vc_write64(d->c, ORNIC_BAR_DB, 4096 + ORNIC_DB_EQ_ARM, drv_db(1, ORNIC_DB_FLAG_ARM, 0));
	CHECK_EQ(refused(d), 1);
}

/* After any kind of reset the device is as new, whatever was there. */
static void make_objects(struct drv *d)
{
	drv_eq_new(d, 0, ORNIC_EQ_ASYNC, 4);
	drv_eq_new(d, 1, ORNIC_EQ_TCP, 4);
	drv_eq_new(d, 2, ORNIC_EQ_COMP, 4);
	drv_cq_new(d, 1, 2, 4, 0);
	drv_qp_new(d, 1, 1, 1, 1, 0, 0);
	drv_reg_mr(d, 0x105, 1, drv_alloc(d, 8192), 8192, ORNIC_ACC_LOCAL_WRITE);
	drv_nexthop(d, 0, (u8[]){2, 0, 0, 0, 0, 9}, 1500, 0);
	drv_do(d, &(union drv_cmd[]){drv_listen_cmd(1, 0, 80)}[0]);
	drv_do(d, &(union drv_cmd[]){drv_open_cmd(1, 0, 1, 1000, 2, 80)}[0]);
}

static void check_no_objects(struct drv *d)
{
	static const u16 gone[] = {ORNIC_CMD_DESTROY_EQ, ORNIC_CMD_DESTROY_CQ,
				   ORNIC_CMD_DESTROY_QP, ORNIC_CMD_CLEAR_NEXTHOP,
				   ORNIC_CMD_UNLISTEN,	 ORNIC_CMD_FREE_CONN};
	union drv_cmd c = drv_cmd(ORNIC_CMD_DEREG_MR);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(gone); i++)
		CHECK_EQ(drv_number(d, gone[i], gone[i] == ORNIC_CMD_CLEAR_NEXTHOP ? 0 : 1),
			 ORNIC_CMDS_NOT_FOUND);
	c.stag.stag = cpu_to_le32(0x105);
	CHECK_EQ(drv_exec(d, &c), ORNIC_CMDS_NOT_FOUND);
	/* Of this life, all of them refused but the last. */
	CHECK_EQ(drv_stat(d, ORNIC_STAT_CMD_ERR), ARRAY_SIZE(gone) + 1);
}

static void resets(void)
{
	struct drv *d = drv_plain();

	make_objects(d);
	drv_reset(d);
	drv_enable(d);
	check_no_objects(d);
	make_objects(d);
	CHECK_EQ(vc_flr(d->c), 0);
	CHECK_EQ(drv_reg(d, ORNIC_REG_STATUS) & ORNIC_STATUS_READY, 0);
	CHECK_EQ(vc_pci_enable(d->c, true), 0);
	CHECK(vc_msix_enable(d->c, drv_reg(d, ORNIC_REG_VECTORS)) >= 0);
	drv_enable(d);
	check_no_objects(d);
	make_objects(d);
	CHECK_EQ(vc_device_reset(d->c), 0);
	CHECK_EQ(vc_pci_enable(d->c, true), 0);
	CHECK(vc_msix_enable(d->c, drv_reg(d, ORNIC_REG_VECTORS)) >= 0);
	drv_enable(d);
	check_no_objects(d);
}

static void vmm_gone(void)
{
	struct drv *d = drv_plain();
	u32 i;

	for (i = 0; i < 3; i++) {
		make_objects(d);
		drv_detach(d);
		drv_attach(d);
		CHECK_EQ(drv_reg(d, ORNIC_REG_STATUS) & ~ORNIC_STATUS_LINK, 0);
		drv_enable(d);
		check_no_objects(d);
	}
}

/* Bus mastering off in the middle: the next command cannot be read, and the device says so. */
static void no_bus_master(void)
{
	struct drv *d = drv_plain();

	make_objects(d);
	CHECK_EQ(vc_pci_enable(d->c, false), 0);
	drv_set_reg(d, ORNIC_REG_CMDQ_TAIL, d->cmd_tail + 1);
	check_fatal(d, ORNIC_FATAL_DMA);
	CHECK_EQ(vc_pci_enable(d->c, true), 0);
	drv_reset(d);
	drv_enable(d);
	check_no_objects(d);
}

static void removed(void)
{
	struct drv *d = drv_plain();
	char *s;

	make_objects(d);
	s = drv_ctl(d, "removed yes");
	CHECK(!strcmp(s, "ok\n"));
	free(s);
	CHECK_EQ(drv_reg(d, ORNIC_REG_STATUS), 0xffffffff);
	/* What the guest does to get rid of it is not seen. */
	CHECK_EQ(vc_pci_enable(d->c, false), 0);
	CHECK_EQ(vc_read16(d->c, VC_REGION_CONFIG, PCI_COMMAND), 0xffff);
	free(drv_ctl(d, "removed no"));
	/* Power on: a guest has to write what it wants. */
	CHECK_EQ(vc_read16(d->c, VC_REGION_CONFIG, PCI_COMMAND), 0);
	CHECK_EQ(drv_reg(d, ORNIC_REG_MAGIC), ORNIC_MAGIC);
	CHECK_EQ(drv_reg(d, ORNIC_REG_CONTROL), 0);
	CHECK_EQ(drv_reg(d, ORNIC_REG_CMDQ_CFG), 0);
	CHECK_EQ(vc_pci_enable(d->c, true), 0);
	CHECK(vc_msix_enable(d->c, drv_reg(d, ORNIC_REG_VECTORS)) >= 0);
	drv_enable(d);
	vc_msix_wait(d->c, 0, 0);
	check_no_objects(d);
	CHECK(vc_msix_wait(d->c, 0, 1000) > 0);
}

static void stuck_command(void)
{
	struct drv *d = drv_plain();
	union drv_cmd nop = drv_cmd(ORNIC_CMD_NOP);
	struct ornic_cmd_cqe *e;

	free(drv_ctl(d, "cmdq stuck"));
	e = drv_ptr(d, d->cmd_cq + (d->cmd_tail & 31) * sizeof(*e), sizeof(*e));
	memcpy(drv_ptr(d, d->cmd_sq + (d->cmd_tail & 31) * ORNIC_CMD_SIZE, ORNIC_CMD_SIZE), &nop,
	       sizeof(nop));
	drv_set_reg(d, ORNIC_REG_CMDQ_TAIL, ++d->cmd_tail);
	drv_flush(d);
	CHECK_EQ(e->flags, 0);
	free(drv_ctl(d, "cmdq run"));
	CHECK_EQ(le32_to_cpu(e->flags), ORNIC_CMD_CQE_PHASE);
	/* A reset ends the fault. */
	free(drv_ctl(d, "cmdq stuck"));
	drv_reset(d);
	drv_enable(d);
	drv_do(d, &nop);
}

static void dropped_irq(void)
{
	struct drv *d = drv_plain();
	union drv_cmd nop = drv_cmd(ORNIC_CMD_NOP);

	vc_msix_wait(d->c, 0, 0);
	free(drv_ctl(d, "drop-irq 1"));
	drv_do(d, &nop);
	CHECK_EQ(vc_msix_wait(d->c, 0, 100), 0);
	drv_do(d, &nop);
	CHECK_EQ(vc_msix_wait(d->c, 0, 1000), 1);
}

static void set_msix(struct drv *d, u16 flags)
{
	unsigned int off = vc_find_cap(d->c, PCI_CAP_ID_MSIX);

	vc_write16(d->c, VC_REGION_CONFIG, off + PCI_MSIX_FLAGS, flags);
}

/* Two commands, whose interrupt must wait: the pending bit tells (PCI 3.0, section 6.8). */
static void command_pends(struct drv *d)
{
	union drv_cmd nop = drv_cmd(ORNIC_CMD_NOP);

	drv_do(d, &nop);
	drv_do(d, &nop);
	CHECK_EQ(vc_msix_wait(d->c, 0, 30), 0);
	CHECK_EQ(vc_read64(d->c, ORNIC_BAR_MSIX, ORNIC_MSIX_PBA_OFF), 1);
}

static void fires_once(struct drv *d)
{
	CHECK_EQ(vc_msix_wait(d->c, 0, 1000), 1);
	CHECK_EQ(vc_msix_wait(d->c, 0, 30), 0);
	CHECK_EQ(vc_read64(d->c, ORNIC_BAR_MSIX, ORNIC_MSIX_PBA_OFF), 0);
}

/*
 * A guest that moves an interrupt to another CPU masks the vector and rewrites its entry, and the
 * VMM attaches its eventfd anew. What is raised meanwhile comes once, when it can.
 */
static void pending_irq(void)
{
	struct drv *d = drv_plain();

	vc_msix_wait(d->c, 0, 0);
	CHECK_EQ(vc_msix_connect(d->c, 0, false), 0);
	command_pends(d);
	CHECK_EQ(vc_msix_connect(d->c, 0, true), 0);
	fires_once(d);
	set_msix(d, PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
	command_pends(d);
	set_msix(d, PCI_MSIX_FLAGS_ENABLE);
	fires_once(d);
	/* Both: either alone is not enough. */
	CHECK_EQ(vc_msix_connect(d->c, 0, false), 0);
	set_msix(d, PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
	command_pends(d);
	CHECK_EQ(vc_msix_connect(d->c, 0, true), 0);
	CHECK_EQ(vc_msix_wait(d->c, 0, 30), 0);
	set_msix(d, PCI_MSIX_FLAGS_ENABLE);
	fires_once(d);
	/* All vectors dropped and attached again, as when a VMM needs more of them. */
	CHECK_EQ(vc_msix_disable(d->c), 0);
	command_pends(d);
	CHECK(vc_msix_enable(d->c, drv_reg(d, ORNIC_REG_VECTORS)) >= 0);
	fires_once(d);
	/* Nothing was raised: attaching anew raises nothing. */
	CHECK_EQ(vc_msix_connect(d->c, 0, true), 0);
	CHECK_EQ(vc_msix_wait(d->c, 0, 30), 0);
}

static void control_socket(void)
{
	struct drv *d = drv_plain();
	char *s;

	make_objects(d);
	s = drv_ctl(d, "state");
	CHECK(strstr(s, "eq 1: tcp") && strstr(s, "mr 0x00000105") &&
	      strstr(s, "conn 1: opening SYN"));
	CHECK(!strcmp(s + strlen(s) - 3, "ok\n"));
	free(s);
	s = drv_ctl(d, "stats");
	CHECK(strstr(s, "cmd_done 9\n"));
	free(s);
	s = drv_ctl(d, "help");
	CHECK(strstr(s, "pcap"));
	free(s);
	s = drv_ctl(d, "nonsense");
	CHECK(!strncmp(s, "error: ", 7));
	free(s);
	s = drv_ctl(d, "loss 1001");
	CHECK(!strncmp(s, "error: ", 7));
	free(s);
}

/* A command line that makes no sense: status 2, and a message that names what is wrong. */
static void wire_options(void)
{
	static const struct {
		const char *wire, *says;
		int status;
	} t[] = {
		{"dgram", "local=PATH", 2},
		{"dgram:", "local=PATH", 2},
		{"dgram:local=/tmp/x", "remote=PATH", 2},
		{"tap:", "tap:rnic0", 2},
		{"tap:abcdefghijklmnop", "15 bytes", 2},
		{"packet:", "name of an interface", 2},
		{"packet:abcdefghijklmnop", "15 bytes", 2},
		{"null:x", "no option", 2},
		{"wifi:x", "dgram, tap, packet, null", 2},
		{"dgram:local=/nonexistent/a,remote=/tmp/b", "No such file", 1},
		{"packet:nonexistent0", "nonexistent0", 1},
	};
	char cmd[512];

	for (unsigned int i = 0; i < ARRAY_SIZE(t); i++) {
		snprintf(cmd, sizeof(cmd),
			 "said=$(%s --socket /nonexistent/s --mac 02:00:00:00:00:01 --wire '%s' "
			 "2>&1); [ $? = %d ] && case $said in *'%s'*) ;; *) false ;; esac",
			 getenv("RNICD"), t[i].wire, t[i].status, t[i].says);
		CHECK_EQ(system(cmd), 0);
	}
}

/* A file that is no socket is somebody's: refused and kept. */
static void control_file(void)
{
	char path[] = "/tmp/ornic-control-XXXXXX", cmd[512];
	int fd = mkstemp(path), status;
	struct stat st;

	CHECK(fd >= 0 && write(fd, "x", 1) == 1);
	close(fd);
	snprintf(cmd, sizeof(cmd),
		 "exec %s --socket %s.vfu --wire null --mac 02:00:00:00:00:01 --control %s "
		 "2> /dev/null",
		 getenv("RNICD"), path, path);
	status = system(cmd);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) != 0);
	CHECK(!stat(path, &st) && S_ISREG(st.st_mode) && st.st_size == 1);
	unlink(path);
}

static const struct test tests[] = {
	{"identity", identity},
	{"access_rules", access_rules},
	{"enable_rules", enable_rules},
	{"command_ring", command_ring},
	{"fatal_tail", fatal_tail},
	{"fatal_dma", fatal_dma},
	{"fatal_event", fatal_event},
	{"doorbell_rules", doorbell_rules},
	{"big_stride", big_stride},
	{"resets", resets},
	{"vmm_gone", vmm_gone},
	{"no_bus_master", no_bus_master},
	{"removed", removed},
	{"stuck_command", stuck_command},
	{"dropped_irq", dropped_irq},
	{"pending_irq", pending_irq},
	{"control_socket", control_socket},
	{"control_file", control_file},
	{"wire_options", wire_options},
};

int main(int argc, char **argv)
{
	return test_main(argc, argv, tests, ARRAY_SIZE(tests));
}
