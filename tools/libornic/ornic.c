// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Device, context, PD and MR: all that is not a queue. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ornic.h"

static int ornic_query_device(struct ibv_context *ctx,
			      const struct ibv_query_device_ex_input *input,
			      struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct ib_uverbs_ex_query_device_resp resp;
	size_t resp_size = sizeof(resp);
	unsigned int major, minor, patch;
	uint64_t fw;
	int err;

	err = ibv_cmd_query_device_any(ctx, input, attr, attr_size, &resp, &resp_size);
	if (err)
		return err;
	fw = resp.base.fw_ver;
	major = fw >> 32 & 0xffff;
	minor = fw >> 16 & 0xffff;
	patch = fw & 0xffff;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver), "%u.%u.%u", major, minor,
		 patch);
	return 0;
}

static int ornic_query_port(struct ibv_context *ctx, uint8_t port, struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd = {};

	return ibv_cmd_query_port(ctx, port, attr, &cmd, sizeof(cmd));
}

static struct ibv_pd *ornic_alloc_pd(struct ibv_context *ctx)
{
	struct ib_uverbs_alloc_pd_resp resp = {};
	struct ibv_alloc_pd cmd = {};
	struct ibv_pd *pd = calloc(1, sizeof(*pd));
	int err;

	if (!pd)
		return NULL;
	err = ibv_cmd_alloc_pd(ctx, pd, &cmd, sizeof(cmd), &resp, sizeof(resp));
	if (err) {
		free(pd);
		errno = err;
		return NULL;
	}
	return pd;
}

static int ornic_dealloc_pd(struct ibv_pd *pd)
{
	int err = ibv_cmd_dealloc_pd(pd);

	if (!err)
		free(pd);
	return err;
}

static struct ibv_mr *ornic_reg_mr(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova,
				   int access)
{
	struct ib_uverbs_reg_mr_resp resp;
	struct ibv_reg_mr cmd;
	struct verbs_mr *mr = calloc(1, sizeof(*mr));
	int err;

	if (!mr)
		return NULL;
	err = ibv_cmd_reg_mr(pd, addr, len, iova, access, mr, &cmd, sizeof(cmd), &resp,
			     sizeof(resp));
	if (err) {
		free(mr);
		errno = err;
		return NULL;
	}
	return &mr->ibv_mr;
}

static int ornic_dereg_mr(struct verbs_mr *mr)
{
	int err = ibv_cmd_dereg_mr(mr);

	if (!err)
		free(mr);
	return err;
}

static void ornic_free_context(struct ibv_context *ibctx)
{
	struct ornic_context *ctx = to_ctx(ibctx);

	for (unsigned int i = 0; i < QP_TABLE_SIZE; i++)
		free(ctx->qps[i]);
	munmap(ctx->db_map, ctx->db_map_len);
	pthread_mutex_destroy(&ctx->qp_lock);
	verbs_uninit_context(&ctx->vctx);
	free(ctx);
}

static const struct verbs_context_ops ornic_ctx_ops = {
	.alloc_pd = ornic_alloc_pd,
	.cq_event = ornic_cq_event,
	.create_cq = ornic_create_cq,
	.create_qp = ornic_create_qp,
	.dealloc_pd = ornic_dealloc_pd,
	.dereg_mr = ornic_dereg_mr,
	.destroy_cq = ornic_destroy_cq,
	.destroy_qp = ornic_destroy_qp,
	.free_context = ornic_free_context,
	.modify_qp = ornic_modify_qp,
	.poll_cq = ornic_poll_cq,
	.post_recv = ornic_post_recv,
	.post_send = ornic_post_send,
	.query_device_ex = ornic_query_device,
	.query_port = ornic_query_port,
	.query_qp = ornic_query_qp,
	.reg_mr = ornic_reg_mr,
	.req_notify_cq = ornic_req_notify_cq,
};

static int get_context(struct ornic_context *ctx)
{
	struct ornic_cmd_alloc_ctx_resp resp = {};
	struct ornic_cmd_alloc_ctx cmd = {};
	int err;

	err = ibv_cmd_get_context(&ctx->vctx, &cmd.ibv_cmd, sizeof(cmd), &resp.ibv_resp,
				  sizeof(resp));
	if (err)
		return err;
	ctx->caps = resp.drv_payload;
	return 0;
}

static int map_doorbells(struct ornic_context *ctx, int cmd_fd)
{
	ctx->db_map_len = ctx->caps.db_mmap_len;
	if (!ctx->db_map_len || ctx->caps.db_offset > ctx->db_map_len - ORNIC_DB_ETH_TX)
		return EPROTO;
	ctx->db_map = mmap(NULL, ctx->db_map_len, PROT_READ | PROT_WRITE, MAP_SHARED, cmd_fd,
			   ctx->caps.db_mmap_offset);
	if (ctx->db_map == MAP_FAILED)
		return errno;
	ctx->db = (uint8_t *)ctx->db_map + ctx->caps.db_offset;
	return 0;
}

static struct verbs_context *ornic_alloc_context(struct ibv_device *device, int cmd_fd,
						 void *private_data)
{
	struct ornic_context *ctx;
	int err;

	ctx = verbs_init_and_alloc_context(device, cmd_fd, ctx, vctx, ORNIC_RDMA_DRIVER_ID);
	if (!ctx)
		return NULL;
	ctx->page_size = sysconf(_SC_PAGESIZE);
	pthread_mutex_init(&ctx->qp_lock, NULL);
	err = get_context(ctx);
	if (!err)
		err = map_doorbells(ctx, cmd_fd);
	if (err) {
		pthread_mutex_destroy(&ctx->qp_lock);
		verbs_uninit_context(&ctx->vctx);
		free(ctx);
		errno = err;
		return NULL;
	}
	verbs_set_ops(&ctx->vctx, &ornic_ctx_ops);
	return &ctx->vctx;
}

static struct verbs_device *ornic_device_alloc(struct verbs_sysfs_dev *sysfs_dev)
{
	struct ornic_device *dev = calloc(1, sizeof(*dev));

	return dev ? &dev->vdev : NULL;
}

static void ornic_device_free(struct verbs_device *vdev)
{
	free(container_of(vdev, struct ornic_device, vdev));
}

static const struct verbs_match_ent match_table[] = {
	VERBS_DRIVER_ID(ORNIC_RDMA_DRIVER_ID),
	VERBS_PCI_MATCH(ORNIC_PCI_VENDOR_ID, ORNIC_PCI_DEVICE_ID, NULL),
	{},
};

static const struct verbs_device_ops ornic_dev_ops = {
	.name = "ornic",
	.match_min_abi_version = ORNIC_ABI_VERSION,
	.match_max_abi_version = ORNIC_ABI_VERSION,
	.match_table = match_table,
	.alloc_device = ornic_device_alloc,
	.uninit_device = ornic_device_free,
	.alloc_context = ornic_alloc_context,
};

PROVIDER_DRIVER(ornic, ornic_dev_ops);
