from __future__ import annotations

import socket

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


def test_trails_share_no_cookies_and_leave_no_jars():
    with hosts({"/a": Answer(headers={"Set-Cookie": "s=1"}), "/b": Answer()}) as [host]:
        report = crawl([{"url": host.url + "/a"}, {"url": host.url + "/b"}])
    assert {visit.cookie for visit in host.visits} == {None}
    assert report["jars"] == 0
