"""Names to addresses, IPv4 and IPv6."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.resolver import CachingHostnameResolver, HostResolution
from twisted.internet.abstract import isIPAddress, isIPv6Address
from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.interfaces import IHostnameResolver
from zope.interface import implementer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twisted.internet.interfaces import IAddress


@implementer(IHostnameResolver)
class NameResolver(CachingHostnameResolver):
    """Scrapy's resolver that knows IPv6, without what stops it.

    Where Python's ``idna`` codec refuses a name, Twisted's resolver never answers, and the request
    would wait for ``DOWNLOAD_TIMEOUT``. Here such a name has no address. An address is itself,
    without a question to the system.
    """

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
