"""Folders and names that survive a power cut, and the name that a file has while it is made."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from lafka.errors import StorageTrouble
from lafka.storage.steps import FolderSync, Steps, done
from lafka.warc.writing.names import put_in_place as put_in_place  # noqa: PLC0414  asked for here
from lafka.warc.writing.names import sync_folder as sync_folder  # noqa: PLC0414

DRAFT = ".draft-"
"""What stands before the name of a file that is not whole yet."""


class FileStamp(NamedTuple):
    """The identity of a file, and as of when. Times are nanoseconds."""

    device: int
    inode: int
    size: int
    modified: int
    changed: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileStamp:
        return cls(
            status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
        )


_NAMED: set[str] = set()
"""Folders whose own names this process has seen to be on the disk."""
_NAMED_MAX = 100_000


def opened_below(root: Path, parts: Iterable[str]) -> int:
    """A descriptor to read the file *parts* below the folder *root*, which the caller closes.

    No symbolic link is followed, in no component: ``OSError`` (ELOOP, ENOTDIR) where there is one.
    *root* itself may be one. What is no file is opened too, and never waited for.
    """
    *folders, name = parts
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    fd = os.open(root, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        for folder in folders:
            inner = os.open(folder, flags | os.O_DIRECTORY, dir_fd=fd)
            os.close(fd)
            fd = inner
        return os.open(name, flags | os.O_NONBLOCK, dir_fd=fd)
    finally:
        os.close(fd)


def draft_of(path: Path) -> Path:
    """The name that the file at *path* has until it is whole: one, for it has one writer."""
    return path.with_name(DRAFT + path.name)


def make_folders(folder: Path) -> None:
    """Make *folder* and its missing parents, each name synced; ``StorageTrouble`` if refused.

    The name of a folder that is there already is synced, too, once a process: who made it may have
    been killed before, or may just be about to.
    """
    done(making_folders(folder))


def making_folders(folder: Path) -> Steps[None]:
    """:func:`make_folders`, in steps."""
    unsure = []
    try:
        while not (str(folder) in _NAMED and folder.is_dir()):
            if folder == folder.parent or folder.is_mount():
                break
            unsure.append(folder)
            folder = folder.parent
        while unsure:
            folder = unsure.pop()
            yield from _making(folder)
    except OSError as error:
        raise StorageTrouble(folder, error) from error


def _making(folder: Path) -> Steps[None]:
    there = folder.is_dir()
    if folder.is_symlink() and not there:
        raise OSError(errno.ENOENT, "a link that leads nowhere")
    folder.mkdir(exist_ok=True)
    try:
        yield FolderSync(folder.parent)
    except PermissionError:
        if not there:  # else its parent is not ours: /home, or what an operator prepared
            raise
    if len(_NAMED) >= _NAMED_MAX:
        _NAMED.clear()
    _NAMED.add(str(folder))


def free_name(names: Iterable[Path]) -> Path:
    """The first of *names* that no file has."""
    return next(name for name in names if not name.exists())


def files_below(folder: Path, lost: Callable[[Path], object]) -> Iterator[Path]:
    """Every file below *folder*, sorted within each folder, found as they are asked for.

    Links are followed, but for one that leads into a folder it lies in (docs/adr/0013).
    *lost* is told of each that leads nowhere, *folder* itself included. ``OSError``.
    """
    return map(Path, names_below(str(folder), lost))


def names_below(folder: str, lost: Callable[[Path], object]) -> Iterator[str]:
    """As ``files_below``, the paths as text: to make a Path of each costs as much as to read it."""
    if not os.path.isdir(folder):  # noqa: PTH112
        if os.path.islink(folder):  # noqa: PTH114
            lost(Path(folder))
        return
    with os.scandir(folder) as entries:
        found = sorted(entries, key=_name)
    for entry in found:
        is_link = entry.is_symlink()
        if is_link and not os.path.exists(entry.path):  # noqa: PTH110  a Path raises for loops
            lost(Path(entry.path))
        elif not entry.is_dir():
            yield entry.path
        elif not (is_link and leads_back(Path(entry.path))):
            yield from names_below(entry.path, lost)


_name = attrgetter("name")


def leads_back(link: Path) -> bool:
    target = link.stat()
    return any(os.path.samestat(target, above.stat()) for above in link.absolute().parents)
