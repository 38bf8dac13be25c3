# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest's console on this terminal."""

import os
import select
import termios
import tty

from .common import say
from .machine import connect

ESCAPE = b"\x1d"


def _copy(guest):
    """Copies both ways until the escape, or until the guest has nothing more to say after the
    input has ended."""
    inputs = [guest, 0]
    while True:
        readable, _, _ = select.select(inputs, [], [], None if 0 in inputs else 2)
        if guest in readable:
            data = guest.recv(65536)
            if not data:
                return
            os.write(1, data)
        if 0 in readable:
            data = os.read(0, 4096)
            if ESCAPE in data:
                return
            if data:
                guest.sendall(data)
            else:
                inputs.remove(0)
        if not readable:
            return


def console(machine):
    """Connects this terminal to the machine's console."""
    guest = connect(machine.rig.dir / f"vm{machine.id}.console")
    saved = termios.tcgetattr(0) if os.isatty(0) else None
    say(f"console of vm{machine.id}, Ctrl-] leaves it")
    try:
        if saved:
            tty.setraw(0)
        guest.sendall(b"\r")
        _copy(guest)
    finally:
        if saved:
            termios.tcsetattr(0, termios.TCSADRAIN, saved)
            print()
