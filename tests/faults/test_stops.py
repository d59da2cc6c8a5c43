"""Crawls that are sent signals: the short form of the phase ``signals`` of ``make faults``."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tests.faults import stops
from tests.faults.crawls import Crawls
from tests.faults.stops import PATTERNS, StopSite


@pytest.fixture(scope="module")
def stopped() -> Iterator[StopSite]:
    with StopSite(1, pages=True) as site:
        yield site


OTHERS = pytest.mark.long("crawls wait for a stream that stands still until they are to end")


@pytest.mark.parametrize("first", [0, pytest.param(4, marks=OTHERS)])
def test_signals_at_any_moment_stop_the_crawl_and_lose_nothing(
    crawls: Crawls, stopped: StopSite, first: int
) -> None:
    tally = stops.Tally()
    stops.stop(crawls, stopped, random.Random(first), PATTERNS[first : first + 4], tally)
    assert tally.troubles == []
    assert tally.moments == 4
