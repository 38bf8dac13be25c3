// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cmrate: connections a second over rdma_cm, and what an idle one costs a machine's memory.
 *
 *   cmrate -S ADDR               serve clients at ADDR
 *   cmrate -c ADDR -n COUNT      open COUNT connections one after another, keep them, close them
 *
 * An opened one is ESTABLISHED; all are closed when each has ended here and the server has come to
 * the last one, too. In between the client prints what its machine has given out for each of them,
 * the page cache left out: for the kernel, of that the slab and vmalloc, and with what programs
 * have. Queues are as small as they can be, the CQ is shared, nothing is registered or posted.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>

#define PORT	  7778
#define COUNT_MAX 16384
#define WAIT_MS	  20000 /* for an event that is due */
#define SETTLE_S  2 /* until what was freed is free */

/*
 * Room for all. Also, libsiw takes a mapping at 0x90000 for none at all, so without one that is
 * larger than that a program has no more than 71 QPs over siw.
 */
#define CQ_DEPTH (2 * COUNT_MAX)

static struct rdma_event_channel *events;
static struct ibv_cq *cq; /* of every connection */

static void die(const char *what)
{
	fprintf(stderr, "cmrate: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void new_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};

	if (!cq)
		cq = ibv_create_cq(id->verbs, CQ_DEPTH, NULL, NULL, 0);
	if (!cq)
		die("ibv_create_cq");
	attr.send_cq = cq;
	attr.recv_cq = cq;
	if (rdma_create_qp(id, NULL, &attr))
		die("rdma_create_qp");
}

static void gone(struct rdma_cm_id *id)
{
	rdma_disconnect(id);
	rdma_destroy_qp(id);
	if (rdma_destroy_id(id))
		die("rdma_destroy_id");
}

static struct sockaddr_in parse(const char *addr)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(PORT)};

	if (inet_pton(AF_INET, addr, &in.sin_addr) == 1)
		return in;
	fprintf(stderr, "cmrate: no such address: %s\n", addr);
	exit(1);
}

/* --- memory --------------------------------------------------------------------------------- */

/* KiB that the machine has given out, the page cache left out. */
struct memory {
	long all;
	long kernel;
	long slab;
	long vmalloc;
};

/* The sum of all lines "NAME: NUMBER" of a file. */
static long sum(const char *path, const char *name)
{
	FILE *file = fopen(path, "r");
	char line[256], word[64];
	long value, found = 0;

	if (!file)
		die(path);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, " %63[^:]: %ld", word, &value) == 2 && !strcmp(word, name))
			found += value;
	fclose(file);
	return found;
}

static long meminfo(const char *name)
{
	return sum("/proc/meminfo", name);
}

/* Free pages that the CPUs keep at hand are not in MemFree. */
static struct memory memory(void)
{
	struct memory m = {.slab = meminfo("Slab"), .vmalloc = meminfo("VmallocUsed")};
	long at_hand = sum("/proc/zoneinfo", "count") * (sysconf(_SC_PAGESIZE) / 1024);

	m.all = meminfo("MemTotal") - meminfo("MemFree") - at_hand - meminfo("Buffers") -
		meminfo("Cached") - meminfo("SwapCached");
	m.kernel = m.all - meminfo("AnonPages");
	return m;
}

static void print_each(const struct memory *a, const struct memory *b, unsigned int count)
{
	double each = 1024.0 / count;

	printf("kernel: %.0f bytes a connection, of that slab %.0f and vmalloc %.0f\n",
	       (b->kernel - a->kernel) * each, (b->slab - a->slab) * each,
	       (b->vmalloc - a->vmalloc) * each);
	printf("machine: %.0f bytes a connection\n", (b->all - a->all) * each);
}

/* --- client --------------------------------------------------------------------------------- */

/* The next event, which must be of this kind. */
static struct rdma_cm_id *expect(enum rdma_cm_event_type want)
{
	struct pollfd fd = {.fd = events->fd, .events = POLLIN};
	struct rdma_cm_event *ev;
	struct rdma_cm_id *id;

	if (poll(&fd, 1, WAIT_MS) != 1) {
		fprintf(stderr, "cmrate: no %s in %d ms\n", rdma_event_str(want), WAIT_MS);
		exit(1);
	}
	if (rdma_get_cm_event(events, &ev))
		die("rdma_get_cm_event");
	if (ev->event != want) {
		fprintf(stderr, "cmrate: %s (status %d) instead of %s\n", rdma_event_str(ev->event),
			ev->status, rdma_event_str(want));
		exit(1);
	}
	id = ev->id;
	rdma_ack_cm_event(ev);
	return id;
}

static struct rdma_cm_id *open_one(struct sockaddr_in *to)
{
	struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1};
	struct rdma_cm_id *id;

	if (rdma_create_id(events, &id, NULL, RDMA_PS_TCP))
		die("rdma_create_id");
	if (rdma_resolve_addr(id, NULL, (struct sockaddr *)to, WAIT_MS))
		die("rdma_resolve_addr");
	expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	if (rdma_resolve_route(id, WAIT_MS))
		die("rdma_resolve_route");
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
	new_qp(id);
	if (rdma_connect(id, &param))
		die("rdma_connect");
	expect(RDMA_CM_EVENT_ESTABLISHED);
	return id;
}

/*
 * The peer has to agree to the end of a connection with some RNICs before this end hears of it, and
 * not with others. The server takes what happens in turn, so when it accepts another connection it
 * is done with these.
 */
static struct rdma_cm_id *close_all(struct sockaddr_in *to, struct rdma_cm_id **ids,
				    unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (rdma_disconnect(ids[i]))
			die("rdma_disconnect");
	for (i = 0; i < count; i++)
		gone(expect(RDMA_CM_EVENT_DISCONNECTED));
	return open_one(to);
}

static int client(const char *addr, unsigned int count)
{
	struct rdma_cm_id **ids = calloc(count, sizeof(*ids)), *last;
	struct sockaddr_in to = parse(addr);
	struct memory before, after;
	unsigned int i;
	double t;

	if (!ids)
		die("calloc");
	gone(open_one(&to)); /* all that there is once is there: the neighbour, the PD, the CQ */
	sleep(SETTLE_S);
	before = memory();
	t = seconds();
	for (i = 0; i < count; i++)
		ids[i] = open_one(&to);
	printf("opened: %.1f a second\n", count / (seconds() - t));
	sleep(SETTLE_S);
	after = memory();
	print_each(&before, &after, count);
	t = seconds();
	last = close_all(&to, ids, count);
	printf("closed: %.1f a second\n", count / (seconds() - t));
	gone(last);
	free(ids);
	return 0;
}

/* --- server --------------------------------------------------------------------------------- */

static void handle(enum rdma_cm_event_type what, struct rdma_cm_id *id)
{
	struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1};

	switch (what) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		new_qp(id);
		if (rdma_accept(id, &param))
			die("rdma_accept");
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		break;
	default:
		gone(id);
	}
}

static int server(const char *addr)
{
	struct sockaddr_in local = parse(addr);
	enum rdma_cm_event_type what;
	struct rdma_cm_id *listener, *id;
	struct rdma_cm_event *ev;

	if (rdma_create_id(events, &listener, NULL, RDMA_PS_TCP))
		die("rdma_create_id");
	if (rdma_bind_addr(listener, (struct sockaddr *)&local) || rdma_listen(listener, 128))
		die("rdma_listen");
	while (!rdma_get_cm_event(events, &ev)) {
		what = ev->event;
		id = ev->id;
		rdma_ack_cm_event(ev);
		handle(what, id);
	}
	die("rdma_get_cm_event");
	return 1;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: cmrate -S ADDR\n"
		"       cmrate -c ADDR -n COUNT\n"
		"       COUNT 1..%u\n",
		COUNT_MAX);
	return 2;
}

int main(int argc, char **argv)
{
	const char *connect = NULL, *serve = NULL;
	unsigned long count = 1024;
	int opt;

	while ((opt = getopt(argc, argv, "S:c:n:")) != -1) {
		if (opt == 'S')
			serve = optarg;
		else if (opt == 'c')
			connect = optarg;
		else if (opt == 'n')
			count = strtoul(optarg, NULL, 0);
		else
			return usage();
	}
	if (!serve == !connect || optind != argc || !count || count > COUNT_MAX)
		return usage();
	setvbuf(stdout, NULL, _IOLBF, 0);
	events = rdma_create_event_channel();
	if (!events)
		die("rdma_create_event_channel");
	return serve ? server(serve) : client(connect, count);
}
