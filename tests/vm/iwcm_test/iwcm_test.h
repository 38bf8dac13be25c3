/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A consumer of iw_cm that counts: every downcall and the events that must and must not follow it,
 * the rules that drivers/infiniband/core/iwcm.c enforces by BUG_ON(). It talks to a driver's device
 * A through iw_cm, and the far end is either device B through iw_cm, or the host's TCP on B's
 * netdev, which sends whatever a test wants.
 */
#ifndef IWCM_TEST_H
#define IWCM_TEST_H

#include <linux/completion.h>
#include <linux/in.h>
#include <linux/list.h>
#include <linux/net.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>

struct test_dev {
	struct ib_device *ib;
	struct net *net;
	__be32 addr;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct rdma_hw_stats *stats;
};

/* The two devices; the far end's host TCP is dev[1].net. */
extern struct test_dev dev[2];
extern int mpa_ms;
extern int conns;
/* What the first device is told by devlink parameters, and the first port of this run. */
extern struct policy {
	bool crc;
	bool markers;
	u16 port;
} policy;

/**
 * struct end - one iw_cm_id of a connection, and all that it was told
 * @id: id, NULL once destroyed
 * @node: in its listener's list
 * @qp: its QP
 * @lock: the rest
 * @wait: woken by each event
 * @replies: CONNECT_REPLY events
 * @reply_status: of the last
 * @established: ESTABLISHED events
 * @est_status: of the last
 * @closes: CLOSE events
 * @wrong: events out of order
 * @ret: what the handler returns for an event of type n: non-zero destroys the id
 * @destroyed: the handler returned non-zero
 * @connecting: iw_connect() returned 0
 * @accepting: iw_accept() returned 0
 * @ird: of the last event that has them
 * @ord: likewise
 * @pd: private data of CONNECT_REQUEST or CONNECT_REPLY
 * @pd_len: its bytes
 */
struct end {
	struct iw_cm_id *id;
	struct list_head node;
	struct ib_qp *qp;
	spinlock_t lock;
	wait_queue_head_t wait;
	int replies;
	int reply_status;
	int established;
	int est_status;
	int closes;
	int wrong;
	int ret[IW_CM_EVENT_CLOSE + 1];
	bool destroyed;
	bool connecting;
	bool accepting;
	u8 ird;
	u8 ord;
	u8 pd[256];
	u8 pd_len;
};

/**
 * struct lis - a listening iw_cm_id
 * @id: id
 * @lock: @children
 * @wait: woken by each request
 * @children: requests not yet taken
 * @requests: CONNECT_REQUEST events
 * @ret: what the handler returns
 */
struct lis {
	struct iw_cm_id *id;
	spinlock_t lock;
	wait_queue_head_t wait;
	struct list_head children;
	int requests;
	int ret;
};

extern int checks_failed;

/* Says what did not hold, and lets the case go on. */
#define CHECK(cond, fmt, ...)                                                         \
	do {                                                                          \
		if (!(cond)) {                                                        \
			checks_failed++;                                              \
			pr_err("    %s:%d: %s: " fmt "\n", __func__, __LINE__, #cond, \
			       ##__VA_ARGS__);                                        \
		}                                                                     \
	} while (0)

#define CHECK_EQ(got, want)                                             \
	do {                                                            \
		long got_ = (got), want_ = (want);                      \
		CHECK(got_ == want_, "%ld, expected %ld", got_, want_); \
	} while (0)

/* harness.c */
u16 next_port(void);
struct ib_qp *qp_new(struct test_dev *d);
void qp_to(struct ib_qp *qp, enum ib_qp_state state);
struct end *end_new(struct test_dev *d);
void end_free(struct end *e);
int end_connect(struct end *e, __be32 to, u16 port, u32 ird, u32 ord, const void *pd, u16 len);
int end_accept(struct end *e, struct test_dev *d, u32 ird, u32 ord, const void *pd, u16 len);
bool end_wait(struct end *e, const int *counter, int want, int ms);
void end_check_failed_connect(struct end *e, int status);
void end_check_connected(struct end *e);
void end_check_closed(struct end *e);
void end_check_told(struct end *e);
void end_destroy_qp(struct end *e);
void end_destroy_id(struct end *e);
struct lis *lis_new(struct test_dev *d, u16 port, int backlog, int *err);
void lis_destroy_id(struct lis *l);
void lis_free(struct lis *l);
struct end *lis_take(struct lis *l, int ms);
long dev_counter(struct test_dev *d, const char *name);
void dev_wait_counter(struct test_dev *d, const char *name, long want);
void wait_no_endpoints(void);
int wait_wc(struct test_dev *d, struct ib_wc *wc, int ms);

/* pair.c */
int hold_start(void);
void hold_end(int ms);

/* flight.c */
int flight_start(void);
void flight_end(bool told);

/* peer.c: the host's TCP in the namespace of dev[1] */
#define FRAME_MAX 600
#define MPA_M	  0x80
#define MPA_C	  0x40
#define MPA_R	  0x20
#define MPA_S	  0x10
struct socket *peer_connect(u16 port);
struct socket *peer_connect_begin(u16 port);
bool peer_reaches(struct socket *s, int state, int ms);
struct socket *peer_listen(u16 port);
struct socket *peer_accept(struct socket *listener);
int peer_send(struct socket *s, const void *data, int len);
int peer_recv(struct socket *s, void *data, int len, int ms);
int peer_deafen(bool on);
bool peer_closed(struct socket *s, int ms);
void peer_fin(struct socket *s);
void peer_close(struct socket *s);
void peer_reset(struct socket *s);
int frame(u8 *buf, bool reply, u8 bits, u8 rev, const void *pd, int pd_len);
int frame2(u8 *buf, bool reply, u8 bits, u16 ird, u16 ord, const void *pd, int pd_len);
int peer_request(struct socket *s, u16 flags);
int peer_read_frame(struct socket *s, u8 *buf, int ms);
int fpdu_write0(u8 *buf, u32 stag);
int fpdu_read0(u8 *buf, u32 stag);
int fpdu_send(u8 *buf, const void *data, int len);

struct test_case {
	const char *name;
	void (*run)(void);
};

extern const struct test_case active_cases[];
extern const struct test_case passive_cases[];
extern const struct test_case pair_cases[];
extern const struct test_case rtr_cases[];
extern const struct test_case nego_cases[];
extern const struct test_case mpa_cases[];
extern const struct test_case rev1_cases[];
extern const struct test_case fire_cases[];

#endif
