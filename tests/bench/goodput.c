// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Goodput of the TCP engine over a lossy link, in the simulator's virtual time: 10 Gbit/s, 40 us,
 * a window of 1 MiB, MTU 1500. For each rate of loss the median of ten seeds. Everything follows
 * from the seeds, on any machine.
 */
#include <stdio.h>

#include "tcp-sim/goodput.h"

int main(void)
{
	static const double loss[] = {0, 0.0001, 0.001, 0.01};

	for (size_t i = 0; i < sizeof(loss) / sizeof(loss[0]); i++) {
		double gbps = goodput_median(loss[i], 128u << 20);

		if (gbps < 0)
			return 1;
		printf("%.2f %%: %.3f Gbit/s\n", loss[i] * 100, gbps);
	}
	return 0;
}
