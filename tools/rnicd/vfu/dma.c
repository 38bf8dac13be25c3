// SPDX-License-Identifier: GPL-2.0-or-later
/* Mappings in an array sorted by address; lookups try the last hit first. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <linux/magic.h>

#include "base/log.h"
#include "vfu/dma.h"

#define DMA_PAGE 4096

struct dma_map {
	u64 iova;
	u64 len;
	u8 *host; /* NULL: known, not accessible */
	void *base; /* what mmap() gave: larger when the file has huge pages */
	size_t base_len;
	int prot;
	volatile sig_atomic_t lost;
};

struct dma_space {
	struct list_head node; /* in all_spaces */
	struct list_head listeners;
	struct dma_map *maps;
	u32 count;
	u32 room;
	u32 max;
	u32 hit;
	bool enabled;
	u64 gen;
};

/* The SIGBUS handler is handed nothing but an address. */
static struct list_head all_spaces = LIST_HEAD_INIT(all_spaces);
static struct sigaction old_sigbus;

struct dma_space *dma_space_new(u32 max_maps)
{
	struct dma_space *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->max = max_maps ? max_maps : DMA_MAX_MAPS_DEFAULT;
	list_init(&s->listeners);
	list_add_tail(&s->node, &all_spaces);
	return s;
}

void dma_space_free(struct dma_space *s)
{
	if (!s)
		return;
	dma_unmap_all(s);
	list_del(&s->node);
	free(s->maps);
	free(s);
}

void dma_set_enabled(struct dma_space *s, bool on)
{
	if (s->enabled == on)
		return;
	s->enabled = on;
	s->gen++;
}

bool dma_enabled(const struct dma_space *s)
{
	return s->enabled;
}

u64 dma_gen(const struct dma_space *s)
{
	return s->gen;
}

u32 dma_count(const struct dma_space *s)
{
	return s->count;
}

void dma_listener_add(struct dma_space *s, struct dma_listener *l)
{
	list_add_tail(&l->node, &s->listeners);
}

void dma_listener_del(struct dma_listener *l)
{
	list_del(&l->node);
}

static u64 map_last(const struct dma_map *m)
{
	return m->iova + (m->len - 1);
}

/* Index of the first mapping that ends at or after @iova. */
static u32 first_from(const struct dma_space *s, u64 iova)
{
	u32 lo = 0, hi = s->count;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (map_last(&s->maps[mid]) < iova)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static struct dma_map *find_map(struct dma_space *s, u64 iova)
{
	struct dma_map *m;
	u32 i;

	if (likely(s->hit < s->count)) {
		m = &s->maps[s->hit];
		if (likely(iova >= m->iova && iova - m->iova < m->len))
			return m;
	}
	i = first_from(s, iova);
	if (i == s->count || iova < s->maps[i].iova)
		return NULL;
	s->hit = i;
	return &s->maps[i];
}

/* ---- changing the table ---- */

static int to_mmap_prot(int prot)
{
	return (prot & DMA_PROT_READ ? PROT_READ : 0) | (prot & DMA_PROT_WRITE ? PROT_WRITE : 0);
}

/* Alignment that mmap() wants of an offset in this file. */
static int file_page(int fd, u64 *page)
{
	struct statfs fs;

	*page = DMA_PAGE;
	if (fstatfs(fd, &fs))
		return -errno;
	if (fs.f_type == HUGETLBFS_MAGIC && fs.f_bsize > DMA_PAGE)
		*page = (u64)fs.f_bsize;
	return 0;
}

static int map_file(struct dma_map *m, int fd, u64 offset)
{
	u64 page, begin, end;
	struct stat st;
	int ret;

	if (fstat(fd, &st))
		return -errno;
	/* Beyond the end of the file every access would be a SIGBUS. */
	if (!S_ISREG(st.st_mode) || !range_ok(offset, m->len, (u64)st.st_size))
		return -EINVAL;
	ret = file_page(fd, &page);
	if (ret)
		return ret;
	begin = ALIGN_DOWN(offset, page);
	end = ALIGN(offset + m->len, page);
	m->base_len = end - begin;
	m->base = mmap(NULL, m->base_len, to_mmap_prot(m->prot), MAP_SHARED | MAP_NORESERVE, fd,
		       (off_t)begin);
	if (m->base == MAP_FAILED)
		return -errno;
	m->host = (u8 *)m->base + (offset - begin);
	return 0;
}

static int grow(struct dma_space *s)
{
	struct dma_map *maps;
	u32 room;

	if (s->count < s->room)
		return 0;
	room = min(max_t(u32, 16, s->room * 2), s->max);
	maps = realloc(s->maps, room * sizeof(*maps));
	if (!maps)
		return -ENOMEM;
	s->maps = maps;
	s->room = room;
	return 0;
}

int dma_map(struct dma_space *s, u64 iova, u64 len, int prot, int fd, u64 offset)
{
	struct dma_map m = {.iova = iova, .len = len, .prot = prot};
	u32 i;
	int ret;

	if (!len || (prot & ~DMA_PROT_RW) || iova + (len - 1) < iova)
		return -EINVAL;
	if (!IS_ALIGNED(iova, DMA_PAGE) || !IS_ALIGNED(len, DMA_PAGE) ||
	    !IS_ALIGNED(offset, DMA_PAGE))
		return -EINVAL;
	i = first_from(s, iova);
	if (i < s->count && s->maps[i].iova <= map_last(&m))
		return -EEXIST;
	if (s->count == s->max)
		return -ENOSPC;
	ret = grow(s);
	if (!ret && fd >= 0)
		ret = map_file(&m, fd, offset);
	if (ret)
		return ret;
	memmove(&s->maps[i + 1], &s->maps[i], (s->count - i) * sizeof(m));
	s->maps[i] = m;
	s->count++;
	s->gen++;
	return 0;
}

/* Takes maps [from, to) out of the table first, so that listeners see them gone. */
static u64 remove_maps(struct dma_space *s, u32 from, u32 to)
{
	u64 total = 0;

	while (to > from) {
		struct dma_map m = s->maps[--to];
		struct dma_listener *l, *tmp;

		memmove(&s->maps[to], &s->maps[to + 1], (s->count - to - 1) * sizeof(m));
		s->count--;
		s->gen++;
		list_for_each_entry_safe (l, tmp, &s->listeners, node)
			l->unmapped(l, m.iova, m.len);
		if (m.host)
			munmap(m.base, m.base_len);
		total += m.len;
	}
	return total;
}

int dma_unmap(struct dma_space *s, u64 iova, u64 len, u64 *unmapped)
{
	u64 last = iova + (len - 1), total;
	u32 from, to;

	if (!len || last < iova)
		return -EINVAL;
	from = first_from(s, iova);
	for (to = from; to < s->count && s->maps[to].iova <= last; to++)
		if (s->maps[to].iova < iova || map_last(&s->maps[to]) > last)
			return -EINVAL;
	if (from == to)
		return -ENOENT;
	total = remove_maps(s, from, to);
	if (unmapped)
		*unmapped = total;
	return 0;
}

void dma_unmap_all(struct dma_space *s)
{
	remove_maps(s, 0, s->count);
}

/* ---- translation ---- */

/* Pointer for @iova and how many bytes (up to @len) follow it; NULL if refused. */
static u8 *translate(struct dma_space *s, u64 iova, u64 len, int prot, u64 *got)
{
	struct dma_map *m;
	u64 off;

	if (unlikely(!s->enabled))
		return NULL;
	m = find_map(s, iova);
	if (unlikely(!m || !m->host || (m->prot & prot) != prot))
		return NULL;
	if (unlikely(m->lost)) {
		log_err_ratelimited("vfu: the VMM truncated guest memory at 0x%llx+0x%llx", m->iova,
				    m->len);
		return NULL;
	}
	off = iova - m->iova;
	*got = min(len, m->len - off);
	return m->host + off;
}

void *dma_ptr(struct dma_space *s, u64 iova, u64 len, int prot)
{
	u64 got = 0;
	u8 *p;

	p = translate(s, iova, len, prot, &got);
	return len && got == len ? p : NULL;
}

/* One step of a walk over mappings that follow each other. */
static u8 *next_piece(struct dma_space *s, u64 *iova, u64 *len, int prot, u64 *got)
{
	u8 *p = translate(s, *iova, *len, prot, got);

	if (!p)
		return NULL;
	*len -= *got;
	*iova += *got;
	/* There is nothing after the last address. */
	if (*len && !*iova)
		return NULL;
	return p;
}

int dma_iov(struct dma_space *s, u64 iova, u64 len, int prot, struct iovec *iov, int max)
{
	u64 got = 0;
	int n = 0;
	u8 *p;

	while (len) {
		if (n == max)
			return -E2BIG;
		p = next_piece(s, &iova, &len, prot, &got);
		if (!p)
			return -EFAULT;
		iov[n].iov_base = p;
		iov[n++].iov_len = got;
	}
	return n;
}

static bool accessible(struct dma_space *s, u64 iova, u64 len, int prot)
{
	u64 got;

	while (len)
		if (!next_piece(s, &iova, &len, prot, &got))
			return false;
	return true;
}

int dma_read(struct dma_space *s, u64 iova, void *dst, u64 len)
{
	u8 *d = dst, *p;
	u64 got = 0;

	if (!accessible(s, iova, len, DMA_PROT_READ))
		return -EFAULT;
	while (len) {
		p = next_piece(s, &iova, &len, DMA_PROT_READ, &got);
		if (!p)
			return -EFAULT; /* lost while copying */
		memcpy(d, p, got);
		d += got;
	}
	return 0;
}

int dma_write(struct dma_space *s, u64 iova, const void *src, u64 len)
{
	const u8 *d = src;
	u64 got = 0;
	u8 *p;

	if (!accessible(s, iova, len, DMA_PROT_WRITE))
		return -EFAULT;
	while (len) {
		p = next_piece(s, &iova, &len, DMA_PROT_WRITE, &got);
		if (!p)
			return -EFAULT; /* lost while copying */
		memcpy(p, d, got);
		d += got;
	}
	return 0;
}

static void *word_ptr(struct dma_space *s, u64 iova, u64 size, int prot)
{
	return IS_ALIGNED(iova, size) ? dma_ptr(s, iova, size, prot) : NULL;
}

int dma_read_le32(struct dma_space *s, u64 iova, u32 *val)
{
	const u32 *p = word_ptr(s, iova, sizeof(*p), DMA_PROT_READ);

	if (!p)
		return -EFAULT;
	*val = le32_to_cpu(__atomic_load_n(p, __ATOMIC_ACQUIRE));
	return 0;
}

int dma_write_le32(struct dma_space *s, u64 iova, u32 val)
{
	u32 *p = word_ptr(s, iova, sizeof(*p), DMA_PROT_WRITE);

	if (!p)
		return -EFAULT;
	__atomic_store_n(p, (u32)cpu_to_le32(val), __ATOMIC_RELEASE);
	return 0;
}

int dma_read_le64(struct dma_space *s, u64 iova, u64 *val)
{
	const u64 *p = word_ptr(s, iova, sizeof(*p), DMA_PROT_READ);

	if (!p)
		return -EFAULT;
	*val = le64_to_cpu(__atomic_load_n(p, __ATOMIC_ACQUIRE));
	return 0;
}

int dma_write_le64(struct dma_space *s, u64 iova, u64 val)
{
	u64 *p = word_ptr(s, iova, sizeof(*p), DMA_PROT_WRITE);

	if (!p)
		return -EFAULT;
	__atomic_store_n(p, (u64)cpu_to_le64(val), __ATOMIC_RELEASE);
	return 0;
}

/* ---- memory that went away ---- */

/* Runs where the access faulted: the tables are not being changed at that point. */
static bool replace_lost(const u8 *addr)
{
	struct dma_space *s;
	u32 i;

	list_for_each_entry (s, &all_spaces, node) {
		for (i = 0; i < s->count; i++) {
			struct dma_map *m = &s->maps[i];
			const u8 *base = m->base;

			if (!m->host || addr < base || addr >= base + m->base_len)
				continue;
			if (mmap(m->base, m->base_len, PROT_READ | PROT_WRITE,
				 MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
				 0) == MAP_FAILED)
				return false;
			m->lost = 1;
			return true;
		}
	}
	return false;
}

static void on_sigbus(int sig, siginfo_t *info, void *ctx)
{
	int err = errno;

	/* Not ours: the access is repeated and meets whoever was there before. */
	if (!replace_lost(info->si_addr))
		sigaction(SIGBUS, &old_sigbus, NULL);
	errno = err;
}

int dma_sigbus_guard(void)
{
	struct sigaction sa = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO};
	static bool installed;

	if (installed)
		return 0;
	sigemptyset(&sa.sa_mask);
	if (sigaction(SIGBUS, &sa, &old_sigbus))
		return -errno;
	installed = true;
	return 0;
}

u32 dma_lost(struct dma_space *s)
{
	u32 i, n = 0;

	for (i = 0; i < s->count; i++)
		n += !!s->maps[i].lost;
	return n;
}
