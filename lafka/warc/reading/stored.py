"""A record where it lies in a volume: its header at hand, all else read when asked for.

Its block can be held to what its header says: digests are of the block as it stands and of the
payload in it (WARC/1.1 sections 5.8 and 5.9).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Protocol

from ..errors import BadHttp, BadValue, BadWarc
from ..format import dates, http
from ..format.base import BaseRecord, body_length, message_in
from ..format.digests import BlockHash, Digest, hashed
from ..format.fields import Fields
from ..format.sources import CHUNK, Source
from ..problems import Problem
from .framing import END

_HTTP = ("response", "request", "revisit")


class Holder(Protocol):
    """The volume of a stored record, as far as that needs it."""

    path: Path

    def block_of(self, record: StoredRecord) -> Source: ...

    def bytes_of(self, record: StoredRecord) -> Source:
        """The ``length`` bytes of the file that hold the record."""

    def after(self, record: StoredRecord) -> StoredRecord | None: ...

    def identity(self) -> tuple[object, ...]: ...

    @property
    def is_plain(self) -> bool:
        """True if a place in a record is a place in the file."""


class StoredRecord(BaseRecord):
    """A record of a volume; made by its volume.

    ``offset`` is where it begins in the file, or the compressed member does that holds it, and
    ``inner`` how far behind the begin of the inflated member it is. ``length`` is how many bytes of
    the file hold it, to where the next record begins. ``header`` is exact, from the version line
    through the blank line; the block is ``block_length`` bytes, and ``trailer`` bytes of line ends
    stand behind it, 4 where all is well. ``alone``: no other record lies in its members.
    """

    torn = False
    """Whether its block is shorter than its header says, and it was to be salvaged."""

    __slots__ = (
        "_fields", "_http", "alone", "block_length", "header", "inner", "length", "offset",
        "trailer", "volume",
    )  # fmt: skip

    def __init__(  # noqa: PLR0917  a million times a second
        self,
        volume: Holder,
        offset: int,
        length: int,
        header: bytes,
        block_length: int,
        inner: int = 0,
        trailer: int = 4,
        alone: bool = True,
    ) -> None:
        self.volume = volume
        self.offset = offset
        self.length = length
        self.header = header
        self.block_length = block_length
        self.inner = inner
        self.trailer = trailer
        self.alone = alone
        self._fields: Fields | None = None
        self._http: http.Head | bool | None = False

    def __repr__(self) -> str:
        return f"<StoredRecord {self.type} {self.id} at byte {self.offset} of {self.path}>"

    def __eq__(self, other: object) -> bool:
        """Return whether *other* is the same physical record, by whatever name of its file."""
        return isinstance(other, StoredRecord) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return self.volume.identity(), self.offset, self.inner

    @property
    def path(self) -> Path:
        return self.volume.path

    @property
    def fields(self) -> Fields:
        """The fields of the header, read-only; parsed when first asked for."""
        if self._fields is None:
            self._fields = Fields.parse(self.header[self.header.find(b"\n") + 1 : -2])
        return self._fields

    def know(self, fields: Fields) -> None:
        """Take *fields* for what the header says: whoever calls has parsed it already."""
        self._fields = fields

    @property
    def version(self) -> str:
        """The version in the version line, as in ``1.1``."""
        return self.header[5 : self.header.find(b"\n")].decode("latin-1").strip()

    @property
    def block_start(self) -> int:
        """The byte of the file at which the block begins; in a plain volume alone."""
        return self.offset + len(self.header)

    @property
    def end(self) -> int:
        """The byte of the file at which the next record begins."""
        return self.offset + self.length

    @property
    def time(self) -> datetime:
        """WARC-Date, aware, cut to microseconds; ``BadWarc`` where it is none."""
        try:
            return dates.parse(self.fields.first("WARC-Date"))
        except BadValue as error:
            raise BadWarc(self.path, str(error), self.offset) from None

    def block(self) -> Source:
        """The block, read as it is asked for; ``BadWarc`` or ``OSError`` where it cannot be."""
        return self.volume.block_of(self)

    @property
    def source(self) -> Source:
        """The block, as :meth:`block` gives it."""
        return self.volume.block_of(self)

    @property
    def http(self) -> http.Head | None:
        """The head of the HTTP message in the block; None where there is none."""
        if isinstance(self._http, bool):
            self._http = message_in(self) if self.type in _HTTP else None
        return self._http

    @property
    def payload_place(self) -> tuple[int, int] | None:
        """The place in the file where the payload stands as it is, and its length; or None."""
        if not self.volume.is_plain:
            return None
        head = self.http
        if head is None:
            return self.block_start, self.block_length
        if head.transfer_codings:
            return None
        if head.chunked:
            undone = not http.is_chunked(self.source, head)
            return (self.block_start + head.end, self.block_length - head.end) if undone else None
        return self.block_start + head.end, body_length(self, head)

    def raw(self) -> Source:
        """The bytes of the file that hold the record, compressed if they are; for a byte copy.

        ``BadWarc`` where they hold other records too (``alone``): see :meth:`pieces`.
        """
        if not self.alone:
            message = "the record shares its compressed member with others"
            raise BadWarc(self.path, message, self.offset)
        return self.volume.bytes_of(self)

    def pieces(self) -> Iterator[bytes]:
        """The record uncompressed: its exact header and block, and CRLF CRLF."""
        yield self.header
        yield from self.block().chunks(0, CHUNK)
        yield END

    def next(self) -> StoredRecord | None:
        """The record that follows in the volume."""
        return self.volume.after(self)

    def verify(self) -> list[Problem]:
        """Return the problems of its digests: none where all is well or nothing can be told.

        Nothing is said of digests by unknown algorithms, nor of a payload that lies elsewhere: of a
        revisit, of a segment.
        """
        codes = ("block-digest", "payload-digest", "truncated-payload", "unreadable")
        return [problem for problem in contents(self, self.block()) if problem.code in codes]


class TornRecord(StoredRecord):
    """A record that is not all there."""

    __slots__ = ()
    torn = True


_WITH_PAYLOAD = frozenset({"response", "request", "resource", "metadata", "conversion"})
_HEADED = ("response", "request")


class _Block:
    """A block and its digests, each algorithm one pass."""

    def __init__(self, record: StoredRecord, source: Source) -> None:
        self.source = source
        self.head: http.Head | None = None
        self.is_http = record.type in _HEADED and record.media_type == http.MESSAGE
        self.trouble = ""
        self._made: dict[str, BlockHash] = {}
        if self.is_http:
            try:
                self.head = http.message_head(source)
            except BadHttp as error:
                self.trouble = str(error)

    def digest(self, algorithm: str) -> Digest:
        return self._hashed(algorithm).block

    def _hashed(self, algorithm: str) -> BlockHash:
        if algorithm not in self._made:
            self._made[algorithm] = hashed(self.source, algorithm, self.head, to_end=False)
        return self._made[algorithm]

    def payload(self, stated: Digest) -> Digest | None:
        """*stated* where it is the payload's; else what the payload's is, None where it is broken.

        Of a body that is chunked or longer than it says, some writers take it as it stands.
        """
        if self.head is None:
            return self.digest(stated.algorithm)
        found = self._hashed(stated.algorithm).payload
        if found == stated:
            return stated
        body = Digest.of(self.source.chunks(self.head.end), stated.algorithm)
        return stated if body == stated else found


def _mismatches(record: StoredRecord, block: _Block) -> Iterator[tuple[str, str, str]]:
    fields = record.fields
    stated = _stated(fields, "WARC-Block-Digest")
    if stated and (found := block.digest(stated.algorithm)) != stated:
        yield "block-digest", found.text, stated.text
    stated = _stated(fields, "WARC-Payload-Digest")
    if not stated or record.type not in _WITH_PAYLOAD or "WARC-Segment-Number" in fields:
        return
    payload = block.payload(stated)
    if payload != stated:
        code = "truncated-payload" if "WARC-Truncated" in fields else "payload-digest"
        yield code, payload.text if payload else "broken", stated.text


def _stated(fields: Fields, name: str) -> Digest | None:
    """The digest *name* where it can be computed here."""
    text = fields.first(name)
    if text:
        with suppress(BadValue):
            digest = Digest.parse(text)
            return digest if digest.known else None
    return None


def is_plainly_right(record: StoredRecord, data: bytes) -> bool:
    """Return whether all is well with the block *data*, as far as that is told without parsing it.

    So it is with nearly all small blocks: a record of 1 kB is checked in 32 µs of CPU, not 65.
    """
    fields = record.fields
    stated = fields.first("WARC-Block-Digest")
    if stated and not _says(stated, data):
        return False
    stated = fields.first("WARC-Payload-Digest")
    if record.type not in _HEADED:
        return not stated
    line = _FIRST_LINE.match(data)
    end = data.find(b"\r\n\r\n") + 4
    return bool(line) and end > 4 and (not stated or _says(stated, data[end:]))


_FIRST_LINE = re.compile(rb"HTTP/1\.[01] [2-5][0-9][0-9] [ -~]*\r\n|[A-Z]+ [!-~]+ HTTP/1\.[01]\r\n")
_MAKERS = {"sha1": hashlib.sha1, "sha256": hashlib.sha256, "md5": hashlib.md5}
_BASE32 = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "0123456789abcdefghijklmnopqrstuv", "_")


def _says(stated: str, data: bytes) -> bool:
    """Return whether *stated* is the digest of *data*; only its usual spellings are known here."""
    label, _, value = stated.partition(":")
    make = _MAKERS.get(label)
    if make is None:
        return False
    made = make(data, usedforsecurity=False)
    if len(value) != 32 or label != "sha1":
        return value == made.hexdigest()
    try:
        return int(value.translate(_BASE32), 32) == int.from_bytes(made.digest(), "big")
    except ValueError:
        return False


def contents(record: StoredRecord, source: Source) -> list[Problem]:
    """Return the problems of the block of *record*."""
    place = record.path, record.offset, record.inner
    try:
        block = _Block(record, source)
        problems = [
            Problem.of(code, *place, found=found, value=stated)
            for code, found, stated in _mismatches(record, block)
        ]
    except BadWarc as error:
        return [Problem.of("unreadable", *place, reason=error.message)]
    if block.trouble:
        problems.append(Problem.of("bad-http", *place, reason=block.trouble))
    return problems
