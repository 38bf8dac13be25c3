// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * OpenRNIC RDMA driver: connection manager: the endpoint state machine's table, and how events
 * get to it.
 *
 * What iw_cm demands, and a BUG() in it enforces: exactly one CONNECT_REPLY for each iw_connect()
 * that returned 0, exactly one ESTABLISHED for each such iw_accept(), after a good one of either
 * exactly one CLOSE, and otherwise nothing. Documentation/cm.rst has the machine in a table for
 * people.
 */
#include <linux/icmp.h>
#include <linux/net.h>
#include <rdma/restrack.h>

#include "cm_priv.h"

#define CREATE_TRACE_POINTS
#include "cm_trace.h"

const char * const iw_ornic_cm_stat_names[IW_ORNIC_CM_STAT_COUNT] = {
	[IW_ORNIC_CM_ENDPOINTS] = "cm_endpoints",
	[IW_ORNIC_CM_LISTENERS] = "cm_listeners",
	[IW_ORNIC_CM_CONNECTS] = "cm_connects",
	[IW_ORNIC_CM_CONNECT_ERRORS] = "cm_connect_errors",
	[IW_ORNIC_CM_REQUESTS] = "cm_requests",
	[IW_ORNIC_CM_ACCEPTS] = "cm_accepts",
	[IW_ORNIC_CM_REJECTS_SENT] = "cm_rejects_sent",
	[IW_ORNIC_CM_REJECTS_RECEIVED] = "cm_rejects_received",
	[IW_ORNIC_CM_FALLBACKS] = "cm_mpa_rev1_fallbacks",
	[IW_ORNIC_CM_BAD_FRAMES] = "cm_mpa_bad_frames",
	[IW_ORNIC_CM_LONG_DATA] = "cm_mpa_long_private_data",
	[IW_ORNIC_CM_MARKERS] = "cm_mpa_markers_refused",
	[IW_ORNIC_CM_EARLY_DATA] = "cm_mpa_early_data",
	[IW_ORNIC_CM_TIMEOUTS] = "cm_timeouts",
	[IW_ORNIC_CM_BACKLOG] = "cm_backlog_drops",
	[IW_ORNIC_CM_REAPED] = "cm_children_reaped",
};

static const char * const ep_state_names[EP_STATES] = {
	[EP_IDLE] = "idle",
	[EP_OPENING] = "opening",
	[EP_REQ_SENT] = "req-sent",
	[EP_REOPENING] = "reopening",
	[EP_SYN_RCVD] = "syn-rcvd",
	[EP_REQ_WAIT] = "req-wait",
	[EP_REQ_DELIVERED] = "req-delivered",
	[EP_ACCEPTING] = "accepting",
	[EP_RTS] = "rts",
	[EP_CLOSING] = "closing",
	[EP_DEAD] = "dead",
};

static int unreach_errno(u32 info)
{
	u8 type = info >> 8;
	u8 code = info;

	/*
	 * ICMPv6 destination unreachable is type 1: code 0 no route, 3 address, 4 port (RFC 4443
	 * 3.1)
	 */
	if (type == 1)
		return code == 0 ? -ENETUNREACH : code == 4 ? -ECONNREFUSED : -EHOSTUNREACH;
	if (type != ICMP_DEST_UNREACH)
		return -EHOSTUNREACH;
	switch (code) {
	case ICMP_NET_UNREACH:
	case ICMP_NET_UNKNOWN:
	case ICMP_NET_ANO:
	case ICMP_NET_UNR_TOS:
		return -ENETUNREACH;
	case ICMP_PROT_UNREACH:
		return -ENOPROTOOPT;
	case ICMP_PORT_UNREACH:
		return -ECONNREFUSED;
	default:
		return -EHOSTUNREACH;
	}
}

/**
 * ep_errno() - what an event that ends a connection means to a consumer
 * @arg: event
 *
 * Return: negative errno. rdma_cm tells -ECONNRESET and -ECONNREFUSED as rejected, -ETIMEDOUT as
 * unreachable.
 */
int ep_errno(const struct ep_arg *arg)
{
	switch (arg->event) {
	case EP_EV_REFUSED:
		return -ECONNREFUSED;
	case EP_EV_TIMEOUT:
	case EP_EV_TIMER:
		return -ETIMEDOUT;
	case EP_EV_UNREACH:
		return unreach_errno(le32_to_cpu(arg->teqe->info));
	case EP_EV_ABORTED:
		if (le32_to_cpu(arg->teqe->info) == ORNIC_ABORT_NO_RESOURCE)
			return -ENOMEM;
		return -ECONNABORTED;
	case EP_EV_DISCONNECT:
	case EP_EV_ABORT:
		return -ECONNABORTED;
	case EP_EV_FATAL:
	case EP_EV_LEAVE:
		return -EIO;
	default:
		return -ECONNRESET;
	}
}

/* Nobody has to be told. */
static int ep_end(struct iw_ornic_ep *ep, const struct ep_arg *arg)
{
	ep_l_die(ep);
	return 0;
}

static int ep_reap(struct iw_ornic_ep *ep, const struct ep_arg *arg)
{
	cm_count(ep->dev, IW_ORNIC_CM_REAPED);
	return ep_end(ep, arg);
}

/* Accept or reject come too late. */
static int ep_gone(struct iw_ornic_ep *ep, const struct ep_arg *arg)
{
	return -ECONNRESET;
}

/* The connection is no more. */
static int ep_lost(struct iw_ornic_ep *ep, const struct ep_arg *arg)
{
	ep_l_upcall(ep, IW_CM_EVENT_CLOSE, 0);
	ep_l_die(ep);
	return 0;
}

/*
 * Either side closes in order. iw_cm's CLOSE does not wait for TCP: its consumers learn of a
 * disconnect by nothing else. The device finishes the send queue, then sends FIN.
 */
static int ep_close(struct iw_ornic_ep *ep, const struct ep_arg *arg)
{
	ep_l_upcall(ep, IW_CM_EVENT_CLOSE, 0);
	if (ornic_conn_close(ep->conn)) {
		ep_l_die(ep);
		return 0;
	}
	iw_ornic_qp_set_closing(ep->qp);
	ep_l_linger(ep);
	return 0;
}

/* A Terminate went or came: the device has the QP in ERROR and sends FIN. */
static int ep_terminated(struct iw_ornic_ep *ep, const struct ep_arg *arg)
{
	ep_l_upcall(ep, IW_CM_EVENT_CLOSE, 0);
	iw_ornic_qp_set_error(ep->qp);
	ep_l_linger(ep);
	return 0;
}

static int ep_terminated_closing(struct iw_ornic_ep *ep, const struct ep_arg *arg)
{
	if (ep->qp)
		iw_ornic_qp_set_error(ep->qp);
	return 0;
}

#define ON_LATE_ANSWER \
	[EP_EV_ACCEPT] = ep_gone, \
	[EP_EV_REJECT] = ep_gone

/* What is not here changes nothing. */
static const ep_handler ep_table[EP_STATES][EP_EVENTS] = {
	[EP_IDLE] = {
		ON_LATE_ANSWER,
		[EP_EV_UNLISTEN] = ep_reap,
		[EP_EV_FATAL] = ep_end,
		[EP_EV_LEAVE] = ep_end,
	},
	[EP_OPENING] = {
		[EP_EV_CLOSED ... EP_EV_FATAL] = ep_connect_failed,
		ON_LATE_ANSWER,
		[EP_EV_ESTABLISHED] = ep_established_active,
		[EP_EV_PEER_FIN] = ep_connect_failed,
		[EP_EV_DISCONNECT] = ep_connect_failed,
		[EP_EV_ABORT] = ep_connect_failed,
		[EP_EV_LEAVE] = ep_connect_failed,
	},
	[EP_REQ_SENT] = {
		[EP_EV_CLOSED ... EP_EV_FATAL] = ep_peer_left,
		ON_LATE_ANSWER,
		[EP_EV_STREAM_RX] = ep_reply,
		[EP_EV_PEER_FIN] = ep_peer_left,
		[EP_EV_TIMER] = ep_connect_failed,
		[EP_EV_DISCONNECT] = ep_connect_failed,
		[EP_EV_ABORT] = ep_connect_failed,
		[EP_EV_LEAVE] = ep_connect_failed,
	},
	[EP_REOPENING] = {
		ON_LATE_ANSWER,
		[EP_EV_REOPEN] = ep_reopen,
		[EP_EV_DISCONNECT] = ep_connect_failed,
		[EP_EV_ABORT] = ep_connect_failed,
		[EP_EV_FATAL] = ep_connect_failed,
		[EP_EV_LEAVE] = ep_connect_failed,
	},
	[EP_SYN_RCVD] = {
		[EP_EV_CLOSED ... EP_EV_FATAL] = ep_end,
		ON_LATE_ANSWER,
		[EP_EV_ESTABLISHED] = ep_established_passive,
		[EP_EV_PEER_FIN] = ep_end,
		[EP_EV_UNLISTEN] = ep_reap,
		[EP_EV_EVICT] = ep_end,
		[EP_EV_LEAVE] = ep_end,
	},
	[EP_REQ_WAIT] = {
		[EP_EV_CLOSED ... EP_EV_FATAL] = ep_end,
		ON_LATE_ANSWER,
		[EP_EV_STREAM_RX] = ep_request,
		[EP_EV_PEER_FIN] = ep_end,
		[EP_EV_TIMER] = ep_end,
		[EP_EV_UNLISTEN] = ep_reap,
		[EP_EV_EVICT] = ep_end,
		[EP_EV_LEAVE] = ep_end,
	},
	[EP_REQ_DELIVERED] = {
		[EP_EV_CLOSED ... EP_EV_FATAL] = ep_end,
		[EP_EV_ACCEPT] = ep_accept,
		[EP_EV_REJECT] = ep_reject,
		[EP_EV_STREAM_RX] = ep_early_data,
		[EP_EV_PEER_FIN] = ep_end,
		[EP_EV_TIMER] = ep_end,
		[EP_EV_UNLISTEN] = ep_reap,
		[EP_EV_UPCALL_FAILED] = ep_reject,
		[EP_EV_LEAVE] = ep_end,
	},
	[EP_ACCEPTING] = {
		[EP_EV_CLOSED ... EP_EV_FATAL] = ep_accept_failed,
		ON_LATE_ANSWER,
		[EP_EV_FIRST_FPDU] = ep_first_fpdu,
		[EP_EV_PEER_FIN] = ep_accept_failed,
		[EP_EV_TERMINATE] = ep_accept_failed,
		[EP_EV_TIMER] = ep_accept_failed,
		[EP_EV_DISCONNECT] = ep_accept_failed,
		[EP_EV_ABORT] = ep_accept_failed,
		[EP_EV_LEAVE] = ep_accept_failed,
	},
	[EP_RTS] = {
		[EP_EV_CLOSED ... EP_EV_FATAL] = ep_lost,
		ON_LATE_ANSWER,
		[EP_EV_PEER_FIN] = ep_close,
		[EP_EV_TERMINATE] = ep_terminated,
		[EP_EV_DISCONNECT] = ep_close,
		[EP_EV_ABORT] = ep_lost,
		[EP_EV_UPCALL_FAILED] = ep_end,
	},
	[EP_CLOSING] = {
		[EP_EV_CLOSED ... EP_EV_FATAL] = ep_end,
		ON_LATE_ANSWER,
		[EP_EV_TERMINATE] = ep_terminated_closing,
		[EP_EV_TIMER] = ep_end,
		[EP_EV_ABORT] = ep_end,
		[EP_EV_UPCALL_FAILED] = ep_end,
	},
	[EP_DEAD] = {
		ON_LATE_ANSWER,
	},
};

/* Bit of the history, plus one. */
static const u8 ep_event_history[EP_EVENTS] = {
	[EP_EV_PEER_FIN] = EP_H_PEER_CLOSED + 1,
	[EP_EV_TERMINATE] = EP_H_TERMINATE + 1,
	[EP_EV_TIMER] = EP_H_TIMER + 1,
	[EP_EV_DISCONNECT] = EP_H_DISCONNECT + 1,
	[EP_EV_ABORT] = EP_H_ABORT + 1,
	[EP_EV_UNLISTEN] = EP_H_UNLISTEN + 1,
	[EP_EV_FATAL] = EP_H_FATAL + 1,
	[EP_EV_LEAVE] = EP_H_LEAVE + 1,
};

/*
 * A timer that was stopped or set anew may fire all the same, and a former connection may have
 * had events under way.
 */
static bool ep_l_stale(struct iw_ornic_ep *ep, const struct ep_arg *arg)
{
	if (arg->conn && arg->conn != ep->conn)
		return true;
	if (arg->event != EP_EV_TIMER)
		return false;
	if (!ep->timer_on || time_before(jiffies, ep->timer_at))
		return true;
	ep->timer_on = false;
	return false;
}

/**
 * ep_event() - an event happens to an endpoint
 * @ep: endpoint; the caller has a reference and none of its locks
 * @arg: event
 *
 * Upcalls that it leads to have been made on return.
 *
 * Context: Process context, may sleep.
 * Return: accept and reject: 0 or negative errno.
 */
int ep_event(struct iw_ornic_ep *ep, const struct ep_arg *arg)
{
	enum iw_ornic_ep_state from;
	ep_handler handler;
	int ret = 0;

	mutex_lock(&ep->lock);
	from = ep->state;
	handler = ep_table[from][arg->event];
	if (handler && !ep_l_stale(ep, arg)) {
		if (ep_event_history[arg->event])
			set_bit(ep_event_history[arg->event] - 1, &ep->history);
		if (arg->event == EP_EV_TIMER)
			cm_count(ep->dev, IW_ORNIC_CM_TIMEOUTS);
		ret = handler(ep, arg);
		trace_iw_ornic_ep_event(ep, arg->event, from, ret);
	}
	ep_unlock(ep);
	return ret;
}

int ep_simple_event(struct iw_ornic_ep *ep, enum iw_ornic_ep_event event)
{
	struct ep_arg arg = { .event = event };

	return ep_event(ep, &arg);
}

/* Event of the device to event of the endpoint; false: of no interest. */
static bool ep_map_event(u8 type, enum iw_ornic_ep_event *event)
{
	static const u8 map[] = {
		[ORNIC_TCP_ESTABLISHED] = EP_EV_ESTABLISHED + 1,
		[ORNIC_TCP_STREAM_RX] = EP_EV_STREAM_RX + 1,
		[ORNIC_TCP_PEER_FIN] = EP_EV_PEER_FIN + 1,
		[ORNIC_TCP_FIRST_FPDU] = EP_EV_FIRST_FPDU + 1,
		[ORNIC_TCP_TERM_SENT] = EP_EV_TERMINATE + 1,
		[ORNIC_TCP_TERM_RCVD] = EP_EV_TERMINATE + 1,
		[ORNIC_TCP_CLOSED] = EP_EV_CLOSED + 1,
		[ORNIC_TCP_REFUSED] = EP_EV_REFUSED + 1,
		[ORNIC_TCP_PEER_RST] = EP_EV_PEER_RST + 1,
		[ORNIC_TCP_ABORTED] = EP_EV_ABORTED + 1,
		[ORNIC_TCP_TIMEOUT] = EP_EV_TIMEOUT + 1,
		[ORNIC_TCP_UNREACH] = EP_EV_UNREACH + 1,
	};

	if (type < ARRAY_SIZE(map) && map[type]) {
		*event = map[type] - 1;
		return true;
	}
	/* A terminal event of a later device ends the connection all the same. */
	*event = EP_EV_ABORTED;
	return type >= ORNIC_TCP_TERMINAL;
}

/**
 * ep_conn_event() - an event of an endpoint's TCP connection, see ornic_conn_event_fn
 * @conn: connection
 * @teqe: entry
 * @data: its data
 */
void ep_conn_event(struct ornic_conn *conn, const struct ornic_teqe *teqe, const void *data)
{
	struct iw_ornic_ep *ep = ornic_conn_ctx(conn);
	struct ep_arg arg = { .conn = conn, .teqe = teqe, .data = data };

	if (!ep_map_event(teqe->type, &arg.event))
		return;
	/* The connection's own reference goes when the handler lets it go. */
	ep_get(ep);
	ep_event(ep, &arg);
	ep_put(ep);
}

/*
 * The data path is the shorter way: a consumer may have had messages of a peer, and be through with
 * it, before the event that the first one came. Then the connection is up, and did not fail.
 */
static void ep_await_first_fpdu(struct iw_ornic_ep *ep)
{
	bool accepting;

	mutex_lock(&ep->lock);
	accepting = ep->state == EP_ACCEPTING;
	mutex_unlock(&ep->lock);
	if (accepting)
		ornic_conn_sync(ep->dev->core);
}

/**
 * iw_ornic_cm_qp_disconnect() - a consumer moves a QP to SQD (in order) or to ERR, or destroys it
 * (abrupt)
 * @qp: QP
 * @abrupt: reset the connection
 *
 * When it returns, iw_cm has been told what it is owed; after an abrupt one the connection is
 * gone and its endpoint has let go of the QP, or does so in another task without waiting for
 * anyone.
 *
 * Context: Process context, may sleep; the caller may hold @qp->mutex.
 * Return: 0, also when there is nothing to disconnect.
 */
int iw_ornic_cm_qp_disconnect(struct iw_ornic_qp *qp, bool abrupt)
{
	struct iw_ornic_ep *ep;
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	ep = qp->ep;
	if (ep)
		ep_get(ep);
	spin_unlock_irqrestore(&qp->lock, flags);
	if (!ep)
		return 0;
	if (!abrupt)
		ep_await_first_fpdu(ep);
	ep_simple_event(ep, abrupt ? EP_EV_ABORT : EP_EV_DISCONNECT);
	ep_put(ep);
	return 0;
}

/**
 * iw_ornic_cm_leave() - the driver goes: nothing new is begun, and what is not up yet ends
 * @dev: device
 *
 * iw_cm lets nobody destroy an id before the CONNECT_REPLY or ESTABLISHED that it waits for, which
 * may be as far as a time-out away; and consumers destroy theirs when the device is unregistered.
 * Connections that are up stay until then.
 *
 * Context: Process context, may sleep.
 */
void iw_ornic_cm_leave(struct iw_ornic_dev *dev)
{
	struct iw_ornic_ep *ep;
	unsigned long index;

	WRITE_ONCE(dev->cm.dead, true);
	for (index = 0; (ep = ep_find_from(dev, &index)); index++) {
		ep_simple_event(ep, EP_EV_LEAVE);
		ep_put(ep);
	}
}

/**
 * iw_ornic_cm_device_fatal() - the device stopped or is gone: every endpoint comes to its end
 * @dev: device
 *
 * iw_cm is told what it is owed. Listeners stay, deaf, until rdma_cm destroys them.
 *
 * Context: Process context, may sleep.
 */
void iw_ornic_cm_device_fatal(struct iw_ornic_dev *dev)
{
	struct iw_ornic_ep *ep;
	unsigned long index;

	WRITE_ONCE(dev->cm.dead, true);
	for (index = 0; (ep = ep_find_from(dev, &index)); index = 0) {
		ep_simple_event(ep, EP_EV_FATAL);
		ep_put(ep);
	}
}

/**
 * iw_ornic_cm_init() - make the connection manager
 * @dev: device, before it is registered
 *
 * Return: 0 or -ENOMEM
 */
int iw_ornic_cm_init(struct iw_ornic_dev *dev)
{
	struct iw_ornic_cm *cm = &dev->cm;

	cm->wq = alloc_ordered_workqueue("iw_ornic_cm", WQ_MEM_RECLAIM);
	if (!cm->wq)
		return -ENOMEM;
	xa_init_flags(&cm->eps, XA_FLAGS_ALLOC1);
	xa_init_flags(&cm->listeners, XA_FLAGS_ALLOC1);
	mutex_init(&cm->listen_mutex);
	spin_lock_init(&cm->listen_lock);
	INIT_LIST_HEAD(&cm->binds);
	init_waitqueue_head(&cm->idle);
	return 0;
}

/**
 * iw_ornic_cm_fini() - unmake the connection manager
 * @dev: device, unregistered, with ornic.ko still delivering events
 *
 * Ends the connections that are still closing.
 *
 * Context: Process context, sleeps; not a TCP event.
 */
void iw_ornic_cm_fini(struct iw_ornic_dev *dev)
{
	struct iw_ornic_cm *cm = &dev->cm;

	iw_ornic_cm_device_fatal(dev);
	wait_event(cm->idle, !iw_ornic_cm_stat(dev, IW_ORNIC_CM_ENDPOINTS));
	/* Who woke us still held this. */
	spin_lock_irq(&cm->idle.lock);
	spin_unlock_irq(&cm->idle.lock);

	WARN_ON(iw_ornic_cm_stat(dev, IW_ORNIC_CM_LISTENERS));
	destroy_workqueue(cm->wq);
	xa_destroy(&cm->eps);
	xa_destroy(&cm->listeners);
}

u64 iw_ornic_cm_stat(struct iw_ornic_dev *dev, enum iw_ornic_cm_stat stat)
{
	return atomic64_read(&dev->cm.stats[stat]);
}

static int listener_fill_res(struct sk_buff *msg, const struct iw_ornic_listener *listener)
{
	if (rdma_nl_put_driver_string(msg, "state", "listen") ||
	    rdma_nl_put_driver_u32(msg, "listener", listener->id) ||
	    rdma_nl_put_driver_u32(msg, "backlog", listener->backlog) ||
	    rdma_nl_put_driver_u32(msg, "pending", READ_ONCE(listener->pending)))
		return -EMSGSIZE;
	return 0;
}

static int ep_fill_res(struct sk_buff *msg, const struct iw_ornic_ep *ep)
{
	if (rdma_nl_put_driver_string(msg, "state", ep_state_names[ep->state]) ||
	    rdma_nl_put_driver_u32(msg, "endpoint", ep->id) ||
	    rdma_nl_put_driver_u32_hex(msg, "history", ep->history) ||
	    rdma_nl_put_driver_u32(msg, "mpa_rev", ep->peer.rev) ||
	    rdma_nl_put_driver_u32(msg, "mpa_crc", ep->agreed.crc) ||
	    rdma_nl_put_driver_u32(msg, "rtr", ep->agreed.rtr) ||
	    rdma_nl_put_driver_u32(msg, "ird", ep->agreed.ird) ||
	    rdma_nl_put_driver_u32(msg, "ord", ep->agreed.ord) ||
	    rdma_nl_put_driver_u32(msg, "conn_id", ep->conn ? ornic_conn_id(ep->conn) : 0))
		return -EMSGSIZE;
	return 0;
}

/**
 * iw_ornic_cm_fill_res() - describe an id for "rdma res show cm_id"
 * @msg: message, inside the driver's nested attribute
 * @cm_id: id
 *
 * Context: Process context, may sleep.
 * Return: 0 or -EMSGSIZE
 */
int iw_ornic_cm_fill_res(struct sk_buff *msg, struct iw_cm_id *cm_id)
{
	struct iw_ornic_dev *dev = to_iw_ornic_dev(cm_id->device);
	struct iw_ornic_listener *listener;
	struct iw_ornic_ep *ep;
	int ret = 0;

	ep = ep_find(dev, cm_id->provider_data);
	if (ep) {
		mutex_lock(&ep->lock);
		ret = ep_fill_res(msg, ep);
		mutex_unlock(&ep->lock);
		ep_put(ep);
		return ret;
	}
	listener = listener_find(dev, cm_id->provider_data);
	if (listener) {
		ret = listener_fill_res(msg, listener);
		listener_put(listener);
	}
	return ret;
}
