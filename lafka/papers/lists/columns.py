"""The columns of a list: which one has the pids and which the links, by its header or contents."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from lafka.errors import BadPid, HopelessList

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lafka.pids import Scheme

PID_NAMES = ("pid", "handle", "id", "paper", "paper-id", "paper_id", "doi")
URL_NAMES = ("futli", "url", "link", "href", "uri", "file-url", "file_url", "fulltext")
TITLE_NAMES = ("title",)
RESTRICTION_NAMES = ("restriction", "restricted", "file-restriction", "file_restriction")

_PID_WORD = re.compile(r"\b(?:pid|handle|id|identifier|doi)\b")
_URL_WORD = re.compile(r"\b(?:url|link|futli|href|uri|full ?text)s?\b")
_HTTP = re.compile(r"\s*https?://\S", re.IGNORECASE)
_RESOLVED = re.compile(r"\s*(?:doi:|hdl:|arxiv:|10\.[0-9]{4,9}/)\s*\S", re.IGNORECASE)
_NO_NAME = re.compile(r"[0-9:/]")
_MOST = 0.9
"""Of the lines that are looked at, a column without a name has to fit so many."""


class Columns(NamedTuple):
    """The places of the columns; a line of csv has at most ``width`` of them."""

    pid: int = 0
    url: int = 1
    restriction: int | None = None
    width: int = 2
    title: int | None = None
    has_header: bool = False
    is_guess: bool = False
    """True where contents tell, not names or the usual order."""

    def __str__(self) -> str:
        """The assumption in words; empty where names or the usual order tell."""
        if not self.is_guess:
            return ""
        header = "line 1 is its header, " if self.has_header else ""
        return f"{header}column {self.pid + 1} has its pids, column {self.url + 1} its links"


def columns_of(
    lines: Sequence[Sequence[str]], scheme: Scheme, *, by_comma: bool, pid: str = "", url: str = ""
) -> Columns:
    """Return the columns of the list that begins with *lines*, fields as they stand.

    *pid* and *url* name a column as the header does, or by number from 1; ``HopelessList`` where
    there is none. *by_comma*: what parts the columns may stand in a URL.
    """
    if not lines:
        return Columns()
    first = [name.strip().lower() for name in lines[0]]
    named_pid = _given(pid, first) or _named(first, PID_NAMES, _PID_WORD)
    named_url = _given(url, first) or _named(first, URL_NAMES, _URL_WORD)
    if not named_url and (pid or "doi" in first) and not _is_link(" ".join(first)):
        named_url = [at for at, name in enumerate(first) if name == "doi"]
    is_one = named_pid == named_url != [] and first[named_pid[0]] != "doi"
    is_named = bool(named_pid and named_url) and not is_one
    has_header = not any(map(_is_link, first)) and (is_named or _may_be_header(first, lines))
    body = lines[1:] if has_header else lines
    if is_named:
        pid_at = _best(body, named_pid, scheme)
        url_at = _best_link(body, [at for at in named_url if at != pid_at] or named_url)
        names = first if has_header else [""] * max(map(len, lines))
        return Columns(
            pid_at,
            url_at,
            _sole(names, RESTRICTION_NAMES),
            len(names),
            _sole(names, TITLE_NAMES),
            has_header=has_header,
        )
    return _by_contents(body, scheme, has_header=has_header, by_comma=by_comma)


def _given(text: str, first: list[str]) -> list[int]:
    if not text:
        return []
    if text.isascii() and text.isdigit() and 0 < int(text) <= len(first):
        return [int(text) - 1]
    if text.strip().lower() not in first:
        raise HopelessList(f"no column {text!r}; the first line has {', '.join(first)}")
    return [first.index(text.strip().lower())]


def _named(first: list[str], names: Iterable[str], word: re.Pattern[str]) -> list[int]:
    """Return the columns that *names* name, else those whose names have such a *word*."""
    if any(map(_is_link, first)):
        return []
    exact = [at for at, name in enumerate(first) if name in names]
    return exact or [at for at, name in enumerate(first) if word.search(re.sub("[_-]", " ", name))]


def _sole(first: list[str], names: Iterable[str]) -> int | None:
    return next((at for at, name in enumerate(first) if name in names), None)


def _may_be_header(first: list[str], lines: Sequence[Sequence[str]]) -> bool:
    names = [name for name in first if name]
    return len(lines) > 1 and len(names) > 1 and not any(map(_NO_NAME.search, names))


def _is_link(text: str) -> bool:
    return bool(_HTTP.match(text))


def _field(fields: Sequence[str], at: int) -> str:
    return fields[at] if at < len(fields) else ""


def _pids(lines: Sequence[Sequence[str]], at: int, scheme: Scheme) -> int:
    """Return how many of *lines* have a pid in the column *at*."""
    count = 0
    for fields in lines:
        try:
            scheme.pid(_field(fields, at).strip())
        except BadPid:
            continue
        count += 1
    return count


def _links(lines: Sequence[Sequence[str]], at: int) -> int:
    return sum(_is_link(_field(fields, at)) for fields in lines)


def _best(lines: Sequence[Sequence[str]], places: list[int], scheme: Scheme) -> int:
    return max(places, key=lambda at: (_pids(lines, at, scheme), -at))


def _best_link(lines: Sequence[Sequence[str]], places: list[int]) -> int:
    return max(places, key=lambda at: (_links(lines, at), -at))


def _by_contents(
    lines: Sequence[Sequence[str]], scheme: Scheme, *, has_header: bool, by_comma: bool
) -> Columns:
    """Return the columns that nearly all *lines* fit, else the usual ones without a header."""
    enough = max(1, _MOST * len(lines))
    width = max(map(len, lines), default=0)
    links = [at for at in range(width) if _links(lines, at) >= enough] or [
        at
        for at in range(width)
        if sum(bool(_RESOLVED.match(_field(fields, at))) for fields in lines) >= enough
    ]
    pids = [
        at
        for at in range(width)
        if at not in links[:1]
        and _pids(lines, at, scheme) >= enough
        and len({_field(fields, at) for fields in lines}) > len(lines) / 2
    ]
    if not links or not pids or (by_comma and not _is_even(lines, links[0])):
        return Columns()
    pid, url = pids[0], links[0]
    is_usual = (pid, url) == (0, 1) and not has_header
    return Columns(pid, url, width=max(width, 2), has_header=has_header, is_guess=not is_usual)


def _is_even(lines: Sequence[Sequence[str]], url: int) -> bool:
    """Return whether *lines* have as many columns each, and none that may be a link's end.

    Blanks, which no link has, or nothing at all stand in a column of its own.
    """
    after = [fields[url + 1] for fields in lines if len(fields) > url + 1]
    return len({len(fields) for fields in lines}) == 1 and all(
        not field or " " in field for field in after
    )
