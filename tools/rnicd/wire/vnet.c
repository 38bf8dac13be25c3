// SPDX-License-Identifier: GPL-2.0-or-later
/* The virtio header that tap and AF_PACKET carry before each frame, in host byte order. */
#include <linux/virtio_net.h>

#include "wire/internal.h"

_Static_assert(sizeof(struct virtio_net_hdr) == WIRE_VNET_HLEN, "virtio header");

void wire_vnet_put(u8 *hdr, const struct wire_meta *meta)
{
	struct virtio_net_hdr h = {0};

	if (meta->flags & WIRE_F_CSUM_PARTIAL) {
		h.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
		h.csum_start = meta->csum_start;
		h.csum_offset = meta->csum_offset;
	}
	if (meta->gso_type != WIRE_GSO_NONE) {
		h.gso_type = meta->gso_type == WIRE_GSO_TCPV4 ? VIRTIO_NET_HDR_GSO_TCPV4
							      : VIRTIO_NET_HDR_GSO_TCPV6;
		if (meta->gso_ecn)
			h.gso_type |= VIRTIO_NET_HDR_GSO_ECN;
		h.gso_size = meta->gso_size;
		h.hdr_len = meta->hdr_len;
	}
	memcpy(hdr, &h, sizeof(h));
}

static bool get_gso(const struct virtio_net_hdr *h, struct wire_meta *meta)
{
	switch (h->gso_type & ~VIRTIO_NET_HDR_GSO_ECN) {
	case VIRTIO_NET_HDR_GSO_NONE:
		return true;
	case VIRTIO_NET_HDR_GSO_TCPV4:
		meta->gso_type = WIRE_GSO_TCPV4;
		break;
	case VIRTIO_NET_HDR_GSO_TCPV6:
		meta->gso_type = WIRE_GSO_TCPV6;
		break;
	default:
		return false;
	}
	meta->gso_ecn = h->gso_type & VIRTIO_NET_HDR_GSO_ECN;
	meta->gso_size = h->gso_size;
	return true;
}

bool wire_vnet_get(const u8 *hdr, const u8 *frame, size_t len, struct wire_meta *meta)
{
	struct virtio_net_hdr h;

	memcpy(&h, hdr, sizeof(h));
	memset(meta, 0, sizeof(*meta));
	if (h.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) {
		/* Such a frame never left this host: its sum cannot be wrong. */
		meta->flags = WIRE_F_CSUM_PARTIAL | WIRE_F_CSUM_VALID;
		meta->csum_start = h.csum_start;
		meta->csum_offset = h.csum_offset;
	} else if (h.flags & VIRTIO_NET_HDR_F_DATA_VALID) {
		meta->flags = WIRE_F_CSUM_VALID;
	}
	if (!get_gso(&h, meta) || !wire_meta_ok(meta, len))
		return false;
	/* The header's hdr_len is only a hint; the TCP header tells. */
	if (meta->gso_type != WIRE_GSO_NONE) {
		meta->hdr_len = (u16)(meta->csum_start + (frame[meta->csum_start + 12] >> 4) * 4);
		return meta->hdr_len >= meta->csum_start + 20 && meta->hdr_len <= len;
	}
	return true;
}
