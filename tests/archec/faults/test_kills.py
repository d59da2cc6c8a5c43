"""tobi killed and refused at its store calls: what was acknowledged stays, the command goes on.

The short form; ``make faults`` takes every call (the phase ``archec``).
"""

from __future__ import annotations

import errno
import random

import pytest

from tests import suites
from tests.archec.faults import ordeals
from tests.faults.storecalls import Which

ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EMFILE, errno.EDQUOT)
FOR_EVER = 1 << 30
WRITES = ("write", "pwrite")


def some(kind: str, phase: int, rng: random.Random) -> list[Which]:
    """Calls of a run: the first of each kind, and a dozen by chance; in the short suite a few."""
    calls = ordeals.every_call(phase)
    first = [which for which in calls if which.nth == 1]
    every = sorted({*first, *rng.sample(calls, 12)}, key=str)
    return suites.few(f"{kind} {phase}", every, suites.DRAWN // ordeals.PHASES)


@pytest.mark.forms(count=2)
@pytest.mark.parametrize("phase", range(ordeals.PHASES))
def test_tobi_killed_at_its_store_calls_loses_nothing(phase):
    rng = random.Random(phase)
    for which in some("kills", phase, rng):
        hows = ("before", "half", "after") if which.kinds[0] in WRITES else ("before", "after")
        assert ordeals.killed(phase, which, rng.choice(hows)) == []


@pytest.mark.forms(count=2)
@pytest.mark.parametrize("phase", range(ordeals.PHASES))
def test_a_disk_that_says_no_is_told_in_one_sentence_and_the_same_command_goes_on(phase):
    rng = random.Random(phase)
    for which in some("refusals", phase, rng):
        times = rng.choice((1, 1, FOR_EVER))
        assert ordeals.refused(phase, which, rng.choice(ERRORS), times) == []


@pytest.mark.parametrize("kind", ["rename", "fdatasync", "symlink", "fsync"])
def test_tobi_killed_again_while_it_recovers_loses_nothing(kind):
    with ordeals.folder() as root:
        ordeal = ordeals.begun(root, 1)
        which = Which(nth=3, kinds=("rename",))
        ordeal.disturbed(ordeal.plan(kill=which, how="after"))
        for nth in (1, 2):
            again = Which(nth=nth, kinds=("unlink", kind, "write"))
            ordeal.disturbed(ordeal.plan(kill=again, how="before"))
        ordeal.finish(1)
        assert ordeal.troubles == []


def test_the_calls_of_tobi_are_all_kinds_that_a_store_can_be_torn_by():
    kinds = {
        which.kinds[0] for phase in range(ordeals.PHASES) for which in ordeals.every_call(phase)
    }
    assert {"open", "write", "fsync", "fdatasync", "rename", "link", "symlink", "flock"} <= kinds
