"""tobi, and the road of fobis, killed and refused at their store calls.

What was acknowledged or captured stays, the command goes on. The short form; ``make faults`` takes
every call (the phase ``archec``).
"""

from __future__ import annotations

import errno
import random

import pytest

from tests import suites
from tests.archec.faults import ordeals
from tests.archec.faults.fobis import FobiOrdeal
from tests.archec.faults.ordeals import Ordeal
from tests.faults.storecalls import Which

ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EMFILE, errno.EDQUOT)
FOR_EVER = 1 << 30
WRITES = ("write", "pwrite")
ROADS: dict[str, type[Ordeal]] = {"tobi": Ordeal, "fobis": FobiOrdeal}
each_phase = pytest.mark.parametrize(
    ("road", "phase"),
    [(name, phase) for name, road in ROADS.items() for phase in range(road.phases)],
)


def some(kind: str, road: str, phase: int, rng: random.Random) -> list[Which]:
    """Calls of a run: the first of each kind, and a dozen by chance; three in the short suite,
    eight in the long ones.
    """
    calls = ROADS[road].every_call(phase)
    first = [which for which in calls if which.nth == 1]
    every = sorted({*first, *rng.sample(calls, 12)}, key=str)
    return suites.few(f"{kind} {road} {phase}", every, 3, most=8)


@pytest.mark.draws("of the store calls")
@pytest.mark.forms(count=2)
@each_phase
def test_a_run_killed_at_its_store_calls_loses_nothing(road, phase):
    rng = random.Random(phase)
    for which in some("kills", road, phase, rng):
        hows = ("before", "half", "after") if which.kinds[0] in WRITES else ("before", "after")
        assert ordeals.killed(ROADS[road], phase, which, rng.choice(hows)) == []


@pytest.mark.draws("of the store calls")
@pytest.mark.forms(count=2)
@each_phase
def test_a_disk_that_says_no_is_told_in_one_sentence_and_the_same_command_goes_on(road, phase):
    rng = random.Random(phase)
    for which in some("refusals", road, phase, rng):
        times = rng.choice((1, 1, FOR_EVER))
        assert ordeals.refused(ROADS[road], phase, which, rng.choice(ERRORS), times) == []


@pytest.mark.forms(count=3)
@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("kind", ["rename", "fdatasync", "symlink", "fsync"])
def test_a_run_killed_again_while_it_recovers_loses_nothing(road, kind):
    with ordeals.folder() as root:
        ordeal = ROADS[road].begun(root, 1)
        ordeal.disturbed(ordeal.plan(kill=Which(nth=3, kinds=("rename",)), how="after"))
        for nth in (1, 2):
            again = Which(nth=nth, kinds=("unlink", kind, "write"))
            ordeal.disturbed(ordeal.plan(kill=again, how="before"))
        ordeal.finish(1)
        assert ordeal.troubles == []


def test_what_was_captured_before_a_kill_is_kept_though_the_site_has_changed_since():
    with ordeals.folder() as root:
        ordeal = FobiOrdeal.begun(root, 0)
        ordeal.disturbed(ordeal.plan(kill=Which(nth=1, kinds=("rename",), path=r"\.draft-\d+$")))
        ordeal.put(1)
        assert list(ordeal._captured())
        run = ordeal.run()
        assert (run.code, ordeal.troubles) == (0, []), run.said


@pytest.mark.parametrize(("road", "more"), [("tobi", set()), ("fobis", {"sendfile", "unlink"})])
def test_the_calls_of_a_road_are_all_kinds_that_a_store_can_be_torn_by(road, more):
    calls = [ROADS[road].every_call(phase) for phase in range(ROADS[road].phases)]
    kinds = {which.kinds[0] for each in calls for which in each}
    written = {"open", "write", "fsync", "fdatasync", "rename", "link", "symlink", "flock"}
    assert written | more <= kinds
