"""The verdict on a row of a list: a line that can be asked for, or why it cannot."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from lafka.errors import BadPid, BadUrl
from lafka.papers.lists.futlis import Futli, Line
from lafka.papers.lists.resolvers import resolved
from lafka.papers.lists.rows import Row, beginning
from lafka.urls import check_url

if TYPE_CHECKING:
    from lafka.pids import Pid, Scheme

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
        futli = Futli(pid=_pid(row, scheme), url=_url(row, url))
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
