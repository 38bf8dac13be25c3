/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rbench: small verbs benchmark over rdma_cm. Shared by its client and server. */
#ifndef RBENCH_H
#define RBENCH_H

#include <stdbool.h>
#include <stdint.h>

#include <rdma/rdma_cma.h>

#define RBENCH_PORT	7777
#define RBENCH_MAX_SIZE (4u << 20)
#define RBENCH_MAX_N	(1u << 20)

enum rbench_op {
	RBENCH_WRITE,
	RBENCH_READ,
	RBENCH_SEND,
	RBENCH_PINGPONG,
	RBENCH_OPS
};

extern const char *const rbench_op_name[RBENCH_OPS];

/* What the client asks for: private data of its request, network byte order. */
struct rbench_hello {
	uint32_t op;
	uint32_t size;
	uint32_t count;
	uint32_t depth;
	uint32_t polled;
} __attribute__((packed));

/* Where the client may write and read: private data of the server's answer, network byte order. */
struct rbench_target {
	uint64_t addr;
	uint32_t rkey;
} __attribute__((packed));

/**
 * struct rbench - one end of a connection
 * @id: rdma_cm id
 * @channel: of @cq
 * @cq: all completions
 * @mr: @buf, registered
 * @buf: RBENCH_MAX_SIZE bytes
 * @polled: spin on the CQ instead of sleeping on the channel
 * @flushed: the connection is gone, what was posted comes back unexecuted
 */
struct rbench {
	struct rdma_cm_id *id;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	char *buf;
	bool polled;
	bool flushed;
};

void die(const char *what) __attribute__((noreturn));
void rbench_setup(struct rbench *b, uint32_t sends, uint32_t recvs);
void rbench_teardown(struct rbench *b);
void rbench_post_recv(struct rbench *b, uint32_t size);
void rbench_post_send(struct rbench *b, enum ibv_wr_opcode opcode, uint32_t size, bool signaled,
		      const struct rbench_target *target);
/* At least one successful completion; 0 when the connection is gone. */
int rbench_wait(struct rbench *b, struct ibv_wc *wc, int max);
/* @addr: IPv4 address to listen on */
int rbench_server(const char *addr);
int rbench_client(const char *addr, const struct rbench_hello *hello);

#endif /* RBENCH_H */
