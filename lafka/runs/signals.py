"""End a crawl on SIGINT and SIGTERM: in order at the first, at once at the second.

They are blocked, and a thread of ours waits for them. So a signal finds somebody whatever the crawl
does at that moment, none interrupts an import or a ``finally``, and Scrapy, which stops its reactor
under a crawl that still opens or closes and then waits for it for ever, hears of none. Children
inherit the block: what a terminal or systemd sends to all processes is for the crawl alone.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

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
            _tell(logging.INFO, "%s: the crawl ends, in %g s at most; once more ends it at once",
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
        telling = threading.Thread(target=self._tell, args=[why], daemon=True)
        telling.start()
        telling.join(TELLING)
        os._exit(self._code)

    def _tell(self, why: str) -> None:
        if self._code == BROKEN_OFF:
            _tell(
                logging.ERROR,
                "%s: the crawl is broken off. The same command goes on afterwards.",
                why,
            )
        for stream in (sys.stdout, sys.stderr):
            stream.flush()


def _tell(level: int, sentence: str, *values: object) -> None:
    """Log *sentence*, and where the log goes to a file alone print it too."""
    logger.log(level, sentence, *values)
    if not any(type(handler) is logging.StreamHandler for handler in logging.root.handlers):
        sys.stderr.write(f"{sentence % values}\n")
        sys.stderr.flush()
