"""The spider ``futli``: reads the list, asks the walk what to fetch, yields ended trails."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from scrapy import Request, Spider, signals
from scrapy.http import Response
from scrapy.utils.asyncio import call_later
from twisted.python.failure import Failure

import lafka
from lafka import validation
from lafka.capture.config import warc_settings
from lafka.capture.handler import READ_MAX_KEY
from lafka.capture.middlewares import LOGGED_KEY, PROVENANCE_KEY
from lafka.capture.run import Run
from lafka.errors import (
    BadArgument,
    BadList,
    BadUrl,
    KeeperError,
    Stopped,
    StorageTrouble,
    printable,
)
from lafka.items import TrailItem, item_of
from lafka.papers.archive.archives import Archive
from lafka.papers.crawling.arguments import ARGUMENTS, GUESTS, Arguments
from lafka.papers.crawling.captures import ASK_KEY, capture_of, page_of
from lafka.papers.crawling.failures import is_bug
from lafka.papers.crawling.sandbox import Pages
from lafka.papers.finders import Page
from lafka.papers.lists.feeder import Feeder
from lafka.papers.lists.futlis import Line
from lafka.papers.lists.places import Places
from lafka.papers.walk.asks import Ask, Capture
from lafka.papers.walk.outcomes import Outcome
from lafka.papers.walk.pages import read_first
from lafka.papers.walk.trails import Trail
from lafka.politeness.failures import not_the_sites
from lafka.runs.feed import add_outcome_feed
from lafka.runs.reporting import RunReports
from lafka.runs.reports import ListDigest
from lafka.storage.stopping import LIST_STAT, STOPPING, stop_for_storage, stopping_for
from lafka.storage.threads import Threads, run_aside
from lafka.warc.format import dates

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

GO_ON = 10
"""Priority of the requests of trails in progress: they go before new starts."""
_BATCH = 64

logger = logging.getLogger(__name__)


class FutliSpider(Spider):
    """``scrapy crawl futli -a input=list.tsv``; docs/reference.md has the other arguments."""

    name = "futli"

    archive: Archive
    run: Run
    feeder: Feeder | None = None
    places: Places

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        super().update_settings(settings)
        add_outcome_feed(settings)
        if settings.getpriority("USER_AGENT") == 0 or not settings.get("USER_AGENT"):
            settings.set("USER_AGENT", _user_agent(settings), priority="spider")

    @classmethod
    def check(cls, settings: BaseSettings, given: dict[str, str]) -> None:
        """Raise a LafkaError, one sentence, where a crawl with these arguments cannot begin."""
        cls._arguments(settings, given).archive()

    @staticmethod
    def _arguments(settings: BaseSettings, given: dict[str, str]) -> Arguments:
        validation.check(settings)
        return Arguments.parse(settings, given)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        settings = crawler.settings
        arguments = cls._arguments(settings, kwargs)
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.arguments = arguments
        spider.archive = arguments.archive()
        spider.run = Run.begin(crawler, spider.archive.root)
        spider.trails_max = settings.getint("LAFKA_TRAILS_MAX")
        spider.pages = Pages(arguments.policy.links_max)
        spider.per_host = max(1, settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN")) + 1
        spider.grace = settings.getfloat("LAFKA_SHUTDOWN_TIMEOUT") / 2
        crawler.signals.connect(spider.stopping, signal=STOPPING)
        crawler.signals.connect(spider.callback_failed, signal=signals.spider_error)
        crawler.signals.connect(spider.spider_closed, signal=signals.spider_closed)
        return spider

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.arguments: Arguments
        self.pages: Pages
        self.trails_max = 0
        self.per_host = 1
        self.grace = 0.0
        self._threads = Threads("lafka-list", 1)  # looks up what is held
        self._wake = asyncio.Event()

    # The list ---------------------------------------------------------------------------

    async def start(self) -> AsyncIterator[Any]:
        """Requests and items for the list's lines, as hosts get idle and trails end."""
        gc.collect()
        gc.freeze()  # what stands now stays: the collector need not look at it again and again
        try:
            raw = self.run.raw
            folder = (await raw.in_order(raw.log)).folder
            feeder = self.feeder = Feeder(folder / "list.sqlite", per_host=self.per_host)
            self._give_places(feeder)
            loading = asyncio.ensure_future(self._load(feeder))
            while not feeder.exhausted:
                lines = self.places.take(_BATCH)
                for started in await self._started(lines):
                    if self._stops:
                        return  # the next run begins with them; the list is not waited for
                    yield started
                if not lines:
                    await self._woken(feeder)
                if self._stops:
                    return
            await loading
        except StorageTrouble as error:
            stop_for_storage(self.crawler, error)

    @property
    def _stops(self) -> bool:
        return bool(stopping_for(self.crawler))

    def stopping(self) -> None:
        """Begin no more lines, and read no page for long."""
        self._wake.set()
        call_later(self.grace, self.pages.cut)

    async def _load(self, feeder: Feeder) -> None:
        try:
            found = await run_aside("lafka-load", lambda: self._load_in_thread(feeder))
            reports = self.crawler.get_extension(RunReports)
            if found and reports:
                await reports.tell({"list": self.told()["list"] | found})
        except BadList as error:
            logger.error("The list ends early: %s", error)
            assert self.crawler.stats is not None
            self.crawler.stats.set_value(LIST_STAT, str(error))
        except StorageTrouble as error:
            stop_for_storage(self.crawler, error)
        self._wake.set()

    def _load_in_thread(self, feeder: Feeder) -> dict[str, Any] | None:
        """What the run's report says of the list; None where it was not read to its end."""
        seen = ListDigest()
        whole = feeder.load(self._lines(seen))
        return {"whole": True, "lines": feeder.total, **seen.as_json()} if whole else None

    def _lines(self, seen: ListDigest) -> Iterator[Line]:
        """The list, opened at its first line: so the feeder meets whatever ends it."""
        yield from self.arguments.lines(self.archive.scheme, seen.add)

    async def _woken(self, feeder: Feeder) -> None:
        """Wait until a host gets idle or a trail ends, or for more of the list to be loaded."""
        self._wake.clear()
        wait = None if feeder.loaded else 0.1
        try:
            await asyncio.wait_for(self._wake.wait(), wait)
        except TimeoutError:
            return

    async def _started(self, lines: list[Line]) -> list[Request | TrailItem]:
        """What each line begins with: a request, or the item of one that is not asked."""
        if not lines:
            return []
        verdicts = await self._threads.run(lambda: [self._verdict(line) for line in lines])
        started: list[Request | TrailItem] = []
        for line, (outcome, error) in zip(lines, verdicts, strict=True):
            if outcome is None:
                started += await self._begin(line)
            else:
                self.places.leave(line)
                started.append(_untried(line, outcome, error))
        return started

    def _verdict(self, line: Line) -> tuple[str | None, str | None]:
        """The outcome of a line that is not asked, with a sentence; None where it is asked."""
        if line.outcome:
            return line.outcome, line.problem
        assert line.futli is not None
        excludes = self.arguments.excludes
        pattern = excludes.match(line.futli.pid) if excludes else None
        if pattern:
            return str(Outcome.EXCLUDED), f"excluded by {pattern}"
        try:
            held = self.archive.has_fut(line.futli, self.arguments.since)
        except KeeperError as error:
            logger.error("%s: not asked: %s", line.futli.pid, error)
            return str(Outcome.DAMAGED), str(error)
        except OSError as error:
            if trouble := not_the_sites(error):
                raise trouble from error
            return str(Outcome.DAMAGED), str(error)
        return (str(Outcome.FUT), None) if held else (None, None)

    async def _begin(self, line: Line) -> list[Request | TrailItem]:
        assert line.futli is not None
        trail = Trail.begin(line.futli, line.number, self.arguments.policy)
        self.places.begin(line)
        return [started async for started in self._go_on(trail)]

    def told(self) -> dict[str, Any]:
        """What the run's report says of this crawl (docs/formats.md, "The report of a run")."""
        given = {name: self.__dict__[name] for name in ARGUMENTS if name in self.__dict__}
        path = str(given.get("input", "-"))
        return {
            "job": self.__dict__.get(GUESTS[0]),
            "list": {
                "path": path if path == "-" else str(Path(path).absolute()),
                "whole": False,
                "lines": None,
                "bytes": None,
                "sha256": None,
            },
            "arguments": given,
        }

    # Hosts ------------------------------------------------------------------------------

    def _give_places(self, feeder: Feeder) -> None:
        self.places = Places(feeder, trails_max=self.trails_max, freed=self._wake.set)
        self.crawler.signals.connect(self.request_scheduled, signal=signals.request_scheduled)

    def request_scheduled(self, request: Request) -> None:
        """A start that was redirected to another host leaves its own host free for the next."""
        ask = request.meta.get(ASK_KEY)
        if isinstance(ask, Ask) and "redirect_urls" in request.meta:
            self.places.sent_on(ask.number)

    # Trails -----------------------------------------------------------------------------

    async def _go_on(
        self, trail: Trail, page: Page | None = None
    ) -> AsyncIterator[Request | TrailItem]:
        """The trail's next request, or its item where it has ended.

        *page* is its splap, where only a part of that page's candidates was looked for so far.
        """
        while True:
            if trail.wants_more and page is not None:
                found = await self.pages.read(page, trail.futli.pid)
                trail = trail.widened(found.candidates, verdict=found.verdict, reason=found.reason)
            trail, ask = trail.next_ask()
            if ask is None:
                self.places.end(trail.number)
                yield item_of(trail, dates.to_seconds(datetime.now(UTC)))
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
        except (OSError, StorageTrouble, Stopped) as error:
            if not self._is_ours(error):
                raise

    async def failed(self, failure: Failure) -> AsyncIterator[Request | TrailItem]:
        """The errback: a download that gave no response."""
        error: BaseException = failure.value  # type: ignore[assignment]
        request: Request = failure.request  # type: ignore[attr-defined]
        if self._is_ours(error):
            return
        trail: Trail = request.cb_kwargs["trail"]
        if is_bug(error):
            info = type(error), error, error.__traceback__
            logger.error("%s: %s failed", trail.futli.pid, request.url, exc_info=info)
        capture = capture_of(request.meta[ASK_KEY], request.meta.get(LOGGED_KEY), error)
        async for next_ in self._answered(trail, request.cb_kwargs["page"], capture, None):
            yield next_

    def _is_ours(self, error: BaseException) -> bool:
        """Whether *error* is no site's, so that the next run asks again; the disk's is told."""
        trouble = not_the_sites(error)
        if isinstance(trouble, StorageTrouble):
            stop_for_storage(self.crawler, trouble)
        return trouble is not None

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
        if answer is None:
            trail = trail.answered(capture)
        else:
            found = read_first(answer) if trail.splap is None else None
            found = found or await self.pages.read(answer, trail.futli.pid)
            page = answer if found.partly else page
            trail = trail.answered(
                capture,
                found.candidates,
                verdict=found.verdict,
                reason=found.reason,
                partly=found.partly,
            )
        async for next_ in self._go_on(trail, page):
            yield next_

    def callback_failed(self, failure: Failure, response: Response | None) -> None:  # noqa: ARG002
        """Free the place of a line whose callback raised; the next run asks for it again."""
        ask = response.meta.get(ASK_KEY) if response else None
        if isinstance(ask, Ask):
            self.places.end(ask.number)

    async def spider_closed(self) -> None:
        if self.feeder is not None:
            self.feeder.close()
        self._threads.stop()
        self.pages.stop()


def _user_agent(settings: BaseSettings) -> str:
    """What a scrapy-warcio settings file says, else Lafka and whom to turn to."""
    own = None
    with suppress(BadArgument):  # told by check
        own = warc_settings(settings).get("user_agent")
    contact = settings.get("LAFKA_CONTACT")
    about = f" (+{contact})" if contact else ""
    return printable(own or f"Lafka/{lafka.__version__}{about}")


def _unasked(ask: Ask, error: ValueError) -> Capture:
    return Capture(
        ask=ask,
        url=ask.url,
        time=datetime.now(UTC),
        outcome=Outcome.BAD_URL,
        requests=0,
        error=printable(error),
    )


def _untried(line: Line, outcome: str, error: str | None) -> TrailItem:
    """The item of a line that is not asked; *fut* with no request is one that is held."""
    return TrailItem(
        pid=str(line.futli.pid) if line.futli else line.pid_text,
        futli=line.futli.url if line.futli else line.url_text,
        outcome=outcome,
        time=dates.to_seconds(datetime.now(UTC)),
        error=error,
        line=line.number,
    )
