"""Meta tags that name the PDF: ``citation_pdf_url`` and its relatives."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lafka.papers.candidates import CITATION_PDF_URL, Candidate
from lafka.papers.finders import urls, weights
from lafka.papers.finders.pages import Page

_RELATIVES = (
    "bepress_citation_pdf_url",
    "eprints.document_url",
    "wkhealth_pdf_url",
    "fulltext_pdf",
    "citation_fulltext_pdf_url",
    "pdf_url",
    "citation_pdf",
    "dc.relation.haspart.pdf",
    "og:pdf",
)
_MAYBE = (
    "dc.identifier",
    "dcterms.identifier",
    "dc.identifier.uri",
    "dc.relation",
    "dc.relation.uri",
    "dc.source",
    "citation_url",
    "citation_public_url",
    "citation_link",
    "citation_fulltext_url",
    "citation_fulltext_html_url",
    "citation_abstract_html_url",
    "bepress_citation_url",
    "dc.identifier.url",
    "dc.identifier.fulltext",
    "dcterms.source",
    "eprints.related_url",
    "citation_fulltext_world_readable",
)


_ENDS_IN_PDF = re.compile(r"\.pdf(?:$|\?)", re.IGNORECASE)


def citation_pdf_url(page: Page) -> Iterator[Candidate]:
    """The requirement paper's first place; every occurrence, in document order."""
    yield from _named(page, (CITATION_PDF_URL,), weights.CITATION_PDF_URL, CITATION_PDF_URL)


def other_meta(page: Page) -> Iterator[Candidate]:
    """The same statement under other names, identifiers that end in .pdf, and the PDF that the page
    leads on to after more seconds than a crawl waits.
    """
    for candidate in _named(page, _RELATIVES, weights.OTHER_META, "meta"):
        if not candidate.url.lower().endswith((".xml", ".jpg", ".png", ".txt")):
            yield candidate
    for candidate in _named(page, _MAYBE, weights.DC_IDENTIFIER, "meta"):
        if _ENDS_IN_PDF.search(candidate.url):
            yield candidate
    yield from _refreshed(page)


def _refreshed(page: Page) -> Iterator[Candidate]:
    for place, name, content in page.metas:
        url = page.absolute(content.partition("=")[2].strip(" '\"")) if name == "refresh" else None
        if url and _ENDS_IN_PDF.search(url):
            yield Candidate(
                url=url, found_by="meta", score=weights.OTHER_META, place=place, reasons=(name,)
            )


def _named(page: Page, names: tuple[str, ...], score: float, found_by: str) -> Iterator[Candidate]:
    for place, name, content in page.metas:
        if name not in names:
            continue
        url = page.absolute(content)
        if url and urls.host(url) not in urls.RESOLVERS:
            yield Candidate(url=url, found_by=found_by, score=score, place=place, reasons=(name,))
