"""The spider ``futli``: reads the list, asks the walk what to fetch, yields ended trails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import urlsplit

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.settings import BaseSettings
from twisted.python.failure import Failure

from lafka.capture.failures import is_bug
from lafka.capture.handler import READ_MAX_KEY
from lafka.capture.legacy import PAST_KEY
from lafka.capture.middlewares import LOGGED_KEY, PROVENANCE_KEY
from lafka.capture.pulled import NOT_KEPT, GatewayClient
from lafka.capture.run import Run
from lafka.errors import BadUrl, KeeperError, LafkaError, Stopped, StorageTrouble, printable
from lafka.items import TrailItem, held_entry, item_of
from lafka.papers.archive.archives import Archive
from lafka.papers.archive.suwafs import Fut
from lafka.papers.crawling.arguments import ARGUMENTS, FutliArguments, is_fleet
from lafka.papers.crawling.captures import (
    ASK_KEY,
    FutReaders,
    PageReaders,
    can_look,
    capture_of,
    page_of,
)
from lafka.papers.crawling.heldlines import HeldLines
from lafka.papers.crawling.pages import read_first
from lafka.papers.crawling.summaries import FeedTally, RunSummary
from lafka.papers.finders import Page
from lafka.papers.lists.futlis import Feeder, Line
from lafka.papers.lists.inputs import FileInput, Input
from lafka.papers.outcomes import Outcome
from lafka.papers.walk import Ask, Capture, PastTime, Trail
from lafka.pids import Scheme
from lafka.politeness.failures import not_the_sites
from lafka.politeness.feeder import HostFeeder
from lafka.runs import validation
from lafka.runs.feed import SyncedLines, add_outcome_feed
from lafka.runs.progress import ENDED_ASIDE, is_counted_alone
from lafka.runs.reports import ListDigest
from lafka.runs.sources import GUESTS, archive_line
from lafka.spiders.road import RoadSpider
from lafka.storage.stopping import note_source_trouble, stop_for, stop_for_storage
from lafka.storage.threads import Threads, run_aside, the_reactor
from lafka.warc.format import dates

if TYPE_CHECKING:
    from lafka.papers.crawling.fleets import Fleet

ALONE = (
    "Each host of the list is asked by one shard alone, but a redirect may lead to a host that"
    " another shard asks at the same time; with LAFKA_GATE they take turns there"
)
KAFKA_LOST = "kafka-lost"
"""Finish reason of a crawl whose brokers were away for too long, or refuse it."""
GO_ON = 10
"""Priority of the requests of trails in progress: they go before new starts."""

logger = logging.getLogger(__name__)


class _Verdict(NamedTuple):
    """The outcome of a line that needs no request, with a sentence; its ``fut`` if one is held."""

    outcome: str
    error: str | None = None
    fut: Fut | None = None


class FutliSpider(RoadSpider[Line]):
    """``lafka crawl futli -a input=list.tsv``; docs/reference.md has the other arguments."""

    name = "futli"

    archive: Archive

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        super().update_settings(settings)
        add_outcome_feed(settings)

    @classmethod
    def check(cls, settings: BaseSettings, given: dict[str, str]) -> None:
        """Raise a LafkaError, one sentence, where a crawl with these arguments cannot begin."""
        arguments = cls._arguments(settings, given)
        if arguments.legacy:
            GatewayClient(arguments.legacy).check()
        if arguments.is_fleet:
            _fleet(arguments, settings)
        arguments.archive()

    @staticmethod
    def _arguments(settings: BaseSettings, given: dict[str, str]) -> FutliArguments:
        validation.check(settings)
        return FutliArguments.parse(settings, given)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        settings = crawler.settings
        arguments = cls._arguments(settings, kwargs)
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.arguments = arguments
        spider.archive = arguments.archive()
        if arguments.shard and arguments.shard.count > 1 and not settings.get("LAFKA_GATE"):
            logger.warning(ALONE)
        if settings.get("LOG_FILE"):
            logger.info(archive_line(settings))
        spider.run = Run.begin(crawler, spider.archive.root, gateway=arguments.legacy)
        spider.list_input = spider._new_input()
        if arguments.is_fleet:
            crawler.signals.connect(spider.engine_stopped, signal=signals.engine_stopped)
        spider.pages = PageReaders(arguments.policy.links_max)
        if settings.getbool("LAFKA_LOOK_INSIDE") and can_look():
            spider.insides = FutReaders()
        spider.take_road(crawler)
        return spider

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.arguments: FutliArguments
        self.list_input: Input
        self.pages: PageReaders
        self.insides: FutReaders | None = None
        self._threads = Threads("lafka-list", 1)  # looks up what is held
        self._heard = FeedTally()
        self._feed: Callable[[], SyncedLines] | None = None
        self._held: HeldLines | None = None

    # The list ---------------------------------------------------------------------------

    def new_feeder(self, path: Path) -> Feeder:
        feeder = self.list_input.feeder = Feeder(path, per_host=self.per_host, probes=1)
        if self._feed and not self.run.pulling and is_counted_alone(self.crawler):
            loop = asyncio.get_running_loop()
            self._held = HeldLines(
                self.archive,
                self._feed(),
                since=self.arguments.since,
                excludes=self.arguments.excludes,
                stops=lambda: self.stops,
                on_count=lambda count: self._on_passed(feeder, count, loop),
                on_held=self.list_input.begin,
            )
        return feeder

    def take_feed(self, lines: Callable[[], SyncedLines]) -> None:
        """Take what makes the file of the outcome feed; held lines can be told in it."""
        self._feed = lines

    def _on_passed(self, feeder: Feeder, count: int, loop: asyncio.AbstractEventLoop) -> None:
        feeder.pass_by(count)
        with suppress(RuntimeError):  # the loop is closed: nobody counts any more
            loop.call_soon_threadsafe(self._ended_aside, count)

    def _ended_aside(self, count: int) -> None:
        outcome = str(Outcome.FUT)
        self.crawler.signals.send_catch_log(ENDED_ASIDE, outcome=outcome, count=count)

    def cut_slow(self) -> None:
        self.pages.cut()
        if self.insides:
            self.insides.cut()

    def number_of(self, meta: Mapping[str, Any]) -> int | None:
        ask = meta.get(ASK_KEY)
        return ask.number if isinstance(ask, Ask) else None

    def load(self, feeder: HostFeeder[Line]) -> dict[str, Any] | None:
        lines = self.list_input.lines()
        whole = feeder.load(self._held.left(lines) if self._held else lines)
        told = {"whole": True, "lines": feeder.total, **self.list_input.report_fields()}
        return told if whole else None

    def _new_input(self) -> Input:
        arguments, scheme = self.arguments, self.archive.scheme
        if arguments.is_fleet:
            return self._fleet_input(scheme)
        seen = ListDigest()
        read = partial(arguments.lines, scheme, seen.add)
        return FileInput(arguments.input, read, scheme, seen.as_json, arguments.shard)

    def _fleet_input(self, scheme: Scheme) -> Input:
        from lafka.papers.crawling.fleetinput import FleetInput  # noqa: PLC0415

        settings = self.crawler.settings
        fleet, worker = _fleet(self.arguments, settings)
        return FleetInput(
            fleet,
            scheme,
            worker,
            dead=self.run.root / "runs" / f"{self.run.name}.dead.jsonl",
            failed=self._input_failed,
            patience=settings.getfloat("LAFKA_FLEET_PATIENCE"),
            until_done=self.arguments.until_done,
        )

    def _input_failed(self, error: LafkaError) -> None:
        """Stop for what ends the input; from any thread."""
        reactor = the_reactor()
        if isinstance(error, StorageTrouble):
            reactor.callFromThread(stop_for_storage, self.crawler, error)
        else:
            reactor.callFromThread(stop_for, self.crawler, KAFKA_LOST, f"Kafka: {error}")

    def acknowledged(self, lines: bytes) -> None:
        """Take outcomes that are on the disk; in the feed's thread."""
        self.list_input.on_outcomes(lines)

    def callback_failed(self, failure: Failure, response: Response | None) -> None:
        super().callback_failed(failure, response)
        number = self.number_of(response.meta) if response else None
        if number is not None:
            self.list_input.stumbled(number)

    def stopping(self) -> None:
        super().stopping()
        self.list_input.stop()

    async def engine_stopped(self) -> None:
        """Tell the input what was not told, and leave: the feed is closed."""
        try:
            await run_aside("lafka-input", self.list_input.close)
        except LafkaError as error:
            note_source_trouble(self.crawler, str(error))

    @property
    def room(self) -> int:
        return super().room if self.list_input.may_begin else 0

    async def started(self, lines: list[Line]) -> list[Request | TrailItem]:
        if others := self.list_input.begin(lines):
            for line in others:
                self.places.leave(line)
            lines = [line for line in lines if line not in others]
        verdicts = await self._threads.run(lambda: [self._verdict(line) for line in lines])
        started: list[Request | TrailItem] = []
        for line, verdict in zip(lines, verdicts, strict=True):
            if verdict is None:
                started += await self._begin(line)
            else:
                self.places.leave(line)
                started.append(_untried(line, verdict))
        return started

    def _verdict(self, line: Line) -> _Verdict | None:
        """Return how a line ends that is not asked; None where it is asked."""
        if line.outcome:
            return _Verdict(line.outcome, line.problem)
        assert line.futli is not None
        excludes = self.arguments.excludes
        pattern = excludes.match(line.futli.pid) if excludes else None
        if pattern:
            return _Verdict(Outcome.EXCLUDED, f"excluded by {pattern}")
        if self.run.pulling:
            return None  # a version may be new; what is held is not stored again
        try:
            held = self.archive.held(line.futli, line.since or self.arguments.since)
        except KeeperError as error:
            logger.error("%s: not asked: %s", line.futli.pid, error)
            return _Verdict(Outcome.DAMAGED, str(error))
        except OSError as error:
            if trouble := not_the_sites(error):
                raise trouble from error
            return _Verdict(Outcome.DAMAGED, str(error))
        return _Verdict(Outcome.FUT, fut=held) if held else None

    async def _begin(self, line: Line) -> list[Request | TrailItem]:
        assert line.futli is not None
        past: tuple[PastTime, ...] = ()
        if pulling := self.run.pulling:
            try:
                times = await pulling.times(line.futli.url)
            except Stopped:
                return []
            if not times:
                self.places.leave(line)
                return [_untried(line, _Verdict(Outcome.NOT_FOUND, NOT_KEPT))]
            past = tuple(PastTime(time=time, source=pulling.base) for time in times)
        trail = Trail.begin(line.futli, line.number, self.arguments.policy, past)
        self.places.begin(line)
        return [started async for started in self._go_on(trail)]

    def report_fields(self) -> dict[str, Any]:
        given = {name: self.__dict__[name] for name in ARGUMENTS if name in self.__dict__}
        path = str(given.get("input", "-"))
        return {
            "job": self.__dict__.get(GUESTS[0]),
            "list": {
                "path": path if path == "-" or is_fleet(path) else str(Path(path).absolute()),
                "whole": False,
                "lines": None,
                "bytes": None,
                "sha256": None,
                **({"shard": given["shard"]} if given.get("shard") else {}),
            },
            "arguments": given,
        }

    def heard(self, item: dict[str, Any]) -> None:
        """Count a line of the outcome feed that is on the disk, in the feed's thread."""
        self._heard.add(item)

    def summary(self, values: Mapping[str, Any]) -> RunSummary:
        """Return what came of the run whose closing report is *values*."""
        return RunSummary.of(values, self._heard, self.archive.root)

    @staticmethod
    def group_of(outcome: str) -> str:
        return str(Outcome(outcome).group)

    # Trails -----------------------------------------------------------------------------

    async def _go_on(
        self, trail: Trail, page: Page | None = None
    ) -> AsyncIterator[Request | TrailItem]:
        """The trail's next request, or its item where it has ended.

        *page* is its splap, where only a part of that page's candidates was looked for so far.
        """
        while True:
            if trail.wants_more and page is not None:
                trail = trail.widened(await self.pages.read(page, trail.futli.pid))
            trail, ask = trail.next_ask()
            if ask is None:
                if version := trail.next_version():
                    trail, page = version, None
                    continue
                self.places.end(trail.number)
                yield item_of(trail.whole(), dates.to_seconds(datetime.now(UTC)))
                return
            try:
                yield self._request(ask, trail, page if trail.partly else None)
                return
            except ValueError as error:  # what Scrapy takes for no URL
                trail = trail.answered(_unasked(ask, error))

    def _request(self, ask: Ask, trail: Trail, page: Page | None) -> Request:
        if "@" in urlsplit(ask.url).netloc:
            raise BadUrl("a user name or password in the URL; it would stand in a WARC")
        page_url = ask.origin.html_url
        return Request(
            ask.url,
            callback=self.parse,
            errback=self.failed,
            headers={"Referer": page_url} if page_url else None,
            meta={
                ASK_KEY: ask,
                PROVENANCE_KEY: ask.provenance,
                READ_MAX_KEY: ask.miss_max,
                **({PAST_KEY: ask.past.time} if ask.past else {}),
                "cookiejar": ask.number,
            },
            cb_kwargs={"trail": trail, "page": page},
            priority=GO_ON if page_url else 0,
            dont_filter=True,
        )

    async def parse(
        self, response: Response, trail: Trail, page: Page | None
    ) -> AsyncIterator[Request | TrailItem]:
        request = response.request
        assert request is not None
        capture = capture_of(request.meta[ASK_KEY], request.meta.get(LOGGED_KEY))
        try:
            async for next_ in self._answered(trail, page, capture, response):
                yield next_
        except Exception as error:
            if not self.is_ours(error):
                raise

    async def failed(self, failure: Failure) -> AsyncIterator[Request | TrailItem]:
        """The errback: a download that gave no response."""
        error: BaseException = failure.value  # type: ignore[assignment]
        request: Request = failure.request  # type: ignore[attr-defined]
        if not await self.is_the_sites(request, error):
            return
        trail: Trail = request.cb_kwargs["trail"]
        if is_bug(error):
            info = type(error), error, error.__traceback__
            logger.error("%s: %s failed", trail.futli.pid, request.url, exc_info=info)
        capture = capture_of(request.meta[ASK_KEY], request.meta.get(LOGGED_KEY), error)
        async for next_ in self._answered(trail, request.cb_kwargs["page"], capture, None):
            yield next_

    async def _answered(
        self, trail: Trail, page: Page | None, capture: Capture, response: Response | None
    ) -> AsyncIterator[Request | TrailItem]:
        self.places.answered(trail.number)
        if capture.outcome is Outcome.OTHER_TYPE and trail.splap is None:
            assert capture.payload is not None
            logger.warning(
                "%s: neither PDF nor HTML: %s (%s), stored for examination",
                trail.futli.pid,
                capture.url,
                printable(capture.payload.content_type) or "no Content-Type",
            )
        answer = page_of(capture, response)
        if capture.is_pdf and self.insides:
            titles = (*filter(None, [trail.futli.title]), *trail.titles)
            titles = tuple(dict.fromkeys(titles))
            capture = await self.insides.look(capture, titles, trail.headings)
        if answer is None:
            trail = trail.answered(capture)
        else:
            found = read_first(answer) if trail.splap is None else None
            found = found or await self.pages.read(answer, trail.futli.pid)
            page = answer if found.partly else page
            trail = trail.answered(capture, found)
        async for next_ in self._go_on(trail, page):
            yield next_

    async def spider_closed(self) -> None:
        await super().spider_closed()
        self._threads.stop()
        self.pages.stop()
        if self.insides:
            self.insides.stop()


def _fleet(arguments: FutliArguments, settings: BaseSettings) -> tuple[Fleet, str]:
    """The fleet that the input names, and the name of this worker; ``BadArgument``."""
    from lafka.papers.crawling.fleets import Fleet, worker_name  # noqa: PLC0415

    return Fleet.load(arguments.input, settings), worker_name(settings)


def _unasked(ask: Ask, error: ValueError) -> Capture:
    return Capture(
        ask=ask,
        url=ask.url,
        time=datetime.now(UTC),
        outcome=Outcome.BAD_URL,
        requests=0,
        error=printable(error),
    )


def _untried(line: Line, verdict: _Verdict) -> TrailItem:
    """The item of a line that is not asked; *fut* with no request is one that is held."""
    return TrailItem(
        pid=str(line.futli.pid) if line.futli else line.pid_text,
        futli=line.futli.url if line.futli else line.url_text,
        outcome=str(verdict.outcome),
        time=dates.to_seconds(datetime.now(UTC)),
        futs=[held_entry(verdict.fut)] if verdict.fut else [],
        error=verdict.error,
        as_written=line.url_text,
        line=line.number,
    )
