"""The end of a crawl in this process, and its exit code."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from lafka.runs.signals import STOPPED, Shutdown
from lafka.storage.stopping import (
    HOPELESS_STAT,
    LIST_STAT,
    SHUTDOWN,
    SOURCE_STAT,
    TROUBLE_STAT,
    stop_crawl,
)

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

FELL_SHORT = 1
"""Exit code where the disk or a gateway stopped the crawl, or its list was not read to the end."""

REFUSED = 2
"""Exit code where no line of the list can be asked for, as for one that is refused at the start."""


async def crawled(
    crawler: Crawler, begin: Callable[[], Awaitable[None]], shutdown: Shutdown
) -> int:
    """Let *crawler* begin and end, or stop by *shutdown*; the exit code for it."""
    from twisted.internet import reactor  # noqa: PLC0415  Scrapy installs it late

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
