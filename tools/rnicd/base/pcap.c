// SPDX-License-Identifier: GPL-2.0-or-later
/* Classic pcap with nanosecond time stamps, in host byte order as the format allows. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/pcap.h"

#define PCAP_MAGIC_NS	   0xa1b23c4d
#define PCAP_LINK_ETHERNET 1
#define PCAP_SNAPLEN_MAX   262144
#define PCAP_BUFFER	   (256 * 1024)

struct pcap_file_hdr {
	u32 magic;
	u16 major;
	u16 minor;
	u32 thiszone;
	u32 sigfigs;
	u32 snaplen;
	u32 linktype;
};

struct pcap_rec_hdr {
	u32 sec;
	u32 nsec;
	u32 caplen;
	u32 len;
};

struct pcap {
	FILE *f;
	u32 snaplen;
	u64 max_bytes;
	u64 bytes;
	u64 written;
	u64 dropped;
	int err;
};

static void pcap_put(struct pcap *p, const void *buf, size_t len)
{
	if (p->err || !len)
		return;
	if (fwrite(buf, 1, len, p->f) != len)
		p->err = errno ? -errno : -EIO;
	p->bytes += len;
}

/* Neither a pipe without a reader nor one that is full may hold us up. */
static FILE *pcap_create(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666), err;
	FILE *f;

	if (fd < 0)
		return NULL;
	f = fdopen(fd, "w");
	if (!f) {
		err = errno;
		close(fd);
		errno = err;
	}
	return f;
}

struct pcap *pcap_open(const char *path, u32 snaplen, u64 max_bytes)
{
	struct pcap_file_hdr hdr = {
		.magic = PCAP_MAGIC_NS,
		.major = 2,
		.minor = 4,
		.linktype = PCAP_LINK_ETHERNET,
	};
	struct pcap *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return NULL;
	p->f = pcap_create(path);
	if (!p->f) {
		err = errno;
		free(p);
		errno = err;
		return NULL;
	}
	setvbuf(p->f, NULL, _IOFBF, PCAP_BUFFER);
	p->snaplen = snaplen ? min_t(u32, snaplen, PCAP_SNAPLEN_MAX) : PCAP_SNAPLEN_MAX;
	p->max_bytes = max_bytes;
	hdr.snaplen = p->snaplen;
	pcap_put(p, &hdr, sizeof(hdr));
	return p;
}

int pcap_flush(struct pcap *p)
{
	if (fflush(p->f) && !p->err)
		p->err = -errno;
	return p->err;
}

int pcap_close(struct pcap *p)
{
	int err;

	if (!p)
		return 0;
	err = p->err;
	if (fclose(p->f) && !err)
		err = -errno;
	free(p);
	return err;
}

static u64 realtime_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (u64)ts.tv_sec * NSEC_PER_SEC + (u64)ts.tv_nsec;
}

void pcap_write(struct pcap *p, u64 ns, const struct iovec *iov, int n)
{
	struct pcap_rec_hdr hdr;
	size_t left;
	u64 len = 0;
	int i;

	if (!ns)
		ns = realtime_ns();
	for (i = 0; i < n; i++)
		len += iov[i].iov_len;
	hdr.sec = (u32)(ns / NSEC_PER_SEC);
	hdr.nsec = (u32)(ns % NSEC_PER_SEC);
	hdr.len = (u32)min_t(u64, len, UINT32_MAX);
	hdr.caplen = min(hdr.len, p->snaplen);
	if (p->err ||
	    (p->max_bytes && !range_ok(p->bytes, sizeof(hdr) + hdr.caplen, p->max_bytes))) {
		p->dropped++;
		return;
	}
	pcap_put(p, &hdr, sizeof(hdr));
	left = hdr.caplen;
	for (i = 0; i < n && left; i++) {
		size_t now = min(left, iov[i].iov_len);

		pcap_put(p, iov[i].iov_base, now);
		left -= now;
	}
	p->written++;
}

u64 pcap_written(const struct pcap *p)
{
	return p->written;
}

u64 pcap_dropped(const struct pcap *p)
{
	return p->dropped;
}
