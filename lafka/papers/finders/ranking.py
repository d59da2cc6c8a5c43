"""The ranking of all finders' findings: merged by address, surest first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from operator import attrgetter
from urllib.parse import urlsplit

from lafka.papers.candidates import CITATION_PDF_URL, PLATFORM, Candidate
from lafka.papers.finders import urls, weights
from lafka.papers.finders.kinds import PageKind
from lafka.papers.finders.pages import Page

_DIGITS = re.compile(r"\d+")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OWN = frozenset({"own-identifier", "own-number", "own-address", "own-row"})
_SIGNS = frozenset({
    "ends-in-pdf", "pdf-path", "asks-pdf", "says-pdf", "says-pdf-in-title", "type-pdf", "class-pdf",
    "icon-pdf", "near-pdf", "embedded-pdf", "viewer-file", "script-names-pdf",
    "script-quotes-pdf", "file-name-as-text", "title-as-text",
})  # fmt: skip
_LONE_SIGNS = _SIGNS | {"says-download", "says-full-text", "says-cjk-download"}
_VERSION = re.compile(r"/v\d{1,3}\.pdf(?:$|\?)", re.IGNORECASE)  # a paper's earlier version
# The whole file in another display or state: no part of the paper that is missing without it.
_DISPLAY = re.compile(
    r"(?:^|[\W_\d])(?:full-?text|full|complete|low-?res|hi-?res|nosplash|pre-?pub|pre-?print|post-?print"
    r"|draft|accepted|submitted|a4|letter|colou?r|screen|mobile|print|web|subformat)(?=[\W_\d]|$)",
    re.IGNORECASE,
)
_TOLD = _OWN | {"other-number"}
_TRUSTED = frozenset({"link-header", "link", "json-ld", "frame", "viewer", "meta", "script"})
_WARNINGS = frozenset({"says-supplement", "says-business"})
_TITLED = frozenset({"title-as-text", "says-full-text", "own-identifier", "own-row"})
OWN_SIGNS = _OWN | {"own-title", "title-as-text", CITATION_PDF_URL}
_OF_POST = frozenset({"says-version", "says-full-text", "says-number"})  # news of a paper
_NAMED = frozenset({CITATION_PDF_URL, "meta", "link-header", "json-ld"})
_FILE_SIGNS = frozenset({"ends-in-pdf", "pdf-path", "asks-pdf", "file-path", "type-pdf"})
_NO_FILE = frozenset({
    "says-part", "says-business", "says-citation", "says-preview", "says-supplement",
    "supplement-path", "part-path", "cv-path", "other-type", "other-identifier", "other-number",
    "own-view", "running-text", "long-text", "other-site", "never-host", "resolver", "in-related",
    "in-footer", "in-navigation", "html-page", "one-of-many", "under-supplement", "frame",
    "in-supplement", "tool-path", "unscored", "home",
})  # fmt: skip
_PLACED = {
    rule.name: rule.weight
    for rule in (*weights.HEADINGS, *weights.SECTIONS)
    if rule.name in ("under-references", "under-related", "in-references", "in-figures")
}
_BAD_PATH = frozenset({"supplement-path", "part-path", "other-type", "other-identifier"})


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
        if c.score >= weights.PROMISING and not _OWN.isdisjoint(c.reasons)
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
                label="other",
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
        surer = replace(surer, place=min(one.place, other.place))
        return _warned(surer, [r for r in worse.reasons if r in _WARNINGS])
    if order(other)[0] < order(one)[0] or one.found_by.startswith(PLATFORM):
        one, other = other, one
    surer = max(one, other, key=lambda c: c.score)
    least = min(one.score, other.score)
    witnessed = weights.SECOND_WITNESS if least > 0 else least / 2
    reasons = dict.fromkeys((*one.reasons, *other.reasons))
    return replace(
        surer,
        found_by=one.found_by if one.score > 0 or other.score <= 0 else other.found_by,
        score=(score := surer.score + witnessed),
        place=min(one.place, other.place),
        reasons=tuple(reasons),
        label=surer.label if score >= weights.FUT_ELSEWHERE or surer.label != "fut" else "other",
    )


def _warned(candidate: Candidate, said: list[str]) -> Candidate:
    """A candidate that another link to the same file calls something else."""
    if not said or not _TITLED.isdisjoint(candidate.reasons):
        return candidate
    return replace(
        candidate,
        score=min(candidate.score, weights.FUT_HERE),
        reasons=(*candidate.reasons, *(r for r in said if r not in candidate.reasons)),
        label="supplement" if "says-supplement" in said else "other",
    )


def judged(page: Page, candidate: Candidate) -> Candidate:
    """A candidate of a finder that looks at no identifier, with what its address says."""
    if candidate.found_by not in _TRUSTED:
        return candidate
    score = candidate.score
    reasons = list(candidate.reasons)
    label = candidate.label
    text = urls.path_and_query(candidate.url)
    for reason in page.identity.judge(text):
        score += weights.OTHER_IDENTIFIER if reason == "other-identifier" else 1.0
        reasons.append(reason)
    for rule in weights.HREF:
        if rule.name in _BAD_PATH and rule.fits(text):
            score += rule.weight
            reasons.append(rule.name)
            label = rule.label
    if score < weights.FUT_ELSEWHERE and label == "fut":
        label = "other"
    return replace(candidate, score=score, reasons=tuple(reasons), label=label)


def believed(found: list[Candidate], kind: PageKind) -> list[Candidate]:
    """The same candidates, surest first, by the kind of the page that they were found on.

    A page of one paper is believed the only file that it offers. What any other offers is a fut
    where it has a sign of its own.
    """
    if kind is not PageKind.PAPER:
        signs = OWN_SIGNS | _OF_POST if kind is PageKind.POST else OWN_SIGNS
        return [c if _is_named(c) or signs & {*c.reasons} else _unowned(c) for c in found]
    files = {urls.twin_key(c.url) for c in found if _is_file(c)}
    if len(files) != 1:
        return found
    return sorted((_only(c) if _is_file(c) else c for c in found), key=order)


def _is_named(candidate: Candidate) -> bool:
    return candidate.found_by in _NAMED or candidate.found_by.startswith(PLATFORM)


def _unowned(candidate: Candidate) -> Candidate:
    if candidate.label != "fut":
        return candidate
    return replace(candidate, label="other", reasons=(*candidate.reasons, "no-own-sign"))


def _lost(candidate: Candidate) -> float:
    """Return what the place of a link did to its score."""
    return sum(weight for name, weight in _PLACED.items() if name in candidate.reasons)


def _is_file(candidate: Candidate) -> bool:
    """Return whether a link leads to a file, and no more than its place speaks against it."""
    against = not _NO_FILE.isdisjoint(candidate.reasons)
    return (
        candidate.score - _lost(candidate) >= weights.LONE
        and not against
        and candidate.label != "supplement"
    )


def _only(candidate: Candidate) -> Candidate:
    """The only file of a page of one paper: a heading over it says nothing against it."""
    if candidate.label == "fut" and candidate.score >= weights.PROMISING:
        return candidate
    if _FILE_SIGNS.isdisjoint(candidate.reasons):
        return candidate
    return replace(
        candidate,
        score=candidate.score - _lost(candidate) + weights.ONLY_FILE,
        reasons=(*candidate.reasons, "only-file"),
        label="fut",
    )


def promised(ranked: list[Candidate]) -> list[Candidate]:
    """The same candidates with ``promising`` and ``place`` set.

    Promising are the surest one and its siblings: other files of the same paper, addressed in the
    same way. Other ways to the same file are not: they are asked when the surest one misses.
    """
    places = {c.url: n for n, c in enumerate(sorted(ranked, key=attrgetter("place")))}
    asked: list[Candidate] = []
    answer = []
    for rank, candidate in enumerate(ranked):
        promising = _sure(ranked, rank) if not asked else _sibling(candidate, asked)
        if promising:
            asked.append(candidate)
        answer.append(
            Candidate(
                url=candidate.url,
                found_by=candidate.found_by,
                score=round(candidate.score, 2),
                place=places[candidate.url],
                reasons=candidate.reasons,
                promising=promising,
                label=candidate.label,
                probability=candidate.probability,
            )
        )
    return answer


def _sure(ranked: list[Candidate], rank: int) -> bool:
    """Return whether nothing before it is promising and this is: by its score, or as the
    only one.
    """
    candidate = ranked[rank]
    if candidate.label != "fut":
        return False
    if candidate.score >= weights.PROMISING or candidate.probability >= weights.PROMISED:
        return True
    if rank or candidate.score < weights.LONE or _LONE_SIGNS.isdisjoint(candidate.reasons):
        return False
    key = urls.twin_key(candidate.url)
    rival = next((c.score for c in ranked[1:] if urls.twin_key(c.url) != key), 0.0)
    return candidate.score - rival >= weights.LEAD


def _sibling(candidate: Candidate, asked: list[Candidate]) -> bool:
    """Return whether *candidate* is another file of the paper that the first of *asked*
    belongs to.
    """
    if candidate.score < weights.PROMISING or candidate.label != "fut":
        return False
    if candidate.found_by.startswith(PLATFORM) or len(asked) >= weights.MAX_SIBLINGS:
        return False
    if len(asked) >= weights.MAX_PROMISING and "own-identifier" not in candidate.reasons:
        return False
    key = _file(candidate.url)
    if any(_file(c.url) == key for c in asked) or _VERSION.search(candidate.url):
        return False
    if any(_DISPLAY.search(c.url.rpartition("/")[2]) for c in (asked[0], candidate)):
        return False
    for signs in (_OWN, _SIGNS):
        if not signs.isdisjoint(asked[0].reasons) and signs.isdisjoint(candidate.reasons):
            return False
    return _shape(asked[0].url) == _shape(candidate.url)


def _file(url: str) -> str:
    """Equal for addresses of one file: where the path ends in .pdf, whatever the query asks."""
    path, ending, _ = url.partition(".pdf?")
    return urls.twin_key(path + ending.rstrip("?"))


def _pattern(url: str) -> str:
    """The address with its numbers left out: equal for the files of two papers of one site."""
    return _DIGITS.sub("0", _UUID.sub("0", url.lower()))


def _shape(url: str) -> tuple[str, str]:
    """(host, path with its numbers and its last name left out): equal for files side by side."""
    parts = urlsplit(url.lower())
    folder, _, name = parts.path.rpartition("/")
    folder = _DIGITS.sub("0", _UUID.sub("0", folder))
    stem, dot, ending = name.rpartition(".")
    last = dot + ending if dot and stem else _DIGITS.sub("0", name)
    return parts.netloc, f"{folder}/{last}"
