# SPDX-License-Identifier: GPL-2.0-or-later
"""One virtual machine of a rig: QEMU, and commands run in the guest."""

import dataclasses
import fcntl
import json
import os
import re
import shlex
import signal
import socket
import struct
import subprocess
import threading
import time

from .common import LabError, tail, wait_until

PORTS = 8
GRACE = 30      # seconds that a guest may be late in reporting a command's time-out
KERNEL_ARGS = (
    "console=ttyS0 loglevel=5 panic=-1 mitigations=off cryptomgr.notests audit=0 apparmor=0 "
    "tsc=reliable no_timer_check raid=noautodetect nokaslr net.ifnames=0 kmemleak=on "
    # a loaded host stops a guest's only CPU for seconds; that is no stall of the guest
    "rcupdate.rcu_cpu_stall_timeout=120 workqueue.watchdog_thresh=120 watchdog_thresh=60")


@dataclasses.dataclass
class Result:
    """What a command in a guest did."""

    code: int
    output: str

    def __bool__(self):
        return self.code == 0


class Job:
    """A command running in a guest."""

    def __init__(self, machine, command, timeout):
        self.machine, self.command, self.timeout = machine, command, timeout
        self.code = None
        self._output = bytearray()
        self._error = None
        self._changed = threading.Condition()
        self._port, self._lock = machine.take_port()
        self._thread = threading.Thread(target=self._read, daemon=True)
        wrapped = (f"cd /root; . /lab/profile 2>/dev/null; "
                   f"exec timeout -s KILL {timeout} bash -c {shlex.quote(command)}").encode()
        # what a command before this one left behind is not ours: see guest-agent.c
        self._name = os.urandom(16)
        self._received = bytearray()
        self._port.settimeout(timeout + GRACE)
        self._send(self._name + struct.pack("<I", len(wrapped)) + wrapped)
        self._thread.start()

    def _send(self, request):
        try:
            self._port.sendall(request)
        except OSError as error:
            raise LabError(f"vm{self.machine.id}: command", f"QEMU has ended ({error})",
                           self.machine.serial) from error

    def _receive_more(self):
        part = self._port.recv(65536)
        if not part:
            raise ConnectionError("QEMU has ended")
        self._received += part

    def _receive(self, length):
        while len(self._received) < length:
            self._receive_more()
        data = bytes(self._received[:length])
        del self._received[:length]
        return data

    def _receive_name(self):
        while (at := self._received.find(self._name)) < 0:
            del self._received[:-len(self._name)]
            self._receive_more()
        del self._received[:at + len(self._name)]

    def _read(self):
        try:
            self._receive_name()
            while self.code is None:
                kind, length = struct.unpack("<cI", self._receive(5))
                data = self._receive(length)
                with self._changed:
                    if kind == b"O":
                        self._output += data
                    else:
                        self.code, = struct.unpack("<i", data)
                    self._changed.notify_all()
        except (OSError, struct.error) as error:
            with self._changed:
                self._error = error
                self._changed.notify_all()
        finally:
            self._port.close()
            self._lock.close()

    @property
    def output(self):
        """All output so far."""
        return self._output.decode(errors="replace")

    def wait_for(self, pattern, seconds=30):
        """Waits until the output has a match of pattern; returns it, or None."""
        end = time.monotonic() + seconds
        with self._changed:
            while True:
                match = re.search(pattern, self.output, re.MULTILINE)
                left = end - time.monotonic()
                if match or self.code is not None or self._error or left <= 0:
                    return match
                self._changed.wait(left)

    def wait(self):
        """Waits for the end; a guest that does not answer is a LabError."""
        self._thread.join()
        if self._error is not None:
            short = self.command if len(self.command) < 100 else self.command[:97] + "..."
            raise LabError(f"vm{self.machine.id}: command '{short}'",
                           f"no answer from the guest ({self._error})", self.machine.serial)
        return Result(self.code, self.output)


class Machine:
    """A guest.  Paths given to QEMU are relative to the run directory, since the path of
    a unix socket must not be longer than 107 bytes."""

    def __init__(self, rig, number, smp=1, memory="2G"):
        self.rig, self.id = rig, number
        self.smp, self.memory = smp, memory
        self.devices = []
        self.process = None
        self.serial = rig.dir / f"vm{number}.serial.log"

    def _arguments(self):
        image, me = self.rig.image, f"vm{self.id}"
        cpu = "host" if self.rig.accel == "kvm" else "max,-la57"
        accel = "kvm" if self.rig.accel == "kvm" else "tcg,thread=multi"
        args = [
            "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
            "-machine", "q35,memory-backend=ram", "-accel", accel, "-cpu", cpu,
            "-smp", str(self.smp), "-m", self.memory,
            "-object", f"memory-backend-memfd,id=ram,size={self.memory},share=on",
            "-kernel", image / "kernel", "-initrd", image / "stage1.cpio",
            "-append", f"{KERNEL_ARGS} lab.id={self.id} {self.rig.append}",
            "-drive", f"file={image}/root.ext4,if=none,id=root,format=raw,snapshot=on",
            "-device", "virtio-blk-pci,drive=root",
            "-serial", f"file:{me}.serial.log",
            "-chardev", f"socket,id=qmp,path={me}.qmp,server=on,wait=off",
            "-mon", "chardev=qmp,mode=control",
            "-device", f"virtio-serial-pci,max_ports={PORTS + 2}",
            "-chardev", f"socket,id=console,path={me}.console,server=on,wait=off",
            "-device", "virtconsole,chardev=console",
            "-fsdev", "local,id=lab,path=share,security_model=none",
            "-device", "virtio-9p-pci,fsdev=lab,mount_tag=lab",
            "-device", "virtio-rng-pci",
        ]
        for port in range(PORTS):
            args += ["-chardev", f"socket,id=lab{port},path={me}.lab{port},server=on,wait=off",
                     "-device", f"virtserialport,chardev=lab{port},name=lab{port}"]
        return args + self.devices

    def add_rnic(self, name, socket_path):
        """Plugs an RNIC in, whose rnicd listens at socket_path.  The time-out is that of
        QEMU for one message; a loaded host must not look like a dead device."""
        self.devices += ["-device", json.dumps({
            "driver": "vfio-user-pci", "id": name, "x-msg-timeout": self.rig.msg_timeout,
            "socket": {"type": "unix", "path": str(socket_path)}})]

    def add_virtio(self, netdev, mac):
        """Plugs a virtio NIC in; netdev is QEMU's -netdev argument without its id."""
        name = f"net{sum(arg == '-netdev' for arg in self.devices)}"
        kind, _, rest = netdev.partition(",")
        self.devices += ["-netdev", f"{kind},id={name},{rest}",
                         "-device", f"virtio-net-pci,netdev={name},mac={mac}"]

    def start(self):
        """Starts QEMU; wait_ready() tells when the guest answers."""
        self.serial.write_text("")
        with open(self.rig.dir / f"vm{self.id}.qemu.log", "wb") as log:
            self.process = subprocess.Popen(
                ["qemu-system-x86_64", *map(str, self._arguments())], cwd=self.rig.dir,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _boot_state(self):
        text = self.serial.read_text(errors="replace")
        for word in ("LAB-READY", "LAB-FAILED", "Kernel panic"):
            if word in text:
                return word
        return "ended" if self.process.poll() is not None else None

    def wait_ready(self, seconds):
        """Waits for the guest's agent."""
        state = wait_until(self._boot_state, seconds)
        if state != "LAB-READY":
            for log in (self.serial, self.rig.dir / f"vm{self.id}.qemu.log"):
                print(tail(log), flush=True)
            raise LabError(f"vm{self.id}: boot", f"{state or 'not up'} after {seconds} s"
                           if not state else state, self.serial)

    def take_port(self):
        """A free agent port: (connected socket, lock that keeps others from it)."""
        def free():
            for port in range(PORTS):
                base = self.rig.dir / f"vm{self.id}.lab{port}"
                lock = open(f"{base}.lock", "w")
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    lock.close()
                    continue
                return connect(base), lock
            return None
        try:
            taken = wait_until(free, 60)
        except OSError as error:
            raise LabError(f"vm{self.id}: command", f"QEMU does not run ({error})",
                           self.serial) from error
        if not taken:
            raise LabError(f"vm{self.id}: command", "all agent ports are busy", self.serial)
        return taken

    def spawn(self, command, timeout=120):
        """Starts a command and returns its Job; it is killed after timeout seconds."""
        return Job(self, command, timeout)

    def run(self, command, timeout=120):
        """Runs a command to its end and returns its Result."""
        return self.spawn(command, timeout).wait()

    def check(self, command, timeout=120):
        """Runs a command that must succeed and returns its output."""
        result = self.run(command, timeout)
        if not result:
            raise LabError(f"vm{self.id}: {command}", f"exit code {result.code}: "
                           f"{result.output.strip()[-2000:]}")
        return result.output

    def cpu_seconds(self):
        """CPU time that QEMU has used: that of the guest and of its devices."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def qmp(self, command):
        """What QEMU answers to a command of its monitor that takes no arguments."""
        with connect(self.rig.dir / f"vm{self.id}.qmp") as sock, sock.makefile("rw") as stream:
            sock.settimeout(GRACE)
            stream.readline()       # its greeting
            for name in ("qmp_capabilities", command):
                stream.write(json.dumps({"execute": name}))
                stream.flush()
                answer = {}
                while not answer.keys() & {"return", "error"}:      # events may come before
                    answer = json.loads(stream.readline())
        if "error" in answer:
            raise LabError(f"vm{self.id}: QMP {command}", answer["error"]["desc"])
        return answer["return"]

    def wait_end(self, seconds):
        """Waits for QEMU to end by itself; its exit code, or None."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def stop(self):
        """Ends QEMU at once; nothing of a guest is kept."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        self.process = None


def connect(path):
    """A connection to a unix stream socket whose path may be too long for one."""
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(f"/proc/self/fd/{directory}/{path.name}")
        return sock
    finally:
        os.close(directory)
