"""``<link>`` elements and the HTTP ``Link:`` header (RFC 8288, Signposting)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lafka.papers.candidates import Candidate
from lafka.papers.finders import urls, weights
from lafka.papers.finders.pages import Page

MAX_HEADER = 16_384  # characters of one header

# A link value: <target> and its parameters up to the comma before the next one.
_VALUE = re.compile(r'<([^<>]{0,8192})>((?:\s*;\s*[^\s;,=]+\s*(?:=\s*(?:"[^"]*"|[^\s;,]*))?)*)')
_PARAMETER = re.compile(r';\s*([^\s;,=]+)\s*=\s*(?:"([^"]*)"|([^\s;,]*))')
_RELS = frozenset({"item", "alternate", "enclosure", "fulltext", "pdf", "related", "section"})
_STYLE_RELS = frozenset({
    "stylesheet", "icon", "shortcut", "preload", "prefetch", "dns-prefetch", "preconnect",
    "search", "license",
})  # fmt: skip
_PDF_PATH = re.compile(r"\.pdf(?:$|[?;])|/pdf(?:$|[/?])")


def link_header(page: Page) -> Iterator[Candidate]:
    """``Link: <...>; rel="item"; type="application/pdf"``."""
    for value in page.link_headers:
        for target, rest in _VALUE.findall(" ".join(value[:MAX_HEADER].split())):
            parameters = {n.lower(): a or b for n, a, b in _PARAMETER.findall(rest)}
            rels = frozenset(parameters.get("rel", "").lower().split())
            yield from _typed(
                page, -1, target, rels, parameters.get("type", ""), found_by="link-header"
            )


def link_elements(page: Page) -> Iterator[Candidate]:
    """``<link rel=alternate type=application/pdf href=...>`` and untyped ones that name a PDF."""
    for element in page.every("link"):
        rels = frozenset(element.get("rel").lower().split())
        yield from _typed(
            page, element.place, element.get("href"), rels, element.get("type"), found_by="link"
        )


def _typed(
    page: Page, place: int, href: str, rels: frozenset[str], mime: str, *, found_by: str
) -> Iterator[Candidate]:
    if rels & _STYLE_RELS:
        return
    mime = mime.strip().lower()
    if mime == "application/pdf":
        score, reason = weights.LINK_PDF, "type-pdf"
    elif not mime and rels & _RELS and _PDF_PATH.search(href.lower()):
        score, reason = weights.LINK_UNTYPED, "pdf-path"
    else:
        return
    url = page.absolute(href)
    if url and urls.host(url) != "doi.org":
        yield Candidate(url=url, found_by=found_by, score=score, place=place, reasons=(reason,))
