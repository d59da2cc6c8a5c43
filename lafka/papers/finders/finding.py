"""All finders, surest first, and the candidates that they give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from lafka.papers.candidates import CITATION_PDF_URL, Candidate
from lafka.papers.finders.anchors import anchors
from lafka.papers.finders.belief import believed
from lafka.papers.finders.ends import PageVerdict
from lafka.papers.finders.forms import forms
from lafka.papers.finders.frames import frames
from lafka.papers.finders.jsonld import json_ld
from lafka.papers.finders.kinds import PageKind, kind_of
from lafka.papers.finders.links import link_elements, link_header
from lafka.papers.finders.meta import citation_pdf_url, other_meta
from lafka.papers.finders.pages import Page
from lafka.papers.finders.platforms import platforms
from lafka.papers.finders.ranking import judged, merged
from lafka.papers.finders.rewrites import rewritten
from lafka.papers.finders.scripts import scripts

Finder = Callable[[Page], Iterable[Candidate]]

FINDERS: tuple[Finder, ...] = (
    citation_pdf_url,
    other_meta,
    link_header,
    link_elements,
    json_ld,
    frames,
    scripts,
    anchors,
    forms,
    platforms,
)


class Findings(NamedTuple):
    """The candidates of a page, surest first, and what kind of page it is."""

    candidates: tuple[Candidate, ...]
    kind: PageKind


def find(page: Page) -> tuple[Candidate, ...]:
    """All candidates of *page*, surest first, each address once, the page's own left out.

    ``citation_pdf_url`` stays first, as the requirement paper says. Every ``<a>`` with an http
    address is among them, of the first 20,000. ``place`` counts the candidates in document order.
    """
    return look(page).candidates


def look(page: Page, verdict: PageVerdict | None = None) -> Findings:
    """As ``find``, with the kind of *page*; *verdict*: what ``describe`` says of it, if known."""
    found, kind = gathered(page, verdict)
    return Findings(tuple(believed(found, kind)), kind)


def gathered(page: Page, verdict: PageVerdict | None = None) -> tuple[list[Candidate], PageKind]:
    """All candidates of *page* by the hand's scores, as ``belief`` takes them; and its kind."""
    found = merged(_all(page))
    made = [*rewritten(page, found)]
    found = merged([*found, *made]) if made else found
    return found, kind_of(page, found, verdict)


def _all(page: Page) -> Iterator[Candidate]:
    for finder in FINDERS:
        for candidate in finder(page):
            yield judged(page, candidate)


def literal(page: Page) -> tuple[Candidate, ...]:
    """The requirement paper to the letter: ``citation_pdf_url``, then links in page order."""
    first = [*citation_pdf_url(page)]
    known = {c.url for c in first}
    for element in page.every("a"):
        url = page.absolute(element.get("href"))
        if url and url not in known:
            known.add(url)
            first.append(Candidate(url=url, found_by="anchor", place=element.place))
    once = {c.url: c for c in reversed(first)}
    ordered = sorted(once.values(), key=lambda c: (c.found_by != CITATION_PDF_URL, c.place))
    return tuple(replace(c, place=n) for n, c in enumerate(ordered))
