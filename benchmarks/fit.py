"""Fit or check the probability of lafka/papers/finders/belief.py on labelled pages.

    python benchmarks/fit.py --splaps DIR [--own tests/pages] [--write]

``DIR`` is a folder as in ``finders.py``. Each page counts as it came and stripped of what names its
PDF (``stripped.py``). Folds are by host: no page is judged by weights that saw its site. Printed
are the Brier score and a table of ten bins of pages held out, of the present weights and of fitted
ones. ``--write`` puts the fitted ones into belief.py, and refuses where they are worse held out.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from splaps import Splap, answer, load, own
from stripped import stripped

from lafka.papers.finders import belief, urls
from lafka.papers.finders.finding import ranked

FOLDS = 5
ROUNDS = 12
PRIOR = 0.02  # how hard a weight is drawn to the one that stands: hand weights are a prior
LEAST = -4.5  # a score below it is no candidate that anybody asks for
MODEL = Path(belief.__file__)
NAMES = tuple(belief.WEIGHTS)
Row = tuple[int, tuple[float, ...], int]
Weights = dict[str, float]


def rows(splaps: Iterable[Splap]) -> list[Row]:
    """(fold, features, whether it is the fut) of the candidates of all pages."""
    found = []
    for splap in splaps:
        fold = zlib.crc32(urls.site(splap.page.host).encode()) % FOLDS
        for page in (splap.page, *(stripped(splap.page, kind) for kind in ("bare", "plain"))):
            for candidate, values in belief.with_features(ranked(page)[0]):
                if candidate.score > LEAST and not candidate.found_by.startswith("platform:"):
                    right = int(answer(splap, candidate) == "fut")
                    found.append((fold, tuple(values[name] for name in NAMES), right))
    return found


def likely(weights: Sequence[float], values: Sequence[float]) -> float:
    odds = sum(w * v for w, v in zip(weights, values, strict=True))
    return 1 / (1 + math.exp(-max(-30.0, min(odds, 30.0))))


def fitted(data: Sequence[Row], prior: Sequence[float]) -> list[float]:
    """Weights by Newton's method, drawn to *prior*."""
    weights = [*prior]
    size = len(prior)
    for _ in range(ROUNDS):
        slope = [PRIOR * len(data) / 100 * (p - w) for p, w in zip(prior, weights, strict=True)]
        bend = [[PRIOR * len(data) / 100 * (i == j) for j in range(size)] for i in range(size)]
        for _, values, right in data:
            p = likely(weights, values)
            for i in (n for n, v in enumerate(values) if v):
                slope[i] += (right - p) * values[i]
                for j in range(size):
                    bend[i][j] += p * (1 - p) * values[i] * values[j]
        weights = [w + step for w, step in zip(weights, solved(bend, slope), strict=True)]
    return weights


def solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """The solution of a small symmetric system, by Gauss and Jordan."""
    rows = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    for i, line in enumerate(rows):
        rows[i] = line = [value / line[i] for value in line]
        for j, other in enumerate(rows):
            if j != i:
                rows[j] = [a - other[i] * b for a, b in zip(other, line, strict=True)]
    return [line[-1] for line in rows]


Guess = tuple[float, int]


def brier(guesses: Sequence[Guess]) -> float:
    """The mean squared difference of what was thought and what was so."""
    return sum((p - right) ** 2 for p, right in guesses) / len(guesses)


def bins(guesses: Sequence[Guess]) -> str:
    """The table of ten bins: how many were thought so likely, and how many of them were right."""
    lines = ["| probability | candidates | mean | right |", "| --- | --- | --- | --- |"]
    for n in range(10):
        inside = [(p, r) for p, r in guesses if n <= min(p * 10, 9.999) < n + 1]
        if inside:
            mean, right = (sum(v) / len(inside) for v in zip(*inside, strict=True))
            lines.append(
                f"| {n / 10:.1f}-{(n + 1) / 10:.1f} | {len(inside)} | {mean:.3f} | {right:.3f} |"
            )
    return "\n".join(lines)


def held_out(data: Sequence[Row], prior: Sequence[float]) -> list[Guess]:
    """What weights that were fitted on the other folds think of each fold."""
    guesses = []
    for fold in range(FOLDS):
        weights = fitted([row for row in data if row[0] != fold], prior)
        guesses += [(likely(weights, v), r) for f, v, r in data if f == fold]
    return guesses


def written(weights: Sequence[float]) -> None:
    lines = [f'    "{name}": {w:.3f},' for name, w in zip(NAMES, weights, strict=True)]
    block = "\n".join(["# <fit>", "WEIGHTS = {", *lines, "}", "# </fit>"])
    text = MODEL.read_text(encoding="utf-8")
    MODEL.write_text(re.sub(r"# <fit>.*# </fit>", block, text, flags=re.DOTALL), encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--splaps", type=Path, required=True, help="splaps.tsv and pages/")
    parser.add_argument("--own", type=Path, help="a folder of pages with verdicts on top")
    parser.add_argument("--write", action="store_true", help="put the fitted weights in place")
    options = parser.parse_args(argv)
    data = rows([*load(options.splaps), *(own(options.own) if options.own else ())])
    prior = [*belief.WEIGHTS.values()]
    present = [(likely(prior, values), right) for _, values, right in data]
    other = held_out(data, prior)
    for name, guesses in (("present weights", present), ("fitted, held out by host", other)):
        print(f"{name}: Brier score {brier(guesses):.4f}, {len(guesses)} candidates\n")
        print(bins(guesses), end="\n\n")
    if options.write:
        if brier(other) >= brier(present):
            raise SystemExit("not written: the fitted weights are no better on pages held out")
        written(fitted(data, prior))


if __name__ == "__main__":
    main()
