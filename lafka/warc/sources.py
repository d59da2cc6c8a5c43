"""Bytes that can be read from any place in them: in memory, or a range of a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Protocol

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


class FileSource:
    """A source over ``length`` bytes at ``offset`` of an open file; the caller closes the file.

    ``OSError`` where the file ends before ``offset + length``.
    """

    __slots__ = ("fd", "offset", "size")

    def __init__(self, fd: int, offset: int, length: int) -> None:
        self.fd = fd
        self.offset = offset
        self.size = length

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

    def chunks(self, start: int = 0, size: int = CHUNK) -> Iterator[bytes]:
        while start < self.size:
            data = self.read(start, size)
            yield data
            start += len(data)
