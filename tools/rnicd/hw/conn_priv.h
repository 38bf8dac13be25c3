/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by hw/conn.c (events, bytes) and hw/conn_cmd.c (commands). */
#ifndef RNICD_HW_CONN_PRIV_H
#define RNICD_HW_CONN_PRIV_H

#include "hw/conn.h"

/**
 * struct nexthop - entry of the next-hop table
 * @mtu: bytes of IP packet
 * @refs: connections that use it and have not ended
 */
struct nexthop {
	bool valid;
	bool dead;
	u16 mtu;
	u32 refs;
};

/**
 * struct held_syn - a SYN that the host was told about
 * @id: the engine's name of it
 * @listen_id: its listener, which refuses it when it goes
 * @used: slot in use
 */
struct held_syn {
	u32 id;
	u32 listen_id;
	bool used;
};

/**
 * struct conn_table - connections, next hops, held SYNs
 * @syn: SYNs held; an entry whose SYN timed out is overwritten in its turn
 * @syn_next: where the next one goes
 * @estab: connections established now
 */
struct conn_table {
	struct rnic_conn *conn[RNIC_MAX_CONN];
	u32 count;
	u32 estab;
	struct nexthop nexthop[RNIC_MAX_NEXTHOP];
	struct held_syn syn[RNIC_MAX_SYN];
	u32 syn_next;
	u32 random[64];
	u32 nrandom;
};

struct rnic_conn *conn_create(struct rnic *dev, u32 id, u32 nexthop);
/* Takes the connection out of the table and its memory away; the engine's part must be gone. */
void conn_delete(struct rnic_conn *c);
void conn_push(struct rnic_conn *c, enum ornic_tcp_event type, u32 info);
/* The stream bytes beyond what the host consumed are the QP's from now on. */
void conn_feed_qp(struct rnic_conn *c, u64 offset);
void conn_drop_stream(struct rnic_conn *c);
void conn_syn_forget(struct rnic *dev, u32 syn_id);
void conn_syn_refuse_all(struct rnic *dev, u32 listen_id);

#endif /* RNICD_HW_CONN_PRIV_H */
