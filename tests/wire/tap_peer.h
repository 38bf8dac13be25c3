/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A case of "Linux's TCP against the engine": what both ends do, and what came of it.
 */
#ifndef TESTS_WIRE_TAP_PEER_H
#define TESTS_WIRE_TAP_PEER_H

#include "tcp/tcp.h"

#include <netinet/in.h>

#define PORT 4711

enum rig_net {
	NET_IPV4, /* 10.9.0.x */
	NET_IPV6, /* 2001:db8:9::x */
	NET_LINK_LOCAL, /* fe80::x */
};

enum rig_host {
	HOST_ENGINE = 1,
	HOST_KERNEL = 2,
	HOST_BEYOND = 3 /* in another network; the kernel is the router */
};

/**
 * struct rig - one case
 * @kernel: what the kernel's end does, in a child; exit code 0 is success. @go can be read to wait
 *	until the case ends
 * @check: after both ends are done
 * @loss: probability per frame, in both directions
 * @delay: of each frame, one way, ns
 * @overtaken: probability per frame to come @delay later than it should
 * @hole: longest IP packet that gets to the kernel, longer ones vanish; 0: all do
 * @active: the engine opens; else it listens
 * @expect: the engine's terminal event
 * @expect_info: and its info, unless 0
 * @route: the engine opens to HOST_BEYOND, for which the kernel has a route of this RTN_* type.
 *With RTN_UNICAST that is the engine too, its other end; so all packets pass the kernel, as a
 *	router, twice.
 * @route_mtu: MTU of that route
 * @echo: the engine sends back what it receives
 * @after_fin: close when all is sent, but not before the peer's FIN
 */
struct rig {
	const char *name;
	int (*kernel)(const struct rig *g, int go);
	void (*check)(struct rig *g);
	int mtu;
	bool offload;
	double loss, overtaken;
	uint64_t delay;
	uint32_t hole;
	enum rig_net net;
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
	uint32_t expect_info;
	uint8_t route;
	uint32_t route_mtu;

	/* in the run */
	struct tcp_opts opts;
	int tap;
	uint8_t kernel_mac[6];
	unsigned int ifindex;
	struct tap_delay *delayed;
	struct tcp_engine *engine;
	struct tcp_conn *conn, *far; /* @far: the other end, behind the router */
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
socklen_t rig_sockaddr(const struct rig *g, enum rig_host host, struct sockaddr_storage *ss);
bool rig_route(const struct rig *g);
bool rig_addresses(struct rig *g, const uint8_t *engine_mac);

/* ---- tap_delay.c: a wire that takes time ---- */

/**
 * tap_delay_put - the frame comes out of tap_delay_run() at @at
 * @out: to the kernel; else to the engine
 */
void tap_delay_put(struct rig *g, bool out, uint64_t at, const struct tcp_tx_meta *meta,
		   const void *frame, size_t len, unsigned int csum_flags);
/* When the next frame is due, TCP_NO_DEADLINE if there is none */
uint64_t tap_delay_due(const struct rig *g);
void tap_delay_run(struct rig *g, uint64_t now);

/* What tap_delay_run() hands frames to */
int tap_send(struct rig *g, const struct iovec *iov, int cnt, const struct tcp_tx_meta *meta);
void tap_deliver(struct rig *g, const uint8_t *frame, size_t len, unsigned int csum_flags);
void rig_fail(struct rig *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const uint8_t *pattern_at(uint64_t pos);

#endif
