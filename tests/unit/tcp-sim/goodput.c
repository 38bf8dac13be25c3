// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <stdlib.h>

#include "goodput.h"
#include "sim.h"

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double goodput_median(double loss, uint64_t bytes)
{
	double gbps[GOODPUT_SEEDS];

	for (unsigned int i = 0; i < GOODPUT_SEEDS; i++) {
		struct sim_run r = {
			.name = "goodput",
			.link = {.rate_bps = 10000000000ull,
				 .delay_ns = 20000,
				 .queue = 2 << 20,
				 .loss = loss,
				 .trust = true},
			.seed = i + 1,
			.mtu = 1500,
			.bytes = bytes,
			.records = true,
			.opts = {.rcv_wnd = 1 << 20,
				 .wscale = true,
				 .timestamps = true,
				 .sack = true},
			.limit_ns = 600ull * 1000000000,
		};
		struct sim_result res = sim_run(&r);

		if (!res.ok) {
			fprintf(stderr, "seed %u: %s\n", i + 1, res.why);
			return -1;
		}
		gbps[i] = res.gbps;
	}
	qsort(gbps, GOODPUT_SEEDS, sizeof(gbps[0]), by_size);
	return (gbps[GOODPUT_SEEDS / 2 - 1] + gbps[GOODPUT_SEEDS / 2]) / 2;
}
