// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * MPA start-up frames as a peer may send them. Byte 0: bit 0 a reply is due, bits 1-7 this side's
 * wishes; byte 1: where the stream is cut; then the stream. What is well-formed is negotiated,
 * answered, and the answer read back.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "mpa.h"

static struct mpa_local wishes(uint8_t bits)
{
	struct mpa_local local = {
		.rev = bits & 2 ? 2 : 1,
		.crc = bits & 4,
		.can_mark = bits & 8,
		.markers = bits & 8,
		.peer_to_peer = bits & 16,
		.rtr = (bits >> 5) << 1,
		.ird = 3,
		.ord = 5,
		.max_ird = 16,
		.max_ord = 16,
	};

	return local;
}

static enum mpa_status receive(struct mpa_rx *rx, enum mpa_kind kind, const uint8_t *data,
			       size_t len, size_t piece)
{
	enum mpa_status status = MPA_MORE;
	size_t used;

	mpa_rx_start(rx, kind);
	while (len && status == MPA_MORE) {
		size_t n = len < piece ? len : piece;
		uint8_t *exact = malloc(n);

		memcpy(exact, data, n);
		status = mpa_rx_feed(rx, exact, n, &used);
		free(exact);
		assert(used <= n && (used == n || status != MPA_MORE));
		data += used;
		len -= used;
	}
	return status;
}

/* Our own frame is well-formed, whatever the peer's led to. */
static void read_back(const struct mpa_frame *frame)
{
	uint8_t bytes[MPA_FRAME_MAX];
	struct mpa_frame again;
	struct mpa_rx rx;
	size_t len = mpa_build(frame, bytes);

	assert(len >= MPA_HDR_LEN);
	assert(receive(&rx, frame->kind, bytes, len, len) == MPA_OK);
	mpa_rx_frame(&rx, &again);
	assert(again.rev == frame->rev && again.crc == frame->crc);
	assert(again.enhanced == frame->enhanced && again.reject == frame->reject);
	assert(again.ird == frame->ird && again.ord == frame->ord && again.rtr == frame->rtr);
	assert(again.pd_len == frame->pd_len);
}

static void respond(const struct mpa_local *local, const struct mpa_frame *req)
{
	struct mpa_agreed agreed;
	struct mpa_frame reply;
	u16 ird, ord;

	mpa_refuse(local, req, &reply);
	read_back(&reply);
	if (mpa_check_request(local, req) != MPA_OK)
		return;
	mpa_offer(local, req, &ird, &ord);
	assert(ird <= 16 && ord <= 16);
	mpa_answer(local, req, &reply, &agreed);
	assert(agreed.ird <= 16 && agreed.ord <= 16);
	assert(reply.peer_to_peer == (agreed.rtr != MPA_RTR_NONE));
	read_back(&reply);
}

static void conclude(const struct mpa_local *local, const struct mpa_frame *reply)
{
	struct mpa_agreed agreed;
	struct mpa_frame req;

	mpa_request(local, &req);
	read_back(&req);
	if (mpa_check_reply(local, &req, reply, &agreed) != MPA_OK)
		return;
	assert(!reply->reject && reply->pd_len <= MPA_MAX_ULP_PD);
	assert(agreed.ird <= 16 && agreed.ord <= 16);
	assert(agreed.rtr == MPA_RTR_NONE || (MPA_RTR_BIT(agreed.rtr) & reply->rtr & local->rtr));
	assert(!agreed.tx_markers || local->can_mark);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mpa_local local;
	struct mpa_frame frame;
	enum mpa_kind kind;
	struct mpa_rx rx;

	if (size < 2)
		return 0;
	local = wishes(data[0]);
	kind = data[0] & 1 ? MPA_REPLY : MPA_REQUEST;
	if (receive(&rx, kind, data + 2, size - 2, data[1] + 1) != MPA_OK)
		return 0;
	mpa_rx_frame(&rx, &frame);
	assert(frame.pd >= rx.buf && frame.pd + frame.pd_len <= rx.buf + MPA_FRAME_MAX);
	if (kind == MPA_REQUEST)
		respond(&local, &frame);
	else
		conclude(&local, &frame);
	return 0;
}
