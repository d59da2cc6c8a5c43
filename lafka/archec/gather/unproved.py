"""Tobis that are not seen where a file has no template any more: their loss is not proved.

An error page of a mirror, a file cut to nothing or bytes that cannot be decoded say nothing of what
the file held. That is known by the cache of the last run (``unchanged_files``), else by the
journals, which say of each version in which file it stood.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator

from lafka.archec.gather.sources import below_root
from lafka.archec.gather.unchanged_files import Barren
from lafka.archec.records import Kind, Records, in_batches
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
