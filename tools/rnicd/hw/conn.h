/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TCP connections as the host sees them: commands, events, streaming mode, and
 * the switch to RDMA mode. The engine below is tcp/, the user above is iwarp/.
 */
#ifndef RNICD_HW_CONN_H
#define RNICD_HW_CONN_H

#include "hw/eq.h"

struct iw_qp;

#define CONN_MAX_EVENTS 12

/* An event that waits its turn. */
struct conn_event {
	u8 type; /* enum ornic_tcp_event */
	u32 info;
};

/**
 * struct rnic_conn - a connection id in use
 * @dev: the device
 * @tcp: the engine's connection; NULL after FREE_CONN only
 * @qp: bound QP: the iWARP engine has the bytes. NULL in streaming mode, and again after
 * conn_unbind()
 * @qpn: number of the QP that was ever bound, 0 if none
 * @nexthop: index; counted in the entry until the terminal event
 * @state: enum ornic_conn_state
 * @dscp: DSCP
 * @abort_why: enum ornic_abort of an abort under way
 * @peer_fin: the peer's FIN came
 * @established: the handshake was completed
 * @options: ORNIC_TCPO_* asked for
 * @src: place in the TCP EQ's waiting list
 * @ev: events not yet written, oldest first
 * @nev: their number
 * @rx: RNIC_STREAM_MAX bytes for stream bytes kept, from offset @rx_base on; NULL once the QP has
 * taken them
 * @rx_base: stream offset of the first byte kept
 * @rx_len: bytes kept
 * @rx_told: stream offset up to which STREAM_RX events were written
 * @est: data of ESTABLISHED
 * @term_sent: data of TERM_SENT
 * @term_rcvd: data of TERM_RCVD
 */
struct rnic_conn {
	struct rnic *dev;
	struct tcp_conn *tcp;
	struct iw_qp *qp;
	u32 id;
	u32 qpn;
	u32 nexthop;
	u8 state;
	u8 dscp;
	u8 abort_why;
	bool peer_fin;
	bool established;
	u16 options;
	struct eq_src src;
	struct conn_event ev[CONN_MAX_EVENTS];
	u8 nev;
	u8 *rx;
	u64 rx_base;
	u32 rx_len;
	u64 rx_told;
	struct ornic_tcp_established est;
	struct ornic_terminate term_sent;
	struct ornic_terminate term_rcvd;
	u8 term_sent_len;
	u8 term_rcvd_len;
};

/* ---- what the iWARP engine calls, with a connection bound to its QP ---- */

/* Responder: the first valid FPDU came and the SQ runs. */
void conn_first_fpdu(struct rnic_conn *c);
/* A Terminate message was sent or received: @len bytes from its control field on, 4..56. */
void conn_term_sent(struct rnic_conn *c, const struct ornic_terminate *term, u32 len);
void conn_term_rcvd(struct rnic_conn *c, const struct ornic_terminate *term, u32 len);
/* FIN after all queued records. Quiet when already done or ended. The QP stays bound until the
 * terminal event. */
void conn_close(struct rnic_conn *c);
/*
 * RST now. The QP is unbound first: no call into the iWARP engine about this connection is made any
 * more, not even for the event ABORTED{why}, which the host gets. Quiet when the connection has
 * ended.
 */
void conn_abort(struct rnic_conn *c, enum ornic_abort why);
/* The QP goes, the TCP connection has ended already. */
void conn_unbind(struct rnic_conn *c);

/* ---- device side ---- */

int conn_table_init(struct rnic *dev);
void conn_table_free(struct rnic *dev);
/* All connections go, and with them the TCP engine: dev->tcp is NULL after. */
void conn_reset(struct rnic *dev);
struct rnic_conn *conn_find(struct rnic *dev, u32 id);
/* There is a TCP EQ, perhaps anew: what waits for one goes there. */
void conn_events_resume(struct rnic *dev);
/* Run the TCP engine's timers and set the loop's timer to its next deadline. */
void conn_run(struct rnic *dev);
extern const struct tcp_engine_ops conn_tcp_ops;

struct cmd_ret conn_cmd_set_nexthop(struct rnic *dev, const void *cmd);
struct cmd_ret conn_cmd_clear_nexthop(struct rnic *dev, const void *cmd);
struct cmd_ret conn_cmd_listen(struct rnic *dev, const void *cmd);
struct cmd_ret conn_cmd_unlisten(struct rnic *dev, const void *cmd);
struct cmd_ret conn_cmd_open(struct rnic *dev, const void *cmd);
struct cmd_ret conn_cmd_accept(struct rnic *dev, const void *cmd);
struct cmd_ret conn_cmd_refuse(struct rnic *dev, const void *cmd);
struct cmd_ret conn_cmd_stream_tx(struct rnic *dev, const void *cmd);
struct cmd_ret conn_cmd_stream_rx_done(struct rnic *dev, const void *cmd);
struct cmd_ret conn_cmd_mode_rdma(struct rnic *dev, const void *cmd);
struct cmd_ret conn_cmd_close(struct rnic *dev, const void *cmd);
struct cmd_ret conn_cmd_abort(struct rnic *dev, const void *cmd);
struct cmd_ret conn_cmd_update(struct rnic *dev, const void *cmd);
struct cmd_ret conn_cmd_terminate(struct rnic *dev, const void *cmd);
struct cmd_ret conn_cmd_query(struct rnic *dev, const void *cmd);
struct cmd_ret conn_cmd_free(struct rnic *dev, const void *cmd);

void conn_each(struct rnic *dev, void (*fn)(void *arg, struct rnic_conn *c), void *arg);

#endif /* RNICD_HW_CONN_H */
