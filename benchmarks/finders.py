"""How soon each mode asks for the right PDF, measured on a folder of landing pages.

    python benchmarks/finders.py --splaps DIR [--write docs/benchmarks.md] [--pages]

``DIR`` holds ``splaps.tsv`` (id, page_url, platform, reach, expected_fulltext_pdf_urls separated
by blanks) and ``pages/ID.html``. Nothing is fetched: a request brings the fut when its address is
one of the expected ones (scheme, ``www.``, escapes, session and display queries aside), another
PDF when its address looks like a file (``.pdf`` at the end of the path, ``/pdfft``, ``/doi/pdf/``),
and no PDF otherwise. Viewers are not stepped into.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parents[1]))

from lafka.papers.candidates import Candidate
from lafka.papers.finders import Page, describe, find, literal
from lafka.papers.finders.urls import twin_key

MODES = ("literal", "ranked", "first", "all")
MARKERS = ("<!-- finders -->", "<!-- /finders -->")
CAP = 50  # LAFKA_LINKS_MAX; not for `literal` and `all`, whose whole cost is shown
GUESSED = ("url-pattern",)  # reached by guessing only: nothing in the page names the PDF
_FILE = re.compile(r"\.pdf$|/pdfft$|/doi/pdf(?:plus|direct)?/10\.", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Splap:
    """One page of the set and its verdict."""

    name: str
    reach: str
    page: Page
    expected: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked:
    """What one mode asked for on one page, in order: ``fut``, ``pdf`` or ``miss``."""

    splap: Splap
    answers: tuple[str, ...]
    labels: tuple[str, ...]
    promising: int
    seconds: float

    @property
    def reached_at(self) -> int:
        """The number of the first request that brought the fut, from 1; 0 where none did."""
        return self.answers.index("fut") + 1 if "fut" in self.answers else 0


def load(folder: Path) -> list[Splap]:
    with (folder / "splaps.tsv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [
        Splap(
            name=row["id"],
            reach=row["reach"],
            page=Page(row["page_url"], (folder / "pages" / f"{row['id']}.html").read_bytes()),
            expected=frozenset(twin_key(u) for u in row["expected_fulltext_pdf_urls"].split()),
        )
        for row in rows
    ]


def answer(splap: Splap, candidate: Candidate) -> str:
    if twin_key(candidate.url) in splap.expected:
        return "fut"
    if candidate.found_by.startswith("platform:"):
        return "miss"  # guessed from this page's address: never another paper's
    return "pdf" if _FILE.search(urlsplit(candidate.url).path) else "miss"


def asked(mode: str, splap: Splap, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates that *mode* asks for, in order, by the rules of docs/finding.md."""
    found: list[Candidate] = []
    has_fut = False
    for candidate in candidates:
        if mode in ("ranked", "first") and len(found) == CAP:
            break
        if has_fut and (mode == "first" or (mode == "ranked" and not candidate.promising)):
            continue
        found.append(candidate)
        if answer(splap, candidate) != "miss":
            has_fut = has_fut or mode == "literal" or candidate.label == "fut"
            if has_fut and candidate.found_by == "citation_pdf_url":
                break
    return found


def walk(mode: str, splap: Splap) -> Walked:
    page = Page(splap.page.url, splap.page.body)
    start = time.process_time()
    candidates = literal(page) if mode == "literal" else find(page)
    seconds = time.process_time() - start
    if mode != "literal" and describe(page).kind == "bot-challenge":
        candidates = ()
    requests = asked(mode, splap, candidates)
    return Walked(
        splap=splap,
        answers=tuple(answer(splap, c) for c in requests),
        labels=tuple("fut" if mode == "literal" else c.label for c in requests),
        promising=sum(c.promising for c in requests),
        seconds=seconds,
    )


def row(mode: str, walked: list[Walked]) -> str:
    with_fut = [w for w in walked if w.splap.expected]
    in_page = [w for w in with_fut if w.splap.reach not in GUESSED]
    first = sum(w.reached_at == 1 for w in in_page)
    shares = [
        f"{sum(0 < w.reached_at <= limit for w in with_fut) / len(with_fut):.1%}"
        for limit in (1, 2, 3, 5, 10**9)
    ]
    wrong = [(a, n) for w in walked for a, n in zip(w.answers, w.labels, strict=True) if a == "pdf"]
    requests = sum(len(w.answers) for w in walked)
    a_page = sum(len(w.answers) for w in with_fut) / len(with_fut)
    without = [w.promising for w in walked if not w.splap.expected]
    times = sorted(w.seconds * 1000 for w in walked)
    cells = [
        f"`{mode}`",
        f"{first / len(in_page):.1%}",
        *shares,
        f"{len(wrong)} ({sum(n == 'fut' for _, n in wrong)})",
        str(requests),
        f"{a_page:.2f}",
        str(max(without, default=0)) if mode == "ranked" else "",
        f"{times[len(times) // 2]:.1f}",
        f"{times[min(len(times) - 1, int(len(times) * 0.99))]:.1f}",
    ]
    return f"| {' | '.join(cells)} |"


HEADER = """\
| mode | first request right, PDF named in the page | reached in 1 | in 2 | in 3 | in 5 | in all \
| wrong PDFs kept (labelled `fut`) | requests | a page with a fut | most promising on a page \
without | ms CPU, median | p99 |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"""


def table(splaps: list[Splap], modes: Sequence[str] = MODES) -> str:
    futs = sum(bool(s.expected) for s in splaps)
    guessed = sum(s.reach in GUESSED for s in splaps)
    lines = [row(mode, [walk(mode, s) for s in splaps]) for mode in modes]
    return "\n".join(
        [
            f"{len(splaps)} pages, {futs} with a fut, {guessed} of these by guessing only.",
            "",
            HEADER,
            *lines,
        ]
    )


def write(path: Path, text: str) -> None:
    """Put *text* between the markers in the file at *path*."""
    before, opened, rest = path.read_text(encoding="utf-8").partition(MARKERS[0])
    _, closed, after = rest.partition(MARKERS[1])
    if not opened or not closed:
        sys.exit(f"{path}: no {MARKERS[0]} ... {MARKERS[1]} in it")
    path.write_text(f"{before}{opened}\n{text}\n{closed}{after}", encoding="utf-8")


def missed(splaps: list[Splap]) -> None:
    """Print what `ranked` does on the pages where its first request is not the fut."""
    for splap in splaps:
        walked = walk("ranked", splap)
        if splap.expected and walked.answers == ("fut",):
            continue
        kind = describe(splap.page)
        print(f"{splap.name} ({splap.reach}) {kind.kind} {kind.reason}: {walked.answers[:8]}")
        for candidate in find(splap.page)[:6]:
            sign = "*" if candidate.promising else " "
            print(
                f"  {sign} {answer(splap, candidate):4} {candidate.score:6.1f} {candidate.label} "
                f"{candidate.found_by} {candidate.url[:110]} {','.join(candidate.reasons)}"
            )


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--splaps", type=Path, required=True)
    parser.add_argument("--write", type=Path, help="put the table between the markers in this file")
    parser.add_argument("--pages", action="store_true", help="show the pages that are not perfect")
    options = parser.parse_args(argv)
    splaps = load(options.splaps)
    if options.pages:
        missed(splaps)
    text = table(splaps)
    print(text)
    if options.write:
        write(options.write, text)


if __name__ == "__main__":
    main()
