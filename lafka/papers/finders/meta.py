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
    """The same statement under other names, and identifiers that end in .pdf."""
    for candidate in _named(page, _RELATIVES, weights.OTHER_META, "meta"):
        if not candidate.url.lower().endswith((".xml", ".jpg", ".png", ".txt")):
            yield candidate
    for candidate in _named(page, _MAYBE, weights.DC_IDENTIFIER, "meta"):
        if _ENDS_IN_PDF.search(candidate.url):
            yield candidate


_PLAIN = re.compile(
    rb"""<meta\s+name=["']%s["']\s+content=["']([^"'<>&\x80-\xff]+)["']\s*/?>"""
    % CITATION_PDF_URL.encode(),
    re.IGNORECASE,
)
_RESOLVERS = ("doi.org", "dx.doi.org", "hdl.handle.net")


def plainly_cited(tags: list[bytes], url: str) -> Candidate | None:
    """What :func:`citation_pdf_url` finds in the page at *url* that has *tags*, without a parser.

    None unless there is no base and one such meta in its usual spelling: then only parsing tells.
    """
    cited = [tag for tag in tags if CITATION_PDF_URL.encode() in tag]
    plain = _PLAIN.fullmatch(cited[0]) if len(cited) == 1 else None
    if plain is None or any(tag[:5].lower() == b"<base" for tag in tags):
        return None
    found = urls.absolute(plain[1].decode("ascii"), url)
    if found is None or urls.same_page(found, url) or urls.host(found) in _RESOLVERS:
        return None
    score, reasons = weights.CITATION_PDF_URL, (CITATION_PDF_URL,)
    return Candidate(url=found, found_by=CITATION_PDF_URL, score=score, reasons=reasons)


def _named(page: Page, names: tuple[str, ...], score: float, found_by: str) -> Iterator[Candidate]:
    for place, name, content in page.metas:
        if name not in names:
            continue
        url = page.absolute(content)
        if url and urls.host(url) not in _RESOLVERS:
            yield Candidate(url=url, found_by=found_by, score=score, place=place, reasons=(name,))
