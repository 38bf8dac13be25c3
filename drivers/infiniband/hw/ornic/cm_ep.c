// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * OpenRNIC RDMA driver: endpoints: life, references, timer, upcalls, and what they do with QP and
 * connection.
 */
#include <linux/slab.h>
#include <net/tcp.h>

#include "cm_priv.h"
#include "cm_trace.h"

/*
 * Numbers are handed out in turn, so that one that iw_cm still holds does not soon name another
 * endpoint.
 */
#define EP_ID_LIMIT	XA_LIMIT(1, 0x3fffffff)
#define EP_DATA_TAG	1UL	/* provider_data of an endpoint; of a listener it is 0 */

static void ep_timer_work(struct work_struct *work)
{
	struct iw_ornic_ep *ep = container_of(to_delayed_work(work), struct iw_ornic_ep, timer);

	ep_simple_event(ep, EP_EV_TIMER);
	ep_put(ep);
}

static void ep_setup_mpa(struct iw_ornic_ep *ep)
{
	struct ornic_core *core = ep->dev->core;
	struct ornic_policy *policy = &ep->policy;
	struct mpa_local *mpa = &ep->mpa;

	ornic_get_policy(core, policy);
	mpa->can_mark = core->limits.caps & ORNIC_CAP_MARKERS;
	mpa->markers = policy->mpa_markers && mpa->can_mark;
	mpa->rev = policy->mpa_rev;
	mpa->crc = policy->mpa_crc;
	mpa->peer_to_peer = policy->peer_to_peer;
	mpa->rtr = policy->rtr_types & MPA_RTR_ALL;
	mpa->max_ird = core->limits.max_ird;
	mpa->max_ord = core->limits.max_ord;
	/* A responder that refuses by itself speaks for a consumer that would have taken all. */
	mpa->ird = mpa->max_ird;
	mpa->ord = mpa->max_ord;
}

/**
 * ep_alloc() - make an endpoint
 * @dev: device
 * @net: network namespace of the connection; a reference of it becomes the endpoint's
 *
 * Return: the endpoint in EP_IDLE with a reference for the caller, besides the table's, which
 * ep_l_die() gives back; or NULL, and
 * @net is still the caller's.
 */
struct iw_ornic_ep *ep_alloc(struct iw_ornic_dev *dev, struct net *net)
{
	struct iw_ornic_ep *ep = kzalloc(sizeof(*ep), GFP_KERNEL);

	if (!ep)
		return NULL;
	kref_init(&ep->ref);
	ep_get(ep);
	mutex_init(&ep->lock);
	mutex_init(&ep->up_lock);
	INIT_LIST_HEAD(&ep->child);
	INIT_DELAYED_WORK(&ep->timer, ep_timer_work);
	ep->dev = dev;
	ep->net = net;
	ep->born = jiffies;
	ep_setup_mpa(ep);
	if (xa_alloc_cyclic(&dev->cm.eps, &ep->id, ep, EP_ID_LIMIT, &dev->cm.next_ep,
			    GFP_KERNEL) < 0) {
		kfree(ep);
		return NULL;
	}
	cm_count(dev, IW_ORNIC_CM_ENDPOINTS);
	return ep;
}

/*
 * A connection that was begun has a reference of its own, and may move on to another next hop: this
 * one is not to be kept alive. Process context, may sleep.
 */
void ep_put_nexthop(struct iw_ornic_ep *ep)
{
	ornic_nexthop_put(ep->nh);
	ep->nh = NULL;
}

static void ep_free(struct kref *ref)
{
	struct iw_ornic_ep *ep = container_of(ref, struct iw_ornic_ep, ref);
	struct iw_ornic_cm *cm = &ep->dev->cm;

	ep_put_nexthop(ep);
	cm_release_port(ep->sock);
	put_net(ep->net);
	kfree(ep);

	/* Under the lock, so that iw_ornic_cm_fini() does not overtake the wake-up. */
	spin_lock_irq(&cm->idle.lock);
	if (atomic64_dec_and_test(&cm->stats[IW_ORNIC_CM_ENDPOINTS]))
		wake_up_all_locked(&cm->idle);
	spin_unlock_irq(&cm->idle.lock);
}

void ep_get(struct iw_ornic_ep *ep)
{
	kref_get(&ep->ref);
}

/* Process context, may sleep; not under the endpoint's locks. */
void ep_put(struct iw_ornic_ep *ep)
{
	kref_put(&ep->ref, ep_free);
}

void *ep_provider_data(const struct iw_ornic_ep *ep)
{
	return (void *)((unsigned long)ep->id << 1 | EP_DATA_TAG);
}

/**
 * ep_find() - the endpoint that an iw_cm_id names
 * @dev: device
 * @provider_data: of the iw_cm_id
 *
 * Return: endpoint with a reference; NULL when it is dead, or @provider_data names none.
 */
struct iw_ornic_ep *ep_find(struct iw_ornic_dev *dev, const void *provider_data)
{
	unsigned long data = (unsigned long)provider_data;
	struct iw_ornic_ep *ep = NULL;

	if (!(data & EP_DATA_TAG))
		return NULL;
	xa_lock(&dev->cm.eps);
	ep = xa_load(&dev->cm.eps, data >> 1);
	if (ep)
		ep_get(ep);
	xa_unlock(&dev->cm.eps);
	return ep;
}

/* The first endpoint from number @index on that is not dead, with a reference, or NULL. */
struct iw_ornic_ep *ep_find_from(struct iw_ornic_dev *dev, unsigned long *index)
{
	struct iw_ornic_ep *ep;

	xa_lock(&dev->cm.eps);
	ep = xa_find(&dev->cm.eps, index, ULONG_MAX, XA_PRESENT);
	if (ep)
		ep_get(ep);
	xa_unlock(&dev->cm.eps);
	return ep;
}

static bool ep_next_upcall(struct iw_ornic_ep *ep, struct iw_ornic_upcall *up)
{
	bool found;

	mutex_lock(&ep->lock);
	found = ep->up_head != ep->up_tail;
	if (found)
		*up = ep->up[ep->up_head++ % EP_MAX_UPCALLS];
	mutex_unlock(&ep->lock);
	return found;
}

static void ep_fill_private_data(struct iw_ornic_ep *ep, struct iw_cm_event *event)
{
	if (!ep->peer.pd_len || ep->peer.pd_len > MPA_MAX_ULP_PD)
		return;
	event->private_data = (void *)ep->peer.pd;
	event->private_data_len = ep->peer.pd_len;
}

static void ep_fill_request(struct iw_ornic_ep *ep, struct iw_cm_event *event)
{
	u16 ird, ord;

	/*
	 * Seen from the consumer: what it may use. Hence the initiator's IRD as ird, as siw has
	 * it.
	 */
	mpa_offer(&ep->mpa, &ep->peer, &ird, &ord);
	event->ird = ird;
	event->ord = ord;
	event->local_addr = ep->local;
	event->remote_addr = ep->remote;
	event->provider_data = ep_provider_data(ep);
	ep_fill_private_data(ep, event);
}

static void ep_fill_reply(struct iw_ornic_ep *ep, const struct iw_ornic_upcall *up,
			  struct iw_cm_event *event)
{
	if (up->status) {
		event->local_addr = up->cm_id->local_addr;
		event->remote_addr = up->cm_id->remote_addr;
		if (ep->peer.reject)
			ep_fill_private_data(ep, event);
		return;
	}
	event->local_addr = ep->local;
	event->remote_addr = ep->remote;
	ep_fill_private_data(ep, event);
}

/*
 * A CONNECT_REPLY that iw_cm had no memory for becomes one that needs none. Success is taken
 * back: whatever was to follow it must not.
 */
static void ep_reply_again(struct iw_ornic_ep *ep, const struct iw_ornic_upcall *up,
			   struct iw_cm_event *event)
{
	if (!event->status) {
		mutex_lock(&ep->lock);
		ep->up_head = ep->up_tail;
		ep->cm_id = NULL;
		set_bit(EP_H_CLOSE_UP, &ep->history);
		mutex_unlock(&ep->lock);
		event->status = -ENOMEM;
		event->ird = 0;
		event->ord = 0;
	}
	event->private_data_len = 0;
	event->private_data = NULL;
	up->cm_id->event_handler(up->cm_id, event);
}

/* True: the endpoint must hear of EP_EV_UPCALL_FAILED. */
static bool ep_make_upcall(struct iw_ornic_ep *ep, const struct iw_ornic_upcall *up)
{
	struct iw_cm_event event = { .event = up->type, .status = up->status };
	bool last = up->last;
	int ret;

	switch (up->type) {
	case IW_CM_EVENT_CONNECT_REQUEST:
		ep_fill_request(ep, &event);
		break;
	case IW_CM_EVENT_CONNECT_REPLY:
		ep_fill_reply(ep, up, &event);
		fallthrough;
	case IW_CM_EVENT_ESTABLISHED:
		if (up->status)
			break;
		/* Local values here, as siw has it: what was agreed. iw_cm has a u8 for them. */
		event.ird = min_t(u16, ep->agreed.ird, U8_MAX);
		event.ord = min_t(u16, ep->agreed.ord, U8_MAX);
		break;
	default:
		break;
	}

	ret = up->cm_id->event_handler(up->cm_id, &event);
	trace_iw_ornic_ep_upcall(ep, &event, ret);
	if (ret && up->type == IW_CM_EVENT_CONNECT_REPLY) {
		ep_reply_again(ep, up, &event);
		last = true;
	}
	if (last)
		up->cm_id->rem_ref(up->cm_id);
	return ret && !up->status;
}

/*
 * Makes the upcalls that were decided, in their order, whoever decided them. When it returns,
 * those that the caller decided have been made.
 */
static void ep_upcalls(struct iw_ornic_ep *ep)
{
	struct iw_ornic_upcall up;
	bool failed = false;

	mutex_lock(&ep->up_lock);
	while (ep_next_upcall(ep, &up))
		failed |= ep_make_upcall(ep, &up);
	mutex_unlock(&ep->up_lock);
	if (failed)
		ep_simple_event(ep, EP_EV_UPCALL_FAILED);
}

/**
 * ep_unlock() - release an endpoint's lock, then do what was decided under it
 * @ep: endpoint; the caller has a reference besides those that go here
 *
 * Upcalls are made, the old connection and QP given back. Process context; may be the event
 * function of the old connection.
 */
void ep_unlock(struct iw_ornic_ep *ep)
{
	struct ornic_conn *conn = ep->old_conn;
	struct iw_ornic_qp *qp = ep->old_qp;
	unsigned int puts = ep->puts;
	bool reopen = ep->reopen;

	ep->old_conn = NULL;
	ep->old_qp = NULL;
	ep->puts = 0;
	ep->reopen = false;
	mutex_unlock(&ep->lock);

	ep_upcalls(ep);
	if (conn)
		ornic_conn_free(conn);
	/* After the connection: a QP that is being destroyed waits for this reference. */
	if (qp)
		iw_ornic_qp_put(qp);
	if (reopen)
		ep_simple_event(ep, EP_EV_REOPEN);
	while (puts--)
		ep_put(ep);
}

/* (Re)start the timer. */
void ep_l_timer(struct iw_ornic_ep *ep, u32 ms)
{
	unsigned long delay = msecs_to_jiffies(ms);

	ep->timer_on = true;
	ep->timer_at = jiffies + delay;
	if (!mod_delayed_work(ep->dev->cm.wq, &ep->timer, delay))
		ep_get(ep);
}

void ep_l_timer_stop(struct iw_ornic_ep *ep)
{
	ep->timer_on = false;
	if (cancel_delayed_work(&ep->timer))
		ep->puts++;
}

static void ep_l_push(struct iw_ornic_ep *ep, struct iw_cm_id *cm_id,
		      enum iw_cm_event_type type, int status, bool last)
{
	struct iw_ornic_upcall *up = &ep->up[ep->up_tail % EP_MAX_UPCALLS];

	if (WARN_ON_ONCE((u8)(ep->up_tail - ep->up_head) == EP_MAX_UPCALLS))
		return;
	up->cm_id = cm_id;
	up->type = type;
	up->status = status;
	up->last = last;
	ep->up_tail++;
}

/**
 * ep_l_upcall() - decide a CONNECT_REPLY, ESTABLISHED or CLOSE
 * @ep: endpoint
 * @type: which
 * @status: 0 or negative errno
 *
 * Each at most once, and none after a CLOSE or a failed CONNECT_REPLY: with these the iw_cm_id is
 * forgotten.
 */
void ep_l_upcall(struct iw_ornic_ep *ep, enum iw_cm_event_type type, int status)
{
	bool last = type == IW_CM_EVENT_CLOSE || (type == IW_CM_EVENT_CONNECT_REPLY && status);
	enum iw_ornic_ep_history bit = type == IW_CM_EVENT_CLOSE ? EP_H_CLOSE_UP :
				       type == IW_CM_EVENT_ESTABLISHED ? EP_H_ESTABLISHED_UP :
									 EP_H_REPLY_UP;

	if (test_and_set_bit(bit, &ep->history) || !ep->cm_id) {
		/*
		 * Only a reply that was taken back leaves an endpoint that has a CLOSE to tell
		 * and nobody to tell it to.
		 */
		WARN_ON_ONCE(bit != EP_H_CLOSE_UP);
		return;
	}
	ep_l_push(ep, ep->cm_id, type, status, last);
	if (last)
		ep->cm_id = NULL;
	if (type == IW_CM_EVENT_CONNECT_REPLY && status)
		cm_count(ep->dev, IW_ORNIC_CM_CONNECT_ERRORS);
}

/* Decide the CONNECT_REQUEST: it goes to the listener's id, with a reference of its own. */
void ep_l_request_upcall(struct iw_ornic_ep *ep)
{
	struct iw_cm_id *cm_id = ep->listener->cm_id;

	if (WARN_ON_ONCE(test_and_set_bit(EP_H_REQUEST_UP, &ep->history)))
		return;
	cm_id->add_ref(cm_id);
	ep_l_push(ep, cm_id, IW_CM_EVENT_CONNECT_REQUEST, 0, true);
	cm_count(ep->dev, IW_ORNIC_CM_REQUESTS);
}

/**
 * ep_l_attach_qp() - tie a QP to an endpoint
 * @ep: endpoint without QP
 * @qp: QP; the caller's reference becomes the endpoint's on success
 *
 * From here on modify_qp() and destroy_qp() reach the endpoint.
 *
 * Return: 0, -EISCONN when the QP has an endpoint, -EINVAL when it is beyond RTR.
 */
int ep_l_attach_qp(struct iw_ornic_ep *ep, struct iw_ornic_qp *qp)
{
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&qp->lock, flags);
	if (qp->ep) {
		ret = -EISCONN;
	} else if (qp->state != IB_QPS_RESET && qp->state != IB_QPS_INIT &&
		   qp->state != IB_QPS_RTR) {
		ret = -EINVAL;
	} else {
		qp->ep = ep;
		ep_get(ep);
		ep->qp = qp;
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	return ret;
}

/* The one place where endpoint and QP part. */
void ep_l_detach_qp(struct iw_ornic_ep *ep)
{
	struct iw_ornic_qp *qp = ep->qp;
	unsigned long flags;

	if (!qp)
		return;
	if (test_bit(EP_H_RDMA, &ep->history))
		iw_ornic_qp_set_error(qp);
	spin_lock_irqsave(&qp->lock, flags);
	qp->ep = NULL;
	spin_unlock_irqrestore(&qp->lock, flags);
	ep->qp = NULL;
	ep->old_qp = qp;
	ep->puts++;
}

/* The connection is freed when the lock is released. Where it is still up that sends a RST. */
void ep_l_drop_conn(struct iw_ornic_ep *ep)
{
	if (!ep->conn)
		return;
	ep->old_conn = ep->conn;
	ep->conn = NULL;
	ep->puts++;
}

/* The end. Upcalls that are due have been decided before. */
void ep_l_die(struct iw_ornic_ep *ep)
{
	if (ep->state == EP_DEAD)
		return;
	ep->state = EP_DEAD;
	ep_l_timer_stop(ep);
	ep_l_leave_listener(ep);
	ep_l_detach_qp(ep);
	ep_l_drop_conn(ep);
	xa_erase(&ep->dev->cm.eps, ep->id);
	ep->puts++;
}

/* TCP closes by itself (CLOSE or TERMINATE was given); a time-out ends what the peer does not. */
void ep_l_linger(struct iw_ornic_ep *ep)
{
	ep_l_leave_listener(ep);
	ep->state = EP_CLOSING;
	ep_l_timer(ep, ep->policy.close_timeout_ms);
}

/**
 * ep_l_mode_rdma() - bind connection and QP
 * @ep: endpoint; what was agreed, and the offset behind the peer's frame, are settled
 * @role: role in the MPA start-up
 * @final_len: bytes of @ep->tx that go out last in streaming mode, in the same step
 *
 * Return: 0 or negative errno; the endpoint is as before then.
 */
int ep_l_mode_rdma(struct iw_ornic_ep *ep, enum ornic_role role, u32 final_len)
{
	const struct mpa_agreed *agreed = &ep->agreed;
	struct ornic_rdma_params params = {
		.qpn = ep->qp->qpn,
		.role = role,
		.rtr = (enum ornic_rtr)agreed->rtr,
		.flags = (agreed->crc ? ORNIC_RDMAF_CRC : 0) |
			 (agreed->tx_markers ? ORNIC_RDMAF_TX_MARKERS : 0) |
			 (agreed->rx_markers ? ORNIC_RDMAF_RX_MARKERS : 0),
		.ird = agreed->ird,
		.ord = agreed->ord,
		.rx_offset = ep->rx_next,
		.data = final_len ? ep->tx : NULL,
		.data_len = final_len,
	};
	int ret = ornic_conn_mode_rdma(ep->conn, &params);

	/* The device has ended the connection; its event comes too late to be told apart. */
	if (ret == -ENOTCONN)
		return -ECONNRESET;
	if (ret)
		return ret;
	set_bit(EP_H_RDMA, &ep->history);
	iw_ornic_qp_set_rts(ep->qp, agreed->ird, agreed->ord);
	return 0;
}

/**
 * ep_l_receive() - take stream bytes of the MPA start-up
 * @ep: endpoint
 * @arg: EP_EV_STREAM_RX
 * @left: bytes behind the frame
 *
 * Return: as mpa_rx_feed(), with @ep->peer filled in at MPA_OK. A gap in the stream is a
 * malformed frame.
 */
enum mpa_status ep_l_receive(struct iw_ornic_ep *ep, const struct ep_arg *arg, size_t *left)
{
	size_t len = le16_to_cpu(arg->teqe->data_len);
	enum mpa_status status;
	size_t used;

	*left = 0;
	if (le64_to_cpu(arg->teqe->offset) != ep->rx_next)
		return MPA_BAD_LENGTH;
	status = mpa_rx_feed(&ep->rx, arg->data, len, &used);
	ep->rx_next += used;
	*left = len - used;
	if (status == MPA_OK)
		mpa_rx_frame(&ep->rx, &ep->peer);
	else if (status == MPA_MORE)
		/* A connection that has ended in between says so by its own event. */
		ornic_conn_rx_done(ep->conn, ep->rx_next);
	return status;
}

/**
 * ep_tcp_params() - TCP options of a connection
 * @ep: endpoint
 * @params: result
 *
 * What an administrator sets for the host's TCP in the namespace holds here where there is no
 * setting of our own.
 */
void ep_tcp_params(const struct iw_ornic_ep *ep, struct ornic_tcp_params *params)
{
	const struct netns_ipv4 *ipv4 = &ep->net->ipv4;
	bool active = test_bit(EP_H_ACTIVE, &ep->history);
	u32 intvl = READ_ONCE(ipv4->sysctl_tcp_keepalive_intvl) / HZ;
	u32 retries = active ? READ_ONCE(ipv4->sysctl_tcp_syn_retries) :
			       READ_ONCE(ipv4->sysctl_tcp_synack_retries);

	memset(params, 0, sizeof(*params));
	params->options = ep->policy.tcp_options & ORNIC_TCPO_ALL;
	if (!ep->policy.keepalive_s)
		params->options &= ~ORNIC_TCPO_KEEPALIVE;
	params->window = ep->policy.window;
	params->dscp = ep->tos >> 2;
	params->ttl = READ_ONCE(ipv4->sysctl_ip_default_ttl);
	params->syn_retries = min_t(u32, retries, 15);
	params->keep_count = clamp_t(u32, READ_ONCE(ipv4->sysctl_tcp_keepalive_probes), 1, 255);
	params->keep_idle = clamp_t(u32, ep->policy.keepalive_s, 1, U16_MAX);
	params->keep_intvl = clamp_t(u32, intvl, 1, U16_MAX);
}
