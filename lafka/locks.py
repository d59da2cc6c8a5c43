"""The lock of a paper: on its WARC itself, so that it dies with the process that holds it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from lafka.errors import BadWarc, StorageTrouble
from lafka.folders import draft_of, make_folders, sync_folder


@dataclass(slots=True, kw_only=True)
class Lock:
    """The lock of the WARC *warc* on the open file *fd*, which is its draft before a commit."""

    warc: Path
    fd: int
    is_draft: bool

    @property
    def path(self) -> Path:
        """Where the file stands now."""
        return draft_of(self.warc) if self.is_draft else self.warc

    def name_for_good(self) -> None:
        """Give a draft, which is synced, its final name, durably."""
        if self.is_draft:
            self.path.rename(self.warc)
            self.is_draft = False  # whether or not the name is on the disk
            sync_folder(self.warc.parent)

    def release(self) -> None:
        try:
            if self.is_draft and not os.fstat(self.fd).st_size:
                self.path.unlink(missing_ok=True)
        finally:
            os.close(self.fd)


@contextmanager
def held(warc: Path) -> Iterator[Lock]:
    """The lock of *warc*, waited for; any ``OSError`` meanwhile is ``StorageTrouble``."""
    try:
        lock = None
        while lock is None:
            lock = _try_lock(warc)
        try:
            yield lock
        finally:
            lock.release()
    except OSError as error:
        raise StorageTrouble(error.filename or warc, error) from error


def _try_lock(warc: Path) -> Lock | None:
    """Wait for the lock; None where the file got another name meanwhile: then try again."""
    is_draft = not warc.exists()
    if is_draft:
        make_folders(warc.parent)
    path = draft_of(warc) if is_draft else warc
    try:
        # As anyone else may do, by the umask: several users may write to one archive.
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | (is_draft and os.O_CREAT), 0o666)
    except FileNotFoundError:
        return None
    lock = Lock(warc=warc, fd=fd, is_draft=is_draft)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        if _is_at(fd, path) and not (is_draft and warc.exists()):
            return lock
    except BaseException:
        os.close(fd)
        raise
    lock.is_draft = is_draft and _is_at(fd, path)
    lock.release()
    return None


def _is_at(fd: int, path: Path) -> bool:
    """Whether *path* still names the file that *fd* is: another process may have renamed it."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(fd), path.stat())
    return False


@contextmanager
def vacant(warc: Path) -> Iterator[None]:
    """Keep the place *warc* free of writers, so that a file can be linked to it.

    ``BadWarc`` where a WARC or the draft of one is there, ``StorageTrouble``.
    """
    with held(warc) as lock:
        if not lock.is_draft or os.fstat(lock.fd).st_size:
            raise BadWarc(warc, "exists already")
        yield
