/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside of the TCP engine. Nothing outside this folder includes it (but its unit tests).
 */
#ifndef RNICD_TCP_INTERNAL_H
#define RNICD_TCP_INTERNAL_H

#include <errno.h>
#include <string.h>

#include "sum.h"
#include "tcp.h"

/* ---------------------------------------------------------------- constants */

#define TH_FIN 0x01
#define TH_SYN 0x02
#define TH_RST 0x04
#define TH_PSH 0x08
#define TH_ACK 0x10
#define TH_URG 0x20

#define ETH_HLEN_     14u
#define VLAN_HLEN_    4u
#define IP4_HLEN_     20u
#define IP6_HLEN_     40u
#define TCP_HLEN_     20u
#define TCP_TS_LEN    12u /* NOP NOP TS */
#define FRAME_HDR_MAX (ETH_HLEN_ + VLAN_HLEN_ + IP6_HLEN_ + 60u)

#define TMPL_MAX (ETH_HLEN_ + VLAN_HLEN_ + IP6_HLEN_ + TCP_HLEN_)

#define ETHERTYPE_IPV4_ 0x0800u
#define ETHERTYPE_IPV6_ 0x86ddu
#define ETHERTYPE_VLAN_ 0x8100u
#define IPPROTO_ICMP_	1u
#define IPPROTO_TCP_	6u
#define IPPROTO_ICMP6_	58u

#define MSS_DEFAULT  536u /* RFC 9293 3.7.1 */
#define MSS_DEFAULT6 1220u
#define MSS_MIN	     64u /* below that a hostile MSS costs more headers than data */
#define PMTU_MIN     552u /* lowest MTU believed from ICMP */
#define PMTU_MIN6    1280u /* RFC 8201 4: less is no path of IPv6 */
#define SACK_MAX     4u
#define DUPTHRESH    3u
#define IW_SEGS	     10u /* RFC 6928 */
#define MAX_WSCALE   14u

#define RTO_INIT	   TCP_NS_PER_S /* RFC 6298 2.1 */
#define RTO_AFTER_SYN_LOSS (3 * TCP_NS_PER_S) /* RFC 6298 5.7 */
#define DELACK_NS	   (40 * TCP_NS_PER_MS)
#define PTO_MIN_NS	   (2 * TCP_NS_PER_MS)
#define REO_MIN_NS	   100000ull /* no shorter reordering timer than this */
#define PAWS_IDLE_NS	   (24ull * 86400 * TCP_NS_PER_S) /* RFC 7323 5.5 */
#define CHALLENGE_PER_CONN 16u /* per second */

#define REASS_SHIFT	14u /* out-of-order memory comes in chunks of 16 KiB */
#define REASS_CHUNK	(1u << REASS_SHIFT)
#define RING_FIRST	16u /* descriptors of a new connection; at most cfg.max_segs */
#define REASS_INTERVALS 64u

#define GATHER_IOV     24u
#define ENGINE_IOV     1024u
#define ENGINE_SCRATCH (160u * 1024)
#define LOOP_BUDGET    512u
#define SYN_FRAME_MAX  160u /* Ethernet + VLAN + longest IP and TCP headers */
#define HEAP_NONE      UINT32_MAX

static inline int32_t seq_diff(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b);
}

static inline bool seq_lt(uint32_t a, uint32_t b)
{
	return seq_diff(a, b) < 0;
}

static inline bool seq_le(uint32_t a, uint32_t b)
{
	return seq_diff(a, b) <= 0;
}

static inline bool seq_gt(uint32_t a, uint32_t b)
{
	return seq_diff(a, b) > 0;
}

static inline bool seq_ge(uint32_t a, uint32_t b)
{
	return seq_diff(a, b) >= 0;
}

static inline uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void put32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

/* ---------------------------------------------------------------- addresses */

bool ip_zero(const struct ip_addr *a);

static inline bool ip6_link_local(const struct ip_addr *a)
{
	return a->family == IP_V6 && a->b[0] == 0xfe && (a->b[1] & 0xc0) == 0x80;
}

/* @vlan: TCI or TCP_VLAN_NONE */
static inline uint16_t tuple_scope(const struct tcp_tuple *t, uint16_t vlan)
{
	if (vlan == TCP_VLAN_NONE || !(ip6_link_local(&t->local) || ip6_link_local(&t->remote)))
		return 0;
	return vlan & 0xfff;
}

static inline uint32_t ip_hlen(uint8_t family)
{
	return family == IP_V6 ? IP6_HLEN_ : IP4_HLEN_;
}

static inline uint16_t mss_default(uint8_t family)
{
	return family == IP_V6 ? MSS_DEFAULT6 : MSS_DEFAULT;
}

/* ---------------------------------------------------------------- lists */

struct list {
	struct list *next;
	struct list *prev;
};

static inline void list_init(struct list *l)
{
	l->next = l;
	l->prev = l;
}

static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

static inline void list_add_tail(struct list *head, struct list *l)
{
	l->prev = head->prev;
	l->next = head;
	head->prev->next = l;
	head->prev = l;
}

static inline void list_del(struct list *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
	list_init(l);
}

#define container_of_(ptr, type, member) \
	((type *)(void *)((char *)(ptr) + -(ptrdiff_t)offsetof(type, member)))

/* ---------------------------------------------------------------- demux */

/* A flow as words, so that comparing and hashing are cheap. IPv4 leaves w[2..4] zero. */
struct flow {
	uint64_t w[5];
};

enum flow_kind {
	FLOW_CONN,
	FLOW_TIMEWAIT,
	FLOW_SYN
};

struct flow_node {
	struct flow_node *next;
	struct flow flow;
	uint64_t hash;
	enum flow_kind kind;
};

struct sipkey {
	uint64_t k[2];
};

/* ---------------------------------------------------------------- incoming segment */

struct sack_block {
	uint32_t start;
	uint32_t end;
};

struct seg_in {
	const uint8_t *frame;
	size_t frame_len; /* as given, padding included */
	const uint8_t *l3; /* IP header */
	const uint8_t *l4; /* TCP header */
	uint32_t l4_len; /* TCP header + payload */
	const uint8_t *data;
	uint32_t len; /* payload */
	struct tcp_tuple tuple; /* local = destination */
	struct flow flow;
	uint64_t hash;
	uint32_t seq;
	uint32_t ack;
	uint32_t wnd; /* unscaled */
	uint32_t tsval;
	uint32_t tsecr;
	uint16_t vlan; /* TCI or TCP_VLAN_NONE */
	uint16_t mss;
	int8_t wscale;
	uint8_t flags;
	uint8_t nsack;
	bool sackok;
	bool ts;
	bool looped;
	bool fragment;
	unsigned int csum_flags;
	struct sack_block sack[SACK_MAX];
};

/* ---------------------------------------------------------------- sender's ring */

#define SEG_REC	   0x01u /* record: bytes come from gather() */
#define SEG_FIN	   0x02u /* the FIN: no payload, one sequence number */
#define SEG_PSH	   0x04u
#define SEG_SENT   0x08u /* at least once, at least in part */
#define SEG_SACKED 0x10u
#define SEG_LOST   0x20u /* to be retransmitted; not counted as in flight */
#define SEG_RETX   0x40u /* was retransmitted: no RTT sample (Karn) */

struct seg {
	uint64_t tx_ns; /* last transmission */
	uint32_t seq;
	uint32_t len; /* payload; the FIN has 0 */
	uint64_t cookie[2];
	uint32_t flags;
	uint32_t sent; /* payload bytes sent so far (first time) */
};

/* ---------------------------------------------------------------- connection */

struct interval {
	uint32_t start;
	uint32_t end;
	uint32_t stamp; /* recency, for the order of SACK blocks (RFC 2018 section 4) */
};

struct reass {
	uint8_t **chunk; /* one pointer per 16 KiB of window */
	uint32_t nchunks; /* power of two */
	uint32_t used; /* chunks allocated */
	uint32_t n;
	uint32_t stamp;
	uint32_t bytes; /* in the intervals */
	struct interval iv[REASS_INTERVALS];
};

enum tx_timer {
	TXT_NONE,
	TXT_SYN,
	TXT_RTO,
	TXT_PTO,
	TXT_REO,
	TXT_PERSIST
};

#define UNDO_RANGES 16u

/* Retransmissions since the last loss, as far as D-SACK has not reported them, see undo.c */
struct undo_dsack {
	bool on;
	bool reduced; /* cwnd has answered to the loss */
	bool path_dups; /* the path makes duplicates itself */
	uint32_t start; /* what lies before it was perhaps retransmitted before the loss */
	uint32_t n;
	uint64_t last_ns; /* the last of them */
	struct sack_block range[UNDO_RANGES];
};

enum timer_slot {
	TM_TX,
	TM_ACK,
	TM_KEEP,
	TM_SLOTS
};

enum ca_state {
	CA_OPEN,
	CA_RECOVERY,
	CA_LOSS
};

/* RFC 5682: waiting for the first ACK after a time-out, or for what two new segments bring back */
enum frto {
	FRTO_OFF,
	FRTO_FIRST_ACK,
	FRTO_DECIDE
};

/* A path that drops what is too big and does not say so, see pmtu.c */
enum pmtu_hole {
	HOLE_NONE,
	HOLE_SEARCH, /* segments are held to hole_mtu, which may get through */
	HOLE_DOUBT, /* hole_mtu gets through; since hole_ns full size is tried */
	HOLE_FOUND /* full size does not: held to hole_mtu until hole_ns */
};

struct rack {
	uint64_t xmit_ns; /* of the most recently sent segment that was delivered */
	uint32_t end_seq;
	uint64_t rtt_ns;
	uint64_t min_rtt_ns;
	uint32_t fack; /* highest sequence delivered */
	bool reordering_seen;
	uint32_t reo_mult;
	uint32_t reo_persist;
	uint32_t dsack_round;
	bool dsack_round_valid;
};

struct tcp_conn {
	/* what each segment touches first */
	struct flow_node node;
	struct tcp_engine *e;
	enum tcp_state state;
	bool terminal;
	bool freed; /* tcp_conn_free() was called; memory goes when the engine is left */
	bool passive;

	uint32_t snd_una;
	uint32_t snd_nxt; /* next to send; behind snd_max after a window probe was given up */
	uint32_t snd_max; /* highest sequence sent + 1 */
	uint32_t snd_wnd;
	uint32_t snd_wl1;
	uint32_t snd_wl2;
	uint32_t max_wnd; /* largest window the peer ever offered */
	uint32_t emss;
	uint8_t snd_shift;
	uint8_t rcv_shift;
	bool ts_on;
	bool sack_on;
	bool ws_on;

	uint32_t rcv_nxt;
	uint32_t rcv_wnd; /* configured */
	uint32_t rcv_adv; /* right edge announced */
	uint32_t held; /* in-order bytes before rcv_nxt that rx() left over */
	uint32_t rcv_mss; /* largest segment seen, for the ACK policy */
	uint32_t unacked; /* bytes received since the last ACK went out */
	uint32_t last_ack_sent; /* RFC 7323 Last.ACK.sent */
	bool ack_now;
	bool rx_busy; /* inside rx() */
	bool fin_seen; /* FIN arrived, at fin_seq */
	bool fin_done; /* rcv_nxt passed it */
	bool fin_event; /* PEER_FIN delivered */
	uint32_t fin_seq;
	uint32_t ts_recent;
	uint64_t ts_recent_ns;
	uint32_t ts_off;
	bool dsack_valid;
	struct sack_block dsack;
	struct reass reass;

	/* sender */
	struct seg *ring;
	uint32_t ring_mask;
	uint32_t done; /* oldest seg whose owner was not told yet */
	uint32_t head; /* oldest unacknowledged */
	uint32_t next; /* first not (wholly) sent */
	uint32_t tail;
	uint32_t rtx_hint; /* no LOST seg before it */
	uint32_t q_end; /* sequence after all that is queued */
	uint32_t sacked; /* bytes */
	uint32_t lost; /* bytes */
	uint32_t sacked_cnt; /* segments */
	uint32_t high_rxt; /* end of the highest retransmitted segment */
	uint8_t *sbuf;
	uint32_t sbuf_size;
	bool records; /* a record was queued: no stream bytes any more */
	bool fin_queued;
	bool fin_acked;
	bool want_pull;
	uint32_t persist_quiet; /* window probes sent since the peer last answered */

	/* congestion control and recovery */
	uint32_t iss;
	uint32_t irs;
	uint32_t cwnd;
	uint32_t ssthresh;
	uint32_t cwnd_acc; /* bytes acknowledged towards the next increase */
	uint32_t recover;
	uint32_t prr_flight; /* in flight when recovery began (RFC 9937); 0: cwnd is as it was */
	uint32_t prr_delivered; /* bytes since then */
	uint32_t prr_out; /* bytes sent since then */
	uint32_t dupacks;
	enum ca_state ca;
	bool cwnd_limited; /* cwnd was the limit for what went out up to cwl_end */
	uint32_t cwl_end;
	bool force_rtx; /* the first retransmission of a recovery does not wait for cwnd */
	bool tlp_out;
	bool tlp_retx; /* the probe was a retransmission */
	bool undo_valid;
	uint32_t tlp_end;
	uint32_t undo_cwnd;
	uint32_t undo_ssthresh;
	uint32_t undo_pipe; /* RFC 4015's pipe_prev */
	uint32_t undo_ts; /* timestamp of the first retransmission */
	uint32_t undo_seq; /* end of the first segment retransmitted */
	bool undo_armed; /* undo_ts and undo_seq are set */
	struct undo_dsack undo_dup;
	enum frto frto;
	uint32_t frto_new; /* new segments that FRTO_DECIDE may still send */
	uint64_t srtt;
	uint64_t rttvar;
	uint64_t rto;
	uint32_t backoff; /* doublings of the RTO */
	uint32_t retries; /* time-outs in a row */
	uint64_t first_rtx_ns; /* start of the run of time-outs */
	uint64_t last_tx_ns;
	uint64_t last_rx_ns;
	struct rack rack;

	/* timers */
	uint64_t due[TM_SLOTS]; /* TCP_NO_DEADLINE: off */
	enum tx_timer txt;
	uint32_t heap_pos;
	uint64_t heap_key; /* never later than the earliest of due[] */
	uint32_t keep_sent;
	uint32_t syn_sent; /* SYNs or SYN-ACKs sent */

	/* output */
	struct list pending;
	bool is_pending; /* on one of the engine's lists */
	bool blocked; /* that of those the wire had no room for */
	bool in_output; /* the pass is under way and sees what is queued meanwhile */
	uint8_t tmpl[TMPL_MAX];
	uint8_t tmpl_len; /* up to the end of the fixed TCP header */
	uint8_t ip_hlen;
	uint32_t ip_sum; /* of the template, length zero; IPv4 only */
	uint32_t tcp_sum; /* pseudo header's addresses and protocol, and ports */
	uint32_t nexthop;
	uint32_t pmtu; /* from ICMP; UINT32_MAX: none */
	uint64_t pmtu_until; /* when it is forgotten (RFC 1191 6.3) */
	enum pmtu_hole hole;
	uint32_t hole_mtu;
	uint64_t hole_ns;
	uint32_t soft_error; /* ICMP type << 8 | code of the handshake, 0: none */
	uint16_t peer_mss;
	uint16_t my_mss; /* announced */

	uint64_t challenge_ns;
	uint32_t challenges;

	uint32_t id;
	void *user;
	struct tcp_tuple tuple;
	struct tcp_opts opts;
	struct tcp_conn_stats stats;
	struct list zombie;
};

/* ---------------------------------------------------------------- stubs, listeners */

struct timewait {
	struct flow_node node;
	struct list fifo;
	uint64_t due;
	uint32_t snd_nxt;
	uint32_t rcv_nxt;
	uint32_t ts_recent;
	uint32_t ts_off;
	uint16_t wnd;
	bool ts_on;
};

struct listener {
	bool used;
	struct ip_addr addr;
	uint16_t port;
	uint16_t vlan;
	uint32_t backlog;
	uint32_t held;
	uint32_t id;
	struct listener *next; /* same bucket */
};

struct held_syn {
	struct flow_node node;
	struct list fifo; /* by age, or free list */
	bool used;
	uint16_t gen;
	uint16_t frame_len;
	bool cut; /* payload was left out of @frame */
	unsigned int csum_flags;
	uint64_t due;
	uint32_t seq;
	uint32_t wnd;
	uint32_t tsval;
	struct listener *listener;
	struct tcp_syn_info info;
	uint8_t frame[SYN_FRAME_MAX];
};

#define LISTEN_BUCKETS 256u

/* ---------------------------------------------------------------- engine */

struct nexthop_slot {
	bool valid;
	struct tcp_nexthop nh;
};

static inline bool nexthop_dead(const struct nexthop_slot *s)
{
	return !s->valid || s->nh.flags & TCP_NH_DEAD;
}

struct loop_queue {
	uint8_t *mem;
	uint32_t size;
	uint32_t rd;
	uint32_t wr;
	uint32_t used;
	uint32_t frames;
};

struct reass_pool {
	uint8_t **spare; /* free chunks */
	uint32_t nspare;
	uint32_t allocated;
	uint32_t limit;
};

struct tcp_engine {
	struct tcp_engine_config cfg;
	const struct tcp_engine_ops *ops;
	void *ctx;
	uint64_t now;
	uint32_t depth;
	bool tx_blocked;
	bool batch; /* between tcp_batch_begin() and _end() */
	bool urgent; /* something that was received wants its answer before the batch ends */
	struct tcp_engine_stats stats;

	struct sipkey flow_key;
	struct sipkey isn_key;
	struct flow_node **buckets;
	uint64_t bucket_mask;

	struct tcp_conn **conns; /* by id */
	struct tcp_conn **heap;
	uint32_t heap_len;
	uint32_t heap_cap;
	struct list pending;
	struct list blocked; /* waits for tcp_tx_ready() */
	struct list zombies;

	struct timewait *tw;
	struct list tw_fifo;
	struct list tw_free;

	struct listener *listeners;
	struct listener *listen_bucket[LISTEN_BUCKETS];
	struct held_syn *syns;
	struct list syn_fifo;
	struct list syn_free;

	struct nexthop_slot *nexthops;
	struct loop_queue loop;
	struct reass_pool pool;

	uint64_t challenge_ns;
	uint32_t challenges;
	uint32_t challenge_limit;

	struct iovec iov[ENGINE_IOV];
	bool summed; /* gather() of the frame under construction gave the sum of its payload */
	uint16_t payload_sum;
	uint8_t scratch[ENGINE_SCRATCH];
};

/* ---------------------------------------------------------------- hash.c */

uint64_t siphash_words(const struct sipkey *key, const uint64_t *w, unsigned int n);
void flow_from_tuple(struct flow *f, const struct tcp_tuple *t);
uint64_t flow_hash(const struct tcp_engine *e, const struct flow *f);
struct flow_node *flow_find(const struct tcp_engine *e, const struct flow *f, uint64_t hash);
void flow_insert(struct tcp_engine *e, struct flow_node *n, enum flow_kind kind,
		 const struct flow *f);
void flow_remove(struct tcp_engine *e, struct flow_node *n);

/* ---------------------------------------------------------------- frame.c */

enum parse_result {
	PARSE_TCP,
	PARSE_ICMP,
	PARSE_OTHER
};

uint32_t ip_addrs_sum(const uint8_t *ip, uint8_t family);
enum parse_result frame_parse(const struct tcp_engine *e, struct seg_in *s);
bool seg_parse_header(struct seg_in *s);
bool seg_checksum_ok(const struct seg_in *s);

/* ---------------------------------------------------------------- timer.c */

void tcp_timer_set(struct tcp_conn *c, enum timer_slot slot, uint64_t due);
void tcp_timer_clear(struct tcp_conn *c, enum timer_slot slot);
void tcp_timers_stop(struct tcp_conn *c);
void tcp_timers_run(struct tcp_engine *e);

static inline bool tcp_timer_on(const struct tcp_conn *c, enum timer_slot slot)
{
	return c->due[slot] != TCP_NO_DEADLINE;
}

/* ---------------------------------------------------------------- engine.c */

void engine_enter(struct tcp_engine *e);
void engine_leave(struct tcp_engine *e);
void tcp_conn_schedule(struct tcp_conn *c);
int engine_xmit(struct tcp_engine *e, const struct iovec *iov, int cnt,
		const struct tcp_tx_meta *meta, bool loop);
bool challenge_allowed(struct tcp_engine *e, struct tcp_conn *c);

/* ---------------------------------------------------------------- conn.c */

int tcp_opts_check(struct tcp_engine *e, struct tcp_opts *o, uint32_t nexthop);
struct tcp_conn *tcp_conn_new(struct tcp_engine *e, uint32_t id, const struct tcp_tuple *t,
			      const struct tcp_opts *opts, uint32_t nexthop, void *user);
void tcp_conn_unlink(struct tcp_conn *c);
void tcp_conn_destroy(struct tcp_conn *c);
uint32_t tcp_conn_mss(const struct tcp_conn *c, uint32_t path_mtu);
void tcp_conn_set_mss(struct tcp_conn *c);
void tcp_conn_established(struct tcp_conn *c);
void tcp_conn_terminal(struct tcp_conn *c, enum tcp_event ev, uint32_t info);
void tcp_conn_event(struct tcp_conn *c, enum tcp_event ev, uint32_t info);
void tcp_conn_close_progress(struct tcp_conn *c);
void tcp_conn_options(struct tcp_conn *c, const struct seg_in *s);
uint32_t tcp_conn_isn(struct tcp_engine *e, const struct flow *f);

/* ---------------------------------------------------------------- timewait.c */

void timewait_enter(struct tcp_conn *c);
void timewait_drop(struct tcp_engine *e, struct timewait *tw);
void timewait_expire(struct tcp_engine *e);
bool timewait_input(struct tcp_engine *e, struct timewait *tw, struct seg_in *s);

/* ---------------------------------------------------------------- listen.c */

enum tcp_verdict listen_input(struct tcp_engine *e, struct seg_in *s);
void held_syn_input(struct tcp_engine *e, struct held_syn *h, struct seg_in *s);
void held_syn_expire(struct tcp_engine *e);
struct listener *listener_find(struct tcp_engine *e, const struct seg_in *s);
struct held_syn *held_syn_get(struct tcp_engine *e, uint32_t syn_id);
void held_syn_forget(struct tcp_engine *e, struct held_syn *h);

/* ---------------------------------------------------------------- input.c */

enum tcp_verdict frame_input(struct tcp_engine *e, const void *frame, size_t len,
			     unsigned int csum_flags, bool looped);

/* ---------------------------------------------------------------- icmp.c */

void icmp_input(struct tcp_engine *e, const struct seg_in *s);

/* ---------------------------------------------------------------- pmtu.c */

uint32_t pmtu_now(const struct tcp_conn *c);
void pmtu_too_big(struct tcp_conn *c, uint32_t mtu, uint32_t packet_len);
void pmtu_expire(struct tcp_conn *c);
void pmtu_forget(struct tcp_conn *c);
void pmtu_timeout(struct tcp_conn *c);
void pmtu_acked(struct tcp_conn *c);
void pmtu_delivered(struct tcp_conn *c, const struct seg *g);
void pmtu_spurious(struct tcp_conn *c);

/* ---------------------------------------------------------------- rx.c */

uint32_t rx_window(const struct tcp_conn *c);
uint32_t rx_right_edge(const struct tcp_conn *c);
void rx_text(struct tcp_conn *c, struct seg_in *s);
void rx_fin_check(struct tcp_conn *c);
void rx_duplicate(struct tcp_conn *c, const struct seg_in *s);
void rx_release(struct tcp_conn *c);
unsigned int rx_sack_blocks(struct tcp_conn *c, struct sack_block *b, unsigned int max);

/* ---------------------------------------------------------------- output.c */

void tmpl_build(struct tcp_conn *c);
void tcp_conn_output(struct tcp_conn *c);
void send_syn(struct tcp_conn *c);
int send_ack(struct tcp_conn *c);
void send_rst(struct tcp_conn *c);
void gather_failed(struct tcp_conn *c);
int send_keepalive(struct tcp_conn *c);
int send_tail_probe(struct tcp_conn *c);
int send_persist(struct tcp_conn *c);
void reply_to(struct tcp_engine *e, const struct seg_in *s, uint32_t seq, uint32_t ack,
	      uint8_t flags, uint16_t wnd, const uint32_t *ts);
void reply_rst(struct tcp_engine *e, const struct seg_in *s);
void send_challenge(struct tcp_conn *c);

/* ---------------------------------------------------------------- undo.c */

void undo_save(struct tcp_conn *c);
void undo(struct tcp_conn *c);
void eifel_check(struct tcp_conn *c, const struct seg_in *s);
void undo_retransmitted(struct tcp_conn *c, uint32_t start, uint32_t end);
void undo_dsack(struct tcp_conn *c, const struct sack_block *b, uint32_t acked);

/* ---------------------------------------------------------------- recovery.c */

void ack_input(struct tcp_conn *c, const struct seg_in *s);
void ack_notify(struct tcp_conn *c);
void rto_fired(struct tcp_conn *c);
void pto_fired(struct tcp_conn *c);
void reo_fired(struct tcp_conn *c);
void pmtu_shrunk(struct tcp_conn *c);
uint32_t unreach_info(const struct tcp_conn *c);
void path_changed(struct tcp_conn *c, bool was_dead);
void persist_fired(struct tcp_conn *c);
void tx_timer_update(struct tcp_conn *c, bool restart);
void rtt_sample(struct tcp_conn *c, uint64_t rtt);
void cwnd_init(struct tcp_conn *c);
void cwnd_restart_idle(struct tcp_conn *c);
uint64_t rto_now(const struct tcp_conn *c);

/* RFC 7323 5.4: the timestamp clock ticks once a millisecond */
static inline uint32_t conn_ts_at(const struct tcp_conn *c, uint64_t ns)
{
	return c->ts_off + (uint32_t)(ns / TCP_NS_PER_MS);
}

static inline uint32_t conn_ts_now(const struct tcp_conn *c)
{
	return conn_ts_at(c, c->e->now);
}

static inline struct seg *seg_at(const struct tcp_conn *c, uint32_t idx)
{
	return &c->ring[idx & c->ring_mask];
}

static inline uint32_t seg_span(const struct seg *g)
{
	return g->len + !!(g->flags & SEG_FIN);
}

static inline uint32_t seg_end(const struct seg *g)
{
	return g->seq + seg_span(g);
}

/* RFC 6675 section 2, in bytes; without SACK duplicate ACKs stand for what left the network */
static inline uint32_t conn_pipe(const struct tcp_conn *c)
{
	uint32_t out = c->snd_nxt - c->snd_una;
	uint64_t gone = (uint64_t)c->sacked + c->lost;

	if (!c->sack_on)
		gone += (uint64_t)c->dupacks * c->emss;
	return gone >= out ? 0 : out - (uint32_t)gone;
}

#endif /* RNICD_TCP_INTERNAL_H */
