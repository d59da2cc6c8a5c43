"""Lets a spider be closed whose last items came from its ``start``, and no answer after them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.utils.asyncio import call_later

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

AGAIN = 0.05
"""Seconds from the end of an item until it is looked whether it was the last."""


class LastItems:
    """Tells Scrapy's scraper that it has nothing left, where an item of ``start`` was the last.

    The scraper of Scrapy 2.19 waits for its items when the spider closes, but looks whether there
    are any only at the end of an answer: a crawl that is closed while items of ``start`` are under
    way, and asks nobody, would wait for ever.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._looks = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler)
        for signal in (signals.item_scraped, signals.item_dropped, signals.item_error):
            crawler.signals.connect(extension.item_ended, signal)
        return extension

    def item_ended(self) -> None:
        """One is told of before the scraper has counted it: look a moment later."""
        if not self._looks:
            self._looks = True
            call_later(AGAIN, self._look)

    def _look(self) -> None:
        self._looks = False
        engine = self._crawler.engine
        slot = engine.scraper.slot if engine else None
        if slot is None:
            return
        if not slot.is_idle():
            self.item_ended()
        elif slot.closing and not slot.closing.called:
            slot.closing.callback(self._crawler.spider)  # type: ignore[arg-type]
