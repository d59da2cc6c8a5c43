"""Good hosts beside hostile ones: one crawl of each, and what is said of its figures."""

from __future__ import annotations

import pytest

from tests.faults import neighbours
from tests.faults.crawls import Crawls
from tests.faults.neighbours import Beside, GoodHosts
from tests.sites.hostile.site import behaviours


def found(**figures: object) -> Beside:
    quiet = {"alone": 1.0, "median": 1.09, "first": 0.5, "again": 1.5}
    return Beside(names=["bad"], **quiet | figures)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("figures", "troubles"),
    [
        ({}, 0),
        ({"median": 0.5, "again": 0.2}, 0),
        ({"median": 1.11}, 1),
        ({"again": 1.51}, 1),
        ({"again": 2.0, "left": 100_000_000}, 0),
        ({"median": 1.2, "again": 9.0, "lost": ["one"]}, 3),
    ],
)
def test_a_delay_and_a_slow_start_are_told(figures: dict[str, object], troubles: int) -> None:
    assert len(found(**figures).troubles) == troubles


def test_the_better_of_two_measurements_counts_for_each_figure() -> None:
    slow, late = found(median=3.0, again=0.9), found(median=1.05, again=9.0)
    for better in (neighbours._better(slow, late), neighbours._better(late, slow)):
        assert (better.growth, better.again) == (pytest.approx(0.05), 0.9)
        assert better.troubles == []


def test_all_good_hosts_are_asked_beside_one_that_drips(crawls: Crawls) -> None:
    """Whether in time is for ``make faults``: here that both crawls did what is measured."""
    [drips] = [each for each in behaviours() if each[1].name == "head-drips-without-end"]
    with GoodHosts(5) as good:
        measured = neighbours._measured(crawls, good, [drips])
        assert measured.lost == []
        assert good.first(neighbours.NEXT) is not None
    assert measured.alone > neighbours.ROUND_TRIP
    assert measured.median > neighbours.ROUND_TRIP
    assert 0 < measured.again < neighbours.LIMIT
