"""Connections: asked one thing at a time, kept for their group, broken off where nobody reads on.

An answer names no request, so a server that answers twice has its second answer taken for that of
the next request on the connection. Hence a request without a group has a connection of its own, a
group's connection carries no other's, and who sends more than was asked for has none kept.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Hashable
from contextlib import suppress
from functools import cached_property, partial
from http import HTTPStatus
from ipaddress import IPv4Address, IPv6Address, ip_address
from itertools import count
from select import POLLIN, poll
from socket import MSG_DONTWAIT, MSG_PEEK
from typing import Any

from OpenSSL import SSL
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.interfaces import IHandshakeListener, ITCPTransport
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.ssl import Certificate
from twisted.python.failure import Failure
from zope.interface import implementer

from lafka.capture.client.answers import AnswerReader
from lafka.capture.client.requests import Route, WireRequest
from lafka.capture.client.routes import Routes, factory_of
from lafka.capture.exchanges import TlsSession
from lafka.capture.recording import ClaimLost, Tap, UnaskedBytes

IDLE = 240.0
"""Seconds that a connection is kept for the next request, as in Twisted's own pool."""
EARLY = "bytes came before the request was sent"
CROSSED = "an answer came before the request can have been read"
_NUMBERS = count(1)
_TCP_INFO = struct.Struct("=120xQ")
"""Linux's tcp_info, from its beginning to tcpi_bytes_acked, which came with 4.1."""


class Client:
    """Asks sites. *reactor* is a guarded one, *contexts* an IPolicyForHTTPS.

    At most *kept* idle connections a route are kept.
    """

    def __init__(self, reactor: Any, contexts: Any, *, kept: int) -> None:
        self._routes = Routes(reactor, contexts)
        self._pool = _Pool(reactor, kept)

    def ask(self, request: WireRequest, tap: Tap, timeout: float) -> None:
        """Send *asked* on a kept connection or a new one; what comes of it goes to *tap*.

        A kept connection that its other end has closed meanwhile is no fault of the request: one
        that may be repeated is sent once more, on a new connection. *timeout*: see ``Routes``.
        """
        kept = self._pool.take(request.route, request.group)
        if kept is None:
            self._connect(request, tap, timeout)
            return
        again = partial(self._connect, request, tap, timeout) if request.repeatable else None
        kept.ask(request, tap, again)

    def _connect(self, request: WireRequest, tap: Tap, timeout: float) -> None:
        pool, route, group = self._pool, request.route, request.group
        endpoint = self._routes.endpoint(route, timeout)
        connecting = endpoint.connect(factory_of(lambda: Connection(pool, route, group)))
        tap.wait_for(connecting)
        connecting.addCallback(lambda new: new.ask(request, tap))
        connecting.addErrback(tap.unreachable)

    def close(self) -> Deferred[Any]:
        """Close the connections that are kept; fires when they are gone."""
        return gatherResults(self._pool.close())


@implementer(IHandshakeListener)
class Connection(Protocol):
    """A connection by *route*, one exchange at a time; an idle one of a *group* lies in *pool*."""

    transport: Any

    def __init__(self, pool: _Pool, route: Route, group: Hashable = None) -> None:
        self.route = route
        self.group = group
        self.since = 0.0
        """When it was put into the pool, in the reactor's seconds."""
        self._pool = pool
        self._number = next(_NUMBERS)
        self._exchanges = 0  # begun on it
        self._tap: Tap | None = None
        self._reader: AnswerReader | None = None
        self._again: Callable[[], None] | None = None
        self._secured: TlsSession | None = None
        self._lost: Deferred[None] | None = None
        self._head_size = 0
        self._due = 0  # acknowledged bytes from which on the request's head has arrived
        self._crossed = False  # bytes came before that

    @property
    def place(self) -> str:
        """Its number in this process, and that of its exchange on it."""
        return f"{self._number} {self._exchanges}"

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
        tap, tls = self._tap, self.transport.getHandle()
        if tap is None:
            return
        self._secured = tap.secure(tls)
        if self._tap is tap:  # it trusts the certificate; the request waits to be written
            with suppress(SSL.Error):  # nothing has come, or it is broken and tells so by itself
                tls.recv(1, MSG_PEEK)
                self._refuse_early(tap)
        self._due = self._arrival()

    def ask(self, request: WireRequest, tap: Tap, again: Callable[[], None] | None = None) -> None:
        """Write *request*; *again* asks once more should nothing come because this was closed."""
        if tap.may_send is not None and not tap.may_send():
            self.end()
            tap.fail(ClaimLost())
            return
        self._exchanges += 1
        self._tap, self._again = tap, again
        self._reader = AnswerReader(request.method)
        tap.begin(self, self.transport.getPeer().host, self._secured)
        tap.wrote(request.head)
        if request.body:
            tap.wrote(request.body)
        self._head_size = len(request.head)
        self._due = self._arrival()
        data = request.head + request.body
        if self._exchanges == 1 and not self.route.secure:
            with self._socket() as same:
                if self._has_unread(same):
                    self._refuse_early(tap)
                    return
                with suppress(OSError):  # what it does not take now waits in the transport
                    data = data[same.send(data, MSG_DONTWAIT) :]
        self.transport.write(data)

    def _refuse_early(self, tap: Tap) -> None:
        """Bytes have come on a new connection before the request was written."""
        self._pool.distrust(self.route)
        tap.refuse(UnaskedBytes(f"{tap.exchange.url}: {EARLY}"))

    def _arrival(self) -> int:
        """Return how many bytes are acknowledged once the head has arrived; 0: not known."""
        acked = self._acknowledged()
        return acked + self._head_size if acked else 0

    def _acknowledged(self) -> int:
        """Return how many bytes the other end's kernel says it has; 0 where ours does not tell."""
        with suppress(OSError, AttributeError, struct.error), self._socket() as same:
            data = same.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO.size)
            return int(_TCP_INFO.unpack(data)[0])
        return 0

    def _socket(self) -> socket.socket:
        return socket.fromfd(self.transport.fileno(), socket.AF_INET, socket.SOCK_STREAM)

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        tap, reader = self._tap, self._reader
        if tap is None or reader is None:  # nobody asked for it
            if self._pool.forget(self):
                self._pool.distrust(self.route)
            self.end()
            return
        self._again = None
        if self._due:
            self._crossed = 0 < self._acknowledged() < self._due
            self._due = 0
        pieces = reader.feed(data)
        if self._crossed and reader.head is not None and self._is_doubtful(reader.head.status):
            self._pool.distrust(self.route)
            tap.fail(UnaskedBytes(f"{tap.exchange.url}: {CROSSED}"))
            return
        tap.receive(data, reader, pieces)
        if self._tap is not tap:  # it has stopped us
            return
        if reader.ended:
            self._finish(tap, surplus=bool(reader.rest))
        elif tap.halting:
            tap.halt()
        elif reader.fault:
            self._leave(keep=False)
            tap.give_up(reader.fault)
        else:
            tap.judge_head()

    def _is_doubtful(self, status: int) -> bool:
        """A server may refuse a request that it has not read to its end (RFC 9110, 15.5.15)."""
        return self._exchanges > 1 or status < HTTPStatus.BAD_REQUEST

    def _finish(self, tap: Tap, *, surplus: bool) -> None:
        """The answer has ended; *surplus*: more came behind it than was asked for.

        On a kept connection that more may be the answer, and what was taken for it an earlier
        request's.
        """
        if surplus:
            self._pool.distrust(self.route)
        self._leave(keep=tap.head is not None and tap.head.keeps and not surplus)
        if surplus and self._exchanges > 1:
            tap.doubt()
        else:
            tap.finish(None)

    def has_news(self) -> bool:
        """Return whether bytes that were not read yet have come, or the end."""
        polled = poll()
        polled.register(self.transport.fileno(), POLLIN)
        return bool(polled.poll(0))

    def has_unread(self) -> bool:
        """Return whether bytes have come that were not read yet."""
        with self._socket() as same:
            return self._has_unread(same)

    @staticmethod
    def _has_unread(same: socket.socket) -> bool:
        try:
            return bool(same.recv(1, MSG_PEEK | MSG_DONTWAIT))
        except OSError:  # nothing has come, or it is broken and tells so by itself
            return False

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
        if not (keep and self._pool.put(self)):
            self.end()

    def end(self) -> None:
        """Close it, without a wait for the other end to close TLS, too (RFC 8446, 6.1)."""
        self.transport.loseConnection()
        if self.route.secure:
            self.transport.transport.loseConnection()

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

    One timer closes what has been idle for ``IDLE`` seconds. Of routes that are distrusted none is
    kept any more.
    """

    def __init__(self, reactor: Any, most: int) -> None:
        self._reactor = reactor
        self._most = most
        self._idle: dict[Route, list[Connection]] = {}
        self._distrusted: set[Route] = set()
        self._timer: Any = None

    def take(self, route: Route, group: Hashable) -> Connection | None:
        """An idle connection of *group*; where there is none, one of another makes room.

        So no more are open than there would be if all could share.
        """
        for kept in [kept for kept in self._idle.get(route, ()) if kept.group == group]:
            self.forget(kept)
            if not kept.has_news():
                return kept
            if not route.secure and kept.has_unread():  # over TLS they need not be an answer's
                self.distrust(route)
            kept.end()
        if others := self._idle.get(route):
            oldest = others[0]
            self.forget(oldest)
            oldest.end()
        return None

    def put(self, connection: Connection) -> bool:
        """Keep *connection* for its group, where that may be."""
        if connection.group is None or connection.route in self._distrusted:
            return False
        kept = self._idle.setdefault(connection.route, [])
        connection.since = self._reactor.seconds()
        kept.append(connection)
        if len(kept) > self._most:
            oldest = kept[0]
            self.forget(oldest)
            oldest.end()
        if self._timer is None and self._idle:
            self._timer = self._reactor.callLater(IDLE, self._look)
        return True

    def distrust(self, route: Route) -> None:
        """Keep no connection by *route* from now on: more came than was asked for."""
        self._distrusted.add(route)
        for kept in self._idle.pop(route, ()):
            kept.end()

    def forget(self, connection: Connection) -> bool:
        """Take *connection* out; whether it was here."""
        kept = self._idle.get(connection.route, [])
        if connection not in kept:
            return False
        kept.remove(connection)
        if not kept:
            del self._idle[connection.route]
        return True

    def _look(self) -> None:
        self._timer = None
        now = self._reactor.seconds()
        idle = [connection for kept in self._idle.values() for connection in kept]
        for connection in idle:
            if now - connection.since >= IDLE:
                self.forget(connection)
                connection.end()
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
