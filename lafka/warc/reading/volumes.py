"""A WARC file, plain or compressed, read record by record (WARC/1.0 and 1.1, annexes on gzip)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from ..errors import BadWarc, TornWarc
from ..format.compression import MAGIC_MAX, Codec, codec_of, unread_codec
from ..format.sources import CHUNK, BaseSource, Source
from ..problems import Problem
from . import DETECTORS, framing
from .framing import HeaderLimits
from .handles import FileHandle, ReadableStream, name_of, source_of
from .scanning import RecordScan, Report
from .stored import StoredRecord
from .streams import PackedStream, PlainStream, Trouble, next_member

# What is odd and yet harmless to where records begin and end.
TOLERATED = frozenset({"line-end", "old-version", "one-member", "split-record", "padding"})
_PROBLEMS_MAX = 100_000
TORN = frozenset({"torn-tail", "torn-member"})


_NO_FILE = frozenset({"source", "fd", "part"})  # what is named so is read in place of the file


def _class_of(path: Path) -> type | None:
    """Return the class that reads the file at *path*; None where there is no detector."""
    for detector in DETECTORS:
        module, _, name = detector.partition(":")
        found: type = getattr(import_module(module), name)(path, None)
        return found
    return None


class Volume:
    """The records of the file at *path*; a context, and an iterable that may be iterated again.

    *path* may be a readable, whatever has ``read(size)``: a pipe, an HTTP answer, a zip's member.
    What is an ARC, WACZ, MAFF or MHTML file by its first bytes is read as such.

    Lenient: what is wrong goes into ``problems``, each thing once, and reading goes on behind it.
    *strict*: ``BadWarc`` is raised instead, ``TornWarc`` where the file ends inside a record, after
    all whole records before it were given. What no reader stumbles over (:data:`TOLERATED`) only
    goes into ``problems``. ``OSError`` where the file cannot be read. *salvage*: a record that the
    file ends in, or whose length is wrong, is given too, cut, ``torn``.

    *source*: read this instead of the file. *part*: only what lies from its first number to its
    second, a stored member of a zip say; offsets stay those of the file; None: to its end. *fd*: a
    descriptor that the caller has open and closes. What is given one of these is a WARC. A volume
    that was closed is opened again when read.
    """

    scan_type: type[RecordScan] = RecordScan

    def __new__(cls, path: Path | str | ReadableStream = "", **how: Any) -> Self:
        if cls is Volume and isinstance(path, Path | str) and _NO_FILE.isdisjoint(how):
            with suppress(OSError, BadWarc):  # which reading it will raise
                made: Self = object.__new__(_class_of(Path(path)) or cls)
                return made
        return super().__new__(cls)

    def __init__(
        self,
        path: Path | str | ReadableStream,
        *,
        source: Source | None = None,
        fd: int | None = None,
        part: tuple[int, int | None] | None = None,
        strict: bool = False,
        salvage: bool = False,
        limits: HeaderLimits | None = None,
    ) -> None:
        if not isinstance(path, Path | str):
            source, path = source_of(path), name_of(path)
        self.path = path if isinstance(path, Path) else Path(path)  # a path of a path is read anew
        self.strict = strict
        self.salvage = salvage
        self.limits = limits or HeaderLimits()
        self._begin, end = part or (0, None)
        self._handle = FileHandle(self.path, source, fd, end)
        self.watch: Callable[[Problem], None] | None = None
        """Called with each problem instead of ``problems``, if set."""
        self.inflate_all = False
        """Inflate members that tell their length too, as a checker does."""
        self.refused: Callable[[int, bytes], object] | None = None
        """Called with the offset and header of each record that is not given."""
        self._found: dict[tuple[int, int, str], Problem] = {}
        self._sniffed: Codec | bool | None = False
        self._walked: PlainStream | None = None
        self._scanned: PackedStream | None = None
        self._inflated: PackedStream | None = None
        self._cursor: tuple[StoredRecord, Iterator[StoredRecord]] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the descriptor back; whatever is read later opens the file again."""
        self._handle.close()
        self._walked = self._scanned = self._inflated = None
        self._cursor = None

    def __repr__(self) -> str:
        return f"Volume({str(self.path)!r})"

    @property
    def problems(self) -> list[Problem]:
        """The problems of where records begin and end, as far as was read, by offset."""
        return sorted(self._found.values(), key=lambda problem: (problem.offset, problem.inner))

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self._handle.size

    @property
    def fd(self) -> int:
        return self._handle.fd

    @property
    def compression(self) -> str:
        """``gzip``, ``bzip2``, ``zstd``, or nothing."""
        return self._codec.name if self._codec else ""

    @property
    def is_plain(self) -> bool:
        return self._codec is None

    @property
    def _codec(self) -> Codec | None:
        if isinstance(self._sniffed, bool):
            self._sniffed = codec_of(self._handle.read, self._begin)
        return self._sniffed

    def identity(self) -> tuple[object, ...]:
        return self._handle.identity()

    # ---- Records

    def __iter__(self) -> Iterator[StoredRecord]:
        return self.records()

    def records(
        self, types: Collection[str] | None = None, start: int = 0
    ) -> Iterator[StoredRecord]:
        """The records, those of *types* alone if given, from the byte *start* of the file on."""
        start = max(start, self._begin)
        records = self._packed_records(start) if self._codec else self._plain_records(start)
        if types is None:
            return records
        wanted = {name.lower() for name in types}
        return (record for record in records if record.type in wanted)

    def first(self) -> StoredRecord | None:
        """The first record; None where there is none."""
        return self._following(self.records())

    def at(self, offset: int, inner: int = 0) -> StoredRecord:
        """The record at the byte *offset* of the file, or *inner* bytes into the member there.

        ``BadWarc`` where no sound one is, ``TornWarc`` where the file ends inside it.
        """
        trouble: list[Problem] = []

        def report(code: str, place: int, inner: int = 0, **values: object) -> None:
            problem = Problem.of(code, self.path, place, inner, **values)
            if code not in TOLERATED:
                trouble.append(problem)
                if self.strict:
                    raise self._error(problem)

        stream = self._stream(offset)
        at = inner if isinstance(stream, PackedStream) else offset
        scan = self._scanned_by(stream, report)
        record = scan.take(at)[0] if scan.begins(at) else None
        if record is not None:
            return record
        if isinstance(stream, PackedStream) and stream.trouble:
            report(stream.trouble.code, stream.trouble.offset, reason=stream.trouble.reason, size=0)
        if trouble:
            raise self._error(trouble[-1])
        raise BadWarc(self.path, scan.nothing, offset)

    def with_header(self, header: bytes, offset: int) -> StoredRecord:
        """The record at *offset* of a plain volume whose *header* is known: nothing is read.

        ``BadWarc`` where *header* is none.
        """
        found = framing.quick(header, 0, most=len(header))
        if found is None or found[0] != len(header):
            raise BadWarc(self.path, "no WARC record begins here", offset)
        return StoredRecord(self, offset, len(header) + found[1] + 4, header, found[1])

    def after(self, record: StoredRecord) -> StoredRecord | None:
        """The record behind *record*."""
        if self._cursor and self._cursor[0] == record:
            return self._following(self._cursor[1])
        if self.is_plain:
            return self._following(self.records(start=record.end))
        records = self._packed_records(record.offset, record.inner)
        return self._following(itertools.islice(records, 1, None))

    def _following(self, records: Iterator[StoredRecord]) -> StoredRecord | None:
        found = next(records, None)
        self._cursor = (found, records) if found is not None else None
        return found

    def _stream(self, offset: int) -> PlainStream | PackedStream:
        size, codec = self._handle.reach, self._codec
        if codec is None:
            return PlainStream(self._handle.read, size)
        return PackedStream(self._handle.read, size, codec, offset)

    def _plain_records(self, start: int) -> Iterator[StoredRecord]:
        name = unread_codec(self._handle.read(MAGIC_MAX, start)) if start == self._begin else ""
        if name:
            self._report("unread-compression", start, name=name)
            return iter(())
        self._walked = stream = PlainStream(self._handle.read, self._handle.reach)
        return self._scan(stream).records(start)

    def _scan(self, stream: PlainStream | PackedStream) -> RecordScan:
        refuse = self.refused or (lambda *_: None)
        return self._scanned_by(stream, self._report, strict=self.strict, refuse=refuse)

    def _scanned_by(
        self, stream: PlainStream | PackedStream, report: Report, **how: Any
    ) -> RecordScan:
        return self.scan_type(
            self, stream, self.limits, report,
            skip=not self.inflate_all, salvage=self.salvage, **how,
        )  # fmt: skip

    def _packed_records(self, start: int, inner: int = 0) -> Iterator[StoredRecord]:
        codec = self._codec
        assert codec is not None
        offset: int | None = start
        while offset is not None:
            stream = PackedStream(self._handle.read, self._handle.reach, codec, offset)
            self._scanned = stream
            yield from self._scan(stream).records(inner)
            for place, size in stream.padding:
                self._report("padding", place, size=size)
            offset, inner = self._behind(stream, codec), 0

    def _behind(self, stream: PackedStream, codec: Codec) -> int | None:
        """Return where reading goes on behind the trouble that ended *stream*; None at the end."""
        trouble = stream.trouble
        if trouble is None:
            return None
        size = self._handle.size
        if self.strict:
            self._report_trouble(trouble, size)
        offset = next_member(
            self._handle.read, size, codec, trouble.offset + 1, self.scan_type.is_start
        )
        if offset is not None and trouble.code == "torn-member":
            reason = "the member goes on as another one"
            trouble = Trouble(code="bad-compression", offset=trouble.offset, reason=reason)
        self._report_trouble(trouble, size if offset is None else offset)
        return offset

    def _report_trouble(self, trouble: Trouble, stop: int) -> None:
        if trouble.code != "given-up":  # stray bytes were reported
            size = stop - trouble.offset
            self._report(trouble.code, trouble.offset, reason=trouble.reason, size=size)

    def _report(self, code: str, offset: int, inner: int = 0, **values: object) -> None:
        problem = Problem.of(code, self.path, offset, inner, **values)
        if self.strict and code not in TOLERATED:
            raise self._error(problem)
        if self.watch:
            self.watch(problem)
        elif len(self._found) < _PROBLEMS_MAX:
            self._found.setdefault((offset, inner, code), problem)
        else:
            self._found.setdefault((0, 0, "more"), Problem.of("more", self.path, offset))

    def _error(self, problem: Problem) -> BadWarc:
        kind = TornWarc if problem.code in TORN else BadWarc
        return kind(self.path, problem.sentence, problem.offset)

    # ---- What records read

    def block_of(self, record: StoredRecord) -> Source:
        if self._sniffed is None or self.is_plain:
            start = record.offset + len(record.header)
            return _FileRange(self._handle, start, record.block_length, self._walked)
        return _InflatedBlock(self, record)

    def bytes_of(self, record: StoredRecord) -> Source:
        return self.stretch(record.offset, record.length)

    def opening(self, length: int) -> bytes:
        """The first *length* bytes, inflated where it is compressed."""
        return self._stream(self._begin).read(0 if self._codec else self._begin, length)

    def stretch(self, offset: int, length: int) -> Source:
        """*length* bytes of the file from *offset* on, whatever they are."""
        return _FileRange(self._handle, offset, length)

    def inflated(self, record: StoredRecord, start: int, length: int) -> bytes:
        """Up to 1 MiB from *start* of the plain bytes of *record*, header included."""
        start += record.inner
        stream = self._scanned
        place = stream.where(record.offset) if stream else None
        if stream and place is not None and stream.holds(place + start, length):
            return stream.read(place + start, length)  # else the scan would lose its place
        stream = self._inflated
        place = stream.where(record.offset) if stream else None
        if stream is None or place is None or not stream.has(place + start):
            codec = self._codec
            assert codec is not None
            stream = PackedStream(self._handle.read, self._handle.reach, codec, record.offset)
            self._inflated, place = stream, 0
        return stream.read(place + start, length)


class _FileRange(BaseSource):
    """A range of the file."""

    __slots__ = ("_handle", "_start", "_walked")

    def __init__(
        self, handle: FileHandle, start: int, size: int, walked: PlainStream | None = None
    ) -> None:
        self.size = size
        self._handle = handle
        self._start = start
        self._walked = walked

    def read(self, start: int, length: int) -> bytes:
        length = max(0, min(length, self.size - start))
        if self._walked is not None:  # which has small blocks at hand
            data = self._walked.read(self._start + start, length)
        else:
            data = self._handle.read(length, self._start + start)
        while len(data) < length:
            more = self._handle.read(length - len(data), self._start + start + len(data))
            if not more:
                raise BadWarc(self._handle.path, "the file ends here", self._start + start)
            data += more
        return data


class _InflatedBlock(BaseSource):
    """The block of a record in compressed members."""

    __slots__ = ("_record", "_volume")

    def __init__(self, volume: Volume, record: StoredRecord) -> None:
        super().__init__(record.block_length)
        self._volume = volume
        self._record = record

    def read(self, start: int, length: int) -> bytes:
        length = max(0, min(length, self.size - start))
        parts: list[bytes] = []
        while length:
            place = len(self._record.header) + start
            data = self._volume.inflated(self._record, place, min(length, CHUNK))
            if not data:
                message = "the compressed data is not what it was"
                raise BadWarc(self._volume.path, message, self._record.offset)
            parts.append(data)
            start += len(data)
            length -= len(data)
        return parts[0] if len(parts) == 1 else b"".join(parts)


class WarcVolume(Volume):
    """A file that is to be a WARC: its first bytes are not asked whether it is of another kind."""


def open_plain(path: Path, fd: int | None = None) -> WarcVolume:
    """Open the WARC at *path*, or open as *fd*, to be read strictly, its places bytes of the file.

    ``BadWarc`` where it is compressed.
    """
    volume = WarcVolume(path, fd=fd, strict=True)
    if not volume.is_plain:
        raise BadWarc(path, "no WARC record begins here (it is compressed)", 0)
    return volume
