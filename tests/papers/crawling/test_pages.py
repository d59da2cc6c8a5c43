"""A child per page's parsing: the same findings, and trouble that ends with its page."""

from __future__ import annotations

import asyncio
import csv
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.errors import Stopped
from lafka.papers.candidates import Candidate
from lafka.papers.crawling import pages as parsing
from lafka.papers.crawling import pdf_fronts
from lafka.papers.crawling.captures import PageReaders
from lafka.papers.finders import Page
from lafka.papers.outcomes import Outcome, PageReading
from lafka.pids import SCHEMES
from lafka.storage import children
from lafka.storage.children import ChildDied
from tests import suites
from tests.starts import ROOT
from tests.waiting import LIMIT

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


@pytest.mark.parametrize("module", [parsing.__name__, pdf_fronts.__name__])
def test_a_child_begins_without_scrapy(module: str) -> None:
    code = f"import sys, {module}; sys.exit(bool({{'scrapy', 'twisted'}} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=ROOT).returncode == 0


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
    monkeypatch.setattr(children, "PATIENCE", 500)  # a busy machine gives it a second late
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
                await asyncio.wait_for(each, LIMIT)

    asyncio.run(read())


MENU = "".join(f"<li><a href='/{n}'>Entry {n} of the menu</a>" for n in range(40))
GONE = [
    "<title>404 Not Found</title><h1>Not Found</h1>",
    "<title>Page not found | Institute of Vellum</title><h1>Oops!</h1>",
    "<title>Institute of Vellum</title><h1>The page was not found</h1>",
    "<title>Error 404</title><p>We are sorry.</p>",
    "<title>Seite nicht gefunden - Institut</title>",
    "<title>Institut</title><h1>Page introuvable</h1>",
    "<title>Página no encontrada</title>",
    "<title>Página não encontrada</title>",
    "<title>Pagina non trovata</title>",
    "<title>Страница не найдена</title>",
    "<title>Repository</title><h1>Item has been withdrawn</h1>",
    "<title>Repository</title><h1>Document could not be found</h1>",
    "<title>The paper you asked for does not exist</title>",
]
PAPERS = [
    "<meta name=citation_title content='Not found: lost books'><title>Not found</title>",
    "<title>Page not found</title><a href='/5512.pdf'>Download PDF of the paper</a>",
    "<title>Lost and found in Vienna</title><h1>Lost and found in Vienna</h1>",
    f"<title>A world that does not exist</title><p>{'Abstract. ' * 600}",
    "",
]


@pytest.mark.parametrize("body", GONE)
@pytest.mark.parametrize("menu", ["", MENU])
def test_a_page_that_says_that_it_is_none_is_not_there(body, menu):
    found = parsing.read(Page(URL, (menu + body).encode(), "text/html; charset=utf-8"))
    assert found.verdict is Outcome.NOT_FOUND
    assert found.reason.startswith("the page says so, with status 200: ")


@pytest.mark.parametrize("body", PAPERS)
def test_a_page_of_a_paper_is_there_whatever_its_title(body):
    assert parsing.read(Page(URL, body.encode(), "text/html")).verdict is not Outcome.NOT_FOUND


SPLAPS = Path(__file__).parents[4] / "shared/splaps"
"""Pages of papers beside the checkout, which are not ours to hand on."""


@pytest.mark.draws("of the pages")
@pytest.mark.skipif(not SPLAPS.is_dir(), reason="there are no such pages beside the checkout")
def test_no_known_page_of_a_paper_is_called_not_there():
    with (SPLAPS / "splaps.tsv").open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    read = [
        parsing.read(Page(row["page_url"], (SPLAPS / "pages" / f"{row['id']}.html").read_bytes()))
        for row in suites.few("splaps", rows, 30)
    ]
    assert read
    assert [found for found in read if found.verdict is Outcome.NOT_FOUND] == []


def test_a_home_page_to_which_different_links_lead_is_none_of_them(pages):
    pid = SCHEMES["RePEc"].pid("RePEc:a:b:c")
    home = "http://journal.example/"
    body = b"<title>Journal of Vellum</title><h1>Welcome</h1>"

    async def verdicts(*links: str) -> list[Outcome]:
        made = [Page(home, body, aliases=(str(pid), link)) for link in links]
        return [(await pages.read(page, pid)).verdict for page in made]

    links = (f"{home}a/1", f"{home}a/1#x", f"{home}a/2", home)
    splap, none = Outcome.SPLAP_ONLY, Outcome.NOT_FOUND
    assert asyncio.run(verdicts(*links)) == [splap, splap, none, splap]
