"""The bytes of a representation that are asked for (RFC 9110, 13 and 14), and whether they changed.

Pure. One range is answered, several are not: then the whole is sent, as a server may.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from lafka.urls.memento import read_http_date

_RANGE = re.compile(r"bytes[ \t]*=[ \t]*([0-9]*)-([0-9]*)[ \t]*", re.IGNORECASE)
_TAG = re.compile(r'(W/)?("[\x21\x23-\x7e\x80-\xff]*")')
_DIGITS_MAX = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeAnswer:
    """An answer to a range: ``status``, and the bytes ``start`` to before ``end`` of ``size``."""

    status: int
    start: int
    end: int
    size: int

    @property
    def content_range(self) -> str:
        """The value of Content-Range, empty where there is none."""
        if self.status == 206:
            return f"bytes {self.start}-{self.end - 1}/{self.size}"
        return f"bytes */{self.size}" if self.status == 416 else ""


def answer(
    headers: Mapping[str, str],
    etag: str,
    size: int,
    *,
    modified: datetime | None = None,
    method: str = "GET",
) -> RangeAnswer:
    """Return what a request with *headers*, names in lower case, gets of *size* bytes tagged
    *etag*, of the time *modified*.

    304 where the client has them, 412 where it wants others, 206 for a range that can be sent, 416
    for one that cannot, else 200. *etag* is strong, with its quotes. What is no range by the
    grammar is passed over, and so is each that HEAD has (RFC 9110, 14.2).
    """
    if status := _precondition(headers, etag, modified):
        return RangeAnswer(status=status, start=0, end=0, size=size)
    whole = RangeAnswer(status=200, start=0, end=size, size=size)
    found = _RANGE.fullmatch(headers.get("range", "")) if method == "GET" else None
    # A date says less than a strong tag does: it never is the same for sure.
    if not found or headers.get("if-range", etag).strip() != etag:
        return whole
    first, last = found.groups()
    if (not first and not last) or max(len(first), len(last)) > _DIGITS_MAX:
        return whole
    if first and last and int(first) > int(last):
        return whole
    start = int(first) if first else max(0, size - int(last))
    end = min(size, int(last) + 1) if first and last else size
    if start >= size:
        return RangeAnswer(status=416, start=0, end=0, size=size)
    return RangeAnswer(status=206, start=start, end=end, size=size)


def _precondition(headers: Mapping[str, str], etag: str, modified: datetime | None) -> int:
    """Return 412 or 304 where a precondition says so, else 0; in the order of RFC 9110, 13.2.2."""
    if "if-match" in headers:
        if not _names(headers["if-match"], etag, strong=True):
            return 412
    elif _is_after(modified, headers.get("if-unmodified-since")):
        return 412
    if "if-none-match" in headers:
        return 304 if _names(headers["if-none-match"], etag) else 0
    return 304 if _is_after(modified, headers.get("if-modified-since")) is False else 0


def _names(tags: str, etag: str, *, strong: bool = False) -> bool:
    """Return whether the list *tags* has *etag*, or is ``*``; *strong*: weak tags do not count."""
    found = _TAG.findall(tags)
    return tags.strip() == "*" or any(tag == etag and not (weak and strong) for weak, tag in found)


def _is_after(modified: datetime | None, text: str | None) -> bool | None:
    """Return whether *modified* is after the date *text*; None where either is none."""
    try:
        return None if modified is None or text is None else modified > read_http_date(text)
    except ValueError:
        return None
