# SPDX-License-Identifier: GPL-2.0-or-later
"""A rig: one or two machines, their RNICs, and the wire between them.

Shape "one": one machine, two RNICs.  In the guest the first is in the initial network
namespace (10.0.0.1), the second in the namespace "b" (10.0.0.2).
Shape "two": two machines with an RNIC each (10.0.0.1 and 10.0.0.2) and, on request, a
virtio NIC each (10.0.1.1 and 10.0.1.2), for siw and for comparison.

With ORNIC_NIC=siw each RNIC is a virtio NIC with the same address and siw on top: what
fails then too is not our RNIC's fault.

Wires: "dgram", AF_UNIX datagram sockets between the two ends, and "tap", tap devices on a
bridge of the run's own network namespace, where virtio NICs and RNICs see each other.
"""

import fcntl
import os
import pathlib
import shutil
import stat
import subprocess
import time

from . import accel
from .common import BUILD, LAB_DIR, RUNS, TOP, LabError, cache, say, tail, tool, wait_until
from .dmesg import scan
from .machine import Machine, connect

BOOT_SECONDS = 180     # the debug kernel may take as much longer as it is slower


def default_kernel():
    """The debug kernel when it is there, unless ORNIC_KERNEL says otherwise."""
    wanted = os.environ.get("ORNIC_KERNEL")
    if wanted in ("stock", "debug"):
        return wanted
    return "debug" if (cache() / "stamps" / "debug-kernel").exists() else "stock"


def build(kernel, rnics=True):
    """Builds what a rig needs that is not there: images and, for RNICs, our parts."""
    tool("image", kernel)
    if not rnics or os.environ.get("ORNIC_NIC") == "siw":
        return
    steps = (("kernel modules", [LAB_DIR / "modules", "--kernel", kernel, "-s", "-j2"]),
             ("provider", [LAB_DIR / "provider"]),
             ("rnicd", ["make", "-s", "-C", TOP / "tools/rnicd", f"BUILD={BUILD}"]))
    RUNS.mkdir(parents=True, exist_ok=True)
    for name, command in steps:
        log = RUNS / f"build-{name.replace(' ', '-')}.log"
        with open(log, "wb") as out, \
                subprocess.Popen(command, stdout=out, stderr=out) as process:
            try:
                process.wait(2)
            except subprocess.TimeoutExpired:
                say(f"building {name} ...")
        if process.returncode:
            print(tail(log), flush=True)
            raise LabError(f"build of {name}", f"exit code {process.returncode}", log)


class Rnic:
    """One rnicd process: an RNIC that can be plugged into a machine."""

    def __init__(self, rig, number, mac, wire):
        self.rig, self.number, self.mac, self.wire = rig, number, mac, wire
        self.name = f"nic{number}"
        self.log = rig.dir / f"{self.name}.log"
        self.socket = f"{self.name}.vfu"
        self.process = None

    def start(self):
        """Starts rnicd and waits until it listens."""
        binary = os.environ.get("ORNIC_RNICD", str(BUILD / "rnicd" / "rnicd"))
        level = os.environ.get("ORNIC_RNICD_LOG", "info")
        for name in (self.socket, f"{self.name}.ctl"):
            (self.rig.dir / name).unlink(missing_ok=True)
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [binary, "--socket", self.socket, "--wire", self.wire, "--mac", self.mac,
                 "--control", f"{self.name}.ctl", "--log", level],
                cwd=self.rig.dir, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        path = self.rig.dir / self.socket
        wait_until(lambda: self.process.poll() is not None or
                   (path.exists() and stat.S_ISSOCK(path.stat().st_mode)), 20)
        if self.process.poll() is not None or not path.exists():
            print(tail(self.log), flush=True)
            raise LabError(f"{self.name}: start of rnicd",
                           f"exit code {self.process.poll()}", self.log)

    def control(self, command, seconds=10):
        """Sends one command to rnicd's control socket and returns the answer's text."""
        sock = connect(self.rig.dir / f"{self.name}.ctl")
        with sock:
            sock.settimeout(seconds)
            sock.sendall(command.encode() + b"\n")
            sock.shutdown(1)
            answer = b""
            while part := sock.recv(65536):
                answer += part
        return answer.decode()

    def cpu_seconds(self):
        """CPU time that this rnicd has used."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as text:
            fields = text.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def alive(self):
        """Whether rnicd still runs."""
        return self.process is not None and self.process.poll() is None

    def stop(self):
        """Ends rnicd."""
        if self.alive():
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process = None


class Rig:
    """Use as a context manager: leaving it ends everything; the logs stay when it failed."""

    def __init__(self, name, shape="one", wire="dgram", *, kernel=None, rnics=True,
                 virtio=None, smp=1, mtu=1500, append="", keep=False):
        self.name, self.shape, self.wire = name, shape, wire
        self.kernel = kernel or default_kernel()
        self.rnics = rnics
        self.stand_in = rnics and os.environ.get("ORNIC_NIC") == "siw"
        self.virtio = (wire == "tap" or not rnics) if virtio is None else virtio
        self.smp, self.mtu, self.append, self.keep = smp, mtu, append, keep
        self.msg_timeout = int(os.environ.get("ORNIC_MSG_TIMEOUT", "60000"))
        self.dir = RUNS / name
        self.image = cache() / f"image-{self.kernel}"
        self.machines, self.nics, self._links = [], [], []
        self.accel = None
        # how much longer a program may take: under TCG, KASAN and lockdep cost that much
        self.slowness = 4 if self.kernel == "debug" else 1
        self._lock = None

    # -- machines by number, as people say it: rig.vm(1), rig.nic(2)

    def vm(self, number):
        """Machine 1 or 2; the only machine for either number in shape "one"."""
        if number not in (1, 2) or not self.machines:
            raise LabError(f"machine {number}", f"rig '{self.name}' has no such machine")
        return self.machines[0 if self.shape == "one" else number - 1]

    def nic(self, number):
        """RNIC 1 or 2."""
        if not 1 <= number <= len(self.nics):
            raise LabError(f"RNIC {number}", f"rig '{self.name}' has no such RNIC")
        return self.nics[number - 1]

    def run(self, end, command, timeout=None):
        """Runs a command at one end of the wire, 1 or 2, whatever the shape; by default it
        is killed after two minutes, or as much longer as the kernel is slower."""
        return self.spawn(end, command, timeout).wait()

    def spawn(self, end, command, timeout=None):
        """As run(), without waiting for the end."""
        timeout = timeout or 120 * self.slowness
        if self.shape == "one" and end == 2:
            command = f"exec ip netns exec b bash -c {_quote(command)}"
        return self.vm(end).spawn(command, timeout)

    def address(self, end):
        """IPv4 address of the RNIC at one end."""
        return f"10.0.0.{end}"

    # -- life

    def _take_directory(self):
        RUNS.mkdir(parents=True, exist_ok=True)
        self._lock = open(RUNS / f"{self.name}.lock", "w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LabError(f"rig '{self.name}'", "is running already (make lab-down)") from None
        shutil.rmtree(self.dir, ignore_errors=True)
        self.share = self.dir / "share"
        self.share.mkdir(parents=True)
        (self.dir / "shape").write_text(self.shape)     # for attach()

    def _fill_share(self):
        (self.share / "bin").mkdir()
        for script in [LAB_DIR / "guest-setup", LAB_DIR / "guest-nfs",
                       *(TOP / "tests/vm/guest").glob("*")]:
            if script.is_file():
                shutil.copy(script, self.share / "bin")
        programs = BUILD / "vm-programs"
        for program in programs.glob("*") if programs.is_dir() else ():
            shutil.copy(program, self.share / "bin")
        (self.share / "profile").write_text(
            f"export PATH=/lab/bin:$PATH SLOWNESS={self.slowness}\n")
        (self.share / "ornic.driver").touch()
        if self.stand_in:
            (self.share / "use-siw").touch()
        if not self.rnics or self.stand_in:
            return
        modules = BUILD / ("modules" if self.kernel == "stock" else "modules-debug")
        for file in (modules / "ornic.ko", modules / "iw_ornic.ko",
                     *(BUILD / "provider").glob("libornic-rdmav*.so"),
                     BUILD / "provider" / "ornic.driver"):
            if not file.exists():
                raise LabError("run directory", f"{file.relative_to(TOP)} is not built")
            if file.suffix == ".ko":
                # debug information is most of it, and a TCG guest would have to read it
                subprocess.run(["strip", "-g", "-o", self.share / file.name, file], check=True)
            else:
                shutil.copy(file, self.share)

    def _make_bridge(self, taps):
        commands = [["ip", "link", "add", "wire", "type", "bridge", "mcast_snooping", "0"],
                    ["ip", "link", "set", "wire", "mtu", "9000", "up"]]
        for name in taps:
            commands += [["ip", "tuntap", "add", name, "mode", "tap"],
                         ["ip", "link", "set", name, "mtu", "9000", "master", "wire", "up"]]
        for command in commands:
            done = subprocess.run(command, stderr=subprocess.PIPE, check=False)
            if done.returncode:
                raise LabError("wire", f"{' '.join(command)}: {done.stderr.decode().strip()}")
            if command[2] == "add":
                self._links.append(command[3])

    def _rnic_wire(self, number):
        if self.wire == "tap":
            return f"tap:rnic{number},mtu=9000"
        return f"dgram:local=wire{number},remote=wire{3 - number},mtu=9000"

    def _virtio_wire(self, number, name="virt"):
        if self.wire == "tap":
            return f"tap,ifname={name}{number},script=no,downscript=no"
        return (f"dgram,local.type=unix,local.path={name}{number},"
                f"remote.type=unix,remote.path={name}{3 - number}")

    def _assemble(self):
        count = 1 if self.shape == "one" else 2
        self.machines = [Machine(self, number, self.smp) for number in range(1, count + 1)]
        if self.wire == "tap":
            taps = [f"rnic{n}" for n in (1, 2)] if self.rnics else []
            self._make_bridge(taps + ([f"virt{n}" for n in (1, 2)] if self.virtio else []))
        for number in (1, 2):
            if self.virtio:
                self.vm(number).add_virtio(self._virtio_wire(number),
                                           f"52:54:00:00:00:0{number}")
            mac = f"02:00:0e:57:00:0{number}"
            if self.stand_in:
                self.vm(number).add_virtio(self._virtio_wire(number, "rnic"), mac)
            elif self.rnics:
                nic = Rnic(self, number, mac, self._rnic_wire(number))
                self.nics.append(nic)
                nic.start()
                self.vm(number).add_rnic(nic.name, nic.socket)

    def start(self):
        """Boots everything and sets the guests up."""
        self._take_directory()
        begin = time.monotonic()
        self.accel = accel.choose(self.image)
        self._fill_share()
        self._assemble()
        say(f"{self.name}: booting {len(self.machines)} machine(s), {self.kernel} kernel, "
            f"{self.accel}, wire {self.wire}")
        for machine in self.machines:
            machine.start()
        for machine in self.machines:
            machine.wait_ready(BOOT_SECONDS * self.slowness)
        for machine in self.machines:
            self.setup(machine)
        say(f"{self.name}: up in {time.monotonic() - begin:.1f} s")

    def setup(self, machine):
        """Loads our modules and sets addresses, as far as that is not done."""
        result = machine.run(f"guest-setup {self.shape} {self.mtu}", 60 * self.slowness)
        if not result:
            print("\n".join("    " + line for line in result.output.splitlines()[-25:]), flush=True)
            raise LabError(f"vm{machine.id}: guest-setup", f"exit code {result.code}",
                           self._save_dmesg(machine))

    def _save_dmesg(self, machine):
        path = self.dir / f"vm{machine.id}.dmesg.log"
        with open(path, "a", encoding="utf-8") as log:
            log.write(machine.run("dmesg --read-clear", 60).output)
        return path

    def check_logs(self):
        """Reads and clears every guest's kernel log; returns "vmN: line" of each line that
        must not be there, and says so if an rnicd has ended."""
        found = []
        for machine in self.machines:
            path = self.dir / f"vm{machine.id}.dmesg.log"
            before = path.stat().st_size if path.exists() else 0
            self._save_dmesg(machine)
            text = path.read_text(encoding="utf-8")[before:]
            found += [f"vm{machine.id}: {line}" for line in scan(text)]
        for nic in self.nics:
            if not nic.alive():
                found.append(f"{nic.name}: rnicd has ended, log: {nic.log}")
            elif "Sanitizer" in nic.log.read_text(errors="replace"):
                found.append(f"{nic.name}: sanitizer report, log: {nic.log}")
        return found

    def stop(self):
        """Ends machines and RNICs."""
        for part in self.machines + self.nics:
            part.stop()
        for link in self._links:
            subprocess.run(["ip", "link", "del", link], stderr=subprocess.DEVNULL, check=False)
        self._links = []
        if self._lock:
            self._lock.close()
        self._lock = None

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind, error, trace):
        self.stop()
        if kind is None and not self.keep:
            shutil.rmtree(self.dir, ignore_errors=True)


def running(name):
    """Whether a rig of that name runs now (in any process)."""
    path = RUNS / f"{name}.lock"
    if not path.exists():
        return False
    with open(path, "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def attach(name):
    """A Rig object for a rig that another process runs: enough to run commands."""
    if not running(name):
        raise LabError(f"rig '{name}'", "is not running (make lab-up)")
    rig = Rig(name, (RUNS / name / "shape").read_text().strip())
    count = len(list(pathlib.Path(rig.dir).glob("vm*.serial.log")))
    rig.machines = [Machine(rig, number) for number in range(1, count + 1)]
    for number in (1, 2):
        if (rig.dir / f"nic{number}.ctl").exists():
            rig.nics.append(Rnic(rig, number, None, None))
    return rig


def _quote(command):
    return "'" + command.replace("'", "'\\''") + "'"
