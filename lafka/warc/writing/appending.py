"""One file, appended to by one writer: a group of records whole, or the file as it was before."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from ..errors import BadWarc
from ..format.dates import WarcDate
from ..format.sources import CHUNK
from ..reading.handles import OPEN, name_of
from ..reading.stored import StoredRecord
from ..reading.volumes import WarcVolume
from .names import rename_free, rename_new, sync_folder

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
        """Write all that is written within, or none of it where it raises."""
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


INVALID = ".invalid"


class WritableStream(Protocol):
    """An output for bytes; it says how many it took, or takes all."""

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
    """A draft onto a stream, which the caller closes: there is no name to be given."""

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


class RecordSpan(Protocol):
    """The place of a record in the file at ``path``; ``head`` is its header, where it is known."""

    @property
    def path(self) -> str: ...

    @property
    def offset(self) -> int: ...

    @property
    def length(self) -> int: ...

    @property
    def head(self) -> bytes: ...


class Files:
    """Files open for reading, few at a time however many a trail lies in; a context."""

    MOST = 8

    def __init__(self) -> None:
        self._open: dict[Path, WarcVolume] = {}
        self._paths: dict[str, Path] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self._open:
            self._open.popitem()[1].close()

    def path(self, name: str) -> Path:
        """*name* as a path, made once for the many spans of a file."""
        if name not in self._paths:
            self._paths[name] = Path(name)
        return self._paths[name]

    def volume(self, path: Path) -> WarcVolume:
        """The WARC at *path*, read strictly."""
        if path not in self._open:
            if len(self._open) == self.MOST:
                self._open.pop(next(iter(self._open))).close()
            self._open[path] = WarcVolume(path, strict=True)
        return self._open[path]

    def stored(self, span: RecordSpan) -> StoredRecord:
        """The record at *span* of a raw WARC; ``BadWarc`` where none is there."""
        path = self.path(span.path)
        if span.head:
            record = self.volume(path).with_header(span.head, span.offset)
        else:
            record = self.volume(path).at(span.offset)
        if record.length != span.length:
            raise BadWarc(path, "not the record that was written here", span.offset)
        return record


class Copy:
    """Records that lie side by side in one file, to be copied byte for byte by one call."""

    def __init__(self, files: Files, path: Path, offset: int) -> None:
        self.end = offset
        self._files = files
        self._path = path
        self._offset = offset

    def goes_on_with(self, record: StoredRecord) -> bool:
        return self._path == record.path and self.end == record.offset

    def __call__(self, out: Appender) -> None:
        try:
            fd = self._files.volume(self._path).fd
            out.copy(fd, self._offset, self.end - self._offset)
        except EOFError:
            message = "the raw WARC ends inside a record"
            raise BadWarc(self._path, message, self._offset) from None
