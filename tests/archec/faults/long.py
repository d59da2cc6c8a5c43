"""Each store call of tobi, and of the road of fobis, killed and refused, for ``make faults``."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.archec.faults import ordeals, powercuts, test_powercuts
from tests.archec.faults.test_kills import ERRORS, FOR_EVER, ROADS, WRITES
from tests.faults.storecalls import Which

PREPARED = tuple(test_powercuts.PREPARED)
"""Runs of either road that can lose their power."""


def calls() -> list[tuple[str, int, Which]]:
    """Each call of each kind in each phase of each road."""
    return [
        (name, phase, which)
        for name, road in ROADS.items()
        for phase in range(road.phases)
        for which in road.every_call(phase)
    ]


def disturbed(name: str, phase: int, which: Which, seed: int) -> Iterator[tuple[str, list[str]]]:
    """Killed there in each way, and refused with two errors: which of them, and what is wrong."""
    road, rng = ROADS[name], random.Random(f"{seed} {name} {phase} {which}")
    halves = ("half",) if which.kinds[0] in WRITES else ()
    for how in ("before", "after", *halves):
        yield "kills", ordeals.killed(road, phase, which, how)
    for error in rng.sample(ERRORS, 2):
        yield "errors", ordeals.refused(road, phase, which, error, rng.choice((1, FOR_EVER)))


def cut(name: str, seed: int, *, points: int, most: int) -> list[str]:
    """The power lost at *points* moments of a run, *most* ways each; what is wrong then."""
    prepare = test_powercuts.PREPARED[name]
    return powercuts.cut(prepare, random.Random(seed), points=points, most=most).troubles
