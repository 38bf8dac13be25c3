/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Ethernet side: rings of the host, receive filter, and the way of each
 * frame: wire -> filter -> TCP engine -> host ring; host ring -> wire.
 */
#ifndef RNICD_NIC_NIC_H
#define RNICD_NIC_NIC_H

#include <stdio.h>

#include "hw/dev.h"

#define NIC_CAPS (ORNIC_CAP_TX_CSUM | ORNIC_CAP_RX_CSUM | ORNIC_CAP_TSO | ORNIC_CAP_VLAN)

int nic_init(struct rnic *dev);
void nic_free(struct rnic *dev);
void nic_reset(struct rnic *dev);
/* In each turn of the loop. True: work is left. */
bool nic_run(struct rnic *dev);

extern const struct wire_ops nic_wire_ops;

/* A frame of the TCP engine: as struct tcp_engine_ops.xmit has it. */
int nic_tcp_xmit(struct rnic *dev, const struct iovec *iov, int cnt,
		 const struct tcp_tx_meta *meta);
/* Where such a frame may be made: as struct tcp_engine_ops.room has it. */
u8 *nic_tcp_room(struct rnic *dev, size_t len);
/* A frame that the TCP engine leaves to the host; @csum_flags: TCP_CSUM_*. */
void nic_to_host(struct rnic *dev, const void *frame, size_t len, unsigned int csum_flags);

/* ETH_TX, ETH_RX or ETH_ARM in page 0; false: refused. */
bool nic_doorbell(struct rnic *dev, u32 kind, u32 number, u64 val, u32 index);

struct cmd_ret nic_cmd_create_txq(struct rnic *dev, const void *cmd);
struct cmd_ret nic_cmd_destroy_txq(struct rnic *dev, const void *cmd);
struct cmd_ret nic_cmd_create_rxq(struct rnic *dev, const void *cmd);
struct cmd_ret nic_cmd_destroy_rxq(struct rnic *dev, const void *cmd);
struct cmd_ret nic_cmd_set_rx_mode(struct rnic *dev, const void *cmd);
struct cmd_ret nic_cmd_set_mac(struct rnic *dev, const void *cmd);
struct cmd_ret nic_cmd_set_port(struct rnic *dev, const void *cmd);

/* Rings and filter as lines of text, for the control socket. */
void nic_dump(struct rnic *dev, FILE *f);

#endif /* RNICD_NIC_NIC_H */
