"""A crawl in this process: its log, its end, which is that of its spider, and the exit code."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Self

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings
from scrapy.utils.asyncio import call_later

from lafka.runs.signals import STOPPED, Shutdown
from lafka.storage.stopping import (
    HOPELESS_STAT,
    LIST_STAT,
    SHUTDOWN,
    SOURCE_STAT,
    TROUBLE_STAT,
    stop_crawl,
)
from lafka.storage.threads import the_reactor

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


FELL_SHORT = 1
"""Exit code where the disk or a gateway stopped the crawl, or its list was not read to the end."""

REFUSED = 2
"""Exit code where no line of the list can be asked for, as for one that is refused at the start."""


async def crawled(
    crawler: Crawler, begin: Callable[[], Awaitable[None]], shutdown: Shutdown
) -> int:
    """Let *crawler* begin and end, or stop by *shutdown*; the exit code for it."""
    reactor = the_reactor()
    shutdown.attend(lambda: reactor.callFromThread(stop_crawl, crawler, SHUTDOWN))
    if shutdown.asked:
        return STOPPED
    await begin()
    code = _code(crawler)
    shutdown.ended(code)
    return code


def _code(crawler: Crawler) -> int:
    if crawler.stats is None:
        return 0
    if crawler.stats.get_value(HOPELESS_STAT):
        return REFUSED
    if any(crawler.stats.get_value(stat) for stat in (TROUBLE_STAT, LIST_STAT, SOURCE_STAT)):
        return FELL_SHORT
    stopped = crawler.stats.get_value("finish_reason") == SHUTDOWN
    return STOPPED if stopped else 0


OF_ITSELF = (
    "scrapy.utils.log",
    "scrapy.addons",
    "scrapy.crawler",
    "scrapy.middleware",
    "scrapy.extensions.logstats",
)
"""Loggers of Scrapy that tell at INFO how it is set up, and its own progress."""
STATS = "scrapy.statscollectors"
DOWNLOADS = (
    "lafka.capture.handler",
    "scrapy.core.downloader.handlers._base_streaming",
)
WRONG = "DOWNLOAD_FAIL_ON_DATALOSS"
"""Scrapy's advice to set it is not said: what is cut short is an outcome, ``truncated``."""


def settle_log(settings: BaseSettings) -> None:
    """Take Scrapy's words about itself for DEBUG, but for its stats where STATS_DUMP is set."""
    asked = (settings.getpriority("STATS_DUMP") or 0) > 0
    for name in (*OF_ITSELF, *(() if asked else (STATS,))):
        logging.getLogger(name).addFilter(at_debug)
    for name in DOWNLOADS:
        logging.getLogger(name).addFilter(is_no_wrong_advice)


def at_debug(record: logging.LogRecord) -> bool:
    """Let *record* pass, as one of DEBUG where it was one of INFO; handlers look at its level."""
    if record.levelno == logging.INFO:
        record.levelno, record.levelname = logging.DEBUG, "DEBUG"
    return True


def is_no_wrong_advice(record: logging.LogRecord) -> bool:
    return WRONG not in record.getMessage()
