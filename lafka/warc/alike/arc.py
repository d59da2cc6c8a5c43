"""ARC files, read as if they were WARCs (ARC 1.0, 1.1 and 2; plain or compressed).

A record is a header line, a block and a line end. Its ``fields`` are those of a WARC record that
says the same and no more: ``filedesc:`` is a warcinfo, ``http:``, ``https:`` and ``dns:`` are
responses, all else is a resource. The line itself is ``arc``, exact.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lafka.warc.alike import archeaders
from lafka.warc.alike.archeaders import LINE_MAX, ONE, ArcHeader
from lafka.warc.errors import BadValue, BadWarc
from lafka.warc.format.dates import SECONDS, WarcDate
from lafka.warc.format.fields import Fields, one_line
from lafka.warc.format.records import HTTP_RESPONSE
from lafka.warc.format.sources import CHUNK
from lafka.warc.reading.scanning import FIRST_LOOK, PATIENCE, Scan
from lafka.warc.reading.stored import StoredRecord
from lafka.warc.reading.streams import PackedStream
from lafka.warc.reading.volumes import Volume

HEADER_FIELD = "ARC-Header"
"""The header line in the fields, :func:`archeaders.escaped`; an extension, kept by arc2warc."""
_NAMESPACE = uuid.UUID("5b1c84c6-5f0e-5d0c-9a43-7c1fd05a2f8e")
_WEB = ("http:", "https:")


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


class ArcScan(Scan):
    """From record to record of an ARC file.

    A length is believed where a header or the end of the file follows the block, or where no header
    stands inside it.
    """

    record_type = ArcRecord
    salvage = False
    _names: tuple[str, ...] = ONE
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
            self._names = archeaders.names_in(begin)
        end = body + header.length
        stream.view(end, at)
        torn = stream.lacks(end)
        if not torn:
            trailer = len(self._line_ends(end))
            whole = self._made(at, (header, line), begin, header.length, trailer)
            if stream.lacks(end + trailer + 1):
                return whole, None
            if self._header(end + trailer, at)[0]:
                return whole, end + trailer
        inside = self._record_in(body, end)
        if inside is not None:
            self._say("overlong-arc", at, length=header.length, next=stream.place(inside)[0])
            line_end = int(inside > body and stream.read(inside - 1, 1) == b"\n")
            return self._salvaged(at, (header, line), begin, inside - line_end - body), inside
        if torn:
            self._torn(at)
            return self._salvaged(at, (header, line), begin, self._there(body, end)), None
        return whole, self._seek(end + trailer)

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
            return archeaders.parse(line.rstrip(b"\r\n"), self._names)
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
        return self._made(at, found, begin, length) if self.salvage else None

    def _there(self, start: int, end: int) -> int:
        """How many of the bytes from *start* to *end* there are."""
        low, high = start, end  # between them the stream ends
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._stream.lacks(middle) else (middle, high)
        return low - start

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


class _SalvagingScan(ArcScan):
    salvage = True


class ArcVolume(Volume):
    """The records of an ARC file, as :class:`ArcRecord`; see :class:`Volume`.

    *salvage*: a record whose length is wrong or that the file ends in is given too, cut, ``torn``.
    """

    scan_type: type[Scan] = ArcScan

    def __init__(self, path: Path | str, *, salvage: bool = False, **named: Any) -> None:
        super().__init__(path, **named)
        if salvage:
            self.scan_type = _SalvagingScan

    def at(self, offset: int, inner: int = 0) -> StoredRecord:
        if offset and self.is_plain and self._handle.read(1, offset - 1) not in (b"\n", b"\r"):
            raise BadWarc(self.path, "no ARC header begins here", offset)
        return super().at(offset, inner)
