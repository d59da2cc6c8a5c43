"""The paper WARC and its suwaf: what trails captured is appended, and named (docs/formats.md).

Papers can be stored side by side, each in its own order (:func:`storing`), or one by one
(:func:`locked`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from lafka.capture.rawlog import CONNECTION, PULLED
from lafka.errors import BadPid, BadWarc, KeeperError, StorageTrouble
from lafka.papers.archive.cache import PaperCache
from lafka.papers.archive.contents import (
    CodedFut,
    HeldPayload,
    Info,
    PaperContents,
    PaperScanner,
    Visit,
    fut_in,
    fut_of,
    literal_place,
)
from lafka.papers.archive.suwafs import Fut, Suwaf
from lafka.papers.walk import Capture
from lafka.pids import Pid, Scheme
from lafka.storage.keeping.contents import Conversion, RecordGroup
from lafka.storage.keeping.stores import SummarisedWarc
from lafka.storage.locks import Lock, held, locking
from lafka.storage.steps import Steps, done
from lafka.warc.format.fields import one_line
from lafka.warc.reading.stored import StoredRecord
from lafka.warc.writing.appending import Files

T = TypeVar("T")

# Header fields of a response that hold for its revisit record too.
OF_THE_VISIT = ("WARC-Warcinfo-ID", "WARC-Concurrent-To", *CONNECTION, *PULLED)


class PaperGroup(RecordGroup):
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
        if capture.ask.origin.inside:
            self.add_metadata(record, capture.ask.origin.metadata())
        return True

    def _response(self, capture: Capture, record: StoredRecord) -> None:
        payload = capture.payload
        assert payload is not None
        begin = self.copy(record)
        assert begin is not None
        block = begin + len(record.header)
        held = HeldPayload.of(record)
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
            self.convert_stored(CodedFut(record=record, payload=payload))

    def convert_stored(self, unconverted: CodedFut) -> None:
        """Plan a conversion record whose block is the fut of a response.

        The response is wherever ``unconverted.record`` says: a raw WARC, or this one.
        """
        record, payload = unconverted.record, unconverted.payload
        made = self.add_conversion(
            record,
            Conversion(
                media_type="application/pdf", digest=payload.digest, length=payload.length,
                pieces=partial(fut_in, record, payload), name="fut",
            ),
        )  # fmt: skip
        held = HeldPayload.of(record, made.block, payload.length)
        self.held[payload.digest] = replace(held, record_id=made.id)

    def _revisit(self, capture: Capture, record: StoredRecord, held: HeldPayload) -> None:
        """Plan a revisit whose block is the head that the answer has."""
        assert capture.payload is not None
        self.add_revisit(
            record, held.original, digest=capture.payload.digest,
            head_length=capture.payload.body, visit_fields=OF_THE_VISIT,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailRecord:
    """A trail as its paper stores it: its captures, or the futli that it closes without one.

    ``opened``: its futli is to be asked again.
    """

    captures: Sequence[Capture] = ()
    opened: bool = False
    closes: str = ""

    @property
    def leaves_open(self) -> bool:
        """True where it has captures, and nothing among them is the site's last word."""
        return bool(self.captures) and not any(c.outcome.is_stored for c in self.captures)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCapture:
    """A fut of a capture as its suwaf names it; ``new`` where its bytes were stored just now."""

    capture: Capture
    fut: Fut
    new: bool


Stored = list[StoredCapture] | KeeperError
"""The futs of a trail, or why the paper could not take it."""


class PaperWarc(SummarisedWarc[PaperContents]):
    """One paper's WARC and suwaf, locked and recovered; made by :func:`locked`."""

    summary_name = "suwaf"

    def __init__(
        self, suwaf_path: Path, pid: Pid, scheme: Scheme, lock: Lock, cache: PaperCache
    ) -> None:
        super().__init__(lock, suwaf_path)
        self.pid = pid
        self.suwaf = Suwaf(pid=pid)
        self._scheme = scheme
        self._cache = cache

    @property
    def committed_end(self) -> int:
        return self.suwaf.end

    def load_summary(self) -> None:
        if known := self._cache.suwaf(self.summary_path, self.pid):
            self.suwaf = known.copy()

    def reading_contents(self) -> Steps[None]:
        if self._contents is None:
            status = os.fstat(self.lock.fd)
            self._contents = self._cache.contents(self.suwaf, status)
            if self._contents is None and self.lock.is_draft and not status.st_size:
                self._contents = PaperContents()  # a paper that is new
        yield from super().reading_contents()

    def scanner(self, trusted_to: int) -> PaperScanner:
        chain = self.suwaf.chain if trusted_to else ""
        return PaperScanner(
            self.lock.fd, self.lock.path,
            trusted_to=trusted_to, chain=chain, is_paper=self._is_paper,
        )  # fmt: skip

    def _is_paper(self, text: str) -> bool:
        """Return whether the Paper-Id *text*, in any spelling, is that of this paper."""
        with suppress(BadPid):
            return self._scheme.pid(text).path == self.pid.path
        return False

    def make_summary(self) -> Steps[None]:
        """Make the suwaf of the contents; futs that stand coded in answers get a conversion."""
        opened = self.suwaf.open
        with Files() as files:
            plan = PaperGroup(self.contents, files)
            for unconverted in list(self.contents.unconverted.values()):
                plan.convert_stored(unconverted)
            # What a killed writer left may not be on the disk yet.
            yield from self.writing(plan, sync=True)
        self.suwaf = self.contents.suwaf(self.pid)
        self.suwaf.open = opened

    def summary_bytes(self) -> bytes:
        self.suwaf.end = self.contents.end
        self.suwaf.chain = self.contents.chain_text
        return self.suwaf.to_bytes()

    def append(self, captures: Sequence[Capture], *, opened: bool = False) -> list[StoredCapture]:
        """:meth:`appending` of one trail, at once."""
        return done(self.appending([TrailRecord(captures=captures, opened=opened)]))[0]

    def appending(self, trails: Sequence[TrailRecord]) -> Steps[list[list[StoredCapture]]]:
        """Copy what *trails* captured, in their order, and commit once.

        Of each trail the futs, as the suwaf now names them. A payload that is held already becomes
        a revisit; a page that is held already adds nothing at all where its trail had no fut.
        Records that the WARC holds were copied before and are passed over.
        """
        yield from self.reading_contents()
        before = self.suwaf.open
        with Files() as files:
            plan = PaperGroup(self.contents, files)
            ends = []
            for trail in trails:
                plan.add_all(trail.captures)
                ends.append(len(plan.added))
                self._note(trail)
            if plan.pieces or before != self.suwaf.open:
                yield from self.writing(plan)
                self._name_visits(plan)
                yield from self.committing()
            else:
                yield from self.keeping_name(self.summary_path)
        # It spares the paper's next writer to read what this one knows.
        self._cache.keep(self.summary_path, self.suwaf, self._contents, os.fstat(self.lock.fd))
        named = [self._named(entry) for entry in plan.added]
        return [named[begin:end] for begin, end in pairwise([0, *ends])]

    def _named(self, entry: tuple[Capture, str, bool]) -> StoredCapture:
        capture, digest, new = entry
        held = self.contents.futs[digest]
        return StoredCapture(capture=capture, fut=fut_of(visit_of(capture, digest), held), new=new)

    def _note(self, trail: TrailRecord) -> None:
        """Note whether the futli of *trail* is to be asked again."""
        futli = trail.closes
        if trail.captures:
            futli = trail.captures[0].ask.futli.url
        stays = futli in self.suwaf.open and trail.leaves_open
        if not (trail.opened or stays):
            self.suwaf.open = tuple(name for name in self.suwaf.open if name != futli)
        elif futli not in self.suwaf.open:
            self.suwaf.open = (*self.suwaf.open, futli)

    def _name_visits(self, plan: PaperGroup) -> None:
        for visit in plan.visits:
            self.suwaf.add(visit.info.futli, visit.time, fut_of(visit, plan.held[visit.digest]))


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperFiles:
    """The paths of the files of the paper *pid*, by the *scheme*, and what is known of papers."""

    warc: Path
    suwaf: Path
    pid: Pid
    scheme: Scheme
    cache: PaperCache

    def paper(self, lock: Lock) -> PaperWarc:
        return PaperWarc(self.suwaf, self.pid, self.scheme, lock, self.cache)


@contextmanager
def locked(files: PaperFiles, *, recover: bool = True) -> Iterator[PaperWarc]:
    """The paper of *files*, locked against every other writer, and recovered.

    What is known of it is not read again, and forgotten where anything is raised. A paper that is
    not here yet comes to be with its first commit. Raises as :meth:`PaperWarc.recovering` does, and
    ``StorageTrouble`` for any ``OSError`` while it is locked.
    """
    with held(files.warc) as lock:
        paper = files.paper(lock)
        try:
            if recover:
                done(paper.recovering())
            yield paper
        except BaseException:
            files.cache.forget(files.pid)
            raise


def storing(files: PaperFiles, trails: Sequence[TrailRecord]) -> Steps[list[Stored]]:
    """Store what *trails* of the paper of *files* left, as within :func:`locked`, in steps.

    One commit stores all; where the paper cannot take one of them, each has its own.
    ``StorageTrouble``.
    """
    try:
        return [*(yield from _storing(files, trails))]
    except KeeperError as error:
        if len(trails) == 1:
            return [error]
    found: list[Stored] = []
    for trail in trails:
        found += yield from storing(files, [trail])
    return found


def _storing(files: PaperFiles, trails: Sequence[TrailRecord]) -> Steps[list[list[StoredCapture]]]:
    if not any(trail.captures for trail in trails):
        suwaf = files.cache.suwaf(files.suwaf, files.pid)
        if not (suwaf and any(trail.closes in suwaf.open for trail in trails)):
            return [[] for _ in trails]

    def append(paper: PaperWarc) -> Steps[list[list[StoredCapture]]]:
        yield from paper.recovering()
        return (yield from paper.appending(trails))

    return (yield from working(files, append))


def working(files: PaperFiles, work: Callable[[PaperWarc], Steps[T]]) -> Steps[T]:
    """Do *work* on the paper of *files* while it is locked; what is raised forgets the paper.

    ``StorageTrouble`` for any ``OSError``.
    """
    try:
        lock = yield from locking(files.warc)
        try:
            return (yield from work(files.paper(lock)))
        except BaseException:
            files.cache.forget(files.pid)
            raise
        finally:
            lock.release()
    except OSError as error:
        raise StorageTrouble(error.filename or files.warc, error) from error
