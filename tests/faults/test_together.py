"""Two and three crawls on the same papers at once, also with kills."""

from __future__ import annotations

import random

import pytest

from tests.faults import together
from tests.faults.crawls import Crawls
from tests.faults.sites import FaultSite
from tests.faults.storecalls import Which


@pytest.mark.forms(count=1)
@pytest.mark.parametrize("stop", together.stops(), ids=lambda stop: f"{stop.kinds[0]}-{stop.nth}")
def test_a_crawl_that_stands_still_and_one_beside_it_store_each_fut_once(
    crawls: Crawls, site: FaultSite, stop: Which
) -> None:
    troubles, _ = together.one_stops_while_another_runs(crawls, site, 3, stop)
    assert troubles == []


@pytest.mark.forms(count=1)
@pytest.mark.parametrize("count", [2, 3])
def test_crawls_at_once_that_are_killed_lose_nothing(
    crawls: Crawls, large: FaultSite, count: int
) -> None:
    ordeal = together.some_at_once(crawls, large, random.Random(count), count=count, rounds=1)
    assert ordeal.troubles == []


def test_a_draft_whose_warc_another_crawl_named_is_not_left(
    crawls: Crawls, site: FaultSite
) -> None:
    ordeal = together.one_is_killed_at_a_draft_whose_warc_another_named(crawls, site)
    assert ordeal.kills == 1
    assert ordeal.troubles == []
