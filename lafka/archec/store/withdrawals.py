"""The versions that an operator took down, and why: the lines of the journals that do
nothing else.
"""

from __future__ import annotations

import time
from contextlib import suppress

from lafka.archec.store.folders import ObiStore
from lafka.archec.store.journals import head, is_ended, read
from lafka.errors import BadJournal

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
