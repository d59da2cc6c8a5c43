"""What zlib inflates, a bounded piece at a time: gzip members, zlib streams, bare deflate.

The one reader of gzip members (RFC 1952, 1950, 1951): of volumes, content codings, zip members,
indexes and lists.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

MEMBER, WRAPPED, BARE = 31, 15, -15
"""What a stream is wrapped in: a gzip member, zlib's own head and sum, nothing."""
BROKEN = (zlib.error, EOFError)
"""What reading raises where the data is broken, or ends early."""
_PIECE = 1 << 20


class Inflater:
    """One stream. ``rest`` is input that is not taken yet, behind the ``eof`` what follows it.

    ``hungry``: more output needs more input. ``zlib.error`` where the data is broken.
    """

    __slots__ = ("_inner", "eof", "hungry", "rest")

    def __init__(self, window: int = MEMBER) -> None:
        self._inner = zlib.decompressobj(window)
        self.rest = b""
        self.eof = False
        self.hungry = True

    def feed(self, data: bytes, limit: int) -> bytes:
        """At most *limit* bytes of what *data*, which begins with ``rest``, goes on with."""
        out = self._inner.decompress(data, limit)
        self.eof = self._inner.eof
        self.rest = self._inner.unused_data if self.eof else self._inner.unconsumed_tail
        # What zlib holds back beyond the limit is no unconsumed input.
        self.hungry = not self.rest and len(out) < limit
        return out

    def pieces(self, data: bytes, most: int = _PIECE) -> Iterator[bytes]:
        """All that *data* goes on with, at most *most* bytes at a time; nothing behind the end."""
        if self.eof:
            return
        out = self.feed(data, most)
        while out:
            yield out
            out = b"" if self.eof else self.feed(self.rest, most)


def members(pieces: Iterable[bytes], most: int = _PIECE) -> Iterator[tuple[bytes, bool]]:
    """What gzip members inflate to, at most *most* bytes a piece, and whether its member is over.

    Zeros between and behind them are padding. ``zlib.error`` or ``EOFError`` where they are broken
    or cut, after all that could be had.
    """
    member: Inflater | None = None
    for piece in pieces:
        rest = piece
        while rest := rest if member else rest.lstrip(b"\0"):
            member = member or Inflater()
            yield member.feed(rest, most), member.eof
            rest = member.rest
            if member.eof:
                member = None
    while member and (out := member.feed(b"", most)):
        yield out, member.eof
        if member.eof:
            member = None
    if member:
        raise EOFError("the compressed data ends early")


def inflated(pieces: Iterable[bytes], most: int = _PIECE) -> Iterator[bytes]:
    """What gzip members inflate to, one behind the other: see :func:`members`."""
    return (out for out, _ in members(pieces, most) if out)
