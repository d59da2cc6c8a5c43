"""Each sync and each lock of the store is missed when it is left out: so the tests would notice."""

from __future__ import annotations

import pytest

from tests.faults import mutants, scenarios
from tests.faults.crawls import Crawls
from tests.faults.sites import FaultSite
from tests.faults.storecalls import Site

SITES = mutants.sites()
_reached: dict[str, set[Site]] = {}


def reached(crawls: Crawls, site: FaultSite, name: str) -> set[Site]:
    """What a scenario calls; it is run once, with all syncs and locks, and has to go well."""
    if name not in _reached:
        losses, calls = scenarios.SCENARIOS[name](crawls, site, None)
        assert losses == []
        _reached[name] = mutants.reached(calls, SITES)
    return _reached[name]


def _file(site: Site) -> str:
    return site.file.rpartition("/")[2]


def test_the_list_is_made_from_the_source() -> None:
    names = {(_file(site), site.call, site.by and _file(site.by)) for site in SITES}
    assert {
        ("feed.py", "fdatasync", None),
        ("locks.py", "FileLock", "paperwarc.py"),
        ("drafts.py", "FileSync", "stores.py"),
    } <= names
    assert all(site.by for site in SITES if _file(site) in ("drafts.py", "locks.py"))
    assert len(SITES) == len(set(SITES)) > 15


@pytest.mark.long("each mutant is several crawls")
@pytest.mark.forms(most=5)
@pytest.mark.parametrize("name", scenarios.SCENARIOS)
def test_nothing_is_missed_where_nothing_is_left_out(
    crawls: Crawls, site: FaultSite, name: str
) -> None:
    assert reached(crawls, site, name)


@pytest.mark.long("each mutant is several crawls")
@pytest.mark.forms(most=8)
@pytest.mark.parametrize("mutant", SITES, ids=str)
def test_a_sync_or_lock_that_is_left_out_is_missed(
    crawls: Crawls, site: FaultSite, mutant: Site
) -> None:
    tried = []
    for name, scenario in scenarios.SCENARIOS.items():
        if mutant in reached(crawls, site, name) and scenarios.suits(name, mutant):
            tried.append(name)
            if scenario(crawls, site, mutant)[0]:
                return
    pytest.fail(f"no scenario misses {mutant}; tried were {tried}")
