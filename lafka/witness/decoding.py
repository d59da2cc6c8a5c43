"""Undoes what a server did to a fut on its way, by no code of the writer's (RFC 9110, RFC 9112).

Brotli and Zstandard are not undone: the standard library of Python 3.11 has neither.
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from io import BufferedReader, RawIOBase
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lafka.witness.blocks import HttpEntity

_CHUNK = 1 << 18
_LINE = 1 << 16
_MARK = b"%PDF-"
_MARK_WITHIN = 1024
_GZIP = b"\x1f\x8b"
_CHUNK_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,16})[ \t]*(?:;.*)?\r?\n", re.S)
_UNDONE = frozenset(("gzip", "x-gzip", "deflate"))


def difference(fd: int, entity: HttpEntity, place: int, length: int) -> str:
    """Return how the PDF in *entity* differs from ``file[place:place+length]``; empty where it does
    not.

    Empty too where it is coded in a way that is not undone here.
    """
    if not _UNDONE.issuperset(entity.content) or (pieces := _payload(fd, entity)) is None:
        return ""
    for coding in reversed(entity.content):
        pieces = _inflated(pieces, coding)
    at, end = place, place + length
    try:
        for piece in _from_mark(pieces):
            if piece != os.pread(fd, min(len(piece), end - at), at):
                return f"another byte than in the answer from byte {at} on, or fewer"
            at += len(piece)
    except (zlib.error, ValueError) as error:
        return f"the answer cannot be decoded: {error}"
    return "" if at == end else f"the answer holds {end - at} bytes fewer"


def payload_digest(fd: int, entity: HttpEntity, algorithm: str) -> str:
    """``algorithm:hex`` of *entity* without its transfer codings; empty where they stay."""
    hasher = hashlib.new(algorithm)
    try:
        for piece in _payload(fd, entity) or ():
            hasher.update(piece)
    except (zlib.error, ValueError):
        return ""
    return f"{algorithm}:{hasher.hexdigest()}"


def _payload(fd: int, entity: HttpEntity) -> Iterator[bytes] | None:
    """*entity* without its transfer codings; None where one of them is not undone here."""
    codings = [name for name in entity.transfer if name != "chunked"]
    if not _UNDONE.issuperset(codings):
        return None
    body: BufferedReader = BufferedReader(_Range(fd, entity.offset, entity.end), _CHUNK)
    pieces = _dechunked(body) if "chunked" in entity.transfer else iter(body.read1, b"")
    for coding in reversed(codings):
        pieces = _inflated(pieces, coding)
    return pieces


class _Range(RawIOBase):
    """``file[offset:end]`` as a file of its own."""

    def __init__(self, fd: int, offset: int, end: int) -> None:
        self._fd, self._at, self._end = fd, offset, end

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        view = memoryview(buffer)[: self._end - self._at]
        count = os.preadv(self._fd, [view], self._at) if view else 0
        self._at += count
        return count


def _dechunked(body: BufferedReader) -> Iterator[bytes]:
    """``ValueError`` where the chunked coding is broken or has no end."""
    while True:
        size = _CHUNK_SIZE.fullmatch(body.readline(_LINE))
        if size is None:
            raise ValueError("a chunk without its size")
        left = int(size[1], 16)
        if not left:
            return
        while left:
            data = body.read(min(left, _CHUNK))
            if not data:
                raise ValueError("a chunk ends early")
            left -= len(data)
            yield data
        if body.readline(3) not in (b"\r\n", b"\n"):
            raise ValueError("a chunk is longer than its size")


def _inflated(pieces: Iterator[bytes], coding: str) -> Iterator[bytes]:
    """*pieces* as they are where their first bytes are not of *coding*: it was not applied."""
    opening = b""
    while len(opening) < len(_GZIP) and (piece := next(pieces, b"")):
        opening += piece
    pieces = chain((opening,), pieces)
    if coding == "deflate":
        # Many servers leave out the wrapper of zlib (RFC 9110 section 8.4.1.2).
        wrapped = opening[:1] and opening[0] & 15 == 8 and int.from_bytes(opening[:2]) % 31 == 0
        return _members(pieces, 15 if wrapped else -15, b"")
    return _members(pieces, 31, _GZIP) if opening.startswith(_GZIP) else pieces


def _members(pieces: Iterator[bytes], window: int, magic: bytes) -> Iterator[bytes]:
    """Streams of zlib's one behind the other; what follows and does not begin so is padding."""
    inner, held = zlib.decompressobj(window), b""
    for piece in pieces:
        data = held + piece
        while data:
            if inner.eof:
                if not magic or not data.startswith(magic[: len(data)]):
                    return
                if len(data) < len(magic):
                    break
                inner = zlib.decompressobj(window)
            yield from _inflate(inner, data)
            data = inner.unused_data
        held = data
    if not inner.eof:
        raise ValueError("the coded body ends early")


def _inflate(inner: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    out = inner.decompress(data, _CHUNK)
    while out:
        yield out
        # What zlib holds back beyond the limit is no unconsumed input.
        out = b"" if inner.eof else inner.decompress(inner.unconsumed_tail, _CHUNK)


def _from_mark(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """*pieces* without what stands before the mark of a PDF."""
    opening = b""
    while len(opening) < _MARK_WITHIN and (piece := next(pieces, b"")):
        opening += piece
    start = opening.find(_MARK)
    if start < 0:
        raise ValueError("it holds no PDF")
    yield opening[start:]
    yield from pieces
