"""What is called the fut at the end, on labelled pages with made PDFs behind their links.

    python benchmarks/believed.py --splaps DIR [DIR ...] [--pages]

``splaps.tsv`` has a column ``title`` beside those that ``finders.py`` reads: the paper's, as its
first page has it. Behind the right links is a paper of this title, behind the others another paper,
or what their addresses say: a CV, slides, a supplement. All are looked into as in a crawl.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from insides import cv, paper, slides, supplement
from insides_texts import NAMES
from splaps import Splap, answer, asked, load

from lafka.papers.candidates import Candidate
from lafka.papers.crawling.pages import read
from lafka.papers.crawling.pdf_fronts import front_of
from lafka.papers.finders.inside import evidence
from lafka.papers.origins import Origin
from lafka.papers.outcomes import PageReading

ANOTHER = "Trade in vellum and what came of it in the valleys of the north"


@dataclass(frozen=True, kw_only=True)
class Ended:
    """What a page led to: whether the right PDF, or another, is called the fut, by the page alone
    and with a look inside; and the requests that the latter took.
    """

    right: bool
    right_inside: bool
    other: bool
    other_inside: bool
    requests: int


def ended(splap: Splap) -> Ended:
    reading = read(splap.page)
    labels = {
        c.url: _label(splap, reading, c)
        for c in reading.candidates
        if answer(splap, c) != "miss"
    }  # fmt: skip
    alone = asked("ranked", splap, reading.candidates)
    inside = asked("ranked", splap, reading.candidates, lambda c: labels.get(c.url, c.label))
    by_page = {answer(splap, c) for c in alone if c.label == "fut"}
    by_look = {answer(splap, c) for c in inside if labels.get(c.url, "") == "fut"}
    return Ended(
        right="fut" in by_page, right_inside="fut" in by_look,
        other="pdf" in by_page, other_inside="pdf" in by_look, requests=len(inside),
    )  # fmt: skip


def _label(splap: Splap, reading: PageReading, candidate: Candidate) -> str:
    """What *candidate*, a PDF, is called after a look inside."""
    right = answer(splap, candidate) == "fut"
    data = paper(splap.title, "en", NAMES[0]) if right else _other(splap, candidate)
    seen = evidence(front_of(data), reading.titles, reading.headings)
    label = "" if candidate.label == "fut" else candidate.label
    return Origin(found_by="anchor", label=label).looked_into(seen).label or "fut"


def _other(splap: Splap, candidate: Candidate) -> bytes:
    title = splap.title or ANOTHER
    if "cv-path" in candidate.reasons:
        return cv(title, NAMES[0])
    if "supplement-path" in candidate.reasons:
        return (slides if "slide" in candidate.url.lower() else supplement_of)(title, NAMES[0])
    return paper(ANOTHER, "en", NAMES[1])


def supplement_of(title: str, who: str) -> bytes:
    return supplement("Online Appendix for", title, who)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--splaps", type=Path, nargs="+", required=True, help="folders with titles")
    parser.add_argument("--pages", action="store_true", help="show those that end wrongly")
    options = parser.parse_args(argv)
    print(
        "| set | without a fut | one called it, by the page | with a look | with a fut"
        " | called it, by the page | with a look | another too | requests |"
    )
    print(f"| --- {'| ---: ' * 8}|")
    for folder in options.splaps:
        found = [(splap, ended(splap)) for splap in load(folder)]
        without = [end for splap, end in found if not splap.expected]
        has = [end for splap, end in found if splap.expected]
        cells = (
            folder.name, len(without), sum(e.other for e in without),
            sum(e.other_inside for e in without), len(has), sum(e.right for e in has),
            sum(e.right_inside for e in has), sum(e.other_inside for e in has),
            sum(e.requests for _, e in found),
        )  # fmt: skip
        print(f"| {' | '.join(map(str, cells))} |")
        for splap, end in found if options.pages else ():
            if end.right_inside != bool(splap.expected) or end.other_inside:
                print(f"{splap.name}: {end}")


if __name__ == "__main__":
    main()
