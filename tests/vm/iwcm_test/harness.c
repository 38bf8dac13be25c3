// SPDX-License-Identifier: GPL-2.0-or-later
/* Ids, QPs, listeners, and waiting for what must come. */
#define pr_fmt(fmt) "iwcm_test: " fmt
#include <linux/delay.h>
#include <linux/slab.h>

#include "iwcm_test.h"

/* A peer's port of the load before may be in TIME_WAIT still: each suite has ports of its own. */
u16 next_port(void)
{
	static u16 used;

	return policy.port + used++;
}

struct ib_qp *qp_new(struct test_dev *d)
{
	struct ib_qp_init_attr attr = {
		.send_cq = d->cq,
		.recv_cq = d->cq,
		.cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1},
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_qp *qp = ib_create_qp(d->pd, &attr);

	if (IS_ERR(qp)) {
		CHECK(0, "no QP: %ld", PTR_ERR(qp));
		return NULL;
	}
	qp_to(qp, IB_QPS_INIT);
	return qp;
}

void qp_to(struct ib_qp *qp, enum ib_qp_state state)
{
	struct ib_qp_attr attr = {.qp_state = state};

	CHECK_EQ(ib_modify_qp(qp, &attr, IB_QP_STATE), 0);
}

static void note_data(struct end *e, const struct iw_cm_event *ev)
{
	e->ird = ev->ird;
	e->ord = ev->ord;
	e->pd_len = ev->private_data_len;
	if (e->pd_len)
		memcpy(e->pd, ev->private_data, e->pd_len);
}

/* The rules of the event table, on the consumer's side. */
static void note(struct end *e, const struct iw_cm_event *ev)
{
	bool up = (e->replies && !e->reply_status) || e->established;

	switch (ev->event) {
	case IW_CM_EVENT_CONNECT_REPLY:
		if (e->replies++ || e->established || e->closes)
			e->wrong++;
		e->reply_status = ev->status;
		note_data(e, ev);
		break;
	case IW_CM_EVENT_ESTABLISHED:
		if (e->established++ || e->replies || e->closes)
			e->wrong++;
		e->est_status = ev->status;
		e->ird = ev->ird;
		e->ord = ev->ord;
		break;
	case IW_CM_EVENT_CLOSE:
		if (e->closes++ || !up)
			e->wrong++;
		break;
	default:
		e->wrong++;
	}
}

static int end_handler(struct iw_cm_id *id, struct iw_cm_event *ev)
{
	struct end *e = id->context;
	int ret;

	spin_lock(&e->lock);
	note(e, ev);
	ret = e->ret[ev->event];
	if (ret)
		e->destroyed = true;
	spin_unlock(&e->lock);
	wake_up_all(&e->wait);
	return ret;
}

static struct end *end_alloc(void)
{
	struct end *e = kzalloc(sizeof(*e), GFP_KERNEL | __GFP_NOFAIL);

	INIT_LIST_HEAD(&e->node);
	spin_lock_init(&e->lock);
	init_waitqueue_head(&e->wait);
	return e;
}

struct end *end_new(struct test_dev *d)
{
	struct end *e = end_alloc();

	e->id = iw_create_cm_id(d->ib, end_handler, e);
	if (IS_ERR(e->id)) {
		CHECK(0, "no id: %ld", PTR_ERR(e->id));
		e->id = NULL;
	}
	e->qp = qp_new(d);
	return e;
}

/* The QP first: with the id's reference to it this is how killed programs end. */
void end_free(struct end *e)
{
	if (!e)
		return;
	if (e->qp)
		CHECK_EQ(ib_destroy_qp(e->qp), 0);
	if (e->id && !e->destroyed)
		iw_destroy_cm_id(e->id);
	CHECK_EQ(e->wrong, 0);
	kfree(e);
}

static void set_addr(struct sockaddr_storage *ss, __be32 addr, u16 p)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)ss;

	memset(ss, 0, sizeof(*ss));
	sin->sin_family = AF_INET;
	sin->sin_addr.s_addr = addr;
	sin->sin_port = htons(p);
}

int end_connect(struct end *e, __be32 to, u16 p, u32 ird, u32 ord, const void *pd, u16 len)
{
	struct iw_cm_conn_param param = {
		.private_data = pd,
		.private_data_len = len,
		.ird = ird,
		.ord = ord,
		.qpn = e->qp ? e->qp->qp_num : 0xffffff,
	};
	__be32 from = e->id->device == dev[0].ib ? dev[0].addr : dev[1].addr;
	int ret;

	set_addr(&e->id->local_addr, from, next_port());
	set_addr(&e->id->remote_addr, to, p);
	ret = iw_cm_connect(e->id, &param);
	e->connecting = !ret;
	return ret;
}

int end_accept(struct end *e, struct test_dev *d, u32 ird, u32 ord, const void *pd, u16 len)
{
	struct iw_cm_conn_param param = {
		.private_data = pd, .private_data_len = len, .ird = ird, .ord = ord};
	int ret;

	if (!e->qp)
		e->qp = qp_new(d);
	param.qpn = e->qp->qp_num;
	ret = iw_cm_accept(e->id, &param);
	e->accepting = !ret;
	return ret;
}

bool end_wait(struct end *e, const int *counter, int want, int ms)
{
	wait_event_timeout(e->wait, READ_ONCE(*counter) >= want, msecs_to_jiffies(ms));
	return READ_ONCE(*counter) >= want;
}

/* One CONNECT_REPLY with this status, then nothing. */
void end_check_failed_connect(struct end *e, int status)
{
	CHECK(end_wait(e, &e->replies, 1, 30000), "no CONNECT_REPLY");
	CHECK_EQ(e->reply_status, status);
	msleep(50);
	CHECK_EQ(e->replies, 1);
	CHECK_EQ(e->closes, 0);
}

void end_check_connected(struct end *e)
{
	CHECK(end_wait(e, &e->replies, 1, 30000), "no CONNECT_REPLY");
	CHECK_EQ(e->reply_status, 0);
	CHECK_EQ(e->closes, 0);
}

void end_check_closed(struct end *e)
{
	CHECK(end_wait(e, &e->closes, 1, 30000), "no CLOSE");
	msleep(50);
	CHECK_EQ(e->closes, 1);
}

/* All that is owed has come or comes, once, and nothing else. The QP is in ERR, or gone. */
void end_check_told(struct end *e)
{
	int *first = e->connecting ? &e->replies : &e->established;
	bool owed = e->connecting || e->accepting;
	bool close = owed;

	if (e->destroyed)
		return;
	if (owed) {
		CHECK(end_wait(e, first, 1, 30000), "no first event");
		close = e->accepting || !e->reply_status;
		CHECK(!close || end_wait(e, &e->closes, 1, 30000), "no CLOSE");
	}
	CHECK_EQ(e->replies, e->connecting);
	CHECK_EQ(e->established, e->accepting);
	CHECK_EQ(e->closes, close);
	CHECK_EQ(e->wrong, 0);
}

/* Nothing of the network may be waited for: the shortest time-out there is far longer. */
static void check_prompt(unsigned long since, const char *what)
{
	CHECK(time_before(jiffies, since + 10 * HZ), "%s took %u ms", what,
	      jiffies_to_msecs(jiffies - since));
}

void end_destroy_qp(struct end *e)
{
	unsigned long t = jiffies;

	if (!e->qp)
		return;
	CHECK_EQ(ib_destroy_qp(e->qp), 0);
	e->qp = NULL;
	check_prompt(t, "destroy_qp");
}

void end_destroy_id(struct end *e)
{
	unsigned long t = jiffies;

	if (!e->destroyed)
		iw_destroy_cm_id(e->id);
	e->id = NULL;
	check_prompt(t, "destroy_cm_id");
}

static int lis_handler(struct iw_cm_id *id, struct iw_cm_event *ev)
{
	struct lis *l = id->context;
	struct end *e;
	int ret;

	if (ev->event != IW_CM_EVENT_CONNECT_REQUEST || ev->status) {
		CHECK(0, "event %d, status %d", ev->event, ev->status);
		return 0;
	}
	spin_lock(&l->lock);
	l->requests++;
	ret = l->ret;
	spin_unlock(&l->lock);
	if (!ret) {
		e = end_alloc();
		e->id = id;
		note_data(e, ev);
		id->context = e;
		id->cm_handler = end_handler;
		spin_lock(&l->lock);
		list_add_tail(&e->node, &l->children);
		spin_unlock(&l->lock);
	}
	wake_up_all(&l->wait);
	return ret;
}

struct lis *lis_new(struct test_dev *d, u16 p, int backlog, int *err)
{
	struct lis *l = kzalloc(sizeof(*l), GFP_KERNEL | __GFP_NOFAIL);
	int ret;

	spin_lock_init(&l->lock);
	init_waitqueue_head(&l->wait);
	INIT_LIST_HEAD(&l->children);
	l->id = iw_create_cm_id(d->ib, lis_handler, l);
	set_addr(&l->id->local_addr, d->addr, p);
	ret = iw_cm_listen(l->id, backlog);
	if (err)
		*err = ret;
	else
		CHECK_EQ(ret, 0);
	return l;
}

void lis_destroy_id(struct lis *l)
{
	if (l->id)
		iw_destroy_cm_id(l->id);
	l->id = NULL;
}

/* Listener first, then the children that nobody took. */
void lis_free(struct lis *l)
{
	struct end *e, *next;

	lis_destroy_id(l);
	list_for_each_entry_safe (e, next, &l->children, node)
		end_free(e);
	kfree(l);
}

static struct end *lis_pop(struct lis *l)
{
	struct end *e;

	spin_lock(&l->lock);
	e = list_first_entry_or_null(&l->children, struct end, node);
	if (e)
		list_del_init(&e->node);
	spin_unlock(&l->lock);
	return e;
}

/* The next request, NULL when none comes in time. */
struct end *lis_take(struct lis *l, int ms)
{
	struct end *e = NULL;

	wait_event_timeout(l->wait, (e = lis_pop(l)), msecs_to_jiffies(ms));
	return e;
}

long dev_counter(struct test_dev *d, const char *name)
{
	int i;

	d->stats->lifespan = 0;
	d->ib->ops.get_hw_stats(d->ib, d->stats, 1, 0);
	for (i = 0; i < d->stats->num_counters; i++)
		if (!strcmp(d->stats->descs[i].name, name))
			return d->stats->value[i];
	return -1;
}

void dev_wait_counter(struct test_dev *d, const char *name, long want)
{
	int ms;

	for (ms = 0; ms < 10000 && dev_counter(d, name) != want; ms += 20)
		msleep(20);
	CHECK(dev_counter(d, name) == want, "%s: %ld, expected %ld", name, dev_counter(d, name),
	      want);
}

/* Nothing may be left behind; what still closes has a time-out of its own. */
void wait_no_endpoints(void)
{
	int i, ms;

	for (i = 0; i < 2; i++) {
		for (ms = 0; ms < 2 * mpa_ms + 5000; ms += 20) {
			if (!dev_counter(&dev[i], "cm_endpoints"))
				break;
			msleep(20);
		}
		CHECK_EQ(dev_counter(&dev[i], "cm_endpoints"), 0);
		CHECK_EQ(dev_counter(&dev[i], "cm_listeners"), 0);
	}
}

/* Number of completions, 0 or 1. */
int wait_wc(struct test_dev *d, struct ib_wc *wc, int ms)
{
	unsigned long end = jiffies + msecs_to_jiffies(ms);
	bool late;
	int n;

	for (;;) {
		late = time_after(jiffies, end);
		n = ib_poll_cq(d->cq, 1, wc);
		if (n || late)
			return n;
		usleep_range(100, 200);
	}
}
