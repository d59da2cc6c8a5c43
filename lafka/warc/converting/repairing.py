"""Volumes written anew: the whole records of a damaged one, or all of a sound one, recompressed.

The volume itself is never touched.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from ..errors import BadWarc
from ..foreign import kind_of, open_volume
from ..problems import Problem
from ..reading.handles import OPEN
from ..reading.stored import StoredRecord
from ..reading.volumes import Volume, WarcVolume
from ..writing.appending import Appender, new_file
from ..writing.encoding import Gzip, Plain
from ..writing.names import is_gzip, or_numbered

TORN = ".torn-"
GARBAGE = ".garbage"
# Bytes there belong to no record that is given, or to a member that holds more than its records.
LOST = frozenset({
    "torn-tail", "torn-member", "no-record", "stray-bytes", "overlong-block", "wrong-length",
    "open-header",
    "bad-compression", "bad-length", "long-line", "long-header", "overlong-arc", "arc-header",
    "unreadable", "more",
})  # fmt: skip
_TORN = ("torn-tail", "torn-member")


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedBytes:
    """``length`` bytes from ``offset`` on of the damaged file, kept at byte ``at`` of ``path``."""

    path: Path
    at: int
    offset: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairResult:
    """The account of a repair: ``records`` in ``into``, all else in the files of ``asides``.

    ``into`` is None where no record is whole.
    """

    into: Path | None
    records: int
    asides: tuple[DamagedBytes, ...]
    problems: tuple[Problem, ...]


def repair(path: Path | str, into: Path | str, *, gzip: bool | None = None) -> RepairResult:
    """Copy every whole record of the WARC or ARC at *path*, as it is, to the new file *into*.

    What belongs to none is kept in files beside *into*: a torn end in ``INTO.torn-OFFSET``, all
    else in ``INTO.garbage``. Records are compressed where the name *into* ends with ``.gz``, unless
    *gzip* says otherwise. Header and
    block of a record stay as they are, digests that do not fit included; the line ends behind it
    are made CRLF CRLF. ``FileExistsError`` where *into* is there; ``OSError``, and then no file.

    What a killed builder left, ``NAME.open``, is whole up to its torn end. Nothing behind the first
    damage in it is taken for a record: it could be what a site sent.
    """
    into = Path(into)
    opened = open_volume(path) if kind_of(path) == "arc" else WarcVolume(path)
    with opened as volume, ExitStack() as stack:
        encoding = Gzip() if is_gzip(into, gzip) else Plain()
        kept = _DamageFiles(volume, into, stack)
        out: Appender | None = None
        count = 0
        for found in _sorted_out(volume):
            if isinstance(found, StoredRecord):
                out = out or stack.enter_context(new_file(into))
                encoding.write(out, [found])
                count += 1
            else:
                kept.keep(*found)
    return RepairResult(
        into=into if count else None,
        records=count,
        asides=tuple(kept.asides),
        problems=tuple(volume.problems),
    )


def _sorted_out(volume: Volume) -> Iterator[StoredRecord | tuple[int, int]]:
    """The records of *volume*, and where the bytes begin and end that belong to none; in order."""
    at = kept_to = 0
    last: StoredRecord | None = None
    for record in volume:
        if _is_left(volume) and _is_behind_damage(record, volume):
            break
        another = last is None or record.offset != last.offset
        if another and (record.offset > at or (last and not last.alone)):
            yield from _lost(volume, last, kept_to, at, record.offset)
            kept_to = record.offset
        yield record
        at, last = max(at, record.end), record
    yield from _lost(volume, last, kept_to, at, volume.size)


def _is_left(volume: Volume) -> bool:
    """Return whether a builder was killed while it wrote *volume*."""
    return volume.path.name.endswith(OPEN)


def _is_behind_damage(record: StoredRecord, volume: Volume) -> bool:
    lost = [problem.offset for problem in volume.problems if problem.code in LOST]
    return any(at < record.offset or (at == record.offset and record.inner) for at in lost)


def _lost(
    volume: Volume, last: StoredRecord | None, kept_to: int, at: int, stop: int
) -> Iterator[tuple[int, int]]:
    """Yield the parts before *stop* that belong to no record; *last* ended at *at*.

    A member that holds several records and something else is kept whole, from *kept_to* on.
    """
    start = at
    if last is not None and not last.alone:
        inside = [p.offset for p in volume.problems if p.code in LOST and kept_to <= p.offset < at]
        start = min([at, *inside])
    if start >= stop:
        return
    torn = [p.offset for p in volume.problems if p.code in _TORN and start < p.offset < stop]
    yield from zip([start, *torn], [*torn, stop], strict=True)


class _DamageFiles:
    """The files for what belongs to no record, made when they are needed."""

    def __init__(self, volume: Volume, into: Path, stack: ExitStack) -> None:
        self.asides: list[DamagedBytes] = []
        self._volume = volume
        self._into = into
        self._stack = stack
        self._files: dict[Path, Appender] = {}

    def keep(self, start: int, stop: int) -> None:
        problems = self._volume.problems
        torn = any(problem.offset == start and problem.code in _TORN for problem in problems)
        torn = torn or _is_left(self._volume)
        name = self._into.name + (f"{TORN}{start}" if torn else GARBAGE)
        path, out = self._file(self._into.with_name(name))
        self.asides.append(
            DamagedBytes(path=path, at=out.position, offset=start, length=stop - start)
        )
        out.write(self._volume.stretch(start, stop - start).chunks())

    def _file(self, path: Path) -> tuple[Path, Appender]:
        for name in or_numbered(path):
            if name in self._files:
                return name, self._files[name]
            if not name.exists():
                self._files[name] = self._stack.enter_context(new_file(name))
                return name, self._files[name]
        raise AssertionError


@dataclass(frozen=True, slots=True, kw_only=True)
class RecompressionResult:
    """The account of a recompression: ``records`` in ``into``; ``problems`` of the old file."""

    into: Path
    records: int
    problems: tuple[Problem, ...]


def recompress(
    path: Path | str,
    into: Path | str,
    *,
    gzip: bool | None = None,
    skip_lengths: bool = False,
    level: int = 6,
) -> RecompressionResult:
    """Write each record of the volume at *path*, compressed in any way, to the new file *into*.

    A gzip member for each where the name *into* ends with ``.gz``, unless *gzip* says otherwise, of
    that *level* and with *skip_lengths* if asked; else plain. Records are as they were, and places
    in the file are others. ``BadWarc`` where not all of the volume is records: ``repair`` it first.
    ``FileExistsError`` where *into* is there; ``OSError``. Then there is no new file.
    """
    packed = is_gzip(into, gzip)
    encoding = Gzip(skip_lengths=skip_lengths, level=level, copies=False) if packed else Plain()
    count = 0
    with open_volume(path) as volume, new_file(Path(into)) as out:
        for record in volume:
            encoding.write(out, [record])
            count += 1
        problems = tuple(volume.problems)
        lost = next((problem for problem in problems if problem.code in LOST), None)
        if lost:
            raise BadWarc(lost.path, f"{lost.sentence}: repair it first", lost.offset)
    return RecompressionResult(into=Path(into), records=count, problems=problems)
