"""Fit or check the probability of lafka/papers/finders/belief.py on labelled pages.

    python benchmarks/fit.py --splaps DIR [--own tests/pages] [--write] [--ablate]

``DIR`` is a folder as in ``finders.py``. Each page counts as it came and stripped of what names its
PDF (``stripped.py``). Folds are by host: no page is judged by weights that saw its site. A fifth of
the hosts of DIR is never fitted on: what is printed of it is what the weights make of sites that
nobody saw. Features without a weight in belief.py are new. Of the hand's weights, of weights fitted
without and with the new features, all on pages held out, the Brier score is printed, and of the
last a table of ten bins. ``--write`` puts weights fitted on all but the unseen fifth into
belief.py, and refuses where they are worse on pages held out than the others. ``--ablate`` prints
what fits on pages held out lose where a group of features is left out.
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
from lafka.papers.finders.finding import gathered
from lafka.papers.finders.weights import BELIEVED

FOLDS = 4
UNSEEN = 4  # the fold of the hosts that are never fitted on, beside those
ROUNDS = 12
HALVINGS = 12  # of a step that makes the fit worse; then it is at its end
PULL = 0.0002  # how hard a weight is drawn to the hand's, for each candidate
LEAST = -4.5  # a score below it is no candidate that anybody asks for
MODEL = Path(belief.__file__)
GROUPS = {
    "nothing": (),
    "the score of the hand's rules": ("score",),
    "the lead over other files": ("lead",),
    "the kind of the page, its only file": ("unowned", "only"),
    "what metas name": ("cited", "guessed"),
    "what words and identifiers say": ("own", "evidence", "supplement", "against", "elsewhere"),
}
Row = tuple[int, dict[str, float], int]
Weights = dict[str, float]


def rows(splaps: Iterable[Splap]) -> list[Row]:
    """(fold, features, whether it is the fut) of the candidates of all pages."""
    found = []
    for splap in splaps:
        fold = zlib.crc32(urls.site(splap.page.host).encode()) % (FOLDS + 1)
        fold = fold % FOLDS if splap.reach == "own" else fold
        for kind in ("nothing", "bare", "plain"):
            page = stripped(splap.page, kind)
            for candidate, values in belief.with_features(*gathered(page)):
                guessed = kind != "nothing" and candidate.found_by.startswith("platform:")
                if candidate.score > LEAST and not guessed:
                    found.append((fold, values, int(answer(splap, candidate) == "fut")))
    return found


def fitted(data: Sequence[Row], names: Sequence[str]) -> Weights:
    """Weights of *names* by Newton's method, drawn to the hand's.

    A step that would make the fit worse is halved: far from the end Newton's step may overshoot,
    as it does where a group is left out.
    """
    prior = {name: belief.PRIOR.get(name, 0.0) for name in names}
    weights, loss = dict(prior), lost(data, prior, prior)
    pull = PULL * len(data)
    for _ in range(ROUNDS):
        slope = {name: pull * (prior[name] - weights[name]) for name in names}
        bend = {a: {b: pull * (a == b) for b in names} for a in names}
        for _, values, right in data:
            p = belief.probability(values, weights)
            known = [(name, values[name]) for name in names if values[name]]
            for name, value in known:
                slope[name] += (right - p) * value
                for other, factor in known:
                    bend[name][other] += p * (1 - p) * value * factor
        matrix = [[*line.values()] for line in bend.values()]
        steps = solved(matrix, [*slope.values()])
        for share in (0.5**n for n in range(HALVINGS)):
            tried = {n: weights[n] + share * step for n, step in zip(names, steps, strict=True)}
            if (after := lost(data, tried, prior)) <= loss:
                break
        else:
            break
        weights, loss = tried, after
    return {name: round(weight, 3) for name, weight in weights.items()}


def lost(data: Sequence[Row], weights: Weights, prior: Weights) -> float:
    """What *fitted* makes small: the log loss, and how far *weights* are from *prior*."""
    held = PULL * len(data) / 2 * sum((weights[n] - prior[n]) ** 2 for n in weights)
    return held - sum(math.log(p if right else 1 - p) for p, right in judged(data, weights))


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


def judged(data: Iterable[Row], weights: Weights) -> list[Guess]:
    return [(belief.probability(values, weights), right) for _, values, right in data]


def held_out(data: Sequence[Row], names: Sequence[str]) -> list[Guess]:
    """What weights that were fitted on the other folds think of each fold."""
    guesses = []
    for fold in range(FOLDS):
        weights = fitted([row for row in data if row[0] != fold], names)
        guesses += judged([row for row in data if row[0] == fold], weights)
    return guesses


def ablation(data: Sequence[Row], names: Sequence[str]) -> str:
    """The table of what is lost on pages held out without each of ``GROUPS``.

    Counted are candidates: right ones that are not believed, and others that are.
    """
    lines = ["| left out | Brier score | right, not believed | others believed |",
             "| --- | ---: | ---: | ---: |"]  # fmt: skip
    for group, left in GROUPS.items():
        guesses = held_out(data, [name for name in names if name not in left])
        denied = sum(right and p < BELIEVED for p, right in guesses)
        wrong = sum(not right and p >= BELIEVED for p, right in guesses)
        lines.append(f"| {group} | {brier(guesses):.4f} | {denied} | {wrong} |")
    return "\n".join(lines)


def written(weights: Weights) -> None:
    lines = [f'    "{name}": {weight:.3f},' for name, weight in weights.items()]
    block = "\n".join(["# <fit>", "WEIGHTS = {", *lines, "}", "# </fit>"])
    text = MODEL.read_text(encoding="utf-8")
    MODEL.write_text(re.sub(r"# <fit>.*# </fit>", block, text, flags=re.DOTALL), encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--splaps", type=Path, required=True, help="splaps.tsv and pages/")
    parser.add_argument("--own", type=Path, help="a folder of pages with verdicts on top")
    parser.add_argument("--write", action="store_true", help="put the fitted weights in place")
    parser.add_argument("--ablate", action="store_true", help="leave out groups of features")
    options = parser.parse_args(argv)
    data = rows([*load(options.splaps), *(own(options.own) if options.own else ())])
    seen = [row for row in data if row[0] != UNSEEN]
    unseen = [row for row in data if row[0] == UNSEEN]
    names = [*data[0][1]]
    known = [name for name in names if name in belief.WEIGHTS]
    if options.ablate:
        print(ablation(seen, names))
        return
    weights = fitted(seen, names)
    hand, before, after = judged(seen, belief.PRIOR), held_out(seen, known), held_out(seen, names)
    told = {
        "the hand's weights": hand,
        "fitted without new features, held out by host": before,
        "fitted, held out by host": after,
        "in place, on the unseen fifth of the hosts": judged(unseen, belief.WEIGHTS),
        "fitted, on the unseen fifth of the hosts": judged(unseen, weights),
    }
    for name, guesses in told.items():
        if guesses:
            print(f"{name}: Brier score {brier(guesses):.4f}, {len(guesses)} candidates")
    print(f"\n{bins(after)}")
    if options.write:
        if brier(after) > min(brier(before), brier(hand)):
            raise SystemExit("not written: the fitted weights are worse on pages held out")
        written(weights)


if __name__ == "__main__":
    main()
