"""The file of a volume, or the part of one: opened when it is read, closed as often as you like."""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from stat import S_ISREG
from typing import Protocol

from ..errors import BadWarc
from ..format.sources import CHUNK, BaseSource, Source, write_all
from .streams import ENDLESS


class FileHandle:
    """A file opened when first read, and again when read after :meth:`close`.

    ``OSError`` where it cannot be read, ``BadWarc`` where it is no regular file.
    """

    def __init__(
        self,
        path: Path,
        source: Source | None = None,
        fd: int | None = None,
        end: int | None = None,
    ) -> None:
        self.path = path
        self._end = end
        self._endless = isinstance(source, KeptStream)
        self._source = source
        self._fd = -1 if fd is None else fd
        self._borrowed = fd is not None
        if source is not None:
            # Not a method of this: that would be a cycle, which keeps a source for long.
            self.read = partial(_read_source, source)  # type: ignore[method-assign]

    def read(self, length: int, offset: int) -> bytes:
        """Up to *length* bytes at *offset*; fewer at the end of the file alone."""
        fd = self._fd
        return os.pread(fd if fd >= 0 else self.fd, length, offset)

    @property
    def reach(self) -> int:
        """The size, or :data:`ENDLESS` where that would wait for all that is to come."""
        return ENDLESS if self._endless else self.size

    @property
    def fd(self) -> int:
        """A descriptor of the file; of one inside another file there is none: ``ValueError``."""
        if isinstance(self._source, KeptStream):
            return self._source.fd
        if self._source is not None:
            raise ValueError(f"{self.path}: no file of its own")
        if self._fd < 0:
            self._fd = _opened(self.path)
        return self._fd

    @property
    def size(self) -> int:
        if self._source is not None:
            return self._source.size
        size = os.fstat(self.fd).st_size
        return size if self._end is None else min(size, self._end)

    def identity(self) -> tuple[object, ...]:
        """The same for every name of the same file."""
        if self._source is not None:
            return (self.path.resolve(), id(self._source))
        stat = os.fstat(self.fd)
        return stat.st_dev, stat.st_ino

    def close(self) -> None:
        if self._fd >= 0 and not self._borrowed:
            fd, self._fd = self._fd, -1
            os.close(fd)

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:
            self.close()


def _read_source(source: Source, length: int, offset: int) -> bytes:
    is_there = isinstance(source, KeptStream) or offset < source.size
    return source.read(offset, length) if is_there else b""


def _opened(path: Path) -> int:
    # Not blocking: a FIFO would wait for its writer.
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise BadWarc(path, "not a file")


NAMELESS = "<stream>"


class ReadableStream(Protocol):
    """A stream of bytes: at most *size* at a time, none at the end."""

    def read(self, size: int, /) -> bytes | None: ...


def name_of(stream: object) -> Path:
    """Return the name of *stream*, for problems to tell."""
    name = getattr(stream, "name", None)
    return Path(os.fsdecode(name) if isinstance(name, str | bytes) and name else NAMELESS)


def source_of(readable: ReadableStream) -> Source:
    """*readable*, from where it stands on; whoever opened it closes it."""
    seekable = getattr(readable, "seekable", None)
    return SeekableSource(readable) if seekable is not None and seekable() else KeptStream(readable)


class SeekableSource(BaseSource):
    """A source over a seekable stream; one at a time reads it."""

    __slots__ = ("_base", "_file", "_lock")

    def __init__(self, file: ReadableStream) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._base: int = file.tell()  # type: ignore[attr-defined]
        super().__init__(max(0, file.seek(0, os.SEEK_END) - self._base))  # type: ignore[attr-defined]

    def read(self, start: int, length: int) -> bytes:
        with self._lock:
            self._file.seek(self._base + start)  # type: ignore[attr-defined]
            return _read_all(self._file, max(0, min(length, self.size - start)))


class KeptStream:
    """A source over a stream that comes once: kept in an unnamed file as far as it was read.

    Its ``size`` is known at its end, so that asking for it reads all of it.
    """

    __slots__ = ("_came", "_file", "_kept", "_lock", "_over")

    def __init__(self, file: ReadableStream) -> None:
        self._file = file
        self._kept = tempfile.TemporaryFile()  # noqa: SIM115  # it lives as long as this
        self._lock = threading.Lock()
        self._came = 0
        self._over = False

    @property
    def size(self) -> int:
        while not self._over:
            self._come(self._came + CHUNK)
        return self._came

    @property
    def fd(self) -> int:
        """A descriptor of all of it."""
        _ = self.size
        return self._kept.fileno()

    def _come(self, end: int) -> None:
        with self._lock:
            while self._came < end and not self._over:
                data = self._file.read(min(CHUNK, end - self._came)) or b""
                write_all(self._kept.fileno(), data)
                self._came += len(data)
                self._over = not data

    def read(self, start: int, length: int) -> bytes:
        self._come(start + length)
        return os.pread(self._kept.fileno(), max(0, min(length, self._came - start)), start)

    def chunks(self, start: int = 0, size: int = CHUNK) -> Iterator[bytes]:
        while data := self.read(start, size):
            yield data
            start += len(data)


def _read_all(file: ReadableStream, length: int) -> bytes:
    parts: list[bytes] = []
    while length and (data := file.read(length)):
        parts.append(data)
        length -= len(data)
    return parts[0] if len(parts) == 1 else b"".join(parts)


VOLUMES = (".warc", ".arc", ".wacz", ".maff", ".mhtml", ".mht")
PACKED = (".gz", ".bz2", ".zst")
"""What the names of volumes in a folder end with, and what may follow."""
OPEN = ".open"


def volumes_below(folder: Path) -> Iterator[Path]:
    """The files below *folder* whose names are those of volumes, sorted within each folder."""
    return (path for path in files_below(folder) if is_volume(path))


def files_below(folder: Path) -> Iterator[Path]:
    """The files below *folder*, sorted within each, without those whose names begin with a dot."""
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from files_below(Path(entry.path))
        elif entry.is_file():
            yield Path(entry.path)


def is_volume(path: Path) -> bool:
    """Return whether the name of *path* is that of a volume, packed or open ones included."""
    name = path.name.lower().removesuffix(OPEN)
    for packed in PACKED:
        name = name.removesuffix(packed)
    return name.endswith(VOLUMES)


_LONGEST = 240
"""Bytes of a name; disks take 255."""


def flat_name(relative: Path) -> str:
    """The path *relative* as one name: commas between its parts, ``%2C`` for those in them.

    The beginning of one that is too long, and a digest of the whole; suffixes stay.
    """
    name = ",".join(part.replace(",", "%2C") for part in relative.parts)
    if len(name.encode()) <= _LONGEST:
        return name
    suffixes = "".join(relative.suffixes[-2:])[-20:]
    digest = hashlib.sha256(name.encode()).hexdigest()[:32]
    return f"{name.encode()[:180].decode(errors='ignore')}%%{digest}{suffixes}"


def link_flat(source: Path, into: Path) -> tuple[int, int]:
    """Link from the folder *into* to each volume below *source*; how many were made, and known.

    Links are symbolic and relative. A link that is there already is left; ``FileExistsError`` where
    the name is another file's. ``OSError``.
    """
    into.mkdir(parents=True, exist_ok=True)
    made = there = 0
    for path in volumes_below(source):
        link = into / flat_name(path.relative_to(source))
        target = os.path.relpath(path.resolve(), into.resolve())
        try:
            link.symlink_to(target)
            made += 1
        except FileExistsError:
            if not (link.is_symlink() and os.path.samefile(link, path)):  # noqa: PTH121
                raise FileExistsError(17, "there already", str(link)) from None
            there += 1
    return made, there
