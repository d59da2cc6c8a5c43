"""What killed runs leave in a folder of raw logs: found, locked, and taken away when it is done."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lafka.errors import ArchiveBusy, StorageTrouble
from lafka.storage.folders import make_folders
from lafka.storage.locks import lock_file

LOCK = "lock"
DONE = "copied"
"""The file that says of a raw log that is kept: all that it holds lies elsewhere, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """The raw log of a dead run, locked against every other who would take it up."""

    folder: Path

    @property
    def name(self) -> str:
        """The name of its run."""
        return self.folder.name

    def files(self) -> list[Path]:
        """Its WARC files, in the order in which they were begun."""
        return sorted(self.folder.glob("*.warc"))

    def done(self, *, keep: bool) -> None:
        """All of it lies elsewhere: its folder goes, or, with *keep*, is marked and stays."""
        # Not synced: a run that comes back with a power cut is taken up again.
        (self.folder / DONE).touch() if keep else remove(self.folder)


def leftovers(folder: Path, *, stopped: Callable[[], bool] = lambda: False) -> Iterator[Leftover]:
    """The raw logs in *folder* that no live run has, one at a time, oldest first.

    Runs that live are left alone, by their locks, and so are those that are marked as done.
    ``StorageTrouble`` where a lock cannot be had for another reason.
    """
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if stopped() or not path.is_dir() or (path / DONE).exists():
            continue
        try:
            lock = _lock(path)
        except OSError as error:
            raise StorageTrouble(path, error) from error
        if lock is None:
            continue
        try:
            yield Leftover(folder=path)
        finally:
            os.close(lock)


def locked_folder(folder: Path) -> int:
    """Make *folder* and lock it; again where a recovery took it for an empty leftover.

    ``ArchiveBusy`` where another run of this name lives, ``StorageTrouble``.
    """
    for _ in range(_TRIES):
        make_folders(folder)
        try:
            fd = _lock(folder)
        except OSError as error:
            raise StorageTrouble(folder, error) from error
        if fd is not None:
            return fd
        time.sleep(0.01)
    raise ArchiveBusy(f"{folder}: another run has this name")


_TRIES = 500


def _lock(folder: Path) -> int | None:
    """The lock of a run's folder, held; None where another has it or the folder goes just now."""
    with suppress(FileNotFoundError):
        return lock_file(folder / LOCK, os.O_RDWR | os.O_CREAT, wait=False)
    return None


def remove(folder: Path) -> None:
    """Remove *folder* and its files; the lock last, so that a killed removal is taken up again."""
    for path in sorted(folder.iterdir(), key=lambda path: path.name == LOCK):
        path.unlink(missing_ok=True)
    with suppress(OSError):  # another recovery may have put its lock there: then it removes all
        folder.rmdir()
