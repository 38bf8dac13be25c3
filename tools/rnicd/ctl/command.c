// SPDX-License-Identifier: GPL-2.0-or-later
/* Commands of the control socket. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "ctl/priv.h"
#include "hw/cmdq.h"
#include "hw/conn.h"
#include "hw/eq.h"
#include "hw/mr.h"
#include "iwarp/iwarp.h"
#include "nic/nic.h"

#define DELAY_MS_DEFAULT 20
#define DELAY_MS_MAX	 10000

/* Each returns NULL or what is wrong. */
struct ctl_cmd {
	const char *name;
	const char *args;
	const char *help;
	const char *(*fn)(struct ctl *ctl, char *args, FILE *out);
};

static const char *cmd_help(struct ctl *ctl, char *args, FILE *out);

static void stats_faults(const struct rnic *dev, FILE *out)
{
	const struct rx_faults *f = &dev->rx_faults;

	fprintf(out,
		"fault_lost %" PRIu64 "\nfault_corrupted %" PRIu64 "\nfault_reordered %" PRIu64
		"\n",
		(uint64_t)f->lost, (uint64_t)f->corrupted, (uint64_t)f->reordered);
	fprintf(out, "fault_delayed %" PRIu64 "\nfault_bad_crc %" PRIu64 "\n", (uint64_t)f->delayed,
		(uint64_t)dev->bad_crc_sent);
}

static const char *cmd_stats(struct ctl *ctl, char *args, FILE *out)
{
	const struct vfu_stats *v = vfu_stats(ctl->dev->vfu);
	u64 stats[ORNIC_STAT_COUNT];
	u32 i;

	rnic_stats(ctl->dev, stats);
	for (i = 0; i < ORNIC_STAT_COUNT; i++)
		fprintf(out, "%s %" PRIu64 "\n", ornic_stat_name(i), (uint64_t)stats[i]);
	fprintf(out,
		"vfu_messages %" PRIu64 "\nvfu_errors %" PRIu64 "\nvfu_bad_accesses %" PRIu64 "\n",
		(uint64_t)v->messages, (uint64_t)v->errors, (uint64_t)v->bad_accesses);
	fprintf(out,
		"vfu_attaches %" PRIu64 "\nvfu_msix_sent %" PRIu64 "\nvfu_msix_pended %" PRIu64
		"\n",
		(uint64_t)v->attaches, (uint64_t)v->msix_sent, (uint64_t)v->msix_pended);
	stats_faults(ctl->dev, out);
	return NULL;
}

/* ---- state ---- */

static void dump_eq(void *arg, const struct eq_info *e)
{
	static const char *const kind[] = {"completion", "asynchronous", "tcp"};

	fprintf(arg, "eq %u: %s vector %u depth %u written %u taken %u waiting %u cqs %u%s\n",
		e->eqn, kind[e->kind], e->vector, e->depth, e->pi, e->ci, e->waiting, e->refs,
		e->armed ? " armed" : "");
}

static void dump_mr(void *arg, const struct mr *mr)
{
	fprintf(arg,
		"mr 0x%08x: pd %u iova 0x%" PRIx64 " length %" PRIu64
		" pages %u of 2^%u access 0x%x %s %s\n",
		mr->stag, mr->pdn, (uint64_t)mr->reg_iova, (uint64_t)mr->length, mr->mem.npages,
		mr->mem.page_shift, mr->access, mr->type == MR_TYPE_FAST ? "fast" : "plain",
		mr->valid ? "valid" : "invalid");
}

/* ADDRESS:PORT, an IPv6 address in brackets (RFC 3986 3.2.2) */
static const char *socket_name(const struct ip_addr *a, uint16_t port, char *buf, size_t size)
{
	bool v6 = a->family == IP_V6;
	char text[INET6_ADDRSTRLEN];

	inet_ntop(v6 ? AF_INET6 : AF_INET, a->b, text, sizeof(text));
	snprintf(buf, size, "%s%s%s:%u", v6 ? "[" : "", text, v6 ? "]" : "", port);
	return buf;
}

static void dump_conn(void *arg, struct rnic_conn *c)
{
	static const char *const state[] = {"?",    "opening", "streaming",
					    "rdma", "closing", "ended"};
	char local[64], remote[64];
	struct tcp_conn_info i;

	tcp_conn_info(c->tcp, &i);
	fprintf(arg,
		"conn %u: %s %s %s %s qp %u nexthop %u mss %u una %u nxt %u wnd %u "
		"cwnd %u rcv %u rcv_wnd %u queued %u held %u rtx %" PRIu64 " events %u\n",
		c->id, state[c->state], tcp_state_name(i.state),
		socket_name(&i.tuple.local, i.tuple.lport, local, sizeof(local)),
		socket_name(&i.tuple.remote, i.tuple.rport, remote, sizeof(remote)), c->qpn,
		i.nexthop, i.emss, i.snd_una, i.snd_nxt, i.snd_wnd, i.snd_cwnd, i.rcv_nxt,
		i.rcv_wnd, i.queued, i.held, (uint64_t)i.stats.rtx_segs, c->nev);
}

static const char *cmd_state(struct ctl *ctl, char *args, FILE *out)
{
	struct rnic *dev = ctl->dev;

	fprintf(out, "device: vmm %s, bus master %s, status 0x%x, fatal %u, doorbells refused %u\n",
		vfu_is_attached(dev->vfu) ? "attached" : "none",
		dma_enabled(dev->dma) ? "on" : "off", dev->regs.status, dev->regs.fatal,
		dev->db_refused);
	nic_dump(dev, out);
	eq_each(dev, dump_eq, out);
	mr_each(dev, dump_mr, out);
	conn_each(dev, dump_conn, out);
	iw_dump(dev, out);
	return NULL;
}

/* ---- capture ---- */

static void pcap_stop(struct ctl *ctl, FILE *out)
{
	int ret;

	wire_set_capture(ctl->dev->wire, NULL);
	fprintf(out, "frames %" PRIu64 "\n", (uint64_t)pcap_written(ctl->pcap));
	ret = pcap_close(ctl->pcap);
	ctl->pcap = NULL;
	if (ret)
		fprintf(out, "the file is not whole: %s\n", strerror(-ret));
}

static const char *cmd_pcap(struct ctl *ctl, char *args, FILE *out)
{
	if (!*args)
		return "give a file name, or stop";
	if (ctl->pcap)
		pcap_stop(ctl, out);
	else if (!strcmp(args, "stop"))
		return "no capture is running";
	if (!strcmp(args, "stop"))
		return NULL;
	ctl->pcap = pcap_open(args, 0, 0);
	if (!ctl->pcap)
		return strerror(errno);
	wire_set_capture(ctl->dev->wire, ctl->pcap);
	return NULL;
}

/* ---- faults ---- */

static const char *cmd_link(struct ctl *ctl, char *args, FILE *out)
{
	if (strcmp(args, "up") && strcmp(args, "down"))
		return "say up or down";
	wire_set_link(ctl->dev->wire, !strcmp(args, "up"));
	return NULL;
}

static const char *cmd_fatal(struct ctl *ctl, char *args, FILE *out)
{
	if (!rnic_ready(ctl->dev))
		return "the device does not run";
	rnic_fatal(ctl->dev, ORNIC_FATAL_INJECTED);
	return NULL;
}

static bool parse_number(const char *s, u64 max, u64 *val)
{
	char *end;

	errno = 0;
	*val = strtoull(s, &end, 0);
	return !errno && end != s && !*end && *s != '-' && *val <= max;
}

static const char *cmd_drop_irq(struct ctl *ctl, char *args, FILE *out)
{
	u64 n;

	if (!parse_number(args, UINT64_MAX, &n))
		return "give the number of interrupts";
	ctl->dev->irq_drop = n;
	return NULL;
}

static const char *cmd_bad_crc(struct ctl *ctl, char *args, FILE *out)
{
	u64 n;

	if (!parse_number(args, UINT64_MAX, &n))
		return "give the number of FPDUs";
	ctl->dev->bad_crc = n;
	return NULL;
}

static const char *cmd_cmdq(struct ctl *ctl, char *args, FILE *out)
{
	if (strcmp(args, "stuck") && strcmp(args, "run"))
		return "say stuck or run";
	ctl->dev->cmdq_stuck = !strcmp(args, "stuck");
	cmdq_run(ctl->dev);
	return NULL;
}

static const char *cmd_removed(struct ctl *ctl, char *args, FILE *out)
{
	if (strcmp(args, "yes") && strcmp(args, "no"))
		return "say yes or no";
	vfu_set_removed(ctl->dev->vfu, !strcmp(args, "yes"));
	return NULL;
}

static const char *set_permille(u32 *to, const char *args)
{
	u64 n;

	if (!parse_number(args, 1000, &n))
		return "give a number from 0 to 1000";
	*to = (u32)n;
	return NULL;
}

static const char *cmd_loss(struct ctl *ctl, char *args, FILE *out)
{
	return set_permille(&ctl->dev->rx_faults.loss, args);
}

static const char *cmd_corrupt(struct ctl *ctl, char *args, FILE *out)
{
	return set_permille(&ctl->dev->rx_faults.corrupt, args);
}

static const char *cmd_reorder(struct ctl *ctl, char *args, FILE *out)
{
	return set_permille(&ctl->dev->rx_faults.reorder, args);
}

static const char *cmd_delay(struct ctl *ctl, char *args, FILE *out)
{
	char *ms = strchr(args, ' ');
	u64 val = DELAY_MS_DEFAULT;

	if (ms)
		*ms++ = 0;
	if (ms && (!parse_number(ms, DELAY_MS_MAX, &val) || !val))
		return "give a time from 1 to 10000 ms";
	ctl->dev->rx_faults.delay_ms = (u32)val;
	return set_permille(&ctl->dev->rx_faults.delay, args);
}

/* ---- table ---- */

static const struct ctl_cmd cmds[] = {
	{"help", "", "this list", cmd_help},
	{"stats", "", "all counters, a name and a number per line", cmd_stats},
	{"state", "", "port, queues, memory regions, connections, one per line", cmd_state},
	{"pcap", "FILE|stop", "capture the wire to FILE", cmd_pcap},
	{"link", "up|down", "take the Ethernet link away", cmd_link},
	{"loss", "N", "lose N of 1000 frames from the wire", cmd_loss},
	{"corrupt", "N", "change a byte in N of 1000 frames from the wire", cmd_corrupt},
	{"reorder", "N", "let the next frame overtake N of 1000 frames from the wire", cmd_reorder},
	{"delay", "N [MS]", "let N of 1000 frames from the wire come MS (20) milliseconds late",
	 cmd_delay},
	{"bad-crc", "N", "send the next N FPDUs with a wrong CRC", cmd_bad_crc},
	{"fatal", "", "stop with a fatal error until the driver resets the device", cmd_fatal},
	{"drop-irq", "N", "swallow the next N interrupts", cmd_drop_irq},
	{"cmdq", "stuck|run", "execute no commands, or go on", cmd_cmdq},
	{"removed", "yes|no", "answer like a device that was pulled out: reads give all-ones",
	 cmd_removed},
};

static const char *cmd_help(struct ctl *ctl, char *args, FILE *out)
{
	char what[32];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cmds); i++) {
		snprintf(what, sizeof(what), "%s %s", cmds[i].name, cmds[i].args);
		fprintf(out, "%-16s %s\n", what, cmds[i].help);
	}
	return NULL;
}

void ctl_command(struct ctl *ctl, char *line, FILE *out)
{
	const char *err = "unknown command; try help";
	size_t i, n = strlen(line);
	char *args;

	while (n && (line[n - 1] == '\r' || line[n - 1] == ' '))
		line[--n] = 0;
	args = strchr(line, ' ');
	if (args)
		*args++ = 0;
	else
		args = line + n;
	for (i = 0; i < ARRAY_SIZE(cmds); i++)
		if (!strcmp(line, cmds[i].name))
			err = cmds[i].fn(ctl, args, out);
	if (err)
		fprintf(out, "error: %s\n", err);
	else
		fprintf(out, "ok\n");
}
