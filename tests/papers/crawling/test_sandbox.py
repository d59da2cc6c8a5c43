"""A child per page's parsing: the same findings, and trouble that ends with its page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lafka.papers.crawling import sandbox as parsing
from lafka.papers.crawling.sandbox import Pages, Unread
from lafka.papers.finders import Page
from lafka.papers.walk import pages as reading

URL = "http://journal.example/a/5512"
LINKS = b"".join(b"<a href='/n/%d'>word</a>" % n for n in range(1000))
SPLAP = b"<html><title>A paper</title><a href='/5512.pdf'>PDF</a>" + LINKS
CITED = b"<meta name=citation_pdf_url content='/c.pdf'>" + SPLAP


@pytest.fixture
def pages() -> Iterator[Pages]:
    made = Pages(links_max=5)
    yield made
    made.stop()


@pytest.mark.parametrize("body", [SPLAP, CITED, b"", b"\0\xff", b"<title>Just a moment...</title>"])
def test_a_child_finds_what_we_would_find_as_far_as_a_trail_can_go(pages, body):
    page = Page(URL, body, "text/html; charset=utf-8", ("</h.pdf>; rel=item",))
    here, there = reading.read(page), pages._ask(page)
    assert here.candidates[: pages._most] == there.candidates
    assert len(there.candidates) <= 45
    assert (here.verdict, here.reason) == (there.verdict, there.reason)


@pytest.mark.parametrize(
    ("path", "said"),
    [("/die", "its parser ended with 7"), ("/work", "more than"), ("/fill", "MemoryError")],
)
def test_a_page_that_stops_its_parser_is_unread_and_the_next_is_read(
    pages, monkeypatch, path, said
):
    monkeypatch.setattr(parsing, "MODULE", "tests.sites.parsers")
    assert pages._ask(Page(URL, SPLAP)).candidates
    try:
        reason = pages._ask(Page(URL + path, SPLAP)).reason
    except Unread as error:
        reason = str(error)
    assert said in reason
    assert pages._ask(Page(URL, SPLAP)).candidates


def test_a_child_that_has_gone_is_started_anew(pages):
    assert pages._ask(Page(URL, SPLAP)).candidates
    [child] = [c for c in pages._idle.queue if c._process]
    child._process.kill()
    child._process.wait()
    assert pages._ask(Page(URL, SPLAP)).candidates


def test_children_end_with_the_crawl():
    made = Pages(links_max=5)
    made._ask(Page(URL, SPLAP))
    [child] = [c for c in made._idle.queue if c._process]
    made.stop()
    assert child._process.returncode == 0
