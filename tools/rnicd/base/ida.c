// SPDX-License-Identifier: GPL-2.0-or-later
/* Allocator of small integers, round robin over a bitmap. */
#include <errno.h>
#include <stdlib.h>

#include "base/util.h"

int ida_init(struct ida *ida, u32 base, u32 count)
{
	if (!count || (u64)base + count > 1ULL << 32)
		return -EINVAL;
	ida->map = calloc(BITS_TO_U64(count), sizeof(u64));
	if (!ida->map)
		return -ENOMEM;
	ida->base = base;
	ida->count = count;
	ida->used = 0;
	ida->next = 0;
	return 0;
}

void ida_destroy(struct ida *ida)
{
	free(ida->map);
	memset(ida, 0, sizeof(*ida));
}

/* First clear bit in [from, to), or @to. */
static u32 find_clear(const u64 *map, u32 from, u32 to)
{
	while (from < to) {
		u64 word = ~map[from / 64] >> (from % 64);
		u64 hit;

		if (!word) {
			from = ALIGN_DOWN(from, 64) + 64;
			/* The last word of a full 32-bit space wraps to 0. */
			if (!from)
				break;
			continue;
		}
		hit = (u64)from + (u64)__builtin_ctzll(word);
		return hit < to ? (u32)hit : to;
	}
	return to;
}

s64 ida_alloc(struct ida *ida)
{
	u32 bit;

	if (ida->used == ida->count)
		return -ENOSPC;
	bit = find_clear(ida->map, ida->next, ida->count);
	if (bit == ida->count)
		bit = find_clear(ida->map, 0, ida->next);
	bit_set(ida->map, bit);
	ida->used++;
	ida->next = bit + 1 < ida->count ? bit + 1 : 0;
	return (s64)ida->base + bit;
}

static bool in_range(const struct ida *ida, u32 id)
{
	return id >= ida->base && id - ida->base < ida->count;
}

int ida_claim(struct ida *ida, u32 id)
{
	if (!in_range(ida, id))
		return -ERANGE;
	if (bit_test(ida->map, id - ida->base))
		return -EBUSY;
	bit_set(ida->map, id - ida->base);
	ida->used++;
	return 0;
}

int ida_free(struct ida *ida, u32 id)
{
	if (!in_range(ida, id))
		return -ERANGE;
	if (!bit_test(ida->map, id - ida->base))
		return -ENOENT;
	bit_clear(ida->map, id - ida->base);
	ida->used--;
	return 0;
}

bool ida_is_used(const struct ida *ida, u32 id)
{
	return in_range(ida, id) && bit_test(ida->map, id - ida->base);
}
