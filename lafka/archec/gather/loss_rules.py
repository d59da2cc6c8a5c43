"""Rules by which a template that is missing from RePEc data counts as deleted (decision D23).

Mirrors lose a whole archive when one page of an index breaks, so many losses at once are withheld
until a later run misses them still. A file that has become another kind of file proves no loss.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

from lafka.archec.gather.sources import Source, below_root
from lafka.archec.gather.unchanged_files import Barren
from lafka.archec.records import GatheringRecord, Kind, Records, in_batches
from lafka.archec.store.folders import ObiStore
from lafka.archec.store.journals import STORED, whole

_ASKED = 1000
_OF_ALL = "all"


def unproved(
    store: ObiStore, records: Records, barren: Barren, accepted: Collection[str],
    was_seen: Callable[[int], bool],
) -> dict[int, str]:  # fmt: skip
    """The tobis that stood in *barren* files and were not seen: their numbers -> archives.

    Not those of archives whose losses are *accepted*. ``BadJournal``, ``StorageTrouble``.
    """
    if not (barren.held or barren.unknown):
        return {}
    found: dict[int, str] = {}
    gone: dict[str, tuple[int, str]] = {}
    suspects = {place.partition("/")[0].lower() for place in barren.unknown.values()}
    for obi, number, archive in records.present(Kind.TOBI):
        if was_seen(number) or archive in accepted:
            continue
        if number in barren.held:
            found[number] = archive
        elif suspects & {archive, _OF_ALL}:
            gone[obi] = number, archive
    places = {*barren.unknown, *barren.unknown.values()}
    found.update(gone[obi] for obi in _standing(store, records, gone, places))
    return found


def _standing(
    store: ObiStore, records: Records, obis: Collection[str], places: Collection[str]
) -> Iterator[str]:
    """Those of *obis* whose last versions stood in files at *places*, or nobody knows where."""
    versions: defaultdict[int, set[str]] = defaultdict(set)
    for some in in_batches(obis, _ASKED):
        for obi, last in records.last_many(Kind.TOBI, some).items():
            versions[last.noted or 0].add(obi)
    for tist, wanted in versions.items():
        for _, line in whole(store.journal(tist)):
            if line.get("e") in STORED and line["id"] in wanted:
                file = line.get("file")
                if not file or file in places or below_root(file) in places:
                    yield line["id"]


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


def withheld_since(gatherings: list[GatheringRecord]) -> dict[str, int]:
    """The archives whose losses are withheld now -> the tist of the first run that did so."""
    since: dict[str, int] = {}
    for gathering in gatherings:
        for code, count in gathering.withheld.items():
            if count:
                since.setdefault(code, gathering.tist)
            else:
                since.pop(code, None)
    return since
