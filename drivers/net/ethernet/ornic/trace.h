/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* OpenRNIC core driver: tracepoints. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM ornic

#if !defined(_ORNIC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _ORNIC_TRACE_H

#include <linux/tracepoint.h>

#include "core.h"

#define ORNIC_TRACE_NAME	16	/* bytes of a PCI function's name */

TRACE_EVENT(ornic_cmd,
	    TP_PROTO(struct ornic_dev *od, u16 opcode, const struct ornic_cmd_result *res,
		     int err, u64 ns),
	    TP_ARGS(od, opcode, res, err, ns),
	    TP_STRUCT__entry(__array(char, dev, ORNIC_TRACE_NAME)
			     __field(u16, opcode)
			     __field(u16, status)
			     __field(u16, syndrome)
			     __field(int, err)
			     __field(u64, ns)
	    ),
	    TP_fast_assign(strscpy(__entry->dev, pci_name(od->core.pdev), ORNIC_TRACE_NAME);
			   __entry->opcode = opcode;
			   __entry->status = res->status;
			   __entry->syndrome = res->syndrome;
			   __entry->err = err;
			   __entry->ns = ns;
	    ),
	    TP_printk("%s opcode %#x status %u syndrome %u errno %d after %llu ns",
		      __entry->dev, __entry->opcode, __entry->status, __entry->syndrome,
		      __entry->err, __entry->ns)
);

TRACE_EVENT(ornic_tcp_event,
	    TP_PROTO(struct ornic_dev *od, const struct ornic_teqe *teqe),
	    TP_ARGS(od, teqe),
	    TP_STRUCT__entry(__array(char, dev, ORNIC_TRACE_NAME)
			     __field(u8, type)
			     __field(u32, conn_id)
			     __field(u32, listen_id)
			     __field(u32, syn_id)
			     __field(u32, info)
			     __field(u64, offset)
			     __field(u16, len)
	    ),
	    TP_fast_assign(strscpy(__entry->dev, pci_name(od->core.pdev), ORNIC_TRACE_NAME);
			   __entry->type = teqe->type;
			   __entry->conn_id = le32_to_cpu(teqe->conn_id);
			   __entry->listen_id = le32_to_cpu(teqe->listen_id);
			   __entry->syn_id = le32_to_cpu(teqe->syn_id);
			   __entry->info = le32_to_cpu(teqe->info);
			   __entry->offset = le64_to_cpu(teqe->offset);
			   __entry->len = le16_to_cpu(teqe->data_len);
	    ),
	    TP_printk("%s type %u conn %u listen %u syn %u info %#x offset %llu, %u bytes",
		      __entry->dev, __entry->type, __entry->conn_id, __entry->listen_id,
		      __entry->syn_id, __entry->info, __entry->offset, __entry->len)
);

TRACE_EVENT(ornic_async_event,
	    TP_PROTO(struct ornic_dev *od, const struct ornic_aeqe *aeqe),
	    TP_ARGS(od, aeqe),
	    TP_STRUCT__entry(__array(char, dev, ORNIC_TRACE_NAME)
			     __field(u8, type)
			     __field(u16, syndrome)
			     __field(u32, number)
			     __field(u32, info)
	    ),
	    TP_fast_assign(strscpy(__entry->dev, pci_name(od->core.pdev), ORNIC_TRACE_NAME);
			   __entry->type = aeqe->type;
			   __entry->syndrome = le16_to_cpu(aeqe->syndrome);
			   __entry->number = le32_to_cpu(aeqe->number);
			   __entry->info = le32_to_cpu(aeqe->info);
	    ),
	    TP_printk("%s type %u syndrome %u number %u info %#x", __entry->dev,
		      __entry->type, __entry->syndrome, __entry->number, __entry->info)
);

#endif /* _ORNIC_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
