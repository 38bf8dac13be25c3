// SPDX-License-Identifier: GPL-2.0-or-later
/* Commands about connections, listeners and next hops. */
#include <errno.h>
#include <stdlib.h>

#include "hw/conn_priv.h"
#include "iwarp/iwarp.h"

#define CONN_MIN_MSS	 88
#define CONN_MAX_MSS	 65495
#define CONN_MIN_WINDOW	 4096
#define CONN_MIN_RTX	 1000
#define CONN_DEFAULT_RTX 100000 /* ms, RFC 9293 3.8.3 R2 */
#define CONN_RTX_RETRIES 255 /* the time decides */
#define CONN_MAX_VLAN	 4094
#define CONN_MIN_MTU	 68 /* RFC 791 */

/* ---- next hops ---- */

static struct nexthop *nexthop_find(struct rnic *dev, u32 index)
{
	if (index >= RNIC_MAX_NEXTHOP || !dev->conns->nexthop[index].valid)
		return NULL;
	return &dev->conns->nexthop[index];
}

static struct cmd_ret nexthop_check(struct rnic *dev, u32 index, size_t off)
{
	if (index >= RNIC_MAX_NEXTHOP)
		return cmd_ret(ORNIC_CMDS_NUMBER, off);
	return nexthop_find(dev, index) ? CMD_OK : cmd_ret(ORNIC_CMDS_NOT_FOUND, off);
}

static struct cmd_ret nexthop_check_set(struct rnic *dev, const struct ornic_cmd_set_nexthop *c)
{
	u16 flags = le16_to_cpu(c->flags), tci = le16_to_cpu(c->vlan_tci),
	    mtu = le16_to_cpu(c->mtu);

	if (le32_to_cpu(c->index) >= RNIC_MAX_NEXTHOP)
		return CMD_BAD(NUMBER, struct ornic_cmd_set_nexthop, index);
	if (flags & ~(ORNIC_NHF_VLAN | ORNIC_NHF_LOOP | ORNIC_NHF_DEAD | ORNIC_NHF_FAILED))
		return CMD_BAD(FIELD, struct ornic_cmd_set_nexthop, flags);
	if (flags & ORNIC_NHF_FAILED && !(flags & ORNIC_NHF_DEAD))
		return CMD_BAD(FIELD, struct ornic_cmd_set_nexthop, flags);
	if (flags & ORNIC_NHF_VLAN ? (tci & 0xfff) > CONN_MAX_VLAN : tci)
		return CMD_BAD(FIELD, struct ornic_cmd_set_nexthop, vlan_tci);
	if (mtu < CONN_MIN_MTU || mtu > dev->cfg.mtu_max)
		return CMD_BAD(FIELD, struct ornic_cmd_set_nexthop, mtu);
	return CMD_OK;
}

struct cmd_ret conn_cmd_set_nexthop(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_set_nexthop *c = cmd;
	struct cmd_ret ret = nexthop_check_set(dev, c);
	u32 index = le32_to_cpu(c->index);
	u16 flags = le16_to_cpu(c->flags);
	struct tcp_nexthop nh = {
		.vlan = TCP_VLAN_NONE,
		.mtu = le16_to_cpu(c->mtu),
		.flags = (flags & ORNIC_NHF_LOOP ? TCP_NH_LOOP : 0) |
			 (flags & ORNIC_NHF_DEAD ? TCP_NH_DEAD : 0) |
			 (flags & ORNIC_NHF_FAILED ? TCP_NH_FAILED : 0),
	};
	struct nexthop *n;

	if (ret.status)
		return ret;
	n = &dev->conns->nexthop[index];
	memcpy(nh.dmac, c->dmac, sizeof(nh.dmac));
	memcpy(nh.smac, c->smac, sizeof(nh.smac));
	if (flags & ORNIC_NHF_VLAN)
		nh.vlan = le16_to_cpu(c->vlan_tci);
	if (tcp_nexthop_set(dev->tcp, index, &nh))
		return CMD_BAD(FIELD, struct ornic_cmd_set_nexthop, mtu);
	n->valid = true;
	n->dead = flags & ORNIC_NHF_DEAD;
	n->mtu = nh.mtu;
	return CMD_OK;
}

struct cmd_ret conn_cmd_clear_nexthop(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_number *c = cmd;
	u32 index = le32_to_cpu(c->number);
	struct cmd_ret ret = nexthop_check(dev, index, offsetof(struct ornic_cmd_number, number));

	if (ret.status)
		return ret;
	if (dev->conns->nexthop[index].refs)
		return CMD_BAD(BUSY, struct ornic_cmd_number, number);
	dev->conns->nexthop[index].valid = false;
	tcp_nexthop_clear(dev->tcp, index);
	return CMD_OK;
}

/* ---- addresses and options ---- */

static bool family_known(u8 family)
{
	return family == ORNIC_FAMILY_IPV4 || family == ORNIC_FAMILY_IPV6;
}

static struct ip_addr addr_make(u8 family, const u8 *addr)
{
	return family == ORNIC_FAMILY_IPV6 ? ip_addr_v6(addr) : ip_addr_v4(addr);
}

/*
 * RFC 9293 3.9.2.3 (MUST-46): a connection has no broadcast or multicast address at either end. An
 * IPv4 address stands in the first 4 of 16 bytes.
 */
static bool addr_is_host(u8 family, const u8 *addr)
{
	struct ip_addr a = addr_make(family, addr);

	return !memcmp(a.b, addr, sizeof(a.b)) && ip_addr_unicast(&a);
}

static bool addr_is_any(const u8 *addr)
{
	static const u8 zero[16];

	return !memcmp(addr, zero, sizeof(zero));
}

static struct cmd_ret opts_bad(size_t base, size_t field)
{
	return cmd_ret(ORNIC_CMDS_FIELD, base + field);
}

#define OPTS_BAD(base, field) opts_bad(base, offsetof(struct ornic_tcp_opts, field))

static struct cmd_ret opts_check(const struct ornic_tcp_opts *o, size_t base)
{
	u16 options = le16_to_cpu(o->options), mss = le16_to_cpu(o->mss);
	u32 window = le32_to_cpu(o->window), rtx = le32_to_cpu(o->rtx_timeout);

	if (options & ~ORNIC_TCPO_ALL)
		return OPTS_BAD(base, options);
	if (mss && (mss < CONN_MIN_MSS || mss > CONN_MAX_MSS))
		return OPTS_BAD(base, mss);
	if (window < CONN_MIN_WINDOW || window > RNIC_MAX_WINDOW)
		return OPTS_BAD(base, window);
	if (o->dscp > 63)
		return OPTS_BAD(base, dscp);
	if (!o->ttl)
		return OPTS_BAD(base, ttl);
	if (o->syn_retries > 15)
		return OPTS_BAD(base, syn_retries);
	if (rtx && rtx < CONN_MIN_RTX)
		return OPTS_BAD(base, rtx_timeout);
	/* The rest is looked at only when it is used. */
	if (!(options & ORNIC_TCPO_KEEPALIVE))
		return CMD_OK;
	if (!o->keep_count)
		return OPTS_BAD(base, keep_count);
	if (!o->keep_idle)
		return OPTS_BAD(base, keep_idle);
	if (!o->keep_intvl)
		return OPTS_BAD(base, keep_intvl);
	return CMD_OK;
}

static struct tcp_opts opts_make(const struct ornic_tcp_opts *o)
{
	u16 options = le16_to_cpu(o->options);
	u32 rtx = le32_to_cpu(o->rtx_timeout);

	return (struct tcp_opts){
		.mss = le16_to_cpu(o->mss),
		.rcv_wnd = le32_to_cpu(o->window),
		.wscale = options & ORNIC_TCPO_WSCALE,
		.timestamps = options & ORNIC_TCPO_TIMESTAMPS,
		.sack = options & ORNIC_TCPO_SACK,
		.nodelay = !(options & ORNIC_TCPO_NAGLE),
		.keepalive = options & ORNIC_TCPO_KEEPALIVE,
		.keep_idle_ms = le16_to_cpu(o->keep_idle) * 1000u,
		.keep_intvl_ms = le16_to_cpu(o->keep_intvl) * 1000u,
		.keep_count = o->keep_count,
		.dscp = o->dscp,
		.ttl = o->ttl,
		.syn_retries = o->syn_retries ? o->syn_retries : TCP_SYN_NO_RETRY,
		.rtx_retries = CONN_RTX_RETRIES,
		.rtx_timeout_ms = rtx ? rtx : CONN_DEFAULT_RTX,
	};
}

/* ---- set-up ---- */

static struct cmd_ret conn_check_new(struct rnic *dev, u32 id, size_t id_off)
{
	if (!id || id >= RNIC_MAX_CONN)
		return cmd_ret(ORNIC_CMDS_NUMBER, id_off);
	if (dev->conns->conn[id])
		return cmd_ret(ORNIC_CMDS_EXISTS, id_off);
	/* Without a queue for the outcome there is no connection. */
	return eq_tcp(dev) ? CMD_OK : cmd_ret(ORNIC_CMDS_STATE, 0);
}

static struct cmd_ret conn_errno(int err, size_t tuple_off)
{
	switch (err) {
	case 0:
		return CMD_OK;
	case -EADDRINUSE:
		return cmd_ret(ORNIC_CMDS_ADDR_IN_USE, tuple_off);
	case -ENOMEM:
		return cmd_ret(ORNIC_CMDS_NO_MEMORY, 0);
	case -ENOSPC:
		return cmd_ret(ORNIC_CMDS_NO_RESOURCE, 0);
	case -ENOENT:
		return cmd_ret(ORNIC_CMDS_GONE, tuple_off);
	default:
		return cmd_ret(ORNIC_CMDS_INTERNAL, 0);
	}
}

static struct cmd_ret conn_check_listen(const struct ornic_cmd_listen *c)
{
	u32 id = le32_to_cpu(c->listen_id), backlog = le32_to_cpu(c->backlog);
	u16 vlan = le16_to_cpu(c->vlan_id);

	if (!id || id >= RNIC_MAX_LISTEN)
		return CMD_BAD(NUMBER, struct ornic_cmd_listen, listen_id);
	if (!family_known(c->family))
		return CMD_BAD(FIELD, struct ornic_cmd_listen, family);
	if (!addr_is_any(c->addr) && !addr_is_host(c->family, c->addr))
		return CMD_BAD(FIELD, struct ornic_cmd_listen, addr);
	if (!c->port)
		return CMD_BAD(FIELD, struct ornic_cmd_listen, port);
	if (c->flags & ~ORNIC_LISTEN_VLAN)
		return CMD_BAD(FIELD, struct ornic_cmd_listen, flags);
	if (c->flags & ORNIC_LISTEN_VLAN ? vlan > CONN_MAX_VLAN : vlan)
		return CMD_BAD(FIELD, struct ornic_cmd_listen, vlan_id);
	if (!backlog || backlog > RNIC_MAX_SYN)
		return CMD_BAD(FIELD, struct ornic_cmd_listen, backlog);
	return CMD_OK;
}

struct cmd_ret conn_cmd_listen(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_listen *c = cmd;
	struct cmd_ret ret = conn_check_listen(c);
	struct ip_addr addr = addr_make(c->family, c->addr);
	u16 vlan = TCP_VLAN_NONE;
	int err;

	if (ret.status)
		return ret;
	if (c->flags & ORNIC_LISTEN_VLAN)
		vlan = le16_to_cpu(c->vlan_id);
	err = tcp_listen(dev->tcp, le32_to_cpu(c->listen_id), &addr, le16_to_cpu(c->port), vlan,
			 le32_to_cpu(c->backlog));
	if (err == -EEXIST)
		return CMD_BAD(EXISTS, struct ornic_cmd_listen, listen_id);
	return conn_errno(err, offsetof(struct ornic_cmd_listen, addr));
}

struct cmd_ret conn_cmd_unlisten(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_number *c = cmd;
	u32 id = le32_to_cpu(c->number);

	if (!id || id >= RNIC_MAX_LISTEN)
		return CMD_BAD(NUMBER, struct ornic_cmd_number, number);
	if (tcp_unlisten(dev->tcp, id))
		return CMD_BAD(NOT_FOUND, struct ornic_cmd_number, number);
	return CMD_OK;
}

static struct cmd_ret conn_check_open(struct rnic *dev, const struct ornic_cmd_open *c)
{
	struct cmd_ret ret = conn_check_new(dev, le32_to_cpu(c->conn_id),
					    offsetof(struct ornic_cmd_open, conn_id));

	if (ret.status)
		return ret;
	if (!family_known(c->family))
		return CMD_BAD(FIELD, struct ornic_cmd_open, family);
	if (!addr_is_host(c->family, c->laddr))
		return CMD_BAD(FIELD, struct ornic_cmd_open, laddr);
	if (!addr_is_host(c->family, c->raddr))
		return CMD_BAD(FIELD, struct ornic_cmd_open, raddr);
	if (!c->lport)
		return CMD_BAD(FIELD, struct ornic_cmd_open, lport);
	if (!c->rport)
		return CMD_BAD(FIELD, struct ornic_cmd_open, rport);
	ret = opts_check(&c->opts, offsetof(struct ornic_cmd_open, opts));
	if (ret.status)
		return ret;
	return nexthop_check(dev, le32_to_cpu(c->nexthop),
			     offsetof(struct ornic_cmd_open, nexthop));
}

static void conn_set_opts(struct rnic_conn *c, const struct ornic_tcp_opts *o)
{
	c->options = le16_to_cpu(o->options);
	c->dscp = o->dscp;
}

struct cmd_ret conn_cmd_open(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_open *c = cmd;
	struct cmd_ret ret = conn_check_open(dev, c);
	struct tcp_open_params p = {.id = le32_to_cpu(c->conn_id),
				    .nexthop = le32_to_cpu(c->nexthop),
				    .opts = opts_make(&c->opts)};
	struct rnic_conn *conn;

	if (ret.status)
		return ret;
	conn = conn_create(dev, p.id, p.nexthop);
	if (!conn)
		return cmd_ret(ORNIC_CMDS_NO_MEMORY, 0);
	conn_set_opts(conn, &c->opts);
	p.tuple.local = addr_make(c->family, c->laddr);
	p.tuple.remote = addr_make(c->family, c->raddr);
	p.tuple.lport = le16_to_cpu(c->lport);
	p.tuple.rport = le16_to_cpu(c->rport);
	p.user = conn;
	ret = conn_errno(tcp_open(dev->tcp, &p), offsetof(struct ornic_cmd_open, laddr));
	if (ret.status)
		conn_delete(conn);
	else
		conn->tcp = tcp_conn_find(dev->tcp, p.id);
	return ret;
}

struct cmd_ret conn_cmd_accept(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_accept *c = cmd;
	u32 id = le32_to_cpu(c->conn_id), nh = le32_to_cpu(c->nexthop),
	    syn = le32_to_cpu(c->syn_id);
	struct tcp_opts opts = opts_make(&c->opts);
	struct rnic_conn *conn;
	struct cmd_ret ret;

	ret = conn_check_new(dev, id, offsetof(struct ornic_cmd_accept, conn_id));
	if (!ret.status)
		ret = opts_check(&c->opts, offsetof(struct ornic_cmd_accept, opts));
	if (!ret.status)
		ret = nexthop_check(dev, nh, offsetof(struct ornic_cmd_accept, nexthop));
	if (ret.status)
		return ret;
	conn = conn_create(dev, id, nh);
	if (!conn)
		return cmd_ret(ORNIC_CMDS_NO_MEMORY, 0);
	conn_set_opts(conn, &c->opts);
	ret = conn_errno(tcp_accept(dev->tcp, syn, id, nh, &opts, conn),
			 offsetof(struct ornic_cmd_accept, syn_id));
	if (ret.status) {
		conn_delete(conn);
		return ret;
	}
	conn->tcp = tcp_conn_find(dev->tcp, id);
	return ret;
}

struct cmd_ret conn_cmd_refuse(struct rnic *dev, const void *cmd)
{
	static const enum tcp_refuse_how how[] = {
		[ORNIC_REFUSE_RST] = TCP_REFUSE_RST,
		[ORNIC_REFUSE_SILENT] = TCP_REFUSE_SILENT,
		[ORNIC_REFUSE_TO_HOST] = TCP_REFUSE_TO_HOST,
	};
	const struct ornic_cmd_refuse *c = cmd;
	u32 h = le32_to_cpu(c->how);

	if (h >= ARRAY_SIZE(how))
		return CMD_BAD(FIELD, struct ornic_cmd_refuse, how);
	if (tcp_refuse(dev->tcp, le32_to_cpu(c->syn_id), how[h]))
		return CMD_BAD(GONE, struct ornic_cmd_refuse, syn_id);
	return CMD_OK;
}

/* ---- streaming mode ---- */

static struct cmd_ret conn_get(struct rnic *dev, u32 id, size_t off, struct rnic_conn **c)
{
	if (!id || id >= RNIC_MAX_CONN)
		return cmd_ret(ORNIC_CMDS_NUMBER, off);
	*c = dev->conns->conn[id];
	return *c ? CMD_OK : cmd_ret(ORNIC_CMDS_NOT_FOUND, off);
}

/* As above, and in streaming mode. */
static struct cmd_ret conn_get_stream(struct rnic *dev, u32 id, size_t off, struct rnic_conn **c)
{
	struct cmd_ret ret = conn_get(dev, id, off, c);

	if (ret.status)
		return ret;
	if ((*c)->state == ORNIC_CONN_ENDED)
		return cmd_ret(ORNIC_CMDS_GONE, off);
	if ((*c)->state != ORNIC_CONN_STREAM)
		return cmd_ret(ORNIC_CMDS_STATE, off);
	return CMD_OK;
}

static u32 conn_unacked(const struct rnic_conn *c)
{
	struct tcp_conn_info info;

	tcp_conn_info(c->tcp, &info);
	return info.queued;
}

struct cmd_ret conn_cmd_stream_tx(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_stream_tx *c = cmd;
	u32 len = le32_to_cpu(c->len);
	u8 buf[RNIC_STREAM_MAX];
	struct rnic_conn *conn;
	struct cmd_ret ret;

	ret = conn_get_stream(dev, le32_to_cpu(c->conn_id),
			      offsetof(struct ornic_cmd_stream_tx, conn_id), &conn);
	if (ret.status)
		return ret;
	if (!len || len > RNIC_STREAM_MAX)
		return CMD_BAD(FIELD, struct ornic_cmd_stream_tx, len);
	if (dma_read(dev->dma, le64_to_cpu(c->hdr.data), buf, len))
		return CMD_BAD(ADDRESS, struct ornic_cmd_stream_tx, hdr.data);
	if (len > RNIC_STREAM_MAX - min(conn_unacked(conn), (u32)RNIC_STREAM_MAX) ||
	    tcp_send(conn->tcp, buf, len))
		return cmd_ret(ORNIC_CMDS_AGAIN, 0);
	return CMD_OK;
}

struct cmd_ret conn_cmd_stream_rx_done(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_stream_rx_done *c = cmd;
	u64 offset = le64_to_cpu(c->offset);
	struct rnic_conn *conn;
	struct cmd_ret ret;
	u32 n;

	ret = conn_get_stream(dev, le32_to_cpu(c->conn_id),
			      offsetof(struct ornic_cmd_stream_rx_done, conn_id), &conn);
	if (ret.status)
		return ret;
	if (offset > conn->rx_told)
		return CMD_BAD(FIELD, struct ornic_cmd_stream_rx_done, offset);
	if (offset <= conn->rx_base)
		return CMD_OK;
	n = (u32)(offset - conn->rx_base);
	conn->rx_len -= n;
	conn->rx_base = offset;
	memmove(conn->rx, conn->rx + n, conn->rx_len);
	tcp_rx_resume(conn->tcp);
	return CMD_OK;
}

/* ---- MODE_RDMA ---- */

#define RDMA_FLAGS (ORNIC_RDMAF_CRC | ORNIC_RDMAF_TX_MARKERS | ORNIC_RDMAF_RX_MARKERS)

static struct cmd_ret rdma_check_fields(const struct ornic_cmd_mode_rdma *c)
{
	u32 data_len = le32_to_cpu(c->data_len);

	if (c->role > ORNIC_ROLE_RESPONDER)
		return CMD_BAD(FIELD, struct ornic_cmd_mode_rdma, role);
	if (c->rtr > ORNIC_RTR_READ)
		return CMD_BAD(FIELD, struct ornic_cmd_mode_rdma, rtr);
	if (le16_to_cpu(c->flags) & ~RDMA_FLAGS)
		return CMD_BAD(FIELD, struct ornic_cmd_mode_rdma, flags);
	if (le16_to_cpu(c->ird) > RNIC_MAX_IRD)
		return CMD_BAD(FIELD, struct ornic_cmd_mode_rdma, ird);
	if (le16_to_cpu(c->ord) > RNIC_MAX_ORD)
		return CMD_BAD(FIELD, struct ornic_cmd_mode_rdma, ord);
	if (data_len > RNIC_STREAM_MAX)
		return CMD_BAD(FIELD, struct ornic_cmd_mode_rdma, data_len);
	if (!data_len && c->hdr.data)
		return CMD_BAD(FIELD, struct ornic_cmd_mode_rdma, hdr.data);
	return CMD_OK;
}

static struct cmd_ret rdma_check(struct rnic *dev, const struct ornic_cmd_mode_rdma *c,
				 struct rnic_conn **conn, struct iw_qp **qp)
{
	u32 qpn = le32_to_cpu(c->qpn);
	struct cmd_ret ret;
	u64 offset = le64_to_cpu(c->rx_offset);

	ret = conn_get_stream(dev, le32_to_cpu(c->conn_id),
			      offsetof(struct ornic_cmd_mode_rdma, conn_id), conn);
	if (ret.status)
		return ret;
	/* A peer that sends no more cannot be the other end of an RDMA stream. */
	if ((*conn)->peer_fin)
		return CMD_BAD(STATE, struct ornic_cmd_mode_rdma, conn_id);
	if (!qpn || qpn >= RNIC_MAX_QP)
		return CMD_BAD(NUMBER, struct ornic_cmd_mode_rdma, qpn);
	*qp = iw_qp_find(dev, qpn);
	if (!*qp)
		return CMD_BAD(NOT_FOUND, struct ornic_cmd_mode_rdma, qpn);
	if (iw_qp_state(*qp) != ORNIC_QPS_IDLE)
		return CMD_BAD(STATE, struct ornic_cmd_mode_rdma, qpn);
	ret = rdma_check_fields(c);
	if (ret.status)
		return ret;
	if (offset < (*conn)->rx_base || offset > (*conn)->rx_told)
		return CMD_BAD(FIELD, struct ornic_cmd_mode_rdma, rx_offset);
	return CMD_OK;
}

/* RFC 5044 7.1.2: between its request and our reply an initiator must not send. */
static bool rdma_is_early(const struct rnic_conn *conn, u64 offset)
{
	struct tcp_conn_info info;

	tcp_conn_info(conn->tcp, &info);
	return conn->rx_base + conn->rx_len > offset || info.held;
}

struct cmd_ret conn_cmd_mode_rdma(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_mode_rdma *c = cmd;
	u32 len = le32_to_cpu(c->data_len);
	u8 final[RNIC_STREAM_MAX];
	struct rnic_conn *conn;
	struct cmd_ret ret;
	struct iw_qp *qp;

	ret = rdma_check(dev, c, &conn, &qp);
	if (ret.status)
		return ret;
	if (len && dma_read(dev->dma, le64_to_cpu(c->hdr.data), final, len))
		return CMD_BAD(ADDRESS, struct ornic_cmd_mode_rdma, hdr.data);
	if (tcp_send_room(conn->tcp) < len)
		return cmd_ret(ORNIC_CMDS_AGAIN, 0);
	if (c->role == ORNIC_ROLE_RESPONDER && rdma_is_early(conn, le64_to_cpu(c->rx_offset))) {
		conn_abort(conn, ORNIC_ABORT_EARLY_DATA);
		return CMD_BAD(EARLY_DATA, struct ornic_cmd_mode_rdma, rx_offset);
	}
	conn->qp = qp;
	conn->qpn = le32_to_cpu(c->qpn);
	conn->state = ORNIC_CONN_RDMA;
	iw_bind(qp, conn, c);
	/* Nothing of the QP is queued yet, so the final bytes go first. */
	if (len)
		tcp_send(conn->tcp, final, len);
	if (conn->qp)
		iw_start(qp);
	conn_feed_qp(conn, le64_to_cpu(c->rx_offset));
	if (conn->qp)
		tcp_rx_resume(conn->tcp);
	return CMD_OK;
}

/* ---- end ---- */

struct cmd_ret conn_cmd_close(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_number *c = cmd;
	struct rnic_conn *conn;
	struct cmd_ret ret;

	ret = conn_get(dev, le32_to_cpu(c->number), offsetof(struct ornic_cmd_number, number),
		       &conn);
	if (ret.status)
		return ret;
	if (conn->qp)
		iw_qp_close(conn->qp);
	else
		conn_close(conn);
	return CMD_OK;
}

struct cmd_ret conn_cmd_abort(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_number *c = cmd;
	struct rnic_conn *conn;
	struct cmd_ret ret;

	ret = conn_get(dev, le32_to_cpu(c->number), offsetof(struct ornic_cmd_number, number),
		       &conn);
	if (ret.status)
		return ret;
	if (conn->state == ORNIC_CONN_ENDED)
		return CMD_BAD(GONE, struct ornic_cmd_number, number);
	/* A bound QP learns of it by the engine's event. */
	conn->abort_why = ORNIC_ABORT_COMMAND;
	tcp_abort(conn->tcp);
	return CMD_OK;
}

struct cmd_ret conn_cmd_free(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_number *c = cmd;
	struct rnic_conn *conn;
	struct cmd_ret ret;
	struct iw_qp *qp;

	ret = conn_get(dev, le32_to_cpu(c->number), offsetof(struct ornic_cmd_number, number),
		       &conn);
	if (ret.status)
		return ret;
	qp = conn->qp;
	conn->qp = NULL;
	tcp_conn_free(conn->tcp);
	conn_delete(conn);
	if (qp)
		iw_conn_lost(qp);
	return CMD_OK;
}

static struct cmd_ret update_check(struct rnic *dev, const struct ornic_cmd_update_conn *c)
{
	u32 mask = le32_to_cpu(c->mask);

	if (!mask || mask & ~(ORNIC_UPD_NEXTHOP | ORNIC_UPD_DSCP))
		return CMD_BAD(FIELD, struct ornic_cmd_update_conn, mask);
	if (mask & ORNIC_UPD_DSCP ? c->dscp > 63 : c->dscp)
		return CMD_BAD(FIELD, struct ornic_cmd_update_conn, dscp);
	if (!(mask & ORNIC_UPD_NEXTHOP) && c->nexthop)
		return CMD_BAD(FIELD, struct ornic_cmd_update_conn, nexthop);
	if (!(mask & ORNIC_UPD_NEXTHOP))
		return CMD_OK;
	return nexthop_check(dev, le32_to_cpu(c->nexthop),
			     offsetof(struct ornic_cmd_update_conn, nexthop));
}

struct cmd_ret conn_cmd_update(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_update_conn *c = cmd;
	u32 mask = le32_to_cpu(c->mask);
	struct rnic_conn *conn;
	struct cmd_ret ret;

	ret = conn_get(dev, le32_to_cpu(c->conn_id),
		       offsetof(struct ornic_cmd_update_conn, conn_id), &conn);
	if (!ret.status)
		ret = update_check(dev, c);
	if (ret.status)
		return ret;
	if (conn->state == ORNIC_CONN_ENDED)
		return CMD_BAD(GONE, struct ornic_cmd_update_conn, conn_id);
	if (mask & ORNIC_UPD_DSCP)
		conn->dscp = c->dscp;
	if (mask & ORNIC_UPD_NEXTHOP) {
		dev->conns->nexthop[conn->nexthop].refs--;
		conn->nexthop = le32_to_cpu(c->nexthop);
		dev->conns->nexthop[conn->nexthop].refs++;
	}
	if (tcp_update(conn->tcp, conn->nexthop, conn->dscp))
		return cmd_ret(ORNIC_CMDS_INTERNAL, 0);
	return CMD_OK;
}

/* RFC 6581 9.2: the initiator that cannot take the reply says so by a Terminate, the first and last
 * FPDU. */
static struct cmd_ret terminate_stream(struct rnic_conn *conn, const struct ornic_cmd_terminate *c)
{
	struct ornic_terminate term = {0};
	u8 fpdu[IW_TERM_FPDU_MAX];
	size_t len;

	if (c->flags & ~(ORNIC_RDMAF_CRC | ORNIC_RDMAF_TX_MARKERS))
		return CMD_BAD(FIELD, struct ornic_cmd_terminate, flags);
	len = iw_build_terminate(fpdu, c->layer, c->etype, c->code, c->flags);
	if (tcp_send(conn->tcp, fpdu, len))
		return cmd_ret(ORNIC_CMDS_AGAIN, 0);
	term.control[0] = (u8)(c->layer << 4 | c->etype);
	term.control[1] = c->code;
	conn_term_sent(conn, &term, sizeof(term.control));
	conn_close(conn);
	return CMD_OK;
}

struct cmd_ret conn_cmd_terminate(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_terminate *c = cmd;
	struct rnic_conn *conn;
	struct cmd_ret ret;

	ret = conn_get(dev, le32_to_cpu(c->conn_id), offsetof(struct ornic_cmd_terminate, conn_id),
		       &conn);
	if (ret.status)
		return ret;
	if (c->layer > 2)
		return CMD_BAD(FIELD, struct ornic_cmd_terminate, layer);
	if (c->etype > 15)
		return CMD_BAD(FIELD, struct ornic_cmd_terminate, etype);
	if (conn->state == ORNIC_CONN_ENDED)
		return CMD_BAD(GONE, struct ornic_cmd_terminate, conn_id);
	if (conn->state == ORNIC_CONN_STREAM)
		return terminate_stream(conn, c);
	if (c->flags)
		return CMD_BAD(FIELD, struct ornic_cmd_terminate, flags);
	if (!conn->qp || !iw_terminate(conn->qp, c->layer, c->etype, c->code))
		return CMD_BAD(STATE, struct ornic_cmd_terminate, conn_id);
	return CMD_OK;
}

/* ---- query ---- */

/* The engine's states in the order of RFC 9293 3.3.2. */
static u8 conn_tcp_state(const struct rnic_conn *c, enum tcp_state s)
{
	static const u8 number[] = {
		[TCPS_SYN_SENT] = 2,   [TCPS_SYN_RCVD] = 3,   [TCPS_ESTABLISHED] = 4,
		[TCPS_FIN_WAIT_1] = 5, [TCPS_FIN_WAIT_2] = 6, [TCPS_CLOSE_WAIT] = 7,
		[TCPS_CLOSING] = 8,    [TCPS_LAST_ACK] = 9,   [TCPS_TIME_WAIT] = 10,
		[TCPS_CLOSED] = 11,
	};

	return c->state == ORNIC_CONN_ENDED ? 11 : number[s];
}

static void conn_fill_attr(const struct rnic_conn *c, struct ornic_conn_attr *a)
{
	struct tcp_conn_info i;

	memset(a, 0, sizeof(*a));
	tcp_conn_info(c->tcp, &i);
	a->state = c->state;
	a->tcp_state = conn_tcp_state(c, i.state);
	a->options = cpu_to_le16(c->options);
	a->qpn = cpu_to_le32(c->qpn);
	memcpy(a->laddr, i.tuple.local.b, sizeof(a->laddr));
	memcpy(a->raddr, i.tuple.remote.b, sizeof(a->raddr));
	a->lport = cpu_to_le16(i.tuple.lport);
	a->rport = cpu_to_le16(i.tuple.rport);
	a->snd_mss = cpu_to_le16(i.emss);
	a->family = i.tuple.local.family == IP_V6 ? ORNIC_FAMILY_IPV6 : ORNIC_FAMILY_IPV4;
	a->dscp = c->dscp;
	a->snd_una = cpu_to_le32(i.snd_una);
	a->snd_nxt = cpu_to_le32(i.snd_nxt);
	a->rcv_nxt = cpu_to_le32(i.rcv_nxt);
	a->snd_wnd = cpu_to_le32(i.snd_wnd);
	a->rcv_wnd = cpu_to_le32(i.rcv_wnd);
	a->cwnd = cpu_to_le32(i.snd_cwnd);
	a->srtt = cpu_to_le32(i.srtt_ns / NSEC_PER_USEC);
	a->rto = cpu_to_le32(i.rto_ns / NSEC_PER_USEC);
	a->retransmits = cpu_to_le32(i.stats.rtx_segs);
}

struct cmd_ret conn_cmd_query(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_number *c = cmd;
	struct ornic_conn_attr attr;
	struct rnic_conn *conn;
	struct cmd_ret ret;

	ret = conn_get(dev, le32_to_cpu(c->number), offsetof(struct ornic_cmd_number, number),
		       &conn);
	if (ret.status)
		return ret;
	conn_fill_attr(conn, &attr);
	if (dma_write(dev->dma, le64_to_cpu(c->hdr.data), &attr, sizeof(attr)))
		return CMD_BAD(ADDRESS, struct ornic_cmd_number, hdr.data);
	return CMD_OK;
}
