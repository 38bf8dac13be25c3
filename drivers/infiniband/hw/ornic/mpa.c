// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* OpenRNIC: MPA start-up frames, see mpa.h. */
#include "mpa.h"

static const u8 mpa_keys[2][MPA_KEY_LEN + 1] = {
	[MPA_REQUEST] = "MPA ID Req Frame",
	[MPA_REPLY] = "MPA ID Rep Frame",
};

/* Byte 16. Other bits are sent as zero and not looked at (RFC 5044 7.1.1, RFC 6581 6). */
#define MPA_BIT_M	0x80
#define MPA_BIT_C	0x40
#define MPA_BIT_R	0x20
#define MPA_BIT_S	0x10

/* Enhanced data (RFC 6581 9): two 16-bit words, each with two flags above a 14-bit depth */
#define MPA_FLAG_HIGH	0x8000	/* A, C */
#define MPA_FLAG_LOW	0x4000	/* B, D */
#define MPA_DEPTH_MASK	0x3fff

static u16 mpa_get16(const u8 *p)
{
	return p[0] << 8 | p[1];
}

static void mpa_put16(u8 *p, u16 v)
{
	p[0] = v >> 8;
	p[1] = v & 0xff;
}

/**
 * mpa_rx_start() - get ready to receive a frame
 * @rx: parser
 * @kind: frame that must come
 */
void mpa_rx_start(struct mpa_rx *rx, enum mpa_kind kind)
{
	rx->kind = kind;
	rx->have = 0;
}

static bool mpa_rx_enhanced(const struct mpa_rx *rx)
{
	/* Revision 1 knows no S: the bit is reserved there and not looked at. */
	return rx->buf[17] >= 2 && (rx->buf[16] & MPA_BIT_S);
}

/* The first 20 bytes are there. */
static enum mpa_status mpa_check_header(const struct mpa_rx *rx)
{
	u16 pd_len = mpa_get16(rx->buf + 18);

	if (rx->buf[17] != 1 && rx->buf[17] != 2)
		return MPA_BAD_REVISION;
	if (pd_len > MPA_MAX_PD)
		return MPA_BAD_LENGTH;
	if (mpa_rx_enhanced(rx) && pd_len < MPA_ENHANCED_LEN)
		return MPA_BAD_LENGTH;
	return MPA_OK;
}

/* How many bytes the frame has, as far as is known. */
static u16 mpa_rx_need(const struct mpa_rx *rx)
{
	return rx->have < MPA_HDR_LEN ? MPA_HDR_LEN : MPA_HDR_LEN + mpa_get16(rx->buf + 18);
}

/**
 * mpa_rx_feed() - take the next bytes of the stream
 * @rx: parser
 * @data: bytes, in any cut
 * @len: their number
 * @used: bytes taken; what is behind the frame is left alone
 *
 * A wrong key is told by its first wrong byte, so that a peer that speaks something else does not
 * hold a connection.
 *
 * Return: MPA_OK when the frame is complete, MPA_MORE, or what is wrong with it.
 */
enum mpa_status mpa_rx_feed(struct mpa_rx *rx, const void *data, size_t len, size_t *used)
{
	enum mpa_status status;
	const u8 *bytes = data;

	*used = 0;
	for (;;) {
		u16 want = mpa_rx_need(rx) - rx->have;
		u16 n = len - *used < want ? len - *used : want;
		bool header = rx->have < MPA_HDR_LEN;
		u16 keyed;

		memcpy(rx->buf + rx->have, bytes + *used, n);
		rx->have += n;
		*used += n;
		keyed = rx->have < MPA_KEY_LEN ? rx->have : MPA_KEY_LEN;
		if (memcmp(rx->buf, mpa_keys[rx->kind], keyed))
			return MPA_BAD_KEY;
		if (n < want)
			return MPA_MORE;
		if (!header)
			return MPA_OK;
		status = mpa_check_header(rx);
		if (status)
			return status;
		if (rx->have == mpa_rx_need(rx))
			return MPA_OK;
	}
}

/**
 * mpa_rx_frame() - take a complete frame apart
 * @rx: parser that returned MPA_OK
 * @frame: result; its private data points into @rx
 */
void mpa_rx_frame(const struct mpa_rx *rx, struct mpa_frame *frame)
{
	u16 ird, ord;

	memset(frame, 0, sizeof(*frame));
	frame->kind = rx->kind;
	frame->rev = rx->buf[17];
	frame->markers = rx->buf[16] & MPA_BIT_M;
	frame->crc = rx->buf[16] & MPA_BIT_C;
	/* RFC 5044 7.1.1: R of a request is not checked */
	frame->reject = rx->kind == MPA_REPLY && (rx->buf[16] & MPA_BIT_R);
	frame->enhanced = mpa_rx_enhanced(rx);
	frame->pd = rx->buf + MPA_HDR_LEN;
	frame->pd_len = mpa_get16(rx->buf + 18);
	if (!frame->enhanced)
		return;

	ird = mpa_get16(frame->pd);
	ord = mpa_get16(frame->pd + 2);
	frame->pd += MPA_ENHANCED_LEN;
	frame->pd_len -= MPA_ENHANCED_LEN;
	frame->ird = ird & MPA_DEPTH_MASK;
	frame->ord = ord & MPA_DEPTH_MASK;
	frame->peer_to_peer = ird & MPA_FLAG_HIGH;
	if (!frame->peer_to_peer)
		return;
	if (ird & MPA_FLAG_LOW)
		frame->rtr |= MPA_RTR_BIT(MPA_RTR_SEND);
	if (ord & MPA_FLAG_HIGH)
		frame->rtr |= MPA_RTR_BIT(MPA_RTR_WRITE);
	if (ord & MPA_FLAG_LOW)
		frame->rtr |= MPA_RTR_BIT(MPA_RTR_READ);
}

static void mpa_put_enhanced(const struct mpa_frame *frame, u8 *p)
{
	u16 ird = frame->ird & MPA_DEPTH_MASK;
	u16 ord = frame->ord & MPA_DEPTH_MASK;

	if (frame->peer_to_peer) {
		ird |= MPA_FLAG_HIGH;
		if (frame->rtr & MPA_RTR_BIT(MPA_RTR_SEND))
			ird |= MPA_FLAG_LOW;
		if (frame->rtr & MPA_RTR_BIT(MPA_RTR_WRITE))
			ord |= MPA_FLAG_HIGH;
		if (frame->rtr & MPA_RTR_BIT(MPA_RTR_READ))
			ord |= MPA_FLAG_LOW;
	}
	mpa_put16(p, ird);
	mpa_put16(p + 2, ord);
}

/**
 * mpa_build() - make the bytes of a frame
 * @frame: frame; @frame->pd may be NULL when @frame->pd_len is 0
 * @buf: result
 *
 * Return: its length; 0 when the private data does not fit, @buf is untouched then.
 */
size_t mpa_build(const struct mpa_frame *frame, u8 buf[MPA_FRAME_MAX])
{
	size_t extra = frame->enhanced ? MPA_ENHANCED_LEN : 0;
	size_t pd_len = extra + frame->pd_len;

	if (pd_len > MPA_MAX_PD)
		return 0;
	memcpy(buf, mpa_keys[frame->kind], MPA_KEY_LEN);
	buf[16] = (frame->markers ? MPA_BIT_M : 0) | (frame->crc ? MPA_BIT_C : 0) |
		  (frame->reject ? MPA_BIT_R : 0) | (frame->enhanced ? MPA_BIT_S : 0);
	buf[17] = frame->rev;
	mpa_put16(buf + 18, pd_len);
	if (frame->enhanced)
		mpa_put_enhanced(frame, buf + MPA_HDR_LEN);
	if (frame->pd_len)
		memcpy(buf + MPA_HDR_LEN + extra, frame->pd, frame->pd_len);
	return MPA_HDR_LEN + pd_len;
}

/* A depth that means a number: MPA_DEPTH_ULP is none. */
static u16 mpa_depth(u16 depth)
{
	return depth < MPA_DEPTH_ULP ? depth : MPA_DEPTH_ULP - 1;
}

/*
 * The kind that this side likes best: a Write leaves nothing behind at the peer, a Read takes one
 * of its IRD, a Send is of the kind that consumes a receive.
 */
static enum mpa_rtr mpa_pick(u8 rtr)
{
	if (rtr & MPA_RTR_BIT(MPA_RTR_WRITE))
		return MPA_RTR_WRITE;
	if (rtr & MPA_RTR_BIT(MPA_RTR_READ))
		return MPA_RTR_READ;
	if (rtr & MPA_RTR_BIT(MPA_RTR_SEND))
		return MPA_RTR_SEND;
	return MPA_RTR_NONE;
}

/**
 * mpa_request() - an initiator's request, without private data
 * @local: this side
 * @req: result
 */
void mpa_request(const struct mpa_local *local, struct mpa_frame *req)
{
	memset(req, 0, sizeof(*req));
	req->kind = MPA_REQUEST;
	req->rev = local->rev;
	req->markers = local->markers;
	req->crc = local->crc;
	if (local->rev < 2)
		return;
	req->enhanced = true;
	req->ird = mpa_depth(local->ird);
	req->ord = mpa_depth(local->ord);
	if (!local->peer_to_peer || !(local->rtr & MPA_RTR_ALL))
		return;
	req->peer_to_peer = true;
	req->rtr = local->rtr & MPA_RTR_ALL;
	/* A Read as first message needs room for one at the responder, even for a consumer of 0. */
	if ((req->rtr & MPA_RTR_BIT(MPA_RTR_READ)) && !req->ord)
		req->ord = 1;
}

/**
 * mpa_check_request() - may a well-formed request be given to the consumer?
 * @local: this side
 * @req: request
 *
 * Return: MPA_OK; MPA_BAD_REVISION: close at once, the initiator may try an older one (RFC 6581
 * 10); MPA_MARKERS or MPA_LONG_DATA: answer with mpa_refuse().
 */
enum mpa_status mpa_check_request(const struct mpa_local *local, const struct mpa_frame *req)
{
	if (req->rev > local->rev)
		return MPA_BAD_REVISION;
	if (req->markers && !local->can_mark)
		return MPA_MARKERS;
	if (req->pd_len > MPA_MAX_ULP_PD)
		return MPA_LONG_DATA;
	return MPA_OK;
}

static u16 mpa_offer_one(const struct mpa_frame *req, u16 depth, u16 max)
{
	if (!req->enhanced || depth == MPA_DEPTH_ULP || depth > max)
		depth = max;
	return depth > 255 ? 255 : depth;
}

/**
 * mpa_offer() - what a responder's consumer is told with the request
 * @local: this side
 * @req: request
 * @ird: the initiator's IRD, which bounds the consumer's ORD (rdma_cm's initiator_depth)
 * @ord: the initiator's ORD, which the consumer's IRD should hold (rdma_cm's responder_resources)
 *
 * Both within the device's limits, so that a consumer may accept with them as they are, and within
 * iw_cm's u8. A request that says nothing gives the limits.
 */
void mpa_offer(const struct mpa_local *local, const struct mpa_frame *req, u16 *ird, u16 *ord)
{
	*ird = mpa_offer_one(req, req->ird, local->max_ord);
	*ord = mpa_offer_one(req, req->ord, local->max_ird);
}

/* Depths of a reply and of the responder (RFC 6581 9.1). */
static void mpa_answer_depths(const struct mpa_local *local, const struct mpa_frame *req,
			      struct mpa_frame *reply, struct mpa_agreed *agreed)
{
	if (req->ird == MPA_DEPTH_ULP) {
		reply->ord = MPA_DEPTH_ULP;
	} else {
		if (agreed->ord > req->ird)
			agreed->ord = req->ird;
		reply->ord = mpa_depth(agreed->ord);
	}
	if (req->ord == MPA_DEPTH_ULP) {
		reply->ird = MPA_DEPTH_ULP;
		return;
	}
	if (agreed->ird > req->ord)
		agreed->ird = req->ord;
	/* The RTR Read has to be answered; RFC 6581 9.1 lets the responder make room for it. */
	if (agreed->rtr == MPA_RTR_READ && !agreed->ird && local->max_ird)
		agreed->ird = 1;
	reply->ird = mpa_depth(agreed->ird);
}

/**
 * mpa_answer() - an accepting reply, without private data, and what was agreed
 * @local: this side
 * @req: request that mpa_check_request() passed
 * @reply: result
 * @agreed: result
 *
 * Of the kinds of ready-to-receive message the reply names one, so that both sides know which it
 * will be. When none that the initiator named may be used, one that may is named all the same
 * (RFC 6581 9.2) and the initiator terminates.
 */
void mpa_answer(const struct mpa_local *local, const struct mpa_frame *req,
		struct mpa_frame *reply, struct mpa_agreed *agreed)
{
	memset(reply, 0, sizeof(*reply));
	memset(agreed, 0, sizeof(*agreed));
	agreed->crc = local->crc || req->crc;
	agreed->tx_markers = req->markers;
	agreed->rx_markers = local->markers;
	agreed->ird = local->ird;
	agreed->ord = local->ord;

	reply->kind = MPA_REPLY;
	reply->rev = req->rev;
	reply->markers = local->markers;
	reply->crc = agreed->crc;
	reply->enhanced = req->enhanced;
	if (!req->enhanced)
		return;

	if (req->peer_to_peer) {
		agreed->rtr = mpa_pick(req->rtr & local->rtr);
		if (agreed->rtr == MPA_RTR_NONE)
			agreed->rtr = mpa_pick(local->rtr);
		/* RFC 6581 9.2: at least one kind has to be supported */
		if (agreed->rtr == MPA_RTR_NONE)
			agreed->rtr = MPA_RTR_WRITE;
		reply->peer_to_peer = true;
		reply->rtr = MPA_RTR_BIT(agreed->rtr);
	}
	mpa_answer_depths(local, req, reply, agreed);
}

/**
 * mpa_refuse() - a rejecting reply, without private data
 * @local: this side
 * @req: request
 * @reply: result
 */
void mpa_refuse(const struct mpa_local *local, const struct mpa_frame *req,
		struct mpa_frame *reply)
{
	struct mpa_agreed unused;

	mpa_answer(local, req, reply, &unused);
	reply->reject = true;
}

/* The initiator's depths (RFC 6581 9.1). */
static enum mpa_status mpa_reply_depths(const struct mpa_local *local,
					const struct mpa_frame *reply, struct mpa_agreed *agreed)
{
	if (reply->ird != MPA_DEPTH_ULP && agreed->ord > reply->ird)
		agreed->ord = reply->ird;
	if (reply->ord == MPA_DEPTH_ULP)
		return MPA_OK;
	if (reply->ord > local->ird && reply->ord > local->max_ird)
		return MPA_NO_IRD;
	/* More than the consumer asked for too: IRD is at least the responder's ORD. */
	agreed->ird = reply->ord;
	return MPA_OK;
}

/**
 * mpa_check_reply() - an initiator judges the reply
 * @local: this side
 * @req: the request that was sent
 * @reply: the reply
 * @agreed: result, valid with MPA_OK; with MPA_NO_IRD and MPA_NO_RTR only its CRC and marker
 *          fields, for the Terminate
 *
 * Return: MPA_OK, MPA_REJECTED, MPA_OLDER, MPA_BAD_REVISION, MPA_MARKERS, MPA_LONG_DATA,
 * MPA_NO_IRD, MPA_NO_RTR.
 */
enum mpa_status mpa_check_reply(const struct mpa_local *local, const struct mpa_frame *req,
				const struct mpa_frame *reply, struct mpa_agreed *agreed)
{
	memset(agreed, 0, sizeof(*agreed));
	if (reply->rev > req->rev)
		return MPA_BAD_REVISION;
	/*
	 * RFC 6581 10: an enhanced request has an enhanced answer. One who does not speak it took
	 * our 4 bytes for the consumer's.
	 */
	if (req->enhanced && !reply->enhanced)
		return MPA_OLDER;
	if (reply->reject)
		return MPA_REJECTED;
	if (reply->markers && !local->can_mark)
		return MPA_MARKERS;
	if (reply->pd_len > MPA_MAX_ULP_PD)
		return MPA_LONG_DATA;

	agreed->crc = req->crc || reply->crc;
	agreed->tx_markers = reply->markers;
	agreed->rx_markers = req->markers;
	agreed->ird = local->ird;
	agreed->ord = local->ord;
	if (!req->enhanced)
		return MPA_OK;

	if (req->peer_to_peer && reply->peer_to_peer) {
		agreed->rtr = mpa_pick(req->rtr & reply->rtr);
		if (agreed->rtr == MPA_RTR_NONE)
			return MPA_NO_RTR;
	}
	return mpa_reply_depths(local, reply, agreed);
}
