"""Connections to allowed addresses alone: what is judged is what is connected to.

So a name that resolves otherwise the next time (DNS rebinding) does not get past it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scrapy.exceptions import IgnoreRequest
from twisted.internet import tcp
from twisted.internet.abstract import isIPAddress, isIPv6Address
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import HostnameEndpoint, TCP4ClientEndpoint, TCP6ClientEndpoint
from twisted.internet.interfaces import (
    IReactorPluggableNameResolver,
    IReactorTCP,
    IReactorTime,
)
from zope.interface import implementer

from lafka.capture.addresses import Network, is_allowed
from lafka.errors import SiteError


class AddressRefused(SiteError, IgnoreRequest):
    """The host's address is neither public nor in LAFKA_ALLOWED_NETWORKS; nothing was sent.

    Raised by the download handler. Being an IgnoreRequest it is neither retried nor an ERROR.
    """


def guard(endpoint: Any, guards: dict[Any, GuardedReactor], allowed: Sequence[Network]) -> None:
    """Have *endpoint* connect through a guarded reactor. Raises AddressRefused if it cannot."""
    while hasattr(endpoint, "_wrappedEndpoint"):  # TLS
        endpoint = endpoint._wrappedEndpoint
    known = (HostnameEndpoint, TCP4ClientEndpoint, TCP6ClientEndpoint)
    if not isinstance(endpoint, known) or not hasattr(endpoint, "_reactor"):
        raise AddressRefused(f"{type(endpoint).__name__} cannot be guarded")
    reactor = endpoint._reactor
    if not isinstance(reactor, GuardedReactor):
        guarded = guards.get(reactor) or GuardedReactor(reactor, allowed)
        endpoint._reactor = guards[reactor] = guarded


@implementer(IReactorPluggableNameResolver, IReactorTCP, IReactorTime)
class GuardedReactor:
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
