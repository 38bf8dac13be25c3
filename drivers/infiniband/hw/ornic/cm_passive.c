// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* OpenRNIC RDMA driver: the responder's half of the connection manager, from the SYN on. */
#include <linux/err.h>

#include "cm_priv.h"

static struct iw_ornic_ep *child_alloc(struct iw_ornic_listener *listener, struct net *net,
				       const struct ornic_syn *syn)
{
	struct iw_ornic_dev *dev = listener->dev;
	struct ornic_nexthop *nh;
	struct iw_ornic_ep *ep;

	nh = ornic_nexthop_get(dev->core, net, &syn->local, &syn->remote, listener->tos);
	if (IS_ERR_OR_NULL(nh))
		return NULL;
	get_net(net);
	ep = ep_alloc(dev, net);
	if (!ep) {
		put_net(net);
		ornic_nexthop_put(nh);
		return NULL;
	}
	ep->nh = nh;
	ep->tos = listener->tos;
	ep->local = syn->local;
	ep->remote = syn->remote;
	mpa_rx_start(&ep->rx, MPA_REQUEST);
	return ep;
}

static bool child_l_begin(struct iw_ornic_ep *ep, const struct ornic_syn *syn)
{
	struct ornic_tcp_params params;
	struct ornic_conn *conn;

	if (ep->state != EP_IDLE || ep->dev->cm.dead)
		return false;
	conn = ornic_conn_alloc(ep->dev->core, ep_conn_event, ep);
	if (IS_ERR_OR_NULL(conn))
		return false;
	ep->conn = conn;
	ep_get(ep);
	ep_tcp_params(ep, &params);
	if (ornic_conn_accept(conn, syn, ep->nh, &params))
		return false;
	ep_put_nexthop(ep);
	ep->state = EP_SYN_RCVD;
	return true;
}

/**
 * ep_child() - answer a SYN
 * @listener: its listener
 * @net: network namespace of the address that it was sent to
 * @syn: SYN
 * @accepted: result: the SYN was answered by ACCEPT
 *
 * Context: Process context, TCP events' workqueue.
 * Return: how to refuse it, when it was not accepted.
 */
enum ornic_refuse ep_child(struct iw_ornic_listener *listener, struct net *net,
			   const struct ornic_syn *syn, bool *accepted)
{
	struct iw_ornic_ep *ep = child_alloc(listener, net, syn);

	/*
	 * Without a way back, or memory, there is no better answer than none: the peer tries
	 * again.
	 */
	*accepted = false;
	if (!ep)
		return ORNIC_REFUSE_SILENT;
	mutex_lock(&ep->lock);
	if (ep->state == EP_IDLE && listener_add_child(listener, ep))
		*accepted = child_l_begin(ep, syn);
	if (!*accepted)
		ep_l_die(ep);
	ep_unlock(ep);
	ep_put(ep);
	return ORNIC_REFUSE_SILENT;
}

int ep_established_passive(struct iw_ornic_ep *ep, const struct ep_arg *arg)
{
	set_bit(EP_H_TCP_UP, &ep->history);
	ep->state = EP_REQ_WAIT;
	/* RFC 5044 7.1.2 rule 8 and 10 */
	ep_l_timer(ep, ep->policy.mpa_timeout_ms);
	return 0;
}

/*
 * Send an MPA reply with R, then FIN (RFC 5044 7.1.2 rule 2). The endpoint has no consumer any
 * more.
 */
static void ep_l_refuse(struct iw_ornic_ep *ep, const void *pd, u16 pd_len)
{
	struct mpa_frame reply;
	size_t len;

	mpa_refuse(&ep->mpa, &ep->peer, &reply);
	reply.pd = pd;
	reply.pd_len = pd_len;
	len = mpa_build(&reply, ep->tx);
	set_bit(EP_H_REJECT, &ep->history);
	if (!len || ornic_conn_send(ep->conn, ep->tx, len) || ornic_conn_close(ep->conn)) {
		ep_l_die(ep);
		return;
	}
	cm_count(ep->dev, IW_ORNIC_CM_REJECTS_SENT);
	ep_l_linger(ep);
}

static void ep_l_deliver(struct iw_ornic_ep *ep)
{
	switch (mpa_check_request(&ep->mpa, &ep->peer)) {
	case MPA_OK:
		break;
	case MPA_BAD_REVISION:
		cm_count(ep->dev, IW_ORNIC_CM_BAD_FRAMES);
		ep_l_die(ep);
		return;
	case MPA_MARKERS:
		cm_count(ep->dev, IW_ORNIC_CM_MARKERS);
		ep_l_refuse(ep, NULL, 0);
		return;
	default:
		cm_count(ep->dev, IW_ORNIC_CM_LONG_DATA);
		ep_l_refuse(ep, NULL, 0);
		return;
	}
	/* The final state before the consumer can see it: accept or reject may come at once. */
	ep->state = EP_REQ_DELIVERED;
	ep_l_timer(ep, ep->policy.mpa_timeout_ms);
	ep_l_request_upcall(ep);
}

/* Bytes of the request. */
int ep_request(struct iw_ornic_ep *ep, const struct ep_arg *arg)
{
	enum mpa_status status;
	size_t left;

	status = ep_l_receive(ep, arg, &left);
	if (status == MPA_MORE)
		return 0;
	if (status != MPA_OK) {
		cm_count(ep->dev, IW_ORNIC_CM_BAD_FRAMES);
		ep_l_die(ep);
		return 0;
	}
	set_bit(EP_H_REQ_RCVD, &ep->history);
	if (left)
		return ep_early_data(ep, arg);
	ep_l_deliver(ep);
	return 0;
}

/*
 * Bytes between request and reply: the initiator does not know yet in which form it may send
 * (RFC 5044 7.1.2 rule 3).
 */
int ep_early_data(struct iw_ornic_ep *ep, const struct ep_arg *arg)
{
	cm_count(ep->dev, IW_ORNIC_CM_EARLY_DATA);
	ep_l_die(ep);
	return 0;
}

static int accept_check(const struct iw_ornic_ep *ep, const struct iw_cm_conn_param *param)
{
	u16 room = ep->peer.enhanced ? MPA_MAX_PD - MPA_ENHANCED_LEN : MPA_MAX_PD;

	if (param->ird > ep->mpa.max_ird || param->ord > ep->mpa.max_ord)
		return -EINVAL;
	return param->private_data_len > room ? -EINVAL : 0;
}

/* Receive switches, the reply goes out, in one step of the device: no FPDU can come too early. */
static int ep_l_answer(struct iw_ornic_ep *ep, const struct iw_cm_conn_param *param)
{
	struct mpa_frame reply;
	size_t len;
	int ret;

	ep->mpa.ird = param->ird;
	ep->mpa.ord = param->ord;
	mpa_answer(&ep->mpa, &ep->peer, &reply, &ep->agreed);
	reply.pd = param->private_data;
	reply.pd_len = param->private_data_len;
	len = mpa_build(&reply, ep->tx);
	if (!len)
		return -EINVAL;
	ret = ornic_alive(ep->dev->core) ? ep_l_mode_rdma(ep, ORNIC_ROLE_RESPONDER, len) : -EIO;
	if (ret == -EPROTO)
		cm_count(ep->dev, IW_ORNIC_CM_EARLY_DATA);
	return ret;
}

/**
 * ep_accept() - the consumer accepts
 * @ep: endpoint in EP_REQ_DELIVERED
 * @arg: EP_EV_ACCEPT; its QP reference becomes the endpoint's on success
 *
 * Return: 0: exactly one ESTABLISHED follows. Negative errno: nothing follows, the endpoint is at
 * its end and holds no reference to the iw_cm_id.
 */
int ep_accept(struct iw_ornic_ep *ep, const struct ep_arg *arg)
{
	int ret;

	set_bit(EP_H_ACCEPT, &ep->history);
	ret = accept_check(ep, arg->param);
	if (!ret)
		ret = ep_l_attach_qp(ep, arg->qp);
	if (ret) {
		ep_l_refuse(ep, NULL, 0);
		return ret;
	}
	ret = ep_l_answer(ep, arg->param);
	if (ret) {
		ep_l_detach_qp(ep);
		ep->old_qp = NULL;	/* stays the caller's */
		ep_l_die(ep);
		return ret;
	}

	cm_count(ep->dev, IW_ORNIC_CM_ACCEPTS);
	ep_l_leave_listener(ep);
	arg->cm_id->add_ref(arg->cm_id);
	ep->cm_id = arg->cm_id;
	if (ep->agreed.rtr != MPA_RTR_NONE) {
		ep->state = EP_ACCEPTING;
		ep_l_timer(ep, ep->policy.mpa_timeout_ms);
		return 0;
	}
	ep_l_timer_stop(ep);
	ep->state = EP_RTS;
	ep_l_upcall(ep, IW_CM_EVENT_ESTABLISHED, 0);
	return 0;
}

int ep_reject(struct iw_ornic_ep *ep, const struct ep_arg *arg)
{
	ep_l_refuse(ep, arg->pd, arg->pd_len);
	return 0;
}

/* The RTR message came. */
int ep_first_fpdu(struct iw_ornic_ep *ep, const struct ep_arg *arg)
{
	ep_l_timer_stop(ep);
	ep->state = EP_RTS;
	ep_l_upcall(ep, IW_CM_EVENT_ESTABLISHED, 0);
	return 0;
}

/* iw_cm wants an ESTABLISHED before a CLOSE, always. */
int ep_accept_failed(struct iw_ornic_ep *ep, const struct ep_arg *arg)
{
	ep_l_upcall(ep, IW_CM_EVENT_ESTABLISHED, ep_errno(arg));
	ep_l_upcall(ep, IW_CM_EVENT_CLOSE, 0);
	ep_l_die(ep);
	return 0;
}

/**
 * iw_ornic_accept() - accept a connection request
 * @cm_id: new id
 * @param: QP, depths, private data
 *
 * Context: Process context, may be iw_cm's workqueue.
 * Return: 0: exactly one ESTABLISHED follows, then a CLOSE. Negative errno: neither, the
 * connection is gone. -ECONNRESET: it has ended before, or too much time has passed.
 */
int iw_ornic_accept(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param)
{
	struct iw_ornic_dev *dev = to_iw_ornic_dev(cm_id->device);
	struct iw_ornic_ep *ep = ep_find(dev, cm_id->provider_data);
	struct ep_arg arg = { .event = EP_EV_ACCEPT, .cm_id = cm_id, .param = param };
	int ret;

	if (!ep)
		return -ECONNRESET;
	arg.qp = iw_ornic_qp_find(dev, param->qpn);
	if (arg.qp) {
		ret = ep_event(ep, &arg);
		if (ret)
			iw_ornic_qp_put(arg.qp);
	} else {
		/* iw_cm sends no reject after a failed accept. */
		ret = ep_simple_event(ep, EP_EV_REJECT);
		if (!ret)
			ret = -EINVAL;
	}
	ep_put(ep);
	return ret;
}

/**
 * iw_ornic_reject() - reject a connection request
 * @cm_id: new id
 * @pdata: private data for the peer
 * @pdata_len: its bytes
 *
 * Context: Process context, may be iw_cm's workqueue.
 * Return: 0, or -ECONNRESET: the connection has ended before. No event follows either way.
 */
int iw_ornic_reject(struct iw_cm_id *cm_id, const void *pdata, u8 pdata_len)
{
	struct iw_ornic_dev *dev = to_iw_ornic_dev(cm_id->device);
	struct iw_ornic_ep *ep = ep_find(dev, cm_id->provider_data);
	struct ep_arg arg = { .event = EP_EV_REJECT, .pd = pdata, .pd_len = pdata_len };
	int ret;

	if (!ep)
		return -ECONNRESET;
	ret = ep_event(ep, &arg);
	ep_put(ep);
	return ret;
}
