"""Whatever the bytes are, nothing leaves the finders but candidates, and soon."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lafka.papers.finders import Page, describe, find, literal
from lafka.papers.finders.pages import MAX_ELEMENTS
from lafka.papers.finders.weights import MAX_SCORED

URL = "https://journal.example.org/a/5512"

PIECES = st.sampled_from(
    [
        b"<a href=",
        b'"/x.pdf"',
        b">",
        b"PDF",
        b"</a>",
        b"<div",
        b"<base href='//[bad'>",
        b"<meta name=citation_pdf_url content='",
        b"'>",
        b'<script type="application/ld+json">',
        b"</script>",
        b'{"contentUrl": ["x.pdf", {"url": 7}]}',
        b"<iframe src='viewer.html?file=%2",
        b"\x00",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"<!--",
        b"http://[::1",
        b"http://x:99999/a.pdf",
        b"javascript:f('",
        b"&#x110000;",
        b"\xe9\xa0",
        b"<meta charset=utf-16>",
        b"<meta charset=nonsense>",
        b"<form action=/pdf>",
        b"<form action=/pdf><input type=hidden name=a x\x01y=1>",
        b"<svg><a xlink:href=/x>",
        b"<?xml version='1.0' encoding='utf-7'?>",
        b"http://a\xc3\xa9\xe2\x80\xa4b.example/",
    ]
)


def all_of(page):
    ranked = find(page)
    assert len({c.url for c in ranked}) == len(ranked)
    for candidate in ranked:
        assert candidate.url.startswith(("http://", "https://"))
        assert "#" not in candidate.url
        assert candidate.url != page.url
        assert candidate.label in ("fut", "supplement", "other")
    assert sorted(c.place for c in ranked) == list(range(len(ranked)))
    assert {c.url for c in literal(page)} <= {c.url for c in ranked}
    assert describe(page).kind in ("bot-challenge", "login", "viewer", "splap")
    return [c.url for c in ranked]


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.one_of(PIECES, st.binary(max_size=12)), max_size=40).map(b"".join))
def test_any_bytes(body):
    all_of(Page(URL, body))


@given(st.text(max_size=60), st.text(max_size=40), st.text(max_size=60))
def test_any_url_and_headers(href, content_type, link):
    body = f"<a href='{href}'>PDF</a><base href='{link}'>".encode("utf-8", "replace")
    all_of(Page(URL, body, content_type, (link, f"<{href}>; rel=item; type=application/pdf")))


@pytest.mark.parametrize(
    "url", ["", "x", "http://", "http://[", "mailto:a@b", "http://h:x/", "https://é.example/ü?ö=#a"]
)
def test_any_page_url(url):
    page = Page(url, b"<a href='/x.pdf'>PDF</a><a href='http://y.example/y.pdf'>PDF</a>")
    assert "http://y.example/y.pdf" in all_of(page)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x00" * 1000,
        b"plain words",
        b"\xff" * 3000,
        b"%PDF-1.4 not a page",
        b"\x1f\x8b\x08\x00 torn gzip",
        b"<a href='http://[::1'>x</a><a href='http://a b/'>x</a><a href='//'>x</a>",
        b"<html>" + b"<p>" * 50_000,
        b"<a " * 100_000,
        b"<" * 300_000,
        b'"' * 300_000,
        b"<a href='" + b"x" * 200_000 + b"'>PDF</a>",
        b"<script>" + b'"pdf":"' * 50_000 + b"</script>",
        b"<script>gitbook.start(" + b'"download": [".pdf" ' * 50_000 + b"</script>",
        b'<script type="application/ld+json">' + b"[" * 100_000 + b"</script>",
        b"<meta name=citation_pdf_url content='" + b"a/" * 100_000 + b"'>",
        b"<iframe src='?" + b"file=/a.pdf&" * 20_000 + b"'></iframe>",
    ],
)
def test_nasty_bytes(body):
    all_of(Page(URL, body))


@pytest.mark.long("the short suite has a PDF behind ten thousand")
def test_a_hundred_thousand_links():
    links = b"".join(b"<a href='/n/%d'>word</a>" % n for n in range(100_000))
    found = all_of(Page(URL, b"<a href='/5512.pdf'>PDF</a>" + links))
    assert found[0] == "https://journal.example.org/5512.pdf"
    assert len(found) == MAX_ELEMENTS


@pytest.mark.long("the short suite has ten thousand that say nothing")
def test_a_hundred_thousand_links_that_say_pdf():
    links = b"".join(b"<a href='/n/%d.pdf'>PDF</a>" % n for n in range(100_000))
    found = find(Page(URL, links))
    assert len(found) == MAX_ELEMENTS
    assert sum(c.reasons != ("unscored",) for c in found) == 2 * MAX_SCORED


def test_a_pdf_behind_ten_thousand_links_is_still_first():
    links = b"".join(b"<a href='/n/%d'>word</a>" % n for n in range(10_000))
    found = all_of(Page(URL, links + b"<a href='/5512.pdf'>PDF</a>"))
    assert found[0] == "https://journal.example.org/5512.pdf"


def test_a_hundred_thousand_attributes():
    attributes = b" ".join(b"a%d=1" % n for n in range(100_000))
    body = b"<body><div " + attributes + b"><a href='/5512.pdf'>PDF</a></div>"
    assert all_of(Page(URL, body)) == ["https://journal.example.org/5512.pdf"]
    hidden = b"<body><div title='>' " + attributes + b"><a href='/5512.pdf'>PDF</a></div>"
    assert all_of(Page(URL, hidden)) == ["https://journal.example.org/5512.pdf"]


@pytest.mark.parametrize("tag", [b"div", b"span", b"x-card", b"ul><li", b"table><tr><td"])
@pytest.mark.parametrize("depth", [200, 300, 5_000])
def test_links_nested_deep(tag, depth):
    body = b"<body>" + (b"<" + tag + b">") * depth + b"<a href='/5512.pdf'>PDF</a>"
    body += b"</div>" * depth + b"<a href='/after'>after</a>"
    found = all_of(Page(URL, body))
    assert found[0] == "https://journal.example.org/5512.pdf"
    assert "https://journal.example.org/after" in found


@pytest.mark.parametrize("end", ["</html>", "</HTML >", "</body></html>", "</html/>"])
def test_links_behind_the_end_of_a_document(end):
    inner = f"<!DOCTYPE html><html><head><title></title></head><body>{end}"
    page = Page(URL, f"<html><head>{inner}<title>Ice</title></head><a href='/5512.pdf'>x".encode())
    assert all_of(page) == ["https://journal.example.org/5512.pdf"]
    assert page.title == "Ice"


def test_the_end_of_a_huge_page_is_left():
    body = b"<a href='/5512.pdf'>PDF</a>" + b"x" * (4 << 20) + b"<a href='/late'>late</a>"
    assert all_of(Page(URL, body)) == ["https://journal.example.org/5512.pdf"]


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        ("<a href='/1'>Télécharger</a>".encode("latin-1"), "text/html; charset=iso-8859-1", "é"),
        ("<a href='/1'>Télécharger</a>".encode("cp1252"), "", "é"),
        ("<a href='/1'>скачать</a>".encode(), "text/html", "скачать"),
        ("<meta charset=koi8-r><a href='/1'>скачать</a>".encode("koi8-r"), "", "скачать"),
        ("\ufeff<a href='/1'>скачать</a>".encode("utf-16"), "text/html; charset=utf-8", "скачать"),
        ("<a href='/1'>скачать</a>".encode("cp1251"), "text/html; charset=cp1251", "скачать"),
        ("<meta charset=utf-16><a href='/1'>скачать</a>".encode(), "", "скачать"),
        ("<a href='/1'>скачать</a>".encode(), "text/html; charset=utf-16", "скачать"),
        ("<meta charset='no-such'><a href='/1'>скачать</a>".encode(), "", "скачать"),
    ],
)
def test_the_charset_comes_from_bom_header_meta_or_the_bytes(body, content_type, text):
    assert text in Page(URL, body, content_type).visible


def test_a_page_is_parsed_once():
    page = Page(URL, b"<a href='/1'>x</a>")
    find(page)
    root = page.root
    literal(page)
    describe(page)
    assert page.root is root
