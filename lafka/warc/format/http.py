"""The HTTP/1 message in a response block: head, payload, entity (RFC 9112, RFC 9110).

*Payload* is what stands after the head once a transfer coding is undone; *entity* is the payload
once content codings are undone too. Where neither is used both stand literally in the block.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ..errors import BadHttp
from .codings import OnProblem, decode
from .fields import Fields
from .sources import Source

HEAD_MAX = 1 << 20
MESSAGE = "application/http"
"""The media type of a block that holds a message, whatever parameters it has."""
ENDS_EARLY = "the chunked body ends early"
"""What is said of a chunked body that is merely cut, and not broken."""
_STATUS = re.compile(r"(HTTP/\d+(?:\.\d+)?|ICY) +(\d{3})(?: (.*))?", re.IGNORECASE)
_METHOD = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VERSION = re.compile(r"HTTP/\d+(?:\.\d+)?", re.IGNORECASE)
_HEAD_END = re.compile(rb"\n\r?\n")
_ASKING = ("GET", "HEAD")
_BODILESS = (204, 304)  # whatever their fields say (RFC 9112 section 6.3)
_CHUNK_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,16})[ \t]*(?:;.*)?")


def media_type(content_type: str) -> str:
    """The type and subtype in a Content-Type, without parameters, in small letters."""
    return content_type.partition(";")[0].strip().lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """First line and header fields of a message; its body begins at byte ``end`` of the block.

    ``version`` is as in ``HTTP/1.1``. An answer has ``status`` and ``reason``, a request has
    ``method`` and ``target``; what is the other's is 0 or empty.
    """

    fields: Fields
    end: int
    version: str = ""
    status: int = 0
    reason: str = ""
    method: str = ""
    target: str = ""

    @property
    def chunked(self) -> bool:
        return "chunked" in self._codings("Transfer-Encoding") and self.status not in _BODILESS

    @property
    def transfer_codings(self) -> tuple[str, ...]:
        """Transfer codings in the order in which they were applied, but for ``chunked``."""
        return tuple(n for n in self._codings("Transfer-Encoding") if n != "chunked")

    @property
    def content_codings(self) -> tuple[str, ...]:
        """Content codings in the order in which they were applied, without ``identity``."""
        return self._codings("Content-Encoding")

    def _codings(self, name: str) -> tuple[str, ...]:
        values = self.fields.all(name)
        if not values:
            return ()
        names = (n.strip() for n in ",".join(values).lower().split(","))
        return tuple(n for n in names if n not in ("", "identity", "none"))

    @property
    def literal(self) -> bool:
        """True if the entity stands in the block as it is."""
        return not (self.chunked or self.transfer_codings or self.content_codings)

    @property
    def content_length(self) -> int | None:
        """Content-Length where it is one number; None where a transfer coding overrides it.

        A GET or HEAD without one has no body, 0.
        """
        values = {v.strip() for text in self.fields.all("Content-Length") for v in text.split(",")}
        coded = self.chunked or self.transfer_codings
        if self.method.upper() in _ASKING and not values and not coded:
            return 0
        if coded or len(values) != 1 or self.status in _BODILESS:
            return None
        value = values.pop()
        return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None


def head(source: Source) -> Head:
    """The head of the final answer in *source*; interim 1xx answers are passed over.

    Lenient as browsers are: bare LF, folded lines, lines without a colon. ``BadHttp`` where no
    status line or no end of the head is found in the first MiB.
    """
    return _head(source, _answer)


def request_head(source: Source) -> Head:
    """The head of the request in *source*; else as :func:`head`."""
    return _head(source, _request)


def message_head(source: Source) -> Head:
    """The head of the answer or request in *source*, which its first bytes tell."""
    answers = _STATUS.match(source.read(0, 64).decode("latin-1").lstrip())
    return _head(source, _answer if answers else _request)


def _head(source: Source, first_line: Callable[[str], Head]) -> Head:
    start, read, data = 0, 8192, source.read(0, 8192)
    while True:
        found = _HEAD_END.search(data, start)
        if found:
            line = data.find(b"\n", start) + 1
            begun = first_line(data[start:line].decode("latin-1").strip())
            if 100 <= begun.status < 200 and begun.status != 101:
                start = found.end()
                continue
            fields = data[line : found.start() + 1]
            return replace(
                begun,
                fields=Fields.parse(fields, encoding="latin-1", comments=False),
                end=found.end(),
            )
        if read >= HEAD_MAX or read >= source.size:
            raise BadHttp("no HTTP head is found")
        read = min(4 * read, HEAD_MAX)
        data = source.read(0, read)


def _answer(line: str) -> Head:
    found = _STATUS.fullmatch(line)
    if not found:
        raise BadHttp(f"not a status line: {line[:80]!r}")
    return Head(fields=_NONE, end=0, version=found[1], status=int(found[2]), reason=found[3] or "")


def _request(line: str) -> Head:
    method, _, rest = line.partition(" ")
    target, _, version = rest.strip().rpartition(" ")
    if not _VERSION.fullmatch(version):
        target, version = rest.strip(), ""
    if not target or not _METHOD.fullmatch(method):
        raise BadHttp(f"not a request line: {line[:80]!r}")
    return Head(fields=_NONE, end=0, method=method, target=target.rstrip(), version=version)


_NONE = Fields()


class Dechunker:
    """Undoes the chunked transfer coding, with extensions and trailers (RFC 9112 section 7.1)."""

    def __init__(self) -> None:
        self._rest = b""
        self._left = 0
        self._state = "size"
        self._trailers: list[bytes] = []
        self._left_for_trailers = HEAD_MAX
        self.done = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The payload bytes in *data*, in one piece; ``BadHttp`` where the coding is broken."""
        parts: list[bytes] = []
        try:
            self._take(self._rest + data, parts)
        except BadHttp:
            yield b"".join(parts)
            raise
        if parts:
            yield b"".join(parts)

    def _take(self, data: bytes, parts: list[bytes]) -> None:
        place = 0
        while place < len(data) and not self.done:
            if self._left:
                piece = data[place : place + self._left]
                place += len(piece)
                self._left -= len(piece)
                parts.append(piece)
                continue
            newline = data.find(b"\n", place)
            if newline < 0:
                break
            self._line(data[place:newline].removesuffix(b"\r"))
            place = newline + 1
        self._rest = data[place:]
        if len(self._rest) > HEAD_MAX and not self.done:
            raise BadHttp("a line of the chunked coding is over 1 MiB")

    def _line(self, line: bytes) -> None:
        if self._state == "size":
            found = _CHUNK_SIZE.fullmatch(line)
            if not found:
                raise BadHttp(f"not a chunk size: {line[:40]!r}")
            self._left = int(found[1], 16)
            self._state = "data end" if self._left else "trailer"
        elif self._state == "data end":
            if line:
                raise BadHttp("a chunk is longer than its size says")
            self._state = "size"
        elif line:
            self._trailers.append(line + b"\r\n")
            self._left_for_trailers -= len(line) + 2
            if self._left_for_trailers < 0:
                raise BadHttp("the trailers are over 1 MiB")
        else:
            self.done = True

    @property
    def trailers(self) -> Fields:
        """The fields behind the last chunk, as far as they have been fed."""
        return Fields.parse(b"".join(self._trailers), encoding="latin-1", comments=False)


def payload(
    source: Source, message: Head, *, to_end: bool = False, most: int = 0
) -> Iterator[bytes]:
    """The payload of the message in *source*, transfer codings undone, in pieces.

    *to_end*: what stands behind Content-Length too, for some recorders keep the length of a coded
    body and store it decoded. *most*: as :func:`decode` has it. ``BadHttp`` where the body ends
    before coding or length says.
    """
    return decode(framed(source, message, to_end=to_end), message.transfer_codings, most=most)


def framed(source: Source, message: Head, *, to_end: bool = False) -> Iterator[bytes]:
    """The body out of its chunks, or as long as Content-Length says; else as :func:`payload`."""
    if message.chunked:
        return _dechunked(source, message)
    return _counted(source, message, to_end=to_end)


def _dechunked(source: Source, message: Head) -> Iterator[bytes]:
    dechunker = Dechunker()
    for data in source.chunks(message.end):
        yield from dechunker.feed(data)
        if dechunker.done:
            return
    raise BadHttp(ENDS_EARLY)


def _counted(source: Source, message: Head, *, to_end: bool) -> Iterator[bytes]:
    left = message.content_length
    for data in source.chunks(message.end):
        piece = data if to_end or left is None else data[:left]
        if left is not None:
            left -= len(piece)
        if piece:
            yield piece
    if left and left > 0:
        raise BadHttp(f"the body ends {left} bytes early")


def entity(source: Source, message: Head, *, to_end: bool = False) -> Iterator[bytes]:
    """The entity of the message in *source*: the payload with content codings undone, in pieces."""
    return decode(payload(source, message, to_end=to_end), message.content_codings)


def trailers(source: Source, message: Head) -> Fields:
    """The fields behind the body in *source*, none where it is not chunked (RFC 9112, 7.1.2).

    The body is read through. ``BadHttp`` where it is broken.
    """
    dechunker = Dechunker()
    if message.chunked:
        for data in source.chunks(message.end):
            for _ in dechunker.feed(data):
                pass
    return dechunker.trailers


_LINE_MAX = 8192
_CHUNK_LINE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\n]*)?(\r?\n)")


def is_chunked(source: Source, message: Head) -> bool:
    """Return whether the body is chunked, as its head says: its first chunk is one, or is cut."""
    found = _CHUNK_LINE.match(source.read(message.end, _LINE_MAX))
    if not found:
        return False
    size = int(found[1], 16)
    end = message.end + found.end() + size
    if not size or end >= source.size:
        return found[2] == b"\r\n"  # a text can begin with a line of digits
    return source.read(end, 2).startswith((b"\r\n", b"\n"))


def lenient_payload(
    source: Source,
    message: Head,
    on_problem: OnProblem,
    *,
    decoded: bool = False,
    to_end: bool = False,
) -> Iterator[bytes]:
    """The payload in pieces, or *decoded* the entity, up to where it breaks.

    *on_problem* is called with the reason. *to_end*: as :func:`payload` has it. Recorders undo
    codings and leave the head as it was, so a coding that the bytes contradict was undone already:
    then they are the payload.
    """
    if message.chunked and not is_chunked(source, message):
        on_problem("undone-coding", coding="chunked")
        body = source.chunks(message.end)
    else:
        body = framed(source, message, to_end=to_end)
    codings = (*(message.content_codings if decoded else ()), *message.transfer_codings)
    try:
        yield from decode(body, codings, on_problem) if codings else body
    except BadHttp as error:
        on_problem("bad-payload", reason=str(error))
