# SPDX-License-Identifier: GPL-2.0-or-later
"""Namespaces of one lab run.

Everything a run starts lives in a process, a network and a mount namespace of its own.
The first process of the process namespace is the lab program itself: when it ends, in
whatever way, the kernel kills all the others and the namespaces are gone, with the wires
in them.  So nothing can be left behind, not even after kill -9.
"""

import ctypes
import os
import signal
import subprocess
import sys

PR_SET_PDEATHSIG = 1
MS_REC_PRIVATE = 0x4000 | 0x40000
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_libc = ctypes.CDLL(None, use_errno=True)


def _mount(source, target, fstype, flags):
    if _libc.mount(source, target, fstype, flags, None):
        raise OSError(ctypes.get_errno(), f"mount {target!r}")


def _interrupt(signum, _frame):
    # once is enough: what follows is the orderly way out
    for number in FORWARDED:
        signal.signal(number, signal.SIG_IGN)
    raise SystemExit(128 + signum)


def _outer(child):
    """Stays outside, passes signals in and the exit code out."""
    def forward(signum, _frame):
        os.kill(child, signum)

    for number in FORWARDED:
        signal.signal(number, forward)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


def end_with_parent():
    """Has this process told to end when the one that has started it is gone."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def isolate(network=True):
    """Continues in new namespaces; the caller returns there as process 1."""
    flags = os.CLONE_NEWPID | os.CLONE_NEWNS | (os.CLONE_NEWNET if network else 0)
    sys.stdout.flush()
    sys.stderr.flush()
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
    os.unshare(flags)
    child = os.fork()
    if child:
        _outer(child)
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    for number in FORWARDED:
        signal.signal(number, _interrupt)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
    _mount(None, b"/", None, MS_REC_PRIVATE)
    _mount(b"proc", b"/proc", b"proc", 0)
    if network:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
