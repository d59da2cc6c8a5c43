"""Fifty strings as servers send them, through every door by which a person or a program reads them.

A site says them in status lines, header fields, pages, links and redirects; then logs, records of
runs, suwafs, commands and pages are read.

``tests/test_foreign_bytes.py`` draws more of them for what a crawl writes into WARCs and suwafs.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from unicodedata import category

import httpx
import pytest

from lafka.cli import sheets
from lafka.errors import BadArgument, printable
from lafka.reports.rendering import as_csv, as_html, as_json, as_text
from lafka.reports.tables import ReportSpan, Table, TableReport
from lafka.runs.feed import CsvExporter
from lafka.runs.terminals import ERASE, Terminal
from tests import starts
from tests.crawls.running import ROOT, Run, crawl
from tests.sites.server import Server
from tests.web.served import answering

FIFTY = (
    "\x1b[2J", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x1b]8;;http://x.example\x1b\\link",
    "\x1bP+q544e\x1b\\", "\x9b1m", "\x9d0;x\x9c", "\x07", "\x08\x08\x08gone", "\x00", "\x0e",
    "\x7f", "\rover it", "\n2026-11-24 00:00:00 [scrapy] INFO: forged", "\r\n", "\n\n", "\x0b",
    "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\u202egnp.exe", "\u202d",
    "\u2069", "\u200f", "\u200e", "\u061c", "\u200b", "\u2060", "\ufeff", "\u00ad",
    "\x0f", "\u2066x", "\ufff9a\ufffab", "=1+1", '=cmd|"/c calc"!A1', "+1", "-1+1|x",
    "@SUM(A1)", "\t=1", "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>", '"><b>', "' onmouseover='x", "&lt;&amp;&#60;", "{{ 7*7 }}",
    "%0d%0aSet-Cookie: x", "javascript:alert(1)", "\ud800",
)  # fmt: skip
FORMULA = re.compile(r"[=+\-@\t\r]")


def is_plain(text: str) -> bool:
    """Whether nothing in *text* drives a terminal, ends a line or turns the text around."""
    return not any(category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp") for letter in text)


def test_there_are_fifty() -> None:
    assert len(set(FIFTY)) >= 50


@pytest.mark.parametrize("text", FIFTY)
def test_a_sentence_shows_them_as_escapes(text: str) -> None:
    assert is_plain(printable(f"a{text}b"))
    assert is_plain(str(BadArgument(f"a{text}b")))


@pytest.mark.parametrize("text", FIFTY)
def test_the_live_line_shows_them_as_escapes(text: str) -> None:
    stream = io.StringIO()
    Terminal(stream).show([f"host {text}"])
    assert is_plain(stream.getvalue().removeprefix(ERASE))


def cells(data: bytes) -> list[str]:
    rows = [*csv.reader(io.StringIO(data.decode(), newline=""))]
    return [cell for row in rows[1:] for cell in row]


def table(text: str) -> Table:
    return Table(key="hosts", title=f"Hosts {text}", columns=("host", "why"), rows=((text, text),))


def feed_csv(text: str) -> bytes:
    target = io.BytesIO()
    exporter = CsvExporter(target, errors="backslashreplace")
    exporter.start_exporting()
    exporter.export_item({"pid": text, "futs": [text]})
    exporter.finish_exporting()
    return target.getvalue()


CSV: dict[str, Callable[[str], bytes]] = {
    "feed": feed_csv,
    "outcomes": lambda text: b"".join(sheets.csv_of({"x": str, "y": list},
                                                    [{"x": text, "y": [text]}])),
    "report": lambda text: as_csv(table(text)),
}  # fmt: skip


@pytest.mark.parametrize("door", CSV)
@pytest.mark.parametrize("text", FIFTY)
def test_no_cell_of_csv_is_a_formula(door: str, text: str) -> None:
    found = cells(CSV[door](text))
    assert found
    assert not [cell for cell in found if FORMULA.match(cell)]


class Tags(HTMLParser):
    """The elements of a page, and its attributes that run a script."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen |= {tag, *(name for name, _ in attrs if name.startswith("on"))}


def whole(text: str) -> TableReport:
    span = ReportSpan(as_of="2026-11-20T10:11:12Z")
    return TableReport(span=span, title=f"A {text}", lead=f"L {text}", tables=(table(text),))


@pytest.mark.parametrize("text", FIFTY)
def test_a_report_shows_them_as_text(text: str) -> None:
    assert all(is_plain(line) for line in as_text(whole(text)).split("\n"))
    data = as_json(whole(text))
    assert is_plain(data.decode().replace("\n", ""))
    assert json.loads(data)["hosts"] == [{"host": text, "why": text}]
    tags = Tags()
    page = as_html(whole(text), plot=lambda _: "").decode()
    tags.feed(page)
    assert not tags.seen & {"script", "img", "onerror", "onmouseover"}
    assert is_plain(page.replace("\n", ""))


# ---- A site that says them wherever a site can say something

HOST = "127.0.31.1"


class ForeignSite(Server):
    """Says the string of a paper's number in status lines, header fields, pages, links, redirects.

    Of each three papers one is a page with a link, one a redirect, one is not there.
    """

    def _answer(self, host: str, head: bytes, connection: object) -> bool:
        target = head.split(b" ", 2)[1].decode("latin-1")
        connection.sendall(self._said(target))  # type: ignore[attr-defined]
        return False

    def _said(self, target: str) -> bytes:
        found = re.match(r"/(\d+)", target)
        text = FIFTY[int(found[1])] if found else FIFTY[0]
        raw = text.encode("utf-8", "surrogatepass")
        own = b"%PDF-1.7\n" + target.encode("latin-1") + b"\n%%EOF\n"
        named = b'Content-Disposition: attachment; filename="%b.pdf"\r\n' % raw
        if target == "/robots.txt" or not found:
            return _http(b"404 Not Found", b"")
        if target != f"/{found[1]}":
            return _http(b"200 " + raw, own, named + b"Content-Type: application/pdf\r\n")
        if int(found[1]) % 3 == 0:
            return _http(b"200 OK", _page(text), b"Content-Type: text/html\r\nServer: %b\r\n" % raw)
        if int(found[1]) % 3 == 1:
            return _http(
                b"302 " + raw, raw, b"Location: /%b/x%b.pdf\r\n" % (found[1].encode(), raw)
            )
        return _http(b"404 " + raw, raw, b"ETag: %b\r\n" % raw)


def _http(status: bytes, body: bytes, fields: bytes = b"") -> bytes:
    length = b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(body)
    return b"HTTP/1.1 %b\r\n" % status + fields + length + body


def _page(text: str) -> bytes:
    said = html.escape(text)
    names = ("citation_title", "citation_author", "DC.description", "og:site_name")
    metas = "".join(f'<meta name="{name}" content="{said}">' for name in names)
    link = f'<meta name="citation_pdf_url" content="/{FIFTY.index(text)}/{said}.pdf">'
    body = f"<h2>Abstract</h2>{said}<a href='/{FIFTY.index(text)}/x'>{said}</a>"
    page = f"<!doctype html><title>{said}</title>{metas}{link}{body}"
    return page.encode("utf-8", "surrogatepass")


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Run]]:
    folder = tmp_path_factory.mktemp("foreign")
    with ForeignSite((HOST,)) as site:
        lines = (f"RePEc:tst:foreign:{n}\t{site.at(HOST)}/{n}\n" for n in range(len(FIFTY)))
        (folder / "list.tsv").write_text("".join(lines))
        run = crawl(folder / "archive", folder / "list.tsv", DOWNLOAD_DELAY=0,
                    LAFKA_HOST_FAILURES_MAX=0)  # fmt: skip
        done = starts.run(  # so that exports have the titles, which are theirs too
            [sys.executable, "-m", "scrapy", "index", "-s", f"LAFKA_ARCHIVE={folder / 'archive'}"],
            cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        yield folder / "archive", run


def lines_that_are_not_plain(data: bytes) -> list[str]:
    return [line for line in data.decode("utf-8").split("\n") if not is_plain(line)]


def test_a_crawl_says_them_as_escapes(foreign: tuple[Path, Run]) -> None:
    archive, run = foreign
    assert run.code == 0, run.log
    assert lines_that_are_not_plain((run.log + run.out).encode()) == []
    assert "forged" not in "".join(line[:60] for line in run.log.splitlines())
    for path in (*archive.glob("runs/*"), *archive.rglob("suwaf/**/*.json")):
        assert lines_that_are_not_plain(path.read_bytes()) == [], path


DOORS = (
    ("outcomes",), ("outcomes", "--csv"), ("futs",), ("futs", "--csv"), ("report",), ("runs",),
    ("verify",), ("suwaf", "RePEc:tst:foreign:0"), ("finders", "--from-archive"),
)  # fmt: skip


@pytest.mark.parametrize("door", DOORS, ids=" ".join)
def test_a_command_prints_them_as_escapes(foreign: tuple[Path, Run], door: tuple[str, ...]) -> None:
    archive, _ = foreign
    done = starts.run(
        [sys.executable, "-m", "scrapy", *door, "-s", f"LAFKA_ARCHIVE={archive}"],
        cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout or door == ("verify",)
    assert lines_that_are_not_plain(done.stdout.replace(b"\r\n", b"\n") + done.stderr) == []
    if "--csv" in door:
        assert not [cell for cell in cells(done.stdout) if FORMULA.match(cell)]


def test_pages_show_them_as_escapes(foreign: tuple[Path, Run]) -> None:
    """But for a soft hyphen, which says where a word may break."""
    archive, _ = foreign
    asked = ("--port", "0", "--replay-port", "0", "-s", f"LAFKA_ARCHIVE={archive}")
    with answering(*asked) as (pages, *_), httpx.Client(base_url=pages) as client:
        for n in range(0, len(FIFTY), 3):
            page = client.get(f"/papers/RePEc%3Atst%3Aforeign%3A{n}")
            assert page.status_code == 200
            tags = Tags()
            tags.feed(page.text)
            assert not tags.seen & {"script", "img", "onerror", "onmouseover"}
            assert lines_that_are_not_plain(page.content.replace("\u00ad".encode(), b"")) == []
