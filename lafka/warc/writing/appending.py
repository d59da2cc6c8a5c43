"""One file, appended to by one writer: a group of records whole, or the file as it was before."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from ..format.sources import CHUNK
from .names import rename_new, sync_folder

_PIECES_MAX = 512  # well under IOV_MAX


class Appender:
    """The only writer of an open file. It writes at places it knows, first at byte *position*.

    Whatever the disk refuses is raised as the ``OSError`` it is.
    """

    __slots__ = ("fd", "intact", "position")

    def __init__(self, fd: int, position: int = 0) -> None:
        self.fd = fd
        self.position = position
        """Where the next byte goes; what lies behind it is no one's."""
        self.intact = True
        """False once bytes of a failed group could not be cut off: then nothing may follow."""

    @classmethod
    def create(cls, path: Path) -> Self:
        """A new, empty file; ``FileExistsError`` where there is one."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        return cls(os.open(path, flags, 0o644))

    @contextmanager
    def group(self) -> Iterator[None]:
        """What is written within is there at its end, or none of it where it raises."""
        begin = self.position
        try:
            yield
        except BaseException:
            self._cut(begin)
            raise

    def _cut(self, place: int) -> None:
        try:
            if os.fstat(self.fd).st_size > place:  # a write that failed may have left some bytes
                os.ftruncate(self.fd, place)
        except OSError:
            self.intact = False
        else:
            self.position = place

    def write(self, pieces: Iterable[bytes | memoryview]) -> None:
        """Write *pieces* one behind the other, small ones by one call and none of them copied."""
        waiting: list[bytes | memoryview] = []
        size = 0
        for piece in pieces:
            waiting.append(piece)
            size += len(piece)
            if size >= CHUNK or len(waiting) == _PIECES_MAX:
                self._write(waiting, size)
                waiting, size = [], 0
        if size:
            self._write(waiting, size)

    def _write(self, pieces: list[bytes | memoryview], size: int) -> None:
        written = os.pwritev(self.fd, pieces, self.position)
        self.position += written
        if written < size:  # a full disk takes what it can before it refuses
            self._write_rest(memoryview(b"".join(pieces))[written:])

    def _write_rest(self, rest: memoryview) -> None:
        while rest:
            written = os.pwrite(self.fd, rest, self.position)
            self.position += written
            rest = rest[written:]

    def overwrite(self, place: int, data: bytes) -> None:
        """Replace bytes of the group that is written now."""
        if os.pwrite(self.fd, data, place) != len(data):
            raise OSError(f"{len(data)} bytes could not be written over others")

    def copy(self, fd: int, offset: int, length: int) -> None:
        """Append bytes of another file by the kernel alone; ``EOFError`` where it has fewer."""
        end = offset + length
        os.lseek(self.fd, self.position, os.SEEK_SET)
        while offset < end:
            sent = os.sendfile(self.fd, fd, offset, end - offset)
            if not sent:
                raise EOFError(f"the file that is copied ends at byte {offset}")
            offset += sent
            self.position += sent

    def sync(self) -> None:
        """Wait until what was written is on the disk."""
        os.fdatasync(self.fd)

    def close(self) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)


@contextmanager
def new_file(path: Path) -> Iterator[Appender]:
    """A file that gets the name *path* once it is whole and on the disk; none where it raises.

    ``FileExistsError`` where there is one by then, or another is being made.
    """
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    # Not NAME.open: that may be what a killed writer left, and is read just now.
    draft = path.with_name(path.name + ".new.open")
    out = Appender.create(draft)
    try:
        try:
            yield out
            os.fsync(out.fd)
        finally:
            out.close()
        rename_new(draft, path)
    except BaseException:
        draft.unlink()
        raise
    sync_folder(path.parent)
