"""Share of labelled pages whose fut is believed, whatever the link to it says.

    python benchmarks/buttons.py --splaps DIR [--own tests/pages] [--every N] [--text TEXT ...]
                                 [--lost]

From each page is taken what names its PDF outright (``all`` of ``stripped.py``), and each link to
the right PDF says one text after the other. What a page calls its button is chance; a text of which
fewer pages are believed than of ``(nothing)`` is one that the finders take for a name of another
file. ``--lost`` lists the pages that the last text loses. Nothing is fetched.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import splaps as labelled
from splaps import Splap, answer
from stripped import has_own_link, own_links, stripped
from tables import markdown

from lafka.papers.candidates import Candidate
from lafka.papers.finders import find

NOTHING = "(nothing)"
TEXTS = (
    NOTHING, "PDF", "Download", "Full text", "Paper", "Working paper", "Published version", "here",
    "View", "Read", "Link", "[link]", "Report", "Article", "Manuscript", "Latest draft",
    "Draft, March 2019", "Revised June 2020", "SSRN version", "NBER version", "arXiv",
    "Author copy", "Extended version", "Version of record", "English version", "US Letter",
    "Volltext", "Télécharger", "Descargar", "Texto completo", "Scarica", "Baixar", "Pobierz",
    "Tam metin", "Скачать", "全文", "دریافت",
)  # fmt: skip


def saying(splap: Splap, text: str) -> Candidate | None:
    """The candidate for the right PDF of *splap*, where each link to it says *text*."""
    page = stripped(splap.page, "all")
    for element in own_links(splap, page):
        for child in list(element.node):
            element.node.remove(child)
        element.node.text = "" if text == NOTHING else text
        for name in ("title", "aria-label"):
            element.node.attrib.pop(name, None)
    right = [c for c in find(page) if answer(splap, c) == "fut"]
    return next(filter(is_believed, right), next(iter(right), None))


def is_believed(found: Candidate | None) -> bool:
    return found is not None and found.label == "fut" and found.promising


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--splaps", type=Path, required=True, help="splaps.tsv and pages/")
    parser.add_argument("--own", type=Path, help="a folder of pages with verdicts on top")
    parser.add_argument("--every", type=int, default=1, help="each N-th page alone")
    parser.add_argument("--text", action="append", help="in place of the texts of the table")
    parser.add_argument("--lost", action="store_true", help="list what the last text loses")
    options = parser.parse_args(argv)
    pages = labelled.load(options.splaps) + (labelled.own(options.own) if options.own else [])
    chosen = [s for s in pages if s.expected and has_own_link(s)][:: options.every]
    rows, lost = [], []
    for text in options.text or TEXTS:
        lost = [s for s in chosen if not is_believed(saying(s, text))]
        share = 1 - len(lost) / max(len(chosen), 1)
        rows.append((text, str(len(chosen)), f"{share:.1%}"))
    print(markdown(("text", "pages", "promising and called `fut`"), rows))
    for splap in lost if options.lost else ():
        right = saying(splap, text)
        print(f"{splap.name}\t{right.score if right else ''}\t{right.reasons if right else ''}")


if __name__ == "__main__":
    main()
