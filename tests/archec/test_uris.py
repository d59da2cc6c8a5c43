from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scrapy import Request
from w3lib.url import safe_url_string

from lafka.archec.redif import uris
from lafka.errors import BadUrl
from tests import starts
from tests.sites.server import Server


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("http://x.example", "http://x.example/"),
        ("HTTP://WWW.X.Example:80/a", "http://www.x.example/a"),
        ("https://x.example:443/a", "https://x.example/a"),
        ("http://x.example:443/a", "http://x.example:443/a"),
        ("http://x.example:/a", "http://x.example/a"),
        ("https://x.example?b=1", "https://x.example/?b=1"),
        ("http://x.example/%7euser/%c3%a9", "http://x.example/~user/%C3%A9"),
        ("http://x.example/a b.pdf", "http://x.example/a%20b.pdf"),
        ("http://x.example/é", "http://x.example/%C3%A9"),
        ("http://müller.example/", "http://xn--mller-kva.example/"),
        ("http://x.example/a/./b/../c", "http://x.example/a/c"),
        ("http://x.example/a/%2E%2E/c", "http://x.example/c"),
        ("http://x.example/../..", "http://x.example/"),
        ("http://x.example/a/..", "http://x.example/"),
        ("http://x.example/a/.", "http://x.example/a/"),
        ("http://x.example/a#b#c", "http://x.example/a"),
        ("  http://x.example/a\n", "http://x.example/a"),
        ("ftp://FTP.x.example:21/%7ea/b c", "ftp://ftp.x.example/~a/b%20c"),
        ("http://[2001:DB8::1]:80/", "http://[2001:db8::1]/"),
        ("http://x.example/%%34%31", "http://x.example/%%34%31"),
        ("http://x.example/%7ea/b%%34%31/../c", "http://x.example/~a/c"),
    ],
)
def test_the_normal_form(url: str, normal: str) -> None:
    assert uris.normalise(url) == normal


@pytest.mark.parametrize(
    "url",
    [
        "http://x.example/?b=1&a=2",
        "http://x.example/a+b?c+d",
        "http://x.example/a//b",
        "http://x.example/A/",
        "http://www.x.example/",
        "http://x.example./",
        "http://x.example/%zz",
        "http://x.example/a%2Fb",
    ],
)
def test_what_servers_may_tell_apart_stays(url: str) -> None:
    assert uris.normalise(url) == url


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "no URL"),
        ("see our web site", "no scheme"),
        ("hhttp://x.example/", "neither http nor https"),
        ("file:///C:/a.pdf", "neither http nor https"),
        ("mailto:a@x.example", "neither http nor https"),
        ("http:/x.example/a", "no host"),
        ("http:x.example", "no host"),
        ("http://", "no host"),
        ("http:///a", "no host"),
        ("http://a:b@x.example/", "user or password"),
        ("http://x example/", "cannot stand in a host"),
        ("http://x.example:99999/", "bad host or port"),
        ("http://x.example/\x00", r"U\+0000"),
        ("http://x.example/a\tb", r"U\+0009"),
        ("http://x.example/\ufffd", r"U\+FFFD"),
        ("http://" + "a" * 64 + ".example/", "bad host or port"),
        ("http://x.example/" + "a" * 70_000, "bytes"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_with_the_reason(url: str, reason: str) -> None:
    with pytest.raises(BadUrl, match=reason):
        uris.normalise(url)


def test_ten_thousand_characters_are_a_url() -> None:
    url = "http://x.example/" + "a" * 10_000
    assert uris.normalise(url) == url


HOSTS = st.sampled_from(
    [
        "x.example",
        "EX.org:80",
        "exÄmple.de:443",
        "[::1]:21",
        "a..b",
        "127.1",
        "%41.org",
        "xn--a",
        "ａ.org",
        "a_b.c:0080",
        "x.example.",
        "",
        "x-y.b",
        "-",
    ]
)
TAILS = st.text(alphabet="aZ09%2eE7./?#:@[]|~+&=; '\"\\éß\u0130中<>{}^`-_", max_size=30)


@given(st.sampled_from(["http://", "HTTPS://", "ftp://"]), HOSTS, TAILS)
@example("http://", "x.example", "/%%34%31")
@example("http://", "x.example", "/%c%31")
@example("http://", "x.example", "/.%2e/%2E./")
@example("http://", "x.example", "/%7ea/b%%34%31/../a")
@example("http://", "x\uff05.example", "/")
def test_normal_once_is_normal_for_ever_and_is_what_scrapy_asks(
    scheme: str, host: str, tail: str
) -> None:
    try:
        uri = uris.normalise(scheme + host + tail)
    except BadUrl:
        return
    assert uris.normalise(uri) == uri
    assert safe_url_string(uri) == uri
    assert uris.is_ftp(uri) or Request(uri).url == uri


@pytest.mark.parametrize(
    ("value", "futlis"),
    [
        ("http://x.example/1.pdf", ["http://x.example/1.pdf"]),
        ("<URL: http://x.example/1.pdf>", ["http://x.example/1.pdf"]),
        ("URL:http://x.example/1.pdf", ["http://x.example/1.pdf"]),
        ("<http://x.example/1.pdf>", ["http://x.example/1.pdf"]),
        ("www.x.example/1.pdf", ["http://www.x.example/1.pdf"]),
        ("http://x.example/a b.pdf", ["http://x.example/a b.pdf", "http://x.example/ab.pdf"]),
        ("HTTP://X.example/%7ea", ["HTTP://X.example/%7ea"]),
        ("ftp://x.example/a", ["ftp://x.example/a"]),
    ],
)
def test_the_readings_of_a_file_url(value: str, futlis: list[str]) -> None:
    found = uris.file_uris(value)
    assert [reading.futli for reading in found] == futlis
    assert [reading.second for reading in found] == [False, True][: len(found)]
    assert all(reading.uri == uris.normalise(reading.futli) for reading in found)
    assert found[0].mended == value.startswith("www.")
    assert found[0].is_ftp == value.startswith("ftp")


@pytest.mark.parametrize(
    "value",
    [
        "",
        "none",
        "available from the author",
        "http",
        "hhttp://x.example/",
        "C:\\a.pdf",
        "www.",
        "<>",
    ],
)
def test_prose_is_no_file_url(value: str) -> None:
    with pytest.raises(BadUrl):
        uris.file_uris(value)


@given(st.text(max_size=50) | TAILS.map("http://x.example/".__add__))
def test_any_value_has_readings_or_is_refused(value: str) -> None:
    try:
        found = uris.file_uris(value)
    except BadUrl:
        return
    assert 1 <= len({reading.uri for reading in found}) == len(found) <= 2


ASKED = [
    "/%7euser/a b.pdf?q=é&r=%2f#part",
    "/a/../b//c/./d",
    "?x=1&y=a+b",
    "/%zz/%41?'quoted'|[x]",
    "/{a}^`b`\\c;p=1,2!$*()",
]


def test_the_normal_form_is_what_scrapy_puts_on_the_wire(tmp_path) -> None:
    with Server(("127.0.0.1",)) as site:
        asked = [uris.normalise(f"{site.at('127.0.0.1')}{tail}") for tail in ASKED]
        spider = tmp_path / "asking.py"
        spider.write_text(
            "import scrapy\n"
            "class Asking(scrapy.Spider):\n"
            "    name = 'asking'\n"
            f"    start_urls = {asked!r}\n"
            "    custom_settings = {'ROBOTSTXT_OBEY': False, 'CONCURRENT_REQUESTS': 1,\n"
            "        'EXTENSIONS_BASE': {}, 'LOG_LEVEL': 'ERROR'}\n"
            "    def parse(self, response): pass\n"
        )
        done = starts.verb("scrapy", "runspider", spider, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert set(site.targets()) == {uri.removeprefix(site.at("127.0.0.1")) for uri in asked}
