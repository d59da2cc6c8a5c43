"""WARC-Date: W3C profile of ISO 8601, UTC (WARC/1.1 section 5.4)."""

from __future__ import annotations

import datetime as dt
import re
from calendar import monthrange
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Self

from ..errors import BadValue

SECONDS = 14
MILLISECONDS = 17
MICROSECONDS = 20

_DATE = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?Z)?)?)?", re.ASCII
)
_DIGITS = re.compile(r"\d{4}(?:\d\d){0,5}|\d{15,23}", re.ASCII)
_PLAIN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z", re.ASCII)
_NO_SIGNS = str.maketrans("", "", "-T:.Z")
_FIRST = "00000101000000000000000"


@dataclass(frozen=True, order=True)
class WarcDate:
    """A time in UTC at the precision that it was said with, from a year to a nanosecond.

    ``digits`` are its digits without punctuation, ``precision`` is how many these are: 4 year,
    6 month, 8 day, 10 hour, 12 minute, 14 second, 15 to 23 fractions of a second. Dates are
    ordered by where their span begins, a less precise one first; equal are those of one precision.
    """

    digits: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """*text* as W3C has it, at every precision, or as 4 to 14 digits (17: milliseconds).

        ``BadValue`` where it is neither, or no day of the calendar.
        """
        if _PLAIN.fullmatch(text):
            with suppress(ValueError):
                dt.datetime.fromisoformat(text[:19])
                return cls(text.translate(_NO_SIGNS))
        found = _DATE.fullmatch(text)
        if not found and not _DIGITS.fullmatch(text):
            raise BadValue(f"not a WARC-Date: {text!r}")
        date = cls("".join(filter(None, found.groups())) if found else text)
        try:
            _ = date.datetime
        except (ValueError, OverflowError):
            raise BadValue(f"not a WARC-Date: {text!r}") from None
        return date

    @classmethod
    def of(cls, time: WarcDate | dt.datetime | str, precision: int = MICROSECONDS) -> Self:
        """*time*, a datetime (aware) cut to *precision*; ``BadValue`` where a text is no date."""
        if isinstance(time, str):
            return cls.parse(time)
        if isinstance(time, WarcDate):
            return cls(time.digits)
        return cls(to_text(time).translate(_NO_SIGNS)[:precision])

    @classmethod
    def of_message(cls, text: str) -> Self | None:
        """Return the date in a Date field of HTTP or mail, to the second; None where it is none."""
        try:
            return cls.of(parsedate_to_datetime(text), SECONDS)
        except (ValueError, TypeError, IndexError, OverflowError):
            return None

    @classmethod
    def now(cls, precision: int = MICROSECONDS) -> Self:
        return cls.of(now(), precision)

    def cut(self, precision: int = SECONDS) -> WarcDate:
        """The date at *precision*, or as it is where it is no finer."""
        return WarcDate(self.digits[:precision])

    @property
    def precision(self) -> int:
        return len(self.digits)

    @property
    def text(self) -> str:
        """As it stands in WARC-Date; hours, which W3C does not have alone, with minutes."""
        digits = self.digits + "00" if self.precision == 10 else self.digits
        day = "-".join(filter(None, (digits[:4], digits[4:6], digits[6:8])))
        if len(digits) <= 8:
            return day
        time = ":".join(filter(None, (digits[8:10], digits[10:12], digits[12:14])))
        return f"{day}T{time}{digits[14:] and '.' + digits[14:]}Z"

    def __str__(self) -> str:
        return self.text

    @cached_property
    def datetime(self) -> dt.datetime:
        """The beginning of its span, aware; finer than a microsecond is cut."""
        return _datetime(self.digits)

    @cached_property
    def last(self) -> dt.datetime:
        """The last second of its span; a second and less count as a point."""
        digits = self.digits
        if len(digits) >= SECONDS:
            return self.datetime
        if len(digits) == 4:
            digits += "12"
        if len(digits) == 6:
            digits += str(monthrange(int(digits[:4]), int(digits[4:]))[1])
        return _datetime(digits + "235959"[len(digits) - 8 :])

    @property
    def digits14(self) -> str:
        """As in CDX files and ARC headers, ``YYYYMMDDhhmmss``, where its span begins."""
        return (self.digits + _FIRST[self.precision :])[:SECONDS]

    @property
    def digits17(self) -> str:
        """``YYYYMMDDhhmmssmmm``, as in names of WARC files, where its span begins."""
        return (self.digits + _FIRST[self.precision :])[:MILLISECONDS]

    def covers(self, other: WarcDate) -> bool:
        """Return whether *other*, which is as precise or more so, lies in this date's span."""
        return other.digits.startswith(self.digits)

    def distance(self, other: WarcDate) -> dt.timedelta:
        """Return how far apart the two spans are, at least zero; a second is a point."""
        if self.precision < SECONDS and self.covers(other):
            return dt.timedelta()
        if other.precision < SECONDS and other.covers(self):
            return dt.timedelta()
        gap = max(self.datetime - other.last, other.datetime - self.last)
        return max(gap, dt.timedelta())


def _datetime(digits: str) -> dt.datetime:
    digits += _FIRST[len(digits) :]
    leap = digits[8:14] == "235960"
    time = dt.datetime(
        int(digits[:4]), int(digits[4:6]), int(digits[6:8]),
        int(digits[8:10]), int(digits[10:12]), int(digits[12:14]) - leap,
        int(digits[14:20]), tzinfo=dt.UTC,
    )  # fmt: skip
    return time + dt.timedelta(seconds=leap)


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def to_text(time: dt.datetime) -> str:
    """*time* (aware) as ``YYYY-MM-DDThh:mm:ss.ffffffZ``."""
    return _iso(time, "microseconds")


def to_seconds(time: dt.datetime) -> str:
    """*time* (aware) cut to seconds, ``YYYY-MM-DDThh:mm:ssZ`` (requirement paper, section 4)."""
    return _iso(time, "seconds")


def to_milliseconds(time: dt.datetime) -> str:
    """*time* (aware) cut to milliseconds, ``YYYY-MM-DDThh:mm:ss.mmmZ``."""
    return _iso(time, "milliseconds")


def _iso(time: dt.datetime, precision: str) -> str:
    # Not strftime, which writes the year 999 with three digits.
    return time.astimezone(dt.UTC).isoformat(timespec=precision).removesuffix("+00:00") + "Z"


def parse(text: str) -> dt.datetime:
    """An aware datetime from a date of any W3C precision; finer than a microsecond is cut.

    ``BadValue`` for anything else.
    """
    if text[4:5] in ("", "-"):
        return WarcDate.parse(text).datetime
    raise BadValue(f"not a WARC-Date: {text!r}")
