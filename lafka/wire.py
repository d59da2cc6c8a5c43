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

This rests on private names of Twisted and of Scrapy's handler (``_pool``, ``_factory``,
``_reactor``, ``_finishResponse``, ``_parser``); ``tests/test_wire.py`` watches them. Where one is
missing, an exchange is put together from Scrapy's request and response and says so.
"""

from __future__ import annotations

import logging
import re
import socket
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from http.client import responses
from math import inf
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urldefrag, urlsplit

from OpenSSL import SSL
from scrapy.exceptions import (
    DownloadCancelledError,
    DownloadTimeoutError,
    IgnoreRequest,
    StopDownload,
)
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.misc import build_from_crawler, load_object
from twisted.internet import tcp
from twisted.internet.abstract import isIPAddress, isIPv6Address
from twisted.internet.defer import Deferred, fail
from twisted.internet.endpoints import HostnameEndpoint, TCP4ClientEndpoint, TCP6ClientEndpoint
from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import (
    IHandshakeListener,
    IReactorPluggableNameResolver,
    IReactorTCP,
    IReactorTime,
)
from twisted.internet.protocol import Protocol
from twisted.internet.threads import deferToThread
from twisted.python.failure import Failure
from twisted.web._newclient import HTTP11ClientProtocol, HTTPClientParser, ParseError
from twisted.web.client import HTTPConnectionPool, ResponseDone
from twisted.web.http import _MalformedChunkedDataError
from twisted.web.iweb import UNKNOWN_LENGTH
from zope.interface import implementer

from lafka import certificates
from lafka.addresses import Network, is_allowed, literal, networks
from lafka.errors import BadHttp, BadUrl, SiteError, StorageTrouble
from lafka.exchanges import (
    OPENING,
    Exchange,
    Secured,
    Spool,
    Truncated,
    decoded_opening,
    kind_of_opening,
    without_secrets,
)
from lafka.futlis import LONGEST_URL
from lafka.politeness.failures import causes

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

EXCHANGE_KEY = "lafka_exchange"
"""Key of ``request.meta``: the Exchange of the last download of this request."""
TOO_BIG = "lafka-too-big"
"""Flag of a response whose body is, or was announced to be, over LAFKA_MAX_PAYLOAD."""
DROPPED = "lafka-dropped"
"""Flag of a response that was not read on because it is no PDF."""
SHORTENED = "lafka-shortened"
"""Flag of a response whose body is only the beginning of what the exchange holds."""

HEAD_LIMIT = 256 * 1024
"""Bytes that may come before the body, interim answers included; as much as Chrome takes."""
BODY_HANDED_ON = 64 * 1024
"""Bytes of a body that is no text that Scrapy gets to see."""
TEXT_HANDED_ON = 4 * 1024 * 1024
"""Bytes of a text body that Scrapy gets to see."""
PDF_END = 1024
"""Bytes at the end of a PDF among which is %%EOF (PDF 1.7, annex H.3, note 18)."""
RATE_WINDOW = 5
"""The minimum rate is looked at over so many stall timeouts: a pause is no slow answer yet."""


class AddressRefused(SiteError, IgnoreRequest):
    """The host's address is neither public nor in LAFKA_ALLOWED_NETWORKS; nothing was sent.

    Raised by the download handler. Being an IgnoreRequest it is neither retried nor an ERROR.
    """


class BadTls(SiteError):
    """No TLS connection came about, so nothing was asked: versions, ciphers, keys, no TLS at all.

    Raised by the download handler. Not retried: the next try would end the same way.
    """


class BadCertificate(BadTls):
    """LAFKA_TLS_STRICT, and the server's certificate is not to be trusted; nothing was sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long and how much is read. Sizes in bytes, times in seconds, 0 for no limit.

    ``rate`` is in bytes a second, over ``RATE_WINDOW`` times ``stall``.
    """

    payload: int = 0
    stall: float = 60.0
    rate: float = 0.0


class ExactDownloadHandler:
    """Downloads through another handler and leaves the exchange at ``meta["lafka_exchange"]``.

    It is there on success and on failure, and nothing is added to it once ``download_request``
    has returned or raised. Raises what the wrapped handler raises, and:

    - AddressRefused, BadTls and BadCertificate, see there;
    - BadHttp where the answer is no HTTP, or its head is over 256 KiB (not retried);
    - DownloadTimeoutError also where no byte came for LAFKA_STALL_TIMEOUT seconds, or in five
      times that fewer than LAFKA_MIN_RATE bytes a second;
    - StorageTrouble where the spool could not be written (not retried).
    """

    lazy = False

    def __init__(
        self,
        wrapped: Any,
        *,
        allowed: Sequence[Network] = (),
        limits: Limits | None = None,
        spool_dir: str | None = None,
        tls_strict: bool = False,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._wrapped = wrapped
        self._allowed = tuple(allowed)
        self._limits = limits or Limits()
        self._spool_dir = spool_dir
        self._tls_strict = tls_strict
        self._clock = clock
        self._hooked = _has_known_pool(wrapped)
        if self._hooked:
            _tee(wrapped._pool, self._allowed)
        else:
            _warn_once(f"{type(wrapped).__name__} has no connection pool that is known")

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
        )

    async def close(self) -> None:
        await self._wrapped.close()

    async def download_request(self, request: Request) -> Response:
        url = urldefrag(request.url)[0]
        exchange = Exchange(url=url, method=request.method, response=Spool(self._spool_dir))
        request.meta[EXCHANGE_KEY] = exchange
        await self._judge_early(request)
        miss_max = getattr(request.meta.get("lafka_ask"), "miss_max", 0)
        tap = _Tap(
            exchange,
            self._limits_of(request),
            self._clock,
            miss_max=miss_max,
            tls_strict=self._tls_strict,
        )
        token = _TAP.set(tap)
        try:
            response: Response = await self._wrapped.download_request(self._unlimited(request))
        except BaseException as error:
            tap.close(_reason_of(error))
            _raise_what_it_is(error, tap, request)
        finally:
            _TAP.reset(token)
        tap.close("length" if "download_stopped" in response.flags else None)
        if tap.error is not None:
            raise tap.error
        self._judge_late(tap, response)
        response.flags += tap.flags
        if exchange.started is None or not (exchange.ended or exchange.truncated):
            _put_together(exchange, request, response, self._clock())
        return response

    def _limits_of(self, request: Request) -> Limits:
        """The limits, with Scrapy's own ``download_maxsize`` of a request: robots.txt has one."""
        own = request.meta.get("download_maxsize") or self._limits.payload
        size = min(own, self._limits.payload or own)
        return replace(self._limits, payload=size)

    def _unlimited(self, request: Request) -> Request:
        """*request* without Scrapy's limit, which throws away what came: the tap cuts instead."""
        if not self._hooked or not request.meta.get("download_maxsize"):
            return request
        return request.replace(meta={**request.meta, "download_maxsize": 0})

    async def _judge_early(self, request: Request) -> None:
        """Refuse an address in the URL: a proxy would ask it for us.

        Where connections cannot be guarded, all addresses that the name has must be allowed. A URL
        can have become too long by being escaped, or by a redirect.
        """
        if len(request.url) > LONGEST_URL:
            raise BadUrl(f"a URL of {len(request.url)} bytes")
        host = urlsplit(request.url).hostname or ""
        address = literal(host)
        if address is not None and not is_allowed(address, self._allowed):
            raise AddressRefused(f"{request.url}: {address} is not a public address")
        if not self._hooked:
            await self._judge_name(request.meta.get("proxy") or request.url)

    async def _judge_name(self, url: str) -> None:
        host = urlsplit(url if "//" in url else f"//{url}").hostname or ""
        try:
            found = await maybe_deferred_to_future(deferToThread(socket.getaddrinfo, host, None))
        except OSError:
            return  # the wrapped handler will find the same and say it in its own words
        for *_, (address, *_) in found:
            if not is_allowed(str(address), self._allowed):
                raise AddressRefused(f"{url}: {address} is not a public address")

    def _judge_late(self, tap: _Tap, response: Response) -> None:
        """Refuse an answer that came by a connection that was not guarded, or not looked at."""
        if self._tls_strict and tap.exchange.tls and tap.exchange.secured is None:
            raise BadCertificate(f"{response.url}: the certificate could not be seen")
        address = response.ip_address
        if tap.guarded or (address is None and not self._hooked):
            return
        if address is None or not is_allowed(address, self._allowed):
            raise AddressRefused(f"{response.url}: came unguarded, from {address}")


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


def _raise_what_it_is(error: BaseException, tap: _Tap, request: Request) -> NoReturn:
    if tap.error is not None:
        raise tap.error from error
    came = tap.exchange.response.size
    for cause in causes(error):
        if isinstance(cause, AddressRefused) and cause is not error:
            raise cause
        if isinstance(cause, SSL.Error) and not came:
            raise BadTls(f"{request.url}: no TLS connection ({cause})") from error
        if isinstance(cause, _NO_HTTP) and came and not tap.answered:
            said = f"{type(cause).__name__} {cause}"[:200]
            raise BadHttp(f"{request.url}: the answer is no HTTP ({said})") from error
        if isinstance(cause, ConnectionDone) and not tap.answered and _is_no_head(tap.exchange):
            raise BadHttp(f"{request.url}: closed after {came} bytes that are no answer") from error
    raise error


def _is_no_head(exchange: Exchange) -> bool:
    """Whether what came is more than the beginning of a head: no HTTP, or an interim answer."""
    opening = exchange.response.read(0, HEAD_LIMIT)
    begins = b"HTTP/".startswith(opening[:5].upper())
    return bool(opening) and (not begins or re.search(rb"\n\r?\n", opening) is not None)


# What Twisted's parser raises: no status line, lengths that contradict each other, a transfer
# coding that is unknown, chunks without a length.
_NO_HTTP = (ParseError, ValueError, KeyError, _MalformedChunkedDataError)


class _Tap:
    """What binds an exchange to the connections that carry it, and stops them.

    *deferred* is the one of Scrapy's whole download: Twisted and Scrapy add to the one that
    ``getConnection`` returns. Cancelling it stops whatever is going on: the name's resolution,
    the connection, the wait for an answer, the body.
    """

    def __init__(
        self,
        exchange: Exchange,
        limits: Limits,
        clock: Callable[[], datetime],
        *,
        miss_max: int,
        tls_strict: bool = False,
    ) -> None:
        self.exchange = exchange
        self.limits = limits
        self.miss_max = miss_max
        self.tls_strict = tls_strict
        self.deferred: Deferred[Any] | None = None
        self.guarded = False
        self.flags: list[str] = []
        self.error: Exception | None = None
        self.answered = False
        self.halting = False
        self._clock = clock
        self._protocol: _Tee | None = None
        self._limiter: _Limiter | None = None
        self._written: list[bytes] = []
        self._receiving = False
        self._last = monotonic()
        self._window = self._last, 0  # when it began, and how much was there then
        self._timer: Any = None
        self._reactor: Any = None

    def connect(self, deferred: Deferred[Any], reactor: Any) -> Deferred[Any]:
        self.deferred = deferred
        self.guarded = True
        self._reactor = reactor
        if self.limits.stall:
            self._watch(self.limits.stall)
        return deferred.addCallback(self.bind)

    def bind(self, connection: Any) -> Any:
        """Hang on to the connection that the pool gave for this exchange."""
        protocol = getattr(connection, "_clientProtocol", connection)
        if protocol is not connection:  # a kept connection, with one silent retry if it is stale
            again = connection._newConnection
            connection._newConnection = lambda: again().addCallback(self.bind)
        if isinstance(protocol, _Tee):
            self.detach()
            self._protocol = protocol
            protocol.lafka_tap = self
        return connection

    def detach(self) -> None:
        protocol, self._protocol = self._protocol, None
        if protocol is not None and protocol.lafka_tap is self:  # not the next one's already
            protocol.lafka_tap = None

    def close(self, truncated: Truncated | None) -> None:
        """The download is over: an answer without an end is *truncated*."""
        self.detach()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        exchange = self.exchange
        exchange.request = without_secrets(b"".join(self._written))
        if exchange.started is not None and not exchange.ended and not exchange.truncated:
            exchange.truncated = truncated
        shortened = self._limiter is not None and self._limiter.shortened
        said = {TOO_BIG: exchange.too_big, DROPPED: exchange.dropped, SHORTENED: shortened}
        self.flags = [flag for flag, is_so in said.items() if is_so]
        # The spool goes when its last user lets go of it, not when cycles are looked for.
        self.deferred = self._limiter = None

    def begin(self, peer: Any, secured: Secured | None) -> None:
        self._written.clear()
        self._last = monotonic()
        self._window = self._last, 0
        self.exchange.begin(self._clock(), getattr(peer, "host", None), secured)

    def secure(self, connection: SSL.Connection) -> Secured:
        """The handshake is done; the request waits behind it, and stays here if it is refused."""
        exchange = self.exchange
        secured = exchange.secured = _secured(connection, urlsplit(exchange.url).hostname or "")
        if self.tls_strict and secured.certificate != certificates.OK:
            exchange.started = None
            self._written.clear()
            faults = ", ".join(secured.certificate)
            self.fail(BadCertificate(f"{exchange.url}: not to be trusted: {faults}"))
        return secured

    def wrote(self, data: bytes) -> None:
        self._written.append(data)

    def receive(self, data: bytes, deliver: Callable[[bytes], None]) -> None:
        try:
            self.exchange.response.append(data)
        except StorageTrouble as error:
            self.fail(error)
            return
        self._last = monotonic()
        self._receiving = True
        deliver(data)
        self._receiving = False
        if self.halting:
            self.halt()
        elif not self.answered and self.exchange.response.size > HEAD_LIMIT:
            self.fail(BadHttp(f"{self.exchange.url}: a head over {HEAD_LIMIT} bytes"), "length")

    def answer(self, response: Any) -> Any:
        """The head is there: stand between the body and who asked for it."""
        self.answered = True
        deliver = response.deliverBody

        def deliver_body(protocol: Protocol) -> None:
            del response.deliverBody
            self._limiter = _Limiter(self, response, protocol)
            if response.length is not UNKNOWN_LENGTH:
                self.refuse_bigger(response.length)
            deliver(self._limiter)
            if self.halting and not self._receiving:
                self.halt()

        response.deliverBody = deliver_body
        return response

    def refuse_bigger(self, size: int) -> None:
        if 0 < self.limits.payload < size:
            self.exchange.too_big = self.halting = True

    def halt(self) -> None:
        """Stop reading, and let Scrapy take what it has for the whole, so that nobody retries.

        Only once all that has arrived was parsed: it may have been the whole anyway.
        """
        protocol, limiter = self._protocol, self._limiter
        if protocol is None or limiter is None or self.exchange.ended:
            return
        self.exchange.truncated = "length"
        self.exchange.dropped = not self.exchange.too_big
        self.detach()
        limiter.connectionLost(_DONE)
        protocol.stop()

    def finish(self, rest: bytes, lost: Any) -> None:
        """The parser has seen the end of the answer; *rest* came after it."""
        exchange = self.exchange
        if lost is None:
            exchange.ended = "complete"
        elif lost.check(ConnectionDone):
            exchange.ended = "closed"
        else:
            self.lose(lost)
            if self._limiter is not None and self._limiter.is_pdf and self._ends_like_one():
                exchange.truncated = None  # reset where the end alone would have told: all is there
        if rest:
            try:
                exchange.response.trim(len(rest))
            except StorageTrouble as error:
                self.error = error

    def _ends_like_one(self) -> bool:
        response = self.exchange.response
        try:
            return b"%%EOF" in response.read(max(response.size - PDF_END, 0), PDF_END)
        except StorageTrouble as error:
            self.error = error
            return False

    def lose(self, reason: Any) -> None:
        """The connection is gone before the end of the answer."""
        exchange = self.exchange
        if reason.check(SSL.Error) and not exchange.response.size:
            exchange.started = None  # no handshake, so the request never left
            self._written.clear()
        else:
            exchange.ended = "cut"
            exchange.truncated = "disconnect"

    def fail(self, error: Exception, truncated: Truncated = "disconnect") -> None:
        """End the download with *error*."""
        self.error = error
        self.exchange.truncated = truncated if self.exchange.started else None
        self.detach()
        if self.deferred is not None:
            self.deferred.cancel()

    def _watch(self, seconds: float) -> None:
        self._timer = self._reactor.callLater(seconds, self._look)

    def _look(self) -> None:
        self._timer = None
        now = monotonic()
        idle = now - self._last
        if idle >= self.limits.stall:
            said = f"no byte for {self.limits.stall:g} seconds"
        elif (rate := self._rate(now)) < self.limits.rate:
            said = f"{rate:g} bytes a second, fewer than {self.limits.rate:g}"
        else:
            self._watch(self.limits.stall - idle)
            return
        self.fail(DownloadTimeoutError(f"{self.exchange.url}: {said}"), "time")

    def _rate(self, now: float) -> float:
        """Bytes a second over the window that has ended, infinite while none has."""
        begun, had = self._window
        if now - begun < RATE_WINDOW * self.limits.stall:
            return inf
        size = self.exchange.response.size
        self._window = now, size
        return (size - had) / (now - begun)


_DONE = Failure(ResponseDone("the rest is not wanted"))  # type: ignore[no-untyped-call]
_TAP: ContextVar[_Tap | None] = ContextVar("lafka_tap", default=None)


def _secured(connection: SSL.Connection, host: str) -> Secured:
    return Secured(
        protocol=certificates.protocol_name(connection.get_protocol_version_name()),
        cipher=certificates.suite_name(connection.get_cipher_name() or ""),
        certificate=certificates.verdict(connection.get_peer_cert_chain() or (), host),
    )


@implementer(IHandshakeListener)
class _Tee(HTTP11ClientProtocol):
    """Put before the class of the pool's own protocols: all that passes goes to the tap too."""

    lafka_tap: _Tap | None = None
    lafka_secured: Secured | None = None
    lafka_lost: Failure | None = None
    transport: Any

    def request(self, request: Any) -> Deferred[Any]:
        tap = self.lafka_tap
        if tap is None:
            return super().request(request)
        tap.begin(self.transport.getPeer(), self.lafka_secured)
        write_to = request.writeTo
        request.writeTo = lambda transport: write_to(_Writer(transport, tap))
        deferred = super().request(request)
        del request.writeTo  # a silent retry brings the same object again
        parser: Any = self._parser
        if parser is not None:
            parser.__class__ = _patient(parser.__class__)
        return deferred.addCallback(tap.answer)

    def handshakeCompleted(self) -> None:  # noqa: N802
        tap = self.lafka_tap
        if tap is not None:
            self.lafka_secured = tap.secure(self.transport.getHandle())

    def stop(self) -> None:
        self.transport.abortConnection()

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        parent: Any = super()
        tap = self.lafka_tap
        if tap is None:
            parent.dataReceived(data)
            return
        tap.receive(data, parent.dataReceived)
        if self._parser is None:  # it gave up: what still comes is nobody's
            self.lafka_tap = None

    def _finishResponse(self, rest: bytes) -> None:  # noqa: N802
        tap = self.lafka_tap
        if tap is not None:
            tap.finish(rest, self.lafka_lost)
            self.lafka_tap = None
        if rest and self._currentRequest is not None:
            # Who sends more than was asked for may do so again: such bytes would be taken for
            # the next answer, so the connection is not kept.
            self._currentRequest.persistent = False
        super()._finishResponse(rest)

    def connectionLost(self, reason: Failure = _DONE) -> None:  # noqa: N802
        parent: Any = super()
        self.lafka_lost = reason
        parent.connectionLost(reason)
        tap = self.lafka_tap
        if tap is not None:
            self.lafka_tap = None
            tap.lose(reason)


class _PatientParser(HTTPClientParser):
    """Takes header lines up to the limit of the head, and skips names that are no token."""

    MAX_LENGTH = HEAD_LIMIT

    def headerReceived(self, name: bytes, value: bytes) -> None:  # noqa: N802
        parent: Any = super()
        if name.lower() == b"transfer-encoding" and value.strip().lower() == b"identity":
            return  # of RFC 2616; it says nothing, but Twisted takes it for unknown
        try:
            parent.headerReceived(name, value)
        except ValueError:  # Twisted's InvalidHeaderName; curl and browsers go on
            if name != name.rstrip():
                self.headerReceived(name.rstrip(), value)


@cache
def _patient(parser: Any) -> Any:
    return type(f"Patient{parser.__name__}", (_PatientParser, parser), {})


@cache
def _teed(protocol: Any) -> Any:
    return type(f"Teed{protocol.__name__}", (_Tee, protocol), {})


class _Writer:
    """A transport that notes what a request writes to it."""

    def __init__(self, transport: Any, tap: _Tap) -> None:
        self._transport = transport
        self._tap = tap

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        self._tap.wrote(data)
        self._transport.write(data)

    def writeSequence(self, parts: Sequence[bytes]) -> None:  # noqa: N802
        self.write(b"".join(parts))


class _Limiter:
    """Stands before the protocol that reads a body for Scrapy, and hands on its beginning."""

    def __init__(self, tap: _Tap, response: Any, reader: Any) -> None:
        self.shortened = False
        self.is_pdf = False
        self._tap = tap
        self._headers = response.headers
        self._reader = reader
        self._opening: bytes | None = b""  # None once it has told what the body is
        self._size = 0
        self._left = BODY_HANDED_ON
        self._read_max = 0  # bytes after which this body is not read on; 0 to its end

    def makeConnection(self, transport: Any) -> None:  # noqa: N802
        self._reader.makeConnection(transport)

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        if self._opening is not None:
            self._look(self._opening + data)
        self._size += len(data)
        self._tap.refuse_bigger(self._size)
        if 0 < self._read_max <= self._size:
            self._tap.halting = True
        if self._left and self._reader is not None:
            self._reader.dataReceived(data[: self._left])
        if len(data) > self._left:
            self.shortened = True
        self._left = max(self._left - len(data), 0)

    def _look(self, data: bytes) -> None:
        """What a body is decides how much of it is handed on, or even read."""
        opening = decoded_opening(data, self._field(b"Content-Encoding"))
        kind = kind_of_opening(opening, self._field(b"Content-Type"))
        self.is_pdf = kind == "pdf"
        self._left = max((TEXT_HANDED_ON if kind == "text" else BODY_HANDED_ON) - self._size, 0)
        certain = opening is None or kind == "pdf" or len(opening) >= OPENING
        self._opening = None if certain or len(data) >= BODY_HANDED_ON else data
        if certain and kind in ("text", "binary"):
            # A page can be a viewer that leads on; anything else that is no PDF is a miss.
            self._read_max = self._tap.miss_max if kind == "text" else self._tap.miss_max and 1

    def _field(self, name: bytes) -> str:
        return b",".join(self._headers.getRawHeaders(name, ())).decode("latin-1")

    def connectionLost(self, reason: Failure) -> None:  # noqa: N802
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.connectionLost(reason)


def _has_known_pool(handler: Any) -> bool:
    return isinstance(getattr(handler, "_pool", None), HTTPConnectionPool)


def _tee(pool: Any, allowed: Sequence[Network]) -> None:
    """Tee and guard every connection that *pool* makes."""
    get_connection, make_factory = pool.getConnection, pool._factory
    guards: dict[Any, _GuardedReactor] = {}

    def getConnection(key: Any, endpoint: Any) -> Deferred[Any]:  # noqa: N802
        try:
            _guard(endpoint, guards, allowed)
        except AddressRefused:
            return fail()
        tap = _TAP.get()
        _TAP.set(None)  # what is begun below keeps its context as long as the connection lives
        deferred = get_connection(key, endpoint)
        return deferred if tap is None else tap.connect(deferred, pool._reactor)

    def factory(*args: Any) -> Any:
        made = make_factory(*args)
        build = made.buildProtocol

        def buildProtocol(address: Any) -> Any:  # noqa: N802
            protocol = build(address)
            protocol.__class__ = _teed(protocol.__class__)
            return protocol

        made.buildProtocol = buildProtocol
        return made

    pool.getConnection, pool._factory = getConnection, factory


def _guard(endpoint: Any, guards: dict[Any, _GuardedReactor], allowed: Sequence[Network]) -> None:
    """Have *endpoint* connect through a guarded reactor. Raises AddressRefused if it cannot."""
    while hasattr(endpoint, "_wrappedEndpoint"):  # TLS
        endpoint = endpoint._wrappedEndpoint
    known = (HostnameEndpoint, TCP4ClientEndpoint, TCP6ClientEndpoint)
    if not isinstance(endpoint, known) or not hasattr(endpoint, "_reactor"):
        raise AddressRefused(f"{type(endpoint).__name__} cannot be guarded")
    reactor = endpoint._reactor
    if not isinstance(reactor, _GuardedReactor):
        guard = guards.get(reactor) or _GuardedReactor(reactor, allowed)
        endpoint._reactor = guards[reactor] = guard


@implementer(IReactorPluggableNameResolver, IReactorTCP, IReactorTime)
class _GuardedReactor:
    """A reactor that makes TCP connections to allowed addresses and no other connections.

    What it judges is what it connects to, so a name that resolves otherwise the next time (DNS
    rebinding) does not get past it.
    """

    def __init__(self, reactor: Any, allowed: Sequence[Network]) -> None:
        self._reactor = reactor
        self._allowed = tuple(allowed)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("connect"):
            raise AddressRefused(f"{name}: only TCP connections can be guarded")
        return getattr(self._reactor, name)

    def connectTCP(  # noqa: N802
        self,
        host: str,
        port: int,
        factory: Any,
        timeout: float = 30,
        bindAddress: Any = None,  # noqa: N803
    ) -> Any:
        if isIPAddress(host) or isIPv6Address(host):
            self._judge(host)
            return self._reactor.connectTCP(host, port, factory, timeout, bindAddress)
        # a name, as of a proxy: the connector asks us to resolve it
        connector = tcp.Connector(host, port, factory, timeout, bindAddress, self)
        connector.connect()
        return connector

    def resolve(self, name: str, *args: Any) -> Deferred[str]:
        resolved: Deferred[str] = self._reactor.resolve(name, *args)
        return resolved.addCallback(self._judge)

    def _judge(self, address: str) -> str:
        if not is_allowed(address, self._allowed):
            raise AddressRefused(f"{address} is not a public address")
        return address


_warned: set[str] = set()


def _warn_once(reason: str) -> None:
    if not _warned:
        logger.warning("Captures are not byte-exact in this run: %s", reason)
    _warned.add(reason)


def _put_together(exchange: Exchange, request: Request, response: Response, now: datetime) -> None:
    """Fill *exchange* from Scrapy's request and response: valid HTTP, not what the wire carried.

    The body is not chunked any more, so Transfer-Encoding goes and Content-Length is the body's.
    """
    _warn_once("the connection could not be seen")
    exchange.exact = False
    address = response.ip_address
    exchange.begin(exchange.started or now, None if address is None else str(address))
    exchange.ended = "complete"
    exchange.request = without_secrets(_request_bytes(request))
    exchange.response.append(_response_head(request, response) + response.body)


def _request_bytes(request: Request) -> bytes:
    url = urlsplit(request.url)
    target = (url.path or "/") + (f"?{url.query}" if url.query else "")
    lines = [f"{request.method} {target} HTTP/1.1".encode()]
    if b"Host" not in request.headers:
        lines.append(f"Host: {url.netloc.rpartition('@')[2]}".encode())
    if request.body and b"Content-Length" not in request.headers:
        lines.append(b"Content-Length: %d" % len(request.body))
    return _head(lines, request.headers, ()) + request.body


def _response_head(request: Request, response: Response) -> bytes:
    status = response.status
    phrase = responses.get(status, "")
    lines = [f"{response.protocol or 'HTTP/1.1'} {status} {phrase}".encode()]
    if request.method == "HEAD" or status in (204, 304):
        return _head(lines, response.headers, (b"transfer-encoding",))
    lines.append(b"Content-Length: %d" % len(response.body))
    return _head(lines, response.headers, (b"transfer-encoding", b"content-length"))


def _head(lines: list[bytes], headers: Any, left_out: tuple[bytes, ...]) -> bytes:
    for name, values in headers.items():
        if name.lower() not in left_out:
            lines += [name + b": " + value for value in values]
    return b"\r\n".join([*lines, b"", b""])
