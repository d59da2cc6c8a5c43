"""What the maintainer of a RePEc archive can be sent: what is odd in the data, which links fail."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from lafka.archec.records import Kind, Obi, Records, Refipo, State, Told, in_batches
from lafka.archec.redif.problems import CODES
from lafka.archec.statistics import as_of
from lafka.archec.store.tists import to_time
from lafka.errors import printable

_NOT_THEIRS = frozenset({"passed-over", "truncated", "unreadable"})
"""Codes of what went wrong on our side, or on the way to it."""
_FAILING = (State.LOST, State.NEVER)
_BATCH = 500


def is_known(records: Records, archive: str) -> bool:
    """Return whether anything of the RePEc archive *archive* was ever seen."""
    if records.history(f"RePEc:{archive}") or any(True for _ in records.problems(archive)):
        return True
    return next(records.walk(Kind.TOBI, f"RePEc:{archive}:"), None) is not None


def letter(records: Records, archive: str) -> Iterator[str]:
    """The lines of it, plain text; the same store gives the same. ``RecordsAway``."""
    yield f"About the RePEc archive {printable(archive)}, as of {_date(as_of(records))}"
    yield from _problems(records, archive)
    yield from _links(records, archive)


def _problems(records: Records, archive: str) -> Iterator[str]:
    order = {code: place for place, code in enumerate(CODES)}
    told = [one for one in records.problems(archive) if one.code not in _NOT_THEIRS]
    told.sort(key=lambda one: (order.get(one.code, len(order)), one.file, one.line, one.sentence))
    if not told:
        yield "\nNothing is odd in its templates."
    for code, some in groupby(told, key=lambda one: one.code):
        places = list(some)
        yield f"\n{code} ({len(places)}): {CODES.get(code, 'no code that is known')}"
        yield from (f"  {_place(one)}" for one in places)


def _place(one: Told) -> str:
    where = f"{one.file}, line {one.line}" if one.line else one.file
    return printable(f"{where}: {one.sentence}")


def _links(records: Records, archive: str) -> Iterator[str]:
    """The links that its templates have now and that fail, in the order of the templates."""
    is_any = False
    for obis in in_batches(records.walk(Kind.TOBI, f"RePEc:{archive}:"), _BATCH):
        for obi in obis:
            for refipo in records.refipos(obi.id):
                fobi = records.history(refipo.fobi)
                if fobi is None or not (fobi.state in _FAILING or fobi.soft):
                    continue
                if not is_any:
                    yield "\nLinks that lead to no file:"
                    is_any = True
                yield printable(f"  {obi.id} File-URL {refipo.n}: {_asked(refipo)}: {_why(fobi)}")
    if not is_any:
        yield "\nEvery link that was asked for leads to its file."


def _asked(refipo: Refipo) -> str:
    return " ".join(refipo.raw.split())


def _why(fobi: Obi) -> str:
    if fobi.state is State.LOST:
        return f"gone since {_date(fobi.lost or 0)}"
    if fobi.state is State.NEVER:
        outcome = fobi.missed[-1][1] if fobi.missed else "no answer"
        return f"never got ({outcome})"
    return f"a page stands where the file was, since {_date(fobi.noted or 0)}"


def _date(tist: int) -> str:
    return f"{to_time(tist):%Y-%m-%d}"
