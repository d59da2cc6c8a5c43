"""The outcome that a failed download has, and one sentence about it."""

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

from lafka.capture.guard import AddressRefused
from lafka.capture.outcomes import Outcome
from lafka.capture.pulled import NotKept, TakenDown
from lafka.capture.resolving import trouble_with
from lafka.capture.taps import BadCertificate, BadTls, UnaskedBytes
from lafka.errors import BadHttp, BadUrl, printable
from lafka.politeness.failures import causes, is_bad_http, is_tls
from lafka.politeness.redirects import RedirectLoop
from lafka.politeness.retries import HostSetAside, KeepsAskingToWait
from lafka.politeness.robots import RobotsForbidden, RobotsUnreachable

_BY_TYPE: tuple[tuple[tuple[type[BaseException], ...], Outcome], ...] = (
    ((AddressRefused, TakenDown), Outcome.REFUSED),
    ((NotKept,), Outcome.NOT_FOUND),
    ((RobotsForbidden,), Outcome.ROBOTS),
    ((RedirectLoop,), Outcome.LOOP),
    ((BadUrl, NotSupported, UnsupportedURLSchemeError), Outcome.BAD_URL),
    ((BadHttp, UnaskedBytes), Outcome.BAD_HTTP),
    ((BadCertificate,), Outcome.BAD_CERTIFICATE),
    ((BadTls,), Outcome.TLS),
    ((DownloadTimeoutError, TCPTimedOutError), Outcome.TIMEOUT),
    ((CannotResolveHostError,), Outcome.DNS),
    ((DownloadConnectionRefusedError,), Outcome.CONNECTION),
    ((ResponseDataLossError,), Outcome.TRUNCATED),
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
            return f"names cannot be looked up: {trouble}" if trouble else ""
        if isinstance(cause, ConnectError) and cause.osError in _NO_WAY:
            return f"connections cannot be made: {os.strerror(cause.osError)}"
    return ""


def outcome_of(error: BaseException) -> tuple[Outcome, str]:
    """The outcome of a download that ended in *error*, and the sentence for the feed."""
    sentence = printable(str(error) or type(error).__name__)
    if isinstance(error, RobotsUnreachable | HostSetAside):
        return outcome_of(error.cause)[0], sentence
    if isinstance(error, KeepsAskingToWait):
        return Outcome.REFUSED if error.status == 429 else Outcome.SERVER_ERROR, sentence
    if found := _by_type(error):
        return found, sentence
    if is_tls(error):
        return Outcome.TLS, sentence
    if is_bad_http(error):
        return Outcome.BAD_HTTP, sentence
    behind = filter(None, map(_by_type, causes(error)))
    return next(behind, Outcome.CONNECTION), sentence


def _by_type(error: BaseException) -> Outcome | None:
    return next((outcome for kinds, outcome in _BY_TYPE if isinstance(error, kinds)), None)
