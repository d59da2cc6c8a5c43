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

from lafka.capture.client.routes import AddressRefused
from lafka.capture.failures import is_bug, verdict_of
from lafka.capture.recording import BadCertificate, BadTls, HandshakeCut
from lafka.capture.verdicts import Verdict
from lafka.errors import BadHttp, BadUrl
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
    ("error", "verdict"),
    [
        (AddressRefused("10.0.0.1 is not a public address"), Verdict.REFUSED),
        (RobotsForbidden("robots.txt forbids it"), Verdict.ROBOTS),
        (RedirectLoop("too many"), Verdict.LOOP),
        (BadUrl("no host"), Verdict.BAD_URL),
        (NotSupported("gopher"), Verdict.BAD_URL),
        (UnsupportedURLSchemeError("gopher"), Verdict.BAD_URL),
        (BadHttp("no status line"), Verdict.BAD_HTTP),
        (failed(ParseError("no status line", b"SSH")), Verdict.BAD_HTTP),
        (DownloadTimeoutError("no byte"), Verdict.TIMEOUT),
        (CannotResolveHostError("no such host"), Verdict.DNS),
        (DownloadConnectionRefusedError("refused"), Verdict.CONNECTION),
        (ResponseDataLossError(), Verdict.TRUNCATED),
        (BadTls("no TLS"), Verdict.TLS),
        (cut(), Verdict.TLS),
        (RobotsUnreachable("https://x.example", cut()), Verdict.TLS),
        (BadCertificate("the certificate is expired"), Verdict.BAD_CERTIFICATE),
        (failed(SSL.Error([("", "", "wrong version number")])), Verdict.TLS),
        (failed(ConnectionLost()), Verdict.CONNECTION),
        (failed(TCPTimedOutError()), Verdict.TIMEOUT),
        (HostSetAside("a.example", CannotResolveHostError("no such host")), Verdict.DNS),
        (HostSetAside("a.example", DownloadTimeoutError("no byte")), Verdict.TIMEOUT),
        (OSError(101, "Network is unreachable"), Verdict.CONNECTION),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
def test_each_failure_has_its_verdict_and_a_sentence(error: Exception, verdict: Verdict) -> None:
    got, sentence = verdict_of(error)
    assert got is verdict
    assert sentence


def test_a_sentence_drives_no_terminal() -> None:
    assert verdict_of(BadHttp("\x1b[2J\nfake log line"))[1] == "\\x1b[2J\\nfake log line"


def test_an_error_without_words_is_called_by_its_type() -> None:
    assert verdict_of(ConnectionResetError())[1] == "ConnectionResetError"


def test_a_mistake_in_the_code_is_told_from_what_sites_do() -> None:
    assert is_bug(AttributeError("no such name"))
    assert is_bug(AssertionError())
    assert not is_bug(ConnectionResetError())
    assert not is_bug(ValueError("invalid hostname"))
    assert not is_bug(BadHttp("no HTTP"))
