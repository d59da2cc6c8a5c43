"""Several builders for several threads: each is lent to one at a time."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

from lafka.warc.builders import Builder
from lafka.warc.errors import BadValue


class WriterPool:
    """Up to *size* builders, made by *make* as they are needed; a context.

    *make* is given the serial numbers that the builders share, so that no two files have the same
    one: ``WriterPool(lambda serials: Builder(folder=folder, serials=serials), 4)``.

    A builder that had to set a file aside (``Builder.failed``), or was told to while it was lent,
    is replaced by a new one. ``finished`` and ``failed`` name the files of all builders.
    """

    def __init__(self, make: Callable[[Iterator[int]], Builder], size: int) -> None:
        if size < 1:
            raise BadValue(f"a pool of {size} builders")
        self.size = size
        self._make = make
        self._serials = itertools.count()
        self._changed = threading.Condition()
        self._idle: list[Builder] = []
        self._lent = 0
        self._closed = False
        self._finished: list[Path] = []
        self._failed: list[Path] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def finished(self) -> list[Path]:
        """The files that are whole, of builders that are in the pool or were."""
        with self._changed:
            return [*self._finished, *(path for b in self._idle for path in b.finished)]

    @property
    def failed(self) -> list[Path]:
        """The files that were set aside."""
        with self._changed:
            return list(self._failed)

    @contextmanager
    def borrow(self, timeout: float | None = None) -> Iterator[Builder]:
        """A builder for one thread alone, waited for at most *timeout* seconds: ``TimeoutError``.

        ``BadValue`` where the pool is closed, also while waiting.
        """
        builder = self._take(timeout)
        try:
            yield builder
        finally:
            self._give_back(builder)

    def _take(self, timeout: float | None) -> Builder:
        with self._changed:
            if not self._changed.wait_for(self._is_answerable, timeout):
                raise TimeoutError(f"none of {self.size} builders was free in {timeout} s")
            if self._closed:
                raise BadValue("the pool is closed")
            # The last that came back: as few files are open as threads write at once.
            builder = self._idle.pop() if self._idle else self._make(self._serials)
            self._lent += 1
            return builder

    def _is_answerable(self) -> bool:
        return self._closed or bool(self._idle) or self._lent < self.size

    def _give_back(self, builder: Builder) -> None:
        ended = builder.failed or self._closed
        try:
            if ended:
                builder.close()
        finally:
            with self._changed:
                self._lent -= 1
                if builder.failed or self._closed:
                    self._ended(builder)
                else:
                    self._idle.append(builder)
                self._changed.notify_all()

    def _ended(self, builder: Builder) -> None:
        self._finished += builder.finished
        self._failed += builder.failed

    def close(self) -> None:
        """End every builder: those that are lent when they come back, which is waited for.

        So not by a thread that has borrowed one.
        """
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._lent)
            idle, self._idle = self._idle, []
        with ExitStack() as stack:
            for builder in idle:
                stack.callback(self._ended, builder)
                stack.callback(builder.close)
