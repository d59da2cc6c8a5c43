"""Part of an open file as a file of its own: a bundle where it stands in a WARC."""

from __future__ import annotations

import io
from errno import EINVAL
from typing import Any, BinaryIO


class Slice(io.RawIOBase):
    """*length* bytes of *file* from byte *start* on, read-only; *file* stays the caller's."""

    def __init__(self, file: BinaryIO | io.RawIOBase, start: int, length: int) -> None:
        self._file: Any = file
        self._start = start
        self._length = length
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        wanted = max(0, min(len(view), self._length - self._place))
        self._file.seek(self._start + self._place)
        data = self._file.read(wanted)
        view[: len(data)] = data
        self._place += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._length}[whence]
        if base + offset < 0:
            raise OSError(EINVAL, "before the beginning")  # what zipfile looks for
        self._place = base + offset
        return self._place

    def tell(self) -> int:
        return self._place

    def buffered(self) -> io.BufferedReader:
        """The slice with a buffer, as parsers want it."""
        return io.BufferedReader(self, 1 << 17)
