/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The capabilities that a VMM offers in its VERSION message. */
#ifndef RNICD_VFU_JSON_H
#define RNICD_VFU_JSON_H

#include "base/util.h"

struct vfu_caps {
	u64 max_msg_fds;
	u64 max_data_xfer_size;
	bool write_multiple;
};

/**
 * vfu_parse_caps() - read the JSON text of a VERSION message.
 * @s: text, @len bytes, without the final NUL.
 * @caps: filled with defaults, then with what the text says.
 *
 * Looks at known keys of the object "capabilities" only; all else, of any
 * shape, is skipped. Nesting is limited.
 * Return: 0, or -EINVAL when it is not JSON or a known key has another type.
 */
int vfu_parse_caps(const char *s, size_t len, struct vfu_caps *caps);

#endif /* RNICD_VFU_JSON_H */
