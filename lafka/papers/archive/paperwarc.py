"""The paper WARC and its suwaf: what trails captured is appended, and named (docs/formats.md).

Papers can be stored side by side, each in its own order (:func:`storing`), or one by one
(:func:`locked`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from lafka.errors import BadPid, KeeperError, StorageTrouble
from lafka.keeping.stores import SummarisedWarc
from lafka.papers.archive.cache import PaperCache
from lafka.papers.archive.contents import PaperContents, PaperScanner, fut_of
from lafka.papers.archive.plans import Plan, visit_of
from lafka.papers.archive.suwafs import Fut, Suwaf
from lafka.papers.walk.asks import Capture
from lafka.pids import Pid, Scheme
from lafka.storage.locks import Lock, held, locking
from lafka.storage.steps import Steps, done
from lafka.warc.writing.copying import Files


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
            plan = Plan(self.contents, files)
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
            plan = Plan(self.contents, files)
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

    def _name_visits(self, plan: Plan) -> None:
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
    try:
        lock = yield from locking(files.warc)
        try:
            paper = files.paper(lock)
            yield from paper.recovering()
            return (yield from paper.appending(trails))
        except BaseException:
            files.cache.forget(files.pid)
            raise
        finally:
            lock.release()
    except OSError as error:
        raise StorageTrouble(error.filename or files.warc, error) from error
