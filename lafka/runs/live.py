"""The live line of a crawl on a terminal: how far it is, what came of it, what it waits for."""

from __future__ import annotations

import os
import sys
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any, Self

from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import AsyncioLoopingCall, create_looping_call
from twisted.internet.task import LoopingCall

from lafka.runs.progress import ENDED_ASIDE, PAPERS, ProgressGoal, ended_as, host_states, is_new_fut
from lafka.runs.terminals import Terminal

INTERVAL = 0.5
"""Seconds between two looks at the crawl."""
SPAN = 60.0
"""Seconds over which the rate is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressSnapshot:
    """A crawl at one moment. ``total``: lines read of the list so far, None where it has none.

    ``groups``: lines by what came of them, as the spider groups them. ``size``: bytes of new futs.
    ``rate``: lines that ended, a second, lately. ``aim``: what ``futs`` are.
    """

    done: int
    total: int | None
    loaded: bool
    futs: int
    groups: Mapping[str, int]
    size: int
    busy: int
    waiting: int
    parked: int
    rate: float
    aim: ProgressGoal = PAPERS

    def parts(self) -> Iterator[str]:
        """Yield what is told, the most wanted first, for a narrow terminal has not all of it."""
        of = "" if self.total is None else f" of {self.total:,}{'' if self.loaded else '+'}"
        yield f"{self.done:,}{of} lines"
        yield f"{self.futs:,} {self.aim.name}"
        if self.total is not None and self.loaded and self.rate > 0:
            yield f"{time_left((self.total - self.done) / self.rate)} left"
        yield f"{self.rate * 60:,.0f} {self.aim.unit}/min"
        yield (
            ", ".join(f"{group} {count:,}" for group, count in self.groups.items()) or "no outcome"
        )
        yield f"hosts: {self.busy:,} busy, {self.waiting:,} waiting, {self.parked:,} parked"
        yield f"{self.size / 1e6:,.1f} MB"


def time_left(seconds: float) -> str:
    """``2 h 5 min``, ``5 min`` or ``40 s``."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60:,} h {minutes % 60} min"


class LiveLine:
    """Shows a ``ProgressSnapshot`` in the last line of the ``terminal`` while the crawl goes on.

    A spider may say what an outcome is for people: its method ``group_of``.
    """

    def __init__(self, crawler: Crawler, terminal: Terminal, *, shown: bool) -> None:
        self.terminal = terminal
        self.shown = shown
        self._crawler = crawler
        self._outcomes: Counter[str] = Counter()
        self._size = 0
        self._lately: deque[tuple[float, int]] = deque()
        self._task: AsyncioLoopingCall | LoopingCall | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        terminal = Terminal.at(sys.stderr, os.environ)
        if terminal is None:
            raise NotConfigured  # silently: most crawls have none
        shown = crawler.settings.getfloat("LAFKA_PROGRESS_INTERVAL", 30) > 0
        extension = cls(crawler, terminal, shown=shown)
        crawler.signals.connect(extension.spider_opened, signals.spider_opened)
        crawler.signals.connect(extension.item_scraped, signals.item_scraped)
        crawler.signals.connect(extension.ended_aside, ENDED_ASIDE)
        crawler.signals.connect(extension.spider_closed, signals.spider_closed)
        return extension

    def spider_opened(self) -> None:
        self.terminal.attach()
        self._lately.append((monotonic(), 0))
        if self.shown:
            self._task = create_looping_call(self.look)
            self._task.start(INTERVAL, now=False)

    def item_scraped(self, item: Any) -> None:
        outcome = ended_as(item)
        if outcome is not None:
            self._outcomes[outcome] += 1
            fields = ItemAdapter(item)
            futs = fields.get("futs", ())
            self._size += sum(fut["length"] for fut in futs if is_new_fut(fut))
            self._size += fields.get("lafka", {}).get("bytes", 0)

    def ended_aside(self, outcome: str, count: int) -> None:
        self._outcomes[outcome] += count

    def spider_closed(self) -> None:
        if self._task and self._task.running:
            self._task.stop()
        self.terminal.detach()

    def look(self) -> None:
        self.terminal.show(self.moment(monotonic()).parts())

    def moment(self, now: float) -> ProgressSnapshot:
        """The crawl at *now*, in seconds, monotonic."""
        crawler, done = self._crawler, self._outcomes.total()
        aim = ProgressGoal.of(crawler.spider)
        feeder = getattr(crawler.spider, "feeder", None)
        hosts = host_states(crawler)
        return ProgressSnapshot(
            done=done,
            total=getattr(feeder, "total", None),
            loaded=getattr(feeder, "loaded", True),
            futs=aim.count(self._outcomes),
            aim=aim,
            groups=self._groups(),
            size=self._size,
            busy=hosts["busy"],
            waiting=hosts["waiting"],
            parked=hosts["parked"],
            rate=self._rate(now, done),
        )

    def _groups(self) -> Mapping[str, int]:
        group_of = getattr(self._crawler.spider, "group_of", str)
        groups: Counter[str] = Counter()
        for outcome, count in self._outcomes.items():
            groups[group_of(outcome)] += count
        return dict(groups.most_common())

    def _rate(self, now: float, done: int) -> float:
        """Lines a second since a minute ago, or since the crawl began."""
        self._lately.append((now, done))
        while now - self._lately[0][0] > SPAN:
            self._lately.popleft()
        since, before = self._lately[0]
        return (done - before) / max(now - since, 0.001)
