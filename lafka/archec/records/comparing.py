"""The database of a store held against what its journals make: a second one, made for that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lafka.archec.records import Kind, Obi, Records, Refipo, in_batches
from lafka.archec.records.folding import told_of
from lafka.archec.records.opening import catch_up, rarely_collected
from lafka.archec.records.sqlite import NAME, SqliteRecords
from lafka.archec.store.folders import ObiStore

_TOGETHER = 500


def differences(store: ObiStore, records: Records) -> Iterator[str]:
    """Say, obi by obi, where *records* are not what the journals of *store* make; a sentence each.

    All that ``walk``, ``contents``, ``pointing_at``, ``refipos`` and ``gatherings`` tell is
    compared. ``BadJournal``; ``RecordsAway``. A database as large as the store's is made in a
    temporary folder meanwhile.
    """
    with TemporaryDirectory(prefix="lafka-") as folder:
        made = SqliteRecords(Path(folder) / NAME, anew=True)
        try:
            with rarely_collected():
                catch_up(store, made)
                made.finish()
                yield from _gatherings(records, made)
                for kind in Kind:
                    yield from _obis(records, made, kind)
        finally:
            made.close()


def _gatherings(records: Records, made: Records) -> Iterator[str]:
    had = {one.tist: one for one in records.gatherings()}
    for one in made.gatherings():
        if had.pop(one.tist, None) != one:
            yield f"the gathering {one.tist} is not as its journal has it"
    yield from (f"the gathering {tist} has no journal" for tist in had)


def _obis(records: Records, made: Records, kind: Kind) -> Iterator[str]:
    for some in in_batches(_pairs(records.walk(kind), made.walk(kind)), _TOGETHER):
        both = []
        for had, due in some:
            if had is None or due is None:
                one = had or due
                assert one is not None
                where = "in the journals alone" if had is None else "in the database alone"
                yield f"{one.id} is {where}"
                continue
            names = _different(had, due)
            if names:
                yield f"{due.id} has another {', '.join(names)} in the journals"
            both.append(due)
        yield from _contents(records, made, kind, both)
        yield from _pointers(records, made, kind, both)


def _pairs(had: Iterator[Obi], due: Iterator[Obi]) -> Iterator[tuple[Obi | None, Obi | None]]:
    """Both walks side by side, in the order of the bytes of ids; None where one lacks the obi."""
    left, right = next(had, None), next(due, None)
    while left or right:
        order = _order(left, right)
        yield (left if order <= 0 else None), (right if order >= 0 else None)
        left = next(had, None) if order <= 0 else left
        right = next(due, None) if order >= 0 else right


def _order(left: Obi | None, right: Obi | None) -> int:
    if left is None or right is None:
        return 1 if left is None else -1
    one, other = (obi.id.encode("utf-8", "surrogatepass") for obi in (left, right))
    return (one > other) - (one < other)


def _different(had: Obi, due: Obi) -> list[str]:
    (one,), (other,) = told_of([had]), told_of([due])
    return [name for name, value in other.items() if one[name] != value]


def _contents(records: Records, made: Records, kind: Kind, obis: Iterable[Obi]) -> Iterator[str]:
    """The contents that versions of *obis* name."""
    of = {key: obi.id for obi in obis for _, key in obi.versions}
    had, due = (some.contents(kind, of) for some in (records, made))
    for key, content in due.items():
        if had.get(key) != content:
            yield f"{of[key]} has another content {key} in the journals"


def _pointers(records: Records, made: Records, kind: Kind, obis: Iterable[Obi]) -> Iterator[str]:
    for obi in obis:
        had, due = (
            _sorted(one.refipos(obi.id) if kind is Kind.TOBI else one.pointing_at(obi.id))
            for one in (records, made)
        )
        if any(one != other for one, other in zip_longest(had, due)):
            yield f"{obi.id} has other pointers in the journals"


def _sorted(refipos: Iterable[Refipo]) -> list[Refipo]:
    def key(one: Refipo) -> tuple[Any, ...]:
        return one.tobi, one.since, one.n, one.second

    return sorted(refipos, key=key)
