"""The inventory of a WARC, read from the WARC alone, and the records that are to join it.

The inventory is how a summary is rebuilt, how a killed writer's whole records are rolled forward,
and how a writer knows what is held already. Of records that are appended together every place is
known before the first byte is written. Ids of those that are made here are derived from the id of
the response that they are made of: storing a capture a second time finds what is there already,
record by record.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from lafka.errors import BadWarc
from lafka.warc.format.base import WARC_FIELDS
from lafka.warc.format.records import (
    HTTP_RESPONSE,
    IDENTICAL_PAYLOAD,
    RECORD_END,
    Record,
    digest_text,
    header,
    named_urn,
    sha256_of,
    start,
)
from lafka.warc.reading.stored import StoredRecord
from lafka.warc.reading.volumes import open_plain
from lafka.warc.writing.appending import Appender, Copy, Files, RecordSpan

NO_CHAIN = bytes(32)


@dataclass(slots=True, kw_only=True)
class Contents:
    """The inventory of a WARC, grown record by record.

    ``ids`` are those of its records. ``end`` is the byte behind the last one, ``chain`` the running
    SHA-256 over the headers of all; both stand in the summary.
    """

    ids: set[str] = field(default_factory=set)
    end: int = 0
    chain: bytes = NO_CHAIN

    @property
    def chain_text(self) -> str:
        """The chain as a summary has it."""
        return "sha256:" + self.chain.hex()


ContentsT = TypeVar("ContentsT", bound=Contents)


def chained(chain: bytes, header: bytes) -> bytes:
    """Return the chain after one more record header: SHA-256 of the chain so far and the header."""
    return hashlib.sha256(chain + header).digest()


class Scanner(ABC, Generic[ContentsT]):
    """Reads the records of the open file *fd* into ``contents``.

    Headers before byte *trusted_to* are believed, but held against the *chain* that was committed,
    where it is known. From there on every block is hashed, and ``BadWarc`` raised for one that is
    not what its header says.
    """

    needs_digests: ClassVar[bool] = True
    """False where blocks without a SHA-256 may stand in the WARC, as those of other writers."""
    believes_payloads = False
    """True where another store committed the payload digests: blocks alone are hashed."""

    def __init__(
        self, fd: int, path: Path, contents: ContentsT, *, trusted_to: int = 0, chain: str = ""
    ) -> None:
        self.contents = contents
        self.path = path
        self.fd = fd
        self._trusted_to = trusted_to
        self._chain = chain

    def read(self) -> ContentsT:
        """Read all records; raise ``TornWarc`` or ``BadWarc`` once the whole ones are taken in."""
        contents = self.contents
        for record in open_plain(self.path, self.fd):
            if not self.is_trusted(record):
                self._check(record)
            self.take(record)
            contents.chain = chained(contents.chain, record.header)
            self._check_chain(record)
            contents.ids.add(record.id)
            contents.end = record.end
        return contents

    @abstractmethod
    def take(self, record: StoredRecord) -> None:
        """Take *record* into the contents; ``BadWarc`` where it has no place in them."""

    def is_trusted(self, record: StoredRecord) -> bool:
        """Return whether the header of *record* was committed, so that its digests are believed."""
        return record.offset < self._trusted_to

    def _check(self, record: StoredRecord) -> None:
        if b"\0" in record.header:  # a page of it never came to the disk
            raise BadWarc(self.path, "there are zeros in its header", record.offset)
        stated = record.fields.first("WARC-Block-Digest")
        if not (self.needs_digests or stated.startswith("sha256:")):
            return
        if stated != sha256_of(record.block().chunks()):
            raise BadWarc(self.path, "the block is not what its digest says", record.offset)

    def _check_chain(self, record: StoredRecord) -> None:
        """Compare at the last record that was committed, before it counts as read."""
        if not self._chain or not record.offset < self._trusted_to <= record.end:
            return
        if record.end != self._trusted_to or self._chain != self.contents.chain_text:
            raise BadWarc(self.path, "its record headers are not as they were", record.offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginalRecord:
    """The record that holds a payload, as a revisit of it names it: id, target URI, WARC-Date."""

    record_id: str
    url: str
    date: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """The block of a conversion record: ``length`` bytes, which ``pieces`` decodes a response to.

    *name*: what they are, for the error where they have another ``digest``.
    """

    media_type: str
    digest: str
    length: int
    pieces: Callable[[], Iterable[bytes]]
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRecord:
    """A record that is going to stand at byte ``offset`` of the WARC, its block at ``block``."""

    id: str
    offset: int
    block: int
    length: int


class RecordGroup:
    """Records for one commit of the WARC whose *contents* these are."""

    def __init__(self, contents: Contents, files: Files) -> None:
        self.files = files
        self.end = contents.end
        self.chain = contents.chain
        self.pieces: list[Callable[[Appender], None]] = []
        self.ids: set[str] = set()
        self._contents = contents

    def write(self, out: Appender) -> None:
        """Append all that is planned; ``OSError``, ``BadWarc`` where it cannot be copied."""
        for piece in self.pieces:
            piece(out)

    def commit(self) -> None:
        """Take what was appended into the contents."""
        self._contents.end, self._contents.chain = self.end, self.chain
        self._contents.ids |= self.ids

    def holds(self, record_id: str) -> bool:
        """Return whether a record is in the WARC, or is going to be."""
        return record_id in self.ids or record_id in self._contents.ids

    def holds_answer(self, record: StoredRecord) -> bool:
        """Return whether a response, or the revisit that is made of it, is in the WARC."""
        return self.holds(record.id) or self.holds(derived_id(record, "revisit"))

    def copy_all(self, spans: Iterable[RecordSpan | None]) -> None:
        """Plan the records at *spans* of raw WARCs, in their order."""
        for span in spans:
            if span is not None:
                self.copy(self.files.stored(span))

    def copy(self, record: StoredRecord) -> int | None:
        """Plan a record's bytes as they stand; the byte where they will, None where they do."""
        if self.holds(record.id):
            return None
        last = self.pieces[-1] if self.pieces else None
        if not (isinstance(last, Copy) and last.goes_on_with(record)):
            last = Copy(self.files, record.path, record.offset)
            self.pieces.append(last)
        last.end = record.end
        return self._place(record.id, record.header, record.length)

    def copy_to(self, end: int, path: Path) -> None:
        """Plan all bytes before *end* of the WARC at *path*, whose records are read back later."""
        whole = Copy(self.files, path, 0)
        self.end = whole.end = end
        self.pieces = [whole] if end else []

    def add(self, record: Record) -> PlannedRecord:
        """Plan a record that is made here."""
        head, *rest = record.pieces()
        data = b"".join((head, *rest))
        self.pieces.append(lambda out: out.write([data]))
        offset = self._place(record.id, head, len(data))
        return PlannedRecord(
            id=record.id, offset=offset, block=offset + len(head), length=len(data)
        )

    def add_revisit(
        self,
        record: StoredRecord,
        original: OriginalRecord,
        *,
        digest: str,
        head_length: int,
        visit_fields: Sequence[str],
    ) -> PlannedRecord:
        """Plan a revisit, identical-payload-digest (WARC/1.1 section 6.7.2), of *original*.

        Its block are the first *head_length* bytes of the response *record*: the HTTP head.
        *visit_fields*: header fields of that response which hold for the visit too.
        """
        block = record.block().read(0, head_length)
        date = record.fields.first("WARC-Date")
        fields = start("revisit", derived_id(record, "revisit"), date, record.url)
        fields.add("WARC-Profile", IDENTICAL_PAYLOAD)
        for name in visit_fields:
            if value := record.fields.first(name):
                fields.add(name, value)
        fields.add("WARC-Refers-To", original.record_id)
        fields.add("WARC-Refers-To-Target-URI", original.url)
        fields.add("WARC-Refers-To-Date", original.date)
        fields.add("WARC-Payload-Digest", digest)
        if block:  # a resource has no head
            fields.add("Content-Type", HTTP_RESPONSE)
        return self.add(Record(fields=fields, block=block))

    def add_conversion(self, record: StoredRecord, made: Conversion) -> PlannedRecord:
        """Plan a conversion of a response (WARC/1.1 section 6.8).

        Both are of one capture event, so they have one WARC-Date (section 5.4).
        """
        record_id = derived_id(record, "conversion")
        fields = start("conversion", record_id, record.fields.first("WARC-Date"), record.url)
        fields.add("WARC-Refers-To", record.id)
        if info := record.fields.first("WARC-Warcinfo-ID"):
            fields.add("WARC-Warcinfo-ID", info)
        fields.add("Content-Type", made.media_type)
        fields.add("WARC-Block-Digest", made.digest)
        fields.add("Content-Length", str(made.length))
        head = header(fields)
        self.pieces.append(lambda out: _write_conversion(out, head, record, made))
        length = len(head) + made.length + len(RECORD_END)
        offset = self._place(record_id, head, length)
        return PlannedRecord(id=record_id, offset=offset, block=offset + len(head), length=length)

    def add_metadata(self, record: StoredRecord, block: bytes) -> PlannedRecord:
        """Plan a metadata record, *block* in warc-fields, on a response (WARC/1.1 section 6.6).

        It refers to the revisit where that stands in the response's place.
        """
        made = derived_id(record, "metadata")
        fields = start("metadata", made, record.fields.first("WARC-Date"), record.url)
        answer = record.id if self.holds(record.id) else derived_id(record, "revisit")
        fields.add("WARC-Refers-To", answer)
        if info := record.fields.first("WARC-Warcinfo-ID"):
            fields.add("WARC-Warcinfo-ID", info)
        fields.add("Content-Type", WARC_FIELDS)
        return self.add(Record(fields=fields, block=block))

    def _place(self, record_id: str, head: bytes, length: int) -> int:
        """Count a record of *length* bytes in; the byte at which it will stand."""
        place = self.end
        self.chain = chained(self.chain, head)
        self.end += length
        self.ids.add(record_id)
        return place


def derived_id(record: StoredRecord, kind: str) -> str:
    """Return the id of the *kind* of record that is made of *record*: always the same."""
    return named_urn(f"{record.id} {kind}")


def _write_conversion(out: Appender, head: bytes, record: StoredRecord, made: Conversion) -> None:
    digest = hashlib.sha256()

    def hashed() -> Iterator[bytes]:
        for piece in made.pieces():
            digest.update(piece)
            yield piece

    out.write([head])
    out.write(hashed())
    if digest_text(digest) != made.digest:
        raise BadWarc(record.path, f"decodes to another {made.name} than before", record.offset)
    out.write([RECORD_END])
