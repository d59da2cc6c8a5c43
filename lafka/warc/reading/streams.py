"""A volume as one stream of plain bytes: as it lies there, or inflated member by member.

A stream has places of its own: for a plain file the byte in it; for a compressed one the byte in
what the members from ``start`` on inflate to. ``place`` tells the byte in the file.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..format.compression import BROKEN, GZIP, MAGIC_MAX, SKIPPABLE, Codec, Decompressor
from ..format.sources import CHUNK

ENDLESS = 1 << 62
"""The size of what ends nobody knows where."""
AHEAD = 1024  # what `view` gives beyond the place asked for, so that a header is whole in it
_FIRST_WINDOW = 8 << 10
_WINDOW = 256 << 10
_FAR = 64 << 10
_KEPT = 8 << 20
_ZEROS = re.compile(rb"\0+")


class PlainStream:
    """The bytes of a file as they are."""

    __slots__ = ("_base", "_data", "_last", "_raw", "_window", "ahead", "size")

    def __init__(self, raw: Callable[[int, int], bytes], size: int) -> None:
        self._raw = raw
        self.size = size
        self.ahead = AHEAD
        self._base = 0
        self._data = b""
        self._last = 0
        self._window = _FIRST_WINDOW

    def view(self, at: int, keep: int) -> tuple[int, bytes]:  # noqa: ARG002  all can be read again
        """A place and the bytes from there on, at least ``ahead`` beyond *at* if there are."""
        base, data = self._base, self._data
        if base <= at and at + self.ahead <= base + len(data):
            return base, data
        # Records that lie near each other are read many at once, of large ones the headers alone.
        near = at - self._last <= _FAR
        length = self._window if near else self.ahead + 64
        self._window = min(2 * self._window, _WINDOW) if near else _FIRST_WINDOW
        self._last = at
        self._data = data = self._raw(max(0, min(length, self.size - at)), at)
        self._base = at
        return at, data

    def read(self, start: int, length: int) -> bytes:
        length = max(0, min(length, self.size - start))
        place = start - self._base
        if place >= 0 and place + length <= len(self._data):
            return self._data[place : place + length]
        data = self._raw(length, start)
        while data and len(data) < length:
            more = self._raw(length - len(data), start + len(data))
            if not more:
                break
            data += more
        return data

    def lacks(self, end: int) -> bool:
        """Return whether the stream ends before *end*."""
        if self.size == ENDLESS:
            return end > 0 and not self.read(end - 1, 1)
        return end > self.size

    def place(self, at: int) -> tuple[int, int]:
        """Return where in the file what holds *at* begins, and how far behind that *at* is."""
        return at, 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """The reason why a stream ended before its file; ``offset`` is the byte of the trouble."""

    code: str
    offset: int
    reason: str = ""


class PackedStream:
    """The plain bytes of a file's compressed members from ``start`` on, one behind the other.

    Only looked at from front to back: what lies more than some MiB behind is given up.
    """

    def __init__(
        self, raw: Callable[[int, int], bytes], size: int, codec: Codec, start: int = 0
    ) -> None:
        self.trouble: Trouble | None = None
        self.ended = False
        self.padding: list[tuple[int, int]] = []
        self._raw = raw
        self._size = size
        self._codec = codec
        self._read_to = start
        self._pending = b""
        self._inner: Decompressor | None = None
        self._step = 16 << 10
        self._base = 0
        self._data = b""
        # Where members begin, in the stream and in the file: those that the window touches.
        self._begins: list[int] = []
        self._offsets: list[int] = []
        self._member = start

    @property
    def raw_place(self) -> int:
        """The byte of the file up to which it was inflated."""
        return self._read_to - len(self._pending)

    @property
    def base(self) -> int:
        """The place from which on it can be looked at."""
        return self._base

    @property
    def end(self) -> int:
        """The place up to which the stream was inflated."""
        return self._base + len(self._data)

    def view(self, at: int, keep: int) -> tuple[int, bytes]:
        """As :meth:`PlainStream.view`; what lies before *keep* may be given up."""
        if at + AHEAD > self._base + len(self._data) and not self.ended:
            self._inflate_to(at + AHEAD, at if at - keep > _KEPT else keep)
        return self._base, self._data

    def read(self, start: int, length: int) -> bytes:
        """Bytes that are not given up yet (:meth:`has`)."""
        base, data = self.view(start + length, start)
        return data[start - base : start - base + length]

    def has(self, at: int) -> bool:
        """Return whether *at* can still be looked at."""
        return at >= self._base

    def holds(self, at: int, length: int) -> bool:
        """Return whether these bytes are at hand."""
        return self._base <= at and at + length <= self.end

    def lacks(self, end: int) -> bool:
        self.view(end, self._base)
        return end > self.end

    def place(self, at: int) -> tuple[int, int]:
        index = bisect_right(self._begins, at) - 1
        if index < 0:
            return self._member, at
        return self._offsets[index], at - self._begins[index]

    def where(self, offset: int) -> int | None:
        """The place where the member at *offset* of the file begins, where it is known."""
        index = bisect_left(self._offsets, offset)
        if index < len(self._offsets) and self._offsets[index] == offset:
            return self._begins[index]
        return None

    def member_after(self, at: int) -> int | None:
        """Return where in the file the member lies that begins at *at*; None inside of one."""
        index = bisect_left(self._begins, at)
        if index < len(self._begins):
            return self._offsets[index] if self._begins[index] == at else None
        return self.raw_place if self.ended and at == self.end else None

    def _inflate_to(self, end: int, keep: int) -> None:
        while self._base + len(self._data) < end and not self.ended:
            self._data += self._inflate(min(CHUNK, max(_FAR, len(self._data))))
            surplus = min(keep - self._base, len(self._data))
            if surplus > _FAR or len(self._data) - surplus < surplus:
                self._data = self._data[surplus:]
                self._base += surplus
                self._forget()

    def _forget(self) -> None:
        gone = bisect_right(self._begins, self._base) - 1
        if gone > 64:
            del self._begins[:gone], self._offsets[:gone]

    def _inflate(self, wanted: int) -> bytes:
        parts: list[bytes] = []
        got = 0
        while got < wanted and not self.ended:
            if self._inner is None and not self._open_member(self.end + got):
                break
            piece = self._feed(wanted - got)
            parts.append(piece)
            got += len(piece)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _feed(self, limit: int) -> bytes:
        inner = self._inner
        assert inner is not None
        if inner.hungry and not self._pending and not self._more():
            self._end("torn-member", self._member)
            return b""
        try:
            piece = inner.feed(self._pending, limit)
        except BROKEN as error:
            self._end("bad-compression", self._member, str(error))
            return b""
        self._pending = inner.rest
        if inner.eof:
            self._inner = None
            self._step = 16 << 10
        return piece

    def _more(self) -> bool:
        data = self._raw(max(0, min(self._step, self._size - self._read_to)), self._read_to)
        self._pending += data
        self._read_to += len(data)
        self._step = min(2 * self._step, 256 << 10)
        return bool(data)

    def _open_member(self, place: int) -> bool:
        """Begin the next member; False at the end, and where what follows is none."""
        self._skip_padding()
        while len(self._pending) < MAGIC_MAX and self._more():
            pass
        while self._codec.name == "zstd" and SKIPPABLE.match(self._pending):
            self._skip_frame()
        offset = self.raw_place
        if not self._pending:
            self.ended = True
            return False
        if not self._codec.magic.match(self._pending):
            prefix = self._codec.name == "gzip" and b"\x1f\x8b\x08".startswith(self._pending)
            self._end("torn-member" if prefix else "stray-bytes", offset)
            return False
        self._inner = self._codec.new()
        self._member = offset
        self._begins.append(place)
        self._offsets.append(offset)
        return True

    def _skip_frame(self) -> None:
        """Pass over a skippable frame (RFC 8878 section 3.1.2)."""
        self._read_to = self.raw_place + 8 + int.from_bytes(self._pending[4:8], "little")
        self._pending = b""
        while len(self._pending) < MAGIC_MAX and self._more():
            pass

    def skip(self, at: int, size: int) -> int | None:
        """Pass over the member that begins at *at* and holds *size* bytes: its length in the file.

        Where its header has the field ``sl`` (WARC/0.9 section 9.2), and what that says is so as
        far as can be told: the member ends with that size, and another one, or nothing, follows.
        """
        offset, inner = self.place(at)
        if self._codec is not GZIP or inner:
            return None
        packed = _skip_length(self._raw, offset, size)
        end = offset + (packed or 0)
        if packed is None or end > self._size:
            return None
        behind = self._raw(4 + MAGIC_MAX, end - 4)
        whole = behind[:4] == (size & 0xFFFFFFFF).to_bytes(4, "little")
        if not whole or not (end == self._size or GZIP.magic.match(behind, 4)):
            return None
        self._inner, self._pending, self._read_to = None, b"", end
        self._base, self._data = at + size, b""
        return packed

    def _skip_padding(self) -> None:
        begin = self.raw_place
        if not self._begins:
            return
        while self._pending or self._more():
            zeros = _ZEROS.match(self._pending)
            if not zeros:
                break
            self._pending = self._pending[zeros.end() :]
        if self.raw_place > begin:
            self.padding.append((begin, self.raw_place - begin))

    def give_up(self) -> None:
        """Read no further: too much without a record."""
        self._end("given-up", self._member)

    def _end(self, code: str, offset: int, reason: str = "") -> None:
        self.trouble = Trouble(code=code, offset=offset, reason=reason)
        self.ended = True


def _skip_length(raw: Callable[[int, int], bytes], offset: int, size: int) -> int | None:
    """Return the length that the member at *offset*, of *size* bytes, says it has."""
    head = raw(12, offset)
    if len(head) < 12 or not head[3] & 4:
        return None
    extra, place = raw(int.from_bytes(head[10:], "little"), offset + 12), 0
    while place + 4 <= len(extra):
        length = int.from_bytes(extra[place + 2 : place + 4], "little")
        value = extra[place + 4 : place + 4 + length]
        if extra[place : place + 2] == b"sl" and len(value) == 8:
            packed, plain = struct.unpack("<II", value)
            return packed if plain == size and packed > 20 else None
        place += 4 + length
    return None


def next_member(
    raw: Callable[[int, int], bytes],
    size: int,
    codec: Codec,
    start: int,
    begins: Callable[[bytes], bool],
) -> int | None:
    """Return where from *start* on a member begins whose first bytes *begins* accepts."""
    for offset in _magics(raw, size, codec, start):
        stream = PackedStream(raw, size, codec, offset)
        if begins(stream.read(0, AHEAD).lstrip(b"\r\n")):
            return offset
    return None


def _magics(raw: Callable[[int, int], bytes], size: int, codec: Codec, start: int) -> Iterator[int]:
    while start < size:
        data = raw(min(CHUNK, size - start), start)
        for found in codec.magic.finditer(data):
            yield start + found.start()
        if len(data) <= MAGIC_MAX:
            return
        start += len(data) - MAGIC_MAX + 1
