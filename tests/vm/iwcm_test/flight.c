// SPDX-License-Identifier: GPL-2.0-or-later
/* Connections in every state, for a device that goes. */
#define pr_fmt(fmt) "iwcm_test: " fmt
#include "iwcm_test.h"

#define EACH	  4 /* of each state */
#define ENDS_MAX  (8 * EACH)
#define SOCKS_MAX (8 * EACH)

/**
 * struct flight - them
 * @l: listener on dev[0], for the crafting peer
 * @port: its port
 * @far: listener on dev[1]
 * @tcp: the peer's listener that never answers a request
 * @ends: all ids
 * @nends: how many
 * @socks: the peer's TCP connections
 * @nsocks: how many
 */
static struct flight {
	struct lis *l;
	u16 port;
	struct lis *far;
	struct socket *tcp;
	struct end *ends[ENDS_MAX];
	int nends;
	struct socket *socks[SOCKS_MAX];
	int nsocks;
} f;

static struct end *keep(struct end *e)
{
	CHECK(e, "no CONNECT_REQUEST");
	if (e)
		f.ends[f.nends++] = e;
	return e;
}

static struct end *begin_connect(__be32 to, u16 port)
{
	struct end *e = keep(end_new(&dev[0]));

	CHECK_EQ(end_connect(e, to, port, 1, 1, NULL, 0), 0);
	return e;
}

static struct socket *half_open(const char *bytes, int len)
{
	struct socket *s = peer_connect(f.port);

	if (len)
		peer_send(s, bytes, len);
	f.socks[f.nsocks++] = s;
	return s;
}

/* Delivered, and not answered yet. */
static struct end *requested(u16 flags)
{
	peer_request(half_open(NULL, 0), flags);
	return keep(lis_take(f.l, 10000));
}

static struct end *accepted(u16 flags)
{
	struct end *e = requested(flags);

	if (e)
		CHECK_EQ(end_accept(e, &dev[0], 4, 4, NULL, 0), 0);
	return e;
}

static struct end *established(void)
{
	struct end *e = accepted(0);

	CHECK(e && end_wait(e, &e->established, 1, 10000), "no ESTABLISHED");
	return e;
}

static void closing(void)
{
	struct end *e = established();

	if (e)
		CHECK_EQ(iw_cm_disconnect(e->id, 0), 0);
}

/* Both ends are ours. */
static void connected(u16 far_port)
{
	struct end *c = begin_connect(dev[1].addr, far_port);
	struct end *s = keep(lis_take(f.far, 10000));

	if (s)
		CHECK_EQ(end_accept(s, &dev[1], 1, 1, NULL, 0), 0);
	end_check_connected(c);
}

/* The peer's TCP opens these by itself; no request is ever read. */
static void waiting(u16 tcp_port)
{
	begin_connect(dev[1].addr, tcp_port);
}

static void one_of_each(u16 far_port, u16 tcp_port)
{
	waiting(tcp_port);
	half_open(NULL, 0);
	half_open("MPA ID Req", 10);
	requested(0);
	accepted(0x8000); /* its RTR message never comes */
	established();
	closing();
	connected(far_port);
}

/* These do not last: after some seconds there is no neighbour, or no SYN any more. */
static void opening(void)
{
	int i;

	for (i = 0; i < EACH; i++)
		begin_connect(htonl(ntohl(dev[0].addr) | 0x63), 7);
	CHECK_EQ(peer_deafen(true), 0);
	for (i = 0; i < EACH; i++)
		f.socks[f.nsocks++] = peer_connect_begin(f.port);
}

/**
 * flight_start() - bring connections into every state
 *
 * Return: 0 or negative errno, nothing is left then.
 */
int flight_start(void)
{
	u16 far_port = next_port();
	u16 tcp_port = next_port();
	int i;

	f.port = next_port();
	f.l = lis_new(&dev[0], f.port, 64, NULL);
	f.far = lis_new(&dev[1], far_port, 64, NULL);
	f.tcp = peer_listen(tcp_port);
	for (i = 0; i < EACH; i++)
		one_of_each(far_port, tcp_port);
	opening();
	dev_wait_counter(&dev[0], "cm_endpoints", 10 * EACH);
	if (!checks_failed)
		return 0;
	flight_end(false);
	return -EIO;
}

static void check_told(void)
{
	int i;

	for (i = 0; i < f.nends; i++)
		if (f.ends[i]->id->device == dev[0].ib)
			end_check_told(f.ends[i]);
}

/*
 * QP first, as killed programs do, or id first, which waits for a CONNECT_REPLY or ESTABLISHED that
 * is owed; in turn, and the number of states is odd. In the middle of it all the listener goes.
 */
static void end_all(void)
{
	struct end *e;
	int i;

	for (i = 0; i < f.nends; i++) {
		e = f.ends[i];
		if (i == f.nends / 2)
			lis_destroy_id(f.l);
		if (i & 1) {
			end_destroy_id(e);
			end_destroy_qp(e);
		} else {
			end_destroy_qp(e);
			end_check_told(e);
		}
		end_free(e);
	}
}

/**
 * flight_end() - give all of them up, and say how that went
 * @told: the device is dead: each connection has been told so before
 */
void flight_end(bool told)
{
	int i;

	if (told)
		check_told();
	end_all();
	lis_free(f.l);
	lis_free(f.far);
	peer_close(f.tcp);
	for (i = 0; i < f.nsocks; i++) {
		/* The last ones have not heard of us, and believe no RST. */
		CHECK(told || i >= f.nsocks - EACH || peer_closed(f.socks[i], 5000),
		      "the peer of %d was not told", i);
		peer_close(f.socks[i]);
	}
	peer_deafen(false);
	pr_info("flight of %d ids %s\n", f.nends, checks_failed ? "failed" : "passed");
}
