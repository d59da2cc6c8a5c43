"""Records of any size, in segments over several volumes (WARC/1.1 section 7).

The first segment is of the record's own type, the others are ``continuation`` records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cached_property

from ..errors import BadHttp, BadValue, BadWarc, MissingSegment
from ..format import http
from ..format.base import problem_taker
from ..format.digests import Digest, hashed
from ..format.fields import Fields
from ..format.records import Record
from ..format.sources import CHUNK, Source, SourceSlice
from ..problems import Problem
from ..reading.stored import StoredRecord
from .builders import Builder, Place, parse_size
from .encoding import added_size

Find = Callable[[str, int], StoredRecord | None]
"""The segment of that number of the record whose first one has that id; None: there is none."""
_NUMBER, _ORIGIN, _TOTAL = (
    "WARC-Segment-Number", "WARC-Segment-Origin-ID", "WARC-Segment-Total-Length",
)  # fmt: skip


# Writing -----------------------------------------------------------------------------------


def write_segmented(builder: Builder, record: Record, size: int | str | None = None) -> list[Place]:
    """Append *record*, in segments where it is larger than a file of the builder may be.

    The first one begins a file, and each fills its file. *size*: each segment has so many bytes of
    the block instead, whether or not the record would fit. The payload digest is that of the whole,
    block digests are of the segments. ``BadValue`` for a continuation; else as
    :meth:`Builder.append`. What fails leaves the segments that were written before.
    """
    if record.type == "continuation" or _NUMBER in record.fields:
        raise BadValue("a segment cannot be segmented")
    most = parse_size(size) if size is not None else 0
    if not most and (
        builder.has_room(record)
        or builder.is_single
        or record.block_length + added_size(record) <= builder.start()
    ):
        return builder.append(record)
    return list(_written(builder, record, most))


def _written(builder: Builder, record: Record, most: int) -> Iterator[Place]:
    first = _origin(record, builder)
    total, start, number = record.block_length, 0, 1
    made = first
    while start < total or number == 1:  # an empty block too is a record
        room = most or max(1, builder.start() - added_size(made))
        length = min(room, total - start)
        is_last = start + length == total
        if is_last and number == 1:
            yield from builder.append(record)
            return
        block = SourceSlice(record.source, start, length)
        if number == 1:
            made = replace(first, block=block)
        else:
            made = _continuation(record, first, number, block, builder.ids)
        if is_last:
            made = _last_segment(made, record)
        yield from builder.append(_digested(made), concurrent=False)
        start, number = start + length, number + 1


def _origin(record: Record, builder: Builder) -> Record:
    """Return the first segment, but for its block."""
    fields = record.fields.copy()
    for name in ("WARC-Block-Digest", "Content-Length", "WARC-Truncated"):
        fields.remove(name)
    if not fields.first("WARC-Record-ID"):
        fields.set("WARC-Record-ID", builder.ids())
    if not fields.first("WARC-Date"):
        fields.set("WARC-Date", builder.clock().text)
    fields.add(_NUMBER, "1")
    if record.algorithm and "WARC-Payload-Digest" not in fields:
        digest = _payload_digest(record)
        if digest:
            fields.add("WARC-Payload-Digest", digest.text)
    return replace(record, fields=fields)


def _payload_digest(record: Record) -> Digest | None:
    """The digest of the whole payload, where the record has one that is well defined."""
    if record.type in ("resource", "conversion"):
        return Digest.of(record.source.chunks(0, CHUNK), record.algorithm)
    if record.type == "response" and (head := record.http):
        return hashed(record.source, record.algorithm, head).payload
    return None


def _continuation(
    record: Record, first: Record, number: int, block: Source, ids: Callable[[], str]
) -> Record:
    return Record.continuation(
        first, number, block, date=first.fields.first("WARC-Date"), ids=ids,
        version=record.version, algorithm=record.algorithm,
    )  # fmt: skip


def _last_segment(segment: Record, record: Record) -> Record:
    """*segment* as the last one: it tells the length of all, and whether that was cut."""
    fields = segment.fields.copy()
    fields.set(_TOTAL, str(record.block_length))
    if reason := record.fields.first("WARC-Truncated"):
        fields.set("WARC-Truncated", reason)
    return replace(segment, fields=fields)


def _digested(segment: Record) -> Record:
    """*segment* with its block digest, where it would get a payload digest of its own too."""
    if segment.type != "response" or not segment.algorithm:
        return segment
    if "WARC-Payload-Digest" in segment.fields:
        return segment
    fields = segment.fields.copy()
    digest = Digest.of(segment.source.chunks(0, CHUNK), segment.algorithm)
    fields.set("WARC-Block-Digest", digest.text)
    return replace(segment, fields=fields, algorithm="")


# Reading -----------------------------------------------------------------------------------


def join(segment: StoredRecord, find: Find, *, eager: bool = False) -> SegmentedRecord:
    """The record that *segment* is one of, its other segments found by *find*.

    They are looked for when they are reached; *eager*: now. ``MissingSegment`` where one is in no
    volume, ``BadWarc`` where they do not go together.
    """
    if segment.type == "continuation":
        origin = segment.fields.first(_ORIGIN)
        first = find(origin, 1)
        if first is None:
            raise MissingSegment(f"the first segment of {origin} is missing")
        segment = first
    joined = SegmentedRecord(segment, find)
    if eager:
        _ = joined.block_length
    return joined


def segment_of(record: StoredRecord) -> tuple[str, int] | None:
    """The id of the first segment and the number of *record*; None where it is no segment."""
    number = record.fields.first(_NUMBER)
    if not (number.isascii() and number.isdigit() and len(number) < 19):
        return None
    is_first = record.type != "continuation"
    return (record.id if is_first else record.fields.first(_ORIGIN)), int(number)


def finder(records: Iterable[StoredRecord]) -> Find:
    """Finds segments among *records*, those of many volumes say, which are gone through once."""
    rest = iter(records)
    seen: dict[tuple[str, int], StoredRecord] = {}

    def find(origin: str, number: int) -> StoredRecord | None:
        while (origin, number) not in seen:
            record = next(rest, None)
            if record is None:
                return None
            key = segment_of(record)
            if key:
                seen.setdefault(key, record)
        return seen[origin, number]

    return find


class SegmentedRecord:
    """A logical record: what its segments are together.

    ``block`` and ``payload`` find segments as they reach them. ``fields`` and ``block_length``
    need all of them. Each raises as :func:`join` does.
    """

    def __init__(self, first: StoredRecord, find: Find) -> None:
        self.first = first
        self._find = find
        self._found = [first]
        self._whole = not first.fields.first(_NUMBER)

    def __repr__(self) -> str:
        return f"<SegmentedRecord {self.first.type} {self.first.id}>"

    @property
    def segments(self) -> Iterator[StoredRecord]:
        """The segments in order, each found when it is asked for."""
        number = 0
        while number < len(self._found) or self._next():
            yield self._found[number]
            number += 1

    def _next(self) -> bool:
        """Find one more; False where there are no more."""
        if self._whole:
            return False
        number = len(self._found) + 1
        segment = self._find(self.first.id, number)
        if segment is None:
            raise MissingSegment(f"segment {number} of {self.first.id} is missing")
        if segment_of(segment) != (self.first.id, number):
            message = f"not segment {number} of {self.first.id}"
            raise BadWarc(segment.path, message, segment.offset)
        self._found.append(segment)
        total = segment.fields.first(_TOTAL)
        if total:
            self._whole = True
            length = sum(found.block_length for found in self._found)
            if total != str(length):
                message = f"the segments of {self.first.id} are {length} bytes, not {total[:40]}"
                raise BadWarc(segment.path, message, segment.offset)
        return True

    @property
    def block_length(self) -> int:
        return sum(segment.block_length for segment in self.segments)

    @property
    def type(self) -> str:
        return self.first.type

    @property
    def id(self) -> str:
        return self.first.id

    @property
    def url(self) -> str:
        return self.first.url

    @cached_property
    def fields(self) -> Fields:
        """Those of the first segment, for the whole; without a block digest, which none has."""
        length = self.block_length
        last = self._found[-1].fields.first("WARC-Truncated")
        fields = self.first.fields.copy()
        fields.remove(_NUMBER)
        if len(self._found) > 1:
            fields.remove("WARC-Block-Digest")
        if last:
            fields.set("WARC-Truncated", last)
        fields.set("Content-Length", str(length))
        return fields

    def block(self) -> Source:
        return _JoinedBlocks(self)

    @cached_property
    def http(self) -> http.Head | None:
        """The head of the HTTP message in the block; None where there is none."""
        if self.first.media_type != http.MESSAGE:
            return None
        with suppress(BadHttp):
            return http.message_head(self.block())
        return None

    def payload(
        self, *, decoded: bool = False, strict: bool = False, problems: list[Problem] | None = None
    ) -> Iterator[bytes]:
        """As :meth:`StoredRecord.payload` of the whole."""
        head = self.http
        if head is None:
            return self.block().chunks()
        to_end = bool(head.status)  # as all recorders mean it
        if strict:
            read = http.entity if decoded else http.payload
            return read(self.block(), head, to_end=to_end)
        on_problem = problem_taker(self.first, problems)
        return http.lenient_payload(self.block(), head, on_problem, decoded=decoded, to_end=to_end)

    def record(self) -> Record:
        """The whole as a record to be written; its block is read from the segments then."""
        return Record(fields=self.fields, block=self.block(), version=self.first.version)


class _JoinedBlocks:
    """The blocks of all segments as one."""

    __slots__ = ("_joined",)

    def __init__(self, joined: SegmentedRecord) -> None:
        self._joined = joined

    @property
    def size(self) -> int:
        return self._joined.block_length

    def read(self, start: int, length: int) -> bytes:
        parts: list[bytes] = []
        for segment in self._joined.segments:
            if start < segment.block_length:
                parts.append(segment.block().read(start, length))
                length -= len(parts[-1])
            start = max(0, start - segment.block_length)
            if length <= 0:
                break
        return b"".join(parts)

    def chunks(self, start: int = 0, size: int = CHUNK) -> Iterator[bytes]:
        for segment in self._joined.segments:
            if start < segment.block_length:
                yield from segment.block().chunks(start, size)
            start = max(0, start - segment.block_length)
