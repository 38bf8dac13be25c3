# SPDX-License-Identifier: GPL-2.0-or-later
"""Paths, messages and the one exception of the lab."""

import os
import pathlib
import subprocess
import sys
import time

LAB_DIR = pathlib.Path(__file__).resolve().parent.parent
TOP = LAB_DIR.parent.parent
BUILD = TOP / "build"
RUNS = BUILD / "lab"


class LabError(Exception):
    """A step of the lab failed.  Says which, why, and which log tells more."""

    def __init__(self, step, reason, log=None):
        super().__init__(step, reason, log)
        self.step, self.reason, self.log = step, reason, log

    def __str__(self):
        text = f"{self.step}: {self.reason}"
        return f"{text}, log: {self.log}" if self.log else text


def say(text):
    """Progress, on standard error so that results can be piped."""
    print(f"[lab] {text}", file=sys.stderr, flush=True)


def tool(*args):
    """Runs one of the lab's scripts that prints a path, and returns the path."""
    done = subprocess.run([LAB_DIR / args[0], *args[1:]], stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise LabError(" ".join(args), f"exit code {done.returncode} (see above)")
    return pathlib.Path(done.stdout.decode().strip())


def cache():
    """The cache directory, which in-tree has put into the environment."""
    return pathlib.Path(os.environ["ORNIC_CACHE"])


def wait_until(condition, seconds, interval=0.05):
    """Polls condition() until it is true; returns its value, false when time is up."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > end:
            return value
        time.sleep(interval)


def tail(path, lines=15):
    """The last lines of a text file, for a failure message."""
    try:
        text = pathlib.Path(path).read_text(errors="replace")
    except OSError:
        return ""
    return "\n".join("    " + line.rstrip() for line in text.splitlines()[-lines:])
