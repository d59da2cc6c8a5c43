"""The verdict on a row of a list: a line that can be asked for, or why it cannot."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

from lafka.errors import BadPid, BadUrl
from lafka.papers.lists.futlis import Futli, Line
from lafka.papers.lists.rows import Row, beginning
from lafka.urls import check_url

if TYPE_CHECKING:
    from lafka.pids import Pid, Scheme


_SAFE = "/:;()@!$&'*+,=~"
"""What a path of RFC 3986 has as it stands."""
_DOI = re.compile(r"(?:doi:[ ]?)?(?P<name>10\.[0-9][0-9.]*/[^\s\x00-\x20].*)", re.IGNORECASE)
_HANDLE = re.compile(r"hdl:[ ]?(?P<name>[^\s/]+/[^\s\x00-\x20].*)", re.IGNORECASE)
_ARXIV = re.compile(
    r"arxiv:[ ]?(?P<name>\d{4}\.\d{4,5}(?:v\d+)?|[a-z-]+(?:\.[a-z]{2})?/\d{7}(?:v\d+)?)"
    r"(?:[ ]\[[a-z.-]+\])?",
    re.IGNORECASE,
)
_RESOLVERS = (
    (_DOI, "https://doi.org/"),  # DOI Handbook 3.8
    (_HANDLE, "https://hdl.handle.net/"),  # RFC 3650
    (_ARXIV, "https://arxiv.org/abs/"),  # https://info.arxiv.org/help/arxiv_identifier.html
)


def resolved(text: str) -> str | None:
    """The URL at which *text*, a DOI, handle or arXiv id, is asked for; None where it is none.

    ``doi:10.1000/182``, ``10.1000/182``, ``hdl:2027/x``, ``arXiv:2101.00001v2``. What a URL cannot
    have is escaped, ``%`` too, for these are names, not URLs.
    """
    if text.startswith("http"):  # as nearly all do
        return None
    for names, resolver in _RESOLVERS:
        if found := names.fullmatch(text):
            return resolver + quote(found["name"], safe=_SAFE)
    return None


TITLE_MAX = 500
"""Characters of a title that are read."""
_SURROGATE = re.compile("[\ud800-\udfff]")


def _as_escapes(text: str) -> str:
    r"""*text* with bytes that were no UTF-8 as ``\xNN``, lone surrogates as ``\uNNNN``."""
    if text.isascii():
        return text

    def escape(match: re.Match[str]) -> str:
        code = ord(match[0])
        return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"

    return _SURROGATE.sub(escape, text)


def verdict(number: int, row: Row, scheme: Scheme) -> Line:
    """The line that *row* makes, a pid of *scheme* and a URL, or what is wrong with it."""
    url = _as_escapes(row.url.strip(" \t\r\n"))
    line = partial(Line, number=number, pid_text=_as_escapes(row.pid), url_text=url)
    try:
        title = " ".join(_as_escapes(row.title[:TITLE_MAX]).split()) if row.title else ""
        futli = Futli(pid=_pid(row, scheme), url=_url(row, url), title=title)
    except BadPid as error:
        return line(outcome="bad-pid", problem=str(error))
    except BadUrl as error:
        return line(outcome="bad-url", problem=str(error))
    if restriction := row.restriction.strip():
        shown = beginning(_as_escapes(restriction))
        return line(futli=futli, outcome="restricted", problem=shown)
    return line(futli=futli)


def _pid(row: Row, scheme: Scheme) -> Pid:
    if row.broken_pid:
        raise BadPid(row.broken_pid)
    if not row.pid.isascii() and _SURROGATE.search(row.pid):
        raise BadPid("not UTF-8")
    return scheme.pid(row.pid.strip())  # blanks at its ends, U+00A0 too, are no part of a pid


def _url(row: Row, url: str) -> str:
    if row.broken_url:
        raise BadUrl(row.broken_url)
    if not row.url.isascii() and _SURROGATE.search(row.url):
        raise BadUrl("not UTF-8")
    url = resolved(url) or url
    check_url(url)
    return url
