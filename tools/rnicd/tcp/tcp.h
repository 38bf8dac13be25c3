/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The RNIC's TCP engine: a library without I/O, globals or clock of its own.
 *
 * Frames go in with tcp_input(), come out through ops->xmit(). Time and randomness come from ops.
 * All calls are made from one thread.
 *
 * Re-entry: every op may call any function of this header but tcp_engine_free(), tcp_input() and
 * tcp_engine_run(), but for gather(), room() and xmit(): they may call none but the const getters.
 * tcp_conn_free() inside an op is allowed; the pointer must not be used by the caller any more
 * after it. Output that is queued inside an op leaves before the outermost engine call returns.
 */
#ifndef RNICD_TCP_TCP_H
#define RNICD_TCP_TCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct tcp_engine;
struct tcp_conn;

#define TCP_NS_PER_MS	1000000ull
#define TCP_NS_PER_S	1000000000ull
#define TCP_NO_DEADLINE UINT64_MAX
#define TCP_VLAN_NONE	0xffffu
#define TCP_VLAN_ANY	0xfffeu

/* ---------------------------------------------------------------- addresses */

enum ip_family {
	IP_V4 = 4,
	IP_V6 = 6,
};

/**
 * struct ip_addr - an IP address of either family
 * @b: network byte order; IPv4 uses b[0..3] and leaves the rest zero
 * @family: enum ip_family
 */
struct ip_addr {
	uint8_t b[16];
	uint8_t family;
};

/**
 * struct tcp_tuple - a connection's 4-tuple, seen from the RNIC
 * @local: the RNIC's address
 * @remote: the peer's address
 * @lport: local port, host byte order
 * @rport: remote port, host byte order
 * @scope: VLAN id of the link when an address is link-local (RFC 4007), else 0. The engine's own:
 *	it follows from the next hop of an OPEN and from the frame of a SYN.
 */
struct tcp_tuple {
	struct ip_addr local;
	struct ip_addr remote;
	uint16_t lport;
	uint16_t rport;
	uint16_t scope;
};

static inline struct ip_addr ip_addr_v4(const void *net_order_4_bytes)
{
	struct ip_addr a = {.family = IP_V4};

	__builtin_memcpy(a.b, net_order_4_bytes, 4);
	return a;
}

static inline struct ip_addr ip_addr_v6(const void *net_order_16_bytes)
{
	struct ip_addr a = {.family = IP_V6};

	__builtin_memcpy(a.b, net_order_16_bytes, 16);
	return a;
}

/**
 * ip_addr_unicast - may a connection have this address at either end? RFC 9293 3.9.2.3 (MUST-46,
 * 57, 63): not broadcast, multicast or none; nor an IPv4 address in IPv6 clothes (RFC 4291
 * 2.5.5.2), which is none on a wire.
 */
bool ip_addr_unicast(const struct ip_addr *addr);

/* ---------------------------------------------------------------- events */

/**
 * enum tcp_event - what happened to a connection
 *
 * The first three come at most once each and end nothing. Exactly one of the others is delivered
 * for each connection that was opened or accepted and not freed before; after it the engine calls
 * no op for the connection any more, and holds no reference to memory described by its records.
 *
 * @TCP_EV_ESTABLISHED: handshake complete
 * @TCP_EV_PEER_FIN: peer's FIN reached, after all its data went through rx()
 * @TCP_EV_FIN_ACKED: our FIN is acknowledged, thus all data before it
 * @TCP_EV_CLOSED: both directions closed (entered TIME_WAIT or left LAST_ACK)
 * @TCP_EV_REFUSED: RST in answer to our SYN
 * @TCP_EV_PEER_RST: RST on a connection past SYN_SENT
 * @TCP_EV_ABORTED: ended from this side; info is enum tcp_abort_reason
 * @TCP_EV_TIMEOUT: gave up; info is enum tcp_timer_kind
 * @TCP_EV_UNREACH: ICMP or ICMPv6 error during the handshake: a hard one at once, a soft one when
 *	the handshake times out; info is type << 8 | code
 */
enum tcp_event {
	TCP_EV_ESTABLISHED,
	TCP_EV_PEER_FIN,
	TCP_EV_FIN_ACKED,
	TCP_EV_CLOSED,
	TCP_EV_REFUSED,
	TCP_EV_PEER_RST,
	TCP_EV_ABORTED,
	TCP_EV_TIMEOUT,
	TCP_EV_UNREACH,
};

static inline bool tcp_event_terminal(enum tcp_event ev)
{
	return ev >= TCP_EV_CLOSED;
}

enum tcp_timer_kind {
	TCP_TIMEOUT_SYN,
	TCP_TIMEOUT_RTX,
	TCP_TIMEOUT_KEEPALIVE,
	TCP_TIMEOUT_PERSIST,
	TCP_TIMEOUT_FINWAIT,
};

enum tcp_abort_reason {
	TCP_ABORT_LOCAL, /* tcp_abort() */
	TCP_ABORT_GATHER, /* gather() failed: the record's memory is gone */
};

enum tcp_state {
	TCPS_CLOSED,
	TCPS_SYN_SENT,
	TCPS_SYN_RCVD,
	TCPS_ESTABLISHED,
	TCPS_FIN_WAIT_1,
	TCPS_FIN_WAIT_2,
	TCPS_CLOSE_WAIT,
	TCPS_CLOSING,
	TCPS_LAST_ACK,
	TCPS_TIME_WAIT, /* only a stub is left: no struct tcp_conn is in this state */
};

const char *tcp_state_name(enum tcp_state state);
const char *tcp_event_name(enum tcp_event ev);

/* ---------------------------------------------------------------- operations */

/* tcp_input() csum_flags and to_host() */
#define TCP_CSUM_VALID	 0x1u /* the TCP checksum was verified, or cannot be wrong (loop) */
#define TCP_CSUM_PARTIAL 0x2u /* the field holds only the pseudo header's sum (virtio) */

/* struct tcp_tx_meta flags */
#define TCP_TX_CSUM_PARTIAL 0x1u /* checksum field holds the pseudo header's sum: finish it */
#define TCP_TX_GSO	    0x2u /* cut into segments of gso_size bytes of payload */
#define TCP_TX_IPV6	    0x4u /* IPv6 */

/**
 * struct tcp_tx_meta - what a wire with offloads needs to know of an outgoing frame
 * @flags: TCP_TX_*
 * @csum_start: offset of the TCP header in the frame
 * @csum_offset: offset of the checksum field in the TCP header
 * @hdr_len: Ethernet + IP + TCP headers, bytes
 * @gso_size: payload bytes per segment when TCP_TX_GSO
 * @len: whole frame, bytes
 */
struct tcp_tx_meta {
	uint32_t flags;
	uint16_t csum_start;
	uint16_t csum_offset;
	uint16_t hdr_len;
	uint16_t gso_size;
	uint32_t len;
};

/**
 * struct tcp_record - one unit that starts and ends with a TCP segment (an FPDU)
 * @cookie: caller's, handed back untouched
 * @len: bytes on the wire, 1..65535
 */
struct tcp_record {
	uint64_t cookie[2];
	uint32_t len;
};

/**
 * struct tcp_gather - where gather() puts the bytes of a record
 * @iov: fill up to @max entries, in order
 * @max: room in @iov (at least 24)
 * @cnt: out: entries used; their lengths must add up to the length asked for
 * @scratch: memory for generated bytes (headers, pad, CRC, or the whole); entries may point
 *	into it, where their bytes belong: byte n of the record's part at @scratch + n, since
 *	that may be the frame itself. Valid until the xmit() that follows has returned.
 * @scratch_len: size of @scratch: at least the length asked for
 * @summed: out, optional: @sum is known
 * @sum: out: their Internet checksum before the complement, in memory's order of bytes
 */
struct tcp_gather {
	struct iovec *iov;
	unsigned int max;
	unsigned int cnt;
	uint8_t *scratch;
	size_t scratch_len;
	bool summed;
	uint16_t sum;
};

/**
 * struct tcp_syn_info - a held SYN, parsed
 * @tuple: local = destination of the SYN
 * @vlan: VLAN id of the frame or TCP_VLAN_NONE
 * @mss: peer's MSS option, or 536 (IPv6: 1220)
 * @wscale: peer's shift, or -1 when not offered
 * @timestamps: peer offers RFC 7323 timestamps
 * @sack: peer permits SACK
 * @looped: a connection of this engine sent it, through a loop entry
 */
struct tcp_syn_info {
	struct tcp_tuple tuple;
	uint16_t vlan;
	uint16_t mss;
	int8_t wscale;
	bool timestamps;
	bool sack;
	bool looped;
};

/**
 * struct tcp_engine_ops - what the engine calls
 * @now: monotonic time, ns; never 0
 * @random32: uniformly distributed 32 bits (keys, clock offsets)
 * @xmit: send one Ethernet frame, gathered from @iov; all bytes must be copied or sent before it
 *	returns. 0; -EAGAIN: no room, the engine makes the frame anew after tcp_tx_ready(); any
 *	other error: the frame counts as lost on the wire.
 * @room: optional: where a frame of @len bytes that the next xmit() gets may be made, so that
 *	entries of @iov that lie where they belong need no copy; NULL: nowhere. Without an xmit()
 *	it is forgotten.
 * @to_host: a frame for the host's Ethernet ring after all (TO_HOST answer, or looped)
 * @conn_req: a new SYN for @listener is held as @syn_id; @frame is the SYN without payload. false:
 *	no room for the event, the SYN is forgotten (the peer retransmits it)
 * @event: see enum tcp_event
 * @rx: in-order bytes; returns how many of them were taken, 0..len. If fewer, the rest is kept (and
 *	takes up receive window) until tcp_rx_resume()
 * @gather: make bytes [@off, @off + @len) of a queued record, for transmission or retransmission:
 *	the same bytes each time. Negative errno: the connection is aborted (TCP_ABORT_GATHER)
 * @pull: there is room to send: tcp_record_room() (or tcp_send_room()) says how much. Called after
 *	tcp_pull() found none, or queueing returned -ENOBUFS, once there is some again.
 *	Calls tcp_pull() or queues until -ENOBUFS if it has more than the room allows.
 * @record_acked: the peer acknowledged the record's last byte; in queueing order
 */
struct tcp_engine_ops {
	uint64_t (*now)(void *ctx);
	uint32_t (*random32)(void *ctx);
	int (*xmit)(void *ctx, const struct iovec *iov, int cnt, const struct tcp_tx_meta *meta);
	uint8_t *(*room)(void *ctx, size_t len);
	void (*to_host)(void *ctx, const void *frame, size_t len, unsigned int csum_flags);
	bool (*conn_req)(void *ctx, uint32_t listener, uint32_t syn_id, const void *frame,
			 size_t len, const struct tcp_syn_info *info);
	void (*event)(void *ctx, struct tcp_conn *conn, enum tcp_event ev, uint32_t info);
	size_t (*rx)(void *ctx, struct tcp_conn *conn, const void *data, size_t len);
	int (*gather)(void *ctx, struct tcp_conn *conn, const struct tcp_record *record,
		      uint32_t off, uint32_t len, struct tcp_gather *g);
	void (*pull)(void *ctx, struct tcp_conn *conn);
	void (*record_acked)(void *ctx, struct tcp_conn *conn, const struct tcp_record *record);
};

/* ---------------------------------------------------------------- engine */

/* struct tcp_engine_config tx_flags: what ops->xmit() can finish */
#define TCP_CFG_TX_CSUM 0x1u /* TCP_TX_CSUM_PARTIAL allowed */
#define TCP_CFG_TX_GSO	0x2u /* TCP_TX_GSO allowed (implies TCP_CFG_TX_CSUM) */

/**
 * struct tcp_engine_config - sizes and limits; a zero field takes the default
 * @max_conns: connection ids are 0..max_conns - 1 (default 4096)
 * @max_listeners: (256)
 * @max_nexthops: next-hop indexes are 0..max_nexthops - 1 (1024)
 * @max_syns: held SYNs, all listeners together (1024)
 * @max_timewait: TIME_WAIT stubs; the oldest goes first beyond (8192)
 * @stream_buf: bytes of stream data queued per connection, rounded up to a power of two (65536)
 * @max_segs: segments or records queued per connection, power of two (1024)
 * @reass_bytes: out-of-order and held bytes of all connections together (64 MiB)
 * @loop_bytes: frames under way to the RNIC itself (1 MiB)
 * @timewait_ns: 2 MSL (60 s)
 * @syn_hold_ns: how long a SYN waits for its answer (30 s)
 * @min_rto_ns: (200 ms)
 * @max_rto_ns: (60 s)
 * @challenge_per_s: challenge ACKs per second, RFC 5961 section 7 (1000)
 * @gso_max: largest payload of a GSO frame, bytes (65000 less headers)
 * @tx_flags: TCP_CFG_TX_*
 */
struct tcp_engine_config {
	uint32_t max_conns;
	uint32_t max_listeners;
	uint32_t max_nexthops;
	uint32_t max_syns;
	uint32_t max_timewait;
	uint32_t stream_buf;
	uint32_t max_segs;
	uint64_t reass_bytes;
	uint32_t loop_bytes;
	uint64_t timewait_ns;
	uint64_t syn_hold_ns;
	uint64_t min_rto_ns;
	uint64_t max_rto_ns;
	uint32_t challenge_per_s;
	uint32_t gso_max;
	uint32_t tx_flags;
};

/**
 * struct tcp_engine_stats - counters since tcp_engine_new(), all connections together
 */
struct tcp_engine_stats {
	uint64_t frames_in; /* given to tcp_input() */
	uint64_t frames_to_host;
	uint64_t segs_in; /* segments of own connections, listeners and stubs */
	uint64_t segs_out; /* frames sent, all kinds */
	uint64_t bytes_in; /* in-order payload delivered or held */
	uint64_t bytes_out; /* payload sent, retransmissions included */
	uint64_t rtx_segs;
	uint64_t rtx_fast; /* recoveries entered by duplicate ACKs or SACK */
	uint64_t rtx_timeouts;
	uint64_t rtx_probes; /* tail loss probes */
	uint64_t rtx_spurious; /* time-outs or recoveries undone */
	uint64_t dup_acks_in;
	uint64_t ooo_in; /* segments held out of order */
	uint64_t dup_in; /* segments with nothing new */
	uint64_t bad_csum; /* IP or TCP checksum wrong */
	uint64_t bad_header; /* lengths or options that contradict each other */
	uint64_t bad_seq; /* outside the window */
	uint64_t bad_ack; /* RFC 5961 section 5 */
	uint64_t no_ack; /* segment without ACK bit in a synchronized state */
	uint64_t paws; /* RFC 7323 section 5 */
	uint64_t fragments; /* IP fragments of offloaded flows, dropped */
	uint64_t challenge_acks;
	uint64_t challenge_limited; /* not sent because of the rate limit */
	uint64_t rst_in;
	uint64_t rst_out;
	uint64_t reass_limit; /* dropped: out-of-order memory or interval limit */
	uint64_t syns_held;
	uint64_t syns_limit; /* dropped: listener backlog or table full */
	uint64_t syns_event_full; /* conn_req() returned false */
	uint64_t syns_expired;
	uint64_t syns_dup; /* duplicates of a held SYN */
	uint64_t loop_full; /* looped frames put off */
	uint64_t tx_blocked; /* xmit() returned -EAGAIN */
	uint64_t tx_error; /* xmit() failed otherwise */
	uint64_t timewait_evicted;
	uint64_t icmp_in; /* ICMP errors that quote an own connection */
	uint64_t pmtu_holes; /* paths found to drop large packets without ICMP */
	uint64_t opens_active;
	uint64_t opens_passive;
	uint64_t established;
	uint64_t keepalives;
	uint64_t persists;
};

struct tcp_engine *tcp_engine_new(const struct tcp_engine_config *config,
				  const struct tcp_engine_ops *ops, void *ctx);

/**
 * tcp_engine_free - drop everything at once; no op but none is called, no RST is sent
 */
void tcp_engine_free(struct tcp_engine *engine);

/**
 * tcp_engine_run - run all timers due at @now_ns, and whatever is left of looped frames and output
 *
 * Call after each batch of tcp_input() and when tcp_engine_deadline() is reached.
 */
void tcp_engine_run(struct tcp_engine *engine, uint64_t now_ns);

/**
 * tcp_engine_deadline - when tcp_engine_run() is next needed
 *
 * Return: absolute ns (may be in the past: call it now), or TCP_NO_DEADLINE.
 */
uint64_t tcp_engine_deadline(const struct tcp_engine *engine);

const struct tcp_engine_stats *tcp_engine_stats(const struct tcp_engine *engine);

enum tcp_verdict {
	TCP_CONSUMED, /* an offloaded flow's, or dropped: the host must not see it */
	TCP_TO_HOST, /* not the engine's */
};

/**
 * tcp_input - a frame from the wire
 * @frame: Ethernet frame without FCS; 802.1Q tag allowed
 * @len: bytes, may be longer than the IP packet (padding) and up to 64 KiB + headers (GRO, tap)
 * @csum_flags: TCP_CSUM_*
 *
 * The caller has checked that the destination MAC is the port's.
 */
enum tcp_verdict tcp_input(struct tcp_engine *engine, uint64_t now_ns, const void *frame,
			   size_t len, unsigned int csum_flags);

/**
 * tcp_batch_begin - frames of one burst follow: their ACKs, and what rx() makes the caller send,
 * leave at tcp_batch_end(). One ACK then answers many segments, as with Linux' GRO; segments out
 * of order are still answered one by one (RFC 5681 4.2). Quiet inside a batch.
 */
void tcp_batch_begin(struct tcp_engine *engine, uint64_t now_ns);
/* Quiet outside a batch. */
void tcp_batch_end(struct tcp_engine *engine);

/**
 * tcp_tx_ready - xmit() has room again after -EAGAIN
 */
void tcp_tx_ready(struct tcp_engine *engine);

/* ---------------------------------------------------------------- next hops */

#define TCP_NH_LOOP   0x1u /* one of the RNIC's own addresses: frames go back in, not to the wire */
#define TCP_NH_DEAD   0x2u /* no neighbour at present: what is sent is lost, timers run on */
#define TCP_NH_FAILED 0x4u /* nobody answers there; with DEAD */

/**
 * struct tcp_nexthop - link layer of a destination
 * @vlan: VLAN tag control information (id and priority), or TCP_VLAN_NONE
 * @mtu: IP packet bytes, 68..65535; IPv6 connections take less than 1280 as 1280
 * @flags: TCP_NH_*
 */
struct tcp_nexthop {
	uint8_t dmac[6];
	uint8_t smac[6];
	uint16_t vlan;
	uint16_t mtu;
	uint32_t flags;
};

/**
 * tcp_nexthop_set - define or change an entry; its live connections follow at once
 *
 * When there is a way again, what is unacknowledged goes out at once. TCP_NH_FAILED ends
 * connections in SYN-SENT with TCP_EV_UNREACH.
 *
 * Return: 0, -EINVAL (index, MTU).
 */
int tcp_nexthop_set(struct tcp_engine *engine, uint32_t idx, const struct tcp_nexthop *nh);

/**
 * tcp_nexthop_clear - connections that use it send nothing until it is set again or updated away;
 * their timers run on, so they time out like on a dead link
 */
int tcp_nexthop_clear(struct tcp_engine *engine, uint32_t idx);

/* ---------------------------------------------------------------- connections */

#define TCP_SYN_NO_RETRY 255u

/**
 * struct tcp_opts - a connection's options, at OPEN or ACCEPT; a zero field takes the default
 * @mss: upper limit for the MSS announced and used; 0: from the next hop's MTU
 * @rcv_wnd: receive window, bytes, up to 1 GiB (262144); without window scaling 65535 at most
 *	is announced
 * @wscale: offer (or accept) window scaling
 * @rcv_shift: shift to announce 0..14; the smallest that fits rcv_wnd is used if this is less
 * @timestamps: offer (or accept) RFC 7323 timestamps
 * @sack: offer (or accept) RFC 2018 SACK
 * @nodelay: no Nagle (records are never delayed)
 * @keepalive: send keep-alives
 * @keep_idle_ms: (7200000)
 * @keep_intvl_ms: (75000)
 * @keep_count: unanswered probes before TCP_TIMEOUT_KEEPALIVE (9)
 * @dscp: 0..63
 * @ttl: (64)
 * @syn_retries: retransmissions of SYN or SYN-ACK (6); TCP_SYN_NO_RETRY: none
 * @rtx_retries: retransmissions of data before TCP_TIMEOUT_RTX (15)
 * @rtx_timeout_ms: give up after that time without progress too; 0: count only
 * @finwait_ms: time in FIN_WAIT_2 before TCP_TIMEOUT_FINWAIT (60000); UINT32_MAX: for ever
 */
struct tcp_opts {
	uint16_t mss;
	uint32_t rcv_wnd;
	bool wscale;
	uint8_t rcv_shift;
	bool timestamps;
	bool sack;
	bool nodelay;
	bool keepalive;
	uint32_t keep_idle_ms;
	uint32_t keep_intvl_ms;
	uint8_t keep_count;
	uint8_t dscp;
	uint8_t ttl;
	uint8_t syn_retries;
	uint8_t rtx_retries;
	uint32_t rtx_timeout_ms;
	uint32_t finwait_ms;
};

/**
 * struct tcp_open_params - an active open
 * @id: the caller's connection id, free, below max_conns
 * @nexthop: index of a defined next-hop entry
 * @user: what tcp_conn_user() returns
 */
struct tcp_open_params {
	uint32_t id;
	struct tcp_tuple tuple;
	uint32_t nexthop;
	struct tcp_opts opts;
	void *user;
};

/**
 * tcp_open - send a SYN; the outcome is an event
 *
 * A tuple in TIME_WAIT may be opened again (RFC 9293 3.6.1, RFC 6191).
 * Return: 0; -EINVAL (id, port 0, address not unicast, next hop, option out of range),
 * -EAFNOSUPPORT, -EEXIST (id in use), -EADDRINUSE (tuple in use), -ENOMEM. No event follows an
 * error.
 */
int tcp_open(struct tcp_engine *engine, const struct tcp_open_params *params);

/**
 * tcp_listen - take SYNs to @addr and @port from the host
 * @id: the caller's listener id, below max_listeners
 * @addr: local address; all zero: any of its family
 * @vlan: VLAN id, TCP_VLAN_NONE (untagged only) or TCP_VLAN_ANY
 * @backlog: held SYNs at a time, at least 1
 *
 * Return: 0; -EINVAL, -EAFNOSUPPORT, -EEXIST (id), -EADDRINUSE (same address, port and VLAN).
 */
int tcp_listen(struct tcp_engine *engine, uint32_t id, const struct ip_addr *addr, uint16_t port,
	       uint16_t vlan, uint32_t backlog);

/**
 * tcp_unlisten - stop; its held SYNs are refused by RST, their ids answer -ENOENT from now on.
 * Connections already accepted are not touched.
 *
 * Return: 0 or -ENOENT.
 */
int tcp_unlisten(struct tcp_engine *engine, uint32_t id);

/**
 * tcp_accept - answer a held SYN with SYN-ACK; ESTABLISHED or a terminal event follows
 *
 * Return: 0; -ENOENT (no such SYN any more: timed out, listener gone, answered), -EINVAL, -EEXIST,
 * -EADDRINUSE, -ENOMEM. But for -ENOENT the SYN stays held after an error.
 */
int tcp_accept(struct tcp_engine *engine, uint32_t syn_id, uint32_t conn_id, uint32_t nexthop,
	       const struct tcp_opts *opts, void *user);

enum tcp_refuse_how {
	TCP_REFUSE_RST,
	TCP_REFUSE_SILENT,
	TCP_REFUSE_TO_HOST, /* through ops->to_host() */
};

/**
 * tcp_refuse - do away with a held SYN. The RST goes back to the frame's source MAC.
 *
 * Return: 0, -ENOENT or -EINVAL.
 */
int tcp_refuse(struct tcp_engine *engine, uint32_t syn_id, enum tcp_refuse_how how);

/**
 * tcp_conn_find - connection by id, NULL if there is none
 */
struct tcp_conn *tcp_conn_find(struct tcp_engine *engine, uint32_t id);
uint32_t tcp_conn_id(const struct tcp_conn *conn);
void *tcp_conn_user(const struct tcp_conn *conn);
void tcp_conn_set_user(struct tcp_conn *conn, void *user);
enum tcp_state tcp_conn_state(const struct tcp_conn *conn);
const struct tcp_tuple *tcp_conn_tuple(const struct tcp_conn *conn);

/* ---------------------------------------------------------------- sending */

/**
 * tcp_send - queue stream bytes (copied)
 *
 * All or nothing. Allowed from SYN_SENT or SYN_RCVD on, until tcp_close(), and until the first
 * record is queued.
 * Return: 0; -ENOBUFS (see tcp_send_room(); pull() follows), -EPIPE (closed, or terminal),
 * -EBUSY (records are queued already), -EMSGSIZE (larger than the buffer ever is).
 */
int tcp_send(struct tcp_conn *conn, const void *data, size_t len);

/**
 * tcp_send_room - stream bytes that tcp_send() takes now
 */
size_t tcp_send_room(const struct tcp_conn *conn);

/* tcp_send_record() flags */
#define TCP_REC_PUSH 0x1u /* end of a message: PSH, the peer acknowledges at once */

/**
 * tcp_send_record - queue one record behind all that was queued before
 *
 * The record is a TCP segment of its own. It is cut only when it is longer than tcp_emss() (the MSS
 * shrank), longer than the peer's whole window, or for a window probe.
 * Return: 0; -ENOBUFS (segment ring full; pull() follows), -EPIPE, -EINVAL (length).
 */
int tcp_send_record(struct tcp_conn *conn, const struct tcp_record *record, unsigned int flags);

/**
 * struct tcp_room - what can leave now
 * @bytes: payload that congestion window, peer's window and ring allow beyond what is queued
 * @records: free segment descriptors
 */
struct tcp_room {
	uint32_t bytes;
	uint32_t records;
};

/**
 * tcp_record_room - how much to queue now
 *
 * Both zero: queue nothing and wait for pull() (call tcp_pull() to ask for it). A last record that
 * is longer than the bytes left may be queued all the same.
 */
struct tcp_room tcp_record_room(const struct tcp_conn *conn);

/**
 * tcp_pull - the caller has data to send: pull() is called now if there is room, else as soon as
 * there is
 */
void tcp_pull(struct tcp_conn *conn);

/**
 * tcp_emss - payload bytes of a full segment now (effective send MSS less options, RFC 9293 3.7.1)
 */
uint32_t tcp_emss(const struct tcp_conn *conn);

/* ---------------------------------------------------------------- receiving and the rest */

/**
 * tcp_rx_resume - offer again what rx() left over
 */
void tcp_rx_resume(struct tcp_conn *conn);

/**
 * tcp_close - FIN after all that is queued. A second call is a quiet success.
 *
 * In SYN_SENT the connection is aborted instead (event ABORTED, no RST is due).
 * Return: 0 or -EPIPE (already terminal).
 */
int tcp_close(struct tcp_conn *conn);

/**
 * tcp_abort - RST; event ABORTED is delivered before it returns
 *
 * Return: 0 or -EPIPE (already terminal).
 */
int tcp_abort(struct tcp_conn *conn);

/**
 * tcp_conn_free - give the id back. A live connection is reset without an event.
 */
void tcp_conn_free(struct tcp_conn *conn);

/**
 * tcp_update - change next hop and DSCP of a live connection
 *
 * Return: 0, -EINVAL or -EPIPE.
 */
int tcp_update(struct tcp_conn *conn, uint32_t nexthop, uint8_t dscp);

/**
 * struct tcp_conn_stats - one connection's counters
 */
struct tcp_conn_stats {
	uint64_t segs_in;
	uint64_t segs_out;
	uint64_t bytes_in;
	uint64_t bytes_out;
	uint64_t bytes_acked;
	uint64_t rtx_segs;
	uint64_t rtx_timeouts;
	uint64_t rtx_fast;
	uint64_t dup_acks_in;
	uint64_t ooo_in;
	uint64_t acks_out; /* segments without payload, SYN, FIN or RST */
};

/**
 * struct tcp_conn_info - snapshot for a state dump
 */
struct tcp_conn_info {
	uint32_t id;
	enum tcp_state state;
	bool terminal; /* a terminal event was delivered */
	struct tcp_tuple tuple;
	uint32_t nexthop;
	uint32_t snd_una, snd_nxt, snd_wnd, snd_cwnd, snd_ssthresh;
	uint32_t rcv_nxt, rcv_wnd;
	uint32_t emss;
	uint16_t my_mss; /* announced */
	uint32_t queued; /* bytes accepted from the caller and not acknowledged */
	uint32_t held; /* received bytes held (out of order or left over) */
	uint8_t snd_shift, rcv_shift;
	bool timestamps, sack;
	uint64_t srtt_ns, rto_ns;
	struct tcp_conn_stats stats;
};

void tcp_conn_info(const struct tcp_conn *conn, struct tcp_conn_info *info);

/**
 * tcp_conn_each - call @fn for every connection, also terminal ones that were not freed
 */
void tcp_conn_each(struct tcp_engine *engine, void (*fn)(void *arg, struct tcp_conn *conn),
		   void *arg);

#endif /* RNICD_TCP_TCP_H */
