/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lwIP as a library in one thread, with its raw interface; packets have no link layer. TCP has all
 * the options that lwIP knows.
 */
#ifndef TESTS_WIRE_LWIP_OPTS_H
#define TESTS_WIRE_LWIP_OPTS_H

#define NO_SYS		     1
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_NETCONN	     0
#define LWIP_SOCKET	     0
#define LWIP_ARP	     0
#define LWIP_ETHERNET	     0
#define LWIP_UDP	     0
#define LWIP_STATS	     0
#define IP_REASSEMBLY	     0
#define IP_FRAG		     0
#define MEM_LIBC_MALLOC	     1
#define MEMP_MEM_MALLOC	     1
#define MEM_ALIGNMENT	     8
#define MEMP_NUM_SYS_TIMEOUT 16

#define LWIP_IPV6		      1
#define LWIP_IPV6_MLD		      0
#define LWIP_IPV6_DUP_DETECT_ATTEMPTS 0
#define LWIP_IPV6_SEND_ROUTER_SOLICIT 0
#define LWIP_IPV6_AUTOCONFIG	      0
#define LWIP_IPV6_FRAG		      0
#define LWIP_IPV6_REASS		      0

#define TCP_MSS		    1460
#define TCP_WND		    262144
#define LWIP_WND_SCALE	    1
#define TCP_RCV_SCALE	    3
#define TCP_SND_BUF	    262144
#define TCP_SND_QUEUELEN    1000
#define TCP_SNDLOWAT	    32768
#define LWIP_TCP_SACK_OUT   1
#define LWIP_TCP_TIMESTAMPS 1

#endif
