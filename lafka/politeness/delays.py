"""A host's own delay, as DOWNLOAD_SLOTS has it, is the least there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from scrapy import Request, signals

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class HostDelays:
    """Keeps the delay of a slot from falling below the one that DOWNLOAD_SLOTS gives it.

    AutoThrottle takes that delay for a beginning and lowers it with each answer. This extension
    stands behind it, so it raises the delay again after each answer, and before the slot sends a
    request.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        delays = cls(crawler)
        for signal in (signals.request_reached_downloader, signals.response_downloaded):
            crawler.signals.connect(delays.keep, signal)
        return delays

    def keep(self, request: Request) -> None:
        assert self._crawler.engine is not None
        downloader = self._crawler.engine.downloader
        key = str(request.meta.get(downloader.DOWNLOAD_SLOT))
        slot = downloader.slots.get(key)
        least = downloader.per_slot_settings.get(key, {}).get("delay")
        if slot is not None and least is not None:
            slot.delay = max(slot.delay, float(least))
