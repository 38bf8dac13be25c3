// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "drv.h"

#define DRV_MAX 4

void (*drv_idle)(void);

static struct drv *all[DRV_MAX];
static unsigned int nall;
static char dir[64];

void drv_sleep_ms(int ms)
{
	struct timespec ts = {ms / 1000, (long)(ms % 1000) * 1000000};

	nanosleep(&ts, NULL);
}

static u64 now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000 + (u64)ts.tv_nsec / 1000000;
}

/* Waits a little; false when @end is past. */
static bool wait_until(u64 end)
{
	struct timespec ts = {0, 50000};

	if (drv_idle)
		drv_idle();
	if (now_ms() >= end)
		return false;
	nanosleep(&ts, NULL);
	return true;
}

/* ---- life ---- */

const char *drv_dir(void)
{
	if (!*dir) {
		strcpy(dir, "/tmp/ornic-test-XXXXXX");
		if (!mkdtemp(dir))
			test_fail(__FILE__, __LINE__, "no directory: %s", strerror(errno));
	}
	return dir;
}

static void spawn(struct drv *d, const struct drv_opts *o)
{
	const char *prog = getenv("RNICD");
	char mac[32];
	int fd;

	snprintf(mac, sizeof(mac), "02:00:00:00:00:%02x", d->mac[5]);
	d->pid = fork();
	if (d->pid)
		return;
	fd = open(d->log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	dup2(fd, 2);
	dup2(fd, 1);
	execl(prog ? prog : "rnicd", "rnicd", "--socket", d->sock, "--wire",
	      o->wire ? o->wire : "null", "--mac", mac, "--control", d->ctl, "--log", "debug",
	      o->extra, NULL);
	_exit(127);
}

struct drv *drv_start(const struct drv_opts *o)
{
	struct drv *d = calloc(1, sizeof(*d));
	u8 mac[6] = {2, 0, 0, 0, 0, o->mac_last ? o->mac_last : 1};

	CHECK(d && nall < DRV_MAX);
	memcpy(d->mac, mac, sizeof(mac));
	snprintf(d->sock, sizeof(d->sock), "%s/vfu%u", drv_dir(), nall);
	snprintf(d->ctl, sizeof(d->ctl), "%s/ctl%u", drv_dir(), nall);
	snprintf(d->log, sizeof(d->log), "%s/log%u", drv_dir(), nall);
	all[nall++] = d;
	spawn(d, o);
	drv_attach(d);
	if (!o->no_enable)
		drv_enable(d);
	return d;
}

void drv_attach(struct drv *d)
{
	u32 info;

	d->c = vc_connect(d->sock, DRV_WAIT_MS);
	if (!d->c)
		test_fail(__FILE__, __LINE__, "no connection to %s: %s", d->sock, strerror(errno));
	vc_set_timeout(d->c, DRV_WAIT_MS);
	CHECK_EQ(vc_start(d->c), 0);
	CHECK_EQ(vc_ram_add(d->c, DRV_RAM_BASE, DRV_RAM_SIZE), 0);
	CHECK_EQ(vc_pci_enable(d->c, true), 0);
	d->alloc = DRV_RAM_BASE;
	d->next_vector = 1;
	info = drv_reg(d, ORNIC_REG_DB_INFO);
	d->db_stride = 1u << FIELD_GET(ORNIC_DB_INFO_STRIDE, (u64)info);
	d->db_pages = (u32)FIELD_GET(ORNIC_DB_INFO_PAGES, (u64)info);
	CHECK(vc_msix_enable(d->c, drv_reg(d, ORNIC_REG_VECTORS)) >= 0);
}

void drv_detach(struct drv *d)
{
	vc_close(d->c);
	d->c = NULL;
}

void drv_enable(struct drv *d)
{
	d->cmd_sq = drv_alloc(d, ORNIC_CMD_SIZE << DRV_CMDQ_SHIFT);
	d->cmd_cq = drv_alloc(d, sizeof(struct ornic_cmd_cqe) << DRV_CMDQ_SHIFT);
	d->cmd_tail = 0;
	vc_write64(d->c, ORNIC_BAR_REGS, ORNIC_REG_CMDQ_SQ_LO, d->cmd_sq);
	vc_write64(d->c, ORNIC_BAR_REGS, ORNIC_REG_CMDQ_CQ_LO, d->cmd_cq);
	drv_set_reg(d, ORNIC_REG_CMDQ_CFG, DRV_CMDQ_SHIFT);
	drv_set_reg(d, ORNIC_REG_CONTROL, ORNIC_CONTROL_ENABLE);
	CHECK_EQ(drv_reg(d, ORNIC_REG_STATUS) & ~ORNIC_STATUS_LINK, ORNIC_STATUS_READY);
}

void drv_reset(struct drv *d)
{
	drv_set_reg(d, ORNIC_REG_CONTROL, ORNIC_CONTROL_RESET);
	CHECK_EQ(drv_reg(d, ORNIC_REG_STATUS) & ~ORNIC_STATUS_LINK, 0);
}

struct drv *drv_plain(void)
{
	return drv_start(&(struct drv_opts){0});
}

static bool reap(struct drv *d)
{
	u64 end = now_ms() + DRV_WAIT_MS;
	int status = 0;

	kill(d->pid, SIGTERM);
	while (waitpid(d->pid, &status, WNOHANG) == 0) {
		if (!wait_until(end)) {
			printf("    rnicd does not end\n");
			kill(d->pid, SIGKILL);
			waitpid(d->pid, &status, 0);
			return false;
		}
	}
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return true;
	printf("    rnicd ended with %s %d\n", WIFSIGNALED(status) ? "signal" : "status",
	       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return false;
}

/* Where the sanitizers speak. */
static void show_log(const struct drv *d)
{
	char line[512];
	FILE *f = fopen(d->log, "r");

	while (f && fgets(line, sizeof(line), f))
		printf("    | %s", line);
	if (f)
		fclose(f);
}

bool drv_stop_all(void)
{
	bool good = true, ok;
	char cmd[128];

	while (nall) {
		struct drv *d = all[--nall];

		if (d->c)
			vc_close(d->c);
		ok = reap(d);
		/* Its sockets are its own to remove. */
		if (ok && (!access(d->sock, F_OK) || !access(d->ctl, F_OK))) {
			printf("    rnicd left a socket behind\n");
			ok = false;
		}
		if (!ok)
			show_log(d);
		good &= ok;
		free(d);
	}
	if (*dir) {
		snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
		if (system(cmd))
			good = false;
		*dir = 0;
	}
	return good;
}

int drv_ctl_connect(const struct drv *d)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	struct timeval tv = {DRV_WAIT_MS / 1000, 0};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(sa.sun_path, d->ctl);
	CHECK(fd >= 0 && !connect(fd, (struct sockaddr *)&sa, sizeof(sa)));
	CHECK(!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
	return fd;
}

char *drv_ctl(struct drv *d, const char *line)
{
	size_t len = 0, size = 1 << 20;
	char *buf = malloc(size);
	int fd = drv_ctl_connect(d);
	ssize_t n;

	CHECK(buf);
	CHECK(dprintf(fd, "%s\n", line) > 0);
	while (len < size - 1) {
		n = read(fd, buf + len, size - 1 - len);
		if (n <= 0)
			break;
		len += (size_t)n;
		buf[len] = 0;
		if ((len >= 3 && !strcmp(buf + len - 3, "ok\n")) || strstr(buf, "error: "))
			break;
	}
	close(fd);
	buf[len] = 0;
	return buf;
}

u64 drv_stat(struct drv *d, enum ornic_stat stat)
{
	u64 buf = drv_alloc(d, 8);
	union drv_cmd c = drv_cmd(ORNIC_CMD_QUERY_STATS);

	c.hdr.data = cpu_to_le64(buf);
	c.stats.first = cpu_to_le32(stat);
	c.stats.count = cpu_to_le32(1);
	drv_do(d, &c);
	return get_le64(drv_ptr(d, buf, 8));
}

u64 drv_ctl_stat(struct drv *d, const char *name)
{
	char *s = drv_ctl(d, "stats"), *line = strstr(s, name);
	size_t len = strlen(name);
	u64 val;

	if (!line || (line != s && line[-1] != '\n') || line[len] != ' ')
		test_fail(__FILE__, __LINE__, "no counter %s", name);
	val = strtoull(line + len, NULL, 10);
	free(s);
	return val;
}

/* ---- memory and registers ---- */

u64 drv_alloc(struct drv *d, u64 len)
{
	u64 addr = d->alloc;

	len = ALIGN(len, 4096);
	CHECK(addr + len <= DRV_RAM_BASE + DRV_RAM_SIZE);
	d->alloc += len;
	memset(drv_ptr(d, addr, len), 0, len);
	return addr;
}

void *drv_ptr(struct drv *d, u64 addr, u64 len)
{
	void *p = vc_ram(d->c, addr, len);

	CHECK(p);
	return p;
}

struct ornic_qmem drv_qmem(u64 addr, u64 len)
{
	return (struct ornic_qmem){.addr = cpu_to_le64(addr),
				   .npages = cpu_to_le32((len + 4095) / 4096),
				   .page_shift = 12};
}

u32 drv_reg(struct drv *d, u32 off)
{
	return vc_read32(d->c, ORNIC_BAR_REGS, off);
}

void drv_set_reg(struct drv *d, u32 off, u32 val)
{
	vc_write32(d->c, ORNIC_BAR_REGS, off, val);
}

u64 drv_db(u32 number, u64 flags, u32 index)
{
	return FIELD_PREP(ORNIC_DB_NUMBER, (u64)number) | flags | (u64)index << 32;
}

void drv_doorbell(struct drv *d, u32 page, u32 kind, u64 val)
{
	vc_write64(d->c, ORNIC_BAR_DB, (u64)page * d->db_stride + kind, val);
}

void drv_flush(struct drv *d)
{
	(void)drv_reg(d, ORNIC_REG_MAGIC);
}

/* ---- commands ---- */

union drv_cmd drv_cmd(u16 opcode)
{
	union drv_cmd c;

	memset(&c, 0, sizeof(c));
	c.hdr.opcode = cpu_to_le16(opcode);
	return c;
}

int drv_exec(struct drv *d, union drv_cmd *cmd)
{
	u32 mask = (1u << DRV_CMDQ_SHIFT) - 1, n = d->cmd_tail;
	struct ornic_cmd_cqe *cqe = drv_ptr(d, d->cmd_cq + (n & mask) * sizeof(*cqe), sizeof(*cqe));
	u32 phase = n >> DRV_CMDQ_SHIFT & 1 ? 0 : ORNIC_CMD_CQE_PHASE;
	u64 end = now_ms() + DRV_WAIT_MS;

	cmd->hdr.id = cpu_to_le32((n & mask) | ++d->cmd_gen << 16);
	memcpy(drv_ptr(d, d->cmd_sq + (n & mask) * ORNIC_CMD_SIZE, ORNIC_CMD_SIZE), cmd,
	       ORNIC_CMD_SIZE);
	d->cmd_tail++;
	drv_set_reg(d, ORNIC_REG_CMDQ_TAIL, d->cmd_tail);
	while ((__atomic_load_n(&cqe->flags, __ATOMIC_ACQUIRE) & ORNIC_CMD_CQE_PHASE) != phase)
		if (!wait_until(end))
			test_fail(__FILE__, __LINE__, "command 0x%x: no answer",
				  le16_to_cpu(cmd->hdr.opcode));
	d->res = *cqe;
	CHECK_EQ(le32_to_cpu(d->res.id), le32_to_cpu(cmd->hdr.id));
	CHECK_EQ(le32_to_cpu(d->res.sq_head), d->cmd_tail);
	return le16_to_cpu(d->res.status);
}

void drv_do(struct drv *d, union drv_cmd *cmd)
{
	if (drv_exec(d, cmd))
		test_fail(__FILE__, __LINE__, "command 0x%x: status %u, byte %u",
			  le16_to_cpu(cmd->hdr.opcode), le16_to_cpu(d->res.status),
			  le16_to_cpu(d->res.syndrome));
}

void drv_refused(struct drv *d, union drv_cmd *cmd, int status, size_t off)
{
	int got = drv_exec(d, cmd);

	if (got != status || le16_to_cpu(d->res.syndrome) != off)
		test_fail(__FILE__, __LINE__,
			  "command 0x%x: status %d, byte %u; expected status %d, byte %zu",
			  le16_to_cpu(cmd->hdr.opcode), got, le16_to_cpu(d->res.syndrome), status,
			  off);
}

int drv_number(struct drv *d, u16 opcode, u32 number)
{
	union drv_cmd c = drv_cmd(opcode);

	c.number.number = cpu_to_le32(number);
	return drv_exec(d, &c);
}

/* ---- event queues ---- */

struct drv_eq drv_eq_new(struct drv *d, u32 eqn, u8 kind, u8 shift)
{
	struct drv_eq eq = {
		.eqn = eqn, .kind = kind, .shift = shift, .entry_shift = (u8)(kind + 4)};
	union drv_cmd c = drv_cmd(ORNIC_CMD_CREATE_EQ);
	u64 len = 1ULL << (shift + eq.entry_shift);

	eq.vector = (u16)d->next_vector++;
	eq.ring = drv_alloc(d, len);
	c.eq.eqn = cpu_to_le32(eqn);
	c.eq.kind = kind;
	c.eq.depth_shift = shift;
	c.eq.vector = cpu_to_le16(eq.vector);
	c.eq.ring = drv_qmem(eq.ring, len);
	if (kind == ORNIC_EQ_TCP) {
		eq.data = drv_alloc(d, (u64)ORNIC_TEQ_SLOT_SIZE << shift);
		c.eq.data = drv_qmem(eq.data, (u64)ORNIC_TEQ_SLOT_SIZE << shift);
	}
	drv_do(d, &c);
	return eq;
}

bool drv_eq_next(struct drv *d, struct drv_eq *eq, void *entry, void *data, int ms)
{
	u32 size = 1u << eq->entry_shift, i = eq->ci & ((1u << eq->shift) - 1);
	u8 *e = drv_ptr(d, eq->ring + ((u64)i << eq->entry_shift), size);
	u32 phase = eq->ci >> eq->shift & 1 ? 0 : ORNIC_EQE_PHASE;
	u64 end = now_ms() + (u64)ms;

	while ((__atomic_load_n((u32 *)(e + size - 4), __ATOMIC_ACQUIRE) & ORNIC_EQE_PHASE) !=
	       phase)
		if (!wait_until(end))
			return false;
	memcpy(entry, e, size);
	if (data && eq->kind == ORNIC_EQ_TCP)
		memcpy(data,
		       drv_ptr(d, eq->data + ((u64)i << ORNIC_TEQ_SLOT_SHIFT), ORNIC_TEQ_SLOT_SIZE),
		       ORNIC_TEQ_SLOT_SIZE);
	eq->ci++;
	return true;
}

void drv_eq_arm(struct drv *d, struct drv_eq *eq, bool arm)
{
	drv_doorbell(d, 0, ORNIC_DB_EQ_ARM, drv_db(eq->eqn, arm ? ORNIC_DB_FLAG_ARM : 0, eq->ci));
}

struct ornic_teqe drv_tcp_event(struct drv *d, struct drv_eq *eq, u8 type, u32 conn, void *data)
{
	struct ornic_teqe e;

	if (!drv_eq_next(d, eq, &e, data, DRV_WAIT_MS))
		test_fail(__FILE__, __LINE__, "TCP event %u of connection %u did not come", type,
			  conn);
	if (e.type != type || le32_to_cpu(e.conn_id) != conn)
		test_fail(__FILE__, __LINE__,
			  "TCP event %u info %u of connection %u came; expected %u of %u", e.type,
			  le32_to_cpu(e.info), le32_to_cpu(e.conn_id), type, conn);
	drv_eq_arm(d, eq, false);
	return e;
}

/* ---- CQs, QPs, MRs ---- */

struct drv_cq drv_cq_new(struct drv *d, u32 cqn, u32 eqn, u8 shift, u32 page)
{
	struct drv_cq cq = {.cqn = cqn, .shift = shift, .page = page};
	u64 len = 128 + (sizeof(struct ornic_cqe) << shift);
	union drv_cmd c = drv_cmd(ORNIC_CMD_CREATE_CQ);

	cq.mem = drv_alloc(d, len);
	c.cq.cqn = cpu_to_le32(cqn);
	c.cq.eqn = cpu_to_le32(eqn);
	c.cq.db_page = cpu_to_le32(page);
	c.cq.depth_shift = shift;
	c.cq.mem = drv_qmem(cq.mem, len);
	c.cq.ring_off = cpu_to_le32(128);
	drv_do(d, &c);
	return cq;
}

bool drv_cq_next(struct drv *d, struct drv_cq *cq, struct ornic_cqe *cqe, int ms)
{
	u32 i = cq->ci & ((1u << cq->shift) - 1),
	    phase = cq->ci >> cq->shift & 1 ? 0 : ORNIC_CQE_PHASE;
	struct ornic_cqe *e = drv_ptr(d, cq->mem + 128 + i * sizeof(*e), sizeof(*e));
	struct ornic_queue_rec *rec = drv_ptr(d, cq->mem, sizeof(*rec));
	u64 end = now_ms() + (u64)ms;

	while ((__atomic_load_n(&e->flags, __ATOMIC_ACQUIRE) & ORNIC_CQE_PHASE) != phase)
		if (!wait_until(end))
			return false;
	*cqe = *e;
	__atomic_store_n(&rec->ci, cpu_to_le32(++cq->ci), __ATOMIC_RELEASE);
	return true;
}

void drv_cq_arm(struct drv *d, struct drv_cq *cq, bool solicited)
{
	u64 flags = FIELD_PREP(ORNIC_DB_ARM_SEQ, (u64)(cq->arm_seq & 3));

	if (solicited)
		flags |= ORNIC_DB_FLAG_SOLICITED;
	drv_doorbell(d, cq->page, ORNIC_DB_CQ_ARM, drv_db(cq->cqn, flags, cq->ci));
}

union drv_cmd drv_qp_cmd(struct drv *d, struct drv_qp *qp, u32 qpn, u32 pdn, u32 scqn, u32 rcqn,
			 u16 flags, u32 page)
{
	union drv_cmd c = drv_cmd(ORNIC_CMD_CREATE_QP);
	u64 len;

	*qp = (struct drv_qp){
		.qpn = qpn, .page = page, .sq_shift = 5, .rq_shift = 5, .sq_off = 4096};
	qp->rq_off = qp->sq_off + (1u << (qp->sq_shift + DRV_SQ_STRIDE_SHIFT));
	len = qp->rq_off + (1u << (qp->rq_shift + DRV_RQ_STRIDE_SHIFT));
	qp->mem = drv_alloc(d, len);
	c.qp.qpn = cpu_to_le32(qpn);
	c.qp.pdn = cpu_to_le32(pdn);
	c.qp.send_cqn = cpu_to_le32(scqn);
	c.qp.recv_cqn = cpu_to_le32(rcqn);
	c.qp.db_page = cpu_to_le32(page);
	c.qp.sq_shift = qp->sq_shift;
	c.qp.sq_stride_shift = DRV_SQ_STRIDE_SHIFT;
	c.qp.rq_shift = qp->rq_shift;
	c.qp.rq_stride_shift = DRV_RQ_STRIDE_SHIFT;
	c.qp.flags = cpu_to_le16(flags);
	c.qp.access = cpu_to_le16(ORNIC_ACC_REMOTE_WRITE | ORNIC_ACC_REMOTE_READ);
	c.qp.mem = drv_qmem(qp->mem, len);
	c.qp.sq_off = cpu_to_le32(qp->sq_off);
	c.qp.rq_off = cpu_to_le32(qp->rq_off);
	return c;
}

struct drv_qp drv_qp_new(struct drv *d, u32 qpn, u32 pdn, u32 scqn, u32 rcqn, u16 flags, u32 page)
{
	struct drv_qp qp;
	union drv_cmd c = drv_qp_cmd(d, &qp, qpn, pdn, scqn, rcqn, flags, page);

	drv_do(d, &c);
	return qp;
}

void *drv_sq_wqe(struct drv *d, struct drv_qp *qp)
{
	u32 i = qp->sq_pi & ((1u << qp->sq_shift) - 1);
	struct ornic_sq_hdr *h;

	h = drv_ptr(d, qp->mem + qp->sq_off + (i << DRV_SQ_STRIDE_SHIFT), 1 << DRV_SQ_STRIDE_SHIFT);
	memset(h, 0, 1 << DRV_SQ_STRIDE_SHIFT);
	h->wqe_index = cpu_to_le32(qp->sq_pi++);
	return h;
}

void *drv_rq_wqe(struct drv *d, struct drv_qp *qp)
{
	u32 i = qp->rq_pi & ((1u << qp->rq_shift) - 1);
	struct ornic_rq_wqe *w;

	w = drv_ptr(d, qp->mem + qp->rq_off + (i << DRV_RQ_STRIDE_SHIFT), 1 << DRV_RQ_STRIDE_SHIFT);
	memset(w, 0, 1 << DRV_RQ_STRIDE_SHIFT);
	w->wqe_index = cpu_to_le32(qp->rq_pi++);
	return w;
}

void drv_sq_ring(struct drv *d, struct drv_qp *qp)
{
	struct ornic_queue_rec *rec = drv_ptr(d, qp->mem, sizeof(*rec));

	__atomic_store_n(&rec->pi, cpu_to_le32(qp->sq_pi), __ATOMIC_RELEASE);
	drv_doorbell(d, qp->page, ORNIC_DB_SQ, drv_db(qp->qpn, 0, qp->sq_pi));
}

void drv_rq_ring(struct drv *d, struct drv_qp *qp)
{
	struct ornic_queue_rec *rec = drv_ptr(d, qp->mem, sizeof(*rec));

	__atomic_store_n(&rec->rq_pi, cpu_to_le32(qp->rq_pi), __ATOMIC_RELEASE);
	drv_doorbell(d, qp->page, ORNIC_DB_RQ, drv_db(qp->qpn, 0, qp->rq_pi));
}

void drv_reg_mr(struct drv *d, u32 stag, u32 pdn, u64 addr, u64 len, u16 access)
{
	union drv_cmd c = drv_cmd(ORNIC_CMD_REG_MR);

	c.reg_mr.stag = cpu_to_le32(stag);
	c.reg_mr.pdn = cpu_to_le32(pdn);
	c.reg_mr.iova = cpu_to_le64(addr);
	c.reg_mr.length = cpu_to_le64(len);
	c.reg_mr.mem = drv_qmem(addr & ~4095ULL, (addr & 4095) + len);
	c.reg_mr.offset = cpu_to_le32(addr & 4095);
	c.reg_mr.access = cpu_to_le16(access);
	drv_do(d, &c);
}

/* ---- TCP ---- */

void drv_nexthop(struct drv *d, u32 index, const u8 *dmac, u16 mtu, u16 flags)
{
	union drv_cmd c = drv_cmd(ORNIC_CMD_SET_NEXTHOP);

	c.nexthop.index = cpu_to_le32(index);
	memcpy(c.nexthop.dmac, dmac, 6);
	memcpy(c.nexthop.smac, d->mac, 6);
	c.nexthop.mtu = cpu_to_le16(mtu);
	c.nexthop.flags = cpu_to_le16(flags);
	drv_do(d, &c);
}

u32 drv_window = 262144;
const u8 *drv_net6;

struct ornic_tcp_opts drv_tcp_opts(void)
{
	return (struct ornic_tcp_opts){
		.options = cpu_to_le16(ORNIC_TCPO_WSCALE | ORNIC_TCPO_TIMESTAMPS | ORNIC_TCPO_SACK),
		.window = cpu_to_le32(drv_window),
		.ttl = 64,
		.syn_retries = 3,
	};
}

static u8 set_addr(u8 *addr, u8 host)
{
	u8 ip[4] = {10, 0, 0, host};

	if (host && drv_net6) {
		memcpy(addr, drv_net6, 15);
		addr[15] = host;
	} else if (host) {
		memcpy(addr, ip, 4);
	}
	return drv_net6 ? ORNIC_FAMILY_IPV6 : ORNIC_FAMILY_IPV4;
}

union drv_cmd drv_open_cmd(u32 conn, u32 nexthop, u8 from, u16 lport, u8 to, u16 rport)
{
	union drv_cmd c = drv_cmd(ORNIC_CMD_OPEN);

	c.open.conn_id = cpu_to_le32(conn);
	c.open.nexthop = cpu_to_le32(nexthop);
	c.open.family = set_addr(c.open.laddr, from);
	set_addr(c.open.raddr, to);
	c.open.lport = cpu_to_le16(lport);
	c.open.rport = cpu_to_le16(rport);
	c.open.opts = drv_tcp_opts();
	return c;
}

union drv_cmd drv_listen_cmd(u32 id, u8 addr, u16 port)
{
	union drv_cmd c = drv_cmd(ORNIC_CMD_LISTEN);

	c.listen.listen_id = cpu_to_le32(id);
	c.listen.family = set_addr(c.listen.addr, addr);
	c.listen.port = cpu_to_le16(port);
	c.listen.backlog = cpu_to_le32(8);
	return c;
}

union drv_cmd drv_accept_cmd(u32 syn, u32 conn, u32 nexthop)
{
	union drv_cmd c = drv_cmd(ORNIC_CMD_ACCEPT);

	c.accept.syn_id = cpu_to_le32(syn);
	c.accept.conn_id = cpu_to_le32(conn);
	c.accept.nexthop = cpu_to_le32(nexthop);
	c.accept.opts = drv_tcp_opts();
	return c;
}

int drv_stream_tx(struct drv *d, u32 conn, const void *data, u32 len)
{
	union drv_cmd c = drv_cmd(ORNIC_CMD_STREAM_TX);
	u64 buf = drv_alloc(d, len);

	memcpy(drv_ptr(d, buf, len), data, len);
	c.hdr.data = cpu_to_le64(buf);
	c.stream_tx.conn_id = cpu_to_le32(conn);
	c.stream_tx.len = cpu_to_le32(len);
	return drv_exec(d, &c);
}
