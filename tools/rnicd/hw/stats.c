// SPDX-License-Identifier: GPL-2.0-or-later
/* Counters of QUERY_STATS: those kept here, and those of the TCP engine and the wire. */
#include "hw/conn_priv.h"

struct stat_map {
	u16 stat;
	u16 off;
};

#define TCP_STAT(NAME, field) {ORNIC_STAT_TCP_##NAME, offsetof(struct tcp_engine_stats, field)}

static const struct stat_map tcp_map[] = {
	TCP_STAT(IN_SEGS, segs_in),
	TCP_STAT(OUT_SEGS, segs_out),
	TCP_STAT(RETRANS, rtx_segs),
	TCP_STAT(RTO, rtx_timeouts),
	TCP_STAT(FAST_RECOVERY, rtx_fast),
	TCP_STAT(DUP_ACKS, dup_acks_in),
	TCP_STAT(OOO, ooo_in),
	TCP_STAT(BAD_CSUM, bad_csum),
	TCP_STAT(IN_ERRS, bad_header),
	TCP_STAT(IN_ERRS, bad_seq),
	TCP_STAT(IN_ERRS, bad_ack),
	TCP_STAT(IN_ERRS, no_ack),
	TCP_STAT(PAWS, paws),
	TCP_STAT(CHALLENGE_ACK, challenge_acks),
	TCP_STAT(OUT_RSTS, rst_out),
	TCP_STAT(IN_RSTS, rst_in),
	TCP_STAT(ACTIVE_OPENS, opens_active),
	TCP_STAT(PASSIVE_OPENS, opens_passive),
	TCP_STAT(SYN_DROP, syns_limit),
	TCP_STAT(SYN_DROP, syns_event_full),
	TCP_STAT(FRAG_DROP, fragments),
	TCP_STAT(MEM_DROP, reass_limit),
};

void rnic_stats(struct rnic *dev, u64 stats[ORNIC_STAT_COUNT])
{
	const struct tcp_engine_stats *t = tcp_engine_stats(dev->tcp);
	const struct wire_stats *w = wire_stats(dev->wire);
	u32 i;

	memcpy(stats, dev->stats, sizeof(dev->stats));
	for (i = 0; i < ARRAY_SIZE(tcp_map); i++)
		stats[tcp_map[i].stat] += *(const u64 *)((const u8 *)t + tcp_map[i].off);
	stats[ORNIC_STAT_TCP_CURR_ESTAB] = dev->conns->estab;
	stats[ORNIC_STAT_WIRE_TX_FRAMES] = w->tx_frames - dev->wire_base.tx_frames;
	stats[ORNIC_STAT_WIRE_TX_BYTES] = w->tx_bytes - dev->wire_base.tx_bytes;
	stats[ORNIC_STAT_WIRE_RX_FRAMES] = w->rx_frames - dev->wire_base.rx_frames;
	stats[ORNIC_STAT_WIRE_RX_BYTES] = w->rx_bytes - dev->wire_base.rx_bytes;
}
