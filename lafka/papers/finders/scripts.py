"""Scripts: JSON and assignments that name a PDF path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlencode

from lafka.papers.candidates import Candidate
from lafka.papers.finders import urls, weights
from lafka.papers.finders.jsonld import read_json, walk
from lafka.papers.finders.pages import Page

MAX_SCRIPT = 2_000_000  # characters; above it is an application, not a statement
MAX_FOUND = 200
_NAMED = re.compile(
    r"""["']?(?<!\w)\w*pdf\w*["']?\s*[:=]\s*["'](?!#)((?:https?:|[./])[^"'\s<>\\]*(?:\\/[^"'\s<>\\]*)*|[\w%.-]+(?:\\?/[\w%.,()+-]+)+)["']""",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"""["']((?:https?:)?(?:\\?/)?[^"'\s<>\\]{0,400}(?:\\/[^"'\s<>\\]{0,400})*\.pdf(?:\?[^"'\s<>\\]{0,800})?)["']""",
    re.IGNORECASE,
)
_PARTS = re.compile(r'extension"\s*:\s*"[^"]{0,40}pdf', re.IGNORECASE)
MAX_LEADING = 20_000  # characters of a script: one that leads on does little else, as a book's
_LOCATION = re.compile(
    r"""\blocation(?:\.href)?\s{0,9}=\s{0,9}["']([^"'\s]{1,2000})["']"""
    r"""|\blocation\.(?:replace|assign)\(\s{0,9}["']([^"'\s]{1,2000})["']"""
)
# What bookdown has in the toolbar of a book's pages, where its script makes a button of it.
_TOOLBAR = re.compile(r""""download"\s*:\s*(\[.{0,2000}?\])\s*,?\s*["}]""", re.DOTALL)
_IN_TOOLBAR = re.compile(r'"([^"\\]{1,400}\.pdf)"', re.IGNORECASE)
_CODE_ENDING = re.compile(r"\.(?:js|css|mjs|map|wasm|html?|svg|png|gif|jpe?g|json)(?:$|\?)")


def scripts(page: Page) -> Iterator[Candidate]:
    """PDF paths in scripts; a PDF there that is another paper's is left out."""
    found = 0
    if led := _leads_to_pdf(page):
        yield _candidate(led, 0, "script-leads-on", weights.SCRIPT_OFFERED)
    for element in page.every("script"):
        text = element.node.text
        kind = element.get("type").lower()
        if not text or len(text) > MAX_SCRIPT or "pdf" not in text.lower() or "ld+json" in kind:
            continue
        for href, reason in _addresses(text, json_first="json" in kind):
            url = page.absolute(href)
            if url is None or _CODE_ENDING.search(urls.path_and_query(url)):
                continue
            found += 1
            if found > MAX_FOUND:
                return
            judged = page.identity.judge(urls.path_and_query(url))
            if "other-identifier" in judged:
                continue
            score = weights.SCRIPT_PDF if judged else weights.SCRIPT_PDF_UNNAMED
            if reason == "toolbar-download":
                score = weights.SCRIPT_OFFERED
            yield _candidate(url, element.place, reason, score)


def _candidate(url: str, place: int, reason: str, score: float) -> Candidate:
    return Candidate(url=url, found_by="script", score=score, place=place, reasons=(reason,))


def led_on(page: Page) -> str:
    """Return where a script of *page* sends a browser; empty where none does."""
    for element in page.every("script"):
        found = _LOCATION.search((element.node.text or "")[:MAX_LEADING])
        if found and (url := page.absolute((found[1] or found[2]).replace("\\/", "/"))):
            return url
    return ""


def _leads_to_pdf(page: Page) -> str:
    """Return the PDF that a script of a page that says next to nothing leads on to, or nothing."""
    url = led_on(page) if page.is_bare else ""
    return url if urls.path_and_query(url).partition("?")[0].endswith(".pdf") else ""


def _addresses(text: str, *, json_first: bool) -> Iterator[tuple[str, str]]:
    value = read_json(text) if json_first and _PARTS.search(text) else None
    if value is not None:
        for node in walk(value):
            if isinstance(node, dict):
                yield from _assembled(node)
    begun = text.find("gitbook.start(")
    listed = _TOOLBAR.search(text[begun : begun + MAX_LEADING]) if begun >= 0 else None
    for found in _IN_TOOLBAR.finditer(listed[1]) if listed else ():
        yield found[1], "toolbar-download"
    for piece in _around_pdf(text):
        for found in _NAMED.finditer(piece):
            yield found[1].replace("\\/", "/"), "script-names-pdf"
        for found in _QUOTED.finditer(piece) if ".pdf" in piece.lower() else ():
            if "/" in found[1]:
                yield found[1].replace("\\/", "/"), "script-quotes-pdf"


def _around_pdf(text: str) -> Iterator[str]:
    """The pieces of *text* around its first 200 mentions of pdf, each character once."""
    lower = text.lower()
    done = 0
    position = lower.find("pdf")
    for _ in range(MAX_FOUND):
        if position < 0:
            return
        start, end = max(done, position - 400), position + 800
        yield text[start:end]
        done = end
        position = lower.find("pdf", end)


def _assembled(node: dict[str, object]) -> Iterator[tuple[str, str]]:
    """An address in parts: a path, an identifier, an extension with pdf in it, a query."""
    extension = next(
        (v for k, v in node.items() if "extension" in k.lower() and isinstance(v, str)), ""
    )
    path = node.get("path")
    if "pdf" not in extension.lower() or not isinstance(path, str):
        return
    name = next(
        (v for k, v in node.items() if k in ("pii", "id", "doi", "pid") and isinstance(v, str)), ""
    )
    asked = node.get("queryParams")
    query = "?" + urlencode(asked) if isinstance(asked, dict) and asked else ""
    yield f"/{path.strip('/')}/{name}{extension}{query}", "script-parts"
