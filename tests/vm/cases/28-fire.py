# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules of iw_cm where consumers, peers and the device go in the middle of it, and with many
connections.  By the module of 25-iwcm."""

import re

from openrnic_lab.common import wait_until
from openrnic_lab.testing import (build_module, check, equal, log_length, log_lines, pci_slot,
                                  resources, succeeds, works)

RIG = "one"
TIMEOUT = 300
MPA_MS = 30000
LEAST = 12
DRIVER = "/sys/bus/pci/drivers/ornic"


def load(rig, arguments):
    """Loads the module; it runs its cases, or holds connections.  Gives how long the kernel log was
    before."""
    build_module(rig, "iwcm_test")
    since = log_length(rig)
    result = rig.run(1, "modprobe -q iw_cm; modprobe -q libcrc32c; . /run/rig; insmod "
                        f"/lab/iwcm_test.ko dev_a=$RDMA1 dev_b=$RDMA2 {arguments}",
                     TIMEOUT * rig.slowness)
    if not result:
        said(rig, since)
    succeeds(result, "the module was loaded")
    return since


def said(rig, since):
    """The lines that the module has said."""
    lines = log_lines(rig, since, "iwcm_test: ")
    print("\n".join("    " + line for line in lines), flush=True)
    return lines


def set_timeouts(rig, ms):
    """How long half-open and closing connections stay."""
    return rig.run(1, f"""
        for nic in $(devlink dev | grep -o 'pci/.*'); do
            for name in mpa_timeout_ms close_timeout_ms; do
                devlink dev param set $nic name $name value {ms} cmode runtime || exit 1
            done
        done""")


def test_rules(rig):
    """Each case of the module, and as many objects afterwards as before."""
    before = resources(rig.vm(1))
    try:
        succeeds(set_timeouts(rig, MPA_MS), "time-outs are set")
        since = load(rig, f"suite=fire mpa_ms={MPA_MS}")
    finally:
        set_timeouts(rig, 60000)
    log = "\n".join(said(rig, since))
    succeeds(rig.run(1, "rmmod iwcm_test"), "it can be unloaded")
    numbers = re.search(r"(\d+) passed, (\d+) failed", log)
    check(numbers is not None, "it says how many cases it ran")
    check(int(numbers[1]) >= LEAST and numbers[2] == "0", f"all of {LEAST} or more cases passed")
    equal(resources(rig.vm(1)), before, "number of objects")


def over(rig, since):
    """The consumer has given up its connections."""
    return bool(log_lines(rig, since, "iwcm_test: flight of"))


def landed(rig, pci, since):
    """Every connection had what it is owed, and the RNIC works again."""
    check(wait_until(lambda: over(rig, since), 60 * rig.slowness, 0.3),
          "the consumer has given up everything")
    check(said(rig, since)[-1].endswith("passed"), "every connection was told, once")
    succeeds(rig.run(1, "rmmod iwcm_test"), "the consumer is unloaded")
    rig.run(1, f"[ -e {DRIVER}/{pci} ] || echo {pci} > {DRIVER}/bind")
    works(rig)


def test_unbind(rig):
    """The driver is unbound: connections that are up are their consumer's to end, all others end
    at once."""
    pci = pci_slot(rig)
    since = load(rig, "flight=1")
    succeeds(rig.run(1, f"echo {pci} > {DRIVER}/unbind", 60 * rig.slowness), "unbind")
    landed(rig, pci, since)


def test_reset(rig):
    """The function is reset under the driver."""
    pci = pci_slot(rig)
    since = load(rig, "flight=1 told=1")
    succeeds(rig.run(1, f"echo 1 > /sys/bus/pci/devices/{pci}/reset", 60 * rig.slowness), "reset")
    landed(rig, pci, since)


def test_pulled(rig):
    """The device is pulled out and put back in."""
    pci = pci_slot(rig)
    since = load(rig, "flight=1 told=1")
    equal(rig.nic(1).control("removed yes"), "ok\n", "answer to 'removed yes'")
    check(wait_until(lambda: over(rig, since), 60 * rig.slowness, 0.3), "the consumer hears of it")
    equal(rig.nic(1).control("removed no"), "ok\n", "answer to 'removed no'")
    check(wait_until(lambda: bool(log_lines(rig, since, f"ornic {pci}: reset done")),
                     30 * rig.slowness, 0.3), "the driver takes it back")
    landed(rig, pci, since)
