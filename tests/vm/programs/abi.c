// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * abi UVERBS: says wrong things to the driver on /dev/infiniband/uverbsN, as a program could that
 * does not use the provider, and compares the answers with include/uapi/rdma/ornic-abi.h. The old
 * write() interface is used, where driver-private data just follows the command.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>

#include "../../../include/uapi/rdma/ornic-abi.h"

#define PAGE	4096u
#define BUF_LEN (4 * PAGE)

static int checks, failures;
static int fd;
static uint8_t *buf; /* BUF_LEN bytes, page aligned */

static void check(const char *what, int got, int want)
{
	checks++;
	if (got != want) {
		failures++;
		printf("FAILED: %s: %s, expected %s\n", what, strerror(got), strerror(want));
	} else {
		printf("ok: %s: %s\n", what, want ? strerror(want) : "success");
	}
}

/* One command: fixed part, then driver-private data; likewise its response. Returns an errno. */
static int command(uint32_t number, void *fixed, size_t fixed_len, const void *drv, size_t drv_len,
		   void *resp, size_t resp_len)
{
	uint8_t msg[512];
	struct ib_uverbs_cmd_hdr *hdr = (void *)msg;
	size_t len = sizeof(*hdr) + fixed_len + drv_len;
	uint64_t where = (uintptr_t)resp;

	memcpy(fixed, &where, sizeof(where));
	hdr->command = number;
	hdr->in_words = len / 4;
	hdr->out_words = resp_len / 4;
	memcpy(msg + sizeof(*hdr), fixed, fixed_len);
	if (drv_len)
		memcpy(msg + sizeof(*hdr) + fixed_len, drv, drv_len);
	return write(fd, msg, len) == (ssize_t)len ? 0 : errno;
}

/* Change of one field of a good request. */
struct change {
	const char *what;
	size_t off;
	size_t size;
	uint64_t value;
	int want;
};

#define CHANGE(type, field, v, want)                              \
	{#type "." #field " = " #v, offsetof(struct type, field), \
	 sizeof(((struct type *)0)->field), v, want}

static void apply(void *to, const struct change *c)
{
	memcpy((uint8_t *)to + c->off, &c->value, c->size < 8 ? c->size : 8);
}

/* --- contexts ------------------------------------------------------------------------------- */

struct context_resp {
	struct ib_uverbs_get_context_resp core;
	struct ornic_alloc_ucontext_resp drv;
};

static int get_context(const char *path, const void *drv, size_t drv_len, struct context_resp *resp,
		       size_t resp_len)
{
	struct ib_uverbs_get_context cmd = {};

	if (fd > 0)
		close(fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		perror(path);
		exit(2);
	}
	memset(resp, 0, sizeof(*resp));
	return command(IB_USER_VERBS_CMD_GET_CONTEXT, &cmd, sizeof(cmd), drv, drv_len, resp,
		       resp_len);
}

static void test_mmap(const struct ornic_alloc_ucontext_resp *resp)
{
	off_t off = resp->db_mmap_offset;
	void *db = mmap(NULL, resp->db_mmap_len, PROT_WRITE, MAP_SHARED, fd, off);

	check("mmap of the doorbell page", db == MAP_FAILED ? errno : 0, 0);
	if (db != MAP_FAILED) {
		/* Of nobody's QP: the device refuses and counts it. */
		*(volatile uint64_t *)((uint8_t *)db + resp->db_offset) = 0xffffff;
		munmap(db, resp->db_mmap_len);
	}
	db = mmap(NULL, PAGE, PROT_WRITE, MAP_SHARED, fd, off + 64 * PAGE);
	check("mmap at another offset", db == MAP_FAILED ? errno : 0, EINVAL);
	db = mmap(NULL, 2 * PAGE, PROT_WRITE, MAP_SHARED, fd, off);
	check("mmap of more than the page", db == MAP_FAILED ? errno : 0, EINVAL);
	db = mmap(NULL, PAGE, PROT_WRITE | PROT_EXEC, MAP_SHARED, fd, off);
	check("mmap to be executed", db == MAP_FAILED ? errno : 0, EPERM);
	db = mmap(NULL, PAGE, PROT_WRITE, MAP_PRIVATE, fd, off);
	check("private mmap", db == MAP_FAILED ? errno : 0, EINVAL);
}

static void test_contexts(const char *path)
{
	struct context_resp resp;
	uint64_t req[4] = {};

	check("context, no request", get_context(path, req, 0, &resp, sizeof(resp)), EINVAL);
	check("context, half a request", get_context(path, req, 4, &resp, sizeof(resp)), EINVAL);
	check("context, zero tail", get_context(path, req, 24, &resp, sizeof(resp)), 0);
	req[2] = 1;
	check("context, tail not zero", get_context(path, req, 24, &resp, sizeof(resp)),
	      EOPNOTSUPP);
	req[2] = 0;
	req[0] = 1ULL << 63;
	check("context, unknown comp_mask", get_context(path, req, 8, &resp, sizeof(resp)),
	      EOPNOTSUPP);
	req[0] = 0;
	check("context, room for half the response",
	      get_context(path, req, 8, &resp, sizeof(resp.core) + 16), 0);
	check("response is cut, not more", resp.drv.db_mmap_len, 0);
	check("context", get_context(path, req, 8, &resp, sizeof(resp)), 0);
	check("doorbell page is there", resp.drv.db_mmap_len != PAGE, 0);
	check("reserved bytes are zero",
	      !!memcmp(resp.drv.reserved, "\0\0\0\0\0", sizeof(resp.drv.reserved)), 0);
	test_mmap(&resp.drv);
}

/* --- PDs and MRs ---------------------------------------------------------------------------- */

static uint32_t pd;

static void test_pd(void)
{
	struct ib_uverbs_alloc_pd_resp resp;
	struct ib_uverbs_alloc_pd cmd = {};
	uint64_t junk = 1;

	check("PD with unknown request",
	      command(IB_USER_VERBS_CMD_ALLOC_PD, &cmd, sizeof(cmd), &junk, 8, &resp, sizeof(resp)),
	      EOPNOTSUPP);
	check("PD",
	      command(IB_USER_VERBS_CMD_ALLOC_PD, &cmd, sizeof(cmd), NULL, 0, &resp, sizeof(resp)),
	      0);
	pd = resp.pd_handle;
}

static int reg_mr(void *start, uint64_t length, uint64_t iova, uint32_t access)
{
	struct ib_uverbs_reg_mr cmd = {
		.start = (uintptr_t)start,
		.length = length,
		.hca_va = iova,
		.pd_handle = pd,
		.access_flags = access,
	};
	struct ib_uverbs_reg_mr_resp resp;

	return command(IB_USER_VERBS_CMD_REG_MR, &cmd, sizeof(cmd), NULL, 0, &resp, sizeof(resp));
}

static void test_mrs(void)
{
	enum {
		LW = 1,
		RW = 2,
		RR = 4,
		RA = 8,
		MW = 16
	};
	uint8_t *ro = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t here = (uintptr_t)buf;

	check("MR", reg_mr(buf, BUF_LEN, here, LW | RW | RR), 0);
	check("MR at odd address", reg_mr(buf + 13, 5000, here + 13, LW), 0);
	check("MR with another iova", reg_mr(buf, PAGE, 0x123456789000, LW | RR), 0);
	check("MR, iova and address differ in the page", reg_mr(buf, 8, here + 1, LW), EINVAL);
	check("MR of length 0", reg_mr(buf, 0, here, LW | RW), 0);
	check("MR, remote without local write", reg_mr(buf, PAGE, here, RW), EINVAL);
	check("MR with atomics", reg_mr(buf, PAGE, here, LW | RA), EOPNOTSUPP);
	check("MR for windows", reg_mr(buf, PAGE, here, LW | MW), EOPNOTSUPP);
	check("MR with optional access", reg_mr(buf, PAGE, here, LW | 1 << 20), 0);
	check("MR of a hole", reg_mr((void *)(uintptr_t)PAGE, PAGE, PAGE, LW), EFAULT);
	check("writable MR of a read-only page", reg_mr(ro, PAGE, (uintptr_t)ro, LW), EFAULT);
	check("MR that wraps", reg_mr(buf, ~0ULL - here, here, LW), EINVAL);
	check("MR whose iova wraps", reg_mr(buf, BUF_LEN, ~0ULL - PAGE + 1, LW), EINVAL);
	check("MR of 2^50 bytes", reg_mr(buf, 1ULL << 50, here, LW), EINVAL);
	munmap(ro, PAGE);
}

/* --- CQs ------------------------------------------------------------------------------------ */

static uint32_t cq;

static int create_cq(uint32_t cqe, const struct ornic_create_cq_req *req, size_t req_len)
{
	struct ib_uverbs_create_cq cmd = {.cqe = cqe, .comp_channel = -1};
	struct {
		struct ib_uverbs_create_cq_resp core;
		struct ornic_create_cq_resp drv;
	} resp;
	int ret = command(IB_USER_VERBS_CMD_CREATE_CQ, &cmd, sizeof(cmd), req, req_len, &resp,
			  sizeof(resp));

	if (!ret)
		cq = resp.core.cq_handle;
	return ret;
}

static struct ornic_create_cq_req good_cq(void)
{
	return (struct ornic_create_cq_req){
		.buf_addr = (uintptr_t)buf,
		.buf_len = BUF_LEN,
		.ring_off = 128,
		.depth_shift = 6,
	};
}

static void test_cqs(void)
{
	static const struct change changes[] = {
		CHANGE(ornic_create_cq_req, comp_mask, 1, EOPNOTSUPP),
		CHANGE(ornic_create_cq_req, reserved, 1, EOPNOTSUPP),
		CHANGE(ornic_create_cq_req, buf_addr, 0, EFAULT),
		CHANGE(ornic_create_cq_req, buf_addr, 0x10000001, EINVAL),
		CHANGE(ornic_create_cq_req, buf_len, 0, EINVAL),
		CHANGE(ornic_create_cq_req, buf_len, PAGE + 1, EINVAL),
		CHANGE(ornic_create_cq_req, buf_len, 0xfffff000, EFAULT),
		CHANGE(ornic_create_cq_req, ring_off, 129, EINVAL),
		CHANGE(ornic_create_cq_req, ring_off, BUF_LEN - 64, EINVAL),
		CHANGE(ornic_create_cq_req, ring_off, 0xffffffc0, EINVAL),
		CHANGE(ornic_create_cq_req, rec_off, 64, EINVAL),
		CHANGE(ornic_create_cq_req, rec_off, BUF_LEN, EINVAL),
		CHANGE(ornic_create_cq_req, rec_off, 0xffffff80, EINVAL),
		CHANGE(ornic_create_cq_req, depth_shift, 0, EINVAL),
		CHANGE(ornic_create_cq_req, depth_shift, 5, EINVAL),
		CHANGE(ornic_create_cq_req, depth_shift, 9, EINVAL),
		CHANGE(ornic_create_cq_req, depth_shift, 63, EINVAL),
		CHANGE(ornic_create_cq_req, depth_shift, 255, EINVAL),
	};
	struct ornic_create_cq_req req = good_cq();
	size_t i;

	check("CQ, request too short", create_cq(32, &req, sizeof(req) - 8), EINVAL);
	check("CQ of 0 entries", create_cq(0, &req, sizeof(req)), EINVAL);
	check("CQ of 2^31 entries", create_cq(1U << 31, &req, sizeof(req)), EINVAL);
	check("CQ of 2^32 - 1 entries", create_cq(~0U, &req, sizeof(req)), EINVAL);
	for (i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		req = good_cq();
		apply(&req, &changes[i]);
		check(changes[i].what, create_cq(32, &req, sizeof(req)), changes[i].want);
	}
	req = good_cq();
	check("CQ", create_cq(63, &req, sizeof(req)), 0);
}

/* --- QPs ------------------------------------------------------------------------------------ */

static uint32_t qp;

static void good_attr(struct ib_uverbs_create_qp *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->pd_handle = pd;
	attr->send_cq_handle = cq;
	attr->recv_cq_handle = cq;
	attr->max_send_wr = 16;
	attr->max_recv_wr = 16;
	attr->max_send_sge = 2;
	attr->max_recv_sge = 1;
	attr->qp_type = 2; /* RC */
}

static struct ornic_create_qp_req good_qp(void)
{
	return (struct ornic_create_qp_req){
		.buf_addr = (uintptr_t)buf,
		.buf_len = BUF_LEN,
		.sq_off = PAGE,
		.rq_off = 2 * PAGE,
		.sq_shift = 4,
		.sq_stride_shift = 6,
		.rq_shift = 4,
		.rq_stride_shift = 5,
	};
}

static int create_qp(struct ib_uverbs_create_qp *attr, const struct ornic_create_qp_req *req,
		     size_t req_len)
{
	struct {
		struct ib_uverbs_create_qp_resp core;
		struct ornic_create_qp_resp drv;
	} resp;
	int ret = command(IB_USER_VERBS_CMD_CREATE_QP, attr, sizeof(*attr), req, req_len, &resp,
			  sizeof(resp));

	if (!ret)
		qp = resp.core.qp_handle;
	return ret;
}

static void test_qp_requests(void)
{
	static const struct change changes[] = {
		CHANGE(ornic_create_qp_req, comp_mask, 2, EOPNOTSUPP),
		CHANGE(ornic_create_qp_req, reserved, 1, EOPNOTSUPP),
		CHANGE(ornic_create_qp_req, buf_addr, 1, EINVAL),
		CHANGE(ornic_create_qp_req, buf_addr, 0, EFAULT),
		CHANGE(ornic_create_qp_req, buf_len, PAGE, EINVAL),
		CHANGE(ornic_create_qp_req, buf_len, 0, EINVAL),
		CHANGE(ornic_create_qp_req, sq_off, 4 * PAGE - 64, EINVAL),
		CHANGE(ornic_create_qp_req, sq_off, 0xffffffc0, EINVAL),
		CHANGE(ornic_create_qp_req, sq_off, 1, EINVAL),
		CHANGE(ornic_create_qp_req, rq_off, 4 * PAGE, EINVAL),
		CHANGE(ornic_create_qp_req, rq_off, 32, EINVAL),
		CHANGE(ornic_create_qp_req, rec_off, 4 * PAGE - 64, EINVAL),
		CHANGE(ornic_create_qp_req, sq_shift, 0, EINVAL),
		CHANGE(ornic_create_qp_req, sq_shift, 3, EINVAL),
		CHANGE(ornic_create_qp_req, sq_shift, 63, EINVAL),
		CHANGE(ornic_create_qp_req, sq_stride_shift, 5, EINVAL),
		CHANGE(ornic_create_qp_req, sq_stride_shift, 10, EINVAL),
		CHANGE(ornic_create_qp_req, rq_shift, 0, EINVAL),
		CHANGE(ornic_create_qp_req, rq_shift, 255, EINVAL),
		CHANGE(ornic_create_qp_req, rq_stride_shift, 4, EINVAL),
		CHANGE(ornic_create_qp_req, rq_stride_shift, 63, EINVAL),
	};
	struct ornic_create_qp_req req = good_qp();
	struct ib_uverbs_create_qp attr;
	size_t i;

	good_attr(&attr);
	check("QP, request too short", create_qp(&attr, &req, sizeof(req) - 8), EINVAL);
	for (i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		good_attr(&attr);
		req = good_qp();
		apply(&req, &changes[i]);
		check(changes[i].what, create_qp(&attr, &req, sizeof(req)), changes[i].want);
	}
}

static void test_qp_attrs(void)
{
	static const struct change changes[] = {
		CHANGE(ib_uverbs_create_qp, max_send_wr, 17, EINVAL),
		CHANGE(ib_uverbs_create_qp, max_send_wr, 0xffffffff, EINVAL),
		CHANGE(ib_uverbs_create_qp, max_recv_wr, 0x80000000, EINVAL),
		CHANGE(ib_uverbs_create_qp, max_send_sge, 3, EINVAL),
		CHANGE(ib_uverbs_create_qp, max_send_sge, 0xffffffff, EINVAL),
		CHANGE(ib_uverbs_create_qp, max_recv_sge, 2, EINVAL),
		CHANGE(ib_uverbs_create_qp, max_inline_data, 33, EINVAL),
		CHANGE(ib_uverbs_create_qp, max_inline_data, 0xffffffff, EINVAL),
		CHANGE(ib_uverbs_create_qp, qp_type, 3, EOPNOTSUPP), /* UC */
		CHANGE(ib_uverbs_create_qp, qp_type, 4, EOPNOTSUPP), /* UD */
	};
	struct ib_uverbs_create_qp attr;
	struct ornic_create_qp_req req = good_qp();
	size_t i;

	for (i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		good_attr(&attr);
		apply(&attr, &changes[i]);
		check(changes[i].what, create_qp(&attr, &req, sizeof(req)), changes[i].want);
	}
	good_attr(&attr);
	attr.max_send_wr = 0;
	attr.max_recv_wr = 0;
	check("QP without any queue", create_qp(&attr, &req, sizeof(req)), EINVAL);
	good_attr(&attr);
	attr.max_recv_wr = 0;
	check("QP with a send queue only", create_qp(&attr, &req, sizeof(req)), 0);
	good_attr(&attr);
	check("QP", create_qp(&attr, &req, sizeof(req)), 0);
}

static int modify_qp(uint32_t mask, uint8_t state, uint8_t port)
{
	struct {
		uint64_t no_response;
		struct ib_uverbs_modify_qp cmd;
	} m = {.cmd = {.qp_handle = qp, .attr_mask = mask, .qp_state = state, .port_num = port}};
	uint8_t msg[sizeof(struct ib_uverbs_cmd_hdr) + sizeof(m.cmd)];
	struct ib_uverbs_cmd_hdr *hdr = (void *)msg;

	hdr->command = IB_USER_VERBS_CMD_MODIFY_QP;
	hdr->in_words = sizeof(msg) / 4;
	hdr->out_words = 0;
	memcpy(msg + sizeof(*hdr), &m.cmd, sizeof(m.cmd));
	return write(fd, msg, sizeof(msg)) == sizeof(msg) ? 0 : errno;
}

static void test_qp_states(void)
{
	enum {
		STATE = 1,
		PORT = 1 << 5,
		QKEY = 1 << 6
	};
	enum {
		RESET,
		INIT,
		RTR,
		RTS,
		SQD,
		SQE,
		ERR
	};

	check("empty modify", modify_qp(0, 0, 0), 0);
	check("port 1", modify_qp(PORT, 0, 1), 0);
	check("port 2", modify_qp(PORT, 0, 2), EINVAL);
	check("a QKEY", modify_qp(QKEY, 0, 0), EOPNOTSUPP);
	check("RESET to RTR", modify_qp(STATE, RTR, 0), EINVAL);
	check("RESET to RTS", modify_qp(STATE, RTS, 0), EINVAL);
	check("RESET to SQD", modify_qp(STATE, SQD, 0), EINVAL);
	check("RESET to INIT", modify_qp(STATE | PORT, INIT, 1), 0);
	check("INIT to RTR", modify_qp(STATE, RTR, 0), 0);
	check("RTR to RTS without a connection", modify_qp(STATE, RTS, 0), EINVAL);
	check("RTR to SQE", modify_qp(STATE, SQE, 0), EOPNOTSUPP);
	check("RTR to ERR", modify_qp(STATE, ERR, 0), 0);
	check("ERR to ERR", modify_qp(STATE, ERR, 0), 0);
	check("ERR to SQD", modify_qp(STATE, SQD, 0), 0);
	check("ERR to INIT", modify_qp(STATE, INIT, 0), EINVAL);
	check("ERR to RESET", modify_qp(STATE, RESET, 0), EINVAL);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s /dev/infiniband/uverbsN\n", argv[0]);
		return 2;
	}
	buf = mmap(NULL, BUF_LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (buf == MAP_FAILED)
		return 2;

	test_contexts(argv[1]);
	test_pd();
	test_mrs();
	test_cqs();
	test_qp_requests();
	test_qp_attrs();
	test_qp_states();
	/* Rings full of junk, then everything goes at once with the descriptor. */
	memset(buf, 0xff, BUF_LEN);
	close(fd);
	printf("%d checks, %d failed\n", checks, failures);
	return failures ? 1 : 0;
}
