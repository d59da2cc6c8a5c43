"""Power cuts by the model of unsynced writes, and the model itself."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from tests import suites
from tests.faults import powercuts
from tests.faults.crawls import Crawls
from tests.faults.disks import DROPPED, KEPT, TORN, ZEROS, Bytes, Disk, Tree, cuts
from tests.faults.sites import FaultSite
from tests.faults.storecalls import Call, Which

ROOT, A, B = 1, 2, 3


def disk(*calls: Call) -> Disk:
    made = Disk("/", contents={}, folders={})
    made.root_ino = made.known(ROOT)
    made.folders[made.root_ino] = {}
    for call in calls:
        made.do(call)
    return made


def opened(name: str, ino: int) -> Call:
    return Call(kind="open", path=f"/{name}", ino=ino, parent=ROOT, created=True)


def written(ino: int, data: bytes, offset: int = 0) -> Call:
    return Call(kind="write", path="/", ino=ino, data=data, offset=offset)


def synced(ino: int) -> Call:
    return Call(kind="fsync", path="/", ino=ino)


def left(made: Disk) -> list[Tree]:
    found: list[Tree] = []
    for tree in cuts(made, random.Random(1), most=1000):
        if tree not in found:
            found.append(tree)
    return sorted(found, key=repr)


def test_what_is_synced_stays_and_what_is_not_may_go() -> None:
    assert left(disk(opened("a", A), written(A, b"12"))) == [
        {"a": b""}, {"a": b"1"}, {"a": b"12"}, {"a": b"\0\0"}, {},
    ]  # fmt: skip
    assert left(disk(opened("a", A), written(A, b"12"), synced(A))) == [{"a": b"12"}, {}]
    assert left(disk(opened("a", A), synced(ROOT), written(A, b"12"), synced(A))) == [{"a": b"12"}]


def test_a_rename_may_come_before_the_bytes_of_what_it_names() -> None:
    rename = Call(kind="rename", path="/b", to="/a", ino=B, parent=ROOT, to_parent=ROOT)
    old = (opened("a", A), written(A, b"old"), synced(A), synced(ROOT))
    new = (opened("b", B), synced(ROOT), written(B, b"new"))
    unsynced = left(disk(*old, *new, rename))
    assert {"a": b""} in unsynced
    assert {"a": b"old", "b": b"new"} in unsynced
    assert left(disk(*old, *new, synced(B), rename)) == [{"a": b"new"}, {"a": b"old", "b": b"new"}]
    assert left(disk(*old, *new, synced(B), rename, synced(ROOT))) == [{"a": b"new"}]


def test_a_dropped_write_below_a_kept_one_is_a_hole() -> None:
    made = disk(opened("a", A), synced(ROOT), written(A, b"12"), written(A, b"34", 2))
    assert {"a": b"\0\x0034"} in left(made)
    cut = Call(kind="ftruncate", path="/a", ino=A, size=1)
    made = disk(opened("a", A), synced(ROOT), written(A, b"12"), synced(A), cut)
    assert left(made) == [{"a": b"1"}, {"a": b"12"}]


def test_an_unlink_and_a_folder_wait_too() -> None:
    mkdir = Call(kind="mkdir", path="/f", ino=A, parent=ROOT)
    below = Call(kind="open", path="/f/b", ino=B, parent=A, created=True)
    assert left(disk(mkdir, below)) == [{"f": None, "f/b": b""}, {"f": None}, {}]
    unlink = Call(kind="unlink", path="/a", parent=ROOT)
    assert left(disk(opened("a", A), synced(ROOT), unlink)) == [{"a": b""}, {}]


def test_fates_are_what_they_are_called() -> None:
    made = disk(opened("a", A), synced(ROOT), written(A, b"1234"))
    [change] = made.waiting
    assert isinstance(change, Bytes)
    wanted = {KEPT: b"1234", DROPPED: b"", TORN: b"12", ZEROS: bytes(4)}
    assert {end: made.tree({change: end})["a"] for end in wanted} == wanted


@pytest.mark.draws("of the disks that power cuts leave")
def test_no_power_cut_of_a_crawl_of_one_paper_loses_what_was_acknowledged(
    crawls: Crawls, site: FaultSite
) -> None:
    found = powercuts.recorded(crawls, site, 1).cut(random.Random(1), most=suites.amount(24, 256))
    assert found.losses == []
    assert found.moments > 15
    assert found.disks > suites.amount(100, 1000)


@pytest.mark.draws("of the disks that power cuts leave")
def test_no_power_cut_of_a_crawl_of_many_papers_loses_what_was_acknowledged(
    crawls: Crawls, site: FaultSite
) -> None:
    found = powercuts.recorded(crawls, site, 9).cut(random.Random(1), most=suites.amount(4, 14))
    assert found.losses == []
    assert found.moments >= 40


@pytest.mark.draws("of the disks that power cuts leave")
@pytest.mark.forms(count=2)
@pytest.mark.parametrize(
    "kill",
    [
        Which(nth=1, kinds=("fsync",), path="/archive$"),
        Which(nth=1, kinds=("fsync",), path="/warc$"),
        Which(nth=1, kinds=("fsync",), path="/warc/.*/papers$"),
        Which(nth=1, kinds=("fsync",), path="/suwaf/.*/papers$"),
        Which(nth=1, kinds=("fdatasync",), path="/runs/"),
    ],
)
def test_a_power_cut_behind_a_kill_loses_nothing(
    crawls: Crawls, site: FaultSite, kill: Which
) -> None:
    """What the killed crawl had not synced is still not synced while the next one works."""
    plans: tuple[Mapping[str, Any], ...] = ({"kill": kill}, {})
    found = powercuts.recorded(crawls, site, 1, *plans).cut(
        random.Random(1), most=suites.amount(6, 24)
    )
    assert found.losses == []


def test_a_kill_at_any_call_leaves_what_had_ended(crawls: Crawls, site: FaultSite) -> None:
    """Beyond what is acknowledged: what has its end in a raw WARC is copied by the next run."""
    found = powercuts.recorded(crawls, site, 4)
    moments = 0
    for tree, told in found.die():
        moments += 1
        assert found.judge.verdict(tree, told, ended=True) == []
    assert moments > 100
