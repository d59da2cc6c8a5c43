"""The text of a page of HTML, of which the checksums of a fobi are taken: decision D12.

Else every visit of a page with a counter or a token would be a change.
"""

from __future__ import annotations

from lxml import etree, html

from lafka.archec.store.texts import Checksums, checksums

HTML_TEXT = "html-1"
"""What journals call the text of a page: another way to make it gets another name."""
PAGE_MAX = 16 << 20
"""Bytes of a page whose text is made; of a longer one, which is data, the bytes are the text."""
_UNREAD = ("script", "style", "noscript", "template", "head")


def page_text(data: bytes) -> bytes:
    """The text of an HTML page: what its text nodes say, joined by blanks; see ``HTML_TEXT``."""
    parser = html.HTMLParser(huge_tree=True)
    try:
        tree = html.document_fromstring(data, parser=parser)
    except (etree.ParserError, ValueError):  # nothing but comments, or nothing at all
        return b""
    return " ".join(" ".join(_words(tree)).split()).encode("utf-8", "replace")


def _words(root: html.HtmlElement) -> list[str]:
    """The text nodes below *root* in their order, those that nobody reads left out."""
    words: list[str] = []
    unread = 0
    for event, node in etree.iterwalk(root, events=("start", "end", "comment", "pi")):
        if event == "start":
            unread += node.tag in _UNREAD
            words.append("" if unread else node.text or "")
            continue
        unread -= event == "end" and node.tag in _UNREAD
        words.append("" if unread else node.tail or "")
    return words


def of_file(data: bytes, *, is_page: bool) -> Checksums:
    """Of a fobi; *is_page*: it is HTML, and of at most ``PAGE_MAX`` bytes."""
    return checksums(data, page_text(data) if is_page else data)
