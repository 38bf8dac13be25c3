// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Faults on the way in, asked for on the control socket: frames that are lost,
 * changed, overtaken by the next one, or late.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "nic/nic_priv.h"

#define FAULT_MAX_HELD	 1024
#define FAULT_REORDER_NS (10 * NSEC_PER_MSEC) /* how long one waits to be overtaken */

/**
 * struct held_frame - a frame that is not delivered yet
 * @due: when it is, at the latest
 * @swap: or after the next frame
 * @data: two bytes, so that the IP header is aligned, and the frame
 */
struct held_frame {
	struct list_head node;
	u64 due;
	bool swap;
	u32 len;
	struct wire_meta meta;
	_Alignas(8) u8 data[];
};

#define HELD_PAD 2

/* Need not be good random numbers; the same each time the device is started. */
static u32 fault_random(struct rx_faults *f)
{
	f->seed = f->seed * 1664525u + 1013904223u;
	return f->seed >> 8;
}

static bool fault_strikes(struct rx_faults *f, u32 permille)
{
	return permille && fault_random(f) % 1000 < permille;
}

static struct held_frame *held_first(struct nic *nic)
{
	return list_empty(&nic->held) ? NULL
				      : list_first_entry(&nic->held, struct held_frame, node);
}

static void held_free(struct nic *nic, struct held_frame *h)
{
	list_del(&h->node);
	nic->nheld--;
	free(h);
}

static void held_set_timer(struct nic *nic)
{
	struct held_frame *h = held_first(nic);

	if (h)
		loop_timer_set(&nic->held_timer, h->due);
	else
		loop_timer_cancel(&nic->held_timer);
}

/* By the time they are due; those of the same time in the order they came. */
static void held_insert(struct nic *nic, struct held_frame *h)
{
	struct list_head *at = nic->held.prev;

	while (at != &nic->held && container_of(at, struct held_frame, node)->due > h->due)
		at = at->prev;
	list_add(&h->node, at);
	nic->nheld++;
	held_set_timer(nic);
}

/* False: there is no room, the frame is lost. */
static bool fault_hold(struct rnic *dev, const u8 *frame, size_t len, const struct wire_meta *meta,
		       u64 ns, bool swap)
{
	struct held_frame *h = NULL;

	if (dev->nic->nheld < FAULT_MAX_HELD)
		h = malloc(sizeof(*h) + HELD_PAD + len);
	if (!h)
		return false;
	h->due = loop_now(dev->loop) + ns;
	h->swap = swap;
	h->len = (u32)len;
	h->meta = *meta;
	memcpy(h->data + HELD_PAD, frame, len);
	held_insert(dev->nic, h);
	return true;
}

static void held_deliver(struct rnic *dev, struct held_frame *h)
{
	/* Out of the list first: what the frame does may reset the device. */
	list_del(&h->node);
	dev->nic->nheld--;
	nic_rx_frame(dev, h->data + HELD_PAD, h->len, &h->meta);
	free(h);
}

static void held_timer(struct loop_timer *t)
{
	struct nic *nic = container_of(t, struct nic, held_timer);
	struct rnic *dev = nic->dev;
	struct held_frame *h;

	while ((h = held_first(nic)) && h->due <= loop_now(dev->loop))
		held_deliver(dev, h);
	held_set_timer(nic);
	nic_rx_done(dev);
}

void nic_fault_init(struct rnic *dev)
{
	list_init(&dev->nic->held);
	loop_timer_init(&dev->nic->held_timer, dev->loop, held_timer);
}

void nic_fault_drop(struct rnic *dev)
{
	struct held_frame *h;

	while ((h = held_first(dev->nic)))
		held_free(dev->nic, h);
	loop_timer_cancel(&dev->nic->held_timer);
}

static struct held_frame *held_swap(struct nic *nic)
{
	struct held_frame *h;
	struct list_head *at;

	for (at = nic->held.next; at != &nic->held; at = at->next) {
		h = container_of(at, struct held_frame, node);
		if (h->swap)
			return h;
	}
	return NULL;
}

static void fault_corrupt(struct rx_faults *f, u8 *frame, size_t len)
{
	frame[ETH_HLEN + fault_random(f) % (len - ETH_HLEN)] ^= 1 + fault_random(f) % 255;
	f->corrupted++;
}

/* One frame as it is on a wire. */
static void fault_frame(struct rnic *dev, u8 *frame, size_t len, struct wire_meta meta)
{
	struct held_frame *swap = held_swap(dev->nic);
	struct rx_faults *f = &dev->rx_faults;
	u64 *counter = NULL;
	u64 wait = 0;

	if (fault_strikes(f, f->loss)) {
		f->lost++;
		return;
	}
	if (len > ETH_HLEN && fault_strikes(f, f->corrupt)) {
		fault_corrupt(f, frame, len);
		meta.flags &= (u8)~WIRE_F_CSUM_VALID;
	}
	if (fault_strikes(f, f->delay)) {
		wait = f->delay_ms * NSEC_PER_MSEC;
		counter = &f->delayed;
	} else if (!swap && fault_strikes(f, f->reorder)) {
		wait = FAULT_REORDER_NS;
		counter = &f->reordered;
	}
	if (!counter) {
		nic_rx_frame(dev, frame, len, &meta);
		/* Still there, if the frame did not reset the device. */
		if (swap && held_swap(dev->nic) == swap)
			held_deliver(dev, swap);
		held_set_timer(dev->nic);
		return;
	}
	if (!fault_hold(dev, frame, len, &meta, wait, counter == &f->reordered))
		counter = &f->lost;
	(*counter)++;
}

static int fault_segment(void *priv, const struct iovec *iov, int n)
{
	_Alignas(8) u8 buf[HELD_PAD + WIRE_GSO_MAX_FRAME];
	struct rnic *dev = priv;
	size_t len = 0;

	for (int i = 0; i < n; i++) {
		memcpy(buf + HELD_PAD + len, iov[i].iov_base, iov[i].iov_len);
		len += iov[i].iov_len;
	}
	fault_frame(dev, buf + HELD_PAD, len, (struct wire_meta){0});
	return 0;
}

/* What another process left to this one, checksum and segmentation, is done before a frame is hurt.
 */
void nic_fault_rx(struct rnic *dev, u8 *frame, size_t len, const struct wire_meta *meta)
{
	if (!(meta->flags & WIRE_F_CSUM_PARTIAL))
		fault_frame(dev, frame, len, *meta);
	else if (wire_offload(frame, len, meta, fault_segment, dev))
		dev->rx_faults.lost++;
}
