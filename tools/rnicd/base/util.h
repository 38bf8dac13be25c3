/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small helpers that every layer of rnicd uses: integer types, lists,
 * alignment, little-endian access, bitmaps and an id allocator.
 *
 * FIELD_PREP, FIELD_GET, GENMASK and BIT come with the contract headers
 * (include/ornic/), which this file pulls in.
 */
#ifndef RNICD_BASE_UTIL_H
#define RNICD_BASE_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <linux/types.h>

#include "ornic/types.h"

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#endif

#ifndef container_of
#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))
#endif

#ifndef min
#define min(a, b)                                  \
	({                                         \
		__typeof__(a) _min_a = (a);        \
		__typeof__(b) _min_b = (b);        \
		_min_a < _min_b ? _min_a : _min_b; \
	})
#define max(a, b)                                  \
	({                                         \
		__typeof__(a) _max_a = (a);        \
		__typeof__(b) _max_b = (b);        \
		_max_a > _max_b ? _max_a : _max_b; \
	})
#define min_t(t, a, b) min((t)(a), (t)(b))
#define max_t(t, a, b) max((t)(a), (t)(b))
#endif

#ifndef likely
#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif

#ifndef ALIGN
/* @a must be a power of two. */
#define ALIGN(x, a)	 (((x) + ((__typeof__(x))(a) - 1)) & ~((__typeof__(x))(a) - 1))
#define ALIGN_DOWN(x, a) ((x) & ~((__typeof__(x))(a) - 1))
#define IS_ALIGNED(x, a) (((x) & ((__typeof__(x))(a) - 1)) == 0)
#endif

#ifndef DIV_ROUND_UP
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#endif

#define NSEC_PER_USEC 1000ULL
#define NSEC_PER_MSEC 1000000ULL
#define NSEC_PER_SEC  1000000000ULL

static inline bool is_power_of_2(u64 n)
{
	return n && !(n & (n - 1));
}

/* Index of the highest set bit; @n must not be 0. */
static inline unsigned int ilog2(u64 n)
{
	return 63 - (unsigned int)__builtin_clzll(n);
}

/* Smallest power of two >= @n, for 1 <= @n <= 2^63. */
static inline u64 roundup_pow_of_two(u64 n)
{
	return n <= 1 ? 1 : 1ULL << (ilog2(n - 1) + 1);
}

/* Does [@off, @off + @len) lie inside [0, @size)? Safe against wrap. */
static inline bool range_ok(u64 off, u64 len, u64 size)
{
	return len <= size && off <= size - len;
}

/* ---- unaligned access in a named byte order ---- */

#define DEFINE_UNALIGNED(bits, order, conv)                      \
	static inline u##bits get_##order##bits(const void *p)   \
	{                                                        \
		u##bits v;                                       \
		memcpy(&v, p, sizeof(v));                        \
		return conv(v);                                  \
	}                                                        \
	static inline void put_##order##bits(void *p, u##bits v) \
	{                                                        \
		v = conv(v);                                     \
		memcpy(p, &v, sizeof(v));                        \
	}

#define rnicd_noswap(x) (x)
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define rnicd_le16 rnicd_noswap
#define rnicd_le32 rnicd_noswap
#define rnicd_le64 rnicd_noswap
#define rnicd_be16 __builtin_bswap16
#define rnicd_be32 __builtin_bswap32
#define rnicd_be64 __builtin_bswap64
#else
#define rnicd_le16 __builtin_bswap16
#define rnicd_le32 __builtin_bswap32
#define rnicd_le64 __builtin_bswap64
#define rnicd_be16 rnicd_noswap
#define rnicd_be32 rnicd_noswap
#define rnicd_be64 rnicd_noswap
#endif

DEFINE_UNALIGNED(16, le, rnicd_le16)
DEFINE_UNALIGNED(32, le, rnicd_le32)
DEFINE_UNALIGNED(64, le, rnicd_le64)
DEFINE_UNALIGNED(16, be, rnicd_be16)
DEFINE_UNALIGNED(32, be, rnicd_be32)
DEFINE_UNALIGNED(64, be, rnicd_be64)

#ifndef le32_to_cpu
#define le16_to_cpu(x) ((u16)rnicd_le16((u16)(x)))
#define le32_to_cpu(x) ((u32)rnicd_le32((u32)(x)))
#define le64_to_cpu(x) ((u64)rnicd_le64((u64)(x)))
#define cpu_to_le16(x) ((__le16)rnicd_le16((u16)(x)))
#define cpu_to_le32(x) ((__le32)rnicd_le32((u32)(x)))
#define cpu_to_le64(x) ((__le64)rnicd_le64((u64)(x)))
#endif
#ifndef be32_to_cpu
#define be16_to_cpu(x) ((u16)rnicd_be16((u16)(x)))
#define be32_to_cpu(x) ((u32)rnicd_be32((u32)(x)))
#define be64_to_cpu(x) ((u64)rnicd_be64((u64)(x)))
#define cpu_to_be16(x) ((__be16)rnicd_be16((u16)(x)))
#define cpu_to_be32(x) ((__be32)rnicd_be32((u32)(x)))
#define cpu_to_be64(x) ((__be64)rnicd_be64((u64)(x)))
#endif

/* ---- doubly linked list with a head, as in the kernel ---- */

struct list_head {
	struct list_head *next, *prev;
};

#define LIST_HEAD_INIT(name) {&(name), &(name)}

static inline void list_init(struct list_head *l)
{
	l->next = l;
	l->prev = l;
}

static inline bool list_empty(const struct list_head *l)
{
	return l->next == l;
}

static inline void list_insert_between(struct list_head *n, struct list_head *prev,
				       struct list_head *next)
{
	n->prev = prev;
	n->next = next;
	prev->next = n;
	next->prev = n;
}

static inline void list_add(struct list_head *n, struct list_head *head)
{
	list_insert_between(n, head, head->next);
}

static inline void list_add_tail(struct list_head *n, struct list_head *head)
{
	list_insert_between(n, head->prev, head);
}

/* The entry is left as an empty list: deleting it twice is harmless. */
static inline void list_del(struct list_head *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	list_init(n);
}

static inline void list_move_tail(struct list_head *n, struct list_head *head)
{
	list_del(n);
	list_add_tail(n, head);
}

/* Move all entries of @from to the tail of @to; @from is left empty. */
static inline void list_splice_tail(struct list_head *from, struct list_head *to)
{
	if (list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	list_init(from);
}

#define list_entry(ptr, type, member)	     container_of(ptr, type, member)
#define list_first_entry(head, type, member) list_entry((head)->next, type, member)
#define list_last_entry(head, type, member)  list_entry((head)->prev, type, member)

#define list_for_each(pos, head) for (pos = (head)->next; pos != (head); pos = pos->next)

#define list_for_each_entry(pos, head, member)                                                 \
	for (pos = list_entry((head)->next, __typeof__(*pos), member); &pos->member != (head); \
	     pos = list_entry(pos->member.next, __typeof__(*pos), member))

#define list_for_each_entry_safe(pos, tmp, head, member)                  \
	for (pos = list_entry((head)->next, __typeof__(*pos), member),    \
	    tmp = list_entry(pos->member.next, __typeof__(*pos), member); \
	     &pos->member != (head);                                      \
	     pos = tmp, tmp = list_entry(tmp->member.next, __typeof__(*tmp), member))

/* ---- bitmaps ---- */

#define BITS_TO_U64(n) DIV_ROUND_UP((size_t)(n), 64)

static inline bool bit_test(const u64 *map, size_t bit)
{
	return map[bit / 64] >> (bit % 64) & 1;
}

static inline void bit_set(u64 *map, size_t bit)
{
	map[bit / 64] |= 1ULL << (bit % 64);
}

static inline void bit_clear(u64 *map, size_t bit)
{
	map[bit / 64] &= ~(1ULL << (bit % 64));
}

/**
 * struct ida - allocator of small integers in [@base, @base + @count).
 *
 * Ids are handed out round robin, so that a freed one is reused as late as
 * possible: a stale handle then meets "unknown", not another's object.
 */
struct ida {
	u64 *map;
	u32 base;
	u32 count;
	u32 used;
	u32 next;
};

int ida_init(struct ida *ida, u32 base, u32 count); /* 0 or -ENOMEM, -EINVAL */
void ida_destroy(struct ida *ida);
s64 ida_alloc(struct ida *ida); /* the id, or -ENOSPC */
int ida_claim(struct ida *ida, u32 id); /* 0, -EBUSY, -ERANGE */
int ida_free(struct ida *ida, u32 id); /* 0, -ENOENT, -ERANGE */
bool ida_is_used(const struct ida *ida, u32 id);

#endif /* RNICD_BASE_UTIL_H */
