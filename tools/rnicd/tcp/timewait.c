// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * TIME_WAIT: the connection is over for its owner, the tuple is kept as a small stub.
 */
#include "internal.h"

void timewait_drop(struct tcp_engine *e, struct timewait *tw)
{
	flow_remove(e, &tw->node);
	list_del(&tw->fifo);
	list_add_tail(&e->tw_free, &tw->fifo);
}

static struct timewait *timewait_get(struct tcp_engine *e)
{
	struct list *l = e->tw_free.next;

	if (list_empty(&e->tw_free)) {
		l = e->tw_fifo.next;
		timewait_drop(e, container_of_(l, struct timewait, fifo));
		e->stats.timewait_evicted++;
	}
	list_del(l);
	return container_of_(l, struct timewait, fifo);
}

static void timewait_restart(struct tcp_engine *e, struct timewait *tw)
{
	list_del(&tw->fifo);
	tw->due = e->now + e->cfg.timewait_ns;
	list_add_tail(&e->tw_fifo, &tw->fifo);
}

void timewait_enter(struct tcp_conn *c)
{
	struct tcp_engine *e = c->e;
	struct timewait *tw = timewait_get(e);
	struct flow f = c->node.flow;

	/* the last ACK goes out while there still is a connection to build it from */
	if (c->ack_now)
		send_ack(c);
	tw->snd_nxt = c->snd_max;
	tw->rcv_nxt = c->rcv_nxt;
	tw->ts_on = c->ts_on;
	tw->ts_recent = c->ts_recent;
	tw->ts_off = c->ts_off;
	tw->wnd = (uint16_t)(rx_window(c) >> c->rcv_shift);
	timewait_restart(e, tw);
	flow_remove(e, &c->node);
	flow_insert(e, &tw->node, FLOW_TIMEWAIT, &f);
	tcp_conn_terminal(c, TCP_EV_CLOSED, 0);
}

void timewait_expire(struct tcp_engine *e)
{
	while (!list_empty(&e->tw_fifo)) {
		struct timewait *tw = container_of_(e->tw_fifo.next, struct timewait, fifo);

		if (tw->due > e->now)
			break;
		timewait_drop(e, tw);
	}
}

static void timewait_ack(struct tcp_engine *e, struct timewait *tw, const struct seg_in *s)
{
	uint32_t ts[2] = {tw->ts_off + (uint32_t)(e->now / TCP_NS_PER_MS), tw->ts_recent};

	if (challenge_allowed(e, NULL))
		reply_to(e, s, tw->snd_nxt, tw->rcv_nxt, TH_ACK, tw->wnd, tw->ts_on ? ts : NULL);
}

/* RFC 9293 3.10.7.4 MAY-2, RFC 6191: a SYN that is clearly of a new incarnation */
static bool new_incarnation(const struct timewait *tw, const struct seg_in *s)
{
	if ((s->flags & (TH_SYN | TH_ACK | TH_RST | TH_FIN)) != TH_SYN)
		return false;
	if (tw->ts_on && s->ts && s->tsval != tw->ts_recent)
		return seq_gt(s->tsval, tw->ts_recent);
	return seq_gt(s->seq, tw->rcv_nxt);
}

/*
 * A segment for a stub. RST is not obeyed: RFC 1337 shows how an old one would end TIME_WAIT early.
 *
 * Return: true when the stub gave way and the SYN is to be taken as a new one.
 */
bool timewait_input(struct tcp_engine *e, struct timewait *tw, struct seg_in *s)
{
	if (s->flags & TH_RST)
		return false;
	if (new_incarnation(tw, s) && listener_find(e, s)) {
		timewait_drop(e, tw);
		return true;
	}
	/* RFC 9293 3.10.7.4: a retransmitted FIN is acknowledged and restarts the 2 MSL timer */
	if (s->flags & TH_FIN && s->seq + s->len + 1 == tw->rcv_nxt)
		timewait_restart(e, tw);
	if (s->len || s->flags & (TH_SYN | TH_FIN) || s->seq != tw->rcv_nxt)
		timewait_ack(e, tw, s);
	return false;
}
