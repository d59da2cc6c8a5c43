"""Power cuts and kills on every road of a fileset lose nothing, and the same command goes on."""

from __future__ import annotations

import random

import pytest

from tests.faults.crawls import Crawls
from tests.faults.storecalls import Which
from tests.filesets.faults import roads
from tests.filesets.faults.roads import ROADS, RoadSite

MAKING = Which(nth=1, kinds=("write",), path=r"/\.lafka\.json-\d+$")
"""The first byte of an item's marker: the item's folder is there."""


@pytest.mark.forms(count=2)
@pytest.mark.parametrize("name", ROADS)
def test_no_power_cut_or_kill_on_a_road_loses_what_was_acknowledged(
    crawls: Crawls, site: RoadSite, name: str
) -> None:
    found = roads.recorded(roads.Ordeal(crawls, site, ROADS[name]))
    cut = found.cut(random.Random(1), most=3)
    assert cut.losses == []
    assert cut.moments > 30
    killed = [trouble for tree, told in found.die() for trouble in found.judge.verdict(tree, told)]
    assert killed == []


@pytest.mark.parametrize("name", ["web-fileset after a kill", "item after a kill"])
def test_the_same_command_finishes_what_a_power_cut_leaves(
    crawls: Crawls, site: RoadSite, name: str
) -> None:
    found = roads.recorded(roads.Ordeal(crawls, site, ROADS[name]))
    [tree] = found.some(random.Random(4), 1)
    assert roads.finished(crawls, site, ROADS[name], tree, cut=True) == []


def test_an_item_that_a_kill_left_without_its_marker_is_still_ours(
    crawls: Crawls, site: RoadSite
) -> None:
    ordeal = roads.Ordeal(crawls, site, ROADS["item"])
    assert ordeal.run(kill=MAKING, how="after").killed
    assert ordeal.finish() == []
