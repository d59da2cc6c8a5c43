"""Scrapy's downloader, with places that hosts which keep us waiting do not hold."""

from __future__ import annotations

import logging
import math
from collections.abc import Hashable
from typing import Any

from scrapy import Request, signals
from scrapy.core.downloader import Downloader
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import CallLaterResult, call_later
from twisted.internet.defer import Deferred

from lafka.capture.handler import EXCHANGE_KEY
from lafka.politeness.host_speed import BESIDE, HostSpeeds
from lafka.politeness.hosts import gate_of
from lafka.politeness.queue import wake
from lafka.storage.keeper import FILES_OF_A_COMMIT, FILES_OF_A_CRAWL, batch_max
from lafka.storage.limits import open_files_max

logger = logging.getLogger(__name__)

FILES_OF_A_CONNECTION = 3
"""Files that one has open: itself, the spool of its answer, that of one that waits for the disk."""


class SharedDownloader(Downloader):
    """CONCURRENT_REQUESTS is the number of places, which ``speeds`` gives to hosts.

    A component's own request (``engine.download_async``) holds none: it is made for one that does,
    and that waits for it, as a page for its robots.txt.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        connections = _connections_max()
        self.total_concurrency = _places(self.total_concurrency, connections)
        self.speeds = HostSpeeds(
            places=self.total_concurrency,
            beside=min(BESIDE * self.total_concurrency, connections - self.total_concurrency),
            received=_received,
        )
        self._next_look: CallLaterResult | None = None
        self._gate = gate_of(crawler)
        crawler.signals.connect(self._answered, signals.response_downloaded)

    def fetch(self, request: Request, spider: Any = None) -> Deferred[Response | Request]:  # noqa: ARG002
        if request.callback is not NO_CALLBACK:
            self.speeds.sent(request, self.get_slot_key(request))
        fetched: Deferred[Response | Request] = super().fetch(request)
        return fetched.addBoth(self._end, request)

    def needs_backout(self) -> bool:
        full = self.speeds.full
        if full and self._next_look is None:
            self._set_look()
        return full

    def close(self) -> None:
        if self._next_look is not None:
            self._next_look.cancel()
            self._next_look = None
        super().close()

    def _end(self, result: Any, request: Request) -> Any:
        self.speeds.ended(request)
        if self._gate is not None:  # here, for by now the host is parked that asked for it
            self._gate.end(request)
        return result

    def _answered(self, request: Request) -> None:
        self.speeds.answered(request, self.get_slot_key(request))

    def _set_look(self) -> None:
        """Nobody asks for a request while all places are taken, and time alone may free one."""
        seconds = self.speeds.next_look
        if seconds < math.inf:
            self._next_look = call_later(seconds, self._look)

    def _look(self) -> None:
        self._next_look = None
        if not self.needs_backout():
            wake(self.crawler)


def _received(request: Hashable) -> int:
    exchange = request.meta.get(EXCHANGE_KEY)  # type: ignore[attr-defined]
    return 0 if exchange is None else int(exchange.response.size)


def _connections_max() -> int:
    """Return how many connections there may be, each with a spool that lies in a file."""
    stored = FILES_OF_A_CRAWL + FILES_OF_A_COMMIT * batch_max()
    return max(1, (open_files_max() - stored) // FILES_OF_A_CONNECTION)


def _places(asked: int, connections: int) -> int:
    """The places of the *asked* ones that *connections* allow; said once where it is fewer."""
    if connections < asked:
        logger.warning(
            "So few files may be open at once (ulimit -n) that %d requests go side by side, not %d",
            connections, asked,
        )  # fmt: skip
    return min(asked, connections)
