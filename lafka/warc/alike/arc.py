"""ARC files, read as if they were WARCs (ARC 1.0, 1.1 and 2; plain or compressed).

A record is a header line, a block and a line end. Its ``fields`` are those of a WARC record that
says the same and no more: ``filedesc:`` is a warcinfo, ``http:``, ``https:`` and ``dns:`` are
responses, all else is a resource. The line itself is ``arc``, exact.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from typing import Any

from lafka.warc.alike import archeaders
from lafka.warc.alike.archeaders import LINE_MAX, ONE, ArcHeader
from lafka.warc.errors import BadHttp, BadValue, BadWarc
from lafka.warc.format import http
from lafka.warc.format.dates import SECONDS, WarcDate
from lafka.warc.format.fields import Fields, one_line
from lafka.warc.format.records import HTTP_RESPONSE
from lafka.warc.format.sources import CHUNK, MemorySource
from lafka.warc.reading.scanning import FIRST_LOOK, PATIENCE, Report, Scan
from lafka.warc.reading.stored import StoredRecord
from lafka.warc.reading.streams import PackedStream, PlainStream
from lafka.warc.reading.volumes import Volume

HEADER_FIELD = "ARC-Header"
"""The header line in the fields, :func:`archeaders.escaped`; an extension, kept by arc2warc."""
_NAMESPACE = uuid.UUID("5b1c84c6-5f0e-5d0c-9a43-7c1fd05a2f8e")
_WEB = ("http:", "https:")
_NEAR = 64  # bytes by which a length may be wrong and the record still be had


def date_of(header: ArcHeader) -> WarcDate | None:
    """Archive-date, at most to the second; None where it is no date."""
    try:
        return WarcDate.parse(header.date[:SECONDS])
    except BadValue:
        return None


class ArcRecord(StoredRecord):
    """A record of an ARC file; ``torn`` where its block is shorter than its header says."""

    __slots__ = ("arc", "begin", "torn")

    arc: ArcHeader
    begin: bytes  # the first bytes of the block
    torn: bool

    @property
    def fields(self) -> Fields:
        """The fields of a WARC record that says the same; ``raw`` is the header line."""
        if self._fields is None:
            self._fields = self._as_warc()
            self._fields.raw = self.header
        return self._fields

    def _as_warc(self) -> Fields:
        arc, date = self.arc, date_of(self.arc)
        fields = Fields([("WARC-Type", _type(arc)), ("WARC-Record-ID", self._made_id())])
        if date:
            fields.add("WARC-Date", date.text)
        if arc.is_filedesc:
            fields.add("WARC-Filename", one_line(arc.url.partition("://")[2]))
        else:
            fields.add("WARC-Target-URI", one_line(arc.url))
        if arc.address:
            fields.add("WARC-IP-Address", arc.address)
        if self.is_http:
            fields.add("Content-Type", HTTP_RESPONSE)
        elif arc.media_type:
            fields.add("Content-Type", one_line(arc.media_type))
        fields.add("Content-Length", str(self.block_length))
        fields.add(HEADER_FIELD, archeaders.escaped(arc.line))
        return fields

    def _made_id(self) -> str:
        """An id that is the same whenever this record of this file is read."""
        line = archeaders.escaped(self.arc.line)
        name = f"{self.path.name}:{self.offset}:{self.inner}:{line}"
        return f"<urn:uuid:{uuid.uuid5(_NAMESPACE, name)}>"

    @property
    def is_http(self) -> bool:
        """Whether the block begins as an HTTP answer does."""
        return self.arc.url.lower().startswith(_WEB) and self.begin.startswith(b"HTTP/")

    @property
    def version(self) -> str:
        """Nothing: only the filedesc knows which version of ARC this is."""
        return ""

    @property
    def url(self) -> str:
        """The URL as it stands, spaces and all."""
        return self.arc.url

    def pieces(self) -> Iterator[bytes]:
        """The record uncompressed: its exact header line and block, and LF."""
        yield self.header
        yield from self.block().chunks(0, CHUNK)
        yield b"\n"


def _type(arc: ArcHeader) -> str:
    scheme = arc.url.partition(":")[0].lower()
    kinds = {"filedesc": "warcinfo", "http": "response", "https": "response", "dns": "response"}
    return kinds.get(scheme, "resource")


Taken = tuple[StoredRecord | None, int | None]
"""A record, None where it cannot be had, and where to go on."""


class ArcScan(Scan):
    """From record to record of an ARC file.

    A length is believed where a header or the end of the file follows the block, or where no header
    stands inside it.
    """

    record_type = ArcRecord
    names: tuple[str, ...] = ONE
    _known: tuple[int, ArcHeader | None, bytes] = (-1, None, b"")

    @staticmethod
    def is_start(data: bytes) -> bool:
        return next(archeaders.likely(data), (1,))[0] == 0

    def begins(self, at: int) -> bool:
        return self._header(at, at)[0] is not None

    def take(self, at: int) -> tuple[StoredRecord | None, int | None]:
        header, line = self._header(at, at)
        if header is None:
            return None, self._seek(at)
        stream = self._stream
        self._judge(at, header)
        body = at + len(line)
        begin = stream.read(body, 4096 if header.is_filedesc else 5)
        if header.is_filedesc:
            self.names = archeaders.names_in(begin)
        end = body + header.length
        stream.view(end, at)
        found = header, line
        if stream.lacks(end):
            return self._take_torn(at, found, begin)
        whole = self._made(at, found, begin, header.length, len(self._line_ends(end)))
        return self._in_order(at, body, whole) or self._off(at, body, whole)

    def _in_order(self, at: int, body: int, whole: ArcRecord) -> Taken | None:
        """*whole*, and where to go on, where its length is right or can be made so."""
        trailer, end = whole.trailer, body + whole.block_length
        after = end + trailer
        if not trailer and self._is_sound(body, end - 1):  # its line end is in the block
            return self._corrected((at, body, end - 1), whole, end), self._next(end)
        if self._stream.lacks(after + 1):
            return whole, None
        if self._header(after, at)[0] and (trailer or self._is_apart(body, end)):
            if not trailer:
                self._say("arc-trailer", at, next=self._stream.place(end)[0])
            return whole, after
        return (whole, self._seek(after)) if self._is_sound(body, end) else None

    def _off(self, at: int, body: int, whole: ArcRecord) -> Taken:
        """What there is of a record whose length does not lead to another one."""
        end = body + whole.block_length
        inside = self._record_in(body, end)
        near = self._near(inside, end)
        if near is not None:
            return self._corrected((at, body, near - 1), whole, near), near
        if inside is not None:
            return self._overlong(at, (whole.arc, whole.header), whole.begin, inside)
        return whole, self._seek(end + whole.trailer)

    def _take_torn(self, at: int, found: tuple[ArcHeader, bytes], begin: bytes) -> Taken:
        body = at + len(found[1])
        end = body + found[0].length
        inside = self._record_in(body, end)
        if inside is not None:
            return self._overlong(at, found, begin, inside)
        self._torn(at)
        return self._salvaged(at, found, begin, self._there(body, end)), None

    def _overlong(
        self, at: int, found: tuple[ArcHeader, bytes], begin: bytes, inside: int
    ) -> Taken:
        stream, body = self._stream, at + len(found[1])
        self._say("overlong-arc", at, length=found[0].length, next=stream.place(inside)[0])
        line_end = int(inside > body and stream.read(inside - 1, 1) == b"\n")
        return self._salvaged(at, found, begin, inside - line_end - body), inside

    def _next(self, at: int) -> int | None:
        return None if self._stream.lacks(at + 1) else at

    def _is_apart(self, body: int, end: int) -> bool:
        """Whether what stands at *end*, on no line of its own, is no rest of a header before it."""
        start = max(body, end - _NEAR)
        if not self._can_read(start):
            return True
        data = self._stream.read(start, end - start + LINE_MAX)
        rest = archeaders.is_rest(data[: end - start], data[end - start :])
        return not rest or self._is_sound(body, end)

    def _near(self, inside: int | None, end: int) -> int | None:
        """Where a header stands some bytes from *end*, where the length says that one does.

        *inside*: where the first one stands in the block.
        """
        if inside is None:
            return self._find(end, end + _NEAR) if self._can_read(end) else None
        return inside if end - inside <= _NEAR else None

    def _is_sound(self, body: int, end: int) -> bool:
        """Whether the HTTP answer between these places is as long as it says."""
        with suppress(BadHttp):
            source = MemorySource(self._stream.read(body, min(CHUNK, end - body)))
            head = http.head(source)
            return head.content_length == end - body - head.end
        return False

    def _corrected(self, places: tuple[int, int, int], whole: ArcRecord, after: int) -> ArcRecord:
        """The record with the length that it has: what follows begins at *after*."""
        at, body, end = places
        self._say("arc-length", at, length=whole.arc.length, next=self._stream.place(after)[0])
        made = self._made(at, (whole.arc, whole.header), whole.begin, end - body, after - end)
        made.torn = False
        return made

    def _header(self, at: int, keep: int) -> tuple[ArcHeader | None, bytes]:
        """The header at *at*, None where there is none, and its line with the line end."""
        if self._known[0] != at:
            base, data = self._stream.view(at, keep)
            newline = data.find(b"\n", at - base)
            if newline < 0:
                base, data = at, self._stream.read(at, LINE_MAX + 2)
                newline = data.find(b"\n")
            line = data[at - base : newline + 1] if newline >= 0 else b""
            self._known = at, self._parsed(line), line
        return self._known[1:]

    def _parsed(self, line: bytes) -> ArcHeader | None:
        try:
            return archeaders.parse(line.rstrip(b"\r\n"), self.names)
        except BadValue:
            return None

    def _judge(self, at: int, header: ArcHeader) -> None:
        if date_of(header) is None or len(header.date) != SECONDS:
            self._say("bad-date", at, name="Archive-date", value=header.date or "-")
        address = header.value("IP-address")
        if address.strip("0.") and not header.address:
            self._say("bad-value", at, name="IP-address", value=address)
        if " " in header.url:
            self._say("bad-uri", at, name="URL", value=header.url)

    def _made(
        self, at: int, found: tuple[ArcHeader, bytes], begin: bytes, length: int, trailer: int = 0
    ) -> ArcRecord:
        header, line = found
        record = self._record(at, line, length, trailer)
        assert isinstance(record, ArcRecord)
        record.arc, record.begin, record.torn = header, begin, length < header.length
        return record

    def _salvaged(
        self, at: int, found: tuple[ArcHeader, bytes], begin: bytes, length: int
    ) -> ArcRecord | None:
        return self._made(at, found, begin, length) if self._salvage else None

    def _seek(self, at: int) -> int | None:
        at += len(self._line_ends(at))
        if self._stream.lacks(at + 1):
            return None
        if self.begins(at):
            return at
        data = self._stream.read(at, LINE_MAX)
        if not archeaders.is_broken(data):
            return super()._seek(at)
        if b"\n" not in data and len(data) < LINE_MAX:
            self._torn(at)
            return None
        self._say("arc-header", at, line=data[:80].partition(b"\n")[0].decode("latin-1"))
        return self._find(at)

    def _find(self, at: int, end: int | None = None) -> int | None:
        stream, patience = self._stream, at + PATIENCE
        window = FIRST_LOOK
        while end is None or at < end:
            before = 1 if at and self._can_read(at - 1) else 0
            data = stream.read(at - before, window)
            found = next(archeaders.likely(data, before), None)
            if found:
                place = at - before + found[0]
                return place if end is None or place < end else None
            self._stop = at - before + len(data)
            if len(data) < window:
                return None
            if window < CHUNK:
                window *= 4
                continue
            if isinstance(stream, PackedStream) and at > patience:
                stream.give_up()
                return None
            at += CHUNK - LINE_MAX - 256
        return None

    def _record_in(self, start: int, end: int) -> int | None:
        return self._find(start, end) if self._can_read(start) else None


class ArcVolume(Volume):
    """The records of an ARC file, as :class:`ArcRecord`; see :class:`Volume`."""

    scan_type: type[Scan] = ArcScan

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the header's fields, by the first record of the file."""
        line, _, block = self.opening(LINE_MAX).partition(b"\n")
        return archeaders.names_in(block) if line.startswith(b"filedesc:") else ONE

    def _scanned_by(self, stream: PlainStream | PackedStream, report: Report, **how: Any) -> Scan:
        scan = super()._scanned_by(stream, report, **how)
        assert isinstance(scan, ArcScan)
        scan.names = self.names
        return scan

    def at(self, offset: int, inner: int = 0) -> StoredRecord:
        if offset and self.is_plain:
            start = max(0, offset - LINE_MAX)
            before = self._handle.read(offset - start, start)
            if not archeaders.may_begin(before, self._handle.read(LINE_MAX, offset)):
                raise BadWarc(self.path, "no ARC header begins here", offset)
        return super().at(offset, inner)
