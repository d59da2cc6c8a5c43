"""Good hosts beside hostile ones: one crawl of each, and what is said of its figures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import islice
from typing import Any

import pytest

from tests.faults import neighbours
from tests.faults.crawls import Crawls
from tests.faults.neighbours import Beside, GoodHosts
from tests.sites.hostile.behaviours import Behaviour
from tests.sites.hostile.site import behaviours
from tests.sites.server import Seen


def found(**figures: object) -> Beside:
    quiet = {"alone": 1.0, "median": 1.09, "first": 0.5, "again": 1.5}
    return Beside(**{"names": ["bad"]} | quiet | figures)  # type: ignore[arg-type]


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


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> tuple[set[str], list[list[str]]]:
    """Behaviours that hold up others, and the names of all that were measured beside."""
    names, told = set[str](), list[list[str]]()

    def measured(_: Any, __: Any, those: Sequence[tuple[str, Behaviour]]) -> Beside:
        told.append([behaviour.name for _, behaviour in those])
        return found(names=told[-1], median=1.5 if names.intersection(told[-1]) else 1.0)

    monkeypatch.setattr(neighbours, "_measured", measured)
    return names, told


SOME = list(islice(behaviours(), 8))
NAMES = [behaviour.name for _, behaviour in SOME]


def test_who_holds_up_others_is_found_among_many(slow: tuple[set[str], list[list[str]]]) -> None:
    slow[0].add(NAMES[5])
    figures = list(neighbours.beside(None, None, SOME))  # type: ignore[arg-type]
    assert [each.names for each in figures] == [NAMES[:4], [NAMES[4]], [NAMES[5]], NAMES[6:]]
    assert [bool(each.troubles) for each in figures] == [False, False, True, False]
    assert [each.tries for each in figures] == [1, 1, neighbours.TRIES, 1]
    assert slow[1].count([NAMES[5]]) == neighbours.TRIES


def test_those_that_hold_up_nobody_are_measured_once(
    slow: tuple[set[str], list[list[str]]],
) -> None:
    [figure] = neighbours.beside(None, None, SOME)  # type: ignore[arg-type]
    assert (figure.tries, figure.names, slow[1]) == (1, NAMES, [NAMES])


def test_a_crawl_s_own_clock_stands_still_while_others_run(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = {11: 2.0, 12: 0.0}
    monkeypatch.setattr(neighbours, "ROUND_TRIP", 0)
    monkeypatch.setattr(neighbours, "held_up", lambda pid: waits.get(pid, 0.0))
    good = GoodHosts(1)
    [alone], [beside] = good.alone, good.beside
    good.crawled_by = {alone: 11, beside: 12}
    for host in (alone, beside):
        for place, target in enumerate(("/robots.txt", "/0", "/1", "/2")):
            good._reply(Seen(host=host, target=target, headers={}, time=10.0 + place))
    assert (good.first([alone]), good.first([beside])) == (8.0, 10.0)
    assert good.last([alone, beside]) == {alone: 11.0, beside: 13.0}
    good.forget()
    assert (good.first([alone]), good.last([alone])) == (None, {})


def test_the_kernel_says_how_long_a_process_was_held_up() -> None:
    assert neighbours.held_up(os.getpid()) > 0
    assert neighbours.held_up(0) == 0


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
