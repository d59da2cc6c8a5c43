"""Each sync, lock and name of filesets is missed when it is left out, or comes too late."""

from __future__ import annotations

import pytest

from tests.faults.crawls import Crawls
from tests.faults.disks import SYNCS
from tests.faults.lateness import BEGINS, MOVES, Late, put_off
from tests.faults.storecalls import Call, Site
from tests.filesets.faults.roads import RoadSite
from tests.filesets.faults.scenarios import (
    LATE,
    QUICK,
    SCENARIOS,
    SITES,
    PowerCuts,
    Wrong,
    exempt,
    exempt_late,
    missed,
)

LEFT_OUT = [site for site in SITES if not exempt(site)]
PUT_OFF = [late for late in LATE if not exempt_late(late)]


def test_the_list_is_made_from_the_source() -> None:
    files = {(site.by or site).file.rpartition("/")[2] for site in LEFT_OUT}
    known = {"filesetwarc.py", "stores.py", "folder.py", "lines.py", "downloads.py", "repairs.py"}
    assert known <= files
    assert len(LEFT_OUT) > 20
    assert {late.kinds for late in PUT_OFF} == {SYNCS, MOVES}


@pytest.mark.parametrize("name", QUICK)
def test_nothing_is_missed_where_nothing_is_left_out(
    crawls: Crawls, site: RoadSite, name: str
) -> None:
    losses, calls = SCENARIOS[name](crawls, site, Wrong())
    assert losses == []
    assert calls


@pytest.mark.long("each mutant is several crawls")
@pytest.mark.forms(most=7)
@pytest.mark.parametrize("mutant", LEFT_OUT, ids=str)
def test_a_sync_or_lock_that_is_left_out_is_missed(
    crawls: Crawls, site: RoadSite, mutant: Site
) -> None:
    is_missed, tried = missed(crawls, site, Wrong(without=mutant))
    assert is_missed, f"no scenario misses {mutant}; tried were {tried}"


@pytest.mark.forms(count=2, most=8)
@pytest.mark.parametrize("late", PUT_OFF, ids=str)
def test_a_sync_or_name_that_comes_late_is_missed(
    crawls: Crawls, site: RoadSite, late: Late
) -> None:
    is_missed, tried = missed(crawls, site, Wrong(late=late))
    assert is_missed, f"no scenario misses {late}; tried were {tried}"


@pytest.mark.long("each road is several crawls")
def test_every_name_that_a_road_gives_is_in_the_list(crawls: Crawls, site: RoadSite) -> None:
    names = [late for late in LATE if late.kinds == MOVES]
    unlisted = set[tuple[tuple[str, int], ...]]()

    def is_ours(call: Call) -> bool:
        by_us = any("/lafka/filesets/" in file for file, _ in call.stack)
        return call.kind in MOVES and not call.failed and by_us

    for scenario in SCENARIOS.values():
        if isinstance(scenario, PowerCuts):
            calls = scenario.recorded(crawls, site).calls
            unlisted |= {call.stack for call in calls if is_ours(call)
                         and not any(late.is_it(call) for late in names)}  # fmt: skip
    assert unlisted == set()


def test_what_is_late_is_done_behind_the_syncs_of_three_other_places() -> None:
    def call(kind: str, line: int) -> Call:
        return Call(kind=kind, path=f"{line}", stack=(("a.py", line),))

    late = Late(site=Site(file="a.py", first=1, last=1, call="fsync"))
    calls = [call("fsync", n) for n in (1, 2, 2, 3)]
    after = [call("rename", 1), call("fsync", 4), call("write", 5)]
    told = [each.path for each in put_off([*calls, *after], late)]
    assert told == ["late", "2", "2", "3", "1", "4", "1", "5"]
    begins = Call(kind=BEGINS, path="begins")
    assert [each.path for each in put_off([*calls, begins, *after], late)] == [
        "late", "2", "2", "3", "begins", "1", "4", "5"
    ]  # fmt: skip
