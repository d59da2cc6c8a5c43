"""Raw logs of dead runs read back, for whatever store their crawl was to fill.

What a crawl's road needs of a store is little: a folder for raw logs, the field of a warcinfo that
says that an exchange was asked for on its behalf, and what becomes of a log that a killed run left.
:class:`CrawlStore` says so; the archive of papers and the obi store are the two there are.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from lafka.capture.leftovers import Leftover, leftovers, strangers
from lafka.capture.logged import LoggedExchange, Span
from lafka.capture.rawlog import UNENDED
from lafka.errors import BadHttp, BadWarc, StorageTrouble, TornWarc
from lafka.payloads import (
    DECODED_SPARE,
    DECODED_TIMES,
    Payload,
    decoded_max,
    inspect,
    inspect_entity,
)
from lafka.warc.format.fields import Fields
from lafka.warc.format.records import sha256_of
from lafka.warc.format.sources import Source
from lafka.warc.reading.framing import begins_record
from lafka.warc.reading.stored import StoredRecord
from lafka.warc.reading.volumes import open_plain

logger = logging.getLogger(__name__)

Answer = tuple[StoredRecord, Payload | None]
Taken_co = TypeVar("Taken_co", covariant=True)


class CrawlStore(Protocol[Taken_co]):
    """A store that a crawl fills by the shared road.

    ``root``: raw logs lie in ``raw/`` below it. ``owner_field``: a warcinfo that has it was written
    for this store; exchanges without are nobody's, and no store takes up another's.
    """

    @property
    def root(self) -> Path: ...

    @property
    def owner_field(self) -> str: ...

    def take_up(self, log: DeadLog, run: str) -> Taken_co:
        """Store what the dead *run* has captured and not stored; what cannot be stays in the log,
        and is told in ``log.problems``. Doing it twice adds nothing.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryResult(Generic[Taken_co]):
    """The outcome of one dead run; ``run`` is empty, ``taken`` None, where there are only
    problems: folders in ``raw/`` that are no run's.
    """

    run: str
    taken: Taken_co | None
    problems: tuple[str, ...]


def recovered(
    store: CrawlStore[Taken_co],
    *,
    keep: bool = False,
    max_entity: int = 0,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[RecoveryResult[Taken_co]]:
    """Have *store* take up what dead runs left; one run at a time, as it is asked for.

    A run of which all could be stored loses its folder (with *keep* it stays, marked). What Lafka
    did not write stays, and is a problem. *max_entity*: bytes after which decoding an answer
    stops, as in the crawl (0: never). ``StorageTrouble``.
    """
    raw = store.root / "raw"
    for left in leftovers(raw, stopped=stopped):
        try:
            with ExitStack() as files:
                log = DeadLog(store.owner_field, files, max_entity)
                log.read_all(left)
                taken = store.take_up(log, left.name)
            if not log.problems:
                left.done(keep=keep)
        except OSError as error:
            raise StorageTrouble(left.folder, error) from error
        problems = (*log.problems, *filter(None, [left.sentence]))
        yield RecoveryResult(run=left.name, taken=taken, problems=problems)
    if sentence := strangers(raw):
        yield RecoveryResult(run="", taken=None, problems=(sentence,))


@dataclass(slots=True)
class Bound:
    """The records that one warcinfo binds, as they were found in the raw WARC."""

    id: str
    span: Span
    body: Fields
    requests: dict[str, Span] = field(default_factory=dict)
    answers: list[StoredRecord] = field(default_factory=list)


@dataclass(slots=True)
class Budget:
    """The decoding that a run's recovery may do: a hostile answer shall not hold up the start.

    Of each coded body sixteen times its bytes, and ``spare`` bytes more for all of them together;
    never over *most* bytes of one (0: no bound), as in the crawl. ``spare`` is None for no bound.
    """

    most: int
    spare: int | None

    def inspect(self, block: Source) -> Payload:
        """The facts of the answer in *block*, too big where it would cost too much."""
        if self.spare is None:
            return inspect(block, max_entity=decoded_max(block.size, self.most))
        own = DECODED_TIMES * block.size
        payload = inspect(block, max_entity=min(own + self.spare, self.most or sys.maxsize))
        self.spare -= min(self.spare, max(0, payload.start + payload.length - own))
        return payload


class DeadLog:
    """A dead run's raw WARC files. A torn record ends its file: nothing follows it.

    They stay open until *files* ends. ``bound``: by the id of the warcinfo that has *owner_field*;
    ``notes``: what metadata records say, in order. Of answers whose end was noted the crawl has
    known what they are, so that all together may cost what one may there (``known``); of others
    we can only guess (``unknown``).
    """

    def __init__(self, owner_field: str, files: ExitStack, most: int) -> None:
        self.problems: list[str] = []
        self.bound: dict[str, Bound] = {}
        self.notes: list[dict[str, Any]] = []
        self.known = Budget(most, spare=most or None)
        self.unknown = Budget(most, spare=min(DECODED_SPARE, most or DECODED_SPARE))
        self._owner_field = owner_field
        self._files = files

    def read_all(self, run: Leftover) -> None:
        for name in run.warcs:
            self._read(run, name)

    def _read(self, run: Leftover, name: str) -> None:
        fd = self._files.enter_context(run.reading(name))
        try:
            for record in open_plain(run.folder / name, fd):
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
        bound = self.bound.get(record.fields.first("WARC-Warcinfo-ID"))
        if record.type == "warcinfo":
            body = Fields.parse(block.read(0, block.size))
            if body.first(self._owner_field):
                self.bound[record.id] = Bound(record.id, span_of(record), body)
        elif record.type == "metadata":
            with suppress(ValueError):
                self.notes.append(dict(json.loads(block.read(0, block.size))))
        elif bound and record.type == "request":
            bound.requests[record.id] = span_of(record)
        elif bound and record.type in ("response", "resource"):
            bound.answers.append(record)

    def exchanges(self, found: Bound, budget: Budget) -> tuple[LoggedExchange, ...]:
        """The redirect hops and the last answer; none where no answer came. ``BadWarc``."""
        answers = _without_retries((r, _payload(r, budget)) for r in found.answers)
        return tuple(_exchange(record, payload, found) for record, payload in answers)


def _payload(record: StoredRecord, budget: Budget) -> Payload | None:
    with suppress(BadHttp):
        block = record.block()
        payload = inspect_entity(block) if record.type == "resource" else budget.inspect(block)
        if payload.block_digest == record.fields.first("WARC-Block-Digest"):
            # The record says so; those of before took each PDF with its length for a whole one.
            return replace(payload, ended=not record.fields.first(UNENDED))
    return None


def _is_whole(record: StoredRecord) -> bool:
    """Return whether a power cut left all of *record*; the block of a response is looked at by
    itself.
    """
    if b"\0" in record.header:
        return False
    stated = record.fields.first("WARC-Block-Digest")
    return record.type == "response" or stated == sha256_of(record.block().chunks())


def _without_retries(answers: Iterable[Answer]) -> list[Answer]:
    """The redirect hops and the last answer: of several answers of one URL only the last."""
    kept: list[Answer] = []
    for record, payload in answers:
        if kept and kept[-1][0].url == record.url and not _redirects(kept[-1][1]):
            kept.pop()
        kept.append((record, payload))
    return kept


def _redirects(payload: Payload | None) -> bool:
    return payload is not None and 300 <= payload.status < 400


def span_of(record: StoredRecord) -> Span:
    return Span(path=str(record.path), offset=record.offset, length=record.length)


def _exchange(record: StoredRecord, payload: Payload | None, found: Bound) -> LoggedExchange:
    return LoggedExchange(
        url=record.url,
        time=record.time,
        request=found.requests.get(record.fields.first("WARC-Concurrent-To")),
        response=span_of(record),
        warcinfo=found.span,
        warcinfo_id=found.id,
        payload=payload,
        truncated=record.fields.first("WARC-Truncated"),
    )
