"""The downloads on their way, and what becomes of them when the crawl stops.

Scrapy waits for all of them before it closes a spider, and some take an hour. So what has not been
sent yet is given up at once, and what has not ended after some time is cut: its bytes are kept, and
marked as truncated.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from scrapy.crawler import Crawler
from scrapy.utils.asyncio import call_later
from twisted.python.failure import Failure

from lafka.errors import Stopped
from lafka.storage.stopping import STOPPING

if TYPE_CHECKING:
    from lafka.capture.recording import Tap

AGAIN = 0.1
"""Seconds until those are given up that have come to wait for their turn meanwhile."""


class InFlight:
    """The taps of one handler's downloads; once the crawl stops there are no new ones.

    *grace*: seconds that a download which has begun may still take.
    """

    def __init__(self, crawler: Crawler | None = None, grace: float = 0.0) -> None:
        self._crawler = crawler
        self._grace = grace
        self._taps: set[Tap] = set()
        self._stops = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        grace = crawler.settings.getfloat("LAFKA_SHUTDOWN_TIMEOUT") / 2
        in_flight = cls(crawler, grace)
        crawler.signals.connect(in_flight.stop, signal=STOPPING)
        return in_flight

    def judge(self, url: str) -> None:
        """``Stopped`` where nothing may be asked any more."""
        if self._stops:
            raise Stopped(f"{url}: not asked, for the crawl stops")

    @contextmanager
    def one(self, tap: Tap) -> Iterator[None]:
        """While the download of *tap* goes on."""
        self._taps.add(tap)
        try:
            yield
        finally:
            self._taps.discard(tap)

    def stop(self) -> None:
        self._stops = True
        self._give_up()
        call_later(self._grace, self._cut)

    def _give_up(self) -> None:
        """Those that wait for the delay of their host, which may be longer than we have."""
        assert self._crawler is not None
        engine = self._crawler.engine
        if engine is None or not self._crawler.crawling:
            return
        for slot in list(engine.downloader.slots.values()):
            while slot.queue:
                request, deferred = slot.queue.popleft()
                stopped = Stopped(f"{request.url}: not asked, for the crawl stops")
                deferred.errback(Failure(stopped))  # type: ignore[no-untyped-call]
        call_later(AGAIN, self._give_up)

    def _cut(self) -> None:
        for tap in list(self._taps):
            tap.fail(Stopped(f"{tap.exchange.url}: cut, for the crawl stops"), "time")
