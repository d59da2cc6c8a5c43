from __future__ import annotations

import pytest
from scrapy.http import HtmlResponse, Response

from lafka.politeness.redirects import header_refresh
from tests.sites.hosts import Answer, hosts
from tests.sites.polite_crawl import crawl


def to(url: str, status: int = 302, **headers: str) -> Answer:
    return Answer(status=status, headers={"Location": url, **headers})


def run(*requests, **settings):
    return crawl(list(requests), ROBOTSTXT_OBEY=False, **settings)["results"]


def test_a_redirect_runs_in_the_slot_of_its_own_host():
    with hosts({"/p": Answer()}, {}) as [publisher, resolver]:
        resolver.answers["/doi"] = to(publisher.url + "/p")
        [result] = run({"url": resolver.url + "/doi"})
    assert result["slot"] == publisher.address


def test_a_slot_that_the_user_chose_is_kept():
    with hosts({"/p": Answer()}, {}) as [publisher, resolver]:
        resolver.answers["/doi"] = to(publisher.url + "/p")
        [result] = run({"url": resolver.url + "/doi", "meta": {"download_slot": "mine"}})
    assert result["slot"] == "mine"


def test_a_meta_refresh_runs_in_the_slot_of_its_own_host():
    with hosts({"/p": Answer()}, {}) as [publisher, other]:
        tag = f'<meta http-equiv="refresh" content="1; url={publisher.url}/p">'
        other.answers["/a"] = Answer(body=tag.encode())
        [result] = run({"url": other.url + "/a"})
    assert result["url"] == publisher.url + "/p"
    assert result["slot"] == publisher.address


@pytest.mark.parametrize(
    "location",
    [
        "ftp://x.example/a",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "data:text/plain,x",
        "http://[::1",
        "http://127.0.0.2:99999999/",
        "http://:80/nowhere",
        "http://\udcff\udcfe@:80:80/",
    ],
)
def test_a_location_that_cannot_be_asked_for_is_not_followed(location):
    answer = to(location.encode("utf-8", "surrogateescape").decode("latin-1"))
    with hosts({"/a": answer}) as [host]:
        [result] = run({"url": host.url + "/a"})
    assert result["status"] == 302
    assert host.paths() == ["/a"]


def test_a_loop_is_named_before_it_is_asked_again():
    with hosts({"/a": to("/b"), "/b": to("/a#again")}) as [host]:
        [result] = run({"url": host.url + "/a"})
    assert result["error"] == "RedirectLoop"
    assert host.paths() == ["/a", "/b"]


def test_a_loop_is_named_without_cookies_too():
    with hosts({"/a": to("/b"), "/b": to("/a")}) as [host]:
        [result] = run({"url": host.url + "/a"}, COOKIES_ENABLED=False)
    assert result["error"] == "RedirectLoop"


def test_a_cookie_wall_is_no_loop():
    def wall(cookie):
        return Answer() if cookie == "seen=1" else to("/a", **{"Set-Cookie": "seen=1"})

    with hosts({"/a": wall}) as [host]:
        [result] = run({"url": host.url + "/a"})
    assert result["status"] == 200
    assert [visit.cookie for visit in host.visits] == [None, "seen=1"]


def test_ten_hops_are_followed_and_no_more():
    hops = {f"/{n}": to(f"/{n + 1}") for n in range(11)}
    with hosts(hops | {"/11": Answer()}) as [host]:
        results = run({"url": host.url + "/0"}, {"url": host.url + "/1"})
    long, short = sorted(results, key=lambda result: result["asked"])
    assert long["error"] == "RedirectLoop"
    assert short["status"] == 200


def refresh(content: str) -> Answer:
    return Answer(body=f'<meta http-equiv="refresh" content="{content}">'.encode())


@pytest.mark.parametrize(
    ("answer", "asked"),
    [
        (refresh("0; url=/b"), ["/a", "/b"]),
        (refresh("4; url=/b"), ["/a", "/b"]),
        (refresh("5; url=/b"), ["/a"]),
        (refresh("3; url=/a#x"), ["/a"]),
        (refresh("0; url=http://[::1"), ["/a"]),
        (refresh("0; url=javascript:x()"), ["/a"]),
        (Answer(headers={"Refresh": "0; url=/b"}), ["/a", "/b"]),
        (Answer(headers={"Refresh": "600; url=/b"}), ["/a"]),
        (Answer(headers={"Refresh": "0; url=/b"}, body=b"%PDF-1.7"), ["/a"]),
    ],
)
def test_refresh_is_followed_when_it_is_meant_as_a_redirect(answer, asked):
    with hosts({"/a": answer, "/b": Answer()}) as [host]:
        [result] = run({"url": host.url + "/a"})
    assert result["status"] == 200
    assert host.paths() == asked


def test_a_page_that_refreshes_itself_at_once_is_a_loop():
    with hosts({"/a": refresh("0; url=/a")}) as [host]:
        [result] = run({"url": host.url + "/a"})
    assert result["error"] == "RedirectLoop"
    assert host.paths() == ["/a"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("0;url=b", (0.0, "http://x.example/b")),
        ("3.5 ; URL = 'http://y.example/c' junk", (3.5, "http://y.example/c")),
        ('.5, url="d"', (0.5, "http://x.example/d")),
        ("7", (0.0, None)),
        ("url=b", (0.0, None)),
        ("", (0.0, None)),
    ],
)
def test_header_refresh(value, expected):
    headers = {"Refresh": value} if value else {}
    for cls in (Response, HtmlResponse):
        assert header_refresh(cls("http://x.example/a", headers=headers)) == expected
