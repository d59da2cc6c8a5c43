"""Names to addresses, IPv4 and IPv6."""

from __future__ import annotations

import math
import socket
from collections import OrderedDict
from collections.abc import Sequence
from time import monotonic
from typing import Any

from scrapy.resolver import CachingHostnameResolver, HostResolution
from twisted.internet.abstract import isIPAddress, isIPv6Address
from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.interfaces import IAddress, IHostnameResolver
from twisted.internet.threads import deferToThreadPool
from zope.interface import implementer

_OF_NO_NAME = frozenset((socket.EAI_AGAIN, socket.EAI_FAIL, socket.EAI_MEMORY, socket.EAI_SYSTEM))
"""Answers of ``getaddrinfo`` that do not say of the name that it has no address."""
_NAMES = 10_000
_troubled: OrderedDict[str, str] = OrderedDict()
_found = "", -math.inf


def trouble_with(name: str) -> str:
    """Return why the last look-up of *name* came to no answer; empty where it came to one."""
    return _troubled.get(name, "")


def last_found() -> float:
    """Return when the system last had an address for a name, in monotonic seconds."""
    return _found[1]


def can_look_up() -> bool:
    """Return whether the system has an address for the name that it last had one for. Blocks."""
    try:
        return bool(_found[0] and socket.getaddrinfo(_found[0], 0))
    except OSError:
        return False


@implementer(IHostnameResolver)
class NameResolver(CachingHostnameResolver):
    """Scrapy's resolver that knows IPv6, without what stops it.

    Where Python's ``idna`` codec refuses a name, Twisted's resolver never answers, and the request
    would wait for ``DOWNLOAD_TIMEOUT``. Here such a name has no address. An address is itself,
    without a question to the system. What keeps the system from an answer is remembered.
    """

    def __init__(self, reactor: Any, cache_size: int) -> None:
        super().__init__(reactor, cache_size)
        self.original_resolver: Any = _SystemResolver(reactor)

    def resolveHostName(  # noqa: N802
        self,
        resolutionReceiver: Any,  # noqa: N803
        hostName: str,  # noqa: N803
        portNumber: int = 0,  # noqa: N803
        addressTypes: Sequence[type[IAddress]] | None = None,  # noqa: N803
        transportSemantics: str = "TCP",  # noqa: N803
    ) -> Any:
        known = _known(hostName, portNumber)
        if known is None:
            return super().resolveHostName(
                resolutionReceiver, hostName, portNumber, addressTypes, transportSemantics
            )
        resolution = HostResolution(hostName)
        resolutionReceiver.resolutionBegan(resolution)
        for address in known:
            resolutionReceiver.addressResolved(address)
        resolutionReceiver.resolutionComplete()
        return resolution


@implementer(IHostnameResolver)
class _SystemResolver:
    """Asks ``getaddrinfo`` in a thread, as Twisted's own does, and keeps why it gave no answer."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._getaddrinfo = socket.getaddrinfo

    def resolveHostName(  # noqa: N802
        self,
        resolutionReceiver: Any,  # noqa: N803
        hostName: str,  # noqa: N803
        portNumber: int = 0,  # noqa: N803
        addressTypes: Sequence[type[IAddress]] | None = None,  # noqa: N803, ARG002
        transportSemantics: str = "TCP",  # noqa: N803, ARG002
    ) -> Any:
        def on_found(found: list[Any]) -> None:
            global _found  # noqa: PLW0603  the system's, of which there is one
            _found = (hostName, monotonic()) if found else _found
            for family, _, _, _, address in found:
                made = IPv6Address if family == socket.AF_INET6 else IPv4Address
                resolutionReceiver.addressResolved(made("TCP", *address))
            resolutionReceiver.resolutionComplete()

        resolution = HostResolution(hostName)
        resolutionReceiver.resolutionBegan(resolution)
        pool = self._reactor.getThreadPool()
        deferToThreadPool(self._reactor, pool, self._ask, hostName, portNumber).addCallback(
            on_found
        )
        return resolution

    def _ask(self, name: str, port: int) -> list[Any]:
        """Return what the system says of *name*, nothing where it says that it has no address."""
        try:
            found = self._getaddrinfo(name, port, 0, socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            found = []
            if getattr(error, "errno", None) in _OF_NO_NAME or type(error) is OSError:
                _troubled[name] = str(getattr(error, "strerror", None) or error)
                if len(_troubled) > _NAMES:
                    _troubled.popitem(last=False)
                return found
        _troubled.pop(name, None)
        return found


def _known(name: str, port: int) -> tuple[Any, ...] | None:
    """The addresses of *name* that need no question: its own, or none; None where one is needed."""
    if isIPAddress(name):
        return (IPv4Address("TCP", name, port),)
    if isIPv6Address(name):
        return (IPv6Address("TCP", name, port),)
    try:
        return () if "\0" in name or not name.encode("idna") else None
    except UnicodeError:
        return ()
