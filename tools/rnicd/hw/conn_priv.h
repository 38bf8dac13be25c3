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
 * struct conn_table - connections, next hops
 * @estab: connections established now
 */
struct conn_table {
	struct rnic_conn *conn[RNIC_MAX_CONN];
	u32 count;
	u32 estab;
	struct nexthop nexthop[RNIC_MAX_NEXTHOP];
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

#endif /* RNICD_HW_CONN_PRIV_H */
