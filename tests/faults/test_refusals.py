"""Disks that say no: one sentence, an exit code, and the same command goes on afterwards."""

from __future__ import annotations

import errno

import pytest

from tests.faults import refusals
from tests.faults.crawls import Crawls
from tests.faults.refusals import GROWING, Tally
from tests.faults.sites import FaultSite
from tests.faults.storecalls import Which

FOR_EVER = 1 << 30


@pytest.mark.forms(count=3)
@pytest.mark.parametrize(
    ("which", "number", "times"),
    [
        (Which(nth=1, kinds=("sendfile",)), errno.ENOSPC, 1),
        (Which(nth=1, kinds=("fdatasync",), path="/warc/"), errno.EIO, 1),
        (Which(nth=1, kinds=("fdatasync",), path="/runs/"), errno.EIO, 1),
        (Which(nth=1, kinds=("fsync",), path="/suwaf/.*json$"), errno.EIO, 1),
        (Which(nth=1, kinds=("rename",), path="/warc/"), errno.EROFS, 1),
        (Which(nth=2, kinds=("open",), path="/warc/"), errno.EMFILE, 1),
        (Which(nth=1, kinds=("write", "pwrite"), path="/raw/"), errno.EDQUOT, 1),
        (Which(nth=1, kinds=("unlink",), path="/raw/.*warc$"), errno.EROFS, 1),
        (Which(nth=25, kinds=GROWING), errno.ENOSPC, FOR_EVER),
    ],
)
def test_a_refusal_is_told_in_one_sentence_and_the_same_command_goes_on(
    crawls: Crawls, site: FaultSite, which: Which, number: int, times: int
) -> None:
    tally = Tally()
    ordeal = refusals.refuse(crawls, site, which, number, tally, times=times, count=3)
    refusals.finish(ordeal, tally)
    assert tally.troubles == []
    assert (tally.refused, tally.stopped) == (1, 1)


def test_a_refusal_right_after_the_check_is_told_in_one_sentence(
    crawls: Crawls, site: FaultSite
) -> None:
    tally = Tally()
    probe = Which(nth=2, kinds=("fsync",), path=r"\.probe-")  # the first one is the check's
    ordeal = refusals.refuse(crawls, site, probe, errno.EIO, tally, count=1)
    refusals.finish(ordeal, tally)
    assert tally.troubles == []
    assert (tally.refused, tally.stopped) == (1, 1)


def test_a_list_that_cannot_be_opened_any_more_ends_the_crawl(
    crawls: Crawls, site: FaultSite
) -> None:
    tally = Tally()
    opened = Which(nth=3, kinds=("open",), path=r"list\.tsv$")  # once it was checked
    ordeal = refusals.refuse(crawls, site, opened, errno.EMFILE, tally, count=1)
    refusals.finish(ordeal, tally)
    assert tally.troubles == []
    assert tally.refused == 1
