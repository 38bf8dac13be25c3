/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of ctl/. */
#ifndef RNICD_CTL_PRIV_H
#define RNICD_CTL_PRIV_H

#include "base/acceptor.h"
#include "ctl/ctl.h"

#define CTL_MAX_CLIENTS 8

struct ctl_client {
	struct ctl *ctl;
	struct loop_fd lf;
	bool used;
	char in[4096];
	u32 in_len;
	char *out;
	size_t out_len;
	size_t out_done;
};

struct ctl {
	struct rnic *dev;
	struct acceptor acceptor;
	struct pcap *pcap;
	struct ctl_client client[CTL_MAX_CLIENTS];
};

#endif /* RNICD_CTL_PRIV_H */
