"""Crawls that are killed, again and again, and the run that finishes what they began."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults import invariants
from tests.faults.crawls import Crawls, Run
from tests.faults.invariants import Prefixes
from tests.faults.sites import FaultSite, Line
from tests.faults.storecalls import KINDS, Call, Plan, Which

HOWS = ("before", "half", "after")


@dataclass(slots=True)
class Ordeal:
    """One archive, what has to come of it, and what went wrong."""

    crawls: Crawls
    site: FaultSite
    count: int | None = None
    shared: bool = False
    """Several crawls at once: what one has acknowledged, another leaves open when it is killed."""
    kills: int = 0
    acknowledged: int = 0
    earlier: int = 0
    slowest: float = 0.0
    troubles: list[str] = field(default_factory=list)
    folder: Path = field(init=False)
    archive: Path = field(init=False)
    list_: Path = field(init=False)
    prefixes: Prefixes = field(default_factory=Prefixes)
    calls: list[Call] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder = self.crawls.folder()
        self.archive = self.folder / "archive"
        self.list_ = self.site.list(self.folder, self.count)

    @property
    def lines(self) -> Sequence[Line]:
        return self.site.lines[: self.count]

    def plan(self, **what: object) -> Plan:
        return Plan(root=str(self.folder), **what)  # type: ignore[arg-type]

    def run(self, plan: Plan | None = None, **settings: object) -> Run:
        run = self.crawls.run(self.archive, self.list_, plan or self.plan(), **settings)
        self.look(run)
        return run

    def look(self, run: Run, what: str = "") -> None:
        """Judge the archive as *run* has left it."""
        self.kills += run.killed
        found = invariants.of_the_process(run)
        if self.archive.exists():
            sent = self.site.sent(self.count)
            found += invariants.at_any_moment(self.archive, self.lines, sent)
            found += self.prefixes.look(self.archive)
        self.troubles += [f"{what} {trouble}" for trouble in found]

    def finish(self, **settings: object) -> Run:
        """Run the same command undisturbed; then all has to be there, and be there to stay."""
        run = self.run(**settings)
        expected = any(line.outcome == "other-type" for line in self.lines)
        wrong = [t for t in run.troubles if not (expected and "neither PDF nor HTML" in t)]
        if run.code or wrong:
            self.troubles.append(f"the finishing run ended with {run.code}: {wrong}")
        sent = self.site.sent(self.count)
        self.troubles += invariants.at_the_end(self.archive, self.lines, sent)
        runs = invariants.acknowledged(self.archive)[:-1]
        self.acknowledged = sum(len(told) for told in runs)
        if not self.shared:
            self.troubles += _asked_again(runs, invariants.acknowledged(self.archive)[-1])
        return run


def _asked_again(before: Sequence[Sequence[dict]], last: Sequence[dict]) -> Iterator[str]:  # type: ignore[type-arg]
    """Futlis whose fut was acknowledged and that were asked for all the same."""
    had = {(t["pid"], t["futli"]) for run in before for t in run if t["outcome"] == "fut"}
    for told in last:
        if (told["pid"], told["futli"]) in had and told["requests"]:
            yield f"{told['futli']} was asked again although its fut was acknowledged"


def undisturbed(
    crawls: Crawls, site: FaultSite, count: int | None = None, *, batch: int = 0
) -> list[Call]:
    """The calls of a crawl that nobody disturbs."""
    ordeal = Ordeal(crawls, site, count)
    run = ordeal.run(ordeal.plan(batch=batch))
    ordeal.finish()
    assert not ordeal.troubles, ordeal.troubles
    return [call for call in run.calls if call.kind in KINDS]


TOLD_A_LINE = 8_000
"""Bytes that a crawl tells of its calls for each line of the list, or somewhat less."""


def at_random(crawls: Crawls, site: FaultSite, rng: random.Random, *, kills: int) -> Ordeal:
    """Kill so many crawls of one archive at random moments; then finish.

    A moment is drawn from the whole of the work that is left, whatever time it takes on a busy
    machine, and some milliseconds.
    """
    ordeal = Ordeal(crawls, site)
    while ordeal.kills < kills:
        going = crawls.start(ordeal.archive, ordeal.list_, ordeal.plan())
        left = len(ordeal.lines) - len(_acknowledged(ordeal.archive))
        ended = going.tells(int(rng.uniform(0, left * TOLD_A_LINE)))
        if not ended and not going.ends_within(rng.uniform(0, 0.02)):
            going.kill()
        ordeal.look(going.ended(), f"killed at random, kill {ordeal.kills}:")
        if ended:  # begin anew, and keep what was counted
            ordeal.finish()
            done, ordeal = ordeal, Ordeal(crawls, site)
            ordeal.kills, ordeal.troubles = done.kills, done.troubles
            ordeal.earlier = done.earlier + done.acknowledged
    ordeal.finish()
    return ordeal


def _acknowledged(archive: Path) -> set[str]:
    """The futlis that any run has told the outcome of."""
    return {told["futli"] for run in invariants.acknowledged(archive) for told in run}


def at_calls(
    crawls: Crawls, site: FaultSite, whiches: Sequence[tuple[Which, str]],
    count: int | None = None, *, batch: int = 0,
) -> Ordeal:  # fmt: skip
    """Kill one crawl at each of *whiches*, all of one archive; then finish."""
    ordeal = Ordeal(crawls, site, count)
    for which, how in whiches:
        plan = ordeal.plan(kill=which, how=how, batch=batch)
        run = crawls.run(ordeal.archive, ordeal.list_, plan)
        ordeal.look(run, f"killed {how} {which}:")
    ordeal.finish()
    return ordeal


def every_call(calls: Sequence[Call]) -> list[Which]:
    """The n-th call of each kind, for each n that *calls* had."""
    counts = {kind: sum(call.kind == kind for call in calls) for kind in KINDS}
    return [
        Which(nth=n, kinds=(kind,)) for kind, count in counts.items() for n in range(1, count + 1)
    ]
