"""What an answer makes of a fobi: appearance, change, visit, miss or deletion; pure.

A URL that was asked for, the ways on which it was sent on, and who answered last are all obis. What
is known of each, and what came, give its line in the journal and when it is asked for again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any, Protocol

from lafka.archec.records import Last, Obi
from lafka.archec.records.refresh_rules import RefreshRule, why_lost
from lafka.archec.redif import uris
from lafka.archec.store.folders import LINKS_MAX, ObiFile
from lafka.errors import BadUrl

PDF = "pdf"
_SOFT = ("html", "empty")


class Incidence(StrEnum):
    """How asking for a fobi ended, where it did not end as a miss."""

    APPEARANCE = "appearance"
    CHANGE = "change"
    VISIT = "visit"
    DELETION = "deletion"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The outcome of asking for the fobi *uri* at ``time``, ISO 8601 in UTC.

    ``way``: normal forms from ``uri`` to who answered. ``miss`` is an outcome where nothing came
    that could be stored, else empty. ``status`` 200 or 304; ``text`` what the text was made by.
    """

    uri: str
    time: str
    way: tuple[str, ...]
    miss: str = ""
    error: str = ""
    status: int = 0
    mime: str = ""
    kind: str = ""
    etag: str | None = None
    modified: str | None = None
    text: str = ""

    @property
    def told(self) -> dict[str, Any]:
        """What a line with a version says of the answer."""
        values = {
            "time": self.time,
            "way": list(self.way),
            "status": self.status,
            "mime": self.mime,
            "kind": self.kind,
            "etag": self.etag,
            "modified": self.modified,
            "text": self.text,
        }
        return {name: value for name, value in values.items() if value not in (None, "")}


def way_of(urls: Sequence[str]) -> tuple[str, ...]:
    """The way over *urls* in normal form; one that comes twice counts where it comes last (D15).

    What has no normal form on the way is passed over; ``BadUrl`` where that is the last one.
    """
    way: dict[str, None] = {}
    for place, url in enumerate(urls, 1):
        try:
            uri = uris.normalise(url)
        except BadUrl:
            if place == len(urls):
                raise
            continue
        way.pop(uri, None)
        way[uri] = None
    return tuple(way)


class Asked(Protocol):
    """What was sent back of an earlier answer, and whose that was."""

    @property
    def etag(self) -> str | None: ...

    @property
    def modified(self) -> str | None: ...

    @property
    def answered(self) -> str | None: ...


def is_trusted(asked: Asked, url: str, etag: str) -> bool:
    """Return whether a 304 of *url* with that *etag* (empty for none) says that the content is as
    it was.

    It has to have been asked for, to come from who had given the validators, and not to name
    another version (RFC 9110, 13.1.2, 15.4.5).
    """
    if not (asked.etag or asked.modified):
        return False
    try:
        is_theirs = uris.normalise(url) == asked.answered
    except BadUrl:
        return False
    return is_theirs and (not etag or not asked.etag or _strong(etag) == _strong(asked.etag))


def _strong(etag: str) -> str:
    return etag.removeprefix("W/")


def event_of(last: Last | None, text_sha256: str) -> Incidence:
    """Return what the sight of a text is to an obi with the version *last*."""
    if last is None or last.noted is None or last.lost is not None:
        return Incidence.APPEARANCE
    return Incidence.VISIT if last.text_sha256 == text_sha256 else Incidence.CHANGE


def stored_line(
    answer: Answer, uri: str, event: Incidence, *, obi: Obi | None, tist: int, rule: RefreshRule
) -> dict[str, Any]:
    """The line of *uri*, on the way of *answer*, with another content than before."""
    interval = rule.of_changed(obi) if obi and event is Incidence.CHANGE else rule.of_new()
    found = obi.found if obi and obi.found is not None else tist
    line = {"e": str(event), "id": uri, "found": found, **answer.told, "interval": interval}
    if event is Incidence.CHANGE and obi and was_pdf(obi) and answer.kind in _SOFT:
        line["soft"] = True
    return line


def was_pdf(obi: Obi) -> bool:
    """Return whether its last version was a PDF, or a page that stood in for one already."""
    return obi.payload == PDF or obi.soft


def visit_line(answer: Answer, uri: str, obi: Obi, rule: RefreshRule) -> dict[str, Any]:
    """The line of *uri*, on the way of *answer*, with the content that it had."""
    values = {
        "e": str(Incidence.VISIT),
        "id": uri,
        "time": answer.time,
        "way": list(answer.way),
        "status": answer.status,
        "interval": rule.of_same(obi),
    }
    both = {"etag": answer.etag, "modified": answer.modified}
    if answer.status == 304:  # it says what of its head has changed (RFC 9110, 15.4.5)
        both = {name: value for name, value in both.items() if value is not None}
    return values | both


def lines_of_miss(answer: Answer, obis: Mapping[str, Obi], tist: int) -> Iterator[dict[str, Any]]:
    """The lines of an answer that gave nothing: a miss of what was asked for, or losses.

    What a server says is gone, is gone for all that led there.
    """
    asked = obis.get(answer.uri)
    why = why_lost(asked, answer.miss, tist) if asked else ""
    lost = answer.way if answer.miss == "gone" else (answer.uri,)
    gone = [obis[uri] for uri in lost if uri in obis and why_lost(obis[uri], answer.miss, tist)]
    for obi in gone:
        reason = why or why_lost(obi, answer.miss, tist)
        yield {"e": str(Incidence.DELETION), "id": obi.id, "why": reason, "time": answer.time}
    if not why:
        line = {"e": "miss", "id": answer.uri, "time": answer.time, "outcome": answer.miss}
        yield line | ({"error": answer.error} if answer.error else {})


def links(
    way: Sequence[str], stored: Collection[str], content: ObiFile, tist: int
) -> dict[str, ObiFile | None]:
    """Return where the symlink of each hop leads that is *stored* at *tist*; None where it has
    none.

    *way* ends with who answered; *content* is where the bytes lie. A hop leads to the next one that
    has a place at this tist, but over at most ten links; two neighbours that differ by a slash at
    the end alone need none, for readers try both (the paper, "redirects").
    """
    last = way[-1]
    places = {last} if last in stored else set[str]()
    target, depth = content, 0
    if places and content != (tist, last):
        target, depth = (tist, last), 1
    found: dict[str, ObiFile | None] = {}
    for hop, onward in reversed(list(pairwise(way))):
        if hop not in stored:
            continue
        if onward in places and hop.removesuffix("/") == onward.removesuffix("/"):
            found[hop] = None
            continue
        if depth == LINKS_MAX:
            target, depth = content, 0
        found[hop] = target
        target, depth = (tist, hop), depth + 1
        places.add(hop)
    return found
