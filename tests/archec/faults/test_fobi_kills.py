"""The road of fobis killed and refused at its store calls: what was acknowledged or captured stays.

The short form; ``make faults`` takes every call (the phase ``archec``).
"""

from __future__ import annotations

import random
import signal

import pytest

from tests import suites
from tests.archec.faults import fobis, ordeals
from tests.archec.faults.test_kills import ERRORS, FOR_EVER, WRITES
from tests.faults.storecalls import Which


def killed(phase: int, which: Which, how: str) -> list[str]:
    """A run killed at one call, and what is wrong after it and after the next ones."""
    with ordeals.folder() as root:
        ordeal = fobis.begun(root, phase)
        run = ordeal.disturbed(ordeal.plan(kill=which, how=how))
        if run.code != -signal.SIGKILL:
            ordeal.troubles.append(f"not killed: {run.code} {run.said}")
        return [f"phase {phase}, {how} {which}: {one}" for one in fobis.finish(ordeal)]


def refused(phase: int, which: Which, number: int, times: int) -> list[str]:
    """A run whose disk says no at one call; it says so in one sentence, or was not disturbed."""
    with ordeals.folder() as root:
        ordeal = fobis.begun(root, phase)
        run = ordeal.disturbed(ordeal.plan(refuse=which, number=number, times=times))
        lines = run.said.splitlines()
        if run.code not in (0, 2) or len(lines) != (run.code == 2) or "Traceback" in run.said:
            ordeal.troubles.append(f"exit {run.code}: {run.said[-2000:]}")
        return [f"phase {phase}, {number} at {which}: {one}" for one in fobis.finish(ordeal)]


def some(phase: int, rng: random.Random, count: int = 10) -> list[Which]:
    calls = fobis.every_call(phase)
    first = [which for which in calls if which.nth == 1]
    every = sorted({*first, *rng.sample(calls, count)}, key=str)
    return suites.few(f"{phase}", every, suites.DRAWN // fobis.PHASES)


@pytest.mark.forms(count=1)
@pytest.mark.parametrize("phase", range(fobis.PHASES))
def test_a_crawl_killed_at_its_store_calls_loses_nothing(phase):
    rng = random.Random(phase)
    for which in some(phase, rng):
        hows = ("before", "half", "after") if which.kinds[0] in WRITES else ("before", "after")
        assert killed(phase, which, rng.choice(hows)) == []


@pytest.mark.forms(count=1)
@pytest.mark.parametrize("phase", range(fobis.PHASES))
def test_a_disk_that_says_no_is_told_in_one_sentence_and_the_same_command_goes_on(phase):
    rng = random.Random(phase)
    for which in some(phase, rng):
        times = rng.choice((1, 1, FOR_EVER))
        assert refused(phase, which, rng.choice(ERRORS), times) == []


@pytest.mark.parametrize("kind", ["rename", "fdatasync", "symlink", "fsync"])
def test_a_crawl_killed_again_while_it_recovers_loses_nothing(kind):
    with ordeals.folder() as root:
        ordeal = fobis.begun(root, 1)
        ordeal.disturbed(ordeal.plan(kill=Which(nth=3, kinds=("rename",)), how="after"))
        for nth in (1, 2):
            again = Which(nth=nth, kinds=("unlink", kind, "write"))
            ordeal.disturbed(ordeal.plan(kill=again, how="before"))
        assert fobis.finish(ordeal) == []


def test_what_was_captured_before_a_kill_is_kept_though_the_site_has_changed_since():
    with ordeals.folder() as root:
        ordeal = fobis.begun(root, 0)
        ordeal.disturbed(ordeal.plan(kill=Which(nth=1, kinds=("rename",), path=r"\.draft-\d+$")))
        ordeal.put(1)
        assert list(ordeal._captured())
        run = ordeal.run()
        assert (run.code, ordeal.troubles) == (0, []), run.said


def test_the_calls_of_the_road_are_all_kinds_that_a_store_can_be_torn_by():
    kinds = {which.kinds[0] for phase in range(fobis.PHASES) for which in fobis.every_call(phase)}
    assert {"open", "write", "fsync", "fdatasync", "rename", "link", "symlink", "flock",
            "sendfile", "unlink"} <= kinds  # fmt: skip
