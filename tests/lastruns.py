"""What the processes of a test did, for whoever has to find out why it failed."""

from __future__ import annotations

import shlex
from collections import deque
from collections.abc import Sequence

LAST = 25
"""Lines of a log that are shown."""
_runs: deque[str] = deque(maxlen=3)


def note(line: Sequence[str], code: int, log: str) -> None:
    """Note that *line* ended with *code*; its archive stands in it."""
    end = "\n".join(log.splitlines()[-LAST:])
    _runs.append(f"{shlex.join(line)}\nended with {code}:\n{end}")


def forget() -> None:
    """Forget all runs: a test of another file begins."""
    _runs.clear()


def runs() -> list[str]:
    """The last processes of this file's tests."""
    return list(_runs)
