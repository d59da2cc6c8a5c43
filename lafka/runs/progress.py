"""A progress line a person can read, Lafka's stats, and a word on a missing contact."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections import Counter
from time import monotonic
from typing import Any, NamedTuple, Self

from itemadapter import ItemAdapter
from pydispatch import dispatcher
from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.statscollectors import StatsCollector
from scrapy.utils.asyncio import AsyncioLoopingCall, create_looping_call
from twisted.internet.task import LoopingCall

from lafka.politeness import RetryAfterMiddleware
from lafka.politeness.hosts import SLOT_KEY
from lafka.runs.terminals import Terminal

logger = logging.getLogger(__name__)

ENDED_ASIDE = object()
"""Scrapy signal, with ``outcome`` and ``count``: so many lines more ended so, without an item."""
NOT_THE_OPERATOR = ("https://scrapy.org", "https://github.com/lafka-archive/lafka")
_COUNTING = ("lafka.", "scrapy.extensions.corestats", "scrapy.extensions.feedexport")
URL = re.compile(r"https?://[^\s();,]+", re.IGNORECASE)


class ProgressGoal(NamedTuple):
    """The aim of a spider: lines that ended in ``outcomes`` are ``name``, of so many ``unit``.

    A spider that is after something else than futs says so by its ``aim``.
    """

    name: str = "futs"
    outcomes: frozenset[str] = frozenset({"fut"})
    unit: str = "papers"

    @classmethod
    def of(cls, spider: Any) -> ProgressGoal:
        found: ProgressGoal = getattr(spider, "aim", PAPERS)
        return found

    def count(self, outcomes: Counter[str]) -> int:
        return sum(outcomes[outcome] for outcome in self.outcomes)


PAPERS = ProgressGoal()


def progress_line(
    *, done: int, futs: int, rate: float, feeder: Any | None, waiting_hosts: int, name: str = "futs"
) -> str:
    """``1,204 of 10,000 lines done, 800 futs, 3.2 lines/s, 12 hosts waiting``.

    *name*: what *futs* counts. *feeder* has ``total``, the lines read so far or None, and
    ``loaded``, whether that is all. *rate* is in lines a second.
    """
    total = getattr(feeder, "total", None)
    of = "" if total is None else f" of {total:,}{'' if getattr(feeder, 'loaded', True) else '+'}"
    return (
        f"{done:,}{of} lines done, {futs:,} {name}, {rate:.1f} lines/s, "
        f"{waiting_hosts:,} host{'' if waiting_hosts == 1 else 's'} waiting"
    )


class TrailStats:
    """Counts items as they come out: ``lafka/trails/<outcome>``, ``lafka/futs/new`` and
    ``bytes``, ``lafka/requests``.
    """

    def __init__(self, stats: StatsCollector) -> None:
        self.stats = stats

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler.stats)
        crawler.signals.connect(extension.item_scraped, signals.item_scraped)
        crawler.signals.connect(extension.ended_aside, ENDED_ASIDE)
        return extension

    def ended_aside(self, outcome: str, count: int) -> None:
        self.stats.inc_value(f"lafka/trails/{outcome}", count)
        for name in ("lafka/futs/new", "lafka/futs/bytes", "lafka/requests"):
            self.stats.inc_value(name, 0)

    def item_scraped(self, item: Any) -> None:
        outcome = outcome_of(item)
        if outcome is None:
            return
        fields = ItemAdapter(item)
        self.stats.inc_value(f"lafka/trails/{outcome}")
        if "futs" in fields:
            new = [fut.get("length", 0) for fut in fields["futs"] if is_new_fut(fut)]
            self.stats.inc_value("lafka/futs/new", len(new))
            self.stats.inc_value("lafka/futs/bytes", sum(new))
        self.stats.inc_value("lafka/requests", fields["requests"])


def host_states(crawler: Crawler) -> dict[str, int]:
    """Return how many hosts are busy, wait, are parked, were set aside; any thread may ask."""
    retries = crawler.get_downloader_middleware(RetryAfterMiddleware)
    active = tuple(crawler.engine.downloader.active) if crawler.engine else ()
    return {
        "busy": len({request.meta.get(SLOT_KEY) for request in active}),
        "waiting": getattr(getattr(crawler.spider, "feeder", None), "waiting_hosts", 0),
        "parked": retries.hosts.parked_now if retries else 0,
        "set_aside": retries.hosts.set_aside_now if retries else 0,
    }


def outcome_of(item: Any) -> str | None:
    """Return how the line of *item*, of any kind, ended; None where it is none of ours."""
    if not ItemAdapter.is_item(item):
        return None
    outcome = ItemAdapter(item).get("outcome")
    return None if outcome is None else str(outcome)


def ended_as(item: Any) -> str | None:
    """Return how the line of *item* ended, a fileset by its status; None where none did."""
    if not ItemAdapter.is_item(item) or getattr(item, "beside", False):
        return None
    status = ItemAdapter(item).get("status")
    return outcome_of(item) or (status if isinstance(status, str) else None)


class Progress:
    """One INFO line every *interval* seconds and one at the end."""

    def __init__(self, crawler: Crawler, interval: float) -> None:
        self.crawler = crawler
        self.interval = interval
        self.outcomes: Counter[str] = Counter()
        self._started = self._last = monotonic()
        self._done_at_last = 0
        self._task: AsyncioLoopingCall | LoopingCall | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        interval = crawler.settings.getfloat("LAFKA_PROGRESS_INTERVAL", 30)
        if interval <= 0:
            raise NotConfigured  # silently: with a reason Scrapy warns, and 0 is a choice
        if Terminal.at(sys.stderr, os.environ) and not crawler.settings.get("LOG_FILE"):
            raise NotConfigured  # the live line tells more
        extension = cls(crawler, interval)
        crawler.signals.connect(extension.spider_opened, signals.spider_opened)
        crawler.signals.connect(extension.item_scraped, signals.item_scraped)
        crawler.signals.connect(extension.ended_aside, ENDED_ASIDE)
        crawler.signals.connect(extension.spider_closed, signals.spider_closed)
        return extension

    def spider_opened(self) -> None:
        self._started = self._last = monotonic()
        self._task = create_looping_call(self.tell)
        self._task.start(self.interval, now=False)

    def item_scraped(self, item: Any) -> None:
        outcome = ended_as(item)
        if outcome is not None:
            self.outcomes[outcome] += 1

    def ended_aside(self, outcome: str, count: int) -> None:
        self.outcomes[outcome] += count

    def spider_closed(self) -> None:
        if self._task and self._task.running:
            self._task.stop()
        self._log(self.outcomes.total() / max(monotonic() - self._started, 0.001))

    def tell(self) -> None:
        now, done = monotonic(), self.outcomes.total()
        rate = (done - self._done_at_last) / max(now - self._last, 0.001)
        self._last, self._done_at_last = now, done
        self._log(rate)

    def _log(self, rate: float) -> None:
        feeder = getattr(self.crawler.spider, "feeder", None)
        aim = ProgressGoal.of(self.crawler.spider)
        line = progress_line(
            done=self.outcomes.total(),
            futs=aim.count(self.outcomes),
            name=aim.name,
            rate=rate,
            feeder=feeder,
            waiting_hosts=getattr(feeder, "waiting_hosts", 0),
        )
        logger.info("%s", line)


def names_a_contact(user_agent: str) -> bool:
    """Return whether a user agent tells site owners whom to write to: an address, or a URL that is
    neither Scrapy's nor Lafka's own.
    """
    return "@" in user_agent or any(
        not url.lower().startswith(NOT_THE_OPERATOR) for url in URL.findall(user_agent)
    )


class ContactCheck:
    """Warns once, at the start, if nobody could write to the operator."""

    def __init__(self, contact: str, user_agent: str) -> None:
        self.contact = contact
        self.user_agent = user_agent

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        contact, user_agent = crawler.settings["LAFKA_CONTACT"], crawler.settings["USER_AGENT"]
        extension = cls((contact or "").strip(), user_agent or "")
        crawler.signals.connect(extension.spider_opened, signals.spider_opened)
        return extension

    def spider_opened(self, spider: Spider) -> None:
        user_agent = getattr(spider, "user_agent", None) or self.user_agent
        if not self.contact and not names_a_contact(user_agent):
            logger.warning(
                "Set LAFKA_CONTACT to an email address or URL at which site owners can reach you: "
                "the user agent %r names nobody",
                user_agent,
            )


def is_counted_alone(crawler: Crawler) -> bool:
    """Return whether nobody of *crawler* takes items but the outcome feed and who counts them.

    Lines can then be told past the engine. Else there is another feed, a pipeline, a spider
    middleware or an extension (as CLOSESPIDER_ITEMCOUNT has) that is not ours.
    """
    settings = crawler.settings
    parts = {**settings.getdict("ITEM_PIPELINES"), **settings.getdict("SPIDER_MIDDLEWARES")}
    if len(settings.getdict("FEEDS")) > 1 or any(
        place is not None and not _module(part).startswith("lafka.")
        for part, place in parts.items()
    ):
        return False
    hearing = dispatcher.getAllReceivers(crawler.signals.sender, signals.item_scraped)
    return all(
        _module(type(getattr(hears, "__self__", hears))).startswith(_COUNTING)
        for hears in dispatcher.liveReceivers(hearing)
    )


def _module(part: object) -> str:
    return part if isinstance(part, str) else str(getattr(part, "__module__", ""))


def is_new_fut(entry: dict[str, Any]) -> bool:
    """Return whether an entry of ``futs`` was stored just now, and is thought to be a fut."""
    return bool(entry["new"]) and not entry.get("label")
