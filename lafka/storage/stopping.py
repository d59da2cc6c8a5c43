"""Stop a crawl before its list has ended, with a sentence where disk or machine is why."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scrapy.crawler import Crawler
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro

from lafka.errors import MachineTrouble, StorageTrouble
from lafka.storage.limits import RAISES

STORAGE_TROUBLE = "storage-trouble"
"""Finish reason of a crawl that the disk stopped."""
SHUTDOWN = "shutdown"
"""Finish reason of a crawl that a signal stopped (Scrapy's own word)."""
STOPPING = object()
"""Scrapy signal, with the ``reason``: the crawl stops. Whoever has in hand what may take long gives
it up in time."""
STOPPING_STAT = "lafka/stopping"
"""Stat: the reason for which the crawl stops, there before the spider is closed."""
TROUBLE_STAT = "lafka/storage_trouble"
"""Stat: the sentence about the disk, which may have refused after the crawl had finished."""
SOURCE_STAT = "lafka/source/error"
"""Stat: the sentence about what a crawl pulled from or wrote to, which went away."""
LIST_STAT = "lafka/list/error"
"""Stat: the sentence about a list that could not be read to its end."""
HOPELESS_STAT = "lafka/list/hopeless"
"""Stat: there where no line of the list can be asked for."""

_AGAIN = 0.02  # seconds until it is looked again whether a spider that opens is open

logger = logging.getLogger(__name__)


@contextmanager
def storage(path: Path) -> Iterator[None]:
    """An OSError of what is done to the archive is a ``StorageTrouble``."""
    try:
        yield
    except OSError as error:
        raise StorageTrouble(error.filename or path, error) from error


def note_storage_trouble(crawler: Crawler, error: StorageTrouble) -> bool:
    """Say, once, in one sentence, that the crawl stops; whether this was the first time."""
    assert crawler.stats is not None
    if crawler.stats.get_value(TROUBLE_STAT):
        return False
    crawler.stats.set_value(TROUBLE_STAT, str(error))
    if limit := RAISES.get(error.error.errno or 0):
        logger.error(
            "A limit of this machine stopped the crawl: %s; raise %s."
            " The same command goes on afterwards.", error, limit,
        )  # fmt: skip
    elif isinstance(error, MachineTrouble):
        logger.error(
            "This machine stopped the crawl: %s. The same command goes on afterwards.", error
        )
    else:
        logger.error("The disk stopped the crawl: %s. The same command goes on afterwards.", error)
    return True


def stop_for_storage(crawler: Crawler, error: StorageTrouble) -> None:
    """Stop the open spider: the same command goes on when there is room."""
    if note_storage_trouble(crawler, error):
        close_for_storage(crawler)


def stop_for(crawler: Crawler, reason: str, sentence: str) -> None:
    """Stop the open spider, and say why, once: the same command goes on."""
    note_source_trouble(crawler, sentence)
    stop_crawl(crawler, reason)


def note_source_trouble(crawler: Crawler, sentence: str) -> None:
    """Say, once, why the crawl stops; from any thread."""
    assert crawler.stats is not None
    if not crawler.stats.get_value(SOURCE_STAT):
        crawler.stats.set_value(SOURCE_STAT, sentence)
        logger.error("%s. The same command goes on afterwards.", sentence)


def close_for_storage(crawler: Crawler) -> None:
    """Close the spider, unless it is closed already."""
    stop_crawl(crawler, STORAGE_TROUBLE)


def stopping_for(crawler: Crawler) -> str:
    """The reason for which *crawler* stops; empty where it goes on."""
    stats = _there(crawler, "stats")
    return str(stats.get_value(STOPPING_STAT, "")) if stats else ""


def is_closing(crawler: Crawler) -> bool:
    """Return whether the spider of *crawler* closes, by Scrapy's own reasons too, as
    CLOSESPIDER_TIMEOUT.

    No public way to it; where the name is gone, a crawl that closes still begins its waiting lines.
    """
    slot = getattr(crawler.engine, "_slot", None)
    return bool(stopping_for(crawler)) or getattr(slot, "closing", None) is not None


def stop_crawl(crawler: Crawler, reason: str) -> None:
    """Say that the crawl stops, and close its spider, once that is open; the first reason counts.

    A crawl that has not begun has nothing to stop. To be called in the thread of the reactor.
    """
    if stopping_for(crawler) or _there(crawler, "engine") is None:
        return
    crawler.stats.set_value(STOPPING_STAT, reason)
    crawler.signals.send_catch_log(STOPPING, reason=reason)
    _close(crawler, reason)


def _close(crawler: Crawler, reason: str) -> None:
    engine = crawler.engine
    if engine.running and engine.spider is not None:
        deferred_from_coro(engine.close_spider_async(reason=reason))
    elif crawler.crawling:  # it opens: Scrapy cannot close what is half open
        call_later(_AGAIN, _close, crawler, reason)


def _there(crawler: Crawler, name: str) -> Any:
    """The part *name* of *crawler*, None before it begins: Scrapy raises where it is asked then."""
    try:
        return getattr(crawler, name)
    except RuntimeError:
        return None
