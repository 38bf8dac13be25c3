// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Incoming segments, in the order of RFC 9293 section 3.10.7.
 */
#include "internal.h"

static uint32_t seg_in_span(const struct seg_in *s)
{
	return s->len + !!(s->flags & TH_SYN) + !!(s->flags & TH_FIN);
}

/* ---------------------------------------------------------------- SYN_SENT (3.10.7.3) */

static void syn_sent_open(struct tcp_conn *c, struct seg_in *s)
{
	c->irs = s->seq;
	c->rcv_nxt = s->seq + 1;
	c->last_ack_sent = c->rcv_nxt;
	tcp_conn_options(c, s);
	c->rcv_adv = c->rcv_nxt + min_u32(c->rcv_wnd, 65535);
	/* the window of a SYN is never scaled (RFC 7323 2.2) */
	c->snd_wnd = s->wnd;
	c->max_wnd = s->wnd;
	c->snd_wl1 = s->seq;
	c->snd_wl2 = s->ack;
}

static void syn_sent_synack(struct tcp_conn *c, struct seg_in *s)
{
	if (c->syn_sent == 1)
		rtt_sample(c, c->e->now - c->last_tx_ns);
	c->snd_una = s->ack;
	c->ack_now = true;
	tcp_conn_established(c);
	if (c->terminal)
		return;
	/* whatever else came with it: text and FIN */
	s->seq++;
	s->flags &= (uint8_t)~TH_SYN;
	rx_text(c, s);
	tcp_conn_schedule(c);
}

static void syn_sent_input(struct tcp_conn *c, struct seg_in *s)
{
	bool ack_ok = s->flags & TH_ACK && s->ack == c->snd_nxt;

	if (s->flags & TH_ACK && !ack_ok) {
		if (!(s->flags & TH_RST))
			reply_rst(c->e, s);
		return;
	}
	if (s->flags & TH_RST) {
		c->e->stats.rst_in++;
		if (ack_ok)
			tcp_conn_terminal(c, TCP_EV_REFUSED, 0);
		return;
	}
	if (!(s->flags & TH_SYN))
		return;
	syn_sent_open(c, s);
	if (ack_ok) {
		syn_sent_synack(c, s);
		return;
	}
	/* simultaneous open: our SYN goes out again, with an ACK */
	c->state = TCPS_SYN_RCVD;
	c->syn_sent = 0;
	send_syn(c);
}

/* ---------------------------------------------------------------- other states (3.10.7.4) */

static void reject(struct tcp_conn *c, const struct seg_in *s)
{
	if (s->flags & TH_RST)
		return;
	/*
	 * Data that came twice is acknowledged each time, since an ACK may have been lost. Empty
	 * segments are rationed: two ends that disagree would answer each other for ever.
	 */
	if (s->len || s->flags & TH_FIN)
		c->ack_now = true;
	else if (challenge_allowed(c->e, c))
		c->ack_now = true;
	tcp_conn_schedule(c);
}

/* First check: sequence number. The right edge is the highest one ever announced. */
static bool seq_acceptable(const struct tcp_conn *c, const struct seg_in *s)
{
	uint32_t right = rx_right_edge(c);
	uint32_t span = seg_in_span(s);

	/* ACKs and RSTs at the left edge are taken even when the window is closed */
	if (s->seq == c->rcv_nxt)
		return true;
	if (!span) /* an ACK of a peer that has filled the window stands at the right edge */
		return seq_gt(s->seq, c->rcv_nxt) && seq_le(s->seq, right);
	if (seq_ge(s->seq, right))
		return false;
	return seq_gt(s->seq + span, c->rcv_nxt);
}

/* RFC 7323 section 5.3, R1 */
static bool paws_ok(struct tcp_conn *c, const struct seg_in *s)
{
	if (!c->ts_on || s->flags & TH_RST)
		return true;
	if (!s->ts) /* section 3.2: dropped silently */
		return false;
	if (!seq_lt(s->tsval, c->ts_recent))
		return true;
	if (c->e->now - c->ts_recent_ns > PAWS_IDLE_NS)
		return true;
	if (s->len || challenge_allowed(c->e, c)) {
		c->ack_now = true;
		tcp_conn_schedule(c);
	}
	return false;
}

/* R3 */
static void ts_update(struct tcp_conn *c, const struct seg_in *s)
{
	if (!c->ts_on || !s->ts || seq_gt(s->seq, c->last_ack_sent))
		return;
	if (seq_lt(s->tsval, c->ts_recent) && c->e->now - c->ts_recent_ns <= PAWS_IDLE_NS)
		return;
	c->ts_recent = s->tsval;
	c->ts_recent_ns = c->e->now;
}

/* Second check: RST, by RFC 5961 section 3.2 */
static void rst_input(struct tcp_conn *c, const struct seg_in *s)
{
	c->e->stats.rst_in++;
	if (s->seq != c->rcv_nxt) {
		if (seq_lt(s->seq, rx_right_edge(c)))
			send_challenge(c);
		return;
	}
	if (c->state == TCPS_SYN_RCVD && !c->passive)
		tcp_conn_terminal(c, TCP_EV_REFUSED, 0);
	else
		tcp_conn_terminal(c, TCP_EV_PEER_RST, 0);
}

/* A SYN of the handshake that comes again; false: drop it */
static bool syn_again(struct tcp_conn *c, struct seg_in *s)
{
	if (!(s->flags & TH_ACK)) { /* our SYN-ACK was lost */
		if (challenge_allowed(c->e, c))
			send_syn(c);
		return false;
	}
	/* the SYN-ACK of a simultaneous open: the SYN is old, what follows is not */
	s->flags &= (uint8_t)~TH_SYN;
	s->seq++;
	return true;
}

/* Fifth check in SYN_RCVD */
static bool syn_rcvd_ack(struct tcp_conn *c, const struct seg_in *s)
{
	if (s->ack != c->snd_nxt) {
		reply_rst(c->e, s);
		return false;
	}
	if (c->syn_sent == 1)
		rtt_sample(c, c->e->now - c->last_tx_ns);
	c->snd_una = s->ack;
	c->snd_wnd = s->wnd << c->snd_shift;
	c->max_wnd = max_u32(c->max_wnd, c->snd_wnd);
	c->snd_wl1 = s->seq;
	c->snd_wl2 = s->ack;
	tcp_conn_established(c);
	if (!c->terminal)
		tcp_conn_schedule(c);
	return !c->terminal;
}

/* RFC 5961 section 5.2 */
static bool ack_acceptable(const struct tcp_conn *c, const struct seg_in *s)
{
	int32_t behind = seq_diff(c->snd_una, s->ack);

	if (seq_gt(s->ack, c->snd_max))
		return false;
	return behind <= 0 || (uint32_t)behind <= c->max_wnd;
}

static bool ack_check(struct tcp_conn *c, const struct seg_in *s)
{
	if (!(s->flags & TH_ACK)) {
		c->e->stats.no_ack++;
		return false;
	}
	if (c->state == TCPS_SYN_RCVD)
		return syn_rcvd_ack(c, s);
	if (ack_acceptable(c, s))
		return true;
	c->e->stats.bad_ack++;
	send_challenge(c);
	return false;
}

/*
 * What was received before is reported (RFC 2883), also when PAWS rejects it: an original that
 * comes after its retransmission is older than that, and the sender wants to know.
 */
static void report_duplicate(struct tcp_conn *c, const struct seg_in *s)
{
	if (seg_in_span(s) && seq_le(s->seq + seg_in_span(s), c->rcv_nxt))
		rx_duplicate(c, s);
}

static void synchronized_input(struct tcp_conn *c, struct seg_in *s)
{
	if (c->state == TCPS_SYN_RCVD && s->flags & TH_SYN && s->seq == c->irs &&
	    !(s->flags & TH_RST) && !syn_again(c, s))
		return;
	if (!paws_ok(c, s)) {
		c->e->stats.paws++;
		report_duplicate(c, s);
		return;
	}
	if (!seq_acceptable(c, s)) {
		c->e->stats.bad_seq++;
		report_duplicate(c, s);
		reject(c, s);
		return;
	}
	if (s->flags & TH_RST) {
		rst_input(c, s);
		return;
	}
	if (s->flags & TH_SYN) { /* RFC 5961 section 4.2 */
		send_challenge(c);
		return;
	}
	if (!ack_check(c, s))
		return;
	ts_update(c, s);
	c->last_rx_ns = c->e->now;
	c->keep_sent = 0;
	ack_input(c, s);
	if (c->terminal)
		return;
	rx_text(c, s);
}

static void conn_input(struct tcp_conn *c, struct seg_in *s)
{
	c->stats.segs_in++;
	if (c->state == TCPS_SYN_SENT)
		syn_sent_input(c, s);
	else
		synchronized_input(c, s);
}

/* ---------------------------------------------------------------- frames */

static enum tcp_verdict no_flow(struct tcp_engine *e, struct seg_in *s)
{
	enum tcp_verdict v;

	if (!seg_parse_header(s))
		return TCP_TO_HOST;
	v = listen_input(e, s);
	/* The host's stack does not take a packet from itself off the wire: answer for it */
	if (v == TCP_TO_HOST && s->looped) {
		reply_rst(e, s);
		return TCP_CONSUMED;
	}
	return v;
}

static enum tcp_verdict flow_input(struct tcp_engine *e, struct flow_node *n, struct seg_in *s)
{
	if (s->fragment) {
		e->stats.fragments++;
		return TCP_CONSUMED;
	}
	if (!seg_parse_header(s)) {
		e->stats.bad_header++;
		return TCP_CONSUMED;
	}
	if (!seg_checksum_ok(s)) {
		e->stats.bad_csum++;
		return TCP_CONSUMED;
	}
	e->stats.segs_in++;
	switch (n->kind) {
	case FLOW_CONN:
		conn_input(container_of_(n, struct tcp_conn, node), s);
		break;
	case FLOW_SYN:
		held_syn_input(e, container_of_(n, struct held_syn, node), s);
		break;
	case FLOW_TIMEWAIT:
		if (timewait_input(e, container_of_(n, struct timewait, node), s))
			return listen_input(e, s);
		break;
	}
	return TCP_CONSUMED;
}

enum tcp_verdict frame_input(struct tcp_engine *e, const void *frame, size_t len,
			     unsigned int csum_flags, bool looped)
{
	struct flow_node *n;
	struct seg_in s;

	memset(&s, 0, offsetof(struct seg_in, sack)); /* nsack says how much of sack is valid */
	s.frame = frame;
	s.frame_len = len;
	s.csum_flags = csum_flags;
	s.looped = looped;
	switch (frame_parse(e, &s)) {
	case PARSE_TCP:
		break;
	case PARSE_ICMP: /* the host wants to learn of it too */
		icmp_input(e, &s);
		return TCP_TO_HOST;
	default:
		return TCP_TO_HOST;
	}
	n = flow_find(e, &s.flow, s.hash);
	return n ? flow_input(e, n, &s) : no_flow(e, &s);
}
