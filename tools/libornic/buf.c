// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Memory of queues: pages of their own, kept out of forked children. */

#include <errno.h>
#include <sys/mman.h>

#include "ornic.h"

/**
 * ornic_buf_alloc() - zeroed pages for a queue buffer
 * @ctx: context
 * @buf: to fill in
 * @len: bytes, rounded up to whole pages
 *
 * Return: 0 or an errno.
 */
int ornic_buf_alloc(struct ornic_context *ctx, struct ornic_buf *buf, size_t len)
{
	int err;

	len = (len + ctx->page_size - 1) & ~(ctx->page_size - 1);
	buf->va = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buf->va == MAP_FAILED)
		return errno;
	buf->len = len;
	err = ibv_dontfork_range(buf->va, len);
	if (err)
		munmap(buf->va, len);
	return err;
}

void ornic_buf_free(struct ornic_buf *buf)
{
	ibv_dofork_range(buf->va, buf->len);
	munmap(buf->va, buf->len);
}
