"""Bytes that had to be decoded first: held in memory while few, in an unnamed file beyond."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from typing import IO

from ..errors import BadValue
from ..format.sources import FileSource, MemorySource, Source

IN_MEMORY = 4 << 20


class SpooledSource(FileSource):
    """A source over a temporary file, which lives as long as this does."""

    __slots__ = ("_file",)

    def __init__(self, file: IO[bytes], size: int) -> None:
        super().__init__(file.fileno(), 0, size)
        self._file = file


def spooled(pieces: Iterable[bytes], most: int) -> Source:
    """A source over what *pieces* are together; ``BadValue`` as soon as they are over *most*."""
    held: list[bytes] = []
    file: IO[bytes] | None = None
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > most:
            raise BadValue(f"it decodes to more than {most} bytes")
        if file is None and size > IN_MEMORY:
            file = tempfile.TemporaryFile()  # noqa: SIM115  # it lives as long as the source
            file.writelines(held)
            held.clear()
        if file is None:
            held.append(piece)
        else:
            file.write(piece)
    if file is None:
        return MemorySource(b"".join(held))
    file.flush()
    return SpooledSource(file, size)
