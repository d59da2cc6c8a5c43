"""Remains of killed runs in a folder of raw logs: found, locked, and taken away when that is done.

Only what Lafka wrote is ever taken away: files that have the names it gives, that begin as it
begins them, and that were read to their end just now. Nothing is opened or removed through a link.
All the rest stays where it is, and is told.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from lafka.errors import ArchiveBusy, StorageTrouble
from lafka.storage.folders import make_folders
from lafka.storage.locks import lock_file

LOCK = "lock"
DONE = "copied"
"""The file that says of a raw log that is kept: all that it holds lies elsewhere, too."""
PREFIX = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
"""What a file of a raw log may be configured to begin with."""
RUN = re.compile(r"\d{8}T\d{12}Z-[\w-]+-\d+")
"""The name of a run: UTC time, host, process."""
_WARC = re.compile(rf"{PREFIX}-\d{{14}}-\d{{5,}}-[^/]*\.warc")
_QUEUE = re.compile(r"list\.sqlite(?:-wal|-shm|-journal)?")
_PACKED = re.compile(rf"{_WARC.pattern}.+")

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Not waiting: a named pipe would have us wait for who writes to it.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

FileMark = tuple[int, int, int]
"""A file as it was: device, inode, bytes; -1 bytes for one that is still written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """The raw log of a dead run, locked against every other who would take it up.

    ``warcs``: the names of its WARC files, in the order in which they were begun. ``foreign``: the
    names of what else lies there and is none of Lafka's.
    """

    folder: Path
    warcs: tuple[str, ...]
    foreign: tuple[str, ...]
    _read: dict[str, FileMark] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of its run."""
        return self.folder.name

    @contextmanager
    def reading(self, name: str) -> Iterator[int]:
        """The descriptor of the WARC file *name*; it was read to its end where nothing raises."""
        with _opened(self.folder) as folder:
            fd = os.open(name, _FILE, dir_fd=folder)
        try:
            before = seen(fd)
            yield fd
            self._read[name] = before
        finally:
            os.close(fd)

    @property
    def sentence(self) -> str:
        """One sentence about what stays here; empty where nothing does."""
        if not self.foreign:
            return ""
        return f"{self.folder}: it stays, for Lafka did not write {_listed(self.foreign)} in it"

    def done(self, *, keep: bool) -> None:
        """All of it lies elsewhere: its folder goes, or, with *keep*, is marked and stays.

        What was not read to its end stays, with the folder, and so does everything beside a WARC
        file that was compressed: nobody has read that one.
        """
        if keep:
            # Not synced: a run that comes back with a power cut is taken up again.
            mark(self.folder)
        elif not any(map(_PACKED.fullmatch, self.foreign)):
            remove(self.folder, self._read)


def leftovers(folder: Path, *, stopped: Callable[[], bool] = lambda: False) -> Iterator[Leftover]:
    """The raw logs in *folder* that no live run has, one at a time, oldest first.

    Runs that live are left alone, by their locks, and so are those that are marked as done.
    ``StorageTrouble`` where a lock cannot be had for another reason.
    """
    for path in dead_runs(folder):
        if stopped():
            return
        try:
            lock = _lock(path)
        except OSError as error:
            if error.errno in _NO_LOCK:
                yield Leftover(folder=path, warcs=(), foreign=(LOCK,))
                continue
            raise StorageTrouble(path, error) from error
        if lock is None:
            continue
        try:
            yield _leftover(path)
        finally:
            os.close(lock)


_NO_LOCK = (errno.ELOOP, errno.EISDIR, errno.ENXIO)
"""What opening a link, a folder or a pipe says."""


def dead_runs(folder: Path) -> Iterator[Path]:
    """The folders in *folder* that have a run's name and are not marked as done, oldest first."""
    for entry in _entries(folder):
        path = Path(entry.path)
        if _is_run(entry) and not _is_file(path / DONE):
            yield path


def strangers(folder: Path) -> str:
    """One sentence about folders and links in *folder* that are no run's; empty without any."""
    names = [
        entry.name
        for entry in _entries(folder)
        if (entry.is_symlink() or entry.is_dir()) and not _is_run(entry)
    ]
    return f"{folder}: {_listed(names)} stays as it is, for it is no run's" if names else ""


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    if not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def _is_run(entry: os.DirEntry[str]) -> bool:
    return bool(RUN.fullmatch(entry.name)) and entry.is_dir(follow_symlinks=False)


def _listed(names: tuple[str, ...] | list[str]) -> str:
    shown = ", ".join(map(repr, names[:3]))
    return f"{shown} and {len(names) - 3} more" if names[3:] else shown


def _leftover(path: Path) -> Leftover:
    warcs, foreign = [], []
    with _opened(path) as folder:
        for name in _names(folder):
            if _WARC.fullmatch(name) and _begins_as_ours(folder, name):
                warcs.append(name)
            elif not _is_own(folder, name):
                foreign.append(name)
    return Leftover(folder=path, warcs=tuple(warcs), foreign=tuple(foreign))


def _is_own(folder: int, name: str) -> bool:
    """Return whether *name* is the lock, the mark or the queue of a run, which hold nothing to be
    read.
    """
    try:
        state = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(state.st_mode):
        return False
    return (name in (LOCK, DONE) and not state.st_size) or bool(_QUEUE.fullmatch(name))


def _begins_as_ours(folder: int, name: str) -> bool:
    """Return whether the file *name* begins with the warcinfo that Lafka begins it with.

    So does, as far as it goes, what a kill or a power cut left of one: nothing, zeros, a piece.
    """
    try:
        fd = os.open(name, _FILE, dir_fd=folder)
    except OSError:
        return False
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return False
        head = os.pread(fd, 4096, 0)
    finally:
        os.close(fd)
    header, blank, _ = head.partition(b"\r\n\r\n")
    if blank:
        return f"\r\nWARC-Filename: {name}".encode() in header
    return not head.strip(b"\0") or (len(head) < 4096 and (head[:8] in b"WARC/1.1"))


def _names(folder: int) -> list[str]:
    return sorted(os.listdir(folder))


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    """The descriptor of *folder*, which is no link."""
    fd = os.open(folder, _FOLDER)
    try:
        yield fd
    finally:
        os.close(fd)


def _is_file(path: Path) -> bool:
    with suppress(OSError):
        return stat.S_ISREG(path.lstat().st_mode)
    return False


def seen(fd: int) -> FileMark:
    """The open file *fd* as it is."""
    state = os.fstat(fd)
    return state.st_dev, state.st_ino, state.st_size


def begun(fd: int) -> FileMark:
    """The open file *fd*, which grows."""
    return (*seen(fd)[:2], -1)


def _is_still(state: os.stat_result, file: FileMark) -> bool:
    device, inode, size = file
    return (state.st_dev, state.st_ino) == (device, inode) and size in (-1, state.st_size)


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
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        return lock_file(folder / LOCK, flags, wait=False)
    return None


def mark(folder: Path) -> None:
    """Say of the run's *folder*, which is kept, that all that it holds lies elsewhere, too."""
    with _opened(folder) as fd, suppress(FileExistsError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        os.close(os.open(DONE, flags, 0o644, dir_fd=fd))


def remove(folder: Path, files: Mapping[str, FileMark]) -> None:
    """Remove a run's *files* where they are as they were, its queue and lock; then its *folder*.

    The lock goes last, so that a killed removal is taken up again. The folder stays where it holds
    anything else.
    """
    with _opened(folder) as fd:
        for name in sorted(_names(fd), key=lambda name: name == LOCK):
            if name in files:
                _remove_seen(fd, name, files[name])
            elif _is_own(fd, name):
                os.unlink(name, dir_fd=fd)
    with suppress(OSError):  # another recovery may have put its lock there: then it removes all
        folder.rmdir()


def remove_file(path: Path, file: FileMark) -> None:
    """Remove *path* if it is still the *file* that it was."""
    with _opened(path.parent) as folder:
        _remove_seen(folder, path.name, file)


def _remove_seen(folder: int, name: str, file: FileMark) -> None:
    with suppress(FileNotFoundError):
        if _is_still(os.stat(name, dir_fd=folder, follow_symlinks=False), file):
            os.unlink(name, dir_fd=folder)
