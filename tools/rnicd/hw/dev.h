/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The RNIC as a whole: what its parts (commands, queues, memory table,
 * connections, iWARP engine, Ethernet rings) share.
 *
 * One thread, the loop's. Nothing here is global.
 */
#ifndef RNICD_HW_DEV_H
#define RNICD_HW_DEV_H

#include "base/log.h"
#include "base/loop.h"
#include "base/util.h"
#include "ornic/hw.h"
#include "tcp/tcp.h"
#include "vfu/dma.h"
#include "vfu/vfu.h"
#include "wire/wire.h"

/* Limits that QUERY_DEVICE reports. Numbers start at 1 where the contract says so. */
#define RNIC_MAX_QP	    8192
#define RNIC_MAX_CQ	    16384
#define RNIC_MAX_EQ	    64
#define RNIC_MAX_MR	    65536
#define RNIC_MAX_PD	    32768
#define RNIC_MAX_CONN	    16384
#define RNIC_MAX_LISTEN	    1024
#define RNIC_MAX_NEXTHOP    1024
#define RNIC_MAX_SYN	    1024
#define RNIC_MAX_MR_SIZE    (1ULL << 40)
#define RNIC_MAX_FRMR_PAGES 512
#define RNIC_MAX_SGE	    16
#define RNIC_MAX_INLINE	    256
#define RNIC_MAX_IRD	    64
#define RNIC_MAX_ORD	    64
#define RNIC_MAX_SQ_SHIFT   14
#define RNIC_MAX_RQ_SHIFT   14
#define RNIC_MAX_CQ_SHIFT   17
#define RNIC_MAX_EQ_SHIFT   14
#define RNIC_MAX_ETH_SHIFT  12
#define RNIC_MAX_TXQ	    4
#define RNIC_MAX_RXQ	    1
#define RNIC_STREAM_MAX	    4096
#define RNIC_LINK_SPEED	    10000
#define RNIC_MAX_MC	    256
#define RNIC_MAX_WINDOW	    (16u << 20)
#define RNIC_VECTORS	    32
/* Page lists of all queues and MRs together, bytes. Beyond: NO_MEMORY. */
#define RNIC_MAX_LIST_BYTES (1ULL << 30)

struct cmdq;
struct conn_table;
struct eq_table;
struct iw;
struct mr_table;
struct nic;
struct rnic;

/* What the command line chose; fixed while the process runs. */
struct rnic_config {
	u8 mac[6];
	u8 db_stride_shift; /* 12..16 */
	u32 db_pages; /* a power of two, 2.. */
	u32 mtu_max; /* 0: the wire's MTU */
	const char *wire; /* as wire_open() has it */
};

/* Registers that the host wrote. */
struct rnic_regs {
	u64 cmdq_sq;
	u64 cmdq_cq;
	u32 cmdq_cfg;
	u32 status;
	u32 control;
	u32 fatal;
};

/**
 * struct rx_faults - what happens to frames from the wire (nic/fault.c)
 * @loss: this many of 1000 are lost
 * @corrupt: have one byte changed
 * @reorder: come after the next one
 * @delay: come @delay_ms late
 * @seed: state of the random numbers
 * @lost: frames so far, for each fault; those for which nothing could be held are lost, too
 */
struct rx_faults {
	u32 loss;
	u32 corrupt;
	u32 reorder;
	u32 delay;
	u32 delay_ms;
	u32 seed;
	u64 lost;
	u64 corrupted;
	u64 reordered;
	u64 delayed;
};

/**
 * struct rnic - the device
 * @stats: counters, `dev->stats[ORNIC_STAT_IW_RX_FPDU]++`; zeroed by reset. The TCP engine's and
 *the wire's are added at query time
 * @port_up: SET_PORT up
 * @mtu: SET_PORT mtu: bytes of IP packet
 * @list_bytes: page lists held now (hw/qmem.c)
 * @in_fatal: the event of a fatal error is being written
 * @wire_base: the wire's counters at the last reset
 * @in_reset: true inside rnic_reset(): objects go, nothing may reach the host any more
 */
struct rnic {
	struct rnic_config cfg;
	struct loop *loop;
	struct vfu_dev *vfu;
	struct dma_space *dma;
	struct wire *wire;
	struct tcp_engine *tcp;
	struct rnic_regs regs;
	u8 mac[6]; /* SET_MAC; cfg.mac after reset */
	bool port_up;
	bool in_reset;
	bool in_fatal;
	u16 mtu;
	u32 reset_reason; /* enum ornic_reset_reason of the last CONTROL.RESET */
	u64 list_bytes;
	u32 db_refused;
	u32 heartbeat;
	struct cmdq *cmdq;
	struct eq_table *eqs;
	struct mr_table *mrs;
	struct conn_table *conns;
	struct iw *iw;
	struct nic *nic;
	struct loop_hook hook;
	struct loop_timer tcp_timer;
	u64 stats[ORNIC_STAT_COUNT];
	struct wire_stats wire_base;
	/* Faults asked for on the control socket (ctl/). */
	u64 irq_drop; /* that many interrupts are swallowed */
	bool cmdq_stuck;
	u64 bad_crc; /* that many FPDUs are sent with a wrong CRC */
	u64 bad_crc_sent;
	struct rx_faults rx_faults;
};

/* Opens the wire too. NULL with errno set and a sentence in @err. */
struct rnic *rnic_new(struct loop *loop, const struct rnic_config *cfg, char *err, size_t errlen);
void rnic_free(struct rnic *dev);

/* Back to the state after FLR. All objects are gone when it returns. */
void rnic_reset(struct rnic *dev);
/* STATUS.FATAL: everything stops until a reset. */
void rnic_fatal(struct rnic *dev, enum ornic_fatal why);

static inline bool rnic_ready(const struct rnic *dev)
{
	return (dev->regs.status & (ORNIC_STATUS_READY | ORNIC_STATUS_FATAL)) == ORNIC_STATUS_READY;
}

/* Accesses of the host to registers and doorbells; also for fuzzers. */
u64 rnic_bar_read(void *priv, unsigned int bar, u64 off, unsigned int size);
void rnic_bar_write(void *priv, unsigned int bar, u64 off, unsigned int size, u64 val);

/* One MSI-X message; counted. */
void rnic_irq(struct rnic *dev, u32 vector);

u64 rnic_caps(const struct rnic *dev);
void rnic_device_attr(const struct rnic *dev, struct ornic_device_attr *attr);
/* All counters as QUERY_STATS has them: ours plus the TCP engine's and the wire's since reset. */
void rnic_stats(struct rnic *dev, u64 stats[ORNIC_STAT_COUNT]);

/**
 * struct cmd_ret - outcome of a command
 * @status: enum ornic_cmd_status
 * @syndrome: byte offset of the field in the command, where a field is at fault; else 0
 * @result: for the completion
 */
struct cmd_ret {
	u16 status;
	u16 syndrome;
	u64 result[6];
};

static inline struct cmd_ret cmd_ret(enum ornic_cmd_status status, size_t syndrome)
{
	return (struct cmd_ret){.status = (u16)status, .syndrome = (u16)syndrome};
}

#define CMD_OK cmd_ret(ORNIC_CMDS_OK, 0)
/* CMD_BAD(FIELD, struct ornic_cmd_create_cq, depth_shift) */
#define CMD_BAD(STATUS, type, field) cmd_ret(ORNIC_CMDS_##STATUS, offsetof(type, field))

#endif /* RNICD_HW_DEV_H */
