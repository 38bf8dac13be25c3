# SPDX-License-Identifier: GPL-2.0-or-later
"""siw as the foreign far end: our RNIC in one machine, siw over virtio-net in the other.

siw is the kernel's own software iWARP, built unchanged.  In each machine it runs in a
network namespace "far" with the address 10.0.0.(10 + number), on the RNICs' bridge, so that
the RNIC and siw of one machine never compete for a connection.

siw as the responder has a race: a first message that comes after its MPA reply but before
siw_accept() has exchanged its socket's callback stays in the socket unseen (the wire shows it
acknowledged and never answered). So a connection to siw may hang through no fault of the
initiator, and is tried again, up to ATTEMPTS times. When the message was a ready-to-receive
one, the end of the connection then is a BUG() in the kernel's iw_cm; so our side does not ask
for these here (devlink parameter peer_to_peer).
"""

import contextlib

from openrnic_lab.programs import END, PROGRAMS
from openrnic_lab.testing import check, serve, succeeds

RIG = "two"
TIMEOUT = 240
ATTEMPTS = 6

SETUP = """
set -e
[ -e /run/netns/far ] && exit 0
modprobe siw
. /run/rig
function=$(basename $(readlink /sys/class/net/$NETDEV{number}/device))
devlink dev param set pci/$function name peer_to_peer value false cmode runtime
ip netns add far
ip link set $VIRTIO netns far
ip -n far link set lo up
ip -n far addr add 10.0.0.1{number}/24 dev $VIRTIO
ip -n far link set $VIRTIO up
ip netns exec far rdma link add siw0 type siw netdev $VIRTIO
"""
TEARDOWN = """
. /run/rig 2> /dev/null
rdma link delete siw0
ip netns del far
function=$(basename $(readlink /sys/class/net/$NETDEV{number}/device))
devlink dev param set pci/$function name peer_to_peer value true cmode runtime
sleep 1
modprobe -r siw
exit 0
"""


@contextlib.contextmanager
def siw(rig):
    """siw in both machines."""
    try:
        for number in (1, 2):
            succeeds(rig.run(number, SETUP.format(number=number)), f"siw is up in vm{number}")
        yield
    finally:
        for number in (1, 2):
            rig.run(number, TEARDOWN.format(number=number))


def far(command):
    """A command in the namespace of siw."""
    return f"ip netns exec far {command}"


def pair(rig, server_end, server, client_end, client, seconds, stays=False):
    """One server and one client program; the client's Result.  A client that hangs is tried
    again if its server is siw's.  A server that stays is ended."""
    for attempt in range(1, ATTEMPTS + 1):
        job = serve(rig, server_end, server)
        result = rig.run(client_end, f"timeout {seconds * rig.slowness} {client}")
        if result:
            if stays:
                rig.run(server_end, END)
            # rping's server ends with 255 when it sees the flushed receive first
            check(job.wait().code in (0, 255) or stays, "its server ends")
            return result
        rig.run(server_end, END)
        job.wait()
        if result.code != 124 or not server.startswith(far("")):
            return result
        print(f"    siw did not see the first message, attempt {attempt}", flush=True)
    return result


def rping(rig, server_end, server, client_end, client, address, options):
    """rping with server and client each in the namespace that is asked for."""
    return pair(rig, server_end, server(f"rping -s -a {address} {options}"),
                client_end, client(f"rping -c -a {address} {options}"), 20)


def ours(command):
    """A command in the namespace of the RNIC."""
    return command


def test_rping(rig):
    """rping in both roles, in both machines, small and large messages."""
    with siw(rig):
        for near, away in ((1, 2), (2, 1)):
            for options in ("-V -C 100", "-V -C 10 -S 65535"):
                client = rping(rig, away, far, near, ours, f"10.0.0.1{away}", options)
                succeeds(client, f"rping {options}: RNIC of vm{near} connects to siw of vm{away}")
                client = rping(rig, near, ours, away, far, f"10.0.0.{near}", options)
                succeeds(client, f"rping {options}: siw of vm{away} connects to RNIC of vm{near}")


def test_perftest(rig):
    """Bandwidth programs, the far end siw, its server.

    The other role is rping's alone: perftest's server closes its listener between its two
    connections, and a client on siw comes back before it listens again.
    """
    with siw(rig):
        device = rig.vm(1).check(". /run/rig; echo $RDMA1").strip()
        for program in ("ib_write_bw", "ib_read_bw", "ib_send_bw"):
            arguments = "-R -F -s 65536 -n 50"
            near, away = f"{program} -d {device} {arguments}", f"{program} -d siw0 {arguments}"
            succeeds(pair(rig, 2, far(away), 1, f"{near} 10.0.0.12", 40),
                     f"{program}: RNIC to siw")


def test_utilities(rig):
    """rdmacm-utils, and sockets over RDMA, in both roles.

    siw as the initiator sends no ready-to-receive message, so our responder may not send before
    siw has (RFC 5044 7.1.2), and a program of which the server speaks first waits for ever.
    """
    with siw(rig):
        for where, away, address, here, near in ((2, far, "10.0.0.12", 1, ours),
                                                 (1, ours, "10.0.0.1", 2, far)):
            for program in PROGRAMS:
                if program.speaks and near is far:
                    continue
                client = near(program.client.format(address=address))
                succeeds(pair(rig, where, away(program.server), here, client, 60, program.stays),
                         f"{program.name}: {'RNIC to siw' if away is far else 'siw to RNIC'}")
                if program.proof:
                    succeeds(rig.run(where, program.proof), "the server has what was sent")
