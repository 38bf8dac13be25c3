// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* OpenRNIC RDMA driver: the initiator's half of the connection manager. */
#include <linux/err.h>
#include <linux/in.h>
#include <linux/in6.h>

#include "cm_priv.h"

static u16 sockaddr_port(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET ?
		ntohs(((const struct sockaddr_in *)addr)->sin_port) :
		ntohs(((const struct sockaddr_in6 *)addr)->sin6_port);
}

static int connect_check(struct iw_ornic_dev *dev, const struct iw_cm_id *cm_id,
			 const struct iw_cm_conn_param *param)
{
	const struct ornic_limits *limits = &dev->core->limits;
	sa_family_t family = cm_id->m_local_addr.ss_family;

	if (family != cm_id->m_remote_addr.ss_family)
		return -EINVAL;
	if (family != AF_INET && !(family == AF_INET6 && limits->caps & ORNIC_CAP_IPV6))
		return -EAFNOSUPPORT;
	if (!sockaddr_port(&cm_id->m_local_addr) || !sockaddr_port(&cm_id->m_remote_addr))
		return -EINVAL;
	if (param->ird > limits->max_ird || param->ord > limits->max_ord)
		return -EINVAL;
	return 0;
}

static int ep_find_nexthop(struct iw_ornic_ep *ep)
{
	struct ornic_nexthop *nh;

	nh = ornic_nexthop_get(ep->dev->core, ep->net, &ep->local, &ep->remote, ep->tos);
	if (IS_ERR_OR_NULL(nh))
		return nh ? PTR_ERR(nh) : -ENETUNREACH;
	ep->nh = nh;
	return 0;
}

/* Begin a TCP connection. On error nothing was begun. */
static int ep_l_open(struct iw_ornic_ep *ep)
{
	struct ornic_tcp_params params;
	struct ornic_conn *conn;
	int ret;

	conn = ornic_conn_alloc(ep->dev->core, ep_conn_event, ep);
	if (IS_ERR_OR_NULL(conn))
		return conn ? PTR_ERR(conn) : -ENOMEM;
	ep->conn = conn;
	ep_get(ep);
	ep->rx_next = 0;
	/* What came over a former connection is not to be told of this one. */
	memset(&ep->peer, 0, sizeof(ep->peer));
	mpa_rx_start(&ep->rx, MPA_REPLY);
	ep_tcp_params(ep, &params);
	ret = ornic_conn_open(conn, &ep->local, &ep->remote, ep->nh, &params);
	if (ret) {
		ep_l_drop_conn(ep);
		return ret;
	}
	ep_put_nexthop(ep);
	ep->state = EP_OPENING;
	return 0;
}

/* Everything that needs no lock. */
static int ep_prepare_active(struct iw_ornic_ep *ep, const struct iw_cm_id *cm_id,
			     const struct iw_cm_conn_param *param)
{
	int ret;

	if (param->private_data_len > mpa_max_pd(ep->mpa.rev))
		return -EINVAL;
	set_bit(EP_H_ACTIVE, &ep->history);
	ep->local = cm_id->m_local_addr;
	ep->remote = cm_id->m_remote_addr;
	ep->tos = cm_id->tos_set ? cm_id->tos : 0;
	ep->mpa.ird = param->ird;
	ep->mpa.ord = param->ord;
	ep->pd_len = param->private_data_len;
	if (ep->pd_len)
		memcpy(ep->pd, param->private_data, ep->pd_len);

	ret = ep_find_nexthop(ep);
	if (ret)
		return ret;
	/* Connections may share the port with each other, but not with one of the host's. */
	return cm_reserve_port(ep->net, &ep->local, 0, true, &ep->sock);
}

/* The consumer hears of the failure, nothing is left to close. */
static int ep_l_fail_connect(struct iw_ornic_ep *ep, int err)
{
	ep_l_upcall(ep, IW_CM_EVENT_CONNECT_REPLY, err);
	ep_l_die(ep);
	return 0;
}

/* Takes the QP reference of the caller on success. */
static int ep_begin_active(struct iw_ornic_ep *ep, struct iw_cm_id *cm_id,
			   struct iw_ornic_qp *qp)
{
	int ret;

	mutex_lock(&ep->lock);
	if (ep->state != EP_IDLE || ep->dev->cm.dead) {
		ret = -EIO;
		goto failed;
	}
	ret = ep_l_attach_qp(ep, qp);
	if (ret)
		goto failed;
	cm_id->add_ref(cm_id);
	cm_id->provider_data = ep_provider_data(ep);
	ep->cm_id = cm_id;
	ret = ep_l_open(ep);
	/* What the host's packet filter does not let out failed as if the peer had refused it. */
	if (ret == -ECONNREFUSED)
		ret = ep_l_fail_connect(ep, ret);
	if (!ret) {
		cm_count(ep->dev, IW_ORNIC_CM_CONNECTS);
		ep_unlock(ep);
		return 0;
	}
	ep->cm_id = NULL;
	cm_id->provider_data = NULL;
	cm_id->rem_ref(cm_id);
	/* On error the reference to the QP stays the caller's. */
	ep_l_detach_qp(ep);
	ep->old_qp = NULL;
failed:
	ep_l_die(ep);
	ep_unlock(ep);
	return ret;
}

/**
 * iw_ornic_connect() - begin a connection
 * @cm_id: id with addresses (mapped by the port mapper or not)
 * @param: QP, depths, private data
 *
 * Context: Process context. Returns at once, whatever the network does.
 * Return: 0: exactly one CONNECT_REPLY follows. Negative errno: none, and no reference is kept.
 */
int iw_ornic_connect(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param)
{
	struct iw_ornic_dev *dev = to_iw_ornic_dev(cm_id->device);
	struct iw_ornic_qp *qp;
	struct iw_ornic_ep *ep;
	struct net *net;
	int ret;

	ret = connect_check(dev, cm_id, param);
	if (ret)
		return ret;
	net = cm_addr_net(dev, &cm_id->m_local_addr);
	if (!net)
		return -EADDRNOTAVAIL;
	ep = ep_alloc(dev, net);
	if (!ep) {
		put_net(net);
		return -ENOMEM;
	}
	qp = iw_ornic_qp_find(dev, param->qpn);
	if (!qp)
		ret = -EINVAL;
	else
		ret = ep_prepare_active(ep, cm_id, param);
	if (ret) {
		mutex_lock(&ep->lock);
		ep_l_die(ep);
		ep_unlock(ep);
	} else {
		ret = ep_begin_active(ep, cm_id, qp);
	}
	if (ret && qp)
		iw_ornic_qp_put(qp);
	ep_put(ep);
	return ret;
}

/* The consumer hears of the failure, TCP closes in order. */
static int ep_l_decline(struct iw_ornic_ep *ep, int err)
{
	ep_l_upcall(ep, IW_CM_EVENT_CONNECT_REPLY, err);
	ep_l_detach_qp(ep);
	ep_l_linger(ep);
	return 0;
}

int ep_connect_failed(struct iw_ornic_ep *ep, const struct ep_arg *arg)
{
	return ep_l_fail_connect(ep, ep_errno(arg));
}

/* TCP is up: send the MPA request. */
int ep_established_active(struct iw_ornic_ep *ep, const struct ep_arg *arg)
{
	size_t len;
	int ret;

	set_bit(EP_H_TCP_UP, &ep->history);
	mpa_request(&ep->mpa, &ep->sent);
	ep->sent.pd = ep->pd;
	ep->sent.pd_len = ep->pd_len;
	len = mpa_build(&ep->sent, ep->tx);
	ret = len ? ornic_conn_send(ep->conn, ep->tx, len) : -EINVAL;
	/* A connection that has ended in between says so by its own event. */
	if (ret && ret != -ENOTCONN && ret != -ECONNRESET)
		return ep_l_fail_connect(ep, ret);
	set_bit(EP_H_REQ_SENT, &ep->history);
	ep->state = EP_REQ_SENT;
	ep_l_timer(ep, ep->policy.mpa_timeout_ms);
	return 0;
}

/* Drop this connection and begin another one with revision 1 (RFC 6581 10). */
static int ep_l_fall_back(struct iw_ornic_ep *ep)
{
	set_bit(EP_H_FALLBACK, &ep->history);
	cm_count(ep->dev, IW_ORNIC_CM_FALLBACKS);
	ep->mpa.rev = 1;
	ep_l_timer_stop(ep);
	/*
	 * The same addresses: OPEN has to wait until the device has forgotten the old connection.
	 */
	ep_l_drop_conn(ep);
	ep->state = EP_REOPENING;
	ep->reopen = true;
	return 0;
}

int ep_reopen(struct iw_ornic_ep *ep, const struct ep_arg *arg)
{
	int ret = ep_find_nexthop(ep);

	if (!ret)
		ret = ep_l_open(ep);
	return ret ? ep_l_fail_connect(ep, ret) : 0;
}

/*
 * The connection ended in place of a reply. A responder of revision 1 closes or resets when it sees
 * a request of revision 2, which is malformed to it.
 */
int ep_peer_left(struct iw_ornic_ep *ep, const struct ep_arg *arg)
{
	bool by_peer = arg->event == EP_EV_PEER_FIN || arg->event == EP_EV_PEER_RST;

	if (by_peer && ep->mpa.rev >= 2 && !ep->rx.have)
		return ep_l_fall_back(ep);
	return ep_l_fail_connect(ep, ep_errno(arg));
}

/* RFC 6581 9.1 and 9.2: the responder accepted what cannot be. It is told by a Terminate. */
static int ep_l_terminate(struct iw_ornic_ep *ep, u8 code, int err)
{
	u8 flags = (ep->agreed.crc ? ORNIC_RDMAF_CRC : 0) |
		   (ep->agreed.tx_markers ? ORNIC_RDMAF_TX_MARKERS : 0);

	set_bit(EP_H_TERMINATE, &ep->history);
	if (ornic_conn_terminate(ep->conn, MPA_TERM_LAYER, MPA_TERM_ETYPE, code, flags))
		return ep_l_fail_connect(ep, err);
	return ep_l_decline(ep, err);
}

static int ep_l_connected(struct iw_ornic_ep *ep)
{
	int ret = ep_l_mode_rdma(ep, ORNIC_ROLE_INITIATOR, 0);

	if (ret)
		return ep_l_fail_connect(ep, ret);
	ep_l_timer_stop(ep);
	ep->state = EP_RTS;
	ep_l_upcall(ep, IW_CM_EVENT_CONNECT_REPLY, 0);
	return 0;
}

static int ep_l_rejected(struct iw_ornic_ep *ep)
{
	cm_count(ep->dev, IW_ORNIC_CM_REJECTS_RECEIVED);
	if (ornic_conn_close(ep->conn))
		return ep_l_fail_connect(ep, -ECONNREFUSED);
	return ep_l_decline(ep, -ECONNREFUSED);
}

static int ep_l_judge(struct iw_ornic_ep *ep)
{
	switch (mpa_check_reply(&ep->mpa, &ep->sent, &ep->peer, &ep->agreed)) {
	case MPA_OK:
		return ep_l_connected(ep);
	case MPA_REJECTED:
		return ep_l_rejected(ep);
	case MPA_OLDER:
		return ep_l_fall_back(ep);
	case MPA_NO_IRD:
		return ep_l_terminate(ep, MPA_TERM_NO_IRD, -ENOMEM);
	case MPA_NO_RTR:
		return ep_l_terminate(ep, MPA_TERM_NO_RTR, -EPROTO);
	case MPA_MARKERS:
		cm_count(ep->dev, IW_ORNIC_CM_MARKERS);
		return ep_l_fail_connect(ep, -EPROTO);
	case MPA_LONG_DATA:
		cm_count(ep->dev, IW_ORNIC_CM_LONG_DATA);
		return ep_l_fail_connect(ep, -EMSGSIZE);
	default:
		cm_count(ep->dev, IW_ORNIC_CM_BAD_FRAMES);
		return ep_l_fail_connect(ep, -EPROTO);
	}
}

/* Bytes of the reply. What is behind it are FPDUs, the device has kept them. */
int ep_reply(struct iw_ornic_ep *ep, const struct ep_arg *arg)
{
	enum mpa_status status;
	size_t left;

	status = ep_l_receive(ep, arg, &left);
	switch (status) {
	case MPA_MORE:
		return 0;
	case MPA_OK:
		return ep_l_judge(ep);
	default:
		/* RFC 5044 7.1.2 rule 5 and 8: code 4, close at once and report. */
		cm_count(ep->dev, IW_ORNIC_CM_BAD_FRAMES);
		return ep_l_fail_connect(ep, -EPROTO);
	}
}
