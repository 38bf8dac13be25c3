// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * OpenRNIC core driver: connections of the device's TCP engine.
 *
 * Events find their connection by its id. An id that was given back rests until all entries that
 * the event queue held at that time were consumed, so that an event of the old connection never
 * reaches a new one.
 */

#include <linux/pci.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/dst.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>

#include "core.h"

#define ORNIC_REROUTE_DELAY	(HZ / 50)	/* for changes that come in numbers */

/**
 * struct ornic_conn - connection
 * @od: the function
 * @event: event function
 * @ctx: its owner's
 * @rest: holds the id
 * @ref: one of the owner until ornic_conn_free(), one of each temporary user
 * @lock: all below, and UPDATE_CONN
 * @in_device: OPEN or ACCEPT succeeded
 * @freed: ornic_conn_free() was called
 * @nh: next hop
 * @net: network namespace, where the route is looked up
 * @dst: route that led to @nh, or NULL
 * @cookie: for dst_check()
 * @local: local address
 * @remote: remote address
 * @dscp: DSCP
 */
struct ornic_conn {
	struct ornic_dev *od;
	ornic_conn_event_fn event;
	void *ctx;
	struct ornic_rest *rest;
	struct kref ref;
	struct mutex lock; /* all below, and UPDATE_CONN */
	bool in_device;
	bool freed;
	struct ornic_nexthop *nh;
	struct net *net;
	struct dst_entry *dst;
	u32 cookie;
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	u8 dscp;
};

/* --- ids ------------------------------------------------------------------------------------ */

static void ornic_ids_init(struct ornic_ids *ids)
{
	ida_init(&ids->ida);
	INIT_LIST_HEAD(&ids->resting);
	INIT_LIST_HEAD(&ids->draining);
	spin_lock_init(&ids->lock);
}

/**
 * ornic_ids_get() - take a number
 * @ids: numbers, with max set
 *
 * Context: Process context, may sleep.
 * Return: holder of a number from 1, or ERR_PTR: -ENOSPC, -ENOMEM
 */
struct ornic_rest *ornic_ids_get(struct ornic_ids *ids)
{
	struct ornic_rest *rest;
	int id;

	rest = kmalloc(sizeof(*rest), GFP_KERNEL);
	if (!rest)
		return ERR_PTR(-ENOMEM);
	id = ida_alloc_range(&ids->ida, 1, ids->max, GFP_KERNEL);
	if (id < 0) {
		kfree(rest);
		return ERR_PTR(id);
	}
	rest->id = id;
	return rest;
}

/**
 * ornic_ids_free() - give a number back that no event can be about
 * @ids: numbers
 * @rest: of ornic_ids_get()
 *
 * Context: Any context.
 */
void ornic_ids_free(struct ornic_ids *ids, struct ornic_rest *rest)
{
	ida_free(&ids->ida, rest->id);
	kfree(rest);
}

/**
 * ornic_ids_rest() - give a number back about which events may still be in the TCP EQ
 * @od: the function
 * @ids: numbers
 * @rest: of ornic_ids_get(); the device has answered the command that released the number
 *
 * Context: Any context.
 */
void ornic_ids_rest(struct ornic_dev *od, struct ornic_ids *ids, struct ornic_rest *rest)
{
	unsigned long flags;

	spin_lock_irqsave(&ids->lock, flags);
	list_add_tail(&rest->node, &ids->resting);
	spin_unlock_irqrestore(&ids->lock, flags);
	if (READ_ONCE(od->teq.live))
		queue_work(od->wq, &od->teq.work);
}

static void ornic_ids_drained(struct ornic_ids *ids, bool all)
{
	struct ornic_rest *rest, *next;
	LIST_HEAD(list);

	spin_lock_irq(&ids->lock);
	list_splice_init(&ids->draining, &list);
	if (all)
		list_splice_init(&ids->resting, &list);
	spin_unlock_irq(&ids->lock);
	list_for_each_entry_safe(rest, next, &list, node)
		ornic_ids_free(ids, rest);
}

static void ornic_ids_round_begin(struct ornic_dev *od, struct ornic_ids *ids)
{
	spin_lock_irq(&ids->lock);
	if (list_empty(&ids->draining)) {
		list_splice_init(&ids->resting, &ids->draining);
		ids->drain_from = od->teq.ci;
	}
	spin_unlock_irq(&ids->lock);
}

static void ornic_ids_round_end(struct ornic_dev *od, struct ornic_ids *ids, bool empty)
{
	/* A queue that never runs empty was gone through once after as many entries as it has. */
	if (empty || od->teq.ci - ids->drain_from >= BIT(od->teq.shift))
		ornic_ids_drained(ids, false);
}

/**
 * ornic_tcp_round_begin() - the TCP EQ is about to be looked at
 * @od: the function
 *
 * Context: The TCP EQ's work.
 */
void ornic_tcp_round_begin(struct ornic_dev *od)
{
	ornic_ids_round_begin(od, &od->conn_ids);
	ornic_ids_round_begin(od, &od->listen_ids);
}

/**
 * ornic_tcp_round_end() - a batch of the TCP EQ was consumed
 * @od: the function
 * @empty: no entry was left
 *
 * Context: The TCP EQ's work.
 */
void ornic_tcp_round_end(struct ornic_dev *od, bool empty)
{
	ornic_ids_round_end(od, &od->conn_ids, empty);
	ornic_ids_round_end(od, &od->listen_ids, empty);
}

/**
 * ornic_tcp_stopped() - the TCP EQ is gone, and with it all old events
 * @od: the function
 *
 * Context: Process context.
 */
void ornic_tcp_stopped(struct ornic_dev *od)
{
	ornic_ids_drained(&od->conn_ids, true);
	ornic_ids_drained(&od->listen_ids, true);
}

/* --- events --------------------------------------------------------------------------------- */

/**
 * ornic_tcp_run_end() - the function of a connection or listener has returned
 * @od: the function
 *
 * Context: The TCP EQ's work.
 */
void ornic_tcp_run_end(struct ornic_dev *od)
{
	/* What the function did comes before whoever waits for its end. */
	smp_store_release(&od->teq_current, NULL);
	wake_up_all(&od->teq_idle);
}

/**
 * ornic_tcp_wait_idle() - wait until no event function runs for an object
 * @od: the function
 * @object: connection or listener that events do not find any more
 *
 * Returns at once when the caller is that event function.
 *
 * Context: Process context, sleeps.
 */
void ornic_tcp_wait_idle(struct ornic_dev *od, void *object)
{
	if (READ_ONCE(od->teq_task) == current)
		return;
	/* Pairs with ornic_tcp_run_end(). */
	wait_event(od->teq_idle, smp_load_acquire(&od->teq_current) != object);
}

static bool ornic_tcp_event_known(u8 type)
{
	return (type >= ORNIC_TCP_ESTABLISHED && type <= ORNIC_TCP_TERM_RCVD) ||
	       (type >= ORNIC_TCP_CLOSED && type <= ORNIC_TCP_UNREACH);
}

/* Entries that other code relies on carry what their type says. */
static bool ornic_tcp_event_sane(const struct ornic_teqe *teqe)
{
	u16 len = le16_to_cpu(teqe->data_len);

	switch (teqe->type) {
	case ORNIC_TCP_ESTABLISHED:
		return len >= sizeof(struct ornic_tcp_established);
	case ORNIC_TCP_STREAM_RX:
		return len;
	case ORNIC_TCP_TERM_SENT:
	case ORNIC_TCP_TERM_RCVD:
		return len >= offsetofend(struct ornic_terminate, control);
	default:
		return ornic_tcp_event_known(teqe->type);
	}
}

/**
 * ornic_tcp_event() - hand an entry of the TCP EQ to its connection or listener
 * @od: the function
 * @teqe: copy of the entry, its data_len checked against the slot
 * @data: data slot
 *
 * Context: The TCP EQ's work.
 */
void ornic_tcp_event(struct ornic_dev *od, const struct ornic_teqe *teqe, const void *data)
{
	struct ornic_conn *conn;

	if (teqe->type == ORNIC_TCP_CONN_REQ) {
		ornic_listen_event(od, teqe, data);
		return;
	}
	if (!ornic_tcp_event_sane(teqe)) {
		dev_warn_ratelimited(ornic_device(od), "TCP event of type %u, %u bytes: dropped\n",
				     teqe->type, le16_to_cpu(teqe->data_len));
		return;
	}
	xa_lock_bh(&od->conns);
	conn = xa_load(&od->conns, le32_to_cpu(teqe->conn_id));
	if (conn)
		WRITE_ONCE(od->teq_current, conn);
	xa_unlock_bh(&od->conns);
	if (!conn) {
		dev_dbg(ornic_device(od), "TCP event %u of connection %u, which is gone\n",
			teqe->type, le32_to_cpu(teqe->conn_id));
		return;
	}
	conn->event(conn, teqe, data);
	ornic_tcp_run_end(od);
}

/* --- connections ---------------------------------------------------------------------------- */

/**
 * ornic_conn_alloc() - make a connection, not yet known to the device
 * @core: the function
 * @event: called for each of its events
 * @ctx: for the owner
 *
 * Context: Process context, may sleep.
 * Return: connection, or ERR_PTR: -ENODEV, -ENOSPC, -ENOMEM
 */
struct ornic_conn *ornic_conn_alloc(struct ornic_core *core, ornic_conn_event_fn event, void *ctx)
{
	struct ornic_dev *od = ornic_dev_of(core);
	struct ornic_conn *conn;
	int rc;

	if (!ornic_alive(core))
		return ERR_PTR(-ENODEV);
	conn = kzalloc(sizeof(*conn), GFP_KERNEL);
	if (!conn)
		return ERR_PTR(-ENOMEM);
	conn->od = od;
	conn->event = event;
	conn->ctx = ctx;
	kref_init(&conn->ref);
	mutex_init(&conn->lock);
	conn->rest = ornic_ids_get(&od->conn_ids);
	if (IS_ERR(conn->rest)) {
		rc = PTR_ERR(conn->rest);
		goto free;
	}
	rc = xa_err(xa_store_bh(&od->conns, conn->rest->id, conn, GFP_KERNEL));
	if (rc) {
		ornic_ids_free(&od->conn_ids, conn->rest);
		goto free;
	}
	return conn;
free:
	kfree(conn);
	return ERR_PTR(rc);
}
EXPORT_SYMBOL_GPL(ornic_conn_alloc);

/**
 * ornic_conn_ctx() - what the owner gave to ornic_conn_alloc()
 * @conn: connection
 *
 * Context: Any context.
 * Return: ctx
 */
void *ornic_conn_ctx(struct ornic_conn *conn)
{
	return conn->ctx;
}
EXPORT_SYMBOL_GPL(ornic_conn_ctx);

/**
 * ornic_conn_id() - the connection's id in the device, for messages and dumps
 * @conn: connection
 *
 * Context: Any context.
 * Return: id
 */
u32 ornic_conn_id(struct ornic_conn *conn)
{
	return conn->rest->id;
}
EXPORT_SYMBOL_GPL(ornic_conn_id);

static void ornic_conn_release(struct kref *ref)
{
	struct ornic_conn *conn = container_of(ref, struct ornic_conn, ref);

	dst_release(conn->dst);
	if (conn->net)
		put_net(conn->net);
	mutex_destroy(&conn->lock);
	kfree(conn);
}

static void ornic_conn_fill_opts(struct ornic_tcp_opts *opts, const struct ornic_tcp_params *p)
{
	opts->options = cpu_to_le16(p->options);
	opts->mss = cpu_to_le16(p->mss);
	opts->window = cpu_to_le32(p->window);
	opts->dscp = p->dscp;
	opts->ttl = p->ttl;
	opts->syn_retries = p->syn_retries;
	opts->keep_count = p->keep_count;
	opts->keep_idle = cpu_to_le16(p->keep_idle);
	opts->keep_intvl = cpu_to_le16(p->keep_intvl);
	opts->rtx_timeout = cpu_to_le32(p->rtx_timeout);
}

/* A command about a live connection. A state that does not fit is the connection's. */
static int ornic_conn_exec(struct ornic_conn *conn, void *cmd, const void *data, u32 len)
{
	struct ornic_cmd_result res;
	int rc;

	rc = ornic_cmd_exec_buf(conn->od, cmd, (void *)data, len, DMA_TO_DEVICE, &res);
	return rc && res.status == ORNIC_CMDS_STATE ? -ENOTCONN : rc;
}

/* OPEN or ACCEPT, which makes the connection known to the device. */
static int ornic_conn_enter(struct ornic_conn *conn, void *cmd, struct ornic_nexthop *nh)
{
	struct net_device *dev = ornic_nexthop_dev(nh);
	struct net *net;
	int rc;

	if (!dev)
		return -ENETUNREACH;
	/* It may be leaving its namespace, which may be ending. */
	rcu_read_lock();
	net = maybe_get_net(dev_net(dev));
	rcu_read_unlock();
	dev_put(dev);
	if (!net)
		return -ENETUNREACH;
	ornic_nexthop_hold(nh);
	mutex_lock(&conn->lock);
	rc = -EISCONN;
	if (!conn->in_device)
		rc = ornic_cmd_exec(&conn->od->core, cmd, NULL);
	if (!rc) {
		conn->in_device = true;
		conn->net = net;
		WRITE_ONCE(conn->nh, nh);
	}
	mutex_unlock(&conn->lock);
	if (rc) {
		put_net(net);
		ornic_nexthop_put(nh);
	}
	return rc;
}

/**
 * ornic_conn_open() - active open
 * @conn: new connection
 * @local: local address and port
 * @remote: remote address and port
 * @nh: next hop; the connection takes its own reference
 * @params: options
 *
 * Context: Process context, sleeps.
 * Return: 0: ESTABLISHED or a terminal event follows; -ECONNREFUSED: the host's packet filter does
 *         not let the SYN out; -EAFNOSUPPORT, -EISCONN, -EADDRINUSE, -ENETUNREACH: the next hop's
 *         network device is gone; as ornic_filter_open() or as ornic_cmd_exec()
 */
int ornic_conn_open(struct ornic_conn *conn, const struct sockaddr_storage *local,
		    const struct sockaddr_storage *remote, struct ornic_nexthop *nh,
		    const struct ornic_tcp_params *params)
{
	struct ornic_cmd_open cmd = {
		.hdr.opcode = cpu_to_le16(ORNIC_CMD_OPEN),
		.conn_id = cpu_to_le32(conn->rest->id),
		.nexthop = cpu_to_le32(ornic_nexthop_index(nh)),
	};
	struct ornic_core *core = &conn->od->core;
	u8 family;
	int rc;

	if (ornic_addr_pack(core, local, cmd.laddr, &cmd.lport, &cmd.family) ||
	    ornic_addr_pack(core, remote, cmd.raddr, &cmd.rport, &family) || family != cmd.family)
		return -EAFNOSUPPORT;
	ornic_conn_fill_opts(&cmd.opts, params);
	conn->local = *local;
	conn->remote = *remote;
	conn->dscp = params->dscp;
	rc = ornic_filter_open(nh, local, remote, params);
	return rc ?: ornic_conn_enter(conn, &cmd, nh);
}
EXPORT_SYMBOL_GPL(ornic_conn_open);

/**
 * ornic_conn_accept() - answer a held SYN
 * @conn: new connection
 * @syn: the SYN; its frame is not looked at
 * @nh: next hop; the connection takes its own reference
 * @params: options
 *
 * Context: Process context, sleeps.
 * Return: 0: ESTABLISHED or a terminal event follows; -ECONNRESET: the SYN is gone; -EISCONN,
 *         -ENETUNREACH: the next hop's network device is gone; or as ornic_cmd_exec()
 */
int ornic_conn_accept(struct ornic_conn *conn, const struct ornic_syn *syn,
		      struct ornic_nexthop *nh, const struct ornic_tcp_params *params)
{
	struct ornic_cmd_accept cmd = {
		.hdr.opcode = cpu_to_le16(ORNIC_CMD_ACCEPT),
		.syn_id = cpu_to_le32(syn->syn_id),
		.conn_id = cpu_to_le32(conn->rest->id),
		.nexthop = cpu_to_le32(ornic_nexthop_index(nh)),
	};

	ornic_conn_fill_opts(&cmd.opts, params);
	conn->local = syn->local;
	conn->remote = syn->remote;
	conn->dscp = params->dscp;
	return ornic_conn_enter(conn, &cmd, nh);
}
EXPORT_SYMBOL_GPL(ornic_conn_accept);

/**
 * ornic_syn_refuse() - do not accept a held SYN
 * @core: the function
 * @syn_id: of struct ornic_syn
 * @how: RST, no answer, or pass it to the host's stack
 *
 * Context: Process context, sleeps.
 * Return: 0, -ECONNRESET: it is gone already, or as ornic_cmd_exec()
 */
int ornic_syn_refuse(struct ornic_core *core, u32 syn_id, enum ornic_refuse how)
{
	struct ornic_cmd_refuse cmd = {
		.hdr.opcode = cpu_to_le16(ORNIC_CMD_REFUSE),
		.syn_id = cpu_to_le32(syn_id),
		.how = cpu_to_le32(how),
	};

	return ornic_cmd_exec(core, &cmd, NULL);
}
EXPORT_SYMBOL_GPL(ornic_syn_refuse);

/**
 * ornic_conn_send() - queue stream bytes
 * @conn: connection in streaming mode
 * @data: bytes
 * @len: 1..limits.stream_max
 *
 * Context: Process context, sleeps.
 * Return: 0, -EINVAL, -EAGAIN: too much is unacknowledged, -ENOTCONN, -ECONNRESET, or as
 *         ornic_cmd_exec()
 */
int ornic_conn_send(struct ornic_conn *conn, const void *data, u32 len)
{
	struct ornic_cmd_stream_tx cmd = {
		.hdr.opcode = cpu_to_le16(ORNIC_CMD_STREAM_TX),
		.conn_id = cpu_to_le32(conn->rest->id),
		.len = cpu_to_le32(len),
	};

	if (!len || len > conn->od->core.limits.stream_max)
		return -EINVAL;
	return ornic_conn_exec(conn, &cmd, data, len);
}
EXPORT_SYMBOL_GPL(ornic_conn_send);

/**
 * ornic_conn_rx_done() - stream bytes below an offset are not needed any more
 * @conn: connection in streaming mode
 * @offset: stream offset
 *
 * Context: Process context, sleeps.
 * Return: 0, -ENOTCONN, -ECONNRESET, or as ornic_cmd_exec()
 */
int ornic_conn_rx_done(struct ornic_conn *conn, u64 offset)
{
	struct ornic_cmd_stream_rx_done cmd = {
		.hdr.opcode = cpu_to_le16(ORNIC_CMD_STREAM_RX_DONE),
		.conn_id = cpu_to_le32(conn->rest->id),
		.offset = cpu_to_le64(offset),
	};

	return ornic_conn_exec(conn, &cmd, NULL, 0);
}
EXPORT_SYMBOL_GPL(ornic_conn_rx_done);

/**
 * ornic_conn_mode_rdma() - bind connection and QP
 * @conn: connection in streaming mode
 * @params: see struct ornic_cmd_mode_rdma
 *
 * Context: Process context, sleeps.
 * Return: 0; -EPROTO: early data, the connection was aborted; -EINVAL, -ENOTCONN, -ECONNRESET, or
 *         as ornic_cmd_exec()
 */
int ornic_conn_mode_rdma(struct ornic_conn *conn, const struct ornic_rdma_params *params)
{
	struct ornic_cmd_mode_rdma cmd = {
		.hdr.opcode = cpu_to_le16(ORNIC_CMD_MODE_RDMA),
		.conn_id = cpu_to_le32(conn->rest->id),
		.qpn = cpu_to_le32(params->qpn),
		.role = params->role,
		.rtr = params->rtr,
		.flags = cpu_to_le16(params->flags),
		.ird = cpu_to_le16(params->ird),
		.ord = cpu_to_le16(params->ord),
		.data_len = cpu_to_le32(params->data_len),
		.rx_offset = cpu_to_le64(params->rx_offset),
	};

	if (params->data_len > conn->od->core.limits.stream_max)
		return -EINVAL;
	return ornic_conn_exec(conn, &cmd, params->data, params->data_len);
}
EXPORT_SYMBOL_GPL(ornic_conn_mode_rdma);

static int ornic_conn_number(struct ornic_conn *conn, u16 opcode)
{
	struct ornic_cmd_number cmd = {
		.hdr.opcode = cpu_to_le16(opcode),
		.number = cpu_to_le32(conn->rest->id),
	};

	return ornic_conn_exec(conn, &cmd, NULL, 0);
}

/**
 * ornic_conn_close() - send FIN after all that is queued
 * @conn: connection
 *
 * Context: Process context, sleeps.
 * Return: 0, also the second time; -ENOTCONN, -ECONNRESET, or as ornic_cmd_exec()
 */
int ornic_conn_close(struct ornic_conn *conn)
{
	return ornic_conn_number(conn, ORNIC_CMD_CLOSE);
}
EXPORT_SYMBOL_GPL(ornic_conn_close);

/**
 * ornic_conn_abort() - send RST
 * @conn: connection
 *
 * Context: Process context, sleeps.
 * Return: 0: ABORTED follows unless another terminal event went before; -ECONNRESET: it did; or as
 *         ornic_cmd_exec()
 */
int ornic_conn_abort(struct ornic_conn *conn)
{
	return ornic_conn_number(conn, ORNIC_CMD_ABORT);
}
EXPORT_SYMBOL_GPL(ornic_conn_abort);

/* Under conn->lock. Swaps @nh with the connection's on success; the caller puts what is left. */
static int ornic_conn_do_update(struct ornic_conn *conn, struct ornic_nexthop **nh, int dscp)
{
	struct ornic_cmd_update_conn cmd = {
		.hdr.opcode = cpu_to_le16(ORNIC_CMD_UPDATE_CONN),
		.conn_id = cpu_to_le32(conn->rest->id),
	};
	u32 mask = 0;
	int rc;

	if (*nh) {
		mask |= ORNIC_UPD_NEXTHOP;
		cmd.nexthop = cpu_to_le32(ornic_nexthop_index(*nh));
	}
	if (dscp >= 0) {
		mask |= ORNIC_UPD_DSCP;
		cmd.dscp = dscp;
	}
	cmd.mask = cpu_to_le32(mask);
	rc = ornic_conn_exec(conn, &cmd, NULL, 0);
	if (rc)
		return rc;
	if (dscp >= 0)
		conn->dscp = dscp;
	if (*nh)
		swap(conn->nh, *nh);
	return 0;
}

/**
 * ornic_conn_update() - change next hop or DSCP
 * @conn: connection
 * @nh: new next hop, of which the connection takes its own reference; NULL: leave it
 * @dscp: 0..63; negative: leave it
 *
 * Context: Process context, sleeps.
 * Return: 0, -EINVAL, -ENOTCONN, -ECONNRESET, or as ornic_cmd_exec()
 */
int ornic_conn_update(struct ornic_conn *conn, struct ornic_nexthop *nh, int dscp)
{
	int rc = -ENOTCONN;

	if (dscp > 63)
		return -EINVAL;
	if (!nh && dscp < 0)
		return 0;
	if (nh)
		ornic_nexthop_hold(nh);
	mutex_lock(&conn->lock);
	if (conn->in_device && !conn->freed)
		rc = ornic_conn_do_update(conn, &nh, dscp);
	mutex_unlock(&conn->lock);
	ornic_nexthop_put(nh);
	return rc;
}
EXPORT_SYMBOL_GPL(ornic_conn_update);

/**
 * ornic_conn_terminate() - send a Terminate message, then FIN
 * @conn: connection
 * @layer: 0 RDMAP, 1 DDP, 2 MPA
 * @etype: error type, 0..15
 * @code: error code
 * @flags: ORNIC_RDMAF_CRC in streaming mode, else 0
 *
 * Context: Process context, sleeps.
 * Return: 0, -ENOTCONN, -ECONNRESET, or as ornic_cmd_exec()
 */
int ornic_conn_terminate(struct ornic_conn *conn, u8 layer, u8 etype, u8 code, u8 flags)
{
	struct ornic_cmd_terminate cmd = {
		.hdr.opcode = cpu_to_le16(ORNIC_CMD_TERMINATE),
		.conn_id = cpu_to_le32(conn->rest->id),
		.layer = layer,
		.etype = etype,
		.code = code,
		.flags = flags,
	};

	return ornic_conn_exec(conn, &cmd, NULL, 0);
}
EXPORT_SYMBOL_GPL(ornic_conn_terminate);

/**
 * ornic_conn_query() - state of a connection
 * @conn: connection
 * @attr: filled on success, as the device wrote it
 *
 * Context: Process context, sleeps.
 * Return: 0, -ENOENT: not in the device, or as ornic_cmd_exec()
 */
int ornic_conn_query(struct ornic_conn *conn, struct ornic_conn_attr *attr)
{
	struct ornic_cmd_number cmd = {
		.hdr.opcode = cpu_to_le16(ORNIC_CMD_QUERY_CONN),
		.number = cpu_to_le32(conn->rest->id),
	};

	return ornic_cmd_exec_buf(conn->od, &cmd, attr, sizeof(*attr), DMA_FROM_DEVICE, NULL);
}
EXPORT_SYMBOL_GPL(ornic_conn_query);

/**
 * ornic_conn_free() - end a connection, silently aborting it if need be
 * @conn: connection, not to be used afterwards
 *
 * When it returns, the event function does not run, unless the caller is it, and will not run.
 *
 * Context: Process context, sleeps. May be called from the event function.
 */
void ornic_conn_free(struct ornic_conn *conn)
{
	struct ornic_dev *od = conn->od;
	struct ornic_nexthop *nh;
	bool in_device;

	mutex_lock(&conn->lock);
	conn->freed = true;
	in_device = conn->in_device;
	nh = conn->nh;
	WRITE_ONCE(conn->nh, NULL);
	mutex_unlock(&conn->lock);

	xa_erase_bh(&od->conns, conn->rest->id);
	if (in_device)
		ornic_cmd_number(od, ORNIC_CMD_FREE_CONN, conn->rest->id, NULL);
	ornic_tcp_wait_idle(od, conn);
	ornic_nexthop_put(nh);
	if (in_device)
		ornic_ids_rest(od, &od->conn_ids, conn->rest);
	else
		ornic_ids_free(&od->conn_ids, conn->rest);
	kref_put(&conn->ref, ornic_conn_release);
}
EXPORT_SYMBOL_GPL(ornic_conn_free);

/* --- route changes -------------------------------------------------------------------------- */

/**
 * ornic_tcp_reroute() - have live connections look for their route again, soon
 * @od: the function
 *
 * Context: Any context.
 */
void ornic_tcp_reroute(struct ornic_dev *od)
{
	queue_delayed_work(system_wq, &od->reroute_work, ORNIC_REROUTE_DELAY);
}

/* Is the route still the one that a look-up would give? Under conn->lock. */
static bool ornic_conn_route_good(struct ornic_conn *conn)
{
	bool good;

	rcu_read_lock();
	good = conn->dst && dst_check(conn->dst, conn->cookie);
	rcu_read_unlock();
	return good;
}

/* The connection's next hop now; its route is kept to be checked. Under conn->lock. */
static struct ornic_nexthop *ornic_conn_find_way(struct ornic_conn *conn)
{
	struct ornic_dev *od = conn->od;
	struct ornic_nexthop *nh;
	struct ornic_route route;
	int rc;

	dst_release(conn->dst);
	conn->dst = NULL;
	rc = ornic_route_lookup(&od->core, conn->net, &conn->local, &conn->remote, conn->dscp << 2,
				&route);
	if (rc == -ENOMEM)
		return ERR_PTR(rc);
	if (rc)
		return ornic_nexthop_none(conn->nh);
	nh = ornic_nexthop_of(od, &route);
	if (!IS_ERR(nh)) {
		swap(conn->dst, route.dst);
		conn->cookie = route.cookie;
	}
	ornic_route_put(&route);
	return nh;
}

/*
 * Without a route, or with one that leads through another network device, a connection is held like
 * one whose neighbour does not answer: it goes on when there is a way again, or times out. After an
 * error it stays where it is until it is looked at the next time.
 */
static void ornic_conn_reroute(struct ornic_conn *conn)
{
	struct ornic_nexthop *nh = NULL;
	int rc = 0;

	mutex_lock(&conn->lock);
	if (conn->freed || !conn->nh || ornic_conn_route_good(conn))
		goto unlock;
	nh = ornic_conn_find_way(conn);
	if (IS_ERR(nh)) {
		rc = PTR_ERR(nh);
		nh = NULL;
	} else if (nh != conn->nh) {
		rc = ornic_conn_do_update(conn, &nh, -1);
	}
	if (rc && rc != -ECONNRESET)
		dev_dbg(ornic_device(conn->od), "connection %u: no new next hop: %d\n",
			conn->rest->id, rc);
unlock:
	mutex_unlock(&conn->lock);
	ornic_nexthop_put(nh);
}

/* The next connection after @id, with a reference; NULL at the end. */
static struct ornic_conn *ornic_conn_next(struct ornic_dev *od, unsigned long *id)
{
	struct ornic_conn *conn;

	xa_lock_bh(&od->conns);
	conn = xa_find_after(&od->conns, id, ULONG_MAX, XA_PRESENT);
	if (conn)
		kref_get(&conn->ref);
	xa_unlock_bh(&od->conns);
	return conn;
}

/**
 * ornic_tcp_reroute_work() - the rest of ornic_tcp_reroute()
 * @work: reroute_work of the function
 *
 * Context: Workqueue.
 */
void ornic_tcp_reroute_work(struct work_struct *work)
{
	struct ornic_dev *od = container_of(to_delayed_work(work), struct ornic_dev, reroute_work);
	struct ornic_conn *conn;
	unsigned long id = 0;

	ornic_listen_follow(od);
	while ((conn = ornic_conn_next(od, &id))) {
		ornic_conn_reroute(conn);
		kref_put(&conn->ref, ornic_conn_release);
	}
}

static bool ornic_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr && a4->sin_port == b4->sin_port;
	return ipv6_addr_equal(&a6->sin6_addr, &b6->sin6_addr) && a6->sin6_port == b6->sin6_port;
}

/**
 * ornic_tcp_has() - is there a connection between two addresses?
 * @od: the function
 * @local: local address and port, AF_INET or AF_INET6; scope not looked at
 * @remote: remote address and port
 *
 * Context: Any context but hard interrupts.
 * Return: true if so
 */
bool ornic_tcp_has(struct ornic_dev *od, const struct sockaddr_storage *local,
		   const struct sockaddr_storage *remote)
{
	struct ornic_conn *conn;
	unsigned long id;
	bool has = false;

	xa_lock_bh(&od->conns);
	xa_for_each(&od->conns, id, conn) {
		has = READ_ONCE(conn->nh) && ornic_same(&conn->local, local) &&
		      ornic_same(&conn->remote, remote);
		if (has)
			break;
	}
	xa_unlock_bh(&od->conns);
	return has;
}

/**
 * ornic_tcp_dev_gone() - abort the connections over a network device
 * @od: the function
 * @dev: device that is being unregistered or moved to another namespace
 *
 * Context: Process context, sleeps, RTNL held.
 */
void ornic_tcp_dev_gone(struct ornic_dev *od, const struct net_device *dev)
{
	struct ornic_conn *conn;
	unsigned long id = 0;
	struct net_device *on;

	while ((conn = ornic_conn_next(od, &id))) {
		mutex_lock(&conn->lock);
		on = conn->nh ? ornic_nexthop_dev(conn->nh) : NULL;
		dev_put(on);
		/* Under the lock: once it is freed the id may be another connection's. */
		if (on == dev)
			ornic_conn_abort(conn);
		mutex_unlock(&conn->lock);
		kref_put(&conn->ref, ornic_conn_release);
	}
}

/**
 * ornic_tcp_init() - no connections, no listeners
 * @od: the function
 *
 * Context: Process context.
 */
void ornic_tcp_init(struct ornic_dev *od)
{
	/* Softirqs look at connections only, but lockdep has one class for what is made here. */
	xa_init_flags(&od->conns, XA_FLAGS_LOCK_BH);
	xa_init_flags(&od->listens, XA_FLAGS_LOCK_BH);
	ornic_ids_init(&od->conn_ids);
	ornic_ids_init(&od->listen_ids);
	INIT_LIST_HEAD(&od->listen_list);
	mutex_init(&od->listen_lock);
	init_waitqueue_head(&od->teq_idle);
}

/**
 * ornic_tcp_exit() - undo ornic_tcp_init(); connections and listeners are gone
 * @od: the function, without RDMA driver and event queues
 *
 * Context: Process context.
 */
void ornic_tcp_exit(struct ornic_dev *od)
{
	ornic_tcp_stopped(od);
	WARN_ON(!xa_empty(&od->conns));
	WARN_ON(!xa_empty(&od->listens));
	xa_destroy(&od->conns);
	xa_destroy(&od->listens);
	ida_destroy(&od->conn_ids.ida);
	ida_destroy(&od->listen_ids.ida);
}
