"""A group of records to be appended to a fileset WARC, whole or not at all.

Every record's place is known before the first byte is written. Ids of what is made here are derived
from the id of the response that it is made of: storing a capture twice finds what is there already.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lafka.capture.logged import LoggedExchange
from lafka.capture.rawlog import CONNECTION
from lafka.errors import BadWarc
from lafka.filesets.archive.contents import (
    Contents,
    HeldBytes,
    RecordPlace,
    chained,
    page_in,
    place_of,
)
from lafka.filesets.archive.notes import note
from lafka.warc.format import http
from lafka.warc.format.records import (
    HTTP_RESPONSE,
    IDENTICAL_PAYLOAD,
    RECORD_END,
    Record,
    digest_text,
    header,
    start,
)
from lafka.warc.reading.stored import StoredRecord
from lafka.warc.writing.appending import Appender
from lafka.warc.writing.copying import Copy, Files

_OF_THE_VISIT = ("WARC-Warcinfo-ID", "WARC-Concurrent-To", *CONNECTION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The file that a capture brought: ``digest`` and length of its bytes.

    ``decoded``: the content coding is undone; ``mimetype`` is that of a conversion, if one is made.
    """

    digest: str
    l: int  # noqa: E741  the summary's name
    mimetype: str
    decoded: bool = False


class Group:
    """Records for one commit of the WARC whose *contents* these are."""

    def __init__(self, contents: Contents, files: Files) -> None:
        self._contents = contents
        self._files = files
        self.end = contents.end
        self.chain = contents.chain
        self.pieces: list[Callable[[Appender], None]] = []
        self.ids: set[str] = set()
        self.pages: dict[str, HeldBytes | None] = {}
        self.places: dict[str, RecordPlace] = {}
        self.notes: list[Mapping[str, Any]] = []

    def page(self, exchanges: tuple[LoggedExchange, ...]) -> HeldBytes | None:
        """Plan a capture of a page or an API's answer, unless its payload is held already.

        Where the payload stands; None where it does not stand literally.
        """
        last = exchanges[-1]
        digest = last.payload.payload_digest if last.payload else ""
        known = {**self._contents.pages, **self.pages}
        if digest and digest in known:
            return known[digest]
        self._way(exchanges)
        if last.response is None:
            return None
        record = self._files.stored(last.response)
        self._response(record)
        digest, page = page_in(record)
        self.pages[digest] = page
        return page

    def heads(self, exchanges: tuple[LoggedExchange, ...]) -> None:
        """Plan a capture whose body went elsewhere: its requests and heads."""
        self._way(exchanges)
        if (answer := exchanges[-1].response) is not None:
            self._response(self._files.stored(answer))

    def file(
        self, exchanges: tuple[LoggedExchange, ...], wanted: Wanted
    ) -> tuple[HeldBytes, RecordPlace | None, bool]:
        """Plan the capture of a file: where its bytes stand, its record, whether it is a revisit.

        A file that is held already is not stored again.
        """
        self._way(exchanges)
        answer = exchanges[-1].response
        assert answer is not None
        record = self._files.stored(answer)
        held = self._contents.held.get(wanted.digest)
        if held is not None:
            if not self._is_here(record.id) and not self._is_here(_derived(record, "revisit")):
                self._revisit(record, held, wanted)
            visit = self.place(_derived(record, "revisit"))
            return held, visit or self.place(record.id), visit is not None
        self._response(record)
        head = http.head(record.block())
        if head.chunked or head.transfer_codings or wanted.decoded:
            held = self._conversion(record, head, wanted)
        else:
            held = _held(record, record.id, head.end, wanted)
        return held, self.place(record.id), False

    def place(self, record_id: str) -> RecordPlace | None:
        """Where a record stands that is here, or is to be."""
        return self.places.get(record_id) or self._contents.places.get(record_id)

    def note(self, values: Mapping[str, Any], url: str, date: str) -> None:
        """Plan a metadata record that says *values*."""
        record = note(values, url, date)
        head, *rest = record.pieces()
        self._made(b"".join((head, *rest)), head, record.id)
        self.notes.append(values)

    def taken_into(self, contents: Contents) -> None:
        """Tell *contents* what was appended."""
        contents.end, contents.chain = self.end, self.chain
        contents.ids |= self.ids
        contents.pages.update(self.pages)
        contents.places.update(self.places)
        for values in self.notes:
            contents.told(values)

    # ---- Records

    def _is_here(self, record_id: str) -> bool:
        return record_id in self.ids or record_id in self._contents.ids

    def _way(self, exchanges: tuple[LoggedExchange, ...]) -> None:
        """Everything of a capture before its last answer."""
        *hops, last = exchanges
        spans = [span for hop in hops for span in (hop.request, hop.response)]
        for span in (exchanges[0].warcinfo, *spans, last.request):
            if span is not None:
                self._copy(self._files.stored(span))

    def _copy(self, record: StoredRecord) -> None:
        if self._is_here(record.id):
            return
        last = self.pieces[-1] if self.pieces else None
        if not (isinstance(last, Copy) and last.goes_on_with(record)):
            last = Copy(self._files, record.path, record.offset)
            self.pieces.append(last)
        last.end = record.end
        self._counted(record.id, record.header, record.length)

    def _response(self, record: StoredRecord) -> None:
        if not self._is_here(record.id):
            self.places[record.id] = place_of(record, self.end)
            self._copy(record)

    def _counted(self, record_id: str, head: bytes, length: int) -> None:
        self.chain = chained(self.chain, head)
        self.end += length
        self.ids.add(record_id)

    def _made(self, data: bytes, head: bytes, record_id: str) -> None:
        self.pieces.append(lambda out: out.write([data]))
        self._counted(record_id, head, len(data))

    def _revisit(self, record: StoredRecord, held: HeldBytes, wanted: Wanted) -> None:
        """Plan a revisit, identical-payload-digest, whose block is the answer's HTTP head."""
        block = record.block()
        fields = start(
            "revisit", _derived(record, "revisit"), record.fields.first("WARC-Date"), record.url
        )
        fields.add("WARC-Profile", IDENTICAL_PAYLOAD)
        for name in _OF_THE_VISIT:
            if value := record.fields.first(name):
                fields.add(name, value)
        fields.add("WARC-Refers-To", held.record_id)
        fields.add("WARC-Refers-To-Target-URI", held.url)
        fields.add("WARC-Refers-To-Date", held.date)
        fields.add("WARC-Payload-Digest", wanted.digest)
        fields.add("Content-Type", HTTP_RESPONSE)
        made = Record(fields=fields, block=block.read(0, http.head(block).end))
        head, *rest = made.pieces()
        data = b"".join((head, *rest))
        self.places[made.id] = RecordPlace(
            offset=self.end,
            length=len(data),
            block=self.end + len(head),
            url=record.url,
            date=record.fields.first("WARC-Date"),
        )
        self._made(data, head, made.id)

    def _conversion(self, record: StoredRecord, message: http.Head, wanted: Wanted) -> HeldBytes:
        """Plan a conversion whose block is the file behind transfer or content coding."""
        record_id = _derived(record, "conversion")
        if not self._is_here(record_id):
            date = record.fields.first("WARC-Date")
            fields = start("conversion", record_id, date, record.url)
            fields.add("WARC-Refers-To", record.id)
            if info := record.fields.first("WARC-Warcinfo-ID"):
                fields.add("WARC-Warcinfo-ID", info)
            fields.add("Content-Type", wanted.mimetype or "application/octet-stream")
            fields.add("WARC-Block-Digest", wanted.digest)
            fields.add("Content-Length", str(wanted.l))
            head = header(fields)
            self.places[record_id] = RecordPlace(
                offset=self.end,
                length=len(head) + wanted.l + len(RECORD_END),
                block=self.end + len(head),
                url=record.url,
                date=date,
            )
            self.pieces.append(lambda out: _write_conversion(out, head, record, message, wanted))
            self._counted(record_id, head, len(head) + wanted.l + len(RECORD_END))
        return _held(record, record_id, 0, wanted)


def _held(record: StoredRecord, record_id: str, at: int, wanted: Wanted) -> HeldBytes:
    date = record.fields.first("WARC-Date")
    return HeldBytes(record_id=record_id, url=record.url, date=date, at=at, l=wanted.l)


def _derived(record: StoredRecord, kind: str) -> str:
    """The id of the *kind* of record that is made of *record*: always the same."""
    return f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{record.id} {kind}')}>"


def _write_conversion(
    out: Appender, head: bytes, record: StoredRecord, message: http.Head, wanted: Wanted
) -> None:
    digest = hashlib.sha256()
    undone = http.entity if wanted.decoded else http.payload

    def taken() -> Iterator[bytes]:
        for piece in undone(record.block(), message):
            digest.update(piece)
            yield piece

    out.write([head])
    out.write(taken())
    if digest_text(digest) != wanted.digest:
        raise BadWarc(Path(record.path), "decodes to another file than before", record.offset)
    out.write([RECORD_END])
