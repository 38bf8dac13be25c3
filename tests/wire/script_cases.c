// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each script of tests/wire/scripts is a case: the peer is its script, the other end an rnicd with
 * the smallest driver that there can be, which negotiates by the driver's own mpa.c and takes what
 * may be taken.
 */
#include <dirent.h>

#include "../../drivers/infiniband/hw/ornic/mpa.h"
#include "craft_peer.h"
#include "script.h"

#define MAX_SCRIPTS 64
#define RECV_LEN    2000u

static struct test tests[MAX_SCRIPTS];
static char names[MAX_SCRIPTS][64];
static unsigned int ntests;
static const char *path;

/* ---- the driver ---- */

static struct {
	struct mpa_local local;
	struct mpa_rx rx;
	struct mpa_frame sent;
	bool initiator, ended;
	u64 used; /* bytes of the stream that were frames */
	bool rdma;
} drv;

static long wish(const char *key, long otherwise)
{
	long v = script_driver(path, key);

	return v < 0 ? otherwise : v;
}

static void driver_init(bool initiator)
{
	memset(&drv, 0, sizeof(drv));
	drv.initiator = initiator;
	drv.local = (struct mpa_local){
		.rev = (u8)wish("mpa_rev", 2),
		.crc = wish("mpa_crc", 1),
		.markers = wish("mpa_markers", 0),
		.can_mark = true,
		.peer_to_peer = wish("peer_to_peer", 1),
		.rtr = (u8)wish("rtr_types", MPA_RTR_ALL),
		.ird = 1,
		.ord = 1,
		.max_ird = 32,
		.max_ord = 32,
	};
	mpa_rx_start(&drv.rx, initiator ? MPA_REPLY : MPA_REQUEST);
}

static void driver_number(u16 opcode)
{
	drv_number(dev.d, opcode, CRAFT_CONN);
}

static void driver_say(const struct mpa_frame *frame)
{
	u8 bytes[MPA_FRAME_MAX];
	size_t len = mpa_build(frame, bytes);

	drv_stream_tx(dev.d, CRAFT_CONN, bytes, (u32)len);
}

static void driver_rdma(const struct mpa_agreed *agreed, const struct mpa_frame *reply)
{
	union drv_cmd c = drv_cmd(ORNIC_CMD_MODE_RDMA);
	u64 data = drv_alloc(dev.d, MPA_FRAME_MAX);
	u32 i;

	for (i = 0; i < 4; i++)
		craft_post_recv(i * RECV_LEN, RECV_LEN);
	c.rdma.conn_id = cpu_to_le32(CRAFT_CONN);
	c.rdma.qpn = cpu_to_le32(CRAFT_QP);
	c.rdma.role = drv.initiator ? ORNIC_ROLE_INITIATOR : ORNIC_ROLE_RESPONDER;
	c.rdma.rtr = (u8)agreed->rtr;
	c.rdma.flags = cpu_to_le16((agreed->crc ? ORNIC_RDMAF_CRC : 0) |
				   (agreed->tx_markers ? ORNIC_RDMAF_TX_MARKERS : 0) |
				   (agreed->rx_markers ? ORNIC_RDMAF_RX_MARKERS : 0));
	c.rdma.ird = cpu_to_le16(agreed->ird);
	c.rdma.ord = cpu_to_le16(agreed->ord);
	c.rdma.rx_offset = cpu_to_le64(drv.used);
	if (reply) {
		c.hdr.data = cpu_to_le64(data);
		c.rdma.data_len =
			cpu_to_le32((u32)mpa_build(reply, drv_ptr(dev.d, data, MPA_FRAME_MAX)));
	}
	drv.rdma = drv_exec(dev.d, &c) == ORNIC_CMDS_OK;
}

static void driver_request(const struct mpa_frame *req)
{
	struct mpa_agreed agreed;
	struct mpa_frame reply;

	switch (mpa_check_request(&drv.local, req)) {
	case MPA_OK:
		mpa_answer(&drv.local, req, &reply, &agreed);
		driver_rdma(&agreed, &reply);
		break;
	case MPA_BAD_REVISION:
		driver_number(ORNIC_CMD_ABORT);
		break;
	default:
		mpa_refuse(&drv.local, req, &reply);
		driver_say(&reply);
		driver_number(ORNIC_CMD_CLOSE);
	}
}

static void driver_terminate(const struct mpa_agreed *agreed, u8 code)
{
	union drv_cmd c = drv_cmd(ORNIC_CMD_TERMINATE);

	c.terminate.conn_id = cpu_to_le32(CRAFT_CONN);
	c.terminate.layer = MPA_TERM_LAYER;
	c.terminate.etype = MPA_TERM_ETYPE;
	c.terminate.code = code;
	c.terminate.flags = (agreed->crc ? ORNIC_RDMAF_CRC : 0) |
			    (agreed->tx_markers ? ORNIC_RDMAF_TX_MARKERS : 0);
	drv_do(dev.d, &c);
}

static void driver_reply(const struct mpa_frame *reply)
{
	struct mpa_agreed agreed;

	switch (mpa_check_reply(&drv.local, &drv.sent, reply, &agreed)) {
	case MPA_OK:
		driver_rdma(&agreed, NULL);
		break;
	case MPA_REJECTED:
		driver_number(ORNIC_CMD_CLOSE);
		break;
	case MPA_NO_IRD:
		driver_terminate(&agreed, MPA_TERM_NO_IRD);
		break;
	case MPA_NO_RTR:
		driver_terminate(&agreed, MPA_TERM_NO_RTR);
		break;
	default:
		driver_number(ORNIC_CMD_ABORT);
	}
}

static void driver_bytes(const u8 *data, size_t len)
{
	struct mpa_frame frame;
	enum mpa_status status;
	size_t used;

	if (drv.rdma)
		return;
	status = mpa_rx_feed(&drv.rx, data, len, &used);
	drv.used += used;
	if (status == MPA_MORE)
		return;
	if (status != MPA_OK || (!drv.initiator && used != len)) {
		driver_number(ORNIC_CMD_ABORT);
		return;
	}
	mpa_rx_frame(&drv.rx, &frame);
	if (drv.initiator)
		driver_reply(&frame);
	else
		driver_request(&frame);
}

static void driver_turn(void)
{
	u8 slot[ORNIC_TEQ_SLOT_SIZE];
	struct ornic_teqe e;

	while (!drv.ended && drv_eq_next(dev.d, &dev.tcp, &e, slot, 0)) {
		switch (e.type) {
		case ORNIC_TCP_STREAM_RX:
			driver_bytes(slot, le16_to_cpu(e.data_len));
			break;
		case ORNIC_TCP_PEER_FIN:
			driver_number(drv.rdma ? ORNIC_CMD_CLOSE : ORNIC_CMD_ABORT);
			break;
		case ORNIC_TCP_FIRST_FPDU:
		case ORNIC_TCP_FIN_ACKED:
		case ORNIC_TCP_TERM_SENT:
		case ORNIC_TCP_TERM_RCVD:
			break;
		default:
			drv.ended = true;
		}
	}
}

/* ---- the peer's connection ---- */

static bool io_begin(bool listen)
{
	driver_init(listen);
	if (!listen) {
		craft_tcp_to_device();
		return true;
	}
	craft_tcp_from_device();
	mpa_request(&drv.local, &drv.sent);
	driver_say(&drv.sent);
	return true;
}

static void io_sleep(int ms)
{
	while (ms-- > 0) {
		craft_pump_ms(1);
		driver_turn();
	}
}

static bool io_send(const void *data, size_t len)
{
	if (craft_ended())
		return false;
	craft_send(data, (u32)len);
	driver_turn();
	return true;
}

static int io_recv(void *data, size_t len, int ms)
{
	u32 n;

	for (;;) {
		n = craft_recv_some(data, (u32)len);
		if (n)
			return (int)n;
		if (craft_at_fin())
			return SCRIPT_FIN;
		if (craft_ended())
			return SCRIPT_RST;
		if (ms-- <= 0)
			return SCRIPT_NOTHING;
		io_sleep(1);
	}
}

static const struct script_io io = {
	.begin = io_begin,
	.send = io_send,
	.recv = io_recv,
	.fin = craft_fin,
	.rst = craft_rst,
	.sleep = io_sleep,
};

/* ---- cases ---- */

static void run_script(void)
{
	static char file[512];
	char why[600];

	snprintf(file, sizeof(file), "%s/%s.peer", getenv("PEER_SCRIPTS"), test_running->name);
	path = file;
	craft_start(true);
	if (!script_run(file, &io, why, sizeof(why)))
		test_fail(__FILE__, __LINE__, "%s", why);
}

static int is_script(const struct dirent *d)
{
	size_t len = strlen(d->d_name);

	return len > 5 && len < sizeof(names[0]) && !strcmp(d->d_name + len - 5, ".peer");
}

int main(int argc, char **argv)
{
	struct dirent **found;
	int n = scandir(getenv("PEER_SCRIPTS"), &found, is_script, alphasort), i;

	for (i = 0; i < n && ntests < MAX_SCRIPTS; i++) {
		snprintf(names[ntests], sizeof(names[0]), "%.*s", (int)strlen(found[i]->d_name) - 5,
			 found[i]->d_name);
		tests[ntests] = (struct test){names[ntests], run_script};
		ntests++;
		free(found[i]);
	}
	free(found);
	return test_main(argc, argv, tests, ntests);
}
