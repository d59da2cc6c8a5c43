from __future__ import annotations

import socket
import subprocess
import sys

import pytest
from scrapy import Request
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from lafka.politeness import TrailCookiesMiddleware
from tests.sites.hosts import Answer, hosts
from tests.sites.polite_crawl import Item, crawl


def exchange(middleware, url: str, set_cookie: str, number: int = 1) -> str | None:
    """The Cookie header of a second request to *url* after an answer with *set_cookie*."""
    first = Request(url, meta={"cookiejar": number})
    middleware.process_request(first)
    middleware.process_response(first, Response(url, headers={"Set-Cookie": set_cookie}))
    second = Request(url, meta={"cookiejar": number})
    middleware.process_request(second)
    header = second.headers.get("Cookie")
    return header.decode() if header else None


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


def test_an_expiry_beyond_all_clocks_is_no_warning(recwarn):
    middleware = TrailCookiesMiddleware.from_crawler(get_crawler())
    assert exchange(middleware, "http://a.example/", "a=1; Max-Age=" + "9" * 400) is None
    assert exchange(middleware, "http://a.example/", "a=1; Max-Age=99") == "a=1"
    assert not [w for w in recwarn.list if w.category is UserWarning]  # http.cookiejar's


def test_public_suffixes_are_known_without_the_network(no_network):
    middleware = TrailCookiesMiddleware()
    assert exchange(middleware, "http://a.example.co.uk/", "a=1; Domain=example.co.uk") == "a=1"
    assert exchange(middleware, "http://b.example.co.uk/", "b=1; Domain=co.uk", 2) is None
    assert exchange(middleware, "http://c.github.io/", "c=1; Domain=github.io", 3) is None


def test_a_jar_goes_with_its_trail():
    middleware = TrailCookiesMiddleware()
    exchange(middleware, "http://x.example/", "a=1", 1)
    exchange(middleware, "http://x.example/", "a=2", 2)
    middleware.trail_ended(Item(1))
    middleware.trail_ended(Item(1))
    assert list(middleware.jars) == [2]


def test_a_trail_without_a_cookie_has_no_jar_and_sends_none():
    middleware = TrailCookiesMiddleware()
    request = Request("http://x.example/", headers={"Cookie": "of=elsewhere"})
    middleware.process_request(request)
    middleware.process_response(request, Response(request.url))
    assert "Cookie" not in request.headers  # Scrapy's own takes it out, too
    assert not middleware.jars


def test_cookies_of_a_request_and_those_that_are_not_to_be_merged():
    middleware = TrailCookiesMiddleware()
    given = Request("http://x.example/", cookies={"a": "1"}, meta={"cookiejar": 1})
    middleware.process_request(given)
    assert given.headers["Cookie"] == b"a=1"
    apart = {"cookiejar": 1, "dont_merge_cookies": True}
    robots = Request("http://x.example/robots.txt", headers={"Cookie": "b=2"}, meta=apart)
    middleware.process_request(robots)
    middleware.process_response(robots, Response(robots.url, headers={"Set-Cookie": "c=3"}))
    assert robots.headers["Cookie"] == b"b=2"
    after = Request("http://x.example/b", meta={"cookiejar": 1})
    middleware.process_request(after)
    assert after.headers["Cookie"] == b"a=1"


def test_what_knows_public_suffixes_is_imported_with_the_first_cookie():
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, check=True, text=True)
    assert done.stdout.split() == ["False", "True"]


FIRST = """
import sys
from lafka.politeness import TrailCookiesMiddleware
from tests.politeness.test_cookies import exchange
middleware = TrailCookiesMiddleware()
print("tldextract" in sys.modules)
assert exchange(middleware, "http://a.example/", "a=1") == "a=1"
print("tldextract" in sys.modules)
"""


def test_trails_share_no_cookies_and_leave_no_jars():
    with hosts({"/a": Answer(headers={"Set-Cookie": "s=1"}), "/b": Answer()}) as [host]:
        report = crawl([{"url": host.url + "/a"}, {"url": host.url + "/b"}])
    assert {visit.cookie for visit in host.visits} == {None}
    assert report["jars"] == 0
