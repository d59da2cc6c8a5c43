"""Any readable as a source: seekable ones are read in place, others kept aside as they come.

A pipe, a socket's file, the answer to a request, the member of a zip: whatever has ``read(size)``.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from ..format.sources import CHUNK, BaseSource, Source, write_all

NAMELESS = "<stream>"


class ReadableStream(Protocol):
    """What bytes come from: at most *size* at a time, none at the end."""

    def read(self, size: int, /) -> bytes | None: ...


def name_of(readable: ReadableStream) -> Path:
    """What *readable* is called, for problems to name it."""
    name = getattr(readable, "name", None)
    return Path(os.fsdecode(name) if isinstance(name, str | bytes) and name else NAMELESS)


def source_of(readable: ReadableStream) -> Source:
    """*readable*, from where it stands on; whoever opened it closes it."""
    seekable = getattr(readable, "seekable", None)
    return SeekableSource(readable) if seekable is not None and seekable() else KeptStream(readable)


class SeekableSource(BaseSource):
    """What can be sought in; one at a time reads it."""

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
    """What comes once: kept in an unnamed file as far as it was read.

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
