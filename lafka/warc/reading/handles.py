"""The file of a volume, or the part of one: opened when it is read, closed as often as you like."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from stat import S_ISREG

from ..errors import BadWarc
from ..format.sources import Source
from .readables import KeptStream
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
