/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A driver for tests: starts rnicd, attaches to it as a VMM would, and speaks
 * the hardware contract, rightly or wrongly. Nothing here knows more of the
 * device than include/ornic/ says.
 *
 * What cannot fail in a test that is right ends the test by itself.
 */
#ifndef TESTS_DEVICE_DRV_H
#define TESTS_DEVICE_DRV_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "ornic/hw.h"
#include "test.h"
#include "vfu_client.h"

#define DRV_RAM_BASE 0x10000000ULL
#define DRV_RAM_SIZE (64ULL << 20)
#define DRV_WAIT_MS  20000

#define DRV_CMDQ_SHIFT 5

union drv_cmd {
	struct ornic_cmd_hdr hdr;
	struct ornic_cmd_query_stats stats;
	struct ornic_cmd_create_eq eq;
	struct ornic_cmd_number number;
	struct ornic_cmd_create_cq cq;
	struct ornic_cmd_create_qp qp;
	struct ornic_cmd_modify_qp modify_qp;
	struct ornic_cmd_reg_mr reg_mr;
	struct ornic_cmd_alloc_mr alloc_mr;
	struct ornic_cmd_stag stag;
	struct ornic_cmd_set_nexthop nexthop;
	struct ornic_cmd_listen listen;
	struct ornic_cmd_open open;
	struct ornic_cmd_accept accept;
	struct ornic_cmd_refuse refuse;
	struct ornic_cmd_stream_tx stream_tx;
	struct ornic_cmd_stream_rx_done rx_done;
	struct ornic_cmd_mode_rdma rdma;
	struct ornic_cmd_update_conn update;
	struct ornic_cmd_terminate terminate;
	struct ornic_cmd_create_ethq ethq;
	struct ornic_cmd_set_rx_mode rx_mode;
	struct ornic_cmd_set_mac mac;
	struct ornic_cmd_set_port port;
	u8 raw[ORNIC_CMD_SIZE];
};
_Static_assert(sizeof(union drv_cmd) == ORNIC_CMD_SIZE, "command size");

/**
 * struct drv - one device and what its driver knows
 * @c: the VMM's end
 * @res: last command completion
 * @alloc: next free byte of guest memory
 */
struct drv {
	struct vfu_client *c;
	int pid;
	char dir[64];
	char sock[96];
	char ctl[96];
	char log[96];
	u8 mac[6];
	u64 alloc;
	u64 cmd_sq;
	u64 cmd_cq;
	u32 cmd_tail;
	u32 cmd_gen;
	struct ornic_cmd_cqe res;
	u32 db_stride;
	u32 db_pages;
	u32 next_vector;
};

struct drv_opts {
	const char *wire; /* as --wire; NULL: null wire */
	u8 mac_last;
	const char *extra; /* one more "--option=value", or NULL */
	bool no_enable; /* leave the command queue alone */
};

/* ---- life ---- */

/* A directory for the test's sockets, removed by drv_stop_all(). */
const char *drv_dir(void);
struct drv *drv_start(const struct drv_opts *o);
/* A VMM attaches anew: after drv_detach(), or a reset of the machine. */
void drv_attach(struct drv *d);
void drv_detach(struct drv *d);
/* The command queue's registers and ENABLE. */
void drv_enable(struct drv *d);
void drv_reset(struct drv *d);
/* One device whose wire leads nowhere, ready for commands. */
struct drv *drv_plain(void);
/* Ends all devices; true if all of them ended well. */
bool drv_stop_all(void);
/* A client of the control socket, which waits DRV_WAIT_MS for what it reads. */
int drv_ctl_connect(const struct drv *d);
/* Text of the control socket's answer; freed by the caller. */
char *drv_ctl(struct drv *d, const char *line);
u64 drv_stat(struct drv *d, enum ornic_stat stat);
/* A number by its name in the control socket's "stats". */
u64 drv_ctl_stat(struct drv *d, const char *name);

/* ---- memory and registers ---- */

/* Zeroed guest memory, 4 KiB aligned. */
u64 drv_alloc(struct drv *d, u64 len);
void *drv_ptr(struct drv *d, u64 addr, u64 len);
struct ornic_qmem drv_qmem(u64 addr, u64 len);
u32 drv_reg(struct drv *d, u32 off);
void drv_set_reg(struct drv *d, u32 off, u32 val);
void drv_doorbell(struct drv *d, u32 page, u32 kind, u64 val);
u64 drv_db(u32 number, u64 flags, u32 index);
/* All that was written before has been handled. */
void drv_flush(struct drv *d);
void drv_sleep_ms(int ms);
/* Called while something is waited for, if not NULL: a test that plays the peer too does so here.
 */
extern void (*drv_idle)(void);

/* ---- commands ---- */

/* A zeroed command with that opcode. */
union drv_cmd drv_cmd(u16 opcode);
/* Executes it; returns the status, d->res holds the completion. */
int drv_exec(struct drv *d, union drv_cmd *cmd);
/* Must succeed. */
void drv_do(struct drv *d, union drv_cmd *cmd);
/* Must fail with that status, at that byte. */
void drv_refused(struct drv *d, union drv_cmd *cmd, int status, size_t off);
/* A command of struct ornic_cmd_number. */
int drv_number(struct drv *d, u16 opcode, u32 number);
#define OFF(type, field) offsetof(struct type, field)

/* ---- event queues ---- */

struct drv_eq {
	u32 eqn;
	u8 kind;
	u8 shift;
	u8 entry_shift;
	u16 vector;
	u64 ring;
	u64 data;
	u32 ci;
};

struct drv_eq drv_eq_new(struct drv *d, u32 eqn, u8 kind, u8 shift);
/* Next entry within @ms: true and a copy in @entry. For the TCP EQ, @data gets the data slot (may
 * be NULL). */
bool drv_eq_next(struct drv *d, struct drv_eq *eq, void *entry, void *data, int ms);
void drv_eq_arm(struct drv *d, struct drv_eq *eq, bool arm);
/* Next event of the TCP EQ must be of that type and connection. */
struct ornic_teqe drv_tcp_event(struct drv *d, struct drv_eq *eq, u8 type, u32 conn, void *data);

/* ---- CQs, QPs, MRs ---- */

struct drv_cq {
	u32 cqn;
	u8 shift;
	u64 mem;
	u32 ci;
	u32 arm_seq;
	u32 page;
};

struct drv_qp {
	u32 qpn;
	u32 page;
	u8 sq_shift;
	u8 rq_shift;
	u64 mem;
	u32 sq_off;
	u32 rq_off;
	u32 sq_pi;
	u32 rq_pi;
};

#define DRV_SQ_STRIDE_SHIFT 8
#define DRV_RQ_STRIDE_SHIFT 6

struct drv_cq drv_cq_new(struct drv *d, u32 cqn, u32 eqn, u8 shift, u32 page);
bool drv_cq_next(struct drv *d, struct drv_cq *cq, struct ornic_cqe *cqe, int ms);
void drv_cq_arm(struct drv *d, struct drv_cq *cq, bool solicited);
/* The command that drv_qp_new() sends, for tests that spoil it. */
union drv_cmd drv_qp_cmd(struct drv *d, struct drv_qp *qp, u32 qpn, u32 pdn, u32 scqn, u32 rcqn,
			 u16 flags, u32 page);
struct drv_qp drv_qp_new(struct drv *d, u32 qpn, u32 pdn, u32 scqn, u32 rcqn, u16 flags, u32 page);
/* The next SQ or RQ WQE, zeroed but for its index. */
void *drv_sq_wqe(struct drv *d, struct drv_qp *qp);
void *drv_rq_wqe(struct drv *d, struct drv_qp *qp);
/* Publish what was written: record and doorbell. */
void drv_sq_ring(struct drv *d, struct drv_qp *qp);
void drv_rq_ring(struct drv *d, struct drv_qp *qp);
/* A MR over plain memory at its own address. */
void drv_reg_mr(struct drv *d, u32 stag, u32 pdn, u64 addr, u64 len, u16 access);

/* ---- TCP ---- */

void drv_nexthop(struct drv *d, u32 index, const u8 *dmac, u16 mtu, u16 flags);
/* Receive window of connections, bytes. */
extern u32 drv_window;
/* 15 bytes: hosts have IPv6 addresses that start so, else 10.0.0.HOST. */
extern const u8 *drv_net6;
struct ornic_tcp_opts drv_tcp_opts(void);
union drv_cmd drv_open_cmd(u32 conn, u32 nexthop, u8 from, u16 lport, u8 to, u16 rport);
union drv_cmd drv_listen_cmd(u32 id, u8 addr, u16 port);
union drv_cmd drv_accept_cmd(u32 syn, u32 conn, u32 nexthop);
int drv_stream_tx(struct drv *d, u32 conn, const void *data, u32 len);

#endif /* TESTS_DEVICE_DRV_H */
