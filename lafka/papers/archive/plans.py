"""The records that trails add to a paper WARC, and the visits that they make."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from lafka.capture.rawlog import CONNECTION, PULLED
from lafka.capture.readback import time_of
from lafka.errors import BadWarc
from lafka.keeping.groups import Conversion, Group, Original
from lafka.papers.archive.contents import (
    HeldPayload,
    Info,
    PaperContents,
    Unconverted,
    Visit,
    answer_in,
    literal_place,
)
from lafka.papers.walk.asks import Capture
from lafka.warc.format import dates, http
from lafka.warc.format.fields import one_line
from lafka.warc.reading.stored import StoredRecord
from lafka.warc.writing.copying import Files

# Header fields of a response that hold for its revisit record too.
_OF_THE_VISIT = ("WARC-Warcinfo-ID", "WARC-Concurrent-To", *CONNECTION, *PULLED)


class Plan(Group):
    """The records of trails that are to be appended to the WARC with *contents*."""

    def __init__(self, contents: PaperContents, files: Files) -> None:
        super().__init__(contents, files)
        self._paper = contents
        self.held: dict[str, HeldPayload] = {}
        self.payloads: dict[str, HeldPayload] = {}
        self.visits: list[Visit] = []
        self.added: list[tuple[Capture, str, bool]] = []

    def commit(self) -> None:
        super().commit()
        self._paper.futs.update(self.held)
        self._paper.payloads.update(self.payloads)
        self._paper.visits += self.visits
        for digest in self.held:
            self._paper.unconverted.pop(digest, None)

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
            held = self.payloads.get(digest) or self._paper.payloads.get(digest)
            # It was taken for a fut once, here or earlier in this plan.
            held = held or self.held.get(digest) or self._paper.futs.get(digest)
            if held and not had_fut:
                return
            self._copy(capture, held)
            return
        new = not self._holds(digest)
        if digest in self._paper.unconverted and new:
            self.convert_stored(self._paper.unconverted[digest])
        if self._copy(capture, self._fut(digest)):
            self.visits.append(visit_of(capture, digest))
        self.added.append((capture, digest, new))

    def _holds(self, digest: str) -> bool:
        return digest in self.held or digest in self._paper.futs

    def _fut(self, digest: str) -> HeldPayload | None:
        held = self.held.get(digest) or self._paper.futs.get(digest)
        if held:
            self.held.setdefault(digest, held)
        return held

    def _copy(self, capture: Capture, held: HeldPayload | None) -> bool:
        """Plan what is not here yet of *capture*; whether its last answer was not."""
        *hops, last = capture.exchanges
        way = [span for hop in hops for span in (hop.request, hop.response)]
        self.copy_all((capture.exchanges[0].warcinfo, *way, last.request))
        assert last.response is not None
        record = self.files.stored(last.response)
        if self.holds_answer(record):
            return False
        if held:
            self._revisit(capture, record, held)
        else:
            self._response(capture, record)
        return True

    def _response(self, capture: Capture, record: StoredRecord) -> None:
        payload = capture.payload
        assert payload is not None
        begin = self.copy(record)
        assert begin is not None
        block = begin + len(record.header)
        held = HeldPayload(record_id=record.id, url=record.url, date=time_of(record))
        if not capture.is_pdf:
            self.payloads.setdefault(payload.digest, held)
            return
        place = payload.body + payload.start
        if not payload.literal:
            if self.files.volume(record.path).size < record.end:
                raise BadWarc(record.path, "ends inside a record", record.offset)
            place = literal_place(record.block(), payload)
        if place >= 0:
            self.held[payload.digest] = replace(held, s=block + place, l=payload.length)
        else:
            self.convert_stored(Unconverted(record=record, payload=payload))

    def convert_stored(self, unconverted: Unconverted) -> None:
        """Plan a conversion record whose block is the fut of a response.

        The response is wherever ``unconverted.record`` says: a raw WARC, or this one.
        """
        record, payload = unconverted.record, unconverted.payload
        made = self.add_conversion(
            record,
            Conversion(
                media_type="application/pdf", digest=payload.digest, length=payload.length,
                pieces=partial(_fut_in, unconverted), name="fut",
            ),
        )  # fmt: skip
        self.held[payload.digest] = HeldPayload(
            record_id=made.id, url=record.url, date=time_of(record),
            s=made.block, l=payload.length,
        )  # fmt: skip

    def _revisit(self, capture: Capture, record: StoredRecord, held: HeldPayload) -> None:
        """Plan a revisit whose block is the head that the answer has."""
        assert capture.payload is not None
        original = Original(record_id=held.record_id, url=held.url, date=dates.to_text(held.date))
        self.add_revisit(
            record, original, digest=capture.payload.digest,
            head_length=capture.payload.body, visit_fields=_OF_THE_VISIT,
        )  # fmt: skip


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


def _fut_in(unconverted: Unconverted) -> Iterator[bytes]:
    """Decode the answer, and yield the pieces of the fut in it."""
    skip, left = unconverted.payload.start, unconverted.payload.length
    block = answer_in(unconverted.record)
    for piece in http.entity(block, http.head(block)):
        part = piece[skip : skip + left]
        skip = max(0, skip - len(piece))
        left -= len(part)
        yield part
