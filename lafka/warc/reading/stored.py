"""A record where it lies in a volume: its header at hand, all else read when asked for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Protocol

from ..errors import BadValue, BadWarc
from ..format import dates, http
from ..format.base import BaseRecord, body_length, message_in
from ..format.fields import Fields
from ..format.sources import CHUNK, Source
from ..problems import Problem
from . import blocks
from .framing import END

_HTTP = ("response", "request", "revisit")


class Holder(Protocol):
    """The volume of a stored record, as far as that needs it."""

    path: Path

    def block_of(self, record: StoredRecord) -> Source: ...

    def bytes_of(self, record: StoredRecord) -> Source:
        """The ``length`` bytes of the file that hold the record."""

    def after(self, record: StoredRecord) -> StoredRecord | None: ...

    def identity(self) -> tuple[object, ...]: ...

    @property
    def is_plain(self) -> bool:
        """True if a place in a record is a place in the file."""


class StoredRecord(BaseRecord):
    """A record of a volume; made by its volume.

    ``offset`` is where it begins in the file, or the compressed member does that holds it, and
    ``inner`` how far behind the begin of the inflated member it is. ``length`` is how many bytes of
    the file hold it, to where the next record begins. ``header`` is exact, from the version line
    through the blank line; the block is ``block_length`` bytes, and ``trailer`` bytes of line ends
    stand behind it, 4 where all is well. ``alone``: no other record lies in its members.
    """

    torn = False
    """Whether its block is shorter than its header says, and it was to be salvaged."""

    __slots__ = (
        "_fields", "_http", "alone", "block_length", "header", "inner", "length", "offset",
        "trailer", "volume",
    )  # fmt: skip

    def __init__(  # noqa: PLR0917  a million times a second
        self,
        volume: Holder,
        offset: int,
        length: int,
        header: bytes,
        block_length: int,
        inner: int = 0,
        trailer: int = 4,
        alone: bool = True,
    ) -> None:
        self.volume = volume
        self.offset = offset
        self.length = length
        self.header = header
        self.block_length = block_length
        self.inner = inner
        self.trailer = trailer
        self.alone = alone
        self._fields: Fields | None = None
        self._http: http.Head | bool | None = False

    def __repr__(self) -> str:
        return f"<StoredRecord {self.type} {self.id} at byte {self.offset} of {self.path}>"

    def __eq__(self, other: object) -> bool:
        """Return whether *other* is the same physical record, by whatever name of its file."""
        return isinstance(other, StoredRecord) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return self.volume.identity(), self.offset, self.inner

    @property
    def path(self) -> Path:
        return self.volume.path

    @property
    def fields(self) -> Fields:
        """The fields of the header, read-only; parsed when first asked for."""
        if self._fields is None:
            self._fields = Fields.parse(self.header[self.header.find(b"\n") + 1 : -2])
        return self._fields

    def know(self, fields: Fields) -> None:
        """Take *fields* for what the header says: whoever calls has parsed it already."""
        self._fields = fields

    @property
    def version(self) -> str:
        """The version in the version line, as in ``1.1``."""
        return self.header[5 : self.header.find(b"\n")].decode("latin-1").strip()

    @property
    def block_start(self) -> int:
        """The byte of the file at which the block begins; in a plain volume alone."""
        return self.offset + len(self.header)

    @property
    def end(self) -> int:
        """The byte of the file at which the next record begins."""
        return self.offset + self.length

    @property
    def time(self) -> datetime:
        """WARC-Date, aware, cut to microseconds; ``BadWarc`` where it is none."""
        try:
            return dates.parse(self.fields.first("WARC-Date"))
        except BadValue as error:
            raise BadWarc(self.path, str(error), self.offset) from None

    def block(self) -> Source:
        """The block, read as it is asked for; ``BadWarc`` or ``OSError`` where it cannot be."""
        return self.volume.block_of(self)

    @property
    def source(self) -> Source:
        """The block, as :meth:`block` gives it."""
        return self.volume.block_of(self)

    @property
    def http(self) -> http.Head | None:
        """The head of the HTTP message in the block; None where there is none."""
        if isinstance(self._http, bool):
            self._http = message_in(self) if self.type in _HTTP else None
        return self._http

    @property
    def payload_place(self) -> tuple[int, int] | None:
        """The place in the file where the payload stands as it is, and its length; or None."""
        if not self.volume.is_plain:
            return None
        head = self.http
        if head is None:
            return self.block_start, self.block_length
        if head.transfer_codings:
            return None
        if head.chunked:
            undone = not http.is_chunked(self.source, head)
            return (self.block_start + head.end, self.block_length - head.end) if undone else None
        return self.block_start + head.end, body_length(self, head)

    def raw(self) -> Source:
        """The bytes of the file that hold the record, compressed if they are; for a byte copy.

        ``BadWarc`` where they hold other records too (``alone``): see :meth:`pieces`.
        """
        if not self.alone:
            message = "the record shares its compressed member with others"
            raise BadWarc(self.path, message, self.offset)
        return self.volume.bytes_of(self)

    def pieces(self) -> Iterator[bytes]:
        """The record uncompressed: its exact header and block, and CRLF CRLF."""
        yield self.header
        yield from self.block().chunks(0, CHUNK)
        yield END

    def next(self) -> StoredRecord | None:
        """The record that follows in the volume."""
        return self.volume.after(self)

    def verify(self) -> list[Problem]:
        """Return the problems of its digests: none where all is well or nothing can be told."""
        return blocks.verify(self)


class TornRecord(StoredRecord):
    """A record that is not all there."""

    __slots__ = ()
    torn = True
