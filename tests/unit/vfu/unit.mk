# SPDX-License-Identifier: GPL-2.0-or-later
# These tests play the VMM.
unit-srcs-vfu = $(TOP)/tests/device/vfu_client.c
unit-cflags-vfu = -I$(TOP)/tests/device
