"""What is seen inside of futs, on pairs of a page's title and a made PDF; and what a look costs.

    python benchmarks/insides.py [--pairs] [--every N] [--write docs/benchmarks.md]

Right PDFs bear the title in the ways of papers: over several lines, broken by hyphens, in capitals,
with ligatures and accents of their own, behind a cover sheet of an archive, in type that nobody can
map to characters, or as a scan. Wrong ones are other papers, CVs, slides, forms, supplements, front
matter and cover sheets with nothing behind them. A right one is denied where anything but the title
is seen in it, a wrong one passes where nothing or the title is.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from insides_texts import BODIES, NAMES, RETITLED, SHEETS, TITLES
from tables import write

from lafka.papers.crawling.pdf_fronts import front_of
from lafka.papers.finders.inside import TITLE, evidence
from tests.sites.made_pdfs import SLIDE, Leaf, Look, Text, centred, made, wrapped

APART = Look(ligatures=True, decomposed=True)
BLANK = Text(said=" ", size=8)
A1 = (1684.0, 2384.0)
POSTER = ("{who}, University of Example", "Motivation", "Wages are low.", "Results", "They are.")


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A title as a page gives it, and the PDF behind a link there."""

    kind: str
    right: bool
    title: str
    pdf: bytes


def head(
    title: str, who: str, size: float = 17.0, width: int = 40, *, hyphens: bool = False
) -> list[Text]:
    return [
        *centred(wrapped(title, width, size, hyphens=hyphens)), BLANK,
        *centred([Text(said=who, size=11), Text(said="November 2024", size=10)]), BLANK,
    ]  # fmt: skip


def prose(language: str, topic: str, words: int = 400) -> list[Text]:
    text = (
        f"{topic}. {' '.join([BODIES[language]] * 12)}"
        if topic
        else " ".join([BODIES[language]] * 12)
    )
    return wrapped(" ".join(text.split()[:words]) if " " in text else text[:words], 90)


def paper(title: str, language: str, who: str, look: Look | None = None, **set_: object) -> bytes:
    first = [*head(title, who, **set_), Text(said="Abstract", size=11), *prose(language, "")]  # type: ignore[arg-type]
    return made([Leaf(lines=tuple(first)), *rest(language)], look)


def rest(language: str, pages: int = 6) -> list[Leaf]:
    return [Leaf(lines=tuple(prose(language, str(n), 500))) for n in range(pages)]


def covered(cover: Sequence[str], title: str, language: str, who: str) -> bytes:
    lines = [
        part
        for text in cover
        for part in wrapped(text.format(title=title, who=who), 70, 14 if text == "{title}" else 10)
    ]
    first = [*head(title, who), Text(said="Abstract", size=11), *prose(language, "")]
    return made([Leaf(lines=tuple(lines)), Leaf(lines=tuple(first)), *rest(language)])


COVERS = [
    (name.removeprefix("cover: "), lines)
    for name, lines in SHEETS.items()
    if name.startswith("cover: ")
]
WAYS = ("Comment on", "Reply to", "Erratum to", "Corrigendum:")
SUPPLEMENTS = (
    "Online Appendix for",
    "Supplementary Material",
    "Supporting Information",
    "Appendix to",
    "Web Appendix (not for publication)",
)


def right() -> Iterator[Pair]:
    for n, (language, title) in enumerate(TITLES):
        who = NAMES[n % len(NAMES)]
        looks = {
            "as it is": paper(title, language, who),
            "in capitals": paper(title.upper(), language, who),
            "hyphens in narrow lines": paper(title, language, who, width=22, hyphens=True),
            "ligatures, accents apart": paper(title, language, who, APART),
            "a scan": paper(title, language, who, Look(scanned=True)),
            "the mark of a footnote": paper(f"{title}*", language, who),
            "letters spread": paper(title, language, who, Look(spread=True)),
            "letters placed one by one": paper(title, language, who, Look(placed=True)),
        }  # fmt: skip
        if n % 3 == 0:
            looks["no map to characters"] = paper(title, language, who, Look(mapped=False))
            looks["in the type of the text"] = paper(title, language, who, size=10.0, width=80)
        name, cover = COVERS[n % len(COVERS)]
        looks[f"behind a cover of {name}"] = covered(cover, title, language, who)
        for kind, pdf in looks.items():
            yield Pair(kind=kind, right=True, title=title, pdf=pdf)
    for language, on_page, inside in RETITLED:
        yield Pair(kind="a title that changed", right=True, title=on_page,
                   pdf=paper(inside, language, NAMES[0]))  # fmt: skip


def wrong() -> Iterator[Pair]:
    for n, (language, title) in enumerate(TITLES):
        who = NAMES[n % len(NAMES)]
        others = [t for lang, t in TITLES if lang == language and t != title]
        made_ = {}
        if others:
            other = others[n % len(others)]
            made_["another paper"] = paper(other, language, who)
            made_["another paper that cites it"] = citing(other, title, language, who)
        kinds = ["a CV", "a CV without the word", "a CV with other headings"]
        kinds += ["a CV with headings beside their text", "a résumé in capitals", "a form"]
        issues = ["contents of an issue", "an issue that says what is inside"]
        kinds += issues * (language not in ("zh", "fa"))
        kinds += ["a Lebenslauf"] * (language == "de") + ["an order form"] * (n % 4 == 0)
        for kind in kinds:
            leaf = _sheet(SHEETS[kind], title, who)
            made_[kind] = made([leaf] * (1 if "form" in kind else 4))
        times = (f"{hour}:30 - {hour + 1}:00 {who}" for hour in range(9, 18))
        made_["a schedule"] = made([_sheet([title, *times], title, who)] * 3)
        made_["slides"] = slides(title, who)
        made_["a poster"] = made([replace(_sheet([title, *POSTER], title, who), size=A1)])
        if language == "en":
            made_["a supplement"] = supplement(SUPPLEMENTS[n % len(SUPPLEMENTS)], title, who)
            made_["a comment on it"] = paper(
                f"{WAYS[n % len(WAYS)]} {title}", language, "C. Critic"
            )
        name, cover = COVERS[n % len(COVERS)]
        if name not in ("SSRN", "IDEAS and MPRA"):
            lines = [
                part for text in cover for part in wrapped(text.format(title=title, who=who), 70)
            ]
            made_[f"a cover of {name} alone"] = made([Leaf(lines=tuple(lines))])
        for kind, pdf in made_.items():
            yield Pair(kind=kind, right=False, title=title, pdf=pdf)


def citing(other: str, title: str, language: str, who: str) -> bytes:
    first = [*head(other, who), *prose(language, f"{title} (Smith 2010)", 200)]
    second = [*prose(language, "", 200), Text(said="References", size=12, down=8),
              *wrapped(f"Smith, J. (2010), {title}, Journal of Examples 3, 1-20.", 90)]  # fmt: skip
    return made([Leaf(lines=tuple(first)), Leaf(lines=tuple(second)), *rest(language)])


def cv(title: str, who: str) -> bytes:
    return made([_sheet(SHEETS["a CV"], title, who)] * 4)


def supplement(way: str, title: str, who: str) -> bytes:
    lines = [
        *centred([Text(said=way, size=16)]),
        *head(title, who),
        *prose("en", "Proofs of propositions"),
    ]
    return made([Leaf(lines=tuple(lines)), *rest("en")])


def slides(title: str, who: str) -> bytes:
    points = ("Motivation", "What we do", "Data", "Results", "Conclusion")
    first = [
        *centred(wrapped(title, 32, 14), SLIDE),
        BLANK,
        *centred([Text(said=who, size=11)], SLIDE),
    ]
    return made([Leaf(size=SLIDE, lines=tuple(first)), *map(slide, points)])


def slide(point: str) -> Leaf:
    said = [f"- a word about {point.lower()} {n}" for n in range(4)]
    bullets = [Text(said=text, size=11, x=30, down=6) for text in said]
    return Leaf(size=SLIDE, lines=(Text(said=point, size=14, x=20), *bullets))


def _sheet(lines: Sequence[str], title: str, who: str) -> Leaf:
    said = [part for text in lines for part in wrapped(text.format(title=title, who=who), 80, 11)]
    return Leaf(lines=tuple(said))


def table(pairs: Sequence[Pair], *, show: bool = False) -> str:
    found: Counter[tuple[bool, str, str]] = Counter()
    times = []
    for pair in pairs:
        start = time.process_time()
        seen = evidence(front_of(pair.pdf), [pair.title])
        times.append(time.process_time() - start)
        denied = seen not in ("", TITLE)
        found[pair.right, pair.kind, "denied" if denied else seen or "nothing"] += 1
        if show and denied == pair.right:
            print(f"{'RIGHT' if pair.right else 'WRONG'} {pair.kind}: {seen!r} {pair.title}")
    lines = [
        "| PDF | pairs | its title seen | nothing seen | denied |",
        "| --- | --- | --- | --- | --- |",
    ]
    for right_, kind in dict.fromkeys((r, k) for r, k, _ in found):
        counts = [found[right_, kind, what] for what in (TITLE, "nothing", "denied")]
        cells = [f"{'the paper' if right_ else 'no paper of its'}: {kind}", sum(counts), *counts]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    bad = sum(n for (r, _, what), n in found.items() if r == (what == "denied"))
    rights = sum(pair.right for pair in pairs)
    times.sort()
    median, most = 1000 * times[len(times) // 2], 1000 * times[-1]
    top = (
        f"{len(pairs)} pairs, {rights} right: {bad} judged wrongly."
        f" A look takes {median:.1f} ms of CPU at the median, {most:.0f} at most."
    )
    return "\n".join([top, "", *lines])


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", action="store_true", help="show those that are judged wrongly")
    parser.add_argument("--write", type=Path, help="put the table between the markers in this file")
    parser.add_argument("--every", type=int, default=1, help="only every such pair")
    options = parser.parse_args(argv)
    text = table([*right(), *wrong()][:: options.every], show=options.pairs)
    print(text)
    if options.write:
        write("insides", text, options.write)


if __name__ == "__main__":
    main()
