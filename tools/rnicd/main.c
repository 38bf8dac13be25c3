// SPDX-License-Identifier: GPL-2.0-or-later
/* rnicd: the RNIC as a process. Command line, signals, and the life of the device. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "ctl/ctl.h"
#include "hw/dev.h"

#define RNICD_VERSION "1.0.0"

#define DB_STRIDE_DEFAULT 4096u
#define DB_PAGES_DEFAULT  1024u
#define DB_PAGES_MAX	  65536u

struct options {
	const char *socket;
	const char *control;
	struct rnic_config cfg;
	bool have_mac;
};

static const char usage[] =
	"Usage: rnicd --socket PATH --wire WIRE --mac MAC [OPTION]...\n"
	"An RNIC for one virtual machine: serves a PCI function to QEMU's vfio-user-pci device.\n"
	"\n"
	"  --socket PATH     socket that QEMU connects to\n"
	"  --wire WIRE       where the Ethernet port leads:\n"
	"                      dgram:local=PATH,remote=PATH[,mtu=N]   datagram sockets (QEMU's -netdev dgram)\n"
	"                      tap:NAME[,mtu=N]                       a tap interface\n"
	"                      packet:IFNAME[,mtu=N]                  a network interface of this machine\n"
	"                      null                                   nowhere: a cable that is cut\n"
	"  --mac MAC         Ethernet address, as 02:00:00:00:00:01\n"
	"  --control PATH    control socket; see rnicctl\n"
	"  --db-stride N     bytes between doorbell pages: 4096 (default) .. 65536, a power of two.\n"
	"                    Not less than the guest's page size.\n"
	"  --db-pages N      doorbell pages: 2 .. 65536, a power of two (default 1024)\n"
	"  --mtu-max N       greatest MTU that the driver may set (default: the wire's)\n"
	"  --log LEVEL       error, warning, info (default) or debug\n"
	"  -h, --help, --version\n";

enum {
	OPT_SOCKET = 256,
	OPT_WIRE,
	OPT_MAC,
	OPT_CONTROL,
	OPT_DB_STRIDE,
	OPT_DB_PAGES,
	OPT_MTU_MAX,
	OPT_LOG,
	OPT_HELP,
	OPT_VERSION,
};

static const struct option long_options[] = {
	{"socket", required_argument, NULL, OPT_SOCKET},
	{"wire", required_argument, NULL, OPT_WIRE},
	{"mac", required_argument, NULL, OPT_MAC},
	{"control", required_argument, NULL, OPT_CONTROL},
	{"db-stride", required_argument, NULL, OPT_DB_STRIDE},
	{"db-pages", required_argument, NULL, OPT_DB_PAGES},
	{"mtu-max", required_argument, NULL, OPT_MTU_MAX},
	{"log", required_argument, NULL, OPT_LOG},
	{"help", no_argument, NULL, OPT_HELP},
	{"version", no_argument, NULL, OPT_VERSION},
	{NULL, 0, NULL, 0},
};

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "rnicd: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	exit(2);
}

/* A path that a socket can have. */
static const char *parse_path(const char *option, const char *s)
{
	size_t max = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;

	if (!*s)
		die("%s: the path is empty", option);
	if (strlen(s) > max)
		die("%s: the path is longer than the %zu bytes that a socket's may have", option,
		    max);
	return s;
}

static u32 parse_number(const char *option, const char *s, u32 min, u32 max, bool power)
{
	unsigned long v;
	char *end;

	errno = 0;
	v = strtoul(s, &end, 0);
	if (errno || end == s || *end || *s == '-' || v < min || v > max ||
	    (power && !is_power_of_2(v)))
		die("%s: \"%s\" is not %s from %u to %u", option, s,
		    power ? "a power of two" : "a number", min, max);
	return (u32)v;
}

static void parse_mac(const char *s, u8 mac[6])
{
	static const u8 zero[6];
	unsigned int b[6], i;
	int n = 0;

	if (sscanf(s, "%2x:%2x:%2x:%2x:%2x:%2x%n", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5], &n) !=
		    6 ||
	    s[n] || n != 17)
		die("--mac: \"%s\" is not six bytes like 02:00:00:00:00:01", s);
	for (i = 0; i < 6; i++)
		mac[i] = (u8)b[i];
	if (mac[0] & 1 || !memcmp(mac, zero, 6))
		die("--mac: %s is not the address of one station (multicast or zero)", s);
}

static void parse_log(const char *s)
{
	enum log_level level;

	if (log_parse_level(s, &level))
		die("--log: \"%s\" is none of error, warning, info, debug", s);
	log_set_level(level);
}

static void parse_option(struct options *o, int c)
{
	switch (c) {
	case OPT_SOCKET:
		o->socket = parse_path("--socket", optarg);
		break;
	case OPT_WIRE:
		o->cfg.wire = optarg;
		break;
	case OPT_MAC:
		parse_mac(optarg, o->cfg.mac);
		o->have_mac = true;
		break;
	case OPT_CONTROL:
		o->control = parse_path("--control", optarg);
		break;
	case OPT_DB_STRIDE:
		o->cfg.db_stride_shift =
			(u8)ilog2(parse_number("--db-stride", optarg, 4096, 65536, true));
		break;
	case OPT_DB_PAGES:
		o->cfg.db_pages = parse_number("--db-pages", optarg, 2, DB_PAGES_MAX, true);
		break;
	case OPT_MTU_MAX:
		o->cfg.mtu_max =
			parse_number("--mtu-max", optarg, WIRE_MTU_MIN, WIRE_MTU_MAX, false);
		break;
	case OPT_LOG:
		parse_log(optarg);
		break;
	case 'h':
	case OPT_HELP:
		fputs(usage, stdout);
		exit(0);
	case OPT_VERSION:
		puts("rnicd " RNICD_VERSION);
		exit(0);
	default:
		die("try --help");
	}
}

static void parse_options(struct options *o, int argc, char **argv)
{
	int c;

	o->cfg.db_stride_shift = (u8)ilog2(DB_STRIDE_DEFAULT);
	o->cfg.db_pages = DB_PAGES_DEFAULT;
	while ((c = getopt_long(argc, argv, "h", long_options, NULL)) != -1)
		parse_option(o, c);
	if (optind < argc)
		die("unexpected argument \"%s\"; try --help", argv[optind]);
	if (!o->socket)
		die("--socket is missing; try --help");
	if (!o->cfg.wire)
		die("--wire is missing; try --help");
	if (!o->have_mac)
		die("--mac is missing; try --help");
}

struct stopper {
	struct loop *loop;
	struct loop_fd lf;
};

static void stop_cb(struct loop_fd *lf, u32 events)
{
	struct stopper *s = container_of(lf, struct stopper, lf);

	loop_stop(s->loop);
}

static void watch_signals(struct stopper *s, struct loop *loop)
{
	sigset_t set;
	int fd;

	signal(SIGPIPE, SIG_IGN);
	/* A capture, or the log, that may not grow is an error of write(), not our end. */
	signal(SIGXFSZ, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	s->loop = loop;
	if (fd < 0 || loop_fd_add(loop, &s->lf, fd, EPOLLIN, stop_cb))
		die("signals cannot be watched: %s", strerror(errno));
}

static int serve(const struct options *o, struct loop *loop, struct rnic *dev)
{
	struct ctl *ctl = NULL;
	int ret;

	ret = vfu_listen(dev->vfu, o->socket);
	if (ret) {
		log_err("--socket: %s: %s", o->socket, strerror(-ret));
		return ret;
	}
	if (o->control) {
		ctl = ctl_new(dev, o->control);
		if (!ctl) {
			ret = -errno;
			log_err("--control: %s: %s", o->control, strerror(errno));
			return ret;
		}
	}
	log_info("serving on %s, wire %s, MTU up to %u", o->socket, o->cfg.wire, dev->cfg.mtu_max);
	ret = loop_run(loop);
	if (ret)
		log_err("event loop: %s", strerror(-ret));
	ctl_free(ctl);
	return ret;
}

int main(int argc, char **argv)
{
	struct options o = {0};
	struct stopper stopper = {0};
	char err[256] = "";
	struct loop *loop;
	struct rnic *dev;
	int ret;

	log_set_program("rnicd");
	parse_options(&o, argc, argv);
	loop = loop_new(NULL);
	if (!loop)
		die("no event loop: %s", strerror(errno));
	watch_signals(&stopper, loop);
	if (dma_sigbus_guard())
		die("SIGBUS cannot be caught: %s", strerror(errno));
	dev = rnic_new(loop, &o.cfg, err, sizeof(err));
	if (!dev) {
		/* what is asked for makes no sense, or cannot be had now */
		if (errno == EINVAL || errno == ENAMETOOLONG)
			die("%s", err);
		log_err("%s", err);
		return 1;
	}
	ret = serve(&o, loop, dev);
	rnic_free(dev);
	loop_fd_del(&stopper.lf);
	close(stopper.lf.fd);
	loop_free(loop);
	return ret ? 1 : 0;
}
