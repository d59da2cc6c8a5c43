"""What is gone from RePEc data, and when that is believed: decision D23.

Mirrors lose a whole archive when one page of an index breaks, so many losses at once are withheld
until a later run misses them still.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from lafka.archec.gather.sources import Source
from lafka.archec.records import Gathering, Kind, Records

DAY = 86_400
FEW = 10
"""So many tobis of an archive can go at once, whatever share of it they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossRule:
    """The rule by which losses are believed.

    More than ``FEW`` and more than *share* of an archive's tobis: only after *days*, or where the
    archive is *accepted*. *partial*: archives that the source does not have are not looked at.
    """

    share: float = 0.2
    days: float = 30
    accepted: frozenset[str] = frozenset()
    partial: bool = False


def losses(
    records: Records, source: Source, rule: LossRule, was_seen: Callable[[int], bool], tist: int
) -> Iterator[dict[str, Any]]:
    """Journal lines: deletions that are believed, and how many of which archive are not."""
    there: Counter[str] = Counter()
    gone: Counter[str] = Counter()
    for _, number, archive in records.present(Kind.TOBI):
        there[archive] += 1
        if not was_seen(number):
            gone[archive] += 1
    waiting = withheld_since(records.gatherings())
    believed = set()
    for code in sorted(there):
        if not covered(source, code, rule):
            continue
        if _is_too_much(code, gone[code], there[code], rule, tist - waiting.get(code, tist)):
            yield {"e": "withheld", "archive": code, "count": gone[code]}
            continue
        believed.add(code)
        if code in waiting:  # what was withheld is over
            yield {"e": "withheld", "archive": code, "count": 0}
    if any(gone[code] for code in believed):
        yield from _deletions(records, believed, was_seen)


def _deletions(
    records: Records, believed: set[str], was_seen: Callable[[int], bool]
) -> Iterator[dict[str, Any]]:
    for obi, number, archive in records.present(Kind.TOBI):
        if archive in believed and not was_seen(number):
            yield {"e": "deletion", "id": obi, "why": "gone from the data"}


def covered(source: Source, code: str, rule: LossRule) -> bool:
    """Return whether a tobi of the archive *code* that was not seen is gone indeed.

    In ``all/`` stand copies of archive and series templates, so that has to be read as well.
    """
    if (rule.partial or source.partial) and code not in source.archives:
        return False
    return source.covers(code) and source.covers("all")


def _is_too_much(code: str, gone: int, there: int, rule: LossRule, waited: int) -> bool:
    if gone <= FEW or gone <= rule.share * there or code in rule.accepted:
        return False
    return waited < rule.days * DAY


def withheld_since(gatherings: list[Gathering]) -> dict[str, int]:
    """The archives whose losses are withheld now -> the tist of the first run that did so."""
    since: dict[str, int] = {}
    for gathering in gatherings:
        for code, count in gathering.withheld.items():
            if count:
                since.setdefault(code, gathering.tist)
            else:
                since.pop(code, None)
    return since
