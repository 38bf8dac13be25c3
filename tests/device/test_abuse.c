// SPDX-License-Identifier: GPL-2.0-or-later
/* Hosts, peers and clients that mean ill, and a system that gives no more: rnicd serves on. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pair.h"

static struct end a, b;

/* ---- helpers ---- */

/* User and system time that rnicd took so far, in clock ticks (10 ms). */
static long cpu_ticks(const struct drv *d)
{
	unsigned long user = 0, sys = 0;
	char path[64], line[1024];
	const char *p;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", d->pid);
	f = fopen(path, "r");
	CHECK(f && fgets(line, sizeof(line), f));
	fclose(f);
	p = strrchr(line, ')');
	CHECK(p &&
	      sscanf(p, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &sys) == 2);
	return (long)(user + sys);
}

/* What was to be done is done soon: then rnicd must sleep, not turn in circles. */
static void check_idle(struct drv *d)
{
	long before;

	for (int i = 0; i < 10; i++) {
		before = cpu_ticks(d);
		drv_sleep_ms(300);
		if (cpu_ticks(d) - before <= 3)
			return;
	}
	test_fail(__FILE__, __LINE__, "rnicd does not come to rest");
}

static void check_answers(struct drv *d)
{
	char *s = drv_ctl(d, "stats");

	CHECK(strlen(s) > 3 && !strcmp(s + strlen(s) - 3, "ok\n"));
	free(s);
	CHECK_EQ(drv_reg(d, ORNIC_REG_MAGIC), ORNIC_MAGIC);
}

static void check_ctl(struct drv *d, const char *line, const char *begin)
{
	char *s = drv_ctl(d, line);

	if (strncmp(s, begin, strlen(begin)))
		test_fail(__FILE__, __LINE__, "\"%s\" is answered by \"%s\"", line, s);
	free(s);
}

/* ---- a host that posts as fast as it is flushed ---- */

/* Deep, so that a pause of one side does not end the chase. */
#define CHASE_SHIFT 14
#define CHASE_RQ    (4u << 20)
#define CHASE_REC   (5u << 20)
#define CHASE_MEM   (6u << 20)
#define CHASE_MS    2000

/* Each flushed WR is followed by another one, from another CPU, for a while. */
static void chase(struct drv_cq *cq, struct ornic_cqe *ring, struct ornic_queue_rec *cq_rec,
		  struct ornic_queue_rec *qp_rec)
{
	u32 depth = 1u << cq->shift, ci = 0;
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		struct ornic_cqe *e = &ring[ci & (depth - 1)];
		u32 flags = le32_to_cpu(__atomic_load_n(&e->flags, __ATOMIC_ACQUIRE));

		if (!(flags & ORNIC_CQE_PHASE) == !(ci >> cq->shift & 1))
			continue;
		ci++;
		__atomic_store_n(&cq_rec->ci, cpu_to_le32(ci), __ATOMIC_RELEASE);
		__atomic_store_n(&qp_rec->pi, cpu_to_le32(ci + (1u << CHASE_SHIFT)),
				 __ATOMIC_RELEASE);
	} while (clock_gettime(CLOCK_MONOTONIC, &now), now.tv_sec - begin.tv_sec < CHASE_MS / 1000);
}

static void flush_chased(void)
{
	struct drv *d = drv_plain();
	struct ornic_queue_rec *cq_rec, *qp_rec;
	union drv_cmd c = drv_cmd(ORNIC_CMD_MODIFY_QP);
	struct ornic_cqe *ring;
	struct drv_cq cq;
	struct drv_qp qp;
	u32 pi = 1u << CHASE_SHIFT, answers = 0;
	int pid;

	drv_eq_new(d, 2, ORNIC_EQ_COMP, 5);
	cq = drv_cq_new(d, 9, 2, 16, 0);
	c.qp = drv_qp_cmd(d, &qp, 5, 7, 9, 9, 0, 0).qp;
	c.qp.sq_shift = CHASE_SHIFT;
	qp.mem = drv_alloc(d, CHASE_MEM);
	c.qp.sq_off = 0;
	c.qp.rq_off = cpu_to_le32(CHASE_RQ);
	c.qp.rec_off = cpu_to_le32(CHASE_REC);
	c.qp.mem = drv_qmem(qp.mem, CHASE_MEM);
	drv_do(d, &c);
	c = drv_cmd(ORNIC_CMD_MODIFY_QP);
	c.modify_qp.qpn = cpu_to_le32(5);
	c.modify_qp.mask = cpu_to_le32(ORNIC_MODQP_STATE);
	c.modify_qp.state = ORNIC_QPS_ERROR;
	drv_do(d, &c);
	cq_rec = drv_ptr(d, cq.mem, sizeof(*cq_rec));
	ring = drv_ptr(d, cq.mem + 128, sizeof(*ring) << cq.shift);
	qp_rec = drv_ptr(d, qp.mem + CHASE_REC, sizeof(*qp_rec));
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		chase(&cq, ring, cq_rec, qp_rec);
		_exit(0);
	}
	vc_set_timeout(d->c, 5 * CHASE_MS);
	while (!waitpid(pid, NULL, WNOHANG)) {
		drv_doorbell(d, 0, ORNIC_DB_SQ, drv_db(5, 0, pi));
		CHECK_EQ(drv_reg(d, ORNIC_REG_MAGIC), ORNIC_MAGIC);
		answers++;
		pi = le32_to_cpu(__atomic_load_n(&qp_rec->pi, __ATOMIC_ACQUIRE));
	}
	/* It was a chase indeed, and the device answered while it lasted. */
	CHECK(pi > 4u << CHASE_SHIFT);
	CHECK(answers > 10);
	check_answers(d);
	check_idle(d);
}

/* ---- what goes on after a fatal error ---- */

static void fatal_stops(void)
{
	u64 frames;

	pair_start(&a, &b, 1500);
	pair_rdma(&a, &b, 0, ORNIC_RTR_NONE);
	/* A Write under way whose ACK does not come: TCP would send it again, and give up at last.
	 */
	kill(b.d->pid, SIGSTOP);
	end_send(&a, ORNIC_WR_WRITE, ORNIC_WRF_SIGNALED, 0, 1000)->remote_stag =
		cpu_to_le32(END_STAG);
	drv_sq_ring(a.d, &a.qp);
	drv_flush(a.d);
	drv_sleep_ms(20);
	check_ctl(a.d, "fatal", "ok\n");
	/* Not even what is posted right before. */
	frames = drv_ctl_stat(a.d, "wire_tx_frames");
	drv_sleep_ms(1000);
	CHECK_EQ(drv_ctl_stat(a.d, "wire_tx_frames"), frames);
	end_no_cqe(&a);
	check_idle(a.d);
	kill(b.d->pid, SIGCONT);
	drv_reset(a.d);
}

/* ---- more SYNs than are held ---- */

static void unlisten_after_many(void)
{
	union drv_cmd c = drv_listen_cmd(1, 2, 81);
	struct ornic_teqe e;

	pair_start(&a, &b, 1500);
	drv_do(b.d, &c);
	c = drv_open_cmd(END_CONN, 0, 1, 40002, 2, 81);
	drv_do(a.d, &c);
	e = drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_CONN_REQ, 0, NULL);
	c = drv_open_cmd(END_CONN + 1, 0, 1, 40003, 2, 81);
	/* Each is another incarnation, and takes the place of the one before. */
	for (int i = 0; i < 1100; i++) {
		drv_do(a.d, &c);
		e = drv_tcp_event(b.d, &b.tcp, ORNIC_TCP_CONN_REQ, 0, NULL);
		CHECK_EQ(drv_number(a.d, ORNIC_CMD_FREE_CONN, END_CONN + 1), ORNIC_CMDS_OK);
	}
	CHECK_EQ(le32_to_cpu(e.listen_id), 1);
	CHECK_EQ(drv_number(b.d, ORNIC_CMD_UNLISTEN, 1), ORNIC_CMDS_OK);
	drv_tcp_event(a.d, &a.tcp, ORNIC_TCP_REFUSED, END_CONN, NULL);
}

/* ---- the control socket's clients ---- */

#define HELPS 819

/* More lines at once than their answers have room: all are answered, in order, also to a client
 * that has said all it has to say. */
static void ctl_many_lines(void)
{
	struct drv *d = drv_plain();
	char line[8], buf[4096], lines[HELPS * 5 + 1] = "";
	unsigned int oks = 0, i;
	int fd = drv_ctl_connect(d);
	size_t have = 0;
	ssize_t n;

	for (i = 0; i < HELPS; i++)
		strcpy(lines + i * 5, "help\n");
	CHECK_EQ(write(fd, lines, HELPS * 5), HELPS * 5);
	shutdown(fd, SHUT_WR);
	drv_sleep_ms(200);
	check_answers(d);
	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		for (i = 0; i < (size_t)n; i++) {
			if (buf[i] != '\n') {
				line[min(have++, sizeof(line) - 1)] = buf[i];
				continue;
			}
			oks += have == 2 && !memcmp(line, "ok", 2);
			have = 0;
		}
	}
	CHECK_EQ(n, 0);
	CHECK_EQ(oks, HELPS);
	close(fd);
}

/* A line without an end, zeros, and clients beyond the limit that never read. */
static void ctl_bad_clients(void)
{
	struct drv *d = drv_plain();
	static char junk[8192];
	int fd[16], n = 0;

	memset(junk, 'x', sizeof(junk));
	fd[0] = drv_ctl_connect(d);
	CHECK(send(fd[0], junk, sizeof(junk), MSG_NOSIGNAL) > 0);
	CHECK(read(fd[0], junk, 1) <= 0);
	close(fd[0]);
	memset(junk, 0, sizeof(junk));
	junk[4000] = '\n';
	fd[0] = drv_ctl_connect(d);
	CHECK_EQ(send(fd[0], junk, 4001, MSG_NOSIGNAL), 4001);
	CHECK(read(fd[0], junk, 7) == 7 && !memcmp(junk, "error: ", 7));
	close(fd[0]);
	for (n = 0; n < 16; n++) {
		fd[n] = drv_ctl_connect(d);
		for (int i = 0; i < 800; i++)
			(void)!send(fd[n], "state\n", 6, MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	CHECK_EQ(drv_reg(d, ORNIC_REG_MAGIC), ORNIC_MAGIC);
	check_idle(d);
	while (n--)
		close(fd[n]);
	drv_sleep_ms(50);
	check_answers(d);
}

/* ---- captures that cannot be written ---- */

static void pcap_pipe(void)
{
	struct drv *d = drv_plain();
	char path[100], line[128];

	snprintf(path, sizeof(path), "%s/fifo", drv_dir());
	CHECK(!mkfifo(path, 0600));
	snprintf(line, sizeof(line), "pcap %s", path);
	check_ctl(d, line, "error: ");
	check_answers(d);
}

static void pcap_limit(void)
{
	struct rlimit lim = {8192, 8192};
	char line[128];

	pair_start(&a, &b, 1500);
	CHECK(!prlimit(a.d->pid, RLIMIT_FSIZE, &lim, NULL));
	snprintf(line, sizeof(line), "pcap %s/cap", drv_dir());
	check_ctl(a.d, line, "ok\n");
	pair_rdma(&a, &b, 0, ORNIC_RTR_NONE);
	end_send(&a, ORNIC_WR_WRITE, ORNIC_WRF_SIGNALED, 0, 500000)->remote_stag =
		cpu_to_le32(END_STAG);
	((struct ornic_sq_wqe_msg *)drv_ptr(a.d, a.qp.mem + a.qp.sq_off, 64))->remote_addr =
		cpu_to_le64(b.buf);
	drv_sq_ring(a.d, &a.qp);
	end_cqe(&a, ORNIC_WR_WRITE, 0, ORNIC_CQE_OK);
	check_ctl(a.d, "pcap stop", "frames ");
	check_answers(a.d);
}

/* ---- no file descriptors left ---- */

#define FDS_MAX 200

static bool fd_is_open(const struct drv *d, unsigned int fd)
{
	char path[80];

	snprintf(path, sizeof(path), "/proc/%d/fd/%u", d->pid, fd);
	return !access(path, F_OK) || errno != ENOENT;
}

static unsigned int first_free_fd(const struct drv *d)
{
	unsigned int fd = 0;

	while (fd < FDS_MAX && fd_is_open(d, fd))
		fd++;
	return fd;
}

static void no_fds(void)
{
	struct drv *d = drv_plain();
	struct rlimit lim, old;
	char buf[8];
	int fd;

	CHECK(!prlimit(d->pid, RLIMIT_NOFILE, NULL, &old));
	lim = (struct rlimit){first_free_fd(d), old.rlim_max};
	CHECK(!prlimit(d->pid, RLIMIT_NOFILE, &lim, NULL));
	fd = drv_ctl_connect(d);
	CHECK_EQ(write(fd, "help\n", 5), 5);
	CHECK_EQ(drv_reg(d, ORNIC_REG_MAGIC), ORNIC_MAGIC);
	check_idle(d);
	/* There are some again: the client that waits is served. */
	CHECK(!prlimit(d->pid, RLIMIT_NOFILE, &old, NULL));
	CHECK(read(fd, buf, sizeof(buf)) > 0);
	close(fd);
	check_answers(d);
}

/* ---- a peer on the wire that turns to somebody else ---- */

static int bind_dgram(const char *name, struct sockaddr_un *sa)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	*sa = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(sa->sun_path, sizeof(sa->sun_path), "%s/%s", drv_dir(), name);
	CHECK(fd >= 0 && !bind(fd, (struct sockaddr *)sa, sizeof(*sa)));
	return fd;
}

static void peer_reconnects(void)
{
	struct sockaddr_un peer, other, dev = {.sun_family = AF_UNIX};
	int fd = bind_dgram("peer", &peer), fd2 = bind_dgram("other", &other);
	char spec[256], frame[2048];
	union drv_cmd c;
	struct end e;

	snprintf(dev.sun_path, sizeof(dev.sun_path), "%s/dev", drv_dir());
	snprintf(spec, sizeof(spec), "dgram:local=%s,remote=%s", dev.sun_path, peer.sun_path);
	end_init(&e, drv_start(&(struct drv_opts){.wire = spec}), 1);
	CHECK(!connect(fd, (struct sockaddr *)&dev, sizeof(dev)));
	drv_nexthop(e.d, 0, e.d->mac, 1500, 0);
	c = drv_open_cmd(END_CONN, 0, 1, 40002, 2, 81);
	drv_do(e.d, &c);
	drv_sleep_ms(50);
	CHECK_EQ(drv_number(e.d, ORNIC_CMD_FREE_CONN, END_CONN), ORNIC_CMDS_OK);
	/* With a frame unread. */
	CHECK(!connect(fd, (struct sockaddr *)&other, sizeof(other)));
	check_idle(e.d);
	/* It comes back. */
	CHECK(!connect(fd, (struct sockaddr *)&dev, sizeof(dev)));
	drv_sleep_ms(50);
	c.open.lport = cpu_to_le16(40004);
	drv_do(e.d, &c);
	CHECK(recv(fd, frame, sizeof(frame), 0) > 0);
	close(fd);
	close(fd2);
}

/* ---- a peer that is stopped ---- */

#define BURST 64
#define PIECE (64u << 10)

/* The wire fills up. The device sleeps, answers, and goes on with all of it when the peer does. */
static void stopped_peer(void)
{
	unsigned int i;

	pair_start(&a, &b, 9000);
	pair_rdma(&a, &b, ORNIC_RDMAF_CRC, ORNIC_RTR_NONE);
	kill(b.d->pid, SIGSTOP);
	for (i = 0; i < BURST; i++) {
		struct ornic_sq_wqe_msg *w =
			end_send(&a, ORNIC_WR_WRITE, ORNIC_WRF_SIGNALED, i % 8 * PIECE, PIECE);

		w->remote_stag = cpu_to_le32(END_STAG);
		w->remote_addr = cpu_to_le64(b.buf + i % 8 * PIECE);
		drv_sq_ring(a.d, &a.qp);
		/* The queue is less deep than that. */
		if (i % 8 != 7)
			continue;
		check_idle(a.d);
		check_answers(a.d);
		kill(b.d->pid, SIGCONT);
		for (unsigned int n = i - 7; n <= i; n++)
			end_cqe(&a, ORNIC_WR_WRITE, n, ORNIC_CQE_OK);
		kill(b.d->pid, SIGSTOP);
	}
	kill(b.d->pid, SIGCONT);
}

/* ---- VMMs that die ---- */

static unsigned int count_fds(const struct drv *d)
{
	unsigned int n = 0;

	for (unsigned int fd = 0; fd < FDS_MAX; fd++)
		n += fd_is_open(d, fd);
	return n;
}

/* A whole VMM, then a part of a message that has brought file descriptors; killed with it. */
static void vmm_that_dies(struct drv *d)
{
	struct vfio_user_hdr hdr = {.cmd = VFIO_USER_DEVICE_SET_IRQS, .size = 64};
	int fds[4] = {0, 1, 2, 0}, pid = fork();

	if (!pid) {
		drv_attach(d);
		drv_enable(d);
		(void)!vc_send_raw(d->c, &hdr, sizeof(hdr), fds, 4);
		drv_sleep_ms(20);
		kill(getpid(), SIGKILL);
	}
	CHECK(waitpid(pid, NULL, 0) == pid);
}

static void vmm_killed(void)
{
	struct drv *d = drv_plain();
	unsigned int before;

	drv_detach(d);
	drv_sleep_ms(50);
	before = count_fds(d);
	for (int i = 0; i < 8; i++)
		vmm_that_dies(d);
	drv_sleep_ms(50);
	CHECK_EQ(count_fds(d), before);
	CHECK_EQ(drv_ctl_stat(d, "vfu_attaches"), 9);
	drv_attach(d);
	drv_enable(d);
	check_answers(d);
	check_idle(d);
}

static const struct test tests[] = {
	{"flush_chased", flush_chased},
	{"fatal_stops", fatal_stops},
	{"unlisten_after_many", unlisten_after_many},
	{"ctl_many_lines", ctl_many_lines},
	{"ctl_bad_clients", ctl_bad_clients},
	{"pcap_pipe", pcap_pipe},
	{"pcap_limit", pcap_limit},
	{"no_fds", no_fds},
	{"peer_reconnects", peer_reconnects},
	{"stopped_peer", stopped_peer},
	{"vmm_killed", vmm_killed},
};

int main(int argc, char **argv)
{
	return test_main(argc, argv, tests, ARRAY_SIZE(tests));
}
