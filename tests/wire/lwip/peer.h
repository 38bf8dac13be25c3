/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lwIP at the far end of a wire. Its names and ours are the same (tcp_input() and more), so nothing
 * of it but what is declared here can be seen from outside.
 */
#ifndef TESTS_WIRE_LWIP_PEER_H
#define TESTS_WIRE_LWIP_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct lwip_peer_ops - its surroundings
 * @now_ms: virtual time
 * @output: an IP packet to the wire
 * @pattern: 64 KiB or more of the stream of bytes that both ends send, from @pos on
 */
struct lwip_peer_ops {
	uint32_t (*now_ms)(void);
	void (*output)(const void *packet, size_t len);
	const uint8_t *(*pattern)(uint64_t pos);
};

/**
 * struct lwip_peer - one connection of it, 10.0.0.2 or 2001:db8::2 to .1 or ::1
 * @active: it opens, to @port; else it listens there
 * @to_send: then it closes, for its part
 * @why: what went wrong; NULL: nothing
 */
struct lwip_peer {
	bool v6, active;
	uint16_t port;
	uint64_t to_send;

	uint64_t sent, received;
	bool peer_fin;
	const char *why;
	void *pcb;
};

/* Once. false: there is no source of lwIP here, so no lwIP. */
bool lwip_peer_init(const struct lwip_peer_ops *ops);
bool lwip_peer_start(struct lwip_peer *p);
void lwip_peer_input(const void *packet, size_t len);
void lwip_peer_timers(void);
/* ms until lwip_peer_timers() is needed */
uint32_t lwip_peer_wait(void);
/* No connection is left, not even in TIME_WAIT */
bool lwip_peer_idle(void);

#endif
