// SPDX-License-Identifier: GPL-2.0-or-later
/* Connections: table, events to the host, and what the TCP engine calls. */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "hw/conn_priv.h"
#include "iwarp/iwarp.h"
#include "nic/nic.h"

int conn_table_init(struct rnic *dev)
{
	dev->conns = calloc(1, sizeof(*dev->conns));
	return dev->conns ? 0 : -ENOMEM;
}

void conn_table_free(struct rnic *dev)
{
	free(dev->conns);
	dev->conns = NULL;
}

struct rnic_conn *conn_find(struct rnic *dev, u32 id)
{
	return id < RNIC_MAX_CONN ? dev->conns->conn[id] : NULL;
}

struct rnic_conn *conn_create(struct rnic *dev, u32 id, u32 nexthop)
{
	struct rnic_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->rx = malloc(RNIC_STREAM_MAX);
	if (!c->rx) {
		free(c);
		return NULL;
	}
	c->dev = dev;
	c->id = id;
	c->nexthop = nexthop;
	c->state = ORNIC_CONN_OPENING;
	dev->conns->nexthop[nexthop].refs++;
	dev->conns->conn[id] = c;
	dev->conns->count++;
	return c;
}

/* Not alive any more: what counts living connections forgets it. */
static void conn_set_ended(struct rnic_conn *c)
{
	struct conn_table *t = c->dev->conns;

	if (c->state == ORNIC_CONN_ENDED)
		return;
	if (c->established)
		t->estab--;
	t->nexthop[c->nexthop].refs--;
	c->state = ORNIC_CONN_ENDED;
}

void conn_delete(struct rnic_conn *c)
{
	struct conn_table *t = c->dev->conns;

	conn_set_ended(c);
	eq_src_cancel(&c->src);
	t->conn[c->id] = NULL;
	t->count--;
	free(c->rx);
	free(c);
}

void conn_reset(struct rnic *dev)
{
	struct conn_table *t = dev->conns;
	u32 i;

	for (i = 0; i < RNIC_MAX_CONN && t->count; i++)
		if (t->conn[i])
			conn_delete(t->conn[i]);
	tcp_engine_free(dev->tcp);
	dev->tcp = NULL;
	memset(t, 0, sizeof(*t));
}

void conn_each(struct rnic *dev, void (*fn)(void *arg, struct rnic_conn *c), void *arg)
{
	u32 i;

	for (i = 0; i < RNIC_MAX_CONN; i++)
		if (dev->conns->conn[i])
			fn(arg, dev->conns->conn[i]);
}

/* ---- events to the host ---- */

static void conn_pop(struct rnic_conn *c)
{
	c->nev--;
	memmove(c->ev, c->ev + 1, c->nev * sizeof(c->ev[0]));
}

/* One data slot's worth of stream bytes. True: more of them wait. */
static bool conn_emit_stream(struct rnic_conn *c, struct eq *eq)
{
	u32 done = (u32)(c->rx_told - c->rx_base), n = min(c->rx_len - done, ORNIC_TEQ_SLOT_SIZE);
	struct ornic_teqe ev = {.type = ORNIC_TCP_STREAM_RX,
				.conn_id = cpu_to_le32(c->id),
				.offset = cpu_to_le64(c->rx_told)};

	eq_put_tcp(c->dev, eq, &ev, c->rx + done, n);
	c->rx_told += n;
	return c->rx_told < c->rx_base + c->rx_len;
}

static void conn_emit_one(struct rnic_conn *c, struct eq *eq, const struct conn_event *e)
{
	struct ornic_teqe ev = {.type = e->type, .conn_id = cpu_to_le32(c->id)};
	const void *data = NULL;
	u32 len = 0;

	ev.info = cpu_to_le32(e->info);
	switch (e->type) {
	case ORNIC_TCP_ESTABLISHED:
		data = &c->est;
		len = sizeof(c->est);
		break;
	case ORNIC_TCP_PEER_FIN:
		ev.offset = cpu_to_le64(c->rx_base + c->rx_len);
		break;
	case ORNIC_TCP_TERM_SENT:
		data = &c->term_sent;
		len = c->term_sent_len;
		break;
	case ORNIC_TCP_TERM_RCVD:
		data = &c->term_rcvd;
		len = c->term_rcvd_len;
		break;
	}
	eq_put_tcp(c->dev, eq, &ev, data, len);
}

static bool conn_emit(struct rnic *dev, struct eq *eq, struct eq_src *src)
{
	struct rnic_conn *c = container_of(src, struct rnic_conn, src);
	struct conn_event e = c->ev[0];

	if (e.type == ORNIC_TCP_STREAM_RX) {
		if (!conn_emit_stream(c, eq))
			conn_pop(c);
	} else {
		conn_pop(c);
		conn_emit_one(c, eq, &e);
	}
	return c->nev;
}

/*
 * Each event but STREAM_RX comes once per connection, and one STREAM_RX stands for all bytes that
 * the host has not seen; so the list cannot run over.
 */
void conn_push(struct rnic_conn *c, enum ornic_tcp_event type, u32 info)
{
	struct eq *eq = eq_tcp(c->dev);

	if (c->nev == CONN_MAX_EVENTS)
		return;
	c->ev[c->nev++] = (struct conn_event){.type = (u8)type, .info = info};
	c->src.emit = conn_emit;
	if (eq)
		eq_kick(c->dev, eq, &c->src);
}

void conn_events_resume(struct rnic *dev)
{
	struct eq *eq = eq_tcp(dev);
	u32 i;

	for (i = 0; eq && i < RNIC_MAX_CONN; i++)
		if (dev->conns->conn[i] && dev->conns->conn[i]->nev)
			eq_kick(dev, eq, &dev->conns->conn[i]->src);
}

static bool conn_has_event(const struct rnic_conn *c, enum ornic_tcp_event type)
{
	u32 i;

	for (i = 0; i < c->nev; i++)
		if (c->ev[i].type == type)
			return true;
	return false;
}

/* ---- called by the iWARP engine ---- */

void conn_first_fpdu(struct rnic_conn *c)
{
	conn_push(c, ORNIC_TCP_FIRST_FPDU, 0);
}

void conn_term_sent(struct rnic_conn *c, const struct ornic_terminate *term, u32 len)
{
	if (c->term_sent_len)
		return;
	c->term_sent = *term;
	c->term_sent_len = (u8)len;
	conn_push(c, ORNIC_TCP_TERM_SENT, 0);
}

void conn_term_rcvd(struct rnic_conn *c, const struct ornic_terminate *term, u32 len)
{
	if (c->term_rcvd_len)
		return;
	c->term_rcvd = *term;
	c->term_rcvd_len = (u8)len;
	conn_push(c, ORNIC_TCP_TERM_RCVD, 0);
}

void conn_close(struct rnic_conn *c)
{
	if (c->state == ORNIC_CONN_ENDED)
		return;
	c->state = ORNIC_CONN_CLOSING;
	tcp_close(c->tcp);
}

void conn_unbind(struct rnic_conn *c)
{
	c->qp = NULL;
}

void conn_abort(struct rnic_conn *c, enum ornic_abort why)
{
	c->qp = NULL;
	if (c->state == ORNIC_CONN_ENDED)
		return;
	c->abort_why = (u8)why;
	tcp_abort(c->tcp);
}

/* ---- streaming mode ---- */

void conn_drop_stream(struct rnic_conn *c)
{
	u32 i, n = 0;

	for (i = 0; i < c->nev; i++)
		if (c->ev[i].type != ORNIC_TCP_STREAM_RX)
			c->ev[n++] = c->ev[i];
	c->nev = (u8)n;
	if (!c->nev)
		eq_src_cancel(&c->src);
	c->rx_base += c->rx_len;
	c->rx_told = c->rx_base;
	c->rx_len = 0;
}

void conn_feed_qp(struct rnic_conn *c, u64 offset)
{
	u32 skip = (u32)(offset - c->rx_base), n = c->rx_len - skip, done = 0;
	u8 *rx = c->rx;
	size_t took;

	/* The QP may end the connection over these bytes; then the rest is nobody's. */
	c->rx = NULL;
	conn_drop_stream(c);
	while (done < n && c->qp) {
		took = iw_rx(c->qp, rx + skip + done, n - done);
		if (!took)
			break;
		done += (u32)took;
	}
	free(rx);
}

static size_t conn_rx_stream(struct rnic_conn *c, const void *data, size_t len)
{
	u32 n = min_t(u32, len, RNIC_STREAM_MAX - c->rx_len);

	if (!n)
		return 0;
	memcpy(c->rx + c->rx_len, data, n);
	c->rx_len += n;
	if (!conn_has_event(c, ORNIC_TCP_STREAM_RX))
		conn_push(c, ORNIC_TCP_STREAM_RX, 0);
	return n;
}

/* ---- called by the TCP engine ---- */

static uint64_t conn_op_now(void *ctx)
{
	struct rnic *dev = ctx;

	return loop_now(dev->loop);
}

static u32 conn_op_random32(void *ctx)
{
	struct rnic *dev = ctx;
	struct conn_table *t = dev->conns;

	if (!t->nrandom) {
		if (getrandom(t->random, sizeof(t->random), 0) != sizeof(t->random)) {
			log_err("no randomness: %s", strerror(errno));
			abort();
		}
		t->nrandom = ARRAY_SIZE(t->random);
	}
	return t->random[--t->nrandom];
}

static int conn_op_xmit(void *ctx, const struct iovec *iov, int cnt, const struct tcp_tx_meta *meta)
{
	return nic_tcp_xmit(ctx, iov, cnt, meta);
}

static u8 *conn_op_room(void *ctx, size_t len)
{
	return nic_tcp_room(ctx, len);
}

static void conn_op_to_host(void *ctx, const void *frame, size_t len, unsigned int csum_flags)
{
	nic_to_host(ctx, frame, len, csum_flags);
}

static bool conn_op_conn_req(void *ctx, u32 listener, u32 syn_id, const void *frame, size_t len,
			     const struct tcp_syn_info *info)
{
	struct ornic_teqe ev = {.type = ORNIC_TCP_CONN_REQ};
	struct rnic *dev = ctx;
	struct eq *eq = eq_tcp(dev);

	if (!eq || !eq_has_room(eq) || len > ORNIC_TEQ_SLOT_SIZE)
		return false;
	ev.listen_id = cpu_to_le32(listener);
	ev.syn_id = cpu_to_le32(syn_id);
	ev.info = cpu_to_le32(info->looped ? ORNIC_CONN_REQ_LOOPED : 0);
	eq_put_tcp(dev, eq, &ev, frame, (u32)len);
	eq_fire(dev, eq);
	return true;
}

static void conn_established(struct rnic_conn *c)
{
	struct tcp_conn_info i;
	u16 options = 0;

	tcp_conn_info(c->tcp, &i);
	if (i.timestamps)
		options |= ORNIC_TCPO_TIMESTAMPS;
	if (i.sack)
		options |= ORNIC_TCPO_SACK;
	if (c->options & ORNIC_TCPO_WSCALE && (i.snd_shift || i.rcv_shift))
		options |= ORNIC_TCPO_WSCALE;
	options |= c->options & (ORNIC_TCPO_KEEPALIVE | ORNIC_TCPO_NAGLE);
	c->options = options;
	c->est.snd_mss = cpu_to_le16(i.emss);
	c->est.rcv_mss = cpu_to_le16(i.my_mss);
	c->est.options = cpu_to_le16(options);
	c->est.snd_wscale = i.snd_shift;
	c->est.rcv_wscale = i.rcv_shift;
	c->est.isn_snd = cpu_to_le32(i.snd_una - 1);
	c->est.isn_rcv = cpu_to_le32(i.rcv_nxt - 1);
	c->established = true;
	c->dev->conns->estab++;
	if (c->state == ORNIC_CONN_OPENING)
		c->state = ORNIC_CONN_STREAM;
	conn_push(c, ORNIC_TCP_ESTABLISHED, 0);
}

static u32 conn_end_info(const struct rnic_conn *c, enum tcp_event ev, u32 info)
{
	if (ev == TCP_EV_TIMEOUT)
		return info + ORNIC_TIMER_SYN;
	if (ev != TCP_EV_ABORTED)
		return info;
	if (c->abort_why)
		return c->abort_why;
	return info == TCP_ABORT_GATHER ? ORNIC_ABORT_DMA : ORNIC_ABORT_COMMAND;
}

/* The QP's completions come before the event, so that who sees the event finds them. */
static void conn_ended(struct rnic_conn *c, enum tcp_event ev, u32 info)
{
	static const u8 type[] = {
		[TCP_EV_CLOSED] = ORNIC_TCP_CLOSED,	[TCP_EV_REFUSED] = ORNIC_TCP_REFUSED,
		[TCP_EV_PEER_RST] = ORNIC_TCP_PEER_RST, [TCP_EV_ABORTED] = ORNIC_TCP_ABORTED,
		[TCP_EV_TIMEOUT] = ORNIC_TCP_TIMEOUT,	[TCP_EV_UNREACH] = ORNIC_TCP_UNREACH,
	};
	struct iw_qp *qp = c->qp;

	conn_set_ended(c);
	c->qp = NULL;
	if (qp)
		iw_conn_lost(qp);
	conn_push(c, type[ev], conn_end_info(c, ev, info));
}

static void conn_op_event(void *ctx, struct tcp_conn *tcp, enum tcp_event ev, u32 info)
{
	struct rnic_conn *c = tcp_conn_user(tcp);

	c->tcp = tcp;
	switch (ev) {
	case TCP_EV_ESTABLISHED:
		conn_established(c);
		break;
	case TCP_EV_PEER_FIN:
		c->peer_fin = true;
		conn_push(c, ORNIC_TCP_PEER_FIN, 0);
		if (c->qp)
			iw_peer_fin(c->qp);
		break;
	case TCP_EV_FIN_ACKED:
		conn_push(c, ORNIC_TCP_FIN_ACKED, 0);
		if (c->qp)
			iw_fin_acked(c->qp);
		break;
	default:
		conn_ended(c, ev, info);
	}
}

static size_t conn_op_rx(void *ctx, struct tcp_conn *tcp, const void *data, size_t len)
{
	struct rnic_conn *c = tcp_conn_user(tcp);

	c->tcp = tcp;
	if (c->qp)
		return iw_rx(c->qp, data, len);
	/* After RDMA mode, or when no more is wanted: nobody's bytes. */
	if (!c->rx)
		return len;
	return conn_rx_stream(c, data, len);
}

static int conn_op_gather(void *ctx, struct tcp_conn *tcp, const struct tcp_record *record, u32 off,
			  u32 len, struct tcp_gather *g)
{
	struct rnic_conn *c = tcp_conn_user(tcp);

	return c->qp ? iw_gather(c->qp, record, off, len, g) : -ENOTCONN;
}

static void conn_op_pull(void *ctx, struct tcp_conn *tcp)
{
	struct rnic_conn *c = tcp_conn_user(tcp);

	if (c->qp)
		iw_pull(c->qp);
}

static void conn_op_acked(void *ctx, struct tcp_conn *tcp, const struct tcp_record *record)
{
	struct rnic_conn *c = tcp_conn_user(tcp);

	if (c->qp)
		iw_acked(c->qp, record);
}

const struct tcp_engine_ops conn_tcp_ops = {
	.now = conn_op_now,
	.random32 = conn_op_random32,
	.xmit = conn_op_xmit,
	.room = conn_op_room,
	.to_host = conn_op_to_host,
	.conn_req = conn_op_conn_req,
	.event = conn_op_event,
	.rx = conn_op_rx,
	.gather = conn_op_gather,
	.pull = conn_op_pull,
	.record_acked = conn_op_acked,
};

void conn_run(struct rnic *dev)
{
	u64 deadline = tcp_engine_deadline(dev->tcp), now = loop_now(dev->loop);

	if (deadline <= now) {
		tcp_engine_run(dev->tcp, now);
		deadline = tcp_engine_deadline(dev->tcp);
	}
	if (deadline == TCP_NO_DEADLINE)
		loop_timer_cancel(&dev->tcp_timer);
	else if (!dev->tcp_timer.armed || dev->tcp_timer.deadline != deadline)
		loop_timer_set(&dev->tcp_timer, deadline);
}
