# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules of iw_cm, one by one, by a kernel module that is a consumer of it.

tests/vm/iwcm_test is loaded in the machine with two RNICs: it connects, listens, misbehaves as a
peer of the driver, and counts the events that it is given.  One line a case in the kernel log.
"""

import re

from openrnic_lab.testing import build_module, check, log_length, log_lines, succeeds

RIG = "one"
TIMEOUT = 600
MPA_MS = 4000

SETUP = f"""
for nic in $(devlink dev | grep -o 'pci/.*'); do
    for name in mpa_timeout_ms close_timeout_ms; do
        devlink dev param set $nic name $name value {MPA_MS} cmode runtime || exit 1
    done
done
sysctl -qw net.ipv4.tcp_syn_retries=1
modprobe -q iw_cm; modprobe -q libcrc32c
exit 0
"""
TEARDOWN = """
for nic in $(devlink dev | grep -o 'pci/.*'); do
    for name in mpa_timeout_ms close_timeout_ms; do
        devlink dev param set $nic name $name value 60000 cmode runtime
    done
done
sysctl -qw net.ipv4.tcp_syn_retries=6
"""


# Suite of the module, its parameters on both devices (or the first only), fewest cases
DEFAULT = {"peer_to_peer": "true", "mpa_markers": "false", "mpa_crc": "true", "mpa_rev": "2"}
SUITES = (
    ("plain", {"peer_to_peer": "false"}, "", 70),
    ("rtr", {}, "", 7),
    ("markers", {"peer_to_peer": "false", "mpa_markers": "true"}, "", 12),
    ("nocrc", {"peer_to_peer": "false", "mpa_crc": "false"}, "", 2),
    ("rev1", {"peer_to_peer": "false"}, "mpa_rev", 4),
)


def policy(rig, values, rev1=""):
    """Sets the parameters of both devices; with rev1 revision 1 on the first."""
    lines = [f"devlink dev param set $nic name {name} value {value} cmode runtime || exit 1"
             for name, value in {**DEFAULT, **values}.items()]
    script = "for nic in $(devlink dev | grep -o 'pci/.*'); do\n" + "\n".join(lines) + "\ndone\n"
    if rev1:
        script += ". /run/rig; devlink dev param set " \
                  "pci/$(basename $(readlink /sys/class/infiniband/$RDMA1/device)) " \
                  f"name {rev1} value 1 cmode runtime || exit 1\n"
    return rig.run(1, script)


def load(rig, more=""):
    """Loads the module, which runs its cases; gives what it said."""
    since = log_length(rig)
    result = rig.run(1, f". /run/rig; insmod /lab/iwcm_test.ko dev_a=$RDMA1 dev_b=$RDMA2 "
                        f"mpa_ms={MPA_MS} {more}", TIMEOUT)
    log = log_lines(rig, since, "iwcm_test: ")
    print("\n".join("    " + line for line in log), flush=True)
    succeeds(result, "the module ran to its end")
    succeeds(rig.run(1, "rmmod iwcm_test"), "it can be unloaded")
    return "\n".join(log)


def judge(log, least):
    """No case failed, and none was forgotten."""
    numbers = re.search(r"(\d+) passed, (\d+) failed", log)
    check(numbers is not None, "it says how many cases it ran")
    check(int(numbers[1]) >= least and numbers[2] == "0", f"all of {least} or more cases passed")


def test_events(rig):
    """Every row of the event table, and what a peer can do to it."""
    build_module(rig, "iwcm_test")
    try:
        succeeds(rig.run(1, SETUP), "short time-outs are set")
        for suite, values, rev1, least in SUITES:
            succeeds(policy(rig, values, rev1), f"the policy for suite {suite} is set")
            judge(load(rig, f"suite={suite}"), least)
    finally:
        policy(rig, {})
        rig.run(1, TEARDOWN)
