"""Retry-After, useless retries, and hosts that do not answer."""

from __future__ import annotations

import logging
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Self

from scrapy import signals
from scrapy.downloadermiddlewares.retry import RetryMiddleware
from scrapy.exceptions import CannotResolveHostError, IgnoreRequest
from scrapy.http import Headers, Request, Response
from scrapy.http.request import NO_CALLBACK

from lafka.errors import SiteError, printable
from lafka.politeness.failures import (
    is_connection_failure,
    is_final,
    not_the_sites,
    without_frames,
)
from lafka.politeness.hosts import Hosts, gate_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

ASKS_TO_WAIT = frozenset({429, 503})


class HostSetAside(SiteError, IgnoreRequest):
    """A host failed too often in a row: raised for each later request to it in this run.

    ``cause`` is the last failure.
    """

    def __init__(self, slot: str, cause: Exception) -> None:
        super().__init__(f"{slot} is set aside for this run: {cause}")
        self.slot = slot
        self.cause = cause


class KeepsAskingToWait(SiteError, IgnoreRequest):
    """A host's answer *status* (429 or 503) that names a wait: why it is set aside in the end."""

    def __init__(self, status: int, wait: float) -> None:
        super().__init__(f"answered {status} and asked to wait {wait:g} s each time")
        self.status = status
        self.wait = wait


def retry_after(headers: Headers, now: datetime) -> float | None:
    """The seconds that Retry-After asks for (RFC 9110, 10.2.3), None if it says nothing clear.

    A date counts from the server's own Date where there is one: its clock may be wrong.
    """
    value = _text(headers, "Retry-After")
    if re.fullmatch(r"[0-9]{1,18}", value):
        return float(value)
    until = _date(value)
    if until is None:
        return None
    since = _date(_text(headers, "Date")) or now
    return max(0.0, (until - since).total_seconds())


def _asked_wait(response: Response) -> float:
    """The seconds that an answer asks to wait before anything else is asked, 0 if it does not."""
    if response.status not in ASKS_TO_WAIT:
        return 0.0
    return retry_after(response.headers, datetime.now(UTC)) or 0.0


def _text(headers: Headers, name: str) -> str:
    return (headers.get(name) or b"").decode("latin-1").strip()


def _date(value: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


class RetryAfterMiddleware(RetryMiddleware):
    """Retries that wait as long as the host asks, and none that cannot help.

    429 and 503 park the host's download slot: ``HostQueue`` lets none of its requests go before
    the time. Without a usable Retry-After the wait is 1, 2, 4, ... seconds by retry. A host that
    gives no answer, or only names a wait, ``LAFKA_HOST_FAILURES_MAX`` times in a row is set aside:
    ``HostSetAside``.
    """

    hosts: Hosts
    wait_max: float

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = super().from_crawler(crawler)
        settings = crawler.settings
        middleware.wait_max = settings.getfloat("LAFKA_RETRY_AFTER_MAX", 3600)
        middleware.hosts = Hosts(failures_max=settings.getint("LAFKA_HOST_FAILURES_MAX", 20))
        middleware.hosts.take_gate(gate_of(crawler))
        crawler.signals.connect(middleware.response_downloaded, signals.response_downloaded)
        return middleware

    def process_request(self, request: Request) -> None:
        slot = self._slot(request)
        cause = self.hosts.set_aside(slot)
        if cause is not None:
            raise HostSetAside(slot, cause)

    def response_downloaded(self, request: Request, response: Response) -> None:
        # A signal, since process_response never sees the hops that redirects consume.
        if not _asked_wait(response):
            self.hosts.answered(self._slot(request))

    def process_response(  # type: ignore[override]  # without the deprecated spider argument
        self, request: Request, response: Response
    ) -> Request | Response:
        if response.status in ASKS_TO_WAIT:
            self._park(request, response)
            # A component's own request (engine.download_async) does not pass the scheduler: its
            # retry would not wait.
            if request.callback is NO_CALLBACK or self.hosts.set_aside(self._slot(request)):
                return response
        return super().process_response(request, response)

    def process_exception(  # type: ignore[override]  # without the deprecated spider argument
        self, request: Request, exception: Exception
    ) -> Request | Response | None:
        if not_the_sites(exception):
            return None
        slot = self._slot(request)
        if is_connection_failure(exception):
            self._count_failure(slot, exception)
        if self.hosts.set_aside(slot) or is_final(exception):
            return None
        if isinstance(exception, CannotResolveHostError) and request.meta.get("retry_times"):
            return None  # the name server was asked twice
        return super().process_exception(request, exception)

    def _park(self, request: Request, response: Response) -> None:
        asked = _asked_wait(response)
        wait = asked or float(2 ** min(request.meta.get("retry_times", 0), 12))
        wait = min(wait, self.wait_max)
        slot = self._slot(request)
        if asked:
            self._count_failure(slot, KeepsAskingToWait(response.status, asked))
        said = _text(response.headers, "Retry-After")
        why = f"{response.status}, Retry-After: {said[:100]}" if said else f"{response.status}"
        if self.hosts.park(slot, wait, printable(why)):
            self.crawler.stats.inc_value("lafka/hosts/parked")
            logger.info("%s answers %d and is parked for %g s", slot, response.status, wait)

    def _count_failure(self, slot: str, exception: Exception) -> None:
        if self.hosts.failed(slot, without_frames(exception)):
            self.crawler.stats.inc_value("lafka/hosts/set_aside")
            logger.info("%s is set aside for this run, last: %s", slot, exception)

    def _slot(self, request: Request) -> str:
        assert self.crawler.engine is not None
        return self.crawler.engine.downloader.get_slot_key(request)
