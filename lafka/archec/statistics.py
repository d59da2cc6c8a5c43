"""Sums over the records of an obi store: by archive, series, host, and year of the first get.

One pass over the tobis and one over the fobis; what is held is a tally a group, never an obi. The
only clock is the store's: the tist of its last gathering. So one store gives the same each time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeVar

from lafka.archec.records import Kind, Obi, Pointer, Records, State, in_batches
from lafka.archec.records.folding import CHURNING
from lafka.archec.serve.queries import incidences
from lafka.archec.store.tists import to_time
from lafka.errors import BadArgument, printable

AGES = (1, 2, 3, 5, 10)
"""Years after its first get at which a fobi is looked at again."""
YEAR = 31_556_952
"""Seconds of a mean year of the Gregorian calendar."""
TOBI_COLUMNS = ("tobis", "tobis_lost", "appeared", "changed", "gone")
FOBI_COLUMNS = (
    "refipos", "fobis", "held", "live", "lost", "never", "new", "restricted", "withdrawn", "soft",
    "churning", "due", "to_https", "versions", "bytes",
)  # fmt: skip
_EVENTS = {"appearance": "appeared", "change": "changed", "deletion": "gone"}
_BATCH = 500
Tally = Counter[str]
Key = TypeVar("Key", str, tuple[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The range of the sums: of the archive *archive*, empty for all; incidences since a tist."""

    archive: str = ""
    since: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CohortSurvival:
    """Of the *fobis* first got in *year*, *live* are there *years* later; ``n`` were old enough."""

    year: int
    fobis: int
    years: int
    n: int
    live: int


@dataclass(slots=True, kw_only=True)
class Statistics:
    """Tallies by the names of ``TOBI_COLUMNS`` and ``FOBI_COLUMNS``, of the store at ``as_of``.

    ``whole`` of all; ``series`` by archive and series; a fobi counts in each that points at it.
    ``never``: outcome -> fobis that were never got; ``problems``: archive and code -> places.
    """

    as_of: int
    whole: Tally = field(default_factory=Counter)
    archives: dict[str, Tally] = field(default_factory=dict)
    series: dict[tuple[str, str], Tally] = field(default_factory=dict)
    hosts: dict[str, Tally] = field(default_factory=dict)
    never: Counter[str] = field(default_factory=Counter)
    problems: dict[tuple[str, str], int] = field(default_factory=dict)
    first: Counter[int] = field(default_factory=Counter)
    old: Counter[tuple[int, int]] = field(default_factory=Counter)
    still: Counter[tuple[int, int]] = field(default_factory=Counter)

    def rot(self) -> Iterator[CohortSurvival]:
        """By year and age, where any fobi is that old."""
        for year, years in sorted(self.old):
            yield CohortSurvival(
                year=year, years=years, fobis=self.first[year], n=self.old[year, years],
                live=self.still[year, years],
            )  # fmt: skip


def as_of(records: Records) -> int:
    """The tist of the last gathering; 0 for a store without one."""
    return max((one.tist for one in records.gatherings()), default=0)


def statistics(records: Records, scope: Scope) -> Statistics:
    """Return what *records* add up to; ``RecordsAway``."""
    told = Statistics(as_of=as_of(records))
    prefix = f"RePEc:{scope.archive}:" if scope.archive else ""
    own = records.history(f"RePEc:{scope.archive}") if scope.archive else None
    for obi in chain([own] if own else [], records.walk(Kind.TOBI, prefix)):
        _count_tobi(told, obi, scope)
    for obis in in_batches(records.walk(Kind.FOBI), _BATCH):
        pointers = records.pointers([obi.id for obi in obis])
        for obi in obis:
            _count_fobi(told, obi, pointers.get(obi.id, []), scope)
    for archive, code, count in records.problem_counts():
        if scope.archive in ("", archive):
            told.problems[archive, code] = count
    return told


def _count_tobi(told: Statistics, obi: Obi, scope: Scope) -> None:
    events = [_EVENTS[event] for tist, event in incidences(obi) if tist >= scope.since]
    if obi.noted is not None:
        events.append("tobis_lost" if obi.lost is not None else "tobis")
    archive = obi.archive or ""
    groups = [told.whole, _group(told.archives, archive)]
    if obi.series:
        groups.append(_group(told.series, (archive, obi.series)))
    for group in groups:
        for event in events:
            group[event] += 1


def _count_fobi(told: Statistics, obi: Obi, pointers: list[Pointer], scope: Scope) -> None:
    series: dict[tuple[str, str], int] = {}
    for tobi, now in pointers:
        part = _series(tobi)
        if scope.archive in ("", part[0]):
            series[part] = series.get(part, 0) + now
    if scope.archive and not series:
        return
    tally = _tally(obi, told.as_of)
    archives: dict[str, int] = {}
    for (archive, code), refipos in series.items():
        archives[archive] = archives.get(archive, 0) + refipos
        if code:
            _add(_group(told.series, (archive, code)), tally, refipos)
    for archive, refipos in archives.items():
        _add(_group(told.archives, archive), tally, refipos)
    for group in (told.whole, _group(told.hosts, obi.host or "")):
        _add(group, tally, sum(series.values()))
    if obi.state is State.NEVER:
        told.never[str(obi.missed[-1][1]) if obi.missed else ""] += 1
    if series and obi.versions:
        _count_rot(told, obi)


def _series(tobi: str) -> tuple[str, str]:
    """Archive and series of a tobi."""
    parts = tobi.split(":", 3)
    return parts[1], parts[2] if len(parts) > 2 else ""


def _group(groups: dict[Key, Tally], key: Key) -> Tally:
    group = groups.get(key)
    if group is None:
        group = groups[key] = Counter()
    return group


def _add(group: Tally, tally: list[tuple[str, int]], refipos: int) -> None:
    # Not Counter.update: a call of it for each group is most of what a report takes.
    for name, count in tally:
        group[name] += count
    group["refipos"] += refipos


def _tally(obi: Obi, now: int) -> list[tuple[str, int]]:
    """Return what one fobi adds to each group that it is in; what is nothing is left out."""
    held = obi.noted is not None
    told: dict[str, int] = {
        "fobis": 1,
        "held": held,
        str(obi.state): 1,
        # A page where a file was is there, and is not what was pointed at.
        "live": obi.state is State.LIVE and not obi.soft,
        "soft": obi.state is State.LIVE and obi.soft,
        "churning": obi.churn >= CHURNING,
        "due": obi.due is not None and obi.due <= now,
        "to_https": obi.id.startswith("http:") and (obi.answered or "").startswith("https:"),
        "versions": len(obi.versions),
        "bytes": (obi.length or 0) if held else 0,
    }
    return [(name, int(count)) for name, count in told.items() if count]


def _count_rot(told: Statistics, obi: Obi) -> None:
    first = obi.versions[0][0]
    year = to_time(first).year
    told.first[year] += 1
    for years in AGES:
        then = first + years * YEAR
        if then <= told.as_of:
            told.old[year, years] += 1
            told.still[year, years] += is_live(obi, then)


def is_live(obi: Obi, then: int) -> bool:
    """Return whether *obi* was there at the tist *then*, as far as the store knew; soft is not
    there.
    """
    events = [one for one in incidences(obi) if one[0] <= then]
    if not events or events[-1][1] == "deletion":
        return False
    return not (obi.soft and events[-1][0] == obi.noted)


def check_archive(records: Records, code: str, option: str = "--archive") -> None:
    """Refuse the RePEc archive *code* that *option* names where nothing of it was ever seen.

    No archive is named where *code* is empty. ``BadArgument``.
    """
    if code and not _is_known(records, code.lower()):
        raise BadArgument(f"{option} {printable(code)}: the store has no template of that archive")


def _is_known(records: Records, archive: str) -> bool:
    """Return whether anything of that RePEc archive was ever seen."""
    if records.history(f"RePEc:{archive}") or any(True for _ in records.problems(archive)):
        return True
    return next(records.walk(Kind.TOBI, f"RePEc:{archive}:"), None) is not None
