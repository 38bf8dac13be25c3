// SPDX-License-Identifier: GPL-2.0-or-later
/* Frames on their way, ordered by when they arrive. Which ones are late is the rig's choice. */
#include <stdlib.h>
#include <string.h>

#include "tap_peer.h"

struct tap_delay {
	struct tap_delay *next;
	uint64_t at;
	bool out;
	struct tcp_tx_meta meta;
	unsigned int csum_flags;
	size_t len;
	uint8_t frame[];
};

void tap_delay_put(struct rig *g, bool out, uint64_t at, const struct tcp_tx_meta *meta,
		   const void *frame, size_t len, unsigned int csum_flags)
{
	struct tap_delay **p = &g->delayed, *d = malloc(sizeof(*d) + len);

	if (!d)
		abort();
	d->at = at;
	d->out = out;
	if (meta)
		d->meta = *meta;
	d->csum_flags = csum_flags;
	d->len = len;
	memcpy(d->frame, frame, len);
	while (*p && (*p)->at <= at)
		p = &(*p)->next;
	d->next = *p;
	*p = d;
}

uint64_t tap_delay_due(const struct rig *g)
{
	return g->delayed ? g->delayed->at : TCP_NO_DEADLINE;
}

void tap_delay_run(struct rig *g, uint64_t now)
{
	while (g->delayed && g->delayed->at <= now) {
		struct tap_delay *d = g->delayed;
		struct iovec iov = {.iov_base = d->frame, .iov_len = d->len};

		g->delayed = d->next;
		if (d->out)
			tap_send(g, &iov, 1, &d->meta); /* a full device loses it, as wires do */
		else
			tap_deliver(g, d->frame, d->len, d->csum_flags);
		free(d);
	}
}
