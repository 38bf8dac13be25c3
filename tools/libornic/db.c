// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Doorbells and queue records. */

#include <stdatomic.h>

#include <util/mmio.h>
#include <util/udma_barrier.h>

#include "ornic.h"

/**
 * ornic_ring_db() - one doorbell
 * @ctx: context
 * @db: ORNIC_DB_*
 * @number: of the queue
 * @flags: ORNIC_DB_FLAG_*, ORNIC_DB_ARM_SEQ
 * @index: free-running index
 */
void ornic_ring_db(struct ornic_context *ctx, uint32_t db, uint32_t number, uint64_t flags,
		   uint32_t index)
{
	uint64_t v =
		FIELD_PREP(ORNIC_DB_NUMBER, number) | flags | FIELD_PREP(ORNIC_DB_INDEX, index);

	mmio_write64_le((uint8_t *)ctx->db + db, htole64(v));
}

/**
 * ornic_wq_publish() - show the device what was posted, and wake it unless it says that it is awake
 * @ctx: context
 * @qp: queue pair
 * @wq: its queue that was posted to, locked
 * @db: doorbell of that queue
 *
 * The order is that of struct ornic_queue_rec: WQEs, record, full barrier, awake flag.
 */
void ornic_wq_publish(struct ornic_context *ctx, struct ornic_qp *qp, struct ornic_wq *wq,
		      uint32_t db)
{
	udma_to_device_barrier();
	*(volatile __le32 *)wq->rec_pi = htole32(wq->pi);
	if (ctx->caps.features & ORNIC_UCTX_AWAKE) {
		atomic_thread_fence(memory_order_seq_cst);
		if (*(const volatile __le32 *)wq->rec_awake)
			return;
	}
	udma_to_device_barrier();
	ornic_ring_db(ctx, db, qp->qpn, 0, wq->pi);
}
