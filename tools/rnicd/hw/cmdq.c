// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "hw/cmdq.h"
#include "hw/conn.h"
#include "hw/eq.h"
#include "hw/mr.h"
#include "iwarp/iwarp.h"
#include "nic/nic.h"

/**
 * struct cmdq - state of the command queue
 * @tail: commands that the host has submitted
 * @head: commands that were executed; also the number of completions
 */
struct cmdq {
	u32 tail;
	u32 head;
};

/**
 * struct cmd_desc - what is known about a command without executing it
 * @fn: executes it; NULL: no such command in this device
 * @has_data: hdr.data is used
 * @mbz: ranges that must be zero besides hdr.mbz; unused entries have length 0
 */
struct cmd_desc {
	struct cmd_ret (*fn)(struct rnic *dev, const void *cmd);
	bool has_data;
	struct {
		u8 off;
		u8 len;
	} mbz[4];
};

/* ---- commands of the device itself ---- */

static struct cmd_ret cmd_nop(struct rnic *dev, const void *cmd)
{
	return CMD_OK;
}

static struct cmd_ret cmd_query_device(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_hdr *hdr = cmd;
	struct ornic_device_attr attr;

	rnic_device_attr(dev, &attr);
	if (dma_write(dev->dma, le64_to_cpu(hdr->data), &attr, sizeof(attr)))
		return CMD_BAD(ADDRESS, struct ornic_cmd_hdr, data);
	return CMD_OK;
}

#define QUERY_STATS_MAX 4096u

static struct cmd_ret cmd_query_stats(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_query_stats *c = cmd;
	u32 first = le32_to_cpu(c->first), count = le32_to_cpu(c->count), i;
	u64 stats[ORNIC_STAT_COUNT], addr = le64_to_cpu(c->hdr.data);
	struct cmd_ret ret = CMD_OK;
	__le64 *out;

	if (count > QUERY_STATS_MAX)
		return CMD_BAD(FIELD, struct ornic_cmd_query_stats, count);
	ret.result[0] = ORNIC_STAT_COUNT;
	if (!count)
		return ret;
	out = calloc(count, sizeof(*out));
	if (!out)
		return cmd_ret(ORNIC_CMDS_NO_MEMORY, 0);
	rnic_stats(dev, stats);
	for (i = 0; i < count && first < ORNIC_STAT_COUNT && i < ORNIC_STAT_COUNT - first; i++)
		out[i] = cpu_to_le64(stats[first + i]);
	if (dma_write(dev->dma, addr, out, count * sizeof(*out)))
		ret = CMD_BAD(ADDRESS, struct ornic_cmd_query_stats, hdr.data);
	free(out);
	return ret;
}

/* Connections may have events that found no TCP EQ. */
static struct cmd_ret cmd_create_eq(struct rnic *dev, const void *cmd)
{
	struct cmd_ret ret = eq_cmd_create(dev, cmd);

	if (!ret.status)
		conn_events_resume(dev);
	return ret;
}

/* ---- table ---- */

#define MBZ(type, field) {offsetof(struct type, field), sizeof(((struct type *)0)->field)}
#define MBZ_FROM(off)	 {off, ORNIC_CMD_SIZE - (off)}
#define NUMBER_MBZ	 {MBZ(ornic_cmd_number, mbz)}

static const struct cmd_desc cmd_table[] = {
	[ORNIC_CMD_NOP] = {cmd_nop, false, {MBZ_FROM(16)}},
	[ORNIC_CMD_QUERY_DEVICE] = {cmd_query_device, true, {MBZ_FROM(16)}},
	[ORNIC_CMD_QUERY_STATS] = {cmd_query_stats, true, {MBZ(ornic_cmd_query_stats, mbz)}},

	[ORNIC_CMD_CREATE_EQ] = {cmd_create_eq, false, {MBZ(ornic_cmd_create_eq, mbz)}},
	[ORNIC_CMD_DESTROY_EQ] = {eq_cmd_destroy, false, NUMBER_MBZ},

	[ORNIC_CMD_CREATE_CQ] = {iw_cmd_create_cq,
				 false,
				 {MBZ(ornic_cmd_create_cq, mbz), MBZ(ornic_cmd_create_cq, mbz2)}},
	[ORNIC_CMD_DESTROY_CQ] = {iw_cmd_destroy_cq, false, NUMBER_MBZ},

	[ORNIC_CMD_CREATE_QP] = {iw_cmd_create_qp, false, {MBZ(ornic_cmd_create_qp, mbz)}},
	[ORNIC_CMD_MODIFY_QP] = {iw_cmd_modify_qp,
				 false,
				 {MBZ(ornic_cmd_modify_qp, mbz), MBZ(ornic_cmd_modify_qp, mbz2)}},
	[ORNIC_CMD_QUERY_QP] = {iw_cmd_query_qp, true, NUMBER_MBZ},
	[ORNIC_CMD_DESTROY_QP] = {iw_cmd_destroy_qp, false, NUMBER_MBZ},

	[ORNIC_CMD_REG_MR] = {mr_cmd_reg, false, {MBZ(ornic_cmd_reg_mr, mbz)}},
	[ORNIC_CMD_ALLOC_MR] = {mr_cmd_alloc, false, {MBZ(ornic_cmd_alloc_mr, mbz)}},
	[ORNIC_CMD_DEREG_MR] = {mr_cmd_dereg, false, {MBZ(ornic_cmd_stag, mbz)}},
	[ORNIC_CMD_QUERY_MR] = {mr_cmd_query, true, {MBZ(ornic_cmd_stag, mbz)}},

	[ORNIC_CMD_SET_NEXTHOP] = {conn_cmd_set_nexthop, false, {MBZ(ornic_cmd_set_nexthop, mbz)}},
	[ORNIC_CMD_CLEAR_NEXTHOP] = {conn_cmd_clear_nexthop, false, NUMBER_MBZ},

	[ORNIC_CMD_LISTEN] = {conn_cmd_listen,
			      false,
			      {MBZ(ornic_cmd_listen, mbz), MBZ(ornic_cmd_listen, mbz2)}},
	[ORNIC_CMD_UNLISTEN] = {conn_cmd_unlisten, false, NUMBER_MBZ},
	[ORNIC_CMD_OPEN] = {conn_cmd_open,
			    false,
			    {MBZ(ornic_cmd_open, mbz), MBZ(ornic_cmd_open, opts.mbz),
			     MBZ(ornic_cmd_open, mbz2)}},
	[ORNIC_CMD_ACCEPT] = {conn_cmd_accept,
			      false,
			      {MBZ(ornic_cmd_accept, mbz), MBZ(ornic_cmd_accept, opts.mbz),
			       MBZ(ornic_cmd_accept, mbz2)}},
	[ORNIC_CMD_REFUSE] = {conn_cmd_refuse, false, {MBZ(ornic_cmd_refuse, mbz)}},
	[ORNIC_CMD_STREAM_TX] = {conn_cmd_stream_tx, true, {MBZ(ornic_cmd_stream_tx, mbz)}},
	[ORNIC_CMD_STREAM_RX_DONE] = {conn_cmd_stream_rx_done,
				      false,
				      {MBZ(ornic_cmd_stream_rx_done, mbz),
				       MBZ(ornic_cmd_stream_rx_done, mbz2)}},
	[ORNIC_CMD_MODE_RDMA] = {conn_cmd_mode_rdma,
				 true,
				 {MBZ(ornic_cmd_mode_rdma, mbz), MBZ(ornic_cmd_mode_rdma, mbz2)}},
	[ORNIC_CMD_CLOSE] = {conn_cmd_close, false, NUMBER_MBZ},
	[ORNIC_CMD_ABORT] = {conn_cmd_abort, false, NUMBER_MBZ},
	[ORNIC_CMD_UPDATE_CONN] = {conn_cmd_update, false, {MBZ(ornic_cmd_update_conn, mbz)}},
	[ORNIC_CMD_TERMINATE] = {conn_cmd_terminate, false, {MBZ(ornic_cmd_terminate, mbz)}},
	[ORNIC_CMD_QUERY_CONN] = {conn_cmd_query, true, NUMBER_MBZ},
	[ORNIC_CMD_FREE_CONN] = {conn_cmd_free, false, NUMBER_MBZ},

	[ORNIC_CMD_CREATE_TXQ] = {nic_cmd_create_txq,
				  false,
				  {MBZ(ornic_cmd_create_ethq, mbz),
				   MBZ(ornic_cmd_create_ethq, mbz2)}},
	[ORNIC_CMD_DESTROY_TXQ] = {nic_cmd_destroy_txq, false, NUMBER_MBZ},
	[ORNIC_CMD_CREATE_RXQ] = {nic_cmd_create_rxq,
				  false,
				  {MBZ(ornic_cmd_create_ethq, mbz),
				   MBZ(ornic_cmd_create_ethq, mbz2)}},
	[ORNIC_CMD_DESTROY_RXQ] = {nic_cmd_destroy_rxq, false, NUMBER_MBZ},
	[ORNIC_CMD_SET_RX_MODE] = {nic_cmd_set_rx_mode, true, {MBZ(ornic_cmd_set_rx_mode, mbz)}},
	[ORNIC_CMD_SET_MAC] = {nic_cmd_set_mac, false, {MBZ(ornic_cmd_set_mac, mbz)}},
	[ORNIC_CMD_SET_PORT] = {nic_cmd_set_port, false, {MBZ(ornic_cmd_set_port, mbz)}},
};

/* The first byte in the range that is not zero, or -1. */
static int cmd_nonzero(const u8 *cmd, u32 off, u32 len)
{
	u32 i;

	for (i = off; i < off + len; i++)
		if (cmd[i])
			return (int)i;
	return -1;
}

static struct cmd_ret cmd_check_mbz(const struct cmd_desc *desc, const u8 *cmd)
{
	u32 i;
	int bad;

	if (cmd_nonzero(cmd, offsetof(struct ornic_cmd_hdr, mbz), 2) >= 0)
		return CMD_BAD(FIELD, struct ornic_cmd_hdr, mbz);
	if (!desc->has_data && cmd_nonzero(cmd, offsetof(struct ornic_cmd_hdr, data), 8) >= 0)
		return CMD_BAD(FIELD, struct ornic_cmd_hdr, data);
	for (i = 0; i < ARRAY_SIZE(desc->mbz) && desc->mbz[i].len; i++) {
		bad = cmd_nonzero(cmd, desc->mbz[i].off, desc->mbz[i].len);
		if (bad >= 0)
			return cmd_ret(ORNIC_CMDS_FIELD, (size_t)bad);
	}
	return CMD_OK;
}

struct cmd_ret cmdq_exec(struct rnic *dev, const void *cmd)
{
	const struct ornic_cmd_hdr *hdr = cmd;
	u16 opcode = le16_to_cpu(hdr->opcode);
	const struct cmd_desc *desc;
	struct cmd_ret ret;

	if (opcode >= ARRAY_SIZE(cmd_table) || !cmd_table[opcode].fn)
		return CMD_BAD(OPCODE, struct ornic_cmd_hdr, opcode);
	desc = &cmd_table[opcode];
	ret = cmd_check_mbz(desc, cmd);
	return ret.status ? ret : desc->fn(dev, cmd);
}

/* ---- rings ---- */

int cmdq_init(struct rnic *dev)
{
	dev->cmdq = calloc(1, sizeof(*dev->cmdq));
	return dev->cmdq ? 0 : -ENOMEM;
}

void cmdq_free(struct rnic *dev)
{
	free(dev->cmdq);
	dev->cmdq = NULL;
}

void cmdq_reset(struct rnic *dev)
{
	memset(dev->cmdq, 0, sizeof(*dev->cmdq));
}

static u32 cmdq_shift(const struct rnic *dev)
{
	return FIELD_GET(ORNIC_CMDQ_CFG_DEPTH, (u64)dev->regs.cmdq_cfg);
}

static u32 cmdq_vector(const struct rnic *dev)
{
	return FIELD_GET(ORNIC_CMDQ_CFG_VECTOR, (u64)dev->regs.cmdq_cfg);
}

bool cmdq_config_ok(const struct rnic *dev)
{
	u32 shift = cmdq_shift(dev);
	u32 named = ORNIC_CMDQ_CFG_DEPTH | ORNIC_CMDQ_CFG_VECTOR;

	return shift >= ORNIC_CMDQ_MIN_SHIFT && shift <= ORNIC_CMDQ_MAX_SHIFT &&
	       cmdq_vector(dev) < RNIC_VECTORS && !(dev->regs.cmdq_cfg & ~named) &&
	       IS_ALIGNED(dev->regs.cmdq_sq, 4096) && IS_ALIGNED(dev->regs.cmdq_cq, 4096);
}

static int cmdq_complete(struct rnic *dev, const struct ornic_cmd_hdr *hdr,
			 const struct cmd_ret *ret)
{
	u32 shift = cmdq_shift(dev), n = dev->cmdq->head;
	struct ornic_cmd_cqe cqe = {.id = hdr->id};
	u64 addr = dev->regs.cmdq_cq + (n & ((1u << shift) - 1)) * sizeof(cqe);
	u32 i;

	cqe.status = cpu_to_le16(ret->status);
	cqe.syndrome = cpu_to_le16(ret->syndrome);
	for (i = 0; i < ARRAY_SIZE(cqe.result); i++)
		cqe.result[i] = cpu_to_le64(ret->result[i]);
	cqe.sq_head = cpu_to_le32(n + 1);
	if (dma_write(dev->dma, addr, &cqe, sizeof(cqe) - 4))
		return -EFAULT;
	return dma_write_le32(dev->dma, addr + sizeof(cqe) - 4,
			      n >> shift & 1 ? 0 : ORNIC_CMD_CQE_PHASE);
}

/* One command. The host may write to the ring at any time: what is checked is our copy. */
static int cmdq_step(struct rnic *dev)
{
	u64 addr = dev->regs.cmdq_sq;
	u64 cmd[ORNIC_CMD_SIZE / 8];
	struct cmd_ret ret;

	addr += (dev->cmdq->head & ((1u << cmdq_shift(dev)) - 1)) * ORNIC_CMD_SIZE;
	if (dma_read(dev->dma, addr, cmd, sizeof(cmd)))
		return -EFAULT;
	ret = cmdq_exec(dev, cmd);
	dev->stats[ret.status ? ORNIC_STAT_CMD_ERR : ORNIC_STAT_CMD_DONE]++;
	if (ret.status)
		log_debug("command 0x%02x: status %u, offset %u", (unsigned int)cmd[0] & 0xffff,
			  ret.status, ret.syndrome);
	if (!rnic_ready(dev))
		return 0;
	if (cmdq_complete(dev, (const struct ornic_cmd_hdr *)cmd, &ret))
		return -EFAULT;
	dev->cmdq->head++;
	return 0;
}

void cmdq_run(struct rnic *dev)
{
	bool done = false;

	while (rnic_ready(dev) && !dev->cmdq_stuck && dev->cmdq->head != dev->cmdq->tail) {
		if (cmdq_step(dev)) {
			rnic_fatal(dev, ORNIC_FATAL_DMA);
			return;
		}
		done = true;
	}
	if (done && rnic_ready(dev))
		rnic_irq(dev, cmdq_vector(dev));
}

void cmdq_tail(struct rnic *dev, u32 tail)
{
	u32 ahead = tail - dev->cmdq->head;

	/* Nothing new, or an index from the past. */
	if (!ahead || ahead >= 1u << 31)
		return;
	if (ahead > 1u << cmdq_shift(dev)) {
		rnic_fatal(dev, ORNIC_FATAL_CMDQ);
		return;
	}
	if ((s32)(tail - dev->cmdq->tail) > 0)
		dev->cmdq->tail = tail;
	cmdq_run(dev);
}
