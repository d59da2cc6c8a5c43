"""Tists, the paper's unix time stamps: where a gathering lies on disk, and how people write one."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from lafka.errors import BadArgument, BadTist
from lafka.warc.format import dates

FIRST = 100_000_000
"""March 1973: a tist has 9 digits at least, so that its path has three parts."""
LAST = 99_999_999_999
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FOLDER = re.compile(r"([0-9]{3})/([0-9]{3})/([0-9]{3,5})")
_DATE = re.compile(r"(?<![0-9])([0-9]{4})-([0-9]{2})-([0-9]{2})(?![0-9])")


def checked(value: int) -> int:
    """*value*, seconds UTC, as a tist; ``BadTist`` where it has not 9 to 11 digits."""
    if not FIRST <= value <= LAST:
        raise BadTist(f"{value}: no tist, which has 9 to 11 digits ({FIRST} is March 1973)")
    return value


def folder(tist: int) -> str:
    """The folder of a gathering below the store: ``1352481230`` lies in ``032/184/2531``.

    The decimal digits reversed, a slash after the third and the sixth (the paper, "object store").
    """
    text = str(checked(tist))[::-1]
    return f"{text[:3]}/{text[3:6]}/{text[6:]}"


def of_folder(path: str) -> int | None:
    """The tist whose folder is *path*; None where it is that of none."""
    found = _FOLDER.fullmatch(path)
    digits = "".join(found.groups())[::-1] if found else "0"
    return None if digits.startswith("0") else int(digits)


def of_time(time: datetime) -> int:
    """The tist of an aware datetime, whole seconds, rounded down; ``BadTist``."""
    return checked((time - _EPOCH) // timedelta(seconds=1))


def to_time(tist: int) -> datetime:
    return _EPOCH + timedelta(seconds=tist)


def to_text(tist: int) -> str:
    """The tist as ISO 8601, UTC, whole seconds."""
    return dates.to_seconds(to_time(tist))


def in_name(name: str) -> int | None:
    """The tist of the one date ``2012-11-07`` in a file's name, midnight UTC; None without one."""
    found = _DATE.findall(name)
    if len(set(found)) != 1:
        return None
    try:
        return of_time(datetime.fromisoformat("-".join(found[0])).replace(tzinfo=UTC))
    except (ValueError, BadTist):
        return None


def parse(text: str) -> int:
    """The tist that *text* means: digits, or an ISO 8601 date or time, UTC where none is said.

    ``BadArgument``.
    """
    try:
        if text.isascii() and text.isdigit() and len(text) > 8:
            return checked(int(text[:12]))
        time = datetime.fromisoformat(text)
        return of_time(time if time.tzinfo else time.replace(tzinfo=UTC))
    except (ValueError, BadTist):
        reason = "no tist of 9 to 11 digits, nor a time like 2012-11-07 or 2012-11-07T10:11:12Z"
        raise BadArgument(f"{text!r} is {reason}") from None
