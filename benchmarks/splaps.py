"""Landing pages with verdicts, and what a mode of ``links`` asks for on one of them.

Nothing is fetched: a request brings the fut when its address is one of the expected ones (scheme,
``www.``, escapes, session and display queries aside), another PDF when its address looks like a
file (``.pdf`` at the end of the path, ``/pdfft``, ``/doi/pdf/``), and no PDF otherwise. Viewers are
not stepped into.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from lafka.papers.candidates import Candidate
from lafka.papers.finders import Page, kind_of
from lafka.papers.finders.urls import twin_key
from lafka.papers.walk import PageReading

CAP = 50  # LAFKA_LINKS_MAX; not for `literal` and `all`, whose whole cost is shown
GUESSED = ("url-pattern",)  # reached by guessing only: nothing in the page names the PDF
_FILE = re.compile(r"\.pdf$|/pdfft$|/doi/pdf(?:plus|direct)?/10\.", re.IGNORECASE)
_SAID = re.compile(r"^(url|alias|first|ranked|label|promising|content_type): (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Splap:
    """One page of the set and its verdict: ``expected`` are twin keys of the right PDFs,
    ``title`` is their paper's where the set has it.
    """

    name: str
    reach: str
    page: Page
    expected: frozenset[str]
    title: str = ""


def load(folder: Path) -> list[Splap]:
    """The pages of *folder*, which holds ``splaps.tsv`` and ``pages/ID.html``."""
    with (folder / "splaps.tsv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [
        Splap(
            name=row["id"],
            reach=row["reach"],
            page=Page(row["page_url"], (folder / "pages" / f"{row['id']}.html").read_bytes()),
            expected=frozenset(twin_key(u) for u in row["expected_fulltext_pdf_urls"].split()),
            title=row.get("title") or "",
        )
        for row in rows
    ]


def own(folder: Path) -> list[Splap]:
    """The pages of *folder* whose verdict stands in the comment on top, as in ``tests/pages``."""
    found = []
    for path in sorted(folder.glob("*.html")):
        top, _, body = path.read_bytes().partition(b"-->\n")
        said: dict[str, list[str]] = {}
        for key, value in _SAID.findall(top.decode()):
            said.setdefault(key, []).append(value)
        right = said.get("ranked") or said.get("first") or []
        if said.get("label", ["fut"])[0] != "fut":
            right = []
        if not right and said.get("promising") != ["0"]:
            continue  # a page that proves something else
        kind = said.get("content_type", ["text/html"])[0]
        page = Page(said["url"][0], body, kind, aliases=tuple(said.get("alias", ())))
        expected = frozenset(map(twin_key, right))
        found.append(Splap(name=path.stem, reach="own", page=page, expected=expected))
    return found


def answer(splap: Splap, candidate: Candidate) -> str:
    """What a request for *candidate* brings: ``fut``, ``pdf`` for another PDF, or ``miss``."""
    if twin_key(candidate.url) in splap.expected:
        return "fut"
    if candidate.found_by.startswith("platform:"):
        return "miss"  # guessed from this page's address: never another paper's
    return "pdf" if _FILE.search(urlsplit(candidate.url).path) else "miss"


def asked(
    mode: str,
    splap: Splap,
    candidates: Sequence[Candidate],
    label: Callable[[Candidate], str] = lambda candidate: candidate.label,
) -> list[Candidate]:
    """The candidates that *mode* asks for, in order, by the rules of docs/finding.md; *label*: what
    a PDF is called once it is there.
    """
    found: list[Candidate] = []
    has_fut = False
    tail = PageReading(candidates=tuple(candidates), kind=str(kind_of(splap.page, candidates))).tail
    for candidate in candidates:
        beyond = sum(not c.promising for c in found)
        if mode in ("ranked", "first") and not candidate.promising and beyond >= tail:
            continue
        if mode in ("ranked", "first") and len(found) == CAP:
            break
        if has_fut and (mode == "first" or (mode == "ranked" and not candidate.promising)):
            continue
        found.append(candidate)
        if answer(splap, candidate) != "miss":
            has_fut = has_fut or mode == "literal" or label(candidate) == "fut"
            if has_fut and candidate.found_by == "citation_pdf_url":
                break
    return found


def mislabelled(splap: Splap, candidates: Sequence[Candidate]) -> int:
    """Of the PDFs among *candidates*, how many are right and not called fut, or the reverse."""
    truths = [(answer(splap, c), c.label == "fut") for c in candidates]
    return sum((a == "fut") != called for a, called in truths if a != "miss")
