"""Records copied byte for byte out of the files they lie in, few files open at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, Self

from ..errors import BadWarc
from ..reading.stored import StoredRecord
from ..reading.volumes import WarcVolume
from .appending import Appender


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
