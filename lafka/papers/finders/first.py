"""A first look at a page: what ``citation_pdf_url`` names, as most pages have it, without a parser.

All that most crawls import of the finders; what few pages need is imported for these.
"""

from __future__ import annotations

import re
from dataclasses import replace

from lafka.papers.candidates import CITATION_PDF_URL, Candidate
from lafka.papers.finders import urls
from lafka.papers.finders.pages import MAX_TEXT, TITLE_METAS, Page

SURE_MAX = 64 * 1024  # bytes of a page that a first look takes in
_TAG_MAX = 4096
# Tags that citation_pdf_url needs, and what may only look like them. Linear, whatever the page:
# what is not closed goes on to the end, and a tag has its longest.
_META = re.compile(
    rb"""<!--.*?(?:-->|\Z)|<(script|style|textarea|title)\b.*?(?:</\1\s*>|\Z)"""
    rb"""|(?P<tag><(?:meta|base)\b(?:"[^"<>]*"|'[^'<>]*'|[^'"<>]){0,2048}+>)""",
    re.IGNORECASE | re.DOTALL,
)


_PLAIN = re.compile(
    rb"""<meta\s+name=["']%s["']\s+content=["']([^"'<>&\x80-\xff]+)["']\s*/?>"""
    % CITATION_PDF_URL.encode(),
    re.IGNORECASE,
)
_CHARSETS = re.compile(rb"<meta\b[^<>]{0,200}charset[^<>]{0,200}>", re.IGNORECASE)
MAX_TAGS = 12
_PROBABILITY = 0.999  # belief.SURE, without the tables there
_SCORE = 30.0  # weights.CITATION_PDF_URL, without the tables there


def sure(page: Page) -> tuple[Candidate, ...]:
    """Return what ``citation_pdf_url`` names, as ``find`` has it; cheap, for it reads metas only.

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
    if plain := _plainly_cited(tags, page.url):
        return (plain,)
    metas = replace(page, body=bom + b"<html><head>" + b"".join(tags))
    return _cited(metas)


def titles(page: Page) -> tuple[str, ...]:
    """Return what the list and the metas on top of *page* call its paper, as cheap as ``sure``."""
    found = _META.finditer(page.body[:SURE_MAX]) if b"title" in page.body[:SURE_MAX] else ()
    tags = [m["tag"] for m in found if m["tag"] and b"title" in m["tag"].lower()]
    bom = page.body[:3] if page.body.startswith(b"\xef\xbb\xbf") else b""
    charset = [tag for tag in _CHARSETS.findall(page.body[:1024]) if tag not in tags]
    metas = replace(page, body=bom + b"".join([b"<html><head>", *charset, *tags[:MAX_TAGS]]))
    named = metas.meta(*TITLE_METAS) if tags else ()
    return tuple(dict.fromkeys(title[:MAX_TEXT] for title in (*page.titles, *named)))


def _plainly_cited(tags: list[bytes], url: str) -> Candidate | None:
    """Return what ``citation_pdf_url`` is in the page at *url* that has *tags*, without a parser.

    None unless there is no base and one such meta in its usual spelling: then only parsing tells.
    """
    cited = [tag for tag in tags if CITATION_PDF_URL.encode() in tag]
    plain = _PLAIN.fullmatch(cited[0]) if len(cited) == 1 else None
    if plain is None or any(tag[:5].lower() == b"<base" for tag in tags):
        return None
    found = urls.absolute(plain[1].decode("ascii"), url)
    if found is None or urls.same_page(found, url) or urls.host(found) in urls.RESOLVERS:
        return None
    named = CITATION_PDF_URL
    return Candidate(
        url=found, found_by=named, score=_SCORE, reasons=(named,), promising=True,
        probability=_PROBABILITY,
    )  # fmt: skip


def _cited(page: Page) -> tuple[Candidate, ...]:
    from lafka.papers.finders.belief import cited  # noqa: PLC0415  few pages need it

    return cited(page)
