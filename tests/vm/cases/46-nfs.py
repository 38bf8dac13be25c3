# SPDX-License-Identifier: GPL-2.0-or-later
"""NFS over RDMA, from machine 1 to machine 2.

The client registers its pages fast, for one request each, and the server reads and writes them
and has them invalidated by its reply.  Whatever ends a connection in the middle of that, the
client does all over again on the next: not one byte may differ, at either end.
"""

import contextlib
import re
import time

from openrnic_lab.common import wait_until
from openrnic_lab.nfs import CLIENT, EXPORT, MNT, SERVER, mount, server, statistics, supported
from openrnic_lab.testing import Skip, check, equal, resources, succeeds

RIG = "two"
TIMEOUT = 300

ADDRESS6 = "2001:db8::{end}"
V3 = "vers=3,nolock"
V42 = "vers=4.2"
TREE = "/usr/share/zoneinfo/America"

# Sizes and depths; each job's file is verified by its writer, who reads it back, and at the
# server.
JOBS = """
[global]
ioengine=libaio
verify=crc32c
verify_fatal=1
fallocate=none
stonewall
[4k-1]
bs=4k
size=256k
rw=randwrite
[4k-16]
bs=4k
size=2m
iodepth=16
rw=randwrite
[odd-8]
bs=3584
size=896k
iodepth=8
rw=randwrite
[64k-4]
bs=64k
size=8m
iodepth=4
rw=randwrite
[1m-8]
bs=1m
size=16m
iodepth=8
rw=write
[mmap]
ioengine=mmap
direct=0
bs=4k
size=2m
rw=randwrite
[buffered]
direct=0
bs=20k
size=4000k
rw=write
end_fsync=1
"""
# Writes for some seconds, so that there is a middle; then it reads all of it back.
LONG = """
[global]
ioengine=libaio
verify=crc32c
verify_fatal=1
fallocate=none
[long]
bs=64k
size=10m
iodepth=4
rw=randwrite
rate=,4m
"""
LISTING = ("cd {directory} && find . -printf '%y %m %p %l\\n' | sort > /tmp/listing && "
           "find . -type f -printf '%s %T@ %p\\n' | sort >> /tmp/listing && "
           "find . -type f -print0 | sort -z | xargs -0 sha256sum >> /tmp/listing && "
           "sha256sum < /tmp/listing && wc -l < /tmp/listing")


@contextlib.contextmanager
def mounted(rig, options, address="10.0.0.2"):
    """A mount that is there, with the options that were asked for."""
    succeeds(mount(rig, options, address), f"mount of {address} with {options}")
    line = rig.vm(CLIENT).check(f"grep ' {MNT} ' /proc/mounts")
    version = options.partition(",")[0]
    proto = "rdma6" if ":" in address else "rdma"
    for word in (version, f"addr={address.strip('[]')}", f"proto={proto}"):
        check(word in re.split("[ ,]", line), f"the mount has {word}")
    yield
    succeeds(rig.run(CLIENT, f"umount {MNT}"), "umount")


def checksum(rig, end, path):
    """Of a file at one end."""
    return rig.vm(end).check(f"sha256sum < {path}").split()[0]


def fio(jobs, directory, more=""):
    """The command that runs jobs in a directory."""
    return (f"cat > /tmp/jobs.fio << 'END'\n{jobs}\nEND\n"
            f"cd /tmp && exec fio --directory={directory} {more} jobs.fio")


def verified(result, jobs, what):
    """Each of fio's jobs has found its data as it was written."""
    complaints = "\n".join(line for line in result.output.splitlines()
                           if line.startswith(("fio: ", "verify: ")))
    equal((result.code, complaints), (0, ""), f"exit code and complaints of {what}")
    equal(re.findall(r"err= *(\d+)", result.output), ["0"] * jobs.count("size="),
          "the errors of its jobs")


def clean(rig):
    """Nothing went wrong on the mount's connection that RPC over RDMA knows of."""
    found = statistics(rig)
    equal((found["bad_xids"], found["bad_reply"]), (0, 0), "number of bad replies")
    return found


@contextlib.contextmanager
def ready(rig):
    """A server, if the kernel can."""
    if not supported(rig):
        raise Skip("the kernel has no NFS over RDMA")
    with server(rig):
        yield


def need_fio(rig):
    """fio cannot do without System V shared memory."""
    if not rig.run(CLIENT, "test -e /proc/sys/kernel/shmmax"):
        raise Skip("fio needs a kernel with CONFIG_SYSVIPC (make debug-kernel makes one)")


# ---------------------------------------------------------------- data


@contextlib.contextmanager
def addresses6(rig):
    """An IPv6 address at each end."""
    command = ". /run/rig; ip addr {} " + ADDRESS6 + "/64 dev $NETDEV{end} {}"
    try:
        for end in (CLIENT, SERVER):
            rig.vm(end).check(command.format("add", "nodad", end=end))
        yield f"[{ADDRESS6.format(end=SERVER)}]"
    finally:
        for end in (CLIENT, SERVER):
            rig.run(end, command.format("del", "", end=end))


@contextlib.contextmanager
def used(rig, options, address):
    """A mount where a file of either end is the other's."""
    with mounted(rig, options, address):
        rig.vm(CLIENT).check(f"dd if=/dev/urandom of={MNT}/to bs=333333 count=3")
        rig.vm(SERVER).check(f"dd if=/dev/urandom of={EXPORT}/from bs=333333 count=3")
        for name in ("to", "from"):
            equal(checksum(rig, CLIENT, f"{MNT}/{name}"),
                  checksum(rig, SERVER, f"{EXPORT}/{name}"), f"checksum of '{name}'")
        yield
        found = clean(rig)
        check(found["read_chunks"] > 0 and found["write_chunks"] > 0,
              "data went by RDMA READ and RDMA WRITE")


def verify(rig):
    """fio with checksums in each block; the server looks at them too."""
    for end, directory, more in ((CLIENT, MNT, "--direct=1"), (SERVER, EXPORT, "--verify_only")):
        verified(rig.run(end, fio(JOBS, directory, more), 150 * rig.slowness), JOBS,
                 f"fio in {directory} {more}")


def tree(rig):
    """A tree of small files, links and folders comes out as it went in."""
    begin = time.monotonic()
    succeeds(rig.run(CLIENT, f"mkdir {MNT}/tree && tar cf - -C {TREE} . | tar xf - -C {MNT}/tree",
                     150 * rig.slowness), f"untar of {TREE} ({time.monotonic() - begin:.1f} s)")
    wanted = rig.vm(CLIENT).check(LISTING.format(directory=TREE)).split()
    equal(rig.vm(SERVER).check(LISTING.format(directory=f"{EXPORT}/tree")).split(), wanted,
          "checksum of all names, modes, times and contents at the server")
    rig.vm(CLIENT).check("echo 3 > /proc/sys/vm/drop_caches")
    equal(rig.vm(CLIENT).check(LISTING.format(directory=f"{MNT}/tree")).split(), wanted,
          "the same at the client")
    succeeds(rig.run(CLIENT, f"rm -r {MNT}/tree", 150 * rig.slowness), "it is removed")
    equal(rig.run(SERVER, f"ls -d {EXPORT}/tree").code, 2, "exit code of ls of it at the server")


def test_data(rig):
    """Both versions, both families; what is written is what is there, at both ends."""
    need_fio(rig)
    with ready(rig), addresses6(rig) as address6:
        for options in (V3, V42):
            with used(rig, options, address6):
                pass
        with used(rig, V42, rig.address(SERVER)):
            verify(rig)
            tree(rig)


# ---------------------------------------------------------------- connections that end


@contextlib.contextmanager
def writing(rig):
    """What is done here is done while fio writes, whose data must all be right in the end, at both
    ends."""
    before = statistics(rig)["connect_count"]
    writer = rig.spawn(CLIENT, fio(LONG, MNT, "--direct=1"), 150 * rig.slowness)
    yield writer
    verified(writer.wait(), LONG, "fio, which went on")
    verified(rig.run(SERVER, fio(LONG, EXPORT, "--verify_only")), LONG, "fio at the server")
    after = clean(rig)["connect_count"]
    check(after > before, f"the client has connected again ({before}, now {after} times)")
    rig.vm(CLIENT).check(f"rm {MNT}/long*")


def written(rig):
    """Waits until fio has written something."""
    size = f"[ $(stat -c %b {EXPORT}/long.0.0) -gt 4096 ]"
    check(wait_until(lambda: bool(rig.run(SERVER, size)), 30 * rig.slowness, 0.2),
          "fio has written 2 MiB")


def restart(rig):
    """The server is restarted in the middle; version 4.2 then gets back what it holds open."""
    with writing(rig) as writer:
        written(rig)
        succeeds(rig.run(SERVER, "guest-nfs pause"), "the server stops")
        time.sleep(1)
        check(writer.code is None, "fio waits")
        succeeds(rig.run(SERVER, "guest-nfs serve"), "the server starts")


def reset(rig):
    """The server's device fails in the middle and is reset."""
    with writing(rig):
        written(rig)
        equal(rig.nic(SERVER).control("fatal"), "ok\n", "answer to 'fatal'")


def refused(rig, module):
    """A module that is in use stays."""
    result = rig.run(CLIENT, f"rmmod {module}")
    check(result.code == 1 and "in use" in result.output, f"rmmod {module} is refused")


def unload(rig):
    """The client's driver goes and comes back.

    Not in the middle of I/O: the client then connects again at once, may get the device that is
    being removed, from which the CM has not been parted yet, and gives the program an EINVAL.
    """
    refused(rig, "ornic")
    refused(rig, "rpcrdma")
    succeeds(rig.run(CLIENT, "rmmod iw_ornic", 60 * rig.slowness), "rmmod iw_ornic")
    equal(rig.run(CLIENT, "rdma link show | grep -c ornic").output.strip(), "0", "RDMA devices")
    with writing(rig) as writer:
        time.sleep(1)
        check(writer.code is None, "fio waits")
        rig.setup(rig.vm(CLIENT))


def test_reconnect(rig):
    """Whatever ends the connection, the client goes on with the next one."""
    need_fio(rig)
    with ready(rig):
        with mounted(rig, V42):
            restart(rig)
            reset(rig)
            unload(rig)


# ---------------------------------------------------------------- unmounting without the server


def mounts(rig):
    """How many there are."""
    return int(rig.run(CLIENT, f"grep -c ' {MNT} ' /proc/mounts").output)


def qps(rig):
    """The client's, of all devices."""
    return sum(counts.get("qp", 0) for counts in resources(rig.vm(CLIENT)).values())


def gone(rig):
    """No mount and no QP is left."""
    equal(mounts(rig), 0, "number of mounts")
    check(wait_until(lambda: not qps(rig), 40 * rig.slowness, 0.5), "no QP is left")


def pending(rig, options, how):
    """A mount whose server has gone, and a program that waits for it to take what it writes."""
    succeeds(mount(rig, options), f"mount with {options}")
    rig.vm(CLIENT).check(f"rm -f /tmp/go; touch {MNT}/data; "
                         "dd if=/dev/urandom of=/tmp/data bs=64k count=16")
    writer = rig.spawn(CLIENT, "{ until [ -e /tmp/go ]; do sleep 0.1; done; cat /tmp/data; } | "
                       f"dd of={MNT}/data bs=64k iflag=fullblock {how}", 100 * rig.slowness)
    check(wait_until(lambda: bool(rig.run(CLIENT, f"ls -l /proc/[0-9]*/fd | grep -q {MNT}/data")),
                     20 * rig.slowness), "dd has the file open")
    succeeds(rig.run(SERVER, "guest-nfs pause"), "the server stops")
    rig.vm(CLIENT).check("touch /tmp/go")
    time.sleep(1)
    check(writer.code is None, "dd waits")
    return writer


def test_unmount(rig):
    """Unmounting while the server is away and I/O is pending."""
    with ready(rig):
        writer = pending(rig, V3, "conv=notrunc,fsync")
        rig.run(CLIENT, f"umount -f {MNT}")
        result = writer.wait()
        # With which error is not asked: Linux 6.12 gives programs its internal ERESTARTSYS.
        equal((result.code, re.findall("dd: (.*):", result.output)),
              (1, [f"fsync failed for '{MNT}/data'"]), "what dd says after umount -f")
        succeeds(rig.run(CLIENT, f"! mountpoint -q {MNT} || umount -f {MNT}"), "umount -f")
        gone(rig)
        succeeds(rig.run(SERVER, "guest-nfs serve"), "the server starts")

        writer = pending(rig, V42, "conv=notrunc oflag=direct")
        succeeds(rig.run(CLIENT, f"umount -l {MNT}"), "umount -l")
        equal(mounts(rig), 0, "number of mounts")
        check(writer.code is None, "dd still waits")
        succeeds(rig.run(SERVER, "guest-nfs serve"), "the server starts")
        succeeds(writer.wait(), "dd comes to its end")
        equal(checksum(rig, SERVER, f"{EXPORT}/data"), checksum(rig, CLIENT, "/tmp/data"),
              "checksum of what it wrote")
        gone(rig)
