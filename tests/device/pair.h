/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two devices on one wire, and connections between them up to RDMA mode. */
#ifndef TESTS_DEVICE_PAIR_H
#define TESTS_DEVICE_PAIR_H

#include "drv.h"

#define PAIR_MTU 9000

/* One end: device, EQs, CQ, a QP, a buffer. */
struct end {
	struct drv *d;
	u8 host; /* 10.0.0.host */
	struct drv_eq async;
	struct drv_eq tcp;
	struct drv_eq comp;
	struct drv_cq cq;
	struct drv_qp qp;
	u64 buf;
};

#define END_PD	     7
#define END_QP	     5
#define END_CONN     3
#define END_STAG     0x00001033
#define END_BUF_SIZE (1u << 20)

#define EQN_ASYNC 0
#define EQN_TCP	  1
#define EQN_COMP  2

/* Both devices up, with EQs, a CQ, next hop 0 to the other, port up; no QP yet. */
void pair_start(struct end *a, struct end *b, u32 mtu);
/* One device whose two ends meet in itself (loop next hop). */
void end_init(struct end *e, struct drv *d, u8 host);
void end_qp(struct end *e, u16 flags);
/* A TCP connection from @a (conn END_CONN) to port @port of @b (conn END_CONN), both in streaming
 * mode. */
void pair_connect(struct end *a, struct end *b, u16 port);
/* Stream bytes from one end to the other; the receiver's next event(s) must hold them from @offset
 * on. */
void pair_stream(struct end *from, struct end *to, const void *data, u32 len, u64 offset);
/* IRD and ORD of both ends (8). */
extern u16 pair_reads;
union drv_cmd end_rdma_cmd(struct end *e, u8 role, u8 rtr, u16 flags, u64 rx_offset);
/* QPs, connection, MPA-like exchange of one request and one reply, and both ends in RDMA mode: @a
 * is initiator. */
void pair_rdma(struct end *a, struct end *b, u16 flags, u8 rtr);
/* The next CQE must be of that WQE with that status. */
struct ornic_cqe end_cqe(struct end *e, u8 opcode, u32 index, u8 status);
void end_no_cqe(struct end *e);
/* Post receives over e->buf + off. */
void end_recv(struct end *e, u32 off, u32 len);
struct ornic_sq_wqe_msg *end_send(struct end *e, u8 opcode, u8 flags, u32 off, u32 len);

#endif /* TESTS_DEVICE_PAIR_H */
