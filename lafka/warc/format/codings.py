"""Content and transfer codings undone: gzip, deflate, br, zstd (RFC 9110 section 8.4.1)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import brotli

from ..errors import BadHttp
from .compression import BARE, BROKEN_GZIP, BROKEN_ZSTD, WRAPPED, Decompressor, Inflater, zstd_frame

_PIECE = 1 << 16
_OUT = 1 << 20
_BROKEN = (*BROKEN_GZIP, brotli.error, BROKEN_ZSTD)
_CODINGS_MAX = 8
_UNSIGNED = ("deflate", "br")
_HELD_MAX = 2 << 20

OnProblem = Callable[..., object]
"""Called with a code of :mod:`problems`, and what its sentence names."""


class _Decoder(Protocol):
    """A coding that is undone: the bytes that *data* goes on with, at most *most* at a time."""

    def pieces(self, data: bytes, most: int) -> Iterator[bytes]: ...

    @property
    def eof(self) -> bool: ...


class _Members:
    """Streams of one kind, one behind the other: gzip members, zstd frames.

    What stands behind the last one and does not begin as another does is dropped: padding.
    """

    def __init__(self, new: Callable[[], Decompressor], magic: re.Pattern[bytes]) -> None:
        self._new = new
        self._magic = magic
        self._inner = new()
        self._behind = b""
        self._over = False

    def pieces(self, data: bytes, most: int) -> Iterator[bytes]:
        while data and not self._over:
            if self._inner.eof:
                data = self._next(data)
                continue
            yield from self._inner.pieces(data, most)
            data = self._inner.rest if self._inner.eof else b""

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
    def eof(self) -> bool:
        return self._inner.eof


class _Brotli:
    def __init__(self) -> None:
        self._inner = brotli.Decompressor()

    def pieces(self, data: bytes, most: int) -> Iterator[bytes]:
        if self.eof:
            return
        out = self._inner.process(data, output_buffer_limit=most)
        # It may have taken all of its input and still hold back output.
        while out or not (self.eof or self._inner.can_accept_more_data()):
            yield bytes(out)
            out = b"" if self.eof else self._inner.process(b"", output_buffer_limit=most)

    @property
    def eof(self) -> bool:
        return bool(self._inner.is_finished())


_GZIP = re.compile(rb"\x1f\x8b")
_ZSTD = re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")
_MAGIC_MAX = 4


def _decoder(coding: str, opening: bytes) -> _Decoder | None:
    """Return the decoder of *coding*; None if unknown, or not applied as *opening* shows."""
    if coding in ("gzip", "x-gzip"):
        begins = _GZIP.match(opening) or opening == b"\x1f"
        return _Members(Inflater, _GZIP) if begins else None
    if coding == "zstd":
        begins = _ZSTD.match(opening) or len(opening) < _MAGIC_MAX
        return _Members(zstd_frame, _ZSTD) if begins else None
    if opening.startswith(b"%PDF"):
        return None  # the other codings have no signature of their own: the PDF's tells
    if coding == "deflate":
        # Many servers send it without its zlib wrapper (RFC 9110 section 8.4.1.2).
        wrapped = opening[0] & 15 == 8 and int.from_bytes(opening[:2]) % 31 == 0
        return Inflater(WRAPPED if wrapped else BARE)
    return _Brotli() if coding == "br" else None


class DecodedTooLarge(BadHttp):
    """A coding, maybe one of several, undone makes more bytes than were allowed."""


def decode(
    pieces: Iterable[bytes],
    codings: tuple[str, ...],
    on_problem: OnProblem | None = None,
    *,
    most: int = 0,
) -> Iterator[bytes]:
    """*pieces* with *codings* (as applied, so undone from the last) undone.

    A piece that is given is at most 1 MiB where a coding was undone, so a bomb is met piece by
    piece and the caller can stop. Bytes decide here too: a coding that is unknown, or that the
    first bytes contradict, was not applied. ``BadHttp`` for a broken stream, or one that ends
    early, or more than eight codings; ``DecodedTooLarge`` where undoing any of them makes over
    *most* bytes (0: no bound), for stacked codings may make gigabytes and hardly give a byte.

    *on_problem* is called for each coding that was not applied (``undone-coding``); then the bytes
    decide of deflate and br, too, which have no signature: where nothing can be decoded they were
    not.
    """
    if len(codings) > _CODINGS_MAX:
        raise BadHttp(f"{len(codings)} codings")
    for coding in reversed(codings):
        pieces = _undo(pieces, coding, on_problem)
        if most:
            pieces = _at_most(pieces, most)
    yield from pieces


def _at_most(pieces: Iterable[bytes], most: int) -> Iterator[bytes]:
    for piece in pieces:
        yield piece
        most -= len(piece)
        if most < 0:
            raise DecodedTooLarge("undone, it is too big")


def _undo(pieces: Iterable[bytes], coding: str, on_problem: OnProblem | None) -> Iterator[bytes]:
    rest = iter(pieces)
    opening = b""
    while len(opening) < _MAGIC_MAX and (piece := next(rest, None)) is not None:
        opening += piece
    decoder = _decoder(coding, opening) if opening else None
    if decoder is None:
        if on_problem and opening:
            on_problem("undone-coding", coding=coding)
        yield from itertools.chain((opening,), rest)
        return
    unsure = (
        _HeldPieces(itertools.chain((opening,), rest))
        if on_problem and coding in _UNSIGNED
        else None
    )
    try:
        for out in _decoded(decoder, coding, unsure or itertools.chain((opening,), rest)):
            if unsure:
                unsure.held = None
            yield out
    except _BrokenCoding:
        if on_problem is None or unsure is None or unsure.held is None:
            raise
        on_problem("undone-coding", coding=coding)
        yield from itertools.chain(unsure.held, rest)


def _decoded(decoder: _Decoder, coding: str, pieces: Iterable[bytes]) -> Iterator[bytes]:
    try:
        for piece in pieces:
            for start in range(0, len(piece), _PIECE):
                yield from filter(None, decoder.pieces(piece[start : start + _PIECE], _OUT))
    except _BROKEN as error:
        raise _BrokenCoding(f"broken {coding} body: {error}") from None
    if not decoder.eof:
        raise _BrokenCoding(f"the {coding} body ends early")


class _BrokenCoding(BadHttp):
    """The decoder says so, not what it reads from."""


class _HeldPieces:
    """Pieces that are ``held`` until something came of them, or there are too many."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.held: list[bytes] | None = []
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for piece in self._pieces:
            size += len(piece)
            if self.held is not None:
                self.held = [*self.held, piece] if size <= _HELD_MAX else None
            yield piece


def opening(data: bytes, coding: str, size: int) -> bytes | None:
    """The first *size* bytes of what *coding* made *data* of, fewer where *data* has fewer.

    None where the coding is unknown or *data* contradicts it. Never decodes more than *size* bytes
    at a time, whatever *data* would expand to.
    """
    decoder = _decoder(coding, data) if data else None
    try:
        return next(decoder.pieces(data, size), b"")[:size] if decoder else None
    except _BROKEN:
        return None
