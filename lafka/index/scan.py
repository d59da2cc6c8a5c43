"""Which suwafs changed since an index was made: by the times of their folders.

A suwaf is replaced by a rename, so that its folder's mtime changes. What the clock's tick or a link
could hide is looked at again the next time. No database: what was known comes in, what changed
comes out.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
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


Times = tuple[int, int, int]
"""``FileTimes`` as plain numbers: a million are made to be compared with those that are known."""
_ANY = (0, 0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderTimes:
    """What tells whether a folder changed: mtime in nanoseconds, ``AGAIN`` for surely; inode."""

    mtime_ns: int
    ino: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFolder:
    """A folder to read again: its suwafs by name. ``path`` is relative to the archive's root."""

    path: str
    times: FolderTimes
    suwafs: Mapping[str, Times]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoneFolder:
    """A folder that was there, and is not."""

    path: str


@dataclass(slots=True)
class _Seen:
    """What one look into a folder gave."""

    suwafs: dict[str, Times] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    sure: bool = True
    """Whether its own mtime would tell of every change in it: not so with links."""


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
        status = self._status(path)
        if status is None:
            yield from self._gone(path)
            return
        times = FolderTimes(mtime_ns=status.st_mtime_ns, ino=status.st_ino)
        inner = sorted(self._inner.get(path, ()))
        if self._known.get(path) != times or any(self._status(one) is None for one in inner):
            seen = self._look(path)
            inner = sorted(seen.folders)
            for missing in sorted({*self._inner.get(path, ())} - {*inner}):
                yield from self._gone(missing)
            if not seen.sure or times.mtime_ns >= self._began - TICK_NS:
                times = FolderTimes(mtime_ns=AGAIN, ino=times.ino)
            yield ChangedFolder(path=path, times=times, suwafs=seen.suwafs)
        for one in inner:
            yield from self._below(one)

    def _gone(self, path: str) -> Iterator[GoneFolder]:
        for inner in sorted(self._inner.get(path, ())):
            yield from self._gone(inner)
        if path in self._known:
            yield GoneFolder(path=path)

    def _status(self, path: str) -> os.stat_result | None:
        full = f"{self._base}/{path}"
        try:
            status = os.stat(full)  # noqa: PTH116  for ten thousand folders each night
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise StorageTrouble(full, error) from error
        return status if S_ISDIR(status.st_mode) else None

    def _look(self, path: str) -> _Seen:
        seen, full = _Seen(), f"{self._base}/{path}"
        try:
            fd = os.open(full, os.O_RDONLY | os.O_DIRECTORY)
            try:  # from a descriptor, so that the way to each file is but its name
                with os.scandir(fd) as entries:
                    for entry in entries:
                        name = entry.name
                        if name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False):
                            self._suwaf(seen, name, entry)
                        else:
                            self._take(seen, path, entry)
            finally:
                os.close(fd)
        except FileNotFoundError:  # gone meanwhile: the next walk tells
            seen.sure = False
        except OSError as error:
            raise StorageTrouble(full, error) from error
        return seen

    def _take(self, seen: _Seen, path: str, entry: os.DirEntry[str]) -> None:
        name = entry.name
        is_link = entry.is_symlink()
        if is_link:
            seen.sure = False
            place = f"{self._base}/{path}/{name}"
            if not os.path.exists(place):  # noqa: PTH110  a Path raises for loops
                self._lost(Path(place))
                return
        if entry.is_dir():
            # No pid's folder has any other name: what is below is nobody's.
            if name.isascii() and not (is_link and leads_back(Path(self._base, path, name))):
                seen.folders.append(f"{path}/{name}")
        elif name.endswith(SUFFIX):  # behind a link
            self._suwaf(seen, name, entry)

    def _suwaf(self, seen: _Seen, name: str, entry: os.DirEntry[str]) -> None:
        if name[0] == ".":
            return
        if self._names_only:
            seen.suwafs[name] = _ANY
            return
        try:
            status = entry.stat()
        except FileNotFoundError:  # replaced at this moment, or gone
            seen.sure = False
        else:
            seen.suwafs[name] = (status.st_mtime_ns, status.st_size, status.st_ino)
