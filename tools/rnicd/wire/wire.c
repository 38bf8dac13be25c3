// SPDX-License-Identifier: GPL-2.0-or-later
/* What all wires share: the transmit queue, delivery, link state, opening by description. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <net/if.h>

#include "wire/internal.h"

/* ---- transmit queue ---- */

int wire_alloc_queue(struct wire *w, u32 frame_size, u32 nslots)
{
	w->slot_size = ALIGN(WIRE_HEADROOM + frame_size, 64);
	w->nslots = nslots;
	w->txbuf = aligned_alloc(64, (size_t)w->slot_size * nslots);
	w->slots = calloc(nslots, sizeof(*w->slots));
	return w->txbuf && w->slots ? 0 : -ENOMEM;
}

/* One slot stays empty: a pipe's peer may still look at the one that was just freed. */
static u32 queue_free(const struct wire *w)
{
	return w->nslots - 1 - (w->tail - w->head);
}

static bool link_up(const struct wire *w)
{
	return w->carrier && w->admin_up;
}

void wire_sent(struct wire *w, u32 len)
{
	w->head++;
	w->stats.tx_frames++;
	w->stats.tx_bytes += len;
}

void wire_drop_queue(struct wire *w)
{
	w->stats.tx_dropped += w->tail - w->head;
	w->head = w->tail;
}

static void writable_cb(struct loop_work *work)
{
	struct wire *w = container_of(work, struct wire, writable_work);

	if (w->ops->writable)
		w->ops->writable(w->priv);
}

void wire_flush(struct wire *w)
{
	if (w->head != w->tail && !w->blocked)
		w->be->flush(w);
	if (w->head == w->tail && !w->be->deferred) {
		/* The first slots are those that the cache still holds. */
		w->head = 0;
		w->tail = 0;
	}
	/* Half empty, or a writer would be woken for each single slot. */
	if (w->want_space && queue_free(w) >= w->nslots / 2) {
		w->want_space = false;
		loop_post(w->loop, &w->writable_work);
	}
}

static bool flush_hook(struct loop_hook *h)
{
	wire_flush(container_of(h, struct wire, hook));
	return false;
}

/* Make room for @n more frames if that can be done at once. */
static bool queue_room(struct wire *w, u32 n)
{
	if (likely(queue_free(w) >= n))
		return true;
	if (!w->be->deferred)
		wire_flush(w);
	if (queue_free(w) >= n)
		return true;
	w->want_space = true;
	w->stats.tx_full++;
	return false;
}

u8 *wire_reserve(struct wire *w, size_t len)
{
	if (len > w->slot_size - WIRE_HEADROOM || !queue_room(w, 1))
		return NULL;
	return wire_slot_frame(w, w->tail);
}

static void capture(struct wire *w, const void *frame, size_t len)
{
	struct iovec iov = {(void *)frame, len};

	pcap_write(w->capture, 0, &iov, 1);
}

/* The frame is in the slot at the tail: make it part of the queue. */
static void queue_push(struct wire *w, size_t len, const struct wire_meta *meta)
{
	struct wire_slot *slot = wire_slot(w, w->tail);

	if (!link_up(w)) {
		w->stats.tx_dropped++;
		return;
	}
	slot->len = (u32)len;
	if (meta)
		slot->meta = *meta;
	else
		memset(&slot->meta, 0, sizeof(slot->meta));
	if (unlikely(w->capture))
		capture(w, wire_slot_frame(w, w->tail), len);
	w->tail++;
	/* Let the peer start on another CPU while we make more. */
	if (w->tail - w->head >= WIRE_BATCH && !w->be->deferred)
		wire_flush(w);
}

static int emit_nothing(void *priv, const struct iovec *iov, int n)
{
	return 0;
}

int wire_commit(struct wire *w, size_t len, const struct wire_meta *meta)
{
	u8 *frame = wire_slot_frame(w, w->tail);

	if (len < WIRE_ETH_HLEN || len > w->slot_size - WIRE_HEADROOM ||
	    (meta && !wire_meta_ok(meta, len))) {
		w->stats.tx_errors++;
		return -EINVAL;
	}
	if (meta && !w->be->offload) {
		/* Segments need more than this one slot: wire_send() does that. */
		if (meta->gso_type != WIRE_GSO_NONE) {
			w->stats.tx_errors++;
			return -EINVAL;
		}
		wire_offload(frame, len, meta, emit_nothing, NULL);
		meta = NULL;
	}
	queue_push(w, len, meta);
	return 0;
}

static size_t gather(u8 *dst, const struct iovec *iov, int n)
{
	size_t len = 0;
	int i;

	for (i = 0; i < n; i++) {
		if (iov[i].iov_base != dst + len)
			memcpy(dst + len, iov[i].iov_base, iov[i].iov_len);
		len += iov[i].iov_len;
	}
	return len;
}

static int emit_queue(void *priv, const struct iovec *iov, int n)
{
	struct wire *w = priv;

	/* Lost like what a wire that is too slow loses: there were more than the queue holds. */
	if (!queue_room(w, 1)) {
		w->stats.tx_dropped++;
		return 0;
	}
	queue_push(w, gather(wire_slot_frame(w, w->tail), iov, n), NULL);
	return 0;
}

/*
 * All segments or none are taken: the caller counts on it when it tries again. Of more than the
 * queue holds some may be lost on the way (emit_queue).
 */
static int send_gso(struct wire *w, const struct iovec *iov, int n, size_t len,
		    const struct wire_meta *meta)
{
	u32 segs, longest;
	int ret;

	if (!w->gso_buf)
		w->gso_buf = malloc(WIRE_GSO_MAX_FRAME);
	if (!w->gso_buf)
		return -EAGAIN;
	gather(w->gso_buf, iov, n);
	segs = wire_segments(meta, w->gso_buf, len, &longest);
	if (segs > WIRE_GSO_MAX_SEGS || longest > wire_max_frame(w))
		return -EMSGSIZE;
	if (!queue_room(w, min(segs, w->nslots - 1)))
		return -EAGAIN;
	ret = wire_offload(w->gso_buf, len, meta, emit_queue, w);
	if (!ret)
		w->stats.tx_gso++;
	return ret;
}

static int check_send(const struct wire *w, size_t len, const struct wire_meta *meta)
{
	bool gso = meta && meta->gso_type != WIRE_GSO_NONE;

	if (len > (gso ? WIRE_GSO_MAX_FRAME : wire_max_frame(w)))
		return -EMSGSIZE;
	return len < WIRE_ETH_HLEN || (meta && !wire_meta_ok(meta, len)) ? -EINVAL : 0;
}

int wire_send(struct wire *w, const struct iovec *iov, int n, const struct wire_meta *meta)
{
	size_t len = 0;
	int i, ret;

	for (i = 0; i < n; i++)
		len += iov[i].iov_len;
	ret = check_send(w, len, meta);
	if (!ret && meta && meta->gso_type != WIRE_GSO_NONE && !w->be->offload) {
		ret = send_gso(w, iov, n, len, meta);
	} else if (!ret) {
		if (!queue_room(w, 1))
			return -EAGAIN;
		gather(wire_slot_frame(w, w->tail), iov, n);
		return wire_commit(w, len, meta);
	}
	if (ret && ret != -EAGAIN)
		w->stats.tx_errors++;
	return ret;
}

/* ---- receive ---- */

void wire_deliver(struct wire *w, u8 *frame, size_t len, const struct wire_meta *meta)
{
	static const struct wire_meta none;

	if (!link_up(w)) {
		w->stats.rx_dropped++;
		return;
	}
	if (len < WIRE_ETH_HLEN) {
		w->stats.rx_errors++;
		return;
	}
	w->stats.rx_frames++;
	w->stats.rx_bytes += len;
	if (unlikely(w->capture))
		capture(w, frame, len);
	w->ops->rx(w->priv, frame, len, meta ? meta : &none);
}

void wire_deliver_done(struct wire *w)
{
	if (w->ops->rx_done)
		w->ops->rx_done(w->priv);
}

void wire_rx_pause(struct wire *w, bool pause)
{
	if (w->rx_paused == pause)
		return;
	w->rx_paused = pause;
	w->be->update(w);
}

/* ---- state ---- */

u32 wire_mtu(const struct wire *w)
{
	return w->mtu;
}

const char *wire_kind(const struct wire *w)
{
	return w->be->kind;
}

bool wire_link(const struct wire *w)
{
	return link_up(w);
}

static void link_changed(struct wire *w, bool was)
{
	bool up = link_up(w);

	if (up == was)
		return;
	if (!up)
		wire_drop_queue(w);
	if (w->ops->link)
		w->ops->link(w->priv, up);
}

void wire_set_link(struct wire *w, bool up)
{
	bool was = link_up(w);

	w->admin_up = up;
	link_changed(w, was);
}

void wire_set_carrier(struct wire *w, bool up)
{
	bool was = link_up(w);

	w->carrier = up;
	link_changed(w, was);
}

void wire_set_capture(struct wire *w, struct pcap *p)
{
	w->capture = p;
}

struct pcap *wire_capture(const struct wire *w)
{
	return w->capture;
}

const struct wire_stats *wire_stats(const struct wire *w)
{
	return &w->stats;
}

/* ---- opening ---- */

void wire_error(const struct wire_params *p, const char *fmt, ...)
{
	va_list ap;

	if (!p->err || !p->errlen)
		return;
	va_start(ap, fmt);
	vsnprintf(p->err, p->errlen, fmt, ap);
	va_end(ap);
}

/* Names that no interface can have: see dev_valid_name() of the kernel. */
int wire_check_interface(const struct wire_params *p, const char *kind)
{
	if (!p->name || p->local || p->remote) {
		wire_error(p, "%s needs the name of an interface, as in %s:rnic0", kind, kind);
		return -EINVAL;
	}
	if (strlen(p->name) >= IFNAMSIZ) {
		wire_error(p, "\"%s\" is longer than an interface's name may be, %d bytes", p->name,
			   IFNAMSIZ - 1);
		return -EINVAL;
	}
	if (strpbrk(p->name, "/: \t\n") || !strcmp(p->name, ".") || !strcmp(p->name, "..")) {
		wire_error(p, "\"%s\" is no name of an interface", p->name);
		return -EINVAL;
	}
	return 0;
}

static int parse_mtu(struct wire_params *p, const char *value)
{
	char *end;
	unsigned long v;

	errno = 0;
	v = strtoul(value, &end, 10);
	if (errno || *end || end == value || v < WIRE_MTU_MIN || v > WIRE_MTU_MAX) {
		wire_error(p, "mtu \"%s\" is not a number from %d to %d", value, WIRE_MTU_MIN,
			   WIRE_MTU_MAX);
		return -EINVAL;
	}
	p->mtu = (u32)v;
	return 0;
}

static int parse_option(struct wire_params *p, char *opt, bool first)
{
	char *value = strchr(opt, '=');

	if (!*opt) {
		wire_error(p, "a comma with no option beside it");
		return -EINVAL;
	}
	if (!value) {
		if (!first) {
			wire_error(p, "option \"%s\" has no value", opt);
			return -EINVAL;
		}
		p->name = opt;
		return 0;
	}
	*value++ = 0;
	if (!strcmp(opt, "mtu"))
		return parse_mtu(p, value);
	if (!strcmp(opt, "local")) {
		p->local = value;
		return 0;
	}
	if (!strcmp(opt, "remote")) {
		p->remote = value;
		return 0;
	}
	wire_error(p, "unknown option \"%s\" (known: local, remote, mtu)", opt);
	return -EINVAL;
}

static int parse_options(struct wire_params *p, char *opts)
{
	bool first = true;
	char *next;
	int ret;

	/* "dgram:" is "dgram": the kind itself says what it needs */
	if (opts && !*opts)
		return 0;
	for (; opts; opts = next) {
		next = strchr(opts, ',');
		if (next)
			*next++ = 0;
		ret = parse_option(p, opts, first);
		if (ret)
			return ret;
		first = false;
	}
	return 0;
}

static const struct {
	const char *kind;
	int (*open)(struct wire *w, struct wire_params *p);
} kinds[] = {
	{"dgram", wire_dgram_open},
	{"tap", wire_tap_open},
	{"packet", wire_packet_open},
	{"null", wire_null_open},
};

static int open_spec(struct wire *w, char *spec, struct wire_params *p)
{
	char *opts = strchr(spec, ':');
	size_t i;
	int ret;

	if (opts)
		*opts++ = 0;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(spec, kinds[i].kind))
			continue;
		ret = parse_options(p, opts);
		return ret ? ret : kinds[i].open(w, p);
	}
	wire_error(p, "unknown kind of wire \"%s\" (known: dgram, tap, packet, null)", spec);
	return -EINVAL;
}

static struct wire *wire_alloc(struct loop *loop, const struct wire_ops *ops, void *priv)
{
	struct wire *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->loop = loop;
	w->ops = ops;
	w->priv = priv;
	w->carrier = true;
	w->admin_up = true;
	w->mtu = WIRE_MTU_DEFAULT;
	w->writable_work.cb = writable_cb;
	loop_hook_add(loop, &w->hook, LOOP_HOOK_WIRE, flush_hook);
	return w;
}

void wire_close(struct wire *w)
{
	if (!w)
		return;
	if (w->be) {
		wire_flush(w);
		w->be->close(w);
	}
	loop_hook_del(&w->hook);
	loop_work_cancel(&w->writable_work);
	free(w->txbuf);
	free(w->slots);
	free(w->gso_buf);
	free(w);
}

struct wire *wire_open(struct loop *loop, const char *spec, const struct wire_ops *ops, void *priv,
		       char *err, size_t errlen)
{
	struct wire_params p = {.err = err, .errlen = errlen};
	struct wire *w = wire_alloc(loop, ops, priv);
	char *copy = strdup(spec);
	int ret = -ENOMEM;

	wire_error(&p, "out of memory");
	if (w && copy)
		ret = open_spec(w, copy, &p);
	free(copy);
	if (ret) {
		wire_close(w);
		errno = -ret;
		return NULL;
	}
	wire_error(&p, "%s", "");
	return w;
}

/* ---- null and pipe: wires without a kernel ---- */

struct pipe_end {
	struct wire *peer;
	struct loop_work deliver;
	struct wire *self;
};

static void null_flush(struct wire *w)
{
	while (w->head != w->tail)
		wire_sent(w, wire_slot(w, w->head)->len);
}

static void null_update(struct wire *w)
{
}

static void null_close(struct wire *w)
{
}

static const struct wire_backend null_backend = {
	.kind = "null",
	.flush = null_flush,
	.update = null_update,
	.close = null_close,
};

int wire_null_open(struct wire *w, struct wire_params *p)
{
	if (p->name || p->local || p->remote) {
		wire_error(p, "null takes no option but mtu");
		return -EINVAL;
	}
	if (p->mtu)
		w->mtu = p->mtu;
	w->be = &null_backend;
	return wire_alloc_queue(w, wire_max_frame(w), 64);
}

static void pipe_deliver(struct loop_work *work)
{
	struct pipe_end *end = container_of(work, struct pipe_end, deliver);
	struct wire *w = end->self;
	u32 until = w->tail;

	while (w->head != until && end->peer && !end->peer->rx_paused) {
		struct wire_slot *slot = wire_slot(w, w->head);
		u8 *frame = wire_slot_frame(w, w->head);

		wire_sent(w, slot->len);
		wire_deliver(end->peer, frame, slot->len, &slot->meta);
	}
	if (end->peer)
		wire_deliver_done(end->peer);
}

static void pipe_flush(struct wire *w)
{
	struct pipe_end *end = w->be_priv;

	if (!end->peer)
		wire_drop_queue(w);
	else if (!end->peer->rx_paused)
		loop_post(w->loop, &end->deliver);
}

static void pipe_update(struct wire *w)
{
	struct pipe_end *end = w->be_priv;

	if (end->peer && !w->rx_paused && end->peer->head != end->peer->tail)
		pipe_flush(end->peer);
}

static void pipe_close(struct wire *w)
{
	struct pipe_end *end = w->be_priv;

	loop_work_cancel(&end->deliver);
	if (end->peer)
		((struct pipe_end *)end->peer->be_priv)->peer = NULL;
	free(end);
}

static const struct wire_backend pipe_backend = {
	.kind = "pipe",
	.offload = true,
	.deferred = true,
	.flush = pipe_flush,
	.update = pipe_update,
	.close = pipe_close,
};

static int pipe_end_open(struct wire *w, u32 mtu)
{
	struct pipe_end *end = calloc(1, sizeof(*end));

	if (!end)
		return -ENOMEM;
	end->self = w;
	end->deliver.cb = pipe_deliver;
	w->be_priv = end;
	w->be = &pipe_backend;
	w->mtu = mtu ? mtu : WIRE_MTU_DEFAULT;
	return wire_alloc_queue(w, WIRE_GSO_MAX_FRAME, 64);
}

int wire_pipe(struct loop *loop, u32 mtu, const struct wire_ops *ops_a, void *priv_a,
	      struct wire **a, const struct wire_ops *ops_b, void *priv_b, struct wire **b)
{
	int ret = -ENOMEM;

	*a = wire_alloc(loop, ops_a, priv_a);
	*b = wire_alloc(loop, ops_b, priv_b);
	if (*a && *b) {
		ret = pipe_end_open(*a, mtu);
		if (!ret)
			ret = pipe_end_open(*b, mtu);
	}
	if (ret) {
		wire_close(*a);
		wire_close(*b);
		return ret;
	}
	((struct pipe_end *)(*a)->be_priv)->peer = *b;
	((struct pipe_end *)(*b)->be_priv)->peer = *a;
	return 0;
}
