"""Volumes that are no WARC: records made from what such a file says, and no more."""

from __future__ import annotations

import itertools
import tempfile
import uuid
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator

from ..errors import BadValue, BadWarc
from ..format.fields import Fields, one_line
from ..format.sources import Source
from ..reading.handles import SeekableSource
from ..reading.stored import StoredRecord
from ..reading.volumes import Volume

_IN_MEMORY = 4 << 20
_NAMESPACE = uuid.UUID("f6ad1c4b-58a4-5c0d-8f4e-0c0a4b4f9d31")


class ForeignRecord(StoredRecord):
    """A record of a file that is no WARC: its fields are made, its block may be decoded aside."""

    __slots__ = ("content", "place")

    content: Source
    place: int | None  # of the block in the file, where it stands there as it is

    @property
    def version(self) -> str:
        """Nothing: it is no WARC record."""
        return ""

    @property
    def payload_place(self) -> tuple[int, int] | None:
        return None if self.place is None else (self.place, self.block_length)

    def pieces(self) -> Iterator[bytes]:
        """Return the bytes that the file holds of it, as they stand."""
        return self.volume.bytes_of(self).chunks()


Listing = tuple[int, Callable[[], "ForeignRecord | None"]]
"""The offset of a record, and what makes it; None where it cannot be had."""


class ForeignVolume(Volume):
    """A :class:`Volume` whose records are listed by :meth:`entries`."""

    @abstractmethod
    def entries(self) -> Iterator[Listing]:
        """The records, in the order in which they lie in the file."""

    @property
    def _codec(self) -> None:
        return None

    def _plain_records(self, start: int) -> Iterator[StoredRecord]:
        made = (make() for offset, make in self.entries() if offset >= start)
        return (record for record in made if record is not None)

    def at(self, offset: int, inner: int = 0) -> StoredRecord:
        if not inner:
            for place, make in self.entries():
                record = make() if place == offset else None
                if record is not None:
                    return record
        raise BadWarc(self.path, "no record begins here", offset)

    def after(self, record: StoredRecord) -> StoredRecord | None:
        if self._cursor and self._cursor[0] == record:
            return self._following(self._cursor[1])
        return self._following(itertools.islice(self._plain_records(record.offset), 1, None))

    def block_of(self, record: StoredRecord) -> Source:
        assert isinstance(record, ForeignRecord)
        return record.content

    def made(
        self,
        found: tuple[int, int],
        fields: list[tuple[str, str]],
        content: Source,
        *,
        header: bytes = b"",
        place: int | None = None,
    ) -> ForeignRecord:
        """A record of *fields*, those with an empty value left out; *found*: offset and length."""
        offset, length = found
        record = ForeignRecord(self, offset, length, header, content.size, trailer=0)
        name = uuid.uuid5(_NAMESPACE, f"{self.path.name}:{offset}:{content.size}")
        kept = [(key, one_line(value)) for key, value in fields if value]
        kept.insert(1, ("WARC-Record-ID", f"<urn:uuid:{name}>"))
        made = Fields([*kept, ("Content-Length", str(content.size))])
        made.raw = header
        record._fields = made
        record.content = content
        record.place = place
        return record


def spooled(pieces: Iterable[bytes], most: int) -> Source:
    """Return a source over *pieces* together, in memory while few, in an unnamed file beyond.

    ``BadValue`` as soon as they are over *most*.
    """
    file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  # it lives as long as the source
    size = 0
    for piece in pieces:
        size += file.write(piece)
        if size > most:
            raise BadValue(f"it decodes to more than {most} bytes")
    file.seek(0)
    return SeekableSource(file)
