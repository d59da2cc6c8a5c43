from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.core.downloader import Downloader, Slot

from lafka.politeness import HostDelays
from tests.sites.hosts import Answer, hosts
from tests.sites.polite_crawl import crawl


def kept(delay: float, own: dict[str, Any]) -> float:
    """The delay of the slot ``a`` after a request, where DOWNLOAD_SLOTS has *own* for it."""
    slot = Slot(1, delay)
    downloader = SimpleNamespace(
        DOWNLOAD_SLOT=Downloader.DOWNLOAD_SLOT, slots={"a": slot}, per_slot_settings={"a": own}
    )
    HostDelays(SimpleNamespace(engine=SimpleNamespace(downloader=downloader))).keep(
        Request("http://a/", meta={"download_slot": "a"})
    )
    return slot.delay


@pytest.mark.parametrize(
    ("delay", "own", "least"),
    [(0.1, {"delay": 2.0}, 2.0), (5.0, {"delay": 2.0}, 5.0), (0.1, {"concurrency": 4}, 0.1)],
)
def test_a_slot_keeps_its_own_delay_at_least(delay, own, least):
    assert kept(delay, own) == least


def test_a_request_without_a_slot_is_let_alone():
    downloader = SimpleNamespace(
        DOWNLOAD_SLOT=Downloader.DOWNLOAD_SLOT, slots={}, per_slot_settings={}
    )
    delays = HostDelays(SimpleNamespace(engine=SimpleNamespace(downloader=downloader)))
    delays.keep(Request("http://a/"))


def test_autothrottle_does_not_lower_it_in_a_crawl():
    with hosts({f"/{number}": Answer() for number in range(4)}) as [host]:
        crawl(
            [{"url": f"{host.url}/{number}"} for number in range(4)],
            AUTOTHROTTLE_ENABLED=True,
            AUTOTHROTTLE_START_DELAY=0.01,
            DOWNLOAD_SLOTS={host.address: {"delay": 0.3, "jitter": 0}},
            EXTENSIONS={"lafka.politeness.HostDelays": 500},
            ROBOTSTXT_OBEY=False,
        )
    gaps = [later.time - earlier.time for earlier, later in pairwise(host.visits)]
    assert len(gaps) == 3
    assert min(gaps) > 0.2  # asked for 0.3 between starts; arrival may jitter
