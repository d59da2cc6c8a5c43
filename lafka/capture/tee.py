"""The tee: everything that passes over a pool's connections goes to the tap of its exchange, too.

This rests on private names of Twisted (``_pool``, ``_factory``, ``_reactor``, ``_finishResponse``,
``_parser``); ``tests/capture/test_handler.py`` watches them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from functools import cache
from typing import Any

from twisted.internet.defer import Deferred, fail
from twisted.internet.interfaces import IHandshakeListener
from twisted.python.failure import Failure
from twisted.web._newclient import HTTP11ClientProtocol, HTTPClientParser
from zope.interface import implementer

from lafka.capture.addresses import Network
from lafka.capture.exchanges import Secured
from lafka.capture.guard import AddressRefused, GuardedReactor, guard
from lafka.capture.taps import DONE, HEAD_LIMIT, Tap

TAP: ContextVar[Tap | None] = ContextVar("lafka_tap", default=None)
"""The tap of the exchange whose download is being begun."""


@implementer(IHandshakeListener)
class _Tee(HTTP11ClientProtocol):
    """Put before the class of the pool's own protocols: all that passes goes to the tap too."""

    lafka_tap: Tap | None = None
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

    def connectionLost(self, reason: Failure = DONE) -> None:  # noqa: N802
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

    def __init__(self, transport: Any, tap: Tap) -> None:
        self._transport = transport
        self._tap = tap

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        self._tap.wrote(data)
        self._transport.write(data)

    def writeSequence(self, parts: Sequence[bytes]) -> None:  # noqa: N802
        self.write(b"".join(parts))


def tee(pool: Any, allowed: Sequence[Network]) -> None:
    """Tee and guard every connection that *pool* makes."""
    get_connection, make_factory = pool.getConnection, pool._factory
    guards: dict[Any, GuardedReactor] = {}

    def getConnection(key: Any, endpoint: Any) -> Deferred[Any]:  # noqa: N802
        try:
            guard(endpoint, guards, allowed)
        except AddressRefused:
            return fail()
        tap = TAP.get()
        TAP.set(None)  # what is begun below keeps its context as long as the connection lives
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
