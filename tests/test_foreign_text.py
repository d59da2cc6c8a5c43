"""Fifty strings as servers send them, through every door by which a person or a program reads them.

``tests/test_foreign_bytes.py`` draws more of them for what a crawl writes into WARCs and suwafs.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from unicodedata import category

import pytest

from lafka.cli import sheets
from lafka.errors import BadArgument, printable
from lafka.reports.rendering import as_csv, as_html, as_json, as_text
from lafka.reports.tables import ReportSpan, Table, TableReport
from lafka.runs.feed import CsvExporter
from lafka.runs.terminals import ERASE, Terminal

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
