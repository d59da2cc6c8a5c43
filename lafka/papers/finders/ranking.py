"""All finders' findings merged by address, each judged by the identifiers in its address."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from lafka.papers.candidates import CITATION_PDF_URL, PLATFORM, Candidate
from lafka.papers.finders import signs, urls, weights
from lafka.papers.finders.pages import Page

_DIGITS = re.compile(r"\d+")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TOLD = signs.OWN | {"other-number"}
_TRUSTED = frozenset({"link-header", "link", "json-ld", "frame", "viewer", "meta", "script"})
_WARNINGS = frozenset({"says-supplement", "says-business"})
_NAMES = frozenset({"says-version", "says-full-text", "says-number"})  # what one link says of both
_UNWARNED = frozenset({"title-as-text", "says-full-text", "own-identifier", "own-row"})
_PAPER = frozenset({"says-pdf", "says-version"})
_BAD_PATH = frozenset({"supplement-path", "part-path", "other-type", "cv-path"})


def merged(found: Iterable[Candidate]) -> list[Candidate]:
    """One candidate for each address, with every witness's reasons, surest first."""
    by_url: dict[str, Candidate] = {}
    for candidate in found:
        known = by_url.get(candidate.url)
        by_url[candidate.url] = candidate if known is None else _both(known, candidate)
    return sorted(_told_apart([*by_url.values()]), key=order)


def _told_apart(found: list[Candidate]) -> Iterator[Candidate]:
    """The candidates, those lowered that differ from the page's own file by their number only."""
    own = {
        _pattern(c.url)
        for c in found
        if c.score >= weights.PROMISING and not signs.OWN.isdisjoint(c.reasons)
    }
    if not own:
        yield from found
        return
    for candidate in found:
        other = candidate.score > 0 and _TOLD.isdisjoint(candidate.reasons)
        if other and candidate.found_by != CITATION_PDF_URL and _pattern(candidate.url) in own:
            yield replace(
                candidate,
                score=candidate.score + weights.OTHER_NUMBER,
                reasons=(*candidate.reasons, "other-number"),
            )
        else:
            yield candidate


def order(candidate: Candidate) -> tuple[bool, float, int]:
    """The sort key: the requirement paper's meta, then the score, then document order."""
    return (candidate.found_by != CITATION_PDF_URL, -candidate.score, candidate.place)


def _both(one: Candidate, other: Candidate) -> Candidate:
    """Two witnesses of one address; the first finder in the tuple keeps its name."""
    if one.found_by == other.found_by:
        surer, worse = (one, other) if one.score >= other.score else (other, one)
        said = [r for r in worse.reasons if r in _NAMES and r not in surer.reasons]
        # A row of buttons names its paper first; *Code* may lead there for want of one.
        named = surer.place < worse.place and not _PAPER.isdisjoint(surer.reasons)
        warnings = _WARNINGS - {"says-supplement"} if named else _WARNINGS
        place = min(one.place, other.place)
        surer = replace(surer, place=place, reasons=(*surer.reasons, *said))
        return _warned(surer, [r for r in worse.reasons if r in warnings])
    if order(other)[0] < order(one)[0] or one.found_by.startswith(PLATFORM):
        one, other = other, one
    surer = max(one, other, key=lambda c: c.score)
    least = min(one.score, other.score)
    witnessed = weights.SECOND_WITNESS if least > 0 else least / 2
    reasons = dict.fromkeys((*one.reasons, *other.reasons))
    return replace(
        surer,
        found_by=one.found_by if one.score > 0 or other.score <= 0 else other.found_by,
        score=surer.score + witnessed,
        place=min(one.place, other.place),
        reasons=tuple(reasons),
    )


def _warned(candidate: Candidate, said: list[str]) -> Candidate:
    """A candidate that another link to the same file calls something else."""
    if not said or not _UNWARNED.isdisjoint(candidate.reasons):
        return candidate
    return replace(
        candidate,
        score=min(candidate.score, weights.WARNED),
        reasons=(*candidate.reasons, *(r for r in said if r not in candidate.reasons)),
    )


def judged(page: Page, candidate: Candidate) -> Candidate:
    """A candidate of a finder that looks at no identifier, with what its address says."""
    if candidate.found_by not in _TRUSTED:
        return candidate
    text = urls.path_and_query(candidate.url)
    other = weights.OTHER_IDENTIFIER
    said = {r: other if r == "other-identifier" else 1.0 for r in page.identity.judge(text)}
    said |= {r.name: r.weight for r in weights.HREF if r.name in _BAD_PATH and r.fits(text)}
    return replace(
        candidate,
        score=candidate.score + sum(said.values()),
        reasons=(*candidate.reasons, *said),
    )


def _pattern(url: str) -> str:
    """The address with its numbers left out: equal for the files of two papers of one site."""
    return _DIGITS.sub("0", _UUID.sub("0", url.lower()))
