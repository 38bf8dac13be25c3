// SPDX-License-Identifier: GPL-2.0-or-later
/* Configuration space. Register names are those of <linux/pci_regs.h>. */
#include <linux/pci_regs.h>

#include "vfu/pci.h"

#define EXP_DEVICE_CAPS                                                                           \
	(PCI_EXP_DEVCAP_EXT_TAG | PCI_EXP_DEVCAP_RBER | PCI_EXP_DEVCAP_FLR | PCI_EXP_DEVCAP_L0S | \
	 PCI_EXP_DEVCAP_L1 | 1 /* 256-byte payload */)
#define EXP_DEVICE_CTL                                                                            \
	(PCI_EXP_DEVCTL_CERE | PCI_EXP_DEVCTL_NFERE | PCI_EXP_DEVCTL_FERE | PCI_EXP_DEVCTL_URRE | \
	 PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_PAYLOAD | PCI_EXP_DEVCTL_EXT_TAG |              \
	 PCI_EXP_DEVCTL_NOSNOOP_EN | PCI_EXP_DEVCTL_READRQ)
#define EXP_DEVICE_STA \
	(PCI_EXP_DEVSTA_CED | PCI_EXP_DEVSTA_NFED | PCI_EXP_DEVSTA_FED | PCI_EXP_DEVSTA_URD)
#define EXP_LINK_SPEED	 3 /* 8 GT/s */
#define EXP_LINK_WIDTH	 (8 << 4)
#define EXP_LINK_SPEEDS	 0xe /* 2.5, 5 and 8 GT/s */
#define EXP_LINK_CTL	 (PCI_EXP_LNKCTL_RCB | PCI_EXP_LNKCTL_CCC | PCI_EXP_LNKCTL_ES)
#define EXP_DEVCAP2_TDIS 0x10 /* completion time-out can be disabled */

/* Uncorrectable errors that are fatal unless the guest says otherwise: PCIe Base 7.8.4.4. */
#define AER_UNC_ALL                                                                        \
	(PCI_ERR_UNC_DLP | PCI_ERR_UNC_SURPDN | PCI_ERR_UNC_POISON_TLP | PCI_ERR_UNC_FCP | \
	 PCI_ERR_UNC_COMP_TIME | PCI_ERR_UNC_COMP_ABORT | PCI_ERR_UNC_UNX_COMP |           \
	 PCI_ERR_UNC_RX_OVER | PCI_ERR_UNC_MALF_TLP | PCI_ERR_UNC_ECRC | PCI_ERR_UNC_UNSUP)
#define AER_UNC_FATAL                                                                   \
	(PCI_ERR_UNC_DLP | PCI_ERR_UNC_SURPDN | PCI_ERR_UNC_FCP | PCI_ERR_UNC_RX_OVER | \
	 PCI_ERR_UNC_MALF_TLP)
#define AER_COR_ALL                                                                             \
	(PCI_ERR_COR_RCVR | PCI_ERR_COR_BAD_TLP | PCI_ERR_COR_BAD_DLLP | PCI_ERR_COR_REP_ROLL | \
	 PCI_ERR_COR_REP_TIMER | PCI_ERR_COR_ADV_NFAT)

static void set16(u8 *space, unsigned int off, unsigned int v)
{
	put_le16(space + off, (u16)v);
}

static void set32(u8 *space, unsigned int off, u64 v)
{
	put_le32(space + off, (u32)v);
}

static void init_bars(struct vfu_pci *pci, const struct vfu_cfg *cfg)
{
	unsigned int i, off;

	for (i = 0; i < VFU_NUM_BARS; i++) {
		const struct vfu_bar_cfg *bar = &cfg->bar[i];
		u64 mask;

		if (!bar->size)
			continue;
		off = PCI_BASE_ADDRESS_0 + 4 * i;
		mask = ~(bar->size - 1);
		set32(pci->cfg, off,
		      (bar->is64 ? PCI_BASE_ADDRESS_MEM_TYPE_64 : 0) |
			      (bar->prefetch ? PCI_BASE_ADDRESS_MEM_PREFETCH : 0));
		set32(pci->wmask, off, mask & (u32)PCI_BASE_ADDRESS_MEM_MASK);
		if (bar->is64)
			set32(pci->wmask, off + 4, mask >> 32);
	}
}

static void init_header(struct vfu_pci *pci, const struct vfu_cfg *cfg)
{
	u8 *c = pci->cfg;

	set16(c, PCI_VENDOR_ID, cfg->vendor_id);
	set16(c, PCI_DEVICE_ID, cfg->device_id);
	set16(pci->wmask, PCI_COMMAND,
	      PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_PARITY | PCI_COMMAND_SERR |
		      PCI_COMMAND_INTX_DISABLE);
	set16(c, PCI_STATUS, PCI_STATUS_CAP_LIST);
	set16(pci->w1c, PCI_STATUS,
	      PCI_STATUS_PARITY | PCI_STATUS_SIG_TARGET_ABORT | PCI_STATUS_REC_TARGET_ABORT |
		      PCI_STATUS_REC_MASTER_ABORT | PCI_STATUS_SIG_SYSTEM_ERROR |
		      PCI_STATUS_DETECTED_PARITY);
	/* Revision in the low byte, class above. */
	set32(c, PCI_REVISION_ID, (u64)cfg->class_code << 8 | cfg->revision);
	pci->wmask[PCI_CACHE_LINE_SIZE] = 0xff;
	init_bars(pci, cfg);
	set16(c, PCI_SUBSYSTEM_VENDOR_ID, cfg->subsys_vendor_id);
	set16(c, PCI_SUBSYSTEM_ID, cfg->subsys_id);
	c[PCI_CAPABILITY_LIST] = PCI_CAP_PM_OFF;
	pci->wmask[PCI_INTERRUPT_LINE] = 0xff;
}

static void init_pm(struct vfu_pci *pci)
{
	u8 *c = pci->cfg + PCI_CAP_PM_OFF;

	c[PCI_CAP_LIST_ID] = PCI_CAP_ID_PM;
	c[PCI_CAP_LIST_NEXT] = PCI_CAP_MSIX_OFF;
	set16(c, PCI_PM_PMC, 3); /* version of the PM specification: 1.2 */
	set16(c, PCI_PM_CTRL, PCI_PM_CTRL_NO_SOFT_RESET);
	set16(pci->wmask, PCI_CAP_PM_OFF + PCI_PM_CTRL, PCI_PM_CTRL_STATE_MASK);
}

static void init_msix(struct vfu_pci *pci, const struct vfu_cfg *cfg)
{
	u8 *c = pci->cfg + PCI_CAP_MSIX_OFF;

	c[PCI_CAP_LIST_ID] = PCI_CAP_ID_MSIX;
	c[PCI_CAP_LIST_NEXT] = PCI_CAP_EXP_OFF;
	set16(c, PCI_MSIX_FLAGS, cfg->msix_vectors - 1u);
	set16(pci->wmask, PCI_CAP_MSIX_OFF + PCI_MSIX_FLAGS,
	      PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
	set32(c, PCI_MSIX_TABLE, cfg->msix_table_off | cfg->msix_bar);
	set32(c, PCI_MSIX_PBA, cfg->msix_pba_off | cfg->msix_bar);
}

static void init_exp(struct vfu_pci *pci)
{
	u8 *w = pci->wmask + PCI_CAP_EXP_OFF, *keep = pci->flr_keep + PCI_CAP_EXP_OFF;
	u8 *c = pci->cfg + PCI_CAP_EXP_OFF;

	c[PCI_CAP_LIST_ID] = PCI_CAP_ID_EXP;
	set16(c, PCI_EXP_FLAGS, 2 /* version */ | PCI_EXP_TYPE_ENDPOINT << 4);
	set32(c, PCI_EXP_DEVCAP, EXP_DEVICE_CAPS);
	/* Read request size starts at 512 bytes. */
	set16(c, PCI_EXP_DEVCTL,
	      PCI_EXP_DEVCTL_READRQ_512B | PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_NOSNOOP_EN);
	set16(w, PCI_EXP_DEVCTL, EXP_DEVICE_CTL);
	set16(keep, PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_PAYLOAD);
	set16(pci->w1c + PCI_CAP_EXP_OFF, PCI_EXP_DEVSTA, EXP_DEVICE_STA);
	set32(c, PCI_EXP_LNKCAP, EXP_LINK_SPEED | EXP_LINK_WIDTH);
	set16(w, PCI_EXP_LNKCTL, EXP_LINK_CTL);
	set16(keep, PCI_EXP_LNKCTL, EXP_LINK_CTL);
	set16(c, PCI_EXP_LNKSTA, EXP_LINK_SPEED | EXP_LINK_WIDTH | PCI_EXP_LNKSTA_SLC);
	set32(c, PCI_EXP_DEVCAP2, EXP_DEVCAP2_TDIS);
	set16(w, PCI_EXP_DEVCTL2, PCI_EXP_DEVCTL2_COMP_TMOUT_DIS);
	set32(c, PCI_EXP_LNKCAP2, EXP_LINK_SPEEDS);
	set16(c, PCI_EXP_LNKCTL2, EXP_LINK_SPEED);
	set16(w, PCI_EXP_LNKCTL2, PCI_EXP_LNKCTL2_TLS);
	set16(keep, PCI_EXP_LNKCTL2, PCI_EXP_LNKCTL2_TLS);
}

static void init_aer(struct vfu_pci *pci)
{
	u8 *w = pci->wmask + PCI_CAP_AER_OFF, *w1c = pci->w1c + PCI_CAP_AER_OFF;
	u8 *keep = pci->flr_keep + PCI_CAP_AER_OFF, *c = pci->cfg + PCI_CAP_AER_OFF;

	set32(c, 0, PCI_EXT_CAP_ID_ERR | 2 << 16 | (u64)PCI_CAP_DSN_OFF << 20);
	set32(w1c, PCI_ERR_UNCOR_STATUS, AER_UNC_ALL);
	set32(w, PCI_ERR_UNCOR_MASK, AER_UNC_ALL);
	set32(c, PCI_ERR_UNCOR_SEVER, AER_UNC_FATAL);
	set32(w, PCI_ERR_UNCOR_SEVER, AER_UNC_ALL);
	set32(w1c, PCI_ERR_COR_STATUS, AER_COR_ALL);
	/* Advisory non-fatal errors are masked until the guest can handle them. */
	set32(c, PCI_ERR_COR_MASK, PCI_ERR_COR_ADV_NFAT);
	set32(w, PCI_ERR_COR_MASK, AER_COR_ALL);
	/* All of these are sticky. */
	memset(keep + PCI_ERR_UNCOR_STATUS, 0xff, PCI_ERR_COR_MASK + 4 - PCI_ERR_UNCOR_STATUS);
}

/* EUI-64 made from the MAC, most significant byte at the highest address. */
static void init_dsn(struct vfu_pci *pci, const u8 *mac)
{
	u8 *c = pci->cfg + PCI_CAP_DSN_OFF;

	set32(c, 0, PCI_EXT_CAP_ID_DSN | 1 << 16);
	set32(c, 4, (u64)0xfe << 24 | mac[3] << 16 | mac[4] << 8 | mac[5]);
	set32(c, 8, (u64)mac[0] << 24 | mac[1] << 16 | mac[2] << 8 | 0xff);
}

void pci_init(struct vfu_pci *pci, const struct vfu_cfg *cfg)
{
	memset(pci, 0, sizeof(*pci));
	init_header(pci, cfg);
	init_pm(pci);
	init_msix(pci, cfg);
	init_exp(pci);
	init_aer(pci);
	init_dsn(pci, cfg->mac);
	memcpy(pci->reset, pci->cfg, sizeof(pci->reset));
}

void pci_reset(struct vfu_pci *pci, bool flr)
{
	unsigned int i;
	u8 keep;

	for (i = 0; i < PCI_CFG_SIZE; i++) {
		keep = flr ? pci->flr_keep[i] : 0;
		pci->cfg[i] = (pci->cfg[i] & keep) | (pci->reset[i] & (u8)~keep);
	}
}

void pci_read(const struct vfu_pci *pci, unsigned int off, u8 *buf, unsigned int count)
{
	memcpy(buf, pci->cfg + off, count);
}

/*
 * D1 and D2 do not exist here: a write that asks for them leaves the state as
 * it is (PCI PM 1.2, section 3.2.4).
 */
static u8 filter_power_state(u8 old, u8 val)
{
	u8 state = val & PCI_PM_CTRL_STATE_MASK;

	if (state == 1 || state == 2)
		val = (u8)((val & ~PCI_PM_CTRL_STATE_MASK) | (old & PCI_PM_CTRL_STATE_MASK));
	return val;
}

static unsigned int write_byte(struct vfu_pci *pci, unsigned int off, u8 val)
{
	u8 wmask = pci->wmask[off], old = pci->cfg[off];
	unsigned int events = 0;

	switch (off) {
	case PCI_CAP_PM_OFF + PCI_PM_CTRL:
		val = filter_power_state(old, val);
		events = PCI_EV_CTRL;
		break;
	case PCI_COMMAND:
	case PCI_CAP_MSIX_OFF + PCI_MSIX_FLAGS + 1:
		events = PCI_EV_CTRL;
		break;
	case PCI_CAP_EXP_OFF + PCI_EXP_DEVCTL + 1:
		/* Reads as 0: not in the writable mask. */
		if (val & (PCI_EXP_DEVCTL_BCR_FLR >> 8))
			events = PCI_EV_FLR;
		break;
	}
	pci->cfg[off] = ((old & ~wmask) | (val & wmask)) & ~(val & pci->w1c[off]);
	return events;
}

unsigned int pci_write(struct vfu_pci *pci, unsigned int off, const u8 *buf, unsigned int count)
{
	unsigned int events = 0, i;

	for (i = 0; i < count; i++)
		events |= write_byte(pci, off + i, buf[i]);
	return events;
}

bool pci_in_d0(const struct vfu_pci *pci)
{
	return !(pci->cfg[PCI_CAP_PM_OFF + PCI_PM_CTRL] & PCI_PM_CTRL_STATE_MASK);
}

bool pci_bus_master(const struct vfu_pci *pci)
{
	return (get_le16(pci->cfg + PCI_COMMAND) & PCI_COMMAND_MASTER) && pci_in_d0(pci);
}

static u16 msix_flags(const struct vfu_pci *pci)
{
	return get_le16(pci->cfg + PCI_CAP_MSIX_OFF + PCI_MSIX_FLAGS);
}

bool pci_msix_on(const struct vfu_pci *pci)
{
	return msix_flags(pci) & PCI_MSIX_FLAGS_ENABLE;
}

bool pci_msix_masked(const struct vfu_pci *pci)
{
	return msix_flags(pci) & PCI_MSIX_FLAGS_MASKALL;
}
