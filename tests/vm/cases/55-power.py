# SPDX-License-Identifier: GPL-2.0-or-later
"""PCI errors, power management and shutdown take the function away from its driver.

Connections are open in both directions, a client at either end, and frames of the netdev are under
way. Those who use the RNIC are told, and everything works afterwards.
"""

from openrnic_lab.common import wait_until
from openrnic_lab.testing import Skip, build_module, check, equal, pci_slot, serve, succeeds

RIG = "two"
TIMEOUT = 300
SLEEP = """
cd /sys/power
echo platform > pm_test && echo deep > mem_sleep && echo mem > state
code=$?
echo none > pm_test
exit $code"""
REBOOT = {"power off": 0x4321fedc, "restart": 0x01234567}     # see reboot(2)


class Traffic:
    """Endless rpings between the ends, and a ping of machine 1's netdev."""

    def __init__(self, rig):
        self.rig = rig
        limit = 200 * rig.slowness
        self.servers = [serve(rig, end, f"exec rping -s -P -a {rig.address(end)}", limit)
                        for end in (1, 2)]
        # a client of machine 2 is served in machine 1 and the other way round
        self.clients = {end: rig.spawn(end, f"exec rping -c -a {rig.address(3 - end)}", limit)
                        for end in (1, 2)}
        self.ping = rig.spawn(1, f"exec ping -i 0.05 -q {rig.address(2)}", limit)
        for end in (1, 2):
            check(wait_until(lambda end=end: self._connected(end), 20 * rig.slowness),
                  f"connections are open, vm{end}")

    def _connected(self, end):
        shown = self.rig.run(end, "rdma resource show qp | grep -c 'state RTS.*rping'").output
        return int(shown or 0) >= 2

    def told(self, end, what):
        """The client at this end has ended, within the time of a notice, not of a time-out."""
        check(wait_until(lambda: self.clients[end].code is not None, 20 * self.rig.slowness),
              f"{what}: the client in vm{end} has ended")

    def end(self):
        """Ends what is left."""
        for end in (1, 2):
            self.rig.run(end, "pkill -9 -x 'rping|ping'")


def works(rig, what):
    """The RNIC in machine 1 works, both ways; also sets addresses if they are gone."""
    rig.setup(rig.vm(1))
    check(wait_until(lambda: rig.run(1, "ping -c 1 -W 1 10.0.0.2"), 30), f"{what}: ping")
    for end in (1, 2):
        peer = 3 - end
        server = serve(rig, peer, f"rping -s -a {rig.address(peer)} -C 10 -V")
        succeeds(rig.run(end, f"rping-rounds -a {rig.address(peer)} -C 10 -V"),
                 f"{what}: rping, vm{end} to vm{peer}")
        check(server.wait().code in (0, 255), "its server ends")


def test_pci_errors(rig):
    """error_detected, slot_reset and resume, as after an AER message."""
    vm = rig.vm(1)
    build_module(rig, "pcierr_test")
    slot = pci_slot(rig)

    def error(kind):
        succeeds(vm.run(f"insmod /lab/pcierr_test.ko slot={slot} kind={kind} && "
                        "rmmod pcierr_test", 90 * rig.slowness), f"PCI error, channel {kind}")
    traffic = Traffic(rig)
    error("normal")
    for end in (1, 2):
        check(traffic.clients[end].code is None, f"the client in vm{end} has not noticed")
    # after an FLR, which uses up the saved state of the configuration space, just as well
    for turn in (1, 2):
        error("frozen")
        traffic.told(1, f"channel frozen, turn {turn}")
        traffic.end()
        works(rig, f"channel frozen, turn {turn}")
        succeeds(vm.run(f"echo 1 > /sys/bus/pci/devices/{slot}/reset"), "FLR")
        works(rig, "FLR")
        traffic = Traffic(rig)
    error("lost")
    traffic.told(1, "channel lost")
    traffic.end()
    check(not vm.run("rdma link | grep ornic"), "channel lost: the RDMA device is gone")
    succeeds(vm.run(f"cd /sys/bus/pci/drivers/ornic && echo {slot} > unbind && echo {slot} > bind"),
             "channel lost: unbind, and bind to a channel that is there again")
    works(rig, "channel lost, bound again")


def test_suspend(rig):
    """Suspend to RAM without its last step. With power really off QEMU's machine does not come
    back, RNIC or not: the kernel's wake-up code faults under TCG.
    """
    vm = rig.vm(1)
    if not vm.run("test -e /sys/power/pm_test"):
        raise Skip("the kernel has no CONFIG_PM_DEBUG")
    # Linux's 9p over virtio does not survive a suspend
    succeeds(vm.run("cp -a /lab /run/lab && mount --bind /run/lab /lab"),
             "the lab's files are in RAM")
    for turn in (1, 2):
        traffic = Traffic(rig)
        succeeds(vm.run(SLEEP, 60 * rig.slowness), f"suspend, turn {turn}")
        for end in (1, 2):
            traffic.told(end, f"suspend, turn {turn}")
        traffic.end()
        works(rig, f"suspend, turn {turn}")


def test_shutdown(rig):
    """An orderly end of the kernel: the peer is told, the RNIC serves the next kernel."""
    vm = rig.vm(1)
    for how, command in REBOOT.items():
        traffic = Traffic(rig)
        vm.spawn(f"perl -e 'syscall(169, 0xfee1dead, 0x28121969, {command}, 0)'", 30 * rig.slowness)
        equal(vm.wait_end(60 * rig.slowness), 0, f"{how}: QEMU's exit code")
        traffic.told(2, how)
        rig.run(2, "pkill -9 -x rping")
        check(rig.nic(1).alive(), f"{how}: rnicd still runs")
        vm.start()
        vm.wait_ready(180 * rig.slowness)
        works(rig, how)
