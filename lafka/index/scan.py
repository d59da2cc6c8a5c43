"""The suwafs that changed since an index was made: by the times of their folders.

A suwaf is replaced by a rename, so that its folder's mtime changes. What the clock's tick or a link
could hide is looked at again the next time. No database: what was known comes in, what changed
comes out.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR
from typing import NamedTuple

from lafka.errors import StorageTrouble
from lafka.storage.folders import leads_back

TOP = "suwaf"
SUFFIX = ".json"
TICK_NS = 2_000_000_000
"""A folder that changed so shortly before the scan may change once more without showing it."""
AGAIN = 0
"""As mtime: looked at again the next time, whatever it is then."""


class FileTimes(NamedTuple):
    """What tells a file from what stood there before: mtime in nanoseconds, bytes, inode."""

    mtime_ns: int
    size: int
    ino: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileTimes:
        return cls(status.st_mtime_ns, status.st_size, status.st_ino)


Found = tuple[str, int, int, int]
"""The name of a suwaf and its ``FileTimes``: a million are made to be compared with the known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderTimes:
    """What tells whether a folder changed: mtime in nanoseconds, ``AGAIN`` for surely; inode."""

    mtime_ns: int
    ino: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFolder:
    """A folder to read again, and its suwafs. ``path`` is relative to the archive's root."""

    path: str
    times: FolderTimes
    suwafs: Sequence[Found]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoneFolder:
    """A folder that was there, and is not."""

    path: str


class Seen(NamedTuple):
    """The result of one look into a folder: suwafs, paths of folders, links that lead nowhere.

    ``unsure``: names whose changes the folder's own mtime would not tell, as those of links.
    """

    suwafs: list[Found]
    folders: list[str]
    lost: list[str]
    unsure: list[str]


class Scan:
    """One walk over the suwafs of the archive at *root*.

    *known*: folders by path, as the last walk left them. *began_ns*: when this one began, since
    1970. *lost* is told of each link that leads nowhere. *names_only*: the times of suwafs are
    zeros, for who reads them all. ``StorageTrouble`` where the disk does not read: what is there
    cannot be said then.
    """

    def __init__(
        self,
        root: Path,
        known: Mapping[str, FolderTimes],
        *,
        began_ns: int,
        lost: Callable[[Path], object],
        names_only: bool = False,
    ) -> None:
        self._base = str(root)
        self._known = known
        self._began = began_ns
        self._lost = lost
        self._names_only = names_only
        self._inner: dict[str, list[str]] = defaultdict(list)
        for path in known:
            self._inner[path.rpartition("/")[0]].append(path)

    def __iter__(self) -> Iterator[ChangedFolder | GoneFolder]:
        """Each folder that changed, and each that is gone; those before what is in them."""
        return self._below(TOP)

    def _below(self, path: str) -> Iterator[ChangedFolder | GoneFolder]:
        times = self._times(path)
        if times is None:
            yield from self._gone(path)
            return
        inner = sorted(self._inner.get(path, ()))
        if self._known.get(path) != times or any(self._times(one) is None for one in inner):
            seen = look(self._base, path, names_only=self._names_only)
            for link in seen.lost:
                self._lost(Path(link))
            inner = sorted(seen.folders)
            for missing in sorted({*self._inner.get(path, ())} - {*inner}):
                yield from self._gone(missing)
            if seen.unsure or times.mtime_ns >= self._began - TICK_NS:
                times = FolderTimes(mtime_ns=AGAIN, ino=times.ino)
            yield ChangedFolder(path=path, times=times, suwafs=seen.suwafs)
        for one in inner:
            yield from self._below(one)

    def _gone(self, path: str) -> Iterator[GoneFolder]:
        for inner in sorted(self._inner.get(path, ())):
            yield from self._gone(inner)
        if path in self._known:
            yield GoneFolder(path=path)

    def _times(self, path: str) -> FolderTimes | None:
        full = f"{self._base}/{path}"
        try:
            status = os.stat(full)  # noqa: PTH116  for ten thousand folders each night
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise StorageTrouble(full, error) from error
        if not S_ISDIR(status.st_mode):
            return None
        return FolderTimes(mtime_ns=status.st_mtime_ns, ino=status.st_ino)


def look(base: str, path: str, *, names_only: bool = False) -> Seen:
    """What is in the folder at *path* below *base*; *names_only* as :class:`Scan` has it.

    ``StorageTrouble``.
    """
    seen, full = Seen([], [], [], []), f"{base}/{path}"
    try:
        fd = os.open(full, os.O_RDONLY | os.O_DIRECTORY)
        try:  # from a descriptor, so that the way to each file is but its name
            with os.scandir(fd) as entries:
                for entry in entries:
                    name = entry.name
                    if name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False):
                        _suwaf(seen, entry, names_only)
                    else:
                        _other(seen, base, path, entry, names_only)
        finally:
            os.close(fd)
    except FileNotFoundError:  # gone meanwhile: the next walk tells
        seen.unsure.append(path)
    except OSError as error:
        raise StorageTrouble(full, error) from error
    return seen


def _other(seen: Seen, base: str, path: str, entry: os.DirEntry[str], names_only: bool) -> None:
    """Take what is no plain file with the name of a suwaf."""
    name = entry.name
    is_link = entry.is_symlink()
    if is_link:
        seen.unsure.append(name)
        place = f"{base}/{path}/{name}"
        if not os.path.exists(place):  # noqa: PTH110  a Path raises for loops
            seen.lost.append(place)
            return
    if entry.is_dir():
        # No pid's folder has any other name: what is below is nobody's.
        if name.isascii() and not (is_link and leads_back(Path(base, path, name))):
            seen.folders.append(f"{path}/{name}")
    elif name.endswith(SUFFIX):  # behind a link
        _suwaf(seen, entry, names_only)


def _suwaf(seen: Seen, entry: os.DirEntry[str], names_only: bool) -> None:
    name = entry.name
    if name[0] == ".":
        return
    if names_only:
        seen.suwafs.append((name, 0, 0, 0))
        return
    try:
        status = entry.stat()
    except FileNotFoundError:  # replaced at this moment, or gone
        seen.unsure.append(name)
    else:
        seen.suwafs.append((name, status.st_mtime_ns, status.st_size, status.st_ino))
