/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writer of capture files (pcap, nanoseconds, Ethernet) that tshark reads. */
#ifndef RNICD_BASE_PCAP_H
#define RNICD_BASE_PCAP_H

#include <sys/uio.h>

#include "base/util.h"

struct pcap;

/**
 * pcap_open() - create a capture file.
 * @path: truncated if it exists.
 * @snaplen: bytes kept of each frame, 0 for all.
 * @max_bytes: the file never grows beyond this, 0 for no limit; later frames
 *	are counted, not written.
 * Return: the writer, or NULL with errno set.
 */
struct pcap *pcap_open(const char *path, u32 snaplen, u64 max_bytes);
/* Flushes. Returns 0 or the first -errno that any write met. */
int pcap_close(struct pcap *p);
/* Hand buffered frames to the kernel; 0 or -errno. */
int pcap_flush(struct pcap *p);
/* @ns: CLOCK_REALTIME in nanoseconds, 0 for now. Errors are kept for close. */
void pcap_write(struct pcap *p, u64 ns, const struct iovec *iov, int n);
u64 pcap_written(const struct pcap *p);
u64 pcap_dropped(const struct pcap *p);

#endif /* RNICD_BASE_PCAP_H */
