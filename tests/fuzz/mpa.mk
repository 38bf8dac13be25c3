# SPDX-License-Identifier: GPL-2.0-or-later
fuzz-cflags-mpa := -I$(TOP)/drivers/infiniband/hw/ornic
fuzz-srcs-mpa := drivers/infiniband/hw/ornic/mpa.c
