/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* OpenRNIC RDMA driver: objects, and what its files offer to each other. */
#ifndef _IW_ORNIC_H
#define _IW_ORNIC_H

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <linux/ornic.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>
#include <rdma/ornic-abi.h>

struct iw_ornic_dev;
struct iw_ornic_ep;
struct iw_ornic_qp;

#include "cm.h"
#include <linux/ornic_compat.h>

#define IW_ORNIC_PORT		1
/* RFC 5041 4.2: a DDP message has at most 2^32 - 1 bytes; a WR of this device 2^31. */
#define IW_ORNIC_MAX_MSG	BIT(31)

/* The port's counters: the device's but for Ethernet's, which are in ethtool -S. */
#define IW_ORNIC_FIRST_STAT	ORNIC_STAT_TCP_IN_SEGS
#define IW_ORNIC_HW_STATS	(ORNIC_STAT_COUNT - IW_ORNIC_FIRST_STAT)

/**
 * struct iw_ornic_dev - one RNIC
 * @ibdev: what the RDMA core sees
 * @core: the PCI function, owned by ornic.ko
 * @cm: connection manager
 * @qps: QP number to struct iw_ornic_qp; a reserved number has no entry to load
 * @cqs: CQ number to struct iw_ornic_cq, looked up in interrupt context
 * @mrs: STag index to struct iw_ornic_mr
 * @pds: PD numbers
 * @next_qpn: where the search for a free number goes on, so that a number just freed is the last to
 *         come back
 * @next_cqn: likewise
 * @next_mr: likewise
 * @next_pd: likewise
 * @mr_keys: next key of each STag index, so that the keys of successive owners of one index differ
 * @wq: flushes and completion callbacks after the device stopped; WQ_MEM_RECLAIM, since ULPs drain
 *         from such queues
 * @flush_work: see iw_ornic_flush_kick()
 * @dead: the device stopped: completions are made up by the driver
 * @dispatch_mutex: @registered
 * @registered: the RDMA core takes events
 * @stat_descs: names of the port's counters
 */
struct iw_ornic_dev {
	struct ib_device ibdev;
	struct ornic_core *core;
	struct iw_ornic_cm cm;
	struct xarray qps;
	struct xarray cqs;
	struct xarray mrs;
	struct xarray pds;
	u32 next_qpn;
	u32 next_cqn;
	u32 next_mr;
	u32 next_pd;
	u8 *mr_keys;
	struct workqueue_struct *wq;
	struct work_struct flush_work;
	bool dead;
	struct mutex dispatch_mutex;	/* see above */
	bool registered;
	struct rdma_stat_desc stat_descs[IW_ORNIC_HW_STATS + IW_ORNIC_CM_STAT_COUNT];
};

/**
 * struct iw_ornic_mmap_entry - what a user may map
 * @rdma_entry: entry of the RDMA core
 * @dev: device
 * @phys: address of the doorbell page
 * @db_page: its number, given back when the last mapping is gone
 */
struct iw_ornic_mmap_entry {
	struct rdma_user_mmap_entry rdma_entry;
	struct iw_ornic_dev *dev;
	phys_addr_t phys;
	u32 db_page;
};

/**
 * struct iw_ornic_ucontext - a user's context
 * @ibucontext: what the RDMA core sees
 * @db_entry: its doorbell page, to be mapped
 * @db_page: the number of that page
 */
struct iw_ornic_ucontext {
	struct ib_ucontext ibucontext;
	struct rdma_user_mmap_entry *db_entry;
	u32 db_page;
};

/**
 * struct iw_ornic_pd - protection domain; the device only knows its number
 * @ibpd: what the RDMA core sees
 * @pdn: PD number
 */
struct iw_ornic_pd {
	struct ib_pd ibpd;
	u32 pdn;
};

/**
 * struct iw_ornic_mr - memory region
 * @ibmr: what the RDMA core sees; lkey == rkey == STag
 * @index: STag index
 * @umem: user MR: its pinned memory
 * @pages: fast-register MR: page list that REG_MR work requests name
 * @npages: filled entries of @pages
 * @max_pages: room in @pages
 */
struct iw_ornic_mr {
	struct ib_mr ibmr;
	u32 index;
	struct ib_umem *umem;
	struct ornic_qbuf pages;
	u32 npages;
	u32 max_pages;
};

/**
 * struct iw_ornic_cq - completion queue
 * @ibcq: what the RDMA core sees
 * @cqn: CQ number
 * @depth_shift: log2 of the number of CQEs
 * @umem: a user's CQ: its pinned buffer
 * @buf: a kernel's CQ: its buffer: record and ring
 * @ring: first CQE
 * @rec: queue record
 * @ci: consumer index, free running, under @lock
 * @arm_seq: events taken, modulo 4, under @lock
 * @armed_any: armed for any completion since the last event, under @lock
 * @armed: an event is owed; only looked at when the device is dead
 * @lock: polling, and the lists
 * @event_lock: held around the completion callback, so that one runs at a time
 * @send_qps: kernel QPs that send to it
 * @recv_qps: kernel QPs that receive to it
 * @ref: one of the owner, one of each event being delivered
 * @free: @ref is 0
 */
struct iw_ornic_cq {
	struct ib_cq ibcq;
	u32 cqn;
	u8 depth_shift;
	struct ib_umem *umem;
	struct ornic_qbuf buf;
	struct ornic_cqe *ring;
	struct ornic_queue_rec *rec;
	u32 ci;
	u32 arm_seq;
	bool armed_any;
	bool armed;
	spinlock_t lock;	/* see above */
	spinlock_t event_lock;	/* see above */
	struct list_head send_qps;
	struct list_head recv_qps;
	refcount_t ref;
	struct completion free;
};

/**
 * struct iw_ornic_swr - what is remembered of a posted work request
 * @wr_id: the consumer's
 * @opcode: of its completion
 */
struct iw_ornic_swr {
	u64 wr_id;
	enum ib_wc_opcode opcode;
};

/**
 * struct iw_ornic_queue - a kernel QP's send or receive queue
 * @lock: posting
 * @swr: posted work requests, entry i at i mod depth
 * @ring: first WQE
 * @rec_pi: where the device finds the producer index
 * @rec_awake: where the device says that it looks there by itself
 * @pi: producer index, free running; written under @lock
 * @ci: oldest WR that was not reported, free running; written under the CQ's lock
 * @shift: log2 of the depth
 * @stride_shift: log2 of the bytes per WQE
 * @max_sge: SGEs per WR
 * @max_inline: inline bytes per WR
 */
struct iw_ornic_queue {
	spinlock_t lock;	/* see above */
	struct iw_ornic_swr *swr;
	void *ring;
	__le32 *rec_pi;
	const __le32 *rec_awake;
	u32 pi;
	u32 ci;
	u8 shift;
	u8 stride_shift;
	u16 max_sge;
	u16 max_inline;
};

/**
 * struct iw_ornic_qp - queue pair
 * @ibqp: what the RDMA core sees
 * @dev: device
 * @qpn: QP number
 * @ref: one of the creator, one of iw_cm, one of an endpoint, and short-lived ones
 * @free: @ref is 0
 * @mutex: serialises modify_qp and destroy_qp; taken before any lock of the connection manager
 * @lock: @state, @ep, @ird, @ord; innermost, IRQ safe
 * @state: the state that consumers see. INIT and RTR are bookkeeping, both are IDLE for the device
 * @ep: the connection manager's: endpoint bound to this QP or NULL
 * @ird: negotiated by the connection manager
 * @ord: likewise
 * @access: what the peer may do, IB_ACCESS_REMOTE_*
 * @sig_all: every send WR is signalled
 * @cap: granted capabilities
 * @umem: a user's QP: its pinned buffer
 * @buf: a kernel's QP: its buffer
 * @rec: kernel's QP: queue record
 * @sq: kernel's QP: send queue. User's: only sizes
 * @rq: likewise: receive queue
 * @send_node: in the send CQ's list
 * @recv_node: in the receive CQ's list
 */
struct iw_ornic_qp {
	struct ib_qp ibqp;
	struct iw_ornic_dev *dev;
	u32 qpn;
	refcount_t ref;
	struct completion free;
	struct mutex mutex;	/* see above */
	spinlock_t lock;	/* see above */
	enum ib_qp_state state;
	struct iw_ornic_ep *ep;
	u32 ird;
	u32 ord;
	int access;
	bool sig_all;
	struct ib_qp_cap cap;
	struct ib_umem *umem;
	struct ornic_qbuf buf;
	struct ornic_queue_rec *rec;
	struct iw_ornic_queue sq;
	struct iw_ornic_queue rq;
	struct list_head send_node;
	struct list_head recv_node;
};

static inline struct iw_ornic_dev *to_iw_ornic_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct iw_ornic_dev, ibdev);
}

static inline struct iw_ornic_ucontext *to_iw_ornic_ucontext(struct ib_ucontext *ibucontext)
{
	return container_of(ibucontext, struct iw_ornic_ucontext, ibucontext);
}

static inline struct iw_ornic_pd *to_iw_ornic_pd(struct ib_pd *ibpd)
{
	return container_of(ibpd, struct iw_ornic_pd, ibpd);
}

static inline struct iw_ornic_mr *to_iw_ornic_mr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct iw_ornic_mr, ibmr);
}

static inline struct iw_ornic_cq *to_iw_ornic_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct iw_ornic_cq, ibcq);
}

static inline struct iw_ornic_qp *to_iw_ornic_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct iw_ornic_qp, ibqp);
}

/* The device stopped: commands fail, no completion comes any more. */
static inline bool iw_ornic_dead(struct iw_ornic_dev *dev)
{
	return READ_ONCE(dev->dead);
}

/* device.c */
int iw_ornic_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
			  struct ib_udata *udata);
int iw_ornic_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr);
int iw_ornic_query_gid(struct ib_device *ibdev, u32 port, int index, union ib_gid *gid);
int iw_ornic_get_port_immutable(struct ib_device *ibdev, u32 port,
				struct ib_port_immutable *immutable);
void iw_ornic_get_dev_fw_str(struct ib_device *ibdev, char *str);
struct rdma_hw_stats *iw_ornic_alloc_hw_port_stats(struct ib_device *ibdev, u32 port);
int iw_ornic_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port,
			  int index);

/* ucontext.c */
int iw_ornic_copy_in(struct ib_udata *udata, void *req, size_t size);
int iw_ornic_no_input(struct ib_udata *udata);
int iw_ornic_copy_out(struct ib_udata *udata, void *resp, size_t size);
int iw_ornic_alloc_ucontext(struct ib_ucontext *ibucontext, struct ib_udata *udata);
void iw_ornic_dealloc_ucontext(struct ib_ucontext *ibucontext);
void iw_ornic_disassociate_ucontext(struct ib_ucontext *ibucontext);
int iw_ornic_mmap(struct ib_ucontext *ibucontext, struct vm_area_struct *vma);
void iw_ornic_mmap_free(struct rdma_user_mmap_entry *entry);
int iw_ornic_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int iw_ornic_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);

/* object.c */
int iw_ornic_number_alloc(struct xarray *xa, u32 *number, u32 max, u32 *next);
int iw_ornic_destroy_object(struct iw_ornic_dev *dev, enum ornic_cmd_opcode opcode, u32 number);
struct ib_umem *iw_ornic_pin_buffer(struct iw_ornic_dev *dev, u64 addr, u32 len,
				    struct ornic_pbl *pbl);
int iw_ornic_umem_pages(struct iw_ornic_dev *dev, struct ib_umem *umem, u64 iova,
			struct ornic_pbl *pbl);

/* cq.c */
int iw_ornic_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		       struct iw_ornic_cq_attrs *attrs);
int iw_ornic_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int iw_ornic_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc);
int iw_ornic_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
void iw_ornic_cq_comp_event(struct iw_ornic_dev *dev, u32 cqn);
void iw_ornic_cq_error_event(struct iw_ornic_dev *dev, u32 cqn);
void iw_ornic_cq_add_qp(struct iw_ornic_qp *qp);
void iw_ornic_cq_remove_qp(struct iw_ornic_qp *qp);
void iw_ornic_flush_kick(struct iw_ornic_dev *dev);
void iw_ornic_flush_work(struct work_struct *work);

/* mr.c */
struct ib_mr *iw_ornic_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *iw_ornic_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_num_sg);
int iw_ornic_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
		       unsigned int *offset);
int iw_ornic_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
u16 iw_ornic_access(int access);
int iw_ornic_check_access(int access);

/* qp.c */
int iw_ornic_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr, struct ib_udata *udata);
int iw_ornic_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		       struct ib_udata *udata);
int iw_ornic_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		      struct ib_qp_init_attr *init_attr);
int iw_ornic_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
void iw_ornic_qp_async_event(struct iw_ornic_dev *dev, u32 qpn, enum ib_event_type type);

/* iw_cm's callbacks; they are called under a spinlock with interrupts off. */
struct ib_qp *iw_ornic_get_qp(struct ib_device *ibdev, int qpn);
void iw_ornic_qp_add_ref(struct ib_qp *ibqp);
void iw_ornic_qp_rem_ref(struct ib_qp *ibqp);

/*
 * For the connection manager. Any context, no sleep.
 * iw_ornic_qp_find() gives a reference or NULL (no such QP, or it is being destroyed).
 */
struct iw_ornic_qp *iw_ornic_qp_find(struct iw_ornic_dev *dev, u32 qpn);
void iw_ornic_qp_put(struct iw_ornic_qp *qp);
void iw_ornic_qp_set_rts(struct iw_ornic_qp *qp, u32 ird, u32 ord);
void iw_ornic_qp_set_closing(struct iw_ornic_qp *qp);
void iw_ornic_qp_set_error(struct iw_ornic_qp *qp);
enum ib_qp_state iw_ornic_qp_state(struct iw_ornic_qp *qp);

/* post.c */
int iw_ornic_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		       const struct ib_send_wr **bad_wr);
int iw_ornic_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad_wr);

/* restrack.c */
int iw_ornic_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp);
int iw_ornic_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq);
int iw_ornic_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr);
int iw_ornic_fill_res_cm_id_entry(struct sk_buff *msg, struct rdma_cm_id *id);

#endif /* _IW_ORNIC_H */
