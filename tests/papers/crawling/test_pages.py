"""A child per page's parsing: the same findings, and trouble that ends with its page."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.errors import Stopped
from lafka.papers.candidates import Candidate
from lafka.papers.crawling import pages as parsing
from lafka.papers.crawling.pages import PageReaders, PageReading
from lafka.papers.finders import Page
from lafka.papers.outcomes import Outcome
from lafka.pids import SCHEMES
from lafka.storage.children import ChildDied

URL = "http://journal.example/a/5512"
LINKS = b"".join(b"<a href='/n/%d'>word</a>" % n for n in range(1000))
SPLAP = b"<html><title>A paper</title><a href='/5512.pdf'>PDF</a>" + LINKS
CITED = b"<meta name=citation_pdf_url content='/c.pdf'>" + SPLAP


CANDIDATES = st.builds(
    Candidate, url=st.text(), found_by=st.text(), score=st.floats(allow_nan=False),
    place=st.integers(), reasons=st.lists(st.text()).map(tuple), promising=st.booleans(),
    label=st.sampled_from(["fut", "supplement", "other"]),
)  # fmt: skip
FOUND = st.builds(
    PageReading, candidates=st.lists(CANDIDATES, max_size=3).map(tuple),
    verdict=st.sampled_from(Outcome), reason=st.text(), partly=st.booleans(),
)  # fmt: skip


@given(FOUND)
def test_what_a_child_says_is_read_as_it_was_written(found):
    assert PageReading.of_json(json.loads(json.dumps(found.as_json()))) == found


@pytest.mark.parametrize(
    "values",
    [
        [],
        {},
        {"candidates": [{}], "verdict": "splap-only", "reason": "", "partly": False},
        {"candidates": [], "verdict": "fine", "reason": "", "partly": False},
    ],
)
def test_what_no_child_says_is_refused(values):
    with pytest.raises((LookupError, TypeError, ValueError)):
        PageReading.of_json(values)


@pytest.fixture
def pages() -> Iterator[PageReaders]:
    made = PageReaders(links_max=5)
    yield made
    made.stop()


@pytest.fixture
def troubled(monkeypatch: pytest.MonkeyPatch) -> Iterator[PageReaders]:
    """Pages whose reader some of them stop."""
    monkeypatch.setattr(parsing, "MODULE", "tests.sites.parsers")
    monkeypatch.setattr(parsing, "CPU_SECONDS", 1)
    made = PageReaders(links_max=5)
    yield made
    made.stop()


@pytest.mark.parametrize("body", [SPLAP, CITED, b"", b"\0\xff", b"<title>Just a moment...</title>"])
def test_a_child_finds_what_we_would_find_as_far_as_a_trail_can_go(pages, body):
    page = Page(URL, body, "text/html; charset=utf-8", ("</h.pdf>; rel=item",))
    here, there = parsing.read(page), pages._ask(page)
    assert here.candidates[: pages._most] == there.candidates
    assert len(there.candidates) <= 45
    assert (here.verdict, here.reason) == (there.verdict, there.reason)


@pytest.mark.parametrize(
    ("path", "said"),
    [("/die", "its reader ended with 7"), ("/work", "more than"), ("/fill", "MemoryError")],
)
def test_a_page_that_stops_its_parser_is_unread_and_the_next_is_read(troubled, path, said):
    assert troubled._ask(Page(URL, SPLAP)).candidates
    try:
        reason = troubled._ask(Page(URL + path, SPLAP)).reason
    except ChildDied as error:
        reason = str(error)
    assert said in reason
    assert troubled._ask(Page(URL, SPLAP)).candidates


def test_pages_that_are_given_up_are_not_told_as_unreadable(troubled):
    pid = SCHEMES["RePEc"].pid("RePEc:a:b:c")

    async def read() -> None:
        assert (await troubled.read(Page(URL, SPLAP), pid)).candidates
        waiting = [asyncio.ensure_future(troubled.read(Page(URL + "/wait", SPLAP), pid))
                   for _ in range(3)]  # fmt: skip
        await asyncio.sleep(0)
        troubled.cut()
        for each in waiting:
            with pytest.raises(Stopped):
                await asyncio.wait_for(each, 30)

    asyncio.run(read())
