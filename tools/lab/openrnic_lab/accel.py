# SPDX-License-Identifier: GPL-2.0-or-later
"""Chooses QEMU's accelerator.

/dev/kvm may open and still not be able to run a stock kernel (nested virtualization with
parts missing), so KVM is used only when a probe boot has succeeded on this host since it
was started, or when ORNIC_ACCEL=kvm says so.  ORNIC_ACCEL=tcg skips the probe.
"""

import os
import pathlib
import subprocess
import tempfile

from .common import cache, say, wait_until

PROBE_SECONDS = 10


def _boots(image):
    with tempfile.TemporaryDirectory(prefix="openrnic-probe-") as directory:
        log = pathlib.Path(directory) / "serial"
        log.touch()
        with subprocess.Popen(
                ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-no-reboot",
                 "-display", "none", "-machine", "q35", "-accel", "kvm", "-cpu", "host",
                 "-m", "1G", "-kernel", image / "kernel", "-initrd", image / "stage1.cpio",
                 "-append", "console=ttyS0 quiet panic=-1 lab.id=0",
                 "-drive", f"file={image}/root.ext4,if=none,id=root,format=raw,snapshot=on",
                 "-device", "virtio-blk-pci,drive=root", "-serial", f"file:{log}"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL) as qemu:
            try:
                wait_until(lambda: qemu.poll() is not None or
                           "LAB-READY" in log.read_text(errors="replace"), PROBE_SECONDS)
                return "LAB-READY" in log.read_text(errors="replace")
            finally:
                qemu.kill()


def choose(image):
    """"kvm" or "tcg"."""
    wanted = os.environ.get("ORNIC_ACCEL")
    if wanted in ("kvm", "tcg"):
        return wanted
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    stamp = cache() / "stamps" / "kvm-probe"
    known, _, result = (stamp.read_text() if stamp.exists() else "").strip().partition(" ")
    if known != boot:
        say("/dev/kvm is there: trying one boot with it")
        result = "kvm" if _boots(image) else "tcg"
        say(f"probe boot: using {result} on this host until it is restarted")
        stamp.write_text(f"{boot} {result}\n")
    return result
