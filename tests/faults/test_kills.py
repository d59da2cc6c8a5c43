"""Killed crawls: the short form; ``make faults`` is the long one."""

from __future__ import annotations

import random

import pytest

from tests.faults import invariants, kills, straces
from tests.faults.crawls import Crawls
from tests.faults.kills import Ordeal
from tests.faults.sites import FaultSite
from tests.faults.storecalls import Which

# How many of a kind a crawl of four lines makes at least, so that the kill is sure.
MADE = {"open": 30, "write": 3, "pwrite": 6, "sendfile": 4, "fsync": 15, "fdatasync": 4,
        "rename": 6, "link": 1, "unlink": 4, "mkdir": 8, "rmdir": 1, "flock": 4}  # fmt: skip


@pytest.mark.long("the short suite kills at calls of each kind")
def test_crawls_killed_at_random_moments_lose_nothing(crawls: Crawls, large: FaultSite) -> None:
    ordeal = kills.at_random(crawls, large, random.Random(3), kills=6)
    assert ordeal.troubles == []
    assert ordeal.kills == 6


@pytest.mark.forms(count=1)
@pytest.mark.parametrize("how", kills.HOWS)
def test_crawls_killed_at_calls_of_each_kind_lose_nothing(
    crawls: Crawls, site: FaultSite, how: str
) -> None:
    rng = random.Random(how)
    kinds = [kind for place, kind in enumerate(MADE) if place % 3 == kills.HOWS.index(how)]
    for kind in kinds:
        first = Which(nth=rng.randrange(1, MADE[kind] + 1), kinds=(kind,))
        second = Which(nth=rng.randrange(20, 60))
        ordeal = kills.at_calls(crawls, site, [(first, how), (second, how)], 4)
        assert ordeal.troubles == []
        assert ordeal.kills == 2


def test_a_rerun_asks_and_adds_nothing(crawls: Crawls, site: FaultSite) -> None:
    ordeal = Ordeal(crawls, site, 7)  # all of which give futs
    plan = ordeal.plan(kill=Which(nth=5, kinds=("sendfile",)))
    ordeal.look(crawls.run(ordeal.archive, ordeal.list_, plan))
    ordeal.finish()
    before = invariants.files_but_feeds(ordeal.archive)
    site.forget()
    ordeal.finish()
    assert ordeal.troubles == []
    asked = site.targets()
    assert list(invariants.a_rerun_asks_and_adds_nothing(before, ordeal.archive, asked)) == []


@pytest.mark.forms(count=1)
@pytest.mark.skipif(not straces.can_trace(), reason="no process can be traced here")
@pytest.mark.parametrize(("call", "when"), [("fdatasync", 2), ("rename", 3), ("sendfile", 1)])
def test_a_crawl_killed_at_a_system_call_loses_nothing(
    crawls: Crawls, site: FaultSite, call: str, when: int
) -> None:
    ordeal = Ordeal(crawls, site, 4)
    run = straces.injected(crawls, ordeal, call, when, "signal=KILL")
    assert run.killed
    ordeal.look(run)
    ordeal.finish()
    assert ordeal.troubles == []


@pytest.mark.skipif(not straces.can_trace(), reason="no process can be traced here")
def test_the_kernel_sees_no_call_that_the_process_does_not_tell(
    crawls: Crawls, site: FaultSite
) -> None:
    ordeal = Ordeal(crawls, site)
    trace = ordeal.folder.with_name("trace")
    names = ",".join(straces.SYSTEM_CALLS)
    options = ("-y", "-s", "300", "-o", str(trace), "-e", f"trace={names}")
    run = straces.traced(crawls, ordeal, *options, told=True)
    seen = straces.seen_by_the_kernel(trace, ordeal.folder)
    assert run.code == 0
    assert sum(seen.values()) > 100
    assert seen == straces.told_by_the_process(run.calls)
