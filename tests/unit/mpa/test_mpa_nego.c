// SPDX-License-Identifier: GPL-2.0-or-later
/* MPA negotiation: RFC 5044 7.1.1 (CRC, markers), RFC 6581 9.1 (depths), 9.2 (RTR), 10 (revisions).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mpa.h"

#define SEND_BIT  MPA_RTR_BIT(MPA_RTR_SEND)
#define WRITE_BIT MPA_RTR_BIT(MPA_RTR_WRITE)
#define READ_BIT  MPA_RTR_BIT(MPA_RTR_READ)

static struct mpa_local side(u16 ird, u16 ord)
{
	struct mpa_local local = {
		.rev = 2,
		.rtr = MPA_RTR_ALL,
		.ird = ird,
		.ord = ord,
		.max_ird = 32,
		.max_ord = 32,
	};

	return local;
}

static struct mpa_frame enhanced_request(u16 ird, u16 ord)
{
	struct mpa_frame frame = {
		.kind = MPA_REQUEST, .rev = 2, .enhanced = true, .ird = ird, .ord = ord};

	return frame;
}

static struct mpa_frame enhanced_reply(u16 ird, u16 ord)
{
	struct mpa_frame frame = {
		.kind = MPA_REPLY, .rev = 2, .enhanced = true, .ird = ird, .ord = ord};

	return frame;
}

/* Both sides by this code: what they agree on is the same seen from either end. */
static void check_pair(const struct mpa_local *client, const struct mpa_local *server,
		       struct mpa_agreed *c, struct mpa_agreed *s)
{
	struct mpa_frame req, reply;

	mpa_request(client, &req);
	assert_int_equal(mpa_check_request(server, &req), MPA_OK);
	mpa_answer(server, &req, &reply, s);
	assert_int_equal(reply.rev, req.rev);
	assert_int_equal(reply.enhanced, req.enhanced);
	assert_int_equal(reply.peer_to_peer, req.peer_to_peer);
	assert_int_equal(mpa_check_reply(client, &req, &reply, c), MPA_OK);
	assert_int_equal(c->crc, s->crc);
	assert_int_equal(c->tx_markers, s->rx_markers);
	assert_int_equal(c->rx_markers, s->tx_markers);
	assert_int_equal(c->rtr, s->rtr);
}

/* RFC 5044 7.1.1 C: CRCs when either asks. The reply shows what is in force. */
static void crc_matrix(void **state)
{
	struct mpa_agreed c, s;
	int i, rev;

	for (rev = 1; rev <= 2; rev++)
		for (i = 0; i < 4; i++) {
			struct mpa_local client = side(4, 4), server = side(4, 4);

			client.rev = rev;
			client.crc = i & 1;
			server.crc = i & 2;
			check_pair(&client, &server, &c, &s);
			assert_int_equal(c.crc, !!i);
			print_message("revision %d, CRC asked by%s%s: %s\n", rev,
				      i & 1 ? " initiator" : "", i & 2 ? " responder" : "",
				      c.crc ? "on" : "off");
		}
}

/* RFC 5044 7.1.1 M: each side requires them for what it receives; one who cannot insert them
 * refuses. */
static void markers(void **state)
{
	struct mpa_local local = side(4, 4);
	struct mpa_frame req = enhanced_request(4, 4), reply = enhanced_reply(4, 4);
	struct mpa_agreed agreed, c, s;
	struct mpa_local client = side(4, 4), server = side(4, 4);
	int i;

	req.markers = true;
	assert_int_equal(mpa_check_request(&local, &req), MPA_MARKERS);
	req.markers = false;
	reply.markers = true;
	assert_int_equal(mpa_check_reply(&local, &req, &reply, &agreed), MPA_MARKERS);
	print_message("required of a device without: refused on both sides\n");

	for (i = 0; i < 4; i++) {
		client.can_mark = true;
		server.can_mark = true;
		client.markers = i & 1;
		server.markers = i & 2;
		check_pair(&client, &server, &c, &s);
		assert_int_equal(c.rx_markers, !!(i & 1));
		assert_int_equal(c.tx_markers, !!(i & 2));
	}
	print_message("with the capability: each direction by its receiver\n");
}

/* What iw_cm can carry: 255 bytes. Beyond: no truncation, but no delivery either. */
static void long_private_data(void **state)
{
	struct mpa_local local = side(4, 4);
	struct mpa_frame req = enhanced_request(4, 4), reply = enhanced_reply(4, 4);
	struct mpa_agreed agreed;
	int n;

	for (n = 0; n <= 512; n++) {
		req.pd_len = n;
		assert_int_equal(mpa_check_request(&local, &req), n > 255 ? MPA_LONG_DATA : MPA_OK);
		reply.pd_len = n;
		assert_int_equal(mpa_check_reply(&local, &req, &reply, &agreed),
				 n > 255 ? MPA_LONG_DATA : MPA_OK);
	}
	print_message("0 to 512 bytes in request and reply: 255 are the limit\n");
}

/* RFC 6581 9.1, responder: ORD at most the initiator's IRD; IRD what it has, at most what is of
 * use. */
static void responder_depths(void **state)
{
	static const u16 d[] = {0, 1, 2, 3, 5, 7, 31, 32};
	struct mpa_agreed agreed;
	struct mpa_frame reply;
	size_t a, b, i, j;

	for (a = 0; a < 8; a++)
		for (b = 0; b < 8; b++)
			for (i = 0; i < 8; i++)
				for (j = 0; j < 8; j++) {
					struct mpa_local local = side(d[a], d[b]);
					struct mpa_frame req = enhanced_request(d[i], d[j]);

					mpa_answer(&local, &req, &reply, &agreed);
					assert_int_equal(agreed.ord, d[b] < d[i] ? d[b] : d[i]);
					assert_int_equal(agreed.ird, d[a] < d[j] ? d[a] : d[j]);
					assert_int_equal(reply.ord, agreed.ord);
					assert_int_equal(reply.ird, agreed.ird);
				}
	print_message("4096 combinations at the responder\n");
}

/* RFC 6581 9.1, initiator: ORD at most the responder's IRD, IRD at least its ORD, or Terminate. */
static void initiator_depths(void **state)
{
	static const u16 d[] = {0, 1, 2, 3, 5, 7, 31, 32, 33, 0x3ffe};
	struct mpa_agreed agreed;
	struct mpa_frame req;
	size_t a, b, i, j;

	for (a = 0; a < 8; a++)
		for (b = 0; b < 8; b++)
			for (i = 0; i < 10; i++)
				for (j = 0; j < 10; j++) {
					struct mpa_local local = side(d[a], d[b]);
					struct mpa_frame reply = enhanced_reply(d[i], d[j]);
					enum mpa_status status;

					mpa_request(&local, &req);
					status = mpa_check_reply(&local, &req, &reply, &agreed);
					if (d[j] > local.max_ird) {
						assert_int_equal(status, MPA_NO_IRD);
						continue;
					}
					assert_int_equal(status, MPA_OK);
					assert_int_equal(agreed.ord, d[b] < d[i] ? d[b] : d[i]);
					assert_int_equal(agreed.ird, d[j]);
				}
	print_message("6400 combinations at the initiator; ORD beyond the device's IRD: 2/0/6\n");
}

/* The public case: client (ird 3, ord 5), server (ird 7, ord 2). */
static void asymmetric(void **state)
{
	struct mpa_local client = side(3, 5), server = side(7, 2);
	struct mpa_agreed c, s;

	check_pair(&client, &server, &c, &s);
	assert_int_equal(s.ird, 5);
	assert_int_equal(s.ord, 2);
	assert_int_equal(c.ird, 2);
	assert_int_equal(c.ord, 5);
	print_message("client 3/5, server 7/2: server has 5/2, client 2/5\n");
}

/* RFC 6581 9.1: 0x3fff leaves a depth to the consumers, and is answered by 0x3fff. */
static void depths_left_to_consumers(void **state)
{
	struct mpa_local local = side(3, 5);
	struct mpa_frame req = enhanced_request(0x3fff, 0x3fff), reply;
	struct mpa_agreed agreed;

	mpa_answer(&local, &req, &reply, &agreed);
	assert_int_equal(reply.ird, 0x3fff);
	assert_int_equal(reply.ord, 0x3fff);
	assert_int_equal(agreed.ird, 3);
	assert_int_equal(agreed.ord, 5);

	mpa_request(&local, &req);
	reply = enhanced_reply(0x3fff, 0x3fff);
	assert_int_equal(mpa_check_reply(&local, &req, &reply, &agreed), MPA_OK);
	assert_int_equal(agreed.ird, 3);
	assert_int_equal(agreed.ord, 5);

	/* Our own numbers never look like it. */
	local.ird = 0x3fff;
	local.ord = 0xffff;
	mpa_request(&local, &req);
	assert_int_equal(req.ird, 0x3ffe);
	assert_int_equal(req.ord, 0x3ffe);
	print_message("0x3fff from either side leaves the local depths as they are\n");
}

/* What the responder's consumer sees: within its device's limits and a u8. */
static void offer(void **state)
{
	struct mpa_local local = side(0, 0);
	struct mpa_frame req = enhanced_request(3, 5);
	u16 ird, ord;

	mpa_offer(&local, &req, &ird, &ord);
	assert_int_equal(ird, 3);
	assert_int_equal(ord, 5);
	req.ird = 100;
	req.ord = 0x3fff;
	mpa_offer(&local, &req, &ird, &ord);
	assert_int_equal(ird, 32);
	assert_int_equal(ord, 32);
	local.max_ird = 1000;
	local.max_ord = 1000;
	req.ird = 900;
	mpa_offer(&local, &req, &ird, &ord);
	assert_int_equal(ird, 255);
	assert_int_equal(ord, 255);
	req.rev = 1;
	req.enhanced = false;
	local.max_ird = 7;
	local.max_ord = 9;
	mpa_offer(&local, &req, &ird, &ord);
	assert_int_equal(ird, 9);
	assert_int_equal(ord, 7);
	print_message(
		"CONNECT_REQUEST: the initiator's depths, device's limits where it is silent\n");
}

/* RFC 6581 9.2, responder: A is echoed; one kind is named, of those asked for if it may be used. */
static void responder_rtr(void **state)
{
	int asked, may;

	for (asked = 0; asked < 16; asked += 2)
		for (may = 0; may < 16; may += 2) {
			struct mpa_local local = side(4, 4);
			struct mpa_frame req = enhanced_request(4, 4), reply;
			struct mpa_agreed agreed;

			local.rtr = may;
			req.peer_to_peer = true;
			req.rtr = asked;
			mpa_answer(&local, &req, &reply, &agreed);
			assert_true(reply.peer_to_peer);
			assert_int_not_equal(agreed.rtr, MPA_RTR_NONE);
			assert_int_equal(reply.rtr, MPA_RTR_BIT(agreed.rtr));
			if (asked & may)
				assert_true(reply.rtr & asked & may);
			else if (may)
				assert_true(reply.rtr & may);

			req.peer_to_peer = false;
			req.rtr = 0;
			mpa_answer(&local, &req, &reply, &agreed);
			assert_false(reply.peer_to_peer);
			assert_int_equal(reply.rtr, 0);
			assert_int_equal(agreed.rtr, MPA_RTR_NONE);
		}
	print_message("64 combinations: A as in the request, exactly one of B, C, D with it\n");
}

/* RFC 6581 9.2, initiator: a kind that both named; none: 2/0/7. A reply without A: none is sent. */
static void initiator_rtr(void **state)
{
	int ours, theirs, a;

	for (ours = 2; ours < 16; ours += 2)
		for (theirs = 0; theirs < 16; theirs += 2)
			for (a = 0; a < 2; a++) {
				struct mpa_local local = side(4, 4);
				struct mpa_frame req, reply = enhanced_reply(4, 4);
				struct mpa_agreed agreed;
				enum mpa_status status;

				local.peer_to_peer = true;
				local.rtr = ours;
				mpa_request(&local, &req);
				assert_true(req.peer_to_peer);
				assert_int_equal(req.rtr, ours);
				reply.peer_to_peer = a;
				reply.rtr = a ? theirs : 0;
				status = mpa_check_reply(&local, &req, &reply, &agreed);
				if (!a) {
					assert_int_equal(status, MPA_OK);
					assert_int_equal(agreed.rtr, MPA_RTR_NONE);
				} else if (ours & theirs) {
					assert_int_equal(status, MPA_OK);
					assert_true(MPA_RTR_BIT(agreed.rtr) & ours & theirs);
				} else {
					assert_int_equal(status, MPA_NO_RTR);
				}
			}
	print_message("112 combinations at the initiator\n");
}

/* Client-server is asked for with A, B, C, D all 0; a responder's A is not for us then. */
static void client_server(void **state)
{
	struct mpa_local local = side(4, 4);
	struct mpa_frame req, reply = enhanced_reply(4, 4);
	struct mpa_agreed agreed;

	mpa_request(&local, &req);
	assert_false(req.peer_to_peer);
	assert_int_equal(req.rtr, 0);
	reply.peer_to_peer = true;
	reply.rtr = MPA_RTR_ALL;
	assert_int_equal(mpa_check_reply(&local, &req, &reply, &agreed), MPA_OK);
	assert_int_equal(agreed.rtr, MPA_RTR_NONE);
	print_message("no RTR where none was asked for\n");
}

/* A Read as RTR needs one place, with consumers that asked for none. */
static void read_rtr_without_depth(void **state)
{
	struct mpa_local client = side(0, 0), server = side(0, 0);
	struct mpa_agreed c, s;
	struct mpa_frame req;

	client.peer_to_peer = true;
	client.rtr = READ_BIT;
	mpa_request(&client, &req);
	assert_int_equal(req.ord, 1);
	assert_int_equal(req.ird, 0);
	check_pair(&client, &server, &c, &s);
	assert_int_equal(s.rtr, MPA_RTR_READ);
	assert_int_equal(s.ird, 1);
	assert_int_equal(s.ord, 0);
	assert_int_equal(c.ord, 0);

	client.rtr = WRITE_BIT | SEND_BIT;
	mpa_request(&client, &req);
	assert_int_equal(req.ord, 0);
	check_pair(&client, &server, &c, &s);
	assert_int_equal(s.ird, 0);
	print_message("0/0 on both sides: room for one Read, only when the RTR is one\n");
}

/* Zero means none; nothing makes it one behind the consumer's back. */
static void zero_depths(void **state)
{
	struct mpa_local client = side(0, 0), server = side(32, 32);
	struct mpa_agreed c, s;

	check_pair(&client, &server, &c, &s);
	assert_int_equal(s.ird, 0);
	assert_int_equal(s.ord, 0);
	assert_int_equal(c.ird, 0);
	assert_int_equal(c.ord, 0);
	print_message("0/0 stays 0/0\n");
}

/* RFC 6581 10 and RFC 5044: a request of revision 1, or 2 without S, has an answer of its own kind.
 */
static void plain_requests(void **state)
{
	struct mpa_local client = side(3, 5), server = side(7, 2);
	struct mpa_agreed c, s;
	struct mpa_frame req, reply;

	client.rev = 1;
	client.peer_to_peer = true;
	mpa_request(&client, &req);
	assert_int_equal(req.rev, 1);
	assert_false(req.enhanced);
	assert_false(req.peer_to_peer);
	check_pair(&client, &server, &c, &s);
	assert_int_equal(s.ird, 7);
	assert_int_equal(s.ord, 2);
	assert_int_equal(c.ird, 3);
	assert_int_equal(c.ord, 5);
	assert_int_equal(s.rtr, MPA_RTR_NONE);

	req.rev = 2;
	mpa_answer(&server, &req, &reply, &s);
	assert_int_equal(reply.rev, 2);
	assert_false(reply.enhanced);
	assert_int_equal(s.ird, 7);
	print_message("no enhanced data in, none out; depths are the consumers'\n");
}

/* RFC 5044 7.1.1: a revision that this side does not speak, by policy: close, the peer may try 1.
 */
static void requests_of_other_revisions(void **state)
{
	struct mpa_local old = side(4, 4), new = side(4, 4);
	struct mpa_frame req = enhanced_request(4, 4);

	old.rev = 1;
	assert_int_equal(mpa_check_request(&old, &req), MPA_BAD_REVISION);
	req.markers = true;
	req.pd_len = 300;
	assert_int_equal(mpa_check_request(&old, &req), MPA_BAD_REVISION);
	mpa_request(&old, &req);
	assert_int_equal(mpa_check_request(&old, &req), MPA_OK);
	assert_int_equal(mpa_check_request(&new, &req), MPA_OK);
}

static void replies_of_other_revisions(void **state)
{
	struct mpa_local local = side(4, 4);
	struct mpa_frame req, reply = enhanced_reply(4, 4);
	struct mpa_agreed agreed;

	mpa_request(&local, &req);
	reply.rev = 1;
	reply.enhanced = false;
	assert_int_equal(mpa_check_reply(&local, &req, &reply, &agreed), MPA_OLDER);
	reply.reject = true;
	assert_int_equal(mpa_check_reply(&local, &req, &reply, &agreed), MPA_OLDER);
	reply.rev = 2;
	assert_int_equal(mpa_check_reply(&local, &req, &reply, &agreed), MPA_OLDER);

	local.rev = 1;
	mpa_request(&local, &req);
	reply = enhanced_reply(4, 4);
	assert_int_equal(mpa_check_reply(&local, &req, &reply, &agreed), MPA_BAD_REVISION);
	print_message("older than asked: fall back. Newer: bad\n");
}

/* A reject is of the request's kind, with the same A, and is told with whatever else is in it. */
static void rejects(void **state)
{
	struct mpa_local client = side(3, 5), server = side(32, 32);
	struct mpa_frame req, reply;
	struct mpa_agreed agreed;
	int rev;

	for (rev = 1; rev <= 2; rev++) {
		client.rev = rev;
		client.peer_to_peer = true;
		mpa_request(&client, &req);
		mpa_refuse(&server, &req, &reply);
		assert_int_equal(reply.kind, MPA_REPLY);
		assert_true(reply.reject);
		assert_int_equal(reply.rev, rev);
		assert_int_equal(reply.enhanced, rev == 2);
		assert_int_equal(reply.peer_to_peer, rev == 2);
		reply.markers = true;
		reply.pd_len = 400;
		assert_int_equal(mpa_check_reply(&client, &req, &reply, &agreed), MPA_REJECTED);
	}
	print_message("rejects of both revisions\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crc_matrix),
		cmocka_unit_test(markers),
		cmocka_unit_test(long_private_data),
		cmocka_unit_test(responder_depths),
		cmocka_unit_test(initiator_depths),
		cmocka_unit_test(asymmetric),
		cmocka_unit_test(depths_left_to_consumers),
		cmocka_unit_test(offer),
		cmocka_unit_test(responder_rtr),
		cmocka_unit_test(initiator_rtr),
		cmocka_unit_test(client_server),
		cmocka_unit_test(read_rtr_without_depth),
		cmocka_unit_test(zero_depths),
		cmocka_unit_test(plain_requests),
		cmocka_unit_test(requests_of_other_revisions),
		cmocka_unit_test(replies_of_other_revisions),
		cmocka_unit_test(rejects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
