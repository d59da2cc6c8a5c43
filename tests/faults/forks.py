"""Work in a fork of this process, which is killed, refused, or loses its power."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lafka.errors import LafkaError, WarcError
from tests.faults.storecalls import Call, Plan, Watch, told

LIMIT = 60
"""Seconds after which the work hangs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How a process ended: exit code or minus a signal, what it said, its calls."""

    code: int
    said: str
    calls: tuple[Call, ...]


@contextmanager
def folder() -> Iterator[Path]:
    """A folder in memory, where there is one."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="lafka-", dir=memory) as made:
        yield Path(made)


def in_child(
    work: Callable[[], object], log: Path, plan: Plan | None, *, steps: bool = False
) -> Run:
    """Do *work*, watched by *plan*, the keeper's *steps* too; a LafkaError ends it with 2."""
    process = os.fork()
    if not process:
        code = 70
        try:
            code = _child(work, log, plan, steps)
        finally:
            os._exit(code)
    _, status = os.waitpid(process, 0)
    calls = told(Path(plan.told)) if plan and plan.told else []
    said = log.read_text("utf-8") if log.exists() else ""
    return Run(code=os.waitstatus_to_exitcode(status), said=said, calls=tuple(calls))


def _child(work: Callable[[], object], log: Path, plan: Plan | None, steps: bool) -> int:
    from tests.faults.stepcalls import Steps

    signal.alarm(LIMIT)
    with log.open("w", buffering=1) as said:
        sys.stdout = sys.stderr = said
        if plan:
            watch = Watch(plan)
            watch.install()
            if steps:
                Steps(watch).install()
        try:
            work()
        except (LafkaError, WarcError) as error:
            print(f"{type(error).__name__}: {error}")
            return 2
        except BaseException:
            sys.excepthook(*sys.exc_info())
            return 70
    return 0
