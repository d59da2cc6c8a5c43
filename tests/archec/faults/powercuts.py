"""Power cuts by the model of unsynced writes (``tests/faults/disks``), over runs of tobi.

SQLite writes by calls that the model does not see, so after a cut the database is the one of before
the run: older than the journals, as a power cut may leave it.
"""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lafka.archec.gather.mending import mend
from lafka.archec.store.folders import ObiStore
from tests.archec.faults import ordeals
from tests.archec.faults.ordeals import Ordeal
from tests.faults.disks import DROPPED, Disk, Tree, cuts, put
from tests.faults.storecalls import Call, Site, Which

SYNCS = ("fsync", "fdatasync", "left out")
Line = tuple[str, bytes]
"""The path of a journal, and a line of it."""
Prepare = Callable[[Path], tuple[Ordeal, int]]
"""Makes an ordeal before a run that is to lose its power, and says in which phase it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """What power cuts during one run did, and the calls of that run."""

    troubles: list[str]
    calls: tuple[Call, ...]


def of_phase(phase: int, kind: type[Ordeal] = Ordeal) -> Prepare:
    return lambda root: (kind.begun(root, phase), phase)


def of_kill(kind: type[Ordeal], which: Which, how: str = "before") -> Prepare:
    """A run that was killed at the call *which*."""

    def prepare(root: Path) -> tuple[Ordeal, int]:
        ordeal = kind.begun(root, 1)
        assert ordeal.run(ordeal.plan(kill=which, how=how)).code == -signal.SIGKILL
        return ordeal, 1

    return prepare


class Mending(Ordeal):
    """An ordeal whose last journal was damaged; ``lafka archec mend`` comes before each run."""

    def work(self) -> Callable[[], object]:
        gather = super().work()

        def work() -> None:
            if (self.home.archive / "archec.json").exists():
                list(mend(ObiStore(self.home.archive)))
            gather()

        return work

    def moment(self) -> list[str]:
        return []  # what the damaged journal told is known when it is mended


def of_mending(root: Path) -> tuple[Ordeal, int]:
    """A store of which one byte of a journal was damaged."""
    before = Ordeal.begun(root, 2)
    path = sorted((before.home.archive / "journal").glob("*.jsonl"))[-1]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.chmod(0o644)
    path.write_bytes(data)
    return Mending(root, runs=before.runs), 2


def cut(
    prepare: Prepare, rng: random.Random, *, points: int, most: int, without: Site | None = None
) -> Cut:
    """Cut the power at *points* moments of a run, *most* ways each; what is wrong after each.

    Where a call is left out, the first trouble is enough.
    """
    with ordeals.folder() as root:
        ordeal, phase = prepare(root)
        archive = ordeal.home.archive
        archive.mkdir(exist_ok=True)
        disk = Disk.of(archive)
        run = ordeal.run(ordeal.plan(data=True, without=without))
        assert run.code == 0, run.said
        troubles: list[str] = []
        wanted, judged = _moments(run.calls, rng, points), set[object]()
        for place, call in enumerate(run.calls):
            disk.do(call)
            if place in wanted:
                durable = _lines(disk.tree({}, DROPPED))
                for tree in cuts(disk, rng, most=most):
                    case = frozenset(tree.items()), frozenset(durable)
                    if case in judged:
                        continue
                    judged.add(case)
                    found = _after(tree, durable, ordeal, phase)
                    troubles += [f"power cut after {call}: {trouble}" for trouble in found]
                    if troubles and without is not None:
                        break
                if troubles:
                    break
        return Cut(troubles=troubles, calls=run.calls)


def calls_of(prepare: Prepare) -> tuple[Call, ...]:
    """The calls of a run whose power stays."""
    with ordeals.folder() as root:
        ordeal, _ = prepare(root)
        run = ordeal.run(ordeal.plan(data=True))
        assert run.code == 0, run.said
        return run.calls


def _moments(calls: Sequence[Call], rng: random.Random, points: int) -> set[int]:
    """The moments after journals were synced, the end, and others at random."""
    synced = [n for n, call in enumerate(calls) if call.kind in SYNCS and "/journal/" in call.path]
    chosen = rng.sample(synced, min(points // 2, len(synced)))
    return {*chosen, len(calls) - 1, *rng.sample(range(len(calls)), points - len(chosen))}


def _after(tree: Tree, durable: set[Line], before: Ordeal, phase: int) -> list[str]:
    """What is wrong in *tree* by the lines that were *durable*, and when the run is begun again."""
    with ordeals.folder() as root:
        again = type(before)(root, runs=before.runs)
        archive = again.home.archive
        archive.mkdir(parents=True)
        put(tree, archive)
        again.put(phase)
        found = [f"gone from its journal: {line}" for line in durable - _lines(tree)]
        again.troubles += found + again.moment()
        again.finish(phase)
        return again.troubles


def _lines(tree: Tree) -> set[Line]:
    """Lines of journals that are there for good, by the names that are."""
    return {
        (path, line)
        for path, data in tree.items()
        if path.startswith("journal/") and path.endswith(".jsonl") and data
        for line in data.splitlines(keepends=True)
        if line.endswith(b"}\n")
    }
