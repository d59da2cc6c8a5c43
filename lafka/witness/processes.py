"""Processes that papers are shared out to, which Ctrl-C ends without a word of theirs."""

from __future__ import annotations

import signal
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing.context import BaseContext
from typing import Any

_CAN_WAIT = hasattr(signal, "pthread_sigmask")  # not on Windows


class WorkerProcesses(ProcessPoolExecutor):
    """*count* processes that end silently at SIGINT: whoever began them says that it came.

    A terminal sends it to them too. It waits while one of them begins: until a process has
    forgotten what this one does at it, it would print a traceback.
    """

    def __init__(self, count: int, context: BaseContext | None = None) -> None:
        super().__init__(count, context, _end_silently)

    def submit(self, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have *work* done; the processes begin at the first, and inherit that SIGINT waits."""
        if not _CAN_WAIT:
            return super().submit(work, *args, **kwargs)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return super().submit(work, *args, **kwargs)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_silently() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if _CAN_WAIT:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
