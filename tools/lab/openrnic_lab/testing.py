# SPDX-License-Identifier: GPL-2.0-or-later
"""What a VM test case in Python uses: every check says what it checked."""

import functools
import re
import shutil
import subprocess
import time

from .common import TOP, wait_until


class Skip(Exception):
    """The case does not apply here; the text says why."""


def check(condition, what):
    """what must be true."""
    if not condition:
        raise AssertionError(what)
    print(f"    ok: {what}", flush=True)


def equal(got, expected, what):
    """what must have exactly this value."""
    if got != expected:
        raise AssertionError(f"{what}: {got!r}, expected {expected!r}")
    print(f"    ok: {what} is {got!r}", flush=True)


def succeeds(result, what):
    """The command whose Result this is must have succeeded."""
    if not result:
        lines = "\n".join(f"        {line}" for line in result.output.splitlines()[-15:])
        raise AssertionError(f"{what}: exit code {result.code}\n{lines}")
    print(f"    ok: {what}", flush=True)
    return result.output


@functools.cache
def _built_module(name, kernel):
    """Path of the module tests/vm/NAME, built once a run."""
    done = subprocess.run([TOP / "tests/vm/build-module", name, kernel], check=False,
                          stdout=subprocess.PIPE, text=True)
    equal(done.returncode, 0, f"exit code of the build of {name}")
    return done.stdout.split()[-1]


def build_module(rig, name):
    """Builds tests/vm/NAME for the rig's kernel; it is /lab/NAME.ko in the guests."""
    shutil.copy(_built_module(name, rig.kernel), rig.share / f"{name}.ko")


def log_length(rig):
    """Lines in machine 1's kernel log, for log_lines()."""
    return int(rig.vm(1).check("dmesg | wc -l"))


def log_lines(rig, since, text):
    """The lines after the first since of machine 1's kernel log, from text on, that have it."""
    lines = rig.vm(1).check("dmesg").splitlines()[since:]
    return [line[line.index(text):] for line in lines if text in line]


def pci_slot(rig):
    """PCI address of RNIC 1's function in machine 1."""
    return rig.vm(1).check(". /run/rig; ethtool -i $NETDEV1 | sed -n 's/^bus-info: //p'").strip()


def resources(machine):
    """{device: {kind: count}} of all RDMA objects that the guest's kernel tracks."""
    found = {}
    for line in machine.check("rdma resource show").splitlines():
        match = re.match(r"\d+: (\S+?): (.*)", line)
        if match:
            words = match[2].split()
            found[match[1]] = dict(zip(words[::2], map(int, words[1::2])))
    return found


def objects(rig):
    """The resources() of each machine and device of a rig."""
    return {(machine.id, device): counts for machine in rig.machines
            for device, counts in resources(machine).items()}


def left_over(rig, before):
    """RDMA objects of our RNICs that are there now, some time later still, and were not among objects()
    before."""
    def differences():
        return [f"vm{vm} {device}: {kind} {count}, {before[vm, device].get(kind, 0)} before"
                for (vm, device), counts in objects(rig).items()
                if (vm, device) in before and not device.startswith(("siw", "rxe"))
                for kind, count in counts.items() if count > before[vm, device].get(kind, 0)]
    wait_until(lambda: not differences(), 15, 1)
    return differences()


def listeners(rig, end):
    """Number of listeners at one end of the wire.  Of our RNICs it is what the device has: the
    kernel's own list has one a moment earlier, and none on the wildcard address."""
    counters = "/sys/class/infiniband/*/ports/1/hw_counters/cm_listeners"
    # Not in the end's namespace: only where a device belongs to has it counters.
    counts = rig.vm(end).run(f"cat {counters} 2> /dev/null; [ ! -e /sys/module/siw ] || "
                             "rdma resource show cm_id | grep -c 'link siw.*state LISTEN'")
    return sum(map(int, counts.output.split()))


def serve(rig, end, command, timeout=None):
    """Starts a verbs server; returns its Job when there is one more listener, or after 10 s: on a
    loaded host a program takes seconds to start."""
    before = listeners(rig, end)
    job = rig.spawn(end, command, timeout)
    wait_until(lambda: job.code is not None or listeners(rig, end) > before,
               10 * rig.slowness, 0.3)
    # one on the wildcard address now goes to the next device
    time.sleep(0.2 * rig.slowness)
    return job


def works(rig):
    """RNIC 1, whose driver was bound anew or took it back: Ethernet and RDMA to the other end."""
    rig.setup(rig.vm(1))
    check(wait_until(lambda: bool(rig.run(1, "ping -c 1 -W 1 10.0.0.2")), 20 * rig.slowness),
          "ping")
    server = serve(rig, 2, "rping -s -a 10.0.0.2 -C 10 -V")
    succeeds(rig.run(1, "rping-rounds -a 10.0.0.2 -C 10 -V"), "rping")
    server.wait()
