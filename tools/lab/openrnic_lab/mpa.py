# SPDX-License-Identifier: GPL-2.0-or-later
"""MPA connections (RFC 5044, without markers) in a capture that an rnicd has made."""

import dataclasses
import ipaddress
import struct

SYN, ACK = 2, 16
REQUEST, REPLY = b"MPA ID Req Frame", b"MPA ID Rep Frame"
HEADER = 20
MODULUS = 1 << 32       # of sequence numbers


def _table():
    """CRC32C, reflected, of each byte."""
    table = list(range(256))
    for _ in range(8):
        table = [crc >> 1 ^ (0x82f63b78 if crc & 1 else 0) for crc in table]
    return table


TABLE = _table()


def crc32c(data):
    """The CRC field of an FPDU (RFC 5044 4.4), as on the wire."""
    crc = 0xffffffff
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return struct.pack("<I", crc ^ 0xffffffff)


@dataclasses.dataclass
class Stream:
    """What one side sent, in order, and what that is in MPA."""

    start: int
    data: bytearray = dataclasses.field(default_factory=bytearray)

    def add(self, seq, payload):
        """One segment, perhaps of bytes that were sent before."""
        at = (seq - self.start) % MODULUS
        if payload and at < MODULUS // 2:
            self.data.extend(bytes(max(0, at - len(self.data))))
            self.data[at:at + len(payload)] = payload

    @property
    def crc(self):
        """Bit C of the request or reply."""
        return bool(self.data[16] & 0x40)

    @property
    def reject(self):
        """Bit R."""
        return bool(self.data[16] & 0x20)

    @property
    def revision(self):
        """Revision of the request or reply."""
        return self.data[17]

    def fpdus(self):
        """Each FPDU: its bytes, and the CRC field behind them, which of a cut one is too short."""
        at = HEADER + struct.unpack_from(">H", self.data, 18)[0]
        while at + 2 <= len(self.data):
            end = at + (struct.unpack_from(">H", self.data, at)[0] + 5) // 4 * 4
            yield self.data[at:end], self.data[end:end + 4]
            at = end + 4


@dataclasses.dataclass
class Connection:
    """One that began in the capture: what its initiator sent, and what its responder sent."""

    initiator: str
    request: Stream
    reply: Stream


def _segments(path):
    """TCP over IPv4 without a VLAN tag: source, target, sequence number, flags, payload."""
    data, at = path.read_bytes(), 24
    while at + 16 <= len(data):
        length = struct.unpack_from("=I", data, at + 8)[0]
        frame = data[at + 16:at + 16 + length]
        at += 16 + length
        if frame[12:14] != b"\x08\x00" or frame[23] != 6:
            continue
        packet = frame[14:14 + struct.unpack_from(">H", frame, 16)[0]]
        tcp = packet[(packet[0] & 15) * 4:]
        seq, offset, flags = struct.unpack_from(">I4xBB", tcp, 4)
        yield (packet[12:16], tcp[:2]), (packet[16:20], tcp[2:4]), seq, flags, tcp[offset >> 4 << 2:]


def connections(path):
    """The connections of a capture that were answered by TCP, in that order."""
    newest, found = {}, []
    for source, target, seq, flags, payload in _segments(path):
        stream = newest.get((source, target))
        if not flags & SYN:
            if stream:
                stream.add(seq, payload)
        elif not stream or stream.start != (seq + 1) % MODULUS:
            stream = newest[source, target] = Stream((seq + 1) % MODULUS)
            if flags & ACK and (target, source) in newest:
                initiator = str(ipaddress.ip_address(target[0]))
                found.append(Connection(initiator, newest[target, source], stream))
    return found
