"""Connections to allowed addresses alone: what is judged is what is connected to.

So a name that resolves otherwise the next time (DNS rebinding) does not get past it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scrapy.exceptions import IgnoreRequest
from twisted.internet.abstract import isIPAddress, isIPv6Address
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


@implementer(IReactorPluggableNameResolver, IReactorTCP, IReactorTime)
class GuardedReactor:
    """A reactor that makes TCP connections to allowed addresses and no other connections.

    To be given to a HostnameEndpoint, which resolves names with its resolver and asks it to connect
    to the addresses.
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
