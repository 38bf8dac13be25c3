/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* OpenRNIC hardware contract: everything. Documentation/hardware.rst is its text. */
#ifndef _ORNIC_HW_H
#define _ORNIC_HW_H

#include "cmd.h"
#include "eq.h"
#include "eth.h"
#include "regs.h"
#include "stats.h"
#include "wr.h"

#endif /* _ORNIC_HW_H */
