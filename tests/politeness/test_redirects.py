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


def test_a_refresh_counts_from_the_base_and_is_read_in_any_charset():
    tag = "<base href=/b/><meta http-equiv=refresh content='0; url=\u00fc'>"
    pages = {
        "/base64": (tag, "text/html; charset=base64"),
        "/utf-16": ("\ufeff" + tag, "text/html"),
        "/latin-1": (tag, "text/html; charset=latin-1"),
    }
    codecs = {"/utf-16": "utf-16-le", "/latin-1": "latin-1"}
    answers = {
        path: Answer(body=text.encode(codecs.get(path, "utf-8")), headers={"Content-Type": kind})
        for path, (text, kind) in pages.items()
    }
    with hosts(answers) as [host]:
        results = run(*({"url": host.url + path} for path in pages))
    assert [result["url"] for result in results] == [host.url + "/b/%C3%BC"] * 3


LOCATIONS = [
    "ftp://127.0.0.2/a",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "data:text/plain,x",
    "http://[::1",
    "http://127.0.0.2:99999999/",
    "http://:80/nowhere",
    "http://\udcff\udcfe@:80:80/",
]


def test_a_location_that_cannot_be_asked_for_is_not_followed():
    locations = [url.encode("utf-8", "surrogateescape").decode("latin-1") for url in LOCATIONS]
    with hosts({f"/{n}": to(url) for n, url in enumerate(locations)}) as [host]:
        results = run(*({"url": f"{host.url}/{n}"} for n in range(len(locations))))
    assert [result.get("status") for result in results] == [302] * len(locations)
    assert len(host.visits) == len(locations)


@pytest.mark.parametrize(("cookies", "paths"), [(True, ["/a", "/b"]), (False, ["/a", "/b", "/a"])])
def test_a_loop_is_named_before_it_is_asked_again(cookies, paths):
    """Without the middleware of cookies, when that is to be followed."""
    with hosts({"/a": to("/b"), "/b": to("/a#again")}) as [host]:
        [result] = run({"url": host.url + "/a"}, COOKIES_ENABLED=cookies)
    assert result["error"] == "RedirectLoop"
    assert host.paths() == paths


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


FOLLOWED = [
    refresh("0; url=/0/to"),
    refresh("4; url=/1/to"),
    Answer(headers={"Refresh": "0; url=/2/to"}),
]
NOT_FOLLOWED = [
    refresh("5; url=/3/to"),
    refresh("3; url=/4#x"),
    refresh("0; url=http://[::1"),
    refresh("0; url=javascript:x()"),
    Answer(headers={"Refresh": "600; url=/7/to"}),
    Answer(headers={"Refresh": "0; url=/8/to"}, body=b"%PDF-1.7"),
]


def test_refresh_is_followed_where_it_is_meant_as_a_redirect():
    pages = {f"/{n}": answer for n, answer in enumerate(FOLLOWED + NOT_FOLLOWED)}
    with hosts(pages | {path + "/to": Answer() for path in pages}) as [host]:
        results = run(*({"url": host.url + path} for path in pages))
    assert [result["status"] for result in results] == [200] * len(pages)
    assert sorted(host.paths()) == sorted([*pages, "/0/to", "/1/to", "/2/to"])


def test_a_host_that_asks_to_wait_is_not_asked_at_another_url():
    busy = Answer(status=429, headers={"Refresh": "0; url=/b"})
    with hosts({"/a": busy, "/b": Answer()}) as [host]:
        [result] = run({"url": host.url + "/a"}, RETRY_TIMES=0, LAFKA_RETRY_AFTER_MAX=0.1)
    assert result["status"] == 429
    assert host.paths() == ["/a"]


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
