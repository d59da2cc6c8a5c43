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

from ..errors import BadHttp, BadValue
from ..format import http
from ..format.dates import SECONDS, WarcDate
from ..format.fields import Fields, one_line
from ..format.records import HTTP_RESPONSE
from ..format.sources import CHUNK, MemorySource
from ..reading.scanning import FIRST_LOOK, PATIENCE, RecordScan, Report
from ..reading.stored import StoredRecord
from ..reading.streams import PackedStream, PlainStream
from ..reading.volumes import Volume
from . import archeaders
from .archeaders import LINE_MAX, ONE, ArcHeader

HEADER_FIELD = "ARC-Header"
"""The header line in the fields, :func:`archeaders.escaped`; an extension, kept by arc2warc."""
_NAMESPACE = uuid.UUID("5b1c84c6-5f0e-5d0c-9a43-7c1fd05a2f8e")
_WEB = ("http:", "https:")
_NEAR = 64  # bytes by which a length may be wrong and the record still be had
_HEAD_MAX = 64 << 10  # bytes in which the head of an HTTP answer is looked for


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
        """True if the block begins as an HTTP answer does."""
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


class ArcScan(RecordScan):
    """From record to record of an ARC file.

    A length is believed where a header or the end of the file follows the block, or where no header
    stands inside it.
    """

    record_type = ArcRecord
    nothing = "no ARC header begins here"
    names: tuple[str, ...] = ONE
    _apart = -1  # where something begins on a line of its own
    _known: tuple[int, ArcHeader | None, bytes] = (-1, None, b"")

    @staticmethod
    def is_start(data: bytes) -> bool:
        return next(archeaders.likely(data), (1,))[0] == 0

    def begins(self, at: int) -> bool:
        if self._header(at, at)[0] is None:
            return False
        return at == self._apart or not self._rest(at)

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
        whole = self._record_at(at, found, begin, header.length, len(self._line_ends(end)))
        return self._in_order(at, body, whole) or self._off(at, body, whole)

    def _in_order(self, at: int, body: int, whole: ArcRecord) -> Taken | None:
        """*whole*, and where to go on, where its length is right or can be made so."""
        trailer, end = whole.trailer, body + whole.block_length
        after, is_last = end + trailer, self._stream.lacks(end + trailer + 1)
        if trailer and (is_last or self._header(after, at)[0]):
            self._apart = after
            return whole, None if is_last else after
        fit = self._fit(body)
        if fit != end and (fitted := self._fitted(at, body, fit, whole)):
            return fitted
        if is_last:
            return whole, None
        if not trailer and self.begins(end):
            self._say("arc-trailer", at, next=self._stream.place(end)[0])
            return whole, after
        return (whole, self._seek(after)) if fit == end else None

    def _off(self, at: int, body: int, whole: ArcRecord) -> Taken:
        """Return what there is of a record whose length does not lead to another one."""
        stream, end = self._stream, body + whole.block_length
        inside = self._record_in(body, end)
        rest = self._rest(end) if self._header(end, at)[0] else 0
        near = end - rest if rest else self._near(inside, end)
        if near is not None and near > body:
            line_end = int(stream.read(near - 1, 1) == b"\n")
            return self._corrected((at, body, near - line_end), whole, near), near
        if inside is not None:
            return self._overlong(at, (whole.arc, whole.header), whole.begin, inside)
        return whole, self._seek(end + whole.trailer)

    def _take_torn(self, at: int, found: tuple[ArcHeader, bytes], begin: bytes) -> Taken:
        body = at + len(found[1])
        end = body + found[0].length
        fitted = self._fitted(at, body, self._fit(body), self._record_at(at, found, begin, 0))
        if fitted:
            return fitted
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

    def _rest(self, at: int) -> int:
        """Return how many bytes before *at* are of a header that goes on there."""
        stream, start = self._stream, max(0, at - _NEAR)
        if isinstance(stream, PackedStream):
            start = max(start, stream.base)
        if start >= at or stream.read(at - 1, 1) in (b"\n", b"\r"):
            return 0
        data = stream.read(start, at - start + LINE_MAX)
        return archeaders.rest(data[: at - start], data[at - start :])

    def _near(self, inside: int | None, end: int) -> int | None:
        """Return where a header stands some bytes from *end*, where the length says that one does.

        *inside*: where the first one stands in the block.
        """
        if inside is None:
            return self._find(end, end + _NEAR) if self._can_read(end) else None
        return inside if end - inside <= _NEAR else None

    def _fit(self, body: int) -> int | None:
        """Return where the HTTP answer at *body* ends by its Content-Length; None without one."""
        if not self._can_read(body) or self._stream.read(body, 5) != b"HTTP/":
            return None  # so that what is none costs a look, and not the longest head
        with suppress(BadHttp):
            head = http.head(MemorySource(self._stream.read(body, _HEAD_MAX)))
            if head.content_length is not None:
                return body + head.end + head.content_length
        return None

    def _fitted(self, at: int, body: int, fit: int | None, whole: ArcRecord) -> Taken | None:
        """The record as long as the HTTP answer in it, where that leads to another one."""
        after = self._behind(fit)
        if fit is None or after is None:
            return None
        last = self._stream.lacks(after + 1)
        if last and self._stream.lacks(body + whole.arc.length):
            return None  # the file may have been cut there
        return self._corrected((at, body, fit), whole, after), None if last else after

    def _behind(self, end: int | None) -> int | None:
        """Return where a header or the end follows the block that ends at *end*; else None."""
        stream = self._stream
        if end is None or not self._can_read(end) or stream.lacks(end):
            return None
        after = end + len(self._line_ends(end))
        return after if stream.lacks(after + 1) or self.begins(after) else None

    def _corrected(self, places: tuple[int, int, int], whole: ArcRecord, after: int) -> ArcRecord:
        """The record with the length that it has: what follows begins at *after*."""
        at, body, end = places
        self._say("arc-length", at, length=whole.arc.length, next=self._stream.place(after)[0])
        made = self._record_at(at, (whole.arc, whole.header), whole.begin, end - body, after - end)
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

    def _record_at(
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
        return self._record_at(at, found, begin, length) if self._salvage else None

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

    scan_type: type[RecordScan] = ArcScan

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the header's fields, by the first record of the file."""
        line, _, block = self.opening(LINE_MAX).partition(b"\n")
        return archeaders.names_in(block) if line.startswith(b"filedesc:") else ONE

    def _scanned_by(
        self, stream: PlainStream | PackedStream, report: Report, **how: Any
    ) -> RecordScan:
        scan = super()._scanned_by(stream, report, **how)
        assert isinstance(scan, ArcScan)
        scan.names = self.names
        return scan
