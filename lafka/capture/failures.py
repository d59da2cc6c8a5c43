"""The verdict on a failed download, and one sentence about it."""

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
from lafka.capture.pulled import NotKept, TakenDown
from lafka.capture.taps import BadCertificate, BadTls, UnaskedBytes
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
