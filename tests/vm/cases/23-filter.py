# SPDX-License-Identifier: GPL-2.0-or-later
"""The host's packet filter holds for offloaded connections, in both roles.

End 1 connects, end 2 listens, each in a network namespace of its own with its own rules. The
wire is captured at the RNIC, so that what the device sends itself is seen too; tcpdump in the
guest sees what the host's stack sends.
"""

import ipaddress
import json
import struct
import time

from openrnic_lab.testing import check, equal, serve, succeeds

RIG = "one"
TIMEOUT = 600
PORT = 7180
OTHER = 7181
REFUSED = -111
TIMED_OUT = -110
FIN, SYN, RST, ACK = 1, 2, 4, 16

# nftables rules for a connection to PORT, in the namespace of the end that has them
OUTPUT = {
    "by port": f"tcp dport {PORT} counter drop",
    "by address": "ip daddr 10.0.0.2 ip protocol tcp counter drop",
    "by interface": "oifname $NETDEV1 ip protocol tcp counter reject",
    "by set": f"ip daddr @peers tcp dport {PORT} counter reject with tcp reset",
    "by connection state": f"ct state new tcp dport {PORT} counter drop",
    "by what a SYN is": "tcp flags & (syn | ack) == syn tcp option maxseg size 1460 counter drop",
    "queued": f"tcp dport {PORT} counter queue num 3",
}
INPUT = {
    "by port": f"tcp dport {PORT} counter drop",
    "by address": "ip saddr 10.0.0.1 ip protocol tcp counter drop",
    "by interface": "iifname $NETDEV2 ip protocol tcp counter drop",
    "by set": f"ip saddr @peers tcp dport {PORT} counter drop",
    "by connection state": f"ct state new tcp dport {PORT} counter drop",
    "queued": f"tcp dport {PORT} counter queue num 3",
}


def nft(rig, end, chain, rule, policy="accept"):
    """One chain with one rule, and nothing else, at one end."""
    rules = f"""
flush ruleset
table inet t {{
    set peers {{ type ipv4_addr; elements = {{ 10.0.0.1, 10.0.0.2 }}; }}
    chain c {{
        {chain}; policy {policy};
        {rule}
    }}
}}"""
    result = rig.run(end, f". /run/rig; nft -f - << END\n{rules}\nEND")
    check(result, f"rule at end {end}: {rule}{result.output}")


def flush(rig, end):
    """No rules at one end."""
    succeeds(rig.run(end, "nft flush ruleset"), f"no rules at end {end}")


def packets(rig, end):
    """What the rule's counter has counted."""
    found = json.loads(rig.run(end, "nft -j list ruleset").output)["nftables"]
    return sum(part["counter"]["packets"] for entry in found if "rule" in entry
               for part in entry["rule"]["expr"] if "counter" in part)


def knock(rig, end=1, address="10.0.0.2", source=""):
    """A connection attempt: what rdma_cm said, its status, milliseconds."""
    words = rig.run(end, f"knock {address} {PORT} {source}").output.split()
    check(len(words) == 3, f"knock says {' '.join(words)}")
    return words[0], int(words[1]), int(words[2])


def connects(rig, what, **more):
    """A connection attempt that succeeds."""
    equal(knock(rig, **more)[:2], ("RDMA_CM_EVENT_ESTABLISHED", 0), what)


def refused(rig, what, **more):
    """A connection attempt that fails at once."""
    event, status, ms = knock(rig, **more)
    equal((event, status), ("RDMA_CM_EVENT_REJECTED", REFUSED), what)
    check(ms < 1000, f"at once ({ms} ms)")


def ignored(rig, what):
    """A connection attempt that nobody answers."""
    equal(knock(rig)[:2], ("RDMA_CM_EVENT_UNREACHABLE", TIMED_OUT), what)


class Wire:
    """What one RNIC sends and receives while this lasts."""

    def __init__(self, rig, number):
        self.nic, self.path = rig.nic(number), rig.dir / "filter.pcap"

    def __enter__(self):
        self.path.unlink(missing_ok=True)
        self.nic.control(f"pcap {self.path}")
        return self

    def __exit__(self, *_):
        self.nic.control("pcap stop")

    def _frames(self):
        data, at = self.path.read_bytes(), 24
        while at + 16 <= len(data):
            length = struct.unpack_from("=I", data, at + 8)[0]
            yield data[at + 16:at + 16 + length]
            at += 16 + length

    def flags(self, source):
        """The flags of each TCP segment from an address, and "icmp" of an ICMP message."""
        found, source = [], ipaddress.ip_address(source).packed
        for frame in self._frames():
            if frame[12:14] == b"\x08\x00" and frame[26:30] == source:
                segment = frame[14 + (frame[14] & 15) * 4:]
                found.append("icmp" if frame[23] == 1 else segment[13])
        return found

    def flags6(self, source):
        """The flags of each TCP segment from an IPv6 address."""
        source = ipaddress.ip_address(source).packed
        return [frame[54 + 13] for frame in self._frames()
                if frame[12:14] == b"\x86\xdd" and frame[20] == 6 and frame[22:38] == source]


class Dump:
    """What tcpdump sees at one end: what the host's stack sends and receives."""

    def __init__(self, rig, end, what):
        self.rig, self.end, self.what = rig, end, what

    def __enter__(self):
        # not -c: it counts what it has seen when it is told to end
        self.job = self.rig.spawn(self.end, f". /run/rig; exec tcpdump -lni $NETDEV{self.end} "
                                            f"'{self.what}'", 120 * self.rig.slowness)
        self.job.wait_for("listening on", 30 * self.rig.slowness)
        return self

    def __exit__(self, *_):
        time.sleep(1)
        self.rig.run(self.end, "pkill -x tcpdump")
        self.job.wait()

    def lines(self):
        """Packets seen."""
        return [line for line in self.job.output.splitlines() if " IP " in line]


class Servers:
    """A server at each end, and SYNs that are given up soon."""

    def __init__(self, rig, listen=""):
        self.rig, self.listen = rig, listen

    def __enter__(self):
        rig = self.rig
        rig.run(1, "sysctl -qw net.ipv4.tcp_syn_retries=1")
        self.jobs = [serve(rig, end, f"exec rping -s -P {self.listen} -p {PORT}",
                           TIMEOUT * rig.slowness) for end in (1, 2)]
        connects(rig, "without rules the server answers")

    def __exit__(self, *_):
        for end in (1, 2):
            self.rig.run(end, "nft flush ruleset")
        self.rig.run(1, "sysctl -qw net.ipv4.tcp_syn_retries=6; pkill -9 -x rping")
        for job in self.jobs:
            job.wait()


def test_out(rig):
    """Rules of the side that connects: no SYN goes out, the consumer hears of it at once."""
    with Servers(rig):
        for kind, rule in OUTPUT.items():
            with Wire(rig, 1) as wire:
                nft(rig, 1, "type filter hook output priority 0", rule)
                refused(rig, f"output rule {kind}")
                equal(packets(rig, 1), 1, "its counter")
            equal(wire.flags("10.0.0.1"), [], "what the RNIC sends")
        nft(rig, 1, "type filter hook postrouting priority 0", f"tcp dport {PORT} counter drop")
        refused(rig, "postrouting rule")
        nft(rig, 1, "type nat hook output priority -100",
            f"tcp dport {PORT} counter dnat ip to 10.0.0.2:{OTHER}")
        refused(rig, "a rule that translates the destination")
        nft(rig, 1, "type filter hook output priority 0",
            f"ct state new tcp dport {PORT} counter accept", "drop")
        connects(rig, "policy drop with an exception for new connections")
        equal(packets(rig, 1), 1, "its counter")
        flush(rig, 1)
        connects(rig, "without rules again")


def test_in(rig):
    """Rules of the side that listens: a dropped SYN is not answered."""
    with Servers(rig):
        for kind, rule in INPUT.items():
            with Wire(rig, 2) as wire:
                nft(rig, 2, "type filter hook input priority 0", rule)
                ignored(rig, f"input rule {kind}")
                equal(packets(rig, 2), 2, "its counter: the SYN and its repetition")
            equal(wire.flags("10.0.0.2"), [], "what the RNIC sends")
        nft(rig, 2, "type filter hook prerouting priority -300", f"tcp dport {PORT} counter drop")
        ignored(rig, "prerouting rule")
        nft(rig, 2, "type filter hook input priority 0",
            f"ct state new tcp dport {PORT} counter accept", "drop")
        connects(rig, "policy drop with an exception for new connections")
        equal(packets(rig, 2), 1, "its counter")
        flush(rig, 2)
        connects(rig, "without rules again")


def test_reject(rig):
    """What a reject sends leaves by the network device, and the device itself says nothing."""
    with Servers(rig):
        for how, word, seen in (("with tcp reset", "Flags [R.]", RST | ACK),
                                ("with icmp port-unreachable", "unreachable", "icmp")):
            with Wire(rig, 2) as wire, Dump(rig, 2, "src host 10.0.0.2 and (tcp or icmp)") as dump:
                nft(rig, 2, "type filter hook input priority 0",
                    f"tcp dport {PORT} counter reject {how}")
                refused(rig, f"reject {how}")
                equal(packets(rig, 2), 1, "its counter")
            equal(wire.flags("10.0.0.2"), [seen], "what leaves the RNIC")
            check(len(dump.lines()) == 1 and word in dump.lines()[0],
                  f"the host's stack has sent it: {dump.lines()}")


def test_host_has_it(rig):
    """A SYN whose destination is translated goes to the host."""
    with Servers(rig), Dump(rig, 2, f"tcp port {PORT}") as dump:
        nft(rig, 2, "type nat hook prerouting priority -100",
            f"tcp dport {PORT} counter redirect to :{OTHER}")
        refused(rig, "nothing of the host listens where it is redirected to")
    check(len(dump.lines()) == 2 and "[S]" in dump.lines()[0] and "[R.]" in dump.lines()[1],
          f"the host has seen the SYN and answered it: {dump.lines()}")


def test_iptables(rig):
    """The older command, and the older syntax of connection states."""
    rules = {
        "REJECT": f"-p tcp --dport {PORT} -j REJECT --reject-with tcp-reset",
        "REJECT by ICMP": f"-p tcp --dport {PORT} -j REJECT",
        "by interface and state": "-i $NETDEV2 -m conntrack --ctstate NEW -p tcp -j REJECT",
        "by address": "-s 10.0.0.1/32 -p tcp -j REJECT --reject-with tcp-reset",
    }
    with Servers(rig):
        for kind, rule in rules.items():
            succeeds(rig.run(2, f". /run/rig; iptables -F && iptables -A INPUT {rule}"), rule)
            refused(rig, f"iptables {kind}")
            counted = rig.run(2, "iptables -nvxL INPUT").output.splitlines()[-1].split()
            equal(counted[0], "1", "its counter")
        succeeds(rig.run(2, f"iptables -F && iptables -P INPUT DROP && iptables -A INPUT -p tcp "
                            f"--dport {PORT} -m conntrack --ctstate NEW -j ACCEPT"),
                 "policy DROP, new connections accepted")
        connects(rig, "iptables accepts")
        succeeds(rig.run(2, "iptables -P INPUT ACCEPT && iptables -F"), "no rules")
        succeeds(rig.run(1, f"iptables -A OUTPUT -p tcp --dport {PORT} -j REJECT"), "OUTPUT REJECT")
        refused(rig, "iptables REJECT of what goes out")
        succeeds(rig.run(1, "iptables -F"), "no rules")
        connects(rig, "without rules again")


def test_own_address(rig):
    """A connection to the RNIC's own address is one through the loopback device to rules."""
    own = {"address": "10.0.0.1"}
    with Servers(rig):
        connects(rig, "without rules", **own)
        nft(rig, 1, "type filter hook input priority 0", "iifname $NETDEV1 counter drop")
        connects(rig, "a rule about the port's device", **own)
        equal(packets(rig, 1), 0, "its counter")
        for hook, rule in (("input", f"iifname lo tcp dport {PORT} counter drop"),
                           ("output", f"oifname lo tcp dport {PORT} counter drop")):
            nft(rig, 1, f"type filter hook {hook} priority 0", rule)
            refused(rig, f"{hook} rule about the loopback device", **own)
            equal(packets(rig, 1), 1, "its counter")
        flush(rig, 1)
        connects(rig, "without rules again", **own)


def test_ipv6(rig):
    """The same with IPv6, in both roles and to the own address."""
    there, own = {"address": "fd00::2"}, {"address": "fd00::1"}
    for end in (1, 2):
        succeeds(rig.run(end, f". /run/rig; ip addr add fd00::{end}/64 dev $NETDEV{end} nodad"),
                 f"an IPv6 address at end {end}")
    try:
        with Servers(rig, "-a ::"):
            connects(rig, "without rules", **there)
            nft(rig, 1, "type filter hook output priority 0",
                f"ip6 daddr fd00::2 ct state new tcp dport {PORT} counter drop")
            refused(rig, "output rule", **there)
            equal(packets(rig, 1), 1, "its counter")
            nft(rig, 1, "type filter hook input priority 0",
                f"iifname lo tcp dport {PORT} counter drop")
            refused(rig, "input rule about the loopback device", **own)
            flush(rig, 1)
            with Wire(rig, 2) as wire:
                nft(rig, 2, "type filter hook input priority 0",
                    f"ip6 saddr fd00::1 tcp dport {PORT} counter reject with tcp reset")
                refused(rig, "input rule", **there)
                equal(packets(rig, 2), 1, "its counter")
            equal(wire.flags6("fd00::2"), [RST | ACK], "TCP that leaves the RNIC")
            nft(rig, 2, "type filter hook input priority 0", f"meta l4proto ipv6-icmp accept; "
                f"ct state new tcp dport {PORT} counter accept", "drop")
            connects(rig, "policy drop with an exception for new connections", **there)
            equal(packets(rig, 2), 1, "its counter")
    finally:
        for end in (1, 2):
            rig.run(end, f". /run/rig; ip addr del fd00::{end}/64 dev $NETDEV{end}")


def test_port_space(rig):
    """A port belongs to the host's TCP or to RDMA, not to both."""
    bind = ("exec python3 -c 'import socket, time; s = socket.socket(); s.bind((\"{0}\", {1})); "
            "{2}print(\"bound\", flush=True); time.sleep({3})'")
    seconds = 60 * rig.slowness
    with Servers(rig):
        for how in ("", "s.listen(); "):
            holder = rig.spawn(1, bind.format("", OTHER, how, seconds))
            holder.wait_for("bound", seconds)
            equal(knock(rig, source=f"10.0.0.1 {OTHER}"), ("rdma_connect", 98, 0),
                  f"connect from a port that a socket has bound {how}")
            rig.run(1, "pkill -9 -x python3")
            holder.wait()
        connects(rig, "from the same port when it is free", source=f"10.0.0.1 {OTHER}")
        taken = rig.run(2, bind.format("10.0.0.2", PORT, "", 0))
        check(not taken and "Address already in use" in taken.output,
              "the port of an RDMA listener is not given to a socket")
