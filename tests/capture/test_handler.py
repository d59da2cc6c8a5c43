"""What the wire carried is what the exchange holds.

One crawl in a process of its own asks for every case below; its exchanges are compared with what
the site sent and with the requests as the site saw them.
"""

from __future__ import annotations

import base64
import gzip
import json
import logging
import os
import random
import socket
import ssl
import sys
from dataclasses import astuple, dataclass, field
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.address import IPv4Address
from twisted.internet.endpoints import HostnameEndpoint, wrapClientTLS
from twisted.internet.protocol import Factory
from twisted.internet.ssl import optionsForClientTLS
from twisted.internet.testing import MemoryReactorClock

from lafka import settings
from lafka.capture.addresses import networks
from lafka.capture.client.answers import BODY_HANDED_ON, TEXT_HANDED_ON
from lafka.capture.client.routes import AddressRefused, GuardedReactor
from lafka.capture.exchanges import Exchange
from lafka.capture.handler import EXCHANGE_KEY, GROUP_KEY, READ_MAX_KEY, ExactDownloadHandler
from lafka.capture.recording import (
    DROPPED,
    HEAD_LIMIT,
    SHORTENED,
    TOO_BIG,
    BadCertificate,
    BadTls,
    ReadingLimits,
    Tap,
)
from lafka.errors import StorageTrouble
from tests import starts
from tests.sites.raw_bytes import Answer, RawSite, server_context
from tests.waiting import LIMIT

OK = b"HTTP/1.1 200 OK\r\n"
PDF = b"%PDF-1.7\n" + random.Random(1).randbytes(2_000_000) + b"\n%%EOF\n"
SMALL_PDF = PDF[:9] + b"0" * 3000 + PDF[-7:]
HTML = b"<!DOCTYPE html><title>x</title>" + b"<p>paper</p>" * 200
LONG_HTML = HTML + b"<p>more</p>" * 500_000


def sized(body: bytes, *fields: bytes, head: bytes = OK) -> bytes:
    lines = b"".join(line + b"\r\n" for line in fields)
    return head + lines + b"Content-Length: %d\r\n\r\n" % len(body) + body


def chunked(body: bytes, *, ext: bytes = b"", trailers: bytes = b"", size: int = 1000) -> bytes:
    chunks = [body[i : i + size] for i in range(0, len(body), size)]
    coded = b"".join(b"%x%s\r\n%s\r\n" % (len(chunk), ext, chunk) for chunk in chunks)
    return OK + b"Transfer-Encoding: chunked\r\n\r\n" + coded + b"0\r\n" + trailers + b"\r\n"


def split(data: bytes, seed: int, most: int = 40) -> tuple[bytes, ...]:
    chance = random.Random(seed)
    cuts = sorted(chance.sample(range(len(data)), min(chance.randrange(1, most), len(data) - 1)))
    return tuple(data[a:b] for a, b in zip([0, *cuts], [*cuts, None], strict=True))


@dataclass(frozen=True, kw_only=True)
class Case:
    """What the site does, how it is asked, and what must come of it.

    *sent* is what belongs to the exchange; *rest* is sent after it (*apart*: by a write of its
    own). *body* is what Scrapy gets,
    None for an error, whose class is *error*.
    """

    sent: bytes
    body: bytes | None = None
    rest: bytes = b""
    apart: bool = False
    splits: int | None = None
    then: str = "keep"
    stale: bool = False
    method: str = "GET"
    headers: dict[str, str] = field(default_factory=dict)
    data: str = ""
    miss_max: int = 0
    ended: str = "complete"
    truncated: str | None = None
    error: str | None = None
    flags: tuple[str, ...] = ()
    exact_end: bool = True  # False: we stop reading somewhere within what is sent
    too_big: bool = False
    dropped: bool = False
    meta: dict[str, Any] = field(default_factory=dict)

    def answer(self) -> Answer:
        sent = self.sent + self.rest
        parts = (sent,) if self.splits is None else split(sent, self.splits)
        parts = (self.sent, self.rest) if self.apart else parts
        return Answer(parts=parts, then=self.then, stale=self.stale)


def cut(sent: bytes, then: str = "close", error: str = "ResponseDataLossError", **how: Any) -> Case:
    """An answer whose connection ends before it is whole."""
    return Case(sent=sent, then=then, error=error, ended="cut", truncated="disconnect", **how)


def no_answer(sent: bytes, **how: Any) -> Case:
    """What is no answer, so that we end the connection."""
    return Case(sent=sent, error="BadHttp", ended="", truncated="disconnect", **how)


def late(sent: bytes, **how: Any) -> Case:
    """An answer that does not go on."""
    error = "DownloadTimeoutError"
    return Case(sent=sent, then="hold", error=error, ended="", truncated="time", **how)


def stopped(sent: bytes, **how: Any) -> Case:
    """An answer that we stop to read before it ends."""
    return Case(sent=sent, ended="", truncated="length", exact_end=False, **how)


def dropped(sent: bytes, miss_max: int = 65_536) -> Case:
    return stopped(sent, miss_max=miss_max, dropped=True, flags=(DROPPED,))


def too_big(sent: bytes, *flags: str, **how: Any) -> Case:
    return stopped(sent, too_big=True, flags=(TOO_BIG, *flags), **how)


def shortened(sent: bytes, body: bytes, **how: Any) -> Case:
    """An answer of which Scrapy gets the beginning alone."""
    return Case(sent=sent, body=body[:BODY_HANDED_ON], flags=(SHORTENED,), **how)


GZIPPED = gzip.compress(HTML, mtime=0)
GZIPPED_PDF = gzip.compress(PDF, mtime=0)
CASES = {
    "plain": Case(sent=sized(b"hello"), body=b"hello"),
    "kept": Case(sent=sized(b"again"), body=b"again"),
    "split": Case(sent=sized(HTML), body=HTML, splits=1),
    "bytewise": Case(sent=sized(b"hello"), body=b"hello", splits=2),
    "empty": Case(sent=sized(b""), body=b""),
    "chunked": Case(sent=chunked(HTML), body=HTML, splits=3),
    "chunk-extensions": Case(sent=chunked(HTML, ext=b';name="a b"'), body=HTML),
    "trailers": Case(
        sent=chunked(HTML, trailers=b"Checksum: 1\r\nChecksum: 2\r\n"), body=HTML, splits=4
    ),
    "head": Case(sent=OK + b"Content-Length: 5000000\r\n\r\n", body=b"", method="HEAD", splits=5),
    "not-modified": Case(
        sent=b"HTTP/1.1 304 Not Modified\r\nContent-Length: 77\r\nETag: x\r\n\r\n", body=b""
    ),
    "no-content": Case(sent=b"HTTP/1.1 204 No Content\r\n\r\n", body=b""),
    "early-hints": Case(
        sent=b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
        b"HTTP/1.1 100 Continue\r\n\r\n" + sized(b"at last"),
        body=b"at last",
        splits=6,
    ),
    "folded": Case(
        sent=sized(b"x", b"X-Long: one", b" two", b"\tthree", b"no colon here", b"Odd : 1"),
        body=b"x",
    ),
    "bare-lf": Case(
        sent=b"HTTP/1.1 200 OK\nContent-Type: text/html\ncontent-LENGTH:   3  \n\nabc",
        body=b"abc",
    ),
    "odd-head": Case(
        sent=sized(
            b"x",
            b"SET-cookie: a=1",
            b"set-Cookie:b=2",
            b"X-\xe9t\xe9: caf\xe9 \xff",
            b"Bad Name: 1",
            b"X-Empty:",
            head=b"HTTP/1.1 200 All's   w\xe9ll \r\n",
        ),
        body=b"x",
    ),
    "no-reason": Case(sent=sized(b"gone", head=b"HTTP/1.1 404\r\n"), body=b"gone"),
    "long-line": Case(sent=sized(b"x", b"X-Policy: " + b"p" * 60_000), body=b"x"),
    "http-1.0": Case(
        sent=b"HTTP/1.0 200 OK\r\n\r\n" + HTML,
        body=HTML,
        then="close",
        ended="closed",
        flags=("partial",),
    ),
    "reset-without-length": Case(
        sent=b"HTTP/1.0 200 OK\r\n\r\n" + HTML,
        body=HTML,
        then="reset",
        ended="cut",
        truncated="disconnect",
        flags=("partial",),
    ),
    "reset-behind-a-pdf": Case(
        sent=OK + b"\r\n" + SMALL_PDF, body=SMALL_PDF, then="reset", ended="cut", flags=("partial",)
    ),
    "reset-in-a-pdf": Case(
        sent=OK + b"\r\n" + SMALL_PDF[:-5],
        body=SMALL_PDF[:-5],
        then="reset",
        ended="cut",
        truncated="disconnect",
        flags=("partial",),
    ),
    "gzip": Case(sent=sized(GZIPPED, b"Content-Encoding: gzip"), body=GZIPPED, splits=7),
    "garbage": Case(
        sent=sized(b"right"),
        rest=b"HTTP/1.1 200 OK\r\n\r\nwrong",
        body=b"right",
        meta={GROUP_KEY: "garbage"},  # on a connection of others the answer would be in doubt
    ),
    "after-garbage": Case(sent=sized(b"fresh"), body=b"fresh"),
    "head-with-body": Case(sent=OK + b"\r\n", rest=b"body", body=b"", method="HEAD"),
    "stale": Case(sent=sized(b"second try"), body=b"second try", stale=True),
    "post": Case(sent=sized(b"taken"), body=b"taken", method="POST", data="a=1&b=\u00e9"),
    "secret": Case(
        sent=sized(b"x"),
        body=b"x",
        headers={"Authorization": "Basic c2VjcmV0", "proxy-authorization": "Basic c2VjcmV0"},
    ),
    "cut": cut(OK + b"Content-Length: 99\r\n\r\nhalf"),
    "cut-chunk": cut(chunked(HTML)[:-300]),
    "reset": cut(OK + b"Content-Length: 99\r\n\r\nhalf", then="reset"),
    "cut-head": cut(OK + b"Content-Le", error="DownloadFailedError"),
    "silent": cut(b"", error="DownloadFailedError"),
    "no-http": no_answer(b"SSH-2.0-x\r\n\r\n"),
    "no-http-and-more": no_answer(b"SSH-2.0-x\r\n\r\n", rest=bytes(60_000), apart=True),
    "two-lengths": no_answer(OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"),
    "endless-head": stopped(OK + b"X-Header: and so on\r\n" * 30_000, error="BadHttp"),
    "big-text": Case(
        sent=sized(LONG_HTML), body=LONG_HTML[:TEXT_HANDED_ON], flags=(SHORTENED,), splits=8
    ),
    "pdf": shortened(sized(PDF, b"Content-Type: text/html"), PDF),
    "chunked-pdf": shortened(chunked(PDF, size=70_000), PDF, splits=9),
    "cut-pdf": cut(sized(PDF)[:-9]),
    "wanted-pdf": shortened(sized(b"junk\r\n" + PDF), b"junk\r\n" + PDF, miss_max=1024),
    "wanted-pdf-gzip": shortened(
        sized(GZIPPED_PDF, b"Content-Encoding: gzip"), GZIPPED_PDF, miss_max=1024
    ),
    "unwanted": dropped(sized(LONG_HTML), miss_max=1024),
    "unwanted-gzip": dropped(
        sized(
            gzip.compress(LONG_HTML + random.Random(2).randbytes(500_000)),
            b"Content-Encoding: gzip",
        ),
        miss_max=1024,
    ),
    "viewer": Case(sent=sized(HTML * 30), body=HTML * 30, miss_max=65_536),
    "viewer-too-long": dropped(sized(LONG_HTML * 4)),
    "no-viewer": dropped(sized(random.Random(3).randbytes(900_000))),
    "unwanted-but-whole": Case(sent=sized(HTML), body=HTML, miss_max=1024),
    "unwanted-short": Case(sent=sized(b"no"), body=b"no", miss_max=1024),
    "undecodable": shortened(sized(PDF, b"Content-Encoding: compress"), PDF, miss_max=1024),
    "fields-not-utf-8": Case(
        sent=sized(b"hello", b"Content-Type: \xff\xfe", b"Content-Encoding: \xff"), body=b"hello"
    ),
    "coding-of-rfc-2616": Case(
        sent=OK + b"Transfer-Encoding: Identity\r\nContent-Length: 5\r\n\r\nhello", body=b"hello"
    ),
    "no-line-of-http": cut(b"\x15\x03\x01\x00\x02\x02\x46", error="BadHttp"),
    "interim-and-no-more": cut(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nhello", error="BadHttp"
    ),
    "slow": late(OK + b"Content-Length: 99\r\n\r\nhalf", meta={"download_timeout": 8}),
    "slow-head": late(b"HTTP/1.1 200", meta={"download_timeout": 8}),
}
TLS_CASES = ["plain", "kept", "split", "trailers", "pdf", "unwanted", "cut", "post", "stale"]
TLS_CASES += ["early-hints", "garbage", "after-garbage", "http-1.0", "reset-without-length"]
TLS_CASES += ["reset-behind-a-pdf", "reset-in-a-pdf"]
TLS_CASES += ["endless-head", "no-http-and-more"]
TLS_ONLY = ["no-http-and-more"]  # over TLS a record comes alone
PROXY_CASES = ["plain", "kept", "split", "trailers", "pdf", "cut", "post", "secret", "stale"]

LIMITED = {
    "announced": too_big(sized(HTML * 500)),
    "unannounced": too_big(chunked(PDF), SHORTENED),
    "endless": too_big(b"HTTP/1.0 200 OK\r\n\r\n" + PDF, SHORTENED, then="hold"),
    "over-its-own-limit": too_big(sized(HTML * 50), meta={"download_maxsize": 1000}),
    "just-fits": shortened(sized(PDF[:200_000]), PDF),
    "head-of-a-big-one": Case(
        sent=OK + b"Content-Length: 9999999\r\n\r\n", body=b"", method="HEAD"
    ),
    "stalled": late(OK + b"Content-Length: 99\r\n\r\nhalf"),
    "stalled-without-length": late(OK + b"\r\nhalf"),
}


def busy_case(seed: int) -> Case:
    chance = random.Random(seed)
    body = chance.choice((HTML, b"%PDF-" + chance.randbytes(chance.randrange(60_000)), b""))
    sent = chance.choice(
        (
            sized(body),
            sized(body, b"Connection: close"),
            chunked(body, trailers=chance.choice((b"", b"T: 1\r\n"))),
            b"HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n" + sized(body),
        )
    )
    then = "close" if b"Connection" in sent else "keep"
    stale = chance.random() < 0.1
    return Case(sent=sent, body=body, splits=seed if seed % 3 else None, then=then, stale=stale)


BUSY = {f"busy-{seed}": busy_case(seed) for seed in range(150)}


def site_of(names: Any, cases: dict[str, Case], **options: Any) -> RawSite:
    return RawSite({f"/{name}": cases[name].answer() for name in names}, **options)


def with_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


def asked(site_url: str, name: str, case: Case, **meta: Any) -> dict[str, Any]:
    return {
        "url": f"{site_url}/{name}?q=%20a",
        "method": case.method,
        "headers": case.headers,
        "body": case.data,
        "miss_max": case.miss_max,
        "meta": {GROUP_KEY: "all", **case.meta, **meta},
    }


ANY = {"LAFKA_ALLOWED_NETWORKS": ["127.0.0.0/8"]}


@pytest.fixture(scope="session")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The sites as they were left, the log, and what each crawl brought, by case."""
    context = server_context(tmp_path_factory.mktemp("tls"))
    strict = server_context(tmp_path_factory.mktemp("tls"))
    strict.maximum_version = ssl.TLSVersion.TLSv1_2
    strict.verify_mode = ssl.CERT_REQUIRED
    trusted_folder = tmp_path_factory.mktemp("tls")
    trusted_context = server_context(trusted_folder)
    spool = str(tmp_path_factory.mktemp("spool"))
    settings = {**ANY, "LAFKA_SPOOL_DIR": spool}
    with (
        site_of(CASES, CASES) as http,
        site_of(TLS_CASES, CASES, tls=True, context=context) as https,
        site_of(PROXY_CASES, CASES, context=context) as proxy,
        site_of(PROXY_CASES, CASES) as plain_proxy,
        site_of(LIMITED, LIMITED) as limited,
        site_of(BUSY, BUSY) as busy,
        site_of(BUSY, BUSY, tls=True, context=context) as busy_tls,
        site_of(["plain"], CASES) as refused,
        site_of(["plain"], CASES, tls=True, context=strict) as bad_tls,
        site_of(["plain", "kept"], CASES, tls=True, context=trusted_context) as trusted,
        site_of(["plain"], CASES, tls=True, context=context) as untrusted,
        site_of(["plain"], CASES, context=context) as untrusted_proxy,
        site_of(["plain"], CASES, address="::1" if with_ipv6() else "127.0.0.1") as ipv6,
    ):
        far = "https://paper.example"
        groups = {
            "http": (
                settings,
                [asked(http.url, name, CASES[name]) for name in CASES if name not in TLS_ONLY],
            ),
            "https": (settings, [asked(https.url, name, CASES[name]) for name in TLS_CASES]),
            "proxy": (
                settings,
                [asked(far, name, CASES[name], proxy=proxy.url) for name in PROXY_CASES],
            ),
            "plain-proxy": (
                settings,
                [
                    asked("http://paper.example", name, CASES[name], proxy=plain_proxy.url)
                    for name in PROXY_CASES
                ],
            ),
            "limited": (
                {**settings, "LAFKA_MAX_PAYLOAD": 200_000, "LAFKA_STALL_TIMEOUT": 8},
                [asked(limited.url, name, case) for name, case in LIMITED.items()],
            ),
            "busy": (
                {**settings, "CONCURRENT_REQUESTS": 16},
                [asked(site.url, name, BUSY[name]) for name in BUSY for site in (busy, busy_tls)],
            ),
            "refused": (
                {},
                [
                    asked(url, "plain", CASES["plain"], **meta)
                    for url, meta in (
                        (refused.url, {}),
                        (refused.url.replace("127.0.0.1", "localhost"), {}),
                        (refused.url.replace("127.0.0.1", "2130706433"), {}),
                        (refused.url.replace("127.0.0.1", "[::ffff:127.0.0.1]"), {}),
                        (far, {"proxy": refused.url}),
                        (far, {"proxy": refused.url.replace("127.0.0.1", "localhost")}),
                        ("http://paper.example", {"proxy": refused.url}),
                    )
                ],
            ),
            "refused-behind-proxy": (
                settings,
                [
                    asked(url, "plain", CASES["plain"], proxy=refused.url)
                    for url in ("http://10.0.0.1", "https://169.254.169.254", "http://0xA000001")
                ],
            ),
            "bad-tls": (settings, [asked(bad_tls.url, "plain", CASES["plain"])]),
            "ipv6": (
                {**settings, "LAFKA_ALLOWED_NETWORKS": ["::1/128"]},
                [asked(ipv6.url, "plain", CASES["plain"])],
            ),
            "tls-strict": (
                {**settings, "LAFKA_TLS_STRICT": True},
                [
                    asked(trusted.url, "plain", CASES["plain"]),
                    asked(trusted.url, "kept", CASES["kept"]),
                    asked(untrusted.url, "plain", CASES["plain"]),
                    asked(trusted.url.replace("127.0.0.1", "localhost"), "plain", CASES["plain"]),
                    asked(far, "plain", CASES["plain"], proxy=untrusted_proxy.url),
                ],
            ),
            "no-disk": (
                {**ANY, "LAFKA_SPOOL_DIR": f"{spool}/gone"},
                [asked(http.url, "pdf", CASES["pdf"])],
            ),
        }
        crawl = starts.run(
            [sys.executable, "-m", "tests.capture.test_handler"],
            input=json.dumps(groups),
            capture_output=True,
            text=True,
            cwd=Path(__file__).parents[2],
            env={
                **os.environ,
                "PYTHONWARNINGS": "error::DeprecationWarning:lafka",
                "SSL_CERT_FILE": str(trusted_folder / "site.pem"),
            },
            timeout=LIMIT,
        )
    assert crawl.returncode == 0, crawl.stderr
    found: dict[str, Any] = {"log": crawl.stderr, "spool": spool}
    for line in crawl.stdout.splitlines():
        result = json.loads(line)
        found.setdefault(result["group"], []).append(result)
    found["sites"] = {
        "http": http,
        "https": https,
        "proxy": proxy,
        "plain-proxy": plain_proxy,
        "limited": limited,
        "busy": busy,
        "busy-tls": busy_tls,
        "refused": refused,
        "trusted": trusted,
        "untrusted": untrusted,
        "untrusted-proxy": untrusted_proxy,
    }
    return found


def bytes_of(text: str) -> bytes:
    return base64.b64decode(text)


def without_secret(request: bytes) -> bytes:
    return request.replace(b"Basic c2VjcmV0", b"[removed]")


EXACT = (
    [("http", name) for name in CASES if name not in TLS_ONLY]
    + [("https", name) for name in TLS_CASES]
    + [("proxy", name) for name in PROXY_CASES]
    + [("plain-proxy", name) for name in PROXY_CASES]
    + [("limited", name) for name in LIMITED]
)


def result_of(crawled: dict[str, Any], group: str, name: str) -> dict[str, Any]:
    return next(r for r in crawled[group] if f"/{name}?" in r["url"])


@pytest.mark.parametrize(("group", "name"), EXACT)
def test_the_exchange_is_what_the_wire_carried(crawled, group, name):
    case = (LIMITED if group == "limited" else CASES)[name]
    got = result_of(crawled, group, name)
    response = bytes_of(got["response"])
    if case.exact_end:
        assert response == case.sent
    else:
        assert case.sent.startswith(response)
        assert 0 < len(response) < len(case.sent)
    seen = crawled["sites"][group].requests[f"/{name}"][-1]
    assert bytes_of(got["request"]) == without_secret(seen)
    assert got["exact"]
    assert got["method"] == case.method
    assert got["tls"] == (group in ("https", "proxy"))
    assert got["ip_address"] == "127.0.0.1"
    assert got["started"].endswith("+00:00")


@pytest.mark.parametrize(("group", "name"), EXACT)
def test_how_it_ended_is_told(crawled, group, name):
    case = (LIMITED if group == "limited" else CASES)[name]
    got = result_of(crawled, group, name)
    assert got["error"] == case.error, got["message"]
    assert (got["ended"], got["truncated"]) == (case.ended, case.truncated)
    assert (got["dropped"], got["too_big"]) == (case.dropped, case.too_big)
    if case.error is None:
        assert tuple(got["flags"]) == case.flags
    if case.body is not None:
        assert bytes_of(got["body"]) == case.body


def test_many_at_once_on_kept_connections_are_as_exact(crawled):
    assert len(crawled["busy"]) == 2 * len(BUSY)
    for got in crawled["busy"]:
        case = BUSY[got["url"].partition("?")[0].rpartition("/")[2]]
        assert (got["error"], got["exact"], got["ended"]) == (None, True, "complete"), got["url"]
        assert bytes_of(got["response"]) == case.sent
        assert bytes_of(got["body"]) == case.body
    assert 2 < sum(crawled["sites"][name].connections for name in ("busy", "busy-tls")) < 250


def test_connections_are_kept(crawled):
    # each site: one, and one more after each answer whose connection cannot be kept
    assert crawled["sites"]["plain-proxy"].connections == 3  # "cut", "stale"
    assert len(crawled["sites"]["plain-proxy"].requests["/stale"]) == 2


def test_a_connection_with_bytes_that_nobody_asked_for_is_not_kept(crawled):
    for group in ("http", "https"):
        by_path = dict(crawled["sites"][group].events)
        assert by_path["/after-garbage"] != by_path["/garbage"]
        assert by_path["/kept"] == by_path["/plain"]


def test_what_is_not_wanted_is_not_read_on(crawled):
    events = crawled["sites"]["limited"].events
    assert events.index(("/endless", 0)) < len(events) - 2


def test_no_progress_is_told_apart_from_a_slow_whole(crawled):
    for name in ("stalled", "stalled-without-length"):
        assert "no byte for 8 seconds" in result_of(crawled, "limited", name)["message"]
    assert "took longer than 8 seconds" in result_of(crawled, "http", "slow")["message"]


def test_the_rate_is_that_of_windows_of_five_stall_timeouts():
    tap = Tap(
        Exchange(url="http://a/", method="GET"),
        ReadingLimits(stall=2, rate=100),
        lambda: datetime.now(UTC),
        miss_max=0,
    )
    tap._window = 0.0, 0
    tap.exchange.response.append(b"x" * 900)
    assert tap._rate(9.9) == inf
    assert tap._rate(10.0) == 90
    assert tap._rate(19.0) == inf
    tap.exchange.response.append(b"x" * 2000)
    assert tap._rate(20.0) == 200


def test_the_secret_went_to_the_site_and_not_into_the_exchange(crawled):
    assert b"c2VjcmV0" in crawled["sites"]["http"].requests["/secret"][0]
    assert b"c2VjcmV0" not in bytes_of(result_of(crawled, "http", "secret")["request"])


def test_a_proxys_handshake_is_no_part_of_the_exchange(crawled):
    proxy = crawled["sites"]["proxy"]
    assert len(proxy.requests["paper.example:443"]) == proxy.connections
    assert all(b"X-Proxy" not in bytes_of(r["response"]) for r in crawled["proxy"])


def test_big_bodies_are_spooled_to_the_disk(crawled):
    assert result_of(crawled, "http", "pdf")["on_disk"]
    assert not result_of(crawled, "http", "plain")["on_disk"]
    assert list(Path(crawled["spool"]).iterdir()) == []


def test_the_head_is_limited(crawled):
    got = result_of(crawled, "http", "endless-head")
    assert HEAD_LIMIT < len(bytes_of(got["response"])) <= 2 * HEAD_LIMIT


def test_addresses_that_are_not_allowed_are_not_asked(crawled):
    assert [r["error"] for r in crawled["refused"]] == ["AddressRefused"] * 7
    assert [r["error"] for r in crawled["refused-behind-proxy"]] == ["AddressRefused"] * 3
    assert all(r["started"] is None for r in crawled["refused"])
    assert crawled["sites"]["refused"].connections == 0


def test_no_tls_is_told_apart(crawled):
    (got,) = crawled["bad-tls"]
    assert got["error"] == BadTls.__name__
    assert (got["started"], got["request"], got["truncated"]) == (None, "", None)


def test_what_tls_says_is_noted_whether_a_connection_is_new_or_kept(crawled):
    for group in ("https", "proxy"):
        for got in crawled[group]:
            assert got["secured"] == ["tls/1.3", "TLS_AES_256_GCM_SHA384", ["self-signed"]]
    assert all(got["secured"] is None for got in crawled["http"])


def test_strictly_only_a_certificate_that_is_right_is_sent_a_request(crawled):
    sites = crawled["sites"]
    got = {got["url"].partition("?")[0]: got for got in crawled["tls-strict"]}
    for name in ("plain", "kept"):  # on one connection
        taken = got.pop(f"{sites['trusted'].url}/{name}")
        assert taken["error"] is None
        assert taken["secured"] == ["tls/1.3", "TLS_AES_256_GCM_SHA384", ["ok"]]
    faults = {
        f"{sites['untrusted'].url}/plain": "self-signed",
        f"https://localhost:{sites['trusted'].port}/plain": "wrong-host",
        "https://paper.example/plain": "self-signed",
    }
    assert {url: one["message"].rpartition(": ")[2] for url, one in got.items()} == faults
    for refused in got.values():
        assert refused["error"] == BadCertificate.__name__
        assert (refused["started"], refused["request"], refused["truncated"]) == (None, "", None)
    assert sites["untrusted"].requests == {}
    assert list(sites["untrusted-proxy"].requests) == ["paper.example:443"]
    assert len(sites["trusted"].requests["/plain"]) == 1


@pytest.mark.skipif(not with_ipv6(), reason="no IPv6 on this machine")
def test_a_host_with_ipv6_alone_is_asked(crawled):
    (got,) = crawled["ipv6"]
    assert (got["error"], got["ip_address"]) == (None, "::1")
    assert bytes_of(got["response"]) == CASES["plain"].sent


def test_a_disk_that_does_not_take_the_bytes_ends_the_download(crawled):
    (got,) = crawled["no-disk"]
    assert got["error"] == StorageTrouble.__name__
    assert "gone" in got["message"]


def test_the_log_is_quiet(crawled):
    expected = ("Got data loss", 'not valid for hostname "localhost"')
    lines = crawled["log"].splitlines()
    assert [line for line in lines if not any(said in line for said in expected)] == []


class Reactor:
    """Notes where it was told to connect."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def connectTCP(self, host, port, factory, timeout, bindAddress):
        self.asked.append(host)


def test_the_guard_connects_to_no_name():
    reactor = Reactor()
    guarded = GuardedReactor(reactor, networks(["127.0.0.0/8"]))
    for name in ("outside.example", "localhost", "0x7f000001"):
        with pytest.raises(AddressRefused, match="only addresses can be judged"):
            guarded.connectTCP(name, 80, None)
    assert reactor.asked == []


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "::ffff:10.0.0.1", "169.254.169.254"])
def test_the_guard_refuses_before_it_connects(host):
    reactor = Reactor()
    with pytest.raises(AddressRefused, match="not a public address"):
        GuardedReactor(reactor, ()).connectTCP(host, 80, None)
    assert reactor.asked == []


def test_the_guard_lets_through_what_is_allowed():
    reactor = Reactor()
    guarded = GuardedReactor(reactor, networks(["10.0.0.0/8"]))
    for host in ("192.0.66.1", "2a00:1450:4001:80b::200e", "10.1.1.1"):
        guarded.connectTCP(host, 80, None)
    assert reactor.asked == ["192.0.66.1", "2a00:1450:4001:80b::200e", "10.1.1.1"]


class Resolving(MemoryReactorClock):
    """A reactor in memory whose resolver knows one name."""

    def __init__(self, *addresses: str) -> None:
        super().__init__()
        self.addresses = addresses
        self.nameResolver = self

    def resolveHostName(self, receiver, hostName, portNumber):
        for address in self.addresses:
            receiver.addressResolved(IPv4Address("TCP", address, portNumber))
        receiver.resolutionComplete()


def test_each_address_of_a_name_is_judged():
    reactor = Resolving("10.0.0.1", "192.0.66.1", "169.254.169.254")
    endpoint = HostnameEndpoint(GuardedReactor(reactor, ()), "three.example", 80)
    endpoint.connect(Factory())
    reactor.pump([1.0, 1.0, 1.0])
    assert [client[0] for client in reactor.tcpClients] == ["192.0.66.1"]


def test_a_name_without_an_allowed_address_is_refused():
    reactor = Resolving("10.0.0.1", "127.0.0.1")
    endpoint = HostnameEndpoint(GuardedReactor(reactor, ()), "two.example", 443)
    wrapped = wrapClientTLS(optionsForClientTLS("two.example"), endpoint)
    failures = []
    wrapped.connect(Factory()).addErrback(failures.append)
    reactor.pump([1.0, 1.0, 1.0])
    assert failures[0].check(AddressRefused)
    assert reactor.tcpClients == []


def test_the_guard_makes_no_other_connections():
    with pytest.raises(AddressRefused, match="only TCP"):
        GuardedReactor(Reactor(), ()).connectUNIX("/run/docker.sock", None)


def main() -> None:
    """The crawl: groups of requests with their settings on stdin, JSON lines on stdout."""
    from scrapy.crawler import AsyncCrawlerProcess, Crawler

    process = AsyncCrawlerProcess(
        {"LOG_LEVEL": "WARNING", "TWISTED_DNS_RESOLVER": settings.TWISTED_DNS_RESOLVER}
    )
    for group, (own, requests) in json.load(sys.stdin).items():
        fixed = {
            "DOWNLOAD_HANDLERS": dict.fromkeys(
                ("http", "https"),
                f"{ExactDownloadHandler.__module__}.{ExactDownloadHandler.__name__}",
            ),
            "DOWNLOADER_MIDDLEWARES_BASE": {},
            "SPIDER_MIDDLEWARES_BASE": {},
            "CONCURRENT_REQUESTS": 1,
            "DOWNLOAD_MAXSIZE": 0,
            "LOG_LEVEL": "WARNING",
            "EXTENSIONS_BASE": {},
        }
        process.crawl(Crawler(spider_class(), {**fixed, **own}), group=group, asked=requests)
    process.start()


def spider_class() -> Any:
    import scrapy

    class Recorder(scrapy.Spider):
        name = "recorder"
        group: str
        asked: list[dict[str, Any]]

        async def start(self):
            for number, request in enumerate(self.asked):
                meta = request["meta"] | {READ_MAX_KEY: request["miss_max"]}
                yield scrapy.Request(
                    request["url"],
                    method=request["method"],
                    headers=request["headers"],
                    body=request["body"],
                    meta=meta,
                    callback=self.answered,
                    errback=self.failed,
                    dont_filter=True,
                    priority=-number,
                )

        def answered(self, response):
            body = base64.b64encode(response.body).decode()
            self.tell(response.request, {"flags": response.flags, "body": body, "error": None})

        def failed(self, failure):
            error = {"error": type(failure.value).__name__, "message": str(failure.value)}
            self.tell(failure.request, error)

        def tell(self, request, result):
            exchange = request.meta[EXCHANGE_KEY]
            response = exchange.response.read(0, exchange.response.size)
            result = (
                {"message": ""}
                | result
                | {
                    "group": self.group,
                    "url": exchange.url,
                    "method": exchange.method,
                    "request": base64.b64encode(exchange.request).decode(),
                    "response": base64.b64encode(response).decode(),
                    "started": exchange.started and exchange.started.isoformat(),
                    "on_disk": exchange.response.fileno() is not None,
                    "secured": exchange.secured and astuple(exchange.secured),
                }
            )
            for name in ("ip_address", "tls", "ended", "truncated", "exact", "dropped", "too_big"):
                result[name] = getattr(exchange, name)
            print(json.dumps(result))

    return Recorder


if __name__ == "__main__":
    logging.getLogger("twisted").setLevel(logging.ERROR)
    main()
