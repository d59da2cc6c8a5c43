"""MHTML, a page and its images in one MIME message, read as a volume of resources (RFC 2557).

Boundaries are searched for, and bodies are ranges of the file (RFC 2046), so a message of any size
costs a window of memory. The parser of :mod:`email` reads a message whole and keeps no place of a
part, by which records are found again.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from functools import cached_property, partial
from urllib.parse import urljoin

from ..errors import BadValue, BadWarc
from ..format.dates import WarcDate
from ..format.fields import Fields
from ..format.sources import Source
from ..reading.stored import StoredRecord
from .base import ForeignRecord, ForeignVolume, Listing, spooled

DECODED_MAX = 1 << 30  # bytes of one part
THIS_MESSAGE = "thismessage:/"
"""What relative locations are relative to where nothing else is said (RFC 2557 section 5)."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class MhtmlVolume(ForeignVolume):
    """Each part is a resource: Content-Location is its URL, Date of the message its date.

    A part without a location has ``cid:`` and its Content-ID as URL, or none.
    """

    def entries(self) -> Iterator[Listing]:
        for part in parts(self._source):
            if isinstance(part, MimePart):
                yield part.offset, partial(self._record, part)
            else:
                self._report("bad-part", part[0], reason=part[1])

    @property
    def _source(self) -> Source:
        return self.stretch(0, self.size)

    @cached_property
    def _message(self) -> Fields:
        """The header of the message."""
        try:
            return Fields.parse(head(self._source, 0, self.size)[0])
        except BadValue:
            return Fields()

    @cached_property
    def _ends(self) -> dict[int, int]:
        """The ends of the parts by their beginnings: found once, for it takes the whole file."""
        found = parts(self._source)
        return {p.offset: p.body + p.length for p in found if isinstance(p, MimePart)}

    def at(self, offset: int, inner: int = 0) -> StoredRecord:
        end = None if inner else self._ends.get(offset)
        part = None if end is None else part_at(self._source, offset, end)
        record = self._record(part) if part else None
        if record is None:
            raise BadWarc(self.path, "no record begins here", offset)
        return record

    def _record(self, part: MimePart) -> ForeignRecord | None:
        message = self._message
        literal = is_literal(part)
        try:
            content: Source = (
                self.stretch(part.body, part.length)
                if literal
                else spooled(decoded(self._source, part), DECODED_MAX)
            )
        except BadValue as error:
            self._report("bad-part", part.offset, reason=str(error))
            return None
        date = WarcDate.of_message(message.first("Date"))
        fields = [
            ("WARC-Type", "resource"),
            ("WARC-Date", date.text if date else ""),
            ("WARC-Target-URI", _url(message, part.fields)),
            ("Content-Type", part.content_type),
        ]
        length = part.body + part.length - part.offset
        place = part.body if literal else None
        return self.made((part.offset, length), fields, content, header=part.header, place=place)


def _url(message: Fields, part: Fields) -> str:
    location = "".join(part.first("Content-Location").split())
    if not location:
        name = part.first("Content-ID").strip().strip("<>")
        return f"cid:{name}" if name else ""
    base = message.first("Content-Base") or message.first("Content-Location")
    for start in (part.first("Content-Base"), base):
        with suppress(ValueError):
            location = urljoin(start, location)
    return location if _SCHEME.match(location) else THIS_MESSAGE + location.lstrip("/")


HEADER_MAX = 1 << 16
DEPTH_MAX = 8
PARTS_MAX = 100_000
_WINDOW = 1 << 18
_BLANK_LINE = re.compile(rb"(?:\A|\n)\r?\n")
_NOT_BASE64 = bytes(
    set(range(256)) - set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MimePart:
    """A part that is no multipart itself: its header at ``offset``, its body as it stands."""

    offset: int
    header: bytes
    fields: Fields
    body: int
    length: int

    @property
    def content_type(self) -> str:
        """Content-Type in one line; empty where there is none."""
        return " ".join(self.fields.first("Content-Type").split())

    @property
    def encoding(self) -> str:
        """Content-Transfer-Encoding in lower case; empty where there is none."""
        return self.fields.first("Content-Transfer-Encoding").strip().lower()


def head(source: Source, start: int, end: int) -> tuple[bytes, int]:
    """The header at *start* of *source*, and where its body begins, at most at *end*.

    ``BadValue`` where it has no end in the first 64 KiB.
    """
    data = source.read(start, min(HEADER_MAX, end - start))
    found = _BLANK_LINE.search(data)
    if found:
        return data[: found.end()], start + found.end()
    if len(data) == end - start:
        return data, end
    raise BadValue("a header of more than 64 KiB")


def parameter(content_type: str, name: str) -> str:
    """The parameter *name* of *content_type* (RFC 2045); empty where there is none."""
    message = Message()
    try:
        message["Content-Type"] = content_type[:4096]
        value = message.get_param(name, "", unquote=True)
    except (ValueError, LookupError, TypeError):  # what the stdlib lets out for odd RFC 2231 values
        return ""
    if isinstance(value, tuple):
        value = value[2]
    return str(value or "").rstrip()


def parts(source: Source) -> Iterator[MimePart | tuple[int, str]]:
    """The parts of the message in *source*, in order, those of nested multiparts among them.

    Where one cannot be read: its offset and why, in its place. Nothing is decoded.
    """
    for count, part in enumerate(_parts(source, 0, source.size, 0), 1):
        yield part
        if count == PARTS_MAX:
            yield (source.size, f"more than {PARTS_MAX} parts")
            return


def _parts(
    source: Source, start: int, end: int, depth: int
) -> Iterator[MimePart | tuple[int, str]]:
    try:
        header, body = head(source, start, end)
    except BadValue as error:
        yield start, str(error)
        return
    fields = Fields.parse(header)
    kind = " ".join(fields.first("Content-Type").split())
    boundary = parameter(kind, "boundary")
    if not kind.lower().startswith("multipart/") or not boundary:
        yield MimePart(offset=start, header=header, fields=fields, body=body, length=end - body)
    elif depth == DEPTH_MAX:
        yield start, f"multiparts nested more than {DEPTH_MAX} deep"
    else:
        yield from _inside(source, body, end, boundary, depth)


def part_at(source: Source, start: int, end: int) -> MimePart | None:
    """The part from *start* to *end*, if that is one which :func:`parts` gave."""
    found = next(_parts(source, start, end, DEPTH_MAX), None)
    return found if isinstance(found, MimePart) else None


def _inside(
    source: Source, start: int, end: int, boundary: str, depth: int
) -> Iterator[MimePart | tuple[int, str]]:
    begun = None
    for at, behind, closing in _delimiters(source, start, end, boundary):
        if begun is not None:
            yield from _parts(source, begun, _line_end_before(source, at, begun), depth + 1)
        begun = None if closing else behind
        if closing:
            return
    if begun is None:
        yield start, "a multipart without any part"
    else:
        yield from _parts(source, begun, end, depth + 1)
        yield end, "the message ends inside its last part"


def _line_end_before(source: Source, at: int, begun: int) -> int:
    """Return where the part from *begun* ends: before the line end of the delimiter."""
    before = source.read(max(begun, at - 2), min(2, at - begun))
    return at - (2 if before == b"\r\n" else 1 if before.endswith(b"\n") else 0)


def _delimiters(
    source: Source, start: int, end: int, boundary: str
) -> Iterator[tuple[int, int, bool]]:
    """Yield where a delimiter line and the line behind it begin, and whether it is the last."""
    mark = re.escape(boundary.encode("utf-8", "surrogateescape"))
    line = re.compile(rb"(?m)^--" + mark + rb"(--)?[ \t]{0,80}\r?$")
    at, rest, inside_line = start, b"", False
    while at < end:
        data = rest + source.read(at + len(rest), min(_WINDOW, end - at - len(rest)))
        over = at + len(data) >= end
        # A line that fills the window is no delimiter.
        cut = len(data) if over else data.rfind(b"\n") + 1 or len(data)
        for found in line.finditer(data, 0, cut):
            if found.start() or not inside_line:
                yield at + found.start(), min(at + found.end() + 1, end), found[1] is not None
        at, rest, inside_line = at + cut, data[cut:], data[cut - 1 : cut] != b"\n"


def decoded(source: Source, part: MimePart) -> Iterator[bytes]:
    """The body of *part* with its Content-Transfer-Encoding undone (RFC 2045 section 6).

    What no such encoding writes is passed over. ``BadValue`` for an encoding that is unknown.
    """
    pieces = (
        source.read(place, min(_WINDOW, part.body + part.length - place))
        for place in range(part.body, part.body + part.length, _WINDOW)
    )
    if part.encoding in ("", "7bit", "8bit", "binary"):
        return pieces
    if part.encoding == "base64":
        return _base64(pieces)
    if part.encoding == "quoted-printable":
        return _quoted_printable(pieces)
    raise BadValue(f"an unknown Content-Transfer-Encoding: {part.encoding[:40]!r}")


def is_literal(part: MimePart) -> bool:
    """Return whether the body stands in the message as it is."""
    return part.encoding in ("", "7bit", "8bit", "binary")


def _base64(pieces: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        rest += piece.translate(None, _NOT_BASE64)
        cut = len(rest) // 4 * 4
        yield binascii.a2b_base64(rest[:cut])
        rest = rest[cut:]
    if len(rest) > 1:  # one letter alone is less than a byte
        yield binascii.a2b_base64(rest + b"=" * (4 - len(rest)))


def _quoted_printable(pieces: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        rest += piece
        cut = rest.rfind(b"\n") + 1
        if len(rest) - cut > _WINDOW:  # a line without an end; no escape is cut
            cut = len(rest) - 2 + (b"=" not in rest[-2:]) * 2
            cut -= rest[cut - 1 : cut] == b"="
        yield binascii.a2b_qp(rest[:cut])
        rest = rest[cut:]
    yield binascii.a2b_qp(rest)
