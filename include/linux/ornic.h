/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * OpenRNIC: what ornic.ko (PCI function, command queue, event queues, netdev, next hops, TCP
 * control path) offers to the
 * RDMA driver on its auxiliary device.
 */
#ifndef _LINUX_ORNIC_H
#define _LINUX_ORNIC_H

#include <linux/auxiliary_bus.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/socket.h>

#include <ornic/hw.h>

/* auxiliary_device_id name: module name and device name */
#define ORNIC_ADEV_NAME		"ornic.rdma"

struct ornic_conn;
struct ornic_listen;
struct ornic_nexthop;

/**
 * struct ornic_limits - struct ornic_device_attr in CPU byte order, only what drivers use
 *
 * Fields and units as in struct ornic_device_attr. Constant from probe to remove.
 */
struct ornic_limits {
	u64 caps;
	u32 max_qp;
	u32 max_cq;
	u32 max_mr;
	u32 max_pd;
	u32 max_srq;
	u32 max_conn;
	u32 max_listen;
	u64 max_mr_size;
	u32 max_frmr_pages;
	u64 page_shift_mask;
	u16 max_sge;
	u16 max_inline;
	u16 max_ird;
	u16 max_ord;
	u8 max_sq_shift;
	u8 max_rq_shift;
	u8 max_cq_shift;
	u16 max_mtu;
	u32 stream_max;
	u32 link_speed;
	u32 max_window;
	u32 fw_version;
};

/**
 * struct ornic_policy - what the administrator chose by devlink parameters
 * @mpa_rev: highest MPA revision to offer and to take, 1 or 2
 * @mpa_crc: ask for MPA CRC
 * @mpa_markers: ask for markers (only with ORNIC_CAP_MARKERS)
 * @peer_to_peer: ask for an RTR message as initiator (RFC 6581 9)
 * @rtr_types: bit n: RTR kind n (enum ornic_rtr) may be offered and taken
 * @mpa_timeout_ms: from MPA request to accept or reject, and from request to reply
 * @close_timeout_ms: from FIN to the peer's FIN
 * @window: TCP receive window, bytes
 * @tcp_options: ORNIC_TCPO_*
 * @keepalive_s: seconds of silence before keep-alive probes
 */
struct ornic_policy {
	u8 mpa_rev;
	bool mpa_crc;
	bool mpa_markers;
	bool peer_to_peer;
	u8 rtr_types;
	u32 mpa_timeout_ms;
	u32 close_timeout_ms;
	u32 window;
	u16 tcp_options;
	u32 keepalive_s;
};

/**
 * struct ornic_core - the part of the PCI function's driver that the RDMA driver sees
 * @pdev: PCI function, also the DMA device
 * @netdev: the port's network device
 * @limits: limits of the device
 * @db: kernel mapping of doorbell page 0
 * @db_phys: CPU physical address of doorbell page 0; page n is at @db_phys + n * @db_stride
 * @db_stride: bytes
 * @num_comp_vectors: completion EQs, 1 or more
 */
struct ornic_core {
	struct pci_dev *pdev;
	struct net_device *netdev;
	struct ornic_limits limits;
	void __iomem *db;
	phys_addr_t db_phys;
	u32 db_stride;
	u32 num_comp_vectors;
};

/**
 * struct ornic_adev - the auxiliary device that ornic.ko creates
 * @adev: auxiliary device; its parent is @core->pdev
 * @core: the function
 */
struct ornic_adev {
	struct auxiliary_device adev;
	struct ornic_core *core;
};

static inline struct ornic_core *ornic_core_of(struct auxiliary_device *adev)
{
	return container_of(adev, struct ornic_adev, adev)->core;
}

/**
 * struct ornic_rdma_ops - events for the RDMA driver
 * @comp_event: a CQ that was armed has a completion. Hard or soft interrupt context, must not
 *   sleep
 * @async_event: asynchronous event of a QP, CQ or SRQ. Process context, may sleep
 * @link_event: the link went up or down. Process context
 * @addr_event: the netdev has another MAC. Process context, RTNL held
 * @fatal: the device stopped or is about to be reset or is gone: from here on commands fail with
 *   -EIO and no completion comes from the device. Called once, before the auxiliary device is
 *   removed. Process context
 */
struct ornic_rdma_ops {
	void (*comp_event)(void *ctx, u32 cqn);
	void (*async_event)(void *ctx, const struct ornic_aeqe *aeqe);
	void (*link_event)(void *ctx, bool up);
	void (*addr_event)(void *ctx);
	void (*fatal)(void *ctx);
};

int ornic_rdma_register(struct ornic_core *core, const struct ornic_rdma_ops *ops, void *ctx);
void ornic_rdma_unregister(struct ornic_core *core);

/**
 * union ornic_cmd - room for any command
 * @hdr: header; the caller sets hdr.opcode (and hdr.data), ornic_cmd_exec() sets hdr.id
 * @raw: all bytes
 */
union ornic_cmd {
	struct ornic_cmd_hdr hdr;
	u8 raw[ORNIC_CMD_SIZE];
};

/**
 * struct ornic_cmd_result - what the device answered
 * @result: by command, CPU byte order
 * @status: enum ornic_cmd_status
 * @syndrome: detail
 */
struct ornic_cmd_result {
	u64 result[6];
	u16 status;
	u16 syndrome;
};

/* cmd points to any 128-byte struct ornic_cmd_*; res may be NULL. */
int ornic_cmd_exec(struct ornic_core *core, void *cmd, struct ornic_cmd_result *res);
bool ornic_alive(struct ornic_core *core);
void ornic_request_reset(struct ornic_core *core, enum ornic_reset_reason reason);
int ornic_query_stats(struct ornic_core *core, u32 first, u32 count, u64 *values);
int ornic_firmware_version(struct ornic_core *core, char *buf, size_t len);
void ornic_get_policy(struct ornic_core *core, struct ornic_policy *policy);

/* Doorbell pages for user contexts; page 0 is the kernel's. */
int ornic_db_page_alloc(struct ornic_core *core, u32 *page);
void ornic_db_page_free(struct ornic_core *core, u32 page);

static inline void ornic_ring_db(struct ornic_core *core, u32 db, u32 number, u64 flags, u32 index)
{
	u64 v = FIELD_PREP(ORNIC_DB_NUMBER, number) | flags | FIELD_PREP(ORNIC_DB_INDEX, index);

	writeq(v, core->db + db);
}

/* EQ number of completion vector 0..num_comp_vectors - 1, for CREATE_CQ. */
u32 ornic_comp_eqn(struct ornic_core *core, u32 vector);

/**
 * struct ornic_qbuf - queue memory of the kernel, zeroed, coherent
 * @va: kernel address
 * @dma: DMA address
 * @size: bytes, multiple of 4 KiB
 */
struct ornic_qbuf {
	void *va;
	dma_addr_t dma;
	size_t size;
};

int ornic_qbuf_alloc(struct ornic_core *core, struct ornic_qbuf *buf, size_t size);
void ornic_qbuf_free(struct ornic_core *core, struct ornic_qbuf *buf);
void ornic_qbuf_describe(const struct ornic_qbuf *buf, struct ornic_qmem *mem);

/**
 * struct ornic_pbl - page list under construction, for struct ornic_qmem; level 0, 1 or 2 is
 * chosen by its size
 *
 * Use: ornic_pbl_init(); ornic_pbl_add() npages times; ornic_pbl_describe() into the command;
 * command; ornic_pbl_free().
 */
struct ornic_pbl {
	struct ornic_core *core;
	u32 npages;
	u32 filled;
	u8 page_shift;
	u8 levels;
	dma_addr_t first;
	u32 nblocks;
	struct ornic_qbuf *blocks;
	struct ornic_qbuf top;
};

int ornic_pbl_init(struct ornic_core *core, struct ornic_pbl *pbl, u32 npages, u8 page_shift);
void ornic_pbl_add(struct ornic_pbl *pbl, dma_addr_t page);
void ornic_pbl_describe(const struct ornic_pbl *pbl, struct ornic_qmem *mem);
void ornic_pbl_free(struct ornic_pbl *pbl);

/*
 * Next hops. A next hop follows its neighbour and its device's MTU by itself (netevents,
 * notifiers), live connections with it; they follow their routes to another next hop, too. One that
 * is not resolved yet is legal: what is sent waits until it is.
 */

/**
 * ornic_nexthop_get() - route to @remote and take the next hop, resolving it in the background
 * @core: the function
 * @net: network namespace of the connection
 * @local: local address, AF_INET or AF_INET6; port not looked at
 * @remote: remote address
 * @tos: type of service, for the route
 *
 * The route's device must be @core's netdev or a VLAN on it; @remote being one of their addresses
 * gives the loop entry.
 *
 * Context: Process context, may sleep.
 * Return: the next hop with one reference, or ERR_PTR: -ENETUNREACH, -EHOSTUNREACH,
 * -EADDRNOTAVAIL (@local is not an address of the device),
 *         -EAFNOSUPPORT, -ENOSPC, -ENODEV
 */
struct ornic_nexthop *ornic_nexthop_get(struct ornic_core *core, struct net *net,
					const struct sockaddr_storage *local,
					const struct sockaddr_storage *remote, u8 tos);
void ornic_nexthop_put(struct ornic_nexthop *nh);

/*
 * True when addr (any or an address of the netdev or a VLAN on it, in net) may be listened on or
 * connected from.
 */
bool ornic_addr_is_local(struct ornic_core *core, struct net *net,
			 const struct sockaddr_storage *addr);

/*
 * TCP connections. Events are delivered in order, on the function's one ordered WQ_MEM_RECLAIM
 * workqueue (process context, may
 * sleep, must not wait for another event). The event after which no other follows has type >=
 * ORNIC_TCP_TERMINAL.
 */

/**
 * typedef ornic_conn_event_fn - an event of a connection
 * @conn: connection
 * @teqe: the entry
 * @data: its teqe->data_len bytes, valid until return
 */
typedef void (*ornic_conn_event_fn)(struct ornic_conn *conn, const struct ornic_teqe *teqe,
				    const void *data);

/**
 * struct ornic_syn - a held SYN, given to the listener
 * @syn_id: for ornic_conn_accept() or ornic_syn_refuse()
 * @local: address and port that it was sent to
 * @remote: address and port that it came from
 * @frame: the frame from its Ethernet header on, valid until return of the callback
 * @frame_len: bytes
 * @vlan_tci: VLAN tag, 0 without
 * @tos: IP type of service
 * @looped: a connection of this RNIC has sent it
 */
struct ornic_syn {
	u32 syn_id;
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	const void *frame;
	u16 frame_len;
	u16 vlan_tci;
	u8 tos;
	bool looped;
};

/*
 * A SYN came for a listener. The callee answers it, now or later, by accept or refuse. Same
 * context as events.
 */
typedef void (*ornic_conn_req_fn)(struct ornic_listen *listen, void *ctx,
				  const struct ornic_syn *syn);

/**
 * struct ornic_listen_params - see struct ornic_cmd_listen
 */
struct ornic_listen_params {
	struct sockaddr_storage local;
	u32 backlog;
	ornic_conn_req_fn conn_req;
	void *ctx;
};

struct ornic_listen *ornic_listen_start(struct ornic_core *core,
					const struct ornic_listen_params *params);
/*
 * When it returns, conn_req is not running and will not run. Must not be called from conn_req. May
 * sleep.
 */
void ornic_listen_stop(struct ornic_listen *listen);

struct ornic_conn *ornic_conn_alloc(struct ornic_core *core, ornic_conn_event_fn event, void *ctx);
void *ornic_conn_ctx(struct ornic_conn *conn);
u32 ornic_conn_id(struct ornic_conn *conn);

/**
 * struct ornic_tcp_params - options of a connection, CPU byte order; see struct ornic_tcp_opts
 */
struct ornic_tcp_params {
	u16 options;
	u16 mss;
	u32 window;
	u8 dscp;
	u8 ttl;
	u8 syn_retries;
	u8 keep_count;
	u16 keep_idle;
	u16 keep_intvl;
	u32 rtx_timeout;
};

/*
 * All may sleep. 0: accepted, outcomes are events. Negative: nothing happened, no event follows
 * from this call.
 * open and accept keep their own reference to nh until ornic_conn_free().
 */
int ornic_conn_open(struct ornic_conn *conn, const struct sockaddr_storage *local,
		    const struct sockaddr_storage *remote, struct ornic_nexthop *nh,
		    const struct ornic_tcp_params *params);
int ornic_conn_accept(struct ornic_conn *conn, const struct ornic_syn *syn,
		      struct ornic_nexthop *nh, const struct ornic_tcp_params *params);
int ornic_syn_refuse(struct ornic_core *core, u32 syn_id, enum ornic_refuse how);
int ornic_conn_send(struct ornic_conn *conn, const void *data, u32 len);
int ornic_conn_rx_done(struct ornic_conn *conn, u64 offset);

/**
 * struct ornic_rdma_params - see struct ornic_cmd_mode_rdma
 */
struct ornic_rdma_params {
	u32 qpn;
	enum ornic_role role;
	enum ornic_rtr rtr;
	u16 flags;
	u16 ird;
	u16 ord;
	u64 rx_offset;
	const void *data;
	u32 data_len;
};

int ornic_conn_mode_rdma(struct ornic_conn *conn, const struct ornic_rdma_params *params);
int ornic_conn_close(struct ornic_conn *conn);
int ornic_conn_abort(struct ornic_conn *conn);
int ornic_conn_update(struct ornic_conn *conn, struct ornic_nexthop *nh, int dscp);
int ornic_conn_terminate(struct ornic_conn *conn, u8 layer, u8 etype, u8 code, u8 flags);
int ornic_conn_query(struct ornic_conn *conn, struct ornic_conn_attr *attr);
void ornic_conn_sync(struct ornic_core *core);
/*
 * Ends the connection (silently aborting it if need be) and frees it. When it returns, the event
 * function is not running, unless the
 * caller is it, and will not run. May be called from the event function and from any process
 * context. May sleep.
 */
void ornic_conn_free(struct ornic_conn *conn);

#endif /* _LINUX_ORNIC_H */
