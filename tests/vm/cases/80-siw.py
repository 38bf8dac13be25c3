# SPDX-License-Identifier: GPL-2.0-or-later
"""siw, the kernel's own software iWARP, built unchanged, as the far end of our RNIC.

siw is over virtio-net in both machines; see openrnic_lab/siw.py.
"""

from openrnic_lab.programs import PROGRAMS
from openrnic_lab.siw import far, late, ours, pair, siw
from openrnic_lab.testing import succeeds

RIG = "two"
TIMEOUT = 240


def rping(rig, server_end, server, client_end, client, address, options):
    """rping with server and client each in the namespace that is asked for."""
    return pair(rig, server_end, server(f"rping -s -a {address} {options}"),
                client_end, client(f"rping-rounds -a {address} {options}"), 20)


def test_rping(rig):
    """rping in both roles, in both machines, small and large messages."""
    with siw(rig), late(rig, 1, 2):
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
