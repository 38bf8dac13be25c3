/* SPDX-License-Identifier: GPL-2.0-or-later */
/* churn: connections that come, transfer and end in every way, each judged. Shared by its ends. */
#ifndef CHURN_H
#define CHURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/rdma_cma.h>

#define CHURN_PORT  7190
#define CHURN_SPACE 65536 /* bytes that a client may write and read at its server */
#define CHURN_MSG   8192 /* longest message */
#define CHURN_RECVS 4

/* How long the driver waits for a peer that does not answer, when it connects and when it closes.
 */
#define CHURN_PEER_MS 65000

/* How a connection ends; the client's last message says it. */
enum churn_bye {
	CHURN_STAYS,
	CHURN_CLIENT_DISCONNECTS,
	CHURN_CLIENT_DESTROYS,
	CHURN_SERVER_DISCONNECTS,
	CHURN_BYES
};

/* Begin of a message, big endian; the rest is churn_fill()ed with the seed. */
struct churn_msg {
	uint32_t seed;
	uint32_t bye;
};

/* Where the client may write and read: private data of the server's reply, big endian. */
struct churn_target {
	uint64_t addr;
	uint32_t rkey;
} __attribute__((packed));

/* A buffer of an end: what the other writes, what comes back of it, messages. */
struct churn_buf {
	uint8_t space[CHURN_SPACE];
	uint8_t back[CHURN_SPACE];
	uint8_t send[CHURN_MSG];
	uint8_t recv[CHURN_RECVS][CHURN_MSG];
};

/**
 * struct churn - one end of a connection
 * @id: rdma_cm id
 * @channel: of @cq
 * @cq: all completions
 * @mr: @buf, registered
 * @posted: work requests, send and receive
 * @completed: how many of them have come back, successful or not
 * @succeeded: how many of these were successful
 * @failed: the first status other than success or flushed, 0 if none
 * @flushed: one was flushed
 * @disconnected: DISCONNECTED has come
 * @removed: DEVICE_REMOVAL has come
 * @wrong: what is against the rules, NULL if nothing
 */
struct churn {
	struct rdma_cm_id *id;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct churn_buf *buf;
	uint32_t posted;
	uint32_t completed;
	uint32_t succeeded;
	enum ibv_wc_status failed;
	bool flushed;
	bool disconnected;
	bool removed;
	const char *wrong;
};

/* Milliseconds that the other end, or the kernel, may take for anything: of option -w. */
extern int churn_wait_ms;

int64_t churn_now_ms(void);
void churn_fill(uint8_t *to, size_t len, uint32_t seed);
bool churn_same(const uint8_t *data, size_t len, uint32_t seed);

/* QP, CQ, memory and receives of @c->id; false and errno if the device does not give them. */
bool churn_setup(struct churn *c);
void churn_teardown(struct churn *c);
bool churn_post_recv(struct churn *c, unsigned int slot);
bool churn_post_send(struct churn *c, enum ibv_wr_opcode opcode, const void *from, uint32_t len,
		     const struct churn_target *target);
/* Up to @max completions, at once; counts them, and the bad ones. */
int churn_poll(struct churn *c, struct ibv_wc *wc, int max);
/*
 * All that is posted comes back once a connection has ended, unless the device is dead; else
 * something is wrong.
 */
void churn_drain(struct churn *c);
/* DISCONNECTED and DEVICE_REMOVAL of an established connection; anything else is wrong. */
void churn_note(struct churn *c, const struct rdma_cm_event *ev);

/* One line: how a connection ended, and why. */
void churn_say(const char *outcome, const char *why);

/* Exit codes: 0 it was told to end, or the time is over; CHURN_AGAIN it needs a new process, as for
 * a device that is another one now.
 */
#define CHURN_AGAIN 3
int churn_server(const char *addr);
int churn_client(const char *addr, int64_t until, unsigned int seed);

#endif /* CHURN_H */
