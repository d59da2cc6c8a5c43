"""A download handler that keeps what the wire carried.

Scrapy hands on parsed headers and a decoded body; case, order and spacing of header lines, the
reason phrase, interim answers, chunk framing, trailers and whatever came before a cut are gone by
then. So :class:`ExactDownloadHandler` wraps the configured handler and tees its connections::

    Scrapy  <-  wrapped handler  <-  limiter  <-  Twisted's parser  <-  tee  <-  TLS  <-  TCP
                                                                         |
                                                                       Exchange

Twisted never pipelines, so between ``request()`` and ``_finishResponse(rest)`` of a connection
every byte on it belongs to one exchange, and *rest* does not. A contextvar carries the exchange
from ``download_request`` to the pool's ``getConnection``, which runs in the same call. The limiter
gives Scrapy only as much of a body as anyone reads from it; the exchange gets all.

What is done to Twisted's connections is :mod:`lafka.capture.tee`'s, and which addresses they may go
to, :mod:`lafka.capture.guard`'s. A handler whose pool is another one cannot be teed, and is
refused.
"""

from __future__ import annotations

import errno
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urldefrag, urlsplit

from OpenSSL import SSL
from scrapy.exceptions import (
    DownloadCancelledError,
    DownloadTimeoutError,
    NotConfigured,
    StopDownload,
)
from scrapy.utils.misc import build_from_crawler, load_object
from twisted.internet.error import ConnectError, ConnectionDone, ConnectionLost
from twisted.web._newclient import ParseError
from twisted.web.client import HTTPConnectionPool
from twisted.web.http import _MalformedChunkedDataError

from lafka.capture.addresses import Network, is_allowed, literal, networks
from lafka.capture.exchanges import (
    Exchange,
    Spool,
    Truncated,
)
from lafka.capture.guard import AddressRefused
from lafka.capture.inflight import InFlight
from lafka.capture.taps import (
    HEAD_LIMIT,
    BadCertificate,
    BadTls,
    HandshakeCut,
    Limits,
    Tap,
)
from lafka.capture.tee import TAP, tee
from lafka.errors import BadHttp, BadUrl
from lafka.politeness.failures import causes
from lafka.urls import LONGEST_URL

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

EXCHANGE_KEY = "lafka_exchange"
"""Key of ``request.meta``: the Exchange of the last download of this request."""
READ_MAX_KEY = "lafka_read_max"
"""Key of ``request.meta``: bytes after which a body that is no PDF is not read on; 0 to its end."""
SECRETS_KEY = "lafka_secrets"
"""Key of ``request.meta``: names of header fields, small letters, whose values no record shows."""
SINK_KEY = "lafka_sink"
"""Key of ``request.meta``: a BodySink that takes the body past the raw WARC."""
CANNOT_BE_TEED = "its connections cannot be teed, so nothing could be kept as the wire carried it"


class ExactDownloadHandler:
    """Downloads through another handler and leaves the exchange at ``meta["lafka_exchange"]``.

    It is there on success and on failure, and nothing is added to it once ``download_request``
    has returned or raised. Raises what the wrapped handler raises, and:

    - AddressRefused, BadTls, HandshakeCut and BadCertificate, see there;
    - BadHttp where the answer is no HTTP, or its head is over 256 KiB (not retried);
    - DownloadTimeoutError also where no byte came for LAFKA_STALL_TIMEOUT seconds, or in five
      times that fewer than LAFKA_MIN_RATE bytes a second;
    - StorageTrouble where the spool could not be written (not retried);
    - Stopped where the crawl stops; an answer that was cut for it is truncated, ``time``.
    """

    lazy = False
    whole = False
    """Whether bodies are handed on to their ends, and not only as much of them as anyone reads."""

    def __init__(
        self,
        wrapped: Any,
        *,
        allowed: Sequence[Network] = (),
        limits: Limits | None = None,
        spool_dir: str | None = None,
        tls_strict: bool = False,
        in_flight: InFlight | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._wrapped = wrapped
        self._in_flight = in_flight or InFlight()
        self._allowed = tuple(allowed)
        self._limits = limits or Limits()
        self._spool_dir = spool_dir
        self._tls_strict = tls_strict
        self._clock = clock
        if not isinstance(getattr(wrapped, "_pool", None), HTTPConnectionPool):
            raise NotConfigured(f"{type(wrapped).__name__}: {CANNOT_BE_TEED}")
        tee(wrapped._pool, self._allowed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ExactDownloadHandler:
        settings = crawler.settings
        path = settings.get(
            "LAFKA_DOWNLOAD_HANDLER", "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler"
        )
        return cls(
            build_from_crawler(load_object(path), crawler),
            allowed=networks(settings.getlist("LAFKA_ALLOWED_NETWORKS")),
            limits=Limits(
                payload=settings.getint("LAFKA_MAX_PAYLOAD"),
                stall=settings.getfloat("LAFKA_STALL_TIMEOUT", 60.0),
                rate=settings.getfloat("LAFKA_MIN_RATE"),
            ),
            spool_dir=_spool_dir(settings),
            tls_strict=settings.getbool("LAFKA_TLS_STRICT"),
            in_flight=InFlight.from_crawler(crawler),
        )

    async def close(self) -> None:
        await self._wrapped.close()

    async def download_request(self, request: Request) -> Response:
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
        miss_max = request.meta.get(READ_MAX_KEY, 0)
        tap = Tap(
            exchange,
            self._limits_of(request),
            self._clock,
            miss_max=miss_max,
            tls_strict=self._tls_strict,
            sink=request.meta.get(SINK_KEY),
            whole=self.whole,
        )
        token = TAP.set(tap)
        try:
            with self._in_flight.one(tap):
                response: Response = await self._wrapped.download_request(self._unlimited(request))
        except BaseException as error:
            tap.close(_reason_of(error))
            _raise_what_it_is(error, tap, request)
        finally:
            TAP.reset(token)
        tap.close("length" if "download_stopped" in response.flags else None)
        if tap.error is not None:
            raise tap.error
        self._judge_connection(tap, response)
        response.flags += tap.flags
        return response

    def _limits_of(self, request: Request) -> Limits:
        """The limits, with Scrapy's own ``download_maxsize`` of a request: robots.txt has one."""
        own = request.meta.get("download_maxsize") or self._limits.payload
        sunk = SINK_KEY in request.meta  # past the raw WARC, so its limit does not bind
        size = own if sunk else min(own, self._limits.payload or own)
        return replace(self._limits, payload=size)

    def _unlimited(self, request: Request) -> Request:
        """*request* without Scrapy's limit, which throws away what came: the tap cuts instead."""
        if not request.meta.get("download_maxsize"):
            return request
        return request.replace(meta={**request.meta, "download_maxsize": 0})

    def _judge_url(self, request: Request) -> None:
        """Refuse an address in the URL: a proxy would ask it for us.

        A URL can have become too long by being escaped, or by a redirect.
        """
        if len(request.url) > LONGEST_URL:
            raise BadUrl(f"a URL of {len(request.url)} bytes")
        address = literal(urlsplit(request.url).hostname or "")
        if address is not None and not is_allowed(address, self._allowed):
            raise AddressRefused(f"{request.url}: {address} is not a public address")

    def _judge_connection(self, tap: Tap, response: Response) -> None:
        """Refuse an answer that came by a connection that was not guarded, or not looked at."""
        exchange = tap.exchange
        if self._tls_strict and exchange.tls and exchange.secured is None:
            raise BadCertificate(f"{response.url}: the certificate could not be seen")
        seen = exchange.started and (exchange.ended or exchange.truncated)
        if not tap.guarded or not seen:
            raise AddressRefused(f"{response.url}: came by a connection that was not looked at")


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
    if tap.error is not None:
        raise tap.error from error
    came = tap.exchange.response.size
    for cause in causes(error):
        if isinstance(cause, AddressRefused) and cause is not error:
            raise cause
        if isinstance(cause, SSL.Error) and not came:
            raise BadTls(f"{request.url}: no TLS connection ({cause})") from error
        if _is_handshake_cut(cause, tap):
            raise HandshakeCut(f"{request.url}: hung up before TLS was agreed upon") from error
        if isinstance(cause, _NO_HTTP) and came and not tap.answered:
            said = f"{type(cause).__name__} {cause}"[:200]
            raise BadHttp(f"{request.url}: the answer is no HTTP ({said})") from error
        if isinstance(cause, ConnectionDone) and not tap.answered and _is_no_head(tap.exchange):
            raise BadHttp(f"{request.url}: closed after {came} bytes that are no answer") from error
    raise error


def _is_handshake_cut(cause: BaseException, tap: Tap) -> bool:
    """Whether a connection was there and is gone before TLS was agreed upon."""
    if not tap.exchange.tls or tap.exchange.secured is not None:
        return False
    if isinstance(cause, ConnectError):  # reset so early that we have not seen it connected
        return bool(cause.osError == errno.ECONNRESET)
    return tap.connected and isinstance(cause, ConnectionLost | ConnectionDone)


def _is_no_head(exchange: Exchange) -> bool:
    """Whether what came is more than the beginning of a head: no HTTP, or an interim answer."""
    opening = exchange.response.read(0, HEAD_LIMIT)
    begins = b"HTTP/".startswith(opening[:5].upper())
    return bool(opening) and (not begins or re.search(rb"\n\r?\n", opening) is not None)


# What Twisted's parser raises: no status line, lengths that contradict each other, a transfer
# coding that is unknown, chunks without a length.
_NO_HTTP = (ParseError, ValueError, KeyError, _MalformedChunkedDataError)
