/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Virtual-time simulator: two TCP engines and a link between them that delays, drops, duplicates,
 * reorders and corrupts frames. Everything follows from the seed.
 */
#ifndef TESTS_TCP_SIM_H
#define TESTS_TCP_SIM_H

#include "tcp/tcp.h"

struct sim;

/**
 * struct sim_link - both directions have the same qualities
 * @rate_bps: bits per second, 0: infinitely fast
 * @delay_ns: one way
 * @queue: bytes that wait for the link; beyond it frames are dropped (or @block: refused)
 * @block: the wire answers -EAGAIN instead of dropping
 * @loss, @dup, @reorder, @corrupt: probability per frame
 * @reorder_ns: extra delay of a reordered frame
 * @stall_ns: once, from the 20th ms on, nothing arrives for that long; then all of it does
 * @hole: longest IP packet that gets through from A to B, longer ones vanish; 0: all do
 * @hole_from, @hole_until: ns since the beginning; before and after it (if not 0) all get through
 * @trust: frames are delivered with their checksum vouched for (no corruption then)
 */
struct sim_link {
	uint64_t rate_bps;
	uint64_t delay_ns;
	uint32_t queue;
	bool block;
	double loss, dup, reorder, corrupt;
	uint64_t reorder_ns;
	uint64_t stall_ns;
	uint32_t hole;
	uint64_t hole_from, hole_until;
	bool trust;
};

/**
 * struct sim_run - one connection from A to B, and what is sent over it
 * @bytes: sent by A; @back: sent by B
 * @records: record mode; else stream
 * @max_record: record lengths are 1..max_record at random; 0: always tcp_emss()
 * @lazy: share of rx() calls that take only a part
 * @opts: of both ends
 */
struct sim_run {
	const char *name;
	struct sim_link link;
	uint64_t seed;
	bool v6;
	uint16_t mtu;
	uint64_t bytes, back;
	bool records;
	uint32_t max_record;
	double lazy;
	struct tcp_opts opts;
	uint32_t tx_flags;
	bool batch; /* frames that arrive together are one batch */
	bool check; /* the invariants of both connections after each step */
	uint64_t limit_ns; /* virtual time after which the run counts as hung */
};

struct sim_result {
	bool ok;
	char why[160];
	uint64_t ns; /* until the last byte was received */
	double gbps; /* goodput A to B */
	struct tcp_engine_stats a, b;
	uint64_t frames, lost, corrupted;
	uint64_t holed; /* vanished in the hole */
	uint64_t holed_last; /* when, ns since the beginning */
	uint32_t emss; /* A's, in the end */
};

struct sim_result sim_run(const struct sim_run *run);

#endif
