"""Writes the report of a run: open at its start, closed when all else is on the disk."""

from __future__ import annotations

import logging
import os
import platform
import re
import socket
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from time import monotonic
from typing import Any, Protocol, Self
from urllib.parse import urlsplit

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.settings import BaseSettings, default_settings

import lafka
from lafka.capture.run import Run
from lafka.errors import StorageTrouble, printable
from lafka.politeness import RetryAfterMiddleware
from lafka.runs.live import LiveLine
from lafka.runs.reports import FINISHED, OpenReport, Tally, close_killed
from lafka.runs.sources import CHANGED, KNOWN
from lafka.storage.stopping import (
    LIST_STAT,
    SOURCE_STAT,
    STORAGE_TROUBLE,
    TROUBLE_STAT,
    note_storage_trouble,
)
from lafka.storage.threads import Threads
from lafka.warc.format import dates

logger = logging.getLogger(__name__)

PACKAGES = ("Scrapy", "Twisted", "lxml", "parsel", "warcio")
_TROUBLES = (TROUBLE_STAT, LIST_STAT, SOURCE_STAT)
LISTS = ("EXTENSIONS", "DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES")
"""Settings of components; one that is off may be left out, and out of Scrapy's own list, too."""
UNTOLD = frozenset(("FEEDS", *(f"{name}_BASE" for name in LISTS)))
"""Ours is in the first always, and the URIs of others can hold passwords."""
_SECRET = re.compile(r"PASS|SECRET|TOKEN|KEY|CREDENTIAL|AUTH(?!ORITY)|^LAFKA_GATE$")
_USERINFO = re.compile(r"(?<=://)[^/@\s]+@")


class SummaryTexts(Protocol):
    """A run summed up: as JSON, for people, and what has to be said as a warning, or ""."""

    def as_json(self) -> dict[str, Any]: ...

    def summary_lines(self) -> Iterable[str]: ...

    @property
    def warning(self) -> str: ...


class RunReports:
    """Keeps ``runs/<run>.json`` for a spider that has begun a run (docs/formats.md).

    What the spider has to say in it is a mapping: its method ``report_fields`` gives it at the
    start, and :meth:`tell` takes more. Where that speaks of a ``list``, the run is done only when
    the list was read as a ``whole`` and each of its ``lines`` has one in the outcome feed.
    ``tally`` counts those that are on the disk. Its method ``heard``, where it has one, is called
    with each line of the feed that is, in the feed's thread; ``summary``, in a thread too, makes of
    the closing report what stands under that key, and the lines that are logged at the end.
    """

    def __init__(self, crawler: Crawler, run: Run) -> None:
        self.tally = Tally()
        self._crawler = crawler
        self._run = run
        self._threads = Threads("lafka-report", 1)
        self._report: OpenReport | None = None
        self._fields: dict[str, Any] = {}
        self._begun = monotonic()
        self._running = False
        self._reason = ""
        self._summarise: Callable[[Mapping[str, Any]], SummaryTexts] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler, Run.of(crawler))
        for receiver, signal in (
            (extension.spider_opened, signals.spider_opened),
            (extension.engine_started, signals.engine_started),
            (extension.spider_closed, signals.spider_closed),
            (extension.engine_stopped, signals.engine_stopped),
        ):
            crawler.signals.connect(receiver, signal)
        return extension

    async def spider_opened(self, spider: Spider) -> None:
        report_fields = getattr(spider, "report_fields", None)
        self._fields = dict(report_fields()) if report_fields else {}
        self.tally.heard = getattr(spider, "heard", None)
        self._summarise = getattr(spider, "summary", None)
        try:
            await self._threads.run(self._open)
        except StorageTrouble as error:
            note_storage_trouble(self._crawler, error)
            raise CloseSpider(STORAGE_TROUBLE) from error

    def _open(self) -> None:
        for killed in close_killed(self._run.root):
            logger.info("The run %s of %s was not finished: it was killed", killed.run,
                        killed.values.get("started"))  # fmt: skip
        self._report = OpenReport(
            self._run.root / "runs",
            self._run.name,
            {
                "started": dates.to_seconds(datetime.now(UTC)),
                "finished": None,
                "host": socket.gethostname(),
                "process_id": os.getpid(),
                **self._fields,
                "settings": settings_told(self._crawler.settings),
                "versions": versions(),
            },
        )

    async def tell(self, values: Mapping[str, Any]) -> None:
        """Put *values* into the report, beside and over what was told before."""
        self._fields.update(values)
        if self._report is not None:
            await self._threads.run(self._report.save, **values)

    def engine_started(self) -> None:
        self._running = True

    async def spider_closed(self, reason: str) -> None:
        self._reason = reason
        if not self._running:  # a part could not begin: the engine will not stop, and none crawled
            await self.engine_stopped()

    async def engine_stopped(self) -> None:
        """Close the report: feed, papers and raw WARC have ended by now."""
        report, self._report = self._report, None
        try:
            if report is not None:
                closing = self._closing()
                values, summed = report.values | closing, None
                if self._summarise:
                    summed = await self._threads.run(self._summarise, values)
                if summed is not None:
                    closing["summary"] = summed.as_json()
                try:
                    await self._threads.run(report.save, **closing)
                finally:
                    self._say_for_people(report.values | closing, summed)
        except StorageTrouble as error:
            note_storage_trouble(self._crawler, error)
        finally:
            if report is not None:
                report.close()
            self._threads.stop()

    def _closing(self) -> dict[str, Any]:
        stats = self._crawler.stats
        assert stats is not None
        retries = self._crawler.get_downloader_middleware(RetryAfterMiddleware)
        troubles = [str(t) for t in map(stats.get_value, _TROUBLES) if t]
        told = self.tally.as_json()
        of = self._fields.get("list")
        all_told = of is None or (of["whole"] and of["lines"] in (None, told["lines"]))
        return {
            "finished": dates.to_seconds(datetime.now(UTC)),
            "reason": self._reason,
            "done": self._reason == FINISHED and all_told and not troubles,
            **told,
            "troubles": troubles,
            "log": {
                "errors": stats.get_value("log_count/ERROR", 0),
                "warnings": stats.get_value("log_count/WARNING", 0),
            },
            "robots": {
                "asked": stats.get_value("robotstxt/request_count", 0),
                "forbidden": stats.get_value("robotstxt/forbidden", 0),
            },
            "hosts": retries.hosts.as_json() if retries else None,
            "raw": self._run.raw.as_json(),
            "seconds": round(monotonic() - self._begun, 3),
            "memory": peak_memory(),
        }

    def _say_for_people(self, values: Mapping[str, Any], summed: SummaryTexts | None) -> None:
        """Say how the run ended: in the log, and on a terminal, whatever its log level shows."""
        sentence = _sentence(values)
        lines = summed.summary_lines() if summed else ()
        text = "\n".join([sentence, *(f"  {line}" for line in lines)])
        live = self._crawler.get_extension(LiveLine)
        if live is not None:
            live.terminal.say(text)
        if live is None or not live.terminal.has_log:
            logger.info("%s", text)
        assert self._crawler.stats is not None
        if self._crawler.stats.get_value(TROUBLE_STAT):
            return  # the disk stopped the crawl, which was told
        if warning := summed.warning if summed else "":
            logger.warning("%s", warning)
            if live is not None and not live.terminal.has_log:
                live.terminal.say(warning)


def _sentence(values: Mapping[str, Any]) -> str:
    of, shard = (values.get("list", {}).get(name) for name in ("lines", "shard"))
    lines = f"{values['lines']:,}{'' if of is None else f' of {of:,}'} lines"
    lines += f" of shard {shard}" if shard else ""
    then = "" if values["done"] else "; the same command goes on"
    return f"The run {values['run']} ends, {values['reason']}: {lines} have their outcome{then}"


def versions() -> dict[str, str]:
    """Of Lafka, Python, the system, and the packages that make the bytes and the links."""
    found = {name: version(name) for name in PACKAGES}
    own = {"lafka": lafka.__version__, "python": platform.python_version()}
    return own | found | {"system": platform.platform()}


def settings_told(settings: BaseSettings) -> dict[str, Any]:
    """The settings that are not as Lafka or Scrapy have them, without what may be secret."""
    told = {}
    usual = KNOWN | CHANGED
    for name in sorted(map(str, settings)):
        default = usual.get(name, getattr(default_settings, name, None))
        value, before = (_on(name, _plain(one)) for one in (settings[name], default))
        if name not in UNTOLD and str(value) != str(before):
            told[name] = "[removed]" if _SECRET.search(name) else value
    return told


def _on(name: str, value: Any) -> Any:
    """*value* of the setting *name*, of a list of components those that are on."""
    if name not in LISTS or not isinstance(value, dict):
        return value
    return {path: order for path, order in value.items() if order is not None}


def _plain(value: Any) -> Any:
    """*value* as JSON can have it, without the names and passwords of its URLs."""
    if isinstance(value, BaseSettings):
        value = value.copy_to_dict()
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner) for inner in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return _USERINFO.sub("", printable(value))


def peak_memory() -> int:
    """The most memory that this process had, in bytes."""
    with suppress(OSError):  # getrusage has that of the process which began this one, too
        status = Path("/proc/self/status").read_text()
        if found := re.search(r"VmHWM:\s+(\d+) kB", status):
            return int(found[1]) * 1024
    return getrusage(RUSAGE_SELF).ru_maxrss * 1024


HOSTS = 5
"""Hosts that a summary names."""
WORDS = 4
"""Outcomes of a group or host that a summary names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingHost:
    """A host and how its lines ended that gave no fut: outcome to number, the most first."""

    name: str
    why: Mapping[str, int]

    @property
    def failures(self) -> int:
        return sum(self.why.values())

    def as_json(self) -> dict[str, Any]:
        return {"host": self.name, "failures": self.failures, "why": dict(self.why)}


def failing_hosts(counts: Counter[tuple[str, str]]) -> tuple[FailingHost, ...]:
    hosts: dict[str, Counter[str]] = {}
    for (host, word), count in counts.items():
        hosts.setdefault(host, Counter())[word] += count
    most = sorted(hosts, key=lambda name: (-hosts[name].total(), name))[:HOSTS]
    return tuple(FailingHost(name=name, why=dict(hosts[name].most_common())) for name in most)


def group_line(group: str, words: Mapping[str, int], total: int) -> str:
    """The line of a *group* of outcomes: how many of *total*, their share, and which outcomes."""
    count = sum(words.values())
    return f"  {group:<10}{count:>9,} {count / max(total, 1):6.1%}  {in_words(words)}".rstrip()


def host_lines(hosts: tuple[FailingHost, ...]) -> Iterator[str]:
    """Lines that name *hosts* and how their lines ended; none where there are none."""
    if hosts:
        yield "hosts with most failures:"
    for host in hosts:
        yield f"  {printable(host.name)}: {host.failures:,} ({in_words(host.why)})"


def host_of(futli: str) -> str:
    with suppress(ValueError):
        return urlsplit(futli).hostname or ""
    return ""


def in_words(counts: Mapping[str, int]) -> str:
    """``not-found 12, dns 8``."""
    told = [f"{word} {count:,}" for word, count in [*counts.items()][:WORDS]]
    return ", ".join(told + ["..."] * (len(counts) > WORDS))


def in_time(seconds: float) -> str:
    """``2 h 5 min``, ``3 min 20 s`` or ``4.2 s``."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = round(seconds) // 60
    if minutes < 60:
        return f"{minutes} min {round(seconds) % 60} s"
    return f"{minutes // 60:,} h {minutes % 60} min"
