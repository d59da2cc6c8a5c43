"""From the wire to a capture; content codings undone for the spider."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import brotli
import pytest
from scrapy import Request
from scrapy.exceptions import DownloadTimeoutError
from scrapy.http import HtmlResponse, Response
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from lafka.capture.exchanges import Exchange
from lafka.capture.handler import EXCHANGE_KEY
from lafka.capture.logged import LoggedExchange, LoggedHops, Span
from lafka.capture.middlewares import PAGE_MAX, ContentCodingMiddleware, RawWarcMiddleware
from lafka.capture.run import Run, raw_config, run_name
from lafka.papers.crawling.captures import capture_of
from lafka.papers.lists.futlis import Futli
from lafka.papers.outcomes import Outcome
from lafka.papers.walk import Ask
from lafka.payloads import Kind, Payload, inspect
from lafka.pids import SCHEMES
from lafka.storage.threads import ByteBudget
from lafka.warc.format.sources import MemorySource

ASK = Ask(
    futli=Futli(pid=SCHEMES["RePEc"].pid("RePEc:a:b:1"), url="http://a.example/"),
    number=1,
    url="http://a.example/",
)
SPAN = Span(path="raw.warc", offset=0, length=9)
PDF = b"%PDF-1.7\n%%EOF\n"


def payload(answer: bytes) -> Payload:
    return inspect(MemorySource(answer))


def logged(answer: bytes, url: str = "http://a.example/") -> LoggedExchange:
    return LoggedExchange(
        url=url, time=datetime.now(UTC), request=SPAN, response=SPAN, warcinfo=SPAN,
        warcinfo_id="<urn:uuid:1>", payload=payload(answer),
    )  # fmt: skip


HOP = logged(b"HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n")
GOOD = logged(b"HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n" + PDF, "http://a.example/b")


def test_the_last_answer_is_the_captures_and_the_hops_come_first() -> None:
    capture = capture_of(ASK, LoggedHops(exchanges=(HOP, GOOD), requests=3))
    assert capture.is_pdf
    assert capture.url == "http://a.example/b"
    assert capture.requests == 3
    assert [e.url for e in capture.exchanges] == ["http://a.example/", "http://a.example/b"]
    assert capture.payload is not None
    assert capture.payload.kind is Kind.PDF
    assert capture.error == ""


def test_an_error_behind_a_redirect_is_the_outcome() -> None:
    capture = capture_of(
        ASK, LoggedHops(exchanges=(HOP,), requests=2), DownloadTimeoutError("no byte")
    )
    assert (capture.outcome, capture.error) == (Outcome.TIMEOUT, "no byte")
    assert capture.requests == 2
    assert not capture.outcome.is_stored


def test_an_error_beats_what_looks_like_an_answer() -> None:
    capture = capture_of(
        ASK, LoggedHops(exchanges=(GOOD,), requests=1), DownloadTimeoutError("no byte")
    )
    assert capture.outcome is Outcome.TIMEOUT


@pytest.mark.parametrize("hops", [None, LoggedHops(), LoggedHops(requests=3)])
def test_nothing_was_exchanged(hops: LoggedHops | None) -> None:
    capture = capture_of(ASK, hops, DownloadTimeoutError("no byte"))
    assert (capture.outcome, capture.url) == (Outcome.TIMEOUT, ASK.url)
    assert capture.requests == (hops.requests if hops else 0)
    assert capture_of(ASK, hops).outcome is Outcome.BAD_HTTP


def test_how_reading_stopped_is_judged() -> None:
    for seen, outcome in (
        ({"truncated": "disconnect"}, Outcome.TRUNCATED),
        ({"truncated": "length", "too_big": True}, Outcome.TOO_BIG),
    ):
        capture = capture_of(ASK, LoggedHops(exchanges=(replace(GOOD, **seen),)))
        assert capture.outcome is outcome


def test_a_status_is_a_sentence() -> None:
    gone = logged(b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n")
    capture = capture_of(ASK, LoggedHops(exchanges=(gone,)))
    assert (capture.outcome, capture.error) == (Outcome.GONE, "HTTP status 410")


def test_an_answer_that_is_no_http_is_one_too() -> None:
    none = replace(GOOD, payload=None)
    assert capture_of(ASK, LoggedHops(exchanges=(none,))).outcome is Outcome.BAD_HTTP


HTML = b"<!doctype html><html><body>" + b"full text " * 500 + b"</body></html>"


def decoded(body: bytes, coding: str, media_type: str = "text/html") -> Response:
    headers = {"Content-Encoding": coding, "Content-Type": media_type, "Content-Length": "9"}
    response = Response("http://a.example/", headers=headers, body=body)
    return ContentCodingMiddleware().process_response(Request(response.url), response)


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(HTML, mtime=0)),
        ("X-GZIP", gzip.compress(HTML, mtime=0)),
        ("deflate", zlib.compress(HTML)),
        ("br", brotli.compress(HTML)),
        ("identity, gzip", gzip.compress(HTML, mtime=0)),
        ("deflate, gzip", gzip.compress(zlib.compress(HTML), mtime=0)),
    ],
)
def test_a_coding_is_undone(coding: str, body: bytes) -> None:
    response = decoded(body, coding)
    assert isinstance(response, HtmlResponse)
    assert response.body == HTML
    assert "Content-Encoding" not in response.headers
    assert "Content-Length" not in response.headers


def test_what_can_be_decoded_of_a_broken_body_is_handed_on() -> None:
    body = gzip.compress(HTML, mtime=0)
    assert HTML.startswith(decoded(body[: len(body) // 2], "gzip").body)
    assert decoded(HTML, "gzip").body == HTML  # a plain body that is called gzip
    assert decoded(HTML, "rot13").body in (b"", HTML)


def test_a_bomb_is_cut() -> None:
    assert len(decoded(gzip.compress(b"\0" * 50_000_000), "gzip").body) == PAGE_MAX


@pytest.mark.parametrize("coding", ["", "identity", " , "])
def test_an_uncoded_body_is_left_alone(coding: str) -> None:
    assert decoded(HTML, coding).headers["Content-Length"] == b"9"


def test_the_raw_warcs_settings_are_ours_below_the_users(tmp_path: Path) -> None:
    settings = Settings()
    settings.setmodule("lafka.settings", priority="project")
    settings.set("LAFKA_CONTACT", "me@example.org")
    assert raw_config(settings)["operator"] == "me@example.org"
    assert raw_config(settings)["robots"] == "obey"
    (tmp_path / "settings.yml").write_text("operator: A Library\nwarc_prefix: LIB\n")
    settings.set("LAFKA_WARC_SETTINGS", str(tmp_path / "settings.yml"))
    assert raw_config(settings)["operator"] == "A Library"
    assert raw_config(settings)["warc_prefix"] == "LIB"
    assert raw_config(settings)["max_warc_size"] == settings.getint("LAFKA_RAW_SIZE")


def test_runs_sort_by_time() -> None:
    names = [run_name() for _ in range(3)]
    assert names == sorted(set(names))


class Writer:
    """What the middleware knows of a run: the bytes that wait, and who may write."""

    name = "run"

    def __init__(self) -> None:
        self.waiting = ByteBudget(100)
        self.gate = asyncio.Event()

    async def in_order(self, *_: object) -> None:
        await self.gate.wait()


def test_nobody_is_asked_while_too_much_waits_for_the_disk() -> None:
    async def ask() -> list[str]:
        log: list[str] = []
        writer = Writer()
        run = Run(get_crawler(), Path(), writer, None)  # type: ignore[arg-type]
        middleware = RawWarcMiddleware(get_crawler(), run)
        exchange = Exchange(url="http://a.example/", method="GET")
        exchange.response.append(bytes(100))
        answered = Request(exchange.url, meta={EXCHANGE_KEY: exchange})

        async def record() -> None:
            await middleware.process_response(answered, Response(exchange.url))
            log.append("recorded")

        async def request() -> None:
            await middleware.process_request(Request(exchange.url))
            log.append("asked")

        await request()
        recording = asyncio.ensure_future(record())
        await asyncio.sleep(0)
        asking = asyncio.ensure_future(request())
        for _ in range(5):
            await asyncio.sleep(0)
        log.append("the disk is slow")
        writer.gate.set()
        await asyncio.gather(recording, asking)
        return log

    told = asyncio.run(ask())
    assert told[:2] == ["asked", "the disk is slow"]
    assert sorted(told[2:]) == ["asked", "recorded"]
