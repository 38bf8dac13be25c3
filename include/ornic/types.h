/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * OpenRNIC hardware contract: what the headers beside this one need from the kernel or from
 * a user-space C library.
 *
 * Every multi-byte field of the contract is little-endian and declared __le16/__le32/__le64, so
 * that
 * sparse checks the kernel side. Masks are GENMASK()s and are used with FIELD_PREP()/FIELD_GET()
 * on
 * CPU-endian values.
 */
#ifndef _ORNIC_TYPES_H
#define _ORNIC_TYPES_H

#ifdef __KERNEL__

#include <linux/bitfield.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/types.h>

#else

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>

#ifndef BIT
#define BIT(n) (1UL << (n))
#endif
#ifndef BIT_ULL
#define BIT_ULL(n) (1ULL << (n))
#endif
#ifndef GENMASK
#define GENMASK(h, l) ((~0UL >> (8 * sizeof(unsigned long) - 1 - (h))) & (~0UL << (l)))
#endif
#ifndef GENMASK_ULL
#define GENMASK_ULL(h, l) ((~0ULL >> (63 - (h))) & (~0ULL << (l)))
#endif
#ifndef FIELD_PREP
#define FIELD_PREP(mask, val) \
	(((__typeof__(mask))(val) << __builtin_ctzll(mask)) & (mask))
#endif
#ifndef FIELD_GET
#define FIELD_GET(mask, reg) ((__typeof__(mask))(((reg) & (mask)) >> __builtin_ctzll(mask)))
#endif
#ifndef FIELD_MAX
#define FIELD_MAX(mask) ((__typeof__(mask))((mask) >> __builtin_ctzll(mask)))
#endif

#endif /* __KERNEL__ */

/* The layout of the contract is fixed here, for every part that includes it, at compile time. */
#define ORNIC_ASSERT_SIZE(type, size) \
	static_assert(sizeof(type) == (size), "size of " #type)
#define ORNIC_ASSERT_OFFSET(type, field, off) \
	static_assert(offsetof(type, field) == (off), "offset of " #type "." #field)

#endif /* _ORNIC_TYPES_H */
