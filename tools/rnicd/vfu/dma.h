/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's memory as the device sees it: a table of mappings that the VMM
 * announces (VFIO_USER_DMA_MAP) and takes back, and translation from I/O
 * virtual addresses.
 *
 * Translate at use. A pointer that was got here stays good until the loop
 * handles the next message from the VMM; who keeps one longer registers a
 * listener and drops it there, or compares dma_gen(). All contents are the
 * guest's and change under our hands: copy first, then check.
 *
 * All lookups fail while the function may not master the bus (COMMAND.BME
 * clear, or not in D0).
 */
#ifndef RNICD_VFU_DMA_H
#define RNICD_VFU_DMA_H

#include <sys/uio.h>

#include "base/util.h"

struct dma_space;

/* What the device wants to do. The values are those of the protocol's flags. */
#define DMA_PROT_READ  1 /* device reads guest memory */
#define DMA_PROT_WRITE 2 /* device writes guest memory */
#define DMA_PROT_RW    3

#define DMA_MAX_MAPS_DEFAULT 4096

/* Called after translation of [@iova, @iova + @len) was withdrawn, while the
 * old pointers can still be read but for the last time.
 */
struct dma_listener {
	struct list_head node;
	void (*unmapped)(struct dma_listener *l, u64 iova, u64 len);
};

/* NULL without memory. @max_maps: 0 for the default. Bus mastering starts off. */
struct dma_space *dma_space_new(u32 max_maps);
void dma_space_free(struct dma_space *s);

/**
 * dma_map() - add a mapping.
 * @s: the space.
 * @iova: first address; page (4 KiB) aligned, as is @len.
 * @len: bytes, not 0; @iova + @len must not exceed 2^64.
 * @prot: DMA_PROT_*; 0 makes a mapping that takes room but allows nothing.
 * @fd: file that holds the memory, or -1: the range is known but not
 *	accessible. The fd is not kept; the caller closes it.
 * @offset: page-aligned offset in the file.
 * Return: 0; -EINVAL; -EEXIST on overlap; -ENOSPC at the limit; what mmap()
 *	said (-EACCES for a read-only file, ...).
 */
int dma_map(struct dma_space *s, u64 iova, u64 len, int prot, int fd, u64 offset);

/*
 * Removes all mappings inside the range. A mapping that is only partly inside
 * is an error and nothing is changed: -EINVAL; -ENOENT when there is none.
 * Returns the number of bytes that were unmapped in @unmapped (may be NULL).
 */
int dma_unmap(struct dma_space *s, u64 iova, u64 len, u64 *unmapped);
void dma_unmap_all(struct dma_space *s);

void dma_set_enabled(struct dma_space *s, bool on);
bool dma_enabled(const struct dma_space *s);

/* Grows with each change of the table or of "enabled". */
u64 dma_gen(const struct dma_space *s);
u32 dma_count(const struct dma_space *s);

/**
 * dma_ptr() - translate a range that lies in one mapping.
 * @prot: DMA_PROT_READ, DMA_PROT_WRITE or both: all must be allowed.
 * Return: a pointer, or NULL when the range is empty, not wholly inside one
 *	mapping, not accessible, or bus mastering is off.
 */
void *dma_ptr(struct dma_space *s, u64 iova, u64 len, int prot);

/**
 * dma_iov() - translate a range that may span mappings which follow each other.
 * @max: room in @iov.
 * Return: the number of pieces (0 for an empty range); -EFAULT when some byte
 *	is not accessible, -E2BIG when @max pieces do not suffice.
 */
int dma_iov(struct dma_space *s, u64 iova, u64 len, int prot, struct iovec *iov, int max);

/* Copies of any length across mappings. 0, or -EFAULT with nothing copied. */
int dma_read(struct dma_space *s, u64 iova, void *dst, u64 len);
int dma_write(struct dma_space *s, u64 iova, const void *src, u64 len);

/*
 * Single stores and loads of aligned little-endian words, as ring entries and
 * indices need (one access, with release or acquire order). -EFAULT when not
 * accessible or not aligned.
 */
int dma_read_le32(struct dma_space *s, u64 iova, u32 *val);
int dma_write_le32(struct dma_space *s, u64 iova, u32 val);
int dma_read_le64(struct dma_space *s, u64 iova, u64 *val);
int dma_write_le64(struct dma_space *s, u64 iova, u64 val);

void dma_listener_add(struct dma_space *s, struct dma_listener *l);
void dma_listener_del(struct dma_listener *l);

/*
 * A VMM that truncates a file under a mapping would have us killed by SIGBUS.
 * The guard puts zero pages in place of the lost mapping, so that the access
 * completes; the mapping is dead from then on. Installed once per process.
 */
int dma_sigbus_guard(void);
/* Mappings lost that way so far, in this space. */
u32 dma_lost(struct dma_space *s);

#endif /* RNICD_VFU_DMA_H */
