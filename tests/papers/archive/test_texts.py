"""Texts of futs: read in children, in order, whatever a PDF is."""

from __future__ import annotations

from pathlib import Path

import pytest

from lafka.errors import BadArgument, CallerError
from lafka.papers import Archive
from lafka.papers.archive import texts as texts_module
from lafka.papers.archive.texts import read_text, texts
from tests.sites.made_pdfs import Leaf, Look, Text, made
from tests.stores import PID, Store, pdf

pytest.importorskip("pypdfium2")
SAID = "Œuvres of the slow glaciers"


def paper(said: str, pages: int = 2) -> bytes:
    return made([Leaf(lines=(Text(said=f"{said} {n}"),)) for n in range(pages)])


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    """An archive of papers, the second of which no reader can read."""
    store = Store(tmp_path / "archive")
    for number in range(1, 8):
        data = pdf(number) if number == 2 else paper(f"{SAID}, part {number}")
        store.put(store.fut(data, pid=f"RePEc:abc:wpaper:{number}"))
    return Archive(tmp_path / "archive")


def test_texts_come_in_order_with_their_futs(archive: Archive) -> None:
    found = list(archive.texts())
    assert [str(one.fut.pid)[-1] for one in found] == list("1234567")
    first, second = found[:2]
    assert first.text.split("\f") == [f"{SAID}, part 1 0", f"{SAID}, part 1 1"]
    assert (first.pages, first.error) == (2, "")
    assert second.text == ""
    assert "its text could not be read" in second.error
    assert [one.error for one in found[2:]] == [""] * 5


def test_texts_of_some_futs_and_an_error_for_what_cannot_be(archive: Archive) -> None:
    [one] = archive.texts([PID], series="wpaper")
    assert str(one.fut.pid) == PID
    assert list(archive.texts(until="1999")) == []
    with pytest.raises(CallerError):
        list(archive.texts(host="https://example.org/"))
    with pytest.raises(TypeError):
        archive.texts(nobody="knows")


def test_who_stops_early_leaves_no_child(archive: Archive) -> None:
    coming = texts(archive.futs())
    next(coming)
    coming.close()
    assert list(coming) == []


def test_a_scan_has_pages_and_no_text() -> None:
    scan = made([Leaf(lines=(Text(said=SAID),))] * 3, Look(scanned=True))
    assert read_text(scan) == {"text": "", "pages": 3, "error": ""}


@pytest.mark.parametrize("data", [b"", b"%PDF-1.7\n%%EOF", paper(SAID)[:200]])
def test_what_is_no_pdf_says_why(data: bytes) -> None:
    found = read_text(data)
    assert (found["text"], found["pages"]) == ("", 0)
    assert found["error"]


def test_without_its_reader_it_is_said_in_one_sentence(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts_module, "find_spec", lambda name: None)
    with pytest.raises(BadArgument, match=r"pip install 'lafka\[text\]'"):
        list(archive.texts())


def test_a_child_that_dies_costs_one_text(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts_module, "MODULE", "tests.sites.dying_texts")
    found = list(archive.texts())
    assert [bool(one.error) for one in found] == [False, True] + [False] * 5
