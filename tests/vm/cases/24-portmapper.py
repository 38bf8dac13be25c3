# SPDX-License-Identifier: GPL-2.0-or-later
"""The iWARP port mapper, iwpmd, in both machines."""

from openrnic_lab.testing import check, serve, succeeds

RIG = "two"
TIMEOUT = 240
PORT = 7180


def mapper(rig, end):
    """Starts iwpmd and waits until it is ready: it has its UDP port.

    It must not preempt who asks it: ib_core's iwpm_register_pid() sends its question before it has
    noted what the answer needs, and dies of a NULL pointer if the answer is quicker.
    """
    succeeds(rig.run(end, "chrt --idle 0 iwpmd && for n in $(seq 50); do ss -Hlun 'sport = :3935' | grep -q . && "
                          "exit 0; sleep 0.1; done; exit 1"), f"iwpmd runs at end {end}")


def test_both(rig):
    """Connections in both directions; the ports are those that were asked for."""
    try:
        for end in (1, 2):
            mapper(rig, end)
        for here, there in ((1, 2), (2, 1)):
            address = rig.address(there)
            server = serve(rig, there, f"rping -s -a {address} -p {PORT} -C 10 -V")
            output = rig.run(there, "rdma resource show cm_id").output
            check(f"src-addr {address}:{PORT}" in output, "it listens on the port")
            succeeds(rig.run(here, f"rping-rounds -a {address} -p {PORT} -C 10 -V"),
                     f"rping from end {here}")
            check(server.wait().code in (0, 255), "its server ends")
        held = rig.spawn(2, f"exec iperf3 -s -p {PORT}")
        held.wait_for("listening", 30 * rig.slowness)
        taken = rig.run(2, f"timeout {20 * rig.slowness} rping -s -a {rig.address(2)} -p {PORT} -C 1")
        check(taken.code not in (0, 124), "a port that the host's TCP has is not given to RDMA")
        for end in (1, 2):
            succeeds(rig.run(end, "pidof iwpmd"), f"iwpmd still runs at end {end}")
    finally:
        for end in (1, 2):
            rig.run(end, "pkill -9 -x 'iwpmd|iperf3'; rm -f /run/iwpmd.pid")
