"""The tap: what binds an exchange to the connections that carry it, and stops them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from math import inf
from time import monotonic
from typing import Any, Protocol
from urllib.parse import urlsplit

from OpenSSL import SSL
from scrapy.exceptions import DownloadFailedError, DownloadTimeoutError
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone
from twisted.python.failure import Failure
from twisted.web.client import ResponseDone
from twisted.web.iweb import UNKNOWN_LENGTH

from lafka.capture import certificates
from lafka.capture.exchanges import (
    OPENING,
    Exchange,
    Secured,
    Truncated,
    decoded_opening,
    kind_of_opening,
    without_secrets,
)
from lafka.capture.sinks import BodySink
from lafka.errors import BadHttp, SiteError, StorageTrouble
from lafka.warc.format.fields import Fields
from lafka.warc.format.http import head

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


class BadTls(SiteError):
    """No TLS connection came about, so nothing was asked: versions, ciphers, keys, no TLS at all.

    Raised by the download handler. Not retried: the next try would end the same way.
    """


class HandshakeCut(BadTls, DownloadFailedError):
    """The other side hung up before TLS was agreed upon; servers of TLS 1.0 alone do so.

    Raised by the download handler. Retried, unlike others: a server may have been starting.
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


class Teed(Protocol):
    """A connection of a pool that is teed (:mod:`lafka.capture.tee`)."""

    lafka_tap: Tap | None

    def stop(self) -> None:
        """Break it off."""


class Tap:
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
        sink: BodySink | None = None,
        whole: bool = False,
    ) -> None:
        self.whole = whole
        self.exchange = exchange
        self.sink = sink
        self.paused = False
        self._past = 0
        self.limits = limits
        self.miss_max = miss_max
        self.tls_strict = tls_strict
        self.deferred: Deferred[Any] | None = None
        self.guarded = False
        self.connected = False
        self.flags: list[str] = []
        self.error: Exception | None = None
        self.answered = False
        self.halting = False
        self._clock = clock
        self._protocol: Teed | None = None
        self._limiter: Limiter | None = None
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
        self.connected = True
        protocol = getattr(connection, "_clientProtocol", connection)
        if protocol is not connection:  # a kept connection, with one silent retry if it is stale
            again = connection._newConnection
            connection._newConnection = lambda: again().addCallback(self.bind)
        if hasattr(protocol, "lafka_tap"):
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
        exchange.request = without_secrets(b"".join(self._written), exchange.secrets)
        if exchange.started is not None and not exchange.ended and not exchange.truncated:
            exchange.truncated = truncated
        shortened = self._limiter is not None and self._limiter.shortened
        self._trim_to_head()
        said = {TOO_BIG: exchange.too_big, DROPPED: exchange.dropped, SHORTENED: shortened}
        self.flags = [flag for flag, is_so in said.items() if is_so]
        # The spool goes when its last user lets go of it, not when cycles are looked for.
        self.deferred = self._limiter = None

    def _trim_to_head(self) -> None:
        """Of a body that went to a sink, what came with the head stands in the spool."""
        exchange = self.exchange
        if not exchange.diverted:
            return
        with suppress(BadHttp, StorageTrouble):
            exchange.response.trim(exchange.response.size - head(exchange.response).end)
        exchange.truncated = exchange.truncated or "length"

    def begin(self, peer: Any, secured: Secured | None) -> None:
        self._written.clear()
        self._past = 0
        self.exchange.diverted = False
        self._last = monotonic()
        self._window = self._last, 0
        self.exchange.begin(self._clock(), getattr(peer, "host", None), secured)

    def secure(self, connection: SSL.Connection) -> Secured:
        """The handshake is done; the request waits behind it, and stays here if it is refused."""
        exchange = self.exchange
        try:
            secured = _secured(connection, urlsplit(exchange.url).hostname or "")
        except OSError as error:  # whom we trust could not be read
            self.fail(StorageTrouble(error.filename or "the trusted certificates", error))
            return Secured(protocol="", cipher="", certificate=())
        exchange.secured = secured
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
            if self.exchange.diverted:
                self._past += len(data)
            else:
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
        if self.sink is not None:
            self.exchange.diverted = self.sink.wants(response.code, _fields(response))
        deliver = response.deliverBody

        def deliver_body(reader: Any) -> None:
            del response.deliverBody
            self._limiter = Limiter(self, response, reader)
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
        limiter.connectionLost(DONE)
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
        if rest and not exchange.diverted:
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
        if self.paused:  # the disk is what is slow
            self._last = now
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
        size = self.exchange.response.size + self._past
        self._window = now, size
        if self.paused:
            return inf
        return (size - had) / (now - begun)


DONE = Failure(ResponseDone("the rest is not wanted"))  # type: ignore[no-untyped-call]
"""How a connection ends that nobody reads on from."""


def _fields(response: Any) -> Fields:
    """The fields of the head, as Twisted has them."""
    return Fields(
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, values in response.headers.getAllRawHeaders()
        for value in values
    )


def _secured(connection: SSL.Connection, host: str) -> Secured:
    return Secured(
        protocol=certificates.protocol_name(connection.get_protocol_version_name()),
        cipher=certificates.suite_name(connection.get_cipher_name() or ""),
        certificate=certificates.verdict(connection.get_peer_cert_chain() or (), host),
    )


class Limiter:
    """Stands before the protocol that reads a body for Scrapy, and hands on its beginning."""

    def __init__(self, tap: Tap, response: Any, reader: Any) -> None:
        self.shortened = False
        self.is_pdf = False
        self._tap = tap
        self._headers = response.headers
        self._reader = reader
        self._opening: bytes | None = b""  # None once it has told what the body is
        self._size = 0
        self._left = sys.maxsize if tap.whole else BODY_HANDED_ON
        self._read_max = 0  # bytes after which this body is not read on; 0 to its end
        self._transport: Any = None

    def makeConnection(self, transport: Any) -> None:  # noqa: N802
        self._transport = transport
        tap = self._tap
        if tap.exchange.diverted and tap.sink is not None:
            tap.sink.begin(self._pause, self._resume)
        self._reader.makeConnection(transport)

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        if self._opening is not None:
            self._look(self._opening + data)
        self._size += len(data)
        self._sink(data)
        self._tap.refuse_bigger(self._size)
        if 0 < self._read_max <= self._size:
            self._tap.halting = True
        if self._left and self._reader is not None:
            self._reader.dataReceived(data[: self._left])
        if len(data) > self._left:
            self.shortened = True
        self._left = max(self._left - len(data), 0)

    def _pause(self) -> None:
        self._tap.paused = True
        self._transport.pauseProducing()

    def _resume(self) -> None:
        self._tap.paused = False
        if self._reader is not None:
            self._transport.resumeProducing()

    def _sink(self, data: bytes) -> None:
        tap = self._tap
        try:
            if tap.exchange.diverted and tap.sink is not None:
                tap.sink.receive(data)
        except StorageTrouble as error:
            tap.fail(error)

    def _look(self, data: bytes) -> None:
        """What a body is decides how much of it is handed on, or even read."""
        opening = decoded_opening(data, self._field(b"Content-Encoding"))
        kind = kind_of_opening(opening, self._field(b"Content-Type"))
        self.is_pdf = kind == "pdf"
        if not self._tap.whole:
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
