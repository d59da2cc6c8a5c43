"""Bytes that can be read from any place in them: in memory, or a range of a file."""

from __future__ import annotations

import io
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Protocol

CHUNK = 1 << 20


def write_all(fd: int, data: bytes) -> None:
    """Write all of *data*, however little each call takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


class Source(Protocol):
    """``size`` bytes; ``read(start, length)`` gives fewer only at the end."""

    @property
    def size(self) -> int: ...

    def read(self, start: int, length: int) -> bytes: ...

    def chunks(self, start: int = 0, size: int = CHUNK) -> Iterator[bytes]: ...


class MemorySource:
    """A source over ``bytes``."""

    __slots__ = ("_data",)

    def __init__(self, data: bytes) -> None:
        self._data = data

    @property
    def size(self) -> int:
        return len(self._data)

    def read(self, start: int, length: int) -> bytes:
        return self._data[start : start + length]

    def chunks(self, start: int = 0, size: int = CHUNK) -> Iterator[bytes]:
        if not start and 0 < len(self._data) <= size:
            yield self._data  # uncopied
            return
        view = memoryview(self._data)
        for place in range(start, len(view), size):
            yield bytes(view[place : place + size])


class BaseSource(ABC):
    """A source made of its ``size`` and its :meth:`read`."""

    __slots__ = ("size",)

    def __init__(self, size: int) -> None:
        self.size = size

    @abstractmethod
    def read(self, start: int, length: int) -> bytes:
        """At most *length* bytes from byte *start* on, fewer only at the end."""

    def chunks(self, start: int = 0, size: int = CHUNK) -> Iterator[bytes]:
        """All bytes from byte *start* on, at most *size* at a time."""
        while start < self.size:
            data = self.read(start, size)
            yield data
            start += len(data)


class SourceSlice(BaseSource):
    """The *size* bytes from byte *start* on of another source."""

    __slots__ = ("_source", "_start")

    def __init__(self, source: Source, start: int, size: int) -> None:
        super().__init__(size)
        self._source = source
        self._start = start

    def read(self, start: int, length: int) -> bytes:
        length = max(0, min(length, self.size - start))
        return self._source.read(self._start + start, length) if length else b""

    def chunks(self, start: int = 0, size: int = CHUNK) -> Iterator[bytes]:
        left = self.size - start
        # Not by read(): what is inflated comes cheaper in one go.
        for piece in self._source.chunks(self._start + start, size) if left > 0 else ():
            yield piece[:left]
            left -= len(piece)
            if left <= 0:
                return


class FileSource(BaseSource):
    """A source over ``length`` bytes at ``offset`` of an open file; the caller closes the file.

    ``OSError`` where the file ends before ``offset + length``.
    """

    __slots__ = ("fd", "offset")

    def __init__(self, fd: int, offset: int, length: int) -> None:
        super().__init__(length)
        self.fd = fd
        self.offset = offset

    def read(self, start: int, length: int) -> bytes:
        length = max(0, min(length, self.size - start))
        parts = []
        while length:
            data = os.pread(self.fd, length, self.offset + start)
            if not data:
                raise OSError(f"file ends at byte {self.offset + start}")
            parts.append(data)
            start += len(data)
            length -= len(data)
        return parts[0] if len(parts) == 1 else b"".join(parts)


class RangeFile(io.RawIOBase):
    """A file to read of *length* bytes, made of its :meth:`pread`."""

    def __init__(self, length: int) -> None:
        self._length = length
        self._place = 0

    @abstractmethod
    def pread(self, start: int, length: int) -> bytes:
        """At most *length* bytes from byte *start* on: there are as many."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        bases = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._length}
        if whence not in bases or bases[whence] + offset < 0:
            raise io.UnsupportedOperation(f"cannot seek to {offset} from {whence}")
        self._place = bases[whence] + offset
        return self._place

    def tell(self) -> int:
        return self._place

    def readinto(self, buffer: Any) -> int:
        if self.closed:
            raise ValueError("I/O operation on closed file")
        view = memoryview(buffer)
        wanted = min(len(view), self._length - self._place)
        data = self.pread(self._place, wanted) if wanted > 0 else b""
        view[: len(data)] = data
        self._place += len(data)
        return len(data)
