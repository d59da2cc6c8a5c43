"""Memento, RFC 7089, pattern 2.1: a TimeGate that redirects, mementos, TimeMaps. Pure.

Times are aware datetimes of whole seconds, UTC. URIs are given by who has the addresses: this
module knows none. Whoever serves says which memento a TimeGate means: :func:`as_of` what was there
at a time, as a store of gatherings has it; :func:`nearest` the capture that is nearest to it.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

PAGE = 1000
"""Mementos on a page of a TimeMap."""
LINK_FORMAT = "application/link-format"
TIMEMAPS = {"link": LINK_FORMAT, "json": "application/json", "cdxj": "application/cdxj+ors"}
"""The forms of TimeMaps, by their names in addresses -> media types."""
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_HTTP_DATE = re.compile(
    rf"(?:{'|'.join(_DAYS)}), ([0-9]{{2}}) ({'|'.join(_MONTHS)}) ([0-9]{{4}})"
    r" ([0-9]{2}):([0-9]{2}):([0-9]{2}) GMT"
)
# RFC 3986, 2: what a URI is made of, escapes included; the rest would end the <> or the header.
_URI_CHARACTERS = "!#$%&'()*+,/:;=?@[]~"
_PLAIN = re.compile(r"[A-Za-z0-9._!#$%&'()*+,/:;=?@\[\]~-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Memento:
    """A version of an original resource: its Memento-Datetime, where it is, what is said of it."""

    time: datetime
    uri: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Original:
    """An original resource with its mementos, oldest first, at least one.

    ``timemaps``: URIs of the first page of the TimeMap by media type; that in link-format is there.
    """

    uri: str
    timegate: str
    timemaps: Mapping[str, str]
    mementos: Sequence[Memento]
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def timemap(self) -> str:
        return self.timemaps[LINK_FORMAT]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeMapPage:
    """Page *number*, from 1, of a TimeMap; ``uris`` of all its pages in this media type."""

    number: int
    uris: Sequence[str]

    def of(self, original: Original) -> Sequence[Memento]:
        return self.at(original, self.number)

    def at(self, original: Original, number: int) -> Sequence[Memento]:
        return original.mementos[(number - 1) * PAGE : number * PAGE]


def pages(count: int) -> int:
    """Return how many pages the TimeMap of *count* mementos has."""
    return max(1, -(-count // PAGE))


# Times -------------------------------------------------------------------------------------


def http_date(time: datetime) -> str:
    """*time* as HTTP has it: ``Tue, 11 Sep 2001 20:35:00 GMT`` (RFC 9110, 5.6.7)."""
    time = time.astimezone(UTC)
    day, month = _DAYS[time.weekday()], _MONTHS[time.month - 1]
    clock = f"{time.hour:02}:{time.minute:02}:{time.second:02}"  # strftime takes four times that
    return f"{day}, {time.day:02} {month} {time.year:04} {clock} GMT"


def read_http_date(text: str) -> datetime:
    """The time that an ``Accept-Datetime`` says (RFC 7089, 2.1.1); ``ValueError``.

    The name of the day is not compared: the date is what is meant.
    """
    found = _HTTP_DATE.fullmatch(text.strip(" \t"))
    if not found:
        raise ValueError(f"{text[:80]!r} is no date such as Tue, 11 Sep 2001 20:35:00 GMT")
    day, month, year, hour, minute, second = found.groups()
    try:
        return datetime(
            int(year), _MONTHS.index(month) + 1, int(day),
            int(hour), int(minute), min(int(second), 59) if second == "60" else int(second),
            tzinfo=UTC,
        )  # fmt: skip
    except ValueError:
        raise ValueError(f"{text[:80]!r} is no date of any calendar") from None


# Negotiation -------------------------------------------------------------------------------


def as_of(mementos: Sequence[Memento], time: datetime | None) -> Memento:
    """Return what was there at *time*: the last memento not after it; before the first, the first.

    Without a time the newest.
    """
    if time is None:
        return mementos[-1]
    return mementos[max(0, bisect_right(mementos, time, key=lambda one: one.time) - 1)]


def nearest(mementos: Sequence[Memento], time: datetime | None) -> Memento:
    """The memento nearest to *time*, of two the older; without a time the newest."""
    if time is None:
        return mementos[-1]
    behind = bisect_right(mementos, time, key=lambda one: one.time)
    around = mementos[max(0, behind - 1) : behind + 1]
    return min(around, key=lambda one: abs(one.time - time))


# Link headers (RFC 8288; RFC 7089, 2.2) ----------------------------------------------------


def link(uri: str, rel: str, **attributes: str) -> str:
    """One link, as a header and a TimeMap have it: ``<uri>; rel="..."; datetime="..."``."""
    more = "".join(f'; {name.replace("_", "")}="{value}"' for name, value in attributes.items())
    target = uri if _PLAIN.fullmatch(uri) else quote(uri, safe=_URI_CHARACTERS)
    return f'<{target}>; rel="{rel}"{more}'


def gate_links(original: Original) -> str:
    """The Link header of a TimeGate's answer: original, TimeMaps, first and last memento."""
    ends = _ends(original)
    return ", ".join((_original(original), *_timemaps(original), *_mementos(ends)))


def memento_links(original: Original, memento: Memento) -> str:
    """The Link header of *memento*: what the TimeGate's has, the TimeGate, and the neighbours."""
    place = bisect_left(original.mementos, memento.time, key=lambda one: one.time)
    around = _ends(original)
    if place:
        around.append(("prev", original.mementos[place - 1]))
    if place + 1 < len(original.mementos):
        around.append(("next", original.mementos[place + 1]))
    around.append(("", memento))
    gate = link(original.timegate, "timegate")
    return ", ".join((_original(original), gate, *_timemaps(original), *_mementos(around)))


def _original(original: Original) -> str:
    return link(original.uri, "original")


def _timemaps(original: Original) -> Iterator[str]:
    for media_type, uri in original.timemaps.items():
        yield link(uri, "timemap", type=media_type)


def _ends(original: Original) -> list[tuple[str, Memento]]:
    return [("first", original.mementos[0]), ("last", original.mementos[-1])]


def _mementos(named: Sequence[tuple[str, Memento]]) -> Iterator[str]:
    """A link a memento, oldest first, with all that it is: ``rel="first prev memento"``."""
    words: dict[str, list[str]] = {}
    mementos = {memento.uri: memento for _, memento in named}
    for word, memento in named:
        words.setdefault(memento.uri, []).extend([word] if word else [])
    for uri, memento in sorted(mementos.items(), key=lambda one: one[1].time):
        yield link(uri, " ".join((*words[uri], "memento")), datetime=http_date(memento.time))


# TimeMaps ----------------------------------------------------------------------------------


def link_format(original: Original, page: TimeMapPage) -> Iterator[str]:
    """A page of the TimeMap in link-format (RFC 6690, RFC 7089, 5), a link a line."""
    lines = [
        _original(original),
        link(page.uris[page.number - 1], "self", type=LINK_FORMAT, **_span(page.of(original))),
        link(original.timegate, "timegate"),
        *(
            link(uri, "timemap", type=LINK_FORMAT, **_span(page.at(original, number)))
            for number, uri in enumerate(page.uris, 1)
            if number in (page.number - 1, page.number + 1)
        ),
        *_page_mementos(original, page),
    ]
    yield from (f"{line},\n" for line in lines[:-1])
    yield f"{lines[-1]}\n"


def _page_mementos(original: Original, page: TimeMapPage) -> Iterator[str]:
    for memento, rel in _rels(original, page):
        yield link(memento.uri, rel, datetime=http_date(memento.time))


def _rels(original: Original, page: TimeMapPage) -> Iterator[tuple[Memento, str]]:
    """The mementos of a page with all that each is: ``first last memento``."""
    first, last = original.mementos[0], original.mementos[-1]
    for memento in page.of(original):
        words = [word for word, end in (("first", first), ("last", last)) if memento is end]
        yield memento, " ".join((*words, "memento"))


def _span(mementos: Sequence[Memento]) -> dict[str, str]:
    # "from" is a word of Python's: link() drops the line behind it.
    return {"from_": http_date(mementos[0].time), "until": http_date(mementos[-1].time)}


def timemap(form: str, original: Original, page: TimeMapPage) -> str:
    """A page of the TimeMap in a *form* of :data:`TIMEMAPS`."""
    if form == "link":
        return "".join(link_format(original, page))
    return timemap_json(original, page) if form == "json" else "".join(cdxj(original, page))


def cdxj(original: Original, page: TimeMapPage) -> Iterator[str]:
    """A page of the TimeMap in CDXJ, as MemGator has it: what it is, then a memento a line."""
    about: list[tuple[str, Any]] = [
        ("context", ["http://tools.ietf.org/html/rfc7089"]),
        ("id", {"uri": page.uris[page.number - 1]}),
        ("keys", ["memento_datetime_YYYYMMDDhhmmss"]),
        ("meta", {"original_uri": original.uri}),
        ("meta", {"timegate_uri": original.timegate}),
        ("meta", {"timemap_uri": dict(original.timemaps)}),
        *(("meta", {word: uri}) for word, uri in _around(page).items()),
    ]
    yield from (f"!{name} {json.dumps(value, ensure_ascii=False)}\n" for name, value in about)
    for memento, rel in _rels(original, page):
        values = {"uri": memento.uri, "rel": rel, "datetime": http_date(memento.time)}
        told = json.dumps({**values, **memento.facts}, ensure_ascii=False)
        yield f"{memento.time.astimezone(UTC):%Y%m%d%H%M%S} {told}\n"


def timemap_json(original: Original, page: TimeMapPage) -> str:
    """A page of the TimeMap in JSON, the keys those of MemGator's; ``facts`` beside them."""
    values = {
        "original_uri": original.uri,
        "self": page.uris[page.number - 1],
        "timegate_uri": original.timegate,
        "timemap_uri": {media.partition("/")[2]: uri for media, uri in original.timemaps.items()},
        **original.facts,
        "mementos": {
            "list": [
                {"datetime": _iso(one.time), "uri": one.uri, **one.facts}
                for one in page.of(original)
            ],
            "first": _named(original.mementos[0]),
            "last": _named(original.mementos[-1]),
        },
        "pages": _around(page),
    }
    return json.dumps(values, ensure_ascii=False) + "\n"


def _around(page: TimeMapPage) -> dict[str, str]:
    """The pages before and behind it: ``prev``, ``next``."""
    around = {"prev": page.number - 2, "next": page.number}
    return {word: page.uris[at] for word, at in around.items() if 0 <= at < len(page.uris)}


def _named(memento: Memento) -> dict[str, str]:
    return {"datetime": _iso(memento.time), "uri": memento.uri}


def _iso(time: datetime) -> str:
    return f"{time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z"
