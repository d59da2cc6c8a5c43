"""Records of a plain WARC file, found by seeking over their blocks (WARC/1.0 and 1.1).

Lenient where first Lafkas and other writers differ: angle brackets around target URIs, bare LF in
headers. Strict about where records begin and end: a file that ends inside a record is torn.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from lafka.warc import dates
from lafka.warc.errors import BadWarc, TornWarc
from lafka.warc.fields import Fields
from lafka.warc.sources import FileSource

_FIRST_READ = 2048
_HEADER_MAX = 1 << 20
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_LENGTH = re.compile(r"[0-9]{1,18}")
_VERSION = re.compile(rb"WARC/(\d+\.\d+)\r?\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRecord:
    """A record at ``offset`` of the file ``path``.

    Its block is ``block_length`` bytes at ``block``; ``end`` is the byte after the record's closing
    CRLF CRLF, where the next one begins.
    """

    path: Path
    offset: int
    fields: Fields
    block: int
    block_length: int

    @property
    def type(self) -> str:
        return self.fields.first("WARC-Type").lower()

    @property
    def id(self) -> str:
        return self.fields.first("WARC-Record-ID")

    @property
    def url(self) -> str:
        """The target URI, without the angle brackets that wget puts around it."""
        url = self.fields.first("WARC-Target-URI")
        return url[1:-1] if url.startswith("<") and url.endswith(">") else url

    @property
    def date(self) -> datetime:
        """WARC-Date; ``BadWarc`` where it is none."""
        try:
            return dates.parse(self.fields.first("WARC-Date"))
        except ValueError as error:
            raise BadWarc(self.path, str(error), self.offset) from None

    @property
    def end(self) -> int:
        return self.block + self.block_length + 4

    def source(self, fd: int) -> FileSource:
        """The block, in the file that the caller has open as *fd*."""
        return FileSource(fd, self.block, self.block_length)


def record_at(fd: int, path: Path, offset: int, size: int) -> StoredRecord:
    """The record at *offset* of the open file *fd*, which has *size* bytes.

    ``TornWarc`` where the file ends inside the record, ``BadWarc`` where no record is.
    """
    data = _header_bytes(fd, path, offset)
    if size - offset < 12 and b"WARC/1.".startswith(data[:7]):
        raise TornWarc(path, "the file ends inside a record", offset)
    record = record_of(data, path, offset)
    if record.end > size:
        raise TornWarc(path, "the file ends inside a record", offset)
    if os.pread(fd, 4, record.end - 4) != b"\r\n\r\n":
        raise BadWarc(path, "the record does not end with CRLF CRLF", offset)
    return record


def record_of(data: bytes, path: Path, offset: int) -> StoredRecord:
    """The record whose header *data* begins with, at *offset* of the file *path*; nothing is read.

    ``TornWarc`` where the header has no end in *data*, ``BadWarc`` where it is none.
    """
    version = _VERSION.match(data)
    if not version:
        gzipped = " (it is compressed)" if data.startswith(b"\x1f\x8b") else ""
        raise BadWarc(path, f"no WARC record begins here{gzipped}", offset)
    blank = _BLANK_LINE.search(data)
    if not blank:
        raise TornWarc(path, "the file ends inside a record's header", offset)
    fields = Fields.parse(data[version.end() : blank.start()])
    length = ", ".join(sorted(set(fields.all("Content-Length"))))
    if not _LENGTH.fullmatch(length):
        raise BadWarc(path, f"Content-Length is {length[:80]!r}", offset)
    return StoredRecord(
        path=path,
        offset=offset,
        fields=fields,
        block=offset + blank.end(),
        block_length=int(length),
    )


def _header_bytes(fd: int, path: Path, offset: int) -> bytes:
    """What stands at *offset*, at least through the header's blank line where there is one."""
    data = os.pread(fd, _FIRST_READ, offset)
    while _VERSION.match(data) and not _BLANK_LINE.search(data):
        more = os.pread(fd, len(data), offset + len(data))
        if not more:
            break
        data += more
        if len(data) > _HEADER_MAX:
            raise BadWarc(path, "a record header is over 1 MiB", offset)
    return data


def records(fd: int, path: Path, start: int = 0) -> Iterator[StoredRecord]:
    """The records of the open file *fd* from the record boundary *start* on, in order.

    Raises as :func:`record_at` does, after all whole records before the trouble were given.
    """
    size = os.fstat(fd).st_size
    while start < size:
        record = record_at(fd, path, start, size)
        yield record
        start = record.end
