"""Members of bundles where they stand: cut out, inflated, or all of a gzip in one pass."""

from __future__ import annotations

import hashlib
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

DIGESTS = ("sha256", "sha1", "md5")
_PIECE = 1 << 20

Stretch = Callable[[int, int], Iterator[bytes]]
"""Gives at most so many bytes from a byte on."""
Found = tuple[int, dict[str, str]]
"""A size, and digests in hex."""


class Unplaced(ValueError):
    """A summary does not say where a member stands, or not so that it can be read here."""


def packed_place(entry: dict[str, Any]) -> tuple[int, int, int] | None:
    """Of a member of a gzipped bundle: start and length of the bundle, and its byte unpacked.

    ``ValueError``, ``LookupError`` or ``TypeError`` where *entry* says what cannot be.
    """
    bundle = entry.get("bundle")
    if not isinstance(bundle, dict) or bundle.get("packed") is None:
        return None
    packed = bundle["packed"]
    return int(packed["s"]), int(packed["l"]), int(packed["at"])


def placed(stretch: Stretch, entry: dict[str, Any]) -> Iterator[bytes]:
    """The bytes of a member that is stored or deflated; ``Unplaced``."""
    bundle = entry["bundle"]
    if bundle.get("s") is None:
        raise Unplaced("its summary does not say where it stands in its bundle")
    if bundle["method"] not in ("stored", "deflated"):
        raise Unplaced(f"it stands compressed by {bundle['method']} in its bundle")
    packed = stretch(bundle["s"], bundle["l"])
    return _inflated(packed) if bundle["method"] == "deflated" else packed


def _inflated(packed: Iterator[bytes]) -> Iterator[bytes]:
    undo = zlib.decompressobj(-zlib.MAX_WBITS)
    for piece in packed:
        data = piece
        while data:
            yield undo.decompress(data, _PIECE)
            data = undo.unconsumed_tail
    yield undo.flush()


def gunzipped(packed: Iterator[bytes]) -> Iterator[bytes]:
    """Yield what *packed* unpacks to, be it one gzip or many (RFC 1952, 2.2); ``zlib.error``."""
    undo = zlib.decompressobj(zlib.MAX_WBITS | 16)
    for piece in packed:
        data = piece
        while data:
            if undo.eof:
                data = data.lstrip(b"\0")  # padding between gzips, or behind the last
                if not data:
                    break
                undo = zlib.decompressobj(zlib.MAX_WBITS | 16)
            before = undo.copy()
            try:
                made = undo.decompress(data, _PIECE)
            except zlib.error:  # it gives nothing of what comes before the damage
                yield from _byte_by_byte(before, data)
                raise
            yield made
            data = undo.unused_data if undo.eof else undo.unconsumed_tail


def _byte_by_byte(undo: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    for place in range(len(data)):
        yield undo.decompress(data[place : place + 1])


class _Sum:
    def __init__(self, start: int, length: int) -> None:
        self.start, self.end = start, start + length
        self._size = 0
        self._made = {name: hashlib.new(name, usedforsecurity=False) for name in DIGESTS}

    def feed(self, piece: bytes, place: int) -> None:
        """Take what it needs of *piece*, which begins at byte *place*."""
        part = piece[max(0, self.start - place) : max(0, self.end - place)]
        self._size += len(part)
        for digest in self._made.values():
            digest.update(part)

    def found(self) -> Found:
        return self._size, {name: digest.hexdigest() for name, digest in self._made.items()}


def sums_in(
    pieces: Iterator[bytes], wanted: Iterable[tuple[int, int]]
) -> tuple[dict[tuple[int, int], Found], str]:
    """Size and digests of each of the stretches *wanted*, (start, length), of what goes by.

    In one pass, which ends with the last of them. And why it ended before, empty where it did not:
    those that it did not reach have a smaller size then.
    """
    waiting = deque(sorted(set(wanted)))
    made: dict[tuple[int, int], Found] = {}
    now: list[_Sum] = []
    place, trouble = 0, ""
    try:
        while waiting or now:
            piece = next(pieces, None)
            if piece is None:
                break
            end = place + len(piece)
            while waiting and waiting[0][0] < end:
                now.append(_Sum(*waiting.popleft()))
            for one in now:
                one.feed(piece, place)
            made |= {(one.start, one.end - one.start): one.found() for one in now if one.end <= end}
            now = [one for one in now if one.end > end]
            place = end
    except (OSError, ValueError, zlib.error) as error:
        trouble = str(error)
    now += [_Sum(*one) for one in waiting]
    return made | {(one.start, one.end - one.start): one.found() for one in now}, trouble
