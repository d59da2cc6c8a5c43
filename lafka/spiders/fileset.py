"""The spider ``fileset``: ingest requests in, results out.

How an ingest asks and stores meanwhile is ``filesets.crawling.services``.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Self

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings
from scrapy.statscollectors import StatsCollector

from lafka.capture.run import Run
from lafka.errors import BadList, Stopped, StorageTrouble
from lafka.filesets.archive.filesets import FilesetRecovery, Filesets, recover
from lafka.filesets.archive.index import HitIndex
from lafka.filesets.bundles.children import BundleChildren
from lafka.filesets.crawling.arguments import ARGUMENTS, Arguments, Sizes
from lafka.filesets.crawling.ingests import Ingest
from lafka.filesets.crawling.lines import ALONE, MOST, Attempts, LineCount, RequestLine, bad_result
from lafka.filesets.crawling.services import Brokers, CrawlWire, DryRunEnd, IngestServices
from lafka.filesets.model.messages import file_result
from lafka.filesets.model.types import Status
from lafka.filesets.results import DEAD, CrawlRows, place_of
from lafka.items import ResultItem, StoreItem
from lafka.jobs.database import BadDatabase, opened
from lafka.jobs.kafka import BrokerTrouble
from lafka.jobs.kafka.topics import properties
from lafka.jobs.lines import burying
from lafka.papers import Archive
from lafka.runs import validation
from lafka.runs.feed import add_outcome_feed
from lafka.runs.progress import ProgressGoal
from lafka.runs.sources import GUESTS, archive_line
from lafka.spiders.loading import user_agent, with_ours
from lafka.spiders.road import leave_off
from lafka.storage.stopping import (
    LIST_STAT,
    STOPPING,
    note_source_trouble,
    stop_crawl,
    stop_for,
    stop_for_storage,
    stopping_for,
)
from lafka.storage.threads import run_aside, the_reactor

BROKER_TROUBLE = "broker-trouble"
"""Finish reason of a crawl that a Kafka broker stopped."""
DATABASE_TROUBLE = "database-trouble"
"""Finish reason of a crawl whose results a database does not take."""

logger = logging.getLogger(__name__)


class FilesetSpider(Spider):
    """``lafka crawl fileset -a input=requests.jsonl``; docs/reference.md has the arguments."""

    name = "fileset"
    aim = ProgressGoal(
        "datasets", frozenset(status for status in Status if status.is_hit), "datasets"
    )

    run: Run
    filesets: Filesets
    rows: CrawlRows

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        with_ours(settings)
        super().update_settings(settings)
        add_outcome_feed(settings, fields=None, item_classes=[ResultItem])
        if settings.getpriority("USER_AGENT") == 0 or not settings.get("USER_AGENT"):
            settings.set("USER_AGENT", user_agent(settings), priority="spider")
        middlewares = settings.getdict("DOWNLOADER_MIDDLEWARES") | {
            "lafka.filesets.crawling.tokens.PlatformBasesMiddleware": 90,
            "lafka.filesets.crawling.tokens.TokensMiddleware": 940,
        }
        settings.set("DOWNLOADER_MIDDLEWARES", middlewares, priority="spider")
        leave_off(settings)

    @classmethod
    def check(cls, settings: BaseSettings, given: dict[str, str]) -> None:
        """Raise a LafkaError, one sentence, where a crawl with these arguments cannot begin."""
        arguments = cls._arguments(settings, given)
        if "://" in (place := place_of(arguments.root, settings["LAFKA_DATABASE"])):
            opened(place).close()  # it is not connected to before it is used
        Archive.create(arguments.root, settings.get("LAFKA_COLLECTION") or None)

    @staticmethod
    def _arguments(settings: BaseSettings, given: dict[str, str]) -> Arguments:
        validation.check(settings)
        return Arguments.parse(settings, given, _sizes(settings), datetime.now(UTC))

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        settings = crawler.settings
        arguments = cls._arguments(settings, kwargs)
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.arguments = arguments
        root = Archive.create(arguments.root, settings.get("LAFKA_COLLECTION") or None).root
        spider.filesets = Filesets(root, arguments.items)
        if settings.get("LOG_FILE"):
            logger.info(archive_line(settings))
        spider.run = Run.begin(crawler, root, raw=spider.filesets.folder / "raw")
        spider.wire = CrawlWire(crawler, spider.run, spider._hand_on)
        spider.shop = spider._shop(settings)
        spider.attempts = Attempts(spider.shop.index)
        spider.rows = CrawlRows(
            place_of(root, settings["LAFKA_DATABASE"]), burying(root / DEAD), lambda: spider._stops
        )
        spider.most = settings.getint("LAFKA_FILESETS_MAX")
        crawler.signals.connect(spider.stopping, signal=STOPPING)
        crawler.signals.connect(spider.spider_closed, signal=signals.spider_closed)
        crawler.signals.connect(spider.engine_stopped, signal=signals.engine_stopped)
        return spider

    def recover(self, *, keep: bool, stopped: Callable[[], bool]) -> Iterator[FilesetRecovery]:
        """Store what dead runs have captured, as ``lafka.filesets.archive.filesets.recover``."""
        return recover(self.filesets, keep=keep, stopped=stopped)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.arguments: Arguments
        self.shop: IngestServices
        self.wire: CrawlWire
        self.most = 1
        self.dry: list[dict[str, Any]] = []
        self._out: asyncio.Queue[Any] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._children = BundleChildren()
        self._brokers: Brokers | None = None
        self.attempts: Attempts
        self.feeder = LineCount()

    def _shop(self, settings: BaseSettings) -> IngestServices:
        arguments, sizes = self.arguments, _sizes(settings)
        return IngestServices(
            wire=self.wire,
            rules=arguments.rules,
            filesets=self.filesets,
            index=HitIndex(self.filesets),
            children=self._children,
            bases=arguments.bases,
            run=self.run.name,
            collection=settings["LAFKA_ITEM_COLLECTION"],
            locks={},
            landing_max=sizes.landing_max,
            keep_free=sizes.keep_free,
            tries=settings.getint("LAFKA_FILESET_TRIES"),
            robots_everywhere=settings["LAFKA_FILESET_ROBOTS"] == "all",
            dry=arguments.dry,
        )

    def report_fields(self) -> dict[str, Any]:
        """Return what the run's report says of this crawl."""
        given = {name: self.__dict__[name] for name in ARGUMENTS if name in self.__dict__}
        return {"job": self.__dict__.get(GUESTS[0]), "arguments": given}

    # The input --------------------------------------------------------------------------

    async def start(self) -> AsyncIterator[Any]:
        """Yield what is to be stored and told; the requests of ingests go by the engine."""
        self._meet_brokers()
        reading = asyncio.ensure_future(self._read())
        counting = asyncio.ensure_future(self._count_lines())
        while (item := await self._out.get()) is not None:
            yield item
        while not self._out.empty():
            if (item := self._out.get_nowait()) is not None:
                yield item
        for task in (reading, counting):
            task.cancel()

    async def _count_lines(self) -> None:
        if listed := self.arguments.listed:
            await run_aside("lafka-count", partial(self.feeder.load, listed))

    async def _read(self) -> None:
        """Begin an ingest a line, so many at once; say that all have ended."""
        room = asyncio.Semaphore(self.most)
        try:
            following = self._following()
            while not self._stops:
                await room.acquire()
                if (line := await following()) is None:
                    break
                begins = await self._begin(line)
                if begins >= ALONE and self._tasks:
                    await asyncio.wait(self._tasks)
                task = asyncio.ensure_future(self._ingest(line, begins))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
                task.add_done_callback(lambda _: room.release())
                if begins >= ALONE:
                    await asyncio.wait([task])
        except BadList as error:
            logger.error("The list ends early: %s", error)
            assert self.crawler.stats is not None
            self.crawler.stats.set_value(LIST_STAT, str(error))
        except StorageTrouble as error:
            stop_for_storage(self.crawler, error)
        while self._tasks and not self._stops:
            await asyncio.wait(self._tasks)
        self._out.put_nowait(None)

    async def _begin(self, line: RequestLine) -> int:
        """Count that *line* is begun, but for one that is to wait until it is alone."""
        return await self.wire.aside(self.attempts.begin, line, ALONE) if line.message else 0

    async def _ingest(self, line: RequestLine, begins: int) -> None:
        """The ingest of *line*, which was begun so often before without an end."""
        try:
            if line.request is None:
                self._deliver(bad_result(line), line)
                return
            if begins >= MOST:
                self._deliver(self.attempts.given_up(line, line.request), line)
                return
            if begins >= ALONE:
                await self.wire.aside(self.attempts.begin, line)
            moved = partial(self.attempts.end, [line.message]) if line.message else None
            result = await Ingest(self.shop, line.request, line.number, moved).run()
            self._deliver(result, line)
            if result["lafka"]["requests"]:  # else it has nothing in the raw log
                await self.run.raw.in_order(self._release, line.number)
        except DryRunEnd as dry:
            self.dry.append(dry.told)
            await self.run.raw.in_order(self._release, line.number)
        except (Stopped, asyncio.CancelledError):
            pass  # the next run asks again
        except StorageTrouble as error:
            stop_for_storage(self.crawler, error)
        except Exception:
            url = line.request.base_url if line.request else ""
            logger.exception("%s: its ingest failed", url)

    def _release(self, number: int) -> None:
        self.run.raw.log().release(number)

    def _deliver(self, result: dict[str, Any], line: RequestLine) -> None:
        assert self.crawler.stats is not None
        if line.message:
            result["lafka"] = {**result.get("lafka", {}), "message": line.message}
        self._count(self.crawler.stats, result)
        for told in filter(None, (result, file_result(result))):
            item = ResultItem(told)
            item.number, item.beside = line.number, told is not result
            self._out.put_nowait(item)

    def _count(self, stats: StatsCollector, result: dict[str, Any]) -> None:
        status, account = result["status"], result.get("lafka", {})
        stats.inc_value(f"lafka/filesets/{status}")
        if strategy := result.get("ingest_strategy"):
            stats.inc_value(f"lafka/filesets/strategy/{strategy}")
        if platform := result.get("platform_name"):
            stats.inc_value(f"lafka/filesets/platform/{platform}")
        files = [file.get("status") for file in result.get("manifest", ())]
        stats.inc_value("lafka/filesets/files", files.count("success"))
        stats.inc_value("lafka/filesets/held", files.count("exists"))
        stats.inc_value("lafka/filesets/bytes", account.get("bytes", 0))

    def acknowledged(self, lines: bytes) -> None:
        """Results that are on the disk; called in the feed's thread."""
        told = lines.splitlines()
        results = [json.loads(line) for line in told]
        for result in results:
            result.pop("chain", None)
        if self.arguments.to_stdout:
            for result in results:
                sys.stdout.write(json.dumps(result, ensure_ascii=False) + "\n")
            sys.stdout.flush()
        if self._brokers is not None:
            self._brokers.publisher.publish(results)
            return
        try:
            self.rows.write(self.run.name, zip(told, results, strict=True))
            self.shop.index.tell([_key(result) for result in results if result["hit"]])
        except BadDatabase as error:
            note_source_trouble(self.crawler, str(error))
            the_reactor().callFromThread(stop_crawl, self.crawler, DATABASE_TROUBLE)

    def _meet_brokers(self) -> None:
        """Begin to read and to publish, where topics are asked for."""
        settings, arguments = self.crawler.settings, self.arguments
        if not arguments.servers:
            return
        self._brokers = Brokers(
            arguments,
            (settings["LAFKA_KAFKA_PREFIX"], settings["LAFKA_KAFKA_ENV"]),
            aside=self.wire.aside,
            dead=self.run.root / "runs" / f"{self.run.name}.dead.jsonl",
            acknowledged=self._at_the_broker,
            let_go=self.attempts.end,
            failed=self._broker_failed,
            window=settings.getint("LAFKA_KAFKA_WINDOW"),
            properties=properties(settings["LAFKA_KAFKA"]),
        )
        self._brokers.start()

    def _following(self) -> Callable[[], Awaitable[RequestLine | None]]:
        """Return what gives one line of the input after the other; None behind the last."""
        if self._brokers is not None and self._brokers.inbox is not None:
            return self._brokers.inbox.next
        return partial(self.wire.aside, next, self.arguments.lines(), None)

    def _at_the_broker(self, result: Mapping[str, Any]) -> None:
        """A result is acknowledged, and that of its file; in a thread."""
        if result["hit"]:
            self.shop.index.tell([_key(result)])
        self.attempts.end([result.get("lafka", {}).get("message", "")])

    def _broker_failed(self, error: BrokerTrouble | StorageTrouble) -> None:
        if isinstance(error, StorageTrouble):
            stop_for_storage(self.crawler, error)
        else:
            stop_for(self.crawler, BROKER_TROUBLE, str(error))

    def _hand_on(self, fileset: str, work: Callable[[], Any], done: asyncio.Future[Any]) -> None:
        """Have the pipeline do *work*, of which *done* is to tell."""
        self._out.put_nowait(StoreItem(fileset=fileset, work=work, done=done))

    # The end ----------------------------------------------------------------------------

    @property
    def _stops(self) -> bool:
        return bool(stopping_for(self.crawler))

    def stopping(self) -> None:
        """Begin no more ingests; those in progress end at their next request."""
        self._out.put_nowait(None)

    async def spider_closed(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self.wire.stop()
        self._children.stop()
        self._forget_attempts()
        self.shop.index.close()
        if self._brokers is not None:
            assert self.crawler.stats is not None
            for name, count in self._brokers.counts.items():
                self.crawler.stats.set_value(f"lafka/kafka/{name}", count)

    def _forget_attempts(self) -> None:
        try:
            self.attempts.end_all()
        except StorageTrouble as error:
            stop_for_storage(self.crawler, error)

    async def engine_stopped(self) -> None:
        """The feed is closed, so all results are published: wait for them, commit and leave."""
        self.rows.close()
        if self._brokers is None:
            return
        try:
            await run_aside("kafka-end", self._brokers.leave)
        except BrokerTrouble as error:
            self._broker_failed(error)


def _sizes(settings: BaseSettings) -> Sizes:
    return Sizes(
        max_total=validation.size(settings, "LAFKA_FILESET_MAX_TOTAL"),
        max_file=validation.size(settings, "LAFKA_FILESET_MAX_FILE"),
        keep_free=validation.size(settings, "LAFKA_FILESET_KEEP_FREE"),
        web_max_file=validation.size(settings, "LAFKA_WEB_MAX_FILE"),
        web_max_total=validation.size(settings, "LAFKA_WEB_MAX_TOTAL"),
        landing_max=validation.size(settings, "LAFKA_LANDING_MAX"),
    )


def _key(result: Mapping[str, Any]) -> tuple[str, str]:
    request = result["request"]
    return str(request.get("ingest_type")), str(request.get("base_url"))
