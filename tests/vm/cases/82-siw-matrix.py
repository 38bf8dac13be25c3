# SPDX-License-Identifier: GPL-2.0-or-later
"""siw and our RNIC under every policy: {CRC of ours on, off} x {CRC of siw required, not} x
{MPA revision 2, 1} x {MTU 1500, 9000} x {RNIC connects, siw connects}, all 32.

Our RNIC is in machine 1, siw in machine 2, built so that its policy can be set (siw-params).
What was agreed on is read from the wire: CRCs are used when either side has asked (RFC 5044
7.1.1), and the revision is the initiator's (RFC 6581 10). So is what was done, since rping's
client says success when its peer has disconnected. Some things are siw's own:

* As the responder it looks at mpa_crc_required only when the request asks for CRCs already, so
  it never asks for them by itself; and it takes both revisions, whatever its mpa_version.
* With mpa_crc_strict and without mpa_crc_required it refuses a peer that asks for CRCs.
* It tells its consumer that the initiator of a request of revision 1, which has no depths, takes
  no Reads. rping believes that unless it makes its own QP (-q).
"""

import contextlib
import dataclasses
import itertools
import re
import subprocess

from openrnic_lab.mpa import REPLY, REQUEST, connections, crc32c
from openrnic_lab.programs import END
from openrnic_lab.siw import (KILLED, WITH_PARAMETERS, add_parameters, again, far, late, ours,
                              policy, siw)
from openrnic_lab.testing import check, equal, serve, succeeds

RIG = "two"
TIMEOUT = 300
SECONDS = 10            # that a client may take
RNIC, SIW = "10.0.0.1", "10.0.0.12"
ENDS = {1: RNIC, 2: SIW}
SIZE = 20000
MESSAGES = ("-V -C 3", f"-V -C 1 -S {SIZE}")
SENDS = 2 * (3 + 1)     # of the client: two in each round
SEND = 3                # opcode of RDMAP


@dataclasses.dataclass(frozen=True)
class Policy:
    """Of one side."""

    crc: bool = True
    revision: int = 2
    strict: bool = False    # of siw: CRCs are not used when the peer wants them, but it is refused


def set_policy(rig, rnic, siws):
    """The policy of both sides, for connections made from now on."""
    result = policy(rig, 1, mpa_crc=str(rnic.crc).lower(), mpa_rev=rnic.revision)
    succeeds(result, f"policy of the RNIC: {rnic}")
    values = {"mpa_crc_required": int(siws.crc), "mpa_crc_strict": int(siws.strict),
              "mpa_version": siws.revision}
    script = " && ".join(f"echo {value} > {name}" for name, value in values.items())
    succeeds(rig.run(2, f"cd /sys/module/siw/parameters && {script}"), f"policy of siw: {siws}")


def set_mtu(rig, mtu):
    """The MTU of both sides."""
    script = f". /run/rig; ip link set $NETDEV1 mtu {mtu}"
    succeeds(rig.run(1, script), f"MTU {mtu} of the RNIC")
    script = f". /run/rig; ip -n far link set $VIRTIO mtu {mtu}"
    succeeds(rig.run(2, script), f"MTU {mtu} of siw")


@contextlib.contextmanager
def servers(rig):
    """siw with parameters in machine 2, and an rping on either side that serves whoever comes."""
    add_parameters(rig)
    with siw(rig, (2,), WITH_PARAMETERS), late(rig, 1):
        try:
            jobs = [serve(rig, end, where(f"rping -s -P -q -a {ENDS[end]} -S {SIZE}"),
                          TIMEOUT * rig.slowness) for end, where in ((1, ours), (2, far))]
            yield
            check(all(job.code is None for job in jobs), "both servers still serve")
        finally:
            for end in (1, 2):
                rig.run(end, END)
            set_mtu(rig, rig.mtu)


def connect(rig, end, messages):
    """rping from one end to the other, a connection for each kind of messages."""
    where, address = (ours, SIW) if end == 1 else (far, RNIC)
    script = " && ".join(f"timeout {SECONDS * rig.slowness} " +
                         where(f"rping -c -a {address} {options}") for options in messages)
    return again(lambda: rig.run(end, script)) if end == 1 else rig.run(end, script)


@contextlib.contextmanager
def capture(rig):
    """The file that has what the RNIC's wire carries meanwhile."""
    path = rig.dir / "siw.pcap"
    rig.nic(1).control(f"pcap {path.name}")
    try:
        yield path
    finally:
        rig.nic(1).control("pcap stop")


def agreed(connection, rnic, siws):
    """What must be in the request and in the reply: revision and bit C of each."""
    if connection.initiator == RNIC:
        return (rnic.revision, rnic.crc), (rnic.revision, rnic.crc)
    return (siws.revision, siws.crc), (siws.revision, siws.crc or rnic.crc)


def faults(connection, rnic, siws):
    """What is not as it must be in one connection."""
    request, reply = agreed(connection, rnic, siws)
    for stream, key, wanted, name in ((connection.request, REQUEST, request, "request"),
                                      (connection.reply, REPLY, reply, "reply")):
        if not stream.data.startswith(key):
            yield f"no {name}"
            continue
        if (stream.revision, stream.crc) != wanted:
            yield f"{name}: revision {stream.revision}, C {stream.crc}"
        for number, (fpdu, field) in enumerate(stream.fpdus()):
            # where CRCs are not used both sides send zero
            if field != (crc32c(fpdu) if reply[1] else bytes(4)):
                yield f"FPDU {number} behind the {name}, {len(fpdu)} bytes: CRC field {field.hex()}"


def judge(found, rnic, siws, mtu):
    """Connections of one initiator; gives the numbers of FPDUs, in all and with CRCs.

    The largest FPDU fills a segment; segments themselves may be in the capture as siw's machine
    handed them over, several in one (TSO).
    """
    wrong = [fault for one in found for fault in faults(one, rnic, siws)]
    check(len(found) >= len(MESSAGES) and not wrong,
          f"{len(found)} connections as agreed {'; '.join(wrong[:3])}")
    sends = sum(fpdu[3] & 15 == SEND for one in found for fpdu, _ in one.request.fpdus())
    check(sends >= SENDS, f"{sends} Sends of the initiator")
    lengths = [[len(fpdu) + 4 for one in found for fpdu, _ in getattr(one, side).fpdus()]
               for side in ("request", "reply")]
    largest = [max(some, default=0) for some in lengths]
    check(all(mtu - 100 < size <= mtu - 40 for size in largest), f"largest FPDUs: {largest}")
    count = sum(map(len, lengths))
    used = agreed(found[0], rnic, siws)[1][1]
    return count, count if used else 0


def dissects(path, fpdus):
    """tshark, which knows nothing of this project, finds as many FPDUs and CRCs, and no error."""
    text = subprocess.run(["tshark", "-r", path, "-O", "ip,tcp,iwarp_mpa,iwarp_ddp_rdmap",
                           "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"],
                          check=True, text=True, capture_output=True).stdout
    equal(re.findall(r".*(?:Malformed|Expert Info \(Error|Bad CRC32).*", text)[:5], [],
          "what tshark finds wrong")
    equal((text.count("ULPDU length:"), text.count("(Good CRC32)")), fpdus,
          "number of FPDUs that tshark finds, and of good CRCs")


def row(rig, rnic, siws, mtu, ends=(1, 2)):
    """Connections in one or both roles, and what the wire has of them."""
    set_policy(rig, rnic, siws)
    with capture(rig) as path:
        for end in ends:
            succeeds(connect(rig, end, MESSAGES), f"end {end} connects")
    found = connections(path)
    counts = [judge([one for one in found if one.initiator == ENDS[end]], rnic, siws, mtu)
              for end in ends]
    dissects(path, tuple(map(sum, zip(*counts))))


def refused(rig, end, rnic, siws, request, reply):
    """A connection that is refused at once; C and R of its request and of its reply, if any."""
    set_policy(rig, rnic, siws)
    with capture(rig) as path:
        result = connect(rig, end, MESSAGES[:1])
    check(result.code not in (0, KILLED), f"end {end} is refused ({result.output.strip()})")
    found = [(stream.crc, stream.reject) if stream.data else None
             for one in connections(path) for stream in (one.request, one.reply)]
    equal(found, [request, reply], "C and R of its request and reply")


def test_matrix(rig):
    """All 32 combinations."""
    with servers(rig):
        for mtu in (1500, 9000):
            set_mtu(rig, mtu)
            for revision, crc, siws_crc in itertools.product((2, 1), (True, False), (True, False)):
                row(rig, Policy(crc, revision), Policy(siws_crc, revision), mtu)


def test_revisions(rig):
    """The RNIC's revision is another than siw's: the initiator's is in force."""
    with servers(rig):
        row(rig, Policy(), Policy(revision=1), 1500)
        row(rig, Policy(revision=1), Policy(), 1500, (1,))
        refused(rig, 2, Policy(revision=1), Policy(), (True, False), None)


def test_strict(rig):
    """siw insists on no CRCs: whoever asks for them has an answer, and the next one is served."""
    strict = Policy(crc=False, strict=True)
    with servers(rig):
        refused(rig, 1, Policy(), strict, (True, False), (False, True))
        refused(rig, 2, Policy(), strict, (False, False), (True, False))
        row(rig, Policy(crc=False), strict, 1500)
        row(rig, Policy(), Policy(strict=True), 1500)
