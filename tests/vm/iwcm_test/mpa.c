// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a driver negotiates with a crafting peer, in both roles: CRCs and markers (RFC 5044 7.1.1),
 * depths (RFC 6581 9.1), kinds of RTR message (9.2), revisions (10), and frames that are cut, late,
 * repeated or never come.
 */
#define pr_fmt(fmt) "iwcm_test: " fmt
#include <linux/crc32c.h>
#include <linux/delay.h>
#include <linux/unaligned.h>

#include "iwcm_test.h"

#define ULP	  0x3fff /* depth: the consumers agree on it by themselves */
#define A_FLAG	  0x8000
#define DEPTH	  0x3fff
#define FPDU_SEND 24 /* zero-length Send as FPDU, without markers */
#define FPDU_TERM 28

/**
 * struct conv - a connection of the driver with the crafting peer
 * @active: the driver is the initiator
 * @port: the listener's
 * @l: the driver's listener
 * @tcp: the peer's
 * @s: the peer's end
 * @e: the driver's
 * @frame: request or reply of the driver
 * @len: its bytes
 */
struct conv {
	bool active;
	u16 port;
	struct lis *l;
	struct socket *tcp;
	struct socket *s;
	struct end *e;
	u8 frame[FRAME_MAX];
	int len;
};

static struct conv conv;
static u8 buf[2 * FRAME_MAX];

static u16 word(const u8 *p)
{
	return get_unaligned_be16(p);
}

/* The driver's request has come. */
static void active_begin(u32 ird, u32 ord)
{
	memset(&conv, 0, sizeof(conv));
	conv.active = true;
	conv.port = next_port();
	conv.tcp = peer_listen(conv.port);
	conv.e = end_new(&dev[0]);
	CHECK_EQ(end_connect(conv.e, dev[1].addr, conv.port, ird, ord, "pd", 2), 0);
	conv.s = peer_accept(conv.tcp);
	conv.len = peer_read_frame(conv.s, conv.frame, 10000);
}

/* Our request has reached the consumer, which has a QP with one receive. */
static bool passive_begin(const void *req, int len)
{
	struct ib_recv_wr wr = {};

	memset(&conv, 0, sizeof(conv));
	conv.port = next_port();
	conv.l = lis_new(&dev[0], conv.port, 8, NULL);
	conv.s = peer_connect(conv.port);
	peer_send(conv.s, req, len);
	conv.e = lis_take(conv.l, 5000);
	CHECK(conv.e, "no CONNECT_REQUEST");
	if (!conv.e)
		return false;
	conv.e->qp = qp_new(&dev[0]);
	CHECK_EQ(ib_post_recv(conv.e->qp, &wr, NULL), 0);
	return true;
}

static void accept_and_read_reply(u32 ird, u32 ord)
{
	CHECK_EQ(end_accept(conv.e, &dev[0], ird, ord, NULL, 0), 0);
	conv.len = peer_read_frame(conv.s, conv.frame, 5000);
	CHECK_EQ(conv.len, 24);
}

static void conv_end(void)
{
	struct ib_wc wc;

	peer_close(conv.s);
	peer_close(conv.tcp);
	end_free(conv.e);
	if (conv.l)
		lis_free(conv.l);
	while (wait_wc(&dev[0], &wc, 0))
		;
}

/* Connected in either role, with a peer that sends these bits. */
static bool conv_begin(bool active, u8 bits)
{
	struct ib_recv_wr wr = {};

	if (active) {
		active_begin(1, 1);
		CHECK_EQ(ib_post_recv(conv.e->qp, &wr, NULL), 0);
		peer_send(conv.s, buf, frame2(buf, true, bits, 1, 1, NULL, 0));
		end_check_connected(conv.e);
		return !conv.e->reply_status;
	}
	if (!passive_begin(buf, frame2(buf, false, bits, 1, 1, NULL, 0)))
		return false;
	accept_and_read_reply(1, 1);
	CHECK(end_wait(conv.e, &conv.e->established, 1, 5000), "no ESTABLISHED");
	return !conv.e->est_status;
}

/* ---- CRCs and markers ---- */

/* The first FPDU of the peer; where nobody asked for CRCs their field is of no meaning. */
static void first_to_driver(bool crc, bool marker)
{
	int at = marker ? 4 : 0, len;
	struct ib_wc wc = {};

	memset(buf, 0, 4);
	len = at + fpdu_send(buf + at, NULL, 0);
	if (crc)
		put_unaligned_le32(~crc32c(~0, buf, len - 4), buf + len - 4);
	else
		put_unaligned_le32(0x12345678, buf + len - 4);
	peer_send(conv.s, buf, len);
	CHECK_EQ(wait_wc(&dev[0], &wc, 5000), 1);
	CHECK_EQ(wc.status, IB_WC_SUCCESS);
	CHECK_EQ(wc.opcode, IB_WC_RECV);
}

static void first_from_driver(bool crc, bool marker)
{
	struct ib_send_wr sw = {.opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED};
	int at = marker ? 4 : 0;
	struct ib_wc wc = {};

	CHECK_EQ(ib_post_send(conv.e->qp, &sw, NULL), 0);
	CHECK_EQ(peer_recv(conv.s, buf, FPDU_SEND + at, 5000), FPDU_SEND + at);
	CHECK_EQ(wait_wc(&dev[0], &wc, 5000), 1);
	CHECK_EQ(wc.status, IB_WC_SUCCESS);
	if (marker)
		CHECK_EQ(get_unaligned_be32(buf), 0);
	CHECK_EQ(word(buf + at), 18);
	CHECK_EQ(buf[at + 3] & 0x0f, 3);
	if (crc)
		CHECK_EQ(get_unaligned_le32(buf + at + 20), (u32)~crc32c(~0, buf, at + 20));
}

/* RFC 5044 8: Terminate 2/0/2, the consumer hears CLOSE, nothing completes but by flush. */
static void wrong_crc_to_driver(void)
{
	int len = fpdu_send(buf, NULL, 0);

	buf[len - 1] ^= 1;
	peer_send(conv.s, buf, len);
	CHECK_EQ(peer_recv(conv.s, buf, FPDU_TERM, 5000), FPDU_TERM);
	CHECK_EQ(buf[3] & 0x0f, 7);
	CHECK_EQ(buf[20], 0x20);
	CHECK_EQ(buf[21], 2);
	end_check_closed(conv.e);
}

/* RFC 5044 7.1.1: CRCs when either asks, markers to the one who asks. */
static void crc_and_markers(bool active)
{
	bool crc, marks;
	int i;

	for (i = 0; i < 4; i++) {
		marks = i & 2;
		crc = policy.crc || (i & 1);
		if (conv_begin(active, (i & 1 ? MPA_C : 0) | (marks ? MPA_M : 0))) {
			CHECK_EQ(!!(conv.frame[16] & MPA_C), active ? policy.crc : crc);
			CHECK_EQ(!!(conv.frame[16] & MPA_M), policy.markers);
			first_to_driver(crc, policy.markers);
			first_from_driver(crc, marks);
			if (crc)
				wrong_crc_to_driver();
		}
		conv_end();
	}
}

static void crc_and_markers_active(void)
{
	crc_and_markers(true);
}

static void crc_and_markers_passive(void)
{
	crc_and_markers(false);
}

/* A Terminate in place of the first FPDU has a marker too. */
static void terminate_with_marker(void)
{
	active_begin(1, 1);
	peer_send(conv.s, buf, frame2(buf, true, MPA_C | MPA_M, 3, 0x3ffe, NULL, 0));
	end_check_failed_connect(conv.e, -ENOMEM);
	CHECK_EQ(peer_recv(conv.s, buf, 4 + FPDU_TERM, 5000), 4 + FPDU_TERM);
	CHECK_EQ(get_unaligned_be32(buf), 0);
	CHECK_EQ(buf[4 + 20], 0x20);
	CHECK_EQ(buf[4 + 21], 6);
	CHECK_EQ(get_unaligned_le32(buf + FPDU_TERM), (u32)~crc32c(~0, buf, FPDU_TERM));
	conv_end();
}

/* ---- depths (RFC 6581 9.1) ---- */

static u16 most(bool ird)
{
	return ird ? dev[0].ib->attrs.max_qp_rd_atom : dev[0].ib->attrs.max_qp_init_rd_atom;
}

/* Is what a consumer is told, within the device's limit. */
static u16 offered(u16 depth, bool ird)
{
	return depth == ULP ? most(ird) : min(depth, most(ird));
}

static void depths_passive_one(u16 ird, u16 ord, u16 our_ird, u16 our_ord)
{
	u16 want_ird = ord == ULP ? our_ird : min(our_ird, ord);
	u16 want_ord = ird == ULP ? our_ord : min(our_ord, ird);

	if (!passive_begin(buf, frame2(buf, false, MPA_C, ird, ord, NULL, 0)))
		goto out;
	CHECK_EQ(conv.e->ird, offered(ird, false));
	CHECK_EQ(conv.e->ord, offered(ord, true));
	accept_and_read_reply(our_ird, our_ord);
	CHECK(end_wait(conv.e, &conv.e->established, 1, 5000), "no ESTABLISHED");
	CHECK_EQ(conv.e->est_status, 0);
	CHECK_EQ(conv.e->ird, want_ird);
	CHECK_EQ(conv.e->ord, want_ord);
	CHECK_EQ(word(conv.frame + 20), ord == ULP ? ULP : want_ird);
	CHECK_EQ(word(conv.frame + 22), ird == ULP ? ULP : want_ord);
out:
	conv_end();
}

static void depths_passive(void)
{
	static const u16 asked[] = {0, 1, 5, ULP};
	int i, k;

	for (i = 0; i < ARRAY_SIZE(asked); i++)
		for (k = 0; k < ARRAY_SIZE(asked); k++)
			depths_passive_one(asked[i], asked[k], 3, 2);
	depths_passive_one(4, 4, 0, 0);
	depths_passive_one(0x3ffe, 0x3ffe, most(true), most(false));
}

static void depths_active_one(u16 our_ird, u16 our_ord, u16 ird, u16 ord)
{
	active_begin(our_ird, our_ord);
	CHECK_EQ(conv.len, 26);
	CHECK_EQ(word(conv.frame + 20), our_ird);
	CHECK_EQ(word(conv.frame + 22), our_ord);
	peer_send(conv.s, buf, frame2(buf, true, MPA_C, ird, ord, NULL, 0));
	end_check_connected(conv.e);
	CHECK_EQ(conv.e->ird, ord == ULP ? our_ird : ord);
	CHECK_EQ(conv.e->ord, ird == ULP ? our_ord : min(our_ord, ird));
	conv_end();
}

static void depths_active(void)
{
	static const u16 ours[] = {0, 1, 5}, theirs[] = {0, 2, ULP};
	int i, k;

	for (i = 0; i < ARRAY_SIZE(ours); i++)
		for (k = 0; k < ARRAY_SIZE(theirs); k++)
			depths_active_one(ours[i], ours[(i + 1) % 3], theirs[k],
					  theirs[(k + 1) % 3]);
	depths_active_one(most(true), most(false), most(false), most(true));
}

/* Zero means no Reads: ours fails, the peer's is answered by Terminate 1/2/2. */
static void depths_of_zero(void)
{
	struct ib_rdma_wr rd = {.wr.opcode = IB_WR_RDMA_READ, .wr.send_flags = IB_SEND_SIGNALED};
	struct ib_wc wc = {};

	active_begin(0, 0);
	peer_send(conv.s, buf, frame2(buf, true, MPA_C, 0, 0, NULL, 0));
	end_check_connected(conv.e);
	CHECK_EQ(ib_post_send(conv.e->qp, &rd.wr, NULL), 0);
	CHECK_EQ(wait_wc(&dev[0], &wc, 5000), 1);
	CHECK(wc.status != IB_WC_SUCCESS && wc.status != IB_WC_WR_FLUSH_ERR, "status %d",
	      wc.status);
	end_check_closed(conv.e);
	conv_end();

	active_begin(0, 0);
	peer_send(conv.s, buf, frame2(buf, true, MPA_C, 0, 0, NULL, 0));
	end_check_connected(conv.e);
	peer_send(conv.s, buf, fpdu_read0(buf, 1));
	CHECK(peer_recv(conv.s, buf, FPDU_TERM, 5000) == FPDU_TERM, "no Terminate");
	CHECK_EQ(buf[20], 0x12);
	CHECK_EQ(buf[21], 2);
	end_check_closed(conv.e);
	conv_end();
}

/* ---- RTR messages (RFC 6581 9.2) ---- */

/* Each set of kinds in a request: A comes back, with one kind, of the set if there is one. */
static int rtr_named(int set)
{
	u16 ird = A_FLAG | 1 | (set & 1 ? 0x4000 : 0);
	u16 ord = 1 | (set & 2 ? 0x8000 : 0) | (set & 4 ? 0x4000 : 0);
	int named;

	if (!passive_begin(buf, frame2(buf, false, MPA_C, ird, ord, NULL, 0)))
		return 0;
	accept_and_read_reply(1, 1);
	CHECK(conv.frame[20] & 0x80, "A does not come back");
	named = (conv.frame[20] >> 6 & 1) | (conv.frame[22] >> 7) << 1 |
		(conv.frame[22] >> 6 & 1) << 2;
	CHECK(hweight8(named) == 1 && (!set || (named & set)), "of kinds 0x%x it named 0x%x", set,
	      named);
	return named;
}

/* An RTR message is not looked at: whatever STag, offset and source it names. */
static void rtr_sets(void)
{
	static const u32 stags[] = {0, 1, 0xdeadbeef};
	int set, named, i, len;

	for (set = 0; set < 8; set++)
		for (i = 0; i < ARRAY_SIZE(stags); i++) {
			named = rtr_named(set);
			if (named == 1)
				len = fpdu_send(buf, NULL, 0);
			else if (named == 2)
				len = fpdu_write0(buf, stags[i]);
			else
				len = fpdu_read0(buf, stags[i]);
			if (conv.e) {
				CHECK_EQ(conv.e->established, 0);
				peer_send(conv.s, buf, len);
				CHECK(end_wait(conv.e, &conv.e->established, 1, 5000),
				      "no ESTABLISHED for RTR kind %d", named);
				CHECK_EQ(conv.e->est_status, 0);
			}
			conv_end();
		}
}

/* Data in the same segment as the RTR message is neither lost nor early. */
static void rtr_and_data(void)
{
	struct ib_wc wc = {};
	int len;

	if (rtr_named(2)) {
		len = fpdu_write0(buf, 1);
		len += fpdu_send(buf + len, NULL, 0);
		peer_send(conv.s, buf, len);
		CHECK(end_wait(conv.e, &conv.e->established, 1, 5000), "no ESTABLISHED");
		CHECK_EQ(conv.e->est_status, 0);
		CHECK_EQ(wait_wc(&dev[0], &wc, 5000), 1);
		CHECK_EQ(wc.status, IB_WC_SUCCESS);
		CHECK_EQ(wait_wc(&dev[0], &wc, 100), 0);
	}
	conv_end();
}

/* ---- frames that are cut, late, repeated, or do not come ---- */

static void silent_initiator(int sent)
{
	struct lis *l = lis_new(&dev[0], conv.port = next_port(), 4, NULL);
	struct socket *s = peer_connect(conv.port);
	unsigned long t = jiffies;

	frame2(buf, false, MPA_C, 1, 1, "private data", 12);
	if (sent)
		peer_send(s, buf, sent);
	CHECK(peer_closed(s, mpa_ms + 5000), "the connection is still there");
	CHECK(time_after(jiffies, t + msecs_to_jiffies(mpa_ms / 2)), "too early");
	CHECK_EQ(l->requests, 0);
	peer_close(s);
	lis_free(l);
}

static void request_never_comes(void)
{
	silent_initiator(0);
}

static void request_stays_half(void)
{
	silent_initiator(29);
}

static void request_cut_by_fin(void)
{
	static const int cut[] = {1, 16, 19, 20, 23, 24, 35};
	struct lis *l = lis_new(&dev[0], conv.port = next_port(), 4, NULL);
	struct socket *s;
	int i;

	for (i = 0; i < ARRAY_SIZE(cut); i++) {
		s = peer_connect(conv.port);
		frame2(buf, false, MPA_C, 1, 1, "private data", 12);
		peer_send(s, buf, cut[i]);
		peer_fin(s);
		CHECK(peer_closed(s, mpa_ms / 2), "cut at %d: it waits", cut[i]);
		peer_close(s);
	}
	CHECK_EQ(l->requests, 0);
	lis_free(l);
}

static void request_twice(void)
{
	int len = frame2(buf, false, MPA_C, 1, 1, NULL, 0);

	if (passive_begin(buf, len)) {
		peer_send(conv.s, buf, len);
		CHECK(peer_closed(conv.s, 5000), "the connection is still there");
		CHECK_EQ(end_accept(conv.e, &dev[0], 1, 1, NULL, 0), -ECONNRESET);
		CHECK_EQ(conv.e->established + conv.e->closes, 0);
	}
	conv_end();
}

/* Both in one segment: there is no request, only one who does not keep the order. */
static void two_requests_glued(void)
{
	int len = frame2(buf, false, MPA_C, 1, 1, NULL, 0);
	struct lis *l = lis_new(&dev[0], conv.port = next_port(), 4, NULL);
	struct socket *s = peer_connect(conv.port);

	memcpy(buf + len, buf, len);
	peer_send(s, buf, 2 * len);
	CHECK(peer_closed(s, 5000), "the connection is still there");
	CHECK_EQ(l->requests, 0);
	peer_close(s);
	lis_free(l);
}

static void reply_late(void)
{
	active_begin(1, 1);
	msleep(mpa_ms / 2);
	peer_send(conv.s, buf, frame2(buf, true, MPA_C, 1, 1, NULL, 0));
	end_check_connected(conv.e);
	/* The time-out was for the reply only. */
	msleep(mpa_ms);
	CHECK_EQ(conv.e->closes, 0);
	conv_end();
}

static void reply_too_late(void)
{
	active_begin(1, 1);
	CHECK(end_wait(conv.e, &conv.e->replies, 1, mpa_ms + 5000), "no CONNECT_REPLY");
	peer_send(conv.s, buf, frame2(buf, true, MPA_C, 1, 1, NULL, 0));
	end_check_failed_connect(conv.e, -ETIMEDOUT);
	conv_end();
}

static void reply_cut(bool rst)
{
	static const int cut[] = {1, 19, 20, 23};
	int i;

	for (i = 0; i < ARRAY_SIZE(cut); i++) {
		active_begin(1, 1);
		frame2(buf, true, MPA_C, 1, 1, NULL, 0);
		peer_send(conv.s, buf, cut[i]);
		msleep(50);
		if (rst)
			peer_reset(conv.s);
		else
			peer_close(conv.s);
		conv.s = NULL;
		end_check_failed_connect(conv.e, -ECONNRESET);
		conv_end();
	}
}

static void reply_cut_by_fin(void)
{
	reply_cut(false);
}

static void reply_cut_by_rst(void)
{
	reply_cut(true);
}

/* The second one is taken for FPDUs, which it is not: the first counts. */
static void reply_twice(void)
{
	int len;

	active_begin(1, 1);
	len = frame2(buf, true, MPA_C, 1, 1, NULL, 0);
	memcpy(buf + len, buf, len);
	peer_send(conv.s, buf, 2 * len);
	end_check_connected(conv.e);
	peer_close(conv.s);
	conv.s = NULL;
	end_check_closed(conv.e);
	conv_end();
}

/* ---- races ---- */

/*
 * The peer resets shortly before the consumer accepts, or right behind: an error and nothing, or
 * ESTABLISHED and CLOSE.
 */
static void accept_races_with_reset(void)
{
	int i, ret, lost = 0;

	for (i = 0; i < 40 && !checks_failed; i++) {
		if (passive_begin(buf, frame2(buf, false, MPA_C, 1, 1, NULL, 0))) {
			if (i & 1) {
				peer_reset(conv.s);
				usleep_range(i * 50, i * 50 + 50);
			}
			ret = end_accept(conv.e, &dev[0], 1, 1, NULL, 0);
			if (!(i & 1))
				peer_reset(conv.s);
			conv.s = NULL;
			if (ret) {
				lost++;
				CHECK_EQ(ret, -ECONNRESET);
				CHECK_EQ(conv.e->established + conv.e->closes, 0);
			} else {
				CHECK(end_wait(conv.e, &conv.e->established, 1, 5000),
				      "no ESTABLISHED");
				end_check_closed(conv.e);
			}
		}
		conv_end();
	}
	pr_info("    %d of %d accepts came too late\n", lost, i);
	CHECK(lost && lost < i, "only one order was seen");
}

static void bad_request_while_listener_goes(void)
{
	struct socket *s;
	struct lis *l;
	int i, len;

	for (i = 0; i < 20 && !checks_failed; i++) {
		l = lis_new(&dev[0], conv.port = next_port(), 4, NULL);
		s = peer_connect(conv.port);
		len = frame2(buf, false, MPA_C, 1, 1, NULL, 0);
		buf[i % 3 ? 17 : 0] = 9;
		peer_send(s, buf, len);
		usleep_range(i * 40, i * 40 + 40);
		lis_free(l);
		CHECK(peer_closed(s, 5000), "the connection is still there");
		peer_close(s);
	}
}

/* Connection requests come, and their listener goes: none is left behind (wait_no_endpoints). */
static void listener_goes_in_a_storm(void)
{
	struct socket *s[8];
	struct lis *l;
	int i, k, len;

	for (i = 0; i < 10 && !checks_failed; i++) {
		l = lis_new(&dev[0], conv.port = next_port(), 16, NULL);
		len = frame2(buf, false, MPA_C, 1, 1, NULL, 0);
		for (k = 0; k < ARRAY_SIZE(s); k++) {
			s[k] = peer_connect(conv.port);
			peer_send(s[k], buf, len);
		}
		lis_free(l);
		for (k = 0; k < ARRAY_SIZE(s); k++) {
			CHECK(peer_closed(s[k], 5000), "the connection is still there");
			peer_close(s[k]);
		}
	}
}

const struct test_case nego_cases[] = {{"mpa: CRC and markers, initiator", crc_and_markers_active},
				       {"mpa: CRC and markers, responder", crc_and_markers_passive},
				       {}};

const struct test_case mpa_cases[] = {
	{"mpa: Terminate with a marker", terminate_with_marker},
	{"mpa: depths, responder", depths_passive},
	{"mpa: depths, initiator", depths_active},
	{"mpa: depths of zero", depths_of_zero},
	{"mpa: RTR kinds named and taken", rtr_sets},
	{"mpa: RTR message and data in one segment", rtr_and_data},
	{"mpa: request never comes", request_never_comes},
	{"mpa: request stays half", request_stays_half},
	{"mpa: request cut by FIN", request_cut_by_fin},
	{"mpa: request twice", request_twice},
	{"mpa: two requests in one segment", two_requests_glued},
	{"mpa: reply late", reply_late},
	{"mpa: reply after the time-out", reply_too_late},
	{"mpa: reply cut by FIN", reply_cut_by_fin},
	{"mpa: reply cut by RST", reply_cut_by_rst},
	{"mpa: reply twice", reply_twice},
	{"mpa: accept races with a reset", accept_races_with_reset},
	{"mpa: bad request while the listener goes", bad_request_while_listener_goes},
	{"mpa: listener goes in a storm of requests", listener_goes_in_a_storm},
	{}};

/* ---- revision 1 only, on the first device ---- */

static void rev1_request(void)
{
	static u8 pattern[513];
	struct end *e;
	int i;

	for (i = 0; i < sizeof(pattern); i++)
		pattern[i] = i * 7 + 5;
	e = end_new(&dev[0]);
	CHECK_EQ(end_connect(e, dev[1].addr, next_port(), 1, 1, pattern, 513), -EINVAL);
	end_free(e);

	memset(&conv, 0, sizeof(conv));
	conv.port = next_port();
	conv.tcp = peer_listen(conv.port);
	conv.e = end_new(&dev[0]);
	CHECK_EQ(end_connect(conv.e, dev[1].addr, conv.port, 2, 3, pattern, 512), 0);
	conv.s = peer_accept(conv.tcp);
	CHECK_EQ(peer_read_frame(conv.s, conv.frame, 10000), 532);
	CHECK_EQ(conv.frame[17], 1);
	CHECK_EQ(conv.frame[16] & MPA_S, 0);
	CHECK(!memcmp(conv.frame + 20, pattern, 512), "private data");
	peer_send(conv.s, buf, frame(buf, true, MPA_C, 1, pattern, 255));
	end_check_connected(conv.e);
	CHECK_EQ(conv.e->pd_len, 255);
	CHECK(!memcmp(conv.e->pd, pattern, 255), "private data");
	CHECK_EQ(conv.e->ird, 2);
	CHECK_EQ(conv.e->ord, 3);
	conv_end();
}

static void rev1_gets_rev2_reply(void)
{
	active_begin(1, 1);
	CHECK_EQ(conv.len, 22);
	peer_send(conv.s, buf, frame2(buf, true, MPA_C, 1, 1, NULL, 0));
	end_check_failed_connect(conv.e, -EPROTO);
	conv_end();
}

/* RFC 5044 7.1.1: a revision that is not supported: close at once. */
static void rev1_gets_rev2_request(void)
{
	struct lis *l = lis_new(&dev[0], conv.port = next_port(), 4, NULL);
	struct socket *s = peer_connect(conv.port);

	peer_send(s, buf, frame2(buf, false, MPA_C, 1, 1, NULL, 0));
	CHECK(peer_closed(s, 5000), "the connection is still there");
	CHECK_EQ(l->requests, 0);
	peer_close(s);
	lis_free(l);
}

/* The second device, of revision 2, falls back. */
static void rev1_and_rev2(void)
{
	long before = dev_counter(&dev[1], "cm_mpa_rev1_fallbacks");
	u16 port = next_port();
	struct lis *l = lis_new(&dev[0], port, 4, NULL);
	struct end *c = end_new(&dev[1]), *s;

	CHECK_EQ(end_connect(c, dev[0].addr, port, 3, 5, "request", 7), 0);
	s = lis_take(l, 10000);
	CHECK(s, "no CONNECT_REQUEST");
	if (s) {
		CHECK(s->pd_len == 7 && !memcmp(s->pd, "request", 7), "private data");
		CHECK_EQ(end_accept(s, &dev[0], 7, 2, "reply", 5), 0);
		CHECK(end_wait(s, &s->established, 1, 5000), "no ESTABLISHED");
		end_check_connected(c);
		CHECK(c->pd_len == 5 && !memcmp(c->pd, "reply", 5), "private data");
		CHECK_EQ(iw_cm_disconnect(c->id, 0), 0);
		end_check_closed(c);
		end_check_closed(s);
	}
	CHECK_EQ(dev_counter(&dev[1], "cm_mpa_rev1_fallbacks"), before + 1);
	end_free(c);
	end_free(s);
	lis_free(l);
}

const struct test_case rev1_cases[] = {
	{"rev1: request of 512 bytes", rev1_request},
	{"rev1: reply of revision 2", rev1_gets_rev2_reply},
	{"rev1: request of revision 2", rev1_gets_rev2_request},
	{"rev1: an initiator of revision 2 falls back", rev1_and_rev2},
	{}};
