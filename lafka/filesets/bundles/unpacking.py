"""Bundles read: every member hashed as a stream and located, nothing extracted.

A bundle is a ZIP (ZIP64, data descriptors and all), a tar or a gzipped tar. A member that stands
stored or deflated can be read again with one seek: :func:`member_pieces`; one of a gzipped tar by
unpacking what stands before it: :func:`unpacked_pieces`. These functions read a file
object that they are given; as a bundle can be made to stop any parser, ``Children.bundle`` calls
them in a bounded child. :class:`Sniffer` asks libmagic, which is C that reads foreign bytes, in
such a child too.
"""

from __future__ import annotations

import gzip
import io
import lzma
import re
import struct
import tarfile
import zipfile
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import cycle
from typing import Any, BinaryIO, Self

from msgspec.structs import replace

from lafka.errors import LafkaError, printable
from lafka.filesets.model.bundles import BundleContents, BundleLimits, Member
from lafka.filesets.model.manifests import Digester, FileFacts
from lafka.filesets.model.types import OTHER_DIGESTS
from lafka.payloads import libmagic

_MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)
_XML = ("application/xml", "text/xml")
_HEAD = 1024
_XHTML = b'xmlns="http://www.w3.org/1999/xhtml"'


class Sniffer:
    """A libmagic of its own; not for several threads at once. It is ready when first asked."""

    def __init__(self) -> None:
        self._magic: Any = None

    def sniffed(self, prefix: bytes) -> str:
        """The media type that *prefix*, a file's first 64 KiB or all, shows; empty where none does.

        XHTML and JATS are told from other XML by their first kilobyte, as sandcrawler does.
        """
        if not prefix:
            return ""
        magic = libmagic()
        try:
            self._magic = self._magic or magic.Magic(mime=True)
            media_type = str(self._magic.from_buffer(prefix))
        except magic.MagicException:
            return ""
        if media_type in _XML:
            return _of_xml(prefix[:_HEAD]) or media_type
        return media_type if _MEDIA_TYPE.fullmatch(media_type) else ""


def _of_xml(head: bytes) -> str:
    if b"<htm" in head:
        return "application/xhtml+xml" if _XHTML in head else ""
    return "application/jats+xml" if b"<article " in head else ""


_PIECE = 1 << 20
_LOOKING = 2  # threads that look for types
_WAITING = 64  # members whose type is not known yet, 64 KiB each
_LOCAL = struct.Struct("<4s5HLLL2H")  # a ZIP's local file header (APPNOTE 4.3.7)
_ENCRYPTED = 0x01 | 0x40 | 0x2000
_UTF_8 = 0x800
_METHODS = {0: "stored", 8: "deflated", 9: "deflate64", 12: "bzip2", 14: "lzma", 93: "zstd",
            95: "xz"}  # fmt: skip
_LITERAL = ("stored", "deflated")
# What the parsers of the standard library raise for bytes that are no archive.
_BROKEN = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, struct.error, EOFError,
 NotImplementedError, OSError, OverflowError, RuntimeError, MemoryError, ValueError,
    IndexError, KeyError,
)  # fmt: skip


class BadBundle(LafkaError):
    """A bundle that is none, is broken, encrypted, or goes beyond its limits; says which."""


def read_bundle(file: BinaryIO, limits: BundleLimits, others: Iterable[str] = ()) -> BundleContents:
    """Return what the seekable *file* holds; what is wrong with it stands in ``trouble``.

    *others*: further digests to compute, of ``types.OTHER_DIGESTS``.
    """
    try:
        size = file.seek(0, io.SEEK_END)
        kind = _kind(file)
        count = _Count(size, limits, others)
        with _Types() as types:
            members = types.given(_READERS[kind](file, size, count).members())
    except BadBundle as error:
        return BundleContents(trouble=str(error))
    except _BROKEN as error:
        reason = printable(str(error)) or type(error).__name__
        return BundleContents(trouble=f"not a sound bundle: {reason[:400]}")
    return BundleContents(kind=kind, members=members)


def _kind(file: BinaryIO) -> str:
    file.seek(0)
    start = file.read(512)
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "zip"
    if start.startswith(b"\x1f\x8b"):
        return "tar.gz"
    if start[257:262] == b"ustar":
        return "tar"
    file.seek(0)
    if zipfile.is_zipfile(file):
        return "zip"
    raise BadBundle("neither a ZIP nor a tar nor a gzipped tar")


_Seen = tuple[Member, bytes]
"""A member without its type, and the bytes that show it."""


class _Types:
    """Tells the types of members beside their hashing, for libmagic takes milliseconds of a text.

    Each thread has a libmagic of its own; while it looks, others run. The same file is looked at
    once.
    """

    def __init__(self) -> None:
        self._threads = [
            (ThreadPoolExecutor(1, thread_name_prefix="lafka-types"), Sniffer())
            for _ in range(_LOOKING)
        ]
        self._asked: dict[str, Future[str]] = {}
        self._waiting: deque[Member] = deque()
        self._told: list[Member] = []

    def given(self, members: Iterator[_Seen]) -> tuple[Member, ...]:
        """*members*, each with its first bytes, in their order and with their types."""
        turns = cycle(self._threads)
        for member, prefix in members:
            if member.sha256 not in self._asked:
                thread, sniffer = next(turns)
                self._asked[member.sha256] = thread.submit(sniffer.sniffed, prefix)
            self._waiting.append(member)
            if len(self._waiting) > _WAITING:
                self._take()
        while self._waiting:
            self._take()
        return tuple(self._told)

    def _take(self) -> None:
        member = self._waiting.popleft()
        told = self._asked[member.sha256].result()
        self._told.append(replace(member, mimetype=told))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for thread, _sniffer in self._threads:
            thread.shutdown(cancel_futures=True)


class _Count:
    """Bytes that came out of a bundle of *size* bytes, held to *limits*."""

    def __init__(self, size: int, limits: BundleLimits, others: Iterable[str] = ()) -> None:
        self.others = tuple(others)
        self._most = min(limits.max_total, limits.max_ratio * max(1, size))
        self._size = size
        self._limits = limits
        self._files = 0
        self._bytes = 0

    def again(self) -> _Count:
        """Another count with the same limits."""
        return _Count(self._size, self._limits)

    def member(self) -> None:
        self._files += 1
        if self._files > self._limits.max_members:
            raise BadBundle(f"more than {self._limits.max_members} members")

    def hold(self, size: int) -> None:
        """Refuse where *size* more bytes would be too many."""
        if self._bytes + size > self._limits.max_total:
            raise BadBundle(f"it unpacks to more than {self._limits.max_total} bytes")
        if self._bytes + size > self._most:
            raise BadBundle(f"it unpacks to more than {self._limits.max_ratio} times its size")

    def add(self, size: int) -> None:
        self.hold(size)
        self._bytes += size


def _read_through(stream: Any, count: _Count, *more: str) -> FileFacts:
    seen = Digester((*count.others, *more))
    while data := stream.read(_PIECE):
        count.add(len(data))
        seen.feed(data)
    return seen.facts()


def _member(path: str, facts: FileFacts, crc32: str, **place: Any) -> _Seen:
    digests = {name: facts.digests[name] for name in ("md5", "sha1", "sha256")}
    others = {name: facts.digests[name] for name in OTHER_DIGESTS if name in facts.digests}
    others.pop("crc32", None)
    told = {"path": path, "size": facts.size, "crc32": crc32, "others": others or None}
    return Member(**{**told, **digests, **place}), facts.prefix


class _Zip:
    def __init__(self, file: BinaryIO, size: int, count: _Count) -> None:
        self._file = file
        self._size = size
        self._count = count

    def members(self) -> Iterator[_Seen]:
        with zipfile.ZipFile(self._file) as archive:
            infos = archive.infolist()
            for info in infos:
                self._count.member()
                if info.flag_bits & _ENCRYPTED:
                    raise BadBundle(f"{info.filename!r} is encrypted")
            self._count.hold(sum(info.file_size for info in infos))
            starts = self._starts(infos)
            for info in infos:
                if not info.is_dir():
                    yield self._read(archive, info, starts[info.header_offset])

    def _starts(self, infos: list[zipfile.ZipInfo]) -> dict[int, int]:
        """Offset of a local header -> where its data begin; no two members share a byte."""
        starts: dict[int, int] = {}
        end = 0
        for info in sorted(infos, key=lambda info: info.header_offset):
            if info.header_offset < 0:
                raise BadBundle("its beginning is missing")
            if info.header_offset < end:
                raise BadBundle(f"{info.filename!r} overlaps another member")
            start = starts[info.header_offset] = self._start(info)
            end = start + info.compress_size
        if end > self._size:
            raise BadBundle("the last member goes beyond the end")
        return starts

    def _start(self, info: zipfile.ZipInfo) -> int:
        self._file.seek(info.header_offset)
        signature, *_, name, extra = _LOCAL.unpack(self._file.read(_LOCAL.size))
        if signature != b"PK\x03\x04":
            raise BadBundle(f"no member begins at byte {info.header_offset}")
        return int(info.header_offset + _LOCAL.size + name + extra)

    def _read(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, start: int) -> _Seen:
        with archive.open(info) as stream:  # holds the bytes against their CRC-32 at its end
            facts = _read_through(stream, self._count)
        if facts.size != info.file_size:
            raise BadBundle(f"{info.filename!r} ends early")
        return _member(
            _zip_name(info),
            facts,
            f"{info.CRC:08x}",
            s=start,
            l=info.compress_size,
            method=_METHODS.get(info.compress_type, str(info.compress_type)),
            flags=info.flag_bits,
        )


def _zip_name(info: zipfile.ZipInfo) -> str:
    """The name; many writers use UTF-8 without saying so."""
    if info.flag_bits & _UTF_8 or info.filename.isascii():
        return info.filename
    try:
        return info.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return info.filename


class _Forward(io.RawIOBase):
    """A stream read from its start to its end; ``last`` is what was read last."""

    def __init__(self, stream: Any, count: _Count | None) -> None:
        self._stream = stream
        self._count = count
        self._place = 0
        self.last = b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            raise ValueError("never all of it at once")
        data = bytes(self._stream.read(size))
        self._place += len(data)
        if self._count is not None:
            self._count.add(len(data))
        self.last = data
        return data

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence != io.SEEK_SET or offset < self._place:
            raise ValueError("it cannot go back")
        while self._place < offset:
            if not self.read(min(_PIECE, offset - self._place)):
                break
        return self._place


class _Tar:
    gzipped = False

    def __init__(self, file: BinaryIO, size: int, count: _Count) -> None:  # noqa: ARG002  as _Zip
        file.seek(0)
        # Of a gzipped tar the headers and gaps are inflated too: they count.
        inflated = count.again() if self.gzipped else None
        self._stream = _Forward(gzip.GzipFile(fileobj=file) if self.gzipped else file, inflated)
        self._count = count
        self._known: dict[str, Member] = {}

    def members(self) -> Iterator[_Seen]:
        with tarfile.open(fileobj=self._stream, mode="r:", errorlevel=2) as archive:
            while (info := archive.next()) is not None:
                self._count.member()
                archive.members.clear()  # type: ignore[attr-defined]  # it would keep them all
                member = self._read(archive, info)
                if member is not None:
                    self._known[member[0].path] = member[0]
                    yield member
        if self._stream.last.strip(b"\0"):
            raise BadBundle(f"no tar header before byte {self._stream.tell()}")

    def _read(self, archive: tarfile.TarFile, info: tarfile.TarInfo) -> _Seen | None:
        if info.islnk() and info.linkname in self._known:
            return replace(self._known[info.linkname], path=info.name), b""
        if not info.isreg():
            return None  # a folder, a link, a device: no file of a dataset
        self._count.hold(info.size)
        stream = archive.extractfile(info)
        assert stream is not None
        facts = _read_through(stream, self._count, "crc32")
        if facts.size != info.size:
            raise BadBundle(f"{info.name!r} ends early")
        method = "sparse" if info.issparse() else "gzip" if self.gzipped else "stored"
        return _member(
            info.name,
            facts,
            facts.digests["crc32"],
            s=info.offset_data if method == "stored" else None,
            at=info.offset_data if method == "gzip" else None,
            l=info.size,
            method=method,
        )


class _TarGz(_Tar):
    gzipped = True


_READERS: dict[str, type[_Zip] | type[_Tar]] = {"zip": _Zip, "tar": _Tar, "tar.gz": _TarGz}


def member_pieces(file: BinaryIO, member: Member, start: int = 0) -> Iterator[bytes]:
    """The bytes of *member*, read with one seek; its bundle begins at byte *start* of *file*.

    ``BadBundle`` where it does not stand in one place, stored or deflated, or is not all there.
    """
    if member.s is None or member.method not in _LITERAL:
        raise BadBundle(f"{member.path!r} does not stand stored or deflated in its bundle")
    file.seek(start + member.s)
    undo = zlib.decompressobj(-zlib.MAX_WBITS) if member.method == "deflated" else None
    left, size = member.l, 0
    while left:
        data = file.read(min(_PIECE, left))
        if not data:
            break
        left -= len(data)
        for piece in _inflated(undo, data) if undo else (data,):
            size += len(piece)
            yield piece
    if size != member.size:
        raise BadBundle(f"{member.path!r} is not all there")


def unpacked_pieces(bundle: gzip.GzipFile, member: Member) -> Iterator[bytes]:
    """The bytes of *member* of the gzipped *bundle*, which is unpacked no further than to its end.

    Members that are asked for in their order are read in one pass. ``BadBundle`` where it is not
    said where *member* stands, where it is not all there, or its CRC-32 is another.
    """
    if member.at is None:
        raise BadBundle(f"{member.path!r} does not stand in one place of its bundle")
    left, crc32 = member.l, 0
    try:
        bundle.seek(member.at)
        while left and (data := bundle.read(min(_PIECE, left))):
            left -= len(data)
            crc32 = zlib.crc32(data, crc32)
            yield data
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise BadBundle(f"{member.path!r}: the gzipped bundle is broken: {error}") from None
    if left:
        raise BadBundle(f"{member.path!r} is not all there")
    if f"{crc32:08x}" != member.crc32:
        raise BadBundle(f"{member.path!r}: its CRC-32 is another")


def _inflated(undo: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    try:
        while data or undo.unconsumed_tail:
            piece = undo.decompress(data or undo.unconsumed_tail, _PIECE)
            data = undo.unconsumed_tail
            if not piece and not data:
                return
            yield piece
    except zlib.error as error:
        raise BadBundle(f"a deflated member is broken: {error}") from None
