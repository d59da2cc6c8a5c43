"""The fold of journal lines into the records: one pure function, so that all databases agree."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lafka.archec.records import (
    Content,
    GatheringRecord,
    Kind,
    Known,
    Obi,
    Refipo,
    State,
    content_of,
)
from lafka.archec.store.lines import STORED, Line

if TYPE_CHECKING:
    from lafka.archec.records import Obi


DAY = 86_400
CHURNING = 5
"""Visits in a row that each found another content: then a page has a clock, or a counter."""
_AFTER_MISSES = (1, 7, 30, 90)
_ONCE_A_YEAR = 365 * DAY
_LOST_ASKED = 2
_GONE_AFTER = 7 * DAY
_NAMELESS_AFTER = 30 * DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshRule:
    """Bounds of the seconds between two visits (LAFKA_REFRESH_MIN, LAFKA_REFRESH_MAX)."""

    least: int = 30 * DAY
    most: int = 365 * DAY

    def of_new(self) -> int:
        """The interval of what was got for the first time."""
        return self.least

    def of_changed(self, obi: Obi) -> int:
        """The interval of *obi*, whose content has changed."""
        if obi.churn + 1 >= CHURNING:  # else it would fill the disk
            return self.most
        return max(self.least, self._had(obi) // 2)

    def of_same(self, obi: Obi) -> int:
        """The interval of *obi*, whose content is as it was."""
        return min(self.most, 2 * self._had(obi))

    def _had(self, obi: Obi) -> int:
        return min(self.most, max(self.least, obi.interval or self.least))


def after_miss(obi: Obi) -> int | None:
    """Seconds until *obi* is asked for once more, this miss not among its ``missed``; None: never.

    A lost one is asked for twice, a year apart.
    """
    if obi.lost is not None:
        asked = sum(tist > obi.lost for tist, _ in obi.missed) + 1
        return _ONCE_A_YEAR if asked < _LOST_ASKED else None
    days = [*_AFTER_MISSES, _ONCE_A_YEAR // DAY]
    return days[min(len(obi.missed), len(_AFTER_MISSES))] * DAY


def why_lost(obi: Obi, outcome: str, tist: int) -> str:
    """Return why *obi*, which was there, is gone by an *outcome* at *tist*; empty where it may be
    back.
    """
    if obi.noted is None or obi.lost is not None:
        return ""
    if outcome == "gone":
        return "410"
    since = [missed for missed, how in obi.missed if how == outcome]
    if outcome == "not-found" and since and tist - since[0] >= _GONE_AFTER:
        return "404 twice"
    if outcome == "dns" and len(since) >= 2 and tist - since[0] >= _NAMELESS_AFTER:
        return "dns thrice"
    return ""


_MISSES_KEPT = 10
# Looked up once, not for each line: a member of an enumeration takes three times a global's time.
_TOBI, _FOBI = Kind.TOBI, Kind.FOBI
_LIVE, _LOST, _NEW, _RESTRICTED = State.LIVE, State.LOST, State.NEW, State.RESTRICTED
_PLAIN = re.compile(r"https?://([a-z0-9.-]+)(?=/)")  # as nearly all are, ten times as fast
_RULE = RefreshRule()
"""For lines that say neither ``interval`` nor ``due``: those that were derived from files."""


@dataclass(slots=True, kw_only=True)
class Changes:
    """Rows to be written: whole obis but for their versions and losses, and rows to be added."""

    gathering: GatheringRecord
    obis: dict[str, Obi] = field(default_factory=dict)
    versions: list[tuple[str, int, str]] = field(default_factory=list)
    losses: list[tuple[str, int]] = field(default_factory=list)
    contents: dict[tuple[Kind, str], Content] = field(default_factory=dict)
    closed: list[tuple[str, int]] = field(default_factory=list)
    refipos: list[Refipo] = field(default_factory=list)


def ids(lines: Iterable[Line]) -> set[str]:
    """The obis that *lines* speak of: what ``fold`` has to know of them, it has to be given."""
    found: set[str] = set()
    for line in lines:
        if "id" in line:
            found.add(line["id"])
            found.update(refipo["uri"] for refipo in line.get("refipos", ()))
    return found


def opened(head: Line) -> GatheringRecord:
    """The gathering of a journal's first line."""
    return GatheringRecord(
        tist=head["gathering"],
        kind=str(head.get("kind")),
        source=head.get("source"),
        run=str(head.get("run")),
    )


def fold(gathering: GatheringRecord, upto: int, lines: Sequence[Line], known: Known) -> Changes:
    """Return what *lines*, which end at byte *upto*, do to *known*, which is not changed.

    Done twice, it is as done once: a database without transactions applies again after a kill.
    """
    changes = Changes(gathering=gathering)
    for line in lines:
        event = line.get("e")
        if event in STORED:
            _stored(changes, line, known)
        elif event in _OF_OBIS:
            obi = _obi(changes, line["id"], known)
            _OF_OBIS[event](changes, obi, line)
        elif event == "withheld":
            gathering.withheld[line["archive"]] = line["count"]
        elif event == "end":
            gathering.ended = True
            gathering.killed = bool(line.get("killed"))
            gathering.counts = dict(line.get("counts", {}))
    gathering.applied = upto
    return changes


def _obi(changes: Changes, text: str, known: Known) -> Obi:
    """The obi with this id, to be changed."""
    obi = changes.obis.get(text)
    if obi is None:
        before = known.get(text)
        obi = _copied(before) if before else _new(text)
        changes.obis[text] = obi
    return obi


def _copied(obi: Obi) -> Obi:
    values = {name: getattr(obi, name) for name in Obi.__slots__}
    return Obi(**values | {"missed": list(obi.missed), "versions": [], "past": []})


def _new(text: str) -> Obi:
    if Kind.of(text) is _FOBI:
        return Obi(id=text, kind=_FOBI, state=_NEW, host=_host(text))
    parts = text.split(":", 3)
    return Obi(id=text, kind=_TOBI, archive=parts[1], series=parts[2] if len(parts) > 2 else None)


def _host(uri: str) -> str | None:
    if plain := _PLAIN.match(uri):
        return plain[1]
    try:
        return urlsplit(uri).hostname
    except ValueError:
        return None


def _stored(changes: Changes, line: Line, known: Known) -> None:
    tist = changes.gathering.tist
    obi = _obi(changes, line["id"], known)
    was = obi.noted
    obi.found = line["found"] if obi.found is None else obi.found
    obi.noted, obi.lost, obi.state = tist, None, _LIVE
    obi.length = line["length"]
    changes.versions.append((obi.id, tist, line["md5"]))
    _place(changes, obi, line)
    if obi.kind is _TOBI:
        obi.type = line.get("type") or obi.type
        if was is not None:
            changes.closed.append((obi.id, tist))
        _point(changes, obi, line, known)
        return
    obi.payload, obi.soft = line.get("kind"), bool(line.get("soft"))
    obi.etag, obi.modified, obi.missed = line.get("etag"), line.get("modified"), []
    obi.answered = _answered(line)
    if obi.seen != tist:
        changed = line["e"] == "change"
        default = _RULE.of_changed(obi) if changed else _RULE.of_new()
        obi.interval = line.get("interval", default)
        obi.churn = obi.churn + 1 if changed else 0
    obi.seen, obi.due = tist, tist + (obi.interval or 0)


def _answered(line: Line) -> str | None:
    """Return who answered, where that is not whom the line is about."""
    *_, last = line.get("way") or [line["id"]]
    return None if last == line["id"] else str(last)


def _place(changes: Changes, obi: Obi, line: Line) -> None:
    """The place of the content: here, unless it is a symlink to where it lay before."""
    if not line.get("held"):
        content = content_of(obi.kind, changes.gathering.tist, line)
        changes.contents[obi.kind, content.md5] = content


def _point(changes: Changes, obi: Obi, line: Line, known: Known) -> None:
    tist = changes.gathering.tist
    for values in line.get("refipos", ()):
        refipo = _refipo(obi.id, tist, values)
        changes.refipos.append(refipo)
        fobi = _obi(changes, refipo.fobi, known)
        if fobi.due is None and not refipo.second:
            _await(fobi, refipo, tist)


def _await(fobi: Obi, refipo: Refipo, tist: int) -> None:
    """Let *fobi*, which nobody would ask for, be asked for unless *refipo* is restricted."""
    if fobi.state in (_NEW, _RESTRICTED):
        fobi.state = _RESTRICTED if refipo.restriction else _NEW
    if fobi.state in (_NEW, _LOST) and not refipo.restriction:
        fobi.due = tist


def _refipo(tobi: str, tist: int, values: Mapping[str, Any]) -> Refipo:
    return Refipo(
        tobi=tobi,
        n=values["n"],
        second=bool(values.get("second")),
        since=tist,
        until=None,
        fobi=values["uri"],
        raw=values["raw"],
        format=values.get("format"),
        function=values.get("function"),
        size=values.get("size"),
        restriction=values.get("restriction"),
    )


def _deleted(changes: Changes, obi: Obi, line: Line) -> None:  # noqa: ARG001
    tist = changes.gathering.tist
    if obi.noted is None:  # never got: there is nothing to lose
        obi.state, obi.due = State.NEVER, tist + _RULE.most
        return
    obi.lost, obi.state = tist, State.LOST
    changes.losses.append((obi.id, tist))
    if obi.kind is Kind.TOBI:
        changes.closed.append((obi.id, tist))
    else:
        obi.seen, obi.due, obi.churn = tist, tist + _RULE.most, 0


def _visited(changes: Changes, obi: Obi, line: Line) -> None:
    tist = changes.gathering.tist
    if obi.seen != tist:
        obi.interval = line.get("interval", _RULE.of_same(obi))
        obi.churn = 0
    obi.etag = line.get("etag", obi.etag)
    obi.modified = line.get("modified", obi.modified)
    obi.answered = _answered(line)
    obi.missed, obi.seen, obi.due = [], tist, tist + (obi.interval or 0)


def _missed(changes: Changes, obi: Obi, line: Line) -> None:
    tist = changes.gathering.tist
    if obi.noted is None:
        obi.state = State.NEVER
    if obi.seen != tist:
        wait = after_miss(obi)
        obi.missed = [*obi.missed, [tist, line.get("outcome")]][-_MISSES_KEPT:]
        obi.due = None if wait is None else tist + wait
    obi.seen = tist


def _withdrawn(changes: Changes, obi: Obi, line: Line) -> None:  # noqa: ARG001
    if line.get("tist") == obi.noted:
        obi.state = State.WITHDRAWN


_OF_OBIS = {
    "deletion": _deleted,
    "visit": _visited,
    "miss": _missed,
    "withdrawn": _withdrawn,
}


def told_of(obis: Iterable[Obi]) -> Iterator[dict[str, Any]]:
    """Obis as plain values without what is a database's own: the same from each of them."""
    for obi in obis:
        values = {name: getattr(obi, name) for name in Obi.__slots__ if name != "number"}
        yield values | {"versions": [list(version) for version in obi.versions]}
