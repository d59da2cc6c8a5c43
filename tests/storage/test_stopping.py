from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.test import get_crawler

from lafka.errors import StorageTrouble
from lafka.storage.stopping import (
    STORAGE_TROUBLE,
    TROUBLE_STAT,
    note_storage_trouble,
    stop_for_storage,
    storage,
)

FULL = StorageTrouble("a/1.warc", OSError(28, "No space left on device"))
BROKEN = StorageTrouble("a/2.warc", OSError(5, "Input/output error"))


@pytest.fixture
def crawler() -> Any:
    """A crawl, as far as it can be closed: ``closed`` holds the reasons that it was given."""
    crawler: Any = SimpleNamespace(stats=MemoryStatsCollector(get_crawler()), closed=[])

    async def close(*, reason: str) -> None:
        crawler.closed.append(reason)

    crawler.engine = SimpleNamespace(spider=object(), close_spider_async=close)
    return crawler


def stopped(crawler: Any, *errors: StorageTrouble) -> list[str]:
    async def stop() -> None:
        for error in errors:
            stop_for_storage(crawler, error)
        await asyncio.sleep(0)  # it closes in a task of its own

    asyncio.run(stop())
    return list(crawler.closed)


def test_an_error_of_the_disk_names_its_file(tmp_path: Path) -> None:
    for path in (tmp_path / "no" / "file", tmp_path):
        with pytest.raises(StorageTrouble, match=str(path)), storage(tmp_path):
            path.open("rb")
    with pytest.raises(StorageTrouble, match=str(tmp_path)), storage(tmp_path):
        raise OSError(28, "No space left on device")


def test_the_first_trouble_stops_the_crawl_and_is_told_once(
    crawler: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert stopped(crawler, FULL, BROKEN) == [STORAGE_TROUBLE]
    assert crawler.stats.get_value(TROUBLE_STAT) == "a/1.warc: No space left on device"
    [told] = [r.getMessage() for r in caplog.records if r.levelno == logging.ERROR]
    sentence = "The disk stopped the crawl: a/1.warc: No space left on device."
    assert told == f"{sentence} The same command goes on afterwards."


def test_trouble_after_the_spider_was_closed_is_told_and_closes_nothing(crawler: Any) -> None:
    crawler.engine.spider = None
    assert stopped(crawler, FULL) == []
    assert crawler.stats.get_value(TROUBLE_STAT) == str(FULL)


def test_trouble_that_is_only_noted_stops_nothing(crawler: Any) -> None:
    assert note_storage_trouble(crawler, FULL)
    assert not note_storage_trouble(crawler, BROKEN)
    assert crawler.stats.get_value(TROUBLE_STAT) == str(FULL)
    assert crawler.closed == []
