"""An archived page made harmless: its words in their order, and nothing that acts or fetches.

What is foreign is read in a child process with bounds: no page stops the server.
"""

from __future__ import annotations

import html
import re
from typing import Any

import nh3
from w3lib.encoding import html_to_unicode

from lafka.errors import OperatorError
from lafka.storage import children
from lafka.storage.children import ChildDied, Children

MODULE = "lafka.web.neutral"
CPU_SECONDS = 1
COUNT = 2
"""Children that clean pages; who comes when more wait than that is told to come again."""
_TAGS = frozenset({
    "a", "abbr", "address", "article", "aside", "b", "bdi", "bdo", "blockquote", "br",
    "caption", "cite", "code", "col", "colgroup", "dd", "del", "details", "dfn", "div", "dl",
    "dt", "em", "figcaption", "figure", "footer", "h1", "h2", "h3", "h4", "h5", "h6",
    "header", "hr", "i", "ins", "kbd", "li", "main", "mark", "nav", "ol", "p", "pre", "q",
    "rp", "rt", "ruby", "s", "samp", "section", "small", "span", "strong", "sub", "summary",
    "sup", "table", "tbody", "td", "tfoot", "th", "thead", "time", "tr", "tt", "u", "ul",
    "var", "wbr",
})  # fmt: skip
_ATTRIBUTES = {
    "*": {"dir", "lang", "title"},
    "ol": {"start", "reversed", "type"},
    "td": {"colspan", "rowspan", "headers"},
    "th": {"colspan", "rowspan", "scope", "headers", "abbr"},
    "time": {"datetime"},
}
_DROPPED = {"script", "style", "template", "noscript", "iframe", "object", "svg", "math", "title"}
_STYLE = (
    "body{font:16px/1.5 serif;max-width:46em;margin:1em auto;padding:0 1em;color:#111;"
    "background:#fff;overflow-wrap:anywhere}table{border-collapse:collapse}"
    "td,th{padding:.1em .4em;vertical-align:top}a{text-decoration:underline}"
)


class UncleanPage(OperatorError):
    """A page that cannot be cleaned in the time that there is: HTTP 503."""


class Cleaners:
    """Children that make neutral copies."""

    def __init__(self) -> None:
        self._children = Children(MODULE, COUNT)

    def clean(self, data: bytes, charset: str, *, cut: bool) -> str:
        """The neutral copy of the page *data*; ``UncleanPage``."""
        try:
            return str(self._children.ask(
                "clean", {"charset": charset, "cut": cut}, data, seconds=CPU_SECONDS
            ))  # fmt: skip
        except ChildDied as error:
            raise UncleanPage(f"this page cannot be shown: {error}") from None

    def close(self) -> None:
        self._children.stop()


def serve() -> None:
    """Clean pages until standard input ends. Runs in the child."""
    children.serve({"clean": _clean})


def _clean(question: dict[str, Any], data: bytes) -> str:
    charset = question["charset"]
    text = html_to_unicode(f"text/html; charset={charset}" if charset else None, data)[1]
    copy = neutral(text, cut=question["cut"])
    return copy.encode("utf-8", "replace").decode()


def neutral(text: str, *, cut: bool = False) -> str:
    """A page with the words and the order of *text*, and nothing that acts or fetches."""
    body = nh3.clean(
        text,
        tags=set(_TAGS),
        attributes={name: set(names) for name, names in _ATTRIBUTES.items()},
        clean_content_tags=set(_DROPPED),
        url_schemes=set(),
        link_rel=None,
        strip_comments=True,
    )
    title = re.search(r"<title[^>]*>(.{0,500}?)</title", text, re.IGNORECASE | re.DOTALL)
    named = html.escape(" ".join(html.unescape(title[1]).split())) if title else "archived page"
    more = "<p><em>The page goes on; what is shown is cut here.</em></p>" if cut else ""
    return (
        f'<!DOCTYPE html><html lang="und"><head><meta charset="utf-8"><title>{named}</title>'
        f"<style>{_STYLE}</style></head><body>{body}{more}</body></html>\n"
    )
