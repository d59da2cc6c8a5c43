"""Archived pages, shut in.

Archived HTML is a stranger's program: no script of it runs, no request leaves the browser because
of it, and it is never taken for ours. What is shown is a neutral copy: elements and attributes of
an allow-list alone (nh3), links without a target to go to, pictures by their words. The policies of
the answer are the second wall, the frame without rights around it the third.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from urllib.parse import unquote

import nh3
from starlette.requests import Request
from starlette.responses import Response
from w3lib.encoding import html_to_unicode

from lafka.errors import BadArgument, NotHeld
from lafka.papers import Pid
from lafka.payloads import Kind, kind_of
from lafka.warc import StoredRecord
from lafka.web.held import name_of
from lafka.web.site import Site

LONGEST_PAGE = 2 << 20
"""Bytes of a page that are shown; more is cut, and said so."""
LARGEST = 64 << 20
"""Bytes of anything else that are handed on as a file."""
_RECORD = re.compile(r"<?urn:uuid:[0-9a-fA-F-]{36}>?")
_PREFIX = 4 << 10
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


class Splaps:
    """Handlers of archived pages of *site*."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def splap(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        """The capture of a paper by its record id: a page shut in, anything else as a file."""
        pid = self._site.open_pid(unquote(found["pid"]))
        wanted = unquote(found["record"])
        if not _RECORD.fullmatch(wanted):
            raise BadArgument("that is no record id")
        with self._site.volume(pid, self._site.suwaf(pid).end) as volume:
            for record in volume.records(("response", "resource", "conversion")):
                if record.id.strip("<>") == wanted.strip("<>"):
                    return shown(record, pid)
        raise NotHeld(f"{pid}: it has no such record")


def shown(record: StoredRecord, pid: Pid) -> Response:
    """*record* as it may be shown in a frame, or handed on."""
    kind, charset = described(record)
    data, cut = _beginning(record.payload(decoded=True), LONGEST_PAGE)
    if kind_of(data[:_PREFIX], kind) is Kind.HTML:
        text = html_to_unicode(f"text/html; charset={charset}" if charset else None, data)[1]
        return Response(neutral(text, cut=cut), media_type="text/html")
    return handed_on(record, pid)


def handed_on(record: StoredRecord, pid: Pid) -> Response:
    """The payload of *record* as a file, under a type in which no browser runs anything."""
    data, cut = _beginning(record.payload(decoded=True), LARGEST)
    if cut:
        raise NotHeld(f"over {LARGEST >> 20} MiB: the WARC has it whole")
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name_of(pid)}"}
    if b"%PDF-" in data[:1024]:
        return Response(data, media_type="application/pdf")
    kind = "text/plain" if b"\0" not in data[:1024] else "application/octet-stream"
    return Response(data, headers=headers, media_type=kind)


def described(record: StoredRecord) -> tuple[str, str]:
    """Media type and charset of what *record* holds, cleaned; empty where they are not told."""
    head = record.http
    told = head.fields.first("Content-Type") if head else record.fields.first("Content-Type")
    kind, _, rest = (told or "").partition(";")
    charset = re.search(r"charset\s*=\s*[\"']?([A-Za-z0-9._:-]{1,40})", rest, re.IGNORECASE)
    return kind.strip().lower(), charset[1] if charset else ""


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


def _beginning(pieces: Iterator[bytes], most: int) -> tuple[bytes, bool]:
    """The first *most* bytes of *pieces*, and whether there are more."""
    data = bytearray()
    for piece in pieces:
        data += piece
        if len(data) > most:
            return bytes(data[:most]), True
    return bytes(data), False
