/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The iWARP engine: completion queues, queue pairs, MPA framing (RFC 5044),
 * DDP (RFC 5041) and RDMAP (RFC 5040) over connections of the TCP engine.
 *
 * Everything runs in the loop's thread. Work is done in iw_run() (what doorbells
 * and queue records ask for), in the TCP callbacks below, and in commands.
 */
#ifndef RNICD_IWARP_IWARP_H
#define RNICD_IWARP_IWARP_H

#include <stdio.h>

#include "hw/conn.h"
#include "hw/dev.h"
#include "tcp/tcp.h"

struct iw_qp;

/* Capabilities of this engine. */
#define IW_CAPS (ORNIC_CAP_AWAKE | ORNIC_CAP_MARKERS | ORNIC_CAP_ARM_REC)

/* Allocates dev->iw. 0 or -ENOMEM. */
int iw_init(struct rnic *dev);
void iw_free(struct rnic *dev);
/*
 * All QPs and CQs go, without a completion or event and without a call about
 * a connection: those must have been dropped before.
 */
void iw_reset(struct rnic *dev);
/* To be called in each turn of the loop. Return: true, there is work left: do not sleep. */
bool iw_run(struct rnic *dev);

/*
 * Commands; @cmd is our copy, its mbz bytes and the opcode were checked.
 */
struct cmd_ret iw_cmd_create_cq(struct rnic *dev, const void *cmd);
struct cmd_ret iw_cmd_destroy_cq(struct rnic *dev, const void *cmd);
struct cmd_ret iw_cmd_create_qp(struct rnic *dev, const void *cmd);
struct cmd_ret iw_cmd_modify_qp(struct rnic *dev, const void *cmd);
struct cmd_ret iw_cmd_query_qp(struct rnic *dev, const void *cmd);
struct cmd_ret iw_cmd_destroy_qp(struct rnic *dev, const void *cmd);

/**
 * iw_doorbell() - a store to a doorbell page.
 * @kind: ORNIC_DB_SQ, _RQ, _SRQ or _CQ_ARM: offset in the page.
 * @page: number of the page.
 * @val: the 64 bits stored.
 * Return: false when it is refused: no such object, another page's, bits that must be zero.
 */
bool iw_doorbell(struct rnic *dev, u32 kind, u32 page, u64 val);

struct iw_qp *iw_qp_find(struct rnic *dev, u32 qpn);
u8 iw_qp_state(const struct iw_qp *qp); /* enum ornic_qp_state */

/**
 * iw_bind() - MODE_RDMA, first half: from now on received bytes are FPDUs.
 * @qp: IDLE; the limits of @cmd were checked.
 * @c: its connection, c->qp set already.
 */
void iw_bind(struct iw_qp *qp, struct rnic_conn *c, const struct ornic_cmd_mode_rdma *cmd);
/* Second half, when the final stream bytes are queued: the initiator's RTR and SQ go. */
void iw_start(struct iw_qp *qp);

/* TCP callbacks of a bound connection. */
size_t iw_rx(struct iw_qp *qp, const void *data, size_t len);
int iw_gather(struct iw_qp *qp, const struct tcp_record *rec, u32 off, u32 len,
	      struct tcp_gather *g);
void iw_pull(struct iw_qp *qp);
void iw_acked(struct iw_qp *qp, const struct tcp_record *rec);
void iw_peer_fin(struct iw_qp *qp);
void iw_fin_acked(struct iw_qp *qp);
/* The terminal event, or the connection was freed: c->qp is NULL already. All completions are
 * written on return. */
void iw_conn_lost(struct iw_qp *qp);

/* CLOSE: as MODIFY_QP to CLOSING; in ERROR the FIN goes at once. */
void iw_qp_close(struct iw_qp *qp);
/* TERMINATE of a bound connection. Return: false when no message can be sent any more. */
bool iw_terminate(struct iw_qp *qp, u8 layer, u8 etype, u8 code);

#define IW_TERM_FPDU_MAX 80
/* A Terminate message without terminated headers as the first FPDU of a stream; @flags:
 * ORNIC_RDMAF_CRC, _TX_MARKERS. Returns its length, at most IW_TERM_FPDU_MAX. */
size_t iw_build_terminate(u8 *buf, u8 layer, u8 etype, u8 code, u16 flags);

/* State of all queues as lines of text. */
void iw_dump(struct rnic *dev, FILE *f);

#endif /* RNICD_IWARP_IWARP_H */
