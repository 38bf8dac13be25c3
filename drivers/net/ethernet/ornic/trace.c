// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* OpenRNIC core driver: the tracepoints' code. */

#include <linux/pci.h>

#ifndef __CHECKER__
#define CREATE_TRACE_POINTS
#include "trace.h"
#endif
