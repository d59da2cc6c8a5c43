"""Taking a version down, for the law: a journal says so, and the gateway answers 451.

No command removes anything (docs/archec.md, "Taking down"): the bytes are the operator's to empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lafka.archec.gather.gathering import Gathering
from lafka.archec.gather.tobis import Clocks
from lafka.archec.records import Kind, Records
from lafka.archec.records.opening import catch_up
from lafka.archec.store.folders import ObiStore
from lafka.archec.store.journals import WITHDRAW, Withdrawals
from lafka.archec.store.lines import WithdrawnLine, first_line
from lafka.errors import BadArgument, NotHeld


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawal:
    """The journal ``tist`` says that the version is taken down; its bytes are at ``place``.

    ``others``: how many other versions, of this or other obis, have the same bytes.
    """

    tist: int
    place: Path
    others: int


def withdraw(
    store: ObiStore, records: Records, obi: str, tist: int, *, why: str, run: str, clocks: Clocks
) -> Withdrawal:
    """Note that the version of *obi* noted at *tist* is taken down; under the lock of its kind.

    ``NotHeld`` where nothing was noted then, ``BadArgument`` without a reason or where it is
    taken down already; ``StorageTrouble``, ``RecordsAway``.
    """
    if not why.strip():
        raise BadArgument("say why it is taken down: --why")
    catch_up(store, records)
    known = records.history(obi)
    if known is None or tist not in dict(known.versions):
        raise NotHeld(f"{obi}: nothing was noted at {tist}")
    if Withdrawals(store).why(obi, tist):
        raise BadArgument(f"{obi}: what was noted at {tist} is taken down already")
    place = store.find(tist, obi)
    kind = known.kind
    head = first_line(kind, run, source=WITHDRAW)
    last = max((one.tist for one in records.gatherings() if one.kind == kind), default=0)
    began = clocks.monotonic()
    gathering = Gathering.begin(store, records, kind, head, not_before=max(clocks.now(), last + 1))
    try:
        gathering.note(WithdrawnLine(e="withdrawn", id=obi, tist=tist, why=why.strip()))
        gathering.end(seconds=clocks.monotonic() - began)
    finally:
        gathering.close()
    others = _having(records, kind, dict(known.versions)[tist]) - 1
    return Withdrawal(tist=gathering.tist, place=place, others=others)


def _having(records: Records, kind: Kind, key: str) -> int:
    """Return how many versions have the content with that MD5 key."""
    return sum(md5 == key for obi in records.walk(kind) for _, md5 in obi.versions)
