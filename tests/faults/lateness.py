"""What a run would have left that does something too late: a sync, or the giving of a name.

No run has to be made for it: nobody reads back what a sync does, so the calls of one that does all
in time are those of one that does not, in another order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.faults.disks import SYNCS
from tests.faults.storecalls import Call, Site

MOVES = ("rename", "link")
BEGINS = "begins"
"""The kind of a call that none is: here another process begins."""
_PLACES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """The calls of *kinds* that come from *site* are done late."""

    site: Site
    kinds: tuple[str, ...] = SYNCS

    def __str__(self) -> str:
        return f"{'sync' if self.kinds == SYNCS else 'name'} by {self.site}"

    def is_it(self, call: Call) -> bool:
        return call.kind in self.kinds and not call.failed and self.site.is_in(call.stack)


def put_off(calls: Iterable[Call], late: Late) -> Iterator[Call]:
    """*calls*, each that is *late* done once syncs of three other places were.

    By then what was to wait for it has gone on. A process that ends before never does it.
    """
    waiting: list[tuple[Call, set[object]]] = []
    for call in calls:
        if call.kind == BEGINS:
            waiting.clear()
        if late.is_it(call):
            yield Call(kind="left out", path="late")
            waiting.append((call, set()))
            continue
        yield call
        if call.kind in SYNCS:
            for _, seen in waiting:
                seen.add(call.stack[:2])
            yield from (each for each, seen in waiting if len(seen) >= _PLACES)
            waiting = [(each, seen) for each, seen in waiting if len(seen) < _PLACES]
