/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What lwIP wants to know of the compiler: its defaults are right for gcc. */
#ifndef TESTS_WIRE_LWIP_CC_H
#define TESTS_WIRE_LWIP_CC_H

#include <stdlib.h>

#define LWIP_RAND() ((u32_t)rand()) /* not seeded: each run is like the last */

#endif
