"""Decompression, a bounded piece at a time, of volumes, content codings, zip members and indexes.

gzip members, zlib streams and bare deflate (RFC 1952, 1950, 1951); the codecs of a volume, which is
compressed member by member by gzip, bzip2 or zstd (WARC/1.1 annex A).
"""

from __future__ import annotations

import bz2
import re
import sys
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MEMBER, WRAPPED, BARE = 31, 15, -15
"""What a stream is wrapped in: a gzip member, zlib's own head and sum, nothing."""
BROKEN_GZIP = (zlib.error, EOFError)
"""The errors of gzip and deflate that is broken, or ends early."""
BROKEN_ZSTD = zstd.ZstdError
_PIECE = 1 << 20


class Decompressor(ABC):
    """One compressed stream. ``rest`` is input not taken yet; behind ``eof`` it is what follows.

    ``hungry``: more output needs more input. An error of :data:`BROKEN` where the data is broken.
    """

    __slots__ = ("eof", "hungry", "rest")

    def __init__(self) -> None:
        self.rest = b""
        self.eof = False
        self.hungry = True

    @abstractmethod
    def feed(self, data: bytes, limit: int) -> bytes:
        """Return at most *limit* bytes of what *data*, which begins with ``rest``, goes on with."""

    def pieces(self, data: bytes, most: int = _PIECE) -> Iterator[bytes]:
        """Yield all that *data* goes on with, *most* bytes at a time; nothing behind the end."""
        out = b"" if self.eof else self.feed(data, most)
        while out:
            yield out
            out = b"" if self.eof else self.feed(self.rest, most)


class Inflater(Decompressor):
    """One gzip member, zlib stream or stream of bare deflate."""

    __slots__ = ("_inner",)

    def __init__(self, window: int = MEMBER) -> None:
        super().__init__()
        self._inner = zlib.decompressobj(window)

    def feed(self, data: bytes, limit: int) -> bytes:
        out = self._inner.decompress(data, limit)
        self.eof = self._inner.eof
        self.rest = self._inner.unused_data if self.eof else self._inner.unconsumed_tail
        # What zlib holds back beyond the limit is no unconsumed input.
        self.hungry = not self.rest and len(out) < limit
        return out


class BufferingDecompressor(Decompressor):
    """One stream of bzip2 or frame of zstd, whose decompressors keep the input they were given."""

    __slots__ = ("_inner",)

    def __init__(self, inner: bz2.BZ2Decompressor | zstd.ZstdDecompressor) -> None:
        super().__init__()
        self._inner = inner

    def feed(self, data: bytes, limit: int) -> bytes:
        out = self._inner.decompress(data, limit)
        self.eof = bool(self._inner.eof)
        self.rest = bytes(self._inner.unused_data) if self.eof else b""
        self.hungry = bool(self._inner.needs_input)
        return bytes(out)


def zstd_frame() -> BufferingDecompressor:
    """Return a decompressor of one frame; RFC 9659 lets a server ask for no window over 8 MiB."""
    options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: 23}
    return BufferingDecompressor(zstd.ZstdDecompressor(options=options))


def members(pieces: Iterable[bytes], most: int = _PIECE) -> Iterator[tuple[bytes, bool]]:
    """Yield what gzip members inflate to, *most* bytes at a time, and whether a member is over.

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
    """Return what gzip members inflate to, one behind the other: see :func:`members`."""
    return (out for out, _ in members(pieces, most) if out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Codec:
    """A way to compress a volume: what a member begins with, and how one is inflated."""

    name: str
    magic: re.Pattern[bytes]
    new: Callable[[], Decompressor]


GZIP = Codec(name="gzip", magic=re.compile(rb"\x1f\x8b\x08[\x00-\x1f]"), new=Inflater)
BZIP2 = Codec(
    name="bzip2",
    magic=re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"),
    new=lambda: BufferingDecompressor(bz2.BZ2Decompressor()),
)
# A window of 8 MiB is what RFC 8878 asks every decoder for; 128 MiB is zstd's own limit.
_ZSTD_OPTIONS: dict[int, int] = {zstd.DecompressionParameter.window_log_max: 27}
_ZSTD = re.compile(rb"\x28\xb5\x2f\xfd")
SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
_DICTIONARY = b"\x5d\x2a\x4d\x18"
_DICTIONARY_MAX = 8 << 20
MAGIC_MAX = 10


# Other ways to compress, by what a file begins with: named, not read.
_UNREAD = {
    "LZ4": b"\x04\x22\x4d\x18",
    "xz": b"\xfd7zXZ\0",
    "lzip": b"LZIP",
    "compress": b"\x1f\x9d",
    "7z": b"7z\xbc\xaf\x27\x1c",
    "snappy": b"\xff\x06\0\0sNaPpY",
}


def unread_codec(head: bytes) -> str:
    """Return the name of a compression that is known and not read, by the first bytes."""
    return next((name for name, magic in _UNREAD.items() if head.startswith(magic)), "")


def codec_of(raw: Callable[[int, int], bytes], start: int) -> Codec | None:
    """Return the codec of what begins at byte *start*; None where it is not compressed."""
    head = raw(MAGIC_MAX, start)
    if _ZSTD.match(head) or SKIPPABLE.match(head):
        return _zstd_codec(_dictionary(raw, start))
    return next((codec for codec in (GZIP, BZIP2) if codec.magic.match(head)), None)


def _zstd_codec(dictionary: zstd.ZstdDict | None) -> Codec:
    def new() -> Decompressor:
        return BufferingDecompressor(
            zstd.ZstdDecompressor(zstd_dict=dictionary, options=_ZSTD_OPTIONS)
        )

    return Codec(name="zstd", magic=_ZSTD, new=new)


def _dictionary(raw: Callable[[int, int], bytes], start: int) -> zstd.ZstdDict | None:
    """The dictionary that a volume begins with, in a skippable frame, if it does.

    As Archive Team's ``.warc.zst`` have it; the dictionary may be compressed itself.
    """
    head = raw(8, start)
    size = int.from_bytes(head[4:], "little")
    if head[:4] != _DICTIONARY or size > _DICTIONARY_MAX:
        return None
    data = raw(size, start + 8)
    with suppress(zstd.ZstdError):
        if _ZSTD.match(data):
            data = zstd.ZstdDecompressor(options=_ZSTD_OPTIONS).decompress(data, _DICTIONARY_MAX)
        return zstd.ZstdDict(data)
    return None


BROKEN = (*BROKEN_GZIP, OSError, ValueError, BROKEN_ZSTD)
"""The errors of compressed data that is broken, or ends early."""
