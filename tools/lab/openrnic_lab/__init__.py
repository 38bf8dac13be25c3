# SPDX-License-Identifier: GPL-2.0-or-later
"""The OpenRNIC lab: virtual machines with RNICs, joined by a wire.

Programs that use it call isolate() first, then make a Rig and run commands in its
machines.  All of it runs inside the Debian 13 tree (tools/lab/in-tree).
"""

from .common import LabError, say
from .dmesg import scan
from .isolate import isolate
from .machine import Result
from .rig import Rig

__all__ = ["LabError", "Result", "Rig", "isolate", "say", "scan"]
