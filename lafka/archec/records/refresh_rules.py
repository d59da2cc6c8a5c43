"""The rules by which a fobi is asked for again, pure: of one obi and what came of asking for it.

Seconds throughout. A fobi that never changes is asked for ever less often, one that changes ever
more, within bounds; what is missed soon again and then rarely; what is lost twice more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lafka.archec.records import Obi

DAY = 86_400
CHURNING = 5
"""Visits in a row that each found another content: then a page has a clock, or a counter."""
_AFTER_MISSES = (1, 7, 30, 90)
_ONCE_A_YEAR = 365 * DAY
_LOST_ASKED = 2
_GONE_AFTER = 7 * DAY
_NAMELESS_AFTER = 30 * DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshRule:
    """Bounds of the seconds between two visits (LAFKA_REFRESH_MIN, LAFKA_REFRESH_MAX)."""

    least: int = 30 * DAY
    most: int = 365 * DAY

    def of_new(self) -> int:
        """The interval of what was got for the first time."""
        return self.least

    def of_changed(self, obi: Obi) -> int:
        """The interval of *obi*, whose content has changed."""
        if obi.churn + 1 >= CHURNING:  # else it would fill the disk
            return self.most
        return max(self.least, self._had(obi) // 2)

    def of_same(self, obi: Obi) -> int:
        """The interval of *obi*, whose content is as it was."""
        return min(self.most, 2 * self._had(obi))

    def _had(self, obi: Obi) -> int:
        return min(self.most, max(self.least, obi.interval or self.least))


def after_miss(obi: Obi) -> int | None:
    """Seconds until *obi* is asked for once more, this miss not among its ``missed``; None: never.

    A lost one is asked for twice, a year apart.
    """
    if obi.lost is not None:
        asked = sum(tist > obi.lost for tist, _ in obi.missed) + 1
        return _ONCE_A_YEAR if asked < _LOST_ASKED else None
    days = [*_AFTER_MISSES, _ONCE_A_YEAR // DAY]
    return days[min(len(obi.missed), len(_AFTER_MISSES))] * DAY


def why_lost(obi: Obi, outcome: str, tist: int) -> str:
    """Return why *obi*, which was there, is gone by an *outcome* at *tist*; empty where it may be
    back.
    """
    if obi.noted is None or obi.lost is not None:
        return ""
    if outcome == "gone":
        return "410"
    since = [missed for missed, how in obi.missed if how == outcome]
    if outcome == "not-found" and since and tist - since[0] >= _GONE_AFTER:
        return "404 twice"
    if outcome == "dns" and len(since) >= 2 and tist - since[0] >= _NAMELESS_AFTER:
        return "dns thrice"
    return ""
