# SPDX-License-Identifier: GPL-2.0-or-later
"""A device that goes from under its driver.  It is pulled out and put back in, which is as after
power on then: with the driver unbound in between, and with the driver left alone, which takes it
back.  And it dies while the driver is removed."""

from openrnic_lab.common import wait_until
from openrnic_lab.testing import build_module, check, equal, pci_slot, succeeds, works

RIG = "one"
TIMEOUT = 200
HOLD_MS = 6000
DRIVER = "/sys/bus/pci/drivers/ornic"

LOST = "ethtool -S $NETDEV1 | awk '/drv_cmd_lost_irqs/ { print $2 }'"


def pull(rig):
    """Pulls RNIC 1 out; returns the PCI address of its function once the driver knows."""
    pci = pci_slot(rig)
    equal(rig.nic(1).control("removed yes"), "ok\n", "answer to 'removed yes'")
    check(wait_until(lambda: bool(rig.run(1, f"dmesg | grep -q 'ornic {pci}: device is gone'")),
                     20 * rig.slowness, 0.5), "the driver finds out")
    return pci


def works_with_irqs(rig):
    """And no interrupt is lost."""
    works(rig)
    equal(rig.run(1, f". /run/rig; {LOST}").output, "0\n", "commands answered without interrupt")


def test_unbound(rig):
    """The driver is unbound while the device is out, and bound when it is in again."""
    pci = pull(rig)
    succeeds(rig.run(1, f"echo {pci} > {DRIVER}/unbind"), "unbind")
    equal(rig.nic(1).control("removed no"), "ok\n", "answer to 'removed no'")
    succeeds(rig.run(1, f"echo {pci} > {DRIVER}/bind"), "bind")
    works_with_irqs(rig)


def test_taken_back(rig):
    """Nobody but the driver does anything."""
    before = rig.run(1, f". /run/rig; {LOST}").output
    equal(before, "0\n", "commands answered without interrupt before")
    pci = pull(rig)
    equal(rig.nic(1).control("removed no"), "ok\n", "answer to 'removed no'")
    check(wait_until(lambda: bool(rig.run(1, f"dmesg | grep -q 'ornic {pci}: reset done'")),
                     30 * rig.slowness, 0.5), "the driver takes it back")
    works_with_irqs(rig)


def test_dying(rig):
    """The device stops while the driver is unbound, before a consumer in the kernel has drained its
    QP, which waits for completions that the device owes."""
    def said(what):
        return bool(rig.run(1, f"dmesg | grep -q 'iwcm_test: {what}'"))
    build_module(rig, "iwcm_test")
    pci = pci_slot(rig)
    succeeds(rig.run(1, "modprobe -q iw_cm; modprobe -q libcrc32c; . /run/rig; insmod "
                        f"/lab/iwcm_test.ko dev_a=$RDMA1 dev_b=$RDMA2 hold_ms={HOLD_MS}"),
             "a connection is held")
    unbind = rig.spawn(1, f"echo {pci} > {DRIVER}/unbind", 60 * rig.slowness)
    check(wait_until(lambda: said("removal"), 20 * rig.slowness, 0.2),
          "the consumer hears of the removal")
    equal(rig.nic(1).control("fatal"), "ok\n", "answer to 'fatal'")
    succeeds(unbind.wait(), "the unbind comes to its end")
    check(said("drained"), "the QP was drained")
    succeeds(rig.run(1, "rmmod iwcm_test"), "the consumer is unloaded")
    succeeds(rig.run(1, f"echo {pci} > {DRIVER}/bind"), "bind")
    works_with_irqs(rig)
