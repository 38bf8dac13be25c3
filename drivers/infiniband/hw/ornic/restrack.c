// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * OpenRNIC RDMA driver: what "rdma resource show -dd" says. Only what the driver knows: no command
 * is sent to the device here.
 */
#include <rdma/rdma_cm.h>
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>

#include "iw_ornic.h"

static int iw_ornic_fill_queue(struct sk_buff *msg, const struct iw_ornic_queue *queue,
			       const char *const names[4])
{
	if (rdma_nl_put_driver_u32(msg, names[0], BIT(queue->shift)) ||
	    rdma_nl_put_driver_u32(msg, names[1], BIT(queue->stride_shift)))
		return -EMSGSIZE;
	/* A user's indexes are not the kernel's business. */
	if (!queue->ring)
		return 0;
	if (rdma_nl_put_driver_u32(msg, names[2], READ_ONCE(queue->pi)) ||
	    rdma_nl_put_driver_u32(msg, names[3], READ_ONCE(queue->ci)))
		return -EMSGSIZE;

	return 0;
}

/**
 * iw_ornic_fill_res_qp_entry() - driver's details of a QP
 * @msg: netlink message
 * @ibqp: QP in any state
 *
 * Context: Process context.
 * Return: 0, -EMSGSIZE
 */
int iw_ornic_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp)
{
	static const char *const sq[4] = { "sq_depth", "sq_stride", "sq_pi", "sq_ci" };
	static const char *const rq[4] = { "rq_depth", "rq_stride", "rq_pi", "rq_ci" };
	struct iw_ornic_qp *qp = to_iw_ornic_qp(ibqp);
	struct nlattr *table;

	table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (!table)
		return -EMSGSIZE;
	if (iw_ornic_fill_queue(msg, &qp->sq, sq) || iw_ornic_fill_queue(msg, &qp->rq, rq) ||
	    rdma_nl_put_driver_u32(msg, "max_send_sge", qp->sq.max_sge) ||
	    rdma_nl_put_driver_u32(msg, "max_recv_sge", qp->rq.max_sge) ||
	    rdma_nl_put_driver_u32(msg, "max_inline", qp->sq.max_inline) ||
	    rdma_nl_put_driver_u32(msg, "ird", READ_ONCE(qp->ird)) ||
	    rdma_nl_put_driver_u32(msg, "ord", READ_ONCE(qp->ord)) ||
	    rdma_nl_put_driver_u32(msg, "sig_all", qp->sig_all)) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);

	return 0;
}

/**
 * iw_ornic_fill_res_cq_entry() - driver's details of a CQ
 * @msg: netlink message
 * @ibcq: CQ
 *
 * Context: Process context.
 * Return: 0, -EMSGSIZE
 */
int iw_ornic_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct iw_ornic_cq *cq = to_iw_ornic_cq(ibcq);
	struct nlattr *table;

	table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (!table)
		return -EMSGSIZE;
	if (rdma_nl_put_driver_u32(msg, "cqn", cq->cqn) ||
	    rdma_nl_put_driver_u32(msg, "depth", BIT(cq->depth_shift)) ||
	    rdma_nl_put_driver_u32(msg, "arm_seq", READ_ONCE(cq->arm_seq)))
		goto cancel;
	if (!cq->umem && rdma_nl_put_driver_u32(msg, "ci", READ_ONCE(cq->ci)))
		goto cancel;
	nla_nest_end(msg, table);

	return 0;

cancel:
	nla_nest_cancel(msg, table);
	return -EMSGSIZE;
}

/**
 * iw_ornic_fill_res_mr_entry() - driver's details of an MR
 * @msg: netlink message
 * @ibmr: MR
 *
 * Context: Process context.
 * Return: 0, -EMSGSIZE
 */
int iw_ornic_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr)
{
	struct iw_ornic_mr *mr = to_iw_ornic_mr(ibmr);
	struct nlattr *table;

	table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (!table)
		return -EMSGSIZE;
	if (rdma_nl_put_driver_u32_hex(msg, "stag_index", mr->index) ||
	    rdma_nl_put_driver_u32_hex(msg, "page_size", ibmr->page_size))
		goto cancel;
	if (mr->max_pages && (rdma_nl_put_driver_u32(msg, "max_pages", mr->max_pages) ||
			      rdma_nl_put_driver_u32(msg, "pages", READ_ONCE(mr->npages))))
		goto cancel;
	nla_nest_end(msg, table);

	return 0;

cancel:
	nla_nest_cancel(msg, table);
	return -EMSGSIZE;
}

/**
 * iw_ornic_fill_res_cm_id_entry() - driver's details of a connection or listener
 * @msg: netlink message
 * @id: its cm_id
 *
 * Context: Process context.
 * Return: 0, -EMSGSIZE
 */
int iw_ornic_fill_res_cm_id_entry(struct sk_buff *msg, struct rdma_cm_id *id)
{
	struct iw_cm_id *cm_id = rdma_iw_cm_id(id);
	struct nlattr *table;

	if (!cm_id)
		return 0;
	table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (!table)
		return -EMSGSIZE;
	if (iw_ornic_cm_fill_res(msg, cm_id)) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);

	return 0;
}
