# SPDX-License-Identifier: GPL-2.0-or-later
"""NFS over RDMA in a rig's guests (tools/lab/guest-nfs does the work there)."""

import contextlib
import re

MNT, EXPORT = "/mnt", "/export"
CLIENT, SERVER = 1, 2

# Fields of a mount's "xprt: rdma" line in /proc/self/mountstats, after the transport's name.
FIELDS = ("port bind_count connect_count connect_time idle_time sends recvs bad_xids req_u bklog_u "
          "read_chunks write_chunks reply_chunks rdma_request rdma_reply pullup fixup hardway "
          "failed_marshal bad_reply nomsg_call mrs_recycled mrs_orphaned mrs_allocated local_inv "
          "empty_sendctx reply_waits").split()


def supported(rig):
    """Whether the kernel has NFS over RDMA at both ends."""
    return bool(rig.run(CLIENT, "modprobe -n rpcrdma && { modprobe -n nfsd || "
                                "grep -q nfsd /proc/filesystems; }"))


@contextlib.contextmanager
def server(rig):
    """The server exports a tmpfs; nothing of it is left afterwards, nor of a mount."""
    try:
        rig.vm(SERVER).check("guest-nfs serve", 60 * rig.slowness)
        yield
    finally:
        rig.run(CLIENT, f"guest-nfs unmount {MNT}")
        rig.run(SERVER, "guest-nfs stop")
        for end in (CLIENT, SERVER):
            rig.run(end, "guest-nfs unload")


def mount(rig, options, address="10.0.0.2"):
    """The Result of a mount over RDMA."""
    return rig.run(CLIENT, f"guest-nfs mount '{address}:{EXPORT}' {MNT} {options}")


def statistics(rig):
    """{field: number} of the mount's connection."""
    text = rig.vm(CLIENT).check("cat /proc/self/mountstats")
    numbers = re.search(r"xprt:\s+rdma ([\d ]+)", text)[1].split()
    return dict(zip(FIELDS, map(int, numbers)))
