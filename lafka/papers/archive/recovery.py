"""Recovery: what a killed run captured and did not copy becomes trails of papers again.

The raw log of a run is the crawl's write-ahead log (:mod:`lafka.capture.rawlog`). Which of its
records are a trail's, and which trails had ended, stands in their warcinfos and in the notes of
their ends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from lafka.capture.readback import Budget, DeadLog, recovered
from lafka.capture.verdicts import judge
from lafka.errors import BadPid, BadWarc, KeeperError
from lafka.papers.archive.archives import Archive
from lafka.papers.archive.paperwarc import Stored, TrailRecord
from lafka.papers.lists.futlis import Futli
from lafka.papers.origins import FUTLI, PAPER_ID, Origin
from lafka.papers.outcomes import Outcome
from lafka.papers.walk import Ask, Capture, Trail
from lafka.pids import Pid
from lafka.storage.keeper import Commit, all_done
from lafka.storage.steps import Steps
from lafka.warc.format.fields import Fields

AT_ONCE = 64
"""Trails that are stored before the next ones are: after trouble of the disk no more are tried."""


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
    """The result of one recovered run: trails copied, those of them left open, problems.

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
    papers = Papers(archive)
    for found in recovered(papers, keep=keep, max_entity=max_entity, stopped=stopped):
        trails, reopened = found.taken or (0, 0)
        yield Recovery(run=found.run, trails=trails, opened=reopened, problems=found.problems)


@dataclass(frozen=True, slots=True)
class Papers:
    """An archive of papers as the road knows it: a ``CrawlStore``."""

    archive: Archive
    owner_field: str = PAPER_ID

    @property
    def root(self) -> Path:
        return self.archive.root

    def take_up(self, log: DeadLog, run: str) -> tuple[int, int]:  # noqa: ARG002
        """Return how many trails were copied, and how many of them are left open."""
        copied, reopened = 0, 0
        with closing(_read_ahead(_TrailsInLog(log, self.archive).trails())) as batches:
            for trail, stored in chain.from_iterable(map(self._stored, batches)):
                if isinstance(stored, KeeperError):
                    log.problems.append(str(stored))
                elif trail.record.captures:
                    copied += 1
                    reopened += trail.record.opened
        return copied, reopened

    def _stored(self, trails: Sequence[_Trail]) -> Iterator[tuple[_Trail, Stored | None]]:
        """Yield what came of each, stored side by side; raises what storing one of them did."""
        commits = [
            Commit[Stored](key=t.pid.path, make_steps=self._storing, argument=t) for t in trails
        ]
        all_done(commits)
        for trail, commit in zip(trails, commits, strict=True):
            if commit.error:
                raise commit.error
            yield trail, commit.result

    def _storing(self, trails: Sequence[_Trail]) -> Steps[Sequence[Stored]]:
        return self.archive.storing(trails[0].pid, [trail.record for trail in trails])


@dataclass(frozen=True, slots=True)
class _Trail:
    """A trail of *pid* that is to be stored."""

    pid: Pid
    record: TrailRecord


def _read_ahead(trails: Iterator[_Trail]) -> Generator[list[_Trail]]:
    """Lists of *trails*, the next of which a thread reads while the last one is stored.

    That thread has ended when this has: it reads files that are closed then.
    """

    def following() -> list[_Trail]:
        return [*islice(trails, AT_ONCE)]

    with ThreadPoolExecutor(1, thread_name_prefix="lafka-recovery") as reader:
        coming = reader.submit(following)
        while some := coming.result():
            coming = reader.submit(following)
            yield some


class _TrailsInLog:
    """The trails in a dead run's log."""

    def __init__(self, log: DeadLog, archive: Archive) -> None:
        self._log = log
        self._archive = archive

    def trails(self) -> Iterator[_Trail]:
        """Each trail with what of it belongs into its paper WARC; its answers are read for it."""
        ended: set[str] = set()
        futlis: set[tuple[str, str]] = set()
        for end in self._log.notes:
            ids = [i for i in end.get("captures", ()) if i in self._log.bound]
            ended.update(ids)
            futlis.add((str(end.get("pid")), str(end.get("futli"))))
            known = [self._capture(i, self._log.known) for i in ids]
            captures = [c for c in known if c and c.is_kept]
            if captures:
                yield _trail(captures, opened=len(captures) < len(ids))
            elif not ids and (futli := self._closed(end)):
                yield _Trail(futli.pid, TrailRecord(closes=futli.url))
        opened: dict[tuple[str, str], list[Capture]] = defaultdict(list)
        for found in self._log.bound.values():
            key = (found.body.first(PAPER_ID), found.body.first(FUTLI))
            if key in futlis or found.id in ended:
                continue
            capture = self._capture(found.id, self._log.unknown)
            if capture and _belongs(capture):
                opened[key].append(capture)
        for captures in opened.values():
            yield _trail(captures, opened=True)

    def _closed(self, end: dict[str, Any]) -> Futli | None:
        """The futli of a trail without captures, where the site had the last word on it."""
        with suppress(ValueError):  # an outcome of another version, or a pid
            if not Outcome(str(end.get("outcome"))).may_pass:
                return Futli(pid=self._archive.pid(str(end.get("pid"))), url=str(end.get("futli")))
        return None

    def _capture(self, warcinfo_id: str, budget: Budget) -> Capture | None:
        """The capture of a warcinfo; None where no answer of it can be used."""
        found = self._log.bound[warcinfo_id]
        try:
            exchanges = self._log.exchanges(found, budget)
            if not exchanges:
                return None
            ask = _ask(found.body, self._archive)
        except (BadPid, BadWarc) as error:
            self._log.problems.append(str(error))
            return None
        last = exchanges[-1]
        return Capture(
            ask=ask,
            url=last.url,
            time=last.time,
            outcome=Outcome.from_verdict(judge(last.payload, truncated=last.truncated)),
            payload=last.payload,
            exchanges=exchanges,
        )


def _trail(captures: list[Capture], *, opened: bool) -> _Trail:
    return _Trail(captures[0].ask.futli.pid, TrailRecord(captures=captures, opened=opened))


def _ask(body: Fields, archive: Archive) -> Ask:
    futli = Futli(pid=archive.pid(body.first(PAPER_ID)), url=body.first(FUTLI))
    return Ask(futli=futli, number=0, url="", origin=Origin.of_fields(body))


def _belongs(capture: Capture) -> bool:
    """Return whether the capture of a trail without an end goes into the paper WARC."""
    if capture.ask.origin.html_url:
        return capture.is_pdf or capture.is_unended
    return capture.is_kept
