/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * OpenRNIC hardware contract: counters of QUERY_STATS. 64 bits each, since reset.
 */
#ifndef _ORNIC_STATS_H
#define _ORNIC_STATS_H

/* ORNIC_STAT_NAME_MAX includes the terminating zero. */
#define ORNIC_STAT_NAME_MAX	32

enum ornic_stat {
	/* Ethernet: frames and bytes that the host's rings moved, and why frames were dropped */
	ORNIC_STAT_ETH_TX_FRAMES,	/* frames from the host */
	ORNIC_STAT_ETH_TX_BYTES,	/* bytes from the host */
	ORNIC_STAT_ETH_TX_BAD,	/* frames dropped: malformed descriptors or memory not reachable */
	ORNIC_STAT_ETH_TX_DROP,	/* frames dropped: wire full or port down */
	ORNIC_STAT_ETH_RX_FRAMES,	/* frames to the host */
	ORNIC_STAT_ETH_RX_BYTES,	/* bytes to the host */
	ORNIC_STAT_ETH_RX_NO_BUFFER,	/* frames dropped: no receive descriptor */
	ORNIC_STAT_ETH_RX_FILTERED,	/* frames dropped by the receive filter */
	ORNIC_STAT_ETH_RX_TOO_LONG,	/* frames dropped: longer than the MTU */
	ORNIC_STAT_ETH_RX_BAD,	/* frames dropped: malformed */
	ORNIC_STAT_WIRE_TX_FRAMES,	/* all frames sent on the wire */
	ORNIC_STAT_WIRE_TX_BYTES,	/* all bytes sent on the wire */
	ORNIC_STAT_WIRE_RX_FRAMES,	/* all frames received from the wire */
	ORNIC_STAT_WIRE_RX_BYTES,	/* all bytes received from the wire */

	/* TCP engine */
	ORNIC_STAT_TCP_IN_SEGS,	/* segments of offloaded connections received */
	ORNIC_STAT_TCP_OUT_SEGS,	/* segments sent, retransmissions included */
	ORNIC_STAT_TCP_RETRANS,	/* segments sent again */
	ORNIC_STAT_TCP_RTO,	/* retransmission time-outs */
	ORNIC_STAT_TCP_FAST_RECOVERY,	/* recoveries entered without a time-out */
	ORNIC_STAT_TCP_DUP_ACKS,	/* duplicate ACKs received */
	ORNIC_STAT_TCP_OOO,	/* segments received out of order */
	ORNIC_STAT_TCP_BAD_CSUM,	/* segments dropped: checksum */
	ORNIC_STAT_TCP_IN_ERRS,	/* segments dropped: malformed or not acceptable */
	ORNIC_STAT_TCP_PAWS,	/* segments dropped by PAWS */
	ORNIC_STAT_TCP_CHALLENGE_ACK,	/* challenge ACKs sent (RFC 5961) */
	ORNIC_STAT_TCP_OUT_RSTS,	/* resets sent */
	ORNIC_STAT_TCP_IN_RSTS,	/* resets accepted */
	ORNIC_STAT_TCP_ACTIVE_OPENS,	/* OPEN commands accepted */
	ORNIC_STAT_TCP_PASSIVE_OPENS,	/* ACCEPT commands accepted */
	ORNIC_STAT_TCP_SYN_DROP,	/* SYNs dropped: backlog, table or event queue full */
	ORNIC_STAT_TCP_CURR_ESTAB,	/* connections established now */
	ORNIC_STAT_TCP_FRAG_DROP,	/* IP fragments of offloaded flows dropped */
	ORNIC_STAT_TCP_MEM_DROP,	/* segments dropped: out-of-order memory full */

	/* iWARP engine */
	ORNIC_STAT_IW_TX_FPDU,	/* FPDUs sent, retransmissions not counted */
	ORNIC_STAT_IW_RX_FPDU,	/* valid FPDUs received */
	ORNIC_STAT_IW_TX_SEND,	/* Send messages sent, all kinds */
	ORNIC_STAT_IW_TX_WRITE,	/* Write messages sent */
	ORNIC_STAT_IW_TX_READ_REQ,	/* Read Requests sent */
	ORNIC_STAT_IW_TX_READ_RESP,	/* Read Response messages sent */
	ORNIC_STAT_IW_RX_SEND,	/* Send messages received, all kinds */
	ORNIC_STAT_IW_RX_WRITE,	/* Write messages received */
	ORNIC_STAT_IW_RX_READ_REQ,	/* Read Requests received */
	ORNIC_STAT_IW_RX_READ_RESP,	/* Read Response messages received */
	ORNIC_STAT_IW_TX_BYTES,	/* payload bytes sent */
	ORNIC_STAT_IW_RX_BYTES,	/* payload bytes placed */
	ORNIC_STAT_IW_TX_TERM,	/* Terminate messages sent */
	ORNIC_STAT_IW_RX_TERM,	/* Terminate messages received */
	ORNIC_STAT_IW_RX_CRC,	/* FPDUs with a wrong CRC */
	ORNIC_STAT_IW_RX_FRAMING,	/* FPDUs with a wrong length or marker */
	ORNIC_STAT_IW_RX_PROT,	/* tagged or untagged messages refused: STag, bounds, rights */
	ORNIC_STAT_IW_CQ_OVERFLOW,	/* completion queues that ran over */
	ORNIC_STAT_IW_WQE_ERR,	/* work requests refused */

	/* The interface to the host */
	ORNIC_STAT_CMD_DONE,	/* commands executed */
	ORNIC_STAT_CMD_ERR,	/* commands answered with an error */
	ORNIC_STAT_DB_RUNG,	/* doorbells taken */
	ORNIC_STAT_DB_REFUSED_CNT,	/* doorbells refused */
	ORNIC_STAT_IRQ,	/* MSI-X messages raised */
	ORNIC_STAT_EQ_FULL,	/* times an event had to wait for room in its EQ */

	ORNIC_STAT_COUNT
};

/**
 * ornic_stat_name() - the counter's name in ethtool -S, rdma statistic and the control socket
 * @stat: counter, below ORNIC_STAT_COUNT
 *
 * Context: Any.
 * Return: a constant string shorter than ORNIC_STAT_NAME_MAX.
 */
static inline const char *ornic_stat_name(unsigned int stat)
{
	static const char *const names[ORNIC_STAT_COUNT] = {
		[ORNIC_STAT_ETH_TX_FRAMES] = "eth_tx_frames",
		[ORNIC_STAT_ETH_TX_BYTES] = "eth_tx_bytes",
		[ORNIC_STAT_ETH_TX_BAD] = "eth_tx_bad",
		[ORNIC_STAT_ETH_TX_DROP] = "eth_tx_drop",
		[ORNIC_STAT_ETH_RX_FRAMES] = "eth_rx_frames",
		[ORNIC_STAT_ETH_RX_BYTES] = "eth_rx_bytes",
		[ORNIC_STAT_ETH_RX_NO_BUFFER] = "eth_rx_no_buffer",
		[ORNIC_STAT_ETH_RX_FILTERED] = "eth_rx_filtered",
		[ORNIC_STAT_ETH_RX_TOO_LONG] = "eth_rx_too_long",
		[ORNIC_STAT_ETH_RX_BAD] = "eth_rx_bad",
		[ORNIC_STAT_WIRE_TX_FRAMES] = "wire_tx_frames",
		[ORNIC_STAT_WIRE_TX_BYTES] = "wire_tx_bytes",
		[ORNIC_STAT_WIRE_RX_FRAMES] = "wire_rx_frames",
		[ORNIC_STAT_WIRE_RX_BYTES] = "wire_rx_bytes",
		[ORNIC_STAT_TCP_IN_SEGS] = "tcp_in_segs",
		[ORNIC_STAT_TCP_OUT_SEGS] = "tcp_out_segs",
		[ORNIC_STAT_TCP_RETRANS] = "tcp_retrans_segs",
		[ORNIC_STAT_TCP_RTO] = "tcp_rto",
		[ORNIC_STAT_TCP_FAST_RECOVERY] = "tcp_fast_recovery",
		[ORNIC_STAT_TCP_DUP_ACKS] = "tcp_dup_acks",
		[ORNIC_STAT_TCP_OOO] = "tcp_out_of_order",
		[ORNIC_STAT_TCP_BAD_CSUM] = "tcp_bad_csum",
		[ORNIC_STAT_TCP_IN_ERRS] = "tcp_in_errs",
		[ORNIC_STAT_TCP_PAWS] = "tcp_paws_drop",
		[ORNIC_STAT_TCP_CHALLENGE_ACK] = "tcp_challenge_ack",
		[ORNIC_STAT_TCP_OUT_RSTS] = "tcp_out_rsts",
		[ORNIC_STAT_TCP_IN_RSTS] = "tcp_in_rsts",
		[ORNIC_STAT_TCP_ACTIVE_OPENS] = "tcp_active_opens",
		[ORNIC_STAT_TCP_PASSIVE_OPENS] = "tcp_passive_opens",
		[ORNIC_STAT_TCP_SYN_DROP] = "tcp_syn_drop",
		[ORNIC_STAT_TCP_CURR_ESTAB] = "tcp_curr_estab",
		[ORNIC_STAT_TCP_FRAG_DROP] = "tcp_frag_drop",
		[ORNIC_STAT_TCP_MEM_DROP] = "tcp_mem_drop",
		[ORNIC_STAT_IW_TX_FPDU] = "iw_tx_fpdus",
		[ORNIC_STAT_IW_RX_FPDU] = "iw_rx_fpdus",
		[ORNIC_STAT_IW_TX_SEND] = "iw_tx_sends",
		[ORNIC_STAT_IW_TX_WRITE] = "iw_tx_writes",
		[ORNIC_STAT_IW_TX_READ_REQ] = "iw_tx_read_reqs",
		[ORNIC_STAT_IW_TX_READ_RESP] = "iw_tx_read_resps",
		[ORNIC_STAT_IW_RX_SEND] = "iw_rx_sends",
		[ORNIC_STAT_IW_RX_WRITE] = "iw_rx_writes",
		[ORNIC_STAT_IW_RX_READ_REQ] = "iw_rx_read_reqs",
		[ORNIC_STAT_IW_RX_READ_RESP] = "iw_rx_read_resps",
		[ORNIC_STAT_IW_TX_BYTES] = "iw_tx_bytes",
		[ORNIC_STAT_IW_RX_BYTES] = "iw_rx_bytes",
		[ORNIC_STAT_IW_TX_TERM] = "iw_tx_terminates",
		[ORNIC_STAT_IW_RX_TERM] = "iw_rx_terminates",
		[ORNIC_STAT_IW_RX_CRC] = "iw_rx_crc_errors",
		[ORNIC_STAT_IW_RX_FRAMING] = "iw_rx_framing_errors",
		[ORNIC_STAT_IW_RX_PROT] = "iw_rx_protection_errors",
		[ORNIC_STAT_IW_CQ_OVERFLOW] = "iw_cq_overflows",
		[ORNIC_STAT_IW_WQE_ERR] = "iw_wqe_errors",
		[ORNIC_STAT_CMD_DONE] = "cmd_done",
		[ORNIC_STAT_CMD_ERR] = "cmd_errors",
		[ORNIC_STAT_DB_RUNG] = "db_rung",
		[ORNIC_STAT_DB_REFUSED_CNT] = "db_refused",
		[ORNIC_STAT_IRQ] = "interrupts",
		[ORNIC_STAT_EQ_FULL] = "eq_full",
	};

	return names[stat];
}

#endif /* _ORNIC_STATS_H */
