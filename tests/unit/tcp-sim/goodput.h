/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_TCP_GOODPUT_H
#define TESTS_TCP_GOODPUT_H

#include <stdint.h>

#define GOODPUT_SEEDS 10

/**
 * goodput_median - one connection over a link of 10 Gbit/s, 40 us, MTU 1500, window 1 MiB
 * @loss: probability per frame, in both directions
 * @bytes: to send in each run
 *
 * Return: Gbit/s, the median over GOODPUT_SEEDS seeds; negative when a run failed.
 */
double goodput_median(double loss, uint64_t bytes);

#endif
