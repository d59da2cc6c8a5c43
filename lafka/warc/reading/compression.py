"""How a volume may be compressed: by gzip, bzip2 or zstd, member by member (WARC/1.1 annex A)."""

from __future__ import annotations

import bz2
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from ..format import gzips
from ..format.gzips import Inflater

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


class Decompressor(Protocol):
    """One member: ``feed`` gives at most *limit* bytes, ``rest`` is input not taken yet."""

    rest: bytes
    eof: bool
    hungry: bool

    def feed(self, data: bytes, limit: int) -> bytes: ...


class _Buffering:
    """A decompressor that keeps the input it was given."""

    def __init__(self, inner: bz2.BZ2Decompressor | zstd.ZstdDecompressor) -> None:
        self._inner = inner
        self.rest = b""
        self.eof = False
        self.hungry = True

    def feed(self, data: bytes, limit: int) -> bytes:
        out = self._inner.decompress(data, limit)
        self.eof = bool(self._inner.eof)
        self.rest = bytes(self._inner.unused_data) if self.eof else b""
        self.hungry = bool(self._inner.needs_input)
        return bytes(out)


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
    new=lambda: _Buffering(bz2.BZ2Decompressor()),
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
    """What compressed what begins with *head*, where that is known and not read; else nothing."""
    return next((name for name, magic in _UNREAD.items() if head.startswith(magic)), "")


def codec_of(raw: Callable[[int, int], bytes], start: int) -> Codec | None:
    """How what begins at byte *start* is compressed; None where it is not."""
    head = raw(MAGIC_MAX, start)
    if _ZSTD.match(head) or SKIPPABLE.match(head):
        return _zstd_codec(_dictionary(raw, start))
    return next((codec for codec in (GZIP, BZIP2) if codec.magic.match(head)), None)


def _zstd_codec(dictionary: zstd.ZstdDict | None) -> Codec:
    def new() -> Decompressor:
        return _Buffering(zstd.ZstdDecompressor(zstd_dict=dictionary, options=_ZSTD_OPTIONS))

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


BROKEN = (*gzips.BROKEN, OSError, ValueError, zstd.ZstdError)
