"""Frames, embeds, objects, and the file that a viewer in them is asked to show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, urlsplit

from lafka.papers.candidates import Candidate
from lafka.papers.finders import urls, weights
from lafka.papers.finders.pages import Page

_FILE_KEYS = frozenset({"file", "url", "pdf", "src", "pdfurl", "pdf_url", "document", "fileurl"})
_PDF = re.compile(
    r"\.pdf(?:$|[?;])|/pdf(?:$|[/?])|application/pdf|pdfft|/bitstreams?/|viewcontent\.cgi|/pdfdirect"
    r"|[?&]type=pdf|/article/(?:download|viewfile)/"
)
_TYPE = "application/pdf"  # also where an address should stand, beside the one in "data"
_PREVIEW = re.compile(r"/preview|thumbnail")


def frames(page: Page) -> Iterator[Candidate]:
    """Yield what the page shows inside itself: PDFs first; other frames are kept, low."""
    for element in page.every("iframe", "frame", "embed", "object"):
        mime = element.get("type").lower()
        for name in ("src", "data", "data-src", "href"):
            href = element.get(name)
            url = page.absolute(href) if href and href.lower() != _TYPE else None
            if url:
                yield from _shown(page, url, mime, element.place)
    for place, name, content in page.metas:
        if name in ("citation_embed_url", "twitter:player", "og:video") and ".pdf" in content:
            url = page.absolute(content)
            if url:
                yield from _shown(page, url, "", place)


def _shown(page: Page, url: str, mime: str, place: int) -> Iterator[Candidate]:
    inner = viewed_file(page, url)
    if inner:
        yield Candidate(
            url=inner,
            found_by="viewer",
            score=weights.FRAME_PDF,
            place=place,
            reasons=("viewer-file",),
        )
    text = urls.path_and_query(url)
    named = "pdf" in mime or (_PDF.search(text) is not None and "html" not in mime)
    if named and not inner and not _PREVIEW.search(text):
        score, reason = weights.FRAME_PDF, "embedded-pdf"
    elif mime.startswith(("image/", "video/", "audio/", "application/x-shockwave")):
        return
    else:
        score, reason = weights.FRAME_OTHER, "frame"
    yield Candidate(url=url, found_by="frame", score=score, place=place, reasons=(reason,))


def viewed_file(page: Page, url: str) -> str | None:
    """The PDF that a viewer's address names: ``viewer.html?file=/x.pdf`` -> ``/x.pdf``."""
    query = urlsplit(url).query if "?" in url else ""
    if not query:
        return None
    for name, value in parse_qsl(query[:8192]):
        if name.lower() not in _FILE_KEYS:
            continue
        if value.startswith(("http://", "https://", "/", "../", "./")) or ".pdf" in value.lower():
            found = urls.absolute(value, url, page.encoding)
            viewer = "viewer" in url.lower() or "gview" in url or "pdf" in value.lower()
            if found and viewer and not urls.same_page(found, page.url):
                return found
    return None
