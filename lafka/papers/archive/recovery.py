"""Recovery: what a killed run captured and did not copy becomes trails of papers again.

The raw log of a run is the crawl's write-ahead log (:mod:`lafka.capture.rawlog`). Which of its
records are a trail's, and which trails had ended, stands in their warcinfos and in the notes of
their ends.
"""

from __future__ import annotations

import json
import logging
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from lafka.capture.leftovers import Leftover, leftovers, strangers
from lafka.capture.logged import LoggedExchange, Span
from lafka.errors import BadHttp, BadPid, BadWarc, KeeperError, StorageTrouble, TornWarc
from lafka.papers.archive.archives import Archive
from lafka.papers.archive.contents import begins_record, opened, time_of
from lafka.papers.lists.futlis import Futli
from lafka.papers.origins import FUTLI, PAPER_ID, Origin
from lafka.papers.walk.asks import Ask, Capture
from lafka.papers.walk.outcomes import Outcome, judge
from lafka.papers.walk.trails import Trail
from lafka.payloads import Payload, inspect
from lafka.warc.format.fields import Fields
from lafka.warc.format.records import sha256_of
from lafka.warc.format.sources import Source
from lafka.warc.reading.stored import StoredRecord

logger = logging.getLogger(__name__)


def end_of(trail: Trail) -> dict[str, Any]:
    """The note of the raw log that *trail* has ended, and how; written before it is copied."""
    return {
        "pid": str(trail.futli.pid),
        "futli": trail.futli.url,
        "number": trail.number,
        "outcome": trail.outcome,
        "captures": [capture.warcinfo_id for capture in trail.captures],
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """What one recovered run gave: trails copied, those of them left open, problems.

    ``run`` is empty, and there are only problems, where folders in ``raw/`` are no run's.
    """

    run: str
    trails: int
    opened: int
    problems: tuple[str, ...]


def recover(
    archive: Archive,
    *,
    keep: bool = False,
    max_entity: int = 0,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[Recovery]:
    """Copy what dead runs have captured and not copied; one run at a time, as it is asked for.

    A run whose every trail could be copied loses its folder (with *keep* it stays, marked as
    copied). *max_entity*: bytes after which decoding an answer stops, as in the crawl (0: never).
    What Lafka did not write stays, and is a problem. Doing it twice adds nothing.
    ``StorageTrouble``.
    """
    raw = archive.root / "raw"
    for left in leftovers(raw, stopped=stopped):
        try:
            found = _recovered(archive, left, max_entity)
            if not found.problems:
                left.done(keep=keep)
        except OSError as error:
            raise StorageTrouble(left.folder, error) from error
        yield replace(found, problems=(*found.problems, left.told)) if left.told else found
    if sentence := strangers(raw):
        yield Recovery(run="", trails=0, opened=0, problems=(sentence,))


def _recovered(archive: Archive, run: Leftover, most: int) -> Recovery:
    with ExitStack() as files:
        log = _Log(archive, files, most)
        for name in run.warcs:
            log.read(run, name)
        trails = log.trails()
    problems, copied, opened = list(log.problems), 0, 0
    for left in trails:
        try:
            if left.captures:
                pid = left.captures[0].ask.futli.pid
                with archive.paper(pid) as paper:
                    paper.append(left.captures, opened=left.opened)
                copied += 1
                opened += left.opened
            elif left.closes:
                archive.close(left.closes)
        except KeeperError as error:
            problems.append(str(error))
    return Recovery(run=run.name, trails=copied, opened=opened, problems=tuple(problems))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Left:
    """What a trail left to be copied; ``closes``: the futli of one that ended without a capture."""

    captures: list[Capture]
    opened: bool
    closes: Futli | None = None


@dataclass(slots=True)
class _Capture:
    """The records that one warcinfo binds, as they were found in the raw WARC."""

    id: str
    span: Span
    body: Fields
    requests: dict[str, Span] = field(default_factory=dict)
    answers: list[StoredRecord] = field(default_factory=list)


_Answer = tuple[StoredRecord, Payload | None]
_TIMES = 16
_SPARE = 64 << 20


@dataclass(slots=True)
class _Budget:
    """The decoding that a run's recovery may do: a hostile answer shall not hold up the start.

    Of each coded body sixteen times its bytes, and ``spare`` bytes more for all of them together;
    never over *most* bytes of one (0: no bound), as in the crawl. ``spare`` is None for no bound.
    """

    most: int
    spare: int | None

    def inspect(self, block: Source) -> Payload:
        """The facts of the answer in *block*, too big where it would cost too much."""
        if self.spare is None:
            return inspect(block, max_entity=self.most)
        own = _TIMES * block.size
        payload = inspect(block, max_entity=min(own + self.spare, self.most or sys.maxsize))
        self.spare -= min(self.spare, max(0, payload.start + payload.length - own))
        return payload


class _Log:
    """A dead run's raw WARC files, read back. A torn record ends its file: nothing follows it.

    They stay open until *files* ends. Of answers whose trail had ended the crawl has known what
    they are, so that all together may cost what one may there; of others we can only guess.
    """

    def __init__(self, archive: Archive, files: ExitStack, most: int) -> None:
        self.problems: list[str] = []
        self._archive = archive
        self._files = files
        self._known = _Budget(most, spare=most or None)
        self._unknown = _Budget(most, spare=min(_SPARE, most or _SPARE))
        self._captures: dict[str, _Capture] = {}
        self._ends: list[dict[str, Any]] = []

    def read(self, run: Leftover, name: str) -> None:
        fd = self._files.enter_context(run.reading(name))
        try:
            for record in opened(run.folder / name, fd):
                self._take(record)
        except TornWarc as error:
            logger.info("%s", error)  # what a kill leaves; what stands before it was read
        except BadWarc as error:
            # Zeros are what a power cut leaves. Never read on behind damage: the bytes of a site
            # could look like records there.
            if begins_record(fd, error.offset or 0):
                self.problems.append(str(error))

    def _take(self, record: StoredRecord) -> None:
        if not _is_whole(record):
            raise BadWarc(record.path, "not the record that was written here", record.offset)
        block = record.block()
        span = _span(record)
        capture = self._captures.get(record.fields.first("WARC-Warcinfo-ID"))
        if record.type == "warcinfo":
            body = Fields.parse(block.read(0, block.size))
            if body.first(PAPER_ID):
                self._captures[record.id] = _Capture(record.id, span, body)
        elif record.type == "metadata":
            with suppress(ValueError):
                self._ends.append(dict(json.loads(block.read(0, block.size))))
        elif capture and record.type == "request":
            capture.requests[record.id] = span
        elif capture and record.type == "response":
            capture.answers.append(record)

    def _payload(self, record: StoredRecord, budget: _Budget) -> Payload | None:
        with suppress(BadHttp):
            payload = budget.inspect(record.block())
            if payload.block_digest == record.fields.first("WARC-Block-Digest"):
                return payload
        return None

    def trails(self) -> list[_Left]:
        """Each trail with what of it belongs into its paper WARC."""
        left: list[_Left] = []
        ended: set[str] = set()
        futlis: set[tuple[str, str]] = set()
        for end in self._ends:
            ids = [i for i in end.get("captures", ()) if i in self._captures]
            ended.update(ids)
            futlis.add((str(end.get("pid")), str(end.get("futli"))))
            known = [self._capture(i, self._known) for i in ids]
            captures = [c for c in known if c and c.outcome.is_stored]
            closes = None if ids else self._closed(end)
            left.append(_Left(captures=captures, opened=len(captures) < len(ids), closes=closes))
        opened: dict[tuple[str, str], list[Capture]] = defaultdict(list)
        for found in self._captures.values():
            key = (found.body.first(PAPER_ID), found.body.first(FUTLI))
            if key in futlis or found.id in ended:
                continue
            capture = self._capture(found.id, self._unknown)
            if capture and _belongs(capture):
                opened[key].append(capture)
        return left + [_Left(captures=captures, opened=True) for captures in opened.values()]

    def _closed(self, end: dict[str, Any]) -> Futli | None:
        """The futli of a trail without captures, where the site had the last word on it."""
        with suppress(ValueError):  # an outcome of another version, or a pid
            if not Outcome(str(end.get("outcome"))).may_pass:
                return Futli(pid=self._archive.pid(str(end.get("pid"))), url=str(end.get("futli")))
        return None

    def _capture(self, warcinfo_id: str, budget: _Budget) -> Capture | None:
        """The capture of a warcinfo; None where no answer of it can be used."""
        found = self._captures[warcinfo_id]
        answers = _without_retries((r, self._payload(r, budget)) for r in found.answers)
        if not answers:
            return None
        try:
            ask = _ask(found.body, self._archive)
            exchanges = tuple(_exchange(record, payload, found) for record, payload in answers)
        except (BadPid, BadWarc) as error:
            self.problems.append(str(error))
            return None
        last = exchanges[-1]
        return Capture(
            ask=ask,
            url=last.url,
            time=last.time,
            outcome=judge(last.payload, truncated=last.truncated),
            payload=last.payload,
            exchanges=exchanges,
        )


def _is_whole(record: StoredRecord) -> bool:
    """Whether a power cut left all of *record*; the block of a response is looked at by itself."""
    if b"\0" in record.header:
        return False
    stated = record.fields.first("WARC-Block-Digest")
    return record.type == "response" or stated == sha256_of(record.block().chunks())


def _ask(body: Fields, archive: Archive) -> Ask:
    futli = Futli(pid=archive.pid(body.first(PAPER_ID)), url=body.first(FUTLI))
    return Ask(futli=futli, number=0, url="", origin=Origin.of_fields(body))


def _belongs(capture: Capture) -> bool:
    """Whether the capture of a trail without an end goes into the paper WARC."""
    if capture.ask.origin.html_url:
        return capture.is_pdf
    return capture.outcome.is_stored


def _without_retries(answers: Iterable[_Answer]) -> list[_Answer]:
    """The redirect hops and the last answer: of several answers of one URL only the last."""
    kept: list[_Answer] = []
    for record, payload in answers:
        if kept and kept[-1][0].url == record.url and not _redirects(kept[-1][1]):
            kept.pop()
        kept.append((record, payload))
    return kept


def _redirects(payload: Payload | None) -> bool:
    return payload is not None and 300 <= payload.status < 400


def _span(record: StoredRecord) -> Span:
    return Span(path=str(record.path), offset=record.offset, length=record.length)


def _exchange(record: StoredRecord, payload: Payload | None, found: _Capture) -> LoggedExchange:
    return LoggedExchange(
        url=record.url,
        time=time_of(record),
        request=found.requests.get(record.fields.first("WARC-Concurrent-To")),
        response=_span(record),
        warcinfo=found.span,
        warcinfo_id=found.id,
        payload=payload,
        truncated=record.fields.first("WARC-Truncated"),
    )
