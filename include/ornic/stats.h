/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * OpenRNIC hardware contract: counters of QUERY_STATS. 64 bits each, since reset.
 * X(NAME, "name", meaning): the name is the one in ethtool -S, rdma statistic and the device's
 * control socket.
 */
#ifndef _ORNIC_STATS_H
#define _ORNIC_STATS_H

/* Ethernet: frames and bytes that the host's rings moved, and why frames were dropped */
#define ORNIC_ETH_STATS(X) \
	X(ETH_TX_FRAMES, "eth_tx_frames", "frames from the host") \
	X(ETH_TX_BYTES, "eth_tx_bytes", "bytes from the host") \
	X(ETH_TX_BAD, "eth_tx_bad", "frames dropped: malformed descriptors or memory not reachable") \
	X(ETH_TX_DROP, "eth_tx_drop", "frames dropped: wire full or port down") \
	X(ETH_RX_FRAMES, "eth_rx_frames", "frames to the host") \
	X(ETH_RX_BYTES, "eth_rx_bytes", "bytes to the host") \
	X(ETH_RX_NO_BUFFER, "eth_rx_no_buffer", "frames dropped: no receive descriptor") \
	X(ETH_RX_FILTERED, "eth_rx_filtered", "frames dropped by the receive filter") \
	X(ETH_RX_TOO_LONG, "eth_rx_too_long", "frames dropped: longer than the MTU") \
	X(ETH_RX_BAD, "eth_rx_bad", "frames dropped: malformed") \
	X(WIRE_TX_FRAMES, "wire_tx_frames", "all frames sent on the wire") \
	X(WIRE_TX_BYTES, "wire_tx_bytes", "all bytes sent on the wire") \
	X(WIRE_RX_FRAMES, "wire_rx_frames", "all frames received from the wire") \
	X(WIRE_RX_BYTES, "wire_rx_bytes", "all bytes received from the wire")

/* TCP engine */
#define ORNIC_TCP_STATS(X) \
	X(TCP_IN_SEGS, "tcp_in_segs", "segments of offloaded connections received") \
	X(TCP_OUT_SEGS, "tcp_out_segs", "segments sent, retransmissions included") \
	X(TCP_RETRANS, "tcp_retrans_segs", "segments sent again") \
	X(TCP_RTO, "tcp_rto", "retransmission time-outs") \
	X(TCP_FAST_RECOVERY, "tcp_fast_recovery", "recoveries entered without a time-out") \
	X(TCP_DUP_ACKS, "tcp_dup_acks", "duplicate ACKs received") \
	X(TCP_OOO, "tcp_out_of_order", "segments received out of order") \
	X(TCP_BAD_CSUM, "tcp_bad_csum", "segments dropped: checksum") \
	X(TCP_IN_ERRS, "tcp_in_errs", "segments dropped: malformed or not acceptable") \
	X(TCP_PAWS, "tcp_paws_drop", "segments dropped by PAWS") \
	X(TCP_CHALLENGE_ACK, "tcp_challenge_ack", "challenge ACKs sent (RFC 5961)") \
	X(TCP_OUT_RSTS, "tcp_out_rsts", "resets sent") \
	X(TCP_IN_RSTS, "tcp_in_rsts", "resets accepted") \
	X(TCP_ACTIVE_OPENS, "tcp_active_opens", "OPEN commands accepted") \
	X(TCP_PASSIVE_OPENS, "tcp_passive_opens", "ACCEPT commands accepted") \
	X(TCP_SYN_DROP, "tcp_syn_drop", "SYNs dropped: backlog, table or event queue full") \
	X(TCP_CURR_ESTAB, "tcp_curr_estab", "connections established now") \
	X(TCP_FRAG_DROP, "tcp_frag_drop", "IP fragments of offloaded flows dropped") \
	X(TCP_MEM_DROP, "tcp_mem_drop", "segments dropped: out-of-order memory full")

/* iWARP engine */
#define ORNIC_IW_STATS(X) \
	X(IW_TX_FPDU, "iw_tx_fpdus", "FPDUs sent, retransmissions not counted") \
	X(IW_RX_FPDU, "iw_rx_fpdus", "valid FPDUs received") \
	X(IW_TX_SEND, "iw_tx_sends", "Send messages sent, all kinds") \
	X(IW_TX_WRITE, "iw_tx_writes", "Write messages sent") \
	X(IW_TX_READ_REQ, "iw_tx_read_reqs", "Read Requests sent") \
	X(IW_TX_READ_RESP, "iw_tx_read_resps", "Read Response messages sent") \
	X(IW_RX_SEND, "iw_rx_sends", "Send messages received, all kinds") \
	X(IW_RX_WRITE, "iw_rx_writes", "Write messages received") \
	X(IW_RX_READ_REQ, "iw_rx_read_reqs", "Read Requests received") \
	X(IW_RX_READ_RESP, "iw_rx_read_resps", "Read Response messages received") \
	X(IW_TX_BYTES, "iw_tx_bytes", "payload bytes sent") \
	X(IW_RX_BYTES, "iw_rx_bytes", "payload bytes placed") \
	X(IW_TX_TERM, "iw_tx_terminates", "Terminate messages sent") \
	X(IW_RX_TERM, "iw_rx_terminates", "Terminate messages received") \
	X(IW_RX_CRC, "iw_rx_crc_errors", "FPDUs with a wrong CRC") \
	X(IW_RX_FRAMING, "iw_rx_framing_errors", "FPDUs with a wrong length or marker") \
	X(IW_RX_PROT, "iw_rx_protection_errors", "tagged or untagged messages refused: STag, bounds, rights") \
	X(IW_CQ_OVERFLOW, "iw_cq_overflows", "completion queues that ran over") \
	X(IW_WQE_ERR, "iw_wqe_errors", "work requests refused")

/* The interface to the host */
#define ORNIC_HOST_STATS(X) \
	X(CMD_DONE, "cmd_done", "commands executed") \
	X(CMD_ERR, "cmd_errors", "commands answered with an error") \
	X(DB_RUNG, "db_rung", "doorbells taken") \
	X(DB_REFUSED_CNT, "db_refused", "doorbells refused") \
	X(IRQ, "interrupts", "MSI-X messages raised") \
	X(EQ_FULL, "eq_full", "times an event had to wait for room in its EQ")

#define ORNIC_ALL_STATS(X) \
	ORNIC_ETH_STATS(X) ORNIC_TCP_STATS(X) ORNIC_IW_STATS(X) ORNIC_HOST_STATS(X)

enum ornic_stat {
#define ORNIC_STAT_ENUM(NAME, name, meaning) ORNIC_STAT_##NAME,
	ORNIC_ALL_STATS(ORNIC_STAT_ENUM)
#undef ORNIC_STAT_ENUM
	ORNIC_STAT_COUNT
};

#endif /* _ORNIC_STATS_H */
