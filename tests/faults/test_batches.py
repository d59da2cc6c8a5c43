"""Papers that are stored side by side: power cuts, kills, refusals and locks within a batch."""

from __future__ import annotations

import errno
import random
from collections.abc import Iterator

import pytest

from tests.faults import batches, kills, powercuts, refusals, together
from tests.faults.batches import LINES, SIZES
from tests.faults.crawls import Crawls
from tests.faults.refusals import Tally
from tests.faults.sites import FaultSite
from tests.faults.storecalls import Site, Which

WARC = r"/warc/.*\.warc$"
SUWAF = r"/suwaf/.*\.json$"


@pytest.fixture(scope="module")
def crowd() -> Iterator[FaultSite]:
    """Eighteen lines: sixteen papers, two of which have two lines each."""
    with FaultSite(2) as site:
        yield site


@pytest.fixture(scope="module")
def found(starter: Crawls, crowd: FaultSite) -> dict[int, powercuts.Recorded]:
    return {size: batches.recorded(starter, crowd, size) for size in SIZES}


def steps(found: dict[int, powercuts.Recorded], size: int) -> list[Site]:
    return batches.reached(found[size].calls)


def test_sixteen_papers_go_side_by_side_and_share_their_folders(
    found: dict[int, powercuts.Recorded],
) -> None:
    calls = found[16].calls
    assert batches.side_by_side(calls) > 8
    assert batches.side_by_side(found[1].calls) == 1
    papers = [call for call in calls if call.path.endswith("/papers") and call.kind == "fsync"]
    warcs = [call for call in calls if call.path.endswith(".warc") and call.kind == "fdatasync"]
    assert 14 <= len(warcs) <= 16  # trails of one pid that wait go as one
    assert len(papers) < len(warcs) / 2


def test_the_same_steps_are_asked_for_whatever_the_size(
    found: dict[int, powercuts.Recorded],
) -> None:
    assert steps(found, 1) == steps(found, 16)
    assert {site.call for site in steps(found, 1)} >= {"DataSync", "FileSync", "FolderSync"}


@pytest.mark.draws("of the disks that power cuts leave")
@pytest.mark.forms(count=1)
@pytest.mark.parametrize("size", SIZES)
def test_no_power_cut_of_a_batch_loses_what_was_acknowledged(
    found: dict[int, powercuts.Recorded], size: int
) -> None:
    assert found[size].ended
    assert batches.losses(found[size], size) == []


@pytest.mark.long("each mutant is several crawls")
@pytest.mark.forms(most=8)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("how", ["without", "late"])
@pytest.mark.parametrize("mutant", batches.SITES, ids=str)
def test_a_step_of_a_batch_that_is_left_out_or_late_is_missed(
    crawls: Crawls, crowd: FaultSite, found: dict[int, powercuts.Recorded],
    mutant: Site, how: str, size: int,
) -> None:  # fmt: skip
    if mutant not in steps(found, size):
        pytest.skip("a first crawl does not come there; tests/faults/test_mutants.py does")
    if how == "late" and batches.harmless_if_late(mutant):
        pytest.skip("harmless")
    # How papers fall into batches depends on the machine: some batches lose nothing.
    made = (batches.recorded(crawls, crowd, size, **{how: mutant}) for _ in range(3))
    assert any(batches.losses(each, size) for each in made)


@pytest.mark.forms(count=1)
@pytest.mark.parametrize(
    ("kind", "path"),
    [("sendfile", WARC), ("fdatasync", ".warc$"), ("rename", "/warc/"), ("fsync", "/warc/"),
     ("write", SUWAF), ("fsync", SUWAF), ("rename", "/suwaf/"), ("fsync", "/suwaf/.*/papers$")],
)  # fmt: skip
def test_a_kill_in_any_state_of_a_batch_loses_nothing(
    crawls: Crawls, crowd: FaultSite, kind: str, path: str
) -> None:
    rng = random.Random(kind + path)
    most = 1 if path.endswith("papers$") or (kind, path) == ("fsync", "/warc/") else 12
    which = Which(nth=rng.randrange(1, most + 1), kinds=(kind,), path=path)
    how = rng.choice(kills.HOWS)
    ordeal = kills.at_calls(crawls, crowd, [(which, how)], LINES[16], batch=16)
    assert ordeal.troubles == []
    assert ordeal.kills == 1


@pytest.mark.forms(count=1)
@pytest.mark.parametrize(
    ("which", "number", "times"),
    [
        (Which(nth=7, kinds=("sendfile",)), errno.ENOSPC, 1),
        (Which(nth=5, kinds=("fdatasync",), path="/warc/"), errno.EIO, 1),
        (Which(nth=1, kinds=("fsync",), path="/warc/.*/papers$"), errno.EIO, 1),
        (Which(nth=9, kinds=("fsync",), path=SUWAF), errno.EIO, 1),
        (Which(nth=3, kinds=("rename",), path="/suwaf/"), errno.EROFS, 1),
        (Which(nth=12, kinds=("open",), path="/warc/"), errno.EMFILE, 1),
        # No paper is stored, so of what was asked only lines without a fut have their outcome.
        (Which(nth=12, kinds=("open",), path="/warc/"), errno.EMFILE, 1 << 30),
    ],
    ids=str,
)
def test_a_refusal_in_a_batch_rolls_it_back_and_the_same_command_goes_on(
    crawls: Crawls, crowd: FaultSite, which: Which, number: int, times: int
) -> None:
    tally = Tally()
    ordeal = refusals.refuse(
        crawls, crowd, which, number, tally, times=times, count=LINES[16], batch=16
    )
    refusals.finish(ordeal, tally)
    assert tally.troubles == []
    assert (tally.refused, tally.stopped) == (1, 1)


@pytest.mark.forms(count=1)
@pytest.mark.parametrize("stop", together.stops()[:3], ids=lambda stop: stop.kinds[0])
def test_two_crawls_with_the_same_pids_in_their_batches_both_end(
    crawls: Crawls, crowd: FaultSite, stop: Which
) -> None:
    troubles, _ = together.one_stops_while_another_runs(
        crawls, crowd, LINES[16], stop, batch=16
    )  # fmt: skip
    assert troubles == []


@pytest.mark.forms(count=1)
@pytest.mark.parametrize("count", [2, 3])
def test_crawls_at_once_with_large_batches_that_are_killed_lose_nothing(
    crawls: Crawls, crowd: FaultSite, count: int
) -> None:
    rng = random.Random(count)
    ordeal = together.some_at_once(crawls, crowd, rng, count=count, rounds=1, batch=16)
    assert ordeal.troubles == []
