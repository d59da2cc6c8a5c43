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
_CODE_ENDING = re.compile(r"\.(?:js|css|mjs|map|wasm|html?|svg|png|gif|jpe?g|json)(?:$|\?)")


def scripts(page: Page) -> Iterator[Candidate]:
    """PDF paths in scripts; a PDF there that is another paper's is left out."""
    found = 0
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
            yield Candidate(
                url=url,
                found_by="script",
                score=weights.SCRIPT_PDF if judged else weights.SCRIPT_PDF_UNNAMED,
                place=element.place,
                reasons=(reason,),
            )


def _addresses(text: str, *, json_first: bool) -> Iterator[tuple[str, str]]:
    value = read_json(text) if json_first and _PARTS.search(text) else None
    if value is not None:
        for node in walk(value):
            if isinstance(node, dict):
                yield from _assembled(node)
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
