// SPDX-License-Identifier: GPL-2.0-or-later
#include "peer.h"

#ifdef NO_LWIP

bool lwip_peer_init(const struct lwip_peer_ops *ops)
{
	return false;
}

#else

#include <string.h>

#include "lwip/init.h"
#include "lwip/ip.h"
#include "lwip/netif.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/tcp.h"
#include "lwip/timeouts.h"

static struct lwip_peer_ops env;
static struct netif nif;

u32_t sys_now(void)
{
	return env.now_ms();
}

/* ---------------------------------------------------------------- the wire */

static err_t output_any(struct pbuf *p)
{
	static uint8_t packet[65536];

	env.output(packet, pbuf_copy_partial(p, packet, p->tot_len, 0));
	return ERR_OK;
}

static err_t output4(struct netif *n, struct pbuf *p, const ip4_addr_t *to)
{
	return output_any(p);
}

static err_t output6(struct netif *n, struct pbuf *p, const ip6_addr_t *to)
{
	return output_any(p);
}

static err_t netif_setup(struct netif *n)
{
	n->mtu = 1500;
	n->output = output4;
	n->output_ip6 = output6;
	return ERR_OK;
}

static void address(ip_addr_t *a, bool v6, unsigned int last)
{
	if (v6)
		IP_ADDR6(a, PP_HTONL(0x20010db8), 0, 0, lwip_htonl(last));
	else
		IP_ADDR4(a, 10, 0, 0, last);
}

bool lwip_peer_init(const struct lwip_peer_ops *ops)
{
	ip_addr_t us, mask = IPADDR4_INIT_BYTES(255, 255, 255, 0), six;

	env = *ops;
	lwip_init();
	address(&us, false, 2);
	address(&six, true, 2);
	netif_add(&nif, ip_2_ip4(&us), ip_2_ip4(&mask), NULL, NULL, netif_setup, ip_input);
	netif_ip6_addr_set(&nif, 0, ip_2_ip6(&six));
	netif_ip6_addr_set_state(&nif, 0, IP6_ADDR_PREFERRED);
	netif_set_default(&nif);
	netif_set_up(&nif);
	netif_set_link_up(&nif);
	return true;
}

void lwip_peer_input(const void *packet, size_t len)
{
	struct pbuf *p = pbuf_alloc(PBUF_RAW, (u16_t)len, PBUF_RAM);

	pbuf_take(p, packet, (u16_t)len);
	nif.input(p, &nif);
}

void lwip_peer_timers(void)
{
	sys_check_timeouts();
}

uint32_t lwip_peer_wait(void)
{
	return sys_timeouts_sleeptime();
}

bool lwip_peer_idle(void)
{
	return !tcp_active_pcbs && !tcp_tw_pcbs;
}

/* ---------------------------------------------------------------- a connection */

/* When both directions are over, lwIP does the rest by itself */
static err_t finish(struct lwip_peer *p, struct tcp_pcb *pcb)
{
	if (p->sent < p->to_send || !p->peer_fin)
		return ERR_OK;
	tcp_arg(pcb, NULL);
	p->pcb = NULL;
	return tcp_close(pcb);
}

static err_t fill(struct lwip_peer *p, struct tcp_pcb *pcb)
{
	bool all = p->sent == p->to_send;

	while (p->sent < p->to_send) {
		uint64_t n = p->to_send - p->sent;

		n = n < tcp_sndbuf(pcb) ? n : tcp_sndbuf(pcb);
		n = n < 16384 ? n : 16384;
		if (!n || tcp_write(pcb, env.pattern(p->sent), (u16_t)n, TCP_WRITE_FLAG_COPY))
			break;
		p->sent += n;
	}
	tcp_output(pcb);
	if (!all && p->sent == p->to_send && !p->peer_fin)
		return tcp_shutdown(pcb, 0, 1);
	return finish(p, pcb);
}

static err_t on_sent(void *arg, struct tcp_pcb *pcb, u16_t len)
{
	return arg ? fill(arg, pcb) : ERR_OK;
}

/* A write that found no memory is tried again */
static err_t on_poll(void *arg, struct tcp_pcb *pcb)
{
	return arg ? fill(arg, pcb) : ERR_OK;
}

static err_t on_recv(void *arg, struct tcp_pcb *pcb, struct pbuf *b, err_t err)
{
	struct lwip_peer *p = arg;

	if (!b) {
		p->peer_fin = true;
		return finish(p, pcb);
	}
	for (struct pbuf *q = b; q; q = q->next) {
		if (memcmp(q->payload, env.pattern(p->received), q->len))
			p->why = "lwIP received wrong bytes";
		p->received += q->len;
	}
	/* its argument has 16 bits; a chain from the queue may be longer */
	for (struct pbuf *q = b; q; q = q->next)
		tcp_recved(pcb, q->len);
	pbuf_free(b);
	return ERR_OK;
}

static void on_error(void *arg, err_t err)
{
	struct lwip_peer *p = arg;

	if (p)
		p->why = err == ERR_RST ? "lwIP was reset" : "lwIP gave up";
}

static err_t established(struct lwip_peer *p, struct tcp_pcb *pcb)
{
	p->pcb = pcb;
	tcp_arg(pcb, p);
	tcp_recv(pcb, on_recv);
	tcp_sent(pcb, on_sent);
	tcp_err(pcb, on_error);
	tcp_poll(pcb, on_poll, 2);
	return fill(p, pcb);
}

static err_t on_connected(void *arg, struct tcp_pcb *pcb, err_t err)
{
	return established(arg, pcb);
}

static err_t on_accept(void *arg, struct tcp_pcb *pcb, err_t err)
{
	struct lwip_peer *p = arg;

	tcp_close(p->pcb); /* one is enough */
	return established(p, pcb);
}

bool lwip_peer_start(struct lwip_peer *p)
{
	struct tcp_pcb *pcb = tcp_new_ip_type(p->v6 ? IPADDR_TYPE_V6 : IPADDR_TYPE_V4);
	ip_addr_t us, to;

	address(&us, p->v6, 2);
	address(&to, p->v6, 1);
	if (!pcb || tcp_bind(pcb, &us, p->active ? 0 : p->port))
		return false;
	tcp_arg(pcb, p);
	tcp_err(pcb, on_error);
	if (p->active)
		return tcp_connect(pcb, &to, p->port, on_connected) == ERR_OK;
	p->pcb = tcp_listen(pcb);
	if (!p->pcb)
		return false;
	tcp_arg(p->pcb, p);
	tcp_accept(p->pcb, on_accept);
	return true;
}

#endif
