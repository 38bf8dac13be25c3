# SPDX-License-Identifier: GPL-2.0-or-later
"""The crafting peer's scripts against the driver: rping is its consumer, in both roles.

The same scripts run natively against the device (tests/wire, program script). The peer speaks over
the host's TCP on the second RNIC's netdev. The line "driver" of a script is set by devlink; the line
"event" is what rdma_cm has to tell an initiator.
"""

import re
import shutil

from openrnic_lab.common import TOP
from openrnic_lab.testing import check, succeeds

RIG = "one"
TIMEOUT = 500
PARAMETERS = {"mpa_rev": 2, "mpa_crc": 1, "mpa_markers": 0, "peer_to_peer": 1, "rtr_types": 14}
PORT = 7300

GUEST = """
. lib.sh
nic=pci/$(basename "$(readlink /sys/class/infiniband/$RDMA1/device)")
set_param() { devlink dev param set "$nic" name "$1" value "$2" cmode runtime || echo "FAIL $1"; }
served() { # NAME PORT: the driver is the responder
    out=$(timeout $LIMIT ip netns exec b /lab/bin/script_peer /lab/scripts/$1.peer 10.0.0.1 $2) &&
        echo "PASS $1" || echo "FAIL $1: $out"
}
served_by_us() { # NAME PORT EVENT: the driver is the initiator
    ip netns exec b timeout $LIMIT /lab/bin/script_peer /lab/scripts/$1.peer 10.0.0.2 $2 > /tmp/peer.out &
    until grep -q . /tmp/peer.out; do sleep 0.1; done
    timeout $LIMIT rping -c -d -a 10.0.0.2 -p $2 -C 1 > /tmp/rping.out 2>&1
    if ! wait $!; then echo "FAIL $1: $(tail -n 1 /tmp/peer.out)"
    elif ! grep -q "RDMA_CM_EVENT_$3" /tmp/rping.out; then
        echo "FAIL $1: rdma_cm said $(grep -o 'RDMA_CM_EVENT_[A-Z_]*' /tmp/rping.out | tail -n 1)"
    else echo "PASS $1"; fi
}
server timeout $LONG rping -s -P -a 10.0.0.1 -p %d
%s
kill $server_pid
"""


def value(name, number):
    """A parameter's value as devlink wants it."""
    if name in ("mpa_rev", "rtr_types"):
        return str(number)
    return "true" if number else "false"


def commands(scripts):
    """Lines of shell that run them, with the parameters that each wants."""
    lines, now = [], dict(PARAMETERS)
    for number, path in enumerate(scripts):
        text = path.read_text()
        words = re.findall(r"(\w+)=(\d+)", "\n".join(re.findall(r"^driver (.*)", text, re.M)))
        wanted = {**PARAMETERS, **{name: int(what) for name, what in words}}
        lines += [f"set_param {name} {value(name, what)}" for name, what in wanted.items()
                  if now[name] != what]
        now = wanted
        event = re.search(r"^event (\w+)", text, re.M)
        lines.append(f"served_by_us {path.stem} {PORT + 1 + number} {event[1]}" if event
                     else f"served {path.stem} {PORT}")
    lines += [f"set_param {name} {value(name, what)}" for name, what in PARAMETERS.items()
              if now[name] != what]
    return "\n".join(lines)


def test_scripts(rig):
    """Every script, one connection each."""
    scripts = sorted((TOP / "tests/wire/scripts").glob("*.peer"))
    (rig.share / "scripts").mkdir(exist_ok=True)
    for path in scripts:
        shutil.copy(path, rig.share / "scripts")
    (rig.share / "bin/scripts.sh").write_text(GUEST % (PORT, commands(scripts)))
    output = succeeds(rig.run(1, "bash /lab/bin/scripts.sh", TIMEOUT), "the scripts are run")
    print("\n".join("    " + line for line in output.splitlines()), flush=True)
    check(len(re.findall(r"^PASS ", output, re.M)) == len(scripts), f"all {len(scripts)} scripts passed")
