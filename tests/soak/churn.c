// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * churn: connections that come, transfer and end in every way, each judged by what rdma_cm and the
 * completion queue owe it.
 *
 *   churn [-w MS] -S ADDR                       serve at ADDR until SIGTERM
 *   churn [-w MS] -c ADDR -t SECONDS [-r SEED]  connect, transfer, end, again and again
 *
 * The work is done by a process churn-server or churn-client, and by the next one if it is killed.
 * One line per connection: an outcome and, but for "ok", why:
 *   ok           all data was right, and it ended as its ends had agreed
 *   lost         it was up, and ended otherwise; its end was told, and all work came back
 *   removed      DEVICE_REMOVAL came
 *   unborn       (server) accepted, never up
 *   refused, unreachable, failed    (client) the event that answered the connect
 *   unresolved   (client) no address or route
 *   no-device    (client) there is no RNIC to set it up with
 *   no-listener  (server) it cannot listen
 *   wrong        against the rules: wrong data, no event in time, one too many, work that stays
 * away
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "churn.h"

int churn_wait_ms = 20000;

struct task {
	const char *addr;
	bool serves;
	int64_t until;
	unsigned int seed;
};

int64_t churn_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void churn_fill(uint8_t *to, size_t len, uint32_t seed)
{
	for (size_t i = 0; i < len; i++) {
		seed = seed * 1664525 + 1013904223; /* Numerical Recipes */
		to[i] = (uint8_t)(seed >> 24);
	}
}

bool churn_same(const uint8_t *data, size_t len, uint32_t seed)
{
	for (size_t i = 0; i < len; i++) {
		seed = seed * 1664525 + 1013904223;
		if (data[i] != (uint8_t)(seed >> 24))
			return false;
	}
	return true;
}

static bool create_qp(struct churn *c)
{
	struct ibv_qp_init_attr attr = {
		.cap = {.max_send_wr = 8,
			.max_recv_wr = CHURN_RECVS,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	c->channel = ibv_create_comp_channel(c->id->verbs);
	c->cq = c->channel ? ibv_create_cq(c->id->verbs, 16, c, c->channel, 0) : NULL;
	if (!c->cq || ibv_req_notify_cq(c->cq, 0))
		return false;
	attr.send_cq = c->cq;
	attr.recv_cq = c->cq;
	return !rdma_create_qp(c->id, NULL, &attr);
}

bool churn_setup(struct churn *c)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

	c->buf = aligned_alloc(4096, sizeof(*c->buf));
	if (!c->buf || !create_qp(c))
		return false;
	c->mr = ibv_reg_mr(c->id->pd, c->buf, sizeof(*c->buf), access);
	if (!c->mr)
		return false;
	for (unsigned int slot = 0; slot < CHURN_RECVS; slot++)
		if (!churn_post_recv(c, slot))
			return false;
	return true;
}

/* CQ events that were not fetched have not been counted either: they need no acknowledgment. */
void churn_teardown(struct churn *c)
{
	if (c->id && c->id->qp)
		rdma_destroy_qp(c->id);
	if (c->mr)
		ibv_dereg_mr(c->mr);
	if (c->cq)
		ibv_destroy_cq(c->cq);
	if (c->channel)
		ibv_destroy_comp_channel(c->channel);
	if (c->id)
		rdma_destroy_id(c->id);
	free(c->buf);
	memset(c, 0, sizeof(*c));
}

bool churn_post_recv(struct churn *c, unsigned int slot)
{
	struct ibv_sge sge = {(uintptr_t)c->buf->recv[slot], CHURN_MSG, c->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = slot, .sg_list = &sge, .num_sge = 1}, *bad;

	if (ibv_post_recv(c->id->qp, &wr, &bad))
		return false;
	c->posted++;
	return true;
}

bool churn_post_send(struct churn *c, enum ibv_wr_opcode opcode, const void *from, uint32_t len,
		     const struct churn_target *target)
{
	struct ibv_sge sge = {(uintptr_t)from, len, c->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = opcode}, *bad;

	if (target) {
		wr.wr.rdma.remote_addr = target->addr;
		wr.wr.rdma.rkey = target->rkey;
	}
	if (ibv_post_send(c->id->qp, &wr, &bad))
		return false;
	c->posted++;
	return true;
}

int churn_poll(struct churn *c, struct ibv_wc *wc, int max)
{
	int n = ibv_poll_cq(c->cq, max, wc);

	for (int i = 0; i < n; i++) {
		c->completed++;
		if (wc[i].status == IBV_WC_WR_FLUSH_ERR)
			c->flushed = true;
		else if (wc[i].status != IBV_WC_SUCCESS && !c->failed)
			c->failed = wc[i].status;
		else if (wc[i].status == IBV_WC_SUCCESS)
			c->succeeded++;
	}
	return n;
}

/* A device that is dead completes nothing; all connections of the process hear of it once. */
static bool device_dead(const struct churn *c)
{
	static bool dead;
	struct pollfd fd = {.fd = c->id->verbs->async_fd, .events = POLLIN};
	struct ibv_async_event ev;

	while (!dead && poll(&fd, 1, 0) == 1 && !ibv_get_async_event(c->id->verbs, &ev)) {
		dead = ev.event_type == IBV_EVENT_DEVICE_FATAL;
		ibv_ack_async_event(&ev);
	}
	return dead;
}

static const char *what_stays(const struct churn *c)
{
	static char text[128];
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(c->id->qp, &attr, IBV_QP_STATE, &init))
		return "work that did not come back, and the QP is gone";
	snprintf(text, sizeof(text), "work that did not come back: %u of %u, QP state %d",
		 c->posted - c->completed, c->posted, attr.qp_state);
	return text;
}

/* A QP that is disconnected with work under way waits for it as long as for the peer's FIN. */
void churn_drain(struct churn *c)
{
	int64_t until = churn_now_ms() + CHURN_PEER_MS + churn_wait_ms;
	struct ibv_wc wc[16];

	while (c->completed < c->posted && !c->removed && churn_now_ms() < until) {
		if (churn_poll(c, wc, 16) <= 0)
			poll(NULL, 0, 5);
		c->removed |= device_dead(c);
	}
	if (c->completed < c->posted && !c->removed)
		c->wrong = what_stays(c);
}

void churn_note(struct churn *c, const struct rdma_cm_event *ev)
{
	if (ev->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		c->removed = true;
	else if (ev->event != RDMA_CM_EVENT_DISCONNECTED)
		c->wrong = rdma_event_str(ev->event);
	else if (c->disconnected)
		c->wrong = "DISCONNECTED twice";
	else
		c->disconnected = true;
}

void churn_say(const char *outcome, const char *why)
{
	printf("%s%s%s\n", outcome, *why ? ": " : "", why);
	fflush(stdout);
}

static volatile sig_atomic_t told_to_end;

static void on_term(int number)
{
	(void)number;
	told_to_end = 1;
}

static int work(const struct task *task)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, task->serves ? "churn-server" : "churn-client");
	return task->serves ? churn_server(task->addr)
			    : churn_client(task->addr, task->until, task->seed);
}

/* Waits for the worker, and tells it to end when this process was told so. */
static int wait_for(pid_t worker)
{
	int status = 0;

	while (waitpid(worker, &status, 0) < 0 && errno == EINTR)
		if (told_to_end)
			kill(worker, SIGTERM);
	return status;
}

/* The work is done in a process that may be killed, or may have lost its device: then by another.
 */
static int supervise(struct task *task)
{
	struct sigaction term = {.sa_handler = on_term};
	pid_t worker;

	sigaction(SIGTERM, &term, NULL);
	while (!told_to_end && (task->serves || churn_now_ms() < task->until)) {
		worker = fork();
		if (!worker)
			_exit(work(task));
		if (worker > 0 && wait_for(worker) == 0)
			return 0;
		task->seed++;
		poll(NULL, 0, 500);
	}
	return 0;
}

static int usage(void)
{
	fprintf(stderr, "usage: churn [-w MS] -S ADDR | -c ADDR -t SECONDS [-r SEED]\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct task task = {.seed = (unsigned int)getpid()};
	int option, seconds = 0;

	while ((option = getopt(argc, argv, "w:S:c:t:r:")) != -1) {
		if (option == 'w')
			churn_wait_ms = atoi(optarg);
		else if (option == 'S' || option == 'c')
			task.addr = optarg;
		else if (option == 't')
			seconds = atoi(optarg);
		else if (option == 'r')
			task.seed = (unsigned int)atoi(optarg);
		else
			return usage();
		task.serves |= option == 'S';
	}
	if (!task.addr || task.serves == (seconds > 0) || churn_wait_ms <= 0)
		return usage();
	task.until = churn_now_ms() + seconds * 1000LL;
	return supervise(&task);
}
