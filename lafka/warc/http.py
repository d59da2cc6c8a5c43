"""The HTTP/1 message in a response block: head, payload, entity (RFC 9112, RFC 9110).

*Payload* is what stands after the head once a transfer coding is undone; *entity* is the payload
once content codings are undone too. Where neither is used both stand literally in the block.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import brotli

from lafka.errors import BadHttp
from lafka.warc.fields import Fields
from lafka.warc.sources import Source

HEAD_MAX = 1 << 20
_STATUS = re.compile(r"(?:HTTP/(\d+(?:\.\d+)?)|ICY) +(\d{3})(?: (.*))?", re.IGNORECASE)
_HEAD_END = re.compile(rb"\n\r?\n")
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
        codings = ",".join(self.fields.all("Transfer-Encoding")).lower()
        return "chunked" in codings

    @property
    def content_codings(self) -> tuple[str, ...]:
        """Content codings in the order in which they were applied, without ``identity``."""
        names = ",".join(self.fields.all("Content-Encoding")).lower().split(",")
        return tuple(n.strip() for n in names if n.strip() not in ("", "identity", "none"))

    @property
    def literal(self) -> bool:
        """Whether the entity stands in the block as it is."""
        return not self.chunked and not self.content_codings

    @property
    def content_length(self) -> int | None:
        """Content-Length where it is one number; None where a transfer coding overrides it."""
        values = {v.strip() for text in self.fields.all("Content-Length") for v in text.split(",")}
        if self.chunked or len(values) != 1:
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
        read *= 4
        data = source.read(0, read)


def _status(line: bytes) -> tuple[int, str]:
    found = _STATUS.fullmatch(line.decode("latin-1").strip())
    if not found:
        raise BadHttp(f"not a status line: {line[:80]!r}")
    return int(found[2]), found[3] or ""


class Dechunker:
    """Undoes the chunked transfer coding, with extensions and trailers (RFC 9112 section 7.1)."""

    def __init__(self) -> None:
        self._buffer = b""
        self._left = 0
        self._state = "size"
        self.done = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The payload bytes in *data*; ``BadHttp`` where the coding is broken."""
        self._buffer += data
        while self._buffer and not self.done:
            if self._state == "data":
                piece = self._buffer[: self._left]
                self._buffer = self._buffer[len(piece) :]
                self._left -= len(piece)
                if not self._left:
                    self._state = "data end"
                yield piece
            else:
                line, newline, rest = self._buffer.partition(b"\n")
                if not newline:
                    if len(line) > HEAD_MAX:
                        raise BadHttp("a line of the chunked coding is over 1 MiB")
                    return
                self._buffer = rest
                self._line(line.removesuffix(b"\r"))

    def _line(self, line: bytes) -> None:
        if self._state == "size":
            found = _CHUNK_SIZE.fullmatch(line)
            if not found:
                raise BadHttp(f"not a chunk size: {line[:40]!r}")
            self._left = int(found[1], 16)
            self._state = "data" if self._left else "trailer"
        elif self._state == "data end":
            if line:
                raise BadHttp("a chunk is longer than its size says")
            self._state = "size"
        elif not line:
            self.done = True


def payload(source: Source, message: Head) -> Iterator[bytes]:
    """The payload of the answer in *source*, transfer coding undone, in pieces.

    ``BadHttp`` where the body ends before the coding or Content-Length says.
    """
    if message.chunked:
        dechunker = Dechunker()
        for data in source.chunks(message.end):
            yield from dechunker.feed(data)
        if not dechunker.done:
            raise BadHttp("the chunked body ends early")
        return
    left = message.content_length
    for data in source.chunks(message.end):
        piece = data if left is None else data[:left]
        if left is not None:
            left -= len(piece)
        if piece:
            yield piece
    if left and message.status not in (204, 304):
        raise BadHttp(f"the body ends {left} bytes early")


Decode = Callable[[bytes], bytes]


class _Zlib:
    """gzip (also of several members) and deflate, with or without its zlib wrapper."""

    def __init__(self, coding: str) -> None:
        self._gzip = coding in ("gzip", "x-gzip")
        self._inner = zlib.decompressobj(31 if self._gzip else 15)
        self._begun = False

    def feed(self, data: bytes) -> bytes:
        try:
            out = self._inner.decompress(data)
        except zlib.error:
            if self._gzip or self._begun:
                raise
            self._inner = zlib.decompressobj(-15)
            out = self._inner.decompress(data)
        self._begun = True
        while self._gzip and self._inner.eof and self._inner.unused_data.startswith(b"\x1f\x8b"):
            rest = self._inner.unused_data
            self._inner = zlib.decompressobj(31)
            out += self._inner.decompress(rest)
        return out

    @property
    def done(self) -> bool:
        return bool(self._inner.eof)


class _Brotli:
    def __init__(self) -> None:
        self._inner = brotli.Decompressor()

    def feed(self, data: bytes) -> bytes:
        return bytes(self._inner.process(data))

    @property
    def done(self) -> bool:
        return bool(self._inner.is_finished())


class _Zstd:
    def __init__(self) -> None:
        # Imported where it is needed: zstd answers are rare, since we ask for identity.
        try:
            from compression import zstd  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415
        except ImportError:
            from backports import zstd  # type: ignore[no-redef,unused-ignore]  # noqa: PLC0415
        self._inner = zstd.ZstdDecompressor()

    def feed(self, data: bytes) -> bytes:
        return b"" if self._inner.eof else bytes(self._inner.decompress(data))

    @property
    def done(self) -> bool:
        return bool(self._inner.eof)


_DECODERS: dict[str, Callable[[], _Zlib | _Brotli | _Zstd]] = {
    "gzip": lambda: _Zlib("gzip"),
    "x-gzip": lambda: _Zlib("gzip"),
    "deflate": lambda: _Zlib("deflate"),
    "br": _Brotli,
    "zstd": _Zstd,
}
_PIECE = 1 << 16


def decode(pieces: Iterable[bytes], codings: tuple[str, ...]) -> Iterator[bytes]:
    """*pieces* with *codings* (as applied, so undone from the last) undone.

    Fed in pieces of 64 KiB, so that a bomb is met piece by piece and the caller can stop.
    ``BadHttp`` for an unknown coding, a broken stream, or one that ends early.
    """
    for coding in reversed(codings):
        if coding not in _DECODERS:
            raise BadHttp(f"unknown content coding {coding!r}")
        pieces = _undo(pieces, coding)
    yield from pieces


def _undo(pieces: Iterable[bytes], coding: str) -> Iterator[bytes]:
    decoder, fed = _DECODERS[coding](), False
    try:
        for piece in pieces:
            for start in range(0, len(piece), _PIECE):
                fed = True
                out = decoder.feed(piece[start : start + _PIECE])
                if out:
                    yield out
    except (zlib.error, brotli.error, ValueError, EOFError, OSError) as error:
        raise BadHttp(f"broken {coding} body: {error}") from None
    except Exception as error:
        if type(error).__name__ == "ZstdError":  # either package's, without importing them
            raise BadHttp(f"broken {coding} body: {error}") from None
        raise
    if fed and not decoder.done:
        raise BadHttp(f"the {coding} body ends early")


def entity(source: Source, message: Head) -> Iterator[bytes]:
    """The entity of the answer in *source*: the payload with content codings undone, in pieces."""
    return decode(payload(source, message), message.content_codings)
