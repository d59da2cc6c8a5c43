"""Waiting for what another process does, for as long as that takes, until it hangs."""

from __future__ import annotations

import os
import select
from collections.abc import Callable
from pathlib import Path
from time import monotonic

LIMIT = 550.0
"""Seconds after which what has not come is taken for what never will."""
_LOOK = 0.005


def until(so: Callable[[], object], pid: int | None = None) -> None:
    """Look until *so* is true; fail where that never comes, or the process *pid* ended before."""
    end, ended = monotonic() + LIMIT, os.pidfd_open(pid or os.getpid())
    try:
        while not so():
            assert monotonic() < end, "it never came to be so"
            assert not select.select([ended], [], [], _LOOK)[0] or so(), "it ended before"
    finally:
        os.close(ended)


def sleeps(pid: int) -> bool:
    """Whether *pid* waits for something: a signal that comes just before that interrupts nothing
    in Python, which looks for signals between its own steps alone.
    """
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("S")


def stops_itself(pid: int) -> bool:
    """Wait until the child *pid* has stopped itself; False where it ended before."""
    found = os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    assert found
    return found.si_code == os.CLD_STOPPED
