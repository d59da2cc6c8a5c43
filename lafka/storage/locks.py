"""Locks that die with the process that holds them: on a file that may be renamed or removed.

A lock is flock(2) on the open file, and holds only while the file still has its name. A paper's is
on its WARC itself.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from lafka.errors import BadWarc, StorageTrouble
from lafka.storage.folders import draft_of, make_folders, making_folders
from lafka.storage.steps import FileLock, FolderSync, Steps, done, lock


def lock_file(path: Path, flags: int, *, wait: bool = True) -> int | None:
    """Open the file at *path* by *flags* and lock it: its descriptor.

    None where another process has the lock, unless it is to be waited for, or where *path* names
    this file no longer once it is locked. ``FileNotFoundError`` and any other ``OSError``.
    """
    # As anyone else may do, by the umask: several users may write to one archive.
    fd = os.open(path, flags | os.O_CLOEXEC, 0o666)
    try:
        lock(fd, wait=wait)
        if is_at(fd, path):
            return fd
    except BlockingIOError:
        pass
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    return None


def is_at(fd: int, path: Path) -> bool:
    """Return whether *path* still names the file *fd*: another process may have renamed it."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(fd), path.stat())
    return False


def is_locked(fd: int) -> bool:
    """Return whether another process has the lock of *fd*; else it is shared until closed."""
    try:
        lock(fd, shared=True, wait=False)
    except BlockingIOError:
        return True
    return False


def is_locked_at(path: Path) -> bool:
    """Return whether a process has the lock of the file at *path*; False where none is there."""
    try:
        # Not waiting: a named pipe would have us wait for who writes to it.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return is_locked(fd)
    finally:
        os.close(fd)


@dataclass(slots=True, kw_only=True)
class Lock:
    """The lock of the WARC *warc* on the open file *fd*, which is its draft before a commit."""

    warc: Path
    fd: int
    is_draft: bool

    @property
    def path(self) -> Path:
        """The place of the file now."""
        return draft_of(self.warc) if self.is_draft else self.warc

    def naming_for_good(self) -> Steps[None]:
        """Give a draft, which is synced, its final name, durably."""
        if self.is_draft:
            self.path.rename(self.warc)
            self.is_draft = False  # whether or not the name is on the disk
            yield FolderSync(self.warc.parent)

    def release(self) -> None:
        try:
            if self.is_draft and not os.fstat(self.fd).st_size and is_at(self.fd, self.path):
                self.path.unlink(missing_ok=True)
        finally:
            os.close(self.fd)


@contextmanager
def held(warc: Path) -> Iterator[Lock]:
    """The lock of *warc*, waited for; any ``OSError`` meanwhile is ``StorageTrouble``."""
    try:
        lock = done(locking(warc))
        try:
            yield lock
        finally:
            lock.release()
    except OSError as error:
        raise StorageTrouble(error.filename or warc, error) from error


def tried(warc: Path) -> Lock | None:
    """The lock of *warc*, to be released; None where another has it just now.

    Any ``OSError`` is ``StorageTrouble``.
    """
    is_draft = not warc.exists()
    path = draft_of(warc) if is_draft else warc
    try:
        if is_draft:
            make_folders(warc.parent)
        flags = os.O_RDWR | (is_draft and os.O_CREAT | os.O_NOFOLLOW)
        fd = lock_file(path, flags, wait=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageTrouble(error.filename or warc, error) from error
    if fd is None:
        return None
    lock = Lock(warc=warc, fd=fd, is_draft=is_draft)
    if is_draft and warc.exists():
        lock.release()
        return None
    return lock


def locking(warc: Path) -> Steps[Lock]:
    """The lock of *warc*, to be released by who has it; ``OSError``, ``StorageTrouble``."""
    while True:
        is_draft = not warc.exists()
        if is_draft:
            yield from making_folders(warc.parent)
        path = draft_of(warc) if is_draft else warc
        fd = yield from _locked(path, os.O_RDWR | (is_draft and os.O_CREAT | os.O_NOFOLLOW))
        if fd is None:
            continue
        lock = Lock(warc=warc, fd=fd, is_draft=is_draft)
        if not (is_draft and warc.exists()):
            if not is_draft:
                _remove_empty(draft_of(warc))
            return lock
        lock.release()


def _remove_empty(draft: Path) -> None:
    """Remove what a writer left that was killed when another had just named the WARC.

    It holds nothing: bytes come into a draft only while there is no WARC. Who has opened it sees
    that it lost its name, and opens the WARC.
    """
    with suppress(OSError):  # none is there, as nearly always
        status = draft.lstat()
        if stat.S_ISREG(status.st_mode) and not status.st_size:
            draft.unlink()


def _locked(path: Path, flags: int) -> Steps[int | None]:
    """Open the file at *path* by *flags* and lock it: its descriptor.

    None where the file is gone or has got another name once it is locked: then try again.
    """
    try:
        fd = os.open(path, flags | os.O_CLOEXEC, 0o666)
    except FileNotFoundError:
        return None
    try:
        yield FileLock(fd)
        if is_at(fd, path):
            return fd
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    return None


@contextmanager
def vacant(warc: Path) -> Iterator[None]:
    """Keep the place *warc* free of writers, so that a file can be linked to it.

    ``BadWarc`` where a WARC or the draft of one is there, ``StorageTrouble``.
    """
    with held(warc) as lock:
        if not lock.is_draft or os.fstat(lock.fd).st_size:
            raise BadWarc(warc, "exists already")
        yield
