"""A run of ``lafka tobi``: lock, recovery, tist, gatherings, problems; and what came of it."""

from __future__ import annotations

import hashlib
import json
import os
import socket
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lafka.archec.gather.found_templates import read_tobi
from lafka.archec.gather.gathering import Gathering, NewObi
from lafka.archec.gather.loss_rules import LossCheck, LossRule
from lafka.archec.gather.recovery import RecoveredGathering, UnlistedFiles, recover
from lafka.archec.gather.sources import RedifSource
from lafka.archec.gather.tobis import Clocks, TobiRun
from lafka.archec.gather.unchanged_files import UnchangedFiles
from lafka.archec.records import Content, DataProblem, Kind, Records, content_of
from lafka.archec.records.opening import open_records, rarely_collected
from lafka.archec.redif.vocabulary import Problem
from lafka.archec.store.folders import ObiStore
from lafka.archec.store.lines import Line, first_line
from lafka.errors import BadArgument, StorageTrouble
from lafka.warc.format.sources import CHUNK


@contextmanager
def empty_store() -> Iterator[tuple[ObiStore, Records]]:
    """A store without anything, and its records, in a folder of its own that goes with it."""
    with TemporaryDirectory(prefix="lafka-") as folder:
        store = ObiStore.create(folder)
        with closing(open_records(store)) as records:
            yield store, records


class DryGathering(Gathering):
    """Takes what a gathering takes, and counts it."""

    def __init__(self, tist: int) -> None:
        self.tist = tist
        self.stored = 0
        self.counts: Counter[str] = Counter()

    @property
    def waiting(self) -> int:
        return 0

    def expect(self, md5s: Iterable[str]) -> None:
        pass

    def put(self, obi: NewObi) -> Content:
        self.note(obi.line)
        self.stored += 1
        return content_of(Kind.of(obi.line["id"]), self.tist, obi.line)

    def note(self, line: Line) -> None:
        self.counts[line["e"]] += 1

    def commit(self) -> None:
        pass

    def begin_commit(self) -> None:
        pass

    def end(self, **_: object) -> None:
        pass

    def close(self) -> None:
        pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The task of a run: ``at`` is the tist of its first gathering, None for now.

    ``dry`` writes nothing and tells what would come of it; ``in_full`` takes a digest of each file.
    """

    rule: LossRule
    clocks: Clocks
    at: int | None = None
    dry: bool = False
    in_full: bool = False


@dataclass(slots=True, kw_only=True)
class TobiReport:
    """The outcome of a run: ``counts`` of events, ``withheld`` archive -> losses not believed.

    ``tists`` of its gatherings; ``problems`` by code; ``whole`` whether the source was read to
    its end; ``unread`` the folders of archives of which something could not be read; ``moved`` by
    how many seconds the tist is later than the clock.
    """

    tists: list[int] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)
    withheld: dict[str, int] = field(default_factory=dict)
    recovered: list[RecoveredGathering] = field(default_factory=list)
    whole: bool = True
    unread: set[str] = field(default_factory=set)
    moved: int = 0

    @property
    def is_sure(self) -> bool:
        """True where all could be read, and each loss was believed."""
        return self.whole and not self.unread and not self.withheld


def gather_tobis(store: ObiStore, records: Records, source: RedifSource, plan: Plan) -> TobiReport:
    """Take what *source* has into *store*.

    ``ArchiveBusy`` where another run does so, ``BadArgument`` for a time that is over,
    ``StorageTrouble``, ``RecordsAway``: the same command goes on.
    """
    with nullcontext() if plan.dry else store.locked(Kind.TOBI), rarely_collected():
        report = TobiReport()
        if not plan.dry:
            report.recovered = list(
                recover(store, records, Kind.TOBI, UnlistedFiles(read_tobi=read_tobi))
            )
        last = _last(records)
        tist = _tist(last, plan, report)
        run = run_name(plan.clocks.now(), tist)
        with (
            _problems(store, records, run, plan) as tell,
            closing(_passing(records, last, plan)) as passing,
        ):
            head = _head(store, source, plan, run)
            begin = _beginner(store, records, plan, head, tist)

            def told(problem: Problem) -> None:
                report.problems[problem.code] += 1
                tell(problem)

            gathers = TobiRun(
                records, source, begin, tist=tist, clocks=plan.clocks, tell=told,
                passing=passing, replays=plan.at is not None,
                check=partial(LossCheck, store, records, source, proofs=passing.proofs,
                              rule=plan.rule),
            )  # fmt: skip
            report.counts = gathers.gather()
            if not plan.dry:
                passing.keep(gathers.gatherings[-1])
            report.withheld = gathers.withheld
        report.tists, report.whole = gathers.gatherings, source.whole
        report.unread = source.unread
        return report


def _passing(records: Records, last: int, plan: Plan) -> UnchangedFiles:
    return UnchangedFiles(records, last, now=plan.clocks.now(), in_full=plan.in_full)


def _last(records: Records) -> int:
    """The tist of the last gathering of tobis, 0 before the first."""
    tobi = [gathering.tist for gathering in records.gatherings() if gathering.kind == Kind.TOBI]
    return max(tobi, default=0)


def _tist(last: int, plan: Plan, report: TobiReport) -> int:
    """The tist to begin with: time goes forward, whatever the clock says."""
    if plan.at is not None:
        if plan.at <= last:
            raise BadArgument(
                f"--at {plan.at} is not after {last}, the last gathering: time goes forward"
            )
        return plan.at
    now = plan.clocks.now()
    report.moved = max(0, last + 1 - now)
    return max(now, last + 1)


def _head(store: ObiStore, source: RedifSource, plan: Plan, run: str) -> dict[str, Any]:
    """Return what the first line of each journal of this run says."""
    told = {} if plan.dry else told_source(source, store)
    return first_line(Kind.TOBI, run, source=told, at=plan.at is not None)


def _beginner(
    store: ObiStore, records: Records, plan: Plan, head: Mapping[str, Any], first: int
) -> Callable[[int], Gathering]:
    def begin(tist: int) -> Gathering:
        if plan.dry:
            return DryGathering(tist)
        exactly = plan.at is not None and tist == first
        return Gathering.begin(store, records, Kind.TOBI, head, not_before=tist, exactly=exactly)

    return begin


def told_source(source: RedifSource, store: ObiStore) -> str | dict[str, str]:
    """Return how a journal names *source*: below the home where it is there; a tarball by its
    SHA-256.
    """
    home = store.root.resolve().parent
    within = source.path.is_relative_to(home)
    name = str(source.path.relative_to(home) if within else source.path)
    if source.path.is_dir():
        return name
    return {"tarball": name, "sha256": _sha256(source.path)}


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while data := file.read(CHUNK):
                digest.update(data)
    except OSError as error:
        raise StorageTrouble(path, error) from error
    return digest.hexdigest()


def run_name(now: int, tist: int) -> str:
    """A name for this run that no other has: UTC time, host, process, tist."""
    time = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
    return f"{time}-{socket.gethostname().partition('.')[0]}-{os.getpid()}-{tist}"


@contextmanager
def _problems(
    store: ObiStore, records: Records, run: str, plan: Plan
) -> Iterator[Callable[[Problem], None]]:
    """Takes problems into ``runs/<run>.problems.jsonl``, and at the end into the records."""
    if plan.dry:
        yield lambda _: None
        return
    path = store.root / "runs" / f"{run}.problems.jsonl"
    told = _ToldProblems(path)
    try:
        yield told.tell
    finally:
        told.close()
    records.keep_problems(run, told.read())


class _ToldProblems:
    """A file of problems that is made for the first one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: Any = None

    def tell(self, problem: Problem) -> None:
        try:
            if self._file is None:
                self._file = self._path.open("x", encoding="utf-8")
            values = {name: getattr(problem, name) for name in Problem.__slots__}
            self._file.write(json.dumps(values) + "\n")
        except OSError as error:
            raise StorageTrouble(self._path, error) from error

    def close(self) -> None:
        try:
            if self._file is not None:
                self._file.close()
        except OSError as error:
            raise StorageTrouble(self._path, error) from error

    def read(self) -> Iterator[DataProblem]:
        if self._file is None:
            return
        try:
            with self._path.open(encoding="utf-8") as lines:
                for line in lines:
                    yield _data_problem(json.loads(line))
        except OSError as error:
            raise StorageTrouble(self._path, error) from error


def _data_problem(values: Mapping[str, Any]) -> DataProblem:
    parts = [part for part in values["file"].split("/") if part != "RePEc"]
    archive = parts[0].lower() if len(parts) > 1 else ""
    return DataProblem(archive=archive, **values)
