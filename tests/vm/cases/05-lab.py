# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab itself: a command whose host end was killed ends, and what it left is nobody's output;
what is found in a kernel log."""

import os
import signal

from openrnic_lab.common import LabError, wait_until
from openrnic_lab.dmesg import scan
from openrnic_lab.machine import PORTS
from openrnic_lab.testing import check, equal

RIG = "one"
TOLERATED = """[  4.1] ------------[ cut here ]------------
[  4.2] DMA-API: ornic: cacheline tracking EEXIST, overlapping mappings aren't supported
[  4.3] WARNING: CPU: 0 PID: 1 at kernel/dma/debug.c:601 add_dma_entry+0x3cc/0x520
[  4.4] Call Trace:
[  4.5] ---[ end trace 0000000000000000 ]---
"""
LOUD = "yes output-of-the-old"


def test_killed_client(rig):
    """More output than fits on its way, and a client that dies in the middle of it."""
    machine = rig.vm(1)
    client = os.fork()
    if not client:
        job = machine.spawn(LOUD)
        wait_until(lambda: len(job.output) > 0, 30 * rig.slowness)
        os.kill(os.getpid(), signal.SIGKILL if job.output else signal.SIGTERM)
    equal(os.waitpid(client, 0)[1], signal.SIGKILL, "signal that killed a client with output")
    jobs = [machine.spawn(f"echo {number}") for number in range(PORTS)]
    for number, job in enumerate(jobs):
        equal(job.wait().output, f"{number}\n", f"output of command {number} after it")
    check(wait_until(lambda: not machine.run("pgrep -x yes"), 20 * rig.slowness, 0.2),
          "the old command has ended")


def test_no_such(rig):
    """A machine or an RNIC that a rig does not have is named, and is not another one."""
    for what in (rig.vm, rig.nic):
        for number in (0, 3, -1):
            try:
                found = what(number)
            except LabError as error:
                check(f" {number}: rig '{rig.name}' has no such" in str(error), str(error))
            else:
                raise AssertionError(f"number {number} is {found}")


def test_kernel_log(rig):
    """A report that is tolerated hides nothing else: neither before nor after it."""
    equal(scan(TOLERATED), [], f"what is wrong with a tolerated report ({rig.kernel} kernel)")
    other = TOLERATED.replace("cacheline tracking EEXIST", "device driver failed")
    for wrong in ("[  3.0] Oops: general protection fault [#1] PREEMPT SMP KASAN\n", other,
                  other.replace("---[ end trace", "cut off")):
        for text in (wrong + TOLERATED, TOLERATED + wrong, TOLERATED + wrong + TOLERATED):
            check(scan(text) == scan(wrong) != [], f"found: {scan(text)[:1]}")
