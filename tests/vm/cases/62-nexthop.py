# SPDX-License-Identifier: GPL-2.0-or-later
"""Next hops that move under a connection that transfers: each frame is where it should be, and no
connection is made anew.

RNIC 1 (10.0.0.1, initial namespace) talks to 10.9.0.2, an address of RNIC 2 (namespace b), through
gateways 10.0.0.251 and .252, whose MACs RNIC 2 has as well as its own.  With IPv6 they are
2001:db8::1, 2001:db8:9::2, fe80::f1 and fe80::f2.
"""

import contextlib
import re
import socket
import struct
import time

from openrnic_lab.common import wait_until
from openrnic_lab.testing import check, equal, serve, succeeds

RIG = "one"
TIMEOUT = 300

PORT = 7174
GW1, GW2 = "02:00:0e:57:00:f1", "02:00:0e:57:00:f2"
PEER = "02:00:0e:57:00:02"
OWN = "02:00:0e:57:00:01"
SYN, RST = 2, 4

SETUP = f"""
. /run/rig; set -e
ip neigh replace 10.0.0.251 lladdr {GW1} dev $NETDEV1 nud permanent
ip neigh replace 10.0.0.252 lladdr {GW2} dev $NETDEV1 nud permanent
ip route replace 10.9.0.2 via 10.0.0.251
ip netns exec b ip addr replace 10.9.0.2/32 dev $NETDEV2
for mac in {GW1} {GW2}; do ip netns exec b bridge fdb replace $mac dev $NETDEV2 self permanent; done
"""
TEARDOWN = f"""
. /run/rig
pkill -9 -x rping
ip link set renamed name $NETDEV1; ip link set $NETDEV1 up
ip link del v7; ip netns exec b ip link del v7; ip link del other
ip route del 10.9.0.2
ip neigh del 10.0.0.251 dev $NETDEV1; ip neigh del 10.0.0.252 dev $NETDEV1
ip netns exec b ip addr del 10.9.0.2/32 dev $NETDEV2
for mac in {GW1} {GW2}; do ip netns exec b bridge fdb del $mac dev $NETDEV2 self; done
ip link set $NETDEV1 mtu 1500; ip netns exec b ip link set $NETDEV2 mtu 1500
sleep 1
exit 0
"""
VLAN = """
. /run/rig; set -e
ip link add link $NETDEV1 name v7 type vlan id 7
ip addr add 10.0.7.1/24 dev v7
ip link set v7 up
ip netns exec b ip link add link $NETDEV2 name v7 type vlan id 7
ip netns exec b ip addr add 10.0.7.2/24 dev v7
ip netns exec b ip link set v7 up
"""


# Of the second router only a redirect tells; nobody is there to answer if it is asked for.
SETUP6 = f"""
ip addr add 2001:db8::1/64 dev $NETDEV1 nodad
ip -6 neigh replace fe80::f1 lladdr {GW1} dev $NETDEV1 nud permanent
sysctl -qw net.ipv6.neigh.$NETDEV1.delay_first_probe_time=60
ip route add 2001:db8:9::2 via fe80::f1 dev $NETDEV1
for address in 2001:db8::2/64 2001:db8:9::2/128; do
    ip netns exec b ip addr add $address dev $NETDEV2 nodad
done
"""
TEARDOWN6 = """
. /run/rig
ip route del 2001:db8:9::2
sysctl -qw net.ipv6.neigh.$NETDEV1.delay_first_probe_time=5
for router in fe80::f1 fe80::f2; do ip -6 neigh del $router dev $NETDEV1; done
ip addr del 2001:db8::1/64 dev $NETDEV1
for address in 2001:db8::2/64 2001:db8:9::2/128; do
    ip netns exec b ip addr del $address dev $NETDEV2
done
"""
SEND = ("import socket, sys; s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); "
        "s.bind((sys.argv[1], 0)); [s.send(bytes.fromhex(frame)) for frame in sys.argv[2:]]")


class Frame:
    """A TCP segment of the connection, as it was on the wire."""

    def __init__(self, data):
        self.dst, self.src = (":".join(f"{byte:02x}" for byte in data[at:at + 6])
                              for at in (0, 6))
        self.vlan, at = 0, 12
        if data[at:at + 2] == b"\x81\x00":
            self.vlan, at = struct.unpack(">H", data[14:16])[0] & 0xfff, 16
        self.ours, head = False, data[at + 2:]
        if data[at:at + 2] == b"\x08\x00" and head[9] == 6:
            self.len, size = struct.unpack(">H", head[2:4])[0], (head[0] & 15) * 4
        elif data[at:at + 2] == b"\x86\xdd" and head[6] == 6:
            self.len, size = 40 + struct.unpack(">H", head[4:6])[0], 40
        else:
            return
        tcp = head[size:]
        self.raw, self.flags = head[:size + 8], tcp[13]
        self.ours = PORT in struct.unpack(">HH", tcp[:4])


def checksum(data):
    """RFC 1071."""
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return struct.pack(">H", total ^ 0xffff)


def redirect(quoted, old, new):
    """The frame of an ICMP redirect for host (RFC 792) from gateway old to gateway new."""
    icmp = b"\5\1\0\0" + bytes(map(int, new.split("."))) + quoted
    icmp = icmp[:2] + checksum(icmp) + icmp[4:]
    head = struct.pack(">BBHIBBH", 0x45, 0, 20 + len(icmp), 0, 64, 1, 0)
    head += bytes(map(int, old.split("."))) + bytes((10, 0, 0, 1))
    head = head[:10] + checksum(head) + head[12:]
    return bytes.fromhex((OWN + GW1).replace(":", "")) + b"\x08\x00" + head + icmp


def redirect6(quoted, old, new, mac, hops=255):
    """The frame of an ICMPv6 redirect (RFC 4861) from router old to router new, which has this MAC;
    it may quote a packet."""
    old, new, own, far = (socket.inet_pton(socket.AF_INET6, address)
                          for address in (old, new, "2001:db8::1", "2001:db8:9::2"))
    icmp = bytes((137, 0, 0, 0)) + bytes(4) + new + far
    icmp += bytes((2, 1)) + bytes.fromhex(mac.replace(":", ""))
    if quoted:
        icmp += bytes((4, 1 + len(quoted) // 8)) + bytes(6) + quoted
    pseudo = old + own + struct.pack(">II", len(icmp), 58)
    icmp = icmp[:2] + checksum(pseudo + icmp) + icmp[4:]
    head = struct.pack(">IHBB", 6 << 28, len(icmp), 58, hops) + old + own
    return bytes.fromhex((OWN + GW1).replace(":", "")) + b"\x86\xdd" + head + icmp


def frames_of(path):
    """The connection's frames in a capture."""
    data, at, found = path.read_bytes(), 24, []
    while at + 16 <= len(data):
        length = struct.unpack("<I", data[at + 8:at + 12])[0]
        frame = Frame(data[at + 16:at + 16 + length])
        at += 16 + length
        if frame.ours:
            found.append(frame)
    return found


def capture(rig, seconds=1.5):
    """What the connection sends and receives during some time."""
    path = rig.dir / "nexthop.pcap"
    rig.nic(1).control(f"pcap {path.name}")
    time.sleep(seconds * rig.slowness)
    rig.nic(1).control("pcap stop")
    return frames_of(path)


def counter(rig, name):
    """A counter of RNIC 1."""
    return int(re.search(rf"^{name} (\d+)$", rig.nic(1).control("stats"), re.MULTILINE)[1])


class Transfer:
    """rping from RNIC 1 to RNIC 2, without an end."""

    def __init__(self, rig, address="10.9.0.2"):
        self.rig = rig
        anyone = "::" if ":" in address else "0.0.0.0"
        self.server = serve(rig, 2, f"exec ip netns exec b rping -s -P -a {anyone} -S 20000",
                            TIMEOUT * rig.slowness)
        self.client = rig.spawn(1, f"exec rping -c -a {address} -V -S 20000",
                                TIMEOUT * rig.slowness)
        self.moves("at first")
        self.opens = counter(rig, "tcp_active_opens")

    def moves(self, when):
        """Data is transferred."""
        before = counter(self.rig, "iw_rx_bytes")
        check(wait_until(lambda: counter(self.rig, "iw_rx_bytes") > before + 100000,
                         15 * self.rig.slowness, 0.2) and self.client.code is None,
              f"{when}: data moves")

    def sends(self, when, wrong, what, seconds=1.5):
        """After a change: data moves, no frame of ours is wrong, no handshake was made."""
        self.moves(when)
        frames = capture(self.rig, seconds)
        ours = [frame for frame in frames if frame.src == OWN]
        bad = [frame for frame in ours if wrong(frame)]
        check(len(ours) > 10 and not bad, f"{when}: all of {len(ours)} frames {what}"
              f"{': ' + str(vars(bad[0])) if bad else ''}")
        check(not any(frame.flags & (SYN | RST) for frame in frames), f"{when}: no SYN, no RST")
        equal(counter(self.rig, "tcp_active_opens"), self.opens, f"{when}: number of connections opened")

    def stands(self, when):
        """The connection sends nothing, and lives."""
        time.sleep(self.rig.slowness)
        equal(len([1 for frame in capture(self.rig, 3) if frame.src == OWN]), 0,
              f"{when}: number of frames sent")
        check(self.client.code is None, f"{when}: the connection lives")

    def ends(self, when, seconds):
        """The client notices the end of its connection."""
        begin = time.monotonic()
        wait_until(lambda: self.client.code is not None, seconds * self.rig.slowness, 0.2)
        check(self.client.code is not None,
              f"{when}: the client ends ({time.monotonic() - begin:.1f} s)")


@contextlib.contextmanager
def transfer(rig, *address):
    """A transfer, and everything as it was afterwards."""
    try:
        succeeds(rig.run(1, SETUP), "gateways are set up")
        yield Transfer(rig, *address)
    finally:
        rig.run(1, TEARDOWN)


def do(rig, script, what):
    """Run a script in the guest with the names of devices set."""
    return succeeds(rig.run(1, f". /run/rig; set -e; {script}"), what)


def test_gateways(rig):
    """The gateway's MAC, the gateway, the VLAN, MTUs; routes that go away and come back."""
    with transfer(rig) as moving:
        moving.sends("first gateway", lambda f: f.dst != GW1 or f.vlan, f"go to {GW1}")
        do(rig, f"ip neigh replace 10.0.0.251 lladdr {GW2} dev $NETDEV1 nud permanent",
           "the gateway fails over to another MAC")
        moving.sends("failed over", lambda f: f.dst != GW2, f"go to {GW2}")
        do(rig, f"ip neigh replace 10.0.0.251 lladdr {GW1} dev $NETDEV1 nud permanent; "
           "ip route replace 10.9.0.2 via 10.0.0.252", "ip route replace: another gateway")
        moving.sends("second gateway", lambda f: f.dst != GW2, f"go to {GW2}")
        do(rig, VLAN, "VLAN 7 at both ends")
        do(rig, "ip route replace 10.9.0.2 via 10.0.7.2 dev v7 src 10.0.0.1",
           "ip route replace: over the VLAN")
        moving.sends("over the VLAN", lambda f: f.vlan != 7, "are tagged 7")
        do(rig, "ip netns exec b ip route replace 10.0.0.1 via 10.0.7.1 dev v7 src 10.9.0.2",
           "the peer's route, too")
        moving.moves("over the VLAN both ways")
        check(all(f.vlan == 7 for f in capture(rig)), "the accepted connection follows as well")
        do(rig, "ip netns exec b ip route del 10.0.0.1; ip route replace 10.9.0.2 via 10.0.0.251",
           "both routes untagged again")
        moving.sends("untagged again", lambda f: f.dst != GW1 or f.vlan, f"go to {GW1}, untagged")
        do(rig, "ip link del v7; ip netns exec b ip link del v7", "the VLANs, unused, are deleted")
        moving.moves("without VLANs")


def test_mtu(rig):
    """A smaller MTU of the route or the device cuts what is sent, and a larger one does not."""
    with transfer(rig) as moving:
        big = max(f.len for f in capture(rig) if f.src == OWN)
        check(1400 < big <= 1500, f"the largest packet has {big} bytes")
        do(rig, "ip route replace 10.9.0.2 via 10.0.0.251 mtu 1000", "MTU of the route 1000")
        moving.sends("route MTU 1000", lambda f: f.len > 1000, "have at most 1000 bytes")
        do(rig, "ip route replace 10.9.0.2 via 10.0.0.251", "MTU of the route gone")
        moving.moves("route MTU gone")
        equal(max(f.len for f in capture(rig) if f.src == OWN), big, "the largest packet")
        do(rig, "ip link set $NETDEV1 mtu 700; ip netns exec b ip link set $NETDEV2 mtu 700",
           "MTU of the devices 700")
        moving.sends("device MTU 700", lambda f: f.len > 700, "have at most 700 bytes")
        do(rig, "ip link set $NETDEV1 mtu 1500; ip netns exec b ip link set $NETDEV2 mtu 1500",
           "MTU of the devices 1500")
        moving.moves("device MTU 1500")
        equal(max(f.len for f in capture(rig) if f.src == OWN), big, "the largest packet")


def test_no_way(rig):
    """Without a way nothing is sent; the connection goes on when there is one."""
    with transfer(rig) as moving:
        do(rig, "ip route replace unreachable 10.9.0.2", "the route is gone")
        moving.stands("without a route")
        do(rig, "ip route replace 10.9.0.2 via 10.0.0.251", "the route is back")
        moving.sends("route back", lambda f: f.dst != GW1, f"go to {GW1}")
        do(rig, "ip link add other type dummy; ip addr add 10.0.99.1/24 dev other; "
           "ip link set other up; ip route replace 10.9.0.2 dev other",
           "the route leads through a device that is not ours")
        moving.stands("through another device")
        do(rig, "ip route replace 10.9.0.2 via 10.0.0.251; ip link del other", "it is back")
        moving.moves("through our device")


def test_interface(rig):
    """The connection outlives its address and its netdev being away, and a new name."""
    # the kernel forgets neighbours and routes with the last address, and with the link
    way = f"""ip neigh replace 10.0.0.251 lladdr {GW1} dev $NETDEV1 nud permanent
        ip route replace 10.9.0.2 via 10.0.0.251"""
    with transfer(rig) as moving:
        do(rig, "ip addr del 10.0.0.1/24 dev $NETDEV1", "the local address is removed")
        moving.stands("without its address")
        do(rig, f"ip addr add 10.0.0.1/24 dev $NETDEV1; {way}", "the local address is added")
        moving.sends("address back", lambda f: f.dst != GW1, f"go to {GW1}")
        do(rig, "ip link set $NETDEV1 down", "the netdev goes down")
        moving.stands("netdev down")
        do(rig, f"ip link set $NETDEV1 up; {way}", "the netdev comes up")
        moving.sends("netdev up", lambda f: f.dst != GW1, f"go to {GW1}")
        do(rig, "ip link set $NETDEV1 name renamed", "the netdev is renamed")
        moving.moves("renamed")
        do(rig, "ip link set renamed name $NETDEV1", "and back")
        moving.moves("renamed back")


def quotes(rig):
    """What a redirect would quote of the connection, and of another one."""
    quoted = next(frame for frame in capture(rig, 0.2) if frame.src == OWN).raw
    return quoted, quoted[:-6] + struct.pack(">H", PORT + 1) + quoted[-4:]


def redirected(rig, moving, what, frames, mac):
    """The connection sends to this MAC after redirects."""
    frames = " ".join(frame.hex() for frame in frames)
    do(rig, f"ip netns exec b python3 -IS -c '{SEND}' $NETDEV2 {frames}", what)
    time.sleep(0.2 * rig.slowness)
    moving.sends("redirected", lambda f: f.dst != mac, f"go to {mac}", 0.5)


def test_redirect(rig):
    """An ICMP redirect that quotes the connection moves it; one that quotes another does not."""
    with transfer(rig) as moving:
        quoted, other = quotes(rig)
        for data, what, mac in ((other, "another connection", GW1), (quoted, "it", GW2)):
            redirected(rig, moving, f"a redirect that quotes {what}",
                       [redirect(data, "10.0.0.251", "10.0.0.252")], mac)
        do(rig, "ip route flush cache", "what ICMP said is forgotten")
        time.sleep(3)
        moving.sends("as routed", lambda f: f.dst != GW1, f"go to {GW1}")


def test_redirect6(rig):
    """So does an ICMPv6 redirect, and one that quotes nothing."""
    first, second = "fe80::f1", "fe80::f2"
    try:
        do(rig, SETUP6, "IPv6 routers are set up")
        with transfer(rig, "2001:db8:9::2") as moving:
            quoted, other = quotes(rig)
            redirected(rig, moving, "redirects of another connection, from afar, by another router",
                       [redirect6(other, first, second, GW2),
                        redirect6(quoted, first, second, GW2, 254),
                        redirect6(quoted, "fe80::f3", second, GW2)], GW1)
            redirected(rig, moving, "a redirect that quotes it",
                       [redirect6(quoted, first, second, GW2)], GW2)
            redirected(rig, moving, "a redirect that quotes nothing, by the router of now",
                       [redirect6(b"", second, first, GW1)], GW1)
    finally:
        rig.run(1, TEARDOWN6)


def test_listener_follows(rig):
    """A listener on an address hears of it wherever the address is."""
    try:
        do(rig, f"{VLAN} ip netns exec b ip addr add 10.0.9.2/32 dev $NETDEV2",
           "an address, and VLAN 7 at both ends")
        server = serve(rig, 2, "exec ip netns exec b rping -s -P -a 10.0.9.2")
        do(rig, "ip netns exec b ip addr del 10.0.9.2/32 dev $NETDEV2; "
           "ip netns exec b ip addr add 10.0.9.2/32 dev v7; "
           "ip route add 10.0.9.2 via 10.0.7.2 dev v7", "the address moves to the VLAN")
        time.sleep(1)
        succeeds(rig.run(1, "rping-rounds -a 10.0.9.2 -C 5 -V"), "a connection over the VLAN")
        do(rig, "ip netns exec b ip link del v7; ip link del v7; "
           "ip netns exec b ip addr add 10.0.9.2/32 dev $NETDEV2; "
           "ip route add 10.0.9.2 via 10.0.0.2", "the VLAN is deleted, and the address untagged")
        time.sleep(1)
        succeeds(rig.run(1, "rping-rounds -a 10.0.9.2 -C 5 -V"), "a connection untagged")
        check(server.code is None, "it is the same server")
    finally:
        rig.run(1, ". /run/rig; ip route del 10.0.9.2; "
                "ip netns exec b ip addr del 10.0.9.2/32 dev $NETDEV2; " + TEARDOWN)


def test_device_goes(rig):
    """A network device that goes takes its connections along, and is not held by them."""
    with transfer(rig) as moving:
        do(rig, VLAN, "VLAN 7 at both ends")
        do(rig, "ip route replace 10.9.0.2 via 10.0.7.2 dev v7 src 10.0.0.1", "over the VLAN")
        moving.sends("over the VLAN", lambda f: f.vlan != 7, "are tagged 7")
        do(rig, "timeout 20 ip link del v7", "the VLAN under the connection is deleted")
        moving.ends("VLAN deleted", 5)
    with transfer(rig) as moving:
        do(rig, "ip netns add elsewhere; timeout 20 ip link set $NETDEV1 netns elsewhere",
           "the netdev moves to another namespace")
        moving.ends("netdev moved", 5)
        do(rig, "ip netns exec elsewhere timeout 20 ip link set $NETDEV1 netns 1; "
           "ip netns del elsewhere; ip addr add 10.0.0.1/24 dev $NETDEV1; "
           "ip link set $NETDEV1 up", "it comes back")
    with transfer(rig) as moving:
        moving.sends("in the first namespace again", lambda f: f.dst != GW1, f"go to {GW1}")
