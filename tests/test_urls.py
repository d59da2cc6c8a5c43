from __future__ import annotations

import io
import json

import pytest

from lafka.errors import BadUrl
from lafka.papers.lists.futlis import Line
from lafka.papers.lists.listfiles import read
from lafka.pids import SCHEMES
from lafka.urls import check_url

PID = "RePEc:abc:wpaper:1"


def sole(data: bytes) -> Line:
    (line,) = read("-", SCHEMES["RePEc"], stdin=io.BytesIO(data))
    return line


@pytest.mark.parametrize(
    "url",
    [
        "http://x.example",
        "HTTP://X.EXAMPLE/A",
        "https://x.example:8443/a?b=c#d",
        "http://x.example:65535/",
        "http://x.example:/",
        "http://user:pw@x.example/",
        "http://[::1]/",
        "http://[2001:db8::1]:8080/a",
        "http://127.0.0.1:99/",
        "http://münchen.example/ä",
        "http://a_b.example/",
        "http://x.example./",
        "http://x.example/a b",
        "http://x.example/a\u00a0b",
        "http://x.example/" + "a" * 60_000,
        "http://x.example?q",
        'http://x.example/../%zz\\|^{}"<>',
        "http://1/",
    ],
)
def test_urls_that_can_be_asked_for_are_kept_char_by_char(url: str) -> None:
    check_url(url)
    line = sole(f"{PID}\t {url} \r\n".encode())
    assert line.futli
    assert line.futli.url == line.url_text == url


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "no URL"),
        ("x.example/1.pdf", "no scheme"),
        ("www.x.example:80/1.pdf", "no scheme"),
        ("localhost:80/1.pdf", "no scheme"),
        ("//x.example/1.pdf", "no scheme"),
        ("/1.pdf", "no scheme"),
        ("ftp://x.example/1.pdf", "ftp is neither http nor https"),
        ("file:///etc/passwd", "file is neither"),
        ("javascript:alert(1)", "javascript is neither"),
        ("http:/x.example/", "no host"),
        ("http:x.example/", "no host"),
        ("http://", "no host"),
        ("http:///1.pdf", "no host"),
        ("http://:80/", "no host"),
        ("http://./", "no host"),
        ("http://../", "no host"),
        ("http://é../", "bad host"),
        ("http://x。./", "bad host"),
        ("http://x][::/", "bad host"),
        ("http://[x]@y.example/", "bad host"),
        ("http://user@/", "no host"),
        ("http://x.example:0/", "bad port"),
        ("http://x.example:65536/", "bad host or port"),
        ("http://x.example/".ljust(65_001, "l"), "a URL of 65001 bytes"),
        ("http://x.example/" + "é" * 33_000, "a URL of 66017 bytes"),
        ("http://x.example:http/", "bad host or port"),
        ("http://x.example:-1/", "bad host or port"),
        ("http://x example/", "cannot stand in a host"),
        ("http://x\u00a0y.example/", "host"),
        ("http://x%41.example/", "cannot stand in a host"),
        ("http://a..example/", "bad host"),
        (f"http://{'a' * 64}.example/", "bad host"),
        (f"http://{'a.' * 130}example/", "longer than DNS has"),
        ("http://[::1/", "bad host"),
        ("http://[::g]/", "bad host"),
        ("http://[v1.x]/", "bad host"),
        ("http://[fe80::1%eth0]/", "host"),
        ("http://x.example\\@y.example/", "backslash"),
        ("http://x.example/a\tb", r"U\+0009"),
        ("http://x.example/a\r\nb", r"U\+000D"),
        ("http://x.example/\x00", r"U\+0000"),
        ("http://x.example/\x85", r"U\+0085"),
        ("http://x.example/\u2028", r"U\+2028"),
        ("http://x.example/\ud800", r"U\+D800"),
    ],
)
def test_urls_that_cannot_be_asked_for(url: str, reason: str) -> None:
    with pytest.raises(BadUrl, match=reason):
        check_url(url)
    line = sole(json.dumps({"pid": PID, "futli": url}).encode())
    assert line.outcome == "bad-url"
