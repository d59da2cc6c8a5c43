"""The download handler: an HTTP/1.1 client on Twisted's transport; it keeps what the wire carried.

Scrapy's own hands on parsed headers and a decoded body; case, order and spacing of header lines,
the reason phrase, interim answers, chunk framing, trailers and whatever came before a cut are gone
by then. Here the bytes of a connection go two ways, and what is read never changes what is kept::

    TCP  ->  TLS  ->  connection  ->  reader  ->  head, body  ->  Scrapy
                          |
                         tap  ->  Exchange

A connection is asked one thing at a time, and carries one exchange, or several of one group; so
every byte on it belongs to one exchange, but for what comes after the end that the answer tells.
Scrapy gets only as much of a body as anyone reads from it; the exchange gets all.

What an answer is, is :mod:`lafka.capture.client`'s; which addresses may be asked,
:mod:`lafka.capture.client.routes`'s; what Scrapy's settings and signals say,
:mod:`lafka.capture.request_options`'.
"""

from __future__ import annotations

import errno
import logging
import re
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, NoReturn, Self
from urllib.parse import urldefrag, urlsplit

from OpenSSL import SSL
from scrapy import Request
from scrapy.core.downloader import Slot
from scrapy.crawler import Crawler
from scrapy.exceptions import (
    DownloadCancelledError,
    DownloadTimeoutError,
    NotConfigured,
    ResponseDataLossError,
    StopDownload,
)
from scrapy.http import Response
from scrapy.settings import BaseSettings
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import CancelledError, FirstError
from twisted.internet.error import ConnectError, ConnectionDone, ConnectionLost
from twisted.internet.task import deferLater
from twisted.python.failure import Failure

from lafka.capture.addresses import is_allowed, literal, networks
from lafka.capture.client.connections import Client
from lafka.capture.client.requests import wire_request
from lafka.capture.client.routes import AddressRefused, GuardedReactor
from lafka.capture.exchanges import Exchange, Spool, Truncated
from lafka.capture.recording import (
    HEAD_LIMIT,
    BadTls,
    ClaimLost,
    HandshakeCut,
    ReadingLimits,
    Tap,
)
from lafka.capture.request_options import DownloadSettings, RequestOptions
from lafka.capture.scrapy_private import (
    get_dataloss_msg,
    install_idna_fallbacks,
    load_context_factory,
    make_response,
    wrap_twisted_exceptions,
)
from lafka.errors import BadHttp, BadUrl, Stopped
from lafka.politeness.failures import causes
from lafka.politeness.hosts import SLOT_KEY, gate_of
from lafka.storage.stopping import STOPPING
from lafka.storage.threads import awaited, the_reactor
from lafka.urls import LONGEST_URL

if TYPE_CHECKING:
    from lafka.politeness.gate import Gate

logger = logging.getLogger(__name__)

EXCHANGE_KEY = "lafka_exchange"
"""Key of ``request.meta``: the Exchange of the last download of this request."""
READ_MAX_KEY = "lafka_read_max"
"""Key of ``request.meta``: bytes after which a body that is no PDF is not read on; 0 to its end."""
SECRETS_KEY = "lafka_secrets"
"""Key of ``request.meta``: names of header fields, small letters, whose values no record shows."""
SINK_KEY = "lafka_sink"
"""Key of ``request.meta``: a BodySink that takes the body past the raw WARC."""
GROUP_KEY = "lafka_group"
"""Key of ``request.meta``: requests with equal values may use one connection, one after the other;
without it a request has a connection of its own."""
CLOSING = 1.0
"""Seconds that kept connections may take to be closed at the end."""
TIMEOUT = 10.0
"""Seconds that a download may take whose request does not say it: as in Scrapy's handler."""

AGAIN = 0.1
"""Seconds until those are given up that have come to wait for their turn meanwhile."""


class ActiveDownloads:
    """The taps of one handler's downloads; once the crawl stops there are no new ones.

    Scrapy waits for all of them before it closes a spider, and some take an hour. So what has not
    been sent yet is given up at once, and what has not ended after *grace* seconds is cut: its
    bytes are kept, and marked as truncated.
    """

    def __init__(self, crawler: Crawler | None = None, grace: float = 0.0) -> None:
        self._crawler = crawler
        self._grace = grace
        self._taps: set[Tap] = set()
        self._stops = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        grace = crawler.settings.getfloat("LAFKA_SHUTDOWN_TIMEOUT") / 2
        in_flight = cls(crawler, grace)
        crawler.signals.connect(in_flight.stop, signal=STOPPING)
        return in_flight

    def judge(self, url: str) -> None:
        """``Stopped`` where nothing may be asked any more."""
        if self._stops:
            raise Stopped(f"{url}: not asked, for the crawl stops")

    @contextmanager
    def one(self, tap: Tap) -> Iterator[None]:
        """While the download of *tap* goes on."""
        self._taps.add(tap)
        try:
            yield
        finally:
            self._taps.discard(tap)

    def stop(self) -> None:
        self._stops = True
        self._give_up()
        call_later(self._grace, self._cut)

    def _give_up(self) -> None:
        """Those that wait for the delay of their host, which may be longer than we have."""
        assert self._crawler is not None
        engine = self._crawler.engine
        if engine is None or not self._crawler.crawling:
            return
        for slot in list(engine.downloader.slots.values()):
            while slot.queue:
                request, deferred = slot.queue.popleft()
                stopped = Stopped(f"{request.url}: not asked, for the crawl stops")
                deferred.errback(Failure(stopped))  # type: ignore[no-untyped-call]
        call_later(AGAIN, self._give_up)

    def _cut(self) -> None:
        for tap in list(self._taps):
            tap.fail(Stopped(f"{tap.exchange.url}: cut, for the crawl stops"), "time")


class ExactDownloadHandler:
    """Downloads by HTTP/1.1 and leaves the exchange at ``meta["lafka_exchange"]``.

    It is there on success and on failure, and nothing is added to it once ``download_request``
    has returned or raised. Raises what Scrapy's own handler raises, and:

    - AddressRefused, BadTls, HandshakeCut and BadCertificate, see there;
    - UnaskedBytes where the answer may be another request's;
    - BadHttp where the answer is no HTTP, or its head is over 256 KiB (not retried);
    - DownloadTimeoutError also where no byte came for LAFKA_STALL_TIMEOUT seconds, or in five
      times that fewer than LAFKA_MIN_RATE bytes a second;
    - StorageTrouble where the spool could not be written (not retried);
    - Stopped where the crawl stops; an answer that was cut for it is truncated, ``time``.
    """

    lazy = False
    whole = False
    """Whether bodies are handed on to their ends, and not only as much of them as anyone reads."""
    group: Hashable = None
    """The group of requests that name none."""

    def __init__(
        self, crawler: Crawler, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        settings = crawler.settings
        if not settings.getbool("TWISTED_REACTOR_ENABLED"):
            raise NotConfigured(f"{type(self).__name__} requires a Twisted reactor.")
        install_idna_fallbacks()
        self._reactor = the_reactor()
        self._clock = clock
        self._allowed = networks(settings.getlist("LAFKA_ALLOWED_NETWORKS"))
        self._limits = ReadingLimits(
            payload=settings.getint("LAFKA_MAX_PAYLOAD"),
            stall=settings.getfloat("LAFKA_STALL_TIMEOUT", 60.0),
            rate=settings.getfloat("LAFKA_MIN_RATE"),
        )
        self._spool_dir = _spool_dir(settings)
        self._tls_strict = settings.getbool("LAFKA_TLS_STRICT")
        self._bind = settings.get("DOWNLOAD_BIND_ADDRESS")
        self._settings = DownloadSettings(crawler)
        self._in_flight = ActiveDownloads.from_crawler(crawler)
        self._client = Client(
            GuardedReactor(self._reactor, self._allowed),
            load_context_factory(crawler),
            kept=settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN"),
        )
        self._told_of_loss = False
        self._crawler = crawler
        self._gate = gate_of(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ExactDownloadHandler:
        return cls(crawler)

    async def close(self) -> None:
        closed = self._client.close()
        timer = self._reactor.callLater(CLOSING, closed.cancel)
        with suppress(CancelledError, FirstError):
            await maybe_deferred_to_future(closed)
        if timer.active():
            timer.cancel()

    async def download_request(self, request: Request) -> Response:
        while self._gate is not None:
            await self._pass(request, self._gate)
            try:
                return await self._download(request)
            except ClaimLost:
                self._gate.end(request)
                request.meta.pop(EXCHANGE_KEY).response.close()
        return await self._download(request)

    async def _pass(self, request: Request, gate: Gate) -> None:
        """Come back when the host is ours and its delay, which counts from then, is over since the
        one before that has waited here too. ``Stopped``.
        """
        self._in_flight.judge(request.url)
        assert self._crawler.engine is not None
        slots, key = self._crawler.engine.downloader.slots, request.meta[SLOT_KEY]
        while not gate.begin(key, request):
            await awaited(gate.turn(key))
            if slot := slots.get(key):
                wait = after_turn(slot, monotonic())
                await maybe_deferred_to_future(deferLater(self._reactor, wait))

    async def _download(self, request: Request) -> Response:
        self._in_flight.judge(request.url)
        url = urldefrag(request.url)[0]
        exchange = Exchange(
            url=url,
            method=request.method,
            response=Spool(self._spool_dir),
            secrets=request.meta.get(SECRETS_KEY, ()),
        )
        request.meta[EXCHANGE_KEY] = exchange
        self._judge_url(request)
        options = RequestOptions(self._settings, request)
        tap = Tap(
            exchange,
            self._limits_of(request),
            self._clock,
            miss_max=request.meta.get(READ_MAX_KEY, 0),
            tls_strict=self._tls_strict,
            sink=request.meta.get(SINK_KEY),
            whole=self.whole,
            options=options,
        )
        if self._gate is not None:
            tap.may_send = partial(self._gate.is_fresh, request.meta[SLOT_KEY])
        try:
            with self._in_flight.one(tap), wrap_twisted_exceptions():
                await self._exchange(request, tap)
            response = self._response(url, tap, options)
        except BaseException as error:
            tap.close(_reason_of(error))
            self._tell_of_loss(error, request)
            _raise_what_it_is(error, tap, request)
        if tap.error is not None:
            raise tap.error
        response.flags += tap.flags
        return response

    async def _exchange(self, request: Request, tap: Tap) -> None:
        """Come back when an answer is there, whole or taken for whole."""
        over = tap.watch(self._reactor)
        timeout = tap.limits.whole
        group = request.meta.get(GROUP_KEY, self.group)
        self._client.ask(wire_request(request, self._bind, group), tap, timeout)
        await maybe_deferred_to_future(over)

    def _response(self, url: str, tap: Tap, options: RequestOptions) -> Response:
        """Return what Scrapy gets; ``StopDownload`` where somebody's signal wants that."""
        head, beginning = tap.head, tap.beginning
        assert head is not None
        tap.close("length" if tap.stopped else None)
        return make_response(
            url=url,
            status=head.status,
            headers=options.headers,
            body=b"" if beginning is None else beginning.body,
            flags=tap.marks,
            certificate=options.certificate,
            ip_address=options.address,
            protocol=head.protocol,
            stop_download=tap.stopped,
        )

    def _limits_of(self, request: Request) -> ReadingLimits:
        """The limits, with Scrapy's of a request: ``download_timeout``, ``download_maxsize``."""
        own = request.meta.get("download_maxsize") or self._limits.payload
        sunk = SINK_KEY in request.meta  # past the raw WARC, so its limit does not bind
        size = own if sunk else min(own, self._limits.payload or own)
        timeout = request.meta.get("download_timeout") or TIMEOUT
        return replace(self._limits, payload=size, whole=timeout)

    def _judge_url(self, request: Request) -> None:
        """Refuse an address in the URL: a proxy would ask it for us.

        A URL can have become too long by being escaped, or by a redirect.
        """
        if len(request.url) > LONGEST_URL:
            raise BadUrl(f"a URL of {len(request.url)} bytes")
        address = literal(urlsplit(request.url).hostname or "")
        if address is not None and not is_allowed(address, self._allowed):
            raise AddressRefused(f"{request.url}: {address} is not a public address")

    def _tell_of_loss(self, error: BaseException, request: Request) -> None:
        if isinstance(error, ResponseDataLossError) and not self._told_of_loss:
            logger.warning(get_dataloss_msg(request.url))
            self._told_of_loss = True


def after_turn(slot: Slot, now: float) -> float:
    """Seconds until one goes that waited for a claim in *slot*, which counts its delay from then.

    Several may have waited, each of which the slot has let go after a delay.
    """
    alone = len(slot.transferring) <= 1
    slot.lastseen = now if alone else max(now, slot.lastseen + slot.delay)
    return slot.lastseen - now


def _spool_dir(settings: BaseSettings) -> str | None:
    """LAFKA_SPOOL_DIR, else the archive's folder of raw WARCs, for that is where it goes next."""
    if own := settings.get("LAFKA_SPOOL_DIR"):
        return str(own)
    raw = Path(settings.get("LAFKA_ARCHIVE") or "") / "raw"
    return str(raw) if raw.is_dir() else None


def _reason_of(error: BaseException) -> Truncated:
    if isinstance(error, DownloadTimeoutError):
        return "time"
    if isinstance(error, DownloadCancelledError | StopDownload):
        return "length"  # DOWNLOAD_MAXSIZE, or somebody's signal
    return "disconnect"


def _raise_what_it_is(error: BaseException, tap: Tap, request: Request) -> NoReturn:
    if tap.error is not None and tap.error is not error:
        raise tap.error from error
    if tap.fault and not tap.answered:
        raise BadHttp(f"{request.url}: the answer is no HTTP ({tap.fault})") from error
    came = tap.exchange.response.size
    for cause in causes(error):
        if isinstance(cause, AddressRefused) and cause is not error:
            raise cause
        if isinstance(cause, SSL.Error) and not came:
            raise BadTls(f"{request.url}: no TLS connection ({cause})") from error
        if _is_handshake_cut(cause, tap):
            raise HandshakeCut(f"{request.url}: hung up before TLS was agreed upon") from error
        if isinstance(cause, ConnectionDone) and not tap.answered and _is_no_head(tap.exchange):
            raise BadHttp(f"{request.url}: closed after {came} bytes that are no answer") from error
    raise error


def _is_handshake_cut(cause: BaseException, tap: Tap) -> bool:
    """Return whether a connection was there and is gone before TLS was agreed upon."""
    if not tap.exchange.tls or tap.exchange.secured is not None:
        return False
    if isinstance(cause, ConnectError):  # reset so early that we have not seen it connected
        return bool(cause.osError == errno.ECONNRESET)
    return tap.connected and isinstance(cause, ConnectionLost | ConnectionDone)


def _is_no_head(exchange: Exchange) -> bool:
    """Return whether what came is more than the beginning of a head: no HTTP, or an
    interim answer.
    """
    opening = exchange.response.read(0, HEAD_LIMIT)
    begins = b"HTTP/".startswith(opening[:5].upper())
    return bool(opening) and (not begins or re.search(rb"\n\r?\n", opening) is not None)
