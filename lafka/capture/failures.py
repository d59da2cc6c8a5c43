"""The verdict on a failed download, and one sentence about it; connections to allowed addresses.

What is judged is what is connected to: so a name that resolves otherwise the next time (DNS
rebinding) does not get past it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadConnectionRefusedError,
    DownloadTimeoutError,
    IgnoreRequest,
    NotSupported,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)
from twisted.internet.abstract import isIPAddress, isIPv6Address
from twisted.internet.error import ConnectError, TCPTimedOutError
from twisted.internet.interfaces import (
    IReactorPluggableNameResolver,
    IReactorTCP,
    IReactorTime,
)
from zope.interface import implementer

from lafka.capture.addresses import Network, is_allowed
from lafka.capture.pulled import NotKept, TakenDown
from lafka.capture.recording import BadCertificate, BadTls, UnaskedBytes
from lafka.capture.resolving import trouble_with
from lafka.capture.verdicts import Verdict
from lafka.errors import BadHttp, BadUrl, SiteError, printable
from lafka.politeness.failures import causes, is_bad_http, is_tls
from lafka.politeness.redirects import RedirectLoop
from lafka.politeness.retries import HostSetAside, KeepsAskingToWait
from lafka.politeness.robots import RobotsForbidden, RobotsUnreachable


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


_BY_TYPE: tuple[tuple[tuple[type[BaseException], ...], Verdict], ...] = (
    ((AddressRefused, TakenDown), Verdict.REFUSED),
    ((NotKept,), Verdict.NOT_FOUND),
    ((RobotsForbidden,), Verdict.ROBOTS),
    ((RedirectLoop,), Verdict.LOOP),
    ((BadUrl, NotSupported, UnsupportedURLSchemeError), Verdict.BAD_URL),
    ((BadHttp, UnaskedBytes), Verdict.BAD_HTTP),
    ((BadCertificate,), Verdict.BAD_CERTIFICATE),
    ((BadTls,), Verdict.TLS),
    ((DownloadTimeoutError, TCPTimedOutError), Verdict.TIMEOUT),
    ((CannotResolveHostError,), Verdict.DNS),
    ((DownloadConnectionRefusedError,), Verdict.CONNECTION),
    ((ResponseDataLossError,), Verdict.TRUNCATED),
)


def is_bug(error: BaseException) -> bool:
    """Return whether *error* tells of a mistake in the code rather than of a site."""
    foreign = isinstance(error, OSError | ValueError)
    return type(error).__module__ == "builtins" and not foreign


_NO_WAY = frozenset((
    errno.EACCES, errno.EADDRNOTAVAIL, errno.ENETDOWN, errno.ENETUNREACH, errno.ENOBUFS,
    errno.EPERM,
))  # fmt: skip
"""Refusals of a connection by this machine, before a packet was sent."""


NO_NAMES = "names cannot be looked up"


def machine_failure(error: BaseException, url: str) -> str:
    """Return why the download of *url* failed, where no site can be the reason; else empty.

    The name service gave no answer, or this machine made no connection: a host may still be the
    cause (its name server, its address), so of one alone it is believed.
    """
    if isinstance(error, RobotsUnreachable | HostSetAside):
        error = error.cause
    for cause in causes(error):
        if isinstance(cause, CannotResolveHostError):
            trouble = trouble_with(urlsplit(url).hostname or "")
            return f"{NO_NAMES}: {trouble}" if trouble else ""
        if isinstance(cause, ConnectError) and cause.osError in _NO_WAY:
            return f"connections cannot be made: {os.strerror(cause.osError)}"
    return ""


def verdict_of(error: BaseException) -> tuple[Verdict, str]:
    """Return the verdict on a download that ended in *error*, and the sentence for the feed."""
    sentence = printable(str(error) or type(error).__name__)
    if isinstance(error, RobotsUnreachable | HostSetAside):
        return verdict_of(error.cause)[0], sentence
    if isinstance(error, KeepsAskingToWait):
        return Verdict.REFUSED if error.status == 429 else Verdict.SERVER_ERROR, sentence
    if found := _by_type(error):
        return found, sentence
    if is_tls(error):
        return Verdict.TLS, sentence
    if is_bad_http(error):
        return Verdict.BAD_HTTP, sentence
    behind = filter(None, map(_by_type, causes(error)))
    return next(behind, Verdict.CONNECTION), sentence


def _by_type(error: BaseException) -> Verdict | None:
    return next((verdict for kinds, verdict in _BY_TYPE if isinstance(error, kinds)), None)
