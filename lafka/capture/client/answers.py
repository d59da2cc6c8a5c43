"""An HTTP/1.1 answer, read from the bytes of a connection as they come (RFC 9112); no I/O.

Heads are read as leniently as browsers do: bare LF, folded lines, lines that are no field, a
status line without a reason. Lengths and chunks are not: what contradicts itself would else be
taken for a whole answer. Of a body the beginning is kept, which shows what it is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lafka.capture.exchanges import OPENING, decoded_opening, kind_of_opening

BODY_HANDED_ON = 64 * 1024
"""Bytes of a body that is no text that Scrapy gets to see."""
TEXT_HANDED_ON = 4 * 1024 * 1024
"""Bytes of a text body that Scrapy gets to see."""


class BodyCollector:
    """Takes the body behind *head* and keeps what is read of it; all of it where *whole*.

    *miss_max*: bytes after which a page that is no PDF is not wanted any more, 0 for never. What
    is neither page nor PDF is then not wanted at all: ``read_max`` says so once it is known.
    """

    __slots__ = (
        "_coding", "_left", "_media_type", "_miss_max", "_opening", "_pieces", "_whole",
        "is_pdf", "read_max", "shortened", "size",
    )  # fmt: skip

    def __init__(self, head: AnswerHead, *, whole: bool, miss_max: int) -> None:
        self.is_pdf = False
        self.shortened = False
        self.size = 0
        """Bytes that came, kept or not."""
        self.read_max = 0
        """Bytes after which this body is not read on; 0 to its end."""
        self._whole = whole
        self._miss_max = miss_max
        self._coding = _field(head, b"content-encoding")
        self._media_type = _field(head, b"content-type")
        self._opening: bytes | None = b""  # None once it has told what the body is
        self._left = sys.maxsize if whole else BODY_HANDED_ON
        self._pieces: list[bytes] = []

    @property
    def body(self) -> bytes:
        """The part of the body that is kept."""
        return b"".join(self._pieces)

    def take(self, piece: Piece) -> bytes:
        """Return what is kept of *piece*, the next of the body."""
        if self._opening is not None:
            self._look(self._opening + bytes(piece[:BODY_HANDED_ON]))
        size, left = len(piece), self._left
        self.size += size
        if size > left:
            self.shortened = True
        if not left:
            return b""
        kept = bytes(piece[:left])
        self._left = max(left - size, 0)
        self._pieces.append(kept)
        return kept

    def _look(self, data: bytes) -> None:
        """Decide by the kind of body how much of it is kept, or even read."""
        opening = decoded_opening(data, self._coding)
        kind = kind_of_opening(opening, self._media_type)
        self.is_pdf = kind == "pdf"
        if not self._whole:
            self._left = max((TEXT_HANDED_ON if kind == "text" else BODY_HANDED_ON) - self.size, 0)
        certain = opening is None or kind == "pdf" or len(opening) >= OPENING
        self._opening = None if certain or len(data) >= BODY_HANDED_ON else data
        if certain and kind in ("text", "binary"):
            # A page can be a viewer that leads on; anything else that is no PDF is a miss.
            self.read_max = self._miss_max if kind == "text" else self._miss_max and 1


def _field(head: AnswerHead, name: bytes) -> str:
    return b",".join(value for key, value in head.fields if key.lower() == name).decode("latin-1")


Piece = bytes | memoryview
Field = tuple[bytes, bytes]

SIZE_LINE_MAX = 1024
"""Bytes of the line that gives a chunk's size, with its extensions."""
TRAILERS_MAX = 1 << 16
"""Bytes of the fields behind the last chunk."""

_HEAD_END = re.compile(rb"\n\r?\n")
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SIZE = re.compile(rb"([0-9a-fA-F]+)(?:;[\t -\[\]-~\x80-\xff]*)?")
_BODILESS = (204, 304)
# What says how the connection is used, and nothing of what was sent.
_OF_CONNECTION = frozenset(
    b"content-length connection keep-alive te trailers transfer-encoding upgrade"
    b" proxy-connection".split()
)


class _Fault(Exception):
    """The fault that keeps the bytes from being an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerHead:
    """The head of a final answer.

    ``protocol`` as in ``HTTP/1.1``; ``fields`` are names and values as they came, unfolded,
    without those that are about the connection; ``length``: bytes of the body, None where the
    head does not say; ``keeps``: whether another request may follow on the connection.
    """

    protocol: str
    status: int
    fields: tuple[Field, ...]
    length: int | None
    keeps: bool


class AnswerReader:
    """Reads one answer to a request of *method*, whose bytes are fed to it in order.

    ``head`` is None until its end has come, ``begin`` says at which of the bytes last fed the body
    began. ``ended``: the answer told its own end, and the last ``rest`` of the bytes last fed
    came after it. ``fault``: why this is no answer, else empty; what comes after it is not read.
    """

    __slots__ = (
        "_chunked", "_closing", "_held", "_is_head", "_left", "_looked", "_sought", "_trailers",
        "begin", "ended", "fault", "head", "rest",
    )  # fmt: skip

    def __init__(self, method: str) -> None:
        self.head: AnswerHead | None = None
        self.begin = 0
        self.ended = False
        self.rest = 0
        self.fault = ""
        self._is_head = method == "HEAD"
        self._held = b""  # the beginning of a head or of a line whose end has not come
        self._sought = 0  # so many of them were searched for that end
        self._looked = False  # the status line was looked at
        self._chunked = False
        self._left: int | None = 0  # bytes of the body, or of the chunk; None: until the close
        self._closing = False  # CRLF is due behind a chunk
        self._trailers = -1  # bytes of trailers so far; -1 before the last chunk

    @property
    def until_close(self) -> bool:
        """True where the end of the connection is the end of the answer."""
        return self.head is not None and self._left is None and not self.ended

    def feed(self, data: bytes) -> Sequence[Piece]:
        """The pieces of the body, transfer coding undone, that *data* brings."""
        if self.fault or self.ended:
            self.rest = len(data) if self.ended else 0
            return ()
        if self.head is None:
            pieces = self._read_head(data)
        elif self._chunked:
            pieces = self._read_chunks(data, 0)
        else:
            pieces = self._read_plain(data, 0)
        return pieces

    def _read_head(self, data: bytes) -> Sequence[Piece]:
        held = len(self._held)
        whole = self._held + data if held else data
        start = 0
        try:
            while found := _HEAD_END.search(whole, start + self._sought):
                lines = whole[start : found.start()].split(b"\n")
                protocol, status = _status_line(lines[0])
                self._sought, self._looked = 0, False
                if not 100 <= status < 200:
                    self._held = b""
                    return self._open(protocol, status, lines[1:], data, found.end() - held)
                start = found.end()  # an interim answer
            if not self._looked and (end := whole.find(b"\n", start)) >= 0:
                _status_line(whole[start:end])
                self._looked = True
        except _Fault as fault:
            self.fault = str(fault)
            return ()
        self._held = whole[start:]
        self._sought = max(len(self._held) - 2, 0)
        return ()

    def _open(
        self, protocol: str, status: int, lines: list[bytes], data: bytes, begin: int
    ) -> Sequence[Piece]:
        """The head is there; the body begins at byte *begin* of *data*."""
        fields, own = [], []
        for name, value in _fields(lines):
            lower = name.lower()
            of_connection = lower in _OF_CONNECTION
            if of_connection:
                own.append((lower, value))
            if not of_connection or (self._is_head and lower == b"content-length"):
                fields.append((name, value))
        bodiless = status in _BODILESS or self._is_head
        self._left = length = 0 if bodiless else self._framing(own)
        self.head = AnswerHead(
            protocol=protocol,
            status=status,
            fields=tuple(fields),
            length=None if self._chunked else length,
            keeps=_keeps(protocol, own),
        )
        self.begin = begin
        if self._chunked:
            return self._read_chunks(data, begin)
        return self._read_plain(data, begin)

    def _framing(self, own: list[Field]) -> int | None:
        """Return how the body is delimited: its length, None for the close; 0 where it is
        chunked.
        """
        codings = [value.lower() for name, value in own if name == b"transfer-encoding"]
        codings = [
            coding for coding in codings if coding != b"identity"
        ]  # of RFC 2616; says nought
        if not codings:
            return _length([value for name, value in own if name == b"content-length"])
        if codings[0] != b"chunked":
            raise _Fault(f"unknown transfer coding {codings[0][:80]!r}")
        self._chunked = True
        return 0

    def _read_plain(self, data: bytes, begin: int) -> Sequence[Piece]:
        size, left = len(data) - begin, self._left
        if left is None:
            return (data[begin:],) if size else ()
        if size < left:
            self._left = left - size
            return (data[begin:],) if size else ()
        self._left, self.ended, self.rest = 0, True, size - left
        return (data[begin : begin + left],) if left else ()

    def _read_chunks(self, data: bytes, at: int) -> Sequence[Piece]:
        if self._held:
            data = self._held + data
            self._held = b""
        pieces: list[Piece] = []
        view, size = memoryview(data), len(data)
        try:
            while at < size and not self.ended:
                if self._left:
                    stop = min(at + self._left, size)
                    pieces.append(view[at:stop])
                    self._left -= stop - at
                    self._closing = not self._left
                else:
                    stop = self._read_line(data, at)
                    if stop < 0:
                        self._held = data[at:]
                        break
                at = stop
        except _Fault as fault:
            self.fault = str(fault)
        if self.ended:
            self.rest = size - at
        return pieces

    def _read_line(self, data: bytes, at: int) -> int:
        """Read what stands between the data of chunks; where that ends, -1 where it has not."""
        if self._closing:
            if len(data) - at < 2:
                return -1
            if not data.startswith(b"\r\n", at):
                raise _Fault("a chunk that does not end with CRLF")
            self._closing = False
            return at + 2
        end = data.find(b"\r\n", at)
        if self._trailers >= 0:
            return self._read_trailer(data, at, end)
        if (end if end >= 0 else len(data) - 1) - at >= SIZE_LINE_MAX:
            raise _Fault(f"a chunk whose size is over {SIZE_LINE_MAX} bytes long")
        if end < 0:
            return -1
        found = _SIZE.fullmatch(data, at, end)
        if found is None:
            raise _Fault(f"no size of a chunk: {data[at : min(end, at + 80)]!r}")
        self._left = int(found[1], 16)
        if not self._left:
            self._trailers = 0
        return end + 2

    def _read_trailer(self, data: bytes, at: int, end: int) -> int:
        """Read a field behind the last chunk, or the empty line behind them all."""
        if end == at:
            self.ended = True
            return end + 2
        if end < 0 and data.startswith(b"\r", at) and len(data) == at + 1:
            return -1  # of the empty line, which does not count
        missing = 2 - data.endswith(b"\r", at)
        size = self._trailers + (end + 2 if end >= 0 else len(data) + missing) - at
        if size > TRAILERS_MAX:
            raise _Fault(f"trailers over {TRAILERS_MAX} bytes")
        if end < 0:
            return -1
        self._trailers = size
        return end + 2


def _status_line(line: bytes) -> tuple[str, int]:
    """Protocol and status code."""
    parts = line.removesuffix(b"\r").split(b" ", 2)
    if len(parts) < 2:
        raise _Fault(f"no status line: {line[:80]!r}")
    version = parts[0]
    try:
        status = int(parts[1])
        if version == b"HTTP/1.1":
            return "HTTP/1.1", status
        name, numbers = version.split(b"/")
        major, minor = map(int, numbers.split(b"."))
    except ValueError:
        raise _Fault(f"no status line: {line[:80]!r}") from None
    if major < 0 or minor < 0:
        raise _Fault(f"no status line: {line[:80]!r}")
    return f"{name.decode('utf-8', 'backslashreplace')}/{major}.{minor}", status


def _fields(lines: Iterable[bytes]) -> Iterator[Field]:
    """Names and values; lines that are no field are passed over, as in browsers."""
    for line in _unfolded(lines):
        name, colon, value = line.partition(b":")
        name = name.rstrip()
        if colon and _TOKEN.fullmatch(name):
            value = value.strip()
            yield name, b" ".join(value.splitlines()) if b"\r" in value else value


def _unfolded(lines: Iterable[bytes]) -> Iterator[bytes]:
    begun = b""
    for line in lines:
        line = line.removesuffix(b"\r")
        if line[:1] in (b" ", b"\t"):
            begun += line
            continue
        yield begun
        begun = line
    yield begun


def _length(values: list[bytes]) -> int | None:
    """The one number that *values* of Content-Length give; None without one."""
    if not values:
        return None
    numbers = set()
    for value in b",".join(values).split(b","):
        text = value.strip(b" \t")
        try:
            if not text.isdigit():
                raise ValueError
            numbers.add(int(text))
        except ValueError:  # of int: over 4,300 digits
            raise _Fault(f"no length: {text[:80]!r}") from None
    if len(numbers) > 1:
        raise _Fault("lengths that contradict each other")
    return numbers.pop()


def _keeps(protocol: str, own: list[Field]) -> bool:
    said = b",".join(value for name, value in own if name == b"connection").lower()
    words = {word.strip() for word in said.split(b",")} if said else ()
    return b"close" not in words and (protocol != "HTTP/1.0" or b"keep-alive" in words)
