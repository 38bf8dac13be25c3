/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * OpenRNIC RDMA driver: connection manager, what the rest of the driver sees of it. The endpoint state
 * machine is drawn in Documentation/cm.rst.
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

/* X(NAME, "name"): counters of the connection manager, beside the device's */
#define IW_ORNIC_CM_STATS(X) \
	X(ENDPOINTS, "cm_endpoints") \
	X(LISTENERS, "cm_listeners") \
	X(CONNECTS, "cm_connects") \
	X(CONNECT_ERRORS, "cm_connect_errors") \
	X(REQUESTS, "cm_requests") \
	X(ACCEPTS, "cm_accepts") \
	X(REJECTS_SENT, "cm_rejects_sent") \
	X(REJECTS_RECEIVED, "cm_rejects_received") \
	X(FALLBACKS, "cm_mpa_rev1_fallbacks") \
	X(BAD_FRAMES, "cm_mpa_bad_frames") \
	X(LONG_DATA, "cm_mpa_private_data_too_long") \
	X(MARKERS, "cm_mpa_markers_refused") \
	X(EARLY_DATA, "cm_mpa_early_data") \
	X(TIMEOUTS, "cm_timeouts") \
	X(BACKLOG, "cm_backlog_drops") \
	X(REAPED, "cm_children_reaped")

/**
 * enum iw_ornic_cm_stat - index of a counter
 * @IW_ORNIC_CM_STAT_COUNT: their number
 *
 * ENDPOINTS and LISTENERS count what exists now: both are 0 when nothing leaks.
 */
enum iw_ornic_cm_stat {
#define IW_ORNIC_CM_STAT(NAME, name) IW_ORNIC_CM_##NAME,
	IW_ORNIC_CM_STATS(IW_ORNIC_CM_STAT)
#undef IW_ORNIC_CM_STAT
	IW_ORNIC_CM_STAT_COUNT
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
 * @dead: the device stopped, nothing new is begun
 */
struct iw_ornic_cm {
	struct workqueue_struct *wq;
	struct xarray eps;
	struct xarray listeners;
	u32 next_ep;
	u32 next_listener;
	struct mutex listen_mutex;
	spinlock_t listen_lock;
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
void iw_ornic_cm_device_fatal(struct iw_ornic_dev *dev);
int iw_ornic_cm_fill_res(struct sk_buff *msg, struct iw_cm_id *cm_id);

extern const char * const iw_ornic_cm_stat_names[IW_ORNIC_CM_STAT_COUNT];
u64 iw_ornic_cm_stat(struct iw_ornic_dev *dev, enum iw_ornic_cm_stat stat);

#endif /* _IW_ORNIC_CM_H */
