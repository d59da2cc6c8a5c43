"""Records of a plain WARC/1.1 file, read by rules of its own (WARC/1.1 sections 4 and 5)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_HEADER_MAX = 1 << 20
_PIECE = 1 << 20
_END = b"\r\n\r\n"


class NoRecord(ValueError):
    """No whole record begins at byte ``offset``."""

    def __init__(self, offset: int, sentence: str) -> None:
        super().__init__(sentence)
        self.offset = offset


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record at ``offset``: its header's bytes and fields (small letters), and its block."""

    offset: int
    header: bytes
    fields: dict[str, str]
    block: int
    length: int

    @property
    def end(self) -> int:
        return self.block + self.length + len(_END)


def records(path: Path) -> Iterator[Record]:
    """Every record; ``NoRecord`` where the file is none from some byte on."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        offset = 0
        while offset < size:
            record = _record(file, offset)
            if record.end > size:
                raise NoRecord(offset, "the file ends inside a record")
            file.seek(record.end - len(_END))
            if file.read(len(_END)) != _END:
                raise NoRecord(offset, "no blank lines behind the block")
            yield record
            offset = record.end


def _record(file: BinaryIO, offset: int) -> Record:
    file.seek(offset)
    data = b""
    while _END not in data:
        more = file.read(8192)
        data += more
        if not more or len(data) > _HEADER_MAX:
            raise NoRecord(offset, "no end of a header")
    header = data[: data.index(_END) + len(_END)]
    first, *lines = header.decode("utf-8", "replace").removesuffix("\r\n\r\n").split("\r\n")
    if first != "WARC/1.1":
        raise NoRecord(offset, "no WARC/1.1 record begins here")
    fields: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise NoRecord(offset, "a header line without a colon")
        fields.setdefault(name.strip().lower(), value.strip())
    length = fields.get("content-length", "")
    if not length.isdigit():
        raise NoRecord(offset, "Content-Length is no number")
    return Record(
        offset=offset,
        header=header,
        fields=fields,
        block=offset + len(header),
        length=int(length),
    )


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
