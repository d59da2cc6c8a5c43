"""WARC-Date: W3C profile of ISO 8601, UTC (WARC/1.1 section 5.4)."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_DATE = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?Z)?)?)?", re.ASCII
)


def now() -> datetime:
    return datetime.now(UTC)


def to_text(time: datetime) -> str:
    """*time* (aware) as ``YYYY-MM-DDThh:mm:ss.ffffffZ``."""
    return _iso(time, "microseconds")


def to_seconds(time: datetime) -> str:
    """*time* (aware) cut to seconds, ``YYYY-MM-DDThh:mm:ssZ`` (requirement paper, section 4)."""
    return _iso(time, "seconds")


def to_milliseconds(time: datetime) -> str:
    """*time* (aware) cut to milliseconds, ``YYYY-MM-DDThh:mm:ss.mmmZ``."""
    return _iso(time, "milliseconds")


def _iso(time: datetime, precision: str) -> str:
    # Not strftime, which writes the year 999 with three digits.
    return time.astimezone(UTC).isoformat(timespec=precision).removesuffix("+00:00") + "Z"


def parse(text: str) -> datetime:
    """An aware datetime from a date of any W3C precision; finer than a microsecond is cut.

    ``ValueError`` for anything else.
    """
    found = _DATE.fullmatch(text)
    if not found:
        raise ValueError(f"not a WARC-Date: {text!r}")
    year, month, day, hour, minute, second, fraction = found.groups()
    return datetime(
        int(year), int(month or 1), int(day or 1),
        int(hour or 0), int(minute or 0), int(second or 0),
        int((fraction or "0")[:6].ljust(6, "0")), tzinfo=UTC,
    )  # fmt: skip
