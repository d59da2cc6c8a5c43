"""What a failed download says, in a word for ``lafka.outcome`` and a sentence."""

from __future__ import annotations

from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadTimeoutError,
    NotSupported,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)
from twisted.internet.error import TCPTimedOutError

from lafka.capture.guard import AddressRefused
from lafka.capture.taps import BadTls, BrokenCoding
from lafka.errors import BadHttp, BadUrl, printable
from lafka.politeness import RedirectLoop
from lafka.politeness.failures import causes, is_bad_http, is_tls
from lafka.politeness.retries import HostSetAside, KeepsAskingToWait
from lafka.politeness.robots import RobotsForbidden, RobotsUnreachable

LOOP = "loop"
_BY_TYPE: tuple[tuple[tuple[type[BaseException], ...], str], ...] = (
    ((AddressRefused,), "refused"),
    ((RobotsForbidden,), "robots"),
    ((RedirectLoop,), LOOP),
    ((BadUrl, NotSupported, UnsupportedURLSchemeError), "bad-url"),
    ((BadHttp,), "bad-http"),
    ((BadTls,), "tls"),
    ((DownloadTimeoutError, TCPTimedOutError), "timeout"),
    ((CannotResolveHostError,), "dns"),
    ((ResponseDataLossError,), "truncated"),
)


def failure_of(error: BaseException) -> tuple[str, str]:
    """The word and the sentence of a download that ended in *error*."""
    sentence = printable(str(error) or type(error).__name__)
    if isinstance(error, RobotsUnreachable | HostSetAside):
        return failure_of(error.cause)[0], sentence
    if isinstance(error, KeepsAskingToWait):
        return "refused" if error.status == 429 else "server-error", sentence
    found = _by_type(error)
    if found:
        return found, sentence
    if is_tls(error):
        return "tls", sentence
    if is_bad_http(error):
        return "bad-http", sentence
    behind = filter(None, map(_by_type, causes(error)))
    return next(behind, "connection"), sentence


def _by_type(error: BaseException) -> str | None:
    return next((word for kinds, word in _BY_TYPE if isinstance(error, kinds)), None)


def framing_trouble(error: BaseException | None) -> str:
    """Return what contradicts itself in the chunks of a body; empty for one that is merely cut."""
    for cause in causes(error) if error is not None else ():
        if isinstance(cause, BrokenCoding):
            return f"the chunked coding is broken: {printable(str(cause))}"
    return ""
