# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds in a kernel log what must never be there."""

import re

BAD = re.compile(
    r"WARNING:|BUG:|\bBUG at\b|KASAN|UBSAN|KCSAN|Oops|general protection fault"
    r"|INFO: possible|INFO: trying to register|INFO: task .* blocked|suspicious RCU"
    r"|circular locking|inconsistent lock state|held lock|sleeping function"
    r"|rcu: INFO: .* stall|soft lockup|hard LOCKUP|workqueue lockup"
    r"|ODEBUG|DMA-API: .*(?:leak|error|not|sync|exceed)|refcount_t|leaked reference"
    r"|unregister_netdevice: waiting|list_(?:add|del) corruption"
    r"|kmemleak: \d+ new|page allocation failure|Kernel panic"
    r"|restrack: .*(?:leak|resources)|sysfs: cannot create duplicate|NETDEV WATCHDOG"
    r"|irq .*: nobody cared|unable to handle|Call Trace")

# None of these is about us.
HARMLESS = re.compile(
    r"iwpm_register_pid|NMI watchdog|page allocation failure.*order:[5-9]"
    r"|loading out-of-tree module|module verification failed"
    r"|nfsd: .*grace|hung_task_timeout_secs|DMA-API: preallocated|DMA-API: .*[Dd]isabling"
    r"|Spectre|RETBleed|Dazed|Debug warning")


# A whole report that is not about us, and nothing of another one: the RDMA core maps the pages of
# user memory once for each region that lies in them, which the DMA debugging code takes for a
# mistake.
TOLERATED = re.compile(r"^[^\n]*-\[ cut here \]-+\n"
                       r"[^\n]*cacheline tracking EEXIST[^\n]*\n"
                       r"(?:(?![^\n]*-\[ cut here \]-)[^\n]*\n)*?"
                       r"[^\n]*---\[ end trace [^\n]*$", re.MULTILINE)


def scan(text):
    """The offending lines of a kernel log, each once, in order."""
    seen = {}
    for line in TOLERATED.sub("", text).splitlines():
        if BAD.search(line) and not HARMLESS.search(line):
            seen.setdefault(re.sub(r"^\[[^]]*\] ?", "", line), line)
    return list(seen.values())
