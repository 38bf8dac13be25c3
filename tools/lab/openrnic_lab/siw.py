# SPDX-License-Identifier: GPL-2.0-or-later
"""siw as the foreign far end, in the machines of rig "two".

It runs in a network namespace "far" with the address 10.0.0.(10 + number of the machine), on the
RNICs' bridge, so that the RNIC and siw of one machine never compete for a connection.

siw as the responder has a race: a first message that comes after its MPA reply but before
siw_accept() has exchanged its socket's callback stays in the socket unseen (the wire shows it
acknowledged and never answered). So a connection to siw may hang through no fault of the
initiator, and is tried again, up to ATTEMPTS times; where late() holds the reply back on its way
that is seldom needed. When the message was a ready-to-receive one, the end of the connection
then is a BUG() in the kernel's iw_cm; so our side does not ask for these here (devlink parameter
peer_to_peer).
"""

import contextlib
import shutil

from .common import tool
from .programs import END
from .testing import check, serve, succeeds

ATTEMPTS = 6
LATE_MS = 5
KILLED = 124            # what timeout(1) says of a program that it ended
POLICY = {"peer_to_peer": "true", "mpa_crc": "true", "mpa_rev": "2"}    # of our driver, by default

UNCHANGED = "modprobe siw"
WITH_PARAMETERS = "modprobe -q libcrc32c; insmod /lab/siw-params.ko"

SETUP = """
set -e
. /run/rig
{load}
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
sleep 1
modprobe -r siw
exit 0
"""


def policy(rig, number, **values):
    """Sets devlink parameters of the RNIC in one machine."""
    lines = [f". /run/rig; function=$(basename $(readlink /sys/class/net/$NETDEV{number}/device))"]
    lines += [f"devlink dev param set pci/$function name {name} value {value} cmode runtime"
              for name, value in values.items()]
    return rig.run(number, " &&\n".join(lines))


def add_parameters(rig):
    """The siw that has its policy as module parameters, for load=WITH_PARAMETERS."""
    shutil.copy(tool("siw-params", rig.kernel), rig.share / "siw-params.ko")


@contextlib.contextmanager
def siw(rig, numbers=(1, 2), load=UNCHANGED):
    """siw in these machines, and no ready-to-receive messages of ours."""
    try:
        for number in (1, 2):
            succeeds(policy(rig, number, peer_to_peer="false"), f"RNIC of vm{number}: no RTR message")
        for number in numbers:
            succeeds(rig.run(number, SETUP.format(number=number, load=load)),
                     f"siw is up in vm{number}")
        yield
    finally:
        for number in numbers:
            rig.run(number, TEARDOWN)
        for number in (1, 2):
            policy(rig, number, **POLICY)


@contextlib.contextmanager
def late(rig, *numbers):
    """What is sent to these RNICs comes later, so that siw has seen to its socket when they answer."""
    try:
        for number in numbers:
            rig.nic(number).control(f"delay 1000 {LATE_MS * rig.slowness}")
        yield
    finally:
        for number in numbers:
            rig.nic(number).control("delay 0")


def far(command):
    """A command in the namespace of siw."""
    return f"ip netns exec far {command}"


def ours(command):
    """A command in the namespace of the RNIC."""
    return command


def again(attempt):
    """The Result of attempt(), which runs a client of siw's responder: of another one if it hangs."""
    for number in range(1, ATTEMPTS + 1):
        result = attempt()
        if result.code != KILLED:
            break
        print(f"    siw did not see the first message, attempt {number}", flush=True)
    return result


def pair(rig, server_end, server, client_end, client, seconds, stays=False):
    """One server and one client program; the client's Result.  A client that hangs is tried
    again if its server is siw's.  A server that stays is ended."""
    def attempt():
        job = serve(rig, server_end, server)
        result = rig.run(client_end, f"timeout {seconds * rig.slowness} {client}")
        if stays or not result:
            rig.run(server_end, END)
        # rping's server ends with 255 when it sees the flushed receive first
        code = job.wait().code
        check(code in (0, 255) or stays or not result, "its server ends")
        return result
    return again(attempt) if server.startswith(far("")) else attempt()
