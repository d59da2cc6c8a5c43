"""Suwafs and lines of feeds -> what an index has of them, but for the numbers of its rows.

No database is known here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from lafka.errors import BadPid, BadSuwaf, StorageTrouble
from lafka.index.lines import Counts, lines_between
from lafka.index.rows import (
    LARGEST,
    BadLine,
    Held,
    Line,
    Named,
    digest_bytes,
    host_of,
    stored,
)
from lafka.index.scan import SUFFIX, TOP, FileTimes
from lafka.papers import Archive, Fut, Outcome, Pid, Suwaf

COLUMNS = ("time", "outcome", "requests", "new", "digests", "found_by", "landing", "tried",
           "first_right", "capped", "error")  # fmt: skip
"""What is kept of a line beside its pid, its futli and its run."""
_VALUES = attrgetter(*COLUMNS)
_READ = os.O_RDONLY | os.O_CLOEXEC

Futs = list[tuple[Any, ...]]
"""Rows of ``fut`` without the number of their futli: time, s, l, digest, url, found_by, label."""
Paper = tuple[tuple[Any, ...], str, dict[str, Futs], list[str]]
"""The columns of ``paper`` up to its year, its pid, its futlis that had futs, those left open."""
Told = tuple[int, int, list[tuple[Any, ...]], list[tuple[Any, ...]], list[str]]
"""Where the lines end and how many they are; rows of pid, futli, run and ``COLUMNS`` for those that
say more than a count; counts by day; sentences about those that are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPaper:
    """A suwaf that was read, or why it is none. ``path`` is relative to the archive's root."""

    pid: Pid
    path: str
    times: FileTimes
    suwaf: Suwaf | None
    problem: str | None = None


class Reader:
    """Reads pieces of *archive* and keeps nothing between them."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._is_repec = archive.scheme.name != "any"  # whose pids have no parts

    # Feeds ----------------------------------------------------------------------------------

    def lines(self, name: str, run: int, start: int, stop: int) -> Told:
        """What lines of the feed of run *name*, of the number *run*, say that begin there."""
        try:
            with (self._archive.root / "runs" / f"{name}.jsonl").open("rb") as feed:
                lines, end = lines_between(feed, start, stop)
                place = feed.name
        except FileNotFoundError:
            return 0, 0, [], [], []
        counts, rows, told = Counts(), [], []
        for data in lines:
            try:
                line = Line.of(data)
            except BadLine as error:
                told.append(not_read(place, error))
                continue
            archive, pid = self._place(line)
            host = "" if line.outcome == Outcome.BAD_PID else host_of(line.futli)
            counts.add(line, run, host, archive)
            if pid is not None and not line.is_held:
                rows.append((pid, line.futli, run, *_VALUES(line)))
        return end, len(lines), rows, [(*key, *one) for key, one in counts.counts.items()], told

    def _place(self, line: Line) -> tuple[str, str | None]:
        """The archive that *line* is of, and its pid; None where it has none."""
        if line.outcome == Outcome.BAD_PID:
            return "", None
        try:
            text = self._archive.scheme.text(line.pid)
        except BadPid:
            return "", None
        if self._is_repec and text.startswith("RePEc:"):
            return text.split(":", 2)[1], text
        return Named.of(self._archive.pid(text)).archive, text

    # Suwafs ---------------------------------------------------------------------------------

    def papers(self, folder: int, path: str, names: Sequence[str]) -> tuple[list[Paper], list[str]]:
        """The papers of these suwafs in the folder at *path*, whose number is *folder*; sentences
        about what is none.
        """
        told: list[str] = []
        found = [
            _paper(folder, paper)
            for _, paper in read_papers(self._archive, path, names, told)
            if paper is not None
        ]
        return found, told


def not_read(feed: str | Path, error: BadLine) -> str:
    return f"{feed}: a line that is no outcome: {error}"


def _paper(folder: int, paper: ReadPaper) -> Paper:
    suwaf = paper.suwaf
    if suwaf is None:
        return values_of(folder, paper), paper.pid.text, {}, []
    futlis = {stored(url): [*futs_of(times)] for url, times in suwaf.futlis.items() if times}
    return values_of(folder, paper), paper.pid.text, futlis, [*map(stored, suwaf.open)]


def values_of(folder: int, paper: ReadPaper) -> tuple[Any, ...]:
    """The columns of a paper up to its year, in the order of ``papers.ADD_PAPER``."""
    named, suwaf = Named.of(paper.pid), paper.suwaf
    held = Held.of(suwaf) if suwaf else Held(futs=0, first=None, last=None)
    return (
        folder, paper.path, paper.times.mtime_ns, paper.times.size, paper.times.ino,
        suwaf.end if suwaf else None, held.futs, held.first, held.last, paper.problem,
        named.archive, named.series, named.year,
    )  # fmt: skip


def futs_of(times: Mapping[str, Fut]) -> Iterator[tuple[Any, ...]]:
    """The rows of ``fut`` of a futli with *times* in its suwaf, as ``Futs``."""
    for time, fut in times.items():
        yield (time, fut.s, fut.l, digest_bytes(fut.digest), stored(fut.url),
               stored(fut.origin.found_by) or None, stored(fut.label) or None)  # fmt: skip


def read_papers(
    archive: Archive, folder: str, names: Sequence[str], told: list[str]
) -> Iterator[tuple[str, ReadPaper | None]]:
    """The suwafs of these *names* in *folder*, relative to the root; None for what is none.

    *told* gets a sentence for each that is no paper's place. ``StorageTrouble`` where the disk does
    not read.
    """
    with _opened(archive.root / folder) as fd:
        for name in names:
            try:
                paper = read_paper(archive, f"{folder}/{name}", name, fd)
            except BadPid as error:
                place = Path(archive.root, folder, name)
                told.append(f"{place}: no paper has this place: {error}")
                paper = None
            yield name, paper


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


def read_paper(archive: Archive, path: str, name: str, folder: int) -> ReadPaper | None:
    """The suwaf at *path*, *name* in the open *folder*; None where it is gone meanwhile.

    ``BadPid`` where it is no paper's place, ``StorageTrouble`` where the disk does not read.
    """
    relative = path.removeprefix(f"{TOP}/").removesuffix(SUFFIX)
    pid = archive.scheme.inverse(relative)
    if pid is None:  # a cut path
        pid = archive.pid_at(archive.root / "warc" / f"{relative}.warc")
    place = archive.root / path
    found = _bytes_of(place, name, folder)
    if found is None:
        return None
    data, times = found
    try:
        suwaf = Suwaf.of_bytes(data, place, pid)
        _check_sizes(place, suwaf)
    except BadSuwaf as error:
        return ReadPaper(pid=pid, path=path, times=times, suwaf=None, problem=stored(error.message))
    return ReadPaper(pid=pid, path=path, times=times, suwaf=suwaf)


def _bytes_of(place: Path, name: str, folder: int) -> tuple[bytes, FileTimes] | None:
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


def _check_sizes(path: Path, suwaf: Suwaf) -> None:
    futs = (fut for times in suwaf.futlis.values() for fut in times.values())
    if suwaf.end >= LARGEST or any(fut.s >= LARGEST or fut.l >= LARGEST for fut in futs):
        raise BadSuwaf(path, "not a suwaf: a place that no file has")
