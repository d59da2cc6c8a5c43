"""The outcome that a failed download has, and one sentence about it."""

from __future__ import annotations

from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadConnectionRefusedError,
    DownloadTimeoutError,
    NotSupported,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)
from twisted.internet.error import TCPTimedOutError

from lafka.capture.guard import AddressRefused
from lafka.capture.outcomes import Outcome
from lafka.capture.pulled import NotKept, TakenDown
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
