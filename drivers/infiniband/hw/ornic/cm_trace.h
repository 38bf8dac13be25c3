/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* OpenRNIC RDMA driver: tracepoints of the connection manager. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM iw_ornic

#if !defined(_IW_ORNIC_CM_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _IW_ORNIC_CM_TRACE_H

#include <linux/tracepoint.h>
#include <rdma/iw_cm.h>

#include "cm_priv.h"

#define iw_ornic_show_state(state) \
	__print_symbolic(state, \
			 { EP_IDLE, "idle" }, \
			 { EP_OPENING, "opening" }, \
			 { EP_REQ_SENT, "req-sent" }, \
			 { EP_REOPENING, "reopening" }, \
			 { EP_SYN_RCVD, "syn-rcvd" }, \
			 { EP_REQ_WAIT, "req-wait" }, \
			 { EP_REQ_DELIVERED, "req-delivered" }, \
			 { EP_ACCEPTING, "accepting" }, \
			 { EP_RTS, "rts" }, \
			 { EP_CLOSING, "closing" }, \
			 { EP_DEAD, "dead" })

#define iw_ornic_show_event(event) \
	__print_symbolic(event, \
			 { EP_EV_ESTABLISHED, "tcp-established" }, \
			 { EP_EV_STREAM_RX, "stream-rx" }, \
			 { EP_EV_PEER_FIN, "peer-fin" }, \
			 { EP_EV_FIRST_FPDU, "first-fpdu" }, \
			 { EP_EV_TERMINATE, "terminate" }, \
			 { EP_EV_CLOSED, "tcp-closed" }, \
			 { EP_EV_REFUSED, "tcp-refused" }, \
			 { EP_EV_PEER_RST, "peer-rst" }, \
			 { EP_EV_ABORTED, "tcp-aborted" }, \
			 { EP_EV_TIMEOUT, "tcp-timeout" }, \
			 { EP_EV_UNREACH, "unreachable" }, \
			 { EP_EV_FATAL, "device-fatal" }, \
			 { EP_EV_TIMER, "timer" }, \
			 { EP_EV_REOPEN, "reopen" }, \
			 { EP_EV_ACCEPT, "accept" }, \
			 { EP_EV_REJECT, "reject" }, \
			 { EP_EV_DISCONNECT, "disconnect" }, \
			 { EP_EV_ABORT, "abort" }, \
			 { EP_EV_UNLISTEN, "unlisten" }, \
			 { EP_EV_EVICT, "evict" }, \
			 { EP_EV_LEAVE, "driver-leaves" }, \
			 { EP_EV_UPCALL_FAILED, "upcall-failed" })

#define iw_ornic_show_upcall(type) \
	__print_symbolic(type, \
			 { IW_CM_EVENT_CONNECT_REQUEST, "CONNECT_REQUEST" }, \
			 { IW_CM_EVENT_CONNECT_REPLY, "CONNECT_REPLY" }, \
			 { IW_CM_EVENT_ESTABLISHED, "ESTABLISHED" }, \
			 { IW_CM_EVENT_CLOSE, "CLOSE" })

TRACE_EVENT(iw_ornic_ep_event,
	    TP_PROTO(const struct iw_ornic_ep *ep, enum iw_ornic_ep_event event,
		     enum iw_ornic_ep_state from, int ret),
	    TP_ARGS(ep, event, from, ret),
	    TP_STRUCT__entry(__array(char, device, IB_DEVICE_NAME_MAX)
			     __field(u32, id)
			     __field(u32, event)
			     __field(u32, from)
			     __field(u32, to)
			     __field(int, ret)
			     ),
	    TP_fast_assign(strscpy(__entry->device, dev_name(&ep->dev->ibdev.dev),
				   IB_DEVICE_NAME_MAX);
			   __entry->id = ep->id;
			   __entry->event = event;
			   __entry->from = from;
			   __entry->to = ep->state;
			   __entry->ret = ret;
			   ),
	    TP_printk("%s endpoint %u: %s: %s -> %s, %d", __entry->device, __entry->id,
		      iw_ornic_show_event(__entry->event),
		      iw_ornic_show_state(__entry->from),
		      iw_ornic_show_state(__entry->to), __entry->ret)
);

TRACE_EVENT(iw_ornic_ep_upcall,
	    TP_PROTO(const struct iw_ornic_ep *ep, const struct iw_cm_event *event, int ret),
	    TP_ARGS(ep, event, ret),
	    TP_STRUCT__entry(__array(char, device, IB_DEVICE_NAME_MAX)
			     __field(u32, id)
			     __field(u32, type)
			     __field(int, status)
			     __field(u8, ird)
			     __field(u8, ord)
			     __field(u8, pd_len)
			     __field(int, ret)
			     ),
	    TP_fast_assign(strscpy(__entry->device, dev_name(&ep->dev->ibdev.dev),
				   IB_DEVICE_NAME_MAX);
			   __entry->id = ep->id;
			   __entry->type = event->event;
			   __entry->status = event->status;
			   __entry->ird = event->ird;
			   __entry->ord = event->ord;
			   __entry->pd_len = event->private_data_len;
			   __entry->ret = ret;
			   ),
	    TP_printk("%s endpoint %u: %s, status %d, ird %u, ord %u, %u bytes: %d",
		      __entry->device, __entry->id,
		      iw_ornic_show_upcall(__entry->type), __entry->status, __entry->ird,
		      __entry->ord, __entry->pd_len, __entry->ret)
);

#endif /* _IW_ORNIC_CM_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE cm_trace
#include <trace/define_trace.h>
