"""How soon each mode asks for the right PDF, measured on a folder of landing pages.

    python benchmarks/finders.py --splaps DIR [--write docs/benchmarks.md] [--pages]
    python benchmarks/finders.py --splaps DIR --stripped [--own tests/pages] [...]

``DIR`` holds ``splaps.tsv`` (id, page_url, platform, reach, expected_fulltext_pdf_urls separated
by blanks) and ``pages/ID.html``. With ``--stripped`` the pages are asked again without what names
their PDF outright: see ``stripped.py``. ``splaps.py`` tells what counts as an answer.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import stripped
from splaps import GUESSED, Splap, answer, asked, load, mislabelled, own
from tables import write

from lafka.papers.candidates import Candidate
from lafka.papers.finders import Page, describe, find, literal

MODES = ("literal", "ranked", "first", "all")


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked:
    """What one mode asked for on one page, in order: ``fut``, ``pdf`` or ``miss``."""

    splap: Splap
    answers: tuple[str, ...]
    labels: tuple[str, ...]
    promising: int
    mislabelled: int
    seconds: float
    ranking: float

    @property
    def reached_at(self) -> int:
        """The number of the first request that brought the fut, from 1; 0 where none did."""
        return self.answers.index("fut") + 1 if "fut" in self.answers else 0


def walk(mode: str, splap: Splap) -> Walked:
    seconds, ranking, candidates = timed(literal if mode == "literal" else find, splap.page)
    if mode != "literal" and describe(splap.page).kind == "bot-challenge":
        candidates = ()
    requests = asked(mode, splap, candidates)
    return Walked(
        splap=splap,
        answers=tuple(answer(splap, c) for c in requests),
        labels=tuple("fut" if mode == "literal" else c.label for c in requests),
        promising=sum(c.promising for c in requests),
        mislabelled=0 if mode == "literal" else mislabelled(splap, candidates),
        seconds=seconds,
        ranking=ranking,
    )


ROUNDS = 5


def timed(
    finder: Callable[[Page], tuple[Candidate, ...]], given: Page
) -> tuple[float, float, tuple[Candidate, ...]]:
    """CPU seconds of the page's parsing and ranking, of its ranking alone, and what it found.

    The best of some rounds, each on a page of its own.
    """
    rounds = []
    for _ in range(ROUNDS):
        page = Page(given.url, given.body, given.content_type, given.link_headers, given.aliases)
        start = time.process_time()
        _ = page.elements
        parsed = time.process_time()
        candidates = finder(page)
        end = time.process_time()
        rounds.append((end - start, end - parsed))
    return min(whole for whole, _ in rounds), min(alone for _, alone in rounds), candidates


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
    parsed, ranked = ([f"{1000 * t:.1f}" for t in spread(times)] for times in (
        [w.seconds for w in walked], [w.ranking for w in walked],
    ))  # fmt: skip
    cells = [
        f"`{mode}`",
        f"{first / len(in_page):.1%}",
        *shares,
        f"{len(wrong)} ({sum(n == 'fut' for _, n in wrong)})",
        str(requests),
        f"{a_page:.2f}",
        str(max(without, default=0)) if mode == "ranked" else "",
        str(sum(w.mislabelled for w in walked)) if mode != "literal" else "",
        *ranked,
        f"{1000 * at_links(walked):.1f}",
        *parsed,
    ]
    return f"| {' | '.join(cells)} |"


def spread(times: list[float]) -> tuple[float, float]:
    """The median and the 99th percentile."""
    ordered = sorted(times)
    return ordered[len(times) // 2], ordered[min(len(times) - 1, int(len(times) * 0.99))]


LINKS = 470


def at_links(walked: list[Walked]) -> float:
    """CPU seconds of ranking a page with 470 links: the median of the seven pages nearest to it."""
    nearest = sorted(walked, key=lambda w: abs(len([*w.splap.page.every("a", "area")]) - LINKS))
    return spread([w.ranking for w in nearest[:7]])[0]


HEADER = """\
| mode | first request right, PDF named in the page | reached in 1 | in 2 | in 3 | in 5 | in all \
| wrong PDFs kept (labelled `fut`) | requests | a page with a fut | most promising on a page \
without | PDFs whose label is not the truth | ms CPU of ranking, median | p99 | at 470 links \
| with parsing, median | p99 |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- \
| --- |"""


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
    parser.add_argument("--splaps", type=Path, help="a folder with splaps.tsv and pages/")
    parser.add_argument("--own", type=Path, help="a folder of pages with verdicts on top")
    parser.add_argument("--stripped", action="store_true", help="without what names the PDF")
    parser.add_argument("--write", type=Path, help="put the table between the markers in this file")
    parser.add_argument("--pages", action="store_true", help="show the pages that are not perfect")
    parser.add_argument("--without", default="bare", help="... stripped of this kind")
    options = parser.parse_args(argv)
    sets = []
    if options.splaps:
        sets.append((f"Of `{options.splaps.name}`", load(options.splaps)))
    if options.own:
        sets.append((f"Of `{options.own}`", own(options.own)))
    if not sets:
        parser.error("say --splaps DIR or --own DIR")
    if options.pages:
        for _, splaps in sets:
            stripped.missed(splaps, options.without) if options.stripped else missed(splaps)
    if options.stripped:
        text = "\n\n".join(f"{name}:\n\n{stripped.table(splaps)}" for name, splaps in sets)
    else:
        text = table([splap for _, splaps in sets for splap in splaps])
    print(text)
    if options.write:
        write("finders-stripped" if options.stripped else "finders", text, options.write)


if __name__ == "__main__":
    main()
