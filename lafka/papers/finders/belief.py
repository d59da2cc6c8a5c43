"""The probability that a candidate is the paper's full text, and what follows from it.

One model: the log-odds are a sum of ``features`` times ``WEIGHTS``, of which the hand-made score
(``weights``) is the first. ``benchmarks/fit.py`` fits and checks it on labelled pages.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from lafka.papers.candidates import CITATION_PDF_URL, PLATFORM, Candidate
from lafka.papers.finders import urls
from lafka.papers.finders.kinds import PageKind
from lafka.papers.finders.ranking import OWN_SIGNS
from lafka.papers.finders.scores import EVIDENCE, says_against
from lafka.papers.finders.weights import BELIEVED

SCORE_MIN, SCORE_MAX = -6.0, 14.0  # beyond them a score says no more
LEAD_MIN, LEAD_MAX = -8.0, 4.0

# <fit>
WEIGHTS = {
    "bias": -3.314,
    "score": 0.623,
    "lead": 0.432,
    "cited": 2.020,
    "own": -1.029,
    "evidence": 0.852,
    "denied": -2.235,
    "supplement": -3.032,
    "elsewhere": 0.735,
    "against": -4.0,
    "guessed": 4.0,
    "only": 0.587,
}
# </fit>

NAMED = frozenset({CITATION_PDF_URL, "meta", "link-header", "link", "json-ld", "frame", "viewer"})


def features(candidate: Candidate, rival: float) -> dict[str, float]:
    """The values that the model sums; *rival* is the score of the best link to another file."""
    score = max(SCORE_MIN, min(candidate.score, SCORE_MAX))
    cited = candidate.found_by == CITATION_PDF_URL
    own = not OWN_SIGNS.isdisjoint(candidate.reasons)
    return {
        "bias": 1.0,
        "score": score,
        "lead": 0.0 if cited else max(LEAD_MIN, min(candidate.score - rival, LEAD_MAX)),
        "cited": float(cited),
        "own": float(own),
        "evidence": float(
            candidate.found_by in NAMED or not EVIDENCE.isdisjoint(candidate.reasons)
        ),
        "denied": float(candidate.label == "other"),
        "supplement": float(candidate.label == "supplement"),
        "elsewhere": float("other-site" in candidate.reasons),
        "against": float(says_against(candidate.reasons)),
        "guessed": float(candidate.found_by.startswith(PLATFORM)),
        "only": float("only-file" in candidate.reasons),
    }


def probability(values: dict[str, float], weights: dict[str, float] = WEIGHTS) -> float:
    """Return the model's probability for *values*, as ``features`` gives them."""
    odds = sum(weights[name] * value for name, value in values.items())
    return 1 / (1 + math.exp(-max(-30.0, min(odds, 30.0))))


def with_features(ranked: Sequence[Candidate]) -> list[tuple[Candidate, dict[str, float]]]:
    """Each candidate with what the model sums for it."""
    others = [c for c in ranked if c.found_by != CITATION_PDF_URL]
    best = others[0].score if others else SCORE_MIN
    key = urls.twin_key(others[0].url) if others else ""
    second = next((c.score for c in others[1:] if urls.twin_key(c.url) != key), SCORE_MIN)
    first = others[0] if others else None
    return [(c, features(c, second if c is first else best)) for c in ranked]


def weighed(ranked: Sequence[Candidate], kind: PageKind) -> list[Candidate]:
    """The same candidates with their probability, and the label that follows from it."""
    found = []
    for candidate, values in with_features(ranked):
        likely = round(probability(values), 3)
        label = candidate.label
        if label != "supplement" and kind is PageKind.PAPER:
            label = "fut" if likely >= BELIEVED else "other"
        found.append(replace(candidate, probability=likely, label=label))
    return found
