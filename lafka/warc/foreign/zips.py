"""Members of a zip file, listed and read within bounds; nothing is ever extracted to a path.

Not by :mod:`zipfile`, which reads a directory whole before it can be bounded, and no member where
one name is no UTF-8. Read from APPNOTE.TXT 6.3.9: end of central directory (4.3.16), zip64
(4.3.14, 4.5.3), central directory (4.3.12), local header (4.3.7). Stored and deflated members, no
encryption.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from ..errors import BadValue
from ..format.compression import BARE, BROKEN_GZIP, Inflater
from ..format.sources import FileSource, Source
from .base import ForeignVolume, spooled

DIRECTORY_MAX = 16 << 20  # bytes
MEMBERS_MAX = 100_000
INFLATED_MAX = 1 << 30  # bytes of one member
_TAIL = (1 << 16) + 22
_END = struct.Struct("<4s4H2LH")
_LOCATOR = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_ENCRYPTED, _UTF8 = 1, 1 << 11
STORED, DEFLATED = 0, 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ZipMember:
    """An entry of the directory; its local header is at ``offset`` of the file.

    ``size`` bytes of content, ``packed`` of them in the file.
    """

    name: str
    offset: int
    method: int
    encrypted: bool
    size: int
    packed: int
    crc: int

    @property
    def stored(self) -> bool:
        """True if the content stands in the file as it is."""
        return self.method == STORED and not self.encrypted and self.packed == self.size


def members(fd: int) -> list[ZipMember]:
    """The members of the zip file open as *fd*, in the order in which they lie in it.

    ``BadValue`` where there is no directory, a broken one, or one over the bounds.
    """
    data, shift = _directory(fd)
    found = list(_entries(data, shift))
    return sorted(found, key=lambda member: member.offset)


def overlapping(listed: list[ZipMember]) -> Iterator[ZipMember]:
    """Members of *listed* (sorted) that begin inside one before them, as in a zip bomb."""
    end = 0
    for member in listed:
        if member.offset < end:
            yield member
        end = max(end, member.offset + _LOCAL.size + member.packed)


def _directory(fd: int) -> tuple[bytes, int]:
    """The central directory, and by how much the offsets in it are short of the file's."""
    size = os.fstat(fd).st_size
    tail = os.pread(fd, _TAIL, max(0, size - _TAIL))
    last = len(tail) - _END.size
    at = tail.rfind(b"PK\x05\x06", 0, last + 4) if last >= 0 else -1
    if at < 0:
        raise BadValue("no end of a zip directory")
    *_, count, length, offset, _ = _END.unpack_from(tail, at)
    end = max(0, size - _TAIL) + at
    if 0xFFFF in (count,) or 0xFFFFFFFF in (length, offset):
        end, count, length, offset = _zip64(fd, end)
    if length > DIRECTORY_MAX or count > MEMBERS_MAX:
        raise BadValue(f"a zip directory of {count} members, {length} bytes")
    begin = end - length
    if begin < offset:
        raise BadValue("the zip directory begins before the file does")
    return os.pread(fd, length, begin), begin - offset


def _zip64(fd: int, end: int) -> tuple[int, int, int, int]:
    """Return the end of the directory, its members, length and offset by the zip64 records."""
    locator = os.pread(fd, _LOCATOR.size, max(0, end - _LOCATOR.size))
    if not locator.startswith(b"PK\x06\x07") or len(locator) < _LOCATOR.size:
        raise BadValue("a zip64 file without its locator")
    place = end - _LOCATOR.size - _END64.size
    record = os.pread(fd, _END64.size, max(0, place))
    if not record.startswith(b"PK\x06\x06") or len(record) < _END64.size:
        raise BadValue("a zip64 file without its end of directory")
    *_, count, length, offset = _END64.unpack(record)
    return place, count, length, offset


def _entries(data: bytes, shift: int) -> Iterator[ZipMember]:
    place = 0
    while place + _ENTRY.size <= len(data):
        fields = _ENTRY.unpack_from(data, place)
        if fields[0] != b"PK\x01\x02":
            raise BadValue(f"no member at byte {place} of the zip directory")
        flags, method, crc, packed, size = fields[3], fields[4], *fields[7:10]
        name_end = place + _ENTRY.size + fields[10]
        extra_end = name_end + fields[11]
        name = data[place + _ENTRY.size : name_end]
        member = ZipMember(
            name=name.decode("utf-8" if flags & _UTF8 else "cp437", "replace"),
            offset=fields[16],
            method=method,
            encrypted=bool(flags & _ENCRYPTED),
            size=size,
            packed=packed,
            crc=crc,
        )
        member = _widened(member, data[name_end:extra_end])
        yield replace(member, offset=member.offset + shift)
        place = extra_end + fields[12]
    if place != len(data):
        raise BadValue("the zip directory ends inside a member")


def _widened(member: ZipMember, extra: bytes) -> ZipMember:
    """*member* with what its zip64 extra field says instead of 0xFFFFFFFF."""
    while len(extra) >= 4:
        kind, length = struct.unpack_from("<2H", extra)
        if kind == 1:
            words = extra[4 : 4 + length]
            values = (word[0] for word in struct.iter_unpack("<Q", words[: len(words) // 8 * 8]))
            wide = {
                name: next(values, 0)
                for name in ("size", "packed", "offset")
                if getattr(member, name) == 0xFFFFFFFF
            }
            return replace(member, **wide)  # type: ignore[arg-type]  # they are its numbers
        extra = extra[4 + length :]
    return member


def content_range(fd: int, member: ZipMember) -> tuple[int, int]:
    """Offset and length of what the file holds of *member*, packed as it is.

    ``BadValue`` where its local header is none or the file ends in it.
    """
    end = os.fstat(fd).st_size
    local = os.pread(fd, _LOCAL.size, min(member.offset, end))
    if len(local) < _LOCAL.size or not local.startswith(b"PK\x03\x04"):
        raise BadValue(f"no member at byte {member.offset}")
    *_, name, extra = _LOCAL.unpack(local)
    begin = member.offset + _LOCAL.size + name + extra
    if begin + member.packed > end:
        raise BadValue(f"the file ends inside the member at byte {member.offset}")
    return begin, member.packed


def content(fd: int, member: ZipMember, most: int = INFLATED_MAX) -> Source:
    """The content of *member*: in place where it is stored, inflated aside else.

    ``BadValue`` for another compression, broken data, or more than *most* bytes of it.
    """
    packed = FileSource(fd, *content_range(fd, member))
    if member.stored:
        return packed
    if member.encrypted or member.method != DEFLATED:
        kind = "encrypted" if member.encrypted else f"compressed by method {member.method}"
        raise BadValue(f"the member is {kind}")
    if member.size > most:
        raise BadValue(f"the member has {member.size} bytes, more than {most}")
    source = spooled(_inflated(packed), member.size)
    if source.size != member.size or crc_of(source) != member.crc:
        raise BadValue("the member is not what its length and CRC say")
    return source


def crc_of(source: Source) -> int:
    """The CRC-32 of *source*, as zip has it."""
    crc = 0
    for data in source.chunks():
        crc = zlib.crc32(data, crc)
    return crc


def _inflated(packed: Source) -> Iterator[bytes]:
    inner = Inflater(BARE)
    try:
        for data in packed.chunks(0, 1 << 16):
            yield from inner.pieces(data)
    except BROKEN_GZIP as error:
        raise BadValue(f"the member's compressed data is broken: {error}") from None


class ZipVolume(ForeignVolume):
    """A volume in a zip file: the ground of MAFF and WACZ."""

    @cached_property
    def members(self) -> tuple[ZipMember, ...]:
        """The members in the order in which they lie in the file, without folders and overlaps."""
        try:
            listed = members(self.fd)
        except BadValue as error:
            self._report("bad-zip", 0, reason=str(error))
            return ()
        overlaps = set(overlapping(listed))
        for member in overlaps:
            self._report("zip-overlap", member.offset, name=member.name)
        return tuple(m for m in listed if m not in overlaps and not m.name.endswith("/"))

    def content(self, member: ZipMember, most: int = INFLATED_MAX) -> Source | None:
        """Return the content of *member*; None, and a problem, where it cannot be had."""
        try:
            return content(self.fd, member, most)
        except BadValue as error:
            self._report("bad-member", member.offset, name=member.name, reason=str(error))
            return None

    def text(self, name: str, most: int = 1 << 20) -> bytes | None:
        """The content of the member *name* where there is one of at most *most* bytes."""
        member = next((member for member in self.members if member.name == name), None)
        content = self.content(member, most) if member else None
        if content is None or content.size > most:
            return None
        return content.read(0, content.size)
