"""The verdict on a failed download, and one sentence about it."""

from __future__ import annotations

import errno
import os
from urllib.parse import urlsplit

from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadConnectionRefusedError,
    DownloadTimeoutError,
    NotSupported,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)
from twisted.internet.error import ConnectError, TCPTimedOutError

from lafka.capture.client.routes import AddressRefused
from lafka.capture.pulled import NotKept, TakenDown
from lafka.capture.recording import BadCertificate, BadTls, UnaskedBytes
from lafka.capture.resolving import trouble_with
from lafka.capture.verdicts import Verdict
from lafka.errors import BadHttp, BadUrl, printable
from lafka.politeness.failures import causes, is_bad_http, is_tls
from lafka.politeness.redirects import RedirectLoop
from lafka.politeness.retries import HostSetAside, KeepsAskingToWait
from lafka.politeness.robots import RobotsForbidden, RobotsUnreachable

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
