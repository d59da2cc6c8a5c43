"""Scrapy requests answered from WARCs."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest
from scrapy import Request
from scrapy.exceptions import DownloadCancelledError, NotConfigured
from scrapy.http import HtmlResponse, Response, TextResponse
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from lafka.capture.handler import EXCHANGE_KEY
from lafka.capture.replay import WarcDownloaderMiddleware, Wayback
from lafka.errors import BadArgument
from lafka.runs.validation import check
from lafka.warc.format.dates import WarcDate
from lafka.warc.indexes import build
from tests import starts
from tests.warc.captures import (
    DATE,
    NOT_MODIFIED,
    URL,
    digest,
    message,
    record,
    request,
    response,
    revisit,
    volume,
)

HTTP = "application/http;msgtype=response"
LATER = "2026-11-21T10:00:00Z"
ROOT = Path(__file__).parents[2]


def raw(block: bytes, url: str = URL, date: str = DATE, **more: str) -> bytes:
    return record("response", block, Target_URI=url, Date=date, Content_Type=HTTP, **more)


def answered(path: Path, asked: Request | str, **options: object) -> Response:
    found = maybe(path, asked, **options)
    assert found is not None
    return found


def maybe(path: Path, asked: Request | str, **options: object) -> Response | None:
    wayback = Wayback([path], **options)  # type: ignore[arg-type]
    try:
        return wayback.answer(asked if isinstance(asked, Request) else Request(asked))
    finally:
        wayback.close()


def test_a_response_is_as_archived(tmp_path: Path) -> None:
    one = volume(tmp_path / "1.warc", response(b"<p>hello", IP_Address="192.0.2.1"))
    found = answered(one, URL + "#part")
    assert isinstance(found, HtmlResponse)
    assert (found.status, found.body, found.flags) == (200, b"<p>hello", ["wayback"])
    assert found.headers["Content-Type"] == b"text/html; charset=utf-8"
    assert str(found.ip_address) == "192.0.2.1"
    assert found.url == URL + "#part"


def test_the_capture_nearest_to_a_time_answers(tmp_path: Path) -> None:
    one = volume(tmp_path / "1.warc", response(b"old"), response(b"new", date=LATER))
    assert answered(one, URL).body == b"new"
    assert answered(one, URL, time=WarcDate.parse(DATE)).body == b"old"
    asked = Request(URL, meta={"wayback_time": "20261121"})
    assert answered(one, asked, time=WarcDate.parse(DATE)).body == b"new"
    assert asked.meta["wayback_date"] == LATER
    assert maybe(one, "http://x.example/b") is None


def test_chunks_are_undone_and_content_codings_are_not(tmp_path: Path) -> None:
    packed = gzip.compress(b"hello", mtime=0)
    block = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\nX-A: 1\r\n"
        b"x-a: 2\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(packed), packed)
    )
    found = answered(volume(tmp_path / "1.warc", raw(block)), URL)
    assert found.body == packed
    assert found.headers.getlist("X-A") == [b"1", b"2"]
    assert "Transfer-Encoding" not in found.headers
    assert found.headers["Content-Encoding"] == b"gzip"


def test_a_body_whose_chunks_were_undone_before_is_given_as_it_is(tmp_path: Path) -> None:
    block = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n<p>hello</p>"
    found = answered(volume(tmp_path / "1.warc", raw(block)), URL)
    assert (found.body, found.flags) == (b"<p>hello</p>", ["wayback"])


def test_a_revisit_answers_with_what_it_refers_to(tmp_path: Path) -> None:
    not_modified = record(
        "revisit", message(b"", "304 Not Modified"), Target_URI=URL, Date="2026-11-22T00:00:00Z",
        Profile=NOT_MODIFIED, Content_Type=HTTP,
    )  # fmt: skip
    one = volume(tmp_path / "1.warc", response(b"same"), revisit(b"same", date=LATER))
    two = volume(tmp_path / "2.warc", not_modified)
    assert answered(one, URL).body == b"same"
    found = answered(tmp_path, URL)
    assert (found.status, found.body) == (200, b"same")
    assert maybe(two, URL) is None  # what it refers to is in no volume


def test_a_resource_answers(tmp_path: Path) -> None:
    one = volume(tmp_path / "1.warc", record("resource", b"text", Target_URI=URL,
                                             Content_Type="text/plain"))  # fmt: skip
    found = answered(one, URL)
    assert (found.status, found.body, found.headers["Content-Type"]) == (
        200,
        b"text",
        b"text/plain",
    )
    assert isinstance(found, TextResponse)


def test_methods_are_kept_apart(tmp_path: Path) -> None:
    asked = b"POST /a HTTP/1.1\r\nHost: x\r\n\r\nq=1"
    posted = [
        record("request", asked, name="p", Target_URI=URL, Content_Type=HTTP, Date=LATER),
        raw(message(b"posted"), date=LATER, Concurrent_To="<urn:test:p>"),
    ]
    got = [request(name="g"), response(b"got", Concurrent_To="<urn:test:g>")]
    one = volume(tmp_path / "1.warc", *got, *posted)
    assert answered(one, URL).body == b"got"
    assert answered(one, Request(URL, method="POST", body=b"q=1")).body == b"posted"
    head = answered(one, Request(URL, method="HEAD"))
    assert (head.status, head.body) == (200, b"")
    assert maybe(one, Request(URL, method="PUT")) is None


def test_a_redirect_from_a_url_of_the_same_key_is_no_answer(tmp_path: Path) -> None:
    moved = message(b"", "301 Moved", "Location: https://x.example/a")
    one = volume(tmp_path / "1.warc", raw(moved))
    assert answered(one, URL).headers["Location"] == b"https://x.example/a"
    assert maybe(one, "https://x.example/a") is None
    assert answered(one, "http://www.x.example/a").status == 301


def test_what_is_cut_is_given_and_told(tmp_path: Path) -> None:
    one = volume(tmp_path / "1.warc", raw(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"))
    found = answered(one, URL)
    assert (found.body, found.flags) == (b"hello", ["wayback", "dataloss"])


def test_bodies_have_a_limit(tmp_path: Path) -> None:
    one = volume(tmp_path / "1.warc", response(b"hello"))
    with pytest.raises(DownloadCancelledError):
        maybe(one, URL, max_size=4)
    assert answered(one, URL, max_size=5).body == b"hello"
    with pytest.raises(DownloadCancelledError):
        maybe(one, Request(URL, meta={"download_maxsize": 4}))


def test_indexes_and_folders_answer(tmp_path: Path) -> None:
    volume(tmp_path / "deep" / "1.warc.gz", response(b"hello"))
    build([tmp_path / "deep" / "1.warc.gz"], tmp_path / "a.cdxj")
    for path in (tmp_path, tmp_path / "a.cdxj", tmp_path / "deep"):
        assert answered(path, URL).body == b"hello"


def test_the_exchange_is_given_with_its_bytes_and_its_time(tmp_path: Path) -> None:
    one = volume(tmp_path / "1.warc", request(name="g"), response(Concurrent_To="<urn:test:g>"))
    asked = Request(URL)
    answered(one, asked, records=True)
    exchange = asked.meta[EXCHANGE_KEY]
    assert exchange.request.startswith(b"GET /a HTTP/1.1\r\n")
    assert b"".join(exchange.response.chunks()) == message(b"hello")
    assert str(WarcDate.of(exchange.started, 14)) == DATE
    assert exchange.exact
    plain = Request(URL)
    answered(one, plain)
    assert EXCHANGE_KEY not in plain.meta


def test_an_exchange_without_its_request_says_that_it_is_put_together(tmp_path: Path) -> None:
    asked = Request(URL + "?b=1")
    answered(volume(tmp_path / "1.warc", response(url=URL + "?b=1")), asked, records=True)
    exchange = asked.meta[EXCHANGE_KEY]
    assert exchange.request == b"GET /a?b=1 HTTP/1.1\r\nHost: x.example\r\n\r\n"
    assert not exchange.exact


def made(**settings: object) -> WarcDownloaderMiddleware:
    return WarcDownloaderMiddleware.from_crawler(get_crawler(settings_dict=settings))


def test_it_is_off_without_a_word_or_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(NotConfigured) as off:
        made()
    assert not off.value.args
    (tmp_path / "a.warc").touch()
    good = {"LAFKA_WAYBACK": [str(tmp_path / "a.warc")]}
    for bad in (
        {"LAFKA_WAYBACK": str(tmp_path / "b.warc")},
        good | {"LAFKA_WAYBACK_TIME": "yesterday"},
        good | {"LAFKA_WAYBACK_MISS": "maybe"},
    ):
        with pytest.raises(NotConfigured, match="LAFKA_WAYBACK"):
            made(**bad)
        settings = Settings()
        settings.setmodule("lafka.settings")
        settings.update(bad)
        with pytest.raises(BadArgument, match="LAFKA_WAYBACK"):
            check(settings)
    assert made(**good)


SPIDER = """
import json, sys
import scrapy
from scrapy.crawler import CrawlerProcess


class Spider(scrapy.Spider):
    name = "s"
    start_urls = ["http://x.example/start", "http://x.example/missing"]

    async def start(self):
        for url in self.start_urls:
            yield scrapy.Request(url, errback=self.failed)

    def parse(self, response):
        print(json.dumps([response.url, response.status, response.text, response.flags]))
        for link in response.css("a::attr(href)"):
            yield response.follow(link, errback=self.failed)

    def failed(self, failure):
        print(json.dumps([failure.request.url, type(failure.value).__name__, str(failure.value)]))


process = CrawlerProcess({
    "DOWNLOADER_MIDDLEWARES": {sys.argv[2]: 960},
    "LAFKA_WAYBACK": [sys.argv[1]], "LOG_LEVEL": "WARNING", "ROBOTSTXT_OBEY": True,
    "EXTENSIONS_BASE": {},
})
process.crawl(Spider)
process.start()
"""


def test_any_spider_is_replayed_without_a_network(tmp_path: Path) -> None:
    page = gzip.compress(b"<a href=/next>next</a>", mtime=0)
    packed = message(page, "200 OK", "Content-Encoding: gzip")
    volume(
        tmp_path / "1.warc",
        raw(message(b"", "302 Found", "Location: /page"), "http://x.example/start"),
        raw(packed, "http://x.example/page", Payload_Digest=digest(page)),
        response(b"the end", "http://x.example/next"),
    )
    done = starts.run(
        [
            sys.executable, "-c", SPIDER, str(tmp_path),
            "lafka.capture.replay.WarcDownloaderMiddleware",
        ],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    told = {line[0]: line[1:] for line in map(json.loads, done.stdout.splitlines())}
    assert told["http://x.example/page"] == [200, "<a href=/next>next</a>", ["wayback"]]
    assert told["http://x.example/next"] == [200, "the end", ["wayback"]]
    kind, reason = told["http://x.example/missing"]
    assert kind == "NotArchived"
    assert "no capture of GET http://x.example/missing" in reason
    assert "Traceback" not in done.stderr
