"""Connections: asked one thing at a time, kept for the next, broken off where nobody reads on."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.interfaces import IHandshakeListener, ITCPTransport
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.ssl import Certificate
from twisted.python.failure import Failure
from zope.interface import implementer

from lafka.capture.client.answers import AnswerReader
from lafka.capture.client.requests import Asked, Route
from lafka.capture.client.routes import Routes, factory_of
from lafka.capture.exchanges import Secured
from lafka.capture.taps import Tap

IDLE = 240.0
"""Seconds that a connection is kept for the next request, as in Twisted's own pool."""


class Client:
    """Asks sites. *reactor* is a guarded one, *contexts* an IPolicyForHTTPS.

    At most *kept* idle connections a route are kept.
    """

    def __init__(self, reactor: Any, contexts: Any, *, kept: int) -> None:
        self._routes = Routes(reactor, contexts)
        self._pool = _Pool(reactor, kept)

    def ask(self, asked: Asked, tap: Tap, timeout: float) -> None:
        """Send *asked* on a kept connection or a new one; what comes of it goes to *tap*.

        A kept connection that its other end has closed meanwhile is no fault of the request: one
        that may be repeated is sent once more, on a new connection. *timeout*: see ``Routes``.
        """
        kept = self._pool.take(asked.route)
        if kept is None:
            self._connect(asked, tap, timeout)
            return
        again = partial(self._connect, asked, tap, timeout) if asked.repeatable else None
        kept.ask(asked, tap, again)

    def _connect(self, asked: Asked, tap: Tap, timeout: float) -> None:
        pool, route = self._pool, asked.route
        endpoint = self._routes.endpoint(route, timeout)
        connecting = endpoint.connect(factory_of(lambda: Connection(pool, route)))
        tap.wait_for(connecting)
        connecting.addCallback(lambda new: new.ask(asked, tap, None))
        connecting.addErrback(tap.unreachable)

    def close(self) -> Deferred[Any]:
        """Close the connections that are kept; fires when they are gone."""
        return gatherResults(self._pool.close())


@implementer(IHandshakeListener)
class Connection(Protocol):
    """A connection by *route*, one exchange at a time; an idle one lies in *pool*."""

    transport: Any

    def __init__(self, pool: _Pool, route: Route) -> None:
        self.route = route
        self.since = 0.0
        """When it was put into the pool, in the reactor's seconds."""
        self._pool = pool
        self._tap: Tap | None = None
        self._reader: AnswerReader | None = None
        self._again: Callable[[], None] | None = None
        self._secured: Secured | None = None
        self._lost: Deferred[None] | None = None

    @cached_property
    def certificate(self) -> Certificate | None:
        """The other end's; None without TLS."""
        peer = getattr(self.transport, "getPeerCertificate", bool)()
        return Certificate(peer) if peer else None  # type: ignore[no-untyped-call]

    @cached_property
    def address(self) -> IPv4Address | IPv6Address:
        """The other end's: the site's, or a proxy's."""
        return ip_address(self.transport.getPeer().host)

    def connectionMade(self) -> None:  # noqa: N802
        if ITCPTransport.providedBy(self.transport):
            self.transport.setTcpNoDelay(True)

    def handshakeCompleted(self) -> None:  # noqa: N802
        if self._tap is not None:
            self._secured = self._tap.secure(self.transport.getHandle())

    def ask(self, asked: Asked, tap: Tap, again: Callable[[], None] | None) -> None:
        """Write *asked*; *again* asks once more should nothing come because this was closed."""
        self._tap, self._again = tap, again
        self._reader = AnswerReader(asked.method)
        tap.begin(self, self.transport.getPeer().host, self._secured)
        tap.wrote(asked.head)
        if asked.body:
            tap.wrote(asked.body)
        self.transport.write(asked.head + asked.body)

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        tap, reader = self._tap, self._reader
        if tap is None or reader is None:  # nobody asked for it
            self._pool.forget(self)
            self.transport.loseConnection()
            return
        self._again = None
        tap.receive(data, reader, reader.feed(data))
        if self._tap is not tap:  # it has stopped us
            return
        if reader.ended:
            # Who sends more than was asked for may do so again: such bytes would be taken for
            # the next answer, so the connection is not kept.
            self._leave(keep=tap.head is not None and tap.head.keeps and not reader.rest)
            tap.finish(None)
        elif tap.halting:
            tap.halt()
        elif reader.fault:
            self._leave(keep=False)
            tap.give_up(reader.fault)
        else:
            tap.judge_head()

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: N802
        tap, reader, again = self._tap, self._reader, self._again
        self._tap = self._reader = self._again = None
        if self._lost is not None:
            self._lost.callback(None)
        if tap is None or reader is None:
            self._pool.forget(self)
        elif reader.until_close:
            tap.finish(reason)
        else:
            tap.lose(reason)
            if again is not None:
                again()
            else:
                tap.end_lost(reason)

    def _leave(self, *, keep: bool) -> None:
        """The exchange is over."""
        tap = self._tap
        self._tap = self._reader = self._again = None
        if tap is not None and tap.paused:
            self.transport.resumeProducing()
        if keep:
            self._pool.put(self)
        else:
            self.transport.loseConnection()

    def close(self) -> Deferred[None]:
        """End it; fires when it is gone."""
        self._lost = Deferred()
        self.transport.loseConnection()
        return self._lost

    def abort(self) -> None:
        """Break it off: nobody reads on."""
        self._tap = self._reader = self._again = None
        self.transport.abortConnection()


class _Pool:
    """Idle connections by route, at most *most* each; the longest idle is used, or goes, first.

    One timer closes what has been idle for ``IDLE`` seconds.
    """

    def __init__(self, reactor: Any, most: int) -> None:
        self._reactor = reactor
        self._most = most
        self._idle: dict[Route, list[Connection]] = {}
        self._timer: Any = None

    def take(self, route: Route) -> Connection | None:
        kept = self._idle.get(route)
        if not kept:
            return None
        found = kept.pop(0)
        if not kept:
            del self._idle[route]
        return found

    def put(self, connection: Connection) -> None:
        kept = self._idle.setdefault(connection.route, [])
        connection.since = self._reactor.seconds()
        kept.append(connection)
        if len(kept) > self._most:
            oldest = kept[0]
            self.forget(oldest)
            oldest.transport.loseConnection()
        if self._timer is None and self._idle:
            self._timer = self._reactor.callLater(IDLE, self._look)

    def forget(self, connection: Connection) -> None:
        kept = self._idle.get(connection.route, [])
        if connection in kept:
            kept.remove(connection)
            if not kept:
                del self._idle[connection.route]

    def _look(self) -> None:
        self._timer = None
        now = self._reactor.seconds()
        idle = [connection for kept in self._idle.values() for connection in kept]
        for connection in idle:
            if now - connection.since >= IDLE:
                self.forget(connection)
                connection.transport.loseConnection()
        rest = [now - kept[0].since for kept in self._idle.values()]
        if rest:
            self._timer = self._reactor.callLater(IDLE - max(rest), self._look)

    def close(self) -> list[Deferred[None]]:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        idle = [connection for kept in self._idle.values() for connection in kept]
        self._idle.clear()
        return [connection.close() for connection in idle]
