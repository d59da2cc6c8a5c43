from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.signalmanager import SignalManager
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.test import get_crawler

from lafka.errors import MachineTrouble, StorageTrouble
from lafka.storage import stopping
from lafka.storage.stopping import (
    SHUTDOWN,
    STOPPING,
    STOPPING_STAT,
    STORAGE_TROUBLE,
    TROUBLE_STAT,
    is_closing,
    note_storage_trouble,
    stop_crawl,
    stop_for_storage,
    stopping_for,
    storage,
)

FULL = StorageTrouble("a/1.warc", OSError(28, "No space left on device"))
BROKEN = StorageTrouble("a/2.warc", OSError(5, "Input/output error"))


@pytest.fixture
def crawler() -> Any:
    """A crawl, as far as it can be closed: ``closed`` holds the reasons that it was given."""
    crawler: Any = SimpleNamespace(
        stats=MemoryStatsCollector(get_crawler()), closed=[], crawling=True, signals=SignalManager()
    )

    async def close(*, reason: str) -> None:
        crawler.closed.append(reason)

    crawler.engine = SimpleNamespace(spider=object(), running=True, close_spider_async=close)
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


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (StorageTrouble("a/1.warc", OSError(24, "Too many open files")), "(ulimit -n)"),
        (MachineTrouble("a child process", OSError(11, "Try again")), "(ulimit -u)"),
        (MachineTrouble("a child process", OSError(12, "Cannot allocate memory")), "(ulimit -v)"),
        (StorageTrouble("a/1.warc", OSError(27, "File too large")), "(ulimit -f)"),
        (MachineTrouble("a child process", OSError(0, "it ended with 1")), "This machine stopped"),
    ],
)
def test_what_the_machine_refused_is_not_called_the_disk(
    crawler: Any, caplog: pytest.LogCaptureFixture, error: StorageTrouble, said: str
) -> None:
    assert stopped(crawler, error) == [STORAGE_TROUBLE]
    [told] = [r.getMessage() for r in caplog.records if r.levelno == logging.ERROR]
    assert said in told
    assert str(error) in told
    assert "disk" not in told


def test_a_crawl_that_scrapy_closes_is_closing(crawler: Any) -> None:
    crawler.engine._slot = SimpleNamespace(closing=None)
    assert not is_closing(crawler)
    crawler.engine._slot.closing = object()
    assert is_closing(crawler)
    assert not stopping_for(crawler)
    crawler.engine = None
    assert not is_closing(crawler)
    crawler.stats.set_value(STOPPING_STAT, SHUTDOWN)
    assert is_closing(crawler)


def test_trouble_after_the_spider_was_closed_is_told_and_closes_nothing(crawler: Any) -> None:
    crawler.engine.spider = None
    crawler.crawling = False
    assert stopped(crawler, FULL) == []
    assert crawler.stats.get_value(TROUBLE_STAT) == str(FULL)


def test_trouble_that_is_only_noted_stops_nothing(crawler: Any) -> None:
    assert note_storage_trouble(crawler, FULL)
    assert not note_storage_trouble(crawler, BROKEN)
    assert crawler.stats.get_value(TROUBLE_STAT) == str(FULL)
    assert crawler.closed == []


def test_all_parts_hear_that_the_crawl_stops_and_the_first_reason_counts(crawler: Any) -> None:
    heard = []

    def hear(reason: str) -> None:
        heard.append((reason, stopping_for(crawler)))

    crawler.signals.connect(hear, signal=STOPPING)

    async def stop() -> None:
        assert stopping_for(crawler) == ""
        stop_crawl(crawler, SHUTDOWN)
        stop_for_storage(crawler, FULL)
        await asyncio.sleep(0)

    asyncio.run(stop())
    assert heard == [(SHUTDOWN, SHUTDOWN)]
    assert crawler.closed == [SHUTDOWN]
    assert crawler.stats.get_value(TROUBLE_STAT) == str(FULL)


def test_a_spider_that_opens_is_closed_when_it_is_open(
    crawler: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    later: list[Any] = []
    monkeypatch.setattr(stopping, "call_later", lambda _, *call: later.append(call))
    crawler.engine.running = False

    async def stop() -> None:
        stop_crawl(crawler, SHUTDOWN)
        assert crawler.closed == []
        crawler.engine.running = True
        [(call, *arguments)] = later
        call(*arguments)
        await asyncio.sleep(0)

    asyncio.run(stop())
    assert crawler.closed == [SHUTDOWN]


def test_a_crawl_that_cannot_be_opened_is_not_waited_for(crawler: Any) -> None:
    crawler.engine.running = crawler.crawling = False

    async def stop() -> None:
        stop_crawl(crawler, SHUTDOWN)
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(stop())
    assert crawler.closed == []


def test_a_crawl_that_has_not_begun_has_nothing_to_stop() -> None:
    """As where a signal comes before Scrapy has made the engine and the stats."""
    crawler = Crawler(Spider)
    stop_crawl(crawler, SHUTDOWN)
    assert stopping_for(crawler) == ""
