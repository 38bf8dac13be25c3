# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs for a reliable connection, as people have them: a server and a client each."""

import dataclasses

# A program of sockets that is not told that they are rsockets. (Not iperf3: it uses select(), of which
# librspreload's gives the wrong descriptor when another one has the number that the rsocket has inside;
# and from 3.13 on it asks for socket options that rsockets do not have.)
PRELOAD = "env LD_PRELOAD=/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so"
TAKE = """python3 -c 'import socket, zlib
l = socket.create_server(("", 7480)); s = l.accept()[0]; f = s.makefile("rb"); data = f.read(2000000)
s.sendall(b"%d %d" % (len(data), zlib.crc32(data)))'"""
GIVE = """python3 -c 'import socket, zlib
data = bytes(i * 7 & 255 for i in range(2000000))
s = socket.create_connection(("{address}", 7480)); s.sendall(data)
assert s.recv(99) == b"%d %d" % (len(data), zlib.crc32(data))'"""

# Ends all that cases start in guests.
END = ("pkill -9 -x 'rping|iperf3|ping|ib_[a-z_]*|rdma_server|ucmatose|udaddy|rcopy|rstream|"
       "riostream|python3'")


@dataclasses.dataclass
class Program:
    """A pair of commands; {address} is the server's."""

    name: str
    server: str
    client: str
    proof: str = ""         # a command at the server's end, afterwards
    stays: bool = False     # the server does not end by itself
    speaks: bool = False    # the server sends first: the client's RNIC must have asked for that


def same(command, **more):
    """The client is the server's command with the server's address."""
    return Program(command, command, f"{command} -s {{address}}", **more)


# Not cmtime: it binds a TCP socket to the port that it listens on with RDMA, which reserves it.
PROGRAMS = (
    Program("rdma_client", "rdma_server", "rdma_client -s {address}"),
    same("ucmatose -c 8 -C 10 -S 2000", speaks=True),
    Program("rcopy", "rcopy", "rcopy /usr/bin/python3 {address}:/tmp/copy",
            "cmp /usr/bin/python3 /tmp/copy", stays=True),
    same("rstream -S 65536 -C 20 -I 5 -T v"),
    same("riostream -S 65536 -C 20 -I 5 -T v"),
    Program("Python's sockets as rsockets", f"{PRELOAD} {TAKE}", f"{PRELOAD} {GIVE}"),
)
