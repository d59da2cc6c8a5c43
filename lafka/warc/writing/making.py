"""A file in the making, under another name until it is whole; or a stream that is written onto."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from ..format.dates import WarcDate
from ..format.sources import CHUNK
from .appending import Appender
from .names import rename_free, rename_new

OPEN = ".open"
INVALID = ".invalid"
NAMELESS = "<stream>"


class WritableStream(Protocol):
    """What bytes go to; it says how many it took, or takes all."""

    def write(self, data: bytes, /) -> int | None: ...


@dataclass(slots=True, kw_only=True)
class Draft:
    """A file in the making: ``begin`` is where the first record behind its warcinfo goes."""

    path: Path
    out: Appender
    date: WarcDate
    begin: int = 0
    info_id: str = ""

    @property
    def open_path(self) -> Path:
        return self.path.with_name(self.path.name + OPEN)

    @classmethod
    def created(cls, path: Path, date: WarcDate) -> Self | None:
        """The file that is to be *path*; None where there is one, or is to be."""
        open_path = path.with_name(path.name + OPEN)
        try:
            file = cls(path=path, out=Appender.create(open_path), date=date)
        except FileExistsError:
            return None
        # Asked behind the creation: before it, another builder could have finished that file.
        if not os.path.lexists(path):
            return file
        file.discard()
        return None

    def discard(self) -> None:
        """Take it away: no record is in it."""
        self.out.close()
        self.open_path.unlink()

    def finish(self, others: Iterator[Path]) -> Path:
        """Give it its name, or the first of *others* that is free: someone may have made it.

        ``FileExistsError`` where there is none.
        """
        self.out.close()
        path: Path | None = self.path
        while path is not None:
            if _renamed(self.open_path, path):
                return path
            path = next(others, None)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(self.path))

    def set_aside(self) -> Path:
        """Keep it as one that is not whole."""
        self.out.close()
        return rename_free(self.open_path, self.path.with_name(self.path.name + INVALID))


def _renamed(source: Path, target: Path) -> bool:
    try:
        rename_new(source, target)
    except FileExistsError:
        return False
    return True


class StreamDraft(Draft):
    """What goes onto a stream, which the caller closes: there is no name to be given."""

    __slots__ = ()

    @classmethod
    def of(cls, stream: WritableStream, date: WarcDate) -> Self:
        return cls(path=name_of(stream), out=StreamAppender(stream), date=date)

    def discard(self) -> None:
        self.out.close()

    def finish(self, others: Iterator[Path]) -> Path:  # noqa: ARG002  it has none
        assert isinstance(self.out, StreamAppender)
        try:
            self.out.pass_on()
            self.out.sync()
        finally:
            self.out.close()
        return self.path

    def set_aside(self) -> Path:
        self.out.close()
        return self.path


def name_of(stream: WritableStream) -> Path:
    """What *stream* is called."""
    name = getattr(stream, "name", None)
    return Path(os.fsdecode(name) if isinstance(name, str | bytes) and name else NAMELESS)


class StreamAppender(Appender):
    """Writes a group aside, in an unnamed file, and onto a stream once it is whole.

    The file is as long as the stream, and holes but for what is not passed on yet.
    """

    __slots__ = ("_passed", "_stream")

    def __init__(self, stream: WritableStream) -> None:
        with tempfile.TemporaryFile() as file:
            super().__init__(os.dup(file.fileno()))
        self._stream = stream
        self._passed = 0

    @contextmanager
    def group(self) -> Iterator[None]:
        with super().group():
            yield
        self.pass_on()

    def pass_on(self) -> None:
        """Write what is held onto the stream; once a byte of it is there, nothing is undone."""
        self.intact = False
        for place in range(self._passed, self.position, CHUNK):
            size = min(CHUNK, self.position - place)
            _write_all(self._stream, os.pread(self.fd, size, place))
        os.ftruncate(self.fd, 0)
        self._passed = self.position
        self.intact = True

    def sync(self) -> None:
        """Flush the stream, which cannot be asked for more."""
        flush = getattr(self._stream, "flush", None)
        if flush is not None:
            flush()


def _write_all(stream: WritableStream, data: bytes) -> None:
    view = memoryview(data)
    while view:
        taken = stream.write(bytes(view))
        view = view[len(view) if taken is None else taken :]
