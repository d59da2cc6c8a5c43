"""What a failed download is called."""

from __future__ import annotations

import pytest
from OpenSSL import SSL
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    NotSupported,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)
from twisted.internet.error import ConnectionLost, TCPTimedOutError
from twisted.python.failure import Failure
from twisted.web._newclient import ParseError, ResponseNeverReceived

from lafka.capture.failures import is_bug, outcome_of
from lafka.capture.guard import AddressRefused
from lafka.capture.taps import BadCertificate, BadTls, HandshakeCut
from lafka.errors import BadHttp, BadUrl
from lafka.papers.walk.outcomes import Outcome
from lafka.politeness.failures import is_connection_failure, is_final
from lafka.politeness.redirects import RedirectLoop
from lafka.politeness.retries import HostSetAside
from lafka.politeness.robots import RobotsForbidden, RobotsUnreachable


def failed(cause: BaseException) -> DownloadFailedError:
    """As Scrapy hands on what Twisted raises."""
    error = DownloadFailedError("failed")
    error.__cause__ = ResponseNeverReceived([Failure(cause)])
    return error


def cut() -> HandshakeCut:
    """As the download handler raises it: behind it stands what Scrapy made of Twisted's failure."""
    error = HandshakeCut("hung up before TLS was agreed upon")
    error.__cause__ = failed(ConnectionLost())
    return error


def test_a_handshake_that_is_cut_is_asked_for_again_and_counted() -> None:
    assert not is_final(cut())
    assert is_connection_failure(cut())
    assert isinstance(cut(), DownloadFailedError)  # which Scrapy retries


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (AddressRefused("10.0.0.1 is not a public address"), Outcome.REFUSED),
        (RobotsForbidden("robots.txt forbids it"), Outcome.ROBOTS),
        (RedirectLoop("too many"), Outcome.LOOP),
        (BadUrl("no host"), Outcome.BAD_URL),
        (NotSupported("gopher"), Outcome.BAD_URL),
        (UnsupportedURLSchemeError("gopher"), Outcome.BAD_URL),
        (BadHttp("no status line"), Outcome.BAD_HTTP),
        (failed(ParseError("no status line", b"SSH")), Outcome.BAD_HTTP),
        (DownloadTimeoutError("no byte"), Outcome.TIMEOUT),
        (CannotResolveHostError("no such host"), Outcome.DNS),
        (DownloadConnectionRefusedError("refused"), Outcome.CONNECTION),
        (ResponseDataLossError(), Outcome.TRUNCATED),
        (BadTls("no TLS"), Outcome.TLS),
        (cut(), Outcome.TLS),
        (RobotsUnreachable("https://x.example", cut()), Outcome.TLS),
        (BadCertificate("the certificate is expired"), Outcome.BAD_CERTIFICATE),
        (failed(SSL.Error([("", "", "wrong version number")])), Outcome.TLS),
        (failed(ConnectionLost()), Outcome.CONNECTION),
        (failed(TCPTimedOutError()), Outcome.TIMEOUT),
        (HostSetAside("a.example", CannotResolveHostError("no such host")), Outcome.DNS),
        (HostSetAside("a.example", DownloadTimeoutError("no byte")), Outcome.TIMEOUT),
        (OSError(101, "Network is unreachable"), Outcome.CONNECTION),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
def test_each_failure_has_its_outcome_and_a_sentence(error: Exception, outcome: Outcome) -> None:
    got, sentence = outcome_of(error)
    assert got is outcome
    assert sentence


def test_a_sentence_drives_no_terminal() -> None:
    assert outcome_of(BadHttp("\x1b[2J\nfake log line"))[1] == "\\x1b[2J\\nfake log line"


def test_an_error_without_words_is_called_by_its_type() -> None:
    assert outcome_of(ConnectionResetError())[1] == "ConnectionResetError"


def test_a_mistake_in_the_code_is_told_from_what_sites_do() -> None:
    assert is_bug(AttributeError("no such name"))
    assert is_bug(AssertionError())
    assert not is_bug(ConnectionResetError())
    assert not is_bug(ValueError("invalid hostname"))
    assert not is_bug(BadHttp("no HTTP"))
