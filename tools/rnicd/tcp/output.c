// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Outgoing segments: the header template, building a frame, and the decision what to send next.
 */
#include <arpa/inet.h>
#include <stdlib.h>

#include "internal.h"

/* A frame to build */
struct emit {
	uint32_t idx; /* first segment in the ring */
	uint32_t nsegs; /* 0: no payload */
	uint32_t off; /* into the first one */
	uint32_t len; /* payload of all */
	uint32_t seq;
	uint8_t flags;
	uint8_t optlen;
	uint8_t opt[40];
};

/* ---------------------------------------------------------------- template */

static void tmpl_ethernet(struct tcp_conn *c, const struct tcp_nexthop *nh)
{
	uint8_t *p = c->tmpl;

	memcpy(p, nh->dmac, 6);
	memcpy(p + 6, nh->smac, 6);
	p += 12;
	if (nh->vlan != TCP_VLAN_NONE) {
		put16(p, ETHERTYPE_VLAN_);
		put16(p + 2, nh->vlan);
		p += 4;
	}
	put16(p, c->tuple.local.family == IP_V6 ? ETHERTYPE_IPV6_ : ETHERTYPE_IPV4_);
	c->tmpl_len = (uint8_t)(p + 2 - c->tmpl);
}

static void ip4_header(uint8_t *ip, uint8_t tos, uint8_t ttl)
{
	memset(ip, 0, IP4_HLEN_);
	ip[0] = 0x45;
	ip[1] = tos;
	ip[6] = 0x40; /* DF: RFC 6864 then lets the id be anything */
	ip[8] = ttl;
	ip[9] = IPPROTO_TCP_;
}

static void ip6_header(uint8_t *ip, uint8_t traffic_class, uint32_t label, uint8_t hop_limit)
{
	put32(ip, 6u << 28 | (uint32_t)traffic_class << 20 | (label & 0xfffff));
	put16(ip + 4, 0);
	ip[6] = IPPROTO_TCP_;
	ip[7] = hop_limit;
}

/* Length, and an IPv4 checksum, are still missing */
static void ip_header(uint8_t *ip, const struct tcp_conn *c)
{
	uint8_t tos = (uint8_t)(c->opts.dscp << 2);

	if (c->tuple.local.family == IP_V6) {
		/* RFC 6437: a label for each flow that nobody can guess the others from */
		ip6_header(ip, tos, c->ts_off, c->opts.ttl);
		memcpy(ip + 8, c->tuple.local.b, 16);
		memcpy(ip + 24, c->tuple.remote.b, 16);
	} else {
		ip4_header(ip, tos, c->opts.ttl);
		memcpy(ip + 12, c->tuple.local.b, 4);
		memcpy(ip + 16, c->tuple.remote.b, 4);
	}
}

/* All of the header that stays the same from segment to segment, and the sums over it */
void tmpl_build(struct tcp_conn *c)
{
	static const uint8_t proto[2] = {0, IPPROTO_TCP_};
	uint8_t *ip, *tcp;

	tmpl_ethernet(c, &c->e->nexthops[c->nexthop].nh);
	ip = c->tmpl + c->tmpl_len;
	tcp = ip + c->ip_hlen;
	ip_header(ip, c);
	memset(tcp, 0, TCP_HLEN_);
	put16(tcp, c->tuple.lport);
	put16(tcp + 2, c->tuple.rport);
	c->tmpl_len += (uint8_t)(c->ip_hlen + TCP_HLEN_);
	c->ip_sum = tcp_sum(0, ip, c->ip_hlen);
	c->tcp_sum = tcp_sum(ip_addrs_sum(ip, c->tuple.local.family), proto, 2);
}

/* ---------------------------------------------------------------- options */

static void opt_timestamp(struct tcp_conn *c, struct emit *m)
{
	uint8_t *p = m->opt + m->optlen;

	if (!c->ts_on)
		return;
	p[0] = 1;
	p[1] = 1;
	p[2] = 8;
	p[3] = 10;
	put32(p + 4, conn_ts_now(c));
	put32(p + 8, c->ts_recent);
	m->optlen += TCP_TS_LEN;
}

static void opt_sack(struct tcp_conn *c, struct emit *m)
{
	unsigned int n, max = c->ts_on ? 3 : 4;
	struct sack_block b[SACK_MAX];
	uint8_t *p = m->opt + m->optlen;

	if (!c->sack_on || (!c->reass.n && !c->dsack_valid))
		return;
	n = rx_sack_blocks(c, b, max);
	if (!n)
		return;
	p[0] = 1;
	p[1] = 1;
	p[2] = 5;
	p[3] = (uint8_t)(2 + 8 * n);
	for (unsigned int i = 0; i < n; i++) {
		put32(p + 4 + 8 * i, b[i].start);
		put32(p + 8 + 8 * i, b[i].end);
	}
	m->optlen += (uint8_t)(4 + 8 * n);
}

/* A SYN offers what the owner allows; a SYN-ACK what both want */
static void opt_syn(struct tcp_conn *c, struct emit *m, bool offer)
{
	uint8_t *p = m->opt;
	bool ts = offer ? c->opts.timestamps : c->ts_on;

	*p++ = 2;
	*p++ = 4;
	put16(p, c->my_mss);
	p += 2;
	if (offer ? c->opts.wscale : c->ws_on) {
		*p++ = 1;
		*p++ = 3;
		*p++ = 3;
		*p++ = c->rcv_shift;
	}
	if (offer ? c->opts.sack : c->sack_on) {
		*p++ = 1;
		*p++ = 1;
		*p++ = 4;
		*p++ = 2;
	}
	if (ts) {
		*p++ = 1;
		*p++ = 1;
		*p++ = 8;
		*p++ = 10;
		put32(p, conn_ts_now(c));
		put32(p + 4, m->flags & TH_ACK ? c->ts_recent : 0);
		p += 8;
	}
	m->optlen = (uint8_t)(p - m->opt);
}

/* ---------------------------------------------------------------- payload */

static unsigned int stream_iov(struct tcp_conn *c, uint32_t seq, uint32_t len, struct iovec *iov)
{
	uint32_t off = (seq - c->iss - 1) & (c->sbuf_size - 1);
	uint32_t first = min_u32(len, c->sbuf_size - off);

	iov[0].iov_base = c->sbuf + off;
	iov[0].iov_len = first;
	if (first == len)
		return 1;
	iov[1].iov_base = c->sbuf;
	iov[1].iov_len = len - first;
	return 2;
}

static size_t iov_bytes(const struct iovec *iov, unsigned int cnt)
{
	size_t sum = 0;

	for (unsigned int i = 0; i < cnt; i++)
		sum += iov[i].iov_len;
	return sum;
}

/* Return: iovec entries used, or negative errno */
static int gather_one(struct tcp_conn *c, const struct seg *g, uint32_t off, uint32_t len,
		      struct iovec *iov, unsigned int max, uint8_t *scratch)
{
	struct tcp_record rec = {.cookie = {g->cookie[0], g->cookie[1]}, .len = g->len};
	struct tcp_gather out = {.iov = iov, .max = max, .scratch = scratch, .scratch_len = len};
	int rc;

	if (!(g->flags & SEG_REC))
		return (int)stream_iov(c, g->seq + off, len, iov);
	rc = c->e->ops->gather(c->e->ctx, c, &rec, off, len, &out);
	if (rc < 0)
		return rc;
	if (!out.cnt || out.cnt > max || iov_bytes(iov, out.cnt) != len)
		return -EIO;
	c->e->summed = out.summed;
	c->e->payload_sum = out.sum;
	return (int)out.cnt;
}

/* Where gather() makes the payload: in its place in the frame, if the owner has one */
static uint8_t *emit_scratch(struct tcp_engine *e, uint32_t hdr_len, uint32_t len, bool loop)
{
	uint8_t *frame = NULL;

	if (!loop && e->ops->room)
		frame = e->ops->room(e->ctx, (size_t)hdr_len + len);
	return frame ? frame + hdr_len : e->scratch;
}

/* Payload of the frame behind iov[0]. Return: entries, or negative errno */
static int emit_payload(struct tcp_conn *c, const struct emit *m, bool loop)
{
	struct tcp_engine *e = c->e;
	uint8_t *scratch = emit_scratch(e, (uint32_t)c->tmpl_len + m->optlen, m->len, loop);
	uint32_t left = m->len, off = m->off;
	unsigned int cnt = 1;

	e->summed = false;
	for (uint32_t i = 0; i < m->nsegs; i++) {
		const struct seg *g = seg_at(c, m->idx + i);
		uint32_t n = min_u32(left, g->len - off);
		int rc = gather_one(c, g, off, n, &e->iov[cnt], GATHER_IOV, scratch);

		if (rc < 0)
			return rc;
		cnt += (unsigned int)rc;
		scratch += n;
		left -= n;
		off = 0;
	}
	e->summed &= m->nsegs == 1;
	return (int)cnt;
}

/* ---------------------------------------------------------------- building a frame */

static uint32_t emit_window(struct tcp_conn *c, const struct emit *m)
{
	uint32_t wnd;

	if (m->flags & TH_SYN)
		return min_u32(c->rcv_wnd, 65535); /* not scaled: RFC 7323 2.2 */
	wnd = rx_window(c);
	if (seq_gt(c->rcv_nxt + wnd, c->rcv_adv))
		c->rcv_adv = c->rcv_nxt + wnd;
	return wnd >> c->rcv_shift;
}

static uint8_t *emit_header(struct tcp_conn *c, const struct emit *m, uint8_t *h)
{
	uint8_t *tcp = h + c->tmpl_len - TCP_HLEN_;
	uint8_t *ip = tcp - c->ip_hlen;
	uint32_t l4 = TCP_HLEN_ + m->optlen + m->len;

	memcpy(h, c->tmpl, TMPL_MAX);
	if (m->optlen == TCP_TS_LEN)
		memcpy(h + c->tmpl_len, m->opt, TCP_TS_LEN);
	else
		memcpy(h + c->tmpl_len, m->opt, m->optlen);
	if (c->ip_hlen == IP6_HLEN_)
		put16(ip + 4, l4);
	else
		put16(ip + 2, IP4_HLEN_ + l4);
	put32(tcp + 4, m->seq);
	put32(tcp + 8, m->flags & TH_ACK ? c->rcv_nxt : 0);
	tcp[12] = (uint8_t)((TCP_HLEN_ + m->optlen) / 4 << 4);
	tcp[13] = m->flags;
	put16(tcp + 14, emit_window(c, m));
	return ip;
}

static void store_sum(uint8_t *p, uint16_t sum)
{
	memcpy(p, &sum, 2);
}

/* Sums are in the machine's order, see tcp_sum() */
static void emit_checksums(struct tcp_conn *c, const struct emit *m, uint8_t *ip, int cnt,
			   struct tcp_tx_meta *meta, bool loop)
{
	struct tcp_engine *e = c->e;
	uint8_t *tcp = ip + c->ip_hlen;
	uint32_t l4 = TCP_HLEN_ + m->optlen + m->len;
	uint32_t sum = c->tcp_sum + htons((uint16_t)l4);

	if (c->ip_hlen == IP4_HLEN_)
		store_sum(ip + 10,
			  (uint16_t)~tcp_sum_fold(c->ip_sum + htons((uint16_t)(l4 + IP4_HLEN_))));
	if (e->cfg.tx_flags & TCP_CFG_TX_CSUM || loop) {
		store_sum(tcp + 16, tcp_sum_fold(sum));
		meta->flags |= TCP_TX_CSUM_PARTIAL;
		return;
	}
	sum = tcp_sum(sum, tcp, TCP_HLEN_ + m->optlen);
	if (cnt > 1)
		sum += e->summed ? e->payload_sum : tcp_sum_iov(&e->iov[1], (unsigned int)cnt - 1);
	store_sum(tcp + 16, (uint16_t)~tcp_sum_fold(sum));
}

/* The segment carries the newest ACK and window */
static void emit_acked(struct tcp_conn *c, const struct emit *m)
{
	c->ack_now = false;
	c->unacked = 0;
	c->last_ack_sent = c->rcv_nxt;
	c->due[TM_ACK] = TCP_NO_DEADLINE;
	c->stats.segs_out++;
	if (m->len) {
		c->stats.bytes_out += m->len;
		c->e->stats.bytes_out += m->len;
	} else if (!(m->flags & (TH_SYN | TH_FIN | TH_RST))) {
		c->stats.acks_out++;
	}
}

static int emit_frame(struct tcp_conn *c, const struct emit *m, uint32_t gso)
{
	const struct nexthop_slot *nh = &c->e->nexthops[c->nexthop];
	struct tcp_engine *e = c->e;
	struct tcp_tx_meta meta = {0};
	uint8_t head[FRAME_HDR_MAX];
	bool loop = nh->nh.flags & TCP_NH_LOOP;
	uint8_t *ip;
	int cnt = 1, rc = 0;

	if (e->tx_blocked && !loop)
		return -EAGAIN;
	if (m->nsegs) {
		cnt = emit_payload(c, m, loop);
		if (cnt < 0)
			return cnt == -EAGAIN ? -EIO : cnt;
	}
	ip = emit_header(c, m, head);
	e->iov[0].iov_base = head;
	e->iov[0].iov_len = c->tmpl_len + (size_t)m->optlen;
	emit_checksums(c, m, ip, cnt, &meta, loop);
	meta.hdr_len = (uint16_t)e->iov[0].iov_len;
	meta.csum_start = (uint16_t)(c->tmpl_len - TCP_HLEN_);
	meta.csum_offset = 16;
	meta.len = meta.hdr_len + m->len;
	if (c->ip_hlen == IP6_HLEN_)
		meta.flags |= TCP_TX_IPV6;
	if (gso) {
		meta.flags |= TCP_TX_GSO;
		meta.gso_size = (uint16_t)gso;
	}
	if (!nexthop_dead(nh)) /* else it is lost, as on a dead link */
		rc = engine_xmit(e, e->iov, cnt, &meta, loop);
	if (!rc)
		emit_acked(c, m);
	return rc;
}

/* ---------------------------------------------------------------- segments without payload */

static int emit_control(struct tcp_conn *c, uint8_t flags, uint32_t seq, bool sack)
{
	struct emit m = {.seq = seq, .flags = flags};

	opt_timestamp(c, &m);
	if (sack)
		opt_sack(c, &m);
	return emit_frame(c, &m, 0);
}

int send_ack(struct tcp_conn *c)
{
	return emit_control(c, TH_ACK, c->snd_max, true);
}

void send_challenge(struct tcp_conn *c)
{
	if (challenge_allowed(c->e, c))
		emit_control(c, TH_ACK, c->snd_max, false);
}

/* RFC 9293 3.8.4: a sequence number that is out of the window makes the peer answer */
int send_keepalive(struct tcp_conn *c)
{
	return emit_control(c, TH_ACK, c->snd_una - 1, false);
}

void send_rst(struct tcp_conn *c)
{
	emit_control(c, TH_RST | TH_ACK, c->snd_max, false);
	c->e->stats.rst_out++;
}

/* SYN, or SYN-ACK in SYN_RCVD; also arms the timer */
void send_syn(struct tcp_conn *c)
{
	struct emit m = {.seq = c->iss, .flags = TH_SYN};
	uint32_t doublings = min_u32(c->syn_sent, 16);

	if (c->state == TCPS_SYN_RCVD)
		m.flags |= TH_ACK;
	opt_syn(c, &m, c->state == TCPS_SYN_SENT);
	emit_frame(c, &m, 0);
	c->syn_sent++;
	c->last_tx_ns = c->e->now;
	c->txt = TXT_SYN;
	tcp_timer_set(c, TM_TX, c->e->now + min_u64(RTO_INIT << doublings, c->e->cfg.max_rto_ns));
}

/* ---------------------------------------------------------------- data */

static uint8_t data_flags(const struct seg *g, bool last)
{
	uint8_t f = TH_ACK;

	if (last && g->flags & SEG_PSH && g->len)
		f |= TH_PSH;
	if (g->flags & SEG_FIN)
		f |= TH_FIN;
	return f;
}

/* Bytes [off, off + len) of one segment */
static int emit_piece(struct tcp_conn *c, uint32_t idx, uint32_t off, uint32_t len)
{
	const struct seg *g = seg_at(c, idx);
	struct emit m = {.idx = idx,
			 .nsegs = len != 0,
			 .off = off,
			 .len = len,
			 .seq = g->seq + off,
			 .flags = data_flags(g, off + len == g->len)};

	opt_timestamp(c, &m);
	return emit_frame(c, &m, 0);
}

static void advance_sent(struct tcp_conn *c, uint32_t n)
{
	struct seg *g = seg_at(c, c->next);
	uint32_t span = n + !!(g->flags & SEG_FIN);

	g->flags |= SEG_SENT;
	if (seq_lt(c->snd_nxt, c->snd_max)) {
		g->flags |= SEG_RETX;
		undo_retransmitted(c, c->snd_nxt, c->snd_nxt + span);
	}
	g->sent += n;
	g->tx_ns = c->e->now;
	c->last_tx_ns = c->e->now;
	c->prr_out += n;
	c->snd_nxt += span;
	if (seq_gt(c->snd_nxt, c->snd_max))
		c->snd_max = c->snd_nxt;
	if (g->sent == g->len)
		c->next++;
}

/* Send n bytes of the next unsent segment */
static int send_piece(struct tcp_conn *c, uint32_t n)
{
	int rc = emit_piece(c, c->next, seg_at(c, c->next)->sent, n);

	if (!rc)
		advance_sent(c, n);
	return rc;
}

/*
 * Segments that can share a GSO frame with the next one: same kind, all but the last of the same
 * length, so that the wire cuts them where the ring does; none pushes but the last.
 */
static uint32_t gso_run(const struct tcp_conn *c, uint32_t room, uint32_t *bytes)
{
	const struct seg *first = seg_at(c, c->next);
	uint32_t total = first->len, n = 1;

	if (first->sent || first->len > c->emss || first->flags & (SEG_FIN | SEG_PSH))
		goto out;
	while (n < 64 && (n + 1) * GATHER_IOV < ENGINE_IOV - 1 && c->next + n != c->tail) {
		const struct seg *g = seg_at(c, c->next + n);

		if ((g->flags ^ first->flags) & SEG_REC || g->flags & SEG_FIN || g->sent ||
		    g->len > first->len || total + g->len > room)
			break;
		total += g->len;
		n++;
		if (g->len < first->len || g->flags & SEG_PSH)
			break;
	}
out:
	*bytes = total;
	return n;
}

static int send_gso(struct tcp_conn *c, uint32_t n, uint32_t bytes)
{
	const struct seg *g = seg_at(c, c->next);
	struct emit m = {.idx = c->next,
			 .nsegs = n,
			 .len = bytes,
			 .seq = g->seq,
			 .flags = data_flags(seg_at(c, c->next + n - 1), true)};
	int rc;

	opt_timestamp(c, &m);
	rc = emit_frame(c, &m, g->len);
	while (!rc && n--)
		advance_sent(c, seg_at(c, c->next)->len);
	return rc;
}

/* RFC 9293 3.7.4: a small segment waits while data is under way. Never records. */
static bool nagle_waits(const struct tcp_conn *c, const struct seg *g, uint32_t n)
{
	if (c->opts.nodelay || g->flags & SEG_REC || n >= c->emss || c->next + 1 != c->tail)
		return false;
	return c->snd_una != c->snd_nxt;
}

static bool wire_gso(const struct tcp_conn *c)
{
	return c->e->cfg.tx_flags & TCP_CFG_TX_GSO &&
	       !(c->e->nexthops[c->nexthop].nh.flags & TCP_NH_LOOP);
}

static uint32_t window_left(const struct tcp_conn *c)
{
	int32_t left = seq_diff(c->snd_una + c->snd_wnd, c->snd_nxt);

	return left > 0 ? (uint32_t)left : 0;
}

/*
 * Next new segment or piece of one. Return: 0 sent, 1 nothing to be sent now, negative errno.
 *
 * RFC 9293 3.8.6.2.1 (silly window avoidance): a piece that is smaller than the unit goes only when
 * nothing is under way and it fills half the largest window the peer had; the override timer is
 * the persist timer.
 */
static int send_new(struct tcp_conn *c)
{
	const struct seg *g = seg_at(c, c->next);
	uint32_t n = min_u32(g->len - g->sent, c->emss);
	uint32_t wnd = window_left(c), pipe = conn_pipe(c);
	uint32_t cwnd = c->cwnd > pipe ? c->cwnd - pipe : 0;

	if (g->flags & SEG_FIN)
		return send_piece(c, 0);
	if (n > cwnd && pipe) {
		c->cwnd_limited = true;
		c->cwl_end = c->snd_nxt;
		return 1;
	}
	if (n > wnd) {
		if (c->snd_una != c->snd_nxt || !wnd || wnd < c->max_wnd / 2)
			return 1;
		return send_piece(c, wnd);
	}
	if (nagle_waits(c, g, n))
		return 1;
	if (wire_gso(c)) {
		uint32_t room = min_u32(min_u32(wnd, max_u32(cwnd, n)), c->e->cfg.gso_max);
		uint32_t bytes, run = gso_run(c, room, &bytes);

		if (run > 1)
			return send_gso(c, run, bytes);
	}
	return send_piece(c, n);
}

/* ---------------------------------------------------------------- retransmission */

/* One segment, or what of it is not acknowledged, in frames of at most the MSS */
static int retransmit(struct tcp_conn *c, uint32_t idx)
{
	struct seg *g = seg_at(c, idx);
	uint32_t off = seq_gt(c->snd_una, g->seq) ? c->snd_una - g->seq : 0;
	uint32_t out = seg_span(g) - off;
	int rc;

	do {
		uint32_t n = min_u32(g->len - off, c->emss);

		rc = emit_piece(c, idx, off, n);
		if (rc)
			return rc;
		off += n;
	} while (off < g->len);
	undo_retransmitted(c, seg_end(g) - out, seg_end(g));
	if (g->flags & SEG_LOST)
		c->lost -= min_u32(out, c->lost);
	c->prr_out += out;
	g->flags = (g->flags & ~SEG_LOST) | SEG_RETX;
	g->tx_ns = c->e->now;
	c->last_tx_ns = c->e->now;
	if (seq_gt(seg_end(g), c->high_rxt))
		c->high_rxt = seg_end(g);
	if (c->undo_valid && !c->undo_armed) {
		c->undo_armed = true;
		c->undo_ts = conn_ts_now(c);
		c->undo_seq = seg_end(g);
	}
	c->stats.rtx_segs++;
	c->e->stats.rtx_segs++;
	return 0;
}

/* RFC 6675 NextSeg rule 1, with RACK's marks */
static int send_lost(struct tcp_conn *c)
{
	uint32_t pipe = conn_pipe(c);
	uint32_t i = c->rtx_hint;
	int rc;

	while (i != c->next && !(seg_at(c, i)->flags & SEG_LOST))
		i++;
	c->rtx_hint = i;
	if (i == c->next) { /* marks and sum agree; this only keeps a fault from looping */
		c->lost = 0;
		return 1;
	}
	if (!c->force_rtx && pipe && pipe + min_u32(seg_at(c, i)->len, c->emss) > c->cwnd)
		return 1;
	rc = retransmit(c, i);
	if (!rc)
		c->force_rtx = false;
	return rc;
}

/* The owner cannot make the bytes of a record any more: the stream cannot go on */
void gather_failed(struct tcp_conn *c)
{
	send_rst(c);
	tcp_conn_terminal(c, TCP_EV_ABORTED, TCP_ABORT_GATHER);
}

/* RFC 8985 7.3: a new segment if there is one and the window takes it, else the last one again */
int send_tail_probe(struct tcp_conn *c)
{
	const struct seg *g = seg_at(c, c->next);

	c->tlp_retx = false;
	if (c->next != c->tail && !(g->flags & SEG_FIN)) {
		uint32_t n = min_u32(g->len - g->sent, c->emss);

		if (n <= window_left(c))
			return send_piece(c, n);
	}
	if (c->next == c->head)
		return 1;
	c->tlp_retx = true;
	return retransmit(c, c->next - 1);
}

/*
 * RFC 9293 3.8.6.1: at least one byte of new data. It does not count as sent (snd_nxt stays), so
 * the whole segment goes from its start when the window opens.
 */
int send_persist(struct tcp_conn *c)
{
	struct seg *g = seg_at(c, c->next);
	uint32_t wnd = window_left(c);
	uint32_t n = min_u32(min_u32(g->len - g->sent, c->emss), wnd);
	int rc;

	if (n) { /* a small window: the override time-out has passed */
		rc = send_piece(c, n);
	} else {
		rc = emit_piece(c, c->next, g->sent, 1);
		if (!rc) {
			g->flags |= SEG_SENT | SEG_RETX;
			c->last_tx_ns = c->e->now;
			if (c->snd_max == c->snd_nxt)
				c->snd_max++;
		}
	}
	if (rc && rc != -EAGAIN)
		gather_failed(c);
	return rc;
}

/* ---------------------------------------------------------------- the output pass */

static bool pull_due(const struct tcp_conn *c)
{
	if (!c->want_pull || c->state < TCPS_ESTABLISHED || c->fin_queued)
		return false;
	if (tcp_record_room(c).bytes)
		return true;
	return !c->records && tcp_send_room(c) >= c->e->cfg.stream_buf / 2;
}

/* Ask the owner for more. true: it queued something */
static bool pull(struct tcp_conn *c)
{
	uint32_t end = c->q_end;

	if (!pull_due(c))
		return false;
	c->want_pull = false;
	c->e->ops->pull(c->e->ctx, c);
	return !c->terminal && c->q_end != end;
}

/* RFC 5682 2.1 step 2b: new data instead of retransmissions, if there is any that may go */
static int send_frto(struct tcp_conn *c)
{
	int rc = 1;

	if (!c->frto_new)
		return 1;
	if (c->next == c->tail)
		pull(c);
	if (c->terminal)
		return 1;
	if (c->next != c->tail)
		rc = send_new(c);
	if (!rc) {
		c->frto_new--;
	} else if (rc > 0 && c->frto_new == 2) {
		c->frto = FRTO_OFF; /* no new data: the usual way */
		rc = 0;
	}
	return rc;
}

static int send_all(struct tcp_conn *c)
{
	int rc = 0;

	while (!rc) {
		if (c->frto == FRTO_DECIDE)
			rc = send_frto(c);
		else if (c->lost)
			rc = send_lost(c);
		else if (c->next != c->tail)
			rc = send_new(c);
		else
			return 0;
	}
	return rc;
}

static void note_cwnd_limit(struct tcp_conn *c)
{
	uint64_t pipe = conn_pipe(c);

	if (c->cwnd < c->ssthresh ? 2 * pipe < c->cwnd : pipe + c->emss <= c->cwnd)
		return;
	c->cwnd_limited = true;
	c->cwl_end = c->snd_nxt;
}

static void wait_for_wire(struct tcp_conn *c)
{
	if (c->is_pending)
		list_del(&c->pending);
	c->is_pending = true;
	c->blocked = true;
	list_add_tail(&c->e->blocked, &c->pending);
}

static int output_data(struct tcp_conn *c)
{
	uint32_t before = c->snd_nxt;
	int rc;

	c->in_output = true;
	cwnd_restart_idle(c);
	do {
		rc = send_all(c);
	} while (rc >= 0 && !c->terminal && pull(c));
	if (c->snd_nxt != before)
		note_cwnd_limit(c);
	c->in_output = false;
	return rc;
}

/* All that the connection has to send now: lost segments, new ones, an ACK */
void tcp_conn_output(struct tcp_conn *c)
{
	int rc = 0;

	pmtu_expire(c);
	if (c->state >= TCPS_ESTABLISHED)
		rc = output_data(c);
	if (c->terminal)
		return;
	if (rc >= 0 && c->ack_now && c->state != TCPS_SYN_SENT)
		rc = send_ack(c);
	if (rc == -EAGAIN) {
		wait_for_wire(c);
	} else if (rc < 0) {
		gather_failed(c);
		return;
	}
	tx_timer_update(c, false);
}

/* ---------------------------------------------------------------- answers without a connection */

/* IP header of an answer to @s with @l4 bytes behind it */
static void reply_ip(uint8_t *ip, const struct seg_in *s, uint32_t l4)
{
	if (s->tuple.local.family == IP_V6) {
		ip6_header(ip, 0, 0, 64);
		put16(ip + 4, l4);
		memcpy(ip + 8, s->l3 + 24, 16);
		memcpy(ip + 24, s->l3 + 8, 16);
		return;
	}
	ip4_header(ip, 0, 64);
	put16(ip + 2, IP4_HLEN_ + l4);
	memcpy(ip + 12, s->l3 + 16, 4);
	memcpy(ip + 16, s->l3 + 12, 4);
	store_sum(ip + 10, (uint16_t)~tcp_sum_fold(tcp_sum(0, ip, IP4_HLEN_)));
}

/* Back to where @s came from: addresses and ports swapped, VLAN tag kept */
void reply_to(struct tcp_engine *e, const struct seg_in *s, uint32_t seq, uint32_t ack,
	      uint8_t flags, uint16_t wnd, const uint32_t *ts)
{
	uint8_t family = s->tuple.local.family;
	uint8_t h[FRAME_HDR_MAX] = {0};
	uint32_t l2 = (uint32_t)(s->l3 - s->frame);
	uint32_t l4 = TCP_HLEN_ + (ts ? TCP_TS_LEN : 0);
	uint8_t *ip = h + l2, *tcp = ip + ip_hlen(family);
	uint8_t pseudo[4] = {0, IPPROTO_TCP_, 0, (uint8_t)l4};
	struct tcp_tx_meta meta = {.flags = family == IP_V6 ? TCP_TX_IPV6 : 0,
				   .len = l2 + ip_hlen(family) + l4};
	struct iovec iov = {.iov_base = h, .iov_len = meta.len};

	memcpy(h, s->frame + 6, 6);
	memcpy(h + 6, s->frame, 6);
	memcpy(h + 12, s->frame + 12, l2 - 12);
	reply_ip(ip, s, l4);
	put16(tcp, s->tuple.lport);
	put16(tcp + 2, s->tuple.rport);
	put32(tcp + 4, seq);
	put32(tcp + 8, ack);
	tcp[12] = (uint8_t)(l4 / 4 << 4);
	tcp[13] = flags;
	put16(tcp + 14, wnd);
	if (ts) {
		memcpy(tcp + TCP_HLEN_, "\1\1\10\12", 4);
		put32(tcp + TCP_HLEN_ + 4, ts[0]);
		put32(tcp + TCP_HLEN_ + 8, ts[1]);
	}
	store_sum(tcp + 16, (uint16_t)~tcp_sum_fold(tcp_sum(
				    tcp_sum(ip_addrs_sum(ip, family), pseudo, 4), tcp, l4)));
	meta.hdr_len = (uint16_t)meta.len;
	engine_xmit(e, &iov, 1, &meta, s->looped);
}

/* RFC 9293 3.10.7.1: the answer to a segment for which there is no connection */
void reply_rst(struct tcp_engine *e, const struct seg_in *s)
{
	uint32_t span = s->len + !!(s->flags & TH_SYN) + !!(s->flags & TH_FIN);

	if (s->flags & TH_RST)
		return;
	e->stats.rst_out++;
	if (s->flags & TH_ACK)
		reply_to(e, s, s->ack, 0, TH_RST, 0, NULL);
	else
		reply_to(e, s, 0, s->seq + span, TH_RST | TH_ACK, 0, NULL);
}
