# SPDX-License-Identifier: GPL-2.0-or-later
"""A device that dies while its driver is being removed, and a consumer in the kernel waits for its
completions."""

import shutil
import subprocess

from openrnic_lab.common import TOP, wait_until
from openrnic_lab.testing import check, equal, serve, succeeds

RIG = "one"
TIMEOUT = 200
HOLD_MS = 6000
DRIVER = "/sys/bus/pci/drivers/ornic"


def said(rig, what):
    """The test module said so."""
    return bool(rig.run(1, f"dmesg | grep -q 'iwcm_test: {what}'"))


def test_unbind(rig):
    """The driver of RNIC 1 is unbound; the device stops before the QP is drained."""
    done = subprocess.run([TOP / "tests/vm/build-module", "iwcm_test", rig.kernel], check=False,
                          stdout=subprocess.PIPE, text=True)
    equal(done.returncode, 0, "exit code of the build of iwcm_test")
    shutil.copy(done.stdout.split()[-1], rig.share / "iwcm_test.ko")
    pci = rig.run(1, ". /run/rig; ethtool -i $NETDEV1 | sed -n 's/^bus-info: //p'").output.strip()
    succeeds(rig.run(1, "modprobe -q iw_cm; modprobe -q libcrc32c; . /run/rig; insmod "
                        f"/lab/iwcm_test.ko dev_a=$RDMA1 dev_b=$RDMA2 hold_ms={HOLD_MS}"),
             "a connection is held")
    unbind = rig.spawn(1, f"echo {pci} > {DRIVER}/unbind", 60 * rig.slowness)
    check(wait_until(lambda: said(rig, "removal"), 20 * rig.slowness, 0.2),
          "the consumer hears of the removal")
    equal(rig.nic(1).control("fatal"), "ok\n", "answer to 'fatal'")
    succeeds(unbind.wait(), "the unbind comes to its end")
    check(said(rig, "drained"), "the QP was drained")
    succeeds(rig.run(1, "rmmod iwcm_test"), "the consumer is unloaded")
    succeeds(rig.run(1, f"echo {pci} > {DRIVER}/bind"), "bind")
    rig.setup(rig.vm(1))
    check(wait_until(lambda: bool(rig.run(1, "ping -c 1 -W 1 10.0.0.2")), 20 * rig.slowness),
          "ping")
    server = serve(rig, 2, "rping -s -a 10.0.0.2 -C 10 -V")
    succeeds(rig.run(1, "rping -c -a 10.0.0.2 -C 10 -V"), "rping")
    server.wait()
