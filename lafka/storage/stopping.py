"""What happens to a crawl when the disk refuses: one sentence, and the same command goes on."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lafka.errors import StorageTrouble

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

STORAGE_TROUBLE = "storage-trouble"
"""Finish reason of a crawl that the disk stopped."""
TROUBLE_STAT = "lafka/storage_trouble"
"""Stat: the sentence about the disk, which may have refused after the crawl had finished."""
LIST_STAT = "lafka/list/error"
"""Stat: the sentence about a list that could not be read to its end."""

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
    logger.error("The disk stopped the crawl: %s. The same command goes on afterwards.", error)
    return True


def stop_for_storage(crawler: Crawler, error: StorageTrouble) -> None:
    """Stop the open spider: the same command goes on when there is room."""
    if note_storage_trouble(crawler, error):
        close_for_storage(crawler)


def close_for_storage(crawler: Crawler) -> None:
    """Close the spider, unless it is closed already."""
    assert crawler.engine is not None
    if crawler.engine.spider is None:
        return
    from scrapy.utils.defer import _schedule_coro  # noqa: PLC0415

    _schedule_coro(crawler.engine.close_spider_async(reason=STORAGE_TROUBLE))
