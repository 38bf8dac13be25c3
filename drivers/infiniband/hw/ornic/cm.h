/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * OpenRNIC RDMA driver: connection manager, what the rest of the driver sees of it. The endpoint
 * state machine is described in Documentation/cm.rst.
 */
#ifndef _IW_ORNIC_CM_H
#define _IW_ORNIC_CM_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

struct iw_cm_conn_param;
struct iw_cm_id;
struct iw_ornic_dev;
struct iw_ornic_qp;
struct sk_buff;

/**
 * enum iw_ornic_cm_stat - counters of the connection manager, beside the device's
 * @IW_ORNIC_CM_ENDPOINTS: endpoints that exist now: 0 when nothing leaks
 * @IW_ORNIC_CM_LISTENERS: listeners that exist now
 * @IW_ORNIC_CM_CONNECTS: iw_connect() calls that began
 * @IW_ORNIC_CM_CONNECT_ERRORS: of these, ended by a CONNECT_REPLY with an error
 * @IW_ORNIC_CM_REQUESTS: requests given to a consumer
 * @IW_ORNIC_CM_ACCEPTS: requests accepted
 * @IW_ORNIC_CM_REJECTS_SENT: MPA replies with R sent, for whatever reason
 * @IW_ORNIC_CM_REJECTS_RECEIVED: MPA replies with R received
 * @IW_ORNIC_CM_FALLBACKS: connects tried again with MPA revision 1
 * @IW_ORNIC_CM_BAD_FRAMES: malformed MPA frames received
 * @IW_ORNIC_CM_LONG_DATA: frames with more private data than iw_cm can deliver
 * @IW_ORNIC_CM_MARKERS: peers that required markers of a device without
 * @IW_ORNIC_CM_EARLY_DATA: initiators that sent before the reply
 * @IW_ORNIC_CM_TIMEOUTS: endpoints ended by a timer
 * @IW_ORNIC_CM_BACKLOG: SYNs dropped since the backlog was full
 * @IW_ORNIC_CM_REAPED: unanswered children ended with their listener
 * @IW_ORNIC_CM_STAT_COUNT: their number
 */
enum iw_ornic_cm_stat {
	IW_ORNIC_CM_ENDPOINTS,
	IW_ORNIC_CM_LISTENERS,
	IW_ORNIC_CM_CONNECTS,
	IW_ORNIC_CM_CONNECT_ERRORS,
	IW_ORNIC_CM_REQUESTS,
	IW_ORNIC_CM_ACCEPTS,
	IW_ORNIC_CM_REJECTS_SENT,
	IW_ORNIC_CM_REJECTS_RECEIVED,
	IW_ORNIC_CM_FALLBACKS,
	IW_ORNIC_CM_BAD_FRAMES,
	IW_ORNIC_CM_LONG_DATA,
	IW_ORNIC_CM_MARKERS,
	IW_ORNIC_CM_EARLY_DATA,
	IW_ORNIC_CM_TIMEOUTS,
	IW_ORNIC_CM_BACKLOG,
	IW_ORNIC_CM_REAPED,
	IW_ORNIC_CM_STAT_COUNT,
};

/**
 * struct iw_ornic_cm - connection manager of one RNIC
 * @wq: timers of endpoints; ordered, WQ_MEM_RECLAIM
 * @eps: endpoint number to struct iw_ornic_ep. iw_cm holds numbers, not pointers: it may come back
 *       with one of an endpoint that is long gone
 * @listeners: likewise struct iw_ornic_listener
 * @next_ep: where the search for a free number goes on
 * @next_listener: likewise
 * @listen_mutex: creating and destroying listeners
 * @listen_lock: @binds and what hangs on it
 * @binds: listening addresses of the device, each with the listeners that share it
 * @idle: woken when the last endpoint is gone
 * @stats: enum iw_ornic_cm_stat
 * @dead: the device stopped or the driver goes, nothing new is begun
 */
struct iw_ornic_cm {
	struct workqueue_struct *wq;
	struct xarray eps;
	struct xarray listeners;
	u32 next_ep;
	u32 next_listener;
	struct mutex listen_mutex;	/* see above */
	spinlock_t listen_lock;		/* see above */
	struct list_head binds;
	wait_queue_head_t idle;
	atomic64_t stats[IW_ORNIC_CM_STAT_COUNT];
	bool dead;
};

/* iw_cm's callbacks: process context, may sleep, never wait for an event of iw_cm. */
int iw_ornic_connect(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param);
int iw_ornic_accept(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param);
int iw_ornic_reject(struct iw_cm_id *cm_id, const void *pdata, u8 pdata_len);
int iw_ornic_create_listen(struct iw_cm_id *cm_id, int backlog);
int iw_ornic_destroy_listen(struct iw_cm_id *cm_id);

int iw_ornic_cm_init(struct iw_ornic_dev *dev);
void iw_ornic_cm_fini(struct iw_ornic_dev *dev);
int iw_ornic_cm_qp_disconnect(struct iw_ornic_qp *qp, bool abrupt);
void iw_ornic_cm_leave(struct iw_ornic_dev *dev);
void iw_ornic_cm_device_fatal(struct iw_ornic_dev *dev);
int iw_ornic_cm_fill_res(struct sk_buff *msg, struct iw_cm_id *cm_id);

extern const char * const iw_ornic_cm_stat_names[IW_ORNIC_CM_STAT_COUNT];
u64 iw_ornic_cm_stat(struct iw_ornic_dev *dev, enum iw_ornic_cm_stat stat);

#endif /* _IW_ORNIC_CM_H */
