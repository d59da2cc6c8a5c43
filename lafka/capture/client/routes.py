"""Ways to a site: by TCP, over TLS, through a proxy; to allowed addresses alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from scrapy.exceptions import IgnoreRequest
from twisted.internet.abstract import isIPAddress, isIPv6Address
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import HostnameEndpoint, TCP4ClientEndpoint, wrapClientTLS
from twisted.internet.interfaces import (
    IReactorPluggableNameResolver,
    IReactorTCP,
    IReactorTime,
    IStreamClientEndpoint,
)
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

from lafka.capture.addresses import Network, is_allowed
from lafka.capture.client.requests import Route
from lafka.errors import SiteError
from lafka.politeness.failures import tunnel_error

ANSWER_MAX = 64 * 1024
"""Bytes of a proxy's answer to CONNECT."""
ENDPOINTS = 128
"""As many endpoints are kept, each with its TLS context."""
_ANSWER = re.compile(rb"HTTP/1\.. (?P<status>\d{3})(?P<reason>.{,1000})")


class Routes:
    """Makes endpoints. *reactor* is a guarded one, *contexts* an IPolicyForHTTPS."""

    def __init__(self, reactor: Any, contexts: Any) -> None:
        self._reactor = reactor
        self._contexts = contexts
        self.endpoint = lru_cache(ENDPOINTS)(self._endpoint)
        """Returns an IStreamClientEndpoint; a timeout in seconds, for each address of a name."""

    def _endpoint(self, route: Route, timeout: float) -> Any:
        host, port = route.tunnel or (route.host, route.port)
        # An address needs no look-up, and no second one to be tried: half the time.
        make = TCP4ClientEndpoint if isIPAddress(host) else HostnameEndpoint
        endpoint: Any = make(self._reactor, host, port, timeout=timeout, bindAddress=route.bind)
        if route.tunnel is not None:
            endpoint = _TunnelEndpoint(endpoint, route)
        if route.secure:
            creator = self._contexts.creatorForNetloc(route.host.encode("ascii"), route.port)
            endpoint = wrapClientTLS(creator, endpoint)
        return endpoint


@implementer(IStreamClientEndpoint)
class _TunnelEndpoint:
    """Connects to the proxy of *route* and asks it for the site; then all that passes is ours."""

    def __init__(self, proxy: Any, route: Route) -> None:
        self._proxy = proxy
        self._route = route

    def connect(self, factory: Any) -> Deferred[Any]:
        opened: Deferred[Any] = Deferred(lambda _: stop())
        way = _Tunnel(self._route, factory, opened)
        connecting = self._proxy.connect(factory_of(lambda: way))

        def stop() -> None:
            connecting.cancel()
            way.stop()

        def failed(failure: Any) -> None:
            if not opened.called:
                opened.errback(failure)

        connecting.addErrback(failed)
        return opened


class _Tunnel(Protocol):
    """Speaks CONNECT, and then hands on what passes to the protocol that *factory* makes."""

    transport: Any

    def __init__(self, route: Route, factory: Any, opened: Deferred[Any]) -> None:
        self._route = route
        self._factory = factory
        self._opened = opened
        self._answer = b""
        self._inner: Any = None

    def connectionMade(self) -> None:  # noqa: N802
        site = f"{self._route.host}:{self._route.port}".encode("ascii")
        authorization = self._route.authorization
        said = b"Proxy-Authorization: %b\r\n" % authorization if authorization else b""
        self.transport.write(b"CONNECT %b HTTP/1.1\r\nHost: %b\r\n%b\r\n" % (site, site, said))

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        if self._inner is not None:
            self._inner.dataReceived(data)
            return
        self._answer += data
        if b"\r\n\r\n" not in self._answer and len(self._answer) < ANSWER_MAX:
            return
        found = _ANSWER.match(self._answer)
        if found is None:
            self._refuse(repr(self._answer[:1000]))
        elif found["status"] != b"200":
            said = {"status": int(found["status"]), "reason": found["reason"].strip()}
            self._refuse(repr(said))
        else:
            self._open()

    def _open(self) -> None:
        """Drop what stands behind the answer: a TLS server waits to be spoken to."""
        self._inner = self._factory.buildProtocol(self.transport.getPeer())
        self._inner.makeConnection(self.transport)
        self._opened.callback(self._inner)

    def _refuse(self, said: str) -> None:
        host, port = self._route.tunnel or ("", 0)
        error = tunnel_error()(f"Could not open CONNECT tunnel with proxy {host}:{port} [{said}]")
        self.stop()
        if not self._opened.called:
            self._opened.errback(error)

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: N802
        if self._inner is not None:
            self._inner.connectionLost(reason)
        elif not self._opened.called:
            self._refuse("closed")

    def stop(self) -> None:
        if self.transport is not None:
            self.transport.abortConnection()


def factory_of(make: Callable[[], Protocol]) -> Any:
    """A factory of the protocols that *make* makes, whose coming and going is not logged."""
    factory: Any = Factory()
    factory.noisy = False
    factory.buildProtocol = lambda _: make()
    return factory


class AddressRefused(SiteError, IgnoreRequest):
    """The host's address is neither public nor in LAFKA_ALLOWED_NETWORKS; nothing was sent.

    Raised by the download handler. Being an IgnoreRequest it is neither retried nor an ERROR.
    """


@implementer(IReactorPluggableNameResolver, IReactorTCP, IReactorTime)
class GuardedReactor:
    """A reactor that makes TCP connections to allowed addresses and no other connections.

    To be given to a HostnameEndpoint, which resolves names with its resolver and asks it to connect
    to the addresses. What is judged is what is connected to: a name that resolves otherwise the
    next time (DNS rebinding) does not get past it.
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
        if not (isIPAddress(host) or isIPv6Address(host)):
            raise AddressRefused(f"{host}: only addresses can be judged")
        if not is_allowed(host, self._allowed):
            raise AddressRefused(f"{host} is not a public address")
        return self._reactor.connectTCP(host, port, factory, timeout, bindAddress)
