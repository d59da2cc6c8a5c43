"""What is to be appended to a paper WARC: every record's place known before a byte is written.

Record ids of what is made here are derived from the id of the response that it is made of: copying
a trail a second time finds what is there already, record by record.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from lafka.capture.rawlog import CONNECTION, PULLED
from lafka.capture.readback import time_of
from lafka.errors import BadWarc
from lafka.papers.archive.contents import (
    Contents,
    HeldPayload,
    Info,
    Unconverted,
    Visit,
    answer_in,
    chained,
    literal_place,
)
from lafka.papers.walk.asks import Capture
from lafka.warc.format import dates, http
from lafka.warc.format.fields import one_line
from lafka.warc.format.records import (
    HTTP_RESPONSE,
    IDENTICAL_PAYLOAD,
    RECORD_END,
    Record,
    digest_text,
    header,
    named_urn,
    start,
)
from lafka.warc.reading.stored import StoredRecord
from lafka.warc.writing.appending import Appender
from lafka.warc.writing.copying import Copy, Files

Piece = Callable[[Appender], None]

# Header fields of a response that hold for its revisit record too.
_OF_THE_VISIT = ("WARC-Warcinfo-ID", "WARC-Concurrent-To", *CONNECTION, *PULLED)


class Plan:
    """The records to be appended, their places known before the first byte is written."""

    def __init__(self, contents: Contents, files: Files) -> None:
        self._contents = contents
        self._files = files
        self.end = self._contents.end
        self.chain = self._contents.chain
        self.pieces: list[Piece] = []
        self.held: dict[str, HeldPayload] = {}
        self.payloads: dict[str, HeldPayload] = {}
        self.ids: set[str] = set()
        self.visits: list[Visit] = []
        self.added: list[tuple[Capture, str, bool]] = []

    def write(self, out: Appender) -> None:
        """Append all that is planned; ``OSError``, ``BadWarc`` where it cannot be copied."""
        for piece in self.pieces:
            piece(out)

    def taken_into(self, contents: Contents) -> None:
        contents.end, contents.chain = self.end, self.chain
        contents.ids |= self.ids
        contents.futs.update(self.held)
        contents.payloads.update(self.payloads)
        contents.visits += self.visits
        for digest in self.held:
            contents.unconverted.pop(digest, None)

    def add_all(self, captures: Sequence[Capture]) -> None:
        """Plan the records of a trail's *captures*."""
        had_fut = any(capture.is_pdf for capture in captures)
        for capture in captures:
            self._add(capture, had_fut=had_fut)

    def _add(self, capture: Capture, *, had_fut: bool) -> None:
        """Plan the records of *capture*: a copy, a revisit where its payload is held, or none."""
        assert capture.payload is not None
        digest = capture.payload.digest
        if not capture.is_pdf:
            held = self.payloads.get(digest) or self._contents.payloads.get(digest)
            # It was taken for a fut once, here or earlier in this plan.
            held = held or self.held.get(digest) or self._contents.futs.get(digest)
            if held and not had_fut:
                return
            self._copy(capture, held)
            return
        new = not self._holds(digest)
        if digest in self._contents.unconverted and new:
            self.convert_stored(self._contents.unconverted[digest])
        if self._copy(capture, self._fut(digest)):
            self.visits.append(visit_of(capture, digest))
        self.added.append((capture, digest, new))

    def _holds(self, digest: str) -> bool:
        return digest in self.held or digest in self._contents.futs

    def _fut(self, digest: str) -> HeldPayload | None:
        held = self.held.get(digest) or self._contents.futs.get(digest)
        if held:
            self.held.setdefault(digest, held)
        return held

    def _is_here(self, record_id: str) -> bool:
        return record_id in self.ids or record_id in self._contents.ids

    def _copy(self, capture: Capture, held: HeldPayload | None) -> bool:
        """Plan what is not here yet of *capture*; whether its last answer was not."""
        *hops, last = capture.exchanges
        way = [span for hop in hops for span in (hop.request, hop.response)]
        for span in (capture.exchanges[0].warcinfo, *way, last.request):
            if span:
                self._span(self._files.stored(span))
        assert last.response is not None
        record = self._files.stored(last.response)
        if self._is_here(record.id) or self._is_here(_derived_id(record, "revisit")):
            return False
        if held:
            self._revisit(capture, record, held)
        else:
            self._response(capture, record)
        return True

    def _span(self, record: StoredRecord) -> int:
        """Plan a record's bytes as they stand in the raw WARC; their place here, -1 if they are."""
        if self._is_here(record.id):
            return -1
        place = self.end
        last = self.pieces[-1] if self.pieces else None
        if not (isinstance(last, Copy) and last.goes_on_with(record)):
            last = Copy(self._files, record.path, record.offset)
            self.pieces.append(last)
        last.end = record.end
        self.chain = chained(self.chain, record.header)
        self.end += record.length
        self.ids.add(record.id)
        return place

    def _record(self, record: Record) -> None:
        head, *rest = record.pieces()
        data = b"".join((head, *rest))
        self.pieces.append(lambda out: out.write([data]))
        self.chain = chained(self.chain, head)
        self.end += len(data)
        self.ids.add(record.id)

    def _response(self, capture: Capture, record: StoredRecord) -> None:
        payload = capture.payload
        assert payload is not None
        block = self._span(record) + len(record.header)
        held = HeldPayload(record_id=record.id, url=record.url, date=time_of(record))
        if not capture.is_pdf:
            self.payloads.setdefault(payload.digest, held)
            return
        place = payload.body + payload.start
        if not payload.literal:
            if self._files.volume(record.path).size < record.end:
                raise BadWarc(record.path, "ends inside a record", record.offset)
            place = literal_place(record.block(), payload)
        if place >= 0:
            self.held[payload.digest] = replace(held, s=block + place, l=payload.length)
        else:
            self.convert_stored(Unconverted(record=record, payload=payload))

    def convert_stored(self, unconverted: Unconverted) -> None:
        """Plan a conversion record whose block is the fut of a response (WARC/1.1 section 6.8).

        The response is wherever ``unconverted.record`` says: a raw WARC, or this one. Both are of
        one capture event, so they have one WARC-Date (section 5.4).
        """
        record, payload = unconverted.record, unconverted.payload
        date = record.fields.first("WARC-Date")
        fields = start("conversion", _derived_id(record, "conversion"), date, record.url)
        fields.add("WARC-Refers-To", record.id)
        if info := record.fields.first("WARC-Warcinfo-ID"):
            fields.add("WARC-Warcinfo-ID", info)
        fields.add("Content-Type", "application/pdf")
        fields.add("WARC-Block-Digest", payload.digest)
        fields.add("Content-Length", str(payload.length))
        head = header(fields)
        self.held[payload.digest] = HeldPayload(
            record_id=fields.first("WARC-Record-ID"), url=record.url, date=time_of(record),
            s=self.end + len(head), l=payload.length,
        )  # fmt: skip
        self.pieces.append(lambda out: _write_conversion(out, head, unconverted))
        self.chain = chained(self.chain, head)
        self.end += len(head) + payload.length + len(RECORD_END)
        self.ids.add(fields.first("WARC-Record-ID"))

    def _revisit(self, capture: Capture, record: StoredRecord, held: HeldPayload) -> None:
        """Plan a revisit, identical-payload-digest, whose block is the head that the answer has."""
        assert capture.payload is not None
        block = record.block().read(0, capture.payload.body)
        date = record.fields.first("WARC-Date")
        fields = start("revisit", _derived_id(record, "revisit"), date, record.url)
        fields.add("WARC-Profile", IDENTICAL_PAYLOAD)
        for name in _OF_THE_VISIT:
            if value := record.fields.first(name):
                fields.add(name, value)
        fields.add("WARC-Refers-To", held.record_id)
        fields.add("WARC-Refers-To-Target-URI", held.url)
        fields.add("WARC-Refers-To-Date", dates.to_text(held.date))
        fields.add("WARC-Payload-Digest", capture.payload.digest)
        if block:  # a resource has no head
            fields.add("Content-Type", HTTP_RESPONSE)
        self._record(Record(fields=fields, block=block))


def visit_of(capture: Capture, digest: str) -> Visit:
    """The suwaf's entry that *capture*, of the fut *digest*, makes."""
    ask = capture.ask
    info = Info(
        id=capture.warcinfo_id,
        pid_text=str(ask.futli.pid),
        futli=ask.futli.url,
        origin=ask.origin.on_lines(),
    )
    return Visit(info=info, time=capture.time, url=one_line(capture.url), digest=digest)


def _derived_id(record: StoredRecord, kind: str) -> str:
    """The id of the *kind* of record that is made of *record*: always the same."""
    return named_urn(f"{record.id} {kind}")


def _write_conversion(out: Appender, head: bytes, unconverted: Unconverted) -> None:
    record, payload = unconverted.record, unconverted.payload
    digest = hashlib.sha256()

    def taken() -> Iterator[bytes]:
        skip, left = payload.start, payload.length
        block = answer_in(record)
        for piece in http.entity(block, http.head(block)):
            part = piece[skip : skip + left]
            skip = max(0, skip - len(piece))
            left -= len(part)
            digest.update(part)
            yield part

    out.write([head])
    out.write(taken())
    if payload.digest != digest_text(digest):
        raise BadWarc(record.path, "decodes to another fut than before", record.offset)
    out.write([RECORD_END])
