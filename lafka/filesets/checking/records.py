"""Bundles in a WARC, and files of items, read by none of the writers' code."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Protocol

DIGESTS = ("sha256", "sha1", "md5")
_PIECE = 1 << 20

Stretch = Callable[[int, int], Iterator[bytes]]
"""Gives at most so many bytes from a byte on."""
Found = tuple[int, dict[str, str]]
"""A size, and digests in hex."""


class UnknownPlace(ValueError):
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
    """The bytes of a member that is stored or deflated; ``UnknownPlace``."""
    bundle = entry["bundle"]
    if bundle.get("s") is None:
        raise UnknownPlace("its summary does not say where it stands in its bundle")
    if bundle["method"] not in ("stored", "deflated"):
        raise UnknownPlace(f"it stands compressed by {bundle['method']} in its bundle")
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


DESCRIPTION = "item.json"
_DESCRIPTION_MAX = 64 << 20


class Bucket(Protocol):
    """A store of items that is no folder."""

    def sizes(self, item: str, names: Iterable[str]) -> Mapping[str, int]:
        """Bytes of those of an item's files *names* that are there."""

    def opened(self, item: str, name: str) -> BinaryIO:
        """A file of an item, to read and to seek; ``OSError``."""

    def place(self, item: str, name: str) -> Path | str:
        """Return where a file of an item stands."""


class Items:
    """The items in *folder*, or in *bucket*, which then are made in *folder*."""

    def __init__(self, folder: Path, bucket: Bucket | None = None) -> None:
        self._folder = folder
        self._bucket = bucket

    def place(self, item: str, name: str) -> Path | str:
        return self._bucket.place(item, name) if self._bucket else self._folder / item / name

    def have(self, item: str, names: Iterable[str]) -> set[str]:
        """Those of *names* that the item has."""
        if self._bucket:
            return set(self._bucket.sizes(item, names))
        return {name for name in names if (self._folder / item / name).is_file()}

    def stretch(self, item: str, name: str, start: int, length: int) -> Iterator[bytes]:
        """At most *length* bytes of a file from byte *start* on."""
        path = self._folder / item / name
        with self._bucket.opened(item, name) if self._bucket else path.open("rb") as file:
            yield from stretch_of(file, start, length)

    def ill_described(self, item: str, versions: Iterable[set[str]]) -> str:
        """Return what is wrong with the item's ``item.json``; empty where whoever uploads it can
        use it.

        *versions*: the names of each whole version's files, all of which it has to name of one.
        """
        try:
            told = b"".join(self.stretch(item, DESCRIPTION, 0, _DESCRIPTION_MAX))
            values = json.loads(told)
            texts = [values["identifier"], *values["files"], *values["files"].values()]
            names = set(values["files"].values())
            if not all(isinstance(text, str) and text for text in texts):
                return "it names something that is no text"
            if not isinstance(values["metadata"], dict):
                return "its metadata are no object"
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return "it is none"
        if outside := [name for name in sorted(names) if not _is_inside(name)]:
            return f"it names {outside[0]!r}, which is outside of files/"
        lacking = min((wanted - names for wanted in versions), key=len, default=set())
        return f"it does not name {min(lacking)!r}" if lacking else ""

    def on_their_way(self) -> Iterator[Path]:
        """Files that are being fetched, or were when a crawl ended."""
        for part in sorted(self._folder.rglob(".part-*")):
            if not part.name.endswith(".json"):
                yield part


def _is_inside(name: str) -> bool:
    first, *parts = name.split("/")
    return first == "files" and bool(parts) and not {"", ".", ".."} & set(parts)


def sums(
    pieces: Iterator[bytes], names: tuple[str, ...] = ("sha256", "sha1", "md5")
) -> tuple[int, dict[str, str]]:
    """The size of what goes by, and its digests *names* in hex."""
    made = {name: hashlib.new(name, usedforsecurity=False) for name in names}
    size = 0
    for piece in pieces:
        size += len(piece)
        for digest in made.values():
            digest.update(piece)
    return size, {name: digest.hexdigest() for name, digest in made.items()}


def stretch(path: Path, start: int, length: int) -> Iterator[bytes]:
    """At most *length* bytes of a file from byte *start* on."""
    with path.open("rb") as file:
        yield from stretch_of(file, start, length)


def stretch_of(file: BinaryIO, start: int, length: int) -> Iterator[bytes]:
    """As :func:`stretch`, of an open file."""
    file.seek(start)
    while length and (piece := file.read(min(length, _PIECE))):
        length -= len(piece)
        yield piece
