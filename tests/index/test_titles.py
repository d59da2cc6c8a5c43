"""Titles from ReDIF and stored pages: in every script, with markup, and from pages made to harm."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.cli.index import in_template
from lafka.index import tables, titles
from lafka.index.build import check, refresh
from lafka.index.papers import IndexTally, PaperRows
from lafka.index.tables import IndexFiles
from lafka.index.titles import (
    LONGEST,
    PAGE_BYTES,
    PaperTitle,
    Redif,
    Titles,
    clean,
    said_by_page,
    said_by_pdf,
)
from tests import starts
from tests.stores import PID, START, Store, answer, pdf

ROOT = Path(__file__).parents[2]
OTHER = "RePEc:abc:wpaper:2"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "archive")


def titled(store: Store, redif: Redif | None = None) -> list[tuple[str, str | None, str | None]]:
    index(store, redif)
    return rows(store)


def rows(store: Store) -> list[tuple[str, str | None, str | None]]:
    db = tables.open_to_read(IndexFiles.of(store.archive.root).database)
    try:
        return db.execute("SELECT pid, title, title_from FROM paper ORDER BY pid").fetchall()
    finally:
        db.close()


def index(store: Store, redif: Redif | None = None) -> IndexTally:
    return refresh(store.archive, IndexFiles.of(store.archive.root), more=[Titles(redif)])


def html(head: str, body: str = "") -> bytes:
    return f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>".encode()


@pytest.mark.parametrize(
    ("head", "title", "source"),
    [
        ("<meta name='citation_title' content='A'><title>B</title>", "A", "citation_title"),
        ("<META NAME='Citation_Title' CONTENT='A'>", "A", "citation_title"),
        ("<meta property='og:title' content='O'><title>B</title>", "O", "og:title"),
        ("<meta name='citation_title' content=' '><title>B</title>", "B", "title"),
        ("<title>B <b>bold</b> &amp; &lt;i&gt;</title>", "B <b>bold</b> & <i>", "title"),
        ("<title>Зарплата и größe 経済</title>", "Зарплата и größe 経済", "title"),
        ("", "", ""),
    ],
)
def test_a_page_says_its_title(head: str, title: str, source: str) -> None:
    assert said_by_page("text/html; charset=utf-8", html(head)) == (title, source, [])


def test_the_charset_is_the_pages_own() -> None:
    data = "<html><head><meta charset='windows-1251'><title>Труд</title>".encode("windows-1251")
    assert said_by_page("text/html", data) == ("Труд", "title", [])


@given(st.text(max_size=2000))
def test_a_title_is_one_line_that_drives_nothing(text: str) -> None:
    found = clean(text)
    assert len(found) <= LONGEST
    assert found == found.strip() == " ".join(found.split())
    assert found.encode().decode() == found
    assert not set(found) & {*map(chr, range(32)), "\x7f", "\u202e", "\u2066", "\u200f"}
    assert clean(found) == found or len(found) == LONGEST or "<" in found


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("<i>Homo Oeconomicus</i> at <B>work</B>", "Homo Oeconomicus at work"),
        ("CO<sub>2</sub> and x<SUP class='a'>n</SUP><small/>", "CO2 and xn"),
        ("if a<b and c>d, or <unknown> and <irony>", "if a<b and c>d, or <unknown> and <irony>"),
        ("a <i", "a <i"),
    ],
)
def test_tags_of_italics_and_indices_are_no_part_of_a_title(text: str, title: str) -> None:
    assert clean(text) == title


@given(st.binary(max_size=3000), st.sampled_from(["", "text/html", "text/html; charset=utf-16"]))
def test_no_page_breaks_the_reader(data: bytes, content_type: str) -> None:
    text, source, _ = said_by_page(content_type, data)
    assert source in ("", "title", "og:title", "citation_title")
    assert bool(source) or not text


@pytest.mark.parametrize("data", [b"\xef\xbb\xbf\xef\xbb\xbf", b"\x1c", b"<!---->", b"<!", b"\x01"])
def test_a_page_without_a_document_has_no_title(data: bytes) -> None:
    assert said_by_page("text/html", data) == ("", "", [])


def test_the_newest_page_of_a_paper_gives_its_title(store: Store) -> None:
    splap = store.splap(html("<title>Old</title>"))
    store.put(splap, store.found(splap, "http://x.example/1.pdf", pdf(1)))
    assert titled(store) == [(PID, "Old", "title")]
    ask = store.ask()
    late = START.replace(day=21)
    store.put(store.capture(ask, answer(html("<title>New</title>"), "gzip chunked"), at=late))
    store.put(store.fut(pdf(2), pid=OTHER))
    assert titled(store) == [(PID, "New", "title"), (OTHER, None, None)]
    assert index(store).titles == 0


def test_redif_goes_first_and_gives_the_year(store: Store) -> None:
    store.put(store.splap(html("<title>Page</title>")))
    store.put(store.splap(html("<title>Other</title>"), pid=OTHER))
    said = {PID: PaperTitle(title="From\n ReDIF", year=1994)}
    assert titled(store, said.get) == [(PID, "From ReDIF", "redif"), (OTHER, "Other", "title")]
    db = tables.open_to_read(IndexFiles.of(store.archive.root).database)
    assert db.execute("SELECT year FROM paper ORDER BY pid").fetchall() == [(1994,), (None,)]
    found = db.execute("SELECT pid FROM words WHERE words MATCH 'redif'").fetchall()
    assert found == [(PID,)]
    db.close()
    assert titled(store, {}.get)[0] == (PID, "Page", "title")


def test_a_page_that_stops_its_reader_is_one_paper_without_a_title(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(titles, "MODULE", "tests.index.deadly")
    store.put(store.splap(html("<title>deadly</title>")))
    store.put(store.splap(html("<title>Good</title>"), pid=OTHER))
    account = index(store)
    assert "its page cannot be read: its reader ended with" in account.sentences[0]
    assert titled(store) == [(PID, None, None), (OTHER, "Good", "title")]


def test_authors_come_with_the_title(store: Store) -> None:
    metas = "".join(f"<meta name='citation_author' content='{name}'>" for name in ("A B", "C, D"))
    store.put(store.splap(html(f"<meta name='citation_title' content='T'>{metas}")))
    said = PaperTitle(title="R", authors=("E F", " ", "G\nH"))
    for redif, authors in ((None, "A B; C, D"), ({PID: said}.get, "E F; G H")):
        index(store, redif)
        db = tables.open_to_read(IndexFiles.of(store.archive.root).database)
        assert db.execute("SELECT authors FROM paper").fetchone() == (authors,)
        name = authors.partition(" ")[0]
        found = db.execute("SELECT count(*) FROM words WHERE words MATCH ?", (f"authors:{name}",))
        assert found.fetchone() == (1,)
        db.close()


XMP = (
    b"<x:xmpmeta><dc:title> <rdf:Alt>\n<rdf:li xml:lang='x-default'>%b</rdf:li></rdf:Alt>"
    b"</dc:title>"
    b"<dc:creator><rdf:Seq><rdf:li>A B</rdf:li><rdf:li>C &amp; D</rdf:li></rdf:Seq></dc:creator>"
)


def test_a_pdf_that_is_the_futli_says_its_title(store: Store) -> None:
    store.put(store.fut(pdf(1) + XMP % b"On &quot;work&quot;", pid=OTHER))
    store.put(store.fut(pdf(2) + XMP % b"Microsoft Word - a.doc"))
    assert titled(store) == [(PID, None, None), (OTHER, 'On "work"', "xmp")]
    assert said_by_pdf(XMP % b"T")[2] == ["A B", "C & D"]


def test_info_says_a_title_where_xmp_says_none() -> None:
    pytest.importorskip("pypdfium2")
    assert said_by_pdf(b"%PDF-1.4 nothing") == ("", "", [])
    data = b"".join((
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n",
        b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n",
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj\n",
        b"4 0 obj<</Title(Of Info)/Author(A B)>>endobj\n",
        b"trailer<</Root 1 0 R/Info 4 0 R>>\n%%EOF\n",
    ))  # fmt: skip
    assert said_by_pdf(data) == ("Of Info", "info", ["A B"])


@given(st.binary(max_size=2000))
def test_no_pdf_breaks_the_reader(data: bytes) -> None:
    title, source, _ = said_by_pdf(b"%PDF-1.4\n" + data)
    assert bool(title) is bool(source)


def test_what_is_known_is_taken_over_when_the_index_is_made_anew(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put(store.splap(html("<title>Known</title>")))
    assert titled(store) == [(PID, "Known", "title")]
    monkeypatch.setattr(titles, "MODULE", "no.such.module")
    place = IndexFiles.of(store.archive.root)
    refresh(store.archive, place, anew=True, more=[Titles()])
    assert rows(store) == [(PID, "Known", "title")]


@pytest.mark.parametrize("batch", [1, 2, 100])
def test_titles_beside_the_making_are_those_of_after_it(
    store: Store, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pids = [f"RePEc:abc:wpaper:{number}" for number in range(7)]
    for pid in pids:
        store.put(store.splap(html(f"<title>Of {pid[-1]}</title>"), pid=pid))
    asked: list[str] = []

    def redif(pid: str) -> PaperTitle | None:
        asked.append(pid)
        return PaperTitle(title="Said") if pid == pids[3] else None

    def words(rows: PaperRows, paper: int) -> None:
        assert rows._anew, "words of a new index are made once, of all papers"

    monkeypatch.setattr(PaperRows, "words", words)
    place = IndexFiles.of(store.archive.root)
    account = refresh(store.archive, place, more=[Titles(redif)], batch=batch)
    assert account.titles == len(pids)
    assert asked == pids  # each once
    wanted = [(pid, f"Of {pid[-1]}", "title") for pid in pids]
    wanted[3] = (pids[3], "Said", "redif")
    assert rows(store) == wanted
    db = tables.open_to_read(place.database)
    query = "SELECT p.pid FROM words w JOIN paper p ON p.id = w.rowid WHERE w.title MATCH ?"
    for pid, title, _ in wanted:
        assert (pid,) in db.execute(query, (f'"{title}"',)).fetchall()
    assert db.execute("SELECT count(*) FROM words").fetchone() == (len(pids),)
    db.close()
    assert [*check(store.archive, place)] == []


def test_the_last_page_and_the_last_pdf_are_asked(store: Store) -> None:
    for day, body in ((21, html("<title>Old</title>")), (22, pdf(1) + XMP % b"Of the PDF"),
                      (23, html("<title> </title>"))):  # fmt: skip
        store.put(store.capture(store.ask(), answer(body), at=START.replace(day=day)))
    assert titled(store) == [(PID, "Of the PDF", "xmp")]


def test_a_page_is_read_to_its_first_bytes_alone(store: Store) -> None:
    late = html("", "x" * PAGE_BYTES) + b"<title>late</title>"
    store.put(store.splap(late))
    assert titled(store) == [(PID, None, None)]


def test_a_template_gives_title_and_year() -> None:
    lines = ("Template-Type: ReDIF-Paper 1.0", "Title: On work", "Creation-Date: 1994-05",
             f"Handle: {PID}")  # fmt: skip
    assert in_template("\n".join(lines).encode()) == PaperTitle(title="On work", year=1994)
    assert in_template("\n".join([lines[0], lines[3]]).encode()) is None
    assert in_template(b"") is None


def test_the_command_takes_titles_from_pages_and_from_the_obi_store(
    store: Store, tmp_path: Path
) -> None:
    store.put(store.splap(html("<title>Page</title>")))
    store.put(store.splap(html("<title>Other</title>"), pid=OTHER))
    data = tmp_path / "redif" / "abc" / "wpaper"
    data.mkdir(parents=True)
    handle = f"Template-Type: ReDIF-Paper 1.0\nTitle: From ReDIF\nHandle: {PID}\n"
    (data / "a.rdf").write_text(handle)
    env = {**os.environ, "LAFKA_ARCHIVE": str(store.archive.root),
           "LAFKA_OBJECT_STORE": str(tmp_path / "obis")}  # fmt: skip

    def scrapy(*args: str) -> subprocess.CompletedProcess[str]:
        return starts.run([sys.executable, "-m", "scrapy", *args], cwd=ROOT, env=env,
                              capture_output=True, text=True, check=False)  # fmt: skip

    done = scrapy("index", "--captures")
    assert done.returncode == 0, done.stderr
    assert ", 2 titles, " in done.stdout
    assert scrapy("tobi", str(tmp_path / "redif")).returncode == 0
    for args in (["--titles"], ["--rebuild"]):
        assert scrapy("index", *args).returncode == 0
        assert rows(store) == [(PID, "From ReDIF", "redif"), (OTHER, "Other", "title")]
    assert titled(store) == [(PID, "From ReDIF", "redif"), (OTHER, "Other", "title")]
