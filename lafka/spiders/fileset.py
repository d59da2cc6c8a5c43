"""The spider ``fileset``: reads ingest requests, asks what the walk wants, yields results."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from scrapy import Request, Spider, signals
from scrapy.http import Response
from twisted.python.failure import Failure

from lafka import validation
from lafka.capture.handler import SINK_KEY
from lafka.capture.logged import LoggedHops, Provenance
from lafka.capture.middlewares import LOGGED_KEY, PROVENANCE_KEY
from lafka.capture.run import Run
from lafka.cli import told_archive
from lafka.errors import BadList, Stopped, StorageTrouble
from lafka.filesets.archive.filesets import Filesets
from lafka.filesets.archive.index import HitIndex
from lafka.filesets.archive.recovery import BOUND
from lafka.filesets.children import Children
from lafka.filesets.crawling.answers import Came
from lafka.filesets.crawling.arguments import ARGUMENTS, GUESTS, Arguments, Sizes
from lafka.filesets.crawling.attempts import ALONE, MOST, Attempts
from lafka.filesets.crawling.brokers import Brokers
from lafka.filesets.crawling.downloads import PartSink
from lafka.filesets.crawling.ingests import Ingest
from lafka.filesets.crawling.lines import LineCount, RequestLine, bad_result
from lafka.filesets.crawling.shops import Dry, Shop, Wanted
from lafka.filesets.results import file_result
from lafka.filesets.statuses import Status
from lafka.items import ResultItem, StoreItem
from lafka.jobs.kafka import BrokerTrouble
from lafka.jobs.kafka.places import properties
from lafka.papers import Archive
from lafka.politeness.failures import not_the_sites
from lafka.runs.feed import add_outcome_feed
from lafka.runs.progress import Aim
from lafka.spiders.agents import user_agent
from lafka.storage.stopping import (
    LIST_STAT,
    STOPPING,
    stop_for,
    stop_for_storage,
    stopping_for,
)
from lafka.storage.threads import Threads, run_aside

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from scrapy.statscollectors import StatsCollector

CAME = "came"
"""Key of a request's ``cb_kwargs``: who waits for its answer."""
NO_TIMEOUT = 10 * 365 * 86_400.0
"""Seconds; the stall timeout and the minimum rate end what does not move."""
BROKER_TROUBLE = "broker-trouble"
"""Finish reason of a crawl that a Kafka broker stopped."""
GO_ON = 10
"""Priority of the requests of ingests in progress: they go before landing pages."""

logger = logging.getLogger(__name__)


class FilesetSpider(Spider):
    """``scrapy crawl fileset -a input=requests.jsonl``; docs/reference.md has the arguments."""

    name = "fileset"
    aim = Aim("datasets", frozenset(status for status in Status if status.is_hit), "datasets")

    run: Run
    filesets: Filesets

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        super().update_settings(settings)
        add_outcome_feed(settings, fields=None, item_classes=[ResultItem])
        if settings.getpriority("USER_AGENT") == 0 or not settings.get("USER_AGENT"):
            settings.set("USER_AGENT", user_agent(settings), priority="spider")
        middlewares = settings.getdict("DOWNLOADER_MIDDLEWARES") | {
            "lafka.filesets.crawling.bases.PlatformBasesMiddleware": 90,
            "lafka.filesets.crawling.tokens.TokensMiddleware": 940,
        }
        settings.set("DOWNLOADER_MIDDLEWARES", middlewares, priority="spider")

    @classmethod
    def check(cls, settings: BaseSettings, given: dict[str, str]) -> None:
        """Raise a LafkaError, one sentence, where a crawl with these arguments cannot begin."""
        arguments = cls._arguments(settings, given)
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
            logger.info(told_archive(settings))
        spider.run = Run.begin(crawler, root, raw=spider.filesets.folder / "raw")
        spider.shop = spider._shop(settings)
        spider.attempts = Attempts(spider.shop.index)
        spider.most = settings.getint("LAFKA_FILESETS_MAX")
        crawler.signals.connect(spider.stopping, signal=STOPPING)
        crawler.signals.connect(spider.spider_closed, signal=signals.spider_closed)
        crawler.signals.connect(spider.engine_stopped, signal=signals.engine_stopped)
        return spider

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.arguments: Arguments
        self.shop: Shop
        self.most = 1
        self.dry: list[dict[str, Any]] = []
        self._threads = Threads("lafka-ingests", 4)
        self._out: asyncio.Queue[Any] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._children = Children()
        self._brokers: Brokers | None = None
        self.attempts: Attempts
        self.feeder = LineCount()

    def _shop(self, settings: BaseSettings) -> Shop:
        arguments, sizes = self.arguments, _sizes(settings)
        return Shop(
            wire=self,
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

    def told(self) -> dict[str, Any]:
        """What the run's report says of this crawl."""
        given = {name: self.__dict__[name] for name in ARGUMENTS if name in self.__dict__}
        return {"job": self.__dict__.get(GUESTS[0]), "arguments": given}

    # The input --------------------------------------------------------------------------

    async def start(self) -> AsyncIterator[Any]:
        """What is to be stored and told, as ingests come to it; their requests go by the engine."""
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
                begins = await self.aside(self.attempts.begins, line) if line.message else 0
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

    async def _ingest(self, line: RequestLine, begins: int) -> None:
        """The ingest of *line*, which was begun so often before without an end."""
        try:
            if line.request is None:
                self._tell(bad_result(line), line)
                return
            if begins >= MOST:
                self._tell(self.attempts.given_up(line, line.request), line)
                return
            if line.message:
                await self.aside(self.attempts.begin, line)
            moved = partial(self.attempts.end, [line.message])
            result = await Ingest(self.shop, line.request, line.number, moved).run()
            self._tell(result, line)
            await self.run.raw.in_order(self._release, line.number)
        except Dry as dry:
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

    def _tell(self, result: dict[str, Any], line: RequestLine) -> None:
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
        results = [json.loads(line) for line in lines.splitlines()]
        for result in results:
            result.pop("chain", None)
        if self.arguments.to_stdout:
            for result in results:
                sys.stdout.write(json.dumps(result, ensure_ascii=False) + "\n")
            sys.stdout.flush()
        if self._brokers is None:
            self.shop.index.tell([_key(result) for result in results if result["hit"]])
        else:
            self._brokers.publisher.publish(results)

    def _meet_brokers(self) -> None:
        """Begin to read and to publish, where topics are asked for."""
        settings, arguments = self.crawler.settings, self.arguments
        if not arguments.servers:
            return
        self._brokers = Brokers(
            arguments,
            (settings["LAFKA_KAFKA_PREFIX"], settings["LAFKA_KAFKA_ENV"]),
            aside=self.aside,
            dead=self.run.root / "runs" / f"{self.run.name}.dead.jsonl",
            acknowledged=self._at_the_broker,
            let_go=self.attempts.end,
            failed=self._broker_failed,
            window=settings.getint("LAFKA_KAFKA_WINDOW"),
            properties=properties(settings["LAFKA_KAFKA"]),
        )
        self._brokers.start()

    def _following(self) -> Callable[[], Awaitable[RequestLine | None]]:
        """What gives one line of the input after the other; None behind the last."""
        if self._brokers is not None and self._brokers.inbox is not None:
            return self._brokers.inbox.next
        return partial(self.aside, next, self.arguments.lines(), None)

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

    # The wire ---------------------------------------------------------------------------

    async def get(self, owner: int, wanted: Wanted) -> Came:
        """Put a request through the scheduler, and wait for what comes of it."""
        came: asyncio.Future[Came] = asyncio.get_running_loop().create_future()
        try:
            request = self._request(owner, wanted, came)
        except ValueError as error:  # what Scrapy takes for no URL
            return Came(hops=LoggedHops(), error=error)
        if self._stops or self.crawler.engine is None:
            raise Stopped(f"{wanted.url}: not asked, for the crawl stops")
        self.crawler.engine.crawl(request)
        return await came

    def _request(self, owner: int, wanted: Wanted, came: asyncio.Future[Came]) -> Request:
        return Request(
            wanted.url,
            callback=self.parse,
            errback=self.failed,
            headers=dict(wanted.headers) | ({"Accept": wanted.accept} if wanted.accept else {}),
            meta={
                PROVENANCE_KEY: Provenance(owner=owner, fields=wanted.fields),
                "cookiejar": owner,
                "download_maxsize": wanted.most,
                "max_retry_times": wanted.tries - 1,
                "dont_obey_robotstxt": not wanted.robots,
                **(_streamed(wanted.sink) if wanted.sink else {}),
            },
            cb_kwargs={CAME: came},
            priority=GO_ON,
            dont_filter=True,
        )

    async def parse(self, response: Response, came: asyncio.Future[Came]) -> None:
        request = response.request
        assert request is not None
        if not came.done():
            came.set_result(Came(hops=request.meta.get(LOGGED_KEY) or LoggedHops()))

    async def failed(self, failure: Failure) -> None:
        """The errback: a download that gave no response."""
        request: Request = failure.request  # type: ignore[attr-defined]
        came: asyncio.Future[Came] = request.cb_kwargs[CAME]
        error: BaseException = failure.value  # type: ignore[assignment]
        trouble = not_the_sites(error)
        if isinstance(trouble, StorageTrouble):
            stop_for_storage(self.crawler, trouble)
        if came.done():
            return
        if trouble is not None:
            came.set_exception(trouble)
        else:
            hops = request.meta.get(LOGGED_KEY) or LoggedHops()
            came.set_result(Came(hops=hops, error=error))

    async def store(self, fileset: str, work: Callable[[], Any]) -> Any:
        """Have the pipeline do *work* in a thread; what it gives."""
        if self._stops:
            raise Stopped(f"{fileset}: not stored, for the crawl stops")
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._out.put_nowait(StoreItem(fileset=fileset, work=work, done=done))
        return await done

    def call(self, work: Callable[[], object]) -> object:
        """Have *work* done in the reactor's thread."""
        from twisted.internet import reactor  # noqa: PLC0415  Scrapy installs it late

        return reactor.callFromThread(work)

    async def bind(self, owner: int, fileset: str, captures: list[str]) -> None:
        """Note in the raw log whose *captures* are: a recovery stores them by it."""
        await self.run.raw.in_order(self._bind, owner, fileset, captures)

    def _bind(self, owner: int, fileset: str, captures: list[str]) -> None:
        self.run.raw.log().note(owner, fileset, {BOUND: fileset, "captures": captures})

    async def aside(self, work: Callable[..., Any], *args: Any) -> Any:
        """What *work* gives, done in a thread."""
        return await self._threads.run(work, *args)

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
        self._threads.stop()
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


def _streamed(sink: PartSink) -> dict[str, Any]:
    """What a request's meta says of a body that goes past the raw WARC, as long as it comes."""
    return {SINK_KEY: sink, "download_timeout": NO_TIMEOUT, "dont_retry": True}


def _key(result: Mapping[str, Any]) -> tuple[str, str]:
    request = result["request"]
    return str(request.get("ingest_type")), str(request.get("base_url"))
