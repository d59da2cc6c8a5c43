"""Each sync and lock of filesets is missed when it is left out."""

from __future__ import annotations

import pytest

from tests.faults.crawls import Crawls
from tests.faults.storecalls import Site
from tests.filesets.faults.roads import RoadSite
from tests.filesets.faults.scenarios import QUICK, SCENARIOS, exempt, reached
from tests.filesets.faults.scenarios import SITES as ALL

SITES = [site for site in ALL if not exempt(site)]
_reached: dict[str, set[Site]] = {}


def test_the_list_is_made_from_the_source() -> None:
    files = {(site.by or site).file.rpartition("/")[2] for site in SITES}
    assert {"filesetwarc.py", "folder.py", "tables.py", "downloads.py", "repairs.py"} <= files
    assert len(SITES) > 20


@pytest.mark.parametrize("name", QUICK)
def test_nothing_is_missed_where_nothing_is_left_out(
    crawls: Crawls, site: RoadSite, name: str
) -> None:
    losses, calls = SCENARIOS[name](crawls, site, None)
    assert losses == []
    assert calls


@pytest.mark.parametrize("mutant", SITES, ids=str)
def test_a_sync_or_lock_that_is_left_out_is_missed(
    crawls: Crawls, site: RoadSite, mutant: Site
) -> None:
    tried = []
    for name, scenario in SCENARIOS.items():
        if name not in _reached:
            _reached[name] = reached(crawls, site, name)
        if mutant in _reached[name]:
            tried.append(name)
            if scenario(crawls, site, mutant)[0]:
                return
    pytest.fail(f"no scenario misses {mutant}; tried were {tried}")
