"""Records as bytes of a file: plain, or each a gzip member of its own (WARC/1.1 annex A)."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Protocol

from ..errors import BadValue, TornWarc
from ..format.digests import BlockHash, Digest, hasher
from ..format.http import Head
from ..format.records import Record
from ..format.sources import CHUNK, Source
from ..reading.framing import END
from ..reading.stored import StoredRecord
from ..reading.volumes import Volume
from .appending import Appender

_BLOCK_DIGEST = "WARC-Block-Digest"
_PAYLOAD_DIGEST = "WARC-Payload-Digest"
_LEVEL = 6
_LARGE = 256 << 10  # bytes of a block from which on it is hashed while it is written


class Encoding(Protocol):
    """A way to write records into a file."""

    suffix: str
    compression: str

    def write(self, out: Appender, records: Iterable[Record | StoredRecord]) -> list[int]:
        """Append *records*; where each begins, and where the last one ends."""


class Plain:
    """Records as they are: found by seeking, and a payload is where an index says."""

    suffix = ""
    compression = ""

    def write(self, out: Appender, records: Iterable[Record | StoredRecord]) -> list[int]:
        places, waiting, size = [out.position], list[bytes](), 0
        for record in records:
            if isinstance(record, Record) and record.block_length < _LARGE:
                pieces = list(exact(record).pieces())
                waiting += pieces
                size += sum(map(len, pieces))
            else:
                if size:
                    out.write(waiting)
                    waiting, size = [], 0
                self._write_one(out, record)
            places.append(out.position + size)
        if size:
            out.write(waiting)
        return places

    def _write_one(self, out: Appender, record: Record | StoredRecord) -> None:
        if isinstance(record, StoredRecord):
            if not copied(out, record, self.compression):
                out.write(record.pieces())
            return
        record = exact(record)
        head = _head(record)
        if not record.algorithm or (_BLOCK_DIGEST in record.fields and not head):
            out.write(record.pieces())
        elif head and (head.chunked or head.transfer_codings):
            out.write(record.pieces())  # whether there is a digest is known at the end alone
        else:
            _write_hashed(out, record, head)


def _head(record: Record) -> Head | None:
    """The head of the HTTP message in *record* if its payload is to be hashed."""
    wanted = record.type == "response" and _PAYLOAD_DIGEST not in record.fields
    return record.http if wanted else None


def _write_hashed(out: Appender, record: Record, head: Head | None) -> None:
    """Write a record whose digests are known once its block was read; that is hashed meanwhile.

    The last byte is held back until the digests are in the header, so that a record of a writer
    that was killed is whole with all in it right, or is torn.
    """
    start, made = out.position, BlockHash(record.algorithm, head)
    none = Digest(record.algorithm, bytes(hasher(record.algorithm).digest_size)).text
    fields = record.fields.copy()
    for name in (_PAYLOAD_DIGEST, _BLOCK_DIGEST) if head else (_BLOCK_DIGEST,):
        if name not in record.fields:
            fields.add(name, none)
    held: bytes = replace(record, fields=fields, algorithm="").header()
    fields.set("Content-Length", str(record.block_length))
    for piece in record.source.chunks(0, CHUNK):
        if piece:
            wait = made.begin(piece)
            out.write([held, memoryview(piece)[:-1]])
            wait()
            held = piece[-1:]
    for name, digest in ((_PAYLOAD_DIGEST, made.payload), (_BLOCK_DIGEST, made.block)):
        if digest and name not in record.fields:
            fields.set(name, digest.text)
    out.overwrite(start, b"WARC/%s\r\n%s\r\n" % (record.version.encode(), fields.to_bytes()))
    out.write([held, END])


def _write_patched(
    out: Appender, pieces: Iterator[bytes], patch: Callable[[], tuple[int, bytes]]
) -> None:
    """Write *pieces*; what *patch* gives once they are known is put in before the last of them."""
    held: list[bytes] = []

    def but_last() -> Iterator[bytes]:
        for piece in pieces:
            yield from held
            held[:] = [piece]

    out.write(but_last())
    out.overwrite(*patch())
    out.write(held)


class Gzip:
    """A gzip member for each record, always the same bytes for the same record.

    *skip_lengths*: members tell their length in the extra field ``sl`` (WARC/0.9 section 9.2), so
    that a reader need not inflate them to find the next. *copies*: a stored record that is a member
    already is copied as it is.
    """

    suffix = ".gz"
    compression = "gzip"

    def __init__(
        self, *, skip_lengths: bool = False, level: int = _LEVEL, copies: bool = True
    ) -> None:
        if not 0 <= level <= 9:
            raise BadValue(f"not a level of gzip: {level}")
        self._skip_lengths = skip_lengths
        self._level = level
        self._copies = copies

    def write(self, out: Appender, records: Iterable[Record | StoredRecord]) -> list[int]:
        places = [out.position]
        for record in records:
            if isinstance(record, Record):
                self._write_one(out, exact(record).pieces())
            elif not (self._copies and copied(out, record, self.compression)):
                self._write_one(out, record.pieces())
            places.append(out.position)
        return places

    def _write_one(self, out: Appender, pieces: Iterator[bytes]) -> None:
        member = _Member(self._level)
        if self._skip_lengths:
            start = out.position
            _write_patched(out, member.pieces(pieces, _HEAD_SL), lambda: (start, member.head()))
        else:
            out.write(member.pieces(pieces, _HEAD))


# No time and no name in it (RFC 1952 section 2.3); 255: made on an unknown system.
_HEAD = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
_HEAD_SL = b"\x1f\x8b\x08\4\0\0\0\0\0\xff" + struct.pack("<H2sHII", 12, b"sl", 8, 0, 0)


class _Member:
    """One gzip member, compressed as its bytes come."""

    def __init__(self, level: int) -> None:
        self._deflate = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
        self._packed = self._plain = 0

    def pieces(self, pieces: Iterable[bytes], head: bytes) -> Iterator[bytes]:
        """The member that holds *pieces* and begins with *head*."""
        crc = 0
        self._packed = len(head) + 8
        yield head
        for piece in pieces:
            crc = zlib.crc32(piece, crc)
            self._plain += len(piece)
            if packed := self._deflate.compress(piece):
                self._packed += len(packed)
                yield packed
        rest = self._deflate.flush()
        self._packed += len(rest)
        yield rest + struct.pack("<II", crc, self._plain & 0xFFFFFFFF)

    def head(self) -> bytes:
        """The head with both lengths, once they are known; zeros where four bytes are too few."""
        lengths = (self._packed, self._plain)
        if max(lengths) > 0xFFFFFFFF:
            lengths = (0, 0)
        return _HEAD_SL[:-8] + struct.pack("<II", *lengths)


def gzip_member(pieces: Iterable[bytes], level: int = _LEVEL) -> Iterator[bytes]:
    """The gzip member that holds *pieces*, always the same bytes for the same ones."""
    return _Member(level).pieces(pieces, _HEAD)


class _CheckedSource:
    """A source; ``BadValue`` where its pieces are not ``size`` bytes together."""

    __slots__ = ("_source", "size")

    def __init__(self, source: Source) -> None:
        self._source = source
        self.size = source.size

    def read(self, start: int, length: int) -> bytes:
        return self._source.read(start, length)

    def chunks(self, start: int = 0, size: int = CHUNK) -> Iterator[bytes]:
        left = self.size - start
        for piece in self._source.chunks(start, size):
            left -= len(piece)
            if left < 0:
                raise BadValue(f"a block of {self.size} bytes goes on behind its end")
            yield piece
        if left:
            raise BadValue(f"a block of {self.size} bytes ends {left} bytes early")


def exact(record: Record) -> Record:
    """*record*, whose block is watched for its length."""
    if isinstance(record.block, bytes):
        return record
    return replace(record, block=_CheckedSource(record.block))


def added_size(record: Record | StoredRecord) -> int:
    """Return the bytes that *record* has besides its block, uncompressed, or somewhat more."""
    if isinstance(record, StoredRecord):
        return len(record.header) + len(END)
    return len(record.fields.to_bytes()) + _ADDED_MAX


_ADDED_MAX = 640  # version line, digests, length and the warcinfo's id, and the record's end


def copied(out: Appender, record: StoredRecord, compression: str) -> bool:
    """Append the bytes of the file that hold *record*, as they are, where they can stand alone.

    They can in a file of the same *compression*. ``TornWarc`` where that file is shorter now.
    """
    volume = record.volume
    if not (
        isinstance(volume, Volume)
        and volume.compression == compression
        and record.alone
        and record.trailer == len(END)
        and record.header[:5].upper() == b"WARC/"
    ):
        return False
    try:
        fd = volume.fd
    except ValueError:  # a volume inside another file
        return False
    if compression and not _is_one_member(fd, record):
        return False
    try:
        out.copy(fd, record.offset, record.length)
    except EOFError:
        raise TornWarc(record.path, "the file ends inside a record", record.offset) from None
    return True


def _is_one_member(fd: int, record: StoredRecord) -> bool:
    """Return whether one gzip member is all of these bytes: not two, and no padding."""
    size = len(record.header) + record.block_length + record.trailer
    return os.pread(fd, 4, record.end - 4) == struct.pack("<I", size & 0xFFFFFFFF)
