"""Runs of tobi in processes of their own that are killed, refused, or lose their power.

What comes of one store over three changes of its data has to be the same but for its tists,
whatever happened on the way.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

from lafka.archec.checking import check_store
from lafka.archec.gather import gathering, tobis
from lafka.archec.records.opening import anew, catch_up
from lafka.archec.store.folders import ObiStore
from lafka.errors import LafkaError, WarcError
from tests.archec.stores import DAY, START, Home, template, walked
from tests.faults.forks import Run, folder, in_child
from tests.faults.storecalls import KINDS, Call, Plan, Which


def data(phase: int) -> dict[str, str]:
    """RePEc data of a phase."""
    numbers = {0: range(7), 1: range(7), 2: range(2, 9), 3: range(7)}[phase]
    titles = {1: "B", 2: "C"}
    changed = (1, 4, 5)
    return {
        f"abc/wpaper/{n}.rdf": template(n, title=titles.get(phase, "A") if n in changed else "A")
        for n in numbers
    } | {"all/copies.rdf": template(3, title="copy")}


def _small() -> None:
    """Groups and gatherings of a few obis, so that a small store has all their borders."""
    tobis.BATCH, gathering.GROUP, tobis.GROUP, tobis.OBIS_MAX = 2, 4, 4, 5
    gathering.FEW = 1 << 30


class Road:
    """What an ordeal without disturbances taught, once a process, and its folder in each phase."""

    def __init__(self) -> None:
        self.expected: dict[str, list[tuple[str, str]]] = {}
        self.calls: list[list[Call]] = []
        self.before: dict[int, Path] = {}
        self.folders = ExitStack()
        atexit.register(self.folders.close)


@dataclass
class Ordeal:
    """A home that goes through the phases, and what went wrong."""

    phases: ClassVar = 4
    """What the data are in turn: first, changed, some gone, back to the first."""
    road: ClassVar = Road()

    root: Path
    troubles: list[str] = field(default_factory=list)
    runs: int = 0

    @property
    def home(self) -> Home:
        return Home(self.root / "home", now=START + self.runs * DAY)

    def plan(self, **more: Any) -> Plan:
        calls = self.root / "calls"
        calls.unlink(missing_ok=True)
        return Plan(root=str(self.home.archive), told=str(calls), **more)

    def put(self, phase: int) -> None:
        shutil.rmtree(self.home.data, ignore_errors=True)
        self.home.put(data(phase))

    @classmethod
    def prepared(cls) -> Road:
        """Learn once a process what has to come of it, and the calls of each phase."""
        if not cls.road.expected:
            with folder() as root:
                ordeal = cls(root)
                for phase in range(cls.phases):
                    ordeal.put(phase)
                    run = ordeal.run(ordeal.plan(data=True))
                    assert run.code == 0, run.said
                    cls.road.calls.append([call for call in run.calls if call.kind in KINDS])
                assert ordeal.troubles == []
                cls.road.expected |= history(ObiStore(ordeal.home.archive))
        return cls.road

    @classmethod
    def begun(cls, root: Path, phase: int) -> Self:
        """An ordeal that has gone well so far, in front of a phase."""
        before, ordeal = cls.prepared().before, cls(root)
        if phase not in before:
            for earlier in range(phase):
                ordeal.put(earlier)
                assert ordeal.run().code == 0
            ordeal.put(phase)
            before[phase] = cls.road.folders.enter_context(folder()) / "root"
            shutil.copytree(root, before[phase], symlinks=True)
            return ordeal
        shutil.copytree(before[phase], root, symlinks=True, dirs_exist_ok=True)
        ordeal.runs = phase
        ordeal.put(phase)
        return ordeal

    @classmethod
    def every_call(cls, phase: int) -> list[Which]:
        """The n-th call of each kind in a phase."""
        kinds = [call.kind for call in cls.prepared().calls[phase]]
        return [Which(nth=n, kinds=(k,)) for k in KINDS for n in range(1, kinds.count(k) + 1)]

    def work(self) -> Callable[[], object]:
        """What a run does, in a process of its own."""
        return self.home.tobi

    def run(self, plan: Plan | None = None) -> Run:
        work = self.work()
        self.runs += 1

        def small() -> None:
            _small()
            work()

        return in_child(small, self.root / "log", plan)

    def disturbed(self, plan: Plan) -> Run:
        """A run by *plan*; what it leaves is judged at once."""
        run = self.run(plan)
        self.troubles += self.moment()
        return run

    def finish(self, phase: int) -> None:
        """The same command again, and all later phases; then all has to be there."""
        for later in range(phase, self.phases):
            if later != phase:
                self.put(later)
            run = self.run()
            if run.code:
                self.troubles.append(f"the run after it ended with {run.code}: {run.said}")
                return
        self.troubles += self.end()

    def moment(self) -> list[str]:
        """What has to hold whenever a process dies: all that a journal says is there, whole."""
        if not (self.home.archive / "archec.json").exists():
            return []
        try:
            store = ObiStore(self.home.archive)
        except LafkaError as error:
            return [str(error)]
        return list(_missing(store, acknowledged(self.home.archive)))

    def end(self) -> list[str]:
        store, found = ObiStore(self.home.archive), self.moment()
        had, expected = history(store), self.road.expected
        for obi in sorted({*had, *expected}):
            if had.get(obi) != expected.get(obi):
                found.append(f"another history of {obi}: {had.get(obi)}")
        found += [f"{one.code} {one.path}: {one.sentence}" for one in check_store(store.root)]
        walk = self.home.walk()
        with anew(store) as records:
            catch_up(store, records)
            if walked(records) != walk:
                found.append("the records differ from the journals")
        return found


def acknowledged(root: Path) -> list[dict[str, Any]]:
    """The lines of all journals with their tist, up to the first that is none."""
    lines = []
    for path in sorted((root / "journal").glob("*.jsonl")):
        for data in path.read_bytes().splitlines(keepends=True):
            with suppress(ValueError):
                line = json.loads(data) if data.endswith(b"\n") else {}
                lines.append({**line, "tist": int(path.stem)})
    return lines


def _missing(store: ObiStore, lines: list[dict[str, Any]]) -> Iterator[str]:
    for line in lines:
        if line.get("e") in ("appearance", "change"):
            try:
                bytes_ = store.read(line["tist"], line["id"])
            except (LafkaError, WarcError, OSError) as error:
                yield f"acknowledged and not there: {error}"
                continue
            if hashlib.sha256(bytes_).hexdigest() != line["sha256"]:
                yield f"other bytes than were acknowledged: {line['tist']} {line['id']}"


def history(store: ObiStore) -> dict[str, list[tuple[str, str]]]:
    """What happened to each obi: event and text, without tists, and without visits."""
    told_: dict[str, list[tuple[str, str]]] = {}
    for line in acknowledged(store.root):
        if "id" in line and line["e"] not in ("visit", "miss"):
            told_.setdefault(line["id"], []).append((line["e"], line.get("md5", "")))
    return told_


def killed(kind: type[Ordeal], phase: int, which: Which, how: str) -> list[str]:
    """A run killed at one call, and what is wrong after it and after the next ones."""
    with folder() as root:
        ordeal = kind.begun(root, phase)
        run = ordeal.disturbed(ordeal.plan(kill=which, how=how))
        if run.code != -signal.SIGKILL:
            ordeal.troubles.append(f"not killed: {run.code} {run.said}")
        ordeal.finish(phase)
        return [f"phase {phase}, {how} {which}: {trouble}" for trouble in ordeal.troubles]


def refused(kind: type[Ordeal], phase: int, which: Which, number: int, times: int) -> list[str]:
    """A run whose disk says no at one call; it says so in one sentence, or was not disturbed."""
    with folder() as root:
        ordeal = kind.begun(root, phase)
        run = ordeal.disturbed(ordeal.plan(refuse=which, number=number, times=times))
        lines = run.said.splitlines()
        if run.code not in (0, 2) or len(lines) != (run.code == 2) or "Traceback" in run.said:
            ordeal.troubles.append(f"exit {run.code}: {run.said[-2000:]}")
        ordeal.finish(phase)
        return [f"phase {phase}, {number} at {which}: {trouble}" for trouble in ordeal.troubles]
