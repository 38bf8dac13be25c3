/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two RNICs without a bus: the iWARP engine, memory table and event queues of
 * each over a real TCP engine, joined by a wire in virtual time. Host memory is
 * a memfd. What hw/conn.c does in the device is done here in its simplest form.
 */
#ifndef TESTS_UNIT_IWARP_RIG_H
#define TESTS_UNIT_IWARP_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "hw/eq.h"
#include "hw/mr.h"
#include "iwarp/fpdu.h"
#include "iwarp/internal.h"
#include "iwarp/iwarp.h"

#define GUEST_BASE  0x40000000ull
#define GUEST_SIZE  (96u << 20)
#define MAX_CONNS   8
#define RAW_MAX	    (1u << 20)
#define PDN	    7u
#define COMP_EQN    1u
#define ASYNC_EQN   0u
#define MS	    1000000ull
#define RIG_TIMEOUT (30ull * 1000 * MS)

struct rig;

/* A connection, as hw/conn.c would see it, and what happened to it. */
struct tconn {
	struct rnic_conn c;
	struct host *h;
	bool established;
	bool peer_fin;
	bool fin_acked;
	bool ended;
	enum tcp_event end;
	u32 first_fpdu;
	u32 terms_sent;
	u32 terms_rcvd;
	u32 closes;
	u8 *raw; /* stream bytes received in streaming mode */
	u32 raw_len;
	u64 flushed_before_end; /* CQEs seen when the terminal event came */
};

struct host {
	struct rnic dev;
	struct rig *rig;
	int idx;
	int memfd;
	u8 *mem;
	u64 next; /* next free guest offset */
	u32 irqs;
	u32 async_ci;
	u32 comp_ci;
	u64 async_ring;
	u64 comp_ring;
	struct tconn conn[MAX_CONNS];
	u32 nconn;
	u32 next_stag;
	u32 next_cqn;
	u32 next_qpn;
};

struct frame {
	struct frame *next;
	u64 due;
	int to;
	size_t len;
	u8 data[];
};

struct rig {
	u64 now;
	u64 delay;
	u32 loss; /* frames lost per 65536 */
	u32 hole; /* longer IP packets are lost as well, unless 0 */
	u32 corrupt_next;
	u64 seed;
	u64 frames;
	u64 lost;
	struct frame *head, **tail;
	void *owned[4096]; /* freed with the rig */
	u32 nowned;
	struct host h[2];
};

struct tcq {
	struct host *h;
	u32 cqn;
	u32 shift;
	u32 ci;
	u64 ring;
	u64 rec;
	u8 arm_seq;
};

struct tqp {
	struct host *h;
	u32 qpn;
	struct tcq *scq;
	struct tcq *rcq;
	u8 sq_shift, sq_stride, rq_shift, rq_stride;
	u64 sq, rq, rec;
	u32 sq_pi, rq_pi;
	bool always_ring;
	struct tconn *conn;
};

/* A memory region whose pages are in disorder. */
struct tmr {
	struct host *h;
	u32 stag;
	u64 iova;
	u64 len;
	u32 offset;
	u32 npages;
	u64 *pages;
};

struct rig *rig_new(u32 mtu);
void rig_free(struct rig *r);
u32 rig_random(struct rig *r);
/* Zeroed memory that goes with the rig. */
void *rig_own(struct rig *r, size_t size);
/* One step of virtual time; false: nothing is left to happen. */
bool rig_step(struct rig *r);
/* Steps until @done says so; fails the test after RIG_TIMEOUT of virtual time. */
void rig_until(struct rig *r, bool (*done)(void *arg), void *arg);
void rig_run_for(struct rig *r, u64 ns);

u64 host_alloc(struct host *h, u64 size, u64 align);
void *host_ptr(struct host *h, u64 gpa);

struct tcq *tcq_new(struct host *h, u32 shift);
/* The next completion, if there is one. */
bool tcq_poll(struct tcq *cq, struct ornic_cqe *cqe);
bool tcq_arm(struct tcq *cq, bool solicited);
/* Completion events for this CQ since the last call. */
u32 host_comp_events(struct host *h, u32 cqn);
bool host_async(struct host *h, struct ornic_aeqe *ev);

struct tqp_cfg {
	u8 sq_shift, sq_stride, rq_shift, rq_stride;
	u16 flags;
	u16 access;
	u32 pdn;
};

struct tqp *tqp_new(struct host *h, struct tcq *scq, struct tcq *rcq, const struct tqp_cfg *cfg);
void *tqp_wqe(struct tqp *qp, u32 index); /* cleared */
/* Fill the header and count; tqp_ring() makes it known. */
struct ornic_sq_wqe_msg *tqp_send_wqe(struct tqp *qp, u8 opcode, u8 flags);
void tqp_sge(struct ornic_sq_wqe_msg *w, u64 addr, u32 len, u32 stag);
void tqp_ring(struct tqp *qp);
void tqp_post_recv(struct tqp *qp, u64 addr, u32 len, u32 stag);
u8 tqp_state(struct tqp *qp);
struct cmd_ret tqp_modify(struct tqp *qp, u8 state);
struct cmd_ret tqp_destroy(struct tqp *qp);
struct ornic_qp_attr tqp_query(struct tqp *qp);

struct tmr *tmr_new(struct host *h, u64 len, u16 access, u32 pdn);
void tmr_write(struct tmr *mr, u64 off, const void *src, u64 len);
void tmr_read(struct tmr *mr, u64 off, void *dst, u64 len);
void tmr_fill(struct tmr *mr, u64 off, u64 len, u32 seed);
/* Does it hold what tmr_fill() with the same arguments wrote, from byte @skip of the pattern on? */
bool tmr_check(struct tmr *mr, u64 off, u64 len, u32 seed, u64 skip);
void tmr_dereg(struct tmr *mr);
/* A fast-register MR, invalid yet. */
struct tmr *tmr_alloc_fast(struct host *h, u32 pages);

/* A TCP connection between the hosts: [0] opened it. */
void rig_connect(struct rig *r, struct tconn *out[2]);
struct bind_cfg {
	u8 role;
	u8 rtr;
	bool crc;
	bool tx_markers, rx_markers;
	u16 ird, ord;
};
void rig_bind(struct tqp *qp, struct tconn *tc, const struct bind_cfg *cfg);
/* Both ends bound: the responder first, as in real life. */
void rig_pair(struct rig *r, struct tqp *a, struct tqp *b, const struct bind_cfg *init);

#endif /* TESTS_UNIT_IWARP_RIG_H */
