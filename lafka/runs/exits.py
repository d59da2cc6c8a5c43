"""A crawl in this process: its log, its end, which is that of its spider, and the exit code.

SIGINT and SIGTERM end it, in order at the first, at once at the second. They are blocked, and a
thread of ours waits for them. So a signal finds somebody whatever the crawl does at that moment,
none interrupts an import or a ``finally``, and Scrapy, which stops its reactor under a crawl that
still opens or closes and then waits for it for ever, hears of none. Children inherit the block:
what a terminal or systemd sends to all processes is for the crawl alone.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Self

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings
from scrapy.utils.asyncio import call_later

from lafka.storage.stopping import (
    HOPELESS_STAT,
    LIST_STAT,
    SHUTDOWN,
    SOURCE_STAT,
    TROUBLE_STAT,
    stop_crawl,
)
from lafka.storage.threads import the_reactor

AGAIN = 0.05
"""Seconds from the end of an item until it is looked whether it was the last."""


class LastItems:
    """Tells Scrapy's scraper that it has nothing left, where an item of ``start`` was the last.

    The scraper of Scrapy 2.19 waits for its items when the spider closes, but looks whether there
    are any only at the end of an answer: a crawl that is closed while items of ``start`` are under
    way, and asks nobody, would wait for ever.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._looks = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler)
        for event in (signals.item_scraped, signals.item_dropped, signals.item_error):
            crawler.signals.connect(extension.item_ended, event)
        return extension

    def item_ended(self) -> None:
        """One is told of before the scraper has counted it: look a moment later."""
        if not self._looks:
            self._looks = True
            call_later(AGAIN, self._look)

    def _look(self) -> None:
        self._looks = False
        engine = self._crawler.engine
        slot = engine.scraper.slot if engine else None
        if slot is None:
            return
        if not slot.is_idle():
            self.item_ended()
        elif slot.closing and not slot.closing.called:
            slot.closing.callback(self._crawler.spider)  # type: ignore[arg-type]


FELL_SHORT = 1
"""Exit code where the disk or a gateway stopped the crawl, or its list was not read to the end."""

REFUSED = 2
"""Exit code where no line of the list can be asked for, as for one that is refused at the start."""


async def crawled(
    crawler: Crawler, begin: Callable[[], Awaitable[None]], shutdown: Shutdown
) -> int:
    """Let *crawler* begin and end, or stop by *shutdown*; the exit code for it."""
    reactor = the_reactor()
    shutdown.attend(lambda: reactor.callFromThread(stop_crawl, crawler, SHUTDOWN))
    if shutdown.asked:
        return STOPPED
    await begin()
    code = _code(crawler)
    shutdown.ended(code)
    return code


def _code(crawler: Crawler) -> int:
    if crawler.stats is None:
        return 0
    if crawler.stats.get_value(HOPELESS_STAT):
        return REFUSED
    if any(crawler.stats.get_value(stat) for stat in (TROUBLE_STAT, LIST_STAT, SOURCE_STAT)):
        return FELL_SHORT
    stopped = crawler.stats.get_value("finish_reason") == SHUTDOWN
    return STOPPED if stopped else 0


OF_ITSELF = (
    "scrapy.utils.log",
    "scrapy.addons",
    "scrapy.crawler",
    "scrapy.middleware",
    "scrapy.extensions.logstats",
)
"""Loggers of Scrapy that tell at INFO how it is set up, and its own progress."""
STATS = "scrapy.statscollectors"
DOWNLOADS = "lafka.capture.handler"
WRONG = "DOWNLOAD_FAIL_ON_DATALOSS"
"""Scrapy's advice to set it is not said: what is cut short is an outcome, ``truncated``."""


def settle_log(settings: BaseSettings) -> None:
    """Take Scrapy's words about itself for DEBUG, but for its stats where STATS_DUMP is set."""
    asked = (settings.getpriority("STATS_DUMP") or 0) > 0
    for name in (*OF_ITSELF, *(() if asked else (STATS,))):
        logging.getLogger(name).addFilter(at_debug)
    logging.getLogger(DOWNLOADS).addFilter(is_no_wrong_advice)


def at_debug(record: logging.LogRecord) -> bool:
    """Let *record* pass, as one of DEBUG where it was one of INFO; handlers look at its level."""
    if record.levelno == logging.INFO:
        record.levelno, record.levelname = logging.DEBUG, "DEBUG"
    return True


def is_no_wrong_advice(record: logging.LogRecord) -> bool:
    return WRONG not in record.getMessage()


STOPPED = 3
"""Exit code of a crawl that a signal stopped, in order."""
BROKEN_OFF = 4
"""Exit code of a crawl that was left as a kill leaves it: the next run copies what it had."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)
LINGER = 5.0
"""Seconds for what may linger when all is on the disk: a name that is being resolved."""
TELLING = 1.0
"""Seconds for the last sentence: a log that cannot be written must not hold the end."""

logger = logging.getLogger(__name__)


class Shutdown:
    """Waits for signals from :meth:`begin` on. *seconds*: what an end in order may take."""

    def __init__(self, seconds: float) -> None:
        self.asked = False
        """Whether a signal has come."""
        self._seconds = seconds
        self._turn = threading.Lock()
        self._stop: Callable[[], object] | None = None
        self._code = BROKEN_OFF

    @classmethod
    def of(cls, settings: BaseSettings | None) -> Self:
        """With LAFKA_SHUTDOWN_TIMEOUT; what is wrong with that is told by the check of settings."""
        with suppress(ValueError, TypeError):
            assert settings is not None
            return cls(settings.getfloat("LAFKA_SHUTDOWN_TIMEOUT"))
        return cls(0)

    def begin(self) -> None:
        """To be called in the first thread, before there are others."""
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        threading.Thread(target=self._wait, name="lafka-signals", daemon=True).start()

    def attend(self, stop: Callable[[], object]) -> None:
        """Call *stop*, in whatever thread, at the first signal, which may have come already."""
        with self._turn:
            self._stop = stop
            asked = self.asked
        if asked:
            stop()

    def ended(self, code: int) -> None:
        """All is on the disk, *code* is the exit code: the process need not wait for the rest."""
        with self._turn:
            self._code = code
        if self.asked:
            self._later(LINGER, "")

    def _wait(self) -> None:
        name = signal.Signals(signal.sigwait(SIGNALS)).name
        self._later(self._seconds, f"No end in {self._seconds:g} s after {name}")
        with self._turn:
            self.asked = True
            stop = self._stop
        try:
            _say(logging.INFO, "%s: the crawl ends, in %g s at most; once more ends it at once",
                  name, self._seconds)  # fmt: skip
            if stop is not None:
                stop()
        finally:
            name = signal.Signals(signal.sigwait(SIGNALS)).name
            self._leave(f"{name} again")

    def _later(self, seconds: float, why: str) -> None:
        timer = threading.Timer(seconds, self._leave, [why])
        timer.daemon = True
        timer.start()

    def _leave(self, why: str) -> None:
        telling = threading.Thread(target=self._say, args=[why], daemon=True)
        telling.start()
        telling.join(TELLING)
        os._exit(self._code)

    def _say(self, why: str) -> None:
        if self._code == BROKEN_OFF:
            _say(
                logging.ERROR,
                "%s: the crawl is broken off. The same command goes on afterwards.",
                why,
            )
        for stream in (sys.stdout, sys.stderr):
            stream.flush()


def _say(level: int, sentence: str, *values: object) -> None:
    """Log *sentence*, and where the log goes to a file alone print it too."""
    logger.log(level, sentence, *values)
    if not any(type(handler) is logging.StreamHandler for handler in logging.root.handlers):
        sys.stderr.write(f"{sentence % values}\n")
        sys.stderr.flush()
