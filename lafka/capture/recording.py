"""One exchange while it is on the wire: its bytes are recorded as they pass, and can be cut off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from OpenSSL import SSL
from scrapy.exceptions import (
    DownloadCancelledError,
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
    StopDownload,
)
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone
from twisted.python.failure import Failure
from twisted.web.client import ResponseFailed, ResponseNeverReceived

from lafka.capture import certificates
from lafka.capture.client.answers import AnswerHead, AnswerReader, BodyCollector, Piece
from lafka.capture.exchanges import BodySink, Exchange, TlsSession, Truncated, without_secrets
from lafka.capture.request_options import Carrier, RequestOptions
from lafka.errors import BadHttp, SiteError, StorageTrouble
from lafka.warc.format.fields import Fields

TOO_BIG = "lafka-too-big"
"""Flag of a response whose body is, or was announced to be, over LAFKA_MAX_PAYLOAD."""
DROPPED = "lafka-dropped"
"""Flag of a response that was not read on because it is no PDF."""
SHORTENED = "lafka-shortened"
"""Flag of a response whose body is only the beginning of what the exchange holds."""

HEAD_LIMIT = 256 * 1024
"""Bytes that may come before the body, interim answers included; as much as Chrome takes."""
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


class ClaimLost(Exception):
    """The host may be another worker's by now, so nothing was written: it is claimed again."""


class UnaskedBytes(SiteError, DownloadFailedError):
    """More came than was asked for, or before it was: whose answer it is is in doubt.

    Raised by the download handler. Retried, on a connection that carries this request alone.
    """


class BrokenCoding(Exception):
    """The transfer coding of a body contradicts itself: behind a ResponseDataLossError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingLimits:
    """Limits of time and bytes of a reading. Sizes in bytes, times in seconds, 0 for no limit.

    ``rate`` is in bytes a second, over ``RATE_WINDOW`` times ``stall``; ``whole`` bounds all of
    a download, from the name's resolution on.
    """

    payload: int = 0
    stall: float = 60.0
    rate: float = 0.0
    whole: float = 0.0


class Tap:
    """The tie of an exchange to the connections that carry it, which can stop them.

    ``head`` and ``beginning`` are what Scrapy gets, with ``marks``, its own flags; ``stopped``:
    somebody's signal ended the download. ``flags`` are ours, once it is closed. ``error`` is what
    ended it here, ``fault`` why what came is no answer, or no body.
    """

    def __init__(
        self,
        exchange: Exchange,
        limits: ReadingLimits,
        clock: Callable[[], datetime],
        *,
        miss_max: int,
        tls_strict: bool = False,
        sink: BodySink | None = None,
        whole: bool = False,
        options: RequestOptions | None = None,
    ) -> None:
        self.exchange = exchange
        self.sink = sink
        self.paused = False
        self.limits = limits
        self.miss_max = miss_max
        self.tls_strict = tls_strict
        self.whole = whole
        self.connected = False
        self.flags: list[str] = []
        self.marks: list[str] = []
        self.stopped: StopDownload | None = None
        self.error: Exception | None = None
        self.fault = ""
        self.head: AnswerHead | None = None
        self.beginning: BodyCollector | None = None
        self.halting = False
        self.may_send: Callable[[], bool] | None = None
        self._over: Deferred[None] | None = None
        self._options = options
        self._clock = clock
        self._past = 0
        self._connection: Carrier | None = None
        self._connecting: Deferred[Any] | None = None
        self._written: list[bytes] = []
        self._begun = self._last = monotonic()
        self._window = self._last, 0  # when it began, and how much was there then
        self._timer: Any = None
        self._reactor: Any = None

    @property
    def answered(self) -> bool:
        return self.head is not None

    # ---- From the first step to the last

    def watch(self, reactor: Any) -> Deferred[None]:
        """Look from now on whether it moves, with *reactor*'s clock.

        What is returned fires once an answer is there, whole or taken for whole, and fails with
        what kept it from coming. Cancelling it stops whatever is going on: the name's resolution,
        the connection, the wait for an answer, the body.
        """
        self._reactor = reactor
        over: Deferred[None] = Deferred(lambda _: self._stop())
        self._over = over
        self._look()
        return over

    def wait_for(self, connecting: Deferred[Any]) -> None:
        """A connection is being made."""
        self._connecting = connecting

    def unreachable(self, failure: Failure) -> None:
        """None came about, or nothing can be asked on it: a disk that refuses the spool."""
        self._connecting = None
        self._fail_with(failure)

    def begin(self, connection: Carrier, peer: str, secured: TlsSession | None) -> None:
        """The request is about to be written to *connection*; nothing of an earlier try counts."""
        self._connecting = None
        self._connection = connection
        self.connected = True
        self._written.clear()
        self._past = 0
        self.exchange.diverted = False
        self._last = monotonic()
        self._window = self._last, 0
        self.exchange.begin(self._clock(), peer, secured, connection.place)

    def secure(self, connection: SSL.Connection) -> TlsSession:
        """The handshake is done; the request waits behind it, and stays here if it is refused."""
        exchange = self.exchange
        try:
            secured = _secured(connection, urlsplit(exchange.url).hostname or "")
        except OSError as error:  # whom we trust could not be read
            self.fail(StorageTrouble(error.filename or "the trusted certificates", error))
            return TlsSession(protocol="", cipher="", certificate=())
        exchange.secured = secured
        if self.tls_strict and secured.certificate != certificates.OK:
            faults = ", ".join(secured.certificate)
            self.refuse(BadCertificate(f"{exchange.url}: not to be trusted: {faults}"))
        return secured

    def refuse(self, error: Exception) -> None:
        """End the download with *error* before its request, which waits, has left."""
        self.exchange.started = None
        self._written.clear()
        self.fail(error)

    def wrote(self, data: bytes) -> None:
        self._written.append(data)

    def receive(self, data: bytes, reader: AnswerReader, pieces: Sequence[Piece]) -> None:
        """*data* came, and *reader* has made *pieces* of a body of it."""
        self._last = monotonic()
        first = self.head is None and reader.head is not None
        if first:
            self.head = head = reader.head
            assert head is not None
            if self.sink is not None:
                self.exchange.diverted = self.sink.wants(head.status, _as_fields(head))
        try:
            self._keep(data, reader, first)
        except StorageTrouble as error:
            self.fail(error)
            return
        if first:
            self._open()
        for piece in pieces:
            if self._connection is None or self.beginning is None:
                return
            self._take(piece, self.beginning)

    def _keep(self, data: bytes, reader: AnswerReader, first: bool) -> None:
        """Keep what belongs to the exchange, but for a body that goes to a sink."""
        response = self.exchange.response
        if not self.exchange.diverted:
            response.append(data[: -reader.rest] if reader.rest else data)
            return
        begin = reader.begin if first else 0
        if begin:
            response.append(data[:begin])
        self._past += len(data) - begin

    def _open(self) -> None:
        """The head is there: what it says of the body decides whether that is read."""
        head, options, connection = self.head, self._options, self._connection
        assert head is not None
        try:
            if options is not None and connection is not None:
                self.stopped = options.begin(head, connection)
            if self.stopped is not None:
                self._stop()
                self._finish()
            if self.stopped is not None or head.length == 0:
                return
            if options is not None:
                options.announce(head.length)
        except DownloadCancelledError as error:
            self._stop()
            self._fail_with(error)
            return
        self.beginning = BodyCollector(head, whole=self.whole, miss_max=self.miss_max)
        if head.length is not None:
            self._refuse_bigger(head.length)
        if self.exchange.diverted and self.sink is not None:
            self.sink.begin(self._pause, self._resume)

    def _take(self, piece: Piece, beginning: BodyCollector) -> None:
        kept = beginning.take(piece)
        if self.exchange.diverted and self.sink is not None:
            try:
                self.sink.receive(bytes(piece))
            except StorageTrouble as error:
                self.fail(error)
                return
        self._refuse_bigger(beginning.size)
        if 0 < beginning.read_max <= beginning.size:
            self.halting = True
        if not kept or self._options is None:
            return
        try:
            self.stopped = self._options.take(kept)
        except DownloadCancelledError as error:
            self._stop()
            self._fail_with(error)
            return
        if self.stopped is not None:
            self._stop()
            self._finish()

    def _refuse_bigger(self, size: int) -> None:
        if 0 < self.limits.payload < size:
            self.exchange.too_big = self.halting = True

    # ---- How it ends

    def halt(self) -> None:
        """Stop reading, and let Scrapy take what it has for the whole, so that nobody retries.

        Only once all that has arrived was parsed: it may have been the whole anyway.
        """
        self.exchange.truncated = "length"
        self.exchange.dropped = not self.exchange.too_big
        self._stop()
        self._finish()

    def finish(self, lost: Failure | None) -> None:
        """The answer has come to its end, by its own word or by the loss of the connection."""
        self._connection = None
        exchange = self.exchange
        if lost is None:
            exchange.ended = "complete"
        elif isinstance(lost.value, ConnectionDone):
            exchange.ended = "closed"
        else:
            self._cut()
            if self.beginning is not None and self.beginning.is_pdf and self._ends_like_one():
                exchange.truncated = None  # reset where the end alone would have told: all is there
        self._finish(*(("partial",) if lost is not None else ()))

    def _ends_like_one(self) -> bool:
        response = self.exchange.response
        try:
            return b"%%EOF" in response.read(max(response.size - PDF_END, 0), PDF_END)
        except StorageTrouble as error:
            self.error = error
            return False

    def lose(self, reason: Failure) -> None:
        """The connection is gone before the end of the answer; it may be asked for once more."""
        self._connection = None
        if isinstance(reason.value, SSL.Error) and not self.exchange.response.size:
            self.exchange.started = None  # no handshake, so the request never left
            self._written.clear()
        else:
            self._cut()

    def _cut(self) -> None:
        self.exchange.ended = "cut"
        self.exchange.truncated = "disconnect"

    def end_lost(self, reason: Failure) -> None:
        """It is not asked for again."""
        if self.head is not None:
            self._lack([reason])
        elif self.exchange.response.size:
            self._fail_with(ResponseFailed([reason]))  # type: ignore[no-untyped-call]
        else:
            self._fail_with(ResponseNeverReceived([reason]))  # type: ignore[no-untyped-call]

    def give_up(self, fault: str) -> None:
        """End because the response, or its body, is malformed: *fault*."""
        self._connection = None
        self.fault = fault
        self.exchange.truncated = "disconnect"
        if self.head is not None:
            self._lack([Failure(BrokenCoding(fault))])  # type: ignore[no-untyped-call]
        else:
            self._fail_with(ResponseFailed([]))  # type: ignore[no-untyped-call]

    def doubt(self) -> None:
        """An answer has come to its end, and nobody knows to which request it is one."""
        self._connection = None
        self.exchange.ended = "complete"
        said = f"{self.exchange.url}: more came on a kept connection than was asked for"
        self._fail_with(UnaskedBytes(said))

    def judge_head(self) -> None:
        """Wait no longer for the end of a head that goes on and on."""
        if self.head is None and self.exchange.response.size > HEAD_LIMIT:
            self.fail(BadHttp(f"{self.exchange.url}: a head over {HEAD_LIMIT} bytes"), "length")

    def _lack(self, reasons: list[Failure]) -> None:
        """The end of the body is missing."""
        if self._options is not None and not self._options.fail_on_dataloss:
            self._finish("dataloss")
            return
        error = ResponseDataLossError()
        error.__cause__ = ResponseFailed(reasons)  # type: ignore[no-untyped-call]
        self._fail_with(error)

    def fail(self, error: Exception, truncated: Truncated = "disconnect") -> None:
        """End the download with *error*."""
        self.error = error
        self.exchange.truncated = truncated if self.exchange.started else None
        self._stop()
        self._fail_with(error)

    def close(self, truncated: Truncated | None) -> None:
        """The download is over: an answer without an end is *truncated*."""
        self._stop()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        exchange, beginning = self.exchange, self.beginning
        exchange.request = without_secrets(b"".join(self._written), exchange.secrets)
        if exchange.started is not None and not exchange.ended and not exchange.truncated:
            exchange.truncated = truncated
        if exchange.diverted:
            exchange.truncated = exchange.truncated or "length"
        shortened = beginning is not None and beginning.shortened
        said = {TOO_BIG: exchange.too_big, DROPPED: exchange.dropped, SHORTENED: shortened}
        self.flags = [flag for flag, is_so in said.items() if is_so]
        # The spool goes when its last user lets go of it, not when cycles are looked for.
        self._options = self._over = None

    def _finish(self, *marks: str) -> None:
        if self._over is not None and not self._over.called:
            self.marks = [*marks]
            self._over.callback(None)

    def _fail_with(self, error: Exception | Failure) -> None:
        if self._over is not None and not self._over.called:
            self._over.errback(error)

    def _stop(self) -> None:
        connection, self._connection = self._connection, None
        connecting, self._connecting = self._connecting, None
        if connection is not None:
            connection.abort()
        if connecting is not None:
            connecting.cancel()

    # ---- Pace

    def _pause(self) -> None:
        self.paused = True
        if self._connection is not None:
            self._connection.transport.pauseProducing()

    def _resume(self) -> None:
        self.paused = False
        if self._connection is not None:
            self._connection.transport.resumeProducing()

    def _look(self) -> None:
        self._timer = None
        limits, now = self.limits, monotonic()
        if self.paused:  # the disk is what is slow
            self._last = now
        idle, left = now - self._last, limits.whole - (now - self._begun)
        if limits.whole and left <= 0:
            said = f"Getting {self.exchange.url} took longer than {limits.whole} seconds."
        elif limits.stall and idle >= limits.stall:
            said = f"{self.exchange.url}: no byte for {limits.stall:g} seconds"
        elif limits.stall and (rate := self._rate(now)) < limits.rate:
            said = f"{self.exchange.url}: {rate:g} bytes a second, fewer than {limits.rate:g}"
        else:
            wait = min(left if limits.whole else inf, limits.stall - idle if limits.stall else inf)
            if wait < inf:
                self._timer = self._reactor.callLater(wait, self._look)
            return
        self.fail(DownloadTimeoutError(said), "time")

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


def _as_fields(head: AnswerHead) -> Fields:
    """Return what a sink is told: the fields without those of the connection, and the body's
    length.
    """
    fields = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in head.fields]
    if head.length is not None:
        fields.append(("Content-Length", str(head.length)))
    return Fields(fields)


def _secured(connection: SSL.Connection, host: str) -> TlsSession:
    return TlsSession(
        protocol=certificates.protocol_name(connection.get_protocol_version_name()),
        cipher=certificates.suite_name(connection.get_cipher_name() or ""),
        certificate=certificates.verdict(connection.get_peer_cert_chain() or (), host),
    )
