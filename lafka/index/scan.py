"""The suwafs that changed since an index was made, and what they and lines of feeds say.

A suwaf is replaced by a rename, so its folder's mtime tells. What the clock's tick or a link
could hide is looked at again the next time. No database: what was known comes in, what changed and
the rows of it come out.

Where an index is made anew and there are many of them, children read. What they tell comes in the
order in which they were asked, so that the index is the same; what a child cannot tell, because it
died or the disk did not read, is read once more here.
"""

from __future__ import annotations

import os
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from operator import add, attrgetter
from pathlib import Path
from stat import S_ISDIR
from typing import Any, NamedTuple, TypeVar

from lafka.errors import BadPid, BadSuwaf, LafkaError, MachineTrouble, StorageTrouble
from lafka.index.rows import LARGEST, BadLine, FeedLine, HeldFuts, Named, host_of, stored
from lafka.papers import Archive, Fut, Pid, Suwaf
from lafka.storage import children
from lafka.storage.children import ChildDied, Children
from lafka.storage.folders import leads_back

TOP = "suwaf"
SUFFIX = ".json"
TICK_NS = 2_000_000_000
"""A folder that changed so shortly before the scan may change once more without showing it."""
AGAIN = 0
"""As mtime: looked at again the next time, whatever it is then."""


class FileTimes(NamedTuple):
    """The facts that tell a file from one before it: mtime in nanoseconds, bytes, inode."""

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
    """The facts that tell whether a folder changed: mtime in nanoseconds, or ``AGAIN``; inode."""

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


class FolderListing(NamedTuple):
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
    1970. *lost* is called with each link that leads nowhere. ``StorageTrouble`` where the disk does
    not read: what is there cannot be said then.
    """

    def __init__(
        self,
        root: Path,
        known: Mapping[str, FolderTimes],
        *,
        began_ns: int,
        lost: Callable[[Path], object],
    ) -> None:
        self._base = str(root)
        self._known = known
        self._began = began_ns
        self._lost = lost
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
            seen = look(self._base, path)
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


def look(base: str, path: str) -> FolderListing:
    """Return what is in the folder at *path* below *base*; ``StorageTrouble``."""
    seen, full = FolderListing([], [], [], []), f"{base}/{path}"
    try:
        fd = os.open(full, os.O_RDONLY | os.O_DIRECTORY)
        try:  # from a descriptor, so that the way to each file is but its name
            with os.scandir(fd) as entries:
                for entry in entries:
                    name = entry.name
                    if name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False):
                        _suwaf(seen, entry)
                    else:
                        _other(seen, base, path, entry)
        finally:
            os.close(fd)
    except FileNotFoundError:  # gone meanwhile: the next walk tells
        seen.unsure.append(path)
    except OSError as error:
        raise StorageTrouble(full, error) from error
    return seen


def _other(seen: FolderListing, base: str, path: str, entry: os.DirEntry[str]) -> None:
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
        _suwaf(seen, entry)


def _suwaf(seen: FolderListing, entry: os.DirEntry[str]) -> None:
    name = entry.name
    if name[0] == ".":
        return
    try:
        status = entry.stat()
    except FileNotFoundError:  # replaced at this moment, or gone
        seen.unsure.append(name)
    else:
        seen.suwafs.append((name, status.st_mtime_ns, status.st_size, status.st_ino))


_READ = os.O_RDONLY | os.O_CLOEXEC


PaperRow = tuple[Sequence[Any], Sequence[tuple[str, bool, Sequence[Sequence[Any]]]]]
"""The columns of a paper from its path below the root to its pid; of each futli its URL, whether it
is open, and its :func:`futs_of`.
"""


ReadPapers = tuple[list[PaperRow], list[str], list[str]]
"""What was read of some suwafs: rows, the names of those that are none, sentences about them."""


def not_read(feed: str | Path, error: BadLine | str) -> str:
    return f"{feed}: a line that is no outcome: {error}"


def _row(
    pid: Pid, path: str, times: FileTimes, suwaf: Suwaf | None, problem: str | None = None
) -> PaperRow:
    """The rows of the suwaf at *path*, or of the *problem* why it is none."""
    named, suwaf = Named.of(pid), suwaf or Suwaf(pid=pid)
    held = HeldFuts.of(suwaf)
    values = (
        path, *times, None if problem else suwaf.end, held.futs, held.first, held.last, problem,
        named.archive, named.series, named.year, str(pid),
    )  # fmt: skip
    opened = {*map(stored, suwaf.open)}
    futlis = {stored(url): times for url, times in suwaf.futlis.items() if times}
    links = [(url, url in opened, futs_of(futlis.get(url, {})))
             for url in (*futlis, *sorted(opened - futlis.keys()))]  # fmt: skip
    return values, links


def futs_of(times: Mapping[str, Fut]) -> list[tuple[Any, ...]]:
    """The rows of ``fut`` of a futli with *times* in its suwaf, but for the number of the futli,
    the digest as text.
    """
    return [
        (time, fut.s, fut.l, fut.digest, stored(fut.url), stored(fut.origin.found_by) or None,
         stored(fut.label) or None)
        for time, fut in times.items()
    ]  # fmt: skip


def read_papers(archive: Archive, folder: str, names: Sequence[str]) -> ReadPapers:
    """The suwafs of these *names* in *folder*, relative to the root.

    There is a sentence for each that is no paper's place. ``StorageTrouble`` where the disk does
    not read.
    """
    papers: list[PaperRow] = []
    gone: list[str] = []
    sentences: list[str] = []
    with _opened(archive.root / folder) as fd:
        for name in names:
            try:
                paper = read_paper(archive, f"{folder}/{name}", name, fd)
            except BadPid as error:
                place = Path(archive.root, folder, name)
                sentences.append(f"{place}: no paper has this place: {error}")
                paper = None
            if paper is None:
                gone.append(name)
            else:
                papers.append(paper)
    return papers, gone, sentences


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    """A descriptor of *folder*, so that the way to each file in it is but its name."""
    try:
        fd = os.open(folder, _READ | os.O_DIRECTORY)
    except (FileNotFoundError, NotADirectoryError):
        yield -1  # gone meanwhile
        return
    except OSError as error:
        raise StorageTrouble(folder, error) from error
    try:
        yield fd
    finally:
        os.close(fd)


def read_paper(archive: Archive, path: str, name: str, folder: int) -> PaperRow | None:
    """The suwaf at *path*, *name* in the open *folder*; None where it is gone meanwhile.

    ``BadPid`` where it is no paper's place, ``StorageTrouble`` where the disk does not read.
    """
    relative = path.removeprefix(f"{TOP}/").removesuffix(SUFFIX)
    pid = archive.scheme.inverse(relative)
    if pid is None:  # a cut path
        pid = archive.pid_at(archive.root / "warc" / f"{relative}.warc")
    place = f"{archive.root}/{path}"  # a Path costs a tenth of the rest
    found = _bytes_of(place, name, folder)
    if found is None:
        return None
    data, times = found
    try:
        suwaf = Suwaf.of_bytes(data, place, pid)
        _check_sizes(place, suwaf)
    except BadSuwaf as error:
        return _row(pid, path, times, None, stored(error.message))
    return _row(pid, path, times, suwaf)


def _bytes_of(place: str, name: str, folder: int) -> tuple[bytes, FileTimes] | None:
    """The bytes of the file *name* in the open *folder*, which is at *place*, and its times."""
    if folder < 0:
        return None
    try:
        fd = os.open(name, _READ, dir_fd=folder)  # four system calls a paper, where open() has nine
        try:
            status = os.fstat(fd)
            data = os.read(fd, status.st_size + 1)
            while len(data) > status.st_size and (piece := os.read(fd, 1 << 16)):
                data += piece
        finally:
            os.close(fd)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageTrouble(place, error) from error
    return data, FileTimes.of(status)


def _check_sizes(path: str, suwaf: Suwaf) -> None:
    futs = (fut for times in suwaf.futlis.values() for fut in times.values())
    if suwaf.end >= LARGEST or any(fut.s >= LARGEST or fut.l >= LARGEST for fut in futs):
        raise BadSuwaf(Path(path), "not a suwaf: a place that no file has")


CHILDREN = min(4, os.cpu_count() or 1)
AHEAD = CHILDREN + 1
"""Questions that are asked before the first of them is answered."""
ALONE = 2_000
"""Suwafs and lines that are read before children begin."""
CPU_SECONDS = 60
MODULE = "lafka.index.scan"
"""The module whose ``serve`` a child runs."""


T = TypeVar("T")


Count = tuple[tuple[str, str, str, str], Sequence[int]]
"""Lines of a run by day, host, archive and outcome: lines, held, requests, new, bytes."""


ReadLines = tuple[list[Sequence[Any]], list[Count], list[str]]
"""What was read of some lines: the values of those that were asked, counts of all, and the reason
of each that is no outcome.
"""
Asked = tuple[T, dict[str, Any], int]
"""A question about so many suwafs or lines, and what its answer comes with."""


class Reading:
    """Answers questions in their order; *is_anew*: ahead of the one who asks, in children."""

    def __init__(self, archive: Archive, *, is_anew: bool) -> None:
        self._archive = archive
        self._left = ALONE if is_anew and CHILDREN > 1 else float("inf")
        self._children: Children | None = None
        self._threads = ThreadPoolExecutor(CHILDREN, thread_name_prefix="lafka-reading")

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)
        if self._children:
            self._children.stop()

    def all(self, task: str, asked: Iterable[Asked[T]]) -> Iterator[tuple[T, Any]]:
        """Yield what *task* answers to each question that is *asked*, with what came with it.

        Without children no question is taken before the one before it was answered.
        """
        waiting: deque[tuple[T, Callable[[], Any]]] = deque()
        for key, question, count in asked:
            waiting.append((key, self._begin(task, question, count)))
            if len(waiting) > (AHEAD if self._children else 0):
                key, answer = waiting.popleft()
                yield key, answer()
        yield from ((key, answer()) for key, answer in waiting)

    def _begin(self, task: str, question: dict[str, Any], count: int) -> Callable[[], Any]:
        self._left -= count
        if self._left > 0:
            return partial(_TASKS[task], self._archive, question)
        self._children = self._children or Children(MODULE, CHILDREN)
        future: Future[Any] = self._threads.submit(self._ask, self._children, task, question)
        return future.result

    def _ask(self, children: Children, task: str, values: dict[str, Any]) -> Any:
        place = {"root": str(self._archive.root), "collection": self._archive.scheme.name}
        try:
            answer = children.ask(task, {**values, **place}, seconds=CPU_SECONDS)
        except (ChildDied, MachineTrouble):
            answer = None
        return _TASKS[task](self._archive, values) if answer is None else answer


# In the child, and here -------------------------------------------------------------------


def serve() -> None:
    """Read until standard input ends. Runs in the child."""
    children.serve({name: partial(_tried, task) for name, task in _TASKS.items()})


def _tried(task: _Task, values: dict[str, Any], data: bytes) -> Any:  # noqa: ARG001
    try:
        return task(_archive(values["root"], values["collection"]), values)
    except (LafkaError, OSError, MemoryError):
        return None


_Task = Callable[[Archive, dict[str, Any]], Any]
_archive = lru_cache(maxsize=1)(Archive)
_VALUES = attrgetter(*FeedLine.__slots__)


def _suwafs(archive: Archive, asked: dict[str, Any]) -> ReadPapers:
    return read_papers(archive, asked["folder"], asked["names"])


def _lines(archive: Archive, question: dict[str, Any]) -> ReadLines:
    asked: list[Sequence[Any]] = []
    counts: dict[tuple[str, str, str, str], list[int]] = {}
    bad: list[str] = []
    lines: list[bytes] = []
    with suppress(FileNotFoundError), Path(question["feed"]).open("rb") as feed:
        feed.seek(question["start"])
        lines = feed.read(question["size"]).split(b"\n")[:-1]
    for data in lines:
        try:
            line = FeedLine.of(data)
        except BadLine as error:
            bad.append(str(error))
            continue
        place = _place(archive, line) if line.has_pid else ("", "")
        count = counts.setdefault((line.time[:10], *place, line.outcome), [0, 0, 0, 0, 0])
        count[:] = map(add, count, (1, line.is_held, line.requests, line.new, line.size))
        if line.is_asked:
            asked.append(_VALUES(line))
    return asked, [*counts.items()], bad


def _place(archive: Archive, line: FeedLine) -> tuple[str, str]:
    """The host and archive of *line*."""
    with suppress(BadPid):
        return host_of(line.futli), Named.of(archive.pid(line.pid)).archive
    return host_of(line.futli), ""


_TASKS: dict[str, _Task] = {"suwafs": _suwafs, "lines": _lines}
