# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel consumers: NVMe over RDMA, target and host in one kernel, over the RNIC's own address.

The host registers its buffers fast and invalidates them, the target reads and writes them;
disconnecting drains the queues.  When the device stops in the middle, it is the driver that must
complete what is posted, or the drain never ends.
"""

from openrnic_lab.common import wait_until
from openrnic_lab.testing import Skip, check, equal, resources, succeeds

RIG = "one"
TIMEOUT = 200

SETUP = """
set -e
modprobe nvmet-rdma
modprobe nvme-rdma
mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
modprobe null_blk nr_devices=1 gb=1 memory_backed=1
cd /sys/kernel/config/nvmet
mkdir -p subsystems/t1/namespaces/1 ports/1
echo 1 > subsystems/t1/attr_allow_any_host
echo -n /dev/nullb0 > subsystems/t1/namespaces/1/device_path
echo 1 > subsystems/t1/namespaces/1/enable
echo ipv4 > ports/1/addr_adrfam
echo rdma > ports/1/addr_trtype
echo 10.0.0.1 > ports/1/addr_traddr
echo 4420 > ports/1/addr_trsvcid
ln -s $PWD/subsystems/t1 ports/1/subsystems/t1
"""
TEARDOWN = """
for c in /sys/class/nvme/nvme*/delete_controller; do echo 1 > $c; done
cd /sys/kernel/config/nvmet || exit 0
rm -f ports/1/subsystems/t1
rmdir ports/1
echo 0 > subsystems/t1/namespaces/1/enable
rmdir subsystems/t1/namespaces/1 subsystems/t1
sleep 1
modprobe -r nvme-rdma nvmet-rdma null_blk
exit 0
"""
UUID = "00000000-0000-0000-0000-000000000001"
CONNECT = ("echo transport=rdma,traddr=10.0.0.1,trsvcid=4420,nqn=t1,nr_io_queues=1,queue_size=32,"
           f"hostnqn=nqn.2014-08.org.nvmexpress:uuid:{UUID},hostid={UUID} > /dev/nvme-fabrics")
DISK = "/dev/nvme0n1"


def connect(rig):
    """The host connects; the block device appears."""
    succeeds(rig.run(1, CONNECT), "nvme host connects to its own target")
    check(wait_until(lambda: bool(rig.run(1, f"test -b {DISK}")), 20 * rig.slowness),
          f"{DISK} is there")


def no_objects(rig):
    """Whether no object but the pool of CQs, which the kernel keeps, is left."""
    found = resources(rig.vm(1))
    return all(not count for kinds in found.values() for kind, count in kinds.items()
               if kind not in ("cq", "cm_id"))


def test_nvme(rig):
    """Data goes both ways; a stop of the device in the middle is survived."""
    if not rig.run(1, "modprobe -n nvmet-rdma && modprobe -n nvme-rdma"):
        raise Skip("the kernel has no NVMe over RDMA")
    device = rig.vm(1).check(". /run/rig; echo $RDMA1").strip()
    try:
        succeeds(rig.run(1, SETUP), "nvme target listens")
        connect(rig)
        succeeds(rig.run(1, "dd if=/dev/urandom of=/tmp/there bs=64k count=64 && "
                         f"dd if=/tmp/there of={DISK} bs=64k oflag=direct && "
                         f"dd if={DISK} of=/tmp/back bs=64k count=64 iflag=direct && "
                         "cmp /tmp/there /tmp/back"), "4 MiB written and read back are the same")
        succeeds(rig.run(1, "echo 1 > /sys/class/nvme/nvme0/delete_controller"),
                 "the host disconnects")
        check(wait_until(lambda: no_objects(rig), 20 * rig.slowness), "no QP, MR or PD is left")

        connect(rig)
        load = rig.spawn(1, f"dd if=/dev/zero of={DISK} bs=64k count=100000 oflag=direct")
        check(rig.run(1, "sleep 2; pgrep -x dd"), "dd writes")
        rig.nic(1).control("fatal")
        check(load.wait().code != 0, "dd ends with an error after the device stopped")
        back = f"rdma link show {device}/1 | grep -q 'state ACTIVE'"
        # When the removal comes before nvme's own error recovery, nvme sends the controller a last
        # command on the dead queue, and gives it its 60 s of time.
        check(wait_until(lambda: bool(rig.run(1, back)), 60 + 40 * rig.slowness),
              "the RDMA device comes back")
        check(wait_until(lambda: no_objects(rig), 40 * rig.slowness), "no QP, MR or PD is left")
    finally:
        rig.run(1, TEARDOWN)
    equal(rig.run(1, "lsmod | grep -cE '^nvmet?_rdma '").output.strip(), "0",
          "number of NVMe transports that are still loaded")
