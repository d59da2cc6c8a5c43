"""Scrapy's settings, signals, flags and exceptions mean what they mean in its own handler.

One process asks a site for all cases, by the handler alone; what came is compared here.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.exceptions import UnsupportedURLSchemeError

from lafka.capture.client.requests import Route, wire_request
from lafka.capture.handler import SINK_KEY
from lafka.warc.format.fields import Fields
from tests import starts
from tests.sites.raw_bytes import Answer, RawSite, server_context
from tests.waiting import LIMIT

ROOT = Path(__file__).parents[2]
OK = b"HTTP/1.1 200 OK\r\n"
BODY = b"<html>paper</html>" * 20


def sized(*fields: bytes, head: bytes = OK) -> bytes:
    lines = b"".join(field + b"\r\n" for field in fields)
    return head + lines + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY


ANSWERS = {
    "/plain": Answer(parts=(sized(b"Content-Type: text/html", b"X-A: 1", b"x-a: 2"),)),
    "/again": Answer(parts=(sized(),)),
    "/none": Answer(parts=(b"HTTP/1.1 204 No Content\r\n\r\n",)),
    "/close": Answer(parts=(sized(b"Connection: Close"),)),
    "/old": Answer(parts=(sized(head=b"HTTP/1.0 200 OK\r\n"),)),
    "/cut": Answer(parts=(sized()[:-5],), then="close"),
    "/chunks": Answer(parts=(OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nno\r\n",)),
    "/endless": Answer(parts=(OK + b"X-A: 1\r\n\r\n" + BODY,), then="close"),
    "/hold": Answer(parts=(sized()[:-5],), then="hold"),
    "/stale": Answer(parts=(sized(),), stale=True),
}
# What is asked, by name: path or URL, and what the request or the settings have of their own.
ASKED: dict[str, dict[str, Any]] = {
    "plain": {"at": "/plain"},
    "none": {"at": "/none"},
    "stopped-at-the-head": {"at": "/again", "meta": {"stop": "headers"}},
    "stopped-in-the-body": {"at": "/again", "meta": {"stop": "bytes"}},
    "stopped-and-failed": {"at": "/again", "meta": {"stop": "headers", "fail": True}},
    "too-big-for-scrapy": {"at": "/again", "maxsize": 50},
    "cut": {"at": "/cut"},
    "cut-and-taken": {"at": "/cut", "meta": {"download_fail_on_dataloss": False}},
    "chunks-and-taken": {"at": "/chunks", "meta": {"download_fail_on_dataloss": False}},
    "bound": {"at": "/again", "meta": {"bindaddress": "127.0.0.9"}},
    "close": {"at": "/close"},
    "after-close": {"at": "/again"},
    "old": {"at": "/old"},
    "after-old": {"at": "/again"},
    "post-to-a-stale-one": {"at": "/stale", "method": "POST"},
    "no-name": {"at": "http://no.such.name.invalid/"},
    "refused": {"at": "http://127.0.0.1:1/"},
    "no-tunnel": {"at": "https://paper.example/", "meta": {"proxy": "SITE"}},
    "no-proxy": {"at": "https://paper.example/", "meta": {"proxy": "http://127.0.0.1:1"}},
    "proxy-by-tls": {"at": "https://paper.example/", "meta": {"proxy": "https://127.0.0.1:1"}},
    "tls": {"at": "TLS/again"},
    "cancelled": {"at": "/hold", "cancel": True},
    "taken": {"at": "/plain", "sink": True},
    "taken-to-the-close": {"at": "/endless", "sink": True},
}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    context = server_context(tmp_path_factory.mktemp("tls"))
    with (
        RawSite(ANSWERS) as site,
        RawSite(ANSWERS, tls=True, context=context) as tls,
        RawSite(ANSWERS, context=context) as proxy,
    ):
        places = {"site": site.url, "tls": tls.url, "proxy": proxy.url}
        run = starts.run(
            [sys.executable, "-m", "tests.capture.test_downloads", json.dumps(places)],
            capture_output=True, text=True, cwd=ROOT, timeout=LIMIT, check=False,
        )  # fmt: skip
    assert run.returncode == 0, run.stderr
    found: dict[str, Any] = json.loads(run.stdout)
    return {**found, "events": site.events, "through": proxy.requests, "log": run.stderr}


def test_a_response_has_what_scrapy_gives_it(done: dict[str, Any]) -> None:
    plain = done["plain"]
    assert plain["body"] == BODY.decode()
    assert plain["class"] == "HtmlResponse"
    assert plain["headers"] == {
        "Content-Length": [str(len(BODY))], "Content-Type": ["text/html"], "X-A": ["1", "2"],
    }  # fmt: skip
    assert (plain["protocol"], plain["ip_address"]) == ("HTTP/1.1", "127.0.0.1")
    assert plain["latency"] > 0
    assert plain["flags"] == []
    assert plain["certificate"] is None
    none = done["none"]
    assert (none["status"], none["body"], none["ip_address"]) == (204, "", "127.0.0.1")
    assert "127.0.0.1" in done["tls"]["certificate"]


def test_signals_are_sent_and_may_stop_it(done: dict[str, Any]) -> None:
    assert done["plain"]["heard"] == [["headers", len(BODY)], ["bytes", len(BODY)]]
    assert done["none"]["heard"] == [["headers", 0]]
    head, body = done["stopped-at-the-head"], done["stopped-in-the-body"]
    assert (head["body"], head["flags"], head["truncated"]) == ("", ["download_stopped"], "length")
    assert (body["body"], body["flags"]) == (BODY.decode(), ["download_stopped"])
    assert done["stopped-and-failed"]["error"] == "StopDownload"


def test_a_sink_is_told_the_head_and_takes_the_body(done: dict[str, Any]) -> None:
    fields = [["Content-Type", "text/html"], ["X-A", "1"], ["x-a", "2"]]
    length = ["Content-Length", str(len(BODY))]
    assert done["taken"]["sink"] == [200, [*fields, length], BODY.decode()]
    assert done["taken-to-the-close"]["sink"] == [200, [["X-A", "1"]], BODY.decode()]


def test_settings_mean_what_they_meant(done: dict[str, Any]) -> None:
    big = done["too-big-for-scrapy"]
    assert (big["error"], big["truncated"]) == ("DownloadCancelledError", "length")
    assert done["cut"]["error"] == "ResponseDataLossError"
    taken = done["cut-and-taken"]
    assert (taken["flags"], taken["body"]) == (["dataloss"], BODY[:-5].decode())
    assert (taken["ended"], taken["truncated"]) == ("cut", "disconnect")
    chunks = done["chunks-and-taken"]
    assert (chunks["flags"], chunks["body"]) == (["dataloss"], "abc")
    assert (chunks["ended"], chunks["truncated"]) == ("", "disconnect")
    assert done["bound"]["error"] is None


def test_connections_end_where_the_other_end_says_so(done: dict[str, Any]) -> None:
    order = [number for path, number in done["events"] if path in ("/close", "/old")]
    after = [
        done["events"][place + 1][1]
        for place, (path, _) in enumerate(done["events"])
        if path in ("/close", "/old")
    ]
    assert len(order) == 2
    assert all(a != b for a, b in zip(order, after, strict=True))


def test_what_may_not_be_repeated_is_asked_once(done: dict[str, Any]) -> None:
    assert done["post-to-a-stale-one"]["error"] == "DownloadFailedError"
    assert [path for path, _ in done["events"]].count("/stale") == 1


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("no-name", "CannotResolveHostError"),
        ("refused", "DownloadConnectionRefusedError"),
        ("no-tunnel", "TunnelError"),
        ("no-proxy", "DownloadConnectionRefusedError"),
        ("proxy-by-tls", "NotImplementedError"),
        ("cancelled", "CancelledError"),
    ],
)
def test_failures_are_told_as_scrapy_tells_them(
    done: dict[str, Any], name: str, error: str
) -> None:
    assert done[name]["error"] == error


def test_what_a_proxy_says_is_told(done: dict[str, Any]) -> None:
    assert done["no-tunnel"]["message"].endswith("[{'status': 403, 'reason': b'Forbidden'}]")


def test_a_download_that_is_cancelled_is_broken_off(done: dict[str, Any]) -> None:
    assert ("/hold", 0) in done["events"]  # the site saw us go


def test_secrets_of_a_proxy_go_to_the_proxy_alone(done: dict[str, Any]) -> None:
    (connect,) = done["through"]["paper.example:443"]
    assert connect == (
        b"CONNECT paper.example:443 HTTP/1.1\r\nHost: paper.example:443\r\n"
        b"Proxy-Authorization: Basic x\r\n\r\n"
    )
    assert done["through"]["/again"] == [b"GET /again HTTP/1.1\r\nHost: paper.example\r\n\r\n"]


def written(url: str, **options: Any) -> bytes:
    return wire_request(Request(url, **options)).head


PROXY = {"proxy": "http://127.0.0.1:3128"}


@pytest.mark.parametrize(
    ("url", "options", "head"),
    [
        ("http://a.example", {}, "GET / HTTP/1.1|Host: a.example"),
        ("http://a.example/b;c?d=e#f", {}, "GET /b;c?d=e HTTP/1.1|Host: a.example"),
        ("http://a.example:81/?", {}, "GET / HTTP/1.1|Host: a.example:81"),
        ("http://[::1]:80/", {}, "GET / HTTP/1.1|Host: [::1]"),
        ("https://a.example:443/b", {}, "GET /b HTTP/1.1|Host: a.example"),
        ("http://a.example/b", {"meta": PROXY}, "GET http://a.example/b HTTP/1.1|Host: a.example"),
        ("https://a.example/b", {"meta": PROXY}, "GET /b HTTP/1.1|Host: a.example"),
        ("http://a.example/", {"method": "POST"},
         "POST / HTTP/1.1|Content-Length: 0|Host: a.example"),
        ("http://a.example/", {"method": "PUT", "body": b"abc"},
         "PUT / HTTP/1.1|Content-Length: 3|Host: a.example"),
        ("http://a.example/", {"headers": {"etag": "x", "x-a": ["1", "2"], "Host": "b"}},
         "GET / HTTP/1.1|ETag: x|X-A: 1|X-A: 2|Host: b"),
        ("http://a.example/", {"headers": {"X-A": "1\r\n2"}},
         "GET / HTTP/1.1|X-A: 1 2|Host: a.example"),
    ],
)  # fmt: skip
def test_requests_are_written_as_scrapy_writes_them(
    url: str, options: dict[str, Any], head: str
) -> None:
    assert written(url, **options) == head.replace("|", "\r\n").encode() + b"\r\n\r\n"


@pytest.mark.parametrize(
    ("url", "options", "error"),
    [
        ("http://a.example/", {"method": "GE T"}, ValueError),
        ("http://a.example/", {"headers": {"Bad Name": "1"}}, ValueError),
        ("http://a.example/", {"headers": {"Host": ["a", "b"]}}, ValueError),
        ("http://a.example/", {"meta": {"proxy": "ftp://a.example"}}, UnsupportedURLSchemeError),
        ("ftp://a.example/", {}, UnsupportedURLSchemeError),
    ],
)
def test_what_cannot_be_written_is_refused(url: str, options: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        written(url, **options)


def test_a_route_is_all_that_tells_connections_apart() -> None:
    def route(url: str, **meta: Any) -> Route:
        headers = {"Proxy-Authorization": "x"}
        return wire_request(Request(url, meta=meta, headers=headers)).route

    plain = route("http://a.example/b")
    assert plain == route("http://a.example:80/c")
    others = [
        route("https://a.example/b"),
        route("http://a.example:81/b"),
        route("http://a.example/b", bindaddress="127.0.0.2"),
        route("http://a.example/b", **PROXY),
        route("https://a.example/b", **PROXY),
    ]
    assert len({plain, *others}) == 6
    assert others[3] == route("http://b.example/", proxy="127.0.0.1:3128")
    assert asdict(others[4])["tunnel"] == ("127.0.0.1", 3128)
    assert others[4].authorization == b"x"


async def ask_all(places: dict[str, str]) -> dict[str, Any]:
    from scrapy import Spider, signals
    from scrapy.crawler import Crawler
    from scrapy.exceptions import StopDownload

    from lafka.capture.addons import WholeDownloadHandler

    crawler = Crawler(Spider, {"LAFKA_ALLOWED_NETWORKS": ["127.0.0.0/8"], "LOG_LEVEL": "ERROR"})
    crawler._apply_settings()
    crawler.spider = Spider("one")
    heard: list[Any] = []

    def hear(signal: str, size: Any, request: Any) -> None:
        heard.append([signal, size if isinstance(size, int) else None])
        if request.meta.get("stop") == signal:
            raise StopDownload(fail=request.meta.get("fail", False))

    def headers_came(headers: Any, body_length: Any, request: Any) -> None:
        hear("headers", body_length, request)

    def bytes_came(data: bytes, request: Any) -> None:
        hear("bytes", len(data), request)

    crawler.signals.connect(headers_came, signals.headers_received)
    crawler.signals.connect(bytes_came, signals.bytes_received)
    handler = WholeDownloadHandler(crawler)
    found = {}
    for name, one in {**ASKED, **through(places)}.items():
        heard.clear()
        handler._settings.maxsize = one.get("maxsize", 0)
        found[name] = await asked_for(handler, one, places) | {"heard": [*heard]}
    await handler.close()
    return found


def through(places: dict[str, str]) -> dict[str, dict[str, Any]]:
    headers = {"Proxy-Authorization": "Basic x"}
    return {
        "through": {
            "at": "https://paper.example/again",
            "meta": {"proxy": places["proxy"]},
            "headers": headers,
        }
    }


@dataclass
class Sink:
    """A taker of a body; ``told`` is its status, its fields and what came."""

    told: list[Any] = field(default_factory=list)

    def wants(self, status: int, fields: Fields) -> bool:
        self.told += [status, list(fields), ""]
        return True

    def begin(self, pause: object, resume: object) -> None: ...

    def receive(self, data: bytes) -> None:
        self.told[2] += data.decode()


async def asked_for(handler: Any, one: dict[str, Any], places: dict[str, str]) -> dict[str, Any]:
    at = one["at"].replace("TLS", places["tls"])
    meta = {"download_timeout": 60, **one.get("meta", {})}
    if one.get("sink"):
        meta[SINK_KEY] = Sink()
    if meta.get("proxy") == "SITE":  # one that refuses to connect
        meta["proxy"] = await refusing()
    request = Request(
        f"{places['site']}{at}" if at.startswith("/") else at,
        method=one.get("method", "GET"), headers=one.get("headers"), meta=meta,
    )  # fmt: skip
    told: dict[str, Any] = {"error": None}
    task = asyncio.ensure_future(handler.download_request(request))
    if one.get("cancel"):
        while not has_begun(request):
            await asyncio.sleep(0)
        task.cancel()
    try:
        response = await task
    except (Exception, asyncio.CancelledError) as error:
        told["error"] = type(error).__name__
        told["message"] = str(error)
    else:
        told |= described(request, response)
    exchange = request.meta["lafka_exchange"]
    told["sink"] = meta[SINK_KEY].told if one.get("sink") else None
    return told | {"ended": exchange.ended, "truncated": exchange.truncated}


def has_begun(request: Request) -> bool:
    exchange = request.meta.get("lafka_exchange")
    return exchange is not None and bool(exchange.response.size)


async def refusing() -> str:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 403 Forbidden\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def described(request: Request, response: Any) -> dict[str, Any]:
    certificate = response.certificate
    return {
        "class": type(response).__name__,
        "status": response.status,
        "headers": {
            name.decode(): [value.decode() for value in values]
            for name, values in response.headers.items()
        },
        "body": response.body.decode(),
        "flags": response.flags,
        "protocol": response.protocol,
        "ip_address": str(response.ip_address),
        "certificate": certificate and str(certificate.getSubject()),
        "latency": request.meta["download_latency"],
    }


def main() -> None:
    from scrapy.utils.reactor import install_reactor

    install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
    from twisted.internet import reactor
    from twisted.internet.defer import Deferred

    def end(found: Any) -> None:
        print(json.dumps(found) if isinstance(found, dict) else found.getTraceback())
        reactor.stop()

    def begin() -> None:
        work = asyncio.ensure_future(ask_all(json.loads(sys.argv[1])))
        Deferred.fromFuture(work).addBoth(end)

    reactor.callWhenRunning(begin)
    reactor.run()


if __name__ == "__main__":
    main()
