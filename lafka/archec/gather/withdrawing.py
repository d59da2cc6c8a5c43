"""Taking a version down, for the law: a journal says so, and the gateway answers 451.

No command removes anything (docs/archec.md, "Taking down"): the bytes are the operator's to empty.
The journals of withdrawals have lines of no other kind.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import lafka
from lafka.archec.gather.gathering import Gathering
from lafka.archec.gather.tobis import Clocks
from lafka.archec.records import Kind, Records
from lafka.archec.records.opening import catch_up
from lafka.archec.store.folders import ObiStore
from lafka.archec.store.journals import head, is_ended, read
from lafka.errors import BadArgument, BadJournal, NotHeld

SOURCE = "withdraw"
"""What the first line of such a journal names as its source."""
_SETTLED = 2 * 10**9
"""Nanoseconds after which a folder that changes again has another mtime."""


class Withdrawals:
    """The withdrawals of *store* as they are at each question; only their journals are read.

    Of a damaged one what is whole counts: the check tells of it. ``StorageTrouble``.
    """

    def __init__(self, store: ObiStore) -> None:
        self._store = store
        self._stamp = -1
        self._looked_at: set[int] = set()
        self._open: set[int] = set()  # that may get further lines
        self._why: dict[tuple[str, int | None], str] = {}

    def why(self, obi: str, tist: int) -> str:
        """Return why the version of *obi* noted at *tist* was taken down; empty where it
        was not.
        """
        self._look()
        return self._why.get((obi, tist)) or self._why.get((obi, None), "")

    def _look(self) -> None:
        """Take in what came since; a folder of journals that is as it was has no new ones."""
        stamp = self._store.journal(0).parent.stat().st_mtime_ns
        if stamp != self._stamp:
            fresh = set(self._store.journals()) - self._looked_at
            self._open |= {tist for tist in fresh if self._is_withdrawal(tist)}
            self._looked_at |= fresh
            is_settled = time.time_ns() - stamp > _SETTLED
            self._stamp = stamp if is_settled else -1
        for tist in sorted(self._open):
            self._read(tist)

    def _is_withdrawal(self, tist: int) -> bool:
        with suppress(BadJournal):
            return head(self._store.journal(tist)).get("source") == SOURCE
        return False

    def _read(self, tist: int) -> None:
        path = self._store.journal(tist)
        ended = is_ended(path)  # before it is read: what comes later is no line of it
        with suppress(BadJournal):
            for _, line in read(path):
                if line.get("e") == "withdrawn":
                    told = str(line.get("why") or "no reason is told")
                    self._why[line["id"], line.get("tist")] = told
        if ended:
            self._open.discard(tist)


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
    head = {"kind": str(kind), "source": SOURCE, "at": False, "run": run,
            "software": f"Lafka {lafka.__version__}"}  # fmt: skip
    last = max((one.tist for one in records.gatherings() if one.kind == kind), default=0)
    began = clocks.monotonic()
    gathering = Gathering.begin(store, records, kind, head, not_before=max(clocks.now(), last + 1))
    try:
        gathering.note({"e": "withdrawn", "id": obi, "tist": tist, "why": why.strip()})
        gathering.end(seconds=clocks.monotonic() - began)
    finally:
        gathering.close()
    others = _having(records, kind, dict(known.versions)[tist]) - 1
    return Withdrawal(tist=gathering.tist, place=place, others=others)


def _having(records: Records, kind: Kind, key: str) -> int:
    """Return how many versions have the content with that MD5 key."""
    return sum(md5 == key for obi in records.walk(kind) for _, md5 in obi.versions)
