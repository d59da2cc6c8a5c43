"""A splap in, ranked candidates out. Pure: no request is made here, and nothing raises.

``sure``      only what ``citation_pdf_url`` names: it is asked for first, whatever else is found
``find``      all candidates, surest first, each with its finder, score and reasons
``literal``   the requirement paper to the letter: ``citation_pdf_url``, then links in page order
``describe``  whether the page is a bot challenge, a login, a viewer or a splap

A finder is a function from a page to candidates. ``FINDERS`` lists them, surest first; where two
name the same address, the one that stands first gives ``found_by``. How scores come about is told
in docs/finding.md, the numbers are in ``weights``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from lafka.papers.candidates import CITATION_PDF_URL, Candidate
from lafka.papers.finders.anchors import anchors
from lafka.papers.finders.ends import PageVerdict, describe
from lafka.papers.finders.forms import forms
from lafka.papers.finders.frames import frames
from lafka.papers.finders.jsonld import json_ld
from lafka.papers.finders.links import link_elements, link_header
from lafka.papers.finders.meta import citation_pdf_url, other_meta, plainly_cited
from lafka.papers.finders.pages import Page
from lafka.papers.finders.platforms import platforms
from lafka.papers.finders.ranking import judged, merged, promised
from lafka.papers.finders.rewrites import rewritten
from lafka.papers.finders.scripts import scripts

__all__ = ["FINDERS", "Finder", "Page", "PageVerdict", "describe", "find", "literal", "sure"]

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


def find(page: Page) -> tuple[Candidate, ...]:
    """All candidates of *page*, surest first, each address once, the page's own left out.

    ``citation_pdf_url`` stays first, as the requirement paper says. Every ``<a>`` with an http
    address is among them, of the first 20,000. ``place`` counts the candidates in document order.
    """
    found = merged(_all(page))
    found = merged([*found, *rewritten(page, found)])
    return tuple(promised(found))


SURE_MAX = 64 * 1024  # bytes of a page that a first look takes in
_TAG_MAX = 4096
# Tags that citation_pdf_url needs, and what may only look like them. Linear, whatever the page:
# what is not closed goes on to the end, and a tag has its longest.
_META = re.compile(
    rb"""<!--.*?(?:-->|\Z)|<(script|style|textarea|title)\b.*?(?:</\1\s*>|\Z)"""
    rb"""|(?P<tag><(?:meta|base)\b(?:"[^"<>]*"|'[^'<>]*'|[^'"<>]){0,2048}+>)""",
    re.IGNORECASE | re.DOTALL,
)


def sure(page: Page) -> tuple[Candidate, ...]:
    """What ``citation_pdf_url`` names, as :func:`find` has it; cheap, for it reads metas only.

    The requirement paper has it asked first and its fut ends the trail, so on most pages the rest
    need never be looked for. None where it names nothing, or only a whole look would tell. Bounded
    in time, unlike that: no parser sees more than some short tags.
    """
    last = page.body.rfind(CITATION_PDF_URL.encode())
    end = page.body.find(b">", page.body.find(b"content", last)) + 1
    if last < 0 or not 0 < end <= SURE_MAX or b"<base" in page.body[end:]:
        return ()
    bom = page.body[:3] if page.body.startswith(b"\xef\xbb\xbf") else b""
    tags = [found["tag"] for found in _META.finditer(page.body[:end]) if found["tag"]]
    if any(len(tag) > _TAG_MAX for tag in tags):
        return ()
    if plain := plainly_cited(tags, page.url):
        return tuple(promised([plain]))
    metas = replace(page, body=bom + b"<html><head>" + b"".join(tags))
    return tuple(promised(merged(judged(metas, c) for c in citation_pdf_url(metas))))[:1]


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
    return tuple(promised(ordered))
