/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A case of "Linux's TCP against the engine": what both ends do, and what came of it.
 */
#ifndef TESTS_WIRE_TAP_PEER_H
#define TESTS_WIRE_TAP_PEER_H

#include "tcp/tcp.h"

#define ENGINE_ADDR 0x0a090001u
#define KERNEL_ADDR 0x0a090002u
#define PORT	    4711

/**
 * struct rig - one case
 * @kernel: what the kernel's end does, in a child; exit code 0 is success. @go can be read to wait
 *	until the case ends
 * @check: after both ends are done
 * @active: the engine opens; else it listens
 * @expect: the engine's terminal event
 * @echo: the engine sends back what it receives
 * @after_fin: close when all is sent, but not before the peer's FIN
 */
struct rig {
	const char *name;
	int (*kernel)(const struct rig *g, int go);
	void (*check)(struct rig *g);
	int mtu;
	bool offload;
	double loss;
	uint64_t seed;
	const struct tcp_opts *options;
	bool active, echo, records, refuse;
	bool close_on_fin, close_when_sent, after_fin;
	uint64_t to_send;
	uint64_t kernel_sends;
	uint64_t abort_after;
	uint64_t hold_until; /* rx() takes nothing before */
	bool no_sack, no_timestamps; /* the kernel's settings */
	enum tcp_event expect;

	/* in the run */
	struct tcp_opts opts;
	int tap;
	uint8_t kernel_mac[6];
	struct tcp_engine *engine;
	struct tcp_conn *conn;
	bool wait_writable, over;
	uint32_t events;
	uint64_t sent, received, acked, frames_in, rng, start;
	double seconds;
	struct tcp_conn_info last;
	char why[200];
};

bool rig_possible(void);
void tap_record(const struct rig *g, const uint8_t *frame, size_t len);
bool run_case(struct rig *g);
void rig_fail(struct rig *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const uint8_t *pattern_at(uint64_t pos);

#endif
