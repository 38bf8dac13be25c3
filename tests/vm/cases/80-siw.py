# SPDX-License-Identifier: GPL-2.0-or-later
"""siw as the foreign far end: our RNIC in one machine, siw over virtio-net in the other.

siw is the kernel's own software iWARP, built unchanged.  In each machine it runs in a
network namespace "far" with the address 10.0.0.(10 + number), on the RNICs' bridge, so that
the RNIC and siw of one machine never compete for a connection.

Our side does not ask for a ready-to-receive message here (devlink parameter peer_to_peer):
siw as the responder loses one that comes before siw_accept() has exchanged its socket's
callback, and then runs into a BUG_ON of the kernel's iw_cm when that connection ends.
"""

import time

from openrnic_lab.testing import check, succeeds

RIG = "two"
TIMEOUT = 240

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


def far(command):
    """A command in the namespace of siw."""
    return f"ip netns exec far {command}"


def rping(rig, server_end, server, client_end, client, address, options):
    """rping with server and client each in the namespace that is asked for."""
    job = rig.spawn(server_end, server(f"rping -s -a {address} {options}"))
    time.sleep(rig.slowness)
    result = rig.run(client_end, client(f"timeout {90 * rig.slowness} rping -c -a {address} {options}"))
    if not result:
        rig.run(server_end, "pkill -9 -x rping")
    # 255 when the server sees the flushed receive before the disconnect event
    check(job.wait().code in (0, 255) or not result, "rping's server ends")
    return result


def ours(command):
    """A command in the namespace of the RNIC."""
    return command


def test_rping(rig):
    """rping in both roles, in both machines, small and large messages."""
    try:
        for number in (1, 2):
            succeeds(rig.run(number, SETUP.format(number=number)), f"siw is up in vm{number}")
        for near, away in ((1, 2), (2, 1)):
            for options in ("-V -C 100", "-V -C 10 -S 65535"):
                client = rping(rig, away, far, near, ours, f"10.0.0.1{away}", options)
                succeeds(client, f"rping {options}: RNIC of vm{near} connects to siw of vm{away}")
                client = rping(rig, near, ours, away, far, f"10.0.0.{near}", options)
                succeeds(client, f"rping {options}: siw of vm{away} connects to RNIC of vm{near}")
    finally:
        for number in (1, 2):
            rig.run(number, TEARDOWN.format(number=number))


def test_perftest(rig):
    """Bandwidth programs, the far end siw, in both roles."""
    try:
        for number in (1, 2):
            succeeds(rig.run(number, SETUP.format(number=number)), f"siw is up in vm{number}")
        device = rig.vm(1).check(". /run/rig; echo $RDMA1").strip()
        for program in ("ib_write_bw", "ib_read_bw", "ib_send_bw"):
            arguments = "-R -F -s 65536 -n 50"
            server = rig.spawn(2, far(f"{program} -d siw0 {arguments}"))
            time.sleep(1.5 * rig.slowness)
            succeeds(rig.run(1, f"{program} -d {device} {arguments} 10.0.0.12"),
                     f"{program}: RNIC to siw")
            check(server.wait().code == 0, "its server ends without error")
            server = rig.spawn(1, f"{program} -d {device} {arguments}")
            time.sleep(1.5 * rig.slowness)
            succeeds(rig.run(2, far(f"{program} -d siw0 {arguments} 10.0.0.1")),
                     f"{program}: siw to RNIC")
            check(server.wait().code == 0, "its server ends without error")
    finally:
        for number in (1, 2):
            rig.run(number, TEARDOWN.format(number=number))
