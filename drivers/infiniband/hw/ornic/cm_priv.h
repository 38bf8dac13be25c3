/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* OpenRNIC RDMA driver: connection manager, between its own files. */
#ifndef _IW_ORNIC_CM_PRIV_H
#define _IW_ORNIC_CM_PRIV_H

#include <linux/jiffies.h>
#include <linux/kref.h>
#include <net/net_namespace.h>

#include "iw_ornic.h"
#include "mpa.h"

/**
 * enum iw_ornic_ep_state - states of an endpoint
 * @EP_IDLE: being made, or begun and failed before anything was sent
 * @EP_OPENING: initiator: the SYN is out
 * @EP_REQ_SENT: initiator: the MPA request is out
 * @EP_REOPENING: initiator: the old connection is being freed, revision 1 is next
 * @EP_SYN_RCVD: responder: the SYN-ACK is out
 * @EP_REQ_WAIT: responder: the MPA request is awaited
 * @EP_REQ_DELIVERED: responder: the consumer has the request and must accept or reject it
 * @EP_ACCEPTING: responder: the reply is out, the RTR message is awaited
 * @EP_RTS: in RDMA mode, the consumer knows
 * @EP_CLOSING: nothing more to tell to the consumer, TCP is closing
 * @EP_DEAD: no connection, no QP, no upcall to come; only references keep the memory
 */
enum iw_ornic_ep_state {
	EP_IDLE,
	EP_OPENING,
	EP_REQ_SENT,
	EP_REOPENING,
	EP_SYN_RCVD,
	EP_REQ_WAIT,
	EP_REQ_DELIVERED,
	EP_ACCEPTING,
	EP_RTS,
	EP_CLOSING,
	EP_DEAD,
	EP_STATES,
};

/* What can happen to an endpoint. EP_EV_CLOSED..EP_EV_FATAL leave no connection. */
enum iw_ornic_ep_event {
	EP_EV_ESTABLISHED,
	EP_EV_STREAM_RX,
	EP_EV_PEER_FIN,
	EP_EV_FIRST_FPDU,
	EP_EV_TERMINATE,	/* sent or received */
	EP_EV_CLOSED,
	EP_EV_REFUSED,
	EP_EV_PEER_RST,
	EP_EV_ABORTED,
	EP_EV_TIMEOUT,
	EP_EV_UNREACH,
	EP_EV_FATAL,		/* the device stopped or is gone */
	EP_EV_TIMER,		/* the endpoint's own */
	EP_EV_REOPEN,		/* the old connection is gone */
	EP_EV_ACCEPT,
	EP_EV_REJECT,
	EP_EV_DISCONNECT,	/* modify_qp to SQD */
	EP_EV_ABORT,		/* modify_qp to ERR, destroy_qp */
	EP_EV_UNLISTEN,		/* the listener goes */
	EP_EV_EVICT,		/* the backlog is full and the endpoint silent */
	EP_EV_LEAVE,		/* the driver goes; connections that are up are their consumers' */
	EP_EV_UPCALL_FAILED,	/* iw_cm had no room for CONNECT_REQUEST or CONNECT_REPLY */
	EP_EVENTS,
};

/* What an endpoint went through, for people and for "exactly once". */
enum iw_ornic_ep_history {
	EP_H_ACTIVE,
	EP_H_TCP_UP,
	EP_H_REQ_SENT,
	EP_H_REQ_RCVD,
	EP_H_RDMA,		/* MODE_RDMA done: the QP is bound to the connection */
	EP_H_FALLBACK,
	EP_H_REQUEST_UP,	/* the upcalls, decided */
	EP_H_REPLY_UP,
	EP_H_ESTABLISHED_UP,
	EP_H_CLOSE_UP,
	EP_H_ACCEPT,
	EP_H_REJECT,
	EP_H_DISCONNECT,
	EP_H_ABORT,
	EP_H_PEER_CLOSED,
	EP_H_TERMINATE,
	EP_H_TIMER,
	EP_H_UNLISTEN,
	EP_H_FATAL,
	EP_H_LEAVE,
};

/**
 * struct iw_ornic_upcall - an upcall that was decided and not made yet
 * @cm_id: to whom
 * @type: what
 * @status: 0 or negative errno
 * @last: after it the reference to @cm_id is given back
 */
struct iw_ornic_upcall {
	struct iw_cm_id *cm_id;
	enum iw_cm_event_type type;
	int status;
	bool last;
};

#define EP_MAX_UPCALLS	3	/* CONNECT_REQUEST, ESTABLISHED, CLOSE */

/**
 * struct iw_ornic_ep - endpoint of a connection
 * @ref: one each of @dev's table, @conn, a queued @timer, @qp's pointer, and short-lived ones
 * @lock: everything below that does not say otherwise. Upcalls are decided under it
 * @up_lock: held while upcalls are made, which keeps their order; taken before @lock
 * @dev: device
 * @id: number, what iw_cm knows
 * @state: state
 * @history: enum iw_ornic_ep_history
 * @cm_id: with a reference from connect or accept until the last upcall was decided
 * @qp: bound or to be bound, with a reference
 * @conn: TCP connection
 * @old_conn: to be freed when @lock is released
 * @old_qp: reference to give back then
 * @puts: references to this endpoint to give back then
 * @reopen: EP_EV_REOPEN is due then
 * @timer: ends waiting
 * @timer_on: @timer counts; one that is not wanted any more may still fire
 * @timer_at: when, in jiffies
 * @nh: next hop, until a connection was begun
 * @net: network namespace of @local
 * @sock: reserves the local port in the host's stack; may be NULL
 * @local: this end
 * @remote: other end
 * @tos: type of service
 * @listener: responder: where it came from, with a reference, until accepted, rejected or dead
 * @child: in the listener's list
 * @born: when the endpoint was made, in jiffies
 * @policy: as it was when the endpoint was made
 * @mpa: this side in the MPA negotiation
 * @sent: the request that was sent
 * @peer: the frame that was received; its private data lies in @rx
 * @agreed: outcome of the negotiation
 * @rx_next: stream offset of the next byte to take
 * @up: upcalls
 * @up_head: upcalls made, free running
 * @up_tail: upcalls decided, free running
 * @rx: frame being received
 * @tx: frame being sent
 * @pd: initiator: the consumer's private data
 * @pd_len: its bytes
 */
struct iw_ornic_ep {
	struct kref ref;
	struct mutex lock;		/* see above */
	struct mutex up_lock;		/* see above */
	struct iw_ornic_dev *dev;
	u32 id;
	enum iw_ornic_ep_state state;
	unsigned long history;
	struct iw_cm_id *cm_id;
	struct iw_ornic_qp *qp;
	struct ornic_conn *conn;
	struct ornic_conn *old_conn;
	struct iw_ornic_qp *old_qp;
	unsigned int puts;
	bool reopen;
	struct delayed_work timer;
	bool timer_on;
	unsigned long timer_at;
	struct ornic_nexthop *nh;
	struct net *net;
	struct socket *sock;
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	u8 tos;
	struct iw_ornic_listener *listener;
	struct list_head child;
	unsigned long born;
	struct ornic_policy policy;
	struct mpa_local mpa;
	struct mpa_frame sent;
	struct mpa_frame peer;
	struct mpa_agreed agreed;
	u64 rx_next;
	struct iw_ornic_upcall up[EP_MAX_UPCALLS];
	u8 up_head;
	u8 up_tail;
	struct mpa_rx rx;
	u8 tx[MPA_FRAME_MAX];
	u8 pd[MPA_MAX_PD];
	u16 pd_len;
};

struct iw_ornic_bind;

/**
 * struct iw_ornic_listen_part - one listening address of a listener
 * @node: in the bind's list
 * @bind: listening address of the device
 * @listener: owner
 * @sock: reserves the port in the host's stack; may be NULL
 */
struct iw_ornic_listen_part {
	struct list_head node;
	struct iw_ornic_bind *bind;
	struct iw_ornic_listener *listener;
	struct socket *sock;
};

/**
 * struct iw_ornic_listener - what iw_create_listen made
 * @ref: one of the creator, one of each child, and short-lived ones
 * @dev: device
 * @id: number, what iw_cm knows
 * @cm_id: with a reference until it is destroyed
 * @net: network namespace of the consumer
 * @net_sure: @net is certain, else requests to addresses of other namespaces are shown too
 * @tos: type of service of its connections
 * @backlog: children that may wait to be accepted
 * @started: the device listens; under listen_mutex
 * @lock: the rest; taken after an endpoint's
 * @closed: being destroyed, takes no more children
 * @pending: children
 * @children: children, struct iw_ornic_ep
 * @nparts: listening addresses
 * @parts: a wildcard of IPv6 listens on IPv4 too unless told otherwise
 */
struct iw_ornic_listener {
	struct kref ref;
	struct iw_ornic_dev *dev;
	u32 id;
	struct iw_cm_id *cm_id;
	struct net *net;
	bool net_sure;
	u8 tos;
	u32 backlog;
	bool started;
	spinlock_t lock;		/* see above */
	bool closed;
	u32 pending;
	struct list_head children;
	u32 nparts;
	struct iw_ornic_listen_part parts[2];
};

/**
 * struct ep_arg - an event and what comes with it
 * @event: event
 * @conn: TCP event: the connection; events of a former one are dropped
 * @teqe: TCP event: the entry
 * @data: TCP event: its data
 * @cm_id: accept: the new id
 * @param: accept: the consumer's parameters
 * @qp: accept: the QP, with a reference of the caller's
 * @pd: reject: private data
 * @pd_len: reject: its bytes
 */
struct ep_arg {
	enum iw_ornic_ep_event event;
	struct ornic_conn *conn;
	const struct ornic_teqe *teqe;
	const void *data;
	struct iw_cm_id *cm_id;
	const struct iw_cm_conn_param *param;
	struct iw_ornic_qp *qp;
	const void *pd;
	u8 pd_len;
};

/* Under ep->lock. The result counts for accept and reject only. */
typedef int (*ep_handler)(struct iw_ornic_ep *ep, const struct ep_arg *arg);

static inline void cm_count(struct iw_ornic_dev *dev, enum iw_ornic_cm_stat stat)
{
	atomic64_inc(&dev->cm.stats[stat]);
}

/* cm.c: the table */
int ep_event(struct iw_ornic_ep *ep, const struct ep_arg *arg);
int ep_simple_event(struct iw_ornic_ep *ep, enum iw_ornic_ep_event event);
void ep_conn_event(struct ornic_conn *conn, const struct ornic_teqe *teqe, const void *data);
int ep_errno(const struct ep_arg *arg);

/* cm_ep.c: life, references, timer, upcalls, QP; "l": under ep->lock */
struct iw_ornic_ep *ep_alloc(struct iw_ornic_dev *dev, struct net *net);
struct iw_ornic_ep *ep_find(struct iw_ornic_dev *dev, const void *provider_data);
struct iw_ornic_ep *ep_find_from(struct iw_ornic_dev *dev, unsigned long *index);
void ep_get(struct iw_ornic_ep *ep);
void ep_put(struct iw_ornic_ep *ep);
void ep_unlock(struct iw_ornic_ep *ep);
void ep_put_nexthop(struct iw_ornic_ep *ep);
void *ep_provider_data(const struct iw_ornic_ep *ep);
void ep_l_timer(struct iw_ornic_ep *ep, u32 ms);
void ep_l_timer_stop(struct iw_ornic_ep *ep);
void ep_l_upcall(struct iw_ornic_ep *ep, enum iw_cm_event_type type, int status);
void ep_l_request_upcall(struct iw_ornic_ep *ep);
int ep_l_attach_qp(struct iw_ornic_ep *ep, struct iw_ornic_qp *qp);
void ep_l_detach_qp(struct iw_ornic_ep *ep);
void ep_l_drop_conn(struct iw_ornic_ep *ep);
void ep_l_die(struct iw_ornic_ep *ep);
void ep_l_linger(struct iw_ornic_ep *ep);
int ep_l_mode_rdma(struct iw_ornic_ep *ep, enum ornic_role role, u32 final_len);
enum mpa_status ep_l_receive(struct iw_ornic_ep *ep, const struct ep_arg *arg, size_t *left);
void ep_tcp_params(const struct iw_ornic_ep *ep, struct ornic_tcp_params *params);

/* cm_active.c */
int ep_established_active(struct iw_ornic_ep *ep, const struct ep_arg *arg);
int ep_reply(struct iw_ornic_ep *ep, const struct ep_arg *arg);
int ep_connect_failed(struct iw_ornic_ep *ep, const struct ep_arg *arg);
int ep_peer_left(struct iw_ornic_ep *ep, const struct ep_arg *arg);
int ep_reopen(struct iw_ornic_ep *ep, const struct ep_arg *arg);

/* cm_passive.c */
enum ornic_refuse ep_child(struct iw_ornic_listener *listener, struct net *net,
			   const struct ornic_syn *syn, bool *accepted);
int ep_established_passive(struct iw_ornic_ep *ep, const struct ep_arg *arg);
int ep_request(struct iw_ornic_ep *ep, const struct ep_arg *arg);
int ep_early_data(struct iw_ornic_ep *ep, const struct ep_arg *arg);
int ep_accept(struct iw_ornic_ep *ep, const struct ep_arg *arg);
int ep_reject(struct iw_ornic_ep *ep, const struct ep_arg *arg);
int ep_first_fpdu(struct iw_ornic_ep *ep, const struct ep_arg *arg);
int ep_accept_failed(struct iw_ornic_ep *ep, const struct ep_arg *arg);

/* cm_listen.c */
struct net *cm_addr_net(struct iw_ornic_dev *dev, const struct sockaddr_storage *addr);
int cm_reserve_port(struct net *net, const struct sockaddr_storage *addr, int ifindex,
		    bool share, struct socket **sock);
void cm_release_port(struct socket *sock);
void listener_put(struct iw_ornic_listener *listener);
struct iw_ornic_listener *listener_find(struct iw_ornic_dev *dev, const void *provider_data);
bool listener_add_child(struct iw_ornic_listener *listener, struct iw_ornic_ep *ep);
void ep_l_leave_listener(struct iw_ornic_ep *ep);

#endif /* _IW_ORNIC_CM_PRIV_H */
