"""The road of spiders that go down a list: lines in, requests out.

A subclass says what its lines are, where they come from and what each begins with; hosts take
turns, and an error that is no site's stops the crawl in order.
"""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Generic
from urllib.parse import urlsplit

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings
from scrapy.utils.asyncio import call_later
from twisted.python.failure import Failure

from lafka.capture.failures import NO_NAMES, machine_failure
from lafka.capture.resolving import can_look_up, last_found
from lafka.capture.run import Run
from lafka.errors import BadList, HopelessList, StorageTrouble
from lafka.politeness.canary import Canary
from lafka.politeness.failures import not_the_sites
from lafka.politeness.feeder import AnyLine, HostFeeder
from lafka.politeness.places import Places
from lafka.runs.reporting import RunReports
from lafka.spiders.loading import user_agent, with_ours
from lafka.storage.limits import keep_what_stands, look_rarely
from lafka.storage.stopping import HOPELESS_STAT, LIST_STAT, STOPPING, is_closing, stop_for_storage
from lafka.storage.threads import run_aside

_BATCH = 64
OFF = {
    "TELNETCONSOLE_ENABLED": "scrapy.extensions.telnet.TelnetConsole",
    "REMOTE_CONTROL_ENABLED": "scrapy.extensions.remote_control.RemoteControl",
}
"""Extensions that are imported before they say that they are off, a web server and an SSH client
with them: a start shall not wait for these. Scrapy imports what a setting has as None, too, so they
are taken out of the list of its own."""

METRICS = "lafka.runs.metrics.MetricsServer"
MIDDLEWARES = ("DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES")

logger = logging.getLogger(__name__)


def leave_off(settings: BaseSettings) -> None:
    """Let nothing be imported that is off: of ``OFF``, middlewares that are ``None``."""
    off = {path for name, path in OFF.items() if not settings.getbool(name)}
    _without(settings, "EXTENSIONS_BASE", off)
    if settings.get("LAFKA_METRICS"):
        priority = max(settings.getpriority("EXTENSIONS") or 0, SETTINGS_PRIORITIES["spider"])
        settings.set("EXTENSIONS", {**settings["EXTENSIONS"], METRICS: 0}, priority=priority)
    for name in MIDDLEWARES:
        off = {path for path, order in settings[name].items() if order is None}
        _without(settings, f"{name}_BASE", off)
        _without(settings, name, off)


def _without(settings: BaseSettings, name: str, off: set[str]) -> None:
    """Take the components *off* from the setting *name*, whoever has given it."""
    left = {path: order for path, order in settings[name].items() if path not in off}
    priority = max(settings.getpriority(name) or 0, SETTINGS_PRIORITIES["spider"])
    settings.set(name, left, priority=priority)


class RoadSpider(Spider, Generic[AnyLine]):
    """A spider over a list of lines, each of which is asked for at a host.

    ``run`` is begun in ``from_crawler``, which then calls :meth:`take_road`.
    """

    run: Run
    feeder: HostFeeder[AnyLine] | None = None
    places: Places[AnyLine]

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        with_ours(settings)
        super().update_settings(settings)
        if settings.getpriority("USER_AGENT") == 0 or not settings.get("USER_AGENT"):
            settings.set("USER_AGENT", user_agent(settings), priority="spider")
        leave_off(settings)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.trails_max = 0
        self.per_host = 1
        self.grace = 0.0
        self._wake = asyncio.Event()

    def take_road(self, crawler: Crawler) -> None:
        """Take the settings that say how many go at once, and hear of what happens to them."""
        settings = crawler.settings
        self.trails_max = settings.getint("LAFKA_TRAILS_MAX")
        self.per_host = max(1, settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN")) + 1
        self.grace = settings.getfloat("LAFKA_SHUTDOWN_TIMEOUT") / 2
        most, stop = (
            settings.getint("LAFKA_MACHINE_FAILURES_MAX"),
            partial(stop_for_storage, crawler),
        )
        names = Canary(most, stop, probe=lambda: run_aside("lafka-name", can_look_up))
        self.canaries = {True: names, False: Canary(most, stop)}
        crawler.signals.connect(self.answered, signal=signals.response_received)
        crawler.signals.connect(self.stopping, signal=STOPPING)
        crawler.signals.connect(self.callback_failed, signal=signals.spider_error)
        crawler.signals.connect(self.item_failed, signal=signals.item_error)
        crawler.signals.connect(self.spider_closed, signal=signals.spider_closed)

    # What a subclass says ----------------------------------------------------------------

    @abstractmethod
    def new_feeder(self, path: Path) -> HostFeeder[AnyLine]:
        """The feeder of its lines, in the new file *path*."""

    @abstractmethod
    def load(self, feeder: HostFeeder[AnyLine]) -> dict[str, Any] | None:
        """Load the list, in a thread: what the run's report says of it, None if it is no whole."""

    @abstractmethod
    async def started(self, lines: list[AnyLine]) -> list[Request | Any]:
        """Return what *lines* begin with: requests, or items of those that are not asked."""

    @abstractmethod
    def number_of(self, meta: Mapping[str, Any]) -> int | None:
        """The number of the line that the request with this meta is for."""

    @abstractmethod
    def report_fields(self) -> dict[str, Any]:
        """Return what the report says of this crawl (docs/formats.md, "The report of a run")."""

    @property
    def room(self) -> int:
        """Return how many lines may be begun at the next turn."""
        return _BATCH

    def cut_slow(self) -> None:
        """The crawl stops: break off what would take long."""

    # The list -----------------------------------------------------------------------------

    async def start(self) -> AsyncIterator[Any]:
        """Requests and items for the list's lines, as hosts get idle and trails end."""
        look_rarely()
        keep_what_stands()
        try:
            raw = self.run.raw
            folder = (await raw.in_order(raw.log)).folder
            feeder = self.feeder = self.new_feeder(folder / "list.sqlite")
            self.places = Places(feeder, trails_max=self.trails_max, freed=self._wake.set)
            scheduled = signals.request_scheduled
            self.crawler.signals.connect(self.request_scheduled, signal=scheduled)
            loading = asyncio.ensure_future(self._load(feeder))
            while not feeder.exhausted:
                lines = self.places.take(self.room)
                for started in await self.started(lines) if lines else ():
                    if self.stops:
                        return  # the next run begins with them; the list is not waited for
                    yield started
                if not lines:
                    await self._woken(feeder)
                if self.stops:
                    return
            await loading
        except StorageTrouble as error:
            stop_for_storage(self.crawler, error)

    @property
    def stops(self) -> bool:
        return is_closing(self.crawler)

    def stopping(self) -> None:
        """Begin no more lines, and let nothing take long."""
        self._wake.set()
        for canary in self.canaries.values():
            canary.stopping()
        call_later(self.grace, self.cut_slow)

    async def _load(self, feeder: HostFeeder[AnyLine]) -> None:
        try:
            found = await run_aside("lafka-load", lambda: self.load(feeder))
            if found:
                await self.tell_of_list(found)
        except BadList as error:
            logger.error("The list ends early: %s", error)
            assert self.crawler.stats is not None
            self.crawler.stats.set_value(LIST_STAT, str(error))
            if isinstance(error, HopelessList):
                self.crawler.stats.set_value(HOPELESS_STAT, value=True)
        except StorageTrouble as error:
            stop_for_storage(self.crawler, error)
        self._wake.set()

    async def tell_of_list(self, found: Mapping[str, Any]) -> None:
        """Put into the run's report what was *found* of its list."""
        if reports := self.crawler.get_extension(RunReports):
            await reports.tell({"list": self.report_fields()["list"] | found})

    async def _woken(self, feeder: HostFeeder[AnyLine]) -> None:
        """Wait until a host gets idle or a trail ends, or for more of the list to be loaded."""
        self._wake.clear()
        wait = None if feeder.loaded else 0.1
        try:
            await asyncio.wait_for(self._wake.wait(), wait)
        except TimeoutError:
            return

    # Hosts --------------------------------------------------------------------------------

    def request_scheduled(self, request: Request) -> None:
        """A start that was redirected to another host leaves its own host free for the next."""
        number = self.number_of(request.meta)
        if number is not None and "redirect_urls" in request.meta:
            self.places.sent_on(number)

    async def is_the_sites(self, request: Request, error: BaseException) -> bool:
        """Return whether the failure *error* of *request* may be said of a site: not where the
        disk, a stop or this machine is why, so that the next run asks again.
        """
        if self.is_ours(error):
            return False
        if why := machine_failure(error, request.url):
            host = urlsplit(request.url).hostname or ""
            return await self.canaries[why.startswith(NO_NAMES)].is_the_sites(host, why)
        return True

    def answered(self) -> None:
        """A host has answered, so that this machine has a network, and maybe names."""
        self.canaries[False].answered()
        self.canaries[True].answered(last_found())

    def is_ours(self, error: BaseException) -> bool:
        """Return whether *error* is no site's, so that the next run asks again; tell the disk's."""
        trouble = not_the_sites(error)
        if isinstance(trouble, StorageTrouble):
            stop_for_storage(self.crawler, trouble)
        return trouble is not None

    def callback_failed(self, failure: Failure, response: Response | None) -> None:
        """Free the place of a line whose callback raised; the next run asks for it again."""
        if failure.value is not None:
            self.is_ours(failure.value)
        number = self.number_of(response.meta) if response else None
        if number is not None:
            self.places.end(number)

    def item_failed(self, failure: Failure) -> None:
        """Stop where a pipeline met a limit of this machine."""
        if failure.value is not None:
            self.is_ours(failure.value)

    async def spider_closed(self) -> None:
        if self.feeder is not None:
            self.feeder.close()
