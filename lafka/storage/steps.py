"""Steps of durable work: a generator yields each sync, lock and long deed instead of doing it.

So many of them can go side by side: who drives them does what they yield together, a folder once
for all (:mod:`lafka.storage.keeper`), or at once, one after the other (:func:`done`). Either way a
generator goes on only when what it yielded is done, and has raised in it what that raised: the
order of one's own deeds is that of its lines.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Hashable
from pathlib import Path
from typing import TypeVar

from lafka.errors import NoLocks
from lafka.warc.writing.names import sync_folder

try:
    import fcntl
except ImportError:  # Windows, where an archive can be read
    fcntl = None  # type: ignore[assignment]

T = TypeVar("T")


def lock(fd: int, *, shared: bool = False, wait: bool = True) -> None:
    """Lock the file *fd*, for this process alone unless *shared*, as flock(2) does.

    ``BlockingIOError`` where another has it and *wait* is False; ``NoLocks`` where the system has
    no flock.
    """
    if fcntl is None:
        raise NoLocks("this system has no flock(2), by which archives are locked: it can only read")
    mode = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    fcntl.flock(fd, mode if wait else mode | fcntl.LOCK_NB)


class Step(ABC):
    """Work that has to be done before a generator goes on."""

    __slots__ = ()

    @property
    def key(self) -> Hashable:
        """Steps of one key need to be done once for all who wait for them."""
        return id(self)

    @abstractmethod
    def do(self) -> None:
        """Do it, in whatever thread. Raises what is to be raised in the generator."""


Steps = Generator[Step, None, T]
"""Work in steps, and what comes of it."""


class DataSync(Step):
    """The bytes of the open file *fd* are on the disk, and its length."""

    __slots__ = ("fd",)

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def do(self) -> None:
        os.fdatasync(self.fd)


class FileSync(DataSync):
    """The open file *fd* is on the disk, not its name."""

    __slots__ = ()

    def do(self) -> None:
        os.fsync(self.fd)


class FolderSync(Step):
    """The names that were given and taken in *folder* so far are on the disk."""

    __slots__ = ("folder",)

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def key(self) -> Hashable:
        return self.folder

    def do(self) -> None:
        sync_folder(self.folder)


class FileLock(Step):
    """The lock of the open file *fd* is ours."""

    __slots__ = ("fd",)

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def do(self) -> None:
        """Wait for it, however long another has it."""
        lock(self.fd)

    def tried(self) -> bool:
        """Return whether it could be had at once."""
        try:
            lock(self.fd, wait=False)
        except BlockingIOError:
            return False
        return True


class LongStep(Step):
    """*work* is done: what may take long, as reading or copying much does."""

    __slots__ = ("_work",)

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work

    def do(self) -> None:
        self._work()


def done(steps: Steps[T]) -> T:
    """Do *steps* one after the other, each where it is asked for."""
    try:
        step = next(steps)
        while True:
            try:
                step.do()
            except BaseException as error:
                step = steps.throw(error)
            else:
                step = next(steps)
    except StopIteration as end:
        result: T = end.value
        return result
