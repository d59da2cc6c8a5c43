"""A child per look into a fut: what is seen, and trouble that ends with its PDF."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress

import pytest

from lafka.errors import MachineTrouble, Stopped
from lafka.papers.crawling import captures
from lafka.papers.crawling.captures import FutReaders
from lafka.papers.origins import Origin
from lafka.storage.children import ChildDied
from tests.sites.made_pdfs import Leaf, Look, Text, made, wrapped

pytest.importorskip("pypdfium2")
TITLE = "The wages of copyists in the valley of the slow glaciers"
PROSE = tuple(
    wrapped("In this study we look at the people of a valley and at their work. " * 20, 90)
)
LEAVES = [Leaf(lines=(Text(said=TITLE, size=17), *PROSE)), *[Leaf(lines=PROSE)] * 3]
PAPER = made(LEAVES)
STAMP = [Leaf(lines=(Text(said="Received on the twelfth of May"),))]
PLACED = made(LEAVES, Look(placed=True))
ABSTRACT = Leaf(lines=(Text(said=TITLE, size=17), Text(said="Abstract"), *PROSE))
HEADED = made([ABSTRACT, *LEAVES])
VITA = made([Leaf(lines=(Text(said="Curriculum Vitae"), Text(said=TITLE)))])


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> Iterator[FutReaders]:
    """Readers of futs whose child does what some titles say."""
    monkeypatch.setattr(captures, "MODULE", "tests.sites.parsers_of_pdfs")
    monkeypatch.setattr(captures, "CPU_SECONDS", 1)
    made_ = FutReaders()
    yield made_
    made_.stop()


def ask(readers: FutReaders, data: bytes, title: str = TITLE, heading: str = "") -> str:
    question = {"titles": [title], "headings": [heading]}
    return str(readers._children.ask("fut", question, data, seconds=1))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (PAPER, "title"), (PLACED, "title"), (VITA, "cv"),
        (b"", ""), (b"%PDF-1.7\nnothing\n%%EOF", ""), (made(STAMP), "fragment"),
        (made(STAMP, Look(scanned=True)), ""),
        (PAPER[: len(PAPER) // 2], ""), (PAPER.replace(b"/Count", b"/C0unt"), "title"),
    ],
)  # fmt: skip
def test_a_child_says_what_it_sees(readers, data, said):
    assert ask(readers, data) == said


def test_a_heading_may_be_the_title(readers):
    assert ask(readers, HEADED, "", TITLE) == "title"
    assert ask(readers, PAPER, "", TITLE) == ""


@pytest.mark.parametrize("title", ["/die", "/work", "/fill"])
def test_a_pdf_that_stops_its_reader_is_not_looked_into_and_the_next_is(readers, title):
    assert ask(readers, PAPER) == "title"
    with suppress(ChildDied):
        assert ask(readers, PAPER, title) == ""
    assert ask(readers, PAPER) == "title"


def test_a_look_that_is_given_up_says_so(readers):
    readers.cut()
    capture = type("C", (), {"payload": type("P", (), {"length": 9}), "url": "http://x.example/"})()
    readers._ask = lambda *_: readers._children.ask("fut", {}, b"", seconds=1)
    with pytest.raises(Stopped):
        asyncio.run(readers.look(capture, (TITLE,)))


def test_a_machine_that_begins_no_child_is_not_asked_for_each_fut(readers, monkeypatch):
    asked, now = [], [0.0]

    def refuse(*_, **__):
        asked.append(now[0])
        raise MachineTrouble("a child process", OSError(11, "Resource temporarily unavailable"))

    monkeypatch.setattr(readers._children, "ask", refuse)
    monkeypatch.setattr(captures, "monotonic", lambda: now[0])
    for now[0] in (5.0, 30.0, 64.0, 65.0, 66.0):
        with suppress(MachineTrouble):
            assert readers._inspect({"titles": [TITLE]}, PAPER) == ""
    assert asked == [5.0, 65.0]


FOUND = Origin(found_by="anchor", html_url="http://x.example/", html_date="2026-11-20T10:11:12Z")
OTHER, SUPPLEMENT = Origin(found_by="a", label="other"), Origin(found_by="a", label="supplement")


@pytest.mark.parametrize(
    ("origin", "inside", "label"),
    [
        (FOUND, "", ""), (FOUND, "title", ""), (FOUND, "cv", "other"), (FOUND, "another", "other"),
        (FOUND, "supplement", "supplement"), (OTHER, "title", ""), (OTHER, "", "other"),
        (SUPPLEMENT, "title", "supplement"), (Origin(), "slides", ""),
    ],
)  # fmt: skip
def test_a_label_follows_from_what_was_inspect(origin, inside, label):
    looked = origin.looked_into(inside)
    assert (looked.label, looked.inside) == (label, inside)
    assert Origin.of_json(looked.as_json()) == looked
