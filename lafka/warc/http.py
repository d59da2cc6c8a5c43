"""The HTTP/1 message in a response block: head, payload, entity (RFC 9112, RFC 9110).

*Payload* is what stands after the head once a transfer coding is undone; *entity* is the payload
once content codings are undone too. Where neither is used both stand literally in the block.
"""

from __future__ import annotations

import itertools
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import brotli

from lafka.warc.errors import BadHttp
from lafka.warc.fields import Fields
from lafka.warc.sources import Source

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

HEAD_MAX = 1 << 20
_STATUS = re.compile(r"(?:HTTP/(\d+(?:\.\d+)?)|ICY) +(\d{3})(?: (.*))?", re.IGNORECASE)
_HEAD_END = re.compile(rb"\n\r?\n")
_BODILESS = (204, 304)  # whatever their fields say (RFC 9112 section 6.3)
_CHUNK_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,16})[ \t]*(?:;.*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Status line and header fields of a final answer; its body begins at byte ``end``."""

    status: int
    reason: str
    fields: Fields
    end: int

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
        names = (n.strip() for n in ",".join(self.fields.all(name)).lower().split(","))
        return tuple(n for n in names if n not in ("", "identity", "none"))

    @property
    def literal(self) -> bool:
        """Whether the entity stands in the block as it is."""
        return not (self.chunked or self.transfer_codings or self.content_codings)

    @property
    def content_length(self) -> int | None:
        """Content-Length where it is one number; None where a transfer coding overrides it."""
        values = {v.strip() for text in self.fields.all("Content-Length") for v in text.split(",")}
        coded = self.chunked or self.transfer_codings
        if coded or len(values) != 1 or self.status in _BODILESS:
            return None
        value = values.pop()
        return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None


def head(source: Source) -> Head:
    """The head of the final answer in *source*; interim 1xx answers are passed over.

    Lenient as browsers are: bare LF, folded lines, lines without a colon. ``BadHttp`` where no
    status line or no end of the head is found in the first MiB.
    """
    start, read, data = 0, 8192, source.read(0, 8192)
    while True:
        found = _HEAD_END.search(data, start)
        if found:
            status, reason = _status(data[start : data.find(b"\n", start)])
            if 100 <= status < 200 and status != 101:
                start = found.end()
                continue
            first_line = data.find(b"\n", start) + 1
            text = data[first_line : found.end()].decode("latin-1")
            fields = Fields.parse(text.encode())
            return Head(status=status, reason=reason, fields=fields, end=found.end())
        if read >= HEAD_MAX or read >= source.size:
            raise BadHttp("no HTTP head is found")
        read = min(4 * read, HEAD_MAX)
        data = source.read(0, read)


def _status(line: bytes) -> tuple[int, str]:
    found = _STATUS.fullmatch(line.decode("latin-1").strip())
    if not found:
        raise BadHttp(f"not a status line: {line[:80]!r}")
    return int(found[2]), found[3] or ""


class Dechunker:
    """Undoes the chunked transfer coding, with extensions and trailers (RFC 9112 section 7.1)."""

    def __init__(self) -> None:
        self._rest = b""
        self._left = 0
        self._state = "size"
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
        elif not line:
            self.done = True


def payload(source: Source, message: Head) -> Iterator[bytes]:
    """The payload of the answer in *source*, transfer codings undone, in pieces.

    ``BadHttp`` where the body ends before the coding or Content-Length says.
    """
    pieces = _dechunked(source, message) if message.chunked else _counted(source, message)
    return decode(pieces, message.transfer_codings)


def _dechunked(source: Source, message: Head) -> Iterator[bytes]:
    dechunker = Dechunker()
    for data in source.chunks(message.end):
        yield from dechunker.feed(data)
        if dechunker.done:
            return
    raise BadHttp("the chunked body ends early")


def _counted(source: Source, message: Head) -> Iterator[bytes]:
    left = message.content_length
    for data in source.chunks(message.end):
        piece = data if left is None else data[:left]
        if left is not None:
            left -= len(piece)
        if piece:
            yield piece
    if left:
        raise BadHttp(f"the body ends {left} bytes early")


_PIECE = 1 << 16
_OUT = 1 << 20
_CODINGS_MAX = 8


class _Decoder(Protocol):
    def feed(self, data: bytes) -> Iterator[bytes]: ...

    @property
    def done(self) -> bool: ...


class _Inflate:
    """One stream of zlib's, in pieces of at most 1 MiB; what stands behind it is ``rest``."""

    def __init__(self, window: int) -> None:
        self._inner = zlib.decompressobj(window)

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self.done:
            return
        out = self._inner.decompress(data, _OUT)
        while out:
            yield out
            # What zlib holds back beyond the limit is no unconsumed input.
            out = b"" if self.done else self._inner.decompress(self._inner.unconsumed_tail, _OUT)

    @property
    def rest(self) -> bytes:
        return self._inner.unused_data

    @property
    def done(self) -> bool:
        return self._inner.eof


class _Zstd:
    """One frame; an 8 MiB window is all that RFC 9659 allows a server to ask for."""

    def __init__(self) -> None:
        self._inner = zstd.ZstdDecompressor(
            options={zstd.DecompressionParameter.window_log_max: 23}
        )

    def feed(self, data: bytes) -> Iterator[bytes]:
        out = self._inner.decompress(data, _OUT)
        while out:
            yield out
            out = b"" if self.done else self._inner.decompress(b"", _OUT)

    @property
    def rest(self) -> bytes:
        return bytes(self._inner.unused_data)

    @property
    def done(self) -> bool:
        return bool(self._inner.eof)


class _Members:
    """Streams of one kind, one behind the other: gzip members, zstd frames.

    What stands behind the last one and does not begin as another does is dropped: padding.
    """

    def __init__(self, new: Callable[[], _Inflate | _Zstd], magic: re.Pattern[bytes]) -> None:
        self._new = new
        self._magic = magic
        self._inner = new()
        self._behind = b""
        self._over = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data and not self._over:
            if self._inner.done:
                data = self._next(data)
                continue
            yield from self._inner.feed(data)
            data = self._inner.rest if self._inner.done else b""

    def _next(self, data: bytes) -> bytes:
        data = self._behind + data
        self._behind = b""
        if self._magic.match(data):
            self._inner = self._new()
            return data
        self._over = len(data) >= _MAGIC_MAX
        self._behind = b"" if self._over else data
        return b""

    @property
    def done(self) -> bool:
        return self._inner.done


class _Brotli:
    def __init__(self) -> None:
        self._inner = brotli.Decompressor()

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self.done:
            return
        out = self._inner.process(data, output_buffer_limit=_OUT)
        # It may have taken all of its input and still hold back output.
        while out or not (self.done or self._inner.can_accept_more_data()):
            yield bytes(out)
            out = b"" if self.done else self._inner.process(b"", output_buffer_limit=_OUT)

    @property
    def done(self) -> bool:
        return bool(self._inner.is_finished())


_GZIP = re.compile(rb"\x1f\x8b")
_ZSTD = re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")
_MAGIC_MAX = 4


def _decoder(coding: str, opening: bytes) -> _Decoder | None:
    """What undoes *coding*; None where it is unknown or *opening* shows that it was not applied."""
    if coding in ("gzip", "x-gzip"):
        begins = _GZIP.match(opening) or opening == b"\x1f"
        return _Members(lambda: _Inflate(31), _GZIP) if begins else None
    if coding == "zstd":
        begins = _ZSTD.match(opening) or len(opening) < _MAGIC_MAX
        return _Members(_Zstd, _ZSTD) if begins else None
    if opening.startswith(b"%PDF"):
        return None  # the other codings have no signature of their own: the PDF's tells
    if coding == "deflate":
        # Many servers send it without its zlib wrapper (RFC 9110 section 8.4.1.2).
        wrapped = opening[0] & 15 == 8 and int.from_bytes(opening[:2]) % 31 == 0
        return _Inflate(15 if wrapped else -15)
    return _Brotli() if coding == "br" else None


def decode(pieces: Iterable[bytes], codings: tuple[str, ...]) -> Iterator[bytes]:
    """*pieces* with *codings* (as applied, so undone from the last) undone.

    A piece that is given is at most 1 MiB where a coding was undone, so a bomb is met piece by
    piece and the caller can stop. Bytes decide here too: a coding that is unknown, or that the
    first bytes contradict, was not applied. ``BadHttp`` for a broken stream, or one that ends
    early, or more than eight codings.
    """
    if len(codings) > _CODINGS_MAX:
        raise BadHttp(f"{len(codings)} codings")
    for coding in reversed(codings):
        pieces = _undo(pieces, coding)
    yield from pieces


def _undo(pieces: Iterable[bytes], coding: str) -> Iterator[bytes]:
    rest = iter(pieces)
    opening = b""
    while len(opening) < _MAGIC_MAX and (piece := next(rest, None)) is not None:
        opening += piece
    decoder = _decoder(coding, opening) if opening else None
    if decoder is None:
        yield from itertools.chain((opening,), rest)
        return
    try:
        for piece in itertools.chain((opening,), rest):
            for start in range(0, len(piece), _PIECE):
                yield from filter(None, decoder.feed(piece[start : start + _PIECE]))
    except (zlib.error, brotli.error, zstd.ZstdError) as error:
        raise BadHttp(f"broken {coding} body: {error}") from None
    if not decoder.done:
        raise BadHttp(f"the {coding} body ends early")


def entity(source: Source, message: Head) -> Iterator[bytes]:
    """The entity of the answer in *source*: the payload with content codings undone, in pieces."""
    return decode(payload(source, message), message.content_codings)
