/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One TCP engine, a crafting peer in front of it, and an owner behind it that writes down what it
 * is told. Sequence numbers in tests are relative: the peer's from its SYN (0), the engine's from
 * its own.
 */
#ifndef TESTS_TCP_PEER_H
#define TESTS_TCP_PEER_H

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tcp/tcp.h"

#define FIN 0x01
#define SYN 0x02
#define RST 0x04
#define PSH 0x08
#define ACK 0x10

#define PEER_ISS  0xfffffff0u /* near the wrap, so that every test crosses it */
#define PEER_PORT 4000
#define OUR_PORT  5000
#define MS	  1000000ull
#define SECOND	  1000000000ull

#define MAX_OUT	   1100
#define MAX_EVENTS 64
#define RX_MAX	   (4u << 20)

/* A segment, in or out. mss 0, ws -1 and so on: option not there */
struct pseg {
	uint8_t flags;
	uint32_t seq, ack; /* relative */
	uint32_t wnd; /* as in the header */
	const void *data;
	uint32_t len;
	uint16_t mss;
	int ws; /* 0: none in a crafted one; shift + 1 */
	bool sackok, ts;
	uint32_t tsval, tsecr;
	unsigned int nsack;
	struct {
		uint32_t start, end; /* relative */
	} sack[4];
	/* crafted only */
	uint16_t sport, dport;
	uint8_t saddr; /* last byte of 10.0.0.x, or IPv6; 0: 2 */
	uint8_t daddr; /* 0: 1 */
	bool bad_csum;
	uint16_t frag; /* IP fragment field */
	uint16_t vlan; /* 0: untagged */
	const uint8_t *rawopt;
	uint8_t rawoptlen;
	uint8_t doff; /* 0: right */
	uint16_t iplen; /* 0: right */
	const uint8_t *ext; /* IPv6 extension headers, the last one's next header is TCP */
	uint8_t extlen;
	uint8_t extnext; /* type of the first */
};

/* An ICMP error (ICMPv6 when the environment is) that quotes one of the engine's segments */
struct picmp {
	uint8_t type, code;
	uint32_t mtu;
	uint32_t seq; /* relative */
	uint16_t lport; /* 0: OUR_PORT */
	uint16_t packet_len; /* 0: 1500 */
	bool bad_csum;
	uint16_t vlan;
	unsigned int cut; /* bytes that are missing at the end */
};

struct out {
	bool v6;
	uint32_t flow_label;
	struct pseg s;
	uint8_t frame[66000];
	uint32_t frame_len;
	uint8_t dscp, ttl;
	uint16_t tci; /* 0: untagged */
	struct tcp_tx_meta meta;
};

struct env {
	struct tcp_engine *e;
	struct tcp_conn *c;
	uint64_t now;
	bool v6; /* what is crafted and opened */
	uint8_t net[15]; /* all of the addresses but the last byte */
	uint32_t iss; /* of the engine */
	bool iss_known;
	struct out *out;
	unsigned int nout;
	unsigned int taken; /* next frame for next_out() */
	unsigned int total_out;
	int xmit_rc;
	struct {
		enum tcp_event ev;
		uint32_t info;
	} events[MAX_EVENTS];
	unsigned int nevents;
	uint8_t *rx;
	uint32_t rx_len;
	size_t rx_limit; /* bytes rx() takes before it stops; SIZE_MAX: all */
	unsigned int nreqs;
	uint32_t syn_id;
	struct tcp_syn_info syn;
	uint8_t syn_frame[256];
	size_t syn_len;
	bool refuse_req;
	unsigned int nhost;
	uint8_t host_frame[256];
	size_t host_len;
	unsigned int npull;
	void (*on_pull)(struct env *v);
	uint64_t acked[2048];
	unsigned int nacked;
	unsigned int gathers;
	int gather_rc;
	bool free_on_event;
	uint32_t rng;
};

struct env *env_new(const struct tcp_engine_config *cfg);
struct env *env_new6(const struct tcp_engine_config *cfg); /* 2001:db8::/120 */
void env_free(struct env *v);

/* Craft a frame from the peer and give it to the engine */
enum tcp_verdict put(struct env *v, struct pseg s);
#define PUT(v, ...) put(v, (struct pseg){__VA_ARGS__})
void put_icmp(struct env *v, struct picmp i);
#define PUT_ICMP(v, ...) put_icmp(v, (struct picmp){__VA_ARGS__})
size_t craft(struct env *v, uint8_t *frame, const struct pseg *s);

/* Next captured frame; the test fails if there is none */
struct out *next_out(struct env *v);
void no_out(struct env *v);
void drop_out(struct env *v);
void advance(struct env *v, uint64_t ns);

void expect_event(struct env *v, enum tcp_event ev, uint32_t info);
void no_event(struct env *v);

/* Common beginnings */
extern const struct tcp_opts full_opts; /* wscale, timestamps, SACK, 256 KiB */
extern const struct tcp_opts plain_opts; /* no option but MSS, window 20000 */
struct ip_addr env_addr(const struct env *v, uint8_t last);
struct tcp_open_params open_params6(const struct env *v, const struct tcp_opts *o);
struct tcp_open_params open_params(const struct tcp_opts *o);
void open_conn(struct env *v, const struct tcp_opts *o);
void establish(struct env *v, const struct tcp_opts *o); /* active open to ESTABLISHED, RTT 10 ms */
struct env *established(const struct tcp_opts *o);
/* the peer acknowledges up to @ack, window @wnd as in the header */
void peer_ack(struct env *v, uint32_t seq, uint32_t ack, uint32_t wnd);
uint32_t peer_tsval(struct env *v);

const uint8_t *bytes(void); /* 64 KiB of test data */
void send_records(struct env *v, unsigned int n, uint32_t len);

#endif
