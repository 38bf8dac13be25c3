/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Configuration space of the function: type 0 header, PM, MSI-X and PCIe
 * capabilities, AER and Device Serial Number. Bytes in, bytes out; what a
 * write means for the rest of the function is reported as a set of events.
 */
#ifndef RNICD_VFU_PCI_H
#define RNICD_VFU_PCI_H

#include "base/util.h"
#include "vfu/vfu.h"

#define PCI_CFG_SIZE 4096

#define PCI_CAP_PM_OFF	 0x40
#define PCI_CAP_MSIX_OFF 0x50
#define PCI_CAP_EXP_OFF	 0x60
#define PCI_CAP_AER_OFF	 0x100
#define PCI_CAP_DSN_OFF	 0x150

struct vfu_pci {
	u8 cfg[PCI_CFG_SIZE];
	u8 wmask[PCI_CFG_SIZE]; /* writable bits */
	u8 w1c[PCI_CFG_SIZE]; /* cleared by writing one */
	u8 flr_keep[PCI_CFG_SIZE]; /* survive a function level reset */
	u8 reset[PCI_CFG_SIZE]; /* values after power on */
};

/* What a write to configuration space set in motion. */
#define PCI_EV_FLR  0x1
#define PCI_EV_CTRL 0x2 /* COMMAND, power state or MSI-X control may have changed */

void pci_init(struct vfu_pci *pci, const struct vfu_cfg *cfg);
/* @flr: keep what PCIe Base 6.6.2 exempts from a function level reset. */
void pci_reset(struct vfu_pci *pci, bool flr);

/* The caller checked the range. pci_write() returns PCI_EV_*. */
void pci_read(const struct vfu_pci *pci, unsigned int off, u8 *buf, unsigned int count);
unsigned int pci_write(struct vfu_pci *pci, unsigned int off, const u8 *buf, unsigned int count);

bool pci_bus_master(const struct vfu_pci *pci); /* COMMAND.BME, and in D0 */
bool pci_in_d0(const struct vfu_pci *pci);
bool pci_msix_on(const struct vfu_pci *pci); /* enabled */
bool pci_msix_masked(const struct vfu_pci *pci); /* function mask */

#endif /* RNICD_VFU_PCI_H */
