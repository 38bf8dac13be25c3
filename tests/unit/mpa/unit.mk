# SPDX-License-Identifier: GPL-2.0-or-later
# The driver's MPA code, as it stands.
unit-cflags-mpa := -I$(TOP)/drivers/infiniband/hw/ornic
unit-srcs-mpa := $(TOP)/drivers/infiniband/hw/ornic/mpa.c
